"""The race detector on lowered collectives: whole ones are clean, each mutation of the table in the specification gets its verdict.

A mutation removes the loops of one barrier from the lowered kernel. One run under one schedule must do: the protocols are monotone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes, runtime
from pypto.ir.stmt import ForStmt, SeqStmts, Stmt, body_of, flatten_to_stmts
from pypto.runtime.checking import RaceDetector

RANKS = [2, 3, 4]
SIZE = 5000
"""Two chunks of FP32."""


def lowered(function: ir.Function, signals: str = "single_shot") -> ir.Program:
    return passes.lower_composite_ops(signals=signals)(ir.Program([function], "P"))


def without_barrier(program: ir.Program, suffix: str) -> ir.Program:
    """The program without the post and wait loops of one barrier; it must have had some."""
    names = (f"__peer{suffix}_tmp", f"__src{suffix}_tmp")
    removed = 0

    def strip(body: Stmt) -> Stmt:
        nonlocal removed
        kept: list[Stmt] = []
        for stmt in flatten_to_stmts(body):
            if isinstance(stmt, ForStmt) and not stmt.iter_args and any(n in stmt.loop_var.name_hint for n in names):
                removed += 1
                continue
            changes = {
                name: strip(getattr(stmt, name))
                for name in ("body", "then_body", "else_body")
                if isinstance(getattr(stmt, name, None), Stmt)
            }
            kept.append(stmt.replace(**changes) if changes else stmt)
        return body_of(kept) if kept else SeqStmts([])

    functions = [f.replace(body=strip(f.body)) for f in program.functions.values()]
    assert removed
    return ir.Program(functions, program.name)


def races(program: ir.Program, ranks: int, *arguments: Any, schedule: str = "round_robin") -> list[Any]:
    detector = RaceDetector(ranks)
    runtime.run(program, *arguments, ranks=ranks, observers=[detector], schedule=schedule)
    assert detector.is_monotone
    return detector.races


def kinds(found: list[Any]) -> set[frozenset[str]]:
    """The operators of the two accesses of each race."""
    return {frozenset(_operator(t.statement) for t in (race.earlier, race.later)) for race in found}


def _operator(statement: Any) -> str:
    call = statement.value if isinstance(statement, ir.AssignStmt) else statement.expr
    return call.op.name


def reducing(ranks: int, restage: bool, mode: str = "mesh") -> ir.Function:
    signal = [ranks, 1] if mode == "mesh" else [2 * (ranks - 1), ranks]

    if restage:

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            x: pl.Tensor[[1, SIZE], pl.FP32],
            data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
            signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]],
        ):
            data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
            data = pld.tensor.allreduce(data, signal, mode=mode)
            data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
            return data

        return kernel

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[1, SIZE], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, SIZE], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[signal, pl.INT32]],
    ):
        data = pl.store(pl.load(x, [0, 0], [1, SIZE]), [0, 0], data)
        data = pld.tensor.allreduce(data, signal, mode=mode)
        return data

    return kernel


def scattering(ranks: int, restage: bool) -> ir.Function:
    if restage:

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            x: pl.Tensor[[ranks, 64], pl.FP32],
            data: pl.InOut[pld.DistributedTensor[[ranks, 64], pl.FP32]],
            signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
        ):
            data = pl.store(pl.load(x, [0, 0], [ranks, 64]), [0, 0], data)
            data = pld.tensor.reduce_scatter(data, signal)
            data = pl.store(pl.load(x, [0, 0], [ranks, 64]), [0, 0], data)
            return data

        return kernel

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[ranks, 64], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[ranks, 64], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pl.store(pl.load(x, [0, 0], [ranks, 64]), [0, 0], data)
        data = pld.tensor.reduce_scatter(data, signal)
        return data

    return kernel


def row(ranks: int, size: int = SIZE) -> list[np.ndarray]:
    return [np.full((1, size), r + 1, np.float32) for r in range(ranks)]


def rows(ranks: int) -> list[np.ndarray]:
    return [np.full((ranks, 64), r + 1, np.float32) for r in range(ranks)]


LOAD, STORE, REMOTE = "tile.load", "tile.store", "pld.tile.remote_load"


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("signals", ["single_shot", "credit"])
@pytest.mark.parametrize("restage", [False, True])
@pytest.mark.parametrize("mode", ["mesh", "ring"])
def test_allreduce_is_clean_also_when_the_window_is_staged_again(ranks: int, signals: str, restage: bool, mode: str) -> None:
    program = lowered(reducing(ranks, restage, mode), signals)
    for schedule in ("round_robin", "greedy", "random:1"):
        assert not races(program, ranks, row(ranks), None, None, schedule=schedule)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("schedule", ["round_robin", "greedy"])
def test_mesh_without_the_ready_barrier(ranks: int, schedule: str) -> None:
    program = without_barrier(lowered(reducing(ranks, False)), "")
    # the chunk barriers wait for one post more than come then
    program = _with_lower_chunk_counts(program)
    found = races(program, ranks, row(ranks), None, None, schedule=schedule)
    assert frozenset((REMOTE, STORE)) in kinds(found)


def _with_lower_chunk_counts(program: ir.Program) -> ir.Program:
    """The chunk barriers as they would be without a barrier before them: the first waits for one post."""
    text = program.as_python()
    assert "// 4096 + 2," in text
    return pl.parse(text.replace("// 4096 + 2,", "// 4096 + 1,"))


@pytest.mark.parametrize("ranks", RANKS)
def test_mesh_without_the_chunk_barrier(ranks: int) -> None:
    program = without_barrier(lowered(reducing(ranks, False)), "_chunk")
    assert kinds(races(program, ranks, row(ranks), None, None)) == {frozenset((REMOTE, STORE))}


@pytest.mark.parametrize("ranks", RANKS)
def test_reduce_scatter_without_its_second_barrier_races_only_when_staged_again(ranks: int) -> None:
    for restage in (False, True):
        whole = lowered(scattering(ranks, restage))
        assert not races_of_set(whole, ranks)
        found = races_of_set(without_barrier(whole, "2"), ranks)
        assert kinds(found) == ({frozenset((REMOTE, STORE))} if restage else set())


def races_of_set(program: ir.Program, ranks: int) -> list[Any]:
    """Like :func:`races`, for protocols that set their cells: one run stands for the schedules at hand only."""
    found: list[Any] = []
    for schedule in ("round_robin", "greedy", "random:2"):
        detector = RaceDetector(ranks)
        runtime.run(program, rows(ranks), None, None, ranks=ranks, observers=[detector], schedule=schedule)
        found += detector.races
    return found


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize(
    ("phase", "restage"), [("_rs_ready", False), ("_ag_ready", False), ("_rs_read", True), ("_ag_read", True)]
)
def test_ring_without_one_of_its_barriers(ranks: int, phase: str, restage: bool) -> None:
    whole = reducing(ranks, restage, "ring")
    program = _shifted(without_barrier(lowered(whole), phase), phase)
    found = races(program, ranks, row(ranks), None, None)
    if phase.endswith("ready"):
        assert found
    elif restage and phase == "_ag_read":
        assert frozenset((REMOTE, STORE)) in kinds(found)


def _shifted(program: ir.Program, phase: str) -> ir.Program:
    """The other barrier of the same rows as it would be alone: chunk c waits for c + 1 posts."""
    text = program.as_python()
    half = phase[:4]
    lines: list[str] = []
    for line in text.splitlines():
        if f"{half}ready_epoch" in line and "=" in line and "pl.cast(" in line:
            line = line.replace("* 2 + 1", "* 1 + 1")
        if f"{half}read_epoch" in line and "=" in line and "pl.cast(" in line:
            line = line.replace("* 2 + 1 + 1", "* 1 + 1")
        lines.append(line)
    return pl.parse("\n".join(lines) + "\n")


def two_calls(ranks: int) -> ir.Function:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[1, 64], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pl.store(pl.load(x, [0, 0], [1, 64]), [0, 0], data)
        data = pld.tensor.allreduce(data, signal)
        data = pl.store(pl.load(x, [0, 0], [1, 64]), [0, 0], data)
        data = pld.tensor.allreduce(data, signal)
        return data

    return kernel


@pytest.mark.parametrize("ranks", RANKS)
def test_a_second_call_on_one_signal_races_with_single_shot_signals_and_not_with_credits(ranks: int) -> None:
    with pytest.warns(runtime.SignalReuseWarning):
        found = races(lowered(two_calls(ranks)), ranks, row(ranks, 64), None, None)
    assert frozenset((REMOTE, STORE)) in kinds(found)
    for schedule in ("round_robin", "greedy", "random:3", "random:4"):
        assert not races(lowered(two_calls(ranks), "credit"), ranks, row(ranks, 64), None, None, schedule=schedule)


def gathering(ranks: int) -> Callable[[str], ir.Function]:
    def make(kind: str) -> ir.Function:
        if kind == "owner initialises":

            @pl.function(type=pl.FunctionType.InCore)
            def kernel(
                x: pl.Tensor[[1, 64], pl.FP32],
                data: pl.InOut[pld.DistributedTensor[[ranks, 64], pl.FP32]],
                signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
            ):
                zeros = pl.tile.full([ranks, 64], dtype=pl.FP32, value=0.0)
                data = pl.store(zeros, [0, 0], data)
                data = pld.tensor.allgather(x, data, signal)
                return data

            return kernel

        @pl.function(type=pl.FunctionType.InCore)
        def kernel(
            x: pl.Tensor[[1, 64], pl.FP32],
            data: pl.InOut[pld.DistributedTensor[[ranks, 64], pl.FP32]],
            signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
        ):
            data = pld.tensor.allgather(x, data, signal)
            return data

        return kernel

    return make


@pytest.mark.parametrize("ranks", RANKS)
def test_allgather_into_a_target_that_its_owner_initialised_just_before(ranks: int) -> None:
    make = gathering(ranks)
    clean, racy = lowered(make("plain")), lowered(make("owner initialises"))
    for program, expected in ((clean, set()), (racy, {frozenset(("pld.tile.put", STORE))})):
        detector = RaceDetector(ranks)
        runtime.run(program, row(ranks, 64), None, None, ranks=ranks, observers=[detector])
        assert kinds(detector.races) == expected


@pytest.mark.parametrize("ranks", RANKS)
def test_a_root_that_writes_its_window_after_a_broadcast(ranks: int) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        x: pl.Tensor[[1, 64], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, 64], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[ranks, 1], pl.INT32]],
    ):
        data = pl.store(pl.load(x, [0, 0], [1, 64]), [0, 0], data)
        data = pld.tensor.broadcast(data, signal, root=0)
        if pld.rank(pld.get_comm_ctx(data)) == 0:
            data = pl.store(pl.load(x, [0, 0], [1, 64]), [0, 0], data)
        return data

    detector = RaceDetector(ranks)
    runtime.run(lowered(kernel), row(ranks, 64), None, None, ranks=ranks, observers=[detector])
    assert kinds(detector.races) == {frozenset(("pld.tile.get", STORE))}
    assert all(race.owner == 0 for race in detector.races)


def test_the_report_names_ranks_statements_elements_and_the_missing_order() -> None:
    program = without_barrier(lowered(reducing(2, False)), "_chunk")
    detector = RaceDetector(2)
    runtime.run(program, row(2), None, None, ranks=2, observers=[detector])
    with pytest.raises(runtime.RunError, match="race on 'data' of rank") as caught:
        detector.raise_if_any()
    text = str(caught.value)
    assert "elements [0, 0] to [0, 4095] (4096)" in text
    assert "(pld.tile.remote_load)" in text
    assert "(tile.store)" in text
    assert "test_races_in_collectives.py" in text
    assert "has waited for no post that rank" in text
