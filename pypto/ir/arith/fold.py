"""Folding of one operation on constants. What is folded equals what a run would compute, else it is left alone."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

from pypto.ir.arith.integers import fits, floordiv, floormod, int_range
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    Abs,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Sub,
    UnaryExpr,
    Xor,
)
from pypto.ir.span import Span
from pypto.ir.types import ScalarType

COMPARISONS: dict[type[Expr], Callable[[Any, Any], bool]] = {
    Eq: operator.eq,
    Ne: operator.ne,
    Lt: operator.lt,
    Le: operator.le,
    Gt: operator.gt,
    Ge: operator.ge,
}
"""The comparison of Python numbers that each comparing node stands for."""

_INTEGER: dict[type[Expr], Callable[[int, int], int]] = {
    Add: operator.add,
    Sub: operator.sub,
    Mul: operator.mul,
    FloorDiv: floordiv,
    FloorMod: floormod,
    Min: min,
    Max: max,
    BitAnd: lambda a, b: a & b,
    BitOr: lambda a, b: a | b,
    BitXor: lambda a, b: a ^ b,
}
_LOGIC: dict[type[Expr], Callable[[bool, bool], bool]] = {
    And: lambda a, b: a and b,
    Or: lambda a, b: a or b,
    Xor: operator.ne,
}
_FLOAT_UFUNC: dict[type[Expr], str] = {
    Add: "add",
    Sub: "subtract",
    Mul: "multiply",
    FloatDiv: "true_divide",
    FloorDiv: "floor_divide",
    FloorMod: "remainder",
    Pow: "power",
}


@cache
def float_type(dtype: DataType) -> Any:
    """The NumPy scalar type of a floating-point element type, None when NumPy and ml_dtypes have none."""
    import ml_dtypes
    import numpy as np

    return {
        DataType.FP32: np.float32,
        DataType.FP16: np.float16,
        DataType.BF16: ml_dtypes.bfloat16,
        DataType.FP8E4M3FN: ml_dtypes.float8_e4m3fn,
        DataType.FP8E5M2: ml_dtypes.float8_e5m2,
    }.get(dtype)


def round_float(value: float, dtype: DataType) -> float | None:
    """The nearest value of the element type, None when it cannot be computed here."""
    import numpy as np

    kind = float_type(dtype)
    if kind is None:
        return None
    with np.errstate(all="ignore"):
        return float(kind(np.float64(value)))


def fold_const(expr: Expr) -> Expr | None:
    """One operation on constants as a constant of the same element type, or None when there is nothing to fold.

    Integer results that do not fit the element type, and shifts by a negative or too large count, are not folded. Floats are rounded to
    their element type, so that the result is what a run computes. The identities ``x + 0``, ``0 + x``, ``x - 0``, ``x * 1``,
    ``1 * x``, ``x * 0``, ``0 * x``, ``x // 1`` and ``x % 1`` of integers fold with any ``x``.

    Raises:
        DivisionByZero: an integer constant divided by the constant zero.
        IntegerOverflow: the smallest 64-bit constant divided by -1.
    """
    if isinstance(expr, BinaryExpr):
        folded = fold_binary(type(expr), expr.left, expr.right, expr.dtype, expr.span)
        return _identity(expr) if folded is None else folded
    if isinstance(expr, UnaryExpr):
        return fold_unary(type(expr), expr.operand, expr.dtype, expr.span)
    return None


def fold_binary(kind: type[Expr], left: Expr, right: Expr, dtype: DataType, span: Span) -> Expr | None:
    """See :func:`fold_const`; both operands must be constants, and no identities apply."""
    if not (isinstance(left, _CONSTANTS) and isinstance(right, _CONSTANTS)):
        return None
    if isinstance(left, ConstFloat) or isinstance(right, ConstFloat):
        if isinstance(left, ConstFloat) and isinstance(right, ConstFloat):
            return _fold_floats(kind, left, right, dtype, span)
        return None
    a, b = left.value, right.value
    if kind in COMPARISONS:
        return ConstBool(COMPARISONS[kind](a, b), span)
    if kind in _LOGIC:
        return ConstBool(_LOGIC[kind](bool(a), bool(b)), span)
    value = _integer(kind, int(a), int(b), dtype)
    if value is None or not fits(value, dtype):
        return None
    return ConstBool(bool(value), span) if dtype is DataType.BOOL else ConstInt(value, dtype, span)


def _integer(kind: type[Expr], a: int, b: int, dtype: DataType) -> int | None:
    plain = _INTEGER.get(kind)
    if plain is not None:
        return plain(a, b)
    if kind is Pow:
        if b < 0 or (b > 64 and a not in (-1, 0, 1)):
            return None
        return a ** (b if b <= 64 else b % 2 + 2)
    if kind is BitShiftLeft or kind is BitShiftRight:
        if not 0 <= b < dtype.get_bit():
            return None
        return a << b if kind is BitShiftLeft else a >> b
    return None


def _fold_floats(kind: type[Expr], left: ConstFloat, right: ConstFloat, dtype: DataType, span: Span) -> Expr | None:
    a, b = round_float(left.value, left.dtype), round_float(right.value, right.dtype)
    if a is None or b is None:
        return None
    if kind in COMPARISONS:
        return ConstBool(COMPARISONS[kind](a, b), span)
    if kind in _LOGIC:
        return ConstBool(_LOGIC[kind](bool(a), bool(b)), span)
    if kind is Min or kind is Max:
        # the order of NaN and of the two zeros is the business of the machine
        if a != a or b != b or (a == 0 and b == 0):
            return None
        value = round_float(min(a, b) if kind is Min else max(a, b), dtype)
        return None if value is None else ConstFloat(value, dtype, span)
    ufunc = _FLOAT_UFUNC.get(kind)
    if ufunc is None or left.dtype is not right.dtype or left.dtype is not dtype:
        return None
    import numpy as np

    scalar = float_type(dtype)
    with np.errstate(all="ignore"):
        return ConstFloat(float(getattr(np, ufunc)(scalar(a), scalar(b))), dtype, span)


def fold_unary(kind: type[Expr], operand: Expr, dtype: DataType, span: Span) -> Expr | None:
    """See :func:`fold_const`; the operand must be a constant."""
    if not isinstance(operand, _CONSTANTS):
        return None
    if kind is Cast:
        return fold_cast(operand, dtype, span)
    if kind is Not:
        return ConstBool(not operand.value, span)
    if isinstance(operand, ConstFloat):
        value = round_float(operand.value, operand.dtype)
        if value is None or not dtype.is_float() or kind is BitNot:
            return None
        return ConstFloat(-value if kind is Neg else abs(value), dtype, span)
    number = int(operand.value)
    if kind is BitNot and dtype.is_unsigned_int():
        bounds = int_range(dtype)
        result = None if bounds is None else number ^ bounds[1]
    else:
        results: dict[type[Expr], int] = {Neg: -number, Abs: abs(number), BitNot: ~number}
        result = results.get(kind)
    if result is None or not dtype.is_int() or not fits(result, dtype):
        return None
    return ConstInt(result, dtype, span)


def fold_cast(operand: ConstInt | ConstFloat | ConstBool, dtype: DataType, span: Span) -> Expr | None:
    """A constant converted to another element type, None when the conversion would have to round or wrap an integer."""
    value = operand.value
    if dtype.is_float():
        rounded = round_float(float(value), operand.dtype) if isinstance(operand, ConstFloat) else float(value)
        if rounded is None or (not isinstance(operand, ConstFloat) and int(rounded) != int(value)):
            return None
        result = round_float(rounded, dtype)
        return None if result is None else ConstFloat(result, dtype, span)
    if isinstance(operand, ConstFloat):
        rounded = round_float(operand.value, operand.dtype)
        if rounded is None or not dtype.is_int() or not rounded.is_integer():
            return None
        value = int(rounded)
    if dtype is DataType.BOOL:
        return ConstBool(bool(value), span)
    if dtype.is_int() and fits(int(value), dtype):
        return ConstInt(int(value), dtype, span)
    return None


def _identity(expr: BinaryExpr) -> Expr | None:
    kind, left, right = type(expr), expr.left, expr.right
    dtype = expr.dtype
    if not dtype.is_int():
        return None
    a = left.value if isinstance(left, ConstInt) else None
    b = right.value if isinstance(right, ConstInt) else None
    if kind is Mul and (a == 0 or b == 0):
        return ConstInt(0, dtype, expr.span)
    if kind is FloorMod and b == 1:
        return ConstInt(0, dtype, expr.span)
    kept: Expr | None = None
    if (b == 0 and kind in (Add, Sub)) or (b == 1 and kind in (Mul, FloorDiv)):
        kept = left
    elif (a == 0 and kind is Add) or (a == 1 and kind is Mul):
        kept = right
    return kept if kept is not None and kept.type is ScalarType(dtype) else None


_CONSTANTS = (ConstInt, ConstFloat, ConstBool)
