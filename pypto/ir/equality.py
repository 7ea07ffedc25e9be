"""Structural comparison of nodes and types.

Two programs are equal when one can be turned into the other by renaming variables. Variables in defining positions are paired one to
one; a use must name the partner of the variable on the other side, or the same object when neither is defined inside what is compared.
Spans, comments, name hints, function names outside a program and memrefs of types do not count.

A first pass only decides, driven by one comparer for each node class made from ``FIELDS``; where and why two things differ is worked
out afterwards (``pypto.ir.equality_report``), because equal is the common case.
"""

from __future__ import annotations

import gc
import struct
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from keyword import iskeyword
from operator import attrgetter
from typing import Any
from unicodedata import normalize

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.attrs import DEFINING_KEYS, attr_kind
from pypto.ir.difference import Difference
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    BinaryExpr,
    ConstFloat,
    ConstInt,
    Expr,
    MemRef,
    UnaryExpr,
    Var,
)
from pypto.ir.function import Function, Program
from pypto.ir.node import FieldKind, Node, late
from pypto.ir.stmt import ForStmt, Stmt
from pypto.ir.type_parts import is_closed
from pypto.ir.types import ScalarType, ShapedType, TensorView, TileView, TupleType, Type

__all__ = ["StructuralDifference", "assert_structural_equal", "find_difference", "structural_equal"]


class StructuralDifference(InvalidValueError):
    """Two things that should be structurally equal are not; the message says where and why, ``difference`` says it as a value."""

    code = "structural-equality"

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.text())
        self.difference = difference

    def __str__(self) -> str:
        return self.message


Comparer = Callable[["Comparison", Any, Any], bool]

INDEX_KINDS = (DataType.INDEX, DataType.INT64)
"""Element types that are interchangeable for constants and loop variables."""


class Comparison:
    """One comparison under way: which variable of the left side stands for which of the right.

    ``pairing`` is true where new variables may be paired: in defining positions and the types met there.
    """

    __slots__ = ("auto", "backward", "forward", "pairing", "renamed", "strict")

    def __init__(self, auto: bool, strict: bool) -> None:
        self.auto = auto
        self.strict = strict
        self.pairing = auto
        self.renamed = auto
        self.forward: dict[Var, Var] = {}
        self.backward: dict[Var, Var] = {}

    def pair(self, left: Var, right: Var) -> bool:
        """Record two variables as partners; False when one has another partner, or (strict) when their names differ."""
        known = self.forward.get(left)
        if known is not None:
            return known is right
        if right in self.backward:
            return False
        self.forward[left] = right
        self.backward[right] = left
        if left is not right:
            self.renamed = True
        return not self.strict or same_name(left.name_hint, right.name_hint)


def structural_equal(left: Node | Type, right: Node | Type, enable_auto_mapping: bool = False, strict: bool = False) -> bool:
    """True when two nodes or two types are the same up to renaming of variables.

    ``enable_auto_mapping`` pairs variables in use positions too, for fragments that mention variables defined elsewhere. NaN equals
    NaN, and 0.0 equals -0.0. ``strict`` also compares comments, memrefs, float constants by bit pattern, the names of programs
    and functions, and name hints up to the suffix by which printing keeps equal hints apart (``x`` and ``x_1``).

    Raises:
        InvalidTypeError: an argument is neither a node nor a type.
    """
    if left is right:
        return True
    comparison = Comparison(enable_auto_mapping, strict)
    if isinstance(left, Type) and isinstance(right, Type):
        return equal_types(comparison, left, right)
    if isinstance(left, Node) and isinstance(right, Node):
        if isinstance(left, Expr):
            return isinstance(right, Expr) and equal_nodes(comparison, left, right)
        collecting = gc.isenabled()
        gc.disable()
        try:
            return equal_nodes(comparison, left, right)
        finally:
            if collecting:
                gc.enable()
    for value in (left, right):
        if not isinstance(value, Node | Type):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTypeError(f"only nodes and types can be compared, got {value!r}")
    return False


def assert_structural_equal(
    left: Node | Type, right: Node | Type, enable_auto_mapping: bool = False, strict: bool = False
) -> None:
    """Raise unless :func:`structural_equal` holds; the message names the path to the first difference and the reason.

    Raises:
        StructuralDifference: (a ValueError) the two differ.
        InvalidTypeError: an argument is neither a node nor a type.
    """
    difference = find_difference(left, right, enable_auto_mapping, strict)
    if difference is not None:
        raise StructuralDifference(difference)


