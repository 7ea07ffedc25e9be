"""``pld.tensor.allreduce``: what both of its modes check, and the choice between them."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InternalError, InvalidValueError
from pypto.ir.enums import ReduceOp, TensorLayout
from pypto.ir.expr import Call, Expr
from pypto.ir.tensor_view_semantics import build_logical_strides_from_layout
from pypto.ir.types import DistributedTensorType
from pypto.ops.collectives import MODES
from pypto.ops.region import same_dims
from pypto.passes.lower_composite_ops.allreduce_mesh import lower_mesh
from pypto.passes.lower_composite_ops.allreduce_ring import lower_ring
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.operands import window_type
from pypto.passes.lower_composite_ops.rules import composite_rule

REDUCTIONS = {
    ReduceOp.Sum: "tile.add",
    ReduceOp.Max: "tile.maximum",
    ReduceOp.Min: "tile.minimum",
    ReduceOp.Prod: "tile.mul",
}
"""The tile operator of each reduction."""


@composite_rule("pld.tensor.allreduce", on_host=False, once=True)
def lower_allreduce(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """Every rank's target becomes the reduction of all; the result is the target."""
    if len(args) != 2:
        raise InvalidValueError(
            "allreduce needs an explicit signal outside of host orchestrators",
            call.span,
            hint="pass a pld.DistributedTensor of INT32 as second argument",
        )
    target, signal = args
    _check_view(window_type(call, target), call)
    reduction = call.kwargs.get("op")
    if not isinstance(reduction, int) or reduction not in [int(r) for r in ReduceOp]:
        raise InternalError(f"allreduce with the reduction {reduction!r}", call.span)
    if call.kwargs.get("core_num", 1) != 1:
        raise InvalidValueError(
            "allreduce takes core_num only in host orchestrators",
            call.span,
            hint="inside a kernel one core does the work; leave core_num out",
        )
    mode = call.kwargs.get("mode", "mesh")
    if mode not in MODES:
        raise InvalidValueError(f"allreduce: mode must be {' or '.join(map(repr, MODES))}, got {mode!r}", call.span)
    reduce = REDUCTIONS[ReduceOp(reduction)]
    (lower_ring if mode == "ring" else lower_mesh)(call, target, signal, reduce, b)
    return target


def _check_view(type_: DistributedTensorType, call: Call) -> None:
    view = type_.tensor_view
    if view is None:
        return
    if view.layout is not TensorLayout.ND:
        raise InvalidValueError(f"allreduce only supports ND layout, got {view.layout.name}", call.span)
    if not view.stride:
        return
    packed = build_logical_strides_from_layout(type_.shape, TensorLayout.ND)
    if not same_dims(view.stride, packed):
        raise InvalidValueError(
            "allreduce needs a packed source, got one with gaps between its rows",
            call.span,
            hint="copy it into a window of its own first",
        )
