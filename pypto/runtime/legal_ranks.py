"""How many ranks a program can run on, as its static shapes and device lists say."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.expr import Call, Expr, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, CommDomainScopeStmt, ForStmt
from pypto.ir.types import DistributedTensorType, TensorType
from pypto.ops.builtin import HOST_FORMS
from pypto.ops.declare import Declaration
from pypto.ops.params import RankCount
from pypto.ops.region import constant, entries
from pypto.ops.support import MODES
from pypto.runtime.domains import HostDomains


def is_distributed(program: Program | Function) -> bool:
    """True when a program has a host orchestrator, windows or anything that reaches other ranks."""
    return any(_is_distributed(f) for f in _functions(program))


def _functions(program: Program | Function) -> list[Function]:
    return list(program.functions.values()) if isinstance(program, Program) else [program]


def legal_ranks(program: Program | Function, entry: Function) -> RankCount:
    """The numbers of ranks that ``entry`` can run on; 1 alone for a program that has nothing distributed.

    Collectives and signals limit it by their shapes, dispatches by the devices they name, a host orchestrator's own tensors by how many
    rows they have for the loop over all devices. What only runs on listed devices says nothing of the others.
    """
    if not is_distributed(program):
        return RankCount(1, 1)
    legal = RankCount()
    domains = HostDomains(program, entry) if isinstance(program, Program) and entry.is_host_orchestrator else None
    for function in _functions(program):
        if domains is not None and function is entry:
            legal = legal.both(_collectives(entry, domains))
        elif domains is None or function.name in domains.everywhere:
            for node in walk(function.body):
                if isinstance(node, Call) and isinstance(node.op, Declaration) and node.op.ranks is not None:
                    legal = legal.both(node.op.ranks(node.args, node.kwargs))
    return legal.both(_dispatches(entry)) if entry.is_host_orchestrator else legal


def _collectives(host: Function, domains: HostDomains) -> RankCount:
    """What the collectives of a host orchestrator between all ranks ask for, before and after they are dispatches."""
    legal = RankCount()
    for node in walk(host.body):
        if not isinstance(node, Call) or not isinstance(node.op, Declaration) or node.op.ranks is None:
            continue
        if domains.devices(node) is None:
            form = HOST_FORMS.get(node.op.name, {}).get(str(node.kwargs.get("mode", MODES[0])), node.op)
            legal = legal.both(form.ranks(node.args, node.kwargs) if form.ranks is not None else RankCount())
    return legal


def _is_distributed(function: Function) -> bool:
    if function.is_host_orchestrator:
        return True
    if any(isinstance(p.type, DistributedTensorType) for p in function.params):
        return True
    return any(isinstance(n, Call) and isinstance(n.op, Declaration) and n.op.communicates for n in walk(function.body))


def rank_dimensions(entry: Function) -> set[Expr]:
    """The dynamic dimensions of a host orchestrator's parameters that are the number of ranks: of which each rank takes its row."""
    if not entry.is_host_orchestrator:
        return set[Expr]()
    over_all = _loops(entry)[1]
    dimensions = _dimensions(entry)
    found: set[Expr] = set()
    for node in walk(entry.body):
        if isinstance(node, ForStmt) and node.loop_var in over_all and node.stop in dimensions:
            found.add(node.stop)
        if isinstance(node, Call):
            rows = _row_of(entry, node, over_all)
            if isinstance(rows, Var):
                found.add(rows)
    return found


def _loops(host: Function) -> tuple[dict[Var, ForStmt], set[Var]]:
    """The loops of a host orchestrator by their variable, and the variables that run over all ranks."""
    loops: dict[Var, ForStmt] = {}
    values: dict[Var, Expr] = {}
    devices: set[Var] = set()
    for node in walk(host.body):
        if isinstance(node, ForStmt):
            loops[node.loop_var] = node
        elif isinstance(node, AssignStmt):
            values[node.var] = node.value
        elif isinstance(node, Call | Submit) and isinstance(device := node.attrs.get("device"), Var):
            devices.add(device)
    over_all = {v for v, loop in loops.items() if _is_world_size(loop.stop, values)}
    dimensions = _dimensions(host)
    return loops, over_all | {v for v in devices if v in loops and loops[v].stop in dimensions}


def _dimensions(host: Function) -> set[Expr]:
    """The dynamic dimensions of a function's parameters."""
    return {d for p in host.params for d in getattr(p.type, "shape", ()) if isinstance(d, Var)}


def _dispatches(host: Function) -> RankCount:
    """What the devices of a host orchestrator ask for: its constant devices must exist, its loops over all of them fit its tensors."""
    legal = RankCount()
    loops, over_all = _loops(host)
    for node in walk(host.body):
        if isinstance(node, CommDomainScopeStmt) and node.devices:
            legal = legal.both(RankCount(1 + max(node.devices)))
        if isinstance(node, Call | Submit) and isinstance(device := node.attrs.get("device"), Expr):
            number = constant(device)
            if number is not None:
                legal = legal.both(RankCount(number + 1))
            elif isinstance(device, Var) and device in loops:
                stop = constant(loops[device].stop)
                legal = legal.both(RankCount() if stop is None else RankCount(max(1, stop)))
        if isinstance(node, Call):
            legal = legal.both(_rows(host, node, over_all))
    return legal


def _is_world_size(stop: Expr, values: dict[Var, Expr]) -> bool:
    while isinstance(stop, Var) and stop in values:
        stop = values[stop]
    return isinstance(stop, Call) and isinstance(stop.op, Declaration) and stop.op.counts_ranks


def _rows(host: Function, call: Call, over_all: set[Var]) -> RankCount:
    """As many ranks as a parameter has rows, when the loop over all devices takes a row for each."""
    dim = _row_of(host, call, over_all)
    rows = None if dim is None else constant(dim)
    return RankCount() if rows is None else RankCount(rows, rows)


def _row_of(host: Function, call: Call, over_all: set[Var]) -> Expr | None:
    """The extent of which a window of a parameter takes one entry for each rank; None for any other call."""
    if not isinstance(call.op, Declaration) or call.op.alias != "tensor" or len(call.args) < 3:
        return None
    source = call.args[0]
    if not isinstance(source, Var) or source not in {*host.params} or not isinstance(source.type, TensorType):
        return None
    offsets: Sequence[Expr] = entries(call.args[2])
    return source.type.shape[0] if offsets and isinstance(offsets[0], Var) and offsets[0] in over_all else None
