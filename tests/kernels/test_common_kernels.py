"""Kernels as people write them: they load, print exactly, lower, and give the numbers of NumPy at every stage."""

from __future__ import annotations

import ml_dtypes
import numpy as np

import pypto.language as pl
from pypto.testing import validate

ROWS = pl.dynamic("ROWS")


@pl.program
class Softmax:
    @pl.function(type=pl.FunctionType.InCore)
    def softmax(
        self, x: pl.Tensor[[64, 128], pl.FP32], out: pl.Out[pl.Tensor[[64, 128], pl.FP32]]
    ) -> pl.Tensor[[64, 128], pl.FP32]:
        """Row softmax."""
        tile: pl.Tile[[64, 128], pl.FP32] = pl.load(x, [0, 0], [64, 128])
        tmp = pl.create_tile([64, 128], dtype=pl.FP32, target_memory=pl.MemorySpace.Vec)
        row_max = pl.row_max(tile, tmp)
        shifted = pl.row_expand_sub(tile, row_max)
        e = pl.exp(shifted)
        s = pl.row_sum(e, tmp)
        result = pl.row_expand_div(e, s)
        return pl.store(result, [0, 0], out)

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[64, 128], pl.FP32], out: pl.Out[pl.Tensor[[64, 128], pl.FP32]]) -> pl.Tensor[[64, 128], pl.FP32]:
        out = self.softmax(x, out)
        return out


@pl.program
class Matmul:
    @pl.function(type=pl.FunctionType.InCore)
    def mm(
        self, a: pl.Tensor[[64, 128], pl.BF16], b: pl.Tensor[[128, 64], pl.BF16], c: pl.Out[pl.Tensor[[64, 64], pl.FP32]]
    ) -> pl.Tensor[[64, 64], pl.FP32]:
        a0 = pl.load(a, [0, 0], [64, 32], target_memory=pl.Mem.Mat)
        b0 = pl.load(b, [0, 0], [32, 64], target_memory=pl.Mem.Mat)
        acc = pl.matmul(pl.move(a0, target_memory=pl.Mem.Left), pl.move(b0, target_memory=pl.Mem.Right))
        for k in pl.range(1, 4):
            ak = pl.load(a, [0, k * 32], [64, 32], target_memory=pl.Mem.Mat)
            bk = pl.load(b, [k * 32, 0], [32, 64], target_memory=pl.Mem.Mat)
            acc = pl.matmul_acc(acc, pl.move(ak, target_memory=pl.Mem.Left), pl.move(bk, target_memory=pl.Mem.Right))
        c = pl.store(acc, [0, 0], c)
        return c


@pl.program
class Tail:
    @pl.function(type=pl.FunctionType.InCore)
    def scale(
        self, x: pl.Tensor[[ROWS, 64], pl.FP32], row0: pl.Scalar[pl.INDEX], out: pl.InOut[pl.Tensor[[ROWS, 64], pl.FP32]]
    ) -> pl.Tensor[[ROWS, 64], pl.FP32]:
        rows = pl.tensor.dim(x, 0)
        valid = pl.min(rows - row0, 16)
        t = pl.load(x, [row0, 0], [16, 64], valid_shape=[valid, 64])
        s = pl.mul(t, 2.0)
        out = pl.store(s, [row0, 0], out)
        return out

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(
        self, x: pl.Tensor[[ROWS, 64], pl.FP32], out: pl.InOut[pl.Tensor[[ROWS, 64], pl.FP32]]
    ) -> pl.Tensor[[ROWS, 64], pl.FP32]:
        n = pl.tensor.dim(x, 0)
        for r in pl.range(0, n, 16):
            out = self.scale(x, r, out)
        return out


@pl.program
class NormedSilu:
    @pl.function(type=pl.FunctionType.InCore)
    def act(self, x: pl.Tensor[[32, 256], pl.BF16], w: pl.Tensor[[1, 256], pl.FP32]) -> pl.Tensor[[32, 256], pl.BF16]:
        xf = pl.cast(x, target_type=pl.FP32)
        sq = pl.mul(xf, xf)
        mean = pl.mul(pl.row_sum(sq), 1.0 / 256)
        inv = pl.rsqrt(pl.add(mean, 1e-6))
        normed = pl.col_expand_mul(pl.row_expand_mul(xf, inv), w)
        gate = pl.recip(pl.add(pl.exp(pl.neg(normed)), 1.0))
        return pl.cast(pl.mul(normed, gate), target_type=pl.BF16, mode="rint")

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[32, 256], pl.BF16], w: pl.Tensor[[1, 256], pl.FP32]) -> pl.Tensor[[32, 256], pl.BF16]:
        return self.act(x, w)


@pl.program
class Slices:
    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[4, 64], pl.FP32], y: pl.Out[pl.Tensor[[4, 64], pl.FP32]]) -> pl.Tensor[[4, 64], pl.FP32]:
        for r in pl.parallel(4):
            row = x[r, 0:64]
            y[r : r + 1, :] = pl.reshape(pl.exp(row), [1, 64])
        return y


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def test_row_softmax() -> None:
    x = random(64, 128)
    lowered = validate(Softmax, [x, np.zeros_like(x)]).lowered
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(lowered(x, np.zeros_like(x)), wide / wide.sum(axis=1, keepdims=True), atol=1e-6)


def test_matrix_product_in_steps() -> None:
    a, b = (random(*shape, seed=seed).astype(ml_dtypes.bfloat16) for shape, seed in (((64, 128), 1), ((128, 64), 2)))
    c = np.zeros((64, 64), np.float32)
    lowered = validate(Matmul, [a, b, c]).lowered
    np.testing.assert_allclose(lowered(a, b, c), a.astype(np.float64) @ b.astype(np.float64), rtol=1e-4, atol=1e-4)


def test_rows_known_only_at_run_time() -> None:
    for rows in (1, 16, 37):
        x, out = random(rows, 64), np.zeros((rows, 64), np.float32)
        lowered = validate(Tail, [x, out]).lowered
        np.testing.assert_array_equal(lowered(x, out), 2 * x)


def test_normalised_activation_in_two_precisions() -> None:
    x, w = random(32, 256).astype(ml_dtypes.bfloat16), random(1, 256, seed=3)
    lowered = validate(NormedSilu, [x, w]).lowered
    wide = x.astype(np.float64)
    normed = wide / np.sqrt((wide**2).mean(axis=1, keepdims=True) + 1e-6) * w
    exact = normed / (1 + np.exp(-normed))
    np.testing.assert_allclose(lowered(x, w).astype(np.float64), exact, rtol=1e-2, atol=1e-2)


def test_reading_and_writing_slices() -> None:
    x, y = random(4, 64), np.zeros((4, 64), np.float32)
    lowered = validate(Slices, [x, y]).lowered
    np.testing.assert_allclose(lowered(x, y), np.exp(x.astype(np.float64)), rtol=1e-6)
