"""Helpers whose statements are spliced into the functions that call them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pypto.ir.expr import Expr, MakeTuple, Var
from pypto.parser.environment import Environment
from pypto.parser.errors import ParserSyntaxError, ParserTypeError
from pypto.parser.reader import Reader
from pypto.parser.scope import Names
from pypto.parser.source import SourceFile

_MOST_NESTED = 50


class InlineFunction:
    """A helper marked with ``@pl.inline``: its definition, and the Python names it can see."""

    __slots__ = ("closure_vars", "func_def", "name", "param_names", "source")

    def __init__(self, source: SourceFile, func_def: ast.FunctionDef, closure_vars: Mapping[str, Any]) -> None:
        self.source = source
        self.func_def = func_def
        self.name = func_def.name
        self.closure_vars = closure_vars
        names = [arg.arg for arg in func_def.args.args]
        self.param_names = names[1:] if names[:1] == ["self"] else names

    @property
    def source_file(self) -> str:
        """The file it stands in."""
        return self.source.filename

    @property
    def source_lines(self) -> Sequence[str]:
        """The lines of that file."""
        return self.source.lines

    @property
    def line_offset(self) -> int:
        """Lines before its definition; places are those of the file, so nothing needs to be added to them."""
        return self.func_def.lineno - 1

    @property
    def col_offset(self) -> int:
        """Columns before its definition."""
        return self.func_def.col_offset

    def __repr__(self) -> str:
        return f"InlineFunction({self.name!r})"


def parse_inline(source: SourceFile, node: ast.FunctionDef, closure: Mapping[str, Any]) -> InlineFunction:
    """A helper from its definition.

    Raises:
        ParserError: parameters of a kind that helpers cannot have.
    """
    from pypto.parser.functions import check_plain_parameters

    check_plain_parameters(Reader(Environment(source, closure)), node.args)
    return InlineFunction(source, node, closure)


def call_inline(reader: Reader, node: ast.Call, helper: InlineFunction) -> Expr:
    """Splice the statements of a helper in front of the statement being read; the value of the call is what it returns.

    Names of the helper are its own: parameters it assigns become variables of their own, and its variables are not visible to the caller.
    """
    from pypto.parser.blocks import read_statements

    if node.keywords:
        raise reader.failure(ParserTypeError, f"{helper.name} takes positional arguments only", node.keywords[0])
    if len(node.args) != len(helper.param_names):
        raise reader.failure(
            ParserTypeError, f"{helper.name} takes {len(helper.param_names)} arguments, got {len(node.args)}", node
        )
    if reader.inline_depth >= _MOST_NESTED:
        raise reader.failure(ParserSyntaxError, f"{helper.name} calls itself, or calls are nested too deeply", node)
    args = [reader.expression(arg) for arg in node.args]
    body = helper.func_def.body
    first = body[0]
    if type(first) is ast.Expr and type(first.value) is ast.Constant and isinstance(first.value.value, str):
        body = body[1:]
    last = body[-1] if body else None
    if type(last) is not ast.Return or last.value is None:
        raise reader.failure(
            ParserTypeError, f"{helper.name} returns no value", node, hint="a helper marked with @pl.inline ends with return"
        )
    saved = _enter(reader, helper, args)
    try:
        read_statements(reader, body[:-1], 0, 0)
        value = last.value
        if type(value) is ast.Tuple:
            return MakeTuple([reader.expression(item) for item in value.elts], reader.source.span(value))
        return reader.expression(value)
    finally:
        _leave(reader, saved)


def _enter(reader: Reader, helper: InlineFunction, args: Sequence[Expr]) -> tuple[Any, ...]:
    saved = (reader.env, reader.source, reader.names, reader.block, reader.comments, reader.twins, reader.current, reader.home)
    around: Mapping[str, Any] = {**(reader.env.closure or {}), **helper.closure_vars}
    env = reader.env.beside(helper.source, around)
    span = reader.source.span(reader.current) if reader.current is not None else None
    names: Names = {}
    assigned = _assigned_names(helper.func_def)
    own: dict[Var, Any] = {}
    block = type(reader.block)("function", None)
    for name, arg in zip(helper.param_names, args, strict=True):
        if name in assigned and span is not None:
            var = reader.temporary(name, arg, span)
            own[var] = block
            names[name] = var
        else:
            names[name] = arg
    reader.env, reader.source, reader.names, reader.block = env, helper.source, names, block
    reader.comments, reader.twins, reader.home = {}, {}, own
    reader.inline_depth += 1
    return saved


def _leave(reader: Reader, saved: tuple[Any, ...]) -> None:
    (
        reader.env,
        reader.source,
        reader.names,
        reader.block,
        reader.comments,
        reader.twins,
        reader.current,
        reader.home,
    ) = saved
    reader.inline_depth -= 1


def _assigned_names(func_def: ast.FunctionDef) -> set[str]:
    found: set[str] = set()
    for part in ast.walk(func_def):
        if type(part) is ast.Name and isinstance(part.ctx, ast.Store):
            found.add(part.id)
        elif type(part) is ast.Subscript and isinstance(part.ctx, ast.Store) and type(part.value) is ast.Name:
            found.add(part.value.id)
    return found
