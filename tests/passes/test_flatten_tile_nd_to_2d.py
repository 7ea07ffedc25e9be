"""FlattenTileNdTo2D: deep tiles become two-dimensional, loads and stores keep their windows, and the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import Sample, prepare, program_of

from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.ir.verify import verify
from pypto.runtime import run
from pypto.testing import assert_roundtrip, assert_same_meaning

X = "x: pl.Tensor[[2, 4, 32], pl.FP32], o: pl.Out[pl.Tensor[[2, 4, 32], pl.FP32]]"


def program(body: str, params: str = X, result: str = "[2, 4, 32]") -> ir.Program:
    lines = "\n".join("        " + line for line in body.strip("\n").split("\n"))
    return prepare(
        f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k({params}) -> pl.Tensor[{result}, pl.FP32]:
{lines}
"""
    )


def calls(function: ir.Function, name: str) -> list[ir.Call]:
    return [n for n in ir.walk(function.body) if isinstance(n, ir.Call) and n.op.name == name]


def extents(dims: object) -> list[int]:
    return [d.value for d in dims]  # type: ignore[attr-defined]


def flattened(before: ir.Program) -> ir.Program:
    after = passes.flatten_tile_nd_to_2d()(before)
    assert not verify(after, ["TileOps2D", "SSAForm", "NormalizedStmtStructure", "NoNestedCalls", "TypeChecked", "UseAfterDef"])
    assert_roundtrip(after)
    assert_same_meaning(before, after)
    assert passes.flatten_tile_nd_to_2d()(after) is after
    return after


def test_load_keeps_its_window_and_store_gains_the_partition() -> None:
    after = flattened(program("t = pl.load(x, [0, 0, 0], [2, 4, 32])\nr = pl.store(pl.exp(t), [0, 0, 0], o)\nreturn r"))
    load, _, store, _ = ir.flatten_to_stmts(after["k"].body)
    assert extents(load.var.type.shape) == [8, 32]
    assert extents(load.value.args[2].elements) == [2, 4, 32]
    assert extents(store.value.args[3].elements) == [2, 4, 32]


def test_partition_has_the_rank_of_the_tensor() -> None:
    params = "x: pl.Tensor[[2, 4, 32], pl.FP32], o: pl.Out[pl.Tensor[[3, 2, 4, 32], pl.FP32]]"
    before = program("t = pl.load(x, [0, 0, 0], [2, 4, 32])\nr = pl.store(t, [1, 0, 0, 0], o)\nreturn r", params, "[3, 2, 4, 32]")
    after = flattened(before)
    assert extents(calls(after["k"], "tile.store")[0].args[3].elements) == [1, 2, 4, 32]


def test_lowered_sine_of_three_dimensions() -> None:
    before = program("t = pl.load(x, [0, 0, 0], [2, 4, 32])\ny = pl.tile.sin(t)\nr = pl.store(y, [0, 0, 0], o)\nreturn r")
    flattened(passes.lower_composite_ops()(before))


def test_carried_deep_tiles() -> None:
    flattened(
        program(
            """
t = pl.load(x, [0, 0, 0], [2, 4, 32])
for i, (acc,) in pl.range(3, init_values=(t,)):
    if i < 2:
        part = pl.yield_(pl.add(acc, t))
    else:
        part = pl.yield_(acc)
    out = pl.yield_(part)
r = pl.store(out, [0, 0, 0], o)
return r
"""
        )
    )


def test_two_dimensions_are_left_alone() -> None:
    before = program(
        "t = pl.load(x, [0, 0], [8, 32])\nr = pl.store(pl.exp(t), [0, 0], o)\nreturn r",
        "x: pl.Tensor[[8, 32], pl.FP32], o: pl.Out[pl.Tensor[[8, 32], pl.FP32]]",
        "[8, 32]",
    )
    assert passes.flatten_tile_nd_to_2d()(before) is before


def test_other_kinds_of_function_are_left_alone() -> None:
    before = prepare(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Orchestration)
    def f(self, a: pl.Tensor[[2, 4, 32], pl.FP32]) -> pl.Tensor[[2, 4, 32], pl.FP32]:
        return pl.add(a, a)
