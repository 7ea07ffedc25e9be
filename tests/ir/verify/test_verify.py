"""Every verifier: what it refuses (code, place, key words) and what it lets pass."""

import pytest

from pypto import ir
from pypto.diagnostics import InvalidValueError, VerificationError
from pypto.ir.enums import ArgEffect
from pypto.ir.op import DeclaredOp, register_op, unregister_op
from pypto.ir.types import (
    ArrayType,
    DistributedTensorType,
    PtrType,
    ScalarType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
)
from pypto.ir.verify import (
    PROPERTIES,
    NestedCallErrorType,
    PropertyViolation,
    SSAErrorType,
    TypeCheckErrorType,
    UseAfterDefErrorType,
    verify,
    verify_or_throw,
    verify_tensor_view_canonical,
)

D = ir.DataType
INDEX, BOOL = ScalarType(D.INDEX), ScalarType(D.BOOL)
FP32 = ScalarType(D.FP32)
VEC = TensorType([64], D.FP32)
TILE = TileType([16, 16], D.FP32, memory_space=ir.MemorySpace.Vec)


def at(line):
    return ir.Span("kernel.py", line, 5)


def var(name, type_=INDEX):
    return ir.Var(name, type_, ir.Span.unknown())


def num(value):
    return ir.ConstInt(value, D.INDEX, ir.Span.unknown())


def add(a, b):
    return ir.Add(a, b, D.INDEX)


def call(name="outside.value", args=(), type_=INDEX, span=None):
    return ir.Call(ir.Op(name), list(args), type_, span or ir.Span.unknown())


def seq(*stmts):
    return ir.SeqStmts(list(stmts))


def function(body, params=(), returns=(), **more):
    return ir.Function("f", list(params), list(returns), body, at(1), **more)


def program(body, params=(), returns=(), **more):
    return ir.Program([function(body, params, returns, **more)], "p", at(1))


def found(prog, name):
    return [(item.code, item.span.begin_line, item.message) for item in verify(prog, [name])]


def only(prog, name, code, line, *words, error=None):
    items = verify(prog, [name])
    assert [item.code for item in items] == [code]
    (item,) = items
    assert item.span.begin_line == line
    assert item.span.filename == "kernel.py"
    for word in words:
        assert word in item.message
    assert item.rule_name == name
    if error is not None:
        assert item.error_type is error
        assert item.error_code == int(error)
    return item


# -- SSAForm --------------------------------------------------------------------------------------------------------------


def test_ssa_two_assignments():
    x, y = var("x"), var("y")
    body = seq(ir.AssignStmt(y, x, at(2)), ir.AssignStmt(y, num(1), at(3)), ir.ReturnStmt([y], at(4)))
    item = only(
        program(body, [x]),
        "SSAForm",
        "ssa-multiple-assignment",
        3,
        "'y'",
        "more than once",
        error=SSAErrorType.MULTIPLE_ASSIGNMENT,
    )
    assert item.related[0][0].begin_line == 2


def test_ssa_parameter_and_loop_variable_count_as_definitions():
    x, i = var("x"), var("i")
    only(program(ir.AssignStmt(x, num(1), at(2)), [x]), "SSAForm", "ssa-multiple-assignment", 2, "'x'")
    loop = ir.ForStmt(i, num(0), num(3), num(1), [], ir.AssignStmt(i, num(2), at(3)), [], at(2))
    only(program(loop), "SSAForm", "ssa-multiple-assignment", 3, "'i'")


def branch(then, otherwise, results, cond=None):
    return ir.IfStmt(cond or ir.ConstBool(True), then, otherwise, results, at(2))


def test_ssa_statement_after_the_yield():
    r, z = var("r"), var("z")
    then = seq(ir.YieldStmt([num(1)], at(3)), ir.AssignStmt(z, num(2), at(4)))
    items = verify(program(branch(then, ir.YieldStmt([num(2)], at(6)), [r])), ["SSAForm"])
    codes = {item.code: item for item in items}
    assert codes["ssa-yield-not-last"].span.begin_line == 3
    assert "last statement" in codes["ssa-yield-not-last"].message
    assert codes["ssa-yield-not-last"].related[0][0].begin_line == 4


