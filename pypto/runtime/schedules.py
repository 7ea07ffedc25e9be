"""How ranks take turns."""

from __future__ import annotations

import random
import re
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pypto.runtime.errors import ArgumentError, ScheduleError

SCHEDULE = re.compile(r"round_robin|greedy|random:\d+|replay:.+", re.DOTALL)

_NO_REMARKS: Mapping[str, object] = {}

_HINT = 'one of "round_robin", "greedy", "random:SEED", "replay:FILE"'


class Turn(Protocol):
    """What takes turns: a rank, or a block of one, that has something to do. ``agent`` is the number of its door."""

    agent: int
    door: Any

    def step(self) -> bool:
        """Go on to the next point that others can observe; False when it has to wait or has nothing more to do."""
        ...


LATE = -0x8000
"""Stands before the turns of a run in which writes to other ranks are held back."""


class Schedule:
    """The runnable ranks and the order in which they go on. ``taken`` records every turn.

    A turn of rank r is recorded as r, the arrival of a held-back write of rank r as -1 - r; where writes are held back, :data:`LATE` comes
    first.
    """

    late = False
    """True when writes to other ranks are held back."""

    def __init__(self) -> None:
        self.taken: array[int] = array("h", [LATE] if self.late else [])

    def add(self, turn: Turn) -> None:
        """A rank can go on from now on."""
        raise NotImplementedError

    def run(self, doors: Sequence[Any]) -> None:
        """Let ranks go on until none can."""
        raise NotImplementedError


class RoundRobin(Schedule):
    """Each rank one step, in turn."""

    def __init__(self) -> None:
        super().__init__()
        self._ready: deque[Turn] = deque()

    def add(self, turn: Turn) -> None:
        self._ready.append(turn)

    def run(self, doors: Sequence[Any]) -> None:
        ready, record = self._ready, self.taken.append
        while ready:
            turn = ready.popleft()
            record(turn.agent)
            if turn.step():
                ready.append(turn)


class Greedy(Schedule):
    """One rank as far as it can go, then the next."""

    def __init__(self) -> None:
        super().__init__()
        self._ready: deque[Turn] = deque()

    def add(self, turn: Turn) -> None:
        self._ready.append(turn)

    def run(self, doors: Sequence[Any]) -> None:
        ready, record = self._ready, self.taken.append
        while ready:
            turn = ready.popleft()
            agent = turn.agent
            record(agent)
            while turn.step():
                record(agent)


class Random(Schedule):
    """Any rank each step, and writes to other ranks arrive late; the same for the same seed."""

    late = True

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self._ready: list[Turn] = []

    def add(self, turn: Turn) -> None:
        self._ready.append(turn)

    def run(self, doors: Sequence[Any]) -> None:
        ready, record, draw = self._ready, self.taken.append, self._random.random
        world = doors[0].world
        while ready or world.held:
            count = len(ready)
            held = [d for d in doors if d.pending] if world.held else ()
            at = int(draw() * (count + len(held)))
            if at >= count:
                door = held[at - count]
                record(-1 - door.agent)
                door.deliver()
                continue
            turn = ready[at]
            record(turn.agent)
            ready[at] = ready[-1]
            ready.pop()
            if turn.step():
                ready.append(turn)


class Replay(Schedule):
    """The turns of an earlier run; when they are used up, round robin."""

    def __init__(self, turns: Sequence[int]) -> None:
        self.late = any(t < 0 for t in turns)
        super().__init__()
        self._turns = turns[1:] if turns and turns[0] == LATE else turns
        self._ready: dict[int, Turn] = {}
        self._at = 0

    def add(self, turn: Turn) -> None:
        self._ready[turn.agent] = turn

    def run(self, doors: Sequence[Any]) -> None:
        ready = self._ready
        world = doors[0].world
        while ready or world.held:
            if self._at < len(self._turns):
                wanted = self._turns[self._at]
                self._at += 1
            else:
                wanted = next(iter(ready)) if ready else next(-1 - d.agent for d in doors if d.pending)
            if wanted < 0:
                door = doors[-1 - wanted] if -1 - wanted < len(doors) else None
                if door is None or not door.pending:
                    raise ScheduleError(
                        f"turn {self._at} of the schedule delivers a write of rank {-1 - wanted}, which has none under way"
                    )
                self.taken.append(wanted)
                door.deliver()
                continue
            turn = ready.pop(wanted, None)
            if turn is None:
                raise ScheduleError(
                    f"turn {self._at} of the schedule is rank {wanted}'s, which cannot go on there",
                    hint="replay the schedule with the program and the number of ranks that it was recorded with",
                )
            self.taken.append(wanted)
            if turn.step():
                ready[wanted] = turn


def schedule_of(name: str | None) -> Schedule:
    """The schedule of a name; round robin for None.

    Raises:
        ArgumentError: there is no such schedule, or its file cannot be read.
    """
    if name is None or name == "round_robin":
        return RoundRobin()
    if not SCHEDULE.fullmatch(name):
        raise ArgumentError(f"{name!r} is no schedule", hint=_HINT)
    if name == "greedy":
        return Greedy()
    kind, _, rest = name.partition(":")
    if kind == "random":
        return Random(int(rest))
    return Replay(read_schedule(rest))


def read_schedule(path: str) -> Sequence[int]:
    """The turns in a file that :func:`write_schedule` wrote.

    Raises:
        ArgumentError: there is no such file, or it holds something else.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
        return array("h", [int(w) for line in lines if not line.startswith("#") for w in line.split()])
    except OSError as error:
        raise ArgumentError(f"the schedule {path!r} cannot be read: {error.strerror}") from error
    except (ValueError, OverflowError) as error:
        raise ArgumentError(f"{path!r} holds no schedule: {error}") from error


def read_remarks(path: str) -> dict[str, str]:
    """What a schedule's file says of the run it is of: the lines ``# key: value``.

    Raises:
        ArgumentError: there is no such file.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ArgumentError(f"the schedule {path!r} cannot be read: {error}") from error
    pairs = [line[1:].partition(":") for line in lines if line.startswith("#")]
    return {key.strip(): value.strip() for key, colon, value in pairs if colon}


def write_schedule(path: str | Path, turns: Sequence[int], remarks: Mapping[str, object] = _NO_REMARKS) -> None:
    """Write turns to a file, for ``replay:FILE``: numbers between blanks, 32 a line; before them ``remarks`` on the run, a line each."""
    rows = [f"# {key}: {value}" for key, value in remarks.items()]
    rows += [" ".join(map(str, turns[at : at + 32])) for at in range(0, len(turns), 32)]
    Path(path).write_text("\n".join(rows) + "\n", encoding="utf-8")
