"""Values that are known while reading: numbers, lists, element types, enumeration members, and arithmetic on them."""

from __future__ import annotations

import ast
import math
import operator
import re
import struct
from collections.abc import Callable, Mapping
from typing import Any, cast

from pypto.diagnostics import did_you_mean
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Expr
from pypto.parser.dynamic import DynVar
from pypto.parser.environment import NOTHING
from pypto.parser.errors import ParserError, ParserTypeError
from pypto.parser.namespace import ENUMS, MEMBERS, STATIC_NAMES
from pypto.parser.reader import Reader

_MOST_BITS = 4096
_MOST_ITEMS = 1 << 16

BINARY: Mapping[type, Callable[[Any, Any], Any]] = {  # pyright: ignore[reportUnknownVariableType]
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,  # pyright: ignore[reportUnknownMemberType]
    ast.FloorDiv: operator.floordiv,  # pyright: ignore[reportUnknownMemberType]
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,  # pyright: ignore[reportUnknownMemberType]
    ast.LShift: operator.lshift,  # pyright: ignore[reportUnknownMemberType]
    ast.RShift: operator.rshift,  # pyright: ignore[reportUnknownMemberType]
    ast.BitAnd: operator.and_,  # pyright: ignore[reportUnknownMemberType]
    ast.BitOr: operator.or_,  # pyright: ignore[reportUnknownMemberType]
    ast.BitXor: operator.xor,  # pyright: ignore[reportUnknownMemberType]
}

_UNARY: Mapping[type, Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}

_COMPARE: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}

_NUMBER_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": len,
    "max": max,
    "min": min,
    "abs": abs,
    "round": round,
    "int": int,
    "float": float,
    "bool": bool,
}
_CLOSURE_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **_NUMBER_FUNCTIONS,
    "sum": sum,
    "list": list,
    "tuple": tuple,
    "range": range,
    "isinstance": isinstance,
    "type": type,
}
_MATH = {name: getattr(math, name) for name in ("inf", "nan", "pi", "e", "tau")}


_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan, "-nan": math.copysign(math.nan, -1.0)}
_NAN_BITS = re.compile(r"nan:([0-9a-f]{16})")


def not_finite(text: str) -> float | None:
    """The infinity or NaN that a string names: ``inf``, ``nan``, either with a minus, ``nan:<16 hex digits>``; None for other strings."""
    bits = _NAN_BITS.fullmatch(text)
    if bits is not None:
        value: float = struct.unpack("<d", struct.pack("<Q", int(bits.group(1), 16)))[0]
        return value if math.isnan(value) else None
    return _NOT_FINITE.get(text)


def combine(reader: Reader, node: Any, op: type, left: Any, right: Any) -> Any:
    """The value of a Python operator on two known numbers.

    Raises:
        ParserTypeError: it has none (division by zero), or it would be enormous.
    """
    function = BINARY.get(op)
    if function is None:
        raise reader.failure(ParserTypeError, "this operator has no value here", node)
    try:
        _check_size(op, left, right)
        value = function(left, right)
    except ZeroDivisionError:
        raise reader.failure(ParserTypeError, "division by zero", node) from None
    except OverflowError as error:
        raise reader.failure(ParserTypeError, f"the value cannot be computed: {error}", node) from None
    except (TypeError, ValueError) as error:
        raise reader.failure(ParserTypeError, f"the value cannot be computed: {error}", node) from None
    if isinstance(value, complex):
        raise reader.failure(ParserTypeError, "the value is a complex number", node)
    return value


def _check_size(op: type, left: Any, right: Any) -> None:
    if op is ast.Pow and isinstance(left, int) and isinstance(right, int) and right > 0:
        bits = left.bit_length() * right
    elif op is ast.LShift and isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() + right
    elif op is ast.Mult and isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length() + right.bit_length()
    else:
        sizes = [len(v) for v in (left, right) if isinstance(v, list | tuple | str)]  # pyright: ignore[reportUnknownArgumentType]
        times = [v for v in (left, right) if isinstance(v, int)]
        if op is ast.Mult and sizes and times and sizes[0] * times[0] > _MOST_ITEMS:
            raise OverflowError("it has too many elements")
        return
    if bits > _MOST_BITS:
        raise OverflowError(f"it has about {bits} bits")


