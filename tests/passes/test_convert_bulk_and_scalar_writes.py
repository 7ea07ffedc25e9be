"""ConvertTensorToTileOps: bulk stores and scalar writes to one tensor, what rescues them and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import ops_of, prepare

from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.testing import assert_roundtrip, assert_same_meaning


def convert(text: str) -> tuple[ir.Program, ir.Program]:
    before = prepare(text)
    return before, passes.convert_tensor_to_tile_ops()(before)


MIXED = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.Out[pl.Tensor[[32, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[32, 16], pl.FP32]:
{body}

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.Out[pl.Tensor[[32, 16], pl.FP32]], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[32, 16], pl.FP32]:
        o = self.k(a, o, n)
        return o
"""


def mixed(body: str) -> str:
    return MIXED.format(body="\n".join("        " + line for line in body.strip("\n").split("\n")))


FILLED = {
    "rows and columns": """
for i in pl.range(24):
    for j in pl.range(16):
        pl.write(o, [i + 8, j], 1.5)
r = pl.assemble(o, pl.exp(a), [0, 0])
return r
""",
    "one row": """
for j in pl.range(8):
    pl.write(o, [n, j + 8], 1.5)
r = pl.assemble(o, pl.exp(a), [8, 0])
for i in pl.range(24):
    for j in pl.range(16):
        if i < 8:
            v = pl.read(a, [0, 0])
return r
""",
    "rows with gaps, one at a time": """
for i in pl.range(8):
    for j in pl.range(8):
        pl.write(o, [i, j], 1.5)
r = pl.assemble(o, pl.exp(a), [8, 0])
return r
""",
    "in tile code": """
for i in pl.range(24):
    for j in pl.range(16):
        pl.write(o, [i + 8, j], 1.5)
t = pl.load(a, [0, 0], [8, 16])
r = pl.store(t, [0, 0], o)
return r
""",
    "below a branch": """
if n > 2:
    for i in pl.range(24):
        for j in pl.range(16):
            pl.write(o, [i + 8, j], 1.5)
else:
    for i in pl.range(24):
        for j in pl.range(16):
            pl.write(o, [i + 8, j], 2.5)
r = pl.assemble(o, pl.exp(a), [0, 0])
return r
""",
}


@pytest.mark.parametrize("case", list(FILLED))
def test_loops_that_fill_become_bulk_stores(case: str) -> None:
    before, after = convert(mixed(FILLED[case]))
    found = ops_of(after["k"])
    assert "tensor.write" not in found
    assert found.count("tile.full") == (2 if case == "below a branch" else 1)
    assert_roundtrip(after)
    inputs = [np.ones((8, 16), np.float32), np.zeros((32, 16), np.float32), np.int64(3)]
    assert_same_meaning(before, after, inputs)
    assert passes.convert_tensor_to_tile_ops()(after) is after


STAGED = {
    "scattered": (
        """
z = pl.full([32, 16], pl.FP32, 0.5)
o = pl.assemble(o, z, [0, 0])
for i in pl.range(8):
    v = pl.read(a, [i, 0])
    pl.write(o, [i * 2, 3], v)
return o
""",
        ["tile.full", "tensor.read", "tile.write", "tile.store"],
    ),
    "in tile code": (
        """
z = pl.tile.full([32, 16], dtype=pl.FP32, value=0.5)
o = pl.store(z, [0, 0], o)
for i in pl.range(8):
    if i < n:
        pl.write(o, [i * 2, 3], 2.0)
return o
""",
        ["tile.full", "tile.write", "tile.store"],
    ),
    "constant still used": (
        """
z = pl.full([32, 16], pl.FP32, 0.5)
o = pl.assemble(o, z, [0, 0])
v = pl.read(z, [0, 0])
pl.write(o, [n, 3], v)
return o
""",
        ["tile.full", "tile.full", "tile.read", "tile.write", "tile.store"],
    ),
}


