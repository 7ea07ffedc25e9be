"""Lists of tasks and of tensors: ``deps=[...]``, ``dumps=[...]``, what ``pl.dump_tag`` marks, and when a task runs at all."""

from __future__ import annotations

import ast
from collections import ChainMap
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, cast

from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, Cast, ConstInt, Eq, Expr, Ge, Gt, Le, Lt, MakeTuple, Ne, Var, index_const
from pypto.ir.node import walk
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ir.types import ArrayType, ScalarType, TensorType
from pypto.ops.syntax import DUMPED
from pypto.parser.calls import call_operator_named
from pypto.parser.environment import NOTHING
from pypto.parser.errors import ParserSyntaxError, ParserTypeError
from pypto.parser.folding import path_of, static
from pypto.parser.reader import Reader, const_int

_MOST_TASKS = 4096
"""Comprehensions that list more tasks are taken for a mistake."""


def read_dependencies(reader: Reader, node: Any) -> list[Expr]:
    """The tasks of a ``deps=`` list.

    Task variables and arrays of tasks stand for themselves, ``None`` for nothing. Elements of arrays, and what comprehensions list, are
    put into an array made for them in front of the statement. A printed program has them as they are.

    Raises:
        ParserTypeError: it is no list, lists something else than tasks, or mixes whole arrays with elements.
    """
    if type(node) is not ast.List and type(node) is not ast.ListComp:
        raise reader.failure(ParserTypeError, "deps= is a list of tasks", node, hint="deps=[t0, t1]")
    found: list[Expr] = []
    gathered: list[Expr] = []
    at = 0
    array_node: Any = None
    for item, value in _tasks(reader, node.elts if type(node) is ast.List else [node]):
        type_ = value.type
        if not isinstance(type_, ScalarType | ArrayType) or type_.dtype is not DataType.TASK_ID:
            raise reader.failure(ParserTypeError, f"deps= lists tasks, got {reader.type_text(type_)}", item)
        if isinstance(value, Var) or reader.source.printed:
            found.append(value)
        else:
            if not gathered:
                at = len(found)
            gathered.append(value)
        if isinstance(type_, ArrayType):
            array_node = item
    if gathered:
        if array_node is not None:
            raise reader.failure(
                ParserTypeError,
                "deps= lists whole arrays or elements of arrays, not both",
                array_node,
                hint="write a comprehension over the elements of this array too",
            )
        found.insert(at, _gather(reader, gathered, node))
    return found


def read_dependency_names(reader: Reader, node: Any) -> list[Var]:
    """The tasks of a ``deps=`` list where they are kept as variables.

    Raises:
        ParserTypeError: as :func:`read_dependencies`.
    """
    found: list[Var] = []
    for value in read_dependencies(reader, node):
        if not isinstance(value, Var):
            raise reader.failure(ParserTypeError, "deps= lists variables", node)
        found.append(value)
    return found


def _tasks(reader: Reader, items: Iterable[Any]) -> Iterator[tuple[Any, Expr]]:
    for item in items:
        kind = cast("type[Any]", type(item))
        if kind is ast.Constant and item.value is None:
            continue
        if kind is ast.Starred:
            item = item.value
            kind = cast("type[Any]", type(item))
            if kind not in (ast.ListComp, ast.GeneratorExp, ast.List, ast.Tuple):
                raise reader.failure(ParserTypeError, "only a list or a comprehension can be spread out in deps=", item)
            if kind in (ast.List, ast.Tuple):
                yield from _tasks(reader, item.elts)
                continue
        if kind is ast.ListComp or kind is ast.GeneratorExp:
            yield from _comprehended(reader, item, 0)
            continue
        yield item, reader.expression(item)


def _comprehended(reader: Reader, node: Any, depth: int) -> Iterator[tuple[Any, Expr]]:
    """What a comprehension lists, one element for each turn of its loops, which run while reading."""
    if depth == len(node.generators):
        yield from _tasks(reader, [node.elt])
        return
    loop: ast.comprehension = node.generators[depth]
    target = loop.target
    if type(target) is not ast.Name or loop.is_async:
        raise reader.failure(ParserSyntaxError, "a comprehension in deps= has one name as target", target)
    name = target.id
    around, shadowed = reader.env.closure, reader.names.pop(name, None)
    try:
        for value in _turns(reader, loop.iter):
            reader.env.closure = ChainMap({name: value}, dict(around) if not isinstance(around, dict) else around)  # pyright: ignore[reportUnknownArgumentType]
            if all(_holds(reader, test) for test in loop.ifs):
                yield from _comprehended(reader, node, depth + 1)
    finally:
        reader.env.closure = around
        if shadowed is not None:
            reader.names[name] = shadowed


def _turns(reader: Reader, node: Any) -> Sequence[Any]:
    if type(node) is ast.Call and not node.keywords and 1 <= len(node.args) <= 3:
        is_range = type(node.func) is ast.Name and node.func.id == "range" and reader.env.value("range") is NOTHING
        if is_range or path_of(reader, node.func) == "range":
            bounds = [static(reader, arg) for arg in node.args]
            if all(type(bound) is int for bound in bounds) and (len(bounds) < 3 or bounds[2]):
                turns = range(*bounds)
                if len(turns) > _MOST_TASKS:
                    raise reader.failure(ParserTypeError, f"deps= lists more than {_MOST_TASKS} tasks", node)
                return turns
    else:
        value = static(reader, node)
        if isinstance(value, list | tuple | range):
            return value  # pyright: ignore[reportUnknownVariableType]
    raise reader.failure(
        ParserTypeError,
        "a comprehension in deps= runs over what is known while reading, not over values of the kernel",
        node,
        hint="range(4), or a list defined outside the function",
    )


