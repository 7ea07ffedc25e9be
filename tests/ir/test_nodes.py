"""Constructors, their defaults and their errors; what attributes store; what types make of their arguments."""

from __future__ import annotations

import pytest

from pypto import ir
from pypto.diagnostics import InvalidValueError

UNKNOWN = ir.Span.unknown()
INDEX = ir.ScalarType(ir.INDEX)
TILE = ir.TileType([16, 16], ir.FP32)


def const(value: int, dtype: ir.DataType = ir.INDEX) -> ir.ConstInt:
    return ir.ConstInt(value, dtype, UNKNOWN)


# --- expressions -----------------------------------------------------------------------------------------------------------------


def test_variables_are_their_objects() -> None:
    a, b = ir.Var("x", INDEX, UNKNOWN), ir.Var("x", INDEX, UNKNOWN)
    assert a is not b
    assert b.unique_id > a.unique_id
    assert ir.IterArg("acc", INDEX, const(0), UNKNOWN).initValue.value == 0


def test_constants() -> None:
    assert const(-5, ir.INT8).dtype is ir.INT8
    assert ir.ConstBool(True, UNKNOWN).dtype is ir.BOOL
    assert isinstance(ir.ConstFloat(1, ir.FP16, UNKNOWN).value, float)
    for value in (-(1 << 63) - 1, 1 << 64):
        with pytest.raises(InvalidValueError, match="64 bits"):
            const(value)


def test_call_forms() -> None:
    op, x = ir.Op("tile.x"), ir.Var("x", TILE, UNKNOWN)
    assert isinstance(ir.Call(op, [x], UNKNOWN).type, ir.UnknownType)
    assert ir.Call(op, [x], TILE, UNKNOWN).type is TILE
    assert dict(ir.Call(op, [x], {"axis": 1}, UNKNOWN).kwargs) == {"axis": 1}
    assert ir.Call(op, [x], {"axis": 1}, TILE, UNKNOWN).type is TILE
    call = ir.Call(op, [x], {}, {"arg_directions": [ir.ArgDirection.Input]}, TILE, UNKNOWN)
    assert call.arg_directions == [ir.ArgDirection.Input]
    assert ir.Call(op, [x], UNKNOWN).arg_directions == []
    with pytest.raises(TypeError, match="arg_directions"):
        ir.Call(op, [x], {}, {"arg_directions": [ir.ArgDirection.Input] * 2}, TILE, UNKNOWN)
    with pytest.raises(TypeError, match="expression"):
        ir.Call(op, [1], UNKNOWN)


def test_submit() -> None:
    op, x = ir.GlobalVar("kernel"), ir.Var("x", TILE, UNKNOWN)
    task = ir.ScalarType(ir.TASK_ID)
    made = ir.Submit(op, [x], [], {}, {}, task, UNKNOWN, core_num=4, sync_start=True)
    assert (made.core_num.value, made.core_num.dtype, made.sync_start) == (4, ir.INDEX, True)
    with pytest.raises(ValueError, match="core_num"):
        ir.Submit(op, [x], [], {}, {}, task, UNKNOWN, sync_start=True)
    with pytest.raises(ValueError, match="integer"):
        ir.Submit(op, [x], [], {}, {}, task, UNKNOWN, core_num=ir.ConstFloat(1.0, ir.FP32, UNKNOWN))


def test_tuples() -> None:
    made = ir.MakeTuple([const(1), ir.ConstFloat(2.0, ir.FP32, UNKNOWN)], UNKNOWN)
    assert made.type is ir.TupleType([INDEX, ir.ScalarType(ir.FP32)])
    assert ir.TupleGetItemExpr(made, 1, UNKNOWN).type is ir.ScalarType(ir.FP32)
    for index in (-1, 2):
        with pytest.raises(ValueError, match="outside"):
            ir.TupleGetItemExpr(made, index, UNKNOWN)
    with pytest.raises(ValueError, match="tuple"):
        ir.TupleGetItemExpr(const(1), 0, UNKNOWN)


