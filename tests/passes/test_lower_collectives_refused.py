"""What the lowering of collectives refuses: class, line, and the words that people look for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest
from collective_kernels import REDUCE, allreduce, partial

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes

lower = passes.lower_composite_ops


def refused(program: ir.Program, words: str, line: int | None = None) -> Any:
    with pytest.raises(ValueError, match=words) as caught:
        lower()(program)
    error: Any = caught.value
    if line is not None:
        assert error.diagnostic.span.begin_line == line
    assert "--> " in str(error)
    return error


def line_of(function: Callable[..., Any], text: str) -> int:
    lines, first = inspect.getsourcelines(function)
    return first + next(at for at, line in enumerate(lines) if text in line)


def looping(kind: str) -> ir.Program:
    if kind == "for":

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
        ):
            for _ in pl.range(2):
                data = pld.tensor.allreduce(data, signal)
            return data

    elif kind == "while":

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
        ):
            i = 0
            while i < 3:
                pld.tensor.allreduce(data, signal)
                i = i + 1
            return data

    else:

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
        ):
            for i in pl.range(2):
                for j in pl.range(2):
                    if i == j:
                        pld.tensor.allreduce(data, signal, mode="tree")
            return data

    return ir.Program([kernel], "P")


@pytest.mark.parametrize("kind", ["for", "while", "deep"])
def test_allreduce_in_a_loop(kind: str) -> None:
    text = 'mode="tree"' if kind == "deep" else "pld.tensor.allreduce(data, signal)"
    lines, first = inspect.getsourcelines(looping)
    marks = [first + at for at, line in enumerate(lines) if text in line]
    error = refused(looping(kind), "not supported inside a for/while loop")
    assert error.diagnostic.span.begin_line in marks
    assert "signals='credit'" in str(error)


@pytest.mark.parametrize("kind", ["for", "while"])
def test_allreduce_in_a_loop_with_credits(kind: str) -> None:
    assert "pld.tensor.allreduce" not in lower(signals="credit")(looping(kind)).as_python()


def test_all_to_all_v_in_a_loop() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[8, 8], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[8, 8], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
        send: pl.Tensor[[2], pl.INT32],
        received: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    ):
        for _ in pl.range(2):
            data = pld.tensor.all_to_all_v(x, data, signal, send, received)
        return data

    refused(ir.Program([kernel], "P"), "not supported inside a for/while loop")


def test_other_collectives_may_stand_in_loops() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
        for _ in pl.range(2):
            signal = pld.tensor.barrier(signal)
        return signal

    assert "pld.tensor.barrier" not in lower()(ir.Program([kernel], "P")).as_python()


@pytest.mark.parametrize("position", ["assigned", "bare", "returned"])
def test_allreduce_without_a_signal(position: str) -> None:
    if position == "assigned":

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]]):
            data = pld.tensor.allreduce(data)
            return data

    elif position == "bare":

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]]):
            pld.tensor.allreduce(data)
            return data

    else:

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]]):
            return pld.tensor.allreduce(data)

    refused(ir.Program([kernel], "P"), "explicit signal")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: allreduce([1, 16], [2, 1], mode="tree"), "mode must be 'mesh' or 'ring', got 'tree'"),
        (lambda: allreduce([1, 16], [2, 2]), r"signal shape\[1\] must be 1"),
        (lambda: allreduce([1, 16], [2]), r"signal shape\[1\] must be 1"),
        (lambda: allreduce([1, 16], [5, 4], mode="ring"), r"must equal 2 \* \(shape\[1\] - 1\) = 6, got 5"),
        (lambda: allreduce([1, 16], [4], mode="ring"), "2D signal"),
        (lambda: partial([4, 6, 8], [2, 3, 8], [2, 1]), "cannot be represented by a single 2D view"),
        (lambda: partial([2, 65537], [1, 65537], [2, 1]), "16384-byte mesh chunk"),
        (lambda: partial([3, 70000], [1, 70000], [2, 1]), "16384-byte mesh chunk"),
        (lambda: partial([4, 6, 8], [1, 6, 5], [2, 2], "ring"), "contiguous row-major prefix"),
        (lambda: partial([4, 6, 8], [2, 3, 8], [2, 2], "ring"), "contiguous row-major prefix"),
    ],
)
def test_allreduce(make: Callable[[], ir.Program], words: str) -> None:
    refused(make(), words, line_of(partial if "partial" in inspect.getsource(make) else allreduce, "pld.tensor.allreduce("))


def test_several_cores_inside_a_kernel() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
    ):
        data = pld.tensor.allreduce(data, signal, core_num=2)
        return data

    refused(ir.Program([kernel], "P"), "core_num only in host orchestrators")


def viewed(view: Any, mode: str = "mesh") -> ir.Program:
    signal = [2, 1] if mode == "mesh" else [2, 2]

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[4, 32], pl.FP32, view]],
        signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]],
    ):
        data = pld.tensor.allreduce(data, signal, mode=mode)
        return data

    return ir.Program([kernel], "P")


@pytest.mark.parametrize("mode", ["mesh", "ring"])
@pytest.mark.parametrize(
    ("view", "words"),
    [
        (pl.TensorView(stride=[40, 1], layout=pl.TensorLayout.ND), "packed source"),
        (pl.TensorView(stride=[], layout=pl.TensorLayout.DN), "only supports ND layout"),
        (pl.TensorView(stride=[], layout=pl.TensorLayout.DN, valid_shape=[1, 32]), "only supports ND layout"),
    ],
)
def test_views_that_are_not_packed(mode: str, view: Any, words: str) -> None:
    refused(viewed(view, mode), words)


def test_strides_that_are_those_of_a_packed_tensor() -> None:
    made = lower()(viewed(pl.TensorView(stride=[32, 1], layout=pl.TensorLayout.ND)))
    assert "allreduce" not in made.as_python()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("pld.tensor.allgather(local, data, signal)", "plain Tensor or a Tile"),
        ("pld.tensor.all_to_all(data, other, signal)", "plain Tensor"),
    ],
)
def test_windows_are_not_pushed_from_inside_kernels(call: str, words: str) -> None:
    text = f"""# pypto.program: P
