"""Intervals with symbolic ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ir.arith.facts import NEGATED, conjuncts
from pypto.ir.arith.rewrite_simplify import Simplifier
from pypto.ir.arith.values import in_order, operands
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    Add,
    BinaryExpr,
    ConstBool,
    ConstInt,
    Eq,
    Expr,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Neg,
    Sub,
    Var,
)
from pypto.ir.span import UNKNOWN


class IntSet:
    """The integers from ``min`` to ``max``, both included; None for an end that is not bounded."""

    __slots__ = ("max", "min")

    def __init__(self, min: Expr | None = None, max: Expr | None = None) -> None:
        self.min = min
        self.max = max

    @staticmethod
    def everything() -> IntSet:
        """All integers."""
        return IntSet(None, None)

    @staticmethod
    def single_point(value: Expr) -> IntSet:
        """One value."""
        return IntSet(value, value)

    @staticmethod
    def interval(a: Expr, b: Expr) -> IntSet:
        """From ``a`` to ``b``."""
        return IntSet(a, b)

    def is_everything(self) -> bool:
        """True when neither end is bounded."""
        return self.min is None and self.max is None

    def is_single_point(self) -> bool:
        """True when both ends are one value."""
        if self.min is self.max:
            return self.min is not None
        return isinstance(self.min, ConstInt) and isinstance(self.max, ConstInt) and self.min.value == self.max.value

    def is_nothing(self) -> bool:
        """True when constant ends leave no value."""
        return isinstance(self.min, ConstInt) and isinstance(self.max, ConstInt) and self.min.value > self.max.value

    def __repr__(self) -> str:
        return f"IntSet({self.min!r}, {self.max!r})"


class IntSetAnalyzer:
    """The interval of an expression when some of its variables range over intervals; the other variables stay symbols."""

    def __init__(self, simplify: Simplifier | None = None) -> None:
        self._simplify = Simplifier() if simplify is None else simplify
        self._sets: dict[Var, IntSet] = {}

    def update(self, var: Var, values: IntSet | None) -> None:
        """Set the interval of a variable; None makes it a symbol again."""
        if values is None:
            self._sets.pop(var, None)
        else:
            self._sets[var] = values

    def bind(self, var: Var, min_value: Expr | int, max_exclusive: Expr | int) -> None:
        """Say that ``min_value <= var < max_exclusive``."""
        dtype = _dtype(var)
        low = ConstInt(min_value, dtype, UNKNOWN) if isinstance(min_value, int) else min_value
        if isinstance(max_exclusive, int):
            high: Expr = ConstInt(max_exclusive - 1, dtype, UNKNOWN)
        else:
            high = self._simplify(Sub(max_exclusive, ConstInt(1, dtype, UNKNOWN), dtype, UNKNOWN))
        self._sets[var] = IntSet(low, high)

    def enter_constraint(self, condition: Expr) -> Callable[[], None]:
        """Use comparisons of single variables until the returned function is called."""
        before = dict(self._sets)
        for cond, truth in conjuncts(condition):
            if isinstance(cond, BinaryExpr) and type(cond) in NEGATED:
                kind: type[Expr] = type(cond) if truth else NEGATED[type(cond)]
                self._learn(kind, cond.left, cond.right)
                self._learn(_MIRRORED.get(kind, kind), cond.right, cond.left)

        def undo() -> None:
            self._sets = before

        return undo

    def _learn(self, kind: type[Expr], var: Expr, value: Expr) -> None:
        if not isinstance(var, Var) or _occurs(var, value):
            return
        old = self._sets.get(var, IntSet.everything())
        low, high = old.min, old.max
        one = ConstInt(1, _dtype(var), UNKNOWN)
        if kind is Eq:
            low = high = value
        elif kind in (Lt, Le):
            end = value if kind is Le else self._simplify(Sub(value, one, _dtype(var), UNKNOWN))
            high = end if high is None else self._simplify(Min(high, end, _dtype(var), UNKNOWN))
        elif kind in (Gt, Ge):
            end = value if kind is Ge else self._simplify(Add(value, one, _dtype(var), UNKNOWN))
            low = end if low is None else self._simplify(Max(low, end, _dtype(var), UNKNOWN))
        else:
            return
        self._sets[var] = IntSet(low, high)

    def __call__(self, expr: Expr) -> IntSet:
        """The interval of ``expr``, its ends simplified."""
        known: dict[int, IntSet] = {}
        for node in in_order(expr, lambda e: id(e) in known):
            known[id(node)] = self._of(node, known)
        found = known[id(expr)]
        if found.min is expr and found.max is expr:
            return found
        low = None if found.min is None else self._simplify(found.min)
        high = low if found.max is found.min else None if found.max is None else self._simplify(found.max)
        return IntSet(low, high)

    def _of(self, node: Expr, known: dict[int, IntSet]) -> IntSet:
        if isinstance(node, Var):
            return self._sets.get(node, IntSet.single_point(node))
        parts = [known[id(child)] for child in operands(node)]
        if all(p.min is child and p.max is child for p, child in zip(parts, operands(node), strict=True)):
            return IntSet.single_point(node)
        dtype = _dtype(node)

        def make(kind: Any, a: Expr | None, b: Expr | None) -> Expr | None:
            return None if a is None or b is None else kind(a, b, dtype, UNKNOWN)

        if isinstance(node, Neg):
            ends = [None if e is None else Neg(e, dtype, UNKNOWN) for e in (parts[0].max, parts[0].min)]
            return IntSet(*ends)
        if len(parts) != 2:
            return IntSet.everything()
        a, b = parts
        kind = type(node)
        if kind is Add:
            return IntSet(make(Add, a.min, b.min), make(Add, a.max, b.max))
        if kind is Sub:
            return IntSet(make(Sub, a.min, b.max), make(Sub, a.max, b.min))
        if kind is Min:
            return IntSet(make(Min, a.min, b.min), _closer(make(Min, a.max, b.max), a.max, b.max))
        if kind is Max:
            return IntSet(_closer(make(Max, a.min, b.min), a.min, b.min), make(Max, a.max, b.max))
        if kind is Mul and isinstance(a.min, ConstInt) and a.min is a.max:
            a, b = b, a
        scale = b.min if isinstance(b.min, ConstInt) and b.min is b.max else None
        if scale is not None and kind is Mul:
            ends = [make(Mul, a.min, scale), make(Mul, a.max, scale)]
            return IntSet(*(ends if scale.value >= 0 else ends[::-1]))
        if scale is not None and scale.value > 0 and kind is FloorDiv:
            return IntSet(make(FloorDiv, a.min, scale), make(FloorDiv, a.max, scale))
        if scale is not None and scale.value > 0 and kind is FloorMod:
            return IntSet(ConstInt(0, dtype, UNKNOWN), ConstInt(scale.value - 1, dtype, UNKNOWN))
        if kind in NEGATED:
            return IntSet(ConstInt(0, DataType.INDEX, UNKNOWN), ConstInt(1, DataType.INDEX, UNKNOWN))
        return IntSet.everything()


def _closer(both: Expr | None, first: Expr | None, second: Expr | None) -> Expr | None:
    if both is not None:
        return both
    return second if first is None else first


_MIRRORED: dict[type[Expr], type[Expr]] = {Lt: Gt, Gt: Lt, Le: Ge, Ge: Le}


def _dtype(expr: Expr) -> DataType:
    if isinstance(expr, ConstBool):
        return DataType.BOOL
    return getattr(expr.type, "dtype", DataType.INDEX)


def _occurs(var: Var, expr: Expr) -> bool:
    return any(node is var for node in in_order(expr, lambda e: False))
