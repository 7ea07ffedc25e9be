"""Running programs on NumPy, on any number of ranks: each function becomes one generated Python function, checked for what the machine
would not forgive."""

from pypto.runtime.compile import CompiledFunction, compile_function
from pypto.runtime.entry import entry_function
from pypto.runtime.errors import (
    ArgumentError,
    ArgumentTypeError,
    CollectiveError,
    DeadlockError,
    PoisonError,
    RunError,
    ScheduleError,
)
from pypto.runtime.inputs import compare_results, draw_inputs
from pypto.runtime.run import Report, run
from pypto.runtime.schedules import write_schedule
from pypto.runtime.signals import Finding, SignalReuseWarning
from pypto.runtime.states import RankState
from pypto.runtime.world import Access, Observer

__all__ = [
    "Access",
    "ArgumentError",
    "ArgumentTypeError",
    "CollectiveError",
    "CompiledFunction",
    "DeadlockError",
    "Finding",
    "Observer",
    "PoisonError",
    "RankState",
    "Report",
    "RunError",
    "ScheduleError",
    "SignalReuseWarning",
    "compare_results",
    "compile_function",
    "draw_inputs",
    "entry_function",
    "run",
    "write_schedule",
]
