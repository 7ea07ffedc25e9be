"""FlattenTileNdTo2D: deep tiles become two-dimensional, loads and stores keep their windows, and the numbers stay."""

from __future__ import annotations

import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.testing import assert_roundtrip, assert_same_meaning


def program(body: str, params: str = "x: pl.Tensor[[2, 4, 32], pl.FP32], o: pl.Out[pl.Tensor[[2, 4, 32], pl.FP32]]") -> ir.Program:
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    text = f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k({params}) -> pl.Tensor[[2, 4, 32], pl.FP32]:
{lines}
"""
    parsed = pl.parse(text)
    for step in (passes.convert_to_ssa(), passes.normalize_stmt_structure(), passes.flatten_call_expr()):
        parsed = step(parsed)
    return parsed


def tiles(function: ir.Function) -> list[ir.TileType]:
    return [n.type for n in ir.walk(function.body) if isinstance(n, ir.Expr) and isinstance(n.type, ir.TileType)]


def flattened(before: ir.Program) -> ir.Program:
    after = passes.flatten_tile_nd_to_2d()(before)
    assert all(len(t.shape) == 2 for t in tiles(after["k"]))
    assert_roundtrip(after)
    assert_same_meaning(before, after)
    assert passes.flatten_tile_nd_to_2d()(after) is after
    return after


def test_load_keeps_its_window_and_store_gains_the_partition() -> None:
    after = flattened(program("t = pl.load(x, [0, 0, 0], [2, 4, 32])\nr = pl.store(pl.exp(t), [0, 0, 0], o)\nreturn r"))
    load, _, store, _ = ir.flatten_to_stmts(after["k"].body)
    assert [d.value for d in load.var.type.shape] == [8, 32]
    assert [e.value for e in load.value.args[2].elements] == [2, 4, 32]
    assert [e.value for e in store.value.args[3].elements] == [2, 4, 32]


def test_lowered_sine_of_three_dimensions() -> None:
    before = program("t = pl.load(x, [0, 0, 0], [2, 4, 32])\ny = pl.tile.sin(t)\nr = pl.store(y, [0, 0, 0], o)\nreturn r")
    flattened(passes.lower_composite_ops()(before))


def test_carried_deep_tiles() -> None:
    flattened(
        program(
            """
t = pl.load(x, [0, 0, 0], [2, 4, 32])
for i, (acc,) in pl.range(3, init_values=(t,)):
    out = pl.yield_(pl.add(acc, t))
r = pl.store(out, [0, 0, 0], o)
return r
"""
        )
    )


def test_two_dimensions_are_left_alone() -> None:
    before = program(
        "t = pl.load(x, [0, 0], [8, 32])\nr = pl.store(pl.exp(t), [0, 0], o)\nreturn r",
        "x: pl.Tensor[[8, 32], pl.FP32], o: pl.Out[pl.Tensor[[8, 32], pl.FP32]]",
    )
    assert passes.flatten_tile_nd_to_2d()(before) is before


@pytest.mark.parametrize(
    ("body", "word"),
    [
        ("t = pl.load(x, [0, 0, 0], [2, 4, 32])\nc = pl.col_sum(t)\nr = pl.store(t, [0, 0, 0], o)\nreturn r", "last axis"),
        ("t = pl.load(x, [0, 0, 0], [2, 4, 32])\nv = pl.tile.read(t, [0, 0, 0])\nr = pl.store(t, [0, 0, 0], o)\nreturn r", "reshape"),
    ],
)
def test_what_two_dimensions_cannot_say(body: str, word: str) -> None:
    with pytest.raises(InvalidValueError, match=word) as caught:
        passes.flatten_tile_nd_to_2d()(program(body))
    assert caught.value.span["line"] == 7
