"""Operators on the elements of one tile or tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr
from pypto.ops.declare import Declaration, Kind, Lanes, Param, Rule, op
from pypto.ops.region import Array, Keywords
from pypto.ops.rules import FP16_FP32, checked, dtypes, floating, need_like, numbers, precise, same_type

Meaning = Callable[..., Any]

_PRECISE = Param("high_precision", Kind.BOOL, False, doc="Ask for the slower, more exact form.")


def unary(
    leaf: str,
    meaning: Meaning,
    doc: str,
    *,
    rule: Rule = same_type,
    spaces: Sequence[str] = ("tile", "tensor"),
    tile_extra: Sequence[Param] = (),
    tensor_extra: Sequence[Param] = (),
    one_to_one: bool = True,
    composite: bool = False,
) -> None:
    """Declare an operator on one tile (``tile.<leaf>``) and one tensor (``tensor.<leaf>``)."""
    for space in spaces:
        tile = space == "tile"
        operand = Param("tile", Kind.TILE, doc="The tile.") if tile else Param("input", Kind.TENSOR, doc="The tensor.")
        op(
            f"{space}.{leaf}",
            params=[operand, *(tile_extra if tile else tensor_extra)],
            result=rule,
            meaning=meaning,
            lanes=Lanes.ELEMENTWISE,
            doc=doc,
            short=True,
            memory=MemorySpace.Vec if tile else None,
            scratch=[p.name for p in tile_extra if p.kind is Kind.TILE] if tile else (),
            tile_form=None if tile or not one_to_one else f"tile.{leaf}",
            composite=composite,
            pure_types=True,
        )


def _rectified(tile: Array) -> Array:
    return np.maximum(tile, tile.dtype.type(0))


def _reciprocal_root(tile: Array, tmp: Any = None) -> Array:
    return np.reciprocal(np.sqrt(tile))


def _scratch_like(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> None:
    if len(args) > 1:
        need_like(declaration, 1, args[1], args[0], "tmp")


_NUMBER = checked(same_type, numbers(1))
_FLOATING = checked(same_type, floating)
_TRIGONOMETRIC = checked(same_type, dtypes(DataType.FP32))

unary("neg", np.negative, "Each element negated; integers wrap around.", rule=_NUMBER)
unary("abs", np.absolute, "Absolute value of each element; the smallest integer stays as it is.", rule=_NUMBER)
unary("relu", _rectified, "Each element, or 0 where it is negative.", rule=_NUMBER, spaces=("tile",))
unary("exp", np.exp, "e to the power of each element.", rule=_FLOATING)
unary("sqrt", np.sqrt, "Square root of each element; NaN where it is negative.", rule=_FLOATING)
unary("sin", np.sin, "Sine of each element, in radians.", rule=_TRIGONOMETRIC, composite=True)
unary("cos", np.cos, "Cosine of each element, in radians.", rule=_TRIGONOMETRIC, composite=True)
unary(
    "log",
    np.log,
    "Natural logarithm of each element.",
    rule=checked(same_type, dtypes(*FP16_FP32)),
    tile_extra=[_PRECISE],
    tensor_extra=[_PRECISE],
)
unary(
    "recip",
    np.reciprocal,
    "One divided by each element.",
    rule=checked(same_type, floating, precise(*FP16_FP32)),
    tile_extra=[_PRECISE],
    tensor_extra=[_PRECISE],
)
unary(
    "rsqrt",
    _reciprocal_root,
    "One divided by the square root of each element; a scratch tile (or high_precision on a tensor) selects the more exact form.",
    rule=checked(same_type, floating, precise(*FP16_FP32), _scratch_like),
    tile_extra=[Param("tmp", Kind.TILE, None, doc="Scratch room like the tile.")],
    tensor_extra=[_PRECISE],
    one_to_one=False,
)
unary(
    "not",
    np.invert,
    "Each element with all its bits inverted.",
    rule=checked(same_type, dtypes(DataType.INT16, DataType.UINT16)),
)
