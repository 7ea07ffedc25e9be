"""Bitwise operators of integers. A shift by the width or more gives 0, or the sign for a signed shift to the right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.enums import MemorySpace
from pypto.ir.expr import ConstInt, Expr
from pypto.ir.types import Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, Rule, op
from pypto.ops.region import Array, Keywords
from pypto.ops.rules import broadcasting, need_integers, need_same_type, with_scalar


def shift_left(lhs: Array, rhs: Any) -> Array:
    """Each element shifted left; bits that leave are lost."""
    count = np.asarray(rhs, np.int64)
    width = lhs.dtype.itemsize * 8
    moved = np.left_shift(lhs, np.clip(count, 0, width - 1).astype(lhs.dtype))
    return np.where(count >= width, lhs.dtype.type(0), moved)


def shift_right(lhs: Array, rhs: Any) -> Array:
    """Each element shifted right, with its sign."""
    count = np.asarray(rhs, np.int64)
    width = lhs.dtype.itemsize * 8
    moved = np.right_shift(lhs, np.clip(count, 0, width - 1).astype(lhs.dtype))
    return moved if lhs.dtype.kind == "i" else np.where(count >= width, lhs.dtype.type(0), moved)


def exclusive(lhs: Array, rhs: Any, tmp: Array | None = None) -> Array:
    """Bits that differ."""
    return np.bitwise_xor(lhs, rhs)


def _tensors_alike(rule: Rule) -> Rule:
    def checked(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        need_integers(declaration, args, (0, 1))
        if declaration.namespace == "tensor":
            left: Any = args[0].type
            right: Any = args[1].type
            from pypto.ops.region import same_dims

            if not same_dims(left.shape, right.shape):
                need_same_type(declaration, args, 1)
        return rule(declaration, args, kwargs)

    return checked


def _shift_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    if isinstance(args[1], ConstInt) and args[1].value < 0:
        raise OperandError(f"{declaration.name} cannot shift by {args[1].value}", 1, "shift the other way")
    return with_scalar(integers=True)(declaration, args, kwargs)


def bitwise(leaf: str, meaning: Callable[..., Any], doc: str, *, scratch: bool = False, shift: bool = False) -> None:
    """Declare ``<leaf>`` and ``<leaf>s`` for tiles and tensors."""
    tmp = [Param("tmp", Kind.TILE, doc="scratch like the operand")] if scratch else []
    for namespace in ("tile", "tensor"):
        kind = Kind.TILE if namespace == "tile" else Kind.TENSOR
        facts: dict[str, Any] = {
            "meaning": meaning,
            "lanes": Lanes.ELEMENTWISE,
            "memory": MemorySpace.Vec if namespace == "tile" else None,
            "short": True,
            "pure_types": True,
            "scratch": ["tmp"] if scratch and namespace == "tile" else [],
        }
        extra = tmp if namespace == "tile" else []
        op(
            f"{namespace}.{leaf}",
            params=[Param("lhs", kind), Param("rhs", kind), *extra],
            result=_tensors_alike(broadcasting(integers=True, dtype_of_left=shift)),
            tile_form=f"tile.{leaf}" if namespace == "tensor" and not scratch else None,
            doc=doc,
            **facts,
        )
        op(
            f"{namespace}.{leaf}s",
            params=[Param("lhs", kind), Param("rhs", Kind.SCALAR, stamp="lhs"), *extra],
            result=_shift_rule if shift else with_scalar(integers=True),
            tile_form=f"tile.{leaf}s" if namespace == "tensor" and not scratch else None,
            doc=f"{doc} The right operand is a scalar.",
            **{**facts, "pure_types": not shift},
        )


bitwise("and", np.bitwise_and, "Bits set in both.")
bitwise("or", np.bitwise_or, "Bits set in either.")
bitwise("xor", exclusive, "Bits set in one of the two.", scratch=True)
bitwise("shl", shift_left, "Each element shifted left.", shift=True)
bitwise("shr", shift_right, "Each element shifted right.", shift=True)
