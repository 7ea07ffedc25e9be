"""The helpers for users' own tests find what they are for, and say it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto.passes import FunctionPass, PassContext
from pypto.testing import (
    MeaningError,
    MeaningInstrument,
    RoundtripError,
    RoundtripInstrument,
    assert_golden,
    assert_roundtrip,
    assert_same_meaning,
    validate,
)

pytest_plugins = ["pytester"]

TEXT = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        # waves
        return pl.add(pl.sin(a), 1.0)

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        y = self.k(a)
        return y
"""


class _OtherConstant(ir.IRMutator):
    def visit_const_float(self, op: ir.ConstFloat) -> ir.Expr:
        return ir.ConstFloat(op.value + 1, op.dtype, op.span)


class Corrupt(FunctionPass):
    def transform_function(self, function: ir.Function, program: ir.Program) -> ir.Function:
        return _OtherConstant().visit_function(function)


def test_roundtrip_holds() -> None:
    assert_roundtrip(pl.parse(TEXT))


def test_roundtrip_finds_text_that_reads_back_as_another_program(monkeypatch: pytest.MonkeyPatch) -> None:
    program = pl.parse(TEXT)
    assert_roundtrip(program)
    other = Corrupt()(program)
    monkeypatch.setattr("pypto.testing.roundtrip.parse", lambda *_, **__: other)
    with pytest.raises(RoundtripError):
        assert_roundtrip(program)


def test_meaning_finds_another_constant() -> None:
    before = pl.parse(TEXT)
    after = Corrupt()(before)
    with pytest.raises(MeaningError, match="does not mean what it meant"):
        assert_same_meaning(before, after)
    assert_same_meaning(before, before)


def test_instruments_name_the_pass() -> None:
    roundtrip, meaning = RoundtripInstrument(), MeaningInstrument()
    with PassContext([roundtrip, meaning]), pytest.raises(RuntimeError, match="Corrupt"):
        Corrupt()(pl.parse(TEXT))
    assert roundtrip.checked == 1
    assert meaning.checked == 0


def test_validate_runs_every_stage() -> None:
    checked = validate(TEXT)
    assert checked.roundtrips == len(checked.passes) >= 8
    assert checked.meanings >= 3
    assert "LowerCompositeOps" in checked.passes
    a = np.random.default_rng(0).normal(size=(8, 16)).astype(np.float32)
    np.testing.assert_allclose(checked.lowered(a), np.sin(a.astype(np.float64)) + 1, atol=1e-6)


def test_golden_files(tmp_path: Path) -> None:
    program = pl.parse(TEXT)
    path = tmp_path / "goldens" / "p.py"
    with pytest.raises(AssertionError, match="--update-goldens"):
        assert_golden(program, path)
    assert_golden(program, path, update=True)
    assert_golden(program, path)
    with pytest.raises(AssertionError, match=r"(?s)the programs differ.*\+.*2\.0"):
        assert_golden(passes.lower_composite_ops()(passes.convert_to_ssa()(Corrupt()(program))), path)
    written = path.read_text()
    path.write_text(written.replace("# waves\n", "# waves\n        # more\n"))
    with pytest.raises(AssertionError, match="Comment mismatch"):
        assert_golden(program, path)
    path.write_text(written.replace("# waves\n", "# waves\n\n"))
    with pytest.raises(AssertionError, match="only the text differs"):
        assert_golden(program, path)


def test_plugin_updates_goldens(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
import pypto.language as pl
from pypto.testing import assert_golden

def test_it():
    assert_golden(pl.parse({TEXT!r}), "p_golden.py")
"""
    )
    assert pytester.runpytest_subprocess().ret == 1
    assert pytester.runpytest_subprocess("--update-goldens").ret == 0
    assert pytester.runpytest_subprocess().ret == 0
    assert (pytester.path / "p_golden.py").read_text().startswith("# pypto.program: P\n")
