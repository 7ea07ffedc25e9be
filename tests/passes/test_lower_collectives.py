"""LowerCompositeOps on the collectives: what is emitted, statement by statement, and what never changes."""

from __future__ import annotations

import re
from typing import Any

import pytest
from collective_kernels import (
    REDUCE,
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

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes
from pypto.ir.expr import Call, Cast, ConstInt, Expr, Var
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, ReturnStmt, Stmt, YieldStmt, flatten_to_stmts
from pypto.passes.lower_composite_ops import composite_ops
from pypto.testing import assert_roundtrip

lower = passes.lower_composite_ops
COLLECTIVES = {
    "barrier": lambda: barrier(2),
    "broadcast": lambda: broadcast(2),
    "allgather": lambda: allgather(2),
    "allgather of a tile": lambda: allgather_of_a_tile(2),
    "all_to_all": lambda: all_to_all(2),
    "all_to_all_v": lambda: all_to_all_v(2),
    "reduce_scatter": lambda: reduce_scatter(2),
    "mesh": lambda: allreduce([1, 16], [2, 1]),
    "mesh fp16": lambda: allreduce([1, 16], [2, 1], pl.FP16),
    "mesh partial": lambda: partial([4, 6, 8], [1, 6, 5], [2, 1]),
    "ring": lambda: ring(16, 2),
    "ring fp16": lambda: ring(16, 2, pl.FP16),
    "ring prefix": lambda: partial([4, 6, 8], [1, 6, 8], [2, 2], "ring"),
}


def body(program: ir.Program) -> Stmt:
    return next(iter(program.functions.values())).body


def nodes(program: ir.Program, kind: type) -> list[Any]:
    return [n for n in walk(body(program)) if isinstance(n, kind)]


def calls(program: ir.Program, name: str) -> list[Call]:
    """The calls of an operator in the order of their statements."""
    found: list[Call] = []

    def visit(stmt: Stmt) -> None:
        for inner in flatten_to_stmts(stmt):
            if isinstance(inner, AssignStmt) and isinstance(inner.value, Call) and inner.value.op.name == name:
                found.append(inner.value)
            for part in ("body", "then_body", "else_body"):
                if isinstance(getattr(inner, part, None), Stmt):
                    visit(getattr(inner, part))

    visit(body(program))
    return found


def qualifier(var: Var) -> str:
    match = re.fullmatch(r"[A-Za-z0-9]+__(.+)_tmp_v\d+", var.name_hint)
    return match[1] if match else var.name_hint


def outline(program: ir.Program) -> list[str]:
    """The kernel as lines: qualifier and operator of each assignment, loops, branches and yields, indented."""
    lines: list[str] = []

    def visit(stmt: Stmt, depth: int) -> None:
        pad = "  " * depth
        for inner in flatten_to_stmts(stmt):
            if isinstance(inner, AssignStmt):
                value = inner.value
                what = value.op.name if isinstance(value, Call) else type(value).__name__.lower()
                lines.append(f"{pad}{qualifier(inner.var)} := {what}")
            elif isinstance(inner, ForStmt):
                carried = f" {qualifier(inner.iter_args[0])} -> {qualifier(inner.return_vars[0])}" if inner.iter_args else ""
                lines.append(f"{pad}for {qualifier(inner.loop_var)}{carried}")
                visit(inner.body, depth + 1)
            elif isinstance(inner, IfStmt):
                lines.append(f"{pad}if{f' -> {qualifier(inner.return_vars[0])}' if inner.return_vars else ''}")
                visit(inner.then_body, depth + 1)
                if inner.else_body is not None:
                    lines.append(f"{pad}else")
                    visit(inner.else_body, depth + 1)
            elif isinstance(inner, YieldStmt):
                lines.append(f"{pad}yield {', '.join(qualifier(v) for v in inner.value if isinstance(v, Var))}")
            elif isinstance(inner, ReturnStmt):
                lines.append(f"{pad}return {', '.join(qualifier(v) for v in inner.value if isinstance(v, Var))}")

    visit(body(program), 0)
    return lines


SETUP = [
    "ctx := pld.system.get_comm_ctx",
    "nranks := pld.system.nranks",
    "nranks_idx := cast",
    "my_rank := pld.system.rank",
]


def sync(suffix: str, depth: int = 0) -> list[str]:
    lines = [
        f"for peer{suffix}",
        "  if",
        f"    notify{suffix}_ret := pld.system.notify",
        f"for src{suffix}",
        "  if",
        f"    wait{suffix}_ret := pld.system.wait",
    ]
    return ["  " * depth + line for line in lines]


RESET = ["for reset_src", "  if", "    epilogue_reset_ret := pld.system.notify"]

FOLD = [
    "for peer peer_acc -> peer_final",
    "  if -> if_res",
    "    {received}",
    "    acc_next := {reduce}",
    "    yield acc_next",
    "  else",
    "    yield peer_acc",
    "  yield if_res",
]


def fold(reduce: str, *received: str, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for line in FOLD:
        if "{received}" in line:
            lines += [f"    {r}" for r in received]
        else:
            lines.append(line.format(reduce=reduce))
    return ["  " * depth + line for line in lines]


def test_barrier() -> None:
    assert outline(lower()(barrier(2))) == [*SETUP, *sync(""), "signal := var", "return signal"]


def test_broadcast() -> None:
    made = lower()(broadcast(2))
    stage = ["bcast_stage := tile.create", "get_ret := pld.tile.get"]
    assert outline(made) == [*SETUP, *sync(""), *stage, "data := var", "return data"]
    (create,) = calls(made, "tile.create")
    assert [d.value for d in create.type.shape] == [6, 16]
    (get,) = calls(made, "pld.tile.get")
    root = get.args[1]
    assert isinstance(root, ConstInt)
    assert (root.value, root.dtype) == (1, pl.INT32)


@pytest.mark.parametrize("name", ["allgather", "allgather of a tile"])
def test_allgather(name: str) -> None:
    made = lower()(COLLECTIVES[name]())
    lines = outline(made)
    start = lines.index(SETUP[0])
    assert lines[start:] == [
        *SETUP,
        "ag_stage := tile.create",
        "for peer",
        "  push := pld.tile.put",
        *sync(""),
        "data := var",
        "return data",
    ]
    (put,) = calls(made, "pld.tile.put")
    assert [_text(a) for a in put.args[4:]] == ["(my_rank, 0)", "(0, 0)", "(1, 24)"]
    assert isinstance(put.args[2].type, ir.TileType) == (name != "allgather")
    assert not calls(made, "pld.tile.get")


def test_reduce_scatter() -> None:
    made = lower()(reduce_scatter(2))
    assert outline(made) == [
        *SETUP,
        *sync(""),
        "acc_initial := tile.load",
        *fold("tile.add", "recv := pld.tile.remote_load"),
        *sync("2"),
        "store_ret := tile.store",
        "data := var",
        "return data",
    ]
    (remote,) = calls(made, "pld.tile.remote_load")
    assert len(remote.args) == 4
    assert _text(remote.args[2]) == "(my_rank, 0)"
    assert waits(made) == [1, 2]


def test_all_to_all() -> None:
    made = lower()(all_to_all(2))
    lines = ["aa_stage := tile.create", "for dest", "  aa_put := pld.tile.put"]
    assert outline(made) == [*SETUP, *lines, *sync(""), "data := var", "return data"]
    (put,) = calls(made, "pld.tile.put")
    assert [_text(a) for a in put.args[4:]] == ["(my_rank, 0)", "(dest, 0)", "(1, 24)"]


@pytest.mark.parametrize(("flat", "index"), [(True, "(dest)"), (False, "(dest, 0)")])
def test_all_to_all_v(flat: bool, index: str) -> None:
    made = lower()(all_to_all_v(2, flat=flat))
    assert outline(made) == [
        *SETUP,
        "aav_stage := tile.create",
        "for dest",
        "  aav_count := tensor.read",
        "  aav_rows := min",
        "  aav_count_i32 := cast",
        "  aav_count_notify := pld.system.notify",
        "  aav_put := pld.tile.put",
        *sync(""),
        "data := var",
        "return data",
    ]
    (read,) = calls(made, "tensor.read")
    assert _text(read.args[1]) == index
    (put,) = calls(made, "pld.tile.put")
    assert [_text(a) for a in put.args[4:]] == ["(idx(my_rank) * 4, 0)", "(dest * 4, 0)", "(4, 8)"]
    counts, posts = calls(made, "pld.system.notify")
    assert dict(counts.kwargs) == {"op": int(pld.NotifyOp.Set)}
    assert dict(posts.kwargs) == {"op": int(pld.NotifyOp.Set)}


def chunked(*received: str, reduce: str = "tile.add") -> list[str]:
    return [
        *SETUP,
        "target_2d := tensor.view",
        *sync(""),
        "for col",
        "  acc_loaded := tile.load",
        "  acc_initial := tile.fillpad_inplace",
        *fold(reduce, *received, depth=1),
        "  chunk_expected := cast",
        *sync("_chunk", 1),
        "  store_value := tile.set_validshape",
        "  store_ret := tile.store",
    ]


def test_mesh() -> None:
    received = ("recv_loaded := pld.tile.remote_load", "recv := tile.fillpad_inplace")
    assert outline(lower()(allreduce([1, 16], [2, 1]))) == [*chunked(*received), "data := var", "return data"]


def test_mesh_fp16_reads_padded_tails_and_cuts_them_off() -> None:
    made = lower()(allreduce([1, 17], [2, 1], pl.FP16))
    received = (
        "recv_loaded := pld.tile.remote_load",
        "recv_tail := tile.set_validshape",
        "recv := tile.fillpad_inplace",
    )
    assert outline(made) == [*chunked(*received), "data := var", "return data"]
    (remote,) = calls(made, "pld.tile.remote_load")
    assert dict(remote.kwargs) == {"allow_physical_tail_padding": True}
    assert _text(remote.args[4]) == "(1, (min(32, 17 - col) + 15) // 16 * 16)"
    assert "pld.tile._remote_load_with_physical_tail_padding(" in made.as_python()


def test_mesh_of_a_partial_rectangle() -> None:
    made = lower()(partial([4, 6, 8], [1, 6, 5], [2, 1]))
    assert outline(made) == [
        *SETUP,
        "target_2d := tensor.view",
        *sync(""),
        "acc_initial := tile.load",
        *fold("tile.add", "recv := pld.tile.remote_load"),
        *sync("2"),
        "store_ret := tile.store",
        "data := var",
        "return data",
    ]
    (view,) = calls(made, "tensor.view")
    assert [_text(a) for a in view.args[1:]] == ["(24, 8)", "(6, 5)"]
    (load,) = calls(made, "tile.load")
    (remote,) = calls(made, "pld.tile.remote_load")
    assert [_text(a) for a in load.args[1:]] == ["(0, 0)", "(6, 5)", "(6, 5)"]
    assert [_text(a) for a in remote.args[2:]] == ["(0, 0)", "(6, 5)", "(6, 5)"]
    assert not remote.kwargs
    assert waits(made) == [1, 2]


RING_PHASES = (
    (
        "rs_step",
        ["step := add", "recv_add_idx := floormod", "left := floormod"],
        "rs",
        [
            "recv_rs_loaded := pld.tile.remote_load",
            "{tail}recv_rs",
            "recv_rs := tile.fillpad_inplace",
            "acc_rs_loaded := tile.load",
            "acc_rs := tile.fillpad_inplace",
            "acc_rs_next := tile.add",
            "yield acc_rs_next",
        ],
        "acc_rs",
        "acc_rs_valid",
    ),
    (
        "ag_step",
        ["ag_step_val := add", "ag_round := add", "ag_segment_idx := floormod", "ag_left := floormod"],
        "ag",
        ["recv_ag_loaded := pld.tile.remote_load", "{tail}recv_ag", "recv_ag := tile.fillpad_inplace", "yield recv_ag"],
        "recv_ag",
        "recv_ag_valid",
    ),
)


def ring_outline(fp16: bool, kinds: dict[str, str]) -> list[str]:
    lines = [*SETUP, "my_rank_idx := cast", "target_2d := tensor.view", "nr_minus_one := sub"]
    for loop, first, phase, taken, result, kept in RING_PHASES:
        lines.append(f"for {loop}")
        lines += [f"  {line}" for line in first]
        boundary = kinds["boundary"]
        lines += [
            f"  {phase}_segment_begin := {boundary}",
            f"  {phase}_segment_end := {boundary}",
            f"  {phase}_segment_cols := sub",
            f"  for {phase}_col",
            f"    {phase}_ready_epoch := cast",
            *sync(f"_{phase}_ready", 2),
            "    if -> if_res",
        ]
        for line in taken:
            if line.startswith("{tail}"):
                if fp16:
                    lines.append(f"      {line.removeprefix('{tail}')}_tail := tile.set_validshape")
                continue
            lines.append(f"      {line}")
        lines += [
            "    else",
            f"      {result}_placeholder_loaded := tile.load",
            f"      {result}_placeholder := tile.fillpad_inplace",
            f"      yield {result}_placeholder",
            f"    {phase}_read_epoch := cast",
            *sync(f"_{phase}_read", 2),
            "    if",
            f"      {kept} := tile.set_validshape",
            f"      store_{phase} := tile.store",
        ]
    return [*lines, "data := var", "return data"]


@pytest.mark.parametrize("fp16", [False, True])
def test_ring(fp16: bool) -> None:
    made = lower()(ring(16, 2, pl.FP16 if fp16 else pl.FP32))
    assert outline(made) == ring_outline(fp16, {"boundary": "min" if fp16 else "floordiv"})
    assert not calls(made, "tile.create")
    assert not [c for c in calls(made, "pld.system.wait") if isinstance(c.args[2], ConstInt)]


# -- counts ---------------------------------------------------------------------------------------------------------------

COUNTS = [
    ("barrier", 2, 2, 1, [1], (3, 3)),
    ("broadcast", 2, 2, 1, [1], (3, 3)),
    ("allgather", 3, 2, 1, [1], (4, 3)),
    ("all_to_all", 3, 2, 1, [1], (4, 3)),
    ("reduce_scatter", 5, 5, 2, [1, 2], (6, 6)),
    ("mesh", 6, 5, 2, [1, None], (7, 6)),
    ("mesh partial", 5, 5, 2, [1, 2], None),
    ("ring", 12, 12, 4, [None] * 4, (14, 13)),
    ("ring fp16", 12, 12, 4, [None] * 4, (14, 13)),
]


def waits(program: ir.Program) -> list[int | None]:
    """The constants that the waits ask for, None for computed ones."""
    return [c.args[2].value if isinstance(c.args[2], ConstInt) else None for c in calls(program, "pld.system.wait")]


@pytest.mark.parametrize(("name", "loops", "branches", "posts", "constants", "credit"), COUNTS)
def test_counts(name: str, loops: int, branches: int, posts: int, constants: list, credit: Any) -> None:
    made = lower()(COLLECTIVES[name]())
    assert (len(nodes(made, ForStmt)), len(nodes(made, IfStmt))) == (loops, branches)
    assert len(calls(made, "pld.system.notify")) == posts
    assert waits(made) == constants
    if credit is not None:
        again = lower(signals="credit")(COLLECTIVES[name]())
        assert (len(nodes(again, ForStmt)), len(nodes(again, IfStmt))) == credit


@pytest.mark.parametrize("signals", ["single_shot", "credit"])
@pytest.mark.parametrize("name", COLLECTIVES)
def test_what_holds_of_every_collective(name: str, signals: str) -> None:
    before = COLLECTIVES[name]()
    made = lower(signals=signals)(before)
    assert made is not before
    assert lower(signals=signals)(made) is made
    assert_roundtrip(made)
    names = {c.op.name for c in nodes(made, Call)}
    assert not names & set(composite_ops())
    for wait in calls(made, "pld.system.wait"):
        assert dict(wait.kwargs) == {"cmp": int(pld.WaitCmp.Ge)}
        assert wait.args[2].type.dtype is pl.INT32
    for loop in nodes(made, ForStmt):
        if qualifier(loop.loop_var).startswith(("peer", "src", "dest")):
            assert isinstance(loop.stop, Var)
            assert qualifier(loop.stop) == "nranks_idx"
    temporaries = [n.var.name_hint for n in nodes(made, AssignStmt) if "_tmp_v" in n.var.name_hint]
    assert len(set(temporaries)) == len(temporaries)
    for tile in calls(made, "tile.fillpad_inplace"):
        width = tile.type.shape[1].value * tile.type.dtype.get_byte()
        assert width % 32 == 0
        assert width <= 16384
    _assert_guards(body(made))


def _assert_guards(stmt: Stmt, guard: Expr | None = None) -> None:
    """Every barrier post and every wait stands under one inequality between a loop variable and this rank."""
    for inner in flatten_to_stmts(stmt):
        if isinstance(inner, AssignStmt) and qualifier(inner.var).endswith("_ret") and isinstance(inner.value, Call):
            name = inner.value.op.name
            if name in ("pld.system.notify", "pld.system.wait"):
                assert isinstance(guard, ir.Ne)
                assert isinstance(guard.left, Var)
                assert isinstance(guard.right, Cast)
        if isinstance(inner, ForStmt):
            _assert_guards(inner.body)
        elif isinstance(inner, IfStmt):
            _assert_guards(inner.then_body, inner.condition)
            if inner.else_body is not None:
                _assert_guards(inner.else_body)


def test_a_post_names_this_rank_and_a_wait_names_the_peer() -> None:
    made = lower()(barrier(2))
    (post,) = calls(made, "pld.system.notify")
    (wait,) = calls(made, "pld.system.wait")
    assert [_text(a) for a in post.args[1:]] == ["peer", "(my_rank, 0)", "1:INT32"]
    assert [_text(a) for a in wait.args[1:]] == ["(src, 0)", "1:INT32"]
    assert post.args[2].elements[0].type.dtype is pl.INT32


@pytest.mark.parametrize("mode", ["mesh", "ring"])
@pytest.mark.parametrize(
    ("op", "name"),
    [(REDUCE.Sum, "tile.add"), (REDUCE.Max, "tile.maximum"), (REDUCE.Min, "tile.minimum"), (REDUCE.Prod, "tile.mul")],
)
def test_each_reduction_is_its_tile_operator(mode: str, op: Any, name: str) -> None:
    made = lower()(allreduce([1, 16], [2, 1] if mode == "mesh" else [2, 2], pl.FP32, op, mode))
    arithmetic = {"tile.add", "tile.maximum", "tile.minimum", "tile.mul"}
    found = [c for c in nodes(made, Call) if c.op.name in arithmetic]
    assert [c.op.name for c in found] == [name]
    accumulated, received = found[0].args
    assert qualifier(accumulated) in ("peer_acc", "acc_rs")
    assert qualifier(received) in ("recv", "recv_rs")


@pytest.mark.parametrize("kind", ["bare", "returned"])
def test_positions(kind: str) -> None:
    if kind == "bare":

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
        ):
            pld.tensor.allreduce(data, signal)
            return data

    else:

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
        ):
            return pld.tensor.allreduce(data, signal)

    made = lower()(ir.Program([kernel], "P"))
    lines = outline(made)
    assert lines[-1] == ("return data" if kind == "bare" else "return result")
    assert ("result := var" in lines) == (kind == "returned")
    base = "eval" if kind == "bare" else "ret0"
    assert all(n.var.name_hint.startswith(f"{base}__") for n in nodes(made, AssignStmt))


