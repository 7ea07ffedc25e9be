"""The dispatch table from composite operators to the rules that lower them. A rule of one's own is one decorated function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pypto.diagnostics import InvalidValueError
from pypto.ir.expr import Call, Expr
from pypto.passes.lower_composite_ops.builder import LoweringBuilder

RuleFunction = Callable[[Call, Sequence[Expr], LoweringBuilder], Expr]
"""A rule: the composite call, its operands and a builder for the statements; it returns the result expression."""


@dataclass(frozen=True)
class CompositeRule:
    """One row of the table; ``on_host`` is False when host orchestrators keep the call for a later pass, ``once`` is True when the call
    cannot be repeated in a loop unless its signal is given back."""

    op_name: str
    lower: RuleFunction
    on_host: bool = True
    once: bool = False


_RULES: dict[str, CompositeRule] = {}


def composite_rule(op_name: str, *, on_host: bool = True, once: bool = False) -> Callable[[RuleFunction], RuleFunction]:
    """Register the decorated function as the lowering of ``op_name``; see :class:`CompositeRule`.

    The operators that the rule emits must not be composite themselves, unless they have rules too and the pass is run again.

    Raises:
        InvalidValueError: the operator has a rule already.
    """

    def register(function: RuleFunction) -> RuleFunction:
        if op_name in _RULES:
            raise InvalidValueError(f"{op_name!r} already has a lowering rule", hint="remove_composite_rule() it first")
        _RULES[op_name] = CompositeRule(op_name, function, on_host, once)
        return function

    return register


def remove_composite_rule(op_name: str) -> None:
    """Take a rule out of the table again."""
    _RULES.pop(op_name, None)


def find_composite_rule(op_name: str) -> CompositeRule | None:
    """The rule of an operator, or None when it is not composite."""
    return _RULES.get(op_name)


def composite_ops() -> list[str]:
    """The operators that have a rule, by name."""
    return sorted(_RULES)
