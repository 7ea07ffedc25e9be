"""Where and why two nodes or types differ: the text of a failed ``assert_structural_equal``.

Walks both sides in the order of ``pypto.ir.equality`` and stops at the first difference. Slower than the comparison, and only used
once that has failed.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, NoReturn, cast

from pypto.diagnostics import Error, InternalError
from pypto.ir.attrs import DEFINING_KEYS, attr_kind
from pypto.ir.difference import Difference, MarkedLine, compare_lines, is_reordered, kind_of
from pypto.ir.dtypes import DataType
from pypto.ir.equality import (
    Comparison,
    both_index,
    comment_lines,
    equal_attr,
    equal_comments,
    equal_floats,
    equal_nodes,
    equal_types,
    same_name,
)
from pypto.ir.expr import BinaryExpr, ConstFloat, ConstInt, Expr, MemRef, UnaryExpr, Var, WindowBuffer
from pypto.ir.function import Function, Program
from pypto.ir.node import Field, FieldKind, Node, late
from pypto.ir.stmt import ForStmt, SeqStmts, Stmt
from pypto.ir.types import ArrayType, ScalarType, ShapedType, TupleType, Type

__all__ = ["difference"]

_SHOWN_LINES = 40
"""Longer printed nodes are cut in the report."""

_SHOWN_COLUMNS = 400
"""Longer lines of printed nodes are cut in the report."""

_SHOWN_STEPS = 100
"""Longer paths are cut in the middle."""

Path = tuple[Any, str] | None
"""A path as a chain from the last step back to the root."""


class _Found(Exception):
    """The first difference."""

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.reason)
        self.difference = difference


_MEMREF_WORDS = {
    "base_": "base",
    "byte_offset_": "byte_offset",
    "size_": "size",
    "is_pinned_": "is_pinned",
    "slot_count_": "slot_count",
    "slot_index_": "slot_index",
}
"""What the reasons call the fields of a memref."""


def difference(left: Any, right: Any, auto: bool, strict: bool) -> Difference:
    """The first difference of two values that are not structurally equal.

    Raises:
        InternalError: no difference can be found.
    """
    report = _Report(Comparison(auto, strict))
    try:
        if isinstance(left, Type) and isinstance(right, Type):
            report.types(left, right, None)
        elif isinstance(left, Node) and isinstance(right, Node):
            report.node(left, right, None)
        else:
            report.fail(None, f"Node type mismatch ({_kind(left)} != {_kind(right)})", left, right)
    except _Found as found:
        return found.difference
    raise InternalError("two values compare different although no field of them differs")


def _kind(value: Any) -> str:
    return type(value).__name__


def _render_path(path: Path) -> str:
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(step)
    steps.reverse()
    if len(steps) > _SHOWN_STEPS:
        half = _SHOWN_STEPS // 2
        steps = [*steps[:half], f"<{len(steps) - 2 * half} steps>", *steps[-half:]]
    text = "".join(step if step.startswith("[") else f".{step}" for step in steps)
    return text.removeprefix(".")


def _bool(value: bool) -> str:
    return "true" if value else "false"


class _Report:
    """``around`` are the statements, and ``inside`` the functions and programs, that are being compared, outermost first."""

    def __init__(self, comparison: Comparison) -> None:
        self.c = comparison
        self.around: list[tuple[Stmt, Stmt]] = []
        self.inside: list[tuple[Any, Any]] = []
        self.in_types = 0

    # --- the text ----------------------------------------------------------------------------------------------------------------

    def fail(self, path: Path, reason: str, left: Any = None, right: Any = None) -> NoReturn:
        is_block = isinstance(left, Node | Type) or isinstance(right, Node | Type)
        sides = (_block(left), _block(right)) if is_block else (_line(left), _line(right))
        is_sequence = isinstance(left, SeqStmts) and isinstance(right, SeqStmts)
        what = "missing statement" if is_sequence else "statement" if isinstance(left or right, Stmt) else ""
        kind = kind_of(reason, what)
        if isinstance(left, float) and isinstance(right, float) and left != right and left == left and right == right:
            kind = "constant"
        if self.in_types and kind in ("constant", "constant bits", "expression", "variable", "operator"):
            kind = "type"
        place, excerpt, moved = self.excerpt((left, right) if is_sequence else None, kind)
        if moved and kind in ("expression", "statement", "operator", "constant", "constant bits", "type", "variable", "name"):
            kind = "order"
        raise _Found(Difference(_render_path(path), reason, kind, sides, is_block, place, excerpt))

    def excerpt(self, blocks: tuple[Any, Any] | None, kind: str) -> tuple[str, Sequence[MarkedLine], bool]:
        """Where the difference is, the statements around it, and whether these are the same in another order."""
        functions = [pair for pair in self.inside if isinstance(pair[0], Function)]
        if not functions:
            return "", (), False
        left, right = functions[-1]
        programs = next((pair for pair in self.inside if isinstance(pair[0], Program)), (None, None))
        show = late("pypto.printer.excerpts").list_function
        try:
            one = show(left, programs[0])
            partners = {} if kind == "name" else self.c.forward
            other = show(right, programs[1], {y: one.names[x] for x, y in partners.items() if x in one.names})
        except _UNPRINTABLE:
            return "", (), False
        where = f"In function {left.name!r}"
        sequence = next((p for p in reversed(self.around) if isinstance(p[0], SeqStmts) and isinstance(p[1], SeqStmts)), None)
        if sequence is not None and blocks is None:
            places = one.place(sequence[0]), other.place(sequence[1])
            if places[0] is not None and places[1] is not None:
                if is_reordered(one.lines[slice(*places[0])], other.lines[slice(*places[1])]):
                    return where, compare_lines(one.lines, other.lines, *places), True
        if blocks is not None:
            ours, theirs = one.place(blocks[0]), other.place(blocks[1])
        elif self.around:
            ours, theirs = (side.place(s, kind == "comment") for side, s in zip((one, other), self.around[-1], strict=True))
            if ours is not None and theirs is not None and one.lines[ours[0]] != other.lines[theirs[0]] and kind != "comment":
                ours, theirs = (ours[0], ours[0] + 1), (theirs[0], theirs[0] + 1)
        else:
            ours, theirs = one.head(left.body), other.head(right.body)
        if ours is None or theirs is None or one.lines[slice(*ours)] == other.lines[slice(*theirs)]:
            return "", (), False
        return where, compare_lines(one.lines, other.lines, ours, theirs), False

    # --- nodes -------------------------------------------------------------------------------------------------------------------

    def node(self, a: Any, b: Any, path: Path) -> None:
        """Compare two nodes; operators without recursion, because chains of them may be long."""
        stack: list[tuple[Any, Any, Path]] = [(a, b, path)]
        while stack:
            x, y, at = stack.pop()
            if x is None or y is None:
                if x is not y:
                    self.fail(at, "One node is null, the other is not", x, y)
            elif type(x) is not type(y):
                self.fail(at, f"Node type mismatch ({_kind(x)} != {_kind(y)})", x, y)
            elif isinstance(x, BinaryExpr):
                self.types(x.type, y.type, at)
                stack.append((x.right, y.right, (at, "right")))
                stack.append((x.left, y.left, (at, "left")))
            elif isinstance(x, UnaryExpr):
                self.types(x.type, y.type, at)
                stack.append((x.operand, y.operand, (at, "operand")))
            elif isinstance(x, Var):
                self.use(x, y, at)
            else:
                self.fields(x, y, at)

    def fields(self, a: Any, b: Any, path: Path) -> None:
        held: list[tuple[Any, Any]] | None = self.around if isinstance(a, Stmt) else None
        if isinstance(a, Function | Program):
            held = self.inside
        if held is not None:
            held.append((a, b))
        self.compare_fields(a, b, path)
        if held is not None:
            held.pop()

    def compare_fields(self, a: Any, b: Any, path: Path) -> None:
        if self.c.strict:
            self.strict_fields(a, b, path)
        fields: tuple[Field, ...] = a.FIELDS
        for field in fields:
            if field.compared:
                self.field(a, b, field, path)

    def strict_fields(self, a: Any, b: Any, path: Path) -> None:
        if isinstance(a, Stmt) and not equal_comments(a, b):
            for name in ("leading_comments", "trailing_comments"):
                left, right = comment_lines(getattr(a, name)), comment_lines(getattr(b, name))
                if left != right:
                    self.fail((path, name), "Comment mismatch", left, right)
        if isinstance(a, Function | Program) and not same_name(a.name, b.name):
            self.fail((path, "name"), f'String value mismatch ("{a.name}" != "{b.name}")', a.name, b.name)

    def field(self, a: Any, b: Any, field: Field, path: Path) -> None:
        name, kind, _ = field
        left, right = getattr(a, name), getattr(b, name)
        at: Path = path if isinstance(a, SeqStmts | Program) else (path, name)
        if kind in (FieldKind.EXPR, FieldKind.OPTIONAL_EXPR, FieldKind.STMT, FieldKind.OPTIONAL_STMT):
            self.node(left, right, at)
        elif kind in (FieldKind.EXPRS, FieldKind.STMTS):
            self.items(left, right, at, a, b)
        elif kind is FieldKind.DEF:
            self.define(left, right, at, index_kinds=isinstance(a, ForStmt) and name == "loop_var")
        elif kind in (FieldKind.DEFS, FieldKind.VARS):
            self.definitions(left, right, at, a, b)
        elif kind is FieldKind.TYPE:
            if isinstance(a, ConstInt) and both_index(left, right):
                return
            self.types(left, right, path, a, b)
        elif kind is FieldKind.TYPES:
            if len(left) != len(right):
                self.fail(at, f"Type vector size mismatch ({len(left)} types != {len(right)} types)", len(left), len(right))
            before = self.c.pairing
            self.c.pairing = before or self.c.strict
            try:
                for index, (x, y) in enumerate(zip(left, right, strict=True)):
                    self.types(x, y, (at, f"[{index}]"))
            finally:
                self.c.pairing = before
        elif kind is FieldKind.FUNCTIONS:
            self.functions(left, right, at)
        elif kind is FieldKind.OP:
            if left.name != right.name or left.is_function != right.is_function:
                self.fail(at, f"Operator name mismatch ('{left.name}' != '{right.name}')", left.name, right.name)
        elif kind is FieldKind.ATTRS:
            self.attrs(left, right, at)
        else:
            self.data(left, right, at, a, name)

    def items(self, left: Sequence[Any], right: Sequence[Any], path: Path, a: Any, b: Any) -> None:
        self.size(left, right, path, a, b)
        for index, (x, y) in enumerate(zip(left, right, strict=True)):
            self.node(x, y, (path, f"[{index}]"))

    def definitions(self, left: Sequence[Var], right: Sequence[Var], path: Path, a: Any, b: Any) -> None:
        self.size(left, right, path, a, b)
        for index, (x, y) in enumerate(zip(left, right, strict=True)):
            self.define(x, y, (path, f"[{index}]"))

    def size(self, left: Sequence[Any], right: Sequence[Any], path: Path, a: Any, b: Any) -> None:
        if len(left) != len(right):
            self.fail(path, f"Vector size mismatch ({len(left)} items != {len(right)} items)", a, b)

    def functions(self, left: Mapping[Any, Function], right: Mapping[Any, Function], path: Path) -> None:
        if len(left) != len(right):
            names = ([key.name for key in left], [key.name for key in right])
            self.fail(path, f"Map size mismatch ({len(left)} items != {len(right)} items)", *names)
        for x, y in zip(left, right, strict=True):
            if x.name != y.name:
                self.fail(path, f"Map key mismatch ('{x.name}' != '{y.name}')", x.name, y.name)
            self.node(left[x], right[y], (path, f"['{x.name}']"))

    def data(self, left: Any, right: Any, path: Path, owner: Any, name: str) -> None:
        if isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):  # pyright: ignore[reportUnknownArgumentType]
                self.fail(path, f"Vector size mismatch ({len(left)} items != {len(right)} items)", left, right)  # pyright: ignore[reportUnknownArgumentType]
            for index, (x, y) in enumerate(zip(left, right, strict=True)):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                self.data(x, y, (path, f"[{index}]"), owner, name)
            return
        if isinstance(left, float) and isinstance(right, float):
            if not equal_floats(left, right, self.c.strict):
                bits = f", bits {_bits(left)} != {_bits(right)}" if repr(left) == repr(right) else ""
                self.fail(path, f"double value mismatch ({left!r} != {right!r}{bits})", left, right)
            return
        if cast("object", left).__class__ is cast("object", right).__class__ and left == right:
            return
        self.fail(path, _value_reason(left, right, owner, name), left, right)

    # --- attributes --------------------------------------------------------------------------------------------------------------

    def attrs(self, left: Mapping[str, Any], right: Mapping[str, Any], path: Path) -> None:
        if len(left) != len(right):
            self.fail(path, f"Kwargs size mismatch ({len(left)} != {len(right)})", _plain(left), _plain(right))
        for key, x in left.items():
            if key not in right:
                reason = f"Kwargs key '{key}' present on one side only (or duplicated)"
                self.fail(path, reason, _plain(left), _plain(right))
            y = right[key]
            if key in DEFINING_KEYS and type(x) is Var and type(y) is Var:
                self.define(x, y, (path, f"['{key}']"))
                continue
            if isinstance(x, Expr) and isinstance(y, Expr):
                self.node(x, y, (path, f"['{key}']"))
                continue
            same_kind = attr_kind(x) == attr_kind(y) or (isinstance(x, list) and isinstance(y, list))
            if not same_kind:
                self.fail(path, f"Kwargs value type mismatch for key '{key}'", _shown_value(x), _shown_value(y))
            if not equal_attr(self.c, x, y):
                self.fail(path, f"Kwargs value mismatch for key '{key}'", _shown_value(x), _shown_value(y))

    # --- variables ---------------------------------------------------------------------------------------------------------------

    def use(self, a: Var, b: Var, path: Path) -> None:
        if self.paired(a, b, path):
            return
        if self.c.pairing:
            self.pair_new(a, b, path)
        elif a is not b:
            self.fail(path, "Variable pointer mismatch (without auto-mapping)", a, b)

    def paired(self, a: Var, b: Var, path: Path) -> bool:
        known, back = self.c.forward.get(a), self.c.backward.get(b)
        if known is b:
            return True
        if known is None and back is None:
            return False
        reason = "Variable mapping inconsistent (without auto-mapping)"
        if self.c.pairing:
            one, several = (a, (known, b)) if known is not None else (b, (back, a))
            names = [v.name_hint for v in several if v is not None]
            reason = f"Variable mapping inconsistent ('{one.name_hint}' cannot map to both '{names[0]}' and '{names[-1]}')"
        self.fail(path, reason, a, b)

    def define(self, a: Var, b: Var, path: Path, index_kinds: bool = False) -> None:
        if type(a) is not type(b):
            self.fail(path, f"Node type mismatch ({_kind(a)} != {_kind(b)})", a, b)
        before = self.c.pairing
        self.c.pairing = True
        try:
            if not self.paired(a, b, path):
                self.pair_new(a, b, path, index_kinds and type(a) is Var and both_index(a.type, b.type))
        finally:
            self.c.pairing = before

    def pair_new(self, a: Var, b: Var, path: Path, same_type: bool = False) -> None:
        if not same_type:
            self.types(a.type, b.type, path, a, b)
        if not self.c.pair(a, b):
            self.fail(path, f'Variable name mismatch ("{a.name_hint}" != "{b.name_hint}")', a, b)
        if isinstance(a, MemRef):
            self.memref(a, b, path)
        for field in type(a).FIELDS:
            if field.name != "type":
                self.field(a, b, field, path)

    def memref(self, a: Any, b: Any, path: Path) -> None:
        for name, kind, _ in MemRef.FIELDS:
            if name == "type":
                continue
            x, y = getattr(a, name), getattr(b, name)
            word = _MEMREF_WORDS[name]
            if kind is FieldKind.OPTIONAL_EXPR and (x is None) != (y is None):
                self.fail(path, f"MemRef {word} presence mismatch", x, y)
            same = x is y or (equal_nodes(self.c, x, y) if isinstance(x, Node) else x == y)
            if not same:
                self.fail(path, f"MemRef {word} mismatch", x, y)

    # --- types -------------------------------------------------------------------------------------------------------------------

    def types(self, a: Type, b: Type, path: Path, left: Any = None, right: Any = None) -> None:
        """Compare two types; ``left`` and ``right`` are the nodes whose types they are, shown in the report."""
        owner = isinstance(left, Var) and isinstance(right, Var)
        prefix = f"Variable type mismatch ({_kind(a)} != {_kind(b)}): " if owner else ""
        shown = (a, b) if left is None or right is None else (left, right)
        self.in_types += 1
        reason = self.type_reason(a, b, path)
        self.in_types -= 1
        if reason is not None:
            self.fail(path, prefix + reason, *shown)

    def type_reason(self, a: Any, b: Any, path: Path) -> str | None:
        if type(a) is not type(b):
            return f"Type name mismatch ({_kind(a)} != {_kind(b)})"
        name = _kind(a)
        if isinstance(a, TupleType):
            if len(a.types) != len(b.types):
                return f"TupleType size mismatch ({len(a.types)} != {len(b.types)})"
            reasons = (self.type_reason(x, y, path) for x, y in zip(a.types, b.types, strict=True))
            return next((reason for reason in reasons if reason is not None), None)
        if isinstance(a, ScalarType | ShapedType) and a.dtype is not b.dtype:
            return f"{name} dtype mismatch ({a.dtype} != {b.dtype})"
        if isinstance(a, ArrayType):
            return None if equal_nodes(self.c, a.extent, b.extent) else "ArrayType extent mismatch"
        if not isinstance(a, ShapedType):
            return None if equal_types(self.c, a, b) else f"{name} mismatch"
        return self.shaped_reason(a, b, path)

    def shaped_reason(self, a: Any, b: Any, path: Path) -> str | None:
        name = _kind(a)
        if len(a.shape) != len(b.shape):
            return f"{name} shape rank mismatch ({len(a.shape)} != {len(b.shape)})"
        for x, y in zip(a.shape, b.shape, strict=True):
            self.node(x, y, path)
        for field in a.FIELDS[2:]:
            x, y = getattr(a, field), getattr(b, field)
            if (x is None) != (y is None):
                return f"{name} {field} presence mismatch"
            if x is None:
                continue
            if field in ("tensor_view", "tile_view"):
                reason = self.view_reason(x, y, path)
                if reason is not None:
                    return reason
            elif isinstance(x, WindowBuffer):
                self.node(x, y, path)
            elif x is not y:
                return f"{name} {field} mismatch"
        if self.c.strict and not equal_types(self.c, a, b):
            if a.memref is None or b.memref is None:
                return f"{name} memref presence mismatch"
            self.pairing_memref(a.memref, b.memref, path)
            return f"{name} memref mismatch"
        return None

    def pairing_memref(self, a: MemRef, b: MemRef, path: Path) -> None:
        before = self.c.pairing
        self.c.pairing = True
        try:
            self.memref(a, b, path)
        finally:
            self.c.pairing = before

    def view_reason(self, a: Any, b: Any, path: Path) -> str | None:
        name = _kind(a)
        for field in a.FIELDS:
            x, y = getattr(a, field), getattr(b, field)
            if isinstance(x, list):
                if len(x) != len(y):  # pyright: ignore[reportUnknownArgumentType]
                    return f"{name} {field} size mismatch ({len(x)} != {len(y)})"  # pyright: ignore[reportUnknownArgumentType]
                for p, q in zip(x, y, strict=True):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
                    self.node(p, q, path)
            elif isinstance(x, Expr) or isinstance(y, Expr):
                if x is None or y is None:
                    return f"{name} {field} presence mismatch"
                self.node(x, y, path)
            elif x != y:
                return f"{name} {field} mismatch"
        return None


def _bits(value: float) -> str:
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016x}"


def _value_reason(left: Any, right: Any, owner: Any, name: str) -> str:
    if isinstance(left, bool) and isinstance(right, bool):
        return f"Bool value mismatch ({_bool(left)} != {_bool(right)})"
    if isinstance(left, Enum) or isinstance(right, Enum):
        enum = type(left if isinstance(left, Enum) else right).__name__
        if left is None or right is None:
            return f"Optional field presence mismatch ({enum})"
        return f"{enum} mismatch ({_enum_name(left)} != {_enum_name(right)})"
    if isinstance(left, DataType):
        return f"DataType mismatch ({left} != {right})"
    if isinstance(left, int) and isinstance(right, int):
        word = "int64_t" if isinstance(owner, ConstInt) else "Integer"
        return f"{word} value mismatch ({left} != {right})"
    if isinstance(left, str):
        return f'String value mismatch ("{left}" != "{right}")'
    return f"{name} mismatch ({left!r} != {right!r})"


def _enum_name(value: Any) -> str:
    return value.name if isinstance(value, Enum) else repr(value)


def _plain(attrs: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{key!r}: {_shown_value(value)}" for key, value in attrs.items()) + "}"


def _shown_value(value: Any) -> str:
    if isinstance(value, Var):
        return value.name_hint
    if isinstance(value, Node):
        return _printed(value)
    if isinstance(value, list):
        return "[" + ", ".join(_shown_value(item) for item in value) + "]"  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


def _line(value: Any) -> str:
    if isinstance(value, bool):
        return _bool(value)
    return value if isinstance(value, str) else _shown_value(value)


_UNPRINTABLE = (Error, InternalError, LookupError, TypeError, ValueError, AttributeError)
"""What printing broken nodes may raise: a report must still come out."""


def _block(value: Any) -> str:
    lines = (_printed(value) if isinstance(value, Node | Type) else _line(value)).splitlines() or [""]
    if len(lines) > _SHOWN_LINES:
        lines = [*lines[:_SHOWN_LINES], f"... ({len(lines) - _SHOWN_LINES} more lines)"]
    return "\n".join(_cut(line) for line in lines)


def _cut(line: str) -> str:
    return line if len(line) <= _SHOWN_COLUMNS else f"{line[:_SHOWN_COLUMNS]} ... ({len(line) - _SHOWN_COLUMNS} more characters)"


def _printed(value: Any) -> str:
    """The printed form, or the kind of node when it is too broken to print: a report must still come out."""
    if isinstance(value, Var):
        return f"{value.name_hint}: {_printed(value.type)}"
    if isinstance(value, ConstFloat):
        return repr(value.value)
    try:
        text = value.as_python(format=False)
    except _UNPRINTABLE:
        return f"<{_kind(value)} that cannot be printed>"
    return text.rstrip("\n")
