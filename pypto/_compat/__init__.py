"""Older module paths that existing programs and tests import: ``pypto.pypto_core.*``, ``pypto.language.parser.*``, ``pypto.ir.printer`` ...

The modules here only re-export. A finder maps the old names to them, so nothing is imported before somebody asks.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

_HERE = Path(__file__).parent

ALIASES: dict[str, str] = {
    "pypto.pypto_core": "pypto_core/__init__.py",
    "pypto.pypto_core.ir": "pypto_core/ir.py",
    "pypto.pypto_core.passes": "pypto_core/passes.py",
    "pypto.pypto_core.arith": "pypto_core/arith.py",
    "pypto.ir.printer": "ir_printer.py",
    "pypto.ir.utils": "ir_utils.py",
    "pypto.ir.pass_manager": "ir_pass_manager.py",
    "pypto.language.parser": "language_parser/__init__.py",
    "pypto.language.parser.diagnostics": "language_parser/diagnostics.py",
    "pypto.language.parser.text_parser": "language_parser/text_parser.py",
}
"""Old module name -> file in this folder."""


class AliasFinder(MetaPathFinder):
    """Finds the modules of :data:`ALIASES`."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The spec of an old name, None for every other name."""
        file = ALIASES.get(fullname)
        if file is None:
            return None
        location = _HERE / file
        package = [str(location.parent)] if location.name == "__init__.py" else None
        return spec_from_file_location(fullname, location, submodule_search_locations=package)


def install() -> None:
    """Make the old names importable."""
    if not any(isinstance(finder, AliasFinder) for finder in sys.meta_path):
        sys.meta_path.append(AliasFinder())
