"""A composite operator of one's own, with a loop: x ** n for a number n known only when the kernel runs.

The rule uses the builder's structured control flow: ``fold`` makes a loop that carries a value.
"""

from collections.abc import Sequence

import numpy as np

import pypto.language as pl
from pypto import ir, passes
from pypto.ops import Kind, Lanes, Param, op
from pypto.passes import composite_rule
from pypto.passes.lower_composite_ops import LoweringBuilder

op(
    "tile.power",
    params=[Param("tile", Kind.TILE, doc="an FP32 tile"), Param("exponent", Kind.SCALAR, doc="an INDEX, at least 0")],
    result=lambda declaration, args, kwargs: args[0].type,
    meaning=lambda tile, exponent: np.power(tile, np.float32(exponent)),
    lanes=Lanes.ELEMENTWISE,
    memory=ir.MemorySpace.Vec,
    composite=True,
    doc="Each element to a whole power.",
)


@composite_rule("tile.power")
def lower_power(call: ir.Call, args: Sequence[ir.Expr], b: LoweringBuilder) -> ir.Expr:
    """Multiply ``exponent`` times, beginning with ones: ``0 * x + 1`` has the shape of the tile."""
    x, exponent = args
    ones = b.adds("ones", b.muls("zeros", x, 0.0), 1.0)
    return b.fold("times", 0, exponent, 1, ones, lambda inner, times, product: inner.mul("next", product, x))


@pl.program
class Polynomial:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[16, 64], pl.FP32],
        n: pl.Scalar[pl.INDEX],
        out: pl.Out[pl.Tensor[[16, 64], pl.FP32]],
    ) -> pl.Tensor[[16, 64], pl.FP32]:
        tile = pl.load(x, [0, 0], [16, 64])
        raised = pl.tile.power(tile, n)
        out = pl.store(raised, [0, 0], out)
        return out


def inputs() -> tuple[object, ...]:
    """Values from -1.5 to 1.5, the exponent 5, and room for the result."""
    return np.linspace(-1.5, 1.5, 16 * 64, dtype=np.float32).reshape(16, 64), 5, np.zeros((16, 64), np.float32)


def main() -> None:
    """Show the lowered kernel and its error against float64."""
    lowered = passes.lower_composite_ops()(Polynomial)
    print(lowered.as_python())
    x, n, out = inputs()
    error = np.abs(lowered(x, n, out).astype(np.float64) - np.power(x.astype(np.float64), n)).max()
    print(f"\nmaximum error against float64: {error:.1e}")


if __name__ == "__main__":
    main()
