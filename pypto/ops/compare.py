"""Comparisons and selection.

On tiles a comparison gives a packed mask: one bit an element, the first in the lowest bit of a byte, rows padded to 32 bytes. On tensors
it gives 1 and 0 in the common element type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr
from pypto.ir.types import ScalarType, Type
from pypto.ops.declare import Declaration, KeywordError, Kind, Lanes, OperandError, Param, ResultSpec, op
from pypto.ops.region import Array, Keywords
from pypto.ops.rules import (
    broadcast,
    combine,
    combined,
    element,
    need_dtype,
    need_mask,
    need_numbers,
    need_rank,
    packed_mask,
    result_like,
    scalar_promotes,
    shaped,
)

COMPARISONS = (np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal)
"""Comparisons by their number ``cmp_type``."""
_WORDS = ("eq", "ne", "lt", "le", "gt", "ge")

_SIGNED_TWIN = {
    DataType.UINT8: DataType.INT8,
    DataType.UINT16: DataType.INT16,
    DataType.UINT32: DataType.INT32,
    DataType.UINT64: DataType.INT64,
}
_SEL_SOURCES = (
    *(DataType.INT8, DataType.UINT8, DataType.INT16, DataType.UINT16, DataType.INT32, DataType.UINT32),
    *(DataType.FP16, DataType.FP32),
)
_MASKS = (DataType.UINT8, DataType.INT8, DataType.UINT16, DataType.INT16, DataType.UINT32, DataType.INT32)


# -- meanings ----------------------------------------------------------------------------------------------------------------------


def packed(lhs: Array, rhs: Any, cmp_type: int) -> Array:
    """A comparison as a packed mask over the valid region of the first operand."""
    if np.shape(rhs) not in ((), lhs.shape):
        lhs, rhs = _common(lhs, rhs)
    return np.packbits(COMPARISONS[cmp_type](lhs, rhs), axis=-1, bitorder="little")


def _common(lhs: Array, rhs: Array) -> tuple[Array, Array]:
    """Two valid regions cut down to the extents that both have; an extent of 1 is spread."""
    rank = max(lhs.ndim, rhs.ndim)
    one, other = lhs.reshape((1,) * (rank - lhs.ndim) + lhs.shape), rhs.reshape((1,) * (rank - rhs.ndim) + rhs.shape)
    both = [b if a == 1 else a if b == 1 else min(a, b) for a, b in zip(one.shape, other.shape, strict=True)]
    cut_one = one[tuple([slice(0, min(e, n)) for e, n in zip(both, one.shape, strict=True)])]
    cut_other = other[tuple([slice(0, min(e, n)) for e, n in zip(both, other.shape, strict=True)])]
    return cut_one, cut_other


def _zero_or_one(lhs: Array, rhs: Any, cmp_type: int, out: ResultSpec) -> Array:
    return COMPARISONS[cmp_type](lhs, rhs).astype(out.dtype)


def bits(mask: Array, columns: int) -> Array:
    """The first ``columns`` bits of each row of a packed mask, as booleans."""
    spread = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), axis=-1, bitorder="little")
    return spread[..., :columns].astype(np.bool_)


def _select(mask: Array, lhs: Array, rhs: Array, tmp: Any = None) -> Array:
    if lhs.shape != rhs.shape:
        lhs, rhs = _common(lhs, rhs)
    columns = max(lhs.shape[-1], rhs.shape[-1])
    chosen = bits(mask, columns)
    return np.where(chosen[tuple([slice(0, e) for e in np.broadcast_shapes(lhs.shape, rhs.shape)])], lhs, rhs)


def _select_scalar(mask: Array, src: Array, tmp: Array, scalar: Any) -> Array:
    return np.where(bits(mask, src.shape[-1]), src, np.asarray(scalar).astype(src.dtype))


# -- rules -------------------------------------------------------------------------------------------------------------------------


def _need_comparison(declaration: Declaration, kwargs: Keywords) -> None:
    number = kwargs.get("cmp_type", 0)
    if not isinstance(number, int) or not 0 <= number < len(COMPARISONS):
        choices = ", ".join(f"{w} {at}" for at, w in enumerate(_WORDS))
        raise KeywordError(f"{declaration.name} takes 'cmp_type' as one of {choices}; got {number}", "cmp_type")


def _packed_pair(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    _need_comparison(declaration, kwargs)
    need_numbers(declaration, args)
    return packed_mask(*broadcast(declaration, args))


def _packed_scalar(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    _need_comparison(declaration, kwargs)
    need_numbers(declaration, args)
    tile = shaped(args[0])
    return packed_mask(tile.shape, tile.valid_shape)


def _values(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    _need_comparison(declaration, kwargs)
    rule = scalar_promotes if isinstance(args[1].type, ScalarType) else combine()
    return rule(declaration, args, kwargs)


def _selected(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    need_numbers(declaration, args[1:3])
    result = combined(declaration, args[1:3])
    need_mask(declaration, 0, args[0], broadcast(declaration, args[1:3])[0], _MASKS)
    return result


def _selected_scalar(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    for at in (0, 1):
        need_rank(declaration, at, args[at], 2)
    need_dtype(declaration, 1, args[1], _SEL_SOURCES)
    source, given = element(args[1]), element(args[3])
    if given is not source and given is not _SIGNED_TWIN.get(source):
        raise OperandError(
            f"{declaration.name} takes 'scalar' as {_twin(source).name}, got {given.name}",
            3,
            f"cast it first: pl.cast(..., pl.{_twin(source).name})",
        )
    need_mask(declaration, 0, args[0], shaped(args[1]).shape, _MASKS)
    return result_like(shaped(args[1]), source)


def _twin(dtype: DataType) -> DataType:
    return _SIGNED_TWIN.get(dtype, dtype)


# -- declarations ------------------------------------------------------------------------------------------------------------------

_CMP_TYPE = Param("cmp_type", Kind.INT, 0, stored=True, doc="Which comparison: eq 0, ne 1, lt 2, le 3, gt 4, ge 5.")
_TILE = Param("lhs", Kind.TILE, doc="The first tile.")
_TMP = Param("tmp", Kind.TILE, doc="Scratch room.")

op(
    "tile.cmp",
    params=[_TILE, Param("rhs", Kind.TILE, doc="The second tile."), _CMP_TYPE],
    result=_packed_pair,
    meaning=packed,
    lanes=Lanes.REDUCE,
    doc="Compare the elements of two tiles. The result is a packed mask: one bit an element, rows padded to 32 bytes.",
    short=True,
    memory=MemorySpace.Vec,
    scalar_variant="tile.cmps",
    pure_types=True,
)
op(
    "tile.cmps",
    params=[_TILE, Param("rhs", Kind.SCALAR, stamp="lhs", doc="The scalar."), _CMP_TYPE],
    result=_packed_scalar,
    meaning=packed,
    lanes=Lanes.REDUCE,
    doc="Compare each element with a scalar. The result is a packed mask: one bit an element, rows padded to 32 bytes.",
    short=True,
    memory=MemorySpace.Vec,
    pure_types=True,
)
op(
    "tensor.cmp",
    params=[
        Param("lhs", Kind.TENSOR, doc="The first tensor."),
        Param("rhs", Kind.SHAPED_OR_SCALAR, stamp="lhs", doc="The second tensor, or a scalar."),
        _CMP_TYPE,
    ],
    result=_values,
    meaning=_zero_or_one,
    lanes=Lanes.ELEMENTWISE,
    doc="Compare the elements of two tensors, or of one and a scalar: 1 where it holds, else 0, in the common element type.",
    short=True,
    pure_types=True,
    promotes=True,
)
op(
    "tile.sel",
    params=[
        Param("mask", Kind.TILE, doc="A packed mask, as comparisons make it."),
        Param("lhs", Kind.TILE, doc="Gives the elements whose bit is set."),
        Param("rhs", Kind.TILE, doc="Gives the other elements."),
        _TMP,
    ],
    result=_selected,
    meaning=_select,
    lanes=Lanes.REDUCE,
    doc="Elements of one tile where the bit of a packed mask is set, of another elsewhere.",
    short=True,
    memory=MemorySpace.Vec,
    scratch=["tmp"],
    pure_types=True,
)
op(
    "tile.sels",
    params=[
        Param("mask", Kind.TILE, doc="A packed mask, as comparisons make it."),
        Param("src", Kind.TILE, doc="Gives the elements whose bit is set."),
        _TMP,
        Param("scalar", Kind.SCALAR, stamp="src", stamp_as=_twin, doc="Every other element."),
    ],
    result=_selected_scalar,
    meaning=_select_scalar,
    lanes=Lanes.REDUCE,
    doc="Elements of a tile where the bit of a packed mask is set, a scalar elsewhere.",
    short=True,
    memory=MemorySpace.Vec,
    scratch=["tmp"],
    pure_types=True,
)