def find_difference(
    left: Node | Type, right: Node | Type, enable_auto_mapping: bool = False, strict: bool = False
) -> Difference | None:
    """The first difference of two nodes or types, None when they are structurally equal.

    Raises:
        InvalidTypeError: an argument is neither a node nor a type.
    """
    if structural_equal(left, right, enable_auto_mapping, strict):
        return None
    return late("pypto.ir.equality_report").difference(left, right, enable_auto_mapping, strict)


def same_name(left: str, right: str) -> bool:
    """True for names that may print alike: equal, or apart by the suffix that printing adds to a hint that several variables share.

    A hint that is no Python name never prints as it is, so it agrees with every other.
    """
    if left == right:
        return True
    if not (left.isascii() and right.isascii()):
        # as Python reads identifiers
        left, right = normalize("NFKC", left), normalize("NFKC", right)
        if left == right:
            return True
    if not all(name.isidentifier() and not iskeyword(name) for name in (left, right)):
        return True
    short, long = (left, right) if len(left) < len(right) else (right, left)
    rest = long[len(short) :]
    return long.startswith(short) and (rest == "__FREE_VAR" or (rest[:1] == "_" and rest[1:].isdigit()))


def equal_nodes(c: Comparison, a: object, b: object) -> bool:
    """Compare two nodes in the current state of a comparison."""
    kind = type(a)
    return kind is type(b) and comparer_of(kind)(c, a, b)


def equal_types(c: Comparison, a: Type, b: Type) -> bool:
    """Compare two types in the current state of a comparison."""
    kind = type(a)
    if kind is not type(b):
        return False
    if a is b and (not (c.renamed or c.pairing) or is_closed(a)):
        return True
    return _TYPES.get(kind, _type_by_fields)(c, a, b)


# --- values ----------------------------------------------------------------------------------------------------------------------


def equal_floats(a: float, b: float, strict: bool) -> bool:
    """Compare two floats: NaN equals NaN; by bit pattern when strict."""
    if strict:
        return struct.pack("<d", a) == struct.pack("<d", b)
    return a == b or (a != a and b != b)


