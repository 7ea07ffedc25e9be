"""The host passes do not change what a host program computes; what comes out is checked against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from host_programs import SSA, STAGES

import pypto.language as pl
from pypto import passes
from pypto.runtime import run
from pypto.testing import assert_roundtrip

TEXT = """
import pypto.language as pl
import pypto.language.distributed as pld

R = pl.dynamic("R")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def put(self, x: pl.Tensor[[1, 16], pl.FP32], d: pl.Out[pld.DistributedTensor[[1, 16], pl.FP32]]):
        d = pl.store(pl.load(x, [0, 0], [1, 16]), [0, 0], d)
        return d

    @pl.function(type=pl.FunctionType.InCore)
    def take(self, d: pld.DistributedTensor[[1, 16], pl.FP32], o: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
        ctx = pld.system.get_comm_ctx(d)
        n = pld.system.nranks(ctx)
        o = pl.store(pl.tile.muls(pl.load(d, [0, 0], [1, 16]), pl.cast(n, pl.FP32)), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def stage(self, x: pl.Tensor[[1, 16], pl.FP32], d: pl.Out[pld.DistributedTensor[[1, 16], pl.FP32]]):
        d = self.put(x, d)
        return d

    @pl.function(type=pl.FunctionType.Orchestration)
    def fetch(self, d: pld.DistributedTensor[[1, 16], pl.FP32], o: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
        o = self.take(d, o)
        return o

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[R, 1, 16], pl.FP32], o: pl.Out[pl.Tensor[[R, 1, 16], pl.FP32]]):
        buf = pld.alloc_window_buffer([1, 16], dtype=pl.FP32)
        d = pld.window(buf, [1, 16], dtype=pl.FP32)
        for r in pl.range(pld.world_size()):
            d = self.stage(x[r], d, device=r)
        d = pld.tensor.allreduce(d)
        for r in pl.range(pld.world_size()):
            self.fetch(d, o[r], device=r)
        return o
"""


@pytest.mark.parametrize("ssa", [False, True])
@pytest.mark.parametrize("ranks", [1, 3])
def test_every_stage_computes_the_same(ssa: bool, ranks: int) -> None:
    program: Any = pl.parse(TEXT)
    x = np.random.default_rng(ranks).normal(size=(ranks, 1, 16)).astype(np.float32)
    expected = ranks * np.broadcast_to(x.astype(np.float64).sum(axis=0), x.shape)
    for name in [*(SSA.split(",") if ssa else []), *STAGES]:
        program = getattr(passes, name)()(program)
        assert_roundtrip(program, formats=(True,))
        out = np.zeros_like(x)
        run(program, x, out, ranks=ranks)
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5, err_msg=name)
