"""NoRedundantBlocks: no sequence of statements directly in another, and none of exactly one statement."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.function import Program
from pypto.ir.stmt import SeqStmts
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import statements


def verify_no_redundant_blocks(program: Program) -> list[Diagnostic]:
    """Report nested sequences (``nested-block``) and sequences of one (``single-statement-block``)."""
    return redundant_blocks(program, "NoRedundantBlocks")


def redundant_blocks(program: Program, rule_name: str) -> list[Diagnostic]:
    """The check under the name of a property that includes it."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings(rule_name, function)
        for stmt in statements(function.body):
            if not isinstance(stmt, SeqStmts):
                continue
            if len(stmt.stmts) == 1:
                place = stmt.span if stmt.span.is_valid() else stmt.stmts[0].span
                findings.add("single-statement-block", "a block of one statement must be that statement", place)
            for inner in stmt.stmts:
                if isinstance(inner, SeqStmts):
                    place = inner.span if inner.span.is_valid() or not inner.stmts else inner.stmts[0].span
                    findings.add("nested-block", "a block stands directly inside another", place)
        found += findings.items
    return found
