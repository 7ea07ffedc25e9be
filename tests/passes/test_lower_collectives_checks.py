"""The checks of the lowering rules, row by row: class, place, words and hint; which comes first; and what only a broken pass can cause."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto.diagnostics import Diagnostic, InternalError, InvalidValueError
from pypto.ir.types import TensorView

lower = passes.lower_composite_ops
PLACE = ir.Span("kernel.py", 31, 12, 31, 40)
WHERE = ir.Span("kernel.py", 31, 5, 31, 40)


def window(*shape: Any, dtype: Any = ir.FP32, name: str = "data", **view: Any) -> ir.Var:
    stated = TensorView(**{"layout": ir.TensorLayout.ND, **view}) if view else None
    return ir.Var(name, ir.DistributedTensorType([*shape], dtype, None, stated))


def signal(*shape: Any, dtype: Any = ir.INT32) -> ir.Var:
    return window(*shape, dtype=dtype, name="signal")


def plain(*shape: Any, dtype: Any = ir.FP32) -> ir.Var:
    return ir.Var("x", ir.TensorType([*shape], dtype))


def called(leaf: str, args: Sequence[ir.Var], **kwargs: Any) -> ir.Call:
    """A call as a pass could leave it, without the operator's own checks."""
    return ir.Call(ir.get_op(f"pld.tensor.{leaf}"), args, kwargs, args[0].type, PLACE)


def reduced(*args: ir.Var, **kwargs: Any) -> ir.Call:
    return called("allreduce", args, **{"op": 0, "mode": "mesh", "core_num": 1, **kwargs})


def program(call: ir.Call, position: str = "assigned", loops: str = "") -> ir.Program:
    """A kernel that makes the call: assigned, bare or returned, inside loops of the given kinds (f, w, or i for a branch)."""
    result = ir.Var("out", call.type)
    stmt: ir.Stmt = {
        "assigned": ir.AssignStmt(result, call, WHERE),
        "bare": ir.EvalStmt(call, WHERE),
        "returned": ir.ReturnStmt([call], WHERE),
    }[position]
    for kind in reversed(loops):
        zero, one = ir.ConstInt(0, ir.INDEX), ir.ConstInt(1, ir.INDEX)
        counter = ir.Var("i", ir.ScalarType(ir.INDEX))
        stmt = {
            "f": lambda body, i=counter, a=zero, b=one: ir.ForStmt(i, a, b, b, [], body, [], WHERE),
            "w": lambda body, a=zero, b=one: ir.WhileStmt(ir.lt(a, b), [], body, [], WHERE),
            "i": lambda body, a=zero, b=one: ir.IfStmt(ir.lt(a, b), body, None, [], WHERE),
        }[kind](stmt)
    args = [a for a in call.args if isinstance(a, ir.Var)]
    return ir.Program([ir.Function("kernel", args, [], stmt, type=ir.FunctionType.InCore)], "P")


def refused(made: ir.Program, words: str, hint: str | None = None, signals: str = "single_shot") -> Diagnostic:
    with pytest.raises(InvalidValueError, match=words) as caught:
        lower(signals=signals)(made)
    found = caught.value.diagnostic
    assert isinstance(caught.value, ValueError)
    assert found.span.filename == "kernel.py"
    assert (found.span.begin_line, found.span.begin_column) == (31, 12), "the place of the call, not of its statement"
    assert "LowerCompositeOps" in str(caught.value)
    if hint is not None:
        assert hint in str(caught.value)
    return found


def broken(made: ir.Program, words: str) -> None:
    with pytest.raises(InternalError, match=words):
        lower()(made)


D, S, R = window(1, 16), signal(2, 1), signal(2, 2)


# -- loops ---------------------------------------------------------------------------------------------------------------------------


def all_to_all_v() -> ir.Call:
    args = [plain(8, 8), window(8, 8), signal(2, 1), plain(2, dtype=ir.INT32), signal(2, 1)]
    made = ir.create_op_call("pld.tensor.all_to_all_v", args, {})
    return ir.Call(made.op, args, {}, made.type, PLACE)


