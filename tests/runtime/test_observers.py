"""What observers of a run are told, and the window storage behind it."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.runtime import Access, Observer, run
from pypto.runtime.errors import Refusal
from pypto.runtime.values import Tracked
from pypto.runtime.world import World, home_of, locate


class Recorder(Observer):
    """Keeps everything."""

    def __init__(self) -> None:
        self.seen: list[tuple] = []
        self.steps: list[int] = []
        self.boxes = 0

    def _add(self, what: str, access: Access, *rest: object) -> None:
        offsets = sorted(int(o) for o in access.offsets)
        region = access.region()
        if region is not None:
            box = np.zeros(access.view.shape, np.bool_)
            box[tuple(slice(*r) for r in region)] = True
            np.testing.assert_array_equal(box, access.elements)
        self.boxes += region is not None
        self.seen.append((what, access.rank, access.owner, access.buffer.name, tuple(offsets), access.atomic, *rest))
        assert access.statement is not None

    def on_read(self, access: Access) -> None:
        self._add("read", access)

    def on_write(self, access: Access) -> None:
        self._add("write", access)

    def on_post(self, access: Access, amount: int, sets: bool) -> None:
        self._add("post", access, amount, sets)

    def on_wait(self, access: Access, expected: int, comparison: int) -> None:
        self._add("wait", access, expected, comparison)

    def on_meet(self, devices, statement) -> None:
        self.seen.append(("meet", tuple(devices)))

    def on_step(self, agent: int) -> None:
        self.steps.append(agent)


def span(begin: int, count: int, size: int = 4) -> tuple[int, ...]:
    return tuple(range(begin, begin + count * size, size))


@pl.function(type=pl.FunctionType.InCore)
def traffic(
    data: pld.DistributedTensor[[2, 8], pl.FP32], signal: pld.DistributedTensor[[2, 1], pl.INT32], n: pl.Scalar[pl.INDEX]
):
    ctx = pld.get_comm_ctx(data)
    me = pl.cast(pld.rank(ctx), pl.INDEX)
    mine = pl.load(data, [0, 2], [1, 4])
    pld.tile.remote_store(mine, data, 1 - me, [1, 4], atomic=pld.AtomicType.Add)
    pld.system.notify(signal, 1 - me, [me, 0], 3, op=pld.NotifyOp.AtomicAdd)
    pld.system.wait(signal, [1 - me, 0], 1, cmp=pld.WaitCmp.Ge)
    got = pld.remote_load(data, 1 - me, [1, 0], [1, 8], [1, n])
    flat = pl.tensor.view(data, [1, 16])
    pl.store(got, [0, 0], flat)
    pl.write(data, [1, 7], 2.0)
    pld.tensor.barrier(signal)
    return data


def test_all_accesses_are_told() -> None:
    recorder = Recorder()
    plain = run(traffic, None, None, 3, ranks=2)
    found, report = run(traffic, None, None, 3, ranks=2, report=True, observers=[recorder])
    np.testing.assert_array_equal(found, plain)
    for rank in range(2):
        peer = 1 - rank
        expected = [
            ("read", rank, rank, "data", span(8, 4), False),
            ("write", rank, peer, "data", span(48, 4), True),
            ("post", rank, peer, "signal", (4 * rank,), True, 3, False),
            ("wait", rank, rank, "signal", (4 * peer,), True, 1, 1),
            ("read", rank, peer, "data", span(32, 3), False),
            ("write", rank, rank, "data", span(0, 3), False),
            ("write", rank, rank, "data", (60,), False),
        ]
        assert [s for s in recorder.seen if s[0] != "meet" and s[1] == rank] == expected
    assert recorder.seen.count(("meet", (0, 1))) == 1
    assert recorder.boxes == 14
    assert len(recorder.steps) == report.statistics["steps"]


def test_late_writes_are_told_where_they_are_said() -> None:
    recorder = Recorder()
    run(traffic, None, None, 8, ranks=2, schedule="random:1", observers=[recorder])
    for rank in range(2):
        kinds = [s[0] for s in recorder.seen if s[0] != "meet" and s[1] == rank]
        assert kinds == ["read", "write", "post", "wait", "read", "write", "write"]


@pl.program
class Plain:
    """A window goes to parameters whose types say nothing of ranks."""

    @pl.function(type=pl.FunctionType.InCore)
    def copy(self, x: pl.Tensor[[1, 8], pl.FP32], o: pl.Out[pl.Tensor[[1, 8], pl.FP32]]) -> pl.Tensor[[1, 8], pl.FP32]:
        o = pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def middle(self, x: pl.Tensor[[1, 8], pl.FP32], o: pl.Out[pl.Tensor[[1, 8], pl.FP32]]) -> pl.Tensor[[1, 8], pl.FP32]:
        o = self.copy(x, o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def chip(self, d: pld.DistributedTensor[[1, 8], pl.FP32], o: pl.Out[pl.Tensor[[1, 8], pl.FP32]]):
        o = self.middle(d, o)
        return o


def test_windows_behind_plain_tensors_are_seen() -> None:
    recorder = Recorder()
    data = [np.full((1, 8), r, np.float32) for r in range(2)]
    found = run(Plain, data, np.zeros((1, 8), np.float32), ranks=2, observers=[recorder])
    np.testing.assert_array_equal(found, data)
    assert sorted(recorder.seen) == [("read", r, r, "d", span(0, 8), False) for r in range(2)]


def test_storage_is_rounded_up_and_zero() -> None:
    world = World(2)
    buffer = world.buffer("b", 68, range(2))
    assert buffer.room == 96 and buffer.size == 68
    window = buffer.window(0, (1, 17), np.dtype(np.float32))
    assert not window.data.any()
    with pytest.raises(Refusal, match=r"\[1, 18\] takes 72 bytes, the buffer 'b' has 68"):
        buffer.window(0, (1, 18), np.dtype(np.float32))


def test_the_counterpart_of_any_view() -> None:
    world = World(3)
    buffer = world.buffer("b", 4 * 24, [2, 0])
    window = buffer.window(2, (4, 6), np.dtype(np.float32))
    window.data[...] = np.arange(24).reshape(4, 6)
    for key in (np.s_[1:3, 2:5], np.s_[:, ::2], np.s_[3], np.s_[2, 4:4]):
        part = Tracked(window.data[key], base=window, move=lambda mask, key=key: mask[key])
        place = locate(part)
        assert place.context().rank == 0 and place.context().nranks == 2
        other = place.peer(1)
        assert place.peer(1) is other
        assert other.data.shape == part.data.shape and other.data.strides == part.data.strides
        other.data[...] = 5
        whole = buffer.window(0, (4, 6), np.dtype(np.float32)).data
        expected = np.zeros((4, 6))
        expected[key] = 5
        np.testing.assert_array_equal(whole, expected)
        whole[...] = 0
        same = place.peer(0)
        np.testing.assert_array_equal(same.data, part.data)
    with pytest.raises(Refusal, match="the peer 2 does not exist: the communication domain of 'b' has the ranks 0 to 1"):
        locate(window).peer(2)
    with pytest.raises(Refusal, match=r"rank 1 does not belong to the communication domain \[2, 0\]"):
        buffer.window(1, (4, 6), np.dtype(np.float32)).place.peers()
    assert home_of(Tracked(np.zeros(3))) is None
    with pytest.raises(Refusal, match="a copy, not a view"):
        locate(Tracked(window.data.copy(), base=window))


def test_poison_is_shared_by_all_views() -> None:
    world = World(2)
    buffer = world.buffer("b", 64, range(2))
    window = buffer.window(1, (2, 8), np.dtype(np.float32))
    assert window.poison is None
    part = buffer.view(1, 32, (1, 8), (32, 4), np.dtype(np.float32))
    part.needed_mask()[0, 3] = True
    expected = np.zeros((2, 8), np.bool_)
    expected[1, 3] = True
    np.testing.assert_array_equal(window.poison, expected)
    np.testing.assert_array_equal(locate(buffer.window(0, (2, 8), np.dtype(np.float32))).peer(1).poison, expected)
    assert buffer.window(0, (2, 8), np.dtype(np.float32)).poison is None
