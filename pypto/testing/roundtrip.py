"""Law of exact print: what is printed reads back as the same program, and prints as the same text."""

from __future__ import annotations

import difflib

from pypto.diagnostics import Error, VerificationError
from pypto.ir.equality import assert_structural_equal
from pypto.ir.function import Function, Program
from pypto.parser import parse
from pypto.printer import python_print


class RoundtripError(VerificationError, AssertionError):
    """A program that does not survive the way through text."""

    code = "round-trip"


def assert_roundtrip(program: Program | Function, *, formats: tuple[bool, ...] = (True, False), strict: bool = False) -> None:
    """Print, read back and compare: the tree must be equal (comments and float bits included) and the text a fixed point.

    Args:
        program: what to print.
        formats: which layouts to try: wrapped lines, and one line a statement.
        strict: read by the grammar of the printed language.

    Raises:
        RoundtripError: the text cannot be read, gives another program, or prints differently the second time.
    """
    for formatted in formats:
        text = python_print(program, format=formatted)
        try:
            again = parse(text, "<printed>", strict=strict)
        except Error as error:
            raise RoundtripError(f"the printed text of {program.name!r} cannot be read back\n{error}") from error
        if type(again) is not type(program):
            raise RoundtripError(f"{type(program).__name__} {program.name!r} reads back as a {type(again).__name__}")
        try:
            assert_structural_equal(program, again, strict=True)
        except ValueError as error:
            raise RoundtripError(f"{program.name!r} reads back as another program\n{error}") from error
        second = python_print(again, format=formatted)
        if second != text:
            raise RoundtripError(f"{program.name!r} prints differently the second time\n{difference(text, second)}")


def difference(expected: str, found: str, names: tuple[str, str] = ("first", "second")) -> str:
    """Two texts as a unified diff of at most 60 lines."""
    lines = [*difflib.unified_diff(expected.splitlines(), found.splitlines(), *names, lineterm="", n=1)]
    shown = lines[:60]
    return "\n".join([*shown, *([f"... {len(lines) - 60} more lines"] if len(lines) > 60 else [])])
