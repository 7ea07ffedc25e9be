"""Comparison of expressions through chains of known comparisons."""

from __future__ import annotations

from collections.abc import Callable

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.arith.facts import Fact, comparison_fact, conjuncts
from pypto.ir.arith.linear import Linear, Sum, is_wide_integer
from pypto.ir.arith.values import ValueNumbers
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CompareResult
from pypto.ir.expr import ConstInt, Eq, Expr, Ge, Lt, Var
from pypto.ir.span import UNKNOWN

_Key = tuple[tuple[int, int], ...]
_ZERO: _Key = ()


class TransitiveComparisonAnalyzer:
    """Knows differences ``a - b <= c`` between sums of INDEX and INT64 scalars and follows chains of them."""

    def __init__(self, numbers: ValueNumbers | None = None) -> None:
        self._numbers = ValueNumbers() if numbers is None else numbers
        # facts in force: (larger, smaller, c) says smaller - larger <= c; and sums known to differ from a number
        self._edges: list[tuple[_Key, _Key, int]] = []
        self._unequal: list[tuple[_Key, _Key, int]] = []
        self._bound_to: dict[Var, list[Expr]] = {}

    def bind(self, var: Var, value: Expr | int, max_exclusive: Expr | int | None = None, allow_override: bool = False) -> None:
        """Say that a variable equals ``value``, or with ``max_exclusive`` that ``value <= var < max_exclusive``.

        Raises:
            InvalidValueError: the variable is bound to something else and ``allow_override`` is not given.
        """
        low, high = _scalar(value, var), None if max_exclusive is None else _scalar(max_exclusive, var)
        conditions: list[Expr]
        if high is None:
            conditions = [Eq(var, low, DataType.BOOL)]
        else:
            conditions = [Ge(var, low, DataType.BOOL), Lt(var, high, DataType.BOOL)]
        old = self._bound_to.get(var)
        if old is not None:
            number = self._numbers.number
            if [number(c) for c in old] == [number(c) for c in conditions]:
                return
            if not allow_override:
                raise InvalidValueError(f"{var.name_hint!r} is already bound to something else", var.span)
            self.unbind(var)
        self._bound_to[var] = conditions
        for condition in conditions:
            self._assume(condition)

    def unbind(self, var: Var) -> None:
        """Forget everything that involves a variable."""
        self._bound_to.pop(var, None)
        number = self._numbers.number(var)

        def free(fact: tuple[_Key, _Key, int]) -> bool:
            return all(n != number for key in fact[:2] for n, _ in key)

        self._edges = [edge for edge in self._edges if free(edge)]
        self._unequal = [fact for fact in self._unequal if free(fact)]

    def enter_constraint(self, condition: Expr) -> Callable[[], None]:
        """Take a condition as true until the returned function is called."""
        edges, unequal = list(self._edges), list(self._unequal)
        self._assume(condition)

        def undo() -> None:
            self._edges, self._unequal = edges, unequal

        return undo

    def _assume(self, condition: Expr) -> None:
        for cond, truth in conjuncts(condition):
            fact = comparison_fact(cond, truth, self._numbers)
            if fact is not None:
                self._store(fact)

    def _store(self, fact: Fact) -> None:
        upper, lower = _split(fact.sum)
        low, high = fact.interval
        if fact.excluded:
            self._unequal.append((upper, lower, low))
            return
        limit = 1 << 62
        if high < limit:
            self._edges.append((lower, upper, high))
        if low > -limit:
            self._edges.append((upper, lower, -low))

    def try_compare(self, a: Expr, b: Expr, propagate_inequalities: bool = True) -> CompareResult:
        """What is known of ``a`` compared with ``b``; with ``propagate_inequalities`` through any chain of facts, else through one."""
        if not (is_wide_integer(a) and is_wide_integer(b)):
            same = self._numbers.number(a) == self._numbers.number(b)
            return CompareResult.kEQ if same else CompareResult.kUnknown
        difference = Sum(a, self._numbers, lambda e: e).linear.copy()
        difference.add(Sum(b, self._numbers, lambda e: e).linear, -1)
        const = difference.const
        upper, lower = _split(difference)
        above = self._longest(lower, upper, propagate_inequalities)
        below = self._longest(upper, lower, propagate_inequalities)
        result = CompareResult.kUnknown
        if above is not None:
            high = above + const
            result &= CompareResult.kLT if high < 0 else CompareResult.kLE if high == 0 else CompareResult.kUnknown
        if below is not None:
            low = const - below
            result &= CompareResult.kGT if low > 0 else CompareResult.kGE if low == 0 else CompareResult.kUnknown
        for first, second, value in self._unequal:
            if ((first, second) == (upper, lower) and value == -const) or ((second, first) == (upper, lower) and value == const):
                result &= CompareResult.kNE
        return result

    def _longest(self, start: _Key, goal: _Key, chains: bool) -> int | None:
        """The least known ``c`` with ``goal - start <= c``, None when nothing is known."""
        if start == goal:
            return 0
        if not chains:
            direct = [c for larger, smaller, c in self._edges if larger == start and smaller == goal]
            return min(direct, default=None)
        best: dict[_Key, int] = {start: 0}
        for _ in range(len(self._edges) + 1):
            changed = False
            for larger, smaller, c in self._edges:
                reached = best.get(larger)
                if reached is not None and reached + c < best.get(smaller, reached + c + 1):
                    best[smaller] = reached + c
                    changed = True
            if not changed:
                break
        return best.get(goal)


def _split(linear: Linear) -> tuple[_Key, _Key]:
    upper = tuple(sorted((n, c) for n, (_, c) in linear.terms.items() if c > 0))
    lower = tuple(sorted((n, -c) for n, (_, c) in linear.terms.items() if c < 0))
    return upper, lower


def _scalar(value: Expr | int, like: Var) -> Expr:
    if isinstance(value, Expr):
        return value
    if type(value) is not int:
        raise InvalidTypeError(f"a bound is an integer or an expression, got {value!r}")
    return ConstInt(value, getattr(like.type, "dtype", DataType.INDEX), UNKNOWN)
