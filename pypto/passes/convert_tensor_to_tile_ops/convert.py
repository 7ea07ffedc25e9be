"""One kernel: tensor operators become tile operators, with loads at entry and stores of what it returns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import pypto.passes.convert_tensor_to_tile_ops.conversions as _conversions  # these register conversions
import pypto.passes.convert_tensor_to_tile_ops.placement as _placement
import pypto.passes.convert_tensor_to_tile_ops.products as _products
import pypto.passes.convert_tensor_to_tile_ops.transfers as _transfers
from pypto.diagnostics import Error, InvalidValueError
from pypto.ir.enums import ArgEffect, MemorySpace, ParamDirection
from pypto.ir.expr import Call, Expr, IterArg, MakeTuple, Var, index_const
from pypto.ir.function import Function
from pypto.ir.op import create_internal_op_call, get_op
from pypto.ir.span import Span
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
from pypto.ir.types import DistributedTensorType, TensorType, TileType, Type, UnknownType
from pypto.ir.visitor import IRMutator
from pypto.ops.declare import Declaration
from pypto.passes.convert_tensor_to_tile_ops.kinds import TileValues, WantedSpaces
from pypto.passes.convert_tensor_to_tile_ops.storage import calls, waits, written_operands, yielded
from pypto.passes.names import name_base
from pypto.passes.op_conversion import ConversionContext, find_conversion, load_whole
from pypto.passes.rewrite import fold, rewrite_body, with_fields

del _conversions, _placement, _products, _transfers


@dataclass
class AddedOutput:
    """A parameter that the conversion added: which result it carries and the type of the tensor."""

    result: int
    type: TensorType


@dataclass
class Converted:
    """A converted kernel and the output parameters it gained."""

    function: Function
    outputs: list[AddedOutput] = field(default_factory=list[AddedOutput])


def convert_function(function: Function) -> Converted:
    """A kernel with tile operators; the same object when there is nothing to convert."""
    return _Converter(function).run()


def base_of(var: Var) -> str:
    """The user's part of a variable's name."""
    return name_base(var.name_hint)


class _Renaming(IRMutator):
    """Replaces converted variables inside scalar expressions, types and attributes."""

    def __init__(self, mapping: dict[Var, Expr]) -> None:
        super().__init__()
        self._mapping = mapping

    def visit_var(self, op: Var) -> Expr:
        return self._mapping.get(op, op)

    def visit_iter_arg(self, op: IterArg) -> Expr:
        return self._mapping.get(op, op)


class _Converter:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.tiles = TileValues(function)
        self.spaces = WantedSpaces(function)
        self.values: dict[Var, Expr] = {}
        self.entry_loads: dict[Var, Var] = {}
        self.renaming = _Renaming(self.values)
        # windows that other ranks write to meanwhile are loaded where they are needed
        shared = waits(function)
        self.params = {
            p
            for p in function.params
            if isinstance(p.type, TensorType) and not (shared and isinstance(p.type, DistributedTensorType))
        }
        self.outputs: list[AddedOutput] = []
        self.out_params: list[Var] = []
        self.wanted: list[list[Type | None]] = []
        self.written: set[Var] = set()
        self.rebound: list[dict[Var, Expr | None]] = []
        self.changed = False

    def run(self) -> Converted:
        function = self.function
        body = self.body(function.body)
        if not self.changed:
            return Converted(function)
        loads: list[Stmt] = [
            AssignStmt(tile, load_whole(param, MemorySpace.Vec), tile.span) for param, tile in self.entry_loads.items()
        ]
        body = fold([*loads, body], (), function.body.span)
        params = [*zip(function.params, function.param_directions, strict=True)]
        params += [(p, ParamDirection.Out) for p in self.out_params]
        made = Function(
            function.name,
            params,
            function.return_types,
            body,
            function.span,
            function.func_type,
            function.level,
            function.role,
            function.attrs,
            function.requires_runtime_binding,
        )
        return Converted(made, self.outputs)

    # -- values ---------------------------------------------------------------------------------------------------------

    def value(self, expr: Expr) -> Expr:
        """An operand after the conversion, without loading anything."""
        if isinstance(expr, Var):
            return self.values.get(expr, expr)
        return self.renaming.visit_expr(expr)

    def operand(self, expr: Expr, ctx: ConversionContext) -> Expr:
        """An operand after the conversion; a call in its place is converted first, and gets a name when it became a tile."""
        if not isinstance(expr, Call):
            return self.value(expr)
        wanted, ctx.wanted = ctx.wanted, None
        made = self.call(expr, ctx)
        ctx.wanted = wanted
        return ctx.let("value__tile", made) if isinstance(made, Call) and isinstance(made.type, TileType) else made

    def tile_of(self, original: Expr, ctx: ConversionContext) -> Expr:
        """An operand as a tile: parameters are loaded once at entry, those written since and other tensors where they are needed."""
        value = self.operand(original, ctx)
        if not isinstance(value.type, TensorType):
            return value
        self.changed = True
        if isinstance(value, Var) and value in self.params and value not in self.written:
            loaded = self.entry_loads.get(value)
            if loaded is None:
                load = load_whole(value, MemorySpace.Vec, ctx.span)
                loaded = self.entry_loads[value] = Var(f"{base_of(value)}__tile", load.type, Span.unknown())
            return loaded
        return ctx.tile(value)

    def call(self, call: Call, ctx: ConversionContext) -> Expr:
        """An operator call after the conversion."""
        op = call.op
        entry = None if op.is_function or _is_tile_level(call) else find_conversion(op.name)
        if entry is None:
            if isinstance(call.type, TensorType) and not op.is_function and _needs_conversion(call):
                raise InvalidValueError(f"no registered tile conversion for {op.name!r}", call.span)
            return self._rebuilt(call, ctx)
        if entry.loads_itself:
            args = [self.operand(a, ctx) for a in call.args]
        else:
            args = [self.tile_of(a, ctx) if isinstance(a.type, TensorType) else self.operand(a, ctx) for a in call.args]
        self.written |= self.tiles.storage.written_by(call)
        ctx.result_type = call.type
        try:
            converted = entry.convert(ctx, args, call.kwargs, call.span)
        except Error as error:
            if error.place is None and call.span.is_valid():
                error.place = call.span
            raise
        if isinstance(converted, tuple):
            before, converted = cast("tuple[list[Stmt], Expr]", converted)
            for stmt in before:
                ctx.emit(stmt)
        same = (
            isinstance(converted, Call)
            and converted.op is op
            and len(converted.args) == len(call.args)
            and all(a is b for a, b in zip(converted.args, call.args, strict=True))
        )
        if same:
            return call
        self.changed = True
        if isinstance(converted, Call) and call.attrs and not converted.attrs:
            converted = converted.replace(attrs=call.attrs)
        return converted

    def _rebuilt(self, call: Call, ctx: ConversionContext) -> Expr:
        args = [self.operand(a, ctx) for a in call.args]
        self.written |= self.tiles.storage.written_by(call)
        if all(a is b for a, b in zip(args, call.args, strict=True)):
            return call
        if isinstance(call.op, Declaration):
            made = create_internal_op_call(call.op, args, call.kwargs, call.span)
            return made.replace(attrs=call.attrs) if call.attrs else made
        return call.replace(args=args)

    # -- statements -----------------------------------------------------------------------------------------------------

    def body(self, body: Stmt) -> Stmt:
        """A body after the conversion; the same object when nothing changed."""
        self.rebound.append({})
        made = rewrite_body(body, self.step)
        for var, before in self.rebound.pop().items():
            if before is None:
                del self.values[var]
            else:
                self.values[var] = before
        return made

    def bind(self, var: Var, value: Expr) -> None:
        """Let a variable stand for another value from here to the end of the body."""
        self.rebound[-1].setdefault(var, self.values.get(var))
        self.values[var] = value

    def step(self, stmt: Stmt) -> list[Stmt]:
        """What becomes of one statement."""
        ctx = ConversionContext(stmt.span)
        converted = self.statement(stmt, ctx)
        return ctx.stmts if converted is None else [*ctx.stmts, converted]

    def carrying(self, types: list[Type | None], body: Stmt) -> Stmt:
        """A nested body that yields; ``types`` are the tile types that the values must have, UnknownType for any tile, None for no tile."""
        self.wanted.append(types)
        made = self.body(body)
        self.wanted.pop()
        return made

    def statement(self, stmt: Stmt, ctx: ConversionContext) -> Stmt | None:
        """One statement after the conversion; what it needs before it goes to ``ctx``."""
        if isinstance(stmt, AssignStmt):
            return self._assign(stmt, ctx)
        if isinstance(stmt, EvalStmt):
            value = self.call(stmt.expr, ctx) if isinstance(stmt.expr, Call) else self.value(stmt.expr)
            return stmt if value is stmt.expr else EvalStmt(value, stmt.span)
        if isinstance(stmt, ReturnStmt):
            return self._return(stmt, ctx)
        if isinstance(stmt, YieldStmt):
            return self._yield(stmt, ctx)
        if isinstance(stmt, ForStmt):
            return self._for(stmt, ctx)
        if isinstance(stmt, WhileStmt):
            iter_args = self._iter_args(stmt.iter_args, ctx)
            self._about_to_repeat(stmt)
            condition = self.value(stmt.condition)
            body = self.carrying([_tile_or_none(a.type) for a in iter_args], stmt.body)
            results = self._results(stmt.return_vars, iter_args)
            return with_fields(stmt, iter_args=iter_args, condition=condition, body=body, return_vars=results)
        if isinstance(stmt, IfStmt):
            return self._if(stmt)
        inner = getattr(stmt, "body", None)
        return with_fields(stmt, body=self.body(inner)) if isinstance(inner, Stmt) else stmt

    def _assign(self, stmt: AssignStmt, ctx: ConversionContext) -> Stmt | None:
        ctx.wanted = self.spaces.of(stmt.var)
        if isinstance(stmt.value, Call):
            view = stmt.var in self.tiles.views and _is_view(stmt.value)
            value = self._rebuilt(stmt.value, ctx) if view else self.call(stmt.value, ctx)
        else:
            value = self.value(stmt.value)
        if value is stmt.value:
            return stmt
        if isinstance(stmt.value, Var) and isinstance(value.type, TileType):
            self.values[stmt.var] = value
            return None
        if value.type is stmt.var.type or value.type == stmt.var.type:
            return AssignStmt(stmt.var, value, stmt.span)
        name = f"{base_of(stmt.var)}__tile" if isinstance(value.type, TileType) else stmt.var.name_hint
        var = Var(name, value.type, stmt.var.span)
        self.values[stmt.var] = var
        self.changed = True
        if isinstance(stmt.value, Call) and isinstance(value.type, TileType):
            self._written_on_chip(stmt.value, var)
        return AssignStmt(var, value, stmt.span)

    def _written_on_chip(self, call: Call, result: Var) -> None:
        """Where the tensor operator writes in place, the tile operator gives a new tile: it is what the old names mean from now on."""
        for operand in written_operands(call):
            if isinstance(operand, Var):
                self.bind(operand, result)

    def _return(self, stmt: ReturnStmt, ctx: ConversionContext) -> Stmt:
        values: list[Expr] = []
        for at, original in enumerate(stmt.value):
            value = self.call(original, ctx) if isinstance(original, Call) else self.value(original)
            if isinstance(value.type, TileType) and isinstance(original.type, TensorType):
                value = self._store_result(at, original.type, value, ctx)
            values.append(value)
        same = all(a is b for a, b in zip(values, stmt.value, strict=True))
        return stmt if same else ReturnStmt(values, stmt.span)

    def _store_result(self, at: int, type_: TensorType, tile: Expr, ctx: ConversionContext) -> Expr:
        self.changed = True
        if not isinstance(tile, Var):
            tile = ctx.let(f"ret{at}__tile", tile)
        plain = TensorType(type_.shape, type_.dtype)
        out = Var(f"ret{at}__out", plain, Span.unknown())
        self.out_params.append(out)
        self.outputs.append(AddedOutput(at, plain))
        zeros = MakeTuple([index_const(0) for _ in type_.shape])
        store = create_internal_op_call(get_op("tile.store"), [tile, zeros, out], None, ctx.span).replace(span=Span.unknown())
        stored = Var(f"ret{at}__store", store.type, Span.unknown())
        ctx.emit(AssignStmt(stored, store, Span.unknown()))
        return stored

    def _yield(self, stmt: YieldStmt, ctx: ConversionContext) -> Stmt:
        values: list[Expr] = []
        for at, original in enumerate(stmt.value):
            value = self.call(original, ctx) if isinstance(original, Call) else self.value(original)
            wanted = self.wanted[-1][at] if self.wanted and at < len(self.wanted[-1]) else None
            if wanted is not None and isinstance(value.type, TensorType):
                value = self.tile_of(original, ctx)
            values.append(_in_space_of(value, wanted, ctx))
        same = all(a is b for a, b in zip(values, stmt.value, strict=True))
        return stmt if same else YieldStmt(values, stmt.span)

    def _iter_args(self, args: Sequence[IterArg], ctx: ConversionContext) -> list[IterArg]:
        made: list[IterArg] = []
        for arg in args:
            init = self.tile_of(arg.initValue, ctx) if arg in self.tiles else self.value(arg.initValue)
            if init is arg.initValue:
                made.append(arg)
                continue
            tile = isinstance(init.type, TileType)
            fresh = IterArg(f"{base_of(arg)}__tile" if tile else arg.name_hint, init.type if tile else arg.type, init, arg.span)
            self.values[arg] = fresh
            made.append(fresh)
        return made

    def _about_to_repeat(self, loop: Stmt) -> None:
        """What a loop writes is written before its own later rounds read."""
        for call in calls(loop):
            self.written |= self.tiles.storage.written_by(call)

    def _results(self, variables: Sequence[Var], sources: Sequence[IterArg]) -> list[Var]:
        made: list[Var] = []
        for var, source in zip(variables, sources, strict=True):
            if isinstance(source.type, TileType) and not isinstance(var.type, TileType):
                fresh = Var(f"{base_of(var)}__tile", source.type, var.span)
                self.values[var] = fresh
                made.append(fresh)
            else:
                made.append(var)
        return made

    def _for(self, stmt: ForStmt, ctx: ConversionContext) -> Stmt:
        iter_args = self._iter_args(stmt.iter_args, ctx)
        self._about_to_repeat(stmt)
        bounds = {name: self.value(getattr(stmt, name)) for name in ("start", "stop", "step")}
        body = self.carrying([_tile_or_none(a.type) for a in iter_args], stmt.body)
        results = self._results(stmt.return_vars, iter_args)
        return with_fields(stmt, iter_args=iter_args, body=body, return_vars=results, **bounds)

    def _if(self, stmt: IfStmt) -> Stmt:
        condition = self.value(stmt.condition)
        anything: list[Type | None] = [UnknownType() if v in self.tiles else None for v in stmt.return_vars]
        then_body = self.carrying(anything, stmt.then_body)
        values = yielded(then_body)
        else_body = stmt.else_body
        if else_body is not None:
            else_body = self.carrying([w and v.type for w, v in zip(anything, values, strict=False)], else_body)
        results: list[Var] = []
        for at, var in enumerate(stmt.return_vars):
            if var in self.tiles and at < len(values):
                fresh = Var(f"{base_of(var)}__tile", values[at].type, var.span)
                self.values[var] = fresh
                results.append(fresh)
            else:
                results.append(var)
        return with_fields(stmt, condition=condition, then_body=then_body, else_body=else_body, return_vars=results)


def _tile_or_none(type_: Type) -> Type | None:
    return type_ if isinstance(type_, TileType) else None


def _in_space_of(value: Expr, wanted: Type | None, ctx: ConversionContext) -> Expr:
    """A tile that is carried on, moved when what carries it lives in another memory."""
    if not isinstance(wanted, TileType) or not isinstance(value.type, TileType):
        return value
    space = wanted.memory_space
    if space is None or value.type.memory_space is space:
        return value
    return ctx.let("carried__tile", ctx.call("tile.move", [value], {"target_memory": space}))


def _is_tile_level(call: Call) -> bool:
    return isinstance(call.op, Declaration) and call.op.namespace == "tile"


def _is_view(call: Call) -> bool:
    """True for an operator whose result is another look at its operand's storage."""
    op = call.op
    at = op.alias_index if isinstance(op, Declaration) else None
    return at is not None and isinstance(op, Declaration) and op.arg_effect(at, call.kwargs) is ArgEffect.Read


def _needs_conversion(call: Call) -> bool:
    """True for a tensor operator that computes a new tensor, which a kernel cannot hold in global memory by itself."""
    op = call.op
    return isinstance(op, Declaration) and op.namespace == "tensor" and op.alias_index is None
