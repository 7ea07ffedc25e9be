"""Loads, stores, creation, fills, moves and valid regions: types, meanings, rejections."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace, PadValue, TensorLayout, TileLayout
from pypto.ir.equality import structural_equal
from pypto.ir.expr import ConstFloat, ConstInt, Max, Min, Sub
from pypto.ir.types import DistributedTensorType, PtrType, TensorType, TileType
from pypto.ops.declare import OperandError, OperandTypeError, ResultSpec
from pypto.ops.memory import load_window, store_window
from pypto.ops.region import BoundsError
from tests.ops.operands import call, distributed, numbers, run, scalar, shape_of, tensor, tile, valid_of

FP32, FP16, BF16, INT32 = DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT32


# -- load ------------------------------------------------------------------------------------------------------------------------


def test_load_has_four_operands_and_stores_its_memory() -> None:
    made = call("tile.load", tensor([16, 64]), [0, 0], [8, 64])
    assert len(made.args) == 4
    assert made.args[3] is made.args[2]
    assert dict(made.kwargs) == {"target_memory": MemorySpace.Vec}
    assert made.type is TileType([8, 64], FP32, None, None, MemorySpace.Vec)


def test_load_with_a_full_valid_shape_has_no_view() -> None:
    made: Any = call("tile.load", tensor([16, 64]), [0, 0], [8, 64], [8, 64]).type
    assert made.tile_view is None


def test_load_into_mat_has_the_layout_of_mat() -> None:
    made: Any = call("tile.load", tensor([16, 64]), [0, 0], [16, 64], [16, scalar()], target_memory=MemorySpace.Mat).type
    view = made.get_effective_tile_view()
    assert (view.blayout, view.slayout, view.fractal) == (TileLayout.col_major, TileLayout.row_major, 512)
    assert made.memory_space is MemorySpace.Mat


@pytest.mark.parametrize(
    ("source_valid", "offset", "asked", "expected"),
    [
        ([4, 64], 0, [8, 64], [4, 64]),
        ([4, 64], 2, [8, 64], [2, 64]),
        ([4, 64], 6, [8, 64], [0, 64]),
        ([16, 20], 0, [8, 64], [8, 20]),
        ([4, 20], 0, [3, 10], [3, 10]),
    ],
)
def test_load_is_valid_where_its_source_is(source_valid: list[int], offset: int, asked: list[int], expected: list[int]) -> None:
    made = call("tile.load", tensor([16, 64], valid=source_valid), [offset, 0], [8, 64], asked)
    assert valid_of(made) == expected


def test_load_of_a_symbolic_valid_region() -> None:
    n, row = scalar("n"), scalar("row")
    source = tensor([16, 64], valid=[n, 64])
    rows, columns = valid_of(call("tile.load", source, [0, 0], [16, 64]))
    assert rows is n
    assert columns == 64
    rows, _ = valid_of(call("tile.load", source, [0, 0], [8, 64]))
    assert isinstance(rows, Min)
    assert rows.left is n
    rows, _ = valid_of(call("tile.load", source, [row, 0], [8, 64]))
    assert isinstance(rows, Max)
    assert isinstance(rows.left, Min)
    assert isinstance(rows.left.left, Sub)
    assert rows.left.left.right is row


def test_load_with_the_valid_shape_of_its_source_keeps_it() -> None:
    n = scalar("n")
    assert valid_of(call("tile.load", tensor([48, 48], valid=[1, n]), [0, 0], [48, 48], [1, n])) == [1, n]


def test_load_with_clamp() -> None:
    assert valid_of(call("tile.load", tensor([10, 64]), [8, 0], [8, 64], clamp=True)) == [2, 64]
    made = call("tile.load", tensor([10, 4]), [8, 0], [8, 4], clamp=True)
    x = numbers(10, 4)
    got = run(made, x)
    np.testing.assert_array_equal(got[:2], x[8:10])
    assert not got[2:].any()


def test_loaded_elements() -> None:
    x = numbers(12, 9)
    made = call("tile.load", tensor([12, 9]), [3, 2], [4, 5])
    got = run(made, x)
    expected = np.array([[x[3 + i, 2 + j] for j in range(5)] for i in range(4)])
    np.testing.assert_array_equal(got, expected)
    got[:] = 99
    assert not (x == 99).any()


def test_loaded_rank_three_can_come_as_two() -> None:
    x = numbers(4, 6, 8)
    got = load_window(x, (1, 2, 0), (2, 3, 8), (2, 3, 8), ResultSpec(np.dtype(np.float32), (6, 8)))
    np.testing.assert_array_equal(got, x[1:3, 2:5].reshape(6, 8))


def test_load_moves_masks() -> None:
    mask = np.zeros((12, 9), np.bool_)
    mask[4, 3] = True
    got = run(call("tile.load", tensor([12, 9]), [3, 2], [4, 5]), mask)
    assert got.dtype == np.bool_
    assert np.argwhere(got).tolist() == [[1, 1]]


def test_load_outside_names_offsets_extents_and_shape() -> None:
    made = call("tile.load", tensor([10, 64]), [scalar(), 0], [8, 64])
    declaration: Any = made.op
    with pytest.raises(BoundsError, match=r"offsets \[4, 0\] with extents \[8, 64\] lies outside the shape \[10, 64\]"):
        declaration.meaning(numbers(10, 64), (4, 0), (8, 64), (8, 64), out=ResultSpec(np.dtype(np.float32), (8, 64)))


@pytest.mark.parametrize(
    ("operands", "named", "words"),
    [
        ([tensor([16, 64]), [0], [8, 64]], {}, "2 offsets"),
        ([tensor([16, 64]), [0, 0], [8]], {}, "2 extents"),
        ([tensor([16, 64]), [0, 0], [8, 64], [8]], {}, "2 valid extents"),
        ([tensor([16, 64]), [0, 0], [8, 64], [9, 64]], {}, "exceeds the shape"),
        ([tensor([16, 64]), [0, 0], [8, 64], [-1, 64]], {}, "no negative valid extent"),
        ([tensor([16, 64]), [-1, 0], [8, 64]], {}, "no negative offset"),
        ([tensor([16, 64]), [0, 0], [0, 64]], {}, "positive extents"),
        ([tensor([16, 64]), [0, 0], [8, 64]], {"target_memory": MemorySpace.Left}, "Vec or Mat, got Left"),
        ([tensor([16, 64], layout=TensorLayout.MX_A_ZZ), [0, 0], [16, 64]], {"target_memory": MemorySpace.Mat}, "MX layout"),
        ([tensor([16, 64], DataType.UINT8, layout=TensorLayout.MX_A_ZZ), [0, 0], [16, 64]], {}, "MX layout"),
    ],
)
def test_load_refuses(operands: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call("tile.load", *operands, **named)


def test_load_takes_a_tensor_and_integers() -> None:
    with pytest.raises(OperandTypeError, match="Tensor as 'tensor', got FP32 tile"):
        call("tile.load", tile([8, 8]), [0, 0], [8, 8])
    with pytest.raises(OperandTypeError, match="integers in 'offsets'"):
        call("tile.load", tensor([8, 8]), [scalar("f", FP32), 0], [8, 8])


def test_mx_scales_load_into_mat() -> None:
    made = call(
        "tile.load",
        tensor([16, 64], DataType.FP8E8M0, layout=TensorLayout.MX_B_NN),
        [0, 0],
        [16, 64],
        target_memory=MemorySpace.Mat,
    )
    assert made.type.dtype is DataType.FP8E8M0  # type: ignore[attr-defined]


# -- store -----------------------------------------------------------------------------------------------------------------------


def test_store_gives_the_tensor() -> None:
    target = distributed([16, 64])
    made = call("tile.store", tile([8, 64]), [0, 0], target)
    assert made.type is target.type
    assert isinstance(made.type, DistributedTensorType)
    assert not made.kwargs
    assert dict(call("tile.store", tile([8, 64]), [0, 0], target, atomic=AtomicType.Add).kwargs) == {"atomic": 1}
    assert not call("tile.store", tile([8, 64]), [0, 0], target, atomic=AtomicType.None_).kwargs


@pytest.mark.parametrize(
    ("valid", "offset", "extents", "expected"),
    [
        ([4, 64], [4, 0], [8, 64], [12, 64]),
        ([4, 64], [0, 0], [4, 64], [4, 64]),
        ([4, 64], [0, 0], [8, 64], [8, 64]),
        ([4, 32], [0, 32], [4, 32], [4, 64]),
        ([4, 32], [4, 32], [4, 32], [4, 32]),
        ([4, 64], [6, 0], [4, 64], [4, 64]),
        ([4, 64], [4, 0], [4, 32], [4, 64]),
        ([4, 32], [0, 0], [8, 64], [8, 64]),
    ],
)
def test_store_widens_what_is_valid_when_it_stays_a_region(
    valid: list[int], offset: list[int], extents: list[int], expected: list[int]
) -> None:
    made = call("tile.store", tile(extents), offset, tensor([16, 64], valid=valid))
    assert valid_of(made) == expected


def test_stored_elements() -> None:
    x, target = numbers(4, 5), np.zeros((12, 9), np.float32)
    made = call("tile.store", tile([4, 5]), [3, 2], tensor([12, 9]))
    got = run(made, x, target)
    assert got is target
    expected = np.zeros((12, 9))
    for i in range(4):
        for j in range(5):
            expected[3 + i, 2 + j] = x[i, j]
    np.testing.assert_array_equal(target, expected)


def test_stored_atomically() -> None:
    x, target = numbers(4, 5), np.full((4, 5), 2, np.float32)
    run(call("tile.store", tile([4, 5]), [0, 0], tensor([4, 5]), atomic=AtomicType.Add), x, target)
    np.testing.assert_array_equal(target, x + 2)


@pytest.mark.parametrize("rows", [1, 2, 4, 5, 6])
def test_a_flat_tile_goes_into_a_tensor_of_rank_three(rows: int) -> None:
    x, target = numbers(rows, 5), np.zeros((4, 6, 8), np.float32)
    store_window(x, (1, 2, 3), target, (2, 3, 5))
    expected = np.zeros((4, 6, 8))
    for row in range(rows):
        for column in range(5):
            expected[1 + row // 3, 2 + row % 3, 3 + column] = x[row, column]
    np.testing.assert_array_equal(target, expected)


def test_a_tile_of_lower_rank_goes_into_the_last_dimensions() -> None:
    x, target = numbers(3, 5), np.zeros((4, 6, 8), np.float32)
    store_window(x, (1, 2, 3), target)
    np.testing.assert_array_equal(target[1, 2:5, 3:8], x)
    assert target.sum() == x.sum()
    line = np.zeros(16, np.float32)
    store_window(numbers(1, 8), (4,), line)
    np.testing.assert_array_equal(line[4:12], numbers(1, 8)[0])


def test_store_marks_and_clears_masks() -> None:
    mask, target = np.zeros((2, 3), np.bool_), np.ones((4, 4), np.bool_)
    mask[1, 2] = True
    store_window(mask, (0, 0), target)
    assert target[:2, :3].sum() == 1
    assert target[1, 2]


def test_store_from_acc_converts() -> None:
    made = call("tile.store", tile([2, 2], space=MemorySpace.Acc), [0, 0], tensor([2, 2], BF16))
    target = np.zeros((2, 2), ml_dtypes.bfloat16)
    run(made, np.full((2, 2), 1 / 3, np.float32), target)
    assert abs(float(target[0, 0]) - 1 / 3) < 2e-3


@pytest.mark.parametrize(
    ("operands", "named", "words"),
    [
        ([tile([8, 64]), [0], tensor([16, 64])], {}, "2 offsets"),
        ([tile([8, 64]), [-8, 0], tensor([16, 64])], {}, "negative offset"),
        ([tile([8, 64], FP16), [0, 0], tensor([16, 64])], {}, "FP16 elements into a FP32"),
        ([tile([8, 64], INT32), [0, 0], tensor([16, 64], INT32), [8, 64, 1]], {}, "2 extents"),
        ([tile([8, 64]), [0, 0, 0], tensor([2, 16, 64]), [2, 8, 64]], {}, "cannot lay"),
        ([tile([2, 8, 64]), [0, 0], tensor([16, 64])], {}, "cannot store"),
        (
            [tile([8, 64], DataType.UINT8), [0, 0], tensor([16, 64], DataType.UINT8)],
            {"atomic": AtomicType.Add},
            "adds atomically",
        ),
        ([tile([8, 64], space=MemorySpace.Left), [0, 0], tensor([16, 64])], {}, "got a tile in Left"),
    ],
)
def test_store_refuses(operands: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call("tile.store", *operands, **named)


def test_a_store_outside_is_an_error() -> None:
    with pytest.raises(BoundsError, match=r"offsets \[3, 0\] with extents \[2, 4\] lies outside the shape \[4, 4\]"):
        store_window(numbers(2, 4), (3, 0), np.zeros((4, 4), np.float32))


# -- create, full ----------------------------------------------------------------------------------------------------------------


def test_create_tile() -> None:
    made = call("tile.create", [8, 1], FP32)
    assert dict(made.kwargs) == {"dtype": FP32, "target_memory": MemorySpace.Vec}
    assert made.type is TileType([8, 1], FP32, None, None, MemorySpace.Vec)
    view = made.type.get_effective_tile_view()  # type: ignore[attr-defined]
    assert view.blayout is TileLayout.col_major
    assert run(made).shape == (8, 1)


def test_create_tile_in_mat_transposed_or_flat() -> None:
    turned: Any = call("tile.create", [8, 16], FP16, MemorySpace.Mat, True).type
    flat: Any = call("tile.create", [8, 16], FP16, MemorySpace.Mat, flat_layout=True).type
    assert (turned.tile_view.blayout, turned.tile_view.slayout) == (TileLayout.row_major, TileLayout.col_major)
    assert (flat.tile_view.blayout, flat.tile_view.slayout) == (TileLayout.row_major, TileLayout.none_box)


@pytest.mark.parametrize(
    ("positional", "named", "words"),
    [
        ([[0, 8], FP32], {}, "positive extents"),
        ([[-4, 8], FP32], {}, "positive extents"),
        ([[], FP32], {}, "at least 1 dimension"),
        ([[scalar(), 8], FP32], {}, "constant extents"),
        ([[8, 8], FP32, MemorySpace.LeftScale], {}, "LeftScale"),
        ([[8, 8], FP32, MemorySpace.Vec, True], {}, "transpose=True only for a 2-D tile in Mat"),
        ([[2, 8, 8], FP32, MemorySpace.Mat, True], {}, "transpose=True only for a 2-D tile in Mat"),
        ([[8, 8], FP32, MemorySpace.Mat, True], {"flat_layout": True}, "flat_layout=True only"),
    ],
)
def test_create_tile_refuses(positional: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call("tile.create", *positional, **named)


def test_create_tensor() -> None:
    made = call("tensor.create", [scalar(), 16], FP32)
    assert dict(made.kwargs) == {"dtype": FP32, "layout": TensorLayout.ND}
    made = call("tensor.create", [4, 16], FP32, init_value=2)
    assert made.kwargs["init_value"] == 2.0
    assert isinstance(made.kwargs["init_value"], float)
    np.testing.assert_array_equal(run(made), np.full((4, 16), 2, np.float32))
    layout: Any = call("tensor.create", [4, 16], FP32, TensorLayout.NZ).type
    assert layout.tensor_view.layout is TensorLayout.NZ


@pytest.mark.parametrize(
    ("named", "words"),
    [({"init_value": math.inf}, "finite"), ({"init_value": math.nan}, "finite"), ({"init_value": (1 << 53) + 1}, "2\\*\\*53")],
)
def test_create_tensor_refuses(named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call("tensor.create", [4, 16], FP32, **named)


@pytest.mark.parametrize("space", ["tile", "tensor"])
def test_full(space: str) -> None:
    made = call(f"{space}.full", [2, 3], FP32, 1)
    value = made.args[1]
    assert isinstance(value, ConstFloat)
    assert value.dtype is FP32
    np.testing.assert_array_equal(run(made), np.ones((2, 3)))
    value = call(f"{space}.full", [2, 3], INT32, 2.0).args[1]
    assert isinstance(value, ConstInt)
    assert value.dtype is INT32
    assert np.isneginf(run(call(f"{space}.full", [2, 3], BF16, -math.inf)).astype(np.float32)).all()
    assert run(call(f"{space}.full", [1], DataType.UINT8, -1))[0] == 255


def test_full_refuses() -> None:
    with pytest.raises(OperandError, match="known at compile time as 'value'"):
        call("tile.full", [2, 3], INT32, scalar("n", INT32))
    with pytest.raises(OperandError, match="'value' as INT32, got FP32 scalar"):
        call("tile.full", [2, 3], INT32, 1.5)
    with pytest.raises(OperandError, match="constant extents"):
        call("tile.full", [scalar(), 3], INT32, 1)
    assert shape_of(call("tensor.full", [scalar("m"), 3], INT32, 1))[1] == 3


# -- move, alloc -----------------------------------------------------------------------------------------------------------------


def test_move() -> None:
    source = tile([16, 32], FP16, valid=[10, 32], space=MemorySpace.Mat)
    made: Any = call("tile.move", source, MemorySpace.Left).type
    view = made.get_effective_tile_view()
    assert made.memory_space is MemorySpace.Left
    assert (view.blayout, view.slayout) == (TileLayout.col_major, TileLayout.row_major)
    assert [d.value for d in made.valid_shape] == [10, 32]
    plain: Any = call("tile.move", tile([16, 32], FP16), MemorySpace.Right).type
    assert plain.tile_view is None
    x = numbers(16, 32)
    got = run(call("tile.move", source, MemorySpace.Left), x)
    np.testing.assert_array_equal(got, x)
    assert got is not x


@pytest.mark.parametrize(
    ("source", "named", "words"),
    [
        (tile([16, 32]), {"target_memory": MemorySpace.Left, "blayout": TileLayout.row_major}, "cannot choose 'blayout' in Left"),
        (tile([16, 32]), {"target_memory": MemorySpace.DDR}, "not to DDR"),
        (tile([16, 32]), {"target_memory": MemorySpace.LeftScale}, "UINT8 or FP8E8M0 tile in Mat"),
    ],
)
def test_move_refuses(source: Any, named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call("tile.move", source, **named)


def test_alloc() -> None:
    made = call("tile.alloc", MemorySpace.Acc, 1024)
    assert made.type is PtrType()
    assert made.args[0].value == MemorySpace.Acc.value  # type: ignore[attr-defined]
    with pytest.raises(OperandError, match="no memory space number 77"):
        call("tensor.alloc", 77, 1024)


# -- valid regions ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
def test_set_validshape(space: str, made_of: Any) -> None:
    n = scalar("n")
    source = made_of([8, 16])
    made = call(f"{space}.set_validshape", source, n, 16)
    assert valid_of(made) == [n, 16]
    assert call(f"{space}.set_validshape", source, 8, 16).type == source.type
    x = numbers(8, 16)
    assert run(call(f"{space}.set_validshape", source, 4, 4), x) is x
    for bad, words in (((9, 16), "from 0 to 8, got 9"), ((-1, 16), "from 0 to 8"), ((8, 17), "from 0 to 16")):
        with pytest.raises(OperandError, match=words):
            call(f"{space}.set_validshape", source, *bad)
    with pytest.raises(OperandError, match="INDEX, INT64 or UINT64"):
        call(f"{space}.set_validshape", source, scalar("i", INT32), 16)
    with pytest.raises(OperandError, match="2-D"):
        call(f"{space}.set_validshape", made_of([2, 8, 16]), 1, 1)


def test_set_validshape_keeps_the_layout() -> None:
    source = tile([8, 16], space=MemorySpace.Mat)
    made: Any = call("tile.set_validshape", source, 4, 16).type
    assert made.tile_view.blayout is TileLayout.col_major
    assert made.memory_space is MemorySpace.Mat


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (PadValue.zero, PadValue.zero),
        (0, PadValue.zero),
        (0.0, PadValue.zero),
        (math.inf, PadValue.max),
        (-math.inf, PadValue.min),
        (PadValue.min, PadValue.min),
    ],
)
def test_pad_values(written: Any, stored: PadValue) -> None:
    source = tile([4, 8], valid=[2, 3])
    for name in ("tile.fillpad", "tile.fillpad_inplace"):
        made = call(name, source, written)
        assert made.kwargs["pad_value"] is stored
        assert made.type == TileType([4, 8], FP32, None, None, MemorySpace.Vec)
        assert structural_equal(made, call(name, source, pad_value=written))


@pytest.mark.parametrize(
    ("written", "error"),
    [(PadValue.null, InvalidValueError), (1, InvalidValueError), (2.5, InvalidValueError), ("zero", InvalidTypeError)],
)
def test_pad_values_refused(written: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="pad_value"):
        call("tile.fillpad", tile([4, 8]), written)


@pytest.mark.parametrize(
    ("dtype", "numpy", "pad", "value"),
    [
        (FP32, np.float32, PadValue.max, math.inf),
        (FP16, np.float16, PadValue.min, -math.inf),
        (BF16, ml_dtypes.bfloat16, PadValue.max, math.inf),
        (INT32, np.int32, PadValue.min, -(2**31)),
        (DataType.INT8, np.int8, PadValue.max, 127),
        (DataType.UINT16, np.uint16, PadValue.min, 0),
        (DataType.UINT16, np.uint16, PadValue.max, 65535),
        (FP32, np.float32, PadValue.zero, 0),
    ],
)
def test_filled_lanes(dtype: DataType, numpy: Any, pad: PadValue, value: Any) -> None:
    made = call("tile.fillpad", tile([4, 6], dtype, valid=[2, 3]), pad)
    x = numbers(2, 3, dtype=np.int64).clip(0).astype(numpy)
    got = run(made, x).astype(np.float64)
    np.testing.assert_array_equal(got[:2, :3], x.astype(np.float64))
    outside = np.ones((4, 6), np.bool_)
    outside[:2, :3] = False
    assert (got[outside] == value).all()


def test_filled_masks_are_clean_outside() -> None:
    got = run(call("tile.fillpad", tile([4, 6], valid=[2, 3]), PadValue.max), np.ones((2, 3), np.bool_))
    assert got.sum() == 6


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
def test_fillpad_expand(space: str, made_of: Any) -> None:
    name = f"{space}.fillpad_expand"
    made = call(name, made_of([4, 6], valid=[2, 3]), [4, 8], PadValue.max)
    assert shape_of(made) == valid_of(made) == [4, 8]
    assert np.isinf(run(made, numbers(2, 3))[3, 7])
    for shape, words in (([4, 5], "cannot shrink"), ([4, 6, 1], "2 extents"), ([scalar(), 8], "constant extents")):
        with pytest.raises(OperandError, match=words):
            call(name, made_of([4, 6]), shape)


def test_results_of_tensor_forms_are_plain_tensors() -> None:
    made = call("tensor.fillpad", distributed([4, 6]))
    assert type(made.type) is TensorType
