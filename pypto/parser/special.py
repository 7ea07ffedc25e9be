"""Constructs that are written like operators but are none: typed constants, scalar nodes without a symbol, and the misplaced ones."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from pypto.diagnostics import Error
from pypto.ir import expr as nodes
from pypto.ir.dtypes import DataType
from pypto.ir.expr import BinaryExpr, Call, ConstBool, ConstFloat, ConstInt, Expr, UnaryExpr, Xor
from pypto.ir.op import GlobalVar, Op, find_op
from pypto.ir.types import ScalarType, UnknownType
from pypto.parser.attrs import read_attrs
from pypto.parser.builtins import refuse_by_name
from pypto.parser.calls import SPECIAL, STATEMENT_ONLY, special
from pypto.parser.errors import (
    InvalidOperationError,
    ParserSyntaxError,
    ParserTypeError,
    ScalarOperandError,
)
from pypto.parser.folding import not_finite, static
from pypto.parser.memrefs import read_memref
from pypto.parser.reader import Reader
from pypto.parser.submits import read_submit
from pypto.parser.types import annotation_type
from pypto.parser.windows import find_window


def _plain_nodes() -> dict[str, type[Any]]:
    found: dict[str, type[Any]] = {}
    for name in nodes.__dict__:
        cls = getattr(nodes, name)
        if isinstance(cls, type) and issubclass(cls, BinaryExpr | UnaryExpr) and cls not in (BinaryExpr, UnaryExpr):
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
            for spelling in (name, name.lower(), snake):
                found[spelling] = cls
                found[f"{spelling}_"] = cls
    return found


PLAIN_NODES: Mapping[str, type[Any]] = _plain_nodes()
"""Scalar node classes by the names that ``pl.expr.`` accepts."""


@special("const")
def read_const(reader: Reader, node: ast.Call) -> Expr:
    """``pl.const(3, pl.INT32)``: a constant of that element type; it never folds."""
    if len(node.args) != 2 or node.keywords:
        raise reader.failure(
            ParserTypeError,
            f"pl.const takes a number and an element type, got {len(node.args) + len(node.keywords)} arguments",
            node,
            hint="pl.const(3, pl.INT32)",
        )
    number, dtype_node = node.args
    dtype = static(reader, dtype_node)
    if not isinstance(dtype, DataType):
        raise reader.failure(ParserTypeError, "the second argument of pl.const is an element type", dtype_node)
    value = _signed_literal(number)
    if value is None:
        raise reader.failure(ParserTypeError, "the first argument of pl.const is a numeric literal", number)
    span = reader.source.span(node)
    if dtype is DataType.BOOL:
        return ConstBool(bool(value), span)
    try:
        if dtype.is_float():
            return ConstFloat(float(value), dtype, span)
        if isinstance(value, float):
            raise reader.failure(ParserTypeError, f"{dtype.name} holds no fractions", number)
        return ConstInt(value, dtype, span)
    except (Error, OverflowError) as error:
        message = error.message if isinstance(error, Error) else f"the number is too large for {dtype.name}"
        if isinstance(error, ParserTypeError):
            raise
        raise reader.failure(ParserTypeError, message, number) from error


def _signed_literal(node: Any) -> Any:
    negative = False
    while type(node) is ast.UnaryOp and type(node.op) in (ast.USub, ast.UAdd):
        negative ^= type(node.op) is ast.USub
        node = node.operand
    if type(node) is not ast.Constant:
        return None
    value = node.value
    if negative and (isinstance(value, bool) or not isinstance(value, int | float)):
        return None
    if isinstance(value, str):
        return not_finite(value)
    return (-value if negative else value) if isinstance(value, bool | int | float) else None


@special("logical_xor")
def read_logical_xor(reader: Reader, node: ast.Call) -> Expr:
    """``pl.logical_xor(a, b)``: exclusive or of two truth values."""
    if len(node.args) != 2 or node.keywords:
        raise reader.failure(InvalidOperationError, "pl.logical_xor takes two truth values", node)
    left, right = (reader.expression(arg) for arg in node.args)
    for value, arg in ((left, node.args[0]), (right, node.args[1])):
        if not isinstance(value.type, ScalarType):
            raise reader.failure(
                ScalarOperandError, f"pl.logical_xor takes truth values, got {reader.type_text(value.type)}", arg
            )
    return Xor(left, right, DataType.BOOL, reader.source.span(node))


def read_plain_node(reader: Reader, node: ast.Call, leaf: str) -> Expr:
    """The plain form of an expression node: ``pl.expr.add(a, b, dtype=pl.INT32)``, ``pl.expr.call("tile.add", a, b, type=T)`` ...

    It is built exactly as written, without promotion or deduction.
    """
    if leaf == "call":
        return _plain_call(reader, node)
    if leaf == "make_tuple":
        if len(node.args) != 1 or node.keywords or type(node.args[0]) is not ast.List:
            raise reader.failure(InvalidOperationError, "pl.expr.make_tuple takes a list", node)
        return reader.expression(node.args[0])
    if leaf in ("const_int", "const_float"):
        return _plain_constant(reader, node, leaf)
    cls = PLAIN_NODES.get(leaf)
    if cls is None:
        raise reader.failure(InvalidOperationError, f"there is no expression node pl.expr.{leaf}", node.func)
    wanted = 2 if issubclass(cls, BinaryExpr) else 1
    dtype = _plain_dtype(reader, node, leaf, wanted)
    operands = [reader.expression(arg) for arg in node.args]
    make: Any = cls
    return make(*operands, dtype, reader.source.span(node))


def _plain_dtype(reader: Reader, node: ast.Call, leaf: str, wanted: int) -> DataType:
    if len(node.args) != wanted or [k.arg for k in node.keywords] != ["dtype"]:
        raise reader.failure(
            InvalidOperationError, f"pl.expr.{leaf} takes {wanted} operands and dtype=", node, hint="dtype=pl.INT32"
        )
    dtype = static(reader, node.keywords[0].value)
    if not isinstance(dtype, DataType):
        raise reader.failure(InvalidOperationError, "dtype= is an element type", node.keywords[0].value)
    return dtype


def _plain_constant(reader: Reader, node: ast.Call, leaf: str) -> Expr:
    dtype = _plain_dtype(reader, node, leaf, 1)
    value = _signed_literal(node.args[0])
    if value is None or isinstance(value, bool):
        raise reader.failure(InvalidOperationError, f"pl.expr.{leaf} takes a number", node.args[0])
    span = reader.source.span(node)
    return ConstFloat(float(value), dtype, span) if leaf == "const_float" else ConstInt(int(value), dtype, span)


def _plain_call(reader: Reader, node: ast.Call) -> Expr:
    if not node.args:
        raise reader.failure(InvalidOperationError, "pl.expr.call takes the name of an operator, then operands", node)
    callee = node.args[0]
    if type(callee) is ast.Constant and isinstance(callee.value, str):
        refuse_by_name(reader, callee.value, callee)
        op: Op = find_op(callee.value) or Op(callee.value)
    elif type(callee) is ast.Attribute and type(callee.value) is ast.Name and callee.value.id == "self":
        op = GlobalVar(callee.attr)
    elif type(callee) is ast.Name:
        op = GlobalVar(callee.id)
    else:
        raise reader.failure(InvalidOperationError, "the first argument of pl.expr.call names what is called", callee)
    parts: dict[str, Any] = {"kwargs": None, "attrs": None, "type": UnknownType()}
    for keyword in reader.keywords(node):
        if keyword.arg == "type":
            parts["type"] = annotation_type(reader, keyword.value)
        elif keyword.arg in ("kwargs", "attrs"):
            parts[keyword.arg] = read_attrs(reader, keyword.value, keyword.arg)
        else:
            raise reader.failure(InvalidOperationError, f"pl.expr.call takes no {keyword.arg!r}", keyword)
    operands = [reader.expression(arg) for arg in node.args[1:]]
    try:
        return Call(op, operands, parts["kwargs"], parts["attrs"], parts["type"], reader.source.span(node))
    except Error as error:
        raise reader.from_error(InvalidOperationError, error, node) from error


@special("MemRef")
def read_memref_value(reader: Reader, node: ast.Call) -> Expr:
    """A buffer reference as a value."""
    return read_memref(reader, node)


@special("pld.WindowBuffer")
def read_window_value(reader: Reader, node: ast.Call) -> Expr:
    """A window as a value."""
    return find_window(reader, node)


def _misplaced(path: str, message: str) -> None:
    @special(path)
    def refuse(reader: Reader, node: ast.Call) -> Expr:
        raise reader.failure(ParserSyntaxError, message, node)

    SPECIAL[path] = refuse


for _path, _message in STATEMENT_ONLY.items():
    _misplaced(_path, _message)


@special("submit", "spmd_submit")
def read_submit_call(reader: Reader, node: ast.Call) -> Expr:
    """The launch of a kernel as a task."""
    return read_submit(reader, node)
