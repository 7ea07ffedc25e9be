"""Functions as lines with the place of every statement, for reports that show a part of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pypto.ir.equality import comment_lines
from pypto.ir.expr import Var
from pypto.ir.function import Function, Program
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.printer.functions import Functions
from pypto.printer.names import Names
from pypto.printer.session import Session
from pypto.printer.statements import Statements


@dataclass(frozen=True)
class Listing:
    """The lines of a function, the name of each variable in them, and the lines (first, one after the last) of each statement by id."""

    lines: Sequence[str]
    names: Mapping[Var, str]
    places: Mapping[int, tuple[int, int]]

    def place(self, stmt: Stmt, with_comments: bool = False) -> tuple[int, int] | None:
        """The lines of a statement, with or without the comments above it; None when it has none of its own."""
        found = self.places.get(id(stmt))
        if found is None or not with_comments:
            return found
        return found[0] - _height(stmt), found[1] + len(comment_lines(stmt.trailing_comments))

    def head(self, body: Stmt) -> tuple[int, int]:
        """The lines above the body of the function."""
        place = self.places.get(id(body))
        return 0, len(self.lines) if place is None else place[0]


class _Recording(Statements):
    """Writes statements and notes where each of them stands."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.places: dict[int, tuple[int, int]] = {}

    def assign(self, stmt: AssignStmt, depth: int, _results: Sequence[Var]) -> None:
        before = len(self.session.lines)
        super().assign(stmt, depth, _results)
        self.places[id(stmt)] = before, len(self.session.lines)

    def statement(self, stmt: Stmt, depth: int, results: Sequence[Var] = ()) -> None:
        before = len(self.session.lines)
        super().statement(stmt, depth, results)
        self.places[id(stmt)] = before + _height(stmt), len(self.session.lines)

    def block(self, body: Stmt, depth: int, results: Sequence[Var] = (), *, is_whole: bool = True) -> None:
        before = len(self.session.lines)
        super().block(body, depth, results, is_whole=is_whole)
        self.places.setdefault(id(body), (before, len(self.session.lines)))


def list_function(function: Function, program: Program | None = None, names: Mapping[Var, str] | None = None) -> Listing:
    """A function of a program, or alone, one line a statement. Variables in ``names`` are called what it says."""
    session = Session(program or function, format=False)
    writer = Functions(session)
    statements = writer.statements = _Recording(session)
    own = session.all_names.of_function(function)
    if names:
        taken = {name for var, name in names.items() if var in own}
        renamed = Names(own)
        for var, name in own.items():
            given = names.get(var)
            renamed[var] = given if given is not None else _other(name, taken)
        session.all_names.preset(function, renamed)
    writer.function(function, 0)
    return Listing(session.lines, session.names, statements.places)


def _height(stmt: Stmt) -> int:
    return len(comment_lines(stmt.leading_comments))


def _other(name: str, taken: set[str]) -> str:
    """The name, or one like it that is not taken."""
    while name in taken:
        name += "_"
    return name
