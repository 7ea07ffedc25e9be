"""Waits that are satisfied by what an earlier wait has used up."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.runtime import SignalReuseWarning, run


def quietly(call: Callable[[], object]) -> object:
    """What a run gives, warnings or not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignalReuseWarning)
        return call()


@pl.function(type=pl.FunctionType.InCore)
def twice(signal: pld.DistributedTensor[[2, 1], pl.INT32], second: pl.Scalar[pl.INT32]):
    ctx = pld.get_comm_ctx(signal)
    me = pl.cast(pld.rank(ctx), pl.INDEX)
    pld.system.notify(signal, 1 - me, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [1 - me, 0], 1, cmp=pld.WaitCmp.Ge)
    pld.system.notify(signal, 1 - me, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [1 - me, 0], second, cmp=pld.WaitCmp.Ge)
    return signal


def test_the_same_threshold_twice() -> None:
    with pytest.warns(
        SignalReuseWarning, match=r"the wait for >= 1 at .*is satisfied by what the wait at .* has used up"
    ) as caught:
        run(twice, None, 1, ranks=2)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    _, report = quietly(lambda: run(twice, None, 1, ranks=2, report=True))
    assert [f.rank for f in report.findings] == [0, 1]
    first = report.findings[0]
    assert first.window == "signal"
    assert first.cell == (1, 0)
    assert first.statement is not first.earlier
    assert first.statement.span.begin_line == first.earlier.span.begin_line + 2
    assert "rank 0" in str(first) and "cell [1, 0] of 'signal'" in str(first)


def test_a_higher_threshold_is_fine() -> None:
    _, report = run(twice, None, 2, ranks=2, report=True)
    assert report.findings == ()


def test_a_wait_for_nothing_is_fine() -> None:
    _, report = run(twice, None, 0, ranks=2, report=True)
    assert report.findings == ()


def test_credits_make_a_signal_usable_again() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def credits(signal: pld.DistributedTensor[[2, 1], pl.INT32]):
        ctx = pld.get_comm_ctx(signal)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        for _ in pl.range(4):
            pld.system.notify(signal, 1 - me, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
            pld.system.wait(signal, [1 - me, 0], 1, cmp=pld.WaitCmp.Ge)
            pld.system.notify(signal, me, [1 - me, 0], -1, op=pld.NotifyOp.AtomicAdd)
        return signal

    for schedule in ("round_robin", "greedy", *[f"random:{s}" for s in range(8)]):
        found, report = run(credits, ranks=2, schedule=schedule, report=True)
        assert report.findings == ()
        np.testing.assert_array_equal(found, np.zeros((2, 2, 1)))


def test_a_loop_is_found_once_for_each_rank() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def loop(signal: pld.DistributedTensor[[2, 1], pl.INT32]):
        ctx = pld.get_comm_ctx(signal)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        for _ in pl.range(5):
            pld.system.notify(signal, 1 - me, [me, 0], 1, op=pld.NotifyOp.Set)
            pld.system.wait(signal, [1 - me, 0], 1, cmp=pld.WaitCmp.Ge)
        return signal

    _, report = quietly(lambda: run(loop, ranks=2, report=True))
    assert [f.rank for f in report.findings] == [0, 1]
    assert report.findings[0].statement is report.findings[0].earlier


@pytest.mark.parametrize(("write", "expected"), [(0, 1), (1, 0)])
def test_equal_waits(write: int, expected: int) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def equal(signal: pld.DistributedTensor[[1, 1], pl.INT32], again: pl.Scalar[pl.INDEX]):
        pld.system.notify(signal, 0, [0, 0], 3, op=pld.NotifyOp.Set)
        pld.system.wait(signal, [0, 0], 3, cmp=pld.WaitCmp.Eq)
        if again == 1:
            pld.system.notify(signal, 0, [0, 0], 3, op=pld.NotifyOp.Set)
        pld.system.wait(signal, [0, 0], 3, cmp=pld.WaitCmp.Eq)
        return signal

    _, report = quietly(lambda: run(equal, None, write, ranks=1, report=True))
    assert len(report.findings) == expected


def test_a_plain_store_clears_a_signal() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def cleared(signal: pld.DistributedTensor[[1, 8], pl.INT32]):
        for _ in pl.range(2):
            pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
            pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)
            signal = pl.store(pl.tile.full([1, 8], dtype=pl.INT32, value=0), [0, 0], signal)
        return signal

    _, report = run(cleared, ranks=1, report=True)
    assert report.findings == ()
