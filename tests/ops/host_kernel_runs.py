"""Running host kernels on NumPy windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, ParamDirection, WaitCmp
from pypto.ir.expr import Call, Expr, Var, index_const
from pypto.ir.function import Function, Program
from pypto.ir.op import GlobalVar
from pypto.ir.span import UNKNOWN
from pypto.ir.stmt import EvalStmt, body_of
from pypto.ir.types import DistributedTensorType, ScalarType, UnknownType
from pypto.ir.visitor import IRMutator
from pypto.ops.numeric import numpy_dtype
from pypto.parser import parse
from pypto.runtime import run

SCHEDULES = ("round_robin", "greedy", "random:0", "random:1")


def window(*shape: int | str, dtype: DataType = DataType.FP32) -> DistributedTensorType:
    """A window type; extents that are words are dimensions."""
    return DistributedTensorType([d if isinstance(d, int) else Var(d, ScalarType(DataType.INDEX)) for d in shape], dtype)


def signal(*shape: int | str) -> DistributedTensorType:
    """The type of a signal."""
    return window(*shape, dtype=DataType.INT32)


def cells(ranks: int, *shape: int) -> list[Any]:
    """A zeroed INT32 window on every rank."""
    return [np.zeros(shape, np.int32) for _ in range(ranks)]


def numbers(ranks: int, *shape: int, dtype: DataType = DataType.FP32, seed: int = 0) -> list[Any]:
    """A window of small numbers on every rank, none of them zero."""
    generator = np.random.default_rng(seed)
    return [generator.uniform(0.5, 1.5, shape).astype(numpy_dtype(dtype)) for _ in range(ranks)]


Call_ = tuple[Function, Sequence[Expr]]


def calling(params: Sequence[tuple[Var, ParamDirection]], calls: Sequence[Call_]) -> Program:
    """A program whose entry ``caller`` makes these calls one after the other."""
    stmts = [EvalStmt(Call(GlobalVar(f.name), [*args], {}, {}, UnknownType(), UNKNOWN)) for f, args in calls]
    caller = Function("caller", params, [], body_of(stmts), type=FunctionType.Orchestration)
    return Program([*{f.name: f for f, _ in calls}.values(), caller], "calls")


def windows_of(kernel: Function) -> list[tuple[Var, ParamDirection]]:
    """Parameters like the windows of a kernel."""
    pairs = zip(kernel.params, kernel.param_directions, strict=True)
    return [(Var(p.name_hint, p.type), d) for p, d in pairs if isinstance(p.type, DistributedTensorType)]


def in_a_row(kernel: Function, calls: int = 1, blocks: int | None = None) -> Program:
    """A program that calls the kernel several times; with ``blocks``, each time once for every block of a rank, one after the other."""
    params = windows_of(kernel)
    windows = [v for v, _ in params]
    tails = [[]] if blocks is None else [[index_const(b), index_const(blocks)] for b in range(blocks)]
    return calling(params, [(kernel, [*windows, *tail]) for _ in range(calls) for tail in tails])


def run_kernel(
    kernel: Function, windows: Sequence[Any], *, calls: int = 1, blocks: int | None = None, schedule: str = "round_robin"
) -> list[Any]:
    """Run on copies of the windows, a list over the ranks for each parameter; gives the copies."""
    copies = [[a.copy() for a in of_ranks] for of_ranks in windows]
    run(in_a_row(kernel, calls, blocks), *copies, ranks=len(copies[0]), entry="caller", schedule=schedule)
    return copies


def idle(windows: Sequence[Any]) -> bool:
    """Whether all cells of a signal are zero on all ranks."""
    return not any(w.any() for w in windows)


class _Waits(IRMutator):
    def __init__(self, change: Callable[[Call], Call]) -> None:
        self.change = change

    def visit_call(self, op: Call) -> Expr:
        return self.change(op) if op.op.name == "pld.system.wait" else op


def with_equal_waits(kernel: Function) -> Function:
    """The kernel with every wait for exactly a value instead of at least one."""
    return _Waits(lambda call: call.replace(kwargs={"cmp": int(WaitCmp.Eq)})).visit_function(kernel)


_STAGING = """
import pypto.language as pl
import pypto.language.distributed as pld


@pl.function(type=pl.FunctionType.InCore)
def stage(values: pl.Tensor[[{rows}, {columns}], pl.FP32], data: pl.InOut[pld.DistributedTensor[[{rows}, {columns}], pl.FP32]]):
    pl.store(pl.load(values, [0, 0], [{rows}, {columns}]), [0, 0], data)
"""

_COLLECTING = """
import pypto.language as pl
import pypto.language.distributed as pld


@pl.function(type=pl.FunctionType.InCore)
def collect(data: pld.DistributedTensor[[{rows}, {columns}], pl.FP32], out: pl.Out[pl.Tensor[[{rows}, {columns}], pl.FP32]]):
    pl.store(pl.load(data, [0, 0], [{rows}, {columns}]), [0, 0], out)
"""


def run_staged(
    kernel: Function,
    inputs: Sequence[Sequence[Any]],
    *signals: int,
    staged: int = 0,
    collected: int | None = None,
    consume_each: bool = True,
    schedule: str = "round_robin",
    check: bool = False,
) -> list[list[Any]]:
    """Each rank stages a value in a window, runs the kernel and collects a window, without meeting anybody in between; and again.

    Args:
        kernel: data windows first (all of one shape when there are two), then the signal, of shape ``signals``.
        inputs: for each call a list over the ranks of what is staged.
        staged: the position of the window that is staged.
        collected: the position of the window that is collected; the same by default.
        consume_each: collect after each call, instead of once after all.
        check: look for races.

    Returns:
        For each collection a list over the ranks.
    """
    ranks = len(inputs[0])
    at = staged if collected is None else collected
    types: list[Any] = [p.type for p in kernel.params if isinstance(p.type, DistributedTensorType)]

    def part(text: str, position: int) -> Function:
        rows, columns = [d.value for d in types[position].shape]
        return parse(text.format(rows=rows, columns=columns))

    stage, collect = part(_STAGING, staged), part(_COLLECTING, at)
    windows = [(v, ParamDirection.InOut) for v, _ in windows_of(kernel)]
    values = [(Var(f"values{n}", stage.params[0].type), ParamDirection.In) for n in range(len(inputs))]
    wanted = len(inputs) if consume_each else 1
    outs = [(Var(f"out{n}", collect.params[1].type), ParamDirection.Out) for n in range(wanted)]
    block = [index_const(0), index_const(1)] if len(kernel.params) > len(types) else []
    calls: list[Call_] = []
    for n in range(len(inputs)):
        calls += [(stage, [values[n][0], windows[staged][0]]), (kernel, [*[v for v, _ in windows], *block])]
        if consume_each or n == len(inputs) - 1:
            calls.append((collect, [windows[at][0], outs[n if consume_each else 0][0]]))
    data = [numbers(ranks, *[d.value for d in t.shape], seed=99) for t in types[:-1]]
    shape = [d.value for d in types[at].shape]
    results = [[np.zeros(shape, np.float32) for _ in range(ranks)] for _ in range(wanted)]
    arguments = [*data, cells(ranks, *signals), *[[*i] for i in inputs], *results]
    program = calling([*windows, *values, *outs], calls)
    run(program, *arguments, ranks=ranks, entry="caller", schedule=schedule, check=check)
    return results
