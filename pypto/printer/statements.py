"""Statements as text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto.ir.agreement import can_state
from pypto.ir.enums import ForKind
from pypto.ir.expr import Call, Expr, IterArg, Var
from pypto.ir.loop_bounds import loop_variable_dtype
from pypto.ir.node import FieldKind
from pypto.ir.stmt import (
    AssignStmt,
    BreakStmt,
    ClusterScopeStmt,
    CommDomainScopeStmt,
    ContinueStmt,
    EvalStmt,
    ForStmt,
    HierarchyScopeStmt,
    IfStmt,
    InCoreScopeStmt,
    InlineStmt,
    ReturnStmt,
    RuntimeScopeStmt,
    ScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
)
from pypto.ir.types import ScalarType, Type
from pypto.ops.syntax import NO_TASK, TASK, is_bare_assignment
from pypto.printer.layout import INDENT
from pypto.printer.loops import written_bounds
from pypto.printer.pieces import SOFT_CLOSE, SOFT_OPEN
from pypto.printer.scalars import is_soft_alone
from pypto.printer.scopes import Scopes
from pypto.printer.session import Session

Pieces = list[str]

_LOOPS = {
    ForKind.Sequential: "range",
    ForKind.Parallel: "parallel",
    ForKind.Unroll: "unroll",
    ForKind.Pipeline: "pipeline",
}

Handler = Callable[[Any, int, Sequence[Var]], None]


class Statements:
    """Writes statements, each on lines of its own, into the session."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.scopes = Scopes(session)
        self.preset: ScopeStmt | None = None
        self.handlers: dict[type[Stmt], Handler] = {
            AssignStmt: self.assign,
            EvalStmt: self.evaluate,
            IfStmt: self.branch,
            ForStmt: self.loop,
            WhileStmt: self.while_loop,
            YieldStmt: self.yield_,
            ReturnStmt: self.return_,
            BreakStmt: self.word,
            ContinueStmt: self.word,
            InlineStmt: self.inline,
            InCoreScopeStmt: self.scope,
            ClusterScopeStmt: self.scope,
            HierarchyScopeStmt: self.scope,
            SpmdScopeStmt: self.scope,
            SplitAivScopeStmt: self.scope,
            RuntimeScopeStmt: self.scope,
            CommDomainScopeStmt: self.scope,
        }

    # -- blocks ----------------------------------------------------------------------------------------------------------

    def block(self, body: Stmt, depth: int, results: Sequence[Var] = (), *, is_whole: bool = True) -> None:
        """Write a body, or what is left of one whose first statement the head says. A yield at its end names ``results``."""
        before = len(self.session.lines)
        if is_whole and type(body) is SeqStmts and len(body.stmts) == 1 and self.session.exact:
            self._apart(body, depth, results)
            return
        self._sequence(body, depth, results)
        if len(self.session.lines) == before:
            self.session.line(("pass",), depth)
        self.session.comments(body.trailing_comments, depth)

    def _sequence(self, body: Stmt, depth: int, results: Sequence[Var]) -> None:
        if type(body) is not SeqStmts:
            self.statement(body, depth, results)
            return
        stmts = body.stmts
        if results:
            for stmt in stmts[:-1]:
                self._child(stmt, depth, ())
            for stmt in stmts[-1:]:
                self._child(stmt, depth, results)
            return
        assign = self.assign
        comments = self.session.comments
        for at, stmt in enumerate(stmts):
            if type(stmt) is AssignStmt:
                if stmt.leading_comments:
                    comments(stmt.leading_comments, depth)
                assign(stmt, depth, ())
                if stmt.trailing_comments:
                    comments(stmt.trailing_comments, depth)
            elif isinstance(stmt, ScopeStmt) and TASK in stmt.attrs:
                self._task_scope(stmt, stmts[at - 1] if at else None, depth)
            else:
                self._child(stmt, depth, ())

    def _task_scope(self, stmt: ScopeStmt, before: Stmt | None, depth: int) -> None:
        """A scope with a task; the statement before it is taken away again when it only assigns the task's variable no task."""
        session = self.session
        task = stmt.attrs[TASK]
        if session.sugar and before is not None and isinstance(task, Var) and is_bare_assignment(before, NO_TASK, task):
            lines, session.lines = session.lines, []
            self.statement(before, depth)
            del lines[len(lines) - len(session.lines) :]
            session.lines = lines
            self.preset = stmt
        self._child(stmt, depth, ())

    def _apart(self, body: SeqStmts, depth: int, results: Sequence[Var]) -> None:
        """A sequence that would be lost if its statements were written in its place: one in another sequence, or of one statement."""
        session = self.session
        session.comments(body.leading_comments, depth)
        session.line(("with ", f"{session.prefix}.seq", "(", ")", ":"), depth)
        before = len(session.lines)
        self._sequence(body, depth + 1, results)
        if len(session.lines) == before:
            session.line(("pass",), depth + 1)
        session.comments(body.trailing_comments, depth + 1)

    def _child(self, stmt: Stmt, depth: int, results: Sequence[Var]) -> None:
        if type(stmt) is SeqStmts and self.session.exact:
            self._apart(stmt, depth, results)
            return
        self._sequence(stmt, depth, results)
        if stmt.trailing_comments:
            self.session.comments(stmt.trailing_comments, depth)

    def statement(self, stmt: Stmt, depth: int, results: Sequence[Var] = ()) -> None:
        """Write one statement with the comments above it."""
        if stmt.leading_comments:
            self.session.comments(stmt.leading_comments, depth)
        handler = self.handlers.get(type(stmt))
        if handler is not None:
            handler(stmt, depth, results)
        else:
            self.unknown(stmt, depth)

    # -- simple statements -----------------------------------------------------------------------------------------------

    def assign(self, stmt: AssignStmt, depth: int, _results: Sequence[Var]) -> None:
        """``x: T = value``."""
        session = self.session
        var, value = stmt.var, stmt.value
        type_ = var.type
        name = session.names[var]
        out: Pieces = [name]
        given: Type | None = None
        if not session.concise or not self._is_inferred(type_, value):
            given = type_
            out += (": ", SOFT_OPEN)
            out += session.types.pieces(type_)
            out.append(SOFT_CLOSE)
        out += (" = ", SOFT_OPEN)
        if type(value) is Call:
            session.calls.target = name
            session.calls.call(value, out, given)
        else:
            session.expressions.emit(value, out)
        out.append(SOFT_CLOSE)
        session.line(out, depth)

    def _is_inferred(self, type_: Type, value: Expr) -> bool:
        """Whether reading the value alone gives the target its type."""
        if isinstance(value, Call):
            if self.session.exact:
                implied = self.session.implied_type(value)
                return implied is not None and (type_ is implied or type_ == implied) and value.type == type_
            return True
        return value.type is type_ or value.type == type_

    def evaluate(self, stmt: EvalStmt, depth: int, _results: Sequence[Var]) -> None:
        """An expression on a line of its own."""
        out: Pieces = []
        soft = is_soft_alone(stmt.expr)
        if soft:
            out.append(SOFT_OPEN)
        self.session.expressions.emit(stmt.expr, out)
        if soft:
            out.append(SOFT_CLOSE)
        self.session.line(out, depth)

    def word(self, stmt: Stmt, depth: int, _results: Sequence[Var]) -> None:
        """``break``, ``continue``."""
        self.session.line(("break" if type(stmt) is BreakStmt else "continue",), depth)

    def return_(self, stmt: ReturnStmt, depth: int, _results: Sequence[Var]) -> None:
        """``return a, b``."""
        if not stmt.value:
            self.session.line(("return",), depth)
            return
        out: Pieces = ["return ", SOFT_OPEN]
        self.session.expressions.items(stmt.value, out)
        out.append(SOFT_CLOSE)
        self.session.line(out, depth)

    def yield_(self, stmt: YieldStmt, depth: int, results: Sequence[Var]) -> None:
        """``r: T = pl.yield_(v)`` at the end of a branch or loop with results, ``pl.yield_(v)`` elsewhere."""
        session = self.session
        out: Pieces = []
        types: Sequence[Type] = ()
        if len(results) == 1:
            type_ = results[0].type
            out.append(session.names[results[0]])
            value = stmt.value[0] if len(stmt.value) == 1 else None
            same = value is not None and (value.type is type_ or value.type == type_)
            if value is not None and not same and session.exact and not self._is_stated(value, type_):
                types = [type_]
            elif not (session.concise and same):
                out += (": ", SOFT_OPEN, *session.types.pieces(type_), SOFT_CLOSE)
            out += (" = ", SOFT_OPEN)
        elif results:
            out.append(SOFT_OPEN)
            for at, var in enumerate(results):
                if at:
                    out.append(", ")
                out.append(session.names[var])
            out += (SOFT_CLOSE, " = ", SOFT_OPEN)
            if not _same_types([v.type for v in results], [v.type for v in stmt.value]):
                types = [v.type for v in results]
        out += (f"{session.prefix}.yield_", "(")
        session.expressions.items(stmt.value, out)
        if types:
            if stmt.value:
                out.append(", ")
            out += ("result_types", "=")
            session.plain.types(types, out)
        out.append(")")
        if results:
            out.append(SOFT_CLOSE)
        session.line(out, depth)

    def _is_stated(self, value: Expr, type_: Type) -> bool:
        """True when a result that is annotated with another type than its value has leaves the value as it is."""
        return isinstance(value, Var) and not isinstance(type_, ScalarType) and can_state(value.type, type_)

    def inline(self, stmt: InlineStmt, depth: int, _results: Sequence[Var]) -> None:
        """Verbatim text, moved to the indent of the place."""
        margin = INDENT * depth
        for line in stmt.body.splitlines():
            self.session.lines.append(f"{margin}{line}" if line.strip() else "")

    # -- branches and loops ----------------------------------------------------------------------------------------------

    def branch(self, stmt: IfStmt, depth: int, _results: Sequence[Var]) -> None:
        """``if c:`` and ``else:``."""
        session = self.session
        out: Pieces = ["if ", SOFT_OPEN]
        session.expressions.emit(stmt.condition, out)
        out += (SOFT_CLOSE, ":")
        session.line(out, depth)
        self.block(stmt.then_body, depth + 1, stmt.return_vars)
        if stmt.else_body is not None:
            session.line(("else", ":"), depth)
            self.block(stmt.else_body, depth + 1, stmt.return_vars)

    def loop(self, stmt: ForStmt, depth: int, _results: Sequence[Var]) -> None:
        """``for i, (acc,) in pl.range(n, init_values=(zero,)):``."""
        session = self.session
        out: Pieces = ["for ", SOFT_OPEN, session.names[stmt.loop_var]]
        if stmt.iter_args:
            out.append(", ")
            self._names(stmt.iter_args, out)
        out += (SOFT_CLOSE, " in ", SOFT_OPEN, f"{session.prefix}.{_LOOPS[stmt.kind]}", "(")
        bounds = written_bounds(stmt, session.sugar)
        session.expressions.items(bounds, out)
        attrs = dict(stmt.attrs)
        stages = attrs.get("pipeline_stages")
        if stmt.kind is ForKind.Pipeline and type(stages) is int:
            del attrs["pipeline_stages"]
            out += (", ", "stage", "=", str(stages))
        type_ = stmt.loop_var.type
        if isinstance(type_, ScalarType) and type_.dtype is not loop_variable_dtype(bounds):
            out += (", ", "dtype", "=", f"{session.prefix}.{type_.dtype.name}")
        self._carried(stmt.iter_args, out)
        if attrs:
            out += (", ", "attrs", "=")
            session.values.mapping(attrs, out)
        out += (")", SOFT_CLOSE, ":")
        session.line(out, depth)
        self.block(stmt.body, depth + 1, stmt.return_vars)

    def while_loop(self, stmt: WhileStmt, depth: int, _results: Sequence[Var]) -> None:
        """``while c:``, or ``for a, b in pl.while_(init_values=(x, y)):`` with the condition as the first line of the body."""
        session = self.session
        out: Pieces
        if not stmt.iter_args:
            out = ["while ", SOFT_OPEN]
            session.expressions.emit(stmt.condition, out)
            out += (SOFT_CLOSE, ":")
            session.line(out, depth)
            self.block(stmt.body, depth + 1, stmt.return_vars)
            return
        out = ["for "]
        if len(stmt.iter_args) == 1:
            self._names(stmt.iter_args, out)
        else:
            out.append(SOFT_OPEN)
            for at, arg in enumerate(stmt.iter_args):
                if at:
                    out.append(", ")
                out.append(session.names[arg])
            out.append(SOFT_CLOSE)
        out += (" in ", SOFT_OPEN, f"{session.prefix}.while_", "(")
        self._carried(stmt.iter_args, out, first=True)
        out += (")", SOFT_CLOSE, ":")
        session.line(out, depth)
        condition: Pieces = [f"{session.prefix}.cond", "("]
        session.expressions.emit(stmt.condition, condition)
        condition.append(")")
        session.line(condition, depth + 1)
        if not (type(stmt.body) is SeqStmts and not stmt.body.stmts and not stmt.body.trailing_comments):
            self.block(stmt.body, depth + 1, stmt.return_vars)

    def _names(self, args: Sequence[Var], out: Pieces) -> None:
        """A tuple of names; one of a single name keeps its comma."""
        out.append("(")
        for at, arg in enumerate(args):
            if at:
                out.append(", ")
            out.append(self.session.names[arg])
        out += (",", ")") if len(args) == 1 else (")",)

    def _carried(self, args: Sequence[IterArg], out: Pieces, first: bool = False) -> None:
        if not args:
            return
        session = self.session
        if not first:
            out.append(", ")
        out += ("init_values", "=", "(")
        session.expressions.items([arg.initValue for arg in args], out)
        out += (",", ")") if len(args) == 1 else (")",)
        if not _same_types([arg.type for arg in args], [arg.initValue.type for arg in args]):
            out += (", ", "iter_types", "=")
            session.plain.types([arg.type for arg in args], out)

    # -- scopes ----------------------------------------------------------------------------------------------------------

    def scope(self, stmt: ScopeStmt, depth: int, results: Sequence[Var]) -> None:
        """``with pl.scope():`` and its kin. A yield at the end of a runtime scope is that of the block around it."""
        preset, self.preset = self.preset is stmt, None
        found = self.scopes.loop(stmt) if self.session.sugar else None
        head, body = found or (self.scopes.head(stmt, preset), stmt.body)
        self.session.line(head, depth)
        self.block(body, depth + 1, results if type(stmt) is RuntimeScopeStmt else (), is_whole=found is None)

    def unknown(self, stmt: Stmt, depth: int) -> None:
        """A statement of a kind that has no spelling of its own, from its fields."""
        out: Pieces = []
        bodies = [getattr(stmt, f.name) for f in stmt.FIELDS if f.kind in (FieldKind.STMT, FieldKind.OPTIONAL_STMT)]
        if bodies:
            out.append("with ")
        self.session.plain.statement(stmt, out)
        if bodies:
            out.append(":")
        self.session.line(out, depth)
        for body in bodies:
            if body is not None:
                self.block(body, depth + 1)


def _same_types(left: Sequence[Type], right: Sequence[Type]) -> bool:
    return len(left) == len(right) and all(a is b or a == b for a, b in zip(left, right, strict=True))
