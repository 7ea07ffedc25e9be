"""Protocols that hold under every schedule, as far as exploration can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

from pypto.diagnostics import VerificationError
from pypto.ir.expr import Call
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ops.declare import Declaration
from pypto.passes import PassManager
from pypto.passes.lower_composite_ops import LowerCompositeOps
from pypto.runtime import entry_function
from pypto.runtime.checking import Verdict, explore
from pypto.runtime.legal_ranks import legal_ranks
from pypto.testing.meaning import Inputs, make_inputs

Signals: TypeAlias = Literal["single_shot", "credit"]


class ProtocolError(VerificationError, AssertionError):
    """A protocol with a fault. ``verdict`` has the fault, a schedule that shows it and its timeline."""

    code = "protocol"

    def __init__(self, verdict: Verdict) -> None:
        fault = verdict.fault
        assert fault is not None
        timeline = "" if fault.timeline is None else f"\n{fault.timeline.text(120)}"
        super().__init__(f"on {verdict.ranks} ranks: {fault.error.message}{timeline}", fault.error.place)
        self.verdict = verdict
        self.__cause__ = fault.error


DEFAULT_RANKS = (2, 3, 4)


def with_protocols(program: Program | Function, signals: Signals = "single_shot") -> Program | Function:
    """The program with its collectives lowered to posts and waits; the program itself when it has none."""
    functions = list(program.functions.values()) if isinstance(program, Program) else [program]
    calls = (n for f in functions for n in walk(f.body) if isinstance(n, Call))
    if not any(isinstance(c.op, Declaration) and c.op.collective for c in calls):
        return program
    lowered = program if isinstance(program, Program) else Program([program], program.name, program.span)
    for step in PassManager.get_strategy().passes:
        lowered = (LowerCompositeOps(signals=signals) if isinstance(step, LowerCompositeOps) else step)(lowered)
    return lowered


def assert_race_free(
    program: Program | Function,
    ranks: Sequence[int] = DEFAULT_RANKS,
    inputs: Inputs = None,
    *,
    signals: Signals = "single_shot",
    seed: int = 0,
    limit: int = 2000,
    seconds: float | None = None,
    method: str = "auto",
) -> list[Verdict]:
    """Explore a program on several numbers of ranks: no race, no deadlock, the same numbers under every schedule.

    Collectives are lowered first, so that it is their protocol that is explored.

    Args:
        program: the program or kernel.
        ranks: the numbers of ranks; those that its shapes do not allow are left out.
        inputs: arrays in parameter order, a function that makes them (of the number of ranks), or None to draw them.
        signals: the signal protocol of collectives.
        seed: for drawn inputs and schedules.
        limit: how many schedules to try at most on each number of ranks.
        seconds: how long to try at most on each.
        method: see :func:`pypto.runtime.checking.explore`.

    Returns:
        The verdicts, one for each number of ranks.

    Raises:
        ProtocolError: there is a fault; it shows a shortest schedule as a table.
        ValueError: the program cannot run on any of these numbers of ranks.
    """
    legal = legal_ranks(program, entry_function(program))
    counts = [n for n in ranks if legal.allows(n)]
    if not counts:
        raise ValueError(f"{program.name!r} takes {legal} ranks, none of {', '.join(map(str, ranks))}")
    lowered = with_protocols(program, signals)
    verdicts: list[Verdict] = []
    for count in counts:
        arrays = make_inputs(inputs, program, seed=seed, ranks=count)
        verdict = explore(lowered, *arrays, ranks=count, limit=limit, seconds=seconds, method=method, seed=seed)
        if verdict.fault is not None:
            raise ProtocolError(verdict)
        verdicts.append(verdict)
    return verdicts
