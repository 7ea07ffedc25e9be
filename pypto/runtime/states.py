"""Where each rank is: for the report of a deadlock, and for the other ranks when one fails."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType, GeneratorType
from typing import Any

from pypto.diagnostics import Error, source_line
from pypto.ir.stmt import Stmt
from pypto.runtime.units import unit_of_file

_LONGEST = 120


@dataclass(frozen=True)
class RankState:
    """Where one rank is: ``status`` is ``waits``, ``runs``, ``failed`` or ``finished``; ``detail`` says what it waits for.

    Where a task is split into blocks that run at once, ``block`` tells them apart.
    """

    rank: int
    status: str
    statement: Stmt | None = None
    detail: str = ""
    function: str = ""
    block: int = 0

    @property
    def text(self) -> str:
        """The state as one line."""
        at = statement_text(self.statement)
        where = f" at {at}" if at else ""
        inside = f" in {self.function!r}" if self.function else ""
        name = rank_text(self.rank, self.block)
        if self.status == "waits":
            return f"{name} waits{where}{inside}: {self.detail}"
        if self.status in ("runs", "failed"):
            return f"{name} {'is' if self.status == 'runs' else 'failed'}{where or ' at its beginning'}{inside}"
        return f"{name} has finished"


def rank_text(rank: int, block: int) -> str:
    """A rank for people, with its block where it is not the first."""
    return f"rank {rank}, block {block}" if block else f"rank {rank}"


def statement_text(statement: Stmt | None) -> str:
    """Place and source text of a statement, as far as they are known."""
    if statement is None:
        return ""
    span = statement.span
    place = f"{span.filename}:{span.begin_line} " if span.begin_line > 0 else ""
    text = source_line(span) if place else None
    if not text or not text.strip():
        try:
            text = statement.as_python()
        except Error:
            return place.strip()
    return f"{place}`{short(text)}`"


def short(text: str) -> str:
    """Text as one line that is not long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."


def current_place(generator: Any) -> tuple[Stmt | None, str]:
    """The statement at which generated code stands, and its function."""
    inner: Any = generator
    while isinstance(inner, GeneratorType):
        generator = inner  # pyright: ignore[reportUnknownVariableType]
        inner = getattr(generator, "gi_yieldfrom", None)  # pyright: ignore[reportUnknownArgumentType]
    frame: FrameType | None = getattr(generator, "gi_frame", None)  # pyright: ignore[reportUnknownArgumentType]
    unit = None if frame is None else unit_of_file(frame.f_code.co_filename)
    if frame is None or unit is None:
        return None, ""
    return unit.statement_at(frame.f_lineno), unit.function.name


def listed(states: Sequence[RankState], but: int | None = None) -> str:
    """The states, a line each."""
    return "\n".join(f"  {s.text}" for s in states if s.rank != but)
