"""Kernels that run on several ranks: arguments, results, schedules, reports."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.runtime import ArgumentError, ArgumentTypeError, RunError, ScheduleError, run, write_schedule

SCHEDULES = ("round_robin", "greedy", "random:0", "random:1", "random:2", "random:3")
N = pl.dynamic("N")
M = pl.dynamic("M")


@pl.function(type=pl.FunctionType.InCore)
def exchange(
    data: pld.DistributedTensor[[1, 8], pl.FP32],
    signal: pld.DistributedTensor[[8, 1], pl.INT32],
    out: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
):
    ctx = pld.get_comm_ctx(data)
    me = pl.cast(pld.rank(ctx), pl.INDEX)
    ranks = pl.cast(pld.nranks(ctx), pl.INDEX)
    for peer in pl.range(ranks):
        if peer != me:
            pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.Set)
    for src in pl.range(ranks):
        if src != me:
            pld.system.wait(signal, [src, 0], 1, cmp=pld.WaitCmp.Ge)
    total = pl.load(data, [0, 0], [1, 8])
    for peer in pl.range(ranks):
        if peer != me:
            total = pl.add(total, pld.remote_load(data, peer, [0, 0], [1, 8]))
    out = pl.store(total, [0, 0], out)
    return out


def rows(ranks: int) -> list[np.ndarray]:
    return [np.random.default_rng(r).uniform(-2, 2, (1, 8)).astype(np.float32) for r in range(ranks)]


def mesh_sum(values: list[np.ndarray], rank: int) -> np.ndarray:
    total = values[rank]
    for peer, value in enumerate(values):
        if peer != rank:
            total = total + value
    return total


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_sums_of_all_rows(ranks: int, schedule: str) -> None:
    data = rows(ranks)
    outs = [np.full((1, 8), 7, np.float32) for _ in range(ranks)]
    found = run(exchange, data, None, outs, ranks=ranks, schedule=schedule)
    assert isinstance(found, list) and len(found) == ranks
    for rank in range(ranks):
        assert found[rank] is outs[rank]
        np.testing.assert_array_equal(found[rank], mesh_sum(data, rank))


def test_64_ranks() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[64, 4], pl.INT32], signal: pld.DistributedTensor[[64, 1], pl.INT32]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        mine = pl.load(data, [me, 0], [1, 4])
        for peer in pl.range(pl.cast(pld.nranks(ctx), pl.INDEX)):
            pld.tile.remote_store(mine, data, peer, [me, 0])
            pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
        for src in pl.range(pl.cast(pld.nranks(ctx), pl.INDEX)):
            pld.system.wait(signal, [src, 0], 1, cmp=pld.WaitCmp.Ge)
        return data

    initial = []
    for rank in range(64):
        window = np.zeros((64, 4), np.int32)
        window[rank] = [rank, rank + 1, -rank, 5]
        initial.append(window)
    for schedule in ("round_robin", "greedy", "random:5"):
        found = run(kernel, initial, ranks=64, schedule=schedule)
        expected = np.stack([[r, r + 1, -r, 5] for r in range(64)])
        for window in found:
            np.testing.assert_array_equal(window, expected)


def test_omitted_windows_are_zeros() -> None:
    found = run(exchange, ranks=3)
    for part in found:
        np.testing.assert_array_equal(part, np.zeros((1, 8)))


def test_one_array_for_all_ranks() -> None:
    data = np.arange(8, dtype=np.float32).reshape(1, 8)
    out = np.zeros((1, 8), np.float32)
    found = run(exchange, data, None, out, ranks=4)
    for part in found:
        np.testing.assert_array_equal(part, 4 * data)
    np.testing.assert_array_equal(out, np.zeros((1, 8)))
    np.testing.assert_array_equal(data, np.arange(8).reshape(1, 8))


def test_one_rank_alone_gives_lists_too() -> None:
    data = np.arange(8, dtype=np.float32).reshape(1, 8)
    (only,) = run(exchange, [data])
    np.testing.assert_array_equal(only, data)


def test_a_window_is_returned_and_written_back() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def double(data: pl.InOut[pld.DistributedTensor[[2, 8], pl.FP32]], scale: pl.Scalar[pl.FP32]):
        t = pl.load(data, [0, 0], [1, 8])
        data = pl.store(pl.mul(t, scale), [1, 0], data)
        return data

    data = [np.arange(16, dtype=np.float32).reshape(2, 8) + r for r in range(2)]
    before = [d.copy() for d in data]
    found = run(double, data, [2.0, 3.0], ranks=2)
    for rank in range(2):
        assert found[rank] is data[rank]
        np.testing.assert_array_equal(data[rank][0], before[rank][0])
        np.testing.assert_array_equal(data[rank][1], before[rank][0] * (2 + rank))
    shared = before[0].copy()
    found = run(double, shared, 2.0, ranks=2)
    np.testing.assert_array_equal(shared, before[0])
    np.testing.assert_array_equal(found[1][1], before[0][0] * 2)


def test_a_local_function_on_several_ranks() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def scaled(x: pl.Tensor[[1, 8], pl.FP32], o: pl.Out[pl.Tensor[[1, 8], pl.FP32]], by: pl.Scalar[pl.FP32]):
        o = pl.store(pl.mul(pl.load(x, [0, 0], [1, 8]), by), [0, 0], o)
        return o, by

    x = np.ones((1, 8), np.float32)
    arrays, numbers = run(scaled, x, np.zeros((1, 8), np.float32), [1.0, 2.0, 3.0], ranks=3)
    assert [float(a[0, 0]) for a in arrays] == [1, 2, 3]
    assert [float(n) for n in numbers] == [1, 2, 3]


def test_lists_of_the_wrong_length() -> None:
    with pytest.raises(ArgumentError, match=r"'data' must be one value, or a list of 3 for the ranks; got a list of 2"):
        run(exchange, rows(2), ranks=3)
    with pytest.raises(
        ArgumentError, match=r"rank 1: exchange: the argument for 'data' must have the shape \[1, 8\], got \[1, 9\]"
    ):
        run(exchange, [np.zeros((1, 8), np.float32), np.zeros((1, 9), np.float32)], ranks=2)
    with pytest.raises(ArgumentTypeError, match="must hold FP32"):
        run(exchange, np.zeros((1, 8)), ranks=2)


def test_symbolic_windows() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def first(data: pld.DistributedTensor[[1, N], pl.FP32]):
        data = pl.store(pl.add(pl.load(data, [0, 0], [1, 8]), 1.0), [0, 0], data)
        return data

    with pytest.raises(ArgumentError, match="'data' was left out, but its dimension 'N' is not known") as caught:
        run(first, ranks=2)
    assert caught.value.hint == "give the window array"
    found = run(first, np.zeros((1, 12), np.float32), ranks=2)
    np.testing.assert_array_equal(found[1], [[1] * 8 + [0] * 4])
    with pytest.raises(
        ArgumentError, match=r"windows for 'data' must have one shape on all ranks, got \[1, 8\] on rank 0 and \[1, 9\]"
    ):
        run(first, [np.zeros((1, 8), np.float32), np.zeros((1, 9), np.float32)], ranks=2)


def test_a_report() -> None:
    data = rows(2)
    found, report = run(exchange, data, ranks=2, report=True)
    assert list(report.windows) == ["data"] and list(report.signals) == ["signal"]
    np.testing.assert_array_equal(report.windows["data"], data)
    signals = np.zeros((2, 8, 1), np.int32)
    signals[0, 1] = signals[1, 0] = 1
    np.testing.assert_array_equal(report.signals["signal"], signals)
    assert report.statistics["posts"] == 2
    assert report.statistics["waits"] == 2
    assert report.statistics["bytes_moved"] == 2 * 32
    assert report.statistics["ranks"] == 2
    assert report.statistics["steps"] == len(report.schedule) > 0
    assert report.findings == ()
    assert len(found) == 2


@pytest.mark.parametrize("schedule", ["round_robin", "greedy", "random:11"])
def test_a_run_is_replayed(schedule: str, tmp_path) -> None:
    data = rows(3)
    found, report = run(exchange, data, ranks=3, schedule=schedule, report=True)
    path = tmp_path / "turns"
    write_schedule(path, report.schedule)
    again, second = run(exchange, data, ranks=3, schedule=f"replay:{path}", report=True)
    assert list(second.schedule) == list(report.schedule)
    np.testing.assert_array_equal(again, found)


def test_seeds_give_other_orders_and_the_same_ones_again() -> None:
    orders = [tuple(run(exchange, ranks=4, schedule=f"random:{seed}", report=True)[1].schedule) for seed in (0, 1, 2, 0)]
    assert len(set(orders)) == 3
    assert orders[0] == orders[3]


def test_a_schedule_that_does_not_fit(tmp_path) -> None:
    path = tmp_path / "turns"
    write_schedule(path, [0, 0, 0, 5])
    with pytest.raises(ScheduleError, match=r"turn \d of the schedule is rank \d's, which cannot go on there"):
        run(exchange, ranks=2, schedule=f"replay:{path}")
    write_schedule(path, [-1])
    with pytest.raises(ScheduleError, match="delivers a write of rank 0, which has none under way"):
        run(exchange, ranks=2, schedule=f"replay:{path}")
    with pytest.raises(ArgumentError, match="cannot be read"):
        run(exchange, ranks=2, schedule=f"replay:{tmp_path / 'missing'}")
    path.write_text("0 1 two")
    with pytest.raises(ArgumentError, match="holds no schedule"):
        run(exchange, ranks=2, schedule=f"replay:{path}")


def test_kernels_that_call_kernels() -> None:
    @pl.program
    class Nested:
        @pl.function(type=pl.FunctionType.InCore)
        def meet(self, signal: pld.DistributedTensor[[4, 1], pl.INT32], epoch: pl.Scalar[pl.INT32]):
            ctx = pld.get_comm_ctx(signal)
            me = pl.cast(pld.rank(ctx), pl.INDEX)
            for peer in pl.range(pl.cast(pld.nranks(ctx), pl.INDEX)):
                if peer != me:
                    pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
            for src in pl.range(pl.cast(pld.nranks(ctx), pl.INDEX)):
                if src != me:
                    pld.system.wait(signal, [src, 0], epoch, cmp=pld.WaitCmp.Ge)
            return signal

        @pl.function(type=pl.FunctionType.InCore)
        def push(self, data: pld.DistributedTensor[[4, 8], pl.FP32], x: pl.Tensor[[1, 8], pl.FP32]):
            ctx = pld.get_comm_ctx(data)
            me = pl.cast(pld.rank(ctx), pl.INDEX)
            t = pl.load(x, [0, 0], [1, 8])
            for peer in pl.range(pl.cast(pld.nranks(ctx), pl.INDEX)):
                pld.tile.remote_store(t, data, peer, [me, 0])
            return data

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(
            self,
            x: pl.Tensor[[1, 8], pl.FP32],
            data: pld.DistributedTensor[[4, 8], pl.FP32],
            signal: pld.DistributedTensor[[4, 1], pl.INT32],
        ):
            signal = self.meet(signal, pl.const(1, pl.INT32))
            data = self.push(data, x)
            signal = self.meet(signal, pl.const(2, pl.INT32))
            return data

    x = rows(4)
    for schedule in SCHEDULES:
        found = run(Nested, x, ranks=4, schedule=schedule)
        for window in found:
            np.testing.assert_array_equal(window, np.concatenate(x))


def test_reads_of_a_window_inside_conditions() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def spin(
        data: pld.DistributedTensor[[1, 8], pl.INT32], signal: pld.DistributedTensor[[2, 1], pl.INT32]
    ) -> pl.Scalar[pl.INT32]:
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        turns: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
        if me == 0:
            pld.system.notify(data, 1, [0, 3], 4, op=pld.NotifyOp.Set)
        else:
            while pl.read(data, [0, 3]) < 4 and pl.read(data, [0, 2]) == 0:
                turns = turns + 1
        return turns

    found = run(spin, ranks=2, schedule="round_robin")
    assert found[0] == 0
    assert found[1] <= 2
    assert run(spin, ranks=2, schedule="greedy") == [0, 0]


def test_deep_loops_around_waits() -> None:
    names = [f"i{d}" for d in range(18)]
    text = [
        "@pl.function(type=pl.FunctionType.InCore)",
        "def deep(signal: pld.DistributedTensor[[2, 1], pl.INT32]):",
        "    ctx = pld.system.get_comm_ctx(signal)",
        "    me = pl.cast(pld.system.rank(ctx), pl.INDEX)",
    ]
    for depth, name in enumerate(names):
        text.append("    " * (depth + 1) + f"for {name} in pl.range({2 if depth in (0, 17) else 1}):")
    inner = "    " * (len(names) + 1)
    text.append(inner + "pld.system.notify(signal, 1 - me, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)")
    text.append(inner + "pld.system.wait(signal, [1 - me, 0], pl.cast(2 * i0 + i17 + 1, pl.INT32), cmp=pld.WaitCmp.Ge)")
    text.append("    return signal")
    function = pl.parse("\n".join(text))
    for schedule in ("round_robin", "random:1"):
        found = run(function, ranks=2, schedule=schedule)
        np.testing.assert_array_equal(found[0], [[0], [4]])


def test_contexts_are_made_when_omitted() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[1, 8], pl.INT32], ctx: pld.CommCtx) -> pl.Scalar[pl.INT32]:
        return pld.rank(ctx) * 10 + pld.nranks(ctx)

    assert run(kernel, ranks=3) == [3, 13, 23]


def test_a_slice_that_is_a_copy_is_no_window() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[4, 8], pl.FP32], at: pl.Scalar[pl.INDEX]):
        part = pl.slice(data, [2, 8], [at, 0], valid_shape=[1, 8])
        t = pld.remote_load(part, 0, [0, 0], [1, 8])
        data = pl.store(t, [0, 0], data)
        return data

    initial = [np.full((4, 8), r, np.float32) for r in range(2)]
    initial[0][3] = 9
    found = run(kernel, initial, 2, ranks=2)
    assert found[1][0, 0] == 0
    with pytest.raises(RunError, match="this operand is a copy, not a view of a window") as caught:
        run(kernel, initial, 3, ranks=2)
    assert caught.value.operator == "pld.tile.remote_load"
