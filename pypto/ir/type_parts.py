"""The expressions that types hold: finding them, and building a type again from changed ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pypto.ir.expr import ConstInt, Expr
from pypto.ir.types import (
    ArrayType,
    ShapedType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
)


def is_closed(type_: Type) -> bool:
    """True when the type holds no variable and no memref: all of its extents are constants. Remembered on the type."""
    try:
        return type_._closed
    except AttributeError:
        closed = all(type(part) is ConstInt for part in type_expressions(type_))
        type_._closed = closed
        return closed


def type_expressions(type_: Type) -> Iterator[Expr]:
    """Every expression that a type holds: extents, views, the memref and the window, those of tuple elements included."""
    if isinstance(type_, TupleType):
        for item in type_.types:
            yield from type_expressions(item)
    elif isinstance(type_, ShapedType):
        yield from type_.shape
        view: TensorView | TileView | None = getattr(type_, "tensor_view", None) or getattr(type_, "tile_view", None)
        if view is not None:
            yield from view.valid_shape
            yield from view.stride
            if isinstance(view, TileView) and view.start_offset is not None:
                yield view.start_offset
        if type_.memref is not None:
            yield type_.memref
        window = getattr(type_, "window_buffer", None)
        if window is not None:
            yield window


def map_type(type_: Type, change: Callable[[Expr], Expr]) -> Type:
    """The type with ``change`` applied to each expression it holds; the same object when nothing changes."""
    if is_closed(type_):
        return type_
    if isinstance(type_, TupleType):
        items = [map_type(item, change) for item in type_.types]
        return type_ if _all_same(items, type_.types) else TupleType(items)
    if isinstance(type_, ArrayType) or not isinstance(type_, ShapedType):
        return type_
    shape = change_all(type_.shape, change)
    memref: Any = None if type_.memref is None else change(type_.memref)
    if isinstance(type_, TileType):
        tile_view = _map_tile_view(type_.tile_view, change)
        if shape is type_.shape and memref is type_.memref and tile_view is type_.tile_view:
            return type_
        return TileType(shape, type_.dtype, memref, tile_view, type_.memory_space)
    assert isinstance(type_, TensorType)
    tensor_view = _map_tensor_view(type_.tensor_view, change)
    window: Any = None if type_.window_buffer is None else change(type_.window_buffer)
    if shape is type_.shape and memref is type_.memref and tensor_view is type_.tensor_view and window is type_.window_buffer:
        return type_
    return type(type_)._make([*shape], type_.dtype, memref, tensor_view, window)


def change_all(items: Sequence[Expr], change: Callable[[Expr], Expr]) -> Sequence[Expr]:
    """``change`` applied to every item; the same list when nothing changes."""
    changed = [change(item) for item in items]
    return items if _all_same(changed, items) else changed


def _all_same(left: Sequence[object], right: Sequence[object]) -> bool:
    return all(a is b for a, b in zip(left, right, strict=True))


def _map_tensor_view(view: TensorView | None, change: Callable[[Expr], Expr]) -> TensorView | None:
    if view is None:
        return None
    valid, stride = change_all(view.valid_shape, change), change_all(view.stride, change)
    if valid is view.valid_shape and stride is view.stride:
        return view
    return TensorView(stride, view.layout, valid, view.pad)


def _map_tile_view(view: TileView | None, change: Callable[[Expr], Expr]) -> TileView | None:
    if view is None:
        return None
    valid, stride = change_all(view.valid_shape, change), change_all(view.stride, change)
    offset = None if view.start_offset is None else change(view.start_offset)
    if valid is view.valid_shape and stride is view.stride and offset is view.start_offset:
        return view
    return view.replace(valid_shape=valid, stride=stride, start_offset=offset)
