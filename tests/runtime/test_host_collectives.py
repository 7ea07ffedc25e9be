"""Collectives of host orchestrators give the same numbers by their meaning and by the protocol that they are lowered to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.runtime.host_collectives import SCHEDULES, HostCase, Window, idle, numbers, stages

RANKS = (1, 2, 3, 4, 8)


def allreduce(
    ranks: int, size: int, *, mode: str = "mesh", op: str = "Sum", dtype: str = "FP32", cores: int = 1, stride: int = 1
) -> HostCase:
    signal = Window([2 * (ranks - 1) + 1, ranks] if mode == "ring" else [ranks, stride], "INT32")
    keywords = (
        f"op=pld.ReduceOp.{op}" + (f', mode="{mode}"' if mode != "mesh" else "") + (f", core_num={cores}" if cores > 1 else "")
    )
    return HostCase({"d": Window([1, size], dtype, True, True), "s": signal}, [f"d = pld.tensor.allreduce(d, s, {keywords})"])


def column(ranks: int) -> Window:
    return Window([ranks, 1], "INT32")


def case(name: str, ranks: int, size: int = 40) -> HostCase:
    if name == "allreduce without a signal":
        return HostCase({"d": Window([1, size], filled=True, fetched=True)}, ["d = pld.tensor.allreduce(d)"])
    if name == "allreduce mesh":
        return allreduce(ranks, size)
    if name == "allreduce ring":
        return allreduce(ranks, size, mode="ring")
    if name == "barrier":
        windows = {"d": Window([1, size], filled=True, fetched=True), "s": Window([ranks, 1], "INT32", passed=True)}
        return HostCase(windows, ["s = pld.tensor.barrier(s)"])
    if name == "broadcast":
        body = [f"d = pld.tensor.broadcast(d, s, root={ranks - 1})"]
        return HostCase({"d": Window([1, size], filled=True, fetched=True), "s": column(ranks)}, body)
    if name == "reduce_scatter":
        body = ["d = pld.tensor.reduce_scatter(d, s, op=pld.ReduceOp.Sum)"]
        return HostCase({"d": Window([ranks, size], filled=True, fetched=True), "s": Window([ranks], "INT32")}, body)
    if name == "allgather":
        windows = {"d": Window([1, size], filled=True), "t": Window([ranks, size], fetched=True), "s": Window([ranks], "INT32")}
        return HostCase(windows, ["t = pld.tensor.allgather(d, t, s)"])
    if name == "all_to_all":
        windows = {"d": Window([ranks, size], filled=True), "t": Window([ranks, size], fetched=True), "s": column(ranks)}
        return HostCase(windows, ["t = pld.tensor.all_to_all(d, t, s)"])
    assert name == "all_to_all_v"
    windows = {
        "d": Window([ranks * ROWS, size], filled=True),
        "t": Window([ranks * ROWS, size], fetched=True),
        "s": column(ranks),
        "c": Window([ranks, 1], "INT32", filled=True),
        "g": Window([ranks, 1], "INT32", fetched=True),
    }
    return HostCase(windows, ["t = pld.tensor.all_to_all_v(d, t, s, c, g)"])


ROWS = 3
NAMES = (
    "allreduce without a signal",
    "allreduce mesh",
    "allreduce ring",
    "barrier",
    "broadcast",
    "reduce_scatter",
    "allgather",
    "all_to_all",
    "all_to_all_v",
)


def inputs_of(made: HostCase, ranks: int) -> list[Any]:
    given = [numbers(ranks, *map(int, w.shape)) for n, w in made.windows.items() if w.filled and w.dtype != "INT32"]
    if "c" in made.windows:
        # some counts are above the capacity of three rows
        given.append(np.random.default_rng(1).integers(0, 2 * ROWS, (ranks, ranks, 1)).astype(np.int32))
    return given


def wanted_of(name: str, given: Sequence[Any], ranks: int) -> list[Any]:
    x = given[0].astype(np.float64)
    if name.startswith("allreduce"):
        return [np.broadcast_to(x.sum(axis=0), x.shape)]
    if name == "barrier":
        return [x]
    if name == "broadcast":
        return [np.broadcast_to(x[-1], x.shape)]
    if name == "reduce_scatter":
        found = x.copy()
        for rank in range(ranks):
            found[rank, rank] = x[:, rank].sum(axis=0)
        return [found]
    if name == "allgather":
        return [np.broadcast_to(x[:, 0], (ranks, *x[:, 0].shape))]
    if name == "all_to_all":
        return [x.transpose(1, 0, 2)]
    blocks = x.reshape(ranks, ranks, ROWS, -1).transpose(1, 0, 2, 3)
    return [blocks.reshape(x.shape), np.minimum(given[1][..., 0].T, ROWS)[..., None]]


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("name", NAMES)
def test_every_stage_computes_the_same_bits(name: str, ranks: int) -> None:
    """Results and data windows; free of races, and with signals that are zero again."""
    made = case(name, ranks)
    given = inputs_of(made, ranks)
    first, before = made.run(made.parsed(), given, ranks)
    for found, want in zip(first, wanted_of(name, given, ranks), strict=True):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-5)
    for stage, program in stages(made.parsed()).items():
        for schedule in SCHEDULES if stage == "materialize_runtime_scopes" else SCHEDULES[:1]:
            found, report = made.run(program, given, ranks, schedule)
            where = f"{stage} under {schedule}"
            for a, b in zip(found, first, strict=True):
                np.testing.assert_array_equal(a, b, err_msg=where)
            assert before.windows.keys() == report.windows.keys()
            for window, of_ranks in before.windows.items():
                np.testing.assert_array_equal(report.windows[window], of_ranks, err_msg=f"{window} after {where}")
            assert idle(report), where
