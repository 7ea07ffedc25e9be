"""Programs as text: read, never executed.

A text holds imports of ``pypto``, plain assignments of numbers, lists, dynamic dimensions, views and memrefs, and decorated functions and
classes. Anything else at its top level is an error.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pypto.diagnostics import Error, for_users
from pypto.ir.function import Function, Program
from pypto.ops.declare import values_from_passes
from pypto.parser.dynamic import DynVar
from pypto.parser.environment import NOTHING, Environment, warn_caller
from pypto.parser.errors import (
    ObjectCountError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto.parser.folding import path_of, static
from pypto.parser.functions import Options, collector_paused, located, read_function, read_options, read_program
from pypto.parser.inline import parse_inline
from pypto.parser.memrefs import DeclaredMemRef
from pypto.parser.namespace import PREFIXES
from pypto.parser.reader import Reader
from pypto.parser.source import SourceFile, SourceMap
from pypto.parser.types import written_view


def parse(code: str, filename: str = "<string>", source_map: SourceMap | None = None, strict: bool = False) -> Function | Program:
    """The one function or program that a text defines. The text is never executed.

    Args:
        code: the text.
        filename: the name that errors show.
        source_map: line of the text -> (file, line, column) that errors show instead.
        strict: refuse a dimension that is not declared, instead of making it dynamic with a warning.

    Raises:
        ParserError: anything that is wrong with it, with its place. Text that is no Python is also a ``SyntaxError``, a text without
            or with several functions and programs also a ``ValueError``.
    """
    if not isinstance(code, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ParserTypeError(f"the text of a program is a str, got {type(code).__name__}")
    try:
        source = SourceFile(filename, code, source_map)
        with collector_paused(), values_from_passes() if source.printed else nullcontext():
            return _Text(source, strict).read(source.tree)
    except Error as error:
        raise for_users(error) from error.__cause__


def loads(path: Any, strict: bool = False) -> Function | Program:
    """The one function or program that a file defines; see :func:`parse`.

    Raises:
        OSError: the file cannot be read.
    """
    file = Path(path)
    data = file.read_bytes()
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        place = {"filename": str(file), "line": line, "column": error.start - data.rfind(b"\n", 0, error.start)}
        raise ParserSyntaxError("the file is no UTF-8 text", place) from None
    return parse(text, str(file), strict=strict)


def parse_program_text(code: str, filename: str = "<string>") -> Program:
    """Deprecated name of :func:`parse` for programs.

    Raises:
        ObjectCountError: the text defines a lone function.
    """
    warnings.warn("pl.parse_program is deprecated, use pl.parse", DeprecationWarning, stacklevel=3)
    return _as_program(parse(code, filename), filename)


def loads_program(path: Any) -> Program:
    """Deprecated name of :func:`loads` for programs.

    Raises:
        ObjectCountError: the file defines a lone function.
    """
    warnings.warn("pl.loads_program is deprecated, use pl.loads", DeprecationWarning, stacklevel=2)
    return _as_program(loads(path), str(path))


def _as_program(made: Function | Program, filename: str) -> Program:
    if isinstance(made, Program):
        return made
    raise ObjectCountError(
        f"{filename} defines the function {made.name!r} and no program", made.span, hint="use pl.parse, which gives either"
    )


class _Text:
    """The reading of one text."""

    def __init__(self, source: SourceFile, strict: bool) -> None:
        self.source = source
        self.values: dict[str, Any] = {}
        self.env = Environment(source, self.values, is_text=True, strict=strict, prefixes={"pl": "", "pld": "pld."})
        self.reader = Reader(self.env)
        self.found: list[tuple[ast.AST, Callable[[], Function | Program]]] = []

    def read(self, tree: ast.Module) -> Function | Program:
        for at, node in enumerate(tree.body):
            self.reader.current = node
            with located(self.reader, node):
                handler = _TOP_LEVEL.get(type(node))
                docstring = at == 0 and type(node) is ast.Expr and isinstance(getattr(node.value, "value", None), str)
                if handler is not None:
                    handler(self, node)
                elif not docstring:
                    raise self.refused(node)
        if len(self.found) != 1:
            raise self._miscount()
        made = self.found[0][1]()
        self._warn_undeclared()
        return made

    def refused(self, node: Any) -> ParserError:
        return self.reader.failure(
            ParserSyntaxError,
            "this cannot stand at the top level of a text, which is read and never executed",
            node,
            hint='a text holds imports of pypto, NAME = <number, list or pl.dynamic("NAME")>, and decorated functions and classes',
        )

    def _miscount(self) -> ParserError:
        if not self.found:
            return ObjectCountError(
                f"{self.source.filename} defines no function or program",
                {"filename": self.source.filename, "line": 1, "column": 1},
                hint="decorate a function with @pl.function or a class with @pl.program",
                source_lines=self.source.lines,
            )
        return self.reader.failure(
            ObjectCountError,
            f"{self.source.filename} defines {len(self.found)} functions and programs, not one",
            self.found[1][0],
            hint="put functions that belong together into one class with @pl.program",
        )

    def _warn_undeclared(self) -> None:
        for name in self.env.undeclared:
            warn_caller(
                f"{self.source.filename}: the dimension {name!r} is not declared and was made dynamic; "
                f'declare it: {name} = pl.dynamic("{name}")'
            )

    # -- the statements of a text ------------------------------------------------------------------------------------------

    def read_import(self, node: ast.Import) -> None:
        for alias in node.names:
            if alias.name.split(".")[0] != "pypto":
                raise self._foreign_import(node)
            prefix = PREFIXES.get(alias.name)
            if alias.asname is not None and prefix is not None:
                self._add_prefix(alias.asname, prefix)

    def read_import_from(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if module == "__future__":
            return
        if module.split(".")[0] != "pypto" or node.level:
            raise self._foreign_import(node)
        for alias in node.names:
            name = alias.asname or alias.name
            prefix = PREFIXES.get(f"{module}.{alias.name}")
            if alias.name == "*":
                raise self.reader.failure(ParserSyntaxError, "import * cannot be read: names would be unknown", node)
            if prefix is not None:
                self._add_prefix(name, prefix)
            elif module in PREFIXES:
                self.env.bare[name] = f"{PREFIXES[module]}{alias.name}"
                if alias.name in ("tile", "tensor", "system", "array") and module == "pypto.language":
                    self._add_prefix(name, f"{alias.name}.")

    def _foreign_import(self, node: Any) -> ParserError:
        return self.reader.failure(
            ParserSyntaxError,
            "a text imports from pypto only: it is read and never executed",
            node,
            hint="write values out, or import the file as a Python module",
        )

    def _add_prefix(self, name: str, prefix: str) -> None:
        self.env.set_prefix(name, prefix)

    def read_assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        several = isinstance(node, ast.Assign) and len(node.targets) != 1
        if several or type(target) is not ast.Name or node.value is None:
            raise self.refused(node)
        self.values[target.id] = self._value(node, node.value)

    def _value(self, node: Any, value: Any) -> Any:
        if type(value) is ast.Call:
            path = path_of(self.reader, value.func)
            if path in ("dynamic", "DynVar"):
                return self._dynamic(value)
            if path == "MemRef":
                return self._memref(value)
            if path in ("TensorView", "TileView"):
                return written_view(self.reader, value, path)
        found = static(self.reader, value)
        if found is NOTHING:
            raise self.refused(node)
        return found

    def _dynamic(self, call: ast.Call) -> DynVar:
        name = static(self.reader, call.args[0]) if len(call.args) == 1 and not call.keywords else None
        if not isinstance(name, str):
            raise self.reader.failure(ParserTypeError, "pl.dynamic takes one name", call, hint='pl.dynamic("M")')
        try:
            return DynVar(name)
        except Error as error:
            raise self.reader.from_error(ParserTypeError, error, call) from error

    def _memref(self, call: ast.Call) -> DeclaredMemRef:
        parts = [static(self.reader, arg) for arg in call.args]
        slots = 1
        for keyword in self.reader.keywords(call):
            slots = static(self.reader, keyword.value)
            if keyword.arg != "slots" or type(slots) is not int:
                raise self.reader.failure(ParserTypeError, "pl.MemRef takes only slots=N besides its parts", keyword)
        if any(part is NOTHING for part in parts):
            raise self.reader.failure(ParserTypeError, "the parts of a memref at the top level are literals", call)
        return DeclaredMemRef(*parts, slots=slots)

    def read_function(self, node: ast.FunctionDef) -> None:
        kind, decorator = self._decoration(node)
        if kind == "function":
            options = read_options(self.reader, decorator)
            self.found.append((node, self._later_function(node, options)))
        elif kind == "inline":
            self.values[node.name] = parse_inline(self.source, node, self.values)
        else:
            raise self.reader.failure(
                ParserSyntaxError, "@pl.program belongs on a class", decorator, hint="use @pl.function on a def"
            )

    def refuse_async(self, node: ast.AsyncFunctionDef) -> None:
        raise self.reader.failure(UnsupportedFeatureError, "an async function cannot be a kernel", node)

    def _later_function(self, node: ast.FunctionDef, options: Options) -> Callable[[], Function]:
        env = self.env
        return lambda: read_function(env, node, options)

    def read_class(self, node: ast.ClassDef) -> None:
        kind, decorator = self._decoration(node)
        if kind != "program":
            raise self.reader.failure(
                ParserSyntaxError, f"@pl.{kind} belongs on a def", decorator, hint="use @pl.program on a class"
            )
        if node.bases or node.keywords:
            raise self.reader.failure(UnsupportedFeatureError, "a program class has no bases", (node.bases or node.keywords)[0])
        strict_ssa = self._strict_ssa(decorator)
        # what is kept must not refer to this reader: the tree would live on until the collector finds it
        env = self.env
        self.found.append((node, lambda: read_program(env, node, strict_ssa)))

    def _strict_ssa(self, decorator: Any) -> bool:
        if type(decorator) is not ast.Call:
            return False
        strict = False
        for keyword in self.reader.keywords(decorator):
            value = keyword.value
            if keyword.arg != "strict_ssa" or type(value) is not ast.Constant or not isinstance(value.value, bool):
                raise self.reader.failure(ParserSyntaxError, "@pl.program takes strict_ssa=True or False only", keyword)
            strict = value.value
        if decorator.args:
            raise self.reader.failure(ParserSyntaxError, "@pl.program takes keywords only", decorator.args[0])
        return strict

    def _decoration(self, node: Any) -> tuple[str, Any]:
        found: tuple[str, Any] | None = None
        for decorator in node.decorator_list:
            called = decorator.func if type(decorator) is ast.Call else decorator
            path = path_of(self.reader, called)
            if path not in ("function", "program", "inline"):
                raise self.reader.failure(
                    UnsupportedFeatureError,
                    f"the decorator @{ast.unparse(called)} cannot be read in a text",
                    decorator,
                    hint="a text holds @pl.function, @pl.program and @pl.inline",
                )
            if found is not None:
                raise self.reader.failure(ParserSyntaxError, "one decorator of the language is enough", decorator)
            found = (path, decorator)
        if found is None:
            what = "class" if type(node) is ast.ClassDef else "function"
            raise self.reader.failure(
                ParserSyntaxError,
                f"the {what} {node.name!r} is not decorated: a text is read and never executed",
                node,
                hint=f"decorate it with @pl.{'program' if what == 'class' else 'function'}",
            )
        return found


_TOP_LEVEL: Mapping[type, Callable[[_Text, Any], None]] = {
    ast.Import: _Text.read_import,
    ast.ImportFrom: _Text.read_import_from,
    ast.Assign: _Text.read_assign,
    ast.AnnAssign: _Text.read_assign,
    ast.FunctionDef: _Text.read_function,
    ast.AsyncFunctionDef: _Text.refuse_async,
    ast.ClassDef: _Text.read_class,
}
