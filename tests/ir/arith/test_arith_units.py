"""Folding, integer helpers, bounds, residues, comparisons, intervals and the analyzer, by hand-worked values."""

import math

import ml_dtypes
import numpy as np
import pytest

from pypto import ir
from pypto.ir.arith import (
    Analyzer,
    CanonicalSimplifier,
    CompareResult,
    ConstIntBound,
    ConstIntBoundAnalyzer,
    ConstraintContext,
    IntSet,
    IntSetAnalyzer,
    ModularSet,
    ModularSetAnalyzer,
    RewriteSimplifier,
    TransitiveComparisonAnalyzer,
    extended_euclidean,
    floordiv,
    floormod,
    fold_const,
    gcd,
    lcm,
)
from pypto.ir.types import ScalarType
from tests.ir.arith.scalar_reference import const, scalar

D = ir.DataType
BOOL = D.BOOL
INDEX = D.INDEX
X, Y, Z = scalar("x"), scalar("y"), scalar("z")
P, Q = scalar("p", D.INT64), scalar("q", D.INT64)
FLAG = scalar("flag", BOOL)


def flt(value, dtype=D.FP32):
    return ir.ConstFloat(value, dtype, ir.Span.unknown())


def call(type_=None):
    return ir.Call(ir.Op("outside.value"), [], ScalarType(INDEX) if type_ is None else type_, ir.Span.unknown())


def text(expr):
    """A scalar expression in brackets, to write expectations in one line."""
    if isinstance(expr, ir.Var):
        return expr.name_hint
    if isinstance(expr, ir.ConstInt | ir.ConstBool | ir.ConstFloat):
        return str(expr.value)
    if isinstance(expr, ir.BinaryExpr):
        return f"{type(expr).__name__}({text(expr.left)}, {text(expr.right)})"
    return f"{type(expr).__name__}({text(expr.operand)})"


@pytest.mark.parametrize(
    ("kind", "a", "b", "wanted"),
    [
        (ir.Add, 3, 4, 7),
        (ir.Sub, 3, 4, -1),
        (ir.Mul, -3, 4, -12),
        (ir.FloorDiv, -7, 2, -4),
        (ir.FloorDiv, 7, -2, -4),
        (ir.FloorMod, -7, 3, 2),
        (ir.FloorMod, 7, -3, -2),
        (ir.Min, 3, -4, -4),
        (ir.Max, 3, -4, 3),
        (ir.Pow, 2, 10, 1024),
        (ir.Pow, -1, 1001, -1),
        (ir.BitAnd, 12, 10, 8),
        (ir.BitOr, 12, 10, 14),
        (ir.BitXor, 12, 10, 6),
        (ir.BitShiftLeft, 3, 4, 48),
        (ir.BitShiftRight, -5, 1, -3),
    ],
)
def test_integer_constants_fold(kind, a, b, wanted):
    folded = fold_const(kind(const(a, D.INT64), const(b, D.INT64), D.INT64))
    assert folded.value == wanted
    assert folded.dtype is D.INT64


@pytest.mark.parametrize(
    ("kind", "a", "b", "dtype"),
    [
        (ir.Add, (1 << 63) - 1, 1, D.INT64),
        (ir.Mul, 1 << 40, 1 << 40, D.INDEX),
        (ir.Sub, 0, 1, D.UINT64),
        (ir.Add, 100, 100, D.INT8),
        (ir.Pow, 2, 64, D.INT64),
        (ir.Pow, 2, -1, D.INT64),
        (ir.Pow, 3, 1 << 40, D.INT64),
        (ir.BitShiftLeft, 1, 64, D.INT64),
        (ir.BitShiftLeft, 1, -1, D.INT64),
        (ir.BitShiftRight, 8, 64, D.INT64),
        (ir.BitShiftLeft, 1, 63, D.INT64),
    ],
)
def test_what_overflows_or_shifts_too_far_is_not_folded(kind, a, b, dtype):
    node = kind(const(a, dtype), const(b, dtype), dtype)
    assert fold_const(node) is None
    assert Analyzer().simplify(node) is node


def test_division_by_zero_raises_when_folded_and_stays_when_simplified():
    for kind in (ir.FloorDiv, ir.FloorMod):
        node = kind(const(7), const(0), INDEX)
        with pytest.raises(ZeroDivisionError, match="division by zero"):
            fold_const(node)
        assert Analyzer().simplify(node) is node
    smallest = ir.FloorDiv(const(-(1 << 63), D.INT64), const(-1, D.INT64), D.INT64)
    with pytest.raises(OverflowError, match="does not fit 64 bits"):
        fold_const(smallest)
    assert Analyzer().simplify(smallest) is smallest


