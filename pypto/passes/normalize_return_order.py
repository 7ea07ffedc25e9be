"""NormalizeReturnOrder: kernels return the parameters that hold their results, in the order of the parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pypto.ir.enums import ArgEffect, is_incore_type
from pypto.ir.expr import Call, Expr, MakeTuple, TupleGetItemExpr, Var
from pypto.ir.function import Function, Program
from pypto.ir.op import DeclaredOp
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, ReturnStmt, Stmt, WhileStmt
from pypto.ir.types import TensorType, TupleType
from pypto.ir.visitor import IRMutator
from pypto.ops.declare import Declaration
from pypto.passes.base import Pass
from pypto.passes.names import NameSource
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import final_yield, statements

_P = IRProperty


@register_pass
@dataclass(frozen=True)
class NormalizeReturnOrder(Pass):
    """Return parameters instead of what was last written into them, ordered as the parameters are; callers follow.

    Only kernels (InCore, AIC, AIV) are looked at. A result that is not the whole of one parameter stays where and what it is.
    """

    REQUIRED = (_P.SplitIncoreOrch, _P.IncoreTileOps)
    PRODUCED = (_P.ReturnParamsExplicit,)

    def transform(self, program: Program) -> Program:
        moved: dict[str, Sequence[int]] = {}
        functions: list[Function] = []
        for function in program.functions.values():
            if not is_incore_type(function.func_type):
                functions.append(function)
                continue
            normal, order = _normalized(function)
            functions.append(normal)
            if order != sorted(order):
                moved[function.name] = order
        if moved:
            functions = [_Caller(function, moved).visit_function(function) for function in functions]
        return program.with_functions(functions)


def _normalized(function: Function) -> tuple[Function, list[int]]:
    """The function, and for each new result which old one it is."""
    returns = [stmt for stmt in statements(function.body) if isinstance(stmt, ReturnStmt)]
    if len(returns) != 1 or not any(isinstance(value.type, TensorType) for value in returns[0].value):
        return function, []
    (last,) = returns
    places = _Places(function)
    homes = [places.home(value) for value in last.value]
    slots = [at for at, home in enumerate(homes) if home is not None]
    position = {param: at for at, param in enumerate(function.params)}
    ordered = sorted(slots, key=lambda at: position[homes[at]])  # pyright: ignore[reportArgumentType]
    order = list(range(len(homes)))
    for slot, source in zip(slots, ordered, strict=True):
        order[slot] = source
    values: list[Expr] = [homes[at] or last.value[at] for at in order]
    if all(new is old for new, old in zip(values, last.value, strict=True)):
        return function, []
    types = list(function.return_types)
    if len(types) == len(order):
        types = [types[at] for at in order]
    body: Stmt = _Replace(last, last.replace(value=values)).visit_stmt(function.body)
    return function.replace(body=body, return_types=types), order


class _Replace(IRMutator):
    """Puts one statement in the place of another."""

    def __init__(self, old: Stmt, new: Stmt) -> None:
        self.old = old
        self.new = new

    def visit_stmt(self, op: Stmt) -> Stmt:
        return self.new if op is self.old else super().visit_stmt(op)

    def visit_expr(self, op: Expr) -> Expr:
        return op


class _Places:
    """Of which parameter a tensor variable is the whole, through writes in place, aliases, loops and branches."""

    def __init__(self, function: Function) -> None:
        self.sources: dict[Var, list[Expr]] = {param: [] for param in function.params}
        self.params = set(function.params)
        for stmt in statements(function.body):
            if isinstance(stmt, AssignStmt):
                self.add(stmt.var, stmt.value)
            elif isinstance(stmt, ForStmt | WhileStmt):
                end = final_yield(stmt.body)
                for at, (arg, result) in enumerate(zip(stmt.iter_args, stmt.return_vars, strict=True)):
                    handed_on: list[Expr] = [] if end is None else [end.value[at]]
                    self.add(arg, arg.initValue, *handed_on)
                    self.add(result, arg)
            elif isinstance(stmt, IfStmt):
                for body in (stmt.then_body, stmt.else_body):
                    end = None if body is None else final_yield(body)
                    for at, result in enumerate(stmt.return_vars):
                        if end is not None:
                            self.add(result, end.value[at])

    def add(self, var: Var, *values: Expr) -> None:
        self.sources.setdefault(var, []).extend(values)

    def home(self, value: Expr) -> Var | None:
        """The parameter that the value is the whole of, None when it is none or not surely one."""
        found: set[Var] = set()
        seen: set[Var] = set()
        stack: list[Expr] = [value]
        while stack:
            current = stack.pop()
            if isinstance(current, Call):
                written = _written_in_place(current)
                if written is None:
                    return None
                stack.append(written)
            elif not isinstance(current, Var):
                return None
            elif current in self.params and not self.sources[current]:
                found.add(current)
            elif current not in seen:
                seen.add(current)
                if not self.sources.get(current):
                    return None
                stack.extend(self.sources[current])
        if len(found) != 1:
            return None
        (param,) = found
        return param if isinstance(value.type, TensorType) and param.type == value.type else None


def _written_in_place(call: Call) -> Expr | None:
    """The operand that the call writes and returns, None when it does not do that."""
    op = call.op
    if not isinstance(op, Declaration) or op.alias_index is None or op.alias_index >= len(call.args):
        return None
    assert isinstance(op, DeclaredOp)
    writes = op.arg_effect(op.alias_index, call.kwargs) in (ArgEffect.Write, ArgEffect.ReadWrite)
    return call.args[op.alias_index] if writes else None


class _Caller(IRMutator):
    """Takes the results of reordered kernels from their new places."""

    def __init__(self, function: Function, moved: dict[str, Sequence[int]]) -> None:
        self.moved = moved
        self.names = NameSource.of(function)

    def visit_assign_stmt(self, op: Any) -> Any:
        value = op.value
        order = self.moved.get(value.op.name) if isinstance(value, Call) and value.op.is_function else None
        if order is None or not isinstance(value.type, TupleType):
            return super().visit_assign_stmt(op)
        call: Any = self.visit_expr(value)
        type_ = TupleType([call.type.types[at] for at in order])
        results = Var(self.names.fresh(op.var.name_hint.strip("_") or "results", "tmp"), type_, op.var.span)
        items = [TupleGetItemExpr(results, list(order).index(at), op.span) for at in range(len(order))]
        self.var_map[op.var] = MakeTuple(items, op.span)
        return op.replace(var=results, value=call.replace(type=type_))

    def visit_tuple_get_item_expr(self, op: TupleGetItemExpr) -> Expr:
        source = self.visit_expr(op.tuple)
        if isinstance(source, MakeTuple) and isinstance(op.tuple, Var):
            return source.elements[op.index]
        return super().visit_tuple_get_item_expr(op)
