"""Integer arithmetic of the language on Python numbers: rounding down, 64 bits."""

from __future__ import annotations

import math

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType

INT64_MIN = -(1 << 63)
INT64_MAX = (1 << 63) - 1


class DivisionByZero(InvalidValueError, ZeroDivisionError):
    """An integer was divided by zero."""

    code = "division-by-zero"


class IntegerOverflow(InvalidValueError, OverflowError):
    """A result does not fit 64 bits."""

    code = "integer-overflow"


def floordiv(x: int, y: int) -> int:
    """Quotient rounded down.

    Raises:
        DivisionByZero: ``y`` is zero.
        IntegerOverflow: the smallest 64-bit number divided by -1.
    """
    if y == 0:
        raise DivisionByZero(f"{x} // 0: integer division by zero")
    if x == INT64_MIN and y == -1:
        raise IntegerOverflow(f"{x} // -1 does not fit 64 bits")
    return x // y


def floormod(x: int, y: int) -> int:
    """Remainder with the sign of the divisor; raises as :func:`floordiv`."""
    if y == 0:
        raise DivisionByZero(f"{x} % 0: integer division by zero")
    if x == INT64_MIN and y == -1:
        raise IntegerOverflow(f"{x} % -1: the quotient does not fit 64 bits")
    return x % y


def gcd(a: int, b: int) -> int:
    """Greatest common divisor, never negative."""
    return math.gcd(a, b)


def lcm(a: int, b: int) -> int:
    """Least common multiple, never negative; zero when either is zero."""
    return math.lcm(a, b)


def extended_euclidean(a: int, b: int) -> tuple[int, int, int]:
    """``(g, x, y)`` with ``a * x + b * y == g`` and ``g`` the greatest common divisor, not negative."""
    old_r, r, old_x, x, old_y, y = a, b, 1, 0, 0, 1
    while r:
        q = old_r // r
        old_r, r = r, old_r - q * r
        old_x, x = x, old_x - q * x
        old_y, y = y, old_y - q * y
    return (-old_r, -old_x, -old_y) if old_r < 0 else (old_r, old_x, old_y)


_RANGES: dict[DataType, tuple[int, int]] = {DataType.BOOL: (0, 1)}


def int_range(dtype: DataType) -> tuple[int, int] | None:
    """Smallest and largest value of an integer element type (BOOL counts as 0..1); None for the others."""
    known = _RANGES.get(dtype)
    if known is None and dtype.is_int():
        bits = dtype.get_bit()
        known = (0, (1 << bits) - 1) if dtype.is_unsigned_int() else (-(1 << bits - 1), (1 << bits - 1) - 1)
        _RANGES[dtype] = known
    return known


def fits(value: int, dtype: DataType) -> bool:
    """True when the element type can hold the value."""
    bounds = int_range(dtype)
    return bounds is not None and bounds[0] <= value <= bounds[1]


def is_wide(dtype: DataType) -> bool:
    """INDEX and INT64, whose arithmetic is taken to be that of the integers: addresses and extents do not overflow 64 bits."""
    return dtype is DataType.INDEX or dtype is DataType.INT64
