"""Statements as people wrote them, as pieces: the same words and spellings, ready to be laid out like printed ones.

A statement comes as the tokens of its source; what the layout decides (line breaks, commas before closing brackets, brackets around a
whole value) is taken away, everything else is kept. A statement of a form that the layout does not know gives no pieces.
"""

from __future__ import annotations

import keyword
import token as kinds
import tokenize
from collections.abc import Sequence
from typing import Final, NamedTuple

from pypto.printer.pieces import FACTS, HUGGED_POWER, OPERATOR, SOFT_CLOSE, SOFT_OPEN

Pieces = list[str]

_CLOSING: Final = {"(": ")", "[": "]", "{": "}"}
_BINARY: Final = {facts.text: piece for piece, facts in FACTS.items() if facts.kind == OPERATOR and piece != HUGGED_POWER}
_WORDS: Final = frozenset(("None", "True", "False"))
_SOFT_AFTER: Final = {"return": "return ", "if": "if ", "elif": "elif ", "while": "while "}
_ADDED: Final = frozenset(("+", "-", "<<", ">>", "^", "&"))
"""Operators around which black adds brackets when they are a statement of their own."""


class Token(NamedTuple):
    """One word of a statement: its kind in :mod:`token`, and its text."""

    kind: int
    text: str


class UnknownForm(Exception):
    """The statement has something in it that the layout does not know."""


def significant(tokens: Sequence[tokenize.TokenInfo]) -> list[tokenize.TokenInfo]:
    """The tokens without comments, line ends and indentation."""
    skipped = (kinds.COMMENT, kinds.NL, kinds.NEWLINE, kinds.INDENT, kinds.DEDENT, kinds.ENDMARKER)
    return [t for t in tokens if t.type not in skipped]


def statement_pieces(tokens: Sequence[Token]) -> Pieces:
    """The pieces of a simple statement, of the head of a compound one (colon included), or of a decorator.

    Raises:
        UnknownForm: it is of a form that the layout does not know.
    """
    first = tokens[0].text
    if first in ("pass", "break", "continue", "else"):
        return [first, *([":"] if len(tokens) == 2 else [])]
    if first in _SOFT_AFTER and tokens[0].kind == kinds.NAME:
        return _after_keyword(tokens)
    if first == "for":
        return _for_head(tokens)
    if first == "with":
        return ["with ", *_Run(tokens[1:-1]).pieces(), ":"]
    if first in ("def", "class"):
        return _definition(tokens)
    if first == "@":
        return ["@", *_Run(tokens[1:]).pieces()]
    if tokens[0].kind == kinds.NAME and keyword.iskeyword(first) and first not in (*_WORDS, "not"):
        raise UnknownForm
    return _assignment_or_call(tokens)


def _after_keyword(tokens: Sequence[Token]) -> Pieces:
    is_head = tokens[0].text != "return"
    value = tokens[1:-1] if is_head else tokens[1:]
    if not value:
        return ["return"]
    return [_SOFT_AFTER[tokens[0].text], *_soft(value if is_head else _without_brackets(value)), *([":"] if is_head else [])]


def _for_head(tokens: Sequence[Token]) -> Pieces:
    at = _at_top(tokens, "in")
    if at is None:
        raise UnknownForm
    targets = _without_brackets(tokens[1:at])
    written = _Run(targets).pieces()
    if not _is_bracketed(targets):
        written = [SOFT_OPEN, *written, SOFT_CLOSE]
    return ["for ", *written, " in ", *_soft(tokens[at + 1 : -1]), ":"]


def _definition(tokens: Sequence[Token]) -> Pieces:
    head = [f"{tokens[0].text} ", tokens[1].text]
    rest = tokens[2:-1]
    if tokens[0].text == "class":
        return [*head, *(_Run(rest, operand=True).pieces() if len(rest) > 2 else ()), ":"]
    at = _at_top(rest, "->")
    if at is None:
        return [*head, *_Run(rest, operand=True, is_header=True).pieces(), ":"]
    return [*head, *_Run(rest[:at], operand=True, is_header=True).pieces(), " -> ", *_soft(rest[at + 1 :]), ":"]


def _assignment_or_call(tokens: Sequence[Token]) -> Pieces:
    equal = _at_top(tokens, "=")
    if equal is None:
        value = _Run(tokens)
        pieces = value.pieces()
        return [SOFT_OPEN, *pieces, SOFT_CLOSE] if value.top_operators and value.top_operators <= _ADDED else pieces
    if _at_top(tokens[equal + 1 :], "=") is not None:
        raise UnknownForm
    target, value_tokens = tokens[:equal], tokens[equal + 1 :]
    target = _without_brackets(target)
    colon = _at_top(target, ":")
    out: Pieces
    if colon is not None:
        out = [*_Run(target[:colon]).pieces(), ": ", *_soft(target[colon + 1 :])]
    elif _has_comma(target):
        out = [SOFT_OPEN, *_Run(target).pieces(), SOFT_CLOSE]
    else:
        out = _Run(target).pieces()
    return [*out, " = ", *_soft(value_tokens)]


