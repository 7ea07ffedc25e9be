"""Remote loads and stores, put and get: values, views, bounds, poison, and writes that arrive late."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.runtime import PoisonError, RunError, run

SEEDS = [f"random:{seed}" for seed in range(12)]


def windows(ranks: int, shape: tuple[int, ...], dtype: object = np.float32) -> list[np.ndarray]:
    return [np.random.default_rng(10 + r).integers(-9, 9, shape).astype(dtype) for r in range(ranks)]


def test_put_and_get_of_regions() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        mine: pl.Tensor[[4, 8], pl.FP32],
        data: pld.DistributedTensor[[4, 8], pl.FP32],
        got: pl.Out[pl.Tensor[[2, 8], pl.FP32]],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        pld.tensor.get(got, 1 - me, data, [0, 0], [2, 0], [2, 8])
        pld.tensor.put(data, 1 - me, mine, [0, 4], [1, 2], [1, 4])
        return got, data

    data, mine = windows(2, (4, 8)), windows(2, (4, 8))
    mine[0] += 100
    mine[1] += 200
    found, after = run(kernel, mine, data, [np.zeros((2, 8), np.float32) for _ in range(2)], ranks=2)
    for rank in range(2):
        np.testing.assert_array_equal(found[rank], data[1 - rank][2:4])
        expected = data[rank].copy()
        expected[0, 4:8] = mine[1 - rank][1, 2:6]
        np.testing.assert_array_equal(after[rank], expected)


def test_tile_put_and_get_through_stages() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        mine: pl.Tensor[[4, 16], pl.FP16],
        data: pld.DistributedTensor[[4, 16], pl.FP16],
        other: pld.DistributedTensor[[4, 16], pl.FP16],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        stage = pl.create_tile([1, 16], pl.FP16, pl.Mem.Vec)
        second = pl.create_tile([1, 16], pl.FP16, pl.Mem.Vec)
        pld.tile.put(data, 1 - me, mine, stage, second, [0, 0], [2, 0], [2, 16])
        pld.tile.put(data, 1 - me, mine, stage, dst_offsets=[2, 0], src_offsets=[0, 0], shape=[2, 16], atomic=pld.AtomicType.Add)
        pld.tile.get(other, me, other, stage)
        return data, other

    data, mine, other = windows(2, (4, 16), np.float16), windows(2, (4, 16), np.float16), windows(2, (4, 16), np.float16)
    after, same = run(kernel, mine, data, other, ranks=2)
    for rank in range(2):
        expected = data[rank].copy()
        expected[0:2] = mine[1 - rank][2:4]
        expected[2:4] += mine[1 - rank][0:2]
        np.testing.assert_array_equal(after[rank], expected)
        np.testing.assert_array_equal(same[rank], other[rank])


@pytest.mark.parametrize(
    ("dtype", "numpy"), [(pl.FP32, np.float32), (pl.BF16, ml_dtypes.bfloat16), (pl.INT8, np.int8), (pl.INT32, np.int32)]
)
def test_atomic_stores_from_all_ranks(dtype, numpy) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[2, 32], dtype], mine: pl.Tensor[[1, 32], dtype]):
        t = pl.load(mine, [0, 0], [1, 32])
        pld.tile.remote_store(t, data, 0, [1, 0], atomic=pld.AtomicType.Add)
        return data

    mine = windows(4, (1, 32), numpy)
    for schedule in ("round_robin", *SEEDS[:4]):
        found = run(kernel, None, mine, ranks=4, schedule=schedule)
        total = sum(m.astype(np.int64) for m in mine)
        np.testing.assert_array_equal(found[0][1].astype(np.int64), total[0])
        assert not found[1].any()


def test_tensor_remote_store() -> None:
    @pl.function(type=pl.FunctionType.Orchestration)
    def kernel(mine: pl.Tensor[[2, 8], pl.FP32], data: pld.DistributedTensor[[4, 8], pl.FP32]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        pld.remote_store(mine, data, 1 - me, [1, 0])
        return data

    mine = windows(2, (2, 8))
    found = run(kernel, mine, ranks=2)
    np.testing.assert_array_equal(found[0][1:3], mine[1])
    np.testing.assert_array_equal(found[1][1:3], mine[0])


def test_views_and_slices_reach_the_same_place_on_the_peer() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[2, 3, 8], pl.FP32], out: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        flat = pl.tensor.view(data, [1, 48])
        part = pl.slice(flat, [1, 16], [0, 8 * me + 8])
        t = pld.remote_load(part, 1 - me, [0, 0], [1, 16])
        out = pl.store(t, [0, 0], out)
        pld.tile.remote_store(t, part, 1 - me, [0, 0], atomic=pld.AtomicType.Add)
        return out

    data = windows(2, (2, 3, 8))
    found, report = run(kernel, data, [np.zeros((1, 16), np.float32) for _ in range(2)], ranks=2, report=True)
    for rank in range(2):
        begin = 8 * rank + 8
        np.testing.assert_array_equal(found[rank][0], data[1 - rank].reshape(-1)[begin : begin + 16])
        expected = data[rank].reshape(-1).copy()
        begin = 8 * (1 - rank) + 8
        expected[begin : begin + 16] *= 2
        np.testing.assert_array_equal(report.windows["data"][rank].reshape(-1), expected)


def test_valid_regions_of_remote_loads() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[4, 8], pl.FP32], out: pl.Out[pl.Tensor[[4, 8], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        t = pld.remote_load(data, 1 - me, [1, 0], [4, 8], [n, 8])
        filled = pl.fillpad(t, pad_value=pl.PadValue.max)
        out = pl.store(filled, [0, 0], out)
        return out

    data = windows(2, (4, 8))
    for n in (0, 1, 3):
        found = run(kernel, data, [np.zeros((4, 8), np.float32) for _ in range(2)], n, ranks=2)
        expected = np.full((4, 8), np.inf, np.float32)
        expected[:n] = data[1][1 : 1 + n]
        np.testing.assert_array_equal(found[0], expected)
    with pytest.raises(RunError, match=r"offsets \[1, 0\] with extents \[4, 8\] lies outside the shape \[4, 8\]") as caught:
        run(kernel, data, [np.zeros((4, 8), np.float32) for _ in range(2)], 4, ranks=2)
    assert caught.value.operator == "pld.tile.remote_load"
    assert caught.value.rank == 0
    assert "rank 0: " in caught.value.message
    assert "'data' on rank 1 has the shape [4, 8]" in str(caught.value)
    assert "rank 1 is at" in str(caught.value)
    assert caught.value.statement is not None


@pytest.mark.parametrize("schedule", ["round_robin", *SEEDS[:3]])
def test_writes_outside_a_window(schedule: str) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[2, 8], pl.FP32], row: pl.Scalar[pl.INDEX], peer: pl.Scalar[pl.INDEX]):
        t = pl.tile.full([1, 8], dtype=pl.FP32, value=1.0)
        pld.tile.remote_store(t, data, peer, [row, 0])
        return data

    run(kernel, None, 1, 1, ranks=2, schedule=schedule)
    with pytest.raises(
        RunError, match=r"the region at offsets \[2, 0\] with extents \[1, 8\] lies outside the shape \[2, 8\]"
    ) as caught:
        run(kernel, None, 2, 1, ranks=2, schedule=schedule)
    assert caught.value.operator == "pld.tile.remote_store"
    assert "remote_store" in str(caught.value.statement)
    for peer in (2, -1):
        with pytest.raises(RunError, match=rf"the peer {peer} does not exist: .*'data' has the ranks 0 to 1"):
            run(kernel, None, 0, peer, ranks=2, schedule=schedule)


def test_a_signal_cell_outside_its_window() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pld.DistributedTensor[[2, 1], pl.INT32], row: pl.Scalar[pl.INDEX], posts: pl.Scalar[pl.BOOL]):
        if posts:
            pld.system.notify(signal, 0, [row, 0], 1, op=pld.NotifyOp.Set)
        else:
            pld.system.wait(signal, [row, 0], 0, cmp=pld.WaitCmp.Ge)
        return signal

    run(kernel, None, 1, True, ranks=2)
    for posts in (True, False):
        with pytest.raises(RunError, match=r"the element \[2, 0\] lies outside the shape \[2, 1\]"):
            run(kernel, None, 2, posts, ranks=2)


def test_signals_add_set_and_wrap() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pld.DistributedTensor[[1, 4], pl.INT32], value: pl.Scalar[pl.INT32]):
        pld.system.notify(signal, 0, [0, 0], value, op=pld.NotifyOp.AtomicAdd)
        pld.system.notify(signal, 0, [0, 1], value, op=pld.NotifyOp.Set)
        pld.system.notify(signal, 0, [0, 2], -value, op=pld.NotifyOp.AtomicAdd)
        return signal

    start = np.array([[2**31 - 2, 5, 0, 7]], np.int32)
    found = run(kernel, [start, start], 3, ranks=2)
    np.testing.assert_array_equal(found[0], [[-(2**31) + 4, 3, -6, 7]])


# -- late arrival ----------------------------------------------------------------------------------------------------------------


@pl.function(type=pl.FunctionType.InCore)
def unguarded(data: pld.DistributedTensor[[1, 8], pl.FP32], out: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
    ctx = pld.get_comm_ctx(data)
    me = pl.cast(pld.rank(ctx), pl.INDEX)
    t = pl.tile.full([1, 8], dtype=pl.FP32, value=1.0)
    pld.tile.remote_store(t, data, 1 - me, [0, 0])
    mine = pl.load(data, [0, 0], [1, 8])
    mine2 = pl.load(data, [0, 0], [1, 8])
    mine3 = pl.load(data, [0, 0], [1, 8])
    out = pl.store(pl.add(pl.add(mine, mine2), mine3), [0, 0], out)
    return out


def test_writes_arrive_late_in_random_schedules() -> None:
    seen = set()
    for seed in range(40):
        found = run(unguarded, ranks=2, schedule=f"random:{seed}")
        seen |= {float(part[0, 0]) for part in found}
    assert seen == {0.0, 1.0, 2.0, 3.0}
    assert {float(p[0, 0]) for p in run(unguarded, ranks=2)} == {3.0}


@pytest.mark.parametrize("schedule", SEEDS)
def test_a_post_comes_after_the_writes_before_it(schedule: str) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pld.DistributedTensor[[3, 8], pl.FP32],
        signal: pld.DistributedTensor[[1, 1], pl.INT32],
        out: pl.Out[pl.Tensor[[3, 8], pl.FP32]],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        if me == 0:
            for step in pl.range(3):
                t = pl.tile.muls(pl.tile.full([1, 8], dtype=pl.FP32, value=1.0), pl.cast(step + 1, pl.FP32))
                pld.tile.remote_store(t, data, 1, [0, 0])
                pld.tile.remote_store(t, data, 1, [step, 0])
                pld.system.notify(signal, 1, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
        else:
            pld.system.wait(signal, [0, 0], 3, cmp=pld.WaitCmp.Ge)
        out = pl.store(pl.load(data, [0, 0], [3, 8]), [0, 0], out)
        return out

    found = run(kernel, ranks=2, schedule=schedule)
    np.testing.assert_array_equal(found[1][:, 0], [3, 2, 3])


@pytest.mark.parametrize("schedule", SEEDS[:6])
def test_a_rank_sees_its_own_writes_on_the_peer(schedule: str) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[2, 8], pl.FP32], out: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        t = pl.tile.full([1, 8], dtype=pl.FP32, value=4.0)
        pld.tile.remote_store(t, data, 1 - me, [me, 0])
        out = pl.store(pld.remote_load(data, 1 - me, [me, 0], [1, 8]), [0, 0], out)
        return out

    for part in run(kernel, ranks=2, schedule=schedule):
        np.testing.assert_array_equal(part, np.full((1, 8), 4))


def test_the_source_of_a_put_may_be_used_again() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[2, 8], pl.FP32], mine: pl.Tensor[[1, 8], pl.FP32]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        room = pl.create_tensor([1, 8], dtype=pl.FP32)
        for step in pl.range(2):
            t = pl.add(pl.load(mine, [0, 0], [1, 8]), pl.cast(step, pl.FP32))
            room = pl.store(t, [0, 0], room)
            pld.tensor.put(data, 1 - me, room, [step, 0], [0, 0], [1, 8])
        return data

    mine = windows(2, (1, 8))
    for schedule in ("round_robin", *SEEDS):
        found = run(kernel, None, mine, ranks=2, schedule=schedule)
        for rank in range(2):
            np.testing.assert_array_equal(found[rank], np.concatenate([mine[1 - rank], mine[1 - rank] + 1]))


# -- poison ----------------------------------------------------------------------------------------------------------------------


@pl.function(type=pl.FunctionType.InCore)
def push_poison(
    data: pld.DistributedTensor[[1, 16], pl.FP32], out: pl.Out[pl.Tensor[[1, 16], pl.FP32]], clean: pl.Scalar[pl.BOOL]
):
    ctx = pld.get_comm_ctx(data)
    me = pl.cast(pld.rank(ctx), pl.INDEX)
    room = pl.create_tensor([1, 16], dtype=pl.FP32)
    ones = pl.tile.full([1, 8], dtype=pl.FP32, value=1.0)
    room = pl.store(ones, [0, 0], room)
    if me == 0:
        pld.tensor.put(data, 1, room)
        if clean:
            pld.tile.remote_store(ones, data, 1, [0, 8])
    half = pl.load(data, [0, 0], [1, 16])
    out = pl.store(half, [0, 0], out)
    return out


def test_poison_travels() -> None:
    outs = [np.zeros((1, 16), np.float32) for _ in range(2)]
    with pytest.raises(PoisonError, match=r"rank 1: .*element \[0, 8\] is the first of 8") as caught:
        run(push_poison, None, outs, False, ranks=2, schedule="greedy")
    assert caught.value.rank == 1
    found = run(push_poison, None, outs, True, ranks=2, schedule="greedy")
    np.testing.assert_array_equal(found[1], np.ones((1, 16)))
    np.testing.assert_array_equal(found[0], np.zeros((1, 16)))


def test_poison_is_read_from_a_peer() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[1, 16], pl.FP32], out: pl.Out[pl.Tensor[[1, 8], pl.FP32]], at: pl.Scalar[pl.INDEX]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        t = pl.create_tile([1, 8], pl.FP32, pl.Mem.Vec)
        if me == 1:
            data = pl.store(t, [0, 8], data)
        out = pl.store(pld.remote_load(data, 1, [0, at], [1, 8]), [0, 0], out)
        return out

    out = np.ones((1, 8), np.float32)
    np.testing.assert_array_equal(run(kernel, None, out, 0, ranks=2, schedule="greedy")[1], np.zeros((1, 8)))
    with pytest.raises(PoisonError, match="rank 1: the output"):
        run(kernel, None, out, 8, ranks=2, schedule="greedy")


def test_poison_is_no_signal_value() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pld.DistributedTensor[[1, 1], pl.INT32]):
        room = pl.create_tensor([4], dtype=pl.INT32)
        v: pl.Scalar[pl.INT32] = pl.read(room, [0])
        pld.system.notify(signal, 0, [0, 0], v, op=pld.NotifyOp.Set)
        return signal

    with pytest.raises(PoisonError, match="depends on poison"):
        run(kernel, ranks=2)
