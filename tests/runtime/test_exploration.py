"""Exploration of schedules: which protocols hold under all of them, and the schedules that break the others.

What the search by schedules takes for granted (which steps commute, that one run of a monotone protocol stands for all) is compared with
the search by states, which takes nothing for granted: it goes on with every agent in every state, and a race there is two agents that touch
the same bytes next.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pypto import ir, runtime
from pypto.runtime import ArgumentError, DeadlockError
from pypto.runtime.checking import RaceError, explore
from pypto.runtime.checking.dependence import Dependence
from pypto.runtime.checking.reduction import Search
from pypto.runtime.checking.sampling import chance
from pypto.runtime.checking.states import StateSearch
from pypto.runtime.checking.trials import Trial
from tests.runtime.protocols import (
    COLLECTIVES,
    SIZE,
    arguments,
    collective,
    kernel,
    lowered,
    meeting,
    neighbour,
    stage,
    with_exact_waits,
    with_resets_by_set,
)

RANKS = [2, 3, 4]


def explored(program: ir.Program, ranks: int, **options: Any) -> Any:
    return explore(program, *arguments(program, ranks), ranks=ranks, **options)


def replayed(program: ir.Program, verdict: Any, tmp_path: Any) -> Any:
    """Run a program again under the schedule of a fault, as ``replay:FILE`` does."""
    path = tmp_path / "schedule"
    verdict.fault.save(path)
    arrays = arguments(program, verdict.ranks)
    return runtime.run(program, *arrays, ranks=verdict.ranks, schedule=f"replay:{path}", check=True, report=True)


# -- whole collectives -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("kind", COLLECTIVES)
def test_whole_collectives_hold_under_all_schedules(kind: str, ranks: int) -> None:
    single = explored(collective(kind, ranks, restage=kind != "broadcast"), ranks)
    assert single.holds and single.outcome == "holds for all schedules"
    assert single.monotone and single.interleavings == 1
    assert "one run stands for every schedule" in single.reason
    # a broadcast has no barrier after its last read: what is called again must not be staged again
    again = collective(kind, ranks, "credit", calls=1 if kind == "broadcast" else 3, restage=kind != "broadcast")
    assert explored(again, ranks).monotone


@pytest.mark.parametrize(("kind", "ranks"), [*((k, 2) for k in COLLECTIVES), ("barrier", 3), ("broadcast", 3), ("mesh", 3)])
def test_one_run_of_a_monotone_protocol_stands_for_all(kind: str, ranks: int) -> None:
    program = collective(kind, ranks, restage=kind != "broadcast")
    assert explored(program, ranks).monotone
    search = StateSearch(Trial(program, arguments(program, ranks), ranks))
    outcomes = [o for o in search.outcomes() if not o.stopped]
    assert search.finished
    assert not search.conflicts
    assert outcomes and all(o.error is None for o in outcomes)
    first = outcomes[0]
    for other in outcomes[1:]:
        np.testing.assert_array_equal(other.results[0], first.results[0])
    # two ranks that begin, post and wait: sixteen pairs of places but for four that are out of reach, and the end
    assert search.states == 11 if (kind, ranks) == ("barrier", 2) else search.states > 20


@pytest.mark.fuzz
@pytest.mark.parametrize("signals", ["single_shot", "credit"])
@pytest.mark.parametrize(("kind", "ranks"), [*((k, 3) for k in COLLECTIVES), ("barrier", 4)])
def test_every_state_of_every_collective(kind: str, ranks: int, signals: str) -> None:
    program = collective(kind, ranks, signals, restage=kind != "broadcast")
    verdict = explored(program, ranks, method="states", limit=10**6)
    assert verdict.holds and verdict.states > 50
    assert explored(program, ranks).monotone


@pytest.mark.parametrize(
    ("kind", "ranks", "orders"), [("barrier", 2, 1), ("mesh", 2, 3), ("mesh", 3, 24), ("reduce_scatter", 3, 24)]
)
def test_the_orders_that_differ_when_all_touches_of_a_cell_count(kind: str, ranks: int, orders: int) -> None:
    """A second post may come before or after the wait for the first: three ways for a pair of ranks, 24 for three ranks."""
    program = collective(kind, ranks, restage=False)
    search = Search(Trial(program, arguments(program, ranks), ranks), Dependence(ranks, coarse=True))
    outcomes = [*search.outcomes()]
    assert search.finished and search.redundant == 0
    assert len(outcomes) == orders == len({o.turns for o in outcomes})
    assert not any(o.races or o.error for o in outcomes)


# -- the mutation table ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "ranks"), [*((k, n) for k in ("barrier", "mesh") for n in RANKS), ("reduce_scatter", 2)])
def test_a_reset_by_set_loses_an_early_post(kind: str, ranks: int, tmp_path: Any) -> None:
    program = with_resets_by_set(collective(kind, ranks, "credit", calls=2))
    arrays = arguments(program, ranks)
    runtime.run(program, *arrays, ranks=ranks)  # in turn, nothing shows
    verdict = explored(program, ranks, faults=["deadlock"], shorten=ranks < 4)
    assert verdict.outcome == "fault found" and verdict.fault.kind == "deadlock"
    with pytest.raises(DeadlockError, match=r"finds \d in cell \[\d, 0\] of 'signal', and wants >= \d"):
        replayed(program, verdict, tmp_path)


@pytest.mark.parametrize(
    ("kind", "ranks"), [*((k, n) for k in ("barrier", "mesh") for n in RANKS), ("reduce_scatter", 2), ("ring", 3)]
)
def test_an_exact_wait_is_passed_by_a_fast_peer(kind: str, ranks: int, tmp_path: Any) -> None:
    program = with_exact_waits(collective(kind, ranks, "credit", calls=2 if kind == "barrier" else 1))
    verdict = explored(program, ranks, shorten=ranks < 4)
    assert verdict.fault.kind == "deadlock"
    assert "wait for >= instead" in str(verdict.fault.error) or "wait for >=" in (verdict.fault.error.hint or "")
    assert len(verdict.fault.error.cycle) >= 2
    with pytest.raises(DeadlockError, match=r"finds 2 in cell .* and wants == 1"):
        replayed(program, verdict, tmp_path)


@pytest.mark.parametrize("ranks", RANKS)
def test_a_second_call_on_a_single_shot_signal(ranks: int, tmp_path: Any) -> None:
    program = collective("mesh", ranks, calls=2, restage=False)
    verdict = explored(program, ranks)
    assert verdict.fault.kind == "race"
    with pytest.raises(RaceError):
        replayed(program, verdict, tmp_path)
    # two barriers touch no data: what is wrong shows only as posts that are used twice
    reuse = explored(collective("barrier", ranks, calls=2), ranks)
    assert reuse.fault.kind == "reuse"
    assert "has used up" in reuse.fault.text


@pytest.mark.parametrize(
    ("ranks", "methods"), [(2, ["exhaustive", "states", "random", "pct"]), (3, ["exhaustive"]), (4, ["pct"])]
)
def test_other_numbers_than_the_first_schedule(ranks: int, methods: list[str]) -> None:
    program = collective("mesh", ranks, calls=2, restage=False)
    for method in methods:
        verdict = explored(program, ranks, method=method, faults=["numbers"], shorten=ranks == 2)
        assert verdict.fault.kind == "numbers"
        assert "gives other numbers than the first: result" in verdict.fault.text


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("method", ["exhaustive", "states", "random", "pct"])
def test_a_missing_barrier_is_found_by_every_method(method: str, ranks: int, tmp_path: Any) -> None:
    program = kernel(ranks, stage(), neighbour(ranks))
    verdict = explored(program, ranks, method=method, limit=50)
    assert verdict.fault.kind == "race"
    assert {verdict.fault.race.earlier.kind, verdict.fault.race.later.kind} == {"read", "write"}
    with pytest.raises(RaceError):
        replayed(program, verdict, tmp_path)
    if ranks == 2:
        # the shortest: one rank stages and reads, the other stages; their first steps come before their first deeds
        assert len(verdict.fault.timeline.rows) <= 4


@pytest.mark.parametrize("ranks", RANKS)
def test_a_root_that_writes_after_a_broadcast(ranks: int) -> None:
    verdict = explored(collective("broadcast", ranks, restage=True), ranks)
    assert verdict.fault.kind == "race" and verdict.fault.race.owner == 0
    assert explored(collective("broadcast", ranks, restage=False), ranks).holds


# -- protocols that are not monotone ---------------------------------------------------------------------------------------


def counter(ranks: int, least: int, cmp: str = "Ge") -> ir.Program:
    """Every rank posts to one cell of rank 0, which waits for some number of posts and then reads the window of rank 1."""
    return kernel(
        ranks,
        "if me != 0:",
        f"    data = pl.store(pl.load(x, [0, 0], [1, {SIZE}]), [0, 0], data)",
        "    pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        "if me == 0:",
        f"    pld.system.wait(signal, [0, 0], {least}, cmp=pld.WaitCmp.{cmp})",
        f"    got = pld.remote_load(data, 1, [0, 0], [1, {SIZE}])",
    )


@pytest.mark.parametrize("ranks", [3, 4])
def test_a_shared_counter_that_waits_for_all(ranks: int) -> None:
    verdict = explored(counter(ranks, ranks - 1), ranks)
    assert verdict.holds and not verdict.monotone
    assert explored(counter(ranks, ranks - 1), ranks, method="states").holds


@pytest.mark.parametrize("ranks", [3, 4])
def test_a_shared_counter_that_waits_for_some(ranks: int) -> None:
    """Any ranks - 2 posts end the wait: in some schedule rank 1's is not among them."""
    for method in ("exhaustive", "states"):
        verdict = explored(counter(ranks, ranks - 2), ranks, method=method)
        assert verdict.fault.kind == "race"
    # also without looking at clocks: the numbers that rank 0 reads depend on the schedule
    program = kernel(
        ranks,
        "if me != 0:",
        f"    data = pl.store(pl.load(x, [0, 0], [1, {SIZE}]), [0, 0], data)",
        "    pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        "if me == 0:",
        f"    pld.system.wait(signal, [0, 0], {ranks - 2}, cmp=pld.WaitCmp.Ge)",
        f"    data = pl.store(pld.remote_load(data, 1, [0, 0], [1, {SIZE}]), [0, 0], data)",
    )
    for method in ("exhaustive", "states"):
        verdict = explored(program, ranks, method=method, faults=["numbers"])
        assert verdict.fault.kind == "numbers"


