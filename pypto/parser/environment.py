"""What a body can see beside its own names: Python values around it, prefixes, dynamic dimensions, the functions of its program."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Final

from pypto.ir.expr import MemRef, Var
from pypto.ir.function import Function
from pypto.parser.dynamic import DynVar
from pypto.parser.namespace import PREFIXES


class _Nothing:
    def __repr__(self) -> str:
        return "<nothing>"


NOTHING: Final = _Nothing()
"""The value of a name that is bound to nothing."""

_DEFAULT_PREFIXES = {"pl": "", "pld": "pld."}


class Signature:
    """A function of the program before its body is read: enough to call it."""

    __slots__ = ("function", "name", "node", "role")

    def __init__(self, name: str, node: Any, role: Any) -> None:
        self.name = name
        self.node = node
        self.role = role
        self.function: Function | None = None


class ProgramContext:
    """What the functions of one program share: each other, and the functions from outside that they call."""

    __slots__ = ("allocations", "externals", "methods", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.methods: dict[str, Signature] = {}
        self.externals: dict[str, Function] = {}
        self.allocations: dict[str, Any] = {}


class Environment:
    """The surroundings of one or more bodies read from one source.

    ``closure`` holds the Python values around them. In a text (``is_text``) they are the plain values of its own module-level
    assignments; an undeclared upper-case dimension then becomes dynamic, or is an error when ``strict``. The remaining fields remember
    what spellings meant.
    """

    __slots__ = (
        "_prefixes",
        "bare",
        "callees",
        "closure",
        "constants",
        "dynamic",
        "is_text",
        "memrefs",
        "program",
        "source",
        "static_texts",
        "strict",
        "type_texts",
        "undeclared",
    )

    def __init__(
        self,
        source: Any,
        closure: Mapping[str, Any],
        *,
        is_text: bool = False,
        strict: bool = False,
        prefixes: Mapping[str, str] | None = None,
        bare: Mapping[str, str] | None = None,
        program: ProgramContext | None = None,
    ) -> None:
        self.source = source
        self.closure = closure
        self.is_text = is_text
        self.strict = strict
        self.program = program
        self._prefixes: dict[str, str | None] = dict(prefixes or {})
        self.bare = dict(bare or {})
        self.dynamic: dict[str, Var] = {}
        self.memrefs: dict[str, tuple[Any, MemRef]] = {}
        self.undeclared: list[str] = []
        self.type_texts: dict[str, tuple[Any, tuple[str, ...]]] = {}
        self.static_texts: dict[str, Any] = {}
        self.callees: dict[str, Any] = {}
        self.constants: dict[str, Any] = {}

    def beside(self, source: Any, closure: Mapping[str, Any]) -> Environment:
        """The surroundings of a helper that is spliced in here: its own source and names, the same program and dimensions."""
        other = Environment(
            source,
            closure,
            is_text=self.is_text,
            strict=self.strict,
            prefixes={name: prefix for name, prefix in self._prefixes.items() if prefix is not None},
            bare=self.bare,
            program=self.program,
        )
        other.dynamic = self.dynamic
        other.memrefs = self.memrefs
        other.undeclared = self.undeclared
        return other

    def value(self, name: str) -> Any:
        """The Python value a name has around the body, or NOTHING."""
        try:
            return self.closure[name]
        except KeyError:
            return NOTHING

    def prefix(self, name: str) -> str | None:
        """What the names after ``name.`` are called in the tables (``""`` for ``pl``, ``"pld."``); None when it is no such prefix."""
        prefixes = self._prefixes
        if name in prefixes:
            return prefixes[name]
        found = None
        value = self.value(name)
        if isinstance(value, ModuleType):
            found = PREFIXES.get(value.__name__)
        elif value is NOTHING:
            found = _DEFAULT_PREFIXES.get(name)
        prefixes[name] = found
        return found

    def set_prefix(self, name: str, prefix: str) -> None:
        """Make ``name.`` a prefix of the language."""
        self._prefixes[name] = prefix

    def dynamic_var(self, dimension: DynVar) -> Var:
        """The IR variable of a dynamic dimension: one for each name in a program."""
        return self.dynamic.setdefault(dimension.name, dimension.expr)

    def undeclared_dimension(self, name: str) -> Var:
        """A dimension that a text uses without declaring it."""
        known = self.dynamic.get(name)
        if known is None:
            known = self.dynamic[name] = DynVar(name).expr
            self.undeclared.append(name)
        return known


def warn_caller(message: str) -> None:
    """Give a UserWarning at the line of the program that called into this package, however deep the call is."""
    import sys

    depth, frame = 2, sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] == "pypto":
        frame = frame.f_back
        depth += 1
    warnings.warn(message, UserWarning, stacklevel=depth)
