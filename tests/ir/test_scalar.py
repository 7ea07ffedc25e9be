"""Scalar helpers: promotion, casts, refusals and the Python operators."""

from __future__ import annotations

import inspect
import operator

import numpy as np
import pytest

from pypto import ir
from pypto.diagnostics import Error, InvalidTypeError

UNKNOWN = ir.Span.unknown()


def scalar(name: str, dtype: ir.DataType) -> ir.Var:
    return ir.Var(name, ir.ScalarType(dtype), UNKNOWN)


ARITHMETIC = {
    ir.add: ir.Add,
    ir.sub: ir.Sub,
    ir.mul: ir.Mul,
    ir.truediv: ir.FloatDiv,
    ir.floordiv: ir.FloorDiv,
    ir.mod: ir.FloorMod,
    ir.pow: ir.Pow,
    ir.min_: ir.Min,
    ir.max_: ir.Max,
}
COMPARISONS = {ir.eq: ir.Eq, ir.ne: ir.Ne, ir.lt: ir.Lt, ir.le: ir.Le, ir.gt: ir.Gt, ir.ge: ir.Ge}
BITS = {
    ir.bit_and: ir.BitAnd,
    ir.bit_or: ir.BitOr,
    ir.bit_xor: ir.BitXor,
    ir.bit_shift_left: ir.BitShiftLeft,
    ir.bit_shift_right: ir.BitShiftRight,
}

# left, right, result, (left is cast, right is cast)
PROMOTIONS = [
    (ir.INT32, ir.INT32, ir.INT32, (False, False)),
    (ir.INT8, ir.INT32, ir.INT32, (True, False)),
    (ir.INT64, ir.INT16, ir.INT64, (False, True)),
    (ir.INT32, ir.INDEX, ir.INDEX, (True, False)),
    (ir.INDEX, ir.INT64, ir.INDEX, (False, False)),
    (ir.INT64, ir.INDEX, ir.INT64, (False, False)),
    (ir.INT32, ir.UINT32, ir.INT32, (False, True)),
    (ir.UINT32, ir.INT32, ir.UINT32, (False, True)),
    (ir.UINT64, ir.INDEX, ir.UINT64, (False, True)),
    (ir.FP16, ir.FP32, ir.FP32, (True, False)),
    (ir.FP16, ir.BF16, ir.FP16, (False, True)),
    (ir.BF16, ir.FP16, ir.BF16, (False, True)),
]


@pytest.mark.parametrize(("left", "right", "result", "casts"), PROMOTIONS)
def test_promotion(left: ir.DataType, right: ir.DataType, result: ir.DataType, casts: tuple[bool, bool]) -> None:
    a, b = scalar("a", left), scalar("b", right)
    made = ir.add(a, b)
    assert made.dtype is result
    for operand, original, is_cast in ((made.left, a, casts[0]), (made.right, b, casts[1])):
        if is_cast:
            assert type(operand) is ir.Cast
            assert operand.dtype is result
            assert operand.operand is original
        else:
            assert operand is original


@pytest.mark.parametrize(("helper", "node"), ARITHMETIC.items())
def test_arithmetic(helper, node) -> None:
    made = helper(scalar("a", ir.FP32), scalar("b", ir.FP32), UNKNOWN)
    assert type(made) is node
    assert made.dtype is ir.FP32
    assert made.span is UNKNOWN


@pytest.mark.parametrize(("helper", "node"), COMPARISONS.items())
def test_comparison_gives_bool(helper, node) -> None:
    made = helper(scalar("a", ir.INT32), scalar("b", ir.INDEX))
    assert type(made) is node
    assert made.dtype is ir.BOOL
    assert type(made.left) is ir.Cast


@pytest.mark.parametrize(("helper", "node"), BITS.items())
def test_bit_operations(helper, node) -> None:
    made = helper(scalar("a", ir.INT32), scalar("b", ir.INT32))
    assert type(made) is node
    assert made.dtype is ir.INT32
    with pytest.raises(InvalidTypeError, match="integer operands"):
        helper(scalar("a", ir.FP32), scalar("b", ir.FP32))


def test_unary() -> None:
    x, flag = scalar("x", ir.INT32), scalar("flag", ir.BOOL)
    assert (type(ir.neg(x)), ir.neg(x).dtype) == (ir.Neg, ir.INT32)
    assert (type(ir.bit_not(x)), ir.bit_not(x).dtype) == (ir.BitNot, ir.INT32)
    assert (type(ir.abs(x)), ir.abs(x).dtype) == (ir.Abs, ir.INT32)
    assert (type(ir.not_(flag)), ir.not_(flag).dtype) == (ir.Not, ir.BOOL)
    assert ir.cast(x, ir.FP16).dtype is ir.FP16
    assert ir.cast(x, ir.INT32) is not x
    assert ir.and_(flag, x).dtype is ir.or_(flag, flag).dtype is ir.BOOL


