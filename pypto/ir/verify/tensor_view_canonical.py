"""TensorViewCanonical: the views of tensors are in canonical form."""

from __future__ import annotations

from collections.abc import Iterator

from pypto.diagnostics import Diagnostic
from pypto.ir.expr import Var
from pypto.ir.function import Function, Program
from pypto.ir.span import Span
from pypto.ir.tensor_view_semantics import check_canonical_view
from pypto.ir.types import TensorType
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import defined, statements


def verify_tensor_view_canonical(program: Program, require_materialized: bool = False) -> list[Diagnostic]:
    """Report views that are not canonical (``tensor-view``); ``require_materialized`` also asks views for their strides."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        findings = Findings("TensorViewCanonical", function)
        for var, span in _variables(function):
            type_ = var.type
            if not isinstance(type_, TensorType):
                continue
            view = type_.tensor_view
            if view is not None and view.stride:
                ok, reason = check_canonical_view(type_.shape, view.stride, view.layout)
                if not ok:
                    findings.add("tensor-view", f"the view of {var.name_hint!r} is not canonical: {reason}", span)
            elif require_materialized:
                findings.add("tensor-view", f"the view of {var.name_hint!r} states no strides", span)
        found += findings.items
    return found


def _variables(function: Function) -> Iterator[tuple[Var, Span]]:
    for param in function.params:
        yield param, param.span
    for stmt in statements(function.body):
        for var in defined(stmt):
            yield var, stmt.span
