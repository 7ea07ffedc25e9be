"""NoNestedCalls: a call stands in a statement of its own, not inside an argument, operator, condition or loop bound."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.diagnostics import Diagnostic
from pypto.ir.expr import BinaryExpr, Call, Expr, MakeTuple, Submit, TupleGetItemExpr, UnaryExpr
from pypto.ir.function import Program
from pypto.ir.span import Span
from pypto.ir.stmt import ForStmt, IfStmt
from pypto.ir.verify.report import Findings, NestedCallErrorType
from pypto.ir.verify.walk import held, nodes, statements

_WHERE = {
    NestedCallErrorType.CALL_IN_CALL_ARGS: "an argument of a call",
    NestedCallErrorType.CALL_IN_IF_CONDITION: "the condition of a branch",
    NestedCallErrorType.CALL_IN_FOR_RANGE: "the bounds of a loop",
    NestedCallErrorType.CALL_IN_BINARY_EXPR: "an operand of an operator",
    NestedCallErrorType.CALL_IN_UNARY_EXPR: "the operand of an operator",
}


def verify_no_nested_calls(program: Program) -> list[Diagnostic]:
    """Report each call that is nested, with the place of the call."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("NoNestedCalls", function)
        for stmt in statements(function.body):
            if isinstance(stmt, IfStmt):
                _direct([stmt.condition], NestedCallErrorType.CALL_IN_IF_CONDITION, findings, stmt.span)
            elif isinstance(stmt, ForStmt):
                bounds = [stmt.start, stmt.stop, stmt.step]
                _direct(bounds, NestedCallErrorType.CALL_IN_FOR_RANGE, findings, stmt.span)
            for node in nodes(held(stmt)):
                if isinstance(node, Call | Submit):
                    _direct(node.args, NestedCallErrorType.CALL_IN_CALL_ARGS, findings, stmt.span)
                elif isinstance(node, BinaryExpr):
                    _direct([node.left, node.right], NestedCallErrorType.CALL_IN_BINARY_EXPR, findings, stmt.span)
                elif isinstance(node, UnaryExpr):
                    _direct([node.operand], NestedCallErrorType.CALL_IN_UNARY_EXPR, findings, stmt.span)
        found += findings.items
    return found


def _direct(exprs: Iterable[Expr], error: NestedCallErrorType, findings: Findings, span: Span) -> None:
    stack = list(exprs)
    stack.reverse()
    while stack:
        expr = stack.pop()
        if isinstance(expr, Call | Submit):
            code = "nested-" + error.name.lower().replace("_", "-")
            place = expr.span if expr.span.is_valid() else span
            findings.add(code, f"a call of {expr.op.name} stands in {_WHERE[error]}", place, error)
        elif isinstance(expr, MakeTuple):
            stack.extend(reversed(expr.elements))
        elif isinstance(expr, TupleGetItemExpr):
            stack.append(expr.tuple)
