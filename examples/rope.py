"""Rotary position embedding, as attention layers of language models apply it to a query.

Each pair of elements (i, i + 32) of a row is rotated by an angle that grows with the position of the token and falls with i. The kernel
is written on whole tensors; the passes make it load tiles, replace sin and cos by primitive operators, and store the result.
"""

import numpy as np

import pypto.language as pl
from pypto import ir
from pypto.passes import PassManager

ROWS, DIM = 128, 64
HALF = DIM // 2


@pl.program
class Rope:
    @pl.function(type=pl.FunctionType.InCore)
    def rotate(
        self,
        query: pl.Tensor[[ROWS, DIM], pl.FP32],
        positions: pl.Tensor[[ROWS, 1], pl.FP32],
        inverse_frequencies: pl.Tensor[[1, HALF], pl.FP32],
    ) -> pl.Tensor[[ROWS, DIM], pl.FP32]:
        # the angle of each position and frequency: an outer product
        zero = pl.full([ROWS, HALF], dtype=pl.FP32, value=0.0)
        frequencies = pl.col_expand_add(zero, inverse_frequencies)
        angles = pl.row_expand_mul(frequencies, positions)
        cos = pl.cos(angles)
        sin = pl.sin(angles)
        first = pl.slice(query, [ROWS, HALF], [0, 0])
        second = pl.slice(query, [ROWS, HALF], [0, HALF])
        rotated_first = pl.sub(pl.mul(first, cos), pl.mul(second, sin))
        rotated_second = pl.add(pl.mul(second, cos), pl.mul(first, sin))
        return pl.concat(rotated_first, rotated_second)

    @pl.function(type=pl.FunctionType.Orchestration)
    def rope(
        self,
        query: pl.Tensor[[ROWS, DIM], pl.FP32],
        positions: pl.Tensor[[ROWS, 1], pl.FP32],
        inverse_frequencies: pl.Tensor[[1, HALF], pl.FP32],
    ) -> pl.Tensor[[ROWS, DIM], pl.FP32]:
        rotated = self.rotate(query, positions, inverse_frequencies)
        return rotated


def inputs() -> tuple[np.ndarray, ...]:
    """A random query, 128 positions up to 4096, and the usual frequencies 10000 ** (-2i / 64)."""
    random = np.random.default_rng(0)
    query = random.normal(size=(ROWS, DIM)).astype(np.float32)
    positions = np.linspace(0, 4096, ROWS).round().astype(np.float32).reshape(ROWS, 1)
    frequencies = (10000.0 ** (-np.arange(HALF) * 2 / DIM)).astype(np.float32).reshape(1, HALF)
    return query, positions, frequencies


def reference(query: np.ndarray, positions: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """The same in float64, on the FP32 angles that the kernel sees."""
    angles = (positions * frequencies).astype(np.float64)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = query[:, :HALF].astype(np.float64), query[:, HALF:].astype(np.float64)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=1)


def lowered() -> ir.Program:
    """The program after the default passes."""
    return PassManager.get_strategy().run_passes(Rope)


def main() -> None:
    """Show the program before and after lowering, run both, and compare with float64."""
    program, low = Rope, lowered()
    print(program.as_python())
    print()
    print(low.as_python())
    print()
    arrays = inputs()
    exact = reference(*arrays)
    for name, stage in (("as written", program), ("lowered", low)):
        error = np.abs(stage(*arrays).astype(np.float64) - exact).max()
        print(f"{name:>10}: maximum error against float64 at 128 positions up to 4096: {error:.2e}")


if __name__ == "__main__":
    main()
