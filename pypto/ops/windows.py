"""Parts of tiles and tensors: slices, extraction, assembling, concatenation, repetition."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace, PadValue, TensorLayout, WriteChannel
from pypto.ir.expr import Expr, MakeTuple, index_const
from pypto.ir.types import TensorType, TensorView, TileType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, describe_type, op
from pypto.ops.memory import MX_LAYOUTS, check_atomic
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
    same,
    tensor_of,
    text_of,
    tile_of,
    total,
    window_valid,
    written_valid,
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
                    f"{declaration.name} takes {text_of(shape)} at {text_of(offset)}, which lies outside {describe_type(source)}",
                    2,
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
    name: str,
    source: Array,
    shape: tuple[int, ...],
    offset: tuple[int, ...],
    valid: tuple[int, ...],
    drop: tuple[int, ...],
    clamp: bool,
) -> Array:
    inside = all(o + e <= d for o, e, d in zip(offset, shape, source.shape, strict=False))
    if inside:
        part = source[box(name, source, offset, shape)]
    else:
        extents = valid or shape
        if clamp:
            extents = tuple([max(0, min(e, d - o)) for e, d, o in zip(extents, source.shape, offset, strict=True)])
        region = source[box(name, source, offset, extents)] if all(extents) else np.zeros((0,) * source.ndim, source.dtype)
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
                f"{declaration.name} extracts {text_of(shape)} at index {index} of axis {at}, outside {describe_type(source)}",
                at + 1,
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
                f"{declaration.name} puts {describe_type(source)} at {text_of(offset)}, which lies outside {describe_type(target)}",
                2,
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


def side_by_side(src0: Array, src1: Array) -> Array:
    """The columns of both."""
    return np.concatenate((src0, src1), axis=1)


for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.concat",
        params=[Param("src0", _kind, doc="The left part, 2-D."), Param("src1", _kind, doc="The right part, as many rows.")],
        result=_concat_type,
        meaning=side_by_side,
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


def repeated(src: Array, target: Array) -> Array:
    """The source repeated to the shape of the target."""
    return np.broadcast_to(src, target.shape).copy()


op(
    "tensor.expand_clone",
    params=[
        Param("src", Kind.TENSOR, doc="A tensor of rank 3."),
        Param("target", Kind.TENSOR, doc="A tensor whose shape is wanted; its elements do not count."),
    ],
    result=_expand_clone_type,
    meaning=repeated,
    lanes=Lanes.MOVE,
    short=True,
    doc="Repeat a tensor along the one axis in which it has extent 1 and the target has more.",
)