def test_ssa_arms_of_different_number():
    r = var("r")
    body = branch(ir.YieldStmt([num(1), num(2)], at(3)), ir.YieldStmt([num(2)], at(5)), [r])
    only(
        program(body),
        "SSAForm",
        "ssa-yield-count-mismatch",
        3,
        "then branch",
        "2 values",
        "1 result",
        error=SSAErrorType.YIELD_COUNT_MISMATCH,
    )


def test_ssa_missing_yields():
    r, acc, out, i = var("r"), ir.IterArg("acc", INDEX, num(0)), var("out"), var("i")
    only(
        program(branch(ir.YieldStmt([num(1)], at(3)), None, [r])),
        "SSAForm",
        "ssa-missing-yield",
        2,
        "no else",
        error=SSAErrorType.MISSING_YIELD,
    )
    loop = ir.ForStmt(i, num(0), num(3), num(1), [acc], ir.EvalStmt(call(), at(3)), [out], at(2))
    only(program(loop), "SSAForm", "ssa-missing-yield", 2, "loop body", "1 values")
    stray = ir.YieldStmt([num(1)], at(2))
    only(program(seq(stray, ir.ReturnStmt([], at(3)))), "SSAForm", "ssa-yield-outside", 2, "outside")


def test_ssa_loop_counts():
    acc, i = ir.IterArg("acc", INDEX, num(0)), var("i")
    loop = ir.ForStmt(i, num(0), num(3), num(1), [acc], ir.YieldStmt([acc], at(3)), [], at(2))
    only(
        program(loop),
        "SSAForm",
        "ssa-iter-args-return-vars-mismatch",
        2,
        "carries 1",
        error=SSAErrorType.ITER_ARGS_RETURN_VARS_MISMATCH,
    )


def test_ssa_use_outside_the_block():
    y, i = var("y"), var("i")
    loop = ir.ForStmt(i, num(0), num(3), num(1), [], ir.AssignStmt(y, i, at(3)), [], at(2))
    only(
        program(seq(loop, ir.ReturnStmt([y], at(5)))),
        "SSAForm",
        "ssa-scope-violation",
        5,
        "'y'",
        error=SSAErrorType.SCOPE_VIOLATION,
    )


def good_ssa():
    x, y, i, out, r = var("x"), var("y"), var("i"), var("out"), var("r")
    acc, w, res = ir.IterArg("acc", INDEX, x), ir.IterArg("w", INDEX, num(0)), var("res")
    loop = ir.ForStmt(
        i, num(0), x, num(1), [acc], seq(ir.AssignStmt(y, add(acc, i), at(3)), ir.YieldStmt([y], at(4))), [out], at(2)
    )
    cond = ir.Lt(out, num(3), D.BOOL)
    choice = branch(ir.YieldStmt([out], at(6)), ir.YieldStmt([x], at(7)), [r], cond)
    until = ir.WhileStmt(ir.Lt(w, r, D.BOOL), [w], ir.YieldStmt([add(w, num(1))], at(9)), [res], at(8))
    return program(seq(loop, choice, until, ir.ReturnStmt([res], at(10))), [x], [INDEX])


@pytest.mark.parametrize("name", sorted(PROPERTIES))
def test_a_good_program_has_every_property(name):
    assert verify(good_ssa(), [name]) == []


# -- UseAfterDef ----------------------------------------------------------------------------------------------------------


def test_use_without_definition():
    x, y = var("x"), var("y")
    item = only(
        program(ir.ReturnStmt([add(x, y)], at(2)), [x]),
        "UseAfterDef",
        "use-after-def",
        2,
        "'y'",
        "never defined",
        error=UseAfterDefErrorType.USE_BEFORE_DEF,
    )
    assert item.error_code == 401


