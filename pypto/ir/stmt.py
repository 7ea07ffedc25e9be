"""Statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.attrs import AttrValue, normalize_attrs
from pypto.ir.enums import ForKind, InlineLanguage, Level, Role, ScopeKind, SplitMode
from pypto.ir.expr import EMPTY, Expr, IterArg, Var, WindowBuffer, index_const
from pypto.ir.node import Field, FieldKind, Node
from pypto.ir.span import UNKNOWN, Span

_NO_COMMENTS: list[str] = []


class Stmt(Node):
    """Base of statements. ``leading_comments`` stand above it; ``trailing_comments`` end the block that the statement is."""

    __slots__ = ("leading_comments", "trailing_comments")
    leading_comments: Sequence[str]
    trailing_comments: Sequence[str]


def attach_leading_comments(stmt: Stmt, comments: Sequence[str]) -> Stmt:
    """Set the comments above a statement (a sequence of statements has none of its own) and return the same statement."""
    if isinstance(stmt, SeqStmts):
        raise InvalidValueError("comments belong to a statement, not to a sequence of statements")
    stmt.leading_comments = [*comments]
    return stmt


def attach_trailing_comments(stmt: Stmt, comments: Sequence[str]) -> Stmt:
    """Set the comments at the end of the block that ``stmt`` is, and return the same statement."""
    stmt.trailing_comments = [*comments]
    return stmt


class AssignStmt(Stmt):
    """``var = value``: the definition of ``var``."""

    __slots__ = ("value", "var")
    FIELDS = (Field("var", FieldKind.DEF), Field("value", FieldKind.EXPR))
    var: Var
    value: Expr

    def __init__(self, var: Var, value: Expr, span: Span = UNKNOWN) -> None:
        self.var = var
        self.value = value
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class IfStmt(Stmt):
    """A branch. With ``return_vars`` both bodies end in a yield of as many values, which become those variables."""

    __slots__ = ("condition", "else_body", "return_vars", "then_body")
    FIELDS = (
        Field("condition", FieldKind.EXPR),
        Field("then_body", FieldKind.STMT),
        Field("else_body", FieldKind.OPTIONAL_STMT),
        Field("return_vars", FieldKind.DEFS),
    )

    def __init__(
        self, condition: Expr, then_body: Stmt, else_body: Stmt | None, return_vars: Sequence[Var], span: Span = UNKNOWN
    ) -> None:
        self.condition = condition
        self.then_body = then_body
        self.else_body = else_body
        self.return_vars: Sequence[Var] = [*return_vars]
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class ForStmt(Stmt):
    """A counted loop over ``start, start + step, ...`` before ``stop``; iter args, return vars and the body's yield agree in number."""

    __slots__ = ("attrs", "body", "iter_args", "kind", "loop_var", "return_vars", "start", "step", "stop")
    FIELDS = (
        Field("loop_var", FieldKind.DEF),
        Field("start", FieldKind.EXPR),
        Field("stop", FieldKind.EXPR),
        Field("step", FieldKind.EXPR),
        Field("iter_args", FieldKind.DEFS),
        Field("body", FieldKind.STMT),
        Field("return_vars", FieldKind.DEFS),
        Field("kind", FieldKind.DATA),
        Field("attrs", FieldKind.ATTRS),
    )

    def __init__(
        self,
        loop_var: Var,
        start: Expr,
        stop: Expr,
        step: Expr,
        iter_args: Sequence[IterArg],
        body: Stmt,
        return_vars: Sequence[Var],
        span: Span = UNKNOWN,
        kind: ForKind = ForKind.Sequential,
        attrs: Mapping[str, Any] | None = None,
    ) -> None:
        self.loop_var = loop_var
        self.start = _expr(start)
        self.stop = _expr(stop)
        self.step = _expr(step)
        self.iter_args: Sequence[IterArg] = [*iter_args]
        self.body = body
        self.return_vars: Sequence[Var] = [*return_vars]
        self.kind = kind
        self.attrs: Mapping[str, AttrValue] = normalize_attrs(attrs)
        for key, value in self.attrs.items():
            if not isinstance(value, bool | int | str | float):
                raise InvalidTypeError(f"the loop attribute {key!r} must be an int, bool, str or float", span)
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class WhileStmt(Stmt):
    """A loop while ``condition`` (which may read the iter args) holds."""

    __slots__ = ("body", "condition", "iter_args", "return_vars")
    FIELDS = (
        Field("iter_args", FieldKind.DEFS),
        Field("condition", FieldKind.EXPR),
        Field("body", FieldKind.STMT),
        Field("return_vars", FieldKind.DEFS),
    )

    def __init__(
        self,
        condition: Expr,
        iter_args: Sequence[IterArg],
        body: Stmt,
        return_vars: Sequence[Var],
        span: Span = UNKNOWN,
    ) -> None:
        self.condition = condition
        self.iter_args: Sequence[IterArg] = [*iter_args]
        self.body = body
        self.return_vars: Sequence[Var] = [*return_vars]
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class _Values(Stmt):
    __slots__ = ("value",)
    FIELDS = (Field("value", FieldKind.EXPRS),)
    value: Sequence[Expr]

    def __init__(self, values: Sequence[Expr] | Span = (), span: Span = UNKNOWN) -> None:
        if isinstance(values, Span):
            values, span = (), values
        self.value = [*values]
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class YieldStmt(_Values):
    """The values that a loop body or branch hands on; always the last statement of its body."""

    __slots__ = ()
    FIELDS = _Values.FIELDS


