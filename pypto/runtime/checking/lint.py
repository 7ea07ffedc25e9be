"""Protocol lint: what a run shows of a protocol that is no fault yet, or whose fault shows in other runs only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.ir.enums import WaitCmp
from pypto.ir.function import Function, Program
from pypto.runtime.checking.clocks import Post
from pypto.runtime.checking.races import RaceDetector, described, elements_of, is_lowered
from pypto.runtime.checking.ranges import ranges_of
from pypto.runtime.checking.trials import Outcome, Trial
from pypto.runtime.schedules import schedule_of
from pypto.runtime.states import statement_text
from pypto.runtime.world import Access, Buffer, Observer

CellKey = tuple[int, int, int]


@dataclass(frozen=True)
class Remark:
    """One finding: its ``kind``, the ``rank`` and ``statement`` it is about, and what it says.

    Kinds: ``overshoot`` (a wait for exactly a value that a fast peer can pass), ``reuse`` (posts that serve two waits), ``credits`` (a cell
    that does not return to zero), ``self-post`` (a post to oneself that nobody waits for), ``uneven`` (ranks run other numbers of rounds),
    ``mixed`` (ranks run other collectives), ``unstaged`` (elements are read that nobody has written).
    """

    kind: str
    rank: int
    statement: Any
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: rank {self.rank} at {described(self.statement)}: {self.text}"


class _Cell:
    """What is noted of one signal cell."""

    __slots__ = ("buffer", "credit", "exact", "indices", "least", "owner", "posts", "served", "taken", "value")

    def __init__(self, buffer: Buffer, owner: int, indices: Sequence[int]) -> None:
        self.buffer = buffer
        self.owner = owner
        self.indices = [int(i) for i in indices]
        self.posts: list[tuple[int, int, bool, Any]] = []
        """Rank, amount, whether it sets, statement."""
        self.credit: Any = None
        self.taken = 0
        self.value = 0
        self.least = 0
        """The most that any wait has counted to, credits included."""
        self.exact: list[tuple[int, int, int, Any]] = []
        """Waits for exactly a value: by which agent of the owner at which time of it, for what, and where."""
        self.served: set[int] = set()

    @property
    def name(self) -> str:
        """The cell for people."""
        return f"cell {self.indices} of {self.buffer.name!r}"


class ProtocolLint(Observer):
    """Watches one run. The race detector of the same run is its clock: it must be told after this one."""

    def __init__(self) -> None:
        self.detector: RaceDetector | None = None
        self.remarks: list[Remark] = []
        self._cells: dict[CellKey, _Cell] = {}
        self._counts: dict[int, tuple[Any, dict[tuple[int, int], int]]] = {}
        """For each statement that posts: how often, by rank and peer."""
        self._seen: set[Any] = set()
        self._meets = False
        self._lowered: dict[int, bool] = {}

    def _remark(self, kind: str, rank: int, statement: Any, text: str) -> None:
        key = (kind, rank, id(statement))
        if key not in self._seen:
            self._seen.add(key)
            self.remarks.append(Remark(kind, rank, statement, text))

    def _cell(self, access: Access) -> _Cell:
        assert access.cell is not None
        at = access.offset + sum(int(i) * s for i, s in zip(access.cell, access.view.strides, strict=True))
        key = (id(access.buffer), access.owner, at)
        known = self._cells.get(key)
        if known is None:
            known = self._cells[key] = _Cell(access.buffer, access.owner, access.cell)
        return known

    # -- while it runs ---------------------------------------------------------------------------------------------------

    def on_read(self, access: Access) -> None:
        buffer = access.buffer
        if self._meets or buffer.given or buffer.is_signal or self.detector is None:
            return
        for begin, end in ranges_of(access):
            for low, high, stretch in self.detector.known_of(access, begin, min(end, buffer.size)):
                if stretch.write is None and not stretch.adds:
                    where = "its own window" if access.owner == access.rank else f"the window of rank {access.owner}"
                    text = f"reads {elements_of(buffer, low, high)} of {buffer.name!r} in {where}, which nobody has written yet"
                    self._remark("unstaged", access.rank, access.statement, text)
                    return

    def on_post(self, access: Access, amount: int, sets: bool) -> None:
        cell = self._cell(access)
        rank = access.rank
        cell.value = int(access.view[access.cell])
        own = rank == cell.owner
        if own and not sets and amount < 0:
            cell.credit = access.statement
            cell.taken -= amount
            return
        cell.posts.append((rank, amount, sets, access.statement))
        counts = self._counts.setdefault(id(access.statement), (access.statement, {}))[1]
        counts[rank, cell.owner] = counts.get((rank, cell.owner), 0) + 1
        if own or self.detector is None:
            return
        for agent, time, expected, statement in cell.exact:
            if not self.detector.clocks.before(agent, time, access.agent):
                text = (
                    f"waits until {cell.name} is exactly {expected}; the post of rank {rank} at {described(access.statement)} is not held "
                    "back until that wait is over, so the value can be passed and never be seen: wait for >="
                )
                self._remark("overshoot", cell.owner, statement, text)

    def on_wait(self, access: Access, expected: int, comparison: int) -> None:
        cell = self._cell(access)
        cell.value = int(access.view[access.cell])
        cell.least = max(cell.least, expected + cell.taken)
        if self.detector is None:
            return
        if comparison == WaitCmp.Eq:
            time = self.detector.clocks.now[access.agent][access.agent]
            cell.exact.append((access.agent, time, expected, access.statement))
        if self._is_lowered(access.statement):
            for post in self.detector.needed_posts(access, expected, comparison):
                self._same_collective(access, cell, post)

    def _is_lowered(self, statement: Any) -> bool:
        known = self._lowered.get(id(statement))
        if known is None:
            known = self._lowered[id(statement)] = is_lowered(statement)
        return known

    def _same_collective(self, access: Access, cell: _Cell, post: Post) -> None:
        """The post that serves the wait of a lowered collective must come from the same call."""
        fresh = id(post) not in cell.served
        cell.served.add(id(post))
        theirs: Any = post.statement
        mine = access.statement
        if fresh and self._is_lowered(theirs) and _place(mine) != _place(theirs):
            text = (
                f"goes on because of a post that rank {post.rank} made at {statement_text(theirs)}: the ranks do not run the same "
                "collectives in the same order"
            )
            self._remark("mixed", access.rank, mine, text)

    def on_meet(self, devices: Sequence[int], statement: Any) -> None:
        # what a collective that is run by its meaning writes is not told
        self._meets = True

    # -- afterwards ------------------------------------------------------------------------------------------------------

    def finish(self, outcome: Outcome) -> Sequence[Remark]:
        """All remarks on a run that is over."""
        for finding in outcome.reused:
            self._remark("reuse", finding.rank, finding.statement, finding.text.partition(": ")[2])
        if outcome.error is None:
            for cell in self._cells.values():
                self._after(cell)
        return self.remarks

    def _after(self, cell: _Cell) -> None:
        if cell.credit is not None and cell.value != 0:
            amount = "little" if cell.value > 0 else "much"
            text = f"takes back too {amount}: {cell.name} holds {cell.value} at the end, and the next call begins with that"
            self._remark("credits", cell.owner, cell.credit, text)
        waited = cell.least > 0 or bool(cell.exact)
        for rank, amount, _, statement in cell.posts:
            if rank == cell.owner and not waited and amount != 0:
                self._remark("self-post", rank, statement, f"posts to itself, to {cell.name}, and nobody waits for it")
        others = [p for p in cell.posts if p[0] != cell.owner]
        if waited and others and not cell.exact and not any(sets for _, _, sets, _ in others):
            total = sum(amount for _, amount, _, _ in others)
            if total > cell.least:
                self._uneven(cell, total, others)

    def _uneven(self, cell: _Cell, total: int, posts: Sequence[tuple[int, int, bool, Any]]) -> None:
        """More is posted than is waited for: ranks that run other numbers of rounds, when the counts of the posts differ too."""
        rank, _, _, statement = posts[-1]
        by_pair: Mapping[tuple[int, int], int] = self._counts[id(statement)][1]
        if len(set(by_pair.values())) > 1:
            listed = ", ".join(f"rank {a} to rank {b}: {n}" for (a, b), n in sorted(by_pair.items()))
            text = (
                f"posts {total} to {cell.name} of rank {cell.owner}, which waits for {cell.least} only; this statement ran different "
                f"numbers of times ({listed}): ranks must run the same rounds"
            )
            self._remark("uneven", rank, statement, text)


def _place(statement: Any) -> tuple[str, int]:
    span = getattr(statement, "span", None)
    return ("", -1) if span is None else (span.filename, span.begin_line)


def lint(
    program: Program | Function, *arrays: Any, ranks: int, schedule: str | None = None, entry: str | None = None
) -> Sequence[Remark]:
    """Run a program once and say what its protocol shows.

    Args:
        program: what to run, as for :func:`pypto.runtime.run`.
        arrays: its arguments; they are copied.
        ranks: the number of ranks.
        schedule: how ranks take turns, as for a run.
        entry: name of the entry function.

    Raises:
        ArgumentError: the arguments do not fit.
    """
    found = ProtocolLint()
    outcome = Trial(program, arrays, ranks, entry).run(schedule_of(schedule), [found], attach=found)
    return found.finish(outcome)