"""
    )
    assert passes.flatten_tile_nd_to_2d()(before) is before


def test_transposition_gains_its_scratch_tile() -> None:
    before = program(
        "t = pl.load(x, [0, 0], [8, 32])\ny = pl.tile.transpose(t, 0, 1)\nr = pl.store(y, [0, 0], o)\nreturn r",
        "x: pl.Tensor[[8, 32], pl.FP32], o: pl.Out[pl.Tensor[[32, 8], pl.FP32]]",
        "[32, 8]",
    )
    after = flattened(before)
    (turned,) = calls(after["k"], "tile.transpose")
    assert len(turned.args) == 4
    assert extents(turned.args[3].type.shape) == [8, 32]


def test_blocks_of_rows_are_linearised() -> None:
    before = program(
        """
t = pl.load(x, [0, 0, 0], [2, 4, 32])
for i, (acc,) in pl.range(2, init_values=(t,)):
    p = pl.load(x, [i, 0, 0], [1, 2, 32])
    out = pl.yield_(pl.tile.assemble(acc, p, [i, 2, 0]))
r = pl.store(out, [0, 0, 0], o)
return r
"""
    )
    after = flattened(before)
    row = calls(after["k"], "tile.assemble")[0].args[2].elements[0]
    assert ir.python_print(row) == "i * 4 + 2"


DEEP = "a: [2, 4, 32] FP32"
SAME = "[2, 4, 32] FP32"
POSITIVE = "p = pl.tensor.adds(pl.tensor.abs(b), 0.5)"
KEPT = {
    "missing leading dimension": Sample("a: [2, 4, 32] FP32, b: [4, 32] FP32", "pl.add(a, b)", SAME),
    "repeated pages": Sample("a: [2, 4, 32] FP32, b: [1, 4, 32] FP32", "pl.add(a, b)", SAME),
    "repeated rows": Sample("a: [2, 4, 32] FP32, b: [2, 1, 32] FP32", "pl.mul(a, b)", SAME),
    "repeated columns": Sample("a: [2, 4, 32] FP32, b: [2, 4, 1] FP32", "pl.mul(a, b)", SAME),
    "one row": Sample("a: [2, 4, 32] FP32, b: [1, 1, 32] FP32", "pl.maximum(a, b)", SAME),
    "compared": Sample("a: [2, 4, 32] FP32, b: [4, 32] FP32", "pl.cmp(a, b, cmp_type=2)", SAME),
    "divided by rows": Sample("a: [2, 4, 32] FP32, b: [2, 1, 32] FP32", "pl.div(a, p)", SAME, prelude=POSITIVE),
    "divided by a page": Sample("a: [2, 4, 32] FP32, b: [4, 32] FP32", "pl.div(a, p)", SAME, prelude=POSITIVE),
    "last axes swapped": Sample("a: [2, 3, 4, 8] FP32", "pl.transpose(a, 2, 3)", "[2, 3, 8, 4] FP32", ("tile.transpose",)),
    "first axes swapped": Sample(DEEP, "pl.transpose(a, 0, 1)", "[4, 2, 32] FP32"),
    "distant leading axes swapped": Sample("a: [2, 3, 4, 8] FP32", "pl.transpose(a, 0, 2)", "[4, 3, 2, 8] FP32"),
    "outer axes of four swapped": Sample("a: [2, 3, 4, 8] FP32", "pl.transpose(a, 0, 1)", "[3, 2, 4, 8] FP32"),
    "row maximum": Sample(DEEP, "pl.row_max(a)", "[2, 4, 1] FP32"),
    "row position": Sample(DEEP, "pl.row_argmax(a)", "[2, 4, 1] INT32"),
    "softmax head": Sample("a: [2, 4, 32] FP32", "pl.exp(pl.row_expand_sub(a, pl.row_max(a)))", SAME),
    "batched product": Sample(
        "a: [2, 16, 32] FP16, b: [2, 32, 48] FP16", "pl.matmul(a, b, out_dtype=pl.FP32)", "[2, 16, 48] FP32", ("tile.matmul",)
    ),
    "product with one matrix": Sample(
        "a: [2, 16, 32] FP32, b: [32, 48] FP32", "pl.matmul(a, b)", "[2, 16, 48] FP32", ("tile.matmul",)
    ),
    "product of repeated batches": Sample(
        "a: [2, 16, 32] FP16, b: [3, 1, 48, 32] FP16",
        "pl.matmul(a, b, b_trans=True, out_dtype=pl.FP32)",
        "[3, 2, 16, 48] FP32",
        ("tile.transpose_view", "tile.matmul"),
    ),
    "transposed on the left": Sample(
        "a: [2, 32, 16] FP16, b: [2, 32, 48] FP16", "pl.matmul(a, b, a_trans=True, out_dtype=pl.FP32)", "[2, 16, 48] FP32"
    ),
    "batch of one": Sample(
        "a: [1, 16, 32] FP16, b: [1, 32, 48] FP16", "pl.matmul(a, b, out_dtype=pl.FP32)", "[1, 16, 48] FP32", ("tile.matmul",)
    ),
    "batched sum of products": Sample(
        "a: [2, 16, 32] FP16, b: [2, 32, 48] FP16",
        "pl.matmul_acc(pl.matmul(a, b, out_dtype=pl.FP32), a, b)",
        "[2, 16, 48] FP32",
        ("tile.matmul_acc",),
    ),
    "valid columns known at run time": Sample(
        "a: [2, 4, 32] FP32, n: INDEX",
        "pl.fillpad(pl.exp(pl.slice(a, [2, 4, 32], [0, 0, 0], [2, 4, n])), pad_value=pl.PadValue.max)",
        SAME,
    ),
    "valid pages known at run time": Sample(
        "a: [8, 4, 32] FP32, n: INDEX", "pl.fillpad(pl.exp(pl.slice(a, [8, 4, 32], [0, 0, 0], [n, 4, 32])))", "[8, 4, 32] FP32"
    ),
    "first pages valid": Sample(
        "a: [4, 4, 32] FP32",
        "pl.fillpad(pl.exp(pl.slice(a, [4, 4, 32], [0, 0, 0], [3, 4, 30])), pad_value=pl.PadValue.max)",
        "[4, 4, 32] FP32",
    ),
    "first rows of the only page valid": Sample(
        "a: [4, 4, 32] FP32", "pl.fillpad(pl.exp(pl.slice(a, [1, 4, 32], [0, 0, 0], [1, 3, 30])))", "[1, 4, 32] FP32"
    ),
    "page put in": Sample(
        "a: [2, 4, 32] FP32, b: [1, 4, 32] FP32", "pl.assemble(pl.exp(a), b, [1, 0, 0])", SAME, ("tile.assemble",)
    ),
    "block of a page put in": Sample(
        "a: [2, 4, 32] FP32, b: [2, 16] FP32", "pl.assemble(pl.exp(a), b, [1, 2, 16])", SAME, ("tile.assemble",)
    ),
    "enlarged": Sample(DEEP, "pl.fillpad_expand(a, [3, 4, 40])", "[3, 4, 40] FP32"),
    "reshaped": Sample(DEEP, "pl.reshape(a, [4, 2, 32])", "[4, 2, 32] FP32"),
    "reshaped to two dimensions": Sample(DEEP, "pl.reshape(pl.exp(a), [16, 16])", "[16, 16] FP32"),
    "read as halves": Sample(DEEP, "pl.reinterpret_view(pl.exp(a), dtype=pl.INT16)", "[2, 4, 64] INT16"),
    "read as halves of a shape": Sample(
        DEEP, "pl.reinterpret_view(pl.exp(a), dtype=pl.INT16, shape=[2, 8, 32])", "[2, 8, 32] INT16"
    ),
    "partial sums": Sample(DEEP, "pl.part_add(a, pl.exp(a))", SAME),
    "rows replaced": Sample(
        "a: [4, 2, 4, 2] FP32, b: [2, 4] INT32, c: [2, 4, 1, 2] FP32",
        "pl.scatter_update(pl.exp(a), dim=-2, index=b, src=c)",
        "[4, 2, 4, 2] FP32",
    ),
    "repeated along the second axis": Sample(
        "a: [4, 1, 32] FP32, b: [4, 16, 32] FP32", "pl.tensor.expand_clone(a, b)", "[4, 16, 32] FP32"
    ),
    "repeated along the first axis": Sample(
        "a: [1, 16, 32] FP32, b: [4, 16, 32] FP32", "pl.tensor.expand_clone(a, b)", "[4, 16, 32] FP32"
    ),
}


@pytest.mark.parametrize("case", list(KEPT))
def test_meaning_is_kept(case: str) -> None:
    sample = KEPT[case]
    source = prepare(program_of(sample))
    before = passes.convert_tensor_to_tile_ops()(source)
    after = flattened(before)
    assert_same_meaning(source, after)
    for word in sample.expected:
        assert calls(after["k"], word), word
    assert not [n for n in ir.walk(after["k"].body) if isinstance(n, ir.Call) and "batch" in n.op.name]


def test_transposed_views_of_pages_copy_nothing() -> None:
    sample = KEPT["product of repeated batches"]
    after = passes.flatten_tile_nd_to_2d()(passes.convert_tensor_to_tile_ops()(prepare(program_of(sample))))
    views = calls(after["k"], "tile.transpose_view")
    assert len(views) == 3  # one for each page of b, whatever the batches
    assert all(isinstance(v.args[0], ir.Var) and v.args[0].type.memory_space is ir.MemorySpace.Mat for v in views)
    assert len(calls(after["k"], "tile.matmul")) == 6


def test_padding_lanes_take_no_part_in_reductions() -> None:
    before = program(
        """
