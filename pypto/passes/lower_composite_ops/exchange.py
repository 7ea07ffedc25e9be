"""Collectives that push: allgather, all_to_all and all_to_all_v put into every rank's target, then meet."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InternalError, InvalidValueError
from pypto.ir import scalar
from pypto.ir.enums import AtomicType, MemorySpace, NotifyOp
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.types import DistributedTensorType, TileType
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const
from pypto.passes.lower_composite_ops.chunks import element_type, shape_of
from pypto.passes.lower_composite_ops.protocol import Team, constant, index, int32, meet, take_back
from pypto.passes.lower_composite_ops.rules import composite_rule

_PLAIN = int(AtomicType.None_)


def _target(call: Call, target: Expr) -> Sequence[Expr]:
    """The shape of a target, which must have two dimensions."""
    type_ = target.type
    if not isinstance(type_, DistributedTensorType):
        raise InternalError(f"{call.op.name} into something that is no distributed tensor", call.span)
    if len(type_.shape) != 2:
        raise InvalidValueError(f"{call.op.name} needs a 2-D target", call.span)
    return type_.shape


def _need_plain(call: Call, source: Expr, name: str, or_tile: str = "") -> None:
    if isinstance(source.type, DistributedTensorType):
        raise InvalidValueError(
            f"{call.op.name} takes a plain Tensor{or_tile} as {name!r} inside a kernel, not a DistributedTensor",
            call.span,
            hint="windows are pushed from in host orchestrators only",
        )


def _stage(b: LoweringBuilder, name: str, rows: Expr | int, columns: Expr, target: Expr) -> Var:
    keywords = {"dtype": element_type(target), "target_memory": MemorySpace.Vec}
    return b.bind(name, b.call("tile.create", [rows, columns], **keywords))


@composite_rule("pld.tensor.allgather", on_host=False)
def lower_allgather(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """Every rank pushes its row into every rank's target, itself included; the result is the target."""
    local, target, signal = args
    if not isinstance(local.type, TileType):
        _need_plain(call, local, "local_data", " or a Tile")
    columns = _target(call, target)[1]
    team = Team.of(b, target, signal)
    stage = _stage(b, "ag_stage", 1, columns, target)

    def push(inner: LoweringBuilder, peer: Var) -> None:
        operands = (target, peer, local, stage, [team.my_rank, 0], [0, 0], [1, columns])
        inner.bind("push", inner.call("pld.tile.put", *operands, atomic=_PLAIN))

    b.for_each("peer", 0, team.nranks, 1, push)
    meet(b, team, "", NotifyOp.Set, 1)
    take_back(b, team, 1)
    return target


@composite_rule("pld.tensor.all_to_all", on_host=False)
def lower_all_to_all(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """Every rank pushes its row for each rank into that rank's target; the result is the target."""
    source, target, signal = args
    _need_plain(call, source, "input")
    columns = _target(call, target)[1]
    team = Team.of(b, target, signal)
    stage = _stage(b, "aa_stage", 1, columns, target)

    def push(inner: LoweringBuilder, dest: Var) -> None:
        operands = (target, dest, source, stage, [team.my_rank, 0], [dest, 0], [1, columns])
        inner.bind("aa_put", inner.call("pld.tile.put", *operands, atomic=_PLAIN))

    b.for_each("dest", 0, team.nranks, 1, push)
    meet(b, team, "", NotifyOp.Set, 1)
    take_back(b, team, 1)
    return target


@composite_rule("pld.tensor.all_to_all_v", on_host=False, once=True)
def lower_all_to_all_v(call: Call, args: Sequence[Expr], b: LoweringBuilder) -> Expr:
    """Blocks of rows instead of rows, with the number of rows that are of use; the result is the target."""
    source, target, signal, send_counts, recv_counts = args
    _need_plain(call, source, "input")
    shape = _target(call, target)
    rows, ranks = constant(shape[0]), constant(shape_of(signal)[0])
    if rows is None or not ranks:
        raise InvalidValueError("all_to_all_v needs constant rows of target and signal", call.span)
    most, columns = rows // ranks, shape[1]
    team = Team.of(b, target, signal)
    stage = _stage(b, "aav_stage", most, columns, target)
    flat = len(shape_of(send_counts)) == 1

    def push(inner: LoweringBuilder, dest: Var) -> None:
        count = inner.bind("aav_count", inner.call("tensor.read", send_counts, [dest] if flat else [dest, 0]))
        kept = inner.bind("aav_rows", scalar.min_(index(count), int_const(most), b.span))
        number = inner.bind("aav_count_i32", int32(kept))
        cell = [team.my_rank, 0]
        posted = inner.call("pld.system.notify", recv_counts, dest, cell, number, op=int(NotifyOp.Set))
        inner.bind("aav_count_notify", posted)
        to, from_ = (scalar.mul(rank, int_const(most), b.span) for rank in (team.my_rank, dest))
        operands = (target, dest, source, stage, [to, 0], [from_, 0], [most, columns])
        inner.bind("aav_put", inner.call("pld.tile.put", *operands, atomic=_PLAIN))

    b.for_each("dest", 0, team.nranks, 1, push)
    meet(b, team, "", NotifyOp.Set, 1)
    take_back(b, team, 1)
    return target
