"""Types: values with structural equality and hash. Types with constant shapes are interned, so equal ones are one object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CompactMode, MemorySpace, PadValue, TensorLayout, TileLayout
from pypto.ir.node import late

if TYPE_CHECKING:
    from pypto.ir.expr import Expr, MemRef, WindowBuffer


class Type:
    """Base of all types. ``==`` and ``hash`` are structural; a variable inside a type counts by identity."""

    __slots__ = ("_closed", "_hash")
    FIELDS: ClassVar[tuple[str, ...]] = ()
    _closed: bool

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Type) and late("pypto.ir.equality").structural_equal(self, other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            self._hash: int = late("pypto.ir.hashing").structural_hash(self)
            return self._hash

    def as_python(self, prefix: str = "pl", concise: bool = False, format: bool = True) -> str:
        """The type as PyPTO source text."""
        return late("pypto.printer").python_print(self, prefix=prefix, concise=concise, format=format)

    def __str__(self) -> str:
        return self.as_python()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"


class _Singleton(Type):
    __slots__ = ()
    _instance: ClassVar[Any] = None

    def __new__(cls) -> Any:
        if cls.__dict__.get("_instance") is None:
            cls._instance = object.__new__(cls)
        return cls._instance

    @classmethod
    def get(cls) -> Any:
        """The one instance."""
        return cls()


class UnknownType(_Singleton):
    """The type of what yields no value, or whose type is not known yet."""

    __slots__ = ()


class PtrType(_Singleton):
    """Address of an allocation."""

    __slots__ = ()


class MemRefType(_Singleton):
    """Type of a buffer reference."""

    __slots__ = ()


class WindowBufferType(_Singleton):
    """Type of a window buffer."""

    __slots__ = ()


class CommCtxType(_Singleton):
    """Handle of a communication context."""

    __slots__ = ()


class PrefetchAsyncContextType(_Singleton):
    """Handle of a prefetch context."""

    __slots__ = ()


class AsyncEventType(_Singleton):
    """Handle of an asynchronous event."""

    __slots__ = ()


class AsyncSessionType(_Singleton):
    """Handle of an asynchronous session."""

    __slots__ = ()


class ScalarType(Type):
    """One value of an element type."""

    __slots__ = ("dtype",)
    FIELDS = ("dtype",)
    dtype: DataType

    def __new__(cls, dtype: DataType) -> ScalarType:
        known = _SCALARS.get(dtype)
        if known is None:
            if not isinstance(dtype, DataType):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidTypeError(f"a scalar type takes a DataType, got {dtype!r}")
            known = _SCALARS[dtype] = object.__new__(cls)
            known.dtype = dtype
        return known


_SCALARS: dict[DataType, ScalarType] = {}

# Types with constant shapes by their whole content; cleared when full, which costs only the identity shortcut.
_INTERNED: dict[tuple[Any, ...], Any] = {}
_INTERN_LIMIT = 1 << 16


def to_dims(shape: Sequence[Any], what: str = "shape") -> list[Expr]:
    """Shape entries as expressions: integers become INDEX constants, objects with an ``.expr`` are unwrapped.

    Raises:
        InvalidTypeError: an entry is neither an integer nor an expression.
        InvalidValueError: a constant entry is negative.
    """
    return [to_dim(d, what) for d in shape]


def to_dim(dim: Any, what: str = "shape") -> Expr:
    """One shape entry as an expression; see :func:`to_dims`."""
    from pypto.ir.expr import ConstInt, Expr, index_const

    if type(dim) is int:
        result: Expr = index_const(dim)
    elif isinstance(dim, Expr):
        result = dim
    else:
        inner = getattr(dim, "expr", None)
        if isinstance(inner, Expr):
            result = inner
        elif hasattr(dim, "__index__") and not isinstance(dim, bool):
            result = index_const(int(dim))
        else:
            raise InvalidTypeError(f"a {what} entry must be an integer or an expression, got {dim!r}")
    if isinstance(result, ConstInt) and result.value < 0:
        raise InvalidValueError(f"a {what} entry cannot be negative, got {result.value}")
    return result


def static_dims(dims: Sequence[Expr]) -> tuple[int, ...] | None:
    """The values of dims that are all constants, else None."""
    from pypto.ir.expr import ConstInt

    values: list[int] = []
    for dim in dims:
        if type(dim) is not ConstInt:
            return None
        values.append(dim.value)
    return tuple(values)


def _intern_key(dims: Sequence[Expr]) -> tuple[Any, ...] | None:
    from pypto.ir.expr import ConstInt

    key: list[Any] = []
    for dim in dims:
        if type(dim) is not ConstInt:
            return None
        key.append(dim.value if dim.dtype is DataType.INDEX else (dim.value, dim.dtype))
    return tuple(key)


def _same_dims(left: Sequence[Expr], right: Sequence[Expr]) -> bool:
    if len(left) != len(right):
        return False
    equal = late("pypto.ir.equality").structural_equal
    return all(a is b or equal(a, b) for a, b in zip(left, right, strict=True))


class TensorView:
    """How a tensor lies in memory: ``stride`` in elements, ``layout``, ``valid_shape`` and ``pad``; empty lists mean the default.

    A :class:`TensorType` copies the view, so changing the object afterwards changes nothing.
    """

    __slots__ = ("layout", "pad", "stride", "valid_shape")
    FIELDS: ClassVar[tuple[str, ...]] = ("valid_shape", "stride", "layout", "pad")

    def __init__(
        self,
        stride: Sequence[Any] = (),
        layout: TensorLayout | None = None,
        valid_shape: Sequence[Any] = (),
        pad: PadValue = PadValue.null,
    ) -> None:
        if layout is None and (len(stride) or len(valid_shape) or pad is not PadValue.null):
            raise InvalidValueError("a TensorView with any other field needs its layout", hint="add layout=ir.TensorLayout.ND")
        self.stride: Sequence[Expr] = to_dims(stride, "stride")
        self.layout = TensorLayout.ND if layout is None else layout
        self.valid_shape: Sequence[Expr] = to_dims(valid_shape, "valid_shape")
        self.pad = pad

    def is_default(self) -> bool:
        """True when the view says nothing."""
        return not self.stride and not self.valid_shape and self.layout is TensorLayout.ND and self.pad is PadValue.null

    def key(self) -> tuple[Any, ...] | None:
        """The content as a hashable value when every extent is a constant, else None."""
        stride, valid = _intern_key(self.stride), _intern_key(self.valid_shape)
        return None if stride is None or valid is None else (stride, self.layout, valid, self.pad)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, TensorView)
            and self.layout is other.layout
            and self.pad is other.pad
            and _same_dims(self.stride, other.stride)
            and _same_dims(self.valid_shape, other.valid_shape)
        )

    def __hash__(self) -> int:
        return hash((self.layout, self.pad, len(self.stride), len(self.valid_shape)))


class TileView:
    """Layout and valid region of a tile; read-only, with structural ``==`` and hash. Empty lists mean the default."""

    __slots__ = ("blayout", "compact", "fractal", "pad", "slayout", "start_offset", "stride", "valid_shape")
    FIELDS: ClassVar[tuple[str, ...]] = (
        "valid_shape",
        "stride",
        "start_offset",
        "blayout",
        "slayout",
        "fractal",
        "pad",
        "compact",
    )

    def __init__(
        self,
        valid_shape: Sequence[Any] = (),
        stride: Sequence[Any] = (),
        start_offset: Expr | None = None,
        blayout: TileLayout = TileLayout.row_major,
        slayout: TileLayout = TileLayout.none_box,
        fractal: int = 512,
        pad: PadValue = PadValue.null,
        compact: CompactMode = CompactMode.null,
    ) -> None:
        self.valid_shape: Sequence[Expr] = to_dims(valid_shape, "valid_shape")
        self.stride: Sequence[Expr] = to_dims(stride, "stride")
        self.start_offset: Expr | None = None if start_offset is None else to_dim(start_offset, "start_offset")
        self.blayout = blayout
        self.slayout = slayout
        self.fractal = fractal
        self.pad = pad
        self.compact = compact

    def replace(self, **changes: Any) -> TileView:
        """A copy with some fields changed."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.FIELDS}
        return TileView(**{**fields, **changes})

    def key(self) -> tuple[Any, ...] | None:
        """The content as a hashable value when every extent is a constant, else None."""
        if self.start_offset is not None:
            return None
        stride, valid = _intern_key(self.stride), _intern_key(self.valid_shape)
        if stride is None or valid is None:
            return None
        return (valid, stride, self.blayout, self.slayout, self.fractal, self.pad, self.compact)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, TileView):
            return False
        mine, theirs = self.start_offset, other.start_offset
        if (mine is None) != (theirs is None):
            return False
        return (
            self.blayout is other.blayout
            and self.slayout is other.slayout
            and self.fractal == other.fractal
            and self.pad is other.pad
            and self.compact is other.compact
            and _same_dims(self.valid_shape, other.valid_shape)
            and _same_dims(self.stride, other.stride)
            and (mine is None or theirs is None or _same_dims([mine], [theirs]))
        )

    def __hash__(self) -> int:
        return hash((len(self.valid_shape), len(self.stride), self.blayout, self.slayout, self.fractal, self.pad, self.compact))


