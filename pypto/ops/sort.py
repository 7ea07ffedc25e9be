"""Sorting: blocks of 32 sorted into pairs of value and number, and sorted runs of pairs merged.

A pair takes eight bytes: the value, room up to four bytes, and the number as UINT32. A row of FP32 holds it as two elements, a row of
FP16 as four. Order is descending; of equal values the one that came first stays first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr, index_const
from pypto.ir.types import TensorType, TileType, Type
from pypto.ops.declare import Declaration, KeywordError, Kind, Lanes, OperandError, Param, describe_type, op
from pypto.ops.region import Array, Keywords, constant, same_dims, tile_of

_BLOCK = 32


def _made(source: Any, shape: Sequence[Expr]) -> Type:
    if isinstance(source, TileType):
        return tile_of(shape, source.dtype, MemorySpace.Vec)
    return TensorType(shape, source.dtype)


def _need_float(declaration: Declaration, source: Any) -> None:
    if source.dtype not in (DataType.FP16, DataType.FP32):
        raise OperandError(f"{declaration.name} takes FP16 or FP32, got {describe_type(source)}", 0)
    if source.valid_shape is not source.shape:
        raise OperandError(
            f"{declaration.name} takes an operand that is valid throughout",
            0,
            hint="fill it first: pl.fillpad(..., pl.PadValue.min)",
        )


def _sort32_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source: Any = args[0].type
    numbers: Any = args[1].type
    _need_float(declaration, source)
    last = constant(source.shape[-1])
    if last is None or last % _BLOCK:
        raise OperandError(
            f"{declaration.name} takes a last dimension that is a constant multiple of 32, got {describe_type(source)}", 0
        )
    if numbers.dtype is not DataType.UINT32 or not same_dims(numbers.shape[-1:], source.shape[-1:]):
        raise OperandError(
            f"{declaration.name} takes UINT32 numbers, as many as there are elements in a row, got {describe_type(numbers)}", 1
        )
    rows, its_rows = source.shape[:-1], numbers.shape[:-1]
    if not (same_dims(rows, its_rows) or all(constant(d) == 1 for d in its_rows)):
        raise OperandError(f"{declaration.name} takes numbers for {describe_type(source)}, got {describe_type(numbers)}", 1)
    return _made(source, [*source.shape[:-1], index_const(last * 8 // source.dtype.get_byte())])


def _pairs(values: Array, numbers: Array) -> Array:
    """Values and numbers as rows of pairs."""
    words = 8 // values.dtype.itemsize
    packed = np.zeros((*values.shape, words), values.dtype)
    packed[..., 0] = values
    packed[..., words // 2 :] = numbers.astype(np.uint32)[..., None].view(values.dtype)
    return packed.reshape(*values.shape[:-1], values.shape[-1] * words)


def _order(keys: Array) -> Array:
    """Positions along the last axis in descending order of the keys, equal ones in the order they have; NaN first."""
    wide = keys.astype(np.float64)
    return np.argsort(np.where(np.isnan(wide), -np.inf, -wide), axis=-1, kind="stable")


def sort_blocks(src: Array, idx: Array) -> Array:
    """Each block of 32 sorted, as pairs."""
    numbers = np.broadcast_to(idx, src.shape)
    blocks = (*src.shape[:-1], src.shape[-1] // _BLOCK, _BLOCK)
    keys = src.reshape(blocks)
    order = _order(keys)
    sorted_values = np.take_along_axis(keys, order, -1).reshape(src.shape)
    sorted_numbers = np.take_along_axis(numbers.reshape(blocks), order, -1).reshape(src.shape)
    return _pairs(sorted_values, sorted_numbers)


def _merge_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source: Any = args[0].type
    _need_float(declaration, source)
    length = kwargs["block_len"]
    assert isinstance(length, int)
    if length <= 0 or length % 64:
        raise KeywordError(f"{declaration.name} takes 'block_len' as a positive multiple of 64, got {length}", "block_len")
    last = constant(source.shape[-1])
    if last is not None and last % length:
        raise OperandError(f"{declaration.name} cannot cut rows of {describe_type(source)} into runs of {length}", 0)
    return _made(source, source.shape)


def merge_runs(src0: Array, block_len: int) -> Array:
    """Each four neighbouring runs of ``block_len`` elements merged into one; the last group may have fewer."""
    words = 8 // src0.dtype.itemsize
    rows = src0.reshape(-1, src0.shape[-1] // words, words)
    result = np.empty_like(rows)
    step = 4 * block_len // words
    for begin in range(0, rows.shape[1], step):
        group = rows[:, begin : begin + step]
        order = _order(group[..., 0])
        result[:, begin : begin + step] = np.take_along_axis(group, order[..., None], 1)
    return result.reshape(src0.shape)


for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.sort32",
        params=[
            Param("src", _kind, doc="FP16 or FP32; rows of a multiple of 32 elements."),
            Param("idx", _kind, doc="UINT32: the number that goes with each element."),
        ],
        result=_sort32_type,
        meaning=sort_blocks,
        lanes=Lanes.ALL,
        memory=MemorySpace.Vec if _space == "tile" else None,
        pure_types=True,
        short=True,
        tile_form="tile.sort32" if _space == "tensor" else None,
        doc="Each block of 32 elements of a row sorted in descending order, as pairs of eight bytes: the value, and its number as UINT32 "
        "bits in the second four bytes. A row becomes twice as long in FP32, four times in FP16.",
    )
    op(
        f"{_space}.mrgsort_format1",
        params=[
            Param("src0", _kind, doc="Rows of pairs, as sort32 makes them, in sorted runs."),
            Param("block_len", Kind.INT, stored=True, keyword_only=True, doc="Elements of one run, a multiple of 64."),
        ],
        result=_merge_type,
        meaning=merge_runs,
        lanes=Lanes.ALL,
        memory=MemorySpace.Vec if _space == "tile" else None,
        short=True,
        spellings=["mrgsort"],
        tile_form="tile.mrgsort_format1" if _space == "tensor" else None,
        doc="Merge each four neighbouring sorted runs of a row into one, in descending order.",
    )