def path_of(reader: Reader, node: Any) -> str | None:
    """The dotted name after the language's prefix (``pl.Mem.Vec`` is ``Mem.Vec``, ``pld.rank`` is ``pld.rank``), else None."""
    parts: list[str] = []
    while type(node) is ast.Attribute:
        parts.append(node.attr)
        node = node.value
    if type(node) is not ast.Name or node.id in reader.names:
        return None
    env = reader.env
    if not parts:
        return _bare_path(reader, node.id)
    parts.reverse()
    prefix = env.prefix(node.id)
    if prefix is not None:
        return prefix + ".".join(parts)
    if node.id == "pypto" and parts[0] == "language" and len(parts) > 1:
        return f"pld.{'.'.join(parts[2:])}" if parts[1] == "distributed" and len(parts) > 2 else ".".join(parts[1:])
    head = _bare_path(reader, node.id)
    return None if head is None else f"{head}.{'.'.join(parts)}"


_BARE_HEADS = frozenset(
    (
        *ENUMS,
        "Tensor",
        "Tile",
        "Scalar",
        "Array",
        "Tuple",
        "Out",
        "InOut",
        "TensorView",
        "TileView",
        "MemRef",
        "Ptr",
        "PtrType",
        "MemRefType",
        "UnknownType",
        "DistributedTensor",
        "CommCtx",
        "CommCtxType",
        "WindowBuffer",
        "WindowBufferType",
        "PrefetchAsyncContext",
        "PrefetchAsyncContextType",
        "AsyncEvent",
        "AsyncEventType",
        "AsyncSession",
        "AsyncSessionType",
    )
)
_DISTRIBUTED_HEADS = frozenset(("DistributedTensor", "CommCtx", "CommCtxType", "WindowBuffer", "WindowBufferType"))


def _bare_path(reader: Reader, name: str) -> str | None:
    """The dotted name of something imported from the language by its own name."""
    known = reader.env.bare.get(name)
    if known is not None:
        return known
    if name not in _BARE_HEADS or reader.env.is_text:
        return None
    value = reader.env.value(name)
    if value is NOTHING or not str(getattr(value, "__module__", "")).startswith("pypto"):
        return None
    return f"pld.{name}" if name in _DISTRIBUTED_HEADS else name


def named_value(reader: Reader, path: str, node: Any) -> Any:
    """The value of a dotted name of the language (an element type, an enumeration member), or NOTHING.

    Raises:
        ParserTypeError: the enumeration has no such member.
    """
    value = STATIC_NAMES.get(path, NOTHING)
    if value is not NOTHING:
        return value
    short = path.removeprefix("pld.")
    value = STATIC_NAMES.get(short, NOTHING)
    if value is not NOTHING:
        return value
    head, _, member = short.rpartition(".")
    members = MEMBERS.get(head)
    if members is not None:
        close = did_you_mean(member, members)
        hint = f"did you mean {close!r}?" if close else "one of " + ", ".join(members)
        raise reader.failure(ParserTypeError, f"{head} has no member {member!r}", node, hint=hint)
    return NOTHING


def static(reader: Reader, node: Any) -> Any:
    """The value that an expression has while reading, or NOTHING when it has none (it involves the kernel's own values).

    Raises:
        ParserError: it cannot be computed, or names a member that does not exist.
    """
    kind = cast("type[Any]", type(node))
    handler = _STATIC.get(kind)
    if handler is None:
        return NOTHING
    if type(node) is ast.Attribute or type(node) is ast.List:
        key = reader.source.key(node)
        if key is not None:
            texts = reader.env.static_texts
            value = texts.get(key, NOTHING)
            if value is not NOTHING:
                return value
            value = handler(reader, node)
            if isinstance(value, DataType) or type(value).__module__ == "pypto.ir.enums":
                texts[key] = value
            return value
    return handler(reader, node)


def _constant(_reader: Reader, node: ast.Constant) -> Any:
    return NOTHING if node.value is Ellipsis or isinstance(node.value, bytes | complex) else node.value


def _name(reader: Reader, node: ast.Name) -> Any:
    if node.id in reader.names:
        return NOTHING
    if reader.names_used is not None:
        reader.names_used.append(node.id)
    value = reader.env.value(node.id)
    if value is NOTHING:
        path = _bare_path(reader, node.id)
        return NOTHING if path is None else named_value(reader, path, node)
    return value


def _attribute(reader: Reader, node: ast.Attribute) -> Any:
    path = path_of(reader, node)
    if path is not None:
        return named_value(reader, path, node)
    if reader.env.is_text:
        root = node.value
        if type(root) is ast.Name and root.id == "math" and reader.env.bare.get("math") == "math":
            return _MATH.get(node.attr, NOTHING)
        return NOTHING
    owner = static(reader, node.value)
    if owner is NOTHING or isinstance(owner, Expr):
        return NOTHING
    try:
        return getattr(owner, node.attr)
    except AttributeError:
        raise reader.failure(ParserTypeError, f"a {type(owner).__name__} has no attribute {node.attr!r}", node) from None