@pytest.mark.parametrize("loops", ["f", "w", "if", "fi", "wi", "ifi", "ff", "fw", "fiwi"])
@pytest.mark.parametrize("position", ["assigned", "bare", "returned"])
@pytest.mark.parametrize("call", [lambda: reduced(D, S), lambda: reduced(D, R, mode="ring"), all_to_all_v])
def test_not_in_loops_with_single_shot_signals(call: Callable[[], ir.Call], position: str, loops: str) -> None:
    refused(program(call(), position, loops), "not supported inside a for/while loop", "signals='credit'")
    assert lower(signals="credit")(program(call(), position, loops)) is not None


@pytest.mark.parametrize("call", [lambda: reduced(D, S), all_to_all_v])
@pytest.mark.parametrize("loops", ["", "i", "ii"])
def test_branches_are_no_loops(call: Callable[[], ir.Call], loops: str) -> None:
    assert "pld.tensor" not in lower()(program(call(), "assigned", loops)).as_python()


@pytest.mark.parametrize("call", [reduced(D), reduced(D, S, mode="tree"), reduced(D, S, core_num=2)])
def test_the_loop_is_seen_first(call: ir.Call) -> None:
    refused(program(call, "bare", "f"), "not supported inside a for/while loop")


def test_a_loop_beside_the_call_is_no_loop_around_it() -> None:
    zero, one = ir.ConstInt(0, ir.INDEX), ir.ConstInt(1, ir.INDEX)
    empty = ir.ForStmt(ir.Var("i", ir.ScalarType(ir.INDEX)), zero, one, one, [], ir.SeqStmts([]), [])
    made = program(reduced(D, S))
    (function,) = made.functions.values()
    body = ir.SeqStmts([empty, function.body, empty])
    assert lower()(ir.Program([function.replace(body=body)], "P")) is not None


# -- allreduce, in the order of the checks ---------------------------------------------------------------------------------------------

DN = {"layout": ir.TensorLayout.DN}
GAPS = {"stride": [40, 1]}
NOT_ND, GAPPED = window(4, 32, **DN), window(4, 32, **GAPS)


@pytest.mark.parametrize("position", ["assigned", "bare", "returned"])
def test_the_signal_must_be_given(position: str) -> None:
    refused(program(reduced(D), position), "explicit signal", "second argument")


@pytest.mark.parametrize("mode", ["mesh", "ring"])
@pytest.mark.parametrize(
    ("target", "words"),
    [
        (NOT_ND, "only supports ND layout"),
        (window(4, 32, valid_shape=[1, 32], **DN), "only supports ND layout"),
        (window(4, 32, layout=ir.TensorLayout.NZ), "only supports ND layout"),
        (GAPPED, "packed source"),
        (window(4, 32, stride=[32]), "packed source"),
        (window(4, 32, stride=[1, 4]), "packed source"),
        (window(4, 32, stride=[40, 1], valid_shape=[1, 32]), "packed source"),
    ],
)
def test_views_of_targets(target: ir.Var, words: str, mode: str) -> None:
    refused(program(reduced(target, S if mode == "mesh" else R, mode=mode)), words)


def symbolic(*names: str) -> list[ir.Var]:
    return [ir.Var(n, ir.ScalarType(ir.INDEX)) for n in names]


def test_packed_strides_are_accepted_also_symbolic_ones() -> None:
    n, m = symbolic("n", "m")
    for shape, stride in [([4, 32], [32, 1]), ([2, 4, 32], [128, 32, 1]), ([4, n, m], [n * m, m, 1]), ([16], [1])]:
        for mode in ("mesh", "ring"):
            call = reduced(window(*shape, stride=stride), S if mode == "mesh" else R, mode=mode)
            assert lower()(program(call)) is not None
    refused(program(reduced(window(4, n, m, stride=[n * n, m, 1]), S)), "packed source")


@pytest.mark.parametrize("kwargs", [{}, {"mode": "ring"}])
def test_several_cores_are_for_hosts(kwargs: dict[str, Any]) -> None:
    refused(program(reduced(D, S, core_num=2, **kwargs)), "core_num only in host orchestrators", "one core")


@pytest.mark.parametrize("mode", ["tree", "", "Mesh"])
def test_the_mode(mode: str) -> None:
    refused(program(reduced(D, S, mode=mode)), f"mode must be 'mesh' or 'ring', got '{mode}'")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (reduced(NOT_ND, S, core_num=2, mode="tree"), "ND layout"),
        (reduced(window(4, 32, layout=ir.TensorLayout.DN, stride=[40, 1]), S), "ND layout"),
        (reduced(GAPPED, S, core_num=2, mode="tree"), "packed source"),
        (reduced(D, R, core_num=2, mode="tree"), "core_num"),
        (reduced(D, R, mode="tree"), "mode must be"),
    ],
)
def test_one_fault_at_a_time_in_the_order_of_the_table(call: ir.Call, words: str) -> None:
    refused(program(call), words)


