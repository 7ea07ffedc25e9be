"""How many ranks a program can run on, as its static shapes and device lists say."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.expr import Call, Expr, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, CommDomainScopeStmt, ForStmt
from pypto.ir.types import DistributedTensorType, TensorType
from pypto.ops.declare import Declaration
from pypto.ops.params import RankCount
from pypto.ops.region import constant, entries


def legal_ranks(program: Program | Function, entry: Function) -> RankCount:
    """The numbers of ranks that ``entry`` can run on; 1 alone for a program that has nothing distributed.

    Collectives and signals limit it by their shapes, dispatches by the devices they name, a host orchestrator's own tensors by how many
    rows they have for the loop over all devices.
    """
    functions = list(program.functions.values()) if isinstance(program, Program) else [program]
    if not any(_is_distributed(f) for f in functions):
        return RankCount(1, 1)
    legal = RankCount()
    for function in functions:
        for node in walk(function.body):
            if isinstance(node, Call) and isinstance(node.op, Declaration) and node.op.ranks is not None:
                legal = legal.both(node.op.ranks(node.args, node.kwargs))
    return legal.both(_dispatches(entry)) if entry.is_host_orchestrator else legal


def _is_distributed(function: Function) -> bool:
    if function.is_host_orchestrator:
        return True
    if any(isinstance(p.type, DistributedTensorType) for p in function.params):
        return True
    return any(isinstance(n, Call) and isinstance(n.op, Declaration) and n.op.communicates for n in walk(function.body))


def _dispatches(host: Function) -> RankCount:
    """What the devices of a host orchestrator ask for: its constant devices must exist, its loops over all of them fit its tensors."""
    legal = RankCount()
    loops: dict[Var, ForStmt] = {}
    values: dict[Var, Expr] = {}
    over_all: set[Var] = set()
    for node in walk(host.body):
        if isinstance(node, ForStmt):
            loops[node.loop_var] = node
            if _is_world_size(node.stop, values):
                over_all.add(node.loop_var)
        elif isinstance(node, AssignStmt):
            values[node.var] = node.value
        elif isinstance(node, CommDomainScopeStmt) and node.devices:
            legal = legal.both(RankCount(1 + max(node.devices)))
    for node in walk(host.body):
        if isinstance(node, Call | Submit) and isinstance(device := node.attrs.get("device"), Expr):
            number = constant(device)
            if number is not None:
                legal = legal.both(RankCount(number + 1))
            elif isinstance(device, Var) and device in loops:
                stop = constant(loops[device].stop)
                legal = legal.both(RankCount() if stop is None else RankCount(max(1, stop)))
        if isinstance(node, Call) and isinstance(node.op, Declaration) and node.op.alias == "tensor":
            legal = legal.both(_rows(host, node, over_all))
    return legal


def _is_world_size(stop: Expr, values: dict[Var, Expr]) -> bool:
    while isinstance(stop, Var) and stop in values:
        stop = values[stop]
    return isinstance(stop, Call) and isinstance(stop.op, Declaration) and stop.op.counts_ranks


def _rows(host: Function, call: Call, over_all: set[Var]) -> RankCount:
    """As many ranks as a parameter has rows, when the loop over all devices takes a row for each."""
    source = call.args[0]
    if not isinstance(source, Var) or source not in host.params or not isinstance(source.type, TensorType):
        return RankCount()
    offsets: Sequence[Expr] = entries(call.args[2]) if len(call.args) > 2 else ()
    rows = constant(source.type.shape[0])
    if rows is None or not offsets or not isinstance(offsets[0], Var) or offsets[0] not in over_all:
        return RankCount()
    return RankCount(rows, rows)
