"""Mistakes that people make, in files as people write them: one error each, at the place, with what was expected and the way out.

The culprit stands between ``<<`` and ``>>``: there the carets must be. The words are what the text must say.
"""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import pypto.language as pl
from pypto.diagnostics import Error
from pypto.language.control import NotExecutableError
from pypto.parser import errors
from pypto.runtime import errors as run_errors

KERNEL = """import pypto.language as pl

SIZE = 8


@pl.function
def kernel(x: pl.Tensor[[8, 8], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[8, 8], pl.FP32]:
    {body}
    return x
"""

PROGRAM = """import pypto.language as pl


@pl.program
class Wave:
    @pl.function(type=pl.FunctionType.InCore)
    def wave(self, x: pl.Tensor[[8, 8], pl.FP32], out: pl.Out[pl.Tensor[[8, 8], pl.FP32]]) -> pl.Tensor[[8, 8], pl.FP32]:
        tile = pl.load(x, [0, 0], [8, 8])
        {kernel}
        out = pl.store(tile, [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, x: pl.Tensor[[8, 8], pl.FP32], half: pl.Tensor[[8, 8], pl.FP16]) -> pl.Tensor[[8, 8], pl.FP32]:
        out = pl.create_tensor([8, 8], dtype=pl.FP32)
        {run}
        return out
"""


class Mistake(NamedTuple):
    """A line with its culprit marked, the class of the error, and what its text says."""

    title: str
    line: str
    error: type[Error]
    words: tuple[str, ...]


IN_A_KERNEL = [
    Mistake(
        "unknown operator",
        "y = <<pl.ad>>(x, x)",
        errors.InvalidOperationError,
        ("unknown operation pl.ad", "did you mean pl.add?"),
    ),
    Mistake(
        "wrong dtype",
        "y = pl.sin(<<pl.cast(x, pl.FP16)>>)",
        errors.InvalidOperationError,
        ("tensor.sin takes an FP32 tensor, got FP16", "pl.cast(..., target_type=pl.FP32)"),
    ),
    Mistake(
        "wrong shape",
        "y = pl.matmul(x, <<pl.reshape(x, [4, 16])>>)",
        errors.InvalidOperationError,
        ("as many columns on the left as rows on the right", "FP32 tensor [4, 16]"),
    ),
    Mistake(
        "impossible reshape",
        "y = pl.reshape(x, <<[4, 17]>>)",
        errors.InvalidOperationError,
        ("68 elements", "64 elements", "tuple of 2"),
    ),
    Mistake("Python's range", "for i in <<range>>(n): pass", errors.ParserSyntaxError, ("pl.range", "not range")),
    Mistake("augmented assignment", "<<n += 1>>", errors.UnsupportedFeatureError, ("augmented assignment", "write n = n + 1")),
    Mistake(
        "tensor plus tensor",
        "y = <<x + x>>",
        errors.ScalarOperandError,
        ("+ combines scalars only", "FP32 tensor [8, 8]", "pl.add"),
    ),
    Mistake(
        "shape attribute", "y = <<x.shape>>", errors.UnsupportedFeatureError, ("x.shape does not exist", "pl.tensor.dim(x, i)")
    ),
    Mistake("undefined name", "y = pl.add(x, <<z>>)", errors.UndefinedVariableError, ("undefined name 'z'",)),
    Mistake("mistyped name", "y = pl.add(x, <<SIZES>>)", errors.UndefinedVariableError, ("'SIZES'", "did you mean 'SIZE'?")),
    Mistake(
        "missing operand",
        "y = <<pl.add(x)>>",
        errors.InvalidOperationError,
        ("tensor.add needs 'rhs'", "pl.tensor.add(lhs, rhs)"),
    ),
    Mistake(
        "mistyped keyword",
        "y = pl.full([8, 8], dtype=pl.FP32, <<valu=0.0>>)",
        errors.InvalidOperationError,
        ("no parameter 'valu'", "did you mean 'value'?"),
    ),
    Mistake(
        "element type as text",
        "y = pl.cast(x, <<'FP16'>>)",
        errors.InvalidOperationError,
        ("takes a DataType as 'target_type'", "write pl.FP16"),
    ),
    Mistake(
        "rounding mode that does not exist",
        "y = pl.cast(x, pl.FP16, mode=<<'ronud'>>)",
        errors.InvalidOperationError,
        ("'ronud' is no rounding mode", "did you mean 'round'?"),
    ),
    Mistake(
        "enumeration member as text",
        "y = pl.load(x, [0, 0], [8, 8], target_memory=<<'Vec'>>)",
        errors.InvalidOperationError,
        ("takes 'target_memory' as one of", "write pl.MemorySpace.Vec"),
    ),
    Mistake(
        "operands in the wrong order",
        "y = pl.store(pl.load(x, [0, 0], [8, 8]), <<x>>, [0, 0])",
        errors.InvalidOperationError,
        ("takes a list of integers as 'offsets', got FP32 tensor [8, 8]",),
    ),
    Mistake("unpacking one value", "a, b = <<pl.add(x, x)>>", errors.ParserTypeError, ("FP32 tensor [8, 8] cannot be unpacked",)),
    Mistake("another type for a name", "<<x>> = n", errors.ParserTypeError, ("'x' holds FP32 tensor [8, 8]", "use another name")),
    Mistake("print", "y = <<print>>(n)", errors.UnsupportedFeatureError, ("print(...) cannot be called", "pl.static_print")),
    Mistake("tensor as condition", "while <<x>>: pass", errors.ParserTypeError, ("condition of a while", "BOOL scalar")),
]

