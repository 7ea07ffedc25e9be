"""The 2-D form of shapes and tile types: all leading dimensions become one, the last stays."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InvalidValueError
from pypto.ir.expr import ConstInt, Expr, MakeTuple, index_const
from pypto.ir.scalar import mul
from pypto.ir.span import Span
from pypto.ir.types import TileType, Type, static_dims


def product(dims: Sequence[Expr]) -> Expr:
    """The product of dimensions: constants are folded, a factor of one vanishes."""
    constant = 1
    symbolic: list[Expr] = []
    for dim in dims:
        if isinstance(dim, ConstInt):
            constant *= dim.value
        else:
            symbolic.append(dim)
    if constant == 0 or not symbolic:
        return index_const(constant)
    result = symbolic[0]
    for dim in symbolic[1:]:
        result = mul(result, dim)
    return result if constant == 1 else mul(result, index_const(constant))


def flat_dims(dims: Sequence[Expr]) -> list[Expr]:
    """``[product of leading, last]``; two dimensions or fewer stay as they are."""
    return [*dims] if len(dims) <= 2 else [product(dims[:-1]), dims[-1]]


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
    if view is not None:
        if view.stride or view.start_offset is not None:
            raise InvalidValueError("a strided tile of more than two dimensions has no two-dimensional form", span)
        view = view.replace(valid_shape=flat_dims(view.valid_shape) if view.valid_shape else [])
    return TileType(flat_dims(type_.shape), type_.dtype, type_.memref, view, type_.memory_space)


def is_deep(value: Expr) -> bool:
    """True for a tile of more than two dimensions."""
    return isinstance(value.type, TileType) and len(value.type.shape) > 2
