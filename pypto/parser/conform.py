"""An assignment with an annotation: does the value agree with it, and what does the annotation add to the type of the value."""

from __future__ import annotations

from typing import Any, cast

from pypto.diagnostics import Error
from pypto.ir.agreement import disagreement
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, Cast, ConstFloat, ConstInt, Expr, IterArg, Submit
from pypto.ir.types import (
    ArrayType,
    DistributedTensorType,
    ScalarType,
    ShapedType,
    TensorType,
    TileType,
    TupleType,
    Type,
    UnknownType,
)
from pypto.ops.declare import Declaration, public_name
from pypto.parser.errors import ParserError, ParserTypeError
from pypto.parser.reader import Reader
from pypto.parser.types import Annotated, tile_view_of


def conform(reader: Reader, value: Expr, wanted: Annotated, value_node: Any, node: Any) -> Expr:
    """The value with the type that its annotation gives it; the types of value and variable are one afterwards.

    Raises:
        ParserTypeError: the two contradict each other.
    """
    type_, given = value.type, wanted.type
    if type_ is given:
        return value
    if isinstance(given, ScalarType) and isinstance(type_, ScalarType):
        return _scalar(reader, value, type_.dtype, given.dtype, value_node, node)
    if isinstance(type_, UnknownType):
        if isinstance(value, Call) and isinstance(value.op, Declaration) and not reader.source.printed:
            name = public_name(value.op)
            raise reader.failure(ParserTypeError, f"{name} gives no value", value_node, hint="write it on a line of its own")
        if isinstance(value, Call | Submit):
            return value.replace(type=given)
        raise _mismatch(reader, type_, given, value_node)
    if isinstance(type_, ShapedType) and isinstance(given, ShapedType):
        if isinstance(value, Call) and len(type_.shape) != len(given.shape):
            forms = [form for form in value.op.other_results(type_) if disagreement(form, given) is None]
            if forms:
                value, type_ = value.replace(type=forms[0]), cast("ShapedType", forms[0])
        check_agreement(reader, type_, given, value_node)
        merged = given if reader.source.printed else merge(reader, type_, wanted, node)
        return retyped(reader, value, merged, value_node)
    if isinstance(type_, TupleType) and isinstance(given, TupleType):
        return _tuple(reader, value, type_, given, value_node)
    if type(type_) is type(given):
        return value
    raise _mismatch(reader, type_, given, value_node)


def _scalar(reader: Reader, value: Expr, dtype: DataType, wanted: DataType, value_node: Any, node: Any) -> Expr:
    span = value.span if value.span.is_valid() else reader.source.span(value_node)
    if type(value) is ConstInt and dtype is DataType.INDEX:
        if wanted.is_float() and not reader.source.printed:
            return ConstFloat(float(value.value), wanted, span)
        if wanted.is_int():
            return ConstInt(value.value, wanted, span)
    if type(value) is ConstFloat and dtype is DataType.FP32 and wanted.is_float() and not reader.source.printed:
        return ConstFloat(value.value, wanted, span)
    if (dtype is DataType.INDEX and wanted.is_int()) or (wanted is DataType.INDEX and dtype.is_int()):
        return Cast(value, wanted, reader.source.span(value_node))
    raise reader.failure(
        ParserTypeError,
        f"the annotation says {wanted.name} scalar, the value is {dtype.name}",
        value_node,
        hint=f"convert it: pl.cast(..., pl.{wanted.name})",
        label=f"{dtype.name} scalar",
    )


def _mismatch(reader: Reader, type_: Type, given: Type, node: Any, why: str = "") -> ParserError:
    return reader.failure(
        ParserTypeError,
        f"the annotation says {reader.type_text(given)}, the value is {reader.type_text(type_)}{why}",
        node,
        label=reader.type_text(type_),
    )


def check_agreement(reader: Reader, type_: ShapedType, given: ShapedType, node: Any) -> None:
    """Refuse two shaped types of another kind, element type, rank or static extents; dynamic extents are not compared.

    Raises:
        ParserTypeError: they differ.
    """
    why = disagreement(type_, given)
    if why is not None:
        raise _mismatch(reader, type_, given, node, why)


def merge(reader: Reader, type_: ShapedType, wanted: Annotated, node: Any) -> Type:
    """The type of a value with what its annotation adds: extents, memory space, view and memref as annotated, the rest as inferred."""
    given = wanted.type
    assert isinstance(given, ShapedType)
    memref = given.memref if wanted.has_memref else type_.memref
    try:
        if isinstance(given, TileType) and isinstance(type_, TileType):
            space = given.memory_space if wanted.has_space else type_.memory_space
            if wanted.view_fields is not None:
                view = tile_view_of(wanted.view_fields, given.shape, space)
            else:
                view = given.tile_view if wanted.has_view else type_.tile_view
            return TileType(given.shape, given.dtype, memref, view, space)
        if isinstance(given, TensorType) and isinstance(type_, TensorType):
            tensor_view = given.tensor_view if wanted.has_view else type_.tensor_view
            if isinstance(given, DistributedTensorType):
                window = given.window_buffer or type_.window_buffer
                if window is not None and memref is None:
                    return DistributedTensorType(given.shape, given.dtype, None, tensor_view, window)
                return DistributedTensorType(given.shape, given.dtype, memref, tensor_view)
            return TensorType(given.shape, given.dtype, memref, tensor_view)
    except Error as error:
        raise reader.from_error(ParserTypeError, error, node) from error
    assert isinstance(type_, ArrayType)
    return given


def same_type(left: Type, right: Type) -> bool:
    """True for equal types that also refer to one buffer."""
    return left is right or (left == right and getattr(left, "memref", None) is getattr(right, "memref", None))


def retyped(reader: Reader, value: Expr, type_: Type, node: Any) -> Expr:
    """The value with another type: a call is built again with it; a variable has the type it has.

    Raises:
        ParserTypeError: the value is no call and its type differs.
    """
    if same_type(value.type, type_):
        return value
    if isinstance(value, Call):
        return value.replace(type=type_)
    if isinstance(value, IterArg) or not reader.source.printed:
        raise reader.failure(
            ParserTypeError,
            f"the annotation says {reader.type_text(type_)} with another view or memory than the value has",
            node,
            hint="annotate the call that makes the value",
        )
    return value


def _tuple(reader: Reader, value: Expr, type_: TupleType, given: TupleType, node: Any) -> Expr:
    if type_ == given:
        return value
    if len(type_.types) != len(given.types):
        raise _mismatch(reader, type_, given, node, f": {len(given.types)} elements, not {len(type_.types)}")
    for at, (left, right) in enumerate(zip(type_.types, given.types, strict=True)):
        why = disagreement(left, right)
        if why is not None and not isinstance(left, UnknownType):
            raise _mismatch(
                reader, type_, given, node, f": element {at} is {reader.type_text(left)}, not {reader.type_text(right)}"
            )
    return value.replace(type=given) if isinstance(value, Call | Submit) else value
