"""Arguments of a function that runs on every rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.enums import ParamDirection
from pypto.ir.expr import Var
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType, ScalarType, ShapedType
from pypto.runtime.arguments import Bound, bind_arguments
from pypto.runtime.errors import ArgumentError
from pypto.runtime.values import is_array
from pypto.runtime.world import Context, World


def bind_ranks(function: Function, arguments: Sequence[Any], world: World, signals: frozenset[int]) -> list[Bound]:
    """The values of a function's parameters on every rank; windows are made in the world.

    Raises:
        ArgumentError: the arguments do not fit, on some rank.
    """
    ranks = world.ranks
    params = function.params
    split = [
        _split(function, params[at], value, ranks) if at < len(params) else (value, False) for at, value in enumerate(arguments)
    ]
    bounds: list[Bound] = []
    for rank in range(ranks):
        mine: list[Any] = []
        for at, (value, listed) in enumerate(split):
            own = value[rank] if listed else value
            if at < len(params) and not listed and _is_written(function, at) and is_array(own) and ranks > 1:
                own = own.copy()
            mine.append(own)
        try:
            bounds.append(bind_arguments(function, mine))
        except ArgumentError as error:
            if ranks > 1:
                error.message = f"rank {rank}: {error.message}"
            raise
    _make_windows(function, bounds, split, world, signals)
    return bounds


def _is_written(function: Function, at: int) -> bool:
    type_ = function.params[at].type
    written = function.param_directions[at] is not ParamDirection.In
    return written and isinstance(type_, ShapedType) and not isinstance(type_, DistributedTensorType)


def _split(function: Function, param: Var, value: Any, ranks: int) -> tuple[Any, bool]:
    """An argument, and whether it is a list of one for each rank."""
    if not isinstance(value, list | tuple):
        return value, False
    items: list[Any] = [*value]  # pyright: ignore[reportUnknownVariableType]
    type_ = param.type
    dims = len(type_.shape) if isinstance(type_, ShapedType) else 0
    fits = isinstance(type_, ScalarType | ShapedType) and all(v is None or _dimensions(v) == dims for v in items)
    if fits and len(items) == ranks:
        return items, True
    if fits and (dims == 0 or any(is_array(v) for v in items)):
        raise ArgumentError(
            f"{function.name}: the argument for {param.name_hint!r} must be one value, or a list of {ranks} for the ranks; "
            f"got a list of {len(items)}",
            param.span,
        )
    return value, False  # pyright: ignore[reportUnknownVariableType]


def _dimensions(value: Any) -> int:
    if is_array(value):
        return value.ndim
    try:
        return np.ndim(value)
    except ValueError:
        return -1


def _make_windows(
    function: Function, bounds: Sequence[Bound], split: Sequence[tuple[Any, bool]], world: World, signals: frozenset[int]
) -> None:
    ranks = world.ranks
    for number, window in enumerate(bounds[0].windows):
        of_ranks = [b.windows[number] for b in bounds]
        for rank, other in enumerate(of_ranks):
            if other.shape != window.shape:
                raise ArgumentError(
                    f"{function.name}: the windows for {window.param.name_hint!r} must have one shape on all ranks, got "
                    f"{list(window.shape)} on rank 0 and {list(other.shape)} on rank {rank}",
                    window.param.span,
                )
        size = int(np.prod(window.shape, dtype=np.int64)) * window.dtype.itemsize
        buffer = world.buffer(window.param.name_hint, size, range(ranks))
        buffer.is_signal = window.at in signals
        written = function.param_directions[window.at] is not ParamDirection.In
        listed = window.at < len(split) and split[window.at][1]
        arrays: list[Any] = [*split[window.at][0]] if listed else []
        apart = listed and len({id(a) for a in arrays}) == len(arrays)
        for rank, (bound, mine) in enumerate(zip(bounds, of_ranks, strict=True)):
            value = buffer.window(rank, window.shape, window.dtype)
            if mine.initial is not None:
                buffer.given = True
                value.data[...] = mine.initial
            bound.values[window.at] = value
            if written and apart and is_array(arrays[rank]):
                bound.written_back.append((arrays[rank], value.data))
                bound.given[id(buffer)] = arrays[rank]
    for rank, bound in enumerate(bounds):
        for at in bound.contexts:
            bound.values[at] = Context(rank, ranks)
