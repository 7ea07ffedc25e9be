"""What the bounds of a loop say about its variable."""

from __future__ import annotations

from collections.abc import Iterable

from pypto.ir.dtypes import DataType
from pypto.ir.expr import ConstInt, Expr
from pypto.ir.types import ScalarType


def loop_variable_dtype(bounds: Iterable[Expr]) -> DataType:
    """The element type of a loop variable: the widest of its bounds', the first of that width; INDEX constants adapt to the others."""
    found: DataType | None = None
    for bound in bounds:
        type_ = bound.type
        if not isinstance(type_, ScalarType) or (type(bound) is ConstInt and type_.dtype is DataType.INDEX):
            continue
        if found is None or type_.dtype.get_bit() > found.get_bit():
            found = type_.dtype
    return DataType.INDEX if found is None else found
