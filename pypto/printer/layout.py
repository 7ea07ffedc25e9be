"""Breaking statements that are too long for a line, the way black breaks them.

The document is the list of pieces of one statement (see :mod:`pypto.printer.pieces`). It becomes a line of tokens; a line that does not
fit is split, and each part again, by one of three splits: at the first bracket (function headers), at the delimiters of the highest
priority (inside brackets), or at the last bracket (everything else). The last one tries earlier brackets while the trailing ones fit, and
decides whether to write the optional ("soft") parentheses. The rules are those of black's stable style; black is the oracle of the tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from itertools import islice
from unicodedata import combining, east_asian_width

from pypto.printer.pieces import (
    CLOSE,
    COMMA,
    COMMA_PRIORITY,
    DEF,
    EQUAL,
    FACTS,
    FOR,
    HUGGED_POWER,
    IN,
    OPEN,
    OPERATOR,
    SOFT_CLOSE,
    SOFT_OPEN,
    WORD,
    Soft,
    is_hugged,
    join_pieces,
)

INDENT = "    "

DEEPEST = 180
"""Statements nested deeper than this stay on one line; Python itself refuses 200. Splits inside splits go no deeper either."""


def width_of(text: str) -> int:
    """The columns that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(c) in "WF" else 0 if combining(c) else 1 for c in text)


class _Token:
    """One piece on its way through the layout. ``soft`` brackets have no text until they are needed."""

    __slots__ = (
        "added",
        "atom",
        "bracket",
        "depth",
        "hug",
        "kind",
        "opening",
        "priority",
        "soft",
        "space",
        "text",
    )

    def __init__(self, text: str, space: bool, kind: int, priority: int, bracket: str) -> None:
        self.text = text
        self.space = space
        self.kind = kind
        self.priority = priority
        self.bracket = bracket
        self.atom = False
        self.soft = False
        self.opening: _Token | None = None
        self.depth = 0
        self.hug = False
        self.added = False

    def copy(self) -> _Token:
        other = _Token(self.text, self.space, self.kind, self.priority, self.bracket)
        other.atom = self.atom
        other.soft = self.soft
        other.hug = self.hug
        return other

    @property
    def length(self) -> int:
        return len(self.text) + self.space

    def show(self) -> None:
        """Write a soft bracket."""
        if not self.text:
            self.text = self.bracket if self.kind == OPEN else _CLOSING[self.bracket]


_CLOSING = {"(": ")", "[": "]", "{": "}"}


class _CannotSplit(Exception):
    """This way of splitting does not apply or does not help."""


class _Line:
    """A run of tokens that may become a physical line, and the delimiters and soft brackets outside its inner brackets."""

    __slots__ = (
        "_for_depths",
        "_level",
        "_open",
        "_previous",
        "delimiters",
        "depth",
        "explode",
        "inside",
        "magic",
        "soft",
        "tokens",
    )

    def __init__(self, depth: int, inside: bool) -> None:
        self.depth = depth
        self.inside = inside
        self.explode = False
        self.magic = False
        self.tokens: list[_Token] = []
        self.delimiters: dict[_Token, int] = {}
        self.soft: list[_Token] = []
        self._level = 0
        self._open: dict[tuple[int, str], _Token] = {}
        self._previous: _Token | None = None
        self._for_depths: list[int] = []

    def append(self, token: _Token, track: bool = False) -> None:
        """Add a token; lines inside brackets always keep track of their delimiters, others where asked."""
        if self.inside or track:
            self._mark(token)
            if token.kind == CLOSE and self.tokens and self.tokens[-1].kind == COMMA and self._is_magic(token):
                self.magic = True
        self.tokens.append(token)

    def _is_magic(self, closing: _Token) -> bool:
        """Whether the comma before a closing bracket asks for one element a line; that of a tuple of one does not."""
        opening = closing.opening
        if closing.bracket == "{":
            return True
        if closing.bracket == "[" and (opening is None or opening.atom):
            return True
        return opening is not None and not _is_one_sequence(self.tokens, len(self.tokens), closing)

    def _mark(self, token: _Token) -> None:
        kind = token.kind
        if kind == CLOSE and self._level == 0:
            return
        if kind == IN and self._for_depths and self._for_depths[-1] == self._level:
            self._level -= 1
            self._for_depths.pop()
        if kind == CLOSE:
            self._level -= 1
            token.opening = self._open.pop((self._level, token.bracket))
            if not token.text:
                self.soft.append(token)
        token.depth = self._level
        if self._level == 0:
            if kind == OPERATOR and self._previous is not None:
                self.delimiters[self._previous] = token.priority
            elif kind == COMMA:
                self.delimiters[token] = COMMA_PRIORITY
        if kind == OPEN:
            self._open[self._level, token.bracket] = token
            self._level += 1
            if not token.text:
                self.soft.append(token)
        self._previous = token
        if kind == FOR:
            self._level += 1
            self._for_depths.append(self._level)

    def text(self, hug: bool = False) -> str:
        """The line as text; ``hug`` writes powers of simple operands without blanks."""
        parts = [INDENT * self.depth]
        tokens = self.tokens
        last = len(tokens) - 1
        hugging = False
        for at, token in enumerate(tokens):
            here = hug and token.hug and 0 < at < last and is_hugged(t.text for t in islice(tokens, at + 1, None))
            if token.space and at and not here and not hugging:
                parts.append(" ")
            hugging = here
            parts.append(token.text)
        return "".join(parts)

    def max_priority(self, without: _Token | None = None) -> int:
        """The highest priority of a delimiter, 0 when there is none."""
        return max((p for t, p in self.delimiters.items() if t is not without), default=0)

    def count(self, priority: int) -> int:
        """How many delimiters have that priority."""
        return sum(1 for p in self.delimiters.values() if p == priority)


