"""``pypto.language.parser``."""

from pypto.parser import loads, loads_program, parse, parse_program
from pypto.parser.errors import *

__all__ = ["loads", "loads_program", "parse", "parse_program"]
