"""Long chains of operators, such as sums of thousands of terms: Python's own parser overflows on them, though they are not deep to read.

A chain is cut at its loosest operators. The pieces are parsed as one flat tuple, at the places they have in the text, and put together
to the tree that Python would have made.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from typing import Any

_LEVELS: dict[str, tuple[int, type[ast.operator]]] = {
    "|": (1, ast.BitOr),
    "^": (2, ast.BitXor),
    "&": (3, ast.BitAnd),
    "<<": (4, ast.LShift),
    ">>": (4, ast.RShift),
    "+": (5, ast.Add),
    "-": (5, ast.Sub),
    "*": (6, ast.Mult),
    "/": (6, ast.Div),
    "//": (6, ast.FloorDiv),
    "%": (6, ast.Mod),
    "@": (6, ast.MatMult),
}
_WORDS = frozenset(
    (
        "and",
        "or",
        "not",
        "in",
        "is",
        "if",
        "else",
        "elif",
        "for",
        "lambda",
        "return",
        "while",
        "assert",
        "yield",
        "del",
        "with",
        "as",
    )
)
_OPEN, _CLOSE = "([{", ")]}"
_LAYOUT = frozenset((tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT))
_SHORTEST = 500
_NAME = "_pypto_chain_{}"


class _Chain:
    """A run of operands and operators between two boundaries: token indices of its ends and of its operators."""

    __slots__ = ("first", "last", "operators")

    def __init__(self) -> None:
        self.first = -1
        self.last = -1
        self.operators: list[int] = []


def parse_with_long_chains(text: str, filename: str) -> ast.Module | None:
    """The tree of a text on which Python's parser overflows; None when long chains are not the reason.

    Raises:
        SyntaxError: the text is not Python.
    """
    found = _parse(text, filename, "exec")
    return found if isinstance(found, ast.Module) else None


def _parse(text: str, filename: str, mode: str) -> Any:
    try:
        return ast.parse(text, filename, mode)
    except (RecursionError, MemoryError):
        pass
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError, RecursionError):
        return None
    chains = [chain for chain in _chains(tokens) if len(chain.operators) >= _SHORTEST]
    if not chains:
        return None
    lines = text.splitlines(keepends=True)
    trees: dict[str, ast.expr] = {}
    for number, chain in enumerate(chains):
        tree = _chain_tree(lines, tokens, chain, filename)
        if tree is None:
            return None
        trees[_NAME.format(number)] = tree
    try:
        rest = ast.parse(_without(lines, tokens, chains), filename, mode)
    except (RecursionError, MemoryError):
        return None
    _graft(rest, trees)
    return rest


def _chains(tokens: Sequence[tokenize.TokenInfo]) -> Iterator[_Chain]:
    """The outermost chains of a text, in order."""
    stack: list[_Chain] = []
    current = _Chain()
    after_operand = False
    covered = -1
    closed: list[_Chain] = []
    for at, token in enumerate(tokens):
        if token.type in _LAYOUT:
            continue
        word = token.string
        if token.type == tokenize.OP and word in _OPEN:
            if current.first < 0:
                current.first = at
            stack.append(current)
            current = _Chain()
            after_operand = False
        elif token.type == tokenize.OP and word in _CLOSE:
            closed.append(current)
            current = stack.pop() if stack else _Chain()
            current.last = at
            after_operand = True
        elif token.type == tokenize.OP and after_operand and word in _LEVELS:
            current.operators.append(at)
            after_operand = False
        elif token.type == tokenize.OP and word in ("+", "-", "~", ".", "**"):
            if current.first < 0:
                current.first = at
            after_operand = False
        elif token.type in (tokenize.NAME, tokenize.NUMBER, tokenize.STRING) and word not in _WORDS:
            if current.first < 0:
                current.first = at
            current.last = at
            after_operand = True
        else:
            closed.append(current)
            current = _Chain()
            after_operand = False
    long = sorted((c for c in closed if len(c.operators) >= _SHORTEST), key=lambda c: c.first)
    for chain in long:
        if chain.first > covered:
            covered = chain.last
            yield chain


def _chain_tree(lines: Sequence[str], tokens: Sequence[tokenize.TokenInfo], chain: _Chain, filename: str) -> ast.expr | None:
    loosest = min(_LEVELS[tokens[at].string][0] for at in chain.operators)
    cuts = [at for at in chain.operators if _LEVELS[tokens[at].string][0] == loosest]
    start, end = tokens[chain.first].start, tokens[chain.last].end
    # the last token of each operand, which tells where it ends when it stands in brackets
    ends = [next(at for at in range(cut - 1, -1, -1) if tokens[at].type not in _LAYOUT) for cut in cuts[1:]] + [chain.last]
    pieces: list[str] = []
    position = start
    for at in cuts:
        token = tokens[at]
        pieces.append(_between(lines, position, token.start))
        pieces.append("," + " " * (len(token.string) - 1))
        position = token.end
    pieces.append(_between(lines, position, end))
    line, column = start
    margin = len(lines[line - 1][:column].encode())
    head = "(" + "\n" * (line - 1) + " " * (margin if line > 1 else margin - 1)
    whole = _parse(f"{head}{''.join(pieces)},)", filename, "eval")
    if not isinstance(whole, ast.Expression) or not isinstance(whole.body, ast.Tuple):
        return None
    operands = whole.body.elts
    if len(operands) != len(cuts) + 1:
        return None
    left = operands[0]
    for at, right, last in zip(cuts, operands[1:], ends, strict=True):
        made = ast.BinOp(left, _LEVELS[tokens[at].string][1](), right)
        made.lineno, made.col_offset = operands[0].lineno, operands[0].col_offset
        end_line, end_column = tokens[last].end
        made.end_lineno, made.end_col_offset = end_line, len(lines[end_line - 1][:end_column].encode())
        left = made
    return left


def _between(lines: Sequence[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    middle = lines[start[0] : end[0] - 1]
    last = lines[end[0] - 1][: end[1]] if end[0] <= len(lines) else ""
    return "".join((lines[start[0] - 1][start[1] :], *middle, last))


def _without(lines: Sequence[str], tokens: Sequence[tokenize.TokenInfo], chains: Sequence[_Chain]) -> str:
    """The text with a name in the place of each chain; everything else keeps its line and byte column."""
    out: list[str] = []
    position = (1, 0)
    for number, chain in enumerate(chains):
        start, end = tokens[chain.first].start, tokens[chain.last].end
        out.append(_between(lines, position, start))
        name = _NAME.format(number)
        if start[0] == end[0]:
            out.append(name.ljust(len(_between(lines, start, end).encode()), "_"))
        else:
            out.append(name + "\n" * (end[0] - start[0]) + " " * len(lines[end[0] - 1][: end[1]].encode()))
        position = end
    out.append(_between(lines, position, (len(lines) + 1, 0)) if position[0] <= len(lines) else "")
    return "".join(out)


def _graft(tree: ast.AST, trees: dict[str, ast.expr]) -> None:
    for node in list(ast.walk(tree)):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                items: list[Any] = value  # pyright: ignore[reportUnknownVariableType]
                for at, item in enumerate(items):
                    if isinstance(item, ast.Name) and item.id.rstrip("_") in trees:
                        items[at] = trees[item.id.rstrip("_")]
            elif isinstance(value, ast.Name) and value.id.rstrip("_") in trees:
                setattr(node, name, trees[value.id.rstrip("_")])
