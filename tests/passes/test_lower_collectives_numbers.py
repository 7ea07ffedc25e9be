"""Lowered collectives run on several ranks, under several schedules and both protocols, against NumPy and bit for bit.

Sizes and element types of allreduce are in ``tests/runtime/test_lowered_collectives.py``; here are the other collectives, repeated calls
on one signal, and extents that are known at run time only. ``make fuzz`` takes many more schedules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest
from collective_kernels import (
    all_to_all,
    all_to_all_v,
    allgather,
    allgather_of_a_tile,
    allreduce,
    barrier,
    broadcast,
    reduce_scatter,
)

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes, runtime

SCHEDULES = ("round_robin", "greedy", "random:5")
MANY = ("round_robin", "greedy", *(f"random:{seed}" for seed in range(18)))
PROTOCOLS = ("single_shot", "credit")
RANKS = (1, 2, 3, 4)
SIZES = (1, 8, 17, 300)


def numbers(ranks: int, *shape: int, dtype: Any = np.float32) -> list[np.ndarray]:
    return [np.random.default_rng(100 * r + len(shape)).uniform(-2, 2, shape).astype(dtype) for r in range(ranks)]


def row_sum(x: Sequence[np.ndarray], rank: int) -> np.ndarray:
    """The rank's own row, then those of its peers, ascending."""
    return reduce(np.add, [x[rank][rank], *(x[p][rank] for p in range(len(x)) if p != rank)])


Case = Callable[[int, int], tuple[ir.Program, list[Any], list[np.ndarray], int]]
"""For ranks and a size: the program, its arguments, the result of each rank and the count in each cell of a single-shot signal."""


def gathered(ranks: int, size: int) -> Any:
    x = numbers(ranks, 1, size)
    return allgather(ranks, size), [x, None, None], [np.concatenate(x)] * ranks, 1


def gathered_tiles(ranks: int, size: int) -> Any:
    x = numbers(ranks, 1, size)
    return allgather_of_a_tile(ranks, size), [x, None, None], [np.concatenate(x) + np.float32(1)] * ranks, 1


def exchanged(ranks: int, size: int) -> Any:
    x = numbers(ranks, ranks, size)
    return all_to_all(ranks, size), [x, None, None], [np.stack([part[r] for part in x]) for r in range(ranks)], 1


def exchanged_blocks(ranks: int, size: int) -> Any:
    rows = 3
    x = numbers(ranks, ranks * rows, size)
    counts = [np.full(ranks, rows, np.int32)] * ranks
    wanted = [np.concatenate([part[r * rows : (r + 1) * rows] for part in x]) for r in range(ranks)]
    return all_to_all_v(ranks, rows, size), [x, None, None, counts, None], wanted, 1


def scattered(ranks: int, size: int) -> Any:
    x = numbers(ranks, ranks, size)
    wanted = [part.copy() for part in x]
    for r in range(ranks):
        wanted[r][r] = row_sum(x, r)
    return reduce_scatter(ranks, size), [x, None], wanted, 2


def sent(ranks: int, size: int) -> Any:
    x = numbers(ranks, 2, size)
    root = ranks - 1
    return broadcast(ranks, root, (2, size)), [x, None], [x[root]] * ranks, 1


CASES: dict[str, Case] = {
    "allgather": gathered,
    "allgather of a tile": gathered_tiles,
    "all_to_all": exchanged,
    "all_to_all_v": exchanged_blocks,
    "reduce_scatter": scattered,
    "broadcast": sent,
}


def copied(arguments: list[Any]) -> list[Any]:
    return [[np.copy(a) for a in each] if isinstance(each, list) else each for each in arguments]


