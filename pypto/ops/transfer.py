"""One-sided transfers between the memories of ranks: remote loads and stores, put and get."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace
from pypto.ir.expr import Expr, index_const
from pypto.ir.types import DistributedTensorType, ShapedType, TensorType, TileType, Type, UnknownType
from pypto.ops.arranged import Arranged
from pypto.ops.communication import PEER, rank_number
from pypto.ops.declare import (
    Declaration,
    KeywordError,
    Kind,
    Lanes,
    OperandError,
    Param,
    ResultSpec,
    describe_type,
    op,
    refuse_value,
)
from pypto.ops.memory import MX_LAYOUTS, check_atomic
from pypto.ops.region import (
    Array,
    BoundsError,
    Keywords,
    aligned_extents,
    box,
    constant,
    constants,
    entries,
    flat_dims,
    flat_forms,
    layout_of,
    need_count,
    need_not_negative,
    need_positive,
    need_valid,
    same_dims,
    text_of,
    tile_of,
    window_valid,
)

TAIL = 16
"""Elements of FP16 in 32 bytes: a padded remote load may reach to the next multiple of them."""


def _inside(
    declaration: Declaration, at: int, target: ShapedType, offsets: Sequence[Expr], extents: Sequence[Expr], more: int = 0
) -> None:
    """Refuse a constant region that reaches outside of ``target``; its last axis may be exceeded by ``more``."""
    last = len(target.shape) - 1
    for axis, (dim, begin, extent) in enumerate(
        zip(constants(target.shape), constants(offsets), constants(extents), strict=True)
    ):
        most = None if dim is None else dim + (more if axis == last else 0)
        if most is not None and begin is not None and extent is not None and begin + extent > most:
            refuse_value(
                f"{declaration.name} reaches {text_of(extents)} at {text_of(offsets)}, which lies outside {describe_type(target)}",
                at,
            )


# -- remote load -----------------------------------------------------------------------------------------------------------------


def _remote_load_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, DistributedTensorType)
    rank_number(declaration, args, 1)
    offsets, shape = entries(args[2]), entries(args[3])
    rank = len(source.shape)
    need_count(declaration, 2, offsets, rank, "offsets", describe_type(source))
    need_count(declaration, 3, shape, rank, "extents", describe_type(source))
    need_positive(declaration, 3, shape, static=False)
    need_not_negative(declaration, 2, offsets, "offset")
    if layout_of(source) in MX_LAYOUTS:
        raise OperandError(f"{declaration.name} takes no tensor in {layout_of(source).name}", 0)
    padded = kwargs.get("allow_physical_tail_padding") is True
    if padded and (source.dtype is not DataType.FP16 or rank != 2 or len(args) < 5):
        raise OperandError(
            f"{declaration.name} reads the padding behind a window only of a 2-D FP16 tensor and with a valid shape, "
            f"got {describe_type(source)}",
            0,
        )
    if len(args) < 5:
        _inside(declaration, 2, source, offsets, shape)
        return tile_of(shape, source.dtype, MemorySpace.Vec, window_valid(source, offsets, shape))
    wanted = entries(args[4])
    need_valid(declaration, 4, wanted, shape)
    _inside(declaration, 2, source, offsets, wanted, TAIL - 1 if padded else 0)
    valid = wanted if padded else window_valid(source, offsets, wanted)
    return tile_of(shape, source.dtype, MemorySpace.Vec, valid)


def remote_load(
    target: Array,
    offsets: tuple[int, ...],
    shape: tuple[int, ...],
    valid_shape: tuple[int, ...] | None = None,
    *,
    out: ResultSpec,
    allow_physical_tail_padding: bool = False,
) -> Array:
    """A window of another rank's tensor as a new array; lanes outside the valid extents are zero.

    With padding allowed the columns behind the end of the window hold nothing of use: NaN, or True in a mask.
    """
    extents = shape if valid_shape is None else valid_shape
    name = "pld.tile.remote_load"
    tail = 0
    if allow_physical_tail_padding:
        columns = target.shape[-1]
        end = offsets[-1] + extents[-1]
        if end > columns:
            padded = -(-target.size // TAIL) * TAIL - target.size + columns
            if end > padded:
                raise BoundsError(
                    f"{name}: columns up to {int(end)} are asked for of a window of {columns}, which is padded to {padded} only"
                )
            tail = end - columns
            extents = (*extents[:-1], extents[-1] - tail)
    region = target[box(name, target, offsets, extents)]
    if extents == shape:
        result = region.copy()
    else:
        result = np.zeros(shape, target.dtype)
        result[box(name, result, (0,) * len(shape), extents)] = region
        if tail:
            begin = extents[-1]
            result[(*[slice(0, e) for e in extents[:-1]], slice(begin, begin + tail))] = (
                True if target.dtype == np.bool_ else np.nan
            )
    return result if result.shape == out.shape else result.reshape(out.shape)


op(
    "pld.tile.remote_load",
    params=[
        Param("target", Kind.DISTRIBUTED, doc="The tensor to read."),
        PEER,
        Param("offsets", Kind.TUPLE, doc="Where the window begins, one entry per dimension."),
        Param("shape", Kind.TUPLE, doc="Extents of the tile."),
        Param("valid_shape", Kind.TUPLE, None, doc="How much of the tile is filled; what of the tensor is valid by default."),
        Param(
            "allow_physical_tail_padding",
            Kind.BOOL,
            False,
            keyword_only=True,
            internal=True,
            doc="Up to 15 FP16 elements behind the end of the window may be read; they hold nothing of use.",
        ),
    ],
    implied_forms={"_remote_load_with_physical_tail_padding": {"allow_physical_tail_padding": True}},
    result=_remote_load_type,
    result_forms=flat_forms,
    meaning=remote_load,
    lanes=Lanes.MOVE,
    memory=MemorySpace.Vec,
    remote="target",
    short=True,
    doc="Copy a window of another rank's tensor into a tile.",
)


# -- remote store ----------------------------------------------------------------------------------------------------------------


def _remote_store_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source, target = args[0].type, args[1].type
    assert isinstance(source, TileType | TensorType)
    assert isinstance(target, DistributedTensorType)
    rank_number(declaration, args, 2)
    if isinstance(source, DistributedTensorType):
        raise OperandError(
            f"{declaration.name} takes a plain tensor as 'src', got {describe_type(source)}", 0, hint="use pld.tensor.put"
        )
    offsets = entries(args[3])
    rank = len(target.shape)
    if rank < 2:
        raise OperandError(f"{declaration.name} takes a target of rank 2 or more, got {describe_type(target)}", 1)
    need_count(declaration, 3, offsets, rank, "offsets", describe_type(target))
    need_not_negative(declaration, 3, offsets, "offset")
    if source.dtype is not target.dtype:
        raise OperandError(
            f"{declaration.name} stores {source.dtype.name} elements into a {target.dtype.name} tensor",
            0,
            hint=f"cast the source first: pl.cast(..., pl.{target.dtype.name})",
        )
    check_atomic(declaration, kwargs, target.dtype, 1)
    shape = source.shape
    if len(shape) != 2 and any(constant(d) != 1 for d in shape[:-2]):
        raise OperandError(f"{declaration.name} takes a 2-D source or leading extents of 1, got {describe_type(source)}", 0)
    extents: list[Expr] = [*source.valid_shape]
    extents = [index_const(1)] * (rank - len(extents)) + extents[max(0, len(extents) - rank) :]
    _inside(declaration, 3, target, offsets, extents)
    return UnknownType()


def _put(target: Array, region: Any, values: Array, atomic: int) -> None:
    if atomic:
        with np.errstate(all="ignore"):
            target[region] += values
    else:
        target[region] = values


def remote_store(src: Array, target: Array, offsets: tuple[int, ...], atomic: int = 0) -> Array:
    """Write the valid region of a tile or tensor into another rank's tensor."""
    extents = aligned_extents("remote_store", src, target.ndim)
    _put(target, box("remote_store", target, offsets, extents), src.reshape(extents), atomic)
    return target


