"""Observers of passes. An instrument sees the program before and after every pass and around a pipeline; it changes nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pypto.diagnostics import Diagnostic, InvalidValueError, render
from pypto.ir.function import Program
from pypto.ir.node import late
from pypto.passes.properties import STRUCTURAL_PROPERTIES, IRPropertySet
from pypto.passes.settings import DiagnosticCheckSet, DiagnosticPhase, PassDumpLevel, VerificationMode

if TYPE_CHECKING:
    from pypto.passes.base import Pass
    from pypto.passes.pipeline import PassPipeline


class PassInstrument:
    """Base of instruments. Subclasses override the hooks they need; an exception from a hook stops the run."""

    def __init__(self, name: str = "") -> None:
        self._name = name or type(self).__name__

    def get_name(self) -> str:
        """The name under which the instrument is listed."""
        return self._name

    def before_pipeline(self, pipeline: PassPipeline, program: Program) -> None:
        """Called with the input of a pipeline, before anything else."""

    def after_pipeline(self, pipeline: PassPipeline, program: Program) -> None:
        """Called with the output of a pipeline."""

    def before_pass(self, pass_: Pass, program: Program) -> None:
        """Called with the input of a pass."""

    def after_pass(self, pass_: Pass, program: Program) -> None:
        """Called with the output of a pass."""

    def on_diagnostics(self, pass_: Pass | None, diagnostics: Sequence[Diagnostic]) -> None:
        """Called with the warnings that a pipeline found, after ``pass_`` or (None) before or after all passes."""


class VerificationInstrument(PassInstrument):
    """Checks, before and/or after each pass, the properties it declares together with the structural ones.

    Raises (while passes run):
        VerificationError: a property does not hold; the text names the pass and lists every finding.
    """

    def __init__(self, mode: VerificationMode = VerificationMode.BEFORE_AND_AFTER) -> None:
        super().__init__()
        self.mode = mode

    def before_pass(self, pass_: Pass, program: Program) -> None:
        if self.mode in (VerificationMode.BEFORE, VerificationMode.BEFORE_AND_AFTER):
            self._check(pass_, program, pass_.get_required_properties(), "Pre-verification failed before")

    def after_pass(self, pass_: Pass, program: Program) -> None:
        if self.mode in (VerificationMode.AFTER, VerificationMode.BEFORE_AND_AFTER):
            self._check(pass_, program, pass_.get_produced_properties(), "Post-verification failed after")

    @staticmethod
    def _check(pass_: Pass, program: Program, properties: IRPropertySet, phrase: str) -> None:
        from pypto.passes.verification import verify_or_raise

        verify_or_raise(properties.union_with(STRUCTURAL_PROPERTIES), program, f"{phrase} pass '{pass_.get_name()}'")


PassCallback = Callable[["Pass", Program], Any]


class CallbackInstrument(PassInstrument):
    """Calls functions ``(pass, program)`` before and/or after each pass."""

    def __init__(
        self,
        before_pass: PassCallback | None = None,
        after_pass: PassCallback | None = None,
        name: str = "CallbackInstrument",
    ) -> None:
        super().__init__(name)
        self._before = before_pass
        self._after = after_pass

    def before_pass(self, pass_: Pass, program: Program) -> None:
        if self._before is not None:
            self._before(pass_, program)

    def after_pass(self, pass_: Pass, program: Program) -> None:
        if self._after is not None:
            self._after(pass_, program)


class DiagnosticInstrument(PassInstrument):
    """Runs warning checks after each pass and keeps the findings in ``diagnostics`` as ``(pass name, finding)``."""

    def __init__(self, checks: DiagnosticCheckSet) -> None:
        super().__init__()
        self.checks = checks
        self.diagnostics: list[tuple[str, Diagnostic]] = []

    def after_pass(self, pass_: Pass, program: Program) -> None:
        from pypto.passes.diagnostic_checks import DiagnosticCheckRegistry

        found = DiagnosticCheckRegistry.run_checks(self.checks, DiagnosticPhase.POST_PASS, program)
        self.diagnostics += [(pass_.get_name(), item) for item in found]


class DumpInstrument(PassInstrument):
    """Writes every stage of a pipeline as source text: ``00_frontend.py``, then ``NN_after_<Pass>.py``.

    Warnings found after a pass go to a ``.log`` file beside its stage. The directory is made when it does not exist.
    """

    def __init__(self, output_dir: str | Path, level: PassDumpLevel = PassDumpLevel.CONCISE, prefix: str = "pl") -> None:
        super().__init__()
        self.output_dir = Path(output_dir)
        self.level = PassDumpLevel(level)
        self.prefix = prefix
        self.written: list[Path] = []
        self._stage: Path | None = None

    def get_output_dir(self) -> str:
        """Where the stages are written."""
        return str(self.output_dir)

    def before_pipeline(self, pipeline: PassPipeline, program: Program) -> None:
        self.written = []
        self._write("00_frontend", program)

    def after_pass(self, pass_: Pass, program: Program) -> None:
        self._write(f"{max(1, len(self.written)):02d}_after_{pass_.get_name()}", program)

    def on_diagnostics(self, pass_: Pass | None, diagnostics: Sequence[Diagnostic]) -> None:
        if pass_ is not None and diagnostics and self._stage is not None:
            text = "\n\n".join(render(item) for item in diagnostics)
            self._stage.with_suffix(".log").write_text(text + "\n", encoding="utf-8")

    def _write(self, stem: str, program: Program) -> None:
        self.output_dir.mkdir(parents=True, exist_ok=True)
        explicit = self.level is PassDumpLevel.EXPLICIT
        text = late("pypto.printer").python_print(program, prefix=self.prefix, explicit_layout=explicit)
        self._stage = self.output_dir / f"{stem}.py"
        self._stage.write_text(text if text.endswith("\n") else text + "\n", encoding="utf-8")
        self.written.append(self._stage)


class TimingInstrument(PassInstrument):
    """Measures how long each pass takes: ``times`` holds ``(pass name, seconds)`` in the order they ran."""

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        super().__init__()
        self.times: list[tuple[str, float]] = []
        self._clock = clock
        self._started: list[float] = []

    def before_pass(self, pass_: Pass, program: Program) -> None:
        self._started.append(self._clock())

    def after_pass(self, pass_: Pass, program: Program) -> None:
        if not self._started:
            raise InvalidValueError("TimingInstrument saw the end of a pass that it did not see begin")
        self.times.append((pass_.get_name(), self._clock() - self._started.pop()))

    @property
    def total(self) -> float:
        """Seconds spent in all passes."""
        return sum(seconds for _, seconds in self.times)

    def report(self) -> str:
        """The times as a table, one pass a line."""
        width = max([len(name) for name, _ in self.times], default=0)
        return "\n".join(f"{name:<{width}}  {seconds * 1e3:10.3f} ms" for name, seconds in self.times)


class ReportInstrument(PassInstrument):
    """Writes what each pass did, in one line (changed or not, functions before and after), to ``passes.txt`` in a directory."""

    def __init__(self, output_dir: str | Path) -> None:
        super().__init__()
        self.output_dir = Path(output_dir)
        self._before: Program | None = None
        self._lines: list[str] = []

    def get_output_dir(self) -> str:
        """Where the report is written."""
        return str(self.output_dir)

    def before_pass(self, pass_: Pass, program: Program) -> None:
        self._before = program

    def after_pass(self, pass_: Pass, program: Program) -> None:
        before = self._before
        changed = "unchanged" if before is program else "changed"
        was = len(before.functions) if before is not None else 0
        self._lines.append(f"{pass_.get_name()}: {changed}, functions {was} -> {len(program.functions)}")
        self.output_dir.mkdir(parents=True, exist_ok=True)
        (self.output_dir / "passes.txt").write_text("\n".join(self._lines) + "\n", encoding="utf-8")
