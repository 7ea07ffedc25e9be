"""Calls of functions: arguments, compiler metadata, and the type that the call has in the caller."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from pypto.diagnostics import Error
from pypto.ir.attrs import AttrValue
from pypto.ir.enums import Role
from pypto.ir.expr import Call, ConstInt, Expr, Var
from pypto.ir.function import Function
from pypto.ir.node import walk
from pypto.ir.op import GlobalVar
from pypto.ir.stmt import ReturnStmt, Stmt
from pypto.ir.types import ScalarType, ShapedType, TupleType, Type, UnknownType
from pypto.ir.utilities import deduce_call_return_type
from pypto.parser.attrs import read_attrs
from pypto.parser.dependencies import with_dumped
from pypto.parser.errors import ParserTypeError, UnsupportedFeatureError
from pypto.parser.folding import path_of
from pypto.parser.reader import Reader


def call_function(
    reader: Reader, node: ast.Call, name: str, function: Function | None, role: Role | None, *, by_name: bool = False
) -> Expr:
    """A call of a function of the program (or of one from outside).

    Raises:
        ParserTypeError: a wrong number of arguments, an unknown keyword, arguments whose shapes contradict each other.
    """
    args, overrides = _arguments(reader, node)
    attrs: dict[str, AttrValue] = {}
    kwargs: Any = None
    if overrides:
        attrs["arg_direction_overrides"] = overrides
    for keyword in reader.keywords(node):
        if keyword.arg is None:
            raise reader.failure(UnsupportedFeatureError, "** arguments cannot be used in a kernel", keyword.value)
        if keyword.arg == "attrs":
            attrs.update(_call_attrs(reader, keyword.value, args))
        elif keyword.arg == "kwargs":
            kwargs = read_attrs(reader, keyword.value, "kwargs")
        elif keyword.arg == "device" and (role is Role.Orchestrator or by_name or reader.source.printed):
            attrs = {"device": _device(reader, keyword.value), **attrs}
        elif keyword.arg == "device":
            raise reader.failure(
                ParserTypeError, f"device= goes with an orchestrator, and {name!r} is none", keyword, hint="remove device="
            )
        else:
            raise reader.failure(
                ParserTypeError,
                f"a call of a function takes no keyword {keyword.arg!r}",
                keyword,
                hint="arguments are positional; besides them there is attrs={...}",
            )
    if function is not None and len(args) != len(function.params):
        raise reader.failure(
            ParserTypeError,
            f"{name} takes {len(function.params)} argument{'s' * (len(function.params) != 1)}, got {len(args)}",
            node,
            hint=f"its parameters are {', '.join(p.name_hint for p in function.params)}",
        )
    with_dumped(reader, attrs, args)
    type_: Type = UnknownType()
    if function is not None:
        _check_kinds(reader, node, name, function, args)
        _check_dimensions(reader, node, name, function, args)
        type_ = result_type(reader, function, args)
    try:
        return Call(GlobalVar(name), args, kwargs, attrs, type_, reader.source.span(node))
    except Error as error:
        raise reader.from_error(ParserTypeError, error, node) from error


def _arguments(reader: Reader, node: ast.Call) -> tuple[list[Expr], list[int]]:
    args: list[Expr] = []
    overrides: list[int] = []
    for at, arg in enumerate(node.args):
        inner = arg
        if type(arg) is ast.Call and type(arg.func) is ast.Attribute and arg.func.attr == "no_dep":
            if path_of(reader, arg.func) in ("no_dep", "tensor.no_dep"):
                if len(arg.args) != 1 or arg.keywords:
                    raise reader.failure(ParserTypeError, "pl.no_dep takes one argument", arg)
                inner = arg.args[0]
                overrides.append(at)
        args.append(reader.expression(inner))
    return args, overrides


def _call_attrs(reader: Reader, node: Any, args: Sequence[Expr]) -> dict[str, AttrValue]:
    attrs = dict(read_attrs(reader, node))
    if "manual_dep_edges" in attrs:
        raise reader.failure(ParserTypeError, "manual_dep_edges does not belong on a call of a function", node)
    dumped: Any = attrs.get("dump_vars")
    if isinstance(dumped, list) and not reader.source.printed:
        for var in dumped:  # pyright: ignore[reportUnknownVariableType]
            if not isinstance(var, Var) or not any(arg is var for arg in args):
                raise reader.failure(ParserTypeError, "dump_vars lists arguments of this call", node)
    return attrs


def _device(reader: Reader, node: Any) -> Expr:
    value = reader.expression(node)
    if not isinstance(value.type, ScalarType) or not value.type.dtype.is_int():
        raise reader.failure(ParserTypeError, f"device= is an integer, got {reader.type_text(value.type)}", node)
    return value


def result_type(reader: Reader, function: Function, args: Sequence[Expr]) -> Type:
    """The type that a call has: the declared results, else those of the first return of a body that is read already."""
    results = function.return_types
    if not results and not reader.source.printed:
        results = _returned_types(function.body)
    types = deduce_call_return_type(function.params, args, results)
    if not types:
        return UnknownType()
    return types[0] if len(types) == 1 else TupleType(types)


def _returned_types(body: Stmt) -> list[Type]:
    for part in walk(body):
        if isinstance(part, ReturnStmt) and part.value:
            types = [value.type for value in part.value]
            return [] if any(isinstance(t, UnknownType) for t in types) else types
    return []


def _check_dimensions(reader: Reader, node: ast.Call, name: str, function: Function, args: Sequence[Expr]) -> None:
    """Refuse arguments that give one dimension of the callee two sizes."""
    known: dict[Var, Expr] = {}
    for at, (arg, param) in enumerate(zip(args, function.params, strict=True)):
        if not isinstance(param.type, ShapedType) or not isinstance(arg.type, ShapedType):
            continue
        for dim, given in zip(param.type.shape, arg.type.shape, strict=False):
            if not isinstance(dim, Var):
                continue
            before = known.setdefault(dim, given)
            if isinstance(before, ConstInt) and isinstance(given, ConstInt) and before.value != given.value:
                raise reader.failure(
                    ParserTypeError,
                    f"{name}: the dimension {dim.name_hint} is {before.value} and {given.value} at once",
                    node.args[at],
                    hint=f"pass arguments that agree on {dim.name_hint}",
                    label=reader.type_text(arg.type),
                )


def _check_kinds(reader: Reader, node: ast.Call, name: str, function: Function, args: Sequence[Expr]) -> None:
    for arg, arg_node, param in zip(args, node.args, function.params, strict=True):
        given, wanted = arg.type, param.type
        if isinstance(given, UnknownType) or isinstance(wanted, UnknownType):
            continue
        if isinstance(wanted, ShapedType) and isinstance(given, ShapedType):
            fits = (
                given.dtype is wanted.dtype
                and len(given.shape) == len(wanted.shape)
                and (isinstance(given, type(wanted)) or isinstance(wanted, type(given)))
                and not any(
                    isinstance(a, ConstInt) and isinstance(b, ConstInt) and a.value != b.value
                    for a, b in zip(given.shape, wanted.shape, strict=True)
                )
            )
        elif isinstance(wanted, ScalarType) and isinstance(given, ScalarType):
            fits = given.dtype.is_int() == wanted.dtype.is_int()
        else:
            fits = type(given) is type(wanted)
        if not fits and not reader.source.printed:
            raise reader.failure(
                ParserTypeError,
                f"{name} takes {reader.type_text(wanted)} as {param.name_hint!r}, got {reader.type_text(given)}",
                arg_node,
            )
