"""MaterializeDistTensorCtx: contexts as parameters, where they come from, and what cannot be known."""

from __future__ import annotations

from typing import Any

import pytest
from host_programs import HEADER, SSA, STAGES, WORLD, Windows, calls, host_of, host_program, inner_statements, refused, through

import pypto.language as pl
from pypto import ir, passes
from pypto.ir.verify import verify
from pypto.testing import assert_roundtrip

LAST = "materialize_dist_tensor_ctx"
DATA = "pld.DistributedTensor[[1, 16], pl.FP32]"
SIGNAL = "pld.DistributedTensor[[4, 1], pl.INT32]"
W: Windows = {"data": ("[1, 16]", "FP32"), "sig": ("[4, 1]", "INT32")}


def device_program(*functions: str) -> Any:
    """A program of functions, each given as its decorator's arguments, its head and its body."""
    return pl.parse(HEADER + "".join(functions))


def function(kind: str, head: str, *body: str) -> str:
    lines = [f"    @pl.function(type=pl.FunctionType.{kind})", f"    def {head}:", *(f"        {line}" for line in body)]
    return "\n".join(lines) + "\n"


def with_contexts(program: Any, *, ssa: bool = False) -> Any:
    if ssa:
        for name in SSA.split(","):
            program = getattr(passes, name)()(program)
    after = passes.materialize_dist_tensor_ctx()(program)
    assert_roundtrip(after, formats=(True,))
    assert verify(after, ["DistTensorCtxMaterialized"]) == []
    return after


def params(program: Any, name: str) -> list[str]:
    return [p.name_hint for p in program[name].params]


# -- signatures and calls ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ssa", [False, True])
def test_a_dispatch_passes_the_contexts_of_its_windows(ssa: bool) -> None:
    program = host_program(W, [("data sig", WORLD)], "return data")
    after = through(program, LAST, ssa=ssa)
    chip = after["take_data_sig"]
    assert chip is not None
    assert params(after, "take_data_sig") == ["data", "sig", "data_ctx", "sig_ctx"]
    assert [type(p.type) for p in chip.params[2:]] == [ir.CommCtxType] * 2
    assert chip.param_directions[2:] == [ir.ParamDirection.In] * 2
    host = host_of(after)
    lookups = calls(host, "pld.system.get_comm_ctx")
    assert [c.args[0].name_hint for c in lookups] == ["data", "sig"]
    (call,) = calls(host, "take_data_sig")
    bound = {s.value: s.var for s in inner_statements(host) if isinstance(s, ir.AssignStmt)}
    assert call.args[2:] == [bound[c] for c in lookups]


def test_one_lookup_serves_every_use_of_a_variable() -> None:
    body = "for r in pl.range(4):\n    self.take_data(data, device=r)\nif c:\n    self.take_data(data, device=1)\nelse:\n    self.take_data(data, device=2)\nreturn data"
    program = host_program({"data": W["data"]}, [("data", WORLD)], body, params=", c: pl.Scalar[pl.BOOL]")
    for ssa in (False, True):
        host = host_of(through(program, LAST, ssa=ssa))
        assert len(calls(host, "pld.system.get_comm_ctx")) == 1
        assert len(calls(host, "take_data")) == 4
        assert len({c.args[1] for c in calls(host, "take_data")}) == 1


def test_the_result_of_a_collective_has_the_context_of_its_window() -> None:
    body = "data = pld.tensor.allreduce(data, sig)\nfor r in pl.range(4):\n    self.take_data(data, device=r)\nreturn data"
    for ssa in (False, True):
        host = host_of(through(host_program(W, [("data", WORLD)], body), LAST, ssa=ssa))
        assert len(calls(host, "pld.system.get_comm_ctx")) == 1


def test_windows_that_meet_on_the_host_are_looked_up_again() -> None:
    body = "z = data\nif c:\n    z = pld.window(data_buf, [1, 16], dtype=pl.FP32)\n    self.take_data(z, device=0)\nself.take_data(z, device=1)\nreturn z"
    program = host_program({"data": W["data"]}, [("data", WORLD)], body, params=", c: pl.Scalar[pl.BOOL]")
    for ssa in (False, True):
        through(program, LAST, ssa=ssa)


def test_argument_directions_grow_with_the_arguments() -> None:
    program = through(host_program(W, [("data sig", WORLD)], "return data"), "lower_host_tensor_collectives")
    host = host_of(program)
    (call,) = calls(host, "take_data_sig")
    directed = ir.set_call_attrs(call, {**call.attrs, "arg_directions": [ir.ArgDirection.InOut, ir.ArgDirection.Input]})

    class Put(ir.IRMutator):
        def visit_call(self, op: Any) -> Any:
            return directed if op is call else super().visit_call(op)

    others = [f for f in program.functions.values() if f is not host]
    after = passes.materialize_dist_tensor_ctx()(program.with_functions([*others, Put().visit_function(host)]))
    (call,) = calls(host_of(after), "take_data_sig")
    scalar = ir.ArgDirection.Scalar
    assert call.attrs["arg_directions"] == [ir.ArgDirection.InOut, ir.ArgDirection.Input, scalar, scalar]


