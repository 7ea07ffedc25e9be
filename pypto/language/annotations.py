"""What stands in annotations: ``pl.Tensor[[64, 64], pl.FP32]`` and its kin.

Python evaluates annotations when a function is defined, so these classes must accept every form of the language; the reader takes the
meaning from the source text, not from the objects made here. An instance wraps an IR value: ``pl.Tile(expr=var)``.
"""

from __future__ import annotations

from typing import Any, ClassVar

from pypto.ir.expr import Expr
from pypto.ir.types import Type


class Annotation:
    """An annotation as written: the class and what stood in the brackets."""

    __slots__ = ("base", "parts")

    def __init__(self, base: type, parts: Any) -> None:
        self.base = base
        self.parts = parts

    def __repr__(self) -> str:
        return f"pl.{self.base.__name__}[{self.parts!r}]"

    def __or__(self, other: object) -> Annotation:
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.base(*args, **kwargs)


class Value:
    """Base of the annotation classes; an instance holds an IR expression, or the parts of an older call-form annotation."""

    _name: ClassVar[str] = ""

    def __init__(self, *parts: Any, expr: Expr | None = None, **named: Any) -> None:
        self.parts = (*parts, *named.values())
        self._expr = expr

    def __class_getitem__(cls, parts: Any) -> Any:
        return Annotation(cls, parts)

    @property
    def expr(self) -> Expr | None:
        """The wrapped IR expression, None for an annotation."""
        return self._expr

    def unwrap(self) -> Expr:
        """The wrapped IR expression.

        Raises:
            ValueError: this is an annotation, not a value.
        """
        if self._expr is None:
            raise ValueError(f"pl.{type(self).__name__} holds no expression")
        return self._expr

    @property
    def type(self) -> Type | None:
        """The type of the wrapped expression."""
        return None if self._expr is None else self._expr.type


class Tensor(Value):
    """A tensor in global memory: ``pl.Tensor[[d0, d1], dtype]``, optionally with a layout, a view and a memref."""


class Tile(Value):
    """A tile on the chip: ``pl.Tile[[d0, d1], dtype]``, optionally with memory space, memref and view."""


class Scalar(Value):
    """One value: ``pl.Scalar[dtype]``."""


class Array(Value):
    """A fixed array of scalars on the core: ``pl.Array[n, dtype]``."""


class Tuple(Value):
    """Several values as one: ``pl.Tuple[A, B]``."""


class DistributedTensor(Tensor):
    """A tensor that is a view of a window which other ranks can reach."""


class Out:
    """A parameter that the function writes: ``pl.Out[T]``."""

    def __class_getitem__(cls, parts: Any) -> Any:
        return Annotation(cls, parts)


class InOut:
    """A parameter that the function reads and writes: ``pl.InOut[T]``."""

    def __class_getitem__(cls, parts: Any) -> Any:
        return Annotation(cls, parts)


class Handle:
    """Base of the handle markers, which take no parts."""


class Ptr(Handle):
    """Address of an allocation."""


class MemRefType(Handle):
    """Type of a buffer reference."""


class UnknownType(Handle):
    """The type of what yields no value."""


class CommCtx(Handle):
    """Handle of a communication context."""


class WindowBufferType(Handle):
    """Type of a window buffer."""


class WindowBuffer(Handle):
    """The window that a distributed tensor is a view of, by name, in an annotation."""

    def __init__(self, name: str, *, load_from_host: bool = False, store_to_host: bool = False) -> None:
        self.name = name
        self.load_from_host = load_from_host
        self.store_to_host = store_to_host


class PrefetchAsyncContext(Handle):
    """Handle of a prefetch context."""


class AsyncEvent(Handle):
    """Handle of an asynchronous event."""


class AsyncSession(Handle):
    """Handle of an asynchronous session."""


class View:
    """Base of the views in annotations; the fields are kept as written."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, **fields: Any) -> None:
        unknown = [name for name in fields if name not in self.fields]
        if unknown:
            raise TypeError(f"pl.{type(self).__name__} has no field {unknown[0]!r}; it has {', '.join(self.fields)}")
        self.given = fields


class TensorView(View):
    """``pl.TensorView(valid_shape=[...], stride=[...], layout=..., pad=...)``."""

    fields = ("valid_shape", "stride", "layout", "pad")


class TileView(View):
    """``pl.TileView(valid_shape=[...], stride=[...], start_offset=..., blayout=..., slayout=..., fractal=..., pad=..., compact=...)``."""

    fields = ("valid_shape", "stride", "start_offset", "blayout", "slayout", "fractal", "pad", "compact")


class MemRef(Handle):
    """A buffer: ``pl.MemRef()`` or ``pl.MemRef("name", slots=2)`` declares one, ``m[k]`` is a slot of it."""

    def __init__(self, *parts: Any, slots: int = 1) -> None:
        self.parts = parts
        self.slots = slots
        self.slot: Any = None
        self.declaration: MemRef = self

    def __getitem__(self, slot: Any) -> MemRef:
        picked = MemRef(*self.parts, slots=self.slots)
        picked.slot = slot
        picked.declaration = self.declaration
        return picked


IntLike = Any
"""A Python int, a Scalar or an IR expression."""
