"""Types as text, and what occurs inside them: views, buffer references, windows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pypto.ir.dtypes import DataType
from pypto.ir.enums import CompactMode, PadValue
from pypto.ir.expr import ConstInt, Expr, MemRef, WindowBuffer
from pypto.ir.type_parts import is_closed
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
)
from pypto.printer.pieces import quoted

if TYPE_CHECKING:
    from pypto.printer.session import Session

Pieces = list[str]

_SINGLETONS: dict[type[Type], tuple[str, str]] = {
    UnknownType: ("pl", "UnknownType"),
    PtrType: ("pl", "Ptr"),
    MemRefType: ("pl", "MemRefType"),
    WindowBufferType: ("pld", "WindowBufferType"),
    CommCtxType: ("pld", "CommCtxType"),
    PrefetchAsyncContextType: ("pl", "PrefetchAsyncContext"),
    AsyncEventType: ("pl", "AsyncEvent"),
    AsyncSessionType: ("pl", "AsyncSession"),
}


class Types:
    """Writes types. Each is written once and remembered by identity; those with variables as long as the names are the same."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._known: dict[int, tuple[Type, Pieces]] = {}
        self._named: dict[int, tuple[Type, Pieces]] = {}
        self._names = session.names

    def pieces(self, type_: Type) -> Sequence[str]:
        """The pieces of a type; not to be changed."""
        known = self._known.get(id(type_))
        if known is not None:
            return known[1]
        if self._names is not self.session.names:
            self._names = self.session.names
            self._named.clear()
        known = self._named.get(id(type_))
        if known is not None:
            return known[1]
        out: Pieces = []
        self._emit(type_, out)
        remembered = self._known if is_closed(type_) else self._named
        remembered[id(type_)] = (type_, out)
        return out

    def emit(self, type_: Type, out: Pieces) -> None:
        """Append the pieces of a type."""
        out += self.pieces(type_)

    def _emit(self, type_: Type, out: Pieces) -> None:
        prefix = self.session.prefix
        kind = type(type_)
        if isinstance(type_, ScalarType):
            out += (f"{prefix}.Scalar", "[", f"{prefix}.{type_.dtype.name}", "]")
        elif isinstance(type_, TileType):
            self._tile(type_, out)
        elif isinstance(type_, TensorType):
            self._tensor(type_, out)
        elif isinstance(type_, ArrayType):
            out += (f"{prefix}.Array", "[")
            self._dimension(type_.extent, out)
            out += (", ", f"{prefix}.{type_.dtype.name}", "]")
        elif isinstance(type_, TupleType):
            out += (f"{prefix}.Tuple", "[")
            if not type_.types:
                out += ("(", ")")
            for at, item in enumerate(type_.types):
                if at:
                    out.append(", ")
                self.emit(item, out)
            out.append("]")
        else:
            head, name = _SINGLETONS.get(kind, ("pl", "UnknownType"))
            out.append(f"{prefix if head == 'pl' else head}.{name}")

    # -- tensors and tiles -----------------------------------------------------------------------------------------------

    def _tensor(self, type_: TensorType, out: Pieces) -> None:
        session = self.session
        distributed = isinstance(type_, DistributedTensorType)
        out += ("pld.DistributedTensor" if distributed else f"{session.prefix}.Tensor", "[")
        self._shape(type_.shape, out)
        out += (", ", f"{session.prefix}.{type_.dtype.name}")
        if type_.tensor_view is not None:
            out.append(", ")
            self._tensor_view(type_.tensor_view, out)
        if type_.memref is not None:
            out.append(", ")
            self.memref(type_.memref, out)
        window = type_.window_buffer
        if window is not None:
            out.append(", ")
            if session.explicit_layout and not (window.load_from_host or window.store_to_host):
                out.append(quoted(f"window_buffer={session.quoted_name(window.base)}"))
            else:
                self.window(window, out)
        out.append("]")

    def _tile(self, type_: TileType, out: Pieces) -> None:
        prefix = self.session.prefix
        out += (f"{prefix}.Tile", "[")
        self._shape(type_.shape, out)
        out += (", ", f"{prefix}.{type_.dtype.name}")
        if type_.memref is not None:
            out.append(", ")
            self.memref(type_.memref, out)
        if type_.memory_space is not None:
            out += (", ", f"{prefix}.Mem.{type_.memory_space.name}")
        if type_.tile_view is not None or self.session.explicit_layout:
            out.append(", ")
            self._tile_view(type_, out)
        out.append("]")

    def _shape(self, dims: Sequence[Expr], out: Pieces) -> None:
        out.append("[")
        first = True
        for dim in dims:
            if first:
                first = False
            else:
                out.append(", ")
            self._dimension(dim, out)
        out.append("]")

    def _dimension(self, dim: Expr, out: Pieces) -> None:
        if type(dim) is ConstInt and dim.dtype is DataType.INDEX and dim.value >= 0:
            out.append(str(dim.value))
        else:
            self.session.expressions.dimension(dim, out)

    def _tensor_view(self, view: TensorView, out: Pieces) -> None:
        prefix = self.session.prefix
        fields = _Fields(out)
        if view.valid_shape:
            self._shape(view.valid_shape, fields.add("valid_shape"))
        self._shape(view.stride, fields.add("stride"))
        fields.add("layout").append(f"{prefix}.TensorLayout.{view.layout.name}")
        if view.pad is not PadValue.null:
            fields.add("pad").append(f"{prefix}.PadValue.{view.pad.name}")
        fields.close(f"{prefix}.TensorView")

    def _tile_view(self, type_: TileType, out: Pieces) -> None:
        prefix = self.session.prefix
        implicit = implicit_tile_view(type_.shape, type_.memory_space)
        view: TileView = type_.tile_view or implicit
        explicit = self.session.explicit_layout
        fields = _Fields(out)
        if view.valid_shape:
            self._shape(view.valid_shape, fields.add("valid_shape"))
        if view.stride:
            self._shape(view.stride, fields.add("stride"))
        if view.start_offset is not None:
            self._dimension(view.start_offset, fields.add("start_offset"))
        if explicit or view.blayout is not implicit.blayout:
            fields.add("blayout").append(f"{prefix}.TileLayout.{view.blayout.name}")
        if explicit or view.slayout is not implicit.slayout:
            fields.add("slayout").append(f"{prefix}.TileLayout.{view.slayout.name}")
        if explicit or view.fractal != implicit.fractal:
            fields.add("fractal").append(str(view.fractal))
        if view.pad is not PadValue.null:
            fields.add("pad").append(f"{prefix}.PadValue.{view.pad.name}")
        if view.compact is not CompactMode.null:
            fields.add("compact").append(f"{prefix}.CompactMode.{view.compact.name}")
        fields.close(f"{prefix}.TileView")

    # -- buffers ---------------------------------------------------------------------------------------------------------

    def memref(self, memref: MemRef, out: Pieces) -> None:
        """Append a buffer reference: a declaration by its name, a part of one by base, offset and size."""
        session = self.session
        out += (f"{session.prefix}.MemRef", "(")
        name = session.quoted_name(memref.base_)
        if memref.is_pinned_ and memref.size_ == 0 and _is_zero(memref.byte_offset_):
            out.append(quoted(name))
        else:
            out.append(name if session.is_visible(memref.base_) else quoted(name))
            out.append(", ")
            session.expressions.emit(memref.byte_offset_, out)
            out += (", ", str(memref.size_))
            if memref.is_pinned_:
                out += (", ", "is_pinned", "=", "True")
        if memref.slot_count_ != 1:
            out += (", ", "slots", "=", str(memref.slot_count_))
        out.append(")")
        if memref.slot_index_ is not None:
            out.append("[")
            session.expressions.emit(memref.slot_index_, out)
            out.append("]")

    def window(self, window: WindowBuffer, out: Pieces) -> None:
        """Append the reference to a window by the name of its allocation."""
        out += ("pld.WindowBuffer", "(", quoted(self.session.quoted_name(window.base)))
        for flag in ("load_from_host", "store_to_host"):
            if getattr(window, flag):
                out += (", ", flag, "=", "True")
        out.append(")")


class _Fields:
    """``head(a=..., b=...)`` of fields that are added one by one."""

    def __init__(self, out: Pieces) -> None:
        self.out = out
        self.fields: Pieces = []

    def add(self, name: str) -> Pieces:
        if self.fields:
            self.fields.append(", ")
        self.fields += (name, "=")
        return self.fields

    def close(self, head: str) -> None:
        self.out += (head, "(", *self.fields, ")")


def _is_zero(node: Any) -> bool:
    return type(node) is ConstInt and node.value == 0 and node.dtype is DataType.INT64
