"""Source positions."""

from __future__ import annotations

import sys


class Span:
    """A source range. Lines and columns count from 1, columns in characters; the end column is exclusive; -1 where unknown.

    Spans never take part in equality or hashing of nodes.
    """

    __slots__ = ("begin_column", "begin_line", "end_column", "end_line", "filename")

    def __init__(self, filename: str, begin_line: int, begin_column: int, end_line: int = -1, end_column: int = -1) -> None:
        self.filename = filename
        self.begin_line = begin_line
        self.begin_column = begin_column
        self.end_line = end_line
        self.end_column = end_column

    def to_string(self) -> str:
        """``file:line:col``."""
        return f"{self.filename}:{self.begin_line}:{self.begin_column}"

    def is_valid(self) -> bool:
        """True when the line is known."""
        return self.begin_line > 0 and (self.begin_column > 0 or self.begin_column == -1)

    @staticmethod
    def unknown() -> Span:
        """The span of what has no source."""
        return UNKNOWN

    @staticmethod
    def of_caller(depth: int = 1) -> Span:
        """The line that called the function that asks, ``depth`` frames further up; column -1."""
        frame = sys._getframe(depth + 1)  # pyright: ignore[reportPrivateUsage]
        return Span(frame.f_code.co_filename, frame.f_lineno, -1)

    def __str__(self) -> str:
        return self.to_string()

    __repr__ = __str__


UNKNOWN = Span("", -1, -1)
"""The one span of what has no source."""
