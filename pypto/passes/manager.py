"""The pass manager: named pipelines, run with or without dumps of every stage."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pypto.diagnostics import Error, InvalidTypeError, InvalidValueError, did_you_mean
from pypto.ir.function import Program
from pypto.passes.base import Pass
from pypto.passes.context import PassContext
from pypto.passes.instruments import DumpInstrument
from pypto.passes.pipeline import PassPipeline
from pypto.passes.pipeline_text import option_parameters, parse_pipeline
from pypto.passes.registry import find_pass, snake_name
from pypto.passes.settings import (
    DiagnosticCheckSet,
    MemoryPlanner,
    OptimizationStrategy,
    PassDumpLevel,
    get_default_diagnostic_phase,
    get_default_verification_level,
)
from pypto.passes.strategy import DEFAULT_ORDER

_SKIPPED: Mapping[MemoryPlanner, frozenset[str]] = {
    MemoryPlanner.PYPTO: frozenset(("lower_pipeline_to_slots",)),
    MemoryPlanner.DSA_RP: frozenset(("lower_pipeline_to_slots", "memory_reuse")),
    MemoryPlanner.PTOAS: frozenset(("memory_reuse", "allocate_memory_addr")),
}


class PlannerMismatchError(Error, RuntimeError):
    """A pass manager runs under another memory planner than it was made for."""

    code = "planner-mismatch"


class PassManager:
    """A list of passes. Made by :meth:`get_strategy` or :meth:`from_text`, run by :meth:`run_passes`."""

    def __init__(self, passes: PassPipeline, strategy: OptimizationStrategy | None = None) -> None:
        self.strategy = strategy
        self.passes: tuple[Pass, ...] = tuple(passes.get_passes())
        self._planner = _planner()

    @classmethod
    def get_strategy(
        cls,
        strategy: OptimizationStrategy = OptimizationStrategy.Default,
        *,
        analyze_auto_scopes_for_deps: bool = False,
        signals: str | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> PassManager:
        """The manager of a named strategy: the passes of the default order that exist here.

        ``signals`` chooses the protocol of in-kernel signals (``single_shot`` or ``credit``); ``options`` gives options of passes by
        pass name. The memory planner of the context in force decides which memory passes are in.

        Raises:
            InvalidValueError: another strategy, or options for a pass or of a name that does not exist.
        """
        if strategy is not OptimizationStrategy.Default:
            raise InvalidValueError(f"unknown strategy {strategy!r}", hint="use OptimizationStrategy.Default")
        wanted = {snake_name(name): dict(values) for name, values in (options or {}).items()}
        if signals is not None:
            wanted.setdefault("lower_composite_ops", {})["signals"] = signals
        if analyze_auto_scopes_for_deps and find_pass("auto_derive_task_dependencies") is not None:
            wanted.setdefault("auto_derive_task_dependencies", {})["analyze_auto_scopes"] = True
        skipped = _SKIPPED[_planner()]
        pipeline = PassPipeline()
        for name in DEFAULT_ORDER:
            factory = None if name in skipped else find_pass(name)
            if factory is not None:
                given = wanted.get(name, {})
                _check_options(name, given, list(option_parameters(factory)) if given else ())
                pipeline.add_pass(factory(**given))
        for name in wanted:
            if name not in DEFAULT_ORDER or find_pass(name) is None:
                raise InvalidValueError(f"options are given for the pass {name!r}, which does not run")
        return cls(pipeline, strategy)

    @classmethod
    def from_text(cls, text: str) -> PassManager:
        """The manager of a pipeline text, such as ``convert_to_ssa,lower_composite_ops(signals=credit)``."""
        return cls(parse_pipeline(text))

    @property
    def pass_names(self) -> list[str]:
        """The CamelCase names in order."""
        return [item.get_name() for item in self.passes]

    def get_pass_names(self) -> list[str]:
        """The CamelCase names in order."""
        return self.pass_names

    def run_passes(
        self,
        program: Program,
        dump_ir: bool | PassDumpLevel = False,
        output_dir: str | Path | None = None,
        prefix: str = "pl",
    ) -> Program:
        """Run all passes. With ``dump_ir`` every stage is written to ``output_dir``, see :class:`DumpInstrument`.

        Raises:
            InvalidTypeError: ``program`` is not a Program.
            InvalidValueError: ``dump_ir`` without ``output_dir``.
            PlannerMismatchError: the memory planner in force is not the one at construction.
        """
        if not isinstance(program, Program):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise NotAProgramError(f"run_passes takes a Program, got {type(program).__name__}")
        if _planner() is not self._planner:
            raise PlannerMismatchError(
                f"the pass manager was made for the memory planner {self._planner.name} and runs under {_planner().name}",
                hint="make it inside the PassContext that it runs in",
            )
        pipeline = PassPipeline(self.passes)
        level = PassDumpLevel(int(dump_ir))
        if level is PassDumpLevel.NONE:
            return pipeline.run(program)
        if output_dir is None:
            raise InvalidValueError("dump_ir needs output_dir")
        dump = DumpInstrument(output_dir, level, prefix)
        outer = PassContext.current()
        if outer is None:
            inner = PassContext(
                [dump],
                get_default_verification_level(),
                get_default_diagnostic_phase(),
                DiagnosticCheckSet(),
            )
        else:
            inner = outer.with_instruments([*outer.get_instruments(), dump])
        with inner:
            return pipeline.run(program)


class NotAProgramError(InvalidTypeError, ValueError):
    """Something other than a Program was given to run passes on."""


def _planner() -> MemoryPlanner:
    context = PassContext.current()
    return MemoryPlanner.PYPTO if context is None else context.get_memory_planner()


def _check_options(name: str, given: Mapping[str, Any], known: Any) -> None:
    for key in given:
        if key not in known:
            close = did_you_mean(key, known)
            raise InvalidValueError(
                f"the pass {name!r} has no option {key!r}", hint=f"did you mean {close!r}?" if close else None
            )
