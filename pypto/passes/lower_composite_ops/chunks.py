"""Tiles between windows and computation: stages of transfers, and chunks of flat views."""

from __future__ import annotations

from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace, PadValue
from pypto.ir.expr import Expr, Var
from pypto.passes.lower_composite_ops.builder import LoweringBuilder, int_const
from pypto.passes.lower_composite_ops.operands import constant, element_type

CHUNK_BYTES = 16384
"""The most that the tile of a chunk takes."""

ROW_BYTES = 32
"""Rows of tiles are multiples of so many bytes."""


def most_elements(target: Expr) -> int:
    """The elements of a full chunk."""
    return CHUNK_BYTES // element_type(target).get_byte()


def chunk_of(target: Expr, extent: Expr) -> int:
    """The width of a chunk: a full one, or what a smaller known extent takes, rounded up to whole rows of 32 bytes."""
    full = most_elements(target)
    known = constant(extent)
    if known is None or not 0 < known < full:
        return full
    unit = ROW_BYTES // element_type(target).get_byte()
    return -(-known // unit) * unit


def rounded_up(value: Expr, unit: int = 16) -> Expr:
    """An extent rounded up to a multiple."""
    padded = scalar.add(value, int_const(unit - 1), value.span)
    return scalar.mul(scalar.floordiv(padded, int_const(unit), value.span), int_const(unit), value.span)


def stage(b: LoweringBuilder, name: str, rows: Expr | int, columns: Expr, target: Expr) -> Var:
    """The tile through which a transfer to or from ``target`` goes."""
    room = b.call("tile.create", [rows, columns], dtype=element_type(target), target_memory=MemorySpace.Vec)
    return b.bind(name, room)


def load_chunk(b: LoweringBuilder, name: str, view: Expr, column: Expr | int, chunk: int, valid: Expr) -> Var:
    """A chunk of this rank's window, ``valid`` of its columns filled."""
    operands = ([0, column], [1, chunk], [1, valid])
    return b.bind(name, b.call("tile.load", view, *operands, target_memory=MemorySpace.Vec))


def fill(b: LoweringBuilder, name: str, tile: Expr) -> Var:
    """The tile with zeros in all lanes that are not valid."""
    return b.bind(name, b.call("tile.fillpad_inplace", tile, pad_value=PadValue.zero))


def remote_chunk(
    b: LoweringBuilder, names: tuple[str, str, str], view: Expr, peer: Expr, column: Expr, chunk: int, valid: Expr
) -> Var:
    """A chunk of another rank's window, filled up with zeros. ``names`` are those of the load, of the FP16 tail and of the result.

    FP16 is read up to the next 32 bytes; the valid region is cut back afterwards.
    """
    loaded, tail, result = names
    if element_type(view) is not DataType.FP16:
        tile = b.bind(loaded, b.call("pld.tile.remote_load", view, peer, [0, column], [1, chunk], [1, valid]))
        return fill(b, result, tile)
    operands = (view, peer, [0, column], [1, chunk], [1, rounded_up(valid)])
    tile = b.bind(loaded, b.call("pld.tile.remote_load", *operands, allow_physical_tail_padding=True))
    return fill(b, result, b.bind(tail, b.call("tile.set_validshape", tile, 1, valid)))


def remaining(chunk: int, extent: Expr, column: Expr) -> Expr:
    """The columns of a chunk that are left of an extent."""
    return scalar.min_(int_const(chunk), scalar.sub(extent, column, column.span), column.span)
