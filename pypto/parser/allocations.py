"""What only a host orchestrator may ask for: window buffers, named after the variable they are assigned to, and the number of ranks."""

from __future__ import annotations

import ast
from typing import Any

from pypto.diagnostics import Error
from pypto.ir.dtypes import DataType
from pypto.ir.enums import Level
from pypto.ir.expr import Expr
from pypto.ir.op import get_op
from pypto.ops.declare import MISSING, Declaration
from pypto.ops.vocabulary import lookup
from pypto.parser.calls import argument, keyword_argument, special, with_attrs
from pypto.parser.errors import InvalidOperationError, ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from pypto.parser.folding import static
from pypto.parser.reader import Reader

_ON_DEVICE = ("incore scope", "spmd scope")
_ENTRY: Any = get_op("pld.tensor.alloc_window_buffer")


def _need_host(reader: Reader, node: ast.Call, what: str) -> None:
    if reader.source.printed:
        return
    hint = "it belongs in a function decorated with level=pl.Level.HOST, role=pl.Role.Orchestrator"
    if reader.level is not Level.HOST:
        raise reader.failure(ParserSyntaxError, f"{what} is for host orchestrators only", node, hint=hint)
    if any(kind in _ON_DEVICE for kind in reader.scopes):
        message = f"{what} cannot stand inside a scope that runs on a device"
        raise reader.failure(ParserSyntaxError, message, node, hint="write it before the scope")


@special("pld.alloc_window_buffer", "pld.tensor.alloc_window_buffer")
def read_allocation(reader: Reader, node: ast.Call) -> Expr:
    """``buf = pld.alloc_window_buffer(bytes)`` or ``buf = pld.alloc_window_buffer([2, 128], dtype=pl.FP32)``."""
    what = "pld.alloc_window_buffer"
    _need_host(reader, node, what)
    named = _keyword(node, "name")
    target = reader.assigned[1] if reader.assigned is not None and reader.assigned[0] is node else None
    if target is None and not (reader.source.printed and named is not None):
        raise reader.failure(
            ParserSyntaxError, f"{what} must be assigned to a name, which names the buffer", node, hint=f"buf = {what}(...)"
        )
    size_node, dtype = _arguments(reader, node, what)
    name = _written_name(reader, named) if named is not None else str(target)
    known = _declared(reader)
    if name in known and not reader.source.printed:
        raise reader.failure(
            ParserSyntaxError, f"a window buffer {name!r} exists already in this program", node, hint="give it another name"
        )
    known[name] = node
    size: Any = argument(reader, _ENTRY.params[0], size_node)
    try:
        call = _ENTRY.build([size, MISSING if dtype is None else dtype, name], reader.source.span(node))
    except Error as error:
        place = size_node if error.parameter != "dtype" or dtype is None else _keyword(node, "dtype").value
        raise reader.from_error(ParserSyntaxError, error, place) from error
    attrs = _keyword(node, "attrs")
    return call if attrs is None else with_attrs(reader, call, attrs.value)


def _keyword(node: ast.Call, name: str) -> Any:
    return next((k for k in node.keywords if k.arg == name), None)


def _declared(reader: Reader) -> dict[str, Any]:
    program = reader.env.program
    return {} if program is None else program.allocations


def _written_name(reader: Reader, keyword: Any) -> str:
    value = static(reader, keyword.value)
    if not reader.source.printed or not isinstance(value, str) or not value:
        raise reader.failure(
            ParserSyntaxError, "a window buffer is named after the variable it is assigned to", keyword, hint="leave name= out"
        )
    return value


def _arguments(reader: Reader, node: ast.Call, what: str) -> tuple[Any, DataType | None]:
    size_node: Any = None
    dtype: DataType | None = None
    for keyword in reader.keywords(node):
        if keyword.arg == "dtype":
            value = keyword_argument(reader, "dtype", keyword.value)
            if not isinstance(value, DataType):
                raise reader.failure(ParserTypeError, "dtype= is an element type", keyword.value, hint="dtype=pl.FP32")
            dtype = value
        elif keyword.arg == "size" and not node.args:
            size_node = keyword.value
        elif keyword.arg is None:
            raise reader.failure(UnsupportedFeatureError, "** arguments cannot be used in a kernel", keyword.value)
        elif keyword.arg == "size":
            raise reader.failure(ParserSyntaxError, f"{what} got size twice", keyword)
        elif keyword.arg not in ("name", "attrs"):
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


@special("pld.world_size", "pld.system.world_size")
def read_world_size(reader: Reader, node: ast.Call) -> Expr:
    """``pld.world_size()``."""
    _need_host(reader, node, "pld.world_size")
    given = [*node.args, *[k for k in reader.keywords(node) if k.arg != "attrs"]]
    if given:
        raise reader.failure(InvalidOperationError, "pld.world_size takes no arguments", given[0])
    entry = lookup("pld.system.world_size")
    assert isinstance(entry, Declaration)
    call = entry.build([], reader.source.span(node))
    attrs = _keyword(node, "attrs")
    return call if attrs is None else with_attrs(reader, call, attrs.value)
