"""Strides and layouts of tensors in global memory: packed strides, and which views are well-formed.

Packed ND strides are row-major. DN (rank 2 and above) swaps the last two axes: the last but one has stride 1, the last one the
extent of the last but one. Other layouts are not described by strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import TensorLayout
from pypto.ir.equality import structural_equal
from pypto.ir.expr import ConstInt, Expr, Mul, index_const
from pypto.ir.types import TensorView, to_dims

__all__ = [
    "build_logical_strides_from_layout",
    "canonicalize_view",
    "check_canonical_view",
    "compute_shape_product",
    "derive_layout_from_strides",
    "is_canonical_view",
]


def _times(left: Expr, right: Expr) -> Expr:
    if isinstance(left, ConstInt) and isinstance(right, ConstInt):
        return index_const(left.value * right.value)
    if isinstance(left, ConstInt) and left.value == 1:
        return right
    if isinstance(right, ConstInt) and right.value == 1:
        return left
    return Mul(left, right, DataType.INDEX)


def _same(left: Expr, right: Expr) -> bool:
    if isinstance(left, ConstInt) and isinstance(right, ConstInt):
        return left.value == right.value
    return structural_equal(left, right)


def compute_shape_product(shape: Sequence[Any]) -> Expr:
    """The number of elements of a shape; a constant when every extent is one, 1 for rank 0."""
    product: Expr = index_const(1)
    for dim in to_dims(shape):
        product = _times(product, dim)
    return product


def build_logical_strides_from_layout(shape: Sequence[Any], layout: TensorLayout) -> list[Expr]:
    """The packed strides of a shape in a layout.

    Raises:
        InvalidValueError: the layout is not described by strides, or DN has fewer than two axes.
    """
    dims = to_dims(shape)
    if layout not in (TensorLayout.ND, TensorLayout.DN):
        raise InvalidValueError(f"layout {layout.name} is not described by strides", hint="use ND or DN")
    order = list(range(len(dims)))
    if layout is TensorLayout.DN:
        if len(dims) < 2:
            raise InvalidValueError(f"layout DN needs at least two axes, got {len(dims)}")
        order[-1], order[-2] = order[-2], order[-1]
    strides: list[Expr] = [index_const(1)] * len(dims)
    step: Expr = index_const(1)
    for axis in reversed(order):
        strides[axis] = step
        step = _times(dims[axis], step)
    return strides


def derive_layout_from_strides(shape: Sequence[Any], stride: Sequence[Any]) -> TensorLayout | None:
    """The layout whose packed strides these are, ND before DN; None when it is neither."""
    dims, strides = to_dims(shape), to_dims(stride, "stride")
    if len(dims) != len(strides):
        return None
    for layout in (TensorLayout.ND, TensorLayout.DN):
        if layout is TensorLayout.DN and len(dims) < 2:
            continue
        packed = build_logical_strides_from_layout(dims, layout)
        if all(_same(a, b) for a, b in zip(strides, packed, strict=True)):
            return layout
    return None


def check_canonical_view(
    shape: Sequence[Any], stride: Sequence[Any], layout: TensorLayout, relaxed_symbolic: bool = True
) -> tuple[bool, str]:
    """Whether a view is well-formed, and the reason if it is not (empty otherwise).

    The innermost axis of the layout has stride 1, and every outer stride steps over all that is inside it; it may be larger, as in a
    part of a larger tensor. Where strides or extents are symbolic this cannot be decided: they pass when ``relaxed_symbolic``, else
    they must be the packed ones.
    """
    dims, strides = to_dims(shape), to_dims(stride, "stride")
    if layout not in (TensorLayout.ND, TensorLayout.DN):
        return False, f"layout {layout.name} is not described by strides"
    if layout is TensorLayout.DN and len(dims) < 2:
        return False, f"layout DN needs at least two axes, got {len(dims)}"
    if len(dims) != len(strides):
        return False, f"{len(strides)} strides for {len(dims)} axes"
    order = list(range(len(dims)))
    if layout is TensorLayout.DN:
        order[-1], order[-2] = order[-2], order[-1]
    needed: Expr = index_const(1)
    for axis in reversed(order):
        actual = strides[axis]
        innermost = axis == order[-1]
        if isinstance(actual, ConstInt) and isinstance(needed, ConstInt):
            if actual.value < needed.value or (innermost and actual.value != 1):
                relation = "must be" if innermost else "must be at least"
                return False, f"stride of axis {axis} {relation} {needed.value} in layout {layout.name}, got {actual.value}"
        elif not relaxed_symbolic and not _same(actual, needed):
            return False, f"stride of axis {axis} is symbolic and not the packed stride of layout {layout.name}"
        needed = _times(dims[axis], actual)
    return True, ""


def is_canonical_view(shape: Sequence[Any], stride: Sequence[Any], layout: TensorLayout, relaxed_symbolic: bool = True) -> bool:
    """True when :func:`check_canonical_view` finds nothing wrong."""
    return check_canonical_view(shape, stride, layout, relaxed_symbolic)[0]


def canonicalize_view(shape: Sequence[Any], layout: TensorLayout) -> TensorView:
    """The view of a shape with the packed strides of a layout written out."""
    return TensorView(build_logical_strides_from_layout(shape, layout), layout)
