"""LowerHostTensorCollectives: a collective in a host orchestrator becomes one dispatch for each rank that takes part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import Error, InternalError
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, ConstInt, Expr, Var, WindowBuffer
from pypto.ir.function import Function, Program
from pypto.ir.op import create_internal_op_call, create_op_call
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, CommDomainScopeStmt, EvalStmt, ForStmt, ReturnStmt, SeqStmts, Stmt, attach_leading_comments
from pypto.ir.type_parts import change_all
from pypto.ir.types import DistributedTensorType, ScalarType, Type
from pypto.ir.verify.walk import held
from pypto.ir.visitor import IRMutator
from pypto.ops.builtin import HOST_FORMS, arg_directions
from pypto.ops.declare import Declaration, describe_type
from pypto.ops.region import constant
from pypto.ops.support import MODES, Capability, SignalShape, Tier, capability
from pypto.passes.base import Pass
from pypto.passes.context import current_backend
from pypto.passes.host_code import HostProgramError, calls_in, collective_of, is_host_orchestrator, place_of
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import statements

_DEVICE = DataType.INT64


@register_pass
@dataclass(frozen=True)
class LowerHostTensorCollectives(Pass):
    """Replace every collective in a host orchestrator by dispatches: one call for each device of its domain, or a loop over all ranks.

    The operands must be windows of one communication domain, each of another buffer, and the signal must have room for the ranks. The
    number of vector cores of the configured backend bounds ``core_num``.
    """

    REQUIRED = (IRProperty.CommDomainScopesMaterialized,)
    PRODUCED = (IRProperty.CommDomainScopesMaterialized,)

    def transform(self, program: Program) -> Program:
        """The program without collectives in host orchestrators."""
        functions: list[Function] = []
        for function in program.functions.values():
            if is_host_orchestrator(function) and _has_collectives(function):
                body = _Lowering().visit_stmt(function.body)
                function = function if body is function.body else function.replace(body=body)
            functions.append(function)
        return program.with_functions(functions)


def _has_collectives(function: Function) -> bool:
    for stmt in statements(function.body):
        for part in held(stmt):
            if any(_is_host_collective(call) for call in calls_in(part)):
                return True
    return False


def _is_host_collective(expr: Expr) -> bool:
    declaration = collective_of(expr)
    return declaration is not None and declaration.name in HOST_FORMS


@dataclass(frozen=True)
class _Domain:
    """An open communication domain: its devices (none listed: all ranks) and windows."""

    devices: Sequence[int]
    windows: frozenset[WindowBuffer]


class _Lowering(IRMutator):
    """Rewrites the body of one host orchestrator."""

    def __init__(self) -> None:
        self.domains: list[_Domain] = []

    def visit_comm_domain_scope_stmt(self, op: CommDomainScopeStmt) -> Stmt:
        """The scope with its body rewritten."""
        self.domains.append(_Domain(op.devices, frozenset(op.slots)))
        body = self.visit_stmt(op.body)
        self.domains.pop()
        return op if body is op.body else op.replace(body=body)

    def visit_assign_stmt(self, op: AssignStmt) -> Stmt:
        """A collective that is assigned: its dispatches, and the variable as another name of the window that holds the result."""
        if not _is_host_collective(op.value):
            return self._checked(super().visit_assign_stmt(op), op)
        dispatches, result = self._lower(op.value, op)
        type_ = _with_window(op.var.type, result.type)
        var = op.var
        if type_ is not var.type:
            var = Var(var.name_hint, type_, var.span)
            self.var_map[op.var] = var
        return _together([*dispatches, AssignStmt(var, result, op.span)], op)

    def visit_eval_stmt(self, op: EvalStmt) -> Stmt:
        """A collective for its effect: its dispatches."""
        if not _is_host_collective(op.expr):
            return self._checked(super().visit_eval_stmt(op), op)
        dispatches, _ = self._lower(op.expr, op)
        return _together(dispatches, op)

    def visit_return_stmt(self, op: ReturnStmt) -> Stmt:
        """A return, before which what collectives among its values do is done."""
        out: list[Stmt] = []
        values: list[Expr] = []
        for value in op.value:
            if _is_host_collective(value):
                dispatches, result = self._lower(value, op)
                out += dispatches
                values.append(result)
            else:
                values.append(self.visit_expr(value))
                self._refuse_nested(value, op)
        return _together([*out, op.replace(value=values, leading_comments=[])], op) if out else self._values(op, values)

    def _values(self, op: ReturnStmt, values: Sequence[Expr]) -> Stmt:
        return op if all(a is b for a, b in zip(values, op.value, strict=True)) else op.replace(value=values)

    def visit_stmt(self, op: Stmt) -> Stmt:
        if not isinstance(op, AssignStmt | EvalStmt | ReturnStmt | SeqStmts):
            for part in held(op):
                self._refuse_nested(part, op)
        return super().visit_stmt(op)

    def _checked(self, new: Stmt, op: Stmt) -> Stmt:
        for part in held(op):
            self._refuse_nested(part, op)
        return new

    def _refuse_nested(self, expr: Expr, stmt: Stmt) -> None:
        if isinstance(expr, Var):
            return
        for call in calls_in(expr):
            if _is_host_collective(call):
                raise HostProgramError(
                    f"{call.op.name} stands inside another expression; a host orchestrator takes it by direct assignment only",
                    place_of(call, stmt),
                    hint=f"assign it to a name first: x = {call.op.name}(...)",
                )

    # -- one collective --------------------------------------------------------------------------------------------------

    def _lower(self, value: Expr, stmt: Stmt) -> tuple[list[Stmt], Expr]:
        """The dispatches of a collective, and the window that holds its result."""
        assert isinstance(value, Call)
        collective = value.op
        assert isinstance(collective, Declaration)
        for arg in value.args:
            self._refuse_nested(arg, stmt)
        span = place_of(value, stmt)
        builtin, mode = _form(collective, value, span)
        row = capability(collective.leaf, mode, Tier.HOST)
        assert row is not None
        args = change_all(value.args, self.visit_expr)
        if not self.domains:
            raise HostProgramError(
                f"{collective.name} stands outside every communication domain",
                span,
                hint="its windows must be allocated in this host orchestrator; MaterializeCommDomainScopes makes the domains of them",
            )
        windows = _windows(collective, builtin, args, span)
        domain = self._domain(collective, windows, span)
        count = len(domain.devices) or None
        kwargs = _payload(builtin, collective, args, value.kwargs)
        _check_cores(collective, mode, row, value.kwargs, span)
        try:
            dispatch = create_internal_op_call(builtin, args, kwargs, span)
        except Error as error:
            raise HostProgramError(error.message, span, hint=error.hint, code=error.code) from error
        if count is not None:
            _check_devices(collective, builtin, mode, row, dispatch, count, span)
        alias = builtin.alias_index
        assert alias is not None
        return self._dispatches(dispatch, builtin, domain, span), args[alias]

    def _domain(self, collective: Declaration, windows: Mapping[str, WindowBuffer], span: Span) -> _Domain:
        """The innermost domain that has all of the windows."""
        wanted = frozenset(windows.values())
        for domain in reversed(self.domains):
            if wanted <= domain.windows:
                return domain
        homes = {role: next((d for d in self.domains if window in d.windows), None) for role, window in windows.items()}
        shown = ", ".join(
            f"{role!r} on {_devices_text(home) if home is not None else 'no domain'}" for role, home in homes.items()
        )
        raise HostProgramError(
            f"the windows of {collective.name} do not share one communication domain: {shown}",
            span,
            hint="dispatch them to the same devices; give every group of devices a signal of its own",
        )

    def _dispatches(self, call: Call, builtin: Declaration, domain: _Domain, span: Span) -> list[Stmt]:
        directions = arg_directions(builtin)

        def dispatch(device: Expr) -> Stmt:
            attrs: dict[str, AttrValue] = {**call.kwargs, "device": device, "arg_directions": directions}
            return EvalStmt(call.replace(attrs=attrs), span)

        if domain.devices:
            return [dispatch(ConstInt(device, _DEVICE, span)) for device in sorted(domain.devices)]
        rank = Var("r", ScalarType(_DEVICE), span)
        ranks = create_op_call("pld.system.world_size", [], span)
        zero, one = ConstInt(0, _DEVICE, span), ConstInt(1, _DEVICE, span)
        return [ForStmt(rank, zero, ranks, one, [], dispatch(rank), [], span)]


def _together(stmts: Sequence[Stmt], origin: Stmt) -> Stmt:
    if origin.leading_comments:
        attach_leading_comments(stmts[0], origin.leading_comments)
    body = stmts[0] if len(stmts) == 1 else SeqStmts(stmts, origin.span)
    return body.replace(trailing_comments=[*origin.trailing_comments]) if origin.trailing_comments else body


def _with_window(type_: Type, result: Type) -> Type:
    """The type of the variable that the result is assigned to, with the window of the result."""
    window = getattr(result, "window_buffer", None)
    if not isinstance(type_, DistributedTensorType) or window is None or type_.window_buffer is window:
        return type_
    return DistributedTensorType(type_.shape, type_.dtype, type_.memref, type_.tensor_view, window)


def _form(collective: Declaration, call: Call, span: Span) -> tuple[Declaration, str]:
    """The dispatch that carries a collective out in the mode that it asks for."""
    forms = HOST_FORMS[collective.name]
    mode = call.kwargs.get("mode", MODES[0])
    if not isinstance(mode, str) or mode not in forms:
        known = " or ".join(repr(name) for name in forms)
        raise HostProgramError(f"{collective.name}: mode must be {known}, got {mode!r}", span)
    builtin = forms[mode]
    if len(call.args) != len(builtin.operand_params):
        raise HostProgramError(
            f"{collective.name} has {len(call.args)} operands here, its dispatch takes {len(builtin.operand_params)}",
            span,
            hint="SynthesizeAllReduceSignals gives a signal to a call that leaves it out",
        )
    return builtin, mode


def _payload(
    builtin: Declaration, collective: Declaration, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]
) -> dict[str, AttrValue]:
    """The keywords of the dispatch: those of the collective, and the element type of its data."""
    payload: dict[str, AttrValue] = {}
    alias = builtin.alias_index
    assert alias is not None
    type_: Any = args[alias].type
    for name, param in builtin.keyword_params.items():
        if name in kwargs:
            payload[name] = kwargs[name]
        elif name == "dtype":
            payload[name] = type_.dtype
        else:
            source = collective.keyword_params.get(name)
            if source is None:
                raise InternalError(f"{builtin.name} asks for {param.name!r}, which {collective.name} does not have")
            payload[name] = int(source.default)
    return payload


def _windows(collective: Declaration, builtin: Declaration, args: Sequence[Expr], span: Span) -> dict[str, WindowBuffer]:
    """The window of each operand by its role; all of them are different."""
    windows: dict[str, WindowBuffer] = {}
    for param, arg in zip(builtin.operand_params, args, strict=True):
        type_ = arg.type
        window = type_.window_buffer if isinstance(type_, DistributedTensorType) else None
        if window is None:
            raise HostProgramError(
                f"{collective.name} in a host orchestrator takes windows: {param.name!r} must be a window-bound DistributedTensor, "
                f"got {describe_type(type_)}",
                span,
                hint="make it with pld.alloc_window_buffer and pld.window",
            )
        windows[param.name] = window
    seen: dict[WindowBuffer, str] = {}
    for role, window in windows.items():
        other = seen.setdefault(window, role)
        if other != role:
            raise HostProgramError(
                f"{collective.name}: {other!r} and {role!r} must be different window allocations; both are views of {window.name_hint!r}",
                span,
                hint="ranks would read the one while others write the other; allocate a buffer for each",
            )
    return windows


def _devices_text(domain: _Domain) -> str:
    return f"devices {[*domain.devices]}" if domain.devices else "all devices"


# -- checks ------------------------------------------------------------------------------------------------------------------


def _check_cores(collective: Declaration, mode: str, row: Capability, kwargs: Mapping[str, AttrValue], span: Span) -> None:
    cores = kwargs.get("core_num", 1)
    if not isinstance(cores, int) or cores == 1:
        return
    if not row.many_cores:
        raise HostProgramError(f"{collective.name} with mode={mode!r} needs core_num=1, got {cores}", span)
    backend = current_backend()
    if backend is not None and cores > backend.vector_cores:
        raise HostProgramError(
            f"{collective.name}: core_num={cores} exceeds the {backend.vector_cores} vector cores of {backend.name}",
            span,
            hint="all cores of a launch start together, so more than there are would never start",
        )


def _check_devices(
    collective: Declaration, builtin: Declaration, mode: str, row: Capability, call: Call, count: int, span: Span
) -> None:
    """What only a known number of devices can show."""
    name = f"{collective.name} with mode={mode!r}" if mode != MODES[0] else collective.name
    if row.most_ranks is not None and count > row.most_ranks:
        raise HostProgramError(f"{name} supports at most {row.most_ranks} devices, this domain has {count}", span)
    signal = builtin.operand_at(call.args, "signal")
    assert signal is not None
    _check_capacity(name, row.signal, signal, count, span)
    root = call.kwargs.get("root")
    if isinstance(root, int) and root >= count:
        raise HostProgramError(
            f"{name}: root={root} is out of range: the domain has {count} devices, ranks 0 to {count - 1}", span
        )
    _check_rows(name, builtin, row, call, count, span)


def _check_capacity(name: str, shape: SignalShape, signal: Expr, count: int, span: Span) -> None:
    assert isinstance(signal.type, DistributedTensorType)
    dims = signal.type.shape
    rows = constant(dims[0])
    shown = describe_type(signal.type)
    wanted = shape.ring_rows(count)
    if wanted is not None:
        ranks = constant(dims[1])
        if ranks is not None and ranks != count:
            raise HostProgramError(
                f"{name}: the signal is made for {ranks} ranks and the domain has {count} devices: {shown}",
                span,
                hint=f"give it the shape [{wanted}, {count}]",
            )
        if rows is not None and rows < wanted:
            raise HostProgramError(
                f"{name}: between {count} devices the signal must have at least {wanted} rows, got {shown}",
                span,
                hint=f"give it the shape [{wanted}, {count}]",
            )
    elif rows is not None and shape is SignalShape.EXACT_COLUMN and rows != count:
        raise HostProgramError(
            f"{name}: the signal must have exactly as many rows as the domain has devices, {count}, got {shown}", span
        )
    elif rows is not None and rows < count:
        raise HostProgramError(
            f"{name}: the signal has room for {rows} ranks and the domain has {count} devices: {shown}",
            span,
            hint=f"the first extent must be at least {count}",
        )


def _check_rows(name: str, builtin: Declaration, row: Capability, call: Call, count: int, span: Span) -> None:
    """Windows with a row or block for each rank must have as many as there are devices."""
    for role in row.per_rank:
        operand = builtin.operand_at(call.args, role)
        rows = constant(getattr(getattr(operand, "type", None), "shape", [call])[0])
        if rows is not None and rows < count:
            raise HostProgramError(f"{name}: {role!r} has {rows} rows and the domain has {count} devices", span)
