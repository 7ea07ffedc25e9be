"""A sum in two steps on one signal: reduce_scatter leaves every rank one row of the sum, allgather hands all rows to all ranks."""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import passes, runtime

RANKS = 4
SIZE = 300


@pl.program
class ScatterAndGather:
    @pl.function(type=pl.FunctionType.InCore)
    def fill(
        self, x: pl.Tensor[[RANKS, SIZE], pl.FP32], parts: pl.Out[pld.DistributedTensor[[RANKS, SIZE], pl.FP32]]
    ) -> pld.DistributedTensor[[RANKS, SIZE], pl.FP32]:
        parts = pl.store(pl.load(x, [0, 0], [RANKS, SIZE]), [0, 0], parts)
        return parts

    @pl.function(type=pl.FunctionType.InCore)
    def own_row(
        self, parts: pld.DistributedTensor[[RANKS, SIZE], pl.FP32], mine: pl.Out[pld.DistributedTensor[[1, SIZE], pl.FP32]]
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        me = pl.cast(pld.system.rank(pld.system.get_comm_ctx(parts)), pl.INDEX)
        mine = pl.store(pl.load(parts, [me, 0], [1, SIZE]), [0, 0], mine)
        return mine

    @pl.function(type=pl.FunctionType.InCore)
    def read(
        self, total: pld.DistributedTensor[[RANKS, SIZE], pl.FP32], out: pl.Out[pl.Tensor[[RANKS, SIZE], pl.FP32]]
    ) -> pl.Tensor[[RANKS, SIZE], pl.FP32]:
        out = pl.store(pl.load(total, [0, 0], [RANKS, SIZE]), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def stage(
        self, x: pl.Tensor[[RANKS, SIZE], pl.FP32], parts: pl.Out[pld.DistributedTensor[[RANKS, SIZE], pl.FP32]]
    ) -> pld.DistributedTensor[[RANKS, SIZE], pl.FP32]:
        parts = self.fill(x, parts)
        return parts

    @pl.function(type=pl.FunctionType.Orchestration)
    def pick(
        self, parts: pld.DistributedTensor[[RANKS, SIZE], pl.FP32], mine: pl.Out[pld.DistributedTensor[[1, SIZE], pl.FP32]]
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        mine = self.own_row(parts, mine)
        return mine

    @pl.function(type=pl.FunctionType.Orchestration)
    def fetch(
        self, total: pld.DistributedTensor[[RANKS, SIZE], pl.FP32], out: pl.Out[pl.Tensor[[RANKS, SIZE], pl.FP32]]
    ) -> pl.Tensor[[RANKS, SIZE], pl.FP32]:
        out = self.read(total, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self, x: pl.Tensor[[RANKS, RANKS, SIZE], pl.FP32], out: pl.Out[pl.Tensor[[RANKS, RANKS, SIZE], pl.FP32]]
    ) -> pl.Tensor[[RANKS, RANKS, SIZE], pl.FP32]:
        parts_buffer = pld.alloc_window_buffer([RANKS, SIZE], dtype=pl.FP32)
        mine_buffer = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        total_buffer = pld.alloc_window_buffer([RANKS, SIZE], dtype=pl.FP32)
        cells = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
        parts = pld.window(parts_buffer, [RANKS, SIZE], dtype=pl.FP32)
        mine = pld.window(mine_buffer, [1, SIZE], dtype=pl.FP32)
        total = pld.window(total_buffer, [RANKS, SIZE], dtype=pl.FP32)
        signal = pld.window(cells, [RANKS, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            parts = self.stage(x[r], parts, device=r)
        parts = pld.tensor.reduce_scatter(parts, signal, op=pld.ReduceOp.Sum)
        for r in pl.range(pld.world_size()):
            mine = self.pick(parts, mine, device=r)
        total = pld.tensor.allgather(mine, total, signal)
        for r in pl.range(pld.world_size()):
            self.fetch(total, out[r], device=r)
        return out


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """A matrix for each rank, and room for every rank's copy of their sum."""
    x = np.random.default_rng(0).normal(size=(RANKS, RANKS, SIZE)).astype(np.float32)
    return x, np.zeros_like(x)


def main() -> None:
    """Run it as written and lowered under several schedules."""
    lowered = passes.PassManager.get_strategy().run_passes(ScatterAndGather)
    for program in (ScatterAndGather, lowered):
        for schedule in ("round_robin", "greedy", "random:0", "random:1"):
            x, out = inputs(RANKS)
            _, report = runtime.run(program, x, out, ranks=RANKS, schedule=schedule, report=True, check=True)
            np.testing.assert_allclose(out, np.broadcast_to(x.sum(axis=0, dtype=np.float64), x.shape), atol=1e-5)
            assert not any(cells.any() for cells in report.signals["cells"])
    print(f"{RANKS} ranks: two collectives on one signal, which is zero again; every rank has the sum")


if __name__ == "__main__":
    main()
