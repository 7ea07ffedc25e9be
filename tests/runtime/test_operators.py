"""Poison through single operators: it must go exactly where a NaN in the same place goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pypto import ir
from pypto.ir.expr import Var
from pypto.runtime.operators import operator_for
from pypto.runtime.values import Tracked
from tests.runtime.building import FP32, INT32, call, number, tensor

VEC = ir.MemorySpace.Vec
RNG = np.random.default_rng(11)


def tile(*shape: int) -> Var:
    return Var("t", ir.TileType(list(shape), FP32, None, None, VEC))


def mem(space: ir.MemorySpace, *shape: int) -> Var:
    return Var("t", ir.TileType(list(shape), FP32, None, None, space))


def x(*shape: int) -> Var:
    return Var("x", tensor(list(shape)))


def scratch(*shape: int) -> Var:
    return Var("tmp", ir.TileType(list(shape), FP32, None, None, VEC))


CASES: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("tile.add", [tile(4, 8), tile(4, 8)], {}),
    ("tile.mul", [tile(4, 8), tile(4, 1)], {}),
    ("tile.adds", [tile(4, 8), number(2.0, FP32)], {}),
    ("tile.exp", [tile(4, 8)], {}),
    ("tile.neg", [tile(2, 3, 4)], {}),
    ("tile.move", [tile(4, 8)], {"target_memory": VEC}),
    ("tile.reshape", [tile(4, 8), [8, 4]], {}),
    ("tile.transpose", [tile(4, 8), 0, 1], {}),
    ("tile.slice", [tile(4, 8), [2, 8], [1, 0]], {}),
    ("tile.concat", [tile(4, 8), tile(4, 4)], {}),
    ("tile.assemble", [tile(4, 8), tile(2, 8), [1, 0]], {}),
    ("tile.row_expand", [scratch(4, 8), tile(4, 1)], {}),
    ("tile.row_expand_mul", [tile(4, 8), tile(4, 1)], {}),
    ("tile.col_expand_sub", [tile(4, 8), tile(1, 8)], {}),
    ("tile.row_sum", [tile(4, 8), scratch(4, 8)], {}),
    ("tile.col_sum", [tile(4, 8)], {}),
    ("tile.fillpad", [tile(4, 8)], {"pad_value": ir.PadValue.max}),
    ("tile.fillpad_expand", [tile(4, 8), [8, 16]], {"pad_value": ir.PadValue.zero}),
    ("tile.matmul", [mem(ir.MemorySpace.Left, 4, 8), mem(ir.MemorySpace.Right, 8, 16)], {}),
    ("tile.matmul_acc", [mem(ir.MemorySpace.Acc, 4, 16), mem(ir.MemorySpace.Left, 4, 8), mem(ir.MemorySpace.Right, 8, 16)], {}),
    ("tile.batch_matmul", [mem(ir.MemorySpace.Left, 2, 4, 8), mem(ir.MemorySpace.Right, 2, 8, 4)], {}),
    ("tile.load", [x(4, 8), [1, 0], [2, 8], [2, 8]], {"target_memory": VEC}),
    ("tensor.add", [x(4, 8), x(4, 8)], {}),
    ("tensor.reshape", [x(4, 8), [2, 16]], {}),
    ("tensor.transpose", [x(4, 8), 0, 1], {}),
    ("tensor.slice", [x(4, 8), [2, 4], [2, 4]], {}),
    ("tensor.assemble", [x(4, 8), x(2, 4), [1, 2]], {}),
    ("tensor.concat", [x(4, 8), x(4, 8)], {}),
    ("tensor.matmul", [x(4, 8), x(8, 4)], {"out_dtype": FP32}),
    ("tensor.row_sum", [x(4, 8)], {}),
    ("tensor.view", [x(4, 8), [32]], {}),
    ("tensor.fillpad", [x(4, 8)], {"pad_value": ir.PadValue.zero}),
]


def operand_value(arg: ir.Expr, poisoned: bool, position: int) -> Any:
    """Data with a NaN wherever it is poison."""
    if isinstance(arg, ir.MakeTuple):
        return tuple(e.value for e in arg.elements)  # type: ignore[attr-defined]
    if isinstance(arg, ir.ConstInt):
        return arg.value
    if isinstance(arg, ir.ConstFloat):
        return np.float32(arg.value)
    shape = [d.value for d in arg.type.shape]
    data = RNG.uniform(-2, 2, shape).astype(np.float32)
    if arg.name_hint == "tmp":
        return Tracked(data, np.ones(shape, np.bool_))
    if not poisoned:
        return Tracked(data) if position == 0 and isinstance(arg.type, ir.TensorType) else data
    mask = np.zeros(shape, np.bool_)
    mask.reshape(-1)[RNG.integers(0, mask.size, max(1, mask.size // 8))] = True
    data[mask] = np.nan
    return Tracked(data, mask)


@pytest.mark.parametrize(("name", "args", "kwargs"), CASES, ids=[c[0] for c in CASES])
def test_poison_goes_where_a_nan_goes(name: str, args: list[Any], kwargs: dict[str, Any]) -> None:
    node = call(name, *args, **kwargs)
    operator = operator_for(node, node.op, False, False)
    ufunc = operator.direct
    apply = operator.apply if ufunc is None else lambda _, *values: ufunc(*values)
    arrays = [i for i, a in enumerate(node.args) if isinstance(a, Var) and a.name_hint != "tmp"]
    with np.errstate(all="ignore"):
        for chosen in [[], *[[i] for i in arrays], arrays]:
            values = [operand_value(a, i in chosen, i) for i, a in enumerate(node.args)]
            result = apply(None, *values)
            data, mask = (result.data, result.poison) if isinstance(result, Tracked) else (result, None)
            assert list(data.shape) == [d.value for d in node.type.shape]
            expected = np.isnan(data)
            np.testing.assert_array_equal(np.zeros_like(expected) if mask is None else mask, expected)
            if not chosen:
                assert not expected.any()


@pytest.mark.parametrize("leaf", ["row_sum", "row_max", "col_sum", "col_max"])
def test_a_reduction_of_the_valid_region_of_a_view_of_a_type(leaf: str) -> None:
    """The valid extents come from the operand's type; what lies outside is neither looked at nor good."""
    view = ir.TileView(valid_shape=[3, 5])
    source = Var("t", ir.TileType([4, 8], FP32, None, view, VEC))
    args = [source, scratch(4, 8)] if leaf.startswith("row") else [source]
    node = call(f"tile.{leaf}", *args)
    operator = operator_for(node, node.op, False, False)
    assert operator.valid_operands == [0]
    data = np.full((4, 8), np.nan, np.float32)
    data[:3, :5] = np.arange(15).reshape(3, 5)
    axis = 1 if leaf.startswith("row") else 0
    shape, valid = ((4, 1), (3, 1)) if axis else ((1, 8), (1, 5))
    rest = [operand_value(a, False, 9) for a in node.args[1:]]
    result = operator.apply((((3, 5), None), (shape,), (valid,)), data, *rest)
    reduce = np.sum if leaf.endswith("sum") else np.max
    good = reduce(data[:3, :5], axis=axis, keepdims=True)
    np.testing.assert_array_equal(result.data[: valid[0], : valid[1]], good)
    assert not result.poison[: valid[0], : valid[1]].any()
    assert result.poison.sum() == result.poison.size - good.size


def test_integer_products_with_poison_are_poison_throughout() -> None:
    left = Var("t", ir.TileType([4, 8], ir.DataType.INT8, None, None, ir.MemorySpace.Left))
    right = Var("t", ir.TileType([8, 16], ir.DataType.INT8, None, None, ir.MemorySpace.Right))
    node = call("tile.matmul", left, right)
    mask = np.zeros((4, 8), np.bool_)
    mask[0, 0] = True
    result = operator_for(node, node.op, False, False).apply(
        None, Tracked(np.ones((4, 8), np.int8), mask), np.ones((8, 16), np.int8)
    )
    assert result.dtype == np.int32
    assert (result.data == 8).all()
    assert result.poison.all()


def test_the_result_of_a_mixed_sum_has_its_declared_type() -> None:
    whole = Var("t", ir.TileType([4, 8], INT32, None, None, VEC))
    node = call("tile.add", whole, tile(4, 8))
    operator = operator_for(node, node.op, False, False)
    assert operator.direct is None
    result = operator.apply(None, np.full((4, 8), 3, np.int32), np.full((4, 8), 0.5, np.float32))
    assert result.dtype == np.float32
    assert (result == 3.5).all()
