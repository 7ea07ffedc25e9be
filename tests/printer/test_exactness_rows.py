"""The places where printed text of such languages loses something, one test for each: here nothing is lost.

Each test makes programs that have the construct, prints them in every layout, reads them back and compares strictly: structure, types,
attributes, comments, names, and floats by their bits. The text of what was read is the same bytes again.
"""

from __future__ import annotations

import importlib
import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.enums import ArgDirection, PadValue, SplitMode, TensorLayout
from pypto.ir.equality import assert_structural_equal, structural_equal
from pypto.ir.node import walk
from pypto.ir.op import create_op_call, find_op
from pypto.parser import parse
from pypto.printer import python_print
from pypto.printer.calls import deduced_type

INDEX = ir.ScalarType(ir.INDEX)
INT32 = ir.ScalarType(ir.INT32)
FP32 = ir.ScalarType(ir.FP32)
BOOL = ir.ScalarType(ir.BOOL)
TASK = ir.ScalarType(DataType.TASK_ID)
ROWS = ir.TensorType([64], ir.FP32)

LAYOUTS: Sequence[dict[str, Any]] = (
    {},
    {"format": False},
    {"line_length": 88},
    {"sugar": False},
    {"explicit_layout": True},
    {"concise": True},
    {"prefix": "k"},
)


def exact(node: ir.Function | ir.Program, *layouts: dict[str, Any]) -> Any:
    """Check that a function or program survives the way through text in every layout; returns it as read from the usual one."""
    for options in layouts or LAYOUTS:
        text = python_print(node, **options)
        again = parse(text)
        try:
            assert_structural_equal(node, again, strict=True)
        except ValueError as error:
            raise AssertionError(f"with {options}:\n{text}") from error
        assert python_print(again, **options) == text, options
    return parse(python_print(node))


def function(
    body: Sequence[ir.Stmt] | ir.Stmt, params: Sequence[Any] = (), results: Sequence[ir.Type] = (), **options: Any
) -> ir.Function:
    stmts = body if isinstance(body, ir.Stmt) else ir.body_of([*body])
    return ir.Function("f", [*params], [*results], stmts, **options)


def returning(value: ir.Expr, *params: Any) -> ir.Function:
    """A function that gives an expression a name and returns it."""
    named = ir.Var("v", value.type)
    return function([ir.AssignStmt(named, value), ir.ReturnStmt([named])], params, [value.type])


def var(name: str, type_: ir.Type = INDEX) -> ir.Var:
    return ir.Var(name, type_)


def const(value: int, dtype: DataType = ir.INDEX) -> ir.ConstInt:
    return ir.ConstInt(value, dtype)


def text_of(node: ir.Function | ir.Program) -> str:
    return python_print(node, format=False)


def program(body: str, decorator: str = "@pl.function(type=pl.FunctionType.Orchestration)", params: str = "") -> ir.Program:
    """A program of a kernel ``k`` and a function ``f``, as people write it."""
    lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
    made = pl.parse(
        "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n\n@pl.program\nclass P:\n"
        "    @pl.function(type=pl.FunctionType.InCore)\n"
        "    def k(self, a: pl.Tensor[[64], pl.FP32], o: pl.Out[pl.Tensor[[64], pl.FP32]]) -> pl.Tensor[[64], pl.FP32]:\n"
        "        t = pl.load(a, [0], [64])\n        o = pl.store(t, [0], o)\n        return o\n"
        f"    {decorator}\n"
        "    def f(self, x: pl.Tensor[[64], pl.FP32], n: pl.Scalar[pl.INDEX], flags: pl.Tensor[[8], pl.INT32],"
        f" o: pl.Out[pl.Tensor[[64], pl.FP32]]{params}) -> pl.Tensor[[64], pl.FP32]:\n{lines}\n"
    )
    assert isinstance(made, ir.Program)
    return made


def only(node: ir.Node, kind: type[Any]) -> Any:
    """The one node of a class."""
    found = [part for part in walk(node) if type(part) is kind]
    assert len(found) == 1
    return found[0]


def kernel_call(x: ir.Var, *, kwargs: Any = None, attrs: Any = None, type_: ir.Type = ROWS) -> ir.Call:
    return ir.Call(ir.GlobalVar("k"), [x, x], kwargs, attrs, type_, ir.Span.unknown())


def with_kernel(caller: ir.Function) -> ir.Program:
    """A program of a function and the kernel ``k`` that it calls."""
    a, o = var("a", ROWS), var("o", ROWS)
    kernel = ir.Function("k", [a, (o, ir.ParamDirection.Out)], [ROWS], ir.ReturnStmt([o]), type=ir.FunctionType.InCore)
    return ir.Program([kernel, caller], "P")


# -- distributed programs ----------------------------------------------------------------------------------------------------


def host(names: Sequence[str] = ("data", "signals"), stored: Sequence[str] | None = None) -> ir.Function:
    """A host function with one communication domain whose windows know their buffers."""
    stmts: list[ir.Stmt] = []
    slots: list[ir.WindowBuffer] = []
    size = ir.ConstInt(64, ir.INT64)
    for name, kept in zip(names, stored or names, strict=True):
        base = var(name, ir.PtrType())
        stmts.append(ir.AssignStmt(base, create_op_call("pld.tensor.alloc_window_buffer", [size], {"name": kept})))
        window = ir.WindowBuffer(base, size, True, False)
        slots.append(window)
        type_ = ir.DistributedTensorType([16], ir.FP32, window_buffer=window)
        call = create_op_call("pld.tensor.window", [base, ir.MakeTuple([const(16)])], {"dtype": ir.FP32})
        stmts.append(ir.AssignStmt(var(f"{name}_view", type_), call.replace(type=type_)))
    scope = ir.CommDomainScopeStmt([0, 1], slots, "comm_d0", body=ir.SeqStmts(stmts))
    return function(scope, level=ir.Level.HOST, role=ir.Role.Orchestrator)


