"""``pypto check``: one program through all passes, with the round trip, the verifiers and the meaning after each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import click

from pypto.cli.output import show_error
from pypto.diagnostics import Error
from pypto.ir.function import Program
from pypto.passes import PassContext, VerificationInstrument
from pypto.runtime import RunError, run
from pypto.runtime.inputs import draw_inputs
from pypto.testing import MeaningInstrument, RoundtripInstrument, assert_roundtrip
from pypto.testing.meaning import Inputs


def check_program(
    label: str, program: Program, passes: Sequence[Any], inputs: Inputs, *, seed: int = 0, execute: bool = True
) -> bool:
    """Check a program and print what was held or broken; True when all holds."""
    step_name = "the program as written"
    roundtrip, meaning = RoundtripInstrument(), MeaningInstrument(inputs, seed=seed)
    try:
        assert_roundtrip(program)
        reason = _why_not_run(program, inputs, seed) if execute else "--no-run"
        instruments = [VerificationInstrument(), roundtrip, *([meaning] if reason is None else [])]
        with PassContext(instruments):
            for step in passes:
                step_name = step.get_name()
                program = step(program)
    except Error as error:
        click.echo(f"broken  {label}: {step_name}")
        sys.stdout.flush()
        show_error(error)
        return False
    ran = f"meaning held {_times(meaning.checked)}" if reason is None else f"not run: {reason}"
    click.echo(f"ok      {label}: {len(passes)} passes, text held {_times(roundtrip.checked + 1)}, {ran}")
    return True


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _why_not_run(program: Program, inputs: Inputs, seed: int) -> str | None:
    """None when the program runs as written; else why it cannot be run at all. A run that fails is an error of the program."""
    try:
        arrays = inputs() if callable(inputs) else draw_inputs(program, seed=seed) if inputs is None else inputs
    except RunError as error:
        return error.message
    run(program, *arrays)
    return None
