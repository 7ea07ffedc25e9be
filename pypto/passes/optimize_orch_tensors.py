"""OptimizeOrchTensors: rewrites of tensors that orchestration passes between calls."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.function import Program
from pypto.passes.base import Pass
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class OptimizeOrchTensors(Pass):
    """Rewrites tensors that orchestration passes between kernels; it knows no pattern yet, so programs come back unchanged."""

    REQUIRED = (IRProperty.SplitIncoreOrch, IRProperty.IncoreTileOps)
    PRODUCED = (IRProperty.SplitIncoreOrch, IRProperty.IncoreTileOps)

    def transform(self, program: Program) -> Program:
        """The same program."""
        return program
