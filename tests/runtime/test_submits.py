"""Submits: tasks in order, on this rank or on another one."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.runtime import RunError, run


def test_a_submit_on_this_rank() -> None:
    @pl.program
    class Local:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, x: pl.Tensor[[1, 16], pl.FP32], o: pl.Out[pl.Tensor[[1, 16], pl.FP32]]) -> pl.Tensor[[1, 16], pl.FP32]:
            o = pl.store(pl.add(pl.load(x, [0, 0], [1, 16]), 1.0), [0, 0], o)
            return o

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(self, x: pl.Tensor[[1, 16], pl.FP32], o: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
            room = pl.create_tensor([1, 16], dtype=pl.FP32)
            room, first = pl.submit(self.kernel, x, room)
            o, _second = pl.submit(self.kernel, room, o, deps=[first])
            return o

    out = np.zeros((1, 16), np.float32)
    run(Local, np.zeros((1, 16), np.float32), out)
    np.testing.assert_array_equal(out, np.full((1, 16), 2))


def test_a_submit_to_a_rank() -> None:
    @pl.program
    class Remote:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            self, data: pld.DistributedTensor[[1, 8], pl.INT32], by: pl.Scalar[pl.INT32]
        ) -> pld.DistributedTensor[[1, 8], pl.INT32]:
            v: pl.Scalar[pl.INT32] = pl.read(data, [0, 0])
            pl.write(data, [0, 0], pl.cast(v * 10 + by, pl.INT32))
            return data

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(
            self, data: pld.DistributedTensor[[1, 8], pl.INT32], by: pl.Scalar[pl.INT32]
        ) -> pld.DistributedTensor[[1, 8], pl.INT32]:
            data = self.kernel(data, by)
            return data

        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self):
            buffer = pld.alloc_window_buffer([1, 8], dtype=pl.INT32)
            data = pld.window(buffer, [1, 8], dtype=pl.INT32)
            for r in pl.range(pld.world_size()):
                data, first = pl.submit(self.chip, data, pl.cast(r + 1, pl.INT32), attrs={"device": r})
                data, _second = pl.submit(self.chip, data, pl.cast(7, pl.INT32), deps=[first], attrs={"device": r})
            return data

    found = run(Remote, ranks=3)
    assert [int(w[0, 0]) for w in found] == [17, 27, 37]


def test_a_submit_to_several_cores() -> None:
    @pl.program
    class Cores:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, x: pl.Tensor[[1, 16], pl.FP32], o: pl.Out[pl.Tensor[[1, 16], pl.FP32]]) -> pl.Tensor[[1, 16], pl.FP32]:
            o = pl.store(pl.load(x, [0, 0], [1, 16]), [0, 0], o)
            return o

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(self, x: pl.Tensor[[1, 16], pl.FP32], o: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
            o, _task = pl.spmd_submit(self.kernel, x, o, core_num=2)
            return o

    with pytest.raises(RunError, match="a submit with core_num cannot be run"):
        run(Cores, np.zeros((1, 16), np.float32), np.zeros((1, 16), np.float32))
