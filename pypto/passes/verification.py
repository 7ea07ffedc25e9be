"""Checking properties of programs: the face that passes and users see of :mod:`pypto.ir.verify`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pypto.diagnostics import Diagnostic
from pypto.ir import verify as ir_verify
from pypto.ir.function import Program
from pypto.ir.verify import PropertyViolation
from pypto.passes.base import Pass
from pypto.passes.properties import (
    DEFAULT_VERIFY_PROPERTIES,
    STRUCTURAL_PROPERTIES,
    VERIFIED_PROPERTIES,
    IRProperty,
    IRPropertySet,
)


def get_structural_properties() -> IRPropertySet:
    """The properties expected to hold at any time."""
    return IRPropertySet(STRUCTURAL_PROPERTIES)


def get_default_verify_properties() -> IRPropertySet:
    """The properties that ``run_verifier()`` checks when none are named."""
    return IRPropertySet(DEFAULT_VERIFY_PROPERTIES)


def get_verified_properties() -> IRPropertySet:
    """The properties that a pipeline verifies as soon as a pass produces them."""
    return IRPropertySet(VERIFIED_PROPERTIES)


def verifiable(properties: Iterable[IRProperty]) -> list[str]:
    """The names of those properties that have a verifier."""
    known = ir_verify.PROPERTIES
    return [member.name for member in IRPropertySet(properties) if member.name in known]


class PropertyVerifierRegistry:
    """Verification by property set."""

    @staticmethod
    def verify(properties: Iterable[IRProperty], program: Program) -> list[Diagnostic]:
        """Every finding against the properties; those without a verifier are taken to hold."""
        return list(ir_verify.verify(program, verifiable(properties)))

    @staticmethod
    def verify_or_throw(properties: Iterable[IRProperty], program: Program) -> None:
        """Verify, and raise when a property does not hold.

        Raises:
            PassVerificationError: the text lists every finding.
        """
        verify_or_raise(properties, program, "Verification failed")

    @staticmethod
    def generate_report(diagnostics: Sequence[Diagnostic]) -> str:
        """The findings as text, each with its place."""
        return ir_verify.generate_report(diagnostics)


class PassVerificationError(PropertyViolation):
    """A property does not hold where passes run; ``findings`` are all diagnostics, and the text lists each with its place."""

    def __init__(self, phrase: str, findings: Sequence[Diagnostic]) -> None:
        super().__init__(findings)
        self.message = f"{phrase}: {self.message}"


def verify_or_raise(properties: Iterable[IRProperty], program: Program, phrase: str) -> None:
    """Verify; findings of severity error raise PassVerificationError, whose text begins with ``phrase`` and lists all of them."""
    found = [item for item in PropertyVerifierRegistry.verify(properties, program) if item.severity == "error"]
    if found:
        raise PassVerificationError(phrase, found)


def verify_properties(properties: Iterable[IRProperty], program: Program, pass_name: str) -> None:
    """Verify the output of a pass.

    Raises:
        PassVerificationError: a property does not hold; the text names the pass and lists every finding.
    """
    verify_or_raise(properties, program, f"Verification failed after pass '{pass_name}'")


@dataclass(frozen=True)
class _VerifierPass(Pass):
    """Verify properties of the program and leave it as it is."""

    NAME = "IRVerifier"

    properties: IRPropertySet = field(default_factory=get_default_verify_properties)

    def transform(self, program: Program) -> Program:
        PropertyVerifierRegistry.verify_or_throw(self.properties, program)
        return program


def run_verifier(properties: IRPropertySet | None = None) -> Pass:
    """A pass named IRVerifier that raises VerificationError when a property does not hold."""
    return _VerifierPass() if properties is None else _VerifierPass(properties)


def verify_tensor_view_canonical(program: Program, require_materialized: bool = False) -> list[Diagnostic]:
    """The tensor views of a program that are not in canonical form; ``require_materialized`` also asks for their strides."""
    return list(ir_verify.verify_tensor_view_canonical(program, require_materialized))