def check(name: str, ranks: int, size: int, schedules: Sequence[str], whole: bool = True) -> None:
    before, arguments, wanted, count = CASES[name](ranks, size)
    stages = {signals: passes.lower_composite_ops(signals=signals)(before) for signals in PROTOCOLS}
    if whole:
        stages["whole"] = before
    for stage, program in stages.items():
        for schedule in schedules:
            found, report = runtime.run(program, *copied(arguments), ranks=ranks, schedule=schedule, report=True, check=True)
            found = [found] if ranks == 1 and not isinstance(found, list) else found
            for rank in range(ranks):
                np.testing.assert_array_equal(found[rank], wanted[rank], err_msg=f"{stage}, rank {rank}, {schedule}")
            assert not report.findings
            if stage == "whole":
                continue
            for rank, cells in enumerate(report.signals["signal"]):
                others = np.arange(ranks) != rank
                assert (cells[:, 0] == (count * others if stage == "single_shot" else 0)).all()


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", CASES)
def test_results_and_signals(name: str, size: int, ranks: int) -> None:
    check(name, ranks, size, SCHEDULES)


@pytest.mark.fuzz
@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
@pytest.mark.parametrize("size", [*SIZES, 4097, 20000])
@pytest.mark.parametrize("name", CASES)
def test_results_and_signals_under_many_schedules(name: str, size: int, ranks: int) -> None:
    check(name, ranks, size, MANY, whole=False)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("signals", PROTOCOLS)
def test_barrier(signals: str, ranks: int) -> None:
    program = passes.lower_composite_ops(signals=signals)(barrier(ranks))
    for schedule in SCHEDULES:
        _, report = runtime.run(program, None, ranks=ranks, schedule=schedule, report=True, check=True)
        for rank, cells in enumerate(report.signals["signal"]):
            assert (cells[:, 0] == ((np.arange(ranks) != rank) if signals == "single_shot" else 0)).all()


# -- one signal, many calls ----------------------------------------------------------------------------------------------------------


def repeated(ranks: int, size: int, mode: str, calls: int) -> ir.Program:
    signal = [ranks, 1] if mode == "mesh" else [2 * (ranks - 1), ranks]

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[1, size], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]]
    ):
        for _ in pl.range(calls):
            data = pld.tensor.allreduce(data, signal, mode=mode)
        data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Max, mode=mode)
        return data

    return ir.Program([kernel], "P")


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("size", [5, 4100])
@pytest.mark.parametrize("mode", ["mesh", "ring"])
def test_allreduce_in_a_loop_gives_its_credits_back(mode: str, size: int, ranks: int) -> None:
    program = passes.lower_composite_ops(signals="credit")(repeated(ranks, size, mode, 3))
    data = [np.full((1, size), r + 1, np.float32) for r in range(ranks)]
    total = sum(range(1, ranks + 1)) * ranks**2
    for schedule in SCHEDULES:
        found, report = runtime.run(program, copied([data])[0], None, ranks=ranks, schedule=schedule, report=True, check=True)
        for part in found:
            np.testing.assert_array_equal(part, np.full((1, size), total, np.float32))
        assert not any(cells.any() for cells in report.signals["signal"])
        assert not report.findings


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_every_collective_on_one_signal_with_credits(ranks: int) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[1, 16], pl.FP32],
        rows: pl.Tensor[[ranks, 16], pl.FP32],
        gathered: pl.InOut[pld.DistributedTensor[[ranks, 16], pl.FP32]],
        exchanged: pl.InOut[pld.DistributedTensor[[ranks, 16], pl.FP32]],
        scattered: pl.InOut[pld.DistributedTensor[[ranks, 16], pl.FP32]],
        sent: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        for i in pl.range(2):
            gathered = pld.tensor.allgather(x, gathered, signal)
            pld.tensor.barrier(signal)
            exchanged = pld.tensor.all_to_all(rows, exchanged, signal)
            if i == 0:
                scattered = pld.tensor.reduce_scatter(scattered, signal)
            sent = pld.tensor.allreduce(sent, signal)
            sent = pld.tensor.broadcast(sent, signal, root=0)
            signal = pld.tensor.barrier(signal)
        return gathered, exchanged, scattered, sent

    before = ir.Program([kernel], "P")
    program = passes.lower_composite_ops(signals="credit")(before)
    x, rows, parts = numbers(ranks, 1, 16), numbers(ranks, ranks, 16), numbers(ranks, ranks, 16)
    ones = [np.ones((1, 16), np.float32) for _ in range(ranks)]
    for schedule in SCHEDULES:
        arguments = copied([x, rows, None, None, parts, ones, None])
        found, report = runtime.run(program, *arguments, ranks=ranks, schedule=schedule, report=True, check=True)
        for rank in range(ranks):
            np.testing.assert_array_equal(found[0][rank], np.concatenate(x))
            np.testing.assert_array_equal(found[1][rank], np.stack([r[rank] for r in rows]))
            np.testing.assert_array_equal(found[2][rank][rank], row_sum(parts, rank))
            np.testing.assert_array_equal(found[3][rank], ones[0] * np.float32(ranks**2))
        assert not any(cells.any() for cells in report.signals["signal"])
        assert not report.findings


