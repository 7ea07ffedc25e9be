"""``@pl.function``, ``@pl.program`` and ``@pl.inline``: the decorated code is read, never run.

The reader is imported by the first decorator that needs it, so that importing the language stays quick.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, overload

from pypto import ir
from pypto.diagnostics import Error, for_users
from pypto.ir.enums import FunctionType as KernelType
from pypto.ir.enums import Level, Role
from pypto.language.definition import Definition, calling_frame, find_class, find_function, in_class_body

if TYPE_CHECKING:
    from pypto.parser import InlineFunction

OPTIONS_ATTRIBUTE = "__pypto_options__"


def function(
    func: Any = None,
    *,
    type: KernelType = KernelType.Opaque,
    level: Level | None = None,
    role: Role | None = None,
    attrs: Mapping[str, Any] | None = None,
    auto_scope: bool = True,
    strict_ssa: bool = False,
    external_source: str | None = None,
) -> Any:
    """Read a Python function as a kernel or orchestration function.

    At module level or inside a function the result is an ``ir.Function``. In a class body it is the Python function itself, which
    ``@pl.program`` reads later.

    Args:
        type: what kind of code it is.
        level: where it runs; it follows from ``type`` when not given.
        role: what it does there; it follows from ``type`` when not given.
        attrs: function attributes.
        auto_scope: False when the author orders the tasks.
        strict_ssa: refuse a second assignment to a name.
        external_source: path of a kernel source; the body is then ``...``.

    Raises:
        pypto.parser.errors.ParserError: anything that is wrong with the function, with its place.
    """
    options = {
        "type": type,
        "level": level,
        "role": role,
        "attrs": attrs,
        "auto_scope": auto_scope,
        "strict_ssa": strict_ssa,
        "external_source": external_source,
    }
    if func is None:

        def decorate(later: Any) -> Any:
            try:
                return _read_function(later, options, calling_frame(1))
            except Error as error:
                raise for_users(error) from error.__cause__

        return decorate
    try:
        return _read_function(func, options, calling_frame(1))
    except Error as error:
        raise for_users(error) from error.__cause__


def _read_function(func: Any, options: dict[str, Any], frame: FrameType) -> Any:
    from pypto.parser import ParserTypeError, parse_function

    if not isinstance(func, FunctionType):
        raise ParserTypeError(
            f"@pl.function belongs on a def statement, got {func!r}",
            hint="put @pl.function directly above the def, below any other decorator",
        )
    if in_class_body(frame):
        setattr(func, OPTIONS_ATTRIBUTE, options)
        return func
    found = find_function(func, frame)
    return parse_function(found.source, found.node, found.closure, **_given(options))


def _given(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "external_source" or value is not None}


@overload
def program(cls: type, /) -> ir.Program: ...
@overload
def program(cls: None = None, *, strict_ssa: bool = False) -> Callable[[type], ir.Program]: ...
def program(cls: Any = None, *, strict_ssa: bool = False) -> Any:
    """Read a class whose decorated methods are the functions of a program; the result is an ``ir.Program``.

    Args:
        strict_ssa: refuse a second assignment to a name, in every function.

    Raises:
        pypto.parser.errors.ParserError: anything that is wrong with the class, with its place.
    """
    if cls is None:

        def decorate(later: Any) -> ir.Program:
            try:
                return _read_program(later, strict_ssa, calling_frame(1))
            except Error as error:
                raise for_users(error) from error.__cause__

        return decorate
    try:
        return _read_program(cls, strict_ssa, calling_frame(1))
    except Error as error:
        raise for_users(error) from error.__cause__


def _read_program(cls: Any, strict_ssa: bool, frame: FrameType) -> ir.Program:
    from pypto.parser import ParserSyntaxError, parse_program

    if not isinstance(cls, type):
        raise ParserSyntaxError(f"@pl.program belongs on a class, got {cls!r}")
    found = find_class(cls, frame)
    return parse_program(found.source, found.node, found.closure, strict_ssa=strict_ssa)


def inline(func: Any) -> InlineFunction:
    """Mark a helper whose statements are spliced into the functions that call it by name."""
    from pypto.parser import parse_inline

    frame = calling_frame(1)
    try:
        found: Definition = find_function(func, frame)
        node: ast.FunctionDef = found.node
        return parse_inline(found.source, node, found.closure)
    except Error as error:
        raise for_users(error) from error.__cause__
