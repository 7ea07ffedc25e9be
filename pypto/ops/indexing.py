"""Single elements, extents and places: read, write, dim, block numbers, arrays of scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import WriteChannel
from pypto.ir.expr import Expr
from pypto.ir.types import ArrayType, ScalarType, TensorType, TileType, Type, UnknownType
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, ResultSpec, describe_type, op, refuse_value
from pypto.ops.region import (
    Array,
    BoundsError,
    Keywords,
    constant,
    element,
    entries,
    need_axis,
    need_count,
    text_of,
)

# -- elements of tiles and tensors -----------------------------------------------------------------------------------------------


def _check_indices(declaration: Declaration, args: Sequence[Expr]) -> TileType | TensorType:
    shaped = args[0].type
    assert isinstance(shaped, TileType | TensorType)
    indices = entries(args[1])
    need_count(declaration, 1, indices, len(shaped.shape), "indices", describe_type(shaped))
    for index, dim in zip(indices, shaped.shape, strict=True):
        at, most = constant(index), constant(dim)
        if at is not None and (at < 0 or (most is not None and at >= most)):
            raise OperandError(f"{declaration.name} takes no index {text_of(indices)} in {describe_type(shaped)}", 1)
    return shaped


def _read_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    return ScalarType(_check_indices(declaration, args).dtype)


def _write_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    shaped = _check_indices(declaration, args)
    value = args[2].type
    assert isinstance(value, ScalarType)
    if value.dtype is not shaped.dtype:
        raise OperandError(
            f"{declaration.name} writes {shaped.dtype.name} elements, got {describe_type(value)}",
            2,
            hint=f"cast it first: pl.cast(..., pl.{shaped.dtype.name})",
        )
    return UnknownType()


def read_element(source: Array, indices: tuple[int, ...]) -> Any:
    """One element."""
    return source[element("read", source, indices)]


def write_element(target: Array, indices: tuple[int, ...], value: Any) -> Array:
    """Set one element in place; integers wrap."""
    target[element("write", target, indices)] = np.asarray(value).astype(target.dtype)
    return target


_INDICES = Param(
    "indices", Kind.TUPLE, single=True, unified="offset", doc="One index per dimension; one number for a list of one."
)

for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.read",
        params=[Param(_space, _kind, unified="src", doc="Where to read."), _INDICES],
        result=_read_type,
        meaning=read_element,
        lanes=Lanes.MOVE,
        short=True,
        doc="One element as a scalar.",
    )
    op(
        f"{_space}.write",
        params=[
            Param(_space, _kind, unified="dst", doc="Where to write."),
            _INDICES,
            Param("value", Kind.SCALAR, stamp=_space, doc="The value, of the element type."),
        ],
        result=_write_type,
        meaning=write_element,
        lanes=Lanes.MOVE,
        reads_writes=[_space],
        write_channel=WriteChannel.Scalar if _space == "tensor" else None,
        short=True,
        doc="Set one element. Gives nothing: what was written to has changed.",
    )


# -- extents and places ----------------------------------------------------------------------------------------------------------


def _dim_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TensorType)
    need_axis(declaration, 1, args[1], len(source.shape))
    return ScalarType(DataType.INDEX)


def extent_along(tensor: Array, axis: int) -> int:
    """The extent of an array along an axis."""
    return tensor.shape[int(axis)]


def _extent(args: Sequence[Expr]) -> Expr | None:
    source, axis = args[0].type, constant(args[1])
    return source.shape[axis] if isinstance(source, TensorType) and axis is not None else None


op(
    "tensor.dim",
    params=[
        Param("tensor", Kind.TENSOR, doc="A tensor."),
        Param("axis", Kind.SCALAR, literal=True, doc="A constant; negative ones count from the end."),
    ],
    result=_dim_type,
    meaning=extent_along,
    lanes=Lanes.NONE,
    short=True,
    static_value=_extent,
    doc="The extent of a tensor along an axis.",
)


def index_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    """An INDEX scalar."""
    return ScalarType(DataType.INDEX)


_PLACES = (
    ("get_block_idx", 0, "The number of this block among those that run the kernel; 0 when it runs alone."),
    ("get_subblock_idx", 0, "The number of this vector core within its block; 0 when it runs alone."),
    ("get_block_num", 1, "How many blocks run the kernel; 1 when it runs alone."),
)


def _alone(value: int) -> Any:
    return lambda: value


for _leaf, _value, _doc in _PLACES:
    for _space in ("tile", "tensor"):
        op(
            f"{_space}.{_leaf}",
            params=[],
            result=index_type,
            meaning=_alone(_value),
            lanes=Lanes.NONE,
            short=_space == "tensor",
            tile_form=f"tile.{_leaf}" if _space == "tensor" else None,
            doc=_doc,
        )


# -- arrays of scalars -----------------------------------------------------------------------------------------------------------


def _array_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    dtype = kwargs["dtype"]
    assert isinstance(dtype, DataType)
    extent = constant(args[0])
    if extent is None or extent <= 0:
        raise OperandError(f"{declaration.name} needs a positive constant as 'extent'", 0)
    if not (dtype.is_int() or dtype in (DataType.BOOL, DataType.TASK_ID)):
        raise OperandError(f"{declaration.name} holds integers, BOOL or TASK_ID, got {dtype.name}", 0)
    return ArrayType(dtype, extent)


def _check_element(declaration: Declaration, args: Sequence[Expr]) -> ArrayType:
    array, index = args[0].type, args[1].type
    assert isinstance(array, ArrayType)
    assert isinstance(index, ScalarType)
    if not index.dtype.is_int():
        raise OperandError(f"{declaration.name} takes an integer as 'index', got {describe_type(index)}", 1)
    at, extent = constant(args[1]), constant(array.extent)
    if at is not None and extent is not None and not 0 <= at < extent:
        refuse_value(f"{declaration.name} takes 'index' from 0 to {extent - 1}, got {at}", 1)
    return array


def _get_element_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    return ScalarType(_check_element(declaration, args).dtype)


def _update_element_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    array = _check_element(declaration, args)
    value = args[2].type
    assert isinstance(value, ScalarType)
    if value.dtype is not array.dtype:
        raise OperandError(f"{declaration.name} stores {array.dtype.name} elements, got {describe_type(value)}", 2)
    return array


def create_array(extent: int, out: ResultSpec) -> Array:
    """An array of zeros."""
    return np.zeros(int(extent), out.dtype)


def _place(array: Array, index: int) -> int:
    if not 0 <= index < len(array):
        raise BoundsError(f"the index {int(index)} lies outside an array of {len(array)} elements")
    return int(index)


def get_element(array: Array, index: int) -> Any:
    """One element of an array."""
    return array[_place(array, index)]


def update_element(array: Array, index: int, value: Any) -> Array:
    """A copy of the array with one element changed."""
    result = array.copy()
    result[_place(array, index)] = value
    return result


_ARRAY = [Param("array", Kind.ARRAY, doc="An array of scalars."), Param("index", Kind.SCALAR, doc="Which element, from 0.")]

op(
    "array.create",
    params=[
        Param("extent", Kind.SCALAR, literal=True, doc="How many elements, a positive constant."),
        Param("dtype", Kind.DTYPE, stored=True, doc="An integer type, BOOL or TASK_ID."),
    ],
    result=_array_type,
    meaning=create_array,
    lanes=Lanes.NONE,
    doc="A small array of scalars on the core, all zero.",
)
op(
    "array.get_element",
    params=_ARRAY,
    result=_get_element_type,
    meaning=get_element,
    lanes=Lanes.MOVE,
    doc="One element of an array.",
)
op(
    "array.update_element",
    params=[*_ARRAY, Param("value", Kind.SCALAR, stamp="array", doc="The new value, of the element type.")],
    result=_update_element_type,
    meaning=update_element,
    lanes=Lanes.MOVE,
    doc="The array with one element changed.",
)
