"""Keyword values: what people may write, and how it is stored in a call."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from pypto.diagnostics import InvalidTypeError, InvalidValueError, did_you_mean
from pypto.ir.attrs import AttrValue, normalize_attr
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.enums import DISTRIBUTED_ENUMS, CastMode, PadValue
from pypto.ir.expr import ConstBool, ConstFloat, ConstInt
from pypto.ops.params import Kind, Param, default_text

if TYPE_CHECKING:
    from pypto.ops.declare import Declaration


def same_value(stored: AttrValue, param: Param) -> bool:
    default = param.default
    if isinstance(default, IntEnum):
        default = int(default)
    return type(stored) is type(default) and stored == default


_KEYWORD_TYPES: dict[Kind, tuple[type, ...]] = {
    Kind.DTYPE: (DataType,),
    Kind.BOOL: (bool,),
    Kind.INT: (int,),
    Kind.FLOAT: (float, int),
    Kind.STR: (str,),
    Kind.CAST_MODE: (int,),
    Kind.PAD: (PadValue,),
}


def check_keyword(declaration: Declaration, param: Param, value: AttrValue) -> None:
    """Refuse a stored keyword value of the wrong type."""
    if param.kind is Kind.ENUM:
        enum = param.enum
        assert enum is not None
        ok = type(value) is int if issubclass(enum, IntEnum) else isinstance(value, enum)
    elif param.kind is Kind.INT or param.kind is Kind.CAST_MODE:
        ok = type(value) is int
    else:
        wanted = _KEYWORD_TYPES.get(param.kind)
        ok = wanted is None or isinstance(value, wanted)
    if not ok:
        what = param.enum.__name__ if param.enum else param.kind.value
        raise InvalidTypeError(f"{declaration.name} takes {_article(what)} {what} as {param.name!r}, got {value!r}")


def _article(what: str) -> str:
    return "an" if what[0] in "aeiouAEIOU" else "a"


def keyword_value(declaration: Declaration, param: Param, value: Any) -> AttrValue | None:
    """A written keyword value as it is stored; None when the parameter is optional and None was written.

    Raises:
        InvalidTypeError, InvalidValueError: a value that the parameter does not take.
    """
    if value is None and param.default is None:
        return None
    kind = param.kind
    if isinstance(value, ConstInt | ConstFloat | ConstBool):
        value = value.value
    if kind is Kind.ENUM and param.enum is not None:
        enum = param.enum
        if issubclass(enum, IntEnum) and type(value) is int:
            if value not in [m.value for m in enum]:
                choices = ", ".join(f"{m.name} {m.value}" for m in enum)
                raise InvalidValueError(f"{declaration.name} takes {param.name!r} as one of {choices}; got {value}")
            return value
        if not isinstance(value, enum):
            names = ", ".join(f"{enum.__name__}.{m.name}" for m in enum)
            prefix = "pld" if enum in DISTRIBUTED_ENUMS else "pl"
            hint = f"write {prefix}.{enum.__name__}.{value}" if isinstance(value, str) and value in enum.__members__ else None
            raise InvalidTypeError(
                f"{declaration.name} takes {param.name!r} as one of {names}; got {default_text(value)}", hint=hint
            )
        return normalize_attr(param.name, value)
    if kind is Kind.CAST_MODE:
        return resolve_cast_mode(value)
    if kind is Kind.FLOAT and type(value) is int:
        if abs(value) > 1 << 53:
            raise InvalidValueError(f"{declaration.name} takes integers up to 2**53 as {param.name!r}, got {value}")
        return float(value)
    if kind is Kind.PAD:
        return resolve_pad(declaration, param, value)
    if kind is Kind.DTYPE and isinstance(value, str) and value in DTYPES:
        raise InvalidTypeError(
            f"{declaration.name} takes a {kind.value} as {param.name!r}, got {value!r}", hint=f"write pl.{value}"
        )
    if value is None:
        raise InvalidTypeError(f"{declaration.name} takes {_article(kind.value)} {kind.value} as {param.name!r}, got None")
    stored = normalize_attr(param.name, value)
    check_keyword(declaration, param, stored)
    return stored


def resolve_pad(declaration: Declaration, param: Param, value: Any) -> PadValue:
    """The pad value meant: a member other than null, or 0, 0.0, plus or minus infinity as a number.

    Raises:
        InvalidValueError: null, or any other number.
        InvalidTypeError: neither a member nor a number.
    """
    if isinstance(value, PadValue) and value is not PadValue.null:
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        known = {0.0: PadValue.zero, math.inf: PadValue.max, -math.inf: PadValue.min}.get(value)
        if known is not None:
            return known
    what = f"{declaration.name} takes PadValue.zero, .max, .min, or 0, math.inf, -math.inf as {param.name!r}; got {value!r}"
    if isinstance(value, PadValue | int | float) and not isinstance(value, bool):
        raise InvalidValueError(what)
    raise InvalidTypeError(what)


_CAST_MODES: Mapping[str | int, int] = {key: int(m) for m in CastMode for key in (m.name, int(m))}


def resolve_cast_mode(mode: object) -> int:
    """The number of a rounding mode given by name or number.

    Raises:
        InvalidValueError: no such mode (a bool is none).
    """
    known = _CAST_MODES.get(mode) if isinstance(mode, str | int) and not isinstance(mode, bool) else None
    if known is not None:
        return known
    names = [m.name for m in CastMode]
    close = did_you_mean(str(mode), names)
    hint = f"did you mean {close!r}?" if close else "one of " + ", ".join(names)
    raise InvalidValueError(f"{mode!r} is no rounding mode", hint=hint)
