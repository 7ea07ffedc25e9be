"""An IR function as the source of one Python function over NumPy values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto.ir.enums import ParamDirection
from pypto.ir.expr import Call, ConstInt, Expr, MakeTuple, Submit, TupleGetItemExpr, Var
from pypto.ir.function import Function
from pypto.ir.op import find_op
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
    ReturnStmt,
    RuntimeScopeStmt,
    Stmt,
    WhileStmt,
    YieldStmt,
    flatten_to_stmts,
)
from pypto.ir.types import DistributedTensorType, ScalarType, ShapedType, TensorType, TileType, TupleType, Type
from pypto.ops.declare import Declaration
from pypto.runtime.analysis import Analysis, has_storage
from pypto.runtime.dims import DimensionBinder
from pypto.runtime.emit_calls import DOOR, DistributedCalls, dispatched_scalars, once, pauses
from pypto.runtime.emit_scalar import ScalarEmitter
from pypto.runtime.emitter import Line, Lines
from pypto.runtime.errors import RunError
from pypto.runtime.facts import Facts, FunctionFacts
from pypto.runtime.operators import Operator, operator_for, partial_valid
from pypto.runtime.values import hold, overlay, own, restricted, uncovered

_DEEPEST_LOOPS = 15
"""Loops inside one another before a Python function of their own takes the rest: CPython compiles at most 20 nested blocks."""

_TRANSPARENT = (InCoreScopeStmt, ClusterScopeStmt, HierarchyScopeStmt, RuntimeScopeStmt)
"""Scopes that say where a region runs; what it computes is the same."""


class FunctionEmitter:
    """Makes the source of one function. ``callees`` collects the names of the functions it calls."""

    def __init__(self, function: Function, facts: Facts) -> None:
        self.function = function
        self.facts = facts
        self.lines = Lines()
        self.scalars = ScalarEmitter(self.lines, self._non_scalar)
        mine = facts.of(function)
        self.analysis = Analysis(function, self._directions, self._returned, mine.windows)
        self.distributed = DistributedCalls(self, mine) if mine.distributed else None
        self._from_tasks = dispatched_scalars(function.body) if mine.host else set[Var]()
        self.callees: dict[str, str] = {}
        self.kernels: dict[Function, str] = {}
        self.direct_calls: dict[Stmt, tuple[str, list[str]]] = {}
        self._operators: dict[Any, tuple[Operator, str]] = {}
        self._known: set[Var] = set(self.analysis.assigned)
        self._loops = 0
        self._outlined = 0
        self._parts = 0
        self._moved_names: dict[str, None] = {}
        self._assigned_names: list[dict[str, None]] = []
        self._covered = False

    def emit(self) -> list[Line]:
        """The lines of the function; the first is its ``def``."""
        function, lines = self.function, self.lines
        names = [lines.name(p) for p in function.params]
        with lines.indented():
            self._prologue(names)
            self._body(function.body, [])
        lines.statement = None
        head: list[Line] = [(0, f"def {self.entry}({', '.join(names)}):", None)]
        if self.distributed is not None:
            head = [(0, f"def {self.entry}({', '.join([DOOR, *names])}):", None), (1, "if 0: yield", None)]
        if self._moved_names:
            # binds the names here for the parts that declare them nonlocal; never runs
            head += [(1, "if 0:", None), (2, f"{' = '.join(self._moved_names)} = None", None)]
        return head + lines.lines

    def _directions(self, name: str) -> Sequence[ParamDirection] | None:
        callee = self.facts.of_callee(name)
        return None if callee is None else callee.param_directions

    def _returned(self, name: str) -> Sequence[int | None]:
        callee = self.facts.of_callee(name)
        return () if callee is None else callee.returned

    @property
    def entry(self) -> str:
        """The name of the Python function."""
        word = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in self.function.name)
        return f"f_{word}"

    # -- parameters --------------------------------------------------------------------------------------------------

    def _prologue(self, names: Sequence[str]) -> None:
        function, lines, analysis = self.function, self.lines, self.analysis
        DimensionBinder(function, lines, self.scalars, self._known).emit()
        for param, name, direction in zip(function.params, names, function.param_directions, strict=True):
            if not isinstance(param.type, ShapedType) or isinstance(param.type, DistributedTensorType):
                continue  # a window is shared with other ranks: neither copied nor covered
            if direction is ParamDirection.In and analysis.is_written(param):
                lines.add(f"{name} = {lines.use(own)}({name})")
            if direction is ParamDirection.Out and analysis.is_read(param):
                self._covered = True
                lines.add(f"{name} = {lines.use(overlay)}({name})")
            valid = partial_valid(param.type)
            if isinstance(param.type, TileType) and valid is not None:
                lines.add(f"{name} = {lines.use(restricted)}({name}, {self._dims(valid)})")

    # -- statements --------------------------------------------------------------------------------------------------

    def _body(self, body: Stmt, results: Sequence[Var]) -> None:
        for stmt in flatten_to_stmts(body):
            self.lines.statement = stmt
            self._stmt(stmt, results)
            self._drop(stmt)

    def _drop(self, stmt: Stmt) -> None:
        """Let go of the arrays that this statement used last."""
        if isinstance(stmt, ReturnStmt | BreakStmt | ContinueStmt):
            return
        dead = [v for v in self.analysis.last_use.get(stmt, ()) if has_storage(v.type)]
        if dead:
            self.lines.add(f"del {', '.join([self.lines.name(v) for v in dead])}")

    def _stmt(self, stmt: Stmt, results: Sequence[Var]) -> None:
        lines = self.lines
        if isinstance(stmt, AssignStmt):
            text = self._value(stmt.value, stmt.var, stmt)
            if stmt.var in self.analysis.unused:
                lines.add(text)
            else:
                lines.add(f"{self._assigned(stmt.var)} = {text}")
                if self.distributed is not None:
                    self.distributed.assigned(stmt.var)
        elif isinstance(stmt, EvalStmt):
            lines.add(self._value(stmt.expr, None, stmt))
        elif isinstance(stmt, YieldStmt):
            self._bind(results, stmt.value)
        elif isinstance(stmt, ReturnStmt):
            self._return(stmt)
        elif isinstance(stmt, IfStmt):
            self._if(stmt)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self._loop(stmt)
        elif isinstance(stmt, BreakStmt):
            lines.add("break")
        elif isinstance(stmt, ContinueStmt):
            lines.add("continue")
        elif isinstance(stmt, CommDomainScopeStmt):
            assert self.distributed is not None
            self.distributed.enter_domain(stmt)
            self._body(stmt.body, results)
        elif isinstance(stmt, _TRANSPARENT):
            self._body(stmt.body, results)
        else:
            raise RunError(f"a {type(stmt).__name__} cannot be run", stmt.span, statement=stmt)

    def _assigned(self, var: Var) -> str:
        name = self.lines.name(var)
        if self._assigned_names:
            self._assigned_names[-1][name] = None
        return name

    def _bind(self, targets: Sequence[Var], values: Sequence[Expr]) -> None:
        """Assign values to variables, all at once; values without a variable are only computed."""
        texts = [self._value(v, targets[at] if at < len(targets) else None) for at, v in enumerate(values)]
        if not texts:
            return
        names = [self._assigned(v) for v in targets]
        if len(targets) != len(values):
            if targets:
                raise RunError(
                    f"{len(values)} values are yielded for {len(targets)} variables", self._span(), statement=self.lines.statement
                )
            for text in texts:
                self.lines.add(text)
        elif names != texts:
            self.lines.add(f"{', '.join(names)} = {', '.join(texts)}")

    def _span(self) -> Any:
        stmt = self.lines.statement
        return None if stmt is None else stmt.span

    def _return(self, stmt: ReturnStmt) -> None:
        texts = [self._value(v, None) for v in stmt.value]
        text = texts[0] if len(texts) == 1 else f"({', '.join(texts)})" if texts else "None"
        if self._covered and texts:
            text = f"{self.lines.use(uncovered)}({text})"
        self.lines.add(f"return ({text},)" if self._outlined else f"return {text}")

    def _if(self, stmt: IfStmt) -> None:
        lines = self.lines
        lines.add(f"if {self._value(stmt.condition, None)}:")
        with lines.indented():
            self._body(stmt.then_body, stmt.return_vars)
        lines.statement = stmt
        if stmt.else_body is None:
            if stmt.return_vars:
                raise RunError("a branch with results needs its else", stmt.span, statement=stmt)
            return
        if not flatten_to_stmts(stmt.else_body):
            return
        lines.add("else:")
        with lines.indented():
            self._body(stmt.else_body, stmt.return_vars)
        lines.statement = stmt

    # -- loops -------------------------------------------------------------------------------------------------------

    def _loop(self, stmt: ForStmt | WhileStmt) -> None:
        self._bind(stmt.iter_args, [a.initValue for a in stmt.iter_args])
        if self._loops >= _DEEPEST_LOOPS:
            self._loop_apart(stmt)
        else:
            self._loop_here(stmt)
        self.lines.statement = stmt
        self._bind(stmt.return_vars, stmt.iter_args)

    def _loop_apart(self, stmt: ForStmt | WhileStmt) -> None:
        """The loop in a nested Python function that shares its variables."""
        lines = self.lines
        self._parts += 1
        part = f"_part{self._parts}"
        depth, self._loops = self._loops, 0
        self._outlined += 1
        self._assigned_names.append({})
        with lines.captured() as inside:
            self._loop_here(stmt)
        names = self._assigned_names.pop()
        self._outlined -= 1
        self._loops = depth
        lines.statement = stmt
        lines.add(f"def {part}():")
        with lines.indented():
            if names:
                lines.add(f"nonlocal {', '.join(names)}")
            lines.extend(inside)
        returns = any(text.startswith("return ") for _, text, _ in inside)
        run = f"yield from {part}()" if pauses("", inside) else f"{part}()"
        if returns:
            lines.add(f"_r = {run}")
            lines.add(f"if _r is not None: return {'_r' if self._outlined else '_r[0]'}")
        else:
            lines.add(run)
        self._moved_names.update(names)
        if self._assigned_names:
            self._assigned_names[-1].update(names)

    def _loop_here(self, stmt: ForStmt | WhileStmt) -> None:
        lines = self.lines
        self._loops += 1
        if isinstance(stmt, ForStmt):
            bounds = [self._value(b, None) for b in (stmt.start, stmt.stop, stmt.step)]
            if bounds[2] == "1":
                bounds.pop()
                if bounds[0] == "0":
                    bounds.pop(0)
            lines.add(f"for {self._assigned(stmt.loop_var)} in {lines.use(range)}({', '.join(bounds)}):")
        else:
            with lines.captured() as before:
                condition = self._value(stmt.condition, None)
            lines.add("while True:" if before else f"while {condition}:")
            if before:
                with lines.indented():
                    lines.extend(before)
                    lines.add(f"if not {condition}: break")
        with lines.indented():
            self._body(stmt.body, stmt.iter_args)
        self._loops -= 1

    # -- values ------------------------------------------------------------------------------------------------------

    def _value(self, expr: Expr, target: Var | None, stmt: Stmt | None = None) -> str:
        """Source of any expression; ``target`` is the variable it goes to, ``stmt`` the statement that is nothing but this."""
        if isinstance(expr, Call):
            return self._call(expr, target is not None and self.analysis.is_written(target), stmt)
        if isinstance(expr, Submit):
            return self._submit(expr, target is not None and self.analysis.is_written(target))
        if isinstance(expr, MakeTuple):
            texts = [self._value(e, None) for e in expr.elements]
            return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
        if isinstance(expr, Var) and isinstance(expr.type, ScalarType) and target is not None:
            return self._variable(expr)
        if isinstance(expr, Var | TupleGetItemExpr):
            return self._non_scalar(expr)
        return self.scalars.text(expr)

    def _variable(self, expr: Var) -> str:
        if expr not in self._known:
            raise RunError(
                f"{expr.name_hint!r} has no value: it occurs in types only",
                self._span() if expr.span.begin_line < 1 else expr.span,
                "make it a dimension of a parameter, or a scalar parameter",
                statement=self.lines.statement,
            )
        return self.lines.name(expr)

    def _non_scalar(self, expr: Expr) -> str:
        if isinstance(expr, Var):
            name = self._variable(expr)
            if expr in self._from_tasks and isinstance(expr.type, ScalarType) and self.distributed is not None:
                return self.distributed.scalar(name)
            return name
        if isinstance(expr, Call):
            return self._call(expr, False, None)
        if isinstance(expr, Submit):
            return self._submit(expr, False)
        if isinstance(expr, MakeTuple):
            return self._value(expr, None)
        if isinstance(expr, TupleGetItemExpr):
            return f"{self._value(expr.tuple, None)}[{expr.index}]"
        raise RunError(f"a {type(expr).__name__} cannot be run", expr.span, statement=self.lines.statement)

    def _dims(self, dims: Sequence[Expr]) -> str:
        texts = [str(d.value) if isinstance(d, ConstInt) else self.scalars.text(d) for d in dims]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"

    # -- calls -------------------------------------------------------------------------------------------------------

    def _call(self, call: Call, written: bool, stmt: Stmt | None) -> str:
        if call.op.is_function:
            return self._function_call(call, written)
        declaration = call.op if isinstance(call.op, Declaration) else find_op(call.op.name)
        if not isinstance(declaration, Declaration):
            raise RunError(
                f"{call.op.name} is no operator of the vocabulary, so it has no meaning", call.span, operator=call.op.name
            )
        analysis = self.analysis
        changes = analysis.writes_anything or self.distributed is not None
        unstable = changes and any(analysis.unstable(a) for a in call.args if has_storage(a.type))
        if self.distributed is not None:
            text = self.distributed.operator_call(call, declaration, written, unstable)
            if text is not None:
                return f"{self.lines.use(hold)}({text})" if written and declaration.alias_index is None else text
        operator, name = self.operator(call, declaration, written, unstable)
        texts = [self._value(a, None) for a in call.args]
        if operator.direct is not None:
            if stmt is not None:
                self.direct_calls[stmt] = (declaration.name, texts)
            return f"{name}({', '.join(texts)})"
        extents, texts = once(self.lines, self.extents(operator), texts)
        text = f"{name}({', '.join([extents, *texts])})"
        # what an alias of tracked storage gives is tracked already
        return f"{self.lines.use(hold)}({text})" if written and declaration.alias_index is None else text

    def value(self, expr: Expr) -> str:
        """Source of an expression."""
        return self._value(expr, None)

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
        """The operator of a call, and the name of what is called: its meaning, or what ``wrap`` makes of it."""
        types: list[Type] = [a.type for a in call.args]
        key = (kind, declaration, *map(id, types), id(call.type), written, unstable, *_hashable(call.kwargs))
        known = self._operators.get(key)
        if known is None:
            operator = operator_for(call, declaration, written, unstable, without)
            leaf = declaration.name.replace(".", "_")
            if wrap is not None:
                name = self.lines.share(f"{leaf}_", wrap(operator))
            elif operator.direct is not None:
                name = self.lines.use(operator.direct, f"np_{operator.direct.__name__}")
            else:
                name = self.lines.share(f"{leaf}_", operator.apply)
            known = self._operators[key] = (operator, name)
        return known

    def extents(self, operator: Operator) -> str:
        """What the types say about this call, None when they say nothing that the operator does not know."""
        results = operator.result_types
        dynamic = operator.needs_shapes and any(not _static(t) for t in results)
        partial = [partial_valid(t) for t in results]
        if not operator.valid_operands and not dynamic and all(p is None for p in partial):
            return "None"
        mine: list[str] = ["None"] * len(operator.args)
        for at in operator.valid_operands:
            valid = partial_valid(operator.args[at].type)
            assert valid is not None
            mine[at] = self._dims(valid)
        need = operator.needs_shapes
        shapes = [
            self._dims(t.shape) if isinstance(t, TensorType | TileType) and (need or _static(t)) else "None" for t in results
        ]
        valids = ["None" if p is None else self._dims(p) for p in partial]
        return f"({_tuple(mine)}, {_tuple(shapes)}, {_tuple(valids)})"

    def kernel(self, function: Function) -> tuple[str, FunctionFacts]:
        """The name of a function that is no function of the program, and its facts."""
        return self.kernels.setdefault(function, f"_kernel_{len(self.kernels)}"), self.facts.of(function)

    def _submit(self, submit: Submit, written: bool) -> str:
        """A task that is launched: here it is a call, for what it depends on was done before."""
        for what, given in (("core_num", submit.core_num), ("predicate", submit.predicate)):
            if given is not None:
                raise RunError(f"a submit with {what} cannot be run", submit.span, statement=self.lines.statement)
        text = self._function_call(submit, written)
        if "device" in submit.attrs:
            return text
        type_ = submit.type
        count = len(type_.types) - 1 if isinstance(type_, TupleType) else 0
        return f"{self.lines.use(with_task_id)}({text}, {count})"

    def _function_call(self, call: Call | Submit, written: bool) -> str:
        callee = self.facts.of_callee(call.op.name)
        if callee is None:
            raise RunError(
                f"{call.op.name!r} is no function of the program", call.span, "run the program rather than the function alone"
            )
        count = len(callee.param_directions)
        if count != len(call.args):
            raise RunError(f"{call.op.name!r} takes {count} arguments, got {len(call.args)}", call.span)
        name = self.callees.setdefault(call.op.name, f"_call_{len(self.callees)}")
        device = call.attrs.get("device")
        if self.distributed is not None:
            text = self.distributed.function_call(call, name, callee, device if isinstance(device, Expr) else None)
        else:
            text = f"{name}({', '.join([self._value(a, None) for a in call.args])})"
        return f"{self.lines.use(hold)}({text})" if written else text


def with_task_id(result: Any, count: int) -> Any:
    """What a submit gives: the results of the call, and the number of its task."""
    if count == 0:
        return (0,)
    return (result, 0) if count == 1 else (*result, 0)


def _static(type_: Type) -> bool:
    return not isinstance(type_, TensorType | TileType) or all(isinstance(d, ConstInt) for d in type_.shape)


def _tuple(texts: Sequence[str]) -> str:
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _hashable(kwargs: Any) -> list[Any]:
    return [(k, tuple(v) if isinstance(v, list) else v) for k, v in kwargs.items()]  # pyright: ignore[reportUnknownArgumentType]
