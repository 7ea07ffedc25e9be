"""Schedules drawn at random with a bound on what they miss: probabilistic concurrency testing.

Burckhardt, Kothari, Musuvathi and Nagarakatte (2010): give each of n agents a priority at random and let the highest that can go on do so;
at d - 1 steps drawn at random lower the priority of who is going on. A fault that needs d steps in a certain order is met with probability
at least 1 / (n k^(d-1)) in a run of at most k steps.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from pypto.runtime.schedules import Schedule, Turn


class Priorities(Schedule):
    """One schedule of that kind. Ranks (and further blocks of them) are agents, and so is the delivery of the writes of each."""

    late = True

    def __init__(self, seed: int, count: int, depth: int, steps: int) -> None:
        super().__init__()
        draw = random.Random(seed)
        agents = [*range(count), *[-1 - r for r in range(count)]]
        draw.shuffle(agents)
        self._priority = {agent: depth + at for at, agent in enumerate(agents)}
        changes = sorted(draw.sample(range(1, steps + 1), min(depth - 1, steps)))
        self._changes = {step: depth - 1 - at for at, step in enumerate(changes)}
        self._ready: dict[int, Turn] = {}
        self.steps = 0

    def add(self, turn: Turn) -> None:
        self._ready[turn.agent] = turn

    def run(self, doors: Sequence[Any]) -> None:
        ready, priority = self._ready, self._priority
        world = doors[0].world
        while ready or world.held:
            pending = [-1 - d.agent for d in doors if d.pending] if world.held else ()
            agent = max((*ready, *pending), key=priority.__getitem__)
            self.steps += 1
            lowered = self._changes.get(self.steps)
            if lowered is not None:
                priority[agent] = lowered
                agent = max((*ready, *pending), key=priority.__getitem__)
            self.taken.append(agent)
            if agent < 0:
                doors[-1 - agent].deliver()
                continue
            turn = ready.pop(agent)
            if turn.step():
                ready[agent] = turn


def chance(agents: int, steps: int, depth: int, runs: int) -> float:
    """The least probability with which a fault of a depth is met in so many runs."""
    once = 1.0 / (agents * float(steps) ** (depth - 1))
    return 1.0 - (1.0 - once) ** runs