def test_python_helpers():
    assert [floordiv(-7, 2), floormod(-7, 2), floordiv(7, -2), floormod(7, -2)] == [-4, 1, -4, -1]
    assert (gcd(12, -18), gcd(0, 0), lcm(4, 6), lcm(0, 5)) == (6, 0, 12, 0)
    for a, b in [(240, 46), (-240, 46), (0, 7), (7, 0), (17, -5)]:
        g, x, y = extended_euclidean(a, b)
        assert g == math.gcd(a, b)
        assert a * x + b * y == g
    for function in (floordiv, floormod):
        with pytest.raises(ValueError, match="zero"):
            function(1, 0)
        with pytest.raises(ValueError, match="64 bits"):
            function(-(1 << 63), -1)


@pytest.mark.parametrize("dtype", [D.FP32, D.FP16, D.BF16])
@pytest.mark.parametrize("kind", [ir.Add, ir.Sub, ir.Mul, ir.FloatDiv, ir.Pow])
def test_floats_fold_as_the_element_type_computes(dtype, kind):
    scalar_type = {D.FP32: np.float32, D.FP16: np.float16, D.BF16: ml_dtypes.bfloat16}[dtype]
    ufunc = {ir.Add: np.add, ir.Sub: np.subtract, ir.Mul: np.multiply, ir.FloatDiv: np.divide, ir.Pow: np.power}[kind]
    folded = fold_const(kind(flt(1.1, dtype), flt(0.3, dtype), dtype))
    assert folded.dtype is dtype
    assert folded.value == float(ufunc(scalar_type(1.1), scalar_type(0.3)))
    assert (
        folded.value != {ir.Add: 1.1 + 0.3, ir.Sub: 1.1 - 0.3, ir.Mul: 1.1 * 0.3, ir.FloatDiv: 1.1 / 0.3, ir.Pow: 1.1**0.3}[kind]
    )


def test_float_specials():
    assert fold_const(ir.FloatDiv(flt(1.0), flt(0.0), D.FP32)).value == math.inf
    assert fold_const(ir.FloatDiv(flt(-1.0), flt(0.0), D.FP32)).value == -math.inf
    assert math.isnan(fold_const(ir.FloatDiv(flt(0.0), flt(0.0), D.FP32)).value)
    assert fold_const(ir.Lt(flt(0.1), flt(0.1), BOOL)).value is False
    assert fold_const(ir.Ne(flt(math.nan), flt(math.nan), BOOL)).value is True
    assert fold_const(ir.Max(flt(math.nan), flt(1.0), D.FP32)) is None
    v = scalar("v", D.FP32)
    for node in (ir.Add(v, flt(0.0), D.FP32), ir.Mul(v, flt(0.0), D.FP32), ir.Sub(v, v, D.FP32), ir.Max(v, v, D.FP32)):
        assert fold_const(node) is None
        assert Analyzer().simplify(node) is node
    kept = ir.Not(ir.Lt(v, flt(1.0), BOOL), BOOL)
    assert Analyzer().simplify(kept) is kept, "NaN is neither less nor greater"


def test_logic_and_casts_fold():
    true, false = ir.ConstBool(True), ir.ConstBool(False)
    assert fold_const(ir.And(true, false, BOOL)).value is False
    assert fold_const(ir.Or(true, false, BOOL)).value is True
    assert fold_const(ir.Xor(true, true, BOOL)).value is False
    assert fold_const(ir.Not(false, BOOL)).value is True
    assert fold_const(ir.Cast(const(300), D.INT16)).value == 300
    assert fold_const(ir.Cast(const(300), D.INT8)) is None, "it would wrap"
    assert fold_const(ir.Cast(const(3), D.FP16)).value == 3.0
    assert fold_const(ir.Cast(flt(0.1), D.FP16)).value == float(np.float16(np.float32(0.1)))
    assert fold_const(ir.Cast(flt(2.5), D.INT32)) is None, "rounding is the business of the machine"
    assert fold_const(ir.Abs(const(-4), INDEX)).value == 4
    assert fold_const(ir.BitNot(const(5, D.UINT8), D.UINT8)).value == 250
    assert fold_const(ir.BitNot(const(5, D.INT8), D.INT8)).value == -6
    assert fold_const(ir.Neg(const(1, D.UINT8), D.UINT8)) is None


