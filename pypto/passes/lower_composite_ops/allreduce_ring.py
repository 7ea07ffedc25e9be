"""Allreduce round a ring: segments are reduced from neighbour to neighbour, then the finished ones are passed on.

In every step a rank reads its left neighbour's window; a barrier before says that it is ready, one after that it has been read. All ranks
do the same number of chunks in every step, however short their segments are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import NotifyOp
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.types import DistributedTensorType
from pypto.ops.region import product_of, same
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const
from pypto.passes.lower_composite_ops.chunks import chunk_of, fill, load_chunk, remaining, remote_chunk
from pypto.passes.lower_composite_ops.operands import constant, element_type, shape_of, window_type
from pypto.passes.lower_composite_ops.protocol import Team, index, int32, meet, take_back


def lower_ring(call: Call, target: Expr, signal: Expr, reduce: str, b: LoweringBuilder) -> None:
    """Write the statements of a ring allreduce."""
    ranks = _check_signal(signal, call)
    type_ = window_type(call, target)
    physical = product_of(type_.shape)
    partial = type_.valid_shape is not type_.shape
    if partial:
        _check_prefix(type_, call)
    size = product_of(type_.valid_shape)
    segments = _Segments(size, ranks, element_type(target) is DataType.FP16)
    longest = segments.longest()
    chunk = chunk_of(target, longest)
    team = Team.of(b, target, signal, constant(ranks))
    mine = b.bind("my_rank_idx", index(team.my_rank))
    extents: list[list[Expr | int]] = [[1, physical], *([[1, size]] if partial else [])]
    view = b.bind("target_2d", b.call("tensor.view", target, *extents))
    last = b.bind("nr_minus_one", scalar.sub(team.nranks, int_const(1), b.span))
    ring = _Ring(b, team, view, size, segments, longest, chunk, mine)

    def scatter(inner: LoweringBuilder, step: Var) -> None:
        number = inner.bind("step", _plus(step, 1))
        around = _minus(_minus(mine, number), 1)
        segment = inner.bind("recv_add_idx", ring.wrapped(around))
        left = inner.bind("left", ring.wrapped(_minus(mine, 1)))

        def combine(then: LoweringBuilder, part: _Part) -> Expr:
            received = part.receive(then, left, "recv_rs")
            own = fill(then, "acc_rs", load_chunk(then, "acc_rs_loaded", view, part.begin, chunk, part.least_valid))
            return then.bind("acc_rs_next", then.call(reduce, own, received))

        ring.pass_on(inner, "rs", "rs_", "acc_rs", "acc_rs_valid", segment, step, combine)

    def gather(inner: LoweringBuilder, step: Var) -> None:
        number = inner.bind("ag_step_val", _plus(step, 1))
        row = inner.bind("ag_round", scalar.add(step, last, b.span))
        segment = inner.bind("ag_segment_idx", ring.wrapped(_minus(mine, number)))
        left = inner.bind("ag_left", ring.wrapped(_minus(mine, 1)))
        ring.pass_on(
            inner,
            "ag",
            "ag_",
            "recv_ag",
            "recv_ag_valid",
            segment,
            row,
            lambda then, part: part.receive(then, left, "recv_ag"),
        )

    b.for_each("rs_step", 0, last, 1, scatter)
    b.for_each("ag_step", 0, last, 1, gather)

    def barriers(inner: LoweringBuilder) -> Expr:
        chunks = scalar.floordiv(scalar.add(longest, int_const(chunk - 1), b.span), int_const(chunk), b.span)
        return inner.bind("ring_reset_total", int32(scalar.mul(int_const(2), chunks, b.span)))

    take_back(b, team, barriers, shape_of(signal)[0])


def _plus(value: Expr, number: int) -> Expr:
    return scalar.add(value, int_const(number), value.span)


def _minus(value: Expr, other: Expr | int) -> Expr:
    return scalar.sub(value, int_const(other) if isinstance(other, int) else other, value.span)


def _check_signal(signal: Expr, call: Call) -> Expr:
    """The number of ranks that the signal is made for."""
    type_ = signal.type
    if not isinstance(type_, DistributedTensorType):
        raise InvalidValueError("allreduce round a ring needs a DistributedTensor as signal", call.span, hint="see pld.window")
    if len(type_.shape) != 2:
        raise InvalidValueError(
            f"allreduce round a ring needs a 2D signal, got one of {len(type_.shape)} dimensions",
            call.span,
            hint="its shape is [2 * (ranks - 1), ranks]",
        )
    if type_.dtype is not DataType.INT32:
        raise InvalidValueError(f"allreduce round a ring needs an INT32 signal, got {type_.dtype.name}", call.span)
    rows, columns = (constant(d) for d in type_.shape)
    if columns is not None and columns < 2:
        raise InvalidValueError(
            f"allreduce round a ring needs at least two ranks, its signal has {columns} columns",
            call.span,
            hint="give the signal a column for each rank",
        )
    if rows is not None and columns is not None and rows != 2 * (columns - 1):
        raise InvalidValueError(
            f"allreduce round a ring: signal shape[0] must equal 2 * (shape[1] - 1) = {2 * (columns - 1)}, got {rows}",
            call.span,
            hint="it has a row for each step of the ring, twice round",
        )
    return type_.shape[1]


def _check_prefix(type_: DistributedTensorType, call: Call) -> None:
    """The valid part must be the first elements, row by row."""
    found = False
    for dim, valid in zip(type_.shape, type_.valid_shape, strict=True):
        if not found:
            found = constant(valid) != 1
        elif not same(dim, valid):
            raise InvalidValueError(
                "allreduce round a ring: the valid part must be a contiguous row-major prefix of the tensor",
                call.span,
                hint="only whole rows under the first dimension that is cut can go round; a mesh also takes rectangles",
            )


@dataclass(frozen=True)
class _Segments:
    """How a size is divided between ranks: evenly; FP16 segments begin at multiples of 16 elements."""

    size: Expr
    ranks: Expr
    aligned: bool

    def boundary(self, at: Expr) -> Expr:
        """Where a segment begins."""
        span = at.span
        reached = scalar.mul(at, self.size, span)
        if not self.aligned:
            return scalar.floordiv(reached, self.ranks, span)
        unit = scalar.mul(self.ranks, int_const(16), span)
        padded = scalar.add(reached, scalar.sub(unit, int_const(1), span), span)
        begin = scalar.mul(scalar.floordiv(padded, unit, span), int_const(16), span)
        return scalar.min_(begin, self.size, span)

    def longest(self) -> Expr:
        """The length of the longest segment."""
        size, ranks = constant(self.size), constant(self.ranks)
        if size is not None and ranks is not None and ranks > 0:
            even = -(-size // ranks)
            return int_const(min(size, even + 15) if self.aligned else even)
        span = self.size.span
        even_ = scalar.floordiv(scalar.add(self.size, scalar.sub(self.ranks, int_const(1), span), span), self.ranks, span)
        return scalar.min_(self.size, scalar.add(even_, int_const(15), span), span) if self.aligned else even_


@dataclass(frozen=True)
class _Part:
    """One chunk of a segment: where it begins, how much of it there is (at least one element, so that tiles are never empty)."""

    view: Expr
    begin: Expr
    chunk: int
    least_valid: Expr

    def receive(self, b: LoweringBuilder, peer: Expr, name: str) -> Expr:
        """The chunk of a neighbour's window."""
        names = (f"{name}_loaded", f"{name}_tail", name)
        return remote_chunk(b, names, self.view, peer, self.begin, self.chunk, self.least_valid)


