"""Other shapes over the same elements: reshape, views, transposition, slices, concatenation, assembling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import TensorLayout, TileLayout
from pypto.ir.expr import Expr, index_const
from pypto.ir.types import DistributedTensorType, TensorType, TensorView, TileType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, ResultSpec, describe_type, op
from pypto.ops.memory import MX_LAYOUTS, is_packed
from pypto.ops.region import (
    Array,
    Keywords,
    constant,
    entries,
    layout_of,
    need_axis,
    need_positive,
    need_valid,
    product,
    product_of,
    same,
    same_dims,
    tensor_of,
    text_of,
    tile_of,
)

_SWAPPED = {
    TileLayout.row_major: TileLayout.col_major,
    TileLayout.col_major: TileLayout.row_major,
    TileLayout.none_box: TileLayout.none_box,
}

_VALID = Param("valid_shape", Kind.TUPLE, None, doc="How much of the result is valid.")


def _need_equal_size(declaration: Declaration, shape: Sequence[Expr], source: Any) -> None:
    mine, theirs = constant(product_of(shape)), constant(product_of(source.shape))
    if mine is not None and theirs is not None and mine != theirs:
        raise OperandError(
            f"{declaration.name} cannot make {text_of(shape)}, {mine} elements, of {describe_type(source)}, {theirs} elements", 1
        )


# -- reshape ---------------------------------------------------------------------------------------------------------------------


def reshaped_valid(shape: Sequence[Expr], valid: Sequence[Expr], target: Sequence[Expr]) -> list[Expr] | None:
    """The valid extents after a reshape, or None when the valid elements form no region of the new shape.

    Extents of one may come and go; besides, valid elements that come first in memory without a gap stay so, and are a region again
    where the new shape has a matching row.
    """
    kept = [at for at, d in enumerate(shape) if constant(d) != 1]
    wanted = [at for at, d in enumerate(target) if constant(d) != 1]
    if same_dims([shape[a] for a in kept], [target[a] for a in wanted]):
        result: list[Expr] = [index_const(1)] * len(target)
        for old, new in zip(kept, wanted, strict=True):
            result[new] = valid[old]
        return result
    ones: list[Expr] = [index_const(1)] * len(target)
    cut = 0
    while cut < len(shape) and constant(valid[cut]) == 1:
        cut += 1
    if cut == len(shape):
        return ones
    if not same_dims(valid[cut + 1 :], shape[cut + 1 :]):
        return None
    inner = constant(product_of(shape[cut + 1 :]))
    if inner is None:
        return None
    return _prefix(product(valid[cut], index_const(inner)), valid[cut], inner, target)


def _prefix(count: Expr, outer: Expr, inner: int, target: Sequence[Expr]) -> list[Expr] | None:
    """The region of ``target`` that holds its first ``count = outer * inner`` elements."""
    number = constant(count)
    row = 1
    for at in range(len(target) - 1, -1, -1):
        extent = constant(target[at])
        if inner % row == 0 and (extent is None or number is None or number <= row * extent):
            fits = number is not None and extent is not None
            if fits or at == 0 or all(constant(d) == 1 for d in target[:at]):
                lead: list[Expr] = [index_const(1)] * at
                return [*lead, product(outer, index_const(inner // row)), *target[at + 1 :]]
        if extent is None:
            return None
        row *= extent
    return None


def _carried(source: TensorType | TileType, shape: Sequence[Expr]) -> list[Expr] | None:
    if source.valid_shape is source.shape:
        return None
    return reshaped_valid(source.shape, source.valid_shape, shape)


def _reshape_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    shape = entries(args[1])
    need_positive(declaration, 1, shape, static=False)
    assert isinstance(source, TileType | TensorType)
    _need_equal_size(declaration, shape, source)
    if isinstance(source, TileType):
        return tile_of(shape, source.dtype, source.memory_space, _carried(source, shape))
    if len(args) > 2 and entries(args[2]):
        valid = entries(args[2])
        need_valid(declaration, 2, valid, shape)
        return tensor_of(source, shape, valid)
    return tensor_of(source, shape, _carried(source, shape))


def reshape(source: Array, shape: tuple[int, ...], valid_shape: tuple[int, ...] = ()) -> Array:
    """The elements in another shape, on the same storage where the storage allows it."""
    return source.reshape(shape)


op(
    "tile.reshape",
    params=[Param("tile", Kind.TILE, doc="A tile."), Param("shape", Kind.TUPLE, doc="The new extents; as many elements.")],
    result=_reshape_type,
    meaning=reshape,
    lanes=Lanes.MOVE,
    alias="tile",
    memory="inherit",
    short=True,
    doc="The same elements, row by row, in another shape.",
)
op(
    "tensor.reshape",
    params=[
        Param("tensor", Kind.TENSOR, doc="A tensor."),
        Param("shape", Kind.TUPLE, doc="The new extents; as many elements."),
        _VALID,
    ],
    result=_reshape_type,
    meaning=reshape,
    lanes=Lanes.MOVE,
    alias="tensor",
    short=True,
    tile_form="tile.reshape",
    doc="The same elements, row by row, in another shape.",
)


# -- reinterpretation ------------------------------------------------------------------------------------------------------------


def _reinterpret_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TileType | TensorType)
    dtype = kwargs["dtype"]
    assert isinstance(dtype, DataType)
    if isinstance(source, DistributedTensorType):
        raise OperandError(f"{declaration.name} takes no distributed tensor", 0)
    for part in (source.dtype, dtype):
        if part.get_bit() % 8 or part is DataType.TASK_ID:
            raise OperandError(f"{declaration.name} works on whole bytes, got {part.name}", 0)
    if isinstance(source, TileType):
        view = source.tile_view
        flat = source.get_effective_tile_view().slayout is TileLayout.none_box
        if not flat or (view is not None and (view.stride or view.start_offset is not None or view.valid_shape)):
            raise OperandError(f"{declaration.name} takes a flat packed tile, valid throughout and without offset", 0)
    elif not is_packed(source) or layout_of(source) is not TensorLayout.ND:
        raise OperandError(f"{declaration.name} takes a packed tensor, valid throughout", 0)
    have, want = source.dtype.get_byte(), dtype.get_byte()
    if len(args) > 1:
        shape = entries(args[1])
        need_positive(declaration, 1, shape, static=False)
    else:
        shape = [*source.shape]
        last = constant(shape[-1])
        if have != want:
            if last is None or last * have % want:
                raise OperandError(
                    f"{declaration.name} cannot cut rows of {describe_type(source)} into {dtype.name}",
                    0,
                    hint="state the new extents: shape=[...]",
                )
            shape[-1] = index_const(last * have // want)
    mine, theirs = constant(product_of(shape)), constant(product_of(source.shape))
    if mine is not None and theirs is not None and mine * want != theirs * have:
        raise OperandError(
            f"{declaration.name} cannot read {describe_type(source)}, {theirs * have} bytes, as {dtype.name} {text_of(shape)}, "
            f"{mine * want} bytes",
            1 if len(args) > 1 else 0,
        )
    if isinstance(source, TileType):
        return tile_of(shape, dtype, source.memory_space)
    return TensorType(shape, dtype)


def reinterpret(data: Array, shape: tuple[int, ...] = (), *, out: ResultSpec) -> Array:
    """The same bytes as other elements. Of a mask: an element is marked when any element that lends it a byte is."""
    flat = data.reshape(-1)
    if data.dtype == np.bool_:
        size = int(np.prod(out.shape))
        if size >= flat.size:
            return np.repeat(flat, size // max(1, flat.size)).reshape(out.shape)
        marked: Array = np.logical_or.reduce(flat.reshape(size, -1), axis=1)
        return marked.reshape(out.shape)
    return np.ascontiguousarray(flat).view(out.dtype).reshape(out.shape)


for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.reinterpret_view",
        params=[
            Param("data", _kind, doc="A packed operand."),
            Param("dtype", Kind.DTYPE, stored=True, doc="The element type to read the bytes as."),
            Param(
                "shape",
                Kind.TUPLE,
                None,
                by_keyword=True,
                keyword_only=True,
                doc="The new extents; by default the last one changes.",
            ),
        ],
        result=_reinterpret_type,
        meaning=reinterpret,
        lanes=Lanes.MOVE,
        memory="inherit" if _space == "tile" else None,
        short=True,
        tile_form="tile.reinterpret_view" if _space == "tensor" else None,
        doc="The same bytes read as elements of another type.",
    )


# -- view ------------------------------------------------------------------------------------------------------------------------


def _view_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TensorType)
    shape = entries(args[1]) if len(args) > 1 else []
    valid = entries(args[2]) if len(args) > 2 else []
    layout = kwargs.get("layout", None)
    if not shape and layout is None:
        raise InvalidValueError(
            f"{declaration.name} needs a shape, a layout or both", hint=f"signature: {declaration.spelling()}"
        )
    if valid and not shape:
        raise OperandError(f"{declaration.name} takes a valid shape only with a shape", 2)
    had = layout_of(source)
    target = had if layout is None else layout
    for each in (had, target):
        if each is TensorLayout.NZ or each in MX_LAYOUTS:
            raise InvalidValueError(f"{declaration.name} works between ND and DN, not {each.name}")
    assert isinstance(target, TensorLayout)
    shape = shape or [*source.shape]
    need_positive(declaration, 1, shape, static=False)
    if target is not had and (len(shape) < 2 or len(source.shape) < 2):
        raise OperandError(f"{declaration.name} changes the layout only of rank 2 and higher, got {describe_type(source)}", 0)
    view = source.tensor_view
    if view is not None and view.stride and not _is_row_major(source):
        raise OperandError(f"{declaration.name} takes a packed tensor, got one with strides", 0)
    _need_equal_size(declaration, shape, source)
    if valid:
        need_valid(declaration, 2, valid, shape)
        if source.valid_shape is not source.shape and (target is not TensorLayout.ND or had is not TensorLayout.ND):
            raise OperandError(f"{declaration.name} takes a valid shape only from ND to ND", 2)
        extents: Sequence[Expr] | None = valid
        if source.valid_shape is not source.shape:
            expected = reshaped_valid(source.shape, source.valid_shape, shape)
            collapses = (_leading_collapse(source.valid_shape, shape), _row_collapse(source, shape))
            if not any(e is not None and same_dims(e, valid) for e in (expected, *collapses)):
                raise OperandError(
                    f"{declaration.name} cannot see the valid region {text_of(source.valid_shape)} of {describe_type(source)} "
                    f"as {text_of(valid)} of {text_of(shape)}",
                    2,
                )
    elif source.valid_shape is source.shape:
        extents = None
    elif same_dims(shape, source.shape):
        extents = source.valid_shape
    else:
        raise OperandError(
            f"{declaration.name} takes a tensor that is valid throughout, got the valid shape {text_of(source.valid_shape)} of "
            f"{describe_type(source)}",
            0,
            hint="state the valid shape of the view",
        )
    made = None if target is TensorLayout.ND else TensorView(layout=target)
    if extents is not None:
        made = TensorView([], target, extents)
    return source.with_shape(shape, made)


def _is_row_major(source: TensorType) -> bool:
    step: Expr = index_const(1)
    assert source.tensor_view is not None
    if layout_of(source) is not TensorLayout.ND:
        return False
    for dim, stride in zip(reversed(source.shape), reversed(source.tensor_view.stride), strict=True):
        if not same(stride, step):
            return False
        step = product(dim, step)
    return True


def _leading_collapse(valid: Sequence[Expr], shape: Sequence[Expr]) -> list[Expr] | None:
    """The valid extents of a shape whose leading dimensions are merged into one."""
    if not len(shape) == 2 <= len(valid):
        return None
    return [product_of(valid[:-1]), valid[-1]]


def _row_collapse(source: TensorType, shape: Sequence[Expr]) -> list[Expr] | None:
    """The valid extents of a single row of all elements, when the valid ones come first in memory; the extents may be symbolic."""
    if len(shape) != 2 or constant(shape[0]) != 1:
        return None
    valid = source.valid_shape
    cut = next((at for at, extent in enumerate(valid) if constant(extent) != 1), len(valid))
    return [index_const(1), product_of(valid)] if same_dims(valid[cut + 1 :], source.shape[cut + 1 :]) else None


def view(
    tensor: Array,
    shape: tuple[int, ...] = (),
    valid_shape: tuple[int, ...] = (),
    *,
    layout: TensorLayout | None = None,
) -> Array:
    """The same storage under another shape or layout: in DN the last two axes are swapped in memory."""
    packed = tensor
    swapped = tensor.ndim >= 2 and not tensor.flags.c_contiguous and np.swapaxes(tensor, -1, -2).flags.c_contiguous
    if swapped:
        packed = np.swapaxes(tensor, -1, -2)
    extents = shape or tensor.shape
    column = layout is TensorLayout.DN or (layout is None and swapped)
    if column and len(extents) >= 2:
        extents = (*extents[:-2], extents[-1], extents[-2])
        return np.swapaxes(packed.reshape(extents), -1, -2)
    return packed.reshape(extents)


op(
    "tensor.view",
    params=[
        Param("tensor", Kind.TENSOR, doc="A packed tensor."),
        Param("shape", Kind.TUPLE, None, placeholder=True, doc="The new extents; as many elements."),
        Param("valid_shape", Kind.TUPLE, None, doc="How much of the view is valid."),
        Param("layout", Kind.ENUM, None, enum=TensorLayout, keyword_only=True, doc="ND or DN."),
    ],
    result=_view_type,
    meaning=view,
    lanes=Lanes.MOVE,
    alias="tensor",
    relabels=True,
    doc="The same storage seen with another shape, layout or both. A view of a distributed tensor is one of the same window.",
)


# -- transposition ---------------------------------------------------------------------------------------------------------------


def _swap(items: Sequence[Any], one: int, other: int) -> list[Any]:
    swapped = [*items]
    if swapped:
        swapped[one], swapped[other] = swapped[other], swapped[one]
    return swapped


def _transpose_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TileType | TensorType)
    rank = len(source.shape)
    one, other = need_axis(declaration, 1, args[1], rank, "axis1"), need_axis(declaration, 2, args[2], rank, "axis2")
    if one == other:
        raise OperandError(f"{declaration.name} needs two different axes, got {one} twice", 2)
    shape = _swap(source.shape, one, other)
    valid = None if source.valid_shape is source.shape else _swap(source.valid_shape, one, other)
    if isinstance(source, TileType):
        if len(args) > 3:
            tmp = args[3].type
            assert isinstance(tmp, TileType)
            if tmp.dtype is not source.dtype or len(tmp.shape) != rank:
                raise OperandError(
                    f"{declaration.name} takes a scratch tile of the element type and rank of {describe_type(source)}, "
                    f"got {describe_type(tmp)}",
                    3,
                )
        return tile_of(shape, source.dtype, source.memory_space, valid)
    if len(args) > 3:
        valid = entries(args[3])
        need_valid(declaration, 3, valid, shape)
    had = source.tensor_view
    stride: Sequence[Expr] = _swap(had.stride, one, other) if had is not None else []
    layout = layout_of(source)
    if layout is not TensorLayout.ND and {one, other} != {rank - 1, rank - 2}:
        raise OperandError(f"{declaration.name} swaps only the last two axes of a tensor in {layout.name}", 0)
    return tensor_of(source, shape, valid, view=TensorView(stride, TensorLayout.ND) if stride else None)


def transpose(source: Array, axis1: int, axis2: int, extra: Any = None) -> Array:
    """Two axes swapped, on the same storage."""
    return np.swapaxes(source, int(axis1), int(axis2))


def transpose_copy(source: Array, axis1: int, axis2: int, extra: Any = None) -> Array:
    """Two axes swapped, in new storage."""
    return np.swapaxes(source, int(axis1), int(axis2)).copy()


_AXES = [
    Param("axis1", Kind.SCALAR, literal=True, doc="One axis, a constant; negative ones count from the end."),
    Param("axis2", Kind.SCALAR, literal=True, doc="The other axis."),
]

op(
    "tile.transpose",
    params=[Param("tile", Kind.TILE, doc="A tile."), *_AXES, Param("tmp_tile", Kind.TILE, None, doc="Scratch room.")],
    result=_transpose_type,
    meaning=transpose_copy,
    lanes=Lanes.MOVE,
    scratch=["tmp_tile"],
    memory="inherit",
    short=True,
    doc="Two axes swapped.",
)
op(
    "tensor.transpose",
    params=[Param("tensor", Kind.TENSOR, doc="A tensor."), *_AXES, _VALID],
    result=_transpose_type,
    meaning=transpose,
    lanes=Lanes.MOVE,
    alias="tensor",
    short=True,
    doc="Two axes swapped.",
)


def _transpose_view_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TileType)
    if len(source.shape) < 2:
        raise OperandError(f"{declaration.name} takes a tile of rank 2 or higher, got {describe_type(source)}", 0)
    last, before = len(source.shape) - 1, len(source.shape) - 2
    layout = source.get_effective_tile_view()
    swapped = layout.replace(
        blayout=_SWAPPED[layout.blayout],
        slayout=_SWAPPED[layout.slayout],
        valid_shape=_swap(source.valid_shape, last, before),
        stride=_swap(layout.stride, last, before),
    )
    return TileType(_swap(source.shape, last, before), source.dtype, None, swapped, source.memory_space)


def swap_last(tile: Array) -> Array:
    """The last two axes swapped, on the same storage."""
    return np.swapaxes(tile, -1, -2)


op(
    "tile.transpose_view",
    params=[Param("tile", Kind.TILE, doc="A tile of rank 2 or higher.")],
    result=_transpose_view_type,
    meaning=swap_last,
    lanes=Lanes.MOVE,
    alias="tile",
    memory="inherit",
    doc="The last two axes swapped on the same storage: the layouts change in place of the elements.",
)
