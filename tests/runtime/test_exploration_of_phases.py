"""Random programs whose protocol is a sequence of phases between barriers: no false alarm, and no barrier too many."""

from __future__ import annotations

import random
from typing import Any

import pytest

from pypto import runtime
from pypto.runtime.checking import RaceError, explore, lint
from pypto.testing import assert_roundtrip
from pypto.testing.generation import PhaseAuthor, PhasedProgram
from pypto.testing.generation.phases import ADD, READ, WRITE, clash

SCHEDULES = ("round_robin", "greedy", "random:1", "random:2")


def phased(seed: int) -> tuple[PhasedProgram, random.Random]:
    draw = random.Random(seed)
    return PhaseAuthor(draw).phased(), draw


def races(program: Any, ranks: int, schedule: str) -> bool:
    try:
        runtime.run(program, None, None, ranks=ranks, schedule=schedule, check=True)
    except RaceError:
        return True
    return False


def check(seed: int) -> None:
    """The whole program is clean; without one of its barriers it is not. One schedule tells both."""
    made, draw = phased(seed)
    schedule = SCHEDULES[seed % len(SCHEDULES)]
    assert not races(made.program, made.ranks, schedule), made.text()
    left_out = draw.randrange(made.barriers)
    assert races(made.without(left_out), made.ranks, schedule), made.text(left_out)


@pytest.mark.parametrize("seed", range(60))
def test_no_false_alarm_and_every_missing_barrier(seed: int) -> None:
    check(seed)


@pytest.mark.fuzz
@pytest.mark.parametrize("block", range(100))
def test_ten_thousand(block: int) -> None:
    for seed in range(100 * block, 100 * (block + 1)):
        check(seed)


@pytest.mark.parametrize("seed", range(8))
def test_whole_programs_hold_under_all_schedules(seed: int) -> None:
    made, _ = phased(seed)
    verdict = explore(made.program, None, None, ranks=made.ranks)
    assert verdict.holds
    # only the signals and the data that phases read before anybody has written are remarked on
    assert {r.kind for r in verdict.remarks} <= {"unstaged"}
    assert {r.kind for r in lint(made.program, None, None, ranks=made.ranks)} <= {"unstaged"}


@pytest.mark.parametrize("seed", range(8))
def test_the_fault_of_a_missing_barrier_is_short(seed: int) -> None:
    made, draw = phased(seed)
    left_out = draw.randrange(made.barriers)
    verdict = explore(made.without(left_out), None, None, ranks=made.ranks)
    assert verdict.fault.kind == "race"
    assert [row.mark for row in verdict.fault.timeline.rows].count("race") == 2
    assert len(verdict.fault.schedule) < verdict.steps


@pytest.mark.parametrize("seed", range(5))
def test_every_state_of_small_ones(seed: int) -> None:
    """The claim that one run tells, against a search that takes nothing for granted."""
    draw = random.Random(seed)
    made = PhaseAuthor(draw).phased(most_ranks=2, most_phases=3)
    assert explore(made.program, None, None, ranks=made.ranks, method="states").holds
    for left_out in range(made.barriers):
        verdict = explore(made.without(left_out), None, None, ranks=made.ranks, method="states", shorten=False)
        assert verdict.fault.kind == "race"


def test_the_author_is_deterministic_and_writes_texts_that_read_back() -> None:
    for seed in range(5):
        one, two = phased(seed)[0], phased(seed)[0]
        assert one.text() == two.text()
        assert_roundtrip(one.program)
        assert one.barriers == len(one.phases) - 1 >= 1
        for before, after in zip(one.phases, one.phases[1:], strict=False):
            first = {t for action in before for t in action.touches}
            second = {t for action in after for t in action.touches}
            assert clash(first, second)
            assert not clash(first, first)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((0, 1, 2, WRITE), (1, 1, 2, READ), True),
        ((0, 1, 2, WRITE), (0, 1, 2, READ), False),
        ((0, 1, 2, READ), (1, 1, 2, READ), False),
        ((0, 1, 2, ADD), (1, 1, 2, ADD), False),
        ((0, 1, 2, ADD), (1, 1, 2, READ), True),
        ((0, 1, 2, WRITE), (1, 0, 2, READ), False),
        ((0, 1, 2, WRITE), (1, 1, 3, WRITE), False),
    ],
)
def test_clashes(one: tuple, other: tuple, expected: bool) -> None:
    assert clash({one}, {other}) is expected