class _Split:
    """A line cut at a bracket pair: up to the opening one, what is inside, and from the closing one on."""

    __slots__ = ("body", "closing", "head", "opening", "tail")

    def __init__(self, head: _Line, body: _Line, tail: _Line, opening: _Token, closing: _Token) -> None:
        self.head = head
        self.body = body
        self.tail = tail
        self.opening = opening
        self.closing = closing

    def lines(self) -> list[_Line]:
        return [line for line in (self.head, self.body, self.tail) if line.tokens]


_Splitter = Callable[["_Layout", _Line, bool], list[_Line]]


def lay_out(pieces: Sequence[str], depth: int, width: int) -> list[str]:
    """The physical lines of a statement whose indent is ``depth`` levels, none longer than ``width`` where that is possible."""
    tokens, nesting = _tokens(pieces)
    if nesting > DEEPEST:
        return [INDENT * depth + join_pieces(pieces)]
    layout = _Layout(width)
    lines = layout.statement(tokens, depth)
    shown = [line.text(hug=True) for line in lines]
    # A comma that the layout adds makes black keep the elements apart from then on, which can change where the rest breaks.
    for _ in range(4):
        if not any(token.added for line in lines for token in line.tokens):
            break
        lines = layout.statement(_settled(lines), depth)
        before, shown = shown, [line.text(hug=True) for line in lines]
        if shown == before:
            break
    return shown


def _settled(lines: Sequence[_Line]) -> list[_Token]:
    """The tokens of a finished layout as those of a new statement: added commas are there to stay, soft brackets soft again."""
    tokens = [token for line in lines for token in line.tokens]
    commas: list[bool] = []
    pairs: list[_Token] = []
    for token in tokens:
        token.added = False
        if token.kind == OPEN:
            pairs.append(token)
            commas.append(False)
        elif token.kind == COMMA and commas:
            commas[-1] = True
        elif token.kind == CLOSE:
            opening, holds_commas = pairs.pop(), commas.pop()
            if opening.soft and opening.text:
                if holds_commas and opening is not tokens[0] and not (tokens[0].kind == FOR and opening is tokens[1]):
                    opening.soft = token.soft = False
                else:
                    opening.text = token.text = ""
    return tokens


def _tokens(pieces: Sequence[str]) -> tuple[list[_Token], int]:
    tokens: list[_Token] = []
    space = False
    operand = False
    level = deepest = 0
    for piece in pieces:
        facts = FACTS.get(piece)
        if facts is None:
            if isinstance(piece, Soft):
                opens = piece is SOFT_OPEN
                token = _Token("", space, OPEN if opens else CLOSE, 0, "(")
                token.atom = opens
                token.soft = True
                operand = piece is SOFT_CLOSE
            else:
                token = _Token(piece, space, WORD, 0, "")
                operand = True
            space = False
        else:
            kind = facts.kind
            token = _Token(facts.text, facts.before or space, kind, facts.priority, facts.bracket)
            space = facts.after
            if kind == OPEN:
                token.atom = not operand
                level += 1
                deepest = max(deepest, level)
            elif kind == CLOSE:
                level -= 1
            operand = kind == CLOSE
            if piece == HUGGED_POWER:
                token.hug = True
        tokens.append(token)
    return tokens, deepest


