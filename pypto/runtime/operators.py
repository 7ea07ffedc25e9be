"""Operators as Python functions: the declared meaning, lifted to values with poison and valid regions.

:func:`operator_for` makes one :class:`Operator` for a call. Its ``apply(extents, *operands)`` is what generated code calls, unless
``direct`` is set: then the meaning is a NumPy function that needs nothing around it. ``extents`` is None when every operand and the result
are valid throughout, else an :class:`Extents`-shaped tuple with what the types say, evaluated where the call stands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from pypto.diagnostics import InternalError
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgEffect, CastMode
from pypto.ir.expr import Call, ConstBool, ConstFloat, ConstInt, Expr
from pypto.ir.types import ArrayType, ScalarType, ShapedType, TensorType, TileType, TupleType, Type
from pypto.ops.declare import MISSING, Declaration, Kind, Lanes, ResultSpec
from pypto.ops.numeric import cast_array, numpy_dtype
from pypto.runtime.errors import Refusal
from pypto.runtime.scalars import converter, from_numpy, is_integral
from pypto.runtime.ufuncs import is_ufunc, probe
from pypto.runtime.values import (
    Mask,
    PoisonScalar,
    Tracked,
    is_array,
    joined_mask,
    outside_valid,
    plain,
    poison_of,
    restricted,
    shape_of,
    valid_part,
)
from pypto.runtime.watched import Region, Watched, box_of

Extents: TypeAlias = tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]
"""Valid extents of the operands, shapes of the results, valid extents of the results; None where nothing needs to be known."""

Apply: TypeAlias = Callable[..., Any]


class OperatorFailed(Exception):
    """A meaning raised; carries what the operands looked like."""

    def __init__(self, operator: str, operands: str, cause: Exception) -> None:
        super().__init__(operator)
        self.operator = operator
        self.operands = operands
        self.cause = cause


def describe_values(values: Sequence[Any]) -> str:
    """Element types and shapes of operands, numbers as they are, for messages."""
    return ", ".join(describe_value(v) for v in values)


def describe_value(value: Any) -> str:
    """One operand for messages."""
    if type(value) is PoisonScalar:
        return "a poison scalar"
    if is_array(value) or type(value) is Tracked:
        return f"{value.dtype}[{', '.join(map(str, value.shape))}]"
    if isinstance(value, tuple):
        return f"({', '.join(describe_value(v) for v in value)})"  # pyright: ignore[reportUnknownVariableType]
    return str(value)


def is_shaped(type_: Type) -> bool:
    """True for types whose values are arrays."""
    return isinstance(type_, ShapedType)


def partial_valid(type_: Type) -> Sequence[Expr] | None:
    """The valid extents of a tile or tensor type that states some; None when it is valid throughout."""
    if isinstance(type_, TileType | TensorType):
        valid = type_.valid_shape
        if valid is not type_.shape:
            return valid
    return None


def effect_on(declaration: Declaration, name: str, kwargs: Mapping[str, AttrValue]) -> ArgEffect | None:
    """What an operator does to the operand of a name."""
    at = next((i for i, p in enumerate(declaration.operand_params) if p.name == name), len(declaration.operand_params))
    return declaration.arg_effect(at, kwargs)


@cache
def parameters_of(meaning: Callable[..., Any]) -> frozenset[str]:
    return frozenset(inspect.signature(meaning).parameters)


def keyword_arguments(declaration: Declaration, kwargs: Mapping[str, AttrValue]) -> dict[str, Any]:
    """The keywords of a call that the meaning asks for, declared defaults included."""
    meaning = declaration.meaning
    if meaning is None or is_ufunc(meaning):
        return {}
    asked = parameters_of(meaning)
    given: dict[str, Any] = {}
    for name, param in declaration.keyword_params.items():
        if name not in asked:
            continue
        value: Any = kwargs.get(name, param.default)
        if value is MISSING or (value is None and name not in kwargs):
            continue
        if isinstance(value, ConstInt | ConstFloat | ConstBool):
            value = value.value
        if param.kind is Kind.CAST_MODE and isinstance(value, str):
            value = int(CastMode[value])
        given[name] = value
    return given


class Operator:
    """One declared operator with its keywords and the types at one place of a program; see the module."""

    __slots__ = (
        "_alias",
        "_asks_out",
        "_atomic",
        "_convert",
        "_detach",
        "_elements",
        "_indices",
        "_keywords",
        "_meaning",
        "_moved",
        "_result_dtypes",
        "_result_numpy",
        "_static_shapes",
        "_target",
        "_tracked",
        "_types",
        "apply",
        "args",
        "declaration",
        "direct",
        "needs_shapes",
        "result_types",
        "valid_operands",
    )

    def __init__(self, call: Call, declaration: Declaration, written: bool, unstable: bool, without: str | None = None) -> None:
        self.declaration = declaration
        kept = [(p, a) for p, a in zip(declaration.params_of(len(call.args)), call.args, strict=False) if p.name != without]
        self.args: list[Expr] = [a for _, a in kept]
        params = [p for p, _ in kept]
        self._types = [a.type for a in self.args]
        single = not isinstance(call.type, TupleType)
        self.result_types: list[Type] = [call.type] if single else list(call.type.types)  # type: ignore[attr-defined]
        names = [p.name for p in params]
        self._alias = names.index(declaration.alias) if declaration.alias in names else None
        effects = [effect_on(declaration, n, call.kwargs) for n in names]
        scratch = set(declaration.scratch)
        targets = [
            i for i, e in enumerate(effects) if e is not ArgEffect.Read and names[i] not in scratch and is_shaped(self._types[i])
        ]
        self._target = targets
        self._atomic = {i for i in targets if effects[i] is ArgEffect.ReadWrite and names[i] in declaration.reads_when}
        self._meaning = declaration.meaning
        self._keywords = keyword_arguments(declaration, call.kwargs)
        self._asks_out = self._meaning is not None and not is_ufunc(self._meaning) and "out" in parameters_of(self._meaning)
        self._tracked = [i for i, n in enumerate(names) if n not in scratch and i not in targets]
        shaped = [i for i, t in enumerate(self._types) if is_shaped(t)]
        self._indices = [i for i in shaped if names[i] in declaration.indices]
        self._moved = [i for i in shaped if i not in self._indices]
        # a scalar that takes the element type of an array is an element itself, and is moved like one
        self._elements = [
            i for i, p in enumerate(params) if isinstance(self._types[i], ScalarType) and p.stamp in names and not p.literal
        ]
        all_valid = declaration.lanes in (Lanes.REDUCE, Lanes.CONTRACT)
        only = set(declaration.valid_only)
        self.valid_operands = [i for i in shaped if (all_valid or names[i] in only) and partial_valid(self._types[i]) is not None]
        self._result_dtypes = [getattr(t, "dtype", None) for t in self.result_types]
        self._result_numpy = [numpy_dtype(t.dtype) if isinstance(t, ShapedType) else None for t in self.result_types]
        self._static_shapes = [_static_shape(t) for t in self.result_types]
        partial_result = any(partial_valid(t) is not None for t in self.result_types)
        self.needs_shapes = self._asks_out or partial_result
        self._convert = self._conversions(params)
        # a value may share neither data nor mask with what is written in place
        from_memory = any(isinstance(self._types[i], TensorType) for i in shaped) and any(
            isinstance(t, TileType) for t in self.result_types
        )
        self._detach = self._alias is None and bool(shaped) and (written or unstable or from_memory)
        self.direct = None if written or unstable else self._direct()
        self.apply: Apply = self._choose(declaration.lanes, bool(declaration.fresh) and self._is_fresh(call.kwargs))

    @property
    def meaning(self) -> Callable[..., Any]:
        """What it does, by the declaration."""
        if self._meaning is None:
            raise InternalError(f"{self.declaration.name} has no meaning")
        return self._meaning

    @property
    def keywords(self) -> dict[str, Any]:
        """The keywords that the meaning gets."""
        return self._keywords

    @property
    def targets(self) -> Sequence[int]:
        """Positions of the operands that are written in place."""
        return self._target

    def is_read(self, at: int) -> bool:
        """True when elements of the operand at a position are looked at."""
        return at in self._tracked and self.declaration.lanes is not Lanes.NONE and at != self._alias

    def is_atomic(self, at: int) -> bool:
        """True when a target is added to rather than overwritten."""
        return at in self._atomic

    def region(self, extents: Extents | None, operands: Sequence[Any], at: int) -> Region | None:
        """Which box of the operand at a position a call reads, or writes when it is a target: first index and end on each axis.

        None when it is no box; :meth:`touched` says then which elements.
        """
        shape = shape_of(plain(operands[at]))
        if self.declaration.lanes is not Lanes.MOVE:
            return [(0, e) for e in shape]
        data = self._stand_ins(extents, operands)
        writes = at in self._target
        source: Any = np.zeros(shape) if writes else plain(operands[at])
        if not writes and extents is not None and at in self.valid_operands:
            source = valid_part(source, extents[0][at])
        watched: Any = source.view(Watched)
        data[at] = watched
        self._results(extents, data)
        keys = watched.written if writes else watched.read
        return box_of(keys[0], shape) if len(keys) == 1 else None

    def touched(self, extents: Extents | None, operands: Sequence[Any], at: int) -> Any:
        """Which elements of the operand at a position a call reads, or writes when it is a target: a boolean array of its shape.

        Operators that only move elements are applied to numbered elements to find out; others touch all that is valid.
        """
        shape = shape_of(plain(operands[at]))
        if self.declaration.lanes is not Lanes.MOVE:
            return np.ones(shape, np.bool_)
        data = self._stand_ins(extents, operands)
        if at in self._target:
            self._results(extents, data)
            return data[at] != 0
        count = int(np.prod(shape, dtype=np.int64))
        numbers: Any = np.arange(1, count + 1, dtype=np.float64).reshape(shape)
        if extents is not None and at in self.valid_operands:
            numbers = valid_part(numbers, extents[0][at])
        data = [np.zeros(v.shape) if is_array(v) else v for v in data]
        data[at] = numbers
        found = np.zeros(count, np.bool_)
        for result in [*self._results(extents, data), *[data[i] for i in self._target]]:
            values = np.asarray(result, np.float64).reshape(-1)
            values = values[(values >= 1) & (values <= count)]
            found[values.astype(np.int64) - 1] = True
        return found.reshape(shape)

    def _stand_ins(self, extents: Extents | None, operands: Sequence[Any]) -> list[Any]:
        """Operands to try a call on: zeros for what is written, ones for the rest."""
        data: list[Any] = self._data(extents, operands)
        for i, value in enumerate(data):
            if is_array(value):
                data[i] = np.zeros(value.shape) if i in self._target else np.ones(value.shape)
            elif i in self._elements:
                data[i] = np.float64(1)
        return data

    def _is_fresh(self, kwargs: Mapping[str, AttrValue]) -> bool:
        fresh = self.declaration.fresh
        return fresh is True or kwargs.get(str(fresh)) is None

    def _conversions(self, params: Sequence[Any]) -> list[Any] | None:
        target = self._result_dtypes[0]
        if not self.declaration.promotes or not isinstance(target, DataType):
            return None
        found: list[Any] = []
        for param, type_ in zip(params, self._types, strict=True):
            source = getattr(type_, "dtype", None)
            if source is None or source is target or param.kind is Kind.TUPLE or param.name in self.declaration.indices:
                found.append(None)
            else:
                found.append((source, target, isinstance(type_, ScalarType)))
        return found if any(found) else None

    def _direct(self) -> Any:
        ufunc: Any = self._meaning
        if (
            not is_ufunc(ufunc)
            or self.declaration.lanes is not Lanes.ELEMENTWISE
            or self._target
            or self._convert
            or len(self.result_types) != 1
            or ufunc.nin != len(self._types)
            or self._result_numpy[0] is None
        ):
            return None
        return ufunc if probe(ufunc, tuple(self._types)) == self._result_numpy[0] else None

    def _choose(self, lanes: Lanes, fresh: bool) -> Apply:
        if self._meaning is None:
            return self._without_meaning
        if self._target:
            return self._quick_write(self._guarded(self._write))
        if fresh:
            return self._guarded(self._fresh)
        if self._alias is not None:
            return self._quick_view(self._guarded(self._view))
        lifted = {
            Lanes.ELEMENTWISE: self._elementwise,
            Lanes.MOVE: self._move,
            Lanes.REDUCE: self._reduce,
            Lanes.CONTRACT: self._contract,
            Lanes.ALL: self._all,
            Lanes.NONE: self._none,
        }[lanes]
        return self._quick(self._guarded(lifted))

    def _quick(self, guarded: Apply) -> Apply:
        """The way of clean values through a meaning: nothing to track, only the result to check."""
        dtype, shape, type_ = self._result_numpy[0], self._static_shapes[0], self.result_types[0]
        meaning, detach = self._meaning, self._detach
        if self._convert or len(self.result_types) != 1 or meaning is None or (self._asks_out and shape is None):
            return guarded
        keywords = {**self._keywords, "out": ResultSpec(dtype, shape)} if self._asks_out and shape else self._keywords
        finish = from_numpy(type_.dtype) if isinstance(type_, ScalarType) else None
        if finish is None and dtype is None:
            return guarded
        call, name, covers = meaning, self.declaration.name, self._covers

        def quick(extents: Extents | None, *operands: Any) -> Any:
            if extents is not None and not covers(extents, operands):
                return guarded(extents, *operands)
            data = operands
            for at, operand in enumerate(operands):
                if type(operand) is Tracked:
                    if not operand.is_clean:
                        return guarded(extents, *operands)
                    data = (*data[:at], operand.data, *data[at + 1 :])
                elif type(operand) is PoisonScalar:
                    return guarded(extents, *operands)
            try:
                result = call(*data, **keywords)
            except Exception as error:
                raise OperatorFailed(name, describe_values(operands), error) from error
            if finish is not None:
                return finish(result)
            if result.dtype != dtype or (shape is not None and result.shape != shape):
                return guarded(extents, *operands)
            if detach and (result.base is not None or any(result is d for d in data)):
                return guarded(extents, *operands)
            return result

        return quick

    def _covers(self, extents: Extents, operands: Sequence[Any]) -> bool:
        """True when all that the types call partly valid is valid throughout this time."""
        mine, shapes, valids = extents
        for at in self.valid_operands:
            if mine[at] != operands[at].shape:
                return False
        valid = valids[0]
        return valid is None or valid == (self._static_shapes[0] or shapes[0])

    def _quick_write(self, guarded: Apply) -> Apply:
        """The way of clean values into clean storage."""
        if self._convert or self._asks_out or len(self._target) != 1 or self._meaning is None:
            return guarded
        gives = self._alias == self._target[0]
        if not gives and (self._alias is not None or isinstance(self.result_types[0], ShapedType | ScalarType | TupleType)):
            return guarded
        call, name, keywords, target, covers = (
            self._meaning,
            self.declaration.name,
            self._keywords,
            self._target[0],
            self._covers,
        )

        def quick(extents: Extents | None, *operands: Any) -> Any:
            written = operands[target]
            if type(written) is not Tracked or not written.is_clean:
                return guarded(extents, *operands)
            if extents is not None and not covers(extents, operands):
                return guarded(extents, *operands)
            data = operands
            for at, operand in enumerate(operands):
                if type(operand) is Tracked:
                    if at != target and not operand.is_clean:
                        return guarded(extents, *operands)
                    data = (*data[:at], operand.data, *data[at + 1 :])
                elif type(operand) is PoisonScalar:
                    return guarded(extents, *operands)
            try:
                call(*data, **keywords)
            except Exception as error:
                raise OperatorFailed(name, describe_values(operands), error) from error
            return written if gives else None

        return quick

    def _quick_view(self, guarded: Apply) -> Apply:
        """The way of a clean array to the view of it."""
        alias, meaning, dtype, shape = self._alias, self._meaning, self._result_numpy[0], self._static_shapes[0]
        if self._convert or self._asks_out or len(self.result_types) != 1 or alias is None or meaning is None or shape is None:
            return guarded
        call, name, keywords, covers = meaning, self.declaration.name, self._keywords, self._covers

        def quick(extents: Extents | None, *operands: Any) -> Any:
            if extents is not None and not covers(extents, operands):
                return guarded(extents, *operands)
            for operand in operands:
                if type(operand) is Tracked or type(operand) is PoisonScalar:
                    return guarded(extents, *operands)
            try:
                result = call(*operands, **keywords)
            except Exception as error:
                raise OperatorFailed(name, describe_values(operands), error) from error
            return result if result.dtype == dtype and result.shape == shape else guarded(extents, *operands)

        return quick

    def _guarded(self, apply: Apply) -> Apply:
        name = self.declaration.name

        def guarded(extents: Extents | None, *operands: Any) -> Any:
            try:
                return apply(extents, operands)
            except Exception as error:
                raise OperatorFailed(name, describe_values(operands), error) from error

        return guarded

    def _without_meaning(self, extents: Extents | None, *operands: Any) -> Any:
        raise Refusal(f"{self.declaration.name} has no meaning off the machine, so the program cannot be run here")

    # -- data --------------------------------------------------------------------------------------------------------

    def _data(self, extents: Extents | None, operands: Sequence[Any]) -> list[Any]:
        data = [plain(x) for x in operands]
        if extents is not None:
            for at in self.valid_operands:
                data[at] = valid_part(data[at], extents[0][at])
        if self._convert is not None:
            for at, conversion in enumerate(self._convert[: len(data)]):
                if conversion is not None:
                    source, target, scalar = conversion
                    if scalar:
                        value = converter(source, target)(data[at])
                        data[at] = value if is_integral(target) else numpy_dtype(target).type(value)
                    else:
                        data[at] = cast_array(data[at], source, target, CastMode.none)
        return data

    def _results(self, extents: Extents | None, data: Sequence[Any], masks: bool = False) -> list[Any]:
        """The meaning applied, one entry a result."""
        keywords = self._keywords
        if self._asks_out:
            shapes: Any = self._static_shapes if extents is None else extents[1]
            specs = tuple(
                [ResultSpec(np.dtype(np.bool_) if masks else d, s) for d, s in zip(self._result_numpy, shapes, strict=True)]
            )
            keywords = {**keywords, "out": specs[0] if len(specs) == 1 else specs}
        assert self._meaning is not None
        made = self._meaning(*data, **keywords)
        if len(self.result_types) == 1:
            return [made]
        return list(made)

    def _masks(self, extents: Extents | None, operands: Sequence[Any], data: Sequence[Any]) -> list[Any] | None:
        """The operands with arrays replaced by their masks, for operators that only move elements; None when there is no poison."""
        masks = [poison_of(operands[i]) for i in self._moved]
        if all(m is None for m in masks) and not any(type(operands[i]) is PoisonScalar for i in self._elements):
            return None
        moved = [*data]
        for at in self._elements:
            if at < len(moved):
                moved[at] = np.bool_(type(operands[at]) is PoisonScalar)
        for at, mask in zip(self._moved, masks, strict=True):
            array = operands[at]
            full = np.zeros(shape_of(plain(array)), np.bool_) if mask is None else mask
            if extents is not None and at in self.valid_operands:
                full = valid_part(full, extents[0][at])
            moved[at] = full
        return moved

    def _poisoned(self, operands: Sequence[Any]) -> bool:
        """True when any element of any operand that counts is poison."""
        for at in self._tracked:
            mask = poison_of(operands[at])
            if mask is not None and np.any(mask):
                return True
        return False

    def _finish(self, extents: Extents | None, results: Sequence[Any], masks: Sequence[Any], operands: Sequence[Any]) -> Any:
        finished = [
            self._finished(extents, at, result, mask, operands)
            for at, (result, mask) in enumerate(zip(results, masks, strict=True))
        ]
        return finished[0] if len(finished) == 1 else tuple(finished)

    def _finished(self, extents: Extents | None, at: int, result: Any, mask: Any, operands: Sequence[Any]) -> Any:
        type_ = self.result_types[at]
        if isinstance(type_, ScalarType):
            poisoned = mask is not None and bool(np.any(mask))
            value = from_numpy(type_.dtype)(result)
            return PoisonScalar(value) if poisoned else value
        dtype = self._result_numpy[at]
        if dtype is None:
            return result
        if result.dtype != dtype:
            result = _as_dtype(result, dtype, self._result_dtypes[at])
        shape = self._static_shapes[at] if extents is None else extents[1][at]
        valid = None if extents is None else extents[2][at]
        if shape is not None and result.shape != shape:
            if valid is None or result.shape != tuple([max(0, v) for v in valid]):
                raise Refusal(f"the result has the shape {list(result.shape)}, its type says {list(shape)}")
            result, mask = _padded(result, mask, shape)
        if self._detach:
            if result.base is not None or any(result is plain(x) for x in operands):
                arrays = [plain(x) for x in operands if (is_array(x) or type(x) is Tracked)]
                if not result.flags.writeable or any(np.may_share_memory(result, a) for a in arrays):
                    result = result.copy()
            mask = None if mask is None else mask.copy()
        if mask is not None and not mask.any():
            mask = None
        made = result if mask is None else Tracked(result, mask)
        return made if valid is None else restricted(made, valid)

    # -- one for each kind of dependence between elements ---------------------------------------------------------------

    def _elementwise(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        results = self._results(extents, self._data(extents, operands))
        if self._index_poison(extents, operands):
            masks: list[Any] = [np.ones(shape_of(r), np.bool_) for r in results]
        else:
            counted = [operands[i] for i in self._tracked if i not in self._indices]
            joined = joined_mask(counted, _widest(counted))
            if joined is not None and joined.shape != shape_of(results[0]):
                joined = np.full(shape_of(results[0]), bool(joined.any()), np.bool_)
            masks = [joined] * len(results)
        return self._finish(extents, results, masks, operands)

    def _move(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        data = self._data(extents, operands)
        results = self._results(extents, data)
        moved = self._masks(extents, operands, data)
        masks = [None] * len(results) if moved is None else self._results(extents, moved, masks=True)
        loose = [i for i in self._tracked if i not in self._elements]
        if any(type(operands[i]) is PoisonScalar for i in loose) or self._index_poison(extents, operands):
            masks = [np.ones(shape_of(r), np.bool_) for r in results]
        return self._finish(extents, results, masks, operands)

    def _index_poison(self, extents: Extents | None, operands: Sequence[Any]) -> bool:
        """True when what says where elements come from is itself poison somewhere."""
        for at in self._indices:
            mask = poison_of(operands[at]) if at < len(operands) else None
            if mask is not None and extents is not None and at in self.valid_operands:
                mask = valid_part(mask, extents[0][at])
            if mask is not None and np.any(mask):
                return True
        return False

    def _reduce(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        results = self._results(extents, self._data(extents, operands))
        masks = [self._reduced_mask(extents, operands, shape_of(r)) for r in results]
        return self._finish(extents, results, masks, operands)

    def _reduced_mask(self, extents: Extents | None, operands: Sequence[Any], shape: tuple[int, ...]) -> Mask | None:
        """An element of the result is poison when anything valid along the axes that the reduction removed is."""
        joined: Mask | None = None
        for at in self._tracked:
            mask = poison_of(operands[at])
            if mask is None:
                continue
            if extents is not None and at in self.valid_operands:
                mask = valid_part(mask, extents[0][at])
            if not np.any(mask):
                continue
            if np.ndim(mask) != len(shape):
                return np.ones(shape, np.bool_)
            axes = tuple([i for i, (m, s) in enumerate(zip(mask.shape, shape, strict=True)) if s == 1 and m != 1])
            part = mask.any(axis=axes, keepdims=True)
            if any(p not in (1, s) for p, s in zip(part.shape, shape, strict=True)):
                return np.ones(shape, np.bool_)
            part = np.broadcast_to(part, shape)
            joined = part if joined is None else joined | part
        return joined

    def _contract(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        data = self._data(extents, operands)
        results = self._results(extents, data)
        masks: list[Any] = [None] * len(results)
        poisons: list[Any] = []
        for at in range(len(operands)):
            mask = poison_of(operands[at]) if at in self._tracked else None
            if mask is not None and mask is not True and extents is not None and at in self.valid_operands:
                mask = valid_part(mask, extents[0][at])
            poisons.append(mask)
        if any(p is not None and np.any(p) for p in poisons):
            # a NaN in place of poison reaches exactly the sums that poison takes part in; integers have none: all is poison then
            floats = all(_holds_nan(d) for d in data if is_array(d))
            if floats and all(_holds_nan(r) for r in results) and not any(p is True for p in poisons):
                probes = [
                    np.where(False if p is None else p, np.nan, 1).astype(d.dtype) + np.zeros(d.shape, d.dtype)
                    if is_array(d)
                    else d
                    for d, p in zip(data, poisons, strict=True)
                ]
                masks = [np.isnan(r.astype(np.float64)) for r in self._results(extents, probes)]
            else:
                masks = [np.ones(r.shape, np.bool_) for r in results]
        return self._finish(extents, results, masks, operands)

    def _all(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        results = self._results(extents, self._data(extents, operands))
        bad = self._poisoned(operands)
        masks = [np.ones(shape_of(r), np.bool_) if bad else None for r in results]
        return self._finish(extents, results, masks, operands)

    def _none(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        results = self._results(extents, self._data(extents, operands))
        if any(type(x) is PoisonScalar for x in operands):
            return self._finish(extents, results, [np.ones(shape_of(r), np.bool_) for r in results], operands)
        return self._finish(extents, results, [None] * len(results), operands)

    def _fresh(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        results = self._results(extents, self._data(extents, operands))
        return self._finish(extents, results, [np.ones(shape_of(r), np.bool_) for r in results], operands)

    # -- storage -----------------------------------------------------------------------------------------------------

    def _view(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        """A result that is (part of) the storage of an operand."""
        alias = self._alias
        assert alias is not None
        base = operands[alias]
        data = self._data(extents, operands)
        (result,) = self._results(extents, data)
        if type(base) is Tracked and result is not base.data:
            arguments = [*data]

            def move(mask: Mask) -> Mask:
                arguments[alias] = mask
                return self._results(extents, arguments, masks=True)[0]

            made: Any = Tracked(result, base=base, move=move)
        else:
            made = base if type(base) is Tracked else result
        if extents is not None and extents[2][0] is not None and isinstance(self.result_types[0], TileType):
            return restricted(made, extents[2][0])
        return made

    def _write(self, extents: Extents | None, operands: Sequence[Any]) -> Any:
        """An operator that writes operands in place; it gives the aliased one, or its own results."""
        data = self._data(extents, operands)
        results = self._results(extents, data)
        for at in self._target:
            target = operands[at]
            if type(target) is not Tracked:
                raise InternalError(f"{self.declaration.name} writes to a value that is not tracked")
        self._write_masks(extents, operands, data)
        if self._alias is not None:
            return operands[self._alias]
        if isinstance(self.result_types[0], ShapedType | ScalarType | TupleType):
            bad = self._poisoned(operands)
            masks = [np.ones(shape_of(r), np.bool_) if bad else None for r in results]
            return self._finish(extents, results, masks, operands)
        return None

    def _write_masks(self, extents: Extents | None, operands: Sequence[Any], data: Sequence[Any]) -> None:
        sources = [i for i in self._tracked if i in self._moved]
        dirty = any(_is_dirty(operands[i]) for i in sources)
        dirty = dirty or any(type(operands[i]) is PoisonScalar for i in self._elements)
        if self.declaration.lanes is not Lanes.MOVE:
            if dirty or self._poisoned(operands):
                for at in self._target:
                    operands[at].needed_mask()[...] = True
            return
        layers: list[list[Any]] = []
        for at in self._target:
            target = operands[at]
            if dirty:
                target.needed_mask()
            found = stale_layers(target)
            if target.mask is not None:
                layers.append([at, target.mask, True])
            layers += [[at, s, False] for s in found]
        for at, mask, marks in layers:
            arguments = [*data]
            for i in sources:
                source = operands[i]
                poison = poison_of(source) if marks else None
                full = np.zeros(shape_of(plain(source)), np.bool_) if poison is None else poison
                if extents is not None and i in self.valid_operands:
                    full = valid_part(full, extents[0][i])
                arguments[i] = full
            for i in self._elements:
                arguments[i] = np.bool_(marks and type(operands[i]) is PoisonScalar)
            for other in self._target:
                arguments[other] = mask if other == at else np.zeros(shape_of(plain(operands[other])), np.bool_)
            self._results(extents, arguments, masks=True)


def _is_dirty(value: Any) -> bool:
    mask = poison_of(value)
    return mask is not None and bool(np.any(mask))


def stale_layers(value: Tracked) -> list[Mask]:
    """The masks of what is not written yet, of this function and of those that called it."""
    base = value.base
    if base is None:
        return []
    below = stale_layers(base)
    if value.move is not None:
        return [value.move(m) for m in below]
    return below if value.stale is None else [value.stale, *below]


def _as_dtype(result: Any, dtype: np.dtype[Any], target: DataType | None) -> Any:
    """A result that NumPy computed in a wider type; floats saturate toward integers."""
    if target is not None and target.is_int() and (result.dtype.kind == "f" or "float" in result.dtype.name):
        return cast_array(result.astype(np.float64), DataType.FP32, target, CastMode.trunc)
    return result.astype(dtype)


def _static_shape(type_: Type) -> tuple[int, ...] | None:
    if not isinstance(type_, ShapedType) or isinstance(type_, ArrayType):
        return None
    dims: list[int] = []
    for dim in type_.shape:
        if not isinstance(dim, ConstInt):
            return None
        dims.append(dim.value)
    return tuple(dims)


def _widest(values: Sequence[Any]) -> tuple[int, ...]:
    return np.broadcast_shapes(*[shape_of(plain(v)) for v in values if (is_array(v) or type(v) is Tracked)])


def _padded(result: Any, mask: Any, shape: tuple[int, ...]) -> tuple[Any, Mask]:
    """The valid part of a result in an array of its whole shape, poison outside."""
    region = tuple([slice(0, e) for e in result.shape])
    whole = np.zeros(shape, result.dtype)
    whole[region] = result
    outside = outside_valid(shape, result.shape)
    if mask is not None:
        outside[region] |= mask
    return whole, outside


def _holds_nan(array: Any) -> bool:
    return array.dtype.kind == "f" or array.dtype.name == "bfloat16" or array.dtype.name.startswith("float8")


def operator_for(call: Call, declaration: Declaration, written: bool, unstable: bool, without: str | None = None) -> Operator:
    """The operator of a call. ``written``: its result is written in place later; ``unstable``: something in its function is;
    ``without``: the operand that the meaning does not get."""
    return Operator(call, declaration, written, unstable, without)
