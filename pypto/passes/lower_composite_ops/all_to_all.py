"""``pld.tensor.all_to_all``: every rank pushes one row of its input into each rank's target, then all meet."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.enums import AtomicType, NotifyOp
from pypto.ir.expr import Call, Expr, Var
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.chunks import stage
from pypto.passes.lower_composite_ops.operands import operands, plain_tensor, rows_and_columns
from pypto.passes.lower_composite_ops.protocol import Team, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule


@composite_rule("pld.tensor.all_to_all", on_host=False)
def lower_all_to_all(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """The result is the target."""
    source, target, signal = operands(call, args, 3)
    plain_tensor(call, source, "input")
    _, columns = rows_and_columns(call, target)
    team = Team.of(b, target, signal)
    room = stage(b, "aa_stage", 1, columns, target)

    def push(inner: LoweringBuilder, dest: Var) -> None:
        where = ([team.my_rank, 0], [dest, 0], [1, columns])
        inner.bind("aa_put", inner.call("pld.tile.put", target, dest, source, room, *where, atomic=int(AtomicType.None_)))

    b.for_each("dest", 0, team.nranks, 1, push)
    meet(b, team, "", NotifyOp.Set, 1)
    take_back(b, team, 1)
    return target
