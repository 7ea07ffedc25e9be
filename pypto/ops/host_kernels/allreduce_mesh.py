"""allreduce as a mesh: every rank reads all others."""

from __future__ import annotations

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ReduceOp
from pypto.ir.expr import Expr
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import Column, Team, barrier, credit_all, pipe
from pypto.ops.host_kernels.tiles import (
    TILE,
    element_type,
    extent,
    flat,
    load_own,
    load_peer,
    reduce_tiles,
    size_of,
    store,
    window_type,
)
from pypto.ops.host_kernels.writer import KernelWriter, constant_of, int32, to_index


def allreduce_mesh(
    src_type: DistributedTensorType,
    signal_type: DistributedTensorType,
    *,
    op: int = ReduceOp.Sum,
    dtype: DataType | None = None,
    core_num: int = 1,
) -> Function:
    """The kernel ``(src, signal, block, block_num)``: ``src`` becomes the reduction of all ranks' ``src``.

    ``block_num`` blocks of a rank share the tiles, each with a lane of its own in the signal, and meet only the same block of other ranks.
    Each rank adds its own value, then its peers' in ascending order. All blocks must be launched at once.

    Args:
        src_type: FP16 or FP32, of any shape.
        signal_type: INT32, ``[NR]`` or ``[NR, lanes]``.
        op: a :class:`ReduceOp` or its number.
        dtype: the element type of ``src``; taken from its type when omitted.
        core_num: how many blocks will be launched.

    Raises:
        InvalidValueError: ``dtype`` is not that of ``src``, or the signal has fewer lanes than there will be blocks.
    """
    element = element_type(src_type, dtype)
    reduction = ReduceOp(op)
    w = KernelWriter()
    src, signal = w.window("src", src_type), w.window("signal", signal_type)
    block, block_num = w.number("block"), w.number("block_num")
    lanes: Expr = to_index(1) if len(signal_type.shape) == 1 else window_type(signal).shape[1]
    most = constant_of(lanes)
    if most is not None and core_num > most:
        raise InvalidValueError(f"{core_num} blocks need {core_num} lanes of the signal, it has {most}")
    team = Team(w, src)
    size = size_of(src)
    active = w.bind("active", scalar.min_(block_num, lanes))
    with w.when(scalar.and_(team.may_run(size), scalar.lt(block, active))):
        row = flat(w, src, "row")
        cells = Column(signal, block)
        ready = barrier(w, team, cells, int32(1), "ready_barrier")
        pipe(w, "pipe_after_ready")
        first, stride = scalar.mul(block, to_index(TILE)), scalar.mul(active, to_index(TILE))
        with w.fold("base", first, size, stride, "generation", ready) as tiles:
            base, at = tiles.index, [0, tiles.index]
            valid = extent(size, base)
            own = load_own(w, "own", row, at, valid, fill=True)
            with w.fold("peer", 0, team.ranks, 1, "total", own) as peers:
                with w.choose("next_total", scalar.ne(peers.index, team.me), peers.value) as total:
                    theirs = load_peer(w, "theirs", row, peers.index, at, valid, fill=True)
                    w.give(total, reduce_tiles(w, "sum_of_two", reduction, peers.value, theirs))
                assert total.result is not None
                peers.hand_on(total.result)
            tiles.hand_on(barrier(w, team, cells, tiles.value, "tile_barrier"))
            pipe(w, "pipe_before_store")
            with w.step("store_tile"):
                store(w, peers.result, row, at, valid, filled=True)
        credit_all(w, team, cells, scalar.sub(int32(1), tiles.result))
    pipe(w, "pipe_at_end")
    return w.function(f"allreduce__{reduction.name.lower()}__{element.name.lower()}")
