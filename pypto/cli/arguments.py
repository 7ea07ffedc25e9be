"""Run arguments: ``x=FP32[64,128]:normal(seed=0)``, ``n=16``, ``w=weights.npy``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pypto.diagnostics import Error, InvalidValueError, did_you_mean
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ops.numeric import numpy_dtype

FILLS: dict[str, dict[str, float | None]] = {
    "zeros": {},
    "ones": {},
    "arange": {},
    "normal": {"seed": 0},
    "uniform": {"low": None, "high": None, "seed": 0},
    "const": {"value": None},
}
"""The fills and their options in order, with defaults; None where an option must be given."""


@lru_cache(maxsize=1)
def _reader() -> Any:
    from lark import Lark

    grammar = Path(__file__).with_name("arguments.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="earley", lexer="dynamic", maybe_placeholders=False)


def read_argument(text: str) -> tuple[str, Any]:
    """Name and value of one ``NAME=SPEC``: an array, or a number.

    Raises:
        InvalidValueError: the text does not follow the grammar, or names an unknown element type, fill or file.
    """
    from lark.exceptions import LarkError

    try:
        tree = _reader().parse(text)
    except LarkError as error:
        raise InvalidValueError(
            f"cannot read the argument {text!r}", hint="write NAME=FP32[64,128]:normal(seed=0), NAME=file.npy or NAME=3"
        ) from error
    name, spec = tree.children
    what = spec.children[0]
    if what.data == "number":
        return str(name), _number(str(what.children[0]))
    if what.data == "path":
        path = Path(str(what.children[0]))
        if not path.exists():
            raise InvalidValueError(f"the argument {str(name)!r} names {path}, which does not exist")
        try:
            return str(name), np.load(path)
        except (ValueError, EOFError) as error:
            raise InvalidValueError(f"the argument {str(name)!r} names {path}, which is no .npy file of numbers") from error
    try:
        return str(name), _array(what)
    except (MemoryError, ValueError) as error:
        if isinstance(error, Error):
            raise
        raise InvalidValueError(f"the argument {str(name)!r} cannot be made: {error}") from error


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _array(tree: Any) -> Any:
    dtype_name, *rest = tree.children
    if str(dtype_name) not in DTYPES:
        close = did_you_mean(str(dtype_name), list(DTYPES))
        raise InvalidValueError(f"unknown element type {str(dtype_name)!r}", hint=f"did you mean {close!r}?" if close else None)
    fill = rest.pop() if rest and getattr(rest[-1], "data", None) == "fill" else None
    shape = tuple(int(dim) for dim in rest)
    name, options = ("zeros", {}) if fill is None else _fill(fill)
    return make_array(DTYPES[str(dtype_name)], shape, name, options)


def _fill(tree: Any) -> tuple[str, dict[str, float]]:
    name, given = str(tree.children[0]), tree.children[1:]
    known = FILLS.get(name)
    if known is None:
        close = did_you_mean(name, list(FILLS))
        raise InvalidValueError(
            f"unknown fill {name!r}", hint=f"did you mean {close!r}?" if close else f"one of {', '.join(FILLS)}"
        )
    options: dict[str, float] = {k: v for k, v in known.items() if v is not None}
    names = list(known)
    aliases = {"lo": "low", "hi": "high"}
    for at, option in enumerate(given):
        parts = [str(c) for c in option.children]
        key = aliases.get(parts[0], parts[0]) if len(parts) == 2 else (names[at] if at < len(names) else "")
        if key not in known:
            raise InvalidValueError(f"the fill {name!r} has no option {parts[0]!r}", hint=f"it has {', '.join(names) or 'none'}")
        options[key] = float(parts[-1])
    missing = [k for k in known if k not in options]
    if missing:
        raise InvalidValueError(f"the fill {name!r} needs {', '.join(missing)}")
    return name, options


def make_array(dtype: DataType, shape: tuple[int, ...], fill: str, options: dict[str, float]) -> Any:
    """An array of an element type, filled as named."""
    target = numpy_dtype(dtype)
    if fill == "zeros":
        return np.zeros(shape, target)
    if fill == "ones":
        return np.ones(shape, target)
    if fill == "arange":
        return np.arange(int(np.prod(shape, dtype=np.int64))).reshape(shape).astype(target)
    if fill == "const":
        return np.full(shape, options["value"]).astype(target)
    random = np.random.default_rng(int(options["seed"]))
    if fill == "normal":
        return random.normal(size=shape).astype(target)
    return random.uniform(options["low"], options["high"], size=shape).astype(target)
