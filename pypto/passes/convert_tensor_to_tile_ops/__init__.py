"""ConvertTensorToTileOps: tensor operators of kernels become tile operators, with loads, stores and output parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pypto.ir.call_graph import callees_first
from pypto.ir.enums import ParamDirection, is_incore_type
from pypto.ir.function import Function, Program
from pypto.passes.base import Pass
from pypto.passes.convert_tensor_to_tile_ops.callers import WRAPPERS, CallSites
from pypto.passes.convert_tensor_to_tile_ops.convert import AddedOutput, convert_function
from pypto.passes.convert_tensor_to_tile_ops.directions import infer_directions
from pypto.passes.convert_tensor_to_tile_ops.rescue import rescue
from pypto.passes.properties import IRProperty
from pypto.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class ConvertTensorToTileOps(Pass):
    """Tensor operators inside kernels become tile operators; tensors are loaded at entry and results stored to new Out parameters.

    Callers create the tensors that receive the results, wrapper functions hand them on, and parameters that a kernel writes become
    Out or InOut.
    """

    REQUIRED = (IRProperty.SSAForm, IRProperty.SplitIncoreOrch, IRProperty.NormalizedStmtStructure)
    PRODUCED = (IRProperty.SSAForm, IRProperty.IncoreTileOps, IRProperty.NormalizedStmtStructure, IRProperty.AivSplitValid)
    INVALIDATED = (IRProperty.AivSplitValid,)

    def transform(self, program: Program) -> Program:
        """The converted program; the same object when no kernel has anything to convert.

        Raises:
            InvalidValueError: a tensor operator without a conversion, or bulk and scalar writes to one tensor.
        """
        outputs: dict[str, Sequence[AddedOutput]] = {}
        directions: dict[str, list[ParamDirection]] = {}
        made: list[Function] = []
        for function in callees_first(program):
            if is_incore_type(function.func_type):
                converted = convert_function(rescue(function, directions))
                function = converted.function
                if converted.outputs:
                    outputs[function.name] = converted.outputs
            sites = CallSites(function, outputs)
            function = sites.run()
            if sites.added:
                outputs[function.name] = sites.added
            if is_incore_type(function.func_type) or function.func_type in WRAPPERS:
                function = infer_directions(function, directions)
            directions[function.name] = [*function.param_directions]
            made.append(function)
        return program.with_functions(made)
