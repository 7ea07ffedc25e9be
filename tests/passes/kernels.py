"""One call inside a kernel, as the text of a program with a caller."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pypto.language as pl
from pypto import ir
from pypto.passes import parse_pipeline

FRONT = "convert_to_ssa,normalize_stmt_structure,flatten_call_expr"


@dataclass(frozen=True)
class Sample:
    """One call: parameters ``name: shape dtype``, the expression, the type of the result, operators that must come of it, and statements
    before it."""

    params: str
    value: str
    result: str
    expected: tuple[str, ...] = ()
    prelude: str = ""


def _annotation(text: str) -> str:
    if not text.startswith("["):
        return f"pl.Scalar[pl.{text}]"
    shape, _, dtype = text.strip().rpartition(" ")
    return f"pl.Tensor[{shape}, pl.{dtype}]"


def program_of(sample: Sample) -> str:
    """The program: kernel ``k``, whose expression stands in line 6 after any prelude, and the function ``run`` that calls it."""
    params = re.findall(r"(\w+): (\[[^\]]*\] \w+|\w+)", sample.params)
    head = ", ".join(["self", *[f"{name}: {_annotation(text)}" for name, text in params]])
    result = _annotation(sample.result)
    prelude = "".join(f"        {line}\n" for line in sample.prelude.split("; ") if line)
    return f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k({head}) -> {result}:
{prelude}        r = {sample.value}
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run({head}) -> {result}:
        y = self.k({", ".join(name for name, _ in params)})
        return y
"""


def prepare(text: str) -> ir.Program:
    """A program read from text, in the form that the passes on kernels take."""
    program = pl.parse(text)
    for step in parse_pipeline(FRONT):
        program = step(program)
    return program


def ops_of(function: ir.Function) -> list[str]:
    """The names of the operators that a function calls."""
    return [n.op.name for n in ir.walk(function.body) if isinstance(n, ir.Call)]
