"""Buffer references in annotations: declared ones by name or variable, resolved ones by base, offset and size."""

from __future__ import annotations

import ast
from typing import Any

from pypto.diagnostics import Error
from pypto.ir.expr import Expr, MemRef, Var
from pypto.ir.types import PtrType
from pypto.parser.environment import NOTHING
from pypto.parser.errors import ParserError, ParserTypeError
from pypto.parser.expressions import operand
from pypto.parser.folding import path_of, static
from pypto.parser.reader import Reader


class DeclaredMemRef:
    """``NAME = pl.MemRef()`` in a text; ``slot`` is set on ``NAME[k]``."""

    __slots__ = ("declaration", "parts", "slot", "slots")

    def __init__(self, *parts: Any, slots: int = 1) -> None:
        self.parts = parts
        self.slots = slots
        self.slot: Any = None
        self.declaration: Any = self


def _declared(value: Any) -> bool:
    return isinstance(value, MemRef) or (hasattr(value, "declaration") and hasattr(value, "slots"))


def is_memref(reader: Reader, node: Any) -> bool:
    """True when an annotation part is a buffer reference."""
    while type(node) is ast.Subscript:
        node = node.value
    if type(node) is ast.Call:
        return path_of(reader, node.func) == "MemRef"
    if type(node) is ast.Name and node.id not in reader.names:
        return _declared(reader.env.value(node.id))
    return type(node) is ast.Attribute and _declared(static(reader, node))


def read_memref(reader: Reader, node: Any) -> MemRef:
    """A buffer reference.

    Raises:
        ParserTypeError: malformed, a slot outside its declaration, or one declaration under two names.
    """
    if type(node) is ast.Subscript:
        declared = read_memref(reader, node.value)
        index = operand(reader, node.slice)
        try:
            return declared[index]
        except Error as error:
            if isinstance(error, ParserError):
                raise
            raise reader.from_error(ParserTypeError, error, node) from error
    if type(node) is ast.Call:
        return _from_call(reader, node)
    value = static(reader, node)
    if value is NOTHING:
        raise reader.failure(ParserTypeError, "this is no memref", node)
    if isinstance(value, MemRef):
        return value
    parts = value.parts
    name = parts[0] if parts and isinstance(parts[0], str) and len(parts) == 1 else ast.unparse(node)
    if len(parts) > 1:
        return _make(reader, node, *parts, slots=value.slots)
    found = _declaration(reader, name, value.declaration, value.slots, node)
    return found if value.slot is None else found[value.slot]


def _declaration(reader: Reader, name: str, owner: Any, slots: int, node: Any) -> MemRef:
    memrefs = reader.env.memrefs
    known = memrefs.get(name)
    if known is not None:
        if owner is not None and known[0] is not None and known[0] is not owner:
            raise reader.failure(ParserTypeError, f"two memrefs are called {name!r}", node, hint="rename one of them")
        return known[1]
    if owner is not None:
        for other, (declared, _) in memrefs.items():
            if declared is owner:
                raise reader.failure(ParserTypeError, f"one memref has the names {other!r} and {name!r}", node)
    made = _make(reader, node, name, slots=slots)
    memrefs[name] = (owner, made)
    return made


def _make(reader: Reader, node: Any, *parts: Any, slots: int, pinned: bool = False) -> MemRef:
    try:
        return MemRef(*parts, slots=slots, is_pinned=pinned, span=reader.source.span(node))
    except Error as error:
        raise reader.from_error(ParserTypeError, error, node) from error


def _from_call(reader: Reader, node: ast.Call) -> MemRef:
    slots, pinned = 1, False
    for keyword in reader.keywords(node):
        value = static(reader, keyword.value)
        if keyword.arg == "slots" and type(value) is int:
            slots = value
        elif keyword.arg == "is_pinned" and isinstance(value, bool):
            pinned = value
        else:
            raise reader.failure(ParserTypeError, "pl.MemRef takes only slots=N besides its parts", keyword)
    if not node.args:
        raise reader.failure(ParserTypeError, "pl.MemRef() in an annotation needs a name", node, hint='pl.MemRef("buffer")')
    first = node.args[0]
    if len(node.args) == 1:
        name = static(reader, first)
        if not isinstance(name, str):
            raise reader.failure(ParserTypeError, "the name of a memref is a string", first)
        return _declaration(reader, name, None, slots, node)
    parts: list[Any] = []
    for at, arg in enumerate(node.args):
        if at == 0 and type(arg) is ast.Name and arg.id in reader.names:
            base = reader.expression(arg)
            if not isinstance(base, Var) or not isinstance(base.type, PtrType):
                raise reader.failure(ParserTypeError, "the base of a memref is the pointer of an allocation", arg)
            parts.append(base)
            continue
        value = static(reader, arg)
        parts.append(value if value is not NOTHING else _offset(reader, arg))
    return _make(reader, node, *parts, slots=slots, pinned=pinned)


def _offset(reader: Reader, node: Any) -> Any:
    value = operand(reader, node)
    if isinstance(value, Expr) or type(value) is int:
        return value
    raise reader.failure(ParserTypeError, "the offset of a memref is an integer", node)
