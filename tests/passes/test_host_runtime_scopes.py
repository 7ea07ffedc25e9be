"""MaterializeRuntimeScopes, and the host passes as the end of the default pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from host_programs import HEADER, SSA, STAGES, WORLD, host_of, host_program, through

import pypto.language as pl
from pypto import ir, passes
from pypto.ir.verify import verify
from pypto.runtime import run
from pypto.testing import assert_roundtrip

CHIP = (
    "    @pl.function(type=pl.FunctionType.InCore)\n"
    "    def kernel(self, x: pl.Tensor[[4], pl.FP32]):\n"
    "        return x\n"
    "    @pl.function(type=pl.FunctionType.Orchestration{options})\n"
    "    def chip(self, x: pl.Tensor[[4], pl.FP32], n: pl.Scalar[pl.INDEX]):\n"
    "        x = self.kernel(x)\n"
    "        for i in pl.range(3):\n"
    "            if n > i:\n"
    "                x = self.kernel(x)\n"
    "        return x\n"
)


def scoped(options: str = "", *, ssa: bool = False, text: str = CHIP) -> Any:
    program: Any = pl.parse(HEADER + text.replace("{options}", options))
    if ssa:
        for name in SSA.split(","):
            program = getattr(passes, name)()(program)
    after = passes.materialize_runtime_scopes()(program)
    assert_roundtrip(after)
    return program, after


@pytest.mark.parametrize("ssa", [False, True])
def test_bodies_of_functions_loops_and_branches_get_scopes(ssa: bool) -> None:
    before, after = scoped(ssa=ssa)
    chip = after["chip"]
    assert chip.attrs == {"auto_scope": False}
    assert isinstance(chip.body, ir.RuntimeScopeStmt)
    assert not chip.body.manual
    loop = next(s for s in ir.flatten_to_stmts(chip.body.body) if isinstance(s, ir.ForStmt))
    assert isinstance(loop.body, ir.RuntimeScopeStmt)
    branch = next(s for s in ir.flatten_to_stmts(loop.body.body) if isinstance(s, ir.IfStmt))
    assert isinstance(branch.then_body, ir.RuntimeScopeStmt)
    assert after["kernel"] is before["kernel"]
    assert not verify(after, ["TypeChecked", "UseAfterDef", *(["SSAForm"] if ssa else [])])


def test_a_function_that_opted_out_is_left_alone() -> None:
    before, after = scoped(", auto_scope=False")
    assert after is before


def test_a_second_run_changes_nothing() -> None:
    _, after = scoped()
    assert passes.materialize_runtime_scopes()(after) is after


def test_scopes_that_are_written_are_not_doubled() -> None:
    text = CHIP.replace(
        "        x = self.kernel(x)\n        for", "        with pl.scope():\n            x = self.kernel(x)\n        for"
    )
    _, after = scoped(text=text)
    scopes = [n for n in ir.node.walk(after["chip"].body) if isinstance(n, ir.RuntimeScopeStmt)]
    assert len(scopes) == 4
    loop = text.replace(
        "            if n > i:\n                x = self.kernel(x)\n",
        "            with pl.scope():\n                x = self.kernel(x)\n",
    )
    _, after = scoped(text=loop)
    scopes = [n for n in ir.node.walk(after["chip"].body) if isinstance(n, ir.RuntimeScopeStmt)]
    assert len(scopes) == 3


def test_regions_in_the_order_of_the_author_stay_as_they_are() -> None:
    text = CHIP.replace(
        "        for i in pl.range(3):\n            if n > i:\n                x = self.kernel(x)\n",
        "        with pl.scope(mode=pl.ScopeMode.MANUAL):\n            for i in pl.range(3):\n                x = self.kernel(x)\n",
    )
    _, after = scoped(text=text)
    scopes = [n for n in ir.node.walk(after["chip"].body) if isinstance(n, ir.RuntimeScopeStmt)]
    assert [s.manual for s in scopes] == [False, True]


def test_host_orchestrators_and_kernels_get_no_scopes() -> None:
    program = host_program({"x": ("[16]", "FP32")}, [("x", WORLD)], "return x")
    after = through(program, "materialize_runtime_scopes")
    assert not any(isinstance(n, ir.RuntimeScopeStmt) for n in ir.node.walk(host_of(after).body))


def test_scopes_do_not_change_what_a_function_does() -> None:
    text = CHIP.replace("        return x\n    @pl", "        return pl.tensor.add(x, 1.0)\n    @pl", 1)
    before, after = scoped(text=text)
    x = np.arange(4, dtype=np.float32)
    for n in (0, 2, 5):
        expected = x + 1 + min(n, 3)
        for program in (before, after):
            assert np.array_equal(run(program, x.copy(), n), expected)


def test_the_host_passes_come_last_in_the_default_pipeline() -> None:
    names = passes.PassManager.get_strategy().pass_names
    assert [n for n in names if n != "Simplify"][-5:] == [
        "SynthesizeAllReduceSignals",
        "MaterializeCommDomainScopes",
        "LowerHostTensorCollectives",
        "MaterializeDistTensorCtx",
        "MaterializeRuntimeScopes",
    ]
    assert names[-2:] == ["Simplify", "MaterializeRuntimeScopes"]


@pytest.mark.parametrize(
    "body", ["x = pld.tensor.allreduce(x)\nreturn x", "for i in pl.range(1):\n    x = pld.tensor.allreduce(x, s)\nreturn x"]
)
def test_the_default_pipeline_keeps_the_whole_program_as_text(body: str) -> None:
    windows = {"x": ("[16]", "FP32"), "s": ("[8, 1]", "INT32")}
    program: Any = host_program(windows, [("x s", WORLD)], body)
    level = passes.VerificationLevel.BASIC
    with passes.PassContext(verification_level=level):
        for made in passes.PassManager.get_strategy().passes:
            program = made(program)
            assert_roundtrip(program)
    assert not verify(
        program, ["CommDomainScopesMaterialized", "DistTensorCtxMaterialized", "TypeChecked", "UseAfterDef", "SSAForm"]
    )


def test_the_size_of_a_window_follows_its_allocation() -> None:
    """The final Simplify folds the size of the synthesized signal; the window that the types name has the same size."""
    program = host_program({"x": ("[16]", "FP32")}, [("x", WORLD)], "x = pld.tensor.allreduce(x, core_num=2)\nreturn x")
    for ssa in (False, True):
        host = host_of(through(program, "simplify", ssa=ssa))
        allocations = {
            s.var: s.value.args[0]
            for s in ir.node.walk(host.body)
            if isinstance(s, ir.AssignStmt) and isinstance(s.var.type, ir.PtrType)
        }
        windows = {w for n in ir.node.walk(host.body) if isinstance(n, ir.CommDomainScopeStmt) for w in n.slots}
        typed = {
            n.type.window_buffer
            for n in ir.node.walk(host.body)
            if isinstance(n, ir.Var) and isinstance(n.type, ir.DistributedTensorType) and n.type.window_buffer is not None
        }
        assert windows == typed
        for window in windows:
            assert ir.structural_equal(window.size, allocations[window.base])  # type: ignore[arg-type]
    assert STAGES[-1] == "materialize_runtime_scopes"
