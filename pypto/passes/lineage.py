"""Following distributed tensors through a function: of which window, or of which parameter, the value of a variable is a view.

What a value stems from is its *origin*: any object, compared by identity; a tuple of origins for a tuple; None where it is not known.
Origins follow copies, operators whose result is the storage of an operand, results of functions that return a parameter, and what loops and
branches hand on. Programs need not be in SSA form: what a variable holds is known for each place in the text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from pypto.diagnostics import InvalidValueError
from pypto.ir.expr import Call, Cast, Expr, IterArg, MakeTuple, Submit, TupleGetItemExpr, Var
from pypto.ir.function import Function, Program
from pypto.ir.op import Op
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, ReturnStmt, Stmt, WhileStmt, YieldStmt
from pypto.ir.type_parts import change_all
from pypto.ir.types import PtrType, TensorType, TupleType, Type
from pypto.ir.visitor import IRMutator
from pypto.ops.declare import Declaration
from pypto.passes.rewrite import fold, fresh_copy, unfold

Origin: TypeAlias = Any
"""What a value stems from: an object, a tuple of such, or None."""

_NEVER: Any = object()


class Clash:
    """The origin of a variable that holds one thing or another, depending on the way taken; ``span`` is where the ways meet."""

    __slots__ = ("one", "other", "span")

    def __init__(self, one: Origin, other: Origin, span: Span) -> None:
        self.one = one
        self.other = other
        self.span = span


def same_origin(one: Origin, other: Origin) -> bool:
    """True for one and the same origin."""
    if isinstance(one, tuple) and isinstance(other, tuple):
        left, right = cast("tuple[Origin, ...]", one), cast("tuple[Origin, ...]", other)
        return len(left) == len(right) and all(same_origin(a, b) for a, b in zip(left, right, strict=True))
    return one is other


def _key(origin: Origin) -> Any:
    return tuple([_key(part) for part in cast("tuple[Origin, ...]", origin)]) if isinstance(origin, tuple) else id(origin)


def carries(type_: Type) -> bool:
    """True for the types of values that have origins: tensors (a view of a distributed one may be plain), buffers, tuples with such."""
    if isinstance(type_, TupleType):
        return any(carries(item) for item in type_.types)
    return isinstance(type_, TensorType | PtrType)


class Block:
    """The statements of one body while it is rewritten: those done so far, and what it changed of what variables hold."""

    __slots__ = ("changed", "is_loop", "out", "reads")

    def __init__(self, is_loop: bool) -> None:
        self.is_loop = is_loop
        self.changed: dict[Var, Origin] = {}
        self.reads: set[Var] = set()
        self.out: list[Stmt] = []


def declaration_of(op: Op) -> Declaration | None:
    """The declaration of an operator, None for a function and for what is not declared."""
    return op if isinstance(op, Declaration) else None


class Tracker(IRMutator):
    """Rewrites a function while it follows origins. Subclasses say where origins begin and what is rewritten.

    ``returned`` says of a callee which parameter each result is.
    """

    def __init__(self, returned: Callable[[str], Sequence[int | None]]) -> None:
        self.returned = returned
        self.origins: dict[Var, Origin] = {}
        self.blocks: list[Block] = []
        self.home: dict[Var, int] = {}
        self.versions: dict[tuple[Var, Any], Var] = {}
        self.yielded: Sequence[Origin] = ()

    # -- what subclasses change ------------------------------------------------------------------------------------------

    def begins(self, call: Call) -> Origin:
        """The origin that a call itself makes, None for most."""
        return None

    def type_with(self, type_: Type, origin: Origin) -> Type:
        """The type of what holds something of that origin."""
        return type_

    def typed(self, value: Expr, origin: Origin) -> Expr:
        """The value that is assigned, once its origin is known."""
        return value

    def merged(self, one: Origin, other: Origin, name: str, span: Span) -> Origin:
        """The origin of what two ways hand on, when they differ.

        Raises:
            InvalidValueError: the ways must not differ.
        """
        return None

    def either(self, var: Var, ways: Sequence[Origin], span: Span) -> Origin:
        """What a variable holds where ways meet that assigned it differently."""
        origin = ways[0]
        for other in ways[1:]:
            if origin is None or other is None:
                return None
            if not same_origin(origin, other):
                origin = Clash(origin, other, span)
        return origin

    def clash(self, name: str, origin: Clash) -> InvalidValueError:
        """The error for the use of a variable that holds one thing or another."""
        return InvalidValueError(f"what {name!r} holds depends on the way taken", origin.span)

    # -- functions and bodies --------------------------------------------------------------------------------------------

    def function(self, function: Function) -> Function:
        """The function rewritten; the same object when nothing changes."""
        self.blocks.append(Block(False))
        for at, param in enumerate(function.params):
            self.define(param, self.origin_of_param(at, param))
        body = self.statements(function.body)
        self.blocks.pop()
        return function if body is function.body else function.replace(body=body)

    def origin_of_param(self, at: int, param: Var) -> Origin:
        """The origin of a parameter."""
        return None

    def statements(self, body: Stmt) -> Stmt:
        """The statements of the innermost block rewritten."""
        stmts, trailing = unfold(body)
        out = self.blocks[-1].out
        for stmt in stmts:
            out.append(self.visit_stmt(stmt))
        if len(out) == len(stmts) and all(a is b for a, b in zip(out, stmts, strict=True)):
            return body
        return fold(out, trailing, body.span)

    def visit_seq_stmts(self, op: Any) -> Any:
        """The body of a scope; other bodies are blocks."""
        outer = self.blocks[-1]
        inner = self.blocks[-1] = Block(outer.is_loop)
        inner.changed, inner.reads = outer.changed, outer.reads
        body = self.statements(op)
        self.blocks[-1] = outer
        return body

    def visit_stmt(self, op: Stmt) -> Stmt:
        kind = type(op)
        if kind is AssignStmt:
            return self._assign(op)  # pyright: ignore[reportArgumentType]
        if kind is IfStmt:
            return self._branch(op)  # pyright: ignore[reportArgumentType]
        if kind is ForStmt:
            return self._counted(op)  # pyright: ignore[reportArgumentType]
        if kind is WhileStmt:
            return self._while(op)  # pyright: ignore[reportArgumentType]
        return super().visit_stmt(op)

    def _assign(self, op: AssignStmt) -> Stmt:
        value = self.visit_expr(op.value)
        origin = self.origin(op.value)
        value = self.typed(value, origin)
        var = self.define(op.var, origin)
        return op if var is op.var and value is op.value else op.replace(var=var, value=value)

    def visit_yield_stmt(self, op: YieldStmt) -> Stmt:
        """The statement, whose origins are noted."""
        values = change_all(op.value, self.visit_expr)
        self.yielded = [self.origin(value) for value in op.value]
        return op if values is op.value else op.replace(value=values)

    def _branch(self, op: IfStmt) -> Stmt:
        changes: dict[str, Any] = {"condition": self.visit_expr(op.condition)}
        ends: list[dict[Var, Origin]] = []
        handed: list[Sequence[Origin]] = []
        for name in ("then_body", "else_body"):
            body: Stmt | None = getattr(op, name)
            self.open()
            if body is not None:
                self.yielded = ()
                changes[name] = self.statements(body)
                handed.append(self.yielded)
            ends.append(self.close())
        self._join(ends, op.span)
        results: list[Var] = []
        for at, var in enumerate(op.return_vars):
            ways = [origins[at] if at < len(origins) else None for origins in handed]
            results.append(self.define(var, self._agreed(ways, var.name_hint, op.span)))
        changes["return_vars"] = _kept(op.return_vars, results)
        return _changed(op, changes)

    def _agreed(self, ways: Sequence[Origin], name: str, span: Span) -> Origin:
        """One origin for what several ways hand on."""
        origin = ways[0] if ways else None
        for other in ways[1:]:
            if origin is None or other is None:
                return None
            if not same_origin(origin, other):
                origin = self.merged(origin, other, name, span)
        return origin

    def _counted(self, op: ForStmt) -> Stmt:
        changes: dict[str, Any] = {name: self.visit_expr(getattr(op, name)) for name in ("start", "stop", "step")}
        starts, args = self._carried(op.iter_args)
        self.open(loop=True)
        self.define(op.loop_var, None)
        self._enter(op.iter_args, args, starts)
        changes["body"] = self.statements(op.body)
        return self._leave(op, changes, args, starts)

    def _while(self, op: WhileStmt) -> Stmt:
        starts, args = self._carried(op.iter_args)
        self.open(loop=True)
        self._enter(op.iter_args, args, starts)
        changes: dict[str, Any] = {"condition": self.visit_expr(op.condition)}
        changes["body"] = self.statements(op.body)
        return self._leave(op, changes, args, starts)

    def _carried(self, iter_args: Sequence[IterArg]) -> tuple[list[Origin], Sequence[IterArg]]:
        starts = [self.origin(arg.initValue) for arg in iter_args]
        made: list[IterArg] = []
        for arg, origin in zip(iter_args, starts, strict=True):
            start = self.visit_expr(arg.initValue)
            type_ = arg.type if origin is None else self.type_with(arg.type, origin)
            if start is arg.initValue and type_ is arg.type:
                made.append(arg)
            else:
                made.append(IterArg(arg.name_hint, type_, start, arg.span))
        return starts, _kept(iter_args, made)

    def _enter(self, old: Sequence[IterArg], new: Sequence[IterArg], starts: Sequence[Origin]) -> None:
        for arg, made, origin in zip(old, new, starts, strict=True):
            self.define(arg, origin)
            if made is not arg:
                self.var_map[arg] = made
        self.yielded = ()

    def _leave(self, op: Any, changes: dict[str, Any], args: Sequence[IterArg], starts: Sequence[Origin]) -> Stmt:
        ends = self.yielded
        for at, (arg, start) in enumerate(zip(op.iter_args, starts, strict=True)):
            end = ends[at] if at < len(ends) else None
            if start is not None and end is not None and not same_origin(start, end):
                self.merged(start, end, arg.name_hint, op.span)
        self._end_loop(op.span)
        results = [self.define(var, start) for var, start in zip(op.return_vars, starts, strict=False)]
        results += op.return_vars[len(results) :]
        changes["iter_args"] = args
        changes["return_vars"] = _kept(op.return_vars, results)
        return _changed(op, changes)

    # -- variables -------------------------------------------------------------------------------------------------------

    def visit_var(self, op: Var) -> Expr:
        """What stands for a variable here."""
        origin = self.origins.get(op)
        return op if origin is None else self.named(op, self._read(op, origin))

    def named(self, var: Var, origin: Origin) -> Var:
        """The variable that stands for ``var`` where it holds something of that origin."""
        type_ = self.type_with(var.type, origin)
        if type_ is var.type:
            return var
        key = (var, _key(origin))
        known = self.versions.get(key)
        if known is None:
            known = self.versions[key] = fresh_copy(var, type_)
        return known

    def visit_iter_arg(self, op: IterArg) -> Expr:
        """What stands for a carried value."""
        known = self.var_map.get(op)
        return op if known is None else known

    def _read(self, var: Var, origin: Origin) -> Origin:
        if isinstance(origin, Clash):
            raise self.clash(var.name_hint, origin)
        for block in reversed(self.blocks):
            if var in block.changed:
                break
            if block.is_loop:
                block.reads.add(var)
        return origin

    def origin(self, value: Expr) -> Origin:
        """The origin of a value as it stands in the function that is read."""
        if isinstance(value, Var):
            found = self.origins.get(value)
            return None if found is None else self._read(value, found)
        if isinstance(value, Call | Submit):
            return self._of_call(value)
        if isinstance(value, TupleGetItemExpr):
            whole = self.origin(value.tuple)
            return whole[value.index] if isinstance(whole, tuple) and value.index < len(whole) else None  # pyright: ignore
        if isinstance(value, MakeTuple):
            parts = tuple([self.origin(item) for item in value.elements])
            return None if all(part is None for part in parts) else parts
        return None

    def _of_call(self, call: Call | Submit) -> Origin:
        if not call.op.is_function:
            declaration = declaration_of(call.op)
            if declaration is None or isinstance(call, Submit):
                return None
            source = declaration.operand_at(call.args, declaration.alias)
            return self.begins(call) if source is None else self.origin(source)
        places = self.returned(call.op.name)
        args = call.args
        found = [None if at is None or at >= len(args) else self.origin(args[at]) for at in places]
        if isinstance(call, Submit):
            found.append(None)
        if all(origin is None for origin in found):
            return None
        return tuple(found) if isinstance(call.type, TupleType) else found[0]

    def define(self, var: Var, origin: Origin) -> Var:
        """Note what a variable holds from here on; gives the variable that stands for it."""
        if not carries(var.type):
            return var
        known = self.origins.get(var, _NEVER)
        self.blocks[-1].changed.setdefault(var, known)
        self.origins[var] = origin
        self.home[var] = len(self.blocks) - 1
        return var if origin is None or isinstance(origin, Clash) else self.named(var, origin)

    # -- blocks ----------------------------------------------------------------------------------------------------------

    def open(self, loop: bool = False) -> None:
        """Begin a body."""
        self.blocks.append(Block(loop))

    def close(self) -> dict[Var, Origin]:
        """End a body and forget what it did; gives what variables hold at its end, for those that it changed."""
        block = self.blocks.pop()
        ends: dict[Var, Origin] = {}
        for var, before in block.changed.items():
            ends[var] = self.origins[var]
            if before is _NEVER:
                del self.origins[var]
            else:
                self.origins[var] = before
        return ends

    def _join(self, ends: Sequence[dict[Var, Origin]], span: Span) -> None:
        changed: dict[Var, None] = {}
        for end in ends:
            changed.update(dict.fromkeys(end))
        for var in changed:
            before = self.origins.get(var, _NEVER)
            ways = [way for end in ends if (way := end.get(var, before)) is not _NEVER]
            self.define(var, self.either(var, ways, span))

    def _end_loop(self, span: Span) -> None:
        reads = self.blocks[-1].reads
        for var, end in self.close().items():
            before = self.origins.get(var, _NEVER)
            ways = [end] if before is _NEVER else [before, end]
            either = self.either(var, ways, span)
            if isinstance(either, Clash) and var in reads:
                raise self.clash(var.name_hint, either)
            self.define(var, either)

    def fix(self, var: Var, origin: Origin) -> None:
        """Note what a variable holds from its definition on."""
        self.blocks[self.home_of(var)].changed.setdefault(var, self.origins.get(var, _NEVER))
        self.origins[var] = origin

    def home_of(self, var: Var) -> int:
        """The place among the open blocks of the one in which a variable was defined."""
        return min(self.home.get(var, 0), len(self.blocks) - 1)


def _kept(old: Sequence[Any], new: Sequence[Any]) -> Sequence[Any]:
    return old if len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True)) else new


def _changed(op: Any, changes: dict[str, Any]) -> Any:
    different = {name: value for name, value in changes.items() if value is not getattr(op, name)}
    return op.replace(**different) if different else op


def root_value(value: Expr, values: dict[Var, Expr]) -> Expr:
    """What a value is a copy of, through plain copies and casts in ``values``."""
    seen: set[Var] = set()
    while True:
        if isinstance(value, Cast):
            value = value.operand
        elif isinstance(value, Var) and value in values and value not in seen:
            seen.add(value)
            value = values[value]
        else:
            return value


class ReturnedParams:
    """Of each function of a program, which parameter each result is or is a view of; found when first asked for."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.known: dict[str, Sequence[int | None]] = {}

    def __call__(self, name: str) -> Sequence[int | None]:
        """For each result of a function the position of the parameter it is, None for any other; nothing for an unknown function."""
        known = self.known.get(name)
        if known is None:
            function = self.program.get_function(name)
            self.known[name] = ()  # what a function that calls itself returns is not known
            if function is not None:
                known = self.known[name] = _Returns(self).of(function)
        return known or ()


class _Returns(Tracker):
    def of(self, function: Function) -> Sequence[int | None]:
        """The parameters that the returns of a function agree on."""
        self.found: list[Sequence[Origin]] = []
        self.function(function)
        if not self.found:
            return ()
        count = len(self.found[0])
        ways = [[values[at] if at < len(values) else None for values in self.found] for at in range(count)]
        position = {param: at for at, param in enumerate(function.params)}
        agreed = [way[0] if all(other is way[0] for other in way) else None for way in ways]
        return [position[param] if isinstance(param, Var) else None for param in agreed]

    def origin_of_param(self, at: int, param: Var) -> Origin:
        return param

    def _read(self, var: Var, origin: Origin) -> Origin:
        return None if isinstance(origin, Clash) else origin

    def visit_return_stmt(self, op: ReturnStmt) -> Stmt:
        self.found.append([self.origin(value) for value in op.value])
        return op

    def visit_expr(self, op: Expr) -> Expr:
        return op
