"""Elements that nobody wrote: they may travel, but not reach a result, a branch, an index or a bound."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto.ir.expr import Var
from pypto.runtime import PoisonError, run
from tests.runtime.building import BOOL, FP32, INDEX, INT32, Body, Out, call, call_function, load, number, program, scalar, tensor


def fresh(body: Body, shape, dtype=FP32) -> Var:
    return body.let("buf", call("tensor.create", shape, dtype=dtype, layout=ir.TensorLayout.ND))


def test_a_fresh_tensor_may_not_be_returned() -> None:
    body = Body()
    body.give(fresh(body, [4, 8]))
    with pytest.raises(PoisonError, match="'buf' of 'f' holds elements that were never written") as caught:
        run(body.function("f", []))
    assert caught.value.variable == "buf"
    assert caught.value.element == (0, 0)
    assert caught.value.statement is body.stmts[-1]
    assert isinstance(caught.value, ValueError)


def test_the_first_bad_element_is_named() -> None:
    part = Var("part", tensor([2, 8]))
    body = Body()
    t = body.let("t", load(part, [0, 0], [2, 8]))
    body.give(body.let("s", call("tile.store", t, [0, 0], fresh(body, [4, 8]))))
    with pytest.raises(PoisonError) as caught:
        run(body.function("f", [part]), np.ones((2, 8), np.float32))
    assert caught.value.element == (2, 0)
    assert "element [2, 0] is the first of 16" in str(caught.value)


def test_a_fresh_tensor_that_is_filled_is_fine() -> None:
    part = Var("part", tensor([2, 8]))
    body = Body()
    t = body.let("t", load(part, [0, 0], [2, 8]))
    half = body.let("half", call("tile.store", t, [0, 0], fresh(body, [4, 8])))
    body.give(body.let("all", call("tile.store", t, [2, 0], half)))
    x = np.arange(16, dtype=np.float32).reshape(2, 8)
    np.testing.assert_array_equal(run(body.function("f", [part]), x), np.concatenate([x, x]))


def test_poison_is_loaded_computed_with_stored_and_overwritten() -> None:
    x = Var("x", tensor([4, 8]))
    body = Body()
    buf = fresh(body, [4, 8])
    bad = body.let("bad", load(buf, [0, 0], [4, 8]))
    worse = body.let("worse", call("tile.exp", call("tile.add", bad, bad)))
    stored = body.let("stored", call("tile.store", worse, [0, 0], buf))
    good = body.let("good", load(x, [0, 0], [4, 8]))
    body.give(body.let("clean", call("tile.store", good, [0, 0], stored)))
    values = np.ones((4, 8), np.float32)
    np.testing.assert_array_equal(run(body.function("f", [x]), values), values)


def test_poison_spreads_element_by_element() -> None:
    x = Var("x", tensor([1, 8]))
    body = Body()
    buf = fresh(body, [2, 8])
    t = body.let("t", load(x, [0, 0], [1, 8]))
    buf = body.let("buf2", call("tile.store", t, [1, 0], buf))
    whole = body.let("whole", call("tensor.add", buf, buf))
    body.give(body.let("row", call("tensor.slice", whole, [1, 8], [1, 0])))
    values = np.full((1, 8), 3, np.float32)
    np.testing.assert_array_equal(run(body.function("f", [x]), values), values * 2)
    body.stmts.pop()
    body.give(whole)
    with pytest.raises(PoisonError) as caught:
        run(body.function("g", [x]), values)
    assert caught.value.element == (0, 0)


def test_a_reduction_over_poison_is_poison_in_that_row_only() -> None:
    x = Var("x", tensor([1, 8]))
    body = Body()
    t = body.let("t", load(x, [0, 0], [1, 8]))
    buf = body.let("buf2", call("tile.store", t, [1, 0], fresh(body, [2, 8])))
    sums = body.let("sums", call("tensor.row_sum", buf))
    body.give(body.let("row", call("tensor.slice", sums, [1, 1], [1, 0])))
    assert run(body.function("f", [x]), np.full((1, 8), 3, np.float32)).tolist() == [[24]]
    body.stmts.pop()
    body.give(sums)
    with pytest.raises(PoisonError) as caught:
        run(body.function("g", [x]), np.ones((1, 8), np.float32))
    assert caught.value.element == (0, 0)
    assert "first of 1" in str(caught.value)


def test_a_product_over_poison_is_poison_where_it_takes_part() -> None:
    x, w = Var("x", tensor([1, 8])), Var("w", tensor([8, 4]))
    body = Body()
    t = body.let("t", load(x, [0, 0], [1, 8]))
    buf = body.let("buf2", call("tile.store", t, [1, 0], fresh(body, [2, 8])))
    product = body.let("product", call("tensor.matmul", buf, w))
    body.give(body.let("row", call("tensor.slice", product, [1, 4], [1, 0])))
    result = run(body.function("f", [x, w]), np.ones((1, 8), np.float32), np.ones((8, 4), np.float32))
    np.testing.assert_array_equal(result, [[8, 8, 8, 8]])
    body.stmts.pop()
    body.give(product)
    with pytest.raises(PoisonError, match=r"element \[0, 0\] is the first of 4"):
        run(body.function("g", [x, w]), np.ones((1, 8), np.float32), np.ones((8, 4), np.float32))


def read_poison(body: Body, dtype=FP32) -> Var:
    return body.let("e", call("tensor.read", fresh(body, [4], dtype), [2]))


def test_in_a_branch() -> None:
    body = Body()
    e = read_poison(body)
    condition = body.let("big", ir.Gt(body.let("e1", ir.Add(e, number(1.0, FP32), FP32)), number(0.0, FP32), BOOL))
    body.add(ir.IfStmt(condition, ir.EvalStmt(number(1, INDEX)), None, []))
    with pytest.raises(PoisonError, match="a condition depends on poison: 'big'") as caught:
        run(body.function("f", []))
    assert caught.value.statement is body.stmts[-1]


def test_in_a_loop_bound_an_index_and_a_while() -> None:
    body = Body()
    n = body.let("n", ir.Cast(read_poison(body, INT32), INDEX))
    body.add(ir.ForStmt(Var("i", scalar(INDEX)), 0, n, 1, [], ir.SeqStmts([]), []))
    with pytest.raises(PoisonError, match="a loop bound depends on poison: 'n'"):
        run(body.function("f", []))
    body.stmts.pop()
    body.let("again", call("tensor.read", fresh(body, [4]), [ir.Add(n, number(1, INDEX), INDEX)]))
    with pytest.raises(PoisonError, match=r"an index or extent of tensor\.read depends on poison: 'n'"):
        run(body.function("f", []))
    body.stmts.pop()
    body.add(ir.WhileStmt(ir.Lt(n, number(3, INDEX), BOOL), [], ir.SeqStmts([]), []))
    with pytest.raises(PoisonError, match="a condition depends on poison: 'n'"):
        run(body.function("f", []))


def test_a_poison_scalar_may_be_stored_but_not_returned() -> None:
    x = Var("x", tensor([4]))
    body = Body()
    e = read_poison(body)
    copy = body.let("copy", call("tensor.add", x, x))
    body.do(call("tensor.write", copy, [1], e))
    body.do(call("tensor.write", copy, [1], number(5.0, FP32)))
    body.give(copy)
    assert run(body.function("f", [x]), np.ones(4, np.float32)).tolist() == [2, 5, 2, 2]
    del body.stmts[-2]
    with pytest.raises(PoisonError) as caught:
        run(body.function("g", [x]), np.ones(4, np.float32))
    assert caught.value.element == (1,)
    other = Body()
    other.give(read_poison(other))
    with pytest.raises(PoisonError, match="'e' of 'h'"):
        run(other.function("h", []))


def test_a_fresh_tensor_with_a_first_value_is_written() -> None:
    body = Body()
    body.give(body.let("t", call("tensor.create", [2, 8], dtype=FP32, layout=ir.TensorLayout.ND, init_value=2.0)))
    np.testing.assert_array_equal(run(body.function("f", [])), np.full((2, 8), 2))


def test_the_old_content_of_an_output_is_poison_until_written() -> None:
    o = Var("o", tensor([2, 8]))
    body = Body()
    t = body.let("t", load(o, [0, 0], [1, 8]))
    body.give(body.let("s", call("tile.store", t, [1, 0], o)))
    with pytest.raises(PoisonError) as caught:
        run(body.function("f", [(o, Out)]), np.zeros((2, 8), np.float32))
    assert caught.value.element == (1, 0)


def test_an_output_may_be_read_where_it_was_written() -> None:
    x, o = Var("x", tensor([1, 8])), Var("o", tensor([2, 8]))
    body = Body()
    first = body.let("s1", call("tile.store", body.let("t", load(x, [0, 0], [1, 8])), [0, 0], o))
    again = body.let("again", load(first, [0, 0], [1, 8]))
    body.give(body.let("s2", call("tile.store", call("tile.add", again, again), [1, 0], first)))
    values = np.full((1, 8), 2, np.float32)
    np.testing.assert_array_equal(run(body.function("f", [x, (o, Out)]), values), [[2] * 8, [4] * 8])


def test_poison_that_is_copied_into_an_output_is_an_error_even_when_nothing_is_returned() -> None:
    o = Var("o", tensor([2, 8]))
    body = Body()
    bad = body.let("bad", load(fresh(body, [2, 8]), [0, 0], [2, 8]))
    body.do(call("tile.store", bad, [0, 0], o))
    with pytest.raises(PoisonError, match="the output 'o' of 'f'"):
        run(body.function("f", [(o, Out)], []), np.zeros((2, 8), np.float32))


def test_an_output_filled_by_two_calls() -> None:
    """A callee may not read its output's old content, and what it leaves alone stays as its caller knew it."""
    x, o, row = Var("x", tensor([1, 8])), Var("o", tensor([2, 8])), Var("row", scalar(INDEX))
    inner = Body()
    t = inner.let("t", load(x, [0, 0], [1, 8]))
    stored = inner.let("s", call("tile.store", t, [row, 0], o))
    again = inner.let("again", load(stored, [row, 0], [1, 8]))
    inner.give(inner.let("s2", call("tile.store", call("tile.add", again, again), [row, 0], stored)))
    kernel = inner.function("kernel", [x, (o, Out), row])

    a = Var("a", tensor([1, 8]))
    outer = Body()
    buf = fresh(outer, [2, 8])
    one = outer.let("one", call_function(kernel, a, buf, number(0, INDEX)))
    two = outer.let("two", call_function(kernel, a, one, number(1, INDEX)))
    outer.give(two)
    values = np.full((1, 8), 3, np.float32)
    np.testing.assert_array_equal(run(program(kernel, outer.function("main", [a])), values), np.full((2, 8), 6))
    outer.stmts[-2:] = []
    outer.give(one)
    with pytest.raises(PoisonError) as caught:
        run(program(kernel, outer.function("main", [a])), values)
    assert caught.value.element == (1, 0)
    assert caught.value.variable == "one"