t = pl.load(x, [0, 0, 0], [2, 4, 64], valid_shape=[2, 4, n])
tmp = pl.create_tile([2, 4, 64], pl.FP32, pl.Mem.Vec)
m = pl.row_sum(pl.exp(pl.neg(t)), tmp)
r = pl.store(m, [0, 0, 0], o)
return r
""",
        "x: pl.Tensor[[2, 4, 64], pl.FP32], o: pl.Out[pl.Tensor[[2, 4, 1], pl.FP32]], n: pl.Scalar[pl.INDEX]",
        "[2, 4, 1]",
    )
    after = passes.flatten_tile_nd_to_2d()(before)
    clean = np.random.default_rng(1).uniform(-2, 2, (2, 4, 64)).astype(np.float32)
    for valid in (0, 1, 37, 64):
        expected = np.exp(-clean[:, :, :valid].astype(np.float64)).sum(axis=2, keepdims=True)
        for junk in (np.nan, np.inf, 1e30):
            x = clean.copy()
            x[:, :, valid:] = junk
            found = run(after, x, np.zeros((2, 4, 1), np.float32), valid)
            assert np.allclose(found, expected, rtol=1e-5, atol=1e-6)


REFUSED = {
    "column reduction": ("c = pl.col_sum(t)\nr = pl.store(t, [0, 0, 0], o)", "last axis"),
    "read": ("v = pl.tile.read(t, [0, 0, 0])\nr = pl.store(t, [0, 0, 0], o)", "tile.read.*no two-dimensional form"),
    "write": ("pl.tile.write(t, [0, 0, 0], 1.0)\nr = pl.store(t, [0, 0, 0], o)", "tile.write.*no two-dimensional form"),
    "slice": (
        "s = pl.tile.slice(t, [1, 4, 32], [0, 0, 0])\nr = pl.store(s, [0, 0, 0], o)",
        "tile.slice.*no two-dimensional form",
    ),
    "part of every page": (
        "s = pl.tile.assemble(t, pl.load(x, [0, 0, 0], [2, 2, 32]), [0, 2, 0])\nr = pl.store(s, [0, 0, 0], o)",
        "contiguous",
    ),
    "valid rows of every page": (
        "s = pl.load(x, [0, 0, 0], [2, 4, 32], [2, 3, 32])\nr = pl.store(s, [0, 0, 0], o)",
        "valid region.*contiguous",
    ),
    "first and last axis": (
        "s = pl.tile.transpose(pl.tile.transpose(t, 0, 2), 0, 2)\nr = pl.store(s, [0, 0, 0], o)",
        "axes 0 and 2",
    ),
    "lanes between pages": ("s = pl.tile.fillpad_expand(t, [2, 5, 32])\nr = pl.store(t, [0, 0, 0], o)", "between the pages"),
}


@pytest.mark.parametrize("case", list(REFUSED))
def test_what_two_dimensions_cannot_say(case: str) -> None:
    body, words = REFUSED[case]
    before = program(f"t = pl.load(x, [0, 0, 0], [2, 4, 32])\n{body}\nreturn r")
    with pytest.raises(InvalidValueError, match=words) as caught:
        passes.flatten_tile_nd_to_2d()(before)
    assert caught.value.span["line"] == 7


def test_extent_known_at_run_time_is_refused() -> None:
    n = ir.Var("n", ir.ScalarType(ir.DataType.INDEX))
    four, line = ir.ConstInt(4, ir.DataType.INDEX), ir.Span("kernel.py", 3, 5)
    type_ = ir.TileType([n, four, four], ir.DataType.FP32, None, None, ir.MemorySpace.Vec)
    param = ir.Var("t", type_, line)
    function = ir.Function("k", [n, param], [], ir.ReturnStmt([]), type=ir.FunctionType.InCore)
    with pytest.raises(InvalidValueError, match="constant shape") as caught:
        passes.flatten_tile_nd_to_2d()(ir.Program([function], "P"))
    assert caught.value.span["line"] == 3