@pytest.mark.parametrize(
    ("head", "body", "expected"),
    [
        (f"f(self, d: {DATA}, d_ctx: pl.Scalar[pl.INDEX])", ["return d"], "d_ctx_1"),
        (f"f(self, d: {DATA}, n: pl.Scalar[pl.INDEX])", ["d_ctx = n + 1", "return d"], "d_ctx_1"),
        (f"f(self, d: {DATA}, d_ctx: pl.Scalar[pl.INDEX])", ["d_ctx_1 = d_ctx + 1", "return d"], "d_ctx_2"),
    ],
)
def test_names_that_are_taken_get_a_number(head: str, body: list[str], expected: str) -> None:
    after = with_contexts(device_program(function("Orchestration", head, *body)))
    assert params(after, "f")[-1] == expected


def test_the_name_is_made_from_the_base_of_the_parameter() -> None:
    program = device_program(function("Orchestration", f"f(self, data__ssa_v3: {DATA})", "return data__ssa_v3"))
    assert params(with_contexts(program), "f") == ["data__ssa_v3", "data_ctx"]


def test_running_it_twice_changes_nothing() -> None:
    after = through(host_program(W, [("data sig", WORLD)], "return data"), LAST)
    assert passes.materialize_dist_tensor_ctx()(after) is after


def test_functions_without_distributed_tensors_are_left_alone() -> None:
    program = device_program(function("InCore", "f(self, x: pl.Tensor[[4], pl.FP32])", "return x"))
    assert passes.materialize_dist_tensor_ctx()(program) is program


# -- lineage -------------------------------------------------------------------------------------------------------------------

KERNEL = function("InCore", f"kernel(self, a: pl.InOut[{DATA}], x: pl.Tensor[[1, 16], pl.FP32])", "return a")
STORE = "pl.store(pl.load(x, [0, 0], [1, 16]), [0, 0], b)"

LINEAGES = {
    "the parameter": ["self.kernel(b, x)"],
    "a copy": ["c = b", "self.kernel(c, x)"],
    "what is stored into": [f"c = {STORE}", "self.kernel(c, x)"],
    "what is assembled into": ["c = pl.tensor.assemble(b, x, [0, 0])", "self.kernel(c, x)"],
    "a view": ["c = pl.tensor.view(b, [1, 16])", "self.kernel(c, x)"],
    "a slice": ["c = pl.tensor.slice(b, [1, 16], [0, 0])", "self.kernel(c, x)"],
    "a reshape": ["c = pl.tensor.reshape(b, [16])", "d = pl.tensor.reshape(c, [1, 16])", "self.kernel(d, x)"],
    "a result": ["c = self.kernel(b, x)", "self.kernel(c, x)"],
    "a carried value": ["for i in pl.range(3):", "    b = self.kernel(b, x)", "self.kernel(b, x)"],
    "a branch": ["if n > 1:", "    c = self.kernel(b, x)", "else:", "    c = b", "self.kernel(c, x)"],
    "a while loop": ["while n < 3:", "    n = n + 1", "    b = self.kernel(b, x)", "self.kernel(b, x)"],
}


@pytest.mark.parametrize("ssa", [False, True])
@pytest.mark.parametrize("body", LINEAGES.values(), ids=LINEAGES)
def test_where_contexts_come_from(body: list[str], ssa: bool) -> None:
    head = f"f(self, a: {DATA}, b: {DATA}, x: pl.Tensor[[1, 16], pl.FP32], n: pl.Scalar[pl.INDEX])"
    after = with_contexts(device_program(KERNEL, function("Orchestration", head, *body, "return a")), ssa=ssa)
    assert params(after, "f")[-2:] == ["a_ctx", "b_ctx"]
    for call in calls(after["f"], "kernel"):
        assert call.args[-1] is after["f"].params[-1]


@pytest.mark.parametrize("ssa", [False, True])
def test_results_of_several_values_are_told_apart(ssa: bool) -> None:
    swap = function("Orchestration", f"swap(self, p: {DATA}, q: {DATA})", "return q, p")
    head = f"f(self, a: {DATA}, b: {DATA}, x: pl.Tensor[[1, 16], pl.FP32])"
    body = ["c, d = self.swap(a, b)", "self.kernel(c, x)", "e, g = self.swap(c, d)", "self.kernel(e, x)", "return a"]
    after = with_contexts(device_program(KERNEL, swap, function("Orchestration", head, *body)), ssa=ssa)
    a_ctx, b_ctx = after["f"].params[-2:]
    assert [c.args[-1] for c in calls(after["f"], "kernel")] == [b_ctx, a_ctx]
    assert [c.args[2:] for c in calls(after["f"], "swap")] == [[a_ctx, b_ctx], [b_ctx, a_ctx]]


