"""Operators and callees, and the registry in which the vocabulary is declared. Nothing here knows an operator by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from pypto.diagnostics import Error, InternalError, InvalidTypeError, InvalidValueError, did_you_mean
from pypto.ir.attrs import AttrValue, normalize_attrs
from pypto.ir.enums import ArgEffect
from pypto.ir.expr import EMPTY, Call, Expr
from pypto.ir.node import late
from pypto.ir.span import UNKNOWN, Span

if TYPE_CHECKING:
    from pypto.ir.types import Type


class Op:
    """Something that can be called. Two operators are the same when their names are; a declared one knows its facts and type rule."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def is_function(self) -> bool:
        """True for a function of the program."""
        return False

    def deduce_type(self, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> Type:
        """The result type of a call; operators that are not declared give UnknownType."""
        from pypto.ir.types import UnknownType

        return UnknownType()

    def retyped(self, args: Sequence[Expr], kwargs: Mapping[str, AttrValue]) -> Type:
        """The result type for operands that passes may have changed."""
        return self.deduce_type(args, kwargs)

    def other_results(self, deduced: Type) -> Sequence[Type]:
        """Types that a call may have instead of the deduced one, once a pass has chosen them."""
        return ()

    def get_attr(self, key: str) -> Any:
        """A declared fact by name."""
        raise InvalidValueError(f"operator {self.name!r} declares no {key!r}")

    def has_attr(self, key: str) -> bool:
        """True when the fact is declared."""
        return key in self.get_attr_keys()

    def get_attr_keys(self) -> list[str]:
        """Names of the declared facts."""
        return []

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Op) and other.name == self.name and other.is_function == self.is_function)

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


class GlobalVar(Op):
    """A callee: a function of the same program, by name."""

    __slots__ = ()

    @property
    def is_function(self) -> bool:
        return True


class DeclaredOp(Op):
    """What every operator in the registry offers to the layers above; ``pypto.ops`` implements it from the declaration."""

    __slots__ = ()
    internal_only: bool = False
    tile_form: str | None = None
    relabels: bool = False
    result_forms: Callable[[Type], Sequence[Type]] | None = None

    @property
    def alias_index(self) -> int | None:
        """Position of the operand whose storage the result is, or None."""
        return None

    def make_call(self, args: list[Expr], kwargs: Mapping[str, AttrValue], span: Span) -> Call:
        """A checked, typed call."""
        raise InternalError(f"operator {self.name!r} has no construction rule")

    def arg_effect(self, index: int, kwargs: Mapping[str, AttrValue], count: int | None = None) -> ArgEffect | None:
        """What the operator does to an argument of a call with ``count`` of them, None when it declares nothing."""
        return None


_REGISTRY: dict[str, DeclaredOp] = {}
_changes = count()
_version = next(_changes)


def registry_version() -> int:
    """A number that changes whenever an operator is added or removed, for tables made from the registry."""
    return _version


def register_op(op: DeclaredOp) -> DeclaredOp:
    """Add an operator to the vocabulary.

    Raises:
        InvalidValueError: the name is taken.
    """
    if op.name in _REGISTRY:
        raise InvalidValueError(f"operator {op.name!r} is declared twice")
    _REGISTRY[op.name] = op
    _touch()
    return op


def unregister_op(name: str) -> None:
    """Remove an operator again (for extensions and their tests)."""
    _REGISTRY.pop(name, None)
    _touch()


def _touch() -> None:
    global _version
    _version = next(_changes)


def declared_ops() -> Iterator[DeclaredOp]:
    """Every declared operator, by name."""
    return iter([_REGISTRY[name] for name in sorted(_REGISTRY)])


def is_op_registered(name: str) -> bool:
    """True for a declared operator, internal ones included."""
    return name in _REGISTRY


def find_op(name: str) -> DeclaredOp | None:
    """The declared operator of that name, or None."""
    return _REGISTRY.get(name)


def get_op(name: str) -> DeclaredOp:
    """The declared operator of that name, internal ones included.

    Raises:
        InvalidValueError: there is none.
    """
    op = _REGISTRY.get(name)
    if op is None:
        raise unknown_op(name)
    return op


def unknown_op(name: str, span: Span = UNKNOWN) -> InvalidValueError:
    """The error for an operator that does not exist, with the nearest name as a hint."""
    close = did_you_mean(name, list(_REGISTRY))
    hint = f"did you mean {close!r}?" if close else None
    if "." not in name:
        hint = f"operator names have a namespace, such as 'tile.{name}'" if f"tile.{name}" in _REGISTRY else hint
    return InvalidValueError(f"unknown operator {name!r}", span, hint)


def create_op_call(name: str, args: Sequence[Expr], *rest: Any, **named: Any) -> Call:
    """A checked, typed call of a declared operator: ``(name, args, span)`` or ``(name, args, kwargs, span)``.

    Raises:
        InvalidValueError: unknown or internal operator, undeclared keyword, or a value that its type rule refuses.
        InvalidTypeError: an operand or keyword of the wrong kind.
    """
    positional = list(rest)
    span = named.pop("span", None)
    kwargs: Any = named.pop("kwargs", None)
    if span is None and positional and isinstance(positional[-1], Span):
        span = positional.pop()
    if kwargs is None and positional:
        kwargs = positional.pop()
    if positional or named:
        raise InvalidTypeError("create_op_call takes (name, args, span) or (name, args, kwargs, span)")
    op = _REGISTRY.get(name)
    span = UNKNOWN if span is None else span
    if op is None:
        raise unknown_op(name, span)
    if op.internal_only:
        raise InvalidValueError(f"operator {name!r} is internal: only passes create it", span)
    return create_internal_op_call(op, args, kwargs, span)


def create_internal_op_call(op: DeclaredOp, args: Sequence[Expr], kwargs: Any = None, span: Span = UNKNOWN) -> Call:
    """Like :func:`create_op_call` for an operator at hand, internal ones included; errors gain the place of ``span``."""
    try:
        return op.make_call([*args], normalize_attrs(kwargs) if kwargs else EMPTY, span)
    except Error as error:
        if error.place is None and span.is_valid():
            error.place = span
        raise


_HELPERS = ("tensor", "tile", "system", "array", "distributed")


def __getattr__(name: str) -> Any:
    # ``ir.op`` is this module, and also where people look for one function an operator: ``ir.op.tile.add(x, 1.0)``
    if name in _HELPERS:
        return getattr(late("pypto.ops.helpers"), name)
    raise AttributeError(f"module 'pypto.ir.op' has no attribute {name!r}")
