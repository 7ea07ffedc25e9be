"""Kernels with protocols for the tests of exploration: lowered collectives of one chunk, and mutations of their text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

import pypto.language as pl
from pypto import ir, passes

SIZE = 16


def kernel(ranks: int, *body: str, rows: int = 1, size: int = SIZE, cells: Sequence[int] | None = None) -> ir.Program:
    """A kernel of statements over ``x`` (a plain row), the window ``data`` and the cells ``signal``."""
    shape = [ranks, 1] if cells is None else [*cells]
    lines = [
        "# pypto.program: P",
        "import pypto.language as pl",
        "import pypto.language.distributed as pld",
        "",
        "",
        "@pl.program",
        "class P:",
        "    @pl.function(type=pl.FunctionType.InCore)",
        "    def kernel(",
        "        self,",
        f"        x: pl.Tensor[[{rows}, {size}], pl.FP32],",
        f"        data: pl.InOut[pld.DistributedTensor[[{rows}, {size}], pl.FP32]],",
        f"        signal: pl.InOut[pld.DistributedTensor[{shape}, pl.INT32]],",
        "    ):",
        "        context = pld.get_comm_ctx(data)",
        "        me = pl.cast(pld.rank(context), pl.INDEX)",
        *["        " + line for text in body for line in text.strip("\n").split("\n")],
        "        return data",
    ]
    return pl.parse("\n".join(lines) + "\n")


def stage(rows: int = 1, size: int = SIZE) -> str:
    """Write ``x`` into the own window."""
    return f"data = pl.store(pl.load(x, [0, 0], [{rows}, {size}]), [0, 0], data)"


COLLECTIVES = {
    "mesh": "data = pld.tensor.allreduce(data, signal)",
    "ring": 'data = pld.tensor.allreduce(data, signal, mode="ring")',
    "reduce_scatter": "data = pld.tensor.reduce_scatter(data, signal)",
    "broadcast": "data = pld.tensor.broadcast(data, signal, root=0)",
    "barrier": "signal = pld.tensor.barrier(signal)",
}


def collective(kind: str, ranks: int, signals: str = "single_shot", *, calls: int = 1, restage: bool = True) -> ir.Program:
    """A lowered collective of one chunk, the window staged before each call; ``restage``: and after the last."""
    rows = ranks if kind == "reduce_scatter" else 1
    cells = [2 * (ranks - 1), ranks] if kind == "ring" else [ranks, 1]
    each = [COLLECTIVES[kind]] if kind == "barrier" else [stage(rows), COLLECTIVES[kind]]
    after = [stage(rows)] if restage and kind != "barrier" else []
    return lowered(kernel(ranks, *each * calls, *after, rows=rows, cells=cells), signals)


def lowered(program: ir.Program, signals: str = "single_shot") -> ir.Program:
    """The collectives of a kernel as posts and waits."""
    return passes.lower_composite_ops(signals=signals)(program)


def arguments(program: ir.Program, ranks: int) -> list[Any]:
    """A row, or rows, of its own for every rank; windows begin at zero."""
    (function,) = program.functions.values()
    shape = [d.value for d in function.params[0].type.shape]
    return [[np.full(shape, 1 + r, np.float32) for r in range(ranks)], None, None]


def text_of(program: ir.Program) -> str:
    """One line a statement."""
    return program.as_python(format=False)


def with_exact_waits(program: ir.Program) -> ir.Program:
    """Every wait for exactly its value."""
    text, count = re.subn(r"cmp=1\b", "cmp=0", text_of(program))
    assert count
    return pl.parse(text)


def with_resets_by_set(program: ir.Program) -> ir.Program:
    """Credits given back by setting the cell to zero."""
    text, count = re.subn(
        r"(reset_ret\S* .*notify\(.*), (?:pl\.const\(-\d+, pl\.INT32\)|-\S+), op=0\)",
        r"\1, pl.const(0, pl.INT32), op=1)",
        text_of(program),
    )
    assert count
    return pl.parse(text)


EXCHANGE = """
for peer in pl.range({ranks}):
    if peer != me:
        pld.system.notify(signal, peer, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)
for source in pl.range({ranks}):
    if source != me:
        pld.system.wait(signal, [source, 0], {least}, cmp=pld.WaitCmp.{cmp})
"""


def meeting(ranks: int, least: int = 1, cmp: str = "Ge") -> str:
    """A barrier by hand."""
    return EXCHANGE.format(ranks=ranks, least=least, cmp=cmp)


def neighbour(ranks: int, row: int = 0, size: int = SIZE) -> str:
    """Read the window of the right neighbour."""
    return f"got = pld.remote_load(data, (me + 1) % {ranks}, [{row}, 0], [1, {size}])"
