"""How each tensor operator becomes tile operators inside a kernel. The simple ones follow from the vocabulary; others are registered.

A conversion of one's own: ``@op_conversion("tensor.my_op")`` over ``fn(ctx, args, kwargs, span)``, which returns an expression, or
statements and an expression; or ``register_op_conversion("tensor.my_op", "tile.my_op")``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import AttrValue
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Call, Expr, MakeTuple, Var, index_const
from pypto.ir.op import create_internal_op_call, find_op, get_op
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ir.types import TensorType, TileType
from pypto.ops.declare import Declaration


class ConversionContext:
    """What a conversion writes with: ``let`` names a value, ``emit`` adds a statement, ``call`` makes a typed operator call."""

    def __init__(self, span: Span = UNKNOWN) -> None:
        self.span = span
        self.stmts: list[Stmt] = []

    def let(self, name: str, value: Expr) -> Var:
        """Assign a value to a fresh variable."""
        var = Var(name, value.type, self.span)
        self.emit(AssignStmt(var, value, self.span))
        return var

    def emit(self, stmt: Stmt) -> None:
        """Add a statement before the converted one."""
        self.stmts.append(stmt)

    def call(self, op_name: str, args: Sequence[Expr], kwargs: Mapping[str, AttrValue] | None = None) -> Call:
        """A typed call of a declared operator."""
        return create_internal_op_call(get_op(op_name), args, kwargs, self.span)

    def tile(self, value: Expr, space: MemorySpace = MemorySpace.Vec) -> Expr:
        """A value as a tile: a tensor in global memory is loaded whole into ``space``."""
        if not isinstance(value.type, TensorType):
            return value
        name = value.name_hint.partition("__")[0] if isinstance(value, Var) else "value"
        return self.let(f"{name}__tile", load_whole(value, space, self.span))


def load_whole(tensor: Expr, space: MemorySpace, span: Span) -> Call:
    """``tile.load`` of all of a tensor, its valid region included."""
    type_ = tensor.type
    assert isinstance(type_, TensorType)
    offsets = MakeTuple([index_const(0) for _ in type_.shape])
    shape = MakeTuple(type_.shape)
    return create_internal_op_call(get_op("tile.load"), [tensor, offsets, shape, shape], {"target_memory": space}, span)


Conversion = Callable[[ConversionContext, Sequence[Expr], Mapping[str, AttrValue], Span], Any]
"""A conversion: the operands (tiles, or tensors that were not loaded), the keywords and the place; returns the new value."""


class _Entry:
    __slots__ = ("convert", "keeps", "loads_itself")

    def __init__(self, convert: Conversion, loads_itself: bool, keeps: int | None = None) -> None:
        self.convert = convert
        self.loads_itself = loads_itself
        self.keeps = keeps


_CONVERSIONS: dict[str, _Entry] = {}


def op_conversion(from_op: str, *, loads_itself: bool = False, keeps: int | None = None) -> Callable[[Conversion], Conversion]:
    """Register the decorated function as the conversion of ``from_op``.

    Args:
        from_op: the tensor operator.
        loads_itself: the conversion takes tensors in global memory as they are; otherwise they are loaded into tiles before.
        keeps: the operand that decides whether the result is a tensor or a tile; without it the result is a tile.
    """

    def register(function: Conversion) -> Conversion:
        _CONVERSIONS[from_op] = _Entry(function, loads_itself, keeps)
        return function

    return register


def register_op_conversion_custom(from_op: str, function: Conversion, *, loads_itself: bool = False) -> None:
    """Register a conversion function; see :func:`op_conversion`."""
    op_conversion(from_op, loads_itself=loads_itself)(function)


def register_op_conversion(from_op: str, to_op: str) -> None:
    """``from_op`` becomes ``to_op`` with the same operands and keywords."""
    op_conversion(from_op)(_same_operands(to_op))


def _same_operands(to_op: str) -> Conversion:
    def convert(ctx: ConversionContext, args: Sequence[Expr], kwargs: Mapping[str, AttrValue], span: Span) -> Expr:
        return ctx.call(to_op, args, kwargs)

    return convert


def has_op_conversion(name: str) -> bool:
    """True when the operator can be converted."""
    return find_conversion(name) is not None


def find_conversion(name: str) -> _Entry | None:
    """The conversion of an operator: a registered one, else the one its declaration states; None when there is neither."""
    entry = _CONVERSIONS.get(name)
    if entry is None:
        declared = find_op(name)
        if isinstance(declared, Declaration) and declared.tile_form is not None:
            entry = _CONVERSIONS[name] = _Entry(_same_operands(declared.tile_form), False)
    return entry


def remove_op_conversion(name: str) -> None:
    """Take a registered conversion out again."""
    _CONVERSIONS.pop(name, None)


def tile_type(value: Expr) -> TileType:
    """The tile type of an operand that must be a tile by now.

    Raises:
        InvalidValueError: it is something else.
    """
    if not isinstance(value.type, TileType):
        raise InvalidValueError("a tile is needed here", value.span)
    return value.type
