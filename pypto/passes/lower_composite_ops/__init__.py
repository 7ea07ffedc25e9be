"""LowerCompositeOps: composite operators become primitive ones, each by the rule registered for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pypto.passes.lower_composite_ops.all_to_all as _all_to_all  # these register the rules
import pypto.passes.lower_composite_ops.all_to_all_v as _all_to_all_v
import pypto.passes.lower_composite_ops.allgather as _allgather
import pypto.passes.lower_composite_ops.allreduce as _allreduce
import pypto.passes.lower_composite_ops.barrier as _barrier
import pypto.passes.lower_composite_ops.broadcast as _broadcast
import pypto.passes.lower_composite_ops.reduce_scatter as _reduce_scatter
import pypto.passes.lower_composite_ops.trig as _trig
from pypto.diagnostics import InvalidValueError
from pypto.ir.function import Function, Program
from pypto.passes.base import FunctionPass
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.lowering import lower_function
from pypto.passes.lower_composite_ops.rules import composite_ops, composite_rule, find_composite_rule, remove_composite_rule
from pypto.passes.lower_composite_ops.signals import Signals
from pypto.passes.registry import register_pass

del _all_to_all, _all_to_all_v, _allgather, _allreduce, _barrier, _broadcast, _reduce_scatter, _trig


@register_pass
@dataclass(frozen=True)
class LowerCompositeOps(FunctionPass):
    """Composite operators (sin, cos, collectives) become primitive ones; the variable that held the result keeps its identity.

    ``signals`` chooses how collectives use their signal cells: consumed by one call, or given back by every call.
    """

    signals: Literal["single_shot", "credit"] = "single_shot"

    def __post_init__(self) -> None:
        if self.signals not in (known := [s.value for s in Signals]):
            wanted = " or ".join(map(repr, known))
            raise InvalidValueError(f"LowerCompositeOps takes {wanted} as 'signals', got {self.signals!r}")

    def transform_function(self, function: Function, program: Program) -> Function:
        """The function without composite calls; the same object when it has none."""
        return lower_function(function, Signals(self.signals))


__all__ = [
    "LowerCompositeOps",
    "LoweringBuilder",
    "Signals",
    "composite_ops",
    "composite_rule",
    "find_composite_rule",
    "remove_composite_rule",
]
