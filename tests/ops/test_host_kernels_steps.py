"""The text of the host kernels, their named steps, leaving steps out, and finding the kernel of a dispatch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir import TensorType, assert_structural_equal
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, ParamDirection
from pypto.ir.expr import Var
from pypto.ir.function import Function, Program
from pypto.ir.types import DistributedTensorType, ScalarType
from pypto.ir.verify import PROPERTIES, verify
from pypto.ops import host_kernels
from pypto.ops.host_kernels import HOST_KERNELS, kernel_for, steps, without_step
from pypto.parser import parse
from pypto.runtime import run
from pypto.testing import assert_roundtrip
from tests.ops.host_kernel_runs import cells, numbers, run_kernel, signal, window

FP16, FP32 = DataType.FP16, DataType.FP32


def _barrier(name: str) -> list[str]:
    return [name, f"{name}_post", f"{name}_wait"]


def _push(name: str) -> list[str]:
    return [f"pipe_before_{name}", name, f"pipe_after_{name}"]


def _ring_barrier(name: str, sides: bool) -> list[str]:
    order = [name, f"{name}_pipe", f"{name}_dsb"]
    if not sides:
        return [*order, f"{name}_post", f"{name}_wait"]
    return [*order, *[f"{name}_{what}_{side}" for what in ("post", "wait") for side in ("left", "right")]]


def _ring_credits(sides: bool) -> list[str]:
    names = [f"{phase}_credits" for phase in ("reduce", "gather", "closing")]
    return [n for name in names for n in ([name, f"{name}_left", f"{name}_right"] if sides else [name])]


def _ring(sides: bool) -> list[str]:
    return [
        *_ring_barrier("reduce_barrier", sides),
        *_push("reduce_push"),
        *_ring_barrier("gather_barrier", sides),
        *_push("gather_push"),
        *_ring_barrier("closing_barrier", sides),
        *_ring_credits(sides),
        "pipe_at_end",
    ]


_CACHED = ["_post", "_post_pipe", "_wait", "_invalidate"]
_PUSHING = ["pipe_before_barrier", "dsb_before_barrier", *_barrier("closing_barrier"), "credits", "pipe_at_end"]

KERNELS: dict[str, tuple[Function, list[str]]] = {
    "mesh": (
        host_kernels.allreduce_mesh(window(3, 100), signal(4, 2), core_num=2),
        [
            *_barrier("ready_barrier"),
            "pipe_after_ready",
            *_barrier("tile_barrier"),
            "pipe_before_store",
            "store_tile",
            "credits",
            "pipe_at_end",
        ],
    ),
    "ring": (host_kernels.allreduce_ring(window(3, 100), signal(7, 4)), _ring(True)),
    "ring, meeting all": (host_kernels.allreduce_ring(window(3, 100), signal(7, 4), meet_all=True), _ring(False)),
    "ring, pulling": (
        host_kernels.allreduce_ring_pull(window(3, 100), signal(7, 4)),
        [
            *_ring_barrier("reduce_barrier", False),
            "reduce_tile",
            "reduce_invalidate",
            *_ring_barrier("gather_barrier", False),
            "gather_tile",
            "gather_invalidate",
            *_ring_barrier("closing_barrier", False),
            *_ring_credits(False),
            "pipe_at_end",
        ],
    ),
    "barrier": (host_kernels.barrier(signal(4)), [*_barrier("barrier"), "credits", "pipe_at_end"]),
    "broadcast": (
        host_kernels.broadcast(window(3, 100), signal(4, 1), root=2),
        [
            "pass_through",
            "pipe_before_barrier",
            *_barrier("tile_barrier"),
            "pipe_after_barrier",
            "copy_from_root",
            "credits",
            "pipe_at_end",
        ],
    ),
    "reduce_scatter": (
        host_kernels.reduce_scatter(window(4, 100), signal(4)),
        [
            "ready_barrier",
            *[f"ready_barrier{part}" for part in _CACHED],
            "store_tile",
            "pipe_after_store",
            "dsb_after_store",
            "closing_barrier",
            *[f"closing_barrier{part}" for part in _CACHED],
            "credits",
            "pipe_at_end",
        ],
    ),
    "allgather": (host_kernels.allgather(window(1, 300), window(4, 300), signal(4)), [*_push("push"), *_PUSHING]),
    "all_to_all": (host_kernels.all_to_all(window(4, 300), window(4, 300), signal(4, 1)), [*_push("push"), *_PUSHING]),
    "all_to_all_v": (
        host_kernels.all_to_all_v(window(12, 30), window(12, 30), signal(4, 1), signal(4), signal(4, 1)),
        ["publish_count", *_push("push"), *_PUSHING],
    ),
}
"""A kernel of each algorithm, and its steps."""

OTHERS: dict[str, Function] = {
    "mesh of FP16": host_kernels.allreduce_mesh(window(2, 5, 7, dtype=FP16), signal(4), dtype=FP16),
    "mesh of whole tiles": host_kernels.allreduce_mesh(window(512), signal(4)),
    "mesh of unknown size": host_kernels.allreduce_mesh(window("a", 3, "b", dtype=FP16), signal("ranks", "lanes")),
    "ring of unknown size": host_kernels.allreduce_ring(window("a", "b"), signal("rows", "ranks")),
    "broadcast of FP16": host_kernels.broadcast(window("n", dtype=FP16), signal("ranks")),
    "reduce_scatter of unknown size": host_kernels.reduce_scatter(window("rows", "n"), signal("ranks")),
    "allgather of unknown size": host_kernels.allgather(window(1, "n"), window("ranks", "n"), signal("ranks")),
    "all_to_all_v of unknown size": host_kernels.all_to_all_v(
        window("m", "n"), window("m", "n"), signal("ranks", 1), signal("ranks", 1), signal("ranks", 1)
    ),
}

ALL: dict[str, Function] = {**{name: kernel for name, (kernel, _) in KERNELS.items()}, **OTHERS}

LATER = {"DistTensorCtxMaterialized"}
"""What holds only after passes that kernels do not go through: they look their context up themselves."""


@pytest.mark.parametrize("name", KERNELS)
def test_steps(name: str) -> None:
    kernel, wanted = KERNELS[name]
    assert steps(kernel) == wanted


@pytest.mark.parametrize("name", ALL)
def test_print_and_read_back(name: str) -> None:
    assert_roundtrip(ALL[name])


@pytest.mark.parametrize("name", ALL)
def test_verify(name: str) -> None:
    assert [d.message for d in verify(Program([ALL[name]]), [p for p in PROPERTIES if p not in LATER])] == []


@pytest.mark.parametrize("name", ALL)
def test_kernels_are_incore_functions_on_windows(name: str) -> None:
    kernel = ALL[name]
    assert kernel.func_type is FunctionType.InCore
    assert not kernel.return_types
    for param, direction in zip(kernel.params, kernel.param_directions, strict=True):
        if isinstance(param.type, ScalarType):
            assert (param.type.dtype, direction) == (DataType.INDEX, ParamDirection.In)
        else:
            only_read = param.name_hint in ("input", "send_counts")
            assert isinstance(param.type, DistributedTensorType)
            assert direction is (ParamDirection.In if only_read else ParamDirection.InOut)


def test_a_kernel_that_was_read_back_runs() -> None:
    kernel = parse(host_kernels.allreduce_ring(window(17), signal(5, 3)).as_python())
    assert isinstance(kernel, Function)
    values = numbers(3, 17)
    found, _ = run_kernel(kernel, [values, cells(3, 5, 3)])
    np.testing.assert_allclose(found, [np.sum(values, axis=0)] * 3, rtol=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_every_step_can_be_left_out(name: str) -> None:
    """What is left verifies, round-trips and has neither the step nor those that are part of it."""
    kernel, names = KERNELS[name]
    for step in names:
        rest = without_step(kernel, step)
        left = steps(rest)
        assert step not in left
        assert [s for s in names if s in left] == left
        assert verify(Program([rest]), ["UseAfterDef", "SSAForm", "TypeChecked", "StructuredCtrlFlow"]) == []
    assert steps(kernel) == names
    assert_roundtrip(without_step(kernel, names[0]))


def test_a_step_left_out_counts_no_more() -> None:
    """Without its ready barrier a mesh waits for one post less, and takes one less back."""
    kernel = host_kernels.allreduce_mesh(window(300), signal(3))
    values = numbers(3, 300)
    found, left = run_kernel(without_step(kernel, "ready_barrier"), [values, cells(3, 3)], blocks=1)
    np.testing.assert_allclose(found, [np.sum(values, axis=0)] * 3, rtol=1e-6)
    assert not np.any(left)
    _, report = run(without_step(kernel, "ready_barrier"), values, cells(3, 3), 0, 1, ranks=3, report=True)
    assert report.statistics["waits"] == 2 * 2 * 3


def test_one_turn_of_a_step() -> None:
    """Of three tile barriers one: the mesh still ends with zero cells."""
    kernel = host_kernels.allreduce_mesh(window(700), signal(2))
    for turn in range(3):
        rest = without_step(kernel, "tile_barrier", turn=turn)
        assert_roundtrip(rest)
        assert verify(Program([rest]), ["UseAfterDef", "SSAForm", "TypeChecked", "StructuredCtrlFlow"]) == []
        _, report = run(rest, numbers(2, 700), cells(2, 2), 0, 1, ranks=2, report=True)
        assert report.statistics["waits"] == 2 * 3
        assert not np.any(report.signals["signal"])


def test_several_steps_at_once() -> None:
    kernel, names = KERNELS["ring"]
    left_out = ("closing_barrier", "closing_credits")
    assert steps(without_step(kernel, *left_out)) == [n for n in names if not n.startswith(left_out)]


def test_steps_of_any_function() -> None:
    function = parse(
        """
