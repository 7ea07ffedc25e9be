"""CtrlFlowTransform: break and continue as branches and conditions."""

from __future__ import annotations

import itertools

import pytest
from blocks import (
    INDEX,
    INT32,
    add,
    call,
    const,
    eq,
    function,
    ge,
    give,
    gt,
    index,
    let,
    loop,
    lt,
    mul,
    program,
    ret,
    seq,
    sub,
    when,
)
from scalar_reference import defined_once_and_dominated, outcome, show

from pypto import ir, passes
from pypto.diagnostics import InvalidValueError


def transform(f: ir.Function, *inputs: tuple[int, ...]) -> ir.Function:
    before = program(f)
    after = passes.ctrl_flow_transform()(before)
    result = after["f"]
    assert result is not None
    assert "BreakStmt" not in show(result.body)
    assert "ContinueStmt" not in show(result.body)
    assert passes.ctrl_flow_transform()(after) is after
    in_ssa = passes.convert_to_ssa()(after)
    defined_once_and_dominated(in_ssa["f"])
    for args in inputs:
        expected = outcome(before, "f", *args)
        assert outcome(after, "f", *args) == expected, args
        assert outcome(in_ssa, "f", *args) == expected, args
    return result


def test_without_jumps_nothing_changes() -> None:
    x, i = index("x", "i")
    p = program(function([x], loop(i, (0, 3, 1), let(x, add(x, i))), ret(x)))
    assert passes.ctrl_flow_transform()(p) is p


def test_what_follows_a_continue_moves_into_the_other_branch() -> None:
    # B058
    x, s, i, v, w = index("x", "s", "i", "v", "w")
    body = seq(let(v, call(x, i)), when(lt(v, 0), ir.ContinueStmt()), let(w, mul(v, 2)), let(s, add(s, w)))
    f = function([x], let(s, 0), loop(i, (0, 8, 1), body), ret(s))
    g = transform(f, (1,), (-9,))
    assert show(g.body) == (
        "s = 0\nfor i in 0, 8, 1:\n  v = op(x, i)\n  if not((v < 0)):\n    w = (v * 2)\n    s = (s + w)\nreturn s"
    )


def test_a_break_becomes_a_while_that_counts() -> None:
    x, s, i = index("x", "s", "i")
    f = function([x], let(s, 0), loop(i, (0, 9, 2), seq(when(gt(i, x), ir.BreakStmt()), let(s, add(s, i)))), ret(s))
    g = transform(f, (0,), (5,), (100,))
    assert show(g.body) == (
        "s = 0\ni = 0\ni__go_tmp_v0 = (i < 9)\nwhile i__go_tmp_v0:\n"
        "  if (i > x):\n    i__go_tmp_v0 = False\n  else:\n    s = (s + i)\n"
        "  if i__go_tmp_v0:\n    i = (i + 2)\n    i__go_tmp_v0 = (i < 9)\nreturn s"
    )


@pytest.mark.parametrize("step", [3, 2, 1, -1, -2, -3])
@pytest.mark.parametrize("symbolic", [False, True])
def test_every_direction_and_span(step: int, symbolic: bool) -> None:
    # B059
    start, stop, stride, limit, s, i = index("start", "stop", "stride", "limit", "s", "i")
    body = seq(when(gt(s, limit), ir.BreakStmt()), let(s, add(mul(s, 10), i)))
    by = stride if symbolic else const(step)
    f = function([start, stop, stride, limit], let(s, 0), loop(i, (start, stop, by), body), ret(s))
    inputs = [(a, b, step, c) for a, b in itertools.product((-2, 0, 3, 9), repeat=2) for c in (5, 10**9)]
    transform(f, *inputs)


def test_bounds_keep_the_value_they_had() -> None:
    n, s, i = index("n", "s", "i")
    body = seq(when(gt(s, 50), ir.BreakStmt()), let(n, sub(n, 1)), let(s, add(s, i)))
    f = function([n], let(s, 0), loop(i, (0, n, 1), body), ret(add(s, n)))
    g = transform(f, (4,), (30,), (0,))
    assert "i__stop_tmp_v0 = n" in show(g.body)


def test_a_body_that_assigns_the_loop_variable() -> None:
    x, s, i = index("x", "s", "i")
    body = seq(let(i, mul(i, 10)), when(gt(s, 40), ir.BreakStmt()), let(s, add(s, i)))
    transform(function([x], let(s, x), loop(i, (0, 9, 1), body), ret(s)), (0,), (41,), (-200,))


def test_jumps_on_both_sides_and_in_the_middle_of_branches() -> None:
    x, s, i = index("x", "s", "i")
    inner = when(eq(i, 2), ir.ContinueStmt(), when(eq(i, 5), ir.BreakStmt(), let(s, add(s, 1))))
    body = seq(
        when(gt(x, 0), seq(let(s, add(s, 10)), inner, let(s, add(s, 100))), let(s, sub(s, 1))),
        let(s, add(s, 1000)),
        when(ge(s, 9000), seq(let(s, 0), ir.ContinueStmt()), when(gt(s, 8000), ir.BreakStmt())),
        let(s, add(s, 7)),
    )
    f = function([x], let(s, 0), loop(i, (0, 12, 1), body), ret(s))
    g = transform(f, (0,), (1,))
    assert "i__skip_tmp_v0" in show(g.body)


