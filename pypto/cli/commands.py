"""The commands. Exit codes: 0 fine, 1 the program or file has a mistake, 2 the command was given wrongly, 3 a fault of pypto itself."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

from pypto import __version__
from pypto.cli.arguments import read_argument
from pypto.cli.loading import load, split_target
from pypto.cli.output import console, show_error, show_program
from pypto.diagnostics import Error, InternalError
from pypto.ir.function import Function, Program

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_NEW = click.Path(dir_okay=False, path_type=Path)

EXIT_MISTAKE = 1
EXIT_INTERNAL = 3


def run_command_line() -> None:
    """Run the command of ``sys.argv``; errors of programs are printed, not raised."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Exit as done:
        sys.exit(done.exit_code)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(130)
    except InternalError as error:
        show_error(error)
        sys.exit(EXIT_INTERNAL)
    except Error as error:
        show_error(error)
        sys.exit(EXIT_MISTAKE)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        # the last line of defence: what escapes until here is a fault of pypto itself (OSError: of the file system)
        if not isinstance(error, OSError):
            if os.environ.get("PYPTO_TRACEBACK"):
                raise
            show_error(InternalError(f"{type(error).__name__}: {error}"))
            sys.exit(EXIT_INTERNAL)
        show_error(Error(f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", code="file"))
        sys.exit(EXIT_MISTAKE)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="pypto")
def cli() -> None:
    """Look at, run and check PyPTO programs.

    FILE is a Python file, or a printed program: a file that begins with '# pypto.program:' is read and never executed.
    FILE:NAME picks one program of a file.
    """


_text_option = click.option("--text", "as_text", is_flag=True, help="Read FILE as program text even without the header.")
_passes_option = click.option(
    "--passes", "pipeline", metavar="SPEC", help="Run these passes first, e.g. 'convert_to_ssa,simplify'."
)
_signals_option = click.option(
    "--signals", type=click.Choice(["single_shot", "credit"]), default="single_shot", help="Signal protocol of collectives."
)


@cli.command()
@click.argument("target", metavar="FILE[:NAME]")
@_passes_option
@click.option("--after", metavar="PASS", help="Run the default passes up to and including this one.")
@click.option("--concise", is_flag=True, help="Leave out the annotations of assignments.")
@click.option("--line-length", type=click.IntRange(min=20), default=200, show_default=True, help="Wrap lines beyond this.")
@click.option("--no-wrap", is_flag=True, help="One line a statement.")
@_signals_option
@_text_option
def show(
    target: str,
    pipeline: str | None,
    after: str | None,
    concise: bool,
    line_length: int,
    no_wrap: bool,
    signals: str,
    as_text: bool,
) -> None:
    """Print a program, as written or after passes."""
    from pypto.printer import python_print

    if pipeline is not None and after is not None:
        raise click.UsageError("give --passes or --after, not both")
    program = _program(target, as_text)
    if pipeline is not None or after is not None:
        program = _lower(_whole(program), pipeline, after, signals)
    show_program(python_print(program, concise=concise, format=not no_wrap, line_length=line_length))


@cli.command()
@click.argument("target", metavar="FILE[:NAME]")
@click.option("--arg", "args", multiple=True, metavar="NAME=SPEC", help="x=FP32[64,128]:normal(seed=0), x=file.npy or n=3.")
@click.option("--entry", metavar="NAME", help="The function to run.")
@_passes_option
@click.option("--after", metavar="PASS", help="Run the default passes up to and including this one first.")
@click.option("--save", type=click.Path(file_okay=False, path_type=Path), metavar="DIR", help="Write the results as .npy files.")
@click.option("--ranks", type=click.IntRange(min=1), default=1, show_default=True, help="Number of ranks.")
@click.option(
    "--schedule", metavar="HOW", help="How ranks take turns: round_robin (the default), greedy, random:SEED or replay:FILE."
)
@click.option(
    "--replay",
    type=_FILE,
    metavar="FILE",
    help="Take the turns of this schedule, on the ranks and at the stage it was saved for.",
)
@click.option("--html", "page", type=_NEW, metavar="FILE", help="Write what happens between the ranks as a picture.")
@_signals_option
@_text_option
def run(
    target: str,
    args: Sequence[str],
    entry: str | None,
    pipeline: str | None,
    after: str | None,
    save: Path | None,
    ranks: int,
    schedule: str | None,
    replay: Path | None,
    page: Path | None,
    signals: str,
    as_text: bool,
) -> None:
    """Run a program on NumPy and print its results.

    A kernel with windows runs on every rank: --arg gives all of them the same array, windows begin at zero.
    """
    from pypto.cli.exploring import picture_of_run, ranks_of
    from pypto.runtime import RunError
    from pypto.runtime import run as run_program
    from pypto.runtime.schedules import read_remarks
    from pypto.testing.meaning import copies

    program = written = _program(target, as_text)
    told: dict[str, str] = {}
    if replay is not None:
        if schedule is not None:
            raise click.UsageError("give --schedule or --replay, not both")
        told = read_remarks(str(replay))
        ranks = ranks_of(replay, ranks)
        schedule = f"replay:{replay}"
    if pipeline is not None or after is not None or told.get("stage") == "lowered":
        pipeline = pipeline or (None if after is not None else told.get("passes"))
        signals = told.get("signals", signals)
        program = _lower(_whole(program), pipeline, after, signals)
    given: dict[str, Any] = {}
    for name, value in map(read_argument, args):
        if name in given:
            raise click.UsageError(f"--arg gives {name!r} twice")
        given[name] = value
    arrays = _arguments(written, entry, given)
    given_arrays = copies(arrays)
    try:
        result, report = run_program(program, *arrays, entry=entry, ranks=ranks, schedule=schedule, report=True)
    except RunError as error:
        if page is not None and error.schedule:
            picture_of_run(page, program, given_arrays, entry=entry, ranks=ranks, turns=error.schedule)
        raise
    if page is not None:
        picture_of_run(page, program, given_arrays, entry=entry, ranks=ranks, turns=report.schedule)
    results: list[Any] = list(result) if isinstance(result, tuple) else [] if result is None else [result]  # pyright: ignore[reportUnknownArgumentType]
    _print_results(_named(results), save)


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@_passes_option
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the drawn inputs.")
@click.option("--no-run", is_flag=True, help="Leave out the runs before and after each pass.")
@click.option("--strict", is_flag=True, help="Refuse dimensions in texts that are not declared.")
@click.option(
    "--ranks",
    default="1,2,3,4,8",
    show_default=True,
    metavar="N,N,...",
    help="Numbers of ranks to run distributed programs on; those that a program's shapes do not allow are left out.",
)
@click.option(
    "--schedule",
    "schedules",
    multiple=True,
    default=("round_robin", "greedy", "random:0", "random:1"),
    show_default=True,
    metavar="HOW",
    help="How ranks take turns; may be given several times.",
)
@click.option("--explore", type=click.IntRange(min=1), metavar="N", help="Look for faults of the protocol in up to N schedules.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    metavar="S",
    help="Explore no longer than this on each number of ranks.",
)
@click.option("--save-schedule", "save", type=_NEW, metavar="FILE", help="Write the schedule of a fault, for --replay.")
@click.option("--replay", type=_FILE, metavar="FILE", help="Run under this schedule only.")
@click.option(
    "--html", "page", type=_NEW, metavar="FILE", help="Write the schedule of a fault as a picture; without one, the first run."
)
@_signals_option
@_text_option
def check(
    files: Sequence[str],
    pipeline: str | None,
    seed: int,
    no_run: bool,
    strict: bool,
    ranks: str,
    schedules: Sequence[str],
    explore: int | None,
    seconds: float | None,
    save: Path | None,
    replay: Path | None,
    page: Path | None,
    signals: str,
    as_text: bool,
) -> None:
    """Check programs: exact text and kept meaning after every pass.

    Distributed programs run on several numbers of ranks and under several schedules. Says which pass broke what; the exit code is 1 when
    anything is broken.
    """
    from pypto.cli.checking import Runs, check_program
    from pypto.cli.exploring import Explored

    counts = _rank_counts(ranks)
    runs = Runs(seed, not no_run, counts, schedules, strict)
    noted = {"stage": "lowered", "signals": signals, **({} if pipeline is None else {"passes": pipeline})}
    several = [n for n in counts if n > 1] or counts
    explored = Explored(explore, several, seed, seconds, replay, save, page, noted)
    broken = 0
    for target in files:
        path, name = split_target(target)
        try:
            loaded = load(path, as_text=as_text, strict=strict)
            chosen = loaded.programs if name is None else {name: loaded.pick(name)}
            if not chosen:
                loaded.pick(None)
        except Error as error:
            click.echo(f"broken  {target}: it cannot be read")
            sys.stdout.flush()
            show_error(error)
            broken += 1
            continue
        for label, program in chosen.items():
            inputs = None if loaded.inputs is None else _inputs_for(loaded.inputs, label, len(loaded.programs))
            passes = _passes(pipeline, None, signals)
            if explored.is_asked:
                found = _explore(f"{path}:{label}", _whole(program), passes, inputs, explored)
                if not found or replay is not None:
                    broken += not found
                    continue
            broken += not check_program(f"{path}:{label}", _whole(program), passes, inputs, runs)
    if broken:
        sys.exit(EXIT_MISTAKE)


@cli.command()
@click.argument("name", required=False)
def ops(name: str | None) -> None:
    """List the operators, or document one (tile.add, pl.add)."""
    from pypto.cli.vocabulary import list_operators, show_operator

    if name is None:
        list_operators()
    else:
        show_operator(name)


@cli.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--check", "only_check", is_flag=True, help="Write nothing; list the files that would change, and exit with 1 if any."
)
@click.option("--diff", "show_diff", is_flag=True, help="Write nothing; show what would change.")
@click.option("--line-length", type=click.IntRange(min=20), default=200, show_default=True, help="Wrap lines beyond this.")
def fmt(files: Sequence[Path], only_check: bool, show_diff: bool, line_length: int) -> None:
    """Give the kernels of files the layout of printed programs; of a directory, all of its .py files.

    Names, spellings and comments stay, so does everything around the kernels. Nothing is executed; what cannot be laid out stays as it is.
    """
    from pypto.cli.formatting import format_files

    wrong, changed = format_files(files, line_length, write=not (only_check or show_diff), show_diff=show_diff)
    if wrong or (only_check and changed):
        sys.exit(EXIT_MISTAKE)


