"""Which bounds of a loop are written."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.dtypes import DataType
from pypto.ir.expr import ConstInt, Expr
from pypto.ir.stmt import ForStmt


def written_bounds(loop: ForStmt, sugar: bool) -> Sequence[Expr]:
    """The bounds that are written: a start of 0 and a step of 1 are left out when they are of the default type."""
    if not sugar:
        return (loop.start, loop.stop, loop.step)
    if not _is_index(loop.step, 1):
        return (loop.start, loop.stop, loop.step)
    if not _is_index(loop.start, 0):
        return (loop.start, loop.stop)
    return (loop.stop,)


def _is_index(node: Expr, value: int) -> bool:
    return type(node) is ConstInt and node.value == value and node.dtype is DataType.INDEX
