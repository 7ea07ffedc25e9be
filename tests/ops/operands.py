"""Operands and calls for the tests of operators."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace, TensorLayout
from pypto.ir.expr import Call, ConstInt, Expr, MakeTuple, Var
from pypto.ir.op import get_op
from pypto.ir.types import ArrayType, DistributedTensorType, ScalarType, TensorType, TensorView, TileType, Type
from pypto.ops.declare import MISSING, Declaration, ResultSpec
from pypto.ops.region import tile_of

NUMPY: dict[DataType, Any] = {
    DataType.FP32: np.float32,
    DataType.FP16: np.float16,
    DataType.BF16: ml_dtypes.bfloat16,
    DataType.INT8: np.int8,
    DataType.INT16: np.int16,
    DataType.INT32: np.int32,
    DataType.INT64: np.int64,
    DataType.INDEX: np.int64,
    DataType.UINT8: np.uint8,
    DataType.UINT16: np.uint16,
    DataType.UINT32: np.uint32,
    DataType.BOOL: np.bool_,
    DataType.TASK_ID: np.uint64,
}


def tensor(
    shape: Sequence[Any],
    dtype: DataType = DataType.FP32,
    valid: Sequence[Any] = (),
    stride: Sequence[Any] = (),
    layout: Any = None,
) -> Var:
    """A tensor variable."""
    view = TensorView(stride, layout or TensorLayout.ND, valid) if (valid or stride or layout) else None
    return Var("x", TensorType(shape, dtype, None, view))


def distributed(shape: Sequence[Any], dtype: DataType = DataType.FP32) -> Var:
    """A distributed tensor variable."""
    return Var("d", DistributedTensorType(shape, dtype))


def tile(
    shape: Sequence[Any],
    dtype: DataType = DataType.FP32,
    valid: Sequence[Any] | None = None,
    space: MemorySpace | None = MemorySpace.Vec,
) -> Var:
    """A tile variable."""
    plain = TileType(shape, dtype, None, None, space)
    if valid is None:
        return Var("t", plain)
    extents = TileType(valid, dtype).shape
    return Var("t", tile_of(plain.shape, dtype, space, extents))


def scalar(name: str = "n", dtype: DataType = DataType.INDEX) -> Var:
    """A scalar variable."""
    return Var(name, ScalarType(dtype))


def array(extent: int, dtype: DataType = DataType.INT32) -> Var:
    """An array variable."""
    return Var("a", ArrayType(dtype, extent))


def declared(name: str) -> Declaration:
    """The declaration of an operator."""
    found = get_op(name)
    assert isinstance(found, Declaration)
    return found


def call(name: str, /, *positional: Any, **named: Any) -> Call:
    """A call as people write it."""
    declaration = declared(name)
    return declaration.build(declaration.bind(positional, named))


def extents(dims: Sequence[Expr]) -> list[Any]:
    """Constant extents as numbers, others as they are."""
    return [d.value if isinstance(d, ConstInt) else d for d in dims]


def shape_of(made: Call) -> list[Any]:
    """The extents of a result."""
    result: Any = made.type
    return extents(result.shape)


def valid_of(made: Call) -> list[Any]:
    """The valid extents of a result."""
    result: Any = made.type
    return extents(result.valid_shape)


def _plain(value: Any) -> Any:
    if isinstance(value, MakeTuple):
        return tuple([_plain(e) for e in value.elements])
    return getattr(value, "value", value)


def run(made: Call, *arrays: Any) -> Any:
    """The meaning of a call: ``arrays`` stand for its operands that are no constants or lists, in order."""
    declaration: Any = made.op
    given = list(arrays)
    operands = [_plain(a) if hasattr(a, "value") or isinstance(a, MakeTuple) else given.pop(0) for a in made.args]
    assert not given
    meaning = declaration.meaning
    keywords: dict[str, Any] = {}
    if not isinstance(meaning, np.ufunc):
        names = inspect.signature(meaning).parameters
        for key, param in declaration.keyword_params.items():
            if key in names:
                value = made.kwargs.get(key, param.default)
                if value is not MISSING and value is not None:
                    keywords[key] = value
        if "out" in names:
            result: Any = made.type
            keywords["out"] = ResultSpec(np.dtype(NUMPY[result.dtype]), tuple(extents(result.shape)))
    return meaning(*operands, **keywords)


def numbers(*shape: int, dtype: Any = np.float32, seed: int = 0) -> Any:
    """Small random integers as an array, so that sums in any order are exact."""
    return np.random.default_rng(seed).integers(-6, 7, shape).astype(dtype)


def result_type(made: Call) -> Type:
    """The type of a call."""
    return made.type
