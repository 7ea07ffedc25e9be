"""Annotations: types of parameters, results and assigned names."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.enums import CompactMode, MemorySpace, PadValue, ParamDirection, TensorLayout, TileLayout
from pypto.ir.expr import ConstInt, Expr, MemRef, WindowBuffer
from pypto.ir.types import (
    ArrayType,
    AsyncEventType,
    AsyncSessionType,
    CommCtxType,
    DistributedTensorType,
    MemRefType,
    PrefetchAsyncContextType,
    PtrType,
    ScalarType,
    TensorType,
    TensorView,
    TileType,
    TileView,
    TupleType,
    Type,
    UnknownType,
    WindowBufferType,
    implicit_tile_view,
    to_dims,
)
from pypto.parser.dynamic import DynVar
from pypto.parser.environment import NOTHING
from pypto.parser.errors import ParserTypeError
from pypto.parser.expressions import operand
from pypto.parser.folding import path_of, static
from pypto.parser.memrefs import is_memref, read_memref
from pypto.parser.reader import Reader

_HANDLES: Mapping[str, type[Type]] = {
    "Ptr": PtrType,
    "MemRefType": MemRefType,
    "CommCtx": CommCtxType,
    "WindowBufferType": WindowBufferType,
    "PrefetchAsyncContext": PrefetchAsyncContextType,
    "AsyncEvent": AsyncEventType,
    "AsyncSession": AsyncSessionType,
    "UnknownType": UnknownType,
}
_IGNORED_ON_ASSIGNMENT = frozenset(("UnknownType", "MemRefType", "Ptr", "PtrType", "WindowBufferType", "CommCtxType"))

_TENSOR_VIEW = ("valid_shape", "stride", "layout", "pad")
_TILE_VIEW = ("valid_shape", "stride", "start_offset", "blayout", "slayout", "fractal", "pad", "compact")
_FIELD_ENUMS: Mapping[str, type[Any]] = {
    "pad": PadValue,
    "blayout": TileLayout,
    "slayout": TileLayout,
    "compact": CompactMode,
}


class Annotated:
    """An annotation as read: the type, and which of its parts were written (for merging with an inferred type)."""

    __slots__ = ("has_memref", "has_space", "has_view", "type", "view_fields")

    def __init__(
        self,
        type_: Type,
        has_view: bool = False,
        has_space: bool = False,
        has_memref: bool = False,
        view_fields: Mapping[str, Any] | None = None,
    ) -> None:
        self.type = type_
        self.view_fields = view_fields
        self.has_view = has_view
        self.has_space = has_space
        self.has_memref = has_memref


def annotation(reader: Reader, node: Any) -> Annotated:
    """The type that an annotation means; remembered by its text as long as the names in it mean the same.

    Raises:
        ParserTypeError: no annotation of the language, or a wrong part of one.
    """
    key = reader.source.key(node)
    texts = reader.env.type_texts
    if key is not None:
        known = texts.get(key)
        if known is not None and (not known[1] or reader.names.keys().isdisjoint(known[1])):
            return known[0]
        with_window = reader.window_types.get(key)
        if with_window is not None:
            return with_window
    windows = reader.windows_found
    outer, reader.names_used = reader.names_used, []
    outer_mode, reader.dimension_mode = reader.dimension_mode, True
    try:
        found = _read(reader, node)
        used = reader.names_used
    finally:
        reader.dimension_mode = outer_mode
        reader.names_used = outer
    if outer is not None:
        outer.extend(used)
    if key is not None and reader.names.keys().isdisjoint(used):
        if reader.windows_found != windows:
            # what a window is called is known in this function only, and may change
            reader.window_types[key] = found
            return found
        if len(texts) > 8192:
            texts.clear()
        texts[key] = (found, tuple(used))
    return found


def annotation_type(reader: Reader, node: Any) -> Type:
    """The type that an annotation means."""
    return annotation(reader, node).type


def assignment_annotation(reader: Reader, node: Any) -> Annotated | None:
    """The annotation of an assignment; None for those that say nothing (strings, handle types that the printer writes)."""
    kind = cast("type[Any]", type(node))
    if kind is ast.Subscript:
        return annotation(reader, node)
    if kind is ast.Constant and isinstance(node.value, str):
        return None
    path = path_of(reader, node)
    if path is not None and path.removeprefix("pld.") in _IGNORED_ON_ASSIGNMENT:
        return None
    return annotation(reader, node)


def parameter_annotation(reader: Reader, node: Any) -> tuple[Type, ParamDirection]:
    """The type and direction that the annotation of a parameter means; an annotation in quotes is read like one without."""
    node = unquoted(reader, node)
    direction = ParamDirection.In
    if type(node) is ast.Subscript:
        path = path_of(reader, node.value)
        if path in ("Out", "InOut"):
            direction = ParamDirection.Out if path == "Out" else ParamDirection.InOut
            inner = annotation_type(reader, unquoted(reader, node.slice))
            if path == "InOut" and isinstance(inner, ScalarType):
                raise reader.failure(ParserTypeError, "a scalar parameter cannot be InOut", node, hint="return the new value")
            return inner, direction
    return annotation_type(reader, node), direction


def unquoted(reader: Reader, node: Any) -> Any:
    """The expression inside an annotation written as a string; its parts have the places of the string's."""
    if type(node) is not ast.Constant or not isinstance(node.value, str):
        return node
    try:
        inner = ast.parse(node.value.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise reader.failure(ParserTypeError, f"the annotation {node.value!r} is no type", node) from None
    shift = node.col_offset + 1
    for part in ast.walk(inner):
        if isinstance(part, ast.expr):
            one_line = part.lineno == part.end_lineno == 1 and node.lineno == node.end_lineno
            part.lineno = node.lineno
            part.end_lineno = node.end_lineno
            part.col_offset = part.col_offset + shift if one_line else node.col_offset
            part.end_col_offset = (part.end_col_offset or 0) + shift if one_line else node.end_col_offset
    return inner


def return_types(reader: Reader, node: Any) -> list[Type]:
    """The result types that a return annotation states."""
    node = unquoted(reader, node)
    if node is None or (type(node) is ast.Constant and node.value is None):
        return []
    if type(node) is ast.Subscript and type(node.value) is ast.Name and node.value.id in ("tuple", "Tuple"):
        if path_of(reader, node.value) != "Tuple":
            inner = node.slice
            items = inner.elts if type(inner) is ast.Tuple else [inner]
            return [annotation_type(reader, unquoted(reader, item)) for item in items]
    return [annotation_type(reader, node)]


# -- one annotation --------------------------------------------------------------------------------------------------------


def _read(reader: Reader, node: Any) -> Annotated:
    kind = cast("type[Any]", type(node))
    if kind is ast.Subscript:
        path = path_of(reader, node.value)
        form = None if path is None else _SUBSCRIPTED.get(path)
        if form is not None:
            inner = node.slice
            parts = list(inner.elts) if type(inner) is ast.Tuple else [inner]
            return form(reader, node, parts)
        if path in ("Out", "InOut"):
            raise reader.failure(ParserTypeError, f"pl.{path} belongs on parameters only", node)
        if type(node.value) is ast.Name and node.value.id == "tuple":
            raise reader.failure(
                ParserTypeError, "a Python tuple[...] is only a return annotation", node, hint="use pl.Tuple[A, B]"
            )
    elif kind is ast.Call:
        path = path_of(reader, node.func)
        form = None if path is None else _SUBSCRIPTED.get(path)
        if form is not None and path != "Array":
            parts = list(node.args)
            for keyword in reader.keywords(node):
                if keyword.arg not in ("shape", "dtype", "types", "layout", "tensor_view", "tile_view", "memref"):
                    raise reader.failure(ParserTypeError, f"{path} takes no {keyword.arg!r} here", keyword)
                parts.append(keyword.value)
            if path == "Tuple" and len(parts) == 1 and type(parts[0]) in (ast.List, ast.Tuple):
                parts = list(parts[0].elts)
            return form(reader, node, parts)
    elif kind is ast.Name or kind is ast.Attribute:
        return _bare(reader, node)
    elif kind is ast.Constant and isinstance(node.value, str):
        return _read(reader, unquoted(reader, node))
    raise reader.failure(
        ParserTypeError,
        f"{_shown(node)} is no type",
        node,
        hint="types are written pl.Tensor[[64, 64], pl.FP32], pl.Tile[...], pl.Scalar[pl.INT32]",
    )


def _shown(node: Any) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _bare(reader: Reader, node: Any) -> Annotated:
    path = path_of(reader, node)
    if path is not None:
        name = path.removeprefix("pld.")
        if name == "TaskId":
            return Annotated(ScalarType(DataType.TASK_ID))
        handle = _HANDLES.get(name) or _HANDLES.get(name.removesuffix("Type"))
        if handle is not None:
            return Annotated(handle())
        if path in _SUBSCRIPTED:
            raise reader.failure(
                ParserTypeError,
                f"{_shown(node)} alone is not complete: it needs {_NEEDS[path]}",
                node,
                hint=f"write {_shown(node)}{_EXAMPLES[path]}",
            )
        if name in DTYPES:
            raise reader.failure(ParserTypeError, f"{_shown(node)} is an element type", node, hint=f"write pl.Scalar[pl.{name}]")
        close = did_you_mean(path, [*_SUBSCRIPTED, *_HANDLES])
        prefix = _shown(node)[: -len(name)]
        hint = f"did you mean {prefix}{close.removeprefix('pld.')}?" if close else None
        raise reader.failure(ParserTypeError, f"{_shown(node)} is no type", node, hint=hint)
    if type(node) is ast.Name:
        value = reader.env.value(node.id) if node.id not in reader.names else NOTHING
        if isinstance(value, Type):
            return Annotated(value, True, True, True)
    raise reader.failure(
        ParserTypeError,
        f"{_shown(node)} is no type",
        node,
        hint="types are written pl.Tensor[[64, 64], pl.FP32], pl.Tile[...], pl.Scalar[pl.INT32]",
    )


_NEEDS = {
    "Tensor": "a shape and an element type",
    "Tile": "a shape and an element type",
    "pld.DistributedTensor": "a shape and an element type",
    "Scalar": "an element type",
    "Array": "an extent and an element type",
    "Tuple": "element types",
}
_EXAMPLES = {
    "Tensor": "[[64, 64], pl.FP32]",
    "Tile": "[[64, 64], pl.FP32]",
    "pld.DistributedTensor": "[[64, 64], pl.FP32]",
    "Scalar": "[pl.INT32]",
    "Array": "[16, pl.INT32]",
    "Tuple": "[A, B]",
}


def dtype(reader: Reader, node: Any) -> DataType:
    """An element type.

    Raises:
        ParserTypeError: it is none.
    """
    path = path_of(reader, node)
    value = None if path is None else DTYPES.get(path)
    if value is not None:
        return value
    if path is not None:
        close = did_you_mean(path, list(DTYPES))
        hint = f"did you mean pl.{close}?" if close else "element types are pl.FP32, pl.INT32, ..."
        raise reader.failure(ParserTypeError, f"unknown element type {_shown(node)}", node, hint=hint)
    value = static(reader, node)
    if isinstance(value, DataType):
        return value
    raise reader.failure(
        ParserTypeError, f"{_shown(node)} is no element type", node, hint="element types are pl.FP32, pl.INT32, ..."
    )


def shape(reader: Reader, node: Any, what: str = "shape") -> list[Any]:
    """A shape: a list or tuple of dimensions, or a name outside the function that holds one."""
    if type(node) is ast.List or type(node) is ast.Tuple:
        return [dimension(reader, item) for item in node.elts]
    value = static(reader, node)
    if value is NOTHING and type(node) is ast.Name and node.id not in reader.names:
        raise reader.undefined(node)
    if isinstance(value, list | tuple):
        items = cast("Sequence[Any]", value)
        return [_checked_dimension(reader, item, node) for item in items]
    raise reader.failure(
        ParserTypeError, f"the {what} {_shown(node)} is no list of dimensions", node, hint="write it as [64, 64]"
    )


def dimension(reader: Reader, node: Any) -> Any:
    """One dimension: an integer, or an index expression."""
    if type(node) is ast.Constant and type(node.value) is int:
        value: Any = node.value
    elif type(node) is ast.Attribute or type(node) is ast.Subscript or type(node) is ast.Constant:
        value = static(reader, node)
        if value is NOTHING:
            value = reader.expression(node)
    else:
        value = operand(reader, node)
    return _checked_dimension(reader, value, node)


def _checked_dimension(reader: Reader, value: Any, node: Any) -> Any:
    if isinstance(value, DynVar):
        return reader.dynamic(value)
    if isinstance(value, Expr):
        type_ = value.type
        if isinstance(type_, ScalarType) and type_.dtype.is_int():
            if isinstance(value, ConstInt) and value.value < 0:
                raise reader.failure(ParserTypeError, f"a dimension cannot be negative, got {value.value}", node)
            return value
        raise reader.failure(ParserTypeError, f"a dimension is an integer, got {reader.type_text(type_)}", node)
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise reader.failure(
            ParserTypeError,
            f"a dimension is an integer or a dynamic dimension, got {value!r}",
            node,
            hint='a dimension known only at run time is declared: M = pl.dynamic("M")',
        )
    number = value.__index__()
    if number < 0:
        raise reader.failure(ParserTypeError, f"a dimension cannot be negative, got {number}", node)
    if number >= 1 << 63:
        raise reader.failure(ParserTypeError, "a dimension must fit 64 bits", node)
    return number


def _check_rank(reader: Reader, node: Any, fields: Mapping[str, Any], dims: Sequence[Any]) -> None:
    """Refuse the lists of a view that do not have one entry for each dimension."""
    for name in ("valid_shape", "stride"):
        entries: Sequence[Any] = fields.get(name, ())
        if entries and len(entries) != len(dims):
            raise reader.failure(
                ParserTypeError,
                f"{name} has {len(entries)} entries for {len(dims)} dimensions",
                node,
                hint="give one for each dimension",
            )


def _guarded(reader: Reader, node: Any, make: Callable[[], Type]) -> Type:
    try:
        return make()
    except Error as error:
        raise reader.from_error(ParserTypeError, error, node) from error


def _scalar(reader: Reader, node: Any, parts: list[Any]) -> Annotated:
    if len(parts) != 1:
        raise reader.failure(ParserTypeError, f"pl.Scalar takes one element type, got {len(parts)} parts", node)
    return Annotated(ScalarType(dtype(reader, parts[0])))


def _array(reader: Reader, node: Any, parts: list[Any]) -> Annotated:
    if len(parts) != 2:
        raise reader.failure(ParserTypeError, f"pl.Array takes an extent and an element type, got {len(parts)} parts", node)
    extent = dimension(reader, parts[0])
    element = dtype(reader, parts[1])
    return Annotated(_guarded(reader, node, lambda: ArrayType(element, extent)))


def _tuple(reader: Reader, node: Any, parts: list[Any]) -> Annotated:
    if len(parts) == 1 and type(parts[0]) is ast.Tuple and not parts[0].elts:
        parts = []
    types: list[Type] = []
    for part in parts:
        found = annotation_type(reader, part)
        if isinstance(found, TupleType) and not reader.source.printed:
            raise reader.failure(ParserTypeError, "a tuple type cannot hold another", part)
        types.append(found)
    return Annotated(TupleType(types), True, True, True)


def _tensor(reader: Reader, node: Any, parts: list[Any]) -> Annotated:
    return _any_tensor(reader, node, parts, False)


def _distributed(reader: Reader, node: Any, parts: list[Any]) -> Annotated:
    return _any_tensor(reader, node, parts, True)


def _any_tensor(reader: Reader, node: Any, parts: list[Any], distributed: bool) -> Annotated:
    name = "pld.DistributedTensor" if distributed else "pl.Tensor"
    if len(parts) < 2:
        raise reader.failure(
            ParserTypeError, f"{name} needs a shape and an element type", node, hint=f"{name}[[64, 64], pl.FP32]"
        )
    dims = shape(reader, parts[0])
    element = dtype(reader, parts[1])
    view: TensorView | None = None
    memref: MemRef | None = None
    window: WindowBuffer | None = None
    has_view = False
    for extra in parts[2:]:
        if distributed and _is_window(reader, extra):
            window = _window(reader, extra)
            continue
        if memref is None and is_memref(reader, extra):
            memref = read_memref(reader, extra)
            continue
        if has_view or memref is not None:
            what = "a memref" if memref is None else "nothing more"
            raise reader.failure(ParserTypeError, f"{name} takes {what} after its view", extra)
        view = _tensor_view(reader, extra)
        _check_rank(reader, extra, {"valid_shape": view.valid_shape, "stride": view.stride}, dims)
        has_view = True
    kind = DistributedTensorType if distributed else TensorType

    def make() -> Type:
        if window is not None:
            return DistributedTensorType(dims, element, memref, view, window)
        return kind(dims, element, memref, view)

    return Annotated(_guarded(reader, node, make), has_view, False, memref is not None)


def _is_window(reader: Reader, node: Any) -> bool:
    if type(node) is ast.Constant and isinstance(node.value, str):
        return True
    return type(node) is ast.Call and path_of(reader, node.func) in ("pld.WindowBuffer", "WindowBuffer")


def _window(reader: Reader, node: Any) -> WindowBuffer | None:
    from pypto.parser.windows import find_window

    return find_window(reader, node)


def _tensor_view(reader: Reader, node: Any) -> TensorView:
    if type(node) is ast.Call and path_of(reader, node.func) == "TensorView":
        fields = _view_fields(reader, node, "TensorView", _TENSOR_VIEW)
        return _make_tensor_view(reader, fields, node)
    value = static(reader, node)
    given: Any = getattr(value, "given", None)
    if isinstance(value, TensorView):
        return value
    if isinstance(value, TensorLayout):
        if value is TensorLayout.DN:
            raise reader.failure(
                ParserTypeError,
                "the layout DN alone does not say how the tensor lies",
                node,
                hint="write pl.TensorView(stride=[...], layout=pl.TensorLayout.DN)",
            )
        return TensorView(layout=value)
    if isinstance(given, dict):
        return _make_tensor_view(reader, _given_fields(reader, node, given), node)  # pyright: ignore[reportUnknownArgumentType]
    if value is NOTHING and type(node) is ast.Name and reader.env.value(node.id) is NOTHING:
        raise reader.undefined(node)
    raise reader.failure(
        ParserTypeError,
        f"{_shown(node)} is no layout, tensor view or memref",
        node,
        hint="write pl.NZ, pl.TensorView(...) or pl.MemRef(...)",
    )


def _make_tensor_view(reader: Reader, fields: dict[str, Any], node: Any) -> TensorView:
    layout = fields.pop("layout", None)
    if layout is not None and not isinstance(layout, TensorLayout):
        raise reader.failure(ParserTypeError, "layout= is a pl.TensorLayout member", node)
    if layout is None and fields:
        layout = TensorLayout.ND
    try:
        return TensorView(layout=layout, **fields)
    except Error as error:
        raise reader.from_error(ParserTypeError, error, node) from error


class WrittenView:
    """A view outside of an annotation: its fields as written."""

    __slots__ = ("given",)

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given


def written_view(reader: Reader, node: ast.Call, name: str) -> WrittenView:
    """``pl.TensorView(...)`` or ``pl.TileView(...)`` at the top level of a text."""
    return WrittenView(_view_fields(reader, node, name, _TENSOR_VIEW if name == "TensorView" else _TILE_VIEW))


def _view_fields(reader: Reader, node: ast.Call, name: str, known: Sequence[str]) -> dict[str, Any]:
    if node.args:
        raise reader.failure(
            ParserTypeError, f"pl.{name} takes keywords only", node.args[0], hint=f"its fields are {', '.join(known)}"
        )
    fields: dict[str, Any] = {}
    for keyword in reader.keywords(node):
        field = keyword.arg
        if field not in known or field is None:
            close = did_you_mean(str(field), known)
            hint = f"did you mean {close!r}?" if close else f"its fields are {', '.join(known)}"
            raise reader.failure(ParserTypeError, f"pl.{name} has no field {field!r}", keyword, hint=hint)
        if field in ("valid_shape", "stride"):
            fields[field] = shape(reader, keyword.value, field)
        elif field == "start_offset":
            fields[field] = dimension(reader, keyword.value)
        else:
            fields[field] = _checked_field(reader, field, static(reader, keyword.value), keyword.value)
    return fields


def _checked_field(reader: Reader, field: str, value: Any, node: Any) -> Any:
    wanted = _FIELD_ENUMS.get(field)
    if wanted is not None and not isinstance(value, wanted):
        raise reader.failure(ParserTypeError, f"{field}= is a pl.{wanted.__name__} member", node)
    if field == "fractal" and type(value) is not int:
        raise reader.failure(ParserTypeError, "fractal= is an integer", node)
    return value


def _given_fields(reader: Reader, node: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field, value in given.items():
        if field in ("valid_shape", "stride"):
            fields[field] = [_checked_dimension(reader, item, node) for item in value]
        elif field == "start_offset":
            fields[field] = _checked_dimension(reader, value, node)
        else:
            fields[field] = _checked_field(reader, field, value, node)
    return fields


def _tile(reader: Reader, node: Any, parts: list[Any]) -> Annotated:
    if len(parts) < 2:
        raise reader.failure(
            ParserTypeError, "pl.Tile needs a shape and an element type", node, hint="pl.Tile[[64, 64], pl.FP32]"
        )
    dims = shape(reader, parts[0])
    element = dtype(reader, parts[1])
    found: dict[str, Any] = {}
    for extra in parts[2:]:
        slot, value = _tile_extra(reader, extra)
        if slot in found:
            raise reader.failure(ParserTypeError, f"pl.Tile takes one {slot}", extra)
        found[slot] = value
    space, memref, view = found.get("memory space"), found.get("memref"), found.get("view")
    if memref is not None and space is None and not memref.base_.name_hint.startswith("mem_"):
        raise reader.failure(ParserTypeError, "a tile with a memref needs its memory space", node, hint="add pl.Mem.Vec")
    fields = cast("dict[str, Any]", view) if isinstance(view, dict) else None
    ready = cast("Any", view)
    if fields is not None:
        _check_rank(reader, node, fields, dims)

    def make() -> Type:
        tile_view = ready if fields is None else tile_view_of(fields, to_dims(dims), space)
        return TileType(dims, element, memref, tile_view, space)

    return Annotated(
        _guarded(reader, node, make),
        "view" in found,
        "memory space" in found,
        memref is not None,
        fields,  # pyright: ignore[reportUnknownArgumentType]
    )


def tile_view_of(fields: Mapping[str, Any], dims: Sequence[Expr], space: MemorySpace | None) -> TileView:
    """A tile view from the fields that were written; the others are those of the implicit view."""
    return implicit_tile_view(dims, space).replace(**fields)


def _tile_extra(reader: Reader, node: Any) -> tuple[str, Any]:
    if type(node) is ast.Call and path_of(reader, node.func) == "TileView":
        fields = _view_fields(reader, node, "TileView", _TILE_VIEW)
        return "view", fields
    if is_memref(reader, node):
        return "memref", read_memref(reader, node)
    value = static(reader, node)
    given: Any = getattr(value, "given", None)
    if isinstance(value, MemorySpace):
        return "memory space", value
    if isinstance(value, TileView):
        return "view", value
    if isinstance(given, dict):
        return "view", _given_fields(reader, node, given)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, TensorLayout):
        raise reader.failure(ParserTypeError, "a tile has no tensor layout", node, hint="use pl.TileView(blayout=...)")
    if value is NOTHING and type(node) is ast.Name and reader.env.value(node.id) is NOTHING:
        raise reader.undefined(node)
    raise reader.failure(
        ParserTypeError,
        f"{_shown(node)} is no memory space, tile view or memref",
        node,
        hint="write pl.Mem.Vec, pl.TileView(...) or pl.MemRef(...)",
    )


_SUBSCRIPTED: Mapping[str, Callable[[Reader, Any, list[Any]], Annotated]] = {
    "Scalar": _scalar,
    "Array": _array,
    "Tuple": _tuple,
    "Tensor": _tensor,
    "pld.DistributedTensor": _distributed,
    "DistributedTensor": _distributed,
    "Tile": _tile,
}
_NEEDS["DistributedTensor"] = _NEEDS["pld.DistributedTensor"]
_EXAMPLES["DistributedTensor"] = _EXAMPLES["pld.DistributedTensor"]
