"""The distributed part of the kernel language: ``import pypto.language.distributed as pld``.

Enumerations, types for annotations, and operators: ``pld.tensor``, ``pld.tile`` and ``pld.system``, with short forms for the most common.
"""

from __future__ import annotations

from typing import Any

from pypto.diagnostics import did_you_mean as _did_you_mean
from pypto.ir.enums import AtomicType, NotifyOp, ReduceOp, WaitCmp
from pypto.language.annotations import CommCtx, DistributedTensor, WindowBuffer, WindowBufferType
from pypto.language.control import comm_domain
from pypto.language.operators import Namespace as _Namespace
from pypto.language.operators import operator as _operator

CommCtxType = CommCtx
tensor = _Namespace("pld.tensor")
tile = _Namespace("pld.tile")
system = _Namespace("pld.system")

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
    "comm_domain",
    "system",
    "tensor",
    "tile",
]


def __getattr__(name: str) -> Any:
    if not name.startswith("__"):
        found = _operator(f"pld.{name}")
        if found is not None:
            globals()[name] = found
            return found
    close = _did_you_mean(name, __dir__())
    hint = f"; did you mean {close!r}?" if close else ""
    raise AttributeError(f"module 'pypto.language.distributed' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    from pypto.ops.vocabulary import names

    return sorted({*__all__, *names("pld")})
