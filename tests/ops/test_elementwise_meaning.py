"""What the elementwise operators compute, against formulas on Python numbers and doubles."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto.ir.dtypes import DataType
from pypto.ir.types import TileType
from pypto.ops.compare import bits
from pypto.ops.numeric import numpy_dtype
from tests.ops.operands import call, declared, run, tensor, tile

FP32, FP16, BF16, INT32 = DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT32


def meaning_of(name: str) -> Any:
    return declared(name).meaning


POSITIVE = np.array([0.25, 0.5, 1.0, 2.0, 3.5, 10.0, 1e-3, 77.0])
SIGNED = np.array([-2.5, -1.0, -0.0, 0.0, 0.5, 3.0, 7.25, -8.0])

UNARY: list[tuple[str, Callable[[float], float], Any]] = [
    ("neg", lambda x: -x, SIGNED),
    ("abs", abs, SIGNED),
    ("relu", lambda x: x if x > 0 else 0.0, SIGNED),
    ("exp", math.exp, SIGNED),
    ("sqrt", math.sqrt, POSITIVE),
    ("sin", math.sin, SIGNED),
    ("cos", math.cos, SIGNED),
    ("log", math.log, POSITIVE),
    ("recip", lambda x: 1 / x, POSITIVE),
    ("rsqrt", lambda x: 1 / math.sqrt(x), POSITIVE),
]
FLOATING = [(FP32, 3e-7), (FP16, 2e-3), (BF16, 2e-2)]


@pytest.mark.parametrize(("leaf", "formula", "values"), UNARY, ids=[u[0] for u in UNARY])
@pytest.mark.parametrize(("dtype", "tolerance"), FLOATING, ids=["fp32", "fp16", "bf16"])
def test_one_operand(leaf: str, formula: Callable[[float], float], values: Any, dtype: DataType, tolerance: float) -> None:
    for space in ("tile", "tensor"):
        if (
            f"{space}.{leaf}" == "tensor.relu"
            or (leaf in ("sin", "cos") and dtype is not FP32)
            or (leaf == "log" and dtype is BF16)
        ):
            continue
        x = values.astype(numpy_dtype(dtype))
        made = call(f"{space}.{leaf}", (tile if space == "tile" else tensor)([8], dtype))
        found = run(made, x)
        assert found.dtype == x.dtype
        expected = [formula(float(v)) for v in x]
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance / 10)


def _truncated(a: int, b: int) -> int:
    return 0 if b == 0 else int(math.copysign(abs(a) // abs(b), a * b))


def _wrap(value: int, kind: Any) -> int:
    width = np.dtype(kind).itemsize * 8
    low = value % 2**width
    return low - 2**width if np.dtype(kind).kind == "i" and low >= 2 ** (width - 1) else low


INTEGER: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _truncated,
    "fmod": lambda a, b: 0 if b == 0 else a - b * _truncated(a, b),
    "maximum": max,
    "minimum": min,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}


@pytest.mark.parametrize("leaf", sorted(INTEGER))
@pytest.mark.parametrize("kind", [np.int16, np.int32])
def test_integers_are_exact_and_wrap(leaf: str, kind: Any) -> None:
    info = np.iinfo(kind)
    picks = [0, 1, -1, 2, -2, 3, 7, -7, 100, -100, info.max, info.min, info.max - 1]
    a = np.array([p for p in picks for _ in picks], kind)
    b = np.array(picks * len(picks), kind)
    expected = [_wrap(INTEGER[leaf](int(x), int(y)), kind) for x, y in zip(a, b, strict=True)]
    dtype = {np.int16: DataType.INT16, np.int32: INT32}[kind]
    for space, of in (("tile", tile), ("tensor", tensor)):
        tmp = [tile([169], dtype)] if (space, leaf) == ("tile", "xor") else []
        made = call(f"{space}.{leaf}", of([169], dtype), of([169], dtype), *tmp)
        with np.errstate(all="ignore"):
            found = run(made, a, b, *(a for _ in tmp))
        assert found.dtype == kind
        assert found.tolist() == expected
        short = f"{space}.{leaf}s"
        if leaf in ("maximum", "minimum") and space == "tensor":
            short = f"tensor.{leaf}"
        for scalar in (kind(0), kind(-3), kind(5), kind(info.min)):
            with np.errstate(all="ignore"):
                given = meaning_of(short)(a, scalar)
            assert np.asarray(given).tolist() == [_wrap(INTEGER[leaf](int(x), int(scalar)), kind) for x in a], (short, scalar)


def test_unsigned_division_and_wrapping() -> None:
    a = np.array([0, 1, 7, 250, 255], np.uint8)
    assert meaning_of("tile.divs")(a, 2).tolist() == [0, 0, 3, 125, 127]
    assert meaning_of("tile.divs")(a, 0).tolist() == [0, 0, 0, 0, 0]
    assert meaning_of("tile.adds")(a, np.uint8(10)).tolist() == [10, 11, 17, 4, 9]
    assert meaning_of("tile.neg")(a).tolist() == [0, 255, 249, 6, 1]
    assert meaning_of("tile.abs")(np.array([-128, -1], np.int8)).tolist() == [-128, 1]


@pytest.mark.parametrize(("dtype", "tolerance"), FLOATING, ids=["fp32", "fp16", "bf16"])
def test_float_arithmetic(dtype: DataType, tolerance: float) -> None:
    kind = numpy_dtype(dtype)
    a, b = SIGNED.astype(kind), POSITIVE.astype(kind)
    one, two = [float(v) for v in a], [float(v) for v in b]
    formulas: dict[str, Callable[[float, float], float]] = {
        "add": lambda x, y: x + y,
        "sub": lambda x, y: x - y,
        "mul": lambda x, y: x * y,
        "div": lambda x, y: x / y,
        "fmod": math.fmod,
        "maximum": max,
        "minimum": min,
    }
    for leaf, formula in formulas.items():
        if leaf == "div" and dtype is BF16:
            continue
        found = run(call(f"tile.{leaf}", tile([8], dtype), tile([8], dtype)), a, b)
        assert found.dtype == kind
        expected = [formula(x, y) for x, y in zip(one, two, strict=True)]
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=tolerance, atol=tolerance / 10)
    found = run(
        call("tile.rem", tile([8], FP32), tile([8], FP32), tile([8])),
        SIGNED.astype(np.float32),
        -POSITIVE.astype(np.float32),
        None,
    )
    expected = [x - y * math.floor(x / y) for x, y in zip(SIGNED, -POSITIVE, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_division_by_zero_of_floats_is_that_of_ieee() -> None:
    with np.errstate(all="ignore"):
        found = meaning_of("tile.div")(np.array([1.0, -1.0, 0.0], np.float32), np.zeros(3, np.float32))
    assert found[0] == np.inf
    assert found[1] == -np.inf
    assert np.isnan(found[2])


def test_nan_wins_in_maximum() -> None:
    a, b = np.array([np.nan, 1.0], np.float32), np.array([1.0, np.nan], np.float32)
    for leaf in ("maximum", "minimum"):
        assert np.isnan(meaning_of(f"tile.{leaf}")(a, b)).all()


def test_three_operands() -> None:
    a, b, c = np.array([10, 20]), np.array([1, 2]), np.array([100, 200])
    assert meaning_of("tile.addc")(a, b, c).tolist() == [111, 222]
    assert meaning_of("tile.subc")(a, b, c).tolist() == [109, 218]
    assert meaning_of("tile.addsc")(a, 5, c).tolist() == [115, 225]
    assert meaning_of("tile.subsc")(a, 5, c).tolist() == [105, 215]


def test_slopes() -> None:
    x = np.array([-4.0, 0.0, 6.0], np.float32)
    assert meaning_of("tile.lrelu")(x, np.float32(0.25)).tolist() == [-1.0, 0.0, 6.0]
    half = meaning_of("tile.lrelu")(x.astype(ml_dtypes.bfloat16), np.float32(0.25))
    assert half.dtype == ml_dtypes.bfloat16
    assert meaning_of("tile.lrelu")(np.array([-7, 7], np.int32), np.float32(0.5)).tolist() == [-3, 7]
    slopes = np.array([0.5, 0.5, 0.5], np.float32)
    assert meaning_of("tile.prelu")(x, slopes, None).tolist() == [-2.0, 0.0, 6.0]


def test_shifts_and_bits() -> None:
    x = np.array([1, -8, 5, 2**30], np.int32)
    assert meaning_of("tile.shl")(x, np.array([4, 1, 31, 2], np.int32)).tolist() == [16, -16, -(2**31), 0]
    assert meaning_of("tile.shr")(x, np.array([1, 1, 1, 29], np.int32)).tolist() == [0, -4, 2, 2]
    assert meaning_of("tensor.shrs")(np.array([2**31], np.uint32), np.uint32(31)).tolist() == [1]
    assert meaning_of("tile.shls")(x, 40).tolist() == [0, 0, 0, 0]
    assert meaning_of("tile.not")(np.array([0, 1, 0xFF00], np.uint16)).tolist() == [0xFFFF, 0xFFFE, 0x00FF]


COMPARE: list[Callable[[float, float], bool]] = [
    lambda a, b: a == b,
    lambda a, b: a != b,
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
]


@pytest.mark.parametrize("number", range(6))
def test_comparisons(number: int) -> None:
    rng = np.random.default_rng(number)
    a, b = rng.integers(0, 3, (3, 20)).astype(np.float32), rng.integers(0, 3, (3, 20)).astype(np.float32)
    a[0, 0] = np.nan
    expected = [[COMPARE[number](float(x), float(y)) for x, y in zip(r, s, strict=True)] for r, s in zip(a, b, strict=True)]
    mask = run(call("tile.cmp", tile([3, 20]), tile([3, 20]), number), a, b)
    assert mask.dtype == np.uint8
    assert mask.shape == (3, 3)
    by_hand = [[sum(1 << i for i in range(8) if 8 * k + i < 20 and row[8 * k + i]) for k in range(3)] for row in expected]
    assert mask.tolist() == by_hand
    assert bits(mask, 20).tolist() == expected
    values = run(call("tensor.cmp", tensor([3, 20]), tensor([3, 20]), cmp_type=number), a, b)
    assert values.dtype == np.float32
    assert values.tolist() == [[float(v) for v in row] for row in expected]
    scalar = run(call("tile.cmps", tile([3, 20]), 1.0, number), a)
    assert bits(scalar, 20).tolist() == [[COMPARE[number](float(x), 1.0) for x in row] for row in a]


def test_a_comparison_of_regions_of_different_extents() -> None:
    a, b = np.arange(8, dtype=np.float32).reshape(2, 4), np.full((3, 8), 3, np.float32)
    meaning = meaning_of("tile.cmp")
    assert meaning(a, b, cmp_type=2).tolist() == [[0b0111], [0]]
    assert meaning(a, np.array([3.0], np.float32), cmp_type=2).tolist() == [[0b0111], [0]]


def test_selection() -> None:
    rng = np.random.default_rng(4)
    chosen = rng.integers(0, 2, (4, 21)).astype(bool)
    mask = np.packbits(chosen, axis=-1, bitorder="little")
    one, other = rng.normal(size=(4, 21)).astype(np.float32), rng.normal(size=(4, 21)).astype(np.float32)
    made = call("tile.sel", tile([4, 32], DataType.UINT8), tile([4, 21]), tile([4, 21]), tile([4, 21]))
    found = run(made, mask, one, other, None)
    expected = [[x if c else y for c, x, y in zip(*rows, strict=True)] for rows in zip(chosen, one, other, strict=True)]
    assert found.tolist() == expected
    wide = np.zeros((4, 4), np.uint8)
    wide[:, :3] = mask
    for kind in (np.uint16, np.uint32, np.int32):
        assert meaning_of("tile.sel")(wide.view(kind), one, other, None).tolist() == expected
    with_scalar = run(call("tile.sels", tile([4, 32], DataType.UINT8), tile([4, 21]), tile([4, 21]), -1.0), mask, one, None)
    assert with_scalar.tolist() == [
        [x if c else -1.0 for c, x in zip(*rows, strict=True)] for rows in zip(chosen, one, strict=True)
    ]
    unsigned = meaning_of("tile.sels")(np.array([[1]], np.uint8), np.array([[7, 8]], np.uint16), None, -1)
    assert unsigned.tolist() == [[7, 65535]]


def test_partial_operands() -> None:
    whole, part = np.arange(6, dtype=np.float32).reshape(2, 3), np.full((1, 2), 10, np.float32)
    assert meaning_of("tile.part_add")(whole, part).tolist() == [[10, 11, 2], [3, 4, 5]]
    assert meaning_of("tile.part_add")(part, whole).tolist() == [[10, 11, 2], [3, 4, 5]]
    assert meaning_of("tile.part_max")(whole, whole).tolist() == whole.tolist()
    assert meaning_of("tensor.part_mul")(whole, part).tolist() == [[0, 10, 2], [3, 4, 5]]
    assert meaning_of("tensor.part_min")(whole, part).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_casts_follow_the_mode() -> None:
    x = np.array([2.5, -2.5, 3.7, np.nan, 1e20], np.float32)
    for mode, expected in (
        ("none", [2, -2, 4, 0, 2**31 - 1]),
        ("rint", [2, -2, 4, 0, 2**31 - 1]),
        ("round", [3, -3, 4, 0, 2**31 - 1]),
        ("floor", [2, -3, 3, 0, 2**31 - 1]),
        ("ceil", [3, -2, 4, 0, 2**31 - 1]),
        ("trunc", [2, -2, 3, 0, 2**31 - 1]),
        ("odd", [3, -3, 3, 0, 2**31 - 1]),
    ):
        for space, of in (("tile", tile), ("tensor", tensor)):
            found = run(call(f"{space}.cast", of([5]), INT32, mode), x)
            assert found.dtype == np.int32
            assert found.tolist() == expected
    assert run(call("tile.cast", tile([5]), INT32), x).tolist() == [3, -3, 4, 0, 2**31 - 1]  # the default halves away from zero


def test_single_functions_of_numpy_are_the_meaning_itself() -> None:
    for name in (
        "add",
        "adds",
        "sub",
        "mul",
        "muls",
        "maximum",
        "maximums",
        "exp",
        "sqrt",
        "neg",
        "abs",
        "sin",
        "cos",
        "and",
        "shl",
        "not",
        "fmod",
    ):
        assert isinstance(meaning_of(f"tile.{name}"), np.ufunc), name
    for name in ("sin", "cos"):
        assert declared(f"tile.{name}").composite
        assert declared(f"tensor.{name}").composite
    assert isinstance(call("tile.sin", tile([4])).type, TileType)
