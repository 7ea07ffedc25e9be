"""Collectives of host orchestrators: many cores, many calls on one signal, parts of the ranks, sizes, and one rank alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pypto.language as pl
from pypto.runtime import RunError, entry_function, run, write_schedule
from pypto.runtime.legal_ranks import legal_ranks
from tests.runtime.host_collectives import SCHEDULES, HostCase, Window, idle, lowered, numbers, stages
from tests.runtime.test_host_collectives import NAMES, allreduce, case, inputs_of

REDUCE = {"Sum": np.sum, "Max": np.max, "Min": np.min, "Prod": np.prod}


def agree(made: HostCase, given: list[Any], ranks: int, schedules: tuple[str, ...] = SCHEDULES[1:3]) -> list[Any]:
    """Run before and after lowering, which gives the same bits and leaves the signals at zero; what comes out."""
    first, before = made.run(made.parsed(), given, ranks)
    program = lowered(made.parsed())
    for schedule in schedules:
        found, report = made.run(program, given, ranks, schedule)
        for a, b in zip(found, first, strict=True):
            np.testing.assert_array_equal(a, b)
        for window, of_ranks in before.windows.items():
            np.testing.assert_array_equal(report.windows[window], of_ranks)
        assert idle(report)
    return first


# -- many cores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranks", "cores", "size", "stride"),
    [(2, 2, 1, 2), (2, 4, 4127, 6), (4, 2, 1041, 2), (3, 3, 700, 3), (1, 4, 1041, 4), (8, 5, 900, 8)],
)
@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
def test_cores_share_the_tiles(ranks: int, cores: int, size: int, stride: int, dtype: str) -> None:
    made = allreduce(ranks, size, cores=cores, stride=stride, dtype=dtype)
    x = numbers(ranks, 1, size, dtype=dtype)
    [out] = agree(made, [x], ranks)
    want = x.astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(out, np.broadcast_to(want, out.shape), rtol=1e-4 if dtype == "FP32" else 2e-2, atol=2e-2)


def test_blocks_of_a_rank_run_at_the_same_time() -> None:
    """In turn, each of the blocks has posted before any has waited in vain for long; their turns alternate."""
    ranks, cores = 2, 4
    made = allreduce(ranks, 4 * 256, cores=cores, stride=cores)
    _, report = made.run(lowered(made.parsed()), [numbers(ranks, 1, 1024)], ranks)
    agents = {turn for turn in report.schedule if turn >= 0}
    assert agents == {*range(ranks * cores)}
    spans = {a: [at for at, turn in enumerate(report.schedule) if turn == a] for a in agents}
    assert max(s[0] for a, s in spans.items() if a >= ranks) < min(s[-1] for a, s in spans.items() if a >= ranks)


@pytest.mark.parametrize("ranks", [2, 4])
def test_calls_on_other_numbers_of_cores_share_a_signal(ranks: int) -> None:
    body = [f"d = pld.tensor.allreduce(d, s, op=pld.ReduceOp.Sum, core_num={cores})" for cores in (1, 3, 2)]
    made = HostCase({"d": Window([1, 800], filled=True, fetched=True), "s": Window([ranks, 3], "INT32")}, body)
    x = numbers(ranks, 1, 800)
    [out] = agree(made, [x], ranks)
    want = ranks**2 * x.astype(np.float64).sum(axis=0)
    np.testing.assert_allclose(out, np.broadcast_to(want, out.shape), rtol=1e-4, atol=1e-4)


# -- many calls --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", ["allreduce mesh", "allreduce ring", "broadcast", "reduce_scatter", "barrier"])
def test_any_number_of_calls_on_one_signal(name: str, ranks: int) -> None:
    once = case(name, ranks)
    made = HostCase(once.windows, [*once.body] * 3)
    x = numbers(ranks, *map(int, once.windows["d"].shape))
    [out] = agree(made, [x], ranks)
    if name.startswith("allreduce"):
        want = ranks**2 * x.astype(np.float64).sum(axis=0)
        np.testing.assert_allclose(out, np.broadcast_to(want, out.shape), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["mesh", "ring"])
def test_a_loop_stages_reduces_and_fetches(mode: str) -> None:
    """Ranks are not held back in between: a fast one stages its next row while others still read."""
    ranks = 3
    made = allreduce(ranks, 300, mode=mode)
    made.before = ["for i in pl.range(4):"]
    x = numbers(ranks, 1, 300)
    [out] = agree(made, [x], ranks, SCHEDULES)
    np.testing.assert_allclose(out, np.broadcast_to(x.astype(np.float64).sum(axis=0), out.shape), rtol=1e-5, atol=1e-5)


def test_different_collectives_on_one_signal() -> None:
    """The sum of rows by a scatter and a gather: what a rank has of the sum goes round."""
    ranks, size = 4, 60
    windows = {
        "d": Window([ranks, size], filled=True, fetched=True),
        "t": Window([ranks, size], fetched=True),
        "s": Window([ranks, 1], "INT32", passed=True),
    }
    body = [
        "d = pld.tensor.reduce_scatter(d, s, op=pld.ReduceOp.Sum)",
        "t = pld.tensor.all_to_all(d, t, s)",
        "s = pld.tensor.barrier(s)",
        "d = pld.tensor.broadcast(d, s, root=1)",
    ]
    x = numbers(ranks, ranks, size)
    scattered = x.astype(np.float64)
    for rank in range(ranks):
        scattered[rank, rank] = x.astype(np.float64)[:, rank].sum(axis=0)
    d, t = agree(HostCase(windows, body), [x], ranks, SCHEDULES)
    np.testing.assert_allclose(d, np.broadcast_to(scattered[1], d.shape), rtol=1e-5)
    np.testing.assert_allclose(t, scattered.transpose(1, 0, 2), rtol=1e-5)


# -- sizes and types ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 17, 257, 8193])
@pytest.mark.parametrize("op", ["Sum", "Max", "Min", "Prod"])
@pytest.mark.parametrize("dtype", ["FP32", "FP16"])
def test_reductions_of_any_size(op: str, dtype: str, size: int) -> None:
    ranks = 3
    x = numbers(ranks, 1, size, dtype=dtype)
    [out] = agree(allreduce(ranks, size, op=op, dtype=dtype), [x], ranks, ("random:0",))
    want = REDUCE[op](x.astype(np.float64), axis=0)
    np.testing.assert_allclose(out, np.broadcast_to(want, out.shape), rtol=1e-5 if dtype == "FP32" else 2e-2, atol=1e-2)


@pytest.mark.parametrize("ranks", [2, 4, 7, 16])
@pytest.mark.parametrize("size", [1, 17, 4097])
def test_rings_of_up_to_sixteen(ranks: int, size: int) -> None:
    """Chunks of other lengths, and none at all for most ranks when there is one element."""
    x = numbers(ranks, 1, size)
    [out] = agree(allreduce(ranks, size, mode="ring"), [x], ranks, ("greedy",) if ranks > 8 else ("greedy", "random:0"))
    np.testing.assert_allclose(out, np.broadcast_to(x.astype(np.float64).sum(axis=0), out.shape), rtol=1e-4, atol=1e-5)
    for other in out[1:]:
        np.testing.assert_array_equal(other, out[0])


def test_a_ring_of_two_ranks_three_times() -> None:
    """Both neighbours are one rank, whose cell gets two posts."""
    made = allreduce(2, 3, mode="ring")
    made.body = [*made.body] * 3
    x = numbers(2, 1, 3)
    [out] = agree(made, [x], 2, (*SCHEDULES, "random:2", "random:3"))
    np.testing.assert_allclose(out, np.broadcast_to(4 * x.astype(np.float64).sum(axis=0), out.shape), rtol=1e-5)


# -- one rank ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_one_rank_alone_touches_no_cell(name: str) -> None:
    made = case(name, 1)
    given = inputs_of(made, 1)
    [*_, first], report = made.run(lowered(made.parsed()), given, 1)
    assert idle(report)
    assert report.statistics["waits"] == 0
    # only all_to_all_v posts: the number of rows, to itself
    assert report.statistics["posts"] == (name == "all_to_all_v")
    want = np.minimum(given[1], 3) if name == "all_to_all_v" else given[0]
    np.testing.assert_array_equal(first, want)


# -- parts of the ranks ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES[1:])
def test_a_domain_of_some_ranks(name: str) -> None:
    """Ranks 1 to 3 of five: they count from 0 among themselves, and the others are left alone."""
    ranks, part = 5, slice(1, 4)
    made = case(name, 3)
    made.devices = "1, 4"
    given = [np.concatenate([x[:1], x, x[:1]]) for x in inputs_of(made, 3)]
    alone = case(name, 3)
    wanted, _ = alone.run(alone.parsed(), [x[part] for x in given], 3)
    for found, want in zip(agree(made, given, ranks, SCHEDULES), wanted, strict=True):
        np.testing.assert_array_equal(found[part], want)
        assert not found[0].any()
        assert not found[4].any()


TWO_DOMAINS = """
import pypto.language as pl
import pypto.language.distributed as pld

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def put_kernel(self, x: pl.Tensor[[1, 300], pl.FP32], d: pl.Out[pld.DistributedTensor[[1, 300], pl.FP32]]):
        d = pl.store(pl.load(x, [0, 0], [1, 300]), [0, 0], d)
        return d

    @pl.function(type=pl.FunctionType.Orchestration)
    def put(self, x: pl.Tensor[[1, 300], pl.FP32], d: pl.Out[pld.DistributedTensor[[1, 300], pl.FP32]]):
        d = self.put_kernel(x, d)
        return d

    @pl.function(type=pl.FunctionType.InCore)
    def take_kernel(self, d: pld.DistributedTensor[[1, 300], pl.FP32], o: pl.Out[pl.Tensor[[1, 300], pl.FP32]]):
        ctx = pld.system.get_comm_ctx(d)
        n = pl.cast(pld.system.nranks(ctx), pl.FP32)
        o = pl.store(pl.tile.muls(pl.load(d, [0, 0], [1, 300]), n), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def take(self, d: pld.DistributedTensor[[1, 300], pl.FP32], o: pl.Out[pl.Tensor[[1, 300], pl.FP32]]):
        o = self.take_kernel(d, o)
        return o

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[5, 1, 300], pl.FP32], o: pl.Out[pl.Tensor[[5, 1, 300], pl.FP32]]):
        low_buf = pld.alloc_window_buffer([1, 300], dtype=pl.FP32)
        high_buf = pld.alloc_window_buffer([1, 300], dtype=pl.FP32)
        low_cells = pld.alloc_window_buffer([2, 2], dtype=pl.INT32)
        high_cells = pld.alloc_window_buffer([5, 3], dtype=pl.INT32)
        low = pld.window(low_buf, [1, 300], dtype=pl.FP32)
        high = pld.window(high_buf, [1, 300], dtype=pl.FP32)
        low_signal = pld.window(low_cells, [2, 2], dtype=pl.INT32)
        high_signal = pld.window(high_cells, [5, 3], dtype=pl.INT32)
        for r in pl.range(2):
            low = self.put(x[r], low, device=r)
        for q in pl.range(2, 5):
            high = self.put(x[q], high, device=q)
        low = pld.tensor.allreduce(low, low_signal, op=pld.ReduceOp.Sum, core_num=2)
        high = pld.tensor.allreduce(high, high_signal, op=pld.ReduceOp.Max, mode="MODE")
        for r in pl.range(2):
            self.take(low, o[r], device=r)
        for q in pl.range(2, 5):
            self.take(high, o[q], device=q)
        return o