def test_row_01_communication_domains_and_window_references() -> None:
    made = host()
    again = exact(made)
    assert structural_equal(again.body, made.body, enable_auto_mapping=True)
    assert 'with pld.comm_domain("comm_d0", devices=[0, 1], windows=["data", "signals"]):' in text_of(made)
    assert 'pld.WindowBuffer("data", load_from_host=True)' in text_of(made)
    views = [p.var for p in walk(again.body) if isinstance(p, ir.AssignStmt) and p.var.name_hint.endswith("_view")]
    assert [v.type.window_buffer for v in views] == [*again.body.slots]  # type: ignore[attr-defined]


def test_row_01_a_string_names_the_window_as_well() -> None:
    text = text_of(host(["data"])).replace('pld.WindowBuffer("data", load_from_host=True)', '"window_buffer=data"')
    again: Any = parse(text)
    assert only(again.body, ir.WindowBuffer) is again.body.slots[0] if not again.body.slots else True
    exact(again)


def test_row_02_builtin_operators() -> None:
    signal = var("s", ir.DistributedTensorType([4], ir.INT32))
    rank = var("r", ir.ScalarType(ir.INT64))
    attrs = {"device": rank, "arg_directions": [ArgDirection.InOut]}
    call = ir.Call(find_op("builtin.tensor.barrier"), [signal], None, attrs, ir.UnknownType(), ir.Span.unknown())
    call = call.replace(type=deduced_type(call))
    made = function([ir.EvalStmt(call), ir.ReturnStmt([])], [signal, rank], level=ir.Level.HOST, role=ir.Role.Orchestrator)
    assert 'pl.builtin.tensor.barrier(s, attrs={"device": r, "arg_directions": [pl.adir.inout]})' in text_of(made)
    exact(made)


def test_row_03_names_of_allocations() -> None:
    exact(host(["data", "signals"], ["data", "other"]))
    exact(host(["data", "data"], ["data", "data"]))
    exact(host(["data", "class"], ["class", "data"]))


# -- calls ---------------------------------------------------------------------------------------------------------------------


def test_row_04_keywords_of_function_calls_and_launches() -> None:
    x = var("x", ROWS)
    kwargs = {"count": 3, "flag": True, "note": "a", "ratio": 0.5, "kind": ir.BF16}
    made = with_kernel(function([ir.EvalStmt(kernel_call(x, kwargs=kwargs)), ir.ReturnStmt([])], [x]))
    again = exact(made)
    assert dict(only(again.get_function("f"), ir.Call).kwargs) == kwargs
    submit = ir.Submit(ir.GlobalVar("k"), [x, x], [], kwargs, None, ir.TupleType([ROWS, TASK]), ir.Span.unknown())
    named = var("r", submit.type)
    made = with_kernel(function([ir.AssignStmt(named, submit), ir.ReturnStmt([])], [x]))
    assert dict(only(exact(made).get_function("f"), ir.Submit).kwargs) == kwargs


def test_row_05_dumped_variables_in_any_order() -> None:
    x, y, z = (var(name, ROWS) for name in "xyz")
    for dumped in ([y, x], [z], [x, x, z], []):
        call = ir.Call(ir.GlobalVar("k"), [x, y], None, {"dump_vars": dumped}, ROWS, ir.Span.unknown())
        submit = ir.Submit(
            ir.GlobalVar("k"), [x, y], [], None, {"dump_vars": dumped}, ir.TupleType([ROWS, TASK]), ir.Span.unknown()
        )
        for value in (call, submit):
            named = var("r", value.type)
            again = exact(with_kernel(function([ir.AssignStmt(named, value), ir.ReturnStmt([])], [x, y, z])))
            found = only(again.get_function("f"), type(value))
            assert [v.name_hint for v in found.attrs["dump_vars"]] == [v.name_hint for v in dumped]


# -- scopes --------------------------------------------------------------------------------------------------------------------

ATTRS = {"key": 1, "note": 'say "hi"', "flag": False, "ratio": -0.0, "kind": ir.INT4, "order": TensorLayout.NZ}


def scopes(body: ir.Stmt, x: ir.Var, t: ir.Var, n: ir.Var) -> list[ir.ScopeStmt]:
    lists = {
        "manual_dep_edges": [t, t],
        "arg_direction_overrides_vars": [x],
        "dump_vars": [x],
        "predicate": ir.Gt(n, const(3), ir.BOOL),
    }
    every = {**lists, "allow_early_resolve": True, "windowize": True, "slot_num": 3, **ATTRS}
    odd = {"allow_early_resolve": False, "windowize": 1, "slot_num": 0, "manual_dep_edges": [], "predicate": 4}
    index = var("i")
    read = ir.AssignStmt(index, create_op_call("tile.get_block_idx", [], {}))
    kernel = ir.InCoreScopeStmt(SplitMode.UP_DOWN, "h", body=ir.SeqStmts([read, body]))
    return [
        made.with_attrs(attrs)
        for attrs in ({}, every, odd, ATTRS)
        for made in (
            ir.RuntimeScopeStmt(True, "r", body=body),
            ir.RuntimeScopeStmt(False, "", body=body),
            ir.SplitAivScopeStmt(SplitMode.LEFT_RIGHT, 2, "s", body=body),
            ir.ClusterScopeStmt("c", body=body),
            ir.InCoreScopeStmt(SplitMode.NONE, "if", body=body),
            ir.InCoreScopeStmt(SplitMode.LEFT_RIGHT, "i", body=body),
            ir.HierarchyScopeStmt(ir.Level.CHIP, ir.Role.Orchestrator, "two words", body=body),
            ir.SpmdScopeStmt(n, True, "p", body=body),
            ir.SpmdScopeStmt(const(4), False, "", body=kernel.with_attrs(ATTRS)),
            ir.SpmdScopeStmt(const(4), False, "h_spmd", body=kernel),
            ir.SpmdScopeStmt(const(4), False, "h_spmd", body=kernel.with_attrs({"slot_num": 2})),
            ir.SpmdScopeStmt(const(4), False, "other", body=kernel),
        )
    ]


