"""Calls with argument directions, and copies of calls with other attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import normalize_attrs
from pypto.ir.enums import ArgDirection
from pypto.ir.expr import Call, Expr, check_arg_directions
from pypto.ir.op import Op
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import Type, UnknownType

input = ArgDirection.Input
output = ArgDirection.Output
output_existing = ArgDirection.OutputExisting
inout = ArgDirection.InOut
no_dep = ArgDirection.NoDep
scalar_dir = ArgDirection.Scalar


def directions(*values: ArgDirection) -> list[ArgDirection]:
    """Argument directions as a list."""
    return [*values]


def make_call(
    op: Op,
    args: Sequence[Expr],
    *,
    directions: Sequence[ArgDirection] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    type: Type | None = None,
    span: Span | None = None,
) -> Call:
    """A call whose arguments have the given directions; its type is unknown unless stated.

    Raises:
        InvalidValueError: there are not as many directions as arguments.
    """
    if directions is not None and len(directions) != len(args):
        raise InvalidValueError(f"{len(directions)} directions for {len(args)} arguments of {op.name!r}", span)
    attrs = {} if directions is None else {"arg_directions": [*directions]}
    return Call(op, args, kwargs or {}, attrs, UnknownType() if type is None else type, UNKNOWN if span is None else span)


def set_call_attrs(call: Call, attrs: Any) -> Call:
    """A copy of a call with these attributes instead of its own.

    Raises:
        InvalidTypeError: ``arg_directions`` of another length than the arguments, or a value that cannot be stored.
    """
    stored = normalize_attrs(attrs)
    check_arg_directions(stored, len(call.args))
    return call.replace(attrs=stored)
