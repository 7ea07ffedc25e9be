"""Values of a running program: NumPy arrays, and arrays or scalars of which some elements are poison.

A clean tile is a plain array. :class:`Tracked` adds a mask of poison elements; NumPy functions applied to it work on the data and carry
the mask along, so that generated code is the same for both. A tensor that is written in place is always Tracked, even while clean: its
mask then lives in one place, and views find it through ``base``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pypto.diagnostics import InternalError
from pypto.runtime.errors import PoisonUseError

Array: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]


def is_array(value: Any) -> bool:
    """True for a NumPy array."""
    return isinstance(value, np.ndarray)


def shape_of(value: Any) -> tuple[int, ...]:
    """The extents of an array or a tracked one; none for a scalar."""
    return getattr(value, "shape", ())


class Tracked:
    """An array with a mask of its poison elements (None: all clean).

    ``base`` and ``move`` make it a view: its mask is ``move`` of the base's mask. ``stale`` marks the elements of an output that the
    running function has not written yet; they count as poison in that function and as nothing outside of it. An overlay (a ``base``
    without ``move``) shares the base's mask and adds its own ``stale``. ``place`` says where in a window buffer it lies, once asked for.
    """

    __slots__ = ("_mask", "_stale", "base", "data", "move", "place")

    def __init__(
        self,
        data: Array,
        mask: Mask | None = None,
        base: Tracked | None = None,
        move: Callable[[Mask], Mask] | None = None,
        stale: Mask | None = None,
    ) -> None:
        self.data = data
        self._mask = mask
        self.base = base
        self.move = move
        self._stale = stale
        self.place: Any = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents."""
        return self.data.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy element type."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self.data.ndim

    @property
    def mask(self) -> Mask | None:
        """The mask that is shared with the outside, without what is merely stale."""
        base = self.base
        if base is None or self._mask is not None:
            return self._mask
        mask = base.mask
        if mask is None or self.move is None:
            return mask
        self._mask = self.move(mask)
        return self._mask

    @property
    def stale(self) -> Mask | None:
        """The elements of an output that are not written yet."""
        if self._stale is None and self.move is not None and self.base is not None:
            stale = self.base.stale
            if stale is not None:
                self._stale = self.move(stale)
        return self._stale

    @property
    def poison(self) -> Mask | None:
        """Every element that may not be used, or None."""
        mask, stale = self.mask, self.stale
        if stale is None:
            return mask
        return stale if mask is None else mask | stale

    @property
    def is_clean(self) -> bool:
        """True when there is certainly no poison; cheaper to know than the mask."""
        at: Tracked | None = self
        while at is not None:
            if at._mask is not None or at._stale is not None:
                return False
            at = at.base
        return True

    def needed_mask(self) -> Mask:
        """The shared mask, made when there is none yet."""
        mask = self.mask
        if mask is not None:
            return mask
        if self.base is None:
            self._mask = np.zeros(self.data.shape, np.bool_)
            return self._mask
        mask = self.base.needed_mask()
        self._mask = mask if self.move is None else self.move(mask)
        return self._mask

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs:
            raise InternalError(f"a tracked array met {ufunc.__name__}.{method} with {sorted(kwargs)}")
        result = ufunc(*[plain(x) for x in inputs])
        mask = joined_mask(inputs, result.shape)
        return result if mask is None else Tracked(result, mask)


def joined_mask(inputs: Any, shape: tuple[int, ...]) -> Mask | None:
    """Poison of an elementwise result: where any input has poison."""
    joined: Any = None
    combined = False
    for value in inputs:
        if type(value) is Tracked:
            mask = value.poison
            if mask is not None and mask is not joined:
                combined = joined is not None
                joined = joined | mask if combined else mask
        elif type(value) is PoisonScalar:
            return np.ones(shape, np.bool_)
    if joined is None or (combined and joined.shape == shape):
        return joined
    # an input's mask may still change when the input is written
    return joined.copy() if joined.shape == shape else np.broadcast_to(joined, shape).copy()


def plain(value: Any) -> Any:
    """The data behind a value."""
    return value.data if type(value) is Tracked or type(value) is PoisonScalar else value


def poison_of(value: Any) -> Any:
    """The mask of an array value, True for a poison scalar, else None."""
    if type(value) is Tracked:
        return value.poison
    return True if type(value) is PoisonScalar else None


def own(value: Any) -> Any:
    """A tracked array that shares neither data nor mask with any other value, so that it can be written in place."""
    if type(value) is Tracked:
        mask: Any = value.poison
        data: Any = value.data
        return Tracked(data.copy(), None if mask is None else mask.copy())
    return Tracked(value.copy()) if is_array(value) else value


def hold(value: Any) -> Any:
    """A result of a callee that the caller writes in place: tracked, its storage kept."""
    if is_array(value):
        return Tracked(value if value.flags.writeable else value.copy())
    if type(value) is tuple:
        return tuple([hold(v) for v in value])  # pyright: ignore[reportUnknownVariableType]
    return value


def overlay(value: Any) -> Any:
    """An output as its function sees it at first: nothing in it may be read until it is written."""
    if type(value) is not Tracked:
        raise InternalError("an output that is read must be tracked")
    return Tracked(value.data, base=value, stale=np.ones(value.data.shape, np.bool_))


def uncovered(value: Any) -> Any:
    """A value as it leaves the function whose outputs were overlaid."""
    if type(value) is tuple:
        return tuple([uncovered(v) for v in value])  # pyright: ignore[reportUnknownVariableType]
    if type(value) is not Tracked or value.base is None:
        return value
    below = uncovered(value.base)
    if value.move is None:
        return below
    return value if below is value.base else Tracked(value.data, base=below, move=value.move)


def outside_valid(shape: tuple[int, ...], valid: tuple[int, ...]) -> Mask:
    """True in the lanes outside the valid extents."""
    mask = np.ones(shape, np.bool_)
    mask[tuple([slice(0, max(0, e)) for e in valid])] = False
    return mask


def restricted(value: Any, valid: tuple[int, ...]) -> Any:
    """The same data with the lanes outside the valid extents poison."""
    data = plain(value)
    if all(v >= d for v, d in zip(valid, data.shape, strict=True)):
        return value
    outside = outside_valid(data.shape, valid)
    mask: Any = poison_of(value)
    if mask is not None:
        np.logical_or(outside, mask, out=outside)
    return Tracked(data, outside)


def valid_part(array: Array, valid: tuple[int, ...]) -> Array:
    """A view of the valid region."""
    return array[tuple([slice(0, max(0, e)) for e in valid])]


class PoisonScalar:
    """A scalar read from poison. It may be computed with; turning it into a number or a truth value is an error."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data

    def _refuse(self, *_: Any) -> Any:
        raise PoisonUseError()

    __bool__ = __index__ = __int__ = __float__ = __iter__ = __len__ = _refuse

    def bit_length(self) -> int:
        """Zero: a poison number never overflows."""
        return 0

    def _again(self, *_: Any) -> PoisonScalar:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _again
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = _again
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _again
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _again
    __neg__ = __pos__ = __abs__ = __invert__ = _again
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _again  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(is_array(plain(x)) for x in inputs):
            result = ufunc(*[plain(x) for x in inputs])
            return Tracked(result, np.ones(shape_of(result), np.bool_))
        return self


def first_poison(mask: Any) -> tuple[int, ...]:
    """The index of the first poison element, row by row."""
    flat = int(np.argmax(mask))
    return tuple([int(i) for i in np.unravel_index(flat, shape_of(mask))])
