"""What passes and checks do with distributed operators: posts, waits and transfers stay, stay in order, and keep their types."""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

import numpy as np
import pytest

from pypto import ir, passes
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, ParamDirection
from pypto.ir.equality import structural_equal
from pypto.ir.expr import Call, Expr, MakeTuple, Var, index_const
from pypto.ir.function import Function, Program
from pypto.ir.op import create_op_call, get_op
from pypto.ir.stmt import EvalStmt, ReturnStmt, SeqStmts
from pypto.ir.types import DistributedTensorType, ScalarType, UnknownType
from pypto.ir.verify.type_checked import verify_type_checked
from pypto.ir.verify.walk import held, nodes, statements
from pypto.ops.declare import Declaration
from pypto.parser import parse
from pypto.runtime import run
from pypto.testing import assert_roundtrip, assert_same_meaning

HEAD = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self,
        x: pl.Tensor[[4, 16], pl.FP32],
        row: pl.Tensor[[1, 16], pl.FP32],
        d: pld.DistributedTensor[[4, 16], pl.FP32],
        e: pld.DistributedTensor[[4, 16], pl.FP32],
        s: pld.DistributedTensor[[4, 1], pl.INT32],
        sent: pl.Tensor[[4], pl.INT32],
        got: pld.DistributedTensor[[4, 1], pl.INT32],
        me: pl.Scalar[pl.INDEX],
        b: pl.Scalar[pl.BOOL],
    ):
