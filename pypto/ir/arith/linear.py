"""Sums of integer terms with constant coefficients."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pypto.ir.arith.const_int_bound import ConstIntBoundAnalyzer, Interval, add_bounds, clamp, scale_bounds
from pypto.ir.arith.integers import fits, is_wide
from pypto.ir.arith.values import ValueNumbers
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Add, BinaryExpr, ConstInt, Expr, Mul, Neg, Sub, UnaryExpr, Var
from pypto.ir.span import Span
from pypto.ir.types import ScalarType

ATOM_COST, CONST_COST, NODE_COST = 2, 1, 1


class Linear:
    """``sum(coefficient * term) + const``; terms by their value number, in the order of their first occurrence."""

    __slots__ = ("const", "terms")

    def __init__(self, const: int = 0) -> None:
        self.terms: dict[int, tuple[Expr, int]] = {}
        self.const = const

    def add_term(self, number: int, expr: Expr, coefficient: int) -> None:
        """Add a multiple of one term; a coefficient of zero removes it."""
        old = self.terms.get(number)
        total = coefficient + (old[1] if old else 0)
        if total:
            self.terms[number] = (old[0] if old else expr, total)
        elif old:
            del self.terms[number]

    def add(self, other: Linear, factor: int = 1) -> None:
        """Add a multiple of another sum."""
        self.const += factor * other.const
        for number, (expr, coefficient) in other.terms.items():
            self.add_term(number, expr, factor * coefficient)

    def copy(self) -> Linear:
        """A sum of its own with the same content."""
        made = Linear(self.const)
        made.terms = dict(self.terms)
        return made

    def key(self) -> tuple[tuple[int, int], ...]:
        """The terms without the constant as a hashable value."""
        return tuple(sorted((number, coefficient) for number, (_, coefficient) in self.terms.items()))

    def bound(self, bounds: ConstIntBoundAnalyzer) -> Interval:
        """Bounds of the sum, constant included."""
        total = (clamp(self.const), clamp(self.const))
        for expr, coefficient in self.terms.values():
            total = add_bounds(total, scale_bounds(bounds.bound(expr), coefficient))
        return total

    def cost(self) -> int:
        """The size of what :meth:`build` makes."""
        total = 0
        for _, coefficient in self.terms.values():
            total += ATOM_COST + (0 if abs(coefficient) == 1 else CONST_COST + NODE_COST)
        pieces = len(self.terms)
        if self.const or not pieces:
            total += CONST_COST
            pieces += 1
        total += (pieces - 1) * NODE_COST
        if self.terms and all(c < 0 for _, c in self.terms.values()) and self.const <= 0:
            first = next(iter(self.terms.values()))[1]
            total += NODE_COST if first == -1 else 0
        return total

    def build(self, dtype: DataType, span: Span) -> Expr | None:
        """The sum as an expression of ``dtype``, a positive term first; None when a number in it does not fit."""
        limit = DataType.INT64 if is_wide(dtype) else dtype
        items = list(self.terms.values())
        first = next((i for i, item in enumerate(items) if item[1] > 0), None)
        total: Expr | None = None
        rest: Iterable[tuple[Expr, int]] = items
        const = self.const
        if first is not None:
            total = _multiple(items[first], limit, dtype, span)
            rest = [*items[:first], *items[first + 1 :]]
        elif const > 0 or not items:
            total = ConstInt(const, dtype, span) if fits(const, limit) else None
            const = 0
        else:
            expr, coefficient = items[0]
            if coefficient == -1:
                total = Neg(expr, dtype, span)
            elif fits(coefficient, limit):
                total = Mul(expr, ConstInt(coefficient, dtype, span), dtype, span)
            rest = items[1:]
        if total is None:
            return None
        for expr, coefficient in rest:
            piece = _multiple((expr, abs(coefficient)), limit, dtype, span)
            if piece is None:
                return None
            total = (Add if coefficient > 0 else Sub)(total, piece, dtype, span)
        if const:
            kind = Add if const > 0 else Sub
            if not fits(abs(const), limit):
                return None
            total = kind(total, ConstInt(abs(const), dtype, span), dtype, span)
        return total


def _multiple(item: tuple[Expr, int], limit: DataType, dtype: DataType, span: Span) -> Expr | None:
    expr, coefficient = item
    if coefficient == 1:
        return expr
    return Mul(expr, ConstInt(coefficient, dtype, span), dtype, span) if fits(coefficient, limit) else None


def is_linear_node(node: Expr, dtype: DataType) -> bool:
    """True for a sum, difference, negation or constant multiple in the arithmetic of ``dtype``."""
    kind = type(node)
    if kind is Mul:
        assert isinstance(node, Mul)
        if type(node.left) is not ConstInt and type(node.right) is not ConstInt:
            return False
    elif kind is not Add and kind is not Sub and kind is not Neg:
        return False
    own = dtype_of(node)
    return own is dtype or (is_wide(own) and is_wide(dtype))


def dtype_of(expr: Expr) -> DataType:
    """The element type of a scalar; BOOL, which is no integer, for anything else."""
    return expr.type.dtype if isinstance(expr.type, ScalarType) else DataType.BOOL


class Region:
    """The linear nodes at the root of an expression with the terms below them, gathered once without recursion."""

    __slots__ = ("atoms", "dtype", "order", "root")

    def __init__(self, root: Expr, resolve: Callable[[Expr], Expr]) -> None:
        self.root = root
        self.dtype = dtype_of(root)
        self.order: list[Expr] = []
        self.atoms: list[Expr] = []
        seen: set[int] = set()
        stack: list[tuple[Expr, bool]] = [(root, False)]
        while stack:
            node, ready = stack.pop()
            if ready:
                self.order.append(node)
                continue
            if id(node) in seen:
                continue
            seen.add(id(node))
            if not is_linear_node(node, self.dtype):
                resolved = resolve(node)
                if resolved is not node:
                    node = resolved
                    if id(node) in seen:
                        continue
                    seen.add(id(node))
                if not is_linear_node(node, self.dtype):
                    self.atoms.append(node)
                    continue
            stack.append((node, True))
            for child in reversed(linear_operands(node)):
                stack.append((child, False))


def linear_operands(node: Expr) -> tuple[Expr, ...]:
    """The operands of a linear node."""
    if isinstance(node, BinaryExpr):
        return node.left, node.right
    return (node.operand,) if isinstance(node, UnaryExpr) else ()


class Sum:
    """A region as a sum, with what it costs as written and whether a call in it must stay as it is written."""

    __slots__ = ("cost", "keep", "linear", "region")

    def __init__(self, root: Expr, numbers: ValueNumbers, resolve: Callable[[Expr], Expr]) -> None:
        if not is_linear_node(root, dtype_of(root)):
            root = resolve(root)
        region = self.region = Region(root, resolve)
        weight: dict[int, int] = {id(root): 1}
        count: dict[int, int] = {id(root): 1}
        linear = self.linear = Linear()
        self.keep = False
        self.cost = 0
        pending: dict[int, tuple[Expr, int, int]] = {}

        def give(child: Expr, amount: int, times: int) -> None:
            if not is_linear_node(child, region.dtype):
                child = resolve(child)
                if not is_linear_node(child, region.dtype):
                    known = pending.get(id(child))
                    pending[id(child)] = (child, amount, times) if known is None else (child, known[1] + amount, known[2] + times)
                    return
            weight[id(child)] = weight.get(id(child), 0) + amount
            count[id(child)] = count.get(id(child), 0) + times

        for node in reversed(region.order):
            amount, times = weight[id(node)], count[id(node)]
            self.cost += times * NODE_COST
            if isinstance(node, Neg):
                give(node.operand, -amount, times)
                continue
            left, right = linear_operands(node)
            if type(node) is Mul:
                if type(left) is ConstInt:
                    left, right = right, left
                assert isinstance(right, ConstInt)
                self.cost += times * CONST_COST
                give(left, amount * right.value, times)
            else:
                give(left, amount, times)
                give(right, amount if type(node) is Add else -amount, times)
        if not region.order:
            pending[id(region.atoms[0])] = (region.atoms[0], 1, 1)
        # in the order in which they are written
        for expr, amount, times in [pending[id(atom)] for atom in region.atoms if id(atom) in pending]:
            if type(expr) is ConstInt:
                linear.const += amount * expr.value
                self.cost += times * CONST_COST
                continue
            self.cost += times * ATOM_COST
            if type(expr) is not Var and numbers.has_call(expr) and (times != 1 or amount == 0):
                self.keep = True
            linear.add_term(numbers.number(expr), expr, amount)
        if not self.keep and len(linear.terms) < len(pending):
            kept = {id(expr) for expr, _ in linear.terms.values()}
            self.keep = any(
                id(expr) not in kept and type(expr) is not ConstInt and numbers.has_call(expr) for expr, _, _ in pending.values()
            )


def is_integer(expr: Expr) -> bool:
    """True for an integer scalar."""
    return isinstance(expr.type, ScalarType) and expr.type.dtype.is_int()


def is_wide_integer(expr: Expr) -> bool:
    """True for an INDEX or INT64 scalar."""
    return isinstance(expr.type, ScalarType) and is_wide(expr.type.dtype)
