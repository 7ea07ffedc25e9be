"""barrier."""

from __future__ import annotations

from pypto.ir import scalar
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType
from pypto.ops.host_kernels.fragments import Column, Team, credit_all, pipe
from pypto.ops.host_kernels.fragments import barrier as meet
from pypto.ops.host_kernels.writer import KernelWriter, int32, to_index


def barrier(signal_type: DistributedTensorType) -> Function:
    """The kernel ``(signal)``: no rank returns before all have come. The signal is INT32, ``[NR]`` or ``[NR, 1]``."""
    w = KernelWriter()
    signal = w.window("signal", signal_type)
    team = Team(w, signal)
    with w.when(team.may_run(to_index(1))):
        cells = Column(signal)
        after = meet(w, team, cells, int32(1), "barrier")
        credit_all(w, team, cells, scalar.sub(int32(1), after))
    pipe(w, "pipe_at_end")
    return w.function("barrier")
