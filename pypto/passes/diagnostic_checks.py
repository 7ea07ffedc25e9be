"""Checks that warn about a program without stopping it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pypto.diagnostics import Diagnostic
from pypto.ir.enums import ArgEffect
from pypto.ir.expr import Call, Expr, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import Node, walk
from pypto.ir.op import DeclaredOp
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, WhileStmt
from pypto.passes.rewrite import used_vars
from pypto.passes.settings import DiagnosticCheck, DiagnosticCheckSet, DiagnosticPhase

_Check = Callable[[Function, set[Var]], Iterator[Diagnostic]]


def has_effect(value: Expr) -> bool:
    """True when evaluating an expression may do more than give a value: it calls a function, or an operator that writes."""
    for node in walk(value):
        if isinstance(node, Submit):
            return True
        if isinstance(node, Call):
            op = node.op
            if not isinstance(op, DeclaredOp):
                return True
            effects = (op.arg_effect(index, node.kwargs, len(node.args)) for index in range(len(node.args)))
            if any(effect in (ArgEffect.Write, ArgEffect.ReadWrite) for effect in effects):
                return True
    return False


def _unused_variables(function: Function, used: set[Var]) -> Iterator[Diagnostic]:
    for node in walk(function.body):
        if isinstance(node, AssignStmt) and _is_unused(node.var, used) and not has_effect(node.value):
            yield _warning("unused-variable", f"variable {node.var.name_hint!r} is assigned but never used", node)


def _unused_results(function: Function, used: set[Var]) -> Iterator[Diagnostic]:
    for node in walk(function.body):
        if isinstance(node, IfStmt | ForStmt | WhileStmt):
            for var in node.return_vars:
                if _is_unused(var, used):
                    kind = "branch" if isinstance(node, IfStmt) else "loop"
                    message = f"the {kind} result {var.name_hint!r} is never used"
                    yield _warning("unused-control-flow-result", message, node)


def _is_unused(var: Var, used: set[Var]) -> bool:
    return var not in used and not var.name_hint.startswith("_")


def _warning(code: str, message: str, node: Node) -> Diagnostic:
    return Diagnostic(code, message, node.span if node.span.is_valid() else None, severity="warning")


_CHECKS: dict[DiagnosticCheck, _Check] = {
    DiagnosticCheck.UnusedVariable: _unused_variables,
    DiagnosticCheck.UnusedControlFlowResult: _unused_results,
}


class DiagnosticCheckRegistry:
    """The warning checks by name."""

    @staticmethod
    def get_warning_checks() -> DiagnosticCheckSet:
        """The checks that warn of likely mistakes."""
        return DiagnosticCheckSet(_CHECKS)

    @staticmethod
    def get_perf_hint_checks() -> DiagnosticCheckSet:
        """The checks that hint at slow code; there are none, since nothing here models the speed of the hardware."""
        return DiagnosticCheckSet()

    @staticmethod
    def get_all_checks() -> DiagnosticCheckSet:
        """Every check."""
        return DiagnosticCheckSet(_CHECKS)

    @staticmethod
    def run_checks(checks: DiagnosticCheckSet, phase: DiagnosticPhase, program: Program) -> list[Diagnostic]:
        """The findings of the checks on a program, function by function; none in phase NONE."""
        if phase is DiagnosticPhase.NONE:
            return []
        found: list[Diagnostic] = []
        for function in program.functions.values():
            used = used_vars(function)
            for check in checks:
                if check in _CHECKS:
                    found += _CHECKS[check](function, used)
        return found