class ReturnStmt(_Values):
    """The results of the function."""

    __slots__ = ()
    FIELDS = _Values.FIELDS


class SeqStmts(Stmt):
    """Statements one after another. Normalized IR has no sequence of one and no sequence directly inside another."""

    __slots__ = ("stmts",)
    FIELDS = (Field("stmts", FieldKind.STMTS),)
    stmts: Sequence[Stmt]

    def __init__(self, stmts: Sequence[Stmt], span: Span = UNKNOWN) -> None:
        self.stmts = [*stmts]
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS

    def __getitem__(self, index: int) -> Stmt:
        return self.stmts[index]

    def __len__(self) -> int:
        return len(self.stmts)


class EvalStmt(Stmt):
    """An expression evaluated for its effect."""

    __slots__ = ("expr",)
    FIELDS = (Field("expr", FieldKind.EXPR),)

    def __init__(self, expr: Expr, span: Span = UNKNOWN) -> None:
        self.expr = expr
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class BreakStmt(Stmt):
    """Leave the innermost loop."""

    __slots__ = ()

    def __init__(self, span: Span = UNKNOWN) -> None:
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class ContinueStmt(Stmt):
    """Go on with the next iteration."""

    __slots__ = ()

    def __init__(self, span: Span = UNKNOWN) -> None:
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


class InlineStmt(Stmt):
    """Verbatim text of a host worker."""

    __slots__ = ("body", "language")
    FIELDS = (Field("body", FieldKind.DATA), Field("language", FieldKind.DATA))

    def __init__(self, body: str, language: InlineLanguage = InlineLanguage.Python, span: Span = UNKNOWN) -> None:
        self.body = body
        self.language = language
        self.span = span
        self.leading_comments = self.trailing_comments = _NO_COMMENTS


_SCOPE_FIELDS = (Field("name_hint", FieldKind.DATA), Field("body", FieldKind.STMT), Field("attrs", FieldKind.ATTRS))


class ScopeStmt(Stmt):
    """Base of scopes: a body that runs in some place or under some regime. ``attrs`` come from the builder or from passes."""

    __slots__ = ("attrs", "body", "name_hint")
    FIELDS = _SCOPE_FIELDS
    scope_kind: ClassVar[ScopeKind]
    name_hint: str
    body: Stmt
    attrs: Mapping[str, AttrValue]

    def _start(self, name_hint: str, body: Stmt, span: Span) -> None:
        self.name_hint = name_hint
        self.body = body
        self.span = span
        self.attrs = EMPTY
        self.leading_comments = self.trailing_comments = _NO_COMMENTS

    def with_attrs(self, attrs: Any) -> Any:
        """A copy of the scope with these attributes."""
        return self.replace(attrs=normalize_attrs(attrs))


class InCoreScopeStmt(ScopeStmt):
    """A region that becomes a kernel."""

    __slots__ = ("split",)
    FIELDS = (*_SCOPE_FIELDS, Field("split", FieldKind.DATA))
    scope_kind = ScopeKind.InCore

    def __init__(self, split: SplitMode = SplitMode.NONE, name_hint: str = "", *, body: Stmt, span: Span = UNKNOWN) -> None:
        self._start(name_hint, body, span)
        self.split = split


