"""UnrollResolved: no loop is left to unroll."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.enums import ForKind
from pypto.ir.function import Program
from pypto.ir.stmt import ForStmt
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import statements


def verify_unroll_resolved(program: Program) -> list[Diagnostic]:
    """Report every loop of kind Unroll (``unroll-loop-left``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("UnrollResolved", function)
        for stmt in statements(function.body):
            if isinstance(stmt, ForStmt) and stmt.kind is ForKind.Unroll:
                findings.add("unroll-loop-left", f"the loop over {stmt.loop_var.name_hint!r} is still to unroll", stmt.span)
        found += findings.items
    return found
