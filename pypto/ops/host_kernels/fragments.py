"""What the kernels have in common: who takes part, posts, waits, credits, barriers and fences.

All signals follow the credit protocol: ranks post by adding one, a wait wants at least as many posts as it is the barrier of the call,
and at the end each rank takes from its own cells what it has waited for. A rank that is a call ahead only adds to a cell.
"""

from __future__ import annotations

from typing import Protocol

from pypto.ir import scalar
from pypto.ir.enums import NotifyOp, WaitCmp
from pypto.ir.expr import Expr, Var
from pypto.ir.types import TensorType
from pypto.ops.host_kernels.writer import KernelWriter, as_index, constant_of, int32, to_index
from pypto.ops.support import MOST_RANKS


class Team:
    """The ranks that share a window: their number, and which one this is (both INDEX)."""

    __slots__ = ("me", "ranks")

    def __init__(self, writer: KernelWriter, window: Var) -> None:
        context = writer.bind("context", writer.call("pld.system.get_comm_ctx", window))
        count = writer.bind("rank_count", writer.call("pld.system.nranks", context))
        number = writer.bind("rank_number", writer.call("pld.system.rank", context))
        self.ranks = writer.bind("ranks", as_index(count))
        self.me = writer.bind("me", as_index(number))

    def may_run(self, size: Expr, least: int = 1) -> Expr:
        """Whether there is something to do: not too many ranks nor too few, and not nothing to move."""
        fits = scalar.le(self.ranks, to_index(MOST_RANKS))
        if least > 1:
            fits = scalar.and_(scalar.ge(self.ranks, to_index(least)), fits)
        if constant_of(size) is None:
            fits = scalar.and_(fits, scalar.gt(size, to_index(0)))
        return fits


# -- order within one rank ---------------------------------------------------------------------------------------------


def pipe(writer: KernelWriter, name: str) -> None:
    """A step that waits until all engines of the core are done."""
    with writer.step(name):
        writer.do("system.bar_all")


def dsb(writer: KernelWriter, name: str) -> None:
    """A step that makes what was written before visible to all."""
    with writer.step(name):
        writer.do("system.fence")


def invalidate(writer: KernelWriter, name: str) -> None:
    """A step that forgets cached copies, so that what others wrote is read."""
    with writer.step(name):
        writer.do("system.cacheinvalid")


# -- cells -------------------------------------------------------------------------------------------------------------


class Cells(Protocol):
    """Signal cells: one for each rank that may post."""

    @property
    def signal(self) -> Var:
        """The signal."""
        ...

    def at(self, rank: Expr) -> list[Expr | int]:
        """The cell that a rank posts to."""
        ...


class Column:
    """Cell (q, lane) belongs to rank q; a signal of rank 1 has one lane."""

    __slots__ = ("lane", "signal")

    def __init__(self, signal: Var, lane: Expr | int = 0) -> None:
        self.signal = signal
        self.lane = lane

    def at(self, rank: Expr) -> list[Expr | int]:
        """The cell that a rank posts to."""
        type_ = self.signal.type
        assert isinstance(type_, TensorType)
        return [rank] if len(type_.shape) == 1 else [rank, self.lane]


class Row:
    """Cell (row, q) belongs to rank q."""

    __slots__ = ("row", "signal")

    def __init__(self, signal: Var, row: Expr) -> None:
        self.signal = signal
        self.row = row

    def at(self, rank: Expr) -> list[Expr | int]:
        """The cell that a rank posts to."""
        return [self.row, rank]


def post(writer: KernelWriter, team: Team, cells: Cells, peer: Expr) -> None:
    """Add one to this rank's cell of a peer."""
    writer.do("pld.system.notify", cells.signal, peer, cells.at(team.me), int32(1), op=NotifyOp.AtomicAdd)


def spin(writer: KernelWriter, cells: Cells, peer: Expr, at_least: Expr) -> None:
    """Wait until the own cell of a peer has reached a number."""
    writer.do("pld.system.wait", cells.signal, cells.at(peer), at_least, cmp=WaitCmp.Ge)


def credit(writer: KernelWriter, team: Team, cells: Cells, peer: Expr, amount: Expr) -> None:
    """Add a negative amount to the own cell of a peer."""
    writer.do("pld.system.notify", cells.signal, team.me, cells.at(peer), amount, op=NotifyOp.AtomicAdd)


def post_all(writer: KernelWriter, team: Team, cells: Cells, name: str, pipe_each: bool = False) -> None:
    """A step that posts to all others; with ``pipe_each`` the engines are drained before each post."""
    with writer.step(name), writer.each("peer", 0, team.ranks) as peer, writer.when(scalar.ne(peer, team.me)):
        if pipe_each:
            pipe(writer, f"{name}_pipe")
        post(writer, team, cells, peer)