def equal_attrs(c: Comparison, a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Compare two keyword or attribute mappings: the same keys in any order, values of the same stored kind."""
    if len(a) != len(b):
        return False
    for key, left in a.items():
        right = b.get(key, _MISSING)
        if key in DEFINING_KEYS and type(left) is Var and type(right) is Var:
            if not define(c, left, right):
                return False
        elif not equal_attr(c, left, right):
            return False
    return True


_MISSING = object()


def equal_attr(c: Comparison, a: Any, b: Any) -> bool:
    """Compare two attribute values."""
    kind: type = a.__class__
    if isinstance(a, Expr):
        return kind is type(b) and comparer_of(kind)(c, a, b)
    if kind is not type(b):
        return False
    if kind is list:
        if attr_kind(a) != attr_kind(b) or len(a) != len(b):
            return False
        return all(equal_attr(c, x, y) for x, y in zip(a, b, strict=True))
    if kind is float:
        return equal_floats(a, b, c.strict)
    return a is b or a == b


def _equal_dims(c: Comparison, a: Sequence[Expr], b: Sequence[Expr]) -> bool:
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):
        kind = type(x)
        if kind is not type(y) or not comparer_of(kind)(c, x, y):
            return False
    return True


def _equal_views(c: Comparison, a: Any, b: Any) -> bool:
    if a is None or b is None or type(a) is not type(b):
        return a is b
    return all(_equal_part(c, getattr(a, name), getattr(b, name)) for name in a.FIELDS)


def _equal_part(c: Comparison, a: Any, b: Any) -> bool:
    if a.__class__ is list:
        return _equal_dims(c, a, b)
    if isinstance(a, Expr):
        return isinstance(b, Expr) and equal_nodes(c, a, b)
    if isinstance(a, TensorView | TileView):
        return _equal_views(c, a, b)
    return a is b if a is None or isinstance(a, Enum) else a == b


def _type_by_fields(c: Comparison, a: Type, b: Type) -> bool:
    if not all(_equal_part(c, getattr(a, name), getattr(b, name)) for name in a.FIELDS):
        return False
    return not (c.strict and isinstance(a, ShapedType) and isinstance(b, ShapedType)) or _equal_memrefs(c, a.memref, b.memref)


def _equal_memrefs(c: Comparison, a: MemRef | None, b: MemRef | None) -> bool:
    """Memrefs of types by content: each annotation of a printed program makes an object of its own."""
    if a is None or b is None:
        return a is b
    before = c.pairing
    c.pairing = True
    try:
        return all(equal_field(c, a, b, name, kind) for name, kind, _ in MemRef.FIELDS)
    finally:
        c.pairing = before


def _equal_scalar_types(c: Comparison, a: ScalarType, b: ScalarType) -> bool:
    return a.dtype is b.dtype


def _equal_tuple_types(c: Comparison, a: TupleType, b: TupleType) -> bool:
    if len(a.types) != len(b.types):
        return False
    return all(equal_types(c, x, y) for x, y in zip(a.types, b.types, strict=True))


_TYPES: dict[type, Callable[[Comparison, Any, Any], bool]] = {ScalarType: _equal_scalar_types, TupleType: _equal_tuple_types}


# --- variables -------------------------------------------------------------------------------------------------------------------


def _use(c: Comparison, a: Var, b: Var) -> bool:
    known = c.forward.get(a)
    if known is not None:
        return known is b
    if b in c.backward:
        return False
    if c.pairing:
        return _pair_new(c, a, b)
    return a is b


def _pair_new(c: Comparison, a: Var, b: Var) -> bool:
    if not equal_types(c, a.type, b.type) or not c.pair(a, b):
        return False
    extra = _EXTRA_FIELDS.get(type(a))
    if extra is None:
        extra = _EXTRA_FIELDS[type(a)] = [f for f in a.FIELDS if f.name != "type"]
    return all(equal_field(c, a, b, name, kind) for name, kind, _ in extra)


_EXTRA_FIELDS: dict[type, list[Any]] = {}


def define(c: Comparison, a: Any, b: Any) -> bool:
    """Compare and pair two variables in a defining position."""
    if type(a) is not type(b):
        return False
    if type(a) is Var and a.type is b.type and is_closed(a.type):
        return c.pair(a, b)
    known = c.forward.get(a)
    if known is not None:
        return known is b
    if b in c.backward:
        return False
    before = c.pairing
    c.pairing = True
    try:
        return _pair_new(c, a, b)
    finally:
        c.pairing = before


def define_loop_var(c: Comparison, a: Any, b: Any) -> bool:
    """Like :func:`define`, with INT64 and INDEX interchangeable."""
    if type(a) is Var and type(b) is Var and both_index(a.type, b.type):
        return c.pair(a, b)
    return define(c, a, b)


def both_index(a: Type, b: Type) -> bool:
    """True when both are scalars of INT64 or INDEX."""
    return isinstance(a, ScalarType) and isinstance(b, ScalarType) and a.dtype in INDEX_KINDS and b.dtype in INDEX_KINDS


# --- expressions -----------------------------------------------------------------------------------------------------------------


def _const_int(c: Comparison, a: ConstInt, b: ConstInt) -> bool:
    return a is b or (a.value == b.value and (a.type is b.type or both_index(a.type, b.type)))


def _const_float(c: Comparison, a: ConstFloat, b: ConstFloat) -> bool:
    return a is b or (equal_floats(a.value, b.value, c.strict) and a.type is b.type)


def _operators(c: Comparison, a: Any, b: Any) -> bool:
    """Operators without recursion, because chains of them may be long."""
    stack: list[tuple[Any, Any]] = [(a, b)]
    pop, push = stack.pop, stack.append
    while stack:
        x, y = pop()
        kind: type = x.__class__
        if kind is not y.__class__:
            return False
        compare = comparer_of(kind)
        if compare is not _operators:
            if not compare(c, x, y):
                return False
            continue
        if x is y and not (c.renamed or c.pairing):
            continue
        if x.type is not y.type and not equal_types(c, x.type, y.type):
            return False
        if isinstance(x, BinaryExpr):
            push((x.right, y.right))
            push((x.left, y.left))
        else:
            push((x.operand, y.operand))
    return True


# --- any node, from its fields ---------------------------------------------------------------------------------------------------


def equal_field(c: Comparison, a: Any, b: Any, name: str, kind: FieldKind) -> bool:
    """Compare one field of two nodes of one kind."""
    return _FIELD[kind](c, getattr(a, name), getattr(b, name))


def _field_optional(c: Comparison, a: Any, b: Any) -> bool:
    return a is b if a is None or b is None else equal_nodes(c, a, b)


def _field_nodes(c: Comparison, a: Sequence[Node], b: Sequence[Node]) -> bool:
    if len(a) != len(b):
        return False
    find = _COMPARERS.get
    for x, y in zip(a, b, strict=True):
        kind = type(x)
        if kind is not type(y):
            return False
        if not (find(kind) or comparer_of(kind))(c, x, y):
            return False
    return True


def _field_definitions(c: Comparison, a: Sequence[Var], b: Sequence[Var]) -> bool:
    return len(a) == len(b) and all(define(c, x, y) for x, y in zip(a, b, strict=True))


def _field_types(c: Comparison, a: Sequence[Type], b: Sequence[Type]) -> bool:
    before = c.pairing
    # reading makes a dynamic dimension of its own for what only a result mentions
    c.pairing = before or c.strict
    try:
        return len(a) == len(b) and all(equal_types(c, x, y) for x, y in zip(a, b, strict=True))
    finally:
        c.pairing = before


def _field_functions(c: Comparison, a: Mapping[Any, Function], b: Mapping[Any, Function]) -> bool:
    if [key.name for key in a] != [key.name for key in b]:
        return False
    return all(equal_nodes(c, x, y) for x, y in zip(a.values(), b.values(), strict=True))


def _field_op(c: Comparison, a: Any, b: Any) -> bool:
    return a is b or (a.name == b.name and a.is_function == b.is_function)


def _field_data(c: Comparison, a: Any, b: Any) -> bool:
    return a is b or (type(a) is type(b) and a == b)


_FIELD: dict[FieldKind, Comparer] = {
    FieldKind.EXPR: equal_nodes,
    FieldKind.OPTIONAL_EXPR: _field_optional,
    FieldKind.EXPRS: _field_nodes,
    FieldKind.DEF: define,
    FieldKind.DEFS: _field_definitions,
    FieldKind.VARS: _field_definitions,
    FieldKind.STMT: equal_nodes,
    FieldKind.OPTIONAL_STMT: _field_optional,
    FieldKind.STMTS: _field_nodes,
    FieldKind.TYPE: equal_types,
    FieldKind.TYPES: _field_types,
    FieldKind.FUNCTIONS: _field_functions,
    FieldKind.OP: _field_op,
    FieldKind.ATTRS: equal_attrs,
    FieldKind.DATA: _field_data,
}

_COMPARERS: dict[type, Comparer] = {ConstInt: _const_int, ConstFloat: _const_float}


def comparer_of(kind: type) -> Comparer:
    """The comparer of a node class, made from its fields when first asked for."""
    comparer = _COMPARERS.get(kind)
    if comparer is None:
        comparer = _COMPARERS[kind] = _make_comparer(kind)
    return comparer


def field_step(kind: type, name: str, field_kind: FieldKind) -> Comparer:
    """How one field of a node class is compared."""
    return define_loop_var if kind is ForStmt and name == "loop_var" else _FIELD[field_kind]


def _make_comparer(kind: Any) -> Comparer:
    if issubclass(kind, BinaryExpr | UnaryExpr):
        return _operators
    if issubclass(kind, Var):
        return _use
    compared = [field for field in kind.FIELDS if field.compared]
    steps = [field_step(kind, field.name, field.kind) for field in compared]
    # With "span" there are always two names or more, so that the getter gives a tuple; zip stops before it.
    values = attrgetter(*[field.name for field in compared], "span", "span")
    named = issubclass(kind, Function | Program)
    commented = issubclass(kind, Stmt)
    is_expr = issubclass(kind, Expr)

    def compare(c: Comparison, a: Any, b: Any) -> bool:
        if is_expr and a is b and not (c.renamed or c.pairing):
            return True
        if c.strict:
            if commented and not equal_comments(a, b):
                return False
            if named and not same_name(a.name, b.name):
                return False
        for step, x, y in zip(steps, values(a), values(b)):  # noqa: B905, SIM110 - measured: strict and a generator cost a fifth
            if not step(c, x, y):
                return False
        return True

    return compare


def equal_comments(a: Stmt, b: Stmt) -> bool:
    """True when two statements carry the same comments, which may be divided into texts differently."""
    return _same_comments(a.leading_comments, b.leading_comments) and _same_comments(a.trailing_comments, b.trailing_comments)


def _same_comments(a: Sequence[str], b: Sequence[str]) -> bool:
    return a is b or [*a] == [*b] or comment_lines(a) == comment_lines(b)


def comment_lines(comments: Sequence[str]) -> list[str]:
    """Comments as the lines they are written on."""
    return [line.rstrip() for text in comments for line in text.replace("\0", "\\x00").splitlines() or [""]]
