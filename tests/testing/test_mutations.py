"""The checks notice every change: one field of a pass result is corrupted, and comparison, text and round trip must all see it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pypto import ir
from pypto.diagnostics import Error
from pypto.ir.expr import EMPTY
from pypto.ir.function import Function, Program
from pypto.parser import parse
from pypto.passes import PassManager
from pypto.printer import python_print
from pypto.testing import assert_roundtrip
from pypto.testing.generation import RunnableAuthor

Replacement = Callable[[Any], Any]
"""A changed copy of a node, None where there is nothing to change."""


class _Replace(ir.IRMutator):
    """Puts another node in the place of one."""

    def __init__(self, old: Any, new: Any) -> None:
        self.old = old
        self.new = new

    def visit_expr(self, op: ir.Expr) -> ir.Expr:
        return self.new if op is self.old else super().visit_expr(op)

    def visit_stmt(self, op: ir.Stmt) -> ir.Stmt:
        return self.new if op is self.old else super().visit_stmt(op)


def other_dtype(dtype: ir.DataType) -> ir.DataType:
    return {ir.FP32: ir.FP16, ir.INT32: ir.INT64, ir.BOOL: ir.INT8}.get(dtype, ir.INT32)


def with_dtype(type_: ir.Type) -> ir.Type | None:
    if isinstance(type_, ir.ScalarType):
        return ir.ScalarType(other_dtype(type_.dtype))
    if isinstance(type_, ir.TileType):
        return ir.TileType(type_.shape, other_dtype(type_.dtype), type_.memref, type_.tile_view, type_.memory_space)
    return (
        ir.TensorType(type_.shape, other_dtype(type_.dtype), type_.memref, type_.tensor_view)
        if type(type_) is ir.TensorType
        else None
    )


def with_dim(type_: ir.Type) -> ir.Type | None:
    if isinstance(type_, ir.TileType):
        return ir.TileType([*type_.shape[:-1], 48], type_.dtype, type_.memref, None, type_.memory_space)
    return ir.TensorType([*type_.shape[:-1], 48], type_.dtype) if type(type_) is ir.TensorType else None


def of_call(change: Callable[[ir.Type], ir.Type | None]) -> Replacement:
    def replaced(node: Any) -> Any:
        type_ = change(node.type) if isinstance(node, ir.Call) else None
        return None if type_ is None else node.replace(type=type_)

    return replaced


def of_variable(change: Callable[[ir.Type], ir.Type | None]) -> Replacement:
    def replaced(node: Any) -> Any:
        type_ = change(node.var.type) if isinstance(node, ir.AssignStmt) else None
        return None if type_ is None else node.replace(var=ir.Var(node.var.name_hint, type_))

    return replaced


def constant(node: Any) -> Any:
    if isinstance(node, ir.ConstInt | ir.ConstFloat):
        return node.replace(value=node.value + 1)
    return node.replace(value=not node.value) if isinstance(node, ir.ConstBool) else None


def constant_dtype(node: Any) -> Any:
    if type(node) is ir.ConstInt:
        return ir.ConstInt(node.value, ir.INT16)
    return ir.ConstFloat(node.value, ir.BF16) if type(node) is ir.ConstFloat else None


def negative_zero(node: Any) -> Any:
    return node.replace(value=-0.0) if type(node) is ir.ConstFloat and str(node.value) == "0.0" else None


def operator(node: Any) -> Any:
    if isinstance(node, ir.BinaryExpr):
        kind = ir.Sub if type(node) is not ir.Sub else ir.Max
        return kind(node.left, node.right, node.dtype, node.span)
    if isinstance(node, ir.Call) and not node.op.is_function:
        return node.replace(op=ir.get_op("tile.neg" if node.op.name != "tile.neg" else "tile.abs"))
    return None


def callee(node: Any) -> Any:
    return node.replace(op=ir.GlobalVar("somebody_else")) if isinstance(node, ir.Call) and node.op.is_function else None


def operands(node: Any) -> Any:
    if isinstance(node, ir.BinaryExpr) and node.left is not node.right and not ir.structural_equal(node.left, node.right):
        return type(node)(node.right, node.left, node.dtype, node.span)
    return node.replace(args=node.args[:-1]) if isinstance(node, ir.Call) and node.args and not node.attrs else None


def attribute(node: Any) -> Any:
    return node.replace(attrs={**node.attrs, "extra": 1}) if isinstance(node, ir.Call | ir.ForStmt | ir.ScopeStmt) else None


def attribute_kind(node: Any) -> Any:
    """A truth value in place of a number: equal for Python, not for us."""
    changed = {k: bool(v) for k, v in getattr(node, "attrs", EMPTY).items() if type(v) is int and v in (0, 1)}
    return node.replace(attrs={**node.attrs, **changed}) if changed else None


def keyword(node: Any) -> Any:
    if not isinstance(node, ir.Call) or not node.kwargs:
        return None
    key, value = next(iter(node.kwargs.items()))
    changed: Any = {ir.DataType: ir.UINT16, bool: not value, int: 5}.get(type(value), ir.MemorySpace.Mat)
    return None if value == changed else node.replace(kwargs={**node.kwargs, key: changed})


def missing_keyword(node: Any) -> Any:
    return node.replace(kwargs=EMPTY) if isinstance(node, ir.Call) and node.kwargs else None


def yield_arity(node: Any) -> Any:
    return (
        node.replace(value=[*node.value, node.value[-1]])
        if isinstance(node, ir.YieldStmt | ir.ReturnStmt) and node.value
        else None
    )


def yield_order(node: Any) -> Any:
    several = isinstance(node, ir.YieldStmt | ir.ReturnStmt) and len(node.value) > 1 and node.value[0] is not node.value[-1]
    if not several or ir.structural_equal(node.value[0], node.value[-1]):
        return None
    return node.replace(value=[node.value[-1], *node.value[1:-1], node.value[0]])


def comment(node: Any) -> Any:
    if not isinstance(node, ir.Stmt) or isinstance(node, ir.SeqStmts):
        return None
    return node.replace(leading_comments=[*node.leading_comments, "another"])


def comment_at_the_end(node: Any) -> Any:
    return node.replace(trailing_comments=["another"]) if isinstance(node, ir.SeqStmts) else None


def lost_statement(node: Any) -> Any:
    return node.replace(stmts=node.stmts[1:]) if isinstance(node, ir.SeqStmts) and len(node.stmts) > 2 else None


def swapped_statements(node: Any) -> Any:
    """Two comparable statements in the other order."""
    if not isinstance(node, ir.SeqStmts) or len(node.stmts) < 3:
        return None
    first, second, *rest = node.stmts
    return node.replace(stmts=[second, first, *rest])


def loop(node: Any) -> Any:
    return (
        node.replace(kind=ir.ForKind.Parallel if node.kind is ir.ForKind.Sequential else ir.ForKind.Sequential)
        if isinstance(node, ir.ForStmt)
        else None
    )


def loop_bound(node: Any) -> Any:
    return node.replace(step=ir.index_const(77)) if isinstance(node, ir.ForStmt) else None


def branches(node: Any) -> Any:
    swapped = (
        isinstance(node, ir.IfStmt)
        and node.else_body is not None
        and not ir.structural_equal(node.then_body, node.else_body, True)
    )
    return node.replace(then_body=node.else_body, else_body=node.then_body) if swapped else None


def another_variable(node: Any) -> Any:
    """A use of another variable of the same type: the text may look alike."""
    if not isinstance(node, ir.Call) or len(node.args) < 1 or not isinstance(node.args[0], ir.Var):
        return None
    var = node.args[0]
    return node.replace(args=[ir.Var(var.name_hint, var.type), *node.args[1:]])


INSIDE: dict[str, Replacement] = {
    "dtype of a call": of_call(with_dtype),
    "dtype of a variable": of_variable(with_dtype),
    "dimension of a call": of_call(with_dim),
    "dimension of a variable": of_variable(with_dim),
    "constant": constant,
    "dtype of a constant": constant_dtype,
    "sign of zero": negative_zero,
    "operator": operator,
    "callee": callee,
    "operands": operands,
    "attribute": attribute,
    "kind of an attribute": attribute_kind,
    "keyword": keyword,
    "missing keyword": missing_keyword,
    "yield arity": yield_arity,
    "yield order": yield_order,
    "comment": comment,
    "comment at the end": comment_at_the_end,
    "lost statement": lost_statement,
    "swapped statements": swapped_statements,
    "kind of a loop": loop,
    "bound of a loop": loop_bound,
    "branches": branches,
    "another variable": another_variable,
}
ONLY_STRICT = frozenset(("sign of zero", "comment", "comment at the end"))
OF_FUNCTION: dict[str, Callable[[Function], Function | None]] = {
    "function type": lambda f: f.replace(
        func_type=ir.FunctionType.Inline if f.func_type is not ir.FunctionType.Inline else ir.FunctionType.Opaque
    ),
    "function attribute": lambda f: f.replace(attrs={**f.attrs, "extra": "text"}),
    "split": lambda f: f.replace(attrs={**f.attrs, "split": 0}),
    "direction": lambda f: f.replace(param_directions=[ir.ParamDirection.InOut, *f.param_directions[1:]]) if f.params else None,
    "level": lambda f: f.replace(level=ir.Level.POD),
    "result types": lambda f: f.replace(return_types=[*f.return_types, ir.ScalarType(ir.UINT8)]),
    "parameter lost": lambda f: f.replace(params=f.params[1:], param_directions=f.param_directions[1:]) if f.params else None,
    "parameter order": lambda f: (
        f.replace(params=[*reversed(f.params)]) if len(f.params) > 1 and f.params[0].type != f.params[-1].type else None
    ),
    "runtime binding": lambda f: f.replace(requires_runtime_binding=not f.requires_runtime_binding, body=ir.SeqStmts([])),
}


def mutations(program: Program, rng: random.Random) -> Iterator[tuple[str, Program]]:
    """Programs that differ in one field, a name for each."""
    for function in program.functions.values():
        others = [f for f in program.functions.values() if f is not function]
        nodes = list(ir.walk(function.body))
        rng.shuffle(nodes)
        for name, change in INSIDE.items():
            for node in nodes:
                changed = change(node)
                body = function.body if changed is None else _Replace(node, changed).visit_stmt(function.body)
                if body is not function.body:
                    yield name, Program([*others, function.replace(body=body)], program.name)
                    break
        for name, of_function in OF_FUNCTION.items():
            made = of_function(function)
            if made is not None:
                yield name, Program([*others, made], program.name)


def round_trip_pair(program: Program, other: Program) -> bool:
    """Whether the text of one passes for the other: what a check after a pass would accept."""
    try:
        again = parse(python_print(other, format=False), "<printed>")
        ir.assert_structural_equal(program, again, strict=True)
    except (Error, ValueError):
        return False
    return True


WRITTEN = """
# pypto.program: Written
import pypto.language as pl


