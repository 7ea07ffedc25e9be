"""Statements that act while reading: printing, checking, and those that stand in a place of their own."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pypto.ir.expr import ConstBool, Expr, Var
from pypto.parser.calls import STATEMENT_ONLY
from pypto.parser.dependencies import mark_dumped
from pypto.parser.environment import NOTHING
from pypto.parser.errors import ParserError, ParserSyntaxError, UnsupportedFeatureError
from pypto.parser.folding import static
from pypto.parser.reader import Reader

Directive = Callable[[Reader, ast.Call], None]


def _static_print(reader: Reader, node: ast.Call) -> None:
    if not node.args or node.keywords:
        raise reader.failure(ParserSyntaxError, "pl.static_print takes one or more values", node)
    shown = " ".join(_shown(reader, arg) for arg in node.args)
    print(f"static_print [{reader.source.filename}:{node.lineno}]: {shown}", file=sys.stdout)


def _shown(reader: Reader, node: Any) -> str:
    if type(node) is ast.Constant and isinstance(node.value, str):
        return node.value
    if type(node) is ast.JoinedStr:
        parts: list[str] = []
        for part in node.values:
            if type(part) is ast.FormattedValue:
                if part.conversion != -1 or part.format_spec is not None:
                    raise reader.failure(UnsupportedFeatureError, "an f-string of pl.static_print has no conversions", node)
                parts.append(_shown(reader, part.value))
            else:
                assert isinstance(part, ast.Constant)
                parts.append(str(part.value))
        return "".join(parts)
    value = static(reader, node)
    if value is not NOTHING and not isinstance(value, Expr | bool | int | float):
        return str(value)
    expr = reader.expression(node)
    name = expr.name_hint if isinstance(expr, Var) else ast.unparse(node)
    return f"{name}: {expr.type.as_python(format=False)}"


def _static_assert(reader: Reader, node: ast.Call) -> None:
    if not 1 <= len(node.args) <= 2 or node.keywords:
        raise reader.failure(ParserSyntaxError, "pl.static_assert takes a condition and a message", node)
    message = ""
    if len(node.args) == 2:
        given = node.args[1]
        if type(given) is not ast.Constant or not isinstance(given.value, str):
            raise reader.failure(ParserSyntaxError, "the message of pl.static_assert is a string literal", given)
        message = f": {given.value}"
    value = static(reader, node.args[0])
    if isinstance(value, ConstBool):
        value = value.value
    if value is NOTHING or isinstance(value, Expr):
        raise reader.failure(
            ParserError, "the condition of pl.static_assert is not known while reading", node.args[0], code="static-assert"
        )
    if not value:
        raise reader.failure(ParserError, f"static assertion failed{message}", node.args[0], code="static-assert")


def _misplaced(message: str) -> Directive:
    def refuse(reader: Reader, node: ast.Call) -> None:
        raise reader.failure(ParserSyntaxError, message, node)

    return refuse


DIRECTIVES: Mapping[str, Directive] = {
    "static_print": _static_print,
    "static_assert": _static_assert,
    "func_attr": _misplaced("pl.func_attr stands at the start of the body, before every other statement"),
    "cond": _misplaced(STATEMENT_ONLY["cond"]),
    "dump_tag": mark_dumped,
}
"""Statements that produce no IR, by their name after the prefix."""
