"""Kernels with one collective each, for the tests of its lowering."""

from __future__ import annotations

from typing import Any

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir

REDUCE = pld.ReduceOp


def program(kernel: Any) -> ir.Program:
    """A program of one kernel."""
    return ir.Program([kernel], "P")


def allreduce(shape: Any, signal: Any, dtype: Any = pl.FP32, op: Any = REDUCE.Sum, mode: str = "mesh") -> ir.Program:
    """``data = allreduce(data, signal)``."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(data: pl.InOut[pld.DistributedTensor[shape, dtype]], signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]]):
        data = pld.tensor.allreduce(data, signal, op=op, mode=mode)
        return data

    return program(kernel)


def ring(size: int, ranks: int, dtype: Any = pl.FP32, op: Any = REDUCE.Sum) -> ir.Program:
    """A ring allreduce of one row."""
    return allreduce([1, size], [2 * (ranks - 1), ranks], dtype, op, "ring")


def partial(
    shape: list[int], valid: list[int], signal: list[int], mode: str = "mesh", dtype: Any = pl.FP32, op: Any = REDUCE.Sum
) -> ir.Program:
    """An allreduce of part of a tensor."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[shape, dtype, pl.TensorView(valid_shape=valid)]],
        signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]],
    ):
        data = pld.tensor.allreduce(data, signal, op=op, mode=mode)
        return data

    return program(kernel)


def barrier(ranks: int) -> ir.Program:
    """``signal = barrier(signal)``."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]]):
        signal = pld.tensor.barrier(signal)
        return signal

    return program(kernel)


def broadcast(ranks: int, root: int = 1, shape: Any = (2, 3, 16)) -> ir.Program:
    """``data = broadcast(data, signal)``."""
    dims = [*shape]

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[dims, pl.FP32]], signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]]
    ):
        data = pld.tensor.broadcast(data, signal, root=root)
        return data

    return program(kernel)


def reduce_scatter(ranks: int, size: int = 24) -> ir.Program:
    """``data = reduce_scatter(data, signal)``."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[ranks, size], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pld.tensor.reduce_scatter(data, signal)
        return data

    return program(kernel)


def allgather(ranks: int, size: int = 24) -> ir.Program:
    """``data = allgather(x, data, signal)`` of a tensor."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[1, size], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[ranks, size], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pld.tensor.allgather(x, data, signal)
        return data

    return program(kernel)


def allgather_of_a_tile(ranks: int, size: int = 24) -> ir.Program:
    """The same of a tile that the kernel computed."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[1, size], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[ranks, size], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        y = pl.add(pl.load(x, [0, 0], [1, size]), 1.0)
        data = pld.tensor.allgather(y, data, signal)
        return data

    return program(kernel)


def all_to_all(ranks: int, size: int = 24) -> ir.Program:
    """``data = all_to_all(x, data, signal)``."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[ranks, size], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[ranks, size], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pld.tensor.all_to_all(x, data, signal)
        return data

    return program(kernel)


def all_to_all_v(ranks: int, rows: int = 4, size: int = 8, flat: bool = True) -> ir.Program:
    """``data = all_to_all_v(x, data, signal, counts, received)``."""
    counts = [ranks] if flat else [ranks, 1]

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[ranks * rows, size], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[ranks * rows, size], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
        send: pl.Tensor[counts, pl.INT32],
        received: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pld.tensor.all_to_all_v(x, data, signal, send, received)
        return data

    return program(kernel)