_ATOMIC = Param(
    "atomic",
    Kind.ENUM,
    AtomicType.None_,
    enum=AtomicType,
    keyword_only=True,
    shown_as_number=True,
    doc="Add makes it an atomic addition.",
)
_ALWAYS_ATOMIC = Param(
    "atomic",
    Kind.ENUM,
    AtomicType.None_,
    enum=AtomicType,
    stored=True,
    keyword_only=True,
    shown_as_number=True,
    doc="Add makes it an atomic addition.",
)

for _space, _source, _kind in (("tile", "src_tile", Kind.TILE), ("tensor", "src", Kind.TENSOR)):
    op(
        f"pld.{_space}.remote_store",
        params=[
            Param(_source, _kind, doc="What to write; only its valid region is written."),
            Param("target", Kind.DISTRIBUTED, doc="The tensor written to."),
            PEER,
            Param("offsets", Kind.TUPLE, doc="Where in the tensor, one entry per dimension."),
            _ATOMIC,
        ],
        result=_remote_store_type,
        meaning=remote_store,
        lanes=Lanes.MOVE,
        valid_only=[_source],
        writes=["target"],
        reads_when={"target": ("atomic", int(AtomicType.Add))},
        remote="target",
        short=True,
        doc=f"Copy a {_space} into another rank's tensor.",
    )


