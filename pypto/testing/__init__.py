"""For tests of your own: round trips through text, golden files, meaning before and after, and a pytest plugin.

>>> import pypto.language as pl
>>> from pypto.testing import assert_roundtrip
>>> f = pl.parse('''
... @pl.function
... def double(x: pl.Tensor[[4], pl.FP32]) -> pl.Tensor[[4], pl.FP32]:
...     return pl.add(x, x)
... ''')
>>> assert_roundtrip(f)
"""

from pypto.testing.golden import assert_golden
from pypto.testing.instruments import MeaningInstrument, RoundtripInstrument, make_meaning_instrument, make_roundtrip_instrument
from pypto.testing.meaning import MeaningError, assert_same_meaning
from pypto.testing.races import ProtocolError, assert_race_free
from pypto.testing.roundtrip import RoundtripError, assert_roundtrip
from pypto.testing.validate import Validation, validate

__all__ = [
    "MeaningError",
    "MeaningInstrument",
    "ProtocolError",
    "RoundtripError",
    "RoundtripInstrument",
    "Validation",
    "assert_golden",
    "assert_race_free",
    "assert_roundtrip",
    "assert_same_meaning",
    "make_meaning_instrument",
    "make_roundtrip_instrument",
    "validate",
]
