"""Drawn inputs and the comparison of results."""

from __future__ import annotations

import numpy as np
import pytest

from pypto import ir
from pypto.ir.expr import Var
from pypto.runtime import compare_results, draw_inputs, run
from tests.runtime.building import BOOL, FP16, INDEX, INT32, Body, InOut, Out, call, load, scalar, tensor


def many() -> ir.Function:
    rows, n = Var("ROWS", scalar(INDEX)), Var("n", scalar(INDEX))
    x, o = Var("x", tensor([rows, 64])), Var("o", tensor([rows, 64]))
    ids, half = Var("ids", tensor([4], INT32)), Var("half", tensor([n, 3], FP16))
    flag, b = Var("flag", scalar(BOOL)), Var("b", tensor([2, 2], BOOL))
    body = Body()
    body.give(body.let("s", call("tile.store", load(x, [0, 0], [16, 64]), [0, 0], o)))
    return body.function("f", [x, (o, InOut), ids, n, half, flag, b, (Var("q", tensor([5])), Out)])


def test_drawn_inputs_fit_the_parameters() -> None:
    x, o, ids, n, half, flag, b, q = draw_inputs(many())
    assert x.shape == o.shape == (32, 64)
    assert x.dtype == np.float32
    assert -2 <= x.min() < -1
    assert 1 < x.max() <= 2
    assert ids.dtype == np.int32
    assert half.shape == (n, 3)
    assert half.dtype == np.float16
    assert isinstance(flag, np.bool_)
    assert b.dtype == np.bool_
    assert q.tolist() == [0] * 5
    assert o.any()


def test_integers_can_serve_as_indices() -> None:
    f = many()
    for seed in range(20):
        ids = draw_inputs(f, seed)[2]
        assert ids.min() >= 0
        assert ids.max() <= 1
    wide = Body()
    a = Var("a", tensor([100], INT32))
    wide.give(a)
    drawn = draw_inputs(wide.function("g", [a]))[0]
    assert drawn.min() == 0
    assert drawn.max() == 7


def test_drawn_inputs_are_the_same_for_the_same_seed() -> None:
    f = many()
    for a, b in zip(draw_inputs(f, 3), draw_inputs(f, 3), strict=True):
        np.testing.assert_array_equal(a, b)
    assert not np.array_equal(draw_inputs(f, 3)[0], draw_inputs(f, 4)[0])


def test_drawn_inputs_run() -> None:
    f = many()
    drawn = draw_inputs(f)
    assert run(f, *drawn) is drawn[1]


@pytest.mark.parametrize(
    ("left", "right", "difference"),
    [
        (np.float32([1, np.nan]), np.float32([1.000001, np.nan]), None),
        (np.float32([1, 2]), np.float32([1, 2.001]), "element [1] is 2.0 in one and 2.001 in the other"),
        (np.float16([1]), np.float16([1.015]), None),
        (np.float16([1]), np.float16([1.03]), "element [0]"),
        (np.int32([1]), np.int32([2]), "element [0] is 1 in one and 2 in the other"),
        (np.float32([1]), np.float32([np.nan]), "element [0]"),
        (np.float32([np.inf]), np.float32([np.inf]), None),
        (np.float32([1]), np.float16([1]), "the element type is float32 in one and float16 in the other"),
        (np.zeros(2, np.int8), np.zeros(3, np.int8), "the shape is [2] in one and [3] in the other"),
        (np.float32(1), np.float32(2), "it is 1.0 in one and 2.0 in the other"),
        ((np.int8([1]), np.int8([2])), (np.int8([1]), np.int8([3])), "result 1: element [0] is 2 in one and 3 in the other"),
        ((np.int8([1]),), np.int8([1]), "the number of results differs"),
        (None, None, None),
        (None, np.int8([1]), "one gives a result and the other none"),
    ],
)
def test_comparison(left, right, difference: str | None) -> None:
    found = compare_results(left, right)
    if difference is None:
        assert found is None
    else:
        assert found is not None
        assert found.startswith(difference)
