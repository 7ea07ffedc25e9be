"""Attention with the softmax computed on the way: scores are never stored, a running maximum and sum are carried through the loop.

Written on tiles: loads go to the matrix side (``Mat``), operands move to ``Left`` and ``Right``, products come back to the vector side.
"""

import numpy as np

import pypto.language as pl
from pypto.testing import validate

QUERIES, KEYS, DIM, BLOCK = 16, 128, 64, 32
SCALE = 0.125


@pl.program
class FlashAttention:
    @pl.function(type=pl.FunctionType.InCore)
    def attend(
        self,
        q: pl.Tensor[[QUERIES, DIM], pl.FP32],
        k: pl.Tensor[[KEYS, DIM], pl.FP32],
        v: pl.Tensor[[KEYS, DIM], pl.FP32],
        out: pl.Out[pl.Tensor[[QUERIES, DIM], pl.FP32]],
    ) -> pl.Tensor[[QUERIES, DIM], pl.FP32]:
        largest_0 = pl.tile.full([QUERIES, 1], dtype=pl.FP32, value=-1e30)
        total_0 = pl.tile.full([QUERIES, 1], dtype=pl.FP32, value=0.0)
        sum_0 = pl.tile.full([QUERIES, DIM], dtype=pl.FP32, value=0.0)
        for j, (largest, total, weighted) in pl.range(KEYS // BLOCK, init_values=(largest_0, total_0, sum_0)):
            q_mat = pl.load(q, [0, 0], [QUERIES, DIM], target_memory=pl.Mem.Mat)
            k_mat = pl.load(k, [j * BLOCK, 0], [BLOCK, DIM], target_memory=pl.Mem.Mat)
            left = pl.move(q_mat, target_memory=pl.Mem.Left)
            right = pl.move(pl.tile.transpose_view(k_mat), target_memory=pl.Mem.Right)
            scores = pl.mul(pl.move(pl.matmul(left, right), target_memory=pl.Mem.Vec), SCALE)
            # the new maximum, and what it makes of the sums so far
            scratch = pl.create_tile([QUERIES, BLOCK], dtype=pl.FP32)
            new_largest = pl.maximum(largest, pl.row_max(scores, scratch))
            weights = pl.exp(pl.row_expand_sub(scores, new_largest))
            correction = pl.exp(pl.sub(largest, new_largest))
            new_total = pl.add(pl.mul(total, correction), pl.row_sum(weights, scratch))
            v_mat = pl.load(v, [j * BLOCK, 0], [BLOCK, DIM], target_memory=pl.Mem.Mat)
            product = pl.matmul(pl.move(weights, target_memory=pl.Mem.Left), pl.move(v_mat, target_memory=pl.Mem.Right))
            new_sum = pl.add(pl.row_expand_mul(weighted, correction), pl.move(product, target_memory=pl.Mem.Vec))
            _, last_total, last_sum = pl.yield_(new_largest, new_total, new_sum)
        out = pl.store(pl.row_expand_div(last_sum, last_total), [0, 0], out)
        return out


def inputs() -> tuple[np.ndarray, ...]:
    """Random queries, keys and values, and room for the result."""
    random = np.random.default_rng(0)
    shapes = ((QUERIES, DIM), (KEYS, DIM), (KEYS, DIM))
    return (*(random.normal(size=shape).astype(np.float32) for shape in shapes), np.zeros((QUERIES, DIM), np.float32))


def reference(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The same in float64, all scores at once."""
    scores = q.astype(np.float64) @ k.T.astype(np.float64) * SCALE
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True) @ v.astype(np.float64)


def main() -> None:
    """Check every stage of the lowering, and compare the last one with float64."""
    checked = validate(FlashAttention, inputs)
    print(checked.lowered.as_python())
    q, k, v, out = inputs()
    error = np.abs(checked.lowered(q, k, v, out) - reference(q, k, v)).max()
    print(f"\n{len(checked.passes)} passes, text held {checked.roundtrips} times, meaning held {checked.meanings} times")
    print(f"maximum error against float64: {error:.1e}")


if __name__ == "__main__":
    main()
