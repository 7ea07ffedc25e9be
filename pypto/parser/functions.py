"""Functions and programs: decorators, signatures, bodies."""

from __future__ import annotations

import ast
import gc
import textwrap
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from pypto.diagnostics import Error, InternalError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, Level, ParamDirection, Role, level_to_linqu_level
from pypto.ir.expr import Var
from pypto.ir.function import Function, Program
from pypto.ir.stmt import InlineStmt, SeqStmts, Stmt, attach_trailing_comments
from pypto.ir.types import ScalarType, Type
from pypto.parser.attrs import read_function_attrs, stored_function_attr
from pypto.parser.blocks import as_body, read_statements
from pypto.parser.comments import docstring_lines, header_end, next_code_line, take
from pypto.parser.environment import Environment, ProgramContext, Signature
from pypto.parser.errors import ParserError, ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from pypto.parser.folding import path_of, required_static
from pypto.parser.reader import Reader
from pypto.parser.source import SourceFile
from pypto.parser.types import parameter_annotation, return_types


class Options:
    """What a function decorator says."""

    __slots__ = ("attrs", "auto_scope", "external_source", "level", "role", "strict_ssa", "type")

    def __init__(
        self,
        type: FunctionType = FunctionType.Opaque,
        level: Level | None = None,
        role: Role | None = None,
        attrs: Mapping[str, Any] | None = None,
        auto_scope: bool | None = None,
        strict_ssa: bool = False,
        external_source: str | None = None,
    ) -> None:
        self.type = type
        self.level = level
        self.role = role
        self.attrs: dict[str, Any] = dict(attrs or {})
        self.auto_scope = auto_scope
        self.strict_ssa = strict_ssa
        self.external_source = external_source


