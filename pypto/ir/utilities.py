"""Small services on statements and expressions: definitions, yields, substitution, copies, types of calls, parents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from pypto.diagnostics import InvalidTypeError
from pypto.ir.expr import Expr, Var
from pypto.ir.function import Function
from pypto.ir.node import FieldKind, Node
from pypto.ir.stmt import SeqStmts, Stmt, YieldStmt
from pypto.ir.types import ShapedType, TupleType, Type, UnknownType
from pypto.ir.visitor import IRMutator

__all__ = [
    "ParentStmtAnalysis",
    "call_result_type",
    "collect_def_vars",
    "deduce_call_return_type",
    "deep_clone",
    "find_yield_stmt",
    "get_last_yield_stmt",
    "substitute_expr",
    "substitute_stmt",
]

VarMap: TypeAlias = Mapping[Var, Expr] | Iterable[tuple[Var, Expr]]
_AnyNode = TypeVar("_AnyNode", bound=Node)

_BODIES = (FieldKind.STMT, FieldKind.OPTIONAL_STMT)


def _child_stmts(stmt: Stmt) -> list[Stmt]:
    found: list[Stmt] = []
    for name, kind, _ in stmt.FIELDS:
        if kind is FieldKind.STMTS:
            found.extend(getattr(stmt, name))
        elif kind in _BODIES and getattr(stmt, name) is not None:
            found.append(getattr(stmt, name))
    return found


def collect_def_vars(stmt: Stmt) -> list[Var]:
    """The variables defined inside a statement, each once, in the order of their text: a loop's own variables before its body's."""
    found: dict[Var, None] = {}
    stack: list[Stmt] = [stmt]
    while stack:
        current = stack.pop()
        for name, kind, _ in current.FIELDS:
            if kind is FieldKind.DEF:
                found.setdefault(getattr(current, name))
            elif kind is FieldKind.DEFS:
                found.update(dict.fromkeys(getattr(current, name)))
        stack.extend(reversed(_child_stmts(current)))
    return list(found)


def get_last_yield_stmt(body: Stmt | None) -> YieldStmt | None:
    """The yield that ends a body, or None."""
    while isinstance(body, SeqStmts):
        body = body.stmts[-1] if body.stmts else None
    return body if isinstance(body, YieldStmt) else None


def find_yield_stmt(body: Stmt | None) -> YieldStmt | None:
    """The yield that ends a body, or None; the same as :func:`get_last_yield_stmt`."""
    return get_last_yield_stmt(body)


class _Substitution(IRMutator):
    def __init__(self, pairs: VarMap) -> None:
        self.var_map.update(dict(pairs))


def substitute_expr(expr: Expr, pairs: VarMap) -> Expr:
    """The expression with variables replaced; the same object when none occurs. ``pairs`` is a mapping or ``[(old, new)]``."""
    return _Substitution(pairs).visit_expr(expr)


def substitute_stmt(stmt: Stmt, pairs: VarMap) -> Stmt:
    """The statement with variables replaced, inside types and attributes too; the same object when none occurs.

    A variable that the statement defines can only be replaced by another variable.
    """
    return _Substitution(pairs).visit_stmt(stmt)


class _Clone(IRMutator):
    def __init__(self, pairs: VarMap) -> None:
        self.var_map.update(dict(pairs))
        self.definitions: dict[Var, Var] = {}

    def visit_definition(self, var: Var) -> Var:
        known = self.definitions.get(var)
        if known is not None:
            return known
        given = self.var_map.get(var)
        if isinstance(given, Var):
            new = given
        else:
            changed: Any = self._visit_fields(var)
            new = changed.replace(unique_id=Var("", var.type).unique_id)
        self.definitions[var] = self.var_map[var] = new
        return new

    def visit_stmt(self, op: Stmt) -> Stmt:
        new = super().visit_stmt(op)
        return new.replace() if new is op else new


def deep_clone(body: _AnyNode, var_map: VarMap = ()) -> tuple[_AnyNode, list[tuple[Var, Var]]]:
    """A copy with a fresh variable for every definition, and the pairs ``(old definition, new definition)``.

    Every statement is a new object; expressions are shared where no variable in them changes. ``var_map`` says what stands for
    variables from outside (any expression); a definition that it maps to a variable becomes that variable.
    """
    clone = _Clone(var_map)
    copy: Any
    if isinstance(body, Stmt):
        copy = clone.visit_stmt(body)
    elif isinstance(body, Expr):
        copy = clone.visit_expr(body)
    elif isinstance(body, Function):
        copy = clone.visit_function(body)
    else:
        raise InvalidTypeError(f"deep_clone copies statements, expressions and functions, not a {type(body).__name__}")
    return copy, list(clone.definitions.items())


def deduce_call_return_type(callee_params: Sequence[Var], args: Sequence[Expr], return_types: Sequence[Type]) -> list[Type]:
    """The types that a call returns: those of the callee with its variables replaced by what the caller passes.

    A variable of the callee is known where it is a parameter itself, or an extent in the type of one.
    """
    known: dict[Var, Expr] = {}
    for param, arg in zip(callee_params, args, strict=False):
        known[param] = arg
        _bind_extents(param.type, arg.type, known)
    substitution = _Substitution(known)
    return [substitution.visit_type(type_) for type_ in return_types]


def _bind_extents(formal: Type, actual: Type, known: dict[Var, Expr]) -> None:
    if isinstance(formal, TupleType) and isinstance(actual, TupleType):
        for x, y in zip(formal.types, actual.types, strict=False):
            _bind_extents(x, y, known)
    elif isinstance(formal, ShapedType) and isinstance(actual, ShapedType) and len(formal.shape) == len(actual.shape):
        _bind_dims(formal.shape, actual.shape, known)
        valid: Any = getattr(formal, "valid_shape", formal.shape)
        if valid is not formal.shape:
            _bind_dims(valid, getattr(actual, "valid_shape", actual.shape), known)


def _bind_dims(formal: Sequence[Expr], actual: Sequence[Expr], known: dict[Var, Expr]) -> None:
    for dim, value in zip(formal, actual, strict=False):
        if isinstance(dim, Var):
            known.setdefault(dim, value)


def call_result_type(callee: Function, args: Sequence[Expr]) -> Type:
    """The type of a call of a function: UnknownType without results, the type of the one, else a tuple of them."""
    types = deduce_call_return_type(callee.params, args, callee.return_types)
    if not types:
        return UnknownType()
    return types[0] if len(types) == 1 else TupleType(types)


class ParentStmtAnalysis:
    """Which statement directly holds which: sequences, loops, branches and scopes are parents of what they hold."""

    def __init__(self) -> None:
        self._parents: dict[Stmt, Stmt] = {}

    def build_map(self, func: Function) -> None:
        """Learn the parents of every statement of a function; what was known before is forgotten."""
        self.clear()
        stack: list[Stmt] = [func.body]
        while stack:
            current = stack.pop()
            below = _child_stmts(current)
            for child in below:
                self._parents[child] = current
            stack.extend(below)

    def get_parent(self, stmt: Stmt) -> Stmt | None:
        """The statement that holds ``stmt``; None for the body of the function and for what was not seen."""
        return self._parents.get(stmt)

    def has_parent(self, stmt: Stmt) -> bool:
        """True when a parent is known."""
        return stmt in self._parents

    def clear(self) -> None:
        """Forget everything."""
        self._parents = {}
