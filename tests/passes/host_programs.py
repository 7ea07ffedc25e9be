"""Host orchestrators from a few lines, and the host passes applied to them one after another."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto import ir, passes
from pypto.ir.node import walk
from pypto.testing import assert_roundtrip

HEADER = "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n@pl.program\nclass P:\n"
WORLD = "pld.world_size()"
SSA = "convert_to_ssa,simplify,normalize_stmt_structure,flatten_call_expr,normalize_return_order"
STAGES = (
    "synthesize_allreduce_signals",
    "materialize_comm_domain_scopes",
    "lower_host_tensor_collectives",
    "materialize_dist_tensor_ctx",
    "simplify",
    "materialize_runtime_scopes",
)

Windows = Mapping[str, tuple[str, str]]
"""Windows by name: extents and element type."""

Dispatches = Sequence[tuple[str, str]]
"""Names of windows that one call takes, separated by blanks, and the arguments of the range of devices (or ``=`` and one device)."""


def text_of(
    windows: Windows, dispatches: Dispatches, body: str, *, params: str = "", chip: str = "", before: str = "", role: str = ""
) -> str:
    """The text of a program: a chip function for each dispatch, and a host orchestrator with windows, dispatches and ``body``."""
    functions: dict[str, list[str]] = {}
    host = [f"    @pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator{role})", f"    def host(self{params}):"]
    host += [f"        {line}" for line in before.splitlines()]
    for name, (extents, dtype) in windows.items():
        host.append(f"        {name}_buf = pld.alloc_window_buffer({extents}, dtype=pl.{dtype})")
        host.append(f"        {name} = pld.window({name}_buf, {extents}, dtype=pl.{dtype})")
    for names, devices in dispatches:
        taken = names.split()
        types = [f"{n}: pld.DistributedTensor[{windows[n][0]}, pl.{windows[n][1]}]" for n in taken]
        functions[f"take_{'_'.join(taken)}"] = [
            "    @pl.function(type=pl.FunctionType.Orchestration)",
            f"    def take_{'_'.join(taken)}(self, {', '.join(types)}):",
            f"        return {taken[0]}",
        ]
        call = f"self.take_{'_'.join(taken)}({', '.join(taken)}, device="
        if devices.startswith("="):
            host.append(f"        {call}{devices[1:]})")
        else:
            host += [f"        for r in pl.range({devices}):", f"            {call}r)"]
    host += [f"        {line}" for line in body.splitlines()]
    parts = [*functions.values(), host]
    return HEADER + chip + "\n".join("\n".join(part) for part in parts) + "\n"


def host_program(windows: Windows, dispatches: Dispatches, body: str, **parts: str) -> ir.Program:
    """The program of :func:`text_of`."""
    found: Any = pl.parse(text_of(windows, dispatches, body, **parts))
    return found


def through(program: ir.Program, last: str, *, ssa: bool = False, check: bool = True) -> ir.Program:
    """The program after the host passes up to and including ``last``; with ``check`` it survives the way through text after each."""
    names = [*SSA.split(","), *STAGES] if ssa else [*STAGES]
    for name in names[: names.index(last, len(SSA.split(",")) if ssa else 0) + 1]:
        program = getattr(passes, name)()(program)
        if check:
            assert_roundtrip(program, formats=(True,))
    return program


def host_of(program: ir.Program) -> ir.Function:
    """The host orchestrator."""
    found = program["host"]
    assert found is not None
    return found


def inner_statements(function: ir.Function) -> list[Any]:
    """The statements of a host orchestrator inside the scopes of its domains."""
    body = function.body
    while isinstance(body, ir.CommDomainScopeStmt):
        body = body.body
    return ir.flatten_to_stmts(body)


def domains(function: ir.Function) -> list[ir.CommDomainScopeStmt]:
    """The domains around the body, outermost first."""
    found: list[ir.CommDomainScopeStmt] = []
    body = function.body
    while isinstance(body, ir.CommDomainScopeStmt):
        found.append(body)
        body = body.body
    return found


def calls(node: Any, name: str) -> list[ir.Call]:
    """The calls of an operator or function below a node whose name matches the pattern, in order."""
    return [n for n in walk(node) if isinstance(n, ir.Call) and re.fullmatch(name, n.op.name)]


def variables(function: ir.Function, name: str) -> list[ir.Var]:
    """The variables of that name, each once, in order."""
    found: dict[ir.Var, None] = {}
    for node in walk(function.body):
        if isinstance(node, ir.Var) and node.name_hint.partition("__")[0] == name:
            found[node] = None
    return list(found)


def refused(run: Callable[[], Any], text: str, fragment: str, *words: str) -> Exception:
    """Run what must fail with a ValueError whose place is the line of ``text`` that holds ``fragment``, and whose text has the words."""
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the words follow
        run()
    error: Any = caught.value
    assert isinstance(error, pypto.Error)
    shown = str(error)
    for word in words:
        assert word in shown, shown
    lines = [at for at, line in enumerate(text.splitlines(), 1) if fragment in line]
    assert len(lines) == 1, f"{fragment!r} is on lines {lines}"
    assert error.span is not None, shown
    assert error.span["line"] == lines[0], shown
    return error
