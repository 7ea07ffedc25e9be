"""Collecting by index and pattern, putting back, sorting, against plain loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import MaskPattern
from pypto.ir.equality import structural_equal
from pypto.ops.declare import ArityError, OperandTypeError
from pypto.ops.forms import Forms
from pypto.ops.gather import gather_row, put_elements
from pypto.ops.region import BoundsError
from pypto.ops.vocabulary import lookup
from tests.ops.operands import call, numbers, run, scalar, shape_of, tensor, tile, valid_of

FP32, FP16, INT16, INT32, UINT32 = DataType.FP32, DataType.FP16, DataType.INT16, DataType.INT32, DataType.UINT32


# -- gather ----------------------------------------------------------------------------------------------------------------------


def test_tile_gather() -> None:
    x = numbers(4, 6)
    index = np.array([[0, 23], [7, 6], [5, 5]], np.int32)
    made = call("tile.gather", tile([4, 6]), tile([3, 2], INT32), tile([4, 6]))
    got = run(made, x, index, None)
    assert shape_of(made) == [3, 2]
    assert [[got[i, j] for j in range(2)] for i in range(3)] == [[x[k // 6, k % 6] for k in row] for row in index.tolist()]
    n = scalar("n")
    assert valid_of(call("tile.gather", tile([4, 6]), tile([3, 2], INT32, valid=[n, 2]), tile([4, 6]))) == [n, 2]
    with pytest.raises(BoundsError, match="index 24 lies outside 0 to 23"):
        run(made, x, index + 1, None)


@pytest.mark.parametrize("dim", [0, 1, -1, -2])
def test_tensor_gather(dim: int) -> None:
    x = numbers(4, 6)
    index = np.random.default_rng(3).integers(0, 4, (3, 4)).astype(np.int32)
    made = call("tensor.gather", tensor([4, 6]), dim, tensor([3, 4], INT32))
    got = run(made, x, index)
    for i, j in np.ndindex(3, 4):
        assert got[i, j] == (x[index[i, j], j] if dim % 2 == 0 else x[i, index[i, j]])
    with pytest.raises(BoundsError, match="index -1"):
        run(made, x, index - index.min() - 1)


STRIDES = {1: (2, 0), 2: (2, 1), 3: (4, 0), 4: (4, 1), 5: (4, 2), 6: (4, 3), 7: (1, 0)}


@pytest.mark.parametrize("pattern", list(MaskPattern))
def test_gather_by_pattern(pattern: MaskPattern) -> None:
    x = numbers(2, 16)
    stride, first = STRIDES[int(pattern)]
    # the digits of the name, read from the right, say which of the elements are taken
    digits = pattern.name[1:][::-1]
    taken = [[row[k] for k in range(16) if digits[k % 4] == "1"] for row in x.tolist()]
    made = call("tile.gather_mask", tile([2, 16]), pattern)
    assert made.kwargs["mask_pattern"] == int(pattern)
    assert type(made.kwargs["mask_pattern"]) is int
    got = run(made, x)
    assert got.tolist() == taken
    assert shape_of(made) == [2, 16 // stride]
    bits = run(call("tensor.gather_mask", tensor([2, 16]), mask_pattern=pattern, output_dtype=UINT32), x)
    np.testing.assert_array_equal(bits, np.ascontiguousarray(x[:, first::stride]).view(np.uint32))
    mask = np.zeros((2, 16), np.bool_)
    mask[1, first] = True
    assert np.argwhere(run(made, mask)).tolist() == [[1, 0]]


def test_one_name_for_gather_by_index_and_by_pattern() -> None:
    x, index = tensor([4, 16]), tensor([4, 2], INT32)
    for path in ("gather", "tensor.gather"):
        entry = lookup(path)
        assert isinstance(entry, Forms)
        assert structural_equal(entry.build([x], {"dim": -1, "index": index}), call("tensor.gather", x, -1, index))
        assert structural_equal(entry.build([x, -1, index], {}), call("tensor.gather", x, -1, index))
        by_pattern = entry.build([x], {"mask_pattern": 1, "output_dtype": INT32})
        assert structural_equal(by_pattern, call("tensor.gather_mask", x, mask_pattern=1, output_dtype=INT32))
        assert structural_equal(entry.build([], {"input": x, "mask_pattern": 1}), call("tensor.gather_mask", x, mask_pattern=1))
        with pytest.raises(ArityError, match="no form with these parameters") as caught:
            entry.build([x], {"dim": -1, "mask_pattern": 1})
        assert "pl.tensor.gather_mask(input, *, mask_pattern" in str(caught.value.hint)
        with pytest.raises(ArityError, match="has no parameter 'mask_patern'"):
            entry.build([x], {"mask_patern": 1})
        with pytest.raises(OperandTypeError, match="takes a Tensor as 'input', got FP32 tile"):
            entry.build([tile([4, 16])], {"mask_pattern": 1})
        assert "index" in entry.signature.parameters
        assert "mask_pattern" in entry.spelling()


def test_gather_row() -> None:
    x, t = numbers(10, 8), numbers(6, 8, seed=1)
    made = call("tile.gather_row", tile([6, 8]), tensor([10, 8]), [2, 0], [5, 3], [3, 4])
    got = run(made, t, x)
    for i, j in np.ndindex(6, 8):
        inside = 2 <= i < 5 and j < 4
        assert got[i, j] == (x[5 + i - 2, 3 + j] if inside else t[i, j])
    turned = gather_row(t, x, (1, 2), (5, 3), (3, 4), (2, 4), transpose=True)
    np.testing.assert_array_equal(turned[1:5, 2:4], x[5:7, 3:7].T)
    with pytest.raises(BoundsError, match="lies outside the shape"):
        gather_row(t, x, (4, 0), (0, 0), (3, 4))


@pytest.mark.parametrize(
    ("name", "positional", "named", "words"),
    [
        ("tile.gather", [tile([4, 6], DataType.INT8), tile([3, 2], INT32), tile([4, 6])], {}, "FP16, FP32, INT16 or INT32"),
        ("tile.gather", [tile([4, 6]), tile([3, 2], INT16), tile([4, 6])], {}, "indices of INT32"),
        ("tensor.gather", [tensor([4, 6]), 2, tensor([4, 2], INT32)], {}, "'dim' from -2 to 1"),
        ("tensor.gather", [tensor([4, 6]), 1, tensor([4, 2])], {}, "integers as 'index'"),
        ("tensor.gather", [tensor([4, 6]), 1, tensor([8], INT32)], {}, "index of rank 2"),
        ("tensor.gather", [tensor([4, 6]), 1, tensor([5, 2], INT32)], {}, "cannot index"),
        ("tile.gather_mask", [tile([4, 6]), 3], {}, "divisible by 4"),
        ("tile.gather_mask", [tile([4, 8]), 8], {}, "'mask_pattern' as one of"),
        ("tile.gather_mask", [tile([4, 8]), 1], {"output_dtype": FP16}, "width"),
        ("tile.gather_row", [tile([6, 8]), tensor([10, 8], FP16), [0, 0], [0, 0], [3, 4]], {}, "elements of one type"),
        ("tile.gather_row", [tile([6, 8]), tensor([10, 8]), [0], [0, 0], [3, 4]], {}, "2 offsets"),
        ("tile.gather_row", [tile([6, 8]), tensor([10, 8]), [0, 0], [0, -1], [3, 4]], {}, "negative offset"),
        (
            "tile.gather_row",
            [tile([6, 8]), tensor([10, 8]), [0, 0], [0, 0], [3, 4]],
            {"valid_shape": [4, 4]},
            "exceeds the shape",
        ),
    ],
)
def test_gathers_refuse(name: str, positional: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call(name, *positional, **named)


# -- scatter ---------------------------------------------------------------------------------------------------------------------


def test_tensor_scatter() -> None:
    x, y = numbers(3, 6), numbers(3, 2, seed=1)
    index = np.array([[0, 5], [2, 2], [1, 0]], np.int32)
    made = call("tensor.scatter", tensor([3, 6]), -1, tensor([3, 2], INT32), tensor([3, 2]))
    got = run(made, x, index, y)
    expected = x.copy()
    for i in range(3):
        for j in range(2):
            expected[i, index[i, j]] = y[i, j]
    np.testing.assert_array_equal(got, expected)
    assert got is not x
    with pytest.raises(BoundsError, match="index 6"):
        run(made, x, index + 1, y)


@pytest.mark.parametrize("space", ["tile", "tensor"])
def test_scatter_update(space: str) -> None:
    made_of: Any = tile if space == "tile" else tensor
    x, y = numbers(8, 3), numbers(4, 3, seed=1)
    index = np.array([[6, 0], [7, 2]], np.int32)
    made = call(f"{space}.scatter_update", made_of([8, 3]), -2, made_of([2, 2], INT32), made_of([4, 3]))
    expected = x.copy()
    for k, place in enumerate(index.reshape(-1)):
        expected[place] = y[k]
    old = x.copy()
    got = run(made, x, index, y)
    np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(x, expected if space == "tensor" else old)
    four = numbers(2, 4, 1, 3)
    call(f"{space}.scatter_update", made_of([2, 4, 1, 3]), -2, made_of([2, 2], INT32), made_of([2, 2, 1, 3]))
    done = run(made, four.copy(), index, y.reshape(2, 2, 1, 3))
    assert done[1, 2, 0].tolist() == y[0].tolist()
    assert done[0, 2, 0].tolist() == y[3].tolist()


def test_mscatter() -> None:
    x, target = numbers(2, 3), np.zeros((4, 5), np.float32)
    index = np.array([[19, 0, 7], [7, 3, 4]], np.int32)
    made = call("tile.mscatter", tile([2, 3]), tile([2, 3], INT32), tensor([4, 5]))
    assert run(made, x, index, target) is target
    expected = np.zeros(20)
    for i, j in np.ndindex(2, 3):
        expected[index[i, j]] = x[i, j]
    np.testing.assert_array_equal(target.reshape(-1), expected)
    part = np.zeros((4, 8), np.float32)[:, 1:6]
    put_elements(x, index, part)
    np.testing.assert_array_equal(part.reshape(-1), expected)
    with pytest.raises(BoundsError, match="index 20"):
        run(made, x, index + 1, target)


@pytest.mark.parametrize(
    ("name", "positional", "words"),
    [
        ("tensor.scatter", [tensor([3, 6]), 0, tensor([3, 2], INT32), tensor([3, 2])], "last axis"),
        ("tensor.scatter", [tensor([3, 6, 1]), 2, tensor([3, 2, 1], INT32), tensor([3, 2, 1])], "2-D"),
        ("tensor.scatter", [tensor([3, 6]), 1, tensor([3, 2], INT32), tensor([3, 3])], "a source of FP32"),
        ("tile.scatter_update", [tile([8, 3]), 1, tile([2, 2], INT32), tile([4, 3])], "dim -2 only"),
        ("tile.scatter_update", [tile([8, 3, 1]), -2, tile([2, 2], INT32), tile([4, 3, 1])], "rank 2 or 4"),
        ("tile.scatter_update", [tile([8, 3]), -2, tile([4], INT32), tile([4, 3])], "2-D index"),
        ("tile.scatter_update", [tile([8, 3]), -2, tile([2, 2], INT32), tile([4, 3], FP16)], "element type and rank"),
        ("tile.scatter_update", [tile([8, 3]), -2, tile([2, 2], INT32), tile([4, 2])], "rows as long"),
        ("tile.mscatter", [tile([2, 3]), tile([2, 3], UINT32), tensor([4, 5])], "INT32 indices"),
        ("tile.mscatter", [tile([2, 3]), tile([2, 2], INT32), tensor([4, 5])], "INT32 indices"),
        ("tile.mscatter", [tile([2, 3]), tile([2, 3], INT32), tensor([4, 5], FP16)], "puts FP32"),
    ],
)
def test_scatters_refuse(name: str, positional: list[Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call(name, *positional)


# -- sorting ---------------------------------------------------------------------------------------------------------------------


def _unpacked(row: Any) -> list[tuple[float, int]]:
    """Pairs of a row: the value in the first bytes, the number in the last four of eight."""
    data = row.tobytes()
    pairs: list[tuple[float, int]] = []
    for at in range(0, len(data), 8):
        value = np.frombuffer(data[at : at + row.dtype.itemsize], row.dtype)[0]
        pairs.append((float(value), int.from_bytes(data[at + 4 : at + 8], "little")))
    return pairs


@pytest.mark.parametrize(("dtype", "numpy"), [(FP32, np.float32), (FP16, np.float16)])
def test_sort32_and_merge(dtype: DataType, numpy: Any) -> None:
    x = np.random.default_rng(5).integers(-20, 20, (2, 320)).astype(numpy)
    index = np.arange(320, dtype=np.uint32).reshape(1, 320)
    made = call("tensor.sort32", tensor([2, 320], dtype), tensor([1, 320], UINT32))
    got = run(made, x, index)
    words = 8 // numpy().itemsize
    assert shape_of(made) == [2, 320 * words] == list(got.shape)
    for r in range(2):
        pairs = _unpacked(got[r])
        for begin in range(0, 320, 32):
            block = sorted(range(begin, begin + 32), key=lambda k: (-float(x[r, k]), k))
            assert pairs[begin : begin + 32] == [(float(x[r, k]), k) for k in block]
    merged = run(call("tile.mrgsort_format1", tile([2, 320 * words], dtype), block_len=32 * words), got)
    for r in range(2):
        pairs = _unpacked(merged[r])
        for begin in range(0, 320, 128):
            run_ = sorted(range(begin, min(begin + 128, 320)), key=lambda k: (-float(x[r, k]), k))
            assert pairs[begin : begin + 128] == [(float(x[r, k]), k) for k in run_]


@pytest.mark.parametrize(
    ("name", "positional", "named", "words"),
    [
        ("sort32", [tile([1, 64], INT32), tile([1, 64], UINT32)], {}, "FP16 or FP32"),
        ("sort32", [tile([1, 48]), tile([1, 48], UINT32)], {}, "multiple of 32"),
        ("sort32", [tile([1, 64]), tile([1, 64], INT32)], {}, "UINT32"),
        ("sort32", [tile([1, 64]), tile([1, 32], UINT32)], {}, "as many as there are elements"),
        ("sort32", [tile([4, 64]), tile([2, 64], UINT32)], {}, "takes numbers for"),
        ("sort32", [tile([1, 64], valid=[1, 60]), tile([1, 64], UINT32)], {}, "valid throughout"),
        ("mrgsort_format1", [tile([1, 256])], {"block_len": 32}, "positive multiple of 64"),
        ("mrgsort_format1", [tile([1, 256])], {"block_len": -64}, "positive multiple of 64"),
        ("mrgsort_format1", [tile([1, 160])], {"block_len": 64}, "cannot cut rows"),
    ],
)
def test_sorts_refuse(name: str, positional: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call(f"tile.{name}", *positional, **named)


def test_mrgsort_is_spelled_short() -> None:
    entry: Any = lookup("mrgsort")
    source = tile([1, 256])
    assert structural_equal(entry.build([source], {"block_len": 64}), call("tile.mrgsort_format1", source, block_len=64))
    assert lookup("tile.mrgsort") is not None
