"""What watches a run: races between ranks, found from one schedule by what must happen before what."""

from pypto.runtime.checking.races import Race, RaceDetector, RaceError

__all__ = ["Race", "RaceDetector", "RaceError"]
