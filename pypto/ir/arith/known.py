"""What is known of variables and conditions at a point of a program; shared by the analyzers."""

from __future__ import annotations

from collections.abc import Callable

from pypto.ir.arith.const_int_bound import (
    NEG_INF,
    POS_INF,
    ConstIntBoundAnalyzer,
    Interval,
    add_bounds,
    intersect,
    negate_bounds,
    scale_bounds,
)
from pypto.ir.arith.facts import Fact, comparison_fact, conjuncts
from pypto.ir.arith.linear import Linear
from pypto.ir.arith.modular_set import ModularSetAnalyzer
from pypto.ir.arith.values import ValueNumbers
from pypto.ir.expr import Expr

_MAX_TERMS = 4
"""Conditions on longer sums say nothing of the single terms."""


class Knowledge:
    """Bounds, residues, bounds of sums, and conditions taken as true or false."""

    def __init__(self) -> None:
        self.numbers = ValueNumbers()
        self.bounds = ConstIntBoundAnalyzer(self.numbers)
        self.modular = ModularSetAnalyzer(self.bounds)
        self.sums: dict[tuple[tuple[int, int], ...], Interval] = {}
        self.truths: dict[int, bool] = {}
        self._version = 0

    def state(self) -> tuple[int, int, int]:
        """A value that changes whenever something new is known."""
        return self.bounds.version, self.modular.version, self._version

    def enter(self, condition: Expr) -> Callable[[], None]:
        """Take a condition as true until the returned function is called."""
        undo: list[Callable[[], None]] = [self.modular.enter_constraint(condition)]
        for cond, truth in conjuncts(condition):
            undo.append(self._remember(cond, truth))
            fact = comparison_fact(cond, truth, self.numbers)
            if fact is not None and not fact.excluded:
                undo.extend(self._learn(fact))
        self._version += 1

        def leave() -> None:
            for step in reversed(undo):
                step()
            self._version += 1

        return leave

    def _remember(self, cond: Expr, truth: bool) -> Callable[[], None]:
        number = self.numbers.number(cond)
        old = self.truths.get(number)
        self.truths[number] = truth

        def undo() -> None:
            if old is None:
                self.truths.pop(number, None)
            else:
                self.truths[number] = old

        return undo

    def _learn(self, fact: Fact) -> list[Callable[[], None]]:
        terms = fact.sum.terms
        undo: list[Callable[[], None]] = []
        if len(terms) > 1:
            key = fact.sum.key()
            old = self.sums.get(key)
            self.sums[key] = fact.interval if old is None else intersect(old, fact.interval)

            def forget() -> None:
                if old is None:
                    self.sums.pop(key, None)
                else:
                    self.sums[key] = old

            undo.append(forget)
        if not 1 <= len(terms) <= _MAX_TERMS:
            return undo
        learned: list[tuple[Expr, Interval]] = []
        for number, (expr, coefficient) in terms.items():
            others = Linear()
            others.terms = {n: t for n, t in terms.items() if n != number}
            room = add_bounds(fact.interval, negate_bounds(others.bound(self.bounds)))
            low, high = room if coefficient > 0 else negate_bounds(room)
            size = abs(coefficient)
            learned.append((expr, (low if low <= NEG_INF else -(-low // size), high if high >= POS_INF else high // size)))
        undo.extend(self.bounds.refine(expr, interval) for expr, interval in learned)
        return undo

    def sum_bound(self, linear: Linear) -> Interval:
        """Bounds of a sum from those of its terms and from conditions on the whole sum."""
        interval = linear.bound(self.bounds)
        if not self.sums or len(linear.terms) < 2:
            return interval
        first = min(linear.terms)
        sign = 1 if linear.terms[first][1] > 0 else -1
        scaled = Linear()
        scaled.add(linear, sign)
        known = self.sums.get(scaled.key())
        if known is None:
            return interval
        return intersect(interval, add_bounds(scale_bounds(known, sign), (linear.const, linear.const)))