IN_A_PROGRAM = [
    Mistake(
        "tensor beside a tile",
        "tile = pl.add(tile, <<x>>)",
        errors.InvalidOperationError,
        ("tile.add takes a Tile or Scalar as 'rhs', got FP32 tensor [8, 8]", "load it first: pl.load(...)"),
    ),
    Mistake(
        "unknown function",
        "out = <<self.wav>>(x, out)",
        errors.UndefinedVariableError,
        ("no function 'wav'", "did you mean self.wave?"),
    ),
    Mistake(
        "argument of another dtype",
        "out = self.wave(<<half>>, out)",
        errors.ParserTypeError,
        ("wave takes FP32 tensor [8, 8] as 'x', got FP16 tensor [8, 8]",),
    ),
    Mistake(
        "too many arguments",
        "out = <<self.wave(x, out, x)>>",
        errors.ParserTypeError,
        ("wave takes 2 arguments, got 3", "x, out"),
    ),
]

SIGNATURES = [
    Mistake("missing annotation", "def f(<<x>>):", errors.ParserTypeError, ("the parameter 'x' has no annotation",)),
    Mistake("foreign annotation", "def f(x: <<int>>):", errors.ParserTypeError, ("int is no type", "pl.Scalar[pl.INT32]")),
    Mistake(
        "no element type", "def f(x: <<pl.Tensor[[8, 8]]>>):", errors.ParserTypeError, ("needs a shape and an element type",)
    ),
    Mistake("default value", "def f(n: pl.Scalar[pl.INDEX] = <<3>>):", errors.UnsupportedFeatureError, ("default value",)),
    Mistake("star arguments", "def f(n: pl.Scalar[pl.INDEX], *<<args>>):", errors.UnsupportedFeatureError, ("*args",)),
]


def marked(text: str) -> tuple[str, int, int, int]:
    """The text without its marks; line, column and end column of what they enclosed."""
    before, _, rest = text.partition("<<")
    culprit, _, after = rest.partition(">>")
    line = before.count("\n") + 1
    column = len(before) - (before.rfind("\n") + 1) + 1
    return before + culprit + after, line, column, column + len(culprit)


def check(tmp_path: Path, text: str, mistake: Mistake) -> None:
    """Import the text as a file and hold its error against what is expected."""
    plain, line, column, end = marked(text)
    path = tmp_path / "kernel.py"
    path.write_text(plain)
    with pytest.raises(mistake.error) as caught:
        runpy.run_path(str(path))
    error = caught.value
    assert error.span is not None
    assert (error.span["filename"], error.span["line"], error.span["column"]) == (str(path), line, column)
    shown = str(error)
    assert f"--> {path}:{line}:{column}\n" in shown
    assert f" {'^' * (end - column)}" in shown
    assert plain.split("\n")[line - 1].strip() in shown
    for words in mistake.words:
        assert words in shown


@pytest.mark.parametrize("mistake", IN_A_KERNEL, ids=lambda m: m.title)
def test_in_a_kernel(tmp_path: Path, mistake: Mistake) -> None:
    check(tmp_path, KERNEL.format(body=mistake.line), mistake)


@pytest.mark.parametrize("mistake", IN_A_PROGRAM, ids=lambda m: m.title)
def test_in_a_program(tmp_path: Path, mistake: Mistake) -> None:
    place = "run" if "self." in mistake.line else "kernel"
    check(tmp_path, PROGRAM.format(**{"run": "pass", "kernel": "pass", place: mistake.line}), mistake)


@pytest.mark.parametrize("mistake", SIGNATURES, ids=lambda m: m.title)
def test_in_a_signature(tmp_path: Path, mistake: Mistake) -> None:
    check(tmp_path, f"import pypto.language as pl\n\n\n@pl.function\n{mistake.line}\n    return\n", mistake)


