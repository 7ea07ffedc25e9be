"""Generated source text: lines with their statements, names, and the objects that the text refers to."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from pypto.ir.expr import Var
from pypto.ir.stmt import Stmt

Line = tuple[int, str, Stmt | None]
"""Indentation, text, and the statement it was made for."""

_RESERVED = frozenset([*keyword.kwlist, *keyword.softkwlist, *dir(builtins)])


class Lines:
    """Source text in the making. Names of shared objects begin with an underscore, names of variables never do."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.shared: dict[str, Any] = {}
        self.statement: Stmt | None = None
        self.indent = 0
        self._names: dict[Var, str] = {}
        self._taken: set[str] = set(_RESERVED)
        self._counts: dict[str, int] = {}
        self._temporaries = 0
        self._used: dict[int, tuple[str, Any]] = {}

    # -- lines -------------------------------------------------------------------------------------------------------

    def add(self, text: str) -> None:
        """One more line, belonging to the current statement."""
        self.lines.append((self.indent, text, self.statement))

    def extend(self, lines: Sequence[Line]) -> None:
        """Lines that were captured before, at the current indentation."""
        shift = self.indent
        self.lines += [(indent + shift, text, stmt) for indent, text, stmt in lines]

    @contextmanager
    def indented(self) -> Generator[None]:
        """Lines added inside are one level deeper; a level without lines gets a ``pass``."""
        before = len(self.lines)
        self.indent += 1
        try:
            yield
            if len(self.lines) == before:
                self.add("pass")
        finally:
            self.indent -= 1

    @contextmanager
    def captured(self) -> Generator[list[Line]]:
        """Lines added inside go to the list given, indented from zero."""
        lines, indent = self.lines, self.indent
        self.lines, self.indent = [], 0
        caught = self.lines
        try:
            yield caught
        finally:
            self.lines, self.indent = lines, indent

    # -- names -------------------------------------------------------------------------------------------------------

    def name(self, var: Var) -> str:
        """The Python name of a variable: its hint, made unique."""
        known = self._names.get(var)
        if known is None:
            base = re.sub(r"[^0-9A-Za-z_]", "_", var.name_hint).lstrip("_") or "v"
            if base[0].isdigit():
                base = f"v{base}"
            known = base
            while known in self._taken:
                self._counts[base] = self._counts.get(base, 0) + 1
                known = f"{base}_{self._counts[base]}"
            self._taken.add(known)
            self._names[var] = known
        return known

    @property
    def names(self) -> dict[Var, str]:
        """The Python names given so far."""
        return self._names

    def temporary(self) -> str:
        """A new name for a value between two lines of one statement."""
        self._temporaries += 1
        return f"_t{self._temporaries}"

    # -- objects -----------------------------------------------------------------------------------------------------

    def share(self, base: str, value: Any) -> str:
        """A new name for an object that the text refers to."""
        name = f"_{base}{len(self.shared)}"
        self.shared[name] = value
        return name

    def use(self, value: Any, base: str | None = None) -> str:
        """The name of an object that the text refers to, the same for the same object."""
        known = self._used.get(id(value))
        if known is None:
            word = re.sub(r"\W", "_", base or getattr(value, "__name__", "f")).lstrip("_")
            name = f"_{word}"
            if name in self.shared:
                name = f"_{word}_{len(self.shared)}"
            known = self._used[id(value)] = (name, value)
            self.shared[name] = value
        return known[0]
