"""The walk: every statement with deep tiles is made again on their two-dimensional forms."""

from __future__ import annotations

from collections.abc import Sequence

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
)
from pypto.ir.types import TileType, Type
from pypto.ir.verify.walk import held, nodes, statements
from pypto.ir.visitor import IRMutator
from pypto.ops.declare import Declaration
from pypto.passes.flatten_tile_nd_to_2d.pages import Rewriting
from pypto.passes.flatten_tile_nd_to_2d.rules import RULES, again, plain
from pypto.passes.flatten_tile_nd_to_2d.shapes import flat_type, is_deep
from pypto.passes.rewrite import final_yield, rewrite_body, with_fields


def flatten_function(function: Function) -> Function:
    """A kernel whose tiles are all two-dimensional; the same object when they were already."""
    flattener = _Flattener(function)
    params = [flattener.param(p) for p in function.params]
    body = flattener.body(function.body)
    same = body is function.body and all(a is b for a, b in zip(params, function.params, strict=True))
    if same:
        return function
    returns = [flat_type(t, function.span) for t in function.return_types]
    return function.replace(params=params, body=body, return_types=returns)


def _yielded(body: Stmt) -> Sequence[Expr]:
    last = final_yield(body)
    return [] if last is None else last.value


def _deferrable(function: Function) -> frozenset[Var]:
    """Variables of deep tiles whose making can wait until their pages are asked for: every use looks at them page by page."""
    made: set[Var] = set()
    other: set[Var] = set()
    for stmt in statements(function.body):
        call = stmt.value if isinstance(stmt, AssignStmt) else None
        rule = RULES.get(call.op.name) if isinstance(call, Call) else None
        if isinstance(stmt, AssignStmt) and rule is not None and rule.deferrable and is_deep(stmt.var):
            made.add(stmt.var)
        for node in nodes(held(stmt)):
            user = RULES.get(node.op.name) if isinstance(node, Call) else None
            if user is None or not user.paged:
                other.update(e for e in held(node) if isinstance(e, Var))
        other.update(e for e in held(stmt) if isinstance(e, Var))
    return frozenset(made - other)


class _Renaming(IRMutator):
    def __init__(self, mapping: dict[Var, Expr]) -> None:
        super().__init__()
        self._mapping = mapping

    def visit_var(self, op: Var) -> Expr:
        return self._mapping.get(op, op)

    def visit_iter_arg(self, op: IterArg) -> Expr:
        return self._mapping.get(op, op)


class _Flattener:
    def __init__(self, function: Function) -> None:
        self.values: dict[Var, Expr] = {}
        self.renaming = _Renaming(self.values)
        self.deferred: dict[Var, Call] = {}
        self.deferrable = _deferrable(function)

    def param(self, var: Var) -> Var:
        """A parameter with its flat type."""
        return self.fresh(var) if is_deep(var) else var

    def fresh(self, var: Var, type_: Type | None = None) -> Var:
        """A variable of the same name with the flat type, or the given one, put in the place of ``var``."""
        made = Var(var.name_hint, flat_type(var.type, var.span) if type_ is None else type_, var.span)
        self.values[var] = made
        return made

    def value(self, expr: Expr) -> Expr:
        """An expression on flattened tiles."""
        if isinstance(expr, Var):
            return self.values.get(expr, expr)
        return self.renaming.visit_expr(expr) if self.values else expr

    def call(self, call: Call, before: list[Stmt]) -> Expr:
        """An operator call on flattened tiles."""
        args = [self.call(a, before) if isinstance(a, Call) else self.value(a) for a in call.args]
        deep = is_deep(call) or any(is_deep(a) for a in call.args)
        rule = RULES.get(call.op.name)
        if not deep and (rule is None or not rule.always):
            same = all(a is b for a, b in zip(args, call.args, strict=True))
            return call if same else again(call, args) if isinstance(call.op, Declaration) else call.replace(args=args)
        work = Rewriting(self.deferred)
        work.span = call.span
        made = plain(call, args, work) if rule is None else rule.apply(call, args, work)
        before += work.before
        return made

    def body(self, body: Stmt) -> Stmt:
        """A body on flattened tiles; the same object when nothing changed."""
        return rewrite_body(body, self.step)

    def step(self, stmt: Stmt) -> list[Stmt]:
        """What becomes of one statement."""
        before: list[Stmt] = []
        made = self.statement(stmt, before)
        return before if made is None else [*before, made]

    def statement(self, stmt: Stmt, before: list[Stmt]) -> Stmt | None:
        """One statement on flattened tiles; None when nothing is left of it."""
        if isinstance(stmt, AssignStmt):
            if stmt.var in self.deferrable and isinstance(stmt.value, Call):
                self.deferred[stmt.var] = stmt.value
                self.values[stmt.var] = self.value(stmt.value.args[0])
                return None
            value = self.call(stmt.value, before) if isinstance(stmt.value, Call) else self.value(stmt.value)
            if value is stmt.value:
                return stmt
            if isinstance(value, Var) and isinstance(value.type, TileType):
                self.values[stmt.var] = value
                return None
            var = stmt.var if value.type == stmt.var.type else self.fresh(stmt.var, value.type)
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
            return with_fields(
                stmt, iter_args=iter_args, body=body, return_vars=self.results(stmt.return_vars, iter_args), **bounds
            )
        if isinstance(stmt, WhileStmt):
            iter_args = self.iter_args(stmt.iter_args)
            condition = self.value(stmt.condition)
            body = self.body(stmt.body)
            results = self.results(stmt.return_vars, iter_args)
            return with_fields(stmt, iter_args=iter_args, condition=condition, body=body, return_vars=results)
        if isinstance(stmt, IfStmt):
            condition = self.value(stmt.condition)
            then_body = self.body(stmt.then_body)
            else_body = None if stmt.else_body is None else self.body(stmt.else_body)
            results = self.results(stmt.return_vars, _yielded(then_body))
            return with_fields(stmt, condition=condition, then_body=then_body, else_body=else_body, return_vars=results)
        inner = getattr(stmt, "body", None)
        return with_fields(stmt, body=self.body(inner)) if isinstance(inner, Stmt) else stmt

    def iter_args(self, args: Sequence[IterArg]) -> list[IterArg]:
        """Carried values on flattened tiles."""
        made: list[IterArg] = []
        for arg in args:
            init = self.value(arg.initValue)
            if init is arg.initValue and not is_deep(arg):
                made.append(arg)
                continue
            type_ = flat_type(arg.type, arg.span)
            fresh = IterArg(arg.name_hint, init.type if isinstance(type_, TileType) else type_, init, arg.span)
            self.values[arg] = fresh
            made.append(fresh)
        return made

    def results(self, variables: Sequence[Var], sources: Sequence[Expr]) -> list[Var]:
        """Result variables with the types of what they result from; those that keep their type are the same objects."""
        made: list[Var] = []
        for at, var in enumerate(variables):
            source = sources[at].type if at < len(sources) else var.type
            changed = isinstance(var.type, TileType) and isinstance(source, TileType) and var.type != source
            made.append(self.fresh(var, source) if changed else var)
        return made
