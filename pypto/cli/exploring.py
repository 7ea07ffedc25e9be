"""Exploring the schedules of a program, replaying one, and pictures of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from pypto.cli.output import console, show_error
from pypto.diagnostics import Error
from pypto.ir.function import Function, Program
from pypto.runtime import RunError, entry_function
from pypto.runtime.checking import RaceError, Timeline, Verdict, explore, timeline_of_run
from pypto.runtime.checking.picture import write_page
from pypto.runtime.checking.timeline import ACCUSED, STUCK
from pypto.runtime.legal_ranks import is_distributed, legal_ranks
from pypto.runtime.schedules import read_remarks, read_schedule
from pypto.testing.meaning import Inputs, make_inputs

FEW = 200
"""How many schedules a picture looks at when no number is given."""


@dataclass(frozen=True)
class Explored:
    """What is asked of an exploration: how many schedules, on which ranks, a schedule to replay, and files to write."""

    limit: int | None = None
    ranks: Sequence[int] = (2, 3, 4)
    seed: int = 0
    seconds: float | None = None
    replay: Path | None = None
    save: Path | None = None
    page: Path | None = None
    remarks: Mapping[str, object] = field(default_factory=dict[str, object])
    """What is noted in the file of a schedule."""

    @property
    def is_asked(self) -> bool:
        """True when there is something to do."""
        return self.limit is not None or self.replay is not None or self.page is not None or self.save is not None


def explore_program(label: str, written: Program, lowered: Program, inputs: Inputs, asked: Explored) -> bool:
    """Explore a program that was lowered, on every number of ranks that its shapes allow; True when no schedule has a fault."""
    try:
        legal = legal_ranks(written, entry_function(written))
        counts = [n for n in asked.ranks if legal.allows(n)]
        if not is_distributed(lowered) or not counts:
            why = "it does nothing between ranks" if not is_distributed(lowered) else f"it takes {legal} ranks"
            click.echo(f"        {label}: not explored: {why}")
            return True
        if asked.replay is not None:
            return _replay(label, written, lowered, inputs, asked)
        for count in counts:
            arrays = make_inputs(inputs, written, seed=asked.seed, ranks=count)
            limit = FEW if asked.limit is None else asked.limit
            verdict = explore(lowered, *arrays, ranks=count, limit=limit, seconds=asked.seconds, seed=asked.seed)
            if not _tell(label, verdict, asked):
                return False
    except Error as error:
        click.echo(f"broken  {label}: exploration")
        sys.stdout.flush()
        show_error(error)
        return False
    return True


def _tell(label: str, verdict: Verdict, asked: Explored) -> bool:
    fault = verdict.fault
    if fault is None:
        click.echo(f"explored {label}: {verdict}")
        for remark in verdict.remarks:
            click.echo(f"remark  {remark}")
        if asked.page is not None:
            write_page(asked.page, f"{label}: {verdict.outcome}", verdict.first, [str(verdict)])
        return True
    click.echo(f"broken  {label}: {verdict}")
    sys.stdout.flush()
    show_error(fault.error)
    if fault.timeline is not None:
        show_timeline(fault.timeline)
    for remark in verdict.remarks:
        click.echo(f"remark  {remark}")
    if asked.save is not None:
        fault.remarks = {**fault.remarks, **asked.remarks}
        fault.save(asked.save)
        click.echo(f"saved {asked.save}: run it again with --replay {asked.save}")
    if asked.page is not None:
        write_page(asked.page, f"{label}: {verdict.outcome}", fault.timeline, [str(verdict), fault.text])
    return False


def _replay(label: str, written: Program, lowered: Program, inputs: Inputs, asked: Explored) -> bool:
    assert asked.replay is not None
    count = ranks_of(asked.replay, asked.ranks[0])
    arrays = make_inputs(inputs, written, seed=asked.seed, ranks=count)
    timeline, error = timeline_of_run(lowered, *arrays, ranks=count, turns=read_schedule(str(asked.replay)))
    if asked.page is not None:
        write_page(asked.page, f"{label}: {asked.replay}", timeline, [] if error is None else [str(error)])
    if error is None:
        click.echo(f"replayed {label}: no fault on {count} ranks under {asked.replay}")
        return True
    click.echo(
        f"broken  {label}: {'a race' if isinstance(error, RaceError) else error.code} on {count} ranks under {asked.replay}"
    )
    sys.stdout.flush()
    show_error(error)
    if timeline is not None:
        show_timeline(timeline)
    return False


def ranks_of(replay: Path, otherwise: int) -> int:
    """The number of ranks that a schedule is for, as far as its file says."""
    told = read_remarks(str(replay)).get("ranks", "")
    return int(told) if told.isdecimal() and int(told) > 0 else otherwise


def picture_of_run(
    path: Path, program: Program | Function, arrays: Sequence[Any], *, entry: str | None, ranks: int, turns: Sequence[int]
) -> None:
    """Write the page of a run that has taken these turns.

    Raises:
        RunError: the program does nothing between ranks.
    """
    if not is_distributed(program):
        raise RunError(f"{program.name!r} does nothing between ranks, so there is nothing to picture")
    timeline, error = timeline_of_run(program, *arrays, ranks=ranks, turns=turns, entry=entry)
    write_page(path, f"{program.name} on {ranks} ranks", timeline, [] if error is None else [str(error)])
    click.echo(f"saved {path}")


def show_timeline(timeline: Timeline) -> None:
    """Print a timeline: as a table on a terminal, else as plain text."""
    if not sys.stdout.isatty():
        click.echo(timeline.text(120))
        return
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = f"lines of {timeline.file}" if timeline.file else None
    table = Table("", *[f"rank {r}" for r in range(timeline.ranks)], box=box.SIMPLE_HEAD, title=title, pad_edge=False)
    for number, row in enumerate(timeline.rows, 1):
        style = "bold red" if row.mark == ACCUSED else "yellow" if row.mark == STUCK else ""
        cells = [Text() for _ in range(timeline.ranks)]
        cells[row.rank] = Text(timeline.shown(row), style=style)
        table.add_row(Text(str(number), style="dim"), *cells)
    console().print(table)