class ShapedType(Type):
    """Base of types with an element type and a shape."""

    __slots__ = ("dtype", "memref", "shape")
    dtype: DataType
    shape: Sequence[Expr]
    memref: MemRef | None

    @property
    def memory_space(self) -> MemorySpace | None:
        """The memory space, None where none is set."""
        return MemorySpace.DDR

    def shares_memref_with(self, other: ShapedType) -> bool:
        """True when both refer to one and the same buffer reference."""
        return self.memref is not None and self.memref is other.memref


def _check_shaped(shape: list[Expr], dtype: DataType) -> None:
    if not isinstance(dtype, DataType):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidTypeError(f"the element type must be a DataType, got {dtype!r}")
    if dtype is DataType.FP4 and shape:
        last = static_dims(shape[-1:])
        if last is not None and (last[0] <= 0 or last[0] % 2):
            raise InvalidValueError(f"the last dimension of an FP4 shape must be positive and even, got {last[0]}")


class TensorType(ShapedType):
    """A tensor in global memory. A view that says nothing is dropped, and so is a ``valid_shape`` equal to the shape."""

    __slots__ = ("tensor_view",)
    FIELDS = ("dtype", "shape", "tensor_view")
    tensor_view: TensorView | None

    def __new__(
        cls, shape: Sequence[Any], dtype: DataType, memref: MemRef | None = None, tensor_view: TensorView | None = None
    ) -> TensorType:
        return cls._make(to_dims(shape), dtype, memref, tensor_view, None)

    @classmethod
    def _make(cls, dims: list[Expr], dtype: DataType, memref: Any, view: TensorView | None, window: Any) -> Any:
        _check_shaped(dims, dtype)
        if view is not None:
            valid: Sequence[Expr] = view.valid_shape
            if valid and _same_dims(valid, dims):
                valid = []
            view = TensorView(view.stride, view.layout, valid, view.pad)
            if view.is_default():
                view = None
        key = None
        if memref is None and window is None:
            shape_key = _intern_key(dims)
            view_key = () if view is None else view.key()
            if shape_key is not None and view_key is not None:
                key = (cls, shape_key, dtype, view_key)
                known = _INTERNED.get(key)
                if known is not None:
                    return known
        made = object.__new__(cls)
        made.shape = dims
        made.dtype = dtype
        made.memref = memref
        made.tensor_view = view
        made._init_window(window)
        return _remember(key, made)

    def _init_window(self, window: Any) -> None:
        pass

    @property
    def window_buffer(self) -> WindowBuffer | None:
        """The window a distributed tensor is a view of; None for a plain tensor."""
        return None

    def with_shape(self, shape: Sequence[Any], tensor_view: TensorView | None = None) -> Any:
        """The same kind of tensor (window reference and memref kept) with another shape and view."""
        return type(self)._make(to_dims(shape), self.dtype, self.memref, tensor_view, self.window_buffer)

    @property
    def valid_shape(self) -> Sequence[Expr]:
        """The valid extents: those of the view, else the shape."""
        view = self.tensor_view
        return view.valid_shape if view is not None and view.valid_shape else self.shape


