"""Structural hash: nodes and types that compare equal (``pypto.ir.equality``) have equal hashes.

The numbers depend on nothing but the structure (and, for variables that are not defined inside, on the order in which this process made
them). Values of attributes that hold variables or expressions do not contribute, and the order of attributes does not either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, cast
from zlib import crc32

from pypto.diagnostics import InvalidTypeError
from pypto.ir.dtypes import DataType
from pypto.ir.equality import INDEX_KINDS
from pypto.ir.expr import BinaryExpr, ConstFloat, ConstInt, Expr, UnaryExpr, Var
from pypto.ir.function import Function
from pypto.ir.node import FieldKind, Node
from pypto.ir.stmt import ForStmt
from pypto.ir.type_parts import is_closed
from pypto.ir.types import ScalarType, TensorView, TileView, Type

__all__ = ["structural_hash"]

Hasher = Callable[["Hashing", Any], int]


class Hashing:
    """One hash under way: the numbers that variables got in order of appearance."""

    __slots__ = ("auto", "closed", "numbering", "numbers")

    def __init__(self, auto: bool) -> None:
        self.auto = auto
        self.numbering = auto
        self.numbers: dict[Var, int] = {}
        self.closed: dict[int, int] = {}


def structural_hash(value: Node | Type, enable_auto_mapping: bool = False) -> int:
    """A hash such that values which are structurally equal in the same mode have equal hashes.

    Without auto mapping a variable from outside counts by its ``unique_id``, so only the same variable gives the same hash.

    Raises:
        InvalidTypeError: the argument is neither a node nor a type.
    """
    hashing = Hashing(enable_auto_mapping)
    if isinstance(value, Type):
        return _hash_type(hashing, value)
    if isinstance(value, Node):  # pyright: ignore[reportUnnecessaryIsInstance]
        return _hash_node(hashing, value)
    raise InvalidTypeError(f"only nodes and types have a structural hash, got {value!r}")


def _text(value: str) -> int:
    return crc32(value.encode("utf-8", "surrogatepass"))


def _hash_node(h: Hashing, node: object) -> int:
    kind = type(node)
    hasher = _HASHERS.get(kind)
    if hasher is None:
        hasher = _HASHERS[kind] = _make_hasher(kind)
    return hasher(h, node)


def _hash_type(h: Hashing, type_: Type) -> int:
    if is_closed(type_):
        known = h.closed.get(id(type_))
        if known is None:
            known = h.closed[id(type_)] = _hash_type_fields(h, type_)
        return known
    return _hash_type_fields(h, type_)


def _hash_type_fields(h: Hashing, type_: Type) -> int:
    return hash((_tag(type(type_)), *[_hash_part(h, getattr(type_, name)) for name in type_.FIELDS]))


def _hash_part(h: Hashing, part: Any) -> int:
    if isinstance(part, list):
        items: list[Any] = part  # pyright: ignore[reportUnknownVariableType]
        return hash(tuple([_hash_part(h, item) for item in items]))
    if isinstance(part, Expr):
        return _hash_node(h, part)
    if isinstance(part, Type):
        return _hash_type(h, part)
    if isinstance(part, TensorView | TileView):
        return hash(tuple([_hash_part(h, getattr(part, name)) for name in part.FIELDS]))
    return _hash_value(part)


def _hash_value(value: Any) -> int:
    if value is None:
        return 7
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, DataType):
        return 0x10000 + value.code
    if isinstance(value, Enum):
        return _tag(type(value)) + 31 * value.value
    if isinstance(value, float):
        return 13 if value != value else hash(value)
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return hash(tuple([_hash_value(item) for item in items]))
    return hash((_tag(value.__class__), value))


_TAGS: dict[type, int] = {}


def _tag(kind: type) -> int:
    tag = _TAGS.get(kind)
    if tag is None:
        tag = _TAGS[kind] = _text(kind.__name__)
    return tag


def _hash_attrs(h: Hashing, attrs: Mapping[str, Any]) -> int:
    total = len(attrs)
    for key, value in attrs.items():
        holds_expr = isinstance(value, Expr) or (isinstance(value, list) and any(isinstance(i, Expr) for i in value))  # pyright: ignore[reportUnknownVariableType]
        total += hash((_text(key), 0 if holds_expr else _hash_value(value)))
    return hash(total)


def _use(h: Hashing, var: Var) -> int:
    number = h.numbers.get(var)
    if number is not None:
        return hash((1, number))
    return _number_new(h, var) if h.numbering else hash((2, var.unique_id))


def _number_new(h: Hashing, var: Var, type_hash: int | None = None) -> int:
    parts = [_hash_type(h, var.type) if type_hash is None else type_hash]
    number = h.numbers[var] = len(h.numbers)
    parts += [_FIELD[kind](h, getattr(var, name)) for name, kind, _ in type(var).FIELDS if name != "type"]
    return hash((3, number, _tag(type(var)), *parts))


def _define(h: Hashing, var: Var, type_hash: int | None = None) -> int:
    number = h.numbers.get(var)
    if number is not None:
        return hash((1, number))
    before = h.numbering
    h.numbering = True
    try:
        return _number_new(h, var, type_hash)
    finally:
        h.numbering = before


def _define_loop_var(h: Hashing, var: Var) -> int:
    type_ = var.type
    if isinstance(type_, ScalarType) and type_.dtype in INDEX_KINDS:
        return _define(h, var, _hash_type(h, ScalarType(DataType.INDEX)))
    return _define(h, var)


def _const_int(h: Hashing, node: ConstInt) -> int:
    dtype = DataType.INDEX if node.dtype in INDEX_KINDS else node.dtype
    return hash((_tag(ConstInt), node.value, dtype.code))


def _const_float(h: Hashing, node: ConstFloat) -> int:
    return hash((_tag(ConstFloat), _hash_value(node.value), node.dtype.code))


def _operators(h: Hashing, node: Expr) -> int:
    """The nodes of an operator tree in order; the kinds say how many operands follow, so the sequence stands for the tree."""
    parts: list[int] = []
    stack: list[Expr] = [node]
    while stack:
        current = stack.pop()
        if isinstance(current, BinaryExpr):
            parts += (_tag(type(current)), _hash_type(h, current.type))
            stack.append(current.right)
            stack.append(current.left)
        elif isinstance(current, UnaryExpr):
            parts += (_tag(type(current)), _hash_type(h, current.type))
            stack.append(current.operand)
        else:
            parts.append(_hash_node(h, current))
    return hash(tuple(parts))


def _optional(h: Hashing, node: Node | None) -> int:
    return 7 if node is None else _hash_node(h, node)


def _many(h: Hashing, nodes: Sequence[Node]) -> int:
    return hash(tuple([_hash_node(h, node) for node in nodes]))


def _definitions(h: Hashing, variables: Sequence[Var]) -> int:
    return hash(tuple([_define(h, var) for var in variables]))


def _types(h: Hashing, types: Sequence[Type]) -> int:
    return hash(tuple([_hash_type(h, type_) for type_ in types]))


def _functions(h: Hashing, functions: Mapping[Any, Function]) -> int:
    return hash(tuple([hash((_text(key.name), _hash_node(h, function))) for key, function in functions.items()]))


def _op(h: Hashing, op: Any) -> int:
    return hash((_text(op.name), op.is_function))


_FIELD: dict[FieldKind, Hasher] = {
    FieldKind.EXPR: _hash_node,
    FieldKind.OPTIONAL_EXPR: _optional,
    FieldKind.EXPRS: _many,
    FieldKind.DEF: _define,
    FieldKind.DEFS: _definitions,
    FieldKind.VARS: _definitions,
    FieldKind.STMT: _hash_node,
    FieldKind.OPTIONAL_STMT: _optional,
    FieldKind.STMTS: _many,
    FieldKind.TYPE: _hash_type,
    FieldKind.TYPES: _types,
    FieldKind.FUNCTIONS: _functions,
    FieldKind.OP: _op,
    FieldKind.ATTRS: _hash_attrs,
    FieldKind.DATA: lambda h, value: _hash_value(value),
}

_HASHERS: dict[type, Hasher] = {ConstInt: _const_int, ConstFloat: _const_float}


def _make_hasher(kind: Any) -> Hasher:
    if issubclass(kind, BinaryExpr | UnaryExpr):
        return _operators
    if issubclass(kind, Var):
        return _use
    steps: list[tuple[str, Hasher]] = [
        (field.name, _define_loop_var if kind is ForStmt and field.name == "loop_var" else _FIELD[field.kind])
        for field in kind.FIELDS
        if field.compared
    ]
    tag = _tag(kind)

    def hash_fields(h: Hashing, node: Any) -> int:
        return hash((tag, *[step(h, getattr(node, name)) for name, step in steps]))

    return hash_fields
