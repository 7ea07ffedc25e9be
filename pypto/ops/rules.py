"""Type rules that many operators share: element types, broadcasting, what a result inherits. Pure functions, and makers of them.

Unless an operator says otherwise, a tile result lives in Vec, inherits the layout of the first operand when it has its shape, and its
valid region; a tensor result is a plain tensor that inherits the valid region. Neither inherits a memory reference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pypto.ir import scalar
from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import MemorySpace, TensorLayout
from pypto.ir.expr import ConstInt, Expr, index_const
from pypto.ir.span import UNKNOWN
from pypto.ir.types import ScalarType, TensorType, TensorView, TileType, Type
from pypto.ops.declare import Declaration, OperandError, Rule, describe_type
from pypto.ops.region import Keywords, constant, same, same_dims, text_of, tile_of

Shaped = TensorType | TileType
Dtypes = Sequence[DataType]
Check = Callable[[Declaration, Sequence[Expr], Keywords], None]

FLOATING: Dtypes = (DataType.FP16, DataType.BF16, DataType.FP32)
FP16_FP32: Dtypes = (DataType.FP16, DataType.FP32)


# -- what operands may be ----------------------------------------------------------------------------------------------------------


def shaped(arg: Expr) -> Shaped:
    """The tensor or tile type of an operand whose kind has been checked."""
    type_ = arg.type
    assert isinstance(type_, TensorType | TileType)
    return type_


def element(arg: Expr) -> DataType:
    """The element type of a tensor, tile or scalar operand."""
    type_ = arg.type
    assert isinstance(type_, TensorType | TileType | ScalarType)
    return type_.dtype


def with_article(words: str) -> str:
    """``FP32 tile`` as ``an FP32 tile``."""
    return f"{'an' if words[0] in 'FHI' else 'a'} {words}"


def one_of(dtypes: Dtypes) -> str:
    """Element types as text: ``FP16 or FP32``."""
    words = [d.name for d in dtypes]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def noun(arg: Expr) -> str:
    """What an operand is: ``tile``, ``tensor`` or ``scalar``."""
    return "tile" if isinstance(arg.type, TileType) else "tensor" if isinstance(arg.type, TensorType) else "scalar"


def need_dtype(declaration: Declaration, at: int, arg: Expr, dtypes: Dtypes) -> None:
    """Refuse an operand whose element type is not among ``dtypes``."""
    found = element(arg)
    if not any(found is d for d in dtypes):
        raise OperandError(
            f"{declaration.name} takes {with_article(f'{one_of(dtypes)} {noun(arg)}')}, got {found.name}",
            at,
            _cast_hint(found, dtypes),
        )


def _cast_hint(found: DataType, dtypes: Dtypes) -> str:
    alike = [d for d in dtypes if d.is_float() == found.is_float()] or dtypes
    wider = [d for d in alike if d.get_bit() >= found.get_bit()]
    best = wider[0] if wider else alike[-1]
    return f"cast it first: pl.cast(..., target_type=pl.{best.name})"


def need_numbers(declaration: Declaration, args: Sequence[Expr]) -> None:
    """Refuse operands whose elements are not integers or floats."""
    for at, arg in enumerate(args):
        dtype = element(arg)
        if not dtype.is_int() and not dtype.is_float():
            raise OperandError(
                f"{declaration.name} takes integer or floating-point elements, got {dtype.name}", at, _number_hint(dtype)
            )


def _number_hint(dtype: DataType) -> str | None:
    return "cast it first: pl.cast(..., target_type=pl.INT32)" if dtype is DataType.BOOL else None


def need_integers(declaration: Declaration, args: Sequence[Expr]) -> None:
    """Refuse operands whose elements are not integers."""
    for at, arg in enumerate(args):
        dtype = element(arg)
        if not dtype.is_int():
            raise OperandError(
                f"{declaration.name} takes an integer {noun(arg)}, got {dtype.name}",
                at,
                "cast it first: pl.cast(..., target_type=pl.INT32)",
            )


def need_floating(declaration: Declaration, at: int, arg: Expr) -> None:
    """Refuse an operand whose elements are not floating-point."""
    if not element(arg).is_float():
        raise OperandError(
            f"{declaration.name} takes a floating-point {noun(arg)}, got {element(arg).name}",
            at,
            "cast it first: pl.cast(..., target_type=pl.FP32)",
        )


def need_rank(declaration: Declaration, at: int, arg: Expr, rank: int) -> None:
    """Refuse an operand of another rank."""
    if len(shaped(arg).shape) != rank:
        raise OperandError(f"{declaration.name} takes a {noun(arg)} of rank {rank}, got {describe_type(arg.type)}", at)


def need_like(declaration: Declaration, at: int, arg: Expr, first: Expr, name: str, valid: bool = False) -> None:
    """Refuse an operand whose element type, shape or (when asked) valid region differs from those of ``first``."""
    one, other = shaped(first), shaped(arg)
    if one.dtype is not other.dtype or not same_dims(one.shape, other.shape):
        raise OperandError(f"{declaration.name} takes {name!r} like {describe_type(one)}, got {describe_type(other)}", at)
    if valid and not same_dims(one.valid_shape, other.valid_shape):
        raise OperandError(
            f"{declaration.name} takes operands with one valid region, got {text_of(one.valid_shape)} and {text_of(other.valid_shape)}",
            at,
        )


# -- results -----------------------------------------------------------------------------------------------------------------------


def result_like(first: Shaped, dtype: DataType, shape: Sequence[Expr] | None = None, valid: Sequence[Expr] | None = None) -> Type:
    """A result that inherits from ``first``; ``shape`` and ``valid`` stand in for its own when they differ."""
    dims = first.shape if shape is None else shape
    extents = first.valid_shape if valid is None else valid
    if isinstance(first, TensorType):
        partial = extents is not dims and not same_dims(extents, dims)
        return TensorType(dims, dtype, None, TensorView(valid_shape=extents, layout=TensorLayout.ND) if partial else None)
    keeps = first.memory_space in (None, MemorySpace.Vec) and (dims is first.shape or same_dims(dims, first.shape))
    return tile_of(dims, dtype, MemorySpace.Vec, extents, first.tile_view if keeps else None)


def _equal(one: Expr, other: Expr) -> bool:
    if same(one, other):
        return True
    if isinstance(one, ConstInt) or isinstance(other, ConstInt):
        return False
    from pypto.ir.arith import Analyzer  # only wanted for extents known at run time

    return Analyzer().can_prove_equal(one, other)


def broadcast(declaration: Declaration, args: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
    """Shape and valid extents of operands spread over one another as in NumPy: extents agree from the right, or one of them is 1.

    A constant other than 1 and an extent known at run time only are taken to agree. A valid extent comes from the first operand that has
    the extent of the result.

    Raises:
        OperandError: two extents that cannot agree.
    """
    types = [shaped(a) for a in args]
    rank = max(len(t.shape) for t in types)
    dims: list[Expr] = []
    valid: list[Expr] = []
    for axis in range(-rank, 0):
        dim: Expr | None = None
        extent: Expr | None = None
        for at, type_ in enumerate(types):
            if len(type_.shape) < -axis:
                continue
            mine, my_valid = type_.shape[axis], type_.valid_shape[axis]
            if dim is None or extent is None:
                dim, extent = mine, my_valid
                continue
            known, value = constant(dim), constant(mine)
            if value == 1 or dim is mine:
                continue
            if known == 1:
                dim, extent = mine, my_valid
            elif known is None and value is not None:
                dim = mine
            elif (value is not None and known != value) or (value is None and known is None and not _equal(dim, mine)):
                raise OperandError(
                    f"{declaration.name} cannot combine the shapes {text_of(types[0].shape)} and {text_of(type_.shape)}: "
                    f"extents must agree from the right, or one of them be 1",
                    at,
                )
        assert dim is not None
        assert extent is not None
        dims.append(dim)
        valid.append(extent)
    return dims, valid


def promoted(args: Sequence[Expr]) -> DataType:
    """The common element type of operands."""
    result = element(args[0])
    for arg in args[1:]:
        result = promote(result, element(arg))
    return result


def combined(declaration: Declaration, args: Sequence[Expr], dtype: DataType | None = None) -> Type:
    """The result of elementwise work on tensors or tiles: broadcast shape, common element type."""
    first = shaped(args[0])
    dims, valid = broadcast(declaration, args)
    if same_dims(dims, first.shape):
        dims = [*first.shape]
    return result_like(first, promoted(args) if dtype is None else dtype, dims, valid)


# -- rules -------------------------------------------------------------------------------------------------------------------------


def checked(rule: Rule, *checks: Check) -> Rule:
    """A rule that makes some checks first."""

    def deduce(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        for check in checks:
            check(declaration, args, kwargs)
        return rule(declaration, args, kwargs)

    return deduce


def same_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    """The first operand's shape and element type."""
    first = shaped(args[0])
    return result_like(first, first.dtype)


