"""Scalar expressions as text: operators with the parentheses they need, functions for what Python has no operator for.

A node is written with its operator only when reading the text builds that very node: its element type is the one that promotion gives, and
no operand would be converted. Any other node is written out (``pl.expr.add(a, b, dtype=pl.INT32)``), which is the plain form of every
scalar node. Nothing here recurses along operators, so chains of any length print.
"""

from __future__ import annotations

import math
import struct
from typing import Final

from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    Abs,
    Add,
    And,
    BinaryExpr,
    BitAnd,
    BitNot,
    BitOr,
    BitShiftLeft,
    BitShiftRight,
    BitXor,
    Cast,
    ConstBool,
    ConstFloat,
    ConstInt,
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Max,
    Min,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Sub,
    UnaryExpr,
    Var,
    Xor,
)
from pypto.ir.types import ScalarType
from pypto.printer.pieces import HUGGED_POWER, quoted

LOGIC_NOT: Final = 4
COMPARISON: Final = 5
UNARY: Final = 12
POWER: Final = 13
CALL: Final = 14

INFIX: Final[dict[type[Expr], tuple[str, int]]] = {
    Or: (" or ", 1),
    And: (" and ", 3),
    Eq: (" == ", COMPARISON),
    Ne: (" != ", COMPARISON),
    Lt: (" < ", COMPARISON),
    Le: (" <= ", COMPARISON),
    Gt: (" > ", COMPARISON),
    Ge: (" >= ", COMPARISON),
    BitOr: (" | ", 6),
    BitXor: (" ^ ", 7),
    BitAnd: (" & ", 8),
    BitShiftLeft: (" << ", 9),
    BitShiftRight: (" >> ", 9),
    Add: (" + ", 10),
    Sub: (" - ", 10),
    Mul: (" * ", 11),
    FloatDiv: (" / ", 11),
    FloorDiv: (" // ", 11),
    FloorMod: (" % ", 11),
    Pow: (" ** ", POWER),
}
"""Operators between their operands, with their level: the higher, the tighter."""

PREFIX: Final[dict[type[Expr], tuple[str, int]]] = {Not: ("not ", LOGIC_NOT), Neg: ("-", UNARY), BitNot: ("~", UNARY)}
"""Operators before their operand."""

FUNCTIONS: Final[dict[type[Expr], str]] = {Min: "min", Max: "max", Xor: "logical_xor", Abs: "abs"}
"""Scalar nodes that are written as a call of the language."""

_COMPARISONS: Final = frozenset((Eq, Ne, Lt, Le, Gt, Ge))
_LOGICAL: Final = frozenset((And, Or, Xor))
_INTEGER: Final = frozenset((BitAnd, BitOr, BitXor, BitShiftLeft, BitShiftRight, BitNot))
_INT64_KINDS: Final = frozenset((DataType.INDEX, DataType.INT64))


def is_natural(node: BinaryExpr | UnaryExpr) -> bool:
    """True when writing the node with its operator reads back as it is."""
    type_ = node.type
    if not isinstance(type_, ScalarType):
        return False
    dtype = type_.dtype
    kind = type(node)
    if isinstance(node, UnaryExpr):
        of = node.operand.type
        if not isinstance(of, ScalarType):
            return False
        if kind is Cast:
            return True
        if kind is Not:
            return dtype is DataType.BOOL and of.dtype is not DataType.TASK_ID
        return of.dtype is dtype and (dtype.is_int() or (dtype.is_float() and kind not in _INTEGER))
    left, right = node.left.type, node.right.type
    if not (isinstance(left, ScalarType) and isinstance(right, ScalarType)):
        return False
    a, b = left.dtype, right.dtype
    if kind in _LOGICAL:
        return dtype is DataType.BOOL and a is not DataType.TASK_ID and b is not DataType.TASK_ID
    if a is not b and not (a in _INT64_KINDS and b in _INT64_KINDS):
        return False
    if kind in _COMPARISONS:
        return dtype is DataType.BOOL and (a.is_int() or a.is_float() or kind is Eq or kind is Ne)
    return dtype is a and (a.is_int() or (a.is_float() and kind not in _INTEGER))