def test_row_06_what_scopes_know_of_themselves() -> None:
    x, t, n = var("x", ROWS), var("t", TASK), var("n")
    body = ir.AssignStmt(var("v"), ir.Add(n, const(1), ir.INDEX))
    for scope in scopes(body, x, t, n):
        made = function([scope, ir.ReturnStmt([])], [x, t, n])
        again = exact(made, {}, {"format": False}, {"sugar": False})
        found = next(part for part in walk(again.body) if isinstance(part, ir.ScopeStmt))
        assert found.name_hint == scope.name_hint
        assert list(found.attrs) == list(scope.attrs) or set(found.attrs) == set(scope.attrs)


def test_row_06_a_loop_over_blocks_is_short_for_two_scopes() -> None:
    made = program(
        "for i in pl.spmd(4, name_hint='h'):\n    t = pl.load(x, [i * 16], [16])\n    o = pl.store(t, [i * 16], o)\nreturn o"
    )
    assert 'for i in pl.spmd(4, name_hint="h"):' in text_of(made)
    assert 'pl.spmd(4, name_hint="h_spmd")' in python_print(made, sugar=False)
    exact(made)


def test_row_06_loops_over_blocks_that_share_a_variable() -> None:
    n, shared = var("n"), var("i")

    def scope(after: ir.Stmt) -> ir.Stmt:
        read = ir.AssignStmt(shared, create_op_call("tile.get_block_idx", [], {}))
        return ir.SpmdScopeStmt(n, False, "", body=ir.InCoreScopeStmt(body=ir.SeqStmts([read, after])))

    use = ir.AssignStmt(var("v"), ir.Add(shared, n, ir.INDEX))
    made = function([scope(use), scope(use), ir.AssignStmt(var("w"), shared), ir.ReturnStmt([])], [n])
    again = exact(made)
    assert len({id(p.var) for p in walk(again.body) if isinstance(p, ir.AssignStmt) and p.var.name_hint == "i"}) == 1


def test_row_06_comments_in_a_loop_over_blocks() -> None:
    n = var("n")
    for at in range(6):
        read = ir.AssignStmt(var("i"), create_op_call("tile.get_block_idx", [], {}))
        use = ir.AssignStmt(var("v"), n)
        inside = ir.body_of([read, use] if at else [read])
        inner = ir.InCoreScopeStmt(body=inside)
        outer = ir.SpmdScopeStmt(n, False, "", body=inner)
        place = (inside, use, inner, read, outer, inside)[at]
        ir.attach_leading_comments(place, ["one"]) if at in (1, 2, 3, 4) else ir.stmt.attach_trailing_comments(place, ["last"])
        exact(function([outer, ir.ReturnStmt([])], [n]), {}, {"format": False}, {"sugar": False})


def test_row_07_a_hierarchy_scope_at_the_level_of_kernels() -> None:
    n = var("n")
    body = ir.AssignStmt(var("v"), n)
    for scope in (
        ir.HierarchyScopeStmt(ir.Level.CORE_GROUP, None, "", body=body),
        ir.HierarchyScopeStmt(ir.Level.CORE_GROUP, ir.Role.SubWorker, "h", body=body),
    ):
        again = exact(function([scope, ir.ReturnStmt([])], [n]))
        assert isinstance(again.body.stmts[0], ir.HierarchyScopeStmt)


def test_row_08_empty_scopes() -> None:
    x, t, n = var("x", ROWS), var("t", TASK), var("n")
    for scope in scopes(ir.SeqStmts([]), x, t, n):
        exact(function([scope, ir.ReturnStmt([])], [x, t, n]), {}, {"format": False}, {"sugar": False})
    exact(function(ir.CommDomainScopeStmt([], [], "d", body=ir.SeqStmts([]))))


# -- statements ----------------------------------------------------------------------------------------------------------------


def test_row_09_a_yield_that_ends_a_function() -> None:
    n = var("n")
    again = exact(function(ir.YieldStmt([n, n]), [n], [INDEX, INDEX]))
    assert isinstance(again.body, ir.YieldStmt)
    exact(function([ir.AssignStmt(var("v"), n), ir.YieldStmt([])], [n]))


def test_row_10_unrolled_loops_that_carry_values() -> None:
    n = var("n")
    for kind in ir.ForKind:
        carried = ir.IterArg("c", INDEX, n)
        body = ir.YieldStmt([ir.Add(carried, const(1), ir.INDEX)])
        result = var("r")
        attrs = {"pipeline_stages": 2} if kind is ir.ForKind.Pipeline else None
        loop = ir.ForStmt(var("i"), const(0), const(4), const(1), [carried], body, [result], kind=kind, attrs=attrs)
        again = exact(function([loop, ir.ReturnStmt([result])], [n], [INDEX]))
        assert again.body.stmts[0].kind is kind
    exact(
        function(
            [ir.ForStmt(var("i"), const(0), n, const(1), [], ir.SeqStmts([]), [], kind=ir.ForKind.Pipeline), ir.ReturnStmt([])],
            [n],
        )
    )


# -- scalar expressions --------------------------------------------------------------------------------------------------------


