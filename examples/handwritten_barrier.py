"""A barrier by hand: every rank posts to every other and waits for every other, then reads its right neighbour's row.

A *window* is a tensor that other ranks can reach; a *signal* is a window of counters. ``notify`` posts to a cell of another rank, ``wait``
waits for a cell of one's own. What a rank wrote before its post is visible to whoever has waited for that post.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import runtime

RANKS = pl.dynamic("RANKS")
MOST = 8


@pl.program
class Neighbours:
    @pl.function(type=pl.FunctionType.InCore)
    def exchange(
        self,
        mine: pl.Tensor[[1, 64], pl.FP32],
        rows: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[MOST, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
    ) -> pl.Tensor[[1, 64], pl.FP32]:
        context = pld.get_comm_ctx(rows)
        me = pld.rank(context)
        ranks = pld.nranks(context)
        # stage: what the neighbour is going to read
        rows = pl.store(pl.load(mine, [0, 0], [1, 64]), [0, 0], rows)
        # the barrier: cell q of this rank's signal belongs to rank q
        for peer in pl.range(ranks):
            if peer != me:
                pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
        for peer in pl.range(ranks):
            if peer != me:
                pld.system.wait(signal, [peer, 0], 1, cmp=pld.WaitCmp.Ge)
        right = (me + 1) % ranks
        out = pl.store(pld.remote_load(rows, right, [0, 0], [1, 64]), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(
        self,
        mine: pl.Tensor[[1, 64], pl.FP32],
        rows: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[MOST, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[1, 64], pl.FP32]],
    ) -> pl.Tensor[[1, 64], pl.FP32]:
        out = self.exchange(mine, rows, signal, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(
        self,
        x: pl.Tensor[[RANKS, 1, 64], pl.FP32],
        out: pl.Out[pl.Tensor[[RANKS, 1, 64], pl.FP32]],
    ) -> pl.Tensor[[RANKS, 1, 64], pl.FP32]:
        rows_buffer = pld.alloc_window_buffer([1, 64], dtype=pl.FP32)
        signal_buffer = pld.alloc_window_buffer([MOST, 1], dtype=pl.INT32)
        rows = pld.window(rows_buffer, [1, 64], dtype=pl.FP32)
        signal = pld.window(signal_buffer, [MOST, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            self.chip(x[r], rows, signal, out[r], device=r)
        return out


def inputs(ranks: int) -> tuple[np.ndarray, ...]:
    """A row for each rank, and room for the results."""
    x = np.arange(ranks * 64, dtype=np.float32).reshape(ranks, 1, 64)
    return x, np.zeros_like(x)


def main() -> None:
    """Run it on 1 to 8 ranks under three schedules."""
    for ranks in (1, 2, 3, 8):
        for schedule in ("round_robin", "greedy", "random:7"):
            x, out = inputs(ranks)
            found = runtime.run(Neighbours, x, out, ranks=ranks, schedule=schedule)
            np.testing.assert_array_equal(found, np.roll(x, -1, axis=0))
        print(f"{ranks} ranks: every rank has its right neighbour's row")


if __name__ == "__main__":
    main()
