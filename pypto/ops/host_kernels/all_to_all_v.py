"""all_to_all_v."""

from __future__ import annotations

from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import NotifyOp, ParamDirection
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import Team, closing_push_barrier, pipe
from pypto.ops.host_kernels.tiles import element_type, flat, new_stage, push, size_of, tile_width, window_type
from pypto.ops.host_kernels.writer import KernelWriter, as_index, as_int32, to_index


def all_to_all_v(
    input_type: DistributedTensorType,
    target_type: DistributedTensorType,
    signal_type: DistributedTensorType,
    send_counts_type: DistributedTensorType,
    recv_counts_type: DistributedTensorType,
    *,
    dtype: DataType | None = None,
) -> Function:
    """The kernel ``(input, target, signal, send_counts, recv_counts)``: like all_to_all in blocks of ``target rows / NR`` rows.

    Whole blocks travel; ``recv_counts`` says how many rows of each are of use: what the sender's ``send_counts`` says, at most the
    rows of a block.

    Args:
        input_type: ``[NR * rows, n]``.
        target_type: ``[NR * rows, n]``.
        signal_type: INT32, ``[NR, 1]``.
        send_counts_type: INT32, ``[NR]`` or ``[NR, 1]``.
        recv_counts_type: INT32, ``[NR, 1]``.
        dtype: the element type of the data; taken from their types when omitted.

    Raises:
        InvalidValueError: ``dtype`` is not that of ``target``.
    """
    element = element_type(target_type, dtype)
    w = KernelWriter()
    source = w.window("input", input_type, ParamDirection.In)
    target, signal = w.window("target", target_type), w.window("signal", signal_type)
    send_counts = w.window("send_counts", send_counts_type, ParamDirection.In)
    recv_counts = w.window("recv_counts", recv_counts_type)
    team = Team(w, target)
    rows, columns = window_type(target).shape
    width = tile_width(columns)
    with w.when(team.may_run(size_of(target))):
        most = w.bind("most_rows", scalar.floordiv(rows, team.ranks))
        block = w.bind("block_size", scalar.mul(most, columns))
        stage = new_stage(w, element, width)
        source_row, target_row = flat(w, source, "source_row"), flat(w, target, "target_row")
        with w.each("receiver", 0, team.ranks) as receiver:
            cell = [receiver] if len(send_counts_type.shape) == 1 else [receiver, 0]
            count = w.bind("count", w.call("tensor.read", send_counts, cell))
            used = w.bind("used_rows", scalar.min_(as_index(count), most))
            with w.step("publish_count"):
                place = [team.me] if len(recv_counts_type.shape) == 1 else [team.me, 0]
                w.do("pld.system.notify", recv_counts, receiver, place, as_int32(used), op=NotifyOp.Set)
            with w.each("base", 0, block, width) as base:
                valid = scalar.min_(to_index(width), scalar.sub(block, base))
                to = scalar.add(scalar.mul(team.me, block), base)
                from_ = scalar.add(scalar.mul(receiver, block), base)
                push(w, "push", target_row, receiver, source_row, stage, [0, to], [0, from_], valid)
        closing_push_barrier(w, team, signal)
    pipe(w, "pipe_at_end")
    return w.function(f"all_to_all_v__{element.name.lower()}")
