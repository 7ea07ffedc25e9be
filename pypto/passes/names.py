"""Names for the variables that passes make: ``base__qualifier_role_vN``, with versions that count up per base and qualifier."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pypto.ir.function import Function
from pypto.passes.rewrite import defined_vars

ROLES = ("ssa", "iter", "rv", "phi", "tile", "tmp", "out", "store", "idx")

_MADE = re.compile(rf"(?P<base>.+?)__(?:(?P<qualifier>\w+?)_)?(?:{'|'.join(ROLES)})(?:_v\d+)?")


def stem_of(hint: str) -> tuple[str, str]:
    """Base and qualifier of a name: those of a name that a pass made, else what stands before a double underscore, and ''."""
    made = _MADE.fullmatch(hint)
    if made:
        return made["base"], made["qualifier"] or ""
    base = hint.partition("__")[0]
    return (base or hint.strip("_") or "v"), ""


def name_base(hint: str) -> str:
    """The part of a name before its first double underscore, from which other names are made: ``v`` where only underscores stand there."""
    base = hint.partition("__")[0]
    return base if base.strip("_") else "v"


class NameSource:
    """Hands out names that no variable of the function has. Versions of one base and qualifier count up through all roles."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self.taken = set(taken)
        self._versions: dict[tuple[str, str], int] = {}

    @classmethod
    def of(cls, function: Function) -> NameSource:
        """A source for more variables of a function."""
        return cls(var.name_hint for var in [*function.params, *defined_vars(function.body)])

    def skip(self, hint: str) -> None:
        """Count a name as version 0 of its base."""
        self._versions.setdefault(stem_of(hint), 1)

    def fresh(self, hint: str, role: str, qualifier: str = "") -> str:
        """A new name after ``hint`` for a variable of that role."""
        base, inherited = stem_of(hint)
        stem = (base, qualifier or inherited)
        version = self._versions.get(stem, 0)
        while True:
            name = "_".join(part for part in (stem[1], role) if part)
            name = f"{base}__{name}_v{version}"
            version += 1
            if name not in self.taken:
                self._versions[stem] = version
                self.taken.add(name)
                return name
