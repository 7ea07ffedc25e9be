"""Host programs that stage rows, run collectives and fetch results, and what comes out of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pypto.language as pl
from pypto import ir, passes
from pypto.runtime import run

SSA = ("convert_to_ssa", "simplify", "normalize_stmt_structure", "flatten_call_expr", "normalize_return_order")
STAGES = (
    "synthesize_allreduce_signals",
    "materialize_comm_domain_scopes",
    "lower_host_tensor_collectives",
    "materialize_dist_tensor_ctx",
    "simplify",
    "materialize_runtime_scopes",
)
SCHEDULES = ("round_robin", "greedy", "random:0", "random:1")
NUMPY = {"FP32": np.float32, "FP16": np.float16, "INT32": np.int32}


def stages(program: Any, ssa: bool = False) -> dict[str, ir.Program]:
    """The program as written and after each of the host passes, with ``ssa`` also after those that come before them."""
    found = {"as written": program}
    for name in [*(SSA if ssa else ()), *STAGES]:
        program = getattr(passes, name)()(program)
        found[name] = program
    return found


def lowered(program: Any) -> ir.Program:
    """The program after the host passes."""
    return stages(program)[STAGES[-1]]


@dataclass
class Window:
    """A window: its extents, its element type, whether a row of an input fills it, whether an output's row becomes what it holds at the end,
    and whether it is passed to a function that does nothing: so that a barrier's signal has ranks."""

    shape: Sequence[int | str]
    dtype: str = "FP32"
    filled: bool = False
    fetched: bool = False
    passed: bool = False

    @property
    def extents(self) -> str:
        """The extents as they are written."""
        return f"[{', '.join(map(str, self.shape))}]"


@dataclass
class HostCase:
    """A host program: windows by name, and the lines of its collectives."""

    windows: dict[str, Window]
    body: Sequence[str]
    devices: str = "pld.world_size()"
    before: Sequence[str] = ()
    """What stands before everything else in the body: loops around it all."""
    program: Any = field(default=None, init=False)

    def text(self) -> str:
        """The program."""
        lines = [
            "import pypto.language as pl",
            "import pypto.language.distributed as pld",
            "",
            'R = pl.dynamic("R")',
            "",
            "@pl.program",
            "class P:",
        ]
        params: list[str] = []
        stage: list[str] = []
        fetch: list[str] = []
        for name, window in self.windows.items():
            plain, shared = f"{window.extents}, pl.{window.dtype}]", f"pld.DistributedTensor[{window.extents}, pl.{window.dtype}]"
            zeros = f"[{', '.join(['0'] * len(window.shape))}]"
            world = f"pl.Tensor[[R, {window.extents[1:]}, pl.{window.dtype}]"
            if window.filled:
                lines += self._moving(f"put_{name}", f"x: pl.Tensor[{plain}", f"d: pl.Out[{shared}]", "x", zeros, window.extents)
                params.append(f"x_{name}: {world}")
                stage.append(f"{name} = self.put_{name}(x_{name}[r], {name}, device=r)")
            if window.passed:
                lines += [
                    "    @pl.function(type=pl.FunctionType.Orchestration)",
                    f"    def pass_{name}(self, x: {shared}):",
                    "        return x",
                ]
                stage.append(f"self.pass_{name}({name}, device=r)")
            if window.fetched:
                lines += self._moving(f"take_{name}", f"x: {shared}", f"d: pl.Out[pl.Tensor[{plain}]", "x", zeros, window.extents)
                params.append(f"o_{name}: pl.Out[{world}]")
                fetch.append(f"self.take_{name}({name}, o_{name}[r], device=r)")
        outs = [f"o_{name}" for name, window in self.windows.items() if window.fetched]
        lines += ["    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)", f"    def host(self, {', '.join(params)}):"]
        for name, window in self.windows.items():
            lines.append(f"        {name}_buf = pld.alloc_window_buffer({window.extents}, dtype=pl.{window.dtype})")
            lines.append(f"        {name} = pld.window({name}_buf, {window.extents}, dtype=pl.{window.dtype})")
        inner = [f"for r in pl.range({self.devices}):", *[f"    {s}" for s in stage], *self.body]
        inner += [f"for r in pl.range({self.devices}):", *[f"    {s}" for s in fetch]]
        pad = "        " + "    " * len(self.before)
        lines += [f"        {'    ' * at}{line}" for at, line in enumerate(self.before)]
        lines += [f"{pad}{line}" for line in inner]
        return "\n".join([*lines, f"        return {', '.join(outs)}", ""])

    @staticmethod
    def _moving(name: str, source: str, target: str, given: str, zeros: str, shape: str) -> list[str]:
        if len(shape.split(",")) == 1:
            raise ValueError("windows that are filled or fetched have two dimensions")
        return [
            "    @pl.function(type=pl.FunctionType.InCore)",
            f"    def {name}_kernel(self, {source}, {target}):",
            f"        d = pl.store(pl.load({given}, {zeros}, {shape}), {zeros}, d)",
            "        return d",
            "    @pl.function(type=pl.FunctionType.Orchestration)",
            f"    def {name}(self, {source}, {target}):",
            f"        d = self.{name}_kernel({given}, d)",
            "        return d",
        ]

    def parsed(self) -> Any:
        """The program, read once."""
        if self.program is None:
            self.program = pl.parse(self.text())
        return self.program

    def run(self, program: Any, inputs: Sequence[Any], ranks: int, schedule: str = "round_robin", check: bool = True) -> Any:
        """Run on inputs for the filled windows; gives the fetched windows (of all ranks each) and the report."""
        given = iter(inputs)
        arrays: list[Any] = []
        outs: list[Any] = []
        for window in self.windows.values():
            if window.filled:
                arrays.append(next(given))
            if window.fetched:
                outs.append(np.zeros((ranks, *[int(e) for e in window.shape]), NUMPY[window.dtype]))
                arrays.append(outs[-1])
        _, report = run(program, *arrays, ranks=ranks, schedule=schedule, report=True, check=check)
        return outs, report


def numbers(ranks: int, *shape: int, dtype: str = "FP32", seed: int = 0) -> Any:
    """Numbers from 0.5 to 1.5, of either sign."""
    draw = np.random.default_rng(seed)
    return (draw.uniform(0.5, 1.5, (ranks, *shape)) * draw.choice([-1, 1], (ranks, *shape))).astype(NUMPY[dtype])


def idle(report: Any) -> bool:
    """True when all cells of all signals are zero."""
    return not any(np.any(cells) for of_ranks in report.signals.values() for cells in of_ranks)
