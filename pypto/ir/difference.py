"""A difference between two nodes or types as a value, and as text: where, what kind, why, and both sides in source form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import NamedTuple

__all__ = ["Difference", "MarkedLine", "compare_lines", "is_reordered", "kind_of"]

_SHOWN_COLUMNS = 160
"""Longer lines are cut around what differs."""

_SHOWN_LINES = 40
"""Longer excerpts are cut."""

_WORDS = re.compile(r"\w+|\s+|.")


class MarkedLine(NamedTuple):
    """A line of an excerpt: `` `` on both sides, ``-`` only left, ``+`` only right; ``spans`` are the columns that differ."""

    sign: str
    text: str
    spans: Sequence[tuple[int, int]] = ()

    def carets(self) -> str | None:
        """The line that goes below, with carets under what differs; None when nothing is marked."""
        if not self.spans:
            return None
        below = [" "] * max(end for _, end in self.spans)
        for start, end in self.spans:
            below[start:end] = "^" * (end - start)
        return "".join(below)


@dataclass(frozen=True)
class Difference:
    """The first difference of two things.

    ``path`` leads to it; ``kind`` is one of the words of :func:`kind_of`; ``sides`` are the two parts that differ; ``excerpt`` shows the
    statement around them, named in ``place``.
    """

    path: str
    reason: str
    kind: str
    sides: tuple[str, str]
    is_block: bool = False
    place: str = ""
    excerpt: Sequence[MarkedLine] = field(default=())

    def text(self) -> str:
        """The whole report."""
        return "\n".join((self.headline(), "", *self.sides_shown(), "", f"Reason: {self.reason}", *self.context()))

    def headline(self) -> str:
        """The first line of the report."""
        return "Structural equality assertion failed" + (f" at: {self.path}" if self.path else "")

    def sides_shown(self) -> Iterator[str]:
        """The two parts that differ."""
        left, right = self.sides
        if not self.is_block:
            yield from (f"Left: {left}", f"Right: {right}")
            return
        for title, mine, other in (("Left-hand side:", left, right), ("Right-hand side:", right, left)):
            yield title
            lines = mine.split("\n")
            single = len(lines) == 1 and "\n" not in other and not self.excerpt
            for line in lines:
                yield f"  {line}"
            if single:
                below = MarkedLine(" ", mine, _spans(mine, other)[0]).carets()
                if below:
                    yield f"  {below}"

    def context(self) -> Iterator[str]:
        """The kind of difference, and the statement around it as a diff with marks."""
        yield f"Kind: {self.kind}"
        if not self.excerpt:
            return
        yield ""
        yield f"{self.place} (- left, + right)"
        for line in self.excerpt:
            yield f"{line.sign} {line.text}".rstrip()
            below = line.carets()
            if below:
                yield f"? {below}"


_KINDS: Sequence[tuple[str, str]] = (
    (r"^Comment", "comment"),
    (r"^Kwargs|\['\w*'\]", "attribute"),
    (r"^Operator name", "operator"),
    (r"^Variable name|^String value", "name"),
    (r"^Map ", "function"),
    (r"^Variable (pointer|mapping)", "variable"),
    (r"^MemRef|memref", "memory reference"),
    (r"^double value", "constant bits"),
    (r"^(int64_t|Bool) value", "constant"),
    (r"^Integer value|^ParamDirection|^Level|^Role|^FunctionType|^ForKind|^SplitMode|^Optional field", "property"),
    (r"[Tt]ype|View|layout|dtype", "type"),
)


def kind_of(reason: str, what: str = "") -> str:
    """What kind of difference a reason tells of; ``what`` is the kind of node where nodes of two kinds meet.

    One of: comment, attribute, operator, name, function, variable, memory reference, constant bits, constant, property, type, missing
    statement, order, statement, expression, number of operands.
    """
    if reason.startswith(("Node type", "One node")):
        return what or "expression"
    if reason.startswith("Vector size"):
        return what or "number of operands"
    return next((kind for pattern, kind in _KINDS if re.search(pattern, reason)), "property")


# -- lines -----------------------------------------------------------------------------------------------------------------


def compare_lines(
    left: Sequence[str], right: Sequence[str], left_place: tuple[int, int], right_place: tuple[int, int], around: int = 2
) -> list[MarkedLine]:
    """Two ranges of lines as an excerpt, with what differs in lines that correspond, and some lines around.

    Args:
        left: all lines of the left side.
        right: all lines of the right side.
        left_place: the range on the left: the first line, and the one after the last.
        right_place: the range on the right.
        around: how many lines before and after are shown.
    """
    (a, b), (c, d) = left_place, right_place
    before = [MarkedLine(" ", line) for line in left[max(0, a - around) : a]]
    after = [MarkedLine(" ", line) for line in left[b : b + around]]
    middle: list[MarkedLine] = []
    matcher = SequenceMatcher(None, left[a:b], right[c:d], autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        ours, theirs = left[a + i1 : a + i2], right[c + j1 : c + j2]
        if tag == "equal":
            middle += _shortened([MarkedLine(" ", line) for line in ours], around)
        elif len(ours) == len(theirs):
            for one, other in zip(ours, theirs, strict=True):
                spans = _spans(one, other)
                middle += (MarkedLine("-", one, spans[0]), MarkedLine("+", other, spans[1]))
        else:
            middle += [MarkedLine("-", line) for line in ours]
            middle += [MarkedLine("+", line) for line in theirs]
    whole = _cut([*before, *middle, *after])
    return _dedented([_narrowed(line) for line in whole])


def _shortened(lines: list[MarkedLine], around: int) -> list[MarkedLine]:
    if len(lines) <= 2 * around + 1:
        return lines
    return [*lines[:around], MarkedLine(" ", f"... ({len(lines) - 2 * around} lines)"), *lines[-around:]]


def _cut(lines: list[MarkedLine]) -> list[MarkedLine]:
    if len(lines) <= _SHOWN_LINES:
        return lines
    first = next((at for at, line in enumerate(lines) if line.sign != " "), 0)
    start = max(0, first - 2)
    kept = lines[start : start + _SHOWN_LINES]
    rest = len(lines) - start - len(kept)
    return [*kept, MarkedLine(" ", f"... ({rest} more lines)")] if rest else kept


def _dedented(lines: list[MarkedLine]) -> list[MarkedLine]:
    margin = min((len(line.text) - len(line.text.lstrip()) for line in lines if line.text.strip()), default=0)
    return [
        MarkedLine(s, text[margin:], [(max(0, a - margin), max(0, b - margin)) for a, b in spans]) for s, text, spans in lines
    ]


def _narrowed(line: MarkedLine) -> MarkedLine:
    sign, text, spans = line
    if len(text) <= _SHOWN_COLUMNS:
        return line
    margin = len(text) - len(text.lstrip())
    start = spans[0][0] if spans else 0
    begin = max(margin, start - _SHOWN_COLUMNS // 2)
    if begin <= margin + 4:
        begin = margin
    end = min(len(text), begin + _SHOWN_COLUMNS)
    head = text[:margin] + ("... " if begin > margin else "")
    shown = head + text[begin:end] + (" ..." if end < len(text) else "")
    moved = [(max(a, begin) - begin + len(head), min(b, end) - begin + len(head)) for a, b in spans if a < end and b > begin]
    return MarkedLine(sign, shown, moved)


def _spans(left: str, right: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The columns of two lines that differ, word by word."""
    if left == right:
        return [], []
    a, b = _WORDS.findall(left), _WORDS.findall(right)
    if len(a) * len(b) > 250_000:
        return _ends(left, right)
    starts_a, starts_b = _starts(a), _starts(b)
    found: tuple[list[tuple[int, int]], list[tuple[int, int]]] = [], []
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if i2 > i1:
            found[0].append((starts_a[i1], starts_a[i2]))
        if j2 > j1:
            found[1].append((starts_b[j1], starts_b[j2]))
    return found


def _starts(words: Sequence[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _ends(left: str, right: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    first = 0
    while first < min(len(left), len(right)) and left[first] == right[first]:
        first += 1
    last = 0
    while last < min(len(left), len(right)) - first and left[-1 - last] == right[-1 - last]:
        last += 1
    spans = [(first, max(first + 1, len(text) - last)) for text in (left, right)]
    return [spans[0]], [spans[1]]


def is_reordered(left: Sequence[str], right: Sequence[str]) -> bool:
    """True for the same lines in another order."""
    return list(left) != list(right) and sorted(left) == sorted(right)
