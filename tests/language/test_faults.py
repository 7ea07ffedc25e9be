"""Faults that front ends like this one have had, each as the smallest kernel that would show it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir
from pypto.parser.errors import ParserError
from pypto.runtime import run
from pypto.testing import assert_roundtrip

T = pl.dynamic("T")
NR = pl.dynamic("NR")
STRIDED = pl.TensorView(stride=[128, 1], layout=pl.TensorLayout.ND)


def dynamic_vars(function: ir.Function) -> set[ir.Var]:
    found: set[ir.Var] = set()
    for node in [*function.params, *ir.walk(function.body)]:
        for dim in getattr(getattr(node, "type", None), "shape", ()):
            found.update(n for n in ir.walk(dim) if type(n) is ir.Var)
    return found


def test_one_symbol_for_a_dimension_captured_by_a_helper() -> None:
    @pl.inline
    def bump(x: pl.Tensor[[T, 8], pl.FP32]) -> pl.Tensor[[T, 8], pl.FP32]:
        y = pl.create_tensor([T, 8], dtype=pl.FP32)
        return pl.add(x, y)

    @pl.function
    def top(a: pl.Tensor[[T, 8], pl.FP32]) -> pl.Tensor[[T, 8], pl.FP32]:
        return bump(a)

    assert len(dynamic_vars(top)) == 1
    assert_roundtrip(top)


def test_numbers_on_either_side_of_every_operator() -> None:
    @pl.function
    def chunk(x: pl.Tensor[[NR, 1024 // 8], pl.FP32]) -> pl.Scalar[pl.INDEX]:
        return 1024 // NR + 7 % NR - (3 - NR)

    assert_roundtrip(chunk)
    assert run(chunk, np.zeros((5, 128), np.float32)) == 1024 // 5 + 7 % 5 - (3 - 5)

    @pl.function
    def wide(x: pl.Tensor[[NR * 2 + 1, 1024 // NR], pl.FP32]) -> pl.Scalar[pl.INDEX]:
        return pl.const(0, pl.INDEX)

    assert_roundtrip(wide)


def test_negative_extents_are_refused_and_empty_ranges_run_no_time() -> None:
    with pytest.raises(ParserError, match="negative") as caught:
        pl.parse("@pl.function\ndef f(y: pl.Tensor[[-4, 8], pl.FP32]) -> pl.Scalar[pl.INDEX]:\n    return 1\n")
    assert caught.value.span["line"] == 2

    @pl.function
    def f(x: pl.Tensor[[0, 8], pl.FP32]) -> pl.Scalar[pl.INDEX]:
        s = 0
        for i in pl.range(5, 2):
            s = s + i
        for j in pl.unroll(3, 3):
            s = s + j
        return s

    assert_roundtrip(f)
    assert run(f, np.zeros((0, 8), np.float32)) == 0


def test_a_local_scalar_in_a_type_is_no_dynamic_dimension() -> None:
    @pl.function
    def f(x: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[64, 64], pl.FP32]:
        k = pl.min(n * 8, 64)
        v = pl.slice(x, [64, 64], [0, 0], valid_shape=[k, 64])
        return v

    assert "pl.dynamic" not in f.as_python()
    assert_roundtrip(f)


def test_conflicting_extents_of_one_symbol_name_it_and_both_values() -> None:
    text = """
M = pl.dynamic("M")

@pl.program
class P:
    @pl.function
    def same(self, a: pl.Tensor[[M, 8], pl.FP32], b: pl.Tensor[[M, 8], pl.FP32]) -> pl.Tensor[[M, 8], pl.FP32]:
        return pl.add(a, b)
    @pl.function
    def top(self, p: pl.Tensor[[16, 8], pl.FP32], q: pl.Tensor[[{rows}, 8], pl.FP32]) -> pl.Tensor[[16, 8], pl.FP32]:
        r = self.same(p, q)
        return r
