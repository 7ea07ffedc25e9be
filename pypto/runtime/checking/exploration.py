"""Running a program under many schedules, to say of its protocol that it holds, or to show where it does not."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pypto.diagnostics import InternalError
from pypto.ir.function import Function, Program
from pypto.runtime.checking.dependence import Dependence
from pypto.runtime.checking.faults import KINDS, NAMES, Fault, fault_of, forced_turns
from pypto.runtime.checking.lint import ProtocolLint, Remark
from pypto.runtime.checking.reduction import Search
from pypto.runtime.checking.sampling import Priorities, chance
from pypto.runtime.checking.shortening import follow, shortened
from pypto.runtime.checking.states import StateSearch
from pypto.runtime.checking.timeline import Timeline, timeline_of
from pypto.runtime.checking.trials import Outcome, Trial
from pypto.runtime.errors import ArgumentError
from pypto.runtime.schedules import LATE, Random, RoundRobin

METHODS = ("auto", "exhaustive", "states", "random", "pct")

HOLDS, FAULT = "holds for all schedules", "fault found"


@dataclass
class Verdict:
    """What an exploration came to.

    ``outcome`` is ``holds for all schedules``, ``no fault in N schedules`` or ``fault found``; ``reason`` says why one may believe it;
    ``interleavings`` counts the schedules that were run to their ends, ``states`` the different states, where they were told apart, and
    ``steps`` the events of all runs; ``remarks`` are what the lint has to say of the first.
    """

    outcome: str
    reason: str
    method: str
    ranks: int
    fault: Fault | None = None
    interleavings: int = 0
    states: int = 0
    steps: int = 0
    seconds: float = field(default=0.0, compare=False)
    monotone: bool = False
    remarks: Sequence[Remark] = ()
    first: Timeline | None = field(default=None, compare=False)
    """The first run that came to its end, where its events were kept."""

    @property
    def holds(self) -> bool:
        """True when no schedule has a fault."""
        return self.outcome == HOLDS

    def raise_if_any(self) -> None:
        """Raise the fault.

        Raises:
            RunError: there is one; a RaceError, DeadlockError, NumbersError, ReuseError or what the program failed with.
        """
        if self.fault is not None:
            raise self.fault.error

    def __str__(self) -> str:
        counts = f"{self.interleavings} schedule{'s' * (self.interleavings != 1)}"
        if self.states:
            counts += f", {self.states} states"
        found = f" ({NAMES[self.fault.kind]})" if self.fault is not None else ""
        return f"{self.ranks} ranks: {self.outcome}{found}: {self.reason} [{self.method}: {counts}, {self.steps} steps]"


def explore(
    program: Program | Function,
    *arrays: Any,
    ranks: int,
    limit: int = 2000,
    seconds: float | None = None,
    method: str = "auto",
    entry: str | None = None,
    seed: int = 0,
    depth: int = 3,
    faults: Sequence[str] = KINDS,
    shorten: bool = True,
) -> Verdict:
    """Run a program under many schedules and say whether all of them, as far as known, are free of faults.

    Faults are races, deadlocks, failures, numbers that differ from those of the first schedule, and waits that wait for nothing. Writes to
    other ranks arrive late, early or in between: each arrival is a step of its own.

    Args:
        program: what to run, as for :func:`pypto.runtime.run`.
        arrays: its arguments; they are copied for every run.
        ranks: the number of ranks.
        limit: how many schedules to try at most.
        seconds: how long to try at most; None: no limit but the other.
        method: ``exhaustive`` tries all schedules that differ in something; ``states`` reaches every state, taking nothing for granted
            about what commutes; ``random`` and ``pct`` draw schedules; ``auto`` is exhaustive as far as half the limit goes, then ``pct``.
            Where there are too many schedules, the search goes on by states, when windows are small: many schedules share them.
        entry: name of the entry function.
        seed: for drawn schedules.
        depth: for ``pct``: how many steps must come in a certain order for the faults that are looked for.
        faults: the kinds to look for.
        shorten: make the schedule of a fault short.

    Raises:
        ArgumentError: the arguments do not fit, or there is no such method.
    """
    if method not in METHODS:
        raise ArgumentError(f"{method!r} is no method of exploration", hint=f"one of {', '.join(METHODS)}")
    if limit < 1:
        raise ArgumentError(f"an exploration needs at least one schedule, got limit={limit}")
    return _Exploration(Trial(program, arrays, ranks, entry), limit, seconds, seed, depth, faults, shorten).verdict(method)


class _Exploration:
    """One call of :func:`explore`."""

    def __init__(
        self, trial: Trial, limit: int, seconds: float | None, seed: int, depth: int, faults: Sequence[str], shorten: bool
    ) -> None:
        self.trial = trial
        self.limit = limit
        self.seconds = seconds
        self.seed = seed
        self.depth = depth
        self.kinds = [*faults]
        self.shorten = shorten
        self.began = time.perf_counter()
        self.first: Outcome | None = None
        self.weak: tuple[Fault, Outcome] | None = None
        self.lint = ProtocolLint()
        self.remarks: Sequence[Remark] = ()
        self.remarked = False
        self.longest = 0
        self.interleavings = 0
        self.steps = 0

    def verdict(self, method: str) -> Verdict:
        """The verdict, with the time it took."""
        made = self._verdict(method)
        made.steps = self.steps
        made.remarks = self.remarks
        if self.first is not None and self.first.world is not None and self.first.events:
            made.first = timeline_of(self.first.world, self.first.events)
        made.seconds = time.perf_counter() - self.began
        return made

    def _verdict(self, method: str) -> Verdict:
        if method == "states":
            return self._by_states(self.limit * _STOPPED_PER_RUN)
        if method in ("random", "pct"):
            return self._drawn(method, self.limit)
        found = self._exhaustive(self.limit if method == "exhaustive" else max(1, self.limit // 2))
        if found is None and self._is_small():
            tried = self.interleavings
            by_states = self._by_states(self.limit * 10)
            found = by_states if by_states.holds or by_states.fault is not None else None
            self.interleavings = tried
        if found is not None:
            return found
        if method == "exhaustive":
            return self._undecided("exhaustive", "the limit was reached before all schedules were tried")
        return self._drawn("pct", max(1, self.limit // 2))

    # -- the ways to search ----------------------------------------------------------------------------------------------

    def _exhaustive(self, limit: int) -> Verdict | None:
        dependence = Dependence(self.trial.ranks, agents=self.trial.agents)
        search = Search(self.trial, dependence, races="race" in self.kinds, lint=self.lint)
        for outcome in search.outcomes():
            self.steps = search.steps
            fault = self._look(outcome)
            self.interleavings = search.runs
            if fault is not None:
                return self._found("exhaustive", fault, outcome)
            if not search.finished and (search.tried >= limit or self._late()) and not search.is_over():
                return None
        if self.weak is not None:
            return self._found("exhaustive", *self.weak)
        count = self.interleavings
        monotone = not dependence.uneven and count == 1 and "race" in self.kinds
        if monotone:
            reason = "the protocol is monotone: this one run stands for every schedule"
        else:
            reason = (
                f"all {count} schedules that differ in something were tried"
                if count > 1
                else "no two steps can come in another order"
            )
        return Verdict(HOLDS, reason, "exhaustive", self.trial.ranks, None, count, monotone=monotone)

    def _is_small(self) -> bool:
        """True when the windows are so small that whole states can be told apart."""
        world = None if self.first is None else self.first.world
        return world is not None and sum(b.room for b in world.buffers) * self.trial.ranks <= _LARGEST_STATE

    def _by_states(self, limit: int) -> Verdict:
        search = StateSearch(self.trial)
        before = self.steps
        for outcome in search.outcomes():
            self.steps = before + search.transitions
            fault = self._look(outcome)
            if fault is not None and fault.kind != "race" and "race" in self.kinds:
                again = follow(self.trial, fault.schedule, ends=True)
                fault = fault_of(again, None, ["race"]) or fault
            if fault is None and search.conflicts and "race" in self.kinds:
                conflict = next(iter(search.conflicts.values()))
                outcome = follow(self.trial, [LATE, *conflict.turns], ends=True)
                fault = fault_of(outcome, None, ["race"])
                if fault is None:
                    raise InternalError("two agents clash in one state, and the race detector sees no race")
            if fault is not None:
                return self._found("states", fault, outcome, search.states)
            if search.runs >= limit or self._late():
                break
        if self.weak is not None:
            return self._found("states", *self.weak, search.states)
        if not search.finished:
            return self._undecided("states", "the limit was reached before all states were", search.states)
        reason = f"all {search.states} states that can be reached were"
        return Verdict(HOLDS, reason, "states", self.trial.ranks, None, self.interleavings, search.states)

    def _drawn(self, method: str, limit: int) -> Verdict:
        drawn = 0
        for outcome in self._draws(method):
            fault = self._look(outcome)
            if fault is not None:
                return self._found(method, fault, outcome)
            drawn += 1
            if drawn >= limit or self._late():
                break
        if self.weak is not None:
            return self._found(method, *self.weak)
        reason = "schedules drawn at random, which says nothing of others"
        if method == "pct" and drawn > 1:
            agents = 2 * self.trial.agents
            met = chance(agents, self.longest, self.depth, drawn - 1)
            reason = (
                f"a fault that needs {self.depth} steps in a certain order would have shown with probability {met:.2g} or more "
                f"({agents} agents, {self.longest} steps, {drawn - 1} runs)"
            )
        return self._undecided(method, reason)

    def _draws(self, method: str) -> Iterator[Outcome]:
        races = "race" in self.kinds
        if self.first is None:
            yield self.trial.run(RoundRobin(), [self.lint], races=races, attach=self.lint)
        seed = self.seed
        while True:
            if method == "random":
                yield self.trial.run(Random(seed), races=races)
            else:
                yield self.trial.run(Priorities(seed, self.trial.agents, self.depth, max(1, self.longest)), races=races)
            seed += 1

    # -- what is found ---------------------------------------------------------------------------------------------------

    def _remarks(self, outcome: Outcome) -> Sequence[Remark]:
        """What the lint says of the first run; of one in turn, when that did not come to its end."""
        if outcome.error is not None:
            self.lint = ProtocolLint()
            outcome = self.trial.run(RoundRobin(), [self.lint], attach=self.lint)
        return self.lint.finish(outcome)

    def _late(self) -> bool:
        return self.seconds is not None and time.perf_counter() - self.began > self.seconds

    def _look(self, outcome: Outcome) -> Fault | None:
        """The fault of an outcome, unless it is a weak one, which is kept in case there is no other."""
        if not outcome.stopped:
            self.interleavings += 1
        self.longest = max(self.longest, len(outcome.turns))
        if not self.remarked and not outcome.stopped:
            self.remarked = True
            self.remarks = self._remarks(outcome)
        if not outcome.events:
            self.steps += len(outcome.turns)
        fault = fault_of(outcome, self.first, self.kinds)
        if self.first is None and not outcome.stopped and outcome.error is None:
            self.first = outcome
        if fault is not None and fault.kind == "reuse":
            if self.weak is None:
                self.weak = fault, outcome
            return None
        return fault

    def _undecided(self, method: str, reason: str, states: int = 0) -> Verdict:
        count = self.interleavings
        outcome = f"no fault in {count} schedule{'s' * (count != 1)}"
        return Verdict(outcome, reason, method, self.trial.ranks, None, count, states)

    def _found(self, method: str, fault: Fault, outcome: Outcome, states: int = 0) -> Verdict:
        if self.shorten:
            fault = self._shortened(fault)
        fault.remarks = {"program": self.trial.program.name, "ranks": self.trial.ranks, "fault": fault.kind}
        fault.error.schedule = fault.schedule
        headline = fault.error.message.split("\n")[0]
        return Verdict(FAULT, headline, method, self.trial.ranks, fault, self.interleavings, states)

    def _shortened(self, fault: Fault) -> Fault:
        kind = fault.kind

        def same(outcome: Outcome) -> bool:
            if kind in ("race", "reuse") or not outcome.stopped:
                again = fault_of(outcome, self.first, [kind])
                return again is not None
            return False

        outcome = shortened(self.trial, fault.schedule, same, race=kind == "race")
        if outcome is None:
            return fault
        made = fault_of(outcome, self.first, [kind])
        assert made is not None
        made.schedule = forced_turns(outcome)
        return made


_LARGEST_STATE = 1 << 20
"""Bytes of all windows up to which states are compared without being asked to."""

_STOPPED_PER_RUN = 50
"""Runs that end in a known state are short: so many count as one schedule."""
