"""allreduce as a ring, pushing and pulling: numbers, order of the sum, chunks of unequal size, cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.enums import ReduceOp
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels import allreduce_ring, allreduce_ring_pull
from pypto.runtime import run
from tests.ops.host_kernel_runs import SCHEDULES, cells, idle, numbers, run_kernel, signal, window

Build = Callable[[DistributedTensorType, DistributedTensorType], Function]

FORMS: dict[str, Build] = {
    "push": allreduce_ring,
    "push, meeting all": lambda src, signal: allreduce_ring(src, signal, meet_all=True),
    "pull": allreduce_ring_pull,
}


def along_the_ring(values: list[Any]) -> Any:
    """Chunk c is x[c + 1] + x[c + 2] + ... + x[c]."""
    ranks, size = len(values), values[0].size
    flat = [v.reshape(-1) for v in values]
    result = np.zeros(size, values[0].dtype)
    for chunk in range(ranks):
        part = slice(size * chunk // ranks, size * (chunk + 1) // ranks)
        total = flat[(chunk + 1) % ranks][part]
        for step in range(2, ranks + 1):
            total = total + flat[(chunk + step) % ranks][part]
        result[part] = total
    return result.reshape(values[0].shape)


def ring_cells(ranks: int) -> list[Any]:
    return cells(ranks, 2 * (ranks - 1) + 1, ranks)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
@pytest.mark.parametrize("size", [1, 3, 17, 257])
def test_numbers_and_order(form: str, ranks: int, size: int) -> None:
    """Also with fewer elements than ranks, and chunks of several tiles."""
    values = numbers(ranks, size)
    kernel = FORMS[form](window(size), signal(2 * (ranks - 1) + 1, ranks))
    for schedule in ("round_robin", "greedy", "random:0"):
        found, left = run_kernel(kernel, [values, ring_cells(ranks)], schedule=schedule)
        for own in found:
            np.testing.assert_array_equal(own, along_the_ring(values))
        assert idle(left)
    np.testing.assert_allclose(found[0], np.sum(np.asarray(values, np.float64), axis=0), rtol=1e-5)


def test_sixteen_ranks() -> None:
    values = numbers(16, 50)
    found, left = run_kernel(allreduce_ring(window(50), signal(31, 16)), [values, ring_cells(16)])
    for own in found:
        np.testing.assert_array_equal(own, along_the_ring(values))
    assert idle(left)


def test_seventeen_ranks_are_left_alone() -> None:
    values, signals = numbers(17, 20), ring_cells(17)
    data = [v.copy() for v in values]
    run(allreduce_ring(window(20), signal(33, 17)), data, signals, ranks=17)
    np.testing.assert_array_equal(data, values)
    assert idle(signals)


@pytest.mark.parametrize("form", FORMS)
def test_one_rank_does_nothing(form: str) -> None:
    values, signals = numbers(1, 20), ring_cells(1)
    data = [v.copy() for v in values]
    _, report = run(FORMS[form](window(20), signal(1, 1)), data, signals, ranks=1, report=True)
    np.testing.assert_array_equal(data, values)
    assert report.statistics["posts"] == 0


@pytest.mark.parametrize("form", FORMS)
def test_extents_found_at_run_time(form: str) -> None:
    kernel = FORMS[form](window("a", "b"), signal("rows", "ranks"))
    for ranks, shape in ((2, (3, 7)), (4, (5, 401))):
        values = numbers(ranks, *shape)
        found, left = run_kernel(kernel, [values, ring_cells(ranks)])
        for own in found:
            np.testing.assert_array_equal(own, along_the_ring(values))
        assert idle(left)


def test_a_long_one() -> None:
    values = numbers(2, 8193)
    found, _ = run_kernel(allreduce_ring(window(8193), signal(3, 2)), [values, ring_cells(2)], schedule="random:0")
    np.testing.assert_array_equal(found, [along_the_ring(values)] * 2)


@pytest.mark.parametrize("schedule", [*SCHEDULES, "random:2", "random:3"])
@pytest.mark.parametrize("form", FORMS)
def test_two_ranks_with_three_elements_and_three_calls(form: str, schedule: str) -> None:
    """Both neighbours are one rank: its cell receives two posts in each round."""
    values = numbers(2, 3)
    kernel = FORMS[form](window(3), signal(3, 2))
    found, left = run_kernel(kernel, [values, ring_cells(2)], calls=3, schedule=schedule)
    np.testing.assert_allclose(found, [4 * (values[0] + values[1])] * 2, rtol=1e-6)
    assert idle(left)
    one, data = ring_cells(2), [v.copy() for v in values]
    for _ in range(3):
        run(kernel, data, one, ranks=2, schedule=schedule)
        assert idle(one)
    np.testing.assert_array_equal(data, found)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ranks", [3, 4])
def test_three_calls_on_one_signal(form: str, ranks: int, schedule: str) -> None:
    values = numbers(ranks, 11)
    kernel = FORMS[form](window(11), signal(2 * (ranks - 1) + 1, ranks))
    found, left = run_kernel(kernel, [values, ring_cells(ranks)], calls=3, schedule=schedule)
    assert idle(left)
    for _ in range(3):
        values = [along_the_ring(values)] * ranks
    np.testing.assert_array_equal(found, values)


def test_the_same_bits_as_the_meaning() -> None:
    from pypto.ops.collectives import allreduce

    values = [(v * 10.0**r).astype(np.float32) for r, v in enumerate(numbers(4, 33))]
    meant = [v.copy() for v in values]
    allreduce(meant, int(ReduceOp.Sum), "ring")
    found, _ = run_kernel(allreduce_ring(window(33), signal(7, 4)), [values, ring_cells(4)])
    np.testing.assert_array_equal(found, meant)
    assert not np.array_equal(found[0], np.sum(values, axis=0))


@pytest.mark.parametrize(("op", "reduce"), [(ReduceOp.Max, np.max), (ReduceOp.Min, np.min), (ReduceOp.Prod, np.prod)])
def test_pulling_knows_every_reduction(op: ReduceOp, reduce: Callable[..., Any]) -> None:
    values = numbers(3, 13)
    found, _ = run_kernel(allreduce_ring_pull(window(13), signal(5, 3), op=op), [values, ring_cells(3)])
    np.testing.assert_allclose(found, [reduce(values, axis=0)] * 3, rtol=1e-6)


def test_pushing_only_adds() -> None:
    with pytest.raises(InvalidValueError, match=r"ReduceOp\.Sum only, got ReduceOp\.Max"):
        allreduce_ring(window(8), signal(3, 2), op=ReduceOp.Max)
