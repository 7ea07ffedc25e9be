"""What must hold for every program: printing, reading, copying, storing, verifying, and the default pipeline.

``make test`` looks at a few random programs, always the same; ``make fuzz`` at many, new ones each time.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import black
import pytest
from hypothesis import HealthCheck, given, settings

from pypto import ir
from pypto.ir.function import Function, Program
from pypto.parser import parse
from pypto.passes import PassContext, PassManager, VerificationInstrument, get_structural_properties, run_verifier
from pypto.printer import python_print
from pypto.runtime import run
from pypto.runtime.inputs import draw_inputs
from pypto.testing import MeaningInstrument, RoundtripInstrument, assert_roundtrip
from pypto.testing.generation import FunctionAuthor
from pypto.testing.programs import kernels, programs, scalar_functions

Check = Callable[[Any], None]
FUZZING = os.environ.get("PYPTO_FUZZ") == "1"


def few(examples: int) -> settings:
    return settings(max_examples=examples, derandomize=True, deadline=None, suppress_health_check=[*HealthCheck], database=None)


def many(examples: int) -> settings:
    count = examples if FUZZING else 5
    return settings(max_examples=count, deadline=None, suppress_health_check=[*HealthCheck], database=None, print_blob=True)


# -- the checks ------------------------------------------------------------------------------------------------------------------------


def check_text(program: Program | Function) -> None:
    """The text reads back as the same program and prints the same again, in every form that has all of it."""
    assert_roundtrip(program)
    for options in (
        {"sugar": False},
        {"concise": True},
        {"prefix": "lang"},
        {"line_length": 88},
        {"sugar": False, "format": False},
    ):
        text = python_print(program, **options)
        again = parse(text)
        ir.assert_structural_equal(program, again, strict=True)
        assert python_print(again, **options) == text, options


def check_copies(program: Program) -> None:
    """Copies are equal, hash alike and print alike; a mutator that changes nothing gives the very object."""
    copied = Program([ir.deep_clone(function)[0] for function in program.functions.values()], program.name)
    stored = ir.deserialize(ir.serialize(program))
    text = python_print(program)
    assert python_print(program) == text
    for copy in (copied, stored):
        for strict in (False, True):
            ir.assert_structural_equal(program, copy, strict=strict)
            ir.assert_structural_equal(copy, program, strict=strict)
        for auto in (False, True):
            assert ir.structural_hash(program, auto) == ir.structural_hash(copy, auto)
        assert python_print(copy) == text
    assert ir.IRMutator().visit_program(program) is program


def check_layout(program: Program | Function) -> None:
    """Black would not touch the text."""
    for width in (200, 88):
        text = python_print(program, line_length=width)
        mode = black.Mode(line_length=width, target_versions={black.TargetVersion.PY310})
        assert black.format_str(text, mode=mode) == text


def check_verifies(program: Program) -> None:
    """The verifier has nothing against it."""
    run_verifier(get_structural_properties())(program)


def check_pipeline(program: Program | Function) -> None:
    """Every stage of the default pipeline verifies, reads back, and gives the same numbers."""
    whole = program if isinstance(program, Program) else Program([program], "Alone")
    run(whole, *draw_inputs(whole))
    roundtrip, meaning = RoundtripInstrument(), MeaningInstrument()
    steps = PassManager.get_strategy().passes
    with PassContext([VerificationInstrument(), roundtrip, meaning]):
        for step in steps:
            whole = step(whole)
    assert roundtrip.checked == len(steps)
    check_layout(whole)
    check_copies(whole)


# -- a few in every test run --------------------------------------------------------------------------------------------------------------


@few(60)
@given(programs())
def test_programs_read_back(program: Program) -> None:
    check_text(program)


@few(40)
@given(scalar_functions(size=16))
def test_scalar_functions_read_back(function: Function) -> None:
    check_text(function)


@few(60)
@given(programs())
def test_copies(program: Program) -> None:
    check_copies(program)


@few(15)
@given(programs())
def test_layout(program: Program) -> None:
    check_layout(program)


@few(80)
@given(programs())
def test_programs_verify(program: Program) -> None:
    check_verifies(program)


@few(30)
@given(programs(runnable=True))
def test_pipeline(program: Program) -> None:
    check_verifies(program)
    check_text(program)
    check_pipeline(program)


@few(25)
@given(kernels())
def test_pipeline_of_kernels(function: Function) -> None:
    check_pipeline(function)


@few(25)
@given(scalar_functions(runnable=True, size=12))
def test_pipeline_of_scalar_functions(function: Function) -> None:
    check_pipeline(function)


# -- many when asked ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.fuzz
@many(3000)
@given(programs())
def test_many_programs(program: Program) -> None:
    check_verifies(program)
    check_text(program)
    check_copies(program)


@pytest.mark.fuzz
@many(300)
@given(programs())
def test_many_layouts(program: Program) -> None:
    check_layout(program)


@pytest.mark.fuzz
@many(3000)
@given(scalar_functions(size=24))
def test_many_scalar_functions(function: Function) -> None:
    check_text(function)


@pytest.mark.fuzz
@many(2000)
@given(programs(runnable=True))
def test_many_pipelines(program: Program) -> None:
    check_verifies(program)
    check_text(program)
    check_pipeline(program)


@pytest.mark.fuzz
@many(1000)
@given(kernels())
def test_many_pipelines_of_kernels(function: Function) -> None:
    check_pipeline(function)


@pytest.mark.fuzz
@many(1500)
@given(scalar_functions(runnable=True, size=20))
def test_many_pipelines_of_scalar_functions(function: Function) -> None:
    check_pipeline(function)


# -- the same text everywhere -------------------------------------------------------------------------------------------------------------

PRINT = """
import random
from pypto.passes import convert_to_ssa
from pypto.printer import python_print
from pypto.testing.generation import FunctionAuthor, RunnableAuthor
for seed in range(12):
    print(python_print(FunctionAuthor(random.Random(seed)).program()))
    print(python_print(convert_to_ssa()(RunnableAuthor(random.Random(seed)).program())))
