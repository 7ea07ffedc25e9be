"""Running a program on arrays."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pypto.diagnostics import Error, for_users
from pypto.ir.function import Function, Program
from pypto.runtime.arguments import bind_arguments
from pypto.runtime.checking.races import RaceDetector
from pypto.runtime.compile import Linked
from pypto.runtime.engine import Engine
from pypto.runtime.entry import entry_function, execute, linked_program, run_host, run_ranks
from pypto.runtime.errors import ArgumentError, ArgumentTypeError
from pypto.runtime.schedules import Schedule, schedule_of
from pypto.runtime.signals import Finding, SignalReuseWarning
from pypto.runtime.world import Observer, World


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
        code = linked_program(program, function)
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
    counts["steps"] = len(turns.taken) - turns.late
    for name, value in (("posts", "posts"), ("waits", "waits"), ("bytes_moved", "moved")):
        counts[name] = sum(getattr(door, value) for door in world.doors)
    return Report(world.contents(False), world.contents(True), counts, turns.taken, tuple(world.findings))
