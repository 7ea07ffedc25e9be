"""Chunks, views and segments of lowered allreduces: the sizes of the specification, and the emitted expressions evaluated."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from collective_kernels import allreduce, partial, ring

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes
from pypto.ir.expr import Call, ConstInt, Expr, Var
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, ForStmt
from pypto.runtime.evaluate import evaluate

lower = passes.lower_composite_ops()


def body(program: ir.Program) -> Any:
    return next(iter(program.functions.values())).body


def calls(program: ir.Program, name: str) -> list[Call]:
    return [n for n in walk(body(program)) if isinstance(n, Call) and n.op.name == name]


def loop(program: ir.Program, name: str) -> ForStmt:
    (found,) = [n for n in walk(body(program)) if isinstance(n, ForStmt) and f"__{name}_tmp_v" in n.loop_var.name_hint]
    return found


def numbers(entries: Expr) -> list[int | None]:
    assert isinstance(entries, ir.MakeTuple)
    return [e.value if isinstance(e, ConstInt) else None for e in entries.elements]


@pytest.mark.parametrize(
    ("dtype", "size", "chunk", "chunks"),
    [
        (pl.FP32, 1, 8, 1),
        (pl.FP32, 3, 8, 1),
        (pl.FP32, 17, 24, 1),
        (pl.FP32, 4096, 4096, 1),
        (pl.FP32, 4097, 4096, 2),
        (pl.FP32, 65537, 4096, 17),
        (pl.FP16, 17, 32, 1),
        (pl.FP16, 8192, 8192, 1),
        (pl.FP16, 8193, 8192, 2),
    ],
)
def test_mesh_chunks(dtype: Any, size: int, chunk: int, chunks: int) -> None:
    made = lower(allreduce([1, size], [2, 1], dtype))
    columns = loop(made, "col")
    assert [columns.start.value, columns.stop.value, columns.step.value] == [0, size, chunk]
    assert len(range(0, size, chunk)) == chunks
    (load,) = calls(made, "tile.load")
    (remote,) = calls(made, "pld.tile.remote_load")
    for tile in (load.args[2], remote.args[3]):
        assert numbers(tile) == [1, chunk]
    assert load.args[1].elements[1] is columns.loop_var
    assert chunk * dtype.get_byte() % 32 == 0
    if dtype is pl.FP32:
        ir.assert_structural_equal(load.args[3], remote.args[4])
    for column in range(0, size, chunk):
        valid = evaluate(load.args[3].elements[1], {columns.loop_var: column})
        assert valid == min(chunk, size - column)
        if dtype is pl.FP16:
            assert evaluate(remote.args[4].elements[1], {columns.loop_var: column}) == -(-valid // 16) * 16
    expected = next(n for n in walk(columns.body) if isinstance(n, AssignStmt) and "__chunk_expected_" in n.var.name_hint)
    assert [evaluate(expected.value, {columns.loop_var: c}) for c in range(0, size, chunk)] == list(range(2, chunks + 2))


@pytest.mark.parametrize(("shape", "flat", "chunk"), [([2, 5, 6], 60, 64), ([3, 5, 7], 105, 112), ([7], 7, 8)])
def test_mesh_of_many_dimensions_is_one_row(shape: list[int], flat: int, chunk: int) -> None:
    made = lower(allreduce(shape, [2, 1]))
    (view,) = calls(made, "tensor.view")
    assert isinstance(view.type, ir.DistributedTensorType)
    assert numbers(view.args[1]) == [1, flat]
    assert loop(made, "col").step.value == chunk


def test_mesh_of_a_symbolic_extent() -> None:
    n = pl.dynamic("n")
    made = lower(allreduce([1, n], [2, 1]))
    columns = loop(made, "col")
    assert isinstance(columns.stop, Var)
    assert columns.stop.name_hint == "n"
    assert columns.step.value == 4096


def test_mesh_of_a_symbolic_rectangle_takes_the_whole_shape() -> None:
    k = pl.dynamic("k")

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        known: pl.Tensor[[k, 8], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[48, 48], pl.FP32, pl.TensorView(valid_shape=[1, k])]],
        signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
    ):
        data = pld.tensor.allreduce(data, signal)
        return data

    made = lower(ir.Program([kernel], "P"))
    (load,) = calls(made, "tile.load")
    (remote,) = calls(made, "pld.tile.remote_load")
    for shape, valid in ((load.args[2], load.args[3]), (remote.args[3], remote.args[4])):
        assert numbers(shape) == [48, 48]
        assert numbers(valid) == [1, None]


@pytest.mark.parametrize(
    ("dtype", "size", "ranks", "bounds", "longest", "chunk"),
    [
        (pl.FP32, 100, 4, [0, 25, 50, 75, 100], 25, 32),
        (pl.FP16, 100, 4, [0, 32, 64, 80, 100], 40, 48),
        (pl.FP16, 17, 4, [0, 16, 16, 16, 17], 17, 32),
        (pl.FP16, 33, 4, [0, 16, 32, 32, 33], 24, 32),
        (pl.FP32, 17, 2, [0, 8, 17], 9, 16),
        (pl.FP16, 102, 2, [0, 64, 102], 66, 80),
        (pl.FP16, 65537, 4, [0, 16400, 32784, 49168, 65537], 16400, 8192),
        (pl.FP32, 1, 4, [0, 0, 0, 0, 1], 1, 8),
        (pl.FP32, 65537, 2, [0, 32768, 65537], 32769, 4096),
        (pl.FP32, 8193, 4, [0, 2048, 4096, 6144, 8193], 2049, 2056),
    ],
)
def test_ring_segments(dtype: Any, size: int, ranks: int, bounds: list[int], longest: int, chunk: int) -> None:
    made = lower(ring(size, ranks, dtype))
    for phase, index in (("rs", "recv_add_idx"), ("ag", "ag_segment_idx")):
        columns = loop(made, f"{phase}_col")
        assert [columns.start.value, columns.stop.value, columns.step.value] == [0, longest, chunk]
        values = {
            n.var.name_hint.partition("__")[2].rpartition("_tmp_v")[0]: n for n in walk(body(made)) if isinstance(n, AssignStmt)
        }
        segment = values[index].var
        begins = [evaluate(values[f"{phase}_segment_begin"].value, {segment: i}) for i in range(ranks)]
        ends = [evaluate(values[f"{phase}_segment_end"].value, {segment: i}) for i in range(ranks)]
        assert begins == bounds[:-1]
        assert ends == bounds[1:]
    assert max(b - a for a, b in pairwise(bounds)) <= longest
    assert chunk * dtype.get_byte() <= 16384
    for remote in calls(made, "pld.tile.remote_load"):
        assert len(remote.args) == 5
        assert numbers(remote.args[3]) == [1, chunk]
        assert ("allow_physical_tail_padding" in remote.kwargs) == (dtype is pl.FP16)
    if dtype is pl.FP16:
        assert all(b % 16 == 0 for b in bounds[:-1] if b < size)


@pytest.mark.parametrize(
    ("shape", "valid", "physical", "logical"),
    [
        ([4, 6, 8], [1, 6, 8], 192, 48),
        ([4, 6, 8], [2, 6, 8], 192, 96),
        ([4, 6, 8], [1, 1, 5], 192, 5),
        ([2, 7, 11], None, 154, None),
    ],
)
def test_ring_views(shape: list[int], valid: list[int] | None, physical: int, logical: int | None) -> None:
    made = lower(partial(shape, valid, [2, 2], "ring") if valid else allreduce(shape, [2, 2], mode="ring"))
    (view,) = calls(made, "tensor.view")
    assert [numbers(a) for a in view.args[1:]] == [[1, physical], *([[1, logical]] if logical else [])]


@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("size", [1, 3, 17, 33, 8193, 65537])
@pytest.mark.parametrize("dtype", [pl.FP32, pl.FP16])
def test_lowered_rings_go_through_the_rest_of_the_pipeline(ranks: int, size: int, dtype: Any) -> None:
    made = passes.PassManager.get_strategy().run_passes(ring(size, ranks, dtype))
    passes.run_verifier(passes.get_structural_properties())(made)


def test_a_ring_with_symbolic_rows_of_its_signal() -> None:
    rows = pl.dynamic("rows")
    made = lower(allreduce([1, 16], [rows, 4], mode="ring"))
    assert loop(made, "rs_col").stop.value == 4


def test_a_ring_of_symbolic_size() -> None:
    n = pl.dynamic("n")
    made = lower(allreduce([1, n], [6, 4], mode="ring"))
    columns = loop(made, "rs_col")
    (symbol,) = {v for v in walk(columns.stop) if isinstance(v, Var)}
    assert columns.step.value == 4096
    assert [evaluate(columns.stop, {symbol: size}) for size in (1, 4, 5, 100)] == [1, 1, 2, 25]
