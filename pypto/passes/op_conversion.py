"""How each tensor operator becomes tile operators inside a kernel. The simple ones follow from the vocabulary; others are registered.

A conversion of one's own: ``@op_conversion("tensor.my_op")`` over ``fn(ctx, args, kwargs, span)``, which returns an expression, or
statements and an expression; or ``register_op_conversion("tensor.my_op", "tile.my_op")``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CastMode, MemorySpace
from pypto.ir.expr import EMPTY, Call, Expr, MakeTuple, Var, index_const
from pypto.ir.op import create_internal_op_call, find_op, get_op
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ir.types import ScalarType, TensorType, TileType, Type
from pypto.ops.declare import Declaration, OperandError
from pypto.passes.names import name_base


class ConversionContext:
    """What a conversion writes with: ``let`` names a value, ``emit`` adds a statement, ``call`` makes a typed operator call.

    ``result_type`` is the type of the call under conversion, ``wanted`` the memory space that every use of its result asks for.
    """

    def __init__(self, span: Span = UNKNOWN) -> None:
        self.span = span
        self.stmts: list[Stmt] = []
        self.result_type: Type | None = None
        self.wanted: MemorySpace | None = None

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
        name = name_base(value.name_hint) if isinstance(value, Var) else "value"
        load = load_whole(value, space, self.span)
        var = Var(f"{name}__tile", load.type, UNKNOWN)
        self.emit(AssignStmt(var, load, UNKNOWN))
        return var

    def first_accepted(self, *forms: tuple[str, Sequence[Expr]]) -> Call:
        """The first of several calls whose type rule takes its operands; what the last rule refuses is an error."""
        for name, args in forms[:-1]:
            try:
                return self.call(name, args)
            except OperandError:
                continue
        return self.call(*forms[-1])

    def result_dtype(self, default: Expr) -> DataType:
        """The element type that the result of the call under conversion has; that of ``default`` when it is not known."""
        type_ = self.result_type
        return type_.dtype if isinstance(type_, TensorType) else tile_type(default).dtype

    def result_shape(self, default: Expr) -> Sequence[Expr]:
        """The extents that the result of the call under conversion has; those of ``default`` when they are not known."""
        type_ = self.result_type
        return type_.shape if isinstance(type_, TensorType) else tile_type(default).shape


def load_whole(tensor: Expr, space: MemorySpace, place: Span = UNKNOWN) -> Call:
    """``tile.load`` of all of a tensor that is valid; the call has no place, an error in making it is at ``place``."""
    type_ = tensor.type
    assert isinstance(type_, TensorType)
    offsets = MakeTuple([index_const(0) for _ in type_.shape])
    operands = [tensor, offsets, MakeTuple(type_.shape), MakeTuple(type_.valid_shape)]
    made = create_internal_op_call(get_op("tile.load"), operands, {"target_memory": space}, place)
    return made.replace(span=UNKNOWN) if place.is_valid() else made


Conversion = Callable[[ConversionContext, Sequence[Expr], Mapping[str, AttrValue], Span], Any]
"""A conversion: the operands (tiles, or tensors that were not loaded), the keywords and the place; returns the new value."""


class _Entry:
    __slots__ = ("convert", "keeps", "loads_itself", "spaces")

    def __init__(
        self,
        convert: Conversion,
        loads_itself: bool,
        keeps: int | None = None,
        spaces: Mapping[int, MemorySpace] = EMPTY,  # pyright: ignore[reportArgumentType]
    ) -> None:
        self.convert = convert
        self.loads_itself = loads_itself
        self.keeps = keeps
        self.spaces = spaces


_CONVERSIONS: dict[str, _Entry] = {}


def op_conversion(
    from_op: str,
    *,
    loads_itself: bool = False,
    keeps: int | None = None,
    spaces: Mapping[int, MemorySpace] = EMPTY,  # pyright: ignore[reportArgumentType]
) -> Callable[[Conversion], Conversion]:
    """Register the decorated function as the conversion of ``from_op``.

    Args:
        from_op: the tensor operator.
        loads_itself: the conversion takes tensors in global memory as they are; otherwise they are loaded into tiles before.
        keeps: the operand that decides whether the result is a tensor or a tile; without it the result is a tile.
        spaces: memory spaces that operands should live in; a value of which every use says so is made there at once.
    """

    def register(function: Conversion) -> Conversion:
        _CONVERSIONS[from_op] = _Entry(function, loads_itself, keeps, spaces)
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
        declared = get_op(to_op)
        wanted = ctx.result_type
        if isinstance(declared, Declaration) and declared.promotes and isinstance(wanted, TensorType):
            args = [_promoted(ctx, a, wanted.dtype) for a in args]
        if (
            isinstance(args[-1].type if args else None, ScalarType)
            and isinstance(declared, Declaration)
            and declared.scalar_variant
        ):
            to = declared.scalar_variant
            return ctx.call(to, args, kwargs)
        return ctx.call(to_op, args, kwargs)

    return convert


def _promoted(ctx: ConversionContext, value: Expr, dtype: DataType) -> Expr:
    """A tile operand in the element type of the result, which operators on tiles do not always convert to by themselves."""
    if not isinstance(value.type, TileType) or value.type.dtype is dtype:
        return value
    return ctx.let("promoted__tile", ctx.call("tile.cast", [value], {"target_type": dtype, "mode": int(CastMode.round)}))


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
