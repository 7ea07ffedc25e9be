"""Conversions of transfers between ranks: put and get pass through a stage on the chip, a remote store takes a tile."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.attrs import AttrValue
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr, MakeTuple, index_const
from pypto.ir.span import Span
from pypto.ir.types import TensorType, TileType
from pypto.ops.region import constant, entries, flat_dims
from pypto.passes.convert_tensor_to_tile_ops.conversions import Args, Kwargs
from pypto.passes.op_conversion import ConversionContext, op_conversion


@op_conversion("pld.tensor.remote_store", loads_itself=True)
def _remote_store(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
    return ctx.call("pld.tile.remote_store", [ctx.tile(args[0]), *args[1:]], kwargs)


def _transfer(leaf: str) -> None:
    @op_conversion(f"pld.tensor.{leaf}", loads_itself=True)
    def _(ctx: ConversionContext, args: Args, kwargs: Kwargs, span: Span) -> Expr:
        region = args[3:]
        stages = _stages(ctx, args, kwargs)
        kept: dict[str, AttrValue] = {k: v for k, v in kwargs.items() if k == "atomic"}
        if region:
            operands = [*args[:3], stages[0], *region, *stages[1:]]
        else:
            operands = [*args[:3], *stages]
        return ctx.call(f"pld.tile.{leaf}", operands, kept)


def _stages(ctx: ConversionContext, args: Args, kwargs: Kwargs) -> list[Expr]:
    """The room through which the elements pass: all that is moved, or the piece that the keywords say; twice to pipeline."""
    source = args[2].type
    assert isinstance(source, TensorType | TileType)
    moved = entries(args[5]) if len(args) > 3 else [*source.shape]
    flat = flat_dims(moved) if len(moved) > 1 else [index_const(1), *moved]
    room: Sequence[Expr] = [_piece(dim, kwargs.get(name)) for dim, name in zip(flat, ("chunk_rows", "chunk_cols"), strict=True)]
    keywords: dict[str, AttrValue] = {"dtype": source.dtype, "target_memory": MemorySpace.Vec}
    count = 2 if kwargs.get("pipeline") is True else 1
    return [ctx.let("stage__tile", ctx.call("tile.create", [MakeTuple(room)], keywords)) for _ in range(count)]


def _piece(dim: Expr, chunk: AttrValue | None) -> Expr:
    if not isinstance(chunk, int) or chunk <= 0:
        return dim
    extent = constant(dim)
    return index_const(chunk if extent is None else min(chunk, extent))


for _leaf in ("put", "get"):
    _transfer(_leaf)
