"""Simplified expressions have the values of the original ones: random trees of every integer kind, and the known traps."""

import itertools
import os
import random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pypto import ir
from pypto.ir.arith import Analyzer, CanonicalSimplifier, ConstIntBoundAnalyzer, ModularSetAnalyzer, RewriteSimplifier
from tests.ir.arith.scalar_reference import ROOM, Undefined, const, evaluate, scalar

ARITHMETIC = [ir.Add, ir.Sub, ir.Mul, ir.FloorDiv, ir.FloorMod, ir.Min, ir.Max]
BITS = [ir.BitAnd, ir.BitOr, ir.BitXor, ir.BitShiftLeft, ir.BitShiftRight, ir.Pow]
COMPARE = [ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt, ir.Ge]
BOOL = ir.DataType.BOOL
WIDE = [ir.DataType.INDEX, ir.DataType.INT64]
NARROW = [ir.DataType.INT8, ir.DataType.UINT8, ir.DataType.INT32, ir.DataType.UINT16, ir.DataType.UINT64]


def integers(dtype, variables, consts):
    leaves = st.one_of(st.sampled_from(variables), consts.map(lambda v: const(v, dtype)))

    def grow(inner):
        return st.one_of(
            st.builds(lambda k, a, b: k(a, b, dtype), st.sampled_from(ARITHMETIC), inner, inner),
            st.builds(lambda k, a, v: k(a, const(v, dtype), dtype), st.sampled_from(ARITHMETIC), inner, consts),
            st.builds(lambda k, a, b: k(a, b, dtype), st.sampled_from(BITS), inner, inner),
            st.builds(lambda k, a: k(a, dtype), st.sampled_from([ir.Neg, ir.Abs, ir.BitNot]), inner),
        )

    return st.recursive(leaves, grow, max_leaves=9)


def conditions(numbers):
    base = st.builds(lambda k, a, b: k(a, b, BOOL), st.sampled_from(COMPARE), numbers, numbers)
    return st.recursive(
        base,
        lambda inner: st.one_of(
            st.builds(lambda k, a, b: k(a, b, BOOL), st.sampled_from([ir.And, ir.Or, ir.Xor]), inner, inner),
            st.builds(lambda a: ir.Not(a, BOOL), inner),
        ),
        max_leaves=4,
    )


X, N = scalar("x"), scalar("n")
P, Q = scalar("p", ir.DataType.INT64), scalar("q", ir.DataType.INT64)
SMALL = st.one_of(st.integers(0, 9), st.sampled_from([12, 16, 32, 64]))
SIGNED = st.one_of(st.integers(-9, 9), st.sampled_from([-32, -16, 16, 32, 1 << 40, (1 << 63) - 1, -(1 << 63)]))
INDEX_TREES = integers(ir.DataType.INDEX, [X, N], SMALL)
INT64_TREES = integers(ir.DataType.INT64, [P, Q], SIGNED)
INDEX_POINTS = [{X: x, N: n} for x, n in itertools.product([0, 1, 2, 3, 5, 7, 8, 31, 33, 64, 1000], [0, 1, 2, 5, 8, 16])]
INT64_POINTS = [{P: p, Q: q} for p, q in itertools.product([-64, -33, -8, -7, -1, 0, 1, 2, 5, 8, 63, 64], [-5, -1, 0, 3, 4, 16])]


def same_everywhere(expr, points, simplify):
    result = simplify(expr)
    assert result.type is expr.type
    assert simplify(result) is result, "not idempotent"
    for env in points:
        try:
            wanted = evaluate(expr, env, ROOM)
        except Undefined:
            continue
        assert evaluate(result, env) == wanted, (expr, env)


EXAMPLES = 5000 if os.environ.get("PYPTO_FUZZ") else 150
quick = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@quick
@given(st.one_of(INDEX_TREES, conditions(INDEX_TREES)))
def test_index_trees(expr):
    same_everywhere(expr, INDEX_POINTS, Analyzer().simplify)


@quick
@given(st.one_of(INT64_TREES, conditions(INT64_TREES)))
def test_int64_trees(expr):
    same_everywhere(expr, INT64_POINTS, Analyzer().simplify)


@quick
@given(st.one_of(INT64_TREES, conditions(INT64_TREES)), st.sampled_from([RewriteSimplifier, CanonicalSimplifier]))
def test_each_simplifier_alone(expr, kind):
    same_everywhere(expr, INT64_POINTS, kind())