"""
    good = pl.parse(text.format(rows=16))
    assign = ir.flatten_to_stmts(good["top"].body)[0]
    assert [d.value for d in assign.var.type.shape] == [16, 8]
    with pytest.raises(ParserError, match=r"(?s)M.*16.*32|M.*32.*16") as caught:
        pl.parse(text.format(rows=32))
    assert caught.value.span["line"] == 11


def test_view_fields_take_expressions_and_variables() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def f(x: pl.Tensor[[32, 64], pl.FP32, STRIDED], n: pl.Scalar[pl.INDEX], o: pl.Out[pl.Tensor[[32, 64], pl.FP32]]):
        t: pl.Tile[[8, 64], pl.FP32, pl.Mem.Vec, pl.TileView(valid_shape=[pl.max(pl.min(n - 8, 8), 0), 64])] = pl.load(
            x, [0, 0], [8, 64]
        )
        o = pl.store(t, [0, 0], o)
        return o

    assert [d.value for d in f.params[0].type.tensor_view.stride] == [128, 1]
    assert_roundtrip(f)


def test_scalar_annotation_converts_the_value_too() -> None:
    @pl.function
    def f(n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INT32]:
        acc: pl.Scalar[pl.INT32] = 0
        for i in pl.range(n):
            acc = acc + (pl.cast(i, pl.INT32) + pl.const(1, pl.INT32))
        last: pl.Scalar[pl.INT32] = n + 1
        return acc + last

    for stmt in ir.walk(f.body):
        if isinstance(stmt, ir.AssignStmt):
            assert stmt.var.type == stmt.value.type
    assert_roundtrip(f)
    assert run(f, 4) == (1 + 2 + 3 + 4) + 5


def test_loop_variables_take_the_type_of_their_bounds() -> None:
    @pl.function
    def f(n: pl.Scalar[pl.INT32]) -> pl.Scalar[pl.INT32]:
        s: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
        for i in pl.range(n):
            s = s + i
        for j in pl.range(pl.const(0, pl.INT32), n, pl.const(2, pl.INT32)):
            s = s + j
        return s

    again = pl.parse(f.as_python())
    for function in (f, again):
        loops = [s for s in ir.walk(function.body) if isinstance(s, ir.ForStmt)]
        assert [loop.loop_var.type.dtype for loop in loops] == [ir.INT32, ir.INT32]
    assert run(f, 5) == sum(range(5)) + sum(range(0, 5, 2))


def test_infinities_and_nan_read_back() -> None:
    @pl.function
    def f(x: pl.Tensor[[8], pl.FP32]) -> pl.Tensor[[8], pl.FP32]:
        a = pl.maximum(x, -math.inf)
        b = pl.minimum(a, math.inf)
        return pl.mul(b, math.nan)

    assert_roundtrip(f)
    values = [n.value for n in ir.walk(pl.parse(f.as_python()).body) if isinstance(n, ir.ConstFloat)]
    assert values[:2] == [-math.inf, math.inf]
    assert math.isnan(values[2])


@pytest.mark.parametrize(
    "case",
    [
        "x: pl.Tensor[[64, 64]]",
        "x: (pl.FP32, [64])",
        "x: pl.Tensor[[64, 'a'], pl.FP32]",
        "x: pl.Tensor[[64], pl.NOPE]",
        "x: pl.Tile[[8, 8], pl.FP32, pl.Mem.Nowhere]",
        "x",
        "x: pl.Tensor[[64.5], pl.FP32]",
    ],
)
def test_every_wrong_annotation_has_a_place(case: str) -> None:
    with pytest.raises(ParserError) as caught:
        pl.parse(f"@pl.function\ndef f(\n    {case},\n) -> pl.Scalar[pl.INDEX]:\n    return 1\n", "kernel.py")
    assert caught.value.span["filename"] == "kernel.py"
    assert caught.value.span["line"] == 3
    assert caught.value.span["column"] >= 5


def test_the_caret_stands_under_the_whole_name() -> None:
    text = "@pl.function\ndef f(n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:\n    for i in pl.piepline(0, n, 1, stage=2):\n        s = i\n    return n\n"
    with pytest.raises(ParserError, match=r"pl\.pipeline") as caught:
        pl.parse(text, "kernel.py")
    rendered = str(caught.value).split("\n")
    line = next(at for at, row in enumerate(rendered) if "^" in row)
    start, end = rendered[line].index("^"), rendered[line].rindex("^") + 1
    assert rendered[line - 1][start:end].startswith("pl.piepline")


def test_columns_count_characters() -> None:
    text = "@pl.function\ndef f(α: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:\n    β = α + 1; γ = β + missing   # 中文\n    return γ\n"
    with pytest.raises(ParserError, match="missing") as caught:
        pl.parse(text, "kernel.py")
    line = text.split("\n")[2]
    assert caught.value.span["column"] == line.index("missing") + 1


def test_a_pass_by_value_scalar_stays_the_callers() -> None:
    program = pl.parse(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Inline)
    def inc(self, n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
        n = n + 1
        k = n * 2
        return k
    @pl.function
    def main(self, k: pl.Scalar[pl.INDEX], n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
        a = self.inc(k)
        b = self.inc(n)
        return k * 1000 + n * 100 + a * 10 + b
"""
    )
    from pypto import passes

    inlined = passes.inline_functions()(program)
    for k in range(3):
        for n in range(3):
            expected = k * 1000 + n * 100 + (k + 1) * 2 * 10 + (n + 1) * 2
            assert run(program, k, n) == run(inlined, k, n) == expected