def _soft(tokens: Sequence[Token]) -> Pieces:
    """A whole value between soft brackets; brackets of its own around all of it become soft ones, those of tuples stay."""
    while _is_bracketed(tokens) and len(tokens) > 2 and not _has_comma(tokens[1:-1]) and not _is_generator(tokens[1:-1]):
        tokens = tokens[1:-1]
    return [SOFT_OPEN, *_Run(tokens).pieces(), SOFT_CLOSE]


def _without_brackets(tokens: Sequence[Token]) -> Sequence[Token]:
    """Several values, or one, without the brackets around all of them; a tuple of one keeps its own."""
    while _is_bracketed(tokens) and len(tokens) > 2:
        inside = tokens[1:-1]
        ends_in_comma = inside[-1].text == ","
        if _is_generator(inside) or (ends_in_comma and _count_commas(inside) == 1):
            break
        tokens = inside[:-1] if ends_in_comma else inside
    return tokens


def _is_generator(tokens: Sequence[Token]) -> bool:
    return any(t.text in ("for", "yield", ":=", "await") for t in tokens)


def _is_bracketed(tokens: Sequence[Token]) -> bool:
    """True when one pair of parentheses is around all of the tokens."""
    if len(tokens) < 2 or tokens[0].text != "(" or tokens[-1].text != ")":
        return False
    level = 0
    for at, item in enumerate(tokens):
        if item.kind == kinds.OP:
            level += (item.text in _CLOSING) - (item.text in _CLOSING.values())
            if not level and at < len(tokens) - 1:
                return False
    return True


def _at_top(tokens: Sequence[Token], text: str) -> int | None:
    """Where a word first stands outside of brackets."""
    level = 0
    for at, item in enumerate(tokens):
        if not level and item.text == text and item.kind in (kinds.OP, kinds.NAME):
            return at
        if item.kind == kinds.OP:
            level += (item.text in _CLOSING) - (item.text in _CLOSING.values())
    return None


def _has_comma(tokens: Sequence[Token]) -> bool:
    return _at_top(tokens, ",") is not None


def _count_commas(tokens: Sequence[Token]) -> int:
    level = count = 0
    for item in tokens:
        count += not level and item.text == ","
        if item.kind == kinds.OP:
            level += (item.text in _CLOSING) - (item.text in _CLOSING.values())
    return count


class _Bracket:
    """An open bracket: what kind it is of, where its element begins, and whether slices in that element take blanks."""

    __slots__ = ("commas", "is_call", "is_dict", "is_header", "is_subscript", "start", "text")

    def __init__(self, text: str, start: int, *, is_operand: bool, is_header: bool) -> None:
        self.text = text
        self.start = start
        self.commas = 0
        self.is_call = text == "(" and is_operand
        self.is_subscript = text == "[" and is_operand
        self.is_dict = text == "{"
        self.is_header = is_header


