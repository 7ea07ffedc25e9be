"""What the functions of a program need to know of one another before code is made for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pypto.ir.enums import ArgEffect, ParamDirection
from pypto.ir.expr import Call, ConstBool, ConstFloat, ConstInt, Expr, IterArg, MakeTuple, Submit, TupleGetItemExpr, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import Node, children
from pypto.ir.stmt import (
    AssignStmt,
    CommDomainScopeStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    flatten_to_stmts,
)
from pypto.ir.types import DistributedTensorType, TensorType, TupleType, Type
from pypto.ops.declare import Declaration
from pypto.runtime.operators import effect_on
from pypto.runtime.reach import asks_world


class FunctionFacts:
    """Of one function: whether it reaches other ranks, whether it is host code, which parameters are signals, which it gives back.

    ``returned`` has an entry for each result: the position of the parameter that is returned itself (whatever was written into it), or
    None. ``windows`` are the parameters whose type says nothing of ranks, but that are given windows somewhere in the program.
    """

    __slots__ = ("distributed", "host", "param_directions", "returned", "signals", "windows")

    def __init__(
        self,
        distributed: bool,
        host: bool,
        param_directions: Sequence[ParamDirection],
        returned: Sequence[int | None] = (),
        signals: frozenset[int] = frozenset(),
        windows: frozenset[int] = frozenset(),
    ) -> None:
        self.distributed = distributed
        self.host = host
        self.param_directions = param_directions
        self.returned = returned
        self.signals = signals
        self.windows = windows

    @property
    def key(self) -> tuple[object, ...]:
        """All of it as one hashable value."""
        return (self.distributed, self.host, tuple(self.param_directions), tuple(self.returned), self.signals, self.windows)


class _Survey:
    """What one walk over a function shows: the functions it calls, the operators that reach other ranks, and whether it is scoped."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.calls: list[Call | Submit] = []
        self.reaching: list[Call] = []
        self.scoped = False
        special: dict[Declaration, bool] = {}
        for node in _calls_and_scopes(function.body):
            if isinstance(node, CommDomainScopeStmt):
                self.scoped = True
            elif node.op.is_function:
                self.calls.append(node)
            elif isinstance(node, Call) and isinstance(node.op, Declaration):
                reaches = special.get(node.op)
                if reaches is None:
                    reaches = special[node.op] = node.op.communicates or node.op.kernel is not None or asks_world(node.op)
                if reaches or (node.attrs and "device" in node.attrs):
                    self.reaching.append(node)
        self.dispatches = any("device" in call.attrs for call in [*self.calls, *self.reaching])