def test_row_11_every_operator_reads_back() -> None:
    n, m, p, q = var("n"), var("m"), var("p", BOOL), var("q", BOOL)
    x = var("x", FP32)
    operators = (
        "Add",
        "Sub",
        "Mul",
        "FloorDiv",
        "FloorMod",
        "Pow",
        "Min",
        "Max",
        "BitAnd",
        "BitOr",
        "BitXor",
        "BitShiftLeft",
        "BitShiftRight",
    )
    made = [getattr(ir, name)(n, m, ir.INDEX) for name in operators]
    made += [ir.FloatDiv(x, x, ir.FP32), ir.Abs(x, ir.FP32), ir.Abs(n, ir.INDEX), ir.Neg(n, ir.INDEX), ir.BitNot(n, ir.INDEX)]
    made += [ir.And(p, q, ir.BOOL), ir.Or(p, q, ir.BOOL), ir.Xor(p, q, ir.BOOL), ir.Not(p, ir.BOOL)]
    compared = [getattr(ir, name)(n, m, ir.BOOL) for name in ("Eq", "Ne", "Lt", "Le", "Gt", "Ge")]
    made += compared
    made += [
        getattr(ir, name)(left, right, ir.BOOL) for name in ("Lt", "Eq", "Ge") for left in compared for right in (p, compared[2])
    ]
    made += [getattr(ir, name)(p, compared[0], ir.BOOL) for name in ("Lt", "Eq", "Xor")]
    stmts = [ir.AssignStmt(var("v", value.type), value) for value in made]
    exact(function([*stmts, ir.ReturnStmt([])], [n, m, p, q, x]))


def test_row_12_the_everyday_operators_mean_what_they_say() -> None:
    made = pl.parse(
        "import pypto.language as pl\n\n\n@pl.function\n"
        "def f(n: pl.Scalar[pl.INDEX], x: pl.Scalar[pl.FP32]):\n"
        "    a = (n + 1 - 2) * 3 // 4 % 5\n    b = n << 2 >> 1\n    c = x / 2.0\n"
        "    d = n < 3 and not n == 4 or n != 5\n    e = pl.min(n, pl.max(a, b))\n    g = pl.cast(x, pl.INT32)\n    return\n"
    )
    values = [s.value for s in made.body.stmts[:-1]]  # type: ignore[union-attr]
    assert [type(v).__name__ for v in values] == ["FloorMod", "BitShiftRight", "FloatDiv", "Or", "Min", "Cast"]
    exact(made)


def test_row_13_constants_that_are_no_finite_numbers() -> None:
    patterns = [0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 0xFFF8 << 48, 0x7FF8 << 48 | 5, 0xFFFF << 48, 1 << 63, 1, (1 << 52) - 1]
    for dtype in (ir.FP32, ir.FP16, ir.BF16):
        for bits in patterns:
            value = struct.unpack("<d", struct.pack("<Q", bits))[0]
            again = exact(returning(ir.ConstFloat(value, dtype)))
            assert struct.pack("<d", again.body.stmts[0].value.value) == struct.pack("<d", value)


def test_row_14_negative_constants() -> None:
    n = var("n")
    two, minus = const(2), const(-2)
    made = [
        ir.Neg(two, ir.INDEX), ir.Neg(minus, ir.INDEX), ir.Neg(ir.Neg(two, ir.INDEX), ir.INDEX), minus, const(-(1 << 63)),
        ir.Pow(minus, n, ir.INDEX), ir.Pow(n, minus, ir.INDEX), ir.Neg(ir.Pow(two, n, ir.INDEX), ir.INDEX),
        ir.Pow(ir.Neg(n, ir.INDEX), n, ir.INDEX), ir.Pow(ir.Pow(n, n, ir.INDEX), n, ir.INDEX), ir.Pow(n, ir.Pow(n, n, ir.INDEX), ir.INDEX),
        ir.Sub(n, minus, ir.INDEX), ir.Sub(minus, n, ir.INDEX), ir.BitNot(minus, ir.INDEX), ir.Mul(minus, minus, ir.INDEX),
        ir.Neg(ir.ConstFloat(1.5, ir.FP32), ir.FP32), ir.ConstFloat(-1.5, ir.FP32), ir.Neg(ir.ConstFloat(-0.0, ir.FP32), ir.FP32),
        ir.Neg(ir.ConstInt(5, ir.INT8), ir.INT8), ir.ConstInt(-5, ir.INT8),
    ]  # fmt: skip
    stmts = [ir.AssignStmt(var("v", value.type), value) for value in made]
    exact(function([*stmts, ir.ReturnStmt([])], [n]))


def test_row_15_operators_on_constants_are_kept() -> None:
    one, half, small = ir.ConstFloat(1.0, ir.FP32), ir.ConstFloat(0.5, ir.FP32), ir.ConstFloat(0.5, ir.FP16)
    two, three = const(2), const(3)
    made = [
        ir.Add(one, half, ir.FP32), ir.Mul(ir.Add(one, half, ir.FP32), half, ir.FP32), ir.Neg(ir.Add(one, half, ir.FP32), ir.FP32),
        ir.Add(small, small, ir.FP16), ir.FloatDiv(one, half, ir.FP32), ir.Add(two, three, ir.INDEX), ir.Min(two, three, ir.INDEX),
        ir.Max(one, half, ir.FP32), ir.Lt(two, three, ir.BOOL), ir.And(ir.ConstBool(True), ir.ConstBool(False), ir.BOOL),
        ir.Not(ir.ConstBool(True), ir.BOOL), ir.Mul(ir.Add(two, three, ir.INDEX), ir.Sub(two, three, ir.INDEX), ir.INDEX),
        ir.Cast(two, ir.FP32), ir.Cast(one, ir.INT32), ir.Cast(two, ir.INDEX), ir.BitNot(two, ir.INDEX), ir.Abs(one, ir.FP32),
        ir.Pow(two, three, ir.INDEX), ir.BitShiftLeft(two, three, ir.INDEX),
    ]  # fmt: skip
    stmts = [ir.AssignStmt(var("v", value.type), value) for value in made]
    exact(function([*stmts, ir.ReturnStmt([])]))


