"""The geometry of a ring: which chunk a rank works on in which round."""

from __future__ import annotations

from pypto.ir import scalar
from pypto.ir.expr import Expr, Var
from pypto.ops.host_kernels.fragments import RingBarrier, Team
from pypto.ops.host_kernels.writer import KernelWriter, to_index


def rank_behind(team: Team, distance: Expr) -> Expr:
    """The rank (and chunk) ``distance`` before this one; at most ``ranks`` away."""
    return scalar.mod(scalar.sub(scalar.add(team.me, team.ranks), distance), team.ranks)


def neighbors(writer: KernelWriter, team: Team) -> tuple[Var, Var]:
    """The ranks to the left and to the right; between two ranks they are one."""
    left = writer.bind("left", rank_behind(team, to_index(1)))
    return left, writer.bind("right", scalar.mod(scalar.add(team.me, to_index(1)), team.ranks))


def chunk_bounds(writer: KernelWriter, team: Team, size: Expr, chunk: Var) -> tuple[Var, Var]:
    """Where a chunk begins and ends. Chunks may differ by one element and be empty."""
    begin = writer.bind("begin", scalar.floordiv(scalar.mul(size, chunk), team.ranks))
    end = writer.bind("end", scalar.floordiv(scalar.mul(size, scalar.add(chunk, to_index(1))), team.ranks))
    return begin, end


def rounds(team: Team) -> Expr:
    """The rounds of each of the two phases."""
    return scalar.sub(team.ranks, to_index(1))


def last_row(team: Team) -> Expr:
    """The row of the signal for the barrier at the end; before it there is one for each round of both phases."""
    return scalar.mul(to_index(2), rounds(team))


def credit_rows(writer: KernelWriter, team: Team, barrier: RingBarrier) -> None:
    """Make the rows of the signal zero again, in the steps ``reduce_credits``, ``gather_credits`` and ``closing_credits``."""
    with writer.each("turn", 0, rounds(team)) as row:
        barrier.credit(row, "reduce_credits")
    with writer.each("turn", 0, rounds(team)) as row:
        barrier.credit(scalar.add(rounds(team), row), "gather_credits")
    barrier.credit(last_row(team), "closing_credits")
