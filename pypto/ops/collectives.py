"""Collectives: operators in which every rank of a communication domain takes part.

Inside kernels LowerCompositeOps replaces them by notify, wait and transfers; in host orchestrators later passes do. Their meanings work on
lists over the ranks and add in the order in which the lowered form does, so that both give the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgEffect, ReduceOp
from pypto.ir.expr import Expr
from pypto.ir.types import TensorType, TileType, Type
from pypto.ops.communication import need_signal, rows_of
from pypto.ops.declare import (
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
)
from pypto.ops.region import Array, Keywords, constant, same, text_of
from pypto.ops.support import MODES, SUPPORT, Support


def _data(declaration: Declaration, args: Sequence[Expr], at: int) -> TensorType | TileType:
    type_ = args[at].type
    assert isinstance(type_, TensorType | TileType)
    dtypes = SUPPORT[declaration.leaf].dtypes
    if dtypes and type_.dtype not in dtypes:
        names = " or ".join(d.name for d in dtypes)
        name = declaration.operand_params[at].name
        raise OperandError(f"{declaration.name} takes {names} as {name!r}, got {describe_type(type_)}", at)
    return type_


def _reduction(declaration: Declaration, kwargs: Keywords) -> None:
    allowed = SUPPORT[declaration.leaf].reductions
    value = kwargs.get("op")
    if value is None:
        raise ArityError(f"{declaration.name} needs 'op'", "op", hint=f"signature: {declaration.spelling()}")
    if value not in [int(r) for r in allowed]:
        names = ", ".join(f"ReduceOp.{r.name}" for r in allowed)
        got = (
            f"ReduceOp.{ReduceOp(value).name}" if isinstance(value, int) and value in [int(r) for r in ReduceOp] else repr(value)
        )
        raise KeywordError(f"{declaration.name} takes 'op' as one of {names}; got {got}", "op")


def _distinct(declaration: Declaration, args: Sequence[Expr]) -> None:
    """Refuse one tensor for two operands of which a rank writes either."""
    names = [p.name for p in declaration.operand_params]
    for other in range(1, len(args)):
        for one in range(other):
            read_only = declaration.arg_effect(one) is declaration.arg_effect(other) is ArgEffect.Read
            if args[one] is args[other] and not read_only:
                control = {names[one], names[other]} & {*declaration.signals}
                raise OperandError(
                    f"{declaration.name} needs {names[one]!r} and {names[other]!r} to be different tensors, got one for both",
                    other,
                    hint="a signal counts posts, it holds no data"
                    if control
                    else "what is pushed from must not be what is pushed into",
                )


def _two_dimensional(declaration: Declaration, args: Sequence[Expr], at: int) -> None:
    type_: Any = args[at].type
    if len(type_.shape) != 2:
        name = declaration.operand_params[at].name
        raise OperandError(f"{declaration.name} takes a 2-D {name!r}, got {describe_type(type_)}", at)


def _column(declaration: Declaration, args: Sequence[Expr], at: int, ranks: Sequence[int] = (1, 2)) -> Expr:
    """The number of ranks that a one-column operand is made for; refuses other shapes."""
    type_: Any = args[at].type
    shape = type_.shape
    if len(shape) not in ranks or (len(shape) == 2 and constant(shape[1]) != 1):
        name = declaration.operand_params[at].name
        wanted = " or ".join("[NR]" if r == 1 else "[NR, 1]" for r in ranks)
        raise OperandError(f"{declaration.name} takes {name!r} of shape {wanted}, got {describe_type(type_)}", at)
    return shape[0]


def _agree(declaration: Declaration, mine: Expr, theirs: Expr, what: str, at: int) -> None:
    one, other = constant(mine), constant(theirs)
    if one is not None and other is not None and one != other:
        raise OperandError(f"{declaration.name} needs one number of {what} throughout, got {one} and {other}", at)


# -- type rules ------------------------------------------------------------------------------------------------------------------


def _allreduce_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target = _data(declaration, args, 0)
    cores = kwargs.get("core_num", 1)
    if type(cores) is not int:
        raise InvalidTypeError(f"{declaration.name} takes an int as 'core_num', got {cores!r}")
    if cores <= 0:
        raise KeywordError(f"{declaration.name} takes a positive 'core_num', got {cores}", "core_num")
    _reduction(declaration, kwargs)
    if len(args) > 1:
        need_signal(declaration, args, 1)
        _distinct(declaration, args)
    elif kwargs.get("mode", "mesh") != "mesh":
        raise KeywordError(
            f"{declaration.name} without a signal runs as a mesh only, got mode={kwargs.get('mode')!r}",
            "mode",
            hint="give it a signal",
        )
    return target


def _barrier_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    return need_signal(declaration, args, 0)


def _broadcast_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target = _data(declaration, args, 0)
    need_signal(declaration, args, 1)
    _distinct(declaration, args)
    root = kwargs.get("root", 0)
    if not isinstance(root, int) or root < 0:
        raise KeywordError(f"{declaration.name} takes 'root' from 0, got {root!r}", "root")
    return target


def _reduce_scatter_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target = _data(declaration, args, 0)
    _two_dimensional(declaration, args, 0)
    need_signal(declaration, args, 1)
    _distinct(declaration, args)
    _reduction(declaration, kwargs)
    return target


def _allgather_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    local, target = _data(declaration, args, 0), _data(declaration, args, 1)
    need_signal(declaration, args, 2)
    _distinct(declaration, args)
    for at in (0, 1):
        _two_dimensional(declaration, args, at)
    if constant(local.shape[0]) not in (1, None):
        raise OperandError(f"{declaration.name} takes one row as 'local_data', got {describe_type(local)}", 0)
    if local.dtype is not target.dtype or (
        constant(local.shape[1]) != constant(target.shape[1])
        and None not in (constant(local.shape[1]), constant(target.shape[1]))
    ):
        raise OperandError(
            f"{declaration.name} gathers rows of the target's width and type, got {describe_type(local)} for {describe_type(target)}",
            0,
        )
    _agree(declaration, target.shape[0], _column(declaration, args, 2), "ranks", 2)
    return target


def _all_to_all_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source, target = _data(declaration, args, 0), _data(declaration, args, 1)
    need_signal(declaration, args, 2)
    _distinct(declaration, args)
    _exchange(declaration, args, source, target)
    _agree(declaration, target.shape[0], _column(declaration, args, 2), "ranks", 2)
    return target


def _exchange(declaration: Declaration, args: Sequence[Expr], source: Any, target: Any) -> None:
    for at in (0, 1):
        _two_dimensional(declaration, args, at)
    differ = any(
        constant(a) is not None and constant(b) is not None and not same(a, b)
        for a, b in zip(source.shape, target.shape, strict=True)
    )
    if source.dtype is not target.dtype or differ:
        raise OperandError(
            f"{declaration.name} needs 'input' and 'target' of one shape and type, got {describe_type(source)} and "
            f"{describe_type(target)}",
            0,
        )


def _all_to_all_v_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    source, target = _data(declaration, args, 0), _data(declaration, args, 1)
    need_signal(declaration, args, 2)
    need_signal(declaration, args, 4, "recv_counts")
    _distinct(declaration, args)
    _exchange(declaration, args, source, target)
    counts: Any = args[3].type
    if counts.dtype is not DataType.INT32:
        raise OperandError(f"{declaration.name} takes INT32 as 'send_counts', got {describe_type(counts)}", 3)
    ranks = _column(declaration, args, 2, (2,))
    _agree(declaration, ranks, _column(declaration, args, 4, (2,)), "ranks", 4)
    _agree(declaration, ranks, _column(declaration, args, 3), "ranks", 3)
    rows, count = constant(target.shape[0]), constant(ranks)
    if rows is None or count is None:
        raise OperandError(
            f"{declaration.name} needs a constant number of rows and ranks, got {text_of([target.shape[0], ranks])}", 1
        )
    if rows % count:
        raise OperandError(f"{declaration.name} needs as many rows for each rank, got {rows} rows for {count} ranks", 1)
    return target


# -- meanings --------------------------------------------------------------------------------------------------------------------

REDUCTIONS: Mapping[int, Callable[[Array, Array], Array]] = {
    ReduceOp.Sum: np.add,
    ReduceOp.Max: np.maximum,
    ReduceOp.Min: np.minimum,
    ReduceOp.Prod: np.multiply,
}
"""The NumPy function of each reduction."""


def ring_boundaries(size: int, ranks: int, aligned: bool) -> list[int]:
    """Where the segments of a ring begin and the last one ends. ``aligned`` ones begin at multiples of 16 elements."""
    if not aligned:
        return [i * size // ranks for i in range(ranks + 1)]
    unit = ranks * 16
    return [min((i * size + unit - 1) // unit * 16, size) for i in range(ranks + 1)]


def allreduce(target: Sequence[Array], op: int, mode: str, signal: Sequence[Array] | None = None) -> None:
    """Every rank's tensor becomes the reduction of all; a mesh adds its own value, then its peers' in order, a ring along the ring."""
    reduce = REDUCTIONS[op]
    with np.errstate(all="ignore"):
        if mode == "ring" and len(target) > 1:
            _ring(target, reduce, signal)
            return
        values = [t.copy() for t in target]
        for rank, own in enumerate(target):
            total = values[rank]
            for peer, value in enumerate(values):
                if peer != rank:
                    total = reduce(total, value)
            own[...] = total


def _ring(target: Sequence[Array], reduce: Callable[[Array, Array], Array], signal: Sequence[Array] | None) -> None:
    ranks = len(target)
    if signal is not None and signal[0].ndim == 2 and signal[0].shape[1] != ranks:
        raise InvalidValueError(
            f"the signal is made for a ring of {signal[0].shape[1]} ranks, the run has {ranks}",
            hint="a ring's signal has one column for each rank",
        )
    flat = [t.reshape(-1).copy() for t in target]
    size = flat[0].size
    bounds = ring_boundaries(size, ranks, target[0].dtype.itemsize == 2)
    for segment in range(ranks):
        part = slice(bounds[segment], bounds[segment + 1])
        total = flat[(segment + 1) % ranks][part].copy()
        for step in range(2, ranks + 1):
            total = reduce(flat[(segment + step) % ranks][part], total)
        for value in flat:
            value[part] = total
    for own, value in zip(target, flat, strict=True):
        own[...] = value.reshape(own.shape)


def barrier(signal: Sequence[Array]) -> None:
    """Nothing but that all ranks come here."""


def broadcast(target: Sequence[Array], root: int) -> None:
    """Every rank's tensor becomes the root's."""
    if root >= len(target):
        raise InvalidValueError(f"rank {root} is the root of a broadcast between {len(target)} ranks")
    for rank, own in enumerate(target):
        if rank != root:
            own[...] = target[root]


def reduce_scatter(target: Sequence[Array], op: int) -> None:
    """Row r of rank r becomes the reduction of all ranks' rows r."""
    reduce = REDUCTIONS[op]
    totals: list[Array] = []
    with np.errstate(all="ignore"):
        for rank, own in enumerate(target):
            total = own[rank].copy()
            for peer, other in enumerate(target):
                if peer != rank:
                    total = reduce(total, other[rank])
            totals.append(total)
    for rank, own in enumerate(target):
        own[rank] = totals[rank]