def test_row_16_element_types_that_promotion_would_not_give() -> None:
    n, i, x, p = var("n"), var("i", INT32), var("x", FP32), var("p", BOOL)
    made = [
        ir.Add(n, i, ir.INT32), ir.Add(i, i, ir.INDEX), ir.Add(n, x, ir.FP32), ir.Mul(i, n, ir.INT8), ir.Lt(n, n, ir.INT32),
        ir.And(n, n, ir.INDEX), ir.Or(p, n, ir.BOOL), ir.Not(n, ir.INDEX), ir.Xor(n, i, ir.BOOL), ir.Eq(n, i, ir.BOOL),
        ir.Lt(i, x, ir.BOOL), ir.Min(n, i, ir.INT32), ir.Abs(i, ir.FP32), ir.Neg(x, ir.INT32), ir.Cast(n, ir.INDEX),
        ir.Add(ir.Add(n, i, ir.INT32), ir.Lt(n, n, ir.INT32), ir.FP16), ir.FloatDiv(n, n, ir.INDEX), ir.Pow(n, i, ir.FP32),
        ir.Sub(n, const(1, ir.INT32), ir.INDEX), ir.BitAnd(x, x, ir.FP32), ir.Add(p, p, ir.BOOL),
    ]  # fmt: skip
    stmts = [ir.AssignStmt(var("v", value.type), value) for value in made]
    exact(function([*stmts, ir.ReturnStmt([])], [n, i, x, p]))


def test_row_16_constants_of_every_element_type() -> None:
    stmts: list[ir.Stmt] = []
    for dtype in DTYPES.values():
        for value in (ir.ConstInt(5, dtype), ir.ConstFloat(0.5, dtype)):
            stmts.append(ir.AssignStmt(var("v", value.type), value))
    again = exact(function([*stmts, ir.ReturnStmt([])]))
    assert [type(s.value) for s in again.body.stmts[:2]] == [ir.ConstInt, ir.ConstFloat]


# -- types ---------------------------------------------------------------------------------------------------------------------


def test_row_17_element_types_of_dimensions_and_loop_variables() -> None:
    n = var("n")
    dims = [ir.ConstInt(8, ir.INT32), ir.ConstInt(8, ir.UINT8), ir.ConstInt(8, ir.INT64), const(8), n]
    params = [var(f"x{at}", ir.TensorType([dim, const(4)], ir.FP32)) for at, dim in enumerate(dims)]
    exact(function([ir.ReturnStmt([])], [n, *params]))
    for dtype in (ir.INT32, ir.INT64, ir.UINT16, ir.INDEX):
        for bounds in (
            (const(0), const(4), const(1)),
            (const(0, ir.INT32), n, const(2, ir.INT32)),
            tuple(const(v, dtype) for v in (0, 4, 1)),
        ):
            loop = ir.ForStmt(var("i", ir.ScalarType(dtype)), *bounds, [], ir.SeqStmts([]), [])
            again = exact(function([loop, ir.ReturnStmt([])], [n]))
            found = again.body.stmts[0].loop_var.type.dtype
            assert found is dtype or {found, dtype} == {ir.INDEX, ir.INT64}


def test_row_18_types_of_carried_values_and_results() -> None:
    n, wide = var("n"), var("w", INT32)
    shape = ir.TensorType([var("M")], ir.FP32)
    x = var("x", ROWS)
    for init, type_ in ((n, INT32), (wide, INDEX), (n, INDEX), (x, shape)):
        carried = [ir.IterArg("a", type_, init), ir.IterArg("b", INDEX, n)]
        results = [var("r", type_), var("s", INT32)]
        loop = ir.ForStmt(var("i"), const(0), n, const(1), carried, ir.YieldStmt([*carried]), results)
        exact(function([loop, ir.ReturnStmt([])], [n, wide, x]))
        carried = [ir.IterArg("a", type_, init), ir.IterArg("b", INDEX, n)]
        results = [var("r", type_), var("s", INT32)]
        repeat = ir.WhileStmt(ir.Lt(n, const(3), ir.BOOL), carried, ir.YieldStmt([*carried]), results)
        exact(function([repeat, ir.ReturnStmt([])], [n, wide, x]))
        branch = ir.IfStmt(
            ir.Lt(n, const(3), ir.BOOL), ir.YieldStmt([n, wide]), ir.YieldStmt([wide, n]), [var("r", type_), var("s")]
        )
        exact(function([branch, ir.ReturnStmt([])], [n, wide, x]))


def test_row_19_operands_and_keywords_that_spellings_imply() -> None:
    x, t, n = (
        var("x", ir.TensorType([64], ir.FP16)),
        var("t", ir.TileType([64], ir.FP32, None, None, ir.MemorySpace.Vec)),
        var("n"),
    )
    half = ir.ConstFloat(0.5, ir.FP16)
    made: list[ir.Call] = [
        create_op_call("tensor.adds", [x, half], {}),
        create_op_call("tensor.adds", [x, ir.ConstFloat(0.5, ir.FP32)], {}),
        create_op_call("tensor.adds", [x, const(1)], {}),
        create_op_call("tile.load", [x, *[ir.MakeTuple([const(v)]) for v in (0, 64, 64)]], {"target_memory": ir.MemorySpace.Vec}),
        create_op_call("tile.full", [ir.MakeTuple([const(4)]), ir.ConstFloat(0.5, ir.FP16)], {"dtype": ir.FP16}),
    ]
    unlike = [
        ir.Call(ir.Op("tensor.add"), [x, half], None, None, x.type, ir.Span.unknown()),
        ir.Call(ir.Op("tile.load"), [x, ir.MakeTuple([const(0)]), ir.MakeTuple([const(64)])], None, None, t.type, ir.Span.unknown()),
        ir.Call(ir.Op("tile.full"), [ir.MakeTuple([const(4)]), const(1, ir.INT8)], {"dtype": ir.FP16}, None, t.type, ir.Span.unknown()),
        ir.Call(ir.Op("tile.reinterpret_view"), [t], {"dtype": ir.INT32, "more": 3}, None, t.type, ir.Span.unknown()),
        ir.Call(ir.Op("system.syncall"), [n, const(4, ir.INT8)], {"mode": "soft", "core_type": "mix"}, None, ir.UnknownType(), ir.Span.unknown()),
    ]  # fmt: skip
    bound = [call.replace(op=find_op(call.op.name)) for call in unlike]
    stmts = [ir.AssignStmt(var("v", call.type), call) for call in (*made, *bound)]
    exact(function([*stmts, ir.ReturnStmt([])], [x, t, n]))


