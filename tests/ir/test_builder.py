"""The builder: blocks, what they give, and what it refuses."""

from __future__ import annotations

import inspect

import pytest

from pypto import ir
from pypto.ir.span import UNKNOWN

INDEX = ir.ScalarType(ir.INDEX)
TILE = ir.TileType([16, 16], ir.FP32)


@pytest.fixture
def b() -> ir.IRBuilder:
    return ir.IRBuilder()


def test_the_example_of_the_specification(b: ir.IRBuilder) -> None:
    with b.function("scale_sum", type=ir.FunctionType.Orchestration) as f:
        n = f.param("n", INDEX)
        f.return_type(INDEX)
        i = b.var("i", INDEX)
        with b.for_loop(i, 0, n, 1) as loop:
            acc = loop.iter_arg("acc", 0)
            loop.return_var("total")
            nxt = b.let("nxt", acc + i * 2)
            b.emit(ir.YieldStmt([nxt], ir.Span.unknown()))
        b.return_stmt(loop.output())
    made = f.get_result()

    n2, i2, nxt2, total = (ir.Var(name, INDEX, UNKNOWN) for name in ("n", "i", "nxt", "total"))
    acc2 = ir.IterArg("acc", INDEX, ir.index_const(0), UNKNOWN)
    body = ir.SeqStmts([ir.AssignStmt(nxt2, acc2 + i2 * 2), ir.YieldStmt([nxt2])])
    by_hand = ir.Function(
        "scale_sum",
        [n2],
        [INDEX],
        ir.SeqStmts([ir.ForStmt(i2, 0, n2, 1, [acc2], body, [total]), ir.ReturnStmt([total])]),
        UNKNOWN,
        type=ir.FunctionType.Orchestration,
    )
    ir.assert_structural_equal(made, by_hand)
    assert (made.level, made.role) == (ir.Level.CHIP, ir.Role.Orchestrator)


def test_bodies(b: ir.IRBuilder) -> None:
    with b.function("empty") as f:
        pass
    assert f.get_result().body.stmts == []
    with b.function("one") as f:
        b.return_stmt()
    assert type(f.get_result().body) is ir.ReturnStmt
    with b.function("branch") as f:
        with b.if_stmt(True) as first:
            b.eval_stmt(1)
            first.else_()
        with b.if_stmt(True) as second:
            b.eval_stmt(1)
            second.else_()
            b.eval_stmt(2)
        with b.if_stmt(True) as third, third.else_():
            b.eval_stmt(3)
    assert first.get_result().else_body is None
    assert type(second.get_result().else_body) is ir.EvalStmt
    assert third.get_result().then_body.stmts == []
    assert [type(s) for s in f.get_result().body.stmts] == [ir.IfStmt] * 3
    assert f.get_result().body[1] is second.get_result()


def test_branch_outputs(b: ir.IRBuilder) -> None:
    with b.function("f") as f:
        x = f.param("x", INDEX)
        with b.if_stmt(x > 0) as branch:
            b.emit(ir.YieldStmt([x]))
            branch.else_()
            b.emit(ir.YieldStmt([ir.index_const(0)]))
            branch.return_var("r", INDEX)
        b.return_stmt([branch.output(0)])
    assert branch.outputs() == [branch.output()]
    assert f.get_result().body[1].value[0] is branch.get_result().return_vars[0]
    with pytest.raises(ValueError, match="no output 1"):
        branch.output(1)


