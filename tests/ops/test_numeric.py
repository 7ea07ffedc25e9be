"""Conversions between element types, bit for bit, against exact arithmetic on fractions."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.enums import CastMode
from pypto.ops.numeric import cast_array, caster, data_type, numpy_dtype, numpy_scalar

FLOATS = ("FP32", "FP16", "BF16", "FP8E4M3FN", "FP8E5M2", "FP4")
INTEGERS = ("INT4", "INT8", "INT16", "INT32", "INT64", "UINT4", "UINT8", "UINT16", "UINT32", "UINT64")
# digits, exponent of the smallest normal, largest value, what overflow gives
FORMATS: dict[str, tuple[int, int, Fraction, Any]] = {
    "FP32": (24, -126, Fraction(2**24 - 1) * Fraction(2) ** 104, "inf"),
    "FP16": (11, -14, Fraction(65504), "inf"),
    "BF16": (8, -126, Fraction(255) * Fraction(2) ** 120, "inf"),
    "FP8E4M3FN": (4, -6, Fraction(448), "nan"),
    "FP8E5M2": (3, -14, Fraction(57344), "inf"),
    "FP4": (2, 0, Fraction(6), "largest"),
}
MODES = [m.name for m in CastMode]


def doubles(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return x.astype(np.float64)


def whole(value: Fraction, mode: str) -> int:
    """A fraction as a whole number by the rounding mode."""
    low = value.numerator // value.denominator
    if value.denominator == 1:
        return low
    if mode == "floor":
        return low
    if mode == "ceil":
        return low + 1
    if mode == "trunc":
        return low if value > 0 else low + 1
    if mode == "odd":
        return low if low % 2 else low + 1
    rest = value - low
    if rest != Fraction(1, 2):
        return low + (rest > Fraction(1, 2))
    if mode == "round":
        return low + 1 if value > 0 else low
    return low if low % 2 == 0 else low + 1


def to_float(value: Fraction, negative: bool, dst: str, mode: str) -> float:
    """The double that an exact value becomes in a float type."""
    digits, least, largest, overflow = FORMATS[dst]
    sign = -1.0 if negative else 1.0
    if value == 0:
        return 0.0 * sign
    exponent = max(least, math.frexp(float(abs(value)))[1] - 1)
    if Fraction(2) ** exponent > abs(value):  # a double above a long integer
        exponent = max(least, exponent - 1)
    step = Fraction(2) ** (exponent - digits + 1)
    made = whole(value / step, mode) * step
    if abs(made) > largest:
        inward = mode in ("trunc", "odd") or (mode == "floor" and value > 0) or (mode == "ceil" and value < 0)
        beyond = {"inf": math.inf, "nan": math.nan, "largest": float(largest)}[overflow]
        return sign * (float(largest) if inward else beyond)
    return sign * float(abs(made))


def limits(dst: str) -> tuple[int, int]:
    bits = DTYPES[dst].get_bit()
    return (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if dst.startswith("INT") else (0, 2**bits - 1)


def same_bits(found: Any, expected: list[float], dst: str) -> None:
    values = [float(v) for v in found]
    for at, (one, other) in enumerate(zip(values, expected, strict=True)):
        assert (math.isnan(one) and math.isnan(other)) or struct.pack("<d", one) == struct.pack("<d", other), (at, one, other)


@cache
def samples(src: str) -> np.ndarray[Any, Any]:
    """Ties, neighbours of ties, limits, subnormals and random values of a float type."""
    kind = numpy_dtype(DTYPES[src])
    if kind.itemsize == 1:
        codes = np.arange(16 if src == "FP4" else 256, dtype=np.uint8)
        return codes.view(kind)
    if kind.itemsize == 2:
        random = np.random.default_rng(5).integers(0, 2**16, 1500, dtype=np.uint16)
        edges = np.array(
            [0, 0x8000, 1, 0x8001, 0x3C00, 0x3E00, 0x4100, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x3F80, 0x7F80, 0xFF80, 0x7FC0],
            np.uint16,
        )
        return np.concatenate([random, edges]).view(kind)
    base = [
        0.0,
        -0.0,
        0.5,
        1.5,
        2.5,
        3.5,
        0.25,
        0.75,
        1.25,
        5.0,
        127.5,
        128.5,
        255.5,
        257.0,
        65519.0,
        65519.996,
        65520.0,
        65535.5,
        464.0,
    ]
    base += [
        465.0,
        480.0,
        57344.0,
        61440.0,
        61439.0,
        1e-40,
        1.00390625,
        1.01171875,
        16777217.0,
        8388607.5,
        8388609.0,
        3.3961775e38,
        6e-8,
    ]
    base += [
        2.0**31,
        2.0**31 - 128,
        2.0**32,
        2.0**32 - 256,
        2.0**63,
        2.0**64,
        2.0**62,
        3e9,
        1e19,
        1e30,
        3.4028235e38,
        2.0**-149,
        2.0**-24,
    ]
    base += [
        2.0**-25,
        3 * 2.0**-26,
        2.0**-16,
        2.0**-17,
        1.5 * 2.0**-16,
        0.49999997,
        0.50000006,
        3.1e-5,
        6.1e-5,
        2.0**-10,
        2.0**-9,
        7.5,
        8.5,
        math.inf,
    ]
    fine = np.array(base, np.float32)
    with np.errstate(all="ignore"):
        near = np.concatenate([fine, np.nextafter(fine, np.float32(0)), np.nextafter(fine, np.float32(np.inf))])
    random = np.random.default_rng(7).integers(0, 2**32, 800, dtype=np.uint32).view(np.float32)
    scaled = np.random.default_rng(8).uniform(-300, 300, 400).astype(np.float32)
    halves = (np.arange(-40, 40) / 2).astype(np.float32)
    all_ = np.concatenate([near, random, scaled, halves, [np.float32(np.nan)]])
    return np.concatenate([all_, -all_])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dst", INTEGERS)
@pytest.mark.parametrize("src", FLOATS)
def test_float_to_integer(src: str, dst: str, mode: str) -> None:
    x = samples(src)
    low, high = limits(dst)
    expected: list[int] = []
    for value in doubles(x):
        if math.isnan(value):
            expected.append(0)
        elif math.isinf(value):
            expected.append(high if value > 0 else low)
        else:
            expected.append(min(max(whole(Fraction(value), mode), low), high))
    found = cast_array(x, DTYPES[src], DTYPES[dst], mode)
    assert found.dtype == numpy_dtype(DTYPES[dst])
    assert [int(v) for v in found] == expected
    # the quick way of arrays without anything out of range
    tame = np.array([0 <= abs(float(v)) < 7 and (dst.startswith("INT") or v >= 0) for v in x])
    quick = cast_array(x[tame], DTYPES[src], DTYPES[dst], mode)
    assert [int(v) for v in quick] == [e for e, t in zip(expected, tame, strict=True) if t]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("src", "dst"), [(s, d) for s in FLOATS for d in FLOATS if s != d])
def test_float_to_float(src: str, dst: str, mode: str) -> None:
    x = samples(src)
    overflow = FORMATS[dst][3]
    expected: list[float] = []
    for value in doubles(x):
        if math.isnan(value):
            expected.append(0.0 if dst == "FP4" else math.nan)
        elif math.isinf(value):
            expected.append(math.copysign({"inf": math.inf, "nan": math.nan, "largest": 6.0}[overflow], value))
        else:
            expected.append(to_float(Fraction(value), math.copysign(1, value) < 0, dst, mode))
    found = cast_array(x, DTYPES[src], DTYPES[dst], mode)
    assert found.dtype == numpy_dtype(DTYPES[dst])
    same_bits(doubles(found), expected, dst)


def integer_samples(src: str) -> list[int]:
    low, high = limits(src)
    picks = {
        0,
        1,
        -1,
        2,
        3,
        5,
        7,
        8,
        9,
        15,
        17,
        19,
        127,
        129,
        255,
        257,
        259,
        -771,
        771,
        2049,
        4097,
        65519,
        65520,
        65535,
        low,
        high,
        high - 1,
        low + 1,
    }
    for power in range(4, 65):
        for offset in (-3, -2, -1, 0, 1, 2, 3):
            picks |= {2**power + offset, -(2**power) + offset, 2**power + 2 ** (power // 2) + offset, 3 * 2**power // 2 + offset}
    random = np.random.default_rng(3).integers(-(2**62), 2**62, 100).tolist()
    picks |= {int(r) for r in random} | {int(r) >> 30 for r in random}
    return sorted(p for p in picks if low <= p <= high)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dst", FLOATS)
@pytest.mark.parametrize("src", INTEGERS)
def test_integer_to_float_rounds_once(src: str, dst: str, mode: str) -> None:
    values = integer_samples(src)
    expected = [to_float(Fraction(v), v < 0, dst, mode) for v in values]
    kind = numpy_dtype(DTYPES[src])
    x = np.array(list(values), np.int8).astype(kind) if kind.itemsize == 1 and src.endswith("4") else np.array(values, kind)
    same_bits(cast_array(x, DTYPES[src], DTYPES[dst], mode).astype(np.float64), expected, dst)
    small = [abs(v) <= 1 << 24 for v in values]
    quick = cast_array(x[np.array(small)], DTYPES[src], DTYPES[dst], mode)
    same_bits(quick.astype(np.float64), [e for e, s in zip(expected, small, strict=True) if s], dst)


@pytest.mark.parametrize("dst", INTEGERS)
@pytest.mark.parametrize("src", INTEGERS)
def test_integer_to_integer_wraps(src: str, dst: str) -> None:
    values = integer_samples(src)
    kind = numpy_dtype(DTYPES[src])
    x = np.array(values, np.int8).astype(kind) if src.endswith("4") and kind.itemsize == 1 else np.array(values, kind)
    bits = DTYPES[dst].get_bit()
    expected = [(v + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) if dst.startswith("INT") else v % 2**bits for v in values]
    assert [int(v) for v in cast_array(x, DTYPES[src], DTYPES[dst], "none")] == expected
    assert [int(numpy_scalar(v, DTYPES[dst])) for v in values] == expected


def test_the_four_routes_of_a_large_integer_to_bfloat16_agree() -> None:
    x = np.array([257, 259, -771, 16777217, 2**30 + 2**22, 2**30 + 2**22 + 1], np.int32)
    direct = cast_array(x, DataType.INT32, DataType.BF16, "rint").astype(np.float64)
    assert direct.tolist() == [256.0, 260.0, -772.0, 16777216.0, 2.0**30, 2.0**30 + 2.0**23]
    through = cast_array(cast_array(x[:4], DataType.INT32, DataType.FP32, "none"), DataType.FP32, DataType.BF16, "rint")
    assert direct[:4].tolist() == through.astype(np.float64).tolist()


def test_the_default_mode_on_the_known_ties() -> None:
    x = np.array([1.00390625, -1.01171875, 257.0, 2.5, 3.5, -2.5, 0.5, -0.5, 65519.0, 16777217.0], np.float32)
    away = cast_array(x, DataType.FP32, DataType.BF16, "round").astype(np.float64)
    assert away.tolist() == [1.0078125, -1.015625, 258.0, 2.5, 3.5, -2.5, 0.5, -0.5, 65536.0, 16777216.0]
    even = cast_array(x, DataType.FP32, DataType.BF16, "rint").astype(np.float64)
    assert even.tolist() == [1.0, -1.015625, 256.0, 2.5, 3.5, -2.5, 0.5, -0.5, 65536.0, 16777216.0]
    whole_ = cast_array(x, DataType.FP32, DataType.INT32, "round")
    assert whole_.tolist() == [1, -1, 257, 3, 4, -3, 1, -1, 65519, 16777216]
    assert cast_array(x, DataType.FP32, DataType.INT32, "rint").tolist() == [1, -1, 257, 2, 4, -2, 0, 0, 65519, 16777216]


def test_rounding_half_away_for_every_fp16_and_many_fp32() -> None:
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        wide = every.astype(np.float64)
        expected = np.where(np.isfinite(wide), np.sign(wide) * np.floor(np.abs(wide) + 0.5), 0)
    finite = np.isfinite(every)
    assert np.array_equal(cast_array(every, DataType.FP16, DataType.INT32, "round")[finite], expected[finite])
    many = np.random.default_rng(1).integers(0, 2**32, 200_000, dtype=np.uint32).view(np.float32)
    many = many[np.abs(many) < 2.0**30]
    close = (np.random.default_rng(2).integers(-(2**22), 2**22, 100_000) / 2).astype(np.float32)
    for x in (many, close, np.nextafter(close, np.float32(0)), np.nextafter(close, np.float32(1e9))):
        wide = x.astype(np.float64)
        assert np.array_equal(cast_array(x, DataType.FP32, DataType.INT32, "round"), np.sign(wide) * np.floor(np.abs(wide) + 0.5))


def test_bool() -> None:
    assert cast_array(np.array([0.0, -0.0, 0.1, np.nan], np.float32), DataType.FP32, DataType.BOOL, "round").tolist() == [
        False,
        False,
        True,
        True,
    ]
    assert cast_array(np.array([0, 256], np.int32), DataType.INT32, DataType.BOOL, "none").tolist() == [False, True]
    for dst in ("FP32", "FP16", "BF16", "INT8", "UINT64", "INT4"):
        assert [float(v) for v in cast_array(np.array([True, False]), DataType.BOOL, DTYPES[dst], "none")] == [1.0, 0.0]


def test_the_scale_type_holds_powers_of_two() -> None:
    x = np.array([1.0, 1.4, 1.5, 1.6, 3.0, 2.0**-130, 0.0, -1.0, np.inf, 3.2e38], np.float32)
    nearest = cast_array(x, DataType.FP32, DataType.FP8E8M0, "rint").astype(np.float64)
    assert nearest[:6].tolist() == [1.0, 1.0, 2.0, 2.0, 4.0, 2.0**-127]
    assert np.isnan(nearest[6:]).all()
    assert cast_array(x[:5], DataType.FP32, DataType.FP8E8M0, "floor").astype(np.float64).tolist() == [1.0, 1.0, 1.0, 1.0, 2.0]
    assert cast_array(x[:5], DataType.FP32, DataType.FP8E8M0, "ceil").astype(np.float64).tolist() == [1.0, 2.0, 2.0, 2.0, 4.0]
    assert cast_array(x[9:], DataType.FP32, DataType.FP8E8M0, "floor").astype(np.float64).tolist() == [2.0**127]
    back = cast_array(np.array([2.0**-127, 8.0]).astype(ml_dtypes.float8_e8m0fnu), DataType.FP8E8M0, DataType.FP32, "none")
    assert back.tolist() == [2.0**-127, 8.0]


def test_element_types() -> None:
    for name, dtype in DTYPES.items():
        if name in ("HF4", "HF8"):
            with pytest.raises(InvalidValueError, match=f"{name} exists on the hardware only"):
                numpy_dtype(dtype)
            continue
        back = data_type(numpy_dtype(dtype))
        assert back is {"INDEX": DataType.INT64, "TASK_ID": DataType.UINT64}.get(name, dtype)
    assert numpy_dtype(DataType.INDEX) == np.int64
    assert caster(DataType.FP32, DataType.INT32, 2) is caster(DataType.FP32, DataType.INT32, CastMode.round)


def test_scalars_take_the_element_type() -> None:
    assert numpy_scalar(0.1, DataType.FP32) == np.float32(0.1)
    assert type(numpy_scalar(2, DataType.BF16)) is ml_dtypes.bfloat16
    assert numpy_scalar(16777217, DataType.FP32) == np.float32(16777216)
    assert numpy_scalar(2**63, DataType.FP32) == np.float32(2.0**63)
    assert numpy_scalar(1e300, DataType.FP16) == np.inf
    assert numpy_scalar(True, DataType.BOOL) is np.True_
    assert numpy_scalar(1.00390625, DataType.BF16) == 1.0


def test_bad_modes_and_empty_arrays() -> None:
    for mode in ("nearest", 7, -1, 2.5):
        with pytest.raises(InvalidValueError, match="no rounding mode"):
            caster(DataType.FP32, DataType.INT16, mode)  # pyright: ignore[reportArgumentType]
    for src in ("FP32", "INT32", "INT64", "BF16"):
        for dst in ("FP32", "INT8", "INT32", "BF16", "FP16", "FP4", "BOOL", "UINT64"):
            empty = np.zeros((0, 4), numpy_dtype(DTYPES[src]))
            for mode in MODES:
                assert cast_array(empty, DTYPES[src], DTYPES[dst], mode).shape == (0, 4)
