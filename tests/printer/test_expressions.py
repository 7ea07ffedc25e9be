"""Expressions: the spelling of every kind, and that the text of a random tree has just that structure."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import BINARY, Programs

from pypto import ir
from pypto.printer import python_print
from pypto.printer.spellings import SPELLINGS

INDEX = ir.ScalarType(ir.INDEX)
a, b, c = (ir.Var(n, INDEX) for n in "abc")
x, y = ir.Var("x", ir.ScalarType(ir.FP32)), ir.Var("y", ir.ScalarType(ir.FP32))
p, q = ir.Var("p", ir.ScalarType(ir.BOOL)), ir.Var("q", ir.ScalarType(ir.BOOL))
i32 = ir.Var("i", ir.ScalarType(ir.INT32))


def k(value: int, dtype: ir.DataType = ir.INDEX) -> ir.ConstInt:
    return ir.ConstInt(value, dtype)


def f(value: float, dtype: ir.DataType = ir.FP32) -> ir.ConstFloat:
    return ir.ConstFloat(value, dtype)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (k(7), "7"),
        (k(-5), "-5"),
        (k(7, ir.INT32), "pl.const(7, pl.INT32)"),
        (k(-7, ir.INT64), "pl.const(-7, pl.INT64)"),
        (f(0.1), "0.1"),
        (f(1.0), "1.0"),
        (f(1e16), "1e16"),
        (f(3e-7), "3e-07"),
        (f(-0.0), "-0.0"),
        (f(0.5, ir.FP16), "pl.const(0.5, pl.FP16)"),
        (f(math.inf), 'pl.const("inf", pl.FP32)'),
        (f(-math.inf, ir.BF16), 'pl.const("-inf", pl.BF16)'),
        (f(math.nan), 'pl.const("nan", pl.FP32)'),
        (ir.ConstBool(True), "True"),
        (ir.ConstBool(False), "False"),
        (k(5, ir.FP32), "pl.expr.const_int(5, dtype=pl.FP32)"),
        (f(5.0, ir.INT32), "pl.expr.const_float(5.0, dtype=pl.INT32)"),
        (ir.sub(a, ir.sub(b, c)), "a - (b - c)"),
        (ir.sub(ir.sub(a, b), c), "a - b - c"),
        (ir.floordiv(a, ir.mul(b, c)), "a // (b * c)"),
        (ir.mod(a, ir.mod(b, c)), "a % (b % c)"),
        (ir.truediv(x, y), "x / y"),
        (ir.sub(a, k(-2)), "a - -2"),
        (ir.neg(ir.neg(a)), "--a"),
        (ir.neg(k(1)), "-pl.const(1, pl.INDEX)"),
        (ir.neg(f(0.5)), "-pl.const(0.5, pl.FP32)"),
        (ir.add(k(1), k(2)), "pl.const(1, pl.INDEX) + pl.const(2, pl.INDEX)"),
        (ir.add(a, ir.mul(k(1), k(2))), "a + pl.const(1, pl.INDEX) * pl.const(2, pl.INDEX)"),
        (ir.mul(f(0.5), f(2.0)), "pl.const(0.5, pl.FP32) * pl.const(2.0, pl.FP32)"),
        (ir.add(ir.max_(k(1), k(2)), k(3)), "pl.max(1, 2) + 3"),
        (ir.bit_shift_left(a, ir.add(b, c)), "a << b + c"),
        (ir.add(ir.bit_shift_right(a, b), c), "(a >> b) + c"),
        (ir.not_(ir.and_(ir.lt(a, b), ir.lt(b, c))), "not (a < b and b < c)"),
        (ir.not_(ir.lt(a, b)), "not a < b"),
        (ir.eq(ir.lt(a, b), ir.lt(b, c)), "(a < b) == (b < c)"),
        (ir.eq(ir.not_(p), q), "(not p) == q"),
        (ir.bit_and(a, ir.bit_or(b, c)), "a & (b | c)"),
        (ir.bit_xor(ir.bit_and(a, b), c), "a & b ^ c"),
        (ir.bit_not(a), "~a"),
        (ir.or_(p, ir.and_(p, q)), "p or p and q"),
        (ir.and_(p, ir.and_(p, q)), "p and (p and q)"),
        (ir.Xor(p, q, ir.BOOL), "pl.logical_xor(p, q)"),
        (ir.pow(a, k(2)), "a**2"),
        (ir.pow(k(-2), a), "(-2) ** a"),
        (ir.pow(a, k(-2)), "a**-2"),
        (ir.pow(ir.pow(a, b), c), "(a**b) ** c"),
        (ir.pow(a, ir.pow(b, c)), "a**b**c"),
        (ir.neg(ir.pow(a, b)), "-(a**b)"),
        (ir.pow(a, ir.neg(b)), "a ** (-b)"),
        (ir.pow(ir.min_(a, b), c), "pl.min(a, b) ** c"),
        (ir.pow(k(2), k(3)), "pl.const(2, pl.INDEX) ** pl.const(3, pl.INDEX)"),
        (ir.min_(a, b), "pl.min(a, b)"),
        (ir.max_(a, k(0)), "pl.max(a, 0)"),
        (ir.Abs(a, ir.INDEX), "pl.abs(a)"),
        (ir.cast(a, ir.INT32), "pl.cast(a, pl.INT32)"),
        (ir.Add(a, b, ir.INT32), "pl.expr.add(a, b, dtype=pl.INT32)"),
        (ir.Add(a, i32, ir.INDEX), "pl.expr.add(a, i, dtype=pl.INDEX)"),
        (ir.Lt(a, b, ir.INDEX), "pl.expr.lt(a, b, dtype=pl.INDEX)"),
        (ir.And(a, b, ir.INDEX), "pl.expr.and_(a, b, dtype=pl.INDEX)"),
        (ir.Neg(a, ir.INT32), "pl.expr.neg(a, dtype=pl.INT32)"),
        (ir.BitAnd(x, y, ir.FP32), "pl.expr.bit_and(x, y, dtype=pl.FP32)"),
        (ir.BitShiftLeft(a, b, ir.INT8), "pl.expr.bit_shift_left(a, b, dtype=pl.INT8)"),
        (ir.Add(a, k(1, ir.INT64), ir.INDEX), "a + pl.const(1, pl.INT64)"),
        (ir.MakeTuple([a, k(1)]), "[a, 1]"),
        (ir.MakeTuple([]), "[]"),
        (ir.TupleGetItemExpr(ir.Var("t", ir.TupleType([INDEX, INDEX])), 1), "t[1]"),
    ],
)
def test_spelling(node: ir.Expr, text: str) -> None:
    assert python_print(node) == text


def test_every_operator_has_a_plain_form() -> None:
    for kind in BINARY:
        text = python_print(kind(a, b, ir.INT8), sugar=False)
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        assert text.startswith("pl.expr.")
        assert text.endswith("(a, b, dtype=pl.INT8)")


def test_nan_bit_patterns_are_kept_apart() -> None:
    import struct

    def nan(bits: int) -> ir.ConstFloat:
        return f(struct.unpack("<d", struct.pack("<Q", bits))[0])

    assert python_print(nan(0x7FF8000000000000)) == 'pl.const("nan", pl.FP32)'
    assert python_print(nan(0xFFF8000000000000)) == 'pl.const("-nan", pl.FP32)'
    assert python_print(nan(0x7FF8000000000001)) == 'pl.const("nan:7ff8000000000001", pl.FP32)'


def test_every_documented_spelling_is_python() -> None:
    for row in SPELLINGS:
        ast.parse(row.example)
        assert row.meaning


# -- the structure of random trees ------------------------------------------------------------------------------------------


def shape_of_tree(node: ir.Expr) -> Any:
    """A node as a nested tuple."""
    if isinstance(node, ir.BinaryExpr):
        return (type(node).__name__, node.dtype.name, shape_of_tree(node.left), shape_of_tree(node.right))
    if isinstance(node, ir.UnaryExpr):
        return (type(node).__name__, node.dtype.name, shape_of_tree(node.operand))
    if isinstance(node, ir.ConstFloat):
        return ("ConstFloat", node.dtype.name, repr(node.value))
    if isinstance(node, ir.ConstInt):
        return ("ConstInt", node.dtype.name, node.value)
    if isinstance(node, ir.ConstBool):
        return ("ConstBool", "BOOL", node.value)
    assert isinstance(node, ir.Var)
    return ("Var", node.type.dtype.name, node.name_hint)


SYMBOLS = {
    ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "FloatDiv", ast.FloorDiv: "FloorDiv", ast.Mod: "FloorMod",
    ast.Pow: "Pow", ast.LShift: "BitShiftLeft", ast.RShift: "BitShiftRight", ast.BitAnd: "BitAnd", ast.BitOr: "BitOr",
    ast.BitXor: "BitXor", ast.Eq: "Eq", ast.NotEq: "Ne", ast.Lt: "Lt", ast.LtE: "Le", ast.Gt: "Gt", ast.GtE: "Ge",
    ast.USub: "Neg", ast.Not: "Not", ast.Invert: "BitNot",
}  # fmt: skip
LOGICAL = ("Eq", "Ne", "Lt", "Le", "Gt", "Ge", "And", "Or", "Xor", "Not")
FUNCTIONS = {"min": "Min", "max": "Max", "logical_xor": "Xor", "abs": "Abs"}


def made(kind: str, *parts: Any) -> Any:
    return (kind, "BOOL" if kind in LOGICAL else parts[0][1], *parts)


def shape_of_text(node: Any, variables: dict[str, str]) -> Any:
    """What a reader without any freedom makes of an expression: no conversion, no promotion, literals INDEX or FP32."""

    def go(inner: Any) -> Any:
        return shape_of_text(inner, variables)

    if isinstance(node, ast.Name):
        return ("Var", variables[node.id], node.id)
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            return ("ConstBool", "BOOL", node.value)
        if isinstance(node.value, int):
            return ("ConstInt", "INDEX", node.value)
        return ("ConstFloat", "FP32", repr(node.value))
    if isinstance(node, ast.UnaryOp):
        if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
            number: Any = ast.literal_eval(node)
            return ("ConstInt", "INDEX", number) if isinstance(number, int) else ("ConstFloat", "FP32", repr(number))
        return made(SYMBOLS[type(node.op)], go(node.operand))
    if isinstance(node, ast.BinOp):
        return made(SYMBOLS[type(node.op)], go(node.left), go(node.right))
    if isinstance(node, ast.Compare):
        assert len(node.ops) == 1, "chained comparison"
        return made(SYMBOLS[type(node.ops[0])], go(node.left), go(node.comparators[0]))
    if isinstance(node, ast.BoolOp):
        kind = "And" if isinstance(node.op, ast.And) else "Or"
        result = go(node.values[0])
        for item in node.values[1:]:
            result = made(kind, result, go(item))
        return result
    assert isinstance(node, ast.Call)
    path = ast.unparse(node.func).removeprefix("pl.")
    if path == "const":
        dtype = ast.unparse(node.args[1]).removeprefix("pl.")
        value = ast.literal_eval(node.args[0])
        if getattr(ir, dtype).is_float():
            return ("ConstFloat", dtype, repr(float(value)))
        return ("ConstInt", dtype, value)
    if path == "cast":
        return ("Cast", ast.unparse(node.args[1]).removeprefix("pl."), go(node.args[0]))
    if path in FUNCTIONS:
        return made(FUNCTIONS[path], *map(go, node.args))
    assert path.startswith("expr."), path
    kind = "".join(part.capitalize() for part in path[5:].rstrip("_").split("_"))
    return (kind, ast.unparse(node.keywords[0].value).removeprefix("pl."), *map(go, node.args))


class Trees(Programs):
    """Scalar trees whose leaves are variables and constants."""

    def call(self, depth: int, type_: ir.Type) -> Any:
        return self.constant(type_.dtype)

    def leaf_only(self, depth: int) -> ir.Expr:
        while True:
            node = self.scalar(depth)
            if not any(isinstance(n, ir.TupleGetItemExpr) for n in ir.node.walk(node)):
                return node


@given(st.integers(0, 1 << 30), st.booleans())
@settings(max_examples=400, deadline=None, derandomize=True)
def test_text_has_the_structure_of_the_tree(seed: int, sugar: bool) -> None:
    trees = Trees(seed)
    dtypes = (ir.INDEX, ir.INT32, ir.INT64, ir.FP32, ir.FP16, ir.BOOL)
    trees.variables = [ir.Var(f"v{at}", ir.ScalarType(d)) for at, d in enumerate(dtypes)]
    node = trees.leaf_only(5)
    text = python_print(node, sugar=sugar, format=False)
    variables = {v.name_hint: v.type.dtype.name for v in trees.variables}
    assert shape_of_text(ast.parse(text, mode="eval").body, variables) == shape_of_tree(node)


# -- size -------------------------------------------------------------------------------------------------------------------


def test_chains_of_any_length_print() -> None:
    left: ir.Expr = a
    for _ in range(100_000):
        left = ir.Add(left, b, ir.INDEX)
    assert python_print(left, format=False) == "a" + " + b" * 100_000
    function = ir.Function("f", [a, b], [INDEX], ir.ReturnStmt([left]))
    lines = python_print(function).splitlines()
    assert lines[-3:] == ["        + b", "        + b", "    )"]
    assert len(lines) == 100_001 + 8


def test_deep_trees_do_not_overflow() -> None:
    right: ir.Expr = a
    product: ir.Expr = k(1)
    nested: ir.Expr = a
    for _ in range(5000):
        right = ir.Add(b, right, ir.INDEX)
        product = ir.Mul(product, k(2), ir.INDEX)
        nested = ir.Min(nested, b, ir.INDEX)
    assert python_print(right) == "b + (" * 4999 + "b + a" + ")" * 4999
    assert python_print(nested) == "pl.min(" * 5000 + "a" + ", b)" * 5000
    evaluated = ir.EvalStmt(product)
    assert python_print(evaluated).count("pl.const") == 5001
