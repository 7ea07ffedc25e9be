"""Conversions that make, cut, join and turn tiles, or reach global memory by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ForKind, MemorySpace
from pypto.ir.expr import ConstInt, Expr, IterArg, MakeTuple, Var, index_const
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, ForStmt, YieldStmt, body_of
from pypto.ir.types import ScalarType, TensorType, TileType, static_dims
from pypto.ops.region import constant, entries, same, same_dims
from pypto.passes.convert_tensor_to_tile_ops.conversions import Args, Kwargs, blank, index_like, number
from pypto.passes.op_conversion import ConversionContext, op_conversion, tile_type


@op_conversion("tensor.create")
def _create(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    init = kwargs.get("init_value")
    dtype = kwargs["dtype"]
    assert isinstance(dtype, DataType)
    if isinstance(init, int | float):
        return ctx.call("tile.full", [args[0], number(init, dtype)], {"dtype": dtype})
    return ctx.call("tile.create", [args[0]], {"dtype": dtype, "target_memory": ctx.wanted or MemorySpace.Vec})


# -- slices ------------------------------------------------------------------------------------------------------------------------


def _given(args: Args, at: int) -> MakeTuple | None:
    """An optional list operand; None when it is omitted or empty."""
    operand = args[at] if at < len(args) else None
    return operand if isinstance(operand, MakeTuple) and operand.elements else None


@op_conversion("tensor.slice", loads_itself=True)
def _slice(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    source, shape, offset = args[:3]
    valid, drops = _given(args, 3), _given(args, 4)
    pad: dict[str, AttrValue] = {k: v for k, v in kwargs.items() if k == "pad_value"}
    if isinstance(source.type, TileType):
        begin = MakeTuple([index_like(e) for e in entries(offset)])
        clamp = kwargs.get("clamp", False) is True
        if clamp:
            _need_inside(source.type, shape, begin, span)
        left = len(source.type.shape) - (0 if drops is None else len(drops.elements))
        native = drops if drops is not None and left >= 2 else None
        extra: list[Expr] = [] if valid is None and native is None else [MakeTuple([]) if valid is None else valid]
        tile: Expr = ctx.call("tile.slice", [source, shape, begin, *extra, *([] if native is None else [native])], pad)
        return tile if drops is None or native is not None else _without(ctx, tile, drops)
    keywords: dict[str, AttrValue] = {"target_memory": ctx.wanted or MemorySpace.Vec}
    if kwargs.get("clamp", False):
        keywords["clamp"] = True
    tile = ctx.call("tile.load", [source, offset, shape, shape if valid is None else valid], keywords)
    if pad and not same_dims(tile_type(tile).valid_shape, tile_type(tile).shape):
        zeros = MakeTuple([index_const(0) for _ in entries(shape)])
        tile = ctx.call("tile.slice", [ctx.let("slice__tile", tile), shape, zeros], pad)
    return tile if drops is None else _without(ctx, tile, drops)


def _need_inside(source: TileType, shape: Expr, offset: MakeTuple, span: Span) -> None:
    for dim, begin, extent in zip(source.shape, offset.elements, entries(shape), strict=True):
        whole, start, size = constant(dim), constant(begin), constant(extent)
        if whole is None or start is None or size is None or start + size > whole:
            raise InvalidValueError(
                "tensor.slice with clamp of a value that lives on chip needs a window that surely lies inside it",
                span,
                hint="slice the tensor in global memory before computing with it",
            )


def _without(ctx: ConversionContext, tile: Expr, drops: MakeTuple) -> Expr:
    """A tile without some dimensions of extent 1; at least two remain, for a tile has no fewer."""
    shape = tile_type(tile).shape
    dropped = {e.value % len(shape) for e in drops.elements if isinstance(e, ConstInt)}
    kept = [d for at, d in enumerate(shape) if at not in dropped]
    while len(kept) < 2:
        kept.insert(0, index_const(1))
    if same_dims(kept, shape):
        return tile
    return ctx.call("tile.reshape", [ctx.let("slice__tile", tile), MakeTuple(kept)])


# -- writing -----------------------------------------------------------------------------------------------------------------------


@op_conversion("tensor.assemble", loads_itself=True, keeps=0)
def _assemble(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    target, source, offset = args
    if isinstance(target.type, TileType):
        if kwargs.get("atomic", 0):
            raise InvalidValueError("tensor.assemble adds atomically only to a tensor in global memory", span)
        return ctx.call("tile.assemble", [target, ctx.tile(source), offset])
    return ctx.call("tile.store", [ctx.tile(source), offset, target], kwargs)


def _on_either(leaf: str) -> None:
    """Stays what it is on a tensor in global memory, becomes the tile form on a tile."""

    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        return ctx.call(f"tile.{leaf}" if isinstance(args[0].type, TileType) else f"tensor.{leaf}", args, kwargs)

    op_conversion(f"tensor.{leaf}", loads_itself=True)(convert)


_on_either("read")
_on_either("write")


# -- shapes ------------------------------------------------------------------------------------------------------------------------


@op_conversion("tensor.dim", loads_itself=True)
def _dim(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    if not isinstance(args[0].type, TileType):
        return ctx.call("tensor.dim", args, kwargs)
    axis = args[1]
    assert isinstance(axis, ConstInt)
    return args[0].type.shape[axis.value]


@op_conversion("tensor.reshape")
def _reshape(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    return _reshaped(ctx, args[0], args[1], _given(args, 2), span)


@op_conversion("tensor.view", loads_itself=True, keeps=0)
def _view(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    source = args[0]
    if not isinstance(source.type, TileType):
        return ctx.call("tensor.view", args, kwargs)
    if "layout" in kwargs:
        raise InvalidValueError("tensor.view cannot change the layout of a value that lives on chip", span)
    return _reshaped(ctx, source, args[1], _given(args, 2), span)


def _reshaped(ctx: ConversionContext, source: Expr, shape: Expr, valid: MakeTuple | None, span: Span) -> Expr:
    tile = ctx.call("tile.reshape", [source, shape])
    if valid is None:
        return tile
    return _with_valid(ctx, tile, valid.elements, span)


def _with_valid(ctx: ConversionContext, tile: Expr, valid: Sequence[Expr], span: Span) -> Expr:
    if same_dims(tile_type(tile).valid_shape, valid):
        return tile
    if len(valid) != 2:
        raise InvalidValueError("a valid shape can be given to a value on chip only in two dimensions", span)
    return ctx.call("tile.set_validshape", [ctx.let("whole__tile", tile), *valid])


@op_conversion("tensor.transpose")
def _transpose(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    tile = ctx.call("tile.transpose", args[:3], kwargs)
    valid = _given(args, 3)
    return tile if valid is None else _with_valid(ctx, tile, valid.elements, span)


@op_conversion("tensor.expand_clone", loads_itself=True)
def _expand_clone(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    """Along the last two axes one expansion; along the first, page after page."""
    source, like = ctx.tile(args[0]), args[1].type
    assert isinstance(like, TensorType | TileType)
    have, want = tile_type(source), like.shape
    grown = [at for at in range(3) if not same(have.shape[at], want[at])]
    if not grown:
        return ctx.call("tile.move", [source], {"target_memory": MemorySpace.Vec})
    target = blank(ctx, "clone__tmp", want, have.dtype)
    if grown[0] == 2:
        return ctx.call("tile.row_expand", [target, source])
    if grown[0] == 1:
        return ctx.call("tile.col_expand", [target, source])
    page = Var("page__idx", ScalarType(DataType.INDEX), ctx.span)
    carried = IterArg("clone__tile", target.type, target, ctx.span)
    zeros: list[Expr] = [index_const(0), index_const(0)]
    filled = Var("clone__tile", target.type, ctx.span)
    body = body_of(
        [
            AssignStmt(filled, ctx.call("tile.assemble", [carried, source, MakeTuple([page, *zeros])]), ctx.span),
            YieldStmt([filled], ctx.span),
        ],
        ctx.span,
    )
    result = Var("clone__tile", target.type, ctx.span)
    ctx.emit(ForStmt(page, index_const(0), want[0], index_const(1), [carried], body, [result], ctx.span, ForKind.Sequential))
    return result


# -- by index ----------------------------------------------------------------------------------------------------------------------


def _counted(ctx: ConversionContext, count: int) -> Expr:
    """A row of INT32: 0, 1, 2, ..., of at least two elements."""
    start = ConstInt(0, DataType.INT32)
    return ctx.let(
        "count__tile", ctx.call("tile.ci", [start, MakeTuple([index_const(1), index_const(count)])], {"dtype": DataType.INT32})
    )


def _int32(ctx: ConversionContext, index: Expr) -> Expr:
    if tile_type(index).dtype is DataType.INT32:
        return index
    return ctx.let("index__tile", ctx.call("tile.cast", [index], {"target_type": DataType.INT32, "mode": 0}))


def _times(ctx: ConversionContext, tile: Expr, factor: int) -> Expr:
    return ctx.let("index__tile", ctx.call("tile.muls", [tile, ConstInt(factor, DataType.INT32)]))


@op_conversion("tensor.gather")
def _gather(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    """Positions along an axis become positions counted row by row."""
    source, index = args[0], _int32(ctx, args[1])
    shape, extents = static_dims(tile_type(source).shape), static_dims(tile_type(index).shape)
    dim = kwargs["dim"]
    assert isinstance(dim, int)
    if shape is None or extents is None or len(shape) != 2:
        raise InvalidValueError(
            "no registered tile conversion for 'tensor.gather' of other than two constant dimensions", span, hint="reshape first"
        )
    rows, columns = extents
    if dim % 2 == 0:
        index = _times(ctx, index, shape[1])
        if columns > 1:
            index = ctx.let("index__tile", ctx.call("tile.col_expand_add", [index, _counted(ctx, columns)]))
    elif rows > 1:
        column = ctx.let(
            "count__tile", ctx.call("tile.reshape", [_counted(ctx, rows), MakeTuple([index_const(rows), index_const(1)])])
        )
        begins = _times(ctx, column, shape[1])
        valid = tile_type(index).valid_shape
        if not same(valid[0], tile_type(begins).valid_shape[0]):
            begins = ctx.let("count__tile", ctx.call("tile.set_validshape", [begins, valid[0], index_const(1)]))
        index = ctx.let("index__tile", ctx.call("tile.row_expand_add", [index, begins]))
    room = blank(ctx, "scratch__tmp", tile_type(index).shape, DataType.INT32)
    return ctx.call("tile.gather", [source, index, room])


@op_conversion("tensor.scatter_update", loads_itself=True, keeps=0)
def _scatter_update(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    """Rows of a tile are replaced by its own operator; rows of a tensor by putting every element in its place."""
    target = args[0]
    index, source = ctx.tile(args[1]), ctx.tile(args[2])
    if isinstance(target.type, TileType):
        return ctx.call("tile.scatter_update", [target, index, source], kwargs)
    extents, wide = static_dims(tile_type(index).shape), static_dims(tile_type(source).shape)
    if extents is None or wide is None:
        raise InvalidValueError("tensor.scatter_update inside a kernel needs constant extents of index and source", span)
    count, columns = extents[0] * extents[1], wide[-1]
    column = ctx.call("tile.reshape", [_int32(ctx, index), MakeTuple([index_const(count), index_const(1)])])
    begins = _times(ctx, ctx.let("index__tile", column), columns)
    dims = MakeTuple([index_const(count), index_const(columns)])
    flat = ctx.let("source__tile", ctx.call("tile.reshape", [source, dims]))
    places = blank(ctx, "place__tmp", dims.elements, DataType.INT32)
    place = ctx.let("place__tile", ctx.call("tile.row_expand", [places, begins]))
    if columns > 1:
        place = ctx.let("place__tile", ctx.call("tile.col_expand_add", [place, _counted(ctx, columns)]))
    return ctx.call("tile.mscatter", [flat, place, target])
