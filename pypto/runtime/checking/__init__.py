"""What watches a run, and what runs a program under many schedules: races, deadlocks, and the schedule that shows them."""

from pypto.runtime.checking.exploration import Verdict, explore
from pypto.runtime.checking.faults import Fault, NumbersError, ReuseError, timeline_of_run
from pypto.runtime.checking.lint import ProtocolLint, Remark, lint
from pypto.runtime.checking.races import Race, RaceDetector, RaceError
from pypto.runtime.checking.timeline import Row, Timeline

__all__ = [
    "Fault",
    "NumbersError",
    "ProtocolLint",
    "Race",
    "RaceDetector",
    "RaceError",
    "Remark",
    "ReuseError",
    "Row",
    "Timeline",
    "Verdict",
    "explore",
    "lint",
    "timeline_of_run",
]