class ClusterScopeStmt(ScopeStmt):
    """A region that runs on a cluster."""

    __slots__ = ()
    FIELDS = _SCOPE_FIELDS
    scope_kind = ScopeKind.Cluster

    def __init__(self, name_hint: str = "", *, body: Stmt, span: Span = UNKNOWN) -> None:
        self._start(name_hint, body, span)


class HierarchyScopeStmt(ScopeStmt):
    """A region at a level of the machine."""

    __slots__ = ("level", "role")
    FIELDS = (*_SCOPE_FIELDS, Field("level", FieldKind.DATA), Field("role", FieldKind.DATA))
    scope_kind = ScopeKind.Hierarchy

    def __init__(self, level: Level, role: Role | None = None, name_hint: str = "", *, body: Stmt, span: Span = UNKNOWN) -> None:
        self._start(name_hint, body, span)
        self.level = level
        self.role = role


class SpmdScopeStmt(ScopeStmt):
    """A region that ``core_num`` cores run at once."""

    __slots__ = ("core_num", "sync_start")
    FIELDS = (*_SCOPE_FIELDS, Field("core_num", FieldKind.EXPR), Field("sync_start", FieldKind.DATA))
    scope_kind = ScopeKind.Spmd

    def __init__(
        self, core_num: int | Expr, sync_start: bool = False, name_hint: str = "", *, body: Stmt, span: Span = UNKNOWN
    ) -> None:
        self._start(name_hint, body, span)
        self.core_num = _expr(core_num)
        self.sync_start = sync_start


class SplitAivScopeStmt(ScopeStmt):
    """A region split over the two vector cores.

    Raises:
        InvalidValueError: ``count`` is not 2.
    """

    __slots__ = ("count", "split")
    FIELDS = (*_SCOPE_FIELDS, Field("split", FieldKind.DATA), Field("count", FieldKind.DATA))
    scope_kind = ScopeKind.SplitAiv

    def __init__(self, split: SplitMode, count: int = 2, name_hint: str = "", *, body: Stmt, span: Span = UNKNOWN) -> None:
        if count != 2:
            raise InvalidValueError(f"a split region has exactly 2 lanes, got {count}", span)
        self._start(name_hint, body, span)
        self.split = split
        self.count = count


class RuntimeScopeStmt(ScopeStmt):
    """A region whose tasks the runtime orders, or the author does (``manual``)."""

    __slots__ = ("manual",)
    FIELDS = (*_SCOPE_FIELDS, Field("manual", FieldKind.DATA))
    scope_kind = ScopeKind.Runtime

    def __init__(self, manual: bool = False, name_hint: str = "", *, body: Stmt, span: Span = UNKNOWN) -> None:
        self._start(name_hint, body, span)
        self.manual = manual


class CommDomainScopeStmt(ScopeStmt):
    """A region with a communication domain: the ``devices`` that take part (none listed: all) and the windows they share."""

    __slots__ = ("devices", "slots")
    FIELDS = (*_SCOPE_FIELDS, Field("devices", FieldKind.DATA), Field("slots", FieldKind.VARS))
    scope_kind = ScopeKind.CommDomain

    def __init__(
        self,
        devices: Sequence[int],
        slots: Sequence[WindowBuffer],
        name_hint: str = "",
        *,
        body: Stmt,
        span: Span = UNKNOWN,
    ) -> None:
        self._start(name_hint, body, span)
        self.devices: Sequence[int] = [*devices]
        self.slots: Sequence[WindowBuffer] = [*slots]


def _expr(value: Any) -> Expr:
    return index_const(value) if type(value) is int else value


def body_of(stmts: Sequence[Stmt], span: Span = UNKNOWN) -> Stmt:
    """A body in normal form: nested sequences spliced, one statement stored bare, none as an empty sequence."""
    flat = flatten_to_stmts(stmts)
    return flat[0] if len(flat) == 1 else SeqStmts(flat, span)


def flatten_to_stmts(stmt: Stmt | Sequence[Stmt]) -> list[Stmt]:
    """The statements of a body, with nested sequences unfolded in order."""
    flat: list[Stmt] = []
    stack: list[Stmt] = [stmt] if isinstance(stmt, Stmt) else [*reversed(stmt)]
    while stack:
        current = stack.pop()
        if isinstance(current, SeqStmts):
            stack.extend(reversed(current.stmts))
        else:
            flat.append(current)
    return flat
