"""The settings of a run of passes: enumerations, and what the environment asks for."""

from __future__ import annotations

import os
from enum import Enum, IntEnum
from functools import lru_cache
from typing import TypeVar

from pypto.diagnostics import InvalidValueError, did_you_mean
from pypto.passes.properties import EnumSet


class VerificationMode(Enum):
    """When a :class:`VerificationInstrument` checks."""

    NONE = 0
    BEFORE = 1
    AFTER = 2
    BEFORE_AND_AFTER = 3


class VerificationLevel(Enum):
    """How much a pipeline checks by itself: nothing, properties, or properties and the round trip through text."""

    NONE = 0
    BASIC = 1
    ROUNDTRIP = 2


class MemoryPlanner(Enum):
    """Who gives buffers their addresses."""

    PYPTO = 0
    DSA_RP = 1
    PTOAS = 2


class RuntimeKind(Enum):
    """The task runtime that the program is made for."""

    TENSORMAP_AND_RINGBUFFER = 0
    HOST_BUILD_GRAPH = 1


class PassDumpLevel(IntEnum):
    """Whether stages are written to files, and with how much layout detail."""

    NONE = 0
    CONCISE = 1
    EXPLICIT = 2


class OptimizationStrategy(Enum):
    """The named pipelines."""

    Default = 0


class DiagnosticSeverity(Enum):
    """How much a diagnostic matters."""

    Error = 0
    Warning = 1
    PerfHint = 2


class DiagnosticPhase(Enum):
    """When the diagnostic checks of a pipeline run."""

    NONE = 0
    PRE_PIPELINE = 1
    POST_PASS = 2
    POST_PIPELINE = 3


class DiagnosticCheck(Enum):
    """The checks that warn without stopping."""

    UnusedVariable = 0
    UnusedControlFlowResult = 1
    TileInnermostDimGranularity = 2
    OutParamWriteDropped = 3


class DiagnosticCheckSet(EnumSet[DiagnosticCheck]):
    """A set of :class:`DiagnosticCheck`."""


class Backend(Enum):
    """The machine a program is compiled for; none is assumed unless one is set."""

    ASCEND_910B = "910B"
    ASCEND_950 = "950"

    @property
    def vector_cores(self) -> int:
        """The number of vector cores of one chip."""
        return _VECTOR_CORES[self]


_VECTOR_CORES = {Backend.ASCEND_910B: 48, Backend.ASCEND_950: 36}


def runtime_kind_to_name(kind: RuntimeKind) -> str:
    """The lower-case name of a runtime kind."""
    return kind.name.lower()


def runtime_kind_from_name(name: str) -> RuntimeKind:
    """The runtime kind of a name, in any case.

    Raises:
        InvalidValueError: there is none of that name.
    """
    return member_of(RuntimeKind, name, "runtime kind")


_E = TypeVar("_E", bound=Enum)


def member_of(enumeration: type[_E], name: str, what: str) -> _E:
    """The member of an enumeration by its name in any case.

    Raises:
        InvalidValueError: there is none; the hint names the nearest.
    """
    for member in enumeration:
        if member.name.lower() == name.lower():
            return member
    names = [member.name.lower() for member in enumeration]
    close = did_you_mean(name.lower(), names)
    hint = f"did you mean {close!r}?" if close else f"one of {', '.join(names)}"
    raise InvalidValueError(f"unknown {what} {name!r}", hint=hint)


@lru_cache(maxsize=1)
def get_default_verification_level() -> VerificationLevel:
    """The level that ``PYPTO_VERIFY_LEVEL`` asks for, BASIC when unset; read once per process."""
    return member_of(VerificationLevel, os.environ.get("PYPTO_VERIFY_LEVEL") or "basic", "PYPTO_VERIFY_LEVEL")


@lru_cache(maxsize=1)
def get_default_diagnostic_phase() -> DiagnosticPhase:
    """The phase that ``PYPTO_WARNING_LEVEL`` asks for, PRE_PIPELINE when unset; read once per process."""
    return member_of(DiagnosticPhase, os.environ.get("PYPTO_WARNING_LEVEL") or "pre_pipeline", "PYPTO_WARNING_LEVEL")
