"""Every state that a program can reach, each once: a search that takes nothing for granted about which steps commute.

A state is what all storage holds, how far each rank is and what it has read on the way, and which writes are held back. From each state
every agent that can go on does so once; two that touch the same bytes there, one to write, are a race by its very definition.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pypto.runtime.checking.dependence import RULES, overlap
from pypto.runtime.checking.trace import POST, WAIT, Deed, Event
from pypto.runtime.checking.trials import Enough, Outcome, Steered, Trial


class Level:
    """A state on the way of the run at hand: who goes on there, who has not yet, and what those who have did."""

    __slots__ = ("choice", "deeds", "untried")

    def __init__(self, agents: Sequence[int]) -> None:
        self.untried = [*agents]
        self.choice = 0
        self.deeds: dict[int, Sequence[Deed]] = {}


class Conflict:
    """Two agents that could both go on in one state, to the same bytes."""

    __slots__ = ("one", "other", "turns")

    def __init__(self, turns: Sequence[int], one: tuple[int, Deed], other: tuple[int, Deed]) -> None:
        self.turns = turns
        self.one = one
        self.other = other


class StateSearch:
    """The search through the states of a trial. ``states`` and ``transitions`` count what it has seen, ``conflicts`` are races by the
    statements (and ranks) that take part."""

    def __init__(self, trial: Trial, races: bool = False) -> None:
        self.trial = trial
        self.levels: list[Level] = []
        self.known: set[Any] = set()
        self.transitions = 0
        self.runs = 0
        self.finished = False
        self.conflicts: dict[Any, Conflict] = {}
        self._races = races

    @property
    def states(self) -> int:
        """How many states there are, as far as they are known."""
        return len(self.known)

    def outcomes(self) -> Iterator[Outcome]:
        """The outcome of every run, until all states are known. Those that end in a known state are stopped there."""
        while True:
            walk = _Walk(self)
            schedule = Steered(walk)
            walk.schedule = schedule
            outcome = self.trial.run(schedule, races=self._races, values=True)
            self.runs += 1
            yield outcome
            while self.levels and not self.levels[-1].untried:
                self.levels.pop()
            if not self.levels:
                self.finished = True
                return
            self.levels[-1].choice = self.levels[-1].untried.pop(0)

    def happened(self, level: Level, agent: int, deeds: Sequence[Deed], turns: Sequence[int]) -> None:
        """An agent went on from a level: does that clash with what others can do there?"""
        self.transitions += 1
        for other, theirs in level.deeds.items():
            if _rank(other) == _rank(agent):
                continue
            for one in deeds:
                for two in theirs:
                    if _clash(one, two):
                        key = frozenset(((id(one.statement), _rank(agent)), (id(two.statement), _rank(other))))
                        self.conflicts.setdefault(key, Conflict([*turns, other, agent], (other, two), (agent, one)))
        level.deeds[agent] = deeds


class _Walk:
    """One run: along the levels there are, then on to the first known state."""

    def __init__(self, search: StateSearch) -> None:
        self._search = search
        self._at = 0
        self._history: dict[int, int] = {}
        self._turns: list[int] = []
        self.schedule: Steered | None = None

    def choose(self, ready: Sequence[int], pending: Sequence[int]) -> int:
        search = self._search
        if self._at < len(search.levels):
            return search.levels[self._at].choice
        state = self._state(pending)
        if state in search.known:
            raise Enough
        search.known.add(state)
        level = Level([*ready, *pending])
        search.levels.append(level)
        level.choice = level.untried.pop(0)
        return level.choice

    def happened(self, agent: int, events: Sequence[Event]) -> None:
        search = self._search
        level = search.levels[self._at]
        if not events:
            # a wait that is not over: somebody else goes on from the same state
            if level.untried:
                level.choice = level.untried.pop(0)
            elif level.deeds:
                raise Enough
            return
        if self._at == len(search.levels) - 1 and agent not in level.deeds:
            search.happened(level, agent, events[-1].deeds, self._turns)
        for event in events:
            self._turns.append(event.agent)
            self._history[event.agent] = hash((self._history.get(event.agent, 0), event.seen, len(event.deeds)))
        self._at += 1

    def _state(self, pending: Sequence[int]) -> Any:
        schedule = self.schedule
        assert schedule is not None and schedule.trace is not None
        world = schedule.trace.world
        held = tuple([(a, len(world.doors[-1 - a].pending)) for a in pending])
        memory = tuple([b.root(d).data.tobytes() for b in world.buffers for d in (b.devices or ())])
        ranks = tuple([self._history.get(r, 0) for r in range(len(world.doors))])
        return hash((held, memory, ranks))


def _rank(agent: int) -> int:
    return agent if agent >= 0 else -1 - agent


def _clash(one: Deed, other: Deed) -> bool:
    if one.where != other.where or {one.kind, other.kind} <= {POST, WAIT}:
        return False
    return (one.kind, other.kind) in RULES and overlap(one, other)
