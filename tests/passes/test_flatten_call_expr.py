"""FlattenCallExpr: no nested calls, the same calls in the same order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from blocks import BOOL, INDEX, add, call, function, give, gt, index, let, loop, lt, mul, program, ret, seq, when
from scalar_reference import defined_once_and_dominated, has_nested_call, outcome, show

from pypto import ir, passes


def flatten(f: ir.Function, *inputs: tuple[int, ...]) -> ir.Function:
    before = program(f)
    after = passes.flatten_call_expr()(before)
    result = after["f"]
    assert result is not None
    defined_once_and_dominated(result)
    assert not has_nested_call(result)
    assert passes.flatten_call_expr()(after) is after
    for args in inputs:
        assert outcome(after, "f", *args) == outcome(before, "f", *args), args
    return result


def test_flat_code_is_returned_as_it_is() -> None:
    x, y, z = index("x", "y", "z")
    p = program(function([x], let(y, call(x, add(x, 1))), let(z, add(y, x)), ir.EvalStmt(call(z)), ret(z)))
    assert passes.flatten_call_expr()(p) is p


def test_arguments_in_order() -> None:
    x, y = index("x", "y")
    f = function([x], let(y, call(call(x, name="a"), mul(call(x, name="b"), 2), call(call(x, name="c"), name="d"))), ret(y))
    g = flatten(f, (1,), (4,))
    assert show(g.body) == (
        "y__tmp_v0 = a(x)\ny__tmp_v1 = b(x)\ny__tmp_v2 = c(x)\ny__tmp_v3 = d(y__tmp_v2)\n"
        "y = op(y__tmp_v0, (y__tmp_v1 * 2), y__tmp_v3)\nreturn y"
    )


def test_tuples_returns_and_statements() -> None:
    (x,) = index("x")
    offsets = ir.MakeTuple([call(x, name="dim"), x])
    f = function([x], ir.EvalStmt(ir.Call(ir.Op("store"), [x, offsets], INDEX)), ret(call(call(x, name="a"), name="b"), x))
    g = flatten(f)
    assert show(g.body) == (
        "call__tmp_v0 = dim(x)\nstore(x, [call__tmp_v0, x])\nret__tmp_v0 = a(x)\nret__tmp_v1 = b(ret__tmp_v0)\nreturn ret__tmp_v1, x"
    )


def bodies_of_size(count: int, x: ir.Var) -> ir.Stmt:
    return seq(*[ir.EvalStmt(call(call(x, name=f"inner{k}"), name="outer")) for k in range(count)])


BLOCKS: dict[str, Callable[[ir.Var, ir.Stmt], ir.Stmt]] = {
    "for": lambda x, body: loop(ir.Var("i", INDEX), (0, 2, 1), body),
    "then": lambda x, body: when(gt(x, 0), body),
    "else": lambda x, body: when(gt(x, 0), ir.EvalStmt(call(x)), body),
    "scope": lambda x, body: ir.RuntimeScopeStmt(body=body),
    "in core": lambda x, body: ir.InCoreScopeStmt(body=body),
}


@pytest.mark.parametrize("count", [0, 1, 2])
@pytest.mark.parametrize("block", list(BLOCKS))
def test_bodies_of_every_kind_and_size(block: str, count: int) -> None:
    # B055
    (x,) = index("x")
    flatten(function([x], BLOCKS[block](x, bodies_of_size(count, x)), ret(x)), (0,), (1,))


@pytest.mark.parametrize("count", [0, 1, 2])
def test_bodies_of_while_loops(count: int) -> None:
    x, out = index("x", "out")
    n = ir.IterArg("n", INDEX, x)
    body = seq(*[bodies_of_size(count, x)], give(add(call(n, name="down"), -100)))
    f = function([x], ir.WhileStmt(gt(n, 0), [n], body, [out]), ret(out))
    flatten(f, (0,), (3,))


def test_yields_and_returns() -> None:
    # B055
    x, i, res = index("x", "i", "res")
    acc = ir.IterArg("acc", INDEX, call(x, name="init"))
    body = give(call(call(acc, name="mul"), x, name="add"))
    f = function([x], loop(i, (0, 3, 1), body, [acc], [res]), ret(call(call(res, name="mul"), name="add")))
    g = flatten(f, (2,))
    assert show(g.body) == (
        "bound__tmp_v0 = init(x)\n"
        "for i in 0, 3, 1 [acc = bound__tmp_v0] -> res:\n"
        "  yield__tmp_v0 = mul(acc)\n  yield__tmp_v1 = add(yield__tmp_v0, x)\n  yield yield__tmp_v1\n"
        "ret__tmp_v0 = mul(res)\nret__tmp_v1 = add(ret__tmp_v0)\nreturn ret__tmp_v1"
    )


def test_conditions_and_bounds() -> None:
    x, i, r = index("x", "i", "r")
    branch = when(gt(call(x, name="c"), 3), give(call(x, name="t")), give(1), [r])
    f = function([x], loop(i, (call(x, name="a"), call(x, name="b"), 1), ir.EvalStmt(call(i))), branch, ret(r))
    g = flatten(f, (0,), (1,))
    assert show(g.body).splitlines()[:3] == [
        "bound__tmp_v0 = a(x)",
        "bound__tmp_v1 = b(x)",
        "for i in bound__tmp_v0, bound__tmp_v1, 1:",
    ]
    assert "cond__tmp_v0 = c(x)\nif (cond__tmp_v0 > 3) -> r:" in show(g.body)


def test_what_and_or_guard_is_evaluated_only_when_it_was() -> None:
    x, r = index("x", "r")
    for group, spelled in ((ir.And, "yield False"), (ir.Or, "yield True")):
        condition = group(gt(x, 0), lt(call(x, name="guarded"), 5), BOOL)
        f = function([x], when(condition, give(1), give(2), [r]), ret(r))
        g = flatten(f, (0,), (1,), (9,))
        assert spelled in show(g.body)
    left = ir.And(gt(call(x, name="left"), 0), gt(x, 0), BOOL)
    g = flatten(function([x], when(left, give(1), give(2), [r]), ret(r)), (0,), (1,))
    assert show(g.body).startswith("cond__tmp_v0 = left(x)\nif ((cond__tmp_v0 > 0) and (x > 0)) -> r:")


def test_the_condition_of_a_while_becomes_a_carried_flag() -> None:
    x, out = index("x", "out")
    n = ir.IterArg("n", INDEX, x)
    f = function([x], ir.WhileStmt(gt(call(n, name="read"), 0), [n], give(add(n, -5)), [out]), ret(out))
    g = flatten(f, (-9,), (0,), (30,))
    assert show(g.body) == (
        "cond__tmp_v0 = read(x)\n"
        "while while__go_iter_v0 [n = x] [while__go_iter_v0 = (cond__tmp_v0 > 0)] -> out -> while__go_rv_v1:\n"
        "  cond__tmp_v1 = read((n + -5))\n  yield (n + -5), (cond__tmp_v1 > 0)\nreturn out"
    )


def test_a_while_with_jumps_keeps_them() -> None:
    (x,) = index("x")
    n = ir.Var("n", INDEX)
    body = seq(let(n, add(n, -2)), when(gt(n, 40), ir.ContinueStmt()), let(n, add(n, -1)), when(lt(n, -50), ir.BreakStmt()))
    before = program(function([x], let(n, x), ir.WhileStmt(gt(call(n, name="read"), -30), [], body, []), ret(n)))
    after = passes.flatten_call_expr()(before)
    f = after["f"]
    assert f is not None
    assert not has_nested_call(f)
    for x0 in (-40, 0, 50):
        assert outcome(after, "f", x0) == outcome(before, "f", x0)


def test_calls_in_attributes() -> None:
    (x,) = index("x")
    launch = ir.Call(ir.GlobalVar("k"), [x], {}, {"device": call(x, name="rank")}, INDEX, ir.Span.unknown())
    g = flatten(function([x], ir.EvalStmt(launch), ret(x)))
    first, second, _ = g.body.stmts
    assert show(first) == "call__tmp_v0 = rank(x)"
    assert second.expr.attrs["device"] is first.var


def test_operands_of_scopes() -> None:
    (x,) = index("x")
    scope = ir.SpmdScopeStmt(call(x, name="cores"), body=ir.EvalStmt(call(x)))
    g = flatten(function([x], scope, ret(x)))
    first, second, _ = g.body.stmts
    assert second.core_num is first.var


def test_comments_places_and_names() -> None:
    x, y, taken = index("x", "y", "y__tmp_v0")
    f = function([x], let(taken, 1), let(y, call(call(x, name="a")), "why", line=5), ret(add(y, taken)))
    g = flatten(f, (2,))
    text = show(g.body)
    assert "# why\ny__tmp_v1 = a(x)\ny = op(y__tmp_v1)" in text
    assert g.body.stmts[1].span.begin_line == 5


def test_long_chains_with_calls() -> None:
    x, y = index("x", "y")
    chain: Any = x
    for _ in range(5_000):
        chain = ir.Add(chain, call(x), ir.DataType.INDEX)
    g = passes.flatten_call_expr()(program(function([x], let(y, chain), ret(y))))["f"]
    assert g is not None
    assert len(g.body.stmts) == 5_002
