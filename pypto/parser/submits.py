"""Launches of kernels as tasks: ``pl.submit(self.kernel, a, b, deps=[t])``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Expr, Submit, Var
from pypto.ir.function import Function
from pypto.ir.op import GlobalVar
from pypto.ir.types import ScalarType, TensorType, TupleType, Type, UnknownType
from pypto.parser.attrs import read_attrs
from pypto.parser.dependencies import read_dependencies, read_predicate, with_dumped
from pypto.parser.errors import ParserSyntaxError, ParserTypeError, UndefinedVariableError
from pypto.parser.folding import path_of
from pypto.parser.function_calls import result_type
from pypto.parser.reader import Reader, const_int
from pypto.parser.types import annotation_type

_KEYWORDS = ("deps", "dumps", "core_num", "sync_start", "allow_early_resolve", "predicate", "attrs", "kwargs", "type")


def read_submit(reader: Reader, node: ast.Call) -> Expr:
    """The launch of a kernel; its value is the results of the kernel followed by the task.

    Raises:
        ParserTypeError: wrong arguments, dependencies or dumps.
        ParserSyntaxError: a malformed launch.
    """
    path = str(path_of(reader, node.func))
    if not node.args:
        raise reader.failure(ParserSyntaxError, f"pl.{path} takes a function of the program first", node)
    name, function = _callee(reader, node.args[0])
    args = [reader.expression(arg) for arg in node.args[1:]]
    if function is not None and len(args) > len(function.params):
        raise reader.failure(ParserTypeError, f"{name} takes {len(function.params)} arguments, got {len(args)}", node)
    options = _options(reader, node, path, args)
    core_num: Expr | None = options.pop("core_num", None)
    if path == "spmd_submit" and core_num is None:
        raise reader.failure(ParserSyntaxError, "pl.spmd_submit needs core_num=", node)
    attrs: dict[str, AttrValue] = options.pop("attrs", {})
    try:
        return Submit(
            GlobalVar(name),
            args,
            options.pop("deps", []),
            options.pop("kwargs", None),
            attrs,
            options.pop("type", None) or _result(reader, function, args),
            reader.source.span(node),
            core_num=core_num,
            **options,
        )
    except Error as error:
        raise reader.from_error(ParserTypeError, error, node) from error


def _callee(reader: Reader, node: Any) -> tuple[str, Function | None]:
    if type(node) is ast.Name and reader.source.printed and reader.env.program is None:
        return node.id, None
    if type(node) is not ast.Attribute or type(node.value) is not ast.Name or node.value.id != "self":
        raise reader.failure(
            ParserSyntaxError, "a task is launched from a function of the program", node, hint="pl.submit(self.kernel, ...)"
        )
    program = reader.env.program
    if program is None:
        raise reader.failure(UndefinedVariableError, f"self.{node.attr} is a function of a program, and this is none", node)
    found = program.methods.get(node.attr)
    if found is None:
        close = did_you_mean(node.attr, list(program.methods))
        hint = f"did you mean self.{close}?" if close else None
        raise reader.failure(UndefinedVariableError, f"the program has no function {node.attr!r}", node, hint=hint)
    return found.name, found.function


def _result(reader: Reader, function: Function | None, args: Sequence[Expr]) -> Type:
    task = ScalarType(DataType.TASK_ID)
    results = UnknownType() if function is None else result_type(reader, function, args)
    if isinstance(results, UnknownType):
        return task
    return TupleType([*(results.types if isinstance(results, TupleType) else [results]), task])


def _options(reader: Reader, node: ast.Call, path: str, args: Sequence[Expr]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    attrs: dict[str, AttrValue] = {}
    predicate: Any = None
    for keyword in reader.keywords(node):
        key, value = keyword.arg, keyword.value
        if key not in _KEYWORDS or (path == "submit" and key in ("core_num", "sync_start")):
            close = did_you_mean(str(key), _KEYWORDS)
            hint = f"did you mean {close}=?" if close else None
            raise reader.failure(ParserTypeError, f"pl.{path} takes no keyword {key!r}", keyword, hint=hint)
        if key == "deps":
            options["deps"] = read_dependencies(reader, value)
        elif key == "dumps":
            attrs["dump_vars"] = _dumps(reader, value, args)
        elif key == "core_num":
            options["core_num"] = _core_num(reader, value)
        elif key == "predicate":
            predicate = value
        elif key == "type":
            options["type"] = annotation_type(reader, value)
        elif key in ("attrs", "kwargs"):
            found = read_attrs(reader, value, key)
            if key == "attrs":
                attrs.update(found)
            else:
                options["kwargs"] = found
        elif type(value) is ast.Constant and isinstance(value.value, bool):
            options[str(key)] = value.value
        else:
            raise reader.failure(ParserSyntaxError, f"{key}= is True or False", value)
    if predicate is not None:
        options["predicate"] = read_predicate(reader, predicate, options.get("deps", ()))
    with_dumped(reader, attrs, args)
    options["attrs"] = attrs
    return options


def _core_num(reader: Reader, node: Any) -> Expr:
    value = reader.expression(node)
    number = const_int(value)
    if not isinstance(value.type, ScalarType) or not value.type.dtype.is_int() or (number is not None and number <= 0):
        raise reader.failure(ParserTypeError, "core_num= is a positive integer", node)
    return value


def _dumps(reader: Reader, node: Any, args: Sequence[Expr]) -> list[Var]:
    if type(node) is not ast.List:
        raise reader.failure(ParserTypeError, "dumps= is a list of arguments", node)
    found: list[Var] = []
    for item in node.elts:
        value = reader.expression(item)
        if isinstance(value, Var) and reader.source.printed:
            found.append(value)
            continue
        if not isinstance(value, Var) or not isinstance(value.type, TensorType) or not any(a is value for a in args):
            raise reader.failure(ParserTypeError, "dumps= lists tensor arguments of this launch", item)
        found.append(value)
    return found
