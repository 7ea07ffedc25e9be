"""Writing a kernel: statements, operator calls, structured control flow and named steps."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from pypto.diagnostics import InternalError
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, Level, ParamDirection
from pypto.ir.expr import ConstInt, Expr, IterArg, Var, index_const
from pypto.ir.function import Function
from pypto.ir.op import get_op
from pypto.ir.span import UNKNOWN
from pypto.ir.stmt import AssignStmt, EvalStmt, ForStmt, HierarchyScopeStmt, IfStmt, Stmt, YieldStmt, body_of
from pypto.ir.types import DistributedTensorType, ScalarType
from pypto.ops.declare import Declaration

STEP_LEVEL = Level.AIV
"""The level of the scopes that name steps: where a kernel runs anyhow, so that such a scope changes nothing."""


class Loop:
    """A loop that carries one value: ``index`` and ``value`` inside it, ``result`` after it."""

    __slots__ = ("following", "index", "result", "value")

    def __init__(self, index: Var, value: IterArg, result: Var) -> None:
        self.index = index
        self.value = value
        self.result = result
        self.following: Expr | None = None

    def hand_on(self, value: Expr) -> None:
        """The value that the next turn begins with."""
        self.following = value


class Choice:
    """A value that one of two branches gives: ``result`` after both."""

    __slots__ = ("name", "result")

    def __init__(self, name: str) -> None:
        self.name = name
        self.result: Var | None = None


class KernelWriter:
    """Collects the parameters and statements of one kernel."""

    def __init__(self) -> None:
        self._params: list[tuple[Var, ParamDirection]] = []
        self._open: list[list[Stmt]] = [[]]

    # -- parameters ----------------------------------------------------------------------------------------------------

    def window(self, name: str, type_: DistributedTensorType, direction: ParamDirection = ParamDirection.InOut) -> Var:
        """A parameter of a window's shape and element type. Extents that are no constants become dimensions of the kernel's own."""
        shape = [
            d if isinstance(d, ConstInt) else Var(f"{name}_dim{at}", ScalarType(DataType.INDEX))
            for at, d in enumerate(type_.shape)
        ]
        return self._param(Var(name, DistributedTensorType(shape, type_.dtype)), direction)

    def number(self, name: str) -> Var:
        """An INDEX parameter."""
        return self._param(Var(name, ScalarType(DataType.INDEX)), ParamDirection.In)

    def _param(self, var: Var, direction: ParamDirection) -> Var:
        self._params.append((var, direction))
        return var

    def function(self, name: str) -> Function:
        """The kernel."""
        if len(self._open) != 1:
            raise InternalError(f"the kernel {name!r} ends inside a block")
        return Function(name, self._params, [], body_of(self._open[0]), type=FunctionType.InCore)

    # -- statements ----------------------------------------------------------------------------------------------------

    def call(self, operator: str, *operands: Any, **keywords: Any) -> Expr:
        """A typed call of an operator; operands and keywords as people write them, keywords that only passes set included."""
        declaration: Any = get_op(operator)
        assert isinstance(declaration, Declaration)
        public = declaration.signature.parameters
        bound = declaration.bind(operands, {key: value for key, value in keywords.items() if key in public})
        args, stored = declaration.collect(bound, UNKNOWN)
        stored.update({key: value for key, value in keywords.items() if key not in public})
        return declaration.make_call(args, stored, UNKNOWN)

    def bind(self, name: str, value: Expr) -> Var:
        """Give a value a name."""
        var = Var(name, value.type)
        self._emit(AssignStmt(var, value))
        return var

    def do(self, operator: str, *operands: Any, **keywords: Any) -> None:
        """Call an operator for what it does."""
        self._emit(EvalStmt(self.call(operator, *operands, **keywords)))

    def _emit(self, stmt: Stmt) -> None:
        self._open[-1].append(stmt)

    # -- blocks --------------------------------------------------------------------------------------------------------

    @contextmanager
    def _block(self) -> Generator[list[Stmt]]:
        stmts: list[Stmt] = []
        self._open.append(stmts)
        yield stmts
        self._open.pop()

    @contextmanager
    def step(self, name: str) -> Generator[None]:
        """What is done inside is a step of that name; what is bound inside can be used after it."""
        with self._block() as stmts:
            yield
        self._emit(HierarchyScopeStmt(STEP_LEVEL, None, name, body=body_of(stmts)))

    @contextmanager
    def when(self, condition: Expr) -> Generator[None]:
        """Only when the condition holds."""
        with self._block() as stmts:
            yield
        self._emit(IfStmt(condition, body_of(stmts), None, []))

    @contextmanager
    def each(self, name: str, start: Expr | int, stop: Expr | int, step: Expr | int = 1) -> Generator[Var]:
        """A loop without carried values; gives its variable, INDEX."""
        index = Var(name, ScalarType(DataType.INDEX))
        with self._block() as stmts:
            yield index
        self._emit(ForStmt(index, to_index(start), to_index(stop), to_index(step), [], body_of(stmts), []))

    @contextmanager
    def fold(
        self, name: str, start: Expr | int, stop: Expr | int, step: Expr | int, carried: str, initial: Expr
    ) -> Generator[Loop]:
        """A loop that carries one value, which its body must :meth:`Loop.hand_on`."""
        index = Var(name, ScalarType(DataType.INDEX))
        value = IterArg(carried, initial.type, initial)
        loop = Loop(index, value, Var(f"{carried}_at_end", initial.type))
        with self._block() as stmts:
            yield loop
        if loop.following is None:
            raise InternalError(f"the loop over {name!r} hands nothing on")
        stmts.append(YieldStmt([loop.following]))
        bounds = to_index(start), to_index(stop), to_index(step)
        self._emit(ForStmt(index, *bounds, [value], body_of(stmts), [loop.result]))

    @contextmanager
    def choose(self, name: str, condition: Expr, otherwise: Expr) -> Generator[Choice]:
        """The value that the block gives with :meth:`give` when the condition holds, else ``otherwise``."""
        choice = Choice(name)
        with self._block() as stmts:
            yield choice
        if choice.result is None:
            raise InternalError(f"the branch for {name!r} gives nothing")
        self._emit(IfStmt(condition, body_of(stmts), YieldStmt([otherwise]), [choice.result]))

    def give(self, choice: Choice, value: Expr) -> None:
        """End the block of a choice with its value."""
        self._emit(YieldStmt([value]))
        choice.result = Var(choice.name, value.type)


# -- scalars -----------------------------------------------------------------------------------------------------------


def to_index(value: Expr | int) -> Expr:
    """An INDEX expression."""
    return index_const(value) if isinstance(value, int) else value


def as_index(value: Expr) -> Expr:
    """A conversion to INDEX."""
    return scalar.cast(value, DataType.INDEX, UNKNOWN)


def as_int32(value: Expr) -> Expr:
    """A conversion to INT32, the element type of signals."""
    return scalar.cast(value, DataType.INT32, UNKNOWN)


def int32(value: int) -> Expr:
    """An INT32 constant."""
    return ConstInt(value, DataType.INT32)


def constant_of(value: Expr) -> int | None:
    """The value of a constant, None for any other expression."""
    return value.value if isinstance(value, ConstInt) else None


def product(factors: Sequence[Expr]) -> Expr:
    """The product of extents; a constant when all of them are."""
    known = 1
    unknown: list[Expr] = []
    for factor in factors:
        value = constant_of(factor)
        if value is None:
            unknown.append(factor)
        else:
            known *= value
    result: Expr | None = None
    for factor in [*unknown, *([index_const(known)] if known != 1 or not unknown else [])]:
        result = factor if result is None else scalar.mul(result, factor, UNKNOWN)
    assert result is not None
    return result