def test_window_buffer() -> None:
    base = ir.Var("buf", ir.PtrType(), UNKNOWN)
    window = ir.WindowBuffer(base, const(1024))
    assert (window.name_hint, window.load_from_host, window.store_to_host) == ("buf", False, False)
    assert window.type is ir.WindowBufferType.get()
    with pytest.raises(TypeError):
        ir.WindowBuffer(ir.Var("x", INDEX, UNKNOWN), const(4))


def test_memref_forms() -> None:
    assert ir.MemRef().is_pinned_
    assert ir.MemRef("pool").base_.name_hint == "pool"
    base = ir.Var("pool", ir.PtrType(), UNKNOWN)
    view = ir.MemRef(base, 64, 128)
    assert (view.byte_offset_.value, view.byte_offset_.dtype, view.size_, view.is_pinned_) == (64, ir.INT64, 128, False)
    assert ir.MemRef(0, 64, 3).base_.name_hint == "mem_3"
    assert ir.MemRef(ir.MemorySpace.Vec, 0, 64, 3).base_.name_hint == "mem_vec_3"
    assert ir.MemRef.same_allocation(view, ir.MemRef(base, 0, 64))
    assert not ir.MemRef.may_alias(view, ir.MemRef(base, 0, 64))
    assert ir.MemRef.may_alias(view, ir.MemRef(base, 100, 64))
    slots = ir.MemRef("ring", slots=2)
    assert slots[1].slot_index_.value == 1
    for build in (lambda: ir.MemRef(slots=0), lambda: slots[2], lambda: ir.MemRef()[0]):
        with pytest.raises(ValueError, match="slot"):
            build()


# --- attributes ------------------------------------------------------------------------------------------------------------------

VAR = ir.Var("x", INDEX, UNKNOWN)


@pytest.mark.parametrize(
    ("key", "given", "stored"),
    [
        ("flag", True, True),
        ("count", 3, 3),
        ("text", "abc", "abc"),
        ("value", 0.5, 0.5),
        ("dtype", ir.BF16, ir.BF16),
        ("space", ir.MemorySpace.Vec, ir.MemorySpace.Vec),
        ("layout", ir.TensorLayout.DN, ir.TensorLayout.DN),
        ("tile", ir.TileLayout.row_major, ir.TileLayout.row_major),
        ("pad", ir.PadValue.zero, ir.PadValue.zero),
        ("dir", ir.ArgDirection.InOut, ir.ArgDirection.InOut),
        ("pipe", ir.PipeType.MTE3, 2),
        ("core", ir.CoreType.CUBE, 1),
        ("split", ir.SplitMode.LEFT_RIGHT, 2),
        ("op", ir.NotifyOp.Set, 1),
        ("cmp", ir.WaitCmp.Ge, 1),
        ("atomic", ir.AtomicType.Add, 1),
        ("reduce", ir.ReduceOp.Prod, 3),
        ("expr", VAR, VAR),
        ("arg_direction_overrides", [0, 2], [0, 2]),
        ("arg_direction_overrides", [], []),
        ("dump_vars", [], []),
        ("manual_dep_edges", [VAR], [VAR]),
        ("anything", [VAR], [VAR]),
        ("arg_directions", [ir.ArgDirection.Scalar], [ir.ArgDirection.Scalar]),
        ("anything", [], []),
    ],
)
def test_attribute_storage(key: str, given: object, stored: object) -> None:
    value = ir.normalize_attrs({key: given})[key]
    assert type(value) is type(stored)
    if isinstance(stored, list):
        assert len(value) == len(stored)
        assert all(a is b or a == b for a, b in zip(value, stored, strict=True))
    else:
        assert value is stored or value == stored


@pytest.mark.parametrize(
    ("attrs", "error"),
    [
        ({"x": 1 << 31}, ValueError),
        ({"x": -(1 << 31) - 1}, ValueError),
        ([("x", 1), ("x", 2)], ValueError),
        ({"x": object()}, TypeError),
        ({"x": {"nested": 1}}, TypeError),
        ({"dump_vars": ["name"]}, TypeError),
        ({"x": [VAR, 1]}, TypeError),
    ],
)
def test_attribute_errors(attrs: object, error: type[Exception]) -> None:
    with pytest.raises(error):
        ir.normalize_attrs(attrs)


# --- types -----------------------------------------------------------------------------------------------------------------------