def allgather(local_data: Sequence[Array], target: Sequence[Array]) -> None:
    """Row r of every rank's target becomes rank r's row."""
    rows = [row.copy() for row in local_data]
    for own in target:
        for rank, row in enumerate(rows):
            own[rank : rank + 1] = row


def all_to_all(input: Sequence[Array], target: Sequence[Array]) -> None:
    """Row s of rank r's target becomes row r of rank s's input."""
    sources = [i.copy() for i in input]
    for rank, own in enumerate(target):
        for sender, source in enumerate(sources):
            own[sender] = source[rank]


def all_to_all_v(
    input: Sequence[Array],
    target: Sequence[Array],
    send_counts: Sequence[Array],
    recv_counts: Sequence[Array],
) -> None:
    """Like :func:`all_to_all` in blocks of rows, of which a number says how many are of use; it is at most the block's rows."""
    ranks = len(target)
    sources = [i.copy() for i in input]
    most = target[0].shape[0] // ranks
    for receiver, own in enumerate(target):
        for sender, source in enumerate(sources):
            own[sender * most : (sender + 1) * most] = source[receiver * most : (receiver + 1) * most]
            recv_counts[receiver][sender, 0] = min(int(send_counts[sender].reshape(-1)[receiver]), most)


# -- ranks -----------------------------------------------------------------------------------------------------------------------


