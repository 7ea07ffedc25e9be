"""Distributed kernels and host orchestrators as text: every way of writing an operator, and the call it gives."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from pypto import ir
from pypto.ir.expr import Call, Cast, ConstInt, MakeTuple, Var
from pypto.ir.types import CommCtxType, DistributedTensorType, PtrType, ScalarType, TileType, UnknownType
from pypto.ir.verify.walk import held, nodes, statements
from pypto.parser import parse
from pypto.parser.errors import ParserSyntaxError
from tests.parser.support import assert_reads_back

KERNEL = """
N = pl.dynamic("N")

@pl.function(type=pl.FunctionType.InCore)
def f(
    x: pl.Tensor[[4, 16], pl.FP32],
    row: pl.Tensor[[1, 16], pl.FP32],
    d: pld.DistributedTensor[[4, 16], pl.FP32],
    e: pld.DistributedTensor[[4, 16], pl.FP32],
    s: pld.DistributedTensor[[4, 1], pl.INT32],
    h: pld.DistributedTensor[[1, 17], pl.FP16],
    sent: pl.Tensor[[4], pl.INT32],
    got: pld.DistributedTensor[[4, 1], pl.INT32],
    free: pld.DistributedTensor[[N, 16], pl.FP32],
    me: pl.Scalar[pl.INDEX],
    small: pl.Scalar[pl.INT32],
    t: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec],
    t2: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec],
    ctx: pld.CommCtx,
):
"""
HOST = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, d: pld.DistributedTensor[[4, 8], pl.FP32]):
        return d

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, k: pl.Scalar[pl.INDEX]):
"""


def kernel(body: str) -> Any:
    """The kernel with that body."""
    return parse(KERNEL + textwrap.indent(textwrap.dedent(body).strip("\n"), "    ") + "\n")


def host(body: str) -> Any:
    """The program whose host orchestrator has that body."""
    return parse(HOST + textwrap.indent(textwrap.dedent(body).strip("\n"), "        ") + "\n")


def calls(node: Any, name: str) -> list[Call]:
    """The calls of an operator, in order."""
    functions = node.functions.values() if isinstance(node, ir.Program) else [node]
    found = [c for f in functions for stmt in statements(f.body) for c in nodes(held(stmt))]
    return [c for c in found if isinstance(c, Call) and c.op.name == name]


def only(node: Any) -> Call:
    """The one call of a kernel of one statement."""
    (stmt,) = ir.flatten_to_stmts(node.body)
    value = stmt.value if isinstance(stmt, ir.AssignStmt) else stmt.expr
    assert isinstance(value, Call)
    return value


# -- in kernels --------------------------------------------------------------------------------------------------------------------

