"""What verifiers share: statements of a body, the expressions that a statement itself holds, yields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pypto.ir.expr import Expr, IterArg, Var
from pypto.ir.node import Field, FieldKind, Node
from pypto.ir.stmt import BreakStmt, ContinueStmt, ReturnStmt, ScopeStmt, Stmt, YieldStmt, flatten_to_stmts
from pypto.ir.type_parts import is_closed, type_expressions

_SINGLE = frozenset((FieldKind.EXPR, FieldKind.OPTIONAL_EXPR))
_BODIES = frozenset((FieldKind.STMT, FieldKind.OPTIONAL_STMT))
_VALUES = _SINGLE | {FieldKind.EXPRS, FieldKind.VARS, FieldKind.ATTRS}

TERMINATORS = (ReturnStmt, BreakStmt, ContinueStmt)
"""Statements after which nothing of the block runs."""

_BODY_FIELDS: dict[type[Node], tuple[Field, ...]] = {}
_VALUE_FIELDS: dict[type[Node], tuple[Field, ...]] = {}


def bodies(stmt: Stmt) -> Iterator[Stmt]:
    """The statements directly inside a statement."""
    kind = type(stmt)
    fields = _BODY_FIELDS.get(kind)
    if fields is None:
        wanted = _BODIES | {FieldKind.STMTS}
        fields = _BODY_FIELDS[kind] = tuple(f for f in kind.FIELDS if f.kind in wanted)
    for field in fields:
        value = getattr(stmt, field.name)
        if field.kind is FieldKind.STMTS:
            yield from value
        elif value is not None:
            yield value


def statements(body: Stmt) -> Iterator[Stmt]:
    """Every statement in and including ``body``, outer ones first, without recursion."""
    stack = [body]
    while stack:
        stmt = stack.pop()
        yield stmt
        stack.extend(reversed(list(bodies(stmt))))


def defined(stmt: Stmt) -> Iterator[Var]:
    """The variables that a statement itself defines."""
    for field in type(stmt).FIELDS:
        if field.kind is FieldKind.DEF:
            yield getattr(stmt, field.name)
        elif field.kind is FieldKind.DEFS:
            yield from getattr(stmt, field.name)


def held(node: Node) -> Iterator[Expr]:
    """The expressions directly in a node: operands and those in attributes; not bodies, types and definitions."""
    kind = type(node)
    fields = _VALUE_FIELDS.get(kind)
    if fields is None:
        # where an iter arg is used its initial value is not read again
        fields = tuple(f for f in kind.FIELDS if f.kind in _VALUES and not issubclass(kind, Var))
        _VALUE_FIELDS[kind] = fields
    for field in fields:
        value = getattr(node, field.name)
        if field.kind in _SINGLE:
            if value is not None:
                yield value
        elif field.kind is FieldKind.ATTRS:
            for attr in value.values():
                if isinstance(attr, Expr):
                    yield attr
                elif isinstance(attr, list):
                    yield from (item for item in attr if isinstance(item, Expr))  # pyright: ignore[reportUnknownVariableType]
        elif field.kind is FieldKind.VARS:
            yield from (var for var in value if isinstance(var, Expr))  # a verifier reports what is none
        else:
            yield from value


def nodes(roots: Iterable[Expr]) -> Iterator[Expr]:
    """Every expression in and below ``roots`` (types left out), each object once; without recursion."""
    stack = list(roots)
    stack.reverse()
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if not isinstance(node, Var):
            below = list(held(node))
            below.reverse()
            stack.extend(below)


def type_vars(exprs: Iterable[Expr]) -> Iterator[Var]:
    """The variables in the types of variables and calls among ``exprs``."""
    for expr in exprs:
        type_ = expr.type
        if not is_closed(type_):
            yield from (node for node in nodes(type_expressions(type_)) if type(node) is Var or type(node) is IterArg)


def final(body: Stmt) -> Stmt | None:
    """The last statement of a body; scopes are looked through."""
    while True:
        stmts = flatten_to_stmts(body)
        if not stmts:
            return None
        last = stmts[-1]
        if not isinstance(last, ScopeStmt):
            return last
        body = last.body


def final_yield(body: Stmt) -> YieldStmt | None:
    """The yield that ends a body, or None."""
    last = final(body)
    return last if isinstance(last, YieldStmt) else None
