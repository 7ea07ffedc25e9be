"""Comments: found by one scan over the text, handed to the statements they belong to."""

from __future__ import annotations

import inspect
import io
import re
import tokenize
from collections.abc import Sequence
from typing import NamedTuple


class Comment(NamedTuple):
    """One comment: its text without the mark, its 0-based column, and whether it stands alone on its line."""

    text: str
    column: int
    alone: bool


# strings first, so that a '#' inside one is no comment
_TOKEN = re.compile(
    r'"""(?:[^\\]|\\.)*?"""'
    r"|'''(?:[^\\]|\\.)*?'''"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'(?:[^'\\\n]|\\.)*'"
    r"|\#[^\r\n]*",
    re.DOTALL,
)
_F_STRING = re.compile(r"""\b[rR]?[fF][rR]?['"]""")
_HEADER = re.compile(r"# pypto\.(?:program|function):")


def find_comments(text: str) -> dict[int, Comment]:
    """The comments of a text by 1-based line; header lines of printed programs are left out."""
    if _F_STRING.search(text):
        return _with_tokenizer(text)
    found: dict[int, Comment] = {}
    line, line_start, seen = 1, 0, 0
    for match in _TOKEN.finditer(text):
        if text[match.start()] != "#":
            continue
        start = match.start()
        newlines = text.count("\n", seen, start)
        if newlines:
            line += newlines
            line_start = text.rfind("\n", seen, start) + 1
        seen = start
        _note(found, line, match.group(), text[line_start:start], start - line_start)
    return found


def _with_tokenizer(text: str) -> dict[int, Comment]:
    found: dict[int, Comment] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line, column = token.start
                _note(found, line, token.string, token.line[:column], column)
    except (tokenize.TokenError, SyntaxError):
        return found
    return found


def _note(found: dict[int, Comment], line: int, comment: str, before: str, column: int) -> None:
    if line == 1 and _HEADER.match(comment):
        return
    found[line] = Comment(comment_text(comment), column, not before.strip())


def comment_text(comment: str) -> str:
    """The text of a ``#`` comment: one mark and one following space are taken away."""
    return comment[1:].removeprefix(" ").rstrip()


def docstring_lines(text: str) -> list[str]:
    """A string that stands as a statement, as comment lines."""
    return inspect.cleandoc(text).split("\n") if text.strip() else []


def take(comments: dict[int, Comment], first: int, end: int) -> list[str]:
    """Remove and return the comments on lines ``first`` to before ``end``."""
    taken: list[str] = []
    for line in range(first, end):
        comment = comments.pop(line, None)
        if comment is not None:
            taken.append(comment.text)
    return taken


def take_trailing(comments: dict[int, Comment], first: int, end: int, indent: int) -> list[str]:
    """Remove and return the comments on lines ``first`` to before ``end``, up to the first that stands left of column ``indent``."""
    taken: list[str] = []
    for line in range(first, end):
        comment = comments.get(line)
        if comment is not None:
            if comment.column < indent:
                break
            taken.append(comments.pop(line).text)
    return taken


def header_end(lines: Sequence[str], first: int, body: int) -> int:
    """The last line of the head of a compound statement that begins on line ``first`` and whose body begins on line ``body``."""
    line = body - 1
    while line > first and (not (text := lines[line - 1].strip()) or text[0] == "#"):
        line -= 1
    return max(line, first)


def next_code_line(lines: Sequence[str], line: int) -> int:
    """The first line from ``line`` on that holds code, else the one after the last."""
    while line <= len(lines) and (not (text := lines[line - 1].strip()) or text[0] == "#"):
        line += 1
    return line
