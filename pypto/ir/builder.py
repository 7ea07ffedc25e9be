"""Building programs by hand: :class:`IRBuilder`."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from pypto.diagnostics import Error, InvalidTypeError, InvalidValueError, did_you_mean
from pypto.ir.attrs import normalize_attrs
from pypto.ir.enums import ForKind, FunctionType, InlineLanguage, Level, ParamDirection, Role, ScopeKind, SplitMode
from pypto.ir.expr import Call, Expr, IterArg, MakeTuple, MemRef, Var
from pypto.ir.function import Function, Program
from pypto.ir.op import GlobalVar
from pypto.ir.scalar import to_expr
from pypto.ir.span import Span
from pypto.ir.stmt import (
    AssignStmt,
    BreakStmt,
    ClusterScopeStmt,
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
    attach_leading_comments,
    attach_trailing_comments,
    body_of,
)
from pypto.ir.types import TensorType, TensorView, TileType, TileView, Type, UnknownType
from pypto.ir.utilities import call_result_type

__all__ = [
    "BuilderError",
    "ForLoopBuilder",
    "FunctionBuilder",
    "IRBuilder",
    "IfBuilder",
    "ProgramBuilder",
    "ScopeBuilder",
    "WhileLoopBuilder",
]

_Result = TypeVar("_Result")


class BuilderError(Error, RuntimeError):
    """The builder was used out of order: a function inside a function, a result before its end, counts that do not agree."""

    code = "builder"


class _Context(Generic[_Result]):
    """What is open: it collects statements until it is closed and then gives its result."""

    def __init__(self, builder: IRBuilder, span: Span) -> None:
        self._builder = builder
        self._span = span
        self._stmts: list[Stmt] = []
        self._result: _Result | None = None

    def _body(self) -> Stmt:
        """What was collected; comments that still wait end it."""
        body = body_of(self._stmts, self._span)
        comments = self._builder.pop_pending_leading_comments()
        return attach_trailing_comments(body, [*body.trailing_comments, *comments]) if comments else body

    def get_result(self) -> _Result:
        """What was built.

        Raises:
            BuilderError: the ``with`` block has not ended yet.
        """
        if self._result is None:
            raise BuilderError("get_result() is only possible after the end of the with block", self._span)
        return self._result


class FunctionBuilder(_Context[Function]):
    """An open function."""

    def __init__(self, builder: IRBuilder, span: Span, name: str, options: dict[str, Any]) -> None:
        super().__init__(builder, span)
        self.name = name
        self.attrs: dict[str, Any] = dict(options.pop("attrs") or {})
        self._options = options
        self._params: list[tuple[Var, ParamDirection]] = []
        self._return_types: list[Type] = []

    def param(self, name: str, type: Type, span: Span | None = None, direction: ParamDirection = ParamDirection.In) -> Var:
        """Add a parameter and give its variable."""
        var = Var(name, type, Span.of_caller() if span is None else span)
        self._params.append((var, direction))
        return var

    def return_type(self, type: Type) -> None:
        """Add a result type."""
        self._return_types.append(type)

    def _close(self) -> None:
        self._result = Function(
            self.name, self._params, self._return_types, self._body(), self._span, attrs=self.attrs, **self._options
        )


class _Carrying(_Context[_Result]):
    """An open statement with return variables."""

    def __init__(self, builder: IRBuilder, span: Span) -> None:
        super().__init__(builder, span)
        self._return_vars: list[Var] = []

    def output(self, index: int = 0) -> Var:
        """One of the return variables.

        Raises:
            InvalidValueError: there are fewer.
        """
        if not 0 <= index < len(self._return_vars):
            raise InvalidValueError(f"there is no output {index}: the statement has {len(self._return_vars)} return variables")
        return self._return_vars[index]

    def outputs(self) -> list[Var]:
        """All return variables."""
        return [*self._return_vars]


class _Loop(_Carrying[_Result]):
    def __init__(self, builder: IRBuilder, span: Span) -> None:
        super().__init__(builder, span)
        self._iter_args: list[IterArg] = []

    def iter_arg(self, name: str, init: Any, type: Type | None = None, span: Span | None = None) -> IterArg:
        """Add a carried value and give its variable; the type is that of the initial value when not given."""
        where = Span.of_caller() if span is None else span
        value = to_expr(init, where)
        var = IterArg(name, value.type if type is None else type, value, where)
        self._iter_args.append(var)
        return var

    def return_var(self, name: str, type: Type | None = None, span: Span | None = None) -> Var:
        """Add the variable that holds a carried value after the loop; the type is that of the matching iter arg when not given.

        Raises:
            BuilderError: no type is given and there is no matching iter arg.
        """
        where = Span.of_caller() if span is None else span
        at = len(self._return_vars)
        if type is None:
            if at >= len(self._iter_args):
                raise BuilderError(f"return variable {name!r} needs a type: the loop has {at} iter args before it", where)
            type = self._iter_args[at].type
        var = Var(name, type, where)
        self._return_vars.append(var)
        return var

    def _check_counts(self) -> None:
        if len(self._iter_args) != len(self._return_vars):
            raise BuilderError(
                f"the loop has {len(self._iter_args)} iter args but {len(self._return_vars)} return variables", self._span
            )


class ForLoopBuilder(_Loop[ForStmt]):
    """An open counted loop."""

    def __init__(
        self, builder: IRBuilder, span: Span, loop_var: Var, bounds: tuple[Expr, Expr, Expr], kind: ForKind, attrs: Any
    ) -> None:
        super().__init__(builder, span)
        self.loop_var = loop_var
        self._bounds = bounds
        self._kind = kind
        self._attrs = attrs

    def _close(self) -> None:
        self._check_counts()
        self._result = ForStmt(
            self.loop_var,
            *self._bounds,
            self._iter_args,
            self._body(),
            self._return_vars,
            self._span,
            self._kind,
            self._attrs,
        )


class WhileLoopBuilder(_Loop[WhileStmt]):
    """An open while loop."""

    def __init__(self, builder: IRBuilder, span: Span, condition: Expr) -> None:
        super().__init__(builder, span)
        self._condition = condition

    def set_condition(self, condition: Any) -> None:
        """Replace the condition, for one that reads the iter args."""
        self._condition = to_expr(condition, self._span)

    def _close(self) -> None:
        self._check_counts()
        self._result = WhileStmt(self._condition, self._iter_args, self._body(), self._return_vars, self._span)


class IfBuilder(_Carrying[IfStmt]):
    """An open branch; statements go to the first body until :meth:`else_` is called."""

    def __init__(self, builder: IRBuilder, span: Span, condition: Expr) -> None:
        super().__init__(builder, span)
        self._condition = condition
        self._then: Stmt | None = None

    @contextmanager
    def _else_block(self) -> Generator[IfBuilder]:
        yield self

    def else_(self, span: Span | None = None) -> Any:
        """Go on with the other body; ``with branch.else_():`` is possible too.

        Raises:
            BuilderError: called a second time, or while a statement inside is still open.
        """
        if self._then is not None:
            raise BuilderError("the branch has an else already", span or self._span)
        if self._builder._innermost() is not self:
            raise BuilderError("else_() while a statement inside the branch is open", span or self._span)
        self._then = self._body()
        self._stmts = []
        return self._else_block()

    def return_var(self, name: str, type: Type, span: Span | None = None) -> Var:
        """Add a variable that holds what the bodies yield."""
        var = Var(name, type, Span.of_caller() if span is None else span)
        self._return_vars.append(var)
        return var

    def _close(self) -> None:
        if self._then is None:
            then, other = self._body(), None
        else:
            then, other = self._then, self._body() if self._stmts or self._builder.has_pending_leading_comments() else None
        self._result = IfStmt(self._condition, then, other, self._return_vars, self._span)


class ScopeBuilder(_Context[ScopeStmt]):
    """An open scope."""

    def __init__(self, builder: IRBuilder, span: Span, make: Callable[[Stmt], ScopeStmt]) -> None:
        super().__init__(builder, span)
        self._make = make

    def _close(self) -> None:
        self._result = self._make(self._body())


class ProgramBuilder(_Context[Program]):
    """An open program."""

    def __init__(self, builder: IRBuilder, span: Span, name: str) -> None:
        super().__init__(builder, span)
        self.name = name
        self._declared: dict[str, GlobalVar] = {}
        self._functions: dict[str, Function] = {}

    def declare_function(self, name: str) -> GlobalVar:
        """The callee of that name, so that calls of it can be built before the function is."""
        return self._declared.setdefault(name, GlobalVar(name))

    def get_global_var(self, name: str) -> GlobalVar:
        """The callee declared under that name.

        Raises:
            InvalidValueError: none was declared.
        """
        known = self._declared.get(name)
        if known is None:
            close = did_you_mean(name, list(self._declared))
            raise InvalidValueError(
                f"the program declares no function {name!r}", self._span, f"did you mean {close!r}?" if close else None
            )
        return known

    def add_function(self, function: Function) -> None:
        """Add a function.

        Raises:
            InvalidValueError: there is one of that name.
        """
        if function.name in self._functions:
            raise InvalidValueError(f"two functions of the program are called {function.name!r}", function.span)
        self.declare_function(function.name)
        self._functions[function.name] = function

    def _close(self) -> None:
        self._result = Program([*self._functions.values()], self.name, self._span)


_Open = TypeVar("_Open", bound="_Context[Any]")


class IRBuilder:
    """Builds functions and programs statement by statement, with a ``with`` block for all that has a body.

    Statements go to the innermost open block. Numbers become constants (``int`` INDEX, ``float`` FP32), and spans are the caller's line.
    """

    def __init__(self) -> None:
        self._open: list[_Context[Any]] = []
        self._comments: list[str] = []

    # --- blocks ------------------------------------------------------------------------------------------------------------------

    def function(
        self,
        name: str,
        span: Span | None = None,
        type: FunctionType = FunctionType.Opaque,
        level: Level | None = None,
        role: Role | None = None,
        attrs: Mapping[str, Any] | None = None,
        requires_runtime_binding: bool = False,
    ) -> Any:
        """Open a function; the block variable is a :class:`FunctionBuilder`.

        Raises:
            BuilderError: inside another function.
        """
        where = Span.of_caller() if span is None else span
        if self.in_function():
            raise BuilderError("a function cannot be built inside a function", where)
        options: dict[str, Any] = {
            "type": type,
            "level": level,
            "role": role,
            "attrs": attrs,
            "requires_runtime_binding": requires_runtime_binding,
        }
        return self._block(FunctionBuilder(self, where, name, options), emits=False)

    def for_loop(
        self,
        loop_var: Var,
        start: Any,
        stop: Any,
        step: Any,
        span: Span | None = None,
        kind: ForKind = ForKind.Sequential,
        attrs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Open a counted loop; the block variable is a :class:`ForLoopBuilder`.

        Raises:
            BuilderError: at the end, when iter args and return variables differ in number.
        """
        where = Span.of_caller() if span is None else span
        bounds = (to_expr(start, where), to_expr(stop, where), to_expr(step, where))
        return self._block(ForLoopBuilder(self, where, loop_var, bounds, kind, attrs))

    def while_loop(self, condition: Any, span: Span | None = None) -> Any:
        """Open a while loop; the block variable is a :class:`WhileLoopBuilder`.

        Raises:
            BuilderError: at the end, when iter args and return variables differ in number.
        """
        where = Span.of_caller() if span is None else span
        return self._block(WhileLoopBuilder(self, where, to_expr(condition, where)))

    def if_stmt(self, condition: Any, span: Span | None = None) -> Any:
        """Open a branch; the block variable is an :class:`IfBuilder`."""
        where = Span.of_caller() if span is None else span
        return self._block(IfBuilder(self, where, to_expr(condition, where)))

    def scope(
        self,
        scope_kind: ScopeKind,
        span: Span | None = None,
        level: Level | None = None,
        role: Role | None = None,
        split: SplitMode | None = None,
        name_hint: str = "",
        core_num: Any = None,
        sync_start: bool | None = None,
        manual: bool | None = None,
        attrs: Any = None,
    ) -> Any:
        """Open a scope; the block variable is a :class:`ScopeBuilder`.

        Raises:
            InvalidValueError: a communication domain (passes make those), an option that the kind of scope does not have, or a missing
                one.
        """
        where = Span.of_caller() if span is None else span
        options = {
            "level": level,
            "role": role,
            "split": split,
            "core_num": None if core_num is None else to_expr(core_num, where),
            "sync_start": sync_start,
            "manual": manual,
        }
        given = {name: value for name, value in options.items() if value is not None}
        kind = _SCOPES.get(scope_kind)
        if kind is None:
            raise InvalidValueError(f"a {scope_kind.name} scope cannot be built this way", where)
        scope_class, takes, needs = kind
        for name in given:
            if name not in takes:
                raise InvalidValueError(f"a {scope_kind.name} scope has no {name}", where)
        for name in needs:
            if name not in given:
                raise InvalidValueError(f"a {scope_kind.name} scope needs {name}", where)
        stored = normalize_attrs(attrs)

        def make(body: Stmt) -> ScopeStmt:
            made: Any = scope_class(name_hint=name_hint, body=body, span=where, **given)
            return made.with_attrs(stored) if stored else made

        return self._block(ScopeBuilder(self, where, make))

    def program(self, name: str, span: Span | None = None) -> Any:
        """Open a program; the block variable is a :class:`ProgramBuilder`.

        Raises:
            BuilderError: inside a program or a function.
        """
        where = Span.of_caller() if span is None else span
        if self._open:
            raise BuilderError("a program cannot be built inside something else", where)
        return self._block(ProgramBuilder(self, where, name), emits=False)

    @contextmanager
    def _block(self, context: _Open, emits: bool = True) -> Generator[_Open]:
        if emits:
            self._statements(context._span)
        comments_above = self.pop_pending_leading_comments()
        self._open.append(context)
        closing: Any = context
        try:
            yield context
            closing._close()
        finally:
            self._open.pop()
            self._comments = comments_above
        if emits:
            self.emit(context.get_result())

    # --- statements --------------------------------------------------------------------------------------------------------------

    def var(self, name: str, type: Type, span: Span | None = None) -> Var:
        """A new variable; nothing is emitted."""
        return Var(name, type, Span.of_caller() if span is None else span)

    def assign(self, var: Var, value: Any, span: Span | None = None) -> AssignStmt:
        """Emit ``var = value``."""
        where = Span.of_caller() if span is None else span
        stmt = AssignStmt(var, self._typed(to_expr(value, where)), where)
        self.emit(stmt)
        return stmt

    def let(self, name: str, value: Any, type: Type | None = None, span: Span | None = None) -> Var:
        """Emit the definition of a new variable and give it; the type is that of the value when not given.

        Raises:
            InvalidTypeError: ``type`` is of another kind than the type of the value.
        """
        where = Span.of_caller() if span is None else span
        expr = self._typed(to_expr(value, where))
        known = expr.type
        if type is None:
            type = known
        elif not isinstance(known, UnknownType) and type.__class__ is not known.__class__:
            raise InvalidTypeError(
                f"{name!r} is declared as {type.__class__.__name__}, but its value has a {known.__class__.__name__}", where
            )
        var = Var(name, type, where)
        self.emit(AssignStmt(var, expr, where))
        return var

    def make_tuple(self, elements: Sequence[Any], span: Span | None = None) -> MakeTuple:
        """A tuple of expressions and numbers; nothing is emitted."""
        where = Span.of_caller() if span is None else span
        return MakeTuple([to_expr(element, where) for element in elements], where)

    def emit(self, stmt: Stmt) -> None:
        """Append a statement to the innermost open block; pending comments are put above it.

        Raises:
            BuilderError: no block is open that takes statements.
        """
        statements = self._statements(stmt.span)
        if self._comments and not isinstance(stmt, SeqStmts):
            attach_leading_comments(stmt, [*self.pop_pending_leading_comments(), *stmt.leading_comments])
        statements.append(stmt)

    def return_stmt(self, values: Any = None, span: Span | None = None) -> ReturnStmt:
        """Emit a return of nothing, one value or several."""
        where = Span.of_caller() if span is None else span
        items: list[Any] = [] if values is None else [*values] if isinstance(values, list | tuple) else [values]
        stmt = ReturnStmt([self._typed(to_expr(item, where)) for item in items], where)
        self.emit(stmt)
        return stmt

    def eval_stmt(self, expr: Any, span: Span | None = None) -> EvalStmt:
        """Emit an expression that is evaluated for its effect."""
        where = Span.of_caller() if span is None else span
        stmt = EvalStmt(self._typed(to_expr(expr, where)), where)
        self.emit(stmt)
        return stmt

    def break_stmt(self, span: Span | None = None) -> BreakStmt:
        """Emit a break."""
        stmt = BreakStmt(Span.of_caller() if span is None else span)
        self.emit(stmt)
        return stmt

    def continue_stmt(self, span: Span | None = None) -> ContinueStmt:
        """Emit a continue."""
        stmt = ContinueStmt(Span.of_caller() if span is None else span)
        self.emit(stmt)
        return stmt

    def inline_stmt(self, text: str, span: Span | None = None) -> InlineStmt:
        """Emit verbatim Python text."""
        stmt = InlineStmt(text, InlineLanguage.Python, Span.of_caller() if span is None else span)
        self.emit(stmt)
        return stmt

    def add_function_attrs(self, attrs: Mapping[str, Any]) -> None:
        """Add attributes to the open function.

        Raises:
            InvalidValueError: the function has an attribute of that name.
            BuilderError: no function is open.
        """
        function = next((context for context in self._open if isinstance(context, FunctionBuilder)), None)
        if function is None:
            raise BuilderError("add_function_attrs needs an open function")
        for key, value in normalize_attrs(attrs).items():
            if key in function.attrs:
                raise InvalidValueError(f"the function has the attribute {key!r} already", function._span)
            function.attrs[key] = value

    def push_pending_leading_comments(self, comments: Sequence[str]) -> None:
        """Comments to be put above the next statement, after those that wait already."""
        self._comments = [*self._comments, *comments]

    def pop_pending_leading_comments(self) -> list[str]:
        """Take back the comments that wait."""
        comments, self._comments = self._comments, []
        return comments

    def has_pending_leading_comments(self) -> bool:
        """True when comments wait for the next statement."""
        return bool(self._comments)

    # --- where we are ------------------------------------------------------------------------------------------------------------

    def in_function(self) -> bool:
        """True inside a function."""
        return any(isinstance(context, FunctionBuilder) for context in self._open)

    def in_loop(self) -> bool:
        """True inside a loop."""
        return any(isinstance(context, ForLoopBuilder | WhileLoopBuilder) for context in self._open)

    def in_if(self) -> bool:
        """True inside a branch."""
        return any(isinstance(context, IfBuilder) for context in self._open)

    def _innermost(self) -> _Context[Any] | None:
        return self._open[-1] if self._open else None

    def _statements(self, span: Span) -> list[Stmt]:
        innermost = self._innermost()
        if innermost is None or isinstance(innermost, ProgramBuilder):
            raise BuilderError("a statement needs an open function", span)
        return innermost._stmts

    def _typed(self, expr: Expr) -> Expr:
        """A call of a function of the open program gets its type from that function, once it is there."""
        if not isinstance(expr, Call) or not expr.op.is_function or not isinstance(expr.type, UnknownType):
            return expr
        program = self._open[0] if self._open else None
        function = program._functions.get(expr.op.name) if isinstance(program, ProgramBuilder) else None
        return expr if function is None else expr.replace(type=call_result_type(function, expr.args))

    # --- makers of types ---------------------------------------------------------------------------------------------------------

    def memref(self, *parts: Any, **options: Any) -> MemRef:
        """A :class:`MemRef` of the same arguments."""
        return MemRef(*parts, **options)

    def tile_view(self, *parts: Any, **options: Any) -> TileView:
        """A :class:`TileView` of the same arguments."""
        return TileView(*parts, **options)

    def tensor_view(self, *parts: Any, **options: Any) -> TensorView:
        """A :class:`TensorView` of the same arguments."""
        return TensorView(*parts, **options)

    def tensor_type(self, *parts: Any, **options: Any) -> TensorType:
        """A :class:`TensorType` of the same arguments."""
        return TensorType(*parts, **options)

    def tile_type(self, *parts: Any, **options: Any) -> TileType:
        """A :class:`TileType` of the same arguments."""
        return TileType(*parts, **options)


# kind -> class, options it takes, options it needs
_SCOPES: dict[ScopeKind, tuple[Any, tuple[str, ...], tuple[str, ...]]] = {
    ScopeKind.InCore: (InCoreScopeStmt, ("split",), ()),
    ScopeKind.Cluster: (ClusterScopeStmt, (), ()),
    ScopeKind.Hierarchy: (HierarchyScopeStmt, ("level", "role"), ("level",)),
    ScopeKind.Spmd: (SpmdScopeStmt, ("core_num", "sync_start"), ("core_num",)),
    ScopeKind.SplitAiv: (SplitAivScopeStmt, ("split",), ("split",)),
    ScopeKind.Runtime: (RuntimeScopeStmt, ("manual",), ()),
}
