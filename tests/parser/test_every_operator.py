"""Every spelling of the vocabulary, called wrongly in every way: always one error with a place, never a crash."""

from __future__ import annotations

import itertools

import pytest

from pypto.ops.vocabulary import all_paths, lookup
from pypto.parser import parse
from pypto.parser.errors import ParserError

SIGNATURE = (
    "@pl.function(type=pl.FunctionType.InCore)\n"
    "def f(x: pl.Tensor[[16, 16], pl.FP32], t: pl.Tile[[16, 16], pl.FP32], n: pl.Scalar[pl.INDEX],\n"
    "      w: pld.DistributedTensor[[16, 16], pl.INT32], a: pl.Array[4, pl.INT32], c: pld.CommCtx, p: pl.Ptr):\n"
)
VALUES = ("x", "t", "n", "w", "[0, 0]", "2", "1.5", "None", "True", "'s'", "pl.FP16", "pl.Mem.Vec", "a", "p")


def shown(path: str) -> str:
    return path if path.startswith("pld.") else f"pl.{path}"


def check(call: str) -> bool:
    """Read a call as a statement; True when it is accepted."""
    try:
        parse(f"{SIGNATURE}    {call}\n", "k.py")
    except ParserError as error:
        assert error.span is not None, call
        assert error.span["line"] == 4, f"{call}: {error}"
        assert error.span["column"] >= 5, call
        assert str(error.message), call
        return False
    return True


@pytest.mark.parametrize("path", all_paths())
def test_wrong_calls_give_one_error_with_a_place(path: str) -> None:
    entry = lookup(path)
    assert entry is not None
    count = len(entry.params)
    for number in range(count + 2):
        for value in ("x", "t", "n", "[0, 0]", "2", "pl.FP16"):
            check(f"{shown(path)}({', '.join([value] * number)})")
    rotation = itertools.cycle(VALUES)
    for _ in range(len(VALUES)):
        arguments = ", ".join(next(rotation) for _ in range(max(count, 1)))
        check(f"{shown(path)}({arguments})")
        next(rotation)
    assert not check(f"{shown(path)}({', '.join(['n'] * (count + 1))})")
    assert not check(f"{shown(path)}(nothing_here=1)")
    assert not check(f"{shown(path)}(*x)")
    assert not check(f"{shown(path)}(**x)")
    for param in entry.params:
        check(f"{shown(path)}({param.name}=x)")
        check(f"{shown(path)}({param.name}=n, {entry.params[0].name}=t)" if param is not entry.params[0] else shown(path))
