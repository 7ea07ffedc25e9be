"""An allreduce by hand beside the one-line collective: both are lowered to the same protocol, and give the same bits.

The hand-written one shows what the collective does: a barrier so that everybody has staged, a sum of everybody's tile, a second barrier so
that nobody overwrites what a slower rank is still to read, and only then the store.
"""

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import runtime

RANKS = pl.dynamic("RANKS")
MOST = 8


@pl.program
class ByHand:
    @pl.function(type=pl.FunctionType.InCore)
    def reduce(
        self,
        x: pl.Tensor[[1, 256], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, 256], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[MOST, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[1, 256], pl.FP32]],
    ) -> pl.Tensor[[1, 256], pl.FP32]:
        context = pld.get_comm_ctx(data)
        me = pld.rank(context)
        ranks = pld.nranks(context)
        mine = pl.load(x, [0, 0], [1, 256])
        data = pl.store(mine, [0, 0], data)
        for peer in pl.range(ranks):
            if peer != me:
                pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
        for peer in pl.range(ranks):
            if peer != me:
                pld.system.wait(signal, [peer, 0], 1, cmp=pld.WaitCmp.Ge)
        total = mine
        for peer in pl.range(ranks):
            if peer != me:
                total = pl.add(total, pld.remote_load(data, peer, [0, 0], [1, 256]))
        for peer in pl.range(ranks):
            if peer != me:
                pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
        for peer in pl.range(ranks):
            if peer != me:
                pld.system.wait(signal, [peer, 0], 2, cmp=pld.WaitCmp.Ge)
        data = pl.store(total, [0, 0], data)
        out = pl.store(total, [0, 0], out)
        return out


@pl.program
class OneLine:
    @pl.function(type=pl.FunctionType.InCore)
    def reduce(
        self,
        x: pl.Tensor[[1, 256], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, 256], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[MOST, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[1, 256], pl.FP32]],
    ) -> pl.Tensor[[1, 256], pl.FP32]:
        data = pl.store(pl.load(x, [0, 0], [1, 256]), [0, 0], data)
        data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
        out = pl.store(pl.load(data, [0, 0], [1, 256]), [0, 0], out)
        return out


def rows(ranks: int) -> list[np.ndarray]:
    """A row for each rank."""
    random = np.random.default_rng(0)
    return [random.normal(size=(1, 256)).astype(np.float32) for _ in range(ranks)]


def in_order(values: list[np.ndarray], rank: int) -> np.ndarray:
    """The sum as one rank adds it up: its own row, then those of the others in order."""
    total = values[rank]
    for peer, value in enumerate(values):
        if peer != rank:
            total = total + value
    return total


def main() -> None:
    """Run both kernels on every rank directly; windows and signals are made from their parameter types."""
    from pypto import passes

    lowered = passes.lower_composite_ops()(OneLine)
    print(lowered.as_python())
    for ranks in (2, 4, 8):
        x = rows(ranks)
        for program in (ByHand, OneLine, lowered):
            found = runtime.run(program, x, None, None, ranks=ranks, schedule="random:1")
            for rank in range(ranks):
                np.testing.assert_array_equal(found[rank], in_order(x, rank))
        print(f"{ranks} ranks: by hand, by meaning and lowered give the same bits")


if __name__ == "__main__":
    main()
