"""Removal of scalars, and of scalar results of branches and loops, that nothing uses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from pypto.ir.arith.values import contains_call
from pypto.ir.expr import Expr, Var
from pypto.ir.function import Function
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, SeqStmts, Stmt, WhileStmt, YieldStmt
from pypto.ir.type_parts import type_expressions
from pypto.ir.types import ScalarType
from pypto.passes.rewrite import add_uses, definitions, edit_end, final_yield, fold, statements

Merge: TypeAlias = "IfStmt | ForStmt | WhileStmt"


def without_dead_scalars(function: Function) -> Function:
    """The function without unused scalar assignments and results; the same object when there are none.

    Anything that an operand, attribute, type or yield refers to is used. A value that contains a call stays, and so does what is
    assigned more than once.
    """
    return _Pruner(function).run()


class _Pruner:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.uses: Counter[Var] = Counter()
        self.reads: dict[Stmt, set[Var]] = {}
        self.assigned: dict[Var, AssignStmt] = {}
        self.merged: dict[Var, tuple[Merge, int]] = {}
        self.dead: set[Stmt] = set()
        self.dropped: defaultdict[Stmt, set[int]] = defaultdict(set)
        self.yields: dict[Stmt, list[YieldStmt]] = {}

    def run(self) -> Function:
        function = self.function
        stmts = list(statements(function.body))
        times: Counter[Var] = Counter(function.params)
        for stmt in stmts:
            for var in definitions(stmt):
                times[var] += 1
        for stmt in stmts:
            self.note(stmt, times)
        if not self.assigned and not self.merged:
            return function
        for stmt in stmts:
            self.count(stmt)
        self.count_signature()
        pending: list[Var] = [*self.assigned, *self.merged]
        while pending:
            var = pending.pop()
            freed = self.drop(var)
            pending += [v for v in freed if v in self.assigned or v in self.merged]
        if not self.dead and not self.dropped:
            return function
        return function.replace(body=self.rebuilt(function.body))

    def note(self, stmt: Stmt, times: Counter[Var]) -> None:
        """Find what may go."""
        if isinstance(stmt, AssignStmt):
            if isinstance(stmt.var.type, ScalarType) and times[stmt.var] == 1 and not contains_call(stmt.value):
                self.assigned[stmt.var] = stmt
        elif isinstance(stmt, IfStmt | ForStmt | WhileStmt) and stmt.return_vars:
            bodies = [stmt.then_body, stmt.else_body] if isinstance(stmt, IfStmt) else [stmt.body]
            last = [final_yield(body) for body in bodies if body is not None]
            found = [item for item in last if item is not None]
            width = len(stmt.return_vars)
            if len(found) != len(bodies) or any(len(item.value) != width for item in found):
                return
            if not isinstance(stmt, IfStmt) and len(stmt.iter_args) != width:
                return
            self.yields[stmt] = found
            for at, var in enumerate(stmt.return_vars):
                plain = not any(contains_call(item.value[at]) for item in found)
                if isinstance(var.type, ScalarType) and times[var] == 1 and plain:
                    self.merged[var] = (stmt, at)
                    if not isinstance(stmt, IfStmt):
                        self.merged[stmt.iter_args[at]] = (stmt, at)

    def count(self, stmt: Stmt) -> None:
        found: set[Var] = set()
        add_uses(stmt, found)
        self.reads[stmt] = found
        self.uses.update(found)

    def count_signature(self) -> None:
        found: set[Var] = set()
        types = [*(param.type for param in self.function.params), *self.function.return_types]
        for type_ in types:
            for part in type_expressions(type_):
                add_uses(part, found)
        for attr in self.function.attrs.values():
            if isinstance(attr, Expr):
                add_uses(attr, found)
        self.uses.update(found)

    def drop(self, var: Var) -> Iterable[Var]:
        """Drop the definition of a variable if nothing uses it; gives the variables that lost a use."""
        stmt = self.assigned.get(var)
        if stmt is not None:
            if stmt in self.dead or self.uses[var]:
                return ()
            self.dead.add(stmt)
            self.uses.subtract(self.reads[stmt])
            return self.reads[stmt]
        merge, at = self.merged[var]
        if at in self.dropped[merge] or not self.unused(merge, at):
            return ()
        self.dropped[merge].add(at)
        freed: set[Var] = set()
        for last in self.yields[merge]:
            freed |= self.recount(last, [v for i, v in enumerate(last.value) if i not in self.dropped[merge]])
        if not isinstance(merge, IfStmt):
            freed |= self.recount(merge, None)
        return freed

    def recount(self, stmt: Stmt, values: list[Expr] | None) -> set[Var]:
        """Count the reads of a statement again after some of its values went."""
        shrunk = self.shrunk(stmt) if values is None else YieldStmt(values, stmt.span)
        now: set[Var] = set()
        add_uses(shrunk, now)
        gone = self.reads[stmt] - now
        self.uses.subtract(gone)
        self.reads[stmt] = now
        return gone

    def unused(self, merge: Merge, at: int) -> bool:
        if self.uses[merge.return_vars[at]]:
            return False
        if isinstance(merge, IfStmt):
            return True
        arg = merge.iter_args[at]
        (last,) = self.yields[merge]
        # a value that is only handed on is not used
        kept = [i for i, value in enumerate(last.value) if i != at and i not in self.dropped[merge] and value is arg]
        handed_on = last.value[at] is arg and not kept
        return self.uses[arg] == (1 if handed_on else 0)

    def shrunk(self, stmt: Stmt) -> Stmt:
        """A branch or loop without its dropped results; the bodies are left to :meth:`rebuilt`."""
        gone = self.dropped.get(stmt)
        if not gone:
            return stmt
        changes: dict[str, Any] = {"return_vars": _without(stmt.return_vars, gone)}  # type: ignore[attr-defined]
        if not isinstance(stmt, IfStmt):
            changes["iter_args"] = _without(stmt.iter_args, gone)  # type: ignore[attr-defined]
        return stmt.replace(**changes)

    def rebuilt(self, stmt: Stmt) -> Stmt:
        if stmt in self.dead:
            return SeqStmts([], stmt.span)
        if isinstance(stmt, SeqStmts):
            out = [self.rebuilt(inner) for inner in stmt.stmts]
            if all(a is b for a, b in zip(out, stmt.stmts, strict=True)):
                return stmt
            return fold(out, stmt.trailing_comments, stmt.span)
        new = self.shrunk(stmt)
        gone = self.dropped.get(stmt, set())
        changes: dict[str, Any] = {}
        for name in ("then_body", "else_body", "body"):
            body = getattr(stmt, name, None)
            if not isinstance(body, Stmt):
                continue
            inner = self.rebuilt(body)
            if gone:
                inner = edit_end(inner, lambda last: _shorter(last, gone))
            if inner is not body:
                changes[name] = inner
        return new.replace(**changes) if changes else new


def _shorter(last: YieldStmt | None, gone: set[int]) -> Sequence[Stmt]:
    if last is None:
        return []
    values = _without(last.value, gone)
    return [last.replace(value=values)] if values else []


def _without(items: Sequence[Any], gone: set[int]) -> list[Any]:
    return [item for at, item in enumerate(items) if at not in gone]
