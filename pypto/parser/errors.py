"""The errors of reading: one family, each with a place, a message that names the construct, and a hint where one helps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.diagnostics import Error, Located, as_located, span_fields


class ParserError(Error):
    """A program cannot be read. ``span`` is a mapping with filename, line and column, or None when the place is unknown."""

    code = "parse"


class ParserSyntaxError(ParserError):
    """A construct is malformed or stands where it may not."""

    code = "syntax"


class ParserTypeError(ParserError):
    """An annotation, element type, shape, argument count or kind of value does not fit."""

    code = "type"


class UndefinedVariableError(ParserError):
    """A name, or a method of the program, does not exist here."""

    code = "undefined-name"


class SSAViolationError(ParserError):
    """A name is assigned twice under ``strict_ssa``; ``previous_span`` is the place of the first assignment."""

    code = "ssa-violation"

    def __init__(
        self,
        message: str,
        span: Any = None,
        hint: str | None = None,
        note: str | None = None,
        source_lines: Sequence[str] | None = None,
        *,
        previous_span: Any = None,
        label: str = "",
        code: str | None = None,
    ) -> None:
        super().__init__(message, span, hint, note, source_lines, label=label, code=code)
        self.previous_place: Located | None = as_located(previous_span)

    @property
    def previous_span(self) -> Any:
        """The place of the earlier assignment as a mapping, or None."""
        return span_fields(self.previous_place)

    @property
    def related(self) -> Sequence[tuple[Located, str]]:
        return () if self.previous_place is None else ((self.previous_place, "first assigned here"),)


class UnsupportedFeatureError(ParserError):
    """A construct of Python that the language does not have."""

    code = "unsupported"


class InvalidOperationError(ParserError):
    """An operator does not exist, or does not take these arguments; ``break`` or ``continue`` in the wrong place."""

    code = "operation"


class ScopeIsolationError(ParserError):
    """A name of an inner scope is used outside; kept for programs that catch it."""

    code = "scope-isolation"


class ScalarOperandError(ParserSyntaxError, ParserTypeError):
    """A Python operator is applied to values that it does not combine."""

    code = "type-mismatch"


class ObjectCountError(ParserError, ValueError):
    """A text defines no function or program, or more than one."""

    code = "object-count"


class PythonSyntaxError(ParserSyntaxError, SyntaxError):
    """A text is not Python."""

    code = "python-syntax"

    def __init__(self, message: str, span: Any = None, *rest: Any, **named: Any) -> None:
        super().__init__(message, span, *rest, **named)
        self.msg = message
        place = self.place
        if place is not None:
            self.filename = place.filename
            self.lineno = place.begin_line
            self.offset = place.begin_column
