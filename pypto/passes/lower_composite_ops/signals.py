"""The two protocols by which collectives use their signal cells. Which one is used is decided once, by the option of the pass."""

from __future__ import annotations

from enum import Enum

from pypto.ir.enums import NotifyOp


class Signals(str, Enum):
    """How collectives use their signal cells.

    Single-shot signals are used by one call: counts only grow, nothing is cleared. With credits every post adds, and a call ends by
    taking back what it has waited for, so that the next call finds the cells as this one did.
    """

    SINGLE_SHOT = "single_shot"
    CREDIT = "credit"

    @property
    def reusable(self) -> bool:
        """Whether a signal can serve another call; only then may a call that counts chunks be repeated in a loop."""
        return self is Signals.CREDIT

    def posting(self, op: NotifyOp) -> NotifyOp:
        """How a barrier that would post with ``op`` does it: what is to be taken back must have been added."""
        return NotifyOp.AtomicAdd if self.reusable else op
