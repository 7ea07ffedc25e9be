"""Random kernels on several ranks whose protocol is right by construction: phases between barriers, and within a phase no clash.

Every rank runs the same statements. In each phase a row of a window, on whichever rank, is written by at most one rank, and then touched
by no other. Between two phases all ranks meet in a barrier, and each phase clashes with the one before it: leave out any one barrier, and
there is a race.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from random import Random

from pypto.ir.function import Program
from pypto.parser import parse

READ, WRITE, ADD = "read", "write", "add"

Touched = set[tuple[int, int, int, str]]
"""Which rank touches which row on which rank, and how: rank, owner, row, kind."""


@dataclass(frozen=True)
class Action:
    """A statement of every rank: ``lines``, and what it ``touches`` when all ranks run it."""

    lines: Sequence[str]
    touches: frozenset[tuple[int, int, int, str]]


@dataclass
class PhasedProgram:
    """A program of phases. ``without(n)`` is the one that lacks its n-th barrier."""

    ranks: int
    rows: int
    width: int
    phases: Sequence[Sequence[Action]] = field(default_factory=list[Sequence[Action]])
    counting: bool = False
    """True for barriers that count on in one row of cells, False for a fresh row of cells for each."""

    @property
    def barriers(self) -> int:
        """How many barriers it has: one between each phase and the next."""
        return len(self.phases) - 1

    @property
    def program(self) -> Program:
        """The program, read from its text."""
        return self._read(None)

    def without(self, barrier: int) -> Program:
        """The program without one of its barriers."""
        return self._read(barrier)

    def _read(self, left_out: int | None) -> Program:
        return parse(self.text(left_out))  # pyright: ignore[reportReturnType]

    def text(self, left_out: int | None = None) -> str:
        """The program's text, with or without one barrier."""
        body: list[str] = []
        done = 0
        for number, phase in enumerate(self.phases):
            for action in phase:
                body += action.lines
            if number < self.barriers and number != left_out:
                done += 1
                row, expected = (0, done) if self.counting else (number, 1)
                body += self._barrier(row, expected)
        lines = [
            "# pypto.program: Phases",
            "import pypto.language as pl",
            "import pypto.language.distributed as pld",
            "",
            "",
            "@pl.program",
            "class Phases:",
            "    @pl.function(type=pl.FunctionType.InCore)",
            "    def kernel(",
            "        self,",
            f"        data: pl.InOut[pld.DistributedTensor[[{self.rows}, {self.width}], pl.FP32]],",
            f"        signal: pl.InOut[pld.DistributedTensor[[{max(1, self.barriers)}, {self.ranks}], pl.INT32]],",
            "    ):",
            "        context = pld.get_comm_ctx(data)",
            "        me = pl.cast(pld.rank(context), pl.INDEX)",
            *["        " + line for line in body],
            "        return data",
        ]
        return "\n".join(lines) + "\n"

    def _barrier(self, row: int, expected: int) -> list[str]:
        return [
            f"for peer in pl.range({self.ranks}):",
            "    if peer != me:",
            f"        pld.system.notify(signal, peer, [{row}, me], 1, op=pld.NotifyOp.AtomicAdd)",
            f"for source in pl.range({self.ranks}):",
            "    if source != me:",
            f"        pld.system.wait(signal, [{row}, source], {expected}, cmp=pld.WaitCmp.Ge)",
        ]


class PhaseAuthor:
    """Writes such programs, from a source of random numbers."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def phased(self, most_ranks: int = 4, most_phases: int = 5) -> PhasedProgram:
        """A program of two or more phases."""
        draw = self.random
        made = PhasedProgram(
            draw.randint(2, most_ranks), draw.randint(2, 5), draw.choice((4, 8, 16)), counting=draw.random() < 0.5
        )
        phases: list[list[Action]] = []
        before: Touched = set()
        for _ in range(draw.randint(2, most_phases)):
            phase = self._phase(made, before)
            phases.append(phase)
            before = {t for action in phase for t in action.touches}
        made.phases = phases
        return made

    def _phase(self, program: PhasedProgram, before: Touched) -> list[Action]:
        """Actions that do not clash with one another, one at least with what was done before."""
        while True:
            phase: list[Action] = []
            touched: Touched = set()
            for _ in range(self.random.randint(1, 4)):
                action = self._action(program)
                if not clash(touched | action.touches, touched | action.touches):
                    phase.append(action)
                    touched |= action.touches
            if phase and (not before or clash(before, touched)):
                return phase

    def _action(self, program: PhasedProgram) -> Action:
        draw, ranks = self.random, program.ranks
        row, row_of = self._row(program)
        other, other_of = self._row(program)
        step = draw.randrange(1, ranks)
        peer = f"(me + {step}) % {ranks}"
        box = f"[1, {program.width}]"
        kind = draw.choice(("store", "add", "fetch", "put", "get", "remote_store"))
        touches: Touched = set()
        for rank in range(ranks):
            there, mine, theirs = (rank + step) % ranks, row_of(rank), other_of(rank)
            if kind == "store":
                touches.add((rank, rank, mine, WRITE))
            elif kind in ("fetch", "get"):
                touches |= {(rank, there, theirs, READ), (rank, rank, mine, WRITE)}
            elif kind == "put":
                touches |= {(rank, rank, mine, READ), (rank, there, theirs, WRITE)}
            elif kind == "remote_store":
                touches.add((rank, there, theirs, WRITE))
            else:
                touches.add((rank, there, theirs, ADD))
        tile = f"pl.tile.full([1, {program.width}], dtype=pl.FP32, value={draw.randint(1, 9)}.0)"
        lines = {
            "store": f"data = pl.store({tile}, [{row}, 0], data)",
            "fetch": f"data = pl.store(pld.remote_load(data, {peer}, [{other}, 0], {box}), [{row}, 0], data)",
            "get": f"pld.tensor.get(data, {peer}, data, [{row}, 0], [{other}, 0], {box})",
            "put": f"pld.tensor.put(data, {peer}, data, [{other}, 0], [{row}, 0], {box})",
            "remote_store": f"pld.tile.remote_store({tile}, data, {peer}, [{other}, 0])",
            "add": f"pld.tile.remote_store({tile}, data, {peer}, [{other}, 0], atomic=pld.AtomicType.Add)",
        }[kind]
        only = draw.randrange(ranks) if draw.random() < 0.25 else None
        if only is None:
            return Action([lines], frozenset(touches))
        return Action([f"if me == {only}:", f"    {lines}"], frozenset(t for t in touches if t[0] == only))

    def _row(self, program: PhasedProgram) -> tuple[str, Callable[[int], int]]:
        """A row as text, and which one it is on a rank."""
        if self.random.random() < 0.5 and program.rows >= program.ranks:
            shift, ranks = self.random.randrange(program.ranks), program.ranks
            return f"(me + {shift}) % {ranks}", lambda rank: (rank + shift) % ranks
        row = self.random.randrange(program.rows)
        return str(row), lambda _: row


def clash(one: Set[tuple[int, int, int, str]], other: Set[tuple[int, int, int, str]]) -> bool:
    """True when two ranks touch one row, at least one of them to write, and not both to add."""
    rows: dict[tuple[int, int], list[tuple[int, str]]] = {}
    for rank, owner, row, kind in other:
        rows.setdefault((owner, row), []).append((rank, kind))
    for rank, owner, row, kind in one:
        for them, what in rows.get((owner, row), ()):
            if them != rank and {kind, what} not in ({READ}, {ADD}):
                return True
    return False