class Facts:
    """The facts of a program's functions, found when they are first asked for."""

    def __init__(self, program: Program | None) -> None:
        self._program = program
        self._known: dict[str, FunctionFacts] = {}
        self._alone: dict[int, tuple[Function, FunctionFacts]] = {}
        self._surveys: dict[str, _Survey] = {}
        self._origins: dict[str, _Origins] = {}
        self._given: dict[str, set[int]] | None = None

    def of_callee(self, name: str) -> FunctionFacts | None:
        """The facts of a function of the program, None when there is none of that name."""
        known = self._known.get(name)
        if known is not None or self._function(name) is None:
            return known
        path: list[str] = [name]
        tried: set[str] = set()
        while path:
            at = path[-1]
            first = at not in tried
            tried.add(at)
            below = [c.op.name for c in self._survey(at).calls]
            # those that call one another in a circle are left out the second time
            waiting = (
                [b for b in below if b not in self._known and b not in tried and self._function(b) is not None] if first else []
            )
            if waiting:
                path += waiting
                continue
            path.pop()
            if at not in self._known:
                survey = self._survey(at)
                self._known[at] = self._find(survey)
        return self._known[name]

    def most_blocks(self) -> int:
        """The largest number of blocks of a rank that run at once anywhere in the program."""
        if self._program is None:
            return 1
        calls = [call for g in self._program.functions for call in self._survey(g.name).reaching]
        counts = [
            call.kwargs.get(call.op.blocks) for call in calls if isinstance(call.op, Declaration) and call.op.blocks is not None
        ]
        return max([1, *[count for count in counts if isinstance(count, int)]])

    def of(self, function: Function) -> FunctionFacts:
        """The facts of a function."""
        if self._function(function.name) is function:
            found = self.of_callee(function.name)
            assert found is not None
            return found
        known = self._alone.get(id(function))
        if known is None:
            known = self._alone[id(function)] = (function, self._find(_Survey(function)))
        return known[1]

    def _function(self, name: str) -> Function | None:
        return None if self._program is None else self._program.get_function(name)

    def _survey(self, name: str) -> _Survey:
        known = self._surveys.get(name)
        if known is None:
            function = self._function(name)
            assert function is not None
            known = self._surveys[name] = _Survey(function)
        return known

    def _found(self, name: str) -> FunctionFacts | None:
        return self._known.get(name)

    def _find(self, survey: _Survey) -> FunctionFacts:
        function = survey.function
        callees = [self._known.get(call.op.name) for call in survey.calls]
        windows = frozenset(self._given_windows().get(function.name, ()) if self._function(function.name) is function else ())
        distributed = (
            survey.scoped
            or survey.dispatches
            or bool(survey.reaching)
            or bool(windows)
            or any(_is_distributed(p.type) for p in function.params)
            or any(c is not None and c.distributed for c in callees)
        )
        origin = _Origins(function, self._found)
        host = distributed and (survey.dispatches or function.is_host_orchestrator)
        signals = frozenset(origin.signals([*survey.calls, *survey.reaching]))
        return FunctionFacts(distributed, host, function.param_directions, origin.returned(), signals, windows)

    def _given_windows(self) -> Mapping[str, set[int]]:
        """The parameters of plain tensor types that are given windows, by function."""
        if self._given is not None:
            return self._given
        given: dict[str, set[int]] = {}
        self._given = given
        if self._program is None:
            return given
        surveys = [self._survey(g.name) for g in self._program.functions]
        changed = True
        while changed:
            changed = False
            for survey in surveys:
                mine = given.get(survey.function.name)
                for call in survey.calls:
                    callee = self._function(call.op.name)
                    if callee is None:
                        continue
                    for at, (param, arg) in enumerate(zip(callee.params, call.args, strict=False)):
                        if not isinstance(param.type, TensorType) or isinstance(param.type, DistributedTensorType):
                            continue
                        if at in given.get(callee.name, ()) or not self._is_window(survey.function, mine, arg):
                            continue
                        given.setdefault(callee.name, set()).add(at)
                        changed = True
        return given

    def _is_window(self, function: Function, given: set[int] | None, arg: Expr) -> bool:
        if isinstance(arg.type, DistributedTensorType):
            return True
        if not given:
            return False
        origins = self._origins.get(function.name)
        if origins is None:
            origins = self._origins[function.name] = _Origins(function, self._found)
        return origins.part(arg) in given


_LEAVES = (Var, ConstInt, ConstFloat, ConstBool)


def _calls_and_scopes(body: Stmt) -> Iterator[Call | Submit | CommDomainScopeStmt]:
    """Every call of a body, wherever it stands, and every scope with a domain."""
    pending: list[Node] = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, SeqStmts):
            pending += reversed(node.stmts)
            continue
        if isinstance(node, AssignStmt):
            node = node.value
        if isinstance(node, Call):
            yield node
            for arg in node.args:
                if type(arg) not in _LEAVES and not (type(arg) is MakeTuple and all(type(e) in _LEAVES for e in arg.elements)):
                    pending.append(arg)
            if node.attrs:
                pending += [v for v in node.attrs.values() if isinstance(v, Expr)]
            continue
        if isinstance(node, Submit | CommDomainScopeStmt):
            yield node
        if type(node) not in _LEAVES:
            pending += [c for c in children(node) if isinstance(c, Stmt | Expr)]


def _is_distributed(type_: Type) -> bool:
    return isinstance(type_, DistributedTensorType) or (
        isinstance(type_, TupleType) and any(_is_distributed(t) for t in type_.types)
    )


