"""Collectives that are not lowered: run by their meaning, on any number of ranks and under any schedule."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.runtime import PoisonError, RunError, run

SCHEDULES = ("round_robin", "greedy", "random:0", "random:1")
NR = pl.dynamic("NR")


def values(ranks: int, shape: tuple[int, ...], dtype: object = np.float32) -> list[np.ndarray]:
    return [np.random.default_rng(r).uniform(-2, 2, shape).astype(dtype) for r in range(ranks)]


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Prod"])
def test_allreduce(op: str, ranks: int, schedule: str) -> None:
    text = f"""
@pl.function(type=pl.FunctionType.InCore)
def kernel(data: pld.DistributedTensor[[2, 17], pl.FP16], signal: pld.DistributedTensor[[8, 1], pl.INT32]):
    data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.{op})
    return data
"""
    data = values(ranks, (2, 17), np.float16)
    found = run(pl.parse(text), data, ranks=ranks, schedule=schedule)
    function = {"Sum": np.add, "Max": np.maximum, "Min": np.minimum, "Prod": np.multiply}[op]
    for rank in range(ranks):
        expected = data[rank]
        for peer in range(ranks):
            if peer != rank:
                expected = function(expected, data[peer])
        np.testing.assert_array_equal(found[rank], expected)


def test_allreduce_of_what_is_valid() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pld.DistributedTensor[[4, 8], pl.FP32, pl.TensorView(valid_shape=[2, 8], layout=pl.TensorLayout.ND)],
        signal: pld.DistributedTensor[[3, 1], pl.INT32],
    ):
        data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
        return data

    data = values(3, (4, 8))
    found = run(kernel, data, ranks=3)
    for rank in range(3):
        np.testing.assert_allclose(found[rank][:2], sum(d[:2].astype(np.float64) for d in data), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(found[rank][2:], data[rank][2:])


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_the_ring_and_its_signal(ranks: int) -> None:
    text = f"""
@pl.function(type=pl.FunctionType.InCore)
def kernel(data: pld.DistributedTensor[[1, 17], pl.FP32], signal: pld.DistributedTensor[[{2 * (ranks - 1)}, {ranks}], pl.INT32]):
    data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum, mode="ring")
    return data
