"""barrier, broadcast, reduce_scatter, allgather, all_to_all and all_to_all_v: numbers and cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto.ir.dtypes import DataType
from pypto.ir.enums import ParamDirection, ReduceOp
from pypto.ir.expr import Var
from pypto.ops.host_kernels import all_to_all, all_to_all_v, allgather, barrier, broadcast, reduce_scatter
from pypto.parser import parse
from pypto.runtime import run
from tests.ops.host_kernel_runs import SCHEDULES, calling, cells, idle, numbers, run_kernel, signal, window

RANKS = [1, 2, 3, 4, 8]


@pytest.mark.parametrize("ranks", RANKS)
def test_barrier(ranks: int) -> None:
    """Each rank posts to and waits for each other one in each call."""
    for shape in ((ranks,), (ranks, 1)):
        (left,) = run_kernel(barrier(signal(*shape)), [cells(ranks, *shape)], calls=3, schedule="random:0")
        assert idle(left)
    _, report = run(barrier(signal(ranks)), cells(ranks, ranks), ranks=ranks, report=True)
    assert report.statistics["waits"] == ranks * (ranks - 1)


_MARK = """
import pypto.language as pl
import pypto.language.distributed as pld


@pl.function(type=pl.FunctionType.InCore)
def mark(board: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]]):
    if pld.rank(pld.get_comm_ctx(board)) == 0:
        pl.store(pl.tile.full([1, 8], dtype=pl.FP32, value=7.0), [0, 0], board)
"""

_LOOK = """
import pypto.language as pl
import pypto.language.distributed as pld


