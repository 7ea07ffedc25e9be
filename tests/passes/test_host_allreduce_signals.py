"""SynthesizeAllReduceSignals: the signal of an allreduce that leaves it out."""

from __future__ import annotations

from typing import Any

import pytest
from host_programs import WORLD, calls, host_of, host_program, inner_statements, refused, text_of, through

import pypto
import pypto.language as pl
from pypto import ir, passes

WINDOWS = {"x": ("[16]", "FP32")}
ALL = [("x", WORLD)]
SIGNALLED = {**WINDOWS, "s": ("[8, 4]", "INT32")}


def synthesized(body: str, **parts: str) -> ir.Program:
    return through(host_program(WINDOWS, ALL, body, **parts), "synthesize_allreduce_signals")


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("ssa", [False, True])
def test_an_omitted_signal_is_allocated_before_the_call(cores: int, ssa: bool) -> None:
    program = host_program(WINDOWS, ALL, f"x = pld.tensor.allreduce(x, core_num={cores})\nreturn x")
    host = host_of(through(program, "synthesize_allreduce_signals", ssa=ssa))
    stmts = inner_statements(host)
    at = next(i for i, s in enumerate(stmts) if calls(s, "pld.tensor.allreduce"))
    ranks, buffer, signal, call = stmts[at - 3 : at + 1]
    assert [s.var.name_hint for s in (ranks, buffer, signal)] == [
        "__allreduce_signal_world_size_0",
        "__allreduce_signal_buf_0",
        "__allreduce_signal_0",
    ]
    assert ranks.value.op.name == "pld.system.world_size"
    assert buffer.value.op.name == "pld.tensor.alloc_window_buffer"
    assert buffer.value.kwargs == {"name": "__allreduce_signal_buf_0"}
    # ranks * cores * 4 bytes, with the factor of the cores even when it is one
    size = buffer.value.args[0]
    assert type(size) is ir.Mul
    assert type(size.left) is ir.Mul
    assert size.left.left is ranks.var
    assert [size.left.right.value, size.right.value] == [cores, 4]
    assert [size.left.right.dtype, size.right.dtype] == [ir.DataType.INT64] * 2
    assert signal.value.args[0] is buffer.var
    assert [signal.var.type.shape[0] is ranks.var, signal.var.type.shape[1].value] == [True, cores]
    assert signal.var.type.dtype is ir.DataType.INT32
    assert call.value.args[1] is signal.var
    assert call.value.kwargs == {"op": 0, "mode": "mesh", "core_num": cores}


def test_an_assignment_keeps_its_variable_and_its_keywords() -> None:
    program = host_program(WINDOWS, ALL, "y = pld.tensor.allreduce(x, op=pld.ReduceOp.Max)\nreturn y")
    before = inner_statements(host_of(program))[-2]
    after = inner_statements(host_of(passes.synthesize_allreduce_signals()(program)))[-2]
    assert after.var is before.var
    assert after.value.kwargs == before.value.kwargs
    assert after.value.args[0] is before.value.args[0]


def test_a_bare_call_stays_bare() -> None:
    stmts = inner_statements(host_of(synthesized("pld.tensor.allreduce(x)\nreturn x")))
    call = stmts[-2]
    assert isinstance(call, ir.EvalStmt)
    assert len(call.expr.args) == 2
    assert [s.var.name_hint for s in stmts[-5:-2]] == [
        "__allreduce_signal_world_size_0",
        "__allreduce_signal_buf_0",
        "__allreduce_signal_0",
    ]


def test_every_call_gets_a_signal_of_its_own() -> None:
    host = host_of(synthesized("x = pld.tensor.allreduce(x)\nx = pld.tensor.allreduce(x)\nreturn x"))
    signals = [call.args[1] for call in calls(host, "pld.tensor.allreduce")]
    assert [s.name_hint for s in signals] == ["__allreduce_signal_0", "__allreduce_signal_1"]
    names = [call.kwargs["name"] for call in calls(host, "pld.tensor.alloc_window_buffer")]
    assert names == ["x_buf", "__allreduce_signal_buf_0", "__allreduce_signal_buf_1"]


def test_a_returned_allreduce_is_assigned_first() -> None:
    stmts = inner_statements(host_of(synthesized("return pld.tensor.allreduce(x)")))
    assign, returned = stmts[-2:]
    assert assign.var.name_hint == "__allreduce_result_0"
    assert assign.value.args[1].name_hint == "__allreduce_signal_0"
    assert returned.value[0] is assign.var


def test_a_returned_allreduce_with_a_signal_is_assigned_without_a_prefix() -> None:
    program = host_program(SIGNALLED, ALL, "return x, pld.tensor.allreduce(x, s)")
    stmts = inner_statements(host_of(through(program, "synthesize_allreduce_signals")))
    assign, returned = stmts[-2:]
    assert assign.var.name_hint == "__allreduce_result_0"
    assert assign.value.args[1].name_hint == "s"
    assert returned.value[1] is assign.var
    assert len(calls(host_of(program), "pld.tensor.alloc_window_buffer")) == 2


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        ("__allreduce_signal_0 = 1", 1),
        ("__allreduce_signal_buf_0 = 1", 1),
        ("__allreduce_signal_world_size_0 = 1", 1),
        ("__allreduce_signal_0 = 1\n__allreduce_signal_buf_1 = 1", 2),
        ("__allreduce_result_0 = 1", 0),
    ],
)
def test_numbers_whose_names_are_taken_are_skipped(taken: str, expected: int) -> None:
    host = host_of(synthesized(f"{taken}\nx = pld.tensor.allreduce(x)\nreturn x"))
    assert calls(host, "pld.tensor.allreduce")[0].args[1].name_hint == f"__allreduce_signal_{expected}"


