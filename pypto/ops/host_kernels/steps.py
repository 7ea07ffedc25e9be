"""The named steps of a kernel: listing them, and leaving one out to see what it is for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pypto.diagnostics import InvalidValueError, did_you_mean
from pypto.ir import scalar
from pypto.ir.expr import Add, ConstInt, Expr, Var, index_const
from pypto.ir.function import Function
from pypto.ir.node import walk
from pypto.ir.span import UNKNOWN
from pypto.ir.stmt import (
    AssignStmt,
    ForStmt,
    HierarchyScopeStmt,
    IfStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    YieldStmt,
    body_of,
    flatten_to_stmts,
)
from pypto.ir.utilities import collect_def_vars
from pypto.ir.visitor import IRMutator


def steps(function: Function) -> list[str]:
    """The names of the steps of a kernel, in the order of their text, inner ones after the one they are part of."""
    found: dict[str, None] = {}
    for node in walk(function.body):
        if isinstance(node, HierarchyScopeStmt) and node.name_hint:
            found[node.name_hint] = None
    return [*found]


def without_step(function: Function, *names: str, turn: int | None = None) -> Function:
    """The kernel without the steps of these names, wherever they stand; what a step counts does not go on.

    Args:
        function: a kernel, or any function whose steps are scopes with a name.
        names: some of :func:`steps`.
        turn: leave the steps out only in this turn, counted from 0, of the innermost loop around each.

    Raises:
        InvalidValueError: there is no such step, later statements use a value that it computes, or a turn is given for a step that is in
            no loop.
    """
    known = steps(function)
    for name in names:
        if name not in known:
            close = did_you_mean(name, known)
            hint = f"did you mean {close!r}?" if close else f"it has {', '.join(known) or 'none'}"
            raise InvalidValueError(f"{function.name} has no step {name!r}", hint=hint)
    return _Without(function, names, turn).visit_function(function)


class _Without(IRMutator):
    def __init__(self, function: Function, names: Sequence[str], turn: int | None) -> None:
        self.function = function
        self.names = names
        self.turn = turn
        self.loops: list[ForStmt] = []

    def visit_for_stmt(self, op: ForStmt) -> Stmt:
        self.loops.append(op)
        made = self._visit_fields(op)
        self.loops.pop()
        return made

    def visit_hierarchy_scope_stmt(self, op: HierarchyScopeStmt) -> Stmt:
        if op.name_hint not in self.names:
            return self._visit_fields(op)
        counters = {var: self.visit_expr(before) for var, before in self._counters(op).items()}
        if self.turn is None:
            self.var_map.update(counters)
            return SeqStmts([], op.span)
        if not self.loops:
            raise InvalidValueError(f"the step {op.name_hint!r} of {self.function.name} is in no loop, so it has no turns")
        loop = self.loops[-1]
        left_out = scalar.add(loop.start, scalar.mul(index_const(self.turn), loop.step, UNKNOWN), UNKNOWN)
        results = [Var(var.name_hint, var.type, var.span) for var in counters]
        taken: list[Stmt] = [self._visit_fields(op)]
        other: Stmt | None = None
        if counters:
            taken.append(YieldStmt([*counters]))
            other = YieldStmt([*counters.values()])
        self.var_map.update(dict(zip(counters, results, strict=True)))
        return IfStmt(scalar.ne(loop.loop_var, left_out, UNKNOWN), body_of(taken), other, results, op.span)

    def _counters(self, op: ScopeStmt) -> dict[Var, Expr]:
        """The values that later statements use, each with what it is when the step is left out: what the step adds to."""
        everywhere, inside = _occurrences(self.function.body), _occurrences(op)
        values = {s.var: s.value for s in flatten_to_stmts(op.body) if isinstance(s, AssignStmt)}
        found: dict[Var, Expr] = {}
        for var in collect_def_vars(op):
            if everywhere[var] == inside[var]:
                continue
            value = values.get(var)
            if not isinstance(value, Add) or not isinstance(value.right, ConstInt):
                raise InvalidValueError(
                    f"the step {op.name_hint!r} of {self.function.name} cannot be left out: later statements use {var.name_hint!r}"
                )
            found[var] = value.left
        return found


def _occurrences(stmt: Stmt) -> Counter[Var]:
    return Counter(node for node in walk(stmt) if isinstance(node, Var))
