"""What every IR node shares: fields declared once, and everything that walks nodes driven by that declaration."""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum, auto
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

from pypto.ir.span import Span


class FieldKind(Enum):
    """What a field holds. ``DEF``/``DEFS`` are defining positions of variables; ``ATTRS`` an ordered mapping; ``DATA`` a plain value."""

    EXPR = auto()
    OPTIONAL_EXPR = auto()
    EXPRS = auto()
    DEF = auto()
    DEFS = auto()
    VARS = auto()
    STMT = auto()
    OPTIONAL_STMT = auto()
    STMTS = auto()
    TYPE = auto()
    TYPES = auto()
    FUNCTIONS = auto()
    OP = auto()
    ATTRS = auto()
    DATA = auto()


class Field(NamedTuple):
    """One declared field of a node class: its name, what it holds, and whether structural comparison looks at it."""

    name: str
    kind: FieldKind
    compared: bool = True


class Node:
    """Base of all IR nodes. A node is immutable by convention and compared by identity; ``FIELDS`` drives everything generic.

    The order of ``FIELDS`` is the order of visiting and of comparison. ``replace`` makes a changed copy.
    """

    __slots__ = ("span",)
    __match_args__: ClassVar[tuple[str, ...]] = ()
    FIELDS: ClassVar[tuple[Field, ...]] = ()
    EXTRA_SLOTS: ClassVar[tuple[str, ...]] = ()

    span: Span

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.__match_args__ = tuple(f.name for f in cls.FIELDS)
        NODE_KINDS[cls.__name__] = cls

    def same_as(self, other: object) -> bool:
        """True when ``other`` is the same node, not merely an equal one."""
        return self is other

    def replace(self, **changes: Any) -> Any:
        """A copy with some slots changed; comments, types and spans are kept."""
        cls = type(self)
        copy = object.__new__(cls)
        for name in all_slots(cls):
            setattr(copy, name, changes.pop(name) if name in changes else getattr(self, name))
        if changes:
            raise AttributeError(f"{cls.__name__} has no field {', '.join(changes)}")
        return copy

    def as_python(self, prefix: str = "pl", concise: bool = False, format: bool = True) -> str:
        """The node as PyPTO source text; see ``pypto.printer.python_print``."""
        return late("pypto.printer").python_print(self, prefix=prefix, concise=concise, format=format)

    def __str__(self) -> str:
        return self.as_python()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.span}>"


NODE_KINDS: dict[str, type[Node]] = {}
"""Every node class by its name."""

_SLOTS: dict[type, tuple[str, ...]] = {}


def all_slots(cls: type) -> tuple[str, ...]:
    """The slots of a node class and its bases."""
    known = _SLOTS.get(cls)
    if known is None:
        known = _SLOTS[cls] = tuple(name for base in cls.__mro__ for name in getattr(base, "__slots__", ()))
    return known


def late(module: str) -> Any:
    """The one upward import of this package: conveniences of nodes (printing, running) reach the layers above through here."""
    return import_module(module)


def walk(node: Node) -> Iterator[Node]:
    """Every node below and including ``node``, parents first, without recursion; shared nodes come once for each occurrence."""
    stack: list[Node] = [node]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(list(children(current))))


def children(node: Node) -> Iterator[Node]:
    """The direct child nodes in field order, those held in attributes included, those inside types not."""
    for name, kind, _ in node.FIELDS:
        value = getattr(node, name)
        if kind is FieldKind.ATTRS:
            for attr in value.values():
                if isinstance(attr, Node):
                    yield attr
                elif isinstance(attr, list):
                    yield from (item for item in attr if isinstance(item, Node))  # pyright: ignore[reportUnknownVariableType]
        elif kind in _SINGLE:
            if value is not None:
                yield value
        elif kind in _MANY:
            yield from value
        elif kind is FieldKind.FUNCTIONS:
            yield from value.values()


_SINGLE = frozenset((FieldKind.EXPR, FieldKind.OPTIONAL_EXPR, FieldKind.DEF, FieldKind.STMT, FieldKind.OPTIONAL_STMT))
_MANY = frozenset((FieldKind.EXPRS, FieldKind.DEFS, FieldKind.VARS, FieldKind.STMTS))


def freeze_nodes() -> None:
    """Refuse every second assignment to a slot of a node from now on (debug runs and tests; it costs time)."""

    def frozen(self: Node, name: str, value: object) -> None:
        if name not in MUTABLE_SLOTS and hasattr(self, name):
            raise AttributeError(f"{type(self).__name__}.{name} is read-only; use replace()")
        object.__setattr__(self, name, value)

    Node.__setattr__ = frozen  # type: ignore[method-assign]


MUTABLE_SLOTS = frozenset(("leading_comments", "trailing_comments"))

if os.environ.get("PYPTO_FREEZE_NODES"):
    freeze_nodes()
