"""Races: two accesses to one element from different ranks, at least one of them a write, that nothing orders.

For every stretch of bytes of every window the detector keeps the last write, the reads since, and the atomic additions since. An access
that does not come after all of them that it conflicts with is a race, whether or not the schedule at hand gave right numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pypto.runtime.checking.clocks import Cell, Clock, Clocks, Post
from pypto.runtime.checking.ranges import RangeMap, ranges_of
from pypto.runtime.errors import RunError
from pypto.runtime.states import rank_text, short, statement_text
from pypto.runtime.world import Access, Buffer, Observer

MOST = 100
"""Races that are kept; what is found beyond is counted."""


class Touch:
    """One access as it is remembered: ``rank`` (and which ``agent`` of it) at its own ``time``, and what it did: ``read``, ``write``,
    ``add`` or ``post``."""

    __slots__ = ("agent", "block", "kind", "rank", "statement", "time")

    def __init__(self, access: Access, time: int, kind: str) -> None:
        self.rank = access.rank
        self.agent = access.agent
        self.block = access.block
        self.time = time
        self.kind = kind
        self.statement = access.statement

    @property
    def name(self) -> str:
        """Who touches, for people."""
        return rank_text(self.rank, self.block)


class Stretch:
    """What is known of some bytes: the last write, and the latest read and addition of each agent since."""

    __slots__ = ("adds", "reads", "write")

    def __init__(self, write: Touch | None, reads: Sequence[Touch], adds: Sequence[Touch]) -> None:
        self.write = write
        self.reads = reads
        self.adds = adds


_UNTOUCHED = Stretch(None, (), ())

_VERBS = {"read": "reads", "write": "writes", "add": "adds to", "post": "posts to"}


@dataclass(frozen=True)
class Race:
    """Two accesses that nothing orders: the ``earlier`` one in this run and the ``later``, to bytes of ``window`` on rank ``owner``."""

    window: str
    owner: int
    begin: int
    end: int
    elements: str
    earlier: Touch
    later: Touch

    @property
    def text(self) -> str:
        """The race as lines for people."""
        first, second = self.earlier, self.later
        return (
            f"race on {self.window!r} of rank {self.owner}, {self.elements}\n"
            f"{_told(first)}\n{_told(second)}\n"
            f"  nothing orders the two: before its access {second.name} has waited for no post that {first.name} makes after its own"
        )


class RaceError(RunError):
    """A program with races; ``races`` has them all."""

    code = "race"

    def __init__(self, races: Sequence[Race], more: int = 0) -> None:
        first = races[0]
        count = len(races) + more
        text = first.text + (f"\n{count - 1} more race{'s' * (count > 2)}" if count > 1 else "")
        statement = first.later.statement
        span = getattr(statement, "span", None)
        super().__init__(text, span if span is not None and span.is_valid() else None, statement=statement)
        self.races = list(races)


def _told(touch: Touch) -> str:
    line = f"  {touch.name} {_VERBS[touch.kind]} {'it' if touch.kind == 'post' else 'them'} at {described(touch.statement)}"
    return f"{line}\n    lowered to `{short(touch.statement.as_python(concise=True))}`" if is_lowered(touch.statement) else line


def described(statement: Any) -> str:
    """A statement for people: the line of the source it comes from, and its operator where a pass made it of that line."""
    text = statement_text(statement)
    return f"{text} ({operator_of(statement)})" if is_lowered(statement) else text or "a statement without a place"


def operator_of(statement: Any) -> str:
    """The name of the operator that a statement calls, empty when it calls none."""
    shown = getattr(getattr(statement, "value", getattr(statement, "expr", None)), "op", None)
    return getattr(shown, "name", "")


def is_lowered(statement: Any) -> bool:
    """True when the line of source that a statement stems from does not call its operator: a pass made it of that line."""
    name = operator_of(statement)
    return bool(name) and name.rpartition(".")[2] not in statement_text(statement)


@dataclass
class _Memory:
    """What is known of one buffer on one rank."""

    map: RangeMap[Stretch]
    cells: dict[int, Cell] = field(default_factory=dict[int, Cell])


class RaceDetector(Observer):
    """Finds races while a program runs; give it to ``runtime.run(..., observers=[detector])``."""

    def __init__(self, ranks: int) -> None:
        self.clocks = Clocks(ranks)
        self.races: list[Race] = []
        self.more = 0
        self._memory: dict[tuple[int, int], _Memory] = {}
        self._buffers: list[Buffer] = []
        self._known: set[tuple[Any, ...]] = set()
        self._finished: dict[int, tuple[Any, Clock]] = {}

    @property
    def is_monotone(self) -> bool:
        """True when every signal cell had one producer that only adds, so that this one run stands for every schedule."""
        return all(cell.is_monotone for memory in self._memory.values() for cell in memory.cells.values())

    def raise_if_any(self, schedule: Sequence[int] = ()) -> None:
        """Raise what was found under a schedule.

        Raises:
            RaceError: there is a race.
        """
        if self.races:
            error = RaceError(self.races, self.more)
            error.schedule = schedule
            raise error

    # -- what happens --------------------------------------------------------------------------------------------------

    def on_read(self, access: Access) -> None:
        """Elements are read: after every write and addition."""
        touch = Touch(access, self._time(access), "read")

        def change(stretch: Stretch, begin: int, end: int) -> Stretch:
            self._check(access, stretch.write, touch, begin, end)
            for add in stretch.adds:
                self._check(access, add, touch, begin, end)
            for known in stretch.reads:
                if known.agent == touch.agent and known.time == touch.time:
                    return stretch
            return Stretch(stretch.write, _with(stretch.reads, touch), stretch.adds)

        self._update(access, change)

    def on_write(self, access: Access) -> None:
        """Elements are written: after every other access."""
        kind = "add" if access.atomic else "write"
        touch = Touch(access, self._time(access), kind)
        written = Stretch(touch, (), ())

        def change(stretch: Stretch, begin: int, end: int) -> Stretch:
            self._check(access, stretch.write, touch, begin, end)
            for read in stretch.reads:
                self._check(access, read, touch, begin, end)
            if access.atomic:
                return Stretch(stretch.write, stretch.reads, _with(stretch.adds, touch))
            for add in stretch.adds:
                self._check(access, add, touch, begin, end)
            return written

        self._update(access, change)

    def on_post(self, access: Access, amount: int, sets: bool) -> None:
        """A cell is posted to: everything the rank did before belongs to the post."""
        touch = Touch(access, self._time(access), "post")

        def change(stretch: Stretch, begin: int, end: int) -> Stretch:
            self._check(access, stretch.write, touch, begin, end)
            for read in stretch.reads:
                self._check(access, read, touch, begin, end)
            return Stretch(stretch.write, stretch.reads, _with(stretch.adds, touch))

        self._update(access, change)
        agent = access.agent
        self._cell(access).add(Post(access.rank, amount, sets, self.clocks.release(agent), access.statement, agent))

    def on_wait(self, access: Access, expected: int, comparison: int) -> None:
        """A wait is over: what belongs to the posts that it needed happened before what follows."""
        for post in self._cell(access).needed(expected, comparison):
            self.clocks.acquire(access.agent, post.clock)

    def on_meet(self, devices: Sequence[int], statement: Any) -> None:
        """A collective by its meaning orders everything before it on any rank before everything after it on all."""
        self.clocks.meet(devices)

    def on_launched(self, agent: int, block: int) -> None:
        """What an agent did before it started another happened before what that does."""
        if block >= len(self.clocks.now):
            self.clocks.extend(block + 1)
        self.clocks.acquire(block, self.clocks.release(agent))

    def on_finished(self, agent: int, task: Any) -> None:
        """What a task did happened before what its result is needed for."""
        self._finished[id(task)] = (task, self.clocks.release(agent))

    def on_needed(self, agent: int, task: Any) -> None:
        """The task is over, and so is everything before its end."""
        self.clocks.acquire(agent, self._finished[id(task)][1])

    def on_settled(self) -> None:
        """Host code has waited for all ranks: everything so far happened before everything to come."""
        self.clocks.meet(range(len(self.clocks.now)))

    def known_of(self, access: Access, begin: int, end: int) -> list[tuple[int, int, Stretch]]:
        """What is known of bytes of the storage that an access touches: stretches of them from ``begin`` to ``end``."""
        return self._of(access).map.values(begin, end) if begin < end else []

    def needed_posts(self, access: Access, expected: int, comparison: int) -> Sequence[Post]:
        """The posts that a wait needed."""
        return self._cell(access).needed(expected, comparison)

    # -- what is known -------------------------------------------------------------------------------------------------

    def _time(self, access: Access) -> int:
        return self.clocks.now[access.agent][access.agent]

    def _of(self, access: Access) -> _Memory:
        key = (id(access.buffer), access.owner)
        known = self._memory.get(key)
        if known is None:
            self._buffers.append(access.buffer)
            known = self._memory[key] = _Memory(RangeMap(access.buffer.room, _UNTOUCHED))
        return known

    def _cell(self, access: Access) -> Cell:
        cells = self._of(access).cells
        assert access.cell is not None
        at = access.offset + sum(int(i) * s for i, s in zip(access.cell, access.view.strides, strict=True))
        known = cells.get(at)
        if known is None:
            known = cells[at] = Cell(access.owner)
        return known

    def _update(self, access: Access, change: Any) -> None:
        stretches = self._of(access).map
        for begin, end in ranges_of(access):
            stretches.update(begin, end, change)

    def _check(self, access: Access, earlier: Touch | None, later: Touch, begin: int, end: int) -> None:
        if earlier is None or self.clocks.before(earlier.agent, earlier.time, later.agent):
            return
        key = (id(access.buffer), access.owner, id(earlier.statement), id(later.statement), earlier.agent, later.agent)
        if key in self._known:
            return
        self._known.add(key)
        if len(self.races) >= MOST:
            self.more += 1
            return
        elements = elements_of(access.buffer, begin, end)
        self.races.append(Race(access.buffer.name, access.owner, begin, end, elements, earlier, later))


def _with(touches: Sequence[Touch], touch: Touch) -> tuple[Touch, ...]:
    """The latest touch of each agent."""
    return (*[t for t in touches if t.agent != touch.agent], touch)


def elements_of(buffer: Buffer, begin: int, end: int) -> str:
    """Bytes as elements of the first window on the buffer."""
    if buffer.shape is None:
        return f"bytes {begin} to {end - 1}"
    shape, dtype = buffer.shape
    size = int(np.prod(shape, dtype=np.int64))
    first, last = begin // dtype.itemsize, (end - 1) // dtype.itemsize
    if last >= size:
        return f"bytes {begin} to {end - 1}"
    low, high = ([int(i) for i in np.unravel_index(at, shape)] for at in (first, last))
    if first == 0 and last == size - 1 and size > 1:
        return f"all {size} elements"
    return f"element {low}" if first == last else f"elements {low} to {high} ({last - first + 1})"