import pypto.language as pl


@pl.function
def twice(x: pl.Tensor[[4], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    with pl.at(level=pl.Level.AIV, name_hint="count"):
        more = n + 1
    with pl.at(level=pl.Level.AIV, name_hint="double"):
        result = more * 2
    return result
"""
    )
    assert isinstance(function, Function)
    assert steps(function) == ["count", "double"]
    assert run(without_step(function, "count"), np.zeros(4, np.float32), 5) == 10
    with pytest.raises(InvalidValueError, match="'double' of twice cannot be left out: later statements use 'result'"):
        without_step(function, "double")
    with pytest.raises(InvalidValueError, match="'count' of twice is in no loop"):
        without_step(function, "count", turn=0)


def test_an_unknown_step_is_refused_with_the_closest() -> None:
    with pytest.raises(InvalidValueError, match="no step 'redy_barrier'") as caught:
        without_step(KERNELS["mesh"][0], "redy_barrier")
    assert caught.value.hint is not None and "ready_barrier" in caught.value.hint


# -- the table ---------------------------------------------------------------------------------------------------------

CALLS: dict[str, tuple[list[DistributedTensorType], dict[str, Any]]] = {
    "builtin.tensor.allreduce": ([window(300), signal(4)], {"op": 1, "dtype": FP32, "core_num": 1}),
    "builtin.tensor.allreduce_ring": ([window(300), signal(7, 4)], {"op": 0, "dtype": FP32}),
    "builtin.tensor.barrier": ([signal(4)], {}),
    "builtin.tensor.broadcast": ([window(300), signal(4)], {"root": 2, "dtype": FP32}),
    "builtin.tensor.reduce_scatter": ([window(4, 300), signal(4)], {"op": 0, "dtype": FP32}),
    "builtin.tensor.allgather": ([window(1, 300), window(4, 300), signal(4)], {"dtype": FP32}),
    "builtin.tensor.all_to_all": ([window(4, 300), window(4, 300), signal(4)], {"dtype": FP32}),
    "builtin.tensor.all_to_all_v": (
        [window(8, 30), window(8, 30), signal(4, 1), signal(4), signal(4, 1)],
        {"dtype": FP32},
    ),
}

NAMES = [
    "allreduce__max__fp32",
    "allreduce_ring__sum__fp32",
    "barrier",
    "broadcast__fp32",
    "reduce_scatter__sum__fp32",
    "allgather__fp32",
    "all_to_all__fp32",
    "all_to_all_v__fp32",
]


def test_every_dispatch_has_a_kernel() -> None:
    assert list(HOST_KERNELS) == list(CALLS)
    kernels = [kernel_for(name, types, kwargs) for name, (types, kwargs) in CALLS.items()]
    assert [k.name for k in kernels] == NAMES
    for kernel, (types, _) in zip(kernels, CALLS.values(), strict=True):
        assert [p.type for p in kernel.params][: len(types)] == types
    assert [p.name_hint for p in kernels[0].params] == ["src", "signal", "block", "block_num"]
    assert [p.name_hint for p in kernels[-1].params] == ["input", "target", "signal", "send_counts", "recv_counts"]


def test_equal_dispatches_have_one_kernel() -> None:
    """Extents of the caller's own do not matter."""
    name = "builtin.tensor.allreduce"
    one = kernel_for(name, [window("n", 3), signal("ranks")], {"op": 0, "dtype": FP32, "core_num": 1})
    assert kernel_for(name, [window("m", 3), signal("world")], {"op": 0, "dtype": FP32, "core_num": 1}) is one
    assert kernel_for(name, [window("m", 4), signal("world")], {"op": 0, "dtype": FP32, "core_num": 1}) is not one
    assert kernel_for(name, [window("m", 3), signal("world")], {"op": 2, "dtype": FP32, "core_num": 1}) is not one
    built = host_kernels.allreduce_mesh(window("n", 3), signal("ranks"))
    assert_structural_equal(one, built, enable_auto_mapping=True)


def test_extents_of_the_caller_do_not_reach_into_the_kernel() -> None:
    ranks = Var("ranks", ScalarType(DataType.INT64))
    kernel = kernel_for("builtin.tensor.barrier", [DistributedTensorType([ranks], DataType.INT32)], {})
    (param,) = kernel.params
    assert isinstance(param.type, DistributedTensorType)
    assert param.type.shape[0] is not ranks
    run(kernel, cells(3, 3), ranks=3)


def test_what_is_no_dispatch_is_refused() -> None:
    with pytest.raises(InvalidValueError, match=r"builtin\.tensor\.allredcue has no host kernel") as caught:
        kernel_for("builtin.tensor.allredcue", [], {})
    assert caught.value.hint == "did you mean 'builtin.tensor.allreduce'?"
    with pytest.raises(InvalidTypeError, match="distributed tensors"):
        kernel_for("builtin.tensor.barrier", [TensorType([4], DataType.INT32)], {})
