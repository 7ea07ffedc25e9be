"""Distributed programs print completely and read back: every operator, hidden and explicit names of windows, contexts, views, wrappers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pypto import ir, passes
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, Level, MemorySpace, Role, TensorLayout
from pypto.ir.equality import structural_equal
from pypto.ir.expr import Call, ConstInt, MakeTuple, Var, index_const
from pypto.ir.function import Function, Program
from pypto.ir.op import create_op_call
from pypto.ir.stmt import AssignStmt, EvalStmt, ReturnStmt, Stmt, body_of
from pypto.ir.types import DistributedTensorType, PtrType, ScalarType, TensorType, TensorView, TileType
from pypto.parser import parse

FP32, FP16, INT32, INDEX = DataType.FP32, DataType.FP16, DataType.INT32, DataType.INDEX
OPTIONS = [dict(zip(("sugar", "format", "concise"), o, strict=True)) for o in itertools.product((True, False), repeat=3)]


def check(node: Any) -> None:
    """Every way of printing reads back, strictly equal, and prints the same again."""
    for options, prefix in itertools.product(OPTIONS, ("pl", "lang")):
        text = ir.python_print(node, prefix=prefix, **options)
        again = parse(text, strict=True)
        assert structural_equal(node, again, strict=True), text
        assert ir.python_print(again, prefix=prefix, **options) == text


def lines(node: Any, **options: Any) -> list[str]:
    """The statements of a function as text."""
    text = ir.python_print(node, format=False, **options)
    return [line.strip() for line in text.split("\n") if line.startswith("    ")]


D = Var("d", DistributedTensorType([4, 16], FP32))
E = Var("e", DistributedTensorType([4, 16], FP32))
S = Var("s", DistributedTensorType([4, 1], INT32))
GOT = Var("got", DistributedTensorType([4, 1], INT32))
H = Var("h", DistributedTensorType([1, 17], FP16))
X = Var("x", TensorType([4, 16], FP32))
ROW = Var("row", TensorType([1, 16], FP32))
SENT = Var("sent", TensorType([4], INT32))
ME = Var("me", ScalarType(INDEX))
SMALL = Var("small", ScalarType(INT32))
T = Var("t", TileType([1, 16], FP32, None, None, MemorySpace.Vec))
T2 = Var("t2", TileType([1, 16], FP32, None, None, MemorySpace.Vec))
PARAMS = [D, E, S, GOT, H, X, ROW, SENT, ME, SMALL, T, T2]
ONE = index_const(1)


def cell(*entries: Any) -> MakeTuple:
    return MakeTuple([index_const(e) if isinstance(e, int) else e for e in entries])


AREA = [cell(0, 0), cell(1, 0), cell(1, 16)]


def op(path: str, args: Sequence[Any], /, **kwargs: Any) -> Call:
    return create_op_call(f"pld.{path}", [*args], kwargs)


def kernel(*calls: Call) -> Function:
    stmts: list[Stmt] = [EvalStmt(c) for c in calls]
    return Function("f", PARAMS, [], body_of(stmts), type=FunctionType.InCore)


# -- every operator --------------------------------------------------------------------------------------------------------------

ORDINARY: list[tuple[Callable[[], Call], str]] = [
    (lambda: op("system.notify", [S, ME, cell(ME, 0), SMALL], op=1), "pld.system.notify(s, me, [me, 0], small, op=1)"),
    (lambda: op("system.notify", [S, ONE, cell(0, 0), ONE], op=0), "pld.system.notify(s, 1, [0, 0], 1, op=0)"),
    (
        lambda: op("system.notify", [S, ConstInt(1, INT32), cell(0, 0), ConstInt(-2, INT32)], op=0),
        "pld.system.notify(s, pl.const(1, pl.INT32), [0, 0], pl.const(-2, pl.INT32), op=0)",
    ),
    (lambda: op("system.wait", [S, cell(ME, 0), SMALL], cmp=0), "pld.system.wait(s, [me, 0], small, cmp=0)"),
    (lambda: op("system.defer_wait", [S, cell(ME, 0), ONE], cmp=1), "pld.system.defer_wait(s, [me, 0], 1, cmp=1)"),
    (lambda: op("tile.remote_load", [D, ME, cell(0, 0), cell(1, 16)]), "pld.tile.remote_load(d, me, [0, 0], [1, 16])"),
    (
        lambda: op("tile.remote_load", [D, ME, cell(0, 0), cell(1, 16), cell(1, ME)]),
        "pld.tile.remote_load(d, me, [0, 0], [1, 16], [1, me])",
    ),
    (
        lambda: op("tile.remote_load", [H, ME, cell(0, 0), cell(1, 32), cell(1, 32)], allow_physical_tail_padding=True),
        "pld.tile._remote_load_with_physical_tail_padding(h, me, [0, 0], [1, 32], [1, 32])",
    ),
    (lambda: op("tile.remote_store", [T, D, ONE, cell(0, 0)]), "pld.tile.remote_store(t, d, 1, [0, 0])"),
    (lambda: op("tile.remote_store", [T, D, ONE, cell(0, 0)], atomic=1), "pld.tile.remote_store(t, d, 1, [0, 0], atomic=1)"),
    (lambda: op("tensor.remote_store", [X, D, ONE, cell(0, 0)]), "pld.tensor.remote_store(x, d, 1, [0, 0])"),
    (lambda: op("tensor.put", [D, ONE, X], atomic=0), "pld.tensor.put(d, 1, x, atomic=0)"),
    (
        lambda: op("tensor.put", [D, ONE, X, *AREA], atomic=1, chunk_rows=1, chunk_cols=8, pipeline=True),
        "pld.tensor.put(d, 1, x, [0, 0], [1, 0], [1, 16], atomic=1, chunk_rows=1, chunk_cols=8, pipeline=True)",
    ),
    (lambda: op("tensor.get", [X, ONE, D]), "pld.tensor.get(x, 1, d)"),
    (
        lambda: op("tensor.get", [X, ONE, D, *AREA], chunk_rows=1),
        "pld.tensor.get(x, 1, d, [0, 0], [1, 0], [1, 16], chunk_rows=1)",
    ),
    (lambda: op("tile.put", [D, ONE, X, T], atomic=0), "pld.tile.put(d, 1, x, t, atomic=0)"),
    (lambda: op("tile.put", [D, ONE, X, T, T2], atomic=0), "pld.tile.put(d, 1, x, t, t2, atomic=0)"),
    (lambda: op("tile.put", [D, ONE, X, T, *AREA], atomic=1), "pld.tile.put(d, 1, x, t, [0, 0], [1, 0], [1, 16], atomic=1)"),
    (
        lambda: op("tile.put", [D, ONE, X, T, *AREA, T2], atomic=0),
        "pld.tile.put(d, 1, x, t, [0, 0], [1, 0], [1, 16], t2, atomic=0)",
    ),
    (lambda: op("tile.get", [X, ONE, D, T]), "pld.tile.get(x, 1, d, t)"),
    (lambda: op("tile.get", [X, ONE, D, T, T2]), "pld.tile.get(x, 1, d, t, t2)"),
    (lambda: op("tile.get", [X, ONE, D, T, *AREA]), "pld.tile.get(x, 1, d, t, [0, 0], [1, 0], [1, 16])"),
    (lambda: op("tile.get", [X, ONE, D, T, *AREA, T2]), "pld.tile.get(x, 1, d, t, [0, 0], [1, 0], [1, 16], t2)"),
    (
        lambda: op("tensor.allreduce", [D, S], op=3, mode="ring", core_num=4),
        'pld.tensor.allreduce(d, s, op=3, mode="ring", core_num=4)',
    ),
    (
        lambda: op("tensor.allreduce", [D], op=0, mode="mesh", core_num=1),
        'pld.tensor.allreduce(d, op=0, mode="mesh", core_num=1)',
    ),
    (lambda: op("tensor.barrier", [S]), "pld.tensor.barrier(s)"),
    (lambda: op("tensor.broadcast", [D, S], root=3), "pld.tensor.broadcast(d, s, root=3)"),
    (lambda: op("tensor.reduce_scatter", [D, S], op=0), "pld.tensor.reduce_scatter(d, s, op=0)"),
    (lambda: op("tensor.allgather", [ROW, D, S]), "pld.tensor.allgather(row, d, s)"),
    (lambda: op("tensor.allgather", [T, D, S]), "pld.tensor.allgather(t, d, s)"),
    (lambda: op("tensor.all_to_all", [E, D, S]), "pld.tensor.all_to_all(e, d, s)"),
    (lambda: op("tensor.all_to_all_v", [X, D, S, SENT, GOT]), "pld.tensor.all_to_all_v(x, d, s, sent, got)"),
    (
        lambda: op("system.rank", [op("system.get_comm_ctx", [D])]),
        "pld.system.rank(pld.system.get_comm_ctx(d))",
    ),
    (
        lambda: op("system.nranks", [op("system.get_comm_ctx", [D])]),
        "pld.system.nranks(pld.system.get_comm_ctx(d))",
    ),
]


@pytest.mark.parametrize(("make", "text"), ORDINARY, ids=[t for _, t in ORDINARY])
def test_the_text_of_a_call(make: Callable[[], Call], text: str) -> None:
    function = kernel(make())
    assert lines(function)[-1] == text
    assert lines(function, sugar=False)[-1] == text
    assert lines(function, prefix="lang")[-1] == text.replace("pl.const", "lang.const").replace("pl.INT32", "lang.INT32")
    check(function)
    assigned = make()
    if not isinstance(assigned.type, ir.UnknownType):
        check(function.replace(body=AssignStmt(Var("y", assigned.type), assigned)))


@pytest.mark.parametrize(("make", "text"), ORDINARY, ids=[t for _, t in ORDINARY])
def test_attributes(make: Callable[[], Call], text: str) -> None:
    attrs = {"note": "a\"b'\n", "count": 3, "who": ME, "both": [D, E], "kind": FP32, "none": [], "far": 1e300}
    function = kernel(make().replace(attrs=attrs))
    gap = "" if text.endswith("()") else ", "
    assert lines(function)[-1].startswith(f"{text[:-1]}{gap}attrs={{")
    check(function)


UNUSUAL: list[tuple[Callable[[], Call], str]] = [
    # a value that reading would convert
    (lambda: op("system.notify", [S, ONE, cell(0, 0), ME], op=1), 'kwargs={"op": 1}'),
    (lambda: op("system.wait", [S, cell(0, 0), ME], cmp=1), 'kwargs={"cmp": 1}'),
    # a keyword that is stored although it says the default, or that is not although it always is
    (lambda: op("tile.remote_store", [T, D, ONE, cell(0, 0)], atomic=0), 'kwargs={"atomic": 0}'),
    (lambda: op("tensor.put", [D, ONE, X]), "type=pl.UnknownType"),
    (lambda: op("tensor.put", [D, ONE, X], atomic=0, pipeline=False), 'kwargs={"atomic": 0, "pipeline": False}'),
    (lambda: op("tile.put", [D, ONE, X, T, *AREA, T2]), "type=pl.UnknownType"),
    (lambda: op("tensor.allreduce", [D, S], op=2), 'kwargs={"op": 2}'),
    (
        lambda: op("tile.remote_load", [H, ONE, cell(0, 0), cell(1, 16)], allow_physical_tail_padding=False),
        'kwargs={"allow_physical_tail_padding": False}',
    ),
]


@pytest.mark.parametrize(("make", "part"), UNUSUAL, ids=[str(i) for i in range(len(UNUSUAL))])
def test_what_the_short_spelling_would_change_is_written_out(make: Callable[[], Call], part: str) -> None:
    function = kernel(make())
    text = lines(function)[-1]
    assert text.startswith('pl.expr.call("pld.')
    assert part in text
    check(function)


def test_keywords_in_another_order() -> None:
    """Their order is part of the text, not of the meaning; it is kept."""
    made = op("tensor.allreduce", [D, S], core_num=1, mode="mesh", op=0)
    again = parse(ir.python_print(kernel(made)))
    assert ir.structural_equal(again, kernel(made))


def test_lists_longer_than_a_line() -> None:
    calls = [op("tile.put", [D, ME + ME * 1000000, X, T, cell(ME + 1, 0), cell(ME * ME, 0), cell(1, 16), T2], atomic=0)] * 2
    function = kernel(*calls)
    for width in (20, 40, 80, 200):
        text = ir.python_print(function, line_length=width)
        assert structural_equal(parse(text), function, strict=True)


# -- names of windows ------------------------------------------------------------------------------------------------------------


def allocation(name: str) -> Call:
    return op("tensor.alloc_window_buffer", [index_const(64)], name=name)


def window(buffer: Any) -> Call:
    return op("tensor.window", [buffer, cell(16)], dtype=FP32)


def pointer(name: str) -> Var:
    return Var(name, PtrType())


def host(*stmts: Stmt) -> Function:
    return Function("host", [], [], body_of([*stmts]), level=Level.HOST, role=Role.Orchestrator)


NAMES = [
    ([("buf", "buf")], ["buf: pl.Ptr = pld.tensor.alloc_window_buffer(64)"]),
    ([("buf__ssa_v1", "buf")], ['buf__ssa_v1: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="buf")']),
    (
        [("buf", "buf"), ("buf", "buf")],
        [
            "buf: pl.Ptr = pld.tensor.alloc_window_buffer(64)",
            'buf_1: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="buf")',
        ],
    ),
    (
        [("buf", "buf_1"), ("buf", "buf_1")],
        [
            'buf: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="buf_1")',
            "buf_1: pl.Ptr = pld.tensor.alloc_window_buffer(64)",
        ],
    ),
    (
        [("a", "b"), ("b", "a")],
        [
            'a: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="b")',
            'b: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="a")',
        ],
    ),
    ([("if", "if")], ['if_1: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="if")']),
    ([("a b", "a b")], ['a_b: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="a b")']),
    ([("pld", "pld")], ['pld_1: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="pld")']),
    ([("q", 'q"\\\n\t€')], ["q: pl.Ptr = pld.tensor.alloc_window_buffer(64, name='q\"\\\\\\n\\t€')"]),
    ([("é", "é")], ["é: pl.Ptr = pld.tensor.alloc_window_buffer(64)"]),
    ([("", "x")], ['v: pl.Ptr = pld.tensor.alloc_window_buffer(64, name="x")']),
]


@pytest.mark.parametrize(("pairs", "expected"), NAMES, ids=[str(p) for p, _ in NAMES])
def test_a_name_is_hidden_when_the_variable_says_it(pairs: list[tuple[str, str]], expected: list[str]) -> None:
    function = host(*[AssignStmt(pointer(var), allocation(name)) for var, name in pairs])
    assert lines(function) == expected
    check(function)
    check(Program([function], "P"))


def test_only_the_assigned_call_hides_its_name() -> None:
    nested = window(allocation("w"))
    function = host(
        AssignStmt(Var("w", nested.type), nested),
        EvalStmt(allocation("lost")),
        ReturnStmt([allocation("given"), window(allocation("inner"))]),
    )
    assert lines(function) == [
        'w: pld.DistributedTensor[[16], pl.FP32] = pld.tensor.window(pld.tensor.alloc_window_buffer(64, name="w"), [16], dtype=pl.FP32)',
        'pld.tensor.alloc_window_buffer(64, name="lost")',
        'return pld.tensor.alloc_window_buffer(64, name="given"), '
        'pld.tensor.window(pld.tensor.alloc_window_buffer(64, name="inner"), [16], dtype=pl.FP32)',
    ]
    check(function)


def test_the_same_name_in_two_functions() -> None:
    one, other = [host(AssignStmt(pointer("buf"), allocation("buf"))) for _ in range(2)]
    check(Program([one, other.replace(name="other")], "P"))


ALLOCATING = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Inline, level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def make(self) -> pld.DistributedTensor[[16], pl.FP32]:
        room = pld.alloc_window_buffer(64)
        w = pld.window(room, [16], dtype=pl.FP32)
        return w

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, d: pld.DistributedTensor[[16], pl.FP32]):
        return d

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, b: pl.Scalar[pl.BOOL]):
        for i in pl.unroll(2):
            q = pld.alloc_window_buffer(64)
            w = pld.window(q, [16], dtype=pl.FP32)
            self.chip(w, device=i)
        if b:
            z = pld.alloc_window_buffer([4, 4], dtype=pl.FP32)
        else:
            y = pld.alloc_window_buffer(pld.world_size() * 4)
        one = self.make()
        two = self.make()
        self.chip(one, device=0)
        self.chip(two, device=pld.world_size() - 1)
"""
ORDERS = [
    ["inline_functions", "unroll_loops", "convert_to_ssa", "simplify", "flatten_call_expr"],
    ["convert_to_ssa", "flatten_call_expr", "inline_functions", "unroll_loops", "simplify"],
    ["unroll_loops", "convert_to_ssa", "normalize_stmt_structure", "inline_functions", "simplify"],
]


