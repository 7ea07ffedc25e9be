"""Instruments that print, read and run: the round trip and the meaning of every stage of a pipeline."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import Error, VerificationError
from pypto.ir.function import Program
from pypto.passes.base import Pass
from pypto.passes.instruments import PassInstrument
from pypto.testing.meaning import IN_TURN, ONE_RANK, Inputs, Observed, check_meaning, make_inputs, observe
from pypto.testing.roundtrip import assert_roundtrip


class PassBrokeError(VerificationError, RuntimeError):
    """A pass whose result does not hold what every program must; ``pass_name`` names it."""

    code = "broken-by-pass"

    def __init__(self, message: str, pass_name: str) -> None:
        super().__init__(message)
        self.pass_name = pass_name


class RoundtripInstrument(PassInstrument):
    """After every pass: print the program, read it back, compare. ``checked`` counts the programs it has seen.

    ``strict`` reads by the grammar of the printed language.
    """

    def __init__(self, *, strict: bool = False) -> None:
        super().__init__("RoundtripInstrument")
        self.strict = strict
        self.checked = 0

    def after_pass(self, pass_: Pass, program: Program) -> None:
        """Check the result of a pass.

        Raises:
            PassBrokeError: it does not survive the way through text.
        """
        try:
            assert_roundtrip(program, formats=(False,), strict=self.strict)
        except Error as error:
            raise PassBrokeError(f"after pass {pass_.get_name()}: {error.message}", pass_.get_name()) from error
        self.checked += 1


class MeaningInstrument(PassInstrument):
    """Around every pass: run the program before and after on the same inputs and compare. ``checked`` counts the passes compared.

    Runs are compared on each of the ``ranks``, those after a pass under each of the ``schedules``; ``check`` also looks for races. A pass
    that changes nothing (the same object) is not run again.
    """

    def __init__(
        self,
        inputs: Inputs = None,
        *,
        seed: int = 0,
        ranks: Sequence[int] = ONE_RANK,
        schedules: Sequence[str] = IN_TURN,
        check: bool = False,
    ) -> None:
        super().__init__("MeaningInstrument")
        self.inputs = inputs
        self.seed = seed
        self.ranks = tuple(ranks)
        self.schedules = tuple(schedules)
        self.check = check
        self.checked = 0
        self._before: dict[int, Program] = {}
        self._seen: tuple[Program, dict[int, Observed]] | None = None

    def before_pass(self, pass_: Pass, program: Program) -> None:
        """Remember what goes in."""
        self._before[id(pass_)] = program

    def _shown(self, program: Program) -> dict[int, Observed]:
        """What a program shows on each number of ranks; that of the last one is known already."""
        if self._seen is None or self._seen[0] is not program:
            shown: dict[int, Observed] = {}
            for count in self.ranks:
                given = make_inputs(self.inputs, program, seed=self.seed, ranks=count)
                shown[count] = observe(program, given, ranks=count, check=self.check)
            self._seen = program, shown
        return self._seen[1]

    def after_pass(self, pass_: Pass, program: Program) -> None:
        """Compare with what went in.

        Raises:
            PassBrokeError: the numbers differ, or the program no longer runs.
        """
        before = self._before.pop(id(pass_))
        if before is program:
            return
        try:
            expected = self._shown(before)
            found = {
                n: check_meaning(expected[n], program, ranks=n, schedules=self.schedules, check=self.check) for n in self.ranks
            }
            self._seen = program, found
        except Error as error:
            raise PassBrokeError(f"after pass {pass_.get_name()}: {error.message}", pass_.get_name()) from error
        self.checked += 1


def make_roundtrip_instrument() -> RoundtripInstrument:
    """The round-trip instrument."""
    return RoundtripInstrument()


def make_meaning_instrument(
    inputs: Inputs = None, *, seed: int = 0, ranks: Sequence[int] = ONE_RANK, schedules: Sequence[str] = IN_TURN
) -> MeaningInstrument:
    """The meaning instrument; see :class:`MeaningInstrument`."""
    return MeaningInstrument(inputs, seed=seed, ranks=ranks, schedules=schedules)
