"""IncoreTileOps: kernels compute on tiles."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.enums import is_incore_type
from pypto.ir.expr import Call
from pypto.ir.function import Program
from pypto.ir.op import DeclaredOp, find_op
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import held, nodes, statements


def verify_incore_tile_ops(program: Program) -> list[Diagnostic]:
    """Report calls, inside kernels, of operators that declare a tile form (``tensor-op-in-kernel``); pure views may stay."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        if not is_incore_type(function.func_type):
            continue
        findings = Findings("IncoreTileOps", function)
        for stmt in statements(function.body):
            for node in nodes(held(stmt)):
                if not isinstance(node, Call) or node.op.is_function:
                    continue
                op = node.op if isinstance(node.op, DeclaredOp) else find_op(node.op.name)
                if op is not None and op.tile_form is not None and op.alias_index is None:
                    findings.add(
                        "tensor-op-in-kernel",
                        f"{op.name} computes on tensors inside a kernel",
                        node.span if node.span.is_valid() else stmt.span,
                        hint=f"inside a kernel it is {op.tile_form}",
                    )
        found += findings.items
    return found
