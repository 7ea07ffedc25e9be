"""``pypto check``: one program through all passes, with the round trip, the verifiers and the meaning after each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from pypto.cli.output import show_error
from pypto.diagnostics import Error
from pypto.ir.function import Program
from pypto.passes import PassContext, VerificationInstrument
from pypto.runtime import RunError, entry_function
from pypto.runtime.legal_ranks import is_distributed, legal_ranks
from pypto.testing import MeaningInstrument, RoundtripInstrument, assert_roundtrip
from pypto.testing.meaning import Inputs, make_inputs, observe


@dataclass(frozen=True)
class Runs:
    """How programs are run: the seed of drawn inputs, whether at all, on which numbers of ranks and under which schedules.

    ``strict`` reads their text by the grammar of the printed language.
    """

    seed: int = 0
    execute: bool = True
    ranks: Sequence[int] = (1,)
    schedules: Sequence[str] = ("round_robin",)
    strict: bool = False


def check_program(label: str, program: Program, passes: Sequence[Any], inputs: Inputs, runs: Runs) -> bool:
    """Check a program and print what was held or broken; True when all holds."""
    step_name = "the program as written"
    roundtrip = RoundtripInstrument(strict=runs.strict)
    meaning: MeaningInstrument | None = None
    ran = "not run: --no-run"
    try:
        assert_roundtrip(program, strict=runs.strict)
        if runs.execute:
            meaning, ran = _meaning(program, inputs, runs)
        instruments = [VerificationInstrument(), roundtrip, *([] if meaning is None else [meaning])]
        with PassContext(instruments):
            for step in passes:
                step_name = step.get_name()
                program = step(program)
    except Error as error:
        click.echo(f"broken  {label}: {step_name}")
        sys.stdout.flush()
        show_error(error)
        return False
    held = ran if meaning is None else f"meaning held {_times(meaning.checked)}{ran}"
    click.echo(f"ok      {label}: {len(passes)} passes, text held {_times(roundtrip.checked + 1)}, {held}")
    return True


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _meaning(program: Program, inputs: Inputs, runs: Runs) -> tuple[MeaningInstrument | None, str]:
    """What compares the runs, with a remark on them: on which ranks, or why there are none. A run that fails is an error of the program."""
    try:
        entry = entry_function(program)
        legal = legal_ranks(program, entry)
        ranks = [n for n in runs.ranks if legal.allows(n)]
        if not ranks:
            return None, f"not run: it takes {legal} ranks"
        given = make_inputs(inputs, program, seed=runs.seed, ranks=ranks[0])
    except RunError as error:
        return None, f"not run: {error.message}"
    observe(program, given, ranks=ranks[0], check=True)
    instrument = MeaningInstrument(inputs, seed=runs.seed, ranks=ranks, schedules=runs.schedules, check=True)
    if not is_distributed(program):
        return instrument, ""
    left_out = [n for n in runs.ranks if n not in ranks]
    without = f" ({_listed(left_out)} left out: it takes {legal})" if left_out else ""
    return instrument, f" on {_listed(ranks)} rank{'s' * (ranks != [1])}{without} under {len(runs.schedules)} schedules"


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))
