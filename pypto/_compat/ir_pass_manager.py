"""``pypto.ir.pass_manager``."""

from pypto.passes import OptimizationStrategy, PassDumpLevel, PassManager

__all__ = ["OptimizationStrategy", "PassDumpLevel", "PassManager"]
