"""MaterializeDistTensorCtx: functions get the communication contexts of their distributed tensors as parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.enums import ArgDirection, ParamDirection
from pypto.ir.expr import Call, Expr, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.op import create_op_call
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ir.types import CommCtxType, DistributedTensorType
from pypto.passes.base import Pass
from pypto.passes.host_code import HostProgramError
from pypto.passes.lineage import Clash, Origin, ReturnedParams, Tracker, declaration_of
from pypto.passes.names import name_base
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import defined_vars

_P = IRProperty


@register_pass
@dataclass(frozen=True)
class MaterializeDistTensorCtx(Pass):
    """Append the communication context of every distributed tensor parameter to the parameters, and pass it at every call.

    Host orchestrators look the contexts up, once for each variable; device code takes them from its parameters.
    """

    REQUIRED = (_P.CommDomainScopesMaterialized, _P.ReturnParamsExplicit)
    PRODUCED = (_P.CommDomainScopesMaterialized, _P.DistTensorCtxMaterialized)

    def transform(self, program: Program) -> Program:
        """The program in which no device code looks a context up."""
        plans: dict[str, Sequence[int]] = {}
        for function in program.functions.values():
            places = _distributed(function)
            if places and not function.is_host_orchestrator and not _is_done(function, places):
                plans[function.name] = places
        returned = ReturnedParams(program)
        return program.with_functions([_Contexts(function, plans, returned).rewrite() for function in program.functions.values()])


def _distributed(function: Function) -> Sequence[int]:
    """The positions of the distributed tensor parameters."""
    return [at for at, param in enumerate(function.params) if isinstance(param.type, DistributedTensorType)]


def _is_done(function: Function, places: Sequence[int]) -> bool:
    """True when the last parameters are the contexts of these parameters."""
    last = function.params[len(function.params) - len(places) :]
    return all(
        isinstance(context.type, CommCtxType) and context.name_hint.startswith(_context_name(function.params[at]))
        for context, at in zip(last, places, strict=True)
    )


def _context_name(var: Var) -> str:
    return f"{name_base(var.name_hint)}_ctx"


class _Contexts(Tracker):
    """Rewrites one function. Origins are variables that hold contexts."""

    def __init__(self, function: Function, plans: dict[str, Sequence[int]], returned: ReturnedParams) -> None:
        super().__init__(returned)
        self.old = function
        self.plans = plans
        self.on_host = function.is_host_orchestrator
        self._taken: set[str] | None = None
        self.contexts: dict[int, Var] = {}
        self.stmt_span: Span | None = None

    def rewrite(self) -> Function:
        """The function with contexts as parameters and arguments; the same object when nothing changes."""
        function = self.old
        places = self.plans.get(function.name, ())
        for at in places:
            param = function.params[at]
            self.contexts[at] = self.fresh(param)
        if not places and not self.on_host:
            self._known_contexts()
        rewritten = self.function(function)
        if not places:
            return rewritten
        return rewritten.replace(
            params=[*function.params, *self.contexts.values()],
            param_directions=[*function.param_directions, *[ParamDirection.In] * len(places)],
        )

    def _known_contexts(self) -> None:
        """The contexts that are parameters already."""
        places = _distributed(self.old)
        if places:
            last = self.old.params[len(self.old.params) - len(places) :]
            self.contexts = dict(zip(places, last, strict=True))

    def fresh(self, var: Var) -> Var:
        """A variable for the context of another, under a name that nothing in the function has."""
        if self._taken is None:
            self._taken = {v.name_hint for v in (*self.old.params, *defined_vars(self.old.body))}
        base = name = _context_name(var)
        number = 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return Var(name, CommCtxType(), var.span)

    # -- origins ---------------------------------------------------------------------------------------------------------

    def origin_of_param(self, at: int, param: Var) -> Origin:
        return self.contexts.get(at)

    def merged(self, one: Origin, other: Origin, name: str, span: Span) -> Origin:
        if self.on_host:
            return None
        raise HostProgramError(
            f"Cannot determine the communication context of {name!r}: it is that of {_shown(one)} or of {_shown(other)}, depending on the "
            "way taken",
            span,
            hint="use one name for each distributed tensor",
        )

    def either(self, var: Var, ways: Sequence[Origin], span: Span) -> Origin:
        found = super().either(var, ways, span)
        return None if self.on_host and isinstance(found, Clash) else found

    def clash(self, name: str, origin: Clash) -> InvalidValueError:
        return HostProgramError(
            f"Cannot determine the communication context of {name!r}: it is that of {_shown(origin.one)} or of {_shown(origin.other)}, "
            "depending on the way taken",
            origin.span,
            hint="use one name for each distributed tensor",
        )

    # -- calls -----------------------------------------------------------------------------------------------------------

    def visit_stmt(self, op: Stmt) -> Stmt:
        self.stmt_span = op.span
        return super().visit_stmt(op)

    def visit_call(self, op: Call) -> Expr:
        new: Any = self._visit_fields(op)
        if op.op.is_function:
            return self._with_contexts(op, new)
        declaration = declaration_of(op.op)
        if declaration is not None and declaration.context_of is not None and not self.on_host:
            operand = declaration.operand_at(op.args, declaration.context_of)
            assert operand is not None
            return self.context(operand, op, f"the operand of {declaration.name}")
        return new

    def visit_submit(self, op: Submit) -> Expr:
        return self._with_contexts(op, self._visit_fields(op))

    def _with_contexts(self, old: Any, new: Any) -> Any:
        """A call of a function that has grown context parameters, with the contexts of what is passed."""
        places = self.plans.get(old.op.name)
        if not places:
            return new
        added: list[Expr] = []
        for at in places:
            if at >= len(old.args):
                raise HostProgramError(
                    f"Cannot resolve the communication context of a distributed tensor that {old.op.name!r} is not given",
                    self._place(old),
                )
            added.append(self.context(old.args[at], old, f"argument {at} of {old.op.name!r}"))
        attrs = new.attrs
        directions = attrs.get("arg_directions")
        if directions:
            attrs = {**attrs, "arg_directions": [*directions, *[ArgDirection.Scalar] * len(added)]}
        return new.replace(args=[*new.args, *added], attrs=attrs)

    def _place(self, call: Expr) -> Span:
        return call.span if call.span.is_valid() or self.stmt_span is None else self.stmt_span

    def context(self, value: Expr, call: Expr, what: str) -> Var:
        """The variable that holds the context of a distributed tensor.

        Raises:
            HostProgramError: device code cannot know it.
        """
        origin = self.origin(value)
        if isinstance(origin, Var):
            return origin
        root = _root(value)
        if root is None or not self.on_host:
            name = "" if root is None else f" {root.name_hint!r},"
            raise HostProgramError(
                f"Cannot determine the communication context of{name} {what}",
                self._place(call),
                hint="pass the distributed tensor itself, as a parameter of this function",
            )
        context = self.fresh(root)
        span = self._place(call)
        found = create_op_call("pld.system.get_comm_ctx", [root], span)
        self.blocks[self.home_of(root)].out.append(AssignStmt(context, found, span))
        self.fix(root, context)
        return context


def _root(value: Expr) -> Var | None:
    """The variable that a value is, or is a view of."""
    while isinstance(value, Call):
        declaration = declaration_of(value.op)
        source = None if declaration is None else declaration.operand_at(value.args, declaration.alias)
        if source is None:
            return None
        value = source
    return value if isinstance(value, Var) else None


def _shown(origin: Origin) -> str:
    return repr(origin.name_hint) if isinstance(origin, Var) else "something else"
