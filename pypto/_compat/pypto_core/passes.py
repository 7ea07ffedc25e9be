"""``pypto.pypto_core.passes``: the passes package."""

from __future__ import annotations

from typing import Any

from pypto import passes as _passes


def __getattr__(name: str) -> Any:
    return getattr(_passes, name)