"""


def test_text_does_not_depend_on_the_hash_seed() -> None:
    def text(seed: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run([sys.executable, "-c", PRINT], env=environment, capture_output=True, check=True, encoding="utf-8")
        return done.stdout

    first = text("1")
    assert len(first) > 10_000
    assert text("2") == first


def test_one_seed_gives_one_program() -> None:
    for seed in range(5):
        first, second = (FunctionAuthor(random.Random(seed)).program() for _ in range(2))
        ir.assert_structural_equal(first, second, strict=True)


def test_the_programs_are_rich() -> None:
    kinds: set[str] = set()
    operators: set[str] = set()
    dtypes: set[ir.DataType] = set()
    spaces: set[object] = set()
    for seed in range(150):
        for function in FunctionAuthor(random.Random(seed)).program().functions.values():
            for node in ir.walk(function):
                kinds.add(type(node).__name__)
                if isinstance(node, ir.Call):
                    operators.add(node.op.name)
                if isinstance(node, ir.Expr):
                    dtypes.add(getattr(node.type, "dtype", ir.BOOL))
                    spaces.add(getattr(node.type, "memory_space", None))
    scalars = {cls.__name__ for base in (ir.BinaryExpr, ir.UnaryExpr) for cls in base.__subclasses__()}
    assert kinds >= scalars
    assert kinds >= {
        "IfStmt",
        "ForStmt",
        "WhileStmt",
        "YieldStmt",
        "BreakStmt",
        "ContinueStmt",
        "EvalStmt",
        "TupleGetItemExpr",
        "MakeTuple",
    }
    assert len(operators) > 150
    assert len(dtypes) == 22
    assert set(ir.MemorySpace) <= spaces | {ir.MemorySpace.ScalarLocal}
