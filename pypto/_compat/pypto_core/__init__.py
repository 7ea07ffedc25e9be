"""``pypto.pypto_core``."""

from pypto import DataType, InternalError, ir, passes
from pypto.ir import arith
from pypto.ir.enums import *

__all__ = ["DataType", "InternalError", "arith", "ir", "passes"]
