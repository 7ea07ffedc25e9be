"""What each rank does when a host orchestrator dispatches a collective: one kernel for each algorithm, written in ordinary operators.

A kernel is an InCore function that :func:`pypto.runtime.run` runs on any number of ranks. Its steps (barriers, fences, pushes, credits)
are scopes with names: :func:`steps` lists them, and :func:`without_step` leaves one out.
"""

from pypto.ops.host_kernels.all_to_all import all_to_all
from pypto.ops.host_kernels.all_to_all_v import all_to_all_v
from pypto.ops.host_kernels.allgather import allgather
from pypto.ops.host_kernels.allreduce_mesh import allreduce_mesh
from pypto.ops.host_kernels.allreduce_ring import allreduce_ring
from pypto.ops.host_kernels.allreduce_ring_pull import allreduce_ring_pull
from pypto.ops.host_kernels.barrier import barrier
from pypto.ops.host_kernels.broadcast import broadcast
from pypto.ops.host_kernels.reduce_scatter import reduce_scatter
from pypto.ops.host_kernels.steps import steps, without_step
from pypto.ops.host_kernels.table import HOST_KERNELS, kernel_for

__all__ = [
    "HOST_KERNELS",
    "all_to_all",
    "all_to_all_v",
    "allgather",
    "allreduce_mesh",
    "allreduce_ring",
    "allreduce_ring_pull",
    "barrier",
    "broadcast",
    "kernel_for",
    "reduce_scatter",
    "steps",
    "without_step",
]
