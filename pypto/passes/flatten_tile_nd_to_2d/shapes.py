"""The 2-D form of shapes and tile types: all leading dimensions become one, the last stays."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir.expr import Expr, MakeTuple
from pypto.ir.span import Span
from pypto.ir.types import TileType, TupleType, Type, static_dims
from pypto.ops.region import constant, flat_dims, flat_forms, same, text_of


def flat_tuple(dims: Expr) -> Expr:
    """A shape operand in its 2-D form."""
    if not isinstance(dims, MakeTuple) or len(dims.elements) <= 2:
        return dims
    return MakeTuple(flat_dims(dims.elements), dims.span)


def flat_type(type_: Type, span: Span) -> Type:
    """A tile type in its 2-D form, other types as they are.

    Raises:
        InvalidValueError: a tile of more than two dimensions whose shape is not constant, with explicit strides, or whose valid elements
            are not the first rows once the leading dimensions are one.
    """
    if isinstance(type_, TupleType):
        types = [flat_type(t, span) for t in type_.types]
        return type_ if all(a is b for a, b in zip(types, type_.types, strict=True)) else TupleType(types)
    if not isinstance(type_, TileType) or len(type_.shape) <= 2:
        return type_
    if static_dims(type_.shape) is None:
        raise InvalidValueError(
            f"a tile of more than two dimensions needs a constant shape, got {text_of(type_.shape)}",
            span,
            hint="bound the dimension and use valid_shape",
        )
    view = type_.tile_view
    if view is not None and (view.stride or view.start_offset is not None):
        raise InvalidValueError("a strided tile of more than two dimensions has no two-dimensional form", span)
    if not _first_rows(type_.shape[:-1], type_.valid_shape[:-1]):
        raise InvalidValueError(
            f"the valid region {text_of(type_.valid_shape)} of a tile {text_of(type_.shape)} is not contiguous in two dimensions",
            span,
            hint="fill it first: pl.fillpad(...), or load one page at a time",
        )
    return flat_forms(type_)[0]


def _first_rows(shape: Sequence[Expr], valid: Sequence[Expr]) -> bool:
    """True when a region of the leading dimensions is a number of first rows: ones, then any extent, then whole dimensions."""
    at = 0
    while at < len(shape) and (constant(valid[at]) == 1 or constant(shape[at]) == 1):
        at += 1
    return all(same(a, b) for a, b in zip(shape[at + 1 :], valid[at + 1 :], strict=True))


def is_deep(value: Expr) -> bool:
    """True for a tile of more than two dimensions."""
    return isinstance(value.type, TileType) and len(value.type.shape) > 2
