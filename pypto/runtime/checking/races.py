"""Races: two accesses to one element from different ranks, at least one of them a write, that nothing orders.

For every stretch of bytes of every window the detector keeps the last write, the reads since, and the atomic additions since. An access
that does not come after all of them that it conflicts with is a race, whether or not the schedule at hand gave right numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pypto.runtime.checking.clocks import Cell, Clocks, Post
from pypto.runtime.checking.ranges import RangeMap, ranges_of
from pypto.runtime.errors import RunError
from pypto.runtime.states import statement_text
from pypto.runtime.world import Access, Buffer, Observer

MOST = 100
"""Races that are kept; what is found beyond is counted."""


class Touch:
    """One access as it is remembered: ``rank`` at its own ``time``, what it did (``read``, ``write``, ``add`` or ``post``) and where."""

    __slots__ = ("kind", "rank", "statement", "time")

    def __init__(self, rank: int, time: int, kind: str, statement: Any) -> None:
        self.rank = rank
        self.time = time
        self.kind = kind
        self.statement = statement


class Stretch:
    """What is known of some bytes: the last write, and the latest read and addition of each rank since."""

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
            f"  rank {first.rank} {_VERBS[first.kind]} {'it' if first.kind == 'post' else 'them'} at {described(first.statement)}\n"
            f"  rank {second.rank} {_VERBS[second.kind]} {'it' if second.kind == 'post' else 'them'} at {described(second.statement)}\n"
            f"  nothing orders the two: before its access rank {second.rank} has waited for no post that rank {first.rank} makes after its "
            "own"
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


def described(statement: Any) -> str:
    """A statement for people: the line of the source it comes from, and the statement itself where a pass made it of that line."""
    text = statement_text(statement)
    shown = getattr(getattr(statement, "value", getattr(statement, "expr", None)), "op", None)
    name = getattr(shown, "name", "")
    return f"{text} ({name})" if name and name.rpartition(".")[2] not in text else text or "a statement without a place"


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
        touch = Touch(access.rank, self.clocks.now[access.rank][access.rank], "read", access.statement)

        def change(stretch: Stretch, begin: int, end: int) -> Stretch:
            self._check(access, stretch.write, touch, begin, end)
            for add in stretch.adds:
                self._check(access, add, touch, begin, end)
            for known in stretch.reads:
                if known.rank == touch.rank and known.time == touch.time:
                    return stretch
            return Stretch(stretch.write, _with(stretch.reads, touch), stretch.adds)

        self._update(access, change)

    def on_write(self, access: Access) -> None:
        """Elements are written: after every other access."""
        kind = "add" if access.atomic else "write"
        touch = Touch(access.rank, self.clocks.now[access.rank][access.rank], kind, access.statement)
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
        rank = access.rank
        touch = Touch(rank, self.clocks.now[rank][rank], "post", access.statement)

        def change(stretch: Stretch, begin: int, end: int) -> Stretch:
            self._check(access, stretch.write, touch, begin, end)
            for read in stretch.reads:
                self._check(access, read, touch, begin, end)
            return Stretch(stretch.write, stretch.reads, _with(stretch.adds, touch))

        self._update(access, change)
        self._cell(access).add(Post(rank, amount, sets, self.clocks.release(rank), access.statement))

    def on_wait(self, access: Access, expected: int, comparison: int) -> None:
        """A wait is over: what belongs to the posts that it needed happened before what follows."""
        for post in self._cell(access).needed(expected, comparison):
            self.clocks.acquire(access.rank, post.clock)

    def on_meet(self, devices: Sequence[int], statement: Any) -> None:
        """A collective by its meaning orders everything before it on any rank before everything after it on all."""
        self.clocks.meet(devices)

    # -- what is known -------------------------------------------------------------------------------------------------

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
        if earlier is None or self.clocks.before(earlier.rank, earlier.time, later.rank):
            return
        key = (id(access.buffer), access.owner, id(earlier.statement), id(later.statement), earlier.rank, later.rank)
        if key in self._known:
            return
        self._known.add(key)
        if len(self.races) >= MOST:
            self.more += 1
            return
        elements = _elements(access.buffer, begin, end)
        self.races.append(Race(access.buffer.name, access.owner, begin, end, elements, earlier, later))


def _with(touches: Sequence[Touch], touch: Touch) -> tuple[Touch, ...]:
    """The latest touch of each rank."""
    return (*[t for t in touches if t.rank != touch.rank], touch)


def _elements(buffer: Buffer, begin: int, end: int) -> str:
    """Bytes as elements of the first window on the buffer."""
    if buffer.shape is None:
        return f"bytes {begin} to {end - 1}"
    shape, dtype = buffer.shape
    size = int(np.prod(shape, dtype=np.int64))
    first, last = begin // dtype.itemsize, (end - 1) // dtype.itemsize
    if last >= size:
        return f"bytes {begin} to {end - 1}"
    low, high = ([int(i) for i in np.unravel_index(at, shape)] for at in (first, last))
    return f"element {low}" if first == last else f"elements {low} to {high} ({last - first + 1})"
