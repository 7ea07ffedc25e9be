"""Windows, topology and signals: what the operators take, what they refuse, what they do to their operands, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto.diagnostics import Error, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgEffect, NotifyOp, WaitCmp
from pypto.ir.expr import Call, Cast, ConstInt, MakeTuple, Var, index_const
from pypto.ir.op import create_op_call
from pypto.ir.types import CommCtxType, DistributedTensorType, PtrType, ScalarType, UnknownType
from pypto.ops.declare import ArityError, KeywordError, OperandError, OperandTypeError, RankCount, values_from_passes
from pypto.ops.reference import notes
from pypto.ops.region import BoundsError
from tests.ops.operands import call, declared, distributed, run, scalar, tensor, tile

FP32, INT32, INT64, INDEX = DataType.FP32, DataType.INT32, DataType.INT64, DataType.INDEX
SIGNAL = distributed([4, 1], INT32)
POINTER = Var("buf", PtrType())
CONTEXT = Var("ctx", CommCtxType())


def direct(name: str, /, *args: Any, **kwargs: Any) -> Call:
    """A call of IR operands, as passes make it."""
    return create_op_call(name, [*args], kwargs)


def cell(*entries: Any) -> MakeTuple:
    return MakeTuple([index_const(e) if isinstance(e, int) else e for e in entries])


# -- forms and results -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leaf", ["rank", "nranks"])
def test_topology_results(leaf: str) -> None:
    assert call("pld.system.get_comm_ctx", SIGNAL).type is CommCtxType()
    assert call(f"pld.system.{leaf}", CONTEXT).type is ScalarType(INT32)
    made = call("pld.system.world_size")
    assert made.type is ScalarType(INT64)
    assert (list(made.args), dict(made.kwargs)) == ([], {})


def test_a_window() -> None:
    rows = scalar("rows")
    made = call("pld.tensor.window", POINTER, [rows, 16], dtype=FP32)
    assert isinstance(made.type, DistributedTensorType)
    assert made.type == DistributedTensorType([rows, 16], FP32)
    assert made.type.window_buffer is None
    assert dict(made.kwargs) == {"dtype": FP32}
    assert len(made.args) == 2


@pytest.mark.parametrize(
    ("shape", "dtype", "size"),
    [
        ([2, 128], FP32, 1024),
        ([3], DataType.FP16, 6),
        ([1, 1, 1], DataType.INT8, 1),
        ([5], DataType.FP4, 5),
        ((4, 4), INT64, 128),
    ],
)
def test_the_bytes_of_a_constant_shape(shape: Any, dtype: DataType, size: int) -> None:
    declaration = declared("pld.tensor.alloc_window_buffer")
    made = declaration.build([shape, dtype, "data"])
    assert made.type is PtrType()
    assert dict(made.kwargs) == {"name": "data"}
    (only,) = made.args
    assert isinstance(only, ConstInt)
    assert (only.value, only.dtype) == (size, INT64)


def test_the_bytes_of_a_symbolic_shape_are_a_chain_of_int64() -> None:
    rows, columns = scalar("rows"), scalar("columns", INT64)
    made = declared("pld.tensor.alloc_window_buffer").build([[rows, columns, 4], FP32, "data"])
    assert ir.python_print(made.args[0]) == "pl.cast(rows, pl.INT64) * columns * pl.const(4, pl.INT64) * pl.const(4, pl.INT64)"
    assert made.args[0].type is ScalarType(INT64)


def test_a_scalar_size_stays_as_it_is() -> None:
    size = index_const(256) * index_const(4)
    made = declared("pld.tensor.alloc_window_buffer").build([size, None, "data"])
    assert made.args[0] is size


def test_forms_of_notify_and_wait() -> None:
    made = call("pld.system.notify", SIGNAL, 1, [0, 0], 5, op=NotifyOp.Set)
    assert made.type is UnknownType()
    assert [type(a) for a in made.args] == [Var, ConstInt, MakeTuple, ConstInt]
    assert dict(made.kwargs) == {"op": 1}
    assert type(made.kwargs["op"]) is int
    made = call("pld.system.wait", offsets=[0, 0], expected=5, cmp=WaitCmp.Ge, signal=SIGNAL)
    assert dict(made.kwargs) == {"cmp": 1}
    assert len(made.args) == 3
    assert dict(call("pld.system.defer_wait", SIGNAL, [0, 0], 2**31 - 1, cmp=1).kwargs) == {"cmp": 1}


@pytest.mark.parametrize("dtype", [INDEX, INT64, DataType.INT8, DataType.UINT16])
@pytest.mark.parametrize(("leaf", "at"), [("notify", 3), ("wait", 2), ("defer_wait", 2)])
def test_a_value_that_is_no_constant_becomes_int32(leaf: str, at: int, dtype: DataType) -> None:
    value = scalar("e", dtype)
    if leaf == "notify":
        made = call("pld.system.notify", SIGNAL, 1, [0, 0], value, op=0)
    else:
        made = call(f"pld.system.{leaf}", SIGNAL, [0, 0], value, cmp=1)
    cast = made.args[at]
    assert isinstance(cast, Cast)
    assert cast.operand is value
    assert cast.type is ScalarType(INT32)


def test_an_int32_value_is_not_converted() -> None:
    value = scalar("e", INT32)
    assert call("pld.system.notify", SIGNAL, 1, [0, 0], value, op=0).args[3] is value


# -- refused ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "args", "kwargs", "error", "words"),
    [
        ("system.world_size", [index_const(1)], {}, ArityError, "takes 0 operands, got 1"),
        ("system.world_size", [], {"rank": 0}, InvalidValueError, "no keyword 'rank'"),
        ("system.get_comm_ctx", [], {}, ArityError, "takes 1 operands, got 0"),
        ("system.get_comm_ctx", [SIGNAL, SIGNAL], {}, ArityError, "takes 1 operands, got 2"),
        ("system.get_comm_ctx", [SIGNAL], {"level": 1}, InvalidValueError, "no keyword 'level'"),
        ("system.get_comm_ctx", [tensor([4])], {}, OperandTypeError, "DistributedTensor as 'dist_tensor', got FP32 tensor"),
        ("system.rank", [SIGNAL], {}, OperandTypeError, "CommCtx as 'ctx', got INT32 distributed tensor"),
        ("system.nranks", [scalar()], {}, OperandTypeError, "CommCtx as 'ctx', got INDEX scalar"),
        ("tensor.window", [SIGNAL, cell(4)], {"dtype": FP32}, OperandTypeError, "Ptr as 'buf'"),
        ("tensor.window", [POINTER, cell(4)], {}, ArityError, "needs 'dtype'"),
        ("tensor.window", [POINTER, cell(4)], {"dtype": 1}, TypeError, "a DataType as 'dtype', got 1"),
        ("tensor.window", [POINTER, cell()], {"dtype": FP32}, OperandError, "at least 1 dimension"),
        ("tensor.window", [POINTER, cell(4, 0)], {"dtype": FP32}, OperandError, "positive extents"),
        ("tensor.alloc_window_buffer", [index_const(4)], {}, ArityError, "needs 'name'"),
        ("tensor.alloc_window_buffer", [index_const(4)], {"name": ""}, KeywordError, "'name' that is not empty"),
        ("tensor.alloc_window_buffer", [index_const(4)], {"name": "a", "dtype": FP32}, KeywordError, "size in bytes"),
        ("tensor.alloc_window_buffer", [index_const(0)], {"name": "a"}, OperandError, "positive number of bytes, got 0"),
        ("tensor.alloc_window_buffer", [scalar("n", FP32)], {"name": "a"}, OperandError, "integer as 'size'"),
        ("tensor.alloc_window_buffer", [cell(4)], {"name": "a"}, OperandTypeError, "Scalar as 'size', got tuple"),
        ("system.notify", [SIGNAL, index_const(1), cell(0, 0), index_const(1)], {}, ArityError, "needs 'op'"),
        ("system.notify", [SIGNAL, index_const(1), cell(0, 0)], {"op": 0}, ArityError, "takes 4 operands, got 3"),
        ("system.notify", [SIGNAL, index_const(1), cell(0, 0), index_const(1)], {"op": 2}, KeywordError, "'op' as one of"),
        (
            "system.notify",
            [SIGNAL, index_const(1), cell(0, 0), index_const(1)],
            {"op": True},
            TypeError,
            "NotifyOp as 'op', got True",
        ),
        (
            "system.notify",
            [tensor([4, 1], INT32), index_const(1), cell(0, 0), index_const(1)],
            {"op": 0},
            OperandTypeError,
            "'target'",
        ),
        (
            "system.notify",
            [tile([4, 1], INT32), index_const(1), cell(0, 0), index_const(1)],
            {"op": 0},
            OperandTypeError,
            "'target'",
        ),
        ("system.notify", [SIGNAL, index_const(1), cell(0), index_const(1)], {"op": 0}, OperandError, "needs 2 offsets"),
        (
            "system.notify",
            [SIGNAL, index_const(-1), cell(0, 0), index_const(1)],
            {"op": 0},
            OperandError,
            "a rank from 0 as 'peer'",
        ),
        ("system.notify", [SIGNAL, scalar("b", DataType.BOOL), cell(0, 0), index_const(1)], {"op": 0}, OperandError, "'peer'"),
        ("system.notify", [SIGNAL, index_const(1), cell(0, 0), scalar("v", FP32)], {"op": 0}, OperandError, "integer as 'value'"),
        (
            "system.notify",
            [SIGNAL, index_const(1), cell(0, 0), index_const(2**31)],
            {"op": 0},
            OperandError,
            "'value' as an INT32",
        ),
        ("system.wait", [SIGNAL, cell(0, 0), index_const(1)], {}, ArityError, "needs 'cmp'"),
        ("system.wait", [SIGNAL, cell(0, 0), index_const(1)], {"cmp": 2}, KeywordError, "'cmp' as one of"),
        ("system.wait", [SIGNAL, cell(0, 0, 0), index_const(1)], {"cmp": 1}, OperandError, "needs 2 offsets"),
        ("system.wait", [SIGNAL, cell(0, 0), index_const(-(2**31) - 1)], {"cmp": 1}, OperandError, "'expected' as an INT32"),
        ("system.wait", [tensor([4, 1], INT32), cell(0, 0), index_const(1)], {"cmp": 1}, OperandTypeError, "'signal'"),
        ("system.defer_wait", [SIGNAL, cell(0, 0), index_const(1)], {"cmp": 0}, KeywordError, "WaitCmp.Ge only"),
        ("system.defer_wait", [SIGNAL, cell(0, 0), index_const(-1)], {"cmp": 1}, OperandError, "'expected' from 0"),
        (
            "system.defer_wait",
            [distributed([4, 1]), cell(0, 0), index_const(1)],
            {"cmp": 1},
            OperandError,
            "INT32 distributed tensor",
        ),
    ],
)
def test_refused_as_ir(name: str, args: list[Any], kwargs: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        direct(f"pld.{name}", *args, **kwargs)
    assert isinstance(caught.value, Error)
    assert caught.value.message.startswith(f"pld.{name}")
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("bound", "error", "words"),
    [
        (["shape", None], ArityError, "needs 'dtype' with a shape"),
        ([64, FP32], ArityError, "'dtype' with a shape only"),
        ([[], FP32], OperandError, "no empty shape"),
        ([[4, 0], FP32], OperandError, "positive extents, got 0"),
        ([[4, -2], FP32], OperandError, "positive extents, got -2"),
        ([[4, 1.5], FP32], OperandError, "integers as extents, got FP32 scalar"),
        ([[4, True], FP32], OperandError, "integers as extents, got BOOL scalar"),
        ([[4, [4]], FP32], OperandError, "integers as extents, got tuple"),
        ([2.5, None], OperandError, "integer as 'size'"),
    ],
)
def test_refused_sizes(bound: list[Any], error: type[Exception], words: str) -> None:
    size = [4, 4] if bound[0] == "shape" else bound[0]
    with pytest.raises(error, match=words):
        declared("pld.tensor.alloc_window_buffer").build([size, bound[1], "data"])


def test_a_size_that_fits_no_integer() -> None:
    with pytest.raises(InvalidValueError, match="does not fit 64 bits"):
        declared("pld.tensor.alloc_window_buffer").build([[2**31, 2**31, 2**31], FP32, "data"])


@pytest.mark.parametrize(
    ("name", "args", "kwargs"),
    [
        ("notify", [SIGNAL, index_const(-1), cell(0, 0), index_const(2**40)], {"op": 0}),
        ("wait", [SIGNAL, cell(0, 0), index_const(2**40)], {"cmp": 1}),
        ("defer_wait", [SIGNAL, cell(0, 0), index_const(-1)], {"cmp": 1}),
    ],
)
def test_constants_that_passes_leave_in_dead_branches(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    declaration = declared(f"pld.system.{name}")
    with pytest.raises(OperandError):
        declaration.deduce_type(args, kwargs)
    assert declaration.retyped(args, kwargs) is UnknownType()
    with values_from_passes(), values_from_passes():
        assert declaration.deduce_type(args, kwargs) is UnknownType()
    with pytest.raises(OperandError):
        declaration.deduce_type(args, kwargs)


# -- facts -----------------------------------------------------------------------------------------------------------------------


def test_effects() -> None:
    notify = declared("pld.system.notify")
    assert notify.arg_effect(0, {"op": 1}) is ArgEffect.Write
    assert notify.arg_effect(0, {"op": 0}) is ArgEffect.ReadWrite
    assert ir.get_op_arg_effect("pld.system.notify", 0, op=NotifyOp.Set) is ArgEffect.Write
    assert ir.get_op_arg_effect("pld.system.notify", 0, op=NotifyOp.AtomicAdd) is ArgEffect.ReadWrite
    for name in ("notify", "wait", "defer_wait"):
        declaration = declared(f"pld.system.{name}")
        assert declaration.communicates
        assert {declaration.arg_effect(at, {"op": 0}) for at in range(1, len(declaration.operand_params))} == {ArgEffect.Read}
    assert declared("pld.system.wait").arg_effect(0, {"cmp": 1}) is ArgEffect.Read
    for name in ("world_size", "get_comm_ctx", "rank", "nranks"):
        assert not declared(f"pld.system.{name}").communicates


@pytest.mark.parametrize(
    ("signal", "offsets", "expected"),
    [
        ([4, 1], [scalar(), index_const(0)], RankCount(1, 4)),
        ([4], [scalar()], RankCount(1, 4)),
        ([4, 1], [index_const(2), index_const(0)], RankCount()),
        ([4, 2], [scalar(), index_const(0)], RankCount()),
        ([scalar("n"), 1], [scalar(), index_const(0)], RankCount()),
    ],
)
def test_ranks_that_a_signal_has_room_for(signal: list[Any], offsets: list[Any], expected: RankCount) -> None:
    operand = distributed(signal, INT32)
    assert declared("pld.system.wait").ranks is not None
    made = call("pld.system.wait", operand, offsets, 1, cmp=1)
    assert declared("pld.system.wait").ranks(made.args, made.kwargs) == expected  # type: ignore[misc]
    made = call("pld.system.notify", operand, 0, offsets, 1, op=1)
    assert declared("pld.system.notify").ranks(made.args, made.kwargs) == expected  # type: ignore[misc]


# -- meaning ---------------------------------------------------------------------------------------------------------------------


def signal(value: int) -> Any:
    made = np.zeros((4, 1), np.int32)
    made[2, 0] = value
    return made


@pytest.mark.parametrize(
    ("before", "value", "op", "after"),
    [
        (5, 3, NotifyOp.AtomicAdd, 8),
        (5, 3, NotifyOp.Set, 3),
        (5, -7, NotifyOp.AtomicAdd, -2),
        (2**31 - 1, 1, NotifyOp.AtomicAdd, -(2**31)),
        (-(2**31), -1, NotifyOp.AtomicAdd, 2**31 - 1),
        (0, -(2**31), NotifyOp.Set, -(2**31)),
    ],
)
def test_notify_changes_one_cell(before: int, value: int, op: NotifyOp, after: int) -> None:
    cells = signal(before)
    notify: Any = declared("pld.system.notify").meaning
    assert notify(cells, (2, 0), value, op=int(op)) is cells
    np.testing.assert_array_equal(cells, signal(after))
    assert cells.dtype == np.int32


@pytest.mark.parametrize(
    ("value", "expected", "cmp", "over"),
    [
        (3, 3, WaitCmp.Ge, True),
        (4, 3, WaitCmp.Ge, True),
        (2, 3, WaitCmp.Ge, False),
        (3, 3, WaitCmp.Eq, True),
        (4, 3, WaitCmp.Eq, False),
        (-1, 0, WaitCmp.Ge, False),
        (0, -1, WaitCmp.Ge, True),
    ],
)
@pytest.mark.parametrize("leaf", ["wait", "defer_wait"])
def test_when_a_wait_is_over(leaf: str, value: int, expected: int, cmp: WaitCmp, over: bool) -> None:
    is_over: Any = declared(f"pld.system.{leaf}").meaning
    found = is_over(signal(value), (2, 0), expected, cmp=int(cmp))
    assert found is over


@pytest.mark.parametrize("offsets", [(4, 0), (-1, 0), (0, 1), (0,), (0, 0, 0)])
def test_cells_outside(offsets: tuple[int, ...]) -> None:
    notify: Any = declared("pld.system.notify").meaning
    wait: Any = declared("pld.system.wait").meaning
    with pytest.raises(BoundsError, match=r"pld\.system\.notify"):
        notify(signal(0), offsets, 1, op=0)
    with pytest.raises(BoundsError, match=r"pld\.system\.wait"):
        wait(signal(0), offsets, 1, cmp=0)


class _World:
    """A door that remembers what it was asked for."""

    rank, nranks = 2, 5

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def context(self, window: Any) -> Any:
        self.asked.append(window)
        return self

    def world_size(self) -> int:
        return 7

    def allocate(self, size: int, name: str) -> Any:
        return ("room", size, name)

    def window(self, buffer: Any, shape: Any, dtype: DataType) -> Any:
        return (buffer, shape, dtype)


def test_meanings_that_ask_the_world() -> None:
    world = _World()
    meaning: Any = declared("pld.system.get_comm_ctx").meaning
    context = meaning("window", world=world)
    assert world.asked == ["window"]
    assert run(call("pld.system.rank", CONTEXT), context) == 2
    assert run(call("pld.system.nranks", CONTEXT), context) == 5
    meaning = declared("pld.system.world_size").meaning
    assert meaning(world=world) == 7
    meaning = declared("pld.tensor.alloc_window_buffer").meaning
    assert meaning(np.int64(64), name="data", world=world) == ("room", 64, "data")
    meaning = declared("pld.tensor.window").meaning
    assert meaning("room", (4, 4), dtype=FP32, world=world) == ("room", (4, 4), FP32)


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("pld.system.nranks", "pld.nranks"),
        ("pld.tensor.window", "pld.window"),
        ("pld.tile.remote_load", "pld.remote_load"),
        ("pld.tile.remote_store", "pld.remote_store"),
    ],
)
def test_the_reference_shows_short_forms_as_they_are_written(name: str, short: str) -> None:
    assert f"Also written {short}." in notes(declared(name))