FORMS: list[tuple[str, list[str]]] = [
    (
        "pld.system.notify(s, 1, [me, 0], 5, op=1)",
        [
            "pld.system.notify(s, 1, [me, 0], 5, op=pld.NotifyOp.Set)",
            "pld.system.notify(s, 1, (me, 0), 5, op=pld.NotifyOp.Set)",
            "pld.system.notify(target=s, peer=1, offsets=[me, 0], value=5, op=pld.NotifyOp.Set)",
            "pld.system.notify(s, op=pld.NotifyOp.Set, value=5, offsets=[me, 0], peer=1)",
            "pld.system.notify(s, 4 - 3, [me, 2 - 2], 10 // 2, op=1)",
        ],
    ),
    ("pld.system.notify(s, me, [0, 0], 1, op=0)", ["pld.system.notify(s, me, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)"]),
    (
        "pld.system.wait(s, [me, 0], 5, cmp=1)",
        [
            "pld.system.wait(s, [me, 0], 5, cmp=pld.WaitCmp.Ge)",
            "pld.system.wait(signal=s, offsets=[me, 0], expected=5, cmp=pld.WaitCmp.Ge)",
        ],
    ),
    ("pld.system.wait(s, [0, 0], -1, cmp=0)", ["pld.system.wait(s, [0, 0], -1, cmp=pld.WaitCmp.Eq)"]),
    ("pld.system.defer_wait(s, [0, 0], 1, cmp=1)", ["pld.system.defer_wait(s, [0, 0], 1, cmp=pld.WaitCmp.Ge)"]),
    ("y: pld.CommCtxType = pld.system.get_comm_ctx(d)", ["y = pld.get_comm_ctx(d)", "y = pld.get_comm_ctx(dist_tensor=d)"]),
    ("y: pl.Scalar[pl.INT32] = pld.system.rank(ctx)", ["y = pld.rank(ctx)", "y = pld.system.rank(ctx=ctx)"]),
    (
        "y: pl.Scalar[pl.INT32] = pld.system.nranks(pld.system.get_comm_ctx(d))",
        ["y = pld.nranks(pld.get_comm_ctx(d))", "y: pl.Scalar[pl.INT32] = pld.nranks(ctx=pld.get_comm_ctx(d))"],
    ),
    (
        "y: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec] = pld.tile.remote_load(d, 1, [me, 0], [1, 16])",
        [
            "y = pld.remote_load(d, 1, [me, 0], [1, 16])",
            "y = pld.tile.remote_load(d, peer=1, offsets=[me, 0], shape=[1, 16])",
            "y = pld.remote_load(d, 1, [me, 0], [1, 16], None)",
            "y = pld.remote_load(d, 1, [me, 0], [1, 16], valid_shape=None)",
        ],
    ),
    (
        "y: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[1, me])] "
        "= pld.tile.remote_load(d, 1, [0, 0], [1, 16], [1, me])",
        ["y = pld.remote_load(d, 1, [0, 0], [1, 16], valid_shape=[1, me])"],
    ),
    (
        "y: pl.Tile[[1, 32], pl.FP16, pl.Mem.Vec] = "
        "pld.tile._remote_load_with_physical_tail_padding(h, 1, [0, 0], [1, 32], [1, 32])",
        [
            "y = pld.tile._remote_load_with_physical_tail_padding(h, peer=1, offsets=[0, 0], shape=[1, 32], valid_shape=[1, 32])",
        ],
    ),
    (
        "pld.tile.remote_store(t, d, 1, [2, 0], atomic=1)",
        [
            "pld.remote_store(t, d, 1, [2, 0], atomic=pl.AtomicType.Add)",
            "pld.remote_store(t, d, peer=1, offsets=[2, 0], atomic=pld.AtomicType.Add)",
            "pld.remote_store(src=t, target=d, peer=1, offsets=[2, 0], atomic=1)",
            "pld.tile.remote_store(src_tile=t, target=d, peer=1, offsets=[2, 0], atomic=1)",
        ],
    ),
    (
        "pld.tensor.remote_store(x, d, 1, [0, 0])",
        [
            "pld.remote_store(x, d, 1, [0, 0])",
            "pld.tensor.remote_store(src=x, target=d, peer=1, offsets=[0, 0], atomic=pld.AtomicType.None_)",
        ],
    ),
    (
        "pld.tensor.put(d, me, x, atomic=0)",
        [
            "pld.tensor.put(d, me, x)",
            "pld.tensor.put(dst=d, peer=me, src=x)",
            "pld.tensor.put(d, me, x, None, None, None, atomic=pld.AtomicType.None_, chunk_rows=0, pipeline=False)",
        ],
    ),
    (
        "pld.tensor.put(d, 1, x, [0, 0], [1, 0], [2, 16], atomic=1, chunk_rows=1, chunk_cols=16, pipeline=True)",
        [
            "pld.tensor.put(d, 1, x, pipeline=True, chunk_cols=16, chunk_rows=1, atomic=pl.AtomicType.Add, "
            "dst_offsets=[0, 0], src_offsets=[1, 0], shape=[2, 16])",
        ],
    ),
    ("pld.tensor.get(x, 1, d)", ["pld.tensor.get(dst=x, peer=1, src=d)"]),
    ("pld.tensor.get(x, 1, d, [0, 0], [1, 0], [2, 16], chunk_rows=1)", []),
    ("pld.tile.put(d, 1, x, t, atomic=0)", ["pld.tile.put(d, 1, x, t)", "pld.tile.put(d, 1, x, t, None)"]),
    ("pld.tile.put(d, 1, x, t, t2, atomic=1)", ["pld.tile.put(d, 1, x, t, stage2=t2, atomic=pld.AtomicType.Add)"]),
    (
        "pld.tile.put(d, 1, x, t, [0, 0], [1, 0], [1, 16], atomic=0)",
        [
            "pld.tile.put(d, 1, x, t, [0, 0], [1, 0], [1, 16])",
            "pld.tile.put(d, 1, x, t, None, [0, 0], [1, 0], [1, 16])",
            "pld.tile.put(d, peer=1, src=x, stage=t, dst_offsets=[0, 0], src_offsets=[1, 0], shape=[1, 16])",
            "pld.tile.put(d, 1, x, t, stage2=None, shape=[1, 16], src_offsets=[1, 0], dst_offsets=[0, 0])",
        ],
    ),
    (
        "pld.tile.put(d, 1, t, t2, [0, 0], [0, 0], [1, 16], t2, atomic=0)",
        [
            "pld.tile.put(d, 1, t, t2, t2, [0, 0], [0, 0], [1, 16])",
            "pld.tile.put(d, 1, t, t2, [0, 0], [0, 0], [1, 16], stage2=t2)",
            "pld.tile.put(d, 1, t, t2, dst_offsets=[0, 0], src_offsets=[0, 0], shape=[1, 16], stage2=t2)",
        ],
    ),
    ("pld.tile.get(x, 1, d, t)", ["pld.tile.get(dst=x, peer=1, src=d, stage=t)"]),
    ("pld.tile.get(x, 1, d, t, t2)", ["pld.tile.get(x, 1, d, t, stage2=t2)"]),
    (
        "pld.tile.get(x, 1, d, t, [0, 0], [1, 0], [1, 16], t2)",
        ["pld.tile.get(x, 1, d, t, t2, [0, 0], [1, 0], [1, 16])"],
    ),
    (
        'd: pld.DistributedTensor[[4, 16], pl.FP32] = pld.tensor.allreduce(d, s, op=0, mode="mesh", core_num=1)',
        [
            "d = pld.tensor.allreduce(d, s)",
            "d = pld.tensor.allreduce(target=d, signal=s, op=pld.ReduceOp.Sum)",
            "d = pld.tensor.allreduce(d, s, core_num=1, mode='mesh')",
        ],
    ),
    (
        'd: pld.DistributedTensor[[4, 16], pl.FP32] = pld.tensor.allreduce(d, op=1, mode="mesh", core_num=2)',
        ["d = pld.tensor.allreduce(d, op=pld.ReduceOp.Max, core_num=2)"],
    ),
    (
        'pld.tensor.allreduce(d, s, op=3, mode="ring", core_num=1)',
        ["pld.tensor.allreduce(d, s, op=pld.ReduceOp.Prod, mode='ring')"],
    ),
    ("s: pld.DistributedTensor[[4, 1], pl.INT32] = pld.tensor.barrier(s)", ["s = pld.tensor.barrier(signal=s)"]),
    ("pld.tensor.barrier(s)", []),
    (
        "d: pld.DistributedTensor[[4, 16], pl.FP32] = pld.tensor.broadcast(d, s, root=2)",
        ["d = pld.tensor.broadcast(d, s, root=2)", "d = pld.tensor.broadcast(root=1 + 1, signal=s, target=d)"],
    ),
    (
        "d: pld.DistributedTensor[[4, 16], pl.FP32] = pld.tensor.reduce_scatter(d, s, op=0)",
        ["d = pld.tensor.reduce_scatter(d, s)", "d = pld.tensor.reduce_scatter(d, s, op=pld.ReduceOp.Sum)"],
    ),
    (
        "d: pld.DistributedTensor[[4, 16], pl.FP32] = pld.tensor.allgather(row, d, s)",
        ["d = pld.tensor.allgather(local_data=row, target=d, signal=s)"],
    ),
    ("pld.tensor.allgather(t, d, s)", []),
    ("pld.tensor.all_to_all(x, d, s)", ["pld.tensor.all_to_all(input=x, target=d, signal=s)"]),
    ("pld.tensor.all_to_all(e, d, s)", []),
    (
        "pld.tensor.all_to_all_v(x, d, s, sent, got)",
        ["pld.tensor.all_to_all_v(x, d, s, recv_counts=got, send_counts=sent)"],
    ),
]


