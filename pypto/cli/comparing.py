"""``pypto diff``: where two programs differ, in source form, marked with carets, or in colour on a terminal."""

from __future__ import annotations

import sys

import click

from pypto.cli.output import console
from pypto.ir.difference import Difference
from pypto.ir.equality import find_difference
from pypto.ir.function import Function, Program

_STYLES = {"-": "red", "+": "green"}


def show_differences(
    left: Function | Program, right: Function | Program, names: tuple[str, str], *, strict: bool = False
) -> bool:
    """Print how two programs, or two functions, differ; False when they do not.

    The first difference is shown whole. Of a program, the other functions that differ are named.
    """
    found = find_difference(left, right, strict=strict)
    if found is None:
        click.echo(f"equal   {names[0]} and {names[1]}")
        return False
    click.echo(f"differ  {names[0]} (left) and {names[1]} (right): {found.kind}")
    click.echo("")
    _show(found)
    if isinstance(left, Program) and isinstance(right, Program):
        others = _others(left, right, strict, found)
        if others:
            click.echo(f"\nalso different: {', '.join(others)}")
    return True


def _others(left: Program, right: Program, strict: bool, first: Difference) -> list[str]:
    """The functions that differ besides that of the first difference, and those that only one side has."""
    mine, theirs = ({f.name: f for f in side.functions.values()} for side in (left, right))
    named = [f"{name} (only left)" for name in mine if name not in theirs] + [
        f"{name} (only right)" for name in theirs if name not in mine
    ]
    return named + [
        name
        for name, function in mine.items()
        if name in theirs
        and f"['{name}']" not in first.path
        and find_difference(function, theirs[name], strict=strict) is not None
    ]


def _show(found: Difference) -> None:
    if not sys.stdout.isatty():
        click.echo(found.text())
        return
    from rich.text import Text

    shown = Text()
    shown.append(found.headline() + "\n\n", style="bold")
    for line in found.sides_shown():
        shown.append(line + "\n")
    shown.append(f"\nReason: {found.reason}\nKind: {found.kind}\n", style="bold")
    if found.excerpt:
        shown.append(f"\n{found.place}\n")
    for sign, text, spans in found.excerpt:
        line = Text(f"{sign} {text}\n", style=_STYLES.get(sign, ""))
        for start, end in spans:
            line.stylize("reverse", start + 2, end + 2)
        shown.append_text(line)
    console().print(shown, end="")
