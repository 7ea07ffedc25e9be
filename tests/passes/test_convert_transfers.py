"""Transfers between ranks in kernels of tensors: stages on the chip, and windows that are read only where they are used."""

from __future__ import annotations

import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes
from pypto.ir.expr import Call, ConstInt
from pypto.ir.node import walk
from pypto.testing import assert_roundtrip


def converted(function: ir.Function) -> ir.Program:
    program = ir.Program([function], "P")
    for step in passes.parse_pipeline("convert_to_ssa,normalize_stmt_structure,flatten_call_expr,convert_tensor_to_tile_ops"):
        program = step(program)
    assert_roundtrip(program)
    return program


def calls(program: ir.Program, name: str) -> list[Call]:
    return [n for n in walk(next(iter(program.functions.values())).body) if isinstance(n, Call) and n.op.name == name]


def order(program: ir.Program) -> list[str]:
    body = next(iter(program.functions.values())).body
    return [
        s.value.op.name if isinstance(s, ir.AssignStmt) else s.expr.op.name
        for s in body.stmts
        if hasattr(s, "value") or hasattr(s, "expr")
        if not isinstance(s, ir.ReturnStmt)
    ]


def shape(call: Call) -> list[int]:
    return [d.value for d in call.type.shape if isinstance(d, ConstInt)]


def test_put_of_everything_gets_a_stage_of_its_size() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[2, 3, 16], pl.FP32], d: pld.DistributedTensor[[2, 3, 16], pl.FP32]):
        pld.tensor.put(d, 1, x)
        return d

    made = converted(kernel)
    assert [shape(c) for c in calls(made, "tile.create")] == [[6, 16]]
    (put,) = calls(made, "pld.tile.put")
    assert len(put.args) == 4
    assert dict(put.kwargs) == {"atomic": 0}


def test_pieces_that_are_stated_make_the_stages() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[8, 64], pl.FP32], d: pld.DistributedTensor[[8, 64], pl.FP32]):
        pld.tensor.put(d, 1, x, [0, 0], [4, 0], [4, 64], chunk_rows=2, chunk_cols=96, pipeline=True)
        return d

    made = converted(kernel)
    assert [shape(c) for c in calls(made, "tile.create")] == [[2, 64], [2, 64]]
    (put,) = calls(made, "pld.tile.put")
    assert len(put.args) == 8
    assert put.args[7] is not put.args[3]


def test_get_moves_into_a_tensor_in_global_memory() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(out: pl.Out[pl.Tensor[[4, 16], pl.FP32]], d: pld.DistributedTensor[[4, 16], pl.FP32]):
        pld.tensor.get(out, 1, d, [1, 0], [0, 0], [2, 16])
        return out

    made = converted(kernel)
    assert [shape(c) for c in calls(made, "tile.create")] == [[2, 16]]
    (get,) = calls(made, "pld.tile.get")
    assert len(get.args) == 7
    assert not get.kwargs


def test_remote_store_of_a_computed_tensor_takes_its_tile() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[4, 16], pl.FP32], d: pld.DistributedTensor[[4, 16], pl.FP32]):
        y = pl.mul(x, 2.0)
        pld.remote_store(y, d, 1, [0, 0], atomic=pld.AtomicType.Add)
        return d

    made = converted(kernel)
    (store,) = calls(made, "pld.tile.remote_store")
    assert isinstance(store.args[0].type, ir.TileType)
    assert dict(store.kwargs) == {"atomic": 1}


def test_windows_are_loaded_after_the_wait_that_fills_them() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(d: pld.DistributedTensor[[4, 16], pl.FP32], s: pld.DistributedTensor[[4, 1], pl.INT32]):
        row = pl.slice(d, [1, 16], [2, 0])
        pld.system.wait(s, [0, 0], 1, cmp=pld.WaitCmp.Ge)
        y = pl.add(row, 1.0)
        z = pl.add(d, 1.0)
        return y, z

    names = order(converted(kernel))
    assert names.index("pld.system.wait") < names.index("tile.load")
    assert names.count("tile.load") == 2


def test_windows_of_kernels_that_wait_for_nobody_are_loaded_at_entry() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[4, 16], pl.FP32], d: pld.DistributedTensor[[4, 16], pl.FP32]):
        y = pl.mul(x, 2.0)
        z = pl.add(y, d)
        return z

    names = order(converted(kernel))
    assert names[:2] == ["tile.load", "tile.load"]


@pytest.mark.parametrize("leaf", ["put", "get"])
def test_transfers_of_unknown_extent_say_their_piece(leaf: str) -> None:
    n = pl.dynamic("n")

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(x: pl.Tensor[[4, n], pl.FP32], d: pld.DistributedTensor[[4, n], pl.FP32]):
        pld.tensor.put(d, 1, x, chunk_cols=32)
        pld.tensor.get(d, 1, d, chunk_cols=32)
        return d

    made = converted(kernel)
    assert [shape(c) for c in calls(made, "tile.create")] == [[4, 32], [4, 32]]
    assert len(calls(made, f"pld.tile.{leaf}")) == 1
