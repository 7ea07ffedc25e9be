"""What must happen before what: a vector clock for each agent, and for each signal cell the posts that a wait needs.

An agent is a rank, or a further block of one where several run at once. Its own component counts its posts: accesses between two posts are
at the same time. A wait joins the clocks of the posts that it needed and of no others: those whose absence would have kept it waiting,
given all others that have arrived.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from pypto.ir.enums import WaitCmp

Clock = tuple[int, ...]


class Clocks:
    """The vector clock of each agent."""

    __slots__ = ("now",)

    def __init__(self, ranks: int) -> None:
        self.now: list[list[int]] = []
        self.extend(ranks)

    def extend(self, agents: int) -> None:
        """Make room for so many agents."""
        known = len(self.now)
        for clock in self.now:
            clock += [0] * (agents - known)
        for agent in range(known, agents):
            self.now.append([0] * agents)
            self.now[agent][agent] = 1

    def release(self, agent: int) -> Clock:
        """The clock of a post, which everything before it belongs to; what follows is later."""
        clock = self.now[agent]
        sent = tuple(clock)
        clock[agent] += 1
        return sent

    def acquire(self, agent: int, clock: Sequence[int]) -> None:
        """Everything up to a clock happened before what the agent does from now on."""
        mine = self.now[agent]
        for at, value in enumerate(clock):
            if value > mine[at]:
                mine[at] = value

    def meet(self, agents: Sequence[int]) -> None:
        """Everything that any of the agents did happened before what any of them does from now on."""
        latest = [max(column) for column in zip(*[self.now[a] for a in agents], strict=True)]
        for agent in agents:
            clock = self.now[agent] = [*latest]
            clock[agent] += 1

    def before(self, agent: int, time: int, other: int) -> bool:
        """True when what ``agent`` did at ``time`` happened before what ``other`` does now."""
        return agent == other or time <= self.now[other][agent]


class Post:
    """One post: by which rank and which agent of it, what it did to the cell, at which clock, at which statement."""

    __slots__ = ("agent", "amount", "clock", "rank", "sets", "statement")

    def __init__(self, rank: int, amount: int, sets: bool, clock: Clock, statement: object, agent: int | None = None) -> None:
        self.rank = rank
        self.agent = rank if agent is None else agent
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
        """The agents that posted to it, its owner aside."""
        return {p.agent for p in self.posts if p.rank != self.owner}

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
            self._only = post.agent
        self._simple = self._simple and self._only == post.agent and not post.sets and post.amount >= 0
        if self._simple:
            self._sums.append((self._sums[-1] if self._sums else 0) + post.amount)

    def needed(self, expected: int, comparison: int) -> list[Post]:
        """The posts that a wait of the owner needed, at most one for each agent: its earliest without which the wait would not be over."""
        if self._simple and comparison == WaitCmp.Ge:
            if expected + self._credits <= 0 or not self._sums:
                return []
            at = bisect_left(self._sums, expected + self._credits)
            return [self._theirs[at]] if at < len(self._theirs) else []
        return [post for agent in self.producers if (post := self._needed_of(agent, expected, comparison)) is not None]

    def _needed_of(self, agent: int, expected: int, comparison: int) -> Post | None:
        theirs = [p for p in self.posts if p.agent == agent]
        for count in range(len(theirs) + 1):
            value, seen = 0, 0
            for post in self.posts:
                if post.agent == agent:
                    seen += 1
                    if seen > count:
                        continue
                value = post.amount if post.sets else value + post.amount
            over = value >= expected if comparison == WaitCmp.Ge else value == expected
            if over:
                return theirs[count - 1] if count else None
        return theirs[-1] if theirs else None
