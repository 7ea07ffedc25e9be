"""Simplification of scalar expressions by rewriting, bottom-up and without recursion over the expression.

The integers of INDEX and INT64 expressions are taken not to overflow. In narrower and unsigned arithmetic, which wraps, only sums are
collected (that holds modulo any power of two) and what bounds decide is decided. Floats are folded and otherwise left alone.
"""

from __future__ import annotations

from collections.abc import Callable

from pypto.diagnostics import InternalError
from pypto.ir.arith import rules
from pypto.ir.arith.const_int_bound import ConstIntBoundAnalyzer
from pypto.ir.arith.known import Knowledge
from pypto.ir.arith.linear import Linear, Sum, dtype_of, is_linear_node, linear_operands
from pypto.ir.arith.modular_set import ModularSetAnalyzer
from pypto.ir.arith.values import ValueNumbers, operands
from pypto.ir.expr import (
    BinaryExpr,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    UnaryExpr,
    Var,
)

_ROUNDS = 12
"""How often what a rule made is simplified again; every rule makes its expression smaller, so this is only a guard."""


class Simplifier:
    """The engine behind the two simplifiers. Results are remembered until something new is known of a variable.

    ``leaf`` says what stands for a node that is no arithmetic (a variable, a call); it is asked once for each.
    """

    local_rules = True

    def __init__(self, known: Knowledge | None = None) -> None:
        self.known = Knowledge() if known is None else known
        self._values: dict[Var, Expr] = {}
        self.leaf: Callable[[Expr], Expr] | None = None
        self._memo: dict[int, tuple[Expr, Expr]] = {}
        self._seen = (-1, -1, -1)
        self._rounds = 0

    @property
    def bounds(self) -> ConstIntBoundAnalyzer:
        """Constant bounds in use."""
        return self.known.bounds

    @property
    def numbers(self) -> ValueNumbers:
        """Value numbers in use."""
        return self.known.numbers

    @property
    def modular(self) -> ModularSetAnalyzer:
        """Residues in use."""
        return self.known.modular

    def __call__(self, expr: Expr) -> Expr:
        """The simplified expression, of the same element type; the same object when nothing changes."""
        kind = type(expr)
        if kind is ConstInt or kind is ConstFloat or kind is ConstBool:
            return expr
        state = self.known.state()
        if state != self._seen:
            self._seen = state
            self._memo.clear()
        known = self._memo.get(id(expr))
        return self._simplify(expr) if known is None else known[1]

    def update(self, var: Var, expr: Expr | None) -> None:
        """Put ``expr`` for a variable from now on; None ends that."""
        if expr is None:
            self._values.pop(var, None)
        else:
            self._values[var] = expr
        self._memo.clear()

    def forget(self) -> None:
        """Drop remembered results; for when the answers of ``leaf`` change."""
        self._memo.clear()

    def enter_constraint(self, condition: Expr) -> Callable[[], None]:
        """Take ``condition`` as true until the returned function is called."""
        return self.known.enter(self(condition))

    # -- the walk ---------------------------------------------------------------------------------------------------

    def resolved(self, expr: Expr) -> Expr:
        """What an expression was simplified to, itself when it was not met."""
        known = self._memo.get(id(expr))
        return expr if known is None else known[1]

    def _simplify(self, root: Expr) -> Expr:
        memo = self._memo
        stack = [root]
        while stack:
            node = stack[-1]
            if id(node) in memo:
                stack.pop()
                continue
            below = self._below(node)
            pending = [child for child in below if id(child) not in memo]
            if pending:
                stack.extend(reversed(pending))
                continue
            stack.pop()
            result = self._finish(node)
            memo[id(node)] = (node, result)
            memo.setdefault(id(result), (result, result))
        return memo[id(root)][1]

    def _below(self, node: Expr) -> tuple[Expr, ...] | list[Expr]:
        if not isinstance(node, BinaryExpr | UnaryExpr):
            return ()
        dtype = node.dtype
        if dtype.is_int() and is_linear_node(node, dtype):
            order: list[Expr] = []
            seen: set[int] = set()
            stack: list[Expr] = [node]
            while stack:
                current = stack.pop()
                if id(current) in seen:
                    continue
                seen.add(id(current))
                if is_linear_node(current, dtype):
                    stack.extend(reversed(linear_operands(current)))
                else:
                    order.append(current)
            return order
        return operands(node)

    def _finish(self, node: Expr) -> Expr:
        if isinstance(node, BinaryExpr | UnaryExpr):
            dtype = node.dtype
            if dtype.is_int() and is_linear_node(node, dtype):
                result = self._sum(node)
            else:
                result = self._local(self._rebuilt(node))
            if result.type is not node.type:
                raise InternalError("simplification changed the element type of an expression", node.span)
            return result
        if type(node) is Var or isinstance(node, Var):
            value = self._values.get(node)
            if value is not None:
                return value if value is node or self.leaf is None else self._again(value)
        return node if self.leaf is None else self.leaf(node)

    def _rebuilt(self, node: BinaryExpr | UnaryExpr) -> BinaryExpr | UnaryExpr:
        memo = self._memo
        if isinstance(node, BinaryExpr):
            left, right = memo[id(node.left)][1], memo[id(node.right)][1]
            if left is node.left and right is node.right:
                return node
            return type(node)(left, right, node.dtype, node.span)
        operand = memo[id(node.operand)][1]
        return node if operand is node.operand else type(node)(operand, node.dtype, node.span)

    def _local(self, node: BinaryExpr | UnaryExpr) -> Expr:
        if is_linear_node(node, node.dtype) and node.dtype.is_int():
            return self._sum(node)
        result = (rules.apply if self.local_rules else rules.apply_canonical)(self, node)
        if result is None or result.type is not node.type:
            return node
        return self._again(result)

    def _again(self, expr: Expr) -> Expr:
        if id(expr) in self._memo or self._rounds >= _ROUNDS:
            return self.resolved(expr)
        self._rounds += 1
        try:
            return self._simplify(expr)
        finally:
            self._rounds -= 1

    # -- sums -------------------------------------------------------------------------------------------------------

    def linear(self, expr: Expr) -> Linear:
        """An expression as a sum of simplified terms."""
        return Sum(expr, self.numbers, self.resolved).linear

    def _sum(self, node: Expr) -> Expr:
        found = Sum(node, self.numbers, self.resolved)
        dtype = found.region.dtype
        if not found.keep:
            linear = found.linear
            if self.local_rules or dtype.is_int():
                rules.recombine(self, linear, dtype)
            if linear.cost() < found.cost:
                built = linear.build(dtype, node.span)
                if built is not None and built.type is node.type:
                    return self._settled(built)
        return self._copied(node)

    def _settled(self, built: Expr) -> Expr:
        # what recombination brought in may be a new division or remainder, simplified on its own
        if is_linear_node(built, dtype_of(built)):
            fresh = [child for child in self._below(built) if id(child) not in self._memo]
            if not fresh:
                return built
        return self._again(built)

    def _copied(self, root: Expr) -> Expr:
        """The same linear nodes over simplified terms; the same object when no term changed."""
        dtype = dtype_of(root)
        new: dict[int, Expr] = {}
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                parts = [new[id(child)] for child in linear_operands(node)]
                if all(a is b for a, b in zip(parts, linear_operands(node), strict=True)):
                    new[id(node)] = node
                else:
                    new[id(node)] = type(node)(*parts, dtype_of(node), node.span)  # type: ignore[call-arg]
                continue
            if id(node) in new:
                continue
            if not is_linear_node(node, dtype):
                new[id(node)] = self.resolved(node)
                continue
            stack.append((node, True))
            stack.extend((child, False) for child in linear_operands(node))
        return new[id(root)]


class RewriteSimplifier(Simplifier):
    """Simplifies by all rules: folding, sums, division and remainder, minima and maxima, comparisons, logic."""


class CanonicalSimplifier(Simplifier):
    """Simplifies sums, divisions and remainders only, by collecting the coefficients of their terms."""

    local_rules = False


__all__ = ["CanonicalSimplifier", "RewriteSimplifier", "Simplifier"]
