"""Findings of verifiers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from pypto.diagnostics import Diagnostic, Located, VerificationError, as_located, render
from pypto.ir.function import Function
from pypto.ir.span import Span


class SSAErrorType(IntEnum):
    """What can be wrong with the SSA form."""

    MULTIPLE_ASSIGNMENT = 1
    NAME_SHADOWING = 2
    MISSING_YIELD = 3
    ITER_ARGS_RETURN_VARS_MISMATCH = 4
    YIELD_COUNT_MISMATCH = 5
    SCOPE_VIOLATION = 6


class TypeCheckErrorType(IntEnum):
    """What can be wrong with types."""

    TYPE_KIND_MISMATCH = 101
    DTYPE_MISMATCH = 102
    SHAPE_DIMENSION_MISMATCH = 103
    SHAPE_VALUE_MISMATCH = 104
    SIZE_MISMATCH = 105
    IF_CONDITION_MUST_BE_SCALAR = 106
    FOR_RANGE_MUST_BE_SCALAR = 107
    CONDITION_MUST_BE_BOOL = 108
    TENSOR_PADDING_MISMATCH = 109
    DISTRIBUTED_WINDOW_IDENTITY_MISMATCH = 110
    TILE_VIEW_MISMATCH = 111


class NestedCallErrorType(IntEnum):
    """Where a call stands that must have a statement of its own."""

    CALL_IN_CALL_ARGS = 201
    CALL_IN_IF_CONDITION = 202
    CALL_IN_FOR_RANGE = 203
    CALL_IN_BINARY_EXPR = 204
    CALL_IN_UNARY_EXPR = 205


class UseAfterDefErrorType(IntEnum):
    """A use without a definition before it."""

    USE_BEFORE_DEF = 401


@dataclass(frozen=True)
class Finding(Diagnostic):
    """A diagnostic of a verifier: the property as ``rule_name``, and the error of its enumeration where it has one."""

    rule_name: str = ""
    error_type: IntEnum | None = None
    hint_code: str = ""

    @property
    def error_code(self) -> int:
        """The number of the error, 0 when its property numbers none."""
        return 0 if self.error_type is None else int(self.error_type)


class Findings:
    """Collects what one verifier finds in one function; a place that is not known is that of the function."""

    def __init__(self, rule_name: str, function: Function) -> None:
        self.rule_name = rule_name
        self.function = function
        self.items: list[Diagnostic] = []

    def add(
        self,
        code: str,
        message: str,
        span: Span,
        error_type: IntEnum | None = None,
        hint: str | None = None,
        related: Sequence[tuple[Span, str]] = (),
    ) -> None:
        """Add a finding."""
        notes = (f"in function {self.function.name!r}; property {self.rule_name}",)
        known: list[tuple[Located, str]] = [(place, text) for place, text in related if place.is_valid()]
        self.items.append(
            Finding(
                code,
                message,
                as_located(span) or as_located(self.function.span),
                hint=hint,
                notes=notes,
                related=known,
                rule_name=self.rule_name,
                error_type=error_type,
            )
        )


def generate_report(findings: Sequence[Diagnostic]) -> str:
    """All findings as text, each with its place."""
    if not findings:
        return "verification found nothing"
    count = f"verification found {len(findings)} {'fault' if len(findings) == 1 else 'faults'}"
    return "\n\n".join([count, *(render(finding) for finding in findings)])


class PropertyViolation(VerificationError):
    """A program lacks a property. ``findings`` are all diagnostics; the text lists each with its place."""

    def __init__(self, findings: Sequence[Diagnostic]) -> None:
        first = findings[0]
        super().__init__(generate_report(findings), first.span, first.hint, code=first.code)
        self.findings = list(findings)

    def __str__(self) -> str:
        return self.message
