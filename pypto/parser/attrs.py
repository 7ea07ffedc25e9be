"""Attribute dictionaries: ``attrs={...}``, ``kwargs={...}``, ``pl.func_attr({...})``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from enum import Enum
from typing import Any, cast

from pypto.diagnostics import Error
from pypto.ir.attrs import INT_LIST_KEYS, VAR_LIST_KEYS, AttrValue, normalize_attrs
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgDirection, MemorySpace, PadValue, SplitMode, TensorLayout, TileLayout
from pypto.ir.expr import Expr, Var
from pypto.parser.environment import NOTHING
from pypto.parser.errors import ParserSyntaxError, ParserTypeError
from pypto.parser.folding import named_value, path_of, static
from pypto.parser.reader import Reader

_STORED = (DataType, MemorySpace, TensorLayout, TileLayout, PadValue, ArgDirection)


def entries(reader: Reader, node: Any, what: str) -> dict[str, Any]:
    """The value nodes of a dict literal by key.

    Raises:
        ParserSyntaxError: it is no dict literal, has a key that is no string literal, or one key twice.
    """
    if type(node) is not ast.Dict:
        raise reader.failure(ParserSyntaxError, f"{what} must be a dict literal", node, hint=f'write {what} as {{"key": value}}')
    found: dict[str, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            raise reader.failure(ParserSyntaxError, f"** cannot be used in {what}", value)
        if type(key) is not ast.Constant or not isinstance(key.value, str):
            raise reader.failure(ParserSyntaxError, f"a key of {what} must be a string literal", key)
        if key.value in found:
            raise reader.failure(ParserSyntaxError, f"{what} has the key {key.value!r} twice", key)
        found[key.value] = value
    return found


def read_attrs(reader: Reader, node: Any, what: str = "attrs") -> Mapping[str, AttrValue]:
    """An attribute dictionary of a call.

    Raises:
        ParserSyntaxError: a malformed dictionary or a value that cannot be stored.
    """
    written = entries(reader, node, what)
    values: dict[str, Any] = {}
    for key, value in written.items():
        values[key] = attr_value(reader, key, value)
    try:
        return normalize_attrs(values)
    except Error as error:
        raise reader.from_error(ParserSyntaxError, error, node) from error


def attr_value(reader: Reader, key: str, node: Any, *, enums: bool = False) -> Any:
    """One attribute value. With ``enums`` members of enumerations that are stored as numbers are accepted too."""
    kind = cast("type[Any]", type(node))
    if kind is ast.Constant:
        if isinstance(node.value, bool | int | float | str):
            return node.value
        raise reader.failure(ParserSyntaxError, f"the attribute {key!r} cannot hold {node.value!r}", node)
    if kind is ast.UnaryOp and type(node.op) is ast.USub and type(node.operand) is ast.Constant:
        number = node.operand.value
        if isinstance(number, int | float) and not isinstance(number, bool):
            return -number
    if kind is ast.Attribute:
        value = _member(reader, key, node, enums)
        if value is not NOTHING:
            return value
    if kind is ast.List or kind is ast.Tuple:
        return _list(reader, key, node)
    if kind is ast.Call and type(node.func) is ast.Name:
        value = static(reader, node)
        if isinstance(value, float):
            return value
    if kind is ast.Name:
        value = reader.name_value(node)
        if isinstance(value, bool | int | float | str | Expr) or isinstance(value, _STORED):
            return value
        return reader.expression(node)
    return reader.expression(node)


def _member(reader: Reader, key: str, node: ast.Attribute, enums: bool) -> Any:
    path = path_of(reader, node)
    if path is None:
        return NOTHING
    try:
        value = named_value(reader, path, node)
    except ParserTypeError as error:
        raise reader.failure(ParserSyntaxError, error.message, node, hint=error.hint) from None
    if value is NOTHING or isinstance(value, _STORED):
        return value
    if isinstance(value, Enum) and enums:
        return value
    raise reader.failure(ParserSyntaxError, f"the attribute {key!r} cannot hold {ast.unparse(node)}", node)


def _list(reader: Reader, key: str, node: Any) -> list[Any]:
    items: list[Any] = []
    for item in node.elts:
        value = attr_value(reader, key, item)
        if isinstance(value, Expr) and not isinstance(value, Var):
            raise reader.failure(ParserSyntaxError, f"the list under {key!r} holds names, numbers or directions", item)
        items.append(value)
    kinds = {"var" if isinstance(i, Var) else type(i).__name__ for i in items}
    if len(kinds) > 1:
        raise reader.failure(ParserSyntaxError, f"the list under {key!r} mixes kinds of values", node)
    wanted = "int" if key in INT_LIST_KEYS else "var" if key in VAR_LIST_KEYS else None
    if kinds and (kinds - {"int", "var", "ArgDirection"} or (wanted is not None and kinds != {wanted})):
        raise reader.failure(ParserSyntaxError, f"the list under {key!r} cannot hold such values", node)
    return items


def read_loop_attrs(reader: Reader, node: Any) -> dict[str, Any]:
    """The attribute dictionary of a loop: constants only."""
    found: dict[str, Any] = {}
    for key, value in entries(reader, node, "attrs").items():
        constant = attr_value(reader, key, value)
        if not isinstance(constant, bool | int | float | str):
            raise reader.failure(ParserSyntaxError, f"the loop attribute {key!r} must be a constant", value)
        found[key] = constant
    return found


RESERVED_FUNCTION_KEYS = ("auto_scope", "external_source")


def read_function_attrs(reader: Reader, node: Any, what: str, known: dict[str, Any]) -> None:
    """Add the entries of a function attribute dictionary to ``known``.

    Raises:
        ParserSyntaxError: a key that is given already, or belongs in the decorator; a malformed dictionary.
    """
    for key, value in entries(reader, node, what).items():
        if key in RESERVED_FUNCTION_KEYS:
            raise reader.failure(ParserSyntaxError, f"{key!r} belongs in the decorator", value, hint=f"@pl.function({key}=...)")
        if key in known:
            raise reader.failure(ParserSyntaxError, f"the function attribute {key!r} is given twice", value)
        known[key] = stored_function_attr(attr_value(reader, key, value, enums=key == "split"), key)
        if known[key] is None:
            del known[key]


def stored_function_attr(value: Any, key: str) -> Any:
    """A function attribute as it is stored; None for one that says nothing (``split`` NONE). A plain number is stored as it is."""
    if isinstance(value, SplitMode):
        return int(value) if value is not SplitMode.NONE or key != "split" else None
    return value
