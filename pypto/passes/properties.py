"""Properties that a program can have between passes, and sets of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Generic, TypeVar


class IRProperty(Enum):
    """Everything that a pass can require, produce or invalidate."""

    SSAForm = auto()
    TypeChecked = auto()
    NoNestedCalls = auto()
    NormalizedStmtStructure = auto()
    NoRedundantBlocks = auto()
    SplitIncoreOrch = auto()
    HasMemRefs = auto()
    IncoreTileOps = auto()
    AllocatedMemoryAddr = auto()
    MixedKernelExpanded = auto()
    ClusterOutlined = auto()
    TileOps2D = auto()
    TileMemoryInferred = auto()
    BreakContinueValid = auto()
    UseAfterDef = auto()
    HierarchyOutlined = auto()
    StructuredCtrlFlow = auto()
    VectorKernelSplit = auto()
    OutParamNotShadowed = auto()
    NoNestedInCore = auto()
    InOutUseValid = auto()
    PipelineLoopValid = auto()
    PipelineResolved = auto()
    CallDirectionsResolved = auto()
    TileTypeCoherence = auto()
    InlineFunctionsEliminated = auto()
    OrchestrationReferencesResolved = auto()
    TensorViewCanonical = auto()
    ArrayNotEscaped = auto()
    CommDomainScopesMaterialized = auto()
    DistTensorCtxMaterialized = auto()
    RuntimeScopesMaterialized = auto()
    AssignTypeSymmetry = auto()
    ManualDepsOnSubmitOnly = auto()
    ReturnParamsExplicit = auto()
    UnrollResolved = auto()
    AivSplitValid = auto()
    HardSyncallOccupancyValid = auto()
    IterArgCarryClassified = auto()
    AccToGmStoreValid = auto()
    AtomicAddDtypeValid = auto()


_E = TypeVar("_E", bound=Enum)


class EnumSet(Generic[_E]):
    """A mutable set of members of one enumeration, listed in the order of their definition. Not hashable."""

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __init__(self, members: Iterable[_E] = ()) -> None:
        self._members: set[_E] = set(members)

    def insert(self, member: _E) -> None:
        """Add one member."""
        self._members.add(member)

    def remove(self, member: _E) -> None:
        """Take one member out; nothing happens when it is not in."""
        self._members.discard(member)

    def contains(self, member: _E) -> bool:
        """True when the member is in."""
        return member in self._members

    def contains_all(self, other: EnumSet[_E]) -> bool:
        """True when every member of ``other`` is in."""
        return other._members <= self._members

    def union_with(self, other: EnumSet[_E]) -> Any:
        """A new set with the members of both."""
        return type(self)(self._members | other._members)

    def intersection(self, other: EnumSet[_E]) -> Any:
        """A new set with the members that are in both."""
        return type(self)(self._members & other._members)

    def difference(self, other: EnumSet[_E]) -> Any:
        """A new set with the members that are not in ``other``."""
        return type(self)(self._members - other._members)

    def empty(self) -> bool:
        """True when nothing is in."""
        return not self._members

    def to_list(self) -> list[_E]:
        """The members in the order of their definition."""
        return sorted(self._members, key=lambda member: member.value)

    def __iter__(self) -> Iterator[_E]:
        return iter(self.to_list())

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, member: object) -> bool:
        return member in self._members

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EnumSet) and self._members == other._members  # pyright: ignore[reportUnknownMemberType]

    def __str__(self) -> str:
        return "{" + ", ".join(member.name for member in self.to_list()) + "}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"


class IRPropertySet(EnumSet[IRProperty]):
    """A set of :class:`IRProperty`."""


def property_set(*members: IRProperty) -> IRPropertySet:
    """A set of these properties."""
    return IRPropertySet(members)


@dataclass
class PassProperties:
    """What a pass needs of its input, what its output has in addition, and what it may destroy."""

    required: IRPropertySet = field(default_factory=IRPropertySet)
    produced: IRPropertySet = field(default_factory=IRPropertySet)
    invalidated: IRPropertySet = field(default_factory=IRPropertySet)


_P = IRProperty

STRUCTURAL_PROPERTIES = property_set(
    _P.TypeChecked,
    _P.BreakContinueValid,
    _P.NoRedundantBlocks,
    _P.UseAfterDef,
    _P.OutParamNotShadowed,
    _P.NoNestedInCore,
    _P.InOutUseValid,
    _P.PipelineLoopValid,
    _P.ArrayNotEscaped,
    _P.ManualDepsOnSubmitOnly,
    _P.AtomicAddDtypeValid,
)
"""Expected to hold at any time."""

DEFAULT_VERIFY_PROPERTIES = property_set(
    _P.SSAForm,
    _P.TypeChecked,
    _P.NoNestedCalls,
    _P.BreakContinueValid,
    _P.NoRedundantBlocks,
    _P.UseAfterDef,
    _P.OutParamNotShadowed,
    _P.NoNestedInCore,
    _P.TileTypeCoherence,
    _P.ArrayNotEscaped,
)
"""What ``run_verifier()`` checks when nothing else is asked."""

VERIFIED_PROPERTIES = property_set(
    _P.SSAForm,
    _P.TypeChecked,
    _P.MixedKernelExpanded,
    _P.AllocatedMemoryAddr,
    _P.BreakContinueValid,
    _P.NoRedundantBlocks,
    _P.InOutUseValid,
    _P.CallDirectionsResolved,
    _P.ManualDepsOnSubmitOnly,
    _P.ReturnParamsExplicit,
    _P.AivSplitValid,
    _P.TileMemoryInferred,
    _P.HardSyncallOccupancyValid,
    _P.IterArgCarryClassified,
    _P.RuntimeScopesMaterialized,
    _P.DistTensorCtxMaterialized,
    _P.AccToGmStoreValid,
    _P.AtomicAddDtypeValid,
)
"""Verified by a pipeline as soon as a pass produces them."""
