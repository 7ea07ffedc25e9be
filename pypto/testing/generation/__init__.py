"""Writing random programs that are well typed. :mod:`pypto.testing.programs` has the hypothesis strategies made from it."""

from pypto.testing.generation.functions import FunctionAuthor
from pypto.testing.generation.phases import PhaseAuthor, PhasedProgram
from pypto.testing.generation.runnable import RunnableAuthor

__all__ = ["FunctionAuthor", "PhaseAuthor", "PhasedProgram", "RunnableAuthor"]
