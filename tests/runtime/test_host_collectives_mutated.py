"""Host programs whose kernels lack a step, or that do at once what they may not: runs give other numbers or hang, the race detector says why.

Every rank stages a row, takes part in the collective and fetches what came out, twice, and meets nobody in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pypto.ir.enums import NotifyOp
from pypto.ir.expr import Call, ConstInt, Expr, MakeTuple, index_const
from pypto.ir.function import Function
from pypto.ir.visitor import IRMutator
from pypto.ops.host_kernels import table, without_step
from pypto.runtime import DeadlockError
from pypto.runtime.checking import RaceError, explore
from tests.ops.host_kernel_runs import with_equal_waits
from tests.runtime.host_collectives import SCHEDULES, HostCase, Window, lowered, numbers
from tests.runtime.test_host_collectives import allreduce, case, inputs_of

MANY = ("greedy", *[f"random:{seed}" for seed in range(12)])

Change = Callable[[Function], Function]
Replace = Callable[[str, Change], None]


@pytest.fixture
def replace(monkeypatch: pytest.MonkeyPatch) -> Replace:
    """Lets the dispatches of a collective run a changed kernel."""

    def change_kernel(name: str, change: Change) -> None:
        write = table.HOST_KERNELS[f"builtin.tensor.{name}"]
        monkeypatch.setitem(
            table.HOST_KERNELS, f"builtin.tensor.{name}", lambda *types, **keywords: change(write(*types, **keywords))
        )  # type: ignore[arg-type]
        monkeypatch.setattr(table, "_KNOWN", {})

    return change_kernel


def twice(name: str, ranks: int) -> HostCase:
    made = case(name, ranks)
    made.before = ["for i in pl.range(2):"]
    return made


def differs(made: HostCase, given: list[Any], ranks: int) -> bool:
    """Whether some schedule gives other numbers than the collectives by their meaning."""
    first, _ = made.run(made.parsed(), given, ranks)
    program = lowered(made.parsed())
    for schedule in MANY:
        found, _ = made.run(program, given, ranks, schedule, check=False)
        if any(not np.allclose(a, b, rtol=1e-5) for a, b in zip(found, first, strict=True)):
            return True
    return False


def races(made: HostCase, given: list[Any], ranks: int) -> RaceError:
    with pytest.raises(RaceError) as caught:
        made.run(lowered(made.parsed()), given, ranks)
    return caught.value


BARRIERS = [
    ("allreduce mesh", "allreduce", ["ready_barrier"], None),
    ("allreduce mesh", "allreduce", ["tile_barrier"], None),
    ("allreduce mesh", "allreduce", ["credits"], None),
    ("reduce_scatter", "reduce_scatter", ["closing_barrier"], None),
    ("allreduce ring", "allreduce_ring", ["closing_barrier", "closing_credits"], None),
    ("allreduce ring", "allreduce_ring", ["reduce_barrier", "reduce_credits"], 0),
    ("allreduce ring", "allreduce_ring", ["reduce_barrier", "reduce_credits"], 1),
    ("allreduce ring", "allreduce_ring", ["gather_barrier", "gather_credits"], 0),
    ("allreduce ring", "allreduce_ring", ["gather_barrier", "gather_credits"], 1),
    ("allreduce ring", "allreduce_ring", ["gather_credits_left"], None),
]


@pytest.mark.filterwarnings("ignore::pypto.runtime.SignalReuseWarning")
@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize(("name", "kernel", "left_out", "turn"), BARRIERS)
def test_a_step_that_is_left_out_is_a_race(
    name: str, kernel: str, left_out: list[str], turn: int | None, ranks: int, replace: Replace
) -> None:
    """For two ranks the missing credit is one of two on one cell."""
    if turn == 1 and ranks == 2:
        turn = 0  # each phase has one turn
    given = inputs_of(twice(name, ranks), ranks)
    twice(name, ranks).run(lowered(twice(name, ranks).parsed()), given, ranks)
    replace(kernel, lambda function: without_step(function, *left_out, turn=turn))
    error = races(twice(name, ranks), given, ranks)
    assert any(race.window == "d_buf" for race in error.races)


@pytest.mark.filterwarnings("ignore::pypto.runtime.SignalReuseWarning")
@pytest.mark.parametrize(
    ("name", "kernel", "step"),
    [
        ("allreduce mesh", "allreduce", "ready_barrier"),
        ("allreduce mesh", "allreduce", "tile_barrier"),
        ("allreduce ring", "allreduce_ring", "gather_barrier"),
    ],
)
def test_without_a_barrier_numbers_are_wrong(name: str, kernel: str, step: str, replace: Replace) -> None:
    given = inputs_of(case(name, 3), 3)
    assert not differs(twice(name, 3), given, 3)
    replace(kernel, lambda function: without_step(function, step))
    assert differs(twice(name, 3), given, 3)


def test_a_scatter_needs_its_second_barrier_only_when_rows_are_staged_again(replace: Replace) -> None:
    replace("reduce_scatter", lambda function: without_step(function, "closing_barrier"))
    made = case("reduce_scatter", 3)
    for schedule in SCHEDULES:
        made.run(lowered(made.parsed()), inputs_of(made, 3), 3, schedule)


# -- what is up to the program -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", ["broadcast", "allgather", "all_to_all"])
def test_who_writes_at_once_what_others_still_use(name: str, ranks: int) -> None:
    """By their meaning collectives let nobody go ahead, so that it shows only afterwards."""
    made = twice(name, ranks)
    given = inputs_of(made, ranks)
    made.run(made.parsed(), given, ranks)
    races(made, given, ranks)


@pytest.mark.parametrize("name", ["broadcast", "allgather", "all_to_all"])
def test_a_barrier_before_it_is_written_again(name: str) -> None:
    """The same signal serves both."""
    made = case(name, 3)
    made.body = ["s = pld.tensor.barrier(s)", *made.body] if name != "broadcast" else [*made.body, "s = pld.tensor.barrier(s)"]
    made.before = ["for i in pl.range(2):"]
    for schedule in SCHEDULES:
        made.run(lowered(made.parsed()), inputs_of(made, 3), 3, schedule)


def test_two_gathers_into_one_target_that_is_read_at_the_end() -> None:
    made = case("allgather", 3)
    made.body = [*made.body, "for q in pl.range(pld.world_size()):", "    d = self.put_d(x_d[q], d, device=q)", *made.body]
    for schedule in SCHEDULES:
        made.run(lowered(made.parsed()), inputs_of(made, 3), 3, schedule)


@pytest.mark.parametrize("met", [False, True])
def test_a_target_that_its_owner_has_just_filled(met: bool) -> None:
    windows = {
        "d": Window([1, 40], filled=True),
        "t": Window([3, 40], filled=True, fetched=True),
        "s": Window([3, 1], "INT32", passed=True),
    }
    made = HostCase(windows, [*["s = pld.tensor.barrier(s)"] * met, "t = pld.tensor.allgather(d, t, s)"])
    given = [numbers(3, 1, 40), numbers(3, 3, 40)]
    if met:
        made.run(lowered(made.parsed()), given, 3)
    else:
        assert {race.window for race in races(made, given, 3).races} == {"t_buf"}


# -- cells -----------------------------------------------------------------------------------------------------------------


class _OneLane(IRMutator):
    """All blocks of a rank use the cells of the first."""

    def visit_call(self, op: Call) -> Expr:
        at = {"pld.system.notify": 2, "pld.system.wait": 1}.get(op.op.name)
        if at is None:
            return op
        cell = op.args[at]
        assert isinstance(cell, MakeTuple)
        shared = MakeTuple([cell.elements[0], index_const(0)])
        return op.replace(args=[*op.args[:at], shared, *op.args[at + 1 :]])


@pytest.mark.filterwarnings("ignore::pypto.runtime.SignalReuseWarning")
@pytest.mark.parametrize("ranks", [2, 3])
def test_blocks_that_share_a_lane_race(ranks: int, replace: Replace) -> None:
    """A wait is satisfied by the post of another block."""
    made = allreduce(ranks, 700, cores=2, stride=2)
    given = inputs_of(made, ranks)
    made.run(lowered(made.parsed()), given, ranks)
    replace("allreduce", _OneLane().visit_function)
    error = races(allreduce(ranks, 700, cores=2, stride=2), given, ranks)
    assert any("block 1" in race.text for race in error.races)


class _Resets(IRMutator):
    """Sets a cell to zero where a credit is taken back."""

    def visit_call(self, op: Call) -> Expr:
        if op.op.name != "pld.system.notify" or (isinstance(op.args[3], ConstInt) and op.args[3].value == 1):
            return op
        zero = ConstInt(0, op.args[3].type.dtype)  # type: ignore[attr-defined]
        return op.replace(args=[*op.args[:3], zero], kwargs={"op": int(NotifyOp.Set)})


@pytest.mark.parametrize("change", [_Resets().visit_function, with_equal_waits])
@pytest.mark.parametrize(("name", "kernel"), [("allreduce mesh", "allreduce"), ("reduce_scatter", "reduce_scatter")])
def test_fast_peers_make_it_hang(name: str, kernel: str, change: Change, replace: Replace) -> None:
    """Set 0 loses the early post of the next call; a wait for exactly a value never sees one that has passed."""
    given = inputs_of(case(name, 3), 3)
    replace(kernel, change)
    program = lowered(twice(name, 3).parsed())
    hung = 0
    for schedule in MANY:
        try:
            twice(name, 3).run(program, given, 3, schedule, check=False)
        except DeadlockError:
            hung += 1
    assert hung


def test_without_posts_blocks_hang_and_say_where(replace: Replace) -> None:
    replace("allreduce", lambda function: without_step(function, "tile_barrier_post"))
    made = allreduce(2, 600, cores=2, stride=2)
    with pytest.raises(DeadlockError) as caught:
        made.run(lowered(made.parsed()), inputs_of(made, 2), 2, check=False)
    text = str(caught.value)
    assert "2 of 2 ranks wait" in text
    for line in ("rank 0 waits", "rank 1 waits", "rank 0, block 1 waits", "rank 1, block 1 waits"):
        assert f"  {line} at" in text
    assert "finds 1 in cell [1, 1] of 's_buf', and wants >= 2" in text


# -- every schedule ----------------------------------------------------------------------------------------------------------


def test_one_run_stands_for_all_schedules() -> None:
    made = allreduce(2, 300, cores=2, stride=2)
    x = numbers(2, 1, 300)
    verdict = explore(lowered(made.parsed()), x, np.zeros_like(x), ranks=2)
    assert verdict.holds
    assert verdict.monotone


def test_exploration_finds_the_race_of_blocks(replace: Replace) -> None:
    replace("allreduce", _OneLane().visit_function)
    made = allreduce(2, 300, cores=2, stride=2)
    x = numbers(2, 1, 300)
    verdict = explore(lowered(made.parsed()), x, np.zeros_like(x), ranks=2)
    assert verdict.fault is not None
    assert verdict.fault.kind == "race"
    assert verdict.fault.timeline is not None
    assert "block 1: posts 1 to 's_buf'" in verdict.fault.timeline.text(160)
