"""Conversions with logic of their own; the rest follow from ``tile_form`` in the vocabulary.

Operands arrive as tiles, unless the conversion loads for itself (slice, matmul, read, write, assemble, dim).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import CastMode, MemorySpace
from pypto.ir.expr import ConstInt, Expr, MakeTuple, index_const
from pypto.ir.span import Span
from pypto.ir.types import ScalarType, TensorType, TileType, static_dims
from pypto.passes.op_conversion import ConversionContext, op_conversion, tile_type

Args = Sequence[Expr]
Kwargs = Mapping[str, AttrValue]

VECTOR_BYTES = 256
"""Width of the vector unit; scratch rows of reductions are padded to it."""
MIN_SCRATCH_ELEMENTS = 128
"""Least length of a scratch row."""


def _is_column(value: Expr) -> bool:
    type_ = value.type
    last = static_dims(type_.shape[-1:]) if isinstance(type_, TileType) and len(type_.shape) >= 2 else None
    return last == (1,)


def _broadcasting(leaf: str) -> None:
    """Elementwise with a row broadcast: when exactly one operand is a column, the row-expanding form of the operator."""
    commutes = leaf in _COMMUTING

    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        left, right = args
        if isinstance(right.type, TileType) and _is_column(right) and not _is_column(left):
            return ctx.call(f"tile.row_expand_{leaf}", [left, right], kwargs)
        if commutes and isinstance(right.type, TileType) and _is_column(left) and not _is_column(right):
            return ctx.call(f"tile.row_expand_{leaf}", [right, left], kwargs)
        return ctx.call(f"tile.{leaf}", [left, right], kwargs)

    op_conversion(f"tensor.{leaf}")(convert)


_COMMUTING = frozenset(("add", "mul"))
for _leaf in ("add", "sub", "mul"):
    _broadcasting(_leaf)


@op_conversion("tensor.div")
def _div(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    left, right = (_as_dtype(ctx, a, _common_dtype(args)) for a in args)
    dtype = tile_type(left).dtype
    row_form = _is_column(right) and not _is_column(left) and not kwargs.get("high_precision", False)
    if row_form and dtype in (DataType.FP16, DataType.FP32):
        return ctx.call("tile.row_expand_div", [left, right])
    return ctx.call("tile.div", [left, right], kwargs)


def _common_dtype(args: Args) -> DataType:

    return promote(tile_type(args[0]).dtype, tile_type(args[1]).dtype)


def _as_dtype(ctx: ConversionContext, value: Expr, dtype: DataType) -> Expr:
    if tile_type(value).dtype is dtype:
        return value
    cast = ctx.call("tile.cast", [value], {"target_type": dtype, "mode": int(CastMode.round)})
    return ctx.let("promoted__tile", cast)


def _with_scalar_form(leaf: str) -> None:
    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        name = f"tile.{leaf}s" if isinstance(args[1].type, ScalarType) else f"tile.{leaf}"
        return ctx.call(name, args, kwargs)

    op_conversion(f"tensor.{leaf}")(convert)


for _leaf in ("maximum", "minimum"):
    _with_scalar_form(_leaf)


def _with_scratch(tensor_op: str, tile_op: str) -> None:
    """Operators whose tile form needs a scratch tile like the left operand."""

    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        return ctx.call(tile_op, [*args, scratch(ctx, tile_type(args[0]))], kwargs)

    op_conversion(tensor_op)(convert)


for _leaf in ("xor", "xors"):
    _with_scratch(f"tensor.{_leaf}", f"tile.{_leaf}")


@op_conversion("tensor.rsqrt")
def _rsqrt(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    extra = [scratch(ctx, tile_type(args[0]))] if kwargs.get("high_precision", False) else []
    return ctx.call("tile.rsqrt", [*args, *extra])


@op_conversion("tensor.transpose")
def _transpose(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    return ctx.call("tile.transpose", args[:3], kwargs)


def scratch(ctx: ConversionContext, like: TileType, shape: Sequence[Expr] | None = None) -> Expr:
    """A fresh scratch tile of the element type of ``like``."""
    dims = MakeTuple(like.shape if shape is None else shape)
    created = ctx.call("tile.create", [dims], {"dtype": like.dtype, "target_memory": MemorySpace.Vec})
    return ctx.let("scratch__tmp", created)


def _row_reduction(leaf: str) -> None:
    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        source = tile_type(args[0])
        last = static_dims(source.shape[-1:])
        if last is None:
            raise InvalidValueError(f"{leaf} inside a kernel needs a constant last dimension", span)
        width = max(1, VECTOR_BYTES // source.dtype.get_byte())
        padded = max(MIN_SCRATCH_ELEMENTS, -(-last[0] // width) * width)
        return ctx.call(f"tile.{leaf}", [args[0], scratch(ctx, source, [*source.shape[:-1], index_const(padded)])])

    op_conversion(f"tensor.{leaf}")(convert)


for _leaf in ("row_sum", "row_max", "row_min", "row_prod"):
    _row_reduction(_leaf)

for _leaf in ("row_argmax", "row_argmin", "col_argmax", "col_argmin"):
    _with_scratch(f"tensor.{_leaf}", f"tile.{_leaf}")


@op_conversion("tensor.create")
def _create(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    init = kwargs.get("init_value")
    dtype = kwargs["dtype"]
    if init is not None and isinstance(dtype, DataType) and isinstance(init, int | float):
        from pypto.ir.expr import ConstFloat

        value = ConstFloat(float(init), dtype) if dtype.is_float() else ConstInt(int(init), dtype)
        return ctx.call("tile.full", [args[0], value], {"dtype": dtype})
    return ctx.call("tile.create", [args[0]], {"dtype": dtype, "target_memory": MemorySpace.Vec})


@op_conversion("tensor.slice", loads_itself=True)
def _slice(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    source, shape, offset, *rest = args
    valid = rest[0] if rest and isinstance(rest[0], MakeTuple) and rest[0].elements else None
    drops = rest[1] if len(rest) > 1 and isinstance(rest[1], MakeTuple) and rest[1].elements else None
    if isinstance(source.type, TileType):
        extra = [*([valid] if valid is not None else [MakeTuple([])] if drops is not None else []), *([drops] if drops else [])]
        return ctx.call("tile.slice", [source, shape, offset, *extra], {k: v for k, v in kwargs.items() if k == "pad_value"})
    keywords: dict[str, AttrValue] = {"target_memory": MemorySpace.Vec}
    if kwargs.get("clamp", False):
        keywords["clamp"] = True
    tile: Expr = ctx.call("tile.load", [source, offset, shape, valid if valid is not None else shape], keywords)
    if "pad_value" in kwargs:
        tile = ctx.call("tile.fillpad", [ctx.let("slice__tile", tile)], {"pad_value": kwargs["pad_value"]})
    if drops is not None:
        dropped = {e.value % len(tile_type(tile).shape) for e in drops.elements if isinstance(e, ConstInt)}
        kept = [d for at, d in enumerate(tile_type(tile).shape) if at not in dropped]
        while len(kept) < 2:
            kept.insert(0, index_const(1))
        tile = ctx.call("tile.reshape", [ctx.let("slice__tile", tile), MakeTuple(kept)])
    return tile


@op_conversion("tensor.assemble", loads_itself=True, keeps=0)
def _assemble(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    target, source, offset = args
    if isinstance(target.type, TileType):
        return ctx.call("tile.assemble", [target, ctx.tile(source), offset])
    return ctx.call("tile.store", [ctx.tile(source), offset, target], kwargs)


@op_conversion("tensor.read", loads_itself=True)
def _read(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    name = "tile.read" if isinstance(args[0].type, TileType) else "tensor.read"
    return ctx.call(name, args, kwargs)


@op_conversion("tensor.write", loads_itself=True)
def _write(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    name = "tile.write" if isinstance(args[0].type, TileType) else "tensor.write"
    return ctx.call(name, args, kwargs)


@op_conversion("tensor.dim", loads_itself=True)
def _dim(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    if not isinstance(args[0].type, TileType):
        return ctx.call("tensor.dim", args, kwargs)
    axis = args[1]
    assert isinstance(axis, ConstInt)
    return args[0].type.shape[axis.value]


@op_conversion("tensor.view", loads_itself=True, keeps=0)
def _view(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    if isinstance(args[0].type, TileType) and len(args) == 2 and not kwargs:
        return ctx.call("tile.reshape", args)
    return ctx.call("tensor.view", args, kwargs)


def _matrix(ctx: ConversionContext, value: Expr, transposed: bool) -> Expr:
    """An operand of a matrix product in Mat space, with its last two axes swapped in place when asked."""
    if isinstance(value.type, TensorType):
        value = ctx.tile(value, MemorySpace.Mat)
    elif tile_type(value).memory_space is MemorySpace.Vec:
        value = ctx.let("matrix__tile", ctx.call("tile.move", [value], {"target_memory": MemorySpace.Mat}))
    return ctx.let("transposed__tile", ctx.call("tile.transpose_view", [value])) if transposed else value


@op_conversion("tensor.matmul", loads_itself=True)
def _matmul(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    left = _matrix(ctx, args[0], bool(kwargs.get("a_trans", False)))
    right = _matrix(ctx, args[1], bool(kwargs.get("b_trans", False)))
    batched = len(tile_type(left).shape) > 2 or len(tile_type(right).shape) > 2
    product: Expr = ctx.call("tile.batch_matmul" if batched else "tile.matmul", [left, right])
    wanted = kwargs.get("out_dtype")
    if isinstance(wanted, DataType) and tile_type(product).dtype is not wanted:
        return _as_dtype(ctx, ctx.let("product__tile", product), wanted)
    return product


@op_conversion("tensor.matmul_acc", loads_itself=True)
def _matmul_acc(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    acc, lhs, rhs, *condition = args
    left = _matrix(ctx, lhs, bool(kwargs.get("a_trans", False)))
    right = _matrix(ctx, rhs, bool(kwargs.get("b_trans", False)))
    target = ctx.tile(acc)
    batched = len(tile_type(target).shape) > 2
    return ctx.call("tile.batch_matmul_acc" if batched else "tile.matmul_acc", [target, left, right, *condition])
