"""Transfers between ranks: arrangements of operands, types, what is refused, effects, and the elements that move."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto.diagnostics import Error, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgEffect, AtomicType, MemorySpace, TensorLayout
from pypto.ir.expr import Call, MakeTuple, Var, index_const
from pypto.ir.op import create_op_call
from pypto.ir.types import DistributedTensorType, TensorView, TileType, UnknownType
from pypto.ops.declare import ArityError, KeywordError, OperandError, OperandTypeError, ResultSpec
from pypto.ops.region import BoundsError
from pypto.ops.vocabulary import lookup
from tests.ops.operands import call, declared, distributed, numbers, run, scalar, shape_of, tensor, tile, valid_of

FP16, FP32, INT32 = DataType.FP16, DataType.FP32, DataType.INT32
WINDOW = distributed([4, 16])
HALF = distributed([1, 17], FP16)
SOURCE = tensor([4, 16])
STAGE = tile([1, 16])
REGION = ([0, 0], [0, 0], [1, 16])


def window_with(shape: list[Any], valid: list[Any], layout: TensorLayout = TensorLayout.ND, dtype: DataType = FP32) -> Var:
    return Var("d", DistributedTensorType(shape, dtype, None, TensorView([], layout, valid)))


def tuple_of(*entries: Any) -> MakeTuple:
    return MakeTuple([index_const(e) if isinstance(e, int) else e for e in entries])


def names_of(made: Call) -> list[str]:
    """What each operand of a call stands for."""
    return [p.name for p in declared(made.op.name).params_of(len(made.args))]


# -- remote load -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "offsets", "shape", "valid", "expected"),
    [
        (WINDOW, [0, 0], [1, 16], None, [1, 16]),
        (WINDOW, [3, 8], [1, 8], None, [1, 8]),
        (WINDOW, [0, 0], [1, 16], [1, 8], [1, 8]),
        (WINDOW, [3, 15], [4, 16], [1, 1], [1, 1]),
        (window_with([4, 16], [2, 8]), [0, 0], [4, 16], None, [2, 8]),
        (window_with([4, 16], [2, 8]), [1, 4], [2, 8], None, [1, 4]),
        (window_with([4, 16], [2, 8]), [3, 0], [1, 16], None, [0, 8]),
        (window_with([4, 16], [2, 8]), [0, 0], [4, 16], [1, 16], [1, 8]),
        (window_with([4, 16], [2, 8]), [0, 0], [4, 16], [0, 3], [0, 3]),
        (distributed([16]), [0], [16], None, [16]),
        (distributed([2, 3, 8]), [1, 2, 0], [1, 1, 8], [1, 1, 5], [1, 1, 5]),
    ],
)
def test_remote_load(source: Var, offsets: list[int], shape: list[int], valid: Any, expected: list[int]) -> None:
    made = call("pld.tile.remote_load", source, 1, offsets, shape, valid)
    assert isinstance(made.type, TileType)
    assert made.type.memory_space is MemorySpace.Vec
    assert made.type.dtype is FP32
    assert shape_of(made) == shape
    assert valid_of(made) == expected
    assert len(made.args) == (4 if valid is None else 5)
    assert dict(made.kwargs) == {}


def test_remote_load_with_extents_of_the_run() -> None:
    rows = scalar("rows")
    assert valid_of(call("pld.tile.remote_load", WINDOW, 0, [0, 0], [4, 16], [rows, 16])) == [rows, 16]
    made = call("pld.tile.remote_load", distributed([rows, 16]), 0, [scalar("at"), 0], [1, 16])
    assert valid_of(made) == [1, 16]
    made = call("pld.tile.remote_load", window_with([4, 16], [rows, 16]), 0, [0, 0], [4, 16])
    assert valid_of(made) == [rows, 16]


def test_the_private_spelling_reads_padding() -> None:
    spelling: Any = lookup("pld.tile._remote_load_with_physical_tail_padding")
    made = spelling.build(spelling.bind([HALF, 1, [0, 0], [1, 32], [1, 32]], {}))
    assert made.op is declared("pld.tile.remote_load")
    assert dict(made.kwargs) == {"allow_physical_tail_padding": True}
    assert (shape_of(made), valid_of(made)) == ([1, 32], [1, 32])
    assert valid_of(spelling.build(spelling.bind([HALF, 1, [0, 1], [1, 32], [1, 31]], {}))) == [1, 31]
    with pytest.raises(OperandError, match=r"\[1, 33\] at \[0, 0\], which lies outside"):
        spelling.build(spelling.bind([HALF, 1, [0, 0], [1, 48], [1, 33]], {}))
    # rows are never padded
    with pytest.raises(OperandError, match="lies outside"):
        spelling.build(spelling.bind([HALF, 1, [0, 0], [2, 16], [2, 16]], {}))


@pytest.mark.parametrize(
    ("source", "valid"),
    [(WINDOW, [1, 16]), (HALF, None), (distributed([17], FP16), [16]), (distributed([1, 1, 17], FP16), [1, 1, 16])],
)
def test_padding_needs_two_dimensional_halves_and_a_valid_shape(source: Var, valid: Any) -> None:
    rank = len(source.type.shape)  # type: ignore[attr-defined]
    operands = [source, index_const(0), tuple_of(*[0] * rank), tuple_of(*[1] * (rank - 1), 16)]
    if valid is not None:
        operands.append(tuple_of(*valid))
    with pytest.raises(OperandError, match="only of a 2-D FP16 tensor and with a valid shape"):
        create_op_call("pld.tile.remote_load", operands, {"allow_physical_tail_padding": True})


@pytest.mark.parametrize(
    ("positional", "error", "words"),
    [
        ([SOURCE, 0, [0, 0], [1, 16]], OperandTypeError, "DistributedTensor as 'target', got FP32 tensor"),
        ([STAGE, 0, [0, 0], [1, 16]], OperandTypeError, "DistributedTensor as 'target', got FP32 tile"),
        ([WINDOW, -1, [0, 0], [1, 16]], OperandError, "a rank from 0 as 'peer', got -1"),
        ([WINDOW, 0.0, [0, 0], [1, 16]], OperandError, "integer as 'peer'"),
        ([WINDOW, 0, [0], [1, 16]], OperandError, "needs 2 offsets"),
        ([WINDOW, 0, [0, 0], [16]], OperandError, "needs 2 extents"),
        ([WINDOW, 0, [0, 0], [1, 16], [16]], OperandError, "needs 2 valid extents"),
        ([WINDOW, 0, [0, 0], [0, 16]], OperandError, "positive extents"),
        ([WINDOW, 0, [-1, 0], [1, 16]], OperandError, "no negative offset"),
        ([WINDOW, 0, [0, 0], [1, 16], [1, -1]], OperandError, "no negative valid extent"),
        ([WINDOW, 0, [0, 0], [1, 16], [1, 17]], OperandError, "exceeds the shape"),
        ([WINDOW, 0, [4, 0], [1, 16]], OperandError, "lies outside"),
        ([WINDOW, 0, [0, 1], [1, 16]], OperandError, "lies outside"),
        ([WINDOW, 0, [0, 1], [1, 16], [1, 16]], OperandError, "lies outside"),
        ([WINDOW, 0, 0, [1, 16]], OperandTypeError, "list of integers as 'offsets'"),
        ([WINDOW, 0, [0, 0.5], [1, 16]], OperandTypeError, "integers in 'offsets'"),
        ([WINDOW, 0, [0, 0]], ArityError, "needs 'shape'"),
        ([window_with([4, 16], [4, 16], TensorLayout.MX_A_ZZ, DataType.UINT8), 0, [0, 0], [1, 16]], OperandError, "MX_A_ZZ"),
    ],
)
def test_refused_remote_loads(positional: list[Any], error: type[Error], words: str) -> None:
    with pytest.raises(error) as caught:
        call("pld.tile.remote_load", *positional)
    assert words in caught.value.message


# -- remote store ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("space", "source"), [("tile", STAGE), ("tensor", SOURCE)])
def test_remote_store(space: str, source: Var) -> None:
    made = call(f"pld.{space}.remote_store", source, WINDOW, 1, [0, 0])
    assert made.type is UnknownType()
    assert dict(made.kwargs) == {}
    assert dict(call(f"pld.{space}.remote_store", source, WINDOW, 1, [0, 0], atomic=AtomicType.None_).kwargs) == {}
    assert dict(call(f"pld.{space}.remote_store", source, WINDOW, 1, [0, 0], atomic=AtomicType.Add).kwargs) == {"atomic": 1}
    unified: Any = lookup("pld.remote_store")
    assert unified.build([source, WINDOW, 1, [0, 0]], {}).op.name == f"pld.{space}.remote_store"


@pytest.mark.parametrize(
    ("source", "target", "offsets"),
    [
        (tile([1, 1, 16]), WINDOW, [3, 0]),
        (tile([1, 16]), distributed([2, 4, 16]), [1, 3, 0]),
        (tile([4, 16], valid=[2, 8]), WINDOW, [2, 8]),
        (tile([8, 32], valid=[4, 16]), WINDOW, [0, 0]),
        (tile([1, 16]), distributed([scalar("n"), 16]), [scalar("at"), 0]),
    ],
)
def test_sources_that_fit(source: Var, target: Var, offsets: list[Any]) -> None:
    assert call("pld.tile.remote_store", source, target, 0, offsets).type is UnknownType()


@pytest.mark.parametrize("dtype", [FP32, FP16, DataType.BF16, INT32, DataType.INT16, DataType.INT8])
def test_types_that_add(dtype: DataType) -> None:
    target, source = distributed([4, 16], dtype), tile([1, 16], dtype)
    assert dict(call("pld.tile.remote_store", source, target, 0, [0, 0], atomic=1).kwargs) == {"atomic": 1}
    assert dict(call("pld.tensor.put", target, 0, tensor([4, 16], dtype), atomic=1).kwargs) == {"atomic": 1}
    assert dict(call("pld.tile.put", target, 0, tensor([4, 16], dtype), source, atomic=1).kwargs) == {"atomic": 1}


@pytest.mark.parametrize("dtype", [DataType.INT64, DataType.UINT32, DataType.UINT8])
def test_types_that_do_not_add(dtype: DataType) -> None:
    target, source = distributed([4, 16], dtype), tile([1, 16], dtype)
    for made in (
        lambda: call("pld.tile.remote_store", source, target, 0, [0, 0], atomic=1),
        lambda: call("pld.tensor.put", target, 0, tensor([4, 16], dtype), atomic=1),
        lambda: call("pld.tile.put", target, 0, tensor([4, 16], dtype), source, atomic=1),
    ):
        with pytest.raises(OperandError, match=f"adds atomically only .*, got {dtype.name}"):
            made()


@pytest.mark.parametrize(
    ("name", "positional", "error", "words"),
    [
        ("tile", [SOURCE, WINDOW, 1, [0, 0]], OperandTypeError, "Tile as 'src_tile', got FP32 tensor"),
        ("tensor", [STAGE, WINDOW, 1, [0, 0]], OperandTypeError, "Tensor as 'src', got FP32 tile"),
        ("tensor", [WINDOW, WINDOW, 1, [0, 0]], OperandError, "a plain tensor as 'src', got FP32 distributed tensor"),
        ("tile", [STAGE, SOURCE, 1, [0, 0]], OperandTypeError, "DistributedTensor as 'target', got FP32 tensor"),
        ("tile", [STAGE, WINDOW, -1, [0, 0]], OperandError, "a rank from 0 as 'peer'"),
        ("tile", [STAGE, distributed([16]), 1, [0]], OperandError, "rank 2 or more"),
        ("tile", [STAGE, WINDOW, 1, [0]], OperandError, "needs 2 offsets"),
        ("tile", [STAGE, WINDOW, 1, [-1, 0]], OperandError, "no negative offset"),
        ("tile", [STAGE, WINDOW, 1, [3, 1]], OperandError, "lies outside"),
        ("tile", [tile([4, 16], valid=[2, 8]), WINDOW, 1, [3, 0]], OperandError, "lies outside"),
        ("tile", [tile([1, 16], FP16), WINDOW, 1, [0, 0]], OperandError, "stores FP16 elements into a FP32 tensor"),
        ("tile", [tile([2, 1, 16]), distributed([4, 4, 16]), 1, [0, 0, 0]], OperandError, "leading extents of 1"),
    ],
)
def test_refused_remote_stores(name: str, positional: list[Any], error: type[Error], words: str) -> None:
    with pytest.raises(error) as caught:
        call(f"pld.{name}.remote_store", *positional)
    assert words in caught.value.message


# -- arrangements of put and get ---------------------------------------------------------------------------------------------------

HEAD = ["dst", "peer", "src", "stage"]
AREA = ["dst_offsets", "src_offsets", "shape"]
TILE_FORMS = [HEAD, [*HEAD, "stage2"], [*HEAD, *AREA], [*HEAD, *AREA, "stage2"]]


def values_for(leaf: str) -> dict[str, Any]:
    return {
        "dst": WINDOW if leaf == "put" else SOURCE,
        "peer": 1,
        "src": SOURCE if leaf == "put" else WINDOW,
        "stage": STAGE,
        "stage2": Var("t2", STAGE.type),
        "dst_offsets": [1, 0],
        "src_offsets": [2, 0],
        "shape": [1, 16],
    }


@pytest.mark.parametrize("leaf", ["put", "get"])
@pytest.mark.parametrize("form", TILE_FORMS, ids=len)
def test_every_way_of_writing_a_staged_transfer(leaf: str, form: list[str]) -> None:
    """Positional in the order of the IR or of the signature, by name, and anything between, give one call."""
    values = values_for(leaf)
    declared_order = [p.name for p in declared(f"pld.tile.{leaf}").params if p.name in form]
    orders = [form, declared_order] if form != declared_order else [form]
    expected: Call | None = None
    for order in orders:
        skipped = "stage2" not in order and "shape" in order
        for count in range(len(order) + 1):
            front = [values[n] for n in order[:count]]
            rest = {n: values[n] for n in order[count:]}
            made = call(f"pld.tile.{leaf}", *front, **rest)
            assert names_of(made) == form
            assert dict(made.kwargs) == ({"atomic": 0} if leaf == "put" else {})
            if expected is not None:
                assert ir.structural_equal(made, expected)
            expected = made
        if skipped:
            front = [values[n] for n in HEAD] + [None] + [values[n] for n in AREA]
            assert ir.structural_equal(call(f"pld.tile.{leaf}", *front), expected)


@pytest.mark.parametrize("leaf", ["put", "get"])
def test_the_two_arrangements_of_a_tensor_transfer(leaf: str) -> None:
    values = values_for(leaf)
    head = [values[n] for n in ("dst", "peer", "src")]
    assert names_of(call(f"pld.tensor.{leaf}", *head)) == ["dst", "peer", "src"]
    assert names_of(call(f"pld.tensor.{leaf}", *head, None, None, None)) == ["dst", "peer", "src"]
    assert names_of(call(f"pld.tensor.{leaf}", *head, *[values[n] for n in AREA])) == ["dst", "peer", "src", *AREA]
    assert names_of(call(f"pld.tensor.{leaf}", *head, **{n: values[n] for n in AREA})) == ["dst", "peer", "src", *AREA]


@pytest.mark.parametrize("leaf", ["put", "get"])
@pytest.mark.parametrize("space", ["tensor", "tile"])
def test_a_region_is_given_whole_or_not_at_all(leaf: str, space: str) -> None:
    values = values_for(leaf)
    head = {n: values[n] for n in (["dst", "peer", "src"] if space == "tensor" else HEAD)}
    stages: list[dict[str, Any]] = [{}] if space == "tensor" else [{}, {"stage2": values["stage2"]}]
    for count in (1, 2):
        for part in itertools.combinations(AREA, count):
            for stage in stages:
                with pytest.raises(Error, match=r"together|needs '\w+' when '\w+' is given"):
                    call(f"pld.{space}.{leaf}", **head, **stage, **{n: values[n] for n in part})


@pytest.mark.parametrize("count", [0, 3, 6, 9])
@pytest.mark.parametrize("leaf", ["put", "get"])
def test_numbers_of_operands_that_are_none(leaf: str, count: int) -> None:
    values = values_for(leaf)
    operands = [WINDOW if leaf == "put" else SOURCE, index_const(1), values["src"], STAGE, *[tuple_of(0, 0)] * 3, STAGE, STAGE]
    with pytest.raises(ArityError, match=f"operands, got {count}"):
        create_op_call(f"pld.tile.{leaf}", operands[:count], {"atomic": 0} if leaf == "put" else {})


def test_what_stands_twice_or_nowhere() -> None:
    with pytest.raises(ArityError, match="got 'shape' twice"):
        call("pld.tile.put", WINDOW, 1, SOURCE, STAGE, *REGION, shape=[1, 16])
    with pytest.raises(ArityError, match="got 'stage2' twice"):
        call("pld.tile.put", WINDOW, 1, SOURCE, STAGE, *REGION, STAGE, stage2=STAGE)
    with pytest.raises(ArityError, match="at most 8 positional arguments, got 9"):
        call("pld.tile.get", SOURCE, 1, WINDOW, STAGE, *REGION, STAGE, STAGE)
    with pytest.raises(ArityError, match="needs 'stage'"):
        call("pld.tile.put", WINDOW, 1, SOURCE, **dict(zip(AREA, REGION, strict=True)))
    with pytest.raises(ArityError, match="no parameter 'atomic'"):
        call("pld.tile.get", SOURCE, 1, WINDOW, STAGE, atomic=1)


@pytest.mark.parametrize(
    ("named", "parameter"),
    [
        ({"dst_offsets": [0, 0], "src_offsets": [4, 0], "shape": [1, 16]}, "src_offsets"),
        ({"dst_offsets": [4, 0], "src_offsets": [0, 0], "shape": [1, 16]}, "dst_offsets"),
        ({"dst_offsets": [0, 0], "src_offsets": [0, 0], "shape": [1, 0]}, "shape"),
        ({"dst_offsets": [0, 0], "src_offsets": [0, 0], "shape": [1, 16], "stage2": tile([1, 8])}, "stage2"),
        ({"dst_offsets": [0, 0], "src_offsets": [0, 0], "shape": [1, 16], "stage2": SOURCE}, "stage2"),
        ({"dst_offsets": [0, 0], "src_offsets": 3, "shape": [1, 16], "stage2": STAGE}, "src_offsets"),
        ({"dst_offsets": [0, 0], "src_offsets": "here", "shape": [1, 16], "stage2": STAGE}, "src_offsets"),
        ({"stage2": tile([1, 16], FP16)}, "stage2"),
    ],
)
def test_errors_name_the_parameter_in_any_arrangement(named: dict[str, Any], parameter: str) -> None:
    with pytest.raises(OperandError) as caught:
        call("pld.tile.put", WINDOW, 1, SOURCE, STAGE, **named)
    assert caught.value.parameter == parameter


# -- checks of put and get ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keywords", "stored"),
    [
        ({}, {"atomic": 0}),
        ({"atomic": AtomicType.Add}, {"atomic": 1}),
        ({"chunk_rows": 0, "chunk_cols": 0, "pipeline": False}, {"atomic": 0}),
        ({"chunk_rows": 2}, {"atomic": 0, "chunk_rows": 2}),
        ({"chunk_cols": 8}, {"atomic": 0, "chunk_cols": 8}),
        (
            {"chunk_rows": 2, "chunk_cols": 8, "pipeline": True},
            {"atomic": 0, "chunk_rows": 2, "chunk_cols": 8, "pipeline": True},
        ),
    ],
)
def test_stored_keywords(keywords: dict[str, Any], stored: dict[str, Any]) -> None:
    assert dict(call("pld.tensor.put", WINDOW, 1, SOURCE, **keywords).kwargs) == stored
    keywords.pop("atomic", None)
    stored = {k: v for k, v in stored.items() if k != "atomic"}
    assert dict(call("pld.tensor.get", SOURCE, 1, WINDOW, **keywords).kwargs) == stored


@pytest.mark.parametrize(
    ("name", "positional", "named", "error", "words"),
    [
        ("tensor.put", [SOURCE, 1, SOURCE], {}, OperandTypeError, "DistributedTensor as 'dst'"),
        ("tensor.put", [WINDOW, 1, STAGE], {}, OperandTypeError, "Tensor as 'src', got FP32 tile"),
        ("tensor.put", [WINDOW, -1, SOURCE], {}, OperandError, "a rank from 0 as 'peer'"),
        ("tensor.put", [WINDOW, 1, tensor([4, 16], FP16)], {}, OperandError, "elements of one type"),
        ("tensor.put", [WINDOW, 1, tensor([64])], {}, OperandError, "tensors of one rank"),
        ("tensor.put", [WINDOW, 1, tensor([2, 16])], {}, OperandError, "moves all of one shape"),
        ("tensor.put", [WINDOW, 1, tensor([scalar("n"), 16])], {}, OperandError, "moves all of one shape"),
        ("tensor.put", [WINDOW, 1, SOURCE, [0], [0, 0], [1, 16]], {}, OperandError, "needs 2 offsets"),
        ("tensor.put", [WINDOW, 1, SOURCE, [0, 0], [0, 0], [16]], {}, OperandError, "needs 2 extents"),
        ("tensor.put", [WINDOW, 1, SOURCE, [0, 0], [0, 0], [0, 16]], {}, OperandError, "positive extents"),
        ("tensor.put", [WINDOW, 1, SOURCE, [0, -1], [0, 0], [1, 16]], {}, OperandError, "no negative offset"),
        ("tensor.put", [WINDOW, 1, SOURCE, [3, 0], [0, 0], [2, 16]], {}, OperandError, "outside FP32 distributed tensor"),
        ("tensor.put", [WINDOW, 1, SOURCE, [0, 0], [3, 0], [2, 16]], {}, OperandError, "outside FP32 tensor"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"chunk_rows": -1}, KeywordError, "'chunk_rows' from 0"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"chunk_cols": -1}, KeywordError, "'chunk_cols' from 0"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"chunk_rows": 1.0}, TypeError, "an int as 'chunk_rows', got 1.0"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"chunk_rows": True}, TypeError, "an int as 'chunk_rows', got True"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"chunk_rows": None}, TypeError, "an int as 'chunk_rows', got None"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"pipeline": True}, KeywordError, "only with 'chunk_rows' and 'chunk_cols'"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"pipeline": True, "chunk_rows": 1}, KeywordError, "only with"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"pipeline": 1}, TypeError, "a bool as 'pipeline'"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"atomic": 2}, InvalidValueError, "'atomic' as one of"),
        ("tensor.put", [WINDOW, 1, SOURCE], {"atomic": True}, TypeError, "'atomic' as one of"),
        ("tensor.put", [WINDOW, 1, SOURCE, [0, 0], [0, 0], [scalar(), 16]], {}, InvalidValueError, "only at run time"),
        (
            "tensor.put",
            [WINDOW, 1, SOURCE, [0, 0], [0, 0], [1, scalar()]],
            {"chunk_rows": 4},
            InvalidValueError,
            "only at run time",
        ),
        ("tensor.get", [STAGE, 1, WINDOW], {}, OperandTypeError, "Tensor as 'dst'"),
        ("tensor.get", [SOURCE, 1, SOURCE], {}, OperandTypeError, "DistributedTensor as 'src'"),
        ("tile.put", [SOURCE, 1, SOURCE, STAGE], {}, OperandTypeError, "DistributedTensor as 'dst'"),
        ("tile.put", [WINDOW, 1, SOURCE, SOURCE], {}, OperandTypeError, "Tile as 'stage'"),
        ("tile.put", [WINDOW, 1, SOURCE, tile([1, 16], FP16)], {}, OperandError, "2-D FP32 tile in Vec as 'stage'"),
        ("tile.put", [WINDOW, 1, SOURCE, tile([16])], {}, OperandError, "2-D FP32 tile in Vec as 'stage'"),
        ("tile.put", [WINDOW, 1, SOURCE, tile([1, 16], space=MemorySpace.Mat)], {}, OperandError, "tile in Vec as 'stage'"),
        ("tile.put", [WINDOW, 1, SOURCE, tile([8, 16])], {}, OperandError, "no larger than what is moved, [4, 16]"),
        ("tile.put", [WINDOW, 1, SOURCE, tile([1, 32])], {}, OperandError, "no larger than what is moved, [4, 16]"),
        ("tile.put", [WINDOW, 1, SOURCE, tile([2, 16]), *REGION], {}, OperandError, "no larger than what is moved, [1, 16]"),
        ("tile.put", [WINDOW, 1, SOURCE, tile([2, 8]), STAGE], {}, OperandError, "two stages of one shape"),
        ("tile.get", [SOURCE, 1, SOURCE, STAGE], {}, OperandTypeError, "DistributedTensor as 'src'"),
        ("tile.get", [STAGE, 1, WINDOW, STAGE], {}, OperandTypeError, "Tensor as 'dst'"),
        ("tile.get", [SOURCE, 1, WINDOW, tile([8, 16])], {}, OperandError, "no larger than what is moved"),
    ],
)
def test_refused_transfers(name: str, positional: list[Any], named: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        call(f"pld.{name}", *positional, **named)
    assert isinstance(caught.value, Error)
    assert words in caught.value.message


@pytest.mark.parametrize(
    ("name", "positional", "named"),
    [
        ("tensor.put", [WINDOW, 1, WINDOW], {}),
        ("tensor.get", [WINDOW, 1, WINDOW], {}),
        ("tensor.put", [distributed([scalar("n"), 16]), 1, SOURCE, [scalar("at"), 0], [0, 0], [4, 16]], {}),
        ("tensor.put", [WINDOW, 1, SOURCE, [0, 0], [0, 0], [scalar("n"), 16]], {"chunk_rows": 4}),
        ("tensor.put", [WINDOW, 1, SOURCE, [0, 0], [0, 0], [1, scalar("n")]], {"chunk_cols": 8}),
        ("tensor.put", [distributed([64]), 1, tensor([64])], {}),
        ("tile.put", [WINDOW, 1, STAGE, STAGE, *REGION], {}),
        ("tile.put", [WINDOW, 1, SOURCE, tile([1, 16], space=None)], {}),
        ("tile.put", [distributed([2, 3, 16]), 1, tensor([2, 3, 16]), tile([6, 16])], {}),
        ("tile.put", [WINDOW, 1, SOURCE, STAGE, [0, 0], [0, 0], [scalar("n"), 16]], {}),
    ],
)
def test_transfers_that_are_fine(name: str, positional: list[Any], named: dict[str, Any]) -> None:
    assert call(f"pld.{name}", *positional, **named).type is UnknownType()


def test_a_whole_transfer_of_one_symbolic_shape_needs_a_piece() -> None:
    rows = scalar("rows")
    both = [distributed([rows, 16]), 1, tensor([rows, 16])]
    with pytest.raises(InvalidValueError, match="known only at run time") as caught:
        call("pld.tensor.put", *both)
    assert caught.value.hint is not None
    assert "chunk_rows" in caught.value.hint
    assert dict(call("pld.tensor.put", *both, chunk_rows=4).kwargs) == {"atomic": 0, "chunk_rows": 4}


# -- effects -----------------------------------------------------------------------------------------------------------------------


def effects(name: str, count: int, **kwargs: Any) -> dict[str, ArgEffect | None]:
    declaration = declared(name)
    names = [p.name for p in declaration.params_of(count)]
    return {n: declaration.arg_effect(at, kwargs, count) for at, n in enumerate(names)}


READ, WRITE, BOTH = ArgEffect.Read, ArgEffect.Write, ArgEffect.ReadWrite


@pytest.mark.parametrize("count", [4, 5, 7, 8])
@pytest.mark.parametrize(("atomic", "effect"), [(0, WRITE), (1, BOTH)])
def test_effects_of_staged_transfers_in_every_arrangement(count: int, atomic: int, effect: ArgEffect) -> None:
    found = effects("pld.tile.put", count, atomic=atomic)
    assert found.pop("dst") is effect
    assert {n for n, e in found.items() if e is WRITE} == {n for n in found if n.startswith("stage")}
    assert {n for n, e in found.items() if e is READ} == {n for n in found if not n.startswith("stage")}
    found = effects("pld.tile.get", count)
    assert {n for n, e in found.items() if e is WRITE} == {"dst", *[n for n in found if n.startswith("stage")]}


def test_effects_of_the_others() -> None:
    assert effects("pld.tensor.put", 6, atomic=0) == {"dst": WRITE, **dict.fromkeys(["peer", "src", *AREA], READ)}
    assert effects("pld.tensor.put", 3, atomic=1) == {"dst": BOTH, "peer": READ, "src": READ}
    assert effects("pld.tensor.get", 3) == {"dst": WRITE, "peer": READ, "src": READ}
    for space, source in (("tile", "src_tile"), ("tensor", "src")):
        rest = {source: READ, "peer": READ, "offsets": READ}
        assert effects(f"pld.{space}.remote_store", 4) == {**rest, "target": WRITE}
        assert effects(f"pld.{space}.remote_store", 4, atomic=1) == {**rest, "target": BOTH}
    assert set(effects("pld.tile.remote_load", 5).values()) == {READ}
    assert ir.get_op_arg_effect("pld.tensor.put", 0, atomic=AtomicType.Add) is BOTH


@pytest.mark.parametrize(
    ("name", "remote"),
    [
        ("tile.remote_load", "target"),
        ("tile.remote_store", "target"),
        ("tensor.remote_store", "target"),
        ("tensor.put", "dst"),
        ("tile.put", "dst"),
        ("tensor.get", "src"),
        ("tile.get", "src"),
        ("system.notify", "target"),
    ],
)
def test_which_operand_lies_on_the_peer(name: str, remote: str) -> None:
    assert declared(f"pld.{name}").remote == remote


# -- meaning -------------------------------------------------------------------------------------------------------------------------


def loaded(source: Any, offsets: Any, shape: Any, valid: Any = None, padded: bool = False) -> Any:
    meaning: Any = declared("pld.tile.remote_load").meaning
    rest = [] if valid is None else [valid]
    return meaning(source, offsets, shape, *rest, out=ResultSpec(source.dtype, shape), allow_physical_tail_padding=padded)


def test_a_load_is_a_copy() -> None:
    source = numbers(4, 16)
    found = loaded(source, (1, 2), (2, 8))
    np.testing.assert_array_equal(found, source[1:3, 2:10])
    found[...] = 99
    np.testing.assert_array_equal(source, numbers(4, 16))


def test_lanes_outside_the_valid_part_are_zero() -> None:
    source = numbers(4, 16)
    expected = np.zeros((2, 8), np.float32)
    expected[:1, :5] = source[3:4, 2:7]
    np.testing.assert_array_equal(loaded(source, (3, 2), (2, 8), (1, 5)), expected)
    np.testing.assert_array_equal(loaded(source, (4, 16), (2, 8), (0, 0)), np.zeros((2, 8)))


def test_poison_moves_with_a_load() -> None:
    mask = np.zeros((4, 16), np.bool_)
    mask[1, 3] = True
    found = loaded(mask, (1, 2), (2, 4), (1, 3))
    assert found.dtype == np.bool_
    np.testing.assert_array_equal(found, [[False, True, False, False], [False] * 4])


@pytest.mark.parametrize(
    ("size", "offset", "wanted"), [(17, 0, 32), (17, 16, 16), (1, 0, 16), (31, 5, 27), (16, 0, 16), (33, 1, 17)]
)
def test_the_padding_holds_nothing(size: int, offset: int, wanted: int) -> None:
    source = numbers(1, size, dtype=np.float16)
    found = loaded(source, (0, offset), (1, wanted), (1, wanted), True)
    there = min(size - offset, wanted)
    np.testing.assert_array_equal(found[:, :there], source[:, offset : offset + there])
    assert np.isnan(found[:, there:]).all()
    mask = loaded(np.zeros((1, size), np.bool_), (0, offset), (1, wanted), (1, wanted), True)
    np.testing.assert_array_equal(mask, [[False] * there + [True] * (wanted - there)])


@pytest.mark.parametrize(("size", "offset", "wanted"), [(17, 0, 33), (17, 17, 16), (16, 0, 17), (1, 1, 16)])
def test_nothing_lies_behind_the_padding(size: int, offset: int, wanted: int) -> None:
    with pytest.raises(BoundsError, match=r"padded to \d+ only"):
        loaded(numbers(1, size, dtype=np.float16), (0, offset), (1, 48), (1, wanted), True)


@pytest.mark.parametrize(
    ("offsets", "shape", "valid"),
    [
        ((0, 1), (1, 16), None),
        ((4, 0), (1, 16), None),
        ((-1, 0), (1, 16), None),
        ((0, 0), (1, 16), (1, -1)),
        ((0, 0), (8, 16), (5, 16)),
    ],
)
def test_loads_that_reach_outside(offsets: Any, shape: Any, valid: Any) -> None:
    with pytest.raises(BoundsError, match=r"pld\.tile\.remote_load"):
        loaded(numbers(4, 16), offsets, shape, valid)


@pytest.mark.parametrize("atomic", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int8])
def test_put_moves_or_adds_a_region(atomic: int, dtype: Any) -> None:
    target, source = numbers(4, 16, dtype=dtype), numbers(4, 16, dtype=dtype, seed=1)
    expected = target.copy()
    for row, column in itertools.product(range(2), range(5)):
        before = target[1 + row, 3 + column] if atomic else dtype(0)
        expected[1 + row, 3 + column] = before + source[2 + row, 7 + column]
    made = call("pld.tensor.put", WINDOW, 0, SOURCE, [1, 3], [2, 7], [2, 5], atomic=atomic)
    meaning: Any = declared("pld.tensor.put").meaning
    got = target.copy()
    assert meaning(got, source, (1, 3), (2, 7), (2, 5), atomic=atomic) is got
    np.testing.assert_array_equal(got, expected)
    assert names_of(made) == ["dst", "peer", "src", *AREA]
    staged: Any = declared("pld.tile.put").meaning
    stage = np.zeros((1, 5), dtype)
    for rest in ([(1, 3), (2, 7), (2, 5)], [(1, 3), (2, 7), (2, 5), stage]):
        got = target.copy()
        assert staged(got, source, stage, *rest, atomic=atomic) is got
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("rest", [[], [np.zeros((1, 16), np.float32)]])
def test_a_staged_transfer_of_everything(rest: list[Any]) -> None:
    source = numbers(4, 16)
    staged: Any = declared("pld.tile.get").meaning
    got = np.zeros((4, 16), np.float32)
    assert staged(got, source, np.zeros((1, 16), np.float32), *rest) is got
    np.testing.assert_array_equal(got, source)


def test_a_put_onto_itself_shifts_rows() -> None:
    array = np.arange(8, dtype=np.float32).reshape(4, 2)
    meaning: Any = declared("pld.tensor.put").meaning
    meaning(array, array, (1, 0), (0, 0), (3, 2))
    np.testing.assert_array_equal(array, [[0, 1], [0, 1], [2, 3], [4, 5]])


@pytest.mark.parametrize(
    ("dst", "src", "shape"),
    [((3, 0), (0, 0), (2, 16)), ((0, 0), (3, 0), (2, 16)), ((0, 8), (0, 0), (1, 16)), ((0, 0), (0, 0), (-1, 16))],
)
def test_puts_that_reach_outside(dst: Any, src: Any, shape: Any) -> None:
    meaning: Any = declared("pld.tensor.put").meaning
    with pytest.raises(BoundsError, match="lies outside"):
        meaning(numbers(4, 16), numbers(4, 16), dst, src, shape)


def test_remote_store_writes_what_it_is_given() -> None:
    meaning: Any = declared("pld.tile.remote_store").meaning
    target, source = numbers(2, 4, 8), numbers(1, 1, 2, 3, seed=2)
    expected = target.copy()
    expected[1, 2:4, 5:8] = source[0, 0]
    got = target.copy()
    assert meaning(source, got, (1, 2, 5)) is got
    np.testing.assert_array_equal(got, expected)
    got = target.copy()
    meaning(source[0], got, (1, 2, 5), atomic=1)
    expected[1, 2:4, 5:8] = target[1, 2:4, 5:8] + source[0, 0]
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(BoundsError, match="does not fit into rank 2"):
        meaning(numbers(2, 2, 3), numbers(4, 8), (0, 0))
    with pytest.raises(BoundsError, match="lies outside"):
        meaning(source, target.copy(), (1, 3, 5))


def test_a_sum_that_overflows_is_silent() -> None:
    meaning: Any = declared("pld.tensor.put").meaning
    array = np.array([[60000.0, 127]], np.float16)
    meaning(array, array.copy(), atomic=1)
    np.testing.assert_array_equal(array, np.array([[np.inf, 254]], np.float16))
    small = np.array([[127, -128]], np.int8)
    meaning(small, np.array([[1, -1]], np.int8), atomic=1)
    np.testing.assert_array_equal(small, [[-128, 127]])


def test_a_load_through_its_call() -> None:
    source = numbers(4, 16)
    meaning_of = call("pld.tile.remote_load", WINDOW, Var("p", scalar().type), [1, 0], [2, 16])
    local = meaning_of.replace(args=[a for a in meaning_of.args if a is not meaning_of.args[1]])
    np.testing.assert_array_equal(run(local, source), source[1:3])
