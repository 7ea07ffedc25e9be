"""Visitors and mutators: every kind has its method, what is seen, what is kept, what is rewritten."""

from __future__ import annotations

import pytest

from pypto import ir
from pypto.diagnostics import InternalError
from pypto.ir.node import NODE_KINDS
from pypto.ir.span import UNKNOWN
from pypto.ir.visitor import method_name

INDEX = ir.ScalarType(ir.INDEX)
TILE = ir.TileType([16, 16], ir.FP32)
OP = ir.Op("tile.x")

METHODS = [
    "var",
    "iter_arg",
    "mem_ref",
    "window_buffer",
    "const_int",
    "const_float",
    "const_bool",
    "call",
    "submit",
    "make_tuple",
    "tuple_get_item_expr",
    "add",
    "sub",
    "mul",
    "floor_div",
    "floor_mod",
    "float_div",
    "min",
    "max",
    "pow",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "and",
    "or",
    "xor",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bit_shift_left",
    "bit_shift_right",
    "abs",
    "neg",
    "not",
    "bit_not",
    "cast",
    "assign_stmt",
    "if_stmt",
    "for_stmt",
    "while_stmt",
    "in_core_scope_stmt",
    "cluster_scope_stmt",
    "hierarchy_scope_stmt",
    "spmd_scope_stmt",
    "split_aiv_scope_stmt",
    "runtime_scope_stmt",
    "comm_domain_scope_stmt",
    "seq_stmts",
    "yield_stmt",
    "return_stmt",
    "eval_stmt",
    "break_stmt",
    "continue_stmt",
    "inline_stmt",
]


def var(name: str, type_: ir.Type = INDEX) -> ir.Var:
    return ir.Var(name, type_, UNKNOWN)


def call(*args: ir.Expr, type_: ir.Type = TILE, **attrs: object) -> ir.Call:
    return ir.Call(OP, [*args], {}, attrs, type_, UNKNOWN)


