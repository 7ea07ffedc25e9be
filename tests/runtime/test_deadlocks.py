"""Runs that cannot go on, and failures on one rank: what the report says of every rank."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.diagnostics import Error
from pypto.runtime import CollectiveError, DeadlockError, RunError, run

SCHEDULES = ("round_robin", "greedy", "random:4")


@pl.function(type=pl.FunctionType.InCore)
def too_few(signal: pld.DistributedTensor[[3, 1], pl.INT32], enough: pl.Scalar[pl.INT32]):
    ctx = pld.get_comm_ctx(signal)
    me = pl.cast(pld.rank(ctx), pl.INDEX)
    if me == 0:
        pld.system.wait(signal, [2, 0], enough, cmp=pld.WaitCmp.Ge)
    if me == 2:
        pld.system.notify(signal, 0, [2, 0], 1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(signal, [1, 0], 7, cmp=pld.WaitCmp.Eq)
    return signal


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_deadlock_names_every_rank(schedule: str) -> None:
    with pytest.raises(DeadlockError) as caught:
        run(too_few, None, 2, ranks=3, schedule=schedule)
    error = caught.value
    assert isinstance(error, RunError) and isinstance(error, Error) and isinstance(error, ValueError)
    assert error.code == "deadlock"
    assert [s.status for s in error.states] == ["waits", "finished", "waits"]
    assert [s.rank for s in error.states] == [0, 1, 2]
    text = str(error)
    assert "2 of 3 ranks wait" in text
    lines = text.splitlines()
    (first,) = [line for line in lines if line.startswith("  rank 0")]
    assert "test_deadlocks.py:" in first and "`pld.system.wait(signal, [2, 0], enough, cmp=pld.WaitCmp.Ge)`" in first
    assert "finds 1 in cell [2, 0] of 'signal', and wants >= 2" in first
    assert "  rank 1 has finished" in lines
    (last,) = [line for line in lines if line.startswith("  rank 2")]
    assert "finds 0 in cell [1, 0] of 'signal', and wants == 7" in last
    assert error.statement is error.states[0].statement is not None
    assert error.span["line"] == error.states[0].statement.span.begin_line
    assert list(error.schedule)


def test_the_function_and_the_callee_are_named() -> None:
    @pl.program
    class Calls:
        @pl.function(type=pl.FunctionType.InCore)
        def inner(self, signal: pld.DistributedTensor[[1, 1], pl.INT32]):
            pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)
            return signal

        @pl.function(type=pl.FunctionType.Orchestration)
        def outer(self, signal: pld.DistributedTensor[[1, 1], pl.INT32]):
            signal = self.inner(signal)
            return signal

    with pytest.raises(DeadlockError, match=r"in 'inner': pld\.system\.wait finds 0") as caught:
        run(Calls, ranks=1)
    assert caught.value.states[0].function == "inner"


def test_statements_without_source_are_printed() -> None:
    function = pl.parse(
        "@pl.function(type=pl.FunctionType.InCore)\n"
        "def kernel(signal: pld.DistributedTensor[[1, 1], pl.INT32]):\n"
        "    pld.system.wait(signal, [0, 0], 3, cmp=pld.WaitCmp.Ge)\n"
        "    return signal\n"
    )
    with pytest.raises(DeadlockError, match=r"<string>:3 `pld.system.wait\(signal, \[0, 0\], 3, cmp=1\)`"):
        run(function, ranks=2)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_one_rank_skips_a_barrier(schedule: str) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pld.DistributedTensor[[4, 1], pl.INT32]):
        ctx = pld.get_comm_ctx(signal)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        if me < 2:
            signal = pld.tensor.barrier(signal)
        return signal

    with pytest.raises(DeadlockError, match=r"pld\.tensor\.barrier is not called yet by rank 2, 3") as caught:
        run(kernel, ranks=4, schedule=schedule)
    assert [s.status for s in caught.value.states] == ["waits", "waits", "finished", "finished"]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_collectives_that_differ(schedule: str) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pld.DistributedTensor[[1, 8], pl.FP32],
        other: pld.DistributedTensor[[1, 8], pl.FP32],
        signal: pld.DistributedTensor[[2, 1], pl.INT32],
        how: pl.Scalar[pl.INDEX],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        if me == 0:
            pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
        else:
            if how == 0:
                pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Max)
            if how == 1:
                pld.tensor.broadcast(data, signal, root=0)
            if how == 2:
                pld.tensor.allreduce(other, signal, op=pld.ReduceOp.Sum)
        return data

    for how, words in enumerate(("the keywords differ", "the collectives differ", "the windows given as 'target' differ")):
        with pytest.raises(CollectiveError, match=words) as caught:
            run(kernel, None, None, None, how, ranks=2, schedule=schedule)
        text = str(caught.value)
        assert "rank 0 calls pld.tensor.allreduce(target=float32[1, 8], signal=int32[2, 1], op=0" in text
        assert "rank 1 calls pld.tensor." in text
        assert "test_deadlocks.py" in text
    with pytest.raises(DeadlockError, match="not called yet by rank 1"):
        run(kernel, None, None, None, 3, ranks=2, schedule=schedule)


def test_collectives_of_other_shapes() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pld.DistributedTensor[[1, 8], pl.FP32], signal: pld.DistributedTensor[[3, 1], pl.INT32]):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        if me == 1:
            part = pl.slice(data, [1, 4], [0, 0])
            pld.tensor.allreduce(part, signal, op=pld.ReduceOp.Sum)
        else:
            pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
        return data

    with pytest.raises(CollectiveError, match="the shapes of 'target' differ") as caught:
        run(kernel, ranks=3, schedule="greedy")
    assert "rank 2 has not come" in str(caught.value)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_failure_on_one_rank_shows_the_others(schedule: str) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[8], pl.FP32], signal: pld.DistributedTensor[[3, 1], pl.INT32]) -> pl.Scalar[pl.FP32]:
        ctx = pld.get_comm_ctx(signal)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        pld.system.notify(signal, 0, [me, 0], 1, op=pld.NotifyOp.Set)
        if me == 0:
            pld.system.wait(signal, [1, 0], 2, cmp=pld.WaitCmp.Ge)
        v: pl.Scalar[pl.FP32] = pl.read(x, [me * 7 - 6])
        return v

    with pytest.raises(RunError, match=r"rank 2: tensor.read: .*\[8\].* outside the shape \[8\]") as caught:
        run(kernel, np.zeros(8, np.float32), ranks=3, schedule=schedule)
    error = caught.value
    assert error.rank == 2
    assert error.operator == "tensor.read"
    assert error.states[2].status == "failed"
    assert error.states[2].statement is error.statement
    assert error.span["line"] == error.statement.span.begin_line
    text = str(error)
    assert "  rank 0 " in text and "  rank 1 " in text and "\n  rank 2" not in text
    assert "`pld.system.wait(signal, [1, 0], 2, cmp=pld.WaitCmp.Ge)` in 'kernel'" in text or schedule != "round_robin"


def test_a_branch_on_poison_on_one_rank() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pld.DistributedTensor[[2, 1], pl.INT32]) -> pl.Scalar[pl.INT32]:
        ctx = pld.get_comm_ctx(signal)
        room = pl.create_tensor([4], dtype=pl.INT32)
        me = pld.rank(ctx)
        v: pl.Scalar[pl.INT32] = pl.read(room, [0])
        if me == 1:
            if v > 0:
                me = me + 1
        return me

    with pytest.raises(RunError, match="rank 1: a condition depends on poison"):
        run(kernel, ranks=2)
