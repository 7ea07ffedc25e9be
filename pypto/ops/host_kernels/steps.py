"""The named steps of a kernel: listing them, and leaving one out to see what it is for."""

from __future__ import annotations

from pypto.diagnostics import InvalidValueError, did_you_mean
from pypto.ir import scalar
from pypto.ir.expr import Add, ConstInt, Expr, Var, index_const
from pypto.ir.function import Function
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, ForStmt, HierarchyScopeStmt, IfStmt, ScopeStmt, SeqStmts, Stmt, YieldStmt, body_of, flatten_to_stmts
from pypto.ir.utilities import collect_def_vars
from pypto.ir.visitor import IRMutator


def steps(function: Function) -> list[str]:
    """The names of the steps of a kernel, in the order of their text, inner ones after the one they are part of."""
    found: dict[str, None] = {}
    for node in walk(function.body):
        if isinstance(node, HierarchyScopeStmt) and node.name_hint:
            found[node.name_hint] = None
    return [*found]


def without_step(function: Function, name: str, turn: int | None = None) -> Function:
    """The kernel without the step of that name, wherever it stands; what the step counts does not go on.

    Args:
        function: a kernel, or any function whose steps are scopes with a name.
        name: one of :func:`steps`.
        turn: leave the step out only in this turn, counted from 0, of the innermost loop around it.

    Raises:
        InvalidValueError: there is no such step, later statements use a value that it computes, or a turn is given for a step that is in
            no loop.
    """
    known = steps(function)
    if name not in known:
        close = did_you_mean(name, known)
        raise InvalidValueError(
            f"{function.name} has no step {name!r}", hint=f"did you mean {close!r}?" if close else f"it has {', '.join(known)}"
        )
    return _Without(function, name, turn).visit_function(function)


class _Without(IRMutator):
    def __init__(self, function: Function, name: str, turn: int | None) -> None:
        self.function = function
        self.name = name
        self.turn = turn
        self.loops: list[ForStmt] = []

    def visit_for_stmt(self, op: ForStmt) -> Stmt:
        self.loops.append(op)
        made = self._visit_fields(op)
        self.loops.pop()
        return made

    def visit_hierarchy_scope_stmt(self, op: HierarchyScopeStmt) -> Stmt:
        if op.name_hint != self.name:
            return self._visit_fields(op)
        counters = self._counters(op)
        if self.turn is None:
            self.var_map.update(counters)
            return SeqStmts([], op.span)
        if not self.loops:
            raise InvalidValueError(f"the step {self.name!r} of {self.function.name} is in no loop, so it has no turns")
        loop = self.loops[-1]
        left_out = scalar.add(loop.start, scalar.mul(index_const(self.turn), loop.step))
        results = [Var(var.name_hint, var.type, var.span) for var in counters]
        taken: list[Stmt] = [op]
        other: Stmt | None = None
        if counters:
            taken.append(YieldStmt([*counters]))
            other = YieldStmt([*counters.values()])
        self.var_map.update(dict(zip(counters, results, strict=True)))
        return IfStmt(scalar.ne(loop.loop_var, left_out), body_of(taken), other, results, op.span)

    def _counters(self, op: ScopeStmt) -> dict[Var, Expr]:
        """The values that later statements use, each with what it is when the step is left out: what the step adds to."""
        inside = {id(node) for node in walk(op)}
        defined = [v for v in collect_def_vars(op)]
        used = {id(node) for node in walk(self.function.body) if isinstance(node, Var) and id(node) not in inside}
        found: dict[Var, Expr] = {}
        values = {s.var: s.value for s in flatten_to_stmts(op.body) if isinstance(s, AssignStmt)}
        for var in defined:
            if not _used_outside(self.function, op, var):
                continue
            value = values.get(var)
            if not isinstance(value, Add) or not isinstance(value.right, ConstInt):
                raise InvalidValueError(
                    f"the step {self.name!r} of {self.function.name} cannot be left out: it computes {var.name_hint!r}, which is used later"
                )
            found[var] = value.left
        return found
