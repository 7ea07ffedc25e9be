"""Which kernel carries out which dispatch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.diagnostics import InvalidTypeError, InvalidValueError, did_you_mean
from pypto.ir.expr import ConstInt
from pypto.ir.function import Function
from pypto.ir.types import DistributedTensorType, Type
from pypto.ops.host_kernels.all_to_all import all_to_all
from pypto.ops.host_kernels.all_to_all_v import all_to_all_v
from pypto.ops.host_kernels.allgather import allgather
from pypto.ops.host_kernels.allreduce_mesh import allreduce_mesh
from pypto.ops.host_kernels.allreduce_ring import allreduce_ring
from pypto.ops.host_kernels.barrier import barrier
from pypto.ops.host_kernels.broadcast import broadcast
from pypto.ops.host_kernels.reduce_scatter import reduce_scatter

HOST_KERNELS: Mapping[str, Callable[..., Function]] = {
    "builtin.tensor.allreduce": allreduce_mesh,
    "builtin.tensor.allreduce_ring": allreduce_ring,
    "builtin.tensor.barrier": barrier,
    "builtin.tensor.broadcast": broadcast,
    "builtin.tensor.reduce_scatter": reduce_scatter,
    "builtin.tensor.allgather": allgather,
    "builtin.tensor.all_to_all": all_to_all,
    "builtin.tensor.all_to_all_v": all_to_all_v,
}
"""For each dispatch what writes its kernel, from the types of the operands and the keywords of the call."""

_KNOWN: dict[tuple[Any, ...], Function] = {}
_MOST_KNOWN = 1024


def kernel_for(op_name: str, arg_types: Sequence[Type], kwargs: Mapping[str, Any]) -> Function:
    """The kernel that a dispatch runs on its rank; equal dispatches have one kernel.

    Args:
        op_name: the name of the dispatch, ``builtin.tensor.*``.
        arg_types: the types of its operands, distributed tensors. Extents that are no constants are found out when the kernel is called.
        kwargs: its keywords.

    Returns:
        An InCore function whose parameters are the operands, and for ``builtin.tensor.allreduce`` the scalars ``block`` and ``block_num``
        after them.

    Raises:
        InvalidValueError: there is no such dispatch, or the kernel does not exist for these types and keywords.
        InvalidTypeError: an operand is no distributed tensor.
    """
    build = HOST_KERNELS.get(op_name)
    if build is None:
        close = did_you_mean(op_name, list(HOST_KERNELS))
        raise InvalidValueError(f"{op_name} has no host kernel", hint=f"did you mean {close!r}?" if close else None)
    windows: list[DistributedTensorType] = []
    for type_ in arg_types:
        if not isinstance(type_, DistributedTensorType):
            raise InvalidTypeError(f"{op_name} works on distributed tensors, got {type_!r}")
        windows.append(type_)
    shapes = [(w.dtype, *[d.value if isinstance(d, ConstInt) else None for d in w.shape]) for w in windows]
    key = (op_name, *shapes, *sorted(kwargs.items()))
    known = _KNOWN.get(key)
    if known is None:
        if len(_KNOWN) >= _MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[key] = build(*windows, **kwargs)
    return known
