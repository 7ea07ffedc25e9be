"""What a lowering rule writes with: named temporaries, operator calls and structured control flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.expr import EMPTY, Call, ConstFloat, ConstInt, Expr, IterArg, MakeTuple, Var, index_const
from pypto.ir.op import get_op
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, Stmt, YieldStmt, body_of
from pypto.ir.types import ScalarType, Type
from pypto.passes.lower_composite_ops.signals import Signals

_FLOATS: dict[tuple[float, DataType], ConstFloat] = {}
_INTS: dict[tuple[int, DataType], ConstInt] = {}
# calls are immutable, so equal keywords are one mapping
_CAST_KEYWORDS: dict[tuple[DataType, int], Mapping[str, AttrValue]] = {}


def float_const(value: float, dtype: DataType = DataType.FP32) -> ConstFloat:
    """A floating-point constant; equal ones are one object."""
    known = _FLOATS.get((value, dtype))
    if known is None:
        known = _FLOATS[value, dtype] = ConstFloat(value, dtype)
    return known


def int_const(value: int, dtype: DataType = DataType.INDEX) -> ConstInt:
    """An integer constant; equal ones are one object."""
    known = _INTS.get((value, dtype))
    if known is None:
        known = _INTS[value, dtype] = index_const(value) if dtype is DataType.INDEX else ConstInt(value, dtype)
    return known


def base_name(hint: str, span: Span) -> str:
    """The part of a name before its first ``__``, from which names of temporaries are made.

    Raises:
        InvalidValueError: nothing stands before it.
    """
    base = hint.partition("__")[0]
    if not base:
        raise InvalidValueError(
            f"temporaries cannot be named after {hint!r}: nothing stands before the '__'", span, hint="rename the variable"
        )
    return base


class LoweringBuilder:
    """Collects the statements that replace one composite call.

    Temporaries are called ``<base>__<qualifier>_tmp_v<n>``; ``n`` counts through the whole function, nested builders included, in the
    order in which names are handed out. Statements carry the place of the call that is lowered. ``signals`` is the option of the pass:
    how collectives use their signal cells.
    """

    __slots__ = ("base", "numbers", "signals", "span", "stmts")

    def __init__(self, base: str, span: Span, numbers: count[int] | None = None, signals: Signals = Signals.SINGLE_SHOT) -> None:
        self.signals = signals
        self.base = base
        self.span = span
        self.numbers = count() if numbers is None else numbers
        self.stmts: list[Stmt] = []

    def nested(self) -> LoweringBuilder:
        """A builder for an inner body, sharing names and place."""
        return LoweringBuilder(self.base, self.span, self.numbers, self.signals)

    def name(self, qualifier: str) -> str:
        """The next name for a qualifier."""
        return f"{self.base}__{qualifier}_tmp_v{next(self.numbers)}"

    # -- values --------------------------------------------------------------------------------------------------------

    def call(self, op_name: str, *operands: Any, **kwargs: AttrValue) -> Call:
        """A typed call of an operator, not bound to a name; operands are expressions, integers (INDEX) or lists of them."""
        args = [o if isinstance(o, Expr) else _operand(o) for o in operands]
        return get_op(op_name).make_call(args, kwargs or EMPTY, self.span)

    def _bound(self, qualifier: str, op_name: str, args: list[Expr], kwargs: Mapping[str, AttrValue] = EMPTY) -> Var:
        return self.bind(qualifier, get_op(op_name).make_call(args, kwargs, self.span))

    def bind(self, qualifier: str, value: Expr) -> Var:
        """Give a value a fresh temporary."""
        var = Var(f"{self.base}__{qualifier}_tmp_v{next(self.numbers)}", value.type, self.span)
        self.stmts.append(AssignStmt(var, value, self.span))
        return var

    def muls(self, qualifier: str, tile: Expr, scalar: float) -> Var:
        """``tile * scalar``; the scalar takes the tile's element type."""
        return self._bound(qualifier, "tile.muls", [tile, float_const(scalar, _element(tile))])

    def adds(self, qualifier: str, tile: Expr, scalar: float) -> Var:
        """``tile + scalar``; the scalar takes the tile's element type."""
        return self._bound(qualifier, "tile.adds", [tile, float_const(scalar, _element(tile))])

    def add(self, qualifier: str, left: Expr, right: Expr) -> Var:
        """``left + right``, element by element."""
        return self._bound(qualifier, "tile.add", [left, right])

    def sub(self, qualifier: str, left: Expr, right: Expr) -> Var:
        """``left - right``, element by element."""
        return self._bound(qualifier, "tile.sub", [left, right])

    def mul(self, qualifier: str, left: Expr, right: Expr) -> Var:
        """``left * right``, element by element."""
        return self._bound(qualifier, "tile.mul", [left, right])

    def maximum(self, qualifier: str, left: Expr, right: Expr) -> Var:
        """The larger, element by element."""
        return self._bound(qualifier, "tile.maximum", [left, right])

    def minimum(self, qualifier: str, left: Expr, right: Expr) -> Var:
        """The smaller, element by element."""
        return self._bound(qualifier, "tile.minimum", [left, right])

    def cast(self, qualifier: str, tile: Expr, dtype: DataType, mode: int) -> Var:
        """A conversion of the element type with the given rounding mode (a ``CastMode``)."""
        keywords = _CAST_KEYWORDS.get((dtype, mode))
        if keywords is None:
            keywords = _CAST_KEYWORDS[dtype, mode] = {"target_type": dtype, "mode": int(mode)}
        return self._bound(qualifier, "tile.cast", [tile], keywords)

    # -- control flow --------------------------------------------------------------------------------------------------

    def for_each(
        self, name: str, start: Expr | int, stop: Expr | int, step: Expr | int, body: Callable[[LoweringBuilder, Var], None]
    ) -> None:
        """A sequential loop without carried values; ``body`` gets an inner builder and the loop variable."""
        var = Var(self.name(name), ScalarType(DataType.INDEX), self.span)
        inner = self.nested()
        body(inner, var)
        self.stmts.append(
            ForStmt(var, _operand(start), _operand(stop), _operand(step), [], body_of(inner.stmts, self.span), [], self.span)
        )

    def fold(
        self,
        name: str,
        start: Expr | int,
        stop: Expr | int,
        step: Expr | int,
        init: Expr,
        body: Callable[[LoweringBuilder, Var, IterArg], Expr],
    ) -> Var:
        """A sequential loop that carries one value; ``body`` returns the next one, the loop's result is the last."""
        var = Var(self.name(name), ScalarType(DataType.INDEX), self.span)
        carried = IterArg(self.name(f"{name}_acc"), init.type, init, self.span)
        inner = self.nested()
        following = body(inner, var, carried)
        inner.stmts.append(YieldStmt([following], self.span))
        result = Var(self.name(f"{name}_final"), init.type, self.span)
        loop_body = body_of(inner.stmts, self.span)
        bounds = (_operand(start), _operand(stop), _operand(step))
        self.stmts.append(ForStmt(var, *bounds, [carried], loop_body, [result], self.span))
        return result

    def gate(self, condition: Expr, body: Callable[[LoweringBuilder], None]) -> None:
        """Run ``body`` only when the condition holds."""
        inner = self.nested()
        body(inner)
        self.stmts.append(IfStmt(condition, body_of(inner.stmts, self.span), None, [], self.span))

    def pick(self, condition: Expr, then: Callable[[LoweringBuilder], Expr], otherwise: Callable[[LoweringBuilder], Expr]) -> Var:
        """One of two values; both branches may write statements of their own."""
        bodies: list[Stmt] = []
        types: list[Type] = []
        for branch in (then, otherwise):
            inner = self.nested()
            value = branch(inner)
            inner.stmts.append(YieldStmt([value], self.span))
            bodies.append(body_of(inner.stmts, self.span))
            types.append(value.type)
        result = Var(self.name("if_res"), types[0], self.span)
        self.stmts.append(IfStmt(condition, bodies[0], bodies[1], [result], self.span))
        return result


def _operand(value: Expr | int | Sequence[Any]) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, int):
        return index_const(value)
    return MakeTuple([_operand(v) for v in value])


def _element(tile: Expr) -> DataType:
    dtype: DataType = getattr(tile.type, "dtype", DataType.FP32)
    return dtype
