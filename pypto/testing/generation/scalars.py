"""Random scalar expressions over every kind of scalar node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.diagnostics import Error
from pypto.ir import expr as nodes
from pypto.ir import scalar
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.expr import Cast, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, Not, TupleGetItemExpr
from pypto.ir.types import ScalarType
from pypto.testing.generation.author import FLOATS, Author

ARITHMETIC = (nodes.Add, nodes.Sub, nodes.Mul, nodes.FloorDiv, nodes.FloorMod, nodes.FloatDiv, nodes.Min, nodes.Max, nodes.Pow)
BITWISE = (nodes.BitAnd, nodes.BitOr, nodes.BitXor, nodes.BitShiftLeft, nodes.BitShiftRight)
COMPARISONS = (nodes.Eq, nodes.Ne, nodes.Lt, nodes.Le, nodes.Gt, nodes.Ge)
LOGIC = (nodes.And, nodes.Or, nodes.Xor)
UNARY = (nodes.Abs, nodes.Neg, nodes.BitNot)

COMMON = (DataType.INDEX, DataType.INDEX, DataType.INT32, DataType.INT64, DataType.FP32, DataType.BOOL)
"""Element types that most values have, so that they fit one another."""

ALL = tuple(dtype for dtype in DTYPES.values() if dtype is not DataType.TASK_ID)

_BUILDERS: tuple[Callable[..., Expr], ...] = (
    scalar.add, scalar.sub, scalar.mul, scalar.floordiv, scalar.mod, scalar.truediv, scalar.min_, scalar.max_, scalar.pow, scalar.bit_and,
    scalar.bit_or, scalar.bit_xor, scalar.bit_shift_left, scalar.bit_shift_right, scalar.eq, scalar.lt, scalar.ge, scalar.and_, scalar.or_,
)  # fmt: skip


class ScalarAuthor(Author):
    """Makes scalar expressions. Nothing is computed with them: divisors may be zero and shifts negative."""

    def dtype(self) -> DataType:
        """An element type, mostly a common one."""
        return self.pick(ALL) if self.chance(0.15) else self.pick(COMMON)

    def constant(self, dtype: DataType) -> Expr:
        """A constant."""
        if dtype is DataType.BOOL:
            return ConstBool(self.chance(0.5))
        if dtype.is_float():
            return ConstFloat(self.pick(FLOATS), dtype)
        if dtype.get_bit() == 64:
            return ConstInt(self.pick((0, 1, 2, 3, 7, -1, -5, 128, 100000, (1 << 63) - 1, -(1 << 63))), dtype)
        return ConstInt(self.pick((0, 1, 2, 3, 7, -1, -5, 100)), dtype)

    def leaf(self, dtype: DataType) -> Expr:
        """A value in scope, or a constant."""
        known = self.scalars(dtype)
        return self.pick(known) if known and self.chance(0.65) else self.constant(dtype)

    def scalar(self, dtype: DataType | None = None, depth: int = 3) -> Expr:
        """An expression of an element type."""
        dtype = self.dtype() if dtype is None else dtype
        if depth <= 0 or self.chance(0.2):
            return self.leaf(dtype)
        kind = self.random.randrange(20)
        if kind < 2:
            return Cast(self.scalar(None, depth - 1), dtype)
        if kind == 2:
            pair = MakeTuple([self.scalar(None, depth - 1), self.scalar(dtype, depth - 1)])
            return TupleGetItemExpr(pair, 1)
        if kind == 3:
            return self.any_binary(dtype)(self.scalar(None, depth - 1), self.scalar(None, depth - 1), dtype)
        if kind == 4:
            return self.pick((*UNARY, Not))(self.scalar(None, depth - 1), dtype)
        if kind < 8:
            built = self._built(depth)
            if built.type is ScalarType(dtype):
                return built
        if kind < 10:
            return (Not if dtype is DataType.BOOL else self.pick(UNARY))(self.scalar(dtype, depth - 1), dtype)
        if dtype is DataType.BOOL:
            if self.chance(0.5):
                return self.pick(LOGIC)(self.scalar(dtype, depth - 1), self.scalar(dtype, depth - 1), dtype)
            of = self.dtype()
            return self.pick(COMPARISONS)(self.scalar(of, depth - 1), self.scalar(of, depth - 1), dtype)
        return self.any_binary(dtype)(self.scalar(dtype, depth - 1), self.scalar(dtype, depth - 1), dtype)

    def any_binary(self, dtype: DataType) -> Any:
        """A kind of binary node that may have this element type."""
        if dtype is DataType.BOOL:
            return self.pick((*COMPARISONS, *LOGIC, *ARITHMETIC))
        return self.pick(ARITHMETIC if dtype.is_float() else (*ARITHMETIC, *BITWISE))

    def _built(self, depth: int) -> Expr:
        """What the operators of Python give, with their promotion; a constant where they refuse."""
        left, right = self.scalar(None, depth - 1), self.scalar(None, depth - 1)
        try:
            return self.pick(_BUILDERS)(left, right)
        except Error:
            return self.constant(DataType.INDEX)

    def chain(self, length: int) -> Expr:
        """A long left-deep expression."""
        made = self.leaf(DataType.INDEX)
        kinds = self.pick(
            ((nodes.Add,), (nodes.Add, nodes.Sub, nodes.Mul), (nodes.Mul, nodes.FloorDiv), (nodes.BitOr, nodes.BitAnd))
        )
        for _ in range(length):
            made = self.pick(kinds)(made, self.scalar(DataType.INDEX, self.pick((0, 0, 0, 2))), DataType.INDEX)
        return made
