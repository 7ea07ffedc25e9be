"""All analyzers together."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType

from pypto.diagnostics import InvalidTypeError
from pypto.ir.arith.const_int_bound import NEG_INF, POS_INF, ConstIntBound, ConstIntBoundAnalyzer
from pypto.ir.arith.facts import NEGATED
from pypto.ir.arith.int_set import IntSetAnalyzer
from pypto.ir.arith.known import Knowledge
from pypto.ir.arith.logic_rules import decided
from pypto.ir.arith.modular_set import ModularSetAnalyzer
from pypto.ir.arith.rewrite_simplify import CanonicalSimplifier, RewriteSimplifier
from pypto.ir.arith.transitive import TransitiveComparisonAnalyzer
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CompareResult
from pypto.ir.expr import And, BinaryExpr, ConstBool, ConstInt, Eq, Expr, Ge, Gt, Le, Lt, Ne, Sub, Var
from pypto.ir.span import UNKNOWN
from pypto.ir.types import ScalarType

_ALLOWED: dict[type[Expr], CompareResult] = {
    Eq: CompareResult.kEQ,
    Ne: CompareResult.kNE,
    Lt: CompareResult.kLT,
    Le: CompareResult.kLE,
    Gt: CompareResult.kGT,
    Ge: CompareResult.kGE,
}


class Analyzer:
    """Simplifies and proves with everything that is known of variables and conditions; the parts share it."""

    def __init__(self) -> None:
        known = self._known = Knowledge()
        self.const_int_bound: ConstIntBoundAnalyzer = known.bounds
        self.modular_set: ModularSetAnalyzer = known.modular
        self.rewrite_simplify = RewriteSimplifier(known)
        self.canonical_simplify = CanonicalSimplifier(known)
        self.transitive_cmp = TransitiveComparisonAnalyzer(known.numbers)
        self.int_set = IntSetAnalyzer(self.rewrite_simplify)

    def bind(self, var: Var, value: Expr | int, max_exclusive: Expr | int | None = None, allow_override: bool = True) -> None:
        """Say that a variable is an expression, or with ``max_exclusive`` that ``value <= var < max_exclusive``.

        Raises:
            InvalidValueError: the constant range is empty, or the variable is bound otherwise and may not be rebound.
        """
        dtype = _dtype_of(var)
        if max_exclusive is None:
            expr = ConstInt(value, dtype, UNKNOWN) if isinstance(value, int) else value
            self._bind_value(var, expr, allow_override)
            return
        low, high = self._number(value), self._number(max_exclusive)
        if low is not None and high is not None and high == low + 1:
            self._bind_value(var, ConstInt(low, dtype, UNKNOWN), allow_override)
            return
        if low is not None and high is not None:
            self.const_int_bound.bind(var, low, high, allow_override)
        else:
            least = NEG_INF if low is None and isinstance(value, int) else self._end(value)[0]
            most = self._end(max_exclusive)[1]
            if least > NEG_INF or most < POS_INF:
                top = most if most >= POS_INF else most - 1
                if least <= top:
                    self.const_int_bound.update(var, ConstIntBound(least, top), allow_override)
        self.transitive_cmp.bind(var, value, max_exclusive, allow_override)
        self.int_set.bind(var, value, max_exclusive)

    def _bind_value(self, var: Var, expr: Expr, allow_override: bool) -> None:
        simple = self.simplify(expr)
        if simple.type is not var.type and isinstance(simple, ConstInt):
            simple = ConstInt(simple.value, _dtype_of(var), simple.span)
        self.const_int_bound.update(var, self.const_int_bound(simple), allow_override)
        self.modular_set.update(var, self.modular_set(simple))
        self.rewrite_simplify.update(var, simple)
        self.canonical_simplify.update(var, simple)
        self.transitive_cmp.bind(var, simple, allow_override=allow_override)

    def _number(self, value: Expr | int) -> int | None:
        if isinstance(value, int):
            return value
        simple = self.rewrite_simplify(value)
        return simple.value if isinstance(simple, ConstInt) else None

    def _end(self, value: Expr | int) -> tuple[int, int]:
        return (value, value) if isinstance(value, int) else self.const_int_bound.bound(value)

    def unbind(self, var: Var) -> None:
        """Forget everything about a variable."""
        self.const_int_bound.unbind(var)
        self.modular_set.unbind(var)
        self.rewrite_simplify.update(var, None)
        self.canonical_simplify.update(var, None)
        self.transitive_cmp.unbind(var)
        self.int_set.update(var, None)

    def simplify(self, expr: Expr, steps: int = 2) -> Expr:
        """The simplified expression after at most ``steps`` rounds of rewriting; the same object when nothing changes."""
        for _ in range(max(1, steps)):
            result = self.canonical_simplify(self.rewrite_simplify(expr))
            if result is expr:
                break
            expr = result
        return expr

    def can_prove_greater_equal(self, expr: Expr, lower: int) -> bool:
        """True when ``expr >= lower`` always."""
        return self._bound(expr)[0] >= lower > NEG_INF

    def can_prove_less(self, expr: Expr, upper: int) -> bool:
        """True when ``expr < upper`` always."""
        return self._bound(expr)[1] < min(upper, POS_INF)

    def _bound(self, expr: Expr) -> tuple[int, int]:
        simple = self.simplify(expr)
        return self._known.sum_bound(self.rewrite_simplify.linear(simple)) if _is_int(simple) else (NEG_INF, POS_INF)

    def can_prove_equal(self, a: Expr, b: Expr) -> bool:
        """True when both surely have the same value."""
        if a is b:
            return True
        if _is_int(a) and _is_int(b):
            return self.can_prove(Eq(a, b, DataType.BOOL, UNKNOWN))
        number = self._known.numbers.number
        return number(self.simplify(a)) == number(self.simplify(b))

    def can_prove(self, condition: Expr) -> bool:
        """True when the condition surely holds."""
        simple = self.simplify(condition)
        if isinstance(simple, ConstBool):
            return simple.value
        if isinstance(simple, And):
            return self.can_prove(simple.left) and self.can_prove(simple.right)
        if isinstance(simple, BinaryExpr) and type(simple) in NEGATED and _is_int(simple.left) and _is_int(simple.right):
            allowed = _ALLOWED[type(simple)]
            if self.transitive_cmp.try_compare(simple.left, simple.right) & ~allowed == 0:
                return True
            return self._prove_by_set(simple)
        return False

    def _prove_by_set(self, condition: BinaryExpr) -> bool:
        left, right = condition.left, condition.right
        if _dtype_of(left) not in _WIDE or _dtype_of(right) not in _WIDE:
            return False
        values = self.int_set(Sub(left, right, _dtype_of(left), UNKNOWN))
        low = NEG_INF if values.min is None else self._bound(values.min)[0]
        high = POS_INF if values.max is None else self._bound(values.max)[1]
        return decided(type(condition), (low, high)) is True

    def constraint_context(self, condition: Expr) -> ConstraintContext:
        """A context in which the condition is taken as true."""
        return ConstraintContext(self, condition)

    def enter_constraint(self, condition: Expr) -> Callable[[], None]:
        """Take a condition as true until the returned function is called."""
        if not isinstance(condition, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTypeError(f"a constraint is an expression, got {condition!r}")
        undo = [
            self.rewrite_simplify.enter_constraint(condition),
            self.transitive_cmp.enter_constraint(condition),
            self.int_set.enter_constraint(condition),
        ]

        def leave() -> None:
            for step in reversed(undo):
                step()

        return leave


class ConstraintContext:
    """Takes a condition as true from ``with`` (or from being made for one that is not used so) to :meth:`exit_scope`."""

    def __init__(self, analyzer: Analyzer, condition: Expr) -> None:
        self._undo: Callable[[], None] | None = analyzer.enter_constraint(condition)

    def __enter__(self) -> ConstraintContext:
        return self

    def exit_scope(self) -> None:
        """Drop the condition; a second time does nothing."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.exit_scope()


_WIDE = (DataType.INDEX, DataType.INT64)


def _is_int(expr: Expr) -> bool:
    return isinstance(expr.type, ScalarType) and expr.type.dtype.is_int()


def _dtype_of(expr: Expr) -> DataType:
    return getattr(expr.type, "dtype", DataType.INDEX)
