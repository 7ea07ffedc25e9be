"""What a condition says of integer sums."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from pypto.ir.arith.const_int_bound import NEG_INF, POS_INF, Interval
from pypto.ir.arith.linear import Linear, Sum, is_wide_integer
from pypto.ir.arith.values import ValueNumbers
from pypto.ir.expr import And, BinaryExpr, Eq, Expr, Ge, Gt, Le, Lt, Ne, Not, Or

NEGATED: dict[type[BinaryExpr], type[BinaryExpr]] = {Eq: Ne, Ne: Eq, Lt: Ge, Ge: Lt, Gt: Le, Le: Gt}
"""The comparison that holds exactly when another does not (of integers)."""


class Fact(NamedTuple):
    """``sum`` (without constant) lies in ``interval``, or differs from the one number in it when ``excluded``."""

    sum: Linear
    interval: Interval
    excluded: bool = False


def conjuncts(condition: Expr, holds: bool = True) -> Iterator[tuple[Expr, bool]]:
    """The conditions that all hold (True) or all fail (False) when ``condition`` does; the whole one among them."""
    stack = [(condition, holds)]
    while stack:
        cond, truth = stack.pop()
        yield cond, truth
        if isinstance(cond, Not):
            stack.append((cond.operand, not truth))
        elif isinstance(cond, And if truth else Or):
            stack += [(cond.right, truth), (cond.left, truth)]  # type: ignore[attr-defined]


def comparison_fact(cond: Expr, holds: bool, numbers: ValueNumbers, resolve: Callable[[Expr], Expr] = lambda e: e) -> Fact | None:
    """A comparison of INDEX or INT64 scalars as a fact, its sum with a positive first coefficient; None for other conditions."""
    if not isinstance(cond, BinaryExpr) or type(cond) not in NEGATED:
        return None
    kind = type(cond)
    if not (is_wide_integer(cond.left) and is_wide_integer(cond.right)):
        return None
    if not holds:
        kind = NEGATED[kind]
    difference = Sum(cond.left, numbers, resolve).linear.copy()
    difference.add(Sum(cond.right, numbers, resolve).linear, -1)
    const = difference.const
    difference.const = 0
    # terms + const (kind) 0
    low, high = NEG_INF, POS_INF
    if kind in (Eq, Ne):
        low = high = -const
    elif kind in (Lt, Le):
        high = -const - (kind is Lt)
    else:
        low = -const + (kind is Gt)
    first = min(difference.terms) if difference.terms else None
    if first is not None and difference.terms[first][1] < 0:
        flipped = Linear()
        flipped.add(difference, -1)
        difference, low, high = flipped, -high, -low
    return Fact(difference, (low, high), kind is Ne)