def test_identities_keep_the_other_side():
    zero, one = const(0), const(1)
    for node in (
        ir.Add(X, zero, INDEX),
        ir.Add(zero, X, INDEX),
        ir.Sub(X, zero, INDEX),
        ir.Mul(X, one, INDEX),
        ir.FloorDiv(X, one, INDEX),
    ):
        assert fold_const(node) is X
        assert Analyzer().simplify(node) is X
    for node in (ir.Mul(X, zero, INDEX), ir.Mul(zero, X, INDEX), ir.FloorMod(X, one, INDEX)):
        assert fold_const(node).value == 0
    assert fold_const(ir.Add(X, Y, INDEX)) is None
    assert fold_const(X) is None


@pytest.mark.parametrize(
    ("expr", "wanted"),
    [
        (ir.Add(ir.Add(X, const(3), INDEX), const(4), INDEX), "Add(x, 7)"),
        (ir.Add(X, X, INDEX), "Mul(x, 2)"),
        (ir.Sub(ir.Add(X, Y, INDEX), X, INDEX), "y"),
        (ir.Add(ir.Mul(ir.FloorDiv(X, const(6), INDEX), const(6), INDEX), ir.FloorMod(X, const(6), INDEX), INDEX), "x"),
        (ir.Sub(X, ir.Mul(ir.FloorDiv(X, const(6), INDEX), const(6), INDEX), INDEX), "FloorMod(x, 6)"),
        (ir.FloorDiv(ir.Mul(X, const(6), INDEX), const(4), INDEX), "FloorDiv(Mul(x, 3), 2)"),
        (ir.FloorMod(ir.Mul(X, const(2), INDEX), const(4), INDEX), "Mul(FloorMod(x, 2), 2)"),
        (ir.FloorDiv(ir.Add(ir.Mul(X, const(4), INDEX), Y, INDEX), const(4), INDEX), "Add(x, FloorDiv(y, 4))"),
        (ir.FloorDiv(ir.FloorDiv(X, const(3), INDEX), const(5), INDEX), "FloorDiv(x, 15)"),
        (ir.Max(X, const(0), INDEX), "x"),
        (ir.Min(ir.Min(X, const(3), INDEX), const(5), INDEX), "Min(x, 3)"),
        (ir.Min(ir.Max(X, Y, INDEX), Y, INDEX), "y"),
        (ir.Max(ir.Add(X, const(1), INDEX), ir.Add(Y, const(1), INDEX), INDEX), "Add(Max(x, y), 1)"),
        (ir.Lt(ir.Add(X, const(3), INDEX), const(10), BOOL), "Lt(x, 7)"),
        (ir.Le(ir.Mul(X, const(2), INDEX), const(9), BOOL), "Le(x, 4)"),
        (ir.Lt(ir.Mul(X, const(2), INDEX), const(9), BOOL), "Lt(x, 5)"),
        (ir.Eq(ir.Mul(X, const(2), INDEX), const(9), BOOL), "False"),
        (ir.Gt(X, const(-1), BOOL), "True"),
        (ir.And(ir.Lt(X, Y, BOOL), ir.Ge(X, Y, BOOL), BOOL), "False"),
        (ir.Or(ir.Lt(X, Y, BOOL), ir.Ge(X, Y, BOOL), BOOL), "True"),
        (ir.And(ir.Lt(X, const(5), BOOL), ir.Lt(X, const(7), BOOL), BOOL), "Lt(x, 5)"),
        (ir.And(FLAG, ir.Not(FLAG, BOOL), BOOL), "False"),
        (ir.Not(ir.Not(FLAG, BOOL), BOOL), "flag"),
        (ir.Not(ir.Lt(X, Y, BOOL), BOOL), "Ge(x, y)"),
        (ir.Cast(ir.Cast(scalar("s", D.INT32), D.INT64), D.INT32), "s"),
    ],
)
def test_rewrites(expr, wanted):
    assert text(Analyzer().simplify(expr)) == wanted
    assert text(RewriteSimplifier()(expr)) == wanted


def test_canonical_simplifier_collects_but_leaves_comparisons():
    simplify = CanonicalSimplifier()
    kept = ir.Lt(ir.Add(X, const(3), INDEX), const(10), BOOL)
    assert simplify(kept) is kept
    assert text(simplify(ir.Sub(ir.Mul(X, const(3), INDEX), X, INDEX))) == "Mul(x, 2)"


