"""InlineFunctionsEliminated: no inline function and no call of one is left."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.enums import FunctionType
from pypto.ir.function import Program
from pypto.ir.verify.report import Findings


def verify_inline_functions_eliminated(program: Program) -> list[Diagnostic]:
    """Report every function of type Inline (``inline-function-left``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        if function.func_type is FunctionType.Inline:
            findings = Findings("InlineFunctionsEliminated", function)
            findings.add("inline-function-left", f"the inline function {function.name!r} is left", function.span)
            found += findings.items
    return found
