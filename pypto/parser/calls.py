"""Calls: operators through the vocabulary, functions of the program, inline helpers, and the few constructs that look like calls."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, cast

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType
from pypto.ir.expr import EMPTY, Call, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, Var, make_op_call
from pypto.ir.function import Function
from pypto.ir.types import ScalarType
from pypto.ops.declare import OPERANDS, Declaration, Kind, OperandError, public_name
from pypto.ops.implied import ImpliedForm
from pypto.ops.scalars import ScalarForm
from pypto.ops.syntax import DEPENDENCIES, WaitingOp
from pypto.ops.unified import Unified
from pypto.ops.vocabulary import lookup, names
from pypto.parser.builtins import is_machine_only, misspelled, need_attrs, with_dispatch
from pypto.parser.environment import NOTHING
from pypto.parser.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UndefinedVariableError,
    UnsupportedFeatureError,
)
from pypto.parser.folding import path_of, static
from pypto.parser.namespace import STATIC_NAMES
from pypto.parser.reader import Reader, expression

Special = Callable[[Reader, ast.Call], Expr]
Handler = Callable[[Reader, ast.Call, Any], Expr]

SPECIAL: dict[str, Special] = {}
"""Constructs that are written like operators, by their name after the prefix."""

STATEMENT_ONLY: dict[str, str] = {
    "yield_": "pl.yield_ stands alone on the right of an assignment that ends a branch or a loop body",
    "range": "pl.range is the iterator of a for loop",
    "parallel": "pl.parallel is the iterator of a for loop",
    "unroll": "pl.unroll is the iterator of a for loop",
    "pipeline": "pl.pipeline is the iterator of a for loop",
    "while_": "pl.while_ is the iterator of a for loop",
    "cond": "pl.cond is the first statement of the body of a pl.while_ loop",
    "at": "pl.at opens a with block",
    "cluster": "pl.cluster opens a with block",
    "scope": "pl.scope opens a with block",
    "manual_scope": "pl.manual_scope opens a with block",
    "seq": "pl.seq opens a with block",
    "spmd": "pl.spmd opens a with block or is the iterator of a for loop",
    "split_aiv": "pl.split_aiv is the iterator of a for loop",
    "pld.comm_domain": "pld.comm_domain opens a with block",
    "func_attr": "pl.func_attr stands at the start of the body",
    "static_print": "pl.static_print is a statement",
    "static_assert": "pl.static_assert is a statement",
    "dump_tag": "pl.dump_tag is a statement",
    "no_dep": "pl.no_dep marks an argument of a call of a function",
    "split": "pl.split is an option of a scope",
    "cross_core_slot": "pl.cross_core_slot is an option of a scope",
}
"""Constructs that cannot stand inside an expression, with what they are."""

_TASKS = frozenset((Kind.SCALAR, Kind.ANY))
"""Operands that may be a task, for which ``None`` stands when there is none."""

_BUILTINS = {
    "min": "pl.min",
    "max": "pl.max",
    "abs": "pl.abs",
    "len": "pl.tensor.dim",
    "range": "pl.range",
    "print": "pl.static_print",
}


def special(*paths: str) -> Callable[[Special], Special]:
    """Register a function that reads a construct written like a call."""

    def register(handler: Special) -> Special:
        for path in paths:
            SPECIAL[path] = handler
        return handler

    return register


@expression(ast.Call)
def read_call(reader: Reader, node: ast.Call) -> Expr:
    """Any call."""
    func = node.func
    key = reader.source.key(func)
    found = None if key is None else reader.env.callees.get(key)
    if found is None:
        if type(func) is ast.Name:
            value = static(reader, node)
            if value is not NOTHING:
                return reader.from_value(value, node, func.id)
        handler, target, lasting = _resolve(reader, func)
        if lasting and key is not None:
            reader.env.callees[key] = (handler, target)
    else:
        handler, target = found
    return handler(reader, node, target)


def _resolve(reader: Reader, func: Any) -> tuple[Handler, Any, bool]:
    """How to read calls of a callee, what it is, and whether its spelling means that everywhere."""
    if type(func) is ast.Name:
        return (*_resolve_name(reader, func), False)
    path = path_of(reader, func)
    if path is not None:
        handler = SPECIAL.get(path)
        if handler is not None:
            return _call_special, handler, True
        entry = lookup(path)
        if entry is not None:
            return (*_operator(entry), True)
        head, _, leaf = path.rpartition(".")
        if leaf == "get_byte":
            return _call_get_byte, None, True
        if head == "expr":
            from pypto.parser.special import read_plain_node

            return _call_plain_node(read_plain_node), leaf, True
        shown = path if path.startswith("pld.") else f"pl.{path}"
        raise misspelled(reader, shown, func) or unknown_operator(reader, path, func)
    if type(func) is ast.Attribute:
        root = func.value
        if type(root) is ast.Name and root.id == "self" and "self" not in reader.names:
            return _call_method, None, False
        if static(reader, func.value) is not NOTHING and func.attr == "get_byte":
            return _call_get_byte, None, False
        while type(root) is ast.Attribute:
            root = root.value
        if type(root) is ast.Name and root.id not in reader.names and reader.env.value(root.id) is NOTHING:
            raise misspelled(reader, ast.unparse(func), func) or reader.undefined(root)
    raise reader.failure(
        UnsupportedFeatureError,
        f"{ast.unparse(func)[:60]}(...) cannot be called in a kernel",
        func,
        hint="operators are written pl.<name>(...), functions of the program self.<name>(...)",
    )


def _operator(entry: Declaration | Unified) -> tuple[Handler, Any]:
    return (_call_unified, entry) if isinstance(entry, Unified) else (_call_declared, Plan(entry))


def _resolve_name(reader: Reader, func: ast.Name) -> tuple[Handler, Any]:
    from pypto.parser.inline import InlineFunction, call_inline

    name = func.id
    if name not in reader.names:
        value = reader.env.value(name)
        if isinstance(value, InlineFunction):
            return call_inline, value
        if isinstance(value, Function):
            return _call_external, value
        path = reader.env.bare.get(name)
        if path is not None:
            handler = SPECIAL.get(path)
            if handler is not None:
                return _call_special, handler
            entry = lookup(path)
            if entry is not None:
                return _operator(entry)
        if value is NOTHING and reader.source.printed and reader.env.program is None:
            return _call_by_name, name
        if value is NOTHING and name not in _BUILTINS:
            close = did_you_mean(f"pl.{name}", [f"pl.{n}" for n in names("")])
            hint = f"did you mean {close}?" if close else "operators are written pl.<name>(...)"
            raise reader.failure(UnsupportedFeatureError, f"there is no function {name!r} to call", func, hint=hint)
    return _call_python, name


def _call_python(reader: Reader, node: ast.Call, name: str) -> Expr:
    """A Python function of closure values (``max(cfg.TILE, 4)``) is computed while reading; nothing else of Python can be called."""
    from pypto.parser.expressions import as_expression

    value = static(reader, node)
    if value is not NOTHING:
        return as_expression(reader, value, node)
    instead = _BUILTINS.get(name)
    raise reader.failure(
        UnsupportedFeatureError,
        f"{name}(...) cannot be called in a kernel",
        node.func,
        hint=f"use {instead}(...)" if instead else "decorate it with @pl.function or @pl.inline",
    )


def unknown_operator(reader: Reader, path: str, func: Any) -> ParserError:
    """The error for a dotted name that is no operator and no construct."""
    head, _, leaf = path.rpartition(".")
    shown = path if path.startswith("pld.") else f"pl.{path}"
    known = [*names(head), *(s.rpartition(".")[2] for s in (*SPECIAL, *STATEMENT_ONLY) if s.rpartition(".")[0] == head)]
    prefix = shown[: -len(leaf)]
    close = did_you_mean(leaf, known)
    elsewhere = ("tile", "tensor", "system", "array", "pld.tensor", "pld.tile", "pld.system")
    home = next((other for other in elsewhere if lookup(f"{other}.{leaf}") is not None), None)
    if home is not None:
        hint = f"it exists as {'' if home.startswith('pld.') else 'pl.'}{home}.{leaf}"
    elif close:
        hint = f"did you mean {prefix}{close}?"
    else:
        hint = None if known else f"there are no operators under {prefix[:-1]}"
    return reader.failure(InvalidOperationError, f"unknown operation {shown}", func, hint=hint)


def _call_special(reader: Reader, node: ast.Call, handler: Special) -> Expr:
    return handler(reader, node)


def _call_plain_node(read: Callable[[Reader, ast.Call, str], Expr]) -> Handler:
    def call(reader: Reader, node: ast.Call, leaf: Any) -> Expr:
        return read(reader, node, leaf)

    return call


def _call_get_byte(reader: Reader, node: ast.Call, _target: Any) -> Expr:
    assert isinstance(node.func, ast.Attribute)
    dtype = static(reader, node.func.value)
    if not isinstance(dtype, DataType):
        raise reader.failure(UnsupportedFeatureError, "only an element type has get_byte()", node.func)
    if node.args or node.keywords:
        raise reader.failure(ParserTypeError, "get_byte() takes no arguments", node)
    return reader.constant(dtype.get_byte(), node)


# -- operators ---------------------------------------------------------------------------------------------------------


def argument(reader: Reader, param: Any, node: Any) -> Any:
    """The value of one written argument: an expression for an operand, a Python value for a keyword parameter."""
    if param.kind not in OPERANDS:
        return keyword_argument(reader, param.name, node)
    kind = cast("type[Any]", type(node))
    if kind is ast.Name:
        found = reader.names.get(node.id)
        if isinstance(found, Expr):
            return found
    elif kind is ast.Constant and node.value is None and (param.default is None or param.kind not in _TASKS):
        return None
    elif kind is ast.List or kind is ast.Tuple:
        return constant_tuple(reader, node)
    elif kind is ast.Attribute and getattr(param, "enum", None) is not None:
        value = static(reader, node)
        if value is not NOTHING:
            return value
    elif kind is ast.UnaryOp and type(node.operand) is ast.Attribute:
        value = static(reader, node)  # -math.inf, -cfg.LIMIT
        if value is not NOTHING and isinstance(value, int | float):
            return reader.constant(value, node)
    elif kind is ast.Starred:
        raise reader.unsupported_expression(node)
    return reader.expression(node)


def constant_tuple(reader: Reader, node: Any) -> Expr:
    """A list of expressions; one of literal integers only is shared by its text."""
    for item in node.elts:
        if type(item) is not ast.Constant or type(item.value) is not int:
            return reader.expression(node)
    key = tuple([item.value for item in node.elts])
    constants: dict[Any, MakeTuple] = cast("dict[Any, MakeTuple]", reader.env.constants)
    known = constants.get(key)
    if known is None:
        if len(constants) > 4096:
            constants.clear()
        known = constants[key] = MakeTuple([reader.constant(item.value, item) for item in node.elts])
    return known


def keyword_argument(reader: Reader, name: str, node: Any) -> Any:
    """A compile-time value written as an argument."""
    value = static(reader, node)
    if value is NOTHING:
        if type(node) is ast.Starred:
            raise reader.unsupported_expression(node)
        path = path_of(reader, node)
        if path is not None:
            prefix = "pld." if path.startswith("pld.") else "pl."
            close = did_you_mean(path.removeprefix("pld."), list(STATIC_NAMES))
            hint = f"did you mean {prefix}{close}?" if close else None
            raise reader.failure(ParserTypeError, f"there is no {ast.unparse(node)}", node, hint=hint)
        expr = reader.expression(node)
        if isinstance(expr, ConstInt | ConstFloat | ConstBool):
            return expr.value
        raise reader.failure(
            InvalidOperationError,
            f"{name!r} must be known while reading, got a value of the kernel",
            node,
            hint="write a literal, or a name defined outside the function",
        )
    return value


class _Written:
    """The arguments of one call as written, for the places of errors: nodes by parameter name, in order."""

    __slots__ = ("nodes", "values")

    def __init__(self) -> None:
        self.nodes: dict[str, Any] = {}
        self.values: dict[str, Any] = {}


def _collect(reader: Reader, node: ast.Call, entry: Any) -> tuple[list[Any], dict[str, Any], _Written, Any]:
    params: Sequence[Any] = entry.params
    written = _Written()
    positional: list[Any] = []
    attrs_node: Any = None
    count = len(params)
    for at, arg in enumerate(node.args):
        if at < count and not params[at].keyword_only:
            value = argument(reader, params[at], arg)
        else:
            if type(arg) is ast.Starred:
                raise reader.unsupported_expression(arg)
            value = None
        positional.append(value)
    order = entry.params_for(positional) if isinstance(entry, Declaration) else params
    for param, arg, value in zip(order, node.args, positional, strict=False):
        written.nodes[param.name] = arg
        written.values[param.name] = value
    named: dict[str, Any] = {}
    if node.keywords:
        by_name = {p.name: p for p in params}
        for keyword in reader.keywords(node):
            name = keyword.arg
            if name is None:
                raise reader.failure(UnsupportedFeatureError, "** arguments cannot be used in a kernel", keyword.value)
            if name == "attrs" and name not in by_name:
                attrs_node = keyword.value
                continue
            param = by_name.get(name)
            if param is None or getattr(param, "internal", False):
                named[name] = None
                written.nodes.setdefault(name, keyword)
                continue
            value = argument(reader, param, keyword.value)
            if name not in written.nodes:
                written.nodes[name] = keyword.value
                written.values[name] = value
            else:
                written.nodes[name] = keyword
            named[name] = value
    return positional, named, written, attrs_node


class Plan:
    """What reading a call of one operator needs to know: ``quick`` when operands alone make the call, ``careful`` marks its parameters
    that look at scalars (re-typed constants, scalar forms, single integers for lists)."""

    __slots__ = ("careful", "entry", "params", "quick")

    def __init__(self, entry: Declaration) -> None:
        self.entry = entry
        self.params = entry.params
        self.careful = tuple(p.kind is Kind.SHAPED_OR_SCALAR or p.stamp is not None or p.single for p in entry.params)
        self.quick = (
            type(entry) is Declaration
            and not entry.internal_only
            and entry.static_value is None
            and entry.min_operands == entry.max_operands == len(entry.params)
        )


def _call_declared(reader: Reader, node: ast.Call, plan: Plan) -> Expr:
    entry = plan.entry
    args = node.args
    if plan.quick and not node.keywords and len(args) == len(plan.params):
        operands = _quick_operands(reader, plan, args)
        if operands is not None:
            try:
                return make_op_call(entry, operands, EMPTY, EMPTY, entry.deduce_type(operands, EMPTY), reader.source.span(node))
            except Error as error:
                written = _Written()
                for param, arg, value in zip(plan.params, args, operands, strict=True):
                    written.nodes[param.name] = arg
                    written.values[param.name] = value
                raise _operator_failure(reader, node, entry, written, error) from error
    tasks_node = None
    if isinstance(entry, WaitingOp):
        node, tasks_node = _without_tasks(reader, node, entry)
    positional, named, written, attrs_node = _collect(reader, node, entry)
    if is_machine_only(entry):
        need_attrs(reader, node, entry.name, attrs_node)
    span = reader.source.span(node)
    try:
        call = entry.build(entry.bind(positional, named), span)
    except Error as error:
        raise _operator_failure(reader, node, entry, written, error) from error
    if is_machine_only(entry):
        return with_dispatch(reader, call, attrs_node)
    if isinstance(entry, WaitingOp):
        return _waiting(reader, entry, call, tasks_node, attrs_node)
    if attrs_node is not None:
        return with_attrs(reader, call, attrs_node)
    if entry.static_value is not None and reader.function_type is FunctionType.Orchestration and not reader.source.printed:
        return _known_value(reader, entry, call)
    return call


def _without_tasks(reader: Reader, node: ast.Call, entry: WaitingOp) -> tuple[ast.Call, Any]:
    """A call of an operator that waits for tasks without its ``deps=``, and the value of that.

    Raises:
        ParserTypeError: it has none.
    """
    tasks = next((k.value for k in reader.keywords(node) if k.arg == "deps"), None)
    if tasks is None:
        if not reader.source.printed:
            raise reader.failure(
                ParserTypeError, f"{public_name(entry)} needs deps=", node, hint="deps=[t0, t1]; deps=[] for none"
            )
        return node, None
    others = [k for k in node.keywords if k.arg != "deps"]
    return ast.copy_location(ast.Call(node.func, node.args, others), node), tasks


def _waiting(reader: Reader, entry: WaitingOp, call: Call, tasks_node: Any, attrs_node: Any) -> Call:
    from pypto.parser.attrs import read_attrs
    from pypto.parser.dependencies import read_dependency_names

    attrs: dict[str, Any] = {}
    if tasks_node is not None:
        attrs = {DEPENDENCIES: read_dependency_names(reader, tasks_node), entry.mark: True}
    if attrs_node is not None:
        attrs.update(read_attrs(reader, attrs_node))
    return call.replace(attrs=attrs) if attrs else call


def _known_value(reader: Reader, entry: Declaration, call: Call) -> Expr:
    """The value of a call that the types of its operands state: a constant, or a dimension of a parameter; else the call."""
    value = None if entry.static_value is None else entry.static_value(call.args)
    if isinstance(value, ConstInt):
        return value
    if isinstance(value, Var):
        for param in reader.params.values():
            if any(dim is value for dim in getattr(param.type, "shape", ())):
                return value
    return call


def _quick_operands(reader: Reader, plan: Plan, args: list[Any]) -> list[Expr] | None:
    names_ = reader.names
    operands: list[Expr] = []
    for param, careful, arg in zip(plan.params, plan.careful, args, strict=True):
        found = names_.get(arg.id) if type(arg) is ast.Name else None
        if not isinstance(found, Expr):
            if type(arg) is ast.Attribute or (careful and type(arg) is not ast.Name):
                return None
            found = argument(reader, param, arg)
        if not isinstance(found, Expr) or (careful and type(found.type) is ScalarType):
            return None
        operands.append(found)
    return operands


def _call_unified(reader: Reader, node: ast.Call, entry: Unified) -> Expr:
    positional, named, written, attrs_node = _collect(reader, node, entry)
    span = reader.source.span(node)
    try:
        call = entry.build(positional, named, span)
    except Error as error:
        raise _operator_failure(reader, node, entry, written, error) from error
    return call if attrs_node is None else with_attrs(reader, call, attrs_node)


def with_attrs(reader: Reader, call: Expr, attrs_node: Any) -> Expr:
    """The same call with the attributes that were written."""
    from pypto.parser.attrs import read_attrs

    if not isinstance(call, Call):
        raise reader.failure(ParserSyntaxError, "attrs= belongs on operator and function calls", attrs_node)
    return call.replace(attrs=read_attrs(reader, attrs_node))


def _operator_failure(reader: Reader, node: ast.Call, entry: Any, written: _Written, error: Error) -> ParserError:
    """An error of the vocabulary at the argument it is about."""
    if isinstance(error, ParserError):
        return error
    place: Any = node
    name: str | None = None
    if error.parameter is None and isinstance(error, OperandError):
        if isinstance(entry, Declaration):
            operands = entry.operand_params
            name = operands[error.operand].name if error.operand < len(operands) else None
        else:
            shown = [p.name for p in entry.params if p.kind in OPERANDS]
            name = shown[error.operand] if error.operand < len(shown) else None
    else:
        name = error.parameter
    label = ""
    if name is not None and name in written.nodes:
        place = written.nodes[name]
        value = written.values.get(name)
        if isinstance(error, OperandError) and isinstance(value, Expr):
            label = reader.type_text(value.type)
    message, hint = error.message, error.hint
    if isinstance(entry, Unified) and not message.startswith(("pl.", "pld.")):
        message = f"{entry.shown}: {message}" if entry.leaf not in message else message
    elif isinstance(entry, ScalarForm):
        message = message.replace(entry.name, f"pl.{entry.paths[0]}")
    elif isinstance(entry, ImpliedForm):
        message = message.replace(entry.target.name, entry.name)
    elif isinstance(entry, Declaration) and entry.leaf not in message:
        message = f"{entry.name}: {message}"
    if hint is None and isinstance(error, OperandError) and _is_none(place):
        hint = "None stands for a task that there is not, for nothing else"
    return reader.failure(InvalidOperationError, message, place, hint=hint, label=label, code=error.code)


def _is_none(node: Any) -> bool:
    """True for ``None``, and for a list with it."""
    if type(node) in (ast.List, ast.Tuple):
        return any(_is_none(item) for item in node.elts)
    return type(node) is ast.Constant and node.value is None


def call_operator_named(reader: Reader, path: str, operands: Sequence[Any], node: Any, **named: Any) -> Expr:
    """A call of the operator that stands behind a piece of syntax (a subscript, ``None``); errors get the place of ``node``."""
    entry = lookup(path)
    if not isinstance(entry, Declaration):
        raise reader.failure(UnsupportedFeatureError, f"this needs the operator {path}, which does not exist", node)
    try:
        return entry.build(entry.bind(operands, named), reader.source.span(node))
    except Error as error:
        raise reader.failure(InvalidOperationError, error.message, node, hint=error.hint, code=error.code) from error


# -- functions -----------------------------------------------------------------------------------------------------------


def _call_method(reader: Reader, node: ast.Call, _target: Any) -> Expr:
    from pypto.parser.function_calls import call_function

    func = node.func
    assert isinstance(func, ast.Attribute)
    program = reader.env.program
    if program is None:
        raise reader.failure(UndefinedVariableError, f"self.{func.attr} is a function of a program, and this is none", func)
    found = program.methods.get(func.attr)
    if found is None:
        close = did_you_mean(func.attr, list(program.methods))
        hint = f"did you mean self.{close}?" if close else "functions of the program need @pl.function"
        raise reader.failure(UndefinedVariableError, f"the program has no function {func.attr!r}", func, hint=hint)
    return call_function(reader, node, found.name, found.function, found.role)


def _call_external(reader: Reader, node: ast.Call, function: Function) -> Expr:
    from pypto.parser.function_calls import call_function

    program = reader.env.program
    if program is not None:
        known = program.externals.setdefault(function.name, function)
        if known is not function or function.name in program.methods:
            other = "a function of this program" if function.name in program.methods else "another function from outside"
            raise reader.failure(
                ParserSyntaxError, f"{function.name!r} from outside has the name of {other}", node.func, hint="rename one of them"
            )
    if node.keywords:
        keyword = node.keywords[0]
        raise reader.failure(ParserTypeError, "a function from outside takes positional arguments only", keyword)
    return call_function(reader, node, function.name, function, None)


def _call_by_name(reader: Reader, node: ast.Call, name: str) -> Expr:
    from pypto.parser.function_calls import call_function

    return call_function(reader, node, name, None, None, by_name=True)