def test_lookups_in_device_code_become_the_parameter() -> None:
    body = [
        "ctx = pld.system.get_comm_ctx(d)",
        "n = pld.system.nranks(ctx)",
        "m = pld.system.rank(pld.system.get_comm_ctx(d))",
        "k = n + m",
    ]
    after = with_contexts(device_program(function("InCore", f"f(self, d: {DATA})", *body, "return d")))
    kernel = after["f"]
    assert not calls(kernel, "pld.system.get_comm_ctx")
    stmts = ir.flatten_to_stmts(kernel.body)
    assert stmts[0].value is kernel.params[1]  # type: ignore[attr-defined]
    assert calls(kernel, "pld.system.rank")[0].args[0] is kernel.params[1]


def test_wrappers_pass_contexts_on() -> None:
    inner = function("InCore", f"inner(self, s: {SIGNAL}, d: {DATA})", "return d")
    outer = function("Orchestration", f"outer(self, d: {DATA}, s: {SIGNAL})", "d = self.inner(s, d)", "return d")
    after = with_contexts(device_program(inner, outer))
    (call,) = calls(after["outer"], "inner")
    assert [a.name_hint for a in call.args] == ["s", "d", "s_ctx", "d_ctx"]
    assert params(after, "inner") == ["s", "d", "s_ctx", "d_ctx"]


def test_launches_pass_contexts_on() -> None:
    inner = function(
        "InCore", f"inner(self, d: {DATA}, x: pl.Tensor[[1, 16], pl.FP32]) -> pl.Tensor[[1, 16], pl.FP32]", "return x"
    )
    outer = function(
        "Orchestration",
        f"outer(self, d: {DATA}, x: pl.Tensor[[1, 16], pl.FP32])",
        "y, tid = pl.submit(self.inner, d, x)",
        "return y",
    )
    after = with_contexts(device_program(inner, outer))
    (submit,) = (n for n in ir.node.walk(after["outer"].body) if isinstance(n, ir.Submit))
    assert [a.name_hint for a in submit.args] == ["d", "x", "d_ctx"]
    assert verify(after, ["TypeChecked"]) == []


# -- what is refused -----------------------------------------------------------------------------------------------------------


def device_text(*body: str) -> str:
    head = f"f(self, a: {DATA}, b: {DATA}, x: pl.Tensor[[1, 16], pl.FP32], n: pl.Scalar[pl.INDEX])"
    return HEADER + KERNEL + function("Orchestration", head, *body, "return a")


@pytest.mark.parametrize("ssa", [False, True])
def test_branches_with_different_contexts_are_refused(ssa: bool) -> None:
    text = device_text("c = a", "if n > 1:", "    c = b", "self.kernel(c, x)")
    refused(lambda: with_contexts(pl.parse(text), ssa=ssa), text, "if n > 1:", "Cannot determine", "'a_ctx'", "'b_ctx'")


@pytest.mark.parametrize("ssa", [False, True])
def test_a_loop_that_rebinds_a_carried_tensor_is_refused(ssa: bool) -> None:
    text = device_text("c = a", "for i in pl.range(3):", "    self.kernel(c, x)", "    c = b")
    refused(lambda: with_contexts(pl.parse(text), ssa=ssa), text, "for i in", "Cannot determine", "'a_ctx'", "'b_ctx'")


def test_what_device_code_cannot_know_is_refused() -> None:
    make = function(
        "Orchestration",
        f"make(self, a: {DATA}, b: {DATA}, n: pl.Scalar[pl.INDEX])",
        "c = a",
        "if n > 1:",
        "    c = b",
        "return c",
    )
    text = device_text("c = self.make(a, b, n)", "self.kernel(c, x)").replace(HEADER + KERNEL, HEADER + KERNEL + make)
    refused(lambda: with_contexts(pl.parse(text)), text, "self.kernel(c, x)", "Cannot determine", "'c'")


def test_a_result_that_is_no_parameter_is_refused() -> None:
    unknown = (
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def unknown(self, a: {DATA}, b: {DATA}) -> {DATA}:\n"
        "        return pl.tensor.add(a, b)\n"
    )
    text = device_text("c = self.unknown(a, b)", "self.kernel(c, x)").replace(HEADER + KERNEL, HEADER + KERNEL + unknown)
    program: Any = pl.parse(text)
    refused(lambda: with_contexts(program), text, "self.kernel(c, x)", "Cannot determine", "'c'")


def test_the_verifier_reports_lookups_in_device_code() -> None:
    program = device_program(
        function("InCore", f"f(self, d: {DATA})", "ctx = pld.system.get_comm_ctx(d)", "n = pld.system.rank(ctx)", "return d")
    )
    (finding,) = verify(program, ["DistTensorCtxMaterialized"])
    assert "get_comm_ctx" in finding.message
    assert finding.span is not None
    assert finding.span.begin_line == 8


def test_the_pass_states_its_properties() -> None:
    made = passes.materialize_dist_tensor_ctx()
    prop = passes.IRProperty
    assert made.get_name() == "MaterializeDistTensorCtx"
    assert made.get_required_properties().to_list() == [prop.CommDomainScopesMaterialized, prop.ReturnParamsExplicit]
    assert made.get_produced_properties().to_list() == [prop.CommDomainScopesMaterialized, prop.DistTensorCtxMaterialized]
    assert STAGES.index(LAST) == 3