@dataclass(frozen=True)
class _Ring:
    """What both phases share."""

    b: LoweringBuilder
    team: Team
    view: Expr
    size: Expr
    segments: _Segments
    longest: Expr
    chunk: int
    mine: Expr

    def wrapped(self, rank: Expr) -> Expr:
        """A rank counted round the ring, from a number that may be below zero."""
        return scalar.mod(scalar.add(rank, self.team.nranks, self.b.span), self.team.nranks, self.b.span)

    def pass_on(
        self,
        b: LoweringBuilder,
        phase: str,
        prefix: str,
        result: str,
        kept: str,
        segment: Expr,
        row: Expr,
        take: Callable[[LoweringBuilder, _Part], Expr],
    ) -> None:
        """One step of a phase: chunk by chunk, take from the left and keep, each between two barriers on the signal's ``row``."""
        span, chunk, size = self.b.span, self.chunk, self.size
        begin = b.bind(f"{prefix}segment_begin", self.segments.boundary(segment))
        end = b.bind(f"{prefix}segment_end", self.segments.boundary(_plus(segment, 1)))
        columns = b.bind(f"{prefix}segment_cols", scalar.sub(end, begin, span))

        def cell(rank: Expr) -> list[Expr]:
            return [row, rank]

        def each(inner: LoweringBuilder, column: Var) -> None:
            active = scalar.lt(column, columns, span)
            valid = remaining(chunk, columns, column)
            least = scalar.max_(int_const(1), valid, span)
            first = scalar.add(begin, column, span)
            part = _Part(self.view, first, chunk, least)
            ordinal = _plus(scalar.mul(scalar.floordiv(column, int_const(chunk), span), int_const(2), span), 1)
            ready = inner.bind(f"{phase}_ready_epoch", int32(ordinal))
            meet(inner, self.team, f"_{phase}_ready", NotifyOp.AtomicAdd, ready, cell)

            def placeholder(otherwise: LoweringBuilder) -> Expr:
                name = f"{result}_placeholder"
                return fill(otherwise, name, load_chunk(otherwise, f"{name}_loaded", self.view, 0, chunk, least))

            taken = inner.pick(active, lambda then: take(then, part), placeholder)
            read = inner.bind(f"{phase}_read_epoch", int32(_plus(ordinal, 1)))
            meet(inner, self.team, f"_{phase}_read", NotifyOp.AtomicAdd, read, cell)

            def keep(then: LoweringBuilder) -> None:
                from_ = _clamped(size, first)
                width = scalar.sub(_clamped(size, scalar.add(from_, valid, span)), from_, span)
                tile = then.bind(kept, then.call("tile.set_validshape", taken, 1, width))
                then.bind(f"store_{phase}", then.call("tile.store", tile, [0, from_], self.view))

            inner.gate(active, keep)

        b.for_each(f"{phase}_col", 0, self.longest, chunk, each)


def _clamped(size: Expr, value: Expr) -> Expr:
    """``min(size, value)``, in a form from which a prover sees that it is at most ``size``."""
    span = value.span
    return scalar.sub(size, scalar.max_(int_const(0), scalar.sub(size, value, span), span), span)
