"""The mutation table of the specification (``passes.md`` C.8) for protocols inside kernels: each row gets its verdict on 2, 3 and 4 ranks."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pypto import ir
from pypto.runtime.checking import explore
from tests.runtime import test_races_in_collectives as races
from tests.runtime.protocols import (
    SIZE,
    arguments,
    collective,
    kernel,
    lowered,
    stage,
    with_exact_waits,
    with_resets_by_set,
)

RANKS = [2, 3, 4]

Row = Callable[[int], ir.Program]


def mesh(ranks: int) -> ir.Program:
    return races.lowered(races.reducing(ranks, True))


def mesh_without_ready(ranks: int) -> ir.Program:
    return races._with_lower_chunk_counts(races.without_barrier(races.lowered(races.reducing(ranks, False)), ""))


def mesh_without_chunk(ranks: int) -> ir.Program:
    return races.without_barrier(races.lowered(races.reducing(ranks, False)), "_chunk")


def ring_without(step: str, restage: bool) -> Row:
    def make(ranks: int) -> ir.Program:
        program = races.lowered(races.reducing(ranks, restage, "ring"))
        for phase in (f"_rs_{step}", f"_ag_{step}"):
            program = races._shifted(races.without_barrier(program, phase), phase)
        return program

    return make


def scatter_without_second(restage: bool) -> Row:
    return lambda ranks: races.without_barrier(collective("reduce_scatter", ranks, restage=restage), "2")


def gathered(signals: str, *between: str) -> Row:
    """allgather twice into one target."""
    gather = "data = pld.tensor.allgather(row, data, signal)"

    def make(ranks: int) -> ir.Program:
        consume = f"got = pl.load(data, [0, 0], [{ranks}, {SIZE}])"
        body = [f"row = pl.slice(x, [1, {SIZE}], [0, 0])", gather, *(b.format(consume=consume) for b in between), gather]
        return lowered(kernel(ranks, *body, consume, rows=ranks), signals)

    return make


def gathered_after_initialising(ranks: int) -> ir.Program:
    gather = "data = pld.tensor.allgather(row, data, signal)"
    return lowered(kernel(ranks, stage(ranks), f"row = pl.slice(x, [1, {SIZE}], [0, 0])", gather, rows=ranks))


TABLE: list[tuple[str, Row, str | None]] = [
    ("mesh, also staged again", mesh, None),
    ("mesh without the ready barrier", mesh_without_ready, "race"),
    ("mesh without the chunk barrier", mesh_without_chunk, "race"),
    ("single-shot: a second call on one signal", lambda n: collective("mesh", n, calls=2), "race"),
    ("credits: three calls on one signal", lambda n: collective("mesh", n, "credit", calls=3), None),
    ("credits, reset by Set 0", lambda n: with_resets_by_set(collective("mesh", n, "credit", calls=2)), "deadlock"),
    ("Eq waits, two posts a cell", lambda n: with_exact_waits(collective("mesh", n)), "deadlock"),
    ("reduce_scatter without the second barrier", scatter_without_second(False), None),
    ("reduce_scatter without it, staged again", scatter_without_second(True), "race"),
    ("ring without ready barriers", ring_without("ready", False), "race"),
    ("ring without read barriers", ring_without("read", False), None),
    ("ring without them, staged again", ring_without("read", True), "race"),
    ("broadcast, then the root writes", lambda n: collective("broadcast", n, restage=True), "race"),
    ("allgather twice, consuming between", gathered("credit", "{consume}"), "race"),
    ("allgather twice, consuming at the end", gathered("credit"), None),
    ("allgather twice on a single-shot signal", gathered("single_shot"), "race"),
    ("allgather into what the owner initialised", gathered_after_initialising, "race"),
]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(("program", "kind"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_row_gets_its_verdict(program: Row, kind: str | None, ranks: int) -> None:
    made = program(ranks)
    verdict = explore(made, *arguments(made, ranks), ranks=ranks, shorten=False)
    if kind is None:
        assert verdict.holds, verdict
        assert verdict.monotone
    else:
        assert verdict.fault is not None and verdict.fault.kind == kind, verdict
