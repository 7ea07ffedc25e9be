"""Definitions, yields, substitution, clones, types of calls, parents."""

from __future__ import annotations

import pytest

from pypto import ir
from pypto.ir.node import walk
from pypto.ir.span import UNKNOWN
from tests.ir.samples import everything, var

TILE = ir.TileType([16, 16], ir.FP32)


def loop() -> tuple[ir.ForStmt, dict[str, ir.Var]]:
    n, i, y, total = var("n"), var("i"), var("y"), var("total")
    acc = ir.IterArg("acc", n.type, n, UNKNOWN)
    body = ir.SeqStmts([ir.AssignStmt(y, ir.add(acc, i, UNKNOWN)), ir.YieldStmt([y])])
    made = ir.ForStmt(i, 0, n, 1, [acc], body, [total])
    return made, {"n": n, "i": i, "y": y, "total": total, "acc": acc}


def test_collect_def_vars() -> None:
    stmt, names = loop()
    assert [v.name_hint for v in ir.collect_def_vars(stmt)] == ["i", "acc", "total", "y"]
    assert names["n"] not in set(ir.collect_def_vars(stmt))


def test_yields() -> None:
    stmt, _ = loop()
    last = stmt.body[1]
    assert ir.find_yield_stmt(stmt.body) is last
    assert ir.get_last_yield_stmt(last) is last
    assert ir.get_last_yield_stmt(ir.SeqStmts([ir.SeqStmts([last])])) is last
    for body in (None, ir.SeqStmts([]), ir.BreakStmt(), ir.SeqStmts([last, ir.BreakStmt()])):
        assert ir.find_yield_stmt(body) is None


def test_flatten() -> None:
    a, b, c = ir.BreakStmt(), ir.BreakStmt(), ir.BreakStmt()
    assert ir.flatten_to_stmts(ir.SeqStmts([a, ir.SeqStmts([b, ir.SeqStmts([])]), c])) == [a, b, c]
    assert ir.flatten_to_stmts(a) == [a]


def test_substitute() -> None:
    x, y = var("x"), var("y")
    expr = x * 2 + x
    new = ir.substitute_expr(expr, [(x, y)])
    assert ir.structural_equal(new, y * 2 + y)
    assert ir.substitute_expr(expr, [(y, x)]) is expr
    stmt, names = loop()
    changed = ir.substitute_stmt(stmt, {names["n"]: y})
    assert changed.stop is y
    assert changed.iter_args[0].initValue is y
    assert changed.body[0].value.left is changed.iter_args[0]
    assert ir.substitute_stmt(stmt, [(x, y)]) is stmt


def test_deep_clone() -> None:
    stmt, names = loop()
    clone, pairs = ir.deep_clone(stmt)
    ir.assert_structural_equal(stmt, clone)
    assert [old.name_hint for old, _ in pairs] == ["i", "acc", "y", "total"]
    assert all(new is not old and new.name_hint == old.name_hint for old, new in pairs)
    assert clone.stop is names["n"]
    old_ids = {id(node) for node in walk(stmt) if isinstance(node, ir.Stmt)}
    assert not old_ids & {id(node) for node in walk(clone) if isinstance(node, ir.Stmt)}


def test_deep_clone_with_a_map() -> None:
    stmt, names = loop()
    given = var("given")
    clone, pairs = ir.deep_clone(stmt, [(names["n"], ir.index_const(7)), (names["y"], given)])
    assert clone.stop.value == 7
    assert clone.iter_args[0].initValue.value == 7
    assert clone.body[0].var is given
    assert (names["y"], given) in [(old, new) for old, new in pairs if old is names["y"]]
    with pytest.raises(TypeError):
        ir.deep_clone(ir.Program([], "p", UNKNOWN))


def test_deep_clone_of_every_kind() -> None:
    main = everything()["main"]
    clone, pairs = ir.deep_clone(main)
    ir.assert_structural_equal(main, clone, strict=True)
    assert len(pairs) == len({id(new) for _, new in pairs}) == len(main.params) + len(ir.collect_def_vars(main.body))
    old = {node for node in walk(main) if isinstance(node, ir.Var)}
    assert not [node for node in walk(clone) if isinstance(node, ir.Var) and node in old and type(node) is ir.Var]


def test_call_return_types() -> None:
    n, m, k = var("n"), var("m"), var("k")
    a, b = var("a", ir.TensorType([n, m], ir.FP32)), var("k", k.type)
    results = [ir.TensorType([m, n], ir.FP32), ir.TensorType([b], ir.FP32), TILE]
    x = var("x", ir.TensorType([4, k], ir.FP32))
    first, second, third = ir.deduce_call_return_type([a, b], [x, ir.index_const(9)], results)
    assert first.shape[0] is k
    assert first.shape[1].value == 4
    assert second.shape[0].value == 9
    assert third is TILE

    def callee(types: list[ir.Type]) -> ir.Function:
        return ir.Function("f", [a], types, ir.SeqStmts([]), UNKNOWN)

    assert isinstance(ir.call_result_type(callee([]), [x]), ir.UnknownType)
    assert ir.call_result_type(callee([TILE]), [x]) is TILE
    assert ir.call_result_type(callee([TILE, TILE]), [x]) is ir.TupleType([TILE, TILE])


def test_valid_extents_bind_too() -> None:
    n, v = var("n"), var("v")
    view = ir.TensorView(valid_shape=[v], layout=ir.TensorLayout.ND)
    a = var("a", ir.TensorType([n], ir.FP32, None, view))
    given = ir.TensorView(valid_shape=[3], layout=ir.TensorLayout.ND)
    x = var("x", ir.TensorType([8], ir.FP32, None, given))
    (made,) = ir.deduce_call_return_type([a], [x], [a.type])
    assert made is ir.TensorType([8], ir.FP32, None, given)


def test_parents() -> None:
    stmt, _ = loop()
    f = ir.Function("f", [], [], ir.SeqStmts([stmt, ir.ReturnStmt([])]), UNKNOWN)
    parents = ir.ParentStmtAnalysis()
    parents.build_map(f)
    assert parents.get_parent(stmt) is f.body
    assert parents.get_parent(stmt.body) is stmt
    assert parents.get_parent(stmt.body[0]) is stmt.body
    assert parents.get_parent(f.body) is None
    assert not parents.has_parent(f.body)
    parents.clear()
    assert not parents.has_parent(stmt)
