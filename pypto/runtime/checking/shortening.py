"""Making the schedule of a fault short, so that it can be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto.runtime.checking.dependence import Dependence, History
from pypto.runtime.checking.races import RaceDetector
from pypto.runtime.checking.trace import Event
from pypto.runtime.checking.trials import Enough, Outcome, Steered, Trial
from pypto.runtime.schedules import LATE

MOST_RUNS = 400
"""Runs that the shortening of one schedule may take."""


class Following:
    """A driver that takes turns as they are listed, skipping those that cannot be taken; then everybody in turn, or the end."""

    def __init__(self, turns: Sequence[int], *, ends: bool = False) -> None:
        self._turns = [t for t in turns if t != LATE]
        self._at = 0
        self._ends = ends
        self.detector: RaceDetector | None = None
        """When set, the run ends with the first race."""

    def choose(self, ready: Sequence[int], pending: Sequence[int]) -> int:
        while self._at < len(self._turns):
            turn = self._turns[self._at]
            self._at += 1
            if turn in ready or turn in pending:
                return turn
        if self._ends:
            raise Enough
        return ready[0] if ready else pending[0]

    def happened(self, agent: int, events: Sequence[Event]) -> None:
        if self.detector is not None and self.detector.races:
            raise Enough


def follow(trial: Trial, turns: Sequence[int], *, late: bool = True, races: bool = True, ends: bool = False) -> Outcome:
    """Run along turns. With ``ends`` the run is over with the first race, or when the turns are used up."""
    driver = Following(turns, ends=ends)
    return trial.run(Steered(driver, late), races=races, attach=driver if ends else None)


def is_late(turns: Sequence[int]) -> bool:
    """True for the turns of a run in which writes to other ranks are held back."""
    return any(t < 0 for t in turns)


def shortened(trial: Trial, turns: Sequence[int], same: Callable[[Outcome], bool], *, race: bool) -> Outcome | None:
    """The outcome of the shortest run found that has the same fault; None when it does not show again.

    For a race that is a run up to its second access; for other faults the turns are those that must be forced, the others come in turn.
    """
    left = MOST_RUNS
    late = is_late(turns)

    def attempt(agents: Sequence[int]) -> Outcome | None:
        nonlocal left
        left -= 1
        outcome = follow(trial, agents, late=late, races=race, ends=race)
        return outcome if same(outcome) else None

    best = attempt(turns)
    if best is None:
        return None
    agents = [e.agent for e in best.events] if race else [t for t in turns if t != LATE]
    if race:
        agents = _past(trial, best)
        found = attempt(agents)
        if found is not None:
            best = found
        agents = [e.agent for e in best.events]
    parts = 2
    while agents and left > 0:
        size = max(1, len(agents) // parts)
        for begin in range(0, len(agents), size):
            rest = agents[:begin] + agents[begin + size :]
            found = attempt(rest)
            if found is not None:
                best = found
                agents = [e.agent for e in found.events] if race else rest
                parts = max(2, parts - 1)
                break
            if left <= 0:
                break
        else:
            if size == 1:
                break
            parts = min(len(agents), 2 * parts)
    if race:
        found = attempt(_grouped(trial, best))
        if found is not None and len(found.events) <= len(best.events):
            return found
        best = attempt([e.agent for e in best.events]) or best
    best.notes["forced"] = [LATE, *agents] if late else agents
    return best


def _history(trial: Trial, events: Sequence[Event]) -> History:
    history = History(Dependence(trial.ranks, agents=trial.agents))
    for event in events:
        for _ in history.add(event):
            pass
    return history


def _past(trial: Trial, outcome: Outcome) -> list[int]:
    """The agents of the events that happened before one of the two accesses of the first race."""
    race = outcome.races[0]
    events = outcome.events
    history = _history(trial, events)
    last = len(events) - 1
    ends = [last]
    for at in range(last - 1, -1, -1):
        agent = events[at].agent if events[at].agent >= 0 else -1 - events[at].agent
        if agent == race.earlier.agent and any(d.statement is race.earlier.statement for d in events[at].deeds):
            ends.append(at)
    return [
        e.agent
        for at, e in enumerate(events)
        if any(at == end or (at < end and history.happened_before(at, end)) for end in ends)
    ]


def _grouped(trial: Trial, outcome: Outcome) -> list[int]:
    """The same events with as few changes from one agent to another as their order allows."""
    events = outcome.events
    history = _history(trial, events)
    left = list(range(len(events)))
    made: list[int] = []
    agent: int | None = None
    while left:
        free = [at for at in left if not any(o < at and history.happened_before(o, at) for o in left if o != at)]
        at = next((f for f in free if events[f].agent == agent), free[0])
        agent = events[at].agent
        made.append(agent)
        left.remove(at)
    return made