def value_sources(body: Stmt, returns: list[ReturnStmt] | None = None) -> dict[Var, list[Expr]]:
    """What each variable of a body may be: assigned values, and what loops and branches hand on. Return statements go to ``returns``."""
    sources: dict[Var, list[Expr]] = {}
    pending: list[tuple[Stmt, Sequence[Var]]] = [(body, [])]
    while pending:
        at, results = pending.pop()
        for stmt in flatten_to_stmts(at):
            if isinstance(stmt, AssignStmt):
                sources.setdefault(stmt.var, []).append(stmt.value)
            elif isinstance(stmt, ReturnStmt):
                if returns is not None:
                    returns.append(stmt)
            elif isinstance(stmt, YieldStmt):
                for var, value in zip(results, stmt.value, strict=False):
                    sources.setdefault(var, []).append(value)
            elif isinstance(stmt, IfStmt):
                pending.append((stmt.then_body, stmt.return_vars))
                if stmt.else_body is not None:
                    pending.append((stmt.else_body, stmt.return_vars))
            elif isinstance(stmt, ForStmt | WhileStmt):
                for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=False):
                    sources.setdefault(arg, []).append(arg.initValue)
                    sources.setdefault(var, []).append(arg)
                pending.append((stmt.body, stmt.iter_args))
            else:
                inner = getattr(stmt, "body", None)
                if isinstance(inner, Stmt):
                    pending.append((inner, results))
    return sources


class _Origins:
    """Which parameter a variable is, through copies, writes in place, loops and branches."""

    def __init__(self, function: Function, callee: Callable[[str], FunctionFacts | None]) -> None:
        self._callee = callee
        self._position = {p: i for i, p in enumerate(function.params)}
        self._returns: list[ReturnStmt] = []
        self._sources = value_sources(function.body, self._returns)

    def returned(self) -> list[int | None]:
        """For each result the parameter it is."""
        if not self._returns:
            return []
        found: list[int | None] = []
        for at in range(len(self._returns[0].value)):
            origins = {self._whole(r.value[at]) if at < len(r.value) else None for r in self._returns}
            found.append(origins.pop() if len(origins) == 1 else None)
        return found

    def signals(self, calls: Sequence[Call | Submit]) -> Iterator[int]:
        """The parameters whose windows hold signals: somebody waits for their cells."""
        for call in calls:
            if call.op.is_function:
                callee = self._callee(call.op.name)
                places = callee.signals if callee is not None else ()
                operands = [call.args[i] for i in places if i < len(call.args)]
            else:
                declaration = call.op
                assert isinstance(declaration, Declaration)
                # a cell that is only posted to holds a number for its owner to read
                whole = declaration.collective or declaration.kernel is not None
                wanted = declaration.signals if whole else (declaration.waits,)
                params = declaration.params_of(len(call.args))
                operands = [a for p, a in zip(params, call.args, strict=False) if p.name in wanted]
            for operand in operands:
                at = self.part(operand)
                if at is not None:
                    yield at

    def _whole(self, expr: Expr) -> int | None:
        """The parameter that a value is, all of it."""
        return self._trace(expr, views=False)

    def part(self, expr: Expr) -> int | None:
        """The parameter that a value is, or is a view of."""
        return self._trace(expr, views=True)

    def _trace(self, expr: Expr, views: bool) -> int | None:
        origins: set[int] = set()
        seen: set[Var] = set()
        stack: list[Expr] = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, Var):
                if node in self._position and node not in self._sources:
                    origins.add(self._position[node])
                    continue
                if node in seen:
                    continue
                seen.add(node)
                sources = self._sources.get(node)
                if not sources and not isinstance(node, IterArg):
                    return None
                if node in self._position:
                    origins.add(self._position[node])
                stack += sources or []
            else:
                below = self._below(node, views)
                if below is None:
                    return None
                stack.append(below)
        return origins.pop() if len(origins) == 1 else None

    def _below(self, node: Expr, views: bool) -> Expr | None:
        """The operand that an expression passes on."""
        index = 0
        whole = node
        if isinstance(node, TupleGetItemExpr):
            index, whole = node.index, node.tuple
            seen = 0
            while isinstance(whole, Var) and seen < 64:
                sources = self._sources.get(whole, [])
                if len(sources) != 1:
                    return None
                whole = sources[0]
                seen += 1
            if isinstance(whole, MakeTuple):
                return whole.elements[index]
        if isinstance(whole, Call | Submit) and whole.op.is_function:
            callee = self._callee(whole.op.name)
            if callee is None or index >= len(callee.returned):
                return None
            at = callee.returned[index]
            return whole.args[at] if at is not None and at < len(whole.args) else None
        if isinstance(whole, Call) and isinstance(whole.op, Declaration) and whole.op.alias is not None and whole is node:
            for param, arg in zip(whole.op.params_of(len(whole.args)), whole.args, strict=False):
                if param.name == whole.op.alias:
                    written = effect_on(whole.op, param.name, whole.kwargs) is not ArgEffect.Read
                    return arg if views or written else None
        return None
