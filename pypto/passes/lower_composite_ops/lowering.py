"""The walk of LowerCompositeOps: finds composite calls in statements and splices in what their rules emit. It knows no operator."""

from __future__ import annotations

import gc
from itertools import count

from pypto.diagnostics import Error, InvalidValueError
from pypto.ir.expr import Call, Expr
from pypto.ir.function import Function
from pypto.ir.node import FieldKind
from pypto.ir.stmt import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    ReturnStmt,
    SeqStmts,
    SpmdScopeStmt,
    Stmt,
    WhileStmt,
    attach_leading_comments,
    attach_trailing_comments,
    body_of,
    flatten_to_stmts,
)
from pypto.ops.declare import Declaration
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, base_name
from pypto.passes.lower_composite_ops.rules import CompositeRule, find_composite_rule
from pypto.passes.lower_composite_ops.signals import Signals


def lower_function(function: Function, signals: Signals = Signals.SINGLE_SHOT) -> Function:
    """The function with every composite call in an assignment, an expression statement or a return replaced by its recipe.

    The variable of an assignment keeps its identity. A function without composite calls comes back as the same object.

    Raises:
        InvalidValueError: a composite call that its rule refuses, or one that single-shot signals do not allow inside a loop.
    """
    collecting = gc.isenabled()
    gc.disable()  # thousands of small nodes and no cycles: collecting meanwhile only costs time
    try:
        body = _Lowering(function, signals).stmt(function.body)
    finally:
        if collecting:
            gc.enable()
    return function if body is function.body else function.replace(body=body)


class _Lowering:
    def __init__(self, function: Function, signals: Signals) -> None:
        self.signals = signals
        self.loops = 0
        self.blocks = 0
        self.on_host = function.is_host_orchestrator
        self.numbers = count()

    def stmt(self, stmt: Stmt) -> Stmt:
        """One body or statement; the same object when nothing in it is composite."""
        if isinstance(stmt, SeqStmts):
            return self._sequence(stmt)
        replaced = self._statement(stmt)
        if replaced is None:
            return stmt
        body = body_of(replaced, stmt.span)
        return attach_trailing_comments(body, stmt.trailing_comments) if stmt.trailing_comments else body

    def _sequence(self, seq: SeqStmts) -> Stmt:
        result: list[Stmt] | None = None
        for at, stmt in enumerate(seq.stmts):
            if isinstance(stmt, SeqStmts):
                inner = self._sequence(stmt)
                replaced = None if inner is stmt else flatten_to_stmts(inner)
            else:
                replaced = self._statement(stmt)
            if replaced is not None:
                if result is None:
                    result = [*seq.stmts[:at]]
                result.extend(replaced)
            elif result is not None:
                result.append(stmt)
        return seq if result is None else seq.replace(stmts=result)

    def _statement(self, stmt: Stmt) -> list[Stmt] | None:
        if isinstance(stmt, AssignStmt):
            value = stmt.value
            if isinstance(value, Call) and (rule := self._rule(value)) is not None:
                builder = self._builder(base_name(stmt.var.name_hint, stmt.span), stmt)
                last = AssignStmt(stmt.var, self._lower(rule, value, builder), stmt.span)
                return _with_comments([*builder.stmts, last], stmt)
            return None
        if isinstance(stmt, EvalStmt):
            value = stmt.expr
            if isinstance(value, Call) and (rule := self._rule(value)) is not None:
                builder = self._builder("eval", stmt)
                self._lower(rule, value, builder)
                return _with_comments(builder.stmts, stmt)
            return None
        if isinstance(stmt, ReturnStmt):
            return self._return(stmt)
        return self._inside(stmt)

    def _return(self, stmt: ReturnStmt) -> list[Stmt] | None:
        prelude: list[Stmt] = []
        values: list[Expr] = []
        for at, value in enumerate(stmt.value):
            if isinstance(value, Call) and (rule := self._rule(value)) is not None:
                builder = self._builder(f"ret{at}", stmt)
                value = builder.bind("result", self._lower(rule, value, builder))
                prelude += builder.stmts
            values.append(value)
        return _with_comments([*prelude, ReturnStmt(values, stmt.span)], stmt) if prelude else None

    def _builder(self, base: str, stmt: Stmt) -> LoweringBuilder:
        return LoweringBuilder(base, stmt.span, self.numbers, self.signals)

    def _lower(self, rule: CompositeRule, call: Call, builder: LoweringBuilder) -> Expr:
        if rule.once and self.loops and not self.signals.reusable:
            raise InvalidValueError(
                f"{call.op.name} is not supported inside a for/while loop: its signal serves one call",
                call.span,
                hint="move it out of the loop, or lower with signals='credit'",
            )
        if self.blocks and isinstance(call.op, Declaration) and call.op.collective:
            raise InvalidValueError(
                f"{call.op.name} cannot stand inside a scope of several blocks: every block would do all of it",
                call.span,
                hint="move it out of pl.spmd",
            )
        try:
            return rule.lower(call, call.args, builder)
        except Error as error:
            if error.place is None and call.span.is_valid():
                error.place = call.span
            raise

    def _inside(self, stmt: Stmt) -> list[Stmt] | None:
        looping, launching = isinstance(stmt, ForStmt | WhileStmt), isinstance(stmt, SpmdScopeStmt)
        self.loops += looping
        self.blocks += launching
        changes = self._changes(stmt)
        self.blocks -= launching
        self.loops -= looping
        return [stmt.replace(**changes)] if changes else None

    def _changes(self, stmt: Stmt) -> dict[str, Stmt]:
        changes: dict[str, Stmt] = {}
        for name, kind, _ in stmt.FIELDS:
            if kind is FieldKind.STMT or kind is FieldKind.OPTIONAL_STMT:
                body: Stmt | None = getattr(stmt, name)
                if body is not None:
                    lowered = self.stmt(body)
                    if lowered is not body:
                        changes[name] = lowered
        return changes

    def _rule(self, call: Call) -> CompositeRule | None:
        rule = find_composite_rule(call.op.name)
        return None if rule is None or (self.on_host and not rule.on_host) else rule


def _with_comments(stmts: list[Stmt], origin: Stmt) -> list[Stmt]:
    if stmts and origin.leading_comments:
        attach_leading_comments(stmts[0], origin.leading_comments)
    return stmts
