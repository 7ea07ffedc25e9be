"""A run as a table: a column for each rank, a row for each thing that happens, in the order of the schedule."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pypto.runtime.checking.dependence import CellHistory, CellName, poster
from pypto.runtime.checking.races import Race, elements_of
from pypto.runtime.checking.trace import ADD, POST, READ, WAIT, Deed, Event, Where
from pypto.runtime.states import RankState
from pypto.runtime.world import World

CALM, ACCUSED, STUCK = "", "race", "waits"


@dataclass
class Row:
    """One thing that happens on a rank. ``mark`` is ``race`` for an access that takes part in one and ``waits`` for a rank that is stuck;
    ``causes`` are the rows without which it could not be: posts that a wait needed, the statement whose write arrives."""

    rank: int
    text: str
    statement: Any
    mark: str = CALM
    causes: Sequence[int] = ()

    @property
    def line(self) -> str:
        """Where the statement stands, as ``file:line``; empty when that is not known."""
        span = getattr(self.statement, "span", None)
        return f"{span.filename}:{span.begin_line}" if span is not None and span.begin_line > 0 else ""


@dataclass
class Timeline:
    """The rows of a run on some ranks."""

    ranks: int
    rows: list[Row] = field(default_factory=list[Row])

    @property
    def file(self) -> str:
        """The file that all rows are of, empty when they are of several."""
        files = {row.line.rpartition(":")[0] for row in self.rows if row.line}
        return files.pop() if len(files) == 1 else ""

    def shown(self, row: Row) -> str:
        """A row's text, with where its statement stands."""
        line = row.line.rpartition("/")[2]
        if line and self.file:
            return f"{row.text} (line {line.rpartition(':')[2]})"
        return f"{row.text} ({line})" if line else row.text

    def text(self, width: int | None = None) -> str:
        """The table as plain text: rows that race are marked ``!!``, ranks that wait for ever ``..``."""
        total = width or max(80, shutil.get_terminal_size((120, 24)).columns)
        column = max(18, (total - 8) // self.ranks)
        lines = [f"lines of {self.file}"] if self.file else []
        lines.append("        " + "".join(f"rank {r}".ljust(column) for r in range(self.ranks)).rstrip())
        for number, row in enumerate(self.rows, 1):
            mark = "!!" if row.mark == ACCUSED else ".." if row.mark == STUCK else "  "
            shown = self.shown(row)
            for at, part in enumerate(textwrap.wrap(shown, column - 2) or [""]):
                head = f"{mark}{number:>4}  " if at == 0 else " " * 8
                lines.append(f"{head}{' ' * (column * row.rank)}{part}".rstrip())
        return "\n".join(lines)


class _Writer:
    def __init__(self, world: World) -> None:
        self.world = world
        self.rows: list[Row] = []
        self.cells: dict[CellName, CellHistory] = {}
        self.row_of_event: dict[int, int] = {}

    def buffer(self, where: Where) -> Any:
        return self.world.buffers[where[0]]

    def place(self, deed: Deed) -> str:
        buffer = self.buffer(deed.where)
        if not deed.ranges:
            return f"nothing of {buffer.name!r}"
        begin, end = deed.ranges[0][0], deed.ranges[-1][1]
        elements = elements_of(buffer, begin, end)
        if elements.startswith("all "):
            return repr(buffer.name)
        return f"{buffer.name!r} {elements.partition(' ')[2]}"

    def cell(self, deed: Deed) -> str:
        buffer = self.buffer(deed.where)
        return f"{buffer.name!r} {elements_of(buffer, *deed.ranges[0]).partition(' ')[2]}"

    def deed(self, number: int, agent: int, deed: Deed) -> None:
        block, rank = divmod(agent if agent >= 0 else -1 - agent, self.world.ranks)
        owner = deed.where[1]
        causes: Sequence[int] = ()
        of = "" if owner == rank else f" of rank {owner}"
        if deed.kind == POST:
            if owner == rank and deed.amount < 0 and not deed.sets:
                text = f"takes {-deed.amount} back from {self.cell(deed)}"
            elif deed.sets:
                text = f"sets {self.cell(deed)}{of} to {deed.amount}"
            else:
                text = f"posts {deed.amount} to {self.cell(deed)}{of}"
        elif deed.kind == WAIT:
            text = f"has waited for {self.cell(deed)} {'==' if deed.exact else '>='} {deed.amount}"
            causes = self._posts(deed)
        elif agent < 0:
            text = f"the write of rank {rank} to {self.place(deed)} arrives"
            rank = owner
        elif deed.kind == READ:
            text = f"reads {self.place(deed)}{of}"
        else:
            text = f"{'adds to' if deed.kind == ADD else 'writes'} {self.place(deed)}{of}"
        text = f"block {block}: {text}" if block else text
        self.rows.append(Row(rank, text, deed.statement, causes=causes))
        if deed.kind in (POST, WAIT):
            history = self.cells.get(deed.cell)
            if history is None:
                history = self.cells[deed.cell] = CellHistory(owner)
                history.initial = deed.before
            if deed.kind == POST:
                history.post(len(self.rows) - 1, deed, poster(agent, deed, self.world.ranks))
            else:
                history.exact = history.exact or deed.exact

    def _posts(self, wait: Deed) -> Sequence[int]:
        history = self.cells.get(wait.cell)
        if history is None:
            return ()
        if history.rises and not wait.exact:
            needed = history.needed(wait.amount)
            return () if needed is None else (needed,)
        return tuple([number for number, _, rank in history.posts if rank != history.owner][-1:])


def timeline_of(
    world: World, events: Sequence[Event], *, race: Race | None = None, states: Sequence[RankState] = (), last: bool = False
) -> Timeline:
    """The timeline of events. ``race`` has its two accesses marked; ``states`` are where ranks are stuck at the end."""
    writer = _Writer(world)
    for number, event in enumerate(events):
        if event.agent >= 0 and event.statement is None:
            continue
        begin = len(writer.rows)
        rank = (event.agent if event.agent >= 0 else -1 - event.agent) % world.ranks
        for deed in event.deeds:
            writer.deed(number, event.agent, deed)
        for deed in event.issues:
            text = f"{'adds to' if deed.kind == ADD else 'writes'} {writer.place(deed)} of rank {deed.where[1]}, under way"
            writer.rows.append(Row(rank, text, deed.statement))
        if event.meets:
            writer.rows.append(Row(rank, "comes to the collective", event.statement))
        if event.agent < 0 and len(writer.rows) > begin:
            issued = writer.row_of_event.get(event.after[0]) if event.after else None
            writer.rows[-1].causes = () if issued is None else (issued,)
        if len(writer.rows) > begin:
            writer.row_of_event[number] = len(writer.rows) - 1
    if race is not None:
        _accuse(writer.rows, race)
    for state in states:
        if state.status == "waits":
            _, finds, rest = state.detail.partition(" finds ")
            detail = f"finds {rest}" if finds else state.detail
            writer.rows.append(Row(state.rank, f"waits: {detail}", state.statement, STUCK))
        elif state.status == "failed":
            writer.rows.append(Row(state.rank, "fails", state.statement, STUCK))
    return Timeline(world.ranks, writer.rows)


def _accuse(rows: list[Row], race: Race) -> None:
    """Mark the two accesses of a race: the last rows of their statements on their ranks."""
    for touch in (race.later, race.earlier):
        for row in reversed(rows):
            of_rank = row.rank == touch.rank or f"of rank {touch.rank} " in row.text
            if row.statement is touch.statement and of_rank and row.mark != ACCUSED:
                row.mark = ACCUSED
                break
