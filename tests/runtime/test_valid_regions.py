"""Valid regions: lanes outside take no part in anything, and what they hold never shows."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto.ir.expr import Var
from pypto.runtime import PoisonError, run
from tests.runtime.building import FP32, INDEX, Body, Out, call, load, scalar, tensor

RNG = np.random.default_rng(3)
GARBAGE = [np.nan, np.inf, 1e30, -1e30]


def create_tile(body: Body, shape) -> Var:
    return body.let("tmp", call("tile.create", shape, dtype=FP32, target_memory=ir.MemorySpace.Vec))


def row_kernel(reduction: str, before: tuple[str, ...] = ()) -> ir.Function:
    x, o, n = Var("x", tensor([8, 64])), Var("o", tensor([8, 1])), Var("n", scalar(INDEX))
    body = Body()
    tile = body.let("t", load(x, [0, 0], [8, 64], [8, n]))
    for name in before:
        tile = body.let("u", call(name, tile))
    reduced = body.let("m", call(reduction, tile, create_tile(body, [8, 64])))
    body.give(body.let("s", call("tile.store", reduced, [0, 0], o)))
    return body.function("f", [x, (o, Out), n])


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("n", [1, 5, 63, 64])
def test_padding_lanes_take_no_part_in_reductions(garbage: float, n: int) -> None:
    x = RNG.uniform(-2, 2, (8, 64)).astype(np.float32)
    x[:, n:] = garbage
    largest = run(row_kernel("tile.row_max", ("tile.neg", "tile.exp")), x, np.zeros((8, 1), np.float32), n)
    np.testing.assert_allclose(largest, np.exp(-x[:, :n].astype(np.float64)).max(axis=1, keepdims=True), rtol=1e-6)
    total = run(row_kernel("tile.row_sum"), x, np.zeros((8, 1), np.float32), n)
    np.testing.assert_allclose(total, x[:, :n].astype(np.float64).sum(axis=1, keepdims=True), rtol=1e-4, atol=1e-5)


def test_a_reduction_of_nothing_is_its_neutral_element() -> None:
    x = np.full((8, 64), np.nan, np.float32)
    assert run(row_kernel("tile.row_sum"), x, np.zeros((8, 1), np.float32), 0).tolist() == [[0]] * 8
    assert run(row_kernel("tile.row_max"), x, np.zeros((8, 1), np.float32), 0).tolist() == [[-np.inf]] * 8


def test_only_the_valid_region_is_stored() -> None:
    x, o, n = Var("x", tensor([4, 32])), Var("o", tensor([4, 32])), Var("n", scalar(INDEX))
    body = Body()
    t = body.let("t", load(x, [0, 0], [4, 32], [n, 32]))
    body.give(body.let("s", call("tile.store", call("tile.add", t, t), [0, 0], o)))
    f = body.function("f", [x, (o, Out), n])
    values = RNG.uniform(-2, 2, (4, 32)).astype(np.float32)
    for rows in (0, 1, 3, 4):
        held = np.full((4, 32), 7, np.float32)
        run(f, values, held, rows)
        np.testing.assert_array_equal(held[:rows], values[:rows] * 2)
        np.testing.assert_array_equal(held[rows:], 7)


def test_a_load_at_the_edge_reads_only_what_is_valid() -> None:
    x, o = Var("x", tensor([5, 32])), Var("o", tensor([5, 32]))
    body = Body()
    t = body.let("t", load(x, [4, 0], [4, 32], [1, 32]))
    body.give(body.let("s", call("tile.store", t, [0, 0], o)))
    values = RNG.uniform(-2, 2, (5, 32)).astype(np.float32)
    result = run(body.function("f", [x, (o, Out)]), values)
    np.testing.assert_array_equal(result[0], values[4])
    assert not result[1:].any()


def padded(pad: ir.PadValue, elements: str | None) -> ir.Function:
    x, o, n = Var("x", tensor([4, 32])), Var("o", tensor([4, 32])), Var("n", scalar(INDEX))
    body = Body()
    t = body.let("t", load(x, [0, 0], [4, 32], [4, n]))
    full = t if elements is None else body.let("full", call(elements, t, pad_value=pad))
    whole = body.let("whole", call("tile.set_validshape", full, 4, 32))
    body.give(body.let("s", call("tile.store", whole, [0, 0], o)))
    return body.function("f", [x, (o, Out), n])


@pytest.mark.parametrize(("pad", "value"), [(ir.PadValue.zero, 0), (ir.PadValue.max, np.inf), (ir.PadValue.min, -np.inf)])
def test_fillpad_writes_the_lanes_outside(pad: ir.PadValue, value: float) -> None:
    values = RNG.uniform(-2, 2, (4, 32)).astype(np.float32)
    for n in (0, 3, 32):
        result = run(padded(pad, "tile.fillpad"), values, np.zeros((4, 32), np.float32), n)
        np.testing.assert_array_equal(result[:, :n], values[:, :n])
        np.testing.assert_array_equal(result[:, n:], value)


def test_widening_the_valid_region_does_not_make_lanes_good() -> None:
    with pytest.raises(PoisonError) as caught:
        run(padded(ir.PadValue.zero, None), np.ones((4, 32), np.float32), np.zeros((4, 32), np.float32), 3)
    assert caught.value.element == (0, 3)


def test_narrowing_the_valid_region() -> None:
    x, o, n = Var("x", tensor([4, 32])), Var("o", tensor([4, 1])), Var("n", scalar(INDEX))
    body = Body()
    t = body.let("t", load(x, [0, 0], [4, 32]))
    narrow = body.let("narrow", call("tile.set_validshape", t, 4, n))
    total = body.let("total", call("tile.row_sum", narrow, create_tile(body, [4, 32])))
    body.give(body.let("s", call("tile.store", total, [0, 0], o)))
    f = body.function("f", [x, (o, Out), n])
    assert run(f, np.ones((4, 32), np.float32), np.zeros((4, 1), np.float32), 5).tolist() == [[5]] * 4
    assert run(f, np.ones((4, 32), np.float32), np.zeros((4, 1), np.float32), 32).tolist() == [[32]] * 4


def test_comparing_and_selecting_with_scratch_and_padding() -> None:
    x, y, o, n = Var("x", tensor([4, 64])), Var("y", tensor([4, 64])), Var("o", tensor([4, 64])), Var("n", scalar(INDEX))
    body = Body()
    a, b = body.let("a", load(x, [0, 0], [4, 64], [4, n])), body.let("b", load(y, [0, 0], [4, 64], [4, n]))
    mask = body.let("mask", call("tile.cmp", a, b, cmp_type=4))
    picked = body.let("picked", call("tile.sel", mask, a, b, create_tile(body, [4, 64])))
    body.give(body.let("s", call("tile.store", picked, [0, 0], o)))
    f = body.function("f", [x, y, (o, Out), n])
    left, right = (RNG.uniform(-2, 2, (4, 64)).astype(np.float32) for _ in range(2))
    for valid in (0, 1, 8, 13, 64):
        result = run(f, left, right, np.zeros((4, 64), np.float32), valid)
        np.testing.assert_array_equal(result[:, :valid], np.maximum(left, right)[:, :valid])
        assert not result[:, valid:].any()


def test_operands_of_different_valid_regions() -> None:
    """Lanes that only one operand has are computed from garbage, so they are not good."""
    x, o, n = Var("x", tensor([4, 32])), Var("o", tensor([4, 32])), Var("n", scalar(INDEX))
    body = Body()
    wide, narrow = body.let("wide", load(x, [0, 0], [4, 32])), body.let("narrow", load(x, [0, 0], [4, 32], [4, n]))
    body.give(body.let("s", call("tile.store", call("tile.add", wide, narrow), [0, 0], o)))
    f = body.function("f", [x, (o, Out), n])
    np.testing.assert_array_equal(run(f, np.ones((4, 32), np.float32), np.zeros((4, 32), np.float32), 32), np.full((4, 32), 2))
    with pytest.raises(PoisonError) as caught:
        run(f, np.ones((4, 32), np.float32), np.zeros((4, 32), np.float32), 31)
    assert caught.value.element == (0, 31)
