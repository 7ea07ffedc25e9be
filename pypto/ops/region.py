"""Regions of tensors and tiles: what shape, offset and extent operands say, and which part of a result is valid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType, is_index_like
from pypto.ir.enums import MemorySpace, PadValue, TensorLayout
from pypto.ir.expr import ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, TupleGetItemExpr, index_const
from pypto.ir.node import late
from pypto.ir.span import UNKNOWN
from pypto.ir.types import (
    DistributedTensorType,
    ScalarType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
    implicit_tile_view,
)
from pypto.ops.declare import Declaration, OperandError, dim_text, refuse_value

Keywords: TypeAlias = Mapping[str, AttrValue]
Array: TypeAlias = NDArray[Any]


class BoundsError(InvalidValueError):
    """A region that lies outside the tensor or tile it is taken from, found when the program runs."""

    code = "out-of-bounds"


# -- operands --------------------------------------------------------------------------------------------------------------------


def entries(operand: Expr) -> list[Expr]:
    """The entries of an index list operand."""
    if isinstance(operand, MakeTuple):
        return [*operand.elements]
    type_ = operand.type
    assert isinstance(type_, TupleType)
    return [TupleGetItemExpr(operand, at, operand.span) for at in range(len(type_.types))]


def constant(expr: Expr) -> int | None:
    """The value of an integer constant, None for any other expression."""
    return expr.value if isinstance(expr, ConstInt) else None


def constants(dims: Sequence[Expr]) -> list[int | None]:
    """:func:`constant` of every entry."""
    return [constant(d) for d in dims]


def text_of(dims: Sequence[Expr]) -> str:
    """Dimensions for messages."""
    return f"[{', '.join(dim_text(d) for d in dims)}]"


def same(left: Expr, right: Expr) -> bool:
    """True when two scalar expressions are structurally equal, the kind of integer of a constant aside."""
    if left is right:
        return True
    mine, theirs = constant(left), constant(right)
    if mine is not None and theirs is not None:
        return mine == theirs
    return late("pypto.ir.equality").structural_equal(left, right)


def same_dims(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    """True when two shapes are structurally equal."""
    return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))


def need_count(declaration: Declaration, at: int, dims: Sequence[Expr], count: int, what: str, of: str) -> None:
    """Refuse an index list of another length than ``count``."""
    if len(dims) != count:
        raise OperandError(f"{declaration.name} needs {count} {what} for {of}, got {len(dims)}", at)


def need_positive(declaration: Declaration, at: int, dims: Sequence[Expr], static: bool, least: int = 1) -> None:
    """Refuse an empty shape, a constant extent below 1 and, when ``static``, an extent that is no constant."""
    if len(dims) < least:
        raise OperandError(
            f"{declaration.name} needs a shape of at least {least} dimension{'s' * (least != 1)}, got {len(dims)}", at
        )
    for dim in dims:
        value = constant(dim)
        if value is None and static:
            raise OperandError(
                f"{declaration.name} needs constant extents, got {text_of(dims)}",
                at,
                hint="a tile's room is fixed when it is compiled: state the run-time extent as its valid_shape",
            )
        if value is not None and value <= 0:
            raise OperandError(f"{declaration.name} needs positive extents, got {text_of(dims)}", at)


def need_not_negative(declaration: Declaration, at: int, dims: Sequence[Expr], what: str) -> None:
    """Refuse a constant entry below zero."""
    for dim in dims:
        value = constant(dim)
        if value is not None and value < 0:
            refuse_value(f"{declaration.name} takes no negative {what}, got {text_of(dims)}", at)


def need_index_like(declaration: Declaration, at: int, dims: Sequence[Expr], what: str) -> None:
    """Refuse an entry that is not INDEX, INT64 or UINT64."""
    for dim in dims:
        type_ = dim.type
        if not isinstance(type_, ScalarType) or not is_index_like(type_.dtype):
            got = type_.dtype.name if isinstance(type_, ScalarType) else type(type_).__name__
            raise OperandError(
                f"{declaration.name} takes INDEX, INT64 or UINT64 as {what}, got {got}",
                at,
                hint="cast it first: pl.cast(..., pl.INDEX)",
            )


def need_valid(declaration: Declaration, at: int, valid: Sequence[Expr], shape: Sequence[Expr]) -> None:
    """Refuse a valid shape of another rank than ``shape``, or with a constant entry outside it."""
    need_count(declaration, at, valid, len(shape), "valid extents", f"the shape {text_of(shape)}")
    need_not_negative(declaration, at, valid, "valid extent")
    for extent, dim in zip(valid, shape, strict=True):
        most, value = constant(dim), constant(extent)
        if most is not None and value is not None and value > most:
            refuse_value(f"{declaration.name} got the valid shape {text_of(valid)}, which exceeds the shape {text_of(shape)}", at)


def need_axis(declaration: Declaration, at: int, axis: Expr, rank: int, name: str = "axis") -> int:
    """A constant axis operand, counted from the front; negative ones count from the end."""
    value = constant(axis)
    if value is None:
        raise OperandError(f"{declaration.name} takes a constant as {name!r}", at)
    if not -rank <= value < rank:
        raise OperandError(f"{declaration.name} takes {name!r} from {-rank} to {rank - 1} for rank {rank}, got {value}", at)
    return value % rank


def need_literal(declaration: Declaration, at: int, value: Expr, name: str) -> None:
    """Refuse an operand that is no constant number."""
    if not isinstance(value, ConstInt | ConstFloat | ConstBool):
        raise OperandError(f"{declaration.name} takes a number known at compile time as {name!r}", at)


# -- symbolic extents ------------------------------------------------------------------------------------------------------------


def minimum(left: Expr, right: Expr) -> Expr:
    """The smaller of two extents, folded when it can be."""
    if same(left, right):
        return left
    mine, theirs = constant(left), constant(right)
    if mine is not None and theirs is not None:
        return left if mine < theirs else right
    return scalar.min_(left, right, UNKNOWN)


def at_least_zero(extent: Expr) -> Expr:
    """``max(extent, 0)``, folded when it can be."""
    value = constant(extent)
    if value is not None:
        return extent if value >= 0 else index_const(0)
    return scalar.max_(extent, index_const(0), UNKNOWN)


def difference(left: Expr, right: Expr) -> Expr:
    """``left - right``, folded when it can be."""
    if constant(right) == 0:
        return left
    mine, theirs = constant(left), constant(right)
    if mine is not None and theirs is not None:
        return ConstInt(mine - theirs, DataType.INDEX)
    return scalar.sub(left, right, UNKNOWN)


def total(left: Expr, right: Expr) -> Expr:
    """``left + right``, folded when it can be."""
    if constant(left) == 0:
        return right
    if constant(right) == 0:
        return left
    mine, theirs = constant(left), constant(right)
    if mine is not None and theirs is not None:
        return index_const(mine + theirs)
    return scalar.add(left, right, UNKNOWN)


def product(left: Expr, right: Expr) -> Expr:
    """``left * right``, folded when it can be."""
    mine, theirs = constant(left), constant(right)
    if mine == 1:
        return right
    if theirs == 1:
        return left
    if mine == 0 or theirs == 0:
        return index_const(0)
    if mine is not None and theirs is not None:
        return index_const(mine * theirs)
    return scalar.mul(left, right, UNKNOWN)


def product_of(dims: Sequence[Expr]) -> Expr:
    """The number of elements of a shape."""
    result: Expr = index_const(1)
    for dim in dims:
        result = product(result, dim)
    return result


def window_valid(
    source: TensorType | TileType, offsets: Sequence[Expr], valid: Sequence[Expr], clamp: bool = False
) -> list[Expr]:
    """What of a window is valid: ``valid`` cut down to the source's own valid region, and with ``clamp`` to its shape."""
    result: list[Expr] = []
    for limit, dim, offset, extent in zip(source.valid_shape, source.shape, offsets, valid, strict=True):
        if not clamp and same(limit, dim):
            result.append(extent)
            continue
        left = difference(limit, offset)
        if constant(offset) == 0:
            whole = constant(dim)
            wanted = constant(extent)
            covers = same(extent, dim) or (whole is not None and wanted is not None and wanted >= whole)
            result.append(limit if covers else minimum(left, extent))
        else:
            result.append(at_least_zero(minimum(left, extent)))
    return result


