"""Faults of a protocol: what went wrong in some schedule, and a schedule that shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pypto.ir.function import Function, Program
from pypto.runtime.checking.races import Race, RaceError
from pypto.runtime.checking.shortening import follow, is_late
from pypto.runtime.checking.timeline import Timeline, timeline_of
from pypto.runtime.checking.trials import Outcome, Trial
from pypto.runtime.errors import DeadlockError, RunError
from pypto.runtime.inputs import compare_results
from pypto.runtime.schedules import write_schedule

KINDS = ("race", "deadlock", "failure", "numbers", "reuse")
"""The kinds of faults, the weightiest first."""

NAMES = {
    "race": "a race",
    "deadlock": "a deadlock",
    "failure": "a failure",
    "numbers": "other numbers",
    "reuse": "a signal used twice",
}


class NumbersError(RunError):
    """A schedule gives other numbers than the first."""

    code = "numbers"


class ReuseError(RunError):
    """A wait is satisfied by posts that an earlier wait has used up."""

    code = "signal-reuse"


@dataclass
class Fault:
    """What went wrong in a schedule. ``error`` tells it; ``timeline`` is the run under ``schedule``, up to where it shows."""

    kind: str
    error: RunError
    schedule: Sequence[int] = ()
    timeline: Timeline | None = None
    race: Race | None = None
    remarks: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def text(self) -> str:
        """The fault as lines for people."""
        return str(self.error)

    def save(self, path: str | Path) -> None:
        """Write the schedule to a file, for ``replay:FILE``."""
        write_schedule(path, self.schedule, self.remarks)


def fault_of(outcome: Outcome, first: Outcome | None, kinds: Sequence[str]) -> Fault | None:
    """The weightiest fault of an outcome among some kinds; ``first`` is the outcome whose numbers are right by definition."""
    schedule = outcome.turns
    if outcome.races and "race" in kinds:
        race = outcome.races[0]
        return Fault("race", RaceError(outcome.races, outcome.more), schedule, _timeline(outcome, race), race)
    error = outcome.error
    if error is not None:
        kind = "deadlock" if isinstance(error, DeadlockError) else "failure"
        return Fault(kind, error, schedule, _timeline(outcome)) if kind in kinds else None
    if "numbers" in kinds and first is not None and first is not outcome and not outcome.stopped:
        problem = difference(first, outcome)
        if problem is not None:
            told = NumbersError(f"this schedule gives other numbers than the first: {problem}")
            return Fault("numbers", told, schedule, _timeline(outcome))
    if outcome.reused and "reuse" in kinds:
        finding = outcome.reused[0]
        span = getattr(finding.statement, "span", None)
        told = ReuseError(finding.text, span if span is not None and span.is_valid() else None, statement=finding.statement)
        return Fault("reuse", told, schedule, _timeline(outcome))
    return None


def _timeline(outcome: Outcome, race: Race | None = None) -> Timeline | None:
    if outcome.world is None or not outcome.events:
        return None
    return timeline_of(outcome.world, outcome.events, race=race, states=outcome.error.states if outcome.error else ())


def timeline_of_run(
    program: Program | Function, *arrays: Any, ranks: int, turns: Sequence[int], entry: str | None = None
) -> tuple[Timeline | None, RunError | None]:
    """The timeline of the run that takes these turns, and what is wrong with it.

    Args:
        program: what to run, as for :func:`pypto.runtime.run`.
        arrays: its arguments; they are copied.
        ranks: the number of ranks.
        turns: the turns, as in a report or a schedule's file; when they are used up, ranks go on in turn.
        entry: name of the entry function.
    """
    outcome = follow(Trial(program, arrays, ranks, entry), turns, late=is_late(turns))
    fault = fault_of(outcome, None, KINDS)
    return (fault.timeline, fault.error) if fault is not None else (_timeline(outcome), None)


def difference(first: Outcome, other: Outcome) -> str | None:
    """Where two runs that came to their ends differ."""
    if first.error is not None or other.error is not None:
        return None
    problem = compare_results(first.results, other.results)
    windows: Mapping[str, Any] = first.windows or {}
    for name, window in windows.items():
        if problem is None:
            found = compare_results(window, other.windows[name])
            problem = None if found is None else f"window {name!r}: {found}"
    return problem


def forced_turns(outcome: Outcome) -> list[int]:
    """The turns to save for a fault that was shortened: those that matter, the rest come in turn when they are replayed."""
    turns = outcome.notes.get("forced")
    return [*(outcome.turns if turns is None else turns)]
