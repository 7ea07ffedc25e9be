"""One sum in two ways: a mesh in which every rank reads all others, shared by several cores, and a ring in which partial sums go round."""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import passes, runtime

RANKS = 8
SIZE = 5000
CORES = 4


@pl.program
class MeshAndRing:
    @pl.function(type=pl.FunctionType.InCore)
    def fill(
        self, x: pl.Tensor[[1, SIZE], pl.FP32], data: pl.Out[pld.DistributedTensor[[1, SIZE], pl.FP32]]
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
        return data

    @pl.function(type=pl.FunctionType.InCore)
    def read(
        self, data: pld.DistributedTensor[[1, SIZE], pl.FP32], out: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]]
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        out = pl.store(pl.load(data, [0, 0], [1, SIZE]), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def stage(
        self, x: pl.Tensor[[1, SIZE], pl.FP32], data: pl.Out[pld.DistributedTensor[[1, SIZE], pl.FP32]]
    ) -> pld.DistributedTensor[[1, SIZE], pl.FP32]:
        data = self.fill(x, data)
        return data

    @pl.function(type=pl.FunctionType.Orchestration)
    def fetch(
        self, data: pld.DistributedTensor[[1, SIZE], pl.FP32], out: pl.Out[pl.Tensor[[1, SIZE], pl.FP32]]
    ) -> pl.Tensor[[1, SIZE], pl.FP32]:
        out = self.read(data, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, 1, SIZE], pl.FP32],
        by_mesh: pl.Out[pl.Tensor[[RANKS, 1, SIZE], pl.FP32]],
        by_ring: pl.Out[pl.Tensor[[RANKS, 1, SIZE], pl.FP32]],
    ) -> tuple[pl.Tensor[[RANKS, 1, SIZE], pl.FP32], pl.Tensor[[RANKS, 1, SIZE], pl.FP32]]:
        mesh_buffer = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        ring_buffer = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        mesh_cells = pld.alloc_window_buffer([RANKS, CORES], dtype=pl.INT32)
        ring_cells = pld.alloc_window_buffer([2 * (RANKS - 1) + 1, RANKS], dtype=pl.INT32)
        mesh = pld.window(mesh_buffer, [1, SIZE], dtype=pl.FP32)
        ring = pld.window(ring_buffer, [1, SIZE], dtype=pl.FP32)
        mesh_signal = pld.window(mesh_cells, [RANKS, CORES], dtype=pl.INT32)
        ring_signal = pld.window(ring_cells, [2 * (RANKS - 1) + 1, RANKS], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            mesh = self.stage(x[r], mesh, device=r)
            ring = self.stage(x[r], ring, device=r)
        mesh = pld.tensor.allreduce(mesh, mesh_signal, op=pld.ReduceOp.Sum, core_num=CORES)
        ring = pld.tensor.allreduce(ring, ring_signal, op=pld.ReduceOp.Sum, mode="ring")
        for r in pl.range(pld.world_size()):
            self.fetch(mesh, by_mesh[r], device=r)
            self.fetch(ring, by_ring[r], device=r)
        return by_mesh, by_ring


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """A row for each rank, and room for every rank's copy of both sums."""
    x = np.random.default_rng(0).normal(size=(RANKS, 1, SIZE)).astype(np.float32)
    return x, np.zeros_like(x), np.zeros_like(x)


def main() -> None:
    """Run both as written and lowered; say how the sums differ between ranks."""
    lowered = passes.PassManager.get_strategy().run_passes(MeshAndRing)
    bits = []
    for program in (MeshAndRing, lowered):
        x, by_mesh, by_ring = inputs(RANKS)
        runtime.run(program, x, by_mesh, by_ring, ranks=RANKS, schedule="random:0", check=True)
        exact = np.broadcast_to(x.sum(axis=0, dtype=np.float64), x.shape)
        np.testing.assert_allclose(by_mesh, exact, atol=1e-5)
        np.testing.assert_allclose(by_ring, exact, atol=1e-5)
        bits.append((by_mesh, by_ring))
    for one, other in zip(*bits, strict=True):
        np.testing.assert_array_equal(one, other)
    for name, found in zip(("mesh", "ring"), bits[0], strict=True):
        differ = int((found != found[0]).any(axis=0).sum())
        print(f"{name}: as written and lowered give the same bits; ranks differ in the last bits of {differ} of {SIZE} sums")


if __name__ == "__main__":
    main()
