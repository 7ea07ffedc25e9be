"""Running passes one after another."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence

from pypto.diagnostics import Diagnostic, InvalidTypeError, render
from pypto.ir.function import Program
from pypto.ir.node import late
from pypto.passes.base import Pass
from pypto.passes.context import PassContext
from pypto.passes.diagnostic_checks import DiagnosticCheckRegistry
from pypto.passes.instruments import PassInstrument
from pypto.passes.properties import STRUCTURAL_PROPERTIES, VERIFIED_PROPERTIES, IRPropertySet
from pypto.passes.settings import (
    DiagnosticCheckSet,
    DiagnosticPhase,
    VerificationLevel,
    get_default_diagnostic_phase,
    get_default_verification_level,
)
from pypto.passes.verification import verify_properties

_log = logging.getLogger("pypto.passes")


class PassPipeline:
    """Passes in an order. ``str()`` gives the text that :func:`~pypto.passes.pipeline_text.parse_pipeline` reads back."""

    def __init__(self, passes: Iterable[Pass] = ()) -> None:
        self._passes: list[Pass] = []
        for item in passes:
            self.add_pass(item)

    def add_pass(self, pass_: Pass) -> None:
        """Append a pass.

        Raises:
            InvalidTypeError: it is not a :class:`Pass`.
        """
        if not isinstance(pass_, Pass):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTypeError(
                f"a pipeline takes Pass objects, got {pass_!r}", hint="call the factory: passes.convert_to_ssa()"
            )
        self._passes.append(pass_)

    def get_passes(self) -> list[Pass]:
        """The passes in order."""
        return [*self._passes]

    def get_pass_names(self) -> list[str]:
        """The CamelCase names in order."""
        return [item.get_name() for item in self._passes]

    def __len__(self) -> int:
        return len(self._passes)

    def __iter__(self) -> Iterator[Pass]:
        return iter(self.get_passes())

    def __str__(self) -> str:
        return ",".join(map(str, self._passes))

    def run(self, program: Program) -> Program:
        """Run the passes under the context in force, with its instruments, verification and warnings.

        The input is verified first (reported as ``pipeline_input``), then after each pass what it newly produced.

        Raises:
            VerificationError: a verified property does not hold.
        """
        run = _Run(self)
        return run.all(program)


class _Run:
    """One run of a pipeline: the settings in force and what is verified so far."""

    def __init__(self, pipeline: PassPipeline) -> None:
        context = PassContext.current()
        self.pipeline = pipeline
        if context is None:
            self.level = get_default_verification_level()
            self.phase = get_default_diagnostic_phase()
            disabled = DiagnosticCheckSet()
            self.instruments: Sequence[PassInstrument] = ()
        else:
            self.level = context.get_verification_level()
            self.phase = context.get_diagnostic_phase()
            disabled = context.get_disabled_diagnostics()
            self.instruments = context.get_instruments()
        self.checks: DiagnosticCheckSet = DiagnosticCheckRegistry.get_warning_checks().difference(disabled)
        self.verified = IRPropertySet()

    def all(self, program: Program) -> Program:
        self.warn(DiagnosticPhase.PRE_PIPELINE, program)
        for instrument in self.instruments:
            instrument.before_pipeline(self.pipeline, program)
        self.verify(STRUCTURAL_PROPERTIES, program, "pipeline_input")
        roundtrip = self.roundtrip_instrument()
        for pass_ in self.pipeline.get_passes():
            if roundtrip is not None:
                roundtrip.before_pass(pass_, program)
            program = pass_(program)
            if roundtrip is not None:
                roundtrip.after_pass(pass_, program)
            self.verified = self.verified.difference(pass_.get_invalidated_properties())
            self.verify(pass_.get_produced_properties().difference(self.verified), program, pass_.get_name())
            self.warn(DiagnosticPhase.POST_PASS, program, pass_)
        self.warn(DiagnosticPhase.POST_PIPELINE, program)
        for instrument in self.instruments:
            instrument.after_pipeline(self.pipeline, program)
        return program

    def roundtrip_instrument(self) -> PassInstrument | None:
        """The instrument that level ROUNDTRIP adds, unless the context already has one of its name."""
        if self.level is not VerificationLevel.ROUNDTRIP:
            return None
        made: PassInstrument = late("pypto.testing.instruments").make_roundtrip_instrument()
        return None if any(item.get_name() == made.get_name() for item in self.instruments) else made

    def verify(self, properties: IRPropertySet, program: Program, where: str) -> None:
        if self.level is VerificationLevel.NONE:
            return
        wanted = properties.intersection(VERIFIED_PROPERTIES)
        verify_properties(wanted, program, where)
        self.verified = self.verified.union_with(wanted)

    def warn(self, phase: DiagnosticPhase, program: Program, pass_: Pass | None = None) -> None:
        if phase is not self.phase:
            return
        found: list[Diagnostic] = DiagnosticCheckRegistry.run_checks(self.checks, phase, program)
        for item in found:
            _log.warning("%s", render(item))
        if found:
            for instrument in self.instruments:
                instrument.on_diagnostics(pass_, found)
