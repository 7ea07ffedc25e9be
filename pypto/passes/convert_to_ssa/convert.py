"""The conversion: new versions at definitions, carried values where an iteration needs what an earlier one left, merges after branches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ForKind
from pypto.ir.expr import ConstBool, ConstFloat, ConstInt, Expr, IterArg, MakeTuple, Var
from pypto.ir.function import Function, Program
from pypto.ir.op import create_op_call
from pypto.ir.stmt import (
    AssignStmt,
    ForStmt,
    IfStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
)
from pypto.ir.type_parts import is_closed
from pypto.ir.types import ScalarType, ShapedType, TensorType, TileType
from pypto.ir.visitor import IRMutator
from pypto.ops import memory as _memory  # registers the operators that create tensors and tiles
from pypto.passes.base import FunctionPass
from pypto.passes.convert_to_ssa.liveness import Effects, vars_to_rename
from pypto.passes.loops import constant_range
from pypto.passes.names import NameSource
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import append_to_yield, fold, fresh_copy, has_jump, unfold

del _memory

_EMPTY = SeqStmts([])
_NOTHING: set[Var] = set()
_HOLDS_OTHERS = (IfStmt, ForStmt, WhileStmt, ScopeStmt)


@register_pass
@dataclass(frozen=True)
class ConvertToSSA(FunctionPass):
    """Give every variable that is assigned more than once a new version at each assignment; carry and merge what lives on.

    Loops carry only what an iteration reads from the one before it or what is read after the loop; a branch merges only what is read
    later. Variables that are in SSA form already stay as they are.
    """

    PRODUCED = (IRProperty.SSAForm,)
    INVALIDATED = (IRProperty.NormalizedStmtStructure,)

    def transform_function(self, function: Function, program: Program) -> Function:
        renamed = vars_to_rename(function)
        return _Conversion(function, renamed).run() if renamed else function


class UndefinedValueError(InvalidValueError):
    """A variable is read where, on some way through the function, it has no value."""

    code = "undefined-value"


class _Conversion(IRMutator):
    """Rewrites one function; ``var_map`` holds the version in force of each renamed variable."""

    def __init__(self, function: Function, renamed: set[Var]) -> None:
        self.function = function
        self.renamed = renamed
        self.effects = Effects(renamed)
        self.names = NameSource.of(function)
        self.log: list[tuple[Var, Expr | None]] = []
        self.lost: dict[Var, Stmt] = {}
        self.where: Stmt = function.body

    def run(self) -> Function:
        for param in self.function.params:
            if param in self.renamed:
                self.names.skip(param.name_hint)
                self.assign(param, param)
        return self.function.replace(body=self.block(self.function.body, set()))

    # the version in force

    def assign(self, var: Var, value: Expr) -> None:
        self.log.append((var, self.var_map.get(var)))
        self.var_map[var] = value

    def roll_back(self, mark: int) -> None:
        for var, old in reversed(self.log[mark:]):
            if old is None:
                self.var_map.pop(var, None)
            else:
                self.var_map[var] = old
        del self.log[mark:]

    def visit_var(self, op: Var) -> Expr:
        value = self.var_map.get(op)
        if value is None:
            if op in self.renamed:
                raise self.undefined(op)
            return op
        return value

    def visit_iter_arg(self, op: IterArg) -> Expr:
        return self.visit_var(op)

    def undefined(self, var: Var) -> UndefinedValueError:
        lost = self.lost.get(var)
        span = self.where.span
        if lost is None:
            return UndefinedValueError(f"{var.name_hint!r} is read before it is assigned", span)
        at = f" (line {lost.span.begin_line})" if lost.span.is_valid() else ""
        if isinstance(lost, IfStmt):
            message = f"{var.name_hint!r} is assigned in only one branch of the if{at} and read after it"
            hint = f"assign {var.name_hint!r} in both branches, or before the if"
        else:
            message = f"{var.name_hint!r} is assigned only inside the loop{at}, which may run no iteration, and read after it"
            hint = f"assign {var.name_hint!r} before the loop"
        return UndefinedValueError(message, span, hint)

    # definitions

    def visit_definition(self, var: Var) -> Var:
        return self.define(var, "ssa")

    def define(self, var: Var, role: str) -> Var:
        """A new version of a renamed variable, or of one whose type mentions a renamed one."""
        if isinstance(var, IterArg):
            init, type_ = self.visit_expr(var.initValue), self.visit_type(var.type)
            if var not in self.renamed and init is var.initValue and type_ is var.type:
                return var
            name = self.names.fresh(var.name_hint, "iter") if var in self.renamed else var.name_hint
            new: Var = IterArg(name, type_, init, var.span)
        elif var in self.renamed:
            new = fresh_copy(var, self.visit_type(var.type), self.names.fresh(var.name_hint, role))
        else:
            type_ = self.visit_type(var.type)
            if type_ is var.type:
                return var
            new = fresh_copy(var, type_)
        self.assign(var, new)
        return new

    # blocks

    def block(self, body: Stmt, live: set[Var]) -> Stmt:
        """A body, given the renamed variables that are read after it."""
        stmts, trailing = unfold(body)
        after = self.live_after(stmts, set(live))
        out = [self.statement(stmt, needed) for stmt, needed in zip(stmts, after, strict=True)]
        if len(out) == len(stmts) and all(a is b for a, b in zip(out, stmts, strict=True)):
            return body
        return fold(out, trailing, body.span)

    def live_after(self, stmts: Sequence[Stmt], live: set[Var]) -> list[set[Var]]:
        """For each statement that holds others, which of the variables it assigns are read after it."""
        after: list[set[Var]] = []
        for stmt in reversed(stmts):
            effect = self.effects.of(stmt)
            after.append(live & effect.assigned if isinstance(stmt, _HOLDS_OTHERS) else _NOTHING)
            live -= effect.killed
            live |= effect.exposed
        after.reverse()
        return after

    def statement(self, stmt: Stmt, live: set[Var]) -> Stmt:
        self.where = stmt
        if isinstance(stmt, AssignStmt):
            return self.assignment(stmt)
        if isinstance(stmt, IfStmt):
            return self.branch(stmt, live)
        if isinstance(stmt, ForStmt | WhileStmt):
            return self.loop(stmt, live)
        if isinstance(stmt, ScopeStmt):
            header = cast(ScopeStmt, self.visit_stmt(stmt.replace(body=_EMPTY)))
            body = self.block(stmt.body, live)
            own = (f.name for f in stmt.FIELDS if f.name != "body")
            same = body is stmt.body and all(getattr(header, name) is getattr(stmt, name) for name in own)
            return stmt if same else header.replace(body=body)
        return self.visit_stmt(stmt)

    def assignment(self, stmt: AssignStmt) -> Stmt:
        value = self.visit_expr(stmt.value)
        if stmt.var in self.renamed:
            _check_kept_type(stmt)
        var = self.define(stmt.var, "ssa")
        return stmt if value is stmt.value and var is stmt.var else stmt.replace(var=var, value=value)

    # branches

    def branch(self, stmt: IfStmt, live: set[Var]) -> Stmt:
        condition = self.visit_expr(stmt.condition)
        mark = len(self.log)
        then_body = self.block(stmt.then_body, live)
        wanted = in_order(live.difference(stmt.return_vars))
        then_values = [self.var_map.get(var) for var in wanted]
        self.roll_back(mark)
        else_body = None if stmt.else_body is None else self.block(stmt.else_body, live)
        else_values = [self.var_map.get(var) for var in wanted]
        self.roll_back(mark)
        merged: list[tuple[Var, Expr, Expr]] = []
        for var, then_value, else_value in zip(wanted, then_values, else_values, strict=True):
            if then_value is None or else_value is None:
                self.lost[var] = stmt
            elif then_value is not else_value:
                merged.append((var, then_value, else_value))
        self.where = stmt
        results = [*map(self.visit_definition, stmt.return_vars), *[self.define(var, "phi") for var, _, _ in merged]]
        if merged:
            then_body = append_to_yield(then_body, [value for _, value, _ in merged], stmt.span)
            else_body = _EMPTY if else_body is None else else_body
            else_body = append_to_yield(else_body, [value for _, _, value in merged], stmt.span)
        same = condition is stmt.condition and then_body is stmt.then_body and else_body is stmt.else_body
        if same and all(a is b for a, b in zip(results, stmt.return_vars, strict=True)):
            return stmt
        return stmt.replace(condition=condition, then_body=then_body, else_body=else_body, return_vars=results)

    # loops

    def loop(self, stmt: ForStmt | WhileStmt, live: set[Var]) -> Stmt:
        live = live.difference(stmt.return_vars)
        exposed = self.effects.loop_exposed(stmt)
        assigned = self.effects.of(stmt).assigned
        before: list[Stmt] = []
        header: dict[str, Any] = {}
        if isinstance(stmt, ForStmt):
            header = {name: self.visit_expr(getattr(stmt, name)) for name in ("start", "stop", "step")}
        carried: list[tuple[Var, Expr]] = []
        for var in in_order(assigned & (exposed | live)):
            init = self.var_map.get(var)
            if init is None and var not in exposed:
                init = self.placeholder(var, stmt, before)
            if init is None:
                self.lost[var] = stmt
            else:
                carried.append((var, init))
        if carried:
            _check_can_carry(stmt, carried[0][0])
        mark = len(self.log)
        iter_args = [self.visit_definition(arg) for arg in stmt.iter_args]
        for var, init in carried:
            arg = IterArg(self.names.fresh(var.name_hint, "iter"), self.visit_type(var.type), init, var.span)
            self.assign(var, arg)
            iter_args.append(arg)
        if isinstance(stmt, ForStmt):
            header["loop_var"] = self.define(stmt.loop_var, "idx")
        else:
            header["condition"] = self.visit_expr(stmt.condition)
        body = self.block(stmt.body, {var for var, _ in carried})
        self.where = stmt
        body = append_to_yield(body, [self.visit_var(var) for var, _ in carried], stmt.span)
        self.roll_back(mark)
        results = [*map(self.visit_definition, stmt.return_vars), *[self.define(var, "rv") for var, _ in carried]]
        header |= {"body": body}
        if carried or any(a is not b for a, b in zip(iter_args, stmt.iter_args, strict=True)):
            header["iter_args"] = iter_args
        if carried or any(a is not b for a, b in zip(results, stmt.return_vars, strict=True)):
            header["return_vars"] = results
        if all(getattr(stmt, name) is value for name, value in header.items()):
            return stmt
        new: Stmt = stmt.replace(**header)
        return SeqStmts([*before, new]) if before else new

    def placeholder(self, var: Var, loop: ForStmt | WhileStmt, before: list[Stmt]) -> Expr | None:
        """What a loop carries at first for a variable that only its iterations assign; None where nothing will do.

        A fresh tensor or tile has no content until it is written, so a read after no iteration stays an error of the run. A scalar is
        given only where the loop surely runs.
        """
        if isinstance(var.type, ScalarType):
            runs = isinstance(loop, ForStmt) and constant_range(loop)
            return zero_of(var.type.dtype) if runs else None
        if not is_closed(var.type) or not isinstance(var.type, TensorType | TileType):
            return None
        created = fresh_like(var.type, loop)
        if created is None:
            return None
        name = Var(self.names.fresh(var.name_hint, "ssa"), created.type, var.span)
        before.append(AssignStmt(name, created, loop.span))
        return name


def in_order(variables: Iterable[Var]) -> list[Var]:
    """Variables in an order that is the same in every run; those whose type mentions others come last."""
    return sorted(variables, key=lambda var: (not is_closed(var.type), var.unique_id))


def zero_of(dtype: DataType) -> Expr | None:
    """The zero of a scalar type, None where it has none."""
    if dtype is DataType.BOOL:
        return ConstBool(False)
    if dtype.is_int():
        return ConstInt(0, dtype)
    return ConstFloat(0.0, dtype) if dtype.is_float() else None


def fresh_like(type_: ShapedType, loop: Stmt) -> Expr | None:
    """A call that creates an empty tensor or tile of exactly this type, None where there is no such call."""
    kwargs: dict[str, Any] = {"dtype": type_.dtype}
    if isinstance(type_, TileType):
        kwargs["target_memory"] = type_.memory_space
    name = "tile.create" if isinstance(type_, TileType) else "tensor.create"
    given = {key: value for key, value in kwargs.items() if value is not None}
    call = create_op_call(name, [MakeTuple(type_.shape)], given, loop.span)
    return call if call.type == type_ else None


def _check_kept_type(stmt: AssignStmt) -> None:
    old, new = stmt.var.type, stmt.value.type
    if not isinstance(old, ScalarType) or not isinstance(new, ScalarType) or old is new:
        return
    wide = (DataType.INDEX, DataType.INT64)
    if old.dtype in wide and new.dtype in wide:
        return
    raise InvalidTypeError(
        f"{stmt.var.name_hint!r} has type {old.dtype.name} and is assigned a value of type {new.dtype.name}",
        stmt.span,
        f"cast the value to {old.dtype.name}, or begin with a value of type {new.dtype.name}",
    )


def _check_can_carry(stmt: ForStmt | WhileStmt, var: Var) -> None:
    if isinstance(stmt, ForStmt) and stmt.kind is ForKind.Unroll:
        raise InvalidValueError(
            f"an unrolled loop cannot carry {var.name_hint!r}", stmt.span, "run unroll_loops before convert_to_ssa"
        )
    if has_jump(stmt.body):
        raise InvalidValueError(
            f"a loop with break or continue cannot carry {var.name_hint!r}",
            stmt.span,
            "run ctrl_flow_transform before convert_to_ssa",
        )
