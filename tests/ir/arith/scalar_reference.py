"""Evaluation of scalar expressions with Python's own numbers, the yardstick of the tests in this folder."""

import operator

from pypto import ir
from pypto.ir.types import ScalarType

BINARY = {
    ir.Add: operator.add,
    ir.Sub: operator.sub,
    ir.Mul: operator.mul,
    ir.FloorDiv: operator.floordiv,
    ir.FloorMod: operator.mod,
    ir.Min: min,
    ir.Max: max,
    ir.BitAnd: operator.and_,
    ir.BitOr: operator.or_,
    ir.BitXor: operator.xor,
    ir.Eq: operator.eq,
    ir.Ne: operator.ne,
    ir.Lt: operator.lt,
    ir.Le: operator.le,
    ir.Gt: operator.gt,
    ir.Ge: operator.ge,
    ir.And: lambda a, b: bool(a) and bool(b),
    ir.Or: lambda a, b: bool(a) or bool(b),
    ir.Xor: lambda a, b: bool(a) != bool(b),
}


class Undefined(Exception):
    """The expression has no defined value here (division by zero, 64-bit overflow, a shift out of range)."""


ROOM = 1 << 56
"""The values of INDEX and INT64 expressions are taken to stay well inside 64 bits; rewriting may need the room between."""


def wrap(value, dtype, limit=1 << 63):
    bits = dtype.get_bit()
    if dtype is ir.DataType.BOOL:
        return bool(value)
    if dtype in (ir.DataType.INDEX, ir.DataType.INT64):
        if not -limit <= value < limit:
            raise Undefined
        return value
    value %= 1 << bits
    return value - (1 << bits) if dtype.is_signed_int() and value >> (bits - 1) else value


def evaluate(expr, env, limit=1 << 63):
    if isinstance(expr, ir.Var):
        return env[expr]
    if isinstance(expr, ir.ConstInt | ir.ConstBool):
        return expr.value
    dtype = expr.type.dtype
    if isinstance(expr, ir.BinaryExpr):
        a, b = evaluate(expr.left, env, limit), evaluate(expr.right, env, limit)
        kind = type(expr)
        if kind in (ir.FloorDiv, ir.FloorMod) and b == 0:
            raise Undefined
        if kind in (ir.BitShiftLeft, ir.BitShiftRight):
            if not 0 <= b < dtype.get_bit():
                raise Undefined
            return wrap(a << b if kind is ir.BitShiftLeft else a >> b, dtype, limit)
        if kind is ir.Pow:
            if not 0 <= b < 70:
                raise Undefined
            return wrap(a**b, dtype, limit)
        return wrap(BINARY[kind](a, b), dtype, limit)
    a = evaluate(expr.operand, env, limit)
    if isinstance(expr, ir.Neg):
        return wrap(-a, dtype, limit)
    if isinstance(expr, ir.Abs):
        return wrap(abs(a), dtype, limit)
    if isinstance(expr, ir.Not):
        return not a
    if isinstance(expr, ir.BitNot):
        return wrap(~a, dtype, limit)
    assert isinstance(expr, ir.Cast)
    return wrap(int(a), dtype, limit)


def scalar(name, dtype=ir.DataType.INDEX):
    return ir.Var(name, ScalarType(dtype), ir.Span.unknown())


def const(value, dtype=ir.DataType.INDEX):
    return ir.ConstInt(value, dtype, ir.Span.unknown())
