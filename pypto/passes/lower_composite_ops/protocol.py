"""What the collectives share: who takes part, and barriers over signal cells by either protocol (see :class:`.signals.Signals`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import NotifyOp, WaitCmp
from pypto.ir.expr import Expr, Var
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const

Cell = Callable[[Expr], list[Expr]]
"""The offsets of the signal cell that belongs to a rank."""


def index(value: Expr) -> Expr:
    """A scalar converted to INDEX."""
    return scalar.cast(value, DataType.INDEX, value.span)


def int32(value: Expr) -> Expr:
    """A scalar converted to INT32."""
    return scalar.cast(value, DataType.INT32, value.span)


@dataclass(frozen=True)
class Team:
    """The ranks of a call and which of them this one is, with the signal through which they meet."""

    signal: Expr
    nranks: Var
    my_rank: Var

    @staticmethod
    def of(b: LoweringBuilder, window: Expr, signal: Expr, expected: int | None = None) -> Team:
        """The ranks that share ``window``; ``expected`` is the only number of them that is right, None when any is.

        Raises:
            InvalidValueError: the signal has not two dimensions.
        """
        shape: Sequence[Expr] = getattr(signal.type, "shape", ())
        if len(shape) != 2:
            raise InvalidValueError(
                f"a signal has two dimensions inside a kernel, so that two offsets name a cell; this one has {len(shape)}",
                hint="give it the shape [ranks, 1]",
            )
        context = b.bind("ctx", b.call("pld.system.get_comm_ctx", window))
        only = {} if expected is None else {"expected": expected}
        nranks = b.bind("nranks", b.call("pld.system.nranks", context, **only))
        nranks_index = b.bind("nranks_idx", index(nranks))
        return Team(signal, nranks_index, b.bind("my_rank", b.call("pld.system.rank", context)))

    def is_other(self, peer: Expr) -> Expr:
        """The condition that a rank is another one than this."""
        return scalar.ne(peer, index(self.my_rank), peer.span)

    def for_others(self, b: LoweringBuilder, name: str, body: Callable[[LoweringBuilder, Var], None]) -> None:
        """Do something for every other rank."""
        b.for_each(name, 0, self.nranks, 1, lambda each, peer: each.gate(self.is_other(peer), lambda inner: body(inner, peer)))


def column(rank: Expr) -> list[Expr]:
    """The cell of a rank in a signal of one column."""
    return [rank, int_const(0)]


def meet(b: LoweringBuilder, team: Team, suffix: str, op: NotifyOp, least: Expr | int, cell: Cell = column) -> None:
    """A barrier: post to every other rank, then wait until every other rank's cell is at least ``least``."""
    posting = int(b.signals.posting(op))
    expected = int_const(least, DataType.INT32) if isinstance(least, int) else least

    def post(inner: LoweringBuilder, peer: Var) -> None:
        one = int_const(1, DataType.INT32)
        mine = cell(team.my_rank)
        inner.bind(f"notify{suffix}_ret", inner.call("pld.system.notify", team.signal, peer, mine, one, op=posting))

    def wait(inner: LoweringBuilder, source: Var) -> None:
        arrived = inner.call("pld.system.wait", team.signal, cell(source), expected, cmp=int(WaitCmp.Ge))
        inner.bind(f"wait{suffix}_ret", arrived)

    team.for_others(b, f"peer{suffix}", post)
    team.for_others(b, f"src{suffix}", wait)


def take_back(b: LoweringBuilder, team: Team, total: int | Callable[[LoweringBuilder], Expr], rows: Expr | None = None) -> None:
    """Subtract from this rank's cells what the call has waited for, when the signal is to be used again.

    ``total`` is the number of barriers, or writes the statements that compute it (INT32). ``rows`` is the number of rows of a signal
    that has a column for each rank.
    """
    if not b.signals.reusable:
        return
    amount = int_const(-total, DataType.INT32) if isinstance(total, int) else scalar.neg(total(b), b.span)

    def reset(inner: LoweringBuilder, cell: Cell) -> None:
        def subtract(each: LoweringBuilder, source: Var) -> None:
            operands = (team.signal, team.my_rank, cell(source), amount)
            each.bind("epilogue_reset_ret", each.call("pld.system.notify", *operands, op=int(NotifyOp.AtomicAdd)))

        team.for_others(inner, "reset_src", subtract)

    if rows is None:
        reset(b, column)
    else:
        b.for_each("reset_row", 0, rows, 1, lambda inner, row: reset(inner, lambda rank: [row, rank]))