def test_omitted_mode_is_the_mesh() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
    ):
        data = pld.tensor.allreduce(data, signal)
        return data

    ir.assert_structural_equal(lower()(ir.Program([kernel], "P")), lower()(allreduce([1, 16], [2, 1])))


def test_three_barriers_on_one_signal_with_credits() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
        for _ in pl.range(3):
            signal = pld.tensor.barrier(signal)
        signal = pld.tensor.barrier(signal)
        signal = pld.tensor.barrier(signal)
        return signal

    made = lower(signals="credit")(ir.Program([kernel], "P"))
    assert waits(made) == [1, 1, 1]
    resets = [c for c in calls(made, "pld.system.notify") if isinstance(c.args[3], ConstInt) and c.args[3].value < 0]
    assert [c.args[3].value for c in resets] == [-1, -1, -1]
    assert_roundtrip(made)


@pytest.mark.parametrize("name", COLLECTIVES)
def test_credits_end_with_a_reset_that_adds(name: str) -> None:
    made = lower(signals="credit")(COLLECTIVES[name]())
    posts = calls(made, "pld.system.notify")
    kinds = [c.kwargs["op"] for c in posts if qualifier_of_value(made, c) != "aav_count_notify"]
    assert kinds == [int(pld.NotifyOp.AtomicAdd)] * len(kinds)
    last = posts[-1]
    assert qualifier(last.args[1]) == "my_rank"
    cell = [qualifier(v) if isinstance(v, Var) else v.value for v in last.args[2].elements]
    assert cell == (["reset_row", "reset_src"] if name.startswith("ring") else ["reset_src", 0])
    amount = last.args[3]
    assert isinstance(amount, ir.Neg) or (isinstance(amount, ConstInt) and amount.value < 0)


