"""A linear layer split between ranks: each has some columns of x and the rows of w that belong to them. An allreduce adds them up."""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import runtime

RANKS = pl.dynamic("RANKS")
MOST, TOKENS, SHARD, WIDTH = 8, 16, 32, 64


@pl.program
class Linear:
    @pl.function(type=pl.FunctionType.InCore)
    def layer(
        self,
        x: pl.Tensor[[TOKENS, SHARD], pl.FP32],
        w: pl.Tensor[[SHARD, WIDTH], pl.FP32],
        partial: pl.InOut[pld.DistributedTensor[[TOKENS, WIDTH], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[MOST, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[TOKENS, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[TOKENS, WIDTH], pl.FP32]:
        partial = pl.assemble(partial, pl.matmul(x, w), [0, 0])
        partial = pld.tensor.allreduce(partial, signal, op=pld.ReduceOp.Sum)
        out = pl.assemble(out, pl.maximum(partial, 0.0), [0, 0])
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(
        self,
        x: pl.Tensor[[TOKENS, SHARD], pl.FP32],
        w: pl.Tensor[[SHARD, WIDTH], pl.FP32],
        partial: pl.InOut[pld.DistributedTensor[[TOKENS, WIDTH], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[MOST, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[TOKENS, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[TOKENS, WIDTH], pl.FP32]:
        out = self.layer(x, w, partial, signal, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, TOKENS, SHARD], pl.FP32],
        w: pl.Tensor[[RANKS, SHARD, WIDTH], pl.FP32],
        out: pl.Out[pl.Tensor[[RANKS, TOKENS, WIDTH], pl.FP32]],
    ) -> pl.Tensor[[RANKS, TOKENS, WIDTH], pl.FP32]:
        partial_buffer = pld.alloc_window_buffer([TOKENS, WIDTH], dtype=pl.FP32)
        signal_buffer = pld.alloc_window_buffer([MOST, 1], dtype=pl.INT32)
        partial = pld.window(partial_buffer, [TOKENS, WIDTH], dtype=pl.FP32)
        signal = pld.window(signal_buffer, [MOST, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            self.chip(x[r], w[r], partial, signal, out[r], device=r)
        return out


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """The split of x by columns, that of w by rows, and room for every rank's copy of the result."""
    random = np.random.default_rng(0)
    x = random.normal(size=(ranks, TOKENS, SHARD)).astype(np.float32)
    w = random.normal(size=(ranks, SHARD, WIDTH)).astype(np.float32)
    return x, w, np.zeros((ranks, TOKENS, WIDTH), np.float32)


def reference(x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """The whole layer in float64 on one machine."""
    return np.maximum(np.concatenate(list(x.astype(np.float64)), axis=1) @ np.concatenate(list(w.astype(np.float64))), 0)


def main() -> None:
    """Run it on 1 to 8 ranks, as written and lowered."""
    from pypto import passes

    lowered = Linear
    for step in passes.PassManager.get_strategy().passes:
        lowered = step(lowered)
    for ranks in (1, 2, 3, 8):
        for program in (Linear, lowered):
            x, w, out = inputs(ranks)
            found = runtime.run(program, x, w, out, ranks=ranks, schedule="random:3")
            error = np.abs(found - reference(x, w)).max()
            assert error < 1e-4, error
        print(f"{ranks} ranks: every rank has the layer's result, largest error {error:.1e}")


if __name__ == "__main__":
    main()
