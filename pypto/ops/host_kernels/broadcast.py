"""broadcast."""

from __future__ import annotations

from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import Column, Team, barrier, credit_all, pipe
from pypto.ops.host_kernels.tiles import TILE, element_type, extent, flat, load_peer, new_stage, size_of, store, tile_width
from pypto.ops.host_kernels.writer import KernelWriter, int32, to_index


def broadcast(
    target_type: DistributedTensorType,
    signal_type: DistributedTensorType,
    *,
    root: int = 0,
    dtype: DataType | None = None,
) -> Function:
    """The kernel ``(target, signal)``: ``target`` becomes the root's.

    When a rank returns, others may still be reading the root's last tile: who writes the root's window next must meet them first. The root
    itself only passes its tiles through its own engines, as a copy onto itself, so that broadcasts may follow one another.

    Args:
        target_type: of any shape.
        signal_type: INT32, ``[NR]`` or ``[NR, 1]``.
        root: the rank whose data all get.
        dtype: the element type of ``target``; taken from its type when omitted.

    Raises:
        InvalidValueError: ``dtype`` is not that of ``target``.
    """
    element = element_type(target_type, dtype)
    w = KernelWriter()
    target, signal = w.window("target", target_type), w.window("signal", signal_type)
    team = Team(w, target)
    size = size_of(target)
    with w.when(team.may_run(size)):
        row = flat(w, target, "row")
        cells = Column(signal)
        stage = new_stage(w, element, tile_width(size))
        with w.fold("base", 0, size, TILE, "generation", int32(1)) as tiles:
            at = [0, tiles.index]
            valid = extent(size, tiles.index)
            with w.when(scalar.eq(team.me, to_index(root))), w.step("pass_through"):
                w.do("pld.tile.put", row, to_index(root), row, stage, at, at, [1, valid])
            pipe(w, "pipe_before_barrier")
            tiles.hand_on(barrier(w, team, cells, tiles.value, "tile_barrier"))
            pipe(w, "pipe_after_barrier")
            with w.when(scalar.ne(team.me, to_index(root))), w.step("copy_from_root"):
                store(w, load_peer(w, "theirs", row, to_index(root), at, valid), row, at, valid)
        credit_all(w, team, cells, scalar.sub(int32(1), tiles.result))
    pipe(w, "pipe_at_end")
    return w.function(f"broadcast__{element.name.lower()}")
