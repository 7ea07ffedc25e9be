"""Inputs for comparing two forms of one program, and the comparison itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InvalidTypeError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ParamDirection
from pypto.ir.expr import Call, ConstInt, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import walk
from pypto.ir.types import ScalarType, ShapedType, TensorType, TileType
from pypto.ops.numeric import numpy_dtype
from pypto.runtime.dims import free_symbols
from pypto.runtime.entry import entry_function
from pypto.runtime.evaluate import evaluate
from pypto.runtime.facts import Facts
from pypto.runtime.legal_ranks import is_distributed, rank_dimensions
from pypto.runtime.scalars import is_integral

SMALL_SIZE = 8
"""The size of a dynamic dimension that nothing in the program asks more of."""

LARGEST_INTEGER = 7
"""Integers are drawn from 0 to this, or to the last index of the smallest dimension when that is less."""

TOLERANCES: Mapping[DataType, float] = {DataType.FP32: 1e-5, DataType.FP16: 2e-2, DataType.BF16: 2e-2}
"""How far two results of an element type may be apart, relative to their size or absolute; other types must agree exactly."""


def draw_inputs(program: Program | Function, seed: int = 0, entry: str | None = None, ranks: int = 1) -> list[Any]:
    """Arguments for one run of the entry function, the same for the same seed.

    Floats are uniform from -2 to 2, integers from 0 to 7 and below the smallest dimension, so that they can serve as indices. Dynamic
    dimensions get small sizes that are multiples of the tiles taken from them; scalar parameters that are dimensions get that size.
    Outputs are zeros.

    A host orchestrator gets tensors of the whole world: dimensions that count ranks are ``ranks``. A kernel with windows, which runs on
    every rank, gets a list with an array for each rank; signals are left to the run, which begins them at zero.

    Raises:
        ArgumentError: the program has no one entry function.
        InvalidTypeError: a parameter that is neither scalar nor array.
    """
    function = entry_function(program, entry)
    generator = np.random.default_rng(seed)
    sizes = dynamic_sizes(program, function)
    sizes.update({d: ranks for d in rank_dimensions(function) if isinstance(d, Var)})
    each = is_distributed(program) and not function.is_host_orchestrator
    signals = Facts(program if isinstance(program, Program) else None).of(function).signals if each else ()
    shapes = {p: [evaluate(d, sizes) for d in p.type.shape] for p in function.params if isinstance(p.type, ShapedType)}
    extents = [e for p, shape in shapes.items() if isinstance(p.type, TensorType | TileType) for e in shape if e > 1]
    most = min([LARGEST_INTEGER, *[e - 1 for e in extents]])
    drawn: list[Any] = []
    for at, (param, direction) in enumerate(zip(function.params, function.param_directions, strict=True)):
        type_ = param.type
        if isinstance(type_, ScalarType):
            drawn.append(sizes[param] if param in sizes else _numbers(generator, type_.dtype, (), most)[()])
        elif isinstance(type_, ShapedType):
            shape = tuple(shapes[param])
            if at in signals:
                drawn.append(None)
            elif each:
                drawn.append([_array(generator, type_, shape, direction, most) for _ in range(ranks)])
            else:
                drawn.append(_array(generator, type_, shape, direction, most))
        else:
            raise InvalidTypeError(f"no argument can be drawn for {param.name_hint!r} of type {type(type_).__name__}", param.span)
    return drawn


def _array(
    generator: np.random.Generator, type_: ShapedType, shape: tuple[int, ...], direction: ParamDirection, most: int
) -> Any:
    if direction is ParamDirection.Out:
        return np.zeros(shape, numpy_dtype(type_.dtype))
    return _numbers(generator, type_.dtype, shape, most)


def _numbers(generator: np.random.Generator, dtype: DataType, shape: tuple[int, ...], most: int) -> Any:
    target = numpy_dtype(dtype)
    if dtype is DataType.BOOL:
        return generator.integers(0, 2, shape).astype(np.bool_)
    if is_integral(dtype):
        return np.asarray(generator.integers(0, most + 1, shape)).astype(target)
    return np.asarray(generator.uniform(-2, 2, shape)).astype(target)


def dynamic_sizes(program: Program | Function, function: Function) -> dict[Var, int]:
    """Sizes for the dynamic dimensions of the parameters: twice the largest tile extent that is taken along them."""
    wanted: dict[str, int] = {}
    functions = list(program.functions.values()) if isinstance(program, Program) else [program]
    for call in _calls(functions):
        tile: Any = call.type
        if not isinstance(tile, TileType):
            continue
        for arg in call.args:
            if isinstance(arg.type, TensorType):
                for dim, extent in zip(reversed(arg.type.shape), reversed(tile.shape), strict=False):
                    if isinstance(dim, Var) and isinstance(extent, ConstInt):
                        wanted[dim.name_hint] = max(wanted.get(dim.name_hint, 0), extent.value)
    sizes: dict[Var, int] = {}
    for param in function.params:
        if isinstance(param.type, ShapedType):
            for dim in param.type.shape:
                for symbol in free_symbols(dim):
                    known = wanted.get(symbol.name_hint)
                    sizes[symbol] = SMALL_SIZE if known is None else 2 * known
    return sizes


def _calls(functions: Sequence[Function]) -> Iterator[Call]:
    for function in functions:
        for node in walk(function.body):
            if isinstance(node, Call):
                yield node


def compare_results(left: Any, right: Any, tolerances: Mapping[DataType, float] = TOLERANCES) -> str | None:
    """None when two results agree, else a line that says where they first differ. NaN equals NaN.

    >>> import numpy as np
    >>> compare_results(np.float32([1, 2]), np.float32([1, 2.000001])) is None
    True
    >>> compare_results(np.int32([1, 2]), np.int32([1, 3]))
    'element [1] is 2 in one and 3 in the other'
    """
    limits = {numpy_dtype(d): t for d, t in tolerances.items()}
    return _compare(left, right, limits, "")


def _compare(left: Any, right: Any, limits: Mapping[Any, float], where: str) -> str | None:
    if isinstance(left, tuple | list) or isinstance(right, tuple | list):
        if not isinstance(left, tuple | list) or not isinstance(right, tuple | list) or len(left) != len(right):  # pyright: ignore[reportUnknownArgumentType]
            return f"{where}the number of results differs"
        for at, (a, b) in enumerate(zip(left, right, strict=True)):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            found = _compare(a, b, limits, f"{where}result {at}: ")
            if found is not None:
                return found
        return None
    if left is None or right is None:
        return None if left is right else f"{where}one gives a result and the other none"
    a, b = np.asarray(left), np.asarray(right)
    if a.shape != b.shape:
        return f"{where}the shape is {list(a.shape)} in one and {list(b.shape)} in the other"
    if a.dtype != b.dtype:
        return f"{where}the element type is {a.dtype} in one and {b.dtype} in the other"
    limit = limits.get(a.dtype)
    if limit is None:
        equal = a == b
        if a.dtype.kind not in "iub":
            equal = equal | ((a != a) & (b != b))
    else:
        equal = _near(a.astype(np.float64), b.astype(np.float64), limit)
    if np.all(equal):
        return None
    at = np.unravel_index(int(np.argmin(equal)), a.shape)
    element = f"element {[int(i) for i in at]}" if a.ndim else "it"
    return f"{where}{element} is {a[at]!s} in one and {b[at]!s} in the other"


def _near(a: Any, b: Any, limit: float) -> Any:
    """True where two numbers are equal, both NaN, or apart by no more than the limit, counted from 1 or from their size."""
    with np.errstate(all="ignore"):
        size = np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
        close = np.isfinite(size) & (np.abs(a - b) <= limit * size)
    return close | (a == b) | (np.isnan(a) & np.isnan(b))