@cli.command()
@click.argument("left", metavar="A[:NAME]")
@click.argument("right", metavar="B[:NAME]")
@_passes_option
@click.option("--after", metavar="PASS", help="Run the default passes up to and including this one on both first.")
@click.option("--strict", is_flag=True, help="Compare comments, names, memory references and the bits of floats as well.")
@_signals_option
@_text_option
def diff(left: str, right: str, pipeline: str | None, after: str | None, strict: bool, signals: str, as_text: bool) -> None:
    """Compare two programs by structure; the exit code is 0 when they are equal, 1 when they differ.

    Layout, and the names of variables, make no difference.
    """
    from pypto.cli.comparing import show_differences

    if pipeline is not None and after is not None:
        raise click.UsageError("give --passes or --after, not both")
    sides = [_program(target, as_text) for target in (left, right)]
    if pipeline is not None or after is not None:
        sides = [_lower(_whole(side), pipeline, after, signals) for side in sides]
    if type(sides[0]) is not type(sides[1]):
        sides = [_whole(side) for side in sides]
    if show_differences(sides[0], sides[1], (left, right), strict=strict):
        sys.exit(EXIT_MISTAKE)


@cli.command()
def passes() -> None:
    """List the passes in the order of the default pipeline."""
    from pypto.cli.vocabulary import list_passes

    list_passes()


