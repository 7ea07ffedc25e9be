"""Finding the source of what a decorator was put on: file, syntax node, and the Python names it can see."""

from __future__ import annotations

import ast
import linecache
import sys
from collections import ChainMap
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType, FrameType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pypto.parser import SourceFile

_FILES: dict[str, tuple[str, SourceFile, dict[tuple[str, int], ast.AST]]] = {}


@dataclass(frozen=True)
class Definition:
    """Where a function or class stands: its file, its syntax node in the tree of the whole file, and the names around it."""

    source: SourceFile
    node: Any
    closure: Mapping[str, Any]


def file_of(filename: str) -> tuple[SourceFile, dict[tuple[str, int], ast.AST]]:
    """The parsed file, and its functions and classes by name and first line (decorators included); each file is read once.

    Raises:
        ParserSyntaxError: there is no source text to read.
    """
    from pypto.parser import ParserSyntaxError, SourceFile

    text = "".join(linecache.getlines(filename))
    if not text:
        raise ParserSyntaxError(
            f"the source of this definition cannot be read (it comes from {filename!r}, which is no file)",
            hint="save it to a file, or give the text to pl.parse(...)",
        )
    known = _FILES.get(filename)
    if known is not None and known[0] == text:
        return known[1], known[2]
    source = SourceFile(filename, text)
    index: dict[tuple[str, int], ast.AST] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            index[node.name, first] = node
    _FILES[filename] = (text, source, index)
    return source, index


def find_function(function: FunctionType, frame: FrameType) -> Definition:
    """The definition of a Python function that a decorator was just put on; ``frame`` is where the ``def`` was executed."""
    from pypto.parser import ParserSyntaxError

    code = function.__code__
    source, index = file_of(code.co_filename)
    node = index.get((function.__name__, code.co_firstlineno)) or _nearest(index, function.__name__, code.co_firstlineno)
    if not isinstance(node, ast.FunctionDef):
        what = "an async function" if isinstance(node, ast.AsyncFunctionDef) else "this definition"
        raise ParserSyntaxError(
            f"{what} cannot be read as a kernel: {function.__name__!r} is not an ordinary def in {code.co_filename}",
            {"filename": code.co_filename, "line": code.co_firstlineno, "column": 1},
            hint="write it as a def statement in a file",
        )
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    captured = {name: cell.cell_contents for name, cell in cells.items() if _filled(cell)}
    return Definition(source, node, visible_names(frame, captured))


def find_class(cls: type, frame: FrameType) -> Definition:
    """The definition of a class that a decorator was just put on."""
    from pypto.parser import ParserSyntaxError

    filename = frame.f_code.co_filename
    first_lines: list[int] = []
    captured: dict[str, Any] = {}
    for member in vars(cls).values():
        if isinstance(member, FunctionType) and member.__code__.co_filename == filename:
            first_lines.append(member.__code__.co_firstlineno)
            for name, cell in zip(member.__code__.co_freevars, member.__closure__ or (), strict=True):
                if _filled(cell):
                    captured[name] = cell.cell_contents
    source, index = file_of(filename)
    line = first_lines[0] if first_lines else frame.f_lineno
    best: ast.ClassDef | None = None
    for (name, first), node in index.items():
        inside = isinstance(node, ast.ClassDef) and name == cls.__name__ and first <= line <= (node.end_lineno or first)
        if inside and isinstance(node, ast.ClassDef) and (best is None or node.lineno > best.lineno):
            best = node
    if best is None:
        raise ParserSyntaxError(
            f"the source of class {cls.__name__!r} was not found in {filename}", {"filename": filename, "line": frame.f_lineno}
        )
    return Definition(source, best, visible_names(frame, captured))


def _nearest(index: Mapping[tuple[str, int], ast.AST], name: str, line: int) -> ast.AST | None:
    for (known, first), node in index.items():
        last = getattr(node, "end_lineno", first)
        if known == name and first <= line <= last:
            return node
    return None


def _filled(cell: Any) -> bool:
    try:
        _ = cell.cell_contents
    except ValueError:
        return False
    return True


def visible_names(frame: FrameType, captured: Mapping[str, Any]) -> Mapping[str, Any]:
    """The Python names that a definition in ``frame`` sees, innermost first: captured ones, locals, enclosing functions, globals."""
    scopes: list[dict[str, Any]] = [dict(captured), dict(frame.f_locals)]
    code: CodeType = frame.f_code
    outer = frame.f_back
    while outer is not None:
        if code in outer.f_code.co_consts:
            scopes.append(dict(outer.f_locals))
            code = outer.f_code
        outer = outer.f_back
    scopes.append(frame.f_globals)
    return ChainMap(*scopes)


def in_class_body(frame: FrameType) -> bool:
    """True when ``frame`` executes the body of a class."""
    names = frame.f_locals
    return "__module__" in names and "__qualname__" in names and names is not frame.f_globals


def calling_frame(depth: int) -> FrameType:
    """The frame ``depth`` calls above the function that asks."""
    return sys._getframe(depth + 1)
