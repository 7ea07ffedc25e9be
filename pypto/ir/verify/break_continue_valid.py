"""BreakContinueValid: break and continue belong to a sequential or while loop."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.enums import ForKind
from pypto.ir.function import Program
from pypto.ir.stmt import BreakStmt, ContinueStmt, ForStmt, Stmt, WhileStmt
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import bodies


def verify_break_continue_valid(program: Program) -> list[Diagnostic]:
    """Report jumps outside of loops (``jump-outside-loop``) and in loops of other kinds (``jump-in-unordered-loop``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("BreakContinueValid", function)
        stack: list[tuple[Stmt, ForStmt | WhileStmt | None]] = [(function.body, None)]
        while stack:
            stmt, loop = stack.pop()
            if isinstance(stmt, BreakStmt | ContinueStmt):
                word = "break" if isinstance(stmt, BreakStmt) else "continue"
                if loop is None:
                    findings.add("jump-outside-loop", f"{word} outside of a loop", stmt.span)
                elif isinstance(loop, ForStmt) and loop.kind is not ForKind.Sequential:
                    message = f"{word} in a {loop.kind.name.lower()} loop; only sequential and while loops can be left"
                    findings.add("jump-in-unordered-loop", message, stmt.span)
            inner = stmt if isinstance(stmt, ForStmt | WhileStmt) else loop
            stack.extend((body, inner) for body in reversed(list(bodies(stmt))))
        found += findings.items
    return found
