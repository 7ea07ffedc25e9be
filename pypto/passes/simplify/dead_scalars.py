"""Removal of scalars, and of scalar results of branches and loops, that nothing uses."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
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
    """Finds what may go, marks what is used from everything else, and drops the rest; so values that only feed one another go too."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.assigned: dict[Var, AssignStmt] = {}
        self.merged: dict[Var, tuple[Merge, int]] = {}
        self.yields: dict[Merge, list[YieldStmt]] = {}
        self.slots: defaultdict[Merge, set[int]] = defaultdict(set)
        self.live: set[Var] = set()
        self.dead: set[Stmt] = set()
        self.dropped: defaultdict[Merge, set[int]] = defaultdict(set)

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
        self.mark(stmts)
        self.dead = {stmt for var, stmt in self.assigned.items() if var not in self.live}
        for merge, slots in self.slots.items():
            gone = {at for at in slots if not self.is_live(merge, at)}
            if gone:
                self.dropped[merge] = gone
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
            for at, var in enumerate(stmt.return_vars):
                values = [item.value[at] for item in found]
                names = [var]
                if not isinstance(stmt, IfStmt):
                    values.append(stmt.iter_args[at].initValue)
                    names.append(stmt.iter_args[at])
                single = all(times[name] == 1 for name in names)
                if isinstance(var.type, ScalarType) and single and not any(contains_call(value) for value in values):
                    self.yields[stmt] = found
                    self.slots[stmt].add(at)
                    for name in names:
                        self.merged[name] = (stmt, at)

    def is_live(self, merge: Merge, at: int) -> bool:
        if merge.return_vars[at] in self.live:
            return True
        return not isinstance(merge, IfStmt) and merge.iter_args[at] in self.live

    def mark(self, stmts: Sequence[Stmt]) -> None:
        """Mark what the rest of the function uses, and what that uses in turn."""
        owner: dict[Stmt, Merge] = {last: merge for merge, found in self.yields.items() for last in found}
        used: set[Var] = set()
        for stmt in stmts:
            if isinstance(stmt, AssignStmt) and self.assigned.get(stmt.var) is stmt:
                continue
            if isinstance(stmt, YieldStmt) and stmt in owner:
                stmt = YieldStmt(_without(stmt.value, self.slots[owner[stmt]]), stmt.span)
            elif isinstance(stmt, ForStmt | WhileStmt) and self.slots.get(stmt):
                stmt = stmt.replace(iter_args=_without(stmt.iter_args, self.slots[stmt]))
            add_uses(stmt, used)
        self.signature(used)
        pending = list(used)
        while pending:
            var = pending.pop()
            if var in self.live:
                continue
            self.live.add(var)
            pending += self.reads(var)

    def signature(self, used: set[Var]) -> None:
        types = [*(param.type for param in self.function.params), *self.function.return_types]
        for type_ in types:
            for part in type_expressions(type_):
                add_uses(part, used)
        for attr in self.function.attrs.values():
            if isinstance(attr, Expr):
                add_uses(attr, used)

    def reads(self, var: Var) -> set[Var]:
        """What the definition of a variable that might have gone reads."""
        found: set[Var] = set()
        stmt = self.assigned.get(var)
        if stmt is not None:
            add_uses(stmt, found)
        elif var in self.merged:
            merge, at = self.merged[var]
            for last in self.yields[merge]:
                add_uses(last.value[at], found)
            if not isinstance(merge, IfStmt):
                add_uses(merge.iter_args[at].initValue, found)
        return found

    def shrunk(self, stmt: Stmt) -> Stmt:
        """A branch or loop without its dropped results; the bodies are left to :meth:`rebuilt`."""
        gone = self.gone(stmt)
        if not gone or not isinstance(stmt, IfStmt | ForStmt | WhileStmt):
            return stmt
        changes: dict[str, Any] = {"return_vars": _without(stmt.return_vars, gone)}
        if not isinstance(stmt, IfStmt):
            changes["iter_args"] = _without(stmt.iter_args, gone)
        return stmt.replace(**changes)

    def gone(self, stmt: Stmt) -> set[int]:
        return self.dropped.get(stmt, set()) if isinstance(stmt, IfStmt | ForStmt | WhileStmt) else set()

    def rebuilt(self, stmt: Stmt) -> Stmt:
        if stmt in self.dead:
            return SeqStmts([], stmt.span)
        if isinstance(stmt, SeqStmts):
            out = [self.rebuilt(inner) for inner in stmt.stmts]
            if all(a is b for a, b in zip(out, stmt.stmts, strict=True)):
                return stmt
            return fold(out, stmt.trailing_comments, stmt.span)
        new = self.shrunk(stmt)
        gone = self.gone(stmt)
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
