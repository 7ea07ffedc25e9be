"""Operators whose operands say something about dimensions, and what becomes of them when tiles are two-dimensional.

A rule gets the original call and the operands after flattening, and gives the new call. Operators without a rule take part in nothing
but element positions, so they are simply made again on the flattened tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir.expr import Call, ConstInt, Expr, MakeTuple, Var, index_const
from pypto.ir.op import create_internal_op_call, get_op
from pypto.ir.scalar import add, mul
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ir.types import TensorType, TileType, static_dims
from pypto.passes.flatten_tile_nd_to_2d.shapes import flat_tuple, flat_type, is_deep

FlattenRule = Callable[[Call, list[Expr], list[Stmt]], Expr]
"""A rule: original call, flattened operands, statements to put before; returns the new value."""

RULES: dict[str, FlattenRule] = {}


def flatten_rule(*names: str) -> Callable[[FlattenRule], FlattenRule]:
    """Register the decorated function for operators."""

    def register(function: FlattenRule) -> FlattenRule:
        RULES.update(dict.fromkeys(names, function))
        return function

    return register


def again(call: Call, args: Sequence[Expr]) -> Call:
    """The same operator on other operands, with its type deduced anew."""
    made = create_internal_op_call(get_op(call.op.name), args, call.kwargs, call.span)
    return made.replace(attrs=call.attrs) if call.attrs else made


@flatten_rule("tile.load")
def _load(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    return call.replace(args=args, type=flat_type(call.type, call.span))


@flatten_rule("tile.store")
def _store(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    tile, target = call.args[0], args[2]
    if is_deep(tile) and len(args) == 3 and isinstance(target.type, TensorType) and len(target.type.shape) > 2:
        assert isinstance(tile.type, TileType)
        args = [*args, MakeTuple(tile.type.shape)]
    return again(call, args)


@flatten_rule("tile.create", "tile.full", "tile.ci")
def _make(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    return again(call, [flat_tuple(a) for a in args])


@flatten_rule("tile.reshape")
def _reshape(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    target = flat_tuple(args[1])
    if isinstance(target, MakeTuple) and isinstance(args[0].type, TileType):
        wanted = static_dims(target.elements)
        if wanted is not None and wanted == static_dims(args[0].type.shape):
            return args[0]
    return again(call, [args[0], target])


@flatten_rule("tile.read", "tile.write", "tile.slice", "tile.extract")
def _refuse(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    if is_deep(call.args[0]):
        raise InvalidValueError(
            f"{call.op.name} of a tile of more than two dimensions has no two-dimensional form",
            call.span,
            hint="reshape the tile to two dimensions first",
        )
    return again(call, args)


_COLUMN = tuple(
    f"tile.col_{leaf}"
    for leaf in ("sum", "max", "min", "prod", "argmax", "argmin", "expand", "expand_add", "expand_mul", "expand_sub")
) + tuple(f"tile.col_expand_{leaf}" for leaf in ("div", "max", "min", "expdif"))


@flatten_rule(*_COLUMN)
def _column(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    if any(is_deep(a) for a in call.args):
        raise InvalidValueError(
            f"{call.op.name} of a tile of more than two dimensions does not work along the last axis",
            call.span,
            hint="only reductions and expansions along the last axis survive flattening; reshape first",
        )
    return again(call, args)


@flatten_rule("tile.assemble")
def _assemble(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    target, source, offset = call.args
    if not is_deep(target):
        return again(call, args)
    assert isinstance(target.type, TileType) and isinstance(source.type, TileType) and isinstance(offset, MakeTuple)
    whole, part = target.type.shape, source.type.shape
    if not _contiguous(whole, part):
        raise InvalidValueError("the assembled region is not contiguous in two dimensions", call.span)
    row: Expr = index_const(0)
    for extent, start in zip(whole[:-1], offset.elements[:-1], strict=True):
        row = start if isinstance(row, ConstInt) and row.value == 0 else add(mul(row, extent), start)
    return again(call, [args[0], args[1], MakeTuple([row, offset.elements[-1]])])


def _contiguous(whole: Sequence[Expr], part: Sequence[Expr]) -> bool:
    """True when a part occupies consecutive rows: below the first leading dimension that it spans, it spans all of each."""
    outer, inner = static_dims(whole), static_dims(part)
    if outer is None or inner is None or len(outer) != len(inner):
        return False
    spanning = False
    for extent, used in zip(outer[:-1], inner[:-1], strict=True):
        if spanning and used != extent:
            return False
        spanning = spanning or used != 1
    return True


@flatten_rule("tile.transpose")
def _transpose(call: Call, args: list[Expr], before: list[Stmt]) -> Expr:
    if is_deep(call.args[0]):
        raise InvalidValueError(
            "tile.transpose of a tile of more than two dimensions has no two-dimensional form",
            call.span,
            hint="transpose each page of it by itself",
        )
    if len(args) == 3:
        type_ = args[0].type
        assert isinstance(type_, TileType)
        keywords = {"dtype": type_.dtype, "target_memory": type_.memory_space}
        created = create_internal_op_call(get_op("tile.create"), [MakeTuple(type_.shape)], keywords, call.span)
        scratch = Var("transpose__tmp", created.type, call.span)
        before.append(AssignStmt(scratch, created, call.span))
        args = [*args, scratch]
    return again(call, args)

