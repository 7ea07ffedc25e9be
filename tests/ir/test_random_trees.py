"""Random programs: a copy is equal and hashes alike, a changed copy is not, and report and comparison agree."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pypto import ir
from pypto.ir.node import FieldKind, Node, walk
from pypto.ir.span import UNKNOWN
from tests.ir.samples import BINARY, INDEX, UNARY, everything, var

DTYPES = [ir.INDEX, ir.INT64, ir.INT32, ir.FP32, ir.BOOL]


def random_expr(rng: random.Random, known: list[ir.Var], depth: int) -> ir.Expr:
    choice = rng.randrange(7 if depth else 4)
    if choice < 2 and known:
        return rng.choice(known)
    if choice <= 2:
        return ir.ConstInt(rng.randrange(4), rng.choice(DTYPES[:3]), UNKNOWN)
    if choice == 3:
        return ir.ConstFloat(rng.choice([0.0, -0.0, 1.5, float("nan")]), ir.FP32, UNKNOWN)
    if choice == 4:
        return rng.choice(UNARY)(random_expr(rng, known, depth - 1), rng.choice(DTYPES), UNKNOWN)
    if choice == 5:
        kwargs = {name: rng.choice([1, True, 0.5, "s", ir.FP32]) for name in "ab" if rng.random() < 0.5}
        args = [random_expr(rng, known, depth - 1) for _ in range(rng.randrange(3))]
        type_ = ir.TensorType([rng.choice([*known, 4]), 2], ir.FP32) if known else INDEX
        return ir.Call(ir.Op(rng.choice(["tile.a", "tile.b"])), args, kwargs, type_, UNKNOWN)
    left, right = random_expr(rng, known, depth - 1), random_expr(rng, known, depth - 1)
    return rng.choice(BINARY)(left, right, rng.choice(DTYPES), UNKNOWN)


def random_body(rng: random.Random, known: list[ir.Var], depth: int) -> ir.Stmt:
    stmts: list[ir.Stmt] = []
    known = [*known]
    for _ in range(rng.randrange(1, 4)):
        choice = rng.randrange(4 if depth else 2)
        if choice == 0:
            new = var(rng.choice("xyz"), ir.TensorType([rng.choice(known), 4], ir.FP32) if rng.random() < 0.3 else INDEX)
            stmts.append(ir.AssignStmt(new, random_expr(rng, known, 3), UNKNOWN))
            known.append(new)
        elif choice == 1:
            stmts.append(ir.EvalStmt(random_expr(rng, known, 3), UNKNOWN))
        elif choice == 2:
            acc, i, r = ir.IterArg("acc", INDEX, rng.choice(known), UNKNOWN), var("i"), var("r")
            inner = random_body(rng, [*known, acc, i], depth - 1)
            stmts.append(ir.ForStmt(i, 0, random_expr(rng, known, 1), 1, [acc], inner, [r], UNKNOWN))
            known.append(r)
        else:
            then, other = random_body(rng, known, depth - 1), random_body(rng, known, depth - 1)
            stmts.append(ir.IfStmt(random_expr(rng, known, 2), then, other if rng.random() < 0.5 else None, [], UNKNOWN))
    return ir.SeqStmts(stmts, UNKNOWN)


def random_function(seed: int) -> ir.Function:
    rng = random.Random(seed)
    n, x = var("n"), var("x")
    a = var("a", ir.TensorType([n, x], ir.FP32))
    return ir.Function("f", [n, x, a], [a.type], random_body(rng, [n, x, a], 2), UNKNOWN)


SEEDS = st.integers(0, 1 << 32)


@settings(max_examples=150, deadline=None)
@given(SEEDS)
def test_copies_are_equal_and_hash_alike(seed: int) -> None:
    made = random_function(seed)
    again, (clone, _), stored = random_function(seed), ir.deep_clone(made), ir.deserialize(ir.serialize(made))
    for copy in (again, clone, stored):
        for strict in (False, True):
            ir.assert_structural_equal(made, copy, strict=strict)
            assert ir.structural_equal(copy, made, strict=strict)
        assert ir.structural_hash(made) == ir.structural_hash(copy)
        assert ir.structural_hash(made, True) == ir.structural_hash(copy, True)
    assert ir.IRMutator().visit_function(made) is made


@settings(max_examples=150, deadline=None)
@given(SEEDS, SEEDS)
def test_comparison_hash_and_report_agree(first: int, second: int) -> None:
    left, right = random_function(first), random_function(second)
    for auto in (False, True):
        equal = ir.structural_equal(left, right, auto)
        assert ir.structural_equal(right, left, auto) is equal
        if equal:
            assert ir.structural_hash(left, auto) == ir.structural_hash(right, auto)
        else:
            with pytest.raises(ir.StructuralDifference, match="Reason: "):
                ir.assert_structural_equal(left, right, auto)


class ChangeOne(ir.IRMutator):
    """Changes one field of the node at a given place of the walk."""

    def __init__(self, target: Node) -> None:
        self.target = target

    def visit_expr(self, op: ir.Expr) -> ir.Expr:
        if op is self.target:
            if isinstance(op, ir.ConstInt):
                return ir.ConstInt(op.value + 10, op.dtype, UNKNOWN)
            if isinstance(op, ir.Call):
                return ir.Call(ir.Op("tile.other"), op.args, op.kwargs, op.type, UNKNOWN)
            if isinstance(op, ir.BinaryExpr):
                return (ir.Add if type(op) is not ir.Add else ir.Sub)(op.left, op.right, op.dtype, UNKNOWN)
        return super().visit_expr(op)


@settings(max_examples=150, deadline=None)
@given(SEEDS, st.integers(0, 1 << 16))
def test_a_changed_expression_is_seen(seed: int, pick: int) -> None:
    made = random_function(seed)
    kinds = (ir.ConstInt, ir.Call, ir.BinaryExpr)
    targets = [node for node in walk(made.body) if isinstance(node, kinds)]
    if not targets:
        return
    changed = ChangeOne(targets[pick % len(targets)]).visit_function(made)
    if changed is made:
        return
    assert not ir.structural_equal(made, changed)
    assert ir.structural_hash(made) != ir.structural_hash(changed)
    with pytest.raises(ir.StructuralDifference, match="Reason: "):
        ir.assert_structural_equal(made, changed)


CHANGES = {
    FieldKind.DATA: lambda value: not value if isinstance(value, bool) else f"{value}!" if isinstance(value, str) else None,
    FieldKind.EXPRS: lambda value: [*value, ir.index_const(99)],
    FieldKind.EXPR: lambda value: ir.ConstFloat(123.0, ir.FP16),
    FieldKind.OPTIONAL_EXPR: lambda value: ir.index_const(99) if value is None else None,
    FieldKind.ATTRS: lambda value: {**value, "extra": 1},
    FieldKind.OP: lambda value: ir.Op("tile.other"),
    FieldKind.TYPE: lambda value: ir.TileType([7], ir.FP16),
    FieldKind.TYPES: lambda value: [*value, INDEX],
    FieldKind.OPTIONAL_STMT: lambda value: ir.ReturnStmt([]) if value is None else None,
    FieldKind.STMT: lambda value: ir.ReturnStmt([ir.index_const(99)]),
    FieldKind.STMTS: lambda value: [*value, ir.BreakStmt()],
    FieldKind.DEF: lambda value: ir.Var("v", ir.TileType([7], ir.FP16)),
    FieldKind.DEFS: lambda value: [*value, ir.Var("v", INDEX)],
    FieldKind.VARS: lambda value: [*value, ir.WindowBuffer(ir.Var("v", ir.PtrType()), ir.index_const(1))],
}


def test_every_compared_field_of_every_kind_counts() -> None:
    seen: set[str] = set()
    for node in walk(everything()["main"]):
        if type(node).__name__ in seen or isinstance(node, ir.Var):
            continue
        seen.add(type(node).__name__)
        for field in type(node).FIELDS:
            value = getattr(node, field.name)
            changed = CHANGES[field.kind](value)
            if not field.compared or (field.kind is FieldKind.DATA and changed is None):
                continue
            other = node.replace(**{field.name: changed})
            assert not ir.structural_equal(node, other), (type(node).__name__, field.name)
            assert not ir.structural_equal(other, node), (type(node).__name__, field.name)
            with pytest.raises(ir.StructuralDifference, match="Reason: "):
                ir.assert_structural_equal(node, other)
    assert len(seen) > 50