def scalar_keeps(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    """An operand and a scalar: the result is like the first operand."""
    need_numbers(declaration, args[:1])
    return same_type(declaration, args, kwargs)


def scalar_promotes(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    """An operand and a scalar: the shape of the first operand, the common element type."""
    need_numbers(declaration, args[:2])
    return result_like(shaped(args[0]), promoted(args[:2]))


def combine(count: int = 2) -> Rule:
    """Elementwise work on the first ``count`` operands."""

    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        need_numbers(declaration, args[:count])
        return combined(declaration, args[:count])

    return rule


def dtypes(*allowed: DataType, of: Sequence[int] = (0,)) -> Check:
    """The operands at the positions ``of`` have one of these element types."""

    def check(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> None:
        for at in of:
            if at < len(args):
                need_dtype(declaration, at, args[at], allowed)

    return check


def integers(count: int) -> Check:
    """The first ``count`` operands are integers."""
    return lambda declaration, args, kwargs: need_integers(declaration, args[:count])


def numbers(count: int) -> Check:
    """The first ``count`` operands are integers or floating-point."""
    return lambda declaration, args, kwargs: need_numbers(declaration, args[:count])


def floating(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> None:
    """The first operand is floating-point."""
    need_floating(declaration, 0, args[0])


def precise(*allowed: DataType) -> Check:
    """With ``high_precision`` the first operand has one of these element types; any floating-point one when none is named."""

    def check(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> None:
        if not kwargs.get("high_precision", False):
            return
        if allowed:
            need_dtype(declaration, 0, args[0], allowed)
        else:
            need_floating(declaration, 0, args[0])

    return check


# -- packed masks --------------------------------------------------------------------------------------------------------------------


def _units(extent: Expr, unit: int) -> Expr:
    """How many units of ``unit`` cover an extent."""
    value = constant(extent)
    if value is not None:
        return index_const(-(-value // unit))
    return scalar.floordiv(scalar.add(extent, unit - 1, UNKNOWN), unit, UNKNOWN)


def packed_mask(dims: Sequence[Expr], valid: Sequence[Expr]) -> Type:
    """The type of a packed mask over a shape: UINT8, one bit an element, rows padded to 32 bytes."""
    last = _units(_units(dims[-1], 8), 32)
    value = constant(last)
    width: Expr = index_const(value * 32) if value is not None else scalar.mul(last, 32, UNKNOWN)
    return tile_of([*dims[:-1], width], DataType.UINT8, MemorySpace.Vec, [*valid[:-1], _units(valid[-1], 8)])


def need_mask(declaration: Declaration, at: int, mask: Expr, dims: Sequence[Expr], dtypes: Dtypes) -> None:
    """Refuse a packed mask of another element type, or one that surely has too few bits for the shape."""
    need_dtype(declaration, at, mask, dtypes)
    shape = shaped(mask).shape
    columns, width = constant(dims[-1]), constant(shape[-1])
    short = columns is not None and width is not None and width * element(mask).get_bit() < columns
    rows_differ = len(shape) != len(dims) or any(
        (a := constant(one)) is not None and (b := constant(other)) is not None and a != b
        for one, other in zip(shape[:-1], dims[:-1], strict=True)
    )
    if short or rows_differ:
        raise OperandError(
            f"{declaration.name} takes a mask with one bit for each element of {text_of(dims)}, got {describe_type(mask.type)}",
            at,
            "masks are made by pl.cmp and pl.cmps on tiles",
        )
