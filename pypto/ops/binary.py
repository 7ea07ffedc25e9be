"""Arithmetic on the elements of two tiles or tensors, or of one and a scalar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir import scalar
from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import CastMode, MemorySpace
from pypto.ir.expr import Expr
from pypto.ir.span import UNKNOWN
from pypto.ir.types import ScalarType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, Rule, describe_type, op
from pypto.ops.numeric import cast_array, data_type
from pypto.ops.region import Array, Keywords, constant, same
from pypto.ops.rules import (
    FP16_FP32,
    broadcast,
    checked,
    combine,
    dtypes,
    element,
    need_floating,
    need_like,
    need_numbers,
    need_rank,
    precise,
    promoted,
    result_like,
    same_type,
    scalar_keeps,
    scalar_promotes,
    shaped,
)

Meaning = Callable[..., Any]

SUBTRACTABLE = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.FP16, DataType.FP32, DataType.BF16)
DIVISIBLE = (DataType.INT16, DataType.INT32, DataType.FP16, DataType.FP32)

_LHS = {"tile": Param("lhs", Kind.TILE, doc="The first tile."), "tensor": Param("lhs", Kind.TENSOR, doc="The first tensor.")}
_RHS = {"tile": Param("rhs", Kind.TILE, doc="The second tile."), "tensor": Param("rhs", Kind.TENSOR, doc="The second tensor.")}
_EITHER = Param("rhs", Kind.SHAPED_OR_SCALAR, stamp="lhs", doc="The second operand, or a scalar.")
_SCALAR = Param("rhs", Kind.SCALAR, stamp="lhs", doc="The scalar.")
_TMP = Param("tmp", Kind.TILE, doc="Scratch room.")
_PRECISE = Param("high_precision", Kind.BOOL, False, doc="Ask for the slower, more exact form; floating-point only.")


def binary(
    name: str,
    meaning: Meaning,
    doc: str,
    *,
    params: Sequence[Param],
    rule: Rule | None = None,
    lanes: Lanes = Lanes.ELEMENTWISE,
    short: bool = True,
    scalar_variant: str | None = None,
    tile_form: bool = False,
    promotes: bool = True,
) -> None:
    """Declare one elementwise operator of two or more operands."""
    space, _, leaf = name.partition(".")
    op(
        name,
        params=params,
        result=_PAIR if rule is None else rule,
        meaning=meaning,
        lanes=lanes,
        doc=doc,
        short=short,
        memory=MemorySpace.Vec if space == "tile" else None,
        scratch=[p.name for p in params if p is _TMP],
        scalar_variant=scalar_variant,
        tile_form=f"tile.{leaf}" if tile_form else None,
        pure_types=True,
        promotes=promotes,
    )


# -- meanings ----------------------------------------------------------------------------------------------------------------------


def quotient(lhs: Array, rhs: Any) -> Any:
    """The quotient. Integers are rounded toward zero, and a division by zero gives 0."""
    if lhs.dtype.kind not in "iu":
        return np.divide(lhs, rhs)
    divisor = np.asarray(rhs, lhs.dtype)
    safe = np.where(divisor == 0, lhs.dtype.type(1), divisor)
    with np.errstate(all="ignore"):
        whole = np.floor_divide(lhs, safe)
        if lhs.dtype.kind == "i":
            inexact = np.remainder(lhs, safe) != 0
            whole += inexact & ((lhs < 0) != (safe < 0))
    return np.where(divisor == 0, lhs.dtype.type(0), whole)


def _remainder(lhs: Array, rhs: Any, tmp: Any = None) -> Any:
    return np.remainder(lhs, rhs)


def _sum_of_three(lhs: Array, rhs: Any, rhs2: Array) -> Any:
    return np.add(np.add(lhs, rhs), rhs2)


def _difference_and_sum(lhs: Array, rhs: Any, rhs2: Array) -> Any:
    return np.add(np.subtract(lhs, rhs), rhs2)


def _leaky(tile: Array, slope: Any) -> Any:
    if tile.dtype.kind in "iu":
        scaled = cast_array(tile.astype(np.float32) * np.float32(slope), DataType.FP32, data_type(tile.dtype), CastMode.trunc)
    else:
        scaled = tile * np.asarray(slope).astype(tile.dtype)
    return np.where(tile > 0, tile, scaled)


def _parametric(tile: Array, slope: Array, tmp: Any = None) -> Any:
    return np.where(tile > 0, tile, tile * slope)


def _partial(combined: Callable[..., Any]) -> Meaning:
    """Combine where both regions have elements; elsewhere the one that has an element gives it."""

    def meaning(src0: Array, src1: Array) -> Array:
        if src0.shape == src1.shape:
            return combined(src0, src1)
        shape = tuple(max(a, b) for a, b in zip(src0.shape, src1.shape, strict=True))
        made = np.zeros(shape, src0.dtype)
        both = tuple([slice(0, min(a, b)) for a, b in zip(src0.shape, src1.shape, strict=True)])
        for source in (src0, src1):
            made[tuple([slice(0, e) for e in source.shape])] = source
        made[both] = combined(src0[both], src1[both])
        return made

    return meaning


# -- rules -------------------------------------------------------------------------------------------------------------------------


def _tile_quotient(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    dtypes(*DIVISIBLE)(declaration, args, kwargs)
    precise()(declaration, args, kwargs)
    need_like(declaration, 1, args[1], args[0], "rhs", valid=True)
    return same_type(declaration, args, kwargs)


def _partial_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    """The result is valid where either operand is, as far as that is a region: one operand's must contain the other's."""
    need_numbers(declaration, args[:2])
    one, other = shaped(args[0]), shaped(args[1])
    dims, _ = broadcast(declaration, args[:2])
    if len(one.shape) != len(other.shape):
        raise OperandError(
            f"{declaration.name} takes two operands of one rank, got {describe_type(one)} and {describe_type(other)}", 1
        )
    larger = [_larger(a, b, whole) for a, b, whole in zip(one.valid_shape, other.valid_shape, dims, strict=True)]
    return result_like(one, promoted(args[:2]), dims, larger)


def _larger(one: Expr, other: Expr, whole: Expr) -> Expr:
    if same(one, other) or same(one, whole):
        return one
    if same(other, whole):
        return other
    mine, theirs = constant(one), constant(other)
    if mine is not None and theirs is not None:
        return one if mine > theirs else other
    return scalar.max_(one, other, UNKNOWN)


def _scalar_and_tile(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    need_numbers(declaration, args[:3])
    dims, valid = broadcast(declaration, (args[0], args[2]))
    return result_like(shaped(args[0]), promote(promoted(args[:2]), element(args[2])), dims, valid)


def _prelu_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    dtypes(*FP16_FP32)(declaration, args, kwargs)
    need_rank(declaration, 0, args[0], 2)
    need_like(declaration, 1, args[1], args[0], "slope", valid=True)
    return same_type(declaration, args, kwargs)


def _tensor_quotient(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    dtypes(*DIVISIBLE, of=(0, 1))(declaration, args, kwargs)
    if kwargs.get("high_precision", False) and not promoted(args).is_float():
        need_floating(declaration, 0, args[0])
    return combine()(declaration, args, kwargs)


def _with_scalar(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    rule = scalar_promotes if isinstance(args[1].type, ScalarType) else _PAIR
    return rule(declaration, args, kwargs)


_PAIR = combine()

# -- two tiles, two tensors --------------------------------------------------------------------------------------------------------

_BASIC: tuple[tuple[str, Meaning, str, str], ...] = (
    ("add", np.add, "Sum", "plus"),
    ("sub", np.subtract, "Difference", "minus"),
    ("mul", np.multiply, "Product", "times"),
)
for _space in ("tile", "tensor"):
    _scalar_rule = scalar_keeps if _space == "tile" else scalar_promotes
    for _leaf, _ufunc, _what, _word in _BASIC:
        binary(
            f"{_space}.{_leaf}",
            _ufunc,
            f"{_what} of the elements of two {_space}s, or of one and a scalar; integers wrap around.",
            params=[_LHS[_space], _EITHER],
            scalar_variant=f"{_space}.{_leaf}s",
        )
        binary(
            f"{_space}.{_leaf}s",
            _ufunc,
            f"Each element {_word} a scalar; integers wrap around.",
            params=[_LHS[_space], _SCALAR],
            rule=checked(_scalar_rule, dtypes(*SUBTRACTABLE, of=(0, 1))) if _leaf == "sub" else _scalar_rule,
            short=False,
            tile_form=_space == "tensor",
        )
    binary(
        f"{_space}.div",
        quotient,
        f"Quotient of the elements of two {_space}s, or of one and a scalar; integers round toward zero, and division by 0 gives 0.",
        params=[_LHS[_space], _EITHER, _PRECISE],
        rule=_tile_quotient if _space == "tile" else _tensor_quotient,
        scalar_variant=f"{_space}.divs",
    )
    binary(
        f"{_space}.divs",
        quotient,
        "Each element divided by a scalar; integers round toward zero, and division by 0 gives 0.",
        params=[_LHS[_space], _SCALAR],
        rule=_scalar_rule,
        short=False,
        tile_form=_space == "tensor",
    )
    binary(
        f"{_space}.fmod",
        np.fmod,
        "Remainder of the division rounded toward zero: it has the sign of the dividend.",
        params=[_LHS[_space], _RHS["tile"] if _space == "tile" else _EITHER],
        scalar_variant=f"{_space}.fmods",
        tile_form=_space == "tensor",
    )
    binary(
        f"{_space}.fmods",
        np.fmod,
        "Remainder of the division by a scalar rounded toward zero: it has the sign of the dividend.",
        params=[_LHS[_space], _SCALAR],
        rule=_scalar_rule,
        tile_form=_space == "tensor",
    )
    for _leaf, _ufunc, _what in (("maximum", np.maximum, "Larger"), ("minimum", np.minimum, "Smaller")):
        binary(
            f"{_space}.{_leaf}",
            _ufunc,
            f"{_what} of each two elements; NaN when either is.",
            params=[_LHS[_space], _RHS["tile"] if _space == "tile" else _EITHER],
            scalar_variant=f"tile.{_leaf}s" if _space == "tile" else None,
            rule=_PAIR if _space == "tile" else _with_scalar,
        )
    for _leaf, _ufunc, _what in (
        ("add", np.add, "Sum"),
        ("mul", np.multiply, "Product"),
        ("max", np.maximum, "Larger"),
        ("min", np.minimum, "Smaller"),
    ):
        _kind = Kind.TILE if _space == "tile" else Kind.TENSOR
        binary(
            f"{_space}.part_{_leaf}",
            _partial(_ufunc),
            f"{_what} of the elements of two {_space}s where both are valid; elsewhere the valid one's element.",
            params=[Param("src0", _kind, doc="The first operand."), Param("src1", _kind, doc="The second operand.")],
            rule=_partial_rule,
            lanes=Lanes.REDUCE,
            tile_form=_space == "tensor",
        )

# -- tiles only --------------------------------------------------------------------------------------------------------------------

for _leaf, _ufunc, _what in (("maximums", np.maximum, "Larger"), ("minimums", np.minimum, "Smaller")):
    binary(
        f"tile.{_leaf}",
        _ufunc,
        f"{_what} of each element and a scalar; NaN when either is.",
        params=[_LHS["tile"], _SCALAR],
        rule=scalar_keeps,
    )
binary(
    "tile.rem",
    _remainder,
    "Remainder of the division rounded down: it has the sign of the divisor.",
    params=[_LHS["tile"], _RHS["tile"], _TMP],
    scalar_variant="tile.rems",
)
binary(
    "tile.rems",
    _remainder,
    "Remainder of the division by a scalar rounded down: it has the sign of the scalar.",
    params=[_LHS["tile"], _SCALAR, _TMP],
    rule=scalar_keeps,
)
_THIRD = Param("rhs2", Kind.TILE, doc="The tile that is added last.")
binary("tile.addc", _sum_of_three, "Sum of three tiles.", params=[_LHS["tile"], _RHS["tile"], _THIRD], rule=combine(3))
binary(
    "tile.subc",
    _difference_and_sum,
    "The first tile minus the second plus the third.",
    params=[_LHS["tile"], _RHS["tile"], _THIRD],
    rule=combine(3),
)
binary(
    "tile.addsc",
    _sum_of_three,
    "A tile plus a scalar plus a tile.",
    params=[_LHS["tile"], _SCALAR, _THIRD],
    rule=_scalar_and_tile,
)
binary(
    "tile.subsc",
    _difference_and_sum,
    "A tile minus a scalar plus a tile.",
    params=[_LHS["tile"], _SCALAR, _THIRD],
    rule=_scalar_and_tile,
)
binary(
    "tile.lrelu",
    _leaky,
    "Each element, or its product with a slope where it is not positive.",
    params=[
        Param("tile", Kind.TILE, doc="The tile."),
        Param("slope", Kind.SCALAR, stamp="tile", stamp_as=lambda _: DataType.FP32, doc="The slope; a constant is FP32."),
    ],
    rule=scalar_keeps,
    promotes=False,
)
binary(
    "tile.prelu",
    _parametric,
    "Each element, or its product with the slope at its place where it is not positive.",
    params=[Param("tile", Kind.TILE, doc="The tile."), Param("slope", Kind.TILE, doc="The slopes."), _TMP],
    rule=_prelu_rule,
)
