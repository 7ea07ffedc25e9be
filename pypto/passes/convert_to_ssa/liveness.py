"""Which variables of a function are not in SSA form, and what each statement does to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from pypto.ir.expr import Var
from pypto.ir.function import Function
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, ScopeStmt, SeqStmts, Stmt, WhileStmt
from pypto.passes.loops import constant_range
from pypto.passes.rewrite import add_uses, bodies, definitions


def vars_to_rename(function: Function) -> set[Var]:
    """The variables with several definitions, and those read where their one definition does not dominate."""
    scan = _Scan()
    for param in function.params:
        scan.define(param)
    scan.block(function.body)
    return scan.several | {var for var in scan.read_outside if var in scan.defined}


class _Scan:
    """One walk over a function with the variables that are visible at each point."""

    def __init__(self) -> None:
        self.defined: set[Var] = set()
        self.several: set[Var] = set()
        self.read_outside: set[Var] = set()
        self.visible: set[Var] = set()
        self.opened: list[list[Var]] = [[]]

    def define(self, var: Var) -> None:
        if var in self.defined:
            self.several.add(var)
        self.defined.add(var)
        if var not in self.visible:
            self.visible.add(var)
            self.opened[-1].append(var)

    def read(self, stmt: Stmt) -> None:
        uses: set[Var] = set()
        add_uses(stmt, uses)
        uses -= self.visible
        if uses and not isinstance(stmt, AssignStmt):
            # The type of one result or carried value may mention another of the same statement.
            uses.difference_update(definitions(stmt))
        self.read_outside |= uses

    def open(self) -> None:
        self.opened.append([])

    def close(self) -> None:
        self.visible.difference_update(self.opened.pop())

    def block(self, stmt: Stmt) -> None:
        if isinstance(stmt, SeqStmts):
            for inner in stmt.stmts:
                self.block(inner)
        elif isinstance(stmt, IfStmt):
            self.read(stmt)
            for body in bodies(stmt):
                self.open()
                self.block(body)
                self.close()
            self._results(stmt)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self._loop(stmt)
        else:
            self.read(stmt)
            for var in definitions(stmt):
                self.define(var)
            for body in bodies(stmt):
                self.block(body)

    def _loop(self, stmt: ForStmt | WhileStmt) -> None:
        self.open()
        if isinstance(stmt, ForStmt):
            self.read(stmt)
            self.define(stmt.loop_var)
        for arg in stmt.iter_args:
            self.define(arg)
        if isinstance(stmt, WhileStmt):
            self.read(stmt)
        self.block(stmt.body)
        self.close()
        self._results(stmt)

    def _results(self, stmt: IfStmt | ForStmt | WhileStmt) -> None:
        for var in stmt.return_vars:
            self.define(var)


@dataclass
class Effect:
    """What a statement does to the variables in question: those it may read before it writes them, surely writes, may write."""

    exposed: set[Var] = field(default_factory=set[Var])
    killed: set[Var] = field(default_factory=set[Var])
    assigned: set[Var] = field(default_factory=set[Var])


class Effects:
    """The effects of all statements of a function on some variables."""

    def __init__(self, renamed: set[Var]) -> None:
        self.renamed = renamed
        self._known: dict[Stmt, Effect] = {}
        self._loop_exposed: dict[Stmt, set[Var]] = {}

    def of(self, stmt: Stmt) -> Effect:
        """The effect of one statement; computed once for those that hold others."""
        known = self._known.get(stmt)
        if known is not None:
            return known
        if isinstance(stmt, SeqStmts):
            effect = self._sequence(stmt)
        elif isinstance(stmt, IfStmt):
            effect = self._branch(stmt)
        elif isinstance(stmt, ForStmt | WhileStmt):
            effect = self._loop(stmt)
        elif isinstance(stmt, ScopeStmt):
            inner = self.of(stmt.body)
            effect = Effect(self.reads(stmt) | inner.exposed, inner.killed, inner.assigned)
        else:
            written = {stmt.var} & self.renamed if isinstance(stmt, AssignStmt) else set[Var]()
            return Effect(self.reads(stmt), written, written)
        self._known[stmt] = effect
        return effect

    def loop_exposed(self, stmt: ForStmt | WhileStmt) -> set[Var]:
        """The variables that an iteration (the condition of a while included) may read before it writes them."""
        self.of(stmt)
        return self._loop_exposed[stmt]

    def reads(self, stmt: Stmt) -> set[Var]:
        """The variables that the own operands of a statement read."""
        uses: set[Var] = set()
        add_uses(stmt, uses)
        return uses & self.renamed

    def _sequence(self, stmt: SeqStmts) -> Effect:
        whole = Effect()
        for inner in reversed(stmt.stmts):
            effect = self.of(inner)
            whole.exposed -= effect.killed
            whole.exposed |= effect.exposed
            whole.killed |= effect.killed
            whole.assigned |= effect.assigned
        return whole

    def _branch(self, stmt: IfStmt) -> Effect:
        then = self.of(stmt.then_body)
        other = Effect() if stmt.else_body is None else self.of(stmt.else_body)
        results = self.renamed.intersection(stmt.return_vars)
        return Effect(
            self.reads(stmt) | then.exposed | other.exposed,
            (then.killed & other.killed) | results,
            then.assigned | other.assigned | results,
        )

    def _loop(self, stmt: ForStmt | WhileStmt) -> Effect:
        body = self.of(stmt.body)
        results = self.renamed.intersection(stmt.return_vars)
        reads = self.reads(stmt)
        exposed = set(body.exposed)
        assigned = body.assigned | results
        if isinstance(stmt, ForStmt):
            assigned |= self.renamed.intersection((stmt.loop_var,))
            exposed.discard(stmt.loop_var)
            if constant_range(stmt):
                results = results | body.killed | self.renamed.intersection((stmt.loop_var,))
        else:
            condition: set[Var] = set()
            add_uses(stmt.condition, condition)
            exposed |= condition & self.renamed
        exposed.difference_update(stmt.iter_args)
        self._loop_exposed[stmt] = exposed
        return Effect(exposed | (reads - set(stmt.iter_args)), results, assigned)
