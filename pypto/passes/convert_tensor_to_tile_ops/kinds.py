"""Which tensor values of a kernel become tiles: those that a converted operator computes, and what carries them through loops and branches;
and in which memory they are wanted."""

from __future__ import annotations

from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.function import Function
from pypto.ir.node import Node, children
from pypto.ir.op import DeclaredOp
from pypto.ir.stmt import (
    AssignStmt,
    ForStmt,
    IfStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    flatten_to_stmts,
)
from pypto.ir.types import TensorType, TileType
from pypto.passes.convert_tensor_to_tile_ops.storage import Storage, yielded
from pypto.passes.op_conversion import find_conversion


class TileValues:
    """The variables of a function that hold tensors before the conversion and tiles after it."""

    def __init__(self, function: Function) -> None:
        self._tiles: set[Var] = set()
        self.storage = Storage(function)
        self.views = self.storage.written_views(function)
        while self._visit(function.body):
            pass

    def __contains__(self, var: object) -> bool:
        return var in self._tiles

    def is_tile(self, value: Expr) -> bool:
        """True when the value is a tile after the conversion."""
        if isinstance(value.type, TileType):
            return True
        if isinstance(value, Var):
            return value in self._tiles
        return isinstance(value, Call) and self._call_gives_tile(value)

    def _call_gives_tile(self, call: Call) -> bool:
        if call.op.is_function or not isinstance(call.type, TensorType):
            return False
        entry = find_conversion(call.op.name)
        if entry is None:
            return False
        return True if entry.keeps is None else self.is_tile(call.args[entry.keeps])

    def _mark(self, var: Var, tile: bool) -> bool:
        if not tile or var in self._tiles or var in self.views or not isinstance(var.type, TensorType):
            return False
        self._tiles.add(var)
        return True

    def _visit(self, stmt: Stmt) -> bool:
        changed = False
        for inner in flatten_to_stmts(stmt) if isinstance(stmt, SeqStmts) else [stmt]:
            if isinstance(inner, AssignStmt):
                changed |= self._mark(inner.var, self.is_tile(inner.value))
            elif isinstance(inner, IfStmt):
                changed |= self._branch(inner)
            elif isinstance(inner, ForStmt | WhileStmt):
                changed |= self._loop(inner)
            else:
                body = getattr(inner, "body", None)
                if isinstance(body, Stmt):
                    changed |= self._visit(body)
        return changed

    def _branch(self, stmt: IfStmt) -> bool:
        changed = self._visit(stmt.then_body)
        yields = [yielded(stmt.then_body)]
        if stmt.else_body is not None:
            changed |= self._visit(stmt.else_body)
            yields.append(yielded(stmt.else_body))
        for at, var in enumerate(stmt.return_vars):
            changed |= self._mark(var, any(at < len(values) and self.is_tile(values[at]) for values in yields))
        return changed

    def _loop(self, stmt: ForStmt | WhileStmt) -> bool:
        changed = False
        for arg in stmt.iter_args:
            changed |= self._mark(arg, self.is_tile(arg.initValue))
        changed |= self._visit(stmt.body)
        for arg, value, result in zip(stmt.iter_args, yielded(stmt.body), stmt.return_vars, strict=False):
            tile = self.is_tile(value) or arg in self._tiles
            changed |= self._mark(arg, tile)
            changed |= self._mark(result, tile)
        return changed


class WantedSpaces:
    """The memory space that all uses of a variable ask for, through zero-copy views and into loops."""

    def __init__(self, function: Function) -> None:
        self._direct: dict[Var, set[MemorySpace | None]] = {}
        self._onward: dict[Var, list[Var]] = {}
        stack: list[Node] = [function.body]
        seen: set[Node] = set()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            stack.extend(self._look(node))

    def of(self, var: Var) -> MemorySpace | None:
        """The one space that every use wants; None when uses differ or do not care."""
        wants: set[MemorySpace | None] = set()
        seen = {var}
        stack = [var]
        while stack:
            current = stack.pop()
            wants |= self._direct.get(current, set())
            if len(wants) > 1 or None in wants:
                return None
            for onward in self._onward.get(current, ()):
                if onward not in seen:
                    seen.add(onward)
                    stack.append(onward)
        return next(iter(wants), None)

    def _look(self, node: Node) -> list[Node]:
        """Note what a node uses; gives the nodes that are still to be looked at."""
        if isinstance(node, Var):
            self._direct.setdefault(node, set()).add(None)
            return []
        if isinstance(node, AssignStmt):
            return self._passed_on(node.value, node.var)
        if isinstance(node, ForStmt | WhileStmt):
            rest: list[Node] = []
            for arg in node.iter_args:
                rest += self._passed_on(arg.initValue, arg)
            if isinstance(node, ForStmt):
                return [*rest, node.start, node.stop, node.step, node.body]
            return [*rest, node.condition, node.body]
        if isinstance(node, Call):
            return self._operands(node)
        if isinstance(node, IfStmt):
            return [node.condition, node.then_body, *([] if node.else_body is None else [node.else_body])]
        return [*children(node)]

    def _passed_on(self, value: Expr, to: Var) -> list[Node]:
        if isinstance(value, Var):
            self._onward.setdefault(value, []).append(to)
            return []
        op = value.op if isinstance(value, Call) else None
        if isinstance(value, Call) and isinstance(op, DeclaredOp) and op.relabels and isinstance(value.args[0], Var):
            self._onward.setdefault(value.args[0], []).append(to)
            return [*value.args[1:]]
        return [value]

    def _operands(self, call: Call) -> list[Node]:
        entry = None if call.op.is_function else find_conversion(call.op.name)
        rest: list[Node] = []
        for at, arg in enumerate(call.args):
            space = None if entry is None else entry.spaces.get(at)
            if space is not None and isinstance(arg, Var):
                self._direct.setdefault(arg, set()).add(space)
            else:
                rest.append(arg)
        return rest
