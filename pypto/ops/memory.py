"""Bringing tiles and tensors into being: loads, stores, creation, fills, moves and valid regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InvalidTypeError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace, PadValue, TensorLayout, TileLayout, WriteChannel
from pypto.ir.expr import Expr, index_const
from pypto.ir.types import PtrType, TensorType, TensorView, TileType, TileView, Type, implicit_tile_view
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
from pypto.ops.region import (
    Array,
    BoundsError,
    Keywords,
    aligned_extents,
    box,
    constant,
    constants,
    entries,
    flat_forms,
    layout_of,
    need_count,
    need_index_like,
    need_literal,
    need_not_negative,
    need_positive,
    need_valid,
    pad_number,
    same_dims,
    tensor_of,
    text_of,
    tile_of,
    window_valid,
    written_valid,
)

ATOMIC_ADD_DTYPES = (DataType.FP32, DataType.BF16, DataType.FP16, DataType.INT32, DataType.INT16, DataType.INT8)
"""Element types that an atomic add to global memory works on."""

MX_LAYOUTS = (TensorLayout.MX_A_ZZ, TensorLayout.MX_B_NN)
"""Layouts of the scales of a block-scaled matrix."""

_SCALES = (MemorySpace.LeftScale, MemorySpace.RightScale)


def is_packed(type_: TensorType) -> bool:
    """True when the elements of a tensor lie one after the other: no stated strides, everything valid."""
    view = type_.tensor_view
    return view is None or not (view.stride or view.valid_shape)


def check_atomic(declaration: Declaration, kwargs: Keywords, dtype: DataType, at: int) -> None:
    """Refuse an atomic add of an element type that the machine cannot add atomically."""
    if kwargs.get("atomic", 0) == int(AtomicType.Add) and dtype not in ATOMIC_ADD_DTYPES:
        names = ", ".join(d.name for d in ATOMIC_ADD_DTYPES)
        raise OperandError(f"{declaration.name} adds atomically only {names}, got {dtype.name}", at)


# -- load ------------------------------------------------------------------------------------------------------------------------


def _load_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source = args[0].type
    assert isinstance(source, TensorType)
    offsets, shapes, valid = entries(args[1]), entries(args[2]), entries(args[3])
    space = kwargs.get("target_memory", MemorySpace.Vec)
    if space not in (MemorySpace.Vec, MemorySpace.Mat):
        raise KeywordError(
            f"{declaration.name} loads into Vec or Mat, got {getattr(space, 'name', space)}",
            "target_memory",
            hint="load into Mat first, then pl.move to Left, Right or Bias",
        )
    assert isinstance(space, MemorySpace)
    rank = len(source.shape)
    need_count(declaration, 1, offsets, rank, "offsets", describe_type(source))
    need_count(declaration, 2, shapes, rank, "extents", describe_type(source))
    need_positive(declaration, 2, shapes, static=False)
    need_not_negative(declaration, 1, offsets, "offset")
    need_valid(declaration, 3, valid, shapes)
    if layout_of(source) in MX_LAYOUTS:
        scale = source.dtype in (DataType.FP8E8M0, DataType.UINT8)
        view = source.tensor_view
        if not scale or rank != 2 or (view is not None and view.stride) or space is not MemorySpace.Mat:
            raise OperandError(
                f"{declaration.name} takes a source in an MX layout only packed, 2-D, FP8E8M0 or UINT8, and into Mat; "
                f"got {describe_type(source)} into {space.name}",
                0,
            )
    clamp = kwargs.get("clamp", False) is True
    return tile_of(shapes, source.dtype, space, window_valid(source, offsets, valid, clamp))


def load_window(
    tensor: Array,
    offsets: tuple[int, ...],
    shapes: tuple[int, ...],
    valid_shape: tuple[int, ...],
    out: ResultSpec,
    clamp: bool = False,
) -> Array:
    """The window of a tensor as a new array; lanes outside the valid extents are zero."""
    extents = valid_shape
    if clamp:
        extents = tuple([max(0, min(e, d - o)) for e, d, o in zip(valid_shape, tensor.shape, offsets, strict=True)])
        if 0 in extents:
            return np.zeros(out.shape, tensor.dtype)
    region = tensor[box("tile.load", tensor, offsets, extents)]
    if extents == shapes:
        result = region.copy()
    else:
        result = np.zeros(shapes, tensor.dtype)
        result[box("tile.load", result, (0,) * len(shapes), extents)] = region
    return result if result.shape == out.shape else result.reshape(out.shape)


_TARGET_MEMORY = Param("target_memory", Kind.ENUM, MemorySpace.Vec, enum=MemorySpace, stored=True, doc="Where the tile lives.")

op(
    "tile.load",
    params=[
        Param("tensor", Kind.TENSOR, doc="The tensor to read."),
        Param("offsets", Kind.TUPLE, doc="Where the window begins, one entry per dimension."),
        Param("shapes", Kind.TUPLE, doc="Extents of the tile."),
        Param("valid_shape", Kind.TUPLE, same_as="shapes", doc="How much of the tile is filled; all of it by default."),
        _TARGET_MEMORY,
        Param("clamp", Kind.BOOL, False, doc="Cut the valid extents down to what the tensor has."),
    ],
    result=_load_type,
    result_forms=flat_forms,
    meaning=load_window,
    lanes=Lanes.MOVE,
    memory="target_memory",
    short=True,
    doc="Copy a window of a tensor into a tile. The valid region is ``valid_shape``, cut down to the valid region of the tensor itself.",
)


# -- store -----------------------------------------------------------------------------------------------------------------------


def _store_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    tile, target = args[0].type, args[2].type
    assert isinstance(tile, TileType)
    assert isinstance(target, TensorType)
    offsets = entries(args[1])
    rank = len(target.shape)
    need_count(declaration, 1, offsets, rank, "offsets", describe_type(target))
    need_not_negative(declaration, 1, offsets, "offset")
    check_atomic(declaration, kwargs, target.dtype, 2)
    if tile.dtype is not target.dtype and tile.memory_space not in (MemorySpace.Acc, None):
        raise OperandError(
            f"{declaration.name} stores {tile.dtype.name} elements into a {target.dtype.name} tensor",
            0,
            hint=f"cast the tile first: pl.cast(..., pl.{target.dtype.name})",
        )
    extents: list[Expr] = [*tile.valid_shape]
    if len(args) > 3:
        extents = entries(args[3])
        need_count(declaration, 3, extents, rank, "extents", describe_type(target))
        need_positive(declaration, 3, extents, static=False)
        full = [constant(d) for d in tile.shape]
        parts = constants(extents)
        if None not in full and None not in parts and _count(full) != _count(parts):
            raise OperandError(f"{declaration.name} cannot lay a tile of {text_of(tile.shape)} out as {text_of(extents)}", 3)
        if not same_dims(tile.valid_shape, tile.shape):
            return target
    elif len(extents) > rank:
        spare = tile.shape[: len(extents) - rank]
        if any(constant(d) not in (1, None) for d in spare):
            raise OperandError(f"{declaration.name} cannot store {describe_type(tile)} into {describe_type(target)}", 0)
        extents = extents[len(extents) - rank :]
    extents = [index_const(1)] * (rank - len(extents)) + extents
    return written_valid(target, offsets, extents)


def _count(dims: Sequence[int | None]) -> int:
    total = 1
    for dim in dims:
        total *= dim or 0
    return total


def store_window(
    tile: Array,
    offsets: tuple[int, ...],
    output_tensor: Array,
    shapes: tuple[int, ...] | None = None,
    atomic: int = 0,
) -> Array:
    """Write a tile (its valid region) into a tensor in place and return the tensor."""
    if shapes is not None and len(shapes) != tile.ndim:
        _store_pages(tile, offsets, output_tensor, shapes, atomic)
        return output_tensor
    extents = aligned_extents("tile.store", tile, output_tensor.ndim)
    _put(output_tensor, box("tile.store", output_tensor, offsets, extents), tile.reshape(extents), atomic)
    return output_tensor


def _store_pages(tile: Array, offsets: tuple[int, ...], target: Array, shapes: tuple[int, ...], atomic: int) -> None:
    """A 2-D tile whose rows are the leading dimensions of ``shapes`` merged."""
    leading = shapes[:-1]
    rows, columns = tile.shape[-2:] if tile.ndim >= 2 else (1, tile.shape[0])
    if rows == int(np.prod(leading)):
        extents = (*leading, columns)
        _put(target, box("tile.store", target, offsets, extents), tile.reshape(extents), atomic)
        return
    if rows > int(np.prod(leading)):
        raise BoundsError(f"tile.store: a tile of shape {list(tile.shape)} does not fit the partition {list(shapes)}")
    for row in range(rows):
        page = np.unravel_index(row, leading)
        begin = (*[o + int(p) for o, p in zip(offsets, page, strict=False)], offsets[-1])
        extents = (1,) * len(leading) + (columns,)
        _put(target, box("tile.store", target, begin, extents), tile[row].reshape(extents), atomic)


def _put(target: Array, region: tuple[slice, ...], values: Array, atomic: int) -> None:
    moved = values if values.dtype == target.dtype else values.astype(target.dtype)
    if atomic:
        target[region] += moved
    else:
        target[region] = moved


op(
    "tile.store",
    params=[
        Param("tile", Kind.TILE, doc="What to write; only its valid region is written."),
        Param("offsets", Kind.TUPLE, doc="Where in the tensor, one entry per dimension."),
        Param("output_tensor", Kind.TENSOR, doc="The tensor written to."),
        Param("shapes", Kind.TUPLE, None, doc="The extents of the region, when a 2-D tile goes into a tensor of higher rank."),
        Param("atomic", Kind.ENUM, AtomicType.None_, enum=AtomicType, keyword_only=True, doc="Add makes it an atomic addition."),
    ],
    result=_store_type,
    meaning=store_window,
    lanes=Lanes.MOVE,
    valid_only=["tile"],
    writes=["output_tensor"],
    reads_when={"output_tensor": ("atomic", int(AtomicType.Add))},
    alias="output_tensor",
    write_channel=WriteChannel.Dma,
    memory_inputs={"tile": (MemorySpace.Vec, MemorySpace.Mat, MemorySpace.Acc)},
    short=True,
    doc="Copy the valid region of a tile into a tensor; gives the tensor. A tile in Acc is converted to the tensor's element type.",
)


# -- create, full ----------------------------------------------------------------------------------------------------------------


def _create_tile_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    shape = entries(args[0])
    need_positive(declaration, 0, shape, static=True)
    space, dtype = kwargs.get("target_memory", MemorySpace.Vec), _dtype_keyword(declaration, kwargs)
    assert isinstance(space, MemorySpace)
    if space in _SCALES:
        raise KeywordError(
            f"{declaration.name} cannot create a tile in {space.name}",
            "target_memory",
            hint="create it in Mat and pl.move it there",
        )
    view = implicit_tile_view(shape, space)
    transpose, flat = kwargs.get("transpose") is True, kwargs.get("flat_layout") is True
    if transpose and (space is not MemorySpace.Mat or len(shape) != 2):
        raise KeywordError(f"{declaration.name} takes transpose=True only for a 2-D tile in Mat", "transpose")
    if flat and (space is not MemorySpace.Mat or transpose):
        raise KeywordError(
            f"{declaration.name} takes flat_layout=True only for a tile in Mat that is not transposed", "flat_layout"
        )
    if transpose:
        view = view.replace(blayout=TileLayout.row_major, slayout=TileLayout.col_major)
    if flat:
        view = view.replace(blayout=TileLayout.row_major, slayout=TileLayout.none_box)
    return tile_of(shape, dtype, space, like=view)


def _dtype_keyword(declaration: Declaration, kwargs: Keywords) -> DataType:
    dtype = kwargs.get("dtype", declaration.keyword_params["dtype"].default)
    if not isinstance(dtype, DataType):
        raise InvalidTypeError(f"{declaration.name} needs 'dtype', the element type", hint=f"signature: {declaration.spelling()}")
    return dtype


def blank(shape: tuple[int, ...], out: ResultSpec, init_value: float | None = None) -> Array:
    """An array that holds nothing of use yet (zeros), or one value throughout."""
    return np.zeros(out.shape, out.dtype) if init_value is None else filled(shape, init_value, out)


def filled(shape: tuple[int, ...], value: Any, out: ResultSpec) -> Array:
    """An array of one value; integers wrap."""
    return np.full(out.shape, np.asarray(value).astype(out.dtype), out.dtype)


_SHAPE = Param("shape", Kind.TUPLE, doc="Extents.")
_DTYPE = Param("dtype", Kind.DTYPE, stored=True, doc="Element type.")

op(
    "tile.create",
    params=[
        Param("shape", Kind.TUPLE, doc="Extents, positive constants."),
        _DTYPE,
        _TARGET_MEMORY,
        Param("transpose", Kind.BOOL, None, doc="Lay a 2-D tile in Mat out transposed."),
        Param("flat_layout", Kind.BOOL, None, keyword_only=True, doc="Lay a tile in Mat out row by row, without blocks."),
    ],
    result=_create_tile_type,
    meaning=blank,
    lanes=Lanes.NONE,
    memory="target_memory",
    fresh=True,
    short=True,
    spellings=["create_tile"],
    doc="A new tile. It holds nothing until it is written; reading it before is an error.",
)


def _create_tensor_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    shape = entries(args[0])
    need_positive(declaration, 0, shape, static=False)
    value = kwargs.get("init_value")
    if isinstance(value, float) and not np.isfinite(value):
        raise KeywordError(f"{declaration.name} takes a finite number as 'init_value', got {value}", "init_value")
    layout = kwargs.get("layout", TensorLayout.ND)
    assert isinstance(layout, TensorLayout)
    view = None if layout is TensorLayout.ND else TensorView(layout=layout)
    return TensorType(shape, _dtype_keyword(declaration, kwargs), None, view)


op(
    "tensor.create",
    params=[
        _SHAPE,
        _DTYPE,
        Param("layout", Kind.ENUM, TensorLayout.ND, enum=TensorLayout, stored=True, doc="How the elements lie."),
        Param("manual_dep", Kind.BOOL, False, doc="Its dependencies are stated by hand."),
        Param("init_value", Kind.FLOAT, None, doc="What every element holds at first; nothing when omitted."),
    ],
    result=_create_tensor_type,
    meaning=blank,
    lanes=Lanes.NONE,
    fresh="init_value",
    short=True,
    spellings=["create_tensor"],
    doc="A new tensor. Without ``init_value`` it holds nothing until it is written; reading it before is an error.",
)


def _full_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    shape = entries(args[0])
    tile = declaration.namespace == "tile"
    need_positive(declaration, 0, shape, static=tile)
    need_literal(declaration, 1, args[1], "value")
    dtype = _dtype_keyword(declaration, kwargs)
    return tile_of(shape, dtype, MemorySpace.Vec) if tile else TensorType(shape, dtype)


for _space in ("tile", "tensor"):
    op(
        f"{_space}.full",
        params=[
            _SHAPE,
            _DTYPE,
            Param(
                "value", Kind.SCALAR, stamp="dtype", literal=True, by_keyword=True, doc="The value of every element, a constant."
            ),
        ],
        result=_full_type,
        meaning=filled,
        lanes=Lanes.NONE,
        memory=MemorySpace.Vec if _space == "tile" else None,
        short=_space == "tensor",
        tile_form="tile.full" if _space == "tensor" else None,
        doc=f"A new {_space} of one value.",
    )


# -- move, alloc -----------------------------------------------------------------------------------------------------------------


def _move_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    tile = args[0].type
    assert isinstance(tile, TileType)
    space = kwargs["target_memory"]
    assert isinstance(space, MemorySpace)
    if space in (MemorySpace.DDR, MemorySpace.ScalarLocal):
        raise KeywordError(f"{declaration.name} moves between memories of the core, not to {space.name}", "target_memory")
    view = implicit_tile_view(tile.shape, space)
    wanted = {key: kwargs[key] for key in ("blayout", "slayout") if key in kwargs}
    for key, layout in wanted.items():
        fixed = getattr(view, key)
        if space not in (MemorySpace.Vec, MemorySpace.Mat) and layout is not fixed:
            raise KeywordError(
                f"{declaration.name} cannot choose {key!r} in {space.name}: it is always {fixed.name}, "
                f"got {getattr(layout, 'name', layout)}",
                key,
            )
    if space in _SCALES:
        source = tile.get_effective_tile_view()
        ok = (
            len(tile.shape) == 2
            and tile.memory_space in (MemorySpace.Mat, None)
            and tile.dtype in (DataType.UINT8, DataType.FP8E8M0)
            and (tile.memory_space is None or (source.blayout is view.blayout and source.slayout is view.slayout))
        )
        if not ok:
            raise OperandError(
                f"{declaration.name} to {space.name} takes a 2-D UINT8 or FP8E8M0 tile in Mat with layout "
                f"{view.blayout.name}/{view.slayout.name}, got {describe_type(tile)}",
                0,
            )
    return tile_of(tile.shape, tile.dtype, space, tile.valid_shape, like=view.replace(**wanted))


def copied(tile: Array) -> Array:
    """The same elements in a new array."""
    return tile.copy()


op(
    "tile.move",
    params=[
        Param("tile", Kind.TILE, doc="The tile to move."),
        Param("target_memory", Kind.ENUM, enum=MemorySpace, stored=True, doc="Where to."),
        Param("blayout", Kind.ENUM, None, enum=TileLayout, doc="Block layout in Vec or Mat, when not the usual one."),
        Param("slayout", Kind.ENUM, None, enum=TileLayout, doc="Layout inside a block in Vec or Mat, when not the usual one."),
    ],
    result=_move_type,
    meaning=copied,
    lanes=Lanes.MOVE,
    memory="target_memory",
    short=True,
    doc="Copy a tile into another memory of the core, laid out as that memory asks for.",
)


def _pointer_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    space = constant(args[0])
    if space is not None and space not in [m.value for m in MemorySpace]:
        raise OperandError(f"{declaration.name} knows no memory space number {space}", 0)
    need_not_negative(declaration, 1, [args[1]], "size")
    return PtrType()


def address(memory_space: int, size: int) -> int:
    """Where the memory is: nowhere in particular, for nothing is read through it."""
    return 0


_ALLOC = [
    Param("memory_space", Kind.SCALAR, enum=MemorySpace, doc="Where."),
    Param("size", Kind.SCALAR, doc="Bytes."),
]

op(
    "tile.alloc",
    params=[*_ALLOC, Param("pinned", Kind.BOOL, False, keyword_only=True, doc="Its place is fixed by the author.")],
    result=_pointer_type,
    meaning=address,
    lanes=Lanes.NONE,
    doc="Memory for tiles, made by the allocation passes.",
)
op(
    "tensor.alloc",
    params=_ALLOC,
    result=_pointer_type,
    meaning=address,
    lanes=Lanes.NONE,
    doc="Memory for tensors, made by the allocation passes.",
)


# -- valid regions ---------------------------------------------------------------------------------------------------------------


def _set_valid_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    shaped: Any = args[0].type
    if len(shaped.shape) != 2:
        raise OperandError(f"{declaration.name} takes a 2-D operand, got {describe_type(shaped)}", 0)
    valid = [args[1], args[2]]
    for at, extent in enumerate(valid, 1):
        need_index_like(declaration, at, [extent], "a valid extent")
        most, value = constant(shaped.shape[at - 1]), constant(extent)
        if value is not None and (value < 0 or (most is not None and value > most)):
            limit = "its extent" if most is None else most
            refuse_value(f"{declaration.name} takes {declaration.params[at].name!r} from 0 to {limit}, got {value}", at)
    if isinstance(shaped, TileType):
        return _valid_tile(shaped, valid)
    return tensor_of(shaped, shaped.shape, valid, view=shaped.tensor_view)


def _valid_tile(tile: TileType, valid: Sequence[Expr]) -> TileType:
    view = tile.tile_view or implicit_tile_view(tile.shape, tile.memory_space)
    return TileType(tile.shape, tile.dtype, None, view.replace(valid_shape=valid), tile.memory_space)


def same_elements(shaped: Array, valid_rows: int, valid_cols: int) -> Array:
    """The array itself."""
    return shaped


for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    op(
        f"{_space}.set_validshape",
        params=[
            Param(_space, _kind, doc="A 2-D operand."),
            Param("valid_rows", Kind.SCALAR, doc="Valid rows, from 0 to the extent."),
            Param("valid_cols", Kind.SCALAR, doc="Valid columns, from 0 to the extent."),
        ],
        result=_set_valid_type,
        meaning=same_elements,
        lanes=Lanes.MOVE,
        alias=_space,
        memory="inherit" if _space == "tile" else None,
        short=True,
        tile_form="tile.set_validshape" if _space == "tensor" else None,
        doc="The same elements with another valid region.",
    )


def _fillpad_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    shaped: Any = args[0].type
    if kwargs.get("pad_value", PadValue.zero) is PadValue.null:
        raise KeywordError(f"{declaration.name} cannot fill with PadValue.null", "pad_value", hint="zero, max or min")
    shape: Sequence[Expr] = shaped.shape
    if declaration.leaf == _EXPAND:
        shape = entries(args[1])
        need_positive(declaration, 1, shape, static=True)
        need_count(declaration, 1, shape, len(shaped.shape), "extents", describe_type(shaped))
        for wanted, has in zip(constants(shape), constants(shaped.shape), strict=True):
            if has is not None and wanted is not None and wanted < has:
                raise OperandError(f"{declaration.name} cannot shrink {text_of(shaped.shape)} to {text_of(shape)}", 1)
    if isinstance(shaped, TileType):
        like: TileView | None = shaped.tile_view
        return tile_of(shape, shaped.dtype, shaped.memory_space, like=like)
    assert isinstance(shaped, TensorType)
    layout = layout_of(shaped)
    return TensorType(shape, shaped.dtype, None, None if layout is TensorLayout.ND else TensorView(layout=layout))


_EXPAND = "fillpad_expand"


def fill_outside(shaped: Array, out: ResultSpec, pad_value: PadValue = PadValue.zero) -> Array:
    """The given valid region in an array of the result's shape, padded behind."""
    if shaped.shape == tuple(out.shape):
        return shaped.copy()
    result = np.full(out.shape, pad_number(shaped.dtype, pad_value), shaped.dtype)
    result[tuple([slice(0, e) for e in shaped.shape])] = shaped
    return result


