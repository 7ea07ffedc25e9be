"""Calls between functions of a program, and which function a run begins with."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto.ir.expr import Var
from pypto.runtime import ArgumentError, RunError, run
from tests.runtime.building import (
    FP32,
    INDEX,
    INT32,
    Body,
    InOut,
    Out,
    call,
    call_function,
    load,
    number,
    program,
    scalar,
    tensor,
)


def scale_kernel(rows: ir.Expr | int = 4, name: str = "kernel") -> ir.Function:
    """o = 2 x, through an Out parameter that is returned."""
    x, o = Var("x", tensor([rows, 32])), Var("o", tensor([rows, 32]))
    body = Body()
    t = body.let("t", load(x, [0, 0], [4, 32]))
    body.give(body.let("s", call("tile.store", call("tile.add", t, t), [0, 0], o)))
    return body.function(name, [x, (o, Out)], type=ir.FunctionType.InCore)


VALUES = np.arange(128, dtype=np.float32).reshape(4, 32)


def test_an_orchestrator_creates_the_output_of_a_kernel() -> None:
    kernel = scale_kernel()
    a = Var("a", tensor([4, 32]))
    body = Body()
    buf = body.let("buf", call("tensor.create", [4, 32], dtype=FP32, layout=ir.TensorLayout.ND))
    first = body.let("first", call_function(kernel, a, buf))
    body.give(body.let("y", call("tensor.add", first, a)))
    p = program(kernel, body.function("main", [a], type=ir.FunctionType.Orchestration))
    np.testing.assert_array_equal(run(p, VALUES), VALUES * 3)
    np.testing.assert_array_equal(p(VALUES), VALUES * 3)


def test_an_output_given_through_is_the_very_array() -> None:
    kernel = scale_kernel()
    a, b = Var("a", tensor([4, 32])), Var("b", tensor([4, 32]))
    body = Body()
    body.give(body.let("r", call_function(kernel, a, b)))
    p = program(kernel, body.function("main", [a, (b, Out)]))
    given = np.zeros((4, 32), np.float32)
    assert run(p, VALUES, given) is given
    np.testing.assert_array_equal(given, VALUES * 2)


def test_a_callee_without_results_writes_its_outputs() -> None:
    x, o = Var("x", tensor([4, 32])), Var("o", tensor([4, 32]))
    inner = Body()
    inner.do(call("tile.store", load(x, [0, 0], [4, 32]), [0, 0], o))
    kernel = inner.function("kernel", [x, (o, InOut)], [])
    a = Var("a", tensor([4, 32]))
    body = Body()
    buf = body.let("buf", call("tensor.create", [4, 32], dtype=FP32, layout=ir.TensorLayout.ND))
    body.do(call_function(kernel, a, buf))
    body.give(buf)
    np.testing.assert_array_equal(run(program(kernel, body.function("main", [a])), VALUES), VALUES)


def test_a_callee_may_not_change_what_it_was_given_for_reading() -> None:
    x = Var("x", tensor([4, 32]))
    inner = Body()
    t = inner.let("t", load(x, [0, 0], [4, 32]))
    inner.give(inner.let("s", call("tile.store", call("tile.add", t, t), [0, 0], x)))
    kernel = inner.function("kernel", [x])
    a = Var("a", tensor([4, 32]))
    body = Body()
    twice = body.let("twice", call_function(kernel, a))
    body.give(body.let("y", call("tensor.sub", twice, a)))
    given = VALUES.copy()
    np.testing.assert_array_equal(run(program(kernel, body.function("main", [a])), given), VALUES)
    np.testing.assert_array_equal(given, VALUES)


def test_several_results_and_scalars() -> None:
    a, b = Var("a", scalar(INT32)), Var("b", scalar(INT32))
    inner = Body()
    inner.give(ir.FloorDiv(a, b, INT32), ir.FloorMod(a, b, INT32))
    divmod_ = inner.function("divmod", [a, b])
    x = Var("x", scalar(INT32))
    body = Body()
    pair = body.let("pair", call_function(divmod_, x, number(7, INT32)))
    body.give(ir.TupleGetItemExpr(pair, 1), ir.TupleGetItemExpr(pair, 0))
    assert run(program(divmod_, body.function("main", [x])), -10) == (4, -2)


def test_dimensions_of_a_callee_are_bound_at_the_call() -> None:
    rows = Var("M", scalar(INDEX))
    a, b = Var("a", tensor([rows, 8])), Var("b", tensor([rows, 8]))
    inner = Body()
    inner.give(inner.let("c", call("tensor.add", a, b)))
    same = inner.function("same", [a, b])
    mine, yours = Var("m", scalar(INDEX)), Var("y", scalar(INDEX))
    p, q = Var("p", tensor([mine, 8])), Var("q", tensor([yours, 8]))
    body = Body()
    body.give(body.let("r", call_function(same, p, q)))
    whole = program(same, body.function("top", [p, q]))
    x = np.ones((16, 8), np.float32)
    np.testing.assert_array_equal(run(whole, x, x), x * 2)
    with pytest.raises(RunError, match="'M' cannot be both 16 and 32") as caught:
        run(whole, x, np.ones((32, 8), np.float32))
    assert caught.value.statement is body.stmts[0]


def test_a_wrong_static_shape_at_a_call() -> None:
    kernel = scale_kernel()
    n = Var("n", scalar(INDEX))
    a = Var("a", tensor([n, 32]))
    body = Body()
    buf = body.let("buf", call("tensor.create", [4, 32], dtype=FP32, layout=ir.TensorLayout.ND))
    body.give(body.let("r", call_function(kernel, a, buf)))
    p = program(kernel, body.function("main", [a]))
    np.testing.assert_array_equal(run(p, VALUES), VALUES * 2)
    with pytest.raises(RunError, match=r"kernel: 'x' has the shape \[4, 32\], got \[5, 32\]"):
        run(p, np.zeros((5, 32), np.float32))


def test_the_entry_is_the_host_orchestrator() -> None:
    kernel = scale_kernel()
    a = Var("a", tensor([4, 32]))
    host, loose = Body(), Body()
    host.give(a)
    loose.give(number(1, INT32))
    main = host.function("main", [a], level=ir.Level.HOST, role=ir.Role.Orchestrator)
    p = program(kernel, loose.function("alone", []), main)
    np.testing.assert_array_equal(run(p, VALUES), VALUES)
    assert run(p, entry="alone") == 1


def test_the_entry_is_what_nobody_calls_or_must_be_said() -> None:
    one, two = scale_kernel(name="one"), scale_kernel(name="two")
    with pytest.raises(ArgumentError, match="several functions that no other calls: one, two"):
        run(program(one, two), VALUES)
    np.testing.assert_array_equal(run(program(one, two), VALUES, entry="two"), VALUES * 2)
    with pytest.raises(ArgumentError, match="no function 'tow'") as caught:
        run(program(one, two), VALUES, entry="tow")
    assert "did you mean 'two'?" in str(caught.value)


def test_a_function_that_calls_others_needs_its_program() -> None:
    kernel = scale_kernel()
    a = Var("a", tensor([4, 32]))
    body = Body()
    body.give(body.let("r", call_function(kernel, a, a)))
    with pytest.raises(ArgumentError, match="calls other functions"):
        run(body.function("main", [a]), VALUES)


def test_a_dispatch_to_a_rank() -> None:
    n = Var("n", scalar(INDEX))
    shell = Body()
    shell.give(number(5, INT32))
    callee = shell.function("callee", [])
    body = Body()
    to = ir.Call(ir.GlobalVar("callee"), [], None, {"device": n}, scalar(INT32), ir.Span.unknown())
    body.give(body.let("r", to))
    p = program(callee, body.function("main", [n]))
    assert run(p, 0) == 5
    with pytest.raises(RunError, match="device 1 does not exist in a run with one rank"):
        run(p, 1)


def test_an_unknown_callee() -> None:
    kernel = scale_kernel()
    a = Var("a", tensor([4, 32]))
    body = Body()
    body.give(body.let("r", call_function(kernel, a, a)))
    with pytest.raises(RunError, match="'kernel' is no function of the program"):
        run(program(body.function("main", [a])), VALUES)


def test_endless_recursion_is_told_as_such() -> None:
    n = Var("n", scalar(INT32))
    shell = Body()
    shell.give(n)
    itself = shell.function("loop", [n])
    body = Body()
    body.give(body.let("r", call_function(itself, n)))
    p = program(body.function("loop", [n]))
    with pytest.raises(RunError, match="call one another without end"):
        run(p, 1, entry="loop")


def test_one_function_object_in_two_programs() -> None:
    """What a call means is decided by the program, not by what was compiled first."""
    n = Var("n", scalar(INT32))

    def constant(value: int) -> ir.Function:
        body = Body()
        body.give(number(value, INT32))
        return body.function("callee", [])

    body = Body()
    body.give(body.let("r", call_function(constant(0))))
    main = body.function("main", [n])
    assert run(program(main, constant(1)), 0) == 1
    assert run(program(main, constant(2)), 0) == 2
