"""Constant bounds of integer expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from pypto.diagnostics import InvalidValueError
from pypto.ir.arith.integers import INT64_MAX, int_range, is_wide
from pypto.ir.arith.values import ValueNumbers, in_order
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    Abs,
    Add,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Cast,
    ConstBool,
    ConstInt,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Neg,
    Pow,
    Sub,
    UnaryExpr,
    Var,
)
from pypto.ir.types import ScalarType

POS_INF = INT64_MAX
"""As an upper bound: none. As a lower bound: at least this."""
NEG_INF = -INT64_MAX
"""As a lower bound: none. As an upper bound: at most this."""

Interval = tuple[int, int]
EVERYTHING: Interval = (NEG_INF, POS_INF)


@dataclass(frozen=True)
class ConstIntBound:
    """A closed interval of integers; ``kNegInf`` and ``kPosInf`` stand for no bound."""

    min_value: int
    max_value: int

    kPosInf: ClassVar[int] = POS_INF
    kNegInf: ClassVar[int] = NEG_INF

    def is_const(self) -> bool:
        """True for exactly one value."""
        return self.min_value == self.max_value and NEG_INF < self.min_value < POS_INF

    def is_non_negative(self) -> bool:
        """True when no value is below zero."""
        return self.min_value >= 0

    def is_positive(self) -> bool:
        """True when every value is above zero."""
        return self.min_value > 0

    def is_everything(self) -> bool:
        """True when nothing is known."""
        return self.min_value <= NEG_INF and self.max_value >= POS_INF


def clamp(value: int) -> int:
    """A bound as it is kept: beyond 64 bits there is none."""
    return NEG_INF if value <= NEG_INF else POS_INF if value >= POS_INF else value


def add_bounds(a: Interval, b: Interval) -> Interval:
    """Bounds of a sum."""
    low = NEG_INF if a[0] <= NEG_INF or b[0] <= NEG_INF else clamp(a[0] + b[0])
    high = POS_INF if a[1] >= POS_INF or b[1] >= POS_INF else clamp(a[1] + b[1])
    return low, high


def negate_bounds(a: Interval) -> Interval:
    """Bounds of the negation."""
    return -a[1], -a[0]


def _times(x: int, y: int) -> int:
    # an infinite bound times zero is zero: the other factor really is zero there
    if x == 0 or y == 0:
        return 0
    if x in EVERYTHING or y in EVERYTHING:
        return POS_INF if (x > 0) == (y > 0) else NEG_INF
    return clamp(x * y)


def scale_bounds(a: Interval, factor: int) -> Interval:
    """Bounds of a multiple."""
    low, high = _times(a[0], factor), _times(a[1], factor)
    return (low, high) if factor >= 0 else (high, low)


def multiply_bounds(a: Interval, b: Interval) -> Interval:
    """Bounds of a product."""
    corners = [_times(x, y) for x in a for y in b]
    return min(corners), max(corners)


def divide_bounds(a: Interval, b: Interval) -> Interval:
    """Bounds of a quotient rounded down; a zero divisor gives no value and does not count."""
    low, high = b
    if low == 0:
        low = 1
    if high == 0:
        high = -1
    if low > high:
        return EVERYTHING
    if low < 0 < high:
        # divisors -1 and 1 are the extreme ones
        parts = [divide_bounds(a, (low, -1)), divide_bounds(a, (1, high))]
        return min(p[0] for p in parts), max(p[1] for p in parts)
    corners: list[int] = []
    for x, endless in ((a[0], a[0] <= NEG_INF), (a[1], a[1] >= POS_INF)):
        for y in (low, high):
            if endless:
                if y in EVERYTHING:
                    corners.extend((0, POS_INF if (x > 0) == (y > 0) else NEG_INF, -1))
                else:
                    corners.append(POS_INF if (x > 0) == (y > 0) else NEG_INF)
            elif y in EVERYTHING:
                corners.append(0 if x == 0 or (x > 0) == (y > 0) else -1)
            else:
                corners.append(clamp(x // y))
    return min(corners), max(corners)


def modulo_bounds(a: Interval, b: Interval) -> Interval:
    """Bounds of a remainder with the sign of the divisor."""
    low, high = b
    if low > 0:
        if a[0] >= 0 and a[1] < low:
            return a
        if low == high and a[0] > NEG_INF and a[1] < POS_INF and a[0] // low == a[1] // low:
            return a[0] % low, a[1] % low
        top = POS_INF if high >= POS_INF else high - 1
        return (0, min(top, a[1])) if a[0] >= 0 else (0, top)
    if high < 0:
        return (NEG_INF if low <= NEG_INF else low + 1), 0
    return (NEG_INF if low <= NEG_INF else min(low + 1, 0)), (POS_INF if high >= POS_INF else max(high - 1, 0))


def _bit_bounds(kind: type[Expr], a: Interval, b: Interval) -> Interval:
    if kind is BitAnd and (a[0] >= 0 or b[0] >= 0):
        return 0, min(side[1] for side in (a, b) if side[0] >= 0)
    if a[0] >= 0 and b[0] >= 0 and max(a[1], b[1]) < POS_INF:
        top = (1 << max(a[1], b[1]).bit_length()) - 1
        return (max(a[0], b[0]) if kind is BitOr else 0), clamp(top)
    return EVERYTHING


def _shift_bounds(kind: type[Expr], a: Interval, b: Interval) -> Interval:
    if not 0 <= b[0] <= b[1] < 64:
        return EVERYTHING
    if kind is BitShiftLeft:
        return multiply_bounds(a, (1 << b[0], clamp(1 << b[1])))
    return divide_bounds(a, (1 << b[0], clamp(1 << b[1])))


def dtype_bounds(dtype: DataType) -> Interval:
    """What an element type alone says; INDEX says nothing here, see :class:`ConstIntBoundAnalyzer`."""
    bounds = int_range(dtype)
    return EVERYTHING if bounds is None else (clamp(bounds[0]), clamp(bounds[1]))


def intersect(a: Interval, b: Interval) -> Interval:
    """Both bounds at once; where they contradict one another (code that never runs) the first."""
    low, high = max(a[0], b[0]), min(a[1], b[1])
    return (low, high) if low <= high else a


def join(a: Interval, b: Interval) -> Interval:
    """The bounds of what is in either."""
    return min(a[0], b[0]), max(a[1], b[1])


class ConstIntBoundAnalyzer:
    """Bounds of integer expressions from bounds of their variables.

    A variable without an entry is bounded by its element type; one of INDEX type is taken to be at least zero. Arithmetic of INDEX and
    INT64 is that of the integers; narrower results that may leave their element type are bounded by it, since they wrap.
    """

    def __init__(self, numbers: ValueNumbers | None = None) -> None:
        self.version = 0
        self._numbers = ValueNumbers() if numbers is None else numbers
        self._vars: dict[Var, Interval] = {}
        self._refined: dict[int, Interval] = {}
        self._memo: dict[int, tuple[Expr, Interval]] = {}

    def __call__(self, expr: Expr) -> ConstIntBound:
        return ConstIntBound(*self.bound(expr))

    def bind(self, var: Var, min_value: int, max_value_exclusive: int, allow_override: bool = True) -> None:
        """Say that ``min_value <= var < max_value_exclusive``.

        Raises:
            InvalidValueError: the range is empty, or another one is bound and may not be replaced.
        """
        if max_value_exclusive <= min_value:
            raise InvalidValueError(f"the range [{min_value}, {max_value_exclusive}) of {var.name_hint!r} is empty")
        self.update(var, ConstIntBound(min_value, max_value_exclusive - 1), allow_override)

    def update(self, var: Var, bound: ConstIntBound, allow_override: bool = True) -> None:
        """Set the bounds of a variable."""
        interval = (clamp(bound.min_value), clamp(bound.max_value))
        old = self._vars.get(var)
        if old is not None and old != interval and not allow_override:
            raise InvalidValueError(f"{var.name_hint!r} already has other bounds")
        self._vars[var] = interval
        self._changed()

    def unbind(self, var: Var) -> None:
        """Forget what is known of a variable."""
        self._vars.pop(var, None)
        self._changed()

    def refine(self, expr: Expr, interval: Interval) -> Callable[[], None]:
        """Say more of an expression until the returned function is called."""
        number = self._numbers.number(expr)
        old = self._refined.get(number)
        self._refined[number] = interval if old is None else intersect(old, interval)
        self._changed()

        def undo() -> None:
            if old is None:
                del self._refined[number]
            else:
                self._refined[number] = old
            self._changed()

        return undo

    def _changed(self) -> None:
        self.version += 1
        self._memo.clear()

    def bound(self, expr: Expr) -> Interval:
        """The bounds as a plain pair."""
        if type(expr) is ConstInt:
            value = clamp(expr.value)
            return value, value
        memo = self._memo
        known = memo.get(id(expr))
        if known is not None:
            return known[1]
        for node in in_order(expr, lambda e: id(e) in memo):
            interval = self._of(node)
            if self._refined:
                extra = self._refined.get(self._numbers.number(node))
                if extra is not None:
                    interval = intersect(interval, extra)
            memo[id(node)] = (node, interval)
        return memo[id(expr)][1]

    def _of(self, node: Expr) -> Interval:
        if isinstance(node, ConstInt | ConstBool):
            value = clamp(int(node.value))
            return value, value
        if isinstance(node, Var):
            known = self._vars.get(node)
            if known is not None:
                return known
            if node.type is ScalarType(DataType.INDEX):
                return 0, POS_INF
        if not isinstance(node.type, ScalarType):
            return EVERYTHING
        dtype = node.type.dtype
        limits = dtype_bounds(dtype)
        if not dtype.is_int():
            return limits
        if isinstance(node, Cast):
            source = node.operand.type
            if not isinstance(source, ScalarType) or int_range(source.dtype) is None:
                return limits
            inner = self._memo[id(node.operand)][1]
            if source.dtype is DataType.UINT64 and inner[1] >= POS_INF:
                return limits
        elif isinstance(node, BinaryExpr):
            inner = _binary(type(node), self._memo[id(node.left)][1], self._memo[id(node.right)][1])
        elif isinstance(node, UnaryExpr):
            inner = _unary(type(node), self._memo[id(node.operand)][1], dtype)
        else:
            return limits
        if is_wide(dtype):
            return inner
        return inner if limits[0] <= inner[0] and inner[1] <= limits[1] and inner[1] < POS_INF else limits


def _binary(kind: type[Expr], a: Interval, b: Interval) -> Interval:
    if kind is Add:
        return add_bounds(a, b)
    if kind is Sub:
        return add_bounds(a, negate_bounds(b))
    if kind is Mul:
        return multiply_bounds(a, b)
    if kind is FloorDiv:
        return divide_bounds(a, b)
    if kind is FloorMod:
        return modulo_bounds(a, b)
    if kind is Min:
        return min(a[0], b[0]), min(a[1], b[1])
    if kind is Max:
        return max(a[0], b[0]), max(a[1], b[1])
    if kind in (BitAnd, BitOr, BitXor):
        return _bit_bounds(kind, a, b)
    if kind in (BitShiftLeft, BitShiftRight):
        return _shift_bounds(kind, a, b)
    if kind is Pow and a[0] >= 0 and b[0] >= 0:
        return 0, POS_INF
    return EVERYTHING


def _unary(kind: type[Expr], a: Interval, dtype: DataType) -> Interval:
    if kind is Neg:
        return negate_bounds(a)
    if kind is Abs:
        return (0 if a[0] <= 0 <= a[1] else min(abs(a[0]), abs(a[1]))), max(abs(a[0]), abs(a[1]))
    if kind is BitNot and not dtype.is_unsigned_int():
        return add_bounds(negate_bounds(a), (-1, -1))
    return EVERYTHING
