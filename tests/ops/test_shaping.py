"""Reshapes, views, transpositions, slices, assembling, concatenation."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace, PadValue, TensorLayout, TileLayout
from pypto.ir.expr import Max, Min, Mul, Var, WindowBuffer, index_const
from pypto.ir.types import DistributedTensorType, PtrType, TensorType, TileType
from pypto.ops.declare import OperandError, OperandTypeError
from pypto.ops.region import BoundsError
from pypto.ops.windows import assemble_tensor, slice_tensor
from tests.ops.operands import call, distributed, numbers, run, scalar, shape_of, tensor, tile, valid_of

FP32, FP16, BF16, INT32 = DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT32


# -- reshape ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
def test_reshape(space: str, made_of: Any) -> None:
    made = call(f"{space}.reshape", made_of([4, 6]), [2, 12])
    x = numbers(4, 6)
    got = run(made, x)
    for i in range(24):
        assert got[i // 12, i % 12] == x[i // 6, i % 6]
    got[1, 0] = 77
    assert x[2, 0] == 77
    with pytest.raises(OperandError, match="24 elements"):
        call(f"{space}.reshape", made_of([4, 6]), [5, 5])
    with pytest.raises(OperandError, match="positive extents"):
        call(f"{space}.reshape", made_of([4, 6]), [0, 6])


def test_reshape_of_a_column_is_a_row() -> None:
    made: Any = call("tile.reshape", tile([8, 1]), [1, 8]).type
    assert made is TileType([1, 8], FP32, None, None, MemorySpace.Vec)
    assert made.get_effective_tile_view().blayout is TileLayout.row_major
    back: Any = call("tile.reshape", tile([1, 8]), [8, 1]).type
    assert back.get_effective_tile_view().blayout is TileLayout.col_major


@pytest.mark.parametrize(
    ("shape", "valid", "target", "expected"),
    [
        ([1, 64], [1, 20], [64, 1], [20, 1]),
        ([8, 64], [5, 30], [1, 8, 64], [1, 5, 30]),
        ([8, 64], [5, 64], [512], [320]),
        ([8, 64], [5, 64], [1, 512], [1, 320]),
        ([8, 64], [4, 64], [2, 256], [1, 256]),
        ([8, 64], [6, 64], [4, 2, 64], [4, 2, 64]),
        ([512], [128], [8, 64], [8, 64]),
        ([4, 8, 16], [1, 3, 16], [32, 16], [3, 16]),
        ([8, 64], [5, 30], [512], [512]),
    ],
)
def test_reshape_carries_the_valid_region_where_it_stays_one(
    shape: list[int], valid: list[int], target: list[int], expected: list[int]
) -> None:
    made = call("tile.reshape", tile(shape, valid=valid), target)
    got = valid_of(made)
    # whatever is called valid has to hold every valid element
    marks = np.zeros(shape, np.bool_)
    marks[tuple([slice(0, v) for v in valid])] = True
    moved = marks.reshape(target)
    inside = np.zeros(target, np.bool_)
    inside[tuple([slice(0, v) for v in got])] = True
    assert not (moved & ~inside).any()
    assert got == expected


def test_reshape_of_a_symbolic_valid_region() -> None:
    n = scalar("n")
    assert valid_of(call("tile.reshape", tile([1, 64], valid=[1, n]), [64, 1])) == [n, 1]
    (extent,) = valid_of(call("tensor.reshape", tensor([8, 64], valid=[n, 64]), [512]))
    assert isinstance(extent, Mul)
    assert extent.left is n
    made = call("tensor.reshape", tensor([8, 64]), [512], [n])
    assert valid_of(made) == [n]


# -- reinterpretation ------------------------------------------------------------------------------------------------------------


def test_reinterpret() -> None:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    made = call("tile.reinterpret_view", tile([3, 4]), INT32)
    np.testing.assert_array_equal(run(made, x), np.frombuffer(x.tobytes(), np.int32).reshape(3, 4))
    made = call("tensor.reinterpret_view", tensor([3, 4]), FP16)
    assert shape_of(made) == [3, 8]
    np.testing.assert_array_equal(run(made, x).view(np.uint16), np.frombuffer(x.tobytes(), np.uint16).reshape(3, 8))
    made = call("tile.reinterpret_view", tile([3, 4], DataType.UINT8), INT32, shape=[3])
    assert shape_of(made) == [3]
    mask = np.zeros((3, 4), np.bool_)
    mask[1, 2] = True
    assert run(made, mask).tolist() == [False, True, False]
    wide = run(call("tile.reinterpret_view", tile([3, 4]), FP16), mask)
    assert np.argwhere(wide).tolist() == [[1, 4], [1, 5]]


@pytest.mark.parametrize(
    ("name", "source", "dtype", "named", "words"),
    [
        ("tensor", distributed([3, 4]), INT32, {}, "no distributed tensor"),
        ("tile", tile([3, 4], valid=[2, 4]), INT32, {}, "valid throughout"),
        ("tile", tile([16, 16], space=MemorySpace.Mat), INT32, {}, "flat packed tile"),
        ("tile", tile([3, 5], FP16), INT32, {}, "cannot cut rows"),
        ("tile", tile([3, 4]), INT32, {"shape": [3, 5]}, "48 bytes"),
        ("tile", tile([3, 4]), DataType.BOOL, {}, "whole bytes"),
        ("tensor", tensor([3, 4], stride=[8, 1]), INT32, {}, "packed tensor"),
    ],
)
def test_reinterpret_refuses(name: str, source: Any, dtype: DataType, named: dict[str, Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(f"{name}.reinterpret_view", source, dtype, **named)


# -- view ------------------------------------------------------------------------------------------------------------------------


def test_view_shares_storage() -> None:
    x = numbers(2, 4, 8)
    got = run(call("tensor.view", tensor([2, 4, 8]), [8, 8]), x)
    np.testing.assert_array_equal(got, x.reshape(8, 8))
    got[5, 1] = 55
    assert x[1, 1, 1] == 55


def test_view_keeps_the_window() -> None:
    window = WindowBuffer(Var("buf", PtrType()), index_const(256))
    source = Var("d", DistributedTensorType([8, 8], FP32, None, None, window))
    made: Any = call("tensor.view", source, [1, 64]).type
    assert isinstance(made, DistributedTensorType)
    assert made.window_buffer is window
    assert not isinstance(call("tensor.view", tensor([8, 8]), [1, 64]).type, DistributedTensorType)


def test_view_with_another_layout() -> None:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    made = call("tensor.view", tensor([2, 3]), [3, 2], layout=TensorLayout.DN)
    view: Any = made.type
    assert view.tensor_view.layout is TensorLayout.DN
    got = run(made, x)
    # the last two axes of DN are swapped in memory: element (i, j) of [3, 2] is number j * 3 + i
    assert [[int(got[i, j]) for j in range(2)] for i in range(3)] == [[j * 3 + i for j in range(2)] for i in range(3)]
    got[2, 1] = 99
    assert x[1, 2] == 99
    back = run(call("tensor.view", Var("v", made.type), [2, 3], layout=TensorLayout.ND), got)
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize(
    ("shape", "valid", "target", "wanted"),
    [
        ([4, 6, 8], [1, 6, 5], [24, 8], [6, 5]),
        ([48, 48], [1, 20], [48, 48], [1, 20]),
        ([16, 4], [3, 4], [1, 64], [1, 12]),
    ],
)
def test_view_of_a_partial_tensor(shape: list[int], valid: list[int], target: list[int], wanted: list[int]) -> None:
    assert valid_of(call("tensor.view", tensor(shape, valid=valid), target, wanted)) == wanted


@pytest.mark.parametrize(
    ("positional", "named", "words"),
    [
        ([tensor([4, 6])], {}, "needs a shape, a layout or both"),
        ([tensor([4, 6]), None, [2, 6]], {"layout": TensorLayout.DN}, "valid shape only with a shape"),
        ([tensor([4, 6]), [5, 5]], {}, "24 elements"),
        ([tensor([4, 6], stride=[8, 1]), [24]], {}, "with strides"),
        ([tensor([4, 6], valid=[2, 6]), [24]], {}, "valid throughout"),
        ([tensor([4, 6], valid=[2, 3]), [24], [6]], {}, "cannot see the valid region"),
        ([tensor([4, 6]), [24]], {"layout": TensorLayout.NZ}, "not NZ"),
        ([tensor([4, 6], layout=TensorLayout.NZ), [24]], {}, "not NZ"),
        ([tensor([4, 6], layout=TensorLayout.MX_A_ZZ), [24]], {}, "not MX_A_ZZ"),
        ([tensor([24]), [24]], {"layout": TensorLayout.DN}, "rank 2"),
    ],
)
def test_view_refuses(positional: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call("tensor.view", *positional, **named)


def test_view_of_packed_strides() -> None:
    assert shape_of(call("tensor.view", tensor([4, 6], stride=[6, 1]), [24])) == [24]


# -- transposition ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
def test_transpose(space: str, made_of: Any) -> None:
    n = scalar("n")
    made = call(f"{space}.transpose", made_of([2, 3, 4], valid=[2, n, 3]), 1, -1)
    assert shape_of(made) == [2, 4, 3]
    assert valid_of(made) == [2, 3, n]
    x = numbers(2, 3, 4)
    got = run(made, x)
    for i, j, k in np.ndindex(2, 4, 3):
        assert got[i, j, k] == x[i, k, j]
    got[0, 3, 0] = 42
    assert (x[0, 0, 3] == 42) == (space == "tensor")
    for axes, words in (((0, 0), "two different axes"), ((0, 3), "from -3 to 2"), ((0, scalar()), "constant as 'axis2'")):
        with pytest.raises(OperandError, match=words):
            call(f"{space}.transpose", made_of([2, 3, 4]), *axes)


def test_transpose_with_scratch() -> None:
    x = numbers(4, 6)
    made = call("tile.transpose", tile([4, 6]), 0, 1, tile([4, 6]))
    np.testing.assert_array_equal(run(made, x, np.zeros((4, 6))), x.T)
    with pytest.raises(OperandError, match="scratch tile"):
        call("tile.transpose", tile([4, 6]), 0, 1, tile([4, 6], FP16))


def test_transpose_view_swaps_layouts() -> None:
    made: Any = call("tile.transpose_view", tile([8, 16], FP16, valid=[5, 16], space=MemorySpace.Mat)).type
    assert [d.value for d in made.shape] == [16, 8]
    assert [d.value for d in made.valid_shape] == [16, 5]
    assert (made.tile_view.blayout, made.tile_view.slayout) == (TileLayout.row_major, TileLayout.col_major)
    x = numbers(8, 16)
    np.testing.assert_array_equal(run(call("tile.transpose_view", tile([8, 16])), x), x.T)
    with pytest.raises(OperandError, match="rank 2"):
        call("tile.transpose_view", tile([8]))


# -- slices ----------------------------------------------------------------------------------------------------------------------


def test_slice_of_a_tensor_shares_storage() -> None:
    x = numbers(6, 8)
    made = call("tensor.slice", tensor([6, 8]), [2, 3], [1, 4])
    got = run(made, x)
    assert [[got[i, j] for j in range(3)] for i in range(2)] == [[x[1 + i, 4 + j] for j in range(3)] for i in range(2)]
    got[0, 0] = 88
    assert x[1, 4] == 88


def test_slice_of_a_tile_does_not() -> None:
    x = numbers(6, 8)
    got = run(call("tile.slice", tile([6, 8]), [2, 3], [1, 4]), x)
    np.testing.assert_array_equal(got, x[1:3, 4:7])
    got[:] = 88
    assert not (x == 88).any()


def test_slice_types() -> None:
    n = scalar("n")
    assert isinstance(call("tensor.slice", distributed([6, 8]), [2, 3], [n, 4]).type, DistributedTensorType)
    made = call("tensor.slice", tensor([6, 8], valid=[4, 8]), [4, 8], [2, 0])
    assert valid_of(made) == [2, 8]
    made = call("tensor.slice", tensor([6, 8], valid=[n, 8]), [4, 8], [2, 0])
    assert isinstance(valid_of(made)[0], Max)
    made = call("tensor.slice", tensor([6, 8]), [4, 8], [n, 0], clamp=True)
    assert isinstance(valid_of(made)[0], Max)
    assert made.kwargs["clamp"] is True
    assert not call("tensor.slice", tensor([6, 8]), [4, 8], [n, 0], clamp=False).kwargs
    made = call("tile.slice", tile([6, 8]), [4, 8], [0, 0], [n, 8])
    assert valid_of(made) == [n, 8]
    pad: Any = call("tile.slice", tile([6, 8]), [4, 8], [0, 0], [n, 8], pad_value=PadValue.min).type
    assert pad.tile_view.pad is PadValue.min
    strided: Any = call("tensor.slice", tensor([6, 8], stride=[16, 1]), [2, 8], [0, 0]).type
    assert [s.value for s in strided.tensor_view.stride] == [16, 1]


def test_dropped_dimensions() -> None:
    made = call("tensor.slice", tensor([4, 6, 8]), [1, 6, 1], [scalar(), 0, 3], [], [0, 2])
    assert len(made.args) == 5
    assert shape_of(made) == [6]
    x = numbers(4, 6, 8)
    np.testing.assert_array_equal(slice_tensor(x, (1, 6, 1), (2, 0, 3), (), (0, 2)), x[2, :, 3])
    same = call("tensor.slice", tensor([4, 6, 8]), [1, 6, 1], [0, 0, 3], drop_dims=[0, 2])
    assert len(same.args) == 5
    made = call("tile.slice", tile([4, 6, 8]), [1, 6, 8], [0, 0, 0], drop_dims=[0])
    assert shape_of(made) == [6, 8]


def test_clamped_slice() -> None:
    x = numbers(6, 8)
    got = slice_tensor(x, (4, 8), (4, 0), clamp=True)
    np.testing.assert_array_equal(got[:2], x[4:])
    assert got.shape == (4, 8)
    assert slice_tensor(x, (4, 8), (9, 0), clamp=True).shape == (4, 8)
    partial = slice_tensor(x, (4, 8), (4, 0), (2, 8))
    np.testing.assert_array_equal(partial[:2], x[4:])
    with pytest.raises(BoundsError, match=r"offsets \[4, 0\] with extents \[4, 8\] lies outside the shape \[6, 8\]"):
        slice_tensor(x, (4, 8), (4, 0))


@pytest.mark.parametrize(
    ("name", "positional", "words"),
    [
        ("tensor", [tensor([6, 8]), [2], [0, 0]], "2 extents"),
        ("tensor", [tensor([6, 8]), [2, 2], [0]], "2 offsets"),
        ("tensor", [tensor([6, 8]), [0, 2], [0, 0]], "positive extents"),
        ("tensor", [tensor([6, 8]), [2, 2], [-1, 0]], "negative offset"),
        ("tensor", [tensor([6, 8]), [1, 1], [0, 0], [], [0, 1]], "cannot drop all axes"),
        ("tensor", [tensor([6, 8]), [2, 1], [0, 0], [], [0]], "drops only axes of extent 1"),
        ("tensor", [tensor([6, 8]), [2, 1], [0, 0], [], [1, 1]], "twice"),
        ("tensor", [tensor([6, 8], layout=TensorLayout.MX_A_ZZ), [2, 1], [0, 0]], "MX_A_ZZ"),
        ("tile", [tile([6, 8]), [scalar(), 2], [0, 0]], "constant extents"),
        ("tile", [tile([6, 8]), [2, 2], [scalar("i", INT32), 0]], "INDEX, INT64 or UINT64"),
        ("tile", [tile([6, 8]), [1, 2], [0, 0], [], [0]], "below rank 2"),
        ("tile", [tile([6, 8]), [4, 2], [4, 0]], "outside"),
        ("tile", [tile([6, 8]), [4, 2], [0, 0], [5, 2]], "exceeds the shape"),
    ],
)
def test_slice_refuses(name: str, positional: list[Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(f"{name}.slice", *positional)


def test_extract() -> None:
    x = numbers(6, 8)
    made = call("tile.extract", tile([6, 8], valid=[4, 8]), 2, 3, [3, 4], target_memory=MemorySpace.Mat)
    np.testing.assert_array_equal(run(made, x), x[2:5, 3:7])
    assert valid_of(made) == [2, 4]
    assert made.type.memory_space is MemorySpace.Mat  # type: ignore[attr-defined]
    for operands, words in (
        ((tile([6, 8]), 0, 0, [7, 4]), "cannot extract"),
        ((tile([6, 8]), 4, 0, [3, 4]), "at index 4 of axis 0"),
        ((tile([6, 8]), 0, -1, [3, 4]), "at index -1 of axis 1"),
        ((tile([6, 8]), 0, 0, [scalar(), 4]), "constant extents"),
        ((tile([2, 6, 8]), 0, 0, [3, 4]), "2-D tile"),
    ):
        with pytest.raises(OperandError, match=words):
            call("tile.extract", *operands, target_memory=MemorySpace.Vec)


# -- assembling ------------------------------------------------------------------------------------------------------------------


def test_assemble_into_a_tensor() -> None:
    x, y = np.zeros((6, 8), np.float32), numbers(2, 3)
    made = call("tensor.assemble", tensor([6, 8]), tensor([2, 3]), [1, 4])
    assert run(made, x, y) is x
    for i, j in np.ndindex(2, 3):
        assert x[1 + i, 4 + j] == y[i, j]
    assert x.sum() == y.sum()
    assemble_tensor(x, y, (1, 4), atomic=1)
    np.testing.assert_array_equal(x[1:3, 4:7], 2 * y)
    with pytest.raises(BoundsError, match="outside the shape"):
        assemble_tensor(x, y, (5, 0))
    target = distributed([6, 8])
    assert call("tensor.assemble", target, tensor([2, 3]), [1, 4]).type is target.type


def test_assemble_into_a_tile_leaves_the_old_one() -> None:
    x, y = np.zeros((6, 8), np.float32), numbers(2, 3)
    made = call("tile.assemble", tile([6, 8]), tile([2, 3]), [1, 4])
    got = run(made, x, y)
    assert not x.any()
    np.testing.assert_array_equal(got[1:3, 4:7], y)
    assert got.sum() == y.sum()


def test_assemble_from_acc_into_mat_converts() -> None:
    made = call("tile.assemble", tile([4, 4], BF16, space=MemorySpace.Mat), tile([2, 2], space=MemorySpace.Acc), [0, 0])
    got = run(made, np.zeros((4, 4), ml_dtypes.bfloat16), np.full((2, 2), 3, np.float32))
    assert got.dtype == ml_dtypes.bfloat16
    assert got[:2, :2].astype(np.float32).sum() == 12


@pytest.mark.parametrize(
    ("name", "positional", "named", "words"),
    [
        ("tensor", [tensor([6, 8]), tensor([2, 3], FP16), [0, 0]], {}, "FP16 elements into FP32"),
        ("tensor", [tensor([6, 8]), tensor([2, 3]), [0]], {}, "2 offsets"),
        ("tensor", [tensor([6, 8]), tensor([2, 3]), [5, 0]], {}, "outside"),
        (
            "tensor",
            [tensor([6, 8], DataType.UINT8), tensor([2, 3], DataType.UINT8), [0, 0]],
            {"atomic": AtomicType.Add},
            "atomically",
        ),
        ("tile", [tile([6, 8]), tile([2, 3]), [0, -1]], {}, "negative offset"),
        ("tile", [tile([6, 8]), tile([2, 3], FP16), [0, 0]], {}, "FP16 elements into FP32"),
        ("tile", [tile([6, 8]), tile([2, 6, 8]), [0, 0]], {}, "cannot put"),
    ],
)
def test_assemble_refuses(name: str, positional: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(f"{name}.assemble", *positional, **named)


def test_assemble_does_not_mix_tiles_and_tensors() -> None:
    with pytest.raises(OperandTypeError, match="Tensor as 'source'"):
        call("tensor.assemble", tensor([6, 8]), tile([2, 3]), [0, 0])


# -- concatenation, expansion ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
def test_concat(space: str, made_of: Any) -> None:
    n = scalar("n")
    name = f"{space}.concat"
    x, y = numbers(3, 4), numbers(3, 2, seed=1)
    made = call(name, made_of([3, 4]), made_of([3, 2]))
    assert shape_of(made) == [3, 6]
    got = run(made, x, y)
    for i, j in np.ndindex(3, 6):
        assert got[i, j] == (x[i, j] if j < 4 else y[i, j - 4])
    assert valid_of(call(name, made_of([3, 4], valid=[n, 4]), made_of([3, 2], valid=[n, 1]))) == [n, 5]
    for other, words in (
        (made_of([4, 2]), "as many rows"),
        (made_of([3, 2], FP16), "one element type"),
        (made_of([1, 3, 2]), "2-D"),
    ):
        with pytest.raises(OperandError, match=words):
            call(name, made_of([3, 4]), other)
    with pytest.raises(OperandError, match="valid rows"):
        call(name, made_of([3, 4], valid=[3, 2]), made_of([3, 2]))


def test_expand_clone() -> None:
    x = numbers(2, 1, 3)
    made = call("tensor.expand_clone", tensor([2, 1, 3]), tensor([2, 4, 3], FP16))
    assert made.type == TensorType([2, 4, 3], FP32)
    got = run(made, x, np.zeros((2, 4, 3)))
    for i, j, k in np.ndindex(2, 4, 3):
        assert got[i, j, k] == x[i, 0, k]
    for source, target, words in (
        (tensor([2, 3]), tensor([2, 3]), "rank 3"),
        (tensor([1, 1, 3]), tensor([2, 4, 3]), "one axis"),
        (tensor([2, 2, 3]), tensor([2, 4, 3]), "one axis"),
    ):
        with pytest.raises(OperandError, match=words):
            call("tensor.expand_clone", source, target)


def test_symbolic_windows_use_min() -> None:
    n = scalar("n")
    rows, _ = valid_of(call("tile.slice", tile([8, 8], valid=[n, 8]), [4, 8], [0, 0]))
    assert isinstance(rows, Min)
