"""StructuredCtrlFlow: no break and no continue is left."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.function import Program
from pypto.ir.stmt import BreakStmt, ContinueStmt
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import statements


def verify_structured_ctrl_flow(program: Program) -> list[Diagnostic]:
    """Report every break and continue (``unstructured-jump``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("StructuredCtrlFlow", function)
        for stmt in statements(function.body):
            if isinstance(stmt, BreakStmt | ContinueStmt):
                word = "break" if isinstance(stmt, BreakStmt) else "continue"
                findings.add("unstructured-jump", f"{word} is left in structured control flow", stmt.span)
        found += findings.items
    return found
