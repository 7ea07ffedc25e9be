"""Operators as Python objects: ``pl.add``, ``pl.tile.load`` ..., each made from its declaration when first asked for."""

from __future__ import annotations

import inspect
from typing import Any

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.expr import Expr
from pypto.ir.span import Span
from pypto.ir.types import DistributedTensorType, ScalarType, TensorType, TileType
from pypto.language.annotations import DistributedTensor, Scalar, Tensor, Tile, Value
from pypto.language.control import NotExecutableError
from pypto.ops.vocabulary import Entry, Unified, lookup, names


class Operator:
    """An operator under one of its spellings.

    Inside a kernel the call is read from source. Called with wrapped IR values (``pl.Tile(expr=...)``) or IR expressions it builds the
    call and wraps the result.
    """

    def __init__(self, path: str, entry: Entry, prefix: str = "pl") -> None:
        self.path = path
        self.entry = entry
        self.__name__ = path.rpartition(".")[2]
        self.__qualname__ = f"{prefix}.{path}" if not path.startswith("pld.") else path
        self.__doc__ = entry.doc
        self.__module__ = "pypto.language"

    @property
    def __signature__(self) -> inspect.Signature:
        return self.entry.signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Build the operator's call from wrapped IR values.

        Raises:
            NotExecutableError: no argument is an IR value.
            Error: what the operator refuses, with the line that calls.
        """
        given = [_unwrapped(a) for a in args]
        named = {name: _unwrapped(value) for name, value in kwargs.items()}
        if (given or named) and not any(_holds_ir(v) for v in (*given, *named.values())):
            raise NotExecutableError(
                f"{self.__qualname__} is part of the kernel language: it is read from the source of a decorated function",
                hint="use it inside a function decorated with @pl.function, or give it IR values",
            )
        span = Span.of_caller()
        try:
            if isinstance(self.entry, Unified):
                built = self.entry.build(given, named, span)
            else:
                built = self.entry.build(self.entry.bind(given, named), span)
        except Error as error:
            if error.place is None and span.is_valid():
                error.place = span
            raise
        return wrap(built)

    def __repr__(self) -> str:
        return f"<operator {self.entry.spelling()}>"


def _unwrapped(value: Any) -> Any:
    if isinstance(value, Value) and value.expr is not None:
        return value.expr
    if isinstance(value, list | tuple):
        items: list[Any] = [_unwrapped(v) for v in value]  # pyright: ignore[reportUnknownVariableType]
        return items
    return value


def _holds_ir(value: Any) -> bool:
    if isinstance(value, list):
        return any(_holds_ir(v) for v in value)  # pyright: ignore[reportUnknownVariableType]
    return isinstance(value, Expr)


def wrap(expr: Expr) -> Any:
    """An IR expression in the wrapper of its kind; expressions of other kinds as they are."""
    if isinstance(expr.type, DistributedTensorType):
        return DistributedTensor(expr=expr)
    if isinstance(expr.type, TensorType):
        return Tensor(expr=expr)
    if isinstance(expr.type, TileType):
        return Tile(expr=expr)
    return Scalar(expr=expr) if isinstance(expr.type, ScalarType) else expr


class Namespace:
    """The operators of one namespace as attributes: ``pl.tile``, ``pl.tensor``, ``pld.tensor`` ..."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self._shown = name if name.startswith("pld.") else f"pl.{name}"
        self.__doc__ = f"Operators spelled ``{self._shown}.<name>``."

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        found = operator(f"{self.__name__}.{name}")
        if found is None:
            close = did_you_mean(name, names(self.__name__))
            hint = f"; did you mean {close!r}?" if close else ""
            raise AttributeError(f"there is no operator {self._shown}.{name}{hint}")
        self.__dict__[name] = found
        return found

    def __dir__(self) -> list[str]:
        return names(self.__name__)

    def __repr__(self) -> str:
        return f"<namespace {self._shown}>"


def operator(path: str) -> Operator | None:
    """The operator under a dotted spelling, or None."""
    entry = lookup(path)
    return None if entry is None else Operator(path, entry)
