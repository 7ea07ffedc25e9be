"""The plain form: every node written out from its declared fields, for what the ordinary spelling cannot express.

``pl.expr.call(...)`` and ``pl.expr.<kind>(...)`` take the fields of the node as keywords; ``pl.stmt.<kind>(...)`` does so for statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import TYPE_CHECKING, Any

from pypto.ir.expr import Call, Expr, MakeTuple
from pypto.ir.node import FieldKind, Node
from pypto.ir.op import Op
from pypto.printer.expressions import snake_case
from pypto.printer.pieces import quoted

if TYPE_CHECKING:
    from pypto.printer.session import Session

Pieces = list[str]

_LISTS = frozenset((FieldKind.EXPRS, FieldKind.DEFS, FieldKind.VARS))
_BODIES = frozenset((FieldKind.STMT, FieldKind.OPTIONAL_STMT, FieldKind.STMTS))


class Plain:
    """Writes nodes from their fields."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def call(self, call: Call, out: Pieces) -> None:
        """Append ``pl.expr.call("tile.add", a, b, kwargs={...}, attrs={...}, type=T)``; functions of the program stand unquoted."""
        session = self.session
        out += (f"{session.prefix}.expr.call", "(")
        self._op(call.op, out)
        for arg in call.args:
            out.append(", ")
            session.expressions.emit(arg, out)
        for name, items in (("kwargs", call.kwargs), ("attrs", call.attrs)):
            if items:
                out += (", ", name, "=")
                session.values.mapping(items, out)
        out += (", ", "type", "=")
        session.types.emit(call.type, out)
        out.append(")")

    def expression(self, node: Expr, out: Pieces) -> None:
        """Append any expression from its fields."""
        session = self.session
        out += (f"{session.prefix}.expr.{snake_case(type(node).__name__)}", "(")
        if isinstance(node, MakeTuple):
            session.expressions.make_tuple(node, out)
        else:
            self._fields(node, out)
        out.append(")")

    def statement(self, node: Node, out: Pieces) -> None:
        """Append the head of any statement from its fields; bodies are written below it."""
        out += (f"{self.session.prefix}.stmt.{snake_case(type(node).__name__)}", "(")
        self._fields(node, out)
        out.append(")")

    def _fields(self, node: Node, out: Pieces) -> None:
        first = True
        for name, kind, _ in node.FIELDS:
            if kind in _BODIES or kind is FieldKind.FUNCTIONS:
                continue
            if first:
                first = False
            else:
                out.append(", ")
            out += (name, "=")
            self._field(kind, getattr(node, name), out)

    def _field(self, kind: FieldKind, value: Any, out: Pieces) -> None:
        session = self.session
        if value is None:
            out.append("None")
        elif kind is FieldKind.OP:
            self._op(value, out)
        elif kind is FieldKind.TYPE:
            session.types.emit(value, out)
        elif kind is FieldKind.TYPES:
            self.types(value, out)
        elif kind is FieldKind.ATTRS:
            session.values.mapping(value, out)
        elif kind in _LISTS:
            out.append("[")
            session.expressions.items(value, out)
            out.append("]")
        elif isinstance(value, Expr):
            session.expressions.emit(value, out)
        elif isinstance(value, Enum) and not isinstance(value, int):
            out.append(f"{session.prefix}.{type(value).__name__}.{value.name}")
        else:
            session.values.emit(value, out)

    def types(self, types: Iterable[Any], out: Pieces) -> None:
        """Append a list of types."""
        out.append("[")
        for at, item in enumerate(types):
            if at:
                out.append(", ")
            self.session.types.emit(item, out)
        out.append("]")

    def _op(self, op: Op, out: Pieces) -> None:
        out.append(self.session.calls.callee(op) if op.is_function else quoted(op.name))
