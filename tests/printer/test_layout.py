"""The layout is black's: black leaves the text as it is, at every width."""

from __future__ import annotations

import ast

import black
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Programs

from pypto import ir
from pypto.printer import python_print
from pypto.printer.layout import lay_out
from pypto.printer.pieces import SOFT_CLOSE, SOFT_OPEN

WIDTHS = (200, 120, 88, 60, 40)


def blackened(text: str, width: int) -> str:
    return black.format_str(text, mode=black.Mode(line_length=width))


@pytest.mark.parametrize("width", WIDTHS)
@given(seed=st.integers(0, 1 << 30), alone=st.booleans())
@settings(max_examples=25, deadline=None, derandomize=True)
def test_black_agrees(width: int, seed: int, alone: bool) -> None:
    programs = Programs(seed)
    root = programs.function("alone") if alone else programs.program()
    text = python_print(root, line_length=width)
    assert blackened(text, width) == text
    ast.parse(text)


@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_unformatted_text_has_the_same_tree_and_one_line_a_statement(seed: int) -> None:
    root = Programs(seed).program()
    flat, wrapped = python_print(root, format=False), python_print(root, line_length=60)
    assert ast.dump(ast.parse(flat)) == ast.dump(ast.parse(wrapped))
    for node in ast.walk(ast.parse(flat)):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.Return):
            assert node.lineno == node.end_lineno


@given(seed=st.integers(0, 1 << 30))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_printing_is_deterministic(seed: int) -> None:
    assert python_print(Programs(seed).program()) == python_print(Programs(seed).program())
    root = Programs(seed).program()
    assert python_print(root) == python_print(root)


def test_without_sugar_the_layout_is_black_s_too() -> None:
    for seed in range(20):
        text = python_print(Programs(seed).program(), line_length=100, sugar=False)
        assert blackened(text, 100) == text


def test_soft_brackets_are_written_only_when_needed() -> None:
    value = ["first", " + ", "second", " + ", "third"]
    pieces = ["name", " = ", SOFT_OPEN, *value, SOFT_CLOSE]
    assert lay_out(pieces, 0, 80) == ["name = first + second + third"]
    assert lay_out(pieces, 0, 20) == ["name = (", "    first", "    + second", "    + third", ")"]


def test_wide_characters_count_as_two_columns() -> None:
    text = "\u6f22" * 10
    call = ir.EvalStmt(ir.Call(ir.Op("x.y"), [], {"note": text}, ir.UnknownType(), ir.Span.unknown()))
    one_line = f'pl.x.y(note="{text}")'
    assert python_print(call, line_length=len(one_line) + 10) == one_line
    assert python_print(call, line_length=len(one_line) + 9).count("\n") == 2


def test_nesting_deeper_than_python_reads_stays_on_one_line() -> None:
    n = ir.Var("n", ir.ScalarType(ir.INDEX))
    node: ir.Expr = n
    for _ in range(300):
        node = ir.Max(node, n, ir.INDEX)
    assert "\n" not in python_print(ir.EvalStmt(node), line_length=60)
    for depth in (50, 150):
        node = n
        for _ in range(depth):
            node = ir.Max(n, node, ir.INDEX)
        text = python_print(ir.EvalStmt(node), line_length=60)
        assert "\n" in text
        ast.parse(text)