def test_while_loop(b: ir.IRBuilder) -> None:
    with b.function("f"), b.while_loop(True) as loop:
        acc = loop.iter_arg("acc", 8)
        loop.set_condition(acc > 0)
        loop.return_var("rest")
        b.emit(ir.YieldStmt([b.let("half", acc // 2)]))
    made = loop.get_result()
    assert type(made.condition) is ir.Gt
    assert made.condition.left is made.iter_args[0]


@pytest.mark.parametrize(
    ("kind", "options", "expected"),
    [
        (ir.ScopeKind.InCore, {"split": ir.SplitMode.UP_DOWN}, ir.InCoreScopeStmt),
        (ir.ScopeKind.Cluster, {}, ir.ClusterScopeStmt),
        (ir.ScopeKind.Hierarchy, {"level": ir.Level.HOST, "role": ir.Role.Orchestrator}, ir.HierarchyScopeStmt),
        (ir.ScopeKind.Spmd, {"core_num": 4, "sync_start": True}, ir.SpmdScopeStmt),
        (ir.ScopeKind.SplitAiv, {"split": ir.SplitMode.UP_DOWN}, ir.SplitAivScopeStmt),
        (ir.ScopeKind.Runtime, {"manual": True}, ir.RuntimeScopeStmt),
    ],
)
def test_scopes(b: ir.IRBuilder, kind: ir.ScopeKind, options: dict, expected: type) -> None:
    with b.function("f"), b.scope(kind, name_hint="s", attrs=[("windowize", True)], **options) as scope:
        b.eval_stmt(1)
    made = scope.get_result()
    assert type(made) is expected
    assert made.scope_kind is kind
    assert (made.name_hint, dict(made.attrs)) == ("s", {"windowize": True})
    for name, value in options.items():
        stored = getattr(made, name)
        assert stored is value or stored.value == value


def test_scope_errors(b: ir.IRBuilder) -> None:
    with b.function("f"):
        for kind, options, words in [
            (ir.ScopeKind.CommDomain, {}, "cannot be built"),
            (ir.ScopeKind.Spmd, {}, "needs core_num"),
            (ir.ScopeKind.Cluster, {"manual": True}, "has no manual"),
        ]:
            with pytest.raises(ValueError, match=words):
                b.scope(kind, **options)


def test_program_and_calls(b: ir.IRBuilder) -> None:
    with b.program("p") as p:
        kernel = p.declare_function("kernel")
        assert p.get_global_var("kernel") is kernel
        with pytest.raises(ValueError, match="did you mean 'kernel'"):
            p.get_global_var("kernal")
        n = ir.Var("n", INDEX, UNKNOWN)
        with b.function("kernel") as f:
            x = f.param("x", ir.TensorType([n, 4], ir.FP32))
            f.return_type(ir.TensorType([n, 4], ir.FP32))
            b.return_stmt(x)
        p.add_function(f.get_result())
        with pytest.raises(ValueError, match="kernel"):
            p.add_function(f.get_result())
        with b.function("main") as g:
            y = g.param("y", ir.TensorType([32, 4], ir.FP32))
            r = b.let("r", ir.Call(kernel, [y], UNKNOWN))
            b.return_stmt(r)
        p.add_function(g.get_result())
    made = p.get_result()
    assert [key.name for key in made.functions] == ["kernel", "main"]
    assert r.type is ir.TensorType([32, 4], ir.FP32)
    assert made["main"].body[0].value.type is r.type


def test_errors(b: ir.IRBuilder) -> None:
    with pytest.raises(RuntimeError, match="open function"):
        b.emit(ir.BreakStmt())
    with b.function("f") as f:
        with pytest.raises(RuntimeError, match="inside a function"), b.function("g"):
            pass
        with pytest.raises(RuntimeError, match="after the end"):
            f.get_result()
        with (
            pytest.raises(RuntimeError, match="1 iter args but 0 return variables"),
            b.for_loop(b.var("i", INDEX), 0, 1, 1) as loop,
        ):
            loop.iter_arg("acc", 0)
        with pytest.raises(RuntimeError, match="needs a type"), b.while_loop(True) as loop:
            loop.return_var("r")
        with pytest.raises(TypeError, match="declared as TileType"):
            b.let("x", 1, TILE)
        with b.if_stmt(True) as branch:
            branch.else_()
            with pytest.raises(RuntimeError, match="else already"):
                branch.else_()
    assert f.get_result().body is branch.get_result()
    assert not b.in_function()


def test_an_exception_closes_the_block(b: ir.IRBuilder) -> None:
    with pytest.raises(ZeroDivisionError), b.function("f"):
        1 // 0
    with b.function("g") as g:
        pass
    assert g.get_result().name == "g"


def test_where_we_are(b: ir.IRBuilder) -> None:
    assert (b.in_function(), b.in_loop(), b.in_if()) == (False, False, False)
    with b.function("f"):
        with b.for_loop(b.var("i", INDEX), 0, 4, 1):
            assert (b.in_function(), b.in_loop(), b.in_if()) == (True, True, False)
            with b.if_stmt(True):
                assert b.in_if()
        assert (b.in_loop(), b.in_if()) == (False, False)


def test_comments(b: ir.IRBuilder) -> None:
    with b.function("f") as f:
        b.push_pending_leading_comments(["loop"])
        with b.for_loop(b.var("i", INDEX), 0, 4, 1) as loop:
            b.push_pending_leading_comments(["one"])
            b.push_pending_leading_comments(["two"])
            b.eval_stmt(1)
            b.push_pending_leading_comments(["end"])
        b.push_pending_leading_comments(["dropped"])
        assert b.pop_pending_leading_comments() == ["dropped"]
        b.return_stmt()
    made = f.get_result().body[0]
    assert made is loop.get_result()
    assert made.leading_comments == ["loop"]
    assert made.body.leading_comments == ["one", "two"]
    assert made.body.trailing_comments == ["end"]
    assert f.get_result().body[1].leading_comments == []


def test_function_attributes(b: ir.IRBuilder) -> None:
    with b.function("f", attrs={"auto_scope": False}, requires_runtime_binding=True) as f:
        b.add_function_attrs({"split": ir.SplitMode.UP_DOWN})
        with pytest.raises(ValueError, match="auto_scope"):
            b.add_function_attrs({"auto_scope": True})
    made = f.get_result()
    assert dict(made.attrs) == {"auto_scope": False, "split": 1}
    assert made.requires_runtime_binding


def test_small_methods(b: ir.IRBuilder) -> None:
    with b.function("f") as f:
        x = f.param("x", INDEX, direction=ir.ParamDirection.Out)
        line = inspect.currentframe().f_lineno
        assigned = b.assign(x, 0.5)
        b.inline_stmt("print(1)")
        with b.for_loop(b.var("i", INDEX), 0, 4, 1):
            b.break_stmt()
            b.continue_stmt()
        b.return_stmt([1, x])
    made = f.get_result()
    assert made.param_directions == [ir.ParamDirection.Out]
    assert assigned.span.begin_line == line + 1
    assert assigned.span.filename == __file__
    assert assigned.value.dtype is ir.FP32
    assert made.body[1].body == "print(1)"
    assert [type(s) for s in made.body[2].body.stmts] == [ir.BreakStmt, ir.ContinueStmt]
    assert made.body[3].value[0].dtype is ir.INDEX
    assert b.make_tuple([1, x]).elements[1] is x
    assert b.tile_type([16, 16], ir.FP32) is TILE
    assert b.tensor_type([4], ir.FP32, None, b.tensor_view(layout=ir.TensorLayout.DN)).tensor_view.layout is ir.TensorLayout.DN
    assert b.tile_view(fractal=32).fractal == 32
    assert b.memref("pool").is_pinned_
