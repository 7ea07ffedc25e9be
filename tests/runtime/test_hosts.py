"""Host orchestrators: windows, dispatches, order of tasks, domains, and what the host waits for."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.runtime import ArgumentTypeError, DeadlockError, PoisonError, RunError, run

R = pl.dynamic("R")
SCHEDULES = ("round_robin", "greedy", "random:0", "random:1", "random:2")


@pl.program
class Shift:
    """Every rank gives its row to its right neighbour."""

    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[1, 16], pl.FP32],
        data: pld.DistributedTensor[[1, 16], pl.FP32],
        signal: pld.DistributedTensor[[1, 1], pl.INT32],
        out: pl.Out[pl.Tensor[[1, 16], pl.FP32]],
    ):
        ctx = pld.get_comm_ctx(data)
        me = pl.cast(pld.rank(ctx), pl.INDEX)
        ranks = pl.cast(pld.nranks(ctx), pl.INDEX)
        right = (me + 1) % ranks
        pld.tile.remote_store(pl.load(x, [0, 0], [1, 16]), data, right, [0, 0])
        pld.system.notify(signal, right, [0, 0], 1, op=pld.NotifyOp.AtomicAdd)
        pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)
        out = pl.store(pl.load(data, [0, 0], [1, 16]), [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(
        self,
        x: pl.Tensor[[1, 16], pl.FP32],
        data: pld.DistributedTensor[[1, 16], pl.FP32],
        signal: pld.DistributedTensor[[1, 1], pl.INT32],
        out: pl.Out[pl.Tensor[[1, 16], pl.FP32]],
    ):
        out = self.kernel(x, data, signal, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[R, 1, 16], pl.FP32], out: pl.Out[pl.Tensor[[R, 1, 16], pl.FP32]]):
        buffer = pld.alloc_window_buffer([1, 16], dtype=pl.FP32)
        cells = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
        data = pld.window(buffer, [1, 16], dtype=pl.FP32)
        signal = pld.window(cells, [1, 1], dtype=pl.INT32)
        for r in pl.range(pld.world_size()):
            self.chip(x[r], data, signal, out[r], device=r)
        return out


def rows(ranks: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(-2, 2, (ranks, 1, 16)).astype(np.float32)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_a_dispatch_on_every_rank(ranks: int, schedule: str) -> None:
    x = rows(ranks)
    before, out = x.copy(), np.zeros_like(x)
    found, report = run(Shift, x, out, ranks=ranks, schedule=schedule, report=True)
    assert found is out
    np.testing.assert_array_equal(out, np.roll(x, 1, axis=0))
    np.testing.assert_array_equal(x, before)
    assert list(report.windows) == ["buffer"] and list(report.signals) == ["cells"]
    np.testing.assert_array_equal(report.windows["buffer"], np.roll(x, 1, axis=0))
    np.testing.assert_array_equal(report.signals["cells"], np.ones((ranks, 1, 1)))


def test_a_domain_of_one_rank() -> None:
    text = Shift.as_python().replace("pld.world_size()", "1").replace("pld.system.world_size()", "1")
    program = pl.parse(text)
    x = rows(2)
    out = np.zeros_like(x)
    found = run(program, x, out, ranks=2)  # the only rank is its own neighbour
    np.testing.assert_array_equal(found[0], x[0])


@pl.program
class Tasks:
    @pl.function(type=pl.FunctionType.InCore)
    def put(self, log: pld.DistributedTensor[[1, 16], pl.INT32], value: pl.Scalar[pl.INT32]):
        n: pl.Scalar[pl.INT32] = pl.read(log, [0, 0])
        pl.write(log, [0, pl.cast(n, pl.INDEX) + 1], value)
        pl.write(log, [0, 0], pl.cast(n + 1, pl.INT32))
        return log

    @pl.function(type=pl.FunctionType.Orchestration)
    def note(self, log: pld.DistributedTensor[[1, 16], pl.INT32], value: pl.Scalar[pl.INT32]):
        log = self.put(log, value)
        return log

    @pl.function(type=pl.FunctionType.InCore)
    def last(self, log: pld.DistributedTensor[[1, 16], pl.INT32]) -> pl.Scalar[pl.INT32]:
        n: pl.Scalar[pl.INT32] = pl.read(log, [0, 0])
        v: pl.Scalar[pl.INT32] = pl.read(log, [0, pl.cast(n, pl.INDEX)])
        return v

    @pl.function(type=pl.FunctionType.Orchestration)
    def ask(self, log: pld.DistributedTensor[[1, 16], pl.INT32]) -> pl.Scalar[pl.INT32]:
        v = self.last(log)
        return v

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, n: pl.Scalar[pl.INT32]):
        buffer = pld.alloc_window_buffer([1, 16], dtype=pl.INT32)
        log = pld.window(buffer, [1, 16], dtype=pl.INT32)
        for i in pl.range(3):
            for r in pl.range(pld.world_size()):
                log = self.note(log, pl.cast(n + 10 * i + r, pl.INT32), device=r)
        seen = self.ask(log, device=1)
        if seen > 20:
            log = self.note(log, pl.cast(seen + 1000, pl.INT32), device=0)
        else:
            log = self.note(log, pl.const(-1, pl.INT32), device=0)
        return log, seen


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_tasks_of_a_rank_run_in_order_and_numbers_come_back(schedule: str) -> None:
    log, seen = run(Tasks, 5, ranks=2, schedule=schedule)
    assert seen == 26
    np.testing.assert_array_equal(log[0][0, :6], [4, 5, 15, 25, 1026, 0])
    np.testing.assert_array_equal(log[1][0, :5], [3, 6, 16, 26, 0])
    log, seen = run(Tasks, -20, ranks=3, schedule=schedule)
    assert seen == 1
    assert log[0][0, 4] == -1
    assert len(log) == 3


def test_a_device_that_does_not_exist() -> None:
    with pytest.raises(
        RunError, match=r"'ask' is called with device=1: device 1 does not exist in a run with one rank"
    ) as caught:
        run(Tasks, 5, ranks=1)
    assert "self.ask(log, device=1)" in str(caught.value)
    assert caught.value.span["line"] == caught.value.statement.span.begin_line


@pl.program
class Dependent:
    """A result that a task computes is passed to a task of another rank."""

    @pl.function(type=pl.FunctionType.InCore)
    def work(self, x: pl.Tensor[[1, 16], pl.FP32], y: pl.Tensor[[1, 16], pl.FP32], o: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
        o = pl.store(pl.add(pl.load(x, [0, 0], [1, 16]), pl.load(y, [0, 0], [1, 16])), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, x: pl.Tensor[[1, 16], pl.FP32], y: pl.Tensor[[1, 16], pl.FP32]) -> pl.Tensor[[1, 16], pl.FP32]:
        room = pl.create_tensor([1, 16], dtype=pl.FP32)
        room = self.work(x, y, room)
        return room

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[2, 1, 16], pl.FP32], out: pl.Out[pl.Tensor[[2, 1, 16], pl.FP32]]):
        a = self.chip(x[0], x[1], device=1)
        b = self.chip(a, x[0], device=0)
        c = self.chip(a, b, device=1)
        out = pl.assemble(out, pl.reshape(b, [1, 1, 16]), [0, 0, 0])
        out = pl.assemble(out, pl.reshape(c, [1, 1, 16]), [1, 0, 0])
        return out


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_results_passed_between_ranks(schedule: str) -> None:
    x = rows(2)
    out = np.zeros_like(x)
    run(Dependent, x, out, ranks=2, schedule=schedule)
    a = x[0] + x[1]
    b = a + x[0]
    np.testing.assert_array_equal(out, np.stack([b, a + b]))


@pl.program
class Domains:
    """Two domains: ranks 0 and 1 sum among themselves, and so do 2 and 3."""

    @pl.function(type=pl.FunctionType.InCore)
    def stage(self, x: pl.Tensor[[1, 16], pl.FP32], data: pld.DistributedTensor[[1, 16], pl.FP32]):
        data = pl.store(pl.load(x, [0, 0], [1, 16]), [0, 0], data)
        return data

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, x: pl.Tensor[[1, 16], pl.FP32], data: pld.DistributedTensor[[1, 16], pl.FP32]):
        data = self.stage(x, data)
        return data

    @pl.function(type=pl.FunctionType.InCore)
    def fetch(self, data: pld.DistributedTensor[[1, 16], pl.FP32], out: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
        ctx = pld.get_comm_ctx(data)
        t = pl.load(data, [0, 0], [1, 16])
        t = pl.mul(t, pl.cast(pld.rank(ctx) * 10 + pld.nranks(ctx), pl.FP32))
        out = pl.store(t, [0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def back(self, data: pld.DistributedTensor[[1, 16], pl.FP32], out: pl.Out[pl.Tensor[[1, 16], pl.FP32]]):
        out = self.fetch(data, out)
        return out

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self, x: pl.Tensor[[4, 1, 16], pl.FP32], out: pl.Out[pl.Tensor[[4, 1, 16], pl.FP32]]):
        low_buffer = pld.alloc_window_buffer([1, 16], dtype=pl.FP32)
        high_buffer = pld.alloc_window_buffer([1, 16], dtype=pl.FP32)
        low_cells = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
        high_cells = pld.alloc_window_buffer([4, 1], dtype=pl.INT32)
        low = pld.window(low_buffer, [1, 16], dtype=pl.FP32)
        high = pld.window(high_buffer, [1, 16], dtype=pl.FP32)
        low_signal = pld.window(low_cells, [4, 1], dtype=pl.INT32)
        high_signal = pld.window(high_cells, [4, 1], dtype=pl.INT32)
        for r in pl.range(0, 2):
            low = self.chip(x[r], low, device=r)
        for r in pl.range(2, 4):
            high = self.chip(x[r], high, device=r)
        low = pld.tensor.allreduce(low, low_signal, op=pld.ReduceOp.Sum)
        high = pld.tensor.allreduce(high, high_signal, op=pld.ReduceOp.Max)
        for r in pl.range(0, 2):
            self.back(low, out[r], device=r)
        for r in pl.range(2, 4):
            self.back(high, out[r], device=r)
        return out


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_domains_from_dispatches(schedule: str) -> None:
    x = rows(4)
    out = np.zeros_like(x)
    _, report = run(Domains, x, out, ranks=4, schedule=schedule, report=True)
    total, most = x[0] + x[1], np.maximum(x[2], x[3])
    np.testing.assert_array_equal(out, np.stack([total * 2, (x[1] + x[0]) * 12, most * 2, most * 12]))
    assert set(report.windows) == {"low_buffer", "high_buffer"}
    assert set(report.signals) == {"low_cells", "high_cells"}
    assert len(report.windows["high_buffer"]) == 2


@pl.program
class Scoped:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, data: pld.DistributedTensor[[1, 8], pl.INT32]):
        ctx = pld.get_comm_ctx(data)
        pl.write(data, [0, 0], pl.cast(pld.rank(ctx) + 1, pl.INT32))
        pl.write(data, [0, 1], pld.nranks(ctx))
        return data

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, data: pld.DistributedTensor[[1, 8], pl.INT32]):
        data = self.kernel(data)
        return data

    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
    def host(self):
        with pld.comm_domain("comm_d0", devices=[1, 2], windows=["some"]):  # noqa: SIM117 - one scope in another
            with pld.comm_domain("comm_d1", windows=["every"]):
                some = pld.alloc_window_buffer([1, 8], dtype=pl.INT32)
                every = pld.alloc_window_buffer([1, 8], dtype=pl.INT32)
                a = pld.window(some, [1, 8], dtype=pl.INT32)
                b = pld.window(every, [1, 8], dtype=pl.INT32)
                a = self.chip(a, device=2)
                b = self.chip(b, device=2)
        return a, b


def test_domains_from_scopes() -> None:
    some, every = run(Scoped, ranks=4)
    np.testing.assert_array_equal([w[0, :2] for w in some], [[0, 0], [2, 2]])
    np.testing.assert_array_equal([w[0, :2] for w in every], [[0, 0], [0, 0], [3, 4], [0, 0]])
    with pytest.raises(RunError, match=r"the communication domain \[1, 2\] names device 2, but the run has 2 ranks"):
        run(Scoped, ranks=2)


def test_a_dispatch_outside_the_domain() -> None:
    program = pl.parse(Scoped.as_python().replace("chip(a, device=2)", "chip(a, device=3)"))
    with pytest.raises(RunError, match=r"rank 3 does not belong to the communication domain \[1, 2\] of 'some'"):
        run(program, ranks=4)


def test_host_code_reads_no_window() -> None:
    @pl.program
    class Reads:
        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self) -> pl.Scalar[pl.FP32]:
            buffer = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
            data = pld.window(buffer, [1, 8], dtype=pl.FP32)
            v: pl.Scalar[pl.FP32] = pl.read(data, [0, 0])
            return v

    with pytest.raises(RunError, match="reaches into the window 'buffer' from host code") as caught:
        run(Reads, ranks=2)
    assert caught.value.operator == "tensor.read"


def test_a_window_larger_than_its_buffer() -> None:
    @pl.program
    class Large:
        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self):
            buffer = pld.alloc_window_buffer(60)
            data = pld.window(buffer, [4, 4], dtype=pl.FP32)
            return data

    with pytest.raises(RunError, match=r"a window of shape \[4, 4\] takes 64 bytes, the buffer 'buffer' has 60"):
        run(Large, ranks=2)


def test_two_windows_of_other_types_on_one_buffer() -> None:
    @pl.program
    class Two:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, words: pld.DistributedTensor[[1, 4], pl.INT32], halves: pld.DistributedTensor[[1, 8], pl.INT16]):
            ctx = pld.get_comm_ctx(words)
            me = pl.cast(pld.rank(ctx), pl.INDEX)
            pl.write(words, [0, 1], pl.const(0x00050003, pl.INT32))
            t = pld.remote_load(halves, me, [0, 0], [1, 8])
            u = pl.cast(t, target_type=pl.INT32)
            words = pl.store(pl.slice(u, [1, 4], [0, 2]), [0, 0], words)
            return words

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(self, words: pld.DistributedTensor[[1, 4], pl.INT32], halves: pld.DistributedTensor[[1, 8], pl.INT16]):
            words = self.kernel(words, halves)
            return words

        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self):
            buffer = pld.alloc_window_buffer(16)
            words = pld.window(buffer, [1, 4], dtype=pl.INT32)
            halves = pld.window(buffer, [1, 8], dtype=pl.INT16)
            for r in pl.range(pld.world_size()):
                words = self.chip(words, halves, device=r)
            return words

    for window in run(Two, ranks=2):
        np.testing.assert_array_equal(window, [[3, 5, 0, 0]])


def test_a_failure_in_a_task_names_the_rank() -> None:
    @pl.program
    class Fails:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, x: pl.Tensor[[8], pl.FP32], at: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.FP32]:
            v: pl.Scalar[pl.FP32] = pl.read(x, [at])
            return v

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(self, x: pl.Tensor[[8], pl.FP32], at: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.FP32]:
            v = self.kernel(x, at)
            return v

        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self, x: pl.Tensor[[8], pl.FP32]):
            for r in pl.range(pld.world_size()):
                self.chip(x, 7 * r, device=r)
            return x

    run(Fails, np.zeros(8, np.float32), ranks=2)
    with pytest.raises(RunError, match=r"rank 2: tensor.read: .*the element \[14\] lies outside") as caught:
        run(Fails, np.zeros(8, np.float32), ranks=3)
    assert "in function 'kernel'" in str(caught.value)


def test_a_deadlock_of_tasks() -> None:
    @pl.program
    class Stuck:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, signal: pld.DistributedTensor[[1, 1], pl.INT32]):
            pld.system.wait(signal, [0, 0], 1, cmp=pld.WaitCmp.Ge)
            return signal

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(self, signal: pld.DistributedTensor[[1, 1], pl.INT32]):
            signal = self.kernel(signal)
            return signal

        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self):
            cells = pld.alloc_window_buffer([1, 1], dtype=pl.INT32)
            signal = pld.window(cells, [1, 1], dtype=pl.INT32)
            signal = self.chip(signal, device=1)
            return signal

    with pytest.raises(DeadlockError, match="finds 0 in cell \\[0, 0\\] of 'cells', and wants >= 1") as caught:
        run(Stuck, ranks=2)
    assert [s.status for s in caught.value.states] == ["finished", "waits"]


def test_poison_in_a_result_of_the_host() -> None:
    @pl.program
    class Poisoned:
        @pl.function(type=pl.FunctionType.InCore)
        def kernel(self, data: pld.DistributedTensor[[1, 8], pl.FP32]):
            data = pl.store(pl.create_tile([1, 8], pl.FP32, pl.Mem.Vec), [0, 0], data)
            return data

        @pl.function(type=pl.FunctionType.Orchestration)
        def chip(self, data: pld.DistributedTensor[[1, 8], pl.FP32]):
            data = self.kernel(data)
            return data

        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self):
            buffer = pld.alloc_window_buffer([1, 8], dtype=pl.FP32)
            data = pld.window(buffer, [1, 8], dtype=pl.FP32)
            self.chip(data, device=0)
            data = self.chip(data, device=1)
            return data

    with pytest.raises(PoisonError, match="rank 0's result 'data"):
        run(Poisoned, ranks=2)


def test_windows_are_no_arguments_of_a_host() -> None:
    @pl.program
    class Takes:
        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self, data: pld.DistributedTensor[[1, 8], pl.FP32]):
            return data

    with pytest.raises(ArgumentTypeError, match="a host orchestrator allocates its windows; 'data' cannot be given"):
        run(Takes, np.zeros((1, 8), np.float32), ranks=2)


def test_ranks_do_nothing_of_host_code_without_dispatches() -> None:
    @pl.program
    class Plain:
        @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)
        def host(self, x: pl.Tensor[[8], pl.FP32]):
            return pl.add(x, 1.0)

    np.testing.assert_array_equal(run(Plain, np.zeros(8, np.float32), ranks=3), np.ones(8))
