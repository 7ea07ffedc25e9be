"""Type rules that many operators share, as values: each is a function of operator, operands and keywords."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import ConstInt, Expr
from pypto.ir.types import TensorType, TileType, Type
from pypto.ops.declare import Declaration, OperandError, Rule, describe_type
from pypto.ops.region import Keywords, same, same_dims, tile_of

INTEGERS = tuple(d for d in vars(DataType).values() if isinstance(d, DataType) and d.is_int() and d is not DataType.INDEX)
"""The integer element types of tiles and tensors."""


def shaped(first: Any, shape: Sequence[Expr], dtype: DataType) -> Type:
    """The result beside a first operand: a Vec tile that keeps layout and valid region where the shape stays, or a plain tensor."""
    if isinstance(first, TileType):
        if not same_dims(first.shape, shape):
            return tile_of(shape, dtype, MemorySpace.Vec)
        return tile_of(shape, dtype, MemorySpace.Vec, first.valid_shape, first.tile_view)
    view = first.tensor_view
    keeps = view is not None and view.valid_shape and same_dims(first.shape, shape)
    from pypto.ir.types import TensorView

    return TensorType(shape, dtype, None, TensorView([], view.layout, view.valid_shape) if keeps else None)


def need_dtypes(declaration: Declaration, args: Sequence[Expr], positions: Sequence[int], allowed: Sequence[DataType]) -> None:
    """Refuse operands of other element types."""
    for at in positions:
        type_: Any = args[at].type
        if type_.dtype in allowed:
            continue
        word = "tile" if declaration.namespace == "tile" else "tensor"
        if len(allowed) == 1:
            wanted = f"an {allowed[0].name} {word}"
            hint = f"cast it first: pl.cast(..., target_type=pl.{allowed[0].name})"
        else:
            wanted = f"{', '.join(d.name for d in allowed[:-1])} or {allowed[-1].name}"
            hint = None
        raise OperandError(f"{declaration.name} takes {wanted}, got {type_.dtype.name}", at, hint)


def need_integers(declaration: Declaration, args: Sequence[Expr], positions: Sequence[int]) -> None:
    """Refuse operands that are no integers."""
    for at in positions:
        type_: Any = args[at].type
        if not type_.dtype.is_int():
            raise OperandError(f"{declaration.name} takes integers, got {describe_type(type_)}", at)


def broadcast(declaration: Declaration, args: Sequence[Expr], positions: Sequence[int]) -> list[Expr]:
    """The common shape of operands by NumPy's rule; a dimension of one stretches, symbolic ones must agree.

    Raises:
        OperandError: two dimensions that cannot be brought together.
    """
    first: Any = args[positions[0]].type
    result: list[Expr] = [*first.shape]
    for at in positions[1:]:
        other: Any = args[at].type
        if same_dims(result, other.shape):
            continue
        shape: Sequence[Expr] = other.shape
        length = max(len(result), len(shape))
        left = [None] * (length - len(result)) + [*result]
        right = [None] * (length - len(shape)) + [*shape]
        result = [_joined(declaration, a, b, at, first, other) for a, b in zip(left, right, strict=True)]
    return result


def _joined(declaration: Declaration, a: Expr | None, b: Expr | None, at: int, first: Type, other: Type) -> Expr:
    if a is None or b is None:
        found = a or b
        assert found is not None
        return found
    if same(a, b):
        return a
    mine = a.value if isinstance(a, ConstInt) else None
    theirs = b.value if isinstance(b, ConstInt) else None
    if mine == 1:
        return b
    if theirs == 1:
        return a
    if mine is not None and theirs is not None:
        raise OperandError(f"{declaration.name} cannot bring together {describe_type(first)} and {describe_type(other)}", at)
    return a if theirs is None else b


def same_type(dtypes: Sequence[DataType] | None = None) -> Rule:
    """The result is like the first operand; ``dtypes`` are the element types it takes."""

    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        if dtypes is not None:
            need_dtypes(declaration, args, (0,), dtypes)
        first: Any = args[0].type
        return shaped(first, first.shape, first.dtype)

    return rule


def broadcasting(count: int = 2, integers: bool = False, dtype_of_left: bool = False) -> Rule:
    """The operands are broadcast, their element types promoted (or the left one's kept)."""
    positions = range(count)

    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        if integers:
            need_integers(declaration, args, positions)
        first: Any = args[0].type
        dtype: DataType = first.dtype
        if not dtype_of_left:
            for at in positions:
                other: Any = args[at].type
                dtype = promote(dtype, other.dtype)
        return shaped(first, broadcast(declaration, args, positions), dtype)

    return rule


def with_scalar(promotes: bool = False, dtypes: Sequence[DataType] | None = None, integers: bool = False) -> Rule:
    """First operand and a scalar: the shape stays; the element type too, unless it ``promotes`` with that of the scalar."""

    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        if dtypes is not None:
            need_dtypes(declaration, args, (0, 1), dtypes)
        if integers:
            need_integers(declaration, args, (0, 1))
        first: Any = args[0].type
        scalar: Any = args[1].type
        return shaped(first, first.shape, promote(first.dtype, scalar.dtype) if promotes else first.dtype)

    return rule


def need_same_type(declaration: Declaration, args: Sequence[Expr], at: int, to: int = 0, valid: bool = False) -> None:
    """Refuse an operand of another element type or shape (or valid region) than the one at ``to``."""
    mine: Any = args[at].type
    theirs: Any = args[to].type
    if mine.dtype is not theirs.dtype or not same_dims(mine.shape, theirs.shape):
        raise OperandError(f"{declaration.name} takes operands of one type, got {describe_type(theirs)} and {describe_type(mine)}", at)
    if valid and not same_dims(mine.valid_shape, theirs.valid_shape):
        raise OperandError(f"{declaration.name} takes operands of one valid region", at)