def test_a_missing_or_unknown_reduction_is_a_fault_of_a_pass() -> None:
    for wrong in ({"op": 7}, {"op": -1}, {"op": "sum"}):
        broken(program(reduced(D, S, core_num=2, **wrong)), "reduction")
    bare = ir.Call(ir.get_op("pld.tensor.allreduce"), [D, S], {"mode": "mesh"}, D.type, PLACE)
    broken(program(bare), "reduction None")


@pytest.mark.parametrize("leaf", ["allreduce", "reduce_scatter", "broadcast"])
def test_a_target_outside_of_windows_is_a_fault_of_a_pass(leaf: str) -> None:
    broken(program(called(leaf, [plain(2, 16), S], op=0, root=0, mode="mesh", core_num=1)), "no distributed tensor")


@pytest.mark.parametrize("leaf", ["allgather", "all_to_all", "all_to_all_v"])
def test_so_is_a_target_to_push_to(leaf: str) -> None:
    count = 5 if leaf == "all_to_all_v" else 3
    args = [plain(2, 16), plain(2, 16), S, plain(2, dtype=ir.INT32), signal(2, 1)][:count]
    broken(program(called(leaf, args)), "no distributed tensor")


# -- mesh ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [D, window(4, 6, 8, valid_shape=[1, 6, 5])])
@pytest.mark.parametrize("shape", [[2, 2], [2], [2, 1, 1], [6, 4]])
def test_the_signal_of_a_mesh(shape: list[int], target: ir.Var) -> None:
    refused(program(reduced(target, signal(*shape))), r"signal shape\[1\] must be 1", "[ranks, 1]")


def test_symbolic_columns_of_the_signal_of_a_mesh_are_accepted() -> None:
    n, m = symbolic("n", "m")
    assert lower()(program(reduced(D, signal(n, m)))) is not None


@pytest.mark.parametrize(
    ("shape", "valid"),
    [([4, 6, 8], [2, 3, 8]), ([4, 6, 8], [2, 5, 1]), ([2, 4, 6, 8], [1, 2, 5, 8]), ([2, 4, 6, 8], [2, 3, 6, 8])],
)
def test_rectangles_that_are_none(shape: list[int], valid: list[int]) -> None:
    refused(program(reduced(window(*shape, valid_shape=valid), S)), "cannot be represented by a single 2D view", "whole rows")


@pytest.mark.parametrize(
    ("shape", "valid", "view", "box"),
    [
        ([4, 6, 8], [1, 6, 5], [24, 8], [6, 5]),
        ([4, 6, 8], [1, 3, 8], [24, 8], [3, 8]),
        ([4, 6, 8], [3, 6, 1], [24, 8], [18, 1]),
        ([4, 1, 6, 8], [2, 1, 6, 5], [24, 8], [12, 5]),
        ([4, 6, 8], [1, 1, 8], [24, 8], [1, 8]),
        ([4, 6, 8], [4, 6, 7], [24, 8], [24, 7]),
        ([48], [5], [1, 48], [1, 5]),
        ([3, 9], [2, 4], [3, 9], [2, 4]),
    ],
)
def test_rectangles(shape: list[int], valid: list[int], view: list[int], box: list[int]) -> None:
    text = lower()(program(reduced(window(*shape, valid_shape=valid), S))).as_python()
    assert f"pl.tensor.view(data, {view}, {box})" in text
    assert f", [0, 0], {box}, {box}" in text


@pytest.mark.parametrize(
    ("shape", "valid", "dtype"),
    [
        ([2, 65537], [1, 65537], ir.FP32),
        ([3, 70000], [1, 70000], ir.FP32),
        ([2, 4097], [1, 4097], ir.FP32),
        ([65, 64], [65, 64 - 1], ir.FP32),
        ([2, 8193], [1, 8193], ir.FP16),
    ],
)
def test_rectangles_beyond_one_chunk(shape: list[int], valid: list[int], dtype: Any) -> None:
    if shape == [65, 64]:  # the last element that fits, and one row more
        assert lower()(program(reduced(window(*shape, valid_shape=valid), S))) is not None
        valid = [65, 64]
        shape = [66, 64]
    refused(program(reduced(window(*shape, dtype=dtype, valid_shape=valid), S)), "16384-byte mesh chunk", "smaller part")


