"""InlineFunctions: the bodies of Inline functions in the place of their calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType
from pypto.ir.expr import (
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    MakeTuple,
    Submit,
    TupleGetItemExpr,
    Var,
)
from pypto.ir.function import Function, Program
from pypto.ir.node import Node, walk
from pypto.ir.stmt import AssignStmt, EvalStmt, ReturnStmt, SeqStmts, Stmt, WhileStmt
from pypto.ir.types import ScalarType, ShapedType, Type
from pypto.ir.visitor import IRMutator
from pypto.passes.base import Pass
from pypto.passes.flatten_call_expr import Flattener
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import Renamer, comment, defined_vars, fold, listed, statements, unfold, used_vars

_CALL_FACTS = frozenset(("arg_directions", "arg_direction_overrides"))


@register_pass
@dataclass(frozen=True)
class InlineFunctions(Pass):
    """Splice the bodies of functions of type Inline into their callers, and drop those functions.

    Arguments are passed by value: a parameter that the helper assigns becomes a variable of its own, and so does everything else the
    helper defines. Symbolic dimensions of the helper's parameters become those of the arguments.
    """

    PRODUCED = (IRProperty.InlineFunctionsEliminated,)

    def transform(self, program: Program) -> Program:
        inline = {f.name: f for f in program.functions.values() if f.func_type is FunctionType.Inline}
        if not inline:
            return program
        expander = _Expander(inline)
        kept = [f for f in program.functions.values() if f.name not in inline]
        for name in inline:
            expander.expanded(name)
        return program.with_functions([expander.function(f) for f in kept])


class _Expander:
    """Expands functions; the bodies of the Inline functions themselves are expanded once, when first needed."""

    def __init__(self, inline: dict[str, Function]) -> None:
        self.inline = inline
        self.done: dict[str, Function] = {}
        self.open: list[str] = []

    def expanded(self, name: str, call: Call | None = None) -> Function:
        """An Inline function without calls of other Inline functions.

        Raises:
            InvalidValueError: it calls itself, directly or through others.
        """
        if name in self.done:
            return self.done[name]
        if name in self.open:
            way = " -> ".join([*self.open[self.open.index(name) :], name])
            span = None if call is None else call.span
            raise InvalidValueError(f"the inline function {name!r} calls itself: {way}", span)
        self.open.append(name)
        result = self.done[name] = self.function(self.inline[name])
        self.open.pop()
        return result

    def function(self, function: Function) -> Function:
        if not any(self.is_inline(node) for node in walk(function.body)):
            return function
        body = _Inliner(self, function)
        new = body.block(function.body)
        if body.tuples:
            unused = body.tuples - used_vars(new)
            new = _Drop(unused).visit_stmt(new) if unused else new
        return function.replace(body=new)

    def is_inline(self, node: Node) -> bool:
        if not isinstance(node, Call | Submit) or not node.op.is_function or node.op.name not in self.inline:
            return False
        if isinstance(node, Submit):
            raise InvalidValueError(f"the inline function {node.op.name!r} cannot be submitted as a task", node.span)
        return True


class _Drop(IRMutator):
    """Removes assignments of some variables."""

    def __init__(self, variables: set[Var]) -> None:
        self.variables = variables

    def visit_expr(self, op: Expr) -> Expr:
        return op

    def visit_assign_stmt(self, op: AssignStmt) -> Stmt:
        if op.var not in self.variables:
            return op
        return SeqStmts([]) if not op.leading_comments else fold(comment(op.leading_comments))


class _Inliner:
    """Splices into one function."""

    def __init__(self, expander: _Expander, function: Function) -> None:
        self.expander = expander
        self.flattener = Flattener(function)
        self.tuples: set[Var] = set()

    def block(self, body: Stmt) -> Stmt:
        own = listed(body)
        out: list[Stmt] = []
        parts: dict[Var, Sequence[Expr]] = {}
        for stmt in own:
            out += self.statement(_forwarded(stmt, parts), parts)
        same = len(out) == len(own) and all(a is b for a, b in zip(out, own, strict=True))
        return body if same else fold(out, span=body.span)

    def statement(self, stmt: Stmt, parts: dict[Var, Sequence[Expr]]) -> list[Stmt]:
        if isinstance(stmt, SeqStmts):
            return [stmt]
        held = {name: getattr(stmt, name) for name in ("then_body", "else_body", "body") if hasattr(stmt, name)}
        held = {name: body for name, body in held.items() if isinstance(body, Stmt)}
        if self.nested_in(stmt, held):
            return self.flattened(stmt, parts)
        value = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
        if value is not None and self.expander.is_inline(value):
            return self.splice(stmt, value, parts)
        bodies = {name: self.block(body) for name, body in held.items()}
        changes = {name: body for name, body in bodies.items() if body is not held[name]}
        return [stmt.replace(**changes)] if changes else [stmt]

    def nested_in(self, stmt: Stmt, held: dict[str, Stmt]) -> bool:
        """True when an inline call is in the statement's own operands other than as the whole value."""
        whole = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
        hollow = stmt.replace(**dict.fromkeys(held, SeqStmts([]))) if held else stmt
        return any(node is not whole and self.expander.is_inline(node) for node in walk(hollow))

    def flattened(self, stmt: Stmt, parts: dict[Var, Sequence[Expr]]) -> list[Stmt]:
        if isinstance(stmt, WhileStmt):
            pieces = self.flattener.while_loop(stmt)
        elif isinstance(stmt, AssignStmt | EvalStmt):
            pieces = self.flattener.statement(stmt)
        else:
            pieces = self.flattener.header(stmt)
        return [done for piece in pieces for done in self.statement(piece, parts)]

    def splice(self, stmt: Any, call: Any, parts: dict[Var, Sequence[Expr]]) -> list[Stmt]:
        callee = self.expander.expanded(call.op.name, call)
        if len(call.args) != len(callee.params):
            raise InvalidTypeError(
                f"the inline function {callee.name!r} takes {len(callee.params)} arguments, got {len(call.args)}",
                call.span,
            )
        odd = [key for key in call.attrs if key not in _CALL_FACTS]
        if odd:
            raise InvalidValueError(f"the call of the inline function {callee.name!r} cannot carry {odd[0]!r}", call.span)
        assigned = {*defined_vars(callee.body)}
        stands = _dimensions(callee.params, call.args)
        renamer = Renamer(stands, assigned.__contains__, copies=True)
        out: list[Stmt] = comment(stmt.leading_comments)
        for param, arg in zip(callee.params, call.args, strict=True):
            value = _as_type(arg, param.type)
            if param in assigned or not isinstance(value, Var | ConstInt | ConstFloat | ConstBool):
                own = Var(param.name_hint, renamer.visit_type(param.type), param.span)
                out.append(AssignStmt(own, value, call.span))
                value = own
            renamer.var_map[param] = value
        body, trailing = unfold(renamer.visit_stmt(callee.body))
        last: ReturnStmt | None = None
        if body and isinstance(body[-1], ReturnStmt):
            last = body[-1]
            body.pop()
        for inner in body:
            early = next((s for s in statements(inner) if isinstance(s, ReturnStmt)), None)
            if early is not None:
                raise InvalidValueError(f"the inline function {callee.name!r} may return only at its end", early.span)
        out += body
        if last is not None:
            out += comment(last.leading_comments)
        out += comment(trailing)
        if isinstance(stmt, AssignStmt):
            out += self.result(stmt, [] if last is None else last.value, callee, renamer, parts)
        return out

    def result(
        self,
        stmt: AssignStmt,
        values: Sequence[Expr],
        callee: Function,
        renamer: Renamer,
        parts: dict[Var, Sequence[Expr]],
    ) -> list[Stmt]:
        """What assigns the results of the helper to the variable of the call."""
        if not values:
            raise InvalidTypeError(f"the inline function {callee.name!r} returns nothing to assign", stmt.span)
        if len(values) == 1:
            return [AssignStmt(stmt.var, _as_type(values[0], stmt.var.type), stmt.span)]
        out: list[Stmt] = []
        own: list[Expr] = []
        fresh = {id(value) for value in renamer.var_map.values()} - {id(arg) for arg in _args_of(stmt.value)}
        for value in values:
            if isinstance(value, Var) and id(value) in fresh:
                own.append(value)
            else:
                name = self.flattener.names.fresh(stmt.var.name_hint.strip("_") or "value", "tmp")
                var = Var(name, value.type, stmt.span)
                out.append(AssignStmt(var, value, stmt.span))
                own.append(var)
        parts[stmt.var] = own
        self.tuples.add(stmt.var)
        return [*out, AssignStmt(stmt.var, MakeTuple(own, stmt.span), stmt.span)]