def test_types_are_interned_and_structural() -> None:
    assert ir.TileType([16, 16], ir.FP32) is TILE
    assert ir.ScalarType(ir.INT8) is ir.ScalarType(ir.INT8)
    n = ir.Var("n", INDEX, UNKNOWN)
    left, right = ir.TensorType([n, 16], ir.FP32), ir.TensorType([n, 16], ir.FP32)
    assert left is not right
    assert left == right
    assert hash(left) == hash(right)
    assert left != ir.TensorType([ir.Var("n", INDEX, UNKNOWN), 16], ir.FP32)
    assert ir.TensorType([4], ir.FP32) != ir.DistributedTensorType([4], ir.FP32)
    assert isinstance(ir.DistributedTensorType([4], ir.FP32), ir.TensorType)
    assert ir.PtrType() is ir.PtrType.get()


def test_valid_shape_equal_to_shape_is_dropped() -> None:
    view = ir.TensorView(valid_shape=[4, 8], layout=ir.TensorLayout.ND)
    assert ir.TensorType([4, 8], ir.FP32, None, view).tensor_view is None
    tile = ir.TileType([4, 8], ir.FP32, None, ir.TileView(valid_shape=[4, 8], pad=ir.PadValue.zero))
    assert tile.tile_view.valid_shape == []


def test_trivial_and_implicit_views_are_dropped() -> None:
    assert ir.TensorType([4, 8], ir.FP32, None, ir.TensorView()).tensor_view is None
    with pytest.raises(ValueError, match="layout"):
        ir.TensorView(stride=[1])
    column = ir.TileView(blayout=ir.TileLayout.col_major)
    assert ir.TileType([16, 1], ir.FP32, None, column, ir.MemorySpace.Vec).tile_view is None
    assert ir.TileType([1, 16], ir.FP32, None, column, ir.MemorySpace.Vec).tile_view is not None


IMPLICIT = [
    (None, "row_major", "none_box", 512),
    (ir.MemorySpace.Vec, "row_major", "none_box", 512),
    (ir.MemorySpace.DDR, "row_major", "none_box", 512),
    (ir.MemorySpace.Mat, "col_major", "row_major", 512),
    (ir.MemorySpace.Left, "col_major", "row_major", 512),
    (ir.MemorySpace.Right, "row_major", "col_major", 512),
    (ir.MemorySpace.LeftScale, "row_major", "row_major", 32),
    (ir.MemorySpace.RightScale, "col_major", "col_major", 32),
    (ir.MemorySpace.Acc, "col_major", "row_major", 1024),
]


@pytest.mark.parametrize(("space", "blayout", "slayout", "fractal"), IMPLICIT)
def test_implicit_tile_view(space: ir.MemorySpace | None, blayout: str, slayout: str, fractal: int) -> None:
    view = ir.TileType([32, 16], ir.FP16, memory_space=space).get_effective_tile_view()
    assert (view.blayout.name, view.slayout.name, view.fractal) == (blayout, slayout, fractal)
    assert [dim.value for dim in view.valid_shape] == [32, 16]


def test_type_errors() -> None:
    for build in (
        lambda: ir.TensorType([-1], ir.FP32),
        lambda: ir.TensorType([3], ir.FP4),
        lambda: ir.ArrayType(ir.FP32, 4),
        lambda: ir.ArrayType(ir.INT32, 0),
    ):
        with pytest.raises(InvalidValueError):
            build()
    for build in (lambda: ir.TensorType(["n"], ir.FP32), lambda: ir.TensorType([4], "fp32"), lambda: ir.TupleType([4])):
        with pytest.raises(TypeError):
            build()
    memref = ir.MemRef(ir.MemorySpace.Mat, 0, 64, 1)
    assert ir.TileType([4], ir.FP32, memref).memory_space is ir.MemorySpace.Mat
    with pytest.raises(ValueError, match="memory space"):
        ir.TileType([4], ir.FP32, ir.MemRef("pool"))


def test_a_type_copies_its_view() -> None:
    view = ir.TensorView(stride=[1, 4], layout=ir.TensorLayout.DN)
    made = ir.TensorType([4, 8], ir.FP32, None, view)
    view.layout = ir.TensorLayout.ND
    assert made.tensor_view.layout is ir.TensorLayout.DN


