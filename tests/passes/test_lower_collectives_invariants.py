"""What holds of every lowered collective: names and their numbers, identity, types of what is carried, uses of the target, positions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from collective_kernels import (
    all_to_all,
    all_to_all_v,
    allgather,
    allgather_of_a_tile,
    allreduce,
    barrier,
    broadcast,
    partial,
    reduce_scatter,
    ring,
)
from listing import listing, qualifier

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes
from pypto.ir.expr import Call, ConstInt, Var
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, ReturnStmt, SeqStmts, Stmt, flatten_to_stmts
from pypto.ops.support import CAPABILITIES, Tier
from pypto.passes.lower_composite_ops import Signals, composite_ops, composite_rule, find_composite_rule, remove_composite_rule
from pypto.testing import assert_roundtrip

lower = passes.lower_composite_ops
PROTOCOLS = ["single_shot", "credit"]
SMALL = {
    "barrier": lambda: barrier(2),
    "broadcast": lambda: broadcast(2),
    "allgather": lambda: allgather(2),
    "allgather of a tile": lambda: allgather_of_a_tile(2),
    "all_to_all": lambda: all_to_all(2),
    "all_to_all_v": lambda: all_to_all_v(2),
    "reduce_scatter": lambda: reduce_scatter(2),
    "mesh": lambda: allreduce([1, 16], [2, 1]),
    "mesh partial": lambda: partial([4, 6, 8], [1, 6, 5], [2, 1]),
    "ring": lambda: ring(16, 2),
    "ring fp16": lambda: ring(16, 2, pl.FP16),
}


def kernel(program: ir.Program) -> ir.Function:
    (function,) = program.functions.values()
    return function


def body(program: ir.Program) -> Stmt:
    return kernel(program).body


def inner_bodies(stmt: Stmt) -> list[Stmt]:
    found = [getattr(stmt, name, None) for name in ("body", "then_body", "else_body")]
    return [b for b in found if isinstance(b, Stmt)]


def in_order(stmt: Stmt) -> Iterator[str]:
    """Names in the order in which they are handed out: loop variable, carried value, body, result; branches, then their result."""
    for each in flatten_to_stmts(stmt):
        if isinstance(each, AssignStmt):
            yield each.var.name_hint
        if isinstance(each, ForStmt):
            yield each.loop_var.name_hint
            yield from (a.name_hint for a in each.iter_args)
        for inner in inner_bodies(each):
            yield from in_order(inner)
        if isinstance(each, ForStmt | IfStmt):
            yield from (v.name_hint for v in each.return_vars)


@pytest.mark.parametrize("signals", PROTOCOLS)
@pytest.mark.parametrize("name", SMALL)
def test_names_are_numbered_in_the_order_of_creation(name: str, signals: str) -> None:
    names = [n for n in in_order(body(lower(signals=signals)(SMALL[name]()))) if "_tmp_v" in n]
    assert [int(n.rpartition("_tmp_v")[2]) for n in names] == list(range(len(names)))
    base = "signal" if name == "barrier" else "data"
    assert all(n.startswith(f"{base}__") for n in names)
    assert all("__" not in n.removeprefix(f"{base}__") for n in names)


def test_one_counter_for_all_collectives_of_a_function_at_any_depth() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[2, 16], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
        c: pl.Scalar[pl.INDEX],
    ):
        signal = pld.tensor.barrier(signal)
        for i in pl.range(3):
            if i < c:
                data = pld.tensor.broadcast(data, signal, root=1)
        pld.tensor.barrier(signal)
        return data, pld.tensor.barrier(signal)

    made = lower()(ir.Program([kernel], "P"))
    names = [n for n in in_order(body(made)) if "_tmp_v" in n]
    assert [int(n.rpartition("_tmp_v")[2]) for n in names] == list(range(len(names)))
    assert {n.partition("__")[0] for n in names} == {"signal", "data", "eval", "ret1"}
    *_, bound, last = flatten_to_stmts(body(made))
    assert isinstance(bound, AssignStmt) and isinstance(last, ReturnStmt)
    assert qualifier(bound.var.name_hint) == "result"
    assert last.value[1] is bound.var
    assert_roundtrip(made)
    assert lower()(made) is made


def test_return_elements_go_from_left_to_right_before_the_return() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[2, 16], pl.FP32]],
        s0: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
        s1: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    ):
        return pld.tensor.barrier(s0), data, pld.tensor.broadcast(data, s1, root=0)

    made = lower()(ir.Program([kernel], "P"))
    bases = [n.partition("__")[0] for n in in_order(body(made))]
    assert sorted(set(bases)) == ["ret0", "ret2"]
    assert bases == sorted(bases)
    returns = [s for s in flatten_to_stmts(body(made)) if isinstance(s, ReturnStmt)]
    assert len(returns) == 1
    assert [v.name_hint.partition("_tmp")[0] for v in returns[0].value] == ["ret0__result", "data", "ret2__result"]


@pytest.mark.parametrize("signals", PROTOCOLS)
@pytest.mark.parametrize("name", SMALL)
def test_the_variable_of_the_call_keeps_its_identity_and_place(name: str, signals: str) -> None:
    before = SMALL[name]()
    (call,) = [s for s in flatten_to_stmts(body(before)) if isinstance(s, AssignStmt) and s.value.op.name in composite_ops()]
    made = lower(signals=signals)(before)
    (last,) = [s for s in flatten_to_stmts(body(made)) if isinstance(s, AssignStmt) and s.var is call.var]
    leaf = call.value.op.name.rpartition(".")[2]
    at = {"allgather": 1, "all_to_all": 1, "all_to_all_v": 1}.get(leaf, 0)
    assert last.value is call.value.args[at]
    assert last.span is call.span
    assert flatten_to_stmts(body(made))[-1] is flatten_to_stmts(body(before))[-1]
    for stmt in walk(body(made)):
        if isinstance(stmt, Stmt) and not isinstance(stmt, SeqStmts):
            assert stmt.span.is_valid()
        if isinstance(stmt, SeqStmts):
            assert not any(isinstance(s, SeqStmts) for s in stmt.stmts)


def test_comments_stay_above_the_first_statement() -> None:
    program = pl.parse(
        """
