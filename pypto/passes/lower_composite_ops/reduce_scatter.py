"""``pld.tensor.reduce_scatter``: every rank adds up its row of all windows; barriers before the first read and before the store."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InternalError
from pypto.ir.enums import MemorySpace, NotifyOp, ReduceOp
from pypto.ir.expr import Call, Expr, IterArg, Var
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.operands import operands, rows_and_columns
from pypto.passes.lower_composite_ops.protocol import Team, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule


@composite_rule("pld.tensor.reduce_scatter", on_host=False)
def lower_reduce_scatter(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """The result is the target, whose row of this rank holds the sum."""
    target, signal = operands(call, args, 2)
    if call.kwargs.get("op") != ReduceOp.Sum:
        raise InternalError("a reduce_scatter of another reduction than Sum", call.span)
    _, columns = rows_and_columns(call, target)
    row = [1, columns]
    team = Team.of(b, target, signal)
    meet(b, team, "", NotifyOp.Set, 1)
    mine = b.call("tile.load", target, [team.my_rank, 0], row, row, target_memory=MemorySpace.Vec)
    first = b.bind("acc_initial", mine)

    def step(inner: LoweringBuilder, peer: Var, total: IterArg) -> Expr:
        def take(then: LoweringBuilder) -> Expr:
            received = then.bind("recv", then.call("pld.tile.remote_load", target, peer, [team.my_rank, 0], row))
            return then.add("acc_next", total, received)

        return inner.pick(team.is_other(peer), take, lambda _: total)

    total = b.fold("peer", 0, team.nranks, 1, first, step)
    meet(b, team, "2", NotifyOp.AtomicAdd, 2)
    b.bind("store_ret", b.call("tile.store", total, [team.my_rank, 0], target))
    take_back(b, team, 2)
    return target