"""
FRONT = ["inline_functions", "unroll_loops", "ctrl_flow_transform", "convert_to_ssa", "simplify"]
FLAT = ["flatten_call_expr", "normalize_stmt_structure", "simplify"]


def program(body: str, result: str = "x") -> Any:
    """A program of one kernel with that body."""
    return parse(HEAD + textwrap.indent(textwrap.dedent(body).strip("\n") + f"\nreturn {result}", "        ") + "\n")


def through(node: Any, *names: str) -> Any:
    """The program after some passes, each of which leaves it sound, printable and well typed."""
    for name in names:
        node = getattr(passes, name)()(node)
        assert_roundtrip(node)
        assert verify_type_checked(node) == []
    return node


def communication(node: Any) -> list[tuple[str, Any]]:
    """The operators that reach other ranks, in order, with their keywords."""
    found: list[tuple[str, Any]] = []
    for stmt in statements(node.get_function("k").body):
        calls = [c for c in nodes(held(stmt)) if isinstance(c, Call) and isinstance(c.op, Declaration) and c.op.communicates]
        found += [(c.op.name, dict(c.kwargs)) for c in reversed(calls)]
    return found


# -- directions --------------------------------------------------------------------------------------------------------------------

IN, OUT, BOTH = ParamDirection.In, ParamDirection.Out, ParamDirection.InOut


@pytest.mark.parametrize(
    ("body", "changed"),
    [
        ("pld.system.notify(s, me, [0, 0], 1, op=pld.NotifyOp.Set)", {"s": OUT}),
        ("pld.system.notify(s, me, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)", {"s": BOTH}),
        ("pld.system.notify(s, me, [0, 0], 1, op=1)\npld.system.wait(s, [0, 0], 1, cmp=1)", {"s": BOTH}),
        ("pld.system.wait(s, [0, 0], 1, cmp=1)", {}),
        ("pld.system.notify(s, 0, [0, 0], got[0, 0], op=1)", {"s": OUT}),
        ("pld.tensor.put(d, me, x)", {"d": OUT}),
        ("pld.tensor.put(d, me, x, atomic=pld.AtomicType.Add)", {"d": BOTH}),
        ("pld.tensor.put(d, me, e, [0, 0], [0, 0], [1, 16])", {"d": OUT}),
        ("pld.tensor.put(d, me, d, [0, 0], [1, 0], [1, 16])", {"d": BOTH}),
        ("pld.tensor.get(x, me, d)", {"x": OUT}),
        ("pld.tensor.get(e, me, d)", {"e": OUT}),
        ("pld.tensor.remote_store(x, d, me, [0, 0])", {"d": OUT}),
        ("pld.tensor.remote_store(x, d, me, [0, 0], atomic=pld.AtomicType.Add)", {"d": BOTH}),
        ("t = pld.remote_load(d, me, [0, 0], [4, 16])", {}),
        ("t = pld.remote_load(d, me, [0, 0], [4, 16])\npld.remote_store(t, e, me, [0, 0])", {"e": OUT}),
        ("t = pl.tile.create([1, 16], dtype=pl.FP32)\npld.tile.put(d, me, x, t)", {"d": OUT}),
        (
            "t = pl.tile.create([1, 16], dtype=pl.FP32)\npld.tile.put(d, me, x, t, [0, 0], [0, 0], [1, 16], t, atomic=1)",
            {"d": BOTH},
        ),
        ("t = pl.tile.create([1, 16], dtype=pl.FP32)\npld.tile.get(x, me, d, t, t)", {"x": OUT}),
        ("d = pld.tensor.allreduce(d, s)", {"d": BOTH, "s": BOTH}),
        ("pld.tensor.barrier(s)", {"s": BOTH}),
        ("pld.tensor.broadcast(d, s, root=0)", {"d": BOTH, "s": BOTH}),
        ("pld.tensor.reduce_scatter(d, s)", {"d": BOTH, "s": BOTH}),
        ("pld.tensor.allgather(row, d, s)", {"d": BOTH, "s": BOTH}),
        ("pld.tensor.all_to_all(x, d, s)", {"d": BOTH, "s": BOTH}),
        ("pld.tensor.all_to_all_v(x, d, s, sent, got)", {"d": BOTH, "s": BOTH, "got": OUT}),
        # asking for the ranks of a window does not read it
        ("c = pld.get_comm_ctx(d)\nn = pld.nranks(c)", {}),
        ("c = pld.get_comm_ctx(d)\nr = pld.rank(c)\npld.tensor.put(d, r, x)", {"d": OUT}),
        ("n = pl.tensor.dim(d, 0)\npld.tensor.put(d, n, x)", {"d": OUT}),
        # in blocks, and through other names
        ("if b:\n    pld.tensor.put(d, me, x)", {"d": OUT}),
        ("for i in pl.range(3):\n    pld.system.notify(s, i, [0, 0], 1, op=1)", {"s": OUT}),
        ("other = d\npld.tensor.put(other, me, x)", {"d": OUT}),
        (
            "flat = pl.tensor.view(d, [1, 64])\nt = pl.tile.create([1, 64], dtype=pl.FP32)\npld.remote_store(t, flat, me, [0, 0])",
            {"d": OUT},
        ),
    ],
)
def test_directions_follow_from_effects(body: str, changed: dict[str, ParamDirection]) -> None:
    after = passes.convert_tensor_to_tile_ops()(through(program(body, result="got"), *FRONT, *FLAT))
    function = after.get_function("k")
    found = {p.name_hint: d for p, d in zip(function.params, function.param_directions, strict=False)}
    for name in ("x", "row", "d", "e", "s", "sent", "got"):
        assert found[name] is changed.get(name, IN), name


PARTS = """
@pl.function(type=pl.FunctionType.InCore)
def f(
    s: pld.DistributedTensor[[4, 1], pl.INT32],
    d: pld.DistributedTensor[[4, 16], pl.FP32],
    x: pl.Tensor[[4, 16], pl.FP32],
    y: pl.Tensor[[4, 16], pl.FP32],
):
"""


@pytest.mark.parametrize(
    "body",
    [
        "t = pld.remote_load(d[2:4, :], 1, [0, 0], [1, 16])\ny = pl.store(t, [0, 0], y)\nreturn y",
        "pld.tensor.get(y, 1, d[0:4])\nreturn y",
        "pld.tensor.get(y[0:1], 1, d[1:2])\nreturn y",
        "pld.tensor.put(d[3:4], 0, x[1:2])\nreturn d",
        "pld.remote_store(pl.load(x, [0, 0], [1, 16]), d[1:2], 0, [0, 0])\nreturn d",
        "pld.tensor.remote_store(x[1:3], d, 0, [0, 0])\nreturn d",
        "pld.tensor.broadcast(d[0:2], s, root=1)\nreturn d",
        "pld.system.notify(s[2:4, :], 0, [1, 0], 1, op=0)\npld.system.wait(s[0:1], [0, 0], 0, cmp=1)\nreturn s",
        "c = pld.get_comm_ctx(d[0:1])\nreturn pld.rank(c), pld.nranks(c)",
        "part = d[1:3]\npart2 = part[1:2]\nt = pld.remote_load(part2, 0, [0, 0], [1, 16])\ny = pl.store(t, [0, 0], y)\nreturn y",
    ],
)
def test_parts_of_windows_stay_windows(body: str) -> None:
    """What other ranks are to find cannot become a tile of this one."""
    before: Any = parse(PARTS + textwrap.indent(body, "    ") + "\n")
    after = Program([before], "P")
    for name in (*FRONT, *FLAT, "convert_tensor_to_tile_ops"):
        after = getattr(passes, name)()(after)
        assert_roundtrip(after)
    data = [np.arange(64, dtype=np.float32).reshape(4, 16) + 100 * r for r in range(2)]
    x = [np.full((4, 16), r + 1, np.float32) for r in range(2)]
    expected, found = [run(node, None, data, x, np.zeros((4, 16), np.float32), ranks=2) for node in (before, after)]
    np.testing.assert_equal(found, expected)
    assert np.any(np.asarray(expected) != 0)


# -- nothing is lost -----------------------------------------------------------------------------------------------------------------

POSTS = """
y = pld.system.wait(s, [0, 0], 0, cmp=pld.WaitCmp.Ge)
pld.system.notify(s, me, [0, 0], 1, op=pld.NotifyOp.Set)
z = pld.system.notify(s, me, [1, 0], 2, op=pld.NotifyOp.AtomicAdd)
unused = me + 1
if b:
    pld.tensor.put(d, me, x)
    nothing = me * 2
    pld.system.notify(s, me, [2, 0], 3, op=pld.NotifyOp.Set)
