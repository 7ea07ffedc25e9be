"""Two groups of ranks at once: ranks 0 and 1 add up their rows, ranks 2 to 4 take the largest of theirs. Neither waits for the other."""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import passes, runtime

SIZE = 300


@pl.program
class TwoGroups:
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
        self, x: pl.Tensor[[5, 1, SIZE], pl.FP32], out: pl.Out[pl.Tensor[[5, 1, SIZE], pl.FP32]]
    ) -> pl.Tensor[[5, 1, SIZE], pl.FP32]:
        sums_buffer = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        sums_cells = pld.alloc_window_buffer([2], dtype=pl.INT32)
        sums = pld.window(sums_buffer, [1, SIZE], dtype=pl.FP32)
        sums_signal = pld.window(sums_cells, [2], dtype=pl.INT32)
        largest_buffer = pld.alloc_window_buffer([1, SIZE], dtype=pl.FP32)
        largest_cells = pld.alloc_window_buffer([3], dtype=pl.INT32)
        largest = pld.window(largest_buffer, [1, SIZE], dtype=pl.FP32)
        largest_signal = pld.window(largest_cells, [3], dtype=pl.INT32)
        for r in pl.range(0, 2):
            sums = self.stage(x[r], sums, device=r)
        for r in pl.range(2, 5):
            largest = self.stage(x[r], largest, device=r)
        sums = pld.tensor.allreduce(sums, sums_signal, op=pld.ReduceOp.Sum)
        largest = pld.tensor.allreduce(largest, largest_signal, op=pld.ReduceOp.Max)
        for r in pl.range(0, 2):
            self.fetch(sums, out[r], device=r)
        for r in pl.range(2, 5):
            self.fetch(largest, out[r], device=r)
        return out


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """A row for each of the five ranks, and room for what becomes of them."""
    x = np.random.default_rng(0).normal(size=(5, 1, SIZE)).astype(np.float32)
    return x, np.zeros_like(x)


def main() -> None:
    """Run it as written and lowered, on five ranks and with idle ones beside them."""
    lowered = passes.PassManager.get_strategy().run_passes(TwoGroups)
    for ranks in (5, 8):
        for program in (TwoGroups, lowered):
            x, out = inputs(ranks)
            _, report = runtime.run(program, x, out, ranks=ranks, report=True, check=True)
            np.testing.assert_allclose(out[:2], np.broadcast_to(x[:2].sum(axis=0), (2, 1, SIZE)), atol=1e-6)
            np.testing.assert_array_equal(out[2:], np.broadcast_to(x[2:].max(axis=0), (3, 1, SIZE)))
            assert [len(report.windows[name]) for name in ("sums_buffer", "largest_buffer")] == [2, 3]
        print(f"{ranks} ranks: two of them have their sum, three their maximum")


if __name__ == "__main__":
    main()
