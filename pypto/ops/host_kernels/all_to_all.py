"""all_to_all."""

from __future__ import annotations

from pypto.ir.dtypes import DataType
from pypto.ir.enums import ParamDirection
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import Team, closing_push_barrier, pipe
from pypto.ops.host_kernels.tiles import element_type, extent, new_stage, push, tile_width, window_type
from pypto.ops.host_kernels.writer import KernelWriter


def all_to_all(
    input_type: DistributedTensorType,
    target_type: DistributedTensorType,
    signal_type: DistributedTensorType,
    *,
    dtype: DataType | None = None,
) -> Function:
    """The kernel ``(input, target, signal)``: row s of rank r's ``target`` becomes row r of rank s's ``input``.

    Nobody asks before it pushes: what stands in ``target`` must have been read before any rank comes here.

    Args:
        input_type: ``[NR, n]``.
        target_type: ``[NR, n]``.
        signal_type: INT32, ``[NR]`` or ``[NR, 1]``.
        dtype: the element type of the data; taken from their types when omitted.

    Raises:
        InvalidValueError: ``dtype`` is not that of ``target``.
    """
    element = element_type(target_type, dtype)
    w = KernelWriter()
    source = w.window("input", input_type, ParamDirection.In)
    target, signal = w.window("target", target_type), w.window("signal", signal_type)
    team = Team(w, target)
    columns = window_type(target).shape[-1]
    width = tile_width(columns)
    with w.when(team.may_run(columns)):
        stage = new_stage(w, element, width)
        with w.each("receiver", 0, team.ranks) as receiver, w.each("column", 0, columns, width) as column:
            valid = extent(columns, column, width)
            push(w, "push", target, receiver, source, stage, [team.me, column], [receiver, column], valid)
        closing_push_barrier(w, team, signal)
    pipe(w, "pipe_at_end")
    return w.function(f"all_to_all__{element.name.lower()}")