"""


def test_two_domains_at_once() -> None:
    program: Any = pl.parse(TWO_DOMAINS.replace("MODE", "mesh"))
    x = numbers(5, 1, 300)
    y = x.astype(np.float64)
    want = np.concatenate(
        [np.broadcast_to(2 * y[:2].sum(axis=0), (2, 1, 300)), np.broadcast_to(3 * y[2:].max(axis=0), (3, 1, 300))]
    )
    results = []
    for made in (program, lowered(program)):
        for schedule in SCHEDULES:
            out = np.zeros_like(x)
            _, report = run(made, x, out, ranks=5, schedule=schedule, check=True, report=True)
            results.append(out)
            assert idle(report)
            assert [len(report.windows[w]) for w in ("low_buf", "high_buf")] == [2, 3]
    np.testing.assert_allclose(results[0], want, rtol=1e-5, atol=1e-5)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


# -- schedules and ranks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["greedy", "random:7"])
def test_turns_of_blocks_can_be_replayed(schedule: str, tmp_path: Path) -> None:
    made = allreduce(2, 600, cores=3, stride=3)
    x = numbers(2, 1, 600)
    program = lowered(made.parsed())
    first, report = made.run(program, [x], 2, schedule)
    write_schedule(tmp_path / "turns.txt", report.schedule)
    again, replayed = made.run(program, [x], 2, f"replay:{tmp_path / 'turns.txt'}")
    assert list(replayed.schedule) == list(report.schedule)
    np.testing.assert_array_equal(again, first)


LEGAL = [
    ("allreduce without a signal", "pld.world_size()", "1 to 16"),
    ("allreduce mesh", "pld.world_size()", "1 to 4"),
    ("allreduce ring", "pld.world_size()", "4"),
    ("broadcast", "pld.world_size()", "4"),
    ("reduce_scatter", "pld.world_size()", "1 to 4"),
    ("all_to_all_v", "pld.world_size()", "4"),
    ("allreduce ring", "4", "4 or more"),
    ("allreduce ring", "2, 6", "6 or more"),
    ("all_to_all_v", "1, 5", "5 or more"),
]


@pytest.mark.parametrize(("name", "devices", "wanted"), LEGAL)
def test_the_legal_numbers_of_ranks_stay_what_they_are(name: str, devices: str, wanted: str) -> None:
    """Signals and roots limit the ranks of a domain; those of a list only must exist."""
    made = case(name, 4)
    made.devices = devices
    for stage, program in stages(made.parsed(), ssa=True).items():
        assert str(legal_ranks(program, entry_function(program))) == wanted, stage


KERNEL_ON_A_LIST = """
import pypto.language as pl
import pypto.language.distributed as pld

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, d: pl.InOut[pld.DistributedTensor[[1, 32], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
        d = pld.tensor.allreduce(d, s, op=pld.ReduceOp.Sum)
        return d

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, d: pl.InOut[pld.DistributedTensor[[1, 32], pl.FP32]], s: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]]):
        d = self.kernel(d, s)
        return d

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self):
        buffer = pld.alloc_window_buffer([1, 32], dtype=pl.FP32)
        cells = pld.alloc_window_buffer([2, 1], dtype=pl.INT32)
        d = pld.window(buffer, [1, 32], dtype=pl.FP32)
        s = pld.window(cells, [2, 1], dtype=pl.INT32)
        for r in pl.range(DEVICES):
            self.chip(d, s, device=r)
        return d
