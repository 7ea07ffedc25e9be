"""Programs from files: printed text is read and never executed, any other Python file is imported."""

from __future__ import annotations

import importlib.util
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from pypto.diagnostics import Error, as_located, did_you_mean
from pypto.ir.function import Function, Program
from pypto.parser import parse

HEADERS = ("# pypto.program:", "# pypto.function:")
"""A file whose first line begins with one of these is text to be read."""


class LoadError(Error):
    """A file or a name in it that cannot be had."""

    code = "load"


@dataclass(frozen=True)
class Loaded:
    """The programs of a file by name, and the ``inputs`` function it may define."""

    path: Path
    programs: dict[str, Program | Function]
    inputs: Callable[[], Any] | None = None

    def pick(self, name: str | None) -> Program | Function:
        """The program asked for, or the only one; a program is preferred over stand-alone functions.

        Raises:
            LoadError: there is none, or more than one.
        """
        if name is not None:
            if name not in self.programs:
                close = did_you_mean(name, list(self.programs))
                hint = f"did you mean {close!r}?" if close else f"it has {', '.join(self.programs) or 'no programs'}"
                raise LoadError(f"{self.path} has no program {name!r}", hint=hint)
            return self.programs[name]
        if not self.programs:
            raise LoadError(
                f"{self.path} defines no program", hint="decorate a class with @pl.program or a function with @pl.function"
            )
        if len(self.programs) == 1:
            return next(iter(self.programs.values()))
        whole = [p for p in self.programs.values() if isinstance(p, Program)]
        if len(whole) == 1:
            return whole[0]
        names = ", ".join(self.programs)
        raise LoadError(
            f"{self.path} defines several programs: {names}", hint=f"choose one: {self.path}:{next(iter(self.programs))}"
        )


def split_target(target: str) -> tuple[Path, str | None]:
    """``FILE`` or ``FILE:NAME``."""
    path, colon, name = target.rpartition(":")
    if colon and name.isidentifier() and not Path(target).exists():
        return Path(path), name
    return Path(target), None


def load(path: Path, *, as_text: bool = False, strict: bool = False) -> Loaded:
    """The programs of a file; ``strict`` reads a text by the grammar of the printed language.

    Raises:
        LoadError: the file does not exist, or importing it fails.
        ParserError: its text is not a program.
    """
    if not path.exists():
        raise LoadError(f"there is no file {path}")
    if path.is_dir():
        raise LoadError(f"{path} is a directory", hint="name the files in it")
    text = path.read_text(encoding="utf-8", errors="replace")
    if as_text or text.lstrip("\ufeff").startswith(HEADERS):
        program = parse(text, str(path), strict=strict)
        return Loaded(path, {program.name: program})
    module = _import(path)
    programs: dict[str, Program | Function] = {}
    seen: set[int] = set()
    for name, value in vars(module).items():
        if isinstance(value, Program | Function) and id(value) not in seen:
            seen.add(id(value))
            programs[name] = value
    inputs = getattr(module, "inputs", None)
    return Loaded(path, programs, inputs if callable(inputs) else None)


def _import(path: Path) -> ModuleType:
    name = f"pypto_file_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise LoadError(
            f"{path} is no Python file", hint="printed programs begin with '# pypto.program:'; --text reads any file as text"
        )
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except Error as error:
        error.place = error.place or as_located(_place_in(path, error))
        raise
    except SyntaxError as error:
        place = {"filename": str(path), "line": error.lineno or 1, "column": error.offset or 1}
        raise LoadError(f"{path} is not valid Python: {error.msg}", place) from error
    except (Exception, SystemExit) as error:
        what = "it exits" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"
        hint = 'put what runs it under if __name__ == "__main__":' if isinstance(error, SystemExit) else None
        raise LoadError(f"importing {path} failed: {what}", _place_in(path, error), hint=hint) from error
    finally:
        sys.path.remove(folder)
    return module


def _place_in(path: Path, error: BaseException) -> dict[str, Any] | None:
    """The line of the file that was running when an exception passed through it."""
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).resolve() == path.resolve()
    ]
    return {"filename": str(path), "line": lines[-1]} if lines else None