@pytest.mark.parametrize(
    "build",
    [
        lambda: ir.add(scalar("a", ir.INT32), scalar("b", ir.FP32)),
        lambda: ir.lt(scalar("a", ir.FP32), 1),
        lambda: ir.add(scalar("a", ir.BOOL), scalar("b", ir.BOOL)),
        lambda: ir.neg(scalar("a", ir.BOOL)),
        lambda: ir.bit_not(scalar("a", ir.FP32)),
        lambda: ir.add(ir.Var("t", ir.TileType([4], ir.FP32), UNKNOWN), 1),
        lambda: ir.not_(ir.Var("t", ir.TensorType([4], ir.FP32), UNKNOWN)),
        lambda: ir.and_(scalar("t", ir.TASK_ID), True),
        lambda: ir.add(scalar("a", ir.INT32), "one"),
        lambda: ir.cast(scalar("a", ir.INT32), "fp32"),
        lambda: scalar("a", ir.INT32) + "one",
        lambda: scalar("a", ir.INT32) + None,
    ],
)
def test_refused(build) -> None:
    with pytest.raises(TypeError):
        build()


def test_refusal_has_place_and_is_our_error() -> None:
    span = ir.Span("kernel.py", 3, 7)
    with pytest.raises(Error, match="INT32 and FP32") as caught:
        ir.add(scalar("a", ir.INT32), scalar("b", ir.FP32), span)
    assert caught.value.place is span


OPERATORS = [
    (operator.add, ir.Add),
    (operator.sub, ir.Sub),
    (operator.mul, ir.Mul),
    (operator.truediv, ir.FloatDiv),
    (operator.floordiv, ir.FloorDiv),
    (operator.mod, ir.FloorMod),
    (operator.pow, ir.Pow),
    (operator.and_, ir.BitAnd),
    (operator.or_, ir.BitOr),
    (operator.xor, ir.BitXor),
    (operator.lshift, ir.BitShiftLeft),
    (operator.rshift, ir.BitShiftRight),
]


@pytest.mark.parametrize(("symbol", "node"), OPERATORS)
def test_python_operator_and_its_reflection(symbol, node) -> None:
    x = scalar("x", ir.INDEX)
    made, reflected = symbol(x, 3), symbol(7, x)
    assert type(made) is type(reflected) is node
    assert made.left is x
    assert (made.right.value, made.right.dtype) == (3, ir.INDEX)
    assert reflected.right is x
    assert (reflected.left.value, reflected.left.dtype) == (7, ir.INDEX)


@pytest.mark.parametrize(
    ("symbol", "node", "mirrored"),
    [
        (operator.eq, ir.Eq, ir.Eq),
        (operator.ne, ir.Ne, ir.Ne),
        (operator.lt, ir.Lt, ir.Gt),
        (operator.le, ir.Le, ir.Ge),
        (operator.gt, ir.Gt, ir.Lt),
        (operator.ge, ir.Ge, ir.Le),
    ],
)
def test_python_comparison(symbol, node, mirrored) -> None:
    x = scalar("x", ir.INDEX)
    assert type(symbol(x, 1)) is node
    assert type(symbol(1, x)) is mirrored


def test_python_unary_and_floats() -> None:
    x, y = scalar("x", ir.INT32), scalar("y", ir.FP32)
    assert type(-x) is ir.Neg
    assert type(~x) is ir.BitNot
    assert type(abs(x)) is ir.Abs
    made = 0.5 * y
    assert type(made) is ir.Mul
    assert (made.left.value, made.left.dtype) == (0.5, ir.FP32)
    assert type((y == 1.0).right) is ir.ConstFloat


def test_narrow_integer_and_python_number() -> None:
    made = scalar("x", ir.INT32) + 1
    assert made.dtype is ir.INDEX
    assert type(made.left) is ir.Cast


def test_numpy_scalar_on_the_left() -> None:
    made = np.int64(3) + scalar("x", ir.INDEX)
    assert type(made) is ir.Add
    assert made.left.value == 3


def test_span_is_the_line_of_the_caller() -> None:
    x = scalar("x", ir.INDEX)
    line = inspect.currentframe().f_lineno
    made = x + 1
    helped = ir.add(x, 1)
    assert (made.span.filename, made.span.begin_line, made.span.begin_column) == (__file__, line + 1, -1)
    assert helped.span.begin_line == line + 2
    assert made.right.span.begin_line == line + 1


def test_expressions_stay_dictionary_keys() -> None:
    x, y = scalar("x", ir.INDEX), scalar("x", ir.INDEX)
    table = {x: "first", y: "second"}
    assert table[x] == "first"
    assert len({x, y, x}) == 2
    assert x.same_as(x)
    assert not x.same_as(y)


def test_bool_comparison_with_bool() -> None:
    flag = scalar("flag", ir.BOOL)
    assert type(flag == True) is ir.Eq  # noqa: E712
    with pytest.raises(TypeError):
        ir.lt(flag, True)