def test_row_20_renamed_variables_in_dimensions() -> None:
    m, other = var("n"), var("n")
    first = ir.TensorType([ir.Mul(m, const(2), ir.INDEX)], ir.FP32)
    second = ir.TensorType([ir.Mul(other, const(2), ir.INDEX), ir.Add(m, other, ir.INDEX)], ir.FP32)
    stmts = [ir.AssignStmt(var("a", first), ir.Call(ir.Op("x.make"), [], None, None, first, ir.Span.unknown()))]
    stmts.append(ir.AssignStmt(var("b", second), ir.Call(ir.Op("x.make"), [], None, None, second, ir.Span.unknown())))
    again = exact(function([*stmts, ir.ReturnStmt([])], [m, other]))
    params = again.params
    assert again.body.stmts[0].var.type.shape[0].left is params[0]
    assert again.body.stmts[1].var.type.shape[0].left is params[1]
    assert again.body.stmts[1].var.type.shape[1].right is params[1]


def test_row_21_kinds_of_attribute_values() -> None:
    n, x = var("n"), var("x", ROWS)
    attrs: dict[str, Any] = {
        "variable": n, "constant": const(3), "typed": const(3, ir.INT32), "number": 3, "truth": True, "true": ir.ConstBool(True),
        "ratio": 0.1, "real": ir.ConstFloat(0.1, ir.FP32), "small": 1e-320, "negative": -0.0, "infinite": math.inf, "nothing": math.nan,
        "sum": ir.Add(n, const(1), ir.INDEX), "pair": ir.MakeTuple([n, n]), "numbers": [1, -2], "variables": [n, x], "empty": [],
        "arg_direction_overrides": [], "dump_vars": [], "more_directions": [ArgDirection.NoDep, ArgDirection.Scalar],
        "direction": ArgDirection.Output, "space": ir.MemorySpace.Acc, "layout": TensorLayout.DN, "pad": PadValue.min,
        "compiler_manual_dep_edges": [], "task_id_var": n, "deep": ir.Call(ir.Op("x.y"), [n], None, None, INDEX, ir.Span.unknown()),
    }  # fmt: skip
    call = kernel_call(x, attrs=attrs)
    again = exact(with_kernel(function([ir.EvalStmt(call), ir.ReturnStmt([])], [n, x])))
    found = next(part for part in walk(again.get_function("f")) if isinstance(part, ir.Call) and part.op.name == "k").attrs
    for key, value in attrs.items():
        assert type(found[key]) is type(value), key
        if isinstance(value, float):
            assert struct.pack("<d", found[key]) == struct.pack("<d", value)


STRINGS = [
    "",
    "plain",
    'say "hi"',
    "it's",
    "both ' and \"",
    "back\\slash",
    "tab\tnew\nline\r",
    "\x00\x7f",
    "caf\u00e9",
    "\U0001f600",
    "# no comment",
    "{x}",
    "\u2028",
    "\ud800",
]


def test_row_22_strings_with_anything_in_them() -> None:
    x = var("x", ROWS)
    kwargs = {f"s{at}": text for at, text in enumerate(STRINGS)}
    made = with_kernel(function([ir.EvalStmt(kernel_call(x, kwargs=kwargs, attrs=kwargs)), ir.ReturnStmt([])], [x], attrs=kwargs))
    found = only(exact(made).get_function("f"), ir.Call)
    assert dict(found.kwargs) == dict(found.attrs) == kwargs


def test_row_23_empty_branches_and_comments_at_the_end() -> None:
    n = var("n")
    less = ir.Lt(n, const(3), ir.BOOL)

    def leaf() -> ir.Stmt:
        return ir.AssignStmt(var("v"), n)

    for then in (ir.SeqStmts([]), leaf()):
        for other in (None, ir.SeqStmts([]), leaf()):
            again = exact(function([ir.IfStmt(less, then, other, []), ir.ReturnStmt([])], [n]))
            assert (again.body.stmts[0].else_body is None) == (other is None)
    commented: list[ir.Stmt] = []
    for body in (ir.SeqStmts([]), leaf(), ir.SeqStmts([leaf(), leaf()])):
        ir.stmt.attach_trailing_comments(body, ["the end", "", "  really"])
        commented += [ir.IfStmt(less, body, body, []), ir.WhileStmt(less, [], body, []), ir.RuntimeScopeStmt(body=body)]
        commented.append(ir.ForStmt(var("i"), const(0), n, const(1), [], body, []))
    done = ir.ReturnStmt([])
    ir.attach_leading_comments(done, ["above", "# twice"])
    whole = ir.SeqStmts([*commented, done])
    ir.stmt.attach_trailing_comments(whole, ["below"])
    exact(function(whole, [n]))


def test_row_23_places_survive_in_the_reader() -> None:
    text = text_of(returning(ir.Add(var("n"), const(1), ir.INDEX)))
    made: Any = parse(text.replace("n__FREE_VAR", "4"), "here.py")
    assert made.body.stmts[-1].span.begin_line == text.count("\n") + 1


