"""Logic and shifts on the bits of integer tiles and tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.enums import MemorySpace
from pypto.ir.expr import ConstInt, Expr
from pypto.ir.types import TileType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, describe_type, op
from pypto.ops.region import Array, Keywords, same_dims
from pypto.ops.rules import combined, element, integers, need_integers, promoted, result_like, shaped

Meaning = Callable[..., Any]


def _pair(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    need_integers(declaration, args[:2])
    one, other = shaped(args[0]), shaped(args[1])
    if not isinstance(one, TileType) and not same_dims(one.shape, other.shape):
        raise OperandError(
            f"{declaration.name} takes two tensors of one shape, got {describe_type(one)} and {describe_type(other)}", 1
        )
    return combined(declaration, args[:2])


def _shifted(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    _pair(declaration, args, kwargs)
    return combined(declaration, args[:2], element(args[0]))


def _with_scalar(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    integers(2)(declaration, args, kwargs)
    first = shaped(args[0])
    return result_like(first, first.dtype if isinstance(first, TileType) else promoted(args[:2]))


def _shifted_by_scalar(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    integers(2)(declaration, args, kwargs)
    count = args[1]
    if isinstance(count, ConstInt) and count.value < 0:
        raise OperandError(f"{declaration.name} takes a shift of 0 or more, got {count.value}", 1)
    first = shaped(args[0])
    return result_like(first, first.dtype)


def _exclusive(lhs: Array, rhs: Any, tmp: Any = None) -> Any:
    return np.bitwise_xor(lhs, rhs)


_OPERATORS: tuple[tuple[str, Meaning, bool, str], ...] = (
    ("and", np.bitwise_and, False, "Bits that both operands have"),
    ("or", np.bitwise_or, False, "Bits that either operand has"),
    ("xor", np.bitwise_xor, False, "Bits that one operand has and the other has not"),
    ("shl", np.left_shift, True, "Bits moved up by as many places as the second operand says; zeros move in"),
    (
        "shr",
        np.right_shift,
        True,
        "Bits moved down by as many places as the second operand says; the sign of signed elements moves in, else zeros",
    ),
)


def _declare(space: str, leaf: str, meaning: Meaning, shift: bool, doc: str) -> None:
    tile = space == "tile"
    kind = Kind.TILE if tile else Kind.TENSOR
    scratch = tile and leaf == "xor"
    lhs = Param("lhs", kind, doc=f"The first {space}.")
    tmp = [Param("tmp", Kind.TILE, doc="Scratch room.")] if scratch else []
    pair = (
        Param("rhs", Kind.TILE, doc="The second tile.")
        if tile
        else Param("rhs", Kind.SHAPED_OR_SCALAR, stamp="lhs", doc="The second tensor, or a scalar.")
    )
    for suffix, second, rule in (
        ("", pair, _shifted if shift else _pair),
        ("s", Param("rhs", Kind.SCALAR, stamp="lhs", doc="The scalar."), _shifted_by_scalar if shift else _with_scalar),
    ):
        op(
            f"{space}.{leaf}{suffix}",
            params=[lhs, second, *tmp],
            result=rule,
            meaning=_exclusive if scratch else meaning,
            lanes=Lanes.ELEMENTWISE,
            doc=f"{doc}; integers only." if not suffix else f"{doc}; the second operand is a scalar. Integers only.",
            short=True,
            memory=MemorySpace.Vec if tile else None,
            scratch=["tmp"] if scratch else (),
            scalar_variant=f"{space}.{leaf}s" if not suffix else None,
            tile_form=None if tile or leaf == "xor" else f"tile.{leaf}{suffix}",
            pure_types=not (shift and suffix),
            promotes=True,
        )


for _space in ("tile", "tensor"):
    for _leaf, _meaning, _shift, _doc in _OPERATORS:
        _declare(_space, _leaf, _meaning, _shift, _doc)
