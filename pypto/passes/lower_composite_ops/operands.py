"""What rules check of their operands, and what they ask about them."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.diagnostics import InternalError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, ConstInt, Expr
from pypto.ir.types import DistributedTensorType, TensorType


def operands(call: Call, args: Sequence[Expr], count: int) -> Sequence[Expr]:
    """The operands of a call that takes exactly ``count``.

    Raises:
        InternalError: there are more or fewer; the operator's own check lets none through.
    """
    if len(args) != count:
        raise InternalError(f"{call.op.name} reached lowering with {len(args)} operands instead of {count}", call.span)
    return args


def window_type(call: Call, window: Expr) -> DistributedTensorType:
    """The type of an operand that lies in a window.

    Raises:
        InternalError: it is no distributed tensor.
    """
    type_ = window.type
    if not isinstance(type_, DistributedTensorType):
        raise InternalError(f"{call.op.name} on something that is no distributed tensor", call.span)
    return type_


def rows_and_columns(call: Call, target: Expr) -> tuple[Expr, Expr]:
    """The extents of a target of one row, or block of rows, for each rank.

    Raises:
        InternalError: it is no distributed tensor.
        InvalidValueError: it has not two dimensions.
    """
    shape = window_type(call, target).shape
    if len(shape) != 2:
        raise InvalidValueError(
            f"{call.op.name} needs a 2-D target, got {len(shape)} dimensions", call.span, hint="its rows belong to the ranks"
        )
    return shape[0], shape[1]


def plain_tensor(call: Call, source: Expr, name: str, or_tile: str = "") -> Expr:
    """The operand from which is pushed, which must be a tensor of this rank alone.

    Raises:
        InvalidValueError: it lies in a window.
    """
    if isinstance(source.type, DistributedTensorType):
        raise InvalidValueError(
            f"{call.op.name} takes a plain Tensor{or_tile} as {name!r} inside a kernel, not a DistributedTensor",
            call.span,
            hint="windows are pushed from in host orchestrators only; copy the data into a tensor of its own",
        )
    return source


def element_type(target: Expr) -> DataType:
    """The element type of a tensor."""
    type_ = target.type
    assert isinstance(type_, TensorType)
    return type_.dtype


def shape_of(tensor: Expr) -> Sequence[Expr]:
    """The extents of a tensor."""
    type_ = tensor.type
    assert isinstance(type_, TensorType)
    return type_.shape


def constant(value: Expr) -> int | None:
    """The value of an integer constant, None for any other expression."""
    return value.value if isinstance(value, ConstInt) else None
