"""SSAForm: one definition for each variable, values of regions through yields, no use outside the region of the definition."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import Diagnostic
from pypto.ir.expr import IterArg, MemRef, Var, WindowBuffer
from pypto.ir.function import Function, Program
from pypto.ir.span import Span
from pypto.ir.stmt import ForStmt, IfStmt, ScopeStmt, SeqStmts, Stmt, WhileStmt, YieldStmt, flatten_to_stmts
from pypto.ir.verify.report import Findings, SSAErrorType
from pypto.ir.verify.walk import TERMINATORS, bodies, defined, final, final_yield, held, nodes


def verify_ssa_form(program: Program) -> list[Diagnostic]:
    """Check every function; see the codes ``ssa-*``."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        found += _Checker(function).run()
    return found


class _Checker:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.findings = Findings("SSAForm", function)
        self.places: dict[Var, Span] = {}
        self.visible: set[Var] = set()
        self.hidden: set[Var] = set()

    def run(self) -> list[Diagnostic]:
        """All findings in order of the statements."""
        for param in self.function.params:
            self.define(param, param.span)
        self.block(self.function.body, None)
        return self.findings.items

    def define(self, var: Var, span: Span) -> None:
        """Note a definition; a second one of the same variable is reported with the place of the first."""
        if var in self.places:
            self.findings.add(
                "ssa-multiple-assignment",
                f"{var.name_hint!r} is assigned more than once",
                span,
                SSAErrorType.MULTIPLE_ASSIGNMENT,
                related=[(self.places[var], "first assigned here")],
            )
        else:
            self.places[var] = span
        self.visible.add(var)
        self.hidden.discard(var)

    def uses(self, stmt: Stmt) -> None:
        """Report uses of variables whose region has ended."""
        exprs = [*held(stmt), *(v.initValue for v in defined(stmt) if isinstance(v, IterArg))]
        for node in nodes(exprs):
            if isinstance(node, Var) and node in self.hidden and not isinstance(node, MemRef | WindowBuffer):
                self.findings.add(
                    "ssa-scope-violation",
                    f"{node.name_hint!r} is used outside the block that defines it",
                    stmt.span,
                    SSAErrorType.SCOPE_VIOLATION,
                    hint="yield it from the block",
                    related=[(self.places[node], "defined here")],
                )

    def block(self, body: Stmt, expected: int | None) -> list[Var]:
        """Check one block; ``expected`` is the number of yielded values, None outside of regions. Gives what it defines."""
        names: list[Var] = []
        stmts = flatten_to_stmts(body)
        for at, stmt in enumerate(stmts):
            if isinstance(stmt, YieldStmt):
                if expected is None:
                    self.findings.add(
                        "ssa-yield-outside", "a yield stands outside of a branch or loop", stmt.span, SSAErrorType.MISSING_YIELD
                    )
                elif at != len(stmts) - 1:
                    self.findings.add(
                        "ssa-yield-not-last",
                        "a yield must be the last statement of its body",
                        stmt.span,
                        SSAErrorType.MISSING_YIELD,
                        related=[(stmts[at + 1].span, "this statement follows it")],
                    )
            names += self.statement(stmt, expected if at == len(stmts) - 1 else None)
        return names

    def statement(self, stmt: Stmt, expected: int | None) -> list[Var]:
        if isinstance(stmt, IfStmt):
            self.uses(stmt)
            self.region(stmt.then_body, (), stmt.span)
            if stmt.else_body is not None:
                self.region(stmt.else_body, (), stmt.span)
            self.branch_yields(stmt)
            return self.results(stmt.return_vars, stmt.span)
        if isinstance(stmt, ForStmt | WhileStmt):
            own = [*stmt.iter_args, *([stmt.loop_var] if isinstance(stmt, ForStmt) else [])]
            if isinstance(stmt, WhileStmt):
                # the condition may read what the loop carries
                for var in own:
                    self.define(var, stmt.span)
                self.uses(stmt)
                self.region(stmt.body, own, stmt.span, defined_already=True)
            else:
                self.uses(stmt)
                self.region(stmt.body, own, stmt.span)
            self.loop_yields(stmt)
            return self.results(stmt.return_vars, stmt.span)
        self.uses(stmt)
        names = [*defined(stmt)]
        for var in names:
            self.define(var, stmt.span)
        if isinstance(stmt, ScopeStmt):
            names += self.block(stmt.body, expected)
        elif isinstance(stmt, SeqStmts):
            for inner in bodies(stmt):
                names += self.statement(inner, expected)
        return names

    def region(self, body: Stmt, own: Sequence[Var], span: Span, defined_already: bool = False) -> None:
        if not defined_already:
            for var in own:
                self.define(var, span)
        names = [*own, *self.block(body, 0)]
        self.visible.difference_update(names)
        self.hidden.update(names)

    def results(self, names: Sequence[Var], span: Span) -> list[Var]:
        for var in names:
            self.define(var, span)
        return [*names]

    def branch_yields(self, stmt: IfStmt) -> None:
        wanted = len(stmt.return_vars)
        branches = [("then", stmt.then_body), ("else", stmt.else_body)]
        for name, body in branches:
            if body is None:
                if wanted:
                    self.missing(f"the branch has {_results(wanted)} but no else body to yield them", stmt.span)
                continue
            self.count(f"the {name} branch", body, wanted, stmt.span, "the branch")

    def loop_yields(self, stmt: ForStmt | WhileStmt) -> None:
        carried, results = len(stmt.iter_args), len(stmt.return_vars)
        if carried != results:
            self.findings.add(
                "ssa-iter-args-return-vars-mismatch",
                f"the loop carries {carried} values but has {_results(results)}",
                stmt.span,
                SSAErrorType.ITER_ARGS_RETURN_VARS_MISMATCH,
            )
        self.count("the loop body", stmt.body, carried, stmt.span, "the loop", may_leave=False)

    def count(self, name: str, body: Stmt, wanted: int, span: Span, whole: str, may_leave: bool = True) -> None:
        last = final_yield(body)
        given = 0 if last is None else len(last.value)
        if last is None and wanted:
            if not (may_leave and isinstance(final(body), TERMINATORS)):
                self.missing(f"{name} must end in a yield of {wanted} values", span)
        elif given != wanted:
            assert last is not None
            self.findings.add(
                "ssa-yield-count-mismatch",
                f"{name} yields {given} values, {whole} has {_results(wanted)}",
                last.span if last.span.is_valid() else span,
                SSAErrorType.YIELD_COUNT_MISMATCH,
            )

    def missing(self, message: str, span: Span) -> None:
        self.findings.add("ssa-missing-yield", message, span, SSAErrorType.MISSING_YIELD)


def _results(count: int) -> str:
    return f"{count} result{'' if count == 1 else 's'}"
