"""``pld.tensor.broadcast``: a barrier, then every rank gets the root's window."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InternalError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace, NotifyOp
from pypto.ir.expr import Call, Expr
from pypto.ops.region import product_of
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const
from pypto.passes.lower_composite_ops.chunks import element_type, shape_of
from pypto.passes.lower_composite_ops.protocol import Team, constant, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule


@composite_rule("pld.tensor.broadcast", on_host=False)
def lower_broadcast(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """The result is the target."""
    target, signal = args
    root = call.kwargs.get("root")
    if not isinstance(root, int):
        raise InternalError("a broadcast without a root", call.span)
    shape = shape_of(target)
    if any(constant(d) is None for d in shape):
        raise InvalidValueError(
            "broadcast needs a target of constant shape", call.span, hint="its stage on the chip has the shape of the target"
        )
    team = Team.of(b, target, signal)
    meet(b, team, "", NotifyOp.Set, 1)
    room = [product_of(shape[:-1]), shape[-1]]
    stage = b.call("tile.create", room, dtype=element_type(target), target_memory=MemorySpace.Vec)
    source = int_const(root, DataType.INT32)
    b.bind("get_ret", b.call("pld.tile.get", target, source, target, b.bind("bcast_stage", stage)))
    take_back(b, team, 1)
    return target
