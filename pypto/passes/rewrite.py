"""What passes share: which variables an expression or statement uses, renaming, and bodies with their comments and yields."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from pypto.ir.expr import ConstInt, Expr, IterArg, Var
from pypto.ir.function import Function
from pypto.ir.node import FieldKind, Node
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.stmt import (
    AssignStmt,
    BreakStmt,
    ContinueStmt,
    IfStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    YieldStmt,
    flatten_to_stmts,
)
from pypto.ir.type_parts import is_closed, type_expressions
from pypto.ir.types import Type
from pypto.ir.visitor import IRMutator

_BODIES = (FieldKind.STMT, FieldKind.OPTIONAL_STMT)

_ONE, _MANY, _ATTRS, _TYPE = range(4)
_HOW = {
    FieldKind.EXPR: _ONE,
    FieldKind.OPTIONAL_EXPR: _ONE,
    FieldKind.EXPRS: _MANY,
    FieldKind.VARS: _MANY,
    FieldKind.ATTRS: _ATTRS,
    FieldKind.TYPE: _TYPE,
}
_READ_PLANS: dict[type, tuple[tuple[str, int], ...]] = {}
_DEFINING_PLANS: dict[type, tuple[tuple[str, bool], ...]] = {}
_BODY_PLANS: dict[type, tuple[tuple[str, bool], ...]] = {}


def _read_plan(kind: type[Node]) -> tuple[tuple[str, int], ...]:
    # The initial value of an iter arg is read where the loop defines it, not where the variable is used.
    skip = "initValue" if issubclass(kind, IterArg) else None
    steps = tuple((f.name, _HOW[f.kind]) for f in kind.FIELDS if f.kind in _HOW and f.name != skip)
    _READ_PLANS[kind] = steps
    return steps


def _push_read(node: Node, stack: list[Expr]) -> None:
    kind = type(node)
    plan = _READ_PLANS.get(kind)
    for name, how in _read_plan(kind) if plan is None else plan:
        value = getattr(node, name)
        if how == _ONE:
            if value is not None:
                stack.append(value)
        elif how == _MANY:
            stack.extend(value)
        elif how == _TYPE:
            if not is_closed(value):
                stack.extend(type_expressions(value))
        else:
            for attr in value.values():
                if isinstance(attr, Expr):
                    stack.append(attr)
                elif isinstance(attr, list):
                    items = cast("list[Any]", attr)
                    stack.extend(item for item in items if isinstance(item, Expr))


def add_uses(node: Expr | Stmt, uses: set[Var]) -> None:
    """Add the variables that an expression, or the own operands of a statement (not its bodies), read.

    Included are those in attributes, in the types of variables and calls, and the initial values of iter args.
    """
    stack: list[Expr] = []
    if isinstance(node, Expr):
        stack.append(node)
    else:
        _push_read(node, stack)
        for var in definitions(node):
            if not is_closed(var.type):
                stack.extend(type_expressions(var.type))
            if isinstance(var, IterArg):
                stack.append(var.initValue)
    while stack:
        current = stack.pop()
        if isinstance(current, Var):
            if current in uses:
                continue
            uses.add(current)
        elif type(current) is ConstInt:
            continue
        _push_read(current, stack)


def definitions(stmt: Stmt) -> Sequence[Var]:
    """The variables that the statement itself (not its bodies) defines."""
    kind = type(stmt)
    if kind is AssignStmt:
        return (stmt.var,)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
    plan = _DEFINING_PLANS.get(kind)
    if plan is None:
        wanted = (FieldKind.DEF, FieldKind.DEFS)
        plan = _DEFINING_PLANS[kind] = tuple((f.name, f.kind is FieldKind.DEF) for f in kind.FIELDS if f.kind in wanted)
    found: list[Var] = []
    for name, single in plan:
        value = getattr(stmt, name)
        if single:
            found.append(value)
        else:
            found.extend(value)
    return found


def bodies(stmt: Stmt) -> Sequence[Stmt]:
    """The statements directly inside a statement."""
    kind = type(stmt)
    plan = _BODY_PLANS.get(kind)
    if plan is None:
        steps = ((f.name, f.kind is FieldKind.STMTS) for f in kind.FIELDS if f.kind in (*_BODIES, FieldKind.STMTS))
        plan = _BODY_PLANS[kind] = tuple(steps)
    if not plan:
        return ()
    found: list[Stmt] = []
    for name, several in plan:
        value = getattr(stmt, name)
        if several:
            found.extend(value)
        elif value is not None:
            found.append(value)
    return found


def named_bodies(stmt: Stmt) -> list[tuple[str, Stmt]]:
    """The fields of a statement that hold the statements directly inside it, with those."""
    fields = [f.name for f in type(stmt).FIELDS if f.kind in _BODIES]
    return [(name, inner) for name in fields if (inner := getattr(stmt, name)) is not None]


def defined_vars(body: Stmt) -> list[Var]:
    """The variables that statements define, in order, each once."""
    found: dict[Var, None] = {}
    for stmt in statements(body):
        for var in definitions(stmt):
            found[var] = None
    return list(found)


def statements(body: Stmt) -> Iterator[Stmt]:
    """Every statement in and including ``body``, outer ones first."""
    stack = [body]
    while stack:
        current = stack.pop()
        yield current
        stack.extend(reversed(bodies(current)))


def used_vars(where: Function | Stmt) -> set[Var]:
    """Every variable that a function or statement reads; definitions alone do not count."""
    uses: set[Var] = set()
    body = where
    if isinstance(where, Function):
        body = where.body
        for var in where.params:
            for part in type_expressions(var.type):
                add_uses(part, uses)
        for type_ in where.return_types:
            for part in type_expressions(type_):
                add_uses(part, uses)
        holder: list[Expr] = []
        for attr in where.attrs.values():
            if isinstance(attr, Expr):
                holder.append(attr)
        for expr in holder:
            add_uses(expr, uses)
    assert isinstance(body, Stmt)
    for stmt in statements(body):
        add_uses(stmt, uses)
    return uses


def fresh_copy(var: Var, type_: Type | None = None, name: str | None = None) -> Var:
    """Another variable like ``var``."""
    return Var(var.name_hint if name is None else name, var.type if type_ is None else type_, var.span)


class Renamer(IRMutator):
    """Puts expressions in the place of variables, and fresh variables in the place of definitions.

    ``var_map`` says what stands for a variable; ``renews`` which definitions get a fresh variable (all of one variable's
    definitions the same). With ``copies`` every statement becomes another object, so that two copies of a body share none.
    """

    def __init__(self, var_map: dict[Var, Expr], renews: Callable[[Var], bool] = lambda _: False, copies: bool = False) -> None:
        self.var_map.update(var_map)
        self._renews = renews
        self._copies = copies

    def visit_stmt(self, op: Stmt) -> Stmt:
        new = super().visit_stmt(op)
        return new.replace() if new is op and self._copies else new

    def visit_definition(self, var: Var) -> Var:
        if var not in self.var_map and self._renews(var):
            if isinstance(var, IterArg):
                init = self.visit_expr(var.initValue)
                new: Var = IterArg(var.name_hint, self.visit_type(var.type), init, var.span)
            else:
                new = fresh_copy(var, self.visit_type(var.type))
            self.var_map[var] = new
            return new
        return super().visit_definition(var)

    def visit_assign_stmt(self, op: Any) -> Any:
        value = self.visit_expr(op.value)
        var = self.visit_definition(op.var)
        return op if value is op.value and var is op.var else op.replace(var=var, value=value)


# Bodies


def with_comments(stmt: Stmt, leading: Sequence[str] = (), trailing: Sequence[str] = ()) -> Stmt:
    """The statement with more comments above it and after it; the same object when there are none."""
    if not leading and not trailing:
        return stmt
    return stmt.replace(
        leading_comments=[*leading, *stmt.leading_comments], trailing_comments=[*stmt.trailing_comments, *trailing]
    )


def unfold(body: Stmt) -> tuple[list[Stmt], list[str]]:
    """The statements of a body with nested sequences unfolded, and the comments at its end.

    Comments at the end of a statement or sequence inside go above the statement that follows.
    """
    out: list[Stmt] = []
    pending = _unfold_into(body, out, [])
    return out, pending


def _unfold_into(stmt: Stmt, out: list[Stmt], pending: list[str]) -> list[str]:
    if isinstance(stmt, SeqStmts):
        for inner in stmt.stmts:
            if pending or inner.trailing_comments or isinstance(inner, SeqStmts):
                pending = _unfold_into(inner, out, pending)
            else:
                out.append(inner)
        return [*pending, *stmt.trailing_comments] if stmt.trailing_comments else pending
    if pending or stmt.trailing_comments:
        trailing = stmt.trailing_comments
        stmt = stmt.replace(leading_comments=[*pending, *stmt.leading_comments], trailing_comments=[])
        pending = [*trailing]
    out.append(stmt)
    return pending


def fold(stmts: Sequence[Stmt], trailing: Sequence[str] = (), span: Span = UNKNOWN) -> Stmt:
    """A body in normal form from statements and sequences, with comments at its end."""
    flat, pending = unfold(SeqStmts(stmts))
    body = flat[0] if len(flat) == 1 else SeqStmts(flat, span)
    return with_comments(body, trailing=[*pending, *trailing])


def comment(lines: Sequence[str]) -> list[Stmt]:
    """Comments as something that stands among statements until :func:`fold` puts them in their place."""
    return [with_comments(SeqStmts([]), trailing=lines)] if lines else []


def listed(body: Stmt) -> list[Stmt]:
    """The statements of a body, the comments at its end among them as :func:`comment` gives them."""
    stmts, trailing = unfold(body)
    return [*stmts, *comment(trailing)]


def rewrite_body(body: Stmt, step: Callable[[Stmt], Sequence[Stmt]]) -> Stmt:
    """A body in which every statement is replaced by what ``step`` gives for it; the same object when those are the same statements.

    Comments above a replaced statement stay above what replaces it, or above what follows when nothing does.
    """
    stmts, trailing = unfold(body)
    out: list[Stmt] = []
    changed = False
    for stmt in stmts:
        made = step(stmt)
        if len(made) == 1 and made[0] is stmt:
            out.append(stmt)
            continue
        changed = True
        lines = stmt.leading_comments
        if not lines:
            out.extend(made)
        elif made:
            own = [m.replace(leading_comments=[]) if m.leading_comments is lines else m for m in made]
            out.extend([with_comments(own[0], leading=lines), *own[1:]])
        else:
            out.extend(comment(lines))
    return fold(out, trailing, body.span) if changed else body


def with_fields(stmt: Stmt, **fields: Any) -> Any:
    """A copy of a statement with these fields; the same object when all are the very objects that it has, in lists too."""
    for name, value in fields.items():
        old = getattr(stmt, name)
        if isinstance(value, list):
            items = cast("list[Any]", value)
            same = len(items) == len(old) and all(a is b for a, b in zip(items, old, strict=True))
        else:
            same = value is old
        if not same:
            return stmt.replace(**fields)
    return stmt


def edit_end(body: Stmt, edit: Callable[[YieldStmt | None], Sequence[Stmt]]) -> Stmt:
    """A body whose final yield is replaced by what ``edit`` gives for it (for None where there is none: appended).

    A yield at the end of a scope at the end of the body counts as the body's.
    """
    stmts, trailing = unfold(body)
    last = stmts[-1] if stmts else None
    if isinstance(last, YieldStmt):
        return fold([*stmts[:-1], *edit(last)], trailing, body.span)
    if isinstance(last, ScopeStmt) and final_yield(last.body) is not None:
        return fold([*stmts[:-1], last.replace(body=edit_end(last.body, edit))], trailing, body.span)
    return fold([*stmts, *edit(None)], trailing, body.span)


def final_yield(body: Stmt) -> YieldStmt | None:
    """The yield that ends a body (also inside a scope that ends it), or None."""
    stmts = flatten_to_stmts(body)
    last = stmts[-1] if stmts else None
    if isinstance(last, ScopeStmt):
        return final_yield(last.body)
    return last if isinstance(last, YieldStmt) else None


def append_to_yield(body: Stmt, values: Sequence[Expr], span: Span) -> Stmt:
    """A body that also yields ``values``, after those it yields already."""
    if not values:
        return body

    def edit(old: YieldStmt | None) -> Sequence[Stmt]:
        return [YieldStmt(values, span)] if old is None else [old.replace(value=[*old.value, *values])]

    return edit_end(body, edit)


def has_jump(body: Stmt, kinds: tuple[type[Stmt], ...] = (BreakStmt, ContinueStmt)) -> bool:
    """True when a break or continue of the loop around ``body`` is in it."""
    for stmt in flatten_to_stmts(body):
        if isinstance(stmt, kinds):
            return True
        if isinstance(stmt, IfStmt | ScopeStmt) and any(has_jump(inner, kinds) for inner in bodies(stmt)):
            return True
    return False
