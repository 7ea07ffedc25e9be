"""What running on several ranks costs: a lowered mesh allreduce against the same sums in plain NumPy, and many ranks at once."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import passes, runtime
from pypto.ir import Function, Program
from pypto.runtime.checking import explore

TIMES_NUMPY = 30.0
SECONDS = 10.0
"""What 64 ranks may take; the issue asks only that they end."""

TIMES_UNCHECKED = 8.0
EXPLORED_SECONDS = 60.0


def allreduce(size: int, ranks: int) -> Program | Function:
    """A lowered kernel that is nothing but one mesh allreduce of FP32 elements."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        data: pl.InOut[pld.DistributedTensor[[1, size], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
        return data

    return passes.lower_composite_ops()(Program([kernel], "P"))


def _sums(values: list[Any]) -> list[Any]:
    """Every rank's sum in its own order, as the kernel adds them up."""
    totals: list[Any] = []
    for rank, own in enumerate(values):
        total = own
        for peer, value in enumerate(values):
            if peer != rank:
                total = total + value
        totals.append(total)
    return totals


def _best(work: Any, rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def _mesh(size: int, ranks: int) -> float:
    program = allreduce(size, ranks)
    random = np.random.default_rng(0)
    values = [random.normal(size=(1, size)).astype(np.float32) for _ in range(ranks)]
    windows = [v.copy() for v in values]  # written in place
    found = runtime.run(program, windows, None, ranks=ranks)
    for mine, theirs in zip(found, _sums(values), strict=True):
        if not np.array_equal(mine, theirs):
            raise AssertionError("the two computations that are compared differ")
    return _best(lambda: runtime.run(program, windows, None, ranks=ranks), 7) / _best(lambda: _sums(values), 15)


def _many(size: int, ranks: int) -> float:
    program = allreduce(size, ranks)
    ones = np.ones((1, size), np.float32)
    start = time.perf_counter()
    found = runtime.run(program, ones, None, ranks=ranks)
    seconds = time.perf_counter() - start
    if not all((result == ranks).all() for result in found):
        raise AssertionError(f"a rank of {ranks} has another sum")
    return seconds


def _checked(size: int, ranks: int) -> float:
    """What looking for races costs, as a multiple of the run without it."""
    program = allreduce(size, ranks)
    random = np.random.default_rng(0)
    windows = [random.normal(size=(1, size)).astype(np.float32) for _ in range(ranks)]
    plain = _best(lambda: runtime.run(program, windows, None, ranks=ranks), 5)
    return _best(lambda: runtime.run(program, windows, None, ranks=ranks, check=True), 3) / plain


def every_state(collective: str, ranks: int, cells: list[int], rows: int = 1) -> float:
    """Seconds that it takes to reach every state of a lowered collective of one chunk."""
    text = f"""# pypto.program: P
import pypto.language as pl
import pypto.language.distributed as pld


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        data: pl.InOut[pld.DistributedTensor[[{rows}, 16], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[{cells}, pl.INT32]],
    ):
        {collective}
        return data
"""
    program = passes.lower_composite_ops()(pl.parse(text))
    windows = [np.full((rows, 16), rank + 1, np.float32) for rank in range(ranks)]
    start = time.perf_counter()
    verdict = explore(program, windows, None, ranks=ranks, method="states", limit=10**6)
    seconds = time.perf_counter() - start
    if not (verdict.holds and explore(program, windows, None, ranks=ranks).monotone):
        raise AssertionError(f"a collective that does not hold: {verdict}")
    return seconds


EXPLORED = (
    ("barrier", "signal = pld.tensor.barrier(signal)", 4, [4, 1], 1),
    ("broadcast", "data = pld.tensor.broadcast(data, signal, root=0)", 3, [3, 1], 1),
    ("reduce_scatter", "data = pld.tensor.reduce_scatter(data, signal)", 3, [3, 1], 3),
    ("mesh allreduce", "data = pld.tensor.allreduce(data, signal)", 3, [3, 1], 1),
    ("ring allreduce", 'data = pld.tensor.allreduce(data, signal, mode="ring")', 3, [4, 3], 1),
)


def rows() -> list[tuple[str, float, float]]:
    """Name, measured figure and limit of each row."""
    return [
        ("mesh allreduce, 65,537 FP32, 8 ranks / NumPy sums", _mesh(65537, 8), TIMES_NUMPY),
        ("mesh allreduce, 1,024 FP32, 64 ranks, seconds", _many(1024, 64), SECONDS),
        ("looking for races in 65,537 FP32, 8 ranks / the run without", _checked(65537, 8), TIMES_UNCHECKED),
        *[
            (f"every state of a {name} on {ranks} ranks, seconds", every_state(call, ranks, cells, height), EXPLORED_SECONDS)
            for name, call, ranks, cells, height in EXPLORED
        ],
    ]
