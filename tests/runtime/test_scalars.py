"""Scalar arithmetic: exact types, wrap-around, Python's division, and chains and nestings of any length."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from pypto import ir
from pypto.ir import DataType
from pypto.ir.expr import Var
from pypto.runtime import RunError, compile_function, run
from tests.runtime.building import BF16, BOOL, FP16, FP32, INDEX, INT8, INT32, INT64, Body, number, scalar, scalar_function

UINT8, UINT32, UINT64 = DataType.UINT8, DataType.UINT32, DataType.UINT64


def binary(kind: type, dtype: DataType, result: DataType | None = None) -> ir.Function:
    a, b = Var("a", scalar(dtype)), Var("b", scalar(dtype))
    return scalar_function(kind(a, b, result or dtype), a, b)


@pytest.mark.parametrize(
    ("kind", "dtype", "left", "right", "expected"),
    [
        (ir.Add, INT8, 100, 100, -56),
        (ir.Sub, INT8, -100, 100, 56),
        (ir.Mul, INT8, 16, 16, 0),
        (ir.Add, UINT8, 250, 10, 4),
        (ir.Sub, UINT32, 0, 1, 2**32 - 1),
        (ir.Mul, INT32, 65536, 32768, -(2**31)),
        (ir.Add, INDEX, 2**63 - 1, 1, -(2**63)),
        (ir.Mul, INT64, 2**62, 3, -(2**62)),
        (ir.Add, UINT64, 2**64 - 1, 2, 1),
        (ir.FloorDiv, INT32, -7, 2, -4),
        (ir.FloorDiv, INT32, 7, -2, -4),
        (ir.FloorDiv, INT32, -(2**31), -1, -(2**31)),
        (ir.FloorMod, INT32, -7, 3, 2),
        (ir.FloorMod, INT32, 7, -3, -2),
        (ir.FloatDiv, INT32, -7, 2, -3),
        (ir.Pow, INT32, 3, 5, 243),
        (ir.Pow, INT32, 2, 31, -(2**31)),
        (ir.Min, INT32, -4, 3, -4),
        (ir.Max, INT32, -4, 3, 3),
        (ir.BitAnd, INT32, -2, 7, 6),
        (ir.BitOr, UINT8, 0xF0, 0x0F, 0xFF),
        (ir.BitXor, INT8, -1, 1, -2),
        (ir.BitShiftLeft, INT8, 1, 7, -128),
        (ir.BitShiftLeft, INT32, 1, 40, 0),
        (ir.BitShiftRight, INT32, -9, 1, -5),
    ],
)
def test_integers(kind: type, dtype: DataType, left: int, right: int, expected: int) -> None:
    result = run(binary(kind, dtype), left, right)
    assert result == expected
    assert result.dtype.itemsize == dtype.get_byte()


@pytest.mark.parametrize("dtype", [FP16, FP32, BF16])
@pytest.mark.parametrize("kind", [ir.Add, ir.Sub, ir.Mul, ir.FloatDiv, ir.Min, ir.Max])
def test_floats_are_rounded_to_their_type_after_every_operation(kind: type, dtype: DataType) -> None:
    numpy_type = {FP16: np.float16, FP32: np.float32, BF16: ml_dtypes.bfloat16}[dtype]
    exact = {
        ir.Add: lambda a, b: a + b,
        ir.Sub: lambda a, b: a - b,
        ir.Mul: lambda a, b: a * b,
        ir.FloatDiv: lambda a, b: a / b,
        ir.Min: min,
        ir.Max: max,
    }[kind]
    for left, right in [(1.1, 2.3), (-0.7, 1e-3), (1000.5, 0.3)]:
        a, b = float(numpy_type(left)), float(numpy_type(right))
        result = run(binary(kind, dtype), left, right)
        assert result.dtype == numpy_type
        assert float(result) == float(np.float64(exact(a, b)).astype(numpy_type))


def test_a_float_division_by_zero_is_infinite() -> None:
    assert run(binary(ir.FloatDiv, FP32), 1.0, 0.0) == math.inf
    assert math.isnan(run(binary(ir.FloatDiv, FP32), 0.0, 0.0))


@pytest.mark.parametrize("kind", [ir.FloorDiv, ir.FloorMod, ir.FloatDiv])
def test_an_integer_division_by_zero_is_an_error(kind: type) -> None:
    with pytest.raises(RunError, match="division by zero"):
        run(binary(kind, INT32), 1, 0)


def test_a_negative_shift_is_an_error() -> None:
    with pytest.raises(RunError, match="shift by -1 bits"):
        run(binary(ir.BitShiftLeft, INT32), 1, -1)


@pytest.mark.parametrize(
    ("source", "target", "value", "expected"),
    [
        (FP32, INT32, 2.9, 2),
        (FP32, INT32, -2.9, -2),
        (FP32, INT32, 1e20, 2**31 - 1),
        (FP32, INT32, -math.inf, -(2**31)),
        (FP32, INT32, math.nan, 0),
        (FP32, INT8, 300.0, 127),
        (INT32, INT8, 300, 44),
        (INT32, UINT8, -1, 255),
        (INT32, FP16, 2049, 2048.0),
        (INT32, FP32, 16777217, 16777216.0),
        (INT32, BOOL, 5, True),
        (BOOL, INT32, True, 1),
        (FP32, FP16, 65520.0, math.inf),
        (INDEX, FP32, 3, 3.0),
    ],
)
def test_casts(source: DataType, target: DataType, value: float, expected: float) -> None:
    a = Var("a", scalar(source))
    assert run(scalar_function(ir.Cast(a, target), a), value) == expected


def test_unary_operations() -> None:
    a = Var("a", scalar(INT8))
    assert run(scalar_function(ir.Neg(a, INT8), a), -128) == -128
    assert run(scalar_function(ir.Abs(a, INT8), a), -5) == 5
    assert run(scalar_function(ir.BitNot(a, INT8), a), 5) == -6
    u = Var("u", scalar(UINT8))
    assert run(scalar_function(ir.BitNot(u, UINT8), u), 5) == 250
    c = Var("c", scalar(BOOL))
    assert run(scalar_function(ir.Not(c, BOOL), c), False) == True  # noqa: E712 - a NumPy bool
    f = Var("f", scalar(FP32))
    assert run(scalar_function(ir.Neg(f, FP32), f), 1.5) == -1.5


def test_comparisons_and_connectives() -> None:
    a, b = Var("a", scalar(INT32)), Var("b", scalar(INT32))
    between = ir.And(ir.Le(a, b, BOOL), ir.Not(ir.Eq(a, number(0, INT32), BOOL), BOOL), BOOL)
    f = scalar_function(ir.Or(between, ir.Gt(a, number(9, INT32), BOOL), BOOL), a, b)
    for x in (-1, 0, 3, 10):
        for y in (-2, 0, 5):
            assert bool(run(f, x, y)) == ((x <= y and x != 0) or x > 9)
    assert bool(run(scalar_function(ir.Xor(ir.Lt(a, b, BOOL), ir.Ge(a, b, BOOL), BOOL), a, b), 1, 2))


def test_connectives_do_not_compute_what_does_not_matter() -> None:
    a = Var("a", scalar(INT32))
    zero = number(0, INT32)
    deep = ir.FloorDiv(number(6, INT32), a, INT32)
    for _ in range(80):  # deep enough that the right side needs lines of its own
        deep = ir.Add(deep, zero, INT32)
    guarded = ir.And(ir.Ne(a, zero, BOOL), ir.Gt(deep, number(1, INT32), BOOL), BOOL)
    either = ir.Or(ir.Eq(a, zero, BOOL), ir.Gt(deep, number(1, INT32), BOOL), BOOL)
    for value in (0, 2, 6):
        assert bool(run(scalar_function(guarded, a), value)) == (value != 0 and 6 // value > 1)
        assert bool(run(scalar_function(either, a), value)) == (value == 0 or 6 // value > 1)


@pytest.mark.parametrize("left_deep", [True, False])
def test_a_chain_of_100000_terms(left_deep: bool) -> None:
    a = Var("a", scalar(INDEX))
    chain: ir.Expr = a
    for _ in range(100_000):
        chain = ir.Add(chain, a, INDEX) if left_deep else ir.Add(a, chain, INDEX)
    assert run(scalar_function(chain, a), 3) == 300_003


def test_a_chain_of_20000_connectives() -> None:
    a = Var("a", scalar(INT32))
    chain: ir.Expr = ir.Gt(a, number(-1, INT32), BOOL)
    for at in range(20_000):
        chain = ir.And(chain, ir.Ne(a, number(at, INT32), BOOL), BOOL)
    f = scalar_function(chain, a)
    assert bool(run(f, 20_000))
    assert not run(f, 19_999)


def test_connectives_nested_in_turns() -> None:
    a = Var("a", scalar(INT32))
    nested: ir.Expr = ir.Eq(a, number(150, INT32), BOOL)
    for at in range(150):
        kind = ir.Or if at % 2 else ir.And
        nested = kind(ir.Ne(a, number(at, INT32), BOOL) if kind is ir.And else ir.Eq(a, number(at, INT32), BOOL), nested, BOOL)
    f = scalar_function(nested, a)
    expected = {v: v == 150 for v in range(151)}
    for v in expected:
        truth = v == 150
        for at in range(150):
            truth = (v == at or truth) if at % 2 else (v != at and truth)
        assert bool(run(f, v)) == truth


def test_the_source_is_readable() -> None:
    n = Var("n", scalar(INDEX))
    body = Body()
    twice = body.let("twice", ir.Add(n, n, INDEX))
    body.give(twice)
    compiled = compile_function(body.function("double", [n]))
    assert compiled.source.splitlines()[0] == "def f_double(n):"
    assert any("twice = " in line for line in compiled.source.splitlines())
    assert compiled.statement_at(2) is body.stmts[0]
    assert compiled.statement_at(3) is body.stmts[1]
    assert compiled.statement_at(1) is None
