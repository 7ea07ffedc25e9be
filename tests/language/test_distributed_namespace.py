"""``pld`` as a Python module: its names, operators called on IR values, and other ways of importing it."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir
from pypto.diagnostics import Error
from pypto.ir.dtypes import DataType
from pypto.ir.enums import DISTRIBUTED_ENUMS, MemorySpace
from pypto.ir.expr import Cast, Var
from pypto.ir.types import CommCtxType, DistributedTensorType, ScalarType, TensorType, TileType
from pypto.language.control import NotExecutableError
from pypto.ops.declare import ArityError, OperandError, OperandTypeError
from pypto.ops.vocabulary import names

D = Var("d", DistributedTensorType([4, 16], DataType.FP32))
S = Var("s", DistributedTensorType([4, 1], DataType.INT32))
X = Var("x", TensorType([4, 16], DataType.FP32))
T = Var("t", TileType([1, 16], DataType.FP32, None, None, MemorySpace.Vec))
ME = Var("me", ScalarType(DataType.INDEX))


# -- names -----------------------------------------------------------------------------------------------------------------------


def test_the_names_that_programs_use() -> None:
    exported = {
        *("AtomicType", "CommCtx", "CommCtxType", "DistributedTensor", "NotifyOp", "ReduceOp", "WaitCmp"),
        *("system", "tensor", "tile"),
        *("alloc_window_buffer", "get_comm_ctx", "nranks", "rank", "remote_load", "remote_store", "window", "world_size"),
    }
    assert exported <= set(dir(pld))
    for name in exported:
        assert getattr(pld, name) is not None


@pytest.mark.parametrize(
    ("namespace", "expected"),
    [
        ("system", ["defer_wait", "get_comm_ctx", "notify", "nranks", "rank", "wait", "world_size"]),
        (
            "tensor",
            [
                *("all_to_all", "all_to_all_v", "allgather", "alloc_window_buffer", "allreduce", "barrier", "broadcast"),
                *("get", "put", "reduce_scatter", "remote_store", "window"),
            ],
        ),
        ("tile", ["get", "put", "remote_load", "remote_store"]),
    ],
)
def test_namespaces(namespace: str, expected: list[str]) -> None:
    assert dir(getattr(pld, namespace)) == expected
    assert names(f"pld.{namespace}") == expected


def test_short_forms() -> None:
    """Notify, waits, put, get and the collectives have none."""
    assert names("pld") == [
        *("alloc_window_buffer", "get_comm_ctx", "nranks", "rank", "remote_load", "remote_store", "window", "world_size"),
    ]
    assert pld.rank is pld.rank
    for name in ("notify", "wait", "put", "allreduce"):
        assert not hasattr(pld, name)
        assert not hasattr(pl, name)


@pytest.mark.parametrize(
    ("enum", "members"),
    [
        (pld.NotifyOp, {"AtomicAdd": 0, "Set": 1}),
        (pld.WaitCmp, {"Eq": 0, "Ge": 1}),
        (pld.AtomicType, {"None_": 0, "Add": 1}),
        (pld.ReduceOp, {"Sum": 0, "Max": 1, "Min": 2, "Prod": 3}),
    ],
)
def test_members_of_the_enumerations(enum: Any, members: dict[str, int]) -> None:
    assert {m.name: m.value for m in enum} == members
    assert enum.__name__ in ("AtomicType", *[e.__name__ for e in DISTRIBUTED_ENUMS])


def test_atomic_type_is_the_same_in_both_modules() -> None:
    assert pld.AtomicType is pl.AtomicType


@pytest.mark.parametrize(
    ("owner", "name", "words"),
    [
        (pld, "world_sizes", "did you mean 'world_size'?"),
        (pld, "nothing_like_it", "has no attribute 'nothing_like_it'"),
        (pld.tensor, "alreduce", "did you mean 'allreduce'?"),
        (pld.tile, "remote_lod", "did you mean 'remote_load'?"),
        (pld.system, "notifi", "did you mean 'notify'?"),
    ],
)
def test_names_that_do_not_exist(owner: Any, name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words.replace("?", r"\?")):
        getattr(owner, name)


# -- operators on IR values --------------------------------------------------------------------------------------------------------


def test_calls_on_expressions() -> None:
    made = pld.system.notify(S, 1, [0, 0], ME, op=pld.NotifyOp.Set)
    assert isinstance(made, ir.Call)
    assert made.op.name == "pld.system.notify"
    assert isinstance(made.args[3], Cast)
    assert made.span.filename == __file__
    loaded = pld.remote_load(D, 1, [0, 0], [1, 16])
    assert isinstance(loaded, pl.Tile)
    stored = pld.remote_store(loaded, D, np.int64(2), [0, 0])
    assert stored.op.name == "pld.tile.remote_store"
    assert pld.remote_store(X, D, 2, [0, 0]).op.name == "pld.tensor.remote_store"


def test_calls_on_wrapped_values() -> None:
    tensor = pld.DistributedTensor(expr=D)
    result = pld.tensor.allreduce(tensor, pld.DistributedTensor(expr=S), op=pld.ReduceOp.Max)
    assert isinstance(result, pld.DistributedTensor)
    assert result.expr.kwargs["op"] == 1
    context = pld.get_comm_ctx(tensor)
    assert context.type is CommCtxType()
    assert isinstance(pld.rank(context), pl.Scalar)


def test_the_private_spelling_is_callable() -> None:
    half = Var("h", DistributedTensorType([1, 17], DataType.FP16))
    made = pld.tile._remote_load_with_physical_tail_padding(half, 0, [0, 0], [1, 32], [1, 32])
    assert dict(made.expr.kwargs) == {"allow_physical_tail_padding": True}


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: pld.system.notify(S, 1, [0, 0], 1), ArityError, "needs 'op'"),
        (lambda: pld.system.notify(S, -1, [0, 0], 1, op=1), OperandError, "a rank from 0 as 'peer'"),
        (lambda: pld.system.notify(S, None, [0, 0], 1, op=1), OperandTypeError, "a Scalar as 'peer', got None"),
        (lambda: pld.system.notify(S, "one", [0, 0], 1, op=1), OperandTypeError, "a Scalar as 'peer', got 'one'"),
        (lambda: pld.system.notify(S, True, [0, 0], 1, op=1), OperandError, "an integer as 'peer', got BOOL"),
        (lambda: pld.system.notify(S, 1, [0, None], 1, op=1), OperandTypeError, "a list of integers as 'offsets'"),
        (lambda: pld.system.notify(X, 1, [0, 0], 1, op=1), OperandTypeError, "a DistributedTensor as 'target'"),
        (lambda: pld.tensor.put(D, 1, X, pipeline=True), Error, "pipelines only"),
        (lambda: pld.tensor.allreduce(D, None), OperandTypeError, "not None"),
        (lambda: pld.tensor.allreduce(D, S, mode="ring", core_num=0), Error, "positive 'core_num'"),
        (lambda: pld.tile.put(D, 1, X, T, [0, 0]), ArityError, "needs 'src_offsets'"),
        (lambda: pld.tensor.broadcast(D, S, 0), ArityError, "at most 2 positional arguments, got 3"),
        (lambda: pld.remote_store(T, D, 1), ArityError, "needs 'offsets'"),
        (lambda: pld.window(D, [4], dtype=pl.FP32), OperandTypeError, "a Ptr as 'buf'"),
    ],
)
def test_errors_point_at_the_line_that_calls(call: Any, error: type[Error], words: str) -> None:
    with pytest.raises(error) as caught:
        call()
    assert words in caught.value.message
    assert caught.value.span["filename"] == __file__
    assert caught.value.span["line"] > 1


def test_operators_without_a_value_are_not_executed() -> None:
    for call in (lambda: pld.alloc_window_buffer(64), lambda: pld.system.notify(1, 1, [0, 0], 1, op=1)):
        with pytest.raises(NotExecutableError, match="read from the source of a decorated function"):
            call()


def test_help() -> None:
    assert "remote_load(target, peer, offsets, shape, valid_shape=None)" in repr(pld.remote_load)
    assert "atomic=AtomicType.None_)" in repr(pld.remote_store)
    assert "name" not in repr(pld.alloc_window_buffer)
    import inspect

    signature = inspect.signature(pld.tensor.put)
    assert list(signature.parameters)[:6] == ["dst", "peer", "src", "dst_offsets", "src_offsets", "shape"]
    assert signature.parameters["atomic"].kind is inspect.Parameter.KEYWORD_ONLY
    assert pld.system.wait.__doc__ is not None


# -- imports -----------------------------------------------------------------------------------------------------------------------

BODY = """

