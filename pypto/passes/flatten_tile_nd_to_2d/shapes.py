"""The 2-D form of shapes and tile types: all leading dimensions become one, the last stays."""

from __future__ import annotations

from pypto.diagnostics import InvalidValueError
from pypto.ir.expr import Expr, MakeTuple
from pypto.ir.span import Span
from pypto.ir.types import TileType, Type, static_dims
from pypto.ops.region import flat_dims, flat_forms


def flat_tuple(dims: Expr) -> Expr:
    """A shape operand in its 2-D form."""
    if not isinstance(dims, MakeTuple) or len(dims.elements) <= 2:
        return dims
    return MakeTuple(flat_dims(dims.elements), dims.span)


def flat_type(type_: Type, span: Span) -> Type:
    """A tile type in its 2-D form, other types as they are.

    Raises:
        InvalidValueError: a tile of more than two dimensions whose shape is not constant, or with explicit strides.
    """
    if not isinstance(type_, TileType) or len(type_.shape) <= 2:
        return type_
    if static_dims(type_.shape) is None:
        raise InvalidValueError(
            "a tile of more than two dimensions needs a constant shape", span, hint="bound the dimension and use valid_shape"
        )
    view = type_.tile_view
    if view is not None and (view.stride or view.start_offset is not None):
        raise InvalidValueError("a strided tile of more than two dimensions has no two-dimensional form", span)
    return flat_forms(type_)[0]


def is_deep(value: Expr) -> bool:
    """True for a tile of more than two dimensions."""
    return isinstance(value.type, TileType) and len(value.type.shape) > 2
