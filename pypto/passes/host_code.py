"""What the passes over host orchestrators share: which functions they are about, and the calls that they look for."""

from __future__ import annotations

from collections.abc import Iterator

from pypto.diagnostics import InvalidValueError
from pypto.ir.enums import FunctionType, Level, Role
from pypto.ir.expr import Call, Expr
from pypto.ir.function import Function
from pypto.ir.node import walk
from pypto.ir.span import Span
from pypto.ir.stmt import Stmt
from pypto.ops.declare import Declaration


class HostProgramError(InvalidValueError):
    """A host orchestrator that cannot be lowered: its windows, devices or collectives do not fit together."""

    code = "host-program"


def is_host_orchestrator(function: Function) -> bool:
    """True for the functions that run on the host and give work to devices."""
    return function.is_host_orchestrator


def is_chip_orchestrator(function: Function) -> bool:
    """True for the functions that run on a device and give work to kernels; those that are recorded as graphs are not meant."""
    orchestrates = function.func_type is FunctionType.Orchestration or function.role is Role.Orchestrator
    return function.level is Level.CHIP and orchestrates and function.func_type is not FunctionType.Graph


def collective_of(expr: Expr) -> Declaration | None:
    """The declaration of a collective that is called, None for every other expression."""
    if isinstance(expr, Call) and isinstance(expr.op, Declaration) and expr.op.collective:
        return expr.op
    return None


def calls_in(expr: Expr) -> Iterator[Call]:
    """Every call in an expression, itself included, operands before the calls that take them."""
    found = [node for node in walk(expr) if isinstance(node, Call)]
    found.reverse()
    return iter(found)


def place_of(expr: Expr, stmt: Stmt) -> Span:
    """Where an expression stands, as well as it is known."""
    return expr.span if expr.span.is_valid() else stmt.span
