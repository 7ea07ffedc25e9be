"""Lowered collectives on several ranks against NumPy: sizes, element types and rank counts of the specification, bit for bit.

The reference adds in the order that the documents give: a mesh its own value, then its peers ascending; a ring along the ring.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes, runtime

REDUCE = pld.ReduceOp
FUNCTIONS = {REDUCE.Sum: np.add, REDUCE.Max: np.maximum, REDUCE.Min: np.minimum, REDUCE.Prod: np.multiply}
SCHEDULES = ("round_robin", "greedy", "random:11")
SIZES = [
    ("mesh", "FP32", (1, 17, 4097, 65537)),
    ("mesh", "FP16", (1, 17, 8193)),
    ("ring", "FP32", (1, 17, 4097, 65537)),
    ("ring", "FP16", (1, 17, 8193, 32769)),
]
CASES = [(mode, dtype, size) for mode, dtype, sizes in SIZES for size in sizes]
LARGE = 20000
"""From this size on, few ranks and schedules: the search in ``make fuzz`` takes all."""


def kernel(size: int, ranks: int, dtype: Any, op: Any, mode: str) -> ir.Program:
    signal = [ranks, 1] if mode == "mesh" else [2 * (ranks - 1), ranks]

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[1, size], dtype]], signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]]
    ):
        data = pld.tensor.allreduce(data, signal, op=op, mode=mode)
        return data

    return ir.Program([kernel], "P")


def values(size: int, ranks: int, dtype: str, op: Any) -> list[Any]:
    random = np.random.default_rng(size + ranks)
    spread = (0.5, 1.5) if op is REDUCE.Prod else (-2, 2)
    target = np.float16 if dtype == "FP16" else np.float32
    return [random.uniform(*spread, (1, size)).astype(target) for _ in range(ranks)]


def mesh(x: Sequence[Any], op: Any) -> list[Any]:
    function = FUNCTIONS[op]
    return [reduce(function, [x[r], *(x[p] for p in range(len(x)) if p != r)]) for r in range(len(x))]


def ring(x: Sequence[Any], op: Any, aligned: bool) -> list[Any]:
    ranks, size = len(x), x[0].size
    function = FUNCTIONS[op]
    if aligned:
        bounds = [min(-(-i * size // (16 * ranks)) * 16, size) for i in range(ranks + 1)]
    else:
        bounds = [i * size // ranks for i in range(ranks + 1)]
    result = np.empty_like(x[0])
    for segment in range(ranks):
        part = slice(bounds[segment], bounds[segment + 1])
        order = [(segment + k) % ranks for k in range(1, ranks + 1)]
        total = x[order[0]][:, part]
        for rank in order[1:]:
            total = function(x[rank][:, part], total)
        result[:, part] = total
    return [result] * ranks


def expected(x: Sequence[Any], op: Any, mode: str) -> list[Any]:
    return mesh(x, op) if mode == "mesh" else ring(x, op, x[0].dtype == np.float16)


def check(mode: str, dtype: str, size: int, ranks: int, op: Any, signals: str, schedules: Sequence[str]) -> None:
    program = passes.lower_composite_ops(signals=signals)(kernel(size, ranks, getattr(pl, dtype), op, mode))
    x = values(size, ranks, dtype, op)
    wanted = expected(x, op, mode)
    exact = reduce(FUNCTIONS[op], [v.astype(np.float64) for v in x])
    chunk = 4096 if dtype == "FP32" else 8192
    for schedule in schedules:
        windows = [v.copy() for v in x]
        found, report = runtime.run(program, windows, None, ranks=ranks, schedule=schedule, report=True, check=size < LARGE)
        for rank in range(ranks):
            np.testing.assert_array_equal(found[rank], wanted[rank], err_msg=f"rank {rank} under {schedule}")
            np.testing.assert_array_equal(windows[rank], wanted[rank])
        limit = 2e-2 if dtype == "FP16" else 1e-5
        np.testing.assert_allclose(found[0].astype(np.float64), exact, rtol=limit, atol=limit)
        for rank, cells in enumerate(report.signals["signal"]):
            if signals == "credit":
                assert not cells.any()
            elif mode == "mesh":
                others = np.arange(ranks) != rank
                assert (cells[:, 0] == (1 + -(-size // chunk)) * others).all()
    assert not report.findings


@pytest.mark.parametrize(
    ("mode", "dtype", "size", "ranks"),
    [(*case, ranks) for case in CASES for ranks in (1, 2, 3, 4) if case[0] == "mesh" or ranks > 1],
)
def test_sums(mode: str, dtype: str, size: int, ranks: int) -> None:
    schedules = SCHEDULES if size < LARGE else SCHEDULES[:1]
    check(mode, dtype, size, ranks, REDUCE.Sum, "single_shot", schedules)


@pytest.mark.parametrize("op", [REDUCE.Max, REDUCE.Min, REDUCE.Prod])
@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
@pytest.mark.parametrize("mode", ["mesh", "ring"])
def test_other_reductions(mode: str, dtype: str, op: Any) -> None:
    check(mode, dtype, 33, 3, op, "single_shot", SCHEDULES)


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("mode", ["mesh", "ring"])
def test_with_credits(mode: str, ranks: int) -> None:
    check(mode, "FP32", 4097, ranks, REDUCE.Sum, "credit", SCHEDULES)
    check(mode, "FP16", 17, ranks, REDUCE.Sum, "credit", SCHEDULES)


@pytest.mark.parametrize("ranks", [5, 8, 16])
def test_more_ranks_than_elements(ranks: int) -> None:
    for mode in ("mesh", "ring"):
        check(mode, "FP32", 3, ranks, REDUCE.Sum, "single_shot", SCHEDULES)


@pytest.mark.fuzz
@pytest.mark.parametrize("signals", ["single_shot", "credit"])
@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
@pytest.mark.parametrize(("mode", "dtype", "size"), CASES)
def test_everything(mode: str, dtype: str, size: int, ranks: int, op: Any, signals: str) -> None:
    check(mode, dtype, size, ranks, op, signals, ["round_robin", "greedy", *(f"random:{s}" for s in range(18))])


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(
    ("shape", "valid", "mode"),
    [([4, 6, 8], [1, 6, 5], "mesh"), ([48, 48], [3, 40], "mesh"), ([4, 6, 8], [2, 6, 8], "ring"), ([4, 6, 8], [1, 1, 5], "ring")],
)
def test_a_part_of_a_window(shape: list[int], valid: list[int], mode: str, ranks: int) -> None:
    signal = [ranks, 1] if mode == "mesh" else [2 * (ranks - 1), ranks]

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[shape, pl.FP32, pl.TensorView(valid_shape=valid)]],
        signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]],
    ):
        data = pld.tensor.allreduce(data, signal, mode=mode)
        return data

    before = ir.Program([kernel], "P")
    random = np.random.default_rng(3)
    x = [random.normal(size=shape).astype(np.float32) for _ in range(ranks)]
    part = tuple(slice(0, e) for e in valid)
    flat = expected([v[part].reshape(1, -1) for v in x], REDUCE.Sum, mode)
    for program in (before, passes.lower_composite_ops()(before)):
        for schedule in SCHEDULES:
            windows = [v.copy() for v in x]
            runtime.run(program, windows, None, ranks=ranks, schedule=schedule, check=True)
            for rank in range(ranks):
                np.testing.assert_array_equal(windows[rank][part].reshape(1, -1), flat[rank])
                outside = np.ones(shape, bool)
                outside[part] = False
                np.testing.assert_array_equal(windows[rank][outside], x[rank][outside])


def test_sixty_four_ranks() -> None:
    program = passes.lower_composite_ops()(kernel(1024, 64, pl.FP32, REDUCE.Sum, "mesh"))
    for total in runtime.run(program, np.ones((1, 1024), np.float32), None, ranks=64):
        assert (total == 64).all()
