"""The pieces that printed statements are made of.

A statement is emitted as a list of strings, one for each bracket, comma, operator, keyword and operand, in reading order. Joined, they are
the statement on one line; when that is too long, :mod:`pypto.printer.layout` takes the same list as its document: brackets are pieces of
their own, so the nesting is already there, and every place where a line may break is a piece of a known kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, NamedTuple


class Soft(str):
    """A bracket that is only written when the layout needs it: around a right-hand side, a condition, a result type."""

    __slots__ = ()


SOFT_OPEN: Final = Soft("")
SOFT_CLOSE: Final = Soft("")

WORD, OPEN, CLOSE, COMMA, OPERATOR, EQUAL, FOR, IN, DEF, MARK = range(10)
"""Kinds of piece. ``MARK`` is everything that is neither an operand nor a place to break: keywords, colons, prefix operators."""

COMMA_PRIORITY: Final = 18
"""Lines break at the delimiters of the highest priority first."""


class PieceFacts(NamedTuple):
    """What the layout knows of a fixed piece: its text without blanks, the blanks around it, kind, break priority, kind of bracket."""

    text: str
    before: bool
    after: bool
    kind: int
    priority: int = 0
    bracket: str = ""


_OPERATORS: Final = {
    14: ("and", "or"),
    10: ("==", "!=", "<", "<=", ">", ">="),
    9: ("|",),
    8: ("^",),
    7: ("&",),
    6: ("<<", ">>"),
    5: ("+", "-"),
    4: ("*", "/", "//", "%"),
    2: ("**",),
}


def _facts() -> dict[str, PieceFacts]:
    facts = {
        ", ": PieceFacts(",", False, True, COMMA, COMMA_PRIORITY),
        ",": PieceFacts(",", False, False, COMMA, COMMA_PRIORITY),
        " = ": PieceFacts("=", True, True, EQUAL),
        "=": PieceFacts("=", False, False, EQUAL),
        "for ": PieceFacts("for", False, True, FOR),
        " in ": PieceFacts("in", True, True, IN),
        "def ": PieceFacts("def", False, True, DEF),
        "**": PieceFacts("**", True, True, OPERATOR, 2),
    }
    for opening, closing in ("()", "[]", "{}"):
        facts[opening] = PieceFacts(opening, False, False, OPEN, 0, opening)
        facts[closing] = PieceFacts(closing, False, False, CLOSE, 0, opening)
    marks = (
        ": ",
        ":",
        " : ",
        " :",
        " -> ",
        " as ",
        "return ",
        "if ",
        "elif ",
        "while ",
        "with ",
        "class ",
        "not ",
        "-",
        "~",
        "@",
    )
    for mark in marks:
        facts[mark] = PieceFacts(mark.strip(), mark.startswith(" "), mark.endswith(" "), MARK)
    for priority, words in _OPERATORS.items():
        for word in words:
            facts[f" {word} "] = PieceFacts(word, True, True, OPERATOR, priority)
    return facts


FACTS: Final = _facts()
"""Every piece that is not an operand."""

HUGGED_POWER: Final = "**"
"""The power operator between simple operands, which is written without blanks."""


def is_hugged(following: Iterable[str]) -> bool:
    """Whether black takes the blanks away from a power of simple operands; ``following`` are the texts after it on the line.

    It keeps them where only names and words such as ``or`` stand between the operator and the next opening bracket.
    """
    for at, text in enumerate(following):
        word = text.strip()
        if word in ("(", "["):
            return False
        if at == 0 and word in ("-", "~"):
            continue
        if not word.replace(".", "_").isidentifier():
            return True
    return True


def join_pieces(pieces: Sequence[str]) -> str:
    """Pieces as one line of text."""
    if HUGGED_POWER in pieces:
        pieces = [
            " ** " if piece == HUGGED_POWER and not is_hugged(islice(pieces, at + 1, None)) else piece
            for at, piece in enumerate(pieces)
        ]
    return "".join(pieces)


_ESCAPES: Final = {"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def quoted(text: str) -> str:
    """A string literal of ``text``: in double quotes unless single ones need fewer escapes; what does not print is escaped."""
    if text.isidentifier():
        return f'"{text}"'
    quote = "'" if text.count('"') > text.count("'") else '"'
    out: list[str] = []
    for char in text:
        known = _ESCAPES.get(char)
        if char == quote:
            out.append(f"\\{char}")
        elif known is not None:
            out.append(known)
        elif char.isprintable():
            out.append(char)
        else:
            code = ord(char)
            out.append(f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
    return quote + "".join(out) + quote
