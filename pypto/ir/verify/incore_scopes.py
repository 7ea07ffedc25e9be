"""SplitIncoreOrch and NoNestedInCore: where kernel regions may still stand."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.function import Program
from pypto.ir.stmt import InCoreScopeStmt, Stmt
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import bodies, statements


def verify_split_incore_orch(program: Program) -> list[Diagnostic]:
    """Report every InCore scope that is not a function of its own yet (``incore-scope-left``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("SplitIncoreOrch", function)
        for stmt in statements(function.body):
            if isinstance(stmt, InCoreScopeStmt):
                findings.add("incore-scope-left", "an InCore scope is left in the function", stmt.span)
        found += findings.items
    return found


def verify_no_nested_incore(program: Program) -> list[Diagnostic]:
    """Report every InCore scope inside another (``nested-incore-scope``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("NoNestedInCore", function)
        stack: list[tuple[Stmt, bool]] = [(function.body, False)]
        while stack:
            stmt, inside = stack.pop()
            own = isinstance(stmt, InCoreScopeStmt)
            if own and inside:
                findings.add("nested-incore-scope", "an InCore scope stands inside another", stmt.span)
            stack.extend((body, inside or own) for body in reversed(list(bodies(stmt))))
        found += findings.items
    return found
