"""Scalar expressions as Python source. Long chains are split into temporaries, so that no nesting limit of Python is met."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

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
    Xor,
)
from pypto.ops.numeric import numpy_dtype
from pypto.runtime.emitter import Line, Lines
from pypto.runtime.errors import RunError
from pypto.runtime.scalars import (
    converter,
    integer_power,
    integer_quotient,
    is_integral,
    larger,
    shifted_left,
    shifted_right,
    smaller,
    wrapper,
)

_YIELD = re.compile(r"\byield\b")

_DEEPEST = 24
"""Nesting at which an expression is cut; Python's parser takes 200 brackets, its compiler less where recursion is dear."""

_COMPARISONS: dict[type, str] = {Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">="}
_INFIX: dict[type, str] = {Add: "+", Sub: "-", Mul: "*", FloorDiv: "//", FloorMod: "%", BitAnd: "&", BitOr: "|", BitXor: "^"}
_FLOAT_INFIX: dict[type, str] = {Add: "+", Sub: "-", Mul: "*", FloatDiv: "/"}
_INTEGER_CALLS: dict[type, Callable[..., Any]] = {
    Min: smaller,
    Max: larger,
    Pow: integer_power,
    FloatDiv: integer_quotient,
    BitShiftLeft: shifted_left,
    BitShiftRight: shifted_right,
}
_FLOAT_CALLS: dict[type, Callable[..., Any]] = {
    FloorDiv: np.floor_divide,
    FloorMod: np.remainder,
    Min: np.minimum,
    Max: np.maximum,
    Pow: np.power,
}
_NEVER_LEAVES = (FloorMod, Min, Max, BitAnd, BitOr, BitXor, BitShiftRight)
"""Operations whose result fits the type of the operands."""

_RING = (Add, Sub, Mul)
"""Operations that may be done on integers that are not wrapped yet: wrapping once afterwards gives the same."""

_Text = tuple[str, int]


class _Part(NamedTuple):
    """Source of an expression, how deep it nests, and the type to which its integer value is still to be wrapped."""

    text: str
    depth: int
    pending: DataType | None = None


