"""A ring pass: rows travel from neighbour to neighbour until every rank has all of them.

In step s each rank pushes to its right the row that reached it in step s - 1. A rank has one producer, its left neighbour, so that one
counter is enough: the wait for ``s + 1`` is over when s + 1 rows have come.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import runtime

RANKS = pl.dynamic("RANKS")
MOST = 8


@pl.program
class RingPass:
    @pl.function(type=pl.FunctionType.InCore)
    def pass_on(
        self,
        mine: pl.Tensor[[1, 64], pl.FP32],
        rows: pl.InOut[pld.DistributedTensor[[MOST, 64], pl.FP32]],
        arrived: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
    ) -> pl.Tensor[[1, 64], pl.FP32]:
        context = pld.get_comm_ctx(rows)
        me = pl.cast(pld.rank(context), pl.INDEX)
        ranks = pl.cast(pld.nranks(context), pl.INDEX)
        right = (me + 1) % ranks
        rows = pl.store(pl.load(mine, [0, 0], [1, 64]), [me, 0], rows)
        for s in pl.range(ranks - 1):
            row = (me - s + ranks) % ranks
            pld.tensor.put(rows, right, rows, [row, 0], [row, 0], [1, 64])
            pld.system.notify(arrived, right, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
            pld.system.wait(arrived, [0, 0], s + 1, cmp=pld.WaitCmp.Ge)
        total = pl.tile.full([1, 64], dtype=pl.FP32, value=0.0)
        for s in pl.range(ranks):
            total = pl.add(total, pl.load(rows, [s, 0], [1, 64]))
        out = pl.store(total, [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(
        self,
        mine: pl.Tensor[[1, 64], pl.FP32],
        rows: pl.InOut[pld.DistributedTensor[[MOST, 64], pl.FP32]],
        arrived: pl.InOut[pld.DistributedTensor[[1, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
    ) -> pl.Tensor[[1, 64], pl.FP32]:
        out = self.pass_on(mine, rows, arrived, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, 1, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[RANKS, 1, 64], pl.FP32]],
    ) -> pl.Tensor[[RANKS, 1, 64], pl.FP32]:
        rows_buffer = pld.alloc_window_buffer([MOST, 64], dtype=pl.FP32)
        arrived_buffer = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
        rows = pld.window(rows_buffer, [MOST, 64], dtype=pl.FP32)
        arrived = pld.window(arrived_buffer, [1, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            self.chip(x[r], rows, arrived, out[r], device=r)
        return out


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """A row for each rank, and room for the sums."""
    x = np.random.default_rng(0).integers(-50, 50, (ranks, 1, 64)).astype(np.float32)
    return x, np.zeros_like(x)


def main() -> None:
    """Run it on 1 to 8 ranks; the sums are whole numbers, so they are exact."""
    for ranks in (1, 2, 3, 8):
        for schedule in ("round_robin", "greedy", "random:7"):
            x, out = inputs(ranks)
            found = runtime.run(RingPass, x, out, ranks=ranks, schedule=schedule)
            np.testing.assert_array_equal(found, np.broadcast_to(x.sum(axis=0), x.shape))
        print(f"{ranks} ranks: every rank has the sum of all rows")


if __name__ == "__main__":
    main()
