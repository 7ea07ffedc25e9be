"""Expressions: names, constants, operators, tuples. Known numbers fold; everything else stays as it is written."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, cast

from pypto.diagnostics import Error
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr, MakeTuple, index_const
from pypto.ir.types import ScalarType
from pypto.parser.dynamic import DynVar
from pypto.parser.environment import NOTHING
from pypto.parser.errors import (
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    ScalarOperandError,
    UnsupportedFeatureError,
)
from pypto.parser.folding import combine, named_value, path_of, static
from pypto.parser.reader import Reader, expression

_BINARY: Mapping[type, tuple[str, Callable[..., Expr]]] = {
    ast.Add: ("+", scalar.add),
    ast.Sub: ("-", scalar.sub),
    ast.Mult: ("*", scalar.mul),
    ast.Div: ("/", scalar.truediv),
    ast.FloorDiv: ("//", scalar.floordiv),
    ast.Mod: ("%", scalar.mod),
    ast.Pow: ("**", scalar.pow),
    ast.LShift: ("<<", scalar.bit_shift_left),
    ast.RShift: (">>", scalar.bit_shift_right),
    ast.BitAnd: ("&", scalar.bit_and),
    ast.BitOr: ("|", scalar.bit_or),
    ast.BitXor: ("^", scalar.bit_xor),
}

_COMPARE: Mapping[type, tuple[str, Callable[..., Expr]]] = {
    ast.Eq: ("==", scalar.eq),
    ast.NotEq: ("!=", scalar.ne),
    ast.Lt: ("<", scalar.lt),
    ast.LtE: ("<=", scalar.le),
    ast.Gt: (">", scalar.gt),
    ast.GtE: (">=", scalar.ge),
}

_ELEMENTWISE = {"+": "add", "-": "sub", "*": "mul", "/": "div", "@": "matmul"}


def operand(reader: Reader, node: Any) -> Any:
    """An expression, or the Python number it folds to."""
    kind = cast("type[Any]", type(node))
    if kind is ast.Name:
        value = reader.name_value(node)
        if isinstance(value, Expr) or type(value) is int or type(value) is float:
            return value
        return _plain(reader, node, value)
    if kind is ast.Constant:
        value = node.value
        return value if type(value) is int or type(value) is float else reader.expression(node)
    if kind is ast.BinOp:
        return binary(reader, node)
    if kind is ast.UnaryOp:
        return unary(reader, node)
    return reader.expression(node)


def _plain(reader: Reader, node: ast.Name, value: Any) -> Any:
    if value is NOTHING:
        raise reader.failure(UnsupportedFeatureError, f"{node.id!r} cannot stand here as a value", node)
    if isinstance(value, DynVar):
        return reader.dynamic(value)
    return reader.from_value(value, node, node.id)


def as_expression(reader: Reader, value: Any, node: Any) -> Expr:
    """A folded number as a constant; an expression as it is."""
    return value if isinstance(value, Expr) else reader.constant(value, node)


def binary(reader: Reader, node: ast.BinOp) -> Any:
    """A chain of binary operators, leftmost first, without recursion along the left side."""
    spine: list[ast.BinOp] = []
    first: Any = node
    while type(first) is ast.BinOp:
        spine.append(first)
        first = first.left
    left = operand(reader, first)
    left_node = first
    for link in reversed(spine):
        right = operand(reader, link.right)
        op = type(link.op)
        if not isinstance(left, Expr) and not isinstance(right, Expr):
            left = combine(reader, link, op, left, right)
        else:
            left = apply_binary(
                reader, link, op, as_expression(reader, left, left_node), as_expression(reader, right, link.right)
            )
        left_node = link
    return left


def apply_binary(reader: Reader, node: Any, op: type, left: Expr, right: Expr) -> Expr:
    """The node of a Python operator on two expressions."""
    known = _BINARY.get(op)
    if known is None:
        if op is ast.MatMult and _is_shaped(left):
            raise _on_shaped(reader, node, "@", left, right)
        raise reader.failure(UnsupportedFeatureError, "the operator @ does not exist on scalars", node)
    symbol, build = known
    try:
        return build(left, right, reader.source.span(node))
    except Error as error:
        raise _operator_error(reader, node, symbol, left, right, error) from error


def _operator_error(reader: Reader, node: Any, symbol: str, left: Expr, right: Expr, error: Error) -> ParserError:
    if _is_shaped(left) or _is_shaped(right):
        return _on_shaped(reader, node, symbol, left, right)
    message = f"{symbol} cannot combine {reader.type_text(left.type)} and {reader.type_text(right.type)}"
    hint = error.hint
    dtypes = [t.dtype for t in (left.type, right.type) if isinstance(t, ScalarType)]
    if len(dtypes) == 2 and dtypes[0].is_float() != dtypes[1].is_float():
        target = dtypes[0] if dtypes[0].is_float() else dtypes[1]
        hint = f"convert one of them: pl.cast(..., pl.{target.name})"
    elif DataType.BOOL in dtypes:
        hint = "use and, or, not on truth values"
    return reader.failure(ScalarOperandError, message, node, hint=hint)


def _is_shaped(value: Expr) -> bool:
    return hasattr(value.type, "shape")


def _on_shaped(reader: Reader, node: Any, symbol: str, left: Expr, right: Expr) -> ParserError:
    shaped = left if _is_shaped(left) else right
    name = _ELEMENTWISE.get(symbol)
    hint = f"write pl.{name}(a, b)" if name else "use the operator of that meaning, such as pl.cmp or pl.and_"
    return reader.failure(
        ScalarOperandError,
        f"{symbol} combines scalars only, got {reader.type_text(shaped.type)}",
        node,
        hint=hint,
    )


@expression(ast.BinOp)
def read_binary(reader: Reader, node: ast.BinOp) -> Expr:
    """``a + b``."""
    return as_expression(reader, binary(reader, node), node)


def unary(reader: Reader, node: ast.UnaryOp) -> Any:
    """``-x``, ``+x``, ``not x``, ``~x``; signs of known numbers fold."""
    op = type(node.op)
    chain: list[ast.UnaryOp] = [node]
    inner: Any = node.operand
    while type(inner) is ast.UnaryOp:
        chain.append(inner)
        inner = inner.operand
    value = operand(reader, inner)
    inner_node = inner
    for link in reversed(chain):
        op = type(link.op)
        if not isinstance(value, Expr) and op in (ast.USub, ast.UAdd):
            value = -value if op is ast.USub else value
        else:
            value = _apply_unary(reader, link, op, as_expression(reader, value, inner_node))
        inner_node = link
    return value


def _apply_unary(reader: Reader, node: Any, op: type, value: Expr) -> Expr:
    if op is ast.UAdd:
        raise reader.failure(UnsupportedFeatureError, "a unary + exists on literals only", node, hint="leave it out")
    build = scalar.neg if op is ast.USub else scalar.not_ if op is ast.Not else scalar.bit_not
    try:
        return build(value, reader.source.span(node))
    except Error as error:
        symbol = {ast.USub: "-", ast.Not: "not"}.get(op, "~")
        hint = "write pl.neg(a)" if _is_shaped(value) and op is ast.USub else error.hint
        raise reader.failure(
            ScalarOperandError, f"{symbol} cannot be applied to {reader.type_text(value.type)}", node, hint=hint
        ) from error


@expression(ast.UnaryOp)
def read_unary(reader: Reader, node: ast.UnaryOp) -> Expr:
    """``-x``."""
    return as_expression(reader, unary(reader, node), node)


@expression(ast.Name)
def read_name(reader: Reader, node: ast.Name) -> Expr:
    """A name of the body, or a Python value from around it."""
    value = reader.name_value(node)
    return value if isinstance(value, Expr) else as_expression(reader, _plain(reader, node, value), node)


@expression(ast.Constant)
def read_constant(reader: Reader, node: ast.Constant) -> Expr:
    """``3``, ``2.5``, ``True``, ``None``."""
    value = node.value
    if isinstance(value, bool | int | float):
        return reader.constant(value, node)
    if value is None:
        from pypto.parser.calls import call_operator_named

        return call_operator_named(reader, "system.task_invalid", [], node)
    what = "..." if value is Ellipsis else f"the {type(value).__name__} {value!r}"
    raise reader.failure(ParserTypeError, f"{what} cannot be a value in a kernel", node)


@expression(ast.List, ast.Tuple)
def read_sequence(reader: Reader, node: ast.List | ast.Tuple) -> Expr:
    """``[a, b]`` and ``(a, b)``."""
    elements = [reader.expression(item) for item in node.elts]
    return MakeTuple(elements, reader.source.span(node))


@expression(ast.Compare)
def read_compare(reader: Reader, node: ast.Compare) -> Expr:
    """``a < b``: one comparison."""
    if len(node.ops) != 1:
        raise reader.failure(
            ParserSyntaxError,
            "a comparison compares two values; chains are not read",
            node,
            hint="write (a < b) and (b < c)",
        )
    known = _COMPARE.get(type(node.ops[0]))
    if known is None:
        words: dict[type, str] = {ast.In: "in", ast.NotIn: "not in", ast.Is: "is"}
        word = words.get(type(node.ops[0]), "is not")
        raise reader.failure(
            UnsupportedFeatureError, f"the comparison {word!r} does not exist in a kernel", node, hint="use == or !="
        )
    symbol, build = known
    left, right = reader.expression(node.left), reader.expression(node.comparators[0])
    try:
        return build(left, right, reader.source.span(node))
    except Error as error:
        raise _operator_error(reader, node, symbol, left, right, error) from error


@expression(ast.BoolOp)
def read_boolean(reader: Reader, node: ast.BoolOp) -> Expr:
    """``a and b and c``, left to right."""
    build = scalar.and_ if type(node.op) is ast.And else scalar.or_
    word = "and" if build is scalar.and_ else "or"
    span = reader.source.span(node)
    result = reader.expression(node.values[0])
    for item in node.values[1:]:
        right = reader.expression(item)
        try:
            result = build(result, right, span)
        except Error as error:
            raise _operator_error(reader, node, word, result, right, error) from error
    return result


@expression(ast.Attribute)
def read_attribute(reader: Reader, node: ast.Attribute) -> Expr:
    """``cfg.N`` with a Python object from around the body, or ``pl.Mem.Vec`` as a number."""
    path = path_of(reader, node)
    value = named_value(reader, path, node) if path is not None else static(reader, node)
    if isinstance(value, MemorySpace):
        return index_const(value.value)
    if value is not NOTHING and path is None:
        return reader.from_value(value, node, ast.unparse(node))
    if value is not NOTHING:
        raise reader.failure(ParserTypeError, f"{ast.unparse(node)} is a compile-time value and cannot stand here", node)
    root: Any = node
    while type(root) is ast.Attribute:
        root = root.value
    hint = None
    if type(root) is ast.Name and root.id in reader.names:
        if node.attr == "shape":
            hint = "use pl.tensor.dim(x, i)"
    elif type(root) is ast.Name and path is None and reader.env.value(root.id) is NOTHING:
        raise reader.undefined(root)
    raise reader.failure(
        UnsupportedFeatureError, f"the attribute {ast.unparse(node)} does not exist in a kernel", node, hint=hint
    )