@pytest.mark.parametrize(("printed", "written"), FORMS, ids=[p for p, _ in FORMS])
def test_what_is_written_and_what_is_printed(printed: str, written: list[str]) -> None:
    first = kernel(printed)
    assert ir.python_print(first, format=False).rstrip("\n").split("\n")[-1].strip() == printed
    assert_reads_back(first)
    for form in written:
        node = kernel(form)
        ir.assert_structural_equal(node, first)
        assert ir.python_print(node) == ir.python_print(first)


def test_literals_are_index_constants() -> None:
    made = only(kernel("pld.system.notify(s, 1, [2, 0], 3, op=0)"))
    peer, offsets, value = made.args[1:]
    assert isinstance(offsets, MakeTuple)
    for constant in (peer, value, *offsets.elements):
        assert isinstance(constant, ConstInt)
        assert constant.dtype is ir.INDEX
    typed = only(kernel("pld.system.notify(s, pl.const(1, pl.INT32), [2, 0], pl.const(3, pl.INT64), op=0)"))
    assert typed.args[1].type is ScalarType(ir.INT32)
    assert typed.args[3].type is ScalarType(ir.INT64)


@pytest.mark.parametrize(
    ("body", "converted"),
    [
        ("pld.system.notify(s, 1, [me, 0], me + 1, op=1)", True),
        ("pld.system.wait(s, [me, 0], me + 1, cmp=1)", True),
        ("pld.system.defer_wait(s, [me, 0], me + 1, cmp=1)", True),
        ("pld.system.notify(s, me, [me, 0], small, op=1)", False),
        ("pld.system.wait(s, [me, 0], small, cmp=1)", False),
        ("pld.system.wait(s, [me, 0], pl.cast(me, pl.INT32), cmp=1)", False),
    ],
)
def test_thresholds_are_int32(body: str, converted: bool) -> None:
    """A value that is no constant is converted once, where it is read (B080)."""
    made = only(kernel(body))
    value = made.args[-1]
    assert value.type is ScalarType(ir.INT32)
    inner = value.operand.type if isinstance(value, Cast) else None
    assert (inner is ScalarType(ir.INDEX)) is (converted or "pl.cast" in body)