def test_an_exact_wait_on_a_shared_counter() -> None:
    """With three posts, two may come before the wait for one: in some schedules only."""
    verdict = explored(counter(4, 1, "Eq"), 4, faults=["deadlock"])
    assert verdict.fault.kind == "deadlock"
    holds = explored(counter(4, 3, "Eq"), 4)
    assert holds.holds and not holds.monotone


def test_all_orders_of_posts_to_a_shared_counter() -> None:
    """The wait for one of n posts comes after any of them that are not empty: 2^n - 1 orders."""
    for ranks in (2, 3, 4):
        program = kernel(
            ranks,
            "if me != 0:",
            "    pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)",
            "if me == 0:",
            "    pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)",
        )
        verdict = explored(program, ranks, method="exhaustive")
        expected = 2 ** (ranks - 1) - 1
        assert verdict.holds and verdict.interleavings == expected


def test_sets_by_two_ranks_race_for_the_last_word() -> None:
    program = kernel(
        3,
        "if me != 0:",
        "    pld.system.notify(signal, 0, [0, 0], pl.cast(me, pl.INT32), op=pld.NotifyOp.Set)",
        "if me == 0:",
        "    pld.system.wait(signal, [0, 0], 2, cmp=pld.WaitCmp.Ge)",
    )
    verdict = explored(program, 3)
    assert verdict.fault.kind == "deadlock"
    assert explored(program, 3, method="states").fault.kind == "deadlock"


