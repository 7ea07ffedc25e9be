"""Instruments that print, read and run: the round trip and the meaning of every stage of a pipeline."""

from __future__ import annotations

from pypto.diagnostics import Error, VerificationError
from pypto.ir.function import Program
from pypto.passes.base import Pass
from pypto.passes.instruments import PassInstrument
from pypto.testing.meaning import Inputs, assert_same_meaning
from pypto.testing.roundtrip import assert_roundtrip


class PassBrokeError(VerificationError, RuntimeError):
    """A pass whose result does not hold what every program must; ``pass_name`` names it."""

    code = "broken-by-pass"

    def __init__(self, message: str, pass_name: str) -> None:
        super().__init__(message)
        self.pass_name = pass_name


class RoundtripInstrument(PassInstrument):
    """After every pass: print the program, read it back, compare. ``checked`` counts the programs it has seen."""

    def __init__(self) -> None:
        super().__init__("RoundtripInstrument")
        self.checked = 0

    def after_pass(self, pass_: Pass, program: Program) -> None:
        """Check the result of a pass.

        Raises:
            PassBrokeError: it does not survive the way through text.
        """
        try:
            assert_roundtrip(program, formats=(False,))
        except Error as error:
            raise PassBrokeError(f"after pass {pass_.get_name()}: {error.message}", pass_.get_name()) from error
        self.checked += 1


class MeaningInstrument(PassInstrument):
    """Around every pass: run the program before and after on the same inputs and compare. ``checked`` counts the comparisons.

    A pass that changes nothing (the same object) is not run again.
    """

    def __init__(self, inputs: Inputs = None, *, seed: int = 0) -> None:
        super().__init__("MeaningInstrument")
        self.inputs = inputs
        self.seed = seed
        self.checked = 0
        self._before: dict[int, Program] = {}

    def before_pass(self, pass_: Pass, program: Program) -> None:
        """Remember what goes in."""
        self._before[id(pass_)] = program

    def after_pass(self, pass_: Pass, program: Program) -> None:
        """Compare with what went in.

        Raises:
            PassBrokeError: the numbers differ, or the program no longer runs.
        """
        before = self._before.pop(id(pass_))
        if before is program:
            return
        try:
            assert_same_meaning(before, program, self.inputs, seed=self.seed)
        except Error as error:
            raise PassBrokeError(f"after pass {pass_.get_name()}: {error.message}", pass_.get_name()) from error
        self.checked += 1


def make_roundtrip_instrument() -> RoundtripInstrument:
    """The round-trip instrument."""
    return RoundtripInstrument()


def make_meaning_instrument(inputs: Inputs = None, *, seed: int = 0) -> MeaningInstrument:
    """The meaning instrument; see :class:`MeaningInstrument`."""
    return MeaningInstrument(inputs, seed=seed)
