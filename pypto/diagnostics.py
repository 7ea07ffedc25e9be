"""What an error is: one value, one way to show it.

Every error of this project carries a :class:`Diagnostic` (code, message, place, labels, hint, notes). The text of an exception is
the rendered diagnostic, so the text alone is enough to find and mend the mistake. :func:`render` gives plain text; the command line
passes the same value through ``rich`` for colour.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


class Located(Protocol):
    """A source range: 1-based lines and character columns, the end column exclusive; -1 where unknown."""

    @property
    def filename(self) -> str: ...
    @property
    def begin_line(self) -> int: ...
    @property
    def begin_column(self) -> int: ...
    @property
    def end_line(self) -> int: ...
    @property
    def end_column(self) -> int: ...


@dataclass(frozen=True)
class Diagnostic:
    """One mistake: ``code`` is a short stable name (``type-mismatch``), ``label`` stands beside the caret."""

    code: str
    message: str
    span: Located | None = None
    label: str = ""
    hint: str | None = None
    notes: Sequence[str] = ()
    severity: str = "error"
    related: Sequence[tuple[Located, str]] = ()
    source_lines: Sequence[str] | None = field(default=None, repr=False)


class Error(Exception):
    """Base of the errors that a user's program can cause. ``str(error)`` is the rendered diagnostic."""

    code = "error"
    parameter: str | None = None
    """The parameter whose value is at fault, when the error is about one: places that know where it was written point there."""

    def __init__(
        self,
        message: str,
        span: Any = None,
        hint: str | None = None,
        note: str | None = None,
        source_lines: Sequence[str] | None = None,
        *,
        label: str = "",
        code: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.place: Located | None = as_located(span)
        self.hint = hint
        self.note = note
        self.source_lines = source_lines
        self.label = label
        if code is not None:
            self.code = code

    @property
    def span(self) -> Any:
        """The place as a mapping with ``filename, line, column`` (and begin/end fields), or None when unknown."""
        return span_fields(self.place)

    @property
    def related(self) -> Sequence[tuple[Located, str]]:
        """Further places that belong to the mistake, each with a short text."""
        return ()

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as a value."""
        notes = (self.note,) if self.note else ()
        return Diagnostic(
            self.code,
            self.message,
            self.place,
            self.label,
            self.hint,
            notes,
            related=self.related,
            source_lines=self.source_lines,
        )

    def __str__(self) -> str:
        return render(self.diagnostic)


class InvalidValueError(Error, ValueError):
    """A value that a user's program gave is not acceptable (a shape, an attribute, an argument)."""

    code = "invalid-value"


class InvalidTypeError(Error, TypeError):
    """A value of the wrong kind was given."""

    code = "invalid-type"


class VerificationError(Error):
    """A program does not have a property that it must have."""

    code = "verification"


class InternalError(RuntimeError):
    """An invariant of this project itself is broken; the text asks for a report."""

    code = "internal"

    def __init__(self, message: str, span: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.place: Located | None = as_located(span)

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as a value."""
        return Diagnostic(
            self.code,
            self.message,
            self.place,
            notes=("this is a fault of pypto itself: please report it with the program",),
        )

    def __str__(self) -> str:
        return render(self.diagnostic)


@dataclass(frozen=True)
class Place:
    """A plain source range, for errors that have no IR node at hand."""

    filename: str
    begin_line: int
    begin_column: int
    end_line: int = -1
    end_column: int = -1


KEEP_TRACEBACKS = "PYPTO_TRACEBACK"
"""The environment variable that keeps the frames inside pypto in the tracebacks of a user's errors."""


def for_users(error: Error) -> Error:
    """The error as it leaves the public function that a user called: without the frames and causes inside, which say nothing of the
    user's mistake. Raise it with ``raise for_users(error) from error.__cause__``."""
    if not os.environ.get(KEEP_TRACEBACKS):
        error.__cause__ = None
        error.__traceback__ = None
    return error


def as_located(span: Any) -> Located | None:
    """Read a place given as a span, or as a mapping with ``filename/line/column``; None when there is none or it is unknown."""
    if span is None:
        return None
    if isinstance(span, Mapping):
        fields: Mapping[str, Any] = span  # pyright: ignore[reportUnknownVariableType]
        line = int(fields.get("begin_line", fields.get("line", -1)))
        column = int(fields.get("begin_column", fields.get("column", -1)))
        name = str(fields.get("filename", fields.get("file", "")))
        span = Place(name, line, column, int(fields.get("end_line", -1)), int(fields.get("end_column", -1)))
    return span if span.begin_line > 0 else None


def span_fields(span: Located | None) -> dict[str, Any] | None:
    """A place as the mapping that ``error.span`` shows."""
    if span is None:
        return None
    return {
        "filename": span.filename,
        "file": span.filename,
        "line": span.begin_line,
        "column": span.begin_column,
        "begin_line": span.begin_line,
        "begin_column": span.begin_column,
        "end_line": span.end_line,
        "end_column": span.end_column,
    }


def source_line(span: Located, source_lines: Sequence[str] | None = None) -> str | None:
    """The text of the line a place begins on, or None when it cannot be had."""
    if source_lines is not None:
        index = span.begin_line - 1
        return source_lines[index].rstrip("\n") if 0 <= index < len(source_lines) else None
    text = linecache.getline(span.filename, span.begin_line)
    return text.rstrip("\n") if text else None


SNIPPET_WIDTH = 160
"""Longer source lines are shown in part, around the place."""


def _snippet(span: Located, label: str, source_lines: Sequence[str] | None, gutter: str) -> list[str]:
    text = source_line(span, source_lines)
    if text is None:
        return []
    shown = text.expandtabs(1)
    start = max(0, span.begin_column - 1)
    length = len(shown.rstrip())
    if span.end_line not in (-1, span.begin_line):
        end = length
    else:
        end = span.end_column - 1 if span.end_column > span.begin_column else start + 1
    if len(shown) > SNIPPET_WIDTH:
        first = max(0, min(start - SNIPPET_WIDTH // 4, len(shown) - SNIPPET_WIDTH))
        last = first + SNIPPET_WIDTH
        before, after = ("..." if first else ""), ("..." if last < len(shown) else "")
        shown = before + shown[first:last] + after
        start, end = start - first + len(before), min(end, last) - first + len(before)
    lines = [f"{gutter} |", f"{span.begin_line:>{len(gutter)}} | {shown}".rstrip()]
    if span.begin_column > 0:
        lines.append(f"{gutter} | {' ' * start}{'^' * max(1, end - start)}{' ' + label if label else ''}")
    return lines


def render(diagnostic: Diagnostic) -> str:
    """A diagnostic as plain text: headline, place, source line with the caret under the whole range, notes and help."""
    lines = [f"{diagnostic.severity}[{diagnostic.code}]: {diagnostic.message}"]
    span = diagnostic.span
    gutter = " " * (len(str(span.begin_line)) if span else 1)
    if span is not None:
        column = f":{span.begin_column}" if span.begin_column > 0 else ""
        lines.append(f"{gutter}--> {span.filename or '<unknown>'}:{span.begin_line}{column}")
        lines += _snippet(span, diagnostic.label, diagnostic.source_lines, gutter)
    for place, text in diagnostic.related:
        width = " " * len(str(place.begin_line))
        lines.append(f"{width}::: {place.filename}:{place.begin_line}:{place.begin_column}: {text}")
        lines += _snippet(place, text, diagnostic.source_lines, width)
    if span is not None and (diagnostic.hint or diagnostic.notes):
        lines.append(f"{gutter} |")
    lines += [f"{gutter} = note: {note}" for note in diagnostic.notes]
    if diagnostic.hint:
        lines.append(f"{gutter} = help: {diagnostic.hint}")
    return "\n".join(lines)


def did_you_mean(word: str, vocabulary: Sequence[str], cutoff: float = 0.6) -> str | None:
    """The nearest word of a vocabulary, or None."""
    import difflib  # only wanted once something went wrong

    close = difflib.get_close_matches(word, vocabulary, n=1, cutoff=cutoff)
    return close[0] if close else None
