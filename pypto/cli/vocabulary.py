"""``pypto ops`` and ``pypto passes``: documentation from the declarations themselves."""

from __future__ import annotations

import dataclasses
import inspect

import click

from pypto.cli.loading import LoadError
from pypto.cli.output import table
from pypto.diagnostics import did_you_mean
from pypto.ops.declare import public_name
from pypto.ops.reference import documented_ops, notes, parameter_rows, summary
from pypto.ops.vocabulary import Unified, all_paths, lookup
from pypto.passes import pass_names
from pypto.passes.registry import camel_name, get_pass


def list_operators() -> None:
    """Every operator with the first sentence of its documentation."""
    rows = [[public_name(op), summary(op)] for op in documented_ops()]
    table(["operator", "what it does"], rows)
    click.echo(f"{len(rows)} operators; 'pypto ops NAME' documents one")


def show_operator(name: str) -> None:
    """One operator: signature, documentation, parameters, effects.

    Raises:
        LoadError: there is no operator of that name.
    """
    path = name.removeprefix("pl.")
    entry = lookup(path)
    if entry is None:
        raise LoadError(f"there is no operator {name!r}", hint=_nearest(path))
    if isinstance(entry, Unified):
        click.echo(f"{entry.spelling()}\n\nOne spelling for several operators; the first operand decides:\n")
        for choice in entry.choices.values():
            click.echo(f"  {choice.spelling()}")
        entry = next(iter(entry.choices.values()))
        click.echo(f"\n{public_name(entry)}:\n")
    else:
        click.echo(f"{entry.spelling()}\n")
    click.echo(entry.doc + "\n")
    rows = [list(row) for row in parameter_rows(entry)]
    if rows:
        table(["parameter", "takes", "default", ""], rows)
    found = notes(entry)
    if found:
        click.echo("\n" + "\n".join(found))


def _nearest(path: str) -> str:
    """The spelling most like ``path``; one in another namespace when the last component is exactly that."""
    spellings = all_paths()
    leaf = path.rpartition(".")[2]
    same = [s for s in spellings if s.rpartition(".")[2] == leaf]
    close = same[0] if same else did_you_mean(path, spellings)
    return f"did you mean {close!r}?" if close else "'pypto ops' lists all"


def list_passes() -> None:
    """Every pass with its options and first sentence, in the order of the default pipeline."""
    rows: list[list[str]] = []
    for name in pass_names():
        factory = get_pass(name)
        doc = inspect.getdoc(factory) or ""
        fields = dataclasses.fields(factory) if isinstance(factory, type) and dataclasses.is_dataclass(factory) else ()
        options = ", ".join(f"{f.name}={f.default}" for f in fields)
        first = " ".join(doc.split("\n\n")[0].split())
        rows.append([name, camel_name(name), options, first.split(". ")[0].rstrip(".") + "."])
    table(["pass", "name", "options", "what it does"], rows)
