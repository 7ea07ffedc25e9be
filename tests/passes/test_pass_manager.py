"""The pass manager: the default strategy, dumps, planners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import pypto.passes.instruments as instruments
from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.passes import MemoryPlanner, PassContext, PassDumpLevel, PassManager, VerificationLevel
from pypto.passes.strategy import DEFAULT_ORDER

INDEX = ir.ScalarType(ir.DataType.INDEX)


def program() -> ir.Program:
    x, y = ir.Var("x", INDEX), ir.Var("y", INDEX)
    body = ir.SeqStmts([ir.AssignStmt(y, x), ir.AssignStmt(x, y), ir.ReturnStmt([x])])
    return ir.Program([ir.Function("f", [x], [INDEX], body)], "P")


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    calls: list[dict[str, Any]] = []

    class Printer:
        @staticmethod
        def python_print(node: Any, **options: Any) -> str:
            calls.append(options)
            return f"# {node.name}"

    monkeypatch.setattr(instruments, "late", lambda module: Printer)
    return calls


def test_the_default_strategy_runs_what_exists_in_the_reference_order() -> None:
    assert len(DEFAULT_ORDER) == 49
    manager = PassManager.get_strategy()
    names = [passes.snake_name(name) for name in manager.pass_names]
    core = ["inline_functions", "unroll_loops", "ctrl_flow_transform", "convert_to_ssa"]
    assert names[:4] == core
    at = [DEFAULT_ORDER.index(name) for name in dict.fromkeys(names)]
    assert at == sorted(at)
    assert manager.get_pass_names() == manager.pass_names
    assert manager.strategy is passes.OptimizationStrategy.Default
    assert isinstance(manager.passes, tuple)
    with pytest.raises(InvalidValueError, match="unknown strategy"):
        PassManager.get_strategy("Fast")  # type: ignore[arg-type]


def test_options_reach_the_passes() -> None:
    manager = PassManager.get_strategy(signals="credit")
    (lower,) = [item for item in manager.passes if item.get_name() == "LowerCompositeOps"]
    assert str(lower) == "lower_composite_ops(signals=credit)"
    with pytest.raises(InvalidValueError, match="did you mean 'signals'"):
        PassManager.get_strategy(options={"LowerCompositeOps": {"signal": "credit"}})
    with pytest.raises(InvalidValueError, match="'memory_reuse', which does not run"):
        PassManager.get_strategy(options={"memory_reuse": {}})


def test_a_manager_from_text() -> None:
    manager = PassManager.from_text("convert_to_ssa,flatten_call_expr")
    assert manager.pass_names == ["ConvertToSSA", "FlattenCallExpr"]
    assert manager.strategy is None


def test_dumps_are_written_stage_by_stage(tmp_path: Path, printed: list[dict[str, Any]]) -> None:
    manager = PassManager.from_text("unroll_loops,convert_to_ssa")
    with PassContext([], VerificationLevel.NONE, passes.DiagnosticPhase.NONE):
        manager.run_passes(program(), dump_ir=True, output_dir=tmp_path / "new", prefix="pl")
    names = sorted(path.name for path in (tmp_path / "new").iterdir())
    assert names == ["00_frontend.py", "01_after_UnrollLoops.py", "02_after_ConvertToSSA.py"]
    assert (tmp_path / "new" / "00_frontend.py").read_text() == "# P\n"
    assert printed == [{"prefix": "pl", "explicit_layout": False}] * 3


def test_explicit_dumps_and_warnings_beside_them(tmp_path: Path, printed: list[dict[str, Any]]) -> None:
    x, y = ir.Var("x", INDEX), ir.Var("y", INDEX)
    body = ir.SeqStmts([ir.AssignStmt(y, x), ir.ReturnStmt([x])])
    unused = ir.Program([ir.Function("f", [x], [INDEX], body)], "P")
    manager = PassManager.from_text("unroll_loops")
    with PassContext([], VerificationLevel.NONE, passes.DiagnosticPhase.POST_PASS):
        manager.run_passes(unused, dump_ir=PassDumpLevel.EXPLICIT, output_dir=tmp_path)
    assert printed[0] == {"prefix": "pl", "explicit_layout": True}
    assert "unused-variable" in (tmp_path / "01_after_UnrollLoops.log").read_text()
    assert not (tmp_path / "00_frontend.log").exists()


def test_dumping_keeps_the_instruments_of_the_context(tmp_path: Path, printed: list[dict[str, Any]]) -> None:
    seen: list[str] = []
    watch = passes.CallbackInstrument(after_pass=lambda p, _: seen.append(p.get_name()))
    with PassContext([watch], VerificationLevel.NONE, passes.DiagnosticPhase.NONE):
        PassManager.from_text("unroll_loops").run_passes(program(), dump_ir=True, output_dir=tmp_path)
    assert seen == ["UnrollLoops"]


def test_refusals() -> None:
    manager = PassManager.from_text("unroll_loops")
    with pytest.raises(ValueError, match="dump_ir needs output_dir"):
        manager.run_passes(program(), dump_ir=True)
    with pytest.raises(ValueError, match="takes a Program, got Function"):
        manager.run_passes(program()["f"])  # type: ignore[arg-type]
    with (
        PassContext([], memory_planner=MemoryPlanner.PTOAS),
        pytest.raises(RuntimeError, match="planner PYPTO and runs under PTOAS"),
    ):
        manager.run_passes(program())
