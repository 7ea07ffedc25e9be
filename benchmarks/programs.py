"""The programs that are measured: straight lines of dense tile operators."""

from __future__ import annotations

HEADER = """# pypto.program: Dense
import pypto.language as pl


@pl.program
class Dense:
    @pl.function(type=pl.FunctionType.InCore, level=pl.Level.CHIP_DIE, role=pl.Role.SubWorker)
    def kernel(x: pl.Tensor[[64, 64], pl.FP32], y: pl.Tensor[[64, 64], pl.FP32], out: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        a: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = pl.tile.load(x, [0, 0], [64, 64], [64, 64], target_memory=pl.Mem.Vec)
        b: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = pl.tile.load(y, [0, 0], [64, 64], [64, 64], target_memory=pl.Mem.Vec)
"""  # noqa: E501 - printed form

_BODY = (
    "pl.tile.add({p}, {q})",
    "pl.tile.muls({p}, 0.5)",
    "pl.tile.sub({p}, {q})",
    "pl.tile.maximum({p}, b)",
    "pl.tile.adds({p}, 0.25)",
    "pl.tile.mul({p}, a)",
    "pl.tile.exp({p})",
    "pl.tile.load(x, [0, 0], [64, 64], [64, 64], target_memory=pl.Mem.Vec)",
)


def dense_text(statements: int) -> str:
    """A program whose kernel has ``statements`` straight-line statements besides its first two loads, in printed form."""
    lines = [HEADER]
    previous, before = "b", "a"
    for n in range(statements - 2):
        call = _BODY[n % len(_BODY)].format(p=previous, q=before)
        lines.append(f"        t{n}: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = {call}\n")
        previous, before = f"t{n}", previous
    lines.append(f"        stored: pl.Tensor[[64, 64], pl.FP32] = pl.tile.store({previous}, [0, 0], out)\n")
    lines.append("        return stored\n")
    return "".join(lines)


def sines_text(count: int) -> str:
    """A kernel with ``count`` sines in a row."""
    lines = [HEADER]
    previous = "a"
    for n in range(count):
        lines.append(f"        s{n}: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = pl.tile.sin({previous})\n")
        previous = f"s{n}"
    lines.append(f"        stored: pl.Tensor[[64, 64], pl.FP32] = pl.tile.store({previous}, [0, 0], out)\n")
    lines.append("        return stored\n")
    return "".join(lines)
