"""Arguments of a run: arrays and numbers checked against the parameters, and dynamic dimensions bound from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import ParamDirection
from pypto.ir.expr import ConstInt, Expr, Var
from pypto.ir.function import Function
from pypto.ir.types import ArrayType, CommCtxType, DistributedTensorType, ScalarType, ShapedType, TensorType, TileType
from pypto.ops.numeric import numpy_dtype
from pypto.runtime.dims import free_symbols
from pypto.runtime.errors import ArgumentError, ArgumentTypeError
from pypto.runtime.evaluate import evaluate
from pypto.runtime.scalars import is_integral, wrapper
from pypto.runtime.values import Tracked, is_array


class Bound:
    """The values of one run: what the generated function gets, and which caller's array stands behind each output."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self.outputs: list[tuple[Var, Any, Tracked]] = []
        """Parameter, the caller's array, and the value in the run, whose data is that array or a packed copy of it."""
        self.inputs: list[Any] = []
        self.symbols: dict[Var, int] = {}
        self.windows: list[Window] = []
        self.contexts: list[int] = []
        """Positions of the parameters that are communication contexts."""
        self.given: dict[int, Any] = {}
        """The caller's arrays for windows that are written back, by the identity of the buffer."""
        self.written_back: list[tuple[Any, Any]] = []

    def write_back(self) -> None:
        """Bring what the run computed into the caller's arrays, where they are not what it worked on."""
        for _, array, tracked in self.outputs:
            if tracked.data is not array:
                array[...] = tracked.data
        for array, data in self.written_back:
            array[...] = data


@dataclass(frozen=True)
class Window:
    """A distributed tensor among the parameters: its position, its extents and element type, and what it holds at first (None: zeros)."""

    at: int
    param: Var
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    initial: Any


def bind_arguments(function: Function, arguments: Sequence[Any]) -> Bound:
    """Check the arguments of a run and turn them into values.

    Raises:
        ArgumentError: wrong number, shape, rank or value, or dimensions that contradict one another.
        ArgumentTypeError: wrong kind or element type.
    """
    params, directions = function.params, function.param_directions
    given = list(arguments)
    if len(given) != len(params):
        missing = params[len(given) :]
        optional = all(
            isinstance(p.type, DistributedTensorType | CommCtxType)
            or (d is ParamDirection.Out and isinstance(p.type, TensorType))
            for p, d in zip(missing, directions[len(given) :], strict=True)
        )
        if len(given) > len(params) or not optional:
            names = ", ".join([p.name_hint for p in params])
            raise ArgumentError(
                f"{function.name!r} takes {len(params)} argument{'s' * (len(params) != 1)} ({names}), got {len(given)}",
                function.span,
                "arrays are given in parameter order, those for Out parameters too; only trailing Out arrays and windows may be left out",
            )
        given += [None] * len(missing)
    bound = Bound()
    _refuse_type_only_symbols(function)
    shapes: list[tuple[Var, Any]] = []
    for at, (param, direction, value) in enumerate(zip(params, directions, given, strict=True)):
        type_ = param.type
        if isinstance(type_, ScalarType):
            scalar = _scalar(function, param, type_.dtype, value)
            bound.values.append(scalar)
            if is_integral(type_.dtype):
                bound.symbols[param] = scalar
        elif isinstance(type_, CommCtxType) and value is None:
            bound.contexts.append(at)
            bound.values.append(None)
        elif isinstance(type_, ShapedType):
            window = isinstance(type_, DistributedTensorType)
            if value is None and (window or at >= len(arguments)):
                bound.values.append(None)
                continue
            array = _array(function, param, type_, ParamDirection.In if window else direction, value)
            shapes.append((param, array))
            bound.values.append(array)
        else:
            raise ArgumentTypeError(
                f"{function.name}: a parameter of type {type(type_).__name__} ({param.name_hint!r}) cannot be given to a run",
                param.span,
            )
    _bind_symbols(function, shapes, bound.symbols)
    for at, (param, direction) in enumerate(zip(params, directions, strict=True)):
        type_ = param.type
        if not isinstance(type_, ShapedType):
            continue
        array = bound.values[at]
        if isinstance(type_, DistributedTensorType):
            shape = array.shape if array is not None else _new_shape(function, param, type_, bound.symbols)
            bound.windows.append(Window(at, param, shape, numpy_dtype(type_.dtype), array))
            continue
        if array is None:
            array = _new_output(function, param, type_, bound.symbols)
        # views may assume that the elements lie one after the other
        packed = array if array.flags.c_contiguous else np.ascontiguousarray(array)
        if direction is ParamDirection.In:
            bound.inputs.append(packed)
            bound.values[at] = packed
        else:
            tracked = Tracked(packed)
            bound.outputs.append((param, array, tracked))
            bound.values[at] = tracked
    return bound