def test_rectangles_of_symbolic_extents_take_the_whole_shape_or_are_refused() -> None:
    (k,) = symbolic("k")
    assert lower()(program(reduced(window(48, 48, valid_shape=[1, k]), S))) is not None
    assert lower()(program(reduced(window(64, 64, valid_shape=[k, 64]), S))) is not None
    refused(program(reduced(window(65, 64, valid_shape=[k, 64]), S)), "16384-byte mesh chunk")
    refused(program(reduced(window(k, 64, valid_shape=[1, k]), S)), "16384-byte mesh chunk")


def test_a_valid_shape_of_another_rank() -> None:
    refused(program(reduced(window(4, 6, 8, valid_shape=[6, 5]), S)), "another rank")


# -- ring ----------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "words", "hint"),
    [
        (plain(2, 2, dtype=ir.INT32), "needs a DistributedTensor as signal", None),
        (signal(4), "needs a 2D signal, got one of 1", "[2 * (ranks - 1), ranks]"),
        (signal(2, 2, 1), "needs a 2D signal, got one of 3", None),
        (signal(2, 2, dtype=ir.FP32), "needs an INT32 signal, got FP32", None),
        (signal(5, 4), r"must equal 2 \* \(shape\[1\] - 1\) = 6, got 5", "a row for each step"),
        (signal(7, 4), r"must equal 2 \* \(shape\[1\] - 1\) = 6, got 7", None),
        (signal(2, 1), "at least two ranks", "a column for each rank"),
    ],
)
def test_the_signal_of_a_ring(made: ir.Var, words: str, hint: str | None) -> None:
    refused(program(reduced(D, made, mode="ring")), words, hint)


def test_symbolic_signals_of_a_ring_are_accepted() -> None:
    n, m = symbolic("n", "m")
    for shape in ([6, 4], [n, 4], [6, n], [n, m]):
        assert lower()(program(reduced(D, signal(*shape), mode="ring"))) is not None


@pytest.mark.parametrize(
    ("shape", "valid"),
    [([4, 6, 8], [1, 6, 5]), ([4, 6, 8], [2, 3, 8]), ([4, 6, 8], [1, 2, 5]), ([4, 6], [3, 5])],
)
def test_parts_that_are_no_prefix(shape: list[int], valid: list[int]) -> None:
    refused(program(reduced(window(*shape, valid_shape=valid), R, mode="ring")), "contiguous row-major prefix", "whole rows")


@pytest.mark.parametrize(
    ("shape", "valid", "physical", "logical"),
    [
        ([4, 6, 8], [1, 6, 8], 192, 48),
        ([4, 6, 8], [2, 6, 8], 192, 96),
        ([4, 6, 8], [1, 1, 5], 192, 5),
        ([4, 6, 8], [1, 3, 8], 192, 24),
        ([4, 6, 8], [1, 1, 1], 192, 1),
        ([48], [5], 48, 5),
    ],
)
def test_prefixes(shape: list[int], valid: list[int], physical: int, logical: int) -> None:
    text = lower()(program(reduced(window(*shape, valid_shape=valid), R, mode="ring"))).as_python()
    assert f"pl.tensor.view(data, [1, {physical}], [1, {logical}])" in text


def test_symbolic_prefixes() -> None:
    k, m = symbolic("k", "m")
    for shape, valid, view in [([4, 8], [k, 8], "[1, 32], [1, k * 8]"), ([4, m], [2, m], "[1, 4 * m], [1, 2 * m]")]:
        text = lower()(program(reduced(window(*shape, valid_shape=valid), R, mode="ring"))).as_python(format=False)
        assert f"pl.tensor.view(data, {view})" in text


# -- the others ----------------------------------------------------------------------------------------------------------------------


def made(leaf: str, *args: ir.Var, **kwargs: Any) -> ir.Call:
    """A call that the operator's own checks let through."""
    call = ir.create_op_call(f"pld.tensor.{leaf}", args, kwargs)
    return ir.Call(call.op, args, kwargs, call.type, PLACE)


