"""CtrlFlowTransform: break and continue become branches and loop conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ForKind
from pypto.ir.expr import And, ConstBool, ConstInt, Expr, IterArg, Not, Or, Var
from pypto.ir.function import Function, Program
from pypto.ir.stmt import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    ForStmt,
    IfStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto.ir.types import ScalarType
from pypto.passes.base import FunctionPass
from pypto.passes.loops import constant_int
from pypto.passes.names import NameSource
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import (
    Renamer,
    bodies,
    comment,
    defined_vars,
    edit_end,
    fold,
    has_jump,
    listed,
    statements,
    with_comments,
)

_BOOL = ScalarType(DataType.BOOL)


@register_pass
@dataclass(frozen=True)
class CtrlFlowTransform(FunctionPass):
    """Rewrite break and continue into structured flow.

    What follows a jump moves into the branch that does not jump. A loop with a break becomes a while over a flag; what the condition
    reads is evaluated exactly when it was before. Loops that carry values come out with ordinary variables, for ConvertToSSA.
    """

    PRODUCED = (IRProperty.StructuredCtrlFlow,)

    def transform_function(self, function: Function, program: Program) -> Function:
        if not any(isinstance(stmt, BreakStmt | ContinueStmt) for stmt in statements(function.body)):
            return function
        names = NameSource.of(function)
        return function.replace(body=_Structurer(names).block(function.body))


class _Jumps(IntEnum):
    """Whether statements leave the iteration."""

    NEVER = 0
    MAYBE = 1
    ALWAYS = 2


def _jumps(stmts: Sequence[Stmt]) -> _Jumps:
    result = _Jumps.NEVER
    for stmt in stmts:
        if isinstance(stmt, BreakStmt | ContinueStmt):
            return _Jumps.ALWAYS
        if isinstance(stmt, SeqStmts):
            kind = _jumps(stmt.stmts)
        elif isinstance(stmt, ScopeStmt):
            kind = _jumps([stmt.body])
        elif isinstance(stmt, IfStmt):
            kinds = {_jumps([stmt.then_body]), _jumps([stmt.else_body] if stmt.else_body is not None else [])}
            kind = kinds.pop() if len(kinds) == 1 else _Jumps.MAYBE
        else:
            kind = _Jumps.NEVER
        if kind is _Jumps.ALWAYS:
            return kind
        result = max(result, kind)
    return result


class _Structurer:
    """Rewrites the loops of one function, inner ones first."""

    def __init__(self, names: NameSource) -> None:
        self.names = names

    def block(self, body: Stmt) -> Stmt:
        own = listed(body)
        out = [self.statement(stmt) for stmt in own]
        return body if all(a is b for a, b in zip(out, own, strict=True)) else fold(out, span=body.span)

    def statement(self, stmt: Stmt) -> Stmt:
        changes: dict[str, Any] = {}
        for name in ("then_body", "else_body", "body"):
            inner = getattr(stmt, name, None)
            if isinstance(inner, Stmt):
                new = self.block(inner)
                if new is not inner:
                    changes[name] = new
        if changes:
            stmt = stmt.replace(**changes)
        if isinstance(stmt, ForStmt | WhileStmt) and has_jump(stmt.body):
            return self.loop(stmt)
        return stmt

    def flag(self, hint: str, qualifier: str) -> Var:
        return Var(self.names.fresh(hint, "tmp", qualifier), _BOOL)

    def loop(self, loop: ForStmt | WhileStmt) -> Stmt:
        hint = loop.loop_var.name_hint if isinstance(loop, ForStmt) else "while"
        before, loop, after = self.plain_carries(loop, hint)
        leaves = has_jump(loop.body, (BreakStmt,))
        go = self.flag(hint, "go") if leaves else None
        if go is None:
            new: Stmt = loop.replace(body=fold(self.body(loop.body, hint, None), span=loop.body.span))
        else:
            new = self.with_break(loop, go, hint, before)
        leading = loop.leading_comments
        new = new.replace(leading_comments=[])
        return fold([*comment(leading), *before, new, *after], span=loop.span)

    def body(self, body: Stmt, hint: str, go: Var | None) -> list[Stmt]:
        """The statements of a loop body without its jumps."""
        plain = _Body(go, None)
        out = plain.run(listed(body))
        if not plain.needs_skip:
            return out
        skip = self.flag(hint, "skip")
        return [AssignStmt(skip, ConstBool(False), body.span), *_Body(go, skip).run(listed(body))]

    def with_break(self, loop: ForStmt | WhileStmt, go: Var, hint: str, before: list[Stmt]) -> Stmt:
        """The loop as a while over ``go``, which a break sets to False."""
        span = loop.span
        if isinstance(loop, WhileStmt):
            again: list[Stmt] = [AssignStmt(go, loop.condition, span)]
            before += again
            head: list[Stmt] = []
        else:
            head, again = self.counting(loop, go, hint, before)
        out = [*head, *self.body(loop.body, hint, go), IfStmt(go, fold(again), None, [], span)]
        new = WhileStmt(go, [], fold(out, span=loop.body.span), [], span)
        return with_comments(new, trailing=loop.trailing_comments)

    def counting(self, loop: ForStmt, go: Var, hint: str, before: list[Stmt]) -> tuple[list[Stmt], list[Stmt]]:
        """The counter of a for loop: what begins an iteration, and what goes on to the next."""
        span = loop.span
        if loop.kind is not ForKind.Sequential:
            raise InvalidValueError(
                f"break cannot leave a loop of kind {loop.kind.name}", span, "use pl.range for a loop with break"
            )
        if loop.attrs:
            raise InvalidValueError("break cannot leave a loop with attributes: the loop becomes a while, which has none", span)
        assigned = {*defined_vars(loop.body)}
        counter = loop.loop_var
        head: list[Stmt] = []
        if loop.loop_var in assigned:
            counter = Var(self.names.fresh(hint, "idx"), loop.loop_var.type)
            head = [AssignStmt(loop.loop_var, counter, span)]
        stop = self.kept(loop.stop, "stop", hint, assigned, before, loop)
        step = self.kept(loop.step, "step", hint, assigned, before, loop)
        goes_on = _goes_on(counter, stop, step, loop)
        advanced = scalar.add(counter, step, span)
        if advanced.type is not counter.type:
            advanced = scalar.cast(advanced, counter.type.dtype, span)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        before += [AssignStmt(counter, loop.start, span), AssignStmt(go, goes_on, span)]
        return head, [AssignStmt(counter, advanced, span), AssignStmt(go, goes_on, span)]

    def kept(self, expr: Expr, role: str, hint: str, assigned: set[Var], before: list[Stmt], loop: ForStmt) -> Expr:
        """A bound that is read in every iteration and keeps the value it has before the loop."""
        value = constant_int(expr)
        if value is not None:
            return expr if isinstance(expr, ConstInt) else ConstInt(value, expr.type.dtype, expr.span)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        if isinstance(expr, Var) and expr not in assigned:
            return expr
        var = Var(self.names.fresh(hint, "tmp", role), expr.type)
        before.append(AssignStmt(var, expr, loop.span))
        return var

    def plain_carries(self, loop: Any, hint: str) -> tuple[list[Stmt], Any, list[Stmt]]:
        """The loop with its carried values as ordinary variables: what stands before it, the loop, what stands after."""
        if not loop.iter_args:
            return [], loop, []
        span = loop.span
        args: Sequence[IterArg] = loop.iter_args
        variables = [Var(self.names.fresh(arg.name_hint, "tmp"), arg.type, arg.span) for arg in args]
        renamer = Renamer(dict(zip(args, variables, strict=True)))

        def assign(old: YieldStmt | None) -> Sequence[Stmt]:
            values: Sequence[Expr] = () if old is None else old.value
            if len(values) < 2:
                return [AssignStmt(var, value, span) for var, value in zip(variables, values, strict=True)]
            kept = [Var(self.names.fresh(var.name_hint, "tmp"), value.type) for var, value in zip(variables, values, strict=True)]
            first = [AssignStmt(temp, value, span) for temp, value in zip(kept, values, strict=True)]
            return [*first, *[AssignStmt(var, temp, span) for var, temp in zip(variables, kept, strict=True)]]

        changes: dict[str, Any] = {"iter_args": [], "return_vars": []}
        changes["body"] = edit_end(renamer.visit_stmt(loop.body), assign)
        if isinstance(loop, WhileStmt):
            changes["condition"] = renamer.visit_expr(loop.condition)
        before: list[Stmt] = [AssignStmt(var, arg.initValue, span) for var, arg in zip(variables, args, strict=True)]
        after: list[Stmt] = [AssignStmt(out, var, span) for out, var in zip(loop.return_vars, variables, strict=True)]
        return before, loop.replace(**changes), after


def _goes_on(counter: Var, stop: Expr, step: Expr, loop: ForStmt) -> Expr:
    """The condition under which a counted loop runs another iteration, whatever the sign of the step."""
    span = loop.span
    value = constant_int(step)
    if value is None:
        zero = ConstInt(0, step.type.dtype)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        up = And(scalar.gt(step, zero, span), scalar.lt(counter, stop, span), DataType.BOOL, span)
        down = And(scalar.lt(step, zero, span), scalar.gt(counter, stop, span), DataType.BOOL, span)
        return Or(up, down, DataType.BOOL, span)
    if value == 0:
        raise InvalidValueError("the step of a loop must not be 0", span)
    return scalar.lt(counter, stop, span) if value > 0 else scalar.gt(counter, stop, span)


class _Body:
    """Takes the jumps out of the statements of one loop body.

    ``skip`` is the flag that guards what a jump must skip where no branch can hold it; without it, ``needs_skip`` says whether one is
    needed.
    """

    def __init__(self, go: Var | None, skip: Var | None) -> None:
        self.go = go
        self.skip = skip
        self.needs_skip = False

    def run(self, stmts: Sequence[Stmt]) -> list[Stmt]:
        out: list[Stmt] = []
        for index, stmt in enumerate(stmts):
            if isinstance(stmt, BreakStmt | ContinueStmt):
                return [*out, *self.jump(stmt)]
            if not isinstance(stmt, IfStmt | ScopeStmt) or not any(has_jump(body) for body in bodies(stmt)):
                out.append(stmt)
                continue
            rest = list(stmts[index + 1 :])
            if isinstance(stmt, IfStmt):
                return [*out, *self.branch(_without_results(stmt), rest)]
            kind = _jumps([stmt.body])
            out.append(stmt.replace(body=fold(self.run(listed(stmt.body)), span=stmt.body.span)))
            return out if kind is _Jumps.ALWAYS else [*out, *self.guarded(rest)]
        return out

    def jump(self, stmt: Stmt) -> list[Stmt]:
        out: list[Stmt] = comment(stmt.leading_comments)
        if isinstance(stmt, BreakStmt):
            assert self.go is not None
            out.append(AssignStmt(self.go, ConstBool(False, stmt.span), stmt.span))
        if self.skip is not None:
            out.append(AssignStmt(self.skip, ConstBool(True, stmt.span), stmt.span))
        return out

    def branch(self, stmt: IfStmt, rest: list[Stmt]) -> list[Stmt]:
        then_stmts = listed(stmt.then_body)
        else_stmts = [] if stmt.else_body is None else listed(stmt.else_body)
        after: list[Stmt] = []
        then_jumps, else_jumps = _jumps(then_stmts), _jumps(else_stmts)
        if then_jumps is _Jumps.ALWAYS:
            if else_jumps is not _Jumps.ALWAYS:
                else_stmts = [*else_stmts, *rest]
        elif else_jumps is _Jumps.ALWAYS:
            then_stmts = [*then_stmts, *rest]
        else:
            after = rest
        then_out, else_out = self.run(then_stmts), self.run(else_stmts)
        return [_if(stmt, then_out, else_out), *self.guarded(after)]

    def guarded(self, rest: list[Stmt]) -> list[Stmt]:
        """What runs only when no jump was taken."""
        if all(isinstance(stmt, SeqStmts) for stmt in rest):
            return rest
        self.needs_skip = True
        body = fold(self.run(rest))
        if self.skip is None:
            return [body]
        return [IfStmt(Not(self.skip, DataType.BOOL), body, None, [], rest[0].span)]


def _if(stmt: IfStmt, then_out: list[Stmt], else_out: list[Stmt]) -> Stmt:
    if not then_out and else_out:
        condition = Not(stmt.condition, DataType.BOOL, stmt.condition.span)
        return stmt.replace(condition=condition, then_body=fold(else_out, span=stmt.span), else_body=None)
    else_body = fold(else_out, span=stmt.span) if else_out else None
    return stmt.replace(then_body=fold(then_out, span=stmt.span), else_body=else_body)


def _without_results(stmt: IfStmt) -> IfStmt:
    """A branch whose results are assigned in its bodies instead of yielded."""
    if not stmt.return_vars:
        return stmt
    results = stmt.return_vars

    def assign(old: YieldStmt | None) -> Sequence[Stmt]:
        return [] if old is None else [AssignStmt(v, e, old.span) for v, e in zip(results, old.value, strict=True)]

    else_body = None if stmt.else_body is None else edit_end(stmt.else_body, assign)
    return stmt.replace(return_vars=[], then_body=edit_end(stmt.then_body, assign), else_body=else_body)
