"""The heads of scopes as text. What a scope kind has no keyword for is kept in ``attrs={...}``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import Level, SplitMode
from pypto.ir.expr import Expr, Var
from pypto.ir.stmt import (
    AssignStmt,
    ClusterScopeStmt,
    CommDomainScopeStmt,
    HierarchyScopeStmt,
    InCoreScopeStmt,
    RuntimeScopeStmt,
    ScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
)
from pypto.ir.types import ScalarType
from pypto.ops.syntax import BLOCK_INDEX, DEPENDENCIES, DUMPED, LANE_INDEX, TASK, is_bare_assignment
from pypto.printer.pieces import SOFT_CLOSE, SOFT_OPEN, quoted
from pypto.printer.session import Session

Pieces = list[str]


class _Head:
    """``with name(a, key=value):`` as it is put together; ``attrs`` is what has not been written yet."""

    def __init__(self, session: Session, name: str, stmt: ScopeStmt, target: Var | None = None) -> None:
        self.session = session
        self.out: Pieces = ["with ", name, "("]
        if target is not None:
            self.out = ["for ", SOFT_OPEN, session.names[target], SOFT_CLOSE, " in ", SOFT_OPEN, name, "("]
        self.is_loop = target is not None
        self.any = False
        self.attrs: dict[str, AttrValue] = dict(stmt.attrs)
        self.name_hint = stmt.name_hint

    def argument(self) -> Pieces:
        """Start a positional argument."""
        if self.any:
            self.out.append(", ")
        self.any = True
        return self.out

    def keyword(self, name: str) -> Pieces:
        """Start a named argument."""
        out = self.argument()
        out += (name, "=")
        return out

    def hint(self) -> None:
        """The name hint, when there is one."""
        if self.name_hint:
            self.keyword("name_hint").append(quoted(self.name_hint))

    def variables(self, *keys: tuple[str, str]) -> None:
        """Lists of variables under keywords of their own."""
        for key, name in keys:
            value = self.attrs.get(key)
            if isinstance(value, list):
                del self.attrs[key]
                self.session.values.emit(value, self.keyword(name))

    def flags(self, *keys: str) -> None:
        """Flags that are set."""
        for key in keys:
            if self.attrs.get(key) is True:
                del self.attrs[key]
                self.keyword(key).append("True")

    def optimizations(self, split: SplitMode) -> None:
        """``optimizations=[...]``: the split mode and the number of slots."""
        prefix = self.session.prefix
        parts: list[Pieces] = []
        if split is not SplitMode.NONE:
            parts.append([f"{prefix}.split", "(", f"{prefix}.SplitMode.{split.name}", ")"])
        slots = self.attrs.get("slot_num")
        if type(slots) is int and slots >= 1:
            del self.attrs["slot_num"]
            parts.append([f"{prefix}.cross_core_slot", "(", "slot_num", "=", str(slots), ")"])
        if parts:
            out = self.keyword("optimizations")
            out.append("[")
            for at, part in enumerate(parts):
                out += (", ", *part) if at else part
            out.append("]")

    def predicate(self) -> None:
        """``predicate=(...)``."""
        value = self.attrs.get("predicate")
        if isinstance(value, Expr):
            del self.attrs["predicate"]
            self.session.predicate(value, self.keyword("predicate"))

    def close(self, is_preset: bool = False) -> Pieces:
        """The rest: other attributes, and the name of the task; ``is_preset`` when it was assigned no task just before, as reading does."""
        task = self.attrs.get(TASK)
        if isinstance(task, Var) and task.type == ScalarType(DataType.TASK_ID):
            del self.attrs[TASK]
            if self.session.exact and not is_preset:
                self.keyword("placeholder").append("False")
        else:
            task = None
        if self.attrs:
            self.session.values.mapping(self.attrs, self.keyword("attrs"))
        self.out.append(")")
        if self.is_loop:
            self.out.append(SOFT_CLOSE)
        if task is not None:
            self.out += (" as ", self.session.names[task])
        self.out.append(":")
        return self.out


_DEPENDENCIES = (
    (DEPENDENCIES, "deps"),
    ("arg_direction_overrides_vars", "no_dep_args"),
    (DUMPED, "dumps"),
)


_NOT_IN_LOOPS = frozenset((DEPENDENCIES, "arg_direction_overrides_vars", DUMPED, TASK, "slot_num"))
"""Attributes of a scope that ``for i in pl.spmd(...)`` has no place for."""


def _indexed(body: Stmt, operator: str) -> tuple[Var, Stmt] | None:
    """The variable that the first statement of a body assigns its index, and the rest of the body; None when there is none."""
    if type(body) is not SeqStmts:
        if is_bare_assignment(body, operator):
            assert isinstance(body, AssignStmt)
            return body.var, SeqStmts([])
        return None
    first = body.stmts[0] if len(body.stmts) > 1 else None
    if first is None or not is_bare_assignment(first, operator):
        return None
    assert isinstance(first, AssignStmt)
    rest = SeqStmts(body.stmts[1:], body.span)
    rest.trailing_comments = body.trailing_comments
    return first.var, rest


class Scopes:
    """Writes the heads of scopes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.is_preset = False
        self.heads: dict[type[ScopeStmt], Callable[[Any], Pieces]] = {
            InCoreScopeStmt: self.incore,
            ClusterScopeStmt: self.cluster,
            HierarchyScopeStmt: self.hierarchy,
            SpmdScopeStmt: self.spmd,
            SplitAivScopeStmt: self.split_aiv,
            RuntimeScopeStmt: self.runtime,
            CommDomainScopeStmt: self.comm_domain,
        }

    def head(self, stmt: ScopeStmt, is_preset: bool = False) -> Pieces:
        """The line that opens a scope; ``is_preset`` when the statement before it assigns its task variable no task."""
        self.is_preset = is_preset
        return self.heads[type(stmt)](stmt)

    def loop(self, stmt: ScopeStmt) -> tuple[Pieces, Stmt] | None:
        """``for i in pl.spmd(n):`` or ``for lane in pl.split_aiv(2, mode=...):`` and the body, for a scope that reads back from it."""
        if type(stmt) is SplitAivScopeStmt:
            found = _indexed(stmt.body, LANE_INDEX)
            if found is None:
                return None
            head = _Head(self.session, f"{self.session.prefix}.split_aiv", stmt, found[0])
            self._split_parts(head, stmt)
            return head.close(), found[1]
        inner = stmt.body
        if type(stmt) is not SpmdScopeStmt or type(inner) is not InCoreScopeStmt:
            return None
        found = _indexed(inner.body, BLOCK_INDEX)
        named = stmt.name_hint == (f"{inner.name_hint}_spmd" if inner.name_hint else "")
        slots = inner.attrs.get("slot_num", 1)
        plain = not inner.leading_comments and not inner.trailing_comments and not inner.attrs.keys() - {"slot_num"}
        if found is None or not named or not plain or type(slots) is not int or slots < 1 or stmt.attrs.keys() & _NOT_IN_LOOPS:
            return None
        head = _Head(self.session, f"{self.session.prefix}.spmd", stmt, found[0])
        head.name_hint = inner.name_hint
        if inner.attrs:
            head.attrs["slot_num"] = slots
        self.session.expressions.emit(stmt.core_num, head.argument())
        if stmt.sync_start:
            head.keyword("sync_start").append("True")
        head.optimizations(inner.split)
        head.hint()
        head.flags("allow_early_resolve")
        head.predicate()
        return head.close(), found[1]

    def _start(self, name: str, stmt: ScopeStmt) -> _Head:
        return _Head(self.session, f"{self.session.prefix}.{name}", stmt)

    def incore(self, stmt: InCoreScopeStmt) -> Pieces:
        """``with pl.at(level=pl.Level.CORE_GROUP, ...):``."""
        head = self._start("at", stmt)
        head.keyword("level").append(f"{self.session.prefix}.Level.CORE_GROUP")
        head.optimizations(stmt.split)
        head.hint()
        head.variables(*_DEPENDENCIES)
        head.flags("allow_early_resolve", "windowize")
        head.predicate()
        return head.close(self.is_preset)

    def hierarchy(self, stmt: HierarchyScopeStmt) -> Pieces:
        """``with pl.at(level=pl.Level.X, role=pl.Role.Y, ...):``; ``pl.hierarchy`` where ``pl.at`` would mean a kernel."""
        head = self._start("hierarchy" if stmt.level is Level.CORE_GROUP else "at", stmt)
        head.keyword("level").append(f"{self.session.prefix}.Level.{stmt.level.name}")
        if stmt.role is not None:
            head.keyword("role").append(f"{self.session.prefix}.Role.{stmt.role.name}")
        head.hint()
        head.variables(*_DEPENDENCIES)
        head.flags("allow_early_resolve", "windowize")
        head.predicate()
        return head.close(self.is_preset)

    def cluster(self, stmt: ClusterScopeStmt) -> Pieces:
        """``with pl.cluster(name_hint="h"):``."""
        head = self._start("cluster", stmt)
        head.hint()
        return head.close()

    def spmd(self, stmt: SpmdScopeStmt) -> Pieces:
        """``with pl.spmd(n, ...):``."""
        head = self._start("spmd", stmt)
        self.session.expressions.emit(stmt.core_num, head.argument())
        if stmt.sync_start:
            head.keyword("sync_start").append("True")
        head.hint()
        head.variables(*_DEPENDENCIES)
        head.flags("allow_early_resolve")
        head.predicate()
        return head.close(self.is_preset)

    def split_aiv(self, stmt: SplitAivScopeStmt) -> Pieces:
        """``with pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):``."""
        head = self._start("split_aiv", stmt)
        self._split_parts(head, stmt)
        return head.close()

    def _split_parts(self, head: _Head, stmt: SplitAivScopeStmt) -> None:
        head.argument().append(str(stmt.count))
        head.keyword("mode").append(f"{self.session.prefix}.SplitMode.{stmt.split.name}")
        head.hint()

    def runtime(self, stmt: RuntimeScopeStmt) -> Pieces:
        """``with pl.scope():``."""
        head = self._start("scope", stmt)
        if stmt.manual:
            head.keyword("mode").append(f"{self.session.prefix}.ScopeMode.MANUAL")
        head.hint()
        return head.close()

    def comm_domain(self, stmt: CommDomainScopeStmt) -> Pieces:
        """``with pld.comm_domain("comm_d0", devices=[0, 1], windows=["data_buf"]):``."""
        head = _Head(self.session, "pld.comm_domain", stmt)
        head.argument().append(quoted(stmt.name_hint))
        if stmt.devices:
            self.session.values.emit([int(device) for device in stmt.devices], head.keyword("devices"))
        out = head.keyword("windows")
        out.append("[")
        for at, slot in enumerate(stmt.slots):
            if at:
                out.append(", ")
            out.append(quoted(self.session.quoted_name(slot.base)))
        out.append("]")
        return head.close()