_NUMBERS: Any = (list, tuple, int, float, np.generic)


def is_truth(value: Any) -> bool:
    """True for Python's and NumPy's truth values."""
    return isinstance(value, bool | np.bool_)


def _where(function: Function, param: Var) -> str:
    return f"{function.name}: the argument for {param.name_hint!r}"


def _scalar(function: Function, param: Var, dtype: DataType, value: Any) -> Any:
    where = _where(function, param)
    if is_array(value):
        if value.ndim:
            raise ArgumentTypeError(
                f"{where} must be one value ({dtype.name}), got an array of shape {list(value.shape)}", param.span
            )
        value = value[()]
    if dtype is DataType.BOOL:
        if is_truth(value):
            return bool(value)
        raise ArgumentTypeError(f"{where} must be True or False, got {value!r}", param.span)
    if is_integral(dtype):
        if is_truth(value) or not hasattr(value, "__index__"):
            raise ArgumentTypeError(f"{where} must be an integer ({dtype.name}), got {value!r}", param.span)
        number = int(value)
        if wrapper(dtype)(number) != number:
            raise ArgumentError(f"{where} does not fit {dtype.name}: {number}", param.span)
        return number
    if is_truth(value) or isinstance(value, str) or not hasattr(value, "__float__"):
        raise ArgumentTypeError(f"{where} must be a number ({dtype.name}), got {value!r}", param.span)
    with np.errstate(all="ignore"):
        return numpy_dtype(dtype).type(value)


def _array(function: Function, param: Var, type_: ShapedType, direction: ParamDirection, value: Any) -> Any:
    where = _where(function, param)
    dtype: Any = numpy_dtype(type_.dtype)
    if isinstance(value, _NUMBERS):
        if direction is not ParamDirection.In:
            raise ArgumentTypeError(
                f"{where} is written in place and must be a NumPy array, got {type(value).__name__}", param.span
            )
        try:
            value = _from_numbers(value, type_.dtype, dtype)
        except (ValueError, TypeError, OverflowError) as error:
            raise ArgumentError(f"{where} is no array of {type_.dtype.name}: {error}", param.span) from error
    if not is_array(value):
        raise ArgumentTypeError(f"{where} must be a NumPy array, got {type(value).__name__}", param.span)
    if value.dtype != dtype:
        spelled = f"ml_dtypes.{dtype.name}" if dtype.kind == "V" or dtype.name not in np.sctypeDict else f"np.{dtype.name}"
        raise ArgumentTypeError(
            f"{where} must hold {type_.dtype.name} (NumPy {dtype.name}), got {value.dtype}",
            param.span,
            f"convert it: {param.name_hint}.astype({spelled})",
        )
    if value.ndim != len(type_.shape):
        raise ArgumentError(
            f"{where} must have {len(type_.shape)} dimensions ({_shape_text(type_)}), got the shape {list(value.shape)}",
            param.span,
        )
    for at, (dim, got) in enumerate(zip(type_.shape, value.shape, strict=True)):
        if isinstance(dim, ConstInt) and dim.value != got:
            raise ArgumentError(
                f"{where} must have the shape {_shape_text(type_)}, got {list(value.shape)} (dimension {at})", param.span
            )
    if direction is not ParamDirection.In and not value.flags.writeable:
        raise ArgumentError(f"{where} is written in place, but the array is read-only", param.span)
    return value


