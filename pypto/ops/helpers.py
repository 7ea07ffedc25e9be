"""``ir.op``: one function for each operator, for building IR by hand: ``ir.op.tile.add(x, 1.0)``, ``ir.op.tensor.create([4], dtype=...)``.

The functions are made from the declarations. They take what people write in a kernel, as Python values: numbers and lists become
constants and tuples, defaults are filled in, a scalar operand chooses the scalar form. The place of the call is ``span=``, else the line
that calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
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

    internal = [p for p in declaration.params if p.internal]

    def build(*args: Any, span: Span | None = None, **kwargs: Any) -> Any:
        where = Span.of_caller() if span is None else span
        try:
            written = {name: kwargs.pop(name) for name in [p.name for p in internal] if name in kwargs}
            bound = declaration.bind(args, kwargs)
            for name, value in written.items():
                bound[declaration.param_index[name]] = value
            return declaration.build(bound, where)
        except Error as error:
            if error.place is None and where.is_valid():
                error.place = where
            raise

    parameters = [*declaration.signature.parameters.values()]
    for p in internal:
        default = inspect.Parameter.empty if p.required else p.default
        parameters.append(inspect.Parameter(p.name, inspect.Parameter.KEYWORD_ONLY, default=default))
    place = inspect.Parameter("span", inspect.Parameter.KEYWORD_ONLY, default=None)
    build.__name__ = declaration.leaf
    build.__qualname__ = declaration.name
    build.__doc__ = declaration.doc
    build.__signature__ = inspect.Signature([*parameters, place])  # type: ignore[attr-defined]
    return build


class Namespaces:
    """Several namespaces of operators, by their last names."""

    def __init__(self, name: str, parts: Sequence[str]) -> None:
        self.__name__ = name
        self.__doc__ = f"Functions that build calls of the operators {name}.*, by namespace: {', '.join(parts)}."
        self._parts = {part: Namespace(f"{name}.{part}") for part in parts}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        part = self._parts.get(name)
        if part is not None:
            return part
        homes = [f"{self.__name__}.{part}.{name}" for part in self._parts if name in names(f"{self.__name__}.{part}")]
        if len(homes) == 1:
            return getattr(self._parts[homes[0].split(".")[-2]], name)
        if homes:
            raise AttributeError(f"{name} is {' or '.join(homes)}: name the namespace")
        known = [*self._parts, *(leaf for part in self._parts for leaf in names(f"{self.__name__}.{part}"))]
        close = did_you_mean(name, known)
        hint = f"; did you mean {close!r}?" if close else ""
        raise AttributeError(f"there is no operator {self.__name__}.*.{name}{hint}")

    def __dir__(self) -> list[str]:
        return sorted({*self._parts, *(leaf for part in self._parts for leaf in names(f"{self.__name__}.{part}"))})

    def __repr__(self) -> str:
        return f"<operators {self.__name__}.*>"


tensor = Namespace("tensor")
tile = Namespace("tile")
system = Namespace("system")
array = Namespace("array")
distributed = Namespaces("pld", ("tensor", "tile", "system"))
