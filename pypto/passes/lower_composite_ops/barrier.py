"""``pld.tensor.barrier``: post to every other rank, wait for every other rank."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.enums import NotifyOp
from pypto.ir.expr import Call, Expr
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.operands import operands
from pypto.passes.lower_composite_ops.protocol import Team, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule


@composite_rule("pld.tensor.barrier", on_host=False)
def lower_barrier(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """The result is the signal."""
    (signal,) = operands(call, args, 1)
    team = Team.of(b, signal, signal)
    meet(b, team, "", NotifyOp.Set, 1)
    take_back(b, team, 1)
    return signal