class _Run:
    """Turns the tokens of an expression, or of something written like one, into pieces."""

    def __init__(self, tokens: Sequence[Token], *, operand: bool = False, is_header: bool = False) -> None:
        self.tokens = tokens
        self.operand = operand
        self.is_header = is_header
        self.out: Pieces = []
        self.open: list[_Bracket] = []
        self.top_operators: set[str] = set()
        self.annotated = False

    def pieces(self) -> Pieces:
        """The pieces.

        Raises:
            UnknownForm: there is something in it that the layout does not know.
        """
        at = 0
        tokens = self.tokens
        while at < len(tokens):
            item = tokens[at]
            if item.kind == kinds.NAME:
                at = self._name(at)
            elif item.kind in (kinds.NUMBER, kinds.STRING):
                self._operand(_string(item.text) if item.kind == kinds.STRING else item.text)
                at += 1
            elif item.kind == kinds.OP:
                self._operator(at)
                at += 1
            else:
                raise UnknownForm
        if self.open:
            raise UnknownForm
        return self.out

    def _operand(self, text: str) -> None:
        if self.operand:
            raise UnknownForm
        self.out.append(text)
        self.operand = True

    def _name(self, at: int) -> int:
        tokens = self.tokens
        text = tokens[at].text
        if text in ("and", "or"):
            self._binary(text)
            return at + 1
        if text == "not" and not self.operand:
            self.out.append("not ")
            return at + 1
        if text == "as" and self.operand and not self.open:
            self.out.append(" as ")
            self.operand = False
            return at + 1
        if keyword.iskeyword(text) and text not in _WORDS:
            raise UnknownForm
        parts = [text]
        at += 1
        while at + 1 < len(tokens) and tokens[at].text == "." and tokens[at + 1].kind == kinds.NAME:
            parts.append(tokens[at + 1].text)
            at += 2
        self._operand(".".join(parts))
        return at

    def _binary(self, text: str) -> None:
        if not self.operand:
            raise UnknownForm
        if not self.open:
            self.top_operators.add(text)
        self.out.append(_BINARY[text])
        self.operand = False

    def _operator(self, at: int) -> None:
        text = self.tokens[at].text
        if text in _CLOSING:
            self.open.append(_Bracket(text, at + 1, is_operand=self.operand, is_header=self.is_header and not self.open))
            self.out.append(text)
            self.operand = False
        elif text in (")", "]", "}"):
            self._close(text)
        elif text == ",":
            self._comma(at)
        elif text == ":":
            self._colon(at)
        elif text == "=":
            bracket = self.open[-1] if self.open else None
            if bracket is None or not self.operand or not bracket.is_call:
                raise UnknownForm
            self.out.append(" = " if self.annotated and bracket.is_header else "=")
            self.operand = False
        elif text == "...":
            self._operand(text)
        elif text == "**":
            self._power(at)
        elif text in ("-", "~") and not self.operand:
            self.out.append(text)
        elif text in _BINARY:
            self._binary(text)
        else:
            raise UnknownForm

    def _close(self, text: str) -> None:
        if not self.open or _CLOSING[self.open[-1].text] != text:
            raise UnknownForm
        self.open.pop()
        self.out.append(text)
        self.operand = True

    def _comma(self, at: int) -> None:
        if not self.operand:
            raise UnknownForm
        bracket = self.open[-1] if self.open else None
        self.operand = False
        self.annotated = False
        following = self.tokens[at + 1].text if at + 1 < len(self.tokens) else ""
        if bracket is None:
            if not following:
                raise UnknownForm
            self.out.append(", ")
            return
        bracket.commas += 1
        bracket.start = at + 1
        if following != _CLOSING[bracket.text]:
            self.out.append(", ")
        elif bracket.commas == 1 and (bracket.is_subscript or (bracket.text == "(" and not bracket.is_call)):
            self.out.append(",")  # a tuple of one

    def _colon(self, at: int) -> None:
        bracket = self.open[-1] if self.open else None
        if bracket is not None and bracket.is_header and bracket.is_call:
            self.out.append(": ")
            self.annotated = True
        elif bracket is not None and bracket.is_dict and self.operand:
            self.out.append(": ")
        elif bracket is not None and bracket.is_subscript:
            self._slice(at, bracket)
        else:
            raise UnknownForm
        self.operand = False

    def _slice(self, at: int, bracket: _Bracket) -> None:
        element = self._element(bracket.start)
        if sum(t.text == ":" for t in element) != 1:
            raise UnknownForm
        if not _is_complex(element):
            self.out.append(":")
            return
        before, after = at > bracket.start, bracket.start + len(element) > at + 1
        self.out.append(f"{' ' * before}:{' ' * after}")

    def _element(self, start: int) -> Sequence[Token]:
        """The tokens from ``start`` to the comma or bracket that ends an element."""
        level = 0
        for at in range(start, len(self.tokens)):
            text = self.tokens[at].text if self.tokens[at].kind == kinds.OP else ""
            if not level and text in (",", ")", "]", "}"):
                return self.tokens[start:at]
            level += (text in _CLOSING) - (text in (")", "]", "}"))
        raise UnknownForm

    def _power(self, at: int) -> None:
        if not self.operand:
            raise UnknownForm
        rest = [t.text for t in self.tokens[at + 1 : at + 4]]
        negative = bool(rest) and rest[0] == "-"
        value = rest[negative] if len(rest) > negative else ""
        after = rest[negative + 1] if len(rest) > negative + 1 else ""
        simple_left = self.out[-1] not in (")", "]", "}")
        simple_right = value[:1].isalnum() or value[:1] in ("_", ".")
        self.out.append(HUGGED_POWER if simple_left and simple_right and after not in ("(", "[") else " ** ")
        self.operand = False


def _is_complex(element: Sequence[Token]) -> bool:
    """Whether black writes blanks around the colons of a slice: some part of it is more than a name or a number."""
    previous = ""
    for item in element:
        text = item.text
        if text in ("(", "[", ".", "and", "or", "not") or (text in _BINARY and previous not in ("", ":")) or text == "**":
            return True
        previous = text
    return False


def _string(text: str) -> str:
    """A string literal in double quotes, where that changes nothing but the quotes."""
    if text[-1:] == "'" and not text.endswith("'''"):
        start = text.index("'")
        inside = text[start + 1 : -1]
        if '"' not in inside and "\\" not in inside and "f" not in text[:start].lower():
            return f'{text[:start]}"{inside}"'
    return text