import pypto.language as pl
import pypto.language.distributed as pld


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        local: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]],
        data: pl.InOut[pld.DistributedTensor[[2, 16], pl.FP32]],
        other: pl.InOut[pld.DistributedTensor[[2, 16], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    ):
        {call}
        return data
"""
    refused(pl.parse(text), words, 16)


def test_broadcast_of_a_symbolic_shape() -> None:
    n = pl.dynamic("n")

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[n, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
    ):
        data = pld.tensor.broadcast(data, signal, root=0)
        return data

    refused(ir.Program([kernel], "P"), "constant shape")


@pytest.mark.parametrize("what", ["plain target", "integers", "float signal", "reduction 7"])
def test_what_the_operator_itself_refuses(what: str) -> None:
    place = ir.Span.unknown()
    data = ir.Var("d", ir.DistributedTensorType([1, 16], pl.FP32), place)
    signal = ir.Var("s", ir.DistributedTensorType([2, 1], pl.INT32), place)
    kwargs: dict[str, Any] = {"op": 0, "mode": "mesh", "core_num": 1}
    wrong, words = {
        "plain target": ([ir.Var("d", ir.TensorType([1, 16], pl.FP32)), signal], "DistributedTensor as 'target'"),
        "integers": ([ir.Var("d", ir.DistributedTensorType([1, 16], pl.INT32)), signal], "FP16 or FP32 as 'target'"),
        "float signal": ([data, ir.Var("s", ir.DistributedTensorType([2, 1], pl.FP32))], "INT32 distributed tensor as 'signal'"),
        "reduction 7": ([data, signal], "'op' as one of ReduceOp.Sum"),
    }[what]
    if what == "reduction 7":
        kwargs["op"] = 7
    with pytest.raises(ValueError, match=words):
        ir.create_op_call("pld.tensor.allreduce", wrong, kwargs)


def test_only_sums_are_scattered() -> None:
    with pytest.raises(
        pl.parser.InvalidOperationError, match=r"reduce_scatter takes 'op' as one of ReduceOp\.Sum; got ReduceOp\.Max"
    ):

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            data: pl.InOut[pld.DistributedTensor[[2, 16], pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]
        ):
            data = pld.tensor.reduce_scatter(data, signal, op=REDUCE.Max)
            return data


def test_a_base_that_no_temporary_can_be_named_after() -> None:
    data = ir.Var("d", ir.DistributedTensorType([1, 16], pl.FP32))
    signal = ir.Var("s", ir.DistributedTensorType([2, 1], pl.INT32))
    call = ir.create_op_call("pld.tensor.allreduce", [data, signal], {"op": 0, "mode": "mesh", "core_num": 1})
    stmt = ir.AssignStmt(ir.Var("__x", call.type), call)
    function = ir.Function("kernel", [data, signal], [], stmt, type=ir.FunctionType.InCore)
    with pytest.raises(ValueError, match="nothing stands before the '__'"):
        lower()(ir.Program([function], "P"))
