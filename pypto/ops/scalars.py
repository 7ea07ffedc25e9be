"""Scalar expressions that are written like operators: ``pl.add(i, 1)``, ``pl.min(a, b)``, ``pl.cast(i, pl.FP32)``.

They build the nodes that Python operators on scalars build, so they are no entries of the operator registry; the vocabulary finds them
by the paths given here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir import scalar
from pypto.ir.attrs import AttrValue
from pypto.ir.enums import CastMode
from pypto.ir.expr import Expr
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import Type
from pypto.ops.declare import Declaration, Kind, Param, check_operand_kind, default_facts


class ScalarForm(Declaration):
    """A scalar expression under an operator's name. ``paths`` are the dotted names it has after ``pl.``."""

    __slots__ = ("builder", "paths")

    def __init__(self, name: str, params: Sequence[Param], builder: Callable[..., Expr], doc: str, paths: Sequence[str]) -> None:
        facts = {**default_facts(), "params": params, "result": _type_of_node, "doc": doc, "internal_only": True}
        super().__init__(name, **facts)
        self.builder = builder
        self.paths = tuple(paths)

    def spelling(self) -> str:
        """Name and signature as one line of text."""
        return f"pl.{self.paths[0]}({', '.join(p.name for p in self.params)})"

    def build(self, bound: Sequence[Any], span: Span = UNKNOWN) -> Any:
        """The scalar expression.

        Raises:
            ArityError: a required parameter is missing.
            OperandTypeError: an operand that is no scalar.
            InvalidTypeError, InvalidValueError: operands that do not go together, or a keyword that scalars do not have.
        """
        args, kwargs = self.collect(bound, span)
        for at, (param, arg) in enumerate(zip(self.operand_params, args, strict=False)):
            check_operand_kind(self, param, arg, at)
        return self.builder(*args, **kwargs, span=span)


def _type_of_node(_declaration: Declaration, _args: Sequence[Expr], _kwargs: Mapping[str, AttrValue]) -> Type:
    raise InvalidValueError("scalar expressions are no operator calls")


def _cast(operand: Expr, target_type: Any, mode: int = CastMode.round, span: Span = UNKNOWN) -> Expr:
    if mode != CastMode.round:
        raise InvalidValueError("a cast of a scalar has no rounding mode", span, hint="leave mode out")
    return scalar.cast(operand, target_type, span)


_PAIR = (Param("lhs", Kind.SCALAR), Param("rhs", Kind.SCALAR))


def _pair(name: str, builder: Callable[..., Expr], doc: str, *paths: str) -> ScalarForm:
    return ScalarForm(f"pl.{name}", _PAIR, builder, doc, paths or (name,))


SCALAR_FORMS: tuple[ScalarForm, ...] = (
    _pair("add", scalar.add, "Sum of two scalars."),
    _pair("sub", scalar.sub, "Difference of two scalars."),
    _pair("mul", scalar.mul, "Product of two scalars."),
    _pair("div", scalar.truediv, "Quotient of two scalars."),
    _pair("min", scalar.min_, "Smaller of two scalars.", "min", "tile.min"),
    _pair("max", scalar.max_, "Larger of two scalars.", "max", "tile.max"),
    ScalarForm("scalar.abs", (Param("input", Kind.SCALAR),), scalar.abs, "Absolute value of a scalar.", ("abs",)),
    ScalarForm(
        "pl.cast",
        (
            Param("input", Kind.SCALAR),
            Param("target_type", Kind.DTYPE),
            Param("mode", Kind.CAST_MODE, "round", stored=True),
        ),
        _cast,
        "A scalar converted to another element type.",
        ("cast",),
    ),
)
"""Every scalar form. One whose path a tensor or tile operator also has is chosen when the first operand is a scalar."""