@pl.function(type=pl.FunctionType.InCore)
def look(board: pld.DistributedTensor[[1, 8], pl.FP32], out: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    pl.store(pld.remote_load(board, 0, [0, 0], [1, 8]), [0, 0], out)
"""


@pytest.mark.parametrize("schedule", [*SCHEDULES, "random:2", "random:3"])
def test_nobody_leaves_a_barrier_before_all_have_come(schedule: str) -> None:
    """What the first rank writes before it comes is seen by all who have left, whoever goes on first."""
    kernel = barrier(signal(3))
    mark: Any = parse(_MARK)
    look: Any = parse(_LOOK)
    board, out, cell = Var("board", mark.params[0].type), Var("out", look.params[1].type), Var("signal", kernel.params[0].type)
    params = [(board, ParamDirection.InOut), (cell, ParamDirection.InOut), (out, ParamDirection.Out)]
    program = calling(params, [(mark, [board]), (kernel, [cell]), (look, [board, out])])
    seen = [np.zeros((1, 8), np.float32) for _ in range(3)]
    run(program, [np.zeros((1, 8), np.float32)] * 3, cells(3, 3), seen, ranks=3, schedule=schedule)
    np.testing.assert_array_equal(seen, np.full((3, 1, 8), 7.0))


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16])
def test_broadcast(ranks: int, dtype: DataType) -> None:
    for size in (1, 17, 257):
        values = numbers(ranks, size, dtype=dtype)
        root = ranks - 1
        kernel = broadcast(window(size, dtype=dtype), signal(ranks), root=root)
        for schedule in ("round_robin", "random:0"):
            found, left = run_kernel(kernel, [values, cells(ranks, ranks)], schedule=schedule)
            np.testing.assert_array_equal(found, [values[root]] * ranks)
            assert idle(left)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_broadcast_three_times(schedule: str) -> None:
    values = numbers(3, 2, 300)
    found, left = run_kernel(
        broadcast(window("rows", 300), signal(3, 1), root=1), [values, cells(3, 3, 1)], calls=3, schedule=schedule
    )
    np.testing.assert_array_equal(found, [values[1]] * 3)
    assert idle(left)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("columns", [1, 17, 257])
def test_reduce_scatter(ranks: int, columns: int) -> None:
    """Row r of rank r is summed up, own value first, then the others ascending; other rows stay."""
    values = numbers(ranks, ranks + 1, columns)
    for kernel in (
        reduce_scatter(window(ranks + 1, columns), signal(ranks)),
        reduce_scatter(window("rows", "columns"), signal("ranks")),
    ):
        for schedule in ("round_robin", "greedy", "random:0"):
            found, left = run_kernel(kernel, [values, cells(ranks, ranks)], schedule=schedule)
            for rank in range(ranks):
                wanted = values[rank].copy()
                for peer in range(ranks):
                    if peer != rank:
                        wanted[rank] = wanted[rank] + values[peer][rank]
                np.testing.assert_array_equal(found[rank], wanted)
            assert idle(left)


@pytest.mark.parametrize(("op", "reduce"), [(ReduceOp.Max, np.max), (ReduceOp.Min, np.min), (ReduceOp.Prod, np.prod)])
@pytest.mark.parametrize("dtype", [DataType.FP32, DataType.FP16])
def test_reduce_scatter_by_other_reductions(op: ReduceOp, reduce: Callable[..., Any], dtype: DataType) -> None:
    values = numbers(2, 2, 21, dtype=dtype)
    kernel = reduce_scatter(window(2, 21, dtype=dtype), signal(2), op=op)
    found, _ = run_kernel(kernel, [values, cells(2, 2)])
    wanted = reduce(np.asarray(values, np.float64), axis=0)
    for rank in range(2):
        np.testing.assert_allclose(found[rank][rank].astype(np.float64), wanted[rank], rtol=2e-3)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_reduce_scatter_three_times(schedule: str) -> None:
    values = numbers(3, 3, 20)
    found, left = run_kernel(reduce_scatter(window(3, 20), signal(3)), [values, cells(3, 3)], calls=3, schedule=schedule)
    assert idle(left)
    for _ in range(3):
        totals = [sum((values[p][r] for p in range(3) if p != r), values[r][r]) for r in range(3)]
        for rank in range(3):
            values[rank] = values[rank].copy()
            values[rank][rank] = totals[rank]
    np.testing.assert_allclose(found, values, rtol=1e-6)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("columns", [1, 17, 257])
def test_allgather(ranks: int, columns: int) -> None:
    mine, old = numbers(ranks, 1, columns), numbers(ranks, ranks, columns, seed=1)
    for kernel in (
        allgather(window(1, columns), window(ranks, columns), signal(ranks)),
        allgather(window(1, "n"), window("ranks", "n"), signal("ranks", 1)),
    ):
        shape = (ranks,) if len(kernel.params[2].type.shape) == 1 else (ranks, 1)  # type: ignore[attr-defined]
        for schedule in ("round_robin", "greedy", "random:0"):
            given, found, left = run_kernel(kernel, [mine, old, cells(ranks, *shape)], calls=3, schedule=schedule)
            np.testing.assert_array_equal(found, [np.concatenate(mine)] * ranks)
            np.testing.assert_array_equal(given, mine)
            assert idle(left)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("columns", [1, 17, 257])
def test_all_to_all(ranks: int, columns: int) -> None:
    mine, old = numbers(ranks, ranks, columns), numbers(ranks, ranks, columns, seed=1)
    for kernel in (
        all_to_all(window(ranks, columns), window(ranks, columns), signal(ranks)),
        all_to_all(window("ranks", "n"), window("ranks", "n"), signal("ranks")),
    ):
        for schedule in ("round_robin", "greedy", "random:0"):
            _, found, left = run_kernel(kernel, [mine, old, cells(ranks, ranks)], calls=3, schedule=schedule)
            for rank in range(ranks):
                np.testing.assert_array_equal(found[rank], [mine[sender][rank] for sender in range(ranks)])
            assert idle(left)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 17), (2, 257)])
def test_all_to_all_v_with_counts_above_the_capacity(ranks: int, rows: int, columns: int) -> None:
    mine, old = numbers(ranks, ranks * rows, columns), numbers(ranks, ranks * rows, columns, seed=1)
    counts = [np.asarray([(sender + receiver) % (rows + 3) for receiver in range(ranks)], np.int32) for sender in range(ranks)]
    for kernel, sent in (
        (
            all_to_all_v(
                window(ranks * rows, columns), window(ranks * rows, columns), signal(ranks, 1), signal(ranks), signal(ranks, 1)
            ),
            counts,
        ),
        (
            all_to_all_v(window("m", "n"), window("m", "n"), signal("ranks", 1), signal("ranks", 1), signal("ranks", 1)),
            [c.reshape(-1, 1) for c in counts],
        ),
    ):
        for schedule in ("round_robin", "greedy", "random:0"):
            _, found, left, _, received = run_kernel(
                kernel, [mine, old, cells(ranks, ranks, 1), sent, cells(ranks, ranks, 1)], schedule=schedule
            )
            assert idle(left)
            for rank in range(ranks):
                for sender in range(ranks):
                    used = min(int(counts[sender][rank]), rows)
                    assert received[rank][sender, 0] == used
                    np.testing.assert_array_equal(
                        found[rank][sender * rows : sender * rows + used], mine[sender][rank * rows : rank * rows + used]
                    )


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_all_to_all_v_three_times(schedule: str) -> None:
    kernel = all_to_all_v(window(6, 5), window(6, 5), signal(3, 1), signal(3), signal(3, 1))
    mine, counts = numbers(3, 6, 5), [np.asarray([2, 1, 9], np.int32)] * 3
    windows = [mine, numbers(3, 6, 5, seed=1), cells(3, 3, 1), counts, cells(3, 3, 1)]
    _, found, left, _, received = run_kernel(kernel, windows, calls=3, schedule=schedule)
    assert idle(left)
    for rank, used in enumerate((2, 1, 2)):
        assert received[rank].ravel().tolist() == [used] * 3
        for sender in range(3):
            np.testing.assert_array_equal(found[rank][2 * sender : 2 * sender + used], mine[sender][2 * rank : 2 * rank + used])