def test_calls_are_neither_dropped_nor_doubled_nor_merged():
    value = call()
    for node in (
        ir.Mul(value, const(0), INDEX),
        ir.Sub(value, value, INDEX),
        ir.Add(value, value, INDEX),
        ir.FloorMod(value, const(1), INDEX),
        ir.Lt(value, value, BOOL),
        ir.And(ir.Lt(value, X, BOOL), ir.ConstBool(False), BOOL),
        ir.BitAnd(value, const(0), INDEX),
    ):
        result = Analyzer().simplify(node)
        calls, stack = 0, [result]
        while stack:
            current = stack.pop()
            calls += isinstance(current, ir.Call)
            if isinstance(current, ir.BinaryExpr):
                stack += [current.left, current.right]
        wanted = 2 if isinstance(node, ir.BinaryExpr) and node.left is node.right else 1
        assert calls == wanted, text(node)
    assert Analyzer().simplify(ir.Add(ir.Add(value, const(1), INDEX), const(2), INDEX)).left is value


def test_update_and_constraints_of_the_rewrite_simplifier():
    simplify = RewriteSimplifier()
    simplify.update(X, const(4))
    assert text(simplify(ir.Add(X, Y, INDEX))) == "Add(4, y)"
    simplify.update(X, None)
    node = ir.Add(X, Y, INDEX)
    assert simplify(node) is node
    undo = simplify.enter_constraint(ir.Lt(X, const(8), BOOL))
    assert text(simplify(ir.FloorDiv(X, const(8), INDEX))) == "0"
    undo()
    kept = ir.FloorDiv(X, const(8), INDEX)
    assert simplify(kept) is kept


def test_bounds():
    bounds = ConstIntBoundAnalyzer()
    assert bounds(X) == ConstIntBound(0, ConstIntBound.kPosInf)
    assert bounds(P).is_everything()
    assert bounds(const(5)).is_const()
    assert bounds(scalar("u", D.UINT8)) == ConstIntBound(0, 255)
    bounds.bind(P, -3, 6)
    assert bounds(ir.Add(ir.Mul(P, const(2, D.INT64), D.INT64), const(1, D.INT64), D.INT64)) == ConstIntBound(-5, 11)
    assert bounds(ir.FloorDiv(P, const(2, D.INT64), D.INT64)) == ConstIntBound(-2, 2)
    assert bounds(ir.FloorMod(P, const(4, D.INT64), D.INT64)) == ConstIntBound(0, 3)
    assert bounds(ir.Abs(P, D.INT64)) == ConstIntBound(0, 5)
    assert bounds(ir.Mul(P, P, D.INT64)) == ConstIntBound(-15, 25)
    bounds.update(P, ConstIntBound(1, 1))
    assert bounds(P).is_positive()
    bounds.unbind(P)
    assert not bounds(P).is_non_negative()
    with pytest.raises(ValueError, match="empty"):
        bounds.bind(P, 3, 3)
    narrow = scalar("s", D.INT8)
    assert bounds(ir.Add(narrow, const(1, D.INT8), D.INT8)) == ConstIntBound(-128, 127), "it may wrap"


def test_residues():
    modular = ModularSetAnalyzer()
    assert modular(X).is_everything()
    assert modular(const(6)).is_exact()
    assert modular(ir.Add(ir.Mul(X, const(8), INDEX), const(3), INDEX)) == ModularSet(8, 3)
    modular.update(X, ModularSet(4, 1))
    assert modular(ir.Mul(X, const(6), INDEX)) == ModularSet(24, 6)
    assert modular(ir.FloorMod(X, const(2), INDEX)) == ModularSet(0, 1)
    modular.unbind(X)
    undo = modular.enter_constraint(ir.Eq(ir.FloorMod(X, const(8), INDEX), const(3), BOOL))
    assert modular(ir.Add(X, const(1), INDEX)) == ModularSet(8, 4)
    undo()
    assert modular(X).is_everything()
    assert ModularSet(-4, 7) == ModularSet(4, 3)


def test_transitive_comparison():
    cmp = TransitiveComparisonAnalyzer()
    assert cmp.try_compare(X, Y) == CompareResult.kUnknown
    assert cmp.try_compare(X, ir.Add(X, const(1), INDEX)) == CompareResult.kLT
    undo = [cmp.enter_constraint(ir.Lt(X, Y, BOOL)), cmp.enter_constraint(ir.Le(Y, Z, BOOL))]
    assert cmp.try_compare(X, Z) == CompareResult.kLT
    assert cmp.try_compare(Z, X) == CompareResult.kGT
    assert cmp.try_compare(X, Z, propagate_inequalities=False) == CompareResult.kUnknown
    assert cmp.try_compare(X, Y, propagate_inequalities=False) == CompareResult.kLT
    for step in reversed(undo):
        step()
    assert cmp.try_compare(X, Z) == CompareResult.kUnknown
    leave = cmp.enter_constraint(ir.Ne(X, Y, BOOL))
    assert cmp.try_compare(X, Y) == CompareResult.kNE
    leave()
    cmp.bind(X, Y)
    assert cmp.try_compare(X, Y) == CompareResult.kEQ
    with pytest.raises(ValueError, match="already bound"):
        cmp.bind(X, Z)
    cmp.bind(X, 3, 8, allow_override=True)
    assert cmp.try_compare(X, const(8)) == CompareResult.kLT
    assert cmp.try_compare(X, const(3)) == CompareResult.kGE
    cmp.unbind(X)
    assert cmp.try_compare(X, const(8)) == CompareResult.kUnknown


