"""Byte ranges: those that an access touches, and a map from ranges to what is known of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from pypto.runtime.world import Access

T = TypeVar("T")

Range = tuple[int, int]
"""The first byte, and the one behind the last."""


def ranges_of(access: Access) -> list[Range]:
    """The bytes that an access touches in the storage of its owner, in ascending order, joined where they meet."""
    view, size = access.view, access.view.itemsize
    region = access.region()
    if region is None:
        return _joined(np.sort(access.offsets).tolist(), size)
    begin = access.offset
    rows: list[int] = [0]
    width = size
    for axis in range(view.ndim - 1, -1, -1):
        first, count, stride = region[axis][0], region[axis][1] - region[axis][0], view.strides[axis]
        if count <= 0:
            return []
        begin += first * stride
        if stride == width and len(rows) == 1:
            width *= count
        elif count > 1:
            rows = [r + step * stride for step in range(count) for r in rows]
    if len(rows) == 1:
        return [(begin, begin + width)]
    return _joined(sorted([begin + r for r in rows]), width)


def _joined(starts: Sequence[int], width: int) -> list[Range]:
    found: list[Range] = []
    for start in starts:
        if found and found[-1][1] >= start:
            found[-1] = (found[-1][0], max(found[-1][1], start + width))
        else:
            found.append((start, start + width))
    return found


class RangeMap(Generic[T]):
    """A value for every byte from 0 to ``size``, kept once for each stretch of bytes that have it. Values are never changed in place."""

    __slots__ = ("_starts", "_values", "size")

    def __init__(self, size: int, value: T) -> None:
        self.size = size
        self._starts: list[int] = [0]
        self._values: list[T] = [value]

    def __len__(self) -> int:
        return len(self._starts)

    def values(self, begin: int, end: int) -> list[tuple[int, int, T]]:
        """The stretches from ``begin`` to ``end``, each with its value."""
        starts = self._starts
        found: list[tuple[int, int, T]] = []
        for at in range(bisect_right(starts, begin) - 1, bisect_left(starts, end)):
            last = starts[at + 1] if at + 1 < len(starts) else self.size
            found.append((max(begin, starts[at]), min(end, last), self._values[at]))
        return found

    def update(self, begin: int, end: int, change: Callable[[T, int, int], T]) -> None:
        """Replace the value of each stretch from ``begin`` to ``end`` by ``change(value, its begin, its end)``; equal neighbours that are
        one object become one stretch."""
        starts, values = self._starts, self._values
        low = bisect_right(starts, begin) - 1
        high = bisect_left(starts, end)
        edge = starts[high] if high < len(starts) else self.size
        new_starts: list[int] = []
        new_values: list[Any] = []
        if starts[low] < begin:
            new_starts.append(starts[low])
            new_values.append(values[low])
        for at in range(low, high):
            first = max(begin, starts[at])
            last = min(end, starts[at + 1] if at + 1 < len(starts) else self.size)
            made = change(values[at], first, last)
            if not new_values or new_values[-1] is not made:
                new_starts.append(first)
                new_values.append(made)
        if end < edge:
            new_starts.append(end)
            new_values.append(values[high - 1])
        starts[low:high] = new_starts
        values[low:high] = new_values
