"""``pypto.language.parser.text_parser``."""

from pypto.parser import loads, loads_program, parse, parse_program

__all__ = ["loads", "loads_program", "parse", "parse_program"]