@pl.function(type=pl.FunctionType.InCore)
def kernel(s: {0}.DistributedTensor[[4, 1], pl.INT32], me: pl.Scalar[pl.INDEX]):
    {0}.system.notify(s, me, [0, 0], COUNT, op={0}.NotifyOp.Set)
    {0}.system.wait(s, CELL, cfg.count, cmp=GE)
"""
AROUND = """
COUNT = 3
CELL = [1, 0]


class cfg:
    count = 5
"""


@pytest.mark.parametrize(
    ("head", "name"),
    [
        ("import pypto.language as pl\nimport pypto.language.distributed as pld\n", "pld"),
        ("import pypto.language as pl\nimport pypto.language.distributed as dist\n", "dist"),
        ("import pypto.language as pl\nfrom pypto.language import distributed as pld\n", "pld"),
        ("import pypto.language as pl\nfrom pypto.language import distributed\n", "distributed"),
        ("import pypto.language as pl\nimport pypto.language.distributed\nimport pypto\n", "pypto.language.distributed"),
    ],
)
def test_ways_of_importing(head: str, name: str, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(f"{head}{AROUND}\nGE = {name}.WaitCmp.Ge\n{BODY.format(name)}")
    kernel = runpy.run_path(str(file))["kernel"]
    lines = ir.python_print(kernel).strip().split("\n")
    assert lines[-2:] == ["    pld.system.notify(s, me, [0, 0], 3, op=1)", "    pld.system.wait(s, [1, 0], 5, cmp=1)"]


def test_contexts_and_windows_in_annotations() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        d: pl.InOut[pld.DistributedTensor[[4, 16], pl.FP32]], ctx: pld.CommCtx, other: pld.CommCtxType
    ) -> tuple[pld.DistributedTensor[[4, 16], pl.FP32], pl.Scalar[pl.INT32]]:
        n = pld.nranks(other)
        return d, n

    assert [type(p.type) for p in kernel.params] == [DistributedTensorType, CommCtxType, CommCtxType]
    assert kernel.param_directions[0] is ir.ParamDirection.InOut
    assert [type(t) for t in kernel.return_types] == [DistributedTensorType, ScalarType]


def test_a_keyword_may_stand_once(tmp_path: Path) -> None:
    """Python finds that only when it compiles, and text is never compiled."""
    template = "@pl.function(type=pl.FunctionType.InCore)\ndef f(s: pld.DistributedTensor[[4, 1], pl.INT32]):\n    {}\n"
    for body, at in (
        ("pld.system.wait(s, [0, 0], 1, cmp=0, cmp=1)", 42),
        ("for i in pl.range(4, attrs={}, attrs={}):\n        pass", 36),
        ("x = pl.cast(1, pl.INT32, mode='rint', mode='rint')", 43),
    ):
        with pytest.raises(SyntaxError, match="is given twice") as caught:
            pl.parse(template.format(body))
        error: Any = caught.value
        assert (error.span["line"], error.span["column"]) == (3, at)


# -- helpers for building IR by hand -------------------------------------------------------------------------------------------------


def test_helpers_of_ir_op() -> None:
    distributed = ir.op.distributed
    made = distributed.system.notify(S, 1, [0, 0], ME, op=pld.NotifyOp.Set)
    assert ir.structural_equal(made, pld.system.notify(S, 1, [0, 0], ME, op=1))
    assert made.span.filename == __file__
    assert distributed.notify(S, 1, [0, 0], 1, op=0).op.name == "pld.system.notify"
    assert distributed.allreduce(D, S).kwargs == {"op": 0, "mode": "mesh", "core_num": 1}
    assert distributed.remote_load(D, 1, [0, 0], [1, 16]).op.name == "pld.tile.remote_load"
    assert distributed.tile.put(D, 1, X, T, [0, 0], [0, 0], [1, 16]).op.name == "pld.tile.put"
    assert {"tensor", "tile", "system", "notify", "allreduce"} <= set(dir(distributed))


def test_helpers_take_what_only_passes_write() -> None:
    buffer = ir.op.distributed.tensor.alloc_window_buffer([4, 4], dtype=pl.FP32, name="data")
    assert dict(buffer.kwargs) == {"name": "data"}
    half = Var("h", DistributedTensorType([1, 17], DataType.FP16))
    load = ir.op.distributed.tile.remote_load(half, 0, [0, 0], [1, 32], [1, 32], allow_physical_tail_padding=True)
    assert dict(load.kwargs) == {"allow_physical_tail_padding": True}
    with pytest.raises(ArityError, match="needs 'name'"):
        ir.op.distributed.tensor.alloc_window_buffer(64)
    with pytest.raises(ArityError, match="no parameter 'names'"):
        ir.op.distributed.tensor.alloc_window_buffer(64, names="x")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("put", "put is pld.tensor.put or pld.tile.put: name the namespace"),
        ("alreduce", "did you mean 'allreduce'"),
        ("nothing_like_it", "there is no operator"),
    ],
)
def test_helpers_that_do_not_exist(name: str, words: str) -> None:
    with pytest.raises(AttributeError, match=words):
        getattr(ir.op.distributed, name)
