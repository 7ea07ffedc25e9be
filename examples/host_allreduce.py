"""An allreduce in one line of a host orchestrator: no signal, the passes make one."""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import passes, runtime

RANKS = pl.dynamic("RANKS")
ROWS, COLUMNS = 8, 100


@pl.program
class Sum:
    @pl.function(type=pl.FunctionType.InCore)
    def fill(
        self,
        x: pl.Tensor[[ROWS, COLUMNS], pl.FP32],
        data: pl.Out[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
    ) -> pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]:
        data = pl.store(pl.load(x, [0, 0], [ROWS, COLUMNS]), [0, 0], data)
        return data

    @pl.function(type=pl.FunctionType.InCore)
    def read(
        self,
        data: pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLUMNS], pl.FP32]:
        out = pl.store(pl.load(data, [0, 0], [ROWS, COLUMNS]), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def stage(
        self,
        x: pl.Tensor[[ROWS, COLUMNS], pl.FP32],
        data: pl.Out[pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]],
    ) -> pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32]:
        data = self.fill(x, data)
        return data

    @pl.function(type=pl.FunctionType.Orchestration)
    def fetch(
        self,
        data: pld.DistributedTensor[[ROWS, COLUMNS], pl.FP32],
        out: pl.Out[pl.Tensor[[ROWS, COLUMNS], pl.FP32]],
    ) -> pl.Tensor[[ROWS, COLUMNS], pl.FP32]:
        out = self.read(data, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, ROWS, COLUMNS], pl.FP32],
        out: pl.Out[pl.Tensor[[RANKS, ROWS, COLUMNS], pl.FP32]],
    ) -> pl.Tensor[[RANKS, ROWS, COLUMNS], pl.FP32]:
        buffer = pld.alloc_window_buffer([ROWS, COLUMNS], dtype=pl.FP32)
        data = pld.window(buffer, [ROWS, COLUMNS], dtype=pl.FP32)
        for r in pl.range(pld.world_size()):
            data = self.stage(x[r], data, device=r)
        data = pld.tensor.allreduce(data, op=pld.ReduceOp.Sum)
        for r in pl.range(pld.world_size()):
            self.fetch(data, out[r], device=r)
        return out


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """A block of rows for each rank, and room for every rank's copy of the sum."""
    x = np.random.default_rng(0).normal(size=(ranks, ROWS, COLUMNS)).astype(np.float32)
    return x, np.zeros_like(x)


def main() -> None:
    """Run it as written and lowered on 1 to 8 ranks."""
    lowered = passes.PassManager.get_strategy().run_passes(Sum)
    for ranks in (1, 2, 4, 8):
        bits = []
        for program in (Sum, lowered):
            x, out = inputs(ranks)
            _, report = runtime.run(program, x, out, ranks=ranks, report=True, check=True)
            np.testing.assert_allclose(out, np.broadcast_to(x.sum(axis=0, dtype=np.float64), out.shape), atol=1e-5)
            assert not any(cells.any() for signal in report.signals.values() for cells in signal)
            bits.append(out)
        np.testing.assert_array_equal(*bits)
        print(f"{ranks} ranks: as written and lowered give the same bits, with {report.statistics['posts']} posts")


if __name__ == "__main__":
    main()
