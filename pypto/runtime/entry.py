"""Where a run begins: the entry function, and its results on one rank, on every rank, or from host code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InternalError, did_you_mean
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.types import ScalarType, TupleType, Type
from pypto.ops.numeric import numpy_dtype
from pypto.runtime.analysis import last_return
from pypto.runtime.arguments import Bound, bind_arguments
from pypto.runtime.compile import Linked, link, linked
from pypto.runtime.dims import free_symbols
from pypto.runtime.engine import Engine, Task, one_step_of, steps_of
from pypto.runtime.errors import ArgumentError, ArgumentTypeError, PoisonError, RunError
from pypto.runtime.evaluate import evaluate
from pypto.runtime.failure import run_error
from pypto.runtime.host import HostDoor, drive
from pypto.runtime.operators import partial_valid
from pypto.runtime.ranks import bind_ranks
from pypto.runtime.values import PoisonScalar, Tracked, first_poison, is_array, valid_part
from pypto.runtime.world import ON_HOST, Place, home_of


def entry_function(program: Program | Function, entry: str | None = None) -> Function:
    """The function that a run begins with: ``entry``, else the host orchestrator, else the one that no other calls.

    Raises:
        ArgumentError: there is none, or more than one.
    """
    if isinstance(program, Function):
        if entry is not None and entry != program.name:
            raise ArgumentError(f"the function is called {program.name!r}, not {entry!r}", program.span)
        return program
    functions = list(program.functions.values())
    names = [f.name for f in functions]
    if entry is not None:
        found = program.get_function(entry)
        if found is None:
            close = did_you_mean(entry, names)
            hint = f"did you mean {close!r}?" if close else f"it has {', '.join(names) or 'none'}"
            raise ArgumentError(f"the program has no function {entry!r}", program.span, hint)
        return found
    hosts = [f for f in functions if f.is_host_orchestrator]
    candidates = hosts
    if len(hosts) != 1:
        called = {n.op.name for f in functions for n in walk(f.body) if isinstance(n, Call | Submit) and n.op.is_function}
        candidates = [f for f in (hosts or functions) if f.name not in called]
    if len(candidates) == 1:
        return candidates[0]
    listed = ", ".join([f.name for f in candidates] or names) or "none"
    why = "several functions that no other calls" if candidates else "no function that no other calls"
    raise ArgumentError(f"the program has {why}: {listed}", program.span, "say which one with entry=")


def run_ranks(linked: Linked, function: Function, arguments: Sequence[Any], engine: Engine) -> Any:
    """Run a function on every rank of an engine; each result is a list over the ranks."""
    world = engine.world
    bounds = bind_ranks(function, arguments, world, linked.facts.of(function).signals)
    call = linked.function(function)
    begin = steps_of if linked.facts.of(function).distributed else one_step_of
    tasks = [Task(function.name, begin(call, bound.values)) for bound in bounds]
    for rank, task in zip(engine.ranks, tasks, strict=True):
        rank.add(task)
    engine.run()
    results: list[Any] = []
    for device, (bound, task) in enumerate(zip(bounds, tasks, strict=True)):
        bound.write_back()
        try:
            results.append(_results(function, task.value, bound))
        except PoisonError as error:
            error.rank = device
            error.message = f"rank {device}: {error.message}"
            raise
    if all(r is None for r in results):
        return None
    if type(results[0]) is tuple:
        count = len(results[0])  # pyright: ignore[reportUnknownArgumentType]
        return tuple([[r[at] for r in results] for at in range(count)])
    return results


def run_host(linked: Linked, function: Function, arguments: Sequence[Any], engine: Engine) -> Any:
    """Run host code, and on the ranks what it dispatches."""
    bound = bind_arguments(function, arguments)
    if bound.windows:
        param = bound.windows[0].param
        raise ArgumentTypeError(
            f"{function.name}: a host orchestrator allocates its windows; {param.name_hint!r} cannot be given to a run",
            param.span,
        )
    call = linked.function(function)
    try:
        with np.errstate(all="ignore"):
            value = drive(call(HostDoor(engine.world, engine), *bound.values), engine)
    except Exception as error:  # noqa: BLE001 - every exception under generated code is told as one of its statement
        failure = run_error(error)
        raise failure from (failure.__cause__ or _unwrapped(error))
    bound.write_back()
    return _results(function, value, bound)


def execute(linked: Linked, function: Function, bound: Bound) -> Any:
    """Run a linked function on bound arguments and give its checked results."""
    call = linked.function(function)
    try:
        with np.errstate(all="ignore"):
            value = call(*bound.values)
    except Exception as error:  # noqa: BLE001 - every exception under generated code is told as one of its statement
        failure = run_error(error)
        raise failure from (failure.__cause__ or _unwrapped(error))
    bound.write_back()
    return _results(function, value, bound)


def _unwrapped(error: Exception) -> BaseException | None:
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return error if not isinstance(error, RunError | InternalError) else None


def _results(function: Function, value: Any, bound: Bound) -> Any:
    statement = last_return(function.body)
    names = [v.name_hint if isinstance(v, Var) else None for v in statement.value] if statement is not None else []
    several = type(value) is tuple and len(names) != 1
    values = _listed(value, several)
    types: list[Any] = [v.type for v in statement.value] if statement is not None else []
    for param, _, tracked in bound.outputs:
        _check_poison(function, tracked, param.type, param.name_hint, statement, bound, "the output")
    made = [
        _result(function, v, types[i] if i < len(types) else None, names[i] if i < len(names) else None, statement, bound)
        for i, v in enumerate(values)
    ]
    return tuple(made) if several else made[0]


def _listed(value: Any, several: bool) -> list[Any]:
    return [*value] if several else [value]


def _result(function: Function, value: Any, type_: Type | None, name: str | None, statement: Any, bound: Bound) -> Any:
    if value is None:
        return None
    place = home_of(value)
    if place is not None:
        return _window_result(function, value, place, type_, name, statement, bound)
    if type(value) is tuple:
        inner: Sequence[Any] = type_.types if isinstance(type_, TupleType) else [None] * len(value)  # pyright: ignore[reportUnknownArgumentType]
        return tuple([_result(function, v, t, name, statement, bound) for v, t in zip(value, inner, strict=False)])  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    _check_poison(function, value, type_, name, statement, bound, "the result")
    if isinstance(value, Tracked):
        value = value.data
    if is_array(value):
        for _, array, tracked in bound.outputs:
            if value is tracked.data:
                return array
        shared = any(is_array(a) and np.may_share_memory(a, value) for a in bound.inputs)
        own = any(np.may_share_memory(a, value) for _, a, _ in bound.outputs)
        return value.copy() if shared and not own else value
    if isinstance(type_, ScalarType) and type_.dtype is not DataType.TASK_ID:
        return numpy_dtype(type_.dtype).type(value)
    return value


def _window_result(
    function: Function, value: Any, place: Place, type_: Type | None, name: str | None, statement: Any, bound: Bound
) -> Any:
    """What a window holds at the end: the rank's own part, or for host code a list over the ranks."""
    if place.device != ON_HOST:
        _check_poison(function, value, type_, name, statement, bound, "the result")
        given = bound.given.get(id(place.buffer))
        return given if given is not None and given.shape == value.data.shape else value.data.copy()
    parts: list[Any] = []
    for device in place.buffer.devices or ():
        part = place.on(device)
        _check_poison(function, part, type_, name, statement, bound, f"rank {device}'s result")
        parts.append(part.data.copy())
    return parts


