"""Arithmetic of two operands, element by element, and of an operand and a scalar.

Integer division truncates toward zero, and gives 0 where the divisor is 0. The remainder of ``fmod`` has the sign of the dividend, that of
``rem`` the sign of the divisor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr
from pypto.ir.types import ScalarType, Type
from pypto.ops.declare import Declaration, Kind, Lanes, OperandError, Param, Rule, op
from pypto.ops.region import Array, Keywords
from pypto.ops.rules import broadcast, broadcasting, need_dtypes, need_same_type, shaped, with_scalar

DIVIDED = (DataType.INT16, DataType.INT32, DataType.FP16, DataType.FP32)
SUBTRACTED = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.FP16, DataType.FP32, DataType.BF16)
_PRECISION = Param("high_precision", Kind.BOOL, default=False, doc="the slower, more exact form")


def quotient(lhs: Array, rhs: Any) -> Array:
    """lhs / rhs; integers truncate toward zero and give 0 where the divisor is 0."""
    if lhs.dtype.kind not in "iu":
        return np.divide(lhs, rhs)
    divisor = np.asarray(rhs, lhs.dtype)
    safe = np.where(divisor == 0, divisor.dtype.type(1), divisor)
    floored = np.floor_divide(lhs, safe)
    up = (np.remainder(lhs, safe) != 0) & ((lhs < 0) != (safe < 0))
    return np.where(divisor == 0, lhs.dtype.type(0), floored + up.astype(lhs.dtype))


def signed_remainder(lhs: Array, rhs: Any) -> Array:
    """The remainder with the sign of the dividend; 0 where an integer divisor is 0."""
    if lhs.dtype.kind not in "iu":
        return np.fmod(lhs, rhs)
    divisor = np.asarray(rhs, lhs.dtype)
    return np.where(divisor == 0, lhs.dtype.type(0), np.fmod(lhs, np.where(divisor == 0, divisor.dtype.type(1), divisor)))


def remainder(lhs: Array, rhs: Any, tmp: Array | None = None) -> Array:
    """The remainder with the sign of the divisor; 0 where an integer divisor is 0."""
    if lhs.dtype.kind not in "iu":
        return np.remainder(lhs, rhs)
    divisor = np.asarray(rhs, lhs.dtype)
    return np.where(divisor == 0, lhs.dtype.type(0), np.remainder(lhs, np.where(divisor == 0, divisor.dtype.type(1), divisor)))


def leaky(tile: Array, slope: Any) -> Array:
    """The element, times ``slope`` where it is negative."""
    return np.where(tile < 0, (tile * tile.dtype.type(slope)).astype(tile.dtype), tile)


def _same(positions: Sequence[int]) -> Rule:
    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        for at in positions:
            need_same_type(declaration, args, at)
        first: Any = args[0].type
        return shaped(first, first.shape, first.dtype)

    return rule


def _refuse_scalar(rule: Rule) -> Rule:
    def checked(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        if isinstance(args[1].type, ScalarType):
            raise OperandError(
                f"{declaration.name} takes two operands of a kind, got a scalar", 1, f"the scalar form is {declaration.scalar_variant}"
            )
        return rule(declaration, args, kwargs)

    return checked


def _pair(namespace: str, scalar_too: bool) -> list[Param]:
    kind = Kind.TILE if namespace == "tile" else Kind.TENSOR
    right = Kind.SHAPED_OR_SCALAR if scalar_too else kind
    return [Param("lhs", kind), Param("rhs", right, stamp="lhs" if scalar_too else None)]


def binary(leaf: str, meaning: Callable[..., Any], doc: str, *, scalar_doc: str, promotes: bool = True) -> None:
    """Declare ``tile.<leaf>``, ``tensor.<leaf>`` and their scalar forms ``<leaf>s``."""
    for namespace in ("tile", "tensor"):
        memory = MemorySpace.Vec if namespace == "tile" else None
        op(
            f"{namespace}.{leaf}",
            params=_pair(namespace, True),
            result=_refuse_scalar(broadcasting()),
            meaning=meaning,
            lanes=Lanes.ELEMENTWISE,
            memory=memory,
            short=True,
            pure_types=True,
            scalar_variant=f"{namespace}.{leaf}s",
            doc=doc,
        )
        scalar_form(namespace, f"{leaf}s", meaning, scalar_doc, promotes=promotes)


def scalar_form(
    namespace: str,
    leaf: str,
    meaning: Callable[..., Any],
    doc: str,
    *,
    rule: Rule | None = None,
    promotes: bool = False,
    short: bool = False,
) -> None:
    """Declare ``<namespace>.<leaf>`` of an operand and a scalar."""
    kind = Kind.TILE if namespace == "tile" else Kind.TENSOR
    op(
        f"{namespace}.{leaf}",
        params=[Param("lhs", kind), Param("rhs", Kind.SCALAR, stamp="lhs")],
        result=rule or with_scalar(promotes=promotes and namespace == "tensor"),
        meaning=meaning,
        lanes=Lanes.ELEMENTWISE,
        memory=MemorySpace.Vec if namespace == "tile" else None,
        short=short,
        pure_types=True,
        tile_form=f"tile.{leaf}" if namespace == "tensor" else None,
        doc=doc,
    )


binary("add", np.add, "Sum of two operands, element by element.", scalar_doc="Each element plus a scalar.")
binary("mul", np.multiply, "Product of two operands, element by element.", scalar_doc="Each element times a scalar.")

for _namespace in ("tile", "tensor"):
    op(
        f"{_namespace}.sub",
        params=_pair(_namespace, True),
        result=_refuse_scalar(broadcasting()),
        meaning=np.subtract,
        lanes=Lanes.ELEMENTWISE,
        memory=MemorySpace.Vec if _namespace == "tile" else None,
        short=True,
        pure_types=True,
        scalar_variant=f"{_namespace}.subs",
        doc="Difference of two operands, element by element.",
    )
    scalar_form(_namespace, "subs", np.subtract, "Each element less a scalar.", rule=with_scalar(dtypes=SUBTRACTED))
    scalar_form(_namespace, "divs", quotient, "Each element over a scalar.", promotes=True)


def _quotient_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    if kwargs.get("high_precision", False):
        need_dtypes(declaration, args, (0, 1), (DataType.FP16, DataType.FP32))
    first: Any = args[0].type
    if declaration.namespace == "tile":
        need_dtypes(declaration, args, (0, 1), DIVIDED)
        need_same_type(declaration, args, 1, valid=True)
        return shaped(first, first.shape, first.dtype)
    need_dtypes(declaration, args, (0, 1), DIVIDED)
    return broadcasting()(declaration, args, kwargs)


for _namespace in ("tile", "tensor"):
    op(
        f"{_namespace}.div",
        params=[*_pair(_namespace, True), _PRECISION],
        result=_refuse_scalar(_quotient_rule),
        meaning=quotient,
        lanes=Lanes.ELEMENTWISE,
        memory=MemorySpace.Vec if _namespace == "tile" else None,
        short=True,
        pure_types=True,
        scalar_variant=f"{_namespace}.divs",
        doc="Quotient of two operands, element by element. Integers truncate toward zero.",
    )

op(
    "tile.fmod",
    params=_pair("tile", True),
    result=_refuse_scalar(broadcasting()),
    meaning=signed_remainder,
    lanes=Lanes.ELEMENTWISE,
    memory=MemorySpace.Vec,
    short=True,
    pure_types=True,
    scalar_variant="tile.fmods",
    doc="Remainder with the sign of the dividend, element by element.",
)
op(
    "tensor.fmod",
    params=_pair("tensor", True),
    result=_refuse_scalar(broadcasting()),
    meaning=signed_remainder,
    lanes=Lanes.ELEMENTWISE,
    short=True,
    pure_types=True,
    scalar_variant="tensor.fmods",
    tile_form="tile.fmod",
    doc="Remainder with the sign of the dividend, element by element.",
)
for _namespace in ("tile", "tensor"):
    scalar_form(_namespace, "fmods", signed_remainder, "Remainder of each element by a scalar, with its sign.", short=True, promotes=True)

for _leaf, _ufunc, _word in (("maximum", np.maximum, "larger"), ("minimum", np.minimum, "smaller")):
    op(
        f"tile.{_leaf}",
        params=_pair("tile", False),
        result=broadcasting(),
        meaning=_ufunc,
        lanes=Lanes.ELEMENTWISE,
        memory=MemorySpace.Vec,
        short=True,
        pure_types=True,
        doc=f"The {_word} of two elements.",
    )
    scalar_form("tile", f"{_leaf}s", _ufunc, f"The {_word} of each element and a scalar.", short=True)


def _tensor_extreme(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    if isinstance(args[1].type, ScalarType):
        return with_scalar(promotes=True)(declaration, args, kwargs)
    return broadcasting()(declaration, args, kwargs)


for _leaf, _ufunc, _word in (("maximum", np.maximum, "larger"), ("minimum", np.minimum, "smaller")):
    op(
        f"tensor.{_leaf}",
        params=_pair("tensor", True),
        result=_tensor_extreme,
        meaning=_ufunc,
        lanes=Lanes.ELEMENTWISE,
        short=True,
        pure_types=True,
        doc=f"The {_word} of two elements, or of each element and a scalar.",
    )


def _with_scratch(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    if isinstance(args[1].type, ScalarType):
        return with_scalar()(declaration, args, kwargs)
    return broadcasting()(declaration, args, kwargs)


_TMP = Param("tmp", Kind.TILE, doc="scratch tile")
for _leaf, _right in (("rem", Param("rhs", Kind.TILE)), ("rems", Param("rhs", Kind.SCALAR, stamp="lhs"))):
    op(
        f"tile.{_leaf}",
        params=[Param("lhs", Kind.TILE), _right, _TMP],
        result=_with_scratch,
        meaning=remainder,
        lanes=Lanes.ELEMENTWISE,
        scratch=["tmp"],
        memory=MemorySpace.Vec,
        short=True,
        pure_types=True,
        doc="Remainder with the sign of the divisor.",
    )


def _part(leaf: str, meaning: Callable[..., Any], word: str) -> None:
    for namespace, names in (("tile", ("src0", "src1")), ("tensor", ("lhs", "rhs"))):
        kind = Kind.TILE if namespace == "tile" else Kind.TENSOR
        op(
            f"{namespace}.part_{leaf}",
            params=[Param(n, kind) for n in names],
            result=broadcasting(),
            meaning=meaning,
            lanes=Lanes.ELEMENTWISE,
            memory=MemorySpace.Vec if namespace == "tile" else None,
            short=True,
            pure_types=True,
            tile_form=f"tile.part_{leaf}" if namespace == "tensor" else None,
            doc=f"{word} of two operands whose valid regions may differ.",
        )


_part("add", np.add, "Sum")
_part("mul", np.multiply, "Product")
_part("max", np.maximum, "Larger")
_part("min", np.minimum, "Smaller")


def _three(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    from pypto.ir.dtypes import promote

    first: Any = args[0].type
    dtype: DataType = first.dtype
    tiles = [at for at in range(3) if not isinstance(args[at].type, ScalarType)]
    for at in range(3):
        other: Any = args[at].type
        dtype = promote(dtype, other.dtype)
    return shaped(first, broadcast(declaration, args, tiles), dtype)


for _leaf, _first, _word in (("addc", np.add, "sum"), ("subc", np.subtract, "difference")):
    for _suffix, _middle in (("", Param("rhs", Kind.TILE)), ("s", Param("scalar", Kind.SCALAR, stamp="lhs"))):

        def _meaning(lhs: Array, rhs: Any, rhs2: Array, ufunc: Callable[..., Any] = _first) -> Array:
            return ufunc(ufunc(lhs, rhs), rhs2)

        op(
            f"tile.{_leaf}{_suffix}",
            params=[Param("lhs", Kind.TILE), _middle, Param("rhs2", Kind.TILE)],
            result=_three,
            meaning=_meaning,
            lanes=Lanes.ELEMENTWISE,
            memory=MemorySpace.Vec,
            short=True,
            pure_types=True,
            doc=f"The {_word} of three operands, from left to right.",
        )

op(
    "tile.lrelu",
    params=[Param("tile", Kind.TILE), Param("slope", Kind.SCALAR)],
    result=with_scalar(),
    meaning=leaky,
    lanes=Lanes.ELEMENTWISE,
    memory=MemorySpace.Vec,
    short=True,
    pure_types=True,
    doc="Each element, times the slope where it is negative.",
)


def _prelu_rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    need_dtypes(declaration, args, (0,), (DataType.FP16, DataType.FP32))
    first: Any = args[0].type
    if len(first.shape) != 2:
        raise OperandError(f"{declaration.name} takes a tile of rank 2, got rank {len(first.shape)}", 0)
    need_same_type(declaration, args, 1, valid=True)
    return shaped(first, first.shape, first.dtype)


op(
    "tile.prelu",
    params=[Param("tile", Kind.TILE), Param("slope", Kind.TILE), _TMP],
    result=_prelu_rule,
    meaning=lambda tile, slope, tmp: np.where(tile < 0, tile * slope, tile),
    lanes=Lanes.ELEMENTWISE,
    scratch=["tmp"],
    memory=MemorySpace.Vec,
    short=True,
    pure_types=True,
    doc="Each element, times the slope at its place where it is negative.",
)
