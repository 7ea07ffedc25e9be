"""Whole kernels as people write them: faults that such systems have had, and runs before and after passes."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import pypto.language as pl
from pypto import passes
from pypto.runtime import RunError, compare_results, draw_inputs, run

M = pl.dynamic("M")
ROWS = pl.dynamic("ROWS")


def test_counting_down() -> None:
    @pl.function
    def f(x: pl.Tensor[[10], pl.INT32]) -> pl.Scalar[pl.INT32]:
        s: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
        for i in pl.range(9, -1, -3):
            v: pl.Scalar[pl.INT32] = pl.read(x, [i])
            if v > 100:
                break
            s = s + v
        for j in pl.unroll(3, 0, -1):
            s = s + pl.cast(j, pl.INT32)
        return s

    assert run(f, np.arange(10, dtype=np.int32)) == 9 + 6 + 3 + 0 + 3 + 2 + 1


@pytest.mark.parametrize("n", [0, 1, 7, 64])
def test_padding_lanes_and_reductions(n: int) -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def f(x: pl.Tensor[[8, 64], pl.FP32], o: pl.Out[pl.Tensor[[8, 1], pl.FP32]], n: pl.Scalar[pl.INDEX]):
        t = pl.load(x, [0, 0], [8, 64], valid_shape=[8, n])
        tmp = pl.create_tile([8, 64], pl.FP32, pl.Mem.Vec)
        m = pl.row_max(pl.exp(pl.neg(t)), tmp)
        o = pl.store(m, [0, 0], o)
        return o

    x = np.random.default_rng(1).uniform(-2, 2, (8, 64)).astype(np.float32)
    results = []
    for garbage in (0, np.nan, np.inf, 1e30):
        filled = x.copy()
        filled[:, n:] = garbage
        results.append(run(f, filled, np.zeros((8, 1), np.float32), n).tobytes())
    assert len(set(results)) == 1
    expected = np.exp(-x[:, :n].astype(np.float64)).max(axis=1, keepdims=True, initial=-np.inf)
    np.testing.assert_allclose(np.frombuffer(results[0], np.float32).reshape(8, 1), expected, rtol=1e-6)


def test_integer_to_bfloat16_by_two_routes() -> None:
    @pl.function(type=pl.FunctionType.InCore)
    def f(
        x: pl.Tensor[[8], pl.INT32],
        a: pl.Out[pl.Tensor[[8], pl.BF16]],
        b: pl.Out[pl.Tensor[[8], pl.BF16]],
    ):
        t = pl.load(x, [0], [8])
        a = pl.store(pl.cast(t, pl.BF16, mode="rint"), [0], a)
        b = pl.store(pl.cast(pl.cast(t, pl.FP32, mode="rint"), pl.BF16, mode="rint"), [0], b)
        return a, b

    x = np.int32([257, 259, -771, 16777216, 0, -1, 127, 1 << 20])
    first, second = run(f, x)
    assert first.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(first, second)
    assert [float(v) for v in first[:3]] == [256, 260, -772]


def test_dimensions_of_a_callee() -> None:
    @pl.program
    class P:
        @pl.function
        def same(self, a: pl.Tensor[[M, 8], pl.FP32], b: pl.Tensor[[M, 8], pl.FP32]) -> pl.Tensor[[M, 8], pl.FP32]:
            c = pl.add(a, b)
            return c

        @pl.function
        def top(self, p: pl.Tensor[[ROWS, 8], pl.FP32], q: pl.Tensor[[16, 8], pl.FP32]) -> pl.Tensor[[16, 8], pl.FP32]:
            r = self.same(q, p)
            return r

    one = np.ones((16, 8), np.float32)
    np.testing.assert_array_equal(run(P, one, one), one + one)
    with pytest.raises(RunError, match="'M' cannot be both 16 and 32"):
        run(P, np.ones((32, 8), np.float32), one)


@pl.program
class Rotate:
    @pl.function(type=pl.FunctionType.InCore)
    def wave(self, a: pl.Tensor[[24, 40], pl.FP32], b: pl.Tensor[[24, 40], pl.FP32]) -> pl.Tensor[[24, 40], pl.FP32]:
        u = pl.cos(a)
        w = pl.mul(u, b)
        return w

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[24, 40], pl.FP32], b: pl.Tensor[[24, 40], pl.FP32]) -> pl.Tensor[[24, 40], pl.FP32]:
        y = self.wave(a, b)
        return y


def test_a_tensor_kernel_at_every_stage_on_its_way_to_tiles() -> None:
    inputs = draw_inputs(Rotate)
    expected = np.cos(inputs[0].astype(np.float64)) * inputs[1]
    stage = Rotate
    for make in (
        passes.convert_to_ssa,
        passes.normalize_stmt_structure,
        passes.convert_tensor_to_tile_ops,
        passes.lower_composite_ops,
        passes.simplify,
    ):
        stage = make()(stage)
        assert compare_results(run(stage, *inputs), expected.astype(np.float32)) is None
    assert "tile.cos" not in str(stage)
