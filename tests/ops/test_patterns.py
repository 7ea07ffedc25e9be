"""Counting, triangles, random numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ops.declare import OperandError
from pypto.ops.patterns import philox
from tests.ops.operands import call, run, scalar, valid_of


def _words(counter: list[int], key: tuple[int, int], rounds: int) -> list[int]:
    return [int(w[0]) for w in philox([np.array([c], np.uint64) for c in counter], key, rounds)]


@pytest.mark.parametrize(
    ("counter", "key", "rounds", "expected"),
    [
        # the known answers published with the generator
        ([0] * 4, (0, 0), 10, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, (0xFFFFFFFF, 0xFFFFFFFF), 10, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            (0xA4093822, 0x299F31D0),
            10,
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
        ([0] * 4, (0, 0), 7, [0x5F6FB709, 0x0D893F64, 0x4F121F81, 0x4F730A48]),
    ],
)
def test_philox(counter: list[int], key: tuple[int, int], rounds: int, expected: list[int]) -> None:
    assert _words(counter, key, rounds) == expected


def test_random_counts_blocks_with_carry() -> None:
    made = call("tile.random", 1, 2, -1, -1, 5, 6, [3, 5])
    got = run(made)
    assert got.dtype == np.uint32
    expected: list[int] = []
    start = 0xFFFFFFFF | 0xFFFFFFFF << 32 | 5 << 64 | 6 << 96
    for block in range(4):
        counter = start + block
        expected += _words([counter >> 32 * w & 0xFFFFFFFF for w in range(4)], (1, 2), 10)
    assert got.reshape(-1).tolist() == expected[:15]
    signed = run(call("tensor.random", 1, 2, -1, -1, 5, 6, [3, 5], DataType.INT32))
    np.testing.assert_array_equal(signed.view(np.uint32), got)


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ({"dtype": DataType.FP32}, "INT32, UINT32"),
        ({"rounds": 8}, "7 or 10 rounds"),
        ({"shape": [8]}, "two extents"),
        ({"shape": [8, scalar()]}, "constant extents"),
        ({"key0": scalar("k", DataType.INT64)}, "'key0' as INT32"),
    ],
)
def test_random_refuses(named: dict[str, Any], words: str) -> None:
    plain = {"key0": 1, "key1": 2, "counter0": 0, "counter1": 0, "counter2": 0, "counter3": 0, "shape": [8, 8]}
    with pytest.raises(InvalidValueError, match=words):
        call("tile.random", **{**plain, **named})


@pytest.mark.parametrize("space", ["tile", "tensor"])
def test_ci(space: str) -> None:
    made = call(f"{space}.ci", 3, [1, 5])
    assert run(made).tolist() == [[3, 4, 5, 6, 7]]
    assert run(made).dtype == np.int32
    assert run(call(f"{space}.ci", 1, [4], DataType.UINT16, True)).tolist() == [1, 0, 65535, 65534]
    start = made.args[0]
    assert start.dtype is DataType.INT32  # type: ignore[attr-defined]
    declaration: Any = made.op
    assert declaration.spelling() == f"pl.{space}.ci(start, shape, dtype=INT32, descending=False)"


@pytest.mark.parametrize(
    ("positional", "words"),
    [
        ([0, [2, 8]], "all others being 1"),
        ([0, [1, 1]], "must exceed 1"),
        ([0, [1, 8], DataType.FP32], "INT16, INT32, UINT16, UINT32"),
        ([scalar("s", DataType.INT16), [1, 8]], "'start' as INT32"),
        ([scalar("s"), [1, 8]], "'start' as INT32"),
    ],
)
def test_ci_refuses(positional: list[Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call("tile.ci", *positional)


@pytest.mark.parametrize("diagonal", [-3, -1, 0, 2, 7])
def test_tri(diagonal: int) -> None:
    for upper in (False, True):
        got = run(call("tile.tri", diagonal, [4, 6], upper=upper))
        expected = [[int(j - i >= diagonal if upper else j - i <= diagonal) for j in range(6)] for i in range(4)]
        assert got.tolist() == expected
    n = scalar("n")
    assert valid_of(call("tile.tri", diagonal, [4, 6], [4, n])) == [4, n]
    with pytest.raises(OperandError, match="two extents"):
        call("tile.tri", 0, [2, 4, 6])
