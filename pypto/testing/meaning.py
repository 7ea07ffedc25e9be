"""Law of kept meaning: two programs give the same numbers on the same inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import VerificationError
from pypto.ir.function import Function, Program
from pypto.runtime import run
from pypto.runtime.inputs import compare_results, draw_inputs


class MeaningError(VerificationError, AssertionError):
    """A program that gives other numbers than the one it was made from."""

    code = "meaning"


Inputs = Sequence[Any] | Callable[[], Sequence[Any]] | None
"""Arrays in parameter order, a function that makes them, or None to draw them from the parameter types."""


def assert_same_meaning(before: Program | Function, after: Program | Function, inputs: Inputs = None, *, seed: int = 0) -> None:
    """Run two programs on copies of the same inputs and compare results and written arrays.

    Args:
        before: the one program.
        after: the other; their entries take the same parameters.
        inputs: arrays in parameter order, a function that makes them, or None to draw them (floats uniform in -2..2, integers
            0..7).
        seed: for drawn inputs.

    Raises:
        MeaningError: results or written arrays differ beyond the tolerance of their element type (FP32 1e-5, FP16 and BF16 2e-2).
    """
    arrays = list(inputs() if callable(inputs) else draw_inputs(before, seed=seed) if inputs is None else inputs)
    first, second = _copies(arrays), _copies(arrays)
    expected, found = run(before, *first), run(after, *second)
    problem = compare_results(expected, found)
    for at, (old, new) in enumerate(zip(first, second, strict=True)):
        if problem is None and isinstance(old, np.ndarray):
            difference = compare_results(old, new)
            problem = None if difference is None else f"argument {at}: {difference}"
    if problem is not None:
        raise MeaningError(f"{after.name!r} does not mean what it meant before: {problem}")


def _copies(arrays: Sequence[Any]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arrays]