@pytest.mark.parametrize("case", list(STAGED))
def test_initialised_tensors_stay_on_chip(case: str) -> None:
    body, expected = STAGED[case]
    before, after = convert(mixed(body))
    assert ops_of(after["k"]) == expected
    assert_roundtrip(after)
    assert_same_meaning(before, after)
    assert passes.convert_tensor_to_tile_ops()(after) is after


def test_writes_alone_stay_as_they_are() -> None:
    before, after = convert(
        mixed("for i in pl.range(32):\n    for j in pl.range(16):\n        pl.write(o, [i, j], 1.5)\nreturn o")
    )
    assert after["k"] is before["k"]


MIXES = {
    "directly": ("o = pl.assemble(o, a, [0, 0])\npl.write(o, [n, 3], 2.0)\nreturn o", 7),
    "through a view": (
        "w = pl.tensor.view(o, [16, 32])\nr = pl.assemble(o, a, [0, 0])\npl.write(w, [n, 3], 2.0)\nreturn r",
        8,
    ),
    "through a loop": (
        "for i, (c,) in pl.range(2, init_values=(o,)):\n    pl.write(c, [i, 0], 1.0)\n    d = pl.assemble(c, a, [8 * i, 0])\n"
        "    e = pl.yield_(d)\nreturn e",
        7,
    ),
    "less than 32 bytes in a row": (
        "for j in pl.range(7):\n    pl.write(o, [n, j], 1.5)\nr = pl.assemble(o, a, [8, 0])\nreturn r",
        7,
    ),
    "rows with gaps": (
        "for i in pl.range(8):\n    for j in pl.range(4):\n        pl.write(o, [i, j], 1.5)\nr = pl.assemble(o, a, [8, 0])\nreturn r",
        8,
    ),
    "a step of two": ("for j in pl.range(0, 16, 2):\n    pl.write(o, [n, j], 1.5)\nr = pl.assemble(o, a, [8, 0])\nreturn r", 7),
    "from one on": ("for j in pl.range(1, 9):\n    pl.write(o, [n, j], 1.5)\nr = pl.assemble(o, a, [8, 0])\nreturn r", 7),
    "no constant": (
        "for j in pl.range(8):\n    v = pl.read(a, [0, j])\n    pl.write(o, [n, j], v)\nr = pl.assemble(o, a, [8, 0])\nreturn r",
        8,
    ),
    "diagonal": ("for j in pl.range(8):\n    pl.write(o, [j, j], 1.5)\nr = pl.assemble(o, a, [8, 0])\nreturn r", 7),
    "read back before the end": (
        "z = pl.full([32, 16], pl.FP32, 0.5)\no = pl.assemble(o, z, [0, 0])\npl.write(o, [n, 3], 2.0)\nv = pl.read(o, [0, 0])\n"
        "pl.write(o, [0, 1], v)\nreturn o",
        8,
    ),
    "initialised in part": (
        "z = pl.full([8, 16], pl.FP32, 0.5)\no = pl.assemble(o, z, [0, 0])\npl.write(o, [n, 3], 2.0)\nreturn o",
        8,
    ),
    "initialised in a branch": (
        "z = pl.full([32, 16], pl.FP32, 0.5)\nif n > 2:\n    r = pl.assemble(o, z, [0, 0])\npl.write(o, [n, 3], 2.0)\nreturn o",
        9,
    ),
}


@pytest.mark.parametrize("case", list(MIXES))
def test_other_mixtures_are_refused(case: str) -> None:
    body, line = MIXES[case]
    with pytest.raises(InvalidValueError, match="kernel 'k' mixes bulk stores and scalar writes to the tensor 'o'") as caught:
        convert(mixed(body))
    assert caught.value.span["line"] == line


def test_two_tensors_may_be_written_in_two_ways() -> None:
    before, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.Out[pl.Tensor[[8, 16], pl.FP32]], c: pl.InOut[pl.Tensor[[8], pl.INT32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        pl.write(c, [3], 7)
        r = pl.assemble(o, pl.exp(a), [0, 0])
        return r
"""
    )
    assert ops_of(after["k"]) == ["tile.load", "tensor.write", "tile.exp", "tile.store"]
    assert_same_meaning(before, after)
