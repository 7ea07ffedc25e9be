"""Rewriting rules of single nodes over simplified operands. A rule gives something smaller, or None."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from pypto.ir.arith import logic_rules
from pypto.ir.arith.const_int_bound import NEG_INF, POS_INF
from pypto.ir.arith.fold import fold_binary, fold_unary
from pypto.ir.arith.integers import DivisionByZero, IntegerOverflow, fits, int_range
from pypto.ir.arith.linear import Linear, Sum, is_integer, is_wide_integer
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    Abs,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Cast,
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
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    UnaryExpr,
)
from pypto.ir.types import ScalarType

if TYPE_CHECKING:
    from pypto.ir.arith.rewrite_simplify import Simplifier

Binary: TypeAlias = "Callable[[Simplifier, BinaryExpr], Expr | None]"
Unary: TypeAlias = "Callable[[Simplifier, UnaryExpr], Expr | None]"


def apply(s: Simplifier, node: BinaryExpr | UnaryExpr) -> Expr | None:
    """One step of simplification of a node whose operands are simplified; None when no rule applies."""
    folded = _folded(node)
    if folded is not None:
        return folded
    if isinstance(node, BinaryExpr):
        rule = _BINARY.get(type(node))
        return None if rule is None else rule(s, node)
    unary = _UNARY.get(type(node))
    return None if unary is None else unary(s, node)


def apply_canonical(s: Simplifier, node: BinaryExpr | UnaryExpr) -> Expr | None:
    """As :func:`apply` with folding, products, divisions and remainders only."""
    folded = _folded(node)
    if folded is None and isinstance(node, Mul | FloorDiv | FloorMod):
        return _BINARY[type(node)](s, node)
    return folded


def _folded(node: BinaryExpr | UnaryExpr) -> Expr | None:
    if isinstance(node, UnaryExpr):
        return fold_unary(type(node), node.operand, node.dtype, node.span)
    try:
        return fold_binary(type(node), node.left, node.right, node.dtype, node.span)
    except (DivisionByZero, IntegerOverflow):
        # where such code never runs it must not stop the pass; where it runs the run says so
        return None


def terms_of(s: Simplifier, expr: Expr) -> Linear | None:
    """An INDEX or INT64 expression as a sum that may be taken apart; None where calls in it forbid that."""
    found = Sum(expr, s.numbers, s.resolved)
    return None if found.keep else found.linear


def _has_call(s: Simplifier, linear: Linear) -> bool:
    return any(s.numbers.has_call(expr) for expr, _ in linear.terms.values())


def _scaled_down(linear: Linear, divisor: int) -> Linear:
    made = Linear(linear.const // divisor)
    made.terms = {n: (e, c // divisor) for n, (e, c) in linear.terms.items()}
    return made


def _plus(s: Simplifier, linear: Linear, term: Expr, factor: int = 1) -> Linear:
    made = linear.copy()
    made.add_term(s.numbers.number(term), term, factor)
    return made


# -- division and remainder -----------------------------------------------------------------------------------------------


def _floor_div(s: Simplifier, node: BinaryExpr) -> Expr | None:
    if not node.dtype.is_int() or not is_integer(node.left) or not is_integer(node.right):
        return None
    left, right = node.left, node.right
    if type(right) is not ConstInt:
        return _small_dividend(s, node)
    c = right.value
    if c == 1:
        return left
    if c == 0:
        return None
    low, high = s.bounds.bound(node)
    if low == high and NEG_INF < low < POS_INF and not s.numbers.has_call(left):
        return ConstInt(low, node.dtype, node.span)
    if c < 0 or not (is_wide_integer(node) and is_wide_integer(left)):
        return None
    linear = terms_of(s, left)
    return None if linear is None else _divide_sum(s, node, linear, c)


def _divide_sum(s: Simplifier, node: BinaryExpr, linear: Linear, c: int) -> Expr | None:
    dtype, span = node.dtype, node.span
    quotient, rest, k = Linear(), Linear(), linear.const
    for number, (expr, coefficient) in linear.terms.items():
        if coefficient % c == 0:
            quotient.add_term(number, expr, coefficient // c)
        else:
            rest.add_term(number, expr, coefficient)
    if not rest.terms:
        quotient.const = k // c
        return quotient.build(dtype, span)
    rest.const = k
    low, high = s.known.sum_bound(rest)
    if low > NEG_INF and high < POS_INF and low // c == high // c and not _has_call(s, rest):
        quotient.const = low // c
        return quotient.build(dtype, span)
    shared = math.gcd(c, *(coefficient for _, coefficient in rest.terms.values()))
    if shared > 1:
        return _quotient(s, node, quotient, _scaled_down(rest, shared), c // shared)
    aligned = _aligned(s, rest, c)
    if aligned is not None:
        return _quotient(s, node, quotient, *aligned)
    if quotient.terms or (k and k % c == 0):
        quotient.const = k // c
        rest.const = k % c
        return _quotient(s, node, quotient, rest, c)
    if k == 0 and len(rest.terms) == 1:
        expr, coefficient = next(iter(rest.terms.values()))
        if coefficient == 1 and isinstance(expr, FloorDiv) and isinstance(expr.right, ConstInt):
            inner = expr.right.value
            if inner > 0 and is_wide_integer(expr) and is_wide_integer(expr.left) and fits(inner * c, DataType.INT64):
                return FloorDiv(expr.left, ConstInt(inner * c, dtype, span), dtype, span)
    return None


def _quotient(s: Simplifier, node: BinaryExpr, quotient: Linear, rest: Linear, c: int) -> Expr | None:
    inner = rest.build(node.dtype, node.span)
    if inner is None:
        return None
    divided = inner if c == 1 else FloorDiv(inner, ConstInt(c, node.dtype, node.span), node.dtype, node.span)
    return _plus(s, quotient, divided).build(node.dtype, node.span)


_ALIGN_TERMS = 8


def _aligned(s: Simplifier, rest: Linear, c: int) -> tuple[Linear, int] | None:
    """``(g * A + B) // c`` with ``0 <= B < g`` and ``g`` a divisor of ``c`` is ``A // (c / g)``."""
    if not len(rest.terms) + (rest.const != 0) >= 2 or len(rest.terms) > _ALIGN_TERMS:
        return None
    for g in sorted({math.gcd(coefficient, c) for _, coefficient in rest.terms.values()}):
        if g == 1:
            continue
        upper, lower = Linear(), Linear(rest.const % g)
        upper.const = rest.const // g
        for number, (expr, coefficient) in rest.terms.items():
            if coefficient % g == 0:
                upper.add_term(number, expr, coefficient // g)
            else:
                lower.add_term(number, expr, coefficient)
        low, high = s.known.sum_bound(lower)
        if low >= 0 and high < g and not _has_call(s, lower):
            return upper, c // g
    return None


def _small_dividend(s: Simplifier, node: BinaryExpr) -> Expr | None:
    """``x // y`` and ``x % y`` with ``0 <= x < y``."""
    left, right = node.left, node.right
    if not (is_wide_integer(left) and is_wide_integer(right)) or s.bounds.bound(left)[0] < 0:
        return None
    smaller, larger = terms_of(s, left), terms_of(s, right)
    if smaller is None or larger is None or _has_call(s, larger) or (type(node) is FloorDiv and _has_call(s, smaller)):
        return None
    difference = larger.copy()
    difference.add(smaller, -1)
    if s.known.sum_bound(difference)[0] < 1:
        return None
    return left if type(node) is FloorMod else ConstInt(0, node.dtype, node.span)


def _floor_mod(s: Simplifier, node: BinaryExpr) -> Expr | None:
    if not node.dtype.is_int() or not is_integer(node.left) or not is_integer(node.right):
        return None
    left, right = node.left, node.right
    if type(right) is not ConstInt:
        return _small_dividend(s, node)
    c = right.value
    if c == 0:
        return None
    low, high = s.bounds.bound(node)
    if low == high and NEG_INF < low < POS_INF and not s.numbers.has_call(left):
        return ConstInt(low, node.dtype, node.span)
    inside = s.bounds.bound(left)
    if c > 0 and inside[0] >= 0 and inside[1] < min(c, POS_INF):
        return left
    if c < 0 or not (is_wide_integer(node) and is_wide_integer(left)):
        return None
    coeff, base = s.modular.residue(left)
    if coeff % c == 0 and not s.numbers.has_call(left):
        return ConstInt(base % c, node.dtype, node.span)
    linear = terms_of(s, left)
    return None if linear is None else _remainder_of_sum(s, node, linear, c)


def _remainder_of_sum(s: Simplifier, node: BinaryExpr, linear: Linear, c: int) -> Expr | None:
    dtype, span = node.dtype, node.span
    rest, dropped = Linear(linear.const), False
    for number, (expr, coefficient) in linear.terms.items():
        inner = _modulus(expr)
        if coefficient % c == 0 and not s.numbers.has_call(expr):
            dropped = True
        elif inner is not None and coefficient * inner % c == 0 and isinstance(expr, FloorMod):
            # x % d and x differ by a multiple of d
            part = terms_of(s, expr.left)
            if part is None:
                rest.add_term(number, expr, coefficient)
            else:
                rest.add(part, coefficient)
                dropped = True
        else:
            rest.add_term(number, expr, coefficient)
    if not rest.terms:
        return ConstInt(rest.const % c, dtype, span)
    low, high = s.known.sum_bound(rest)
    if low > NEG_INF and high < POS_INF and low // c == high // c:
        rest.const -= low // c * c
        return rest.build(dtype, span)
    if dropped or not -c < rest.const < c:
        rest.const %= c
        inside = rest.build(dtype, span)
        return None if inside is None else FloorMod(inside, ConstInt(c, dtype, span), dtype, span)
    shared = math.gcd(c, *(coefficient for _, coefficient in rest.terms.values()))
    if shared > 1 and not any(coefficient % c == 0 for _, coefficient in rest.terms.values()):
        inside = _scaled_down(rest, shared).build(dtype, span)
        if inside is None:
            return None
        remainder = FloorMod(inside, ConstInt(c // shared, dtype, span), dtype, span)
        return _plus(s, Linear(rest.const % shared), remainder, shared).build(dtype, span)
    return None


def _modulus(expr: Expr) -> int | None:
    if not (isinstance(expr, FloorMod | FloorDiv) and isinstance(expr.right, ConstInt) and expr.right.value > 0):
        return None
    return expr.right.value if is_wide_integer(expr) and is_wide_integer(expr.left) else None


def recombine(s: Simplifier, linear: Linear, dtype: DataType) -> None:
    """Within a sum, ``k*c*(x // c) + k*(x % c)`` becomes ``k*x``, and ``k*x - k*c*(x // c)`` becomes ``k*(x % c)``."""
    if not any(isinstance(expr, FloorDiv) for expr, _ in linear.terms.values()) or dtype.is_unsigned_int():
        return
    if not any(_modulus(expr) is not None for expr, _ in linear.terms.values()):
        return
    numbers = s.numbers
    pending = list(linear.terms)
    while pending:
        number = pending.pop()
        entry = linear.terms.get(number)
        if entry is None or not isinstance(entry[0], FloorDiv):
            continue
        quotient, coefficient = entry
        c = _modulus(quotient)
        if c is None or coefficient % c or numbers.has_call(quotient):
            continue
        assert isinstance(quotient, FloorDiv)
        k = coefficient // c
        remainder = FloorMod(quotient.left, quotient.right, quotient.dtype, quotient.span)
        partner = linear.terms.get(numbers.number(remainder))
        if partner is not None and partner[1] == k:
            whole = terms_of(s, quotient.left)
            if whole is not None:
                linear.add_term(number, quotient, -coefficient)
                linear.add_term(numbers.number(remainder), remainder, -k)
                linear.add(whole, k)
                pending.extend(whole.terms)
            continue
        whole = terms_of(s, quotient.left)
        if whole is None or whole.const or not whole.terms or len(whole.terms) > _ALIGN_TERMS:
            continue
        found = [linear.terms.get(n) for n in whole.terms]
        if all(f is not None and f[1] == -k * whole.terms[n][1] for n, f in zip(whole.terms, found, strict=True)):
            linear.add(whole, k)
            linear.add_term(number, quotient, -coefficient)
            linear.add_term(numbers.number(remainder), remainder, -k)


# -- products, minima and maxima ------------------------------------------------------------------------------------------


def _mul(s: Simplifier, node: BinaryExpr) -> Expr | None:
    if not (is_wide_integer(node) and is_wide_integer(node.left) and is_wide_integer(node.right)):
        return None
    left, a = _factor(s, node.left)
    right, b = _factor(s, node.right)
    if a * b == 1:
        return None
    made = Linear()
    return _plus(s, made, Mul(left, right, node.dtype, node.span), a * b).build(node.dtype, node.span)


def _factor(s: Simplifier, expr: Expr) -> tuple[Expr, int]:
    if isinstance(expr, Neg):
        return expr.operand, -1
    if isinstance(expr, Mul) and isinstance(expr.right, ConstInt) and expr.right.value:
        return expr.left, expr.right.value
    return expr, 1


def _extreme(s: Simplifier, node: BinaryExpr) -> Expr | None:
    left, right = node.left, node.right
    if not is_integer(left) or not is_integer(right):
        return None
    kind = type(node)
    chosen = _order(s, left, right)
    if chosen:
        # chosen < 0: left <= right everywhere
        kept, other = (left, right) if (chosen < 0) == (kind is Min) else (right, left)
        return None if s.numbers.has_call(other) else kept
    for outer, inner in ((left, right), (right, left)):
        found = _absorbed(s, kind, node, outer, inner)
        if found is not None:
            return found
    return _common_part(s, node) if is_wide_integer(left) and is_wide_integer(right) else None


def _order(s: Simplifier, left: Expr, right: Expr) -> int:
    """-1 when ``left <= right`` always, 1 when ``left >= right`` always, else 0."""
    if s.numbers.number(left) == s.numbers.number(right):
        return -1
    a, b = s.bounds.bound(left), s.bounds.bound(right)
    if a[1] <= b[0] and not (a[1] >= POS_INF or b[0] <= NEG_INF):
        return -1
    if b[1] <= a[0] and not (b[1] >= POS_INF or a[0] <= NEG_INF):
        return 1
    if not (is_wide_integer(left) and is_wide_integer(right)):
        return 0
    first, second = terms_of(s, left), terms_of(s, right)
    if first is None or second is None:
        return 0
    difference = first.copy()
    difference.add(second, -1)
    low, high = s.known.sum_bound(difference)
    return -1 if high <= 0 else 1 if low >= 0 else 0


def _absorbed(s: Simplifier, kind: type[Expr], node: BinaryExpr, outer: Expr, inner: Expr) -> Expr | None:
    if not isinstance(outer, Min | Max) or s.numbers.has_call(node):
        return None
    number = s.numbers.number
    parts = (outer.left, outer.right)
    if any(number(part) == number(inner) for part in parts):
        # min(min(a, b), a) is min(a, b); min(max(a, b), a) is a
        return outer if type(outer) is kind else inner
    if type(outer) is kind:
        for at, part in enumerate(parts):
            order = _order(s, part, inner)
            if order:
                kept = part if (order < 0) == (kind is Min) else inner
                return type(node)(kept, parts[1 - at], node.dtype, node.span)
    return None


def _common_part(s: Simplifier, node: BinaryExpr) -> Expr | None:
    first, second = terms_of(s, node.left), terms_of(s, node.right)
    if first is None or second is None or s.numbers.has_call(node):
        return None
    shared = Linear()
    for number, (expr, coefficient) in first.terms.items():
        other = second.terms.get(number)
        if other is not None and other[1] == coefficient:
            shared.add_term(number, expr, coefficient)
    if first.const and first.const == second.const:
        shared.const = first.const
    if not shared.terms and not shared.const:
        return None
    first, second = first.copy(), second.copy()
    first.add(shared, -1)
    second.add(shared, -1)
    a, b = first.build(node.dtype, node.span), second.build(node.dtype, node.span)
    if a is None or b is None:
        return None
    return _plus(s, shared, type(node)(a, b, node.dtype, node.span)).build(node.dtype, node.span)


# -- bits, powers, casts --------------------------------------------------------------------------------------------------


def _bits(s: Simplifier, node: BinaryExpr) -> Expr | None:
    if not node.dtype.is_int():
        return None
    left, right, kind = node.left, node.right, type(node)
    if kind in (BitShiftLeft, BitShiftRight):
        return left if isinstance(right, ConstInt) and right.value == 0 else None
    if isinstance(left, ConstInt):
        left, right = right, left
    if isinstance(right, ConstInt) and right.value == 0:
        if kind is not BitAnd:
            return left
        return None if s.numbers.has_call(left) else ConstInt(0, node.dtype, node.span)
    if kind is not BitXor and s.numbers.number(left) == s.numbers.number(right) and not s.numbers.has_call(left):
        return left
    return None


def _pow(s: Simplifier, node: BinaryExpr) -> Expr | None:
    if node.dtype.is_int() and isinstance(node.right, ConstInt):
        if node.right.value == 1:
            return node.left
        if node.right.value == 0 and not s.numbers.has_call(node.left):
            return ConstInt(1, node.dtype, node.span)
    return None


def _abs(s: Simplifier, node: UnaryExpr) -> Expr | None:
    if not is_integer(node.operand):
        return None
    low, high = s.bounds.bound(node.operand)
    if low >= 0:
        return node.operand
    return Neg(node.operand, node.dtype, node.span) if high <= 0 and is_wide_integer(node) else None


def _bit_not(s: Simplifier, node: UnaryExpr) -> Expr | None:
    return node.operand.operand if isinstance(node.operand, BitNot) and node.operand.type is node.type else None


def _cast(s: Simplifier, node: UnaryExpr) -> Expr | None:
    operand = node.operand
    if operand.type is node.type:
        return operand
    if isinstance(operand, Cast) and is_integer(node):
        source, middle = operand.operand.type, operand.type
        if isinstance(source, ScalarType) and isinstance(middle, ScalarType) and source.dtype.is_int():
            inner, outer = int_range(source.dtype), int_range(middle.dtype)
            if inner is not None and outer is not None and outer[0] <= inner[0] and inner[1] <= outer[1]:
                if operand.operand.type is node.type:
                    return operand.operand
                return Cast(operand.operand, node.dtype, node.span)
    return None


_BINARY: dict[type[Expr], Binary] = {
    FloorDiv: _floor_div,
    FloorMod: _floor_mod,
    Mul: _mul,
    Min: _extreme,
    Max: _extreme,
    BitAnd: _bits,
    BitOr: _bits,
    BitXor: _bits,
    BitShiftLeft: _bits,
    BitShiftRight: _bits,
    Pow: _pow,
    And: logic_rules.conjunction,
    Or: logic_rules.conjunction,
    Eq: logic_rules.comparison,
    Ne: logic_rules.comparison,
    Lt: logic_rules.comparison,
    Le: logic_rules.comparison,
    Gt: logic_rules.comparison,
    Ge: logic_rules.comparison,
}
_UNARY: dict[type[Expr], Unary] = {Abs: _abs, BitNot: _bit_not, Cast: _cast, Not: logic_rules.negation}