class DistributedTensorType(TensorType):
    """A tensor that is a view of a window which other ranks can reach."""

    __slots__ = ("_window",)
    FIELDS = ("dtype", "shape", "tensor_view", "window_buffer")
    _window: WindowBuffer | None

    def __new__(
        cls,
        shape: Sequence[Any],
        dtype: DataType,
        memref: MemRef | WindowBuffer | None = None,
        tensor_view: TensorView | None = None,
        window_buffer: WindowBuffer | None = None,
    ) -> DistributedTensorType:
        from pypto.ir.expr import WindowBuffer

        if isinstance(memref, WindowBuffer):
            memref, window_buffer = None, memref
        return cls._make(to_dims(shape), dtype, memref, tensor_view, window_buffer)

    def _init_window(self, window: Any) -> None:
        self._window = window

    @property
    def window_buffer(self) -> WindowBuffer | None:
        """The window this tensor is a view of, once known."""
        return self._window


class TileType(ShapedType):
    """A tile on the chip. A view equal to the implicit view of its shape and memory space is dropped."""

    __slots__ = ("_space", "tile_view")
    FIELDS = ("dtype", "shape", "tile_view", "memory_space")
    tile_view: TileView | None
    _space: MemorySpace | None

    def __new__(
        cls,
        shape: Sequence[Any],
        dtype: DataType,
        memref: MemRef | None = None,
        tile_view: TileView | None = None,
        memory_space: MemorySpace | None = None,
    ) -> TileType:
        dims = to_dims(shape)
        _check_shaped(dims, dtype)
        if memref is not None and memory_space is None:
            memory_space = _space_of_base(memref)
        if tile_view is not None:
            if tile_view.valid_shape and _same_dims(tile_view.valid_shape, dims):
                tile_view = tile_view.replace(valid_shape=[])
            if tile_view == implicit_tile_view(dims, memory_space):
                tile_view = None
        key = None
        if memref is None:
            shape_key = _intern_key(dims)
            view_key = () if tile_view is None else tile_view.key()
            if shape_key is not None and view_key is not None:
                key = (cls, shape_key, dtype, view_key, memory_space)
                known = _INTERNED.get(key)
                if known is not None:
                    return known
        made = object.__new__(cls)
        made.shape = dims
        made.dtype = dtype
        made.memref = memref
        made.tile_view = tile_view
        made._space = memory_space
        return _remember(key, made)

    @property
    def memory_space(self) -> MemorySpace | None:
        """Where the tile lives, None while undecided."""
        return self._space

    def get_effective_tile_view(self) -> TileView:
        """The stored view, else the implicit one; its ``valid_shape`` is filled in."""
        view = self.tile_view or implicit_tile_view(self.shape, self._space)
        return view if view.valid_shape else view.replace(valid_shape=self.shape)

    @property
    def valid_shape(self) -> Sequence[Expr]:
        """The valid extents: those of the view, else the shape."""
        view = self.tile_view
        return view.valid_shape if view is not None and view.valid_shape else self.shape


