"""UnrollLoops."""

from __future__ import annotations

import pytest
from blocks import INDEX, add, call, const, function, give, index, let, loop, mul, program, ret, seq, unroll
from scalar_reference import defined_once_and_dominated, outcome, show

import pypto.language as pl
from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.testing import assert_roundtrip


def unrolled(f: ir.Function) -> ir.Function:
    result = passes.unroll_loops()(program(f))["f"]
    assert result is not None
    return result


@pytest.mark.parametrize(
    "bounds", [(0, 4, 1), (3, 0, -1), (9, -1, -3), (0, 10, 3), (5, 5, 1), (0, 5, -1), (-4, 5, 4), (2, -2, -5), (0, 1, 100)]
)
def test_one_copy_for_each_value(bounds: tuple[int, int, int]) -> None:
    # B059
    x, i = index("x", "i")
    f = function([x], unroll(i, bounds, let(x, add(mul(x, 10), i))), ret(x))
    g = unrolled(f)
    expected = [f"x = ((x * 10) + {v})" for v in range(*bounds)]
    assert show(g.body).splitlines() == [*expected, "return x"]


def test_other_loops_are_left_alone() -> None:
    x, i = index("x", "i")
    p = program(function([x], loop(i, (0, 3, 1), let(x, add(x, i))), ret(x)))
    assert passes.unroll_loops()(p) is p


def test_nested_loops_and_other_loops_inside() -> None:
    x, i, j, k = index("x", "i", "j", "k")
    inner = unroll(j, (0, 2, 1), let(x, add(mul(x, 3), add(i, j))))
    body = seq(inner, loop(k, (0, i, 1), unroll(j, (5, 7, 1), let(x, add(x, add(j, k))))))
    f = function([x], unroll(i, (1, 3, 1), body), ret(x))
    g = unrolled(f)
    assert "for k in 0, 2, 1:" in show(g.body)
    assert outcome(program(g), "f", 2) == outcome(program(f), "f", 2)


def test_bounds_may_be_computed_from_constants() -> None:
    x, i = index("x", "i")
    f = function([x], unroll(i, (0, mul(const(2), const(2)), 1), let(x, add(x, i))), ret(x))
    assert len(unrolled(f).body.stmts) == 5


def test_a_function_in_ssa_form_stays_in_it() -> None:
    x, i, t, out = index("x", "i", "t", "out")
    acc = ir.IterArg("acc", INDEX, x)
    body = seq(let(t, call(acc, i)), give(add(t, acc)))
    f = function([x], unroll(i, (0, 3, 1), body, iter_args=[acc], results=[out]), ret(out))
    g = unrolled(f)
    defined_once_and_dominated(g)
    assert outcome(program(g), "f", 2) == outcome(program(f), "f", 2)
    assert show(g.body).splitlines()[-2:] == ["out = (t + (t + (t + x)))", "return out"]


def test_copies_share_no_statement() -> None:
    x, y, i = index("x", "y", "i")
    g = unrolled(function([x], unroll(i, (0, 3, 1), let(y, add(x, 1))), ret(y)))
    assert len({id(s) for s in g.body.stmts}) == 4


def test_an_assigned_loop_variable_is_set_in_each_copy() -> None:
    x, i = index("x", "i")
    f = function([x], unroll(i, (0, 2, 1), seq(let(i, add(i, x)), let(x, add(x, i)))), ret(x))
    g = unrolled(f)
    assert show(g.body).splitlines()[:2] == ["i = 0", "i = (i + x)"]
    assert outcome(program(g), "f", 2) == outcome(program(f), "f", 2)


def test_comments_and_types() -> None:
    x = index("x")[0]
    i = ir.Var("i", ir.ScalarType(ir.DataType.INT32))
    body = ir.attach_trailing_comments(let(x, call(i), "body"), ["tail"])
    g = unrolled(function([x], ir.attach_leading_comments(unroll(i, (0, 2, 1), body), ["head"]), ret(x)))
    assert show(g.body) == "# head\n# body\nx = op(0)\n# tail\n# body\nx = op(1)\n# tail\nreturn x"
    assert g.body.stmts[0].value.args[0].dtype is ir.DataType.INT32


def test_refusals_have_a_place() -> None:
    x, n, i = index("x", "n", "i")
    body = let(x, add(x, i))
    for bounds, words in [
        ((0, n, 1), "the stop of an unrolled loop must be a constant"),
        ((n, 4, 1), "the start of an unrolled loop must be a constant"),
        ((0, 4, n), "the step of an unrolled loop must be a constant"),
        ((0, 4, 0), "the step of an unrolled loop must not be 0"),
        ((0, 10**9, 1), "unrolled loop of 1000000000 iterations is too long"),
    ]:
        with pytest.raises(InvalidValueError, match=words) as caught:
            unrolled(function([x, n], unroll(i, bounds, body, line=7), ret(x)))
        assert caught.value.span["line"] == 7


def test_a_branch_result_that_is_assigned_again_is_one_variable_in_each_copy() -> None:
    text = """# pypto.function: f
import pypto.language as pl


@pl.function
def f(c: pl.Scalar[pl.BOOL], n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    total: pl.Scalar[pl.INDEX] = n
    for i in pl.unroll(3):
        if c:
            v: pl.Scalar[pl.INDEX] = pl.yield_(i)
        else:
            v: pl.Scalar[pl.INDEX] = pl.yield_(n)
        v: pl.Scalar[pl.INDEX] = v + 1
        total: pl.Scalar[pl.INDEX] = total + v
    return total
"""
    made = passes.unroll_loops()(ir.Program([pl.parse(text)], "P"))
    assert_roundtrip(made)
    assert made(True, 10) == 10 + 1 + 2 + 3
    assert made(False, 10) == 10 + 3 * 11