def test_use_before_definition_and_on_one_path_only():
    x, y, flag = var("x"), var("y"), var("flag", BOOL)
    body = seq(ir.ReturnStmt([y], at(2)), ir.AssignStmt(y, x, at(3)))
    only(program(body, [x]), "UseAfterDef", "use-after-def", 2, "'y'", "every path")
    one = ir.IfStmt(flag, ir.AssignStmt(y, x, at(3)), None, [], at(2))
    only(program(seq(one, ir.ReturnStmt([y], at(5))), [x, flag]), "UseAfterDef", "use-after-def", 5, "'y'", "every path")
    both = ir.IfStmt(flag, ir.AssignStmt(y, x, at(3)), ir.AssignStmt(y, num(1), at(4)), [], at(2))
    assert found(program(seq(both, ir.ReturnStmt([y], at(5))), [x, flag]), "UseAfterDef") == []
    leaving = ir.IfStmt(flag, ir.ReturnStmt([x], at(3)), ir.AssignStmt(y, num(1), at(4)), [], at(2))
    assert found(program(seq(leaving, ir.ReturnStmt([y], at(5))), [x, flag]), "UseAfterDef") == []


def test_use_after_a_loop_that_may_not_run():
    n, y, i = var("n"), var("y"), var("i")

    def looped(stop):
        loop = ir.ForStmt(i, num(0), stop, num(1), [], ir.AssignStmt(y, i, at(3)), [], at(2))
        return program(seq(loop, ir.ReturnStmt([y], at(4))), [n])

    only(looped(n), "UseAfterDef", "use-after-def", 4, "'y'")
    only(looped(num(0)), "UseAfterDef", "use-after-def", 4, "'y'")
    assert found(looped(num(3)), "UseAfterDef") == []


def test_dangling_reference_in_attributes():
    task, x = var("d", ScalarType(D.TASK_ID)), var("x", VEC)
    scope = ir.InCoreScopeStmt(body=ir.EvalStmt(call(args=[x]), at(3)), span=at(2)).with_attrs({"manual_dep_edges": [task]})
    only(program(scope, [x]), "UseAfterDef", "use-after-def", 2, "'d'")
    dummy = ir.Call(ir.Op("outside.task"), [x], {}, {"manual_dep_edges": [task]}, ir.UnknownType(), at(2))
    only(program(ir.EvalStmt(dummy, at(2)), [x]), "UseAfterDef", "use-after-def", 2, "'d'")
    defined = seq(ir.AssignStmt(task, call(type_=ScalarType(D.TASK_ID)), at(1)), scope)
    assert found(program(defined, [x]), "UseAfterDef") == []
    made = ir.InCoreScopeStmt(body=ir.EvalStmt(call(args=[x]), at(3)), span=at(2)).with_attrs({"task_id_var": task})
    assert found(program(seq(made, ir.ReturnStmt([task], at(4))), [x]), "UseAfterDef") == []


def test_dimensions_of_parameters_are_bound():
    m, k = var("M"), var("K")
    x = var("x", TensorType([m, 8], D.FP32))
    assert found(program(ir.ReturnStmt([add(m, num(1))], at(2)), [x]), "UseAfterDef") == []
    only(program(ir.ReturnStmt([add(k, num(1))], at(2)), [x]), "UseAfterDef", "use-after-def", 2, "'K'")
    t = var("t", TensorType([k], D.FP32))
    assert found(program(ir.AssignStmt(t, call(type_=t.type), at(2)), [x]), "UseAfterDef") == []
    late = seq(ir.AssignStmt(t, call(type_=t.type), at(2)), ir.AssignStmt(k, num(4), at(3)))
    only(program(late, [x]), "UseAfterDef", "use-after-def", 2, "'K'")


