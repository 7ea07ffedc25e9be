"""FlattenTileNdTo2D: tiles of more than two dimensions become two-dimensional."""

from __future__ import annotations

from dataclasses import dataclass

from pypto.ir.enums import is_incore_type
from pypto.ir.function import Function, Program
from pypto.passes.base import FunctionPass
from pypto.passes.flatten_tile_nd_to_2d.flatten import flatten_function
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class FlattenTileNdTo2D(FunctionPass):
    """Tiles of more than two dimensions become ``[product of the leading ones, last]``; loads and stores keep their windows."""

    REQUIRED = (IRProperty.SSAForm, IRProperty.IncoreTileOps, IRProperty.NormalizedStmtStructure)
    PRODUCED = (IRProperty.SSAForm, IRProperty.TileOps2D, IRProperty.NormalizedStmtStructure)

    def transform_function(self, function: Function, program: Program) -> Function:
        """The function with two-dimensional tiles; the same object when it has no others.

        Raises:
            InvalidValueError: something that two dimensions cannot express, with its place.
        """
        return flatten_function(function) if is_incore_type(function.func_type) else function
