"""``pld.tensor.allgather``: every rank pushes its row into every rank's target, itself included, then all meet."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.enums import AtomicType, NotifyOp
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.types import TileType
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.chunks import stage
from pypto.passes.lower_composite_ops.operands import operands, plain_tensor, rows_and_columns
from pypto.passes.lower_composite_ops.protocol import Team, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule


@composite_rule("pld.tensor.allgather", on_host=False)
def lower_allgather(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """The result is the target. What is pushed may be a tensor or a tile."""
    local, target, signal = operands(call, args, 3)
    if not isinstance(local.type, TileType):
        plain_tensor(call, local, "local_data", " or a Tile")
    _, columns = rows_and_columns(call, target)
    team = Team.of(b, target, signal)
    room = stage(b, "ag_stage", 1, columns, target)

    def push(inner: LoweringBuilder, peer: Var) -> None:
        where = ([team.my_rank, 0], [0, 0], [1, columns])
        inner.bind("push", inner.call("pld.tile.put", target, peer, local, room, *where, atomic=int(AtomicType.None_)))

    b.for_each("peer", 0, team.nranks, 1, push)
    meet(b, team, "", NotifyOp.Set, 1)
    take_back(b, team, 1)
    return target
