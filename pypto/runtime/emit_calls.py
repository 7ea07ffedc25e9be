"""Calls in functions that reach other ranks, and in host code, as Python source.

Such functions become generators that take the rank's door first. A bare ``yield`` stands before every point that another rank can observe
or that observes another rank; host code yields where it needs what tasks compute.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from pypto.ir.attrs import AttrValue
from pypto.ir.expr import Call, Expr, Submit, Var
from pypto.ir.function import Function
from pypto.ir.stmt import CommDomainScopeStmt, Stmt
from pypto.ir.types import ScalarType, TupleType, Type
from pypto.ops.declare import Declaration
from pypto.runtime.analysis import Analysis, has_storage
from pypto.runtime.emitter import Line, Lines
from pypto.runtime.errors import RunError
from pypto.runtime.facts import FunctionFacts, value_sources
from pypto.runtime.host import BuiltinDispatch, Dispatch, HostCollective, closed, is_open, on_host, set_domain
from pypto.runtime.meetings import Meet
from pypto.runtime.operators import Operator
from pypto.runtime.reach import asks_world, local, remote, through_door, view_of_window
from pypto.runtime.signals import post_to, wait_for

DOOR = "_door"
"""The name of the hidden first parameter."""

Kernel = Callable[[Sequence[Type], Mapping[str, AttrValue]], Function]
"""What gives the kernel of a dispatch, for the types of its operands and its keywords."""

_YIELD = re.compile(r"\byield\b")


def pauses(text: str, lines: Sequence[Line] = ()) -> bool:
    """True when source text makes the function it stands in a generator."""
    return bool(_YIELD.search(text)) or any(_YIELD.search(line) for _, line, _ in lines)


def once(lines: Lines, extents: str, texts: Sequence[str]) -> tuple[str, list[str]]:
    """Extents and operands of a call, with what stands in both computed once."""
    texts = [*texts]
    for text in texts:
        if len(text) > _LONG and text.startswith("(") and text in extents:
            name = lines.temporary()
            # not what follows a name: that would be the arguments of a call
            same = re.compile(rf"(?<![\w\])]){re.escape(text)}")
            first = same.search(extents)
            if first is None:
                continue
            begin, end = first.span()
            extents = f"{extents[:begin]}({name} := {text}){same.sub(name, extents[end:])}"
            texts = [name if t == text else t for t in texts]
    return extents, texts


_LONG = 24
"""Shorter texts are not worth a variable."""


class Emitter(Protocol):
    """What is needed of the emitter of the function."""

    lines: Lines
    analysis: Analysis
    callees: dict[str, str]

    def value(self, expr: Expr) -> str:
        """Source of an expression."""
        ...

    def operator(
        self,
        call: Call,
        declaration: Declaration,
        written: bool,
        unstable: bool,
        without: str | None = None,
        wrap: Callable[[Operator], Any] | None = None,
        kind: str = "",
    ) -> tuple[Operator, str]:
        """The operator of a call, and the name of what is called."""
        ...

    def extents(self, operator: Operator) -> str:
        """What the types say about this call."""
        ...

    def kernel(self, function: Function) -> tuple[str, FunctionFacts]:
        """The name of a function that is no function of the program, and its facts."""
        ...


class DistributedCalls:
    """Makes the source of calls in one function that reaches other ranks."""

    def __init__(self, emitter: Emitter, mine: FunctionFacts) -> None:
        self._emitter = emitter
        self.host = mine.host
        self._domains: dict[Var, tuple[int, ...]] = {}

    @property
    def _lines(self) -> Lines:
        return self._emitter.lines

    def _statement(self) -> str:
        statement = self._lines.statement
        return "None" if statement is None else self._lines.use(statement, "stmt")

    def _pause(self) -> None:
        self._lines.add("yield")

    def _named(self, text: str, expr: Expr) -> str:
        """The text of a value that is written more than once."""
        if isinstance(expr, Var):
            return text
        name = self._lines.temporary()
        self._lines.add(f"{name} = {text}")
        return name

    # -- operators -----------------------------------------------------------------------------------------------------

    def operator_call(self, call: Call, declaration: Declaration, written: bool, unstable: bool) -> str | None:
        """Source of an operator's call; None when it is one like any other."""
        if declaration.collective:
            return self._collective(call, declaration)
        if declaration.kernel is not None:
            return self._builtin(call, declaration, declaration.kernel)
        if declaration.waits is not None:
            return self._wait(call, declaration)
        emitter = self._emitter
        if declaration.posts is not None:
            operator, name = emitter.operator(call, declaration, written, unstable, None, lambda o: post_to(o, call), "post")
        elif declaration.remote is not None:
            if self.host:
                self._only_on_ranks(call, declaration)
            operator, name = emitter.operator(call, declaration, written, unstable, "peer", lambda o: remote(o, call), "remote")
        elif asks_world(declaration):
            operator, name = emitter.operator(call, declaration, written, unstable, None, through_door, "door")
            return self._through_door(call, name)
        elif self.host:
            return self._on_host(call, declaration, written, unstable)
        else:
            windows = any(emitter.analysis.is_window(a) for a in call.args if has_storage(a.type))
            if not windows:
                return None
            operator, name = emitter.operator(call, declaration, written, unstable, None, local, "local")
            if view_of_window(operator):
                return None
        if self.host:
            self._only_on_ranks(call, declaration)
        texts = [emitter.value(a) for a in call.args]
        extents, texts = once(self._lines, emitter.extents(operator), texts)
        self._pause()
        return f"{name}({', '.join([DOOR, self._statement(), extents, *texts])})"

    def _only_on_ranks(self, call: Call, declaration: Declaration) -> None:
        raise RunError(
            f"{declaration.name} is done by ranks, not by host code",
            call.span if call.span.is_valid() else None,
            "do it in a function that is dispatched with device=",
            statement=self._lines.statement,
            operator=declaration.name,
        )

    def _through_door(self, call: Call, name: str) -> str:
        texts = [self._emitter.value(a) for a in call.args]
        if self.host:
            texts = self._closed(call.args, texts, wait=False)
        return f"{name}({', '.join([DOOR, self._statement(), 'None', *texts])})"

    def _wait(self, call: Call, declaration: Declaration) -> str:
        if self.host:
            self._only_on_ranks(call, declaration)
        _, name = self._emitter.operator(call, declaration, False, False, None, lambda o: wait_for(o, call), "wait")
        texts = [self._emitter.value(a) for a in call.args]
        self._pause()
        waiting = self._lines.temporary()
        text = f"{name}({', '.join([DOOR, self._statement(), 'None', *texts])})"
        self._lines.add(f"while ({waiting} := {text}) is not None: yield {waiting}")
        return "None"

    def _collective(self, call: Call, declaration: Declaration) -> str:
        meets: list[Meet] = []

        def make(operator: Operator) -> Any:
            meet = Meet(operator, call)
            meets.append(meet)
            if not self.host:
                return meet.come
            signals = [i for i, n in enumerate(meet.names) if n in declaration.signals]
            return HostCollective(meet, self._lines.statement, signals)

        # a collective's place matters in messages, so each call has its own
        kind = f"collective {id(call)}"
        operator, name = self._emitter.operator(call, declaration, True, True, None, make, kind)
        extents = self._emitter.extents(operator)
        texts = [self._emitter.value(a) for a in call.args]
        texts = [self._named(t, a) if has_storage(a.type) else t for t, a in zip(texts, call.args, strict=True)]
        if self.host:
            return f"{name}({', '.join([DOOR, extents, *texts])})"
        self._pause()
        meeting = self._lines.temporary()
        self._lines.add(f"{meeting} = {name}({', '.join([DOOR, self._statement(), extents, *texts])})")
        self._lines.add(f"while not {meeting}.done: yield {meeting}")
        alias = next((i for i, p in enumerate(declaration.params_of(len(call.args))) if p.name == declaration.alias), None)
        return "None" if alias is None else texts[alias]

    # -- host code -----------------------------------------------------------------------------------------------------

    def _builtin(self, call: Call, declaration: Declaration, kernel: Kernel) -> str:
        """A collective's part on one rank, which its kernel does."""
        device = call.attrs.get("device")
        if not self.host or not isinstance(device, Expr):
            raise RunError(
                f"{declaration.name} is dispatched to a rank by host code: it needs a host orchestrator and a device",
                call.span if call.span.is_valid() else None,
                statement=self._lines.statement,
                operator=declaration.name,
            )
        emitter = self._emitter
        function, facts = emitter.kernel(kernel([a.type for a in call.args], call.kwargs))
        blocks = None if declaration.blocks is None else call.kwargs.get(declaration.blocks)
        assert blocks is None or isinstance(blocks, int)
        legal = None if declaration.ranks is None else declaration.ranks(call.args, call.kwargs)
        launch = self._lines.share("builtin", BuiltinDispatch(declaration.name, facts, self._lines.statement, legal, blocks))
        where = emitter.value(device)
        texts = [self._named(emitter.value(a), a) for a in call.args]
        self._lines.add(f"{launch}({', '.join([DOOR, function, where, *texts])})")
        at = declaration.alias_index
        return "None" if at is None else texts[at]

    def _on_host(self, call: Call, declaration: Declaration, written: bool, unstable: bool) -> str | None:
        if not any(has_storage(a.type) for a in call.args):
            return None
        operator, name = self._emitter.operator(call, declaration, written, unstable, None, on_host, "host")
        texts = [self._emitter.value(a) for a in call.args]
        if view_of_window(operator):
            operator, name = self._emitter.operator(call, declaration, written, unstable, None, lambda o: o.apply, "view")
            texts = self._closed(call.args, texts, wait=False)
        else:
            texts = self._closed(call.args, texts, wait=True)
        return f"{name}({', '.join([self._emitter.extents(operator), *texts])})"

    def _closed(self, args: Sequence[Expr], texts: Sequence[str], wait: bool) -> list[str]:
        """Operands of host code, computed: ``wait`` waits for all tasks in any case, else only when one is not computed yet."""
        stored = [has_storage(a.type) for a in args]
        texts = [self._named(t, a) if s else t for t, a, s in zip(texts, args, stored, strict=True)]
        shown = [t for t, s in zip(texts, stored, strict=True) if s]
        if wait:
            self._pause()
        elif shown:
            self._lines.add(f"if {self._lines.use(is_open)}({', '.join(shown)}): yield")
        close = self._lines.use(closed)
        return [f"{close}({t})" if s else t for t, s in zip(texts, stored, strict=True)]

    def scalar(self, name: str) -> str:
        """A scalar variable of host code, which a task may be about to compute."""
        self._lines.add(f"if {self._lines.use(is_open)}({name}): yield")
        return f"{self._lines.use(closed)}({name})"

    # -- functions -----------------------------------------------------------------------------------------------------

    def function_call(self, call: Call | Submit, name: str, callee: FunctionFacts, device: Expr | None) -> str:
        """Source of a function's call."""
        emitter = self._emitter
        texts = [emitter.value(a) for a in call.args]
        if device is not None:
            where = emitter.value(device)
            type_ = call.type
            results = len(type_.types) if isinstance(type_, TupleType) else 1
            submitted = isinstance(call, Submit)
            dispatch = Dispatch(call.op.name, callee, self._lines.statement, submitted, results - submitted)
            launch = self._lines.share("dispatch", dispatch)
            return f"{launch}({', '.join([DOOR, name, where, *texts])})"
        if callee.distributed:
            if callee.host is not self.host:
                raise RunError(
                    f"{call.op.name!r} runs on ranks, and this is host code"
                    if self.host
                    else f"{call.op.name!r} is host code, and this runs on a rank",
                    call.span if call.span.is_valid() else None,
                    "say on which rank it runs: device=" if self.host else None,
                    statement=self._lines.statement,
                )
            return f"(yield from {name}({', '.join([DOOR, *texts])}))"
        if self.host:
            texts = self._closed(call.args, texts, wait=True)
        return f"{name}({', '.join(texts)})"

    # -- domains -------------------------------------------------------------------------------------------------------

    def enter_domain(self, scope: CommDomainScopeStmt) -> None:
        """The buffers of a scope get its devices where they are allocated."""
        known = self._lines.names
        for slot in scope.slots:
            base: Any = getattr(slot, "base", None)
            if isinstance(base, Var):
                self._domains[base] = tuple(scope.devices)
                if base in known:
                    self._set_domain(base)

    def assigned(self, var: Var) -> None:
        """A variable has its value."""
        if var in self._domains:
            self._set_domain(var)

    def _set_domain(self, var: Var) -> None:
        devices = self._domains[var]
        shown = f"({', '.join(map(str, devices))}{',' if len(devices) == 1 else ''})"
        self._lines.add(f"{self._lines.use(set_domain)}({DOOR}, {self._lines.name(var)}, {shown})")


def dispatched_scalars(body: Stmt) -> set[Var]:
    """Scalar variables of host code that tasks may compute."""
    sources = value_sources(body)
    found: set[Var] = set()
    changed = True
    while changed:
        changed = False
        for var, values in sources.items():
            if var not in found and isinstance(var.type, ScalarType | TupleType) and any(_from_task(v, found) for v in values):
                found.add(var)
                changed = True
    return found


def _from_task(value: Expr, found: set[Var]) -> bool:
    while not isinstance(value, Var | Call | Submit):
        inner = getattr(value, "tuple", None)
        if not isinstance(inner, Expr):
            return False
        value = inner
    return value in found if isinstance(value, Var) else "device" in value.attrs and value.op.is_function
