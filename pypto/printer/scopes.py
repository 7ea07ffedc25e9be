"""The heads of scopes as text. What a scope kind has no keyword for is kept in ``attrs={...}``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ir.attrs import AttrValue
from pypto.ir.enums import Level, SplitMode
from pypto.ir.expr import Expr, Var
from pypto.ir.stmt import (
    ClusterScopeStmt,
    CommDomainScopeStmt,
    HierarchyScopeStmt,
    InCoreScopeStmt,
    RuntimeScopeStmt,
    ScopeStmt,
    SplitAivScopeStmt,
    SpmdScopeStmt,
)
from pypto.printer.pieces import quoted
from pypto.printer.session import Session

Pieces = list[str]


class _Head:
    """``with name(a, key=value):`` as it is put together; ``attrs`` is what has not been written yet."""

    def __init__(self, session: Session, name: str, stmt: ScopeStmt) -> None:
        self.session = session
        self.out: Pieces = ["with ", name, "("]
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

    def close(self) -> Pieces:
        """The rest: other attributes, and the name of the task."""
        task = self.attrs.pop("task_id_var", None)
        if task is not None and not isinstance(task, Var):
            self.attrs["task_id_var"] = task
        if self.attrs:
            self.session.values.mapping(self.attrs, self.keyword("attrs"))
        self.out.append(")")
        if isinstance(task, Var):
            self.out += (" as ", self.session.names[task])
        self.out.append(":")
        return self.out


_DEPENDENCIES = (
    ("manual_dep_edges", "deps"),
    ("arg_direction_overrides_vars", "no_dep_args"),
    ("dump_vars", "dumps"),
)


class Scopes:
    """Writes the heads of scopes."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.heads: dict[type[ScopeStmt], Callable[[Any], Pieces]] = {
            InCoreScopeStmt: self.incore,
            ClusterScopeStmt: self.cluster,
            HierarchyScopeStmt: self.hierarchy,
            SpmdScopeStmt: self.spmd,
            SplitAivScopeStmt: self.split_aiv,
            RuntimeScopeStmt: self.runtime,
            CommDomainScopeStmt: self.comm_domain,
        }

    def head(self, stmt: ScopeStmt) -> Pieces:
        """The line that opens a scope."""
        return self.heads[type(stmt)](stmt)

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
        return head.close()

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
        return head.close()

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
        return head.close()

    def split_aiv(self, stmt: SplitAivScopeStmt) -> Pieces:
        """``with pl.split_aiv(2, mode=pl.SplitMode.UP_DOWN):``."""
        head = self._start("split_aiv", stmt)
        head.argument().append(str(stmt.count))
        head.keyword("mode").append(f"{self.session.prefix}.SplitMode.{stmt.split.name}")
        head.hint()
        return head.close()

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