@pytest.mark.parametrize(
    ("call", "words", "hint"),
    [
        (
            made("allgather", window(1, 16, name="x"), window(2, 16), S),
            "plain Tensor or a Tile as 'local_data' inside a kernel, not a DistributedTensor",
            "host orchestrators",
        ),
        (made("all_to_all", window(2, 16, name="x"), window(2, 16), S), "plain Tensor as 'input'", "host orchestrators"),
        (
            made("all_to_all_v", window(8, 8, name="x"), window(8, 8), S, plain(2, dtype=ir.INT32), signal(2, 1)),
            "plain Tensor as 'input'",
            "host orchestrators",
        ),
        (made("broadcast", window(symbolic("n")[0], 16), S, root=0), "target of constant shape", "stage"),
        (called("reduce_scatter", [window(2, 3, 16), S], op=0), "2-D target", "rows"),
        (called("allgather", [plain(1, 16), window(32), S]), "2-D target", "rows"),
        (called("all_to_all", [plain(2, 16), window(32), S]), "2-D target", "rows"),
        (
            called("all_to_all_v", [plain(8, 8), window(symbolic("n")[0], 8), S, plain(2, dtype=ir.INT32), signal(2, 1)]),
            "constant rows",
            "one block",
        ),
        (
            called("all_to_all_v", [plain(8, 8), window(8, 8), signal(symbolic("n")[0], 1), plain(2), signal(2, 1)]),
            "constant rows",
            "one block",
        ),
    ],
)
def test_what_the_other_rules_refuse(call: ir.Call, words: str, hint: str) -> None:
    for position in ("assigned", "bare", "returned"):
        refused(program(call, position), words, hint)


@pytest.mark.parametrize("shape", [[2], [2, 1, 1]])
@pytest.mark.parametrize(
    "call",
    [
        lambda s: called("barrier", [s]),
        lambda s: called("broadcast", [window(2, 16), s], root=0),
        lambda s: called("reduce_scatter", [window(2, 16), s], op=0),
        lambda s: called("allgather", [plain(1, 16), window(2, 16), s]),
        lambda s: called("all_to_all", [plain(2, 16), window(2, 16), s]),
    ],
)
def test_signals_have_two_dimensions_inside_kernels(call: Callable[[ir.Var], ir.Call], shape: list[int]) -> None:
    refused(program(call(signal(*shape))), "two dimensions inside a kernel, so that two offsets name a cell", "[ranks, 1]")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (called("broadcast", [window(2, 16), S]), "without a root"),
        (called("reduce_scatter", [window(2, 16), S], op=1), "another reduction than Sum"),
        (called("reduce_scatter", [window(2, 16), S]), "another reduction than Sum"),
        (called("barrier", [S, S]), "2 operands instead of 1"),
        (called("broadcast", [D], root=0), "1 operands instead of 2"),
        (called("reduce_scatter", [window(2, 16)], op=0), "1 operands instead of 2"),
        (called("allgather", [plain(1, 16), window(2, 16)]), "2 operands instead of 3"),
        (called("all_to_all", [plain(2, 16), window(2, 16)]), "2 operands instead of 3"),
        (called("all_to_all_v", [plain(2, 16), window(2, 16), S]), "3 operands instead of 5"),
    ],
)
def test_faults_of_passes(call: ir.Call, words: str) -> None:
    broken(program(call), words)


def test_an_extent_of_zero_is_refused_where_the_call_stands() -> None:
    (n,) = symbolic("n")
    refused(program(reduced(window(4, 0), S)), "positive extents")
    refused(program(reduced(window(0, n), S)), r"positive extents, got \[1, 0\]")


# -- as people see it ----------------------------------------------------------------------------------------------------------------


def test_the_caret_stands_under_the_call() -> None:
    text = """# pypto.function: k
import pypto.language as pl
import pypto.language.distributed as pld


@pl.function(type=pl.FunctionType.InCore)
def k(
    data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[5, 4], pl.INT32]],
):
    data = pld.tensor.allreduce(data, signal, mode="ring")
    return data
"""
    function = pl.parse(text, "ring.py")
    with pytest.raises(InvalidValueError) as caught:
        lower()(ir.Program([function], "P"))
    shown = str(caught.value)
    assert "error[invalid-value]: allreduce round a ring" in shown
    assert "--> ring.py:11:12" in shown
    assert "help: it has a row for each step of the ring" in shown