def test_an_epoch_barrier_in_a_loop() -> None:
    node = kernel("""
        for e in pl.range(3):
            for p in pl.range(me):
                if p != me:
                    pld.system.notify(s, peer=p, offsets=[me, 0], value=e + 1, op=pld.NotifyOp.Set)
            for p in pl.range(me):
                if p != me:
                    pld.system.wait(signal=s, offsets=[p, 0], expected=e + 1, cmp=pld.WaitCmp.Ge)
        return s
    """)
    for name in ("notify", "wait"):
        (made,) = calls(node, f"pld.system.{name}")
        assert made.args[-1].type is ScalarType(ir.INT32)
        assert ir.python_print(made.args[-1]) == "pl.cast(e + 1, pl.INT32)"
    assert_reads_back(node)


def test_results_of_the_topology_are_ordinary_numbers() -> None:
    node = kernel("""
        n = pld.nranks(ctx)
        r = pld.rank(ctx)
        right = (r + 1) % n
        for p in pl.range(n):
            if p != r:
                pld.system.notify(s, peer=p, offsets=[r, 0], value=1, op=pld.NotifyOp.AtomicAdd)
        y = pld.remote_load(d, peer=right, offsets=[r, 0], shape=[1, 16])
    """)
    (load,) = calls(node, "pld.tile.remote_load")
    assert isinstance(load.type, TileType)
    assert load.args[1].type is ScalarType(ir.INDEX)
    assert_reads_back(node)


