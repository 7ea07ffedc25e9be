"""Which events of a trace depend on one another, and which of two that do could also come the other way round.

Two events depend on one another when they touch the same bytes of one storage, one of them to write (additions commute with additions), or
one signal cell. A cell *rises* when one rank alone posts to it, never lowering it, its owner at most takes away what it has waited for, and
waits are for at least: then a wait depends only on the first post that makes it true, and that order cannot be reversed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pypto.runtime.checking.trace import ADD, POST, READ, WAIT, WRITE, Deed, Event, Where

CellName = tuple[int, int, int]


class CellHistory:
    """The posts to one cell in the order of a trace, with the numbers of their events."""

    __slots__ = ("consumer", "exact", "initial", "lowered", "owner", "posts", "producer", "several", "taken", "written")

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.posts: list[tuple[int, Deed, int]] = []
        """Event number, deed and who posts: see :func:`poster`."""
        self.initial = 0
        self.producer: int | None = None
        self.consumer: int | None = None
        """The agent that waits on it and takes away from it."""
        self.several = False
        """True when there are two producers, or two consumers."""
        self.lowered = False
        self.taken = False
        self.exact = False
        self.written = False

    @property
    def rises(self) -> bool:
        """True when nothing so far speaks against it."""
        return not (self.several or self.lowered or self.exact or self.written)

    def post(self, number: int, deed: Deed, rank: int) -> None:
        """One more post."""
        if rank == self.owner and self.producer != rank and not deed.sets and deed.amount <= 0:
            self.taken = True
        elif self.producer is None:
            self.producer = rank
        elif self.producer != rank:
            self.several = True
        if deed.sets:
            value = self.value_without(None)
            self.lowered = self.lowered or self.taken or deed.amount < value
        elif rank == self.producer and deed.amount < 0:
            self.lowered = True
        if self.taken and any(d.sets for _, d, _ in self.posts):
            self.lowered = True
        self.posts.append((number, deed, rank))

    def consume(self, agent: int) -> None:
        """An agent waits on the cell, or takes away from it."""
        if self.consumer is None:
            self.consumer = agent
        elif self.consumer != agent:
            self.several = True

    def value_without(self, left_out: int | None) -> int:
        """What the cell holds after all posts, but for those of one event."""
        value = self.initial
        for number, deed, _ in self.posts:
            if number != left_out:
                value = deed.amount if deed.sets else value + deed.amount
        return value

    def needed(self, expected: int) -> int | None:
        """For a rising cell: the event whose post makes it at least ``expected``, None when nothing is needed."""
        taken = sum(d.amount for _, d, rank in self.posts if rank == self.owner and rank != self.producer)
        value = self.initial + taken
        if value >= expected:
            return None
        for number, deed, rank in self.posts:
            if rank == self.producer:
                value = deed.amount if deed.sets else value + deed.amount
                if value >= expected:
                    return number
        return None


def poster(agent: int, deed: Deed, ranks: int) -> int:
    """Who a post is of: the owner of the cell, whatever block of it posts; else the agent."""
    agent = agent if agent >= 0 else -1 - agent
    return deed.where[1] if agent % ranks == deed.where[1] else agent


def met(value: int, wait: Deed) -> bool:
    """True when a wait is over with a value in its cell."""
    return value == wait.amount if wait.exact else value >= wait.amount


def overlap(one: Deed, other: Deed) -> bool:
    """True when the bytes of two deeds in one storage meet."""
    a, b = one.ranges, other.ranges
    if len(a) == 1 and len(b) == 1:
        return a[0][0] < b[0][1] and b[0][0] < a[0][1]
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][0] < b[j][1] and b[j][0] < a[i][1]:
            return True
        if a[i][1] <= b[j][1]:
            i += 1
        else:
            j += 1
    return False


_FREE, _CONFLICT, _CELL = 0, 1, 2

_RULES = {
    (READ, WRITE): _CONFLICT,
    (READ, ADD): _CONFLICT,
    (READ, POST): _CONFLICT,
    (WRITE, WRITE): _CONFLICT,
    (WRITE, ADD): _CONFLICT,
    (WRITE, POST): _CONFLICT,
    (WRITE, WAIT): _CONFLICT,
    (ADD, WAIT): _CONFLICT,
    (POST, POST): _CELL,
    (POST, WAIT): _CELL,
}
RULES = {**_RULES, **{(b, a): rule for (a, b), rule in _RULES.items()}}
"""How deeds of two kinds go together; those not listed do not depend on one another."""


class Dependence:
    """What is known of the cells of a program: those that do not rise in some run.

    ``coarse`` counts every two deeds on a cell as dependent, which is right for any protocol and sees many more orders.
    """

    def __init__(self, ranks: int, coarse: bool = False, agents: int | None = None) -> None:
        self.ranks = ranks
        self.agents = ranks if agents is None else agents
        """Ranks, and further blocks of them: of rank r the agents r, r + ranks, and so on."""
        self.coarse = coarse
        self.uneven: set[CellName] = set()

    def rises(self, cell: CellName) -> bool:
        """True for a cell whose waits need one post each."""
        return not self.coarse and cell not in self.uneven

    def independent(self, one: Sequence[Deed], other: Sequence[Deed]) -> bool:
        """True when what two agents can do at one moment may be done in either order."""
        for a in one:
            for b in other:
                if a.where != b.where:
                    continue
                rule = RULES.get((a.kind, b.kind), _FREE)
                if rule == _CONFLICT and overlap(a, b):
                    return False
                if rule == _CELL and a.ranges == b.ranges and self._cells_clash(a, b):
                    return False
        return True

    def _cells_clash(self, one: Deed, other: Deed) -> bool:
        if one.kind == POST == other.kind:
            return self.coarse or ((one.sets or other.sets) and one.cell in self.uneven)
        return not self.rises(one.cell)


class History:
    """The order in which the events of one trace happened: clocks, and the pairs of neighbours that could come the other way round."""

    def __init__(self, dependence: Dependence) -> None:
        self.dependence = dependence
        self.events: list[Event] = []
        self.cells: dict[CellName, CellHistory] = {}
        self._touching: dict[Where, list[int]] = {}
        """The events that touch data in a storage."""
        self._using: dict[CellName, list[int]] = {}
        """The events that post to a cell or wait for it."""
        self._of_agent: dict[int, int] = {}
        self._place: list[int] = []
        """For each event how many of its agent came before it, itself counted."""
        self._counts: dict[int, int] = {}
        self._arrivals: dict[tuple[int, int], int] = {}
        """The latest arrival by agent and by the rank at which it arrived."""
        self._cells_of: dict[Where, list[CellName]] = {}
        self._floor: list[int] = [0] * (2 * dependence.agents)
        self._phase = 0

    def column(self, agent: int) -> int:
        """Where in a clock an agent has its count."""
        return agent if agent >= 0 else self.dependence.agents - 1 - agent

    def happened_before(self, earlier: int, later: int) -> bool:
        """True when an event must come before another."""
        return self._place[earlier] <= self.events[later].clock[self.column(self.events[earlier].agent)]

    def add(self, event: Event) -> Iterator[int]:
        """One more event; gives the numbers of earlier ones that directly precede it and could come after it as well, latest first."""
        number = len(self.events)
        agent = event.agent
        if event.phase > self._phase:
            self._phase = event.phase
            for each in self.events:
                self._floor = [max(a, b) for a, b in zip(self._floor, each.clock, strict=True)]
        clock = [*self._floor]
        last = self._of_agent.get(agent)
        if last is not None:
            _join(clock, self.events[last].clock)
        forced = {*event.after, *self._must_have_arrived(event)}
        candidates = {*forced}
        for deed in event.deeds:
            candidates.update(self._before(deed))
        reversible: list[int] = []
        for earlier in sorted(candidates, reverse=True):
            other = self.events[earlier]
            if clock[self.column(other.agent)] >= self._place[earlier]:
                continue
            relation = 1 if earlier in forced else self._relation(earlier, other, event)
            if relation == 2:
                reversible.append(earlier)
            if relation:
                _join(clock, other.clock)
        count = self._counts[agent] = self._counts.get(agent, 0) + 1
        clock[self.column(agent)] = count
        event.clock = clock
        self.events.append(event)
        self._place.append(count)
        self._of_agent[agent] = number
        self._note(number, event)
        yield from reversible

    def _before(self, deed: Deed) -> Iterator[int]:
        """Earlier events that a deed may depend on."""
        yield from self._touching.get(deed.where, ())
        if deed.kind != POST and deed.kind != WAIT:
            for name in self._cells_of.get(deed.where, ()):
                if any(begin <= name[2] < end for begin, end in deed.ranges):
                    yield from self._using[name]
        elif not self.dependence.rises(deed.cell):
            yield from self._using.get(deed.cell, ())
        elif deed.kind == WAIT and deed.cell in self.cells:
            needed = self.cells[deed.cell].needed(deed.amount)
            if needed is not None:
                yield needed

    def _must_have_arrived(self, event: Event) -> Iterator[int]:
        """What a rank has written to others arrives before it posts or meets, and before it reads from where it went."""
        writer = -1 - event.agent
        if writer >= 0:
            return
        if event.flushes:
            if writer in self._of_agent:
                yield self._of_agent[writer]
            return
        for deed in event.deeds:
            arrived = self._arrivals.get((writer, deed.where[1]))
            if deed.kind == READ and arrived is not None:
                yield arrived

    def _note(self, number: int, event: Event) -> None:
        if event.agent < 0:
            self._arrivals[event.agent, event.deeds[0].where[1]] = number
        for deed in event.deeds:
            if deed.kind == POST or deed.kind == WAIT:
                self._note_cell(number, event, deed)
                self._using.setdefault(deed.cell, []).append(number)
                continue
            touching = self._touching.setdefault(deed.where, [])
            if not touching or touching[-1] != number:
                touching.append(number)
        for deed in event.deeds:
            if deed.kind == WRITE or deed.kind == ADD:
                for name in self._cells_of.get(deed.where, ()):
                    if any(begin <= name[2] < end for begin, end in deed.ranges):
                        self.cells[name].written = True
                        self.dependence.uneven.add(name)

    def _note_cell(self, number: int, event: Event, deed: Deed) -> None:
        cell = self.cells.get(deed.cell)
        if cell is None:
            cell = self.cells[deed.cell] = CellHistory(deed.where[1])
            cell.initial = deed.before
            self._cells_of.setdefault(deed.where, []).append(deed.cell)
            earlier = [
                d
                for at in self._touching.get(deed.where, ())
                for d in self._deeds_of(at, number, event)
                if d.kind in (WRITE, ADD)
            ]
            cell.written = any(overlap(d, deed) for d in earlier)
        if deed.kind == POST:
            rank = poster(event.agent, deed, self.dependence.ranks)
            cell.post(number, deed, rank)
            if rank == cell.owner and rank != cell.producer:
                cell.consume(event.agent)
        else:
            cell.exact = cell.exact or deed.exact
            cell.consume(event.agent)
        if not cell.rises:
            self.dependence.uneven.add(deed.cell)

    def _deeds_of(self, at: int, number: int, event: Event) -> Sequence[Deed]:
        return event.deeds if at == number else self.events[at].deeds

    def _relation(self, earlier: int, other: Event, event: Event) -> int:
        """0: independent; 1: in this order only; 2: dependent, and possible the other way round."""
        strongest = 0
        for a in other.deeds:
            for b in event.deeds:
                if a.where != b.where:
                    continue
                rule = RULES.get((a.kind, b.kind), _FREE)
                if rule == _CONFLICT and overlap(a, b):
                    return 2
                if rule == _CELL and a.ranges == b.ranges:
                    strongest = max(strongest, self._cell_relation(earlier, a, b))
        return strongest

    def _cell_relation(self, earlier: int, one: Deed, later: Deed) -> int:
        rises = self.dependence.rises(one.cell)
        if one.kind == POST == later.kind:
            return 2 if self.dependence.coarse or (not rises and (one.sets or later.sets)) else 0
        if one.kind == WAIT:
            return 0 if rises else 2
        cell = self.cells[one.cell]
        if rises:
            return 1 if cell.needed(later.amount) == earlier else 0
        return 2 if met(cell.value_without(earlier), later) else 1


def _join(clock: list[int], other: Sequence[int]) -> None:
    for at, value in enumerate(other):
        if value > clock[at]:
            clock[at] = value