# -- late writes -----------------------------------------------------------------------------------------------------------


def pushing(ranks: int, waits: bool) -> ir.Program:
    """Every rank puts its row to the right; with a wait before it is read there, or without."""
    right = f"(me + 1) % {ranks}"
    return kernel(
        ranks,
        stage(2),
        meeting(ranks),
        f"pld.tensor.put(data, {right}, data, [1, 0], [0, 0], [1, {SIZE}])",
        *([meeting(ranks, 2)] if waits else []),
        f"data = pl.store(pl.load(data, [1, 0], [1, {SIZE}]), [0, 0], data)",
        rows=2,
    )


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_put_arrives_before_the_post_that_follows(ranks: int) -> None:
    assert explored(pushing(ranks, True), ranks).monotone
    if ranks == 2:
        assert explored(pushing(ranks, True), ranks, method="states").holds


@pytest.mark.parametrize("method", ["exhaustive", "states"])
def test_the_arrival_of_a_put_is_a_step_of_its_own(method: str) -> None:
    """Without races: the numbers alone show that the write can arrive before and after the read."""
    verdict = explored(pushing(2, False), 2, method=method, faults=["numbers"])
    assert verdict.fault.kind == "numbers"
    verdict = explored(pushing(2, False), 2, method=method)
    assert verdict.fault.kind == "race"


