"""Values of keywords and attributes as text."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import (
    ARG_DIRECTION_NAMES,
    ArgDirection,
    MemorySpace,
    PadValue,
    TensorLayout,
    TileLayout,
)
from pypto.ir.expr import BinaryExpr, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, UnaryExpr
from pypto.printer.pieces import quoted
from pypto.printer.scalars import float_text, non_finite_text, signed

if TYPE_CHECKING:
    from pypto.printer.session import Session

Pieces = list[str]

_ENUM_HEADS: dict[type, str] = {
    MemorySpace: "Mem",
    TensorLayout: "TensorLayout",
    TileLayout: "TileLayout",
    PadValue: "PadValue",
}


class Values:
    """Writes what keywords and attributes hold, so that it reads back as a value of the same kind."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def emit(self, value: AttrValue, out: Pieces) -> None:
        """Append a stored value."""
        prefix = self.session.prefix
        if isinstance(value, bool):
            out.append("True" if value else "False")
        elif isinstance(value, int):
            out += signed(str(int(value)))
        elif isinstance(value, float):
            self._float(value, out)
        elif isinstance(value, str):
            out.append(quoted(value))
        elif isinstance(value, DataType):
            out.append(f"{prefix}.{value.name}")
        elif isinstance(value, ArgDirection):
            out.append(f"{prefix}.adir.{ARG_DIRECTION_NAMES[value]}")
        elif isinstance(value, list):
            self._list(value, out)
        elif isinstance(value, Expr):
            self._expression(value, out)
        else:
            out.append(f"{prefix}.{_ENUM_HEADS[type(value)]}.{value.name}")

    def _float(self, value: float, out: Pieces) -> None:
        text = float_text(value)
        if text is not None:
            out += signed(text)
        elif math.isinf(value):
            out += signed("1e999" if value > 0 else "-1e999")
        else:
            out += ("float", "(", non_finite_text(value), ")")

    def _list(self, items: Sequence[Any], out: Pieces) -> None:
        out.append("[")
        for at, item in enumerate(items):
            if at:
                out.append(", ")
            self.emit(item, out)
        out.append("]")

    def _expression(self, value: Expr, out: Pieces) -> None:
        """Constants and tuples show that they are expressions and not plain values."""
        expressions = self.session.expressions
        if isinstance(value, ConstInt | ConstFloat | ConstBool):
            expressions.constant(value, out, True)
        elif isinstance(value, MakeTuple):
            self.session.plain.expression(value, out)
        elif isinstance(value, BinaryExpr | UnaryExpr):
            expressions.scalar(value, out)
        else:
            expressions.emit(value, out)

    def mapping(self, items: Mapping[str, AttrValue] | Sequence[tuple[str, AttrValue]], out: Pieces) -> None:
        """Append ``{"key": value, ...}``."""
        pairs = items.items() if isinstance(items, Mapping) else items
        out.append("{")
        first = True
        for key, value in pairs:
            if first:
                first = False
            else:
                out.append(", ")
            out += (quoted(key), ": ")
            self.emit(value, out)
        out.append("}")
