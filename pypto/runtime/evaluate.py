"""The value of an integer expression whose variables are known, without making code for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pypto.ir.expr import (
    Add,
    BinaryExpr,
    Cast,
    ConstInt,
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
from pypto.runtime.errors import RunError

_BINARY: dict[type, Callable[[int, int], int]] = {
    Add: lambda a, b: a + b,
    Sub: lambda a, b: a - b,
    Mul: lambda a, b: a * b,
    FloorDiv: lambda a, b: a // b,
    FloorMod: lambda a, b: a % b,
    Min: min,
    Max: max,
}
_UNARY: dict[type, Callable[[int], int]] = {Neg: lambda a: -a, Cast: lambda a: a}


def evaluate(expr: Expr, values: Mapping[Var, int]) -> int:
    """The integer that a dimension stands for.

    Raises:
        RunError: it holds something other than integer arithmetic over known variables, or divides by zero.
    """
    pending: list[tuple[Expr, bool]] = [(expr, False)]
    done: list[int] = []
    while pending:
        node, ready = pending.pop()
        known: Any = None
        if isinstance(node, ConstInt):
            done.append(node.value)
        elif isinstance(node, Var) and node in values:
            done.append(values[node])
        elif isinstance(node, BinaryExpr) and type(node) in _BINARY:
            if not ready:
                pending += [(node, True), (node.right, False), (node.left, False)]
                continue
            right, left = done.pop(), done.pop()
            if right == 0 and isinstance(node, FloorDiv | FloorMod):
                raise RunError("a dimension divides by zero", node.span)
            done.append(_BINARY[type(node)](left, right))
        elif isinstance(node, UnaryExpr) and type(node) in _UNARY:
            if not ready:
                pending += [(node, True), (node.operand, False)]
                continue
            done.append(_UNARY[type(node)](done.pop()))
        else:
            known = getattr(node, "name_hint", type(node).__name__)
        if known is not None:
            raise RunError(f"a dimension needs {known!r}, which has no value here", node.span)
    return done[0]
