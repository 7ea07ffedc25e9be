"""NumPy functions that work element by element: whether one can stand for an operator as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.types import ScalarType, Type
from pypto.ops.numeric import numpy_dtype
from pypto.runtime.scalars import is_integral


def is_ufunc(meaning: Any) -> bool:
    """True for a NumPy function that works element by element."""
    return isinstance(meaning, np.ufunc)


_PROBES: dict[Any, Any] = {}


def probe(ufunc: Any, types: tuple[Type, ...]) -> np.dtype[Any] | None:
    """The element type that NumPy gives for operands of these types, None when it refuses them."""
    dtypes = tuple([(getattr(t, "dtype", None), isinstance(t, ScalarType)) for t in types])
    key = (ufunc, dtypes)
    if key not in _PROBES:
        _PROBES[key] = _probe(ufunc, dtypes)
    return _PROBES[key]


def _probe(ufunc: Any, dtypes: Sequence[tuple[DataType | None, bool]]) -> np.dtype[Any] | None:
    samples: list[Any] = []
    element = next((d for d, scalar in dtypes if not scalar), None)
    for dtype, scalar in dtypes:
        if dtype is None:
            return None
        if not scalar:
            samples.append(np.ones(1, numpy_dtype(dtype)))
        elif is_integral(dtype) or dtype is DataType.BOOL:
            if dtype is not element:
                return None
            samples.append(1)
        else:
            samples.append(numpy_dtype(dtype).type(1))
    try:
        with np.errstate(all="ignore"):
            return ufunc(*samples).dtype
    except TypeError:
        return None
