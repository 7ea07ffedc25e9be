"""OutParamNotShadowed: the name of an output parameter is not given to a new tensor."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.enums import ParamDirection
from pypto.ir.expr import Call, Var
from pypto.ir.function import Program
from pypto.ir.op import DeclaredOp, find_op
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt
from pypto.ir.types import ShapedType
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import statements


def verify_out_param_not_shadowed(program: Program) -> list[Diagnostic]:
    """Report assignments to Out and InOut parameters of what an operator creates from nothing (``out-param-shadowed``).

    The result of an operator on the parameter (a store into it) may be assigned to it again.
    """
    found: list[Diagnostic] = []
    for function in program.functions.values():
        outputs: dict[Var, Span] = {
            param: param.span
            for param, direction in zip(function.params, function.param_directions, strict=True)
            if direction is not ParamDirection.In
        }
        findings = Findings("OutParamNotShadowed", function)
        for stmt in statements(function.body) if outputs else ():
            if isinstance(stmt, AssignStmt) and stmt.var in outputs and _creates(stmt):
                assert isinstance(stmt.value, Call)
                findings.add(
                    "out-param-shadowed",
                    f"the output parameter {stmt.var.name_hint!r} is replaced by a new tensor, so nothing reaches the caller",
                    stmt.span,
                    hint=f"write into it, or give the result of {stmt.value.op.name} another name",
                    related=[(outputs[stmt.var], "the parameter")],
                )
        found += findings.items
    return found


def _creates(stmt: AssignStmt) -> bool:
    call = stmt.value
    if not isinstance(call, Call) or call.op.is_function or not isinstance(call.type, ShapedType):
        return False
    op = call.op if isinstance(call.op, DeclaredOp) else find_op(call.op.name)
    if op is None or op.alias_index is not None:
        return False
    return not any(isinstance(arg.type, ShapedType) for arg in call.args)