# -- put and get -----------------------------------------------------------------------------------------------------------------


def _transfer(declaration: Declaration, args: Sequence[Expr], names: Sequence[str], kwargs: Keywords) -> Sequence[Expr]:
    """The checks that put and get share; gives the extents that are moved."""
    at = {name: place for place, name in enumerate(names)}
    dst, src = args[at["dst"]].type, args[at["src"]].type
    assert isinstance(dst, TensorType)
    assert isinstance(src, TensorType | TileType)
    rank_number(declaration, args, at["peer"])
    if dst.dtype is not src.dtype:
        raise OperandError(
            f"{declaration.name} moves elements of one type, got {describe_type(src)} and {describe_type(dst)}", at["src"]
        )
    if len(dst.shape) != len(src.shape):
        raise OperandError(
            f"{declaration.name} moves between tensors of one rank, got {describe_type(src)} and {describe_type(dst)}", at["src"]
        )
    check_atomic(declaration, kwargs, dst.dtype, at["dst"])
    if "shape" not in at:
        known = [
            (a, b) for a, b in zip(constants(dst.shape), constants(src.shape), strict=True) if a is not None and b is not None
        ]
        if any(a != b for a, b in known) or (len(known) < len(dst.shape) and not same_dims(dst.shape, src.shape)):
            raise OperandError(
                f"{declaration.name} without a region moves all of one shape, got {describe_type(src)} and {describe_type(dst)}",
                at["src"],
                hint="give dst_offsets, src_offsets and shape",
            )
        return src.shape
    shape = entries(args[at["shape"]])
    need_count(declaration, at["shape"], shape, len(dst.shape), "extents", describe_type(dst))
    need_positive(declaration, at["shape"], shape, static=False)
    for name, type_ in (("dst_offsets", dst), ("src_offsets", src)):
        offsets = entries(args[at[name]])
        need_count(declaration, at[name], offsets, len(type_.shape), "offsets", describe_type(type_))
        need_not_negative(declaration, at[name], offsets, "offset")
        _inside(declaration, at[name], type_, offsets, shape)
    return shape


def _tensor_transfer_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    names = [p.name for p in declaration.params_of(len(args))]
    if len(args) not in (3, 6):
        raise OperandError(
            f"{declaration.name} takes dst_offsets, src_offsets and shape together", len(args) - 1, hint=declaration.spelling()
        )
    shape = _transfer(declaration, args, names, kwargs)
    rows, columns = kwargs.get("chunk_rows", 0), kwargs.get("chunk_cols", 0)
    for name, value in (("chunk_rows", rows), ("chunk_cols", columns)):
        if isinstance(value, int) and value < 0:
            raise KeywordError(f"{declaration.name} takes {name!r} from 0, got {value}", name)
    if kwargs.get("pipeline") is True and not (rows and columns):
        raise KeywordError(f"{declaration.name} pipelines only with 'chunk_rows' and 'chunk_cols'", "pipeline")
    flat = flat_dims(shape) if len(shape) > 1 else [index_const(1), *shape]
    if (constant(flat[0]) is None and not rows) or (constant(flat[1]) is None and not columns):
        raise InvalidValueError(
            f"{declaration.name} moves {text_of(shape)}, which is known only at run time",
            hint="state the piece that moves at once: chunk_rows=, chunk_cols=",
        )
    return UnknownType()


def _tile_transfer_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    names = [p.name for p in declaration.params_of(len(args))]
    shape = _transfer(declaration, args, names, kwargs)
    dst: Any = args[names.index("dst")].type
    flat = flat_dims(shape) if len(shape) > 1 else [index_const(1), *shape]
    first: TileType | None = None
    for at, name in enumerate(names):
        if not name.startswith("stage"):
            continue
        stage = args[at].type
        assert isinstance(stage, TileType)
        if len(stage.shape) != 2 or stage.dtype is not dst.dtype or stage.memory_space not in (MemorySpace.Vec, None):
            raise OperandError(
                f"{declaration.name} takes a 2-D {dst.dtype.name} tile in Vec as {name!r}, got {describe_type(stage)}", at
            )
        for room, extent in zip(constants(stage.shape), constants(flat), strict=True):
            if room is not None and extent is not None and room > extent:
                raise OperandError(
                    f"{declaration.name} takes a stage no larger than what is moved, {text_of(flat)}; got {describe_type(stage)}",
                    at,
                )
        if first is not None and not same_dims(first.shape, stage.shape):
            raise OperandError(
                f"{declaration.name} takes two stages of one shape, got {describe_type(first)} and {describe_type(stage)}", at
            )
        first = first or stage
    return UnknownType()