class _Layout:
    def __init__(self, width: int) -> None:
        self.width = width
        self.level = 0

    def fits(self, line: _Line) -> bool:
        return width_of(line.text()) <= self.width

    def statement(self, tokens: Sequence[_Token], depth: int) -> list[_Line]:
        """The lines of a whole statement."""
        line = _Line(depth, False)
        for token in tokens:
            line.append(token, True)
        return self.transform(line, False)

    # -- the driver ------------------------------------------------------------------------------------------------------

    def transform(self, line: _Line, forced: bool) -> list[_Line]:
        """The lines that a line becomes. ``forced`` writes the soft brackets wherever it splits at them."""
        text = line.text()
        hugged = line.text(hug=True) if any(t.hug for t in line.tokens) else text
        splitters: tuple[_Splitter, ...]
        if not line.explode and not line.magic and width_of(hugged) <= self.width:
            return [line]
        if line.tokens[0].kind == DEF and not _keeps_result_apart(line):
            splitters = (_Layout.split_left,)
        elif line.inside:
            splitters = (_Layout.split_delimiters, _Layout.split_right)
        else:
            splitters = (_Layout.split_right,)
        if self.level > DEEPEST:
            return [line]
        self.level += 1
        try:
            for splitter in splitters:
                try:
                    return self.run(line, splitter, forced, text)
                except _CannotSplit:
                    continue
            return [line]
        finally:
            self.level -= 1

    def run(self, line: _Line, splitter: _Splitter, forced: bool, text: str) -> list[_Line]:
        """Split and transform the parts; where the first line is still too long, see whether writing the soft brackets helps."""
        optional = [token for token in line.soft if token.depth == 0]
        result: list[_Line] = []
        for part in splitter(self, line, forced):
            if part.text() == text:
                raise _CannotSplit
            result.extend(self.transform(part, forced))
        if (
            forced
            or splitter is not _Layout.split_right
            or not line.soft
            or any(token.text for token in optional)
            or self.fits(result[0])
            or any(token.added for token in line.tokens)
        ):
            return result
        again = _Line(line.depth, line.inside)
        again.explode = line.explode
        for token in line.tokens:
            again.append(token.copy(), True)
        second = self.run(again, splitter, True, text)
        return second if all(self.fits(part) for part in second) else result

    # -- at the first bracket --------------------------------------------------------------------------------------------

    def split_left(self, line: _Line, forced: bool) -> list[_Line]:
        """Function headers: the parameters, or, when there are none, the result type, on lines of their own."""
        for bracket in "([":
            head: list[_Token] = []
            body: list[_Token] = []
            tail: list[_Token] = []
            current = head
            matching: _Token | None = None
            for token in line.tokens:
                if current is body and token.kind == CLOSE and matching is not None and token.opening is matching:
                    token.show()
                    matching.show()
                    current = tail if body else head
                current.append(token)
                if current is head and token.kind == OPEN and token.bracket == bracket:
                    matching = token
                    current = body
            if matching is not None and tail:
                split = self.built(line, head, body, tail, matching, tail[0])
                return split.lines()
        raise _CannotSplit

    # -- at the last bracket ---------------------------------------------------------------------------------------------

    def split_right(self, line: _Line, forced: bool) -> list[_Line]:
        """At the last bracket pair, or at an earlier one when that leaves the first line short enough."""
        before: dict[_Token, int] = {}
        length = 4 * line.depth
        for token in line.tokens:
            before[token] = length
            length += token.length
        first: list[_Line] | None = None
        for omit in self.trailers_to_omit(line):
            if omit:
                last = next((t for t in reversed(line.tokens) if t.kind == CLOSE and t not in omit), None)
                opening = None if last is None else last.opening
                if opening is not None and opening.text and before.get(opening, 0) > self.width:
                    continue
            lines = self.split_at_last(line, forced, omit)
            if first is None and not omit:
                first = lines
            if self.fits(lines[0]):
                return lines
        return first if first is not None else self.split_at_last(line, forced, frozenset())

    def trailers_to_omit(self, line: _Line) -> Iterator[Set[_Token]]:
        """Growing sets of closing brackets from the right that could stay on one line, the empty set first."""
        omit: set[_Token] = set()
        if not line.magic:
            yield omit
        length = 4 * line.depth
        opening: _Token | None = None
        closing: _Token | None = None
        inner: set[_Token] = set()
        tokens = line.tokens
        for at in range(len(tokens) - 1, -1, -1):
            token = tokens[at]
            length += token.length
            if length > self.width:
                break
            if opening is not None:
                if token is opening:
                    opening = None
                elif token.kind == CLOSE:
                    if self.is_after_comma(tokens, at, token):
                        break
                    inner.add(token)
            elif token.kind == CLOSE:
                if at and tokens[at - 1].kind == OPEN:
                    inner.add(token)
                    continue
                if closing is not None:
                    omit.add(closing)
                    omit.update(inner)
                    inner.clear()
                    yield omit
                if self.is_after_comma(tokens, at, token):
                    break
                if token.text:
                    opening = token.opening
                    closing = token

    @staticmethod
    def is_after_comma(tokens: list[_Token], at: int, closing: _Token) -> bool:
        """True for a bracket pair with a trailing comma that is not the comma of a tuple of one."""
        if not at or tokens[at - 1].kind != COMMA or closing.opening is None:
            return False
        return closing.bracket != "(" or not _is_one_sequence(tokens, at, closing)

    def split_at_last(self, line: _Line, forced: bool, omit: Set[_Token]) -> list[_Line]:
        return self.without_soft(self.cut_at_last(line, omit), line, forced, omit)

    def cut_at_last(self, line: _Line, omit: Set[_Token]) -> _Split:
        tail: list[_Token] = []
        body: list[_Token] = []
        head: list[_Token] = []
        current = tail
        opening: _Token | None = None
        closing: _Token | None = None
        for token in reversed(line.tokens):
            if current is body and token is opening:
                current = head if body else tail
            current.append(token)
            if current is tail and token.kind == CLOSE and token not in omit:
                opening = token.opening
                closing = token
                current = body
        if opening is None or closing is None or not head:
            raise _CannotSplit
        tail.reverse()
        body.reverse()
        head.reverse()
        return self.built(line, head, body, tail, opening, closing)

    def built(
        self,
        line: _Line,
        head: list[_Token],
        body: list[_Token],
        tail: list[_Token],
        opening: _Token,
        closing: _Token,
    ) -> _Split:
        """The three lines of a cut; refuses a cut that would gain nothing."""
        first = _Line(line.depth, False)
        tracked = _inside_matching(head)
        for token in head:
            first.append(token, token in tracked)
        middle = _Line(line.depth + 1, True)
        if body and line.tokens[0].kind == DEF and self.wants_comma(body, opening):
            comma = _Token(",", False, COMMA, COMMA_PRIORITY, "")
            comma.added = True
            body = [*body, comma]
        for token in body:
            middle.append(token)
        middle.explode = self.must_explode(middle, opening)
        last = _Line(line.depth, False)
        for token in tail:
            last.append(token)
        if not body and len(last.text().strip()) < 3:
            raise _CannotSplit
        return _Split(first, middle, last, opening, closing)

    @staticmethod
    def wants_comma(body: list[_Token], opening: _Token) -> bool:
        """A single parameter on a line of its own gets a comma; a result type does not, nor do several parameters here."""
        return (
            opening.bracket == "("
            and not opening.atom
            and not any(t.kind == COMMA and t.depth == opening.depth + 1 for t in body)
        )

    @staticmethod
    def must_explode(body: _Line, opening: _Token) -> bool:
        """The elements of a list, tuple or dictionary that does not fit go one to a line, even when they would fit together."""
        if not body.tokens:
            return False
        last = body.tokens[-1]
        trailing = last.kind == COMMA
        highest = body.max_priority(last if trailing else None)
        return highest == COMMA_PRIORITY and (trailing or opening.atom)

    def without_soft(self, cut: _Split, line: _Line, forced: bool, omit: Set[_Token]) -> list[_Line]:
        """The lines of a cut; when it is at soft brackets, prefer a cut that can do without them."""
        if not forced and not cut.opening.text and not cut.closing.text and self.can_omit(cut):
            omit = {cut.closing, *omit}
            try:
                other = self.cut_at_last(line, omit)
                if self.is_better(other, cut):
                    return self.without_soft(other, line, forced, omit)
            except _CannotSplit:
                chained = sum(1 for t in line.tokens if t.kind == EQUAL) > 1
                if not chained and not _can_be_split(cut.body) and not self.fits(cut.body):
                    raise
        cut.opening.show()
        cut.closing.show()
        return cut.lines()

    def is_better(self, other: _Split, cut: _Split) -> bool:
        """Whether splitting inside the soft brackets reads better than splitting at them."""
        head = cut.head.tokens
        if not (len(head) >= 2 and head[-2].kind == EQUAL):
            return True
        if not any(t.kind in (OPEN, CLOSE) for t in head[:-1]):
            return True
        if width_of(cut.head.text()) > self.width - 1:
            return True
        if cut.head.magic:
            return True
        equals = sum(1 for t in head if t.kind == EQUAL)
        other_equals = sum(1 for t in other.head.tokens if t.kind == EQUAL)
        if equals > 1 and equals > other_equals:
            return False
        for token in reversed(other.head.tokens):
            if token.kind == EQUAL:
                break
            if token.kind == CLOSE:
                return True
        return other_equals > 0 and self.fits(other.head)

    def can_omit(self, cut: _Split) -> bool:
        """Whether the inside of soft brackets can be split well without writing them."""
        body = cut.body
        if not body.delimiters:
            return True
        if body.count(body.max_priority()) > 1:
            return False
        first, second = body.tokens[0], body.tokens[1]
        if first.kind == OPEN and second.kind != CLOSE and self.opens_well(body, first):
            return True
        before, last = body.tokens[-2], body.tokens[-1]
        if last.kind == CLOSE and (last.bracket != "[" or (last.opening is not None and last.opening.atom)):
            if before.kind == OPEN:
                return False
            return self.closes_well(body, last)
        return False

    def opens_well(self, line: _Line, first: _Token) -> bool:
        """After the first bracket pair the rest fits, or has brackets of its own."""
        remainder = False
        length = 4 * line.depth
        for token in line.tokens:
            if token.kind == CLOSE and token.opening is first:
                remainder = True
            if remainder:
                length += token.length
                if length > self.width:
                    return False
                if token.kind == OPEN:
                    remainder = False
        return True

    def closes_well(self, line: _Line, last: _Token) -> bool:
        """Up to the last bracket pair the line fits, or has other brackets to split at."""
        length = 4 * line.depth
        others = False
        for token in line.tokens:
            length += token.length
            if token is last.opening:
                if others or length <= self.width:
                    return True
            elif token.kind == OPEN:
                others = True
        return False

    # -- at the delimiters -----------------------------------------------------------------------------------------------

    def split_delimiters(self, line: _Line, forced: bool) -> list[_Line]:
        """One line for each operand of the operators (or element of the list) of the highest priority."""
        last = line.tokens[-1]
        priority = line.max_priority(last)
        if not priority:
            raise _CannotSplit
        lines: list[_Line] = []
        current = _Line(line.depth, line.inside)
        for token in line.tokens:
            current.append(token)
            if line.delimiters.get(token) == priority:
                lines.append(current)
                current = _Line(line.depth, line.inside)
        if current.tokens:
            if priority == COMMA_PRIORITY and current.tokens[-1].kind != COMMA:
                comma = _Token(",", False, COMMA, COMMA_PRIORITY, "")
                comma.added = True
                current.append(comma)
            lines.append(current)
        return lines