def fill_outside_expand(shaped: Array, shape: tuple[int, ...], out: ResultSpec, pad_value: PadValue = PadValue.zero) -> Array:
    """:func:`fill_outside` with the shape as an operand."""
    return fill_outside(shaped, out, pad_value)


_PAD = Param("pad_value", Kind.PAD, PadValue.zero, stored=True, doc="zero, max, min, or 0, math.inf, -math.inf.")
_FILLED = "All lanes outside the valid region are set to the pad value; the result is valid throughout."

for _space, _kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
    _operand = Param(_space, _kind, doc="What to fill.")
    _inherit = "inherit" if _space == "tile" else None
    op(
        f"{_space}.fillpad",
        params=[_operand, _PAD],
        result=_fillpad_type,
        meaning=fill_outside,
        lanes=Lanes.MOVE,
        valid_only=[_space],
        memory=_inherit,
        short=True,
        tile_form="tile.fillpad" if _space == "tensor" else None,
        doc=_FILLED,
    )
    op(
        f"{_space}.{_EXPAND}",
        params=[_operand, Param("shape", Kind.TUPLE, doc="Constant extents, none below those of the operand."), _PAD],
        result=_fillpad_type,
        meaning=fill_outside_expand,
        lanes=Lanes.MOVE,
        valid_only=[_space],
        memory=_inherit,
        short=True,
        tile_form=f"tile.{_EXPAND}" if _space == "tensor" else None,
        doc=f"Enlarge to ``shape``. {_FILLED}",
    )

op(
    "tile.fillpad_inplace",
    params=[Param("tile", Kind.TILE, doc="What to fill."), _PAD],
    result=_fillpad_type,
    meaning=fill_outside,
    lanes=Lanes.MOVE,
    valid_only=["tile"],
    memory="inherit",
    doc=f"{_FILLED} It takes the place of the operand, which should not be used afterwards.",
)