else:
    pld.tensor.get(x, me, d)
for i in pl.range(2):
    if b:
        pld.system.wait(s, [i, 0], i, cmp=pld.WaitCmp.Ge)
    dead = i + me
for i in pl.unroll(2):
    pld.system.notify(s, i, [3, 0], i, op=pld.NotifyOp.Set)
t = pld.remote_load(d, me, [0, 0], [4, 16])
pld.remote_store(t, e, me, [0, 0])
lost = pld.tensor.barrier(got)
pld.tensor.broadcast(d, got, root=0)
ctx = pld.get_comm_ctx(d)
count = pld.nranks(ctx)
while b:
    pld.system.defer_wait(s, [0, 0], 0, cmp=pld.WaitCmp.Ge)
    b = False
"""


def unrolled(found: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """With the one call in an unrolled loop of two turns written twice."""
    at = next(i for i, (name, _) in enumerate(found) if name == "pld.tile.remote_load") - 1
    return [*found[:at], found[at], *found[at:]]


@pytest.mark.parametrize(
    "order",
    [
        [*FRONT, *FLAT],
        ["convert_to_ssa", "simplify", "flatten_call_expr", "simplify", "unroll_loops", "simplify", "normalize_stmt_structure"],
        ["flatten_call_expr", "unroll_loops", "convert_to_ssa", "simplify"],
    ],
    ids=len,
)
def test_posts_waits_and_transfers_stay_in_order(order: list[str]) -> None:
    node = program(POSTS)
    expected = communication(node)
    assert len(expected) == 13
    for name in order:
        node = through(node, name)
        if name == "unroll_loops":
            expected = unrolled(expected)
        assert communication(node) == expected, name
    texts = ir.python_print(node)
    assert "pld.system.nranks" in texts  # a call stays, used or not
    if "simplify" in order:
        assert "unused" not in texts
        assert "dead" not in texts


def test_nested_collectives_are_computed_in_order() -> None:
    node = program("""
        y = pl.add(pld.tensor.allreduce(pld.tensor.broadcast(d, s, root=1), s), pld.tensor.reduce_scatter(e, got))
        pld.system.notify(s, s[0, 0], [s[1, 0], 0], pld.rank(pld.get_comm_ctx(d)), op=1)
    """)
    expected = ["pld.tensor.broadcast", "pld.tensor.allreduce", "pld.tensor.reduce_scatter", "pld.system.notify"]
    node = through(node, "flatten_call_expr")
    assert [name for name, _ in communication(node)] == expected
    for stmt in statements(node.get_function("k").body):
        for value in held(stmt):
            inner: list[Expr] = [*value.args] if isinstance(value, Call) else []
            assert not any(isinstance(part, Call) for part in nodes(inner))
    node = through(node, "convert_to_ssa", "simplify", "normalize_stmt_structure")
    assert [name for name, _ in communication(node)] == expected


@pytest.mark.parametrize("order", list(itertools.permutations(["convert_to_ssa", "flatten_call_expr", "ctrl_flow_transform"])))
def test_early_exits_do_not_multiply_posts(order: tuple[str, ...]) -> None:
    node = program(
        """
        for i in pl.range(4):
            pld.system.notify(s, me, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
            if i > me:
                break
            pld.system.notify(s, me, [1, 0], 1, op=pld.NotifyOp.AtomicAdd)
            if i == 1:
                continue
            pld.system.notify(s, me, [2, 0], i, op=pld.NotifyOp.AtomicAdd)
    """,
        "s",
    )
    for name in order:
        node = through(node, name)
    for me, expected in ((0, [2, 1, 0, 0]), (2, [4, 3, 2, 0]), (3, [4, 4, 5, 0])):
        cells = _posted(node, me)
        np.testing.assert_array_equal(cells, np.array(expected, np.int32).reshape(4, 1))


def _posted(node: Any, me: int) -> Any:
    """The cells of the only rank that is posted to when each of the ranks says ``me``."""
    ranks = 4
    x, row = np.zeros((4, 16), np.float32), np.zeros((1, 16), np.float32)
    found = run(node, x, row, None, None, None, np.zeros(4, np.int32), None, me, False, ranks=ranks)
    return found[me] // ranks


# -- thresholds ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "order", [[*FRONT, *FLAT], ["convert_to_ssa", "flatten_call_expr", "simplify", "unroll_loops", "simplify"]], ids=len
)
def test_posted_values_and_thresholds_stay_int32(order: list[str]) -> None:
    node = program("""
        for e1 in pl.range(3):
            for p in pl.range(me):
                if p != me:
                    pld.system.notify(s, peer=p, offsets=[me, 0], value=e1 + 1, op=pld.NotifyOp.Set)
            for p in pl.range(me):
                if p != me:
                    pld.system.wait(signal=s, offsets=[p, 0], expected=e1 + 1, cmp=pld.WaitCmp.Ge)
        for e2 in pl.unroll(2):
            pld.system.notify(s, 0, [e2, 0], (e2 + 1) * me, op=1)
            pld.system.notify(s, 0, [e2, 0], (e2 + 1) * 3, op=1)
            pld.system.wait(s, [e2, 0], e2, cmp=1)
    """)
    node = through(node, *order)
    found = 0
    for stmt in statements(node.get_function("k").body):
        for call in nodes(held(stmt)):
            if isinstance(call, Call) and call.op.name in ("pld.system.notify", "pld.system.wait"):
                value = call.args[-1]
                while isinstance(value, Var):
                    break
                assert value.type is ScalarType(DataType.INT32)
                found += 1
    assert found == 2 + 6


# -- numbers out of range in code that never runs ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "pld.system.notify(s, e1 - 1, [0, 0], 1, op=1)",
        "pld.system.wait(s, [0, 0], (e1 + 1) * 2147483648 - 2147483648, cmp=1)",
        "t = pld.remote_load(d, 0, [e1 - 1, 0], [1, 16])",
        "t = pld.remote_load(d, 0, [e1 + 3, 0], [1, 16])",
        "t = pld.remote_load(d, 0, [0, 0], [1, 16], [e1 - 1, 16])",
        "t = pld.remote_load(d, 0, [0, 0], [1, 16], [e1 * 2, 16])",
        "t = pl.load(x, [e1 - 1, 0], [1, 16])",
        "pld.tensor.put(d, 0, x, [e1 + 3, 0], [0, 0], [1, 16])",
        "pld.tensor.put(d, e1 - 1, x)",
        "pld.remote_store(pl.load(x, [0, 0], [1, 16]), d, 0, [e1 - 1, 0])",
    ],
)
def test_a_guarded_turn_of_an_unrolled_loop(line: str) -> None:
    """Where a number is out of range only in a turn that a guard leaves out, the program is fine, and stays so."""
    node = program(f"for e1 in pl.unroll(2):\n    if e1 >= me:\n        {line}")
    through(node, "unroll_loops", "convert_to_ssa", "simplify")
    after = through(node, *FRONT, *FLAT)
    assert passes.run_verifier()(after) is after


# -- checks --------------------------------------------------------------------------------------------------------------------------------


def _tuple(*entries: Any) -> MakeTuple:
    return MakeTuple([index_const(e) if isinstance(e, int) else e for e in entries])


SIGNAL = Var("s", DistributedTensorType([4, 1], DataType.INT32))
ME = Var("me", ScalarType(DataType.INDEX))


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ([SIGNAL, ME, _tuple(0), ME], {"op": 1}, "needs 2 offsets"),
        ([SIGNAL, ME, _tuple(0, 0)], {"op": 1}, "takes 4 operands, got 3"),
        ([SIGNAL, ME, _tuple(0, 0), ME], {"op": 7}, "'op' as one of"),
        ([ME, ME, _tuple(0, 0), ME], {"op": 1}, "DistributedTensor as 'target'"),
        ([SIGNAL, SIGNAL, _tuple(0, 0), ME], {"op": 1}, "Scalar as 'peer'"),
    ],
)
def test_operators_without_a_result_are_checked_too(args: list[Expr], kwargs: dict[str, Any], words: str) -> None:
    call = Call(get_op("pld.system.notify"), args, kwargs, {}, UnknownType())
    body = SeqStmts([EvalStmt(call), ReturnStmt([])])
    (finding,) = verify_type_checked(Program([Function("f", [SIGNAL, ME], [], body, type=FunctionType.InCore)], "P"))
    assert finding.code == "type-operands"
    assert words in finding.message


def test_properties_of_a_whole_distributed_program() -> None:
    node = through(program(POSTS), *FRONT, *FLAT)
    found = passes.run_verifier()(node)
    assert found is node


# -- nodes ---------------------------------------------------------------------------------------------------------------------------------


def test_bytes_and_back() -> None:
    for node in (program(POSTS), through(program(POSTS), *FRONT, *FLAT)):
        again = ir.deserialize(ir.serialize(node))
        assert structural_equal(node, again, strict=True)
        assert ir.python_print(again) == ir.python_print(node)
        assert ir.structural_hash(again) == ir.structural_hash(node)


def test_copies_are_equal_and_separate() -> None:
    function = program(POSTS).get_function("k")
    copy = ir.deep_clone(function) if not isinstance(ir.deep_clone(function), tuple) else ir.deep_clone(function)[0]
    assert structural_equal(function, copy)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("pld.system.notify(s, 1, [0, 0], 1, op=0)", "pld.system.notify(s, 1, [0, 0], 1, op=1)"),
        ("pld.system.notify(s, 1, [0, 0], 1, op=0)", "pld.system.notify(s, 1, [0, 1], 1, op=0)"),
        ("pld.system.notify(s, 1, [0, 0], 1, op=0)", "pld.system.notify(s, 1, [0, 0], pl.const(1, pl.INT32), op=0)"),
        ("pld.system.notify(s, 1, [0, 0], 1, op=0)", "pld.system.notify(got, 1, [0, 0], 1, op=0)"),
        ("pld.system.wait(s, [0, 0], 1, cmp=0)", "pld.system.defer_wait(s, [0, 0], 1, cmp=1)"),
        ("pld.tensor.put(d, 1, x)", "pld.tensor.put(d, 1, x, atomic=1)"),
        ("pld.tensor.put(d, 1, x)", "pld.tensor.put(d, 1, x, chunk_rows=1)"),
        ("pld.tensor.put(d, 1, x)", "pld.tensor.put(d, 1, x, [0, 0], [0, 0], [4, 16])"),
        ("pld.tensor.put(d, 1, x)", "pld.tensor.put(d, 1, x, attrs={'a': 1})"),
        ("d = pld.tensor.allreduce(d, s)", "d = pld.tensor.allreduce(d, s, mode='ring')"),
        ("d = pld.tensor.allreduce(d, s)", "d = pld.tensor.allreduce(d)"),
        ("d = pld.tensor.broadcast(d, s, root=0)", "d = pld.tensor.broadcast(d, s, root=1)"),
        ("t = pld.remote_load(d, 0, [0, 0], [1, 16])", "t = pld.remote_load(d, 0, [0, 0], [1, 16], [1, 16])"),
    ],
)
def test_what_makes_calls_differ(one: str, other: str) -> None:
    assert ir.structural_equal(program(one), program(one))
    assert not ir.structural_equal(program(one), program(other))


def test_windows_take_part_in_equality() -> None:
    buffer = create_op_call("pld.tensor.alloc_window_buffer", [index_const(64)], {"name": "a"})
    other = create_op_call("pld.tensor.alloc_window_buffer", [index_const(64)], {"name": "b"})
    assert not ir.structural_equal(buffer, other)
    assert DistributedTensorType([4], DataType.FP32) != ir.TensorType([4], DataType.FP32)


# -- helpers that are written into their callers --------------------------------------------------------------------------------------------

INLINED = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Inline)
    def post(self, s: pld.DistributedTensor[[4, 1], pl.INT32], peer: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
        ctx = pld.get_comm_ctx(s)
        pld.system.notify(s, peer, [pld.rank(ctx), 0], 1, op=pld.NotifyOp.AtomicAdd)
        return peer

    @pl.function(type=pl.FunctionType.Inline)
    def meet(self, s: pld.DistributedTensor[[4, 1], pl.INT32]):
        ctx = pld.get_comm_ctx(s)
        for p in pl.range(pld.nranks(ctx)):
            if p != pld.rank(ctx):
                q = self.post(s, pl.cast(p, pl.INDEX))
        for p in pl.range(pld.nranks(ctx)):
            if p != pld.rank(ctx):
                pld.system.wait(s, [p, 0], 1, cmp=pld.WaitCmp.Ge)

    @pl.function(type=pl.FunctionType.InCore)
    def k(self, d: pld.DistributedTensor[[4, 16], pl.FP32], s: pld.DistributedTensor[[4, 1], pl.INT32], x: pl.Tensor[[4, 16], pl.FP32]):
        ctx = pld.get_comm_ctx(d)
        right = (pld.rank(ctx) + 1) % pld.nranks(ctx)
        pld.tensor.put(d, right, x)
        self.meet(s)
        return d
"""


@pytest.mark.parametrize(
    "order", [["inline_functions"], ["convert_to_ssa", "inline_functions"], ["inline_functions", *FRONT[1:], *FLAT]], ids=len
)
def test_inlined_helpers_mean_the_same(order: list[str]) -> None:
    node: Any = parse(INLINED)
    after = through(node, *order)
    assert [f.name for f in after.functions.values()] == ["k"]
    for ranks in (1, 2, 4):
        inputs = [None, None, [np.full((4, 16), r, np.float32) for r in range(ranks)]]
        found = run(after, *inputs, ranks=ranks)
        for rank, window in enumerate(found):
            np.testing.assert_array_equal(window, np.full((4, 16), (rank - 1) % ranks, np.float32))
    assert_same_meaning(through(node, "inline_functions"), after, ranks=(2, 3), schedules=("round_robin", "random:1"), check=True)


def test_helpers_of_the_reader() -> None:
    node: Any = parse("""
@pl.inline
def publish(d, x, s, peer):
    pld.tensor.put(d, peer, x)
    pld.system.notify(s, peer, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
    return peer


@pl.function(type=pl.FunctionType.InCore)
def k(d: pld.DistributedTensor[[4, 16], pl.FP32], s: pld.DistributedTensor[[4, 1], pl.INT32], x: pl.Tensor[[4, 16], pl.FP32]):
    first = publish(d, x, s, 0)
    second = publish(d, x, s, first + 1)
    return d
""")
    assert_roundtrip(node)
    names = [c.op.name for stmt in statements(node.body) for c in nodes(held(stmt)) if isinstance(c, Call)]
    assert names == ["pld.tensor.put", "pld.system.notify"] * 2


# -- whole programs ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_a_hand_written_exchange_means_the_same_after_passes(ranks: int) -> None:
    node: Any = parse("""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self, x: pl.Tensor[[1, 16], pl.FP32], d: pld.DistributedTensor[[4, 16], pl.FP32], s: pld.DistributedTensor[[4, 1], pl.INT32]
    ) -> pld.DistributedTensor[[4, 16], pl.FP32]:
        ctx = pld.get_comm_ctx(d)
        n = pld.nranks(ctx)
        r = pld.rank(ctx)
        mine = pl.load(x, [0, 0], [1, 16])
        for e in pl.range(2):
            scaled = pl.mul(mine, 2.0)
            for p in pl.range(n):
                pld.remote_store(scaled, d, peer=p, offsets=[r, 0], atomic=pld.AtomicType.Add)
                if p != r:
                    pld.system.notify(s, peer=p, offsets=[r, 0], value=e + 1, op=pld.NotifyOp.Set)
            for p in pl.range(n):
                if p != r:
                    pld.system.wait(s, [p, 0], e + 1, cmp=pld.WaitCmp.Ge)
        return d
""")
    x = [np.random.default_rng(r).integers(-4, 5, (1, 16)).astype(np.float32) for r in range(ranks)]
    expected = np.zeros((4, 16), np.float32)
    expected[:ranks] = 4 * np.concatenate(x)
    after = through(node, *FRONT, *FLAT)
    for candidate in (node, after):
        for schedule in ("round_robin", "greedy", "random:3"):
            for window in run(candidate, x, None, None, ranks=ranks, schedule=schedule):
                np.testing.assert_array_equal(window, expected)