def written_valid(target: TensorType, offsets: Sequence[Expr], extents: Sequence[Expr]) -> Type:
    """The type of a tensor after a box of it was written: its valid region grows when the union is provably a region again."""
    view = target.tensor_view
    if view is None or not view.valid_shape:
        return target
    valid = view.valid_shape
    grown: list[Expr] = [*valid]
    beyond: list[int] = []
    for at, (has, offset, extent) in enumerate(zip(valid, offsets, extents, strict=True)):
        end = total(offset, extent)
        if same(end, has) and constant(offset) == 0:
            continue
        now, begin, stop = constant(has), constant(offset), constant(end)
        if now is None or begin is None or stop is None:
            return target
        if stop > now:
            if begin > now:
                return target
            beyond.append(at)
            grown[at] = end
    for at in range(len(valid)):
        if not beyond or beyond == [at]:
            continue
        now, extent = constant(valid[at]), constant(extents[at])
        covers = same(valid[at], extents[at]) or (now is not None and extent is not None and extent >= now)
        if constant(offsets[at]) != 0 or not covers:
            return target
    if len(beyond) > 1 and any(constant(offsets[at]) != 0 for at in beyond):
        return target
    return target.with_shape(target.shape, TensorView(view.stride, view.layout, grown, view.pad))


# -- result types ----------------------------------------------------------------------------------------------------------------


