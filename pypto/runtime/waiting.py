"""Who waits for whom when no rank can go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any


def awaited(blocked: Any, producers: Mapping[int, set[int]], device: int) -> set[int]:
    """The ranks that could end a wait: those that have posted to its cell so far, or have not come to its meeting."""
    meeting = getattr(blocked, "meeting", None)
    if meeting is not None:
        return {*meeting.missing()}
    return producers.get(getattr(blocked, "address", -1), set[int]()) - {device}


def cycle_of(waits: Mapping[int, set[int]]) -> Sequence[int]:
    """Ranks that wait for one another in a circle, beginning with the lowest; none when there is no circle."""
    for start in sorted(waits):
        path = [start]
        seen = {start}
        while True:
            after = sorted(waits.get(path[-1], ()))
            if start in after:
                return path
            following = next((r for r in after if r not in seen), None)
            if following is None:
                break
            path.append(following)
            seen.add(following)
    return ()


def told(waits: Mapping[int, set[int]], finished: set[int]) -> str:
    """The circle, and waits for ranks that have finished, a line each."""
    lines: list[str] = []
    cycle = cycle_of({r: w - finished for r, w in waits.items()})
    if cycle:
        ring = [*cycle, cycle[0]]
        parts = [f"rank {a} for rank {b}" for a, b in pairwise(ring)]
        lines.append(f"  they wait in a circle: {', '.join(parts)}")
    for rank, others in sorted(waits.items()):
        gone = sorted(others & finished)
        if gone and not others - finished:
            names = " and ".join(f"rank {r}" for r in gone)
            lines.append(f"  rank {rank} waits for {names}, which {'have' if len(gone) > 1 else 'has'} finished")
    return "\n".join(lines)