def _binary(reader: Reader, node: ast.BinOp) -> Any:
    spine: list[ast.BinOp] = []
    first: Any = node
    while type(first) is ast.BinOp:
        spine.append(first)
        first = first.left
    value = static(reader, first)
    for link in reversed(spine):
        if value is NOTHING:
            return NOTHING
        right = static(reader, link.right)
        if right is NOTHING or not (_is_plain(value) and _is_plain(right)):
            return NOTHING
        value = combine(reader, link, type(link.op), value, right)
    return value


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float | str | list | tuple) or (
        hasattr(value, "__index__") and not isinstance(value, Expr | DynVar)
    )


def _unary(reader: Reader, node: ast.UnaryOp) -> Any:
    value = static(reader, node.operand)
    if value is NOTHING or isinstance(value, Expr | DynVar):
        return NOTHING
    try:
        return _UNARY[type(node.op)](value)
    except TypeError as error:
        raise reader.failure(ParserTypeError, f"the value cannot be computed: {error}", node) from None


def _sequence(reader: Reader, node: ast.List | ast.Tuple) -> Any:
    values: list[Any] = []
    for item in node.elts:
        value = static(reader, item)
        if value is NOTHING:
            return NOTHING
        values.append(value)
    return values if type(node) is ast.List else tuple(values)


def _subscript(reader: Reader, node: ast.Subscript) -> Any:
    owner = static(reader, node.value)
    if not isinstance(owner, list | tuple | dict):
        return NOTHING
    index = static(reader, node.slice)
    if index is NOTHING:
        return NOTHING
    try:
        return owner[index]  # pyright: ignore[reportUnknownVariableType]
    except (LookupError, TypeError) as error:
        raise reader.failure(ParserTypeError, f"no such element: {error}", node) from None


def _compare(reader: Reader, node: ast.Compare) -> Any:
    left = static(reader, node.left)
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = static(reader, right_node)
        if left is NOTHING or right is NOTHING or isinstance(left, Expr) or isinstance(right, Expr):
            return NOTHING
        try:
            if not _COMPARE[type(op)](left, right):
                return False
        except TypeError as error:
            raise reader.failure(ParserTypeError, f"the values cannot be compared: {error}", node) from None
        left = right
    return True


def _boolean(reader: Reader, node: ast.BoolOp) -> Any:
    value: Any = NOTHING
    for item in node.values:
        value = static(reader, item)
        if value is NOTHING or isinstance(value, Expr):
            return NOTHING
        if bool(value) is isinstance(node.op, ast.Or):
            return value
    return value


def _conditional(reader: Reader, node: ast.IfExp) -> Any:
    test = static(reader, node.test)
    if test is NOTHING or isinstance(test, Expr):
        return NOTHING
    return static(reader, node.body if test else node.orelse)


def _call(reader: Reader, node: ast.Call) -> Any:
    func = node.func
    if type(func) is ast.Attribute and func.attr == "get_byte" and not node.args and not node.keywords:
        dtype = static(reader, func.value)
        return dtype.get_byte() if isinstance(dtype, DataType) else NOTHING
    if type(func) is ast.Name and func.id == "float" and len(node.args) == 1 and not node.keywords:
        # also where the kernel has a variable of that name, which could not be called
        text = node.args[0].value if type(node.args[0]) is ast.Constant else None
        value = not_finite(text) if isinstance(text, str) else None
        if value is not None:
            return value
    if type(func) is not ast.Name or func.id in reader.names or reader.env.value(func.id) is not NOTHING:
        return NOTHING
    function = (_NUMBER_FUNCTIONS if reader.env.is_text else _CLOSURE_FUNCTIONS).get(func.id)
    if function is None or node.keywords:
        return NOTHING
    values = [static(reader, arg) for arg in node.args]
    if any(v is NOTHING or isinstance(v, Expr) for v in values):
        return NOTHING
    try:
        return function(*values)
    except (TypeError, ValueError, OverflowError) as error:
        raise reader.failure(ParserTypeError, f"the value cannot be computed: {error}", node) from None


_STATIC: dict[type, Callable[[Reader, Any], Any]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Subscript: _subscript,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Call: _call,
}


def required_static(reader: Reader, node: Any, what: str, error: type[ParserError] = ParserTypeError) -> Any:
    """The value that an expression has while reading.

    Raises:
        ParserError: of class ``error``, when it has none.
    """
    value = static(reader, node)
    if value is NOTHING:
        raise reader.failure(
            error, f"{what} must be known while reading", node, hint="write a literal, or a name defined outside the function"
        )
    return value
