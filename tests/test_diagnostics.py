"""One renderer: headline, place, the source line with the caret under the whole range, notes and help."""

from __future__ import annotations

import pytest

from pypto.diagnostics import Diagnostic, Error, InternalError, InvalidValueError, Place, did_you_mean, render


def test_the_form_of_the_design() -> None:
    lines = ["", "        s = pl.sin(half)"]
    diagnostic = Diagnostic(
        "type-mismatch",
        "tile.sin takes an FP32 tile, got FP16",
        Place("rope.py", 2, 20, 2, 24),
        "pl.Tile[[64, 64], pl.FP16]",
        "cast it first: pl.cast(half, target_type=pl.FP32)",
        source_lines=lines,
    )
    assert render(diagnostic).split("\n") == [
        "error[type-mismatch]: tile.sin takes an FP32 tile, got FP16",
        " --> rope.py:2:20",
        "  |",
        "2 |         s = pl.sin(half)",
        "  |                    ^^^^ pl.Tile[[64, 64], pl.FP16]",
        "  |",
        "  = help: cast it first: pl.cast(half, target_type=pl.FP32)",
    ]


def test_columns_are_characters() -> None:
    text = render(Diagnostic("e", "m", Place("f", 1, 5, 1, 12), source_lines=["β = missing"]))
    line, caret = text.split("\n")[3:5]
    at = caret.index("^")
    assert line[at : at + caret.count("^")] == "missing"


def test_a_range_over_several_lines_is_marked_to_the_end_of_the_first() -> None:
    text = render(Diagnostic("e", "m", Place("f", 1, 3, 2, 4), source_lines=["a (b,", "   c)"]))
    assert text.split("\n")[-1] == "  |   ^^^"


def test_long_lines_are_shown_around_the_place() -> None:
    line = "x" * 300 + "HERE" + "y" * 300
    text = render(Diagnostic("e", "m", Place("f", 1, 301, 1, 305), source_lines=[line]))
    source, caret = text.split("\n")[3:5]
    assert len(source) < 180
    at = caret.index("^")
    assert source[at : at + 4] == "HERE"
    assert source.startswith("1 | ...")
    assert source.endswith("...")


def test_unknown_place_and_missing_source() -> None:
    assert render(Diagnostic("e", "m")) == "error[e]: m"
    assert render(Diagnostic("e", "m", Place("/nowhere.py", 3, 4))) == "error[e]: m\n --> /nowhere.py:3:4"


def test_errors_are_their_text() -> None:
    error = InvalidValueError("bad", {"filename": "f.py", "line": 3, "column": 9}, "mend it", "why")
    assert isinstance(error, Error)
    assert isinstance(error, ValueError)
    assert error.span["line"] == 3
    assert error.span["begin_column"] == 9
    assert str(error).split("\n") == [
        "error[invalid-value]: bad",
        " --> f.py:3:9",
        "  |",
        "  = note: why",
        "  = help: mend it",
    ]


def test_internal_errors_ask_for_a_report() -> None:
    with pytest.raises(RuntimeError, match="please report"):
        raise InternalError("impossible")


def test_nearest_word() -> None:
    assert did_you_mean("piepline", ["pipeline", "parallel"]) == "pipeline"
    assert did_you_mean("zzz", ["pipeline", "parallel"]) is None
