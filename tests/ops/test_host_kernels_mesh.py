"""allreduce as a mesh: numbers, order of the sum, tails, blocks, cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ReduceOp
from pypto.ops import host_kernels
from pypto.ops.host_kernels import allreduce_mesh
from pypto.runtime import run
from tests.ops.host_kernel_runs import SCHEDULES, cells, idle, numbers, run_kernel, signal, window

REDUCTIONS: dict[ReduceOp, Callable[[Any, Any], Any]] = {
    ReduceOp.Sum: np.add,
    ReduceOp.Max: np.maximum,
    ReduceOp.Min: np.minimum,
    ReduceOp.Prod: np.multiply,
}


def in_order(values: list[Any], rank: int, op: ReduceOp) -> Any:
    """Own value first, then the others ascending, in their own element type."""
    total = values[rank]
    for peer, value in enumerate(values):
        if peer != rank:
            total = REDUCTIONS[op](total, value)
    return total


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16])
@pytest.mark.parametrize("op", list(ReduceOp))
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_numbers_and_order(ranks: int, op: ReduceOp, dtype: DataType) -> None:
    values = numbers(ranks, 3, 41, dtype=dtype)
    kernel = allreduce_mesh(window(3, 41, dtype=dtype), signal(ranks), op=op, dtype=dtype)
    found, left = run_kernel(kernel, [values, cells(ranks, ranks)], blocks=1)
    for rank in range(ranks):
        np.testing.assert_array_equal(found[rank], in_order(values, rank, op))
        exact = REDUCTIONS[op].reduce([v.astype(np.float64) for v in values])  # type: ignore[attr-defined]
        np.testing.assert_allclose(found[rank].astype(np.float64), exact, rtol=2e-2 if dtype is DataType.FP16 else 1e-5)
    assert idle(left)


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16])
@pytest.mark.parametrize("size", [1, 17, 256, 257, 512])
def test_ragged_sizes_under_schedules(size: int, dtype: DataType) -> None:
    values = numbers(3, size, dtype=dtype)
    kernel = allreduce_mesh(window(size, dtype=dtype), signal(3, 1))
    for schedule in SCHEDULES:
        found, left = run_kernel(kernel, [values, cells(3, 3, 1)], blocks=1, schedule=schedule)
        for rank in range(3):
            np.testing.assert_array_equal(found[rank], in_order(values, rank, ReduceOp.Sum))
        assert idle(left)


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16])
def test_a_long_one(dtype: DataType) -> None:
    values = numbers(2, 8193, dtype=dtype)
    found, left = run_kernel(allreduce_mesh(window(8193, dtype=dtype), signal(2)), [values, cells(2, 2)], blocks=1)
    for rank in range(2):
        np.testing.assert_array_equal(found[rank], in_order(values, rank, ReduceOp.Sum))
    assert idle(left)


@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16])
@pytest.mark.parametrize("shape", [(5,), (2, 3, 7), (3, 257)])
def test_extents_found_at_run_time(shape: tuple[int, ...], dtype: DataType) -> None:
    kernel = allreduce_mesh(window(*"abc"[: len(shape)], dtype=dtype), signal("ranks"))
    values = numbers(3, *shape, dtype=dtype)
    found, left = run_kernel(kernel, [values, cells(3, 3)], blocks=1)
    for rank in range(3):
        np.testing.assert_array_equal(found[rank], in_order(values, rank, ReduceOp.Sum))
    assert idle(left)


@pytest.mark.parametrize(
    ("ranks", "blocks", "size", "stride"), [(2, 2, 1, 2), (2, 4, 4127, 6), (4, 2, 1041, 2), (3, 4, 600, 2), (2, 3, 256, 3)]
)
def test_blocks_have_lanes_of_their_own(ranks: int, blocks: int, size: int, stride: int) -> None:
    """Also with more blocks than lanes, or than tiles."""
    kernel = allreduce_mesh(window(size), signal(ranks, stride), core_num=min(blocks, stride))
    values = numbers(ranks, size)
    for schedule in ("round_robin", "greedy", "random:2"):
        found, left = run_kernel(kernel, [values, cells(ranks, ranks, stride)], blocks=blocks, schedule=schedule)
        for rank in range(ranks):
            np.testing.assert_array_equal(found[rank], in_order(values, rank, ReduceOp.Sum))
        assert idle(left)


def test_a_block_does_its_own_tiles_in_its_own_lane() -> None:
    values = numbers(2, 900)
    kernel = allreduce_mesh(window(900), signal(2, 2))
    data = [v.copy() for v in values]
    run(kernel, data, cells(2, 2, 2), 1, 2, ranks=2)
    total = in_order(values, 0, ReduceOp.Sum)
    for rank in range(2):
        np.testing.assert_array_equal(data[rank][256:512], total[256:512])
        np.testing.assert_array_equal(data[rank][768:], total[768:])
        np.testing.assert_array_equal(data[rank][:256], values[rank][:256])
        np.testing.assert_array_equal(data[rank][512:768], values[rank][512:768])


def test_a_block_without_a_lane_touches_nothing() -> None:
    values, signals = numbers(2, 900), cells(2, 2, 2)
    data = [v.copy() for v in values]
    run(allreduce_mesh(window(900), signal(2, 2)), data, signals, 2, 4, ranks=2)
    np.testing.assert_array_equal(data, values)
    assert idle(signals)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_three_calls_on_one_signal(ranks: int, schedule: str) -> None:
    values = numbers(ranks, 300)
    kernel = allreduce_mesh(window(300), signal(ranks))
    found, left = run_kernel(kernel, [values, cells(ranks, ranks)], calls=3, blocks=1, schedule=schedule)
    assert idle(left)
    for _ in range(3):
        values = [in_order(values, rank, ReduceOp.Sum) for rank in range(ranks)]
    np.testing.assert_array_equal(found, values)


def test_one_rank_posts_nothing() -> None:
    values, signals = numbers(1, 40), cells(1, 1)
    data = [v.copy() for v in values]
    _, report = run(allreduce_mesh(window(40), signal(1)), data, signals, 0, 1, ranks=1, report=True)
    np.testing.assert_array_equal(data, values)
    assert report.statistics["posts"] == report.statistics["waits"] == 0


def test_more_than_sixteen_ranks_are_left_alone() -> None:
    values, signals = numbers(17, 4), cells(17, 17)
    data = [v.copy() for v in values]
    run(allreduce_mesh(window(4), signal(17)), data, signals, 0, 1, ranks=17)
    np.testing.assert_array_equal(data, values)
    assert idle(signals)


def test_the_same_bits_as_the_meaning() -> None:
    """Sums that depend on their order."""
    from pypto.ops.collectives import allreduce

    values = [v * 10.0**r for r, v in enumerate(numbers(4, 33))]
    values = [v.astype(np.float32) for v in values]
    meant = [v.copy() for v in values]
    allreduce(meant, int(ReduceOp.Sum), "mesh")
    found, _ = run_kernel(allreduce_mesh(window(33), signal(4)), [values, cells(4, 4)], blocks=1)
    np.testing.assert_array_equal(found, meant)
    assert len({f.tobytes() for f in found}) > 1


def test_too_few_lanes_are_refused() -> None:
    for type_ in (signal(4), signal(4, 2)):
        with pytest.raises(InvalidValueError, match="lanes"):
            allreduce_mesh(window(8), type_, core_num=3)


def test_another_element_type_is_refused() -> None:
    with pytest.raises(InvalidValueError, match="FP16 elements, the window holds FP32"):
        host_kernels.allreduce_mesh(window(8), signal(4), dtype=DataType.FP16)
