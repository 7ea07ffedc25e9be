"""allreduce as a ring in which ranks pull, with barriers of all ranks: the plain form that the pushing one is compared with."""

from __future__ import annotations

from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ReduceOp
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import RoundBarrier, Team, invalidate, pipe
from pypto.ops.host_kernels.ring import chunk_bounds, credit_rows, last_row, neighbors, rank_behind, rounds
from pypto.ops.host_kernels.tiles import TILE, element_type, flat, load_own, load_peer, reduce_tiles, size_of, store
from pypto.ops.host_kernels.writer import KernelWriter, to_index


def allreduce_ring_pull(
    src_type: DistributedTensorType,
    signal_type: DistributedTensorType,
    *,
    op: int = ReduceOp.Sum,
    dtype: DataType | None = None,
) -> Function:
    """The kernel ``(src, signal)``: the same result as :func:`allreduce_ring`, bit for bit, for every reduction.

    In the first NR - 1 rounds each rank reduces a chunk of its left neighbour's window into its own, then it copies the results.

    Args:
        src_type: FP32, of any shape.
        signal_type: INT32, ``[2 * (NR - 1) + 1, NR]``.
        op: a :class:`ReduceOp` or its number.
        dtype: the element type of ``src``; taken from its type when omitted.

    Raises:
        InvalidValueError: ``dtype`` is not that of ``src``.
    """
    element = element_type(src_type, dtype)
    reduction = ReduceOp(op)
    w = KernelWriter()
    src, signal = w.window("src", src_type), w.window("signal", signal_type)
    team = Team(w, src)
    size = size_of(src)
    with w.when(team.may_run(size, least=2)):
        row = flat(w, src, "row")
        left, _ = neighbors(w, team)
        barrier = RoundBarrier(w, team, signal)
        with w.each("turn", 0, rounds(team)) as turn:
            barrier.meet(turn, "reduce_barrier")
            chunk = w.bind("chunk", rank_behind(team, scalar.add(turn, to_index(2))))
            begin, end = chunk_bounds(w, team, size, chunk)
            with w.each("base", begin, end, TILE) as base, w.step("reduce_tile"):
                at = [0, base]
                valid = scalar.min_(to_index(TILE), scalar.sub(end, base))
                theirs = load_peer(w, "theirs", row, left, at, valid)
                own = load_own(w, "own", row, at, valid)
                store(w, reduce_tiles(w, "sum_of_two", reduction, own, theirs), row, at, valid)
            invalidate(w, "reduce_invalidate")
        with w.each("turn", 0, rounds(team)) as turn:
            barrier.meet(scalar.add(rounds(team), turn), "gather_barrier")
            chunk = w.bind("chunk", rank_behind(team, scalar.add(turn, to_index(1))))
            begin, end = chunk_bounds(w, team, size, chunk)
            with w.each("base", begin, end, TILE) as base, w.step("gather_tile"):
                at = [0, base]
                valid = scalar.min_(to_index(TILE), scalar.sub(end, base))
                store(w, load_peer(w, "theirs", row, left, at, valid), row, at, valid)
            invalidate(w, "gather_invalidate")
        barrier.meet(last_row(team), "closing_barrier")
        credit_rows(w, team, barrier)
    pipe(w, "pipe_at_end")
    return w.function(f"allreduce_ring_pull__{reduction.name.lower()}__{element.name.lower()}")
