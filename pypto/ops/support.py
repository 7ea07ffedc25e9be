"""What collectives accept, for each place where one can run and each way to run it: the one table for checks, documentation and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from pypto.ir.dtypes import DataType
from pypto.ir.enums import ReduceOp

MODES = ("mesh", "ring")
"""The ways to run an allreduce; every other collective has one way, which is called mesh too."""

MOST_RANKS = 16
"""The most ranks between which a collective of a host orchestrator runs."""


class Tier(Enum):
    """Where a collective runs: inside a kernel, or dispatched by a host orchestrator."""

    KERNEL = "kernel"
    HOST = "host"


class SignalShape(Enum):
    """The shape of the signal of a collective between NR ranks."""

    COLUMN = "[NR, 1]"
    RANKS = "[NR] or [NR, 1]"
    LANES = "[NR] for one core, [NR, k] with constant k >= core_num"
    EXACT_COLUMN = "[NR, 1] with exactly as many rows as devices"
    KERNEL_RING = "[2*(NR-1), NR]"
    RING = "[2*(NR-1)+1, NR]"

    def ring_rows(self, ranks: int) -> int | None:
        """The rows that a ring of that many ranks needs, None for what is no ring."""
        if self is SignalShape.KERNEL_RING:
            return 2 * (ranks - 1)
        return 2 * (ranks - 1) + 1 if self is SignalShape.RING else None


@dataclass(frozen=True)
class Capability:
    """One row of the table.

    ``dtypes`` and ``reductions`` are empty where any will do, and where nothing is reduced. ``most_ranks`` is None without a limit.
    ``many_cores`` says whether several cores of a rank can share the work, ``in_loops`` whether the call may be repeated by a loop,
    ``signal_optional`` whether a pass makes the signal when it is left out. ``per_rank`` are the operands that have a row, or a block of
    rows, for each rank.
    """

    signal: SignalShape
    dtypes: tuple[DataType, ...] = ()
    reductions: tuple[ReduceOp, ...] = ()
    most_ranks: int | None = None
    many_cores: bool = False
    in_loops: bool = True
    signal_optional: bool = False
    per_rank: tuple[str, ...] = ()


_FLOATS = (DataType.FP16, DataType.FP32)
_FP32 = (DataType.FP32,)
_ALL = tuple(ReduceOp)
_SUM = (ReduceOp.Sum,)
_BLOCKS = ("input", "target", "send_counts", "recv_counts")

CAPABILITIES: Mapping[tuple[str, str, Tier], Capability] = {
    ("allreduce", "mesh", Tier.KERNEL): Capability(SignalShape.COLUMN, _FLOATS, _ALL, in_loops=False),
    ("allreduce", "ring", Tier.KERNEL): Capability(SignalShape.KERNEL_RING, _FLOATS, _ALL, in_loops=False),
    ("barrier", "mesh", Tier.KERNEL): Capability(SignalShape.COLUMN),
    ("broadcast", "mesh", Tier.KERNEL): Capability(SignalShape.COLUMN),
    ("reduce_scatter", "mesh", Tier.KERNEL): Capability(SignalShape.COLUMN, (), _SUM, per_rank=("target",)),
    ("allgather", "mesh", Tier.KERNEL): Capability(SignalShape.COLUMN, per_rank=("target",)),
    ("all_to_all", "mesh", Tier.KERNEL): Capability(SignalShape.COLUMN, per_rank=("input", "target")),
    ("all_to_all_v", "mesh", Tier.KERNEL): Capability(SignalShape.COLUMN, in_loops=False, per_rank=_BLOCKS),
    ("allreduce", "mesh", Tier.HOST): Capability(SignalShape.LANES, _FLOATS, _ALL, many_cores=True, signal_optional=True),
    ("allreduce", "ring", Tier.HOST): Capability(SignalShape.RING, _FP32, _SUM, MOST_RANKS),
    ("barrier", "mesh", Tier.HOST): Capability(SignalShape.RANKS),
    ("broadcast", "mesh", Tier.HOST): Capability(SignalShape.RANKS, _FP32),
    ("reduce_scatter", "mesh", Tier.HOST): Capability(SignalShape.RANKS, _FP32, _SUM, per_rank=("target",)),
    ("allgather", "mesh", Tier.HOST): Capability(SignalShape.RANKS, _FP32, per_rank=("target",)),
    ("all_to_all", "mesh", Tier.HOST): Capability(SignalShape.RANKS, _FP32, per_rank=("input", "target")),
    ("all_to_all_v", "mesh", Tier.HOST): Capability(SignalShape.EXACT_COLUMN, _FP32, in_loops=False, per_rank=_BLOCKS),
}
"""What each collective accepts, by its name, the way it runs and where. In-kernel rows state the single-shot protocol."""


def capability(collective: str, mode: str, tier: Tier) -> Capability | None:
    """The row of a collective (the last part of its name), None when it cannot run in that way there."""
    return CAPABILITIES.get((collective, mode, tier))


@dataclass(frozen=True)
class Support:
    """What a collective accepts before anything is known of where it runs: the rows for kernels taken together."""

    dtypes: tuple[DataType, ...] = ()
    reductions: tuple[ReduceOp, ...] = ()
    modes: tuple[str, ...] = ()


def _support(rows: Sequence[tuple[str, Capability]]) -> Support:
    dtypes: dict[DataType, None] = {}
    reductions: dict[ReduceOp, None] = {}
    for _, row in rows:
        dtypes.update(dict.fromkeys(row.dtypes))
        reductions.update(dict.fromkeys(row.reductions))
    modes = tuple(mode for mode, _ in rows)
    return Support(tuple(dtypes), tuple(reductions), modes if len(modes) > 1 else ())


SUPPORT: Mapping[str, Support] = {
    name: _support([(mode, row) for (other, mode, tier), row in CAPABILITIES.items() if other == name and tier is Tier.KERNEL])
    for name in dict.fromkeys(key[0] for key in CAPABILITIES)
}
"""What the operator itself accepts, by the last part of its name."""
