"""What a program is: element types, types, expressions, statements, functions and programs, and everything that works on them.

Names that belong to layers above (printing, passes, operator helpers) are reachable here for convenience through one late import.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pypto.ir.attrs import AttrValue, normalize_attrs
from pypto.ir.calls import directions, inout, input, make_call, no_dep, output, output_existing, scalar_dir, set_call_attrs
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.enums import (
    ArgDirection,
    ArgEffect,
    AtomicType,
    CastMode,
    CompactMode,
    CoreType,
    ForKind,
    FunctionType,
    InlineLanguage,
    Level,
    Mem,
    MemorySpace,
    NotifyOp,
    PadValue,
    ParamDirection,
    PipeType,
    ReduceOp,
    Role,
    ScopeKind,
    ScopeMode,
    SplitMode,
    TensorLayout,
    TileLayout,
    WaitCmp,
    WriteChannel,
    is_incore_type,
    level_to_linqu_level,
)
from pypto.ir.equality import StructuralDifference, assert_structural_equal, structural_equal
from pypto.ir.expr import *
from pypto.ir.expr import Call, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, index_const
from pypto.ir.function import Function, Program
from pypto.ir.hashing import structural_hash
from pypto.ir.node import Node, late, walk
from pypto.ir.op import (
    DeclaredOp,
    GlobalVar,
    Op,
    create_internal_op_call,
    create_op_call,
    declared_ops,
    find_op,
    get_op,
    is_op_registered,
    register_op,
)
from pypto.ir.scalar import (
    abs,
    add,
    and_,
    bit_and,
    bit_not,
    bit_or,
    bit_shift_left,
    bit_shift_right,
    bit_xor,
    cast,
    eq,
    floordiv,
    ge,
    gt,
    le,
    lt,
    max_,
    min_,
    mod,
    mul,
    ne,
    neg,
    not_,
    or_,
    pow,
    sub,
    truediv,
)
from pypto.ir.span import Span
from pypto.ir.stmt import *
from pypto.ir.types import *
from pypto.ir.utilities import (
    ParentStmtAnalysis,
    call_result_type,
    collect_def_vars,
    deduce_call_return_type,
    deep_clone,
    find_yield_stmt,
    get_last_yield_stmt,
    substitute_expr,
    substitute_stmt,
)

if TYPE_CHECKING:
    from pypto.ir.builder import BuilderError, IRBuilder
    from pypto.ir.serialization import SerializationError, deserialize, deserialize_from_file, serialize, serialize_to_file
    from pypto.ir.visitor import IRMutator, IRVisitor

DYNAMIC_DIM = -1
"""The extent that old text writes for a dimension known only at run time."""

for _name, _dtype in DTYPES.items():
    globals()[_name] = _dtype

# Names that are imported when first asked for: large modules of this package, and conveniences that live in a layer above it.
# name -> (module, attribute; None for the module itself)
_LATER: dict[str, tuple[str, str | None]] = {
    "BuilderError": ("pypto.ir.builder", "BuilderError"),
    "IRBuilder": ("pypto.ir.builder", "IRBuilder"),
    "IRMutator": ("pypto.ir.visitor", "IRMutator"),
    "IRVisitor": ("pypto.ir.visitor", "IRVisitor"),
    "SerializationError": ("pypto.ir.serialization", "SerializationError"),
    "deserialize": ("pypto.ir.serialization", "deserialize"),
    "deserialize_from_file": ("pypto.ir.serialization", "deserialize_from_file"),
    "serialize": ("pypto.ir.serialization", "serialize"),
    "serialize_to_file": ("pypto.ir.serialization", "serialize_to_file"),
    "arith": ("pypto.ir.arith", None),
    "tensor_view_semantics": ("pypto.ir.tensor_view_semantics", None),
    "op": ("pypto.ops.helpers", None),
    "get_op_arg_effect": ("pypto.ops.queries", "get_op_arg_effect"),
    "get_op_memory_spec": ("pypto.ops.queries", "get_op_memory_spec"),
    "get_op_write_channel": ("pypto.ops.queries", "get_op_write_channel"),
    "op_has_declared_arg_effect": ("pypto.ops.queries", "op_has_declared_arg_effect"),
    "op_has_declared_arg_effects": ("pypto.ops.queries", "op_has_declared_arg_effects"),
    "DiagnosticPhase": ("pypto.passes", "DiagnosticPhase"),
    "DiagnosticCheck": ("pypto.passes", "DiagnosticCheck"),
    "DiagnosticCheckSet": ("pypto.passes", "DiagnosticCheckSet"),
    "python_print": ("pypto.printer", "python_print"),
    "register_format_callback": ("pypto.printer", "register_format_callback"),
    "PassManager": ("pypto.passes", "PassManager"),
    "OptimizationStrategy": ("pypto.passes", "OptimizationStrategy"),
    "PassDumpLevel": ("pypto.passes", "PassDumpLevel"),
    "PassContext": ("pypto.passes", "PassContext"),
    "VerificationMode": ("pypto.passes", "VerificationMode"),
    "VerificationLevel": ("pypto.passes", "VerificationLevel"),
    "make_roundtrip_instrument": ("pypto.testing.instruments", "make_roundtrip_instrument"),
    "register_op_conversion": ("pypto.passes.op_conversion", "register_op_conversion"),
    "register_op_conversion_custom": ("pypto.passes.op_conversion", "register_op_conversion_custom"),
    "op_conversion": ("pypto.passes.op_conversion", "op_conversion"),
    "has_op_conversion": ("pypto.passes.op_conversion", "has_op_conversion"),
    "ConversionContext": ("pypto.passes.op_conversion", "ConversionContext"),
}


def __getattr__(name: str) -> Any:
    where = _LATER.get(name)
    if where is None:
        raise AttributeError(f"module 'pypto.ir' has no attribute {name!r}")
    module = late(where[0])
    return module if where[1] is None else getattr(module, where[1])
