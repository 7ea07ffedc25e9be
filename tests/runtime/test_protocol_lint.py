"""What the lint says of a protocol, and that it says nothing of good ones."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes
from pypto.runtime.checking import Remark, explore, lint
from tests.runtime.protocols import (
    COLLECTIVES,
    SIZE,
    arguments,
    collective,
    kernel,
    meeting,
    neighbour,
    stage,
    with_exact_waits,
)


def remarks(program: ir.Program, ranks: int, schedule: str | None = None) -> list[Remark]:
    return [*lint(program, *arguments(program, ranks), ranks=ranks, schedule=schedule)]


def kinds(program: ir.Program, ranks: int) -> set[str]:
    return {r.kind for r in remarks(program, ranks)}


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("signals", ["single_shot", "credit"])
@pytest.mark.parametrize("kind", COLLECTIVES)
def test_nothing_is_said_of_whole_collectives(kind: str, signals: str, ranks: int) -> None:
    program = collective(kind, ranks, signals, calls=3 if signals == "credit" else 1)
    for schedule in ("round_robin", "greedy", "random:3"):
        assert not remarks(program, ranks, schedule)


@pytest.mark.parametrize("ranks", [2, 3])
def test_exact_waits_that_can_be_passed(ranks: int) -> None:
    program = with_exact_waits(collective("barrier", ranks, "credit", calls=2))
    found = remarks(program, ranks)
    assert {r.kind for r in found} == {"overshoot"}
    # the first barrier's waits only: nothing follows the second
    assert {r.rank for r in found} == set(range(ranks))
    assert all("exactly 1" in r.text and "the post of rank" in r.text and "wait for >=" in r.text for r in found)
    assert "pld.system.wait(signal" in str(found[0])
    # the same under exploration, although its first schedule does not come to its end
    verdict = explore(program, *arguments(program, ranks), ranks=ranks)
    assert verdict.fault.kind == "deadlock"
    assert {r.kind for r in verdict.remarks} == {"overshoot"}


def test_exact_waits_that_cannot_be_passed() -> None:
    """A second meeting on other cells holds every rank back until the first wait is over everywhere."""
    program = kernel(
        2,
        "pld.system.notify(signal, 1 - me, [0, me], 1, op=pld.NotifyOp.AtomicAdd)",
        "pld.system.wait(signal, [0, 1 - me], 1, cmp=pld.WaitCmp.Eq)",
        "pld.system.notify(signal, 1 - me, [1, me], 1, op=pld.NotifyOp.AtomicAdd)",
        "pld.system.wait(signal, [1, 1 - me], 1, cmp=pld.WaitCmp.Eq)",
        "pld.system.notify(signal, 1 - me, [0, me], 1, op=pld.NotifyOp.AtomicAdd)",
        "pld.system.wait(signal, [0, 1 - me], 2, cmp=pld.WaitCmp.Eq)",
        cells=[2, 2],
    )
    assert not remarks(program, 2)


def test_a_signal_used_twice() -> None:
    found = remarks(kernel(2, meeting(2), meeting(2)), 2)
    assert {r.kind for r in found} == {"reuse"}
    assert "has used up" in found[0].text
    assert not remarks(kernel(2, meeting(2), meeting(2, 2)), 2)


@pytest.mark.parametrize(("amount", "word"), [(0, ""), (1, "little"), (3, "much")])
def test_credits_that_do_not_return_to_zero(amount: int, word: str) -> None:
    program = kernel(
        2,
        meeting(2),
        meeting(2, 2),
        f"pld.system.notify(signal, me, [1 - me, 0], {-amount or -2}, op=pld.NotifyOp.AtomicAdd)",
    )
    found = remarks(program, 2)
    assert [r.kind for r in found] == (["credits"] * 2 if word else [])
    for remark in found:
        assert f"takes back too {word}" in remark.text
        assert f"holds {2 - amount} at the end" in remark.text


def test_a_post_to_oneself_that_nobody_waits_for() -> None:
    body = "pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)"
    program = kernel(
        3,
        "for peer in pl.range(3):",
        f"    {body}",
        "for source in pl.range(3):",
        "    if source != me:",
        "        pld.system.wait(signal, [source, 0], 1, cmp=pld.WaitCmp.Ge)",
    )
    found = remarks(program, 3)
    assert [(r.kind, r.rank) for r in found] == [("self-post", r) for r in range(3)]
    assert "cell [0, 0] of 'signal'" in found[0].text
    waited = kernel(
        3,
        "for peer in pl.range(3):",
        f"    {body}",
        "for source in pl.range(3):",
        "    pld.system.wait(signal, [source, 0], 1, cmp=pld.WaitCmp.Ge)",
    )
    assert not remarks(waited, 3)


def test_ranks_that_run_other_numbers_of_rounds() -> None:
    """Rank 0 meets three times, the others twice: enough has been posted for them, so nothing hangs but rank 0."""

    def rounds(first: str, second: str) -> ir.Program:
        return kernel(
            2,
            f"for step in pl.range({first}):",
            "    pld.system.notify(signal, 1 - me, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)",
            f"for step in pl.range({second}):",
            "    pld.system.wait(signal, [1 - me, 0], pl.cast(step + 1, pl.INT32), cmp=pld.WaitCmp.Ge)",
        )

    assert not remarks(rounds("2", "2"), 2)
    found = remarks(rounds("2 + me", "2"), 2)
    assert [(r.kind, r.rank) for r in found] == [("uneven", 1)]
    assert "rank 0 to rank 1: 2, rank 1 to rank 0: 3" in found[0].text
    assert "posts 3 to cell [1, 0] of 'signal' of rank 0, which waits for 2 only" in found[0].text


def test_flow_control_that_ends_with_free_slots_is_fine() -> None:
    """A consumer that gives slots back, which the producer need not wait for at the end."""
    program = kernel(
        2,
        "if me == 0:",
        "    for step in pl.range(4):",
        "        if step >= 2:",
        "            pld.system.wait(signal, [1, 0], pl.cast(step - 1, pl.INT32), cmp=pld.WaitCmp.Ge)",
        f"        pld.tensor.put(data, 1, data, [step % 2, 0], [step % 2, 0], [1, {SIZE}])",
        "        pld.system.notify(signal, 1, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        "if me == 1:",
        "    for step in pl.range(4):",
        "        pld.system.wait(signal, [0, 0], pl.cast(step + 1, pl.INT32), cmp=pld.WaitCmp.Ge)",
        f"        got = pl.load(data, [step % 2, 0], [1, {SIZE}])",
        "        pld.system.notify(signal, 0, [1, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        rows=2,
    )
    arrays = [np.ones((2, SIZE), np.float32), [np.ones((2, SIZE), np.float32) for _ in range(2)], None]
    assert not lint(program, *arrays, ranks=2)
    assert explore(program, *arrays, ranks=2).monotone


@pl.function(type=pl.FunctionType.InCore)
def differing(data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
    me = pld.rank(pld.get_comm_ctx(data))
    if me == 0:
        data = pld.tensor.broadcast(data, signal, root=0)
    else:
        signal = pld.tensor.barrier(signal)
    return data


def test_ranks_that_run_other_collectives() -> None:
    lowered = passes.lower_composite_ops()(ir.Program([differing], "P"))
    windows = [np.ones((1, 16), np.float32) for _ in range(2)]
    found = lint(lowered, windows, None, ranks=2)
    assert {(r.kind, r.rank) for r in found} == {("mixed", 0), ("mixed", 1)}
    (first,) = [r for r in found if r.rank == 0]
    assert "rank 1 made at" in first.text and "`signal = pld.tensor.barrier(signal)`" in first.text
    assert "`data = pld.tensor.broadcast(data, signal, root=0)` (pld.system.wait)" in str(first)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_window_that_is_read_before_anybody_has_written_it(ranks: int) -> None:
    program = kernel(ranks, "if me != 1:", "    " + stage(), meeting(ranks), neighbour(ranks))
    found = remarks(program, ranks)
    assert [(r.kind, r.rank) for r in found] == [("unstaged", 0)]
    assert "reads all 16 elements of 'data' in the window of rank 1, which nobody has written yet" in found[0].text
    # what the caller of the run gives is staged
    arrays = arguments(program, ranks)
    given = [np.ones((1, SIZE), np.float32) for _ in range(ranks)]
    assert not lint(program, arrays[0], given, None, ranks=ranks)


def test_half_of_a_window_is_staged() -> None:
    program = kernel(2, f"data = pl.store(pl.load(x, [0, 0], [1, {SIZE // 2}]), [0, 0], data)", meeting(2), neighbour(2))
    found = remarks(program, 2)
    assert {r.kind for r in found} == {"unstaged"}
    assert "reads elements [0, 8] to [0, 15] (8) of 'data'" in found[0].text


def test_a_single_rank_and_unlowered_collectives() -> None:
    program = kernel(2, stage(), "data = pld.tensor.allreduce(data, signal)", meeting(2), neighbour(2))
    assert not remarks(program, 2)
    assert not remarks(kernel(1, stage()), 1)