def spin_all(writer: KernelWriter, team: Team, cells: Cells, at_least: Expr, name: str) -> None:
    """A step that waits for all others."""
    with writer.step(name), writer.each("source", 0, team.ranks) as source, writer.when(scalar.ne(source, team.me)):
        spin(writer, cells, source, at_least)


def credit_all(writer: KernelWriter, team: Team, cells: Cells, amount: Expr, name: str = "credits") -> None:
    """A step that takes back what was waited for from all others; ``amount`` is negative."""
    with writer.step(name), writer.each("credited", 0, team.ranks) as credited, writer.when(scalar.ne(credited, team.me)):
        credit(writer, team, cells, credited, amount)


def barrier(
    writer: KernelWriter, team: Team, cells: Cells, generation: Expr, name: str, *, pipe_each: bool = False, caches: bool = False
) -> Expr:
    """A step in which all post to all and wait for the ``generation``-th post of each; gives the next generation.

    With ``caches`` cached copies are forgotten afterwards.
    """
    with writer.step(name):
        post_all(writer, team, cells, f"{name}_post", pipe_each)
        spin_all(writer, team, cells, generation, f"{name}_wait")
        if caches:
            invalidate(writer, f"{name}_invalidate")
        return writer.bind("next_generation", scalar.add(generation, int32(1)))


def closing_push_barrier(writer: KernelWriter, team: Team, signal: Var) -> None:
    """What ends a kernel that pushes: all that was pushed has arrived everywhere, and the cells are zero again."""
    cells = Column(signal)
    pipe(writer, "pipe_before_barrier")
    dsb(writer, "dsb_before_barrier")
    after = barrier(writer, team, cells, int32(1), "closing_barrier")
    credit_all(writer, team, cells, scalar.sub(int32(1), after))


# -- barriers of a ring ------------------------------------------------------------------------------------------------


class RingBarrier(Protocol):
    """The barriers of a ring: one for each row of the signal, used once in a call."""

    def meet(self, row: Expr, name: str) -> None:
        """The barrier of a row, as a step: everything written before is visible to whoever has passed."""
        ...

    def credit(self, row: Expr, name: str) -> None:
        """Take back what the barrier of a row has waited for, as a step."""
        ...


class NeighborBarrier:
    """Posts to and waits for the two neighbours only.

    Between two ranks they are one, whose cell receives two posts. Both follow what was written, so that one is worth waiting for; the
    second may even come after both were taken back, which leaves the cell below zero until then.
    """

    __slots__ = ("left", "right", "signal", "team", "writer")

    def __init__(self, writer: KernelWriter, team: Team, signal: Var, left: Var, right: Var) -> None:
        self.writer = writer
        self.team = team
        self.signal = signal
        self.left = left
        self.right = right

    def meet(self, row: Expr, name: str) -> None:
        """The barrier of a row."""
        writer, cells = self.writer, Row(self.signal, row)
        with writer.step(name):
            pipe(writer, f"{name}_pipe")
            dsb(writer, f"{name}_dsb")
            for side, neighbor in (("left", self.left), ("right", self.right)):
                with writer.step(f"{name}_post_{side}"):
                    post(writer, self.team, cells, neighbor)
            with writer.step(f"{name}_wait_left"):
                spin(writer, cells, self.left, int32(1))
            with writer.step(f"{name}_wait_right"), writer.when(scalar.ne(self.right, self.left)):
                spin(writer, cells, self.right, int32(1))

    def credit(self, row: Expr, name: str) -> None:
        """Take back two posts: one of each neighbour."""
        writer, cells = self.writer, Row(self.signal, row)
        with writer.step(name):
            for side, neighbor in (("left", self.left), ("right", self.right)):
                with writer.step(f"{name}_{side}"):
                    credit(writer, self.team, cells, neighbor, int32(-1))


class RoundBarrier:
    """Posts to and waits for all others: what works whatever ranks read and write."""

    __slots__ = ("signal", "team", "writer")

    def __init__(self, writer: KernelWriter, team: Team, signal: Var) -> None:
        self.writer = writer
        self.team = team
        self.signal = signal

    def meet(self, row: Expr, name: str) -> None:
        """The barrier of a row."""
        writer, cells = self.writer, Row(self.signal, row)
        with writer.step(name):
            pipe(writer, f"{name}_pipe")
            dsb(writer, f"{name}_dsb")
            post_all(writer, self.team, cells, f"{name}_post")
            spin_all(writer, self.team, cells, int32(1), f"{name}_wait")

    def credit(self, row: Expr, name: str) -> None:
        """Take back one post of each other rank."""
        credit_all(self.writer, self.team, Row(self.signal, row), int32(-1), name)
