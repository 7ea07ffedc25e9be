"""Running a program on arrays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pypto.diagnostics import Error, InternalError, did_you_mean, for_users
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.types import ScalarType, TupleType, Type
from pypto.ops.numeric import numpy_dtype
from pypto.runtime.analysis import last_return
from pypto.runtime.arguments import Bound, bind_arguments
from pypto.runtime.checking import RaceDetector
from pypto.runtime.compile import Linked, link, linked
from pypto.runtime.dims import free_symbols
from pypto.runtime.engine import Engine, Task, one_step_of, steps_of
from pypto.runtime.errors import ArgumentError, ArgumentTypeError, PoisonError, RunError
from pypto.runtime.evaluate import evaluate
from pypto.runtime.failure import run_error
from pypto.runtime.host import HostDoor, drive
from pypto.runtime.operators import partial_valid
from pypto.runtime.ranks import bind_ranks
from pypto.runtime.schedules import Schedule, schedule_of
from pypto.runtime.signals import Finding, SignalReuseWarning
from pypto.runtime.values import PoisonScalar, Tracked, first_poison, is_array, valid_part
from pypto.runtime.world import ON_HOST, Observer, Place, World, home_of


@dataclass(frozen=True)
class Report:
    """What a run leaves behind besides its results.

    ``windows`` and ``signals`` hold for each window buffer a list over the ranks of its domain; ``statistics`` are counts; ``schedule`` is
    the order in which the ranks took their turns (:func:`pypto.runtime.write_schedule` saves it for ``replay:FILE``); ``findings`` are
    waits that waited for nothing.
    """

    windows: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    signals: Mapping[str, Sequence[Any]] = field(default_factory=dict[str, Sequence[Any]])
    statistics: Mapping[str, int] = field(default_factory=dict[str, int])
    schedule: Sequence[int] = ()
    findings: Sequence[Finding] = ()


MOST_RANKS = 64
"""The largest number of ranks of a run."""


def run(
    program: Program | Function,
    *arrays: Any,
    ranks: int = 1,
    entry: str | None = None,
    schedule: str | None = None,
    report: bool = False,
    observers: Sequence[Observer] = (),
    check: bool = False,
) -> Any:
    """Run a program, or one function, on NumPy arrays.

    Arrays are given in parameter order, also those for ``Out`` and ``InOut`` parameters, which are written in place; trailing ``Out``
    arrays may be left out. Scalar parameters take numbers. An array given for an ``In`` parameter is never changed.

    A host orchestrator runs once, and what it dispatches runs on the ranks. Any other function runs on every rank: an argument is one
    value, of which every rank gets its own copy, or a list of one for each rank; a distributed tensor is a list of what the ranks'
    windows hold at first, one array for all, or None (or left out) for zeros. Arrays of ``Out`` and ``InOut`` parameters are written in
    place when there is one for each rank.

    Args:
        program: what to run.
        arrays: one argument for each parameter of the entry function.
        ranks: the number of ranks, 1 to 64.
        entry: name of the entry function; by default the host orchestrator, else the function that no other calls.
        schedule: how ranks take turns: ``round_robin``, ``greedy``, ``random:SEED`` or ``replay:FILE``.
        report: also give a :class:`Report`, as ``(results, report)``.
        observers: are told of every access to windows.
        check: also look for races between ranks, in this schedule and, where the protocol allows, in all others.

    Returns:
        The result of the entry function: one array (or number), a tuple of them, or None. A returned ``Out`` array is the very object
        that was given. On several ranks, and for a function that reaches other ranks, each result is a list over the ranks; so is a window
        that a host orchestrator returns.

    Raises:
        ArgumentError: the arguments do not fit the parameters, or there is no one entry function.
        RunError: a statement failed; it names the statement.
        DeadlockError: no rank can go on, and not all have finished.
        RaceError: with ``check``, two ranks touch one element, at least one of them to write, and nothing orders the two.
        PoisonError: elements that were never written reach a result, a branch, an index or a loop bound.

    Warns:
        SignalReuseWarning: a wait was satisfied by posts that an earlier wait on its cell had used up.
    """
    if not isinstance(program, Program | Function):
        raise ArgumentTypeError(f"run takes a program or a function, got {type(program).__name__}")
    turns = schedule_of(schedule)
    if isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1:
        raise ArgumentError(f"ranks must be a positive integer, got {ranks!r}")
    if ranks > MOST_RANKS:
        raise ArgumentError(f"a run has at most {MOST_RANKS} ranks, got {ranks}")
    try:
        function = entry_function(program, entry)
        code = link(program) if isinstance(program, Program) else _alone(function)
        facts = code.facts.of(function)
        if not facts.distributed and (ranks == 1 or function.is_host_orchestrator):
            results = execute(code, function, bind_arguments(function, arrays))
            world = None
        else:
            detector = RaceDetector(ranks) if check else None
            world = World(ranks, observers if detector is None else [*observers, detector])
            engine = Engine(world, turns)
            results = (run_host if facts.host else run_ranks)(code, function, arrays, engine)
            if detector is not None:
                detector.raise_if_any(turns.taken)
    except Error as error:
        raise for_users(error) from error.__cause__
    if world is not None:
        _warn(world.findings)
    if not report:
        return results
    return results, _report(code, world, turns, ranks)


def _warn(findings: Sequence[Finding]) -> None:
    seen: set[tuple[int, int]] = set()
    for finding in findings:
        key = (id(finding.statement), id(finding.earlier))
        if key not in seen:
            seen.add(key)
            warnings.warn(SignalReuseWarning(finding.text), stacklevel=3)


def _report(linked: Linked, world: World | None, turns: Schedule, ranks: int) -> Report:
    counts = {"ranks": ranks, "functions": len(linked.units)}
    if world is None:
        return Report(statistics=counts)
    counts["steps"] = len(turns.taken)
    for name, value in (("posts", "posts"), ("waits", "waits"), ("bytes_moved", "moved")):
        counts[name] = sum(getattr(door, value) for door in world.doors)
    return Report(world.contents(False), world.contents(True), counts, turns.taken, tuple(world.findings))


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
