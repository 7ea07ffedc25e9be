"""Simplify: fold expressions and control flow, and drop scalars that nothing uses."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.function import Function, Program
from pypto.passes.base import FunctionPass
from pypto.passes.registry import register_pass
from pypto.passes.simplify.dead_scalars import without_dead_scalars
from pypto.passes.simplify.walk import simplified

_ROUNDS = 4


@register_pass
@dataclass(frozen=True)
class Simplify(FunctionPass):
    """Fold expressions with what bounds and conditions say, decided branches, loops of no or one iteration, and unused scalars."""

    def transform_function(self, function: Function, program: Program) -> Function:
        return simplify_function(function)


def simplify_function(function: Function) -> Function:
    """The function after simplification; the same object when nothing changes.

    Folded are expressions everywhere, inside operands, attributes and types too. A scalar that the top level of the body assigns once,
    to a constant, is replaced by it; other scalars and loop variables give bounds, conditions hold in their branch. A branch that is
    decided leaves its statements, and so does a sequential loop without attributes that runs once; one that never runs leaves its initial
    values. Unused scalars go, except those whose value calls something.
    """
    for _ in range(_ROUNDS):
        result = without_dead_scalars(simplified(function))
        if result is function:
            break
        function = result
    return function


__all__ = ["Simplify", "simplify_function"]
