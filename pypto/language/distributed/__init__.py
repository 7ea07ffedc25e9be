"""The distributed part of the kernel language: ``import pypto.language.distributed as pld``."""

from pypto.ir.enums import AtomicType, NotifyOp, ReduceOp, WaitCmp
from pypto.language.annotations import CommCtx, DistributedTensor, WindowBuffer, WindowBufferType

CommCtxType = CommCtx

__all__ = [
    "AtomicType",
    "CommCtx",
    "CommCtxType",
    "DistributedTensor",
    "NotifyOp",
    "ReduceOp",
    "WaitCmp",
    "WindowBuffer",
    "WindowBufferType",
]
