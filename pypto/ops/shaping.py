"""Other shapes over the same elements: reshape, views, transposition, slices, concatenation, assembling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace, PadValue, TensorLayout, TileLayout, WriteChannel
from pypto.ir.expr import Expr, MakeTuple, index_const
from pypto.ir.types import DistributedTensorType, TensorType, TensorView, TileType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, ResultSpec, describe_type, op
from pypto.ops.memory import MX_LAYOUTS, check_atomic, is_packed
from pypto.ops.region import (
    Array,
    Keywords,
    aligned_extents,
    box,
    constant,
    constants,
    entries,
    layout_of,
    need_axis,
    need_count,
    need_index_like,
    need_not_negative,
    need_positive,
    need_valid,
    product,
    product_of,
    same,
    same_dims,
    tensor_of,
    text_of,
    tile_of,
    total,
    window_valid,
    written_valid,
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
    cut = 0
    while cut < len(shape) and constant(valid[cut]) == 1:
        cut += 1
    if cut == len(shape):
        return [index_const(1)] * len(target)
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
        return flat.reshape(size, -1).any(axis=1).reshape(out.shape)
    return np.ascontiguousarray(flat).view(out.dtype).reshape(out.shape)


for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.reinterpret_view",
        params=[
            Param("data", _kind, doc="A packed operand."),
            Param("dtype", Kind.DTYPE, stored=True, doc="The element type to read the bytes as."),
            Param("shape", Kind.TUPLE, None, by_keyword=True, keyword_only=True, doc="The new extents; by default the last one changes."),
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
        raise InvalidValueError(f"{declaration.name} needs a shape, a layout or both", hint=f"signature: {declaration.spelling()}")
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
            collapse = _leading_collapse(source.valid_shape, shape)
            if not any(e is not None and same_dims(e, valid) for e in (expected, collapse)):
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
        step = product(step, dim)
    return True


def _leading_collapse(valid: Sequence[Expr], shape: Sequence[Expr]) -> list[Expr] | None:
    """The valid extents of a shape whose leading dimensions are merged into one."""
    if not len(shape) == 2 <= len(valid):
        return None
    return [product_of(valid[:-1]), valid[-1]]


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


op(
    "tile.transpose_view",
    params=[Param("tile", Kind.TILE, doc="A tile of rank 2 or higher.")],
    result=_transpose_view_type,
    meaning=lambda tile: np.swapaxes(tile, -1, -2),
    lanes=Lanes.MOVE,
    alias="tile",
    memory="inherit",
    doc="The last two axes swapped on the same storage: the layouts change in place of the elements.",
)


# -- slices ----------------------------------------------------------------------------------------------------------------------


def _dropped_axes(declaration: Declaration, args: Sequence[Expr], shape: Sequence[Expr], keep: int) -> list[int]:
    if len(args) < 5:
        return []
    axes = [need_axis(declaration, 4, e, len(shape), "drop_dims") for e in entries(args[4])]
    if len(set(axes)) != len(axes):
        raise OperandError(f"{declaration.name} got an axis twice in 'drop_dims'", 4)
    for axis in axes:
        if constant(shape[axis]) != 1:
            raise OperandError(f"{declaration.name} drops only axes of extent 1, got axis {axis} of {text_of(shape)}", 4)
    if len(shape) - len(axes) < keep:
        what = "all axes" if keep == 1 else f"axes below rank {keep}"
        raise OperandError(f"{declaration.name} cannot drop {what} of {text_of(shape)}", 4)
    return axes


def _slice_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TileType | TensorType)
    tile = isinstance(source, TileType)
    shape, offset = entries(args[1]), entries(args[2])
    rank = len(source.shape)
    need_count(declaration, 1, shape, rank, "extents", describe_type(source))
    need_count(declaration, 2, offset, rank, "offsets", describe_type(source))
    need_positive(declaration, 1, shape, static=tile)
    need_index_like(declaration, 2, offset, "offset") if tile else None
    need_not_negative(declaration, 2, offset, "offset")
    wanted = entries(args[3]) if len(args) > 3 else []
    if wanted:
        need_valid(declaration, 3, wanted, shape)
    valid = window_valid(source, offset, wanted or shape, kwargs.get("clamp") is True)
    if tile:
        for dim, begin, extent in zip(constants(source.shape), constants(offset), constants(wanted or shape), strict=True):
            if dim is not None and begin is not None and extent is not None and begin + extent > dim:
                raise OperandError(
                    f"{declaration.name} takes {text_of(shape)} at {text_of(offset)}, which lies outside {describe_type(source)}", 2
                )
    dropped = _dropped_axes(declaration, args, shape, 2 if tile else 1)
    kept = [at for at in range(rank) if at not in dropped]
    shape, valid = [shape[a] for a in kept], [valid[a] for a in kept]
    pad = kwargs.get("pad_value", PadValue.null)
    assert isinstance(pad, PadValue)
    if isinstance(source, TileType):
        like = source.tile_view if source.tile_view is not None and len(kept) == rank else None
        return tile_of(shape, source.dtype, source.memory_space, valid, like, pad)
    layout = layout_of(source)
    if layout in MX_LAYOUTS:
        raise OperandError(f"{declaration.name} takes no tensor in {layout.name}", 0)
    if layout is not TensorLayout.ND and any(a >= rank - 2 for a in dropped):
        raise OperandError(f"{declaration.name} cannot drop one of the last two axes of a tensor in {layout.name}", 4)
    had = source.tensor_view
    stride = [] if had is None or not had.stride else [had.stride[a] for a in kept]
    return tensor_of(source, shape, keep=True, view=TensorView(stride, layout, valid, pad))


def _slice(
    name: str, source: Array, shape: tuple[int, ...], offset: tuple[int, ...], valid: tuple[int, ...], drop: tuple[int, ...], clamp: bool
) -> Array:
    inside = all(o + e <= d for o, e, d in zip(offset, shape, source.shape, strict=False))
    if inside:
        part = source[box(name, source, offset, shape)]
    else:
        extents = valid or shape
        if clamp:
            extents = tuple([max(0, min(e, d - o)) for e, d, o in zip(extents, source.shape, offset, strict=True)])
        region = (
            source[box(name, source, offset, extents)]
            if all(extents)
            else np.zeros((0,) * source.ndim, source.dtype)
        )
        part = np.zeros(shape, source.dtype)
        part[tuple([slice(0, e) for e in region.shape])] = region
    return part if not drop else part.squeeze(tuple([int(a) for a in drop]))


def slice_tensor(
    tensor: Array,
    shape: tuple[int, ...],
    offset: tuple[int, ...],
    valid_shape: tuple[int, ...] = (),
    drop_dims: tuple[int, ...] = (),
    clamp: bool = False,
) -> Array:
    """A window of a tensor on the same storage; a new array where the window reaches beyond what is valid of it."""
    return _slice("tensor.slice", tensor, shape, offset, valid_shape, drop_dims, clamp)


def slice_tile(
    tile: Array,
    shape: tuple[int, ...],
    offset: tuple[int, ...],
    valid_shape: tuple[int, ...] = (),
    drop_dims: tuple[int, ...] = (),
) -> Array:
    """A window of a tile as a new array."""
    return _slice("tile.slice", tile, shape, offset, valid_shape, drop_dims, False).copy()


_SLICE = [
    Param("shape", Kind.TUPLE, doc="Extents of the window."),
    Param("offset", Kind.TUPLE, doc="Where it begins, one entry per dimension."),
    Param("valid_shape", Kind.TUPLE, None, placeholder=True, doc="How much of the window is valid; all of it by default."),
    Param("drop_dims", Kind.TUPLE, None, doc="Axes of extent 1 to remove."),
    Param("pad_value", Kind.PAD, None, doc="What the lanes outside the valid region stand for."),
]

op(
    "tile.slice",
    params=[Param("tile", Kind.TILE, doc="A tile."), *_SLICE],
    result=_slice_type,
    meaning=slice_tile,
    lanes=Lanes.MOVE,
    memory="inherit",
    short=True,
    doc="A window of a tile; its extents are constants.",
)
op(
    "tensor.slice",
    params=[
        Param("tensor", Kind.TENSOR, doc="A tensor."),
        *_SLICE,
        Param("clamp", Kind.BOOL, False, doc="Cut the valid extents down to what the tensor has."),
    ],
    result=_slice_type,
    meaning=slice_tensor,
    lanes=Lanes.MOVE,
    alias="tensor",
    short=True,
    doc="A window of a tensor, on its storage. A window of a distributed tensor is distributed.",
)


def _extract_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TileType)
    shape = entries(args[3])
    need_positive(declaration, 3, shape, static=True)
    if len(source.shape) != 2:
        raise OperandError(f"{declaration.name} takes a 2-D tile, got {describe_type(source)}", 0)
    need_count(declaration, 3, shape, 2, "extents", describe_type(source))
    for at in (0, 1):
        need_index_like(declaration, at + 1, [args[at + 1]], "an index")
        dim, extent, index = constant(source.shape[at]), constant(shape[at]), constant(args[at + 1])
        if dim is not None and extent is not None and extent > dim:
            raise OperandError(f"{declaration.name} cannot extract {text_of(shape)} from {describe_type(source)}", 3)
        if index is not None and (index < 0 or (dim is not None and extent is not None and index + extent > dim)):
            raise OperandError(
                f"{declaration.name} extracts {text_of(shape)} at index {index} of axis {at}, outside {describe_type(source)}", at + 1
            )
    space = kwargs["target_memory"]
    assert isinstance(space, MemorySpace)
    return tile_of(shape, source.dtype, space, window_valid(source, [args[1], args[2]], shape))


def extract(src: Array, index_row: int, index_col: int, shape: tuple[int, ...]) -> Array:
    """A window of a tile as a new array."""
    return src[box("tile.extract", src, (int(index_row), int(index_col)), shape)].copy()


op(
    "tile.extract",
    params=[
        Param("src", Kind.TILE, doc="A 2-D tile."),
        Param("index_row", Kind.SCALAR, doc="The first row."),
        Param("index_col", Kind.SCALAR, doc="The first column."),
        Param("shape", Kind.TUPLE, doc="Constant extents, none above those of the tile."),
        Param("target_memory", Kind.ENUM, enum=MemorySpace, stored=True, keyword_only=True, doc="Where the result lives."),
    ],
    result=_extract_type,
    meaning=extract,
    lanes=Lanes.MOVE,
    memory="target_memory",
    doc="A window of a tile, copied to another memory.",
)


# -- assembling ------------------------------------------------------------------------------------------------------------------


def _assemble_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target, source = args[0].type, args[1].type
    assert isinstance(target, TileType | TensorType)
    assert isinstance(source, TileType | TensorType)
    tile = isinstance(target, TileType)
    if tile and not isinstance(args[2], MakeTuple):
        raise OperandError(f"{declaration.name} needs the offset written out as a list", 2)
    offset = entries(args[2])
    rank = len(target.shape)
    need_count(declaration, 2, offset, rank, "offsets", describe_type(target))
    need_not_negative(declaration, 2, offset, "offset")
    fixpipe = (
        tile
        and isinstance(source, TileType)
        and source.memory_space is MemorySpace.Acc
        and target.memory_space is MemorySpace.Mat
        and target.dtype in (DataType.BF16, DataType.FP16)
    )
    if source.dtype is not target.dtype and not fixpipe:
        raise OperandError(
            f"{declaration.name} puts {source.dtype.name} elements into {target.dtype.name} ones",
            1,
            hint=f"cast the source first: pl.cast(..., pl.{target.dtype.name})",
        )
    check_atomic(declaration, kwargs, target.dtype, 0)
    extents: list[Expr] = [*source.valid_shape]
    if len(extents) > rank and any(constant(d) not in (1, None) for d in source.shape[: len(extents) - rank]):
        raise OperandError(f"{declaration.name} cannot put {describe_type(source)} into {describe_type(target)}", 1)
    extents = [index_const(1)] * (rank - len(extents)) + extents[max(0, len(extents) - rank) :]
    for dim, begin, extent in zip(constants(target.shape), constants(offset), constants(extents), strict=True):
        if dim is not None and begin is not None and extent is not None and begin + extent > dim:
            raise OperandError(
                f"{declaration.name} puts {describe_type(source)} at {text_of(offset)}, which lies outside {describe_type(target)}", 2
            )
    if isinstance(target, TileType):
        return TileType(target.shape, target.dtype, None, target.tile_view, target.memory_space)
    return written_valid(target, offset, extents)


def assemble_tensor(target: Array, source: Array, offset: tuple[int, ...], atomic: int = 0) -> Array:
    """Write one tensor into another in place and return it."""
    extents = aligned_extents("tensor.assemble", source, target.ndim)
    region = box("tensor.assemble", target, offset, extents)
    if atomic:
        target[region] += source.reshape(extents)
    else:
        target[region] = source.reshape(extents)
    return target


def assemble_tile(target: Array, source: Array, offset: tuple[int, ...]) -> Array:
    """A copy of ``target`` with ``source`` written into it."""
    extents = aligned_extents("tile.assemble", source, target.ndim)
    region = box("tile.assemble", target, offset, extents)
    result = target.copy()
    result[region] = source.reshape(extents).astype(target.dtype, copy=False)
    return result


op(
    "tile.assemble",
    params=[
        Param("target", Kind.TILE, doc="The tile to write into."),
        Param("source", Kind.TILE, doc="What to write: its valid region."),
        Param("offset", Kind.TUPLE, doc="Where, one entry per dimension."),
    ],
    result=_assemble_type,
    meaning=assemble_tile,
    lanes=Lanes.MOVE,
    valid_only=["source"],
    memory="inherit",
    short=True,
    doc="A tile with another written into it. From Acc into Mat the elements may become BF16 or FP16.",
)
op(
    "tensor.assemble",
    params=[
        Param("target", Kind.TENSOR, doc="The tensor to write into."),
        Param("source", Kind.TENSOR, doc="What to write: its valid region."),
        Param("offset", Kind.TUPLE, doc="Where, one entry per dimension."),
        Param("atomic", Kind.ENUM, AtomicType.None_, enum=AtomicType, keyword_only=True, doc="Add makes it an atomic addition."),
    ],
    result=_assemble_type,
    meaning=assemble_tensor,
    lanes=Lanes.MOVE,
    valid_only=["source"],
    writes=["target"],
    reads_when={"target": ("atomic", int(AtomicType.Add))},
    alias="target",
    write_channel=WriteChannel.Dma,
    short=True,
    doc="Write one tensor into another; gives the one written to.",
)


# -- concatenation, expansion ----------------------------------------------------------------------------------------------------


def _concat_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    one, other = args[0].type, args[1].type
    assert isinstance(one, TileType | TensorType)
    assert isinstance(other, TileType | TensorType)
    for at, part in enumerate((one, other)):
        if len(part.shape) != 2:
            raise OperandError(f"{declaration.name} takes 2-D operands, got {describe_type(part)}", at)
    rows, its_rows = constant(one.shape[0]), constant(other.shape[0])
    differ = rows is not None and its_rows is not None and rows != its_rows
    if one.dtype is not other.dtype or differ:
        raise OperandError(
            f"{declaration.name} takes operands of one element type and as many rows, got {describe_type(one)} and {describe_type(other)}",
            1,
        )
    shape = [one.shape[0], total(one.shape[1], other.shape[1])]
    valid = None
    if one.valid_shape is not one.shape or other.valid_shape is not other.shape:
        if not same(one.valid_shape[0], other.valid_shape[0]) or not same(one.valid_shape[1], one.shape[1]):
            raise OperandError(
                f"{declaration.name} takes operands with as many valid rows, the first valid in all its columns; got valid shapes "
                f"{text_of(one.valid_shape)} and {text_of(other.valid_shape)}",
                0,
                hint="fill them first: pl.fillpad(...)",
            )
        valid = [one.valid_shape[0], total(one.shape[1], other.valid_shape[1])]
    if isinstance(one, TileType):
        return tile_of(shape, one.dtype, one.memory_space, valid)
    return tensor_of(one, shape, valid)


for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.concat",
        params=[Param("src0", _kind, doc="The left part, 2-D."), Param("src1", _kind, doc="The right part, as many rows.")],
        result=_concat_type,
        meaning=lambda src0, src1: np.concatenate((src0, src1), axis=1),
        lanes=Lanes.MOVE,
        memory="inherit" if _space == "tile" else None,
        short=True,
        tile_form="tile.concat" if _space == "tensor" else None,
        doc="The columns of one operand followed by those of the other.",
    )


def _expand_clone_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source, target = args[0].type, args[1].type
    assert isinstance(source, TensorType)
    assert isinstance(target, TensorType)
    for at, part in enumerate((source, target)):
        if len(part.shape) != 3:
            raise OperandError(f"{declaration.name} takes tensors of rank 3, got {describe_type(part)}", at)
    grown = [a for a in range(3) if not same(source.shape[a], target.shape[a])]
    if len(grown) > 1 or any(constant(source.shape[a]) != 1 for a in grown):
        raise OperandError(
            f"{declaration.name} repeats along one axis of extent 1, got {describe_type(source)} for {describe_type(target)}", 0
        )
    valid = None
    if source.valid_shape is not source.shape:
        valid = [target.shape[a] if a in grown else source.valid_shape[a] for a in range(3)]
    return tensor_of(source, target.shape, valid)


op(
    "tensor.expand_clone",
    params=[
        Param("src", Kind.TENSOR, doc="A tensor of rank 3."),
        Param("target", Kind.TENSOR, doc="A tensor whose shape is wanted; its elements do not count."),
    ],
    result=_expand_clone_type,
    meaning=lambda src, target: np.broadcast_to(src, target.shape).copy(),
    lanes=Lanes.MOVE,
    short=True,
    doc="Repeat a tensor along the one axis in which it has extent 1 and the target has more.",
)
