"""MaterializeCommDomainScopes: which ranks share which windows, and every row of its checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from host_programs import (
    SSA,
    WORLD,
    Dispatches,
    Windows,
    calls,
    domains,
    host_of,
    host_program,
    inner_statements,
    refused,
    text_of,
    through,
    variables,
)

import pypto.language as pl
from pypto import ir, passes
from pypto.ir.node import walk
from pypto.ir.op import create_op_call
from pypto.ir.verify import verify
from pypto.testing import assert_roundtrip

X: Windows = {"x": ("[16]", "FP32")}
XS: Windows = {**X, "s": ("[8, 1]", "INT32")}
XYS: Windows = {"x": ("[8, 16]", "FP32"), "y": ("[8, 16]", "FP32"), "s": ("[8, 1]", "INT32")}
V: Windows = {**XYS, "n": ("[8, 1]", "INT32"), "m": ("[8, 1]", "INT32")}

TAKE_X = (
    "    @pl.function(type=pl.FunctionType.Orchestration)\n"
    "    def take_x(self, x: pld.DistributedTensor[[16], pl.FP32]):\n"
    "        return x\n"
)
LAST = "materialize_comm_domain_scopes"


def materialized(windows: Windows, dispatches: Dispatches, body: str = "return x", **parts: str) -> ir.Function:
    return host_of(through(host_program(windows, dispatches, body, **parts), LAST))


def found_domains(host: ir.Function) -> list[tuple[str, list[int], list[str]]]:
    return [(d.name_hint, [*d.devices], [w.name_hint for w in d.slots]) for d in domains(host)]


# -- devices -----------------------------------------------------------------------------------------------------------------


def test_one_window_dispatched_to_all_ranks() -> None:
    program = host_program(X, [("x", WORLD)], "return x")
    after = through(program, LAST)
    host = host_of(after)
    assert found_domains(host) == [("comm_d0", [], ["x_buf"])]
    (window,) = domains(host)[0].slots
    assert [v.type.window_buffer for v in variables(host, "x")] == [window]
    assert window.base is inner_statements(host)[0].var
    assert window.size is inner_statements(host)[0].value.args[0]
    assert (window.load_from_host, window.store_to_host) == (False, False)
    # the chip function keeps its parameter types, and stays the same object
    assert after["take_x"] is program["take_x"]


@pytest.mark.parametrize(
    ("devices", "expected"),
    [
        (WORLD, []),
        ("=2", [2]),
        ("=pl.const(2, pl.INT64)", [2]),
        ("3", [0, 1, 2]),
        ("1, 4", [1, 2, 3]),
        ("1, 4, 1", [1, 2, 3]),
        ("0, pld.world_size()", []),
        ("1, pld.world_size()", []),
    ],
)
@pytest.mark.parametrize("ssa", [False, True])
def test_devices_of_one_dispatch(devices: str, expected: list[int], ssa: bool) -> None:
    program = host_program(X, [("x", devices)], "return x")
    assert found_domains(host_of(through(program, LAST, ssa=ssa))) == [("comm_d0", expected, ["x_buf"])]


@pytest.mark.parametrize("loop", ["for r in pl.range(many):", "for r in pl.parallel(many):"])
def test_the_stop_may_be_a_copy_of_world_size(loop: str) -> None:
    body = f"count = pld.world_size()\nmany = count\n{loop}\n    self.take_x(x, device=r)\nreturn x"
    assert found_domains(materialized(X, [("x", "=1")], body)) == [("comm_d0", [], ["x_buf"])]


@pytest.mark.parametrize(
    ("dispatches", "expected"),
    [
        ([("x", "=2"), ("x", "=0")], [0, 2]),
        ([("x", "0, 2"), ("x", "1, 4")], [0, 1, 2, 3]),
        ([("x", "=1"), ("x", WORLD)], []),
        ([("x", "2, 2"), ("x", "=1")], [1]),
    ],
)
def test_devices_of_several_dispatches_add_up(dispatches: Dispatches, expected: list[int]) -> None:
    assert found_domains(materialized(X, dispatches)) == [("comm_d0", expected, ["x_buf"])]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("self.take_x(x, device=-1)", ("device -1",)),
        ("for r in pl.range(0, 4, 2):\n    self.take_x(x, device=r)", ("step 1", "2")),
        ("for r in pl.range(0, pld.world_size(), 2):\n    self.take_x(x, device=r)", ("step 1", "2")),
        ("for r in pl.range(0, 4, k):\n    self.take_x(x, device=r)", ("step 1", "not constant")),
        ("for r in pl.range(4, 2):\n    self.take_x(x, device=r)", ("from 4 to 2",)),
        ("for r in pl.range(-1, 2):\n    self.take_x(x, device=r)", ("from -1",)),
        ("for r in pl.range(k, 4):\n    self.take_x(x, device=r)", ("constant",)),
        ("for r in pl.range(k):\n    self.take_x(x, device=r)", ("loop bound", "'r'")),
        ("for r in pl.range(pld.world_size() - 1):\n    self.take_x(x, device=r)", ("loop bound",)),
        ("self.take_x(x, device=k)", ("'k'", "variable of a for loop")),
        ("for r in pl.range(4):\n    self.take_x(x, device=r + 1)", ("expression",)),
        ("for r in pl.range(4):\n    q = r\n    self.take_x(x, device=q)", ("'q'",)),
    ],
)
def test_devices_that_cannot_be_known_are_refused(call: str, words: Sequence[str]) -> None:
    text = text_of(X, [], f"{call}\nreturn x", params=", k: pl.Scalar[pl.INDEX]", chip=TAKE_X)
    refused(lambda: passes.materialize_comm_domain_scopes()(pl.parse(text)), text, "self.take_x(", "take_x", *words)


# -- windows -----------------------------------------------------------------------------------------------------------------


def test_views_of_one_allocation_share_one_window() -> None:
    body = "y = pld.window(x_buf, [4, 4], dtype=pl.FP32)\nz = y\nfor r in pl.range(3):\n    self.take_x(x, device=r)\nreturn z"
    host = materialized(X, [("x", WORLD)], body)
    (window,) = domains(host)[0].slots
    for name in ("x", "y", "z"):
        assert [v.type.window_buffer for v in variables(host, name)] == [window]


def test_reading_back_keeps_the_sharing() -> None:
    text = text_of(XYS, [("x y", WORLD)], "y = pld.tensor.all_to_all(x, y, s)\nreturn y")
    after = through(pl.parse(text), LAST)  # type: ignore[arg-type]
    again: Any = pl.parse(after.as_python())
    for program in (after, again):
        host = host_of(program)
        slots = {w for d in domains(host) for w in d.slots}
        used = {
            n.type.window_buffer
            for n in walk(host.body)
            if isinstance(n, ir.Expr) and isinstance(n.type, ir.DistributedTensorType) and n.type.window_buffer is not None
        }
        assert len(slots) == 3
        assert slots == used


def test_two_host_functions_with_buffers_of_one_name() -> None:
    text = text_of(X, [("x", WORLD)], "return x")
    second = text[text.index("    @pl.function(level=pl.Level.HOST") :].replace("def host", "def second")
    parsed: Any = pl.parse(text + second.replace("x_buf", "y_buf"))
    after = through(parsed, LAST)
    printed = after.as_python().replace("y_buf", "x_buf")
    assert "def second" in printed
    assert printed.count('pld.comm_domain("comm_d0", windows=["x_buf"])') == 2
    again: Any = pl.parse(printed)
    assert_roundtrip(again)
    first, other = (domains(again[name])[0].slots[0] for name in ("host", "second"))
    assert first is not other
    for name, window in (("host", first), ("second", other)):
        assert [v.type.window_buffer for v in variables(again[name], "x")] == [window]


def test_running_it_twice_changes_nothing() -> None:
    after = through(host_program(XS, [("x", WORLD)], "x = pld.tensor.allreduce(x, s)\nreturn x"), LAST)
    assert passes.materialize_comm_domain_scopes()(after) is after


def test_functions_without_allocations_are_left_alone() -> None:
    program = host_program({}, [], "return 0")
    assert passes.materialize_comm_domain_scopes()(program) is program


def test_the_result_of_a_collective_is_a_view_of_the_same_window() -> None:
    body = "y = pld.tensor.allreduce(x, s)\nz = pld.tensor.allreduce(y, s)\nfor r in pl.range(3):\n    self.take_x(z, device=r)\nreturn z"
    host = materialized(XS, [("x", "=0")], body)
    assert found_domains(host) == [("comm_d0", [0, 1, 2], ["x_buf", "s_buf"])]
    assert len({v.type.window_buffer for name in ("x", "y", "z") for v in variables(host, name)}) == 1


def test_what_a_chip_function_returns_is_known_by_position() -> None:
    swap = (
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        "    def swap(self, a: pld.DistributedTensor[[8, 16], pl.FP32], b: pld.DistributedTensor[[8, 16], pl.FP32]):\n"
        "        c = b\n"
        "        return c, a\n"
    )
    body = "for r in pl.range(2):\n    p, q = self.swap(x, y, device=r)\n    self.take_y(p, device=4)\nreturn x"
    windows = {n: XYS[n] for n in ("x", "y")}
    for ssa in (False, True):
        program = host_program(windows, [("x", "=0"), ("y", "=0")], body, chip=swap)
        host = host_of(through(program, LAST, ssa=ssa))
        # p is y, which is dispatched to device 4 as well
        assert found_domains(host) == [("comm_d0", [0, 1], ["x_buf"]), ("comm_d1", [0, 1, 4], ["y_buf"])]
        (p,), (q,) = variables(host, "p"), variables(host, "q")
        assert [p.type.window_buffer.name_hint, q.type.window_buffer.name_hint] == ["y_buf", "x_buf"]


def test_carried_values_and_branches_keep_their_window() -> None:
    body = "for i in pl.range(3):\n    if c:\n        x = pld.tensor.allreduce(x, s)\nreturn x"
    program = host_program(XS, [("x", WORLD)], body, params=", c: pl.Scalar[pl.BOOL]")
    host = host_of(through(program, LAST, ssa=True))
    (loop,) = (s for s in inner_statements(host) if isinstance(s, ir.ForStmt) and s.iter_args)
    (window, _) = domains(host)[0].slots
    held = [loop.iter_args[0], loop.return_vars[0], *(s.return_vars[0] for s in walk(loop) if isinstance(s, ir.IfStmt))]
    assert len(held) == 3
    assert all(v.type.window_buffer is window for v in held)  # type: ignore[attr-defined]


@pytest.mark.parametrize("ssa", [False, True])
def test_ways_that_hand_on_different_windows_are_refused(ssa: bool) -> None:
    body = "z = x\nif c:\n    z = y\nz = pld.tensor.allreduce(z, s)\nreturn z"
    text = text_of(XYS, [("x y", WORLD)], body, params=", c: pl.Scalar[pl.BOOL]")
    program: Any = pl.parse(text)
    if ssa:
        for name in SSA.split(","):
            program = getattr(passes, name)()(program)
    refused(lambda: passes.materialize_comm_domain_scopes()(program), text, "if c:", "'x_buf'", "'y_buf'", "way")


@pytest.mark.parametrize("ssa", [False, True])
def test_a_loop_that_changes_the_window_of_a_variable_is_refused(ssa: bool) -> None:
    body = "z = x\nfor i in pl.range(3):\n    self.take_x_y(z, y, device=0)\n    z = y\nreturn z"
    text = text_of(XYS, [("x y", WORLD), ("s", WORLD)], body)
    program: Any = pl.parse(text)
    if ssa:
        for name in SSA.split(","):
            program = getattr(passes, name)()(program)
    refused(lambda: passes.materialize_comm_domain_scopes()(program), text, "for i in", "'x_buf'", "'y_buf'", "way")


def test_two_names_of_one_window_may_meet() -> None:
    body = "z = x\nif c:\n    z = pld.tensor.allreduce(x, s)\nz = pld.tensor.allreduce(z, s)\nreturn z"
    for ssa in (False, True):
        host = host_of(through(host_program(XS, [("x", WORLD)], body, params=", c: pl.Scalar[pl.BOOL]"), LAST, ssa=ssa))
        assert len({v.type.window_buffer for v in [*variables(host, "x"), *variables(host, "z")]}) == 1


def test_a_name_can_hold_one_window_after_another() -> None:
    body = "z = x\nz = pld.tensor.allreduce(z, s)\nz = y\nz = pld.tensor.allreduce(z, s)\nreturn z"
    host = materialized(XYS, [("x y", WORLD)], body)
    first, second = (call.args[0] for call in calls(host, "pld.tensor.allreduce"))
    assert [first.type.window_buffer.name_hint, second.type.window_buffer.name_hint] == ["x_buf", "y_buf"]


# -- domains -----------------------------------------------------------------------------------------------------------------


def test_windows_with_the_same_ranks_share_a_domain() -> None:
    windows = dict.fromkeys("abcd", ("[16]", "FP32"))
    dispatches = [("b", "2"), ("a c", "0, 3"), ("d", WORLD)]
    host = materialized(windows, dispatches, "return a")
    assert found_domains(host) == [
        ("comm_d0", [0, 1, 2], ["a_buf", "c_buf"]),
        ("comm_d1", [0, 1], ["b_buf"]),
        ("comm_d2", [], ["d_buf"]),
    ]


@pytest.mark.parametrize(
    ("ranges", "expected"), [(("0, 2", "2, 5"), ([0, 1], [2, 3, 4])), (("0, 3", "1, 4"), ([0, 1, 2], [1, 2, 3]))]
)
def test_two_groups_get_signals_of_their_own(ranges: tuple[str, str], expected: tuple[list[int], list[int]]) -> None:
    windows = dict.fromkeys("ab", ("[16]", "FP32"))
    body = "a = pld.tensor.allreduce(a)\nb = pld.tensor.allreduce(b)\nreturn 0"
    for ssa in (False, True):
        host = host_of(through(host_program(windows, [("a", ranges[0]), ("b", ranges[1])], body), LAST, ssa=ssa))
        assert found_domains(host) == [
            ("comm_d0", expected[0], ["a_buf", "__allreduce_signal_buf_0"]),
            ("comm_d1", expected[1], ["b_buf", "__allreduce_signal_buf_1"]),
        ]


@pytest.mark.parametrize(
    ("call", "signals"),
    [
        ("x = pld.tensor.allreduce(x, s)", ["s_buf"]),
        ("pld.tensor.broadcast(x, s, root=0)", ["s_buf"]),
        ("x = pld.tensor.reduce_scatter(x, s)", ["s_buf"]),
        ("x = pld.tensor.allgather(y, x, s)", ["s_buf"]),
        ("x = pld.tensor.all_to_all(y, x, s)", ["s_buf"]),
        ("x = pld.tensor.all_to_all_v(y, x, s, n, m)", ["s_buf", "m_buf"]),
    ],
)
def test_signals_have_the_ranks_of_the_data_they_serve(call: str, signals: list[str]) -> None:
    windows = {**V, "y": ("[1, 16]", "FP32")} if "allgather" in call else V
    used = {n: windows[n] for n in windows if n == "x" or f"{n}," in call or f" {n})" in call or f"({n}" in call}
    others = [(n, "3, 5") for n in used if n in "yn"]
    host = materialized(used, [("x", "2, 4"), *others], f"{call}\nreturn 0")
    data = next(d for d in domains(host) if "x_buf" in [w.name_hint for w in d.slots])
    assert [*data.devices] == [2, 3]
    assert [w.name_hint for w in data.slots if w.name_hint != "x_buf"] == signals


def test_a_barrier_needs_a_signal_that_something_else_covers() -> None:
    body = "x = pld.tensor.allreduce(x, s)\ns = pld.tensor.barrier(s)\nreturn x"
    assert found_domains(materialized(XS, [("x", "2")], body)) == [("comm_d0", [0, 1], ["x_buf", "s_buf"])]
    assert found_domains(materialized(XS, [("x s", "2")], "s = pld.tensor.barrier(s)\nreturn x"))[0][1] == [0, 1]


def test_scopes_nest_around_the_whole_body() -> None:
    host = materialized(dict.fromkeys("ab", ("[16]", "FP32")), [("a", "2"), ("b", "3")], "return a")
    assert isinstance(host.body, ir.CommDomainScopeStmt)
    assert isinstance(host.body.body, ir.CommDomainScopeStmt)
    assert isinstance(inner_statements(host)[-1], ir.ReturnStmt)


# -- checks ------------------------------------------------------------------------------------------------------------------


def test_an_allocation_without_a_window_is_refused() -> None:
    text = text_of(X, [("x", WORLD)], "raw = pld.alloc_window_buffer(64)\nreturn x")
    refused(lambda: passes.materialize_comm_domain_scopes()(pl.parse(text)), text, "raw =", "dead allocation", "'raw'")


@pytest.mark.parametrize("dispatches", [[], [("x", "2, 2")]])
def test_a_window_that_nothing_takes_is_refused(dispatches: Dispatches) -> None:
    text = text_of(X, dispatches, "return x")
    refused(lambda: passes.materialize_comm_domain_scopes()(pl.parse(text)), text, "x_buf = ", "not consumed", "'x_buf'")


def test_a_signal_alone_in_a_barrier_is_refused() -> None:
    text = text_of(XS, [("x", WORLD)], "s = pld.tensor.barrier(s)\nreturn x")
    refused(
        lambda: passes.materialize_comm_domain_scopes()(pl.parse(text)),
        text,
        "pld.tensor.barrier",
        "no inferred comm-domain coverage",
        "'s_buf'",
    )


def test_a_collective_over_data_that_nothing_takes_is_refused() -> None:
    text = text_of(XYS, [("y", WORLD)], "x = pld.tensor.allreduce(x, s)\nreturn x")
    refused(
        lambda: passes.materialize_comm_domain_scopes()(pl.parse(text)),
        text,
        "pld.tensor.allreduce",
        "no inferred comm-domain coverage",
        "'x_buf'",
    )


@pytest.mark.parametrize("loop", ["for i in pl.range(3):", "while k < 3:"])
def test_all_to_all_v_in_a_loop_is_refused(loop: str) -> None:
    body = f"{loop}\n    k = k + 1\n    if k > 1:\n        y = pld.tensor.all_to_all_v(x, y, s, n, m)\nreturn y"
    text = text_of(V, [("x y", WORLD), ("n", WORLD)], body, params=", k: pl.Scalar[pl.INDEX]")
    refused(lambda: passes.materialize_comm_domain_scopes()(pl.parse(text)), text, "all_to_all_v", "for/while loop", "single-use")


@pytest.mark.parametrize(("at", "role"), [(0, "target"), (1, "signal")])
def test_an_operand_that_is_no_window_of_this_function_is_refused(at: int, role: str) -> None:
    names = ["x", "s"]
    names[at] = "p"
    param = ", p: pld.DistributedTensor[[16], pl.FP32]" if at == 0 else ", p: pld.DistributedTensor[[8, 1], pl.INT32]"
    text = text_of(XS, [("x s", WORLD)], f"pld.tensor.allreduce({', '.join(names)})\nreturn x", params=param)
    refused(lambda: passes.materialize_comm_domain_scopes()(pl.parse(text)), text, "pld.tensor.allreduce", f"'{role}'", "window")


def test_two_buffers_of_one_name_in_one_domain_are_refused() -> None:
    program = host_program(dict.fromkeys("ab", ("[16]", "FP32")), [("a b", WORLD)], "return a")
    host = host_of(program)
    stmts = inner_statements(host)
    second = stmts[2]
    assert second.value.kwargs == {"name": "b_buf"}
    renamed = create_op_call("pld.tensor.alloc_window_buffer", second.value.args, {"name": "a_buf"})
    stmts[2] = second.replace(value=renamed)
    others = [f for f in program.functions.values() if f is not host]
    broken = program.with_functions([*others, host.replace(body=ir.SeqStmts(stmts))])
    with pytest.raises(ValueError, match="'a_buf'"):
        passes.materialize_comm_domain_scopes()(broken)


# -- the property ------------------------------------------------------------------------------------------------------------


def test_the_verifier_accepts_what_the_pass_makes() -> None:
    after = through(host_program(XS, [("x", "2")], "x = pld.tensor.allreduce(x, s)\nreturn x"), LAST)
    assert verify(after, ["CommDomainScopesMaterialized"]) == []


def _with_body(program: ir.Program, body: ir.Stmt) -> ir.Program:
    host = host_of(program)
    return program.with_functions([*(f for f in program.functions.values() if f is not host), host.replace(body=body)])


def test_the_verifier_reports_a_window_in_two_domains() -> None:
    after = through(host_program(X, [("x", "2")], "return x"), LAST)
    scope = host_of(after).body
    assert isinstance(scope, ir.CommDomainScopeStmt)
    outer = ir.CommDomainScopeStmt([5], scope.slots, "other", body=scope)
    (finding,) = verify(_with_body(after, outer), ["CommDomainScopesMaterialized"])
    assert "appears in multiple" in finding.message
    assert "'x_buf'" in finding.message


@pytest.mark.parametrize(("slots", "words"), [([], "no windows"), ([None], "no window")])
def test_the_verifier_reports_bad_slots(slots: list[Any], words: str) -> None:
    after = through(host_program(X, [("x", "2")], "return x"), LAST)
    scope: Any = host_of(after).body
    (finding,) = verify(_with_body(after, scope.replace(slots=slots)), ["CommDomainScopesMaterialized"])
    assert words in finding.message
