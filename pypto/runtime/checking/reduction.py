"""All schedules that differ in something, each once: dynamic partial-order reduction over runs that begin anew.

After each run every pair of neighbouring events that depend on one another and could come the other way round asks, at the point before the
first of the two, for a run in which the second comes first (source sets, Abdulla and others, 2014). Agents whose next event has been tried
already and commutes with all since sleep. A point of a run is reached again by forcing the events before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pypto.runtime.checking.dependence import Dependence, History
from pypto.runtime.checking.trace import Deed, Event
from pypto.runtime.checking.trials import Enough, Outcome, Steered, Trial


class Point:
    """A point of the run at hand: which agent goes on there, which should as well, and which need not."""

    __slots__ = ("choice", "event", "sleeping", "wanted")

    def __init__(self, choice: int, sleeping: dict[int, Sequence[Deed]]) -> None:
        self.choice = choice
        self.wanted: set[int] = {choice}
        self.sleeping = sleeping
        self.event: Event | None = None


class Search:
    """The search through the schedules of a trial.

    ``runs`` counts the schedules that differ in something, ``tried`` all that were run, ``redundant`` those given up as known, ``steps``
    the events of all runs.
    """

    def __init__(self, trial: Trial, dependence: Dependence, races: bool = True, lint: Any = None) -> None:
        self.trial = trial
        self.dependence = dependence
        self.points: list[Point] = []
        self.runs = 0
        self.tried = 0
        self.redundant = 0
        self.steps = 0
        self.finished = False
        self._races = races
        self._lint = lint
        """Watches the first run."""
        self._restarts = False

    def outcomes(self) -> Iterator[Outcome]:
        """Run after run, until every schedule is covered by one."""
        known = len(self.dependence.uneven)
        fresh = 0
        while True:
            walk = _Walk(self)
            watching = [] if self._lint is None or self.tried else [self._lint]
            outcome = self.trial.run(Steered(walk), watching, races=self._races, attach=watching[0] if watching else None)
            self._note(fresh)
            self._restarts = len(self.dependence.uneven) != known
            self.steps += len(self.points)
            if outcome.stopped:
                self.redundant += 1
            else:
                self.runs += 1
                self.tried += 1
                yield outcome
            if self._restarts:
                # what was held for independent is not: what has been left out must be tried
                known = len(self.dependence.uneven)
                self.points = []
                self.runs = 0
                fresh = 0
                continue
            if not self._back():
                self.finished = True
                return
            fresh = len(self.points) - 1

    def is_over(self) -> bool:
        """True when, after the run at hand, nothing is left to try."""
        return not any(p.wanted - p.sleeping.keys() - {p.choice} for p in self.points) and not self._restarts

    def _note(self, fresh: int) -> None:
        """Order the events of a run and ask for what could be the other way round, for its events from ``fresh`` on."""
        history = History(self.dependence)
        for number, point in enumerate(self.points):
            if point.event is None:
                break
            reversible = [*history.add(point.event)]
            if number >= fresh:
                for earlier in reversible:
                    self._ask(history, earlier, number)

    def _ask(self, history: History, earlier: int, later: int) -> None:
        """At the point before ``earlier``, some run must begin with what ``later`` needs and not with ``earlier``."""
        first: list[int] = []
        for number in range(earlier + 1, later + 1):
            if number != later and history.happened_before(earlier, number):
                continue
            if not any(history.happened_before(f, number) for f in first):
                first.append(number)
        agents = {history.events[f].agent for f in first}
        point = self.points[earlier]
        if agents & point.wanted or agents & point.sleeping.keys():
            return
        mine = history.events[later].agent
        point.wanted.add(mine if mine in agents else min(agents))

    def _back(self) -> bool:
        """Go back to the last point where something else should be tried; False when there is none."""
        while self.points:
            point = self.points[-1]
            point.sleeping[point.choice] = () if point.event is None else point.event.deeds
            left = point.wanted - point.sleeping.keys()
            if left:
                point.choice = min(left)
                point.event = None
                return True
            self.points.pop()
        return False

    def sleepers(self) -> dict[int, Sequence[Deed]]:
        """Who sleeps after the last point."""
        if not self.points:
            return {}
        last = self.points[-1]
        event = last.event
        assert event is not None
        return {
            agent: deeds
            for agent, deeds in last.sleeping.items()
            if agent != event.agent and self.dependence.independent(deeds, event.deeds)
        }


class _Walk:
    """One run: along the points there are, then on, past those who sleep."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._at = 0
        self._last: int | None = None

    def choose(self, ready: Sequence[int], pending: Sequence[int]) -> int:
        points = self._search.points
        if self._at < len(points):
            return points[self._at].choice
        sleeping = self._search.sleepers()
        if self._last in ready and self._last not in sleeping:
            choice = self._last
        else:
            choice = next((a for a in (*ready, *pending) if a not in sleeping), None)
        if choice is None:
            raise Enough
        self._sleeping = sleeping
        self._trying = choice
        return choice

    def happened(self, agent: int, events: Sequence[Event]) -> None:
        points = self._search.points
        self._last = agent
        if not events:
            if self._at < len(points):
                # what should go on here cannot: no run begins like this
                raise Enough
            return
        for number, event in enumerate(events):
            if self._at == len(points):
                sleeping = self._sleeping if number == 0 else self._search.sleepers()
                points.append(Point(event.agent, sleeping))
            point = points[self._at]
            if point.event is None:
                if point.choice != event.agent:
                    point.wanted = (point.wanted - {point.choice}) | {event.agent}
                    point.choice = event.agent
                if event.agent in point.sleeping:
                    raise Enough
            point.event = event
            self._at += 1