def test_symbolic_intervals():
    sets = IntSetAnalyzer()
    sets.bind(X, 0, Y)
    found = sets(ir.Add(ir.Mul(X, const(2), INDEX), Z, INDEX))
    assert text(found.min) == "z"
    expected = ir.Sub(ir.Add(ir.Mul(Y, const(2), INDEX), Z, INDEX), const(2), INDEX)
    assert Analyzer().can_prove_equal(found.max, expected)
    assert sets(Z).is_single_point()
    assert IntSet.everything().is_everything()
    assert IntSet.single_point(X).is_single_point()
    assert IntSet.interval(const(3), const(1)).is_nothing()
    undo = sets.enter_constraint(ir.Lt(Z, const(4), BOOL))
    assert text(sets(Z).max) == "3"
    undo()
    assert sets(Z).is_single_point()
    sets.update(X, None)
    assert sets(X).is_single_point()


def test_analyzer_proofs():
    analyzer = Analyzer()
    analyzer.bind(X, 0, 16)
    assert analyzer.can_prove_less(ir.Mul(X, const(4), INDEX), 61)
    assert not analyzer.can_prove_less(X, 15)
    assert analyzer.can_prove_greater_equal(X, 0)
    assert not analyzer.can_prove_greater_equal(X, 1)
    assert analyzer.can_prove_equal(
        ir.Mul(ir.Add(X, Y, INDEX), const(2), INDEX), ir.Add(ir.Add(X, X, INDEX), ir.Mul(Y, const(2), INDEX), INDEX)
    )
    assert not analyzer.can_prove_equal(X, Y)
    assert text(analyzer.simplify(ir.FloorMod(X, const(16), INDEX))) == "x"
    analyzer.bind(Z, Y)
    assert analyzer.can_prove(ir.Le(Z, Y, BOOL))
    analyzer.unbind(X)
    kept = ir.FloorMod(X, const(16), INDEX)
    assert analyzer.simplify(kept) is kept
    loop = scalar("i")
    analyzer.bind(loop, 0, Y)
    assert analyzer.can_prove(ir.Lt(loop, Y, BOOL))
    with analyzer.constraint_context(ir.Lt(Y, const(10), BOOL)):
        assert analyzer.can_prove(ir.Lt(loop, const(9), BOOL)) or analyzer.can_prove(ir.Lt(loop, const(10), BOOL))


def test_constraints_leave_in_reverse_also_on_errors():
    analyzer = Analyzer()
    goal = ir.Lt(X, const(8), BOOL)

    def interrupted():
        with analyzer.constraint_context(goal):
            with analyzer.constraint_context(ir.Lt(X, const(4), BOOL)):
                assert analyzer.can_prove(ir.Lt(X, const(4), BOOL))
            assert not analyzer.can_prove(ir.Lt(X, const(4), BOOL))
            assert analyzer.can_prove(goal)
            raise RuntimeError("out")

    with pytest.raises(RuntimeError, match="out"):
        interrupted()
    assert not analyzer.can_prove(goal)
    context = ConstraintContext(analyzer, goal)
    assert analyzer.can_prove(goal)
    context.exit_scope()
    context.exit_scope()
    assert not analyzer.can_prove(goal)


def test_a_contradictory_condition_does_no_harm():
    analyzer = Analyzer()
    with analyzer.constraint_context(ir.And(ir.Lt(X, const(2), BOOL), ir.Gt(X, const(9), BOOL), BOOL)):
        analyzer.simplify(ir.Add(X, const(1), INDEX))
        bound = analyzer.const_int_bound(X)
    assert bound.min_value <= bound.max_value


def test_the_element_type_of_the_result_is_kept():
    node = ir.Add(X, const(0), D.INT64)
    assert Analyzer().simplify(node).type is node.type
    folded = Analyzer().simplify(ir.Sub(P, P, D.INT64))
    assert folded.dtype is D.INT64
    assert CompareResult.kLE == CompareResult.kLT | CompareResult.kEQ
