"""From program to program: passes, the pipelines and contexts they run in, and their observers.

Every pass that exists is reachable as a factory under its snake_case name: ``passes.convert_to_ssa()``.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from pypto.diagnostics import Diagnostic
from pypto.passes.strategy import DEFAULT_ORDER

# The names of this package by the module they live in; each module is imported when first asked for.
_MODULES: dict[str, tuple[str, ...]] = {
    "base": ("FunctionPass", "Pass", "create_function_pass", "create_program_pass"),
    "context": ("PassContext", "current_backend"),
    "diagnostic_checks": ("DiagnosticCheckRegistry",),
    "instruments": (
        "CallbackInstrument",
        "DiagnosticInstrument",
        "DumpInstrument",
        "PassInstrument",
        "ReportInstrument",
        "TimingInstrument",
        "VerificationInstrument",
    ),
    "lower_composite_ops": ("LoweringBuilder", "composite_ops", "composite_rule", "remove_composite_rule"),
    "manager": ("PassManager",),
    "op_conversion": ("ConversionContext", "register_op_conversion", "register_op_conversion_custom"),
    "pipeline": ("PassPipeline",),
    "pipeline_text": ("PipelineTextError", "parse_pipeline", "pass_to_text"),
    "properties": ("IRProperty", "IRPropertySet", "PassProperties", "property_set"),
    "registry": ("camel_name", "find_pass", "get_pass", "pass_names", "register_pass", "snake_name", "unregister_pass"),
    "settings": (
        "Backend",
        "DiagnosticCheck",
        "DiagnosticCheckSet",
        "DiagnosticPhase",
        "DiagnosticSeverity",
        "MemoryPlanner",
        "OptimizationStrategy",
        "PassDumpLevel",
        "RuntimeKind",
        "VerificationLevel",
        "VerificationMode",
        "get_default_diagnostic_phase",
        "get_default_verification_level",
        "runtime_kind_from_name",
        "runtime_kind_to_name",
    ),
    "verification": (
        "PassVerificationError",
        "PropertyVerifierRegistry",
        "get_default_verify_properties",
        "get_structural_properties",
        "get_verified_properties",
        "run_verifier",
        "verify_properties",
        "verify_tensor_view_canonical",
    ),
}
_ERROR_TYPES = ("NestedCallErrorType", "SSAErrorType", "TypeCheckErrorType", "UseAfterDefErrorType")
_HOME = {
    **{name: f"pypto.passes.{module}" for module, names in _MODULES.items() for name in names},
    **dict.fromkeys(_ERROR_TYPES, "pypto.ir.verify"),
}

__all__ = sorted(["Diagnostic", *_HOME])  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = globals()[name] = getattr(import_module(_HOME[name]), name)
        return value
    if name.startswith("_"):
        raise AttributeError(f"module 'pypto.passes' has no attribute {name!r}")
    registry = import_module("pypto.passes.registry")
    factory = registry.find_pass(name)
    if factory is not None and registry.snake_name(name) == name:
        return factory
    message, hint = registry.unknown_pass_text(name)
    raise AttributeError(f"module 'pypto.passes': {message}" + (f"; {hint}" if hint else ""))


class _Package(ModuleType):
    """This package. A pass lives in a module of its own name; that name here stays the factory when the module is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, ModuleType) and name in DEFAULT_ORDER:
            return
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def __dir__() -> list[str]:
    names = import_module("pypto.passes.registry").pass_names()
    return sorted({*globals(), *_HOME, *names})
