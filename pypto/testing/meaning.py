"""Law of kept meaning: two programs give the same numbers on the same inputs, on any number of ranks and under any schedule."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypto.diagnostics import VerificationError
from pypto.ir.function import Function, Program
from pypto.runtime import run
from pypto.runtime.inputs import compare_results, draw_inputs
from pypto.runtime.legal_ranks import is_distributed


class MeaningError(VerificationError, AssertionError):
    """A program that gives other numbers than the one it was made from."""

    code = "meaning"


Inputs = Sequence[Any] | Callable[..., Sequence[Any] | None] | None
"""Arrays in parameter order, a function that makes them (of the number of ranks, when it takes a parameter), or None to draw them."""

ONE_RANK = (1,)
IN_TURN = ("round_robin",)


def make_inputs(inputs: Inputs, program: Program | Function, *, seed: int = 0, ranks: int = 1) -> list[Any]:
    """The arguments of one run."""
    made = inputs
    if callable(inputs):
        made = inputs(ranks) if inspect.signature(inputs).parameters else inputs()
    return list(draw_inputs(program, seed=seed, ranks=ranks) if made is None else made)  # type: ignore[arg-type]


def copies(arrays: Sequence[Any]) -> list[Any]:
    """The same arguments in arrays of their own."""
    return [copies(a) if isinstance(a, list) else a.copy() if isinstance(a, np.ndarray) else a for a in arrays]  # pyright: ignore[reportUnknownArgumentType]


@dataclass(frozen=True)
class Observed:
    """What one run of a program shows: its results, the arguments it was ``given`` as they are afterwards, and its windows of data."""

    results: Any
    given: Sequence[Any]
    arguments: Sequence[Any]
    windows: Any

    def difference(self, other: Observed) -> str | None:
        """Where two runs differ beyond the tolerance of their element types; None when they agree. Signals are not compared."""
        problem = compare_results(self.results, other.results)
        for at, (old, new) in enumerate(zip(self.arguments, other.arguments, strict=True)):
            if problem is None and isinstance(old, np.ndarray | list):
                found = compare_results(old, new)
                problem = None if found is None else f"argument {at}: {found}"
        for name, old in self.windows.items():
            if problem is None and name in other.windows:
                found = compare_results(old, other.windows[name])
                problem = None if found is None else f"window {name!r}: {found}"
        return problem


def observe(
    program: Program | Function, given: Sequence[Any], *, ranks: int = 1, schedule: str | None = None, check: bool = False
) -> Observed:
    """Run a program once on copies of arguments and keep what it shows; raises what :func:`pypto.runtime.run` raises.

    ``check`` looks for races as well.
    """
    arguments = copies(given)
    if ranks == 1 and not is_distributed(program):
        return Observed(run(program, *arguments), given, arguments, {})
    results, report = run(program, *arguments, ranks=ranks, schedule=schedule, report=True, check=check)
    return Observed(results, given, arguments, report.windows)


def assert_same_meaning(
    before: Program | Function,
    after: Program | Function,
    inputs: Inputs = None,
    *,
    seed: int = 0,
    ranks: Sequence[int] = ONE_RANK,
    schedules: Sequence[str] = IN_TURN,
    check: bool = False,
) -> None:
    """Run two programs on copies of the same inputs and compare results, written arrays and windows of data.

    Args:
        before: the one program.
        after: the other; their entries take the same parameters.
        inputs: arrays in parameter order, a function that makes them (of the number of ranks), or None to draw them (floats uniform in
            -2..2, integers 0..7).
        seed: for drawn inputs.
        ranks: the numbers of ranks to run on.
        schedules: how ranks take turns in the runs of ``after``; ``before`` runs round robin.
        check: also look for races between ranks in all runs.

    Raises:
        MeaningError: something differs beyond the tolerance of its element type (FP32 1e-5, FP16 and BF16 2e-2).
    """
    for count in ranks:
        expected = observe(before, make_inputs(inputs, before, seed=seed, ranks=count), ranks=count, check=check)
        check_meaning(expected, after, ranks=count, schedules=schedules, check=check)


def check_meaning(
    expected: Observed, after: Program | Function, *, ranks: int, schedules: Sequence[str], check: bool = False
) -> Observed:
    """Run a program on the same arguments under each schedule and compare with what is expected; gives what the first run shows.

    Raises:
        MeaningError: a run differs.
    """
    first: Observed | None = None
    for schedule in schedules if ranks > 1 else schedules[:1]:
        found = observe(after, expected.given, ranks=ranks, schedule=schedule if ranks > 1 else None, check=check)
        problem = expected.difference(found)
        if problem is not None:
            where = f" on {ranks} ranks under {schedule}" if ranks > 1 else ""
            raise MeaningError(f"{after.name!r} does not mean what it meant before{where}: {problem}")
        first = first or found
    assert first is not None
    return first
