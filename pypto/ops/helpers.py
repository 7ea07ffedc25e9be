"""``ir.op``: one function for each operator, for building IR by hand: ``ir.op.tile.add(x, 1.0)``, ``ir.op.tensor.create([4], dtype=...)``.

The functions are made from the declarations. They take what people write in a kernel, as Python values: numbers and lists become
constants and tuples, defaults are filled in, a scalar operand chooses the scalar form. The place of the call is ``span=``, else the line
that calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.span import Span
from pypto.ops.declare import Declaration
from pypto.ops.unified import Unified
from pypto.ops.vocabulary import lookup, names

Helper = Callable[..., Any]


class Namespace:
    """The operators of one namespace as functions."""

    def __init__(self, name: str) -> None:
        self.__name__ = name
        self.__doc__ = f"Functions that build calls of the operators {name}.*."

    def __getattr__(self, name: str) -> Helper:
        if name.startswith("__"):
            raise AttributeError(name)
        entry = lookup(f"{self.__name__}.{name}")
        if entry is None or isinstance(entry, Unified):
            close = did_you_mean(name, names(self.__name__))
            hint = f"; did you mean {close!r}?" if close else ""
            raise AttributeError(f"there is no operator {self.__name__}.{name}{hint}")
        made = helper(entry)
        # an operator that is declared anew later must not be hidden by its older helper, so nothing is stored here
        return made

    def __dir__(self) -> list[str]:
        return names(self.__name__)

    def __repr__(self) -> str:
        return f"<operators {self.__name__}.*>"


def helper(declaration: Declaration) -> Helper:
    """The function that builds calls of one operator."""

    def build(*args: Any, span: Span | None = None, **kwargs: Any) -> Any:
        where = Span.of_caller() if span is None else span
        try:
            return declaration.build(declaration.bind(args, kwargs), where)
        except Error as error:
            if error.place is None and where.is_valid():
                error.place = where
            raise

    parameters = [*declaration.signature.parameters.values()]
    place = inspect.Parameter("span", inspect.Parameter.KEYWORD_ONLY, default=None)
    build.__name__ = declaration.leaf
    build.__qualname__ = declaration.name
    build.__doc__ = declaration.doc
    build.__signature__ = inspect.Signature([*parameters, place])  # type: ignore[attr-defined]
    return build


tensor = Namespace("tensor")
tile = Namespace("tile")
system = Namespace("system")
array = Namespace("array")
