"""UnrollLoops: one copy of the body for each value of the loop variable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.enums import ForKind
from pypto.ir.expr import ConstInt, Expr, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, ForStmt, Stmt, YieldStmt, flatten_to_stmts
from pypto.ir.types import ScalarType
from pypto.ir.visitor import IRMutator
from pypto.passes.base import FunctionPass
from pypto.passes.convert_to_ssa.liveness import vars_to_rename
from pypto.passes.loops import constant_int, constant_range
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import Renamer, comment, defined_vars, definitions, edit_end, fold, listed, statements

MOST_COPIES = 1 << 16
"""More iterations than this are refused: the program would not fit."""


@register_pass
@dataclass(frozen=True)
class UnrollLoops(FunctionPass):
    """Replace each Unroll loop by copies of its body, one for each value of the loop variable.

    Bounds and step must be constants and the step not zero. A function in SSA form stays in it.
    """

    PRODUCED = (IRProperty.UnrollResolved,)

    def transform_function(self, function: Function, program: Program) -> Function:
        if not any(isinstance(s, ForStmt) and s.kind is ForKind.Unroll for s in statements(function.body)):
            return function
        in_ssa = not vars_to_rename(function)
        return function.replace(body=_Unroller(in_ssa, _occurrences(function.body, function.params)).visit_stmt(function.body))


class _Unroller(IRMutator):
    def __init__(self, in_ssa: bool, counts: Mapping[Var, int]) -> None:
        self.in_ssa = in_ssa
        self.counts = counts

    def visit_expr(self, op: Expr) -> Expr:
        return op

    def visit_for_stmt(self, op: ForStmt) -> Stmt:
        if op.kind is not ForKind.Unroll:
            return super().visit_for_stmt(op)
        values = unroll_values(op)
        inner = op.replace(body=self.visit_stmt(op.body))
        return _Copies(inner, self.in_ssa, self.counts).all(values)


def _occurrences(body: Stmt, params: Sequence[Var] = ()) -> Counter[Var]:
    """How often each variable occurs."""
    return Counter([*params, *[node for node in walk(body) if isinstance(node, Var)]])


def _bound_inside(body: Stmt, counts: Mapping[Var, int]) -> set[Var]:
    """Variables of loops and branches inside the body that occur nowhere else: each copy has its own, as each loop and branch of a program
    has. Variables that the body merely assigns stay the same."""
    inside = _occurrences(body)
    made = [var for stmt in statements(body) for var in definitions(stmt)]
    assigned = {stmt.var for stmt in flatten_to_stmts(body) if isinstance(stmt, AssignStmt)}
    structured = {var for stmt in statements(body) if not isinstance(stmt, AssignStmt) for var in definitions(stmt)}
    return {v for v in made if counts.get(v, inside[v]) == inside[v] and (v not in assigned or v in structured)}


def unroll_values(loop: ForStmt) -> range:
    """The values of the loop variable of a loop that is to be unrolled.

    Raises:
        InvalidValueError: a bound or the step is not a constant, the step is zero, or there are too many values.
    """
    for name in ("start", "stop", "step"):
        expr: Expr = getattr(loop, name)
        if constant_int(expr) is None:
            span = expr.span if expr.span.is_valid() else loop.span
            raise InvalidValueError(
                f"the {name} of an unrolled loop must be a constant", span, "use pl.range for a loop with other bounds"
            )
    if constant_int(loop.step) == 0:
        raise InvalidValueError("the step of an unrolled loop must not be 0", loop.span)
    values = constant_range(loop)
    assert values is not None
    count = max(0, -(-(values.stop - values.start) // values.step))
    if count > MOST_COPIES:
        raise InvalidValueError(
            f"an unrolled loop of {count} iterations is too long, at most {MOST_COPIES} are allowed",
            loop.span,
            "use pl.range",
        )
    return values


class _Copies:
    """The copies of one loop body. ``counts`` says how often each variable occurs in the function as it was."""

    def __init__(self, loop: ForStmt, in_ssa: bool, counts: Mapping[Var, int]) -> None:
        self.loop = loop
        own = set(defined_vars(loop.body))
        self.renewed = own if in_ssa else _bound_inside(loop.body, counts)
        self.rebinds = loop.loop_var in own

    def all(self, values: Sequence[int]) -> Stmt:
        loop = self.loop
        carried: list[Expr] = [arg.initValue for arg in loop.iter_args]
        out: list[Stmt] = []
        for value in values:
            copy, carried = self.one(value, carried)
            out += listed(copy)
        out += [AssignStmt(var, value, loop.span) for var, value in zip(loop.return_vars, carried, strict=True)]
        return fold([*comment(loop.leading_comments), *out], loop.trailing_comments, loop.span)

    def one(self, value: int, carried: list[Expr]) -> tuple[Stmt, list[Expr]]:
        loop = self.loop
        type_ = loop.loop_var.type
        assert isinstance(type_, ScalarType)
        constant = ConstInt(value, type_.dtype, loop.span)
        stands: dict[Var, Expr] = dict(zip(loop.iter_args, carried, strict=True))
        before: list[Stmt] = []
        if self.rebinds:
            before = [AssignStmt(loop.loop_var, constant, loop.span)]
        else:
            stands[loop.loop_var] = constant
        renamer = Renamer(stands, self.renewed.__contains__, copies=True)
        body: Any = renamer.visit_stmt(loop.body)
        handed_on: list[Expr] = []

        def take(old: YieldStmt | None) -> Sequence[Stmt]:
            handed_on.extend(() if old is None else old.value)
            return []

        if loop.iter_args:
            body = edit_end(body, take)
        return fold([*before, body]) if before else body, handed_on
