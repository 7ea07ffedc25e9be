"""A source file: its text, lines, tree and comments, and the places of its nodes in characters."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pypto.ir.span import Span
from pypto.parser.chains import parse_with_long_chains
from pypto.parser.comments import Comment, find_comments
from pypto.parser.errors import ParserError, ParserSyntaxError, PythonSyntaxError

SourceMap = Mapping[int, tuple[str, int, int]]
"""Line of the text -> (file, line, column) that errors name instead."""

Failure = TypeVar("Failure", bound=ParserError)

HEADER = re.compile(r"# pypto\.(program|function):")


class SourceFile:
    """The text of one file. The tree is parsed when first asked for, once, so places are those of the whole file.

    ``source_map`` moves the places that errors name to another file. ``printed`` is true for text that begins with the header that
    printed programs have; such text is complete: its annotations are exact and its functions may call what is not in it.
    """

    __slots__ = ("_byte_lines", "_comments", "_tree", "ascii", "filename", "lines", "printed", "source_map", "text")

    def __init__(self, filename: str, text: str, source_map: SourceMap | None = None) -> None:
        self.filename = filename
        self.text = text = text.removeprefix("\ufeff")
        self.lines = text.split("\n") if "\r" not in text else re.split(r"\r\n|\r|\n", text)
        self.ascii = text.isascii()
        self.printed = HEADER.match(text) is not None
        self.source_map = source_map
        self._tree: ast.Module | None = None
        self._comments: dict[int, Comment] | None = None
        self._byte_lines: dict[int, bytes] = {}

    @property
    def tree(self) -> ast.Module:
        """The tree of the whole file.

        Raises:
            PythonSyntaxError: the text is not Python; it is also a ``SyntaxError``.
            ParserSyntaxError: the text is too deep or too large for Python's own parser.
        """
        if self._tree is None:
            self._tree = self._parse()
        return self._tree

    @property
    def comments(self) -> dict[int, Comment]:
        """The comments by line; the header of a printed text is none."""
        if self._comments is None:
            self._comments = find_comments(self.text) if "#" in self.text[1:] else {}
        return self._comments

    def _parse(self) -> ast.Module:
        text = self.text
        at = text.find("\0")
        if at >= 0:
            raise self.failure_at(PythonSyntaxError, "the text holds a NUL character", *self._position(at))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(text, self.filename)
        except SyntaxError as error:
            line = error.lineno or 1
            column = max(error.offset or 1, 1)
            error_end = (error.end_lineno or -1, error.end_offset or -1)
            message = f"this is not Python: {error.msg}"
            raise self.failure_at(PythonSyntaxError, message, line, column, *error_end) from None
        except UnicodeError as error:
            line, column = self._position(getattr(error, "start", 0))
            raise self.failure_at(PythonSyntaxError, f"the text cannot be encoded: {error.args[-1]}", line, column) from None
        except ValueError as error:
            raise self.failure_at(PythonSyntaxError, f"this is not Python: {error}", 1, 1) from None
        except (RecursionError, MemoryError):
            return self._too_deep()

    def _too_deep(self) -> ast.Module:
        tree = parse_with_long_chains(self.text, self.filename)
        if tree is not None:
            return tree
        longest = max(range(len(self.lines)), key=lambda i: len(self.lines[i]))
        raise self.failure_at(
            ParserSyntaxError,
            "an expression is nested too deeply for Python's own parser",
            longest + 1,
            1,
            hint="split it into several assignments",
        )

    def _position(self, offset: int) -> tuple[int, int]:
        before = self.text[:offset]
        start = before.rfind("\n") + 1
        return before.count("\n") + 1, offset - start + 1

    # -- places ------------------------------------------------------------------------------------------------------

    def column(self, line: int, byte_offset: int) -> int:
        """The 1-based character column of a byte offset, which is what the tree holds."""
        if self.ascii:
            return byte_offset + 1
        known = self._byte_lines.get(line)
        if known is None:
            if line > len(self.lines):
                return byte_offset + 1
            known = self._byte_lines[line] = self.lines[line - 1].encode("utf-8", "surrogatepass")
        return len(known[:byte_offset].decode("utf-8", "replace")) + 1

    def span(self, node: Any) -> Span:
        """The range of a node of the tree."""
        if self.ascii:
            return Span(self.filename, node.lineno, node.col_offset + 1, node.end_lineno or -1, (node.end_col_offset or -2) + 1)
        end_line = node.end_lineno or -1
        end_column = -1 if end_line < 0 else self.column(end_line, node.end_col_offset)
        return Span(self.filename, node.lineno, self.column(node.lineno, node.col_offset), end_line, end_column)

    def key(self, node: Any) -> str | None:
        """The text of a node that stands on one line, for remembering what it meant; None when it spans lines."""
        line: int = node.lineno
        if line != node.end_lineno:
            return None
        text = self.lines[line - 1]
        if self.ascii:
            return text[node.col_offset : node.end_col_offset]
        return text[self.column(line, node.col_offset) - 1 : self.column(line, node.end_col_offset) - 1]

    # -- errors ------------------------------------------------------------------------------------------------------

    def failure(self, kind: Callable[..., Failure], message: str, node: Any, **details: Any) -> Failure:
        """An error of class ``kind`` at a node (or span) of this file."""
        span = node if isinstance(node, Span) else self.span(node)
        return self._failure(kind, message, span, details)

    def failure_at(
        self,
        kind: Callable[..., Failure],
        message: str,
        line: int,
        column: int,
        end_line: int = -1,
        end_column: int = -1,
        **details: Any,
    ) -> Failure:
        """An error of class ``kind`` at a line and character column of this file."""
        return self._failure(kind, message, Span(self.filename, line, column, end_line, end_column), details)

    def _failure(self, kind: Callable[..., Failure], message: str, span: Span, details: dict[str, Any]) -> Failure:
        moved = self.moved(span)
        lines = self.lines if moved is span and span.filename == self.filename else None
        return kind(message, moved, source_lines=lines, **details)

    def moved(self, span: Span) -> Span:
        """The place that errors name for a place of this text."""
        where = self.source_map.get(span.begin_line) if self.source_map else None
        if where is None or span.filename != self.filename:
            return span
        return Span(where[0], where[1], where[2])
