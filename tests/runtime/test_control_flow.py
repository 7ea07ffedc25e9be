"""Loops and branches, in SSA form and not."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto.ir.expr import IterArg, Var
from pypto.runtime import RunError, compile_function, run
from tests.runtime.building import BOOL, INDEX, INT32, Body, Out, call, load, number, scalar, tensor


def index(value: int) -> ir.Expr:
    return number(value, INDEX)


def int32(value: int) -> ir.Expr:
    return number(value, INT32)


@pytest.mark.parametrize(
    ("start", "stop", "step"),
    [(0, 5, 1), (0, 0, 1), (5, 0, 1), (9, -1, -3), (3, 0, -1), (0, 10, 3), (0, 10, 20), (-4, 4, 3), (4, -4, -5), (0, 5, -1)],
)
def test_a_loop_visits_what_a_python_range_does(start: int, stop: int, step: int) -> None:
    i = Var("i", scalar(INDEX))
    acc = IterArg("acc", scalar(INDEX), index(0))
    total = Var("total", scalar(INDEX))
    step_value = ir.YieldStmt([ir.Add(ir.Mul(acc, index(31), INDEX), i, INDEX)])
    body = Body()
    body.add(ir.ForStmt(i, index(start), index(stop), index(step), [acc], step_value, [total]))
    body.give(total)
    expected = 0
    for at in range(start, stop, step):
        expected = expected * 31 + at
    assert run(body.function("f", [])) == expected


def test_counting_down_with_a_break_and_plain_variables() -> None:
    x = Var("x", tensor([10], INT32))
    s, v = Var("s", scalar(INT32)), Var("v", scalar(INT32))
    i, j = Var("i", scalar(INDEX)), Var("j", scalar(INDEX))
    first = Body()
    first.let(v, call("tensor.read", x, [i]))
    first.add(ir.IfStmt(ir.Gt(v, int32(100), BOOL), ir.BreakStmt(), None, []))
    first.let(s, ir.Add(s, v, INT32))
    second = Body()
    second.let(s, ir.Add(s, ir.Cast(j, INT32), INT32))
    body = Body()
    body.let(s, int32(0))
    body.add(ir.ForStmt(i, index(9), index(-1), index(-3), [], first.stmt, []))
    body.add(ir.ForStmt(j, index(3), index(0), index(-1), [], second.stmt, [], kind=ir.ForKind.Unroll))
    body.give(s)
    f = body.function("f", [x])
    assert run(f, np.arange(10, dtype=np.int32)) == (9 + 6 + 3 + 0) + (3 + 2 + 1)
    values = np.arange(10, dtype=np.int32)
    values[3] = 101
    assert run(f, values) == (9 + 6) + (3 + 2 + 1)


def test_continue() -> None:
    s, i = Var("s", scalar(INDEX)), Var("i", scalar(INDEX))
    inner = Body()
    inner.add(ir.IfStmt(ir.Eq(ir.FloorMod(i, index(3), INDEX), index(0), BOOL), ir.ContinueStmt(), None, []))
    inner.let(s, ir.Add(s, i, INDEX))
    body = Body()
    body.let(s, index(0))
    body.add(ir.ForStmt(i, 0, 10, 1, [], inner.stmt, []))
    body.give(s)
    assert run(body.function("f", [])) == sum(k for k in range(10) if k % 3)


def test_a_loop_with_step_zero_is_an_error() -> None:
    n = Var("n", scalar(INDEX))
    body = Body()
    body.add(ir.ForStmt(Var("i", scalar(INDEX)), index(0), index(3), n, [], ir.SeqStmts([]), []))
    f = body.function("f", [n])
    with pytest.raises(RunError, match="step of a loop is zero"):
        run(f, 0)


def test_carried_values_change_all_at_once() -> None:
    a, b = IterArg("a", scalar(INDEX), index(0)), IterArg("b", scalar(INDEX), index(1))
    x, y = Var("x", scalar(INDEX)), Var("y", scalar(INDEX))
    body = Body()
    body.add(ir.ForStmt(Var("i", scalar(INDEX)), 0, 10, 1, [a, b], ir.YieldStmt([b, ir.Add(a, b, INDEX)]), [x, y]))
    body.give(x, y)
    assert run(body.function("fibonacci", [])) == (55, 89)


def test_a_loop_that_carries_a_tile() -> None:
    x, o = Var("x", tensor([4, 32])), Var("o", tensor([4, 32]))
    body = Body()
    t = body.let("t", load(x, [0, 0], [4, 32]))
    acc = IterArg("acc", t.type, t)
    inner = Body()
    inner.add(ir.YieldStmt([inner.let("n", call("tile.add", acc, t))]))
    out = Var("out", t.type)
    body.add(ir.ForStmt(Var("i", scalar(INDEX)), 0, 3, 1, [acc], inner.stmt, [out]))
    body.give(body.let("s", call("tile.store", out, [0, 0], o)))
    values = np.arange(128, dtype=np.float32).reshape(4, 32)
    np.testing.assert_array_equal(run(body.function("f", [x, (o, Out)]), values), values * 4)


def test_a_loop_that_carries_the_tensor_it_writes() -> None:
    x, o = Var("x", tensor([4, 32])), Var("o", tensor([4, 32]))
    i = Var("i", scalar(INDEX))
    acc = IterArg("acc", o.type, o)
    inner = Body()
    t = inner.let("t", load(x, [i, 0], [1, 32]))
    inner.add(ir.YieldStmt([inner.let("s", call("tile.store", t, [ir.Sub(index(3), i, INDEX), 0], acc))]))
    out = Var("out", o.type)
    body = Body()
    body.add(ir.ForStmt(i, 0, 4, 1, [acc], inner.stmt, [out]))
    body.give(out)
    values, given = np.arange(128, dtype=np.float32).reshape(4, 32), np.zeros((4, 32), np.float32)
    assert run(body.function("f", [x, (o, Out)]), values, given) is given
    np.testing.assert_array_equal(given, values[::-1])


def test_while_with_carried_values() -> None:
    n = Var("n", scalar(INDEX))
    a, steps = IterArg("a", scalar(INDEX), n), IterArg("steps", scalar(INDEX), index(0))
    last, count = Var("last", scalar(INDEX)), Var("count", scalar(INDEX))
    half = Body()
    odd = ir.Eq(ir.FloorMod(a, index(2), INDEX), index(1), BOOL)
    nxt = Var("nxt", scalar(INDEX))
    up = ir.YieldStmt([ir.Add(ir.Mul(a, index(3), INDEX), index(1), INDEX)])
    half.add(ir.IfStmt(odd, up, ir.YieldStmt([ir.FloorDiv(a, index(2), INDEX)]), [nxt]))
    half.add(ir.YieldStmt([nxt, ir.Add(steps, index(1), INDEX)]))
    body = Body()
    body.add(ir.WhileStmt(ir.Ne(a, index(1), BOOL), [a, steps], half.stmt, [last, count]))
    body.give(count)
    f = body.function("collatz", [n])
    assert [int(run(f, v)) for v in (1, 6, 27)] == [0, 8, 111]


def test_while_whose_condition_needs_lines_of_its_own() -> None:
    n, s = Var("n", scalar(INDEX)), Var("s", scalar(INDEX))
    deep: ir.Expr = s
    for _ in range(60):
        deep = ir.Add(deep, index(0), INDEX)
    body = Body()
    body.let(s, index(0))
    step = Body()
    step.let(s, ir.Add(s, index(2), INDEX))
    body.add(ir.WhileStmt(ir.Lt(deep, n, BOOL), [], step.stmt, []))
    body.give(s)
    assert [int(run(body.function("f", [n]), v)) for v in (0, 1, 7)] == [0, 2, 8]


def test_branches_with_and_without_results() -> None:
    c, x = Var("c", scalar(BOOL)), Var("x", scalar(INT32))
    y, z = Var("y", scalar(INT32)), Var("z", scalar(INT32))
    body = Body()
    body.add(ir.IfStmt(c, ir.YieldStmt([ir.Add(x, int32(1), INT32)]), ir.YieldStmt([int32(-1)]), [y]))
    then, other = Body(), Body()
    then.let(z, int32(10))
    other.let(z, int32(20))
    body.add(ir.IfStmt(ir.Gt(y, int32(0), BOOL), then.stmt, other.stmt, []))
    body.give(ir.Add(y, z, INT32))
    f = body.function("f", [c, x])
    assert run(f, True, 4) == 15
    assert run(f, False, 4) == 19


def test_a_variable_without_a_value_is_named() -> None:
    c, z = Var("c", scalar(BOOL)), Var("zeta", scalar(INT32))
    then = Body()
    then.let(z, int32(10))
    body = Body()
    body.add(ir.IfStmt(c, then.stmt, None, []))
    body.give(z)
    f = body.function("f", [c])
    assert run(f, True) == 10
    with pytest.raises(RunError, match="'zeta' has no value here") as caught:
        run(f, False)
    assert caught.value.statement is body.stmts[-1]


def test_names_that_python_reserves() -> None:
    names = ["class", "range", "_t", "a b", "1x", "x", "x", "print", "None", "lambda"]
    variables = [Var(n, scalar(INT32)) for n in names]
    total: ir.Expr = int32(0)
    for at, variable in enumerate(variables):
        total = ir.Add(total, ir.Mul(variable, int32(10 + at), INT32), INT32)
    f = Body()
    f.add(ir.ForStmt(Var("range", scalar(INDEX)), 0, 2, 1, [], ir.SeqStmts([]), []))
    f.give(total)
    values = list(range(1, len(names) + 1))
    assert run(f.function("def", variables), *values) == sum(v * (10 + k) for k, v in enumerate(values))


def nested(depth: int, ssa: bool, kinds: int = 1) -> ir.Function:
    """``depth`` loops of one or two turns inside one another, the innermost counting its visits; every third a branch."""
    n = Var("n", scalar(INDEX))
    count = Var("count", scalar(INDEX))
    if not ssa:
        inner = Body()
        inner.let(count, ir.Add(count, index(1), INDEX))
        stmt = inner.stmt
        for level in range(depth):
            turns = index(2) if level in (3, depth - 1) else index(1)
            if kinds > 1 and level % 3 == 1:
                stmt = ir.IfStmt(ir.Gt(n, index(0), BOOL), stmt, None, [])
            else:
                stmt = ir.ForStmt(Var(f"i{level}", scalar(INDEX)), index(0), turns, index(1), [], stmt, [])
        body = Body()
        body.let(count, n)
        body.add(stmt)
        body.give(count)
        return body.function("f", [n])
    arg: ir.Expr = n
    args = []
    for level in range(depth):
        arg = IterArg(f"a{level}", scalar(INDEX), arg)
        args.append(arg)
    value: ir.Stmt = ir.YieldStmt([ir.Add(arg, index(1), INDEX)])
    result = Var("r", scalar(INDEX))
    for level in reversed(range(depth)):
        loop = ir.ForStmt(
            Var(f"i{level}", scalar(INDEX)),
            index(0),
            index(2) if level in (3, depth - 1) else index(1),
            index(1),
            [args[level]],
            value,
            [result],
        )
        value = ir.SeqStmts([loop, ir.YieldStmt([result])])
        outer, result = result, Var("r", scalar(INDEX))
    body = Body()
    body.add(loop)
    body.give(outer)
    return body.function("f", [n])


@pytest.mark.parametrize("depth", [20, 21, 50, 90])
@pytest.mark.parametrize("ssa", [True, False])
def test_deeply_nested_loops(depth: int, ssa: bool) -> None:
    assert run(nested(depth, ssa), 100) == 104


def test_deeply_nested_loops_and_branches() -> None:
    f = nested(90, False, kinds=2)
    assert run(f, 5) == 5 + 2 ** sum(level in (3, 89) and level % 3 != 1 for level in range(90))
    assert run(f, 0) == 0


def test_returning_out_of_deeply_nested_loops() -> None:
    n = Var("n", scalar(INDEX))
    loops = [Var(f"i{k}", scalar(INDEX)) for k in range(40)]
    last = loops[-1]
    stmt: ir.Stmt = ir.IfStmt(ir.Eq(last, n, BOOL), ir.ReturnStmt([ir.Mul(last, index(10), INDEX)]), None, [])
    for var in reversed(loops):
        stmt = ir.ForStmt(var, index(0), index(3) if var is last else index(1), index(1), [], stmt, [])
    body = Body()
    body.add(stmt)
    body.give(index(-1))
    f = body.function("f", [n])
    assert [int(run(f, v)) for v in (0, 2, 3)] == [0, 20, -1]
    assert "_part1" in compile_function(f).source


def test_breaking_out_of_a_deep_loop_leaves_only_that_loop() -> None:
    count = Var("count", scalar(INDEX))
    inner = Body()
    inner.let(count, ir.Add(count, index(1), INDEX))
    inner.add(ir.BreakStmt())
    stmt: ir.Stmt = inner.stmt
    for level in range(30):
        stmt = ir.ForStmt(Var(f"i{level}", scalar(INDEX)), 0, 2 if level < 4 else 1, 1, [], stmt, [])
    body = Body()
    body.let(count, index(0))
    body.add(stmt)
    body.give(count)
    assert run(body.function("f", [])) == 8


def test_transparent_scopes_run_in_place() -> None:
    x = Var("x", tensor([4, 32]))
    inner = Body()
    y = inner.let("y", call("tensor.add", x, x))
    body = Body()
    body.add(ir.RuntimeScopeStmt(body=ir.InCoreScopeStmt(body=inner.stmt)))
    body.give(y)
    values = np.ones((4, 32), np.float32)
    np.testing.assert_array_equal(run(body.function("f", [x]), values), values * 2)


def test_what_cannot_be_run_is_refused_by_name() -> None:
    body = Body()
    body.add(ir.SpmdScopeStmt(2, body=ir.SeqStmts([])))
    with pytest.raises(RunError, match="a SpmdScopeStmt cannot be run"):
        run(body.function("f", []))
    other = Body()
    other.add(ir.InlineStmt("print(1)"))
    with pytest.raises(RunError, match="a InlineStmt cannot be run"):
        run(other.function("f", []))


def test_tuples() -> None:
    x = Var("x", tensor([2, 32]))
    body = Body()
    pair = body.let("pair", ir.MakeTuple([x, number(3, INT32)]))
    body.give(call("tensor.add", ir.TupleGetItemExpr(pair, 0), x), ir.TupleGetItemExpr(pair, 1))
    first, second = run(body.function("f", [x]), np.ones((2, 32), np.float32))
    np.testing.assert_array_equal(first, np.full((2, 32), 2))
    assert second == 3