def _is_one_sequence(tokens: Sequence[_Token], end: int, closing: _Token) -> bool:
    """Whether what is between a closing bracket, at ``end``, and its opening one is a tuple of one, or arguments without a comma."""
    opening = closing.opening
    depth = closing.depth + 1
    most = 1 if opening is not None and opening.atom else 0
    commas = 0
    for at in range(end - 1, -1, -1):
        token = tokens[at]
        if token is opening:
            return commas <= most
        if token.kind == COMMA and token.depth == depth:
            commas += 1
    return False


def _keeps_result_apart(line: _Line) -> bool:
    """Whether a function header has a result type that ends in a comma, which then is what is split."""
    tokens = line.tokens
    start = next((at for at, token in enumerate(tokens) if token.text == "->"), len(tokens))
    result = _Line(line.depth, False)
    part = [token for token in tokens[start + 1 :] if token.text != ":"]
    tracked = _inside_matching(part)
    for token in part:
        result.append(token, token in tracked)
    return result.magic


def _can_be_split(line: _Line) -> bool:
    """False for a single operand."""
    return len(line.tokens) > 1 or "." in line.tokens[0].text


def _inside_matching(tokens: Sequence[_Token]) -> set[_Token]:
    """The tokens that are inside, or are, bracket pairs that open and close among ``tokens``."""
    found: set[_Token] = set()
    stack: list[tuple[str, list[_Token]]] = []
    started = False
    for token in tokens:
        if token.kind == OPEN:
            started = True
            stack.append((token.bracket, [token]))
        elif token.kind == CLOSE and started:
            if not stack or stack[-1][0] != token.bracket:
                break
            level = stack.pop()[1]
            level.append(token)
            found.update(level)
        elif stack:
            stack[-1][1].append(token)
    return found
