"""NormalizedStmtStructure: bodies are in normal form."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.function import Program
from pypto.ir.verify.no_redundant_blocks import redundant_blocks


def verify_normalized_stmt_structure(program: Program) -> list[Diagnostic]:
    """Report what ``NoRedundantBlocks`` reports: one statement stands bare, several in one flat sequence."""
    return redundant_blocks(program, "NormalizedStmtStructure")