"""


@pytest.mark.parametrize(("devices", "wanted"), [("pld.world_size()", "1 to 2"), ("2", "2 or more"), ("1, 3", "3 or more")])
def test_kernels_on_a_list_of_ranks_say_nothing_of_the_others(devices: str, wanted: str) -> None:
    program: Any = pl.parse(KERNEL_ON_A_LIST.replace("DEVICES", devices))
    for stage, made in stages(program).items():
        assert str(legal_ranks(made, entry_function(made))) == wanted, stage


# -- refused -----------------------------------------------------------------------------------------------------------


def test_a_ring_on_another_number_of_ranks_than_its_signal_is_made_for() -> None:
    made = allreduce(4, 20, mode="ring")
    program = lowered(made.parsed())
    for ranks, shown in ((1, "one rank"), (3, "3 ranks"), (5, "5 ranks")):
        with pytest.raises(RunError, match=rf"allreduce_ring is dispatched to a domain of {shown}, .* made for 4") as caught:
            made.run(program, [numbers(ranks, 1, 20)], ranks)
        place: Any = caught.value.span
        assert "pld.tensor.allreduce(d, s" in made.text().splitlines()[place["line"] - 1]


def test_more_ranks_than_a_kernel_works_between() -> None:
    made = HostCase({"d": Window([1, 8], filled=True, fetched=True)}, ["d = pld.tensor.allreduce(d)"])
    x = numbers(17, 1, 8)
    with pytest.raises(RunError, match=r"domain of 17 ranks, .* made for 1 to 16"):
        made.run(lowered(made.parsed()), [x], 17)


def test_a_root_that_does_not_exist() -> None:
    windows = {"d": Window([1, 8], filled=True, fetched=True), "s": Window([4, 1], "INT32")}
    made = HostCase(windows, ["d = pld.tensor.broadcast(d, s, root=2)"])
    with pytest.raises(RunError, match=r"domain of 2 ranks, .* made for 3 to 4"):
        made.run(lowered(made.parsed()), [numbers(2, 1, 8)], 2)