@pl.function(type=pl.FunctionType.InCore)
def k(signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
    # everybody here?
    signal = pld.tensor.barrier(signal)
    return signal
"""
    )
    first = flatten_to_stmts(body(lower()(ir.Program([program], "P"))))[0]
    assert list(first.leading_comments) == ["everybody here?"]


@pytest.mark.parametrize("signals", PROTOCOLS)
@pytest.mark.parametrize("name", [n for n in SMALL if n.startswith(("mesh", "ring"))])
def test_the_target_is_used_for_its_context_its_view_and_as_the_result(name: str, signals: str) -> None:
    made = lower(signals=signals)(SMALL[name]())
    target = kernel(made).params[0]
    users = [n.op.name for n in walk(body(made)) if isinstance(n, Call) and any(a is target for a in n.args)]
    assert users == ["pld.system.get_comm_ctx", "tensor.view"]
    assert sum(isinstance(n, AssignStmt) and n.value is target for n in walk(body(made))) == 1


@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
@pytest.mark.parametrize("size", [1, 17, 8193])
@pytest.mark.parametrize("mode", ["mesh", "ring"])
def test_what_is_reduced_carried_and_yielded_has_the_size_of_a_whole_chunk(mode: str, size: int, dtype: str) -> None:
    signal = [2, 1] if mode == "mesh" else [2, 2]
    made = lower()(allreduce([1, size], signal, getattr(pl, dtype), mode=mode))
    tiles: list[Var] = []
    for node in walk(body(made)):
        if isinstance(node, ForStmt | IfStmt):
            tiles += [v for v in [*node.return_vars, *getattr(node, "iter_args", ())] if isinstance(v.type, ir.TileType)]
        if isinstance(node, Call) and node.op.name == "tile.add":
            tiles += [a for a in node.args if isinstance(a, Var)]
    assert len(tiles) >= 4
    for tile in tiles:
        assert isinstance(tile.type, ir.TileType)
        assert tile.type.valid_shape is tile.type.shape, tile.name_hint
        assert all(isinstance(d, ConstInt) for d in tile.type.shape)
    for node in walk(body(made)):
        if isinstance(node, AssignStmt) and isinstance(node.value, Call):
            leaf = node.value.op.name
            if leaf in ("pld.system.notify", "pld.system.wait"):
                assert isinstance(node.var.type, ir.UnknownType)
            if leaf == "tile.store":
                assert node.var.type == node.value.args[2].type


def test_the_view_of_a_window_stays_a_view_of_that_window() -> None:
    pointer = ir.Var("buf", ir.PtrType())
    window = ir.WindowBuffer(pointer, ir.ConstInt(240, ir.INDEX))
    data = ir.Var("data", ir.DistributedTensorType([2, 5, 6], ir.FP32, None, None, window))
    signal = ir.Var("signal", ir.DistributedTensorType([2, 1], ir.INT32))
    call = ir.create_op_call("pld.tensor.allreduce", [data, signal], {"op": 0, "mode": "mesh", "core_num": 1})
    out = ir.Var("out", call.type)
    stmts = ir.SeqStmts([ir.AssignStmt(out, call), ir.ReturnStmt([out])])
    made = lower()(ir.Program([ir.Function("k", [data, signal], [call.type], stmts, type=ir.FunctionType.InCore)], "P"))
    (view,) = [n.value for n in walk(body(made)) if isinstance(n, AssignStmt) and "target_2d" in n.var.name_hint]
    assert isinstance(view.type, ir.DistributedTensorType)
    assert [d.value for d in view.type.shape] == [1, 60]
    assert view.type.window_buffer is window


E = [
    *(("mesh", "FP32", n) for n in (1, 3, 17, 4096, 4097, 65537)),
    *(("mesh", "FP16", n) for n in (1, 17, 8193)),
    *(("ring", "FP32", n) for n in (1, 3, 17, 4097, 65537)),
    *(("ring", "FP16", n) for n in (1, 17, 33, 8193, 32769, 65537)),
]


@pytest.mark.parametrize("signals", PROTOCOLS)
@pytest.mark.parametrize(("mode", "dtype", "size"), E)
def test_round_trip_and_second_run(mode: str, dtype: str, size: int, signals: str) -> None:
    signal = [4, 1] if mode == "mesh" else [6, 4]
    made = lower(signals=signals)(allreduce([1, size], signal, getattr(pl, dtype), mode=mode))
    assert_roundtrip(made, formats=(True,))
    for again in PROTOCOLS:
        assert lower(signals=again)(made) is made
    text = made.as_python()
    assert ("pld.tile._remote_load_with_physical_tail_padding(" in text) == (dtype == "FP16")
    assert "allow_physical_tail_padding" not in text


@pytest.mark.parametrize("signals", PROTOCOLS)
def test_round_trip_of_symbolic_extents(signals: str) -> None:
    n, rows, columns = pl.dynamic("n"), pl.dynamic("rows"), pl.dynamic("columns")
    for dtype in (pl.FP32, pl.FP16):
        assert_roundtrip(lower(signals=signals)(allreduce([3, n], [columns, 1], dtype)))
        assert_roundtrip(lower(signals=signals)(allreduce([3, n], [rows, columns], dtype, mode="ring")))
        assert_roundtrip(lower(signals=signals)(partial([4, 8], [n, 8], [2, 2], "ring", dtype)))
        assert_roundtrip(lower(signals=signals)(partial([4, 8], [1, n], [2, 1], "mesh", dtype)))


# -- which functions -----------------------------------------------------------------------------------------------------------------


def with_a_barrier(**named: Any) -> ir.Program:
    signal = ir.Var("signal", ir.DistributedTensorType([2, 1], ir.INT32))
    call = ir.create_op_call("pld.tensor.barrier", [signal], {})
    tile = ir.Var("x", ir.TileType([8, 8], ir.FP32, memory_space=ir.MemorySpace.Vec))
    wave = ir.create_op_call("tile.sin", [tile], {})
    stmts = [ir.AssignStmt(ir.Var("s", call.type), call), ir.AssignStmt(ir.Var("y", wave.type), wave)]
    return ir.Program([ir.Function("f", [signal, tile], [], ir.SeqStmts(stmts), **named)], "P")


@pytest.mark.parametrize(
    ("named", "kept"),
    [
        ({"type": ir.FunctionType.InCore}, False),
        ({"type": ir.FunctionType.Opaque}, False),
        ({"type": ir.FunctionType.Orchestration}, False),
        ({"type": ir.FunctionType.Orchestration, "level": ir.Level.CHIP}, False),
        ({"type": ir.FunctionType.Opaque, "level": ir.Level.CHIP, "role": ir.Role.Orchestrator}, False),
        ({"type": ir.FunctionType.Opaque, "level": ir.Level.HOST}, False),
        ({"type": ir.FunctionType.Opaque, "level": ir.Level.HOST, "role": ir.Role.SubWorker}, False),
        ({"type": ir.FunctionType.Orchestration, "level": ir.Level.HOST, "role": ir.Role.Orchestrator}, True),
        ({"type": ir.FunctionType.Opaque, "level": ir.Level.HOST, "role": ir.Role.Orchestrator}, True),
    ],
)
def test_only_host_orchestrators_keep_collectives_and_nobody_keeps_sin(named: dict[str, Any], kept: bool) -> None:
    made = lower()(with_a_barrier(**named))
    names = {n.op.name for n in walk(body(made)) if isinstance(n, Call)}
    assert ("pld.tensor.barrier" in names) == kept
    assert "tile.sin" not in names


def test_a_collective_inside_another_expression_is_left_to_the_pass_that_flattens() -> None:
    signal = ir.Var("signal", ir.DistributedTensorType([2, 1], ir.INT32))
    call = ir.create_op_call("pld.tensor.barrier", [signal], {})
    outer = ir.create_op_call("pld.system.get_comm_ctx", [call], {})
    program = ir.Program([ir.Function("f", [signal], [], ir.AssignStmt(ir.Var("c", outer.type), outer))], "P")
    assert lower()(program) is program


# -- the option ----------------------------------------------------------------------------------------------------------------------


def test_the_option_in_pipeline_text_and_by_hand() -> None:
    program = ring(17, 2)
    by_text = passes.parse_pipeline("lower_composite_ops(signals=credit)")
    made = program
    for step in by_text:
        made = step(made)
    ir.assert_structural_equal(made, lower(signals="credit")(program))
    assert listing(made) != listing(lower()(program))
    assert lower().signals == "single_shot"
    with pytest.raises(ValueError, match="'single_shot' or 'credit' as 'signals', got 'credits'"):
        lower(signals="credits")


def test_rules_see_the_option_through_the_builder() -> None:
    seen: list[Any] = []
    whole = find_composite_rule("pld.tensor.barrier")
    assert whole is not None
    remove_composite_rule("pld.tensor.barrier")
    try:

        @composite_rule("pld.tensor.barrier", once=True)
        def nothing(call: Any, args: Any, b: Any) -> Any:
            seen.append(b.signals)
            return args[0]

        for signals in PROTOCOLS:
            lower(signals=signals)(barrier(2))
    finally:
        remove_composite_rule("pld.tensor.barrier")
        composite_rule(whole.op_name, on_host=whole.on_host, once=whole.once)(whole.lower)
    assert seen == [Signals.SINGLE_SHOT, Signals.CREDIT]
    assert seen == PROTOCOLS


@pytest.mark.parametrize("name", SMALL)
def test_credits_repeat_in_loops_and_are_lowered_once(name: str) -> None:
    """In a loop, a while and a branch the body holds one recipe, the same as outside."""
    before = SMALL[name]()
    outside = listing(lower(signals="credit")(before))
    function = kernel(before)
    *first, ret = flatten_to_stmts(function.body)
    i, n = ir.Var("i", ir.ScalarType(ir.INDEX)), ir.ConstInt(3, ir.INDEX)
    zero, one = ir.ConstInt(0, ir.INDEX), ir.ConstInt(1, ir.INDEX)
    loop = ir.ForStmt(i, zero, n, one, [], ir.IfStmt(ir.lt(i, n), ir.SeqStmts(first), None, [], ret.span), [], ret.span)
    made = lower(signals="credit")(ir.Program([function.replace(body=ir.SeqStmts([loop, ret]))], "P"))
    inside = [line.removeprefix("        ") for line in listing(made)[2:-1]]
    assert inside == outside[:-1]


def test_rules_and_the_table_of_capabilities_agree_on_loops_and_hosts() -> None:
    found = [find_composite_rule(name) for name in composite_ops() if name.startswith("pld.tensor.")]
    assert len(found) == 7
    for rule in found:
        assert rule is not None
        leaf = rule.op_name.rpartition(".")[2]
        rows = [c for (name, _, tier), c in CAPABILITIES.items() if name == leaf and tier is Tier.KERNEL]
        assert rows
        assert {rule.once} == {not row.in_loops for row in rows}
        assert not rule.on_host
