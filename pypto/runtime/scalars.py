"""Scalar arithmetic of generated code. Integers and booleans are Python's, floats NumPy scalars of their element type."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import CastMode
from pypto.ops.numeric import cast_array, numpy_dtype
from pypto.runtime.errors import Refusal
from pypto.runtime.values import PoisonScalar, is_array

Scalar = Any
"""An int, a bool, a NumPy float scalar, or a PoisonScalar."""


def is_integral(dtype: DataType) -> bool:
    """True for what generated code holds as a Python int."""
    return dtype.is_int() or dtype is DataType.TASK_ID


@cache
def wrapper(dtype: DataType) -> Callable[[Scalar], Scalar]:
    """The function that wraps an integer around to the range of ``dtype``."""
    bits = dtype.get_bit()
    modulus, half = 1 << bits, (1 << (bits - 1)) if dtype.is_signed_int() else 1 << bits

    def wrap(value: Scalar) -> Scalar:
        if type(value) is PoisonScalar:
            return value
        low = value & (modulus - 1)
        return low - modulus if low >= half else low

    return wrap


@cache
def converter(source: DataType, target: DataType) -> Callable[[Scalar], Scalar]:
    """The function that casts a scalar of ``source`` to ``target``: integers wrap, floats saturate toward integers and NaN gives 0."""
    if is_integral(target) and (is_integral(source) or source is DataType.BOOL):
        wrap = wrapper(target)
        return lambda value: value if type(value) is PoisonScalar else wrap(int(value))
    if target is DataType.BOOL:
        return lambda value: value if type(value) is PoisonScalar else bool(value != 0)
    from_type, to_type = numpy_dtype(source), numpy_dtype(target)
    mode = CastMode.trunc if is_integral(target) else CastMode.none

    def convert(value: Scalar) -> Scalar:
        if type(value) is PoisonScalar:
            return value
        cast = cast_array(np.full(1, value, from_type), source, target, mode)
        return int(cast[0]) if is_integral(target) else to_type.type(cast[0])

    return convert


@cache
def from_numpy(dtype: DataType) -> Callable[[Any], Scalar]:
    """The function that turns what a meaning returns into the scalar that generated code holds."""
    if dtype is DataType.BOOL:
        return lambda value: bool(plain_item(value))
    if is_integral(dtype):
        wrap = wrapper(dtype)
        return lambda value: wrap(int(plain_item(value)))
    kind = numpy_dtype(dtype).type
    return lambda value: value if type(value) is kind else kind(plain_item(value))


def plain_item(value: Any) -> Any:
    """The one element of an array; a scalar as it is."""
    return value.reshape(-1)[0] if is_array(value) else value


def typed(value: Scalar, dtype: DataType) -> Any:
    """A scalar of generated code as a NumPy scalar of its element type."""
    return numpy_dtype(dtype).type(value)


# -- what operators of expressions cannot say directly ----------------------------------------------------------------------------


def smaller(left: Scalar, right: Scalar) -> Scalar:
    """The smaller of two integers."""
    if type(left) is PoisonScalar or type(right) is PoisonScalar:
        return PoisonScalar(0)
    return left if left <= right else right


def larger(left: Scalar, right: Scalar) -> Scalar:
    """The larger of two integers."""
    if type(left) is PoisonScalar or type(right) is PoisonScalar:
        return PoisonScalar(0)
    return left if left >= right else right


def integer_quotient(left: Scalar, right: Scalar) -> Scalar:
    """The quotient of two integers, rounded toward zero."""
    if type(left) is PoisonScalar or type(right) is PoisonScalar:
        return PoisonScalar(0)
    if right == 0:
        raise ZeroDivisionError("division by zero")
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) == (right < 0) else -magnitude


def integer_power(left: Scalar, right: Scalar) -> Scalar:
    """An integer power modulo 2**64, to be wrapped to its type; a negative exponent rounds toward zero."""
    if type(left) is PoisonScalar or type(right) is PoisonScalar:
        return PoisonScalar(0)
    if right >= 0:
        return pow(left, right, 1 << 64)
    if left == 0:
        raise ZeroDivisionError("zero cannot be raised to a negative power")
    if left in (1, -1):
        return left if right % 2 else 1
    return 0


def shifted_left(left: Scalar, right: Scalar) -> Scalar:
    """A left shift, to be wrapped to its type; every count of 64 and more gives 0."""
    if type(left) is PoisonScalar or type(right) is PoisonScalar:
        return PoisonScalar(0)
    _check_count(right)
    return 0 if right >= 64 else left << right


def shifted_right(left: Scalar, right: Scalar) -> Scalar:
    """An arithmetic right shift."""
    if type(left) is PoisonScalar or type(right) is PoisonScalar:
        return PoisonScalar(0)
    _check_count(right)
    return left >> right


def _check_count(count: int) -> None:
    if count < 0:
        raise Refusal(f"a shift by {count} bits", hint="shift counts are not negative")
