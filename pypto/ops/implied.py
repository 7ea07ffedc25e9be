"""Spellings that imply keywords: text that only passes write, for a call whose keyword people cannot give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pypto.diagnostics import InternalError
from pypto.ir.attrs import AttrValue
from pypto.ir.expr import Call, Expr
from pypto.ir.op import create_internal_op_call
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import Type
from pypto.ops.declare import Declaration, default_facts


class ImpliedForm(Declaration):
    """An operator under a spelling that stands for some of its keywords; no operator of its own."""

    __slots__ = ("implied", "target")

    def __init__(self, target: Declaration, spelling: str, implied: Mapping[str, AttrValue]) -> None:
        facts = {
            **default_facts(),
            "params": [p for p in target.params if p.name not in implied],
            "result": _no_type,
            "doc": target.doc,
            "internal_only": True,
        }
        super().__init__(f"{target.namespace}.{spelling}", **facts)
        self.target = target
        self.implied = implied

    def build(self, bound: Sequence[Any], span: Span = UNKNOWN) -> Call:
        """A call of the operator itself, with the implied keywords; raises what :meth:`Declaration.build` raises."""
        args, kwargs = self.collect(bound, span)
        return create_internal_op_call(self.target, args, {**kwargs, **self.implied}, span)


def _no_type(_declaration: Declaration, _args: Sequence[Expr], _kwargs: Mapping[str, AttrValue]) -> Type:
    raise InternalError("a spelling with implied keywords is no operator")