def qualifier_of_value(program: ir.Program, value: Call) -> str:
    return next(qualifier(n.var) for n in nodes(program, AssignStmt) if n.value is value)


def test_host_orchestrators_keep_their_collectives() -> None:
    @pl.program
    class Host:
        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self):
            data_buf = pld.alloc_window_buffer([2, 64], dtype=pl.FP32)
            signal_buf = pld.alloc_window_buffer([2], dtype=pl.INT32)
            data = pld.window(data_buf, [2, 64], dtype=pl.FP32)
            signal = pld.window(signal_buf, [2], dtype=pl.INT32)
            data = pld.tensor.allreduce(data)
            data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Max)
            data = pld.tensor.broadcast(data, signal, root=0)
            data = pld.tensor.reduce_scatter(data, signal)
            signal = pld.tensor.barrier(signal)

    assert lower()(Host) is Host


# -- expressions as text -----------------------------------------------------------------------------------------------------


def _text(value: Expr) -> str:
    """An expression with the qualifiers of its variables."""
    if isinstance(value, Var):
        return qualifier(value)
    if isinstance(value, ConstInt):
        return str(value.value) if value.dtype is pl.INDEX else f"{value.value}:{value.dtype.name}"
    if isinstance(value, ir.MakeTuple):
        return f"({', '.join(_text(e) for e in value.elements)})"
    if isinstance(value, Cast):
        return f"{'idx' if value.dtype is pl.INDEX else value.dtype.name}({_text(value.operand)})"
    operators = {ir.Add: "+", ir.Sub: "-", ir.Mul: "*", ir.FloorDiv: "//"}
    for kind, sign in operators.items():
        if isinstance(value, kind):
            left = f"({_text(value.left)})" if kind is ir.FloorDiv and isinstance(value.left, ir.Add) else _text(value.left)
            return f"{left} {sign} {_text(value.right)}"
    if isinstance(value, ir.Min):
        return f"min({_text(value.left)}, {_text(value.right)})"
    raise AssertionError(type(value))
