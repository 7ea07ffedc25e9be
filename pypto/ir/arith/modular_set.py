"""What is known of integer expressions modulo a number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from pypto.ir.arith.const_int_bound import ConstIntBoundAnalyzer
from pypto.ir.arith.integers import int_range, is_wide
from pypto.ir.arith.values import in_order
from pypto.ir.expr import (
    Add,
    And,
    BinaryExpr,
    BitShiftLeft,
    Cast,
    ConstInt,
    Eq,
    Expr,
    FloorDiv,
    FloorMod,
    Max,
    Min,
    Mul,
    Neg,
    Sub,
    UnaryExpr,
    Var,
)
from pypto.ir.types import ScalarType

Residue = tuple[int, int]
ANY: Residue = (1, 0)


@dataclass(frozen=True)
class ModularSet:
    """The integers ``coeff * n + base``; ``coeff`` 0 is the single number ``base``, else ``0 <= base < coeff``."""

    coeff: int
    base: int

    def __post_init__(self) -> None:
        coeff = abs(self.coeff)
        object.__setattr__(self, "coeff", coeff)
        if coeff:
            object.__setattr__(self, "base", self.base % coeff)

    def is_exact(self) -> bool:
        """True for a single number."""
        return self.coeff == 0

    def is_everything(self) -> bool:
        """True when nothing is known."""
        return self.coeff == 1


def _made(coeff: int, base: int) -> Residue:
    coeff = abs(coeff)
    return (coeff, base % coeff) if coeff else (0, base)


def _join(a: Residue, b: Residue) -> Residue:
    return _made(math.gcd(a[0], b[0], a[1] - b[1]), a[1])


def _multiply(a: Residue, b: Residue) -> Residue:
    return _made(math.gcd(a[0] * b[0], a[0] * b[1], a[1] * b[0]), a[1] * b[1])


def _meet(a: Residue, b: Residue) -> Residue:
    """Both at once when one implies the other or they combine; the first when they contradict one another."""
    if a[0] == 0 or (b[0] and a[0] % b[0] == 0):
        return a
    if b[0] == 0 or b[0] % a[0] == 0:
        return b if (b[1] - a[1]) % a[0] == 0 else a
    shared = math.gcd(a[0], b[0])
    if (b[1] - a[1]) % shared:
        return a
    step = (b[1] - a[1]) // shared * pow(a[0] // shared, -1, b[0] // shared) % (b[0] // shared)
    return _made(math.lcm(a[0], b[0]), a[1] + a[0] * step)


class ModularSetAnalyzer:
    """Residues of integer expressions from residues of their variables."""

    def __init__(self, bounds: ConstIntBoundAnalyzer | None = None) -> None:
        self.version = 0
        self._bounds = ConstIntBoundAnalyzer() if bounds is None else bounds
        self._vars: dict[Var, Residue] = {}
        self._memo: dict[int, tuple[Expr, Residue]] = {}
        self._seen = -1

    def __call__(self, expr: Expr) -> ModularSet:
        return ModularSet(*self.residue(expr))

    def update(self, var: Var, info: ModularSet) -> None:
        """Set what is known of a variable."""
        self._vars[var] = (info.coeff, info.base)
        self._changed()

    def unbind(self, var: Var) -> None:
        """Forget what is known of a variable."""
        self._vars.pop(var, None)
        self._changed()

    def enter_constraint(self, constraint: Expr) -> Callable[[], None]:
        """Use ``x % c == k`` and ``x == k`` (also joined by and) until the returned function is called."""
        before = dict(self._vars)
        pending = [constraint]
        while pending:
            cond = pending.pop()
            if isinstance(cond, And):
                pending += [cond.left, cond.right]
            elif isinstance(cond, Eq):
                self._learn(cond.left, cond.right)
                self._learn(cond.right, cond.left)
        self._changed()

        def undo() -> None:
            self._vars = before
            self._changed()

        return undo

    def _learn(self, side: Expr, value: Expr) -> None:
        if not isinstance(value, ConstInt):
            return
        if isinstance(side, Var):
            self._vars[side] = (0, value.value)
        elif isinstance(side, FloorMod) and isinstance(side.left, Var) and isinstance(side.right, ConstInt):
            divisor = side.right.value
            if divisor > 0 and 0 <= value.value < divisor:
                self._vars[side.left] = _meet(self._vars.get(side.left, ANY), (divisor, value.value))

    def _changed(self) -> None:
        self.version += 1
        self._memo.clear()

    def residue(self, expr: Expr) -> Residue:
        """Coefficient and base as a plain pair."""
        if type(expr) is ConstInt:
            return 0, expr.value
        if self._seen != self._bounds.version:
            self._seen = self._bounds.version
            self._memo.clear()
        memo = self._memo
        known = memo.get(id(expr))
        if known is not None:
            return known[1]
        for node in in_order(expr, lambda e: id(e) in memo):
            memo[id(node)] = (node, self._of(node))
        return memo[id(expr)][1]

    def _of(self, node: Expr) -> Residue:
        if isinstance(node, ConstInt):
            return 0, node.value
        if isinstance(node, Var):
            return self._vars.get(node, ANY)
        if not isinstance(node.type, ScalarType) or not node.type.dtype.is_int():
            return ANY
        dtype = node.type.dtype
        result = self._exact(node)
        if is_wide(dtype) or result == ANY:
            return result
        limits = int_range(dtype)
        if limits is not None and result[0] == 0:
            return result if limits[0] <= result[1] <= limits[1] else ANY
        # a narrow result may wrap, which keeps only what divides the number of its values
        return _made(math.gcd(result[0], 1 << dtype.get_bit()), result[1])

    def _exact(self, node: Expr) -> Residue:
        memo = self._memo
        if isinstance(node, Neg):
            coeff, base = memo[id(node.operand)][1]
            return _made(coeff, -base)
        if isinstance(node, Cast):
            source = node.operand.type
            if not isinstance(source, ScalarType) or not source.dtype.is_int():
                return ANY
            coeff, base = memo[id(node.operand)][1]
            inside = is_wide(source.dtype) or source.dtype.get_bit() < 64
            return (coeff, base) if inside else _made(math.gcd(coeff, 1 << 64), base)
        if isinstance(node, UnaryExpr) or not isinstance(node, BinaryExpr):
            return ANY
        a, b = memo[id(node.left)][1], memo[id(node.right)][1]
        if isinstance(node, Add):
            return _made(math.gcd(a[0], b[0]), a[1] + b[1])
        if isinstance(node, Sub):
            return _made(math.gcd(a[0], b[0]), a[1] - b[1])
        if isinstance(node, Mul):
            return _multiply(a, b)
        if isinstance(node, Min | Max):
            return _join(a, b)
        if isinstance(node, FloorDiv) and b[0] == 0 and b[1]:
            return _made(a[0] // b[1], a[1] // b[1]) if a[0] % b[1] == 0 else ANY
        if isinstance(node, FloorMod) and b[0] == 0 and b[1]:
            if a[0] % b[1] == 0:
                return 0, a[1] % b[1]
            return _made(math.gcd(a[0], b[1]), a[1])
        if isinstance(node, BitShiftLeft) and b[0] == 0 and 0 <= b[1] < 63:
            return _multiply(a, (0, 1 << b[1]))
        return ANY
