"""Numbers for values: two scalar expressions that surely have the same value get the same number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.ir.arith.integers import is_wide
from pypto.ir.expr import (
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitOr,
    BitXor,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    Ge,
    Gt,
    Le,
    Lt,
    MakeTuple,
    Max,
    Min,
    Mul,
    Ne,
    Or,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    Xor,
)

_COMMUTATIVE = frozenset((Add, Mul, Min, Max, Eq, Ne, And, Or, Xor, BitAnd, BitOr, BitXor))
_MIRRORED: dict[type[Expr], type[Expr]] = {Gt: Lt, Ge: Le}


def operands(expr: Expr) -> tuple[Expr, ...]:
    """The scalar operands of an arithmetic node; none for everything else."""
    if isinstance(expr, BinaryExpr):
        return expr.left, expr.right
    return (expr.operand,) if isinstance(expr, UnaryExpr) else ()


def in_order(root: Expr, known: Callable[[Expr], bool]) -> list[Expr]:
    """The nodes of an arithmetic tree that are not known yet, operands before their users, each once; without recursion."""
    order: list[Expr] = []
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            order.append(node)
            continue
        if id(node) in seen or known(node):
            continue
        seen.add(id(node))
        stack.append((node, True))
        for operand in operands(node):
            stack.append((operand, False))
    return order


class ValueNumbers:
    """Structural numbering of scalar expressions, linear in their size. Calls and other opaque nodes count by identity."""

    def __init__(self) -> None:
        self._table: dict[tuple[Any, ...], int] = {}
        self._memo: dict[int, tuple[Expr, int]] = {}
        self._calls: dict[int, tuple[Expr, bool]] = {}

    def number(self, expr: Expr) -> int:
        """The number of the value of ``expr``."""
        memo = self._memo
        known = memo.get(id(expr))
        if known is not None:
            return known[1]
        for node in in_order(expr, lambda e: id(e) in memo):
            memo[id(node)] = (node, self._of_key(self._key(node)))
        return memo[id(expr)][1]

    def _of_key(self, key: tuple[Any, ...]) -> int:
        return self._table.setdefault(key, len(self._table))

    def _key(self, node: Expr) -> tuple[Any, ...]:
        if isinstance(node, ConstInt):
            return ("int", node.value)
        if isinstance(node, ConstBool):
            return ("bool", node.value)
        if isinstance(node, ConstFloat):
            return ("float", node.value.hex(), node.dtype)
        if isinstance(node, BinaryExpr | UnaryExpr):
            kind: type[Expr] = type(node)
            numbers = [self._memo[id(child)][1] for child in operands(node)]
            if kind in _COMMUTATIVE:
                numbers.sort()
            elif kind in _MIRRORED:
                kind = _MIRRORED[kind]
                numbers.reverse()
            return (kind, "wide" if is_wide(node.dtype) else node.dtype, *numbers)
        if isinstance(node, TupleGetItemExpr) and isinstance(node.tuple, Var):
            return ("item", id(node.tuple), node.index)
        return ("node", id(node))

    def has_call(self, expr: Expr) -> bool:
        """True when evaluating ``expr`` calls something."""
        if isinstance(expr, Var | ConstInt):
            return False
        memo = self._calls
        known = memo.get(id(expr))
        if known is not None:
            return known[1]
        for node in in_order(expr, lambda e: id(e) in memo):
            parts = operands(node)
            found = any(memo[id(part)][1] for part in parts) if parts else contains_call(node)
            memo[id(node)] = (node, found)
        return memo[id(expr)][1]


def contains_call(expr: Expr) -> bool:
    """True when any Call or Submit occurs in ``expr``; iterative, each node once."""
    stack = [expr]
    seen: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Call | Submit):
            return True
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, MakeTuple):
            stack.extend(node.elements)
        elif isinstance(node, TupleGetItemExpr):
            stack.append(node.tuple)
        else:
            stack.extend(operands(node))
    return False