def _allreduce_ranks(args: Sequence[Expr], kwargs: Keywords) -> RankCount:
    if len(args) < 2:
        return RankCount()
    if kwargs.get("mode") != "ring":
        return rows_of(1)(args, kwargs)
    shape: Any = getattr(args[1].type, "shape", ())
    columns = constant(shape[1]) if len(shape) == 2 else None
    return RankCount(2) if columns is None else RankCount(columns, columns)


def _broadcast_ranks(args: Sequence[Expr], kwargs: Keywords) -> RankCount:
    root = kwargs.get("root", 0)
    return rows_of(1)(args, kwargs).both(RankCount(root + 1 if isinstance(root, int) else 1))


def _exactly(at: int) -> Any:
    """As many ranks as the operand at ``at`` has rows."""

    def rule(args: Sequence[Expr], kwargs: Keywords) -> RankCount:
        rows = constant(getattr(args[at].type, "shape", [args[at]])[0])
        return RankCount() if rows is None else RankCount(rows, rows)

    return rule


# -- declarations ----------------------------------------------------------------------------------------------------------------

_TARGET = Param("target", Kind.DISTRIBUTED, doc="The window that holds the data, and the result.")
_SIGNAL = Param("signal", Kind.DISTRIBUTED, doc="The signal, INT32; one call uses it.")
_OP = Param(
    "op",
    Kind.ENUM,
    ReduceOp.Sum,
    enum=ReduceOp,
    stored=True,
    keyword_only=True,
    shown_as_number=True,
    doc="The reduction.",
)


