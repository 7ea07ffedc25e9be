"""Operators whose operands say something about dimensions, and what becomes of them when tiles are two-dimensional.

A rule gets the original call and the operands after flattening, and gives the new value. Operators without a rule take part in nothing
but element positions, so they are simply made again on the flattened tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from pypto.diagnostics import InvalidValueError
from pypto.ir.expr import Call, Expr, MakeTuple, index_const
from pypto.ir.op import create_internal_op_call, get_op
from pypto.ir.scalar import add, mul
from pypto.ir.types import TensorType, TileType, static_dims
from pypto.ops.declare import Declaration, Lanes
from pypto.ops.region import constant, same_dims, text_of
from pypto.passes.flatten_tile_nd_to_2d.pages import Rewriting, constant_shape, page_by_page
from pypto.passes.flatten_tile_nd_to_2d.shapes import flat_tuple, flat_type, is_deep

Apply = Callable[[Call, list[Expr], Rewriting], Expr]
"""From the original call, the flattened operands and what to write with, to the new value."""


@dataclass(frozen=True)
class FlattenRule:
    """A rule. ``always`` applies it to calls without deep tiles as well; ``paged`` means that it looks at its operands page by page;
    ``deferrable`` that the call may be put off until a page of its result is asked for."""

    apply: Apply
    always: bool = False
    paged: bool = False
    deferrable: bool = False


RULES: dict[str, FlattenRule] = {}


def flatten_rule(*names: str, always: bool = False, paged: bool = False, deferrable: bool = False) -> Callable[[Apply], Apply]:
    """Register the decorated function for operators; see :class:`FlattenRule`."""

    def register(function: Apply) -> Apply:
        RULES.update(dict.fromkeys(names, FlattenRule(function, always, paged, deferrable)))
        return function

    return register


def again(call: Call, args: Sequence[Expr]) -> Call:
    """The same operator on other operands, with its type deduced anew."""
    made = create_internal_op_call(get_op(call.op.name), args, call.kwargs, call.span)
    return made.replace(attrs=call.attrs) if call.attrs else made


def plain(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    """An operator without a rule: made again, page by page where operands of different leading dimensions meet element by element."""
    op = call.op
    if not isinstance(op, Declaration):
        return call.replace(args=args, type=flat_type(call.type, call.span))
    if op.lanes is Lanes.ELEMENTWISE and not _rows_agree(call):
        return _paged(call, args, work)
    return again(call, args)


def _rows_agree(call: Call) -> bool:
    """True when all tile operands have the rows of the result, or one row, also once they are two-dimensional."""
    if not isinstance(call.type, TileType) or len(call.type.shape) <= 2:
        return True
    leading = call.type.shape[:-1]
    for arg in call.args:
        if isinstance(arg.type, TileType):
            own = arg.type.shape[:-1]
            if not same_dims(own, leading) and any(constant(d) != 1 for d in own):
                return False
    return True


@flatten_rule("tile.row_expand", "tile.cmp", "tile.sel", "tile.part_add", "tile.part_mul", "tile.part_max", "tile.part_min")
def _spreading(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return again(call, args) if _rows_agree(call) else _paged(call, args, work)


def _paged(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return page_by_page(call, args, work, lambda operands: again(call, operands))


# -- memory ------------------------------------------------------------------------------------------------------------------------


@flatten_rule("tile.load")
def _load(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return call.replace(args=args, type=flat_type(call.type, call.span))


@flatten_rule("tile.store")
def _store(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    tile, target = call.args[0], args[2]
    if is_deep(tile) and len(args) == 3 and isinstance(target.type, TensorType) and len(target.type.shape) > 2:
        assert isinstance(tile.type, TileType)
        spare = len(target.type.shape) - len(tile.type.shape)
        lead: list[Expr] = [index_const(1)] * max(0, spare)
        args = [*args, MakeTuple([*lead, *tile.type.shape[max(0, -spare) :]])]
    return again(call, args)


@flatten_rule("tile.create", "tile.full", "tile.ci")
def _make(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return again(call, [flat_tuple(a) for a in args])


@flatten_rule("tile.reshape")
def _reshape(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    wanted, source = flat_type(call.type, call.span), args[0].type
    assert isinstance(wanted, TileType) and isinstance(source, TileType)
    if same_dims(wanted.shape, source.shape) and same_dims(wanted.valid_shape, source.valid_shape):
        return args[0]
    return again(call, [args[0], flat_tuple(args[1])])


@flatten_rule("tile.reinterpret_view")
def _reinterpret(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return again(call, [flat_tuple(a) for a in args])


@flatten_rule("tile.fillpad_expand")
def _fillpad_expand(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    source, made = call.args[0].type, call.type
    assert isinstance(source, TileType) and isinstance(made, TileType)
    if not same_dims(source.shape[1:-1], made.shape[1:-1]):
        raise InvalidValueError(
            f"enlarging {text_of(source.shape)} to {text_of(made.shape)} puts lanes between the pages, which two dimensions cannot say",
            call.span,
            hint="enlarge the first or the last dimension only",
        )
    return again(call, [args[0], flat_tuple(args[1])])


@flatten_rule("tile.read", "tile.write", "tile.slice", "tile.extract", "tile.gather_row")
def _refuse(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    if is_deep(call.args[0]):
        raise InvalidValueError(
            f"{call.op.name} of a tile of more than two dimensions has no two-dimensional form",
            call.span,
            hint="reshape the tile to two dimensions first",
        )
    return again(call, args)


@flatten_rule("tile.assemble")
def _assemble(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    target, source, offset = call.args
    if not is_deep(target):
        return again(call, args)
    assert isinstance(target.type, TileType) and isinstance(source.type, TileType) and isinstance(offset, MakeTuple)
    whole, part = target.type.shape, source.type.shape
    ones: list[Expr] = [index_const(1)] * max(0, len(whole) - len(part))
    part = [*ones, *part[max(0, len(part) - len(whole)) :]]
    if not _contiguous(whole, part):
        raise InvalidValueError(
            f"the region {text_of(part)} assembled into {text_of(whole)} is not contiguous in two dimensions",
            call.span,
            hint="assemble one page at a time",
        )
    row: Expr = index_const(0)
    for extent, start in zip(whole[:-1], offset.elements[:-1], strict=True):
        row = start if constant(row) == 0 else _sum(_times(row, extent), start)
    return again(call, [args[0], args[1], MakeTuple([row, offset.elements[-1]])])


def _times(row: Expr, extent: Expr) -> Expr:
    one, other = constant(row), constant(extent)
    if one is not None and other is not None:
        return index_const(one * other)
    return row if other == 1 else mul(row, extent)


def _sum(row: Expr, start: Expr) -> Expr:
    one, other = constant(row), constant(start)
    if one is not None and other is not None:
        return index_const(one + other)
    return row if other == 0 else add(row, start)


def _contiguous(whole: Sequence[Expr], part: Sequence[Expr]) -> bool:
    """True when a part occupies consecutive rows: below the first leading dimension that it spans, it spans all of each."""
    outer, inner = static_dims(whole), static_dims(part)
    if outer is None or inner is None:
        return False
    spanning = False
    for extent, used in zip(outer[:-1], inner[:-1], strict=True):
        if spanning and used != extent:
            return False
        spanning = spanning or used != 1
    return True


# -- along columns -----------------------------------------------------------------------------------------------------------------


@flatten_rule(*[f"tile.col_{leaf}" for leaf in ("sum", "max", "min", "prod", "argmax", "argmin")])
def _column(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    if is_deep(call.args[0]):
        raise InvalidValueError(
            f"{call.op.name} of a tile of more than two dimensions does not work along the last axis",
            call.span,
            hint="only reductions along the last axis survive flattening; reshape first",
        )
    return again(call, args)


@flatten_rule(*[f"tile.col_expand{leaf}" for leaf in ("", "_add", "_sub", "_mul", "_div", "_max", "_min", "_expdif")], paged=True)
def _column_expand(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    vector = call.args[1].type
    one_row = isinstance(vector, TileType) and all(constant(d) == 1 for d in vector.shape[:-1])
    return again(call, args) if one_row else _paged(call, args, work)


# -- products ----------------------------------------------------------------------------------------------------------------------


@flatten_rule("tile.batch_matmul", always=True, paged=True)
def _batch_matmul(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return page_by_page(call, args, work, lambda operands: work.call("tile.matmul", operands))


@flatten_rule("tile.batch_matmul_acc", always=True, paged=True)
def _batch_matmul_acc(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return page_by_page(call, args, work, lambda operands: work.call("tile.matmul_acc", operands), args[0])


# -- transposition -----------------------------------------------------------------------------------------------------------------


@flatten_rule("tile.transpose_view", paged=True, deferrable=True)
def _transpose_view(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    return _paged(call, args, work)


@flatten_rule("tile.transpose", always=True, paged=True)
def _transpose(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    tile = call.args[0].type
    assert isinstance(tile, TileType)
    if not is_deep(call.args[0]):
        return _with_scratch(call, args, work)
    rank = len(tile.shape)
    axes = sorted(value % rank for value in map(constant, call.args[1:3]) if value is not None)
    if axes == [rank - 2, rank - 1]:
        swap = [index_const(0), index_const(1)]

        def turn(operands: list[Expr]) -> Expr:
            page = operands[0].type
            assert isinstance(page, TileType)
            room = work.blank("transpose__tmp", page.shape, page)
            return work.call("tile.transpose", [operands[0], *swap, room])

        return page_by_page(call, args, work, turn)
    if axes[-1] == rank - 1:
        raise InvalidValueError(
            f"tile.transpose of the axes {axes[0]} and {axes[1]} of a tile of {rank} dimensions has no two-dimensional form",
            call.span,
            hint="transpose the last two axes, or two of the leading ones",
        )
    return _rows_moved(call, args[0], axes, work)


def _with_scratch(call: Call, args: list[Expr], work: Rewriting) -> Expr:
    if len(args) == 3:
        type_ = args[0].type
        assert isinstance(type_, TileType)
        return again(call, [*args, work.blank("transpose__tmp", type_.shape, type_)])
    return call if all(a is b for a, b in zip(args, call.args, strict=True)) else again(call, args)


def _rows_moved(call: Call, flat: Expr, axes: Sequence[int], work: Rewriting) -> Expr:
    """Two leading axes swapped: blocks of rows change places."""
    tile, made = call.args[0].type, flat_type(call.type, call.span)
    assert isinstance(tile, TileType) and isinstance(made, TileType)
    dims = constant_shape(tile, call.span)
    inner = prod(dims[axes[1] + 1 : -1])
    outer = dims[: axes[1] + 1]
    target: Expr = work.blank("pages__tmp", made.shape, made)
    swapped = [*outer]
    swapped[axes[0]], swapped[axes[1]] = swapped[axes[1]], swapped[axes[0]]
    for at, place in enumerate(product(*[range(d) for d in swapped])):
        source = [*place]
        source[axes[0]], source[axes[1]] = source[axes[1]], source[axes[0]]
        number = 0
        for index, extent in zip(source, outer, strict=True):
            number = number * extent + index
        target = work.put(target, work.rows(flat, number * inner, inner), at * inner)
    if isinstance(target.type, TileType) and not same_dims(target.type.valid_shape, made.valid_shape):
        return work.call("tile.set_validshape", [target, *made.valid_shape])
    return target
