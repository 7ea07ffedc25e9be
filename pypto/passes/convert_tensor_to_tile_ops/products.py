"""Conversions of matrix products: operands in Mat, sums in Acc, or on the vector unit when the sum so far lives there."""

from __future__ import annotations

from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import ConstBool, Expr
from pypto.ir.span import Span
from pypto.ir.types import TensorType, TileType
from pypto.passes.convert_tensor_to_tile_ops.conversions import Args, Kwargs, as_dtype
from pypto.passes.op_conversion import ConversionContext, op_conversion, tile_type

_OPERANDS = {0: MemorySpace.Mat, 1: MemorySpace.Mat}
_WITH_SUM = {0: MemorySpace.Acc, 1: MemorySpace.Mat, 2: MemorySpace.Mat}


def _dtype(value: Expr) -> DataType:
    type_ = value.type
    assert isinstance(type_, TensorType | TileType)
    return type_.dtype


def _exact(left: DataType, right: DataType) -> DataType:
    """An element type that holds the elements of both, of those that the multiplier sums without loss."""
    if left is right:
        return left
    return DataType.FP32 if promote(left, right).is_float() else DataType.INT32


def _matrix(ctx: ConversionContext, value: Expr, dtype: DataType, transposed: bool) -> Expr:
    """An operand of a matrix product in Mat, with its last two axes swapped in place when asked."""
    if _dtype(value) is not dtype:
        value = as_dtype(ctx, ctx.tile(value), dtype)
    value = ctx.tile(value, MemorySpace.Mat)
    if tile_type(value).memory_space in (MemorySpace.Vec, MemorySpace.Acc):
        value = ctx.let("matrix__tile", ctx.call("tile.move", [value], {"target_memory": MemorySpace.Mat}))
    return ctx.let("transposed__tile", ctx.call("tile.transpose_view", [value])) if transposed else value


def _pair(ctx: ConversionContext, left: Expr, right: Expr, kwargs: Kwargs) -> tuple[Expr, Expr]:
    dtype = _exact(_dtype(left), _dtype(right))
    return (
        _matrix(ctx, left, dtype, bool(kwargs.get("a_trans", False))),
        _matrix(ctx, right, dtype, bool(kwargs.get("b_trans", False))),
    )


def _batched(*operands: Expr) -> str:
    return "batch_matmul" if any(len(tile_type(o).shape) > 2 for o in operands) else "matmul"


@op_conversion("tensor.matmul", loads_itself=True, spaces=_OPERANDS)
def _matmul(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    left, right = _pair(ctx, args[0], args[1], kwargs)
    product: Expr = ctx.call(f"tile.{_batched(left, right)}", [left, right])
    wanted = ctx.result_dtype(product)
    return product if tile_type(product).dtype is wanted else as_dtype(ctx, ctx.let("product__tile", product), wanted)


@op_conversion("tensor.matmul_acc", loads_itself=True, spaces=_WITH_SUM)
def _matmul_acc(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    target = ctx.tile(args[0])
    left, right = _pair(ctx, args[1], args[2], kwargs)
    leaf = _batched(target, left, right)
    start = args[3] if len(args) > 3 else None
    if isinstance(start, ConstBool):
        if start.value:
            return ctx.call(f"tile.{leaf}", [left, right])
        start = None
    on_vector = tile_type(target).memory_space is not MemorySpace.Acc
    if on_vector and start is None:
        product = ctx.let("product__tile", ctx.call(f"tile.{leaf}", [left, right]))
        return ctx.call("tile.add", [target, product])
    if on_vector:
        target = ctx.let("sum__tile", ctx.call("tile.move", [target], {"target_memory": MemorySpace.Acc}))
    return ctx.call(f"tile.{leaf}_acc", [target, left, right, *([] if start is None else [start])])