class ArrayType(ShapedType):
    """A fixed array of scalars on the core; ``extent`` is a positive constant, elements integers, BOOL or TASK_ID."""

    __slots__ = ()
    FIELDS = ("dtype", "shape")

    def __new__(cls, dtype: DataType, extent: Any) -> ArrayType:
        dims = to_dims([extent], "extent")
        value = static_dims(dims)
        if value is None or value[0] <= 0:
            raise InvalidValueError(f"an array extent must be a positive constant, got {extent}")
        if not (dtype.is_int() or dtype in (DataType.BOOL, DataType.TASK_ID)):
            raise InvalidValueError(f"array elements must be integers, BOOL or TASK_ID, got {dtype.name}")
        key = (cls, value, dtype)
        known = _INTERNED.get(key)
        if known is not None:
            return known
        made = object.__new__(cls)
        made.shape = dims
        made.dtype = dtype
        made.memref = None
        return _remember(key, made)

    @property
    def extent(self) -> Expr:
        """The number of elements."""
        return self.shape[0]

    @property
    def memory_space(self) -> MemorySpace | None:
        """Arrays live beside the scalar unit."""
        return MemorySpace.ScalarLocal


class TupleType(Type):
    """Several values as one."""

    __slots__ = ("types",)
    FIELDS = ("types",)
    types: Sequence[Type]

    def __new__(cls, types: Sequence[Type]) -> TupleType:
        items = list(types)
        for item in items:
            if not isinstance(item, Type):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidTypeError(f"a tuple type takes types, got {item!r}")
        key = (cls, tuple(map(id, items)))
        known = _INTERNED.get(key)
        if known is not None and all(a is b for a, b in zip(known.types, items, strict=True)):
            return known
        made = object.__new__(cls)
        made.types = items
        return _remember(key, made)


