"""Annotations: every form gives the type that the constructors build."""

from __future__ import annotations

import warnings

import pytest

from pypto import ir
from pypto.ir import (
    ArrayType,
    CompactMode,
    DataType,
    MemorySpace,
    PadValue,
    ParamDirection,
    ScalarType,
    TensorLayout,
    TensorType,
    TensorView,
    TileLayout,
    TileType,
    TileView,
    TupleType,
)
from pypto.parser import parse
from pypto.parser.errors import ParserTypeError

FP32, INT32 = DataType.FP32, DataType.INT32
VEC = MemorySpace.Vec

FORMS = {
    "pl.Scalar[pl.INDEX]": ScalarType(DataType.INDEX),
    "pl.Scalar(pl.BF16)": ScalarType(DataType.BF16),
    "pl.TaskId": ScalarType(DataType.TASK_ID),
    "pl.Tensor[[4, 8], pl.FP32]": TensorType([4, 8], FP32),
    "pl.Tensor[(4, 8), pl.FP32]": TensorType([4, 8], FP32),
    "pl.Tensor((4, 8), pl.FP32)": TensorType([4, 8], FP32),
    "pl.Tensor[[2 * N, N - 1], pl.FP32]": TensorType([32, 15], FP32),
    "pl.Tensor[SHAPE, pl.FP32]": TensorType([3, 5], FP32),
    "pl.Tensor[[0, 8], pl.FP32]": TensorType([0, 8], FP32),
    "pl.Tensor[[], pl.FP32]": TensorType([], FP32),
    "pl.Tensor[[4, 8], pl.FP32, pl.NZ]": TensorType([4, 8], FP32, None, TensorView(layout=TensorLayout.NZ)),
    "pl.Tensor[[4, 8], pl.FP32, pl.ND]": TensorType([4, 8], FP32),
    "pl.Tensor[[4, 8], pl.FP32, pl.TensorLayout.NZ]": TensorType([4, 8], FP32, None, TensorView(layout=TensorLayout.NZ)),
    "pl.Tensor[[4, 8], pl.FP32, VIEW]": TensorType([4, 8], FP32, None, TensorView([16, 1], TensorLayout.ND)),
    "pl.Tensor[[4, 8], pl.FP32, pl.TensorView(valid_shape=[2, N], pad=pl.PadValue.zero)]": TensorType(
        [4, 8], FP32, None, TensorView([], TensorLayout.ND, [2, 16], PadValue.zero)
    ),
    "pl.Tensor[[4, 8], pl.FP32, pl.TensorView()]": TensorType([4, 8], FP32),
    "pld.DistributedTensor[[4], pl.INT32]": ir.DistributedTensorType([4], INT32),
    "pl.Tile[[4, 8], pl.FP32]": TileType([4, 8], FP32),
    "pl.Tile[[4, 8], pl.FP32, pl.Mem.Mat]": TileType([4, 8], FP32, None, None, MemorySpace.Mat),
    "pl.Tile[[4, 8], pl.FP32, pl.TileView(valid_shape=[2, 8]), pl.MemorySpace.Mat]": TileType(
        [4, 8],
        FP32,
        None,
        TileView([2, 8], blayout=TileLayout.col_major, slayout=TileLayout.row_major),
        MemorySpace.Mat,
    ),
    "pl.Tile[[4, 8], pl.FP32, pl.Mem.Vec, pl.TileView(blayout=pl.TileLayout.col_major, fractal=1024, "
    "compact=pl.CompactMode.normal)]": TileType(
        [4, 8], FP32, None, TileView(blayout=TileLayout.col_major, fractal=1024, compact=CompactMode.normal), VEC
    ),
    "pl.Tile[[4, 8], pl.FP32, pl.Mem.Vec, pl.TileView()]": TileType([4, 8], FP32, None, None, VEC),
    "pl.Array[16, pl.TASK_ID]": ArrayType(DataType.TASK_ID, 16),
    "pl.Tuple[pl.Scalar[pl.INDEX], pl.Tensor[[4], pl.FP32]]": TupleType([ScalarType(DataType.INDEX), TensorType([4], FP32)]),
    "pl.Tuple[()]": TupleType([]),
    "pl.Tuple([pl.Scalar(pl.INDEX)])": TupleType([ScalarType(DataType.INDEX)]),
    "pl.Ptr": ir.PtrType(),
    "pld.CommCtx": ir.CommCtxType(),
    "pld.CommCtxType": ir.CommCtxType(),
    "pl.PrefetchAsyncContext": ir.PrefetchAsyncContextType(),
    "pl.AsyncEventType": ir.AsyncEventType(),
    "'pl.Tensor[[4, 8], pl.FP32]'": TensorType([4, 8], FP32),
}


HEAD = "N = 16\nSHAPE = [3, 5]\nVIEW = pl.TensorView(stride=[N, 1], layout=pl.TensorLayout.ND)\n"


