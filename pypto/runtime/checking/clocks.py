"""What must happen before what: a vector clock for each rank, and for each signal cell the posts that a wait needs.

A rank's own component counts its posts: accesses between two posts are at the same time. A wait joins the clocks of the posts that it
needed and of no others: those whose absence would have kept it waiting, given all others that have arrived.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from pypto.ir.enums import WaitCmp

Clock = tuple[int, ...]


class Clocks:
    """The vector clock of each rank."""

    __slots__ = ("now",)

    def __init__(self, ranks: int) -> None:
        self.now: list[list[int]] = [[0] * ranks for _ in range(ranks)]
        for rank, clock in enumerate(self.now):
            clock[rank] = 1

    def release(self, rank: int) -> Clock:
        """The clock of a post, which everything before it belongs to; what follows is later."""
        clock = self.now[rank]
        sent = tuple(clock)
        clock[rank] += 1
        return sent

    def acquire(self, rank: int, clock: Sequence[int]) -> None:
        """Everything up to a clock happened before what the rank does from now on."""
        mine = self.now[rank]
        for at, value in enumerate(clock):
            if value > mine[at]:
                mine[at] = value

    def meet(self, ranks: Sequence[int]) -> None:
        """Everything that any of the ranks did happened before what any of them does from now on."""
        latest = [max(column) for column in zip(*[self.now[r] for r in ranks], strict=True)]
        for rank in ranks:
            clock = self.now[rank] = [*latest]
            clock[rank] += 1

    def before(self, rank: int, time: int, other: int) -> bool:
        """True when what ``rank`` did at ``time`` happened before what ``other`` does now."""
        return rank == other or time <= self.now[other][rank]


class Post:
    """One post: by which rank, what it did to the cell, at which clock, at which statement."""

    __slots__ = ("amount", "clock", "rank", "sets", "statement")

    def __init__(self, rank: int, amount: int, sets: bool, clock: Clock, statement: object) -> None:
        self.rank = rank
        self.amount = amount
        self.sets = sets
        self.clock = clock
        self.statement = statement


class Cell:
    """The posts to one signal cell of ``owner``, in the order of their arrival."""

    __slots__ = ("_credits", "_only", "_simple", "_sums", "_theirs", "owner", "posts")

    def __init__(self, owner: int) -> None:
        self.owner = owner
        self.posts: list[Post] = []
        self._only: int | None = None
        self._simple = True
        self._sums: list[int] = []
        self._theirs: list[Post] = []
        self._credits = 0

    @property
    def producers(self) -> set[int]:
        """The ranks that posted to it, its owner aside."""
        return {p.rank for p in self.posts if p.rank != self.owner}

    @property
    def is_monotone(self) -> bool:
        """True when its only producer adds amounts that are not negative, and its owner takes some away."""
        return self._simple

    def add(self, post: Post) -> None:
        """One more post."""
        self.posts.append(post)
        if post.rank == self.owner:
            self._credits -= post.amount
            self._simple = self._simple and not post.sets
            return
        self._theirs.append(post)
        if self._only is None:
            self._only = post.rank
        self._simple = self._simple and self._only == post.rank and not post.sets and post.amount >= 0
        if self._simple:
            self._sums.append((self._sums[-1] if self._sums else 0) + post.amount)

    def needed(self, expected: int, comparison: int) -> list[Post]:
        """The posts that a wait of the owner needed, at most one for each rank: its earliest without which the wait would not be over."""
        if self._simple and comparison == WaitCmp.Ge:
            if expected + self._credits <= 0 or not self._sums:
                return []
            at = bisect_left(self._sums, expected + self._credits)
            return [self._theirs[at]] if at < len(self._theirs) else []
        return [post for rank in self.producers if (post := self._needed_of(rank, expected, comparison)) is not None]

    def _needed_of(self, rank: int, expected: int, comparison: int) -> Post | None:
        theirs = [p for p in self.posts if p.rank == rank]
        for count in range(len(theirs) + 1):
            value, seen = 0, 0
            for post in self.posts:
                if post.rank == rank:
                    seen += 1
                    if seen > count:
                        continue
                value = post.amount if post.sets else value + post.amount
            over = value >= expected if comparison == WaitCmp.Ge else value == expected
            if over:
                return theirs[count - 1] if count else None
        return theirs[-1] if theirs else None
