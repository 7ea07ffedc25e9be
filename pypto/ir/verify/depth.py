"""Depth: blocks and brackets nest no deeper than Python can read."""

from __future__ import annotations

from pypto.diagnostics import Diagnostic
from pypto.ir.arith.values import operands
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
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
    Eq,
    Expr,
    FloatDiv,
    FloorDiv,
    FloorMod,
    Ge,
    Gt,
    Le,
    Lt,
    Mul,
    Ne,
    Neg,
    Not,
    Or,
    Pow,
    Sub,
    UnaryExpr,
    Var,
)
from pypto.ir.function import Function, Program
from pypto.ir.stmt import SeqStmts, Stmt
from pypto.ir.types import ScalarType
from pypto.ir.verify.report import Findings
from pypto.ir.verify.walk import bodies, held

MAX_BLOCKS = 90
"""Blocks inside one another."""
MAX_BRACKETS = 150
"""Brackets inside one another in one statement."""

_CALL = 14
_LEVELS: dict[type[Expr], int] = {
    **dict.fromkeys((Eq, Ne, Lt, Le, Gt, Ge), 5),
    **dict.fromkeys((BitShiftLeft, BitShiftRight), 9),
    **dict.fromkeys((Add, Sub), 10),
    **dict.fromkeys((Mul, FloatDiv, FloorDiv, FloorMod), 11),
    **dict.fromkeys((Neg, BitNot), 12),
    Or: 1,
    And: 3,
    Not: 4,
    BitOr: 6,
    BitXor: 7,
    BitAnd: 8,
    Pow: 13,
}


def verify_depth(program: Program) -> list[Diagnostic]:
    """Refuse more than 90 nested blocks and more than 150 nested brackets; the outermost block that is too deep is reported."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        found += _check(function)
    return found


def _check(function: Function) -> list[Diagnostic]:
    findings = Findings("Depth", function)
    stack: list[tuple[Stmt, int]] = [(function.body, 0)]
    while stack:
        stmt, depth = stack.pop()
        if depth > MAX_BLOCKS:
            findings.add(
                "too-deep",
                f"more than {MAX_BLOCKS} nested blocks",
                stmt.span,
                hint="move the inner blocks into a function of their own",
            )
            break
        brackets = max((_brackets(expr) for expr in held(stmt)), default=0)
        if brackets > MAX_BRACKETS:
            findings.add(
                "too-deep",
                f"{brackets} nested brackets, more than {MAX_BRACKETS}",
                stmt.span,
                hint="give inner parts names of their own",
            )
        inner = depth if isinstance(stmt, SeqStmts) else depth + 1
        stack.extend((body, inner) for body in bodies(stmt))
    return findings.items


def _brackets(root: Expr) -> int:
    """How many brackets of the written expression are inside one another; operator chains to the left have none."""
    if isinstance(root, Var):
        return 0
    depth: dict[int, int] = {}
    stack: list[tuple[Expr, bool]] = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            if id(node) not in depth and not isinstance(node, Var):
                stack.append((node, True))
                stack.extend((child, False) for child in held(node))
            continue
        most = 0
        own = _level(node)
        parts = operands(node)
        for child in parts or held(node):
            below = depth.get(id(child), 0)
            if parts and own < _CALL and _needs_brackets(node, child, own):
                below += 1
            most = max(most, below)
        depth[id(node)] = most + (own == _CALL and any(True for _ in held(node)))
    return depth.get(id(root), 0)


def _level(node: Expr) -> int:
    return _LEVELS.get(type(node), _CALL) if _plain(node) else _CALL


def _plain(node: Expr) -> bool:
    """True when the node is written with its operator: its operands have the element type of the result."""
    if isinstance(node, Cast) or not isinstance(node, BinaryExpr | UnaryExpr):
        return False
    dtypes = {_family(operand) for operand in operands(node)}
    if isinstance(node, And | Or | Not):
        return True
    return len(dtypes) == 1 and (_LEVELS.get(type(node)) == 5 or _family(node) in dtypes)


def _family(expr: Expr) -> DataType | None:
    type_ = expr.type
    if not isinstance(type_, ScalarType):
        return None
    return DataType.INDEX if type_.dtype is DataType.INT64 else type_.dtype


def _needs_brackets(node: Expr, child: Expr, own: int) -> bool:
    level = _level(child)
    if isinstance(node, BinaryExpr):
        right_binds = isinstance(node, Pow)
        if child is node.left:
            return level < own or (level == own and (right_binds or own == 5))
        return level < own or (level == own and not right_binds)
    return level < own