@pytest.mark.parametrize("annotation", FORMS)
def test_forms(annotation: str) -> None:
    function = parse(f"{HEAD}@pl.function\ndef f(x: {annotation}):\n    pass\n")
    assert function.params[0].type == FORMS[annotation]


def test_a_scalar_may_name_a_dimension() -> None:
    function = parse("@pl.function\ndef f(M: pl.Scalar[pl.INDEX], x: pl.Tensor[[M, 2 * M], pl.FP32]):\n    pass\n")
    m, x = function.params
    assert x.type.shape[0] is m
    assert x.type.shape[1].right is m


def test_one_dynamic_dimension_is_one_variable_in_a_program() -> None:
    program = parse(
        'M = pl.dynamic("M")\n'
        "@pl.program\n"
        "class P:\n"
        "    @pl.function\n"
        "    def g(self, x: pl.Tensor[[M, 4], pl.FP32]):\n"
        "        pass\n"
        "    @pl.function\n"
        "    def h(self, x: pl.Tensor[[4, M], pl.FP32]):\n"
        "        pass\n"
    )
    assert program["g"].params[0].type.shape[0] is program["h"].params[0].type.shape[1]


def test_compound_dimensions_with_typed_constants_stay_as_written() -> None:
    function = parse("@pl.function\ndef f(x: pl.Tensor[[pl.const(2, pl.INDEX) * pl.const(3, pl.INDEX)], pl.FP32]):\n    pass\n")
    assert type(function.params[0].type.shape[0]).__name__ == "Mul"


def test_an_undeclared_dimension_becomes_dynamic_with_a_warning_at_the_caller() -> None:
    text = "@pl.function\ndef f(x: pl.Tensor[[ROWS, 4], pl.FP32], y: pl.Tensor[[ROWS], pl.FP32]):\n    pass\n"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function = parse(text)
    assert [w.filename for w in caught] == [__file__]
    assert "'ROWS'" in str(caught[0].message)
    assert function.params[0].type.shape[0] is function.params[1].type.shape[0]
    with pytest.raises(ParserTypeError, match="unknown dimension 'ROWS'"):
        parse(text, strict=True)


def test_each_call_warns_for_itself() -> None:
    text = "@pl.function\ndef f(x: pl.Tensor[[ROWS], pl.FP32]):\n    pass\n"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        parse(text)
        parse(text)
    assert len({w.lineno for w in caught}) == 2


def test_memrefs() -> None:
    function = parse(
        "BUF = pl.MemRef(slots=2)\n"
        "@pl.function\n"
        "def f(x: pl.Tensor[[4, 8], pl.FP32], n: pl.Scalar[pl.INDEX]):\n"
        "    a: pl.Tile[[4, 8], pl.FP32, BUF[1], pl.Mem.Vec] = pl.load(x, [0, 0], [4, 8])\n"
        "    b: pl.Tile[[4, 8], pl.FP32, pl.MemRef('other'), pl.Mem.Vec] = pl.load(x, [0, 0], [4, 8])\n"
        "    c: pl.Tile[[4, 8], pl.FP32, BUF[n], pl.Mem.Vec] = pl.load(x, [0, 0], [4, 8])\n"
        "    d: pl.Tile[[4, 8], pl.FP32, pl.MemRef('mem_vec_3', 128, 64), pl.Mem.Vec] = pl.load(x, [0, 0], [4, 8])\n"
    )
    a, b, c, d = (s.var.type.memref for s in function.body.stmts)
    assert a.base_ is c.base_ and a.base_ is not b.base_
    assert a.base_.name_hint == "BUF" and a.slot_count_ == 2 and a.slot_index_.value == 1
    assert c.slot_index_ is function.params[1]
    assert b.is_pinned_ and not d.is_pinned_
    assert (d.byte_offset_.value, d.size_) == (128, 64)


def test_directions_and_results() -> None:
    function = parse(
        "@pl.function\n"
        "def f(a: pl.Tensor[[4], pl.FP32], b: pl.Out[pl.Tensor[[4], pl.FP32]], c: pl.InOut[pl.Tensor[[4], pl.FP32]],\n"
        "      d: pl.Out[pl.Scalar[pl.INDEX]]) -> tuple[pl.Tensor[[4], pl.FP32], pl.Scalar[pl.INDEX]]:\n"
        "    return b, d\n"
    )
    assert function.param_directions == [ParamDirection.In, ParamDirection.Out, ParamDirection.InOut, ParamDirection.Out]
    assert function.return_types == [TensorType([4], FP32), ScalarType(DataType.INDEX)]
    one = parse("@pl.function\ndef f(a: pl.Scalar[pl.INDEX]) -> pl.Tuple[pl.Scalar[pl.INDEX]]:\n    return (a,)\n")
    assert one.return_types == [TupleType([ScalarType(DataType.INDEX)])]
    assert parse("@pl.function\ndef f(a: pl.Scalar[pl.INDEX]) -> None:\n    pass\n").return_types == []
