"""The kernel language: ``import pypto.language as pl``.

Decorators, types for annotations, element types, enumerations, loops and scopes, operators, and the readers of program text.
Operators (``pl.add``, ``pl.tile.load`` ...) come from the vocabulary and are made when first asked for.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from types import ModuleType as _Module
from typing import TYPE_CHECKING, Any

from pypto.diagnostics import did_you_mean as _did_you_mean
from pypto.ir.dtypes import DTYPES as _DTYPES
from pypto.ir.enums import (
    ARG_DIRECTION_NAMES as _ARG_DIRECTION_NAMES,
)
from pypto.ir.enums import (
    AtomicType,
    CompactMode,
    ForKind,
    FunctionType,
    Level,
    Mem,
    MemorySpace,
    PadValue,
    PipeType,
    Role,
    ScopeMode,
    SplitMode,
    TensorLayout,
    TileLayout,
)
from pypto.language.annotations import (
    Array,
    AsyncEvent,
    AsyncSession,
    InOut,
    IntLike,
    MemRef,
    MemRefType,
    Out,
    PrefetchAsyncContext,
    Ptr,
    Scalar,
    Tensor,
    TensorView,
    Tile,
    TileView,
    Tuple,
    UnknownType,
)
from pypto.language.control import EXPORTS as _CONSTRUCTS
from pypto.language.control import NotExecutableError
from pypto.language.decorators import function, inline, program
from pypto.language.operators import Namespace as _Namespace
from pypto.language.operators import operator as _operator

if TYPE_CHECKING:
    from pypto.parser import DynVar

# names that the reader offers, imported with it when first asked for
_FROM_READER = frozenset(("DynVar", "InlineFunction", "loads", "loads_program", "parse", "parse_program"))


class _ArgDirections:
    """Spellings of argument directions: ``pl.adir.input`` and so on."""

    NAME_TO_DIRECTION = {name: direction for direction, name in _ARG_DIRECTION_NAMES.items()}
    DIRECTION_TO_NAME = dict(_ARG_DIRECTION_NAMES)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.NAME_TO_DIRECTION[name]
        except KeyError:
            raise AttributeError(f"pl.adir has {', '.join(self.NAME_TO_DIRECTION)}, not {name!r}") from None


adir = _ArgDirections()
tensor = _Namespace("tensor")
tile = _Namespace("tile")
system = _Namespace("system")
array = _Namespace("array")

ND, DN, NZ = TensorLayout.ND, TensorLayout.DN, TensorLayout.NZ
MX_A_ZZ, MX_B_NN = TensorLayout.MX_A_ZZ, TensorLayout.MX_B_NN
PtrType = Ptr


def dynamic(name: str) -> DynVar:
    """A dimension known only when the program runs: ``M = pl.dynamic("M")``.

    Raises:
        ValueError: the name is no identifier.
    """
    from pypto.parser import DynVar

    return DynVar(name)


globals().update(_DTYPES)
globals().update(_CONSTRUCTS)
TaskId = Scalar[_DTYPES["TASK_ID"]]


def _const(value: Any, dtype: Any) -> Any:
    """A constant of a given element type, for shapes in annotations: ``pl.const(3, pl.INT32)``."""
    from pypto.ir.expr import ConstFloat, ConstInt

    return ConstFloat(float(value), dtype) if dtype.is_float() else ConstInt(int(value), dtype)


const = _const


def __getattr__(name: str) -> Any:
    if name in _FROM_READER:
        value = globals()[name] = getattr(_import_module("pypto.parser"), name)
        return value
    if name == "parser":
        return _import_module("pypto.language.parser")
    if not name.startswith("__"):
        found = _operator(name)
        if found is not None:
            globals()[name] = found
            return found
        if name == "distributed":
            raise AttributeError(name)
    from pypto.ops.vocabulary import names

    close = _did_you_mean(name, __dir__())
    hint = f"; did you mean {close!r}?" if close else ""
    raise AttributeError(f"module 'pypto.language' has no attribute {name!r}{hint}")


def __dir__() -> list[str]:
    from pypto.ops.vocabulary import names

    helpers = {"Any", "TYPE_CHECKING"}
    own = {n for n, v in globals().items() if not n.startswith("_") and n not in helpers and type(v) is not _Module}
    return sorted(own | _FROM_READER | {"parser"} | set(names("")))