def test_else_of_a_loop(tmp_path: Path) -> None:
    body = "for i in pl.range(n):\n        pass\n    else:\n        <<y = n>>"
    check(
        tmp_path,
        KERNEL.format(body=body),
        Mistake("", "", errors.UnsupportedFeatureError, ("else of a for loop", "put the statements after the loop")),
    )


def test_a_kernel_in_a_function_sees_its_surroundings(tmp_path: Path) -> None:
    text = KERNEL.format(body="y = pl.add(x, <<missing>>)")
    head, _, kernel = text.partition("@pl.function")
    inside = "def make():\n    @pl.function" + kernel.replace("\n", "\n    ").rstrip() + "\n\n\nmake()\n"
    check(tmp_path, head + inside, Mistake("", "", errors.UndefinedVariableError, ("'missing'",)))


def test_an_operator_outside_a_kernel() -> None:
    with pytest.raises(NotExecutableError) as caught:
        pl.add(1, 2)
    assert "pl.add is part of the kernel language" in str(caught.value)
    assert "@pl.function" in str(caught.value)


# -- nothing from inside ---------------------------------------------------------------------------------------------------


def test_the_traceback_shows_the_users_file_and_the_door(tmp_path: Path) -> None:
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL.format(body="y = pl.ad(x, x)"))
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    frames = [line for line in ran.stderr.split("\n") if line.startswith('  File "')]
    assert len(frames) == 2
    assert str(path) in frames[0]
    assert "decorators.py" in frames[1]
    assert ran.stderr.count("Traceback") == 1
    assert "did you mean pl.add?" in ran.stderr


def test_the_traceback_can_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYPTO_TRACEBACK", "1")
    with pytest.raises(errors.ParserError) as caught:
        pl.parse(KERNEL.format(body="y = pl.add(x)"))
    assert len(caught.traceback) > 4
    assert caught.value.__cause__ is not None


# -- runs ------------------------------------------------------------------------------------------------------------------

M = pl.dynamic("M")


@pl.function(type=pl.FunctionType.InCore)
def window(
    x: pl.Tensor[[M, 8], pl.FP32], y: pl.Tensor[[M, 8], pl.FP32], n: pl.Scalar[pl.INDEX], out: pl.Out[pl.Tensor[[8, 8], pl.FP32]]
) -> pl.Tensor[[8, 8], pl.FP32]:
    tile = pl.load(x, [n, 0], [8, 8])
    out = pl.store(tile, [0, 0], out)
    return out


GOOD = np.zeros((8, 8), np.float32)
BAD_ARGUMENTS: list[tuple[str, tuple[Any, ...], tuple[str, ...]]] = [
    ("too many", (GOOD, GOOD, 0, GOOD, GOOD), ("takes 4 arguments (x, y, n, out), got 5",)),
    ("dtype", (GOOD.astype(np.float64), GOOD, 0, GOOD), ("'x' must hold FP32", "got float64", "x.astype(np.float32)")),
    ("extent", (np.zeros((8, 9), np.float32), GOOD, 0, GOOD), ("'x' must have the shape [M, 8], got [8, 9] (dimension 1)",)),
    ("rank", (np.zeros(8, np.float32), GOOD, 0, GOOD), ("'x' must have 2 dimensions", "[8]")),
    (
        "dynamic dimension",
        (GOOD, np.zeros((9, 8), np.float32), 0, GOOD),
        ("'M' cannot be both 8 (dimension 0 of 'x') and 9 (dimension 0 of 'y')",),
    ),
    ("scalar", (GOOD, GOOD, 0.5, GOOD), ("'n' must be an integer (INDEX), got 0.5",)),
    ("array as scalar", (GOOD, GOOD, GOOD, GOOD), ("'n' must be one value (INDEX), got an array of shape [8, 8]",)),
    ("no array", (GOOD, GOOD, 0, None), ("'out' must be a NumPy array, got NoneType",)),
]


@pytest.mark.parametrize(("arguments", "words"), [row[1:] for row in BAD_ARGUMENTS], ids=[row[0] for row in BAD_ARGUMENTS])
def test_bad_arguments(arguments: tuple[Any, ...], words: tuple[str, ...]) -> None:
    with pytest.raises(run_errors.ArgumentError) as caught:
        window(*arguments)
    shown = str(caught.value)
    assert caught.value.span["filename"] == __file__
    for word in words:
        assert word in shown


def test_a_statement_that_fails() -> None:
    with pytest.raises(run_errors.RunError) as caught:
        window(GOOD, GOOD, 4, GOOD.copy())
    shown = str(caught.value)
    assert "tile = pl.load(x, [n, 0], [8, 8])" in shown
    assert "offsets [4, 0] with extents [8, 8] lies outside the shape [8, 8]" in shown
    assert "in function 'window', computing 'tile'" in shown
