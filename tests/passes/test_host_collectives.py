"""LowerHostTensorCollectives: what each collective becomes, and every row of the checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from host_programs import (
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

import pypto
import pypto.language as pl
from pypto import ir, passes
from pypto.ir.dtypes import DataType
from pypto.ops.builtin import HOST_FORMS

LAST = "lower_host_tensor_collectives"
INOUT, IN = ir.ArgDirection.InOut, ir.ArgDirection.Input
FP32 = DataType.FP32

W: Windows = {
    "x": ("[4, 16]", "FP32"),
    "y": ("[4, 16]", "FP32"),
    "row": ("[1, 16]", "FP32"),
    "s": ("[4, 1]", "INT32"),
    "ring": ("[7, 4]", "INT32"),
    "sc": ("[4, 1]", "INT32"),
    "rc": ("[4, 1]", "INT32"),
}

# call, windows used, operator, operands, keywords, directions, the operand that the result is
TABLE: list[tuple[str, str, str, str, dict[str, Any], list[Any], str]] = [
    (
        "allreduce(x, s, op=pld.ReduceOp.Max)",
        "x s",
        "allreduce",
        "x s",
        {"op": 1, "dtype": FP32, "core_num": 1},
        [INOUT] * 2,
        "x",
    ),
    ('allreduce(x, ring, mode="ring")', "x ring", "allreduce_ring", "x ring", {"op": 0, "dtype": FP32}, [INOUT] * 2, "x"),
    ("barrier(s)", "x s", "barrier", "s", {}, [INOUT], "s"),
    ("broadcast(x, s, root=2)", "x s", "broadcast", "x s", {"root": 2, "dtype": FP32}, [INOUT] * 2, "x"),
    ("reduce_scatter(x, s)", "x s", "reduce_scatter", "x s", {"op": 0, "dtype": FP32}, [INOUT] * 2, "x"),
    ("allgather(row, x, s)", "row x s", "allgather", "row x s", {"dtype": FP32}, [IN, INOUT, INOUT], "x"),
    ("all_to_all(y, x, s)", "y x s", "all_to_all", "y x s", {"dtype": FP32}, [IN, INOUT, INOUT], "x"),
    (
        "all_to_all_v(y, x, s, sc, rc)",
        "y x s sc rc",
        "all_to_all_v",
        "y x s sc rc",
        {"dtype": FP32},
        [IN, INOUT, INOUT, IN, INOUT],
        "x",
    ),
]
ROWS = pytest.mark.parametrize("row", TABLE, ids=[row[2] for row in TABLE])


def used(names: str) -> Windows:
    return {name: W[name] for name in names.split()}


def dispatched(names: str, devices: str) -> Dispatches:
    return [(name, devices) for name in names.split()]


def lowered(windows: Windows, dispatches: Dispatches, body: str, *, ssa: bool = False, **parts: str) -> ir.Function:
    return host_of(through(host_program(windows, dispatches, body, **parts), LAST, ssa=ssa))


# -- what is emitted -----------------------------------------------------------------------------------------------------------


@ROWS
def test_the_table_covers_every_dispatch(row: Any) -> None:
    assert sorted(r[2] for r in TABLE) == sorted(d.leaf for forms in HOST_FORMS.values() for d in forms.values())


@pytest.mark.parametrize("ssa", [False, True])
@ROWS
def test_a_domain_of_all_ranks_gives_a_loop(row: Any, ssa: bool) -> None:
    call, names, leaf, operands, payload, directions, alias = row
    host = lowered(used(names), dispatched(names, WORLD), f"res = pld.tensor.{call}\nreturn res", ssa=ssa)
    *_, loop, assign, returned = inner_statements(host)
    assert isinstance(loop, ir.ForStmt)
    assert (loop.kind, loop.attrs, loop.iter_args, loop.return_vars) == (ir.ForKind.Sequential, {}, [], [])
    assert [loop.start.value, loop.step.value] == [0, 1]  # type: ignore[attr-defined]
    assert {e.type for e in (loop.start, loop.stop, loop.step, loop.loop_var)} == {ir.ScalarType(DataType.INT64)}
    assert loop.stop.op.name == "pld.system.world_size"  # type: ignore[attr-defined]
    assert loop.loop_var.name_hint == "r"
    assert isinstance(loop.body, ir.EvalStmt)
    made: Any = loop.body.expr
    assert made.op.name == f"builtin.tensor.{leaf}"
    assert [a.name_hint.partition("__")[0] for a in made.args] == operands.split()
    assert dict(made.kwargs) == payload
    assert dict(made.attrs) == {**payload, "device": loop.loop_var, "arg_directions": directions}
    assert list(made.attrs) == [*payload, "device", "arg_directions"]
    # the result is another name of the window that holds it
    assert isinstance(assign, ir.AssignStmt)
    assert assign.var.name_hint == "res"
    assert assign.value is made.args[operands.split().index(alias)]
    assert assign.var.type is assign.value.type
    assert returned.value[0] is assign.var


@ROWS
def test_listed_devices_give_a_call_each(row: Any) -> None:
    call, names, leaf, _, payload, directions, _ = row
    host = lowered(used(names), dispatched(names, "0, 4"), f"pld.tensor.{call}\nreturn 0")
    stmts = [s for s in inner_statements(host) if calls(s, "builtin.*")]
    assert [type(s) for s in stmts] == [ir.EvalStmt] * 4
    for device, stmt in enumerate(stmts):
        assert stmt.expr.op.name == f"builtin.tensor.{leaf}"
        number = stmt.expr.attrs["device"]
        assert (number.value, number.dtype) == (device, DataType.INT64)
        assert stmt.expr.attrs["arg_directions"] == directions
        assert dict(stmt.expr.kwargs) == payload


def test_the_printed_form_is_that_of_the_machine_surface() -> None:
    text = through(host_program(used("x s"), dispatched("x s", WORLD), "pld.tensor.allreduce(x, s)\nreturn 0"), LAST).as_python()
    assert "for r_2 in pl.range(pl.const(0, pl.INT64), pld.system.world_size(), pl.const(1, pl.INT64)):" in text
    assert (
        'pl.builtin.tensor.allreduce(x, s, op=0, dtype=pl.FP32, core_num=1, attrs={"op": 0, "dtype": pl.FP32, "core_num": 1, '
        '"device": r_2, "arg_directions": [pl.adir.inout, pl.adir.inout]})'
    ) in text


def test_the_result_of_one_collective_feeds_the_next() -> None:
    body = "x = pld.tensor.allreduce(x, s)\nx = pld.tensor.allreduce(x, s, op=pld.ReduceOp.Max)\nreturn x"
    for ssa in (False, True):
        host = lowered(used("x s"), dispatched("x s", WORLD), body, ssa=ssa)
        first, second = calls(host, "builtin.tensor.allreduce")
        alias = next(s for s in inner_statements(host) if isinstance(s, ir.AssignStmt) and s.value is first.args[0])
        assert second.args[0] is alias.var
        assert alias.var.type.window_buffer is domains(host)[0].slots[0]  # type: ignore[attr-defined]


def test_a_variable_without_its_window_is_renamed() -> None:
    program = through(
        host_program(used("x s"), dispatched("x s", WORLD), "res = pld.tensor.allreduce(x, s)\nreturn res"), LAST_BUT_ONE
    )
    host = host_of(program)
    (res,) = variables(host, "res")
    plain = ir.Var("res", ir.DistributedTensorType(res.type.shape, res.type.dtype))  # type: ignore[attr-defined]
    body = ir.utilities.substitute_stmt(host.body, {res: plain})
    others = [f for f in program.functions.values() if f is not host]
    after = host_of(passes.lower_host_tensor_collectives()(program.with_functions([*others, host.replace(body=body)])))
    *_, assign, returned = inner_statements(after)
    assert assign.var is not plain
    assert assign.var.name_hint == "res"
    assert assign.var.type.window_buffer is domains(after)[0].slots[0]
    assert returned.value[0] is assign.var


LAST_BUT_ONE = "materialize_comm_domain_scopes"


def test_comments_move_to_what_is_emitted() -> None:
    body = "# together\npld.tensor.allreduce(x, s)\n# again\npld.tensor.barrier(s)\nreturn 0"
    every = lowered(used("x s"), dispatched("x s", WORLD), body)
    assert [s.leading_comments for s in inner_statements(every) if calls(s, "builtin.*")] == [["together"], ["again"]]
    listed = lowered(used("x s"), dispatched("x s", "2"), body)
    comments = [s.leading_comments for s in inner_statements(listed) if calls(s, "builtin.*")]
    assert comments == [["together"], [], ["again"], []]


def test_collectives_inside_loops_and_branches_are_lowered_there() -> None:
    body = "for i in pl.range(3):\n    if c:\n        x = pld.tensor.allreduce(x, s)\nreturn x"
    for ssa in (False, True):
        host = lowered(used("x s"), dispatched("x s", "2"), body, ssa=ssa, params=", c: pl.Scalar[pl.BOOL]")
        (loop,) = (s for s in inner_statements(host) if isinstance(s, ir.ForStmt) and s.loop_var.name_hint == "i")
        assert len(calls(loop, "builtin.tensor.allreduce")) == 2
        assert not calls(host, r"pld\.tensor\.allreduce")


def test_returned_collectives_are_lowered_too() -> None:
    host = lowered(used("x s"), dispatched("x s", "2"), "return pld.tensor.broadcast(x, s, root=0), pld.tensor.barrier(s)")
    assert [c.op.name for c in calls(host, "builtin.*")] == ["builtin.tensor.broadcast"] * 2 + ["builtin.tensor.barrier"] * 2
    assert [v.name_hint for v in inner_statements(host)[-1].value] == ["x", "s"]


def test_a_second_run_changes_nothing() -> None:
    after = through(host_program(used("x s"), dispatched("x s", WORLD), "x = pld.tensor.allreduce(x, s)\nreturn x"), LAST)
    assert passes.lower_host_tensor_collectives()(after) is after


def test_device_code_is_left_alone() -> None:
    kernel = (
        "    @pl.function(type=pl.FunctionType.InCore)\n"
        "    def kernel(self, d: pld.DistributedTensor[[4, 16], pl.FP32], g: pld.DistributedTensor[[4, 1], pl.INT32]):\n"
        "        d = pld.tensor.allreduce(d, g)\n"
        "        return d\n"
    )
    program = through(host_program(used("x"), dispatched("x", WORLD), "return x", chip=kernel), LAST_BUT_ONE)
    assert passes.lower_host_tensor_collectives()(program) is program


@ROWS
def test_lower_composite_ops_leaves_host_collectives_alone(row: Any) -> None:
    call, names, *_ = row
    one = "pld.tensor.allreduce(x)\n" if "x" in names.split() else ""
    program = host_program(used(names), dispatched(names, WORLD), f"{one}res = pld.tensor.{call}\nreturn res")
    after = passes.lower_composite_ops()(program)
    assert after["host"] is program["host"]


def test_the_innermost_domain_with_all_windows_is_taken() -> None:
    windows = {"a": ("[16]", "FP32"), "b": ("[16]", "FP32"), "sa": ("[4]", "INT32"), "sb": ("[4]", "INT32")}
    body = "a = pld.tensor.allreduce(a, sa)\nb = pld.tensor.allreduce(b, sb)\nreturn 0"
    host = lowered(windows, [("a", "2"), ("b", "1, 4")], body)
    made = calls(host, "builtin.*")
    assert [(c.args[0].name_hint, c.attrs["device"].value) for c in made] == [  # type: ignore[union-attr]
        ("a", 0),
        ("a", 1),
        ("b", 1),
        ("b", 2),
        ("b", 3),
    ]


# -- aliasing ------------------------------------------------------------------------------------------------------------------

ROLES = {
    "allreduce": (("src", "x"), ("signal", "s")),
    "broadcast": (("target", "x"), ("signal", "s")),
    "reduce_scatter": (("target", "x"), ("signal", "s")),
    "allgather": (("input", "row"), ("target", "x"), ("signal", "s")),
    "all_to_all": (("input", "y"), ("target", "x"), ("signal", "s")),
    "all_to_all_v": (("input", "y"), ("target", "x"), ("signal", "s"), ("send_counts", "sc"), ("recv_counts", "rc")),
}
KEYWORDS = {"broadcast": ", root=0"}
PAIRS = [(name, one, other) for name, roles in ROLES.items() for at, one in enumerate(roles) for other in roles[at + 1 :]]


@pytest.mark.parametrize(("name", "one", "other"), PAIRS, ids=[f"{n}-{a[0]}-{b[0]}" for n, a, b in PAIRS])
@pytest.mark.parametrize("through_copy", [False, True])
def test_two_views_of_one_buffer_are_refused(name: str, one: tuple[str, str], other: tuple[str, str], through_copy: bool) -> None:
    windows = {window: W[window] for _, window in ROLES[name]}
    extents, dtype = W[other[1]]
    body = f"second = pld.window({one[1]}_buf, {extents}, dtype=pl.{dtype})\n"
    if through_copy:
        body += "other = second\n"
    operands = [("other" if through_copy else "second") if role == other[0] else window for role, window in ROLES[name]]
    body += f"pld.tensor.{name}({', '.join(operands)}{KEYWORDS.get(name, '')})\nreturn 0"
    text = text_of(windows, [(w, WORLD) for w in windows], body)
    program: Any = pl.parse(text)
    refused(
        lambda: through(program, LAST, check=False),
        text,
        f"pld.tensor.{name}(",
        "must be different window allocations",
        f"'{one[0]}'",
        f"'{other[0]}'",
        f"'{one[1]}_buf'",
    )


def test_aliases_through_loops_and_results_are_seen() -> None:
    body = (
        "t = x\nfor i in pl.range(2):\n    t = pld.tensor.allreduce(t, s)\nu = pld.window(x_buf, [4, 1], dtype=pl.INT32)\n"
        "t = pld.tensor.broadcast(t, u, root=0)\nreturn t"
    )
    text = text_of(used("x s"), [("x", WORLD)], body)
    for ssa in (False, True):
        program: Any = pl.parse(text)
        refused(
            lambda program=program, ssa=ssa: through(program, LAST, ssa=ssa, check=False),
            text,
            "pld.tensor.broadcast",
            "must be different window allocations",
            "'target'",
            "'signal'",
        )


# -- operands ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "param", "role"),
    [
        ("allgather(p, x, s)", "pl.Tensor[[1, 16], pl.FP32]", "input"),
        ("allgather(p, x, s)", "pld.DistributedTensor[[1, 16], pl.FP32]", "input"),
        ("all_to_all(p, x, s)", "pl.Tensor[[4, 16], pl.FP32]", "input"),
        ("all_to_all(p, x, s)", "pld.DistributedTensor[[4, 16], pl.FP32]", "input"),
        ("all_to_all_v(p, x, s, sc, rc)", "pl.Tensor[[4, 16], pl.FP32]", "input"),
        ("all_to_all_v(y, x, s, p, rc)", "pl.Tensor[[4], pl.INT32]", "send_counts"),
        ("all_to_all_v(y, x, s, p, rc)", "pld.DistributedTensor[[4, 1], pl.INT32]", "send_counts"),
    ],
)
def test_operands_that_are_no_windows_are_refused(call: str, param: str, role: str) -> None:
    names = [n for n in ("x", "y", "s", "sc", "rc") if f"{n}," in call or f"{n})" in call or f"({n}" in call]
    text = text_of({n: W[n] for n in names}, [(n, WORLD) for n in names], f"pld.tensor.{call}\nreturn 0", params=f", p: {param}")
    program: Any = pl.parse(text)
    refused(
        lambda: through(program, LAST, check=False),
        text,
        f"pld.tensor.{call}",
        "must be a window-bound DistributedTensor",
        f"'{role}'",
    )


def test_a_collective_outside_every_domain_is_refused() -> None:
    param = ", p: pld.DistributedTensor[[16], pl.FP32], q: pld.DistributedTensor[[4], pl.INT32]"
    text = text_of({}, [], "pld.tensor.allreduce(p, q)\nreturn 0", params=param)
    refused(lambda: passes.lower_host_tensor_collectives()(pl.parse(text)), text, "pld.tensor.allreduce", "communication domain")


def test_windows_of_different_domains_are_refused() -> None:
    windows = {"a": ("[16]", "FP32"), "b": ("[16]", "FP32"), "s": ("[4]", "INT32")}
    body = "a = pld.tensor.allreduce(a, s)\nb = pld.tensor.allreduce(b, s, op=pld.ReduceOp.Max)\nreturn 0"
    text = text_of(windows, [("a", "2"), ("b", "2, 4")], body)
    program: Any = pl.parse(text)
    refused(
        lambda: through(program, LAST, check=False),
        text,
        "a = pld.tensor.allreduce",
        "do not share one communication domain",
        "'src' on devices [0, 1]",
        "'signal' on devices [0, 1, 2, 3]",
    )


@pytest.mark.parametrize(
    "body",
    [
        "self.take_x(pld.tensor.broadcast(x, s, root=0), device=0)",
        "x = pld.tensor.broadcast(pld.tensor.broadcast(x, s, root=0), s, root=1)",
    ],
)
def test_a_collective_inside_another_expression_is_refused(body: str) -> None:
    text = text_of(used("x s"), dispatched("x s", WORLD), f"{body}\nreturn 0")
    program: Any = pl.parse(text)
    refused(lambda: through(program, LAST, check=False), text, "pld.tensor.broadcast", "direct assignment")


# -- signals, devices, values --------------------------------------------------------------------------------------------------

Case = tuple[str, Windows, str, Sequence[str]]


def case(call: str, devices: str, *words: str, **windows: str) -> Case:
    """A call with other windows than those of ``W`` (their extents, or extents and element type), and what its refusal says."""
    names = [n for n in W if any(f"{before}{n}{after}" in call for before in "( " for after in ",)")]
    found = {n: W[n] for n in names}
    for name, extents in windows.items():
        shape, _, dtype = extents.partition(" of ")
        found[name] = (shape, dtype or W[name][1])
    return call, found, devices, words


REFUSED: list[Case] = [
    # the way to run it
    case('allreduce(x, s, mode="tree")', WORLD, "mode must be", "'tree'"),
    case('allreduce(x, ring, mode="ring", core_num=2)', WORLD, "core_num", "2"),
    # all but the ring: rank, lanes and columns of the signal
    case("allreduce(x, s)", WORLD, "rank 1 or 2", s="[4, 1, 1]"),
    case("broadcast(x, s, root=0)", WORLD, "rank 1 or 2", s="[4, 1, 1]"),
    case("reduce_scatter(x, s)", WORLD, "rank 1 or 2", s="[4, 1, 1]"),
    case("barrier(s)", WORLD, "rank 1 or 2", s="[4, 1, 1]"),
    case("allreduce(x, s, core_num=4)", WORLD, "core_num=4", "rank 1", s="[4]"),
    case("allreduce(x, s, core_num=4)", WORLD, "core_num=4", "3", s="[4, 3]"),
    case("broadcast(x, s, root=0)", WORLD, "one column", s="[4, 2]"),
    case("reduce_scatter(x, s)", WORLD, "one column", s="[4, 2]"),
    case("barrier(s)", WORLD, "one column", s="[4, 2]"),
    # room for the ranks
    case("allreduce(x, s)", "4", "3 ranks", "4 devices", s="[3]"),
    case("allreduce(x, s)", "4", "3 ranks", "4 devices", s="[3, 1]"),
    case("barrier(s)", "4", "3 ranks", "4 devices", s="[3]"),
    case("broadcast(x, s, root=0)", "4", "3 ranks", "4 devices", s="[3]"),
    case("reduce_scatter(x, s)", "4", "3 ranks", "4 devices", s="[3]"),
    case("allgather(row, x, s)", "4", "3 ranks", "4 devices", s="[3]", x="[3, 16]"),
    case("all_to_all(y, x, s)", "4", "3 ranks", "4 devices", s="[3]", x="[3, 16]", y="[3, 16]"),
    case("all_to_all_v(y, x, s, sc, rc)", "2", "exactly", "2", "4"),
    case("all_to_all_v(y, x, s, sc, rc)", "5", "exactly", "5", "4"),
    # the ring
    case('allreduce(x, s, mode="ring")', WORLD, "rank 2", s="[4]"),
    case('allreduce(x, ring, mode="ring")', WORLD, "7 rows", ring="[6, 4]"),
    case('allreduce(x, ring, mode="ring")', "4", "7 rows", ring="[6, 4]"),
    case('allreduce(x, ring, mode="ring")', "3", "4 ranks", "3 devices"),
    case('allreduce(x, ring, mode="ring")', WORLD, "at most 16", ring="[33, 17]"),
    case('allreduce(x, ring, mode="ring")', "17", "at most 16", ring="[33, 17]"),
    case('allreduce(x, ring, mode="ring", op=pld.ReduceOp.Max)', WORLD, "not yet available", "Max"),
    case('allreduce(x, ring, mode="ring", op=pld.ReduceOp.Min)', WORLD, "not yet available", "Min"),
    case('allreduce(x, ring, mode="ring", op=pld.ReduceOp.Prod)', WORLD, "not yet available", "Prod"),
    case('allreduce(x, ring, mode="ring")', WORLD, "not yet available", "FP16", x="[16] of FP16"),
    # the root
    case("broadcast(x, s, root=3)", "3", "root=3", "0 to 2"),
    case("broadcast(x, s, root=4)", "1, 4", "root=4", "0 to 2"),
    # element types
    case("broadcast(x, s, root=0)", WORLD, "FP32", "FP16", x="[4, 16] of FP16"),
    case("reduce_scatter(x, s)", WORLD, "FP32", "INT32", x="[4, 16] of INT32"),
    case("allgather(row, x, s)", WORLD, "FP32", "BF16", x="[4, 16] of BF16", row="[1, 16] of BF16"),
    case("all_to_all(y, x, s)", WORLD, "FP32", "FP16", x="[4, 16] of FP16", y="[4, 16] of FP16"),
    case("all_to_all_v(y, x, s, sc, rc)", WORLD, "FP32", "INT8", x="[4, 16] of INT8", y="[4, 16] of INT8"),
    # a row for each rank
    case("reduce_scatter(x, s)", "4", "'target'", "3 rows", "4 devices", x="[3, 16]"),
]


@pytest.mark.parametrize(("call", "windows", "devices", "words"), REFUSED, ids=[f"{c[0]} {c[2]}" for c in REFUSED])
def test_what_a_dispatch_cannot_do_is_refused(call: str, windows: Windows, devices: str, words: Sequence[str]) -> None:
    text = text_of(windows, [(name, devices) for name in windows], f"pld.tensor.{call}\nreturn 0")
    program: Any = pl.parse(text)
    refused(lambda: through(program, LAST, check=False), text, f"pld.tensor.{call}", "pld.tensor.", *words)


ACCEPTED: list[Case] = [
    case("allreduce(x, s, core_num=4)", WORLD, s="[4, 6]"),
    case("allreduce(x, s, core_num=4)", WORLD, s="[4, 4]"),
    case("allreduce(x, s)", WORLD, s="[4, 6]"),
    case("allreduce(x, s)", "4", s="[4]"),
    case("allreduce(x, s)", "4", s="[9]", x="[4097] of FP16"),
    case("allreduce(x, s, op=pld.ReduceOp.Prod)", "4", x="[17] of FP16"),
    case('allreduce(x, ring, mode="ring")', "4", x="[17]"),
    case('allreduce(x, ring, mode="ring")', WORLD, ring="[31, 16]"),
    case('allreduce(x, ring, mode="ring")', "16", ring="[31, 16]"),
    case("barrier(s)", "4", s="[4]"),
    case("barrier(s)", "4", s="[5, 1]"),
    case("broadcast(x, s, root=2)", "3"),
    case("broadcast(x, s, root=9)", WORLD),
    case("reduce_scatter(x, s)", "4", s="[4]"),
    case("all_to_all_v(y, x, s, sc, rc)", "4"),
    case("all_to_all_v(y, x, s, sc, rc)", "4", x="[8, 16]", y="[8, 16]", sc="[4]"),
]


@pytest.mark.parametrize(("call", "windows", "devices", "words"), ACCEPTED, ids=[f"{c[0]} {c[2]} {c[1]}" for c in ACCEPTED])
def test_what_a_dispatch_can_do_is_accepted(call: str, windows: Windows, devices: str, words: Sequence[str]) -> None:
    lowered(windows, [(name, devices) for name in windows], f"pld.tensor.{call}\nreturn 0")


def test_core_num_is_passed_on() -> None:
    host = lowered(
        {**used("x"), "s": ("[4, 6]", "INT32")}, dispatched("x", "2"), "pld.tensor.allreduce(x, s, core_num=4)\nreturn 0"
    )
    for call in calls(host, "builtin.*"):
        assert call.kwargs["core_num"] == call.attrs["core_num"] == 4


@pytest.mark.parametrize(("backend", "most"), [(pypto.Backend.ASCEND_910B, 48), (pypto.Backend.ASCEND_950, 36)])
def test_core_num_is_bounded_by_the_backend(backend: Any, most: int) -> None:
    windows = {"x": ("[16]", "FP32"), "s": ("[2, 64]", "INT32")}

    def text(cores: int) -> str:
        return text_of(windows, [("x", "2")], f"pld.tensor.allreduce(x, s, core_num={cores})\nreturn 0")

    with passes.PassContext(backend=backend):
        through(pl.parse(text(most)), LAST, check=False)  # type: ignore[arg-type]
        too_many = text(most + 1)
        refused(
            lambda: through(pl.parse(too_many), LAST, check=False),  # type: ignore[arg-type]
            too_many,
            "pld.tensor.allreduce",
            "exceeds",
            f"core_num={most + 1}",
            backend.name,
        )
    with passes.PassContext():
        through(pl.parse(text(64)), LAST, check=False)  # type: ignore[arg-type]


def with_extents(call: str, data: str, signal: str) -> str:
    """A program whose windows have extents of the parameter ``n``."""
    return (
        'import pypto.language as pl\nimport pypto.language.distributed as pld\n\nN = pl.dynamic("N")\n\n@pl.program\nclass P:\n'
        "    @pl.function(type=pl.FunctionType.Orchestration)\n"
        f"    def take(self, x: pld.DistributedTensor[{data.replace('n', 'N')}, pl.FP32]):\n"
        "        return x\n"
        "    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)\n"
        "    def host(self, n: pl.Scalar[pl.INDEX]):\n"
        f"        x_buf = pld.alloc_window_buffer({data}, dtype=pl.FP32)\n"
        f"        s_buf = pld.alloc_window_buffer({signal}, dtype=pl.INT32)\n"
        f"        x = pld.window(x_buf, {data}, dtype=pl.FP32)\n"
        f"        s = pld.window(s_buf, {signal}, dtype=pl.INT32)\n"
        "        for r in pl.range(4):\n"
        "            self.take(x, device=r)\n"
        f"        x = pld.tensor.{call}\n"
        "        return x\n"
    )


@pytest.mark.parametrize(
    ("call", "data", "signal"),
    [
        ('allreduce(x, s, mode="ring")', "[n]", "[7, 4]"),
        ('allreduce(x, s, mode="ring")', "[n]", "[7, n]"),
        ('allreduce(x, s, mode="ring")', "[n]", "[9, n]"),
        ('allreduce(x, s, mode="ring")', "[n]", "[n, n]"),
        ("allreduce(x, s)", "[n]", "[n]"),
        ("allreduce(x, s)", "[n]", "[n, 1]"),
        ("reduce_scatter(x, s)", "[n, 16]", "[4]"),
    ],
)
def test_extents_that_only_a_run_knows_are_accepted(call: str, data: str, signal: str) -> None:
    for ssa in (False, True):
        through(pl.parse(with_extents(call, data, signal)), LAST, ssa=ssa)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("call", "signal", "words"),
    [
        ("allreduce(x, s)", "[4, n]", ("second extent", "constant")),
        ("broadcast(x, s, root=0)", "[4, n]", ("second extent", "constant")),
        ('allreduce(x, s, mode="ring")', "[6, n]", ("at least 7 rows", "4 devices")),
    ],
)
def test_extents_that_must_be_known_are_asked_for(call: str, signal: str, words: Sequence[str]) -> None:
    text = with_extents(call, "[16]", signal)
    refused(lambda: through(pl.parse(text), LAST, check=False), text, f"pld.tensor.{call}", *words)  # type: ignore[arg-type]


def test_the_pass_states_its_properties() -> None:
    made = passes.lower_host_tensor_collectives()
    wanted = [passes.IRProperty.CommDomainScopesMaterialized]
    assert made.get_name() == "LowerHostTensorCollectives"
    assert made.get_required_properties().to_list() == wanted
    assert made.get_produced_properties().to_list() == wanted
    assert made.get_invalidated_properties().empty()
