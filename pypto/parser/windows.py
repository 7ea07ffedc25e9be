"""Windows by name: ``pld.WindowBuffer("data_buf")`` in a type refers to the window allocated in an enclosing communication domain."""

from __future__ import annotations

import ast
from typing import Any

from pypto.diagnostics import did_you_mean
from pypto.ir.expr import Call, Expr, Var, WindowBuffer
from pypto.ir.types import PtrType
from pypto.parser.errors import ParserTypeError
from pypto.parser.folding import path_of, static
from pypto.parser.reader import Reader

_FLAGS = ("load_from_host", "store_to_host")
_TEXT = "window_buffer="


class Domain:
    """An open communication domain: the names of its windows, their flags, and the windows once they are allocated."""

    __slots__ = ("flags", "found", "names")

    def __init__(self, names: list[str], flags: dict[str, dict[str, bool]]) -> None:
        self.names = names
        self.flags = flags
        self.found: dict[str, WindowBuffer] = {}


def find_window(reader: Reader, node: Any) -> WindowBuffer:
    """The window that an annotation names.

    Raises:
        ParserTypeError: there is no such window in an enclosing domain, or the reference is malformed.
    """
    name: Any = None
    if type(node) is ast.Constant and isinstance(node.value, str) and node.value.startswith(_TEXT):
        name = node.value[len(_TEXT) :]
    elif type(node) is ast.Call:
        name, _ = _reference(reader, node)
    if not isinstance(name, str):
        raise reader.failure(ParserTypeError, "this refers to no window", node, hint='pld.WindowBuffer("name")')
    window = reader.windows.get(name)
    reader.windows_found += 1
    if window is None:
        close = did_you_mean(name, list(reader.windows))
        hint = f"did you mean {close!r}?" if close else "windows are named inside the pld.comm_domain that allocates them"
        raise reader.failure(ParserTypeError, f"there is no window {name!r} here", node, hint=hint)
    return window


def _reference(reader: Reader, node: ast.Call) -> tuple[Any, dict[str, bool]]:
    flags: dict[str, bool] = {}
    for keyword in reader.keywords(node):
        value = static(reader, keyword.value)
        if keyword.arg not in _FLAGS or not isinstance(value, bool):
            raise reader.failure(ParserTypeError, f"a window has the flags {' and '.join(_FLAGS)}", keyword)
        flags[keyword.arg] = value
    if len(node.args) != 1:
        raise reader.failure(ParserTypeError, "pld.WindowBuffer takes the name of the window", node)
    return static(reader, node.args[0]), flags


def written_flags(reader: Reader, body: list[ast.stmt]) -> dict[str, dict[str, bool]]:
    """The flags of the windows that the annotations in the body of a domain name."""
    if reader.domains:
        return reader.domains[-1].flags
    flags: dict[str, dict[str, bool]] = {}
    if not any(flag in reader.source.text for flag in _FLAGS):
        return flags
    for part in (inner for stmt in body for inner in ast.walk(stmt)):
        if type(part) is ast.Call and part.keywords and path_of(reader, part.func) == "pld.WindowBuffer":
            name, given = _reference(reader, part)
            flags.setdefault(str(name), {}).update(given)
    return flags


def note_allocation(reader: Reader, domains: list[Domain], name: str, var: Var, value: Expr) -> None:
    """Remember the window that an assignment inside a communication domain allocates."""
    if not isinstance(var.type, PtrType) or not isinstance(value, Call) or not value.args:
        return
    for domain in reversed(domains):
        if name in domain.names and name not in domain.found:
            flags = domain.flags.get(name, {})
            window = WindowBuffer(
                var,
                value.args[0],
                flags.get("load_from_host", False),
                flags.get("store_to_host", False),
                var.span,
            )
            reader.window_types.clear()
            domain.found[name] = reader.windows[name] = window
            return
