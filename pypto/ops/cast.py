"""Conversion of the element type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.enums import CastMode, MemorySpace
from pypto.ir.expr import Expr
from pypto.ir.types import Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, op
from pypto.ops.numeric import cast_array, numpy_dtype
from pypto.ops.region import Array, Keywords
from pypto.ops.rules import shaped


def converted(tile: Array, target_type: DataType, mode: int) -> Array:
    """The elements in another type, rounded by the mode."""
    return cast_array(tile, element_type(tile.dtype), target_type, mode)


_BY_NUMPY: dict[np.dtype[Any], DataType] = {}


def element_type(dtype: np.dtype[Any]) -> DataType:
    """The element type of a NumPy type."""
    if dtype not in _BY_NUMPY:
        for candidate in DTYPES.values():
            if candidate not in (DataType.INDEX, DataType.TASK_ID, DataType.HF4, DataType.HF8):
                _BY_NUMPY.setdefault(numpy_dtype(candidate), candidate)
    return _BY_NUMPY[dtype]


def _rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    first: Any = args[0].type
    target = kwargs["target_type"]
    assert isinstance(target, DataType)
    if target is first.dtype:
        raise OperandError(f"{declaration.name} to {target.name} of {target.name} elements changes nothing", 0, "leave the cast out")
    return shaped(first, first.shape, target)


for _namespace, _kind, _name in (("tile", Kind.TILE, "tile"), ("tensor", Kind.TENSOR, "input")):
    op(
        f"{_namespace}.cast",
        params=[
            Param(_name, _kind),
            Param("target_type", Kind.DTYPE, doc="the new element type"),
            Param("mode", Kind.CAST_MODE, default="round", stored=True, doc="none, rint, round, floor, ceil, trunc or odd"),
        ],
        result=_rule,
        meaning=converted,
        lanes=Lanes.ELEMENTWISE,
        memory=MemorySpace.Vec if _namespace == "tile" else None,
        short=True,
        pure_types=True,
        tile_form="tile.cast" if _namespace == "tensor" else None,
        doc="Each element in another type. Float to integer saturates, and NaN gives 0; integers wrap.",
    )

ROUND = int(CastMode.round)
