"""The state of reading one function, and the tables that say which function reads which kind of syntax node.

Handlers are plain functions of the reader and the node, registered by node class with :func:`expression` and :func:`statement`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, Level, Role
from pypto.ir.expr import Cast, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, Var, WindowBuffer, index_const
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ir.types import ScalarType, Type
from pypto.parser.comments import Comment
from pypto.parser.dynamic import DynVar
from pypto.parser.environment import NOTHING, Environment
from pypto.parser.errors import (
    ParserError,
    ParserTypeError,
    PythonSyntaxError,
    SSAViolationError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto.parser.scope import Block, Names, Unreadable
from pypto.parser.source import SourceFile

ExpressionHandler = Callable[["Reader", Any], Expr]
StatementHandler = Callable[["Reader", Any], None]
Failure = TypeVar("Failure", bound=ParserError)

EXPRESSIONS: dict[type, ExpressionHandler] = {}
STATEMENTS: dict[type, StatementHandler] = {}


def expression(*kinds: type) -> Callable[[ExpressionHandler], ExpressionHandler]:
    """Register a function that reads expressions of these node classes."""

    def register(handler: ExpressionHandler) -> ExpressionHandler:
        for kind in kinds:
            EXPRESSIONS[kind] = handler
        return handler

    return register


def statement(*kinds: type) -> Callable[[StatementHandler], StatementHandler]:
    """Register a function that reads statements of these node classes."""

    def register(handler: StatementHandler) -> StatementHandler:
        for kind in kinds:
            STATEMENTS[kind] = handler
        return handler

    return register


class Reader:
    """Reads the body of one function.

    ``names`` maps each visible name to an expression (nearly always a variable) or to an :class:`Unreadable`; ``out`` collects the
    statements of the innermost block; ``loops`` the kinds of the loops around, innermost last. ``twins`` are variables of the other
    branch of the ``if`` being read, taken up again when this branch assigns the same name; ``home`` the block in which each variable
    was first assigned. ``assigned`` is the value that the statement at hand assigns, with the name. ``comments`` holds the comments that
    no statement has taken yet, ``until`` the line on which the code after the statement at hand begins. ``windows`` are those that
    annotations may name, ``window_types`` what annotations with such a name mean meanwhile, ``windows_found`` how often one was named.
    ``dumped`` are the tensors that ``pl.dump_tag`` has marked, ``makers`` the tasks whose results variables hold.
    """

    __slots__ = (
        "assigned",
        "block",
        "comments",
        "current",
        "dimension_mode",
        "domains",
        "dumped",
        "env",
        "function_type",
        "home",
        "inline_depth",
        "level",
        "loops",
        "makers",
        "names",
        "names_used",
        "out",
        "params",
        "result_types",
        "role",
        "scopes",
        "source",
        "strict_ssa",
        "twins",
        "until",
        "window_types",
        "windows",
        "windows_found",
    )

    def __init__(
        self,
        env: Environment,
        *,
        function_type: FunctionType = FunctionType.Opaque,
        level: Level | None = None,
        role: Role | None = None,
        strict_ssa: bool = False,
    ) -> None:
        self.env = env
        self.source: SourceFile = env.source
        self.function_type = function_type
        self.level = level
        self.role = role
        self.strict_ssa = strict_ssa
        self.names: Names = {}
        self.home: dict[Var, Block] = {}
        self.params: dict[str, Var] = {}
        self.block = Block("function", None)
        self.out: list[Stmt] = []
        self.loops: list[str] = []
        self.scopes: list[str] = []
        self.twins: Mapping[str, Var] = {}
        self.comments: dict[int, Comment] = {}
        self.current: ast.AST | None = None
        self.dimension_mode = False
        self.names_used: list[str] | None = None
        self.inline_depth = 0
        self.domains: list[Any] = []
        self.result_types: Sequence[Type] = ()
        self.until = 0
        self.assigned: tuple[Any, str] | None = None
        self.windows: dict[str, WindowBuffer] = {}
        self.window_types: dict[str, Any] = {}
        self.windows_found = 0
        self.dumped: dict[Var, None] = {}
        self.makers: dict[Expr, Var] = {}

    # -- errors ------------------------------------------------------------------------------------------------------

    def failure(self, kind: Callable[..., Failure], message: str, node: Any, **details: Any) -> Failure:
        """An error of class ``kind`` at a node."""
        return self.source.failure(kind, message, node, **details)

    def from_error(self, kind: Callable[..., Failure], error: Error, node: Any, **details: Any) -> Failure:
        """An error of class ``kind`` at a node that says what a lower layer said."""
        details.setdefault("hint", error.hint)
        return self.source.failure(kind, error.message, node, **details)

    def keywords(self, call: Any) -> list[ast.keyword]:
        """The keywords of a call.

        Raises:
            PythonSyntaxError: one is given twice, which Python itself only finds when it compiles.
        """
        found: list[ast.keyword] = call.keywords
        if len(found) > 1 and len({k.arg for k in found}) < len(found):
            names: set[str] = set()
            for keyword in found:
                if keyword.arg is not None and keyword.arg in names:
                    raise self.failure(PythonSyntaxError, f"this is not Python: {keyword.arg}= is given twice", keyword)
                names.add(keyword.arg or "")
        return found

    # -- expressions ---------------------------------------------------------------------------------------------------

    def expression(self, node: Any) -> Expr:
        """Read an expression."""
        kind = cast("type[Any]", type(node))
        handler = EXPRESSIONS.get(kind)
        if handler is None:
            raise self.unsupported_expression(node)
        return handler(self, node)

    def unsupported_expression(self, node: Any) -> ParserError:
        """The refusal of an expression that the language does not have."""
        kind = cast("type[Any]", type(node))
        name, hint = _UNSUPPORTED_EXPRESSIONS.get(kind, (f"{kind.__name__} expressions", None))
        return self.failure(UnsupportedFeatureError, f"{name} cannot be used in a kernel", node, hint=hint)

    def constant(self, value: Any, node: Any) -> Expr:
        """A Python number as a constant: ``int`` INDEX, ``float`` FP32, ``bool`` BOOL."""
        if isinstance(value, bool):
            return ConstBool(value, self.source.span(node))
        if isinstance(value, int):
            if not -(1 << 63) <= value < (1 << 63):
                raise self.failure(ParserTypeError, f"the integer {_short(value)} does not fit 64 bits", node)
            return index_const(value)
        return ConstFloat(value, DataType.FP32, self.source.span(node))

    def from_value(self, value: Any, node: Any, name: str) -> Expr:
        """A Python value from around the body as an expression.

        Raises:
            ParserTypeError: it is of a kind that a kernel cannot use.
        """
        if isinstance(value, Expr):
            return value
        if isinstance(value, bool | int | float):
            return self.constant(value, node)
        if isinstance(value, DynVar):
            return self.dynamic(value)
        if isinstance(value, list | tuple):
            items = cast("Sequence[Any]", value)
            return MakeTuple([self.from_value(item, node, name) for item in items], self.source.span(node))
        inner = getattr(value, "expr", None)
        if isinstance(inner, Expr):
            return inner
        if hasattr(value, "__index__"):
            return self.constant(value.__index__(), node)
        if hasattr(value, "__float__"):
            return self.constant(float(value), node)
        raise self.failure(
            ParserTypeError,
            f"{name!r} is a {type(value).__name__}, which cannot be a value in a kernel",
            node,
            hint="numbers, lists of numbers and pl.dynamic dimensions can be used from outside",
        )

    def dynamic(self, dimension: DynVar) -> Expr:
        """The variable of a dynamic dimension: the scalar parameter of its name, if there is one, else the one of the program."""
        bound = self.params.get(dimension.name)
        if bound is not None and getattr(bound.type, "dtype", None) is DataType.INDEX:
            return bound
        return self.env.dynamic_var(dimension)

    def name_value(self, node: ast.Name) -> Any:
        """What a name stands for: an expression of the body, or a Python value from around it.

        Raises:
            UndefinedVariableError: nothing of that name (ParserTypeError in a dimension), or it cannot be read here.
        """
        name = node.id
        if self.names_used is not None:
            self.names_used.append(name)
        found = self.names.get(name)
        if found is not None:
            if isinstance(found, Unreadable):
                raise self.failure(UndefinedVariableError, found.reason, node, hint=found.hint)
            return found
        env = self.env
        value = env.value(name)
        if value is not NOTHING:
            return value
        if env.is_text:
            known = env.dynamic.get(name)
            if known is not None:
                return known
            if self.dimension_mode and name[0].isupper() and not env.strict:
                return env.undeclared_dimension(name)
        if name in env.bare:
            return NOTHING
        raise self.undefined(node)

    def undefined(self, node: ast.Name) -> ParserError:
        """The error for a name that stands for nothing."""
        name = node.id
        visible = [n for n, b in self.names.items() if not isinstance(b, Unreadable)]
        close = did_you_mean(name, [*visible, *(n for n in self.env.closure if not n.startswith("__"))])
        hint = f"did you mean {close!r}?" if close else "assign it before, or define it outside the function"
        if self.dimension_mode:
            hint = f"did you mean {close!r}?" if close else f'declare it: {name} = pl.dynamic("{name}")'
            return self.failure(ParserTypeError, f"unknown dimension {name!r}", node, hint=hint)
        return self.failure(UndefinedVariableError, f"undefined name {name!r}", node, hint=hint)

    # -- names and statements --------------------------------------------------------------------------------------------

    def emit(self, stmt: Stmt) -> None:
        """Add a statement to the innermost block."""
        self.out.append(stmt)

    def define(self, name: str, binding: Expr | Unreadable) -> None:
        """Bind a name in the innermost block."""
        saved = self.block.saved
        if name not in saved:
            saved[name] = self.names.get(name)
        self.names[name] = binding

    def variable_for(self, name: str, type_: Type, node: Any, span: Span, *, fresh: bool = False) -> Var:
        """The variable that an assignment of a value of ``type_`` to a name writes, and bind the name to it.

        A name that is bound already keeps its variable, except one left over from a block that has ended, which may change its type.
        ``fresh`` asks for a new variable when the name was first assigned in this very block.

        Raises:
            ParserTypeError: the name is bound to a value of another type, or means something else.
            SSAViolationError: it is bound already under ``strict_ssa``.
        """
        names = self.names
        bound = names.get(name)
        if bound is None:
            if self.env.prefix(name) is not None and self.env.value(name) is not NOTHING:
                raise self.failure(
                    ParserTypeError, f"{name!r} names the language and cannot be assigned", node, hint="use another name"
                )
            twin = self.twins.get(name)
            if twin is not None and (twin.type is type_ or twin.type == type_):
                return self._take_up(name, twin)
        elif self.strict_ssa:
            earlier = bound.var if isinstance(bound, Unreadable) else bound
            raise self.failure(
                SSAViolationError,
                f"{name!r} is assigned twice",
                node,
                previous_span=None if earlier is None else self.source.moved(earlier.span),
                hint="under strict_ssa every name is assigned once; use a new name",
            )
        elif isinstance(bound, Unreadable):
            kept = bound.var
            if kept is not None and kept.type == type_:
                return self._take_up(name, kept)
        elif isinstance(bound, Var):
            home = self.home.get(bound)
            if bound.type is type_ or bound.type == type_:
                if not (fresh and home is self.block):
                    return self._take_up(name, bound)
            elif home is not None and home.is_open:
                raise self.failure(
                    ParserTypeError,
                    f"{name!r} holds {self.type_text(bound.type)} and cannot be assigned {self.type_text(type_)}",
                    node,
                    hint="use another name, or convert the value first",
                )
        var = Var(name, type_, span)
        self.home[var] = self.block
        self.define(name, var)
        return var

    def _take_up(self, name: str, var: Var) -> Var:
        home = self.home.get(var)
        if home is not None and not home.is_open:
            self.home[var] = self.block
        self.define(name, var)
        return var

    def assign(self, name: str, value: Expr, node: Any, span: Span) -> Var:
        """Emit ``name = value``."""
        bound = self.names.get(name)
        if bound is not None and type(bound) is Var and bound.type is value.type and not self.strict_ssa:
            saved = self.block.saved
            if name not in saved:
                saved[name] = bound
            var = bound
        else:
            if isinstance(bound, Var):
                value = self._adapted(bound, value, span)
            var = self.variable_for(name, value.type, node, span)
        self.out.append(AssignStmt(var, value, span))
        return var

    def _adapted(self, var: Var, value: Expr, span: Span) -> Expr:
        """An INDEX value takes the integer type of the variable that it is assigned to; every other value stays as it is."""
        have, want = value.type, var.type
        if not (isinstance(have, ScalarType) and isinstance(want, ScalarType)) or have is want:
            return value
        home = self.home.get(var)
        if have.dtype is not DataType.INDEX or not want.dtype.is_int() or home is None or not home.is_open:
            return value
        return ConstInt(value.value, want.dtype, span) if type(value) is ConstInt else Cast(value, want.dtype, span)

    def temporary(self, name: str, value: Expr, span: Span) -> Var:
        """Emit the assignment of a value to a new variable that no name is bound to."""
        var = Var(name, value.type, span)
        self.out.append(AssignStmt(var, value, span))
        return var

    def type_text(self, type_: Type) -> str:
        """A type as messages show it."""
        from pypto.ops.declare import describe_type

        return describe_type(type_)


def const_int(node: Expr) -> int | None:
    """The value of an integer constant, else None."""
    return node.value if isinstance(node, ConstInt) else None


def _short(value: int) -> str:
    bits = value.bit_length()
    return str(value) if bits < 200 else f"of {bits} bits"


_UNSUPPORTED_EXPRESSIONS: dict[type, tuple[str, str | None]] = {
    ast.Lambda: ("a lambda", None),
    ast.IfExp: ("a conditional expression", "use an if statement whose branches end in pl.yield_"),
    ast.ListComp: ("a comprehension", "write the elements out, or use a loop"),
    ast.SetComp: ("a comprehension", None),
    ast.DictComp: ("a comprehension", None),
    ast.GeneratorExp: ("a comprehension", None),
    ast.NamedExpr: ("an assignment inside an expression (:=)", "assign on a line of its own"),
    ast.JoinedStr: ("an f-string", None),
    ast.Starred: ("a starred argument", "write the arguments out"),
    ast.Await: ("await", None),
    ast.Yield: ("yield", "use pl.yield_"),
    ast.YieldFrom: ("yield from", "use pl.yield_"),
    ast.Dict: ("a dict", None),
    ast.Set: ("a set", None),
    ast.Slice: ("a slice outside a subscript", None),
}