def test_statements_after_a_jump_are_dropped() -> None:
    x, i = index("x", "i")
    f = function([x], loop(i, (0, 4, 1), seq(let(x, add(x, 1)), ir.ContinueStmt(), let(x, 0))), ret(x))
    g = transform(f, (3,))
    assert show(g.body) == "for i in 0, 4, 1:\n  x = (x + 1)\nreturn x"


def test_nested_loops_have_their_own_jumps() -> None:
    x, s, i, j = index("x", "s", "i", "j")
    inner = loop(j, (0, 5, 1), seq(when(gt(j, i), ir.BreakStmt()), when(eq(j, 1), ir.ContinueStmt()), let(s, add(s, j))))
    body = seq(inner, when(gt(s, x), ir.BreakStmt()), let(s, add(s, 10)))
    transform(function([x], let(s, 0), loop(i, (0, 6, 1), body), ret(s)), (0,), (25,), (1000,))


def test_the_condition_of_a_while_is_not_evaluated_after_a_break() -> None:
    x, s = index("x", "s")
    body = seq(let(s, add(s, 1)), when(gt(s, 3), ir.BreakStmt()), when(eq(s, 2), ir.ContinueStmt()), let(x, sub(x, 1)))
    f = function([x], let(s, 0), ir.WhileStmt(gt(call(x, s), 0), [], body, []), ret(add(mul(x, 10), s)))
    transform(f, (-50,), (1,), (50,))


def test_jumps_in_scopes() -> None:
    x, s, i = index("x", "s", "i")
    scope = ir.RuntimeScopeStmt(body=seq(when(eq(i, 1), ir.ContinueStmt()), let(s, add(s, i))))
    body = seq(scope, let(s, add(s, 100)), when(gt(s, x), ir.BreakStmt()))
    transform(function([x], let(s, 0), loop(i, (0, 5, 1), body), ret(s)), (0,), (150,), (1000,))


def test_carried_values() -> None:
    # a break leaves the results as the values carried into the iteration; a swap stays a swap
    x, n, i, p, q = index("x", "n", "i", "p", "q")
    a, b = ir.IterArg("a", INDEX, x), ir.IterArg("b", INDEX, n)
    body = seq(when(gt(a, 20), ir.BreakStmt()), when(eq(i, 1), ir.ContinueStmt()), give(add(b, 3), a))
    f = function([x, n], loop(i, (0, 7, 1), body, [a, b], [p, q]), ret(add(mul(p, 100), q)))
    transform(f, (1, 2), (15, 0), (30, 1))


def test_branch_results_beside_a_jump() -> None:
    x, s, i, r = index("x", "s", "i", "r")
    branch = when(gt(i, x), seq(let(s, add(s, 100)), ir.BreakStmt()), seq(let(s, add(s, 1)), give(mul(i, 2))), [r])
    f = function([x], let(s, 0), loop(i, (0, 6, 1), seq(branch, let(s, add(s, r)))), ret(s))
    transform(f, (0,), (3,), (100,))


def test_comments_stay() -> None:
    x, i = index("x", "i")
    stop = ir.attach_leading_comments(ir.BreakStmt(), ["enough"])
    body = seq(when(gt(x, 5), stop), let(x, add(x, 1), "one more"))
    head = ir.attach_leading_comments(loop(i, (0, 9, 1), body), ["count"])
    g = transform(function([x], head, ret(x)), (0,))
    text = show(g.body)
    assert text.startswith("# count\ni = 0")
    assert "    # enough\n    i__go_tmp_v0 = False" in text
    assert "    # one more\n    x = (x + 1)" in text
    skip = ir.attach_leading_comments(ir.ContinueStmt(), ["not this"])
    g = transform(function([x], loop(i, (0, 9, 1), seq(when(gt(x, 5), skip), let(x, add(x, 1)))), ret(x)), (0,))
    assert "# not this" in show(g.body.stmts[0].body)


def test_a_counter_of_another_type() -> None:
    (x,) = index("x")
    i = ir.Var("i", INT32)
    bounds = [ir.ConstInt(k, ir.DataType.INT32) for k in (0, 9, 2)]
    s = ir.Var("s", INT32)
    body = seq(when(gt(i, ir.ConstInt(5, ir.DataType.INT32)), ir.BreakStmt()), let(s, i))
    f = function([x], let(s, bounds[0]), ir.ForStmt(i, *bounds, [], body, []), ir.ReturnStmt([s]))
    g = transform(f, (0,))
    advance = g.body.stmts[3].body.stmts[1].then_body.stmts[0]
    assert advance.value.type is INT32


def test_refusals() -> None:
    x, i = index("x", "i")
    body = seq(when(gt(x, 5), ir.BreakStmt()), let(x, add(x, 1)))
    with pytest.raises(InvalidValueError, match="break cannot leave a loop of kind Pipeline") as caught:
        transform(function([x], loop(i, (0, 4, 1), body, kind=ir.ForKind.Pipeline, line=3), ret(x)))
    assert caught.value.span["line"] == 3
    with pytest.raises(InvalidValueError, match="step of a loop must not be 0"):
        transform(function([x], loop(i, (0, 4, 0), body), ret(x)))
    marked = ir.ForStmt(i, 0, 4, 1, [], body, [], attrs={"x": 1})
    with pytest.raises(InvalidValueError, match="loop with attributes"):
        transform(function([x], marked, ret(x)))