def _holds(reader: Reader, node: Any) -> bool:
    value = static(reader, node)
    if value is NOTHING or isinstance(value, Expr):
        raise reader.failure(ParserTypeError, "the condition of a comprehension in deps= must be known while reading", node)
    return bool(value)


def _gather(reader: Reader, tasks: Sequence[Expr], node: Any) -> Var:
    """An array of tasks, filled one by one in front of the statement being read."""
    span = reader.source.span(node)
    made: Expr = call_operator_named(reader, "array.create", [index_const(len(tasks))], node, dtype=DataType.TASK_ID)
    array = reader.temporary("_deps", made, span)
    for at, task in enumerate(tasks):
        value = call_operator_named(reader, "array.update_element", [array, index_const(at), task], node)
        if reader.strict_ssa:
            array = reader.temporary("_deps", value, span)
        else:
            reader.emit(AssignStmt(array, value, span))
    return array


# -- dumps -----------------------------------------------------------------------------------------------------------------


def mark_dumped(reader: Reader, node: ast.Call) -> None:
    """``pl.dump_tag(x)``: calls, launches and scopes from here on that take ``x`` dump it.

    Raises:
        ParserSyntaxError: it does not name one tensor, or stands in a function of another kind.
    """
    kind = reader.function_type.name
    if kind not in ("Orchestration", "Inline"):
        raise reader.failure(
            ParserSyntaxError,
            "pl.dump_tag belongs in a function of type Orchestration or Inline",
            node,
            hint=f"this function is of type {kind}",
        )
    if len(node.args) != 1 or node.keywords or type(node.args[0]) is not ast.Name:
        raise reader.failure(ParserSyntaxError, "pl.dump_tag takes the name of one tensor", node)
    value = reader.expression(node.args[0])
    if not isinstance(value, Var) or not isinstance(value.type, TensorType):
        raise reader.failure(ParserSyntaxError, f"pl.dump_tag takes a tensor, got {reader.type_text(value.type)}", node.args[0])
    reader.dumped[value] = None


def with_dumped(reader: Reader, attrs: dict[str, Any], taken: Iterable[object]) -> None:
    """Add the marked tensors among what a call or scope takes to its attributes, after those that it lists itself."""
    if not reader.dumped:
        return
    listed: Any = attrs.get(DUMPED, [])
    known: dict[Var, None] = dict.fromkeys(listed)
    for value in taken:
        if isinstance(value, Var) and value in reader.dumped:
            known[value] = None
    if known:
        attrs[DUMPED] = [*known]


def taken_by(body: Stmt) -> Iterator[Expr]:
    """The variables that statements mention, in reading order."""
    for part in walk(body):
        if isinstance(part, Var):
            yield part


# -- predicates ------------------------------------------------------------------------------------------------------------

_COMPARISONS = (Eq, Ne, Lt, Le, Gt, Ge)
_INTEGERS = (DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64)


def read_predicate(reader: Reader, node: Any, deps: Sequence[Expr]) -> Expr:
    """The condition under which a task runs: an element of a tensor compared with a constant.

    Raises:
        ParserTypeError: it is something else, or the task that makes the tensor is not among ``deps``.
    """
    value = reader.expression(node)
    if reader.source.printed:
        return value
    hint = "predicate=(flags[0] > 0)"
    if not isinstance(value, _COMPARISONS):
        raise reader.failure(
            ParserTypeError, "predicate= is one comparison of an element of a tensor with a constant", node, hint=hint
        )
    sides = [_uncast(value.left), _uncast(value.right)]
    elements = [side for side in sides if isinstance(side, Call)]
    if len(elements) != 1 or not any(isinstance(side, ConstInt) for side in sides):
        raise reader.failure(
            ParserTypeError, "predicate= compares an element of a tensor with an integer constant", node, hint=hint
        )
    element = elements[0]
    tensor = element.args[0] if element.args else element
    index = element.args[1] if len(element.args) == 2 else None
    if not isinstance(tensor.type, TensorType) or not isinstance(index, MakeTuple):
        raise reader.failure(ParserTypeError, "predicate= compares an element of a tensor", node, hint=hint)
    if getattr(element.type, "dtype", None) not in _INTEGERS:
        raise reader.failure(
            ParserTypeError, f"predicate= compares a signed integer, got {reader.type_text(element.type)}", node, hint=hint
        )
    if any((number := const_int(at)) is not None and number < 0 for at in index.elements):
        raise reader.failure(ParserTypeError, "the index in predicate= is not negative", node)
    maker = reader.makers.get(tensor) if isinstance(tensor, Var) else None
    if maker is not None and not any(dep is maker for dep in deps):
        raise reader.failure(
            ParserTypeError,
            f"the task that makes {_name(tensor)!r} is not among deps=",
            node,
            hint=f"deps=[{maker.name_hint}], so that the value is there when it is looked at",
        )
    return value


def _name(value: Expr) -> str:
    return value.name_hint if isinstance(value, Var) else "the tensor"


def _uncast(value: Expr) -> Expr:
    return value.operand if isinstance(value, Cast) else value
