"""FlattenCallExpr: three-address form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pypto.ir.dtypes import DataType
from pypto.ir.expr import And, Call, ConstBool, Expr, IterArg, Not, Or, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, BreakStmt, EvalStmt, ForStmt, IfStmt, ReturnStmt, SeqStmts, Stmt, WhileStmt, YieldStmt
from pypto.ir.types import ScalarType
from pypto.ir.visitor import IRMutator
from pypto.passes.base import FunctionPass
from pypto.passes.names import NameSource
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import Renamer, comment, edit_end, fold, has_jump, listed

_P = IRProperty


@register_pass
@dataclass(frozen=True)
class FlattenCallExpr(FunctionPass):
    """Leave calls only as the whole value of an assignment or as a statement; what was nested is assigned to temporaries before.

    Calls are evaluated in the order they were, and those on the right of ``and``/``or`` only when they were. The condition of a while
    becomes a carried flag when it holds a call.
    """

    REQUIRED = (_P.SSAForm, _P.NormalizedStmtStructure)
    PRODUCED = (_P.SSAForm, _P.NoNestedCalls, _P.NormalizedStmtStructure)

    def transform_function(self, function: Function, program: Program) -> Function:
        body = Flattener(function).block(function.body)
        return function if body is function.body else function.replace(body=body)


def holds_call(expr: Expr) -> bool:
    """True when a call or submit is in the expression, itself included."""
    return any(isinstance(node, Call | Submit) for node in walk(expr))


class Flattener:
    """Flattens the statements of one function; temporaries get names that it does not have yet."""

    def __init__(self, function: Function) -> None:
        self.function = function

    @cached_property
    def names(self) -> NameSource:
        return NameSource.of(self.function)

    def block(self, body: Stmt) -> Stmt:
        """A body in three-address form; the same object when it is already."""
        own = listed(body)
        out: list[Stmt] = []
        for stmt in own:
            out += self.statement(stmt)
        same = len(out) == len(own) and all(a is b for a, b in zip(out, own, strict=True))
        return body if same else fold(out, span=body.span)

    def statement(self, stmt: Stmt) -> list[Stmt]:
        """What a statement becomes: the temporaries it needs, and itself."""
        if isinstance(stmt, AssignStmt):
            return self.whole(stmt, "value", stmt.var.name_hint)
        if isinstance(stmt, EvalStmt):
            return self.whole(stmt, "expr", "call")
        if isinstance(stmt, WhileStmt):
            return self.while_loop(stmt)
        if isinstance(stmt, SeqStmts):
            return [stmt]
        *out, new = self.header(stmt)
        changes: dict[str, Any] = {}
        for name in ("then_body", "else_body", "body"):
            inner = getattr(new, name, None)
            if isinstance(inner, Stmt):
                done = self.block(inner)
                if done is not inner:
                    changes[name] = done
        if changes:
            new = new.replace(**changes)
        return [*out, new]

    def header(self, stmt: Stmt) -> list[Stmt]:
        """A statement whose own operands hold no call, behind its temporaries; its bodies are left alone."""
        hoist = _Hoist(self, _HINTS.get(type(stmt), "arg"), stmt.span)
        new = hoist.operands(stmt)
        return _behind(hoist.out, new)

    def whole(self, stmt: Stmt, field: str, hint: str) -> list[Stmt]:
        """An assignment or expression statement, whose value may be a call."""
        value: Expr = getattr(stmt, field)
        if type(value) is Var:
            return [stmt]
        hoist = _Hoist(self, hint, stmt.span)
        new = hoist.below(value)
        return [stmt] if new is value else _behind(hoist.out, stmt.replace(**{field: new}))

    def while_loop(self, loop: WhileStmt) -> list[Stmt]:
        body = self.block(loop.body)
        hoist = _Hoist(self, "init", loop.span)
        iter_args: list[IterArg] = [self.carried(arg, hoist) for arg in loop.iter_args]
        changed = [pair for pair in zip(loop.iter_args, iter_args, strict=True) if pair[0] is not pair[1]]
        condition = loop.condition
        if changed:
            renamer = Renamer(dict(changed))
            body, condition = renamer.visit_stmt(body), renamer.visit_expr(condition)
        if not holds_call(condition):
            same = not changed and body is loop.body
            new = loop if same else loop.replace(iter_args=iter_args, condition=condition, body=body)
            return _behind(hoist.out, new)
        if has_jump(body):
            return _behind(hoist.out, self.leaving(loop.replace(iter_args=iter_args, body=body), condition))
        first = self.condition(condition, {arg: arg.initValue for arg in iter_args}, hoist.out, loop.span)
        flag = ScalarType(DataType.BOOL)
        go = IterArg(self.names.fresh("while", "iter", "go"), flag, first, loop.span)

        def again(old: YieldStmt | None) -> Sequence[Stmt]:
            values = [] if old is None else [*old.value]
            out: list[Stmt] = []
            last = self.condition(condition, dict(zip(iter_args, values, strict=True)), out, loop.span)
            end = YieldStmt([last], loop.span) if old is None else old.replace(value=[*values, last])
            return [*out, end]

        result = Var(self.names.fresh("while", "rv", "go"), flag, loop.span)
        new = loop.replace(
            iter_args=[*iter_args, go],
            condition=go,
            body=edit_end(body, again),
            return_vars=[*loop.return_vars, result],
        )
        return _behind(hoist.out, new)

    def leaving(self, loop: WhileStmt, condition: Expr) -> Stmt:
        """The loop, whose body has jumps, as one without condition that is left by a break where the condition fails."""
        out: list[Stmt] = []
        flat = self.condition(condition, {}, out, loop.span)
        leave = IfStmt(Not(flat, DataType.BOOL, flat.span), BreakStmt(loop.span), None, [], loop.span)
        body = fold([*out, leave, *listed(loop.body)], span=loop.body.span)
        return loop.replace(condition=ConstBool(True, loop.span), body=body)

    def carried(self, arg: IterArg, hoist: _Hoist) -> IterArg:
        init = hoist.leaf(arg.initValue)
        return arg if init is arg.initValue else IterArg(arg.name_hint, arg.type, init, arg.span)

    def condition(self, condition: Expr, values: dict[Any, Expr], out: list[Stmt], span: Span) -> Expr:
        """The condition of a while for given carried values, evaluated into ``out``."""
        hoist = _Hoist(self, "cond", span)
        flat = hoist.leaf(Renamer(values).visit_expr(condition))
        out += hoist.out
        return flat


_HINTS: dict[type[Stmt], str] = {IfStmt: "cond", ForStmt: "bound", ReturnStmt: "ret", YieldStmt: "yield"}


def _behind(out: list[Stmt], stmt: Stmt) -> list[Stmt]:
    """Temporaries and the statement that needs them; its comments stand above the first."""
    if not out:
        return [stmt]
    return [*comment(stmt.leading_comments), *out, stmt.replace(leading_comments=[])]


class _Hoist(IRMutator):
    """Takes calls out of the expressions of one statement, into assignments in ``out``."""

    def __init__(self, flattener: Flattener, hint: str, span: Span) -> None:
        self.flattener = flattener
        self.hint = hint
        self.span = span
        self.out: list[Stmt] = []

    def operands(self, stmt: Stmt) -> Stmt:
        """The statement with its own operands free of calls; its bodies are left alone."""
        held = {name: getattr(stmt, name) for name in ("then_body", "else_body", "body") if hasattr(stmt, name)}
        if not held:
            return super().visit_stmt(stmt)
        hollow: Any = stmt.replace(**{name: _EMPTY for name, body in held.items() if body is not None})
        header: Any = super().visit_stmt(hollow)
        if header is hollow:
            return stmt
        new = header.replace(**held)
        replaced = {old: arg for old, arg in self.var_map.items() if isinstance(old, IterArg)}
        if replaced:
            renamer = Renamer(replaced)
            new = new.replace(body=renamer.visit_stmt(new.body))
        return new

    def leaf(self, expr: Expr) -> Expr:
        """The expression without any call."""
        return self.visit_expr(expr)

    def below(self, expr: Expr) -> Expr:
        """The expression, itself a call or not, with no call below it."""
        if isinstance(expr, Call | Submit):
            return self.inside(expr)
        return self.visit_expr(expr)

    def inside(self, call: Any) -> Any:
        return super().visit_call(call) if isinstance(call, Call) else super().visit_submit(call)

    def temporary(self, value: Expr) -> Var:
        var = Var(self.flattener.names.fresh(self.hint, "tmp"), value.type, value.span)
        span = value.span if value.span.is_valid() else self.span
        self.out.append(AssignStmt(var, value, span))
        return var

    def visit_call(self, op: Call) -> Expr:
        return self.temporary(self.inside(op))

    def visit_submit(self, op: Submit) -> Expr:
        return self.temporary(self.inside(op))

    def visit_type(self, type_: Any) -> Any:
        return type_

    def visit_and(self, op: And) -> Expr:
        return self.short_circuit(op, lambda right: (right, ConstBool(False, op.span)))

    def visit_or(self, op: Or) -> Expr:
        return self.short_circuit(op, lambda right: (ConstBool(True, op.span), right))

    def short_circuit(self, op: Any, branches: Callable[[Expr], tuple[Expr, Expr]]) -> Expr:
        """``and``/``or`` whose right side holds a call: a branch, so that the call is evaluated only when it was."""
        left = self.visit_expr(op.left)
        if not holds_call(op.right):
            return op if left is op.left else op.replace(left=left)
        inner = _Hoist(self.flattener, self.hint, self.span)
        right = inner.leaf(op.right)
        result = Var(self.flattener.names.fresh(self.hint, "phi"), op.type, op.span)
        bodies: list[Stmt] = []
        for value in branches(right):
            end = YieldStmt([value], op.span)
            bodies.append(fold([*inner.out, end]) if value is right else end)
        self.out.append(IfStmt(left, bodies[0], bodies[1], [result], op.span))
        return result


_EMPTY = SeqStmts([])
