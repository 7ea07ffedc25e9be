"""Conversion of tiles and tensors to another element type."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr
from pypto.ir.types import Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, op
from pypto.ops.numeric import caster, data_type
from pypto.ops.region import Array, Keywords
from pypto.ops.rules import noun, result_like, shaped, with_article

_DOC = (
    "Each element converted to another type. Float to integer rounds by the mode, saturates and turns NaN into 0; integers wrap "
    "around; to a float type with fewer digits the mode rounds. Modes: none, rint (to the nearest, halves to even), round (halves away "
    "from zero), floor, ceil, trunc, odd."
)


def _converted(array: Array, target_type: DataType, mode: int) -> Array:
    return caster(data_type(array.dtype), target_type, mode)(array)


def _cast_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    first = shaped(args[0])
    target = kwargs.get("target_type")
    if not isinstance(target, DataType):
        raise OperandError(f"{declaration.name} needs 'target_type'", 0)
    if target is first.dtype:
        raise OperandError(
            f"{declaration.name} to {target.name} changes nothing: it got {with_article(f'{target.name} {noun(args[0])}')}",
            0,
            "leave it out",
        )
    if DataType.TASK_ID in (target, first.dtype):
        raise OperandError(f"{declaration.name} converts numbers, and TASK_ID is none", 0)
    return result_like(first, target)


for _space, _operand in (
    ("tile", Param("tile", Kind.TILE, doc="The tile.")),
    ("tensor", Param("input", Kind.TENSOR, doc="The tensor.")),
):
    op(
        f"{_space}.cast",
        params=[
            _operand,
            Param("target_type", Kind.DTYPE, stored=True, doc="The element type of the result."),
            Param("mode", Kind.CAST_MODE, "round", stored=True, doc="The rounding mode, by name or number."),
        ],
        result=_cast_rule,
        meaning=_converted,
        lanes=Lanes.ELEMENTWISE,
        doc=_DOC,
        short=True,
        memory=MemorySpace.Vec if _space == "tile" else None,
        tile_form="tile.cast" if _space == "tensor" else None,
        pure_types=True,
    )
