"""Names of a function body: what each is bound to, and what is left of them where a block ends."""

from __future__ import annotations

from typing import Any

from pypto.ir.expr import Expr, Var


class Unreadable:
    """A name that was bound in a block and cannot be read after it. ``var`` is the variable that a new assignment may take up again."""

    __slots__ = ("hint", "reason", "var")

    def __init__(self, reason: str, hint: str, var: Var | None = None) -> None:
        self.reason = reason
        self.hint = hint
        self.var = var


Binding = Expr | Unreadable
Names = dict[str, Binding]


class Yielded:
    """The yield that ends a block: target names, their annotated types (None where none), values, and the node."""

    __slots__ = ("node", "targets", "types", "values")

    def __init__(self, targets: list[str], types: list[Any], values: list[Expr], node: Any) -> None:
        self.targets = targets
        self.types = types
        self.values = values
        self.node = node


class Block:
    """One open block. ``saved`` holds what each name assigned in it was bound to before."""

    __slots__ = ("is_open", "kind", "parent", "saved", "yielded")

    def __init__(self, kind: str, parent: Block | None) -> None:
        self.kind = kind
        self.parent = parent
        self.saved: dict[str, Binding | None] = {}
        self.yielded: Yielded | None = None
        self.is_open = True


def changed(block: Block, names: Names) -> Names:
    """What the names assigned in a block are bound to now."""
    return {name: names[name] for name in block.saved if name in names}


def restore(block: Block, names: Names) -> None:
    """Bind every name assigned in a block to what it was before it."""
    for name, before in block.saved.items():
        if before is None:
            names.pop(name, None)
        else:
            names[name] = before


def merge_branches(before: Names, then_names: Names, else_names: Names, line: int) -> Names:
    """The bindings after a branch without yields, from those that its two arms leave."""
    merged: Names = {}
    for name in (*then_names, *(n for n in else_names if n not in then_names)):
        untouched = before.get(name)
        left, right = then_names.get(name, untouched), else_names.get(name, untouched)
        if left is right and left is not None:
            merged[name] = left
            continue
        if isinstance(left, Unreadable) or isinstance(right, Unreadable):
            merged[name] = left if isinstance(left, Unreadable) else right  # type: ignore[assignment]
            continue
        if left is None or right is None:
            var = left if right is None else right
            merged[name] = Unreadable(
                f"{name!r} is assigned in only one branch of the if on line {line}",
                f"give {name!r} a value before the if, or in both branches",
                var if isinstance(var, Var) else None,
            )
        else:
            merged[name] = Unreadable(
                f"{name!r} has another type in each branch of the if on line {line}",
                "give the two values different names",
            )
    return merged
