"""Expressions. ``==``, ``<``, ``+`` ... on expressions build IR (see ``pypto.ir.scalar``); compare nodes with ``is`` or ``same_as``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.attrs import AttrValue, normalize_attrs
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ArgDirection, MemorySpace
from pypto.ir.node import Field, FieldKind, Node
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.types import MemRefType, PtrType, ScalarType, TupleType, Type, UnknownType, WindowBufferType

if TYPE_CHECKING:
    from pypto.ir.op import Op

_new_id = count(1).__next__

EMPTY: Mapping[str, AttrValue] = MappingProxyType({})
"""The empty keyword or attribute mapping."""


class Expr(Node):
    """Base of expressions; every one has a ``type``."""

    __slots__ = ("type",)
    type: Type

    __hash__ = object.__hash__

    if TYPE_CHECKING:
        # installed by pypto.ir.scalar, each builds the node of its name

        def __add__(self, other: object) -> Expr: ...
        def __radd__(self, other: object) -> Expr: ...
        def __sub__(self, other: object) -> Expr: ...
        def __rsub__(self, other: object) -> Expr: ...
        def __mul__(self, other: object) -> Expr: ...
        def __rmul__(self, other: object) -> Expr: ...
        def __truediv__(self, other: object) -> Expr: ...
        def __rtruediv__(self, other: object) -> Expr: ...
        def __floordiv__(self, other: object) -> Expr: ...
        def __rfloordiv__(self, other: object) -> Expr: ...
        def __mod__(self, other: object) -> Expr: ...
        def __rmod__(self, other: object) -> Expr: ...
        def __pow__(self, other: object) -> Expr: ...
        def __rpow__(self, other: object) -> Expr: ...
        def __and__(self, other: object) -> Expr: ...
        def __rand__(self, other: object) -> Expr: ...
        def __or__(self, other: object) -> Expr: ...
        def __ror__(self, other: object) -> Expr: ...
        def __xor__(self, other: object) -> Expr: ...
        def __rxor__(self, other: object) -> Expr: ...
        def __lshift__(self, other: object) -> Expr: ...
        def __rlshift__(self, other: object) -> Expr: ...
        def __rshift__(self, other: object) -> Expr: ...
        def __rrshift__(self, other: object) -> Expr: ...
        def __lt__(self, other: object) -> Expr: ...
        def __le__(self, other: object) -> Expr: ...
        def __gt__(self, other: object) -> Expr: ...
        def __ge__(self, other: object) -> Expr: ...
        def __neg__(self) -> Expr: ...
        def __invert__(self) -> Expr: ...
        def __abs__(self) -> Expr: ...


class Var(Expr):
    """A variable. Its identity is the object; ``name_hint`` is only a hint, ``unique_id`` counts up in this process."""

    __slots__ = ("name_hint", "unique_id")
    FIELDS = (Field("type", FieldKind.TYPE),)
    name_hint: str
    unique_id: int

    def __init__(self, name_hint: str, type: Type, span: Span = UNKNOWN) -> None:
        self.name_hint = name_hint
        self.type = type
        self.span = span
        self.unique_id = _new_id()


class IterArg(Var):
    """A value carried by a loop; ``initValue`` is what it holds in the first iteration."""

    __slots__ = ("initValue",)
    FIELDS = (Field("type", FieldKind.TYPE), Field("initValue", FieldKind.EXPR))
    initValue: Expr

    def __init__(self, name_hint: str, type: Type, initValue: Expr, span: Span = UNKNOWN) -> None:
        super().__init__(name_hint, type, span)
        self.initValue = initValue


class ConstInt(Expr):
    """An integer constant of ``dtype``; 64 bits."""

    __slots__ = ("value",)
    FIELDS = (Field("type", FieldKind.TYPE), Field("value", FieldKind.DATA))
    value: int

    def __init__(self, value: int, dtype: DataType, span: Span = UNKNOWN) -> None:
        if not -(1 << 63) <= value < (1 << 64):
            raise InvalidValueError(f"the integer constant {value} does not fit 64 bits", span)
        self.value = value
        self.type = ScalarType(dtype)
        self.span = span

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.type.dtype  # type: ignore[attr-defined]


class ConstFloat(Expr):
    """A floating-point constant of ``dtype``; the value is held as a double."""

    __slots__ = ("value",)
    FIELDS = (Field("type", FieldKind.TYPE), Field("value", FieldKind.DATA))
    value: float

    def __init__(self, value: float, dtype: DataType, span: Span = UNKNOWN) -> None:
        self.value = float(value)
        self.type = ScalarType(dtype)
        self.span = span

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.type.dtype  # type: ignore[attr-defined]


class ConstBool(Expr):
    """``True`` or ``False``."""

    __slots__ = ("value",)
    FIELDS = (Field("value", FieldKind.DATA),)
    value: bool

    def __init__(self, value: bool, span: Span = UNKNOWN) -> None:
        self.value = bool(value)
        self.type = ScalarType(DataType.BOOL)
        self.span = span

    @property
    def dtype(self) -> DataType:
        """Always BOOL."""
        return DataType.BOOL


class Call(Expr):
    """A call of an operator, or of a function of the program when ``op`` is a ``GlobalVar``.

    Accepted forms: ``(op, args, span)``, ``(op, args, type, span)``, ``(op, args, kwargs, span)``, ``(op, args, kwargs, type, span)``,
    ``(op, args, kwargs, attrs, type, span)``. Building a Call directly does not consult the vocabulary; ``create_op_call`` does.
    ``kwargs`` are the operator's own parameters, ``attrs`` compiler metadata; both keep their order, which does not count in equality.

    Raises:
        InvalidTypeError: an argument is not an expression, or a keyword value cannot be stored.
    """

    __slots__ = ("args", "attrs", "kwargs", "op")
    FIELDS = (
        Field("type", FieldKind.TYPE),
        Field("op", FieldKind.OP),
        Field("args", FieldKind.EXPRS),
        Field("attrs", FieldKind.ATTRS),
        Field("kwargs", FieldKind.ATTRS),
    )
    op: Op
    args: Sequence[Expr]
    kwargs: Mapping[str, AttrValue]
    attrs: Mapping[str, AttrValue]

    def __init__(self, op: Op, args: Sequence[Expr], *rest: Any, **named: Any) -> None:
        kwargs, attrs, type_, span = _call_rest(rest, named)
        checked = [*args]
        for arg in checked:
            if not isinstance(arg, Expr):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidTypeError(f"an argument of {op.name} must be an expression, got {arg!r}")
        self.op = op
        self.args = checked
        self.kwargs = normalize_attrs(kwargs)
        self.attrs = normalize_attrs(attrs)
        check_arg_directions(self.attrs, len(checked))
        self.type = type_
        self.span = span

    @property
    def arg_directions(self) -> list[ArgDirection]:
        """The resolved directions of the arguments; empty when not set."""
        return list(self.attrs.get("arg_directions", ()))  # type: ignore[arg-type]


def make_op_call(
    op: Op, args: list[Expr], kwargs: Mapping[str, AttrValue], attrs: Mapping[str, AttrValue], type_: Type, span: Span
) -> Call:
    """A Call from parts that are already checked and normalized; takes ownership of ``args``."""
    call = _new(Call)
    call.op = op
    call.args = args
    call.kwargs = kwargs
    call.attrs = attrs
    call.type = type_
    call.span = span
    return call


_new = object.__new__


def _call_rest(rest: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, Any, Type, Span]:
    positional = list(rest)
    span = named.pop("span", None)
    if span is None and positional and isinstance(positional[-1], Span):
        span = positional.pop()
    type_ = named.pop("type", None)
    if type_ is None and positional and isinstance(positional[-1], Type):
        type_ = positional.pop()
    kwargs = named.pop("kwargs", None)
    attrs = named.pop("attrs", None)
    if kwargs is None and positional:
        kwargs = positional.pop(0)
    if attrs is None and positional:
        attrs = positional.pop(0)
    if positional or named:
        raise InvalidTypeError(
            "a Call takes (op, args, span), (op, args, type, span), (op, args, kwargs, span), (op, args, kwargs, type, span) "
            "or (op, args, kwargs, attrs, type, span)"
        )
    return kwargs, attrs, UnknownType() if type_ is None else type_, UNKNOWN if span is None else span


def check_arg_directions(attrs: Mapping[str, AttrValue], count_: int) -> None:
    """``arg_directions`` must be empty or as long as the argument list; otherwise InvalidTypeError."""
    directions = attrs.get("arg_directions")
    if isinstance(directions, list) and directions and len(directions) != count_:
        raise InvalidTypeError(f"arg_directions has {len(directions)} entries for {count_} arguments")


class Submit(Expr):
    """The launch of a kernel as a task. Its type is the callee's results followed by a TASK_ID scalar.

    Raises:
        InvalidValueError: ``sync_start`` without ``core_num``, or a ``core_num`` that is not an integer.
    """

    __slots__ = ("allow_early_resolve", "args", "attrs", "core_num", "deps", "kwargs", "op", "predicate", "sync_start")
    FIELDS = (
        Field("type", FieldKind.TYPE),
        Field("op", FieldKind.OP),
        Field("args", FieldKind.EXPRS),
        Field("deps", FieldKind.EXPRS),
        Field("core_num", FieldKind.OPTIONAL_EXPR),
        Field("sync_start", FieldKind.DATA),
        Field("allow_early_resolve", FieldKind.DATA),
        Field("predicate", FieldKind.OPTIONAL_EXPR),
        Field("attrs", FieldKind.ATTRS),
        Field("kwargs", FieldKind.ATTRS),
    )

    def __init__(self, op: Op, args: Sequence[Expr], deps: Sequence[Expr], *rest: Any, **named: Any) -> None:
        options = {name: named.pop(name, None) for name in ("core_num", "sync_start", "allow_early_resolve", "predicate")}
        positional = list(rest)
        for at, item in enumerate(positional):
            if isinstance(item, Span):
                for name, value in zip(options, positional[at + 1 :], strict=False):
                    options[name] = value
                positional = positional[: at + 1]
                break
        kwargs, attrs, type_, span = _call_rest(tuple(positional), named)
        self.op = op
        self.args: Sequence[Expr] = [*args]
        self.deps: Sequence[Expr] = [*deps]
        self.kwargs: Mapping[str, AttrValue] = normalize_attrs(kwargs)
        self.attrs: Mapping[str, AttrValue] = normalize_attrs(attrs)
        check_arg_directions(self.attrs, len(self.args))
        core_num: Any = options["core_num"]
        if type(core_num) is int:
            core_num = index_const(core_num)
        if core_num is not None and not (isinstance(core_num.type, ScalarType) and core_num.type.dtype.is_int()):
            raise InvalidValueError("core_num must be an integer", span)
        self.core_num: Expr | None = core_num
        self.sync_start = bool(options["sync_start"])
        if self.sync_start and core_num is None:
            raise InvalidValueError("sync_start needs core_num", span)
        self.allow_early_resolve = bool(options["allow_early_resolve"])
        self.predicate: Expr | None = options["predicate"]
        self.type = type_
        self.span = span

    @property
    def arg_directions(self) -> list[ArgDirection]:
        """The resolved directions of the arguments; empty when not set."""
        return list(self.attrs.get("arg_directions", ()))  # type: ignore[arg-type]


class MakeTuple(Expr):
    """Several values as one; shapes and offsets of operators are tuples of index expressions."""

    __slots__ = ("elements",)
    FIELDS = (Field("elements", FieldKind.EXPRS),)
    elements: Sequence[Expr]

    def __init__(self, elements: Sequence[Expr], span: Span = UNKNOWN) -> None:
        self.elements = [*elements]
        self.type = TupleType([e.type for e in self.elements])
        self.span = span


class TupleGetItemExpr(Expr):
    """One element of a tuple.

    Raises:
        InvalidValueError: ``tuple`` is not tuple-typed or the index is out of range.
    """

    __slots__ = ("index", "tuple")
    FIELDS = (Field("type", FieldKind.TYPE), Field("tuple", FieldKind.EXPR), Field("index", FieldKind.DATA))
    tuple: Expr
    index: int

    def __init__(self, tuple: Expr, index: int, span: Span = UNKNOWN) -> None:
        type_ = tuple.type
        if not isinstance(type_, TupleType):
            raise InvalidValueError("only a tuple has elements to get", span)
        if not 0 <= index < len(type_.types):
            raise InvalidValueError(f"index {index} is outside a tuple of {len(type_.types)}", span)
        self.tuple = tuple
        self.index = index
        self.type = type_.types[index]
        self.span = span


class BinaryExpr(Expr):
    """Base of two-operand scalar expressions; ``dtype`` is the element type of the result and is not checked against the operands."""

    __slots__ = ("left", "right")
    FIELDS = (Field("type", FieldKind.TYPE), Field("left", FieldKind.EXPR), Field("right", FieldKind.EXPR))
    left: Expr
    right: Expr

    def __init__(self, left: Expr, right: Expr, dtype: DataType, span: Span = UNKNOWN) -> None:
        self.left = left
        self.right = right
        self.type = ScalarType(dtype)
        self.span = span

    @property
    def dtype(self) -> DataType:
        """Element type of the result."""
        return self.type.dtype  # type: ignore[attr-defined]


class UnaryExpr(Expr):
    """Base of one-operand scalar expressions; ``dtype`` is the element type of the result."""

    __slots__ = ("operand",)
    FIELDS = (Field("type", FieldKind.TYPE), Field("operand", FieldKind.EXPR))
    operand: Expr

    def __init__(self, operand: Expr, dtype: DataType, span: Span = UNKNOWN) -> None:
        self.operand = operand
        self.type = ScalarType(dtype)
        self.span = span

    @property
    def dtype(self) -> DataType:
        """Element type of the result."""
        return self.type.dtype  # type: ignore[attr-defined]


class Add(BinaryExpr):
    """Sum."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Sub(BinaryExpr):
    """Difference."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Mul(BinaryExpr):
    """Product."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class FloorDiv(BinaryExpr):
    """Integer quotient rounded down."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class FloorMod(BinaryExpr):
    """Remainder with the sign of the divisor."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class FloatDiv(BinaryExpr):
    """Quotient."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Min(BinaryExpr):
    """Smaller of two."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Max(BinaryExpr):
    """Larger of two."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Pow(BinaryExpr):
    """Power."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Eq(BinaryExpr):
    """Equal."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Ne(BinaryExpr):
    """Not equal."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Lt(BinaryExpr):
    """Less."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Le(BinaryExpr):
    """Less or equal."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Gt(BinaryExpr):
    """Greater."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Ge(BinaryExpr):
    """Greater or equal."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class And(BinaryExpr):
    """Logical and."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Or(BinaryExpr):
    """Logical or."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Xor(BinaryExpr):
    """Logical exclusive or."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class BitAnd(BinaryExpr):
    """Bitwise and."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class BitOr(BinaryExpr):
    """Bitwise or."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class BitXor(BinaryExpr):
    """Bitwise exclusive or."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class BitShiftLeft(BinaryExpr):
    """Shift left."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class BitShiftRight(BinaryExpr):
    """Shift right."""

    __slots__ = ()
    FIELDS = BinaryExpr.FIELDS


class Abs(UnaryExpr):
    """Absolute value."""

    __slots__ = ()
    FIELDS = UnaryExpr.FIELDS


class Neg(UnaryExpr):
    """Negation."""

    __slots__ = ()
    FIELDS = UnaryExpr.FIELDS


class Not(UnaryExpr):
    """Logical not."""

    __slots__ = ()
    FIELDS = UnaryExpr.FIELDS


class BitNot(UnaryExpr):
    """Bitwise not."""

    __slots__ = ()
    FIELDS = UnaryExpr.FIELDS


class Cast(UnaryExpr):
    """Conversion to ``dtype``."""

    __slots__ = ()
    FIELDS = UnaryExpr.FIELDS


class MemRef(Var):
    """A buffer reference: a declared allocation, or a byte range of one.

    Forms: ``MemRef()`` and ``MemRef(name)`` declare an allocation; ``MemRef(base, byte_offset, size)`` is a view of one (``base`` a
    pointer variable, or a name); ``MemRef(addr, size, id)`` and ``MemRef(space, addr, size, id)`` are the older spellings.

    Raises:
        InvalidValueError: ``slots`` below 1, or a slot outside the declaration.
        InvalidTypeError: the arguments fit no form.
    """

    __slots__ = ("base_", "byte_offset_", "is_pinned_", "size_", "slot_count_", "slot_index_")
    FIELDS = (
        Field("type", FieldKind.TYPE),
        Field("base_", FieldKind.EXPR),
        Field("byte_offset_", FieldKind.EXPR),
        Field("size_", FieldKind.DATA),
        Field("is_pinned_", FieldKind.DATA),
        Field("slot_count_", FieldKind.DATA),
        Field("slot_index_", FieldKind.OPTIONAL_EXPR),
    )
    base_: Var
    byte_offset_: Expr
    size_: int
    is_pinned_: bool
    slot_count_: int
    slot_index_: Expr | None

    _bases: ClassVar[dict[str, Var]] = {}

    def __init__(
        self,
        *parts: Any,
        span: Span = UNKNOWN,
        is_pinned: bool = False,
        slots: int = 1,
        slot: Any = None,
        name: str = "",
    ) -> None:
        if slots < 1:
            raise InvalidValueError(f"slots must be at least 1, got {slots}", span)
        if not parts or (len(parts) == 1 and isinstance(parts[0], str)):
            base: Any = Var(parts[0] if parts else name, PtrType(), span)
            offset: Any = 0
            size, is_pinned = 0, True
        elif len(parts) == 4 and isinstance(parts[0], MemorySpace):
            base = self._named_base(f"mem_{parts[0].name.lower()}_{parts[3]}")
            offset, size = ConstInt(parts[1], DataType.INDEX) if isinstance(parts[1], int) else parts[1], parts[2]
        elif len(parts) == 3 and isinstance(parts[0], int):
            base = self._named_base(f"mem_{parts[2]}")
            offset, size = ConstInt(parts[0], DataType.INDEX), parts[1]
        elif len(parts) == 3:
            base, offset, size = parts
        else:
            raise InvalidTypeError(
                "a MemRef takes (), (name), (base, byte_offset, size), (addr, size, id) or (space, addr, size, id)"
            )
        if isinstance(base, str):
            base = self._named_base(base)
        super().__init__(base.name_hint, MemRefType(), span)
        self.base_ = base
        self.byte_offset_ = ConstInt(offset, DataType.INT64, span) if isinstance(offset, int) else offset
        self.size_ = size
        self.is_pinned_ = is_pinned
        self.slot_count_ = slots
        self.slot_index_ = index_const(slot) if isinstance(slot, int) else slot

    @classmethod
    def _named_base(cls, name: str) -> Var:
        base = cls._bases.get(name)
        if base is None:
            base = cls._bases[name] = Var(name, PtrType(), UNKNOWN)
        return base

    def __getitem__(self, index: Any) -> MemRef:
        """Slot ``index`` of a declaration with several slots."""
        if self.slot_count_ < 2:
            raise InvalidValueError("only a MemRef with several slots can be indexed", hint="declare it with slots=N")
        value = index.value if isinstance(index, ConstInt) else index
        if isinstance(value, int) and not 0 <= value < self.slot_count_:
            raise InvalidValueError(f"slot {value} is outside the {self.slot_count_} slots")
        return self.replace(slot_index_=index_const(index) if isinstance(index, int) else index, unique_id=_new_id())

    @staticmethod
    def same_allocation(a: MemRef, b: MemRef) -> bool:
        """True when both refer to one allocation."""
        return a.base_ is b.base_

    @staticmethod
    def may_alias(a: MemRef, b: MemRef) -> bool:
        """False only when the two surely do not overlap."""
        if a.base_ is not b.base_:
            return False
        if isinstance(a.byte_offset_, ConstInt) and isinstance(b.byte_offset_, ConstInt) and a.size_ and b.size_:
            start_a, start_b = a.byte_offset_.value, b.byte_offset_.value
            return start_a < start_b + b.size_ and start_b < start_a + a.size_
        return True


class WindowBuffer(Var):
    """An allocation that other ranks can reach; ``base`` is the pointer variable of the allocation, ``size`` its bytes.

    Raises:
        InvalidTypeError: ``base`` is not a pointer variable.
    """

    __slots__ = ("base", "load_from_host", "size", "store_to_host")
    FIELDS = (
        Field("type", FieldKind.TYPE),
        Field("base", FieldKind.EXPR),
        Field("size", FieldKind.EXPR),
        Field("load_from_host", FieldKind.DATA),
        Field("store_to_host", FieldKind.DATA),
    )
    base: Var
    size: Expr
    load_from_host: bool
    store_to_host: bool

    def __init__(
        self, base: Var, size: Expr, load_from_host: bool = False, store_to_host: bool = False, span: Span = UNKNOWN
    ) -> None:
        if not isinstance(base, Var) or not isinstance(base.type, PtrType):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidTypeError("a window buffer needs the pointer variable of its allocation", span)
        super().__init__(base.name_hint, WindowBufferType(), span)
        self.base = base
        self.size = index_const(size) if isinstance(size, int) else size
        self.load_from_host = load_from_host
        self.store_to_host = store_to_host


_INDEX_CONSTS: dict[int, ConstInt] = {}


def index_const(value: int) -> ConstInt:
    """The INDEX constant of a value; small ones are shared."""
    known = _INDEX_CONSTS.get(value)
    if known is None:
        known = ConstInt(int(value), DataType.INDEX, UNKNOWN)
        if 0 <= value <= 1 << 16:
            _INDEX_CONSTS[value] = known
    return known
