"""Running one program again and again on the same arguments, each time under a schedule that somebody else decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from pypto.diagnostics import Error, for_users
from pypto.ir.function import Function, Program
from pypto.runtime.checking.races import Race, RaceDetector
from pypto.runtime.checking.trace import Event, Trace
from pypto.runtime.engine import Engine
from pypto.runtime.entry import entry_function, linked_program, run_host, run_ranks
from pypto.runtime.errors import RunError
from pypto.runtime.legal_ranks import is_distributed
from pypto.runtime.schedules import Schedule, Turn
from pypto.runtime.signals import Finding
from pypto.runtime.world import Observer, World


class Enough(BaseException):
    """Raised inside a run that need not go on; nothing below should take it for an error of the program."""


class Driver(Protocol):
    """Decides who goes on. Ranks have their numbers; -1 - r lets the oldest held-back write of rank r arrive."""

    def choose(self, ready: Sequence[int], pending: Sequence[int]) -> int:
        """One of the ranks that are ready, or of the agents of writes that are pending; may raise :class:`Enough`."""
        ...

    def happened(self, agent: int, events: Sequence[Event]) -> None:
        """What came of it: nothing, when a rank only found that it has to wait; else the events, that of the agent last."""
        ...


class Steered(Schedule):
    """A schedule in which a driver decides each turn. ``taken`` has a turn for each event and none for vain looks at signals."""

    def __init__(self, driver: Driver, late: bool = True) -> None:
        self.late = late
        super().__init__()
        self.driver = driver
        self.trace: Trace | None = None
        self._ready: dict[int, Turn] = {}
        self._meetings: dict[int, Any] = {}

    def add(self, turn: Turn) -> None:
        self._ready[turn.agent] = turn

    def run(self, doors: Sequence[Any]) -> None:
        ready, trace, driver = self._ready, self.trace, self.driver
        assert trace is not None
        world = doors[0].world
        while ready or world.held:
            pending = [-1 - d.agent for d in doors if d.pending] if world.held else ()
            agent = driver.choose([*ready], pending)
            trace.begin()
            if agent < 0:
                events = [trace.arrived(-1 - agent)]
                self.taken.append(agent)
                doors[-1 - agent].deliver()
            else:
                turn: Any = ready.pop(agent)
                meeting = self._meetings.pop(agent, None)
                if meeting is not None:
                    trace.resumed(meeting)
                try:
                    if turn.step():
                        ready[agent] = turn
                except Exception:
                    self._took(trace.stepped(agent, turn.door, None))
                    raise
                events = trace.stepped(agent, turn.door, turn.blocked)
                waiting = getattr(turn.blocked, "meeting", None)
                if waiting is not None:
                    self._meetings[agent] = waiting
                self._took(events)
            driver.happened(agent, events)

    def _took(self, events: Sequence[Event]) -> None:
        for event in events:
            self.taken.append(event.agent)


@dataclass
class Outcome:
    """What one run came to: its results, or the error that ended it; the ``races`` and the reused signals that were seen."""

    results: Any = None
    windows: Any = None
    error: RunError | None = None
    races: Sequence[Race] = ()
    more: int = 0
    reused: Sequence[Finding] = ()
    events: Sequence[Event] = ()
    turns: Sequence[int] = ()
    stopped: bool = False
    detector: RaceDetector | None = None
    world: World | None = None
    notes: dict[str, Any] = field(default_factory=dict[str, Any])


def copied(arrays: Sequence[Any]) -> list[Any]:
    """The same arguments in arrays of their own."""
    return [copied(a) if isinstance(a, list) else a.copy() if isinstance(a, np.ndarray) else a for a in arrays]  # pyright: ignore[reportUnknownArgumentType]


class Trial:
    """One program, its arguments and a number of ranks."""

    def __init__(self, program: Program | Function, arrays: Sequence[Any], ranks: int, entry: str | None = None) -> None:
        self.program = program
        self.arrays = [*arrays]
        self.ranks = ranks
        self.function = entry_function(program, entry)
        self._linked = linked_program(program, self.function)
        self.agents = ranks * self._linked.facts.most_blocks()
        """How many agents there are: ranks, and further blocks of them."""
        self._host = self._linked.facts.of(self.function).host
        self.is_distributed = is_distributed(program)
        self.runs = 0

    def run(
        self,
        schedule: Schedule,
        observers: Sequence[Observer] = (),
        *,
        races: bool = True,
        values: bool = False,
        attach: Any = None,
    ) -> Outcome:
        """Run it once on copies of the arguments. ``attach`` gets the race detector as its ``detector``.

        Raises:
            Error: the arguments do not fit, whatever the schedule.
        """
        self.runs += 1
        detector = RaceDetector(self.ranks) if races else None
        world = World(self.ranks, [*observers, *([] if detector is None else [detector])])
        outcome = Outcome(detector=detector, world=world)
        if attach is not None:
            attach.detector = detector
        if isinstance(schedule, Steered):
            schedule.trace = Trace(world, values)
            world.observers.insert(0, schedule.trace)
        engine = Engine(world, schedule)
        arrays = copied(self.arrays)
        try:
            outcome.results = (run_host if self._host else run_ranks)(self._linked, self.function, arrays, engine)
            outcome.windows = world.contents(False)
        except Enough:
            outcome.stopped = True
        except RunError as error:
            for_users(error)
            outcome.error = error
        except Error as error:
            raise for_users(error) from error.__cause__
        if detector is not None:
            outcome.races, outcome.more = detector.races, detector.more
        outcome.reused = world.findings
        outcome.turns = tuple(schedule.taken)
        if isinstance(schedule, Steered) and schedule.trace is not None:
            outcome.events = schedule.trace.events
        return outcome