class ScalarEmitter:
    """Turns scalar expressions into source text; ``other`` does so for what is no scalar operation (variables, calls, tuple elements)."""

    def __init__(self, lines: Lines, other: Callable[[Expr], str]) -> None:
        self._lines = lines
        self._other = other
        self._constants: dict[tuple[str, str], str] = {}

    def text(self, expr: Expr) -> str:
        """Source of a scalar expression; what must be computed before is written out as lines."""
        return self._emit(expr)[0]

    def _emit(self, expr: Expr) -> _Text:
        pending: list[tuple[Expr, bool]] = [(expr, False)]
        done: list[_Part] = []
        while pending:
            node, ready = pending.pop()
            if isinstance(node, And | Or):
                done.append(_Part(*self._logic(node)))
            elif isinstance(node, BinaryExpr):
                if ready:
                    right, left = done.pop(), done.pop()
                    depth = max(left.depth, right.depth) + 1
                    sum_ = self._ring(node, left, right)
                    if sum_ is not None:
                        done.append(self._cut_part(_Part(sum_, depth, node.dtype)))
                    else:
                        text = self._binary(node, self._settled(left), self._settled(right))
                        done.append(self._cut_part(_Part(text, depth)))
                else:
                    pending += [(node, True), (node.right, False), (node.left, False)]
            elif isinstance(node, UnaryExpr):
                if ready:
                    inner = done.pop()
                    done.append(self._cut_part(_Part(self._unary(node, self._settled(inner)), inner.depth + 1)))
                else:
                    pending += [(node, True), (node.operand, False)]
            else:
                done.append(_Part(self._leaf(node), 0))
        return self._settled(done[0]), done[0].depth

    def _settled(self, part: _Part) -> str:
        return part.text if part.pending is None else self._wrapped(part.text, part.pending)

    def _ring(self, node: BinaryExpr, left: _Part, right: _Part) -> str | None:
        """A sum or product of integers, to be wrapped later."""
        dtype = node.dtype
        mine, theirs = _dtype(node.left), _dtype(node.right)
        if type(node) not in _RING or not (is_integral(dtype) and is_integral(mine) and is_integral(theirs)):
            return None
        texts = [
            part.text if part.pending is None or _same_kind(part.pending, dtype) else self._settled(part)
            for part in (left, right)
        ]
        return f"({texts[0]} {_INFIX[type(node)]} {texts[1]})"

    def _cut_part(self, part: _Part) -> _Part:
        if part.depth < _DEEPEST:
            return part
        return _Part(self._cut(self._settled(part), part.depth)[0], 0)

    def _cut(self, text: str, depth: int) -> _Text:
        if depth < _DEEPEST:
            return text, depth
        name = self._lines.temporary()
        self._lines.add(f"{name} = {text}")
        return name, 0

    def _leaf(self, node: Expr) -> str:
        if isinstance(node, ConstInt):
            return self.number(node.value, node.dtype)
        if isinstance(node, ConstFloat):
            return self.number(node.value, node.dtype)
        if isinstance(node, ConstBool):
            return str(node.value)
        return self._other(node)

    def number(self, value: float, dtype: DataType) -> str:
        """A constant of an element type: integers as literals, floats as NumPy scalars made once."""
        if dtype is DataType.BOOL:
            return str(bool(value))
        if is_integral(dtype):
            wrapped = wrapper(dtype)(int(value))
            return str(wrapped) if wrapped >= 0 else f"({wrapped})"
        key = (float(value).hex() if value == value else "nan", dtype.name)
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = self._lines.share("c", numpy_dtype(dtype).type(value))
        return name

    # -- and, or -----------------------------------------------------------------------------------------------------

    def _logic(self, node: BinaryExpr) -> _Text:
        """A chain of one connective; a term is computed only when those before it leave the outcome open."""
        kind = type(node)
        terms: list[Expr] = []
        stack: list[Expr] = [node]
        while stack:
            at = stack.pop()
            if type(at) is kind and isinstance(at, BinaryExpr):
                stack += [at.right, at.left]
            else:
                terms.append(at)
        word = " and " if kind is And else " or "
        group: list[str] = []
        deepest = 0
        for term in terms:
            with self._lines.captured() as before:
                text, depth = self._truth(term)
            if before:
                text, depth = self._deferred(before, text), 0
            if len(group) >= _DEEPEST:
                name = self._lines.temporary()
                self._lines.add(f"{name} = {word.join(group)}")
                group, deepest = [name], 0
            group.append(text)
            deepest = max(deepest, depth)
        return self._cut(f"({word.join(group)})", deepest + 1)

    def _deferred(self, before: list[Line], text: str) -> str:
        """A term whose lines may run only when its value is asked for: they become a function, which is harmless to define."""
        if all(line.startswith("def ") for indent, line, _ in before if indent == 0):
            self._lines.extend(before)
            return text
        name = self._lines.temporary()
        self._lines.add(f"def {name}():")
        with self._lines.indented():
            self._lines.extend(before)
            self._lines.add(f"return {text}")
        pauses = any(_YIELD.search(line) for line in (text, *[line for _, line, _ in before]))
        return f"(yield from {name}())" if pauses else f"{name}()"

    def _truth(self, term: Expr) -> _Text:
        text, depth = self._emit(term)
        if _dtype(term) is DataType.BOOL:
            return text, depth
        return f"{self._lines.use(builtins.bool)}({text})", depth + 1

    # -- operations ---------------------------------------------------------------------------------------------------

    def _binary(self, node: BinaryExpr, left: str, right: str) -> str:
        kind = type(node)
        mine, theirs = _dtype(node.left), _dtype(node.right)
        comparison = _COMPARISONS.get(kind)
        if comparison is not None:
            return f"({left} {comparison} {right})"
        if kind is Xor:
            boolean = self._lines.use(builtins.bool)
            return f"({boolean}({left}) != {boolean}({right}))"
        dtype = node.dtype
        whole = is_integral(mine) or mine is DataType.BOOL, is_integral(theirs) or theirs is DataType.BOOL
        if dtype is DataType.BOOL and all(whole) and kind in (BitAnd, BitOr, BitXor):
            return f"({left} {_INFIX[kind]} {right})"
        if is_integral(dtype) and all(whole):
            infix = _INFIX.get(kind)
            text = f"{left} {infix} {right}" if infix else f"{self._lines.use(_INTEGER_CALLS[kind])}({left}, {right})"
            if kind in _NEVER_LEAVES and _same_kind(mine, dtype) and _same_kind(theirs, dtype):
                return f"({text})" if infix else text
            return self._wrapped(text, dtype)
        if dtype.is_float():
            left, right = self._converted(left, mine, dtype), self._converted(right, theirs, dtype)
            infix = _FLOAT_INFIX.get(kind)
            if infix:
                return f"({left} {infix} {right})"
            if kind in _FLOAT_CALLS:
                return f"{self._lines.use(_FLOAT_CALLS[kind])}({left}, {right})"
        raise RunError(f"{kind.__name__} of {mine.name} and {theirs.name} to {dtype.name} cannot be computed", node.span)

    def _wrapped(self, text: str, dtype: DataType) -> str:
        wrap = self._lines.use(wrapper(dtype), f"wrap_{dtype.to_string()}")
        if dtype.is_signed_int():
            return f"(_t if (_t := {text}).bit_length() < {dtype.get_bit()} else {wrap}(_t))"
        return f"{wrap}({text})"

    def _converted(self, text: str, source: DataType, target: DataType) -> str:
        if _same_kind(source, target):
            return text
        if is_integral(source) and is_integral(target):
            wider = target.get_bit() - source.get_bit()
            if wider > 0 and target.is_signed_int() and (source.is_signed_int() or wider >= 1):
                return text
            return self._wrapped(text, target)
        return f"{self._lines.use(converter(source, target), f'{source.to_string()}_to_{target.to_string()}')}({text})"

    def _unary(self, node: UnaryExpr, text: str) -> str:
        dtype, mine = node.dtype, _dtype(node.operand)
        if isinstance(node, Cast):
            return self._converted(text, mine, dtype)
        if isinstance(node, Not) or (isinstance(node, BitNot) and mine is DataType.BOOL):
            return f"(not {text})"
        text = self._converted(text, mine, dtype)
        if isinstance(node, BitNot):
            return f"(~{text})" if dtype.is_signed_int() else self._wrapped(f"~{text}", dtype)
        if isinstance(node, Neg):
            return f"(-{text})" if dtype.is_float() else self._wrapped(f"-{text}", dtype)
        if isinstance(node, Abs):
            call = f"{self._lines.use(builtins.abs)}({text})"
            return call if dtype.is_float() else self._wrapped(call, dtype)
        raise RunError(f"{type(node).__name__} of {mine.name} cannot be computed", node.span)


def _dtype(expr: Expr) -> DataType:
    dtype = getattr(expr.type, "dtype", None)
    if dtype is None:
        raise RunError(f"a scalar is needed here, not a {type(expr.type).__name__}", expr.span)
    return dtype


_INT64_KINDS = (DataType.INDEX, DataType.INT64)


def _same_kind(a: DataType, b: DataType) -> bool:
    return a is b or (a in _INT64_KINDS and b in _INT64_KINDS)
