"""``pld.tensor.broadcast``: a barrier, then every rank gets the root's window."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InternalError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import NotifyOp
from pypto.ir.expr import Call, Expr
from pypto.ops.region import product_of
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const
from pypto.passes.lower_composite_ops.chunks import stage
from pypto.passes.lower_composite_ops.operands import constant, operands, window_type
from pypto.passes.lower_composite_ops.protocol import Team, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule


@composite_rule("pld.tensor.broadcast", on_host=False)
def lower_broadcast(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """The result is the target."""
    target, signal = operands(call, args, 2)
    root = call.kwargs.get("root")
    if not isinstance(root, int):
        raise InternalError("a broadcast without a root", call.span)
    shape = window_type(call, target).shape
    if any(constant(d) is None for d in shape):
        raise InvalidValueError(
            "broadcast needs a target of constant shape", call.span, hint="its stage on the chip has the shape of the target"
        )
    team = Team.of(b, target, signal)
    meet(b, team, "", NotifyOp.Set, 1)
    room = stage(b, "bcast_stage", product_of(shape[:-1]), shape[-1], target)
    b.bind("get_ret", b.call("pld.tile.get", target, int_const(root, DataType.INT32), target, room))
    take_back(b, team, 1)
    return target