# -- TypeChecked ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("declared", "value", "error", "words"),
    [
        (VEC, TILE, TypeCheckErrorType.TYPE_KIND_MISMATCH, "a tensor expected, got a tile"),
        (FP32, INDEX, TypeCheckErrorType.DTYPE_MISMATCH, "FP32 expected, got INDEX"),
        (VEC, TensorType([64], D.FP16), TypeCheckErrorType.DTYPE_MISMATCH, "FP32 expected, got FP16"),
        (VEC, TensorType([8, 8], D.FP32), TypeCheckErrorType.SHAPE_DIMENSION_MISMATCH, "rank 1 expected, got 2"),
        (VEC, TensorType([32], D.FP32), TypeCheckErrorType.SHAPE_VALUE_MISMATCH, "axis 0 must be 64, got 32"),
        (TupleType([INDEX]), TupleType([INDEX, INDEX]), TypeCheckErrorType.SIZE_MISMATCH, "1 elements expected, got 2"),
        (
            TensorType([64], D.FP32, None, TensorView(layout=ir.TensorLayout.ND, pad=ir.PadValue.zero)),
            TensorType([64], D.FP32, None, TensorView(layout=ir.TensorLayout.ND, pad=ir.PadValue.max)),
            TypeCheckErrorType.TENSOR_PADDING_MISMATCH,
            "padding zero expected, got max",
        ),
        (
            TILE,
            TileType([16, 16], D.FP32, None, TileView(valid_shape=[8, 16]), ir.MemorySpace.Vec),
            TypeCheckErrorType.TILE_VIEW_MISMATCH,
            "valid extent of axis 0 must be 16, got 8",
        ),
    ],
)
def test_assignment_types(declared, value, error, words):
    target = var("t", declared)
    prog = program(ir.AssignStmt(target, call(type_=value), at(2)))
    item = only(prog, "TypeChecked", verify(prog, ["TypeChecked"])[0].code, 2, "'t'", words, error=error)
    assert item.code == {
        "TYPE_KIND_MISMATCH": "type-kind-mismatch",
        "DTYPE_MISMATCH": "type-dtype-mismatch",
        "SIZE_MISMATCH": "type-size-mismatch",
    }.get(error.name, item.code)


def test_windows_are_told_apart():
    base = [var(name, PtrType()) for name in "ab"]
    windows = [ir.WindowBuffer(b, num(256)) for b in base]
    types = [DistributedTensorType([64], D.FP32, w) for w in windows]
    prog = program(ir.AssignStmt(var("t", types[0]), call(type_=types[1]), at(2)))
    only(
        prog,
        "TypeChecked",
        "type-distributed-window-identity-mismatch",
        2,
        "'a'",
        "'b'",
        error=TypeCheckErrorType.DISTRIBUTED_WINDOW_IDENTITY_MISMATCH,
    )


def test_index_and_int64_are_interchangeable_and_symbols_fit_anything():
    m = var("M")
    stmts = seq(
        ir.AssignStmt(var("a", ScalarType(D.INT64)), num(1), at(2)),
        ir.AssignStmt(var("t", TensorType([m], D.FP32)), call(type_=VEC), at(3)),
    )
    assert found(program(stmts), "TypeChecked") == []


def test_conditions_and_bounds():
    x, f, i = var("x"), var("f", FP32), var("i")
    t = var("t", VEC)
    nothing = ir.SeqStmts([])
    only(
        program(ir.IfStmt(x, nothing, None, [], at(2)), [x]),
        "TypeChecked",
        "condition-must-be-bool",
        2,
        "INDEX",
        error=TypeCheckErrorType.CONDITION_MUST_BE_BOOL,
    )
    only(program(ir.IfStmt(t, nothing, None, [], at(2)), [t]), "TypeChecked", "if-condition-must-be-scalar", 2, "a tensor")
    only(program(ir.WhileStmt(x, [], nothing, [], at(2)), [x]), "TypeChecked", "condition-must-be-bool", 2, "while loop")
    loop = ir.ForStmt(i, num(0), f, num(1), [], nothing, [], at(2))
    only(
        program(loop, [f]),
        "TypeChecked",
        "for-range-must-be-scalar",
        2,
        "stop",
        "FP32",
        error=TypeCheckErrorType.FOR_RANGE_MUST_BE_SCALAR,
    )


def test_yields_of_another_type():
    r, f, i, out = var("r"), var("f", FP32), var("i"), var("out")
    body = branch(ir.YieldStmt([num(1)], at(3)), ir.YieldStmt([f], at(4)), [r])
    only(program(body, [f]), "TypeChecked", "type-dtype-mismatch", 4, "else branch", "'r'")
    acc = ir.IterArg("acc", INDEX, f)
    loop = ir.ForStmt(i, num(0), num(3), num(1), [acc], ir.YieldStmt([f], at(3)), [out], at(2))
    codes = found(program(loop, [f]), "TypeChecked")
    assert [(code, line) for code, line, _ in codes] == [("type-dtype-mismatch", 2), ("type-dtype-mismatch", 3)]
    assert "initial value of 'acc'" in codes[0][2]