@quick
@given(st.data(), st.sampled_from(NARROW))
def test_narrow_and_unsigned_arithmetic_wraps(data, dtype):
    a, b = scalar("a", dtype), scalar("b", dtype)
    low, high = (
        (0, (1 << dtype.get_bit()) - 1)
        if dtype.is_unsigned_int()
        else (-(1 << dtype.get_bit() - 1), (1 << dtype.get_bit() - 1) - 1)
    )
    consts = st.sampled_from([v for v in (low, low + 1, -3, -1, 0, 1, 2, 3, 4, 8, 100, high // 2 + 1, high) if low <= v <= high])
    trees = integers(dtype, [a, b], consts)
    wider = st.builds(lambda e: ir.Cast(e, ir.DataType.INT64), trees)
    expr = data.draw(st.one_of(trees, conditions(trees), wider, st.builds(lambda e: ir.Cast(e, ir.DataType.INT8), wider)))
    values = sorted(
        {v for v in (low, low + 1, -5, -1, 0, 1, 2, 3, 7, 8, high // 2, high // 2 + 1, high - 1, high) if low <= v <= high}
    )
    same_everywhere(expr, [{a: x, b: y} for x in values for y in values], Analyzer().simplify)


@quick
@given(INT64_TREES, conditions(INT64_TREES))
def test_constraints_only_matter_where_they_hold(expr, condition):
    analyzer = Analyzer()
    target = ir.And(ir.Lt(expr, const(5, ir.DataType.INT64), BOOL), ir.Ne(expr, P, BOOL), BOOL)
    with analyzer.constraint_context(condition):
        results = [analyzer.simplify(expr), analyzer.simplify(target)]
    for env in INT64_POINTS:
        try:
            if not evaluate(condition, env, ROOM):
                continue
            wanted = [evaluate(expr, env, ROOM), evaluate(target, env, ROOM)]
        except Undefined:
            continue
        assert [evaluate(r, env) for r in results] == wanted
    assert analyzer.rewrite_simplify.known.truths == {}


@quick
@given(INT64_TREES)
def test_bounds_and_residues_hold(expr):
    bounds, modular = ConstIntBoundAnalyzer(), ModularSetAnalyzer()
    bounds.bind(P, -64, 65)
    bounds.bind(Q, -5, 17)
    bound, residue = bounds(expr), modular(expr)
    for env in INT64_POINTS:
        try:
            value = evaluate(expr, env)
        except Undefined:
            continue
        assert bound.min_value <= max(value, bound.kNegInf)
        assert min(value, bound.kPosInf) <= bound.max_value
        assert value == residue.base if residue.coeff == 0 else value % residue.coeff == residue.base


@quick
@given(conditions(INT64_TREES), conditions(INT64_TREES))
def test_what_is_proven_is_true(condition, goal):
    analyzer = Analyzer()
    analyzer.bind(P, -64, 65)
    analyzer.bind(Q, -5, 17)
    with analyzer.constraint_context(condition):
        proven = analyzer.can_prove(goal)
    if not proven:
        return
    for env in INT64_POINTS:
        try:
            holds = evaluate(condition, env, ROOM) and not evaluate(goal, env, ROOM)
        except Undefined:
            continue
        assert not holds, env


def test_nested_modulo_that_does_not_nest_stays():
    simplify = Analyzer().simplify
    kept = ir.FloorMod(ir.FloorMod(X, const(32), ir.INDEX), const(5), ir.INDEX)
    assert simplify(kept) is kept
    nested = simplify(ir.FloorMod(ir.FloorMod(X, const(32), ir.INDEX), const(8), ir.INDEX))
    assert isinstance(nested, ir.FloorMod)
    assert nested.left is X
    assert nested.right.value == 8


def test_index_expression_of_the_fault_catalogue():
    x, n = scalar("x", ir.DataType.INT64), scalar("n", ir.DataType.INT64)
    I = ir.DataType.INT64

    def c(v):
        return const(v, I)

    a = ir.FloorMod(ir.FloorMod(x, c(32), I), c(5), I)
    b = ir.Add(ir.Mul(ir.FloorDiv(x, c(6), I), c(6), I), ir.FloorMod(x, c(6), I), I)
    d = ir.FloorDiv(ir.Add(ir.Mul(x, c(4), I), c(3), I), c(4), I)
    e = ir.Sub(ir.Min(x, c(7), I), ir.Max(ir.Sub(c(0), x, I), ir.Sub(c(0), c(7), I), I), I)
    f = ir.Sub(ir.FloorDiv(ir.Add(x, n, I), c(8), I), ir.FloorDiv(x, c(8), I), I)
    ten = c(10)
    whole = ir.Add(ir.Add(ir.Mul(ir.Add(ir.Mul(ir.Add(ir.Mul(a, ten, I), b, I), ten, I), d, I), ten, I), e, I), f, I)
    result = Analyzer().simplify(whole)
    for xv, nv in itertools.product(range(-64, 65), range(17)):
        assert evaluate(result, {x: xv, n: nv}) == evaluate(whole, {x: xv, n: nv})
    assert Analyzer().simplify(b) is x
    assert Analyzer().simplify(d) is x


@pytest.mark.parametrize("kind", [ir.Add, ir.Min, ir.And, ir.Mul])
def test_long_chains_take_no_recursion_and_linear_time(kind):
    rng = random.Random(7)
    variables = [scalar(f"v{i}") for i in range(10)]
    dtype = BOOL if kind is ir.And else ir.INDEX

    def term():
        v = rng.choice(variables)
        return ir.Lt(v, const(rng.randrange(100)), BOOL) if kind is ir.And else v

    expr = term()
    for _ in range(20_000):
        expr = kind(expr, term(), dtype)
    result = Analyzer().simplify(expr)
    size, stack = 0, [result]
    while stack:
        node = stack.pop()
        size += 1
        stack.extend([node.left, node.right] if isinstance(node, ir.BinaryExpr) else [])
    if kind is ir.Add:
        assert size <= 39, "ten terms with their coefficients"
    else:
        assert size <= 60_001


def test_a_doubling_dag_is_collected_once():
    expr = X
    for _ in range(40):
        expr = ir.Add(expr, expr, ir.INDEX)
    result = Analyzer().simplify(expr)
    assert isinstance(result, ir.Mul)
    assert result.right.value == 1 << 40
