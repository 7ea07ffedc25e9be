"""Golden files: the printed text of a program, kept beside the test and compared byte for byte."""

from __future__ import annotations

import sys
from pathlib import Path

from pypto.diagnostics import Error
from pypto.ir.equality import find_difference
from pypto.ir.function import Function, Program
from pypto.parser import parse
from pypto.printer import python_print
from pypto.testing.roundtrip import difference

_settings = {"update": False}


def set_update(update: bool) -> None:
    """Whether :func:`assert_golden` writes files instead of comparing; the pytest option ``--update-goldens`` sets it."""
    _settings["update"] = update


def assert_golden(program: Program | Function, path: str | Path, *, update: bool | None = None) -> None:
    """Compare the printed text of a program with a golden file.

    Args:
        program: what to print.
        path: the golden file; a relative path counts from the directory of the calling file.
        update: write the file instead; by default as ``pytest --update-goldens`` says.

    Raises:
        AssertionError: the file is missing or its text differs; the message shows the difference.
    """
    path = Path(path)
    if not path.is_absolute():
        path = Path(sys._getframe(1).f_code.co_filename).resolve().parent / path
    text = python_print(program)
    if _settings["update"] if update is None else update:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + ("" if text.endswith("\n") else "\n"), encoding="utf-8")
        return
    if not path.exists():
        raise AssertionError(f"there is no golden file {path}; run pytest with --update-goldens to write it, then read it")
    golden = path.read_text(encoding="utf-8")
    if golden.rstrip("\n") == text.rstrip("\n"):
        return
    remark, report = _compared(program, golden)
    changes = difference(golden, text, (str(path), "printed now"))
    raise AssertionError(f"{path} does not match: {remark}; --update-goldens writes the new text\n{report}{changes}")


def _compared(program: Program | Function, golden: str) -> tuple[str, str]:
    """In a few words how a program and what a golden file holds differ, and the report on the first difference."""
    try:
        kept = parse(golden, "<golden>")
    except Error as error:
        return "the file cannot be read", f"{error}\n\n"
    found = find_difference(kept, program) or find_difference(kept, program, strict=True)
    if found is None:
        return "the programs are equal, only the text differs", ""
    return "the programs differ", f"left is the file, right the program\n{found.text()}\n\n"
