"""Verification: for each property of programs a pure function from a program to its faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from pypto.diagnostics import Diagnostic, InvalidValueError, did_you_mean
from pypto.ir.function import Program
from pypto.ir.verify.array_not_escaped import verify_array_not_escaped
from pypto.ir.verify.break_continue_valid import verify_break_continue_valid
from pypto.ir.verify.comm_domain_scopes import verify_comm_domain_scopes
from pypto.ir.verify.depth import MAX_BLOCKS, MAX_BRACKETS, verify_depth
from pypto.ir.verify.dist_tensor_ctx import verify_dist_tensor_ctx
from pypto.ir.verify.incore_scopes import verify_no_nested_incore, verify_split_incore_orch
from pypto.ir.verify.incore_tile_ops import verify_incore_tile_ops
from pypto.ir.verify.inline_functions_eliminated import verify_inline_functions_eliminated
from pypto.ir.verify.no_nested_calls import verify_no_nested_calls
from pypto.ir.verify.no_redundant_blocks import verify_no_redundant_blocks
from pypto.ir.verify.normalized_stmt_structure import verify_normalized_stmt_structure
from pypto.ir.verify.out_param_not_shadowed import verify_out_param_not_shadowed
from pypto.ir.verify.report import (
    Finding,
    NestedCallErrorType,
    PropertyViolation,
    SSAErrorType,
    TypeCheckErrorType,
    UseAfterDefErrorType,
    generate_report,
)
from pypto.ir.verify.ssa_form import verify_ssa_form
from pypto.ir.verify.structured_ctrl_flow import verify_structured_ctrl_flow
from pypto.ir.verify.tensor_view_canonical import verify_tensor_view_canonical
from pypto.ir.verify.tile_ops_2d import verify_tile_ops_2d
from pypto.ir.verify.type_checked import verify_type_checked
from pypto.ir.verify.unroll_resolved import verify_unroll_resolved
from pypto.ir.verify.use_after_def import verify_use_after_def

Verifier = Callable[[Program], list[Diagnostic]]
"""What checks one property."""

PROPERTIES: dict[str, Verifier] = {
    "Depth": verify_depth,
    "SSAForm": verify_ssa_form,
    "TypeChecked": verify_type_checked,
    "NoNestedCalls": verify_no_nested_calls,
    "NormalizedStmtStructure": verify_normalized_stmt_structure,
    "NoRedundantBlocks": verify_no_redundant_blocks,
    "SplitIncoreOrch": verify_split_incore_orch,
    "IncoreTileOps": verify_incore_tile_ops,
    "TileOps2D": verify_tile_ops_2d,
    "BreakContinueValid": verify_break_continue_valid,
    "UseAfterDef": verify_use_after_def,
    "StructuredCtrlFlow": verify_structured_ctrl_flow,
    "OutParamNotShadowed": verify_out_param_not_shadowed,
    "NoNestedInCore": verify_no_nested_incore,
    "InlineFunctionsEliminated": verify_inline_functions_eliminated,
    "TensorViewCanonical": verify_tensor_view_canonical,
    "ArrayNotEscaped": verify_array_not_escaped,
    "UnrollResolved": verify_unroll_resolved,
    "CommDomainScopesMaterialized": verify_comm_domain_scopes,
    "DistTensorCtxMaterialized": verify_dist_tensor_ctx,
}
"""The verifier of each property by its name. Properties without one are not checked here."""


def verify(program: Program, names: Iterable[str] | None = None) -> list[Diagnostic]:
    """The faults of a program against the named properties (all when None), property by property.

    The depth is always checked first; a program that is too deep is reported as that alone.

    Raises:
        InvalidValueError: a name is no property with a verifier.
    """
    wanted = list(PROPERTIES) if names is None else list(names)
    for name in wanted:
        if name not in PROPERTIES:
            close = did_you_mean(name, list(PROPERTIES))
            raise InvalidValueError(f"no verifier checks {name!r}", hint=f"did you mean {close!r}?" if close else None)
    found = verify_depth(program)
    if any(finding.message.endswith("nested blocks") for finding in found):
        return found
    for name in wanted:
        if name != "Depth":
            found += PROPERTIES[name](program)
    return found


def verify_or_throw(program: Program, names: Iterable[str] | None = None) -> None:
    """Raise when a program lacks one of the named properties.

    Raises:
        PropertyViolation: a VerificationError whose text lists each fault with its place.
    """
    found = verify(program, names)
    if found:
        raise PropertyViolation(found)


__all__ = [
    "MAX_BLOCKS",
    "MAX_BRACKETS",
    "PROPERTIES",
    "Finding",
    "NestedCallErrorType",
    "PropertyViolation",
    "SSAErrorType",
    "TypeCheckErrorType",
    "UseAfterDefErrorType",
    "Verifier",
    "generate_report",
    "verify",
    "verify_or_throw",
    "verify_tensor_view_canonical",
]