def tile_of(
    shape: Sequence[Expr],
    dtype: DataType,
    space: MemorySpace | None,
    valid: Sequence[Expr] | None = None,
    like: TileView | None = None,
    pad: PadValue = PadValue.null,
) -> TileType:
    """A tile in ``space`` with that space's implicit layout, or the layout of ``like``."""
    view = implicit_tile_view(shape, space)
    if like is not None:
        view = view.replace(blayout=like.blayout, slayout=like.slayout, fractal=like.fractal, compact=like.compact)
    if valid is not None or pad is not PadValue.null:
        view = view.replace(valid_shape=[] if valid is None else valid, pad=pad)
    return TileType(shape, dtype, None, view, space)


def flat_dims(dims: Sequence[Expr]) -> list[Expr]:
    """``[product of leading, last]``; two dimensions or fewer stay as they are."""
    return [*dims] if len(dims) <= 2 else [product_of(dims[:-1]), dims[-1]]


def flat_forms(type_: Type) -> list[Type]:
    """The two-dimensional form of a tile of more dimensions."""
    if not isinstance(type_, TileType) or len(type_.shape) <= 2:
        return []
    view = type_.tile_view
    if view is not None and view.valid_shape:
        view = view.replace(valid_shape=flat_dims(view.valid_shape))
    return [TileType(flat_dims(type_.shape), type_.dtype, type_.memref, view, type_.memory_space)]


def tensor_of(
    like: TensorType,
    shape: Sequence[Expr],
    valid: Sequence[Expr] | None = None,
    keep: bool = False,
    view: TensorView | None = None,
) -> TensorType:
    """A tensor of the element type of ``like``; ``keep`` makes it a distributed tensor of the same window when that is one.

    ``valid`` replaces the valid shape of ``view``.
    """
    if valid is not None:
        base = view or TensorView()
        view = TensorView(base.stride, base.layout, valid, base.pad)
    if keep and isinstance(like, DistributedTensorType):
        return DistributedTensorType(shape, like.dtype, None, view, like.window_buffer)
    return TensorType(shape, like.dtype, None, view)


def layout_of(type_: TensorType) -> TensorLayout:
    """The layout of a tensor."""
    return TensorLayout.ND if type_.tensor_view is None else type_.tensor_view.layout


# -- meaning ---------------------------------------------------------------------------------------------------------------------


def box(name: str, array: Array, offsets: Sequence[int], extents: Sequence[int]) -> tuple[slice, ...]:
    """The slices of a region of an array.

    Raises:
        BoundsError: the region has another rank, or reaches outside the array.
    """
    shape = array.shape
    if len(offsets) != len(shape) or len(extents) != len(shape):
        raise BoundsError(f"{name}: {len(offsets)} offsets for an array of shape {list(shape)}")
    region: list[slice] = []
    for offset, extent, dim in zip(offsets, extents, shape):  # noqa: B905 - one length, and this is called very often
        end = offset + extent
        if offset < 0 or extent < 0 or end > dim:
            raise BoundsError(
                f"{name}: the region at offsets {[int(o) for o in offsets]} with extents {[int(e) for e in extents]} "
                f"lies outside the shape {list(shape)}"
            )
        region.append(slice(offset, end))
    return tuple(region)


def element(name: str, array: Array, indices: Sequence[int]) -> tuple[int, ...]:
    """Indices of one element.

    Raises:
        BoundsError: an index is outside the array.
    """
    if len(indices) != array.ndim:
        raise BoundsError(f"{name}: {len(indices)} indices for an array of shape {list(array.shape)}")
    place: list[int] = []
    for index, dim in zip(indices, array.shape):  # noqa: B905 - one length, and this is called very often
        if not 0 <= index < dim:
            raise BoundsError(f"{name}: the element {[int(i) for i in indices]} lies outside the shape {list(array.shape)}")
        place.append(int(index))
    return tuple(place)


def aligned_extents(name: str, source: Array, rank: int) -> tuple[int, ...]:
    """The shape of ``source`` brought to ``rank`` by adding or dropping leading extents of one.

    Raises:
        BoundsError: a leading extent to drop is not one.
    """
    shape = source.shape
    if len(shape) <= rank:
        return (1,) * (rank - len(shape)) + shape
    spare = len(shape) - rank
    if any(e != 1 for e in shape[:spare]):
        raise BoundsError(f"{name}: a source of shape {list(shape)} does not fit into rank {rank}")
    return shape[spare:]


def pad_number(dtype: np.dtype[Any], pad: PadValue) -> Any:
    """The element that a pad value stands for; infinity where the element type has it, else its extreme. Masks are filled with False."""
    if pad is PadValue.zero or pad is PadValue.null or dtype == np.bool_:
        return dtype.type(0)
    lowest = pad is PadValue.min
    if np.issubdtype(dtype, np.integer):
        info: Any = np.iinfo(dtype)
        return dtype.type(info.min if lowest else info.max)
    infinite = np.asarray(-np.inf if lowest else np.inf).astype(dtype)
    if np.isinf(infinite.astype(np.float64)):
        return infinite[()]
    import ml_dtypes

    of_type: Any = ml_dtypes
    try:
        limits: Any = of_type.finfo(dtype)
    except ValueError:
        limits = of_type.iinfo(dtype)
    return dtype.type(limits.min if lowest else limits.max)
