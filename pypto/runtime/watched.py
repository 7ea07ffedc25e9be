"""Arrays that keep how they are indexed: from it follows which part of a window an operator touches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

Region: TypeAlias = Sequence[tuple[int, int]]
"""A box: first index and end on each axis."""


class Watched(np.ndarray):
    """An array that keeps the keys with which it is indexed and written."""

    read: list[Any]
    written: list[Any]

    def __getitem__(self, key: Any) -> Any:
        self.read.append(key)
        return self.view(np.ndarray)[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.written.append(key)

    def __array_finalize__(self, obj: Any) -> None:
        self.read, self.written = [], []


def box_of(key: Any, shape: Sequence[int]) -> Region | None:
    """An index as a box, None when it is something else."""
    parts: list[Any] = [*key] if isinstance(key, tuple) else [key]
    if len(parts) > len(shape):
        return None
    region: list[tuple[int, int]] = []
    for part, extent in zip(parts, shape, strict=False):
        if isinstance(part, slice):
            begin, end, step = part.indices(extent)
            if step != 1:
                return None
            region.append((begin, max(begin, end)))
        elif isinstance(part, int | np.integer):
            at = int(part) % max(1, extent)  # pyright: ignore[reportUnknownArgumentType]
            region.append((at, at + 1))
        else:
            return None
    return [*region, *[(0, e) for e in shape[len(parts) :]]]
