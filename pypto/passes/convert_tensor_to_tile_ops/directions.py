"""Directions of parameters from what a function does to them: a parameter that is written becomes Out, or InOut when it is read too.

Everything follows from declared effects: which operands an operator reads and writes, and which operand its result is.
"""

from __future__ import annotations

from collections.abc import Mapping

from pypto.diagnostics import InvalidValueError
from pypto.ir.enums import ArgEffect, ParamDirection, WriteChannel
from pypto.ir.expr import Call, Var
from pypto.ir.function import Function
from pypto.ir.span import Span
from pypto.ir.types import TensorType
from pypto.ir.verify.walk import held, nodes, statements
from pypto.ops.declare import Declaration, Lanes
from pypto.passes.convert_tensor_to_tile_ops.storage import Storage, calls


def infer_directions(function: Function, directions: Mapping[str, list[ParamDirection]]) -> Function:
    """The function with In parameters that it writes upgraded to Out or InOut; the same object when none is.

    ``directions`` holds the parameter directions of the functions that it may call.

    Raises:
        InvalidValueError: one tensor is written both in bulk and element by element, which the hardware does not order.
    """
    storage = Storage(function)
    reads: set[Var] = set()
    writes: set[Var] = set()
    for node in calls(function.body):
        for at, arg in enumerate(node.args):
            if not isinstance(arg.type, TensorType):
                continue
            read, write, _ = _effect(node, at, directions)
            for root in storage.roots(arg):
                if read:
                    reads.add(root)
                if write:
                    writes.add(root)
    for root, used in write_channels(function, storage, directions).items():
        if len(used) > 1:
            raise InvalidValueError(
                f"kernel {function.name!r} mixes bulk stores and scalar writes to the tensor {root.name_hint!r}",
                used[WriteChannel.Scalar],
                hint="write the elements into a tile first and store the tile, or write all of them one by one",
            )
    made = [*function.param_directions]
    for at, param in enumerate(function.params):
        if param in writes and made[at] is ParamDirection.In:
            made[at] = ParamDirection.InOut if param in reads else ParamDirection.Out
    return function if made == [*function.param_directions] else function.replace(param_directions=made)


def write_channels(
    function: Function, storage: Storage, directions: Mapping[str, list[ParamDirection]]
) -> dict[Var, dict[WriteChannel, Span]]:
    """By which engines each parameter is written, and where first."""
    channels: dict[Var, dict[WriteChannel, Span]] = {}
    for stmt in statements(function.body):
        for node in nodes(held(stmt)):
            if not isinstance(node, Call):
                continue
            for at, arg in enumerate(node.args):
                if not isinstance(arg.type, TensorType):
                    continue
                _, write, channel = _effect(node, at, directions)
                if write and channel is not None:
                    for root in storage.roots(arg):
                        channels.setdefault(root, {}).setdefault(channel, node.span if node.span.is_valid() else stmt.span)
    return channels


def _effect(call: Call, at: int, directions: Mapping[str, list[ParamDirection]]) -> tuple[bool, bool, WriteChannel | None]:
    if call.op.is_function:
        known = directions.get(call.op.name, [])
        direction = known[at] if at < len(known) else ParamDirection.In
        return direction is not ParamDirection.Out, direction is not ParamDirection.In, None
    if isinstance(call.op, Declaration):
        effect = call.op.arg_effect(at, call.kwargs, len(call.args))
        looks = call.op.lanes is not Lanes.NONE and not _only_a_view(call, at)
        read = effect is ArgEffect.ReadWrite or (effect is ArgEffect.Read and looks)
        write = effect in (ArgEffect.Write, ArgEffect.ReadWrite)
        return read, write, call.op.write_channel if write else None
    return True, False, None


def _only_a_view(call: Call, at: int) -> bool:
    """True when the operator merely hands the operand's storage on, so that only uses of the result count."""
    op = call.op
    return isinstance(op, Declaration) and op.alias_index == at and op.arg_effect(at, call.kwargs) is ArgEffect.Read
