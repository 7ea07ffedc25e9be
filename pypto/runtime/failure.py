"""From a Python exception under generated code to the statement of the program that failed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from pypto.diagnostics import Error, InternalError
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, EvalStmt, ForStmt, IfStmt, ReturnStmt, Stmt, WhileStmt, YieldStmt
from pypto.runtime.errors import LateWriteFailed, PoisonError, PoisonUseError, Refusal, RunError
from pypto.runtime.operators import OperatorFailed, describe_values
from pypto.runtime.units import unit_of_file
from pypto.runtime.values import PoisonScalar

if TYPE_CHECKING:
    from pypto.runtime.compile import CompiledFunction

Where: TypeAlias = "tuple[CompiledFunction, Stmt, FrameType]"


def _places(traceback: TracebackType | None) -> Iterator[Where]:
    while traceback is not None:
        unit = unit_of_file(traceback.tb_frame.f_code.co_filename)
        if unit is not None:
            stmt = unit.statement_at(traceback.tb_lineno)
            if stmt is not None:
                yield unit, stmt, traceback.tb_frame
        traceback = traceback.tb_next


def run_error(error: Exception) -> RunError | InternalError:
    """The error to show for an exception that came out of generated code."""
    if isinstance(error, RunError | InternalError):
        return error
    places = list(_places(error.__traceback__))
    where = places[-1] if places else None
    operator: str | None = None
    operands = ""
    cause: Exception = error
    late = cause.statement if isinstance(cause, LateWriteFailed) else None
    if isinstance(cause, LateWriteFailed):
        where, cause = None, cause.cause
    while isinstance(cause, OperatorFailed):
        operator, operands, cause = cause.operator, cause.operands, cause.cause
    if isinstance(cause, RunError | InternalError):
        return cause
    span = _span(where) if late is None else late.span
    statement = where[1] if where else late
    if isinstance(cause, PoisonUseError):
        return _poison_use(where, operator, span)
    if isinstance(cause, Refusal):
        text = cause.message if operator is None or cause.message.startswith(operator) else f"{operator}: {cause.message}"
        return RunError(text, span, cause.hint, _note(where, operands), statement=statement, operator=operator)
    if isinstance(cause, Error):
        message = cause.message
        if operator is not None and not message.startswith(operator):
            message = f"{operator}: {message}"
        return RunError(message, span, cause.hint, _note(where, operands), statement=statement, operator=operator)
    if operator is None and where is not None:
        operator, operands = _direct_call(where)
    if operator is not None:
        return RunError(
            f"{operator} failed on {operands}: {cause}", span, note=_note(where, ""), statement=statement, operator=operator
        )
    if isinstance(cause, UnboundLocalError | NameError):
        variable = _unbound(where, str(cause))
        if variable is not None:
            return RunError(
                f"{variable!r} has no value here",
                span,
                "on the way taken through the program nothing was assigned to it",
                _note(where, ""),
                statement=statement,
            )
    if isinstance(cause, ZeroDivisionError):
        return RunError("division by zero", span, note=_note(where, ""), statement=statement)
    if isinstance(cause, ValueError) and isinstance(statement, ForStmt):
        return RunError("the step of a loop is zero", span, note=_note(where, ""), statement=statement)
    if isinstance(cause, RecursionError):
        return RunError("functions call one another without end", span, note=_note(where, ""), statement=statement)
    if isinstance(cause, MemoryError):
        return RunError(f"out of memory: {cause}", span, note=_note(where, ""), statement=statement)
    internal = InternalError(f"generated code failed: {type(cause).__name__}: {cause}", span)
    internal.__cause__ = error
    return internal


def _span(where: Where | None) -> Any:
    if where is None:
        return None
    unit, stmt, _ = where
    if stmt.span.is_valid():
        return stmt.span
    for child in _expressions(stmt):
        if child.span.is_valid():
            return child.span
    return unit.function.span


def _note(where: Where | None, operands: str) -> str | None:
    parts = [f"in function {where[0].function.name!r}"] if where else []
    if where is not None and isinstance(where[1], AssignStmt):
        parts.append(f"computing {where[1].var.name_hint!r}")
    if operands:
        parts.append(f"with operands {operands}")
    return ", ".join(parts) or None


def _expressions(stmt: Stmt) -> list[Expr]:
    """The expressions that a statement itself computes."""
    if isinstance(stmt, AssignStmt):
        return [stmt.value]
    if isinstance(stmt, EvalStmt):
        return [stmt.expr]
    if isinstance(stmt, IfStmt | WhileStmt):
        return [stmt.condition]
    if isinstance(stmt, ForStmt):
        return [stmt.start, stmt.stop, stmt.step]
    if isinstance(stmt, ReturnStmt | YieldStmt):
        return [*stmt.value]
    return []


def _direct_call(where: Where) -> tuple[str | None, str]:
    """Name and operands of the NumPy function that a statement is."""
    unit, stmt, frame = where
    known = unit.direct_calls.get(stmt)
    if known is None:
        calls = [n for e in _expressions(stmt) for n in walk(e) if isinstance(n, Call) and not n.op.is_function]
        return (calls[0].op.name, "its operands") if calls else (None, "")
    name, texts = known
    scope = {**unit.shared, **frame.f_locals}
    return name, describe_values([scope.get(t, t) for t in texts])


def _poison_use(where: Where | None, operator: str | None, span: Any) -> PoisonError:
    variable = None
    what = "a value"
    statement = None
    if where is not None:
        unit, statement, frame = where
        for expr in _expressions(statement):
            for node in walk(expr):
                if isinstance(node, Var) and type(frame.f_locals.get(unit.names.get(node, ""))) is PoisonScalar:
                    variable = variable or node.name_hint
        if isinstance(statement, IfStmt | WhileStmt):
            what = "a condition"
        elif isinstance(statement, ForStmt):
            what = "a loop bound"
        elif operator is not None:
            what = f"an index or extent of {operator}"
    named = f"{variable!r}" if variable else "what was read"
    return PoisonError(
        f"{what} depends on poison: {named} comes from elements that were never written",
        span=span,
        note=_note(where, ""),
        hint="write the elements before they are read",
        variable=variable,
        statement=statement,
        operator=operator,
    )


def _unbound(where: Where | None, text: str) -> str | None:
    found = re.search(r"'(\w+)'", text)
    if where is None or found is None:
        return None
    for var, name in where[0].names.items():
        if name == found.group(1):
            return var.name_hint
    return None
