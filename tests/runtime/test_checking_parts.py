"""The parts of the race detector by themselves: maps of byte ranges, and which posts a wait needs."""

from __future__ import annotations

import random
from functools import partial
from itertools import pairwise

import pytest

from pypto.ir.enums import WaitCmp
from pypto.runtime.checking.clocks import Cell, Clocks, Post
from pypto.runtime.checking.ranges import RangeMap


def noted(plain: list, seen: list, step: int, value: tuple[int, ...], low: int, high: int) -> tuple[int, ...]:
    assert all(plain[at] == value for at in range(low, high))
    seen.append((low, high))
    return (*value, step)


def test_range_map_against_a_plain_list() -> None:
    draw = random.Random(3)
    size = 40
    for _ in range(200):
        stretches: RangeMap[tuple[int, ...]] = RangeMap(size, ())
        plain: list[tuple[int, ...]] = [()] * size
        for step in range(12):
            begin = draw.randrange(size)
            end = draw.randrange(begin + 1, size + 1)
            seen: list[tuple[int, int]] = []

            stretches.update(begin, end, partial(noted, plain, seen, step))
            plain[begin:end] = [(*v, step) for v in plain[begin:end]]
            assert seen[0][0] == begin
            assert seen[-1][1] == end
            assert all(a[1] == b[0] for a, b in pairwise(seen))
        stretches.update(0, size, partial(noted, plain, [], 0))


def test_range_map_joins_what_becomes_one_object() -> None:
    stretches: RangeMap[str] = RangeMap(100, "a")
    for begin in range(0, 100, 10):
        stretches.update(begin, begin + 10, lambda value, low, high, begin=begin: f"{begin}")
    assert len(stretches) == 10
    stretches.update(0, 100, lambda value, low, high: "z")
    assert len(stretches) == 1


def test_a_post_carries_what_came_before_it_and_a_wait_brings_it() -> None:
    clocks = Clocks(2)
    time = clocks.now[0][0]
    assert not clocks.before(0, time, 1)
    sent = clocks.release(0)
    later = clocks.now[0][0]
    clocks.acquire(1, sent)
    assert clocks.before(0, time, 1)
    assert not clocks.before(0, later, 1)
    assert clocks.before(0, later, 0)


def test_a_meeting_orders_all_before_from_all_after() -> None:
    clocks = Clocks(3)
    times = [clocks.now[r][r] for r in range(3)]
    clocks.meet([0, 2])
    assert clocks.before(0, times[0], 2)
    assert clocks.before(2, times[2], 0)
    assert not clocks.before(1, times[1], 0)
    assert not clocks.before(0, clocks.now[0][0], 2)


def cell(*posts: tuple[int, int] | tuple[int, int, bool]) -> tuple[Cell, list[Post]]:
    made = Cell(owner=0)
    listed: list[Post] = []
    for rank, amount, *sets in posts:
        listed.append(Post(rank, amount, bool(sets), (), None))
        made.add(listed[-1])
    return made, listed


GE, EQ = WaitCmp.Ge, WaitCmp.Eq


@pytest.mark.parametrize(
    ("posts", "expected", "comparison", "needed"),
    [
        # one producer: the g-th earliest
        ([(1, 1), (1, 1), (1, 1)], 1, GE, [0]),
        ([(1, 1), (1, 1), (1, 1)], 2, GE, [1]),
        ([(1, 2), (1, 2)], 3, GE, [1]),
        # the owner has taken one back: the second post counts as the first
        ([(1, 1), (0, -1), (1, 1)], 1, GE, [2]),
        # nothing to wait for
        ([(1, 1)], 0, GE, []),
        # two producers that could stand in for one another: neither is needed
        ([(1, 1), (2, 1)], 1, GE, []),
        # both are needed
        ([(1, 1), (2, 1)], 2, GE, [0, 1]),
        # with two of rank 1, rank 2 could stand in for one of them
        ([(1, 1), (2, 1), (1, 1)], 2, GE, [0]),
        # a set counts as the value it writes
        ([(1, 1, True)], 1, GE, [0]),
        ([(1, 1, True), (1, 1)], 2, GE, [1]),
        ([(1, 3, True), (1, 1, True)], 1, GE, [0]),
        # exactly: the earliest after which the value is right
        ([(1, 1), (1, 1)], 2, EQ, [1]),
        ([(1, 1, True), (2, 0)], 1, EQ, [0]),
    ],
)
def test_the_posts_that_a_wait_needs(posts: list, expected: int, comparison: int, needed: list[int]) -> None:
    made, listed = cell(*posts)
    assert {id(p) for p in made.needed(expected, comparison)} == {id(listed[at]) for at in needed}


@pytest.mark.parametrize(
    ("posts", "monotone"),
    [
        ([(1, 1), (1, 1), (0, -2)], True),
        ([(1, 1), (2, 1)], False),
        ([(1, 1, True)], False),
        ([(1, -1)], False),
        ([(1, 1), (0, 0, True)], False),
    ],
)
def test_monotone_cells_have_one_producer_that_adds(posts: list, monotone: bool) -> None:
    assert cell(*posts)[0].is_monotone is monotone
