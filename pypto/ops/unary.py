"""Operators of one operand, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr
from pypto.ir.types import Type
from pypto.ops.declare import Declaration, Kind, Lanes, Param, Rule, op
from pypto.ops.region import Array, Keywords
from pypto.ops.rules import need_dtypes, need_same_type, same_type, shaped

FLOATS = (DataType.FP16, DataType.FP32)
_PRECISION = Param("high_precision", Kind.BOOL, default=False, doc="the slower, more exact form")


def unary(
    leaf: str,
    meaning: Callable[..., Any],
    doc: str,
    *,
    dtypes: Sequence[DataType] | None = None,
    composite: bool = False,
    short: bool = True,
    tensor: bool = True,
    precision: bool = False,
    rule: Rule | None = None,
) -> None:
    """Declare ``tile.<leaf>`` and, unless ``tensor`` is False, ``tensor.<leaf>``."""
    extra = (_PRECISION,) if precision else ()
    facts: dict[str, Any] = {
        "result": rule or same_type(dtypes),
        "meaning": meaning,
        "lanes": Lanes.ELEMENTWISE,
        "composite": composite,
        "short": short,
        "pure_types": True,
    }
    op(f"tile.{leaf}", params=[Param("tile", Kind.TILE), *extra], memory=MemorySpace.Vec, doc=doc, **facts)
    if tensor:
        op(f"tensor.{leaf}", params=[Param("input", Kind.TENSOR), *extra], tile_form=f"tile.{leaf}", doc=doc, **facts)


def reciprocal(tile: Array) -> Array:
    """One over each element; integers by truncation, and 0 over 0."""
    if tile.dtype.kind in "iu":
        whole = np.where(tile == 0, tile.dtype.type(1), tile)
        return np.where(tile == 0, tile.dtype.type(0), (1 / whole.astype(np.float64)).astype(tile.dtype))
    return np.divide(tile.dtype.type(1), tile)


def reciprocal_root(tile: Array, tmp: Array | None = None) -> Array:
    """One over the square root, computed in double and rounded once."""
    if tile.dtype == np.float32:
        return (1 / np.sqrt(tile.astype(np.float64))).astype(np.float32)
    return (1 / np.sqrt(tile.astype(np.float32))).astype(tile.dtype)


def rectified(tile: Array) -> Array:
    """The element, or zero where it is negative."""
    return np.maximum(tile, tile.dtype.type(0))


def _reciprocal_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    if kwargs.get("high_precision", False):
        need_dtypes(declaration, args, (0,), FLOATS)
    first: Any = args[0].type
    return shaped(first, first.shape, first.dtype)


def _root_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    if len(args) > 1:
        need_same_type(declaration, args, 1)
    first: Any = args[0].type
    return shaped(first, first.shape, first.dtype)


unary("neg", np.negative, "Each element with the other sign.")
unary("exp", np.exp, "e to the power of each element.")
unary("sqrt", np.sqrt, "Square root of each element.")
unary("abs", np.abs, "Absolute value of each element.")
unary("relu", rectified, "Each element, or zero where it is negative.", tensor=False)
unary("log", np.log, "Natural logarithm of each element.", dtypes=FLOATS, precision=True)
unary("recip", reciprocal, "One over each element.", precision=True, rule=_reciprocal_rule)
unary("sin", np.sin, "Sine of each element, in radians.", dtypes=(DataType.FP32,), composite=True)
unary("cos", np.cos, "Cosine of each element, in radians.", dtypes=(DataType.FP32,), composite=True)
unary("not", np.invert, "Each element with every bit flipped.", dtypes=(DataType.INT16, DataType.UINT16))

_ROOT: dict[str, Any] = {"result": _root_rule, "meaning": reciprocal_root, "lanes": Lanes.ELEMENTWISE, "short": True}
op(
    "tile.rsqrt",
    params=[Param("tile", Kind.TILE), Param("tmp", Kind.TILE, default=None, doc="scratch like the operand; selects the precise form")],
    memory=MemorySpace.Vec,
    scratch=["tmp"],
    doc="One over the square root of each element.",
    **_ROOT,
)
op(
    "tensor.rsqrt",
    params=[Param("input", Kind.TENSOR), _PRECISION],
    doc="One over the square root of each element.",
    **_ROOT,
)