def test_nested_calls_and_subscripts() -> None:
    node = kernel("""
        y = pl.add(pld.tensor.allreduce(d, s), 1.0)
        z = pld.tensor.allreduce(pld.tensor.broadcast(d, s, root=0), s)
        cell = s[me, 0]
        pld.system.notify(s, s[0, 0], [s[1, 0], 0], cell, op=1)
        u = pld.remote_load(pl.tensor.view(d, [1, 64]), 1, [0, 0], [1, 64])
        return pld.tensor.barrier(s)
    """)
    assert len(calls(node, "pld.tensor.allreduce")) == 2
    assert_reads_back(node)


def test_dynamic_windows() -> None:
    node = kernel("""
        y = pld.remote_load(free, me, [N - 1, 0], [1, 16])
        pld.tensor.put(free, me, free, chunk_rows=4)
        pld.tensor.put(free, me, x, [me, 0], [0, 0], [4, 16])
    """)
    assert_reads_back(node)


def test_attributes_on_every_operator() -> None:
    node = kernel("""
        pld.system.notify(s, 1, [0, 0], 1, op=1, attrs={"note": 1, "who": me, "both": [d, e], "kind": pl.FP32})
        pld.tile.put(d, 1, x, t, [0, 0], [0, 0], [1, 16], attrs={"key": "v"})
        y = pld.tile._remote_load_with_physical_tail_padding(h, 0, [0, 0], [1, 32], [1, 32], attrs={"n": 2})
        d = pld.tensor.allreduce(d, s, attrs={"flags": [1, 2]})
        z = pld.rank(pld.get_comm_ctx(d, attrs={"a": True}), attrs={"b": 1.5})
    """)
    (notify,) = calls(node, "pld.system.notify")
    assert list(notify.attrs) == ["note", "who", "both", "kind"]
    assert isinstance(notify.attrs["who"], Var)
    assert_reads_back(node)


def test_a_void_operator_has_no_type() -> None:
    for body in ("pld.system.notify(s, 1, [0, 0], 1, op=1)", "pld.tile.get(x, 1, d, t)", "pld.remote_store(t, d, 0, [0, 0])"):
        assert only(kernel(body)).type is UnknownType()
    node = kernel("y = pld.system.wait(s, [0, 0], 1, cmp=1)")
    assert_reads_back(node)


# -- in host orchestrators -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "size"),
    [
        ("buf = pld.alloc_window_buffer(64)", "64"),
        ("buf = pld.tensor.alloc_window_buffer(size=64)", "64"),
        ("buf: pl.Ptr = pld.alloc_window_buffer(64)", "64"),
        ("buf = pld.alloc_window_buffer([4, 8], dtype=pl.FP32)", "pl.const(128, pl.INT64)"),
        ("buf = pld.alloc_window_buffer((4, 8), dtype=pl.FP16)", "pl.const(64, pl.INT64)"),
        ("buf = pld.alloc_window_buffer(dtype=pl.INT8, size=[4])", "pl.const(4, pl.INT64)"),
        (
            "buf = pld.alloc_window_buffer([k, 4], dtype=pl.FP32)",
            "pl.cast(k, pl.INT64) * pl.const(4, pl.INT64) * pl.const(4, pl.INT64)",
        ),
        ("buf = pld.alloc_window_buffer(k * 4)", "k * 4"),
        ("buf = pld.alloc_window_buffer(256 * pl.FP32.get_byte())", "pl.const(256, pl.INDEX) * pl.const(4, pl.INDEX)"),
        ("buf = pld.alloc_window_buffer(pld.world_size() * 4)", "pld.system.world_size() * 4"),
        (
            "buf = pld.alloc_window_buffer([pld.world_size(), 2], dtype=pl.INT32)",
            "pld.system.world_size() * pl.const(2, pl.INT64) * pl.const(4, pl.INT64)",
        ),
    ],
)
def test_allocations(written: str, size: str) -> None:
    node = host(written)
    (made,) = calls(node, "pld.tensor.alloc_window_buffer")
    assert made.type is PtrType()
    assert dict(made.kwargs) == {"name": "buf"}
    assert ir.python_print(made.args[0]) == size
    assert_reads_back(node)


