"""allreduce as a ring in which ranks push: partial sums go round, then results."""

from __future__ import annotations

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, ReduceOp
from pypto.ir.expr import Var
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import NeighborBarrier, RingBarrier, RoundBarrier, Team, pipe
from pypto.ops.host_kernels.ring import chunk_bounds, credit_rows, last_row, neighbors, rank_behind, rounds
from pypto.ops.host_kernels.tiles import TILE, element_type, flat, new_stage, push, size_of
from pypto.ops.host_kernels.writer import KernelWriter, to_index


def allreduce_ring(
    src_type: DistributedTensorType,
    signal_type: DistributedTensorType,
    *,
    op: int = ReduceOp.Sum,
    dtype: DataType | None = None,
    meet_all: bool = False,
) -> Function:
    """The kernel ``(src, signal)``: ``src`` becomes the sum of all ranks' ``src``, the same bits everywhere.

    Chunk c holds the elements from ``size * c // NR`` to ``size * (c + 1) // NR`` and may be empty. In the first NR - 1 rounds each rank
    adds a chunk to its right neighbour's; then rank r holds the sum of chunk r, and in NR - 1 further rounds the sums are handed on.
    Chunk c is added up in the order x[c+1], x[c+2], ..., x[c].

    Args:
        src_type: FP32, of any shape.
        signal_type: INT32, ``[2 * (NR - 1) + 1, NR]``.
        op: ``ReduceOp.Sum`` or its number: pushes can only add.
        dtype: the element type of ``src``; taken from its type when omitted.
        meet_all: let each round wait for all ranks instead of the two neighbours.

    Raises:
        InvalidValueError: ``dtype`` is not that of ``src``, or ``op`` is no sum.
    """
    element = element_type(src_type, dtype)
    _only_sum(op)
    w = KernelWriter()
    src, signal = w.window("src", src_type), w.window("signal", signal_type)
    team = Team(w, src)
    size = size_of(src)
    with w.when(team.may_run(size, least=2)):
        row = flat(w, src, "row")
        left, right = neighbors(w, team)
        barrier: RingBarrier = RoundBarrier(w, team, signal) if meet_all else NeighborBarrier(w, team, signal, left, right)
        stage = new_stage(w, element, TILE)

        def push_chunk(name: str, chunk: Var, atomic: AtomicType) -> None:
            begin, end = chunk_bounds(w, team, size, chunk)
            with w.each("base", begin, end, TILE) as base:
                valid = scalar.min_(to_index(TILE), scalar.sub(end, base))
                push(w, name, row, right, row, stage, [0, base], [0, base], valid, atomic)

        with w.each("turn", 0, rounds(team)) as turn:
            barrier.meet(turn, "reduce_barrier")
            chunk = w.bind("chunk", rank_behind(team, scalar.add(turn, to_index(1))))
            push_chunk("reduce_push", chunk, AtomicType.Add)
        with w.each("turn", 0, rounds(team)) as turn:
            barrier.meet(scalar.add(rounds(team), turn), "gather_barrier")
            chunk = w.bind("chunk", rank_behind(team, turn))
            push_chunk("gather_push", chunk, AtomicType.None_)
        barrier.meet(last_row(team), "closing_barrier")
        credit_rows(w, team, barrier)
    pipe(w, "pipe_at_end")
    return w.function(f"allreduce_ring__sum__{element.name.lower()}")


def _only_sum(op: int) -> None:
    """Refuse every reduction but the sum.

    Raises:
        InvalidValueError: it is another one.
    """
    if ReduceOp(op) is not ReduceOp.Sum:
        raise InvalidValueError(f"a ring adds by pushing: it knows ReduceOp.Sum only, got ReduceOp.{ReduceOp(op).name}")