def _rank_counts(text: str) -> list[int]:
    """The numbers of ``--ranks``."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise click.UsageError(f"--ranks takes numbers of ranks, such as 1,2,4; got {text!r}")
    return sorted({int(part) for part in parts})


def _program(target: str, as_text: bool) -> Program | Function:
    path, name = split_target(target)
    return load(path, as_text=as_text).pick(name)


def _whole(program: Program | Function) -> Program:
    return program if isinstance(program, Program) else Program([program], program.name, program.span)


def _passes(pipeline: str | None, after: str | None, signals: str) -> list[Any]:
    from pypto.passes import PassManager, camel_name, get_pass, parse_pipeline
    from pypto.passes.lower_composite_ops import LowerCompositeOps

    if pipeline is not None:
        return list(parse_pipeline(pipeline))
    steps = list(PassManager.get_strategy().passes)
    if signals == "credit":
        steps = [LowerCompositeOps(signals="credit") if isinstance(s, LowerCompositeOps) else s for s in steps]
    if after is None:
        return steps
    get_pass(after)
    wanted = camel_name(after)
    for at, step in enumerate(steps):
        if step.get_name() == wanted:
            return steps[: at + 1]
    raise click.UsageError(f"the pass {wanted} is not in the default pipeline; use --passes")


def _explore(label: str, program: Program, passes: Sequence[Any], inputs: Any, explored: Any) -> bool:
    from pypto.cli.exploring import explore_program

    lowered = program
    try:
        for step in passes:
            lowered = step(lowered)
    except Error as error:
        click.echo(f"broken  {label}: it cannot be lowered")
        sys.stdout.flush()
        show_error(error)
        return False
    return explore_program(label, program, lowered, inputs, explored)


def _lower(program: Program, pipeline: str | None, after: str | None, signals: str) -> Program:
    for step in _passes(pipeline, after, signals):
        program = step(program)
    return program


def _arguments(program: Program | Function, entry: str | None, given: dict[str, Any]) -> list[Any]:
    """The values of ``--arg`` in parameter order; missing Out arrays are made, other missing ones are an error."""
    from pypto.cli.parameters import order_arguments

    return order_arguments(program, entry, given)


def _inputs_for(inputs: Any, name: str, count: int) -> Any:
    """The ``inputs()`` of a file for one of its programs: a mapping by program name, or arrays when it has one program."""

    by_ranks = bool(inspect.signature(inputs).parameters)

    def make(ranks: int = 1) -> Any:
        made = inputs(ranks) if by_ranks else inputs()
        if isinstance(made, dict):
            return made.get(name)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        return made if count == 1 else None

    return make if make() is not None else None


def _named(results: list[Any]) -> list[tuple[str, Any]]:
    """Results with their names: their number, and the rank for those of a kernel that runs on every rank."""
    named: list[tuple[str, Any]] = []
    for at, value in enumerate(results):
        if isinstance(value, list):
            named += [(f"result{at}_rank{r}", v) for r, v in enumerate(cast("list[Any]", value))]
        else:
            named.append((f"result{at}", value))
    return named


def _print_results(results: list[tuple[str, Any]], save: Path | None) -> None:
    out = console()
    if not results:
        out.print("no results")
    for name, value in results:
        array = np.asarray(value)
        title = name.replace("result", "result ").replace("_", " of ").replace("rank", "rank ")
        head = f"{title}: {array.dtype.name}[{', '.join(map(str, array.shape))}]"
        numbers = array.astype(np.float64) if array.size and array.dtype.kind not in "b" else array
        if array.size > 1 and array.dtype.kind != "b":
            head += f"  min {numbers.min():.6g}  max {numbers.max():.6g}  mean {numbers.mean():.6g}"
        click.echo(head)
        click.echo(np.array2string(numbers if array.dtype.kind == "V" else array, threshold=64, edgeitems=3))
        if save is not None:
            save.mkdir(parents=True, exist_ok=True)
            np.save(save / f"{name}.npy", array)
            click.echo(f"saved {save / f'{name}.npy'}")