def test_returned_values():
    x = var("x")
    only(program(ir.ReturnStmt([x, x], at(2)), [x], [INDEX]), "TypeChecked", "type-size-mismatch", 2, "2 values", "declares 1")
    only(program(ir.ReturnStmt([x], at(2)), [x], [FP32]), "TypeChecked", "type-dtype-mismatch", 2, "returned value 0")


def calling(callee, args, type_=INDEX):
    return ir.Call(ir.GlobalVar(callee), args, type_, at(2))


def test_calls_of_functions():
    x, y = var("x"), var("y")
    callee = ir.Function("g", [y], [INDEX], ir.ReturnStmt([y], at(11)), at(10))

    def prog(call_):
        return ir.Program([callee, function(ir.EvalStmt(call_, at(2)), [x])], "p", at(1))

    assert verify(prog(calling("g", [x])), ["TypeChecked"]) == []
    only(prog(calling("h", [x])), "TypeChecked", "type-unknown-function", 2, "'h'")
    only(prog(calling("g", [x, x])), "TypeChecked", "type-size-mismatch", 2, "takes 1", "got 2")
    only(prog(calling("g", [call(type_=VEC)])), "TypeChecked", "type-kind-mismatch", 2, "argument 'y' of 'g'")


class _Doubled(DeclaredOp):
    """An operator declared for these tests: one tensor to a tensor of the same type."""

    __slots__ = ("tile_form",)

    def __init__(self, name, tile_form=None):
        super().__init__(name)
        self.tile_form = tile_form

    def deduce_type(self, args, kwargs):
        if not args:
            raise InvalidValueError("needs an operand")
        return args[0].type

    def arg_effect(self, index, kwargs, count=None):
        return ArgEffect.Read


@pytest.fixture
def doubled():
    op = register_op(_Doubled("tests.doubled", "tests.tile_doubled"))
    yield op
    unregister_op(op.name)


def test_calls_of_declared_operators(doubled):
    x = var("x", VEC)
    good = ir.Call(doubled, [x], VEC, at(2))
    assert found(program(ir.EvalStmt(good, at(2)), [x]), "TypeChecked") == []
    wrong = ir.Call(doubled, [x], TensorType([32], D.FP32), at(2))
    only(program(ir.EvalStmt(wrong, at(2)), [x]), "TypeChecked", "type-shape-value-mismatch", 2, "tests.doubled", "64, got 32")
    by_name = ir.Call(ir.Op("tests.doubled"), [], VEC, at(2))
    only(program(ir.EvalStmt(by_name, at(2))), "TypeChecked", "type-operands", 2, "needs an operand")


# -- the others -----------------------------------------------------------------------------------------------------------


def test_nested_calls():
    x, i = var("x"), var("i")
    inner = call(span=at(7))
    nothing = ir.SeqStmts([])
    cases = [
        (ir.EvalStmt(call("outside.f", [inner]), at(2)), NestedCallErrorType.CALL_IN_CALL_ARGS),
        (ir.EvalStmt(call("outside.f", [ir.MakeTuple([num(1), inner])]), at(2)), NestedCallErrorType.CALL_IN_CALL_ARGS),
        (ir.IfStmt(call(type_=BOOL, span=at(7)), nothing, None, [], at(2)), NestedCallErrorType.CALL_IN_IF_CONDITION),
        (ir.ForStmt(i, num(0), inner, num(1), [], nothing, [], at(2)), NestedCallErrorType.CALL_IN_FOR_RANGE),
        (ir.ReturnStmt([add(x, inner)], at(2)), NestedCallErrorType.CALL_IN_BINARY_EXPR),
        (ir.ReturnStmt([ir.Cast(inner, D.INT32)], at(2)), NestedCallErrorType.CALL_IN_UNARY_EXPR),
    ]
    for stmt, error in cases:
        only(
            program(stmt, [x]), "NoNestedCalls", "nested-" + error.name.lower().replace("_", "-"), 7, "outside.value", error=error
        )
    assert found(program(ir.AssignStmt(x, call("outside.f", [num(1)]), at(2))), "NoNestedCalls") == []