def test_windows_and_the_number_of_ranks() -> None:
    node = host("""
        buf = pld.alloc_window_buffer([4, 8], dtype=pl.FP32, attrs={"why": "x"})
        w = pld.window(buf, [4, 8], dtype=pl.FP32)
        v: pld.DistributedTensor[[k, 8], pl.FP16] = pld.tensor.window(buf=buf, shape=(k, 8), dtype=pl.FP16)
        n = pld.world_size()
        for r in pl.range(pld.system.world_size(attrs={"q": 1})):
            self.chip(w, device=r)
        w = pld.tensor.allreduce(w, op=pld.ReduceOp.Sum)
        return w
    """)
    first, second = calls(node, "pld.tensor.window")
    assert isinstance(first.type, DistributedTensorType)
    assert first.type.window_buffer is None
    assert second.type == DistributedTensorType([node.get_function("host").params[0], 8], ir.FP16)
    count, bound = calls(node, "pld.system.world_size")
    assert count.type is ScalarType(ir.INT64)
    assert dict(bound.attrs) == {"q": 1}
    assert dict(calls(node, "pld.tensor.alloc_window_buffer")[0].attrs) == {"why": "x"}
    assert_reads_back(node)


def test_allocations_in_blocks() -> None:
    node = host("""
        for i in pl.range(2):
            inner = pld.alloc_window_buffer(64)
        if k > 1:
            left = pld.alloc_window_buffer(64)
        else:
            right = pld.alloc_window_buffer(64)
        _ = pld.alloc_window_buffer(64)
    """)
    assert [c.kwargs["name"] for c in calls(node, "pld.tensor.alloc_window_buffer")] == ["inner", "left", "right", "_"]
    assert_reads_back(node)


def test_printed_text_may_allocate_anywhere() -> None:
    """Text that passes print is not held to the rules for people: names repeat, and an allocation may stand inside an expression."""
    text = """# pypto.program: P
@pl.program
class P:
    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self):
        q: pl.Ptr = pld.tensor.alloc_window_buffer(64)
        q_1: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="q")
        w: pld.DistributedTensor[[16], pl.FP32] = pld.tensor.window(pld.tensor.alloc_window_buffer(64, name="w"), [16], dtype=pl.FP32)
        pld.tensor.alloc_window_buffer(64, name="no variable")
"""
    node = parse(text)
    names = [c.kwargs["name"] for c in calls(node, "pld.tensor.alloc_window_buffer")]
    assert names == ["q", "q", "w", "no variable"]
    assert_reads_back(node)
    with pytest.raises(ParserSyntaxError, match="must be assigned to a name"):
        parse(text.replace(', name="no variable"', ""))


def test_printed_text_may_hold_numbers_out_of_range() -> None:
    """Passes leave them in branches that a program never enters; a run that enters one is stopped there."""
    text = """# pypto.function: f
@pl.function(type=pl.FunctionType.InCore)
def f(x: pl.Tensor[[4, 16], pl.FP32], d: pld.DistributedTensor[[4, 16], pl.FP32], s: pld.DistributedTensor[[4, 1], pl.INT32]):
    pld.system.notify(s, -1, [0, 0], 1, op=1)
    t: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec] = pld.tile.remote_load(d, 0, [-1, 0], [1, 16])
    t_1: pl.Tile[[1, 16], pl.FP32, pl.Mem.Vec] = pl.tile.load(x, [-1, 0], [1, 16], [1, 16], target_memory=pl.Mem.Vec)
    pld.tensor.put(d, 0, x, [4, 0], [0, 0], [1, 16], atomic=0)
"""
    assert_reads_back(parse(text))
    with pytest.raises(Exception, match="a rank from 0"):
        parse(text.removeprefix("# pypto.function: f\n"))


def test_a_context_is_a_value_like_others() -> None:
    node = kernel("""
        c = pld.get_comm_ctx(d)
        if me > 0:
            q = pl.yield_(c)
        else:
            q = pl.yield_(ctx)
        r = pld.rank(q)
    """)
    assert calls(node, "pld.system.rank")[0].args[0].type is CommCtxType()
    assert_reads_back(node)
