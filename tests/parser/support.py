"""What the tests of the reader share: kernels from a few lines, and the marked texts that must be rejected."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pypto import ir
from pypto.ir.equality import structural_equal
from pypto.parser import parse

SIGNATURE = (
    "@pl.function\ndef f(x: pl.Tensor[[8, 8], pl.FP32], n: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.BOOL]) -> pl.Scalar[pl.INDEX]:\n"
)


def kernel(body: str, signature: str = SIGNATURE) -> Any:
    """The function with the given body."""
    return parse(signature + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")


def statements(function: Any) -> list[Any]:
    """The statements of a function."""
    return ir.flatten_to_stmts(function.body)


def first_value(body: str, signature: str = SIGNATURE) -> Any:
    """The value that the first statement of a body assigns."""
    return statements(kernel(body, signature))[0].value


def assert_reads_back(node: Any) -> None:
    """Printing and reading again gives the same program, and the same text."""
    for options in ({}, {"format": False}, {"sugar": False}):
        text = ir.python_print(node, **options)
        again = parse(text)
        ir.assert_structural_equal(node, again)
        assert structural_equal(node, again, strict=True)
        assert ir.python_print(again, **options) == text


@dataclass(frozen=True)
class Rejected:
    """A text with the class, place and key words of the one error it must give."""

    title: str
    text: str
    error: str
    line: int
    column: int
    end_column: int
    words: tuple[str, ...]


_MARK = re.compile(r"^( *)(\^+) (\w+): (.*)$")


def rejected_cases(path: Path) -> list[Rejected]:
    """Cases of a file: ``## title`` (``## body: title`` for lines of a body), the text, and below it ``^^^ Class: key | words``."""
    cases: list[Rejected] = []
    for block in re.split(r"^## ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
        title, _, rest = block.partition("\n")
        lines: list[str] = []
        found: tuple[Any, ...] = ()
        for line in rest.rstrip("\n").split("\n"):
            mark = _MARK.match(line)
            if mark is None:
                lines.append(line)
            else:
                found = (len(lines), len(mark.group(1)) + 1, len(mark.group(2)), mark.group(3), mark.group(4))
        assert found, f"the case {title!r} marks no culprit"
        line_number, column, width, error, words = found
        text = "\n".join(lines) + "\n"
        if title.startswith("body: "):
            text = SIGNATURE + textwrap.indent(text, "    ")
            line_number, column = line_number + 2, column + 4
        cases.append(
            Rejected(title, text, error, line_number, column, column + width, tuple(w.strip() for w in words.split("|")))
        )
    return cases
