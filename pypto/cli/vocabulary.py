"""``pypto ops`` and ``pypto passes``: documentation from the declarations themselves."""

from __future__ import annotations

import dataclasses

import click

from pypto.cli.loading import LoadError
from pypto.cli.output import table
from pypto.diagnostics import did_you_mean
from pypto.ir.enums import ArgEffect
from pypto.ir.op import declared_ops
from pypto.ops.declare import Declaration, Kind, public_name
from pypto.ops.vocabulary import Unified, all_paths, lookup
from pypto.passes import pass_names
from pypto.passes.registry import camel_name, get_pass


def list_operators() -> None:
    """Every operator with the first sentence of its documentation."""
    rows = [
        [public_name(op), op.doc.split(". ")[0].rstrip(".") + "."]
        for op in declared_ops()
        if isinstance(op, Declaration) and not op.internal_only
    ]
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
        close = did_you_mean(path, all_paths())
        raise LoadError(f"there is no operator {name!r}", hint=f"did you mean {close!r}?" if close else "'pypto ops' lists all")
    if isinstance(entry, Unified):
        click.echo(f"{entry.spelling()}\n\nOne spelling for several operators; the first operand decides:")
        for choice in entry.choices.values():
            click.echo(f"  {choice.spelling()}")
        entry = next(iter(entry.choices.values()))
        click.echo("")
    else:
        click.echo(f"{entry.spelling()}\n")
    click.echo(entry.doc + "\n")
    rows = [[p.name, _accepts(p.kind, p.enum), _default(entry, p.name), p.doc] for p in entry.params]
    if rows:
        table(["parameter", "takes", "default", ""], rows)
    _facts(entry)


def _accepts(kind: Kind, enum: type | None) -> str:
    return enum.__name__ if enum is not None else kind.value


def _default(declaration: Declaration, name: str) -> str:
    param = declaration.params[declaration.param_index[name]]
    if param.required:
        return "required"
    if param.same_as is not None:
        return f"same as {param.same_as}"
    return "-" if param.default is None else getattr(param.default, "name", repr(param.default))


def _facts(declaration: Declaration) -> None:
    effects = [
        f"{p.name} ({'written' if effect is ArgEffect.Write else 'read and written'})"
        for at, p in enumerate(declaration.operand_params)
        if (effect := declaration.arg_effect(at)) in (ArgEffect.Write, ArgEffect.ReadWrite)
    ]
    if effects:
        click.echo(f"writes: {', '.join(effects)}")
    if declaration.alias:
        click.echo(f"the result is {declaration.alias!r} itself")
    if declaration.composite:
        click.echo("composite: LowerCompositeOps replaces it by primitive operators")
    if declaration.hardware_only:
        click.echo("hardware only: it cannot be run here")


def list_passes() -> None:
    """Every pass with its options and first sentence, in the order of the default pipeline."""
    rows: list[list[str]] = []
    for name in pass_names():
        factory = get_pass(name)
        fields = dataclasses.fields(factory) if isinstance(factory, type) and dataclasses.is_dataclass(factory) else ()
        options = ", ".join(f"{f.name}={f.default}" for f in fields)
        summary = " ".join(str(factory.__doc__ or "").split("\n\n")[0].split())
        rows.append([name, camel_name(name), options, summary.split(". ")[0].rstrip(".") + "."])
    table(["pass", "name", "options", "what it does"], rows)
