"""Short ways to write small scalar functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto import ir
from pypto.ir import scalar

INDEX = ir.ScalarType(ir.DataType.INDEX)
INT32 = ir.ScalarType(ir.DataType.INT32)
BOOL = ir.DataType.BOOL


def index(*names: str) -> list[ir.Var]:
    """INDEX variables of these names."""
    return [ir.Var(name, INDEX) for name in names]


def const(value: int) -> ir.ConstInt:
    """An INDEX constant."""
    return ir.ConstInt(value, ir.DataType.INDEX)


def value(e: Any) -> ir.Expr:
    """Integers as constants."""
    return const(e) if isinstance(e, int) else e


def let(var: ir.Var, e: Any, *comments: str, line: int = -1) -> ir.Stmt:
    """An assignment, with comments above it."""
    stmt = ir.AssignStmt(var, value(e), at(line))
    return ir.attach_leading_comments(stmt, comments) if comments else stmt


def at(line: int) -> ir.Span:
    """A place in an imagined file."""
    return ir.Span("kernel.py", line, 5) if line > 0 else ir.Span.unknown()


def seq(*stmts: ir.Stmt) -> ir.Stmt:
    """A body in normal form."""
    return ir.body_of(stmts)


def when(
    condition: ir.Expr, then: ir.Stmt, other: ir.Stmt | None = None, results: Sequence[ir.Var] = (), line: int = -1
) -> ir.Stmt:
    """A branch."""
    return ir.IfStmt(condition, then, other, results, at(line))


def loop(
    var: ir.Var,
    bounds: tuple[Any, Any, Any],
    body: ir.Stmt,
    iter_args: Sequence[ir.IterArg] = (),
    results: Sequence[ir.Var] = (),
    kind: ir.ForKind = ir.ForKind.Sequential,
    line: int = -1,
) -> ir.ForStmt:
    """A counted loop."""
    start, stop, step = map(value, bounds)
    return ir.ForStmt(var, start, stop, step, iter_args, body, results, at(line), kind)


def unroll(var: ir.Var, bounds: tuple[Any, Any, Any], body: ir.Stmt, **rest: Any) -> ir.ForStmt:
    """A loop to be unrolled."""
    return loop(var, bounds, body, kind=ir.ForKind.Unroll, **rest)


def ret(*values: Any) -> ir.Stmt:
    """A return."""
    return ir.ReturnStmt([value(v) for v in values])


def give(*values: Any) -> ir.Stmt:
    """A yield."""
    return ir.YieldStmt([value(v) for v in values])


def call(*args: Any, name: str = "op", type_: ir.Type = INDEX) -> ir.Call:
    """A call of an operator that nobody declared."""
    return ir.Call(ir.Op(name), [value(a) for a in args], type_)


def call_self(name: str, *args: Any, type_: ir.Type = INDEX) -> ir.Call:
    """A call of a function of the program."""
    return ir.Call(ir.GlobalVar(name), [value(a) for a in args], type_)


def function(
    params: Sequence[ir.Var], *stmts: ir.Stmt, name: str = "f", type_: ir.FunctionType = ir.FunctionType.Opaque
) -> ir.Function:
    """A function that returns INDEX values."""
    last = stmts[-1]
    results = len(last.value) if isinstance(last, ir.ReturnStmt) else 0
    return ir.Function(name, params, [INDEX] * results, seq(*stmts), type=type_)


def program(*functions: ir.Function) -> ir.Program:
    """A program of these functions."""
    return ir.Program(functions, "P")


lt, gt, ge, eq, add, sub, mul = scalar.lt, scalar.gt, scalar.ge, scalar.eq, scalar.add, scalar.sub, scalar.mul