def test_row_24_types_that_no_rule_gives() -> None:
    x = var("x", ROWS)
    tile = ir.TileType([8, 8], ir.FP16, None, ir.TileView([4, 4]), ir.MemorySpace.Mat)
    stmts: list[ir.Stmt] = []
    for given in (ir.UnknownType(), INDEX, tile, ir.TupleType([ROWS, INDEX]), ir.TensorType([64], ir.FP16)):
        call = create_op_call("tensor.adds", [x, ir.ConstFloat(1.0, ir.FP32)], {}).replace(type=given)
        stmts += [ir.EvalStmt(call), ir.AssignStmt(var("v", given), call)]
        stmts += [ir.EvalStmt(kernel_call(x, type_=given)), ir.AssignStmt(var("u", given), kernel_call(x, type_=given))]
    exact(with_kernel(function([*stmts, ir.ReturnStmt([])], [x])))


def test_row_25_names_that_collide() -> None:
    hints = [
        "x",
        "x",
        "x_1",
        "x_1",
        "x_1_1",
        "class",
        "self",
        "pl",
        "pld",
        "k",
        "f",
        "M",
        "True",
        "abs",
        "range",
        "\u00e9",
        "a b",
        "",
        "x__FREE_VAR",
        "_",
        "print",
    ]
    size = var("M")
    params = [var("x", ir.TensorType([size], ir.FP32))]
    variables = [var(hint) for hint in hints]
    stmts: list[ir.Stmt] = [ir.AssignStmt(v, const(at)) for at, v in enumerate(variables)]
    again = exact(function([*stmts, ir.ReturnStmt([*variables])], params, [INDEX] * len(variables)))
    found = again.body.stmts[-1].value
    assert [v is s.var for v, s in zip(found, again.body.stmts, strict=False)] == [True] * len(hints)
    assert len({id(v) for v in found}) == len(hints)


def test_row_26_references_to_memory() -> None:
    first, second, ring = var("buf", ir.PtrType()), var("buf", ir.PtrType()), ir.MemRef("ring", slots=3)
    references = [
        ir.MemRef(first, 0, 128),
        ir.MemRef(second, 0, 128),
        ir.MemRef(first, 64, 64),
        ring[1],
        ring[2],
        ir.MemRef("buf", 0, 64),
    ]
    params = [var(f"t{at}", ir.TileType([8, 8], ir.FP16, ref, None, ir.MemorySpace.Vec)) for at, ref in enumerate(references)]
    params.append(var("x", ir.TensorType([8], ir.FP32, ir.MemRef(first, 0, 32))))
    again = exact(function([ir.ReturnStmt([])], params))
    bases = [p.type.memref.base_ for p in again.params]
    assert bases[0] is bases[2] is bases[6]
    assert bases[0] is not bases[1]


def test_row_27_function_attributes_that_say_nothing() -> None:
    for attrs in (
        {"split": 0},
        {"split": 1},
        {"auto_scope": True},
        {"auto_scope": False},
        {"external_source": ""},
        {"external_source": "a.cpp"},
        {"split": "x"},
    ):
        again = exact(function(ir.ReturnStmt([]), attrs=attrs))
        assert dict(again.attrs) == attrs


def test_row_28_dimensions_of_distributed_tensors_are_declared() -> None:
    size = var("ROWS")
    x = var("x", ir.DistributedTensorType([size, ir.Mul(var("COLS"), const(2), ir.INDEX)], ir.FP32))
    made = function([ir.ReturnStmt([])], [x])
    assert 'ROWS = pl.dynamic("ROWS")' in text_of(made)
    assert 'COLS = pl.dynamic("COLS")' in text_of(made)
    exact(made)
    for options in LAYOUTS:
        parse(python_print(made, **options), strict=True)


