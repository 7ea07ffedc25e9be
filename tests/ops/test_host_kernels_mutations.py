"""What each barrier and credit is for: without it a run gives wrong numbers, hangs, or holds a race.

Every rank stages a value, runs the kernel and collects the result, twice, and meets nobody outside the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pypto.ir.enums import NotifyOp
from pypto.ir.expr import Call, ConstInt, Expr
from pypto.ir.function import Function
from pypto.ir.visitor import IRMutator
from pypto.ops.host_kernels import (
    allgather,
    allreduce_mesh,
    allreduce_ring,
    allreduce_ring_pull,
    broadcast,
    reduce_scatter,
    without_step,
)
from pypto.runtime import DeadlockError
from pypto.runtime.checking import RaceError
from tests.ops.host_kernel_runs import SCHEDULES, numbers, run_staged, signal, window, with_equal_waits

MANY = ("greedy", *[f"random:{seed}" for seed in range(12)])

pytestmark = pytest.mark.filterwarnings("ignore::pypto.runtime.SignalReuseWarning")


@dataclass
class Case:
    """A kernel, what is staged before each call, and what is collected after each."""

    kernel: Function
    inputs: list[list[Any]]
    wanted: list[list[Any]]
    signals: tuple[int, ...]
    collected: int | None = None
    consume_each: bool = True

    def wrong(self, kernel: Function, schedule: str) -> bool:
        """Whether the result is another one."""
        found = self.run(kernel, schedule)
        return any(not np.allclose(f, w, rtol=1e-5) for f, w in zip(found, self.wanted, strict=True))

    def run(self, kernel: Function, schedule: str = "round_robin", check: bool = False) -> Any:
        return run_staged(
            kernel,
            self.inputs,
            *self.signals,
            collected=self.collected,
            consume_each=self.consume_each,
            schedule=schedule,
            check=check,
        )


def sums(inputs: Sequence[list[Any]]) -> list[list[Any]]:
    return [[np.sum(values, axis=0)] * len(values) for values in inputs]


def own_rows(inputs: Sequence[list[Any]]) -> list[list[Any]]:
    wanted = [[v.copy() for v in values] for values in inputs]
    for values, results in zip(inputs, wanted, strict=True):
        for rank, result in enumerate(results):
            result[rank] = np.sum(values, axis=0)[rank]
    return wanted


def case(name: str, ranks: int) -> Case:
    rows = 2 * ranks - 1
    inputs = [numbers(ranks, 3, 100, seed=seed) for seed in (1, 2)]
    if name == "mesh":
        return Case(allreduce_mesh(window(3, 100), signal(ranks)), inputs, sums(inputs), (ranks,))
    if name == "push ring":
        return Case(allreduce_ring(window(3, 100), signal(rows, ranks)), inputs, sums(inputs), (rows, ranks))
    if name == "pull ring":
        return Case(allreduce_ring_pull(window(3, 100), signal(rows, ranks)), inputs, sums(inputs), (rows, ranks))
    if name == "broadcast":
        wanted = [[values[0]] * ranks for values in inputs]
        return Case(broadcast(window(3, 100), signal(ranks)), inputs, wanted, (ranks,))
    if name == "reduce_scatter":
        inputs = [numbers(ranks, ranks, 100, seed=seed) for seed in (1, 2)]
        return Case(reduce_scatter(window(ranks, 100), signal(ranks)), inputs, own_rows(inputs), (ranks,))
    inputs = [numbers(ranks, 1, 100, seed=seed) for seed in (1, 2)]
    wanted = [[np.concatenate(values)] * ranks for values in inputs]
    kernel = allgather(window(1, 100), window(ranks, 100), signal(ranks))
    if name == "allgather, consumed at the end":
        return Case(kernel, inputs, wanted[1:], (ranks,), 1, consume_each=False)
    assert name == "allgather, consumed each time"
    return Case(kernel, inputs, wanted, (ranks,), 1)


RIGHT = ["mesh", "push ring", "pull ring", "reduce_scatter", "allgather, consumed at the end"]


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.filterwarnings("error")
def test_unchanged_kernels_are_right_and_free_of_races(name: str, ranks: int) -> None:
    """Also when windows are staged anew at once."""
    unchanged = case(name, ranks)
    for schedule in SCHEDULES:
        assert not unchanged.wrong(unchanged.kernel, schedule)
    unchanged.run(unchanged.kernel, check=True)


WRONG = [
    ("mesh", ["ready_barrier"], None),
    ("mesh", ["ready_barrier_wait"], None),
    ("mesh", ["tile_barrier"], None),
    ("mesh", ["credits"], None),
    ("reduce_scatter", ["ready_barrier"], None),
    ("reduce_scatter", ["closing_barrier"], None),
    ("reduce_scatter", ["credits"], None),
    ("pull ring", ["closing_barrier", "closing_credits"], None),
    ("push ring", ["closing_barrier", "closing_credits"], None),
    ("push ring", ["reduce_credits"], None),
    ("push ring", ["reduce_credits_left"], None),
    ("push ring", ["gather_credits_left"], None),
    *[(f"{form} ring", [f"{phase}_barrier", f"{phase}_credits"], t) for form in ("push", "pull") for phase in ("reduce", "gather") for t in (0, 1)],
]  # fmt: skip


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(("name", "left_out", "turn"), WRONG)
def test_without_it_numbers_are_wrong_and_there_is_a_race(name: str, left_out: list[str], turn: int | None, ranks: int) -> None:
    if turn == 1 and ranks == 2:
        turn = 0  # two ranks take one turn in each phase
    good = case(name, ranks)
    bad = without_step(good.kernel, *left_out, turn=turn)
    assert any(good.wrong(bad, schedule) for schedule in MANY)
    with pytest.raises(RaceError):
        good.run(bad, check=True)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", ["broadcast", "allgather, consumed each time"])
def test_who_writes_at_once_what_others_still_use(name: str, ranks: int) -> None:
    """After a broadcast the root must meet the others before it writes again; before an allgather all must have read the last one."""
    careless = case(name, ranks)
    assert any(careless.wrong(careless.kernel, schedule) for schedule in MANY)
    with pytest.raises(RaceError):
        careless.run(careless.kernel, check=True)


def test_a_scattered_sum_needs_its_second_barrier_only_for_what_follows() -> None:
    once = case("reduce_scatter", 3)
    once.inputs, once.wanted = once.inputs[:1], once.wanted[:1]
    bad = without_step(once.kernel, "closing_barrier")
    assert not any(once.wrong(bad, schedule) for schedule in MANY)
    once.run(bad, check=True)


HANGING = [
    ("mesh", "ready_barrier_post"),
    ("mesh", "tile_barrier_post"),
    ("push ring", "reduce_barrier_post_left"),
    ("push ring", "gather_barrier_post_right"),
    ("pull ring", "closing_barrier_post"),
    ("broadcast", "tile_barrier_post"),
    ("reduce_scatter", "closing_barrier_post"),
    ("allgather, consumed at the end", "closing_barrier_post"),
]


@pytest.mark.parametrize(("name", "left_out"), HANGING)
def test_without_posts_a_kernel_hangs(name: str, left_out: str) -> None:
    good = case(name, 3)
    with pytest.raises(DeadlockError):
        good.run(without_step(good.kernel, left_out), "greedy")


def hangs(tried: Case, kernel: Function) -> bool:
    for schedule in MANY:
        try:
            tried.run(kernel, schedule)
        except DeadlockError:
            return True
    return False


@pytest.mark.parametrize("name", ["mesh", "reduce_scatter"])
def test_waiting_for_exactly_a_number_hangs_when_a_peer_is_fast(name: str) -> None:
    good = case(name, 3)
    assert hangs(good, with_equal_waits(good.kernel))
    assert not hangs(good, good.kernel)


class _Resets(IRMutator):
    """Sets a cell to zero where a credit is taken back."""

    def visit_call(self, op: Call) -> Expr:
        if op.op.name != "pld.system.notify" or (isinstance(op.args[3], ConstInt) and op.args[3].value == 1):
            return op
        zero = ConstInt(0, op.args[3].type.dtype)  # type: ignore[attr-defined]
        return op.replace(args=[*op.args[:3], zero], kwargs={"op": int(NotifyOp.Set)})


@pytest.mark.parametrize("name", ["mesh", "push ring", "allgather, consumed at the end"])
def test_setting_cells_to_zero_loses_the_posts_of_the_next_call(name: str) -> None:
    good = case(name, 3)
    assert hangs(good, _Resets().visit_function(good.kernel))