def _check_poison(
    function: Function, value: Any, type_: Type | None, name: str | None, statement: Any, bound: Bound, what: str
) -> None:
    if type(value) is PoisonScalar:
        mask: Any = np.True_
    elif type(value) is Tracked:
        mask = value.mask
    else:
        return
    if mask is None or not np.any(mask):
        return
    valid = partial_valid(type_) if type_ is not None else None
    if valid is not None:
        if not all(s in bound.symbols for d in valid for s in free_symbols(d)):
            return
        mask = valid_part(mask, tuple([evaluate(d, bound.symbols) for d in valid]))
        if not mask.any():
            return
    element = first_poison(mask)
    count = int(np.count_nonzero(mask))
    shown = f"{what} {name!r}" if name else what
    where = f": element {list(element)} is the first of {count}" if element else ""
    raise PoisonError(
        f"{shown} of {function.name!r} holds elements that were never written{where}",
        span=statement.span if statement is not None and statement.span.is_valid() else function.span,
        hint="write every element before it is returned, or narrow the valid region",
        variable=name,
        element=element,
        statement=statement,
    )


def linked_program(program: Program | Function, function: Function) -> Linked:
    """The linked form of what a run was given, with ``function`` as its entry.

    Raises:
        ArgumentError: a function given alone calls others.
    """
    return link(program) if isinstance(program, Program) else _alone(function)


def _alone(function: Function) -> Linked:
    known = linked(function)
    if known is not None:
        return known
    if any(isinstance(n, Call | Submit) and n.op.is_function for n in walk(function.body)):
        raise ArgumentError(
            f"{function.name!r} calls other functions of its program",
            function.span,
            "run the program, with entry= if it is not the entry function",
        )
    return link(function)
