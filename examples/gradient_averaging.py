"""Data-parallel training: four ranks have a shard of the data each, and step along the average of their gradients.

The model is y = x @ w with a squared error. One run of the program is one step; between steps the weights go through the host.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import runtime

RANKS, ROWS, FEATURES, OUTPUTS = 4, 32, 16, 16
RATE = 0.25


@pl.program
class Train:
    @pl.function(type=pl.FunctionType.InCore)
    def step(
        self,
        x: pl.Tensor[[ROWS, FEATURES], pl.FP32],
        y: pl.Tensor[[ROWS, OUTPUTS], pl.FP32],
        w: pl.Tensor[[FEATURES, OUTPUTS], pl.FP32],
        shared: pl.InOut[pld.DistributedTensor[[FEATURES, OUTPUTS], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[FEATURES, OUTPUTS], pl.FP32]],
    ) -> pl.Tensor[[FEATURES, OUTPUTS], pl.FP32]:
        error = pl.sub(pl.matmul(x, w), y)
        gradient = pl.matmul(x, error, a_trans=True)
        shared = pl.assemble(shared, gradient, [0, 0])
        shared = pld.tensor.allreduce(shared, signal, op=pld.ReduceOp.Sum)
        update = pl.mul(shared, -RATE / (RANKS * ROWS))
        out = pl.assemble(out, pl.add(w, update), [0, 0])
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(
        self,
        x: pl.Tensor[[ROWS, FEATURES], pl.FP32],
        y: pl.Tensor[[ROWS, OUTPUTS], pl.FP32],
        w: pl.Tensor[[FEATURES, OUTPUTS], pl.FP32],
        shared: pl.InOut[pld.DistributedTensor[[FEATURES, OUTPUTS], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[RANKS, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[FEATURES, OUTPUTS], pl.FP32]],
    ) -> pl.Tensor[[FEATURES, OUTPUTS], pl.FP32]:
        out = self.step(x, y, w, shared, signal, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, ROWS, FEATURES], pl.FP32],
        y: pl.Tensor[[RANKS, ROWS, OUTPUTS], pl.FP32],
        w: pl.Tensor[[FEATURES, OUTPUTS], pl.FP32],
        out: pl.Out[pl.Tensor[[RANKS, FEATURES, OUTPUTS], pl.FP32]],
    ) -> pl.Tensor[[RANKS, FEATURES, OUTPUTS], pl.FP32]:
        shared_buffer = pld.alloc_window_buffer([FEATURES, OUTPUTS], dtype=pl.FP32)
        signal_buffer = pld.alloc_window_buffer([RANKS, 1], dtype=pl.INT32)
        shared = pld.window(shared_buffer, [FEATURES, OUTPUTS], dtype=pl.FP32)
        signal = pld.window(signal_buffer, [RANKS, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            self.chip(x[r], y[r], w, shared, signal, out[r], device=r)
        return out


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shards of inputs and of what the true weights make of them, and the true weights."""
    random = np.random.default_rng(0)
    true = random.normal(size=(FEATURES, OUTPUTS)).astype(np.float32)
    x = random.normal(size=(RANKS, ROWS, FEATURES)).astype(np.float32)
    return x, x @ true, true


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """The first step, from weights of zero."""
    x, y, true = data()
    return x, y, np.zeros_like(true), np.zeros((RANKS, *true.shape), np.float32)


def one_step(x: np.ndarray, y: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The same step in float64 on all data at once."""
    x, y, w = (a.astype(np.float64) for a in (x, y, w))
    rows, answers = x.reshape(-1, FEATURES), y.reshape(-1, OUTPUTS)
    return w - RATE / len(rows) * rows.T @ (rows @ w - answers)


def main() -> None:
    """Train for 60 steps; every rank ends with the same weights."""
    x, y, true = data()
    w = np.zeros_like(true)
    for step in range(60):
        new = runtime.run(Train, x, y, w, np.zeros((RANKS, *w.shape), np.float32), ranks=RANKS)
        np.testing.assert_allclose(new[0], one_step(x, y, w), atol=1e-5)
        for other in new[1:]:
            np.testing.assert_allclose(other, new[0], atol=1e-6)
        w = new[0]
        if step % 20 == 19:
            print(f"after {step + 1} steps: largest error of a weight {np.abs(w - true).max():.1e}")


if __name__ == "__main__":
    main()
