"""``pypto.ir.utils``."""

from pypto.ops.declare import resolve_cast_mode

__all__ = ["resolve_cast_mode"]
