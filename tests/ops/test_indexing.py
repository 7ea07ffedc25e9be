"""Elements, extents, places, arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto.ir.dtypes import DataType
from pypto.ir.expr import ConstFloat, ConstInt, MakeTuple
from pypto.ir.types import ArrayType, ScalarType, UnknownType
from pypto.ops.declare import OperandError, OperandTypeError
from pypto.ops.indexing import read_element, update_element, write_element
from pypto.ops.region import BoundsError
from tests.ops.operands import array, call, numbers, run, scalar, tensor, tile

FP32, FP16, INT32, INDEX = DataType.FP32, DataType.FP16, DataType.INT32, DataType.INDEX


@pytest.mark.parametrize(("space", "made_of"), [("tile", tile), ("tensor", tensor)])
def test_read_and_write(space: str, made_of: Any) -> None:
    x = numbers(4, 6)
    made = call(f"{space}.read", made_of([4, 6]), [2, 3])
    assert made.type is ScalarType(FP32)
    assert run(made, x) == x[2, 3]
    made = call(f"{space}.write", made_of([4, 6]), [2, 3], 1)
    assert made.type is UnknownType()
    value = made.args[2]
    assert isinstance(value, ConstFloat)
    assert value.dtype is FP32
    run(made, x)
    assert x[2, 3] == 1


def test_one_index_need_not_be_a_list() -> None:
    made = call("tensor.read", tensor([8]), 3)
    assert isinstance(made.args[1], MakeTuple)
    made = call("tile.write", tile([8], INT32), scalar(), 5)
    assert isinstance(made.args[1], MakeTuple)
    assert made.args[2].type is ScalarType(INT32)


@pytest.mark.parametrize(
    ("name", "positional", "words"),
    [
        ("read", [tile([4, 6]), [2]], "2 indices"),
        ("read", [tile([4, 6]), [4, 0]], "no index"),
        ("read", [tile([4, 6]), [-1, 0]], "no index"),
        ("read", [tile([4, 6]), [scalar("f", FP32), 0]], "takes integers in 'indices'"),
        ("write", [tile([4, 6]), [0, 0], scalar("v", FP16)], "FP32 elements, got FP16 scalar"),
        ("write", [tile([4, 6]), [0, 0], scalar("v")], "INDEX"),
        ("write", [tile([4, 6], INT32), [0, 0], scalar("v", DataType.INT64)], "INT32 elements"),
    ],
)
def test_read_and_write_refuse(name: str, positional: list[Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(f"tile.{name}", *positional)


def test_read_refuses_a_tensor_in_place_of_a_tile() -> None:
    with pytest.raises(OperandTypeError, match="Tile as 'tile'"):
        call("tile.read", tensor([4]), 0)


def test_elements_outside() -> None:
    x = numbers(4, 6)
    for index in ((4, 0), (0, 6), (-1, 0)):
        with pytest.raises(BoundsError, match=r"outside the shape \[4, 6\]"):
            read_element(x, index)
        with pytest.raises(BoundsError, match=r"outside the shape \[4, 6\]"):
            write_element(x, index, 1)


def test_written_integers_wrap() -> None:
    x = np.zeros(3, np.int32)
    write_element(x, (1,), (1 << 31) + 5)
    assert x.tolist() == [0, 5 - (1 << 31), 0]


def test_masks() -> None:
    mask = np.zeros((2, 2), np.bool_)
    write_element(mask, (1, 0), True)
    assert read_element(mask, (1, 0))
    assert not read_element(mask, (0, 0))


def test_dim() -> None:
    made = call("tensor.dim", tensor([4, scalar()]), -1)
    assert made.type is ScalarType(INDEX)
    assert run(made, numbers(4, 6)) == 6
    for axis, words in ((2, "from -2 to 1"), (-3, "from -2 to 1"), (scalar(), "constant as 'axis'")):
        with pytest.raises(OperandError, match=words):
            call("tensor.dim", tensor([4, 6]), axis)


@pytest.mark.parametrize("space", ["tile", "tensor"])
def test_places_of_a_kernel_that_runs_alone(space: str) -> None:
    values = [run(call(f"{space}.{leaf}")) for leaf in ("get_block_idx", "get_subblock_idx", "get_block_num")]
    assert values == [0, 0, 1]
    assert call(f"{space}.get_block_idx").type is ScalarType(INDEX)


def test_arrays() -> None:
    made = call("array.create", 4, INT32)
    assert made.type is ArrayType(INT32, 4)
    assert run(made).tolist() == [0, 0, 0, 0]
    made = call("array.update_element", array(4), 2, 7)
    value = made.args[2]
    assert isinstance(value, ConstInt)
    assert value.dtype is INT32
    assert made.type is ArrayType(INT32, 4)
    old = np.zeros(4, np.int32)
    assert run(made, old).tolist() == [0, 0, 7, 0]
    assert not old.any()
    assert call("array.get_element", array(4), scalar()).type is ScalarType(INT32)
    assert run(call("array.get_element", array(4), 3), np.array([1, 2, 3, 4])) == 4
    with pytest.raises(BoundsError, match="index 4 lies outside an array of 4"):
        update_element(old, 4, 1)


@pytest.mark.parametrize(
    ("name", "positional", "words"),
    [
        ("create", [0, INT32], "positive constant"),
        ("create", [scalar(), INT32], "positive constant"),
        ("create", [4, FP32], "integers, BOOL or TASK_ID"),
        ("get_element", [array(4), 4], "from 0 to 3, got 4"),
        ("get_element", [array(4), scalar("f", FP32)], "integer as 'index'"),
        ("update_element", [array(4), 0, scalar("v", DataType.INT64)], "INT32 elements"),
        ("update_element", [array(4, DataType.TASK_ID), 0, scalar("v", INT32)], "TASK_ID elements"),
    ],
)
def test_arrays_refuse(name: str, positional: list[Any], words: str) -> None:
    with pytest.raises(OperandError, match=words):
        call(f"array.{name}", *positional)
