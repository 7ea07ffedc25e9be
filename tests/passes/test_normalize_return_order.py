"""NormalizeReturnOrder: kernels return parameters in their order, callers follow."""

from __future__ import annotations

from blocks import gt, index, let, loop, seq, when

from pypto import ir, passes

FP32 = ir.DataType.FP32
TENSOR = ir.TensorType([4, 8], FP32)
TILE = ir.TileType([4, 8], FP32, None, None, ir.MemorySpace.Vec)


def store(tile: ir.Expr, target: ir.Expr) -> ir.Call:
    offsets = ir.MakeTuple([ir.ConstInt(0, ir.DataType.INDEX)] * 2)
    return ir.create_op_call("tile.store", [tile, offsets, target], ir.Span.unknown())


def kernel(*stmts: ir.Stmt, params: list[ir.Var], results: int) -> ir.Function:
    return ir.Function("k", params, [TENSOR] * results, seq(*stmts), type=ir.FunctionType.InCore)


def normalize(*functions: ir.Function) -> ir.Program:
    before = ir.Program(functions, "P")
    after = passes.normalize_return_order()(before)
    assert passes.normalize_return_order()(after) is after
    return after


def returned(program: ir.Program) -> list[str]:
    function = program["k"]
    assert function is not None
    last = ir.flatten_to_stmts(function.body)[-1]
    return [v.name_hint for v in last.value]


def tensors(*names: str) -> list[ir.Var]:
    return [ir.Var(name, TENSOR) for name in names]


def test_results_are_the_parameters_in_their_order() -> None:
    t = ir.Var("t", TILE)
    first, second, a, b = tensors("first", "second", "a", "b")
    k = kernel(let(a, store(t, first)), let(b, store(t, second)), ir.ReturnStmt([b, a]), params=[t, first, second], results=2)
    pair = ir.Var("pair", ir.TupleType([TENSOR, TENSOR]))
    x, y, p, q = tensors("x", "y", "p", "q")
    tile = ir.Var("tile", TILE)
    caller = ir.Function(
        "main",
        [tile, x, y],
        [TENSOR, TENSOR],
        seq(
            let(pair, ir.Call(ir.GlobalVar("k"), [tile, x, y], pair.type)),
            let(p, ir.TupleGetItemExpr(pair, 0)),
            let(q, ir.TupleGetItemExpr(pair, 1)),
            ir.ReturnStmt([p, q]),
        ),
    )
    after = normalize(k, caller)
    assert returned(after) == ["first", "second"]
    main = after["main"]
    assert main is not None
    call, get_p, get_q, _ = main.body.stmts
    # p was the second parameter's result and still is
    assert (get_p.var, get_p.value.index) == (p, 1) or (get_p.var is p and get_p.value.index == 1)
    assert get_q.value.index == 0
    assert get_p.value.tuple is call.var


def test_through_loops_and_branches() -> None:
    t = ir.Var("t", TILE)
    c, i = index("c", "i")
    out, step, done, one, merged = tensors("out", "step", "done", "one", "merged")
    arg = ir.IterArg("arg", TENSOR, out)
    k = kernel(
        loop(i, (0, 3, 1), seq(let(step, store(t, arg)), ir.YieldStmt([step])), [arg], [done]),
        when(gt(c, 0), seq(let(one, store(t, done)), ir.YieldStmt([one])), ir.YieldStmt([done]), [merged]),
        ir.ReturnStmt([merged]),
        params=[t, c, out],
        results=1,
    )
    assert returned(normalize(k)) == ["out"]


def test_what_is_not_one_whole_parameter_stays() -> None:
    t = ir.Var("t", TILE)
    (c,) = index("c")
    left, right, either, made = tensors("left", "right", "either", "made")
    branch = when(gt(c, 0), ir.YieldStmt([left]), ir.YieldStmt([right]), [either])
    other = let(made, ir.Call(ir.Op("test.make"), [c], TENSOR))
    k = kernel(branch, other, ir.ReturnStmt([made, either, c]), params=[t, c, left, right], results=2)
    program = ir.Program([k], "P")
    assert passes.normalize_return_order()(program) is program


def test_other_functions_are_left_alone() -> None:
    t = ir.Var("t", TILE)
    out, a = tensors("out", "a")
    f = ir.Function("k", [t, out], [TENSOR], seq(let(a, store(t, out)), ir.ReturnStmt([a])), type=ir.FunctionType.Orchestration)
    program = ir.Program([f], "P")
    assert passes.normalize_return_order()(program) is program
