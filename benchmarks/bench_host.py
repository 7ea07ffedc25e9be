"""What the host passes cost on a program of 200 dispatches, and reading its text back after each, against ``ast.parse`` of the text."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from typing import Any

import pypto.language as pl
from pypto import passes
from pypto.ir.equality import structural_equal

DISPATCHES = 200
WINDOWS = 20
TIMES_PARSE = 3.0
ROUNDS = 9

BEFORE = "convert_to_ssa,simplify,normalize_stmt_structure,flatten_call_expr,normalize_return_order"
STAGES = (
    "synthesize_allreduce_signals",
    "materialize_comm_domain_scopes",
    "lower_host_tensor_collectives",
    "materialize_dist_tensor_ctx",
    "simplify",
    "materialize_runtime_scopes",
)


def source(dispatches: int = DISPATCHES, windows: int = WINDOWS) -> str:
    """A host orchestrator that dispatches to windows in turn and reduces them, half of the time."""
    lines = [
        "import pypto.language as pl",
        "import pypto.language.distributed as pld",
        "",
        "@pl.program",
        "class P:",
        "    @pl.function(type=pl.FunctionType.Orchestration)",
        "    def chip(self, d: pld.DistributedTensor[[256], pl.FP32], s: pld.DistributedTensor[[16], pl.INT32])"
        " -> pld.DistributedTensor[[256], pl.FP32]:",
        "        return d",
        "    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)",
        "    def host(self):",
    ]
    for at in range(windows):
        lines += [
            f"        data{at} = pld.alloc_window_buffer([256], dtype=pl.FP32)",
            f"        cells{at} = pld.alloc_window_buffer([16], dtype=pl.INT32)",
            f"        d{at} = pld.window(data{at}, [256], dtype=pl.FP32)",
            f"        s{at} = pld.window(cells{at}, [16], dtype=pl.INT32)",
        ]
    for number in range(dispatches):
        at = number % windows
        lines += ["        for r in pl.range(pld.world_size()):", f"            d{at} = self.chip(d{at}, s{at}, device=r)"]
        if number % 2:
            lines.append(f"        d{at} = pld.tensor.allreduce(d{at}, s{at}, op=pld.ReduceOp.Sum)")
    return "\n".join([*lines, "        return d0", ""])


def _best(work: Callable[[], Any]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def _read_back(program: Any) -> None:
    again: Any = pl.parse(program.as_python())
    if not structural_equal(program, again, strict=True):
        raise AssertionError("a program reads back as another one")


def rows() -> list[tuple[str, float, float]]:
    """Name, measured figure and limit of each row."""
    found: list[tuple[str, float, float]] = []
    program = passes.PassManager.from_text(BEFORE).run_passes(pl.parse(source()))  # type: ignore[arg-type]
    for name in STAGES:
        made = getattr(passes, name)()
        before, program = program, made(program)
        text = program.as_python()
        parsing = _best(lambda text=text: ast.parse(text))
        passing = _best(lambda made=made, before=before: made(before))
        reading = _best(lambda program=program: _read_back(program))
        found.append((f"{name}, {DISPATCHES} dispatches / ast.parse", passing / parsing, TIMES_PARSE))
        found.append(("  its text printed, read and compared / ast.parse", reading / parsing, TIMES_PARSE))
    return found
