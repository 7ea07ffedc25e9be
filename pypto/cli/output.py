"""What the commands print: highlighted program text, tables and errors on a terminal, the same as plain text when piped."""

from __future__ import annotations

import sys
from typing import Any

from pypto.diagnostics import Error, InternalError, render


def console(*, stderr: bool = False) -> Any:
    """A rich console for standard output or error; it drops colour by itself when the stream is no terminal."""
    from rich.console import Console

    return Console(stderr=stderr, soft_wrap=True, highlight=False)


def show_program(text: str) -> None:
    """Print program text."""
    if sys.stdout.isatty():
        from rich.syntax import Syntax

        console().print(Syntax(text, "python", background_color="default", word_wrap=False))
    else:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")


def show_error(error: Error | InternalError) -> None:
    """Print an error to standard error, with the headline, carets and help coloured on a terminal."""
    text = render(error.diagnostic)
    if not sys.stderr.isatty():
        sys.stderr.write(text + "\n")
        return
    from rich.text import Text

    shown = Text()
    for number, line in enumerate(text.split("\n")):
        stripped = line.lstrip(" |0123456789")
        style = "bold red" if number == 0 else "red" if stripped.startswith("^") else "cyan" if "= help:" in line else ""
        shown.append(line + "\n", style=style)
    console(stderr=True).print(shown, end="")


def table(headers: list[str], rows: list[list[str]]) -> None:
    """Print rows in aligned columns."""
    if not sys.stdout.isatty():
        widths = [max(len(row[at]) for row in (headers, *rows)) for at in range(len(headers))]
        for row in (headers, *rows):
            padded = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
            sys.stdout.write("  ".join(padded).rstrip() + "\n")
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(*headers, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        made.add_row(*[Text(cell) for cell in row])
    console().print(made)
