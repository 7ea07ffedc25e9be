"""Blocks: statements in order, with the comments and docstrings between them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, cast

from pypto.ir.stmt import (
    ReturnStmt,
    SeqStmts,
    Stmt,
    YieldStmt,
    attach_leading_comments,
    attach_trailing_comments,
)
from pypto.parser.comments import docstring_lines, header_end, take, take_trailing
from pypto.parser.errors import ParserSyntaxError
from pypto.parser.reader import STATEMENTS, Reader
from pypto.parser.scope import Block
from pypto.parser.statements import refused

_ENDS = (ReturnStmt, YieldStmt)


def read_block(reader: Reader, nodes: Sequence[Any], kind: str, first_line: int, until: int) -> tuple[Block, Stmt]:
    """Read the statements of a nested block; its names are left for the caller to settle.

    ``first_line`` is the line on which comments of the block may begin, ``until`` that on which the code after it begins.
    """
    block = Block(kind, reader.block)
    outer = reader.out
    reader.block, reader.out = block, []
    trailing = read_statements(reader, nodes, first_line, until)
    body = as_body(reader.out, trailing)
    assert block.parent is not None
    reader.block, reader.out = block.parent, outer
    block.is_open = False
    return block, body


def _comment(stmt: Stmt, comments: Sequence[str]) -> None:
    """Put comments above a statement; a sequence has none of its own, but its first statement does."""
    while isinstance(stmt, SeqStmts):
        if not stmt.stmts:
            attach_trailing_comments(stmt, [*comments, *stmt.trailing_comments])
            return
        stmt = stmt.stmts[0]
    attach_leading_comments(stmt, [*comments, *stmt.leading_comments])


def as_body(stmts: list[Stmt], trailing: Sequence[str]) -> Stmt:
    """Statements as a body in normal form."""
    body = stmts[0] if len(stmts) == 1 else SeqStmts(stmts)
    return attach_trailing_comments(body, trailing) if trailing else body


def read_statements(reader: Reader, nodes: Sequence[Any], first_line: int, until: int) -> list[str]:
    """Read statements into the innermost block; returns the comments that follow the last one."""
    comments = reader.comments
    pending: list[str] = []
    line = first_line
    out = reader.out
    last = len(nodes) - 1
    for at, node in enumerate(nodes):
        kind = cast("type[Any]", type(node))
        reader.current = node
        if comments:
            pending += take(comments, line, node.lineno)
            end = node.end_lineno or node.lineno
            body = getattr(node, "body", None)
            own_end = header_end(reader.source.lines, node.lineno, body[0].lineno) if body else end
            pending += take(comments, node.lineno, own_end + 1)
            line = end + 1
            reader.until = nodes[at + 1].lineno if at < last else until
        if kind is ast.Expr and type(node.value) is ast.Constant and isinstance(node.value.value, str):
            pending += docstring_lines(node.value.value)
            continue
        if out and type(out[-1]) in _ENDS and kind is not ast.Pass:
            if type(out[-1]) is YieldStmt or not reader.source.printed:
                what = "return" if type(out[-1]) is ReturnStmt else "pl.yield_"
                raise reader.failure(
                    ParserSyntaxError, f"nothing can follow {what}", node, hint=f"put {what} last, or remove this"
                )
        handler = STATEMENTS.get(kind)
        if handler is None:
            raise refused(reader, node)
        before = len(out)
        if pending:
            taken, pending = pending, []
            handler(reader, node)
            if len(out) > before:
                # what is put in front of a scope (its task, an array of tasks) is not what a comment is about
                _comment(out[-1 if kind is ast.With else before], taken)
            else:
                pending = taken
        else:
            handler(reader, node)
    if comments and nodes:
        pending += take_trailing(comments, line, until, nodes[0].col_offset)
    return pending