def test_blocks():
    stmt = ir.EvalStmt(call(), at(3))
    single = ir.SeqStmts([stmt], at(2))
    nested = ir.SeqStmts([stmt, ir.SeqStmts([stmt, stmt], at(4))], at(2))
    for name in ("NoRedundantBlocks", "NormalizedStmtStructure"):
        only(program(single), name, "single-statement-block", 2)
        only(program(nested), name, "nested-block", 4)
        assert found(program(ir.SeqStmts([])), name) == []


def test_jumps():
    i = var("i")
    only(program(ir.BreakStmt(at(2))), "BreakContinueValid", "jump-outside-loop", 2, "break outside")
    parallel = ir.ForStmt(i, num(0), num(3), num(1), [], ir.ContinueStmt(at(3)), [], at(2), kind=ir.ForKind.Parallel)
    only(program(parallel), "BreakContinueValid", "jump-in-unordered-loop", 3, "continue in a parallel loop")
    loop = ir.ForStmt(
        i, num(0), num(3), num(1), [], ir.IfStmt(ir.ConstBool(True), ir.BreakStmt(at(4)), None, [], at(3)), [], at(2)
    )
    assert found(program(loop), "BreakContinueValid") == []
    only(program(loop), "StructuredCtrlFlow", "unstructured-jump", 4, "break")


def test_what_passes_must_have_resolved():
    i = var("i")
    unroll = ir.ForStmt(i, num(0), num(3), num(1), [], ir.SeqStmts([]), [], at(2), kind=ir.ForKind.Unroll)
    only(program(unroll), "UnrollResolved", "unroll-loop-left", 2, "'i'")
    only(program(ir.SeqStmts([]), type=ir.FunctionType.Inline), "InlineFunctionsEliminated", "inline-function-left", 1, "'f'")
    inner = ir.InCoreScopeStmt(body=ir.SeqStmts([]), span=at(3))
    only(program(inner), "SplitIncoreOrch", "incore-scope-left", 3)
    only(program(ir.InCoreScopeStmt(body=inner, span=at(2))), "NoNestedInCore", "nested-incore-scope", 3)
    assert found(program(inner), "NoNestedInCore") == []


def test_kernels_compute_on_tiles(doubled):
    x, y = var("x", VEC), var("y", VEC)
    body = ir.AssignStmt(y, ir.Call(doubled, [x], VEC, at(2)), at(2))
    item = only(program(body, [x], type=ir.FunctionType.InCore), "IncoreTileOps", "tensor-op-in-kernel", 2, "tests.doubled")
    assert "tests.tile_doubled" in item.hint
    assert found(program(body, [x], type=ir.FunctionType.Orchestration), "IncoreTileOps") == []


def test_tiles_have_two_axes():
    deep = TileType([2, 4, 8], D.FP32)
    body = ir.AssignStmt(var("t", deep), call(type_=deep), at(2))
    only(program(body, type=ir.FunctionType.InCore), "TileOps2D", "tile-rank", 2, "'t'", "rank 3")
    assert found(program(body), "TileOps2D") == []


class _Fresh(DeclaredOp):
    __slots__ = ()

    def deduce_type(self, args, kwargs):
        return VEC


class _Into(DeclaredOp):
    __slots__ = ()

    @property
    def alias_index(self):
        return 0

    def deduce_type(self, args, kwargs):
        return args[0].type


def test_output_parameters_keep_their_name():
    fresh, into = register_op(_Fresh("tests.fresh")), register_op(_Into("tests.into"))
    try:
        o = var("o", VEC)
        params = [(o, ir.ParamDirection.Out)]
        bad = program(ir.AssignStmt(o, ir.Call(fresh, [], VEC, at(2)), at(2)), params)
        item = only(bad, "OutParamNotShadowed", "out-param-shadowed", 2, "'o'", "caller")
        assert "tests.fresh" in item.hint
        good = program(ir.AssignStmt(o, ir.Call(into, [o], VEC, at(2)), at(2)), params)
        assert found(good, "OutParamNotShadowed") == []
        assert found(program(ir.AssignStmt(o, ir.Call(fresh, [], VEC, at(2)), at(2)), [o]), "OutParamNotShadowed") == []
    finally:
        unregister_op("tests.fresh")
        unregister_op("tests.into")