def copy_region(
    dst: Array,
    src: Array,
    dst_offsets: tuple[int, ...] | None = None,
    src_offsets: tuple[int, ...] | None = None,
    shape: tuple[int, ...] | None = None,
    atomic: int = 0,
) -> Array:
    """Copy a region of one array into another, in place."""
    if shape is None or dst_offsets is None or src_offsets is None:
        shape = src.shape
        dst_offsets = src_offsets = (0,) * src.ndim
    values = src[box("transfer", src, src_offsets, shape)]
    _put(dst, box("transfer", dst, dst_offsets, shape), values, atomic)
    return dst


def copy_staged(dst: Array, src: Array, stage: Array, *rest: Any, atomic: int = 0) -> Array:
    """:func:`copy_region`; stages only lend their room. A tuple among ``rest`` is an offset or extent, an array the second stage."""
    region: list[tuple[int, ...]] = [r for r in rest if isinstance(r, tuple)]
    return copy_region(dst, src, *region, atomic=atomic)


_REGION = [
    Param("dst_offsets", Kind.TUPLE, None, doc="Where the region begins in ``dst``."),
    Param("src_offsets", Kind.TUPLE, None, doc="Where the region begins in ``src``."),
    Param("shape", Kind.TUPLE, None, doc="Extents of the region; everything when the three are omitted."),
]
_CHUNKS = [
    Param("chunk_rows", Kind.INT, 0, keyword_only=True, doc="Rows that move at once; 0 leaves it to the compiler."),
    Param("chunk_cols", Kind.INT, 0, keyword_only=True, doc="Columns that move at once; 0 leaves it to the compiler."),
    Param("pipeline", Kind.BOOL, False, keyword_only=True, doc="Move two pieces alternately."),
]
_STAGES = [
    Param("stage", Kind.TILE, doc="On-chip room through which the elements pass."),
    Param("stage2", Kind.TILE, None, doc="A second one, to move two pieces alternately."),
]
_HEAD = ("dst", "peer", "src", "stage")
_AREA = ("dst_offsets", "src_offsets", "shape")
_STAGED = partial(Arranged, arrangements=(_HEAD, (*_HEAD, "stage2"), (*_HEAD, *_AREA), (*_HEAD, *_AREA, "stage2")))

_PUT = [
    Param("dst", Kind.DISTRIBUTED, doc="The tensor written to, on ``peer``."),
    PEER,
]
_GET = [
    Param("dst", Kind.TENSOR, doc="The tensor written to, on this rank."),
    PEER,
    Param("src", Kind.DISTRIBUTED, doc="The tensor read, on ``peer``."),
]

op(
    "pld.tensor.put",
    params=[*_PUT, Param("src", Kind.TENSOR, doc="The tensor read, on this rank."), *_REGION, _ALWAYS_ATOMIC, *_CHUNKS],
    result=_tensor_transfer_type,
    meaning=copy_region,
    lanes=Lanes.MOVE,
    writes=["dst"],
    reads_when={"dst": ("atomic", int(AtomicType.Add))},
    remote="dst",
    doc="Copy a region of a tensor into another rank's tensor.",
)
op(
    "pld.tensor.get",
    params=[*_GET, *_REGION, *_CHUNKS],
    result=_tensor_transfer_type,
    meaning=copy_region,
    lanes=Lanes.MOVE,
    writes=["dst"],
    remote="src",
    doc="Copy a region of another rank's tensor into a tensor of this rank.",
)
op(
    "pld.tile.put",
    params=[*_PUT, Param("src", Kind.SHAPED, doc="The tensor or tile read, on this rank."), *_STAGES, *_REGION, _ALWAYS_ATOMIC],
    kind=_STAGED,
    result=_tile_transfer_type,
    meaning=copy_staged,
    lanes=Lanes.MOVE,
    writes=["dst"],
    reads_when={"dst": ("atomic", int(AtomicType.Add))},
    scratch=["stage", "stage2"],
    remote="dst",
    doc="Copy a region of a tensor or tile into another rank's tensor, in pieces as large as the stage.",
)
op(
    "pld.tile.get",
    params=[*_GET, *_STAGES, *_REGION],
    kind=_STAGED,
    result=_tile_transfer_type,
    meaning=copy_staged,
    lanes=Lanes.MOVE,
    writes=["dst"],
    scratch=["stage", "stage2"],
    remote="src",
    doc="Copy a region of another rank's tensor into a tensor of this rank, in pieces as large as the stage.",
)

__all__ = ["copy_region", "copy_staged", "remote_load", "remote_store"]
