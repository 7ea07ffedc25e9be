"""IR as PyPTO source text that reads back exactly, laid out as black lays it out."""

from __future__ import annotations

import gc
from collections.abc import Callable

from pypto.diagnostics import InvalidTypeError
from pypto.ir.expr import Expr
from pypto.ir.function import Function, Program
from pypto.ir.node import Node
from pypto.ir.stmt import Stmt
from pypto.ir.types import Type
from pypto.printer.functions import Functions
from pypto.printer.layout import lay_out, width_of
from pypto.printer.pieces import SOFT_CLOSE, SOFT_OPEN, join_pieces
from pypto.printer.scalars import is_operation
from pypto.printer.session import Session

__all__ = ["python_print", "python_print_type", "register_format_callback"]

FormatCallback = Callable[[str], str]

_callback: FormatCallback | None = None


def register_format_callback(callback: FormatCallback | None) -> None:
    """Send every formatted text through a function; None takes it away again. The text is black's layout already without one."""
    global _callback
    _callback = callback


def python_print(
    node: Node | Type,
    prefix: str = "pl",
    concise: bool = False,
    format: bool = True,
    explicit_layout: bool = False,
    line_length: int = 200,
    sugar: bool = True,
) -> str:
    """A program, function, statement, expression or type as source text.

    Args:
        node: what to print. A program or function has a header and imports, and can be read back on its own.
        prefix: the name of the language module in the text.
        concise: leave out the annotations of assignments where the value alone says the type.
        format: break lines at ``line_length``, with black's blank lines; without it each statement is one line.
        explicit_layout: show the resolved layout of every tile.
        line_length: the width of the text.
        sugar: use the short spellings; without it every node is written in its plain form.

    Raises:
        InvalidTypeError: ``node`` is neither a node nor a type.
    """
    if isinstance(node, Type):
        return python_print_type(node, prefix, format=format, explicit_layout=explicit_layout, line_length=line_length)
    if not isinstance(node, Node):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidTypeError(f"only nodes and types can be printed, got {node!r}")
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        text = _printed(
            node,
            Session(
                node,
                prefix=prefix,
                concise=concise,
                format=format,
                explicit_layout=explicit_layout,
                line_length=line_length,
                sugar=sugar,
            ),
        )
    finally:
        if was_enabled:
            gc.enable()
    return _callback(text) if format and _callback is not None else text


def _printed(node: Node, session: Session) -> str:
    functions = Functions(session)
    if isinstance(node, Program):
        functions.program(node)
    elif isinstance(node, Function):
        functions.alone(node)
    else:
        session.names = session.all_names.of_node(node)
        if isinstance(node, Stmt):
            functions.statements.block(node, 0)
        else:
            out: list[str] = []
            if isinstance(node, Expr):
                session.expressions.emit(node, out)
                if is_operation(node):
                    out = [SOFT_OPEN, *out, SOFT_CLOSE]
            session.line(out, 0)
        return "\n".join(session.lines)
    text = "\n".join(session.lines)
    return text + "\n" if session.format else text


def python_print_type(
    type_: Type,
    prefix: str = "pl",
    *,
    format: bool = True,
    explicit_layout: bool = False,
    line_length: int = 200,
) -> str:
    """A type as source text."""
    session = Session(type_, prefix=prefix, explicit_layout=explicit_layout, line_length=line_length)
    session.names = session.all_names.of_type(type_)
    pieces = session.types.pieces(type_)
    text = join_pieces(pieces)
    if format and width_of(text) > line_length:
        return "\n".join(lay_out(pieces, 0, line_length))
    return text