def test_a_second_call_on_a_single_shot_signal_is_reported() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
        for _ in pl.range(2):
            signal = pld.tensor.barrier(signal)
        return signal

    program = passes.lower_composite_ops()(ir.Program([kernel], "P"))
    with pytest.warns(runtime.SignalReuseWarning, match="has used up"):
        runtime.run(program, None, ranks=2)


# -- the counts of a ring, and extents of run time -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "ranks", "chunks"), [(1, 2, 1), (17, 4, 1), (8200, 2, 2), (40000, 2, 5)])
def test_cells_of_a_ring_hold_two_posts_for_each_chunk(size: int, ranks: int, chunks: int) -> None:
    program = passes.lower_composite_ops()(allreduce([1, size], [2 * (ranks - 1), ranks], mode="ring"))
    _, report = runtime.run(program, np.ones((1, size), np.float32), None, ranks=ranks, report=True)
    for rank, cells in enumerate(report.signals["signal"]):
        expected = np.tile(2 * chunks * (np.arange(ranks) != rank), (2 * (ranks - 1), 1))
        np.testing.assert_array_equal(cells, expected)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
@pytest.mark.parametrize("mode", ["mesh", "ring"])
@pytest.mark.parametrize("size", [1, 33, 9000])
def test_extents_known_at_run_time(size: int, mode: str, dtype: str, ranks: int) -> None:
    n = pl.dynamic("n")
    signal = [ranks, 1] if mode == "mesh" else [2 * (ranks - 1), ranks]
    known = passes.lower_composite_ops()(allreduce([2, size], signal, getattr(pl, dtype), mode=mode))
    later = passes.lower_composite_ops()(allreduce([2, n], signal, getattr(pl, dtype), mode=mode))
    data = numbers(ranks, 2, size, dtype={"FP32": np.float32, "FP16": np.float16}[dtype])
    one = runtime.run(known, copied([data])[0], None, ranks=ranks)
    two = runtime.run(later, copied([data])[0], None, ranks=ranks, schedule="random:3", check=True)
    exact = np.sum([d.astype(np.float64) for d in data], axis=0)
    for rank in range(ranks):
        np.testing.assert_array_equal(one[rank], two[rank])
        limit = 2e-2 if dtype == "FP16" else 1e-5
        np.testing.assert_allclose(one[rank].astype(np.float64), exact, rtol=limit, atol=limit)


def test_a_tile_that_is_ready_late_is_still_what_arrives() -> None:
    """The pushed tile is computed before the pushes; what arrives is the computed value on every rank."""
    program = passes.lower_composite_ops()(allgather_of_a_tile(3, 24))
    x = numbers(3, 1, 24)
    for schedule in MANY:
        for part in runtime.run(program, x, None, None, ranks=3, schedule=schedule):
            np.testing.assert_array_equal(part, np.concatenate(x) + np.float32(1))
