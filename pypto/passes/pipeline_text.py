"""Pipelines as text: ``convert_to_ssa,lower_composite_ops(signals=credit)``; ``pipeline.lark`` is the grammar."""

from __future__ import annotations

import ast
import inspect
import types
import typing
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pypto.diagnostics import Error, InvalidValueError, Place, did_you_mean
from pypto.passes.base import Pass
from pypto.passes.pipeline import PassPipeline
from pypto.passes.registry import PassFactory, find_pass, snake_name, unknown_pass_text

if typing.TYPE_CHECKING:
    from lark import Lark, Token

FILENAME = "<pipeline>"


class PipelineTextError(Error, ValueError):
    """A pipeline text that cannot be read: broken syntax, an unknown pass or option, or a value that does not fit."""

    code = "pipeline-text"


@dataclass(frozen=True)
class Word:
    """A bare word in a pipeline text; what it means depends on the option it is given to."""

    text: str


@lru_cache(maxsize=1)
def _grammar() -> Lark:
    from lark import Lark  # only wanted when a pipeline text is read

    text = Path(__file__).with_name("pipeline.lark").read_text(encoding="utf-8")
    return Lark(text, start="pipeline", parser="lalr", maybe_placeholders=False)


def parse_pipeline(text: str) -> PassPipeline:
    """The pipeline of a text; names in either spelling, options checked against the fields of the pass.

    Raises:
        PipelineTextError: with the place in the text, and a hint where there is one.
    """
    from lark import UnexpectedInput

    try:
        grammar: Any = _grammar()
        tree: Any = grammar.parse(text)
    except UnexpectedInput as error:
        raise _syntax_error(text, error) from None
    return PassPipeline(_Reader(text).read_pass(item) for item in tree.children)


def _syntax_error(text: str, error: Any) -> PipelineTextError:
    lines = text.splitlines() or [""]
    line, column = error.line, error.column
    at_end = getattr(getattr(error, "token", None), "type", "") == "$END"
    if at_end or line is None or line < 1:
        line, column = len(lines), len(lines[-1]) + 1
    shown = lines[line - 1][column - 1 : column] if line <= len(lines) else ""
    message = f"unexpected {shown!r} in a pipeline text" if shown else "the pipeline text ends too early"
    return PipelineTextError(
        message,
        Place(FILENAME, line, column, line, column + 1),
        "write passes with commas between them, options in brackets: convert_to_ssa,lower_composite_ops(signals=credit)",
        source_lines=lines,
    )


class _Reader:
    """Makes passes from the tree of one text."""

    def __init__(self, text: str) -> None:
        self.lines = text.splitlines()

    def fail(self, message: str, token: Token, hint: str | None = None) -> PipelineTextError:
        line, column = token.line or 1, token.column or 1
        return PipelineTextError(message, Place(FILENAME, line, column, line, column + len(token)), hint, source_lines=self.lines)

    def read_pass(self, tree: Any) -> Pass:
        name, *options = tree.children
        factory = find_pass(str(name))
        if factory is None:
            message, hint = unknown_pass_text(str(name))
            raise self.fail(message, name, hint)
        parameters = option_parameters(factory)
        given: dict[str, Any] = {}
        for option in options:
            key, value = option.children
            if str(key) not in parameters:
                raise self.fail(*_unknown_option(str(name), str(key), list(parameters), key))
            if str(key) in given:
                raise self.fail(f"the option {str(key)!r} is given twice", key)
            try:
                given[str(key)] = coerce(self.read_value(value), parameters[str(key)])
            except InvalidValueError as error:
                raise self.fail(
                    f"option {str(key)!r} of {str(name)!r}: {error.message}", _first_token(value), error.hint
                ) from None
        try:
            return factory(**given)
        except Error as error:
            raise self.fail(f"{str(name)!r}: {error.message}", name, error.hint) from error

    def read_value(self, tree: Any) -> Any:
        kind = tree.data
        if kind == "items":
            return [self.read_value(item) for item in tree.children]
        token = tree.children[0]
        if kind == "integer":
            return int(token)
        if kind == "number":
            return float(token)
        return ast.literal_eval(str(token)) if kind == "string" else Word(str(token))


def _first_token(tree: Any) -> Any:
    while hasattr(tree, "children"):
        if not tree.children:
            from lark import Token

            return Token("NAME", "", line=tree.meta.line, column=tree.meta.column) if not tree.meta.empty else Token("NAME", "")
        tree = tree.children[0]
    return tree


