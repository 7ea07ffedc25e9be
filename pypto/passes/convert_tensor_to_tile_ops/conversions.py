"""Conversions of arithmetic with logic of its own; those that rename follow from ``tile_form`` in the vocabulary.

Operands arrive as tiles, unless the conversion loads for itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir.arith import Analyzer
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import CastMode, MemorySpace
from pypto.ir.expr import ConstFloat, ConstInt, Expr, MakeTuple, index_const
from pypto.ir.scalar import ge
from pypto.ir.span import Span
from pypto.ir.types import ScalarType, TileType, static_dims
from pypto.ops.region import constant, same, same_dims, text_of
from pypto.passes.op_conversion import ConversionContext, op_conversion, tile_type

Args = Sequence[Expr]
Kwargs = Mapping[str, AttrValue]

VECTOR_BYTES = 256
"""Width of the vector unit; scratch rows of reductions are padded to it."""
MIN_SCRATCH_ELEMENTS = 128
"""Least length of a scratch row."""


# -- what conversions share ------------------------------------------------------------------------------------------------------


def is_column(value: Expr) -> bool:
    """True for a tile whose last dimension is 1."""
    type_ = value.type
    return isinstance(type_, TileType) and len(type_.shape) >= 2 and constant(type_.shape[-1]) == 1


def as_dtype(ctx: ConversionContext, value: Expr, dtype: DataType) -> Expr:
    """A tile with elements of ``dtype``: itself, or the result of an explicit cast."""
    if tile_type(value).dtype is dtype:
        return value
    cast = ctx.call("tile.cast", [value], {"target_type": dtype, "mode": int(CastMode.round)})
    return ctx.let("promoted__tile", cast)


def promoted_pair(ctx: ConversionContext, args: Args) -> tuple[Expr, Expr]:
    """Two tiles cast to their common element type."""
    dtype = promote(tile_type(args[0]).dtype, tile_type(args[1]).dtype)
    return as_dtype(ctx, args[0], dtype), as_dtype(ctx, args[1], dtype)


def scratch(ctx: ConversionContext, like: TileType, shape: Sequence[Expr] | None = None) -> Expr:
    """A fresh scratch tile of the element type of ``like``."""
    return blank(ctx, "scratch__tmp", like.shape if shape is None else shape, like.dtype)


def blank(
    ctx: ConversionContext, name: str, shape: Sequence[Expr], dtype: DataType, space: MemorySpace = MemorySpace.Vec
) -> Expr:
    """A fresh tile that holds nothing yet."""
    return ctx.let(name, ctx.call("tile.create", [MakeTuple(shape)], {"dtype": dtype, "target_memory": space}))


def spread(ctx: ConversionContext, value: Expr, like: Expr) -> Expr:
    """A tile repeated along the dimensions in which it has extent 1 and ``like`` has more; only the type of ``like`` counts."""
    wanted = tile_type(like).shape
    shape = tile_type(value).shape
    if same_dims(shape, wanted):
        return value
    if len(shape) < len(wanted):
        lead: list[Expr] = [index_const(1)] * (len(wanted) - len(shape))
        value = ctx.let("spread__tile", ctx.call("tile.reshape", [value, MakeTuple([*lead, *shape])]))
        shape = tile_type(value).shape
    if not same_dims(shape[:-2], wanted[:-2]):
        # whole pages are repeated by an exact product, for which no expansion exists
        ones = ctx.let("ones__tile", ctx.call("tile.expands", [like, number(1, tile_type(like).dtype)]))
        return ctx.let("spread__tile", ctx.call("tile.mul", [ones, value]))
    if constant(shape[-2]) == 1 and constant(wanted[-2]) != 1:
        narrow = constant(shape[-1]) == 1 and constant(wanted[-1]) != 1
        target = like
        if narrow:
            target = blank(ctx, "spread__tmp", [*wanted[:-1], shape[-1]], tile_type(value).dtype)
        value = ctx.let("spread__tile", ctx.call("tile.col_expand", [target, value]))
        if not narrow:
            return as_dtype(ctx, value, tile_type(like).dtype)
    return ctx.let("spread__tile", ctx.call("tile.row_expand", [like, value]))


def index_like(value: Expr) -> Expr:
    """An offset as INDEX, which slices of tiles insist on."""
    type_ = value.type
    if isinstance(type_, ScalarType) and type_.dtype not in (DataType.INDEX, DataType.INT64, DataType.UINT64):
        from pypto.ir.scalar import cast

        return cast(value, DataType.INDEX)
    return value


# -- sums, differences, products ---------------------------------------------------------------------------------------------------


def _broadcasting(leaf: str, commutes: bool) -> None:
    """Elementwise with a row broadcast: when exactly one operand is a column, the row-expanding form of the operator where it has one."""

    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        if isinstance(args[1].type, ScalarType):
            return ctx.call(f"tile.{leaf}s", [as_dtype(ctx, args[0], ctx.result_dtype(args[0])), args[1]], kwargs)
        wide, narrow = left, right = promoted_pair(ctx, args)
        if commutes and is_column(left) and not is_column(right):
            wide, narrow = right, left
        if is_column(narrow) and not is_column(wide):
            return ctx.first_accepted((f"tile.row_expand_{leaf}", [wide, narrow]), (f"tile.{leaf}", [left, right]))
        return ctx.call(f"tile.{leaf}", [left, right], kwargs)

    op_conversion(f"tensor.{leaf}")(convert)


_broadcasting("add", True)
_broadcasting("sub", False)
_broadcasting("mul", True)


# -- quotients ---------------------------------------------------------------------------------------------------------------------


@op_conversion("tensor.div")
def _div(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    if isinstance(args[1].type, ScalarType):
        return ctx.call("tile.divs", [as_dtype(ctx, args[0], ctx.result_dtype(args[0])), args[1]])
    left, right = promoted_pair(ctx, args)
    _need_cover(left, right, span)
    one, other = tile_type(left), tile_type(right)
    by_column = is_column(right) and not is_column(left) and same_dims(one.shape[:-1], other.shape[:-1])
    if by_column and one.dtype in (DataType.FP16, DataType.FP32) and not kwargs.get("high_precision", False):
        return ctx.call("tile.row_expand_div", [left, right])
    left, right = _alike(ctx, left, right)
    if len(tile_type(left).shape) == 2 and not same_dims(tile_type(left).valid_shape, tile_type(right).valid_shape):
        right = ctx.let("divisor__tile", ctx.call("tile.set_validshape", [right, *tile_type(left).valid_shape]))
    return ctx.call("tile.div", [left, right], kwargs)


def _alike(ctx: ConversionContext, left: Expr, right: Expr) -> tuple[Expr, Expr]:
    """Both operands in the shape of the result; a column over a row meets in a tile that neither of them is."""
    shape = ctx.result_shape(left)
    wide = [o for o in (left, right) if same_dims(tile_type(o).shape, shape)]
    like = wide[0] if wide else blank(ctx, "spread__tmp", shape, tile_type(left).dtype)
    return spread(ctx, left, like), spread(ctx, right, like)


def _need_cover(left: Expr, right: Expr, span: Span) -> None:
    """Refuse a divisor that may hold nothing where the dividend holds something.

    Raises:
        InvalidValueError: its valid region does not provably reach as far as the dividend's.
    """
    one, other = tile_type(left), tile_type(right)
    names = {1: "columns", 2: "rows"}
    for back in range(1, min(len(one.shape), len(other.shape)) + 1):
        dim, has, needs = other.shape[-back], other.valid_shape[-back], one.valid_shape[-back]
        if same(has, dim) or (constant(dim) == 1 and constant(one.shape[-back]) != 1 and constant(has) == 1):
            continue
        if not (same(has, needs) or Analyzer().can_prove(ge(has, needs))):
            what = names.get(back, "pages")
            raise InvalidValueError(
                f"tensor.div needs a divisor with at least as many valid {what} as the dividend: {text_of(other.valid_shape)} does not "
                f"provably cover {text_of(one.valid_shape)}",
                span,
                hint="fill the divisor first: pl.fillpad(...), or narrow the dividend's valid shape",
            )


# -- comparisons, larger and smaller -----------------------------------------------------------------------------------------------


def _with_scalar_form(leaf: str) -> None:
    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        if isinstance(args[1].type, ScalarType):
            return ctx.call(f"tile.{leaf}s", [as_dtype(ctx, args[0], ctx.result_dtype(args[0])), args[1]], kwargs)
        return ctx.call(f"tile.{leaf}", promoted_pair(ctx, args), kwargs)

    op_conversion(f"tensor.{leaf}")(convert)


for _leaf in ("maximum", "minimum"):
    _with_scalar_form(_leaf)


@op_conversion("tensor.cmp")
def _cmp(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    """A packed mask, then one or zero by its bits."""
    dtype = ctx.result_dtype(args[0])
    left = as_dtype(ctx, args[0], dtype)
    like = left
    if isinstance(args[1].type, ScalarType):
        mask = ctx.call("tile.cmps", [left, args[1]], kwargs)
    else:
        right = as_dtype(ctx, args[1], dtype)
        mask = ctx.call("tile.cmp", [left, right], kwargs)
        shape = ctx.result_shape(left)
        wide = [o for o in (left, right) if same_dims(tile_type(o).shape, shape)]
        like = wide[0] if wide else blank(ctx, "like__tmp", shape, dtype)
    mask = ctx.let("mask__tile", mask)
    ones = ctx.let("ones__tile", ctx.call("tile.expands", [like, number(1, dtype)]))
    zeros = ctx.let("zeros__tile", ctx.call("tile.expands", [like, number(0, dtype)]))
    return ctx.call("tile.sel", [mask, ones, zeros, scratch(ctx, tile_type(mask))])


def number(value: float, dtype: DataType) -> Expr:
    """A constant of an element type."""
    return ConstFloat(float(value), dtype) if dtype.is_float() else ConstInt(int(value), dtype)


# -- scratch tiles -----------------------------------------------------------------------------------------------------------------


def _with_scratch(tensor_op: str, tile_op: str) -> None:
    """Operators whose tile form needs a scratch tile like the left operand."""

    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        first = tile_type(args[0])
        operands = [*args]
        if len(args) > 1:
            dtype = ctx.result_dtype(args[0])
            operands = [as_dtype(ctx, a, dtype) if isinstance(a.type, TileType) else a for a in args]
            first = tile_type(operands[0])
        name = f"{tile_op}s" if len(args) > 1 and isinstance(args[1].type, ScalarType) and not tile_op.endswith("s") else tile_op
        return ctx.call(name, [*operands, scratch(ctx, first)], kwargs)

    op_conversion(tensor_op)(convert)


for _leaf in ("xor", "xors", "row_argmax", "row_argmin", "col_argmax", "col_argmin"):
    _with_scratch(f"tensor.{_leaf}", f"tile.{_leaf}")


@op_conversion("tensor.rsqrt")
def _rsqrt(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    extra = [scratch(ctx, tile_type(args[0]))] if kwargs.get("high_precision", False) else []
    return ctx.call("tile.rsqrt", [*args, *extra])


def _row_reduction(leaf: str) -> None:
    def convert(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        source = tile_type(args[0])
        last = static_dims(source.shape[-1:])
        if last is None:
            raise InvalidValueError(f"{leaf} inside a kernel needs a constant last dimension", span)
        tile = args[0]
        if len(source.shape) == 1:
            tile = ctx.let("row__tile", ctx.call("tile.reshape", [tile, MakeTuple([index_const(1), *source.shape])]))
            source = tile_type(tile)
        width = max(1, VECTOR_BYTES // source.dtype.get_byte())
        padded = max(MIN_SCRATCH_ELEMENTS, -(-last[0] // width) * width)
        return ctx.call(f"tile.{leaf}", [tile, scratch(ctx, source, [*source.shape[:-1], index_const(padded)])])

    op_conversion(f"tensor.{leaf}")(convert)


for _leaf in ("row_sum", "row_max", "row_min", "row_prod"):
    _row_reduction(_leaf)