def test_names_of_other_functions_and_of_buffers_count_too() -> None:
    other = (
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        "    def other(self, __allreduce_result_0: pl.Tensor[[4], pl.FP32]):\n"
        "        return __allreduce_result_0\n"
    )
    host = host_of(synthesized("return pld.tensor.allreduce(x)", chip=other))
    assert inner_statements(host)[-1].value[0].name_hint == "__allreduce_result_1"


def test_one_count_serves_the_whole_program() -> None:
    text = text_of(WINDOWS, ALL, "return pld.tensor.allreduce(x)")
    second = (
        text[text.index("    @pl.function(level=pl.Level.HOST") :].replace("def host", "def second").replace("x_buf", "y_buf")
    )
    program: Any = pl.parse(text + second)
    found = through(program, "synthesize_allreduce_signals")
    names = {calls(found[name], "pld.tensor.allreduce")[0].args[1].name_hint for name in ("host", "second")}
    assert names == {"__allreduce_signal_0", "__allreduce_signal_1"}


def test_explicit_signals_are_left_alone() -> None:
    body = "x = pld.tensor.allreduce(x, s)\nfor i in pl.range(3):\n    x = pld.tensor.allreduce(x, s)\nreturn x"
    program = host_program(SIGNALLED, ALL, body)
    assert passes.synthesize_allreduce_signals()(program) is program


def test_programs_without_allreduce_are_left_alone() -> None:
    program = host_program(SIGNALLED, ALL, "s = pld.tensor.barrier(s)\nreturn x")
    assert passes.synthesize_allreduce_signals()(program) is program


def test_device_code_is_left_alone() -> None:
    program = pl.parse(
        "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n@pl.program\nclass P:\n"
        "    @pl.function(type=pl.FunctionType.InCore)\n"
        "    def kernel(self, d: pld.DistributedTensor[[1, 16], pl.FP32]):\n"
        "        d = pld.tensor.allreduce(d)\n"
        "        return d\n"
    )
    assert passes.synthesize_allreduce_signals()(program) is program


def test_a_call_inside_a_branch_gets_its_signal_there() -> None:
    host = host_of(synthesized("if c:\n    x = pld.tensor.allreduce(x)\nreturn x", params=", c: pl.Scalar[pl.BOOL]"))
    branch = next(s for s in inner_statements(host) if isinstance(s, ir.IfStmt))
    assert len(ir.flatten_to_stmts(branch.then_body)) == 4


def test_comments_stay_above_what_they_are_about() -> None:
    host = host_of(synthesized("# add up\nx = pld.tensor.allreduce(x)\nreturn x"))
    assert next(s for s in inner_statements(host) if s.leading_comments).var.name_hint == "__allreduce_signal_world_size_0"


@pytest.mark.parametrize("loop", ["for i in pl.range(3):", "while n < 3:"])
def test_an_omitted_signal_in_a_loop_is_refused(loop: str) -> None:
    body = f"{loop}\n    n = n + 1\n    if n > 1:\n        x = pld.tensor.allreduce(x)\nreturn x"
    text = text_of(WINDOWS, ALL, body, params=", n: pl.Scalar[pl.INDEX]")
    run = passes.synthesize_allreduce_signals()
    refused(lambda: run(pl.parse(text)), text, "pld.tensor.allreduce", "for/while loop", "signal")


@pytest.mark.parametrize(
    "body",
    [
        "self.take_x(pld.tensor.allreduce(x), device=0)",
        "self.take_x(pld.tensor.allreduce(x, s), device=0)",
        "x = pld.tensor.allreduce(pld.tensor.allreduce(x, s), s)",
    ],
)
def test_an_allreduce_inside_another_expression_is_refused(body: str) -> None:
    text = text_of(SIGNALLED, ALL, f"{body}\nreturn x")
    refused(
        lambda: passes.synthesize_allreduce_signals()(pl.parse(text)),
        text,
        "pld.tensor.allreduce",
        "direct assignment",
        "allreduce",
    )


@pytest.mark.parametrize("count", [0, 3])
def test_another_number_of_operands_is_refused(count: int) -> None:
    program = host_program(SIGNALLED, ALL, "x = pld.tensor.allreduce(x, s)\nreturn x")
    host = host_of(program)
    *stmts, assign, returned = inner_statements(host)
    wrong = assign.replace(value=assign.value.replace(args=[*assign.value.args, assign.value.args[1]][:count]))
    broken = program.with_functions([program["take_x"], host.replace(body=ir.SeqStmts([*stmts, wrong, returned]))])
    with pytest.raises(ValueError, match="1 or 2 operands"):
        passes.synthesize_allreduce_signals()(broken)


def test_a_ring_needs_its_signal_already_in_the_text() -> None:
    with pytest.raises(pypto.Error, match="mesh only"):
        pl.parse(text_of(WINDOWS, ALL, 'x = pld.tensor.allreduce(x, mode="ring")\nreturn x'))
