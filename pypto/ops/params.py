"""Parameters of operators: what each accepts, its default, and how it is written; and the errors about them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType


class Missing(Enum):
    """The value of a parameter that was not given."""

    MISSING = auto()

    def __repr__(self) -> str:
        return "<required>"


MISSING = Missing.MISSING


class Kind(Enum):
    """What a parameter accepts. The first group are operands, the second keywords."""

    TENSOR = "Tensor"
    DISTRIBUTED = "DistributedTensor"
    TILE = "Tile"
    SHAPED = "Tensor or Tile"
    SHAPED_OR_SCALAR = "Tensor, Tile or Scalar"
    SCALAR = "Scalar"
    TUPLE = "list of integers"
    CONTEXT = "CommCtx"
    POINTER = "Ptr"
    ARRAY = "Array"
    ANY = "value"

    DTYPE = "DataType"
    ENUM = "enum member"
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    STR = "str"
    CAST_MODE = "rounding mode"
    PAD = "PadValue or number"
    TARGETS = "bool or int"


OPERANDS = frozenset(
    (
        Kind.TENSOR,
        Kind.DISTRIBUTED,
        Kind.TILE,
        Kind.SHAPED,
        Kind.SHAPED_OR_SCALAR,
        Kind.SCALAR,
        Kind.TUPLE,
        Kind.CONTEXT,
        Kind.POINTER,
        Kind.ARRAY,
        Kind.ANY,
    )
)


@dataclass(frozen=True, slots=True)
class Param:
    """One parameter of an operator.

    ``default`` is MISSING for a required one. ``stored`` keeps a keyword in the call even when it equals its default. ``stamp`` names
    the operand whose element type a constant scalar takes; or the keyword that holds that type, or it is the type itself, and then
    the scalar must have it; ``stamp_as`` turns the operand's type into another one first. An operand with an ``enum`` may be written
    as a member and is stored as its number. ``same_as`` names the operand that stands in when this one is omitted. ``unified`` is the
    name the parameter has in the bare spelling (``pl.read``) when that differs. ``by_keyword`` prints an operand as ``name=value``;
    ``keyword_only`` refuses it positionally. ``placeholder`` puts an empty tuple in the place of an omitted operand when a later one
    is given. ``literal`` asks for a compile-time number. ``single`` takes one integer for a list of one. ``shown_as_number`` prints a
    member of an enumeration that is stored as a number as that number, not by its name. ``internal`` is for passes: people cannot write
    it. A scalar operand of another integer type that is no constant is converted to ``cast``. An optional operand that is not
    ``nullable`` may be left out but not be given as None. The text of a keyword ``from_target`` is the name of the variable that the call
    is assigned to; it is printed only where that differs.
    """

    name: str
    kind: Kind
    default: Any = MISSING
    enum: type[Enum] | None = None
    stored: bool = False
    stamp: str | DataType | None = None
    stamp_as: Callable[[DataType], DataType] | None = None
    unified: str = ""
    same_as: str | None = None
    by_keyword: bool = False
    keyword_only: bool = False
    placeholder: bool = False
    literal: bool = False
    single: bool = False
    shown_as_number: bool = False
    internal: bool = False
    cast: DataType | None = None
    nullable: bool = True
    from_target: bool = False
    doc: str = ""

    @property
    def is_operand(self) -> bool:
        """True when it becomes an argument of the IR call."""
        return self.kind in OPERANDS

    @property
    def required(self) -> bool:
        """True when it must be given."""
        return self.default is MISSING and self.same_as is None


class Lanes(Enum):
    """How the elements of the result depend on the elements of the operands; from this the runtime tracks poison.

    ELEMENTWISE: element i on elements i (broadcast). MOVE: elements are only moved, so the same function moves their poison. REDUCE and
    CONTRACT: each result element on a row, column or more of the *valid* region, which is all that the meaning is given. ALL: every
    result element on every operand element. NONE: no element of any operand is looked at.
    """

    ELEMENTWISE = auto()
    MOVE = auto()
    REDUCE = auto()
    CONTRACT = auto()
    ALL = auto()
    NONE = auto()


@dataclass(frozen=True, slots=True)
class ResultSpec:
    """What a meaning may ask to know of its result: the NumPy element type and the extents."""

    dtype: Any
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RankCount:
    """How many ranks something can run on: from ``least`` to ``most`` (None: any number)."""

    least: int = 1
    most: int | None = None

    def both(self, other: RankCount) -> RankCount:
        """What suits two things."""
        most = self.most if other.most is None else other.most if self.most is None else min(self.most, other.most)
        return RankCount(max(self.least, other.least), most)

    def allows(self, ranks: int) -> bool:
        """True for a number of ranks that is in range."""
        return self.least <= ranks and (self.most is None or ranks <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"{self.least} or more"
        return str(self.least) if self.least == self.most else f"{self.least} to {self.most}"


class OperandError(InvalidValueError):
    """An operand that the type rule refuses; ``operand`` is its position among the IR arguments, for the caret."""

    code = "type-mismatch"

    def __init__(self, message: str, operand: int, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.operand = operand


class OperandTypeError(OperandError, TypeError):
    """An operand of the wrong kind."""


_from_passes: ContextVar[bool] = ContextVar("from_passes", default=False)


@contextmanager
def values_from_passes() -> Generator[None]:
    """Inside, constants out of range are no errors: passes may leave them where a program never comes (``if i < n`` in an unrolled
    loop), and a program that does come there is stopped when it runs."""
    before = _from_passes.set(True)
    try:
        yield
    finally:
        _from_passes.reset(before)


def refuse_value(message: str, operand: int, hint: str | None = None) -> None:
    """Refuse a constant out of range, but in :func:`values_from_passes`.

    Raises:
        OperandError: what ``message`` says about the operand at that position.
    """
    if not _from_passes.get():
        raise OperandError(message, operand, hint)


class KeywordError(InvalidValueError):
    """A keyword value that the type rule refuses; ``parameter`` names the keyword, for the caret."""

    def __init__(self, message: str, parameter: str, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.parameter = parameter


def default_text(value: Any) -> str:
    """The default of a parameter as a signature shows it."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return value.name if isinstance(value, DataType) else repr(value)


class ArityError(InvalidTypeError):
    """The wrong number of operands, or an unknown keyword; ``parameter`` names it when known."""

    code = "arity"

    def __init__(self, message: str, parameter: str | None = None, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.parameter = parameter


def too_many(name: str, most: int, given: int, signature: str) -> ArityError:
    """The error for more positional values than there are positional parameters."""
    allowed = f"at most {most} positional argument{'s' * (most != 1)}" if most else "no positional arguments"
    return ArityError(f"{name} takes {allowed}, got {given}", hint=f"signature: {signature}")
