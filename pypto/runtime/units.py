"""Compiled functions by the file name of their code, for finding the statement behind a line."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

if TYPE_CHECKING:
    from pypto.runtime.compile import CompiledFunction

_UNITS: WeakValueDictionary[str, CompiledFunction] = WeakValueDictionary()


def remember_unit(filename: str, unit: CompiledFunction) -> None:
    """Make a compiled function known."""
    _UNITS[filename] = unit


def unit_of_file(filename: str) -> CompiledFunction | None:
    """The compiled function whose code has this file name."""
    return _UNITS.get(filename)