def test_arrays_stay_inside():
    a = var("a", ArrayType(D.INT32, 4))
    only(program(ir.ReturnStmt([a], at(2))), "ArrayNotEscaped", "array-escapes", 2)


def test_tensor_views():
    wrong = TensorType([4, 8], D.FP32, None, TensorView([1, 3], ir.TensorLayout.ND))
    plain = var("x", VEC)
    only(program(ir.AssignStmt(var("t", wrong), call(type_=wrong), at(2))), "TensorViewCanonical", "tensor-view", 2, "'t'")
    prog = program(ir.AssignStmt(plain, call(type_=VEC), at(2)))
    assert verify_tensor_view_canonical(prog) == []
    assert [item.code for item in verify_tensor_view_canonical(prog, require_materialized=True)] == ["tensor-view"]


# -- depth ----------------------------------------------------------------------------------------------------------------


def nested_blocks(depth):
    body = ir.EvalStmt(call(), at(depth + 2))
    for level in range(depth, 0, -1):
        body = ir.IfStmt(ir.ConstBool(True), body, None, [], at(level + 1))
    return program(body)


def test_depth_of_blocks():
    assert verify(nested_blocks(90), ["Depth"]) == []
    for names in (["Depth"], ["SSAForm", "UseAfterDef"]):
        (item,) = verify(nested_blocks(2_000), names)
        assert item.code == "too-deep"
        assert "more than 90 nested blocks" in item.message
        assert item.span.begin_line == 93


def test_depth_of_brackets():
    x = var("x")

    def right_deep(depth):
        expr = x
        for _ in range(depth):
            expr = add(x, expr)
        return program(ir.ReturnStmt([expr], at(2)), [x])

    assert verify(right_deep(150), ["Depth"]) == []
    item = only(right_deep(5_000), "Depth", "too-deep", 2, "brackets", "150")
    assert "names" in item.hint
    calls = x
    for _ in range(151):
        calls = call("outside.f", [calls])
    only(program(ir.EvalStmt(calls, at(2)), [x]), "Depth", "too-deep", 2, "151 nested brackets")


def test_long_chains_are_not_deep():
    x = var("x")
    expr = x
    for _ in range(100_000):
        expr = add(expr, x)
    assert (
        verify(
            program(ir.ReturnStmt([expr], at(2)), [x], [INDEX]),
            ["Depth", "SSAForm", "UseAfterDef", "TypeChecked", "NoNestedCalls"],
        )
        == []
    )


# -- the whole ------------------------------------------------------------------------------------------------------------


def test_the_report_lists_every_fault_with_its_place():
    x, y = var("x"), var("y")
    body = seq(ir.AssignStmt(x, num(1), at(2)), ir.ReturnStmt([y], at(3)))
    with pytest.raises(PropertyViolation) as caught:
        verify_or_throw(program(body, [x]), ["SSAForm", "UseAfterDef"])
    assert isinstance(caught.value, VerificationError)
    text = str(caught.value)
    assert "2 faults" in text
    assert "ssa-multiple-assignment" in text
    assert "kernel.py:2:5" in text
    assert "use-after-def" in text
    assert "kernel.py:3:5" in text
    assert "in function 'f'; property SSAForm" in text
    assert caught.value.span["line"] == 2
    verify_or_throw(good_ssa())


def test_an_unknown_property_is_refused():
    with pytest.raises(ValueError, match="no verifier checks 'SSAFrom'") as caught:
        verify(good_ssa(), ["SSAFrom"])
    assert "SSAForm" in caught.value.hint


def test_ten_thousand_statements_are_linear():
    x = var("x")
    current, stmts = x, []
    for line in range(10_000):
        nxt = var(f"v{line}")
        stmts.append(ir.AssignStmt(nxt, add(current, num(1)), at(line + 2)))
        current = nxt
    prog = program(seq(*stmts, ir.ReturnStmt([current], at(1))), [x], [INDEX])
    assert verify(prog) == []
