"""Nodes as bytes and back. Pointer sharing (hence the identity of variables), spans and comments survive.

The bytes are MessagePack: a table of spans, and a table of records in which each node or type comes after those it refers to, so
neither writing nor reading recurses. What a record holds follows from the slots of the class; ``FIELDS`` is checked on reading.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from pypto.diagnostics import Error, InvalidTypeError
from pypto.ir import enums
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.expr import EMPTY, ConstBool, ConstFloat, ConstInt, Expr, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import NODE_KINDS, Field, FieldKind, Node, all_slots
from pypto.ir.op import GlobalVar, Op, find_op
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.stmt import Stmt
from pypto.ir.types import (
    ArrayType,
    DistributedTensorType,
    ScalarType,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
)

__all__ = ["SerializationError", "deserialize", "deserialize_from_file", "serialize", "serialize_to_file"]

_FORMAT = "pypto-ir"
_VERSION = 1


def _msgpack() -> Any:
    """MessagePack, loaded when first needed: most programs are never serialized."""
    return import_module("msgpack")


class SerializationError(Error, ValueError):
    """Bytes that are not a serialized node: broken, cut off, of another version, or with an unknown kind of node."""

    code = "serialization"


def serialize(node: Node) -> bytes:
    """A node, and all it refers to, as bytes.

    Raises:
        InvalidTypeError: the argument is not a node.
    """
    if not isinstance(node, Node):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidTypeError(f"only nodes can be serialized, got {node!r}")
    writer = _Writer()
    root = writer.add(node)
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "spans": writer.spans,
        "records": writer.records,
        "root": root,
    }
    return _msgpack().packb(content, use_bin_type=True, unicode_errors="surrogatepass")


def deserialize(data: bytes) -> Any:
    """The node that :func:`serialize` wrote; variables get new unique ids.

    Raises:
        SerializationError: the bytes are no serialized node.
    """
    try:
        content: Any = _msgpack().unpackb(data, raw=False, strict_map_key=False, unicode_errors="surrogatepass")
    except (ValueError, TypeError, _msgpack().UnpackException) as error:
        raise SerializationError(f"the data is not MessagePack: {error}") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:  # pyright: ignore[reportUnknownMemberType]
        raise SerializationError("the data is not a serialized node")
    if content.get("version") != _VERSION:  # pyright: ignore[reportUnknownMemberType]
        raise SerializationError(f"version {content.get('version')!r} of the format is not known")  # pyright: ignore[reportUnknownMemberType]
    try:
        return _Reader(content).root()  # pyright: ignore[reportUnknownArgumentType]
    except SerializationError:
        raise
    except (Error, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise SerializationError(f"the data is broken: {type(error).__name__}: {error}") from error


def serialize_to_file(node: Node, path: str | os.PathLike[str]) -> None:
    """Write :func:`serialize` of a node to a file."""
    Path(path).write_bytes(serialize(node))


def deserialize_from_file(path: str | os.PathLike[str]) -> Any:
    """Read a node from a file that :func:`serialize_to_file` wrote."""
    return deserialize(Path(path).read_bytes())


# Values are plain (None, bool, int, float, str) or a list whose first item is one of these tags.
_LIST, _REF, _DTYPE, _ENUM, _OP, _CALLEE, _ATTRS, _TENSOR_VIEW, _TILE_VIEW = range(9)

_NOT_STORED = frozenset(("span", "unique_id", "_by_name"))
_TYPE_PARTS = ("dtype", "shape", "memref", "tensor_view", "tile_view", "window_buffer", "memory_space")


def _node_slots(kind: type) -> list[str]:
    return [name for name in all_slots(kind) if name not in _NOT_STORED]


def _type_parts(type_: Type) -> list[Any]:
    """What the constructor of a type needs."""
    if isinstance(type_, TupleType):
        return [type_.types]
    if isinstance(type_, ScalarType):
        return [type_.dtype]
    if isinstance(type_, ArrayType):
        return [type_.dtype, type_.extent]
    if isinstance(type_, ShapedType):
        return [getattr(type_, name, None) for name in _TYPE_PARTS]
    return []


class _Writer:
    def __init__(self) -> None:
        self.records: list[Any] = []
        self.spans: list[Any] = []
        self.index: dict[int, int] = {}
        self._span_index: dict[tuple[Any, ...], int] = {}

    def add(self, root: Node) -> int:
        """Write what ``root`` needs, then itself; give its number."""
        stack: list[tuple[Any, list[Any] | None]] = [(root, None)]
        while stack:
            item, parts = stack.pop()
            if id(item) in self.index:
                continue
            if parts is None:
                parts = self._parts(item)
                stack.append((item, parts))
                below: list[Any] = []
                for part in parts:
                    _references(part, below)
                stack.extend((one, None) for one in reversed(below) if id(one) not in self.index)
                continue
            span = self._span(item.span) if isinstance(item, Node) else -1
            self.records.append([type(item).__name__, span, [self._value(part) for part in parts]])
            self.index[id(item)] = len(self.records) - 1
        return self.index[id(root)]

    def _parts(self, item: Any) -> list[Any]:
        if isinstance(item, Type):
            return _type_parts(item)
        if isinstance(item, Program):
            return [[*item.functions.values()], item.name]
        return [getattr(item, name) for name in _node_slots(item.__class__)]

    def _span(self, span: Span) -> int:
        if span is UNKNOWN:
            return -1
        key = (span.filename, span.begin_line, span.begin_column, span.end_line, span.end_column)
        at = self._span_index.get(key)
        if at is None:
            at = self._span_index[key] = len(self.spans)
            self.spans.append([*key])
        return at

    def _value(self, value: Any) -> Any:
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, Node | Type):
            return [_REF, self.index[id(value)]]
        if isinstance(value, Enum):
            return [_ENUM, type(value).__name__, value.name]
        if isinstance(value, int | float):
            return value
        if isinstance(value, list | tuple):
            items = cast("Sequence[Any]", value)
            return [_LIST, *[self._value(item) for item in items]]
        if isinstance(value, DataType):
            return [_DTYPE, value.name]
        if isinstance(value, Op):
            return [_CALLEE if value.is_function else _OP, value.name]
        if isinstance(value, Mapping):
            attrs: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType]
            return [_ATTRS, *[[key, self._value(item)] for key, item in attrs.items()]]
        if isinstance(value, TensorView | TileView):
            tag = _TENSOR_VIEW if isinstance(value, TensorView) else _TILE_VIEW
            return [tag, *[self._value(getattr(value, name)) for name in value.FIELDS]]
        raise InvalidTypeError(f"a value of type {type(value).__name__} cannot be serialized")


def _references(part: Any, found: list[Any]) -> None:
    """Append the nodes and types that a value mentions."""
    if isinstance(part, Node | Type):
        found.append(part)
    elif isinstance(part, list | tuple):
        items = cast("Sequence[Any]", part)
        for item in items:
            _references(item, found)
    elif isinstance(part, Mapping):
        attrs: Mapping[str, Any] = part  # pyright: ignore[reportUnknownVariableType]
        for item in attrs.values():
            _references(item, found)
    elif isinstance(part, TensorView | TileView):
        for name in part.FIELDS:
            _references(getattr(part, name), found)


def _all_types() -> dict[str, type[Type]]:
    known: dict[str, type[Type]] = {}
    stack: list[type[Type]] = [Type]
    while stack:
        for kind in stack.pop().__subclasses__():
            known[kind.__name__] = kind
            stack.append(kind)
    return known


_ABSTRACT_KINDS = frozenset(
    ("Expr", "Stmt", "BinaryExpr", "UnaryExpr", "ScopeStmt", "Type", "ShapedType", "_Singleton", "_Values")
)


class _Reader:
    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.spans = [_read_span(entry) for entry in content["spans"]]
        self.made: list[Any] = []
        self.types = _all_types()

    def root(self) -> Any:
        for record in self.content["records"]:
            kind_name, span, parts = record
            self.made.append(self._make(kind_name, span, [self._value(part) for part in parts]))
        root = self._reference(self.content["root"])
        if not isinstance(root, Node):
            raise SerializationError("the data holds no node")
        return root

    def _make(self, kind_name: str, span_index: int, parts: list[Any]) -> Any:
        type_kind = self.types.get(kind_name)
        kind = NODE_KINDS.get(kind_name)
        if kind_name in _ABSTRACT_KINDS or (type_kind is None and kind is None):
            raise SerializationError(f"there is no kind of node called {kind_name!r}")
        if type_kind is not None:
            return _make_type(type_kind, parts)
        assert kind is not None
        span = UNKNOWN if span_index == -1 else self.spans[span_index]
        if kind is Program:
            functions, name = parts
            return Program(functions, _expect(name, str, kind_name, "name"), span)
        slots = _node_slots(kind)
        if len(slots) != len(parts):
            raise SerializationError(f"a {kind_name} has {len(slots)} parts, the data gives {len(parts)}")
        node: Any = object.__new__(kind)
        node.span = span
        for name, value in zip(slots, parts, strict=True):
            setattr(node, name, value)
        if issubclass(kind, Var):
            node.unique_id = Var("", node.type).unique_id
            _expect(node.name_hint, str, kind_name, "name_hint")
        _check_node(node)
        return node

    def _reference(self, index: Any) -> Any:
        if not isinstance(index, int) or not 0 <= index < len(self.made):
            raise SerializationError(f"the reference {index!r} leads nowhere")
        return self.made[index]

    def _value(self, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        tag, *rest = value  # pyright: ignore[reportUnknownVariableType]
        items: list[Any] = rest  # pyright: ignore[reportUnknownVariableType]
        if tag == _REF:
            (index,) = items
            return self._reference(index)
        if tag == _LIST:
            return [self._value(item) for item in items]
        if tag == _DTYPE:
            return DTYPES[items[0]]
        if tag == _ENUM:
            return _enum(items[0])[items[1]]
        if tag == _CALLEE:
            return GlobalVar(items[0])
        if tag == _OP:
            return find_op(items[0]) or Op(items[0])
        if tag == _ATTRS:
            return {key: self._value(item) for key, item in items} or EMPTY
        if tag in (_TENSOR_VIEW, _TILE_VIEW):
            parts = [self._value(item) for item in items]
            view = TensorView if tag == _TENSOR_VIEW else TileView
            return view(**dict(zip(view.FIELDS, parts, strict=True)))
        raise SerializationError(f"the value tag {tag!r} is not known")


def _read_span(entry: Any) -> Span:
    filename, *numbers = entry
    if not isinstance(filename, str) or len(numbers) != 4 or not all(isinstance(n, int) for n in numbers):
        raise SerializationError(f"{entry!r} is not a place")
    return Span(filename, *numbers)


def _enum(name: str) -> type[Enum]:
    kind = getattr(enums, name, None)
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise SerializationError(f"there is no enumeration called {name!r}")
    return kind


def _make_type(kind: type[Type], parts: list[Any]) -> Type:
    if issubclass(kind, TupleType | ScalarType | ArrayType):
        return kind(*parts)
    if issubclass(kind, ShapedType):
        dtype, shape, memref, tensor_view, tile_view, window, space = parts
        if kind is TileType:
            return TileType(shape, dtype, memref, tile_view, space)
        if kind is DistributedTensorType:
            return DistributedTensorType(shape, dtype, memref, tensor_view, window)
        return TensorType(shape, dtype, memref, tensor_view)
    if parts:
        raise SerializationError(f"a {kind.__name__} has no parts")
    return kind()


def _expect(value: Any, kind: Any, owner: str, name: str) -> Any:
    if not isinstance(value, kind):
        raise SerializationError(f"{owner}.{name} cannot be {value!r}")
    return value


def _list_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(item, kind) for item in value)  # pyright: ignore[reportUnknownVariableType]


def _optional(kind: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, kind)


def _one(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


_HOLDS: dict[FieldKind, Callable[[Any], bool]] = {
    FieldKind.EXPR: _one(Expr),
    FieldKind.OPTIONAL_EXPR: _optional(Expr),
    FieldKind.EXPRS: _list_of(Expr),
    FieldKind.DEF: _one(Var),
    FieldKind.DEFS: _list_of(Var),
    FieldKind.VARS: _list_of(Var),
    FieldKind.STMT: _one(Stmt),
    FieldKind.OPTIONAL_STMT: _optional(Stmt),
    FieldKind.STMTS: _list_of(Stmt),
    FieldKind.TYPE: _one(Type),
    FieldKind.TYPES: _list_of(Type),
    FieldKind.FUNCTIONS: _list_of(Function),
    FieldKind.OP: _one(Op),
    FieldKind.ATTRS: _one(Mapping),
    FieldKind.DATA: lambda value: not isinstance(value, Node | Type | Op | Mapping),
}

_CONSTANTS: dict[type, type] = {ConstInt: int, ConstFloat: float, ConstBool: bool}


def _check_node(node: Any) -> None:
    kind: type = node.__class__
    fields: tuple[Field, ...] = node.FIELDS
    for name, field_kind, _ in fields:
        if not _HOLDS[field_kind](getattr(node, name)):
            raise SerializationError(f"{kind.__name__}.{name} cannot be {getattr(node, name)!r}")
    constant = _CONSTANTS.get(kind)
    if constant is not None:
        _expect(node.value, constant, kind.__name__, "value")
    if isinstance(node, Expr):
        _expect(node.type, Type, kind.__name__, "type")
    if isinstance(node, Stmt):
        for name in ("leading_comments", "trailing_comments"):
            if not _list_of(str)(getattr(node, name)):
                raise SerializationError(f"{kind.__name__}.{name} must be lines of text")
