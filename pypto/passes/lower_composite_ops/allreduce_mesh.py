"""Allreduce over a mesh: every rank reads every peer, chunk by chunk; a barrier before the first read, one before each store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.enums import MemorySpace, NotifyOp
from pypto.ir.expr import Call, Expr, IterArg, Var, index_const
from pypto.ir.types import DistributedTensorType
from pypto.ops.region import product, product_of, same
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const
from pypto.passes.lower_composite_ops.chunks import (
    CHUNK_BYTES,
    chunk_of,
    fill,
    load_chunk,
    most_elements,
    remaining,
    remote_chunk,
)
from pypto.passes.lower_composite_ops.operands import constant, shape_of, window_type
from pypto.passes.lower_composite_ops.protocol import Team, int32, meet, take_back

Receive = Callable[[LoweringBuilder, Var], Expr]
"""What is received of a rank."""


def lower_mesh(call: Call, target: Expr, signal: Expr, reduce: str, b: LoweringBuilder) -> None:
    """Write the statements of a mesh allreduce."""
    _check_signal(signal, call)
    type_ = window_type(call, target)
    if type_.valid_shape is type_.shape:
        _whole(target, signal, reduce, b)
    else:
        _rectangle(call, target, type_, signal, reduce, b)


def _check_signal(signal: Expr, call: Call) -> None:
    shape: Sequence[Expr] = getattr(signal.type, "shape", ())
    if len(shape) != 2 or constant(shape[1]) not in (1, None):
        raise InvalidValueError(
            "allreduce over a mesh: signal shape[1] must be 1, one cell for each rank",
            call.span,
            hint="give it a signal of shape [ranks, 1]; a ring's signal has several columns",
        )


def _reduced(b: LoweringBuilder, team: Team, first: Expr, reduce: str, received: Receive) -> Var:
    """``first`` combined with what is received of every other rank, in the order of the ranks."""

    def step(inner: LoweringBuilder, peer: Var, total: IterArg) -> Expr:
        def take(then: LoweringBuilder) -> Expr:
            return then.bind("acc_next", then.call(reduce, total, received(then, peer)))

        return inner.pick(team.is_other(peer), take, lambda _: total)

    return b.fold("peer", 0, team.nranks, 1, first, step)


def _whole(target: Expr, signal: Expr, reduce: str, b: LoweringBuilder) -> None:
    size = product_of(shape_of(target))
    chunk = chunk_of(target, size)
    team = Team.of(b, target, signal)
    view = b.bind("target_2d", b.call("tensor.view", target, [1, size]))
    meet(b, team, "", NotifyOp.AtomicAdd, 1)

    def each(inner: LoweringBuilder, column: Var) -> None:
        valid = remaining(chunk, size, column)
        first = fill(inner, "acc_initial", load_chunk(inner, "acc_loaded", view, column, chunk, valid))

        def received(then: LoweringBuilder, peer: Var) -> Expr:
            return remote_chunk(then, ("recv_loaded", "recv_tail", "recv"), view, peer, column, chunk, valid)

        total = _reduced(inner, team, first, reduce, received)
        ordinal = scalar.add(scalar.floordiv(column, int_const(chunk), b.span), int_const(2), b.span)
        meet(inner, team, "_chunk", NotifyOp.AtomicAdd, inner.bind("chunk_expected", int32(ordinal)))
        stored = inner.bind("store_value", inner.call("tile.set_validshape", total, 1, valid))
        inner.bind("store_ret", inner.call("tile.store", stored, [0, column], view))

    b.for_each("col", 0, size, chunk, each)

    def barriers(inner: LoweringBuilder) -> Expr:
        chunks = scalar.floordiv(scalar.add(size, int_const(chunk - 1), b.span), int_const(chunk), b.span)
        return inner.bind("allreduce_reset_total", int32(scalar.add(int_const(1), chunks, b.span)))

    take_back(b, team, barriers)


def _rectangle(call: Call, target: Expr, type_: DistributedTensorType, signal: Expr, reduce: str, b: LoweringBuilder) -> None:
    _check_collapses(type_, call)
    shape, valid = _two(type_.shape), _two(type_.valid_shape)
    room = valid if all(constant(d) is not None for d in valid) else shape
    count = constant(product(room[0], room[1]))
    if count is None or count > most_elements(target):
        raise InvalidValueError(
            f"allreduce of part of a tensor: the part must fit one {CHUNK_BYTES}-byte mesh chunk",
            call.span,
            hint="reduce the whole tensor, or a smaller part of it",
        )
    team = Team.of(b, target, signal)
    view = b.bind("target_2d", b.call("tensor.view", target, shape, valid))
    meet(b, team, "", NotifyOp.AtomicAdd, 1)
    loaded = b.call("tile.load", view, [0, 0], room, valid, target_memory=MemorySpace.Vec)
    first = b.bind("acc_initial", loaded)

    def received(then: LoweringBuilder, peer: Var) -> Expr:
        return then.bind("recv", then.call("pld.tile.remote_load", view, peer, [0, 0], room, valid))

    total = _reduced(b, team, first, reduce, received)
    meet(b, team, "2", NotifyOp.AtomicAdd, 2)
    b.bind("store_ret", b.call("tile.store", total, [0, 0], view))
    take_back(b, team, 2)


def _two(dims: Sequence[Expr]) -> list[Expr]:
    """A shape as two extents: one dimension is a row, leading ones are merged."""
    return [index_const(1), *dims] if len(dims) == 1 else [product_of(dims[:-1]), dims[-1]]


def _check_collapses(type_: DistributedTensorType, call: Call) -> None:
    """The leading dimensions must be one stretch of rows: ones, then one of any extent, then full ones."""
    cut = False
    if len(type_.valid_shape) != len(type_.shape):
        raise InvalidValueError("allreduce: the valid shape has another rank than the shape", call.span)
    for dim, valid in [*zip(type_.shape, type_.valid_shape, strict=True)][:-1]:
        if not cut:
            cut = constant(valid) != 1
        elif not same(dim, valid):
            raise InvalidValueError(
                "allreduce: this part of the tensor cannot be represented by a single 2D view",
                call.span,
                hint="only whole rows under the first dimension that is cut can be reduced at once",
            )
