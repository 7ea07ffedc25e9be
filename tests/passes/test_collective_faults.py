"""Faults that systems of this kind have had with collectives inside kernels (group 7 of the collection)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from collective_kernels import all_to_all_v, allreduce, ring

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes, runtime
from pypto.ir.expr import Call
from pypto.ir.node import walk

lower = passes.lower_composite_ops()
COUNTS = np.array([[0, 3, 0, 1], [0, 0, 0, 0], [4, 4, 4, 4], [0, 0, 5, 0]], np.int32)
"""How many rows each rank (a row) sends to each other; 5 is more than there is room for."""


def test_empty_payloads_still_synchronise_and_counts_are_clamped() -> None:
    ranks, rows, size = 4, 4, 8
    before = all_to_all_v(ranks, rows, size)
    random = np.random.default_rng(0)
    x = [random.normal(size=(ranks * rows, size)).astype(np.float32) for _ in range(ranks)]
    counts = [COUNTS[r] for r in range(ranks)]
    for program in (before, lower(before)):
        for schedule in ("round_robin", "greedy", "random:2"):
            results, report = runtime.run(
                program, x, None, None, counts, None, ranks=ranks, schedule=schedule, report=True, check=True
            )
            for receiver in range(ranks):
                np.testing.assert_array_equal(report.windows["received"][receiver][:, 0], np.minimum(COUNTS[:, receiver], rows))
                for sender in range(ranks):
                    used = min(int(COUNTS[sender, receiver]), rows)
                    block = results[receiver][sender * rows : sender * rows + used]
                    np.testing.assert_array_equal(block, x[sender][receiver * rows : receiver * rows + used])


def test_a_ring_made_for_more_ranks_than_there_are() -> None:
    with pytest.raises(runtime.RunError, match="made for a ring of 8 ranks, the run has 3"):
        runtime.run(ring(64, 8), None, None, ranks=3)
    made = lower(ring(64, 8))
    for ranks in (1, 3, 9):
        with pytest.raises(runtime.RunError, match=f"made for 8 ranks, and there are {ranks}"):
            runtime.run(made, None, None, ranks=ranks)


@pytest.mark.parametrize("dtype", [pl.FP32, pl.FP16])
@pytest.mark.parametrize("mode", ["mesh", "ring"])
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("size", [17, 18, 33, 100, 257])
def test_odd_sizes_touch_nothing_outside_of_the_window(dtype: Any, mode: str, ranks: int, size: int) -> None:
    signal = [ranks, 1] if mode == "mesh" else [2 * (ranks - 1), ranks]
    program = lower(allreduce([1, size], signal, dtype, mode=mode))
    touched: list[np.ndarray] = []

    class Watch(runtime.Observer):
        def on_write(self, access: Any) -> None:
            if access.buffer.name == "data":
                elements = np.zeros(access.buffer.room, bool)
                elements[access.offsets] = True
                touched.append(elements)

    target = np.float16 if dtype is pl.FP16 else np.float32
    found = runtime.run(program, np.ones((1, size), target), None, ranks=ranks, observers=[Watch()])
    assert all((total == ranks).all() for total in found)
    bytes_written = np.flatnonzero(np.any(touched, axis=0))
    assert bytes_written.max() < size * dtype.get_byte()
    assert len(bytes_written) == size


def test_the_source_of_a_push_is_not_its_target() -> None:
    with pytest.raises(pl.parser.InvalidOperationError, match="'input' and 'target' to be different tensors"):

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(a: pld.DistributedTensor[[4, 8], pl.FP32], s: pld.DistributedTensor[[4, 1], pl.INT32]):
            a = pld.tensor.all_to_all(a, a, s)
            return a


def test_thresholds_of_loop_variables_are_int32() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(s: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]], me: pl.Scalar[pl.INDEX], nr: pl.Scalar[pl.INDEX]):
        for e in pl.range(3):
            for p in pl.range(nr):
                if p != me:
                    pld.system.notify(s, peer=p, offsets=[me, 0], value=e + 1, op=pld.NotifyOp.Set)
            for p in pl.range(nr):
                if p != me:
                    pld.system.wait(signal=s, offsets=[p, 0], expected=e + 1, cmp=pld.WaitCmp.Ge)
        return s

    for program in (kernel, passes.PassManager.get_strategy().run_passes(ir.Program([kernel], "P"))):
        found = {
            n.op.name: n
            for n in walk(program.body if isinstance(program, ir.Function) else program.get_function("kernel").body)
            if isinstance(n, Call)
        }
        assert found["pld.system.notify"].args[3].type.dtype is pl.INT32
        assert found["pld.system.wait"].args[2].type.dtype is pl.INT32
        cells = runtime.run(program, None, [0, 1, 2, 3], 4, ranks=4, schedule="random:1")
        for rank, signal in enumerate(cells):
            np.testing.assert_array_equal(signal[:, 0], [0 if r == rank else 3 for r in range(4)])


def test_collectives_are_not_repeated_by_every_block() -> None:
    @pl.program
    class P:
        @pl.function(type=pl.FunctionType.Orchestration)
        def f(
            self,
            x: pl.Tensor[[1, 64], pl.FP32],
            d: pld.DistributedTensor[[4, 64], pl.FP32],
            s: pld.DistributedTensor[[4, 1], pl.INT32],
        ):
            for _ in pl.spmd(4):
                d = pld.tensor.allgather(x, d, s)
            return d

    with pytest.raises(ValueError, match="cannot stand inside a scope of several blocks") as caught:
        lower(P)
    assert "pld.tensor.allgather(x, d, s)" in str(caught.value)


def test_signals_begin_at_zero_in_every_run() -> None:
    program = lower(allreduce([1, 8], [2, 1]))
    for _ in range(2):
        found = runtime.run(program, np.ones((1, 8), np.float32), None, ranks=2)
        assert all((total == 2).all() for total in found)