@pl.program
class Written:
    @pl.function
    def scale(self, x: pl.Tensor[[16, 16], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 16], pl.FP32]:
        y = pl.maximum(x, 0.0, attrs={"count": 1, "flag": True})
        z = pl.mul(y, 2.0)
        for i in pl.range(n, attrs={"k": 0}):
            z = pl.add(z, y)
        return z
"""


def stages() -> Iterator[tuple[str, Program]]:
    written = parse(WRITTEN)
    assert isinstance(written, Program)
    yield "written", written
    for seed in range(3):
        program = RunnableAuthor(random.Random(seed)).program()
        yield f"{seed}: as written", program
        for step in PassManager.get_strategy().passes:
            after = step(program)
            if after is not program:
                yield f"{seed}: {step.get_name()}", after
            program = after


def test_no_mutation_survives() -> None:
    survived: list[tuple[str, str, str]] = []
    tried: dict[str, int] = {}
    for at, (stage, program) in enumerate(stages()):
        text = python_print(program)
        assert round_trip_pair(program, program), stage
        for name, broken in mutations(program, random.Random(at)):
            tried[name] = tried.get(name, 0) + 1
            if ir.structural_equal(program, broken, strict=True) or ir.structural_equal(broken, program, strict=True):
                survived.append((stage, name, "comparison"))
            if ir.structural_equal(program, broken) and name not in ONLY_STRICT:
                survived.append((stage, name, "ordinary comparison"))
            if python_print(broken) == text and name != "another variable":
                survived.append((stage, name, "text"))
            if round_trip_pair(program, broken):
                survived.append((stage, name, "round trip"))
            with pytest.raises(ir.StructuralDifference, match="Reason: "):
                ir.assert_structural_equal(program, broken, strict=True)
    assert survived == []
    assert set(tried) == {*INSIDE, *OF_FUNCTION}
    assert sum(tried.values()) > 500


def test_what_a_pass_breaks_is_not_excused_by_its_message() -> None:
    """The round trip compares trees; there is no list of messages that it lets pass."""
    program = next(p for _, p in stages())
    for name, broken in mutations(program, random.Random(0)):
        if name in ("dimension of a call", "dtype of a call", "another variable"):
            with pytest.raises(AssertionError):
                assert_equal_after_round_trip(program, broken)


def assert_equal_after_round_trip(program: Program, broken: Program) -> None:
    assert_roundtrip(broken)
    assert round_trip_pair(program, broken)
