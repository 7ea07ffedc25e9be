"""What must be known of a function before code is made for it: what is written in place, what is read, and when values are dead."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence

from pypto.ir.enums import ArgEffect, ParamDirection
from pypto.ir.expr import Call, Expr, IterArg, MakeTuple, Submit, TupleGetItemExpr, Var
from pypto.ir.function import Function
from pypto.ir.node import children
from pypto.ir.stmt import (
    AssignStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    flatten_to_stmts,
)
from pypto.ir.types import DistributedTensorType, ShapedType, TensorType, TupleType, Type
from pypto.ops.declare import Declaration, Lanes
from pypto.runtime.operators import effect_on

Returned = Callable[[str], Sequence[int | None]]
"""For each result of a callee the parameter that it is, None when it may be something else."""

Directions = Callable[[str], Sequence[ParamDirection] | None]
"""The parameter directions of a callee, None when there is no such function."""


def has_storage(type_: Type) -> bool:
    """True for values that are arrays, or tuples that hold some."""
    return isinstance(type_, ShapedType) or (isinstance(type_, TupleType) and any(has_storage(t) for t in type_.types))


class Analysis:
    """Facts of one function, from one walk over it.

    ``last_use`` gives for a statement the variables whose values are dead after it; ``unused`` the variables that nobody reads. Aliases
    are a partition of the variables: whatever may share storage is in one class.
    """

    def __init__(self, function: Function, directions: Directions, returned: Returned, windows: Collection[int] = ()) -> None:
        self.function = function
        self.directions = directions
        self.returned = returned
        self.last_use: dict[Stmt, list[Var]] = {}
        self.assigned: set[Var] = set()
        self.writes_anything = False
        self._parent: dict[Var, Var] = {}
        self._written: list[Var] = []
        self._read: list[Var] = []
        self._block_of: dict[Var, int] = {}
        self._pinned: set[Var] = set()
        self._uses: dict[Var, Stmt] = {}
        self._open: dict[int, Stmt] = {}
        self._blocks = 0
        self._window_vars: list[Var] = []
        for at, param in enumerate(function.params):
            if at in windows or isinstance(param.type, DistributedTensorType):
                self._window_vars.append(param)
            self._pinned.add(param)
            self.assigned.add(param)
        self._block(function.body, [])
        self._windows = {self.root(v) for v in self._window_vars}
        self._written_classes = {self.root(v) for v in self._written}
        self._read_classes = {self.root(v) for v in self._read}
        for var, stmt in self._uses.items():
            if var not in self._pinned:
                self.last_use.setdefault(stmt, []).append(var)
        self.unused = {v for v in self._block_of if v not in self._uses and v not in self._pinned and has_storage(v.type)}

    # -- answers -----------------------------------------------------------------------------------------------------

    def root(self, var: Var) -> Var:
        """The representative of the alias class of a variable."""
        parent = self._parent
        at = var
        while True:
            above = parent.get(at, at)
            if above is at:
                break
            at = above
        while var is not at:
            parent[var], var = at, parent.get(var, var)
        return at

    def is_written(self, var: Var) -> bool:
        """True when something in the alias class of the variable is written in place."""
        return self.root(var) in self._written_classes

    def is_read(self, var: Var) -> bool:
        """True when elements of something in the alias class are read."""
        return self.root(var) in self._read_classes

    def is_window(self, operand: Expr) -> bool:
        """True when an operand may lie in a window that other ranks can reach."""
        if isinstance(operand.type, DistributedTensorType):
            return True
        return (
            bool(self._windows)
            and has_storage(operand.type)
            and any(self.root(v) in self._windows for v in storage_roots(operand, self.returned))
        )

    def unstable(self, operand: Expr) -> bool:
        """True when the storage of an operand may be written while the function runs."""
        if self._windows and self.is_window(operand):
            return True
        if isinstance(operand.type, TensorType):
            return self.writes_anything
        return any(self.is_written(v) for v in storage_roots(operand, self.returned))

    # -- the walk ----------------------------------------------------------------------------------------------------

    def _union(self, a: Var, b: Var) -> None:
        first, second = self.root(a), self.root(b)
        if first is not second:
            self._parent[second] = first

    def _alias(self, var: Var, value: Expr) -> None:
        if has_storage(var.type):
            for source in storage_roots(value, self.returned):
                self._union(var, source)

    def _define(self, var: Var, block: int) -> None:
        if isinstance(var.type, DistributedTensorType):
            self._window_vars.append(var)
        if var in self.assigned:
            self._pinned.add(var)
        else:
            self.assigned.add(var)
            self._block_of[var] = block

    def _use(self, var: Var) -> None:
        block = self._block_of.get(var)
        at = None if block is None else self._open.get(block)
        if at is None:
            self._pinned.add(var)
        else:
            self._uses[var] = at

    def _block(self, body: Stmt, results: Sequence[Var]) -> None:
        """Walk a body; ``results`` are what its final yield becomes."""
        self._blocks += 1
        block = self._blocks
        for stmt in flatten_to_stmts(body):
            self._open[block] = stmt
            self._stmt(stmt, block, results)
        self._open.pop(block, None)

    def _stmt(self, stmt: Stmt, block: int, results: Sequence[Var]) -> None:
        if isinstance(stmt, AssignStmt):
            self._expr(stmt.value)
            self._define(stmt.var, block)
            self._alias(stmt.var, stmt.value)
        elif isinstance(stmt, YieldStmt):
            for at, value in enumerate(stmt.value):
                self._expr(value)
                if at < len(results):
                    self._alias(results[at], value)
        elif isinstance(stmt, IfStmt):
            self._expr(stmt.condition)
            self._block(stmt.then_body, stmt.return_vars)
            if stmt.else_body is not None:
                self._block(stmt.else_body, stmt.return_vars)
            for var in stmt.return_vars:
                self._define(var, block)
        elif isinstance(stmt, ForStmt | WhileStmt):
            self._loop(stmt, block)
        else:
            for child in children(stmt):
                if isinstance(child, Stmt):
                    self._block(child, results)
                elif isinstance(child, Expr):
                    self._expr(child)

    def _loop(self, stmt: ForStmt | WhileStmt, block: int) -> None:
        for arg in stmt.iter_args:
            self._expr(arg.initValue)
            self._pinned.add(arg)
            self._define(arg, block)
            self._alias(arg, arg.initValue)
        if isinstance(stmt, ForStmt):
            for bound in (stmt.start, stmt.stop, stmt.step):
                self._expr(bound)
            self._pinned.add(stmt.loop_var)
            self._define(stmt.loop_var, block)
        else:
            self._expr(stmt.condition)
        self._block(stmt.body, stmt.iter_args)
        for arg, var in zip(stmt.iter_args, stmt.return_vars, strict=False):
            self._define(var, block)
            if has_storage(var.type):
                self._union(var, arg)

    def _expr(self, expr: Expr) -> None:
        if isinstance(expr, Call):
            plain = True
            for arg in expr.args:
                if isinstance(arg, Var):
                    self._use(arg)
                elif not isinstance(arg, MakeTuple) or arg.elements:
                    plain = False
            self._effects(expr)
            if plain and not expr.attrs:
                return
        elif isinstance(expr, Var):
            self._use(expr)
            return
        stack: list[Expr] = [expr]
        while stack:
            node = stack.pop()
            if isinstance(node, Var):
                self._use(node)
            elif isinstance(node, Submit) or (isinstance(node, Call) and node is not expr):
                self._effects(node)
            if not isinstance(node, IterArg):
                stack += [c for c in children(node) if isinstance(c, Expr)]

    def _effects(self, call: Call | Submit) -> None:
        if call.op.is_function:
            directions = self.directions(call.op.name)
            for at, arg in enumerate(call.args):
                if not has_storage(arg.type):
                    continue
                roots = list(storage_roots(arg, self.returned))
                direction = directions[at] if directions is not None and at < len(directions) else ParamDirection.In
                if direction is not ParamDirection.In:
                    self._written += roots
                    self.writes_anything = True
                if direction is not ParamDirection.Out:
                    self._read += roots
            return
        op = call.op
        if not isinstance(op, Declaration):
            return
        for param, arg in zip(op.params_of(len(call.args)), call.args, strict=False):
            if not has_storage(arg.type):
                continue
            name = param.name
            effect = effect_on(op, name, call.kwargs)
            if name in op.scratch:
                continue
            if effect is not ArgEffect.Read:
                self._written += storage_roots(arg, self.returned)
                self.writes_anything = True
            if effect is not ArgEffect.Write and op.lanes is not Lanes.NONE and name != op.alias:
                self._read += storage_roots(arg, self.returned)
            if effect is ArgEffect.ReadWrite:
                self._read += storage_roots(arg, self.returned)


def storage_roots(expr: Expr, returned: Returned) -> Iterator[Var]:
    """The variables whose storage the value of an expression may share."""
    stack: list[Expr] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            yield node
        elif isinstance(node, TupleGetItemExpr):
            stack.append(node.tuple)
        elif isinstance(node, MakeTuple):
            stack += node.elements
        elif isinstance(node, Call | Submit):
            if node.op.is_function:
                known = returned(node.op.name)
                places = range(len(node.args)) if not known or None in known else [p for p in known if p is not None]
                stack += [node.args[p] for p in places if p < len(node.args) and has_storage(node.args[p].type)]
            elif isinstance(node.op, Declaration) and node.op.alias is not None:
                params = node.op.params_of(len(node.args))
                stack += [a for p, a in zip(params, node.args, strict=False) if p.name == node.op.alias]


def last_return(body: Stmt) -> ReturnStmt | None:
    """The last return statement of a body."""
    found: ReturnStmt | None = None
    stack: list[Stmt] = [body]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, ReturnStmt):
            found = found or stmt
        elif isinstance(stmt, SeqStmts):
            stack += stmt.stmts
        else:
            stack += [c for c in children(stmt) if isinstance(c, Stmt)]
    return found
