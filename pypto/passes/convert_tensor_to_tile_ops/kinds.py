"""Which tensor values of a kernel become tiles: those that a converted operator computes, and what carries them through loops and branches."""

from __future__ import annotations

from pypto.ir.expr import Call, Expr, Var
from pypto.ir.function import Function
from pypto.ir.stmt import (
    AssignStmt,
    ForStmt,
    IfStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    flatten_to_stmts,
)
from pypto.ir.types import TensorType, TileType
from pypto.passes.op_conversion import find_conversion


class TileValues:
    """The variables of a function that hold tensors before the conversion and tiles after it."""

    def __init__(self, function: Function) -> None:
        self._tiles: set[Var] = set()
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
        if not tile or var in self._tiles or not isinstance(var.type, TensorType):
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


def yielded(body: Stmt) -> list[Expr]:
    """The values of the yield that ends a body, none when there is no yield."""
    stmts = flatten_to_stmts(body)
    last = stmts[-1] if stmts else None
    return [*last.value] if isinstance(last, YieldStmt) else []
