"""Hypothesis strategies that make well-typed programs, for property tests of passes and tools.

>>> from hypothesis import given
>>> from pypto.testing import assert_roundtrip
>>> from pypto.testing.programs import programs
>>> @given(programs())
... def test_that_my_pass_gives_programs_that_can_be_printed(program):
...     assert_roundtrip(my_pass(program))

What fails is made smaller by hypothesis as usual. The strategies need the package ``hypothesis``; without it, the authors in
:mod:`pypto.testing.generation` write the same programs from a ``random.Random``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pypto.ir.function import Function, Program
from pypto.testing.generation import FunctionAuthor, RunnableAuthor

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = ["kernels", "programs", "scalar_functions"]


def programs(*, runnable: bool = False, size: int = 8) -> SearchStrategy[Program]:
    """Programs of one to four functions.

    Args:
        runnable: only programs that can be run: one entry function whose arguments ``pypto.runtime.inputs.draw_inputs`` can draw, no
            index out of bounds, no division by zero, loops that end. Others use the whole vocabulary, every type, scopes, and attributes
            of every kind, but their numbers mean nothing.
        size: how many statements a body has at most.
    """
    from hypothesis import strategies as st

    author = RunnableAuthor if runnable else FunctionAuthor
    return st.randoms(use_true_random=False).map(lambda random: author(random).program(size))


def kernels() -> SearchStrategy[Function]:
    """InCore functions that can be run: over tiles, with loads and stores, or over whole tensors, which passes turn into tiles."""
    from hypothesis import strategies as st

    return st.randoms(use_true_random=False).map(lambda random: RunnableAuthor(random).kernel())


def scalar_functions(*, runnable: bool = False, size: int = 8) -> SearchStrategy[Function]:
    """Functions of scalars and control flow alone. ``runnable`` ones give their results without an error for arguments of any value."""
    from hypothesis import strategies as st

    author = RunnableAuthor if runnable else FunctionAuthor
    return st.randoms(use_true_random=False).map(lambda random: author(random).scalar_function(size))
