"""The walk: every statement with deep tiles is made again on their two-dimensional forms."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from typing import cast

from pypto.ir.expr import Call, Expr, IterArg, Var
from pypto.ir.function import Function
from pypto.ir.stmt import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    attach_leading_comments,
    attach_trailing_comments,
    body_of,
    flatten_to_stmts,
)
from pypto.ir.types import TileType
from pypto.ir.visitor import IRMutator
from pypto.ops.declare import Declaration
from pypto.passes.flatten_tile_nd_to_2d.rules import RULES, again
from pypto.passes.flatten_tile_nd_to_2d.shapes import flat_type, is_deep


def flatten_function(function: Function) -> Function:
    """A kernel whose tiles are all two-dimensional; the same object when they were already."""
    flattener = _Flattener()
    params = [flattener.param(p) for p in function.params]
    body = flattener.body(function.body)
    same = body is function.body and all(a is b for a, b in zip(params, function.params, strict=True))
    if same:
        return function
    returns = [flat_type(t, function.span) for t in function.return_types]
    return function.replace(params=params, body=body, return_types=returns)


class _Renaming(IRMutator):
    def __init__(self, mapping: dict[Var, Expr]) -> None:
        super().__init__()
        self._mapping = mapping

    def visit_var(self, op: Var) -> Expr:
        return self._mapping.get(op, op)

    def visit_iter_arg(self, op: IterArg) -> Expr:
        return self._mapping.get(op, op)


class _Flattener:
    def __init__(self) -> None:
        self.values: dict[Var, Expr] = {}
        self.renaming = _Renaming(self.values)

    def param(self, var: Var) -> Var:
        """A parameter with its flat type."""
        return self.fresh(var) if is_deep(var) else var

    def fresh(self, var: Var) -> Var:
        """A variable of the same name with the flat type, put in the place of ``var``."""
        made = Var(var.name_hint, flat_type(var.type, var.span), var.span)
        self.values[var] = made
        return made

    def value(self, expr: Expr) -> Expr:
        """An expression on flattened tiles."""
        if isinstance(expr, Var):
            return self.values.get(expr, expr)
        return self.renaming.visit_expr(expr) if self.values else expr

    def call(self, call: Call, before: list[Stmt]) -> Expr:
        """An operator call on flattened tiles."""
        args = [self.value(a) for a in call.args]
        deep = is_deep(call) or any(is_deep(a) for a in call.args)
        rule = RULES.get(call.op.name)
        if rule is not None and (deep or (call.op.name == "tile.transpose" and len(args) == 3)):
            return rule(call, args, before)
        if all(a is b for a, b in zip(args, call.args, strict=True)) and not deep:
            return call
        return again(call, args) if isinstance(call.op, Declaration) else call.replace(args=args)

    def body(self, body: Stmt) -> Stmt:
        """A body on flattened tiles; the same object when nothing changed."""
        result: list[Stmt] = []
        changed = False
        for stmt in flatten_to_stmts(body):
            before: list[Stmt] = []
            made = self.statement(stmt, before)
            changed = changed or made is not stmt or bool(before)
            if made is not None and made is not stmt and stmt.leading_comments:
                attach_leading_comments(before[0] if before else made, stmt.leading_comments)
            result += before
            if made is not None:
                result.append(made)
        if not changed:
            return body
        made_body = body_of(result, body.span)
        return attach_trailing_comments(made_body, body.trailing_comments) if body.trailing_comments else made_body

    def statement(self, stmt: Stmt, before: list[Stmt]) -> Stmt | None:
        """One statement on flattened tiles; None when nothing is left of it."""
        if isinstance(stmt, AssignStmt):
            value = self.call(stmt.value, before) if isinstance(stmt.value, Call) else self.value(stmt.value)
            if value is stmt.value:
                return stmt
            if isinstance(stmt.value, Call) and isinstance(value, Var) and isinstance(value.type, TileType):
                self.values[stmt.var] = value
                return None
            var = self.fresh(stmt.var) if is_deep(stmt.var) else stmt.var
            return AssignStmt(var, value, stmt.span)
        if isinstance(stmt, EvalStmt):
            value = self.call(stmt.expr, before) if isinstance(stmt.expr, Call) else self.value(stmt.expr)
            return stmt if value is stmt.expr else EvalStmt(value, stmt.span)
        if isinstance(stmt, ReturnStmt | YieldStmt):
            values = [self.call(v, before) if isinstance(v, Call) else self.value(v) for v in stmt.value]
            same = all(a is b for a, b in zip(values, stmt.value, strict=True))
            return stmt if same else stmt.replace(value=values)
        if isinstance(stmt, ForStmt):
            iter_args = self.iter_args(stmt.iter_args)
            bounds = {name: self.value(getattr(stmt, name)) for name in ("start", "stop", "step")}
            body = self.body(stmt.body)
            return self.changed(stmt, iter_args=iter_args, body=body, return_vars=self.results(stmt.return_vars), **bounds)
        if isinstance(stmt, WhileStmt):
            iter_args = self.iter_args(stmt.iter_args)
            condition = self.value(stmt.condition)
            body = self.body(stmt.body)
            results = self.results(stmt.return_vars)
            return self.changed(stmt, iter_args=iter_args, condition=condition, body=body, return_vars=results)
        if isinstance(stmt, IfStmt):
            condition = self.value(stmt.condition)
            then_body = self.body(stmt.then_body)
            else_body = None if stmt.else_body is None else self.body(stmt.else_body)
            results = self.results(stmt.return_vars)
            return self.changed(stmt, condition=condition, then_body=then_body, else_body=else_body, return_vars=results)
        inner = getattr(stmt, "body", None)
        return self.changed(stmt, body=self.body(inner)) if isinstance(inner, Stmt) else stmt

    def iter_args(self, args: Sequence[IterArg]) -> list[IterArg]:
        """Carried values on flattened tiles."""
        made: list[IterArg] = []
        for arg in args:
            init = self.value(arg.initValue)
            if init is arg.initValue and not is_deep(arg):
                made.append(arg)
                continue
            fresh = IterArg(arg.name_hint, flat_type(arg.type, arg.span), init, arg.span)
            self.values[arg] = fresh
            made.append(fresh)
        return made

    def results(self, variables: Sequence[Var]) -> list[Var]:
        """Result variables with flat types."""
        return [self.fresh(v) if is_deep(v) else v for v in variables]

    def changed(self, stmt: Stmt, **fields: object) -> Stmt:
        """The statement with other fields; the same object when none differs."""
        for name, value in fields.items():
            old = getattr(stmt, name)
            same = all(map(is_, cast("list[object]", value), old)) if isinstance(value, list) else value is old
            if not same:
                return stmt.replace(**fields)
        return stmt
