"""The context in which passes run: instruments, and settings that passes and pipelines ask for."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Literal

from pypto.diagnostics import InternalError, InvalidTypeError
from pypto.passes.instruments import PassInstrument
from pypto.passes.settings import (
    Backend,
    DiagnosticCheck,
    DiagnosticCheckSet,
    DiagnosticPhase,
    MemoryPlanner,
    RuntimeKind,
    VerificationLevel,
)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.contexts: list[PassContext] = []


_stack = _Stack()


class PassContext:
    """A ``with`` statement around passes. Contexts nest and belong to the thread; the innermost one alone is in force.

    Raises:
        InvalidTypeError: an entry of ``instruments`` is not a :class:`PassInstrument`.
    """

    def __init__(
        self,
        instruments: Sequence[PassInstrument] = (),
        verification_level: VerificationLevel = VerificationLevel.BASIC,
        diagnostic_phase: DiagnosticPhase = DiagnosticPhase.PRE_PIPELINE,
        disabled_diagnostics: DiagnosticCheckSet | None = None,
        memory_planner: MemoryPlanner = MemoryPlanner.PYPTO,
        enable_pypto_l0c_double_buffer: bool = False,
        runtime: RuntimeKind = RuntimeKind.TENSORMAP_AND_RINGBUFFER,
        backend: Backend | None = None,
    ) -> None:
        for item in instruments:
            if not isinstance(item, PassInstrument):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidTypeError(f"a PassContext takes PassInstrument objects, got {item!r}")
        if disabled_diagnostics is None:
            disabled_diagnostics = DiagnosticCheckSet([DiagnosticCheck.UnusedControlFlowResult])
        self._instruments = [*instruments]
        self._verification_level = verification_level
        self._diagnostic_phase = diagnostic_phase
        self._disabled_diagnostics = disabled_diagnostics
        self._memory_planner = memory_planner
        self._double_buffer = enable_pypto_l0c_double_buffer
        self._runtime = runtime
        self._backend = backend

    @staticmethod
    def current() -> PassContext | None:
        """The context in force in this thread, or None."""
        return _stack.contexts[-1] if _stack.contexts else None

    def get_instruments(self) -> list[PassInstrument]:
        """The instruments, in the order they are called."""
        return [*self._instruments]

    def get_verification_level(self) -> VerificationLevel:
        """How much pipelines check by themselves."""
        return self._verification_level

    def get_diagnostic_phase(self) -> DiagnosticPhase:
        """When warning checks run."""
        return self._diagnostic_phase

    def get_disabled_diagnostics(self) -> DiagnosticCheckSet:
        """The warning checks that do not run."""
        return self._disabled_diagnostics

    def get_memory_planner(self) -> MemoryPlanner:
        """Who gives buffers their addresses."""
        return self._memory_planner

    def get_runtime(self) -> RuntimeKind:
        """The task runtime that programs are made for."""
        return self._runtime

    def get_enable_pypto_l0c_double_buffer(self) -> bool:
        """Whether L0C buffers are doubled."""
        return self._double_buffer

    def get_backend(self) -> Backend | None:
        """The machine that programs are compiled for, None when it does not matter."""
        return self._backend

    def with_instruments(self, instruments: Sequence[PassInstrument]) -> PassContext:
        """The same settings with other instruments."""
        copy = object.__new__(PassContext)
        copy.__dict__.update(self.__dict__)
        copy._instruments = [*instruments]
        return copy

    def __enter__(self) -> PassContext:
        _stack.contexts.append(self)
        return self

    def __exit__(self, *exception: Any) -> Literal[False]:
        if not _stack.contexts or _stack.contexts[-1] is not self:
            raise InternalError("a PassContext was left that is not the innermost one")
        _stack.contexts.pop()
        return False


def current_backend() -> Backend | None:
    """The backend of the context in force, None when there is none."""
    context = PassContext.current()
    return None if context is None else context.get_backend()