# --- statements, functions, programs ---------------------------------------------------------------------------------------------


def test_statement_details() -> None:
    seq = ir.SeqStmts([ir.BreakStmt(UNKNOWN), ir.ContinueStmt(UNKNOWN)], UNKNOWN)
    assert isinstance(seq[-1], ir.ContinueStmt)
    with pytest.raises(IndexError):
        seq[2]
    with pytest.raises(ValueError, match="sequence"):
        ir.attach_leading_comments(seq, ["no"])
    stmt = ir.attach_leading_comments(seq[0], ["yes"])
    assert stmt is seq[0]
    assert stmt.leading_comments == ["yes"]
    with pytest.raises(ValueError, match="2 lanes"):
        ir.SplitAivScopeStmt(ir.SplitMode.UP_DOWN, 3, body=seq)
    with pytest.raises(TypeError):
        ir.ForStmt(VAR, 0, 4, 1, [], seq, [], UNKNOWN, attrs={"x": ir.FP32})


PLACES = [
    (ir.FunctionType.Orchestration, ir.Level.CHIP, ir.Role.Orchestrator),
    (ir.FunctionType.Graph, ir.Level.CHIP, ir.Role.Orchestrator),
    (ir.FunctionType.InCore, ir.Level.CHIP_DIE, ir.Role.SubWorker),
    (ir.FunctionType.AIC, ir.Level.AIC, ir.Role.SubWorker),
    (ir.FunctionType.AIV, ir.Level.AIV, ir.Role.SubWorker),
    (ir.FunctionType.Group, ir.Level.CORE_GROUP, ir.Role.SubWorker),
    (ir.FunctionType.Opaque, None, None),
    (ir.FunctionType.Spmd, None, None),
    (ir.FunctionType.Inline, None, None),
]


@pytest.mark.parametrize(("kind", "level", "role"), PLACES)
def test_level_and_role_follow_from_the_type(kind: ir.FunctionType, level: object, role: object) -> None:
    made = ir.Function("f", [], [], ir.SeqStmts([], UNKNOWN), UNKNOWN, type=kind)
    assert (made.level, made.role) == (level, role)


def test_function_and_program() -> None:
    body = ir.SeqStmts([], UNKNOWN)
    with pytest.raises(ValueError, match="level"):
        ir.Function("f", [], [], body, UNKNOWN, type=ir.FunctionType.InCore, level=ir.Level.CHIP)
    host = ir.Function("host", [], [], body, UNKNOWN, level=ir.Level.HOST, role=ir.Role.Orchestrator)
    assert host.is_host_orchestrator
    split = ir.Function("s", [(VAR, ir.ParamDirection.Out)], [], body, UNKNOWN, attrs={"split": ir.SplitMode.UP_DOWN})
    assert split.split is ir.SplitMode.UP_DOWN
    assert split.param_directions == [ir.ParamDirection.Out]
    assert host.split is None
    program = ir.Program([split, host], "p", UNKNOWN)
    assert [key.name for key in program.functions] == ["host", "s"]
    assert program["s"] is program.get_function("s") is split
    assert program.get_global_var("s") == ir.GlobalVar("s")
    assert program["none"] is program.get_global_var("none") is None
    with pytest.raises(ValueError, match="called 's'"):
        ir.Program([split, split], "p", UNKNOWN)


def test_nodes_are_read_only_in_tests() -> None:
    with pytest.raises(AttributeError, match="read-only"):
        VAR.name_hint = "other"
    assert VAR.replace(name_hint="other").name_hint == "other"
    with pytest.raises(AttributeError, match="no field"):
        VAR.replace(nothing=1)


def test_dtype_facts() -> None:
    assert (ir.FP4.get_bit(), ir.FP4.get_byte(), ir.BF16.to_string(), ir.BF16.code) == (4, 1, "bfloat16", 0x40)
    assert ir.INDEX.is_signed_int()
    assert not ir.BOOL.is_int()
    assert ir.DataType.DEFAULT_CONST_INT is ir.INT64
    assert ir.DataType.DEFAULT_CONST_FLOAT is ir.FP32
    assert ir.DYNAMIC_DIM == -1
