"""Which name each variable is printed under.

Distinct variables get distinct names. Within a function the order is parameters, definitions, uses: a hint that one variable has alone is
kept; of several with one hint the first keeps it and the others get ``_1``, ``_2`` ... Names that the text needs for something else
(Python's keywords, ``pl``, ``pld``, ``self``, functions called by bare name) are never given to a variable.

Variables that types mention but no function defines (dynamic dimensions) are declared at the top of the text and have one name in the whole
program; so have parameters that a signature mentions. Allocations that are not defined in the text are named in quotes where they occur;
their names are unique in the program as well.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Sequence

from pypto.ir.attrs import DEFINING_KEYS
from pypto.ir.expr import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    MemRef,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    WindowBuffer,
)
from pypto.ir.function import Function, Program
from pypto.ir.node import Node, children
from pypto.ir.stmt import (
    AssignStmt,
    CommDomainScopeStmt,
    EvalStmt,
    ForStmt,
    IfStmt,
    ScopeStmt,
    SeqStmts,
    WhileStmt,
)
from pypto.ir.type_parts import is_closed, type_expressions
from pypto.ir.types import Type

FREE_SUFFIX = "__FREE_VAR"
"""Ending of variables that a function uses without having a definition of them."""

_KEYWORDS = frozenset((*keyword.kwlist, "self", "pl", "pld"))


class Names(dict[Var, str]):
    """Printed names by variable (identity). A variable that only the type of a call mentions gets a name when it is first asked for."""

    def __missing__(self, var: Var) -> str:
        pick_names([var], {*_KEYWORDS, *self.values()}, self)
        return self[var]


class FunctionScan:
    """The variables of a function, or of any node, in the order in which they are named. Mappings stand for ordered sets."""

    __slots__ = ("buffers", "callees", "calls", "defined", "dims", "signature", "uses")

    def __init__(self) -> None:
        self.defined: dict[Var, None] = {}
        self.uses: dict[Var, None] = {}
        self.dims: dict[Var, None] = {}
        self.signature: dict[Var, None] = {}
        self.buffers: dict[Var, None] = {}
        self.callees: dict[str, None] = {}

    def function(self, function: Function) -> FunctionScan:
        """Scan a function: its signature, then its body."""
        for param in function.params:
            self.defined[param] = None
            self._type(param.type, self.signature)
        for type_ in function.return_types:
            self._type(type_, self.signature)
        for value in function.attrs.values():
            self._attr(value)
        self.dims.update(self.signature)
        return self.node(function.body)

    def node(self, root: Node) -> FunctionScan:
        """Scan statements and expressions, in reading order."""
        stack: list[Node | tuple[Var, ...]] = [root]
        defined = self.defined
        seen_types: set[int] = set()
        while stack:
            current = stack.pop()
            if type(current) is AssignStmt:
                var = current.var
                defined[var] = None
                type_ = var.type
                if id(type_) not in seen_types:
                    seen_types.add(id(type_))
                    self._type(type_, self.dims)
                self.expr(current.value)
            elif isinstance(current, tuple):
                for var in current:
                    defined[var] = None
                    self._type(var.type, self.dims)
            elif isinstance(current, SeqStmts):
                stack.extend(reversed(current.stmts))
            elif isinstance(current, Expr):
                self.expr(current)
            else:
                self._other(current, stack)
        return self

    def _other(self, current: Node, stack: list[Node | tuple[Var, ...]]) -> None:
        if isinstance(current, EvalStmt):
            self.expr(current.expr)
        elif isinstance(current, IfStmt):
            self.expr(current.condition)
            stack.append(tuple(current.return_vars))
            if current.else_body is not None:
                stack.append(current.else_body)
            stack.append(current.then_body)
        elif isinstance(current, ForStmt):
            for bound in (current.start, current.stop, current.step):
                self.expr(bound)
            self._loop((current.loop_var,), current, stack)
        elif isinstance(current, WhileStmt):
            self._loop((), current, stack)
            stack.append(current.condition)
        elif isinstance(current, ScopeStmt):
            for key in DEFINING_KEYS:
                task = current.attrs.get(key)
                if isinstance(task, Var):
                    self.defined[task] = None
            for child in children(current):
                if child is not current.body:
                    stack.append(child)
            if isinstance(current, CommDomainScopeStmt):
                for slot in current.slots:
                    self._buffer(slot.base)
            stack.append(current.body)
        elif isinstance(current, Function):
            self.function(current)
        else:
            stack.extend(reversed(list(children(current))))

    def _loop(self, head: tuple[Var, ...], loop: ForStmt | WhileStmt, stack: list[Node | tuple[Var, ...]]) -> None:
        for var in (*head, *loop.iter_args):
            self.defined[var] = None
            self._type(var.type, self.dims)
        for arg in loop.iter_args:
            self.expr(arg.initValue)
        stack.append(tuple(loop.return_vars))
        stack.append(loop.body)

    def expr(self, root: Expr) -> None:
        """Scan an expression, without recursion. Variables that are defined already need no second look."""
        defined, uses = self.defined, self.uses
        stack: list[Expr] = [root]
        while stack:
            current = stack.pop()
            if type(current) is Call:
                if current.op.is_function:
                    self.callees[current.op.name] = None
                for arg in current.args:
                    if not (type(arg) is Var and arg in defined):
                        stack.extend(reversed(current.args))
                        break
                if current.attrs:
                    for value in current.attrs.values():
                        self._attr(value)
                if current.kwargs:
                    for value in current.kwargs.values():
                        self._attr(value)
            elif type(current) is Var or type(current) is IterArg:
                if current not in defined and current not in uses:
                    uses[current] = None
                    self._type(current.type, self.dims)
            elif isinstance(current, ConstInt | ConstFloat | ConstBool):
                pass
            elif isinstance(current, BinaryExpr):
                stack.append(current.right)
                stack.append(current.left)
            elif isinstance(current, UnaryExpr):
                stack.append(current.operand)
            elif isinstance(current, TupleGetItemExpr):
                stack.append(current.tuple)
            elif isinstance(current, MakeTuple):
                stack.extend(reversed(current.elements))
            elif isinstance(current, MemRef | WindowBuffer):
                self._part(current, self.dims)
            else:
                if isinstance(current, Submit) and current.op.is_function:
                    self.callees[current.op.name] = None
                stack.extend(reversed([child for child in children(current) if isinstance(child, Expr)]))

    def _attr(self, value: object) -> None:
        if isinstance(value, Expr):
            self.expr(value)
        elif isinstance(value, list):
            for item in value:  # pyright: ignore[reportUnknownVariableType]
                if isinstance(item, Expr):
                    self.expr(item)

    def _type(self, type_: Type, into: dict[Var, None]) -> None:
        if is_closed(type_):
            return
        for part in type_expressions(type_):
            self._part(part, into)

    def _part(self, part: Expr, into: dict[Var, None]) -> None:
        if isinstance(part, MemRef):
            self._buffer(part.base_)
            self._part(part.byte_offset_, into)
            if part.slot_index_ is not None:
                self._part(part.slot_index_, into)
        elif isinstance(part, WindowBuffer):
            self._buffer(part.base)
        elif type(part) is not ConstInt:
            inner = FunctionScan()
            inner.expr(part)
            into.update(inner.uses)
            into.update(inner.dims)
            self.buffers.update(inner.buffers)

    def _buffer(self, base: Var) -> None:
        self.buffers[base] = None


class ProgramNames:
    """The names of one printed text: those at its top, and those of each function."""

    __slots__ = ("_given", "_reserved", "_scans", "buffers", "dynamic", "standalone")

    def __init__(self, root: Node | Type, prefix: str) -> None:
        self._scans: dict[int, FunctionScan] = {}
        self._given: dict[int, Names] = {}
        self.standalone = not isinstance(root, Program)
        reserved = {*_KEYWORDS, prefix}
        functions: Sequence[Function] = ()
        if isinstance(root, Program):
            functions = list(root.functions.values())
        elif isinstance(root, Function):
            functions = [root]
        scans = [FunctionScan().function(function) for function in functions]
        dims: dict[Var, None] = {}
        taken: set[str] = set()
        for function, scan in zip(functions, scans, strict=True):
            self._scans[id(function)] = scan
            for dim in scan.dims:
                if dim not in scan.defined or dim in scan.signature:
                    dims[dim] = None
            if self.standalone:
                reserved.update(scan.callees)
            taken.update(var.name_hint for var in scan.defined if var not in scan.dims)
        self.dynamic = Names()
        pick_names(dims, {*reserved, getattr(root, "name", "")}, self.dynamic)
        self._reserved = reserved | set(self.dynamic.values())
        outside: dict[Var, None] = {}
        for scan in scans:
            outside.update((b, None) for b in scan.buffers if b not in scan.defined)
        self.buffers = Names()
        pick_names(outside, set(), self.buffers, plain=True)

    def of_function(self, function: Function) -> Names:
        """The names inside a function; those that types quote are in it too."""
        given = self._given.get(id(function))
        return self._of_scan(self._scans[id(function)], is_function=True) if given is None else given

    def preset(self, function: Function, names: Names) -> None:
        """Use these names inside a function from now on."""
        self._given[id(function)] = names

    def defined_in(self, function: Function) -> dict[Var, None]:
        """The variables that a function defines, its parameters included."""
        return self._scans[id(function)].defined

    def callees_of(self, function: Function) -> list[str]:
        """The names of the functions that a function calls, sorted."""
        return sorted(self._scans[id(function)].callees)

    def of_node(self, root: Node) -> Names:
        """The names inside statements or an expression that stand alone."""
        return self._of_scan(FunctionScan().node(root), is_function=False)

    def of_type(self, type_: Type) -> Names:
        """The names inside a type that stands alone."""
        scan = FunctionScan()
        scan._type(type_, scan.dims)
        return self._of_scan(scan, is_function=False)

    def _of_scan(self, scan: FunctionScan, is_function: bool) -> Names:
        names = Names(self.dynamic)
        known = scan.defined
        local = {var: None for var in known if var not in names}
        free: dict[Var, None] = {}
        for var in (*scan.uses, *scan.dims):
            if var not in names and var not in known:
                free[var] = None
        if is_function:
            pick_names(local, self._reserved, names)
            used = self._reserved | set(names.values())
            pick_names(free, used, names, suffix=FREE_SUFFIX)
        else:
            pick_names({**local, **free}, self._reserved, names)
        for base in scan.buffers:
            if base not in names:
                names[base] = self.buffers.get(base) or identifier(base.name_hint)
        return names


def pick_names(variables: Iterable[Var], reserved: set[str], names: Names, suffix: str = "", plain: bool = False) -> None:
    """Give each variable a name of its own that is not reserved. ``plain`` names stand in quotes, where keywords do no harm."""
    by_hint: dict[str, int] = {}
    ordered = list(variables)
    hints: list[str] = []
    for var in ordered:
        hint = var.name_hint + suffix
        if not (hint.isidentifier() and hint.isascii()):
            hint = identifier(hint)
        hints.append(hint)
        by_hint[hint] = by_hint.get(hint, 0) + 1
    taken: set[str] = set() if plain else {*reserved}
    taken.update(hint for hint, count in by_hint.items() if count == 1)
    alone = {hint for hint, count in by_hint.items() if count == 1 and (plain or hint not in reserved)}
    following: dict[str, int] = {}
    for var, hint in zip(ordered, hints, strict=True):
        if hint in alone:
            names[var] = hint
            continue
        name = hint
        number = following.get(hint, 0)
        while name in taken:
            number += 1
            name = f"{hint}_{number}"
        following[hint] = number
        taken.add(name)
        names[var] = name


def identifier(hint: str) -> str:
    """A hint as an identifier: characters that no identifier has become ``_``; nothing at all becomes ``v``."""
    if hint.isascii() and hint.isidentifier():
        return hint
    import unicodedata

    text = unicodedata.normalize("NFKC", hint)
    if text.isidentifier():
        return text
    text = re.sub(r"\W", "_", text) or "v"
    return text if text.isidentifier() else f"_{text}"
