"""What is known of a counted loop before it runs."""

from __future__ import annotations

from pypto.ir.arith.fold import fold_const
from pypto.ir.expr import BinaryExpr, ConstInt, Expr, UnaryExpr
from pypto.ir.stmt import ForStmt

_DEPTH = 64


def constant_int(expr: Expr, depth: int = _DEPTH) -> int | None:
    """The value of an integer expression of constants alone, else None."""
    if isinstance(expr, ConstInt):
        return expr.value
    if depth == 0:
        return None
    folded: Expr | None = None
    if isinstance(expr, BinaryExpr):
        left, right = _fold(expr.left, depth - 1), _fold(expr.right, depth - 1)
        if left is not None and right is not None:
            folded = fold_const(expr.replace(left=left, right=right))
    elif isinstance(expr, UnaryExpr):
        operand = _fold(expr.operand, depth - 1)
        if operand is not None:
            folded = fold_const(expr.replace(operand=operand))
    return folded.value if isinstance(folded, ConstInt) else None


def _fold(expr: Expr, depth: int) -> Expr | None:
    if isinstance(expr, ConstInt):
        return expr
    value = constant_int(expr, depth)
    return None if value is None else ConstInt(value, expr.type.dtype, expr.span)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]


def constant_range(loop: ForStmt) -> range | None:
    """The values that the loop variable takes when bounds and step are constants, else None; no values for a step of 0."""
    start, stop, step = constant_int(loop.start), constant_int(loop.stop), constant_int(loop.step)
    if start is None or stop is None or step is None:
        return None
    return range(start, stop, step) if step else range(0)
