"""Names after ``pl.`` and ``pld.`` that stand for plain values: element types, enumeration members, layout constants."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final

from pypto.ir import enums
from pypto.ir.dtypes import DTYPES
from pypto.ir.enums import ARG_DIRECTION_NAMES, TensorLayout

ENUMS: Final[Mapping[str, type[Enum]]] = {
    name: getattr(enums, name)
    for name in (
        "FunctionType",
        "Level",
        "Role",
        "ForKind",
        "SplitMode",
        "ScopeMode",
        "AtomicType",
        "Mem",
        "MemorySpace",
        "PipeType",
        "CoreType",
        "TensorLayout",
        "TileLayout",
        "PadValue",
        "CompactMode",
        "NotifyOp",
        "WaitCmp",
        "ReduceOp",
    )
}
"""The enumerations by the name that programs use."""

MASK_PATTERNS: Final[Mapping[str, int]] = {
    name: at + 1 for at, name in enumerate(("P0101", "P1010", "P0001", "P0010", "P0100", "P1000", "P1111"))
}
"""Lane patterns of ``gather_mask`` and ``scatter_mask``."""


def _table() -> dict[str, Any]:
    table: dict[str, Any] = dict(DTYPES)
    for name, members in ENUMS.items():
        for member, value in members.__members__.items():
            table[f"{name}.{member}"] = value
    for direction, name in ARG_DIRECTION_NAMES.items():
        table[f"adir.{name}"] = direction
    for layout in (TensorLayout.ND, TensorLayout.DN, TensorLayout.NZ, TensorLayout.MX_A_ZZ, TensorLayout.MX_B_NN):
        table[layout.name] = layout
    for name, number in MASK_PATTERNS.items():
        table[f"tile.MaskPattern.{name}"] = number
    return table


STATIC_NAMES: Final[Mapping[str, Any]] = _table()
"""Dotted name without its prefix -> value."""

MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    **{name: tuple(members.__members__) for name, members in ENUMS.items()},
    "adir": tuple(ARG_DIRECTION_NAMES.values()),
    "tile.MaskPattern": tuple(MASK_PATTERNS),
}
"""Names that have members, with the members, for suggestions."""

PREFIXES: Final[Mapping[str, str]] = {"pypto.language": "", "pypto.language.distributed": "pld."}
"""Module -> what its names are called in the tables of this package."""