def _args_of(value: Expr) -> Sequence[Expr]:
    return value.args if isinstance(value, Call) else ()


def _forwarded(stmt: Stmt, parts: dict[Var, Sequence[Expr]]) -> Stmt:
    """``x = t[i]`` as ``x = value`` while ``t`` is known to hold the results of a helper; nothing is known of ``t`` after it is
    assigned again.
    """
    if not parts or not isinstance(stmt, AssignStmt):
        parts.clear()
        return stmt
    value = stmt.value
    known: Sequence[Expr] | None = None
    if isinstance(value, TupleGetItemExpr) and isinstance(value.tuple, Var):
        known = parts.get(value.tuple)
    parts.pop(stmt.var, None)
    return stmt if known is None else stmt.replace(value=known[value.index])  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def _as_type(value: Expr, wanted: Type) -> Expr:
    """A scalar value as the element type that is wanted."""
    have = value.type
    if not isinstance(have, ScalarType) or not isinstance(wanted, ScalarType) or have is wanted:
        return value
    wide = (DataType.INDEX, DataType.INT64)
    if have.dtype in wide and wanted.dtype in wide:
        return value
    return scalar.cast(value, wanted.dtype, value.span)


def _dimensions(params: Sequence[Var], args: Sequence[Expr]) -> dict[Var, Expr]:
    """What the arguments make of the symbolic dimensions in the types of the parameters."""
    found: dict[Var, Expr] = {}
    own = set(params)
    for param, arg in zip(params, args, strict=True):
        mine, theirs = param.type, arg.type
        if not isinstance(mine, ShapedType) or not isinstance(theirs, ShapedType):
            continue
        pairs: list[tuple[Sequence[Expr], Sequence[Expr]]] = [(mine.shape, theirs.shape)]
        pairs.append((getattr(mine, "valid_shape", ()), getattr(theirs, "valid_shape", ())))
        for formal, actual in pairs:
            if len(formal) == len(actual):
                for dim, value in zip(formal, actual, strict=True):
                    if isinstance(dim, Var) and dim is not value and dim not in own:
                        found.setdefault(dim, value)
    return found