def _unknown_option(name: str, key: str, known: Sequence[str], token: Token) -> tuple[str, Token, str | None]:
    close = did_you_mean(key, known)
    if close:
        hint = f"did you mean {close!r}?"
    else:
        hint = f"its options are {', '.join(known)}" if known else "it takes none"
    return f"the pass {snake_name(name)!r} has no option {key!r}", token, hint


def option_parameters(factory: PassFactory) -> dict[str, Any]:
    """The options of a pass factory: name to annotated type (``Any`` where there is none)."""
    hints = typing.get_type_hints(factory.__init__ if isinstance(factory, type) else factory)
    parameters = inspect.signature(factory).parameters.values()
    usable = (p for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY))
    return {p.name: hints.get(p.name, Any) for p in usable}


def coerce(value: Any, wanted: Any) -> Any:
    """A value read from text as the annotated type of an option.

    Raises:
        InvalidValueError: it does not fit.
    """
    origin = typing.get_origin(wanted)
    if origin is Literal:
        choices = typing.get_args(wanted)
        spelled = {str(choice): choice for choice in choices}
        text = _text_of(value)
        if text in spelled:
            return spelled[text]
        raise _no_choice(text, list(spelled))
    if origin in (typing.Union, types.UnionType):
        return _coerce_union(value, typing.get_args(wanted))
    if origin in (list, tuple, Sequence):
        if not isinstance(value, list):
            raise InvalidValueError("expected a list: [a, b]")
        item_type = next((a for a in typing.get_args(wanted) if a is not Ellipsis), Any)
        items = [coerce(item, item_type) for item in typing.cast("list[Any]", value)]
        return tuple(items) if origin is tuple else items
    if isinstance(wanted, type):
        return _coerce_plain(value, wanted)
    return _text_of(value) if isinstance(value, Word) else value


def _coerce_union(value: Any, members: Sequence[Any]) -> Any:
    if type(None) in members and isinstance(value, Word) and value.text.lower() == "none":
        return None
    failure: InvalidValueError | None = None
    for member in members:
        if member is type(None):
            continue
        try:
            return coerce(value, member)
        except InvalidValueError as error:
            failure = error
    raise failure or InvalidValueError("expected none")


def _coerce_plain(value: Any, wanted: type) -> Any:
    if wanted is bool:
        text = _text_of(value).lower()
        if text not in ("true", "false"):
            raise InvalidValueError(f"expected true or false, got {text!r}")
        return text == "true"
    if issubclass(wanted, Enum):
        text = _text_of(value)
        for member in wanted:
            if member.name.lower() == text.lower():
                return member
        raise _no_choice(text, [member.name.lower() for member in wanted])
    if wanted is str:
        return _text_of(value)
    if wanted is float and type(value) in (int, float):
        return float(value)
    if wanted is int and type(value) is int:
        return value
    if wanted in (int, float):
        raise InvalidValueError(f"expected {'an integer' if wanted is int else 'a number'}, got {_text_of(value)!r}")
    raise InvalidValueError(f"an option of type {wanted.__name__} cannot be written in a pipeline text")


def _text_of(value: Any) -> str:
    return value.text if isinstance(value, Word) else str(value)


def _no_choice(text: str, choices: Sequence[str]) -> InvalidValueError:
    close = did_you_mean(text, choices)
    hint = f"did you mean {close!r}?" if close else None
    return InvalidValueError(f"expected one of {', '.join(choices)}, got {text!r}", hint=hint)


def value_to_text(value: Any) -> str:
    """An option's value as it is written in a pipeline text.

    Raises:
        InvalidValueError: the value has no spelling.
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        plain = value.isidentifier() and value.isascii() and value.lower() != "none"
        return value if plain else repr(value)
    if isinstance(value, list | tuple):
        items = typing.cast("Sequence[Any]", value)
        return "[" + ",".join(map(value_to_text, items)) + "]"
    raise InvalidValueError(f"the option value {value!r} has no spelling in a pipeline text")


def pass_to_text(pass_: Pass) -> str:
    """A pass as it is written in a pipeline text: its snake_case name, and the options that differ from their defaults."""
    options = pass_.get_options()
    name = snake_name(pass_.get_name())
    if not options:
        return name
    return f"{name}({','.join(f'{key}={value_to_text(value)}' for key, value in options.items())})"
