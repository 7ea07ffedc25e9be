"""Everything that must be refused: one error each, with its class, place and key words."""

from __future__ import annotations

from pathlib import Path

import pytest

from pypto.parser import errors, parse
from pypto.parser.errors import ParserError

from .support import Rejected, rejected_cases

CASES = rejected_cases(Path(__file__).with_name("rejected.txt"))


@pytest.mark.parametrize("case", CASES, ids=[case.title for case in CASES])
def test_rejected(case: Rejected) -> None:
    with pytest.raises(ParserError) as caught:
        parse(case.text, "kernel.py")
    error = caught.value
    span = error.span
    assert isinstance(error, getattr(errors, case.error))
    assert (span["filename"], span["line"], span["column"]) == ("kernel.py", case.line, case.column)
    if span["end_line"] == span["line"] and span["end_column"] > 0:
        assert span["end_column"] == case.end_column
    shown = str(error)
    for words in case.words:
        assert words in shown
    assert "^" * (case.end_column - case.column) in shown or span["end_line"] != span["line"]


def test_there_are_many_cases() -> None:
    assert len(CASES) > 150