"""
    data = values(ranks, (1, 17))
    found = run(pl.parse(text), data, ranks=ranks)
    for part in found:
        np.testing.assert_allclose(part, np.sum(data, axis=0, dtype=np.float64), rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(part, found[0])
    with pytest.raises(RunError, match=f"made for a ring of {ranks} ranks, the run has {ranks + 1}"):
        run(pl.parse(text), values(ranks + 1, (1, 17)), ranks=ranks + 1)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_others(schedule: str) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        mine: pl.Tensor[[1, 8], pl.FP32],
        all_mine: pl.Tensor[[3, 8], pl.FP32],
        gathered: pld.DistributedTensor[[3, 8], pl.FP32],
        gathered_tile: pld.DistributedTensor[[3, 8], pl.FP32],
        exchanged: pld.DistributedTensor[[3, 8], pl.FP32],
        scattered: pld.DistributedTensor[[3, 8], pl.FP32],
        sent: pld.DistributedTensor[[2, 8], pl.FP32],
        s0: pld.DistributedTensor[[3, 1], pl.INT32],
        s1: pld.DistributedTensor[[3, 1], pl.INT32],
        s2: pld.DistributedTensor[[3, 1], pl.INT32],
        s3: pld.DistributedTensor[[3, 1], pl.INT32],
        s4: pld.DistributedTensor[[3, 1], pl.INT32],
        s5: pld.DistributedTensor[[3, 1], pl.INT32],
    ):
        gathered = pld.tensor.allgather(mine, gathered, s0)
        gathered_tile = pld.tensor.allgather(pl.mul(pl.load(mine, [0, 0], [1, 8]), 2.0), gathered_tile, s1)
        exchanged = pld.tensor.all_to_all(all_mine, exchanged, s2)
        scattered = pld.tensor.reduce_scatter(scattered, s3, op=pld.ReduceOp.Sum)
        sent = pld.tensor.broadcast(sent, s4, root=1)
        s5 = pld.tensor.barrier(s5)
        return gathered, gathered_tile, exchanged, scattered, sent

    mine, all_mine, scattered, sent = values(3, (1, 8)), values(3, (3, 8)), values(3, (3, 8)), values(3, (2, 8))
    results, report = run(kernel, mine, all_mine, None, None, None, scattered, sent, ranks=3, schedule=schedule, report=True)
    for rank in range(3):
        np.testing.assert_array_equal(results[0][rank], np.concatenate(mine))
        np.testing.assert_array_equal(results[1][rank], 2 * np.concatenate(mine))
        np.testing.assert_array_equal(results[2][rank], np.stack([a[rank] for a in all_mine]))
        expected = scattered[rank].copy()
        others = [p for p in range(3) if p != rank]
        expected[rank] = scattered[rank][rank] + scattered[others[0]][rank] + scattered[others[1]][rank]
        np.testing.assert_array_equal(results[3][rank], expected)
        np.testing.assert_array_equal(results[4][rank], sent[1])
    assert set(report.signals) == {"s0", "s1", "s2", "s3", "s4", "s5"}
    assert set(report.windows) == {"gathered", "gathered_tile", "exchanged", "scattered", "sent"}


def test_all_to_all_v() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        mine: pl.Tensor[[4, 8], pl.FP32],
        target: pld.DistributedTensor[[4, 8], pl.FP32],
        signal: pld.DistributedTensor[[2, 1], pl.INT32],
        counts: pl.Tensor[[2], pl.INT32],
        received: pld.DistributedTensor[[2, 1], pl.INT32],
    ):
        target = pld.tensor.all_to_all_v(mine, target, signal, counts, received)
        return target, received

    mine = values(2, (4, 8))
    counts = [np.array([1, 5], np.int32), np.array([0, 2], np.int32)]
    (target, received), report = run(kernel, mine, None, None, counts, None, ranks=2, report=True)
    for rank in range(2):
        np.testing.assert_array_equal(target[rank][:2], mine[0][2 * rank : 2 * rank + 2])
        np.testing.assert_array_equal(target[rank][2:], mine[1][2 * rank : 2 * rank + 2])
    np.testing.assert_array_equal(received, [[[1], [0]], [[2], [2]]])
    assert set(report.signals) == {"signal"}


def test_a_collective_in_a_loop_and_in_branches() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[1, 8], pl.INT32], signal: pld.DistributedTensor[[3, 1], pl.INT32]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        for step in pl.range(3):
            t = pl.tile.full([1, 8], dtype=pl.INT32, value=1)
            if me == step:
                data = pl.store(pl.add(pl.load(data, [0, 0], [1, 8]), t), [0, 0], data)
                data = pld.tensor.broadcast(data, signal, root=2)
            else:
                data = pld.tensor.broadcast(data, signal, root=2)
        return data

    for schedule in SCHEDULES:
        found = run(kernel, [np.full((1, 8), 10 * r, np.int32) for r in range(3)], ranks=3, schedule=schedule)
        for part in found:
            np.testing.assert_array_equal(part, np.full((1, 8), 21))


def test_the_root_must_exist() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[1, 8], pl.FP32], signal: pld.DistributedTensor[[2, 1], pl.INT32]):
        data = pld.tensor.broadcast(data, signal, root=2)
        return data

    with pytest.raises(RunError, match="rank 2 is the root of a broadcast between 2 ranks"):
        run(kernel, ranks=2)


def test_poison_in_a_sum() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pld.DistributedTensor[[1, 16], pl.INT32],
        signal: pld.DistributedTensor[[2, 1], pl.INT32],
        out: pl.Out[pl.Tensor[[1, 8], pl.INT32]],
        at: pl.Scalar[pl.INDEX],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        if me == 1:
            data = pl.store(pl.create_tile([1, 8], pl.INT32, pl.Mem.Vec), [0, 8], data)
        data = pl.tensor.view(data, [1, 16])
        out = pl.store(pl.load(data, [0, at], [1, 8]), [0, 0], out)
        return out

    out = np.zeros((1, 8), np.int32)
    assert not run(kernel, None, None, out, 0, ranks=2)[0].any()
    with pytest.raises(PoisonError, match="rank 1"):
        run(kernel, None, None, out, 8, ranks=2)


def test_poison_spreads_element_by_element() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pld.DistributedTensor[[1, 16], pl.FP32],
        signal: pld.DistributedTensor[[2, 1], pl.INT32],
        out: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
        at: pl.Scalar[pl.INDEX],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        if me == 1:
            data = pl.store(pl.create_tile([1, 8], pl.FP32, pl.Mem.Vec), [0, 8], data)
        data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
        out = pl.store(pl.load(data, [0, at], [1, 8]), [0, 0], out)
        return out

    data = values(2, (1, 16))
    out = np.zeros((1, 8), np.float32)
    found = run(kernel, data, None, out, 0, ranks=2)
    np.testing.assert_array_equal(found[0], data[0][:, :8] + data[1][:, :8])
    with pytest.raises(PoisonError, match="rank 0: the output 'out'"):
        run(kernel, data, None, out, 8, ranks=2)
