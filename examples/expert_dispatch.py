"""A mixture of experts, one on each rank: tokens go to the rank of their expert, and what it makes of them comes back.

Every rank has room for CAPACITY tokens for each expert; what is beyond is dropped, as the counts say.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import passes, runtime

RANKS, CAPACITY, WIDTH = 4, 6, 32
ROWS = RANKS * CAPACITY


@pl.program
class Experts:
    @pl.function(type=pl.FunctionType.InCore)
    def fill(
        self,
        x: pl.Tensor[[ROWS, WIDTH], pl.FP32],
        n: pl.Tensor[[RANKS, 1], pl.INT32],
        tokens: pl.Out[pld.DistributedTensor[[ROWS, WIDTH], pl.FP32]],
        counts: pl.Out[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
    ):
        pl.store(pl.load(x, [0, 0], [ROWS, WIDTH]), [0, 0], tokens)
        pl.store(pl.load(n, [0, 0], [RANKS, 1]), [0, 0], counts)

    @pl.function(type=pl.FunctionType.InCore)
    def work(
        self,
        arrived: pld.DistributedTensor[[ROWS, WIDTH], pl.FP32],
        counts: pld.DistributedTensor[[RANKS, 1], pl.INT32],
        weights: pl.Tensor[[1, WIDTH], pl.FP32],
        results: pl.Out[pld.DistributedTensor[[ROWS, WIDTH], pl.FP32]],
    ):
        row = pl.load(weights, [0, 0], [1, WIDTH])
        for sender in pl.range(RANKS):
            count: pl.Scalar[pl.INT32] = pl.read(counts, [sender, 0])
            some = pl.load(arrived, [sender * CAPACITY, 0], [CAPACITY, WIDTH], [pl.cast(count, pl.INDEX), WIDTH])
            pl.store(pl.tile.maximums(pl.tile.col_expand_mul(some, row), 0.0), [sender * CAPACITY, 0], results)

    @pl.function(type=pl.FunctionType.InCore)
    def read(
        self, combined: pld.DistributedTensor[[ROWS, WIDTH], pl.FP32], out: pl.Out[pl.Tensor[[ROWS, WIDTH], pl.FP32]]
    ) -> pl.Tensor[[ROWS, WIDTH], pl.FP32]:
        out = pl.store(pl.load(combined, [0, 0], [ROWS, WIDTH]), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def stage(
        self,
        x: pl.Tensor[[ROWS, WIDTH], pl.FP32],
        n: pl.Tensor[[RANKS, 1], pl.INT32],
        tokens: pl.Out[pld.DistributedTensor[[ROWS, WIDTH], pl.FP32]],
        counts: pl.Out[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
    ):
        self.fill(x, n, tokens, counts)

    @pl.function(type=pl.FunctionType.Orchestration)
    def expert(
        self,
        arrived: pld.DistributedTensor[[ROWS, WIDTH], pl.FP32],
        counts: pld.DistributedTensor[[RANKS, 1], pl.INT32],
        weights: pl.Tensor[[1, WIDTH], pl.FP32],
        results: pl.Out[pld.DistributedTensor[[ROWS, WIDTH], pl.FP32]],
    ):
        self.work(arrived, counts, weights, results)

    @pl.function(type=pl.FunctionType.Orchestration)
    def fetch(
        self, combined: pld.DistributedTensor[[ROWS, WIDTH], pl.FP32], out: pl.Out[pl.Tensor[[ROWS, WIDTH], pl.FP32]]
    ) -> pl.Tensor[[ROWS, WIDTH], pl.FP32]:
        out = self.read(combined, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, ROWS, WIDTH], pl.FP32],
        n: pl.Tensor[[RANKS, RANKS, 1], pl.INT32],
        weights: pl.Tensor[[RANKS, 1, WIDTH], pl.FP32],
        out: pl.Out[pl.Tensor[[RANKS, ROWS, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[RANKS, ROWS, WIDTH], pl.FP32]:
        tokens_buffer = pld.alloc_window_buffer([ROWS, WIDTH], dtype=pl.FP32)
        arrived_buffer = pld.alloc_window_buffer([ROWS, WIDTH], dtype=pl.FP32)
        results_buffer = pld.alloc_window_buffer([ROWS, WIDTH], dtype=pl.FP32)
        combined_buffer = pld.alloc_window_buffer([ROWS, WIDTH], dtype=pl.FP32)
        sent_buffer = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
        received_buffer = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
        returned_buffer = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
        cells = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
        tokens = pld.window(tokens_buffer, [ROWS, WIDTH], dtype=pl.FP32)
        arrived = pld.window(arrived_buffer, [ROWS, WIDTH], dtype=pl.FP32)
        results = pld.window(results_buffer, [ROWS, WIDTH], dtype=pl.FP32)
        combined = pld.window(combined_buffer, [ROWS, WIDTH], dtype=pl.FP32)
        sent = pld.window(sent_buffer, [RANKS, 1], dtype=pl.INT32)
        received = pld.window(received_buffer, [RANKS, 1], dtype=pl.INT32)
        returned = pld.window(returned_buffer, [RANKS, 1], dtype=pl.INT32)
        signal = pld.window(cells, [RANKS, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            self.stage(x[r], n[r], tokens, sent, device=r)
        arrived = pld.tensor.all_to_all_v(tokens, arrived, signal, sent, received)
        for r in pl.range(pld.world_size()):
            self.expert(arrived, received, weights[r], results, device=r)
        combined = pld.tensor.all_to_all_v(results, combined, signal, received, returned)
        for r in pl.range(pld.world_size()):
            self.fetch(combined, out[r], device=r)
        return out


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """Tokens of every rank in blocks by expert, how many there are (more than there is room for, in places), and the experts' weights."""
    random = np.random.default_rng(0)
    x = random.normal(size=(RANKS, ROWS, WIDTH)).astype(np.float32)
    n = random.integers(0, CAPACITY + 3, (RANKS, RANKS, 1)).astype(np.int32)
    weights = random.normal(size=(RANKS, 1, WIDTH)).astype(np.float32)
    return x, n, weights, np.zeros_like(x)


def reference(x: np.ndarray, n: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What comes back to every rank: tokens times the weights of their expert, zeros where there is no token."""
    blocks = x.reshape(RANKS, RANKS, CAPACITY, WIDTH)
    taken = np.arange(CAPACITY)[:, None] < np.minimum(n, CAPACITY)[:, :, None]
    return np.where(taken, np.maximum(blocks * weights, 0), 0).reshape(x.shape)


def main() -> None:
    """Run it as written and lowered under several schedules."""
    lowered = passes.PassManager.get_strategy().run_passes(Experts)
    for program in (Experts, lowered):
        for schedule in ("round_robin", "greedy", "random:0", "random:1"):
            x, n, weights, out = inputs(RANKS)
            runtime.run(program, x, n, weights, out, ranks=RANKS, schedule=schedule, check=True)
            np.testing.assert_array_equal(out, reference(x, n, weights))
    sent, kept = int(n.sum()), int(np.minimum(n, CAPACITY).sum())
    print(f"{RANKS} ranks: {kept} of {sent} tokens went to their experts and came back")


if __name__ == "__main__":
    main()