def _collective(leaf: str, params: Sequence[Param], rule: Any, meaning: Any, alias: str, doc: str, **facts: Any) -> None:
    op(
        f"pld.tensor.{leaf}",
        params=params,
        result=rule,
        meaning=meaning,
        lanes=Lanes.ALL,
        alias=alias,
        composite=True,
        collective=True,
        signals=["signal"],
        doc=doc,
        **facts,
    )


_collective(
    "allreduce",
    [
        _TARGET,
        Param("signal", Kind.DISTRIBUTED, None, nullable=False, doc="The signal; host orchestrators may leave it out."),
        _OP,
        Param("mode", Kind.STR, "mesh", stored=True, keyword_only=True, doc="mesh or ring."),
        Param("core_num", Kind.INT, 1, stored=True, keyword_only=True, doc="Cores on each rank, in host orchestrators."),
    ],
    _allreduce_type,
    allreduce,
    "target",
    "Every rank's tensor becomes the reduction of all ranks' tensors.",
    valid_only=["target"],
    ranks=_allreduce_ranks,
    reads_writes=["target", "signal"],
)
_collective(
    "barrier",
    [_SIGNAL],
    _barrier_type,
    barrier,
    "signal",
    "Wait until every rank has come here; gives the signal.",
    ranks=rows_of(0),
    reads_writes=["signal"],
)
_collective(
    "broadcast",
    [_TARGET, _SIGNAL, Param("root", Kind.INT, stored=True, keyword_only=True, doc="The rank whose data all get.")],
    _broadcast_type,
    broadcast,
    "target",
    "Every rank's tensor becomes that of the root.",
    ranks=_broadcast_ranks,
    reads_writes=["target", "signal"],
)
_collective(
    "reduce_scatter",
    [_TARGET, _SIGNAL, _OP],
    _reduce_scatter_type,
    reduce_scatter,
    "target",
    "Row r of rank r's tensor [NR, SIZE] becomes the sum of all ranks' rows r.",
    ranks=_exactly(0),
    reads_writes=["target", "signal"],
)
_collective(
    "allgather",
    [Param("local_data", Kind.SHAPED, doc="This rank's row [1, SIZE], a tensor or a tile."), _TARGET, _SIGNAL],
    _allgather_type,
    allgather,
    "target",
    "Row r of every rank's target [NR, SIZE] becomes the row of rank r.",
    ranks=_exactly(1),
    reads_writes=["target", "signal"],
)
_collective(
    "all_to_all",
    [Param("input", Kind.TENSOR, doc="Row r goes to rank r."), _TARGET, _SIGNAL],
    _all_to_all_type,
    all_to_all,
    "target",
    "Row s of rank r's target becomes row r of rank s's input.",
    ranks=_exactly(1),
    reads_writes=["target", "signal"],
)
_collective(
    "all_to_all_v",
    [
        Param("input", Kind.TENSOR, doc="Block r goes to rank r."),
        _TARGET,
        _SIGNAL,
        Param("send_counts", Kind.TENSOR, doc="How many rows of each block are of use, INT32."),
        Param("recv_counts", Kind.DISTRIBUTED, doc="How many rows of each received block are of use, INT32 [NR, 1]."),
    ],
    _all_to_all_v_type,
    all_to_all_v,
    "target",
    "Block s of rank r's target becomes block r of rank s's input; counts say how many rows of a block are of use.",
    ranks=_exactly(2),
    reads_writes=["target", "signal"],
    writes=["recv_counts"],
)

__all__ = ["MODES", "REDUCTIONS", "SUPPORT", "Support", "ring_boundaries"]
