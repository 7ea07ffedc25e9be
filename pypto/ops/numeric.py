"""Element types in NumPy, and conversion between them to the bit.

Conversions follow these rules. Float to integer rounds by the mode, saturates, and turns NaN into 0. Integer to integer wraps around.
Everything to BOOL asks whether the value differs from zero. To a float type with fewer digits the value is rounded once, from its exact
value, by the mode: ``none`` and ``rint`` to the nearest and halves to even, ``round`` to the nearest and halves away from zero, ``floor``,
``ceil`` and ``trunc`` in their direction, ``odd`` to the neighbour with an odd last digit unless the value is exact. What is too large
becomes infinity (the largest finite value where the direction points inward); a type without infinity gives NaN, one without NaN saturates.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CastMode
from pypto.ops.declare import resolve_cast_mode

Array = NDArray[Any]
Caster = Callable[[Array], Array]

_NATIVE: dict[DataType, Any] = {
    DataType.BOOL: np.bool_,
    DataType.INT8: np.int8,
    DataType.INT16: np.int16,
    DataType.INT32: np.int32,
    DataType.INT64: np.int64,
    DataType.INDEX: np.int64,
    DataType.UINT8: np.uint8,
    DataType.UINT16: np.uint16,
    DataType.UINT32: np.uint32,
    DataType.UINT64: np.uint64,
    DataType.TASK_ID: np.uint64,
    DataType.FP16: np.float16,
    DataType.FP32: np.float32,
}
_EXTENDED: dict[DataType, str] = {
    DataType.BF16: "bfloat16",
    DataType.FP8E4M3FN: "float8_e4m3fn",
    DataType.FP8E5M2: "float8_e5m2",
    DataType.FP8E8M0: "float8_e8m0fnu",
    DataType.FP4: "float4_e2m1fn",
    DataType.INT4: "int4",
    DataType.UINT4: "uint4",
}


@cache
def numpy_dtype(dtype: DataType) -> np.dtype[Any]:
    """The NumPy element type of a DataType; the 4-bit ones take one byte each.

    Raises:
        InvalidValueError: HF4 and HF8, which exist on the machine only.
    """
    native = _NATIVE.get(dtype)
    if native is not None:
        return np.dtype(native)
    name = _EXTENDED.get(dtype)
    if name is None:
        raise InvalidValueError(
            f"{dtype.name} exists on the hardware only: it has no NumPy form, so it cannot be run here",
            hint="use FP8E4M3FN or FP8E5M2",
        )
    import ml_dtypes  # only wanted by programs that use these types

    return np.dtype(getattr(ml_dtypes, name))


@cache
def data_type(dtype: np.dtype[Any]) -> DataType:
    """The DataType of a NumPy element type; ``int64`` is INT64 and ``uint64`` UINT64.

    Raises:
        InvalidTypeError: there is none.
    """
    for ours, native in _NATIVE.items():
        if ours not in (DataType.INDEX, DataType.TASK_ID) and dtype == native:
            return ours
    for ours, name in _EXTENDED.items():
        if dtype.name == name:
            return ours
    raise InvalidTypeError(f"there is no element type for NumPy's {dtype}")


def numpy_scalar(value: Any, dtype: DataType) -> Any:
    """A number as a NumPy scalar of ``dtype``: integers wrap around, floats are rounded to the nearest."""
    kind = numpy_dtype(dtype)
    if dtype is DataType.BOOL:
        return np.bool_(value)
    if dtype.is_float():
        if isinstance(value, int | np.integer):
            return cast_array(np.asarray([value]), DataType.INT64 if value < 1 << 63 else DataType.UINT64, dtype, CastMode.none)[
                0
            ]
        return _from_doubles(np.asarray([value], np.float64), dtype, CastMode.none)[0]
    bits = dtype.get_bit()
    low = int(value) & ((1 << bits) - 1)
    return kind.type(low - (1 << bits) if dtype.is_signed_int() and low >> (bits - 1) else low)


def cast_array(x: Array, src: DataType, dst: DataType, mode: int | str = CastMode.none) -> Array:
    """``x``, whose elements are of ``src``, as an array of ``dst``; a new array unless both are one type.

    Raises:
        InvalidValueError: no such mode, or a type that has no NumPy form.
    """
    return caster(src, dst, mode)(x)


@cache
def caster(src: DataType, dst: DataType, mode: int | str) -> Caster:
    """The function that converts arrays from one element type to another; see the module for the rules.

    Raises:
        InvalidValueError: no such mode, or a type that has no NumPy form.
    """
    how = CastMode(resolve_cast_mode(mode))
    source, target = numpy_dtype(src), numpy_dtype(dst)
    if source == target:
        return lambda x: x
    if dst is DataType.BOOL:
        return lambda x: np.not_equal(x, source.type(0))
    whole = dst.is_int() or dst is DataType.TASK_ID
    if not src.is_float():
        return _wrapping(src, dst, target) if whole else _integer_to_float(src, dst, how)
    if whole:
        return _float_to_integer(src, dst, how)
    return _float_to_float(src, dst, how)


# -- integers ---------------------------------------------------------------------------------------------------------------------


def _wrapping(src: DataType, dst: DataType, target: np.dtype[Any]) -> Caster:
    if dst.get_bit() >= 8 or dst is DataType.BOOL:
        narrow = src.get_bit() < 8 and src is not DataType.BOOL
        return (lambda x: x.astype(np.int8).astype(target)) if narrow else (lambda x: x.astype(target))

    def wrap(x: Array) -> Array:
        low = x.astype(np.int8) & np.int8(15)
        return (((low ^ 8) - 8) if dst is DataType.INT4 else low).astype(target)

    return wrap


_LIMITS_EXACT = {DataType.FP32: 24, DataType.FP16: 11, DataType.BF16: 8}


def _integer_to_float(src: DataType, dst: DataType, mode: CastMode) -> Caster:
    target = numpy_dtype(dst)
    value_bits = 1 if src is DataType.BOOL else src.get_bit() - src.is_signed_int()
    if value_bits <= _LIMITS_EXACT.get(dst, 0):
        through = np.int8 if src.get_bit() < 8 and src is not DataType.BOOL else None
        return (lambda x: x.astype(through).astype(target)) if through else (lambda x: x.astype(target))
    if dst is DataType.FP32:
        if mode in (CastMode.none, CastMode.rint):
            return lambda x: x.astype(np.float32)
        return lambda x: x.astype(np.float32) if _small(x) else _from_doubles(_doubles(x), dst, mode)
    narrow = _float_to_float(DataType.FP32, dst, mode)

    def convert(x: Array) -> Array:
        return narrow(
            (x.astype(np.int8) if src.get_bit() < 8 else x).astype(np.float32) if _small(x) else _odd_floats(_doubles(x))
        )

    return convert


def _small(x: Array) -> bool:
    """True when every element has at most 24 bits, so that FP32 holds it exactly."""
    if x.dtype.itemsize <= 2 or not x.size:
        return True
    return bool(x.max() <= 1 << 24) and bool(x.min() >= -(1 << 24))


def _doubles(x: Array) -> Array:
    """Integers as doubles; of those with more than 53 bits the last digit kept is odd when something was cut off, so that rounding the
    double to a shorter type rounds the integer."""
    if x.dtype.itemsize < 8 or not x.size:
        return x.astype(np.float64)
    magnitude = np.where(x < 0, -x.astype(np.int64), x.astype(np.int64)).view(np.uint64) if x.dtype.kind == "i" else x
    long = magnitude >= np.uint64(1 << 53)
    cut = magnitude >> np.uint64(11)
    cut |= ((magnitude & np.uint64(0x7FF)) != 0).astype(np.uint64)
    value = np.where(long, cut, magnitude).astype(np.float64) * np.where(long, 2048.0, 1.0)
    return np.where(x < 0, -value, value)


def _odd_floats(x: Array) -> Array:
    """Doubles as FP32, rounded to odd: rounding the result again to at most 22 digits is as good as rounding once."""
    return _from_doubles(x, DataType.FP32, CastMode.odd)


# -- floats to integers -----------------------------------------------------------------------------------------------------------


def _float_to_integer(src: DataType, dst: DataType, mode: CastMode) -> Caster:
    target = numpy_dtype(dst)
    bits = dst.get_bit()
    signed = dst.is_signed_int()
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    floats = np.float32
    rounding = _ROUND[mode]
    room = floats(high if bits <= 16 else high // 2)
    widen = src is not DataType.FP32

    def careful(x: Array) -> Array:
        """The way for arrays that hold NaN or values out of range."""
        rounded = _ROUND_WHOLE[mode](x)
        below, above = rounded < floats(low), rounded >= floats(2.0 ** (bits - signed))
        inside = np.where(below | above | np.isnan(rounded), floats(0), rounded).astype(
            np.int64 if signed or bits < 64 else np.uint64
        )
        inside = np.where(below, inside.dtype.type(low), np.where(above, inside.dtype.type(high), inside))
        return inside.astype(np.int8).astype(target) if bits < 8 else inside.astype(target)

    if signed and bits in (32, 64) and _traps():

        def trapping(x: Array) -> Array:
            wide = x.astype(floats) if widen else x
            with np.errstate(all="ignore", invalid="raise"):
                try:
                    return rounding(wide).astype(target)
                except FloatingPointError:
                    pass
            with np.errstate(all="ignore"):
                return careful(wide)

        return trapping

    def checked(x: Array) -> Array:
        with np.errstate(all="ignore"):
            wide = x.astype(floats) if widen else x
            if bits >= 8 and wide.size and wide.max() < room and wide.min() >= floats(low):
                return rounding(wide).astype(target)
            return careful(wide)

    return checked


@cache
def _traps() -> bool:
    """True when this machine tells of NaN and overflow in vector conversions from float to integer."""
    for bad in (np.nan, np.inf, -np.inf, 3e9, -3e9, 1e19, -1e19):
        for count, at in ((1, 0), (67, 66), (64, 13)):
            sample = np.zeros(count, np.float32)
            sample[at] = bad
            for kind in (np.int32, np.int64):
                if abs(bad) < 1e18 and kind is np.int64:
                    continue
                with np.errstate(all="ignore", invalid="raise"):
                    try:
                        sample.astype(kind)
                    except FloatingPointError:
                        continue
                return False
    return True


def _half_away_prepared(x: Array) -> Array:
    """FP32 moved by just under a half away from zero: what is left after cutting the fraction off is rounded, halves away from zero.

    The largest number below a half is added, so that a value just under a half does not reach one; sums that then fall short of a whole
    number are rounded up to it by the addition.
    """
    bits = x.view(np.uint32) & _SIGN32
    bits |= _BELOW_HALF
    half = bits.view(np.float32)
    return np.add(half, x, out=half) if x.ndim else half + x


_SIGN32 = np.uint32(0x80000000)
_BELOW_HALF = np.uint32(0x3EFFFFFF)


def _to_odd(x: Array) -> Array:
    whole = np.trunc(x)
    even = np.remainder(whole, 2) == 0
    return np.where((whole != x) & even & np.isfinite(x), whole + np.copysign(x.dtype.type(1), x), whole)


def _half_away(x: Array) -> Array:
    whole = np.trunc(x)
    rest = np.abs(x - whole)
    return np.where(rest >= 0.5, whole + np.copysign(x.dtype.type(1), x), whole)


# what to do before the conversion, which cuts the fraction off
_ROUND: dict[CastMode, Callable[[Array], Array]] = {
    CastMode.none: np.rint,
    CastMode.rint: np.rint,
    CastMode.round: _half_away_prepared,
    CastMode.floor: np.floor,
    CastMode.ceil: np.ceil,
    CastMode.trunc: lambda x: x,
    CastMode.odd: _to_odd,
}
# to whole numbers, as floats
_ROUND_WHOLE: dict[CastMode, Callable[[Array], Array]] = {
    **_ROUND,
    CastMode.round: _half_away,
    CastMode.trunc: np.trunc,
}


# -- floats to floats -------------------------------------------------------------------------------------------------------------


class _Format(NamedTuple):
    """A float type: digits, exponent of the smallest normal number, largest finite value, and what overflow gives."""

    digits: int
    least: int
    largest: float
    overflow: float
    """Infinity, NaN, or the largest value."""


_FORMATS: dict[DataType, _Format] = {
    DataType.FP32: _Format(24, -126, float(np.finfo(np.float32).max), np.inf),
    DataType.FP16: _Format(11, -14, 65504.0, np.inf),
    DataType.BF16: _Format(8, -126, (2 - 2.0**-7) * 2.0**127, np.inf),
    DataType.FP8E4M3FN: _Format(4, -6, 448.0, np.nan),
    DataType.FP8E5M2: _Format(3, -14, 57344.0, np.inf),
    DataType.FP4: _Format(2, 0, 6.0, 6.0),
}
_NEAREST = (CastMode.none, CastMode.rint)


def _float_to_float(src: DataType, dst: DataType, mode: CastMode) -> Caster:
    target = numpy_dtype(dst)
    widen = src is not DataType.FP32
    if dst is DataType.FP32:
        return lambda x: x.astype(np.float32)
    if mode in _NEAREST and dst is not DataType.FP4:

        def nearest(x: Array) -> Array:
            with np.errstate(all="ignore"):
                return (x.astype(np.float32) if widen else x).astype(target)

        return nearest
    if mode is CastMode.round and dst in (DataType.FP16, DataType.BF16):

        def away(x: Array) -> Array:
            with np.errstate(all="ignore"):
                wide = x.astype(np.float32) if widen else x
                # the last digit set puts a half on its outer side and leaves everything else on the side it was
                made = (wide.view(np.uint32) | np.uint32(1)).view(np.float32).astype(target)
                infinite = np.isinf(wide)
                return np.where(infinite, wide.astype(target), made) if infinite.any() else made

        return away

    def general(x: Array) -> Array:
        with np.errstate(all="ignore"):
            wide = x.astype(np.float32) if widen else x
            return _from_doubles(wide.astype(np.float64), dst, mode)

    return general


def _from_doubles(x: Array, dst: DataType, mode: CastMode) -> Array:
    """Doubles rounded once to ``dst`` by the mode."""
    target = numpy_dtype(dst)
    with np.errstate(all="ignore"):
        if dst is DataType.FP8E8M0:
            return _to_powers(x, mode).astype(np.float32).astype(target)
        form = _FORMATS[dst]
        _, exponent = np.frexp(x)
        step = np.maximum(exponent - 1, form.least) - (form.digits - 1)
        scaled = np.ldexp(x, -step)
        finite = np.isfinite(x)
        rounded = np.ldexp(_WHOLE_DOUBLES[mode](np.where(finite, scaled, 0.0)), step)
        beyond = np.abs(rounded) > form.largest
        inward = _inward(x, mode)
        rounded = np.where(beyond, np.copysign(np.where(inward, form.largest, form.overflow), x), rounded)
        rounded = np.where(finite, np.copysign(rounded, x), np.where(np.isnan(x), x, np.copysign(form.overflow, x)))
        if dst is DataType.FP4:
            rounded = np.where(np.isnan(x), 0.0, rounded)
        return rounded.astype(np.float32).astype(target)


_WHOLE_DOUBLES: dict[CastMode, Callable[[Array], Array]] = {**_ROUND_WHOLE, CastMode.odd: _to_odd}


def _inward(x: Array, mode: CastMode) -> Any:
    """Where the direction of rounding points toward zero, so that overflow stops at the largest value."""
    if mode in (CastMode.trunc, CastMode.odd):
        return True
    if mode is CastMode.floor:
        return x > 0
    return x < 0 if mode is CastMode.ceil else False


def _to_powers(x: Array, mode: CastMode) -> Array:
    """Positive numbers as powers of two from 2**-127 to 2**127, everything else as NaN: the scale type FP8E8M0.

    Halves go up; ``odd`` goes to the odd exponent code.
    """
    fraction, exponent = np.frexp(x)
    exact = fraction == 0.5
    below = np.where(np.isfinite(x) & (x > 0), exponent - 1, 0)
    odd_code = (below + 127) % 2 == 1
    if mode in _NEAREST or mode is CastMode.round:
        up = fraction >= 0.75
    elif mode is CastMode.ceil:
        up = ~exact
    else:
        up = ~exact & ~odd_code if mode is CastMode.odd else np.zeros(x.shape, np.bool_)
    power = np.maximum(below + up, -127)
    good = np.isfinite(x) & (x > 0)
    made = np.where(good & (power <= 127), np.ldexp(1.0, np.minimum(power, 127)), np.nan)
    return np.where(good & (power > 127) & _inward(x, mode), 2.0**127, made)


def is_float(dtype: np.dtype[Any]) -> bool:
    """True for NumPy's floats and those of ``ml_dtypes``."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)
