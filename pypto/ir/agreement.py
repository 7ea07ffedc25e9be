"""Whether a written type and the type that a rule gives can be those of one value."""

from __future__ import annotations

from pypto.ir.expr import ConstInt
from pypto.ir.types import ScalarType, ShapedType, TupleType, Type, UnknownType

__all__ = ["can_state", "disagreement"]


def disagreement(type_: Type, given: Type) -> str | None:
    """Why two types cannot be those of one value: kind, element type, rank or a static extent; None when they can.

    Dynamic extents are not compared. The text is what follows "the annotation says ..., the value is ...".
    """
    if not isinstance(type_, ShapedType) or not isinstance(given, ShapedType):
        return None if type_ is given or type_ == given else ""
    if type(type_) is not type(given):
        return ""
    if type_.dtype is not given.dtype:
        return ": the element types differ"
    if len(type_.shape) != len(given.shape):
        return ": the ranks differ"
    for axis, (left, right) in enumerate(zip(type_.shape, given.shape, strict=True)):
        if type(left) is ConstInt and type(right) is ConstInt and left.value != right.value:
            return f": dimension {axis} is {left.value}, not {right.value}"
    return None


def can_state(implied: Type, given: Type) -> bool:
    """True when the annotation ``given`` of a call whose rule gives ``implied`` makes ``given`` the type of the call."""
    if implied is given or implied == given:
        return True
    if isinstance(implied, ScalarType) and isinstance(given, ScalarType):
        return False
    if isinstance(implied, UnknownType):
        return True
    if isinstance(implied, TupleType) and isinstance(given, TupleType):
        if len(implied.types) != len(given.types):
            return False
        pairs = zip(implied.types, given.types, strict=True)
        return all(isinstance(left, UnknownType) or disagreement(left, right) is None for left, right in pairs)
    return isinstance(implied, ShapedType) and isinstance(given, ShapedType) and disagreement(implied, given) is None
