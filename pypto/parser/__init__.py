"""Reading: decorated functions and plain text become IR, through one reader."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any, overload

import pypto.ops
from pypto.ir.function import Program
from pypto.parser import allocations, control, functions, scopes, special, statements, subscripts
from pypto.parser.dynamic import DynVar
from pypto.parser.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    ScopeIsolationError,
    SSAViolationError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto.parser.functions import parse_function
from pypto.parser.inline import InlineFunction, parse_inline
from pypto.parser.source import SourceFile
from pypto.parser.text import loads, loads_program, parse, parse_program_text

__all__ = [
    "DynVar",
    "InlineFunction",
    "InvalidOperationError",
    "ParserError",
    "ParserSyntaxError",
    "ParserTypeError",
    "SSAViolationError",
    "ScopeIsolationError",
    "SourceFile",
    "UndefinedVariableError",
    "UnsupportedFeatureError",
    "loads",
    "loads_program",
    "parse",
    "parse_function",
    "parse_inline",
    "parse_program",
]


@overload
def parse_program(code: str, filename: str = "<string>") -> Program: ...
@overload
def parse_program(
    code: SourceFile, filename: ast.ClassDef, closure: Mapping[str, Any], *, strict_ssa: bool = False
) -> Program: ...
def parse_program(code: Any, filename: Any = "<string>", closure: Any = None, *, strict_ssa: bool = False) -> Program:
    """The program that a class of a source file defines; with a text (deprecated, use :func:`parse`) the one that the text defines."""
    if isinstance(code, SourceFile):
        return functions.parse_program(code, filename, closure, strict_ssa=strict_ssa)
    return parse_program_text(code, filename)
