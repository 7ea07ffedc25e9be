"""``pypto.language.parser.diagnostics``: the error classes of the reader, and the renderer under its old name."""

from __future__ import annotations

from typing import Any

from pypto.diagnostics import InternalError, render
from pypto.parser.errors import *

BUG_CLASS_EXCEPTIONS = (InternalError, AssertionError)
"""Exceptions that always escape unwrapped."""


class ErrorRenderer:
    """Renders errors as text."""

    def __init__(self, use_color: bool = False) -> None:
        self.use_color = use_color

    def render(self, error: Any) -> str:
        """The text of an error; see ``pypto.diagnostics.render``."""
        return render(error.diagnostic)
