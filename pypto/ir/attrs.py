"""Values that keywords and attributes can hold, and how Python values are stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, Union, cast

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import STORED_AS_INT, ArgDirection, MemorySpace, PadValue, TensorLayout, TileLayout

if TYPE_CHECKING:
    from pypto.ir.expr import Expr, Var

AttrValue: TypeAlias = Union[
    bool,
    int,
    float,
    str,
    DataType,
    MemorySpace,
    TensorLayout,
    TileLayout,
    PadValue,
    ArgDirection,
    "Expr",
    "list[int]",
    "list[Var]",
    "list[ArgDirection]",
]

_THEMSELVES = (bool, str, float, DataType, MemorySpace, TensorLayout, TileLayout, PadValue, ArgDirection)
_PLAIN = frozenset(_THEMSELVES)
"""Types whose very members are stored as they are."""
VAR_LIST_KEYS = frozenset(("manual_dep_edges", "compiler_manual_dep_edges", "arg_direction_overrides_vars", "dump_vars"))
"""Keys whose lists hold variables even when empty."""
DEFINING_KEYS = frozenset(("task_id_var",))
"""Keys of scopes whose variable the scope itself defines."""
INT_LIST_KEYS = frozenset(("arg_direction_overrides",))
"""Keys whose lists hold integers even when empty."""


def normalize_attrs(attrs: Mapping[str, Any] | Iterable[tuple[str, Any]] | None) -> Mapping[str, AttrValue]:
    """Keywords or attributes as an ordered mapping of stored values; None and nothing give the shared empty mapping.

    Raises:
        InvalidTypeError: a value of a kind that cannot be stored.
        InvalidValueError: an integer outside 32 bits, or a key given twice.
    """
    from pypto.ir.expr import EMPTY

    if attrs is None:
        return EMPTY
    pairs: Iterable[tuple[str, Any]]
    if type(attrs) is dict or isinstance(attrs, Mapping):
        pairs = cast("Mapping[str, Any]", attrs).items()
    else:
        pairs = attrs
    stored: dict[str, AttrValue] = {}
    for key, value in pairs:
        if key in stored:
            raise InvalidValueError(f"the attribute {key!r} is given twice")
        stored[key] = value if type(value) in _PLAIN else normalize_attr(key, value)
    return stored or EMPTY


def normalize_attr(key: str, value: Any) -> AttrValue:
    """One keyword or attribute value as it is stored; see :func:`normalize_attrs`."""
    from pypto.ir.expr import Expr, Var

    if isinstance(value, STORED_AS_INT):
        return int(value)
    if isinstance(value, _THEMSELVES):
        return value
    if isinstance(value, int):
        if not -(1 << 31) <= value < (1 << 31):
            raise InvalidValueError(f"the attribute {key!r} holds {value}, which does not fit 32 bits")
        return value
    if isinstance(value, Expr):
        return value
    if isinstance(value, list | tuple):
        items: list[Any] = [*value]  # pyright: ignore[reportUnknownArgumentType]
        if key in INT_LIST_KEYS or (items and all(type(i) is int for i in items)):
            return [int(i) for i in items]
        if key in VAR_LIST_KEYS or (items and isinstance(items[0], Var)):
            if all(isinstance(i, Var) for i in items):
                return items
        elif all(isinstance(i, ArgDirection) for i in items):
            return items
        raise InvalidTypeError(f"the list under {key!r} must hold integers, variables or argument directions, all of one kind")
    inner = getattr(value, "expr", None)
    if isinstance(inner, Expr):
        return inner
    raise InvalidTypeError(f"a value of type {type(value).__name__} cannot be stored under {key!r}")


def attr_kind(value: AttrValue) -> str:
    """The kind under which a value is stored; two values of different kinds are never equal (a bool is not an int)."""
    from pypto.ir.expr import Expr

    if isinstance(value, bool):
        return "bool"
    if isinstance(value, Expr):
        return "expr"
    if isinstance(value, list):
        first = value[0] if value else None
        return "list" if first is None else f"list[{'expr' if isinstance(first, Expr) else type(first).__name__}]"
    return type(value).__name__