def _remember(key: tuple[Any, ...] | None, made: Any) -> Any:
    if key is not None:
        if len(_INTERNED) >= _INTERN_LIMIT:
            _INTERNED.clear()
        _INTERNED[key] = made
    return made


def _space_of_base(memref: MemRef) -> MemorySpace:
    parts = memref.base_.name_hint.split("_")
    if len(parts) >= 2 and parts[0] == "mem":
        for space in MemorySpace:
            if space.name.lower() == parts[1].lower():
                return space
    raise InvalidValueError("a tile with a memref needs its memory space", hint="pass memory_space=ir.MemorySpace.Vec")


# blayout (None: row_major, but col_major for a 2-D column), slayout, fractal
_IMPLICIT: dict[MemorySpace | None, tuple[TileLayout | None, TileLayout, int]] = {
    MemorySpace.Mat: (TileLayout.col_major, TileLayout.row_major, 512),
    MemorySpace.Left: (TileLayout.col_major, TileLayout.row_major, 512),
    MemorySpace.Right: (None, TileLayout.col_major, 512),
    MemorySpace.Acc: (TileLayout.col_major, TileLayout.row_major, 1024),
    MemorySpace.LeftScale: (TileLayout.row_major, TileLayout.row_major, 32),
    MemorySpace.RightScale: (TileLayout.col_major, TileLayout.col_major, 32),
}

_VIEWS: dict[tuple[TileLayout, TileLayout, int], TileView] = {}


def implicit_tile_view(shape: Sequence[Expr], memory_space: MemorySpace | None) -> TileView:
    """The view that a tile of this shape and memory space has when it states none (``valid_shape`` left empty)."""
    blayout, slayout, fractal = _IMPLICIT.get(memory_space, (None, TileLayout.none_box, 512))
    if blayout is None:
        dims = static_dims(shape) if len(shape) == 2 else None
        column = dims is not None and dims[1] == 1 and dims[0] > 1
        blayout = TileLayout.col_major if column else TileLayout.row_major
    key = (blayout, slayout, fractal)
    view = _VIEWS.get(key)
    if view is None:
        view = _VIEWS[key] = TileView(blayout=blayout, slayout=slayout, fractal=fractal)
    return view
