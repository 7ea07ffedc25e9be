"""A composite operator of one's own, straight: tanh of a tile from exp.

Two things make it: the declaration of ``tile.tanh`` (parameters, type rule, NumPy meaning) and one rule that lowers it. Kernels use it
as ``pl.tile.tanh``; before lowering it runs by its meaning, afterwards by the operators of the rule.
"""

from collections.abc import Sequence

import numpy as np

import pypto.language as pl
from pypto import ir, passes
from pypto.ops import Kind, Lanes, Param, op
from pypto.passes import composite_rule
from pypto.passes.lower_composite_ops import LoweringBuilder

op(
    "tile.tanh",
    params=[Param("tile", Kind.TILE, doc="an FP32 tile")],
    result=lambda declaration, args, kwargs: args[0].type,
    meaning=np.tanh,
    lanes=Lanes.ELEMENTWISE,
    memory=ir.MemorySpace.Vec,
    composite=True,
    doc="Hyperbolic tangent of each element.",
)


@composite_rule("tile.tanh")
def lower_tanh(call: ir.Call, args: Sequence[ir.Expr], b: LoweringBuilder) -> ir.Expr:
    """tanh(x) = 1 - 2 / (exp(2x) + 1), with x clamped to +-15, where tanh is 1 in FP32."""
    (x,) = args
    low = b.bind("low", b.call("tile.maximums", x, ir.ConstFloat(-15.0, ir.FP32)))
    clamped = b.bind("clamped", b.call("tile.minimums", low, ir.ConstFloat(15.0, ir.FP32)))
    power = b.bind("power", b.call("tile.exp", b.muls("twice", clamped, 2.0)))
    inverse = b.bind("inverse", b.call("tile.recip", b.adds("plus_one", power, 1.0)))
    return b.call("tile.adds", b.muls("scaled", inverse, -2.0), ir.ConstFloat(1.0, ir.FP32))


@pl.program
class Activation:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, x: pl.Tensor[[32, 64], pl.FP32], out: pl.Out[pl.Tensor[[32, 64], pl.FP32]]) -> pl.Tensor[[32, 64], pl.FP32]:
        tile = pl.load(x, [0, 0], [32, 64])
        activated = pl.tile.tanh(tile)
        out = pl.store(activated, [0, 0], out)
        return out


def inputs() -> tuple[np.ndarray, ...]:
    """Values from -20 to 20, and room for the result."""
    return np.linspace(-20, 20, 32 * 64, dtype=np.float32).reshape(32, 64), np.zeros((32, 64), np.float32)


def main() -> None:
    """Show the lowered kernel and its error against float64."""
    lowered = passes.lower_composite_ops()(Activation)
    print(lowered.as_python())
    x, out = inputs()
    error = np.abs(lowered(x, out).astype(np.float64) - np.tanh(x.astype(np.float64))).max()
    print(f"\nmaximum error against float64: {error:.1e}")


if __name__ == "__main__":
    main()
