"""Collectives as a host orchestrator dispatches them: one task for one rank, made by LowerHostTensorCollectives only.

A dispatch carries its keywords a second time among the attributes of the call, where it also says which device it is for and what happens
to each argument. What is accepted stands in :mod:`pypto.ops.support`. What a rank does in such a task stands in
:mod:`pypto.ops.host_kernels`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgDirection, ArgEffect, ReduceOp
from pypto.ir.expr import Call, Expr
from pypto.ir.function import Function
from pypto.ir.op import get_op
from pypto.ir.types import DistributedTensorType, ScalarType, Type
from pypto.ops import collectives as _collectives  # declares what is dispatched
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, RankCount, describe_type, op
from pypto.ops.region import Keywords, constant, same, text_of
from pypto.ops.support import MODES, MOST_RANKS, Capability, SignalShape, Tier, capability

del _collectives

Check = Callable[[Declaration, Sequence[Expr], Capability], None]


def _row(declaration: Declaration) -> tuple[str, str, Capability]:
    """The name that people know the collective by, the way it runs, and its row of the table."""
    assert declaration.carries_out is not None
    name, mode = declaration.carries_out
    row = capability(name.rpartition(".")[2], mode, Tier.HOST)
    assert row is not None
    return name, mode, row


def _shown(declaration: Declaration) -> str:
    name, mode, _ = _row(declaration)
    return f"{name} with mode='ring'" if mode == "ring" else name


def _refuse(declaration: Declaration, text: str, at: int, hint: str | None = None) -> OperandError:
    return OperandError(f"{_shown(declaration)} in a host orchestrator {text}", at, hint)


# -- signals -----------------------------------------------------------------------------------------------------------------


def _need_ints(declaration: Declaration, args: Sequence[Expr], at: int) -> Sequence[Expr]:
    """The shape of an INT32 distributed operand."""
    type_ = args[at].type
    name = declaration.operand_params[at].name
    if not isinstance(type_, DistributedTensorType) or type_.dtype is not DataType.INT32:
        raise _refuse(declaration, f"takes an INT32 distributed tensor as {name!r}, got {describe_type(type_)}", at)
    return type_.shape


def _lanes(declaration: Declaration, args: Sequence[Expr], at: int, lanes: int, wider: bool) -> None:
    """A signal with a cell for each rank and lane: rank 1 for one lane, else rank 2."""
    shape = _need_ints(declaration, args, at)
    shown = describe_type(args[at].type)
    if len(shape) not in (1, 2):
        raise _refuse(declaration, f"takes a signal of rank 1 or 2, got {shown}", at, "shape [NR] or [NR, 1]")
    if len(shape) == 1:
        if lanes > 1:
            text = f"with core_num={lanes} needs a signal of {lanes} lanes for each rank, got one of rank 1: {shown}"
            raise _refuse(declaration, text, at, f"give it the shape [NR, {lanes}]")
        return
    stride = constant(shape[1])
    if stride is None:
        raise _refuse(declaration, f"takes a signal whose second extent is a constant, got {shown}", at)
    if wider and stride < lanes:
        text = f"with core_num={lanes} needs a signal of {lanes} lanes for each rank, got {stride}: {shown}"
        raise _refuse(declaration, text, at, f"give it the shape [NR, {lanes}]")
    if not wider and stride != 1:
        raise _refuse(declaration, f"takes a signal of one column, got {shown}", at, "shape [NR] or [NR, 1]")


def _ring(declaration: Declaration, args: Sequence[Expr], at: int, row: Capability) -> None:
    shape = _need_ints(declaration, args, at)
    shown = describe_type(args[at].type)
    if len(shape) != 2:
        text = f"takes a signal of rank 2, {row.signal.value}, got {shown}"
        raise _refuse(declaration, text, at)
    rows, ranks = constant(shape[0]), constant(shape[1])
    if ranks is None:
        return
    if row.most_ranks is not None and ranks > row.most_ranks:
        text = f"supports at most {row.most_ranks} devices, got a signal for {ranks}"
        raise _refuse(declaration, text, at)
    wanted = row.signal.ring_rows(ranks)
    if rows is not None and rows != wanted:
        text = f"between {ranks} ranks needs a signal of {wanted} rows, {row.signal.value}, got {shown}"
        raise _refuse(declaration, text, at, f"give it the shape [{wanted}, {ranks}]")


def _signal(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords, row: Capability) -> None:
    at = [p.name for p in declaration.operand_params].index("signal")
    shape = row.signal
    if shape is SignalShape.RING:
        _ring(declaration, args, at, row)
    elif shape is SignalShape.EXACT_COLUMN:
        dims = _need_ints(declaration, args, at)
        if len(dims) != 2 or constant(dims[1]) != 1:
            raise _refuse(declaration, f"takes a signal of shape [NR, 1], got {describe_type(args[at].type)}", at)
    else:
        cores = kwargs.get("core_num", 1)
        assert isinstance(cores, int)
        _lanes(declaration, args, at, cores, row.many_cores)


# -- data ----------------------------------------------------------------------------------------------------------------------


def _data(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords, row: Capability) -> None:
    """Element types and reduction."""
    name, mode, _ = _row(declaration)
    dtype = kwargs.get("dtype")
    if dtype is not None:
        for at, param in enumerate(declaration.operand_params):
            type_: Any = args[at].type
            if param.name in _CONTROLS:
                continue
            if type_.dtype is not dtype:
                shown = getattr(dtype, "name", dtype)
                raise _refuse(declaration, f"says dtype={shown}, but {param.name!r} is {describe_type(type_)}", at)
            if row.dtypes and type_.dtype not in row.dtypes:
                names = " or ".join(d.name for d in row.dtypes)
                text = f"takes {names} as {param.name!r}; {type_.dtype.name} is not yet available"
                raise _refuse(declaration, text, at)
    value = kwargs.get("op")
    if row.reductions and value not in [int(r) for r in row.reductions]:
        names = ", ".join(f"ReduceOp.{r.name}" for r in row.reductions)
        known = isinstance(value, int) and value in [int(r) for r in ReduceOp]
        got = f"ReduceOp.{ReduceOp(int(value)).name}" if known else repr(value)  # pyright: ignore[reportArgumentType]
        where = f"{name} with mode={mode!r}" if mode != MODES[0] else name
        raise InvalidValueError(f"{where} in a host orchestrator takes 'op' as {names}; {got} is not yet available")


def _cores(declaration: Declaration, kwargs: Keywords) -> None:
    cores = kwargs.get("core_num", 1)
    if type(cores) is not int:
        raise InvalidTypeError(f"{declaration.name} takes an int as 'core_num', got {cores!r}")
    if cores <= 0:
        raise InvalidValueError(f"{declaration.name} takes a positive 'core_num', got {cores}")


def _two_dimensional(declaration: Declaration, args: Sequence[Expr], at: int) -> Sequence[Expr]:
    type_: Any = args[at].type
    if len(type_.shape) != 2:
        name = declaration.operand_params[at].name
        raise _refuse(declaration, f"takes a 2-D {name!r}, got {describe_type(type_)}", at)
    return type_.shape


def _anything(declaration: Declaration, args: Sequence[Expr], row: Capability) -> None:
    pass


def _rows(declaration: Declaration, args: Sequence[Expr], row: Capability) -> None:
    _two_dimensional(declaration, args, 0)


def _gathered(declaration: Declaration, args: Sequence[Expr], row: Capability) -> None:
    mine, target = _two_dimensional(declaration, args, 0), _two_dimensional(declaration, args, 1)
    if constant(mine[0]) not in (1, None):
        raise _refuse(declaration, f"takes one row as 'input', got {describe_type(args[0].type)}", 0)
    if not _fits(mine[1], target[1]):
        raise _refuse(declaration, f"gathers rows of the target's width, got {text_of(mine)} for {text_of(target)}", 0)


def _exchanged(declaration: Declaration, args: Sequence[Expr], row: Capability) -> None:
    mine, target = _two_dimensional(declaration, args, 0), _two_dimensional(declaration, args, 1)
    if not all(_fits(a, b) for a, b in zip(mine, target, strict=True)):
        text = f"needs 'input' and 'target' of one shape, got {text_of(mine)} and {text_of(target)}"
        raise _refuse(declaration, text, 0)


def _blocks(declaration: Declaration, args: Sequence[Expr], row: Capability) -> None:
    _exchanged(declaration, args, row)
    for at in (3, 4):
        shape = _need_ints(declaration, args, at)
        ranks = (1, 2) if at == 3 else (2,)
        if len(shape) not in ranks or (len(shape) == 2 and constant(shape[1]) != 1):
            name = declaration.operand_params[at].name
            wanted = "[NR] or [NR, 1]" if at == 3 else "[NR, 1]"
            raise _refuse(declaration, f"takes {name!r} of shape {wanted}, got {describe_type(args[at].type)}", at)


def _fits(one: Expr, other: Expr) -> bool:
    return constant(one) is None or constant(other) is None or same(one, other)


# -- ranks -------------------------------------------------------------------------------------------------------------------


def _rank_count(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> RankCount:
    """As many ranks as the windows have rows for; a ring exactly as many as its signal is made for."""
    row = _row(declaration)[2]
    root = kwargs.get("root")
    count = RankCount(root + 1 if isinstance(root, int) else 1, MOST_RANKS)
    for name in row.per_rank:
        count = count.both(RankCount(1, _extent(declaration, args, name, 0)))
    if row.signal is SignalShape.RING:
        ranks = _extent(declaration, args, "signal", 1)
        return count if ranks is None else count.both(RankCount(ranks, ranks))
    rows = _extent(declaration, args, "signal", 0)
    return count.both(RankCount(rows or 1 if row.signal is SignalShape.EXACT_COLUMN else 1, rows))


def _extent(declaration: Declaration, args: Sequence[Expr], name: str, axis: int) -> int | None:
    """A constant extent of an operand; None when it is not known, or the operand is left out."""
    operand = declaration.operand_at(args, name)
    shape: Sequence[Expr] = () if operand is None else getattr(operand.type, "shape", ())
    return constant(shape[axis]) if axis < len(shape) else None


# -- declarations ----------------------------------------------------------------------------------------------------------------

HOST_FORMS: dict[str, dict[str, Declaration]] = {}
"""The dispatches of each collective, by its name and then by the way in which it runs."""

_CONTROLS = ("signal", "send_counts", "recv_counts")
"""The operands that hold no data: their elements are INT32."""


def _window(name: str, doc: str) -> Param:
    return Param(name, Kind.DISTRIBUTED, doc=doc)


_SOURCE = _window("src", "The window that holds the data, and the result.")
_TARGET = _window("target", "The window that holds the result.")
_INPUT = _window("input", "The window that this rank's data are pushed from.")
_SENT = _window("send_counts", "How many rows of each block of the input are of use, INT32.")
_RECEIVED = _window("recv_counts", "How many rows of each block of the target are of use, INT32.")
_SIGNAL = _window("signal", "The signal, INT32; its cells are zero again after the call.")
_OP = Param(
    "op", Kind.ENUM, enum=ReduceOp, stored=True, keyword_only=True, shown_as_number=True, doc="The reduction, as a number."
)
_DTYPE = Param("dtype", Kind.DTYPE, stored=True, keyword_only=True, doc="Element type of the data.")
_ROOT = Param("root", Kind.INT, stored=True, keyword_only=True, doc="The rank whose data all get.")
_CORES = Param("core_num", Kind.INT, stored=True, keyword_only=True, doc="Cores on each rank.")


def _builtin(collective: str, mode: str, params: Sequence[Param], check: Check, doc: str) -> None:
    leaf = collective if mode == MODES[0] else f"{collective}_{mode}"
    source: Any = get_op(f"pld.tensor.{collective}")
    windows = [p.name for p in params if p.is_operand]
    written = [_role(source, p.name, windows) for p in source.operand_params if _is_written(source, p.name)]

    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        row = _row(declaration)[2]
        _cores(declaration, kwargs)
        _data(declaration, args, kwargs, row)
        check(declaration, args, row)
        _signal(declaration, args, kwargs, row)
        return args[windows.index(_role(source, str(source.alias), windows))].type

    def ranks(args: Sequence[Expr], kwargs: Keywords) -> RankCount:
        return _rank_count(made, args, kwargs)

    def kernel(types: Sequence[Type], kwargs: Keywords) -> Function:
        # kernels are written for those who run them; reading and lowering programs should not wait for their import
        from pypto.ops.host_kernels.table import kernel_for

        return kernel_for(made.name, types, kwargs)

    made = op(
        f"builtin.tensor.{leaf}",
        params=params,
        result=rule,
        lanes=Lanes.ALL,
        alias=_role(source, str(source.alias), windows),
        internal_only=True,
        signals=["signal"],
        reads_writes=written,
        carries_out=(source.name, mode),
        ranks=ranks,
        kernel=kernel,
        blocks="core_num" if "core_num" in [p.name for p in params] else None,
        doc=doc,
    )
    HOST_FORMS.setdefault(source.name, {})[mode] = made


def _role(source: Declaration, name: str, roles: Sequence[str]) -> str:
    """What the dispatch calls an operand of the collective."""
    return roles[[p.name for p in source.operand_params].index(name)]


def _is_written(source: Declaration, name: str) -> bool:
    return source.arg_effect([p.name for p in source.operand_params].index(name)) is not ArgEffect.Read


_builtin(
    "allreduce",
    "mesh",
    [_SOURCE, _SIGNAL, _OP, _DTYPE, _CORES],
    _anything,
    "One rank's part of an allreduce in which every rank reads all others.",
)
_builtin(
    "allreduce",
    "ring",
    [_SOURCE, _SIGNAL, _OP, _DTYPE],
    _anything,
    "One rank's part of an allreduce in which partial sums go round.",
)
_builtin("barrier", "mesh", [_SIGNAL], _anything, "One rank's part of a barrier.")
_builtin("broadcast", "mesh", [_TARGET, _SIGNAL, _ROOT, _DTYPE], _anything, "One rank's part of a broadcast.")
_builtin("reduce_scatter", "mesh", [_TARGET, _SIGNAL, _OP, _DTYPE], _rows, "One rank's part of a reduce_scatter.")
_builtin("allgather", "mesh", [_INPUT, _TARGET, _SIGNAL, _DTYPE], _gathered, "One rank's part of an allgather.")
_builtin("all_to_all", "mesh", [_INPUT, _TARGET, _SIGNAL, _DTYPE], _exchanged, "One rank's part of an all_to_all.")
_builtin(
    "all_to_all_v",
    "mesh",
    [_INPUT, _TARGET, _SIGNAL, _SENT, _RECEIVED, _DTYPE],
    _blocks,
    "One rank's part of an all_to_all_v.",
)


# -- dispatches ------------------------------------------------------------------------------------------------------------------

_DIRECTIONS: Mapping[ArgEffect, ArgDirection] = {
    ArgEffect.Read: ArgDirection.Input,
    ArgEffect.Write: ArgDirection.InOut,
    ArgEffect.ReadWrite: ArgDirection.InOut,
}

DISPATCH_ATTRS = ("device", "arg_directions")
"""The attributes that a dispatch must have."""


def arg_directions(builtin: Declaration) -> list[ArgDirection]:
    """What a dispatch does to its arguments."""
    return [_DIRECTIONS[builtin.arg_effect(at) or ArgEffect.Read] for at in range(len(builtin.operand_params))]


def dispatch_fault(call: Call) -> str | None:
    """What keeps a call from being a dispatch that can be written as one: an attribute that lacks or contradicts; None when all is well."""
    attrs = call.attrs
    device, directions = attrs.get("device"), attrs.get("arg_directions")
    if device is None:
        return "it needs attrs with the 'device' that it is for"
    if not isinstance(device, Expr) or not isinstance(device.type, ScalarType) or not device.type.dtype.is_int():
        return "its 'device' must be an integer"
    if not isinstance(directions, list):
        return "it needs attrs with the 'arg_directions' of its arguments"
    if len(directions) != len(call.args):
        return f"it has {len(call.args)} arguments, and 'arg_directions' says {len(directions)}"
    if not all(isinstance(d, ArgDirection) for d in directions):
        return "'arg_directions' must be a list of pl.adir members"
    for key, value in call.kwargs.items():
        if key in attrs and not _same(attrs[key], value):
            return f"its attrs and its keywords give {key!r} different values"
    return None


def _same(one: AttrValue, other: AttrValue) -> bool:
    return type(one) is type(other) and bool(one == other)


__all__ = ["DISPATCH_ATTRS", "HOST_FORMS", "arg_directions", "dispatch_fault"]
