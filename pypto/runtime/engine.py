"""The local engine: all ranks of a run in one process, under a chosen schedule."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InternalError
from pypto.runtime.errors import DeadlockError, LateWriteFailed, RunError
from pypto.runtime.failure import run_error
from pypto.runtime.schedules import Schedule
from pypto.runtime.states import RankState, current_place, listed
from pypto.runtime.waiting import awaited, cycle_of, told
from pypto.runtime.world import Door, World

Steps = Generator[Any, None, Any]
"""Code that runs on a rank: it gives None where others may go on, and what it waits for where it cannot go on itself."""


class Task:
    """Something to do on a rank. ``begin`` makes its steps; when they are over ``value`` is the result."""

    __slots__ = ("_parked", "begin", "done", "name", "statement", "value")

    def __init__(self, name: str, begin: Callable[[Door], Steps], statement: Any = None) -> None:
        self.name = name
        self.begin = begin
        self.statement = statement
        self.value: Any = None
        self.done = False
        self._parked: list[Agent] | None = None

    def park(self, agent: Agent, _waiting: dict[int, list[Any]]) -> None:
        """An agent waits for the result."""
        if self._parked is None:
            self._parked = []
        self._parked.append(agent)

    def describe(self) -> str:
        """What a rank that is parked here waits for."""
        return f"{self.name!r} has not finished, whose result it needs"

    def finish(self, value: Any, wake: Callable[[Agent], None]) -> None:
        """It is over."""
        self.value = value
        self.done = True
        for agent in self._parked or ():
            wake(agent)


class Agent:
    """What goes on by itself: a rank with its tasks in order, or a further block of one while a task is split into blocks."""

    __slots__ = ("_resume", "_steps", "agent", "block", "blocked", "device", "door", "engine", "task", "tasks")

    def __init__(self, engine: Engine, door: Door) -> None:
        self.engine = engine
        self.door = door
        self.device = door.device
        self.agent = door.agent
        self.block = door.block
        self.tasks: deque[Task] = deque()
        self.task: Task | None = None
        self.blocked: Any = None
        self._steps: Steps | None = None
        self._resume: Callable[[], Any] = self._idle

    def _idle(self) -> Any:
        raise InternalError(f"rank {self.device} has nothing to do")

    def add(self, task: Task) -> None:
        """One more task."""
        self.tasks.append(task)
        if self.task is None:
            self._next()
            self.engine.schedule.add(self)

    def _next(self) -> bool:
        if not self.tasks:
            self.task = self._steps = None
            self._resume = self._idle
            return False
        self.task = self.tasks.popleft()
        self._steps = self.task.begin(self.door)
        self._resume = self._steps.__next__
        return True

    def step(self) -> bool:
        """Go on to the next point that others can observe; False when it has to wait or has nothing more to do."""
        engine = self.engine
        if engine.observers:
            for observer in engine.observers:
                observer.on_step(self.agent)
        try:
            blocked = self._resume()
        except StopIteration as stop:
            if self.door.pending:
                self.door.flush()
            assert self.task is not None
            for observer in engine.observers:
                observer.on_finished(self.agent, self.task)
            self.task.finish(stop.value, engine.wake)
            return self._next()
        except Exception as error:
            raise engine.failed(self, error) from error
        if blocked is None:
            return True
        self.blocked = blocked
        blocked.park(self, engine.world.waiting)
        return False

    def state(self) -> RankState:
        """Where it stands."""
        if self.task is None:
            return RankState(self.device, "finished", block=self.block)
        if self.blocked is not None:
            _, function = current_place(self._steps)
            return RankState(self.device, "waits", self.blocked.statement, self.blocked.describe(), function, self.block)
        statement, function = current_place(self._steps)
        return RankState(self.device, "runs", statement, "", function, self.block)


class Engine:
    """Runs tasks on the ranks of a world. ``agents`` are the ranks and, numbered like the doors, the further blocks of them so far."""

    def __init__(self, world: World, schedule: Schedule) -> None:
        self.world = world
        self.observers = world.observers
        self.schedule = schedule
        self.ranks: list[Agent] = [Agent(self, door) for door in world.doors]
        self.agents = [*self.ranks]
        world.wake = self.wake
        for door in world.doors:
            door.late = schedule.late

    def agent(self, device: int, block: int) -> Agent:
        """The agent that runs one of the blocks of a rank: for block 0 the rank itself."""
        number = self.world.door(device, block).agent
        for door in self.world.doors[len(self.agents) :]:
            self.agents.append(Agent(self, door))
        return self.agents[number]

    def wake(self, agent: Agent) -> None:
        """What an agent waited for has happened."""
        blocked = agent.blocked
        if blocked is None:
            return
        agent.blocked = None
        leave = getattr(blocked, "leave", None)
        if leave is not None:
            leave(self.world.waiting)
        self.schedule.add(agent)

    def run(self) -> None:
        """Let the ranks go on until all have done all their tasks.

        Raises:
            DeadlockError: none can go on, and some have something left to do.
            RunError: a statement failed on a rank.
        """
        try:
            with np.errstate(all="ignore"):
                self.schedule.run(self.world.doors)
        except LateWriteFailed as error:
            raise self._with_schedule(self.failed(self.agents[error.agent], error)) from error
        except RunError as error:
            raise self._with_schedule(error) from error.__cause__
        if any(rank.task is not None for rank in self.ranks):
            raise self._deadlock()

    def _with_schedule(self, error: RunError | InternalError) -> RunError | InternalError:
        if isinstance(error, RunError):
            error.schedule = self.schedule.taken
        return error

    def states(self, failed: Agent | None = None, statement: Any = None) -> list[RankState]:
        """Where the ranks are, and the further blocks that are at work; one that failed is at the statement."""
        shown = [a for a in self.agents if a.block == 0 or a.task is not None]
        return [RankState(a.device, "failed", statement, block=a.block) if a is failed else a.state() for a in shown]

    def _deadlock(self) -> DeadlockError:
        states = self.states()
        first = next(s for s in states if s.status == "waits")
        unfinished = sum(r.task is not None for r in self.ranks)
        message = f"deadlock: {unfinished} of {len(self.ranks)} ranks wait, and none can go on\n{listed(states)}"
        producers = self.world.producers
        waits: dict[int, set[int]] = {}
        for agent in self.agents:
            if agent.blocked is not None:
                waits.setdefault(agent.device, set()).update(awaited(agent.blocked, producers, agent.device))
        finished = {s.rank for s in states if s.status == "finished"}
        why = told(waits, finished)
        message += f"\n{why}" if why else ""
        statement = first.statement
        span = statement.span if statement is not None and statement.span.is_valid() else None
        passed = any(getattr(a.blocked, "has_passed", False) for a in self.agents)
        hint = "a wait for == misses a value that has passed: wait for >=" if passed else None
        error = DeadlockError(message, span, hint, statement=statement)
        error.states = states
        error.cycle = cycle_of({r: w - finished for r, w in waits.items()})
        error.schedule = self.schedule.taken
        return error

    def failed(self, agent: Agent, error: Exception) -> RunError | InternalError:
        """The error of one rank, told with the rank and with where the others are."""
        told = run_error(error)
        if not isinstance(told, RunError) or len(self.ranks) == 1:
            return told
        if told.rank is None:
            states = self.states(agent, told.statement)
            told.rank = agent.device
            told.states = states
            told.message = f"rank {agent.device}: {told.message}"
            others = listed(states, agent.device)
            told.note = f"{told.note}\n{others}" if told.note else f"meanwhile\n{others}"
        return told


def steps_of(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[Door], Steps]:
    """The steps of a function that reaches other ranks."""
    return lambda door: function(door, *arguments)


def one_step_of(function: Callable[..., Any], arguments: Sequence[Any]) -> Callable[[Door], Steps]:
    """A function that touches no window, as one step."""

    def begin(_door: Door) -> Steps:
        yield from ()
        return function(*arguments)

    return begin
