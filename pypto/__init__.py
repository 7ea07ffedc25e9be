"""PyPTO in pure Python: kernels in, typed IR, lowering passes, exact text, and every stage executable on NumPy."""

from __future__ import annotations

from typing import Any

from pypto.diagnostics import Diagnostic, Error, InternalError, InvalidValueError, VerificationError
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.node import late

__version__ = "0.1.0"
__all__ = ["DataType", "Diagnostic", "Error", "InternalError", "VerificationError", "__version__"]

late("pypto._compat").install()


def check(condition: object, message: str) -> None:
    """Raise InvalidValueError (a ValueError) with the message unless the condition holds."""
    if not condition:
        raise InvalidValueError(message)


def internal_check(condition: object, message: str) -> None:
    """Raise InternalError with the message unless the condition holds."""
    if not condition:
        raise InternalError(message)


def internal_check_span(condition: object, message: str, span: Any) -> None:
    """Raise InternalError with the message and place unless the condition holds."""
    if not condition:
        raise InternalError(message, span)


def __getattr__(name: str) -> Any:
    if name.startswith("DT_") and name[3:] in DTYPES:
        return DTYPES[name[3:]]
    if name in ("ir", "language", "ops", "parser", "passes", "printer", "runtime", "testing"):
        return late(f"pypto.{name}")
    if name == "Backend":
        return late("pypto.passes").Backend
    raise AttributeError(f"module 'pypto' has no attribute {name!r}")


# the vocabulary: every operator is declared when the package is imported
late("pypto.ops")
