"""LowerCompositeOps: composite operators become primitive ones, each by the rule registered for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pypto.passes.lower_composite_ops.allreduce as _allreduce  # these register the rules
import pypto.passes.lower_composite_ops.barrier as _barrier
import pypto.passes.lower_composite_ops.broadcast as _broadcast
import pypto.passes.lower_composite_ops.exchange as _exchange
import pypto.passes.lower_composite_ops.reduce_scatter as _reduce_scatter
import pypto.passes.lower_composite_ops.trig as _trig
from pypto.ir.function import Function, Program
from pypto.passes.base import FunctionPass
from pypto.passes.lower_composite_ops.builder import LoweringBuilder
from pypto.passes.lower_composite_ops.lowering import lower_function
from pypto.passes.lower_composite_ops.rules import composite_ops, composite_rule, find_composite_rule, remove_composite_rule
from pypto.passes.registry import register_pass

del _allreduce, _barrier, _broadcast, _exchange, _reduce_scatter, _trig


@register_pass
@dataclass(frozen=True)
class LowerCompositeOps(FunctionPass):
    """Composite operators (sin, cos, collectives) become primitive ones; the variable that held the result keeps its identity.

    ``signals`` chooses how collectives use their signal cells: consumed by one call, or given back by every call.
    """

    signals: Literal["single_shot", "credit"] = "single_shot"

    def transform_function(self, function: Function, program: Program) -> Function:
        """The function without composite calls; the same object when it has none."""
        return lower_function(function, self.signals)


__all__ = [
    "LowerCompositeOps",
    "LoweringBuilder",
    "composite_ops",
    "composite_rule",
    "find_composite_rule",
    "remove_composite_rule",
]
