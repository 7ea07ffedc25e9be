"""Windows, the ranks that share them, and signals: allocation, topology, notify and wait."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from typing import Any, Protocol

import numpy as np

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import NotifyOp, WaitCmp
from pypto.ir.expr import ConstInt, Expr, MakeTuple
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import (
    CommCtxType,
    DistributedTensorType,
    PtrType,
    ScalarType,
    TensorType,
    Type,
    UnknownType,
)
from pypto.ops.declare import (
    MISSING,
    ArityError,
    Declaration,
    KeywordError,
    Kind,
    Lanes,
    OperandError,
    Param,
    RankCount,
    describe_type,
    op,
    refuse_value,
    to_operand,
)
from pypto.ops.region import Array, Keywords, constant, constants, element, entries, need_count, need_positive


class Context(Protocol):
    """The ranks that share a window, as one of them sees them."""

    rank: int
    nranks: int


class World(Protocol):
    """The door of one rank to the others, as far as meanings use it."""

    def context(self, window: Any) -> Context:
        """The ranks that share a window."""
        ...

    def world_size(self) -> int:
        """The number of ranks of the run."""
        ...

    def allocate(self, size: int, name: str) -> Any:
        """Room of ``size`` bytes on every rank."""
        ...

    def window(self, buffer: Any, shape: tuple[int, ...], dtype: DataType) -> Any:
        """A distributed tensor on such room."""
        ...


def integer_scalar(declaration: Declaration, args: Sequence[Expr], at: int) -> None:
    """Refuse an operand that is no integer scalar."""
    type_ = args[at].type
    if not isinstance(type_, ScalarType) or not type_.dtype.is_int():
        name = declaration.params_of(len(args))[at].name
        raise OperandError(f"{declaration.name} takes an integer as {name!r}, got {describe_type(type_)}", at)


def cell_number(declaration: Declaration, args: Sequence[Expr], at: int) -> None:
    """Refuse what no signal cell can hold: an operand that is no integer scalar, or a constant that does not fit INT32."""
    integer_scalar(declaration, args, at)
    value = constant(args[at])
    if value is not None and not -(2**31) <= value < 2**31:
        name = declaration.params_of(len(args))[at].name
        refuse_value(f"{declaration.name} takes {name!r} as an INT32, got {value}", at)


def rank_number(declaration: Declaration, args: Sequence[Expr], at: int) -> None:
    """Refuse a rank that is no integer scalar, or a constant below zero."""
    integer_scalar(declaration, args, at)
    value = constant(args[at])
    if value is not None and value < 0:
        refuse_value(f"{declaration.name} takes a rank from 0 as 'peer', got {value}", at)


PEER = Param("peer", Kind.SCALAR, doc="The rank it lies on, counted within the communication domain.")


# -- windows ---------------------------------------------------------------------------------------------------------------------


def _allocation_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    integer_scalar(declaration, args, 0)
    size = constant(args[0])
    if size is not None and size <= 0:
        raise OperandError(f"{declaration.name} takes a positive number of bytes, got {size}", 0)
    if "dtype" in kwargs:
        raise KeywordError(f"{declaration.name} holds its size in bytes, not a 'dtype'", "dtype")
    if not kwargs.get("name"):
        raise KeywordError(f"{declaration.name} needs a 'name' that is not empty", "name")
    return PtrType()


class Allocation(Declaration):
    """The declaration of an allocation: its size may also be given as a shape and an element type."""

    def collect(self, bound: Sequence[Any], span: Span = UNKNOWN) -> tuple[list[Expr], dict[str, AttrValue]]:
        """The number of bytes, and the name; raises what :meth:`Declaration.collect` raises."""
        values = dict(zip([p.name for p in self.params], bound, strict=True))
        dtype = values["dtype"]
        size = to_operand(values["size"], span)
        if isinstance(size, MakeTuple):
            if dtype is MISSING or dtype is None:
                raise ArityError(f"{self.name} needs 'dtype' with a shape", "size", hint="dtype=pl.FP32")
            assert isinstance(dtype, DataType)
            values["size"] = self._bytes(size, dtype, span)
        elif dtype is not MISSING and dtype is not None:
            name = getattr(dtype, "name", dtype)
            raise ArityError(
                f"{self.name} takes 'dtype' with a shape only", "dtype", hint=f"[...], dtype=pl.{name}; or bytes without dtype"
            )
        values["dtype"] = MISSING
        return super().collect([*values.values()], span)

    def _bytes(self, shape: MakeTuple, dtype: DataType, span: Span) -> Expr:
        if not shape.elements:
            raise OperandError(f"{self.name} takes no empty shape", 0)
        for dim in shape.elements:
            value = constant(dim)
            if value is not None and value <= 0:
                raise OperandError(f"{self.name} takes positive extents, got {value}", 0)
            if not isinstance(dim.type, ScalarType) or not dim.type.dtype.is_int():
                raise OperandError(f"{self.name} takes integers as extents, got {describe_type(dim.type)}", 0)
        sizes = constants(shape.elements)
        if None not in sizes:
            return ConstInt(prod([s or 0 for s in sizes]) * dtype.get_byte(), DataType.INT64)
        wide = [ConstInt(s, DataType.INT64) if s is not None else _int64(d) for s, d in zip(sizes, shape.elements, strict=True)]
        return reduce(lambda a, b: scalar.mul(a, b, span), [*wide, ConstInt(dtype.get_byte(), DataType.INT64)])


def _int64(dim: Expr) -> Expr:
    return dim if dim.type is ScalarType(DataType.INT64) else scalar.cast(dim, DataType.INT64, dim.span)


def allocate(size: int, name: str, world: World) -> Any:
    """Room on every rank."""
    return world.allocate(int(size), name)


op(
    "pld.tensor.alloc_window_buffer",
    params=[
        Param("size", Kind.SCALAR, doc="Bytes on each rank; or extents, with ``dtype``."),
        Param("dtype", Kind.DTYPE, None, keyword_only=True, doc="The element type, when ``size`` is a list of extents."),
        Param(
            "name",
            Kind.STR,
            stored=True,
            keyword_only=True,
            internal=True,
            from_target=True,
            doc="The name of the variable it is assigned to.",
        ),
    ],
    kind=Allocation,
    result=_allocation_type,
    meaning=allocate,
    lanes=Lanes.NONE,
    allocates=True,
    short=True,
    doc="Allocate a window buffer: zeroed room on every rank of the communication domain that uses it. Host orchestrators only.",
)


def _window_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    shape = entries(args[1])
    need_positive(declaration, 1, shape, static=False)
    dtype = kwargs["dtype"]
    assert isinstance(dtype, DataType)
    return DistributedTensorType(shape, dtype)


def window(buf: Any, shape: tuple[int, ...], dtype: DataType, world: World) -> Any:
    """A view of a window buffer."""
    return world.window(buf, shape, dtype)


op(
    "pld.tensor.window",
    params=[
        Param("buf", Kind.POINTER, doc="A window buffer."),
        Param("shape", Kind.TUPLE, doc="Extents on each rank."),
        Param("dtype", Kind.DTYPE, stored=True, keyword_only=True, doc="Element type."),
    ],
    result=_window_type,
    meaning=window,
    lanes=Lanes.NONE,
    window_of="buf",
    short=True,
    doc="See a window buffer as a distributed tensor.",
)


# -- topology --------------------------------------------------------------------------------------------------------------------


def _scalar(dtype: DataType) -> Any:
    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        return ScalarType(dtype)

    return rule


def _context_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    return CommCtxType()


def world_size(world: World) -> int:
    """The number of ranks of the run."""
    return world.world_size()


def context_of(dist_tensor: Any, world: World) -> Context:
    """The ranks that share a window."""
    return world.context(dist_tensor)


def rank_of(ctx: Context) -> int:
    """Which of the ranks this one is."""
    return ctx.rank


def ranks_of(ctx: Context, expected: int | None = None) -> int:
    """How many ranks there are.

    Raises:
        InvalidValueError: another number is expected.
    """
    if expected is not None and ctx.nranks != expected:
        raise InvalidValueError(f"this is made for {expected} ranks, and there are {ctx.nranks}")
    return ctx.nranks


def _expected_ranks(args: Sequence[Expr], kwargs: Keywords) -> RankCount:
    expected = kwargs.get("expected")
    return RankCount(expected, expected) if isinstance(expected, int) else RankCount()


op(
    "pld.system.world_size",
    params=[],
    result=_scalar(DataType.INT64),
    meaning=world_size,
    lanes=Lanes.NONE,
    counts_ranks=True,
    short=True,
    doc="The number of ranks, for host orchestrators.",
)
op(
    "pld.system.get_comm_ctx",
    params=[Param("dist_tensor", Kind.DISTRIBUTED, doc="A distributed tensor.")],
    result=_context_type,
    meaning=context_of,
    lanes=Lanes.NONE,
    context_of="dist_tensor",
    short=True,
    doc="The communication context of a distributed tensor: which ranks share its window, and which of them this one is.",
)
_EXPECTED = Param(
    "expected", Kind.INT, None, keyword_only=True, doc="The only number of ranks that is right; any other is an error."
)

for _leaf, _meaning, _more, _text in (
    ("rank", rank_of, [], "Which rank of its communication domain this one is, counted from 0."),
    ("nranks", ranks_of, [_EXPECTED], "The number of ranks in the communication domain."),
):
    op(
        f"pld.system.{_leaf}",
        params=[Param("ctx", Kind.CONTEXT, doc="A communication context."), *_more],
        result=_scalar(DataType.INT32),
        meaning=_meaning,
        ranks=_expected_ranks if _more else None,
        lanes=Lanes.NONE,
        short=True,
        doc=_text,
    )


# -- signals ---------------------------------------------------------------------------------------------------------------------


def rows_of(at: int, offsets: int | None = None) -> Any:
    """At most as many ranks as the one-column signal at ``at`` has rows; ``offsets`` that name a fixed row say nothing."""

    def rule(args: Sequence[Expr], kwargs: Keywords) -> RankCount:
        shape: Sequence[Expr] = getattr(args[at].type, "shape", ())
        rows = constant(shape[0]) if shape and all(constant(d) == 1 for d in shape[1:]) else None
        fixed = offsets is not None and constant(entries(args[offsets])[0]) is not None
        return RankCount() if fixed else RankCount(1, rows)

    return rule


def _need_cell(declaration: Declaration, signal: Expr, args: Sequence[Expr], at: int) -> None:
    type_ = signal.type
    assert isinstance(type_, TensorType)
    need_count(declaration, at, entries(args[at]), len(type_.shape), "offsets", describe_type(type_))


def need_signal(declaration: Declaration, args: Sequence[Expr], at: int, name: str = "signal") -> DistributedTensorType:
    """The type of a signal operand, which must be an INT32 distributed tensor."""
    type_ = args[at].type
    if not isinstance(type_, DistributedTensorType) or type_.dtype is not DataType.INT32:
        raise OperandError(f"{declaration.name} takes an INT32 distributed tensor as {name!r}, got {describe_type(type_)}", at)
    return type_


def _notify_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    rank_number(declaration, args, 1)
    cell_number(declaration, args, 3)
    _need_cell(declaration, args[0], args, 2)
    _need_member(declaration, "op", NotifyOp, kwargs)
    return UnknownType()


def _need_member(declaration: Declaration, name: str, enum: Any, kwargs: Keywords) -> None:
    value = kwargs.get(name)
    if value not in [int(m.value) for m in enum]:
        names = ", ".join(f"{enum.__name__}.{m.name}" for m in enum)
        raise KeywordError(f"{declaration.name} takes {name!r} as one of {names}; got {value!r}", name)


def notify(target: Array, offsets: tuple[int, ...], value: int, op: int) -> Array:
    """Add to a signal cell, or set it; INT32 arithmetic wraps."""
    cell = element("pld.system.notify", target, offsets)
    if op == NotifyOp.Set:
        target[cell] = value
    else:
        with np.errstate(over="ignore"):
            target[cell] += target.dtype.type(value)
    return target


op(
    "pld.system.notify",
    params=[
        Param("target", Kind.DISTRIBUTED, doc="The signal."),
        PEER,
        Param("offsets", Kind.TUPLE, doc="The cell, one entry per dimension."),
        Param("value", Kind.SCALAR, cast=DataType.INT32, doc="What is added or set."),
        Param(
            "op",
            Kind.ENUM,
            enum=NotifyOp,
            stored=True,
            keyword_only=True,
            shown_as_number=True,
            doc="AtomicAdd or Set.",
        ),
    ],
    result=_notify_type,
    meaning=notify,
    lanes=Lanes.ALL,
    writes=["target"],
    reads_when={"target": ("op", int(NotifyOp.AtomicAdd))},
    remote="target",
    posts="target",
    signals=["target"],
    ranks=rows_of(0, 2),
    doc="Post to a signal cell of another rank. What this rank wrote before is visible there first.",
)


def _wait_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    cell_number(declaration, args, 2)
    _need_cell(declaration, args[0], args, 1)
    _need_member(declaration, "cmp", WaitCmp, kwargs)
    return UnknownType()


def _defer_wait_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    need_signal(declaration, args, 0)
    if kwargs.get("cmp") != WaitCmp.Ge:
        raise KeywordError(f"{declaration.name} takes 'cmp' as WaitCmp.Ge only", "cmp")
    expected = constant(args[2])
    if expected is not None and not 0 <= expected < 2**31:
        refuse_value(f"{declaration.name} takes 'expected' from 0 to 2**31 - 1, got {expected}", 2)
    return _wait_type(declaration, args, kwargs)


def is_reached(signal: Array, offsets: tuple[int, ...], expected: int, cmp: int) -> bool:
    """True when a signal cell holds what is waited for."""
    value = signal[element("pld.system.wait", signal, offsets)]
    return bool(value >= expected if cmp == WaitCmp.Ge else value == expected)


for _leaf, _rule, _text in (
    (
        "wait",
        _wait_type,
        "Wait until a signal cell of this rank holds, or has reached, a value. What its posters wrote before is visible then.",
    ),
    ("defer_wait", _defer_wait_type, "A wait whose task gives up its core meanwhile."),
):
    op(
        f"pld.system.{_leaf}",
        params=[
            Param("signal", Kind.DISTRIBUTED, doc="The signal."),
            Param("offsets", Kind.TUPLE, doc="The cell, one entry per dimension."),
            Param("expected", Kind.SCALAR, cast=DataType.INT32, doc="What is waited for."),
            Param(
                "cmp", Kind.ENUM, enum=WaitCmp, stored=True, keyword_only=True, shown_as_number=True, doc="Ge (at least) or Eq."
            ),
        ],
        result=_rule,
        meaning=is_reached,
        lanes=Lanes.ALL,
        waits="signal",
        signals=["signal"],
        ranks=rows_of(0, 1),
        doc=_text,
    )

__all__ = ["PEER", "Context", "World", "integer_scalar", "need_signal", "rank_number"]
