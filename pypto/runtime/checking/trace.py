"""What happened in a run, as events: each the step of one rank, or the arrival of one write that was held back.

A rank is the agent of its number r; what lets its held-back writes arrive is the agent -1 - r. An event has the deeds that others can
observe. A look at a signal that finds too little is no event: nothing has changed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from typing import Any

from pypto.runtime.checking.ranges import Range, ranges_of
from pypto.runtime.world import Access, Observer, World

READ, WRITE, ADD, POST, WAIT, MEET = "read", "write", "add", "post", "wait", "meet"

Where = tuple[int, int]
"""Storage: the number of the buffer, and the rank that owns it."""


class Deed:
    """One thing that an event does: ``kind`` to the bytes ``ranges`` of the storage ``where``.

    For posts ``amount`` and ``sets`` say what becomes of the cell; for waits ``amount`` is what is expected and ``exact`` is True for
    equality. ``before`` is what a cell held when it was first touched.
    """

    __slots__ = ("amount", "before", "exact", "kind", "ranges", "sets", "statement", "where")

    def __init__(
        self,
        kind: str,
        where: Where,
        ranges: Sequence[Range],
        statement: Any,
        amount: int = 0,
        sets: bool = False,
        exact: bool = False,
        before: int = 0,
    ) -> None:
        self.kind = kind
        self.where = where
        self.ranges = ranges
        self.statement = statement
        self.amount = amount
        self.sets = sets
        self.exact = exact
        self.before = before

    @property
    def cell(self) -> tuple[int, int, int]:
        """The signal cell of a post or a wait: buffer, owner and first byte."""
        return (*self.where, self.ranges[0][0])


class Event:
    """What one agent does in one go. ``after`` are numbers of earlier events without which it cannot be."""

    __slots__ = ("after", "agent", "clock", "deeds", "flushes", "issues", "meets", "phase", "seen", "statement")

    def __init__(self, agent: int, deeds: list[Deed], after: list[int], phase: int) -> None:
        self.agent = agent
        self.deeds = deeds
        self.after = after
        self.phase = phase
        """Events before this number are over on all ranks: host code has waited in between."""
        self.clock: Sequence[int] = ()
        self.statement: Any = deeds[-1].statement if deeds else None
        self.flushes = any(d.kind == POST for d in deeds)
        """True for the step of a rank before which all that it has written to others arrives."""
        self.issues: Sequence[Deed] = ()
        """Writes to other ranks that it lets go, and that arrive later."""
        self.meets = False
        """True for the step in which a rank comes to a collective that is run by its meaning."""
        self.seen = 0
        """A digest of the values that it has read, where they are looked at."""


class Trace(Observer):
    """Keeps the events of a run under a schedule that tells it where they begin and end."""

    def __init__(self, world: World, values: bool = False) -> None:
        self.world = world
        self.events: list[Event] = []
        self.phase = 0
        self._values = values
        self._deeds: list[Deed] = []
        self._after: list[int] = []
        self._seen: list[Any] = []
        self._issued: dict[int, deque[tuple[Deed, int]]] = defaultdict(deque)
        """Writes of each agent that have not arrived, with the event that issued them."""
        self._launching: list[int] = []
        self._launched: dict[int, int] = {}
        """The event that started an agent which has done nothing yet."""
        self._own: list[Deed] = []
        self._numbers: dict[int, int] = {}
        self._touched: set[tuple[int, int, int]] = set()
        self._finished: dict[int, int] = {}
        self._ended: list[Any] = []
        self._comes: dict[tuple[int, ...], list[int]] = {}
        """The events in which ranks came to the meeting of a domain that is not complete."""
        self._meetings: dict[int, tuple[Any, list[int]]] = {}
        self._met: list[list[int]] = []
        self._meeting_at: Any = None

    def buffer_number(self, buffer: Any) -> int:
        """The same number for the same buffer in every run."""
        known = self._numbers.get(id(buffer))
        if known is None:
            for number, each in enumerate(self.world.buffers):
                self._numbers[id(each)] = number
            known = self._numbers[id(buffer)]
        return known

    # -- what the schedule says ----------------------------------------------------------------------------------------

    def begin(self) -> None:
        """An event begins."""
        self._deeds = []
        self._after = []
        self._seen = []
        self._own = []
        self._ended = []
        self._met = []
        self._launching = []

    def settled(self) -> None:
        """All ranks are done, and host code goes on."""
        self.phase = len(self.events)

    def arrived(self, rank: int) -> Event:
        """The oldest write of a rank has arrived."""
        deed, issued = self._issued[rank].popleft()
        event = Event(-1 - rank, [deed], [issued], self.phase)
        self.events.append(event)
        return event

    def stepped(self, rank: int, door: Any, blocked: Any = None) -> list[Event]:
        """The events of one step of a rank: what arrived before it, then its own; none for a look at a signal that finds too little."""
        queue = self._issued[rank]
        gone = len(queue) + len(self._own) - len(door.pending)
        made = [self.arrived(rank) for _ in range(min(gone, len(queue)))]
        number = len(self.events)
        for at, deed in enumerate(self._own):
            if len(made) + at < gone:
                self._deeds.append(deed)
            else:
                queue.append((deed, number))
        meeting: Any = getattr(blocked, "meeting", None)
        if meeting is not None:
            self._come(meeting, number)
        if blocked is not None and meeting is None and not (self._deeds or self._own or self._launching):
            return made
        if rank in self._launched:
            self._after.append(self._launched.pop(rank))
        self._launched.update(dict.fromkeys(self._launching, number))
        event = Event(rank, self._deeds, self._after, self.phase)
        if self._own:
            event.issues = [d for d in self._own if d not in self._deeds]
            event.statement = self._own[-1].statement
        if meeting is not None or self._met:
            event.meets = True
            event.statement = getattr(blocked, "statement", self._meeting_at)
        if self._values:
            event.seen = hash(tuple(self._seen))
        self.events.append(event)
        event.flushes = event.flushes or meeting is not None or bool(self._met or self._ended)
        for task in self._ended:
            self._finished[id(task)] = number
        for comes in self._met:
            comes.append(number)
        made.append(event)
        return made

    def _come(self, meeting: Any, number: int) -> None:
        comes = self._comes.setdefault(meeting.devices, [])
        comes.append(number)
        self._meetings[id(meeting)] = meeting, comes

    def resumed(self, meeting: Any) -> None:
        """A rank goes on after a meeting for which it had to wait."""
        self._after += self._meetings[id(meeting)][1]

    # -- what observers are told ---------------------------------------------------------------------------------------

    def on_read(self, access: Access) -> None:
        where = self.buffer_number(access.buffer), access.owner
        self._deeds.append(Deed(READ, where, ranges_of(access), access.statement))
        if self._values:
            region = access.region()
            part = access.view[access.elements if region is None else tuple([slice(*r) for r in region])]
            self._seen.append(part.tobytes())

    def on_write(self, access: Access) -> None:
        where = self.buffer_number(access.buffer), access.owner
        deed = Deed(ADD if access.atomic else WRITE, where, ranges_of(access), access.statement)
        late = access.owner != access.rank and self.world.doors[access.rank].late
        (self._own if late else self._deeds).append(deed)

    def on_post(self, access: Access, amount: int, sets: bool) -> None:
        deed = self._cell_deed(POST, access, amount, sets, False)
        if self._is_new(deed) and not sets:
            deed.before = int(access.view[access.cell]) - amount
        self._deeds.append(deed)

    def on_wait(self, access: Access, expected: int, comparison: int) -> None:
        deed = self._cell_deed(WAIT, access, expected, False, comparison == 0)
        if self._is_new(deed):
            deed.before = int(access.view[access.cell])
        self._deeds.append(deed)

    def _cell_deed(self, kind: str, access: Access, amount: int, sets: bool, exact: bool) -> Deed:
        assert access.cell is not None
        at = access.offset + sum(int(i) * s for i, s in zip(access.cell, access.view.strides, strict=True))
        where = self.buffer_number(access.buffer), access.owner
        return Deed(kind, where, [(at, at + access.view.itemsize)], access.statement, amount, sets, exact)

    def _is_new(self, deed: Deed) -> bool:
        if deed.cell in self._touched:
            return False
        self._touched.add(deed.cell)
        return True

    def on_meet(self, devices: Sequence[int], statement: Any) -> None:
        comes = self._comes.pop(tuple(devices), [])
        self._after += comes
        self._met.append(comes)
        self._meeting_at = statement

    def on_launched(self, agent: int, block: int) -> None:
        self._launching.append(block)

    def on_finished(self, agent: int, task: Any) -> None:
        self._ended.append(task)

    def on_needed(self, agent: int, task: Any) -> None:
        self._after.append(self._finished[id(task)])

    def on_settled(self) -> None:
        self.settled()
