"""The bare spellings ``pl.add``, ``pl.cast`` ...: one name for a tensor operator, a tile operator and, for a few, a scalar expression.

The first operand decides which one is meant. The signature is that of the tensor form, with the names the bare spelling has, followed
by the parameters that only another form has. A parameter that the chosen form lacks must stay at its default; one that names the
element type of the result may also say what the result has anyway.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import InvalidTypeError, did_you_mean
from pypto.ir.dtypes import DataType
from pypto.ir.expr import ConstBool, ConstFloat, ConstInt, Expr
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import ScalarType, TensorType, TileType, Type
from pypto.ops.declare import MISSING, ArityError, Declaration, Kind, OperandTypeError, Param, describe_type, to_operand
from pypto.ops.params import default_text, too_many

FORMS: Mapping[str, tuple[type[Type], str]] = {
    "tensor": (TensorType, "Tensor"),
    "tile": (TileType, "Tile"),
    "scalar": (ScalarType, "Scalar"),
}
"""The forms by name: the type of the first operand that chooses each, and what people call it."""


@dataclass(frozen=True, slots=True)
class UnifiedParam:
    """One parameter of the bare spelling. ``places`` says at which position of which form it stands."""

    name: str
    default: Any
    keyword_only: bool
    kind: Kind
    places: Mapping[str, int]

    @property
    def required(self) -> bool:
        """True when it must be given whatever the form."""
        return self.default is MISSING


class Unified:
    """What ``pl.<leaf>`` means: the operators it may stand for, by form (``tensor``, ``tile``, ``scalar``)."""

    __slots__ = ("_at", "_layout", "_restatable", "_uniform", "choices", "leaf", "params", "shown")

    def __init__(self, leaf: str, choices: Mapping[str, Declaration], prefix: str = "pl") -> None:
        self.leaf = leaf
        self.shown = f"{prefix}.{leaf}"
        self.choices = choices
        self.params: tuple[UnifiedParam, ...] = tuple(_merge(choices))
        self._uniform = all(len(p.places) == len(choices) for p in self.params)
        self._restatable = [p for p in self.params if p.kind is Kind.DTYPE and len(p.places) < len(choices)]
        self._at = {p.name: at for at, p in enumerate(self.params)}
        self._layout = {
            form: [next((at for at, p in enumerate(self.params) if p.places.get(form) == i), -1) for i in range(len(d.params))]
            for form, d in choices.items()
        }

    def __repr__(self) -> str:
        return f"Unified({self.leaf!r}, {sorted(d.name for d in self.choices.values())})"

    @property
    def signature(self) -> inspect.Signature:
        """The signature people write."""
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
        """The documentation of the first form."""
        return next(iter(self.choices.values())).doc

    def spelling(self) -> str:
        """Name and signature as one line of text."""
        shown = [p.name if p.required else f"{p.name}={default_text(p.default)}" for p in self.params]
        apart = next((at for at, p in enumerate(self.params) if p.keyword_only), None)
        if apart is not None:
            shown.insert(apart, "*")
        return f"{self.shown}({', '.join(shown)})"

    def select(self, first_operand_type: Type) -> Declaration:
        """The operator meant when the first operand has this type.

        Raises:
            OperandTypeError: there is none for such an operand.
        """
        for form, (type_, _) in FORMS.items():
            if isinstance(first_operand_type, type_) and form in self.choices:
                return self.choices[form]
        names = [what for form, (_, what) in FORMS.items() if form in self.choices]
        wanted = f"{', '.join(names[:-1])} or {names[-1]}"
        hint = "use Python operators on scalars" if isinstance(first_operand_type, ScalarType) else None
        raise OperandTypeError(
            f"{self.shown} takes a {wanted} as {self.params[0].name!r}, got {describe_type(first_operand_type)}", 0, hint
        )

    def resolve(self, positional: Sequence[Any], named: Mapping[str, Any], span: Span = UNKNOWN) -> tuple[Declaration, list[Any]]:
        """The operator meant and its values in parameter order, MISSING where omitted.

        Raises:
            ArityError: too many values, an unknown or repeated name, a required parameter left out.
            OperandTypeError: a first operand of a kind that has no such operator.
            InvalidTypeError: a value for a parameter that the chosen form does not have.
        """
        given = self._bind(positional, named)
        if given[0] is MISSING:
            raise ArityError(f"{self.shown} needs {self.params[0].name!r}", self.params[0].name, f"signature: {self.spelling()}")
        first = given[0] if isinstance(given[0], Expr) else to_operand(given[0], span)
        if first is None:
            raise OperandTypeError(f"{self.shown} takes a Tensor or Tile as {self.params[0].name!r}, got {given[0]!r}", 0)
        chosen = self.select(first.type)
        form = next(f for f, d in self.choices.items() if d is chosen)
        if not self._uniform:
            for param, value in zip(self.params, given, strict=True):
                if value is not MISSING and form not in param.places and not _says_nothing(value, param.default):
                    if param.kind is Kind.DTYPE and isinstance(value, DataType):
                        continue
                    what = FORMS[form][1]
                    raise InvalidTypeError(
                        f"{self.shown} on a {what} takes no {param.name!r}", hint=f"signature: {chosen.spelling()}"
                    )
        return chosen, [MISSING if at < 0 else given[at] for at in self._layout[form]]

    def build(self, positional: Sequence[Any], named: Mapping[str, Any], span: Span = UNKNOWN) -> Any:
        """The call (or scalar expression) that the bare spelling means; raises what :meth:`resolve` and ``Declaration.build`` raise."""
        chosen, bound = self.resolve(positional, named, span)
        built = chosen.build(bound, span)
        if self._restatable:
            for form, declaration in self.choices.items():
                if declaration is chosen:
                    self._check_restated(form, positional, named, built)
        return built

    def _check_restated(self, form: str, positional: Sequence[Any], named: Mapping[str, Any], built: Expr) -> None:
        """A parameter for an element type that the chosen form lacks may only say what the result has."""
        for param in self._restatable:
            at = self._at[param.name]
            value = named.get(param.name, positional[at] if at < len(positional) else None)
            has = getattr(built.type, "dtype", None)
            if form not in param.places and isinstance(value, DataType) and value is not has:
                found = has.name if isinstance(has, DataType) else "none"
                raise InvalidTypeError(
                    f"{self.shown} on a {FORMS[form][1]} gives {found}, so {param.name!r} cannot be {value.name}"
                )

    def _bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        params = self.params
        most = sum(not p.keyword_only for p in params)
        if len(positional) > most:
            raise too_many(self.shown, most, len(positional), self.spelling())
        given: list[Any] = [*positional, *([MISSING] * (len(params) - len(positional)))]
        for name, value in named.items():
            at = self._at.get(name, -1)
            if at < 0:
                close = did_you_mean(name, [*self._at])
                hint = f"did you mean {close!r}?" if close else f"signature: {self.spelling()}"
                raise ArityError(f"{self.shown} has no parameter {name!r}", name, hint)
            if given[at] is not MISSING:
                raise ArityError(f"{self.shown} got {name!r} twice", name)
            given[at] = value
        return given


def _says_nothing(value: Any, default: Any) -> bool:
    if isinstance(value, ConstInt | ConstFloat | ConstBool):
        value = value.value
    if value is default or (value is None and default is MISSING):
        return True
    return type(value) is type(default) and not isinstance(value, Expr) and bool(value == default)


def _merge(choices: Mapping[str, Declaration]) -> list[UnifiedParam]:
    forms = sorted(choices, key=list(FORMS).index)
    base = choices[forms[0]]
    names = [p.unified or p.name for p in base.params]
    places: list[dict[str, int]] = [{forms[0]: at} for at in range(len(names))]
    extra: list[tuple[Param, dict[str, int]]] = []
    for form in forms[1:]:
        for at, param in enumerate(choices[form].params):
            home = _home(param, at, choices[form], base, names)
            if home >= 0:
                places[home][form] = at
                continue
            known = next((spots for p, spots in extra if p.name == param.name), None)
            if known is None:
                extra.append((param, {form: at}))
            else:
                known[form] = at
    merged = [UnifiedParam(n, _default(p), p.keyword_only, p.kind, w) for n, p, w in zip(names, base.params, places, strict=True)]
    added = [UnifiedParam(p.name, None if p.required else _default(p), p.keyword_only, p.kind, w) for p, w in extra]
    ordered = [p for p in merged if p.required and not p.keyword_only]
    ordered += [p for p in merged if not p.required and not p.keyword_only]
    ordered += [p for p in added if not p.keyword_only]
    return ordered + [p for p in (*merged, *added) if p.keyword_only]


def _default(param: Param) -> Any:
    if param.required:
        return MISSING
    return None if param.default is MISSING else param.default


_ARRAYS = frozenset((Kind.TENSOR, Kind.TILE, Kind.SCALAR))


def _home(param: Param, at: int, form: Declaration, base: Declaration, names: Sequence[str]) -> int:
    """The parameter of ``base`` that ``param`` is: the one of its name, else the operand at its position when names differ there."""
    for home, other in enumerate(base.params):
        if other.name == param.name or names[home] == (param.unified or param.name):
            return home
    taken = {p.name for p in form.params}
    if param.is_operand and at < len(base.params):
        other = base.params[at]
        alike = other.kind is param.kind or (other.kind in _ARRAYS and param.kind in _ARRAYS)
        if alike and other.name not in taken and names[at] not in taken and other.required == param.required:
            return at
    return -1
