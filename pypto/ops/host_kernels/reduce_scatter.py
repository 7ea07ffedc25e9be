"""reduce_scatter."""

from __future__ import annotations

from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ReduceOp
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import Column, Team, barrier, credit_all, dsb, pipe
from pypto.ops.host_kernels.tiles import TILE, element_type, extent, load_own, load_peer, reduce_tiles, store, window_type
from pypto.ops.host_kernels.writer import KernelWriter, int32


def reduce_scatter(
    target_type: DistributedTensorType,
    signal_type: DistributedTensorType,
    *,
    op: int = ReduceOp.Sum,
    dtype: DataType | None = None,
) -> Function:
    """The kernel ``(target, signal)``: row r of rank r's ``target`` becomes the reduction of all ranks' rows r; the others stay.

    Each rank adds its own value, then its peers' in ascending order. A rank may write its window as soon as the kernel is over.

    Args:
        target_type: ``[rows, n]`` with at least as many rows as ranks.
        signal_type: INT32, ``[NR]`` or ``[NR, 1]``.
        op: a :class:`ReduceOp` or its number.
        dtype: the element type of ``target``; taken from its type when omitted.

    Raises:
        InvalidValueError: ``dtype`` is not that of ``target``.
    """
    element = element_type(target_type, dtype)
    reduction = ReduceOp(op)
    w = KernelWriter()
    target, signal = w.window("target", target_type), w.window("signal", signal_type)
    team = Team(w, target)
    columns = window_type(target).shape[-1]
    with w.when(team.may_run(columns)):
        cells = Column(signal)
        ready = barrier(w, team, cells, int32(1), "ready_barrier", pipe_each=True, caches=True)
        with w.each("column", 0, columns, TILE) as column:
            at = [team.me, column]
            valid = extent(columns, column)
            own = load_own(w, "own", target, at, valid, fill=True)
            with w.fold("peer", 0, team.ranks, 1, "total", own) as peers:
                with w.choose("next_total", scalar.ne(peers.index, team.me), peers.value) as total:
                    theirs = load_peer(w, "theirs", target, peers.index, at, valid, fill=True)
                    w.give(total, reduce_tiles(w, "sum_of_two", reduction, peers.value, theirs))
                assert total.result is not None
                peers.hand_on(total.result)
            with w.step("store_tile"):
                store(w, peers.result, target, at, valid, filled=True)
            pipe(w, "pipe_after_store")
            dsb(w, "dsb_after_store")
        read = barrier(w, team, cells, ready, "closing_barrier", pipe_each=True, caches=True)
        credit_all(w, team, cells, scalar.sub(int32(1), read))
    pipe(w, "pipe_at_end")
    return w.function(f"reduce_scatter__{reduction.name.lower()}__{element.name.lower()}")
