"""Printed text is what black makes of it: the examples at every stage of the pipeline, with windows and collectives, and generated programs."""

from __future__ import annotations

import random
from pathlib import Path

import black
import pytest

from pypto.cli.loading import load
from pypto.ir.function import Program
from pypto.passes import PassContext, PassManager
from pypto.printer import python_print
from pypto.testing.generation import FunctionAuthor, RunnableAuthor

WIDTHS = (200, 100, 88)
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = [p for p in sorted((ROOT / "examples").glob("*.py")) if not p.stem.startswith("composite")]


def assert_black(program: Program, width: int, seen: set[str]) -> None:
    text = python_print(program, line_length=width)
    if text in seen:
        return
    seen.add(text)
    assert black.format_str(text, mode=black.Mode(line_length=width)) == text


def stages(program: Program) -> list[Program]:
    """The program, and what each pass of the default pipeline makes of it."""
    found = [program]
    with PassContext([]):
        for step in PassManager.get_strategy().passes:
            after = step(found[-1])
            if after is not found[-1]:
                found.append(after)
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=[p.stem for p in EXAMPLES])
def test_examples_at_every_stage(path: Path) -> None:
    for program in load(path).programs.values():
        whole = program if isinstance(program, Program) else Program([program], program.name)
        made = stages(whole)
        for at, stage in enumerate(made):
            # every stage at one width, in turn; the first and the last at all of them
            widths = WIDTHS if at in (0, len(made) - 1) else (WIDTHS[at % 3],)
            for width in widths:
                assert_black(stage, width, set())


@pytest.mark.parametrize("author", [FunctionAuthor, RunnableAuthor])
@pytest.mark.parametrize("width", WIDTHS)
def test_generated_programs(author: type[FunctionAuthor], width: int) -> None:
    for seed in range(12):
        program = author(random.Random(seed)).program(8)
        assert_black(program, width, set())


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(300))
def test_generated_programs_at_every_stage(seed: int) -> None:
    for stage in stages(RunnableAuthor(random.Random(seed)).program(8)):
        for width in WIDTHS:
            assert_black(stage, width, set())
