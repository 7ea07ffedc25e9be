"""UseAfterDef: on every path a definition comes before the use."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.expr import ConstInt, Expr, IterArg, MemRef, Var, WindowBuffer
from pypto.ir.function import Function, Program
from pypto.ir.span import Span
from pypto.ir.stmt import (
    BreakStmt,
    CommDomainScopeStmt,
    ContinueStmt,
    ForStmt,
    IfStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
)
from pypto.ir.type_parts import is_closed, type_expressions
from pypto.ir.types import ShapedType, Type
from pypto.ir.verify.report import Findings, UseAfterDefErrorType
from pypto.ir.verify.walk import TERMINATORS, bodies, defined, final, held, nodes, statements

SCOPE_RESULT = "task_id_var"
"""The scope attribute that holds a variable which the scope defines."""


def verify_use_after_def(program: Program) -> list[Diagnostic]:
    """Check every function. Variables that only occur in types (dynamic dimensions) need no definition."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        found += _Checker(function).run()
    return found


class _Checker:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.findings = Findings("UseAfterDef", function)
        self.defined: set[Var] = set()
        self.trail: list[Var] = []
        # one finding for each variable of a statement
        self.reported: set[Var] = set()
        self.somewhere: set[Var] = {*function.params}

    def run(self) -> list[Diagnostic]:
        """All findings in order of the statements."""
        for stmt in statements(self.function.body):
            self.somewhere.update(defined(stmt))
            if isinstance(stmt, ScopeStmt):
                self.somewhere.update(_scope_results(stmt))
        for param in self.function.params:
            self.define(param)
            for var in nodes(type_expressions(param.type)):
                if isinstance(var, Var) and var not in self.somewhere:
                    self.define(var)
        for expr in _attribute_exprs(self.function):
            self.use([expr], self.function.span)
        for type_ in self.function.return_types:
            self.use_type(type_, self.function.span)
        self.statement(self.function.body)
        return self.findings.items

    def define(self, var: Var) -> None:
        if var not in self.defined:
            self.defined.add(var)
            self.trail.append(var)

    def close(self, mark: int) -> list[Var]:
        """Forget what was defined since ``mark`` and give it."""
        names = self.trail[mark:]
        del self.trail[mark:]
        self.defined.difference_update(names)
        return names

    def use(self, exprs: list[Expr], span: Span) -> None:
        for node in nodes(exprs):
            if isinstance(node, Var):
                if node not in self.defined and not isinstance(node, MemRef | WindowBuffer):
                    self.report(node, span)
            elif not is_closed(node.type):
                self.use_type(node.type, span)

    def use_type(self, type_: Type, span: Span) -> None:
        """Variables of a type must be defined before when they are defined at all."""
        if is_closed(type_):
            return
        for node in nodes(type_expressions(type_)):
            if isinstance(node, Var) and node in self.somewhere and node not in self.defined:
                self.report(node, span)

    def report(self, var: Var, span: Span) -> None:
        if var in self.reported:
            return
        self.reported.add(var)
        if var in self.somewhere:
            message = f"{var.name_hint!r} is used where it is not defined on every path"
        else:
            message = f"{var.name_hint!r} is used but never defined"
        self.findings.add("use-after-def", message, span, UseAfterDefErrorType.USE_BEFORE_DEF)

    def statement(self, stmt: Stmt) -> None:
        self.reported = set()
        if isinstance(stmt, SeqStmts):
            for inner in stmt.stmts:
                self.statement(inner)
        elif isinstance(stmt, IfStmt):
            self.use([*held(stmt)], stmt.span)
            self.branch(stmt)
            self.results(stmt)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self.loop(stmt)
            self.results(stmt)
        elif isinstance(stmt, ScopeStmt):
            self.scope(stmt)
        else:
            self.use([*held(stmt)], stmt.span)
            for var in defined(stmt):
                self.use_type(var.type, stmt.span)
                self.define(var)

    def results(self, stmt: IfStmt | ForStmt | WhileStmt) -> None:
        for var in stmt.return_vars:
            self.use_type(var.type, stmt.span)
            self.define(var)

    def branch(self, stmt: IfStmt) -> None:
        mark = len(self.trail)
        self.statement(stmt.then_body)
        first = self.close(mark)
        second: list[Var] = []
        if stmt.else_body is not None:
            self.statement(stmt.else_body)
            second = self.close(mark)
        # a branch that leaves says nothing of what comes after
        if isinstance(final(stmt.then_body), TERMINATORS):
            merged = second
        elif stmt.else_body is not None and isinstance(final(stmt.else_body), TERMINATORS):
            merged = first
        else:
            both = set(second)
            merged = [var for var in first if var in both]
        for var in merged:
            self.define(var)

    def loop(self, stmt: ForStmt | WhileStmt) -> None:
        exprs = [*held(stmt)] if isinstance(stmt, ForStmt) else []
        self.use([*exprs, *(arg.initValue for arg in stmt.iter_args)], stmt.span)
        mark = len(self.trail)
        if isinstance(stmt, ForStmt):
            self.define(stmt.loop_var)
        for arg in stmt.iter_args:
            self.use_type(arg.type, stmt.span)
            self.define(arg)
        if isinstance(stmt, WhileStmt):
            self.use([stmt.condition], stmt.span)
        self.statement(stmt.body)
        inside = self.close(mark)
        runs = isinstance(stmt, ForStmt) and _surely_runs(stmt)
        for var in inside:
            # a tile or tensor that only a loop assigns is unwritten when the loop does not run; a scalar would be nothing at all
            if not isinstance(var, IterArg) and (runs or isinstance(var.type, ShapedType)):
                self.define(var)

    def scope(self, stmt: ScopeStmt) -> None:
        results = _scope_results(stmt)
        self.use([expr for expr in held(stmt) if expr not in results and not isinstance(expr, WindowBuffer)], stmt.span)
        for var in results:
            self.define(var)
        if isinstance(stmt, CommDomainScopeStmt):
            for slot in stmt.slots:
                self.define(slot)
        for body in bodies(stmt):
            self.statement(body)


def _scope_results(stmt: ScopeStmt) -> set[Var]:
    value = stmt.attrs.get(SCOPE_RESULT)
    return {value} if isinstance(value, Var) else set()


def _surely_runs(stmt: ForStmt) -> bool:
    start, stop, step = stmt.start, stmt.stop, stmt.step
    if not (isinstance(start, ConstInt) and isinstance(stop, ConstInt) and isinstance(step, ConstInt)):
        return False
    if step.value == 0 or len(range(start.value, stop.value, step.value)) == 0:
        return False
    return not any(isinstance(inner, BreakStmt | ContinueStmt) for inner in statements(stmt.body))


def _attribute_exprs(function: Function) -> list[Expr]:
    return [value for value in function.attrs.values() if isinstance(value, Expr)]
