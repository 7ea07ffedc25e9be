"""What can go wrong in a run, told in terms of the program that ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pypto.diagnostics import Error, InvalidTypeError, InvalidValueError


class RunError(Error, ValueError):
    """A program could not be run, or failed while it ran.

    ``statement`` is the IR statement that failed (None when the failure is not one statement's), ``operator`` the name of its operator.
    In a run on several ranks ``rank`` is the one that failed, ``states`` where every rank is (:class:`pypto.runtime.states.RankState`),
    and ``schedule`` the ranks in the order in which they took their turns, for ``replay:FILE``.
    """

    code = "run"
    rank: int | None = None
    states: Sequence[Any] = ()
    schedule: Sequence[int] = ()

    def __init__(
        self,
        message: str,
        span: Any = None,
        hint: str | None = None,
        note: str | None = None,
        *,
        statement: Any = None,
        operator: str | None = None,
    ) -> None:
        super().__init__(message, span, hint, note)
        self.statement = statement
        self.operator = operator


class PoisonError(RunError):
    """Elements that nobody has written reach a result, a branch, an index or a loop bound.

    ``variable`` is the name of the value, ``element`` the index of its first bad element (empty for a scalar).
    """

    code = "poison"

    def __init__(self, message: str, *, variable: str | None = None, element: tuple[int, ...] = (), **rest: Any) -> None:
        super().__init__(message, **rest)
        self.variable = variable
        self.element = element


class ArgumentError(InvalidValueError):
    """An argument of a run does not fit its parameter."""

    code = "argument"


class ArgumentTypeError(ArgumentError, InvalidTypeError):
    """An argument of a run is of the wrong kind or element type."""


class PoisonUseError(Exception):
    """Raised below generated code when a poison scalar must become a number; the run turns it into a PoisonError."""


class LateWriteFailed(Exception):
    """A write to another rank failed when it arrived; carries the statement that said it."""

    def __init__(self, agent: int, statement: Any, cause: Exception) -> None:
        super().__init__(str(cause))
        self.agent = agent
        self.statement = statement
        self.cause = cause


class Refusal(Exception):
    """Raised below generated code for a value that the running program may not use; the text becomes the RunError's."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class DeadlockError(RunError):
    """No rank can go on, and not all have finished. ``states`` says of every rank where it is and what it waits for.

    ``cycle`` are ranks that wait for one another in a circle, as far as it shows who could end a wait: who has posted to its cell before.
    """

    code = "deadlock"
    cycle: Sequence[int] = ()


class CollectiveError(RunError):
    """The ranks of a domain do not call the same collective."""

    code = "collective"


class ScheduleError(RunError):
    """A recorded schedule does not fit the program that runs."""

    code = "schedule"
