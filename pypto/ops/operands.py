"""Operands: Python values as expressions, constant scalars beside tiles and tensors, and kinds that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pypto.ir.dtypes import DataType
from pypto.ir.expr import Cast, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, Var, index_const
from pypto.ir.op import DeclaredOp, declared_ops, get_op
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import (
    ArrayType,
    CommCtxType,
    DistributedTensorType,
    PtrType,
    ScalarType,
    TensorType,
    TileType,
    TupleType,
    Type,
    UnknownType,
)
from pypto.ops.params import Kind, OperandError, OperandTypeError, Param

if TYPE_CHECKING:
    from pypto.ops.declare import Declaration


def public_name(declaration: DeclaredOp) -> str:
    """How people spell the operator: ``pl.tile.add``, ``pld.tensor.put``; Python keywords get an underscore."""
    import keyword

    head, _, leaf = declaration.name.rpartition(".")
    leaf = leaf + "_" if keyword.iskeyword(leaf) else leaf
    return f"{head}.{leaf}" if head.startswith("pld") else f"pl.{head}.{leaf}" if head else leaf


def to_operand(value: Any, span: Span = UNKNOWN) -> Expr | None:
    """A Python value as an operand: expressions as they are, wrappers unwrapped, numbers as constants, lists as tuples; else None."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool):
        return ConstBool(value, span)
    if isinstance(value, int):
        return index_const(value)
    if isinstance(value, float):
        return ConstFloat(value, DataType.FP32, span)
    if isinstance(value, list | tuple):
        items: list[Any] = [to_operand(v, span) for v in value]  # pyright: ignore[reportUnknownVariableType]
        return None if any(v is None for v in items) else MakeTuple(items, span)
    inner = getattr(value, "expr", None)
    if isinstance(inner, Expr):
        return inner
    return to_operand(int(value), span) if hasattr(value, "__index__") else None


def stamp_scalar(
    declaration: Declaration,
    scalar: Expr,
    paired: Expr,
    at: int,
    stamp_as: Callable[[DataType], DataType] | None = None,
) -> Expr:
    """A scalar operand beside a tile or tensor: INDEX constants and FP32 literals take the element type of ``paired``.

    A float literal beside integer elements keeps FP32; constants with another explicit type stay.

    Raises:
        OperandError: an INDEX scalar that is not constant.
    """
    element: DataType | None = getattr(paired.type, "dtype", None)
    if element is None:
        return scalar
    if stamp_as is not None:
        element = stamp_as(element)
    kind: Any = scalar.type
    if isinstance(scalar, ConstInt) and scalar.dtype is DataType.INDEX:
        if element.is_float():
            return ConstFloat(float(scalar.value), element, scalar.span)
        return scalar if element is DataType.INDEX else ConstInt(scalar.value, element, scalar.span)
    if isinstance(scalar, ConstFloat) and scalar.dtype is DataType.FP32 and element.is_float():
        return scalar if element is DataType.FP32 else ConstFloat(scalar.value, element, scalar.span)
    if kind.dtype is DataType.INDEX and element is not DataType.INDEX:
        raise OperandError(
            f"{declaration.name} cannot combine {element.name} elements with a scalar of type INDEX",
            at,
            hint=f"cast it first: pl.cast(..., pl.{element.name})",
        )
    return scalar


def stamp_constant(scalar: Expr, dtype: DataType) -> Expr:
    """A constant of the default type (INDEX, or FP32) as a constant of ``dtype`` when its value allows; any other scalar as it is."""
    if isinstance(scalar, ConstInt) and scalar.dtype is DataType.INDEX and dtype is not DataType.INDEX:
        if dtype.is_float():
            return ConstFloat(float(scalar.value), dtype, scalar.span)
        if dtype is DataType.BOOL and scalar.value in (0, 1):
            return ConstBool(bool(scalar.value), scalar.span)
        return ConstInt(scalar.value, dtype, scalar.span) if dtype.is_int() else scalar
    if isinstance(scalar, ConstFloat) and scalar.dtype is DataType.FP32 and dtype is not DataType.FP32:
        if dtype.is_float():
            return ConstFloat(scalar.value, dtype, scalar.span)
        if dtype.is_int() and scalar.value.is_integer():
            return ConstInt(int(scalar.value), dtype, scalar.span)
    return scalar


def converted(scalar: Expr, dtype: DataType) -> Expr:
    """An integer scalar that is no constant as one of ``dtype``; any other expression as it is."""
    type_ = scalar.type
    if isinstance(scalar, ConstInt) or not isinstance(type_, ScalarType) or type_.dtype is dtype or not type_.dtype.is_int():
        return scalar
    return Cast(scalar, dtype, scalar.span)