def _from_numbers(value: Any, dtype: DataType, target: np.dtype[Any]) -> Any:
    if dtype.is_float():
        return np.asarray(value, np.float64).astype(target)
    array = np.asarray(value)
    if array.size and array.dtype.kind not in "iub":
        raise TypeError(f"got {array.dtype} elements")
    exact = array.astype(target)
    if array.size and not (exact.astype(object) == array.astype(object)).all():
        raise OverflowError(f"an element does not fit {dtype.name}")
    return exact


def _shape_text(type_: ShapedType) -> str:
    return f"[{', '.join([str(d.value) if isinstance(d, ConstInt) else getattr(d, 'name_hint', '?') for d in type_.shape])}]"


def _bind_symbols(function: Function, shapes: Sequence[tuple[Var, Any]], symbols: dict[Var, int]) -> None:
    origin: dict[Var, str] = {p: f"the argument {p.name_hint!r}" for p in symbols}
    for param, array in shapes:
        for at, (dim, got) in enumerate(zip(_dims(param), array.shape, strict=True)):
            if not isinstance(dim, Var):
                continue
            here = f"dimension {at} of {param.name_hint!r}"
            known = symbols.setdefault(dim, got)
            first = origin.setdefault(dim, here)
            if known != got:
                raise ArgumentError(
                    f"{function.name}: the dimension {dim.name_hint!r} cannot be both {known} ({first}) and {got} ({here})",
                    param.span,
                    f"every use of {dim.name_hint!r} stands for one number",
                )
    for param, array in shapes:
        for at, (dim, got) in enumerate(zip(_dims(param), array.shape, strict=True)):
            if isinstance(dim, ConstInt | Var) or not all(v in symbols for v in free_symbols(dim)):
                continue
            wanted = evaluate(dim, symbols)
            if wanted != got:
                raise ArgumentError(
                    f"{function.name}: dimension {at} of {param.name_hint!r} must be {wanted}, got {got}", param.span
                )


def _dims(param: Var) -> Sequence[Expr]:
    type_ = param.type
    assert isinstance(type_, ShapedType)
    return type_.shape


def _new_shape(function: Function, param: Var, type_: ShapedType, symbols: dict[Var, int]) -> tuple[int, ...]:
    unknown = [v for d in type_.shape for v in free_symbols(d) if v not in symbols]
    if unknown:
        what = "window array" if isinstance(type_, DistributedTensorType) else "array"
        raise ArgumentError(
            f"{_where(function, param)} was left out, but its dimension {unknown[0].name_hint!r} is not known from the others",
            param.span,
            f"give the {what}",
        )
    return tuple([evaluate(d, symbols) for d in type_.shape])


def _new_output(function: Function, param: Var, type_: ShapedType, symbols: dict[Var, int]) -> Any:
    return np.zeros(_new_shape(function, param, type_, symbols), numpy_dtype(type_.dtype))


def _refuse_type_only_symbols(function: Function) -> None:
    """Symbols that stand only in valid extents or inside expressions get no value from any argument."""
    bound = {*function.params}
    for param in function.params:
        if isinstance(param.type, ShapedType):
            bound |= {d for d in param.type.shape if isinstance(d, Var)}
    for param in function.params:
        type_ = param.type
        if not isinstance(type_, ShapedType) or isinstance(type_, ArrayType):
            continue
        valid = type_.valid_shape if isinstance(type_, TensorType | TileType) else ()
        for dim in [*type_.shape, *valid]:
            for symbol in free_symbols(dim):
                if symbol not in bound:
                    raise ArgumentError(
                        f"{function.name}: the symbol {symbol.name_hint!r} in the type of {param.name_hint!r} has no value: "
                        "it is no dimension of a parameter by itself, and no scalar parameter",
                        param.span,
                        f"add a parameter {symbol.name_hint}: pl.Scalar[pl.INDEX]",
                    )
