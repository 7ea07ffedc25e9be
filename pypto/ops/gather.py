"""Elements and rows collected by index or by pattern, and put back by index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MaskPattern, MemorySpace, WriteChannel
from pypto.ir.expr import Expr, index_const
from pypto.ir.types import TensorType, TileType, Type
from pypto.ops.declare import Declaration, KeywordError, Kind, Lanes, OperandError, Param, ResultSpec, describe_type, op
from pypto.ops.region import (
    Array,
    BoundsError,
    Keywords,
    box,
    constant,
    entries,
    need_count,
    need_not_negative,
    need_positive,
    need_valid,
    same_dims,
    tensor_of,
    text_of,
    tile_of,
)

_GATHERED = (DataType.FP16, DataType.FP32, DataType.INT16, DataType.INT32)


def _checked(name: str, index: Array, limit: int) -> Array:
    """Indices as they are.

    Raises:
        BoundsError: one is outside ``0 .. limit - 1``.
    """
    if index.size and (int(index.min()) < 0 or int(index.max()) >= limit):
        bad = int(index.min()) if int(index.min()) < 0 else int(index.max())
        raise BoundsError(f"{name}: the index {bad} lies outside 0 to {limit - 1}")
    return index.astype(np.int64)


# -- gather by index -------------------------------------------------------------------------------------------------------------


def _tile_gather_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source, indices = args[0].type, args[1].type
    assert isinstance(source, TileType)
    assert isinstance(indices, TileType)
    if source.dtype not in _GATHERED:
        raise OperandError(f"{declaration.name} takes FP16, FP32, INT16 or INT32, got {describe_type(source)}", 0)
    allowed = (DataType.INT32, DataType.INT16) if source.dtype.get_bit() == 16 else (DataType.INT32,)
    if indices.dtype not in allowed:
        names = " or ".join(d.name for d in allowed)
        raise OperandError(
            f"{declaration.name} takes indices of {names} for {describe_type(source)}, got {describe_type(indices)}", 1
        )
    return tile_of(indices.shape, source.dtype, MemorySpace.Vec, indices.valid_shape)


def gather_flat(src: Array, indices: Array, tmp: Any = None) -> Array:
    """Element ``indices[i, j]`` of the source, counted row by row."""
    return src.reshape(-1)[_checked("tile.gather", indices, src.size)]


op(
    "tile.gather",
    params=[
        Param("src", Kind.TILE, doc="FP16, FP32, INT16 or INT32."),
        Param("indices", Kind.TILE, doc="INT32 (or INT16 for a 16-bit source): positions in the source, counted row by row."),
        Param("tmp", Kind.TILE, doc="Scratch room."),
    ],
    result=_tile_gather_type,
    meaning=gather_flat,
    lanes=Lanes.MOVE,
    indices=["indices"],
    valid_only=["indices"],
    scratch=["tmp"],
    memory=MemorySpace.Vec,
    pure_types=True,
    doc="The elements of a tile at the given positions, counted row by row; the result has the shape of the indices.",
)


def _axis_keyword(declaration: Declaration, kwargs: Keywords, rank: int) -> int:
    axis = kwargs["dim"]
    assert isinstance(axis, int)
    if not -rank <= axis < rank:
        raise KeywordError(f"{declaration.name} takes 'dim' from {-rank} to {rank - 1}, got {axis}", "dim")
    return axis % rank


def _check_index(declaration: Declaration, source: TensorType, index: Any, at: int, axis: int) -> None:
    if not index.dtype.is_int():
        raise OperandError(f"{declaration.name} takes integers as 'index', got {describe_type(index)}", at)
    if len(index.shape) != len(source.shape):
        raise OperandError(f"{declaration.name} takes an index of rank {len(source.shape)}, got {describe_type(index)}", at)
    for place, (wanted, has) in enumerate(zip(index.shape, source.shape, strict=True)):
        mine, theirs = constant(wanted), constant(has)
        if place != axis and mine is not None and theirs is not None and mine > theirs:
            raise OperandError(f"{declaration.name} cannot index {describe_type(source)} with {describe_type(index)}", at)


def _tensor_gather_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source, index = args[0].type, args[1].type
    assert isinstance(source, TensorType)
    assert isinstance(index, TensorType)
    axis = _axis_keyword(declaration, kwargs, len(source.shape))
    _check_index(declaration, source, index, 1, axis)
    valid = None if index.valid_shape is index.shape else index.valid_shape
    return tensor_of(source, index.shape, valid)


def _cropped(array: Array, index: Array, axis: int) -> Array:
    return array[tuple([slice(None) if a == axis else slice(0, e) for a, e in enumerate(index.shape)])]


def gather_along(input: Array, index: Array, dim: int) -> Array:
    """``result[.., i, ..] = input[.., index[.., i, ..], ..]`` along one axis."""
    axis = dim % input.ndim
    return np.take_along_axis(_cropped(input, index, axis), _checked("tensor.gather", index, input.shape[axis]), axis)


_DIM = Param("dim", Kind.INT, stored=True, doc="The axis that the index is about.")

op(
    "tensor.gather",
    params=[
        Param("input", Kind.TENSOR, doc="A tensor."),
        _DIM,
        Param("index", Kind.TENSOR, by_keyword=True, doc="Integers, of the same rank; positions along the axis."),
    ],
    result=_tensor_gather_type,
    meaning=gather_along,
    lanes=Lanes.MOVE,
    indices=["index"],
    valid_only=["index"],
    short=True,
    doc="Elements collected along one axis: ``result[i][j] = input[i][index[i][j]]`` for the last one.",
)


# -- gather by pattern -----------------------------------------------------------------------------------------------------------

_STRIDES: dict[int, tuple[int, int]] = {1: (2, 0), 2: (2, 1), 3: (4, 0), 4: (4, 1), 5: (4, 2), 6: (4, 3), 7: (1, 0)}
"""Of how many elements a pattern takes one, and which."""


def _gather_mask_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TileType | TensorType)
    pattern = kwargs["mask_pattern"]
    assert isinstance(pattern, int)
    if pattern not in _STRIDES:
        raise KeywordError(f"{declaration.name} knows the patterns 1 to 7, got {pattern}", "mask_pattern")
    stride = _STRIDES[pattern][0]
    dtype = kwargs.get("output_dtype") or source.dtype
    assert isinstance(dtype, DataType)
    if dtype.get_bit() != source.dtype.get_bit():
        raise KeywordError(
            f"{declaration.name} keeps the width of the elements: {source.dtype.name} cannot become {dtype.name}", "output_dtype"
        )
    columns, valid = constant(source.shape[-1]), constant(source.valid_shape[-1])
    if columns is None or columns % stride:
        raise OperandError(
            f"{declaration.name} takes a constant number of columns divisible by {stride}, got {describe_type(source)}", 0
        )
    shape = [*source.shape[:-1], index_const(columns // stride)]
    extents = None
    if source.valid_shape is not source.shape:
        if valid is None or valid % stride:
            raise OperandError(f"{declaration.name} takes a constant number of valid columns divisible by {stride}", 0)
        extents = [*source.valid_shape[:-1], index_const(valid // stride)]
    if isinstance(source, TileType):
        return tile_of(shape, dtype, MemorySpace.Vec, extents)
    made = tensor_of(source, shape, extents)
    return TensorType(shape, dtype, None, made.tensor_view)


def gather_pattern(src: Array, mask_pattern: int, out: ResultSpec) -> Array:
    """One element of each two or four of a row."""
    stride, first = _STRIDES[mask_pattern]
    taken = np.ascontiguousarray(src[..., first::stride])
    return taken if taken.dtype == np.bool_ or taken.dtype == out.dtype else taken.view(out.dtype)


for _space, _kind, _name in (("tile", Kind.TILE, "src"), ("tensor", Kind.TENSOR, "input")):
    op(
        f"{_space}.gather_mask",
        params=[
            Param(_name, _kind, doc="What to take from."),
            Param(
                "mask_pattern",
                Kind.ENUM,
                enum=MaskPattern,
                stored=True,
                shown_as_number=True,
                keyword_only=_space == "tensor",
                doc="1 to 7.",
            ),
            Param("output_dtype", Kind.DTYPE, None, keyword_only=True, doc="Read the elements as this type of the same width."),
        ],
        result=_gather_mask_type,
        meaning=gather_pattern,
        lanes=Lanes.MOVE,
        memory=MemorySpace.Vec if _space == "tile" else None,
        short=_space == "tensor",
        spellings=["gather"] if _space == "tensor" else [],
        tile_form="tile.gather_mask" if _space == "tensor" else None,
        doc="Every second or fourth element of each row, by a pattern whose rightmost digit stands for the first element: P0101 (1) the "
        "even ones, P1010 (2) the odd ones, P0001, P0010, P0100, P1000 (3 to 6) one of each four, P1111 (7) all.",
    )


# -- rows ------------------------------------------------------------------------------------------------------------------------


def _gather_row_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target, source = args[0].type, args[1].type
    assert isinstance(target, TileType)
    assert isinstance(source, TensorType)
    to, begin, shapes = entries(args[2]), entries(args[3]), entries(args[4])
    need_count(declaration, 2, to, len(target.shape), "offsets", describe_type(target))
    need_count(declaration, 3, begin, len(source.shape), "offsets", describe_type(source))
    need_count(declaration, 4, shapes, len(source.shape), "extents", describe_type(source))
    need_positive(declaration, 4, shapes, static=False)
    need_not_negative(declaration, 2, to, "offset")
    need_not_negative(declaration, 3, begin, "offset")
    if target.dtype is not source.dtype:
        raise OperandError(
            f"{declaration.name} takes elements of one type, got {describe_type(target)} and {describe_type(source)}", 1
        )
    if len(target.shape) != len(source.shape):
        raise OperandError(
            f"{declaration.name} takes operands of one rank, got {describe_type(target)} and {describe_type(source)}", 1
        )
    if len(args) > 5:
        need_valid(declaration, 5, entries(args[5]), shapes)
    if kwargs.get("transpose") is True and len(source.shape) != 2:
        raise OperandError(f"{declaration.name} transposes 2-D windows only, got {describe_type(source)}", 1)
    return TileType(target.shape, target.dtype, None, target.tile_view, target.memory_space)


def gather_row(
    dst: Array,
    src_tensor: Array,
    dst_offset: tuple[int, ...],
    src_offset: tuple[int, ...],
    shapes: tuple[int, ...],
    valid_shape: tuple[int, ...] = (),
    transpose: bool = False,
) -> Array:
    """A copy of ``dst`` with a window of the tensor put into it."""
    window = src_tensor[box("tile.gather_row", src_tensor, src_offset, valid_shape or shapes)]
    moved = window.T if transpose else window
    result = dst.copy()
    result[box("tile.gather_row", dst, dst_offset, moved.shape)] = moved
    return result


op(
    "tile.gather_row",
    params=[
        Param("dst", Kind.TILE, doc="The tile to put the window into."),
        Param("src_tensor", Kind.TENSOR, doc="The tensor to read."),
        Param("dst_offset", Kind.TUPLE, doc="Where in the tile."),
        Param("src_offset", Kind.TUPLE, doc="Where in the tensor."),
        Param("shapes", Kind.TUPLE, doc="Extents of the window in the tensor."),
        Param("transpose", Kind.BOOL, False, doc="Put the window in with rows and columns swapped."),
        Param(
            "valid_shape",
            Kind.TUPLE,
            None,
            by_keyword=True,
            keyword_only=True,
            doc="How much of the window is read; all by default.",
        ),
    ],
    result=_gather_row_type,
    meaning=gather_row,
    lanes=Lanes.MOVE,
    memory="inherit",
    short=True,
    doc="A tile with a window of a tensor loaded into it.",
)


# -- putting back ----------------------------------------------------------------------------------------------------------------


def _scatter_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target, index, source = args[0].type, args[1].type, args[2].type
    assert isinstance(target, TensorType)
    assert isinstance(index, TensorType)
    assert isinstance(source, TensorType)
    if len(target.shape) != 2:
        raise OperandError(f"{declaration.name} takes 2-D tensors, got {describe_type(target)}", 0)
    axis = _axis_keyword(declaration, kwargs, 2)
    if axis != 1:
        raise KeywordError(f"{declaration.name} works along the last axis, got dim {kwargs['dim']}", "dim")
    _check_index(declaration, target, index, 1, axis)
    if source.dtype is not target.dtype or not same_dims(source.shape, index.shape):
        raise OperandError(
            f"{declaration.name} takes a source of {target.dtype.name} {text_of(index.shape)}, got {describe_type(source)}", 2
        )
    return tensor_of(target, target.shape, None if target.valid_shape is target.shape else target.valid_shape)


def scatter_along(input: Array, index: Array, src: Array, dim: int) -> Array:
    """A copy of ``input`` with ``result[i][index[i][j]] = src[i][j]``; of several to one place the last stays."""
    result = input.copy()
    where = _checked("tensor.scatter", index, input.shape[1])
    for column in range(index.shape[1]):
        result[np.arange(index.shape[0]), where[:, column]] = src[: index.shape[0], column]
    return result


op(
    "tensor.scatter",
    params=[
        Param("input", Kind.TENSOR, doc="A 2-D tensor; gives what is not replaced."),
        _DIM,
        Param("index", Kind.TENSOR, by_keyword=True, doc="Integers: where along the last axis."),
        Param("src", Kind.TENSOR, by_keyword=True, doc="What to put there, of the shape of the index."),
    ],
    result=_scatter_type,
    meaning=scatter_along,
    lanes=Lanes.MOVE,
    indices=["index"],
    short=True,
    doc="A tensor with elements replaced along the last axis: ``result[i][index[i][j]] = src[i][j]``.",
)


def _scatter_update_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target: Any = args[0].type
    index: Any = args[1].type
    source: Any = args[2].type
    if kwargs["dim"] != -2:
        raise KeywordError(f"{declaration.name} takes dim -2 only, got {kwargs['dim']}", "dim")
    if len(target.shape) not in (2, 4):
        raise OperandError(f"{declaration.name} takes an input of rank 2 or 4, got {describe_type(target)}", 0)
    if len(index.shape) != 2 or not index.dtype.is_int():
        raise OperandError(f"{declaration.name} takes a 2-D index of integers, got {describe_type(index)}", 1)
    if source.dtype is not target.dtype or len(source.shape) != len(target.shape):
        raise OperandError(
            f"{declaration.name} takes a source of the element type and rank of {describe_type(target)}, got {describe_type(source)}",
            2,
        )
    wide, its = constant(target.shape[-1]), constant(source.shape[-1])
    if wide is not None and its is not None and wide != its:
        raise OperandError(
            f"{declaration.name} takes rows as long as those of {describe_type(target)}, got {describe_type(source)}", 2
        )
    return (
        target
        if isinstance(target, TensorType)
        else TileType(target.shape, target.dtype, None, target.tile_view, target.memory_space)
    )


def _put_rows(target: Array, index: Array, src: Array) -> Array:
    rows = target.reshape(-1, target.shape[-1])
    if not np.shares_memory(rows, target):
        raise BoundsError("scatter_update: the rows of the input do not lie one after the other")
    where = _checked("scatter_update", index, rows.shape[0]).reshape(-1)
    values = src.reshape(-1, src.shape[-1])
    if len(values) != len(where):
        raise BoundsError(f"scatter_update: {len(where)} indices for {len(values)} rows")
    for row, place in enumerate(where):
        rows[place] = values[row]
    return target


def update_rows(input: Array, index: Array, src: Array) -> Array:
    """Replace rows in place, rows counted over all leading dimensions: row ``index[k]`` becomes row ``k`` of the source."""
    return _put_rows(input, index, src)


def updated_rows(input: Array, index: Array, src: Array) -> Array:
    """Like :func:`update_rows`, on a copy."""
    return _put_rows(input.copy(), index, src)


for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.scatter_update",
        params=[
            Param("input", _kind, doc="What to replace rows of, rank 2 or 4."),
            Param("dim", Kind.INT, stored=True, doc="-2: rows."),
            Param("index", _kind, by_keyword=True, doc="2-D integers: the row numbers, over all leading dimensions."),
            Param("src", _kind, by_keyword=True, doc="The new rows, one for each number."),
        ],
        result=_scatter_update_type,
        meaning=update_rows if _space == "tensor" else updated_rows,
        lanes=Lanes.MOVE,
        indices=["index"],
        writes=["input"] if _space == "tensor" else [],
        alias="input" if _space == "tensor" else None,
        write_channel=WriteChannel.Dma if _space == "tensor" else None,
        memory="inherit" if _space == "tile" else None,
        short=True,
        doc="Replace rows: row number ``index[k]`` of the input becomes row ``k`` of the source.",
    )


def _mscatter_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source: Any = args[0].type
    index: Any = args[1].type
    target = args[2].type
    assert isinstance(target, TensorType)
    if index.dtype is not DataType.INT32 or not same_dims(index.shape, source.shape):
        raise OperandError(f"{declaration.name} takes INT32 indices {text_of(source.shape)}, got {describe_type(index)}", 1)
    if source.dtype is not target.dtype:
        raise OperandError(f"{declaration.name} puts {source.dtype.name} elements into {describe_type(target)}", 0)
    return target


def put_elements(src: Array, idx: Array, output_tensor: Array) -> Array:
    """Write elements in place: element number ``idx[i, j]`` of the tensor, row by row, becomes ``src[i, j]``."""
    where = np.unravel_index(_checked("tile.mscatter", idx, output_tensor.size).reshape(-1), output_tensor.shape)
    values = src.reshape(-1)
    for at in range(len(values)):
        output_tensor[tuple([w[at] for w in where])] = values[at]
    return output_tensor


op(
    "tile.mscatter",
    params=[
        Param("src", Kind.TILE, doc="The elements."),
        Param("idx", Kind.TILE, doc="INT32: the number of the element of the tensor that each replaces, counted row by row."),
        Param("output_tensor", Kind.TENSOR, doc="The tensor written to."),
    ],
    result=_mscatter_type,
    meaning=put_elements,
    lanes=Lanes.MOVE,
    indices=["idx"],
    valid_only=["src", "idx"],
    writes=["output_tensor"],
    alias="output_tensor",
    write_channel=WriteChannel.Dma,
    short=True,
    doc="Write elements of a tile to places of a tensor; gives the tensor. Of several to one place the last, row by row, stays.",
)
