"""Which ranks share the windows of a host orchestrator, as far as its text says: for what must be known before it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pypto.ir.expr import Call, Expr, MakeTuple, Submit, TupleGetItemExpr, Var, WindowBuffer
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.stmt import CommDomainScopeStmt, ForStmt
from pypto.ir.types import DistributedTensorType
from pypto.ops.declare import Declaration
from pypto.ops.region import constant
from pypto.runtime.facts import Facts, value_sources

Devices = frozenset[int] | None
"""Ranks that are listed; None for all of them."""


class HostDomains:
    """The domains of one host orchestrator. ``everywhere`` are the functions that run on all ranks: those dispatched in a loop over them,
    and what they call."""

    def __init__(self, program: Program, host: Function) -> None:
        self._program = program
        self._facts = Facts(program)
        self._sources = value_sources(host.body)
        self._loops: dict[Var, ForStmt] = {}
        self._stated: dict[WindowBuffer, Devices] = {}
        self._given: dict[Call, set[Devices]] = {}
        self.everywhere: set[str] = set()
        dispatches: list[Call | Submit] = []
        for node in walk(host.body):
            if isinstance(node, ForStmt):
                self._loops[node.loop_var] = node
            elif isinstance(node, CommDomainScopeStmt):
                self._stated.update(dict.fromkeys(node.slots, frozenset(node.devices) or None))  # type: ignore[arg-type]
            elif isinstance(node, Call | Submit) and isinstance(node.attrs.get("device"), Expr):
                dispatches.append(node)
        for call in dispatches:
            devices = self._devices(call.attrs["device"])
            if call.op.is_function and devices is None:
                self._reach(call.op.name)
            for arg in call.args:
                for allocation in self._allocations(arg):
                    self._given.setdefault(allocation, set()).add(devices)

    def devices(self, call: Call) -> Devices:
        """The ranks that take part in a collective of the host orchestrator."""
        found: set[Devices] = set()
        for arg in call.args:
            window = arg.type.window_buffer if isinstance(arg.type, DistributedTensorType) else None
            if isinstance(window, WindowBuffer) and window in self._stated:
                return self._stated[window]
            for allocation in self._allocations(arg):
                found |= self._given.get(allocation, set())
        if not found or None in found:
            return None
        return frozenset[int]().union(*[devices for devices in found if devices is not None])

    def _devices(self, device: object) -> Devices:
        """The ranks that a ``device`` stands for."""
        if isinstance(device, Var) and device in self._loops:
            loop = self._loops[device]
            start, stop = constant(loop.start), constant(loop.stop)
            return None if start is None or stop is None else frozenset(range(start, stop))
        number = constant(device) if isinstance(device, Expr) else None
        return None if number is None else frozenset([number])

    def _reach(self, name: str) -> None:
        pending = [name]
        while pending:
            function = self._program.get_function(pending.pop())
            if function is not None and function.name not in self.everywhere:
                self.everywhere.add(function.name)
                pending += [n.op.name for n in walk(function.body) if isinstance(n, Call | Submit) and n.op.is_function]

    def _allocations(self, expr: Expr) -> Iterator[Call]:
        """The allocations of the windows that an expression may be a view of."""
        pending, seen = [expr], set[Expr]()
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, Call) and isinstance(node.op, Declaration) and node.op.allocates:
                yield node
            else:
                pending += self._below(node)

    def _below(self, node: Expr) -> Sequence[Expr]:
        """What a value is made of, as far as windows go."""
        if isinstance(node, Var):
            return self._sources.get(node, ())
        if isinstance(node, TupleGetItemExpr):
            return self._result(node.tuple, node.index)
        return self._result(node, 0)

    def _result(self, whole: Expr, index: int) -> Sequence[Expr]:
        """What one of the results of a value is made of."""
        pending, seen = [whole], set[Expr]()
        found: list[Expr] = []
        while pending:
            node = pending.pop()
            if node in seen:
                continue
            seen.add(node)
            if isinstance(node, MakeTuple):
                found += node.elements[index : index + 1]
            elif isinstance(node, Var):
                pending += self._sources.get(node, ())
            elif isinstance(node, Call | Submit):
                found += self._operands(node, index)
        return found

    def _operands(self, call: Call | Submit, index: int) -> Sequence[Expr]:
        """The operands of a call that one of its results is."""
        if isinstance(call.op, Declaration):
            operands = [call.op.operand_at(call.args, name) for name in (call.op.window_of, call.op.alias)]
            return [operand for operand in operands if operand is not None]
        callee = self._facts.of_callee(call.op.name)
        at = callee.returned[index] if callee is not None and index < len(callee.returned) else None
        return () if at is None or at >= len(call.args) else [call.args[at]]
