"""Operators whose operands come in several arrangements: which ones there are, and in which order, depends on how many are given."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pypto.ir.attrs import AttrValue
from pypto.ir.expr import Expr
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import TupleType, Type
from pypto.ops.declare import MISSING, ArityError, Declaration, OperandError, Param


class Arranged(Declaration):
    """A declaration with the orders that its IR operands may have, each of its own length.

    People write the parameters in the declared order. Positional values may also stand in the order of the longest arrangement: what is
    written where the two orders first differ shows, by being a list or not, which one is meant.
    """

    __slots__ = ("_by_count", "_fork", "arrangements")

    def __init__(self, name: str, **facts: Any) -> None:
        self.arrangements: tuple[tuple[str, ...], ...] = facts.pop("arrangements")
        super().__init__(name, **facts)
        by_name = {p.name: p for p in self.operand_params}
        self._by_count: Mapping[int, tuple[Param, ...]] = {len(a): tuple([by_name[n] for n in a]) for a in self.arrangements}
        self.min_operands, self.max_operands = min(self._by_count), max(self._by_count)
        longest = self._by_count[self.max_operands]
        self._fork = next(at for at, (a, b) in enumerate(zip(longest, self.operand_params, strict=True)) if a is not b)

    def params_of(self, count: int) -> Sequence[Param]:
        """The operand parameters of a call with that many IR arguments, in their order."""
        known = self._by_count.get(count)
        if known is None:
            wanted = ", ".join(map(str, sorted(self._by_count)))
            raise ArityError(f"{self.name} takes {wanted} operands, got {count}", hint=f"signature: {self.spelling()}")
        return known

    def params_for(self, positional: Sequence[Any]) -> Sequence[Param]:
        """The parameters in the order in which those positional values stand for them."""
        if len(positional) > self._fork and _is_list(positional[self._fork]):
            return self._by_count[self.max_operands]
        return self.params

    def bind(self, positional: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """Values in parameter order; raises what :meth:`Declaration.bind` raises."""
        order = self.params_for(positional)
        if order is not self.params and len(positional) <= len(order):
            given = {p.name: value for p, value in zip(order, positional, strict=False)}
            for name in named:
                if name in given:
                    raise ArityError(f"{self.name} got {name!r} twice", name)
            return super().bind((), {**given, **named})
        return super().bind(positional, named)

    def collect(self, bound: Sequence[Any], span: Span = UNKNOWN) -> tuple[list[Expr], dict[str, AttrValue]]:
        """Operands in the order of the arrangement that has just those given, and stored keywords."""
        kwargs: dict[str, AttrValue] = {}
        given: dict[str, Any] = {}
        for param, value in zip(self.params, bound, strict=True):
            if not param.is_operand:
                self._keyword(param, value, kwargs)
            elif value is not MISSING and value is not None:
                given[param.name] = value
        for param in self.operand_params:
            if param.required and param.name not in given:
                raise ArityError(f"{self.name} needs {param.name!r}", param.name, hint=f"signature: {self.spelling()}")
        arrangement = next((a for a in self.arrangements if set(a) == set(given)), None)
        if arrangement is None:
            wider = [a for a in self.arrangements if set(a) > set(given)]
            missing = next(n for n in min(wider, key=len) if n not in given)
            optional = next(p.name for p in self.operand_params if p.name in given and not p.required)
            raise ArityError(f"{self.name} needs {missing!r} when {optional!r} is given", missing)
        args: list[Expr] = []
        for at, name in enumerate(arrangement):
            with _about(self, len(arrangement)):
                args.append(self.operand(self.params[self.param_index[name]], given[name], at, args, span))
        return args, kwargs

    def deduce_type(self, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> Type:
        """The result type; raises what :meth:`Declaration.deduce_type` raises."""
        with _about(self, len(args)):
            return super().deduce_type(args, kwargs)


@contextmanager
def _about(declaration: Declaration, count: int) -> Generator[None]:
    """Say which parameter an operand at fault stands for: its position alone does not tell."""
    try:
        yield
    except OperandError as error:
        error.parameter = declaration.params_of(count)[error.operand].name
        raise


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple) or (isinstance(value, Expr) and isinstance(value.type, TupleType))
