"""Dimensions of parameters: binding dynamic ones from the arrays that arrive, and checking all others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pypto.ir.expr import ConstInt, Expr, Var
from pypto.ir.function import Function
from pypto.ir.node import walk
from pypto.ir.types import ShapedType
from pypto.runtime.emitter import Lines
from pypto.runtime.errors import Refusal

if TYPE_CHECKING:
    from pypto.runtime.emit_scalar import ScalarEmitter


def wrong_shape(function: str, param: str, expected: str, got: tuple[int, ...]) -> None:
    """Refuse an array whose shape is not that of its parameter."""
    raise Refusal(f"{function}: {param!r} has the shape [{expected}], got {list(got)}")


def conflict(function: str, param: str, at: int, symbol: str, known: Any, got: int) -> None:
    """Refuse a dimension that contradicts what its symbol stands for."""
    raise Refusal(
        f"{function}: the dimension {symbol!r} cannot be both {int(known)} and {got} (dimension {at} of {param!r})",
        hint=f"every use of {symbol!r} stands for one number",
    )


def free_symbols(expr: Expr) -> list[Var]:
    """The variables of a dimension."""
    return [n for n in walk(expr) if isinstance(n, Var)]


def symbols_of(function: Function) -> list[Var]:
    """Dimension symbols that the shapes of the parameters bind, in the order they are met; scalar parameters not among them."""
    found: dict[Var, None] = {}
    for param in function.params:
        if isinstance(param.type, ShapedType):
            for dim in param.type.shape:
                if isinstance(dim, Var):
                    found[dim] = None
    return [v for v in found if not any(v is p for p in function.params)]


class DimensionBinder:
    """Writes the lines that bind and check the dimensions of a function's parameters."""

    def __init__(self, function: Function, lines: Lines, scalars: ScalarEmitter, known: set[Var]) -> None:
        self._function = function
        self._known = known
        self._lines = lines
        self._scalars = scalars

    def emit(self) -> None:
        """Add the lines; the symbols that get a value are known from then on."""
        bound: set[Var] = set(self._function.params)
        later: list[tuple[Var, int, Expr]] = []
        for param in self._function.params:
            type_ = param.type
            if isinstance(type_, ShapedType):
                self._param(param, type_.shape, bound, later)
        self._known |= bound
        for param, at, dim in later:
            if all(v in bound for v in free_symbols(dim)):
                text = self._scalars.text(dim)
                self._compare(param, at, text, "the size that its type computes")

    def _param(self, param: Var, dims: Sequence[Expr], bound: set[Var], later: list[tuple[Var, int, Expr]]) -> None:
        lines, name = self._lines, self._lines.name(param)
        shown = ", ".join([str(d.value) if isinstance(d, ConstInt) else getattr(d, "name_hint", "?") for d in dims])
        tests = [f"len({name}.shape) != {len(dims)}"]
        static = [d.value for d in dims if isinstance(d, ConstInt)]
        if len(static) == len(dims):
            tests = [f"{name}.shape != ({', '.join(map(str, static))}{',' if len(static) == 1 else ''})"]
        else:
            tests += [f"{name}.shape[{i}] != {d.value}" for i, d in enumerate(dims) if isinstance(d, ConstInt)]
        lines.add(
            f"if {' or '.join(tests)}: "
            f"{lines.use(wrong_shape)}({self._function.name!r}, {param.name_hint!r}, {shown!r}, {name}.shape)"
        )
        for at, dim in enumerate(dims):
            if isinstance(dim, ConstInt):
                continue
            if not isinstance(dim, Var):
                later.append((param, at, dim))
            elif dim in bound:
                self._compare(param, at, lines.name(dim), dim.name_hint)
            else:
                bound.add(dim)
                lines.add(f"{lines.name(dim)} = {name}.shape[{at}]")

    def _compare(self, param: Var, at: int, value: str, symbol: str) -> None:
        lines, name = self._lines, self._lines.name(param)
        lines.add(
            f"if {name}.shape[{at}] != {value}: "
            f"{lines.use(conflict)}({self._function.name!r}, {param.name_hint!r}, {at}, {symbol!r}, {value}, {name}.shape[{at}])"
        )
