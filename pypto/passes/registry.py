"""Which passes exist, under both spellings of their names, and the order of the default strategy.

A pass registers itself with :func:`register_pass` in the module (or package) of its snake_case name below ``pypto.passes``, which is
imported when the pass is first asked for. A package outside offers passes through entry points of the group ``pypto.passes``: the entry
point's name is the snake_case name, its object a factory (a :class:`Pass` subclass, or a function that returns a pass).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, TypeVar, cast

from pypto.diagnostics import InvalidTypeError, InvalidValueError, did_you_mean
from pypto.passes.base import Pass
from pypto.passes.strategy import DEFAULT_ORDER, IRREGULAR_NAMES

ENTRY_POINT_GROUP = "pypto.passes"

_SNAKE_OF_IRREGULAR = {camel: snake for snake, camel in IRREGULAR_NAMES.items()}

PassFactory = Callable[..., Pass]
_F = TypeVar("_F", bound=PassFactory)

_FACTORIES: dict[str, PassFactory] = {}


def snake_name(name: str) -> str:
    """The snake_case spelling of a pass name in either spelling (``ConvertToSSA`` gives ``convert_to_ssa``)."""
    known = _SNAKE_OF_IRREGULAR.get(name)
    if known is not None:
        return known
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return words.lower()


def camel_name(name: str) -> str:
    """The CamelCase spelling of a pass name in either spelling."""
    snake = snake_name(name)
    return IRREGULAR_NAMES.get(snake) or "".join(word.capitalize() for word in snake.split("_"))


def register_pass(factory: _F, name: str | None = None) -> _F:
    """Make a pass known: a :class:`Pass` subclass (its fields are the options), or a function that returns a pass.

    ``name`` defaults to the snake_case spelling of the class's or function's name. Usable as a decorator.

    Raises:
        InvalidValueError: another factory has the name.
    """
    snake = snake_name(name or getattr(factory, "NAME", "") or factory.__name__)
    other = _FACTORIES.get(snake)
    if other is not None and other is not factory:
        raise InvalidValueError(f"a pass named {snake!r} is already registered")
    _FACTORIES[snake] = factory
    return factory


def unregister_pass(name: str) -> None:
    """Forget a registered pass (for extensions and their tests)."""
    _FACTORIES.pop(snake_name(name), None)


@lru_cache(maxsize=1)
def _plugins() -> Mapping[str, EntryPoint]:
    return {snake_name(point.name): point for point in entry_points(group=ENTRY_POINT_GROUP)}


def find_pass(name: str) -> PassFactory | None:
    """The factory of a pass by its name in either spelling, or None when there is none.

    Raises:
        InvalidTypeError: a plugin's entry point is not a factory.
    """
    snake = snake_name(name)
    factory = _FACTORIES.get(snake)
    if factory is None and snake in DEFAULT_ORDER and find_spec(f"pypto.passes.{snake}") is not None:
        import_module(f"pypto.passes.{snake}")
        factory = _FACTORIES.get(snake)
    if factory is None and snake in _plugins():
        loaded: Any = _plugins()[snake].load()
        if not callable(loaded):
            raise InvalidTypeError(f"the entry point {snake!r} of {ENTRY_POINT_GROUP!r} is not a pass factory: {loaded!r}")
        factory = _FACTORIES[snake] = cast(PassFactory, loaded)
    return factory


def pass_names() -> list[str]:
    """The snake_case names of all passes that exist: those of the default strategy in its order, then the others by name."""
    built_in = [name for name in dict.fromkeys(DEFAULT_ORDER) if find_pass(name) is not None]
    return built_in + sorted({*_FACTORIES, *_plugins()}.difference(built_in))


def unknown_pass_text(name: str) -> tuple[str, str | None]:
    """What to say about a name that no pass has: the message, and a hint or None."""
    snake = snake_name(name)
    if snake in DEFAULT_ORDER:
        return f"the pass {camel_name(snake)!r} is known but not built here", None
    close = did_you_mean(snake, pass_names())
    return f"there is no pass {name!r}", f"did you mean {close!r}?" if close else None


def get_pass(name: str) -> PassFactory:
    """The factory of a pass by its name in either spelling.

    Raises:
        InvalidValueError: there is none; the text says whether it is merely not built here, or names the nearest.
    """
    factory = find_pass(name)
    if factory is None:
        message, hint = unknown_pass_text(name)
        raise InvalidValueError(message, hint=hint)
    return factory
