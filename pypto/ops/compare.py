"""Comparison and selection. A comparison of tiles packs its truth values into bits, one of tensors gives 0 or 1 in the element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import ConstInt, Expr, index_const
from pypto.ir.types import ScalarType, Type, static_dims
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, ResultSpec, op
from pypto.ops.region import Array, Keywords, tile_of
from pypto.ops.rules import broadcast, broadcasting, need_dtypes, shaped, with_scalar
from pypto.diagnostics import InvalidValueError

COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
"""By ``cmp_type``: eq, ne, lt, le, gt, ge."""

PACKED_ALIGNMENT = 32
"""Rows of a packed mask are padded to this many bytes."""

_CMP_TYPE = Param("cmp_type", Kind.INT, default=0, stored=True, doc="0 eq, 1 ne, 2 lt, 3 le, 4 gt, 5 ge")


def compared(lhs: Array, rhs: Any, cmp_type: int = 0) -> Array:
    """Truth values of a comparison."""
    return COMPARISONS[cmp_type](lhs, rhs)


def packed(lhs: Array, rhs: Any, out: ResultSpec, cmp_type: int = 0) -> Array:
    """Truth values of a comparison, eight to a byte, the first element in the lowest bit."""
    bits = np.packbits(compared(lhs, rhs, cmp_type), axis=-1, bitorder="little")
    result = np.zeros(out.shape, np.uint8)
    result[..., : bits.shape[-1]] = bits
    return result


def numbers(lhs: Array, rhs: Any, out: ResultSpec, cmp_type: int = 0) -> Array:
    """Truth values of a comparison as 0 and 1."""
    return compared(lhs, rhs, cmp_type).astype(out.dtype)


def _check_type(declaration: Declaration, kwargs: Keywords) -> None:
    value = kwargs.get("cmp_type", 0)
    if not isinstance(value, int) or not 0 <= value < len(COMPARISONS):
        raise InvalidValueError(f"{declaration.name} takes cmp_type from 0 to 5, got {value!r}", hint=_CMP_TYPE.doc)


def _packed_extent(declaration: Declaration, extent: Expr, padded: bool) -> Expr:
    if not isinstance(extent, ConstInt):
        if padded:
            raise OperandError(f"{declaration.name} needs a constant last dimension", 0)
        from pypto.ir.scalar import add, floordiv

        return floordiv(add(extent, index_const(7)), index_const(8))
    needed = -(-extent.value // 8)
    return index_const(-(-needed // PACKED_ALIGNMENT) * PACKED_ALIGNMENT if padded else needed)


def _packed_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    _check_type(declaration, kwargs)
    first: Any = args[0].type
    tiles = [at for at in range(2) if not isinstance(args[at].type, ScalarType)]
    shape = broadcast(declaration, args, tiles)
    valid = first.valid_shape if len(first.shape) == len(shape) else shape
    return tile_of(
        [*shape[:-1], _packed_extent(declaration, shape[-1], True)],
        DataType.UINT8,
        MemorySpace.Vec,
        [*valid[:-1], _packed_extent(declaration, valid[-1], False)],
    )


def _numbers_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    _check_type(declaration, kwargs)
    if isinstance(args[1].type, ScalarType):
        return with_scalar(promotes=True)(declaration, args, kwargs)
    return broadcasting()(declaration, args, kwargs)


for _leaf, _right in (("cmp", Param("rhs", Kind.TILE)), ("cmps", Param("rhs", Kind.SCALAR, stamp="lhs"))):
    op(
        f"tile.{_leaf}",
        params=[Param("lhs", Kind.TILE), _right, _CMP_TYPE],
        result=_packed_rule,
        meaning=packed,
        lanes=Lanes.ELEMENTWISE,
        memory=MemorySpace.Vec,
        short=True,
        doc="Comparison of each element; the result is a mask with one bit for each, rows padded to 32 bytes.",
    )
op(
    "tensor.cmp",
    params=[Param("lhs", Kind.TENSOR), Param("rhs", Kind.SHAPED_OR_SCALAR, stamp="lhs"), _CMP_TYPE],
    result=_numbers_rule,
    meaning=numbers,
    lanes=Lanes.ELEMENTWISE,
    short=True,
    doc="Comparison of each element; the result is 0 or 1 in the common element type.",
)


def unpacked(mask: Array, shape: tuple[int, ...]) -> Array:
    """The truth values of a packed mask, for elements of ``shape``; False where the mask has no bit for them."""
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), axis=-1, bitorder="little")
    region = tuple([slice(0, min(b, s)) for b, s in zip(bits.shape, shape, strict=True)])
    truth = np.zeros(shape, np.bool_)
    truth[region] = bits[region]
    return truth


def selected(mask: Array, lhs: Array, rhs: Array, tmp: Array | None = None) -> Array:
    """The left element where the mask has a bit, else the right one."""
    shape = np.broadcast_shapes(lhs.shape, rhs.shape)
    return np.where(unpacked(mask, shape), lhs, rhs).astype(np.result_type(lhs, rhs))


def selected_or_scalar(mask: Array, src: Array, tmp: Array, scalar: Any) -> Array:
    """The element where the mask has a bit, else the scalar."""
    return np.where(unpacked(mask, src.shape), src, src.dtype.type(scalar))


def _select_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    left: Any = args[1].type
    right: Any = args[2].type
    need_dtypes(declaration, args, (0,), (DataType.UINT8, DataType.INT8, DataType.UINT16, DataType.UINT32, DataType.INT16, DataType.INT32))
    return shaped(left, broadcast(declaration, args, (1, 2)), promote(left.dtype, right.dtype))


def _select_scalar_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    allowed = (DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16, DataType.INT32, DataType.UINT32)
    source: Any = args[1].type
    need_dtypes(declaration, args, (0,), allowed)
    need_dtypes(declaration, args, (1,), (*allowed, DataType.FP16, DataType.FP32))
    if static_dims(source.shape) is None or len(source.shape) != 2:
        raise OperandError(f"{declaration.name} takes a tile of rank 2", 1)
    return shaped(source, source.shape, source.dtype)


op(
    "tile.sel",
    params=[Param("mask", Kind.TILE), Param("lhs", Kind.TILE), Param("rhs", Kind.TILE), Param("tmp", Kind.TILE, doc="scratch tile")],
    result=_select_rule,
    meaning=selected,
    lanes=Lanes.ELEMENTWISE,
    valid_only=["mask"],
    indices=["mask"],
    scratch=["tmp"],
    memory=MemorySpace.Vec,
    short=True,
    doc="The left element where the packed mask has a bit, else the right one.",
)
op(
    "tile.sels",
    params=[
        Param("mask", Kind.TILE),
        Param("src", Kind.TILE),
        Param("tmp", Kind.TILE, doc="scratch tile"),
        Param("scalar", Kind.SCALAR, stamp="src"),
    ],
    result=_select_scalar_rule,
    meaning=selected_or_scalar,
    lanes=Lanes.ELEMENTWISE,
    valid_only=["mask"],
    indices=["mask"],
    scratch=["tmp"],
    memory=MemorySpace.Vec,
    short=True,
    doc="The element where the packed mask has a bit, else the scalar.",
)
