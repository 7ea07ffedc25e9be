"""Structural comparison: what counts, how variables are paired, and each reason that a report can give."""

from __future__ import annotations

import re
import struct

import pytest

from pypto import ir
from pypto.ir.span import UNKNOWN

INDEX = ir.ScalarType(ir.INDEX)
TILE = ir.TileType([16, 16], ir.FP32)
OP = ir.Op("tile.x")


def const(value: int, dtype: ir.DataType = ir.INDEX) -> ir.ConstInt:
    return ir.ConstInt(value, dtype, UNKNOWN)


def var(name: str = "x", type_: ir.Type = INDEX) -> ir.Var:
    return ir.Var(name, type_, UNKNOWN)


def call(args: list = [], kwargs: dict | None = None, attrs: dict | None = None, op: ir.Op = OP) -> ir.Call:  # noqa: B006
    return ir.Call(op, args, kwargs or {}, attrs or {}, TILE, UNKNOWN)


def function(body: ir.Stmt | None = None, params: list | None = None, **options) -> ir.Function:
    stmt = ir.SeqStmts([], UNKNOWN) if body is None else body
    return ir.Function("f", params or [], options.pop("returns", []), stmt, UNKNOWN, **options)


def program(value: ir.Expr) -> ir.Program:
    body = ir.SeqStmts([ir.AssignStmt(var("y"), value, UNKNOWN), ir.ReturnStmt([], UNKNOWN)], UNKNOWN)
    return ir.Program([ir.Function("main", [], [], body, UNKNOWN)], "p", UNKNOWN)


def loop(kind: ir.ForKind = ir.ForKind.Sequential, dtype: ir.DataType = ir.INDEX, stop: int = 4) -> ir.ForStmt:
    i = var("i", ir.ScalarType(dtype))
    body = ir.EvalStmt(call([i]), UNKNOWN)
    return ir.ForStmt(i, const(0), const(stop), const(1), [], body, [], UNKNOWN, kind)


def tensor(shape: list, view: ir.TensorView | None = None, dtype: ir.DataType = ir.FP32) -> ir.Type:
    return ir.TensorType(shape, dtype, None, view)


def param(type_: ir.Type) -> ir.Function:
    return function(params=[var("a", type_)])


ND = ir.TensorLayout.ND

