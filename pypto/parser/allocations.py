"""What only a host orchestrator may ask for: window buffers, named after the variable they are assigned to, and the number of ranks."""

from __future__ import annotations

import ast
from typing import Any

from pypto.diagnostics import Error
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import Level
from pypto.ir.expr import ConstInt, Expr, MakeTuple
from pypto.ir.op import create_op_call
from pypto.ir.types import ScalarType
from pypto.ops.declare import Declaration
from pypto.ops.vocabulary import lookup
from pypto.parser.calls import special
from pypto.parser.errors import InvalidOperationError, ParserSyntaxError, ParserTypeError
from pypto.parser.folding import static
from pypto.parser.reader import Reader

_ON_DEVICE = ("incore scope", "spmd scope")


def _need_host(reader: Reader, node: ast.Call, what: str) -> None:
    if reader.source.printed:
        return
    hint = "it belongs in a function decorated with level=pl.Level.HOST, role=pl.Role.Orchestrator"
    if reader.level is not Level.HOST:
        raise reader.failure(ParserSyntaxError, f"{what} is for host orchestrators only", node, hint=hint)
    if any(kind in _ON_DEVICE for kind in reader.scopes):
        raise reader.failure(ParserSyntaxError, f"{what} cannot stand inside a scope that runs on a device", node, hint=hint)


@special("pld.alloc_window_buffer", "pld.tensor.alloc_window_buffer")
def read_allocation(reader: Reader, node: ast.Call) -> Expr:
    """``buf = pld.alloc_window_buffer(bytes)`` or ``buf = pld.alloc_window_buffer([2, 128], dtype=pl.FP32)``."""
    what = "pld.alloc_window_buffer"
    _need_host(reader, node, what)
    if reader.assigned is None or reader.assigned[0] is not node:
        raise reader.failure(
            ParserSyntaxError, f"{what} must be assigned to a name, which names the buffer", node, hint=f"buf = {what}(...)"
        )
    name = reader.assigned[1]
    size_node, dtype = _arguments(reader, node, what)
    known = _declared(reader)
    for keyword in node.keywords:
        if keyword.arg == "name":
            name = _written_name(reader, keyword)
    if name in known and not reader.source.printed:
        raise reader.failure(
            ParserSyntaxError, f"a window buffer {name!r} exists already in this program", node, hint="give it another name"
        )
    known[name] = node
    size = _size(reader, node, size_node, dtype, what)
    try:
        return create_op_call("pld.tensor.alloc_window_buffer", [size], {"name": name}, reader.source.span(node))
    except Error as error:
        raise reader.from_error(InvalidOperationError, error, size_node) from error


def _declared(reader: Reader) -> dict[str, Any]:
    program = reader.env.program
    return {} if program is None else program.allocations


def _written_name(reader: Reader, keyword: ast.keyword) -> str:
    value = static(reader, keyword.value)
    if not reader.source.printed or not isinstance(value, str) or not value:
        raise reader.failure(
            ParserSyntaxError, "a window buffer is named after the variable it is assigned to", keyword, hint="leave name= out"
        )
    return value


def _arguments(reader: Reader, node: ast.Call, what: str) -> tuple[Any, DataType | None]:
    size_node: Any = None
    dtype: DataType | None = None
    for keyword in node.keywords:
        if keyword.arg == "dtype":
            value = static(reader, keyword.value)
            if not isinstance(value, DataType):
                raise reader.failure(ParserTypeError, "dtype= is an element type", keyword.value, hint="dtype=pl.FP32")
            dtype = value
        elif keyword.arg == "size" and not node.args:
            size_node = keyword.value
        elif keyword.arg != "name":
            raise reader.failure(ParserSyntaxError, f"{what} takes no {keyword.arg}=", keyword, hint="it takes a size, and dtype")
    if len(node.args) == 1:
        size_node = node.args[0]
    if size_node is None or len(node.args) > 1:
        raise reader.failure(
            ParserSyntaxError,
            f"{what} takes one size, got {len(node.args)}",
            node,
            hint=f"{what}(bytes) or {what}([2, 128], dtype=pl.FP32)",
        )
    return size_node, dtype


def _size(reader: Reader, node: ast.Call, size_node: Any, dtype: DataType | None, what: str) -> Expr:
    """The number of bytes: as written, or the product of the extents and the size of an element."""
    size = reader.expression(size_node)
    if not isinstance(size, MakeTuple):
        if dtype is not None:
            raise reader.failure(
                ParserSyntaxError,
                f"{what} takes dtype= with a shape only",
                size_node,
                hint=f"{what}([...], dtype=pl.{dtype.name}), or the number of bytes without dtype",
            )
        return size
    if dtype is None:
        raise reader.failure(ParserSyntaxError, f"{what} needs dtype= with a shape", size_node, hint="dtype=pl.FP32")
    if not size.elements:
        raise reader.failure(ParserSyntaxError, f"{what} takes no empty shape", size_node)
    count = 1
    chain: Expr | None = None
    for at, dim in enumerate(size.elements):
        if isinstance(dim, ConstInt):
            if dim.value <= 0:
                raise reader.failure(ParserSyntaxError, f"{what} takes positive extents, got {dim.value}", size_node.elts[at])
            count *= dim.value
        elif not isinstance(dim.type, ScalarType) or not dim.type.dtype.is_int():
            raise reader.failure(ParserSyntaxError, f"{what} takes integers as extents", size_node.elts[at])
        wide = ConstInt(dim.value, DataType.INT64) if isinstance(dim, ConstInt) else _int64(dim)
        chain = wide if chain is None else scalar.mul(chain, wide, reader.source.span(node))
    if all(isinstance(d, ConstInt) for d in size.elements):
        return ConstInt(count * dtype.get_byte(), DataType.INT64)
    return scalar.mul(chain, ConstInt(dtype.get_byte(), DataType.INT64), reader.source.span(node))


def _int64(dim: Expr) -> Expr:
    type_ = dim.type
    assert isinstance(type_, ScalarType)
    return dim if type_.dtype is DataType.INT64 else scalar.cast(dim, DataType.INT64, dim.span)


@special("pld.world_size", "pld.system.world_size")
def read_world_size(reader: Reader, node: ast.Call) -> Expr:
    """``pld.world_size()``."""
    _need_host(reader, node, "pld.world_size")
    if node.args or node.keywords:
        first = node.args[0] if node.args else node.keywords[0]
        raise reader.failure(InvalidOperationError, "pld.world_size takes no arguments", first)
    entry = lookup("pld.system.world_size")
    assert isinstance(entry, Declaration)
    return entry.build([], reader.source.span(node))
