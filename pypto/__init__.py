"""PyPTO in pure Python: kernels in, typed IR, lowering passes, exact text, and every stage executable on NumPy."""

from pypto.diagnostics import Diagnostic, Error, InternalError, VerificationError
from pypto.ir.dtypes import DataType

__version__ = "0.1.0"
__all__ = ["DataType", "Diagnostic", "Error", "InternalError", "VerificationError", "__version__"]
