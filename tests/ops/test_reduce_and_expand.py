"""Reductions, and vectors spread over matrices, against formulas in double precision."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace, TileLayout
from pypto.ops.declare import Lanes, OperandError
from tests.ops.operands import call, declared, numbers, run, scalar, shape_of, tensor, tile, valid_of

FP32, FP16, BF16, INT8, INT16, INT32 = DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT8, DataType.INT16, DataType.INT32

FORMULAS: dict[str, Callable[[list[float]], float]] = {
    "sum": math.fsum,
    "max": max,
    "min": min,
    "prod": math.prod,
    "argmax": lambda v: v.index(max(v)),
    "argmin": lambda v: v.index(min(v)),
}


def _reduce(along: str, kind: str, x: Any, space: str = "tile", dtype: DataType = FP32) -> Any:
    if space == "tensor":
        return run(call(f"tensor.{along}_{kind}", tensor(x.shape, dtype)), x)
    source = tile(x.shape, dtype)
    if "tmp_tile" in declared(f"tile.{along}_{kind}").param_index:
        return run(call(f"tile.{along}_{kind}", source, tile(x.shape, dtype)), x, None)
    return run(call(f"tile.{along}_{kind}", source), x)


@pytest.mark.parametrize("space", ["tile", "tensor"])
@pytest.mark.parametrize("along", ["row", "col"])
@pytest.mark.parametrize("kind", sorted(FORMULAS))
def test_reductions(along: str, kind: str, space: str) -> None:
    x = np.random.default_rng(1).uniform(0.5, 1.5, (5, 7)).astype(np.float32)
    x[2, 3] = x[2, 1] = x[4, 3] = 2
    got = _reduce(along, kind, x, space)
    lines = x.tolist() if along == "row" else x.T.tolist()
    expected = np.array([FORMULAS[kind](line) for line in lines])
    assert got.shape == ((5, 1) if along == "row" else (1, 7))
    np.testing.assert_allclose(got.reshape(-1), expected, rtol=1e-6)
    assert got.dtype == (np.int32 if kind.startswith("arg") else np.float32)


@pytest.mark.parametrize(
    ("dtype", "numpy"), [(FP16, np.float16), (BF16, ml_dtypes.bfloat16), (INT32, np.int32), (INT16, np.int16)]
)
@pytest.mark.parametrize("kind", ["sum", "max", "min", "argmax"])
def test_reductions_of_other_element_types(kind: str, dtype: DataType, numpy: Any) -> None:
    x = numbers(4, 9, dtype=numpy)
    got = _reduce("row", kind, x, "tensor", dtype)
    expected = [FORMULAS[kind](line) for line in x.astype(np.float64).tolist()]
    np.testing.assert_array_equal(got.astype(np.float64).reshape(-1), expected)
    assert got.dtype == (np.int32 if kind == "argmax" else numpy)


def test_integer_sums_wrap() -> None:
    x = np.full((1, 3), 100, np.int8)
    assert _reduce("row", "sum", x, dtype=INT8).tolist() == [[300 - 256]]
    assert _reduce("row", "prod", x, dtype=INT8).tolist() == [[10**6 % 256 - (256 if 10**6 % 256 > 127 else 0)]]


def test_half_sums_are_made_in_single_precision() -> None:
    x = np.full((1, 5000), 1, np.float16)
    assert _reduce("row", "sum", x, dtype=FP16)[0, 0] == 5000


@pytest.mark.parametrize(
    ("kind", "neutral"), [("sum", 0), ("prod", 1), ("max", -math.inf), ("min", math.inf), ("argmax", 0), ("argmin", 0)]
)
def test_the_reduction_of_nothing(kind: str, neutral: float) -> None:
    made = call(f"tile.row_{kind}", tile([4, 8]), tile([4, 8]))
    declaration: Any = made.op
    got = declaration.meaning(np.zeros((4, 0), np.float32), None)
    assert got.tolist() == [[neutral]] * 4
    none = declared(f"tensor.col_{kind}").meaning
    assert none is not None
    assert none(np.zeros((0, 3), np.float32)).tolist() == [[neutral] * 3]


def test_reductions_see_the_valid_region_only() -> None:
    for space in ("tile", "tensor"):
        for along in ("row", "col"):
            for kind in FORMULAS:
                assert declared(f"{space}.{along}_{kind}").lanes is Lanes.REDUCE


def test_reduction_types() -> None:
    n = scalar("n")
    source, tmp = tile([8, 64], valid=[n, 10]), tile([8, 64])
    made: Any = call("tile.row_sum", source, tmp).type
    assert [made.shape[0].value, made.shape[1].value] == [8, 1]
    assert made.valid_shape[0] is n
    assert made.get_effective_tile_view().blayout is TileLayout.col_major
    assert call("tile.row_max", tile([8, 64]), tmp).type.tile_view is None  # type: ignore[attr-defined]
    made = call("tile.col_max", source)
    assert shape_of(made) == [1, 64]
    assert valid_of(made) == [1, 10]
    made = call("tile.row_argmax", tile([8, 64], FP16), tile([8, 64], FP16))
    assert made.type.dtype is INT32  # type: ignore[attr-defined]
    made = call("tensor.row_argmin", tensor([2, 8, 64], valid=[2, n, 64]))
    assert shape_of(made) == [2, 8, 1]
    assert valid_of(made) == [2, n, 1]
    assert shape_of(call("tensor.row_max", tensor([8]))) == [1]
    assert shape_of(call("tensor.col_max", tensor([3, 8, 64]))) == [3, 1, 64]


@pytest.mark.parametrize(
    ("name", "positional", "words"),
    [
        ("tile.row_sum", [tile([8]), tile([8])], "rank 2"),
        ("tile.row_sum", [tile([8, 64]), tile([8, 64], FP16)], "scratch tile"),
        ("tile.row_sum", [tile([8, 64]), tile([8, 32])], "no smaller than"),
        ("tile.row_sum", [tile([8, 64]), tile([512])], "scratch tile"),
        ("tile.row_argmax", [tile([8, 64]), tile([8, 128])], "exactly the type"),
        ("tile.row_min", [tile([8, 64], BF16), tile([8, 64], BF16)], "INT16, INT32, FP16, FP32"),
        ("tile.row_min", [tile([8, 64], space=MemorySpace.Mat), tile([8, 64])], "row-major"),
        ("tile.col_argmax", [tile([8, 64]), tile([8, 32])], "scratch tile"),
        ("tensor.col_sum", [tensor([8])], "rank 2"),
        ("tensor.row_sum", [tensor([8, 8], DataType.BOOL)], "takes numbers"),
    ],
)
def test_reductions_refuse(name: str, positional: list[Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(name, *positional)


# -- vectors over matrices -------------------------------------------------------------------------------------------------------

COMBINED: dict[str, Callable[[float, float], float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "max": max,
    "min": min,
    "expdif": lambda a, b: math.exp(a - b),
}


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
@pytest.mark.parametrize("along", ["row", "col"])
@pytest.mark.parametrize("kind", sorted(COMBINED))
def test_expanded(along: str, kind: str, space: str, made_of: Any) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(0.5, 2, (4, 6)).astype(np.float32)
    v = rng.uniform(0.5, 2, (4, 1) if along == "row" else (1, 6)).astype(np.float32)
    made = call(f"{space}.{along}_expand_{kind}", made_of([4, 6]), made_of(v.shape))
    expected = [
        [COMBINED[kind](float(x[i, j]), float(v.reshape(-1)[i if along == "row" else j])) for j in range(6)] for i in range(4)
    ]
    got = run(made, x, v)
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    assert got.dtype == np.float32


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
def test_plain_expansion(space: str, made_of: Any) -> None:
    n = scalar("n")
    column, row = numbers(4, 1), numbers(1, 6)
    target = made_of([4, 6], valid=[n, 6])
    made = call(f"{space}.row_expand", target, made_of([4, 1]))
    np.testing.assert_array_equal(run(made, np.full((4, 6), np.nan), column), np.repeat(column, 6, 1))
    assert valid_of(made) == [n, 6]
    made = call(f"{space}.col_expand", target, made_of([1, 6]))
    np.testing.assert_array_equal(run(made, np.full((4, 6), np.nan), row), np.repeat(row, 4, 0))
    made = call(f"{space}.expands", target, 3)
    np.testing.assert_array_equal(run(made, None), np.full((4, 6), 3))
    assert made.args[1].dtype is FP32  # type: ignore[attr-defined]
    promoted = call(f"{space}.row_expand_mul", made_of([4, 6], FP16), made_of([4, 1], FP32))
    assert promoted.type.dtype is FP32  # type: ignore[attr-defined]


def test_integer_quotients_are_cut_off() -> None:
    x, v = np.array([[7, -7, 6, 5]], np.int32).repeat(2, 0), np.array([[2], [0]], np.int32)
    made = call("tile.row_expand_div", tile([2, 4], INT32), tile([2, 1], INT32))
    assert run(made, x, v).tolist() == [[3, -3, 3, 2], [0, 0, 0, 0]]


@pytest.mark.parametrize(
    ("name", "positional", "words"),
    [
        ("tile.row_expand_mul", [tile([4, 6]), tile([4, 2])], r"column vector \[rows, 1\]"),
        ("tile.row_expand_mul", [tile([4, 6]), tile([3, 1])], "column vector"),
        ("tile.row_expand", [tile([6]), tile([6])], "rank 2"),
        ("tile.row_expand_add", [tile([4, 6]), tile([4, 1], FP16)], "one element type"),
        ("tile.row_expand_add", [tile([4, 6], BF16), tile([4, 1], BF16)], "one element type among"),
        ("tile.row_expand_add", [tile([4, 6], valid=[3, 6]), tile([4, 1])], "as many valid rows"),
        ("tile.row_expand_add", [tile([4, 6], space=MemorySpace.Mat), tile([4, 1])], "row-major"),
        ("tile.row_expand_add", [tile([4, 6]), tile([4, 1]), tile([4, 6], FP16)], "scratch tile"),
        ("tensor.row_expand_mul", [tensor([4, 6]), tensor([4, 6])], "column vector"),
        ("tensor.col_expand_mul", [tensor([4, 6]), tensor([4, 6])], r"row vector \[1, columns\]"),
        ("tensor.col_expand_mul", [tensor([4, 6]), tensor([1, 5])], "row vector"),
        ("tensor.col_expand_mul", [tensor([4, 6]), tensor([6])], "rank 2"),
        ("tile.expands", [tile([4, 6]), scalar()], "INDEX"),
    ],
)
def test_expansions_refuse(name: str, positional: list[Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(name, *positional)
