"""DistTensorCtxMaterialized: device code gets communication contexts as parameters."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.expr import Call
from pypto.ir.function import Program
from pypto.ir.types import CommCtxType
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import held, nodes, statements


def verify_dist_tensor_ctx(program: Program) -> list[Diagnostic]:
    """Report operators outside host orchestrators that look a communication context up (``comm-ctx-lookup``)."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        if function.is_host_orchestrator:
            continue
        findings = Findings("DistTensorCtxMaterialized", function)
        for stmt in statements(function.body):
            for node in nodes(held(stmt)):
                if isinstance(node, Call) and isinstance(node.type, CommCtxType) and not node.op.is_function:
                    text = f"{node.op.name} looks a communication context up, which only host orchestrators do"
                    findings.add("comm-ctx-lookup", text, node.span if node.span.is_valid() else stmt.span)
        found += findings.items
    return found
