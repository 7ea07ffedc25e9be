"""Expressions as text. Everything is emitted as pieces (see :mod:`pypto.printer.pieces`) at the end of a list."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    BinaryExpr,
    Call,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    IterArg,
    MakeTuple,
    MemRef,
    Pow,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    WindowBuffer,
)
from pypto.printer.scalars import (
    COMPARISON,
    FUNCTIONS,
    INFIX,
    POWER,
    PREFIX,
    constant_trees,
    float_text,
    is_bare,
    is_natural,
    is_negative,
    level_of,
    non_finite_text,
    power_piece,
    signed,
)

if TYPE_CHECKING:
    from pypto.printer.session import Session

Pieces = list[str]

Handler = Callable[[Any, Pieces], None]


class _Typed:
    """A constant that must show its type, on the stack of :meth:`Expressions.scalar`."""

    __slots__ = ("node",)

    def __init__(self, node: Expr) -> None:
        self.node = node


class Expressions:
    """Writes expressions under the names of one function."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.prefix: Final = session.prefix
        self.typed = False
        self.handlers: dict[type, Handler] = {
            ConstInt: self.constant,
            ConstFloat: self.constant,
            ConstBool: self.constant,
            Call: session.calls.call,
            Submit: session.calls.submit,
            MakeTuple: self.make_tuple,
            TupleGetItemExpr: self.item,
            MemRef: session.types.memref,
            WindowBuffer: session.types.window,
        }

    def emit(self, node: Expr, out: Pieces) -> None:
        """Append the pieces of an expression."""
        kind = type(node)
        if kind is Var or kind is IterArg:
            out.append(self.session.names[node])  # pyright: ignore[reportArgumentType]
        elif type(node) is ConstInt and node.dtype is DataType.INDEX and not self.typed:
            value = node.value
            if value < 0:
                out.append("-")
                value = -value
            out.append(str(value))
        else:
            handler = self.handlers.get(kind)
            if handler is not None:
                handler(node, out)
            elif isinstance(node, BinaryExpr | UnaryExpr):
                self.scalar(node, out)
            else:
                self.session.plain.expression(node, out)

    def items(self, nodes: Sequence[Expr], out: Pieces) -> None:
        """Append expressions separated by commas."""
        first = True
        for node in nodes:
            if first:
                first = False
            else:
                out.append(", ")
            self.emit(node, out)

    # -- leaves ----------------------------------------------------------------------------------------------------------

    def constant(self, node: Expr, out: Pieces, typed: bool | None = None) -> None:
        """Append a constant: a plain number where that reads back as the same constant, ``pl.const(...)`` elsewhere."""
        if typed is None:
            typed = self.typed
        if isinstance(node, ConstBool):
            if not typed:
                out.append("True" if node.value else "False")
            else:
                out += (f"{self.prefix}.const", "(", "True" if node.value else "False", ", ", f"{self.prefix}.BOOL", ")")
            return
        assert isinstance(node, ConstInt | ConstFloat)
        if not typed and is_bare(node):
            text = float_text(node.value) if isinstance(node, ConstFloat) else None
            out += signed(text or str(node.value))
            return
        is_float = isinstance(node, ConstFloat)
        if node.dtype.is_float() is is_float and (is_float or node.dtype is not DataType.BOOL):
            head, named = "const", False
        else:
            head, named = f"expr.{'const_float' if is_float else 'const_int'}", True
        out += (f"{self.prefix}.{head}", "(")
        text = float_text(node.value) if is_float else str(node.value)
        if text is None:
            out.append(non_finite_text(node.value))
        else:
            out += signed(text)
        out.append(", ")
        if named:
            out += ("dtype", "=")
        out += (f"{self.prefix}.{node.dtype.name}", ")")

    def dimension(self, node: Expr, out: Pieces) -> None:
        """Append an extent of a type: constants inside a compound one show their type, so that reading does not compute it."""
        if type(node) is ConstInt or isinstance(node, Var):
            self.emit(node, out)
            return
        before, self.typed = self.typed, True
        try:
            self.emit(node, out)
        finally:
            self.typed = before

    def make_tuple(self, node: MakeTuple, out: Pieces) -> None:
        """Append ``[a, b]``."""
        out.append("[")
        self.items(node.elements, out)
        out.append("]")

    def item(self, node: TupleGetItemExpr, out: Pieces) -> None:
        """Append ``t[1]``."""
        inner: Expr = node
        indices: list[int] = []
        while isinstance(inner, TupleGetItemExpr):
            indices.append(inner.index)
            inner = inner.tuple
        self.emit(inner, out)
        for index in reversed(indices):
            out += ("[", str(index), "]")

    # -- operators -------------------------------------------------------------------------------------------------------

    def scalar(self, root: Expr, out: Pieces) -> None:
        """Append a tree of operators, from left to right over a stack of what is still to come."""
        sugar = self.session.sugar
        trees = constant_trees(root) if sugar and not self.typed else frozenset[Expr]()
        stack: list[str | Expr | _Typed] = [root]
        while stack:
            current = stack.pop()
            if isinstance(current, str):
                out.append(current)
            elif isinstance(current, _Typed):
                self.constant(current.node, out, True)
            elif isinstance(current, BinaryExpr):
                self._binary(current, stack, trees, sugar)
            elif isinstance(current, UnaryExpr):
                self._unary(current, stack, trees, sugar)
            elif not sugar and type(current) in (ConstInt, ConstFloat):
                self.constant(current, out, True)
            else:
                self.emit(current, out)

    def _binary(self, node: BinaryExpr, stack: list[Any], trees: Any, sugar: bool) -> None:
        kind = type(node)
        left, right = node.left, node.right
        natural = sugar and is_natural(node)
        infix = INFIX.get(kind) if natural else None
        if infix is None:
            name = FUNCTIONS.get(kind) if natural else None
            if name is None:
                self._plain(node, (left, right), stack)
            else:
                stack += (")", right, ", ", left, "(", f"{self.prefix}.{name}")
            return
        piece, level = infix
        typed = node in trees
        if kind is Pow:
            piece = power_piece(node, left, right, typed or self.typed)
            around_left = level_of(left) <= level or (not typed and not self.typed and is_negative(left))
            around_right = level_of(right) < level
        elif level == COMPARISON:
            around_left, around_right = level_of(left) <= level, level_of(right) <= level
        else:
            around_left, around_right = level_of(left) < level, level_of(right) <= level
        self._operand(right, around_right, typed, stack)
        stack.append(piece)
        self._operand(left, around_left, typed, stack)

    def _unary(self, node: UnaryExpr, stack: list[Any], trees: Any, sugar: bool) -> None:
        kind = type(node)
        operand = node.operand
        natural = sugar and is_natural(node)
        if natural and kind in PREFIX:
            piece, level = PREFIX[kind]
            inner = level_of(operand)
            self._operand(operand, inner < level or (inner == POWER and level != 4), node in trees, stack)
            stack.append(piece)
        elif natural and kind is Cast:
            stack += (")", f"{self.prefix}.{node.dtype.name}", ", ", operand, "(", f"{self.prefix}.cast")
        elif natural and kind in FUNCTIONS:
            stack += (")", operand, "(", f"{self.prefix}.{FUNCTIONS[kind]}")
        else:
            self._plain(node, (operand,), stack)

    @staticmethod
    def _operand(node: Expr, around: bool, typed: bool, stack: list[Any]) -> None:
        if around:
            stack += (")", node, "(")
        elif typed and type(node) in (ConstInt, ConstFloat):
            stack.append(_Typed(node))
        else:
            stack.append(node)

    def _plain(self, node: BinaryExpr | UnaryExpr, operands: tuple[Expr, ...], stack: list[Any]) -> None:
        stack += (")", f"{self.prefix}.{node.dtype.name}", "=", "dtype")
        for operand in reversed(operands):
            stack += (", ", operand)
        stack += ("(", f"{self.prefix}.expr.{snake_case(type(node).__name__)}")


def snake_case(name: str) -> str:
    """``BitShiftLeft`` as ``bit_shift_left``; Python keywords get an underscore."""
    out: list[str] = []
    for at, char in enumerate(name):
        if char.isupper() and at:
            out.append("_")
        out.append(char.lower())
    made = "".join(out)
    return f"{made}_" if keyword.iskeyword(made) else made
