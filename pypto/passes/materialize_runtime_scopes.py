"""MaterializeRuntimeScopes: the regions in which the runtime orders tasks by itself are written down."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.enums import FunctionType
from pypto.ir.function import Function, Program
from pypto.ir.stmt import ForStmt, IfStmt, RuntimeScopeStmt, Stmt, flatten_to_stmts
from pypto.passes.base import FunctionPass
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import named_bodies, rewrite_body

_P = IRProperty
_OPT_OUT = "auto_scope"


@register_pass
@dataclass(frozen=True)
class MaterializeRuntimeScopes(FunctionPass):
    """Put the body of every orchestration function, and those of its for loops and branches, into runtime scopes of their own.

    Functions with ``auto_scope=False`` are left alone, and the others have it afterwards. Regions whose order the author gives
    (``pl.scope(mode=pl.ScopeMode.MANUAL)``) stay as they are.
    """

    REQUIRED = (_P.SplitIncoreOrch, _P.CallDirectionsResolved)
    PRODUCED = (_P.RuntimeScopesMaterialized,)

    def transform_function(self, function: Function, program: Program) -> Function:
        """The function with its scopes; the same object when it is no orchestration function or has them."""
        if function.func_type is not FunctionType.Orchestration or function.is_host_orchestrator:
            return function
        if function.attrs.get(_OPT_OUT) is False:
            return function
        return function.replace(body=_scoped(function.body), attrs={**function.attrs, _OPT_OUT: False})


def _scoped(body: Stmt) -> Stmt:
    """A body in a scope of its own, and everything inside that has bodies likewise."""
    stmts = flatten_to_stmts(body)
    if not stmts or (len(stmts) == 1 and isinstance(stmts[0], RuntimeScopeStmt)):
        return _inside(body)
    return RuntimeScopeStmt(False, "", body=_inside(body), span=body.span)


def _inside(body: Stmt) -> Stmt:
    return rewrite_body(body, lambda stmt: [_statement(stmt)])


def _statement(stmt: Stmt) -> Stmt:
    if isinstance(stmt, RuntimeScopeStmt) and stmt.manual:
        return stmt
    wraps = isinstance(stmt, ForStmt | IfStmt)
    changes: dict[str, Stmt] = {}
    for name, inner in named_bodies(stmt):
        new = _scoped(inner) if wraps else _inside(inner)
        if new is not inner:
            changes[name] = new
    return stmt.replace(**changes) if changes else stmt
