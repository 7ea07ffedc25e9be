"""ConvertToSSA: every variable is assigned once, and every use is dominated by its definition."""

from pypto.passes.convert_to_ssa.convert import ConvertToSSA

__all__ = ["ConvertToSSA"]
