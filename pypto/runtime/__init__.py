"""Running programs on NumPy: each function becomes one generated Python function, checked for what the machine would not forgive."""

from pypto.runtime.compile import CompiledFunction, compile_function
from pypto.runtime.errors import ArgumentError, ArgumentTypeError, PoisonError, RunError
from pypto.runtime.inputs import compare_results, draw_inputs
from pypto.runtime.run import Report, entry_function, run

__all__ = [
    "ArgumentError",
    "ArgumentTypeError",
    "CompiledFunction",
    "PoisonError",
    "Report",
    "RunError",
    "compare_results",
    "compile_function",
    "draw_inputs",
    "entry_function",
    "run",
]