@pytest.mark.parametrize("order", ORDERS, ids=["-".join(o) for o in ORDERS])
def test_names_stay_with_their_windows_through_passes(order: list[str]) -> None:
    program: Any = parse(ALLOCATING)
    check(program)
    for name in order:
        program = getattr(passes, name)()(program)
        check(program)
    stmts = ir.flatten_to_stmts(program.get_function("host").body)
    text = "\n".join(lines(program))
    assert text.count('name="q"') == 1
    assert text.count('name="room"') == 1
    assert len(stmts) > 8


def test_domains_refer_to_windows_by_their_printed_names() -> None:
    program: Any = parse("""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, d: pld.DistributedTensor[[16], pl.FP32]):
        return d

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self):
        for i in pl.unroll(2):
            q = pld.alloc_window_buffer(64)
            w = pld.window(q, [16], dtype=pl.FP32)
            self.chip(w, device=i)
""")
    for name in ("unroll_loops", "convert_to_ssa", "materialize_comm_domain_scopes"):
        program = getattr(passes, name)()(program)
        check(program)
    text = ir.python_print(program)
    assert 'windows=["q"]' in text
    assert 'windows=["q_1"]' in text
    assert 'pld.tensor.alloc_window_buffer(64, name="q")' in text
    assert 'pld.WindowBuffer("q_1")' in text


