"""Distributed programs that must be rejected: one error each, with its class, its very place, and words of its message and hint.

They stand in ``distributed_rejected.txt``; what is at fault stands between ``<<`` and ``>>``. Each case is read as text and through the
decorators, where columns and lines are those of the file.
"""

from __future__ import annotations

import runpy
import textwrap
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pypto.diagnostics import Error
from pypto.parser import errors, parse

IMPORTS = "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n"
KERNEL = """N = pl.dynamic("N")


@pl.function(type=pl.FunctionType.InCore)
def kernel(
    x: pl.Tensor[[4, 16], pl.FP32],
    row: pl.Tensor[[1, 16], pl.FP32],
    d: pld.DistributedTensor[[4, 16], pl.FP32],
    e: pld.DistributedTensor[[4, 16], pl.FP32],
    s: pld.DistributedTensor[[4, 1], pl.INT32],
    h: pld.DistributedTensor[[1, 17], pl.FP16],
    c: pl.Tensor[[4], pl.INT32],
    rc: pld.DistributedTensor[[4, 1], pl.INT32],
    dyn: pld.DistributedTensor[[N, 16], pl.FP32],
    me: pl.Scalar[pl.INDEX],
    fl: pl.Scalar[pl.FP32],
    b: pl.Scalar[pl.BOOL],
    ctx: pld.CommCtx,
    t: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec],
    th: pl.Tile[[1, 16], pl.FP16, pl.Mem.Vec],
    st2: pl.Tile[[2, 8], pl.FP32, pl.Mem.Vec],
):
"""
HOST = """@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, d: pld.DistributedTensor[[4, 8], pl.FP32]):
        return d

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, k: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.BOOL], x: pl.Tensor[[4, 16], pl.FP32]):
"""

TABLE = Path(__file__).parent / "distributed_rejected.txt"


class Case(NamedTuple):
    """A program around a marked body, and the one error that it must give."""

    body: str
    text: str
    error: type[Error]
    begin: tuple[int, int]
    end: tuple[int, int]
    words: list[str]


def cases(table: str, around: str, indent: str) -> list[Case]:
    """The cases of a table: the lines of a body, then ``Class: words | words`` indented."""
    found: list[Case] = []
    for block in table.strip("\n").split("\n\n"):
        *lines, expected = block.split("\n")
        name, _, words = expected.strip().partition(": ")
        body = "\n".join(lines)
        before, _, rest = body.partition("<<")
        inside, _, after = rest.partition(">>")
        first = around.count("\n") + 1
        begin = _place(before, first, len(indent))
        end = _place(before + inside, first, len(indent))
        text = around + textwrap.indent(before + inside + after, indent) + "\n"
        found.append(Case(body, text, getattr(errors, name), begin, end, words.split(" | ")))
    return found


def _place(text: str, first: int, indent: int) -> tuple[int, int]:
    """Line and column where a text ends that begins on line ``first``, indented."""
    lines = text.split("\n")
    return first + len(lines) - 1, indent + len(lines[-1]) + 1


IN_KERNELS, IN_HOSTS = TABLE.read_text(encoding="utf-8").split("\n## in a host orchestrator\n")
CASES = [*cases(IN_KERNELS.removeprefix("## in a kernel\n"), KERNEL, "    "), *cases(IN_HOSTS, HOST, "        ")]


def check(caught: Error, case: Case, lines_before: int) -> None:
    assert type(caught) is case.error
    place = caught.place
    assert place is not None
    assert (place.begin_line - lines_before, place.begin_column) == case.begin
    assert (place.end_line - lines_before, place.end_column) == case.end
    said = f"{caught.message}\n{caught.hint}"
    for words in case.words:
        assert words in said
    rendered = str(caught)
    assert f"{place.begin_line} | " in rendered
    assert "^" in rendered
    assert "Traceback" not in rendered
    assert "internal" not in rendered


@pytest.mark.parametrize("case", CASES, ids=[c.body for c in CASES])
def test_as_text(case: Case) -> None:
    with pytest.raises(Error) as caught:
        parse(case.text)
    check(caught.value, case, 0)


@pytest.mark.parametrize("case", CASES, ids=[c.body for c in CASES])
def test_through_the_decorators(case: Case, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(IMPORTS + case.text)
    with pytest.raises(Exception) as caught:  # noqa: PT011 - what it is is checked below
        runpy.run_path(str(file))
    if isinstance(caught.value, SyntaxError) and not isinstance(caught.value, Error):
        assert case.error is errors.PythonSyntaxError
        return
    error: Any = caught.value
    assert isinstance(error, Error)
    assert error.span["filename"] == str(file)
    check(error, case, IMPORTS.count("\n"))


def test_there_are_cases() -> None:
    assert len(CASES) > 250
