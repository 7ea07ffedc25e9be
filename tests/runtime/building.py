"""Short ways to build the functions that are run in these tests."""

from __future__ import annotations

from typing import Any

import pypto.ops  # noqa: F401 - declares the operators
from pypto import ir
from pypto.ir import DataType, ParamDirection
from pypto.ir.expr import Expr, Var
from pypto.ir.function import Function, Program
from pypto.ir.op import GlobalVar
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, EvalStmt, ReturnStmt, Stmt, body_of
from pypto.ir.types import Type

FP32, FP16, BF16 = DataType.FP32, DataType.FP16, DataType.BF16
INT8, INT32, INT64, INDEX, BOOL = DataType.INT8, DataType.INT32, DataType.INT64, DataType.INDEX, DataType.BOOL
Out, InOut = ParamDirection.Out, ParamDirection.InOut


def tensor(shape: Any, dtype: DataType = FP32) -> ir.TensorType:
    """A tensor type."""
    return ir.TensorType(shape, dtype)


def scalar(dtype: DataType) -> ir.ScalarType:
    """A scalar type."""
    return ir.ScalarType(dtype)


def operand(value: Any) -> Expr:
    """A list as a tuple of indices, an int as an index; expressions as they are."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, list):
        return ir.MakeTuple([operand(v) for v in value])
    return ir.index_const(value)


def number(value: float, dtype: DataType) -> Expr:
    """A constant of an element type."""
    if dtype is BOOL:
        return ir.ConstBool(bool(value))
    return ir.ConstFloat(value, dtype) if dtype.is_float() else ir.ConstInt(int(value), dtype)


def call(name: str, *args: Any, **kwargs: Any) -> ir.Call:
    """A call of an operator."""
    return ir.create_op_call(name, [operand(a) for a in args], kwargs)


def load(source: Expr, offsets: list[Any], shape: list[Any], valid: list[Any] | None = None) -> ir.Call:
    """``tile.load`` into Vec."""
    return call("tile.load", source, offsets, shape, valid or shape, target_memory=ir.MemorySpace.Vec)


class Body:
    """Statements in the making."""

    def __init__(self) -> None:
        self.stmts: list[Stmt] = []

    def let(self, name: str | Var, value: Expr, line: int = -1) -> Var:
        """``name = value``; a variable given is assigned again."""
        var = name if isinstance(name, Var) else Var(name, value.type)
        self.stmts.append(AssignStmt(var, value, Span("kernel.py", line, 5) if line > 0 else Span.unknown()))
        return var

    def do(self, value: Expr) -> None:
        """An expression for its effect."""
        self.stmts.append(EvalStmt(value))

    def add(self, stmt: Stmt) -> None:
        """Any statement."""
        self.stmts.append(stmt)

    def give(self, *values: Expr) -> None:
        """Return."""
        self.stmts.append(ReturnStmt([*values]))

    @property
    def stmt(self) -> Stmt:
        """The statements as one body."""
        return body_of(self.stmts)

    def function(self, name: str, params: list[Any], types: list[Type] | None = None, **options: Any) -> Function:
        """The function with these statements."""
        if types is None:
            last = self.stmts[-1]
            types = [v.type for v in last.value] if isinstance(last, ReturnStmt) else []
        return Function(name, params, types, self.stmt, **options)


def scalar_function(expr: Expr, *params: Var) -> Function:
    """A function that returns one scalar expression."""
    body = Body()
    body.give(expr)
    return body.function("f", [*params])


def call_function(function: Function, *args: Expr) -> ir.Call:
    """A call of a function of the program."""
    types = function.return_types
    type_: Any = ir.UnknownType() if not types else types[0] if len(types) == 1 else ir.TupleType(types)
    return ir.Call(GlobalVar(function.name), [*args], type_, Span.unknown())


def program(*functions: Function) -> Program:
    """A program of functions."""
    return Program([*functions], "P")
