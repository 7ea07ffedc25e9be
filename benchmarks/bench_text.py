"""Reading, printing, comparing and lowering, each as a ratio to ``ast.parse`` or ``ast.unparse`` of the same text."""

from __future__ import annotations

import ast
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pypto.language as pl
from benchmarks.programs import dense_text, sines_text
from pypto import ir, passes
from pypto.ir.verify import verify

Row = tuple[str, float, float]

PASSES = (
    "convert_to_ssa",
    "simplify",
    "normalize_stmt_structure",
    "flatten_call_expr",
    "convert_tensor_to_tile_ops",
    "flatten_tile_nd_to_2d",
)
"""Passes whose growth is measured."""


def best(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of several runs, in seconds."""
    times: list[float] = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def program_of(text: str) -> ir.Program:
    """The program that a text holds."""
    found = pl.parse(text)
    assert isinstance(found, ir.Program)
    return found


def rows() -> list[Row]:
    """Name, measured ratio and limit."""
    text = dense_text(10_000)
    tree = ast.parse(text)
    parsing = best(lambda: ast.parse(text))
    program = program_of(text)
    other = program_of(text)
    low_input = program_of(sines_text(1_000))
    lower = passes.lower_composite_ops()
    lowered_text = lower(low_input).as_python(format=False)
    result: list[Row] = [
        ("pl.parse of 10,000 statements / ast.parse", best(lambda: pl.parse(text)) / parsing, 2.0),
        ("as_python() / ast.unparse", best(lambda: program.as_python()) / best(lambda: ast.unparse(tree), 2), 0.3),
        ("structural equality of two copies / ast.parse", best(lambda: ir.structural_equal(program, other)) / parsing, 0.15),
        (
            "lowering 1,000 sin / ast.parse of the result",
            best(lambda: lower(low_input)) / best(lambda: ast.parse(lowered_text), 3),
            0.15,
        ),
    ]
    return result + linear_rows() + [import_row()]


def linear_rows() -> list[Row]:
    """Time at 100,000 statements over time at 1,000: linear means at most 130."""
    small, large = dense_text(1_000), dense_text(100_000)
    first, second = program_of(small), program_of(large)
    first_copy, second_copy = program_of(small), program_of(large)
    few, many = program_of(sines_text(33)), program_of(sines_text(3_300))
    properties = ("SSAForm", "UseAfterDef", "TypeChecked", "NoNestedCalls")
    lower = passes.lower_composite_ops()

    def ratio(name: str, a: Callable[[], Any], b: Callable[[], Any]) -> Row:
        return f"linear: {name}, 100,000 / 1,000 statements", best(b, 2) / best(a, 10), 130.0

    return [
        ratio("parse", lambda: pl.parse(small), lambda: pl.parse(large)),
        ratio("print", lambda: first.as_python(), lambda: second.as_python()),
        ratio("compare", lambda: ir.structural_equal(first, first_copy), lambda: ir.structural_equal(second, second_copy)),
        ratio("lower", lambda: lower(few), lambda: lower(many)),
        ratio("verify", lambda: verify(first, properties), lambda: verify(second, properties)),
        *(_pass_row(ratio, name, first, second) for name in PASSES),
    ]


def _pass_row(ratio: Callable[..., Row], name: str, small: ir.Program, large: ir.Program) -> Row:
    step = getattr(passes, name)()
    return ratio(name, lambda: step(small), lambda: step(large))


def import_row() -> Row:
    """Milliseconds that ``import pypto.language`` costs beyond ``import numpy``."""

    def run(code: str) -> float:
        return best(lambda: subprocess.run([sys.executable, "-c", code], check=True), 7)

    return "import pypto.language beyond numpy, ms", 1000 * (run("import pypto.language") - run("import numpy")), 150.0
