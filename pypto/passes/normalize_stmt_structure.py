"""NormalizeStmtStructure: no sequence directly in a sequence, and none of one statement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pypto.ir.function import Function, Program
from pypto.ir.stmt import SeqStmts, Stmt
from pypto.passes.base import FunctionPass
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import fold, with_comments


@register_pass
@dataclass(frozen=True)
class NormalizeStmtStructure(FunctionPass):
    """Flatten nested sequences of statements and unwrap those of one statement; comments stay where they are read."""

    PRODUCED = (IRProperty.NormalizedStmtStructure,)

    def transform_function(self, function: Function, program: Program) -> Function:
        body = normalized(function.body)
        return function if body is function.body else function.replace(body=body)


def normalized(stmt: Stmt) -> Stmt:
    """The statement with every body below it, itself included, in normal form; the same object when it is already."""
    if isinstance(stmt, SeqStmts):
        out: list[Stmt] = []
        pending = _spread(stmt, out, [])
        plain = len(out) == len(stmt.stmts) != 1 and all(a is b for a, b in zip(out, stmt.stmts, strict=True))
        return stmt if plain else fold(out, pending, stmt.span)
    changes: dict[str, Any] = {}
    for name in ("then_body", "else_body", "body"):
        body = getattr(stmt, name, None)
        if isinstance(body, Stmt):
            new = normalized(body)
            if new is not body:
                changes[name] = new
    return stmt.replace(**changes) if changes else stmt


def _spread(seq: SeqStmts, out: list[Stmt], pending: list[str]) -> list[str]:
    for stmt in seq.stmts:
        if isinstance(stmt, SeqStmts):
            pending = _spread(stmt, out, pending)
        else:
            out.append(with_comments(normalized(stmt), pending))
            pending = []
    return [*pending, *seq.trailing_comments]