_KIND_TYPES: dict[Kind, tuple[type[Type], ...]] = {
    Kind.TENSOR: (TensorType,),
    Kind.DISTRIBUTED: (DistributedTensorType,),
    Kind.TILE: (TileType,),
    Kind.SHAPED: (TensorType, TileType),
    Kind.SHAPED_OR_SCALAR: (TensorType, TileType, ScalarType),
    Kind.SCALAR: (ScalarType,),
    Kind.TUPLE: (TupleType,),
    Kind.CONTEXT: (CommCtxType,),
    Kind.POINTER: (PtrType,),
    Kind.ARRAY: (ArrayType,),
    Kind.ANY: (Type,),
}


_EITHER = frozenset((Kind.SHAPED, Kind.SHAPED_OR_SCALAR))


def _kind_hint(declaration: Declaration, param: Param, arg: Expr) -> str | None:
    """The likely mending of an operand of the wrong kind."""
    if isinstance(arg.type, ScalarType) and declaration.scalar_variant is not None:
        return f"did you mean {public_name(get_op(declaration.scalar_variant))}?"
    if isinstance(arg.type, TileType | TensorType):
        space = "tile" if isinstance(arg.type, TileType) else "tensor"
        for full in declared_ops():
            if getattr(full, "scalar_variant", None) == declaration.name and full.name.startswith(f"{space}."):
                return f"did you mean {public_name(full)}?"
        if space == "tensor" and declaration.namespace == "tile" and TileType in _KIND_TYPES[param.kind]:
            return "load it first: pl.load(...)"
    return None


def kind_text(declaration: Declaration, param: Param) -> str:
    """What a parameter takes, as people call it: a tile operator's ``Tensor, Tile or Scalar`` is a ``Tile or Scalar``."""
    text = param.kind.value
    if param.kind not in _EITHER or declaration.namespace not in ("tile", "tensor"):
        return text
    text = text.replace("Tensor, Tile or", "Tile or").replace("Tensor or ", "")
    return text if declaration.namespace == "tile" else text.replace("Tile", "Tensor")


def check_operand_kind(declaration: Declaration, param: Param, arg: Expr, at: int) -> None:
    """Refuse an operand of another kind than the parameter takes, and an entry of an index list that is no integer scalar."""
    wanted = _KIND_TYPES[param.kind]
    other = {"tile": TensorType, "tensor": TileType}.get(declaration.namespace) if param.kind in _EITHER else None
    if not isinstance(arg.type, wanted) or (other is not None and isinstance(arg.type, other)):
        what = kind_text(declaration, param)
        raise OperandTypeError(
            f"{declaration.name} takes a {what} as {param.name!r}, got {describe_type(arg.type)}",
            at,
            _kind_hint(declaration, param, arg),
        )
    if param.kind is Kind.TUPLE and isinstance(arg.type, TupleType):
        for type_ in [element.type for element in arg.elements] if isinstance(arg, MakeTuple) else arg.type.types:
            if not isinstance(type_, ScalarType) or not type_.dtype.is_int():
                raise OperandTypeError(f"{declaration.name} takes integers in {param.name!r}, got {describe_type(type_)}", at)
    if isinstance(arg.type, TileType) and param.name in declaration.memory_inputs:
        allowed = declaration.memory_inputs[param.name]
        if arg.type.memory_space is not None and arg.type.memory_space not in allowed:
            names = " or ".join(s.name for s in allowed)
            raise OperandError(
                f"{declaration.name} takes {param.name!r} in {names}, got a tile in {arg.type.memory_space.name}",
                at,
                hint=f"move it first: pl.move(..., target_memory=pl.Mem.{allowed[0].name})",
            )


_TYPE_WORDS: dict[type[Type], str] = {
    TileType: "tile",
    TensorType: "tensor",
    DistributedTensorType: "distributed tensor",
    ScalarType: "scalar",
    ArrayType: "array",
    TupleType: "tuple",
    PtrType: "pointer",
    CommCtxType: "communication context",
    UnknownType: "value of unknown type",
}


def describe_type(type_: Type) -> str:
    """A short name of a type for messages: ``FP32 tile [64, 64]``."""
    dtype: DataType | None = getattr(type_, "dtype", None)
    word = _TYPE_WORDS.get(type(type_), type(type_).__name__)
    if isinstance(type_, TupleType):
        return f"{word} of {len(type_.types)}"
    if dtype is None:
        return word
    shape: Any = getattr(type_, "shape", None)
    extents = "" if shape is None else f" [{', '.join(dim_text(d) for d in shape)}]"
    return f"{dtype.name} {word}{extents}"


def dim_text(dim: Expr) -> str:
    """A dimension for messages."""

    if isinstance(dim, ConstInt):
        return str(dim.value)
    return dim.name_hint if isinstance(dim, Var) else "?"