class Recorder(ir.IRVisitor):
    """Names of variables in the order in which they are seen."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def visit_var_like(self, op: ir.Var) -> None:
        self.seen.append(op.name_hint)
        super().visit_var_like(op)


class Rename(ir.IRMutator):
    """Replaces one variable by an expression."""

    def __init__(self, old: ir.Var, new: ir.Expr) -> None:
        self.old, self.new = old, new

    def visit_var(self, op: ir.Var) -> ir.Expr:
        return self.new if op is self.old else super().visit_var(op)


def test_every_kind_has_its_method() -> None:
    abstract = {"Expr", "Stmt", "BinaryExpr", "UnaryExpr", "ScopeStmt", "_Values", "Function", "Program"}
    made = {
        method_name(kind) for name, kind in NODE_KINDS.items() if name not in abstract and kind.__module__.startswith("pypto.ir.")
    }
    assert made == {f"visit_{name}" for name in METHODS}
    for name in METHODS:
        assert callable(getattr(ir.IRVisitor, f"visit_{name}"))
        assert callable(getattr(ir.IRMutator, f"visit_{name}"))


def sample() -> tuple[ir.Program, dict[str, ir.Var]]:
    n, x, i, y, total, flag = var("n"), var("x", ir.TensorType([4, 8], ir.FP32)), var("i"), var("y"), var("total"), var("flag")
    acc = ir.IterArg("acc", INDEX, n, UNKNOWN)
    inner = ir.SeqStmts(
        [
            ir.attach_leading_comments(ir.AssignStmt(y, ir.add(acc, i, UNKNOWN)), ["# sum"]),
            ir.EvalStmt(call(x, dump_vars=[y], device=flag)),
            ir.YieldStmt([y]),
        ]
    )
    loop = ir.ForStmt(i, 0, n, 1, [acc], inner, [total])
    body = ir.SeqStmts([loop, ir.ReturnStmt([total])])
    made = ir.Function("f", [n, x, flag], [INDEX], body, UNKNOWN, requires_runtime_binding=True)
    return ir.Program([made], "p", UNKNOWN), {"n": n, "x": x, "i": i, "y": y, "flag": flag, "acc": acc}


def test_visitor_order() -> None:
    program, _ = sample()
    recorder = Recorder()
    recorder.visit_program(program)
    expected = "n x flag | i n acc n | y acc i x flag y y total | total"
    assert sorted(recorder.seen) == sorted(expected.replace("|", " ").split())
    assert recorder.seen[:3] == ["n", "x", "flag"]
    assert recorder.seen[3:7] == ["i", "n", "acc", "n"]
    assert recorder.seen[-2:] == ["total", "total"]


def test_visitor_sees_extents_of_types_but_not_return_types() -> None:
    n, m = var("n"), var("m")
    x = var("x", ir.TensorType([n, 4], ir.FP32))
    f = ir.Function("f", [x], [ir.TensorType([m], ir.FP32)], ir.ReturnStmt([x]), UNKNOWN)
    recorder = Recorder()
    recorder.visit_function(f)
    assert recorder.seen == ["x", "n", "x", "n"]


def test_group_hooks() -> None:
    class Count(ir.IRVisitor):
        def __init__(self) -> None:
            self.binary: list[str] = []
            self.unary: list[str] = []
            self.muls = 0

        def visit_binary_expr(self, op: ir.BinaryExpr) -> None:
            self.binary.append(type(op).__name__)
            super().visit_binary_expr(op)

        def visit_unary_expr(self, op: ir.UnaryExpr) -> None:
            self.unary.append(type(op).__name__)
            super().visit_unary_expr(op)

        def visit_mul(self, op: ir.Mul) -> None:
            self.muls += 1
            super().visit_mul(op)

    x = var("x")
    count = Count()
    count.visit_expr(ir.neg((x + 1) * (x - 2)))
    assert count.unary == ["Neg"]
    assert count.muls == 1
    assert count.binary == ["Mul", "Add", "Sub"]


def test_submit_scopes_and_windows_are_visited() -> None:
    base, core, cond, dep = (
        var("buf", ir.PtrType()),
        var("core"),
        var("cond", ir.ScalarType(ir.BOOL)),
        var("dep", ir.ScalarType(ir.TASK_ID)),
    )
    window = ir.WindowBuffer(base, ir.index_const(64))
    submit = ir.Submit(ir.GlobalVar("k"), [], [dep], {}, {}, dep.type, UNKNOWN, core_num=core, predicate=cond)
    spmd = ir.SpmdScopeStmt(core, body=ir.EvalStmt(submit))
    recorder = Recorder()
    recorder.visit_stmt(ir.CommDomainScopeStmt([], [window], body=spmd))
    assert set(recorder.seen) == {"dep", "core", "cond", "buf"}


def test_mutator_that_changes_nothing_returns_the_same_object() -> None:
    program, _ = sample()
    assert ir.IRMutator().visit_program(program) is program


def test_mutator_keeps_all_that_it_does_not_change() -> None:
    program, names = sample()
    new = var("limit")
    changed = Rename(names["n"], new).visit_program(program)
    assert changed is not program
    f = changed["f"]
    assert f.requires_runtime_binding
    assert f.params[0] is new
    assert f.params[1] is names["x"]
    loop = f.body[0]
    assert loop.stop is new
    assert loop.iter_args[0].initValue is new
    assert loop.iter_args[0] is not names["acc"]
    assert loop.body[0].value.left is loop.iter_args[0]
    assert loop.body[0].leading_comments == ["# sum"]
    assert loop.body[0].var is names["y"]
    assert loop.body[1] is program["f"].body[0].body[1]
    assert f.body[1] is program["f"].body[1]


def test_mutator_rewrites_types_and_keeps_identity() -> None:
    n, m = var("n"), var("m")
    x = var("x", ir.TensorType([n, 4], ir.FP32, None, ir.TensorView(valid_shape=[n, 2], layout=ir.TensorLayout.ND)))
    y = var("y", x.type)
    body = ir.SeqStmts([ir.AssignStmt(y, call(x, type_=x.type)), ir.ReturnStmt([y])])
    f = ir.Function("f", [n, x], [x.type], body, UNKNOWN)
    new = Rename(n, m).visit_function(f)
    px = new.params[1]
    assert px is not x
    assert px.unique_id != x.unique_id
    assert px.type.shape[0] is m
    assert px.type.tensor_view.valid_shape[0] is m
    assign = new.body[0]
    assert assign.value.args[0] is px
    assert assign.value.type.shape[0] is m
    assert new.return_types[0].shape[0] is m
    assert new.body[1].value[0] is assign.var
    ir.assert_structural_equal(f, new)


def test_mutator_rewrites_attributes() -> None:
    x, y, z = var("x"), var("y"), ir.index_const(3)
    old = call(dump_vars=[x, y], device=x)
    new = Rename(x, y).visit_expr(old)
    assert new.attrs["dump_vars"][0] is y
    assert new.attrs["device"] is y
    constant = Rename(x, z).visit_expr(old)
    assert [v.name_hint for v in constant.attrs["dump_vars"]] == ["y"]
    assert constant.attrs["device"] is z
    assert old.attrs["device"] is x


def test_mutator_rewrites_windows_and_memrefs_once() -> None:
    base, other = var("buf", ir.PtrType()), var("pool", ir.PtrType())
    window = ir.WindowBuffer(base, ir.index_const(64))
    type_ = ir.DistributedTensorType([4], ir.FP32, window)
    v, w = var("v", type_), var("w", ir.DistributedTensorType([2], ir.FP32, window))
    body = ir.SeqStmts([ir.AssignStmt(v, call()), ir.AssignStmt(w, call(v))])
    new = Rename(base, other).visit_stmt(ir.CommDomainScopeStmt([], [window], body=body))
    made = new.slots[0]
    assert made.base is other
    assert new.body[0].var.type.window_buffer is made
    assert new.body[1].var.type.window_buffer is made
    tile = ir.TileType([4], ir.FP32, ir.MemRef(base, 0, 16), None, ir.MemorySpace.Vec)
    assert Rename(base, other).visit_type(tile).memref.base_ is other


def test_mutator_flattens_sequences_and_keeps_comments() -> None:
    class Split(ir.IRMutator):
        def visit_eval_stmt(self, op: ir.EvalStmt) -> ir.Stmt:
            first, last = ir.EvalStmt(op.expr), ir.EvalStmt(op.expr)
            return ir.SeqStmts([ir.SeqStmts([first]), last]).replace(trailing_comments=["# after"])

    stop = ir.attach_leading_comments(ir.ReturnStmt([]), ["# return"])
    new = Split().visit_stmt(ir.SeqStmts([ir.EvalStmt(call()), stop]))
    assert [type(s).__name__ for s in new.stmts] == ["EvalStmt", "EvalStmt", "ReturnStmt"]
    assert new[2].leading_comments == ["# after", "# return"]
    last = Split().visit_stmt(ir.SeqStmts([stop, ir.EvalStmt(call())]))
    assert last.trailing_comments == ["# after"]
    nested = ir.SeqStmts([ir.SeqStmts([ir.BreakStmt(), ir.BreakStmt()]), ir.BreakStmt()])
    assert len(ir.IRMutator().visit_stmt(nested).stmts) == 3


def test_mutator_removes_statements() -> None:
    class Remove(ir.IRMutator):
        def visit_eval_stmt(self, op: ir.EvalStmt) -> ir.Stmt:
            return ir.SeqStmts([])

    kept = ir.BreakStmt()
    assert Remove().visit_stmt(ir.SeqStmts([ir.EvalStmt(call()), kept])) is kept
    loop = ir.WhileStmt(ir.ConstBool(True), [], ir.SeqStmts([ir.EvalStmt(call()), kept]), [])
    assert Remove().visit_stmt(loop).body is kept


def test_mutator_refuses_a_definition_that_is_no_variable() -> None:
    x = var("x")
    with pytest.raises(InternalError, match="definition of 'x'"):
        Rename(x, ir.index_const(1)).visit_stmt(ir.AssignStmt(x, ir.index_const(2)))


def test_mutator_tuples() -> None:
    x, t = var("x"), var("t", TILE)
    pair = ir.MakeTuple([x, x])
    item = ir.TupleGetItemExpr(pair, 1)
    new = Rename(x, t).visit_expr(item)
    assert new.type is TILE
    assert new.tuple.type == ir.TupleType([TILE, TILE])


def long_chain(leaf: ir.Expr, terms: int) -> ir.Expr:
    made = leaf
    for _ in range(terms):
        made = ir.Add(made, leaf, ir.INDEX)
    return made


def test_long_chains() -> None:
    x, y = var("x"), var("y")
    chain = long_chain(x, 100_000)

    class Count(ir.IRVisitor):
        adds = variables = 0

        def visit_var(self, op: ir.Var) -> None:
            self.variables += 1

    class CountAll(Count):
        def visit_add(self, op: ir.Add) -> None:
            self.adds += 1
            super().visit_add(op)

    class Swap(Rename):
        def visit_binary_expr(self, op: ir.BinaryExpr) -> ir.Expr:
            new = super().visit_binary_expr(op)
            return new.replace(left=new.right, right=new.left)

    plain, overridden = Count(), CountAll()
    plain.visit_expr(chain)
    overridden.visit_expr(chain)
    assert plain.variables == overridden.variables == 100_001
    assert overridden.adds == 100_000
    assert ir.IRMutator().visit_expr(chain) is chain
    renamed = Rename(x, y).visit_expr(chain)
    assert ir.structural_equal(renamed, long_chain(y, 100_000))
    swapped = Swap(x, y).visit_expr(chain)
    assert swapped.left is y
    assert type(swapped.right) is ir.Add


def test_a_chain_inside_a_call_inside_a_chain() -> None:
    x = var("x")
    inner = long_chain(x, 3000)
    scalar = ir.Call(ir.Op("scalar.f"), [inner], INDEX, UNKNOWN)
    outer: ir.Expr = scalar
    for _ in range(250):
        outer = ir.Add(outer, x, ir.INDEX)

    class Swap(ir.IRMutator):
        def visit_add(self, op: ir.Add) -> ir.Expr:
            left, right = self.visit_expr(op.left), self.visit_expr(op.right)
            return ir.Sub(left, right, ir.INDEX)

    class Seen(ir.IRVisitor):
        adds = 0

        def visit_add(self, op: ir.Add) -> None:
            self.adds += 1
            super().visit_add(op)

    new = Swap().visit_expr(outer)
    seen = Seen()
    seen.visit_expr(new)
    assert seen.adds == 0


def test_an_overridden_visit_expr_sees_every_operator() -> None:
    x = var("x")
    chain = long_chain(x, 2000)
    middle = chain
    for _ in range(1000):
        middle = middle.left

    class Cut(ir.IRMutator):
        seen = 0

        def visit_expr(self, op: ir.Expr) -> ir.Expr:
            self.seen += type(op) is ir.Add
            return x if op is middle else super().visit_expr(op)

    cut = Cut()
    new = cut.visit_expr(chain)
    assert ir.structural_equal(new, long_chain(x, 1000))
    assert cut.seen >= 1000


def test_a_new_kind_of_node_is_walked_by_its_fields() -> None:
    class Pair(ir.Expr):
        __slots__ = ("first", "second")
        FIELDS = (ir.node.Field("first", ir.node.FieldKind.EXPR), ir.node.Field("second", ir.node.FieldKind.EXPR))

    try:
        x, y = var("x"), var("y")
        made = object.__new__(Pair)
        made.first, made.second, made.type, made.span = x, x, INDEX, UNKNOWN
        recorder = Recorder()
        recorder.visit_expr(made)
        assert recorder.seen == ["x", "x"]
        assert Rename(x, y).visit_expr(made).second is y
    finally:
        del NODE_KINDS["Pair"]