@contextmanager
def collector_paused() -> Generator[None, None, None]:
    """Switch the garbage collector off for a while: reading makes many objects that all live on."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                # straight to the oldest generation: looking through what has just been read would find nothing to free
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def parse_function(
    source: SourceFile,
    node: ast.FunctionDef,
    closure: Mapping[str, Any],
    *,
    type: FunctionType = FunctionType.Opaque,
    level: Level | None = None,
    role: Role | None = None,
    attrs: Mapping[str, Any] | None = None,
    auto_scope: bool = True,
    strict_ssa: bool = False,
    external_source: str | None = None,
) -> Function:
    """Read a function that stands alone; ``closure`` holds the Python names it can see.

    Raises:
        ParserError: anything that is wrong with it, with its place.
    """
    with collector_paused():
        env = Environment(source, closure)
        options = Options(type, level, role, None, False if not auto_scope else None, strict_ssa, external_source)
        for key, value in (attrs or {}).items():
            stored = stored_function_attr(value, key)
            if stored is not None:
                options.attrs[key] = stored
        return read_function(env, node, options)


def parse_program(source: SourceFile, node: ast.ClassDef, closure: Mapping[str, Any], *, strict_ssa: bool = False) -> Program:
    """Read a program; ``closure`` holds the Python names that its functions can see.

    Raises:
        ParserError: anything that is wrong with it, with its place.
    """
    with collector_paused():
        return read_program(Environment(source, closure), node, strict_ssa)


# -- decorators -------------------------------------------------------------------------------------------------------------

_ENUM_OPTIONS: Mapping[str, type[Any]] = {"type": FunctionType, "level": Level, "role": Role}


def function_decorator(reader: Reader, node: ast.FunctionDef) -> Any:
    """The decorator that makes a definition a function of the language, or None."""
    for decorator in node.decorator_list:
        called = decorator.func if type(decorator) is ast.Call else decorator
        if path_of(reader, called) == "function":
            return decorator
    return None


def read_options(reader: Reader, decorator: Any) -> Options:
    """What ``@pl.function(...)`` says, read from the text.

    Raises:
        ParserSyntaxError: an unknown keyword, or a value that cannot be read.
    """
    options = Options()
    if type(decorator) is not ast.Call:
        return options
    if decorator.args:
        raise reader.failure(ParserSyntaxError, "@pl.function takes keywords only", decorator.args[0])
    for keyword in reader.keywords(decorator):
        name, value = keyword.arg, keyword.value
        if name is not None and name in _ENUM_OPTIONS:
            setattr(options, name, _enum_option(reader, name, value))
        elif name == "attrs":
            read_function_attrs(reader, value, "attrs", options.attrs)
        elif name in ("auto_scope", "strict_ssa"):
            if type(value) is not ast.Constant or not isinstance(value.value, bool):
                raise reader.failure(ParserSyntaxError, f"{name}= is True or False", value)
            setattr(options, name, value.value)
        elif name == "external_source":
            path = required_static(reader, value, "external_source", ParserSyntaxError)
            options.external_source = str(path)
        elif name is None:
            raise reader.failure(ParserSyntaxError, "** cannot be used in a decorator", value)
        else:
            raise reader.failure(
                ParserSyntaxError,
                f"@pl.function takes no {name}=",
                keyword,
                hint="it takes type, level, role, attrs, auto_scope, strict_ssa",
            )
    if options.auto_scope and not reader.source.printed:
        options.auto_scope = None
    return options


def _enum_option(reader: Reader, name: str, node: Any) -> Any:
    wanted = _ENUM_OPTIONS[name]
    if type(node) is ast.Constant and node.value is None and name != "type":
        return None
    path = path_of(reader, node)
    shown = f"pl.{wanted.__name__}"
    members = list(wanted.__members__)
    if path is None or not path.startswith(f"{wanted.__name__}."):
        raise reader.failure(ParserSyntaxError, f"{name}= is a {shown} member", node, hint=f"one of {', '.join(members)}")
    member = path.rpartition(".")[2]
    if member not in wanted.__members__:
        raise reader.failure(ParserSyntaxError, f"{shown} has no member {member!r}", node, hint=f"one of {', '.join(members)}")
    return wanted.__members__[member]


# -- functions --------------------------------------------------------------------------------------------------------------


class _Head:
    """A function whose signature is read and whose body is not."""

    __slots__ = ("body", "docs", "func_attrs", "node", "options", "params", "reader", "results")

    def __init__(self, reader: Reader, node: ast.FunctionDef, options: Options) -> None:
        self.reader = reader
        self.node = node
        self.options = options
        self.params: list[tuple[Var, ParamDirection]] = []
        self.results: list[Type] = []
        self.body: Sequence[Any] = node.body
        self.docs: list[str] = []
        self.func_attrs: dict[str, Any] = {}


def read_function(env: Environment, node: ast.FunctionDef, options: Options) -> Function:
    """Read one function."""
    return _finish(_read_head(env, node, options))


def _read_head(env: Environment, node: ast.FunctionDef, options: Options) -> _Head:
    reader = Reader(env, function_type=options.type, level=options.level, role=options.role, strict_ssa=options.strict_ssa)
    head = _Head(reader, node, options)
    with located(reader, node):
        if type(node) is not ast.FunctionDef:
            raise reader.failure(UnsupportedFeatureError, "an async function cannot be a kernel", node)
        _refuse_type_parameters(reader, node)
        _read_parameters(reader, head)
        head.results = return_types(reader, node.returns)
        reader.result_types = head.results
    return head


def _refuse_type_parameters(reader: Reader, node: Any) -> None:
    parameters = getattr(node, "type_params", None)
    if parameters:
        raise reader.failure(UnsupportedFeatureError, "type parameters cannot be used", parameters[0])


def check_plain_parameters(reader: Reader, arguments: ast.arguments) -> None:
    """Refuse every kind of parameter but ordinary positional ones without defaults.

    Raises:
        UnsupportedFeatureError: at the first of another kind.
    """
    refused: list[tuple[Any, str]] = [(arg, "a positional-only parameter") for arg in arguments.posonlyargs]
    refused += [(default, "a default value") for default in arguments.defaults]
    if arguments.vararg is not None:
        refused.append((arguments.vararg, f"*{arguments.vararg.arg}"))
    refused += [(arg, "a keyword-only parameter") for arg in arguments.kwonlyargs]
    if arguments.kwarg is not None:
        refused.append((arguments.kwarg, f"**{arguments.kwarg.arg}"))
    if refused:
        place, what = refused[0]
        raise reader.failure(
            UnsupportedFeatureError, f"{what} cannot be used", place, hint="parameters are positional, each with an annotation"
        )


def _read_parameters(reader: Reader, head: _Head) -> None:
    arguments = head.node.args
    check_plain_parameters(reader, arguments)
    args = arguments.args
    if args and args[0].arg == "self" and args[0].annotation is None:
        args = args[1:]
    used_before: set[str] = set()
    for arg in args:
        if arg.annotation is None:
            raise reader.failure(
                ParserTypeError,
                f"the parameter {arg.arg!r} has no annotation",
                arg,
                hint=f"{arg.arg}: pl.Tensor[[64, 64], pl.FP32]",
            )
        known = set(reader.env.dynamic)
        reader.names_used = []
        type_, direction = parameter_annotation(reader, arg.annotation)
        used_before.update(reader.names_used, set(reader.env.dynamic) - known)
        reader.names_used = None
        if arg.arg in reader.names:
            raise reader.failure(ParserSyntaxError, f"two parameters are called {arg.arg!r}", arg)
        is_index = isinstance(type_, ScalarType) and type_.dtype is DataType.INDEX
        if is_index and arg.arg in used_before and not reader.source.printed:
            raise reader.failure(
                ParserTypeError,
                f"{arg.arg!r} is used as a dimension before it is a parameter",
                arg,
                hint="move it before the parameters whose shapes use it",
            )
        span = reader.source.span(arg)
        var = Var(arg.arg, type_, span)
        reader.params[arg.arg] = var
        reader.home[var] = reader.block
        reader.define(arg.arg, var)
        head.params.append((var, direction))


def _finish(head: _Head) -> Function:
    reader, node, options = head.reader, head.node, head.options
    with located(reader, node):
        return _read_body(reader, head, node, options)


def _read_body(reader: Reader, head: _Head, node: ast.FunctionDef, options: Options) -> Function:
    source = reader.source
    if source.comments:
        end = next_code_line(source.lines, (node.end_lineno or node.lineno) + 1)
        reader.comments = {line: c for line, c in source.comments.items() if node.lineno <= line < end}
        first = header_end(source.lines, node.lineno, node.body[0].lineno) + 1
        until = end
        signature_comments = take(reader.comments, node.lineno, first)
    else:
        first = until = 0
        signature_comments = []
    statements, docs = _function_attrs(reader, head, node.body)
    attrs = {**options.attrs}
    for key, value in head.func_attrs.items():
        if key in attrs:
            raise reader.failure(ParserSyntaxError, f"the function attribute {key!r} is given twice", node)
        attrs[key] = value
    if options.auto_scope is not None:
        attrs = {"auto_scope": options.auto_scope, **attrs}
    if options.external_source is not None:
        attrs["external_source"] = options.external_source
    verbatim = (
        options.level is not None
        and options.role is Role.SubWorker
        and level_to_linqu_level(options.level) >= 3
        and reader.env.program is not None
    )
    abstract = False
    if _is_ellipsis(statements) and (verbatim or source.printed):
        abstract = True
        body: Stmt = SeqStmts([])
        trailing = take(reader.comments, first, until) if reader.comments else []
        if trailing:
            attach_trailing_comments(body, trailing)
    elif options.external_source is not None and not source.printed:
        body = _external_body(reader, statements, node)
    elif verbatim and not _is_pass(statements):
        body = _verbatim(reader, statements)
    else:
        body = _body(reader, statements, [*signature_comments, *docs], first, until)
    try:
        return Function(
            node.name,
            head.params,
            head.results,
            body,
            source.span(node),
            options.type,
            options.level,
            options.role,
            attrs,
            abstract,
        )
    except Error as error:
        place = node.decorator_list[0] if node.decorator_list else node
        raise reader.from_error(ParserSyntaxError, error, place) from error


def _body(reader: Reader, statements: Sequence[Any], docs: Sequence[str], first: int, until: int) -> Stmt:
    pending = [*docs]
    trailing = read_statements(reader, statements, first, until)
    out = reader.out
    if pending:
        if out:
            out[0].leading_comments = [*pending, *out[0].leading_comments]
        else:
            trailing = [*pending, *trailing]
    return as_body(out, trailing)


def _function_attrs(reader: Reader, head: _Head, body: Sequence[Any]) -> tuple[Sequence[Any], list[str]]:
    """Take the leading docstring and the ``pl.func_attr`` calls off a body."""
    at = 0
    docs: list[str] = []
    while at < len(body):
        node = body[at]
        if type(node) is not ast.Expr:
            break
        value = node.value
        if type(value) is ast.Constant and isinstance(value.value, str) and at == 0:
            docs += docstring_lines(value.value)
        elif type(value) is ast.Call and type(value.func) is ast.Attribute and path_of(reader, value.func) == "func_attr":
            if len(value.args) != 1 or value.keywords:
                raise reader.failure(ParserSyntaxError, "pl.func_attr takes one dict literal", value)
            read_function_attrs(reader, value.args[0], "func_attr", head.func_attrs)
        else:
            break
        at += 1
    return body[at:], docs


def _is_ellipsis(statements: Sequence[Any]) -> bool:
    return (
        len(statements) == 1
        and type(statements[0]) is ast.Expr
        and type(statements[0].value) is ast.Constant
        and statements[0].value.value is Ellipsis
    )


def _is_pass(statements: Sequence[Any]) -> bool:
    return len(statements) == 1 and type(statements[0]) is ast.Pass


def _external_body(reader: Reader, statements: Sequence[Any], node: ast.FunctionDef) -> Stmt:
    if reader.function_type not in (FunctionType.AIC, FunctionType.AIV):
        raise reader.failure(
            ParserTypeError, "external_source= goes with type AIC or AIV", node.decorator_list[0] if node.decorator_list else node
        )
    if statements and not _is_ellipsis(statements) and not _is_pass(statements):
        raise reader.failure(ParserSyntaxError, "the body of an external kernel is ...", statements[0])
    return SeqStmts([])


def _verbatim(reader: Reader, statements: Sequence[Any]) -> Stmt:
    lines = reader.source.lines[statements[0].lineno - 1 : statements[-1].end_lineno]
    return InlineStmt(textwrap.dedent("\n".join(lines)), span=reader.source.span(statements[0]))


# -- programs ---------------------------------------------------------------------------------------------------------------


def read_program(env: Environment, node: ast.ClassDef, strict_ssa: bool = False) -> Program:
    """Read a class whose decorated methods are the functions of a program: signatures first, so that any may call any."""
    probe = Reader(env)
    with located(probe, node):
        name = node.name
        context = env.program = ProgramContext(name)
        methods: list[tuple[ast.FunctionDef, Any]] = []
        for member in node.body:
            if not isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            decorator = function_decorator(probe, member)  # type: ignore[arg-type]
            if decorator is None:
                continue
            if isinstance(member, ast.AsyncFunctionDef):
                raise probe.failure(UnsupportedFeatureError, "an async function cannot be a kernel", member)
            if member.name in context.methods:
                raise probe.failure(ParserSyntaxError, f"two functions of the program are called {member.name!r}", member)
            context.methods[member.name] = Signature(member.name, member, None)
            methods.append((member, decorator))
        if not methods:
            raise probe.failure(
                ParserSyntaxError,
                f"the program {name!r} has no functions",
                node,
                hint="decorate its methods with @pl.function",
            )
        heads: list[_Head] = []
        for member, decorator in methods:
            options = read_options(probe, decorator)
            options.strict_ssa = options.strict_ssa or strict_ssa
            head = _read_head(env, member, options)
            heads.append(head)
            signature = context.methods[member.name]
            try:
                signature.function = Function(
                    member.name,
                    head.params,
                    head.results,
                    SeqStmts([]),
                    type=options.type,
                    level=options.level,
                    role=options.role,
                )
            except Error as error:
                raise probe.from_error(ParserSyntaxError, error, decorator) from error
            signature.role = signature.function.role
    functions: list[Function] = []
    for head in heads:
        made = _finish(head)
        signature = context.methods[made.name]
        signature.function = made
        functions.append(made)
    with located(probe, node):
        functions += context.externals.values()
        return Program(functions, name, env.source.span(node))


@contextmanager
def located(reader: Reader, node: Any) -> Generator[None, None, None]:
    """Give every error of the lower layers a place, and refuse what is too deep, in the function being read."""
    try:
        yield
    except (ParserError, InternalError):
        raise
    except Error as error:
        if error.place is not None:
            raise
        raise reader.from_error(ParserTypeError, error, reader.current or node) from error
    except RecursionError:
        raise reader.failure(
            ParserSyntaxError,
            "this is nested too deeply to be read",
            reader.current or node,
            hint="split it into several assignments",
        ) from None
    except AssertionError:
        raise
    except Exception as error:
        place = reader.source.span(reader.current or node)
        raise InternalError(f"reading failed: {type(error).__name__}: {error}", place) from error
