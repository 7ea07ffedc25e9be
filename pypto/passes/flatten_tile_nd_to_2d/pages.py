"""Operators that work on each page (the last two dimensions) of deep tiles by itself: they are made again for every page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from math import prod

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import AttrValue
from pypto.ir.expr import Call, Expr, MakeTuple, Var, index_const
from pypto.ir.op import create_internal_op_call, get_op
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ir.types import TileType, static_dims
from pypto.ops.region import same_dims
from pypto.passes.flatten_tile_nd_to_2d.shapes import flat_type

Page = tuple[int, ...]


class Rewriting:
    """What a rule writes with: statements to put before, and operators on pages that were put off until a page is asked for."""

    def __init__(self, deferred: Mapping[Var, Call]) -> None:
        self.before: list[Stmt] = []
        self.span = Span.unknown()
        self.deferred = deferred
        self._pages: dict[tuple[Expr, Page], Expr] = {}

    def let(self, name: str, value: Expr) -> Var:
        """Assign a value to a fresh variable."""
        var = Var(name, value.type, self.span)
        self.before.append(AssignStmt(var, value, self.span))
        return var

    def call(self, name: str, args: Sequence[Expr], kwargs: Mapping[str, AttrValue] | None = None) -> Call:
        """A typed call of a declared operator."""
        return create_internal_op_call(get_op(name), args, kwargs, self.span)

    def blank(self, name: str, shape: Sequence[Expr], like: TileType) -> Var:
        """A fresh tile of the element type and memory of ``like``."""
        keywords: dict[str, AttrValue] = {"dtype": like.dtype}
        if like.memory_space is not None:
            keywords["target_memory"] = like.memory_space
        return self.let(name, self.call("tile.create", [MakeTuple(shape)], keywords))

    def page(self, original: Expr, flat: Expr, page: Page) -> Expr:
        """One page of an operand: ``original`` has the dimensions, ``flat`` the elements; missing and unit dimensions are repeated."""
        type_ = original.type
        if not isinstance(type_, TileType) or len(type_.shape) <= 2:
            return flat
        dims = constant_shape(type_, self.span)
        batch = dims[:-2]
        own = tuple(0 if d == 1 else p for d, p in zip(batch, page[len(page) - len(batch) :], strict=True))
        known = self._pages.get((original, own))
        if known is not None:
            return known
        put_off = self.deferred.get(original) if isinstance(original, Var) else None
        if put_off is not None:
            source = self.page(put_off.args[0], flat, own)
            made = self.let("page__tile", create_internal_op_call(get_op(put_off.op.name), [source], put_off.kwargs, self.span))
        else:
            made = self.rows(flat, _number(own, batch) * dims[-2], dims[-2])
        self._pages[(original, own)] = made
        return made

    def rows(self, flat: Expr, begin: int, count: int) -> Expr:
        """Some rows of a two-dimensional tile; the tile itself when it has no others."""
        type_ = flat.type
        assert isinstance(type_, TileType)
        if static_dims(type_.shape[:1]) == (count,):
            return flat
        dims = MakeTuple([index_const(count), type_.shape[-1]])
        offset = MakeTuple([index_const(begin), index_const(0)])
        return self.let("page__tile", self.call("tile.slice", [flat, dims, offset]))

    def put(self, target: Expr, rows: Expr, begin: int) -> Expr:
        """The target with rows put in; the rows themselves when they are all of it."""
        if (
            isinstance(target.type, TileType)
            and isinstance(rows.type, TileType)
            and same_dims(target.type.shape, rows.type.shape)
        ):
            return rows
        offset = MakeTuple([index_const(begin), index_const(0)])
        return self.let("pages__tile", self.call("tile.assemble", [target, rows, offset]))


def constant_shape(type_: TileType, span: Span) -> tuple[int, ...]:
    """The extents of a tile as numbers.

    Raises:
        InvalidValueError: one is not constant.
    """
    flat_type(type_, span)
    dims = static_dims(type_.shape)
    if dims is None:
        raise InvalidValueError("a tile needs a constant shape to be taken apart page by page", span)
    return dims


def _number(page: Page, batch: Sequence[int]) -> int:
    number = 0
    for at, extent in zip(page, batch, strict=True):
        number = number * extent + at
    return number


def page_by_page(
    call: Call, args: Sequence[Expr], work: Rewriting, compute: Callable[[list[Expr]], Expr], into: Expr | None = None
) -> Expr:
    """The result of a call made page by page, as one two-dimensional tile.

    Args:
        call: the original call.
        args: its operands after flattening.
        work: where statements go.
        compute: from the operands of one page to its result.
        into: a two-dimensional tile that the results go into; a fresh one when omitted.
    """
    type_ = call.type
    assert isinstance(type_, TileType)
    dims = constant_shape(type_, call.span)
    wanted = flat_type(type_, call.span)
    assert isinstance(wanted, TileType)
    batch = dims[:-2]
    many = prod(batch) > 1
    target: Expr | None = into
    value: Expr = call
    for at, page in enumerate(product(*[range(d) for d in batch])):
        value = compute([work.page(original, flat, page) for original, flat in zip(call.args, args, strict=True)])
        if not many:
            break
        if target is None:
            target = work.blank("pages__tmp", wanted.shape, wanted)
        target = work.put(target, work.let("page__tile", value), at * dims[-2])
    result = value if target is None or not many else target
    made = result.type
    assert isinstance(made, TileType)
    if same_dims(made.valid_shape, wanted.valid_shape):
        return result
    whole = result if isinstance(result, Var) else work.let("pages__tile", result)
    return work.call("tile.set_validshape", [whole, *wanted.valid_shape])
