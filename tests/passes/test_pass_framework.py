"""Passes, properties, contexts, instruments and pipelines, with passes made for the tests."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import pypto.passes.verification as verification
from pypto import ir, passes
from pypto.diagnostics import Diagnostic, Error, InternalError, InvalidTypeError, InvalidValueError, VerificationError
from pypto.ir.verify import generate_report
from pypto.passes import (
    IRProperty,
    IRPropertySet,
    PassContext,
    PassPipeline,
    PassProperties,
    VerificationLevel,
    VerificationMode,
    property_set,
)

INDEX = ir.ScalarType(ir.DataType.INDEX)


def program(name: str = "f") -> ir.Program:
    x = ir.Var("x", INDEX)
    return ir.Program([ir.Function(name, [x], [INDEX], ir.ReturnStmt([x]))], "P")


@dataclass(frozen=True)
class Rename(passes.FunctionPass):
    """Rename functions.

    Only for these tests.
    """

    PRODUCED = (IRProperty.SSAForm,)

    suffix: str = "_"

    def transform_function(self, function: ir.Function, program: ir.Program) -> ir.Function:
        return function.replace(name=function.name + self.suffix)


@dataclass(frozen=True)
class Keep(passes.Pass):
    REQUIRED = (IRProperty.TypeChecked,)
    INVALIDATED = (IRProperty.SSAForm,)

    def transform(self, program: ir.Program) -> ir.Program:
        return program


@dataclass(frozen=True)
class Fail(passes.Pass):
    error: Exception

    def transform(self, program: ir.Program) -> ir.Program:
        raise self.error


class Record(passes.PassInstrument):
    def __init__(self) -> None:
        super().__init__("Record")
        self.seen: list[Any] = []

    def before_pipeline(self, pipeline: Any, program: Any) -> None:
        self.seen.append("begin")

    def after_pipeline(self, pipeline: Any, program: Any) -> None:
        self.seen.append("end")

    def before_pass(self, pass_: Any, program: Any) -> None:
        self.seen.append(("before", pass_.get_name(), [f.name for f in program.functions.values()]))

    def after_pass(self, pass_: Any, program: Any) -> None:
        self.seen.append(("after", pass_.get_name(), [f.name for f in program.functions.values()]))

    def on_diagnostics(self, pass_: Any, diagnostics: Any) -> None:
        self.seen.append(("warn", pass_ and pass_.get_name(), [d.code for d in diagnostics]))


# -- properties ------------------------------------------------------------------------------------------------------------------


def test_the_property_set_is_a_set() -> None:
    both = property_set(IRProperty.TypeChecked, IRProperty.SSAForm)
    one = property_set(IRProperty.SSAForm)
    assert str(both) == "{SSAForm, TypeChecked}"
    assert both.to_list() == [IRProperty.SSAForm, IRProperty.TypeChecked]
    assert both.contains(IRProperty.SSAForm)
    assert both.contains_all(one)
    assert not one.contains_all(both)
    assert both.difference(one) == property_set(IRProperty.TypeChecked)
    assert both.intersection(one) == one
    assert one.union_with(property_set(IRProperty.TypeChecked)) == both
    assert one != both
    assert IRPropertySet().empty()
    one.remove(IRProperty.SSAForm)
    assert one.empty()
    one.insert(IRProperty.UseAfterDef)
    assert one.to_list() == [IRProperty.UseAfterDef]
    with pytest.raises(TypeError):
        hash(one)


def test_there_are_as_many_properties_as_the_reference_lists() -> None:
    assert len(IRProperty) == 41
    assert IRProperty["AtomicAddDtypeValid"] in passes.get_structural_properties()
    assert len(passes.get_structural_properties()) == 11
    assert len(passes.get_default_verify_properties()) == 10
    assert len(passes.get_verified_properties()) == 18


# -- passes ----------------------------------------------------------------------------------------------------------------------


def test_a_pass_has_a_name_properties_options_and_a_summary() -> None:
    made = Rename(suffix="!")
    assert made.get_name() == "Rename"
    assert made.get_produced_properties() == property_set(IRProperty.SSAForm)
    assert made.get_required_properties().empty()
    assert made.get_options() == {"suffix": "!"}
    assert Rename().get_options() == {}
    assert Rename.summary() == "Rename functions."
    assert str(made) == "rename(suffix='!')"


def test_a_pass_takes_a_program_only() -> None:
    with pytest.raises(InvalidTypeError, match="Rename takes a Program, got Function"):
        Rename()(program()["f"])  # type: ignore[arg-type]


def test_what_changes_nothing_gives_the_same_program() -> None:
    before = program()
    assert Rename(suffix="")(before)["f"] is not None
    same = passes.create_function_pass(lambda f: f)
    assert same(before) is before


def test_passes_from_functions() -> None:
    properties = PassProperties(property_set(IRProperty.SSAForm), property_set(IRProperty.TypeChecked), IRPropertySet())
    made = passes.create_function_pass(lambda f: f.replace(name=f.name + "2"), "Twice", properties)
    assert made.get_name() == "Twice"
    assert made.get_required_properties() == property_set(IRProperty.SSAForm)
    assert made.get_produced_properties() == property_set(IRProperty.TypeChecked)
    assert [f.name for f in made(program()).functions.values()] == ["f2"]

    def whole(p: ir.Program) -> ir.Program:
        return program("g")

    assert passes.create_program_pass(whole).get_name() == "whole"
    assert passes.create_program_pass(whole)(program())["g"] is not None
    with pytest.raises(InvalidTypeError, match="must return a Program, got NoneType"):
        passes.create_program_pass(lambda p: None)(program())  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidTypeError, match="must return a Function"):
        passes.create_function_pass(lambda f: 3)(program())  # type: ignore[arg-type, return-value]


def test_an_error_says_which_pass_raised_it() -> None:
    with pytest.raises(InvalidValueError) as caught:
        Fail(InvalidValueError("bad shape", note="rank 3"))(program())
    assert caught.value.note == "rank 3; raised by the pass Fail"
    assert "note: rank 3; raised by the pass Fail" in str(caught.value)
    for other in (InternalError("broken"), KeyError("x")):
        with pytest.raises(type(other)) as plain:
            Fail(other)(program())
        assert plain.value is other


# -- context ---------------------------------------------------------------------------------------------------------------------


def test_contexts_nest_and_belong_to_their_thread() -> None:
    assert PassContext.current() is None
    with PassContext([]) as outer:
        assert PassContext.current() is outer
        with PassContext([], backend=passes.Backend.ASCEND_950) as inner:
            assert PassContext.current() is inner
            assert passes.current_backend() is passes.Backend.ASCEND_950
            assert inner.get_backend() is not None
            assert inner.get_backend().vector_cores == 36
            seen: list[Any] = []
            thread = threading.Thread(target=lambda: seen.append(PassContext.current()))
            thread.start()
            thread.join()
            assert seen == [None]
        assert PassContext.current() is outer
        assert passes.current_backend() is None
    assert PassContext.current() is None


def test_a_context_is_left_also_on_errors() -> None:
    with pytest.raises(KeyError), PassContext([]):
        raise KeyError
    assert PassContext.current() is None


def test_the_defaults_of_a_context() -> None:
    context = PassContext([])
    assert context.get_verification_level() is VerificationLevel.BASIC
    assert context.get_diagnostic_phase() is passes.DiagnosticPhase.PRE_PIPELINE
    assert context.get_disabled_diagnostics().to_list() == [passes.DiagnosticCheck.UnusedControlFlowResult]
    assert context.get_memory_planner() is passes.MemoryPlanner.PYPTO
    assert context.get_runtime() is passes.RuntimeKind.TENSORMAP_AND_RINGBUFFER
    assert not context.get_enable_pypto_l0c_double_buffer()
    assert context.get_instruments() == []
    with pytest.raises(InvalidTypeError, match="takes PassInstrument objects"):
        PassContext([3])  # type: ignore[list-item]


def test_names_of_runtimes_and_cores() -> None:
    kind = passes.RuntimeKind.HOST_BUILD_GRAPH
    assert passes.runtime_kind_to_name(kind) == "host_build_graph"
    assert passes.runtime_kind_from_name("Host_Build_Graph") is kind
    with pytest.raises(InvalidValueError, match="did you mean 'host_build_graph'"):
        passes.runtime_kind_from_name("host_build_grap")
    assert passes.Backend.ASCEND_910B.vector_cores == 48


# -- instruments and pipelines ---------------------------------------------------------------------------------------------------


def test_instruments_see_every_pass_in_order() -> None:
    record = Record()
    calls: list[str] = []
    callback = passes.CallbackInstrument(
        before_pass=lambda p, _: calls.append(f"<{p.get_name()}"), after_pass=lambda p, _: calls.append(f"{p.get_name()}>")
    )
    assert callback.get_name() == "CallbackInstrument"
    with PassContext([record, callback], verification_level=VerificationLevel.NONE):
        result = PassPipeline([Rename(), Keep()]).run(program())
    assert [f.name for f in result.functions.values()] == ["f_"]
    assert record.seen == [
        "begin",
        ("before", "Rename", ["f"]),
        ("after", "Rename", ["f_"]),
        ("before", "Keep", ["f_"]),
        ("after", "Keep", ["f_"]),
        "end",
    ]
    assert calls == ["<Rename", "Rename>", "<Keep", "Keep>"]


def test_a_pass_called_alone_runs_the_instruments_of_the_context() -> None:
    record = Record()
    with PassContext([record]):
        Rename()(program())
    assert [entry[0] for entry in record.seen] == ["before", "after"]


def test_a_pipeline_takes_passes_only() -> None:
    with pytest.raises(InvalidTypeError, match="takes Pass objects") as caught:
        PassPipeline([Rename])  # type: ignore[list-item]
    assert caught.value.hint is not None
    assert "call the factory" in caught.value.hint
    pipeline = PassPipeline()
    pipeline.add_pass(Keep())
    assert pipeline.get_pass_names() == ["Keep"]
    assert len(pipeline.get_passes()) == len(pipeline) == 1


def test_timing_with_a_clock_of_our_own() -> None:
    ticks = iter([1.0, 1.5, 2.0, 4.0])
    timing = passes.TimingInstrument(lambda: next(ticks))
    with PassContext([timing], verification_level=VerificationLevel.NONE):
        PassPipeline([Rename(), Keep()]).run(program())
    assert timing.times == [("Rename", 0.5), ("Keep", 2.0)]
    assert timing.total == 2.5
    assert "Rename     500.000 ms" in timing.report()


class FakeVerifier:
    """Stands for ``pypto.ir.verify``: remembers what it was asked, and finds what it is told to find."""

    def __init__(self, findings: dict[str, str] | None = None) -> None:
        self.asked: list[list[str]] = []
        self.findings = findings or {}
        self.PROPERTIES = {p.name for p in IRProperty}
        self.generate_report = generate_report

    def verify(self, program: ir.Program, names: list[str]) -> list[Diagnostic]:
        self.asked.append(list(names))
        return [Diagnostic(name, self.findings[name]) for name in names if name in self.findings]


@pytest.fixture
def verifier(monkeypatch: pytest.MonkeyPatch) -> FakeVerifier:
    fake = FakeVerifier()
    monkeypatch.setattr(verification, "ir_verify", fake)
    return fake


def test_a_pipeline_verifies_its_input_then_what_passes_produce(verifier: FakeVerifier) -> None:
    with PassContext([]):
        PassPipeline([Rename(), Rename(), Keep(), Rename()]).run(program())
    # the input; SSAForm once; not again while it is known; again after Keep invalidated it
    structural = "TypeChecked NoRedundantBlocks BreakContinueValid InOutUseValid ManualDepsOnSubmitOnly AtomicAddDtypeValid"
    assert set(verifier.asked[0]) == set(structural.split())
    assert [names for names in verifier.asked[1:] if names] == [["SSAForm"], ["SSAForm"]]


def test_a_broken_input_is_reported_as_the_input(verifier: FakeVerifier) -> None:
    verifier.findings = {"TypeChecked": "x is odd"}
    with pytest.raises(
        VerificationError, match=r"after pass 'pipeline_input': verification found 1 fault\n\nerror\[TypeChecked\]: x is odd"
    ):
        PassPipeline([]).run(program())
    with PassContext([], verification_level=VerificationLevel.NONE):
        PassPipeline([]).run(program())


def test_the_verification_instrument_names_the_pass(verifier: FakeVerifier) -> None:
    verifier.findings = {"SSAForm": "twice"}
    with (
        PassContext([passes.VerificationInstrument(VerificationMode.AFTER)]),
        pytest.raises(Error, match="Post-verification failed after pass 'Rename'"),
    ):
        Rename()(program())
    verifier.findings = {"TypeChecked": "odd"}
    with (
        PassContext([passes.VerificationInstrument(VerificationMode.BEFORE)]),
        pytest.raises(Error, match="Pre-verification failed before pass 'Keep'"),
    ):
        Keep()(program())
    with PassContext([passes.VerificationInstrument(VerificationMode.NONE)]):
        Keep()(program())


def test_run_verifier_is_a_pass(verifier: FakeVerifier) -> None:
    check = passes.run_verifier()
    assert check.get_name() == "IRVerifier"
    before = program()
    assert check(before) is before
    assert set(verifier.asked[-1]) == {p.name for p in passes.get_default_verify_properties()}
    passes.run_verifier(property_set(IRProperty.SSAForm))(before)
    assert verifier.asked[-1] == ["SSAForm"]
    verifier.findings = {"SSAForm": "twice"}
    with pytest.raises(VerificationError, match="Verification failed: verification found 1 fault"):
        check(before)
    with pytest.raises(VerificationError, match="after pass 'Mine'"):
        passes.verify_properties(property_set(IRProperty.SSAForm), before, "Mine")
    registry = passes.PropertyVerifierRegistry
    found = registry.verify(property_set(IRProperty.SSAForm), before)
    assert [item.code for item in found] == ["SSAForm"]
    assert registry.generate_report(found) == "verification found 1 fault\n\nerror[SSAForm]: twice"
    assert registry.generate_report([]) == "verification found nothing"


# -- warnings --------------------------------------------------------------------------------------------------------------------


def with_unused() -> ir.Program:
    x, y, ignored, r = (ir.Var(name, INDEX) for name in ("x", "y", "_", "r"))
    branch = ir.IfStmt(ir.Lt(x, x, ir.DataType.BOOL), ir.YieldStmt([x]), ir.YieldStmt([x]), [r])
    body = ir.SeqStmts([ir.AssignStmt(y, x), ir.AssignStmt(ignored, x), branch, ir.ReturnStmt([x])])
    return ir.Program([ir.Function("f", [x], [INDEX], body)], "P")


def test_unused_variables_and_results_are_warned_of() -> None:
    registry = passes.DiagnosticCheckRegistry
    found = registry.run_checks(registry.get_all_checks(), passes.DiagnosticPhase.PRE_PIPELINE, with_unused())
    assert [(d.code, d.severity) for d in found] == [("unused-variable", "warning"), ("unused-control-flow-result", "warning")]
    assert "'y' is assigned but never used" in found[0].message
    assert "branch result 'r'" in found[1].message
    assert registry.run_checks(registry.get_all_checks(), passes.DiagnosticPhase.NONE, with_unused()) == []


def test_what_is_called_for_its_effect_is_not_unused() -> None:
    x, y = ir.Var("x", INDEX), ir.Var("y", INDEX)
    body = ir.SeqStmts([ir.AssignStmt(y, ir.Call(ir.GlobalVar("g"), [x], INDEX)), ir.ReturnStmt([x])])
    registry = passes.DiagnosticCheckRegistry
    subject = ir.Program([ir.Function("f", [x], [INDEX], body)])
    assert registry.run_checks(registry.get_all_checks(), passes.DiagnosticPhase.PRE_PIPELINE, subject) == []


def test_pipelines_warn_in_the_phase_of_the_context(caplog: pytest.LogCaptureFixture) -> None:
    record = Record()
    with (
        caplog.at_level(logging.WARNING, "pypto.passes"),
        PassContext([record], VerificationLevel.NONE, passes.DiagnosticPhase.POST_PASS),
    ):
        PassPipeline([Keep()]).run(with_unused())
    assert record.seen[3] == ("warn", "Keep", ["unused-variable"])
    assert "warning[unused-variable]: variable 'y' is assigned but never used" in caplog.text
    checks = passes.DiagnosticCheckSet(passes.DiagnosticCheck)
    instrument = passes.DiagnosticInstrument(checks)
    with PassContext([instrument], VerificationLevel.NONE, passes.DiagnosticPhase.NONE):
        PassPipeline([Keep()]).run(with_unused())
    assert [(name, d.code) for name, d in instrument.diagnostics] == [
        ("Keep", "unused-variable"),
        ("Keep", "unused-control-flow-result"),
    ]


def test_the_report_says_what_changed(tmp_path: Path) -> None:
    report = passes.ReportInstrument(tmp_path / "out")
    with PassContext([report], verification_level=VerificationLevel.NONE):
        PassPipeline([Rename(), Keep()]).run(program())
    assert report.get_output_dir() == str(tmp_path / "out")
    text = (tmp_path / "out" / "passes.txt").read_text()
    assert text == "Rename: changed, functions 1 -> 1\nKeep: unchanged, functions 1 -> 1\n"


def test_the_real_verifiers() -> None:
    x = ir.Var("x", INDEX)
    twice = ir.Program([ir.Function("f", [x], [INDEX], ir.SeqStmts([ir.AssignStmt(x, x), ir.ReturnStmt([x])]))], "P")
    with pytest.raises(passes.PassVerificationError, match="Verification failed") as caught:
        passes.run_verifier(property_set(IRProperty.SSAForm))(twice)
    (finding,) = caught.value.findings
    assert (finding.rule_name, finding.error_type) == ("SSAForm", passes.SSAErrorType.MULTIPLE_ASSIGNMENT)
    with PassContext([]), pytest.raises(Error, match="after pass 'Rename'"):
        PassPipeline([Rename()]).run(twice)
    assert passes.verify_tensor_view_canonical(twice) == []


def test_level_roundtrip_adds_its_instrument(monkeypatch: pytest.MonkeyPatch, verifier: FakeVerifier) -> None:
    import pypto.passes.pipeline as pipeline

    class Testing:
        made: list[Record] = []

        @classmethod
        def make_roundtrip_instrument(cls) -> Record:
            cls.made.append(Record())
            return cls.made[-1]

    monkeypatch.setattr(pipeline, "late", lambda module: Testing)
    with PassContext([], VerificationLevel.ROUNDTRIP):
        PassPipeline([Rename(), Keep()]).run(program())
    assert [entry[:2] for entry in Testing.made[0].seen] == [
        ("before", "Rename"),
        ("after", "Rename"),
        ("before", "Keep"),
        ("after", "Keep"),
    ]
    own = Record()
    with PassContext([own], VerificationLevel.ROUNDTRIP):
        PassPipeline([Keep()]).run(program())
    assert Testing.made[1].seen == []
    assert len(own.seen) == 4


def test_the_environment_sets_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    level = passes.get_default_verification_level.__wrapped__
    phase = passes.get_default_diagnostic_phase.__wrapped__
    monkeypatch.delenv("PYPTO_VERIFY_LEVEL", raising=False)
    monkeypatch.delenv("PYPTO_WARNING_LEVEL", raising=False)
    assert (level(), phase()) == (VerificationLevel.BASIC, passes.DiagnosticPhase.PRE_PIPELINE)
    monkeypatch.setenv("PYPTO_VERIFY_LEVEL", "roundtrip")
    monkeypatch.setenv("PYPTO_WARNING_LEVEL", "post_pass")
    assert (level(), phase()) == (VerificationLevel.ROUNDTRIP, passes.DiagnosticPhase.POST_PASS)
    monkeypatch.setenv("PYPTO_VERIFY_LEVEL", "bsic")
    with pytest.raises(InvalidValueError, match="unknown PYPTO_VERIFY_LEVEL 'bsic'") as caught:
        level()
    assert caught.value.hint == "did you mean 'basic'?"