MISMATCHES = {
    "kind": (const(1), ir.ConstBool(True, UNKNOWN), r"Node type mismatch \(ConstInt != ConstBool\)"),
    "null": (
        ir.IfStmt(ir.ConstBool(True), ir.BreakStmt(), ir.BreakStmt(), [], UNKNOWN),
        ir.IfStmt(ir.ConstBool(True), ir.BreakStmt(), None, [], UNKNOWN),
        r"at: else_body[\s\S]*One node is null, the other is not",
    ),
    "vector": (call([const(1)]), call([]), r"at: args[\s\S]*Vector size mismatch \(1 items != 0 items\)"),
    "map size": (program(const(1)), ir.Program([], "p", UNKNOWN), r"Map size mismatch \(1 items != 0 items\)"),
    "map key": (
        ir.Program([function()], "p", UNKNOWN),
        ir.Program([function().replace(name="g")], "p", UNKNOWN),
        r"Map key mismatch \('f' != 'g'\)",
    ),
    "int64": (
        program(const(1)),
        program(const(2)),
        r"at: \['main'\]\.body\[0\]\.value\.value\n\nLeft: 1\nRight: 2\n\nReason: int64_t value mismatch \(1 != 2\)\nKind: constant\n",
    ),
    "integer": (
        ir.TupleGetItemExpr(ir.MakeTuple([const(1), const(1)]), 0),
        ir.TupleGetItemExpr(ir.MakeTuple([const(1), const(1)]), 1),
        r"at: index[\s\S]*Integer value mismatch \(0 != 1\)",
    ),
    "bool": (ir.ConstBool(True), ir.ConstBool(False), r"Bool value mismatch \(true != false\)"),
    "double": (ir.ConstFloat(1.5, ir.FP32), ir.ConstFloat(2.5, ir.FP32), r"double value mismatch \(1.5 != 2.5\)"),
    "string": (
        ir.ClusterScopeStmt("a", body=ir.BreakStmt()),
        ir.ClusterScopeStmt("b", body=ir.BreakStmt()),
        r'at: name_hint[\s\S]*String value mismatch \("a" != "b"\)',
    ),
    "operator": (call(), call(op=ir.Op("tile.y")), r"Operator name mismatch \('tile.x' != 'tile.y'\)"),
    "op kind": (call(), call(op=ir.GlobalVar("tile.x")), r"Operator name mismatch"),
    "function type": (
        function(),
        function(type=ir.FunctionType.Spmd),
        r"at: func_type[\s\S]*FunctionType mismatch \(Opaque != Spmd\)",
    ),
    "for kind": (loop(), loop(ir.ForKind.Parallel), r"at: kind[\s\S]*ForKind mismatch \(Sequential != Parallel\)"),
    "loop bound": (loop(), loop(stop=5), r"at: stop\.value[\s\S]*int64_t value mismatch \(4 != 5\)"),
    "level": (
        function(level=ir.Level.HOST),
        function(level=ir.Level.CHIP),
        r"Level mismatch \(HOST != CHIP\)",
    ),
    "optional": (function(), function(level=ir.Level.CHIP), r"at: level[\s\S]*Optional field presence mismatch"),
    "role": (
        function(role=ir.Role.Orchestrator),
        function(role=ir.Role.SubWorker),
        r"Role mismatch \(Orchestrator != SubWorker\)",
    ),
    "direction": (
        function(params=[(var(), ir.ParamDirection.In)]),
        function(params=[(var(), ir.ParamDirection.Out)]),
        r"at: param_directions\[0\][\s\S]*ParamDirection mismatch \(In != Out\)",
    ),
    "runtime binding": (function(), function(requires_runtime_binding=True), r"Bool value mismatch \(false != true\)"),
    "kwargs size": (call(kwargs={"a": 1}), call(), r"Kwargs size mismatch \(1 != 0\)"),
    "kwargs key": (call(kwargs={"a": 1}), call(kwargs={"b": 1}), r"Kwargs key 'a' present on one side only"),
    "kwargs kind": (call(kwargs={"a": 1}), call(kwargs={"a": True}), r"Kwargs value type mismatch for key 'a'"),
    "kwargs value": (call(kwargs={"a": 1}), call(kwargs={"a": 2}), r"at: kwargs[\s\S]*Kwargs value mismatch for key 'a'"),
    "attrs value": (
        call([const(1)], attrs={"arg_directions": [ir.ArgDirection.Input]}),
        call([const(1)], attrs={"arg_directions": [ir.ArgDirection.Scalar]}),
        r"at: attrs[\s\S]*Kwargs value mismatch for key 'arg_directions'",
    ),
    "attr expression": (
        call(attrs={"device": const(0)}),
        call(attrs={"device": const(1)}),
        r"at: attrs\['device'\]\.value[\s\S]*int64_t value mismatch",
    ),
    "type name": (
        param(INDEX),
        param(TILE),
        r"at: params\[0\][\s\S]*Variable type mismatch.*Type name mismatch \(ScalarType != TileType\)",
    ),
    "type vector": (function(returns=[TILE]), function(), r"Type vector size mismatch"),
    "scalar dtype": (
        param(ir.ScalarType(ir.INT64)),
        param(ir.ScalarType(ir.INT32)),
        r"ScalarType dtype mismatch \(int64 != int32\)",
    ),
    "tensor dtype": (param(tensor([4])), param(tensor([4], dtype=ir.FP16)), r"TensorType dtype mismatch \(fp32 != fp16\)"),
    "tensor rank": (param(tensor([4, 4])), param(tensor([4])), r"TensorType shape rank mismatch \(2 != 1\)"),
    "tensor dim": (param(tensor([4])), param(tensor([5])), r"int64_t value mismatch \(4 != 5\)"),
    "view presence": (
        param(tensor([4, 8])),
        param(tensor([4, 8], ir.TensorView(pad=ir.PadValue.zero, layout=ND))),
        r"TensorType tensor_view presence mismatch",
    ),
    "view size": (
        param(tensor([4, 8], ir.TensorView(valid_shape=[4, 4], layout=ND))),
        param(tensor([4, 8], ir.TensorView(valid_shape=[], stride=[8, 1], layout=ND))),
        r"TensorView valid_shape size mismatch",
    ),
    "view layout": (
        param(tensor([4, 8], ir.TensorView(layout=ir.TensorLayout.DN))),
        param(tensor([4, 8], ir.TensorView(layout=ir.TensorLayout.NZ))),
        r"TensorView layout mismatch",
    ),
    "tile blayout": (
        param(ir.TileType([4, 8], ir.FP32, None, ir.TileView(blayout=ir.TileLayout.col_major))),
        param(ir.TileType([4, 8], ir.FP32, None, ir.TileView(slayout=ir.TileLayout.col_major))),
        r"TileView blayout mismatch",
    ),
    "tile space": (
        param(ir.TileType([4], ir.FP32, memory_space=ir.MemorySpace.Vec)),
        param(ir.TileType([4], ir.FP32, memory_space=ir.MemorySpace.Mat)),
        r"TileType memory_space mismatch",
    ),
    "tile space presence": (
        param(ir.TileType([4], ir.FP32)),
        param(ir.TileType([4], ir.FP32, memory_space=ir.MemorySpace.Mat)),
        r"TileType memory_space presence mismatch",
    ),
    "window presence": (
        param(ir.DistributedTensorType([4], ir.FP32)),
        param(ir.DistributedTensorType([4], ir.FP32, ir.WindowBuffer(var("b", ir.PtrType()), const(16)))),
        r"DistributedTensorType window_buffer presence mismatch",
    ),
    "window size": (
        param(ir.DistributedTensorType([4], ir.FP32, ir.WindowBuffer(var("b", ir.PtrType()), const(16)))),
        param(ir.DistributedTensorType([4], ir.FP32, ir.WindowBuffer(var("b", ir.PtrType()), const(32)))),
        r"int64_t value mismatch \(16 != 32\)",
    ),
    "tuple size": (
        param(ir.TupleType([INDEX, INDEX])),
        param(ir.TupleType([INDEX])),
        r"TupleType size mismatch \(2 != 1\)",
    ),
    "array dtype": (param(ir.ArrayType(ir.INT32, 4)), param(ir.ArrayType(ir.INT8, 4)), r"ArrayType dtype mismatch"),
    "array extent": (param(ir.ArrayType(ir.INT32, 4)), param(ir.ArrayType(ir.INT32, 8)), r"ArrayType extent mismatch"),
    "free variable": (var("x"), var("y"), r"Variable pointer mismatch \(without auto-mapping\)"),
    "comm domain": (
        ir.CommDomainScopeStmt([0], [], body=ir.BreakStmt()),
        ir.CommDomainScopeStmt([1], [], body=ir.BreakStmt()),
        r"at: devices\[0\][\s\S]*Integer value mismatch \(0 != 1\)",
    ),
    "memref offset": (
        ir.MemRef("mem_1", 0, 64),
        ir.MemRef("mem_1", 32, 64),
        r"Variable pointer mismatch",
    ),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_report(name: str) -> None:
    left, right, expected = MISMATCHES[name]
    assert not ir.structural_equal(left, right)
    assert not ir.structural_equal(right, left)
    assert ir.structural_equal(left, left)
    with pytest.raises(ValueError, match="Structural equality assertion failed") as caught:
        ir.assert_structural_equal(left, right)
    assert re.search(expected, str(caught.value)), str(caught.value)


def test_report_layout() -> None:
    with pytest.raises(ValueError, match="failed") as caught:
        ir.assert_structural_equal(param(INDEX), param(ir.ScalarType(ir.INT32)))
    blocks = str(caught.value).split("\n\n")
    assert blocks[0] == "Structural equality assertion failed at: params[0]"
    left, right = blocks[1].split("Right-hand side:")
    assert left.startswith("Left-hand side:\n  a: ")
    assert right.startswith("\n  a: ")
    assert blocks[2].startswith("Reason: Variable type mismatch")


def test_sequence_paths() -> None:
    def body(value: int) -> ir.Stmt:
        inner = ir.SeqStmts([ir.BreakStmt(), ir.EvalStmt(const(value))])
        return ir.SeqStmts([ir.IfStmt(ir.ConstBool(True), inner, None, [], UNKNOWN)])

    with pytest.raises(ValueError, match=re.escape("at: body[0].then_body[1].expr.value\n")):
        ir.assert_structural_equal(function(body(1)), function(body(2)))
    with pytest.raises(ValueError, match=re.escape("at: [0].then_body[1].expr.value\n")):
        ir.assert_structural_equal(body(1), body(2))


# --- what does not count ---------------------------------------------------------------------------------------------------------


def test_ignored() -> None:
    place = ir.Span("a.py", 1, 1)
    x, y = var("x"), ir.Var("other", INDEX, place)
    commented = ir.attach_leading_comments(ir.ReturnStmt([y], place), ["# why"])
    left = ir.Program([ir.Function("f", [x], [INDEX], ir.ReturnStmt([x], UNKNOWN), UNKNOWN)], "one", UNKNOWN)
    right = ir.Program([ir.Function("f", [y], [INDEX], commented, place)], "two", place)
    ir.assert_structural_equal(left, right)
    assert ir.structural_hash(left) == ir.structural_hash(right)
    assert ir.structural_equal(left["f"], right["f"].replace(name="g"))
    memref = ir.TileType([4], ir.FP32, ir.MemRef("mem_vec_0", 0, 16), None, ir.MemorySpace.Vec)
    bare = ir.TileType([4], ir.FP32, memory_space=ir.MemorySpace.Vec)
    assert ir.structural_equal(param(memref), param(bare))
    assert memref == bare
    assert hash(memref) == hash(bare)


def test_attribute_order_does_not_count() -> None:
    left, right = call(kwargs={"a": 1, "b": 2.0}), call(kwargs={"b": 2.0, "a": 1})
    assert ir.structural_equal(left, right)
    assert ir.structural_hash(left) == ir.structural_hash(right)


def test_index_tolerance_is_in_two_places_only() -> None:
    assert ir.structural_equal(const(3, ir.INT64), const(3))
    assert ir.structural_equal(loop(dtype=ir.INT64), loop())
    assert ir.structural_hash(loop(dtype=ir.INT64)) == ir.structural_hash(loop())
    assert not ir.structural_equal(const(3, ir.INT32), const(3))
    assert not ir.structural_equal(param(ir.ScalarType(ir.INT64)), param(INDEX))
    x = var()
    assert not ir.structural_equal(ir.Add(x, x, ir.INT64), ir.Add(x, x, ir.INDEX))


def test_floats() -> None:
    def made(value: float) -> ir.ConstFloat:
        return ir.ConstFloat(value, ir.FP32)

    nan, other_nan = made(float("nan")), made(struct.unpack("<d", b"\x01\0\0\0\0\0\xf8\x7f")[0])
    assert ir.structural_equal(nan, made(float("nan")))
    assert ir.structural_equal(nan, other_nan)
    assert ir.structural_hash(nan) == ir.structural_hash(other_nan)
    assert not ir.structural_equal(nan, other_nan, strict=True)
    assert ir.structural_equal(nan, made(float("nan")), strict=True)
    assert ir.structural_equal(made(0.0), made(-0.0))
    assert ir.structural_hash(made(0.0)) == ir.structural_hash(made(-0.0))
    assert not ir.structural_equal(made(0.0), made(-0.0), strict=True)
    assert ir.structural_equal(call(kwargs={"v": float("nan")}), call(kwargs={"v": float("nan")}))


# --- pairing of variables --------------------------------------------------------------------------------------------------------


def test_definitions_pair_and_uses_must_follow() -> None:
    def body(swap: bool) -> ir.Stmt:
        a, b = var("v"), var("v")
        return ir.SeqStmts(
            [ir.AssignStmt(a, const(1)), ir.AssignStmt(b, const(2)), ir.EvalStmt(call([b, a] if swap else [a, b]))]
        )

    assert ir.structural_equal(body(False), body(False))
    assert ir.structural_equal(body(True), body(True))
    with pytest.raises(ValueError, match=re.escape("Variable mapping inconsistent (without auto-mapping)")):
        ir.assert_structural_equal(body(False), body(True))
    assert not ir.structural_equal(body(False), body(True), enable_auto_mapping=True)


def test_auto_mapping_is_one_to_one() -> None:
    x, y, z = var("x"), var("y"), var("z")
    assert not ir.structural_equal(x + 1, y + 1)
    assert ir.structural_equal(x + 1, y + 1, enable_auto_mapping=True)
    assert ir.structural_hash(x + 1, True) == ir.structural_hash(y + 1, True)
    assert ir.structural_hash(x + 1) != ir.structural_hash(y + 1)
    assert not ir.structural_equal(x + x, y + z, enable_auto_mapping=True)
    assert not ir.structural_equal(y + z, x + x, enable_auto_mapping=True)
    with pytest.raises(ValueError, match=re.escape("('x' cannot map to both 'y' and 'z')")):
        ir.assert_structural_equal(x + x, y + z, enable_auto_mapping=True)
    other = var("w", ir.ScalarType(ir.INT32))
    assert not ir.structural_equal(x, other, enable_auto_mapping=True)


def test_identity_loss_is_seen() -> None:
    x1, x2, y = var("x"), var("x"), var("y")
    good = ir.SeqStmts([ir.AssignStmt(x1, const(1)), ir.AssignStmt(y, ir.add(x1, x1, UNKNOWN))])
    bad = ir.SeqStmts([ir.AssignStmt(x1, const(1)), ir.AssignStmt(y, ir.add(x1, x2, UNKNOWN))])
    assert not ir.structural_equal(good, bad, enable_auto_mapping=True)
    assert not ir.structural_equal(bad, good, enable_auto_mapping=True)


def test_a_shared_subtree_is_not_taken_for_equal_when_its_variables_are_renamed() -> None:
    x, y, outer = var("x"), var("y"), var("outer")
    shared = x + 1
    left = ir.SeqStmts([ir.AssignStmt(x, const(1)), ir.EvalStmt(shared)])
    right = ir.SeqStmts([ir.AssignStmt(y, const(1)), ir.EvalStmt(shared)])
    assert not ir.structural_equal(left, right)
    assert not ir.structural_equal(right, left)
    assert ir.structural_equal(outer + 1, outer + 1)


def test_a_type_with_a_shared_variable_is_not_taken_for_equal_when_it_is_renamed() -> None:
    n, m = var("n"), var("m")
    shared = ir.TensorType([n], ir.FP32)
    left = function(params=[var("a", ir.TensorType([n], ir.FP32)), var("b", shared)])
    right = function(params=[var("a", ir.TensorType([m], ir.FP32)), var("b", shared)])
    assert not ir.structural_equal(left, right)
    assert ir.structural_equal(left, function(params=[var("a", shared), var("b", shared)]))


def test_dynamic_dimensions_pair_in_definitions() -> None:
    def made(name: str) -> ir.Function:
        n = var(name)
        type_ = ir.TensorType([n, 16], ir.FP32)
        a = var("a", type_)
        return function(ir.ReturnStmt([a]), [a], returns=[type_])

    assert ir.structural_equal(made("n"), made("m"))
    n = var("n")
    a, b = var("a", ir.TensorType([n], ir.FP32)), var("b", ir.TensorType([n], ir.FP32))
    p, q = var("p"), var("q")
    c, d = var("c", ir.TensorType([p], ir.FP32)), var("d", ir.TensorType([q], ir.FP32))
    assert not ir.structural_equal(function(params=[a, b]), function(params=[c, d]))


def test_a_dimension_met_first_in_a_use_must_be_shared() -> None:
    def made(n: ir.Var) -> ir.Function:
        return function(ir.EvalStmt(ir.Call(OP, [], ir.TensorType([n], ir.FP32), UNKNOWN)))

    n = var("n")
    assert ir.structural_equal(made(n), made(n))
    assert not ir.structural_equal(made(n), made(var("n")))


def test_initial_values_of_iter_args_pair() -> None:
    def made(outside: ir.Var) -> ir.Stmt:
        acc = ir.IterArg("acc", INDEX, outside)
        return ir.ForStmt(var("i"), 0, 4, 1, [acc], ir.YieldStmt([acc]), [var("r")])

    assert ir.structural_equal(made(var("a")), made(var("b")))
    assert ir.structural_hash(made(var("a"))) == ir.structural_hash(made(var("b")))


def test_windows_pair_through_types() -> None:
    def made(flag: bool = False) -> ir.Function:
        base = var("buf", ir.PtrType())
        window = ir.WindowBuffer(base, const(16), flag)
        view = var("w", ir.DistributedTensorType([4], ir.FP32, window))
        body = ir.SeqStmts([ir.AssignStmt(base, call()), ir.AssignStmt(view, call([base]))])
        return function(ir.CommDomainScopeStmt([], [window], "comm_d0", body=body))

    assert ir.structural_equal(made(), made())
    assert ir.structural_hash(made()) == ir.structural_hash(made())
    assert not ir.structural_equal(made(), made(True))


def test_different_call_kinds_are_never_equal() -> None:
    task = ir.ScalarType(ir.TASK_ID)
    submit = ir.Submit(ir.GlobalVar("k"), [], [], {}, {}, task, UNKNOWN)
    assert not ir.structural_equal(submit, ir.Call(ir.GlobalVar("k"), [], task, UNKNOWN))
    early = ir.Submit(ir.GlobalVar("k"), [], [], {}, {}, task, UNKNOWN, allow_early_resolve=True)
    assert not ir.structural_equal(submit, early)


def test_wrong_arguments() -> None:
    for left, right in ((const(1), 1), (1, const(1)), ("a", "b")):
        with pytest.raises(TypeError):
            ir.structural_equal(left, right)
    assert not ir.structural_equal(const(1), INDEX)
    with pytest.raises(TypeError):
        ir.structural_hash(1)


# --- strict ----------------------------------------------------------------------------------------------------------------------


def test_strict_compares_comments_names_and_memrefs() -> None:
    def made(comment: str = "a", trailing: str = "t", name: str = "f", hint: str = "x", offset: int = 0) -> ir.Function:
        stmt = ir.attach_leading_comments(ir.ReturnStmt([]), [comment])
        ir.stmt.attach_trailing_comments(stmt, [trailing])
        memref = ir.MemRef(var("mem_vec_0", ir.PtrType()), offset, 16)
        a = var(hint, ir.TileType([4], ir.FP32, memref, None, ir.MemorySpace.Vec))
        return function(stmt, [a]).replace(name=name)

    ir.assert_structural_equal(made(), made(), strict=True)
    for changed in ({"comment": "b"}, {"trailing": "u"}, {"name": "g"}, {"hint": "y"}, {"offset": 8}):
        other = made(**changed)
        assert ir.structural_equal(made(), other), changed
        assert not ir.structural_equal(made(), other, strict=True), changed
        with pytest.raises(ValueError, match="Reason: "):
            ir.assert_structural_equal(made(), other, strict=True)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("x", "x", True),
        ("x", "x_1", True),
        ("x_12", "x", True),
        ("x", "x__FREE_VAR", True),
        ("x", "y", False),
        ("x", "x_y", False),
        ("x", "xx", False),
        ("not a name", "not_a_name", True),
    ],
)
def test_strict_names_are_compared_as_they_print(left: str, right: str, same: bool) -> None:
    def made(name: str) -> ir.Function:
        return function(params=[var(name)])

    assert ir.structural_equal(made(left), made(right), strict=True) is same
    assert ir.structural_equal(made(right), made(left), strict=True) is same


# --- long chains -----------------------------------------------------------------------------------------------------------------


def chain(terms: int, last: int = 0, right: bool = False) -> ir.Expr:
    made: ir.Expr = ir.index_const(last)
    for i in range(terms):
        other = ir.ConstInt(i, ir.INDEX, UNKNOWN)
        made = ir.Add(other, made, ir.INDEX) if right else ir.Add(made, other, ir.INDEX)
        if i % 1000 == 999:
            made = ir.Neg(made, ir.INDEX)
    return made


@pytest.mark.parametrize("right", [False, True])
def test_long_chains(right: bool) -> None:
    left, same, other = chain(100_000, 0, right), chain(100_000, 0, right), chain(100_000, 1, right)
    assert ir.structural_equal(left, same)
    assert ir.structural_hash(left) == ir.structural_hash(same)
    assert ir.structural_hash(left) != ir.structural_hash(other)
    with pytest.raises(ValueError, match=r"int64_t value mismatch \(0 != 1\)") as caught:
        ir.assert_structural_equal(left, other)
    assert len(str(caught.value)) < 2000
