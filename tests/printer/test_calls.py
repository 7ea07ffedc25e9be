"""Calls: functions, operators by their declarations, launches, and the values that keywords and attributes hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from pypto import ir
from pypto.ir.enums import ArgDirection, AtomicType, CastMode, MemorySpace, PadValue, PipeType, TensorLayout, TileLayout
from pypto.ir.op import unregister_op
from pypto.ops.declare import Kind, Param, op
from pypto.printer import python_print

INDEX = ir.ScalarType(ir.INDEX)
TILE = ir.TileType([4, 8], ir.FP16)
UNKNOWN = ir.Span.unknown()
a, b = ir.Var("a", INDEX), ir.Var("b", INDEX)
t = ir.Var("t", TILE)


def call(name: str, args: list[Any], kwargs: Any = None, attrs: Any = None, type_: ir.Type | None = None) -> ir.Call:
    return ir.Call(ir.Op(name), args, kwargs or {}, attrs or {}, type_ or ir.UnknownType(), UNKNOWN)


def function_call(args: list[Any], kwargs: Any = None, attrs: Any = None) -> ir.Call:
    return ir.Call(ir.GlobalVar("kernel"), args, kwargs or {}, attrs or {}, ir.UnknownType(), UNKNOWN)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (call("no.such", [a, ir.MakeTuple([b, ir.index_const(1)])]), "pl.no.such(a, [b, 1])"),
        (call("plain", []), "plain()"),
        (call("pld.no.such", [a]), "pld.no.such(a)"),
        (call("no.and", [a]), "pl.no.and_(a)"),
        (call("builtin.no.such", [a], {"op": 0, "dtype": ir.FP32}), "pl.builtin.no.such(a, op=0, dtype=pl.FP32)"),
        (
            call("builtin.no.such", [a, b], {"op": 0}, {"device": a, "arg_directions": [ArgDirection.InOut] * 2}),
            'pl.builtin.no.such(a, b, op=0, attrs={"device": a, "arg_directions": [pl.adir.inout, pl.adir.inout]})',
        ),
        (function_call([a, b]), "kernel(a, b)"),
        (function_call([], attrs={"device": a}), "kernel(device=a)"),
        (function_call([a], attrs={"device": ir.index_const(0)}), "kernel(a, device=0)"),
        (
            function_call([t], attrs={"zz": 1, "arg_directions": [ArgDirection.Input], "dump_vars": [t], "device": a}),
            'kernel(t, device=a, attrs={"dump_vars": [t], "arg_directions": [pl.adir.input], "zz": 1})',
        ),
        (function_call([a], {"k": 1}, {"m": 2}), 'kernel(a, attrs={"m": 2}, kwargs={"k": 1})'),
        (
            ir.Submit(ir.GlobalVar("kernel"), [a, b], [], ir.UnknownType(), UNKNOWN),
            "pl.submit(kernel, a, b)",
        ),
        (
            ir.Submit(
                ir.GlobalVar("kernel"),
                [t],
                [b],
                {},
                {"dump_vars": [t], "m": 1},
                ir.UnknownType(),
                UNKNOWN,
                core_num=8,
                sync_start=True,
                allow_early_resolve=True,
                predicate=ir.Gt(a, ir.index_const(0), ir.BOOL),
            ),
            "pl.spmd_submit(kernel, t, deps=[b], dumps=[t], core_num=8, sync_start=True, allow_early_resolve=True, "
            'predicate=(a > 0), attrs={"m": 1})',
        ),
    ],
)
def test_spelling(node: ir.Expr, text: str) -> None:
    assert python_print(node) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "True"),
        (11, "11"),
        (-3, "-3"),
        (0.25, "0.25"),
        (-1e30, "-1e30"),
        (float("inf"), "1e999"),
        (float("-inf"), "-1e999"),
        (float("nan"), 'float("nan")'),
        ("0:3", '"0:3"'),
        ("", '""'),
        ("it's", '"it\'s"'),
        ('say "hi"', "'say \"hi\"'"),
        ("back\\slash", '"back\\\\slash"'),
        ("tab\tnew\nline\r", '"tab\\tnew\\nline\\r"'),
        ("\x00\u2028", '"\\x00\\u2028"'),
        ("caf\u00e9 \U0001f600", '"caf\u00e9 \U0001f600"'),
        (ir.BF16, "pl.BF16"),
        (MemorySpace.Vec, "pl.Mem.Vec"),
        (TensorLayout.NZ, "pl.TensorLayout.NZ"),
        (TileLayout.col_major, "pl.TileLayout.col_major"),
        (PadValue.max, "pl.PadValue.max"),
        (ArgDirection.NoDep, "pl.adir.no_dep"),
        (AtomicType.Add, "1"),
        ([1, -2, 3], "[1, -2, 3]"),
        ([], "[]"),
        ([ArgDirection.Output, ArgDirection.OutputExisting], "[pl.adir.output, pl.adir.output_existing]"),
        ([a, b], "[a, b]"),
        (a, "a"),
        (ir.index_const(1), "pl.const(1, pl.INDEX)"),
        (ir.ConstFloat(0.5, ir.FP32), "pl.const(0.5, pl.FP32)"),
        (ir.ConstBool(True), "pl.const(True, pl.BOOL)"),
        (ir.Add(a, ir.index_const(1), ir.INDEX), "a + 1"),
        (ir.MakeTuple([a]), "pl.expr.make_tuple([a])"),
    ],
)
def test_attribute_value(value: Any, text: str) -> None:
    assert python_print(call("x.y", [], attrs={"key": value})) == f'pl.x.y(attrs={{"key": {text}}})'


@pytest.mark.parametrize(
    "text", ["", "plain", 'say "hi"', 'it\'s "x"', "back\\slash", "a\tb\nc", "\x00", "caf\u00e9", "# not", "\ud800"]
)
def test_strings_read_back(text: str) -> None:
    printed = python_print(call("x.y", [], {"s": text}), format=False)
    assert eval(printed.removeprefix("pl.x.y(s=").removesuffix(")")) == text


# -- declared operators -------------------------------------------------------------------------------------------------------


def _same(declaration: Any, args: Any, kwargs: Any) -> ir.Type:
    return args[0].type


@pytest.fixture(autouse=True)
def operators() -> Iterator[None]:
    """A few operators that have every kind of parameter."""
    scalar = Param("scalar", Kind.SCALAR, stamp="tile")
    made = [
        op("demo.unary", params=[Param("tile", Kind.TILE)], result=_same, meaning=abs, doc="One operand."),
        op("demo.scaled", params=[Param("tile", Kind.TILE), scalar], result=_same, meaning=abs, doc="A stamped scalar."),
        op(
            "demo.moved",
            params=[
                Param("tile", Kind.TILE),
                Param("offsets", Kind.TUPLE),
                Param("valid", Kind.TUPLE, same_as="offsets", default=None),
                Param("space", Kind.ENUM, MemorySpace.Vec, enum=MemorySpace, stored=True),
                Param("atomic", Kind.ENUM, AtomicType.None_, enum=AtomicType),
                Param("mode", Kind.CAST_MODE, CastMode.round),
                Param("code", Kind.ENUM, PipeType.V, enum=PipeType, shown_as_number=True),
            ],
            result=_same,
            meaning=abs,
            doc="Keywords of every kind.",
        ),
        op(
            "demo.filled",
            params=[
                Param("shape", Kind.TUPLE),
                Param("dtype", Kind.DTYPE),
                Param("value", Kind.SCALAR, stamp="dtype"),
                Param("extra", Kind.TUPLE, None, by_keyword=True),
            ],
            result=lambda declaration, args, kwargs: TILE,
            meaning=abs,
            doc="A named operand between keywords.",
        ),
        op(
            "demo.placed",
            params=[Param("space", Kind.SCALAR, enum=MemorySpace)],
            result=_same,
            meaning=abs,
            doc="An enum operand.",
        ),
    ]
    yield
    for operator in made:
        unregister_op(operator.name)


def in_function(value: ir.Call) -> str:
    """The text of an assignment of the value in a function, where it has to read back."""
    target = ir.Var("r", value.type)
    function = ir.Function("f", [a, t], [], ir.AssignStmt(target, value))
    line = python_print(function).splitlines()[-1]
    return line.partition(" = ")[2]


ZEROS = ir.MakeTuple([ir.index_const(0), ir.index_const(0)])


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (call("demo.unary", [t], type_=TILE), "pl.demo.unary(t)"),
        (call("demo.unary", [t], attrs={"k": 1}, type_=TILE), 'pl.demo.unary(t, attrs={"k": 1})'),
        (call("demo.scaled", [t, ir.ConstFloat(0.5, ir.FP16)], type_=TILE), "pl.demo.scaled(t, pl.const(0.5, pl.FP16))"),
        (
            call("demo.scaled", [t, ir.index_const(1)], type_=TILE),
            'pl.expr.call("demo.scaled", t, 1, type=pl.Tile[[4, 8], pl.FP16])',
        ),
        (
            call("demo.scaled", [t, a], type_=TILE),
            'pl.expr.call("demo.scaled", t, a, type=pl.Tile[[4, 8], pl.FP16])',
        ),
        (
            call("demo.moved", [t, ZEROS, ZEROS], {"space": MemorySpace.Vec}, type_=TILE),
            "pl.demo.moved(t, [0, 0], [0, 0], space=pl.Mem.Vec)",
        ),
        (
            call("demo.moved", [t, ZEROS, ZEROS], {"mode": 3, "code": 2, "atomic": 1, "space": MemorySpace.Acc}, type_=TILE),
            'pl.demo.moved(t, [0, 0], [0, 0], space=pl.Mem.Acc, atomic=pl.AtomicType.Add, mode="floor", code=2)',
        ),
        (
            call("demo.moved", [t, ZEROS, ZEROS], type_=TILE),
            'pl.expr.call("demo.moved", t, [0, 0], [0, 0], type=pl.Tile[[4, 8], pl.FP16])',
        ),
        (
            call("demo.moved", [t, ZEROS, ZEROS], {"space": MemorySpace.Vec, "atomic": 0}, type_=TILE),
            'pl.expr.call("demo.moved", t, [0, 0], [0, 0], kwargs={"space": pl.Mem.Vec, "atomic": 0}, '
            "type=pl.Tile[[4, 8], pl.FP16])",
        ),
        (
            call("demo.filled", [ZEROS, ir.ConstFloat(0.5, ir.FP16)], {"dtype": ir.FP16}, type_=TILE),
            "pl.demo.filled([0, 0], dtype=pl.FP16, value=0.5)",
        ),
        (
            call("demo.filled", [ZEROS, ir.ConstInt(-7, ir.INT32), ZEROS], {"dtype": ir.INT32}, type_=TILE),
            "pl.demo.filled([0, 0], dtype=pl.INT32, value=-7, extra=[0, 0])",
        ),
        (call("demo.placed", [ir.index_const(1)], type_=INDEX), "pl.demo.placed(pl.Mem.Vec)"),
    ],
)
def test_declared_operator(node: ir.Call, text: str) -> None:
    assert in_function(node) == text


def test_a_type_that_the_text_would_not_give_is_written_out() -> None:
    other = ir.TileType([4, 8], ir.FP32)
    function = ir.Function("f", [t], [], ir.EvalStmt(call("demo.unary", [t], type_=other)))
    assert python_print(function).splitlines()[-1] == '    pl.expr.call("demo.unary", t, type=pl.Tile[[4, 8], pl.FP32])'
    function = ir.Function("f", [t], [], ir.EvalStmt(call("demo.unary", [t], type_=TILE)))
    assert python_print(function).splitlines()[-1] == "    pl.demo.unary(t)"


def test_without_sugar_numbers_stay_numbers() -> None:
    node = call("demo.moved", [t, ZEROS, ZEROS], {"space": MemorySpace.Vec, "atomic": 1, "mode": 3}, type_=TILE)
    assert python_print(node, sugar=False) == "pl.demo.moved(t, [0, 0], [0, 0], space=pl.Mem.Vec, atomic=1, mode=3)"


def test_prefix() -> None:
    assert python_print(call("demo.unary", [t]), prefix="L") == "L.demo.unary(t)"
    assert python_print(call("pld.a.b", [t]), prefix="L") == "pld.a.b(t)"
