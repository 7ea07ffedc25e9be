"""Scalar expressions from operands: promotion, checks, and the Python operators on :class:`Expr`, installed on import.

The element type of a result is the wider one of the operands', the left one on a tie; the other operand is wrapped in a ``Cast``.
INDEX and INT64 are one kind here and never need a ``Cast``. Python numbers become constants: ``int`` INDEX, ``float`` FP32.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.diagnostics import InvalidTypeError
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
)
from pypto.ir.span import Span
from pypto.ir.types import ScalarType

__all__ = [
    "abs",
    "add",
    "and_",
    "bit_and",
    "bit_not",
    "bit_or",
    "bit_shift_left",
    "bit_shift_right",
    "bit_xor",
    "cast",
    "eq",
    "floordiv",
    "ge",
    "gt",
    "le",
    "lt",
    "max_",
    "min_",
    "mod",
    "mul",
    "ne",
    "neg",
    "not_",
    "or_",
    "pow",
    "promoted_dtype",
    "sub",
    "to_expr",
    "truediv",
]

_INT64_KINDS = (DataType.INDEX, DataType.INT64)


def to_expr(value: Any, span: Span | None = None) -> Expr:
    """A value as an expression: expressions as they are, objects with an ``.expr`` unwrapped, Python numbers as constants.

    Raises:
        InvalidTypeError: anything else.
    """
    if isinstance(value, Expr):
        return value
    where = Span.of_caller() if span is None else span
    made = _number(value, where)
    if made is not None:
        return made
    raise InvalidTypeError(f"an expression or a number is needed, got {value!r}", where)


def _number(value: Any, span: Span) -> Expr | None:
    if isinstance(value, bool):
        return ConstBool(value, span)
    if isinstance(value, int):
        return ConstInt(int(value), DataType.INDEX, span)
    if isinstance(value, float):
        return ConstFloat(value, DataType.FP32, span)
    inner = getattr(value, "expr", None)
    if isinstance(inner, Expr):
        return inner
    if hasattr(value, "__index__"):
        return ConstInt(value.__index__(), DataType.INDEX, span)
    if hasattr(value, "__float__"):
        return ConstFloat(float(value), DataType.FP32, span)
    return None


def _dtype_of(operand: Expr, name: str, span: Span) -> DataType:
    type_ = operand.type
    if not isinstance(type_, ScalarType):
        raise InvalidTypeError(
            f"{name} takes scalar operands, got a value of type {type(type_).__name__}",
            span,
            hint="tiles and tensors have operators of their own, such as pl.add" if hasattr(type_, "shape") else None,
        )
    return type_.dtype


def promoted_dtype(left: DataType, right: DataType) -> DataType:
    """The element type in which two scalars of one kind are computed: the wider one, the left one on a tie."""
    return right if right.get_bit() > left.get_bit() else left


def _cast_to(operand: Expr, dtype: DataType, target: DataType, span: Span) -> Expr:
    if dtype is target or (dtype in _INT64_KINDS and target in _INT64_KINDS):
        return operand
    return Cast(operand, target, span)


def _promote(left: Expr, right: Expr, name: str, span: Span, allowed: str) -> tuple[Expr, Expr, DataType]:
    left_dtype, right_dtype = _dtype_of(left, name, span), _dtype_of(right, name, span)
    if allowed == "compare" and left_dtype is right_dtype and name in ("eq", "ne"):
        return left, right, left_dtype
    for dtype in (left_dtype, right_dtype):
        if not dtype.is_int() and (allowed == "integer" or not dtype.is_float()):
            what = "integer" if allowed == "integer" else "integer or floating-point"
            raise InvalidTypeError(f"{name} takes {what} operands, got {left_dtype.name} and {right_dtype.name}", span)
    if left_dtype.is_float() != right_dtype.is_float():
        raise InvalidTypeError(
            f"{name} takes two integers or two floating-point operands, got {left_dtype.name} and {right_dtype.name}",
            span,
            hint="convert one of them with cast",
        )
    if left_dtype is right_dtype:
        return left, right, left_dtype
    dtype = promoted_dtype(left_dtype, right_dtype)
    return _cast_to(left, left_dtype, dtype, span), _cast_to(right, right_dtype, dtype, span), dtype


_Binary = Callable[..., Expr]


def _binary(node: type[BinaryExpr], name: str, allowed: str) -> _Binary:
    boolean = allowed == "compare"

    def build(left: Any, right: Any, span: Span | None = None) -> Expr:
        where = Span.of_caller() if span is None else span
        lhs = left if isinstance(left, Expr) else to_expr(left, where)
        rhs = right if isinstance(right, Expr) else to_expr(right, where)
        lhs, rhs, dtype = _promote(lhs, rhs, name, where, allowed)
        return node(lhs, rhs, DataType.BOOL if boolean else dtype, where)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = (
        f"``{node.__name__}`` of two scalars"
        + (", BOOL. " if boolean else ", in the wider of their element types. ")
        + (
            "Raises InvalidTypeError unless both are integers."
            if allowed == "integer"
            else "Raises InvalidTypeError unless both are integers or both are floating-point."
        )
    )
    return build


def _logical(node: type[BinaryExpr], name: str) -> _Binary:
    def build(left: Any, right: Any, span: Span | None = None) -> Expr:
        where = Span.of_caller() if span is None else span
        lhs, rhs = to_expr(left, where), to_expr(right, where)
        for operand in (lhs, rhs):
            _truth_value(operand, name, where)
        return node(lhs, rhs, DataType.BOOL, where)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"``{node.__name__}`` of two truth values, BOOL. Raises InvalidTypeError for operands that have none."
    return build


def _truth_value(operand: Expr, name: str, span: Span) -> None:
    dtype = _dtype_of(operand, name, span)
    if dtype is DataType.TASK_ID:
        raise InvalidTypeError(f"{name} takes truth values, got {dtype.name}", span)


def _unary(node: type[UnaryExpr], name: str, allowed: str) -> Callable[..., Expr]:
    def build(operand: Any, span: Span | None = None) -> Expr:
        where = Span.of_caller() if span is None else span
        value = to_expr(operand, where)
        dtype = _dtype_of(value, name, where)
        if not dtype.is_int() and (allowed == "integer" or not dtype.is_float()):
            what = "an integer" if allowed == "integer" else "an integer or floating-point"
            raise InvalidTypeError(f"{name} takes {what} operand, got {dtype.name}", where)
        return node(value, dtype, where)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = f"``{node.__name__}`` of a scalar, of the same element type. Raises InvalidTypeError for other operands."
    return build


add = _binary(Add, "add", "arithmetic")
sub = _binary(Sub, "sub", "arithmetic")
mul = _binary(Mul, "mul", "arithmetic")
truediv = _binary(FloatDiv, "truediv", "arithmetic")
floordiv = _binary(FloorDiv, "floordiv", "arithmetic")
mod = _binary(FloorMod, "mod", "arithmetic")
pow = _binary(Pow, "pow", "arithmetic")
min_ = _binary(Min, "min_", "arithmetic")
max_ = _binary(Max, "max_", "arithmetic")
eq = _binary(Eq, "eq", "compare")
ne = _binary(Ne, "ne", "compare")
lt = _binary(Lt, "lt", "compare")
le = _binary(Le, "le", "compare")
gt = _binary(Gt, "gt", "compare")
ge = _binary(Ge, "ge", "compare")
bit_and = _binary(BitAnd, "bit_and", "integer")
bit_or = _binary(BitOr, "bit_or", "integer")
bit_xor = _binary(BitXor, "bit_xor", "integer")
bit_shift_left = _binary(BitShiftLeft, "bit_shift_left", "integer")
bit_shift_right = _binary(BitShiftRight, "bit_shift_right", "integer")
and_ = _logical(And, "and_")
or_ = _logical(Or, "or_")
neg = _unary(Neg, "neg", "arithmetic")
abs = _unary(Abs, "abs", "arithmetic")
bit_not = _unary(BitNot, "bit_not", "integer")


def not_(operand: Any, span: Span | None = None) -> Expr:
    """``Not`` of a truth value, BOOL. Raises InvalidTypeError for an operand that has none."""
    where = Span.of_caller() if span is None else span
    value = to_expr(operand, where)
    _truth_value(value, "not_", where)
    return Not(value, DataType.BOOL, where)


def cast(operand: Any, dtype: DataType, span: Span | None = None) -> Expr:
    """``Cast`` of a scalar to another element type. Raises InvalidTypeError unless the operand is a scalar and ``dtype`` a DataType."""
    where = Span.of_caller() if span is None else span
    value = to_expr(operand, where)
    _dtype_of(value, "cast", where)
    if not isinstance(dtype, DataType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidTypeError(f"cast takes a DataType, got {dtype!r}", where)
    return Cast(value, dtype, where)


def _install() -> None:
    binary: dict[str, _Binary] = {
        "add": add,
        "sub": sub,
        "mul": mul,
        "truediv": truediv,
        "floordiv": floordiv,
        "mod": mod,
        "pow": pow,
        "and": bit_and,
        "or": bit_or,
        "xor": bit_xor,
        "lshift": bit_shift_left,
        "rshift": bit_shift_right,
    }
    compare: dict[str, _Binary] = {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
    for name, build in {**binary, **compare}.items():
        setattr(Expr, f"__{name}__", _operator(build))
    for name, build in binary.items():
        setattr(Expr, f"__r{name}__", _reflected(build))
    for name, build in {"neg": neg, "invert": bit_not, "abs": abs}.items():
        setattr(Expr, f"__{name}__", _prefix(build))
    setattr(Expr, "__array_ufunc__", None)  # noqa: B010 - NumPy scalars on the left then leave the operation to Expr


def _operator(build: _Binary) -> Callable[[Expr, Any], Any]:
    def operator(self: Expr, other: Any) -> Any:
        span = Span.of_caller()
        right = other if isinstance(other, Expr) else _number(other, span)
        return NotImplemented if right is None else build(self, right, span)

    return operator


def _reflected(build: _Binary) -> Callable[[Expr, Any], Any]:
    def operator(self: Expr, other: Any) -> Any:
        span = Span.of_caller()
        left = other if isinstance(other, Expr) else _number(other, span)
        return NotImplemented if left is None else build(left, self, span)

    return operator


def _prefix(build: Callable[..., Expr]) -> Callable[[Expr], Expr]:
    def operator(self: Expr) -> Expr:
        return build(self, Span.of_caller())

    return operator


_install()
