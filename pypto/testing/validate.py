"""One call that does everything: read, print, read again, verify, lower, and run before and after every pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from pypto.ir.function import Function, Program
from pypto.parser import parse
from pypto.passes import PassContext, PassManager, get_structural_properties, parse_pipeline, run_verifier
from pypto.testing.instruments import MeaningInstrument, RoundtripInstrument
from pypto.testing.meaning import IN_TURN, ONE_RANK, Inputs
from pypto.testing.roundtrip import assert_roundtrip


@dataclass
class Validation:
    """What :func:`validate` did: the program as read, the lowered one, and how many stages were checked."""

    program: Program
    lowered: Program
    passes: list[str] = field(default_factory=list[str])
    roundtrips: int = 0
    meanings: int = 0


def validate(
    source: str | Program | Function,
    inputs: Inputs = None,
    *,
    pipeline: str | None = None,
    run: bool = True,
    ranks: Sequence[int] = ONE_RANK,
    schedules: Sequence[str] = IN_TURN,
) -> Validation:
    """Check a program from its text to its lowered form.

    Args:
        source: program text, or a program or function.
        inputs: arrays for the runs; drawn when None.
        pipeline: passes as text; the default strategy when None.
        run: False leaves out the runs.
        ranks: the numbers of ranks to run on.
        schedules: how ranks take turns in the runs.

    Raises:
        pypto.Error: whatever does not hold, with the pass that broke it.
    """
    found = parse(source) if isinstance(source, str) else source
    assert_roundtrip(found)
    program = found if isinstance(found, Program) else Program([found], found.name)
    run_verifier(get_structural_properties())(program)
    roundtrip, meaning = RoundtripInstrument(), MeaningInstrument(inputs, ranks=ranks, schedules=schedules)
    passes = PassManager.get_strategy().passes if pipeline is None else parse_pipeline(pipeline)
    lowered = program
    with PassContext([roundtrip, *([meaning] if run else [])]):
        for step in passes:
            lowered = step(lowered)
    names = [step.get_name() for step in passes]
    return Validation(program, lowered, names, roundtrip.checked, meaning.checked)
