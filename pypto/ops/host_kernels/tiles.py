"""Moving data in tiles of 256 elements: own and remote loads, reductions, stores and pushes.

The last tile of a run of elements is ragged: it is as wide as the others, and its valid extent says how much of it counts. Of a window of
one row, FP16 elements of another rank are read in whole units of 32 bytes; what lies behind the end is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace, PadValue, ReduceOp
from pypto.ir.expr import Expr, Var, index_const
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import pipe
from pypto.ops.host_kernels.writer import KernelWriter, constant_of, product

TILE = 256
"""Elements of a tile, whatever their type."""

UNIT = 16
"""FP16 elements in 32 bytes."""

REDUCTIONS = {
    ReduceOp.Sum: "tile.add",
    ReduceOp.Max: "tile.maximum",
    ReduceOp.Min: "tile.minimum",
    ReduceOp.Prod: "tile.mul",
}
"""The operator of each reduction; the accumulator comes first."""


def window_type(window: Var) -> DistributedTensorType:
    """The type of a window."""
    type_ = window.type
    assert isinstance(type_, DistributedTensorType)
    return type_


def element_type(type_: DistributedTensorType, dtype: DataType | None) -> DataType:
    """The element type of the data, which a dispatch states too.

    Raises:
        InvalidValueError: the two differ.
    """
    if dtype is not None and dtype is not type_.dtype:
        raise InvalidValueError(f"the kernel is asked for {dtype.name} elements, the window holds {type_.dtype.name}")
    return type_.dtype


def size_of(window: Var) -> Expr:
    """The number of elements of a window."""
    return product(window_type(window).shape)


def flat(writer: KernelWriter, window: Var, name: str) -> Var:
    """The window as one row."""
    return writer.bind(name, writer.call("tensor.view", window, [1, size_of(window)]))


def tile_width(columns: Expr) -> int:
    """The width of the tiles in which rows of so many columns move: that of the row where it is narrower."""
    known = constant_of(columns)
    return TILE if known is None else max(1, min(known, TILE))


def extent(end: Expr, base: Expr, width: int = TILE) -> Expr:
    """How many elements a tile that begins at ``base`` has before ``end``; a constant when every tile of a run from 0 is full."""
    known = constant_of(end)
    if known is not None and known % width == 0:
        return index_const(width)
    return scalar.min_(index_const(width), scalar.sub(end, base))


def load_own(writer: KernelWriter, name: str, window: Var, at: Sequence[Expr | int], valid: Expr, fill: bool = False) -> Var:
    """A tile of this rank's window, ``valid`` elements from ``at`` on; with ``fill`` the rest counts too and is zero."""
    loaded = writer.call("tile.load", window, at, [1, TILE], [1, valid], target_memory=MemorySpace.Vec)
    if not fill or constant_of(valid) == TILE:
        return writer.bind(name, loaded)
    part = writer.bind(f"{name}_loaded", loaded)
    return writer.bind(name, writer.call("tile.fillpad_inplace", part, pad_value=PadValue.zero))


def load_peer(
    writer: KernelWriter, name: str, window: Var, peer: Expr, at: Sequence[Expr | int], valid: Expr, fill: bool = False
) -> Var:
    """A tile of another rank's window, like :func:`load_own`."""
    if constant_of(valid) == TILE:
        return writer.bind(name, writer.call("pld.tile.remote_load", window, peer, at, [1, TILE]))
    type_ = window_type(window)
    if type_.dtype is DataType.FP16 and constant_of(type_.shape[0]) == 1:
        unit = index_const(UNIT)
        span = scalar.mul(scalar.floordiv(scalar.add(valid, index_const(UNIT - 1)), unit), unit)
        loaded = writer.call("pld.tile.remote_load", window, peer, at, [1, TILE], [1, span], allow_physical_tail_padding=True)
        part = writer.bind(f"{name}_loaded", loaded)
        if not fill:
            return writer.bind(name, writer.call("tile.set_validshape", part, 1, valid))
        part = writer.bind(f"{name}_part", writer.call("tile.set_validshape", part, 1, valid))
    else:
        loaded = writer.call("pld.tile.remote_load", window, peer, at, [1, TILE], [1, valid])
        if not fill:
            return writer.bind(name, loaded)
        part = writer.bind(f"{name}_loaded", loaded)
    return writer.bind(name, writer.call("tile.fillpad_inplace", part, pad_value=PadValue.zero))


def reduce_tiles(writer: KernelWriter, name: str, op: ReduceOp, one: Expr, other: Expr) -> Var:
    """The reduction of two tiles, element by element."""
    return writer.bind(name, writer.call(REDUCTIONS[op], one, other))


def store(writer: KernelWriter, tile: Var, window: Var, at: Sequence[Expr | int], valid: Expr, filled: bool = False) -> None:
    """Write the ``valid`` elements of a tile into this rank's window; ``filled`` says that the rest was filled."""
    if filled and constant_of(valid) != TILE:
        tile = writer.bind("result_part", writer.call("tile.set_validshape", tile, 1, valid))
    writer.do("tile.store", tile, at, window)


def new_stage(writer: KernelWriter, dtype: DataType, width: int) -> Var:
    """On-chip room through which pushed elements pass."""
    return writer.bind("stage", writer.call("tile.create", [1, width], dtype=dtype, target_memory=MemorySpace.Vec))


def push(
    writer: KernelWriter,
    name: str,
    target: Var,
    peer: Expr,
    source: Var,
    stage: Var,
    to: Sequence[Expr | int],
    from_: Sequence[Expr | int],
    valid: Expr,
    atomic: AtomicType = AtomicType.None_,
) -> None:
    """A step that writes ``valid`` elements of a window of this rank into another rank's, between two drains of the engines."""
    pipe(writer, f"pipe_before_{name}")
    with writer.step(name):
        writer.do("pld.tile.put", target, peer, source, stage, to, from_, [1, valid], atomic=atomic)
    pipe(writer, f"pipe_after_{name}")
