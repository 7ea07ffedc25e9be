"""ArrayNotEscaped: arrays live and die inside one function."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.function import Program
from pypto.ir.stmt import ReturnStmt
from pypto.ir.types import ArrayType
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import statements


def verify_array_not_escaped(program: Program) -> list[Diagnostic]:
    """Report parameters and results of array type (``array-escapes``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("ArrayNotEscaped", function)
        for param in function.params:
            if isinstance(param.type, ArrayType):
                findings.add("array-escapes", f"the parameter {param.name_hint!r} is an array", param.span)
        for stmt in statements(function.body):
            if isinstance(stmt, ReturnStmt) and any(isinstance(value.type, ArrayType) for value in stmt.value):
                findings.add("array-escapes", "an array is returned", stmt.span)
        found += findings.items
    return found
