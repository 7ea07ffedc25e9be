"""Reductions along rows and columns. Only the valid region takes part; of nothing, a reduction gives its neutral element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace, PadValue, TileLayout
from pypto.ir.expr import Expr, index_const
from pypto.ir.types import TensorType, TileType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, describe_type, op
from pypto.ops.region import Array, Keywords, constant, pad_number, tensor_of, tile_of

_ROW_MIN_DTYPES = (DataType.INT16, DataType.INT32, DataType.FP16, DataType.FP32)


def _check_scratch(declaration: Declaration, source: TileType, tmp: Type, exact: bool) -> None:
    assert isinstance(tmp, TileType)
    fits = tmp.dtype is source.dtype and len(tmp.shape) == len(source.shape)
    if fits:
        for has, needs in zip(tmp.shape, source.shape, strict=True):
            room, extent = constant(has), constant(needs)
            if room is not None and extent is not None and (room != extent if exact else room < extent):
                fits = False
    if not fits:
        what = "of exactly the type" if exact else "of the element type and rank, and no smaller than,"
        raise OperandError(f"{declaration.name} takes a scratch tile {what} {describe_type(source)}, got {describe_type(tmp)}", 1)


def _rule(axis: int, index: bool, dtypes: tuple[DataType, ...] | None = None) -> Any:
    """The type rule of a reduction along ``axis`` (-1 rows, -2 columns); ``index`` gives INT32 positions."""

    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        source = args[0].type
        assert isinstance(source, TileType | TensorType)
        rank = len(source.shape)
        if rank < 2 and (isinstance(source, TileType) or axis == -2):
            raise OperandError(f"{declaration.name} takes an operand of rank 2 or higher, got {describe_type(source)}", 0)
        if rank < 1:
            raise OperandError(f"{declaration.name} takes an operand of rank 1 or higher, got {describe_type(source)}", 0)
        if source.dtype in (DataType.BOOL, DataType.TASK_ID):
            raise OperandError(f"{declaration.name} takes numbers, got {describe_type(source)}", 0)
        if isinstance(source, TileType):
            if dtypes is not None and source.dtype not in dtypes:
                names = ", ".join(d.name for d in dtypes)
                raise OperandError(
                    f"{declaration.name} takes {names}, got {describe_type(source)}", 0, hint="cast it first: pl.cast(...)"
                )
            if dtypes is not None and source.get_effective_tile_view().blayout is not TileLayout.row_major:
                raise OperandError(f"{declaration.name} takes a row-major tile", 0)
            if len(args) > 1:
                _check_scratch(declaration, source, args[1].type, exact=index)
        shape, valid = [*source.shape], [*source.valid_shape]
        shape[axis] = valid[axis] = index_const(1)
        dtype = DataType.INT32 if index else source.dtype
        if isinstance(source, TileType):
            return tile_of(shape, dtype, MemorySpace.Vec, valid)
        made = tensor_of(source, shape, valid)
        return made if dtype is source.dtype else TensorType(shape, dtype, None, made.tensor_view)

    return rule


def _total(array: Array, axis: int) -> Array:
    if np.issubdtype(array.dtype, np.integer):
        return np.add.reduce(array, axis=axis, keepdims=True, dtype=array.dtype)
    return np.add.reduce(array, axis=axis, keepdims=True, dtype=np.float32).astype(array.dtype)


def _product(array: Array, axis: int) -> Array:
    if np.issubdtype(array.dtype, np.integer):
        return np.multiply.reduce(array, axis=axis, keepdims=True, dtype=array.dtype)
    return np.multiply.reduce(array, axis=axis, keepdims=True, dtype=np.float32).astype(array.dtype)


def _largest(array: Array, axis: int) -> Array:
    return np.maximum.reduce(array, axis=axis, keepdims=True, initial=pad_number(array.dtype, PadValue.min))


def _smallest(array: Array, axis: int) -> Array:
    return np.minimum.reduce(array, axis=axis, keepdims=True, initial=pad_number(array.dtype, PadValue.max))


def _first_largest(array: Array, axis: int) -> Array:
    return _position(np.argmax, array, axis)


def _first_smallest(array: Array, axis: int) -> Array:
    return _position(np.argmin, array, axis)


def _position(find: Callable[..., Any], array: Array, axis: int) -> Array:
    if array.shape[axis] == 0 or array.size == 0:
        shape = [*array.shape]
        shape[axis] = 1
        return np.zeros(shape, np.int32)
    plain = array if array.dtype.kind in "iuf" else array.astype(np.float32)
    return find(plain, axis=axis, keepdims=True).astype(np.int32)


def _meaning(reduce: Callable[[Array, int], Array], axis: int) -> Callable[..., Array]:
    def meaning(tile: Array, tmp_tile: Any = None) -> Array:
        with np.errstate(all="ignore"):
            return reduce(tile, axis)

    meaning.__name__ = reduce.__name__.strip("_")
    return meaning


_KINDS: tuple[tuple[str, Callable[[Array, int], Array], str], ...] = (
    ("sum", _total, "The sum"),
    ("max", _largest, "The largest element"),
    ("min", _smallest, "The smallest element"),
    ("prod", _product, "The product"),
    ("argmax", _first_largest, "The position of the first largest element"),
    ("argmin", _first_smallest, "The position of the first smallest element"),
)
_NEUTRAL = "Only the valid region counts; of an empty one the result is the neutral element (0 for a position)."


def _declare() -> None:
    for along, axis in (("row", -1), ("col", -2)):
        for kind, reduce, text in _KINDS:
            index = kind.startswith("arg")
            leaf = f"{along}_{kind}"
            dtypes = _ROW_MIN_DTYPES if leaf == "row_min" else None
            # rows need room to fold in; columns only for positions, and sums may use it
            scratch = along == "row" or index or kind == "sum"
            optional = along == "col" and kind == "sum"
            room = (
                Param("tmp_tile", Kind.TILE, None, doc="Scratch room.")
                if optional
                else Param("tmp_tile", Kind.TILE, doc="Scratch room.")
            )
            doc = f"{text} of each {'row' if along == 'row' else 'column'}{', INT32' if index else ''}. {_NEUTRAL}"
            op(
                f"tile.{leaf}",
                params=[
                    Param("tile", Kind.TILE, unified="input", doc="A tile of rank 2 or higher."),
                    *([room] if scratch else []),
                ],
                result=_rule(axis, index, dtypes),
                meaning=_meaning(reduce, axis),
                lanes=Lanes.REDUCE,
                scratch=["tmp_tile"] if scratch else [],
                memory=MemorySpace.Vec,
                pure_types=True,
                short=True,
                doc=doc,
            )
            op(
                f"tensor.{leaf}",
                params=[Param("input", Kind.TENSOR, doc="A tensor.")],
                result=_rule(axis, index),
                meaning=_meaning(reduce, axis),
                lanes=Lanes.REDUCE,
                pure_types=True,
                short=True,
                tile_form=f"tile.{leaf}" if not scratch or optional else None,
                doc=doc,
            )


_declare()
