"""Failures while a program runs: the class, the place and the words."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto.diagnostics import Error
from pypto.ir.expr import Var
from pypto.ir.op import unregister_op
from pypto.ops.declare import Kind, Lanes, Param, op
from pypto.runtime import RunError, compile_function, run
from tests.runtime.building import FP32, INDEX, Body, Out, call, call_function, load, program, scalar, tensor


def out_of_bounds_kernel() -> tuple[ir.Function, Body]:
    x, o, i = Var("x", tensor([8, 32])), Var("o", tensor([8, 32])), Var("i", scalar(INDEX))
    body = Body()
    t = body.let("t", load(x, [i, 0], [4, 32]), line=12)
    body.give(body.let("s", call("tile.store", t, [0, 0], o), line=13))
    return body.function("kernel", [x, (o, Out), i]), body


def test_a_region_outside_its_tensor() -> None:
    f, body = out_of_bounds_kernel()
    x, o = np.zeros((8, 32), np.float32), np.zeros((8, 32), np.float32)
    run(f, x, o, 4)
    for offset in (5, -1):
        with pytest.raises(RunError, match=r"tile\.load") as caught:
            run(f, x, o, offset)
        error = caught.value
        assert isinstance(error, Error)
        assert isinstance(error, ValueError)
        assert error.statement is body.stmts[0]
        assert error.operator == "tile.load"
        assert error.span["line"] == 12
        assert "float32[8, 32]" in str(error)
        assert "in function 'kernel', computing 't'" in str(error)


def test_the_statement_of_the_callee_is_named() -> None:
    kernel, inner = out_of_bounds_kernel()
    a, b = Var("a", tensor([8, 32])), Var("b", tensor([8, 32]))
    body = Body()
    body.give(body.let("r", call_function(kernel, a, b, ir.index_const(6))))
    with pytest.raises(RunError) as caught:
        run(program(kernel, body.function("main", [a, (b, Out)])), np.zeros((8, 32), np.float32), np.zeros((8, 32), np.float32))
    assert caught.value.statement is inner.stmts[0]


def test_an_element_outside_its_tensor() -> None:
    x, i = Var("x", tensor([8])), Var("i", scalar(INDEX))
    body = Body()
    body.give(body.let("e", call("tensor.read", x, [i])))
    f = body.function("f", [x, i])
    assert run(f, np.arange(8, dtype=np.float32), 7) == 7
    for at in (8, -1):
        with pytest.raises(RunError, match="outside"):
            run(f, np.zeros(8, np.float32), at)


@pytest.fixture
def declared():
    """Declares an operator for one test."""
    names: list[str] = []

    def declare(name: str, **facts):
        names.append(name)
        return op(name, doc="For a test.", **facts)

    yield declare
    for name in names:
        unregister_op(name)


TILES = [Param("lhs", Kind.TILE), Param("rhs", Kind.TILE)]


def first_type(_declaration, args, _kwargs):
    return args[0].type


def test_a_failing_meaning_reports_numpys_message_and_the_shapes(declared) -> None:
    declared("test.plus", params=TILES, result=first_type, meaning=np.add, lanes=Lanes.ELEMENTWISE)
    a, b = Var("a", tensor([8, 32])), Var("b", tensor([8, 32]))
    body = Body()
    t, u = body.let("t", load(a, [0, 0], [4, 32])), body.let("u", load(b, [0, 0], [3, 32]))
    body.give(body.let("sum", call("test.plus", t, u), line=7))
    f = body.function("f", [a, b])
    assert "_np_add(t, u)" in compile_function(f).source
    with pytest.raises(RunError, match=r"test\.plus failed on float32\[4, 32\], float32\[3, 32\]: .*broadcast") as caught:
        run(f, np.zeros((8, 32), np.float32), np.zeros((8, 32), np.float32))
    assert caught.value.span["line"] == 7


def test_a_result_of_another_shape_than_its_type(declared) -> None:
    declared("test.half", params=TILES[:1], result=first_type, meaning=lambda lhs: lhs[::2], lanes=Lanes.ALL)
    a = Var("a", tensor([8, 32]))
    body = Body()
    body.give(body.let("h", call("test.half", load(a, [0, 0], [8, 32]))))
    with pytest.raises(RunError, match=r"test.half: the result has the shape \[4, 32\], its type says \[8, 32\]"):
        run(body.function("f", [a]), np.zeros((8, 32), np.float32))


def test_an_operator_without_a_meaning(declared) -> None:
    declared("test.machine", params=TILES[:1], result=first_type, hardware_only=True)
    a = Var("a", tensor([8, 32]))
    body = Body()
    body.give(body.let("h", call("test.machine", load(a, [0, 0], [8, 32]))))
    with pytest.raises(RunError, match=r"test\.machine has no meaning off the machine") as caught:
        run(body.function("f", [a]), np.zeros((8, 32), np.float32))
    assert caught.value.statement is body.stmts[0]


def test_an_operator_that_is_not_declared() -> None:
    a = Var("a", tensor([8, 32]))
    body = Body()
    body.give(body.let("h", ir.Call(ir.Op("test.unknown"), [a], a.type, ir.Span.unknown())))
    with pytest.raises(RunError, match=r"test\.unknown is no operator of the vocabulary"):
        run(body.function("f", [a]), np.zeros((8, 32), np.float32))


def test_a_symbol_that_only_types_mention() -> None:
    k = Var("K", scalar(INDEX))
    a = Var("a", tensor([8, 32]))
    body = Body()
    t = load(a, [0, 0], [8, 32], [k, 32])
    body.give(body.let("t", t))
    with pytest.raises(RunError, match="'K' has no value: it occurs in types only"):
        run(body.function("f", [a]), np.zeros((8, 32), np.float32))


def test_what_a_meaning_may_ask_for(declared) -> None:
    """Keywords by name with their defaults, the result's type and extents, and nothing else."""
    seen = []

    def meaning(lhs, out, factor=1.0, unknown="kept"):
        seen.append((out.dtype, out.shape, factor, unknown))
        return lhs * np.float32(factor)

    params = [TILES[0], Param("factor", Kind.FLOAT, 3.0), Param("ignored", Kind.BOOL, False)]
    declared("test.scaled", params=params, result=first_type, meaning=meaning, lanes=Lanes.ELEMENTWISE)
    a = Var("a", tensor([2, 32]))
    body = Body()
    t = body.let("t", load(a, [0, 0], [2, 32]))
    body.give(call("test.scaled", t), call("test.scaled", t, factor=0.5, ignored=True))
    first, second = run(body.function("f", [a]), np.ones((2, 32), np.float32))
    assert (first == 3).all()
    assert (second == 0.5).all()
    assert seen == [(np.float32, (2, 32), 3.0, "kept"), (np.float32, (2, 32), 0.5, "kept")]


def test_scratch_does_not_count(declared) -> None:
    declared(
        "test.with_room",
        params=[TILES[0], Param("tmp", Kind.TILE)],
        result=first_type,
        meaning=lambda lhs, tmp: lhs + np.float32(1),
        lanes=Lanes.ALL,
        scratch=["tmp"],
    )
    a = Var("a", tensor([2, 32]))
    body = Body()
    t = body.let("t", load(a, [0, 0], [2, 32]))
    tmp = body.let("tmp", call("tile.create", [2, 32], dtype=FP32, target_memory=ir.MemorySpace.Vec))
    body.give(body.let("r", call("test.with_room", t, tmp)))
    np.testing.assert_array_equal(run(body.function("f", [a]), np.ones((2, 32), np.float32)), np.full((2, 32), 2))
