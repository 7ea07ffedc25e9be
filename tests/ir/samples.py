"""A program with every kind of node and type, for tests of what must handle them all."""

from __future__ import annotations

from pypto import ir
from pypto.ir.node import NODE_KINDS
from pypto.ir.stmt import attach_trailing_comments

INDEX = ir.ScalarType(ir.INDEX)
BOOL = ir.ScalarType(ir.BOOL)
TASK = ir.ScalarType(ir.TASK_ID)
PLACE = ir.Span("kernel.py", 3, 5, 3, 9)

BINARY = [kind for kind in NODE_KINDS.values() if issubclass(kind, ir.BinaryExpr) and kind is not ir.BinaryExpr]
UNARY = [kind for kind in NODE_KINDS.values() if issubclass(kind, ir.UnaryExpr) and kind is not ir.UnaryExpr]


def var(name: str, type_: ir.Type = INDEX) -> ir.Var:
    return ir.Var(name, type_, PLACE)


def everything() -> ir.Program:
    """One function that uses every kind, and one that is called by it."""
    n, flag, ptr = var("n"), var("flag", BOOL), var("buf", ir.PtrType())
    view = ir.TensorView(valid_shape=[n, 4], stride=[16, 1], layout=ir.TensorLayout.ND, pad=ir.PadValue.zero)
    x = var("x", ir.TensorType([n, 16], ir.FP32, None, view))
    memref = ir.MemRef(ptr, n, 64, slots=2, slot=1)
    tile_view = ir.TileView([2, 3], [16, 1], n, ir.TileLayout.col_major, fractal=32, compact=ir.CompactMode.normal)
    tile = ir.TileType([16, 16], ir.BF16, memref, tile_view, ir.MemorySpace.Vec)
    window = ir.WindowBuffer(ptr, n, True, False, PLACE)
    distributed = ir.DistributedTensorType([8], ir.INT32, window)
    types: list[ir.Type] = [
        ir.UnknownType(),
        ir.TupleType([INDEX, tile]),
        ir.ArrayType(ir.INT32, 4),
        ir.MemRefType(),
        ir.WindowBufferType(),
        ir.CommCtxType(),
        ir.PrefetchAsyncContextType(),
        ir.AsyncEventType(),
        ir.AsyncSessionType(),
        distributed,
        ir.TensorType([4, 8], ir.FP32),
    ]
    params = [n, x, flag, (ptr, ir.ParamDirection.InOut)]
    params += [(var(f"p{i}", type_), ir.ParamDirection.Out) for i, type_ in enumerate(types)]
    t, w = var("t", tile), var("w", distributed)
    attrs = {
        "count": 3,
        "on": True,
        "ratio": 0.5,
        "text": 'a "quoted" \u00e9',
        "dtype": ir.BF16,
        "space": ir.MemorySpace.Mat,
        "layout": ir.TensorLayout.DN,
        "dump_vars": [x, flag],
        "device": n,
        "arg_directions": [ir.ArgDirection.Input, ir.ArgDirection.Scalar],
        "arg_direction_overrides": [0],
        "empty": [],
    }
    call = ir.Call(ir.Op("tile.load"), [x, n], {"mode": 2, "pad": ir.PadValue.max}, attrs, tile, PLACE)
    operators: list[ir.Stmt] = [ir.EvalStmt(kind(n, ir.ConstInt(3, ir.INT64, PLACE), ir.INDEX, PLACE), PLACE) for kind in BINARY]
    operators += [ir.EvalStmt(kind(n, ir.INT32, PLACE), PLACE) for kind in UNARY]
    pair = ir.MakeTuple([n, ir.ConstFloat(float("nan"), ir.FP16, PLACE), ir.ConstBool(True, PLACE)], PLACE)
    submit = ir.Submit(ir.GlobalVar("kernel"), [x], [], {"k": 1}, {}, TASK, PLACE, core_num=n, sync_start=True, predicate=flag)
    acc, count = ir.IterArg("acc", INDEX, n, PLACE), ir.IterArg("count", INDEX, n, PLACE)
    loop_body = ir.SeqStmts([ir.ContinueStmt(PLACE), ir.YieldStmt([acc], PLACE)], PLACE)
    loop = ir.ForStmt(var("i"), 0, n, 2, [acc], loop_body, [var("total")], PLACE, ir.ForKind.Pipeline, {"pipeline_stages": 2})
    repeat = ir.WhileStmt(ir.Gt(count, n, ir.BOOL), [count], ir.YieldStmt([count], PLACE), [var("rest")], PLACE)
    branch = ir.IfStmt(flag, ir.YieldStmt([n], PLACE), ir.YieldStmt([n], PLACE), [var("either")], PLACE)
    scopes: list[ir.Stmt] = [
        ir.InCoreScopeStmt(ir.SplitMode.UP_DOWN, "core", body=ir.BreakStmt(PLACE), span=PLACE).with_attrs({"slot_num": 2}),
        ir.ClusterScopeStmt("cluster", body=ir.BreakStmt(PLACE)),
        ir.HierarchyScopeStmt(ir.Level.HOST, ir.Role.SubWorker, "level", body=ir.BreakStmt(PLACE)),
        ir.SpmdScopeStmt(n, True, "spmd", body=ir.BreakStmt(PLACE)),
        ir.SplitAivScopeStmt(ir.SplitMode.LEFT_RIGHT, body=ir.BreakStmt(PLACE)),
        ir.RuntimeScopeStmt(True, "manual", body=ir.BreakStmt(PLACE)),
    ]
    body: list[ir.Stmt] = [
        ir.attach_leading_comments(ir.AssignStmt(t, call, PLACE), ["# load", "# twice"]),
        ir.AssignStmt(w, ir.Call(ir.Op("pld.tensor.window"), [ptr], distributed, PLACE), PLACE),
        ir.EvalStmt(ir.TupleGetItemExpr(pair, 1, PLACE), PLACE),
        ir.EvalStmt(ir.Call(ir.Op("tile.alloc"), [ptr, window], PLACE), PLACE),
        ir.EvalStmt(submit, PLACE),
        *operators,
        loop,
        repeat,
        branch,
        *scopes,
        attach_trailing_comments(ir.InlineStmt("print(1)\n", ir.InlineLanguage.Python, PLACE), ["# end of inline"]),
        ir.ReturnStmt([n], PLACE),
    ]
    domain = ir.CommDomainScopeStmt([0, 1], [window], "comm_d0", body=ir.SeqStmts(body, PLACE), span=PLACE)
    main = ir.Function(
        "main", params, [tile, INDEX], domain, PLACE, level=ir.Level.HOST, attrs={"split": 1}, requires_runtime_binding=True
    )
    kernel = ir.Function("kernel", [var("a")], [], ir.SeqStmts([], PLACE), PLACE, type=ir.FunctionType.InCore)
    return ir.Program([main, kernel], "everything", PLACE)
