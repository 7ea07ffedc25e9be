"""What every author of random programs has: choices, the values that are in scope, names, comments and attributes."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Any, TypeVar

from pypto.ir.builder import IRBuilder
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgDirection, AtomicType, MemorySpace, PadValue, SplitMode, TensorLayout, TileLayout
from pypto.ir.expr import Expr, Var, index_const
from pypto.ir.types import ScalarType, Type

_T = TypeVar("_T")

NAMES = (
    "x", "y", "x", "acc", "x_1", "x_1_1", "t__ssa_v0", "a_rather_long_name_of_a_tile", "if", "None", "pl", "pld", "self", "V", "v",
    "i", "n", "M", "é", "größe", "print", "float", "match", "_", "__", "two words", "1st", "ﬁ", "",
)  # fmt: skip
"""Name hints: plain ones, several alike, ones that look like made-up suffixes, and ones that no program can spell."""

TEXTS = (
    "", "plain", 'say "hi"', "it's", "both ' and \"", "back\\slash", "tab\tnew\nline", "\x00\x7f", "caf\u00e9", "\U0001f600", "# none",
    "{x}", "a" * 210, "\u2028", "\\",
)  # fmt: skip
"""Strings that are easy to get wrong in quotes."""

COMMENTS = (
    ["why"], ["two", "lines"], ["one\ntwo"], [""], ["  indented", "# hash", "#!shebang"], ["type: ignore", "fmt: off"], ["a" * 220],
    ["tab\there"], ["'quoted\""], ["back\\slash \\"],
)  # fmt: skip

FLOATS = (0.25, 1.0, -0.0, 0.0, -1e30, 1e16, 3e-7, 5e-324, 0.1, float("inf"), float("-inf"), float("nan"), 16777217.0)


class Author:
    """Makes choices from ``random`` and knows what is in scope. Values go in and out of scope with :meth:`block`."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.builder = IRBuilder()
        self.values: list[Var] = []
        # variables that types or offsets mention, which therefore keep their value
        self.in_types: set[Var] = set()
        self.dims: list[Var] = []

    # -- choices -----------------------------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        """True with some probability."""
        return self.random.randrange(1000) < probability * 1000

    def pick(self, items: Sequence[_T]) -> _T:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def count(self, most: int) -> int:
        """A number from 0 to ``most``."""
        return self.random.randrange(most + 1)

    # -- scope -------------------------------------------------------------------------------------------------------

    @contextmanager
    def block(self) -> Generator[None, None, None]:
        """What is defined inside is out of scope afterwards."""
        before = [*self.values]
        try:
            yield
        finally:
            self.values = before

    def forget(self, var: Var) -> None:
        """Take a value out of scope."""
        self.values = [v for v in self.values if v is not var]

    def known(self, *kinds: type[Type]) -> list[Var]:
        """The values in scope of some kinds of type."""
        return [v for v in self.values if isinstance(v.type, kinds)]

    def scalars(self, dtype: DataType) -> list[Var]:
        """The scalars in scope of an element type."""
        wanted = ScalarType(dtype)
        return [v for v in self.values if v.type is wanted]

    # -- names and texts ---------------------------------------------------------------------------------------------

    def name(self) -> str:
        """A name hint."""
        return self.pick(NAMES)

    def comment(self) -> None:
        """Now and then a comment for the next statement."""
        if self.chance(0.08):
            self.builder.push_pending_leading_comments(self.pick(COMMENTS))

    # -- attributes --------------------------------------------------------------------------------------------------

    def attributes(self, most: int = 3) -> dict[str, Any]:
        """Attributes of every kind of value that attributes can have."""
        made: dict[str, Any] = {}
        for _ in range(self.count(most)):
            key = self.pick(("count", "flag", "note", "ratio", "numbers", "kind", "key", "odd key", "class", "k\"'\\", "\u00e4"))
            made[key] = self.attribute()
        return made

    def plain_attribute(self) -> Any:
        """A number, truth value or string."""
        kind = self.count(3)
        if kind == 0:
            return self.pick((0, 1, -3, 11, (1 << 31) - 1, -(1 << 31)))
        if kind == 1:
            return self.chance(0.5)
        if kind == 2:
            return self.pick(TEXTS)
        return self.pick(FLOATS)

    def attribute(self) -> Any:
        """An attribute value."""
        kind = self.count(9)
        if kind < 4:
            return self.plain_attribute()
        if kind == 4:
            return self.pick((DataType.BF16, DataType.INDEX, DataType.TASK_ID, DataType.FP4))
        if kind == 5:
            return self.pick((*MemorySpace, *TensorLayout, *TileLayout, *PadValue))
        if kind == 6:
            return self.pick(tuple(ArgDirection))
        if kind == 7:
            return self.pick(
                ([1, -2, 3], [0], [ArgDirection.Input, ArgDirection.NoDep], [SplitMode.UP_DOWN.value], [], int(AtomicType.Add))
            )
        return self.attribute_expression()

    def attribute_expression(self) -> Any:
        """An expression, or a list of variables, as an attribute value."""
        if not self.values or self.chance(0.3):
            return index_const(self.count(5))
        if self.chance(0.5):
            return self.pick(self.values)
        return [self.pick(self.values) for _ in range(1 + self.count(2))]

    def emit(self, value: Expr, type_: Type | None = None) -> Var:
        """Define a new variable with a value."""
        self.comment()
        made = self.builder.let(self.name(), value, type_)
        self.values.append(made)
        return made
