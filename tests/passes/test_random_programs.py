"""Random scalar programs mean the same after every generic pass, and are in the form that the pass promises."""

from __future__ import annotations

import random

import pytest
from scalar_reference import defined_once_and_dominated, has_nested_call, outcome

from pypto import ir, passes
from pypto.ir import scalar
from pypto.ir.verify import verify

INDEX = ir.ScalarType(ir.DataType.INDEX)
BOOL = ir.DataType.BOOL


class Author:
    """Writes a function over the names a..d (each always assigned before it is read), with loops, jumps, branches and calls."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.vars = {name: ir.Var(name, INDEX) for name in "abcd"}
        self.loops = 0
        self.temporaries = 0

    def leaf(self) -> ir.Expr:
        if self.random.random() < 0.6:
            return self.random.choice(list(self.vars.values()))
        return ir.ConstInt(self.random.randint(-2, 3), ir.DataType.INDEX)

    def call(self, depth: int) -> ir.Expr:
        args = [self.expr(depth - 1) for _ in range(self.random.randint(1, 2))]
        return ir.Call(ir.Op("test.call"), args, INDEX)

    def expr(self, depth: int = 2) -> ir.Expr:
        pick = self.random.random()
        if depth == 0 or pick < 0.25:
            return self.leaf()
        if pick < 0.45:
            return self.call(depth)
        if pick < 0.6:
            return ir.Call(ir.GlobalVar("helper"), [self.leaf(), self.expr(depth - 1)], INDEX)
        kind = self.random.choice([ir.Add, ir.Sub, ir.Min, ir.Max])
        return kind(self.expr(depth - 1), self.expr(depth - 1), ir.DataType.INDEX)

    def condition(self) -> ir.Expr:
        kind = self.random.choice([ir.Lt, ir.Ge, ir.Eq])
        first = kind(self.expr(1), self.expr(1), BOOL)
        if self.random.random() < 0.3:
            group = self.random.choice([ir.And, ir.Or])
            return group(first, ir.Gt(self.expr(1), self.leaf(), BOOL), BOOL)
        return first

    def block(self, depth: int, in_loop: bool) -> ir.Stmt:
        count = self.random.randint(0, 4)
        stmts = [self.stmt(depth, in_loop) for _ in range(count)]
        return ir.body_of(stmts)

    def stmt(self, depth: int, in_loop: bool) -> ir.Stmt:
        pick = self.random.random()
        if in_loop and pick < 0.12:
            return self.random.choice([ir.BreakStmt, ir.ContinueStmt])()
        if depth == 0 or pick < 0.5:
            if self.random.random() < 0.15:
                return ir.EvalStmt(self.call(2))
            target = self.random.choice(list(self.vars.values()))
            return ir.AssignStmt(target, scalar.mod(self.expr(), ir.ConstInt(17, ir.DataType.INDEX)))
        if pick < 0.72:
            other = self.block(depth - 1, in_loop) if self.random.random() < 0.6 else None
            return ir.IfStmt(self.condition(), self.block(depth - 1, in_loop), other, [])
        if pick < 0.78:
            return ir.RuntimeScopeStmt(body=self.block(depth - 1, in_loop))
        if pick < 0.92:
            return self.for_loop(depth)
        return self.while_loop(depth)

    def for_loop(self, depth: int) -> ir.Stmt:
        self.loops += 1
        loop_var = ir.Var(f"i{self.loops}", INDEX)
        step = self.random.choice([1, 2, -1, -2])
        start, stop = (0, 3) if step > 0 else (3, 0)
        unroll = self.random.random() < 0.2
        bound: ir.Expr = ir.ConstInt(stop, ir.DataType.INDEX)
        if not unroll and self.random.random() < 0.4:
            bound = scalar.mod(self.leaf(), ir.ConstInt(3, ir.DataType.INDEX))
        kind = ir.ForKind.Unroll if unroll else ir.ForKind.Sequential
        self.vars[f"i{self.loops}"] = loop_var
        name = f"i{self.loops}"
        body = self.block(depth - 1, not unroll)
        reads = list(self.vars)
        assert name in reads
        del self.vars[name]
        return ir.ForStmt(loop_var, start, bound, step, [], body, [], kind=kind)

    def while_loop(self, depth: int) -> ir.Stmt:
        self.loops += 1
        fuel = ir.Var(f"fuel{self.loops}", INDEX)
        check = ir.And(scalar.lt(fuel, ir.ConstInt(3, ir.DataType.INDEX)), self.condition(), BOOL)
        advance = ir.AssignStmt(fuel, scalar.add(fuel, ir.ConstInt(1, ir.DataType.INDEX)))
        body = ir.body_of([advance, self.block(depth - 1, True)])
        return ir.SeqStmts([ir.AssignStmt(fuel, ir.ConstInt(0, ir.DataType.INDEX)), ir.WhileStmt(check, [], body, [])])

    def program(self) -> ir.Program:
        a, b, c, d = self.vars.values()
        params = [a, b]
        first = [ir.AssignStmt(c, a), ir.AssignStmt(d, b)]
        whole = [*first, *[self.stmt(3, False) for _ in range(6)]]
        total = scalar.add(scalar.add(a, b), scalar.add(c, d))
        main = ir.Function("main", params, [INDEX], ir.body_of([*whole, ir.ReturnStmt([total, self.expr()])]))
        return ir.Program([main, helper()], "Random")


def helper() -> ir.Function:
    n, k = ir.Var("a", INDEX), ir.Var("k", INDEX)
    one = ir.ConstInt(1, ir.DataType.INDEX)
    body = ir.SeqStmts(
        [
            ir.AssignStmt(n, scalar.add(n, one)),
            ir.AssignStmt(k, scalar.mul(n, k)),
            ir.IfStmt(scalar.gt(k, one), ir.AssignStmt(n, ir.Call(ir.Op("test.inner"), [n], INDEX)), None, []),
            ir.ReturnStmt([scalar.sub(k, n)]),
        ]
    )
    return ir.Function("helper", [n, k], [INDEX], body, type=ir.FunctionType.Inline)


PIPELINE: dict[str, set[str]] = {
    "inline_functions": {"InlineFunctionsEliminated"},
    "unroll_loops": {"UnrollResolved"},
    "ctrl_flow_transform": {"StructuredCtrlFlow"},
    "convert_to_ssa": {"SSAForm", "UseAfterDef"},
    "normalize_stmt_structure": {"NormalizedStmtStructure", "NoRedundantBlocks"},
    "flatten_call_expr": {"NoNestedCalls", "NormalizedStmtStructure"},
}
"""The passes in order, each with what holds from then on."""
ANOTHER_ORDER = (
    "flatten_call_expr",
    "ctrl_flow_transform",
    "unroll_loops",
    "inline_functions",
    "convert_to_ssa",
    "flatten_call_expr",
)
INPUTS = [(0, 0), (1, 5), (7, 2), (16, 3)]


@pytest.mark.parametrize("seed", range(0, 160, 10))
def test_every_pass_keeps_the_meaning_and_makes_its_form(seed: int) -> None:
    for offset in range(10):
        program = Author(seed + offset).program()
        expected = [outcome(program, "main", *args) for args in INPUTS]
        promised: set[str] = set()
        for name, produced in PIPELINE.items():
            make = passes.get_pass(name)
            program = make()(program)
            assert [outcome(program, "main", *args) for args in INPUTS] == expected, (seed + offset, name)
            promised |= produced
            assert verify(program, sorted(promised)) == [], (seed + offset, name)
            assert make()(program) is program, (seed + offset, name, "is not idempotent")
        defined_once_and_dominated(program["main"])
        assert not has_nested_call(program["main"])


@pytest.mark.parametrize("seed", range(1000, 1050, 10))
def test_the_order_of_the_passes_does_not_matter_for_the_meaning(seed: int) -> None:
    for offset in range(10):
        program = Author(seed + offset).program()
        expected = [outcome(program, "main", *args) for args in INPUTS]
        for name in ANOTHER_ORDER:
            program = passes.get_pass(name)()(program)
            assert [outcome(program, "main", *args) for args in INPUTS] == expected, (seed + offset, name)
        assert verify(program, ["SSAForm", "UseAfterDef", "NoNestedCalls", "StructuredCtrlFlow"]) == []
