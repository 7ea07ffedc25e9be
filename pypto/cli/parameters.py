"""Arguments of a run in the order of the entry's parameters."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from pypto.cli.loading import LoadError
from pypto.diagnostics import did_you_mean
from pypto.ir.enums import ParamDirection
from pypto.ir.expr import ConstInt, Var
from pypto.ir.function import Function, Program
from pypto.ir.types import DistributedTensorType, TensorType
from pypto.ops.numeric import numpy_dtype
from pypto.runtime import entry_function


def order_arguments(program: Program | Function, entry: str | None, given: dict[str, Any]) -> list[Any]:
    """Values in parameter order; an Out array that is not given is made when its shape is known, a window is left to the run.

    Raises:
        LoadError: a value for no parameter, or a parameter without a value.
    """
    function = program if isinstance(program, Function) else entry_function(program, entry)
    names = [p.name_hint for p in function.params]
    for name in given:
        if name not in names:
            close = did_you_mean(name, names)
            hint = f"did you mean {close!r}?" if close else f"it has {', '.join(names)}"
            raise LoadError(f"{function.name} has no parameter {name!r}", hint=hint)
    sizes = _known_sizes(function, given)
    values: list[Any] = []
    for param, direction in zip(function.params, function.param_directions, strict=True):
        if param.name_hint in given:
            values.append(given[param.name_hint])
            continue
        if isinstance(param.type, DistributedTensorType):
            values.append(None)
            continue
        shape = _shape(param, sizes)
        if direction is ParamDirection.Out and shape is not None:
            values.append(np.zeros(shape, numpy_dtype(param.type.dtype)))  # type: ignore[attr-defined]
            continue
        raise LoadError(f"{function.name} needs a value for {param.name_hint!r} ({param.type})", hint=_suggestion(param))
    return values


def _known_sizes(function: Function, given: dict[str, Any]) -> dict[Var, int]:
    sizes: dict[Var, int] = {}
    for param in function.params:
        value: Any = given.get(param.name_hint)
        if isinstance(param.type, TensorType) and isinstance(value, np.ndarray):
            for dim, size in zip(param.type.shape, np.shape(cast("Any", value)), strict=False):
                if isinstance(dim, Var):
                    sizes[dim] = size
    return sizes


def _shape(param: Var, sizes: dict[Var, int]) -> tuple[int, ...] | None:
    if not isinstance(param.type, TensorType):
        return None
    shape: list[int] = []
    for dim in param.type.shape:
        size = dim.value if isinstance(dim, ConstInt) else sizes.get(dim) if isinstance(dim, Var) else None
        if size is None:
            return None
        shape.append(size)
    return tuple(shape)


def _suggestion(param: Var) -> str:
    if isinstance(param.type, TensorType):
        dims = ",".join(str(d.value) if isinstance(d, ConstInt) else "8" for d in param.type.shape)
        return f"add --arg '{param.name_hint}={param.type.dtype.name}[{dims}]:normal(seed=0)'"
    return f"add --arg {param.name_hint}=1"