def test_a_flag_that_is_put_wakes_who_waits_for_it() -> None:
    program = kernel(
        2,
        "if me == 0:",
        f"    pld.tile.remote_store(pl.tile.full([1, {SIZE}], dtype=pl.INT32, value=1), signal, 1, [0, 0])",
        "    pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)",
        "if me == 1:",
        "    pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)",
        "    pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        cells=[1, SIZE],
    )
    for method in ("exhaustive", "states", "random", "pct"):
        verdict = explored(program, 2, method=method, limit=40, faults=["deadlock", "numbers"])
        assert verdict.fault is None


# -- what is said ----------------------------------------------------------------------------------------------------------


def test_the_bound_of_drawn_schedules() -> None:
    verdict = explored(collective("mesh", 2), 2, method="pct", limit=101, depth=2)
    assert verdict.outcome == "no fault in 101 schedules"
    steps = int(verdict.reason.split(" steps,")[0].rpartition(" ")[2])
    expected = 1 - (1 - 1 / (4 * steps)) ** 100
    assert f"{expected:.2g} or more" in verdict.reason
    assert math.isclose(chance(4, steps, 2, 100), expected)
    assert explored(collective("mesh", 2), 2, method="random", limit=7).outcome == "no fault in 7 schedules"


def test_a_limit_leaves_the_question_open() -> None:
    program = kernel(
        4,
        "pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        "if me == 0:",
        "    pld.system.wait(signal, [0, 0], 2, cmp=pld.WaitCmp.Ge)",
    )
    few = explored(program, 4, method="exhaustive", limit=3)
    assert few.outcome == "no fault in 2 schedules" and "limit" in few.reason
    auto = explored(program, 4, limit=6)
    assert auto.outcome == "no fault in 5 schedules" and auto.method == "pct"
    # the post of rank 0 and at least one of three others come before its wait
    whole = explored(program, 4)
    assert whole.holds and whole.interleavings == 2**3 - 1
    assert explored(program, 4, method="states").holds


def test_the_search_goes_on_by_states_where_schedules_are_many() -> None:
    program = kernel(
        4,
        "if me != 0:",
        "    for _ in pl.range(3):",
        "        pld.system.notify(signal, 0, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        "if me == 0:",
        "    for step in pl.range(1, 6):",
        "        pld.system.wait(signal, [0, 0], pl.cast(step, pl.INT32), cmp=pld.WaitCmp.Ge)",
    )
    verdict = explored(program, 4, method="exhaustive", limit=300)
    assert verdict.holds and verdict.method == "states"
    # three ranks that begin and post three times, and one that begins and waits for 1 to 5: places (a, b, c) of the posts done and
    # waits over, of which there are no more than posts; ranks begin in any order; the end is no state to go on from
    posts = [(a, b, c) for a in range(5) for b in range(5) for c in range(5)]
    expected = sum(1 + sum(w <= sum(max(0, p - 1) for p in place) for w in range(6)) for place in posts) - 1
    assert verdict.states == expected


def test_the_same_verdict_every_time() -> None:
    program = collective("mesh", 2, calls=2, restage=False)
    for method in ("auto", "random", "pct"):
        one, two = (explored(program, 2, method=method, limit=30) for _ in range(2))
        assert str(one) == str(two)
        assert list(one.fault.schedule) == list(two.fault.schedule)


def test_wrong_calls() -> None:
    program = collective("barrier", 2)
    with pytest.raises(ArgumentError, match="'brute' is no method"):
        explored(program, 2, method="brute")
    with pytest.raises(ArgumentError, match="at least one schedule"):
        explored(program, 2, limit=0)
    with pytest.raises(ArgumentError):
        explore(program, ranks=2)


def test_arguments_are_left_alone() -> None:
    program = collective("mesh", 2)
    arrays = arguments(program, 2)
    windows = [np.full((1, SIZE), 7, np.float32) for _ in range(2)]
    explore(program, arrays[0], windows, None, ranks=2)
    assert all((w == 7).all() for w in windows)
    assert [a[0, 0] for a in arrays[0]] == [1, 2]


def test_unlowered_collectives_and_a_single_rank() -> None:
    program = kernel(2, stage(), "data = pld.tensor.allreduce(data, signal)")
    assert explored(program, 2).holds
    assert explored(lowered(program), 1).holds
    racy = kernel(2, stage(), "data = pld.tensor.allreduce(data, signal)", neighbour(2), stage())
    assert explored(racy, 2).fault.kind == "race"
