"""``pypto.pypto_core.ir``: the IR package."""

from __future__ import annotations

from typing import Any

from pypto import ir as _ir
from pypto.ir import *


def __getattr__(name: str) -> Any:
    return getattr(_ir, name)