def test_row_29_the_text_imports_what_it_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    x = var("x", ir.DistributedTensorType([8], ir.FP32))
    made = ir.Program([function([ir.ReturnStmt([])], [x])], "P")
    text = python_print(made)
    assert "import pypto.language.distributed as pld\n" in text
    assert "pld" not in python_print(ir.Program([function([ir.ReturnStmt([])])], "P"))
    # a printed program is a module as well
    (tmp_path / "printed_row_29.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert structural_equal(importlib.import_module("printed_row_29").P, made)


def test_row_30_other_prefixes() -> None:
    for prefix in ("k", "lang", "pl2"):
        made = program("with pl.at(level=pl.Level.CORE_GROUP) as t:\n    y = pl.add(x, 1.0)\nreturn y")
        text = python_print(made, prefix=prefix)
        assert f"from pypto import language as {prefix}\n" in text
        assert "pl." not in text.replace("pld.", "").replace(f"{prefix}.", "")
        exact(made, {"prefix": prefix}, {"prefix": prefix, "sugar": False})


def test_row_31_the_task_before_a_scope() -> None:
    made = program(
        "with pl.at(level=pl.Level.CORE_GROUP) as t:\n    y = pl.add(x, 1.0)\nwith pl.at(level=pl.Level.CORE_GROUP, deps=[t]):\n    y = pl.add(y, 1.0)\nreturn y"
    )
    assert "task_invalid" not in text_of(made)
    assert "task_invalid" in python_print(made, sugar=False)
    exact(made)
    f = made.get_function("f")
    assert f is not None
    stmts = f.body.stmts  # type: ignore[attr-defined]
    assert stmts[0].value.op.name == "system.task_invalid"

    def with_stmts(*parts: ir.Stmt) -> ir.Program:
        assert f is not None
        return ir.Program([made.get_function("k"), f.replace(body=ir.SeqStmts([*parts]))], "P")

    absent = exact(with_stmts(*stmts[1:]))
    assert len(absent.get_function("f").body.stmts) == len(stmts) - 1
    exact(with_stmts(stmts[0], *stmts))
    exact(with_stmts(stmts[0], ir.AssignStmt(var("v"), const(1)), *stmts[1:]))
    noted = ir.AssignStmt(stmts[0].var, stmts[0].value)
    ir.attach_leading_comments(noted, ["no task yet"])
    exact(with_stmts(noted, *stmts[1:]))


def test_row_32_dependencies_of_operators() -> None:
    t, n, x = var("t", TASK), var("n"), var("x", ROWS)
    marked = {"manual_dep_edges": [t, t], "dummy_task": True}
    stmts: list[ir.Stmt] = []
    for attrs in (
        {},
        marked,
        {"dummy_task": True},
        {"manual_dep_edges": [t]},
        {**marked, "more": 1},
        {"manual_dep_edges": [], "dummy_task": True},
        {**marked, "dummy_task": 1},
    ):
        task = create_op_call("system.task_dummy", [], {}).replace(attrs=attrs)
        other = create_op_call("tensor.adds", [x, ir.ConstFloat(1.0, ir.FP32)], {}).replace(attrs=attrs)
        stmts += [ir.AssignStmt(var("d", TASK), task), ir.AssignStmt(var("y", ROWS), other)]
    made = function([*stmts, ir.ReturnStmt([])], [t, n, x])
    assert "pl.system.task_dummy(deps=[t, t])" in text_of(made)
    exact(made)


def test_row_33_without_annotations() -> None:
    n, x = var("n"), var("x", ROWS)
    given = ir.TensorType([64], ir.FP16)
    viewed = ir.TensorType([64], ir.FP32, None, ir.TensorView([1], TensorLayout.ND))
    call = create_op_call("tensor.adds", [x, ir.ConstFloat(1.0, ir.FP32)], {})
    stmts: list[ir.Stmt] = [
        ir.AssignStmt(var("a", ROWS), call),
        ir.AssignStmt(var("b", given), call.replace(type=given)),
        ir.AssignStmt(var("d"), ir.Add(n, const(1), ir.INDEX)),
        ir.AssignStmt(var("g", ir.ScalarType(ir.INT64)), const(4, ir.INT64)),
        ir.AssignStmt(var("h", viewed), call.replace(type=viewed)),
        ir.IfStmt(ir.Lt(n, const(1), ir.BOOL), ir.YieldStmt([n]), ir.YieldStmt([n]), [var("r", INT32)]),
        ir.IfStmt(ir.Lt(n, const(1), ir.BOOL), ir.YieldStmt([n]), ir.YieldStmt([n]), [var("s")]),
    ]
    made = function([*stmts, ir.ReturnStmt([])], [n, x])
    text = python_print(made, concise=True)
    assert "    a = pl.tensor.adds(x, 1.0)\n" in text
    assert "    s = pl.yield_(n)\n" in text
    exact(made, {"concise": True}, {"concise": True, "format": False}, {"concise": True, "sugar": False})


# -- what people write for tasks -----------------------------------------------------------------------------------------------

WRITTEN = [
    "y, t = pl.submit(self.k, x, o)\nz, u = pl.submit(self.k, y, o, deps=[t, None])\nreturn z",
    "r: pl.Tuple[pl.Tensor[[64], pl.FP32], pl.Scalar[pl.TASK_ID]] = pl.submit(self.k, x, o)\nreturn x",
    "y, t = pl.submit(self.k, x, dumps=[x], allow_early_resolve=True)\nreturn y",
    "y, t = pl.spmd_submit(self.k, x, o, core_num=n, sync_start=True)\nreturn y",
    "y, t = pl.submit(self.k, x, o, predicate=(flags[n] >= 2))\nreturn y",
    "ts = pl.array.create(4, dtype=pl.TASK_ID)\ny, t = pl.submit(self.k, x, o, deps=[ts])\nts[0] = t\nreturn y",
    "ts = pl.array.create(4, dtype=pl.TASK_ID)\ny, t = pl.submit(self.k, x, o, deps=[ts[i] for i in range(4) if i != 2])\nreturn y",
    "ts = pl.array.create(4, dtype=pl.TASK_ID)\nd = pl.system.task_dummy(deps=[ts[n], None])\nreturn x",
    "with pl.manual_scope():\n    d = pl.system.task_dummy(deps=[])\n    t: pl.Scalar[pl.TASK_ID] = None\nreturn x",
    "pl.dump_tag(x)\no = self.k(x, o)\nwith pl.at(level=pl.Level.CORE_GROUP):\n    y = pl.add(x, 1.0)\nreturn o",
    "o = self.k(pl.no_dep(x), o)\nreturn o",
    "with pl.at(level=pl.Level.CORE_GROUP, no_dep_args=[x], dumps=[x], windowize=True, allow_early_resolve=True) as t:\n    y = pl.add(x, 1.0)\nreturn y",
    "with pl.at(pl.Level.CHIP, pl.Role.Orchestrator, name_hint='h') as t:\n    y = pl.add(x, 1.0)\nreturn y",
    "with pl.cluster(name_hint='c'):\n    with pl.spmd(core_num=4):\n        o = self.k(x, o)\nreturn o",
    "with pl.spmd(4) as t:\n    i = pl.tile.get_block_idx()\n    a = pl.load(x, [i], [16])\nwith pl.spmd(n, deps=[t]) as u:\n    o = self.k(x, o)\nreturn o",
    "for lane in pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):\n    a = pl.load(x, [lane * 32], [32])\n    o = pl.store(a, [lane * 32], o)\nreturn o",
    "for i in pl.spmd(4, optimizations=[pl.split(pl.SplitMode.UP_DOWN), pl.cross_core_slot(slot_num=2)], predicate=(flags[0] == 1)):\n    a = pl.load(x, [i * 16], [16])\n    o = pl.store(a, [i * 16], o)\nreturn o",
]


@pytest.mark.parametrize("body", WRITTEN)
def test_tasks_and_scopes_as_people_write_them(body: str) -> None:
    exact(program(body))