# -- signatures ------------------------------------------------------------------------------------------------------------------

SIGNATURES = """
ROWS = pl.dynamic("ROWS")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(
        self,
        a: pld.DistributedTensor[[4, 16], pl.FP32],
        b: pl.InOut[pld.DistributedTensor[[4, 16], pl.FP32]],
        c: pl.Out[pld.DistributedTensor[[4, 16], pl.FP32]],
        v: pld.DistributedTensor[[4, 16], pl.FP32, pl.TensorView(valid_shape=[2, 16], stride=[16, 1], layout=pl.TensorLayout.ND)],
        n: pld.DistributedTensor[[16, 16], pl.FP16, pl.NZ],
        free: pld.DistributedTensor[[ROWS, 16], pl.FP32],
        ctx: pld.CommCtx,
        ctx2: pld.CommCtxType,
    ) -> tuple[pld.DistributedTensor[[4, 16], pl.FP32], pl.Scalar[pl.INT32], pld.CommCtx]:
        r: pl.Scalar[pl.INT32] = pld.rank(ctx)
        t = pld.remote_load(v, pld.nranks(ctx2) - 1, [0, 0], [4, 16])
        pld.remote_store(t, c, r, [0, 0])
        pld.remote_store(t, b, 0, [0, 0], atomic=pld.AtomicType.Add)
        return b, r, ctx

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(
        self,
        a: pld.DistributedTensor[[4, 16], pl.FP32],
        c: pl.Out[pld.DistributedTensor[[4, 16], pl.FP32]],
        v: pld.DistributedTensor[[4, 16], pl.FP32, pl.TensorView(valid_shape=[2, 16], stride=[16, 1], layout=pl.TensorLayout.ND)],
        n: pld.DistributedTensor[[16, 16], pl.FP16, pl.NZ],
        free: pld.DistributedTensor[[ROWS, 16], pl.FP32],
    ):
        here = pld.get_comm_ctx(a)
        x, y, z = self.k(a, a, c, v, n, free, here, here)
        with pl.manual_scope():
            (p, q, w), task = pl.submit(self.k, a, x, c, v, n, free, z, here)
        return p
"""


