"""Subscripts: elements and windows of tensors and tiles, elements of tuples and arrays, and assignments to them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.expr import ConstInt, Expr, MakeTuple, TupleGetItemExpr, index_const
from pypto.ir.types import ArrayType, ScalarType, TensorType, TileType, TupleType
from pypto.parser.calls import call_operator_named
from pypto.parser.environment import NOTHING, warn_caller
from pypto.parser.errors import ParserTypeError, UnsupportedFeatureError
from pypto.parser.folding import static
from pypto.parser.reader import Reader, const_int, expression


class _Axis:
    """One axis of a subscript: where it begins, how far it goes, how much of that is valid, and whether it is one index."""

    __slots__ = ("extent", "is_index", "offset", "valid")

    def __init__(self, offset: Expr, extent: Expr, is_index: bool, valid: Expr | None = None) -> None:
        self.offset = offset
        self.extent = extent
        self.is_index = is_index
        self.valid = valid


@expression(ast.Subscript)
def read_subscript(reader: Reader, node: ast.Subscript) -> Expr:
    """``x[i]``, ``x[0:16, :]``, ``t[0]``, ``arr[i]``."""
    owner_node = node.value
    root: Any = owner_node
    while isinstance(root, ast.Subscript | ast.Attribute):
        root = root.value
    if type(root) is ast.Name and root.id not in reader.names:
        value = static(reader, node)
        if value is not NOTHING:
            return reader.from_value(value, node, ast.unparse(node))
    owner = reader.expression(owner_node)
    type_ = owner.type
    if isinstance(type_, TupleType):
        return _tuple_item(reader, node, owner, type_)
    if isinstance(type_, ArrayType):
        if isinstance(node.slice, ast.Tuple | ast.Slice):
            raise reader.failure(ParserTypeError, "an array has one index", node.slice)
        return call_operator_named(reader, "array.get_element", [owner, reader.expression(node.slice)], node)
    if isinstance(type_, TensorType | TileType):
        return _window(reader, node, owner, type_)
    raise reader.failure(ParserTypeError, f"{reader.type_text(type_)} cannot be subscripted", node)


def _tuple_item(reader: Reader, node: ast.Subscript, owner: Expr, type_: TupleType) -> Expr:
    index = static(reader, node.slice)
    if isinstance(index, ConstInt):
        index = index.value
    if type(index) is not int:
        raise reader.failure(
            UnsupportedFeatureError, "the index into a tuple must be known while reading", node.slice, hint="write a literal"
        )
    count = len(type_.types)
    at = index + count if index < 0 else index
    if not 0 <= at < count:
        raise reader.failure(ParserTypeError, f"index {index} is outside a tuple of {count}", node.slice)
    return TupleGetItemExpr(owner, at, reader.source.span(node))


def _items(node: Any) -> list[Any]:
    inner = node.slice
    return list(inner.elts) if type(inner) is ast.Tuple else [inner]


def _axes(reader: Reader, node: ast.Subscript, shape: Sequence[Expr], tile: bool) -> list[_Axis]:
    items = _items(node)
    if len(items) > len(shape):
        raise reader.failure(ParserTypeError, f"{len(items)} indices for a value of rank {len(shape)}", items[len(shape)])
    axes: list[_Axis] = []
    for at, dim in enumerate(shape):
        if at >= len(items):
            axes.append(_Axis(index_const(0), dim, False))
            continue
        item = items[at]
        if type(item) is ast.Slice:
            axes.append(_slice_axis(reader, item, dim, tile))
        elif type(item) is ast.Constant and item.value in (Ellipsis, None):
            raise reader.failure(UnsupportedFeatureError, f"{ast.unparse(item)} cannot be used as an index", item)
        else:
            axes.append(_Axis(_index(reader, item, dim), index_const(1), True))
    return axes


def _index(reader: Reader, node: Any, dim: Expr) -> Expr:
    value = reader.expression(node)
    type_ = value.type
    if not isinstance(type_, ScalarType) or not type_.dtype.is_int():
        raise reader.failure(ParserTypeError, f"an index is an integer scalar, got {reader.type_text(type_)}", node)
    return _from_end(reader, value, dim, node)


def _from_end(reader: Reader, value: Expr, dim: Expr, node: Any) -> Expr:
    """A negative constant counts from the end."""
    number = const_int(value)
    if number is None or number >= 0:
        return value
    extent = const_int(dim)
    if extent is None:
        return _simplified(scalar.add(dim, value, reader.source.span(node)))
    if number + extent < 0:
        raise reader.failure(ParserTypeError, f"the index {number} is outside an axis of {extent}", node)
    return index_const(number + extent)


def _slice_axis(reader: Reader, item: ast.Slice, dim: Expr, tile: bool) -> _Axis:
    if item.step is not None:
        raise reader.failure(UnsupportedFeatureError, "a slice has no step", item.step, hint="take every element, then select")
    lower: Expr = index_const(0) if item.lower is None else _index(reader, item.lower, dim)
    upper = dim if item.upper is None else _index(reader, item.upper, dim)
    span = reader.source.span(item)
    low = const_int(lower)
    if not tile:
        extent = _simplified(scalar.sub(upper, lower, span)) if low != 0 else upper
        _check_extent(reader, item, extent)
        return _Axis(lower, extent, False)
    if low is None:
        raise reader.failure(
            UnsupportedFeatureError,
            "the lower bound of a slice of a tile must be a constant",
            item.lower,
            hint="use pl.slice(t, [extents], [offsets])",
        )
    high, whole = const_int(upper), const_int(dim)
    if high is not None:
        extent = index_const(high - low)
        _check_extent(reader, item, extent)
        return _Axis(lower, extent, False)
    if whole is None:
        raise reader.failure(ParserTypeError, "a slice of a tile needs a constant extent", item)
    valid: Expr = scalar.min_(upper, index_const(whole), span)
    if low:
        valid = scalar.max_(scalar.sub(valid, lower, span), index_const(0), span)
    extent = index_const(whole - low)
    _check_extent(reader, item, extent)
    return _Axis(lower, extent, False, valid)


def _check_extent(reader: Reader, node: Any, extent: Expr) -> None:
    value = const_int(extent)
    if value is not None and value <= 0:
        raise reader.failure(ParserTypeError, f"this slice is empty: it holds {value} elements", node)


def _simplified(value: Expr) -> Expr:
    from pypto.ir.arith import Analyzer

    return Analyzer().simplify(value)


def _window(reader: Reader, node: ast.Subscript, owner: Expr, type_: TensorType | TileType) -> Expr:
    tile = isinstance(type_, TileType)
    family = "tile" if tile else "tensor"
    axes = _axes(reader, node, type_.shape, tile)
    span = reader.source.span(node)
    offsets = MakeTuple([a.offset for a in axes], span)
    if all(a.is_index for a in axes):
        return call_operator_named(reader, f"{family}.read", [owner, offsets], node)
    extents = MakeTuple([a.extent for a in axes], span)
    valid = [a.extent if a.valid is None else a.valid for a in axes]
    has_valid = any(a.valid is not None for a in axes)
    dropped = [at for at, a in enumerate(axes) if a.is_index]
    if tile and len(axes) - len(dropped) < 2 and dropped:
        dropped = dropped[: max(0, len(axes) - 2)]
        warn_caller(f"{reader.source.filename}:{node.lineno}: a slice of a tile keeps two dimensions")
    operands: list[Any] = [owner, extents, offsets]
    if has_valid or dropped:
        operands.append(MakeTuple(valid if has_valid else [], span))
    if dropped:
        operands.append(MakeTuple([index_const(at) for at in dropped], span))
    return call_operator_named(reader, f"{family}.slice", operands, node)


# -- assignment ------------------------------------------------------------------------------------------------------------


def assign_region(reader: Reader, node: ast.Assign, target: ast.Subscript, value_node: Any) -> None:
    """``dst[0:16, :] = src`` and ``arr[i] = v``: the name on the left is assigned its changed value."""
    owner_node = target.value
    if type(owner_node) is not ast.Name:
        raise reader.failure(
            UnsupportedFeatureError, "only a part of a named value can be assigned", owner_node, hint="assign it to a name first"
        )
    owner = reader.expression(owner_node)
    type_ = owner.type
    if not isinstance(type_, TensorType | TileType | ArrayType):
        raise reader.failure(ParserTypeError, f"no part of {reader.type_text(type_)} can be assigned", target)
    if reader.strict_ssa:
        raise reader.failure(
            UnsupportedFeatureError, "assigning a part of a value assigns its name again, which strict_ssa forbids", target
        )
    value = reader.expression(value_node)
    if isinstance(type_, ArrayType):
        changed = _array_update(reader, node, target, owner, type_, value)
    else:
        changed = _assemble(reader, node, target, owner, type_, value)
    reader.assign(owner_node.id, changed, owner_node, reader.source.span(node))


def _array_update(reader: Reader, node: ast.Assign, target: ast.Subscript, owner: Expr, type_: ArrayType, value: Expr) -> Expr:
    if isinstance(target.slice, ast.Tuple | ast.Slice):
        raise reader.failure(ParserTypeError, "an array has one index", target.slice)
    index = reader.expression(target.slice)
    if isinstance(value, ConstInt) and value.dtype is DataType.INDEX and type_.dtype.is_int():
        value = ConstInt(value.value, type_.dtype, reader.source.span(node.value))
    return call_operator_named(reader, "array.update_element", [owner, index, value], node)


def _assemble(
    reader: Reader, node: ast.Assign, target: ast.Subscript, owner: Expr, type_: TensorType | TileType, value: Expr
) -> Expr:
    tile = isinstance(type_, TileType)
    family = "tile" if tile else "tensor"
    axes = _axes(reader, target, type_.shape, False)
    if all(a.is_index for a in axes):
        raise reader.failure(
            UnsupportedFeatureError,
            "a single element cannot be assigned",
            target,
            hint=f"pl.write({ast.unparse(target.value)}, [...], value)",
        )
    source = value.type
    if not isinstance(source, TensorType | TileType) or isinstance(source, TileType) is not tile:
        raise reader.failure(
            ParserTypeError, f"a part of {reader.type_text(type_)} cannot be assigned {reader.type_text(source)}", node.value
        )
    span = reader.source.span(target)
    kept = [a for a in axes if not a.is_index]
    wanted = axes
    if len(source.shape) != len(axes):
        wanted = kept
        if len(source.shape) != len(kept):
            raise reader.failure(
                ParserTypeError, f"the part has rank {len(kept)}, the value rank {len(source.shape)}", node.value
            )
    for at, (axis, dim) in enumerate(zip(wanted, source.shape, strict=True)):
        left, right = const_int(axis.extent), const_int(dim)
        if left is not None and right is not None and left != right:
            raise reader.failure(ParserTypeError, f"axis {at} of the part holds {left} elements, the value {right}", node.value)
    if wanted is kept and len(kept) != len(axes):
        sizes = iter(source.shape)
        shape = [index_const(1) if a.is_index else next(sizes) for a in axes]
        value = call_operator_named(reader, f"{family}.reshape", [value, MakeTuple(shape, span)], node.value)
    offsets = MakeTuple([a.offset for a in axes], span)
    return call_operator_named(reader, f"{family}.assemble", [owner, value, offsets], node)
