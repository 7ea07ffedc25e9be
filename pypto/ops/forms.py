"""One spelling for several operators of which the parameters decide: ``pl.tensor.gather`` by an index or by a pattern."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from pypto.ir.expr import Expr
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import Type
from pypto.ops.declare import MISSING, ArityError, Declaration, OperandTypeError, describe_type, to_operand
from pypto.ops.unified import FORMS, Unified, UnifiedParam


class Forms(Unified):
    """Operators under one spelling, the preferred first. The one meant is the first whose namespace fits the first operand and whose
    parameters are what was given."""

    __slots__ = ("operators",)

    def __init__(self, leaf: str, operators: Sequence[Declaration]) -> None:
        self.leaf = leaf
        self.shown = f"pl.{leaf}"
        self.operators = tuple(operators)
        self.choices: Mapping[str, Declaration] = {d.name: d for d in operators}
        self.params = tuple(_merged(self.operators))

    @property
    def signature(self) -> inspect.Signature:
        """Every parameter of every form; those that only some have are optional here."""
        return inspect.Signature(
            [
                inspect.Parameter(
                    p.name,
                    inspect.Parameter.KEYWORD_ONLY if p.keyword_only else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                    default=inspect.Parameter.empty if p.required else p.default,
                )
                for p in self.params
            ]
        )

    @property
    def doc(self) -> str:
        """The documentation of all forms."""
        return "\n\n".join(f"``{d.spelling()}``: {d.doc}" for d in self.operators)

    def select(self, first_operand_type: Type) -> Declaration:
        """The preferred operator for a first operand of this type."""
        return self._fitting(first_operand_type)[0]

    def _fitting(self, first: Type) -> list[Declaration]:
        found = [d for d in self.operators if d.namespace not in FORMS or isinstance(first, FORMS[d.namespace][0])]
        if not found:
            names = " or ".join(dict.fromkeys(FORMS[d.namespace][1] for d in self.operators))
            raise OperandTypeError(f"{self.shown} takes a {names} as {self.params[0].name!r}, got {describe_type(first)}", 0)
        return found

    def resolve(self, positional: Sequence[Any], named: Mapping[str, Any], span: Span = UNKNOWN) -> tuple[Declaration, list[Any]]:
        """The operator meant and its values in parameter order.

        Raises:
            ArityError: no form has such parameters.
            OperandTypeError: a first operand of a kind that has no such operator.
        """
        candidates: list[Declaration] = [*self.operators]
        head = (
            positional[0]
            if positional
            else next((named[d.params[0].name] for d in candidates if d.params[0].name in named), None)
        )
        first = head if isinstance(head, Expr) else to_operand(head, span)
        if first is not None:
            candidates = self._fitting(first.type)
        if len(candidates) == 1:
            return candidates[0], candidates[0].bind(positional, named)
        for declaration in candidates:
            if _takes(declaration, len(positional), named):
                return declaration, declaration.bind(positional, named)
        unknown = [n for n in named if not any(n in d.param_index for d in candidates)]
        if unknown:
            raise candidates[0].unknown_parameter(unknown[0])
        raise ArityError(
            f"{self.shown} has no form with these parameters",
            hint="it is one of " + "; ".join(d.spelling() for d in candidates),
        )

    def build(self, positional: Sequence[Any], named: Mapping[str, Any], span: Span = UNKNOWN) -> Any:
        """The call that the spelling means; raises what :meth:`resolve` and ``Declaration.build`` raise."""
        declaration, bound = self.resolve(positional, named, span)
        return declaration.build(bound, span)


def _takes(declaration: Declaration, count: int, named: Mapping[str, Any]) -> bool:
    places = declaration.params
    if count > sum(not p.keyword_only for p in places):
        return False
    given = {p.name for p in places[:count]}
    if any(n in given or n not in declaration.param_index for n in named):
        return False
    return all(p.name in given or p.name in named for p in places if p.required)


def _merged(operators: Sequence[Declaration]) -> list[UnifiedParam]:
    found: dict[str, UnifiedParam] = {}
    for declaration in operators:
        for at, param in enumerate(declaration.params):
            known = found.get(param.name)
            if known is not None:
                found[param.name] = UnifiedParam(
                    known.name, known.default, known.keyword_only, known.kind, {**known.places, declaration.name: at}
                )
                continue
            everywhere = all(param.name in d.param_index and d.params[d.param_index[param.name]].required for d in operators)
            default = MISSING if everywhere else None if param.default is MISSING else param.default
            apart = param.keyword_only or declaration is not operators[0]
            found[param.name] = UnifiedParam(param.name, default, apart, param.kind, {declaration.name: at})
    ordered = [*found.values()]
    return [p for p in ordered if not p.keyword_only] + [p for p in ordered if p.keyword_only]
