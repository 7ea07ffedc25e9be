"""Dimensions that are known only when a program runs."""

from __future__ import annotations

from typing import Any

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Expr, Var
from pypto.ir.types import ScalarType


class DynVar:
    """A dynamic dimension. One object is one IR variable of type INDEX; arithmetic with it builds index expressions.

    Raises:
        InvalidValueError: the name is no identifier.
    """

    __slots__ = ("_var", "name")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTypeError(f"the name of a dynamic dimension must be a string, got {name!r}")
        if not name.isidentifier():
            raise InvalidValueError(
                f"the name of a dynamic dimension must be an identifier, got {name!r}", hint='write pl.dynamic("M")'
            )
        self.name = name
        self._var: Var | None = None

    @property
    def expr(self) -> Var:
        """The IR variable."""
        if self._var is None:
            self._var = Var(self.name, ScalarType(DataType.INDEX))
        return self._var

    def __add__(self, other: Any) -> Expr:
        return self.expr + _unwrap(other)

    def __radd__(self, other: Any) -> Expr:
        return _unwrap(other) + self.expr

    def __sub__(self, other: Any) -> Expr:
        return self.expr - _unwrap(other)

    def __rsub__(self, other: Any) -> Expr:
        return _unwrap(other) - self.expr

    def __mul__(self, other: Any) -> Expr:
        return self.expr * _unwrap(other)

    def __rmul__(self, other: Any) -> Expr:
        return _unwrap(other) * self.expr

    def __truediv__(self, other: Any) -> Expr:
        return self.expr / _unwrap(other)

    def __rtruediv__(self, other: Any) -> Expr:
        return _unwrap(other) / self.expr

    def __floordiv__(self, other: Any) -> Expr:
        return self.expr // _unwrap(other)

    def __rfloordiv__(self, other: Any) -> Expr:
        return _unwrap(other) // self.expr

    def __mod__(self, other: Any) -> Expr:
        return self.expr % _unwrap(other)

    def __rmod__(self, other: Any) -> Expr:
        return _unwrap(other) % self.expr

    def __neg__(self) -> Expr:
        return -self.expr

    def __repr__(self) -> str:
        return f"DynVar({self.name!r})"


def _unwrap(value: Any) -> Any:
    return value.expr if isinstance(value, DynVar) else value
