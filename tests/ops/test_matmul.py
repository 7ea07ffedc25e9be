"""Matrix products against sums written out."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace, TensorLayout
from pypto.ops.declare import OperandError
from pypto.ops.matmul import multiply
from tests.ops.operands import call, numbers, run, scalar, shape_of, tensor, tile, valid_of

FP32, FP16, BF16, INT8, INT32 = DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT8, DataType.INT32
Left, Right, Acc, Mat, Bias = MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc, MemorySpace.Mat, MemorySpace.Bias


def left(shape: list[Any], dtype: DataType = FP16, valid: Any = None) -> Any:
    return tile(shape, dtype, valid, Left)


def right(shape: list[Any], dtype: DataType = FP16, valid: Any = None) -> Any:
    return tile(shape, dtype, valid, Right)


def acc(shape: list[Any], dtype: DataType = FP32) -> Any:
    return tile(shape, dtype, None, Acc)


def _by_hand(x: Any, y: Any) -> list[list[float]]:
    rows, depth, columns = x.shape[0], x.shape[1], y.shape[1]
    return [[sum(float(x[i, k]) * float(y[k, j]) for k in range(depth)) for j in range(columns)] for i in range(rows)]


@pytest.mark.parametrize(
    ("dtype", "numpy", "sums", "as_numpy"),
    [
        (FP16, np.float16, FP32, np.float32),
        (BF16, ml_dtypes.bfloat16, FP32, np.float32),
        (FP32, np.float32, FP32, np.float32),
        (INT8, np.int8, INT32, np.int32),
    ],
)
def test_matmul(dtype: DataType, numpy: Any, sums: DataType, as_numpy: Any) -> None:
    made: Any = call("tile.matmul", left([3, 5], dtype), right([5, 4], dtype))
    assert made.type.dtype is sums
    assert made.type.memory_space is Acc
    assert made.type.tile_view is None
    x, y = numbers(3, 5, dtype=numpy), numbers(5, 4, dtype=numpy, seed=1)
    got = run(made, x, y)
    assert got.dtype == as_numpy
    np.testing.assert_array_equal(got, _by_hand(x, y))


def test_eight_bit_sums_do_not_wrap_at_eight_bits() -> None:
    x = np.full((1, 1000), -128, np.int8)
    assert multiply(x, x.T).tolist() == [[128 * 128 * 1000]]


def test_products_of_the_valid_part() -> None:
    n = scalar("n")
    made = call("tile.matmul", left([16, 16], valid=[n, 10]), right([16, 32], valid=[12, 20]))
    assert shape_of(made) == [16, 32]
    assert valid_of(made) == [n, 20]
    x, y = numbers(3, 10), numbers(12, 4)
    np.testing.assert_array_equal(run(call("tile.matmul", left([3, 10]), right([10, 4])), x, y), _by_hand(x, y[:10]))


def test_accumulation() -> None:
    made = call("tile.matmul_acc", acc([3, 4]), left([3, 5]), right([5, 4]))
    x, y, z = numbers(3, 5), numbers(5, 4, seed=1), numbers(3, 4, seed=2)
    np.testing.assert_array_equal(run(made, z, x, y), z + np.array(_by_hand(x, y)))
    made = call("tile.matmul_acc", acc([3, 4]), left([3, 5]), right([5, 4]), scalar("first", DataType.BOOL))
    assert len(made.args) == 4
    np.testing.assert_array_equal(run(made, z, x, y, True), _by_hand(x, y))
    np.testing.assert_array_equal(run(made, z, x, y, False), z + np.array(_by_hand(x, y)))


def test_bias() -> None:
    x, y, b = numbers(3, 5), numbers(5, 4, seed=1), numbers(1, 4, seed=2)
    made = call("tile.matmul_bias", left([3, 5]), right([5, 4]), tile([1, 4], space=Bias))
    np.testing.assert_array_equal(run(made, x, y, b), np.array(_by_hand(x, y)) + b)


def test_batches() -> None:
    x, y = numbers(2, 1, 3, 5), numbers(4, 5, 6, seed=1)
    made = call("tile.batch_matmul", left([2, 1, 3, 5]), right([4, 5, 6]))
    assert shape_of(made) == [2, 4, 3, 6]
    got = run(made, x, y)
    for a, b in np.ndindex(2, 4):
        np.testing.assert_array_equal(got[a, b], _by_hand(x[a, 0], y[b]))
    z = numbers(2, 4, 3, 6, seed=3)
    made = call("tile.batch_matmul_acc", acc([2, 4, 3, 6]), left([2, 1, 3, 5]), right([4, 5, 6]))
    np.testing.assert_array_equal(run(made, z, x, y), z + got)


def test_gemv() -> None:
    x, y, z, b = numbers(1, 5), numbers(5, 4, seed=1), numbers(1, 4, seed=2), numbers(1, 4, seed=3)
    expected = np.array(_by_hand(x, y))
    made = call("tile.gemv", left([1, 5]), right([5, 4]))
    assert not made.kwargs
    np.testing.assert_array_equal(run(made, x, y), expected)
    made = call("tile.gemv_acc", acc([1, 4]), left([1, 5]), right([5, 4]), "partial")
    assert dict(made.kwargs) == {"acc_phase": "partial"}
    np.testing.assert_array_equal(run(made, z, x, y), z + expected)
    made = call("tile.gemv_bias", left([1, 5]), right([5, 4]), tile([1, 4], space=Bias))
    np.testing.assert_array_equal(run(made, x, y, b), expected + b)


@pytest.mark.parametrize(
    ("name", "positional", "words"),
    [
        ("matmul", [left([3, 5]), right([4, 4])], "as many columns on the left as rows"),
        ("matmul", [left([3, 5]), right([5, 4], FP32)], "one element type"),
        ("matmul", [left([2, 3, 5]), right([5, 4])], "2-D operands"),
        ("matmul", [left([3, 16]), right([16, 4], valid=[8, 4])], "16 valid rows on the right"),
        ("matmul", [left([3, 5], DataType.BOOL), right([5, 4], DataType.BOOL)], "takes numbers"),
        ("matmul", [tile([3, 5], FP16, space=Acc), right([5, 4])], "'lhs' in Left or Mat or Vec, got a tile in Acc"),
        ("matmul_acc", [acc([3, 4], INT32), left([3, 5]), right([5, 4])], "accumulator of FP32"),
        ("matmul_acc", [acc([3, 5]), left([3, 5]), right([5, 4])], r"accumulator of FP32 \[3, 4\]"),
        ("matmul_acc", [acc([3, 4]), left([3, 5]), right([5, 4]), scalar("i", INT32)], "'init_cond' as BOOL"),
        ("matmul_bias", [left([3, 5]), right([5, 4]), tile([1, 5], space=Bias)], r"bias of FP32 \[1, 4\]"),
        ("matmul_bias", [left([3, 5]), right([5, 4]), tile([1, 4], FP16, space=Bias)], "bias of FP32"),
        ("batch_matmul", [left([2, 3, 5]), right([3, 5, 4])], "cannot combine the batches"),
        ("batch_matmul_acc", [acc([3, 4]), left([1, 3, 5]), right([5, 4])], "accumulator of FP32"),
        ("gemv", [left([3, 5]), right([5, 4])], "one row on the left"),
        ("gemv", [left([1, 5], DataType.INT16), right([5, 4], DataType.INT16)], "INT8, FP16, BF16, FP32"),
        ("gemv", [left([1, 5]), right([5, 4]), "half"], "unspecified, partial, final"),
    ],
)
def test_products_refuse(name: str, positional: list[Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call(f"tile.{name}", *positional)


# -- tensors ---------------------------------------------------------------------------------------------------------------------


def test_tensor_matmul_stores_its_flags() -> None:
    made = call("tensor.matmul", tensor([3, 5], BF16), tensor([5, 4], BF16))
    assert dict(made.kwargs) == {"a_trans": False, "b_trans": False, "c_matrix_nz": False}
    assert made.type.dtype is BF16  # type: ignore[attr-defined]
    made = call("tensor.matmul", tensor([3, 5], BF16), tensor([5, 4], BF16), FP32)
    assert made.kwargs["out_dtype"] is FP32
    assert made.type.dtype is FP32  # type: ignore[attr-defined]
    made = call("tensor.matmul", tensor([3, 5], INT8), tensor([5, 4], INT8))
    assert made.type.dtype is INT32  # type: ignore[attr-defined]
    nz: Any = call("tensor.matmul", tensor([3, 5]), tensor([5, 4]), c_matrix_nz=True).type
    assert nz.tensor_view.layout is TensorLayout.NZ


@pytest.mark.parametrize("a_trans", [False, True])
@pytest.mark.parametrize("b_trans", [False, True])
def test_tensor_matmul(a_trans: bool, b_trans: bool) -> None:
    x, y = numbers(3, 5), numbers(5, 4, seed=1)
    given_x, given_y = (x.T if a_trans else x), (y.T if b_trans else y)
    flags = {"a_trans": a_trans, "b_trans": b_trans}
    made = call("tensor.matmul", tensor(given_x.shape), tensor(given_y.shape), **flags)
    assert shape_of(made) == [3, 4]
    np.testing.assert_array_equal(run(made, given_x, given_y), _by_hand(x, y))
    z = numbers(3, 4, seed=2)
    made = call("tensor.matmul_acc", tensor([3, 4]), tensor(given_x.shape), tensor(given_y.shape), **flags)
    np.testing.assert_array_equal(run(made, z, given_x, given_y), z + np.array(_by_hand(x, y)))
    made = call("tensor.matmul_acc", tensor([3, 4]), tensor(given_x.shape), tensor(given_y.shape), **flags, init_cond=True)
    np.testing.assert_array_equal(run(made, z, given_x, given_y), _by_hand(x, y))


def test_tensor_products_of_vectors() -> None:
    x, y, v = numbers(3, 5), numbers(5, seed=1), numbers(3, seed=2)
    made = call("tensor.matmul", tensor([3, 5]), tensor([5]))
    assert shape_of(made) == [3]
    np.testing.assert_array_equal(run(made, x, y), [sum(x[i, k] * y[k] for k in range(5)) for i in range(3)])
    made = call("tensor.matmul", tensor([3]), tensor([3, 5]))
    assert shape_of(made) == [5]
    np.testing.assert_array_equal(run(made, v, x), [sum(v[i] * x[i, k] for i in range(3)) for k in range(5)])
    assert shape_of(call("tensor.matmul", tensor([2, 3, 5]), tensor([5, scalar()])))[:2] == [2, 3]


@pytest.mark.parametrize(
    ("name", "positional", "named", "words"),
    [
        ("matmul", [tensor([3, 5]), tensor([4, 4])], {}, "as many columns"),
        ("matmul", [tensor([3, 5]), tensor([5, 4])], {"a_trans": True}, "as many columns"),
        ("matmul", [tensor([5]), tensor([5, 4])], {"a_trans": True}, "cannot transpose"),
        ("matmul", [tensor([3, 5], INT8), tensor([5, 4])], {}, "cannot multiply"),
        ("matmul_acc", [tensor([3, 4], FP16), tensor([3, 5], FP16), tensor([5, 4], FP16)], {}, "accumulator of FP32"),
        ("matmul_acc", [tensor([3]), tensor([3]), tensor([3, 1])], {}, "rank 2"),
    ],
)
def test_tensor_products_refuse(name: str, positional: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(f"tensor.{name}", *positional, **named)
