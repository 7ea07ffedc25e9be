"""A column or row vector, or a scalar, spread over a tile or tensor, alone or combined with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import MemorySpace, TileLayout
from pypto.ir.expr import Expr
from pypto.ir.types import ScalarType, TensorType, TensorView, TileType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, ResultSpec, describe_type, op
from pypto.ops.region import Array, Keywords, constant, layout_of, same_dims, tile_of

_ROW_ADD_DTYPES = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.FP16, DataType.FP32)


def _result(first: TileType | TensorType, dtype: DataType) -> Type:
    if isinstance(first, TileType):
        return tile_of(first.shape, dtype, MemorySpace.Vec, first.valid_shape, first.tile_view)
    valid = first.valid_shape
    view = None if valid is first.shape else TensorView([], layout_of(first), valid)
    return TensorType(first.shape, dtype, None, view)


def _differ(one: Expr, other: Expr) -> bool:
    mine, theirs = constant(one), constant(other)
    return mine is not None and theirs is not None and mine != theirs


def _rank_two(declaration: Declaration, operands: Sequence[Any]) -> None:
    for at, operand in enumerate(operands):
        if len(operand.shape) < 2:
            raise OperandError(f"{declaration.name} takes operands of rank 2 or higher, got {describe_type(operand)}", at)


def _row_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    first: Any = args[0].type
    vector: Any = args[1].type
    _rank_two(declaration, (first, vector))
    leading = zip(first.shape[-2::-1], vector.shape[-2::-1], strict=False)
    if constant(vector.shape[-1]) != 1 or len(vector.shape) > len(first.shape) or any(_differ(a, b) for a, b in leading):
        raise OperandError(
            f"{declaration.name} takes a column vector [rows, 1] for {describe_type(first)}, got {describe_type(vector)}", 1
        )
    return _result(first, promote(first.dtype, vector.dtype))


def _row_add_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    result = _row_type(declaration, args, kwargs)
    first: Any = args[0].type
    vector: Any = args[1].type
    if isinstance(first, TileType):
        if first.dtype is not vector.dtype or first.dtype not in _ROW_ADD_DTYPES:
            names = ", ".join(d.name for d in _ROW_ADD_DTYPES)
            raise OperandError(
                f"{declaration.name} takes two operands of one element type among {names}, got {describe_type(first)} and "
                f"{describe_type(vector)}",
                1,
            )
        if first.get_effective_tile_view().blayout is not TileLayout.row_major:
            raise OperandError(f"{declaration.name} takes a row-major tile", 0)
        if not same_dims(first.valid_shape[:-1], vector.valid_shape[:-1]):
            raise OperandError(f"{declaration.name} takes operands with as many valid rows", 1)
        if len(args) > 2:
            tmp: Any = args[2].type
            if tmp.dtype is not first.dtype:
                raise OperandError(f"{declaration.name} takes a scratch tile of {first.dtype.name}, got {describe_type(tmp)}", 2)
    return result


def _col_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    first: Any = args[0].type
    vector: Any = args[1].type
    if isinstance(first, TensorType):
        _rank_two(declaration, (first, vector))
    else:
        _rank_two(declaration, (first,))
    one_row = len(vector.shape) < 2 or constant(vector.shape[-2]) == 1
    if isinstance(first, TensorType) and not one_row:
        raise OperandError(
            f"{declaration.name} takes a row vector [1, columns] for {describe_type(first)}, got {describe_type(vector)}", 1
        )
    if len(vector.shape) > len(first.shape) or _differ(first.shape[-1], vector.shape[-1]):
        raise OperandError(
            f"{declaration.name} takes a row vector [1, columns] for {describe_type(first)}, got {describe_type(vector)}", 1
        )
    return _result(first, promote(first.dtype, vector.dtype))


def _spread_rows(target: Array, vector: Array) -> Array:
    return np.broadcast_to(vector[..., :1], target.shape).copy()


def _spread_columns(target: Array, vector: Array) -> Array:
    first = vector if vector.ndim < 2 else vector[..., :1, :]
    return np.broadcast_to(first, target.shape).copy()


def _quotient(one: Array, other: Array) -> Array:
    with np.errstate(all="ignore"):
        if one.dtype.kind not in "iu":
            return np.divide(one, other)
        divisor = np.where(other == 0, 1, other)
        sign = np.sign(one) * np.sign(divisor) if one.dtype.kind == "i" else np.ones_like(one)
        whole = np.abs(one) // np.abs(divisor) * sign if one.dtype.kind == "i" else one // divisor
        return np.where(other == 0, 0, whole).astype(one.dtype)


def _exponential(one: Array, other: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.exp(np.subtract(one, other))


_COMBINE: tuple[tuple[str, Callable[..., Any], str], ...] = (
    ("add", np.add, "plus"),
    ("sub", np.subtract, "minus"),
    ("mul", np.multiply, "times"),
    ("div", _quotient, "divided by"),
    ("max", np.maximum, "or, where it is larger,"),
    ("min", np.minimum, "or, where it is smaller,"),
    ("expdif", _exponential, "minus, then the exponential:"),
)


def _with_scratch(combine: Callable[..., Any]) -> Callable[..., Any]:
    def meaning(tile: Array, row_vec: Array, tmp: Any = None) -> Array:
        return combine(tile, row_vec)

    return meaning


def _declare() -> None:
    for space, kind in (("tile", Kind.TILE), ("tensor", Kind.TENSOR)):
        memory = MemorySpace.Vec if space == "tile" else None
        for along, name, rule, spread in (
            ("row", "row_vec", _row_type, _spread_rows),
            ("col", "col_vec", _col_type, _spread_columns),
        ):
            text = "column vector [rows, 1] over the columns" if along == "row" else "row vector [1, columns] over the rows"
            vector = Param(name if space == "tile" else "vec", kind, doc=f"The {text.split(' over')[0]}.")
            op(
                f"{space}.{along}_expand",
                params=[Param("target", kind, doc="Gives the shape; its elements do not count."), vector]
                if space == "tile"
                else [Param("tensor", kind, unified="target", doc="Gives the shape; its elements do not count."), vector],
                result=rule,
                meaning=spread,
                lanes=Lanes.MOVE,
                promotes=True,
                memory=memory,
                pure_types=True,
                short=True,
                tile_form=f"tile.{along}_expand" if space == "tensor" else None,
                doc=f"Spread a {text}.",
            )
            for leaf, combine, word in _COMBINE:
                adds = leaf == "add" and along == "row"
                scratch = adds and space == "tile"
                op(
                    f"{space}.{along}_expand_{leaf}",
                    params=[
                        Param(space, kind, doc="The matrix."),
                        vector,
                        *([Param("tmp", Kind.TILE, None, doc="Scratch room.")] if scratch else []),
                    ],
                    result=_row_add_type if adds else rule,
                    meaning=_with_scratch(combine) if scratch else combine,
                    lanes=Lanes.ELEMENTWISE,
                    scratch=["tmp"] if scratch else [],
                    promotes=True,
                    memory=memory,
                    pure_types=True,
                    short=True,
                    tile_form=f"tile.{along}_expand_{leaf}" if space == "tensor" else None,
                    doc=f"A matrix {word} a {text}.",
                )
        op(
            f"{space}.expands",
            params=[
                Param("target", kind, doc="Gives the shape; its elements do not count."),
                Param("scalar", Kind.SCALAR, stamp="target", doc="The value."),
            ],
            result=_expands_type,
            meaning=_spread_scalar,
            lanes=Lanes.NONE,
            memory=memory,
            short=True,
            tile_form="tile.expands" if space == "tensor" else None,
            doc="A scalar in every element.",
        )


def _expands_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    target: Any = args[0].type
    scalar = args[1].type
    assert isinstance(scalar, ScalarType)
    return _result(target, promote(target.dtype, scalar.dtype))


def _spread_scalar(target: Array, scalar: Any, out: ResultSpec) -> Array:
    return np.full(out.shape, np.asarray(scalar).astype(out.dtype), out.dtype)


_declare()
