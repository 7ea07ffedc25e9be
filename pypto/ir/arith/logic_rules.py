"""Rewriting rules of comparisons and logic; see ``rules``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pypto.ir.arith.const_int_bound import Interval, add_bounds, negate_bounds
from pypto.ir.arith.facts import NEGATED, Fact, comparison_fact
from pypto.ir.arith.linear import Linear, Sum, is_integer, is_wide_integer
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    And,
    BinaryExpr,
    ConstBool,
    ConstInt,
    Eq,
    Expr,
    Ge,
    Gt,
    Le,
    Lt,
    Ne,
    Not,
    UnaryExpr,
)
from pypto.ir.types import ScalarType

if TYPE_CHECKING:
    from pypto.ir.arith.rewrite_simplify import Simplifier

_LARGE = 1 << 53
_BOOL = ScalarType(DataType.BOOL)


def decided(kind: type[Expr], difference: Interval) -> bool | None:
    """What a comparison gives when the left side minus the right lies in an interval; None when it depends."""
    low, high = difference
    if kind is Eq or kind is Ne:
        if low > 0 or high < 0:
            return kind is Ne
        return (kind is Eq) if low == high == 0 else None
    if kind is Lt:
        return True if high < 0 else False if low >= 0 else None
    if kind is Le:
        return True if high <= 0 else False if low > 0 else None
    if kind is Gt:
        return True if low > 0 else False if high <= 0 else None
    return True if low >= 0 else False if high < 0 else None


def comparison(s: Simplifier, node: BinaryExpr) -> Expr | None:
    """Decide a comparison of integers, or move what its sides share."""
    known = truth(s, node)
    if known is not None:
        return known
    left, right, kind = node.left, node.right, type(node)
    if not (is_integer(left) and is_integer(right)):
        if kind in (Eq, Ne) and left.type is _BOOL and right.type is _BOOL:
            return _bool_equality(s, node)
        return None
    if s.numbers.has_call(node):
        return None
    difference = add_bounds(s.bounds.bound(left), negate_bounds(s.bounds.bound(right)))
    result = decided(kind, difference)
    if result is None and s.numbers.number(left) == s.numbers.number(right):
        result = kind in (Eq, Le, Ge)
    if result is not None:
        return ConstBool(result, node.span)
    if not (is_wide_integer(left) and is_wide_integer(right)):
        return None
    first, second = Sum(left, s.numbers, s.resolved), Sum(right, s.numbers, s.resolved)
    linear = first.linear.copy()
    linear.add(second.linear, -1)
    result = decided(kind, s.known.sum_bound(linear))
    if result is not None:
        return ConstBool(result, node.span)
    divided = _divided(kind, linear)
    if isinstance(divided, bool):
        return ConstBool(divided, node.span)
    if kind in (Eq, Ne) and _never_zero(s, linear):
        return ConstBool(kind is Ne, node.span)
    return _moved(node, divided, first.cost + second.cost)


def truth(s: Simplifier, node: Expr) -> Expr | None:
    """A condition that was entered as a constraint, as a constant."""
    if not s.known.truths or s.numbers.has_call(node):
        return None
    known = s.known.truths.get(s.numbers.number(node))
    if known is None and type(node) in NEGATED and isinstance(node, BinaryExpr) and is_integer(node.left):
        opposite = NEGATED[type(node)](node.left, node.right, DataType.BOOL, node.span)
        known = s.known.truths.get(s.numbers.number(opposite))
        known = None if known is None else not known
    return None if known is None else ConstBool(known, node.span)


def _bool_equality(s: Simplifier, node: BinaryExpr) -> Expr | None:
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, ConstBool):
            return other if side.value == (type(node) is Eq) else Not(other, DataType.BOOL, node.span)
    return None


def _divided(kind: type[Expr], linear: Linear) -> Linear | bool:
    """The same comparison with zero after division by what all coefficients share; a bool when that decides it."""
    shared = math.gcd(*(coefficient for _, coefficient in linear.terms.values()))
    if shared <= 1:
        return linear
    made = Linear()
    made.terms = {n: (e, c // shared) for n, (e, c) in linear.terms.items()}
    if kind in (Eq, Ne):
        if linear.const % shared:
            return kind is Ne
        made.const = linear.const // shared
    elif kind in (Le, Gt):
        # terms <= -const: round the right side down
        made.const = -((-linear.const) // shared)
    else:
        # terms < -const: round the right side up
        made.const = linear.const // shared
    return made


def _never_zero(s: Simplifier, linear: Linear) -> bool:
    coeff, base = 0, linear.const
    for expr, coefficient in linear.terms.values():
        part = s.modular.residue(expr)
        coeff = math.gcd(coeff, part[0] * coefficient)
        base += part[1] * coefficient
    return base % coeff != 0 if coeff else base != 0


def _moved(node: BinaryExpr, linear: Linear, cost: int) -> Expr | None:
    """Positive terms on the left, negative ones on the right, the constant where it is positive; None when that is no smaller."""
    kind: type[BinaryExpr] = type(node)
    left, right = Linear(), Linear()
    for number, (expr, coefficient) in linear.terms.items():
        (left if coefficient > 0 else right).add_term(number, expr, abs(coefficient))
    if left.terms and not right.terms:
        right.const = -linear.const
    elif right.terms and not left.terms:
        left, right = right, left
        kind = _MIRRORED[kind]
        right.const = linear.const
    elif linear.const > 0:
        left.const = linear.const
    else:
        right.const = -linear.const
    if left.cost() + right.cost() >= cost:
        return None
    # a huge number on the other side could overflow where the original did not
    if max(abs(left.const), abs(right.const)) > _LARGE:
        return None
    a = left.build(_dtype(node.left), node.span)
    b = right.build(_dtype(node.left), node.span)
    return None if a is None or b is None else kind(a, b, DataType.BOOL, node.span)


_MIRRORED: dict[type[BinaryExpr], type[BinaryExpr]] = {Eq: Eq, Ne: Ne, Lt: Gt, Gt: Lt, Le: Ge, Ge: Le}


def _dtype(expr: Expr) -> DataType:
    return expr.type.dtype  # type: ignore[attr-defined]


def negation(s: Simplifier, node: UnaryExpr) -> Expr | None:
    """``not not x`` and the negation of a comparison of integers."""
    known = truth(s, node)
    if known is not None:
        return known
    operand = node.operand
    if isinstance(operand, Not):
        return operand.operand if operand.operand.type is _BOOL else None
    if isinstance(operand, BinaryExpr) and type(operand) in NEGATED:
        exact = is_integer(operand.left) and is_integer(operand.right)
        if exact or type(operand) in (Eq, Ne):
            return NEGATED[type(operand)](operand.left, operand.right, DataType.BOOL, operand.span)
    return None


def conjunction(s: Simplifier, node: BinaryExpr) -> Expr | None:
    """``and`` and ``or``: constants, repetitions, contradictions and tautologies, and the weaker of two bounds on one sum."""
    known = truth(s, node)
    if known is not None:
        return known
    both = type(node) is And
    for side, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(side, ConstBool | ConstInt):
            if bool(side.value) == both:
                return other
            # the constant decides, but a call on its left is evaluated all the same
            return None if other is node.left and s.numbers.has_call(other) else ConstBool(not both, node.span)
    if s.numbers.has_call(node):
        return None
    left, right = node.left, node.right
    number = s.numbers.number
    if number(left) == number(right):
        return left
    for side, other in ((left, right), (right, left)):
        if isinstance(side, Not) and number(side.operand) == number(other):
            return ConstBool(not both, node.span)
    first = comparison_fact(left, both, s.numbers, s.resolved)
    second = comparison_fact(right, both, s.numbers, s.resolved)
    if first is None or second is None or first.sum.key() != second.sum.key():
        return None
    # for ``or`` the facts are those of the negations: not (a or b) is (not a) and (not b)
    outcome = _together(first, second)
    if outcome is None:
        return None
    if outcome == "never":
        return ConstBool(not both, node.span)
    return left if outcome == "first" else right


def _together(first: Fact, second: Fact) -> str | None:
    """Of two facts on one sum that both hold: "never" when they cannot, else the one that implies the other."""
    a, b = first.interval, second.interval
    if first.excluded and second.excluded:
        return "first" if a == b else None
    if first.excluded or second.excluded:
        point, interval, kept = (a[0], b, "second") if first.excluded else (b[0], a, "first")
        if interval == (point, point):
            return "never"
        return kept if not interval[0] <= point <= interval[1] else None
    low, high = max(a[0], b[0]), min(a[1], b[1])
    if low > high:
        return "never"
    if (low, high) == a:
        return "first"
    return "second" if (low, high) == b else None