def test_parameters_and_results() -> None:
    program: Any = parse(SIGNATURES)
    check(program)
    text = ir.python_print(program, format=False)
    assert "ctx: pld.CommCtxType, ctx2: pld.CommCtxType) -> tuple[pld.DistributedTensor[[4, 16], pl.FP32]" in text
    assert "b: pl.InOut[pld.DistributedTensor[[4, 16], pl.FP32]], c: pl.Out[pld.DistributedTensor[" in text
    for name in ("flatten_call_expr", "convert_to_ssa", "simplify", "normalize_stmt_structure"):
        program = getattr(passes, name)()(program)
        check(program)


@pytest.mark.parametrize(
    "view",
    [
        None,
        TensorView(layout=TensorLayout.NZ),
        TensorView([1, 4], TensorLayout.DN),
        TensorView([32, 1], TensorLayout.ND, [2, 16]),
        TensorView([], TensorLayout.ND, [ME, 16]),
    ],
)
def test_views_of_windows(view: TensorView | None) -> None:
    type_ = DistributedTensorType([4, 16], FP32, None, view)
    window_ = Var("w", type_)
    call = op("tensor.broadcast", [window_, S], root=0)
    function = Function("f", [ME, S, window_], [type_], AssignStmt(Var("y", type_), call), type=FunctionType.InCore)
    check(function)


def test_explicit_layout() -> None:
    text = ir.python_print(parse(SIGNATURES), explicit_layout=True)
    assert structural_equal(parse(text), parse(SIGNATURES))
