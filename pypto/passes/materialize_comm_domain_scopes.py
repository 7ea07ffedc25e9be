"""MaterializeCommDomainScopes: which ranks share which windows is worked out and written into the program."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from pypto.diagnostics import InvalidValueError
from pypto.ir.enums import ArgEffect
from pypto.ir.expr import Call, ConstInt, Expr, Submit, Var, WindowBuffer
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, CommDomainScopeStmt, ForStmt, Stmt, WhileStmt
from pypto.ir.type_parts import is_closed
from pypto.ir.types import DistributedTensorType, TupleType, Type
from pypto.ops.declare import Declaration
from pypto.ops.support import MODES, Tier, capability
from pypto.passes.base import Pass
from pypto.passes.host_code import HostProgramError, collective_of, is_chip_orchestrator, is_host_orchestrator
from pypto.passes.lineage import Clash, Origin, ReturnedParams, Tracker, declaration_of, root_value, same_origin
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass

Devices: TypeAlias = frozenset[int] | None
"""The ranks that a dispatch is for; None for all of them."""


@register_pass
@dataclass(frozen=True)
class MaterializeCommDomainScopes(Pass):
    """Write the communication domains of host orchestrators as scopes, and into the type of every window the buffer it is a view of.

    The ranks of a window are those that it is dispatched to with ``device=``; a signal has the ranks of the data it serves.
    """

    PRODUCED = (IRProperty.CommDomainScopesMaterialized,)

    def transform(self, program: Program) -> Program:
        """The program with scopes around the bodies of the host orchestrators that allocate windows."""
        returned = ReturnedParams(program)
        functions: list[Function] = []
        for function in program.functions.values():
            if is_host_orchestrator(function) and not isinstance(function.body, CommDomainScopeStmt) and _allocates(function):
                function = _Domains(program, returned).rewrite(function)
            functions.append(function)
        return program.with_functions(functions)


def _allocation_of(expr: Expr) -> Call | None:
    if isinstance(expr, Call):
        declaration = declaration_of(expr.op)
        if declaration is not None and declaration.allocates:
            return expr
    return None


def _allocates(function: Function) -> bool:
    return any(_allocation_of(node) is not None for node in walk(function.body) if isinstance(node, Call))


@dataclass
class _Allocation:
    """One window buffer: what is known of it so far."""

    window: WindowBuffer
    name: str
    span: Span
    has_window: bool = False
    devices: dict[Devices, None] = field(default_factory=dict[Devices, None])

    def merged(self) -> Devices:
        """All ranks that it is dispatched to."""
        if None in self.devices:
            return None
        return frozenset[int]().union(*(d for d in self.devices if d is not None))


@dataclass
class _Use:
    """A collective: the window that says which ranks take part (None for a barrier), and those that follow it."""

    call: Call
    data: WindowBuffer | None
    controls: Sequence[WindowBuffer]
    span: Span


def with_windows(type_: Type, origin: Origin) -> Type:
    """A type in which distributed tensors refer to the windows they are views of; the same object when they do already."""
    if isinstance(type_, TupleType):
        if not isinstance(origin, tuple):
            return type_
        parts = cast("tuple[Origin, ...]", origin)
        items = [with_windows(item, part) for item, part in zip(type_.types, parts, strict=True)]
        return type_ if all(a is b for a, b in zip(items, type_.types, strict=True)) else TupleType(items)
    if isinstance(type_, DistributedTensorType) and isinstance(origin, WindowBuffer) and type_.window_buffer is not origin:
        return DistributedTensorType(type_.shape, type_.dtype, type_.memref, type_.tensor_view, origin)
    return type_


class _Domains(Tracker):
    """Rewrites one host orchestrator. Origins are windows."""

    def __init__(self, program: Program, returned: ReturnedParams) -> None:
        super().__init__(returned)
        self.program = program
        self.allocations: dict[WindowBuffer, _Allocation] = {}
        self.made: dict[Call, WindowBuffer] = {}
        self.types: dict[tuple[Type, WindowBuffer], Type] = {}
        self.uses: list[_Use] = []
        self.loops: list[ForStmt | WhileStmt] = []
        self.values: dict[Var, Expr] = {}
        self.stmt_span: Span | None = None

    def rewrite(self, function: Function) -> Function:
        """The function with its body inside the scopes of its domains."""
        rewritten = self.function(function)
        self._inherit()
        for allocation in self.allocations.values():
            self._check(allocation)
        body: Stmt = rewritten.body
        for number, (devices, slots) in reversed(list(enumerate(self._clusters()))):
            listed = [] if devices is None else sorted(devices)
            body = CommDomainScopeStmt(listed, slots, f"comm_d{number}", body=body, span=function.body.span)
        return rewritten.replace(body=body)

    # -- windows ---------------------------------------------------------------------------------------------------------

    def begins(self, call: Call) -> Origin:
        declaration = declaration_of(call.op)
        if declaration is None:
            return None
        if declaration.allocates:
            return self.made.get(call)
        if declaration.window_of is not None:
            buffer = declaration.operand_at(call.args, declaration.window_of)
            origin = None if buffer is None else self.origin(buffer)
            if not isinstance(origin, WindowBuffer):
                raise HostProgramError(f"{declaration.name} takes a buffer that is allocated in this function", self._place(call))
            self.allocations[origin].has_window = True
            return origin
        return None

    def type_with(self, type_: Type, origin: Origin) -> Type:
        if not isinstance(origin, WindowBuffer) or not is_closed(type_):
            return with_windows(type_, origin)
        known = self.types.get((type_, origin))
        if known is None:
            known = self.types[(type_, origin)] = with_windows(type_, origin)
        return known

    def typed(self, value: Expr, origin: Origin) -> Expr:
        if origin is None or not isinstance(value, Call | Submit):
            return value
        type_ = self.type_with(value.type, origin)
        return value if type_ is value.type else value.replace(type=type_)

    def merged(self, one: Origin, other: Origin, name: str, span: Span) -> Origin:
        raise HostProgramError(
            f"{name!r} is a window of {_names(one)} or of {_names(other)}, depending on the way taken",
            span,
            hint="use one name for each window",
        )

    def either(self, var: Var, ways: Sequence[Origin], span: Span) -> Origin:
        if not isinstance(var.type, DistributedTensorType):
            return super().either(var, ways, span)
        # a variable that another stands for on one way only cannot be named after the ways meet
        origin = ways[0]
        for other in ways[1:]:
            if not same_origin(origin, other):
                origin = Clash(origin, other, span)
        return origin

    def clash(self, name: str, origin: Clash) -> InvalidValueError:
        return HostProgramError(
            f"{name!r} is a window of {_names(origin.one)} or of {_names(origin.other)}, depending on the way taken",
            origin.span,
            hint="use one name for each window",
        )

    # -- statements ------------------------------------------------------------------------------------------------------

    def visit_stmt(self, op: Stmt) -> Stmt:
        self.stmt_span = op.span
        if isinstance(op, AssignStmt):
            self.values[op.var] = op.value
            allocation = _allocation_of(op.value)
            if allocation is not None:
                self._allocate(op.var, allocation)
        if isinstance(op, ForStmt | WhileStmt):
            self.loops.append(op)
            new = super().visit_stmt(op)
            self.loops.pop()
            return new
        return super().visit_stmt(op)

    def visit_call(self, op: Call) -> Expr:
        self._note(op)
        new = self._visit_fields(op)
        if new is op or op.op.is_function:
            return new
        declaration = declaration_of(op.op)
        source = None if declaration is None else declaration.operand_at(op.args, declaration.alias)
        return new if source is None else self.typed(new, self.origin(source))

    def visit_submit(self, op: Submit) -> Expr:
        self._note(op)
        return self._visit_fields(op)

    def _place(self, call: Expr) -> Span:
        return call.span if call.span.is_valid() or self.stmt_span is None else self.stmt_span

    def _allocate(self, var: Var, call: Call) -> None:
        name = call.kwargs.get("name")
        if len(call.args) != 1 or not name or not isinstance(name, str):
            raise HostProgramError(f"{call.op.name} takes one size and a name", self._place(call))
        window = WindowBuffer(var, call.args[0], False, False, var.span)
        self.made[call] = window
        self.allocations[window] = _Allocation(window, name, self._place(call))

    def _note(self, call: Call | Submit) -> None:
        if call.op.is_function:
            device = call.attrs.get("device")
            callee = self.program.get_function(call.op.name)
            if isinstance(device, Expr) and callee is not None and is_chip_orchestrator(callee):
                devices = self._devices(call, device)
                if devices is None or devices:
                    for arg in call.args:
                        for window in _windows(self.origin(arg)):
                            self.allocations[window].devices[devices] = None
            return
        declaration = collective_of(call)
        if declaration is not None:
            assert isinstance(call, Call)
            self._note_collective(call, declaration)

    # -- devices ---------------------------------------------------------------------------------------------------------

    def _devices(self, call: Call | Submit, device: Expr) -> Devices:
        """The ranks that a dispatch is for."""
        span = self._place(call)
        if isinstance(device, ConstInt):
            if device.value < 0:
                raise HostProgramError(f"{call.op.name!r} is dispatched to device {device.value}: devices count from 0", span)
            return frozenset((device.value,))
        loop = next((s for s in reversed(self.loops) if isinstance(s, ForStmt) and s.loop_var is device), None)
        if loop is None:
            what = f"{device.name_hint!r}" if isinstance(device, Var) else "an expression"
            raise HostProgramError(
                f"{call.op.name!r} is dispatched to device={what}, which is neither a number nor the variable of a for loop around it",
                span,
                hint="write for r in pl.range(pld.world_size()): ... device=r",
            )
        return self._range(call, loop, span)

    def _range(self, call: Call | Submit, loop: ForStmt, span: Span) -> Devices:
        start, stop, step = (root_value(bound, self.values) for bound in (loop.start, loop.stop, loop.step))
        name = loop.loop_var.name_hint
        if not isinstance(step, ConstInt) or step.value != 1:
            got = step.value if isinstance(step, ConstInt) else "a value that is not constant"
            raise HostProgramError(
                f"the loop over the devices of {call.op.name!r} must have step 1, got {got}",
                span,
                hint=f"write for {name} in pl.range(...)",
            )
        declaration = declaration_of(stop.op) if isinstance(stop, Call) else None
        if declaration is not None and declaration.counts_ranks:
            return None
        if not isinstance(stop, ConstInt):
            raise HostProgramError(
                f"the loop bound of {name!r} says to which devices {call.op.name!r} is dispatched, and is neither a constant nor "
                "pld.world_size()",
                span,
                hint="write pl.range(pld.world_size()), or a constant",
            )
        if not isinstance(start, ConstInt):
            raise HostProgramError(f"the loop over the devices of {call.op.name!r} must start at a constant", span)
        if start.value < 0 or stop.value < start.value:
            raise HostProgramError(
                f"the loop over the devices of {call.op.name!r} goes from {start.value} to {stop.value}: devices count up from 0",
                span,
            )
        return frozenset(range(start.value, stop.value))

    # -- collectives -----------------------------------------------------------------------------------------------------

    def _note_collective(self, call: Call, declaration: Declaration) -> None:
        span = self._place(call)
        if not declaration.min_operands <= len(call.args) <= declaration.max_operands:
            raise HostProgramError(f"{declaration.name} has {len(call.args)} operands", span, hint=declaration.spelling())
        row = capability(declaration.leaf, str(call.kwargs.get("mode", MODES[0])), Tier.HOST)
        if row is not None and not row.in_loops and self.loops:
            raise HostProgramError(
                f"{declaration.name} stands inside a for/while loop: its signal is documented as single-use",
                span,
                hint="unroll the loop by hand, with a signal for each call",
            )
        data: WindowBuffer | None = None
        controls: list[WindowBuffer] = []
        for at, (param, arg) in enumerate(zip(declaration.params_of(len(call.args)), call.args, strict=True)):
            if declaration.arg_effect(at, call.kwargs) is ArgEffect.Read:
                continue
            origin = self.origin(arg)
            if not isinstance(origin, WindowBuffer):
                raise HostProgramError(
                    f"{declaration.name} takes a window allocated in this host orchestrator as {param.name!r}",
                    span,
                    hint="make it with pld.alloc_window_buffer and pld.window",
                )
            if param.name == declaration.alias and param.name not in declaration.signals:
                data = origin
            else:
                controls.append(origin)
        self.uses.append(_Use(call, data, controls, span))

    def _inherit(self) -> None:
        """Give the signals the ranks of the data that they serve."""
        dispatched = {window: list(allocation.devices) for window, allocation in self.allocations.items()}
        for use in self.uses:
            if use.data is None:
                continue
            if not dispatched[use.data]:
                self._uncovered(use, use.data)
            for control in use.controls:
                self.allocations[control].devices.update(dict.fromkeys(dispatched[use.data]))
        for use in self.uses:
            if use.data is None:
                for control in use.controls:
                    if not self.allocations[control].devices:
                        self._uncovered(use, control)

    def _uncovered(self, use: _Use, window: WindowBuffer) -> None:
        raise HostProgramError(
            f"{use.call.op.name} has no inferred comm-domain coverage: no call with device= takes {self.allocations[window].name!r}",
            use.span,
            hint="pass the window to a function that is dispatched with device=",
        )

    # -- domains ---------------------------------------------------------------------------------------------------------

    def _check(self, allocation: _Allocation) -> None:
        if not allocation.has_window:
            raise HostProgramError(
                f"{allocation.name!r} is a dead allocation: nothing makes a window of it",
                allocation.span,
                hint="remove it, or use pld.window",
            )
        if not allocation.devices:
            raise HostProgramError(
                f"{allocation.name!r} is not consumed: no call with device= takes a window of it, so its ranks are not known",
                allocation.span,
                hint="pass it to a function that is dispatched with device=, or remove it",
            )

    def _clusters(self) -> Sequence[tuple[Devices, Sequence[WindowBuffer]]]:
        """The domains: the windows with the same ranks, in order of the first allocation."""
        clusters: dict[Devices, list[WindowBuffer]] = {}
        names: dict[tuple[Devices, str], _Allocation] = {}
        for window, allocation in self.allocations.items():
            devices = allocation.merged()
            clusters.setdefault(devices, []).append(window)
            if names.setdefault((devices, allocation.name), allocation) is not allocation:
                raise HostProgramError(
                    f"two window buffers of one communication domain are called {allocation.name!r}",
                    allocation.span,
                    hint="give them different names",
                )
        return list(clusters.items())


def _windows(origin: Origin) -> Iterator[WindowBuffer]:
    if isinstance(origin, WindowBuffer):
        yield origin
    elif isinstance(origin, tuple):
        for part in cast("tuple[Any, ...]", origin):
            yield from _windows(part)


def _names(origin: Origin) -> str:
    return ", ".join(repr(window.name_hint) for window in _windows(origin)) or "another buffer"