def level_of(node: Expr) -> int:
    """How tightly the text of an expression holds together."""
    kind = type(node)
    infix = INFIX.get(kind)
    if infix is not None:
        return infix[1] if is_natural(node) else CALL  # pyright: ignore[reportArgumentType]
    prefix = PREFIX.get(kind)
    if prefix is not None:
        return prefix[1] if is_natural(node) else CALL  # pyright: ignore[reportArgumentType]
    return CALL


def constant_trees(root: Expr) -> frozenset[Expr] | set[Expr]:
    """The operators below and including ``root`` whose leaves are all numbers; reading them bare would compute them."""
    order: list[Expr] = []
    stack: list[Expr] = [root]
    leaves = False
    while stack:
        node = stack.pop()
        if isinstance(node, BinaryExpr):
            order.append(node)
            stack.append(node.left)
            stack.append(node.right)
        elif isinstance(node, UnaryExpr):
            order.append(node)
            stack.append(node.operand)
        elif type(node) is ConstInt or type(node) is ConstFloat:
            leaves = True
    if not leaves:
        return frozenset()
    found: set[Expr] = set()
    for node in reversed(order):
        if isinstance(node, BinaryExpr):
            if type(node) in INFIX and _is_number(node.left, found) and _is_number(node.right, found) and is_natural(node):
                found.add(node)
        elif isinstance(node, UnaryExpr) and type(node) in PREFIX and _is_number(node.operand, found) and is_natural(node):
            found.add(node)
    return found


def _is_number(node: Expr, trees: set[Expr]) -> bool:
    return type(node) is ConstInt or type(node) is ConstFloat or node in trees


def float_text(value: float) -> str | None:
    """The shortest text that reads back as a finite number, else None; exponents have no plus."""
    return repr(value).replace("e+", "e") if math.isfinite(value) else None


def non_finite_text(value: float) -> str:
    """The quoted name of an infinity or of a NaN; a NaN with an unusual bit pattern names it."""
    if math.isinf(value):
        return quoted("inf" if value > 0 else "-inf")
    bits: int = struct.unpack("<Q", struct.pack("<d", value))[0]
    if bits == 0x7FF8 << 48:
        return quoted("nan")
    return quoted("-nan") if bits == 0xFFF8 << 48 else quoted(f"nan:{bits:016x}")


def signed(text: str) -> list[str]:
    """A number as pieces, the sign apart."""
    return ["-", text[1:]] if text[0] == "-" else [text]


def is_bare(node: Expr) -> bool:
    """True for constants that are written as a plain number or word."""
    kind = type(node)
    if kind is ConstInt:
        return node.type.dtype is DataType.INDEX  # pyright: ignore
    if kind is ConstFloat:
        return node.type.dtype is DataType.FP32 and math.isfinite(node.value)  # pyright: ignore
    return kind is ConstBool


def is_negative(node: Expr) -> bool:
    """True for a bare number with a sign."""
    return type(node) in (ConstInt, ConstFloat) and is_bare(node) and math.copysign(1.0, node.value) < 0  # pyright: ignore


def power_piece(node: Expr, left: Expr, right: Expr, typed: bool) -> str:
    """The power operator: without blanks between simple operands, as black writes it."""
    if typed or not _is_simple(left) or is_negative(left):
        return " ** "
    while type(right) is Pow and is_natural(right):
        right = right.left
        if is_negative(right):
            return " ** "
    return HUGGED_POWER if _is_simple(right) else " ** "


def _is_simple(node: Expr) -> bool:
    return isinstance(node, Var) or is_bare(node)


def is_operation(node: Expr) -> bool:
    """True for what is written with an operator between operands."""
    return type(node) in INFIX and is_natural(node)  # pyright: ignore


def is_soft_alone(node: Expr) -> bool:
    """True for the operators around which black adds brackets when they are a statement of their own and too long."""
    return type(node) in (Add, Sub, BitShiftLeft, BitShiftRight, BitXor, BitAnd) and is_natural(node)  # pyright: ignore
