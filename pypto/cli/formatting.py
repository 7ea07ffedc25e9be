"""``pypto fmt``: the kernels of a file in the layout of printed programs, everything around them untouched.

Only the layout changes: line breaks, blanks, blank lines, brackets and commas that stand for layout, quotes. Names and spellings stay, so
do comments; nothing is computed, spliced in or executed. A statement that the layout does not know, or that has comments inside it, stays
as it is, and so does a kernel whose meaning or comments would change.
"""

from __future__ import annotations

import ast
import difflib
import io
import re
import sys
import tokenize
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from pypto.cli.output import show_error
from pypto.diagnostics import Error
from pypto.parser.namespace import PREFIXES
from pypto.printer.layout import INDENT, lay_out, width_of
from pypto.printer.pieces import join_pieces
from pypto.printer.written import Token, UnknownForm, significant, statement_pieces

DECORATORS: Final = ("function", "program", "inline", "jit")
"""What makes a function or class a kernel to be formatted, after the prefix of the language."""

_OFF = re.compile(r"#\s*(?:fmt|yapf):\s*(?:off|skip|disable)")
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")


class FormatError(Error):
    """A file that cannot be formatted."""

    code = "format"


@dataclass
class Formatted:
    """What became of a file: its text before and after, and the kernels that were left as they are, with their line and why."""

    before: str
    after: str
    left_alone: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    @property
    def is_changed(self) -> bool:
        """True when the text is another one."""
        return self.before != self.after

    def diff(self, name: str) -> str:
        """The change as a unified diff."""
        before, after = self.before.splitlines(), self.after.splitlines()
        return "\n".join(difflib.unified_diff(before, after, name, name, "before", "after", lineterm=""))


def format_files(paths: Sequence[Path], line_length: int, *, write: bool, show_diff: bool = False) -> tuple[int, int]:
    """Format files, and the ``.py`` files of directories, and say what became of each.

    Args:
        paths: what to format.
        line_length: the width of the text.
        write: False leaves the files as they are.
        show_diff: print the change instead of the name of the file.

    Returns:
        How many files cannot be formatted, and how many have or would have another text.
    """
    wrong = changed = 0
    files = _expand(paths)
    for path in files:
        try:
            text, encoding = read_text(path)
            made = format_text(text, str(path), line_length)
        except Error as error:
            sys.stdout.flush()
            show_error(error)
            wrong += 1
            continue
        for line, why in made.left_alone:
            click.echo(f"{path}:{line}: this kernel is left as it is: {why}", err=True)
        if not made.is_changed:
            continue
        changed += 1
        if write:
            path.write_bytes(made.after.encode(encoding))
        if show_diff:
            click.echo(made.diff(str(path)))
        else:
            click.echo(f"{'formatted' if write else 'would format'}  {path}")
    kept = len(files) - changed - wrong
    click.echo(
        f"{_files(changed)} {'formatted' if write else 'to format'}, {_files(kept)} left as {'it is' if kept == 1 else 'they are'}",
        err=True,
    )
    return wrong, changed


def _files(count: int) -> str:
    return f"{count} file{'s' * (count != 1)}"


def _expand(paths: Sequence[Path]) -> list[Path]:
    """The files that paths stand for, each once: themselves, and the Python files in directories."""
    found: dict[Path, None] = {}
    for path in paths:
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts) if path.is_dir() else False
            if not hidden:
                found[file] = None
    return [*found]


def read_text(path: Path) -> tuple[str, str]:
    """The text of a Python file, line ends as they are, and its encoding.

    Raises:
        FormatError: its encoding is unknown, or its bytes do not follow it.
    """
    data = path.read_bytes()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return data.decode(encoding), encoding
    except (SyntaxError, UnicodeDecodeError, LookupError) as error:
        raise FormatError(f"{path} cannot be read as text: {error}", {"filename": str(path)}) from error


def format_text(text: str, filename: str = "<string>", line_length: int = 200) -> Formatted:
    """The text of a Python file, or of a program, with its kernels in printed layout.

    Raises:
        FormatError: the text is no Python.
    """
    try:
        source = _Source(text)
    except (SyntaxError, tokenize.TokenError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or 1
        column = getattr(error, "offset", None) or 1
        message = getattr(error, "msg", None) or str(error)
        place = {"filename": filename, "line": line, "column": max(column, 1)}
        raise FormatError(f"{filename} is not valid Python: {message}", place, source_lines=text.splitlines()) from error
    made = Formatted(text, text)
    newline = "\r\n" if "\r\n" in text else "\n"
    for node in reversed(list(_kernels(source.tree))):
        changed = _format_kernel(source, node, line_length, newline, made)
        if changed is not None:
            first, last, block = changed
            start = source.starts[first - 1]
            end = source.starts[last]
            made.after = made.after[:start] + block + made.after[end:]
    made.left_alone.reverse()
    return made


def _format_kernel(source: _Source, node: Any, line_length: int, newline: str, made: Formatted) -> tuple[int, int, str] | None:
    """The lines of a kernel and their new text; None when it stays as it is."""
    line = _first_line(node)
    kernel = _Kernel(source, node, line_length)
    try:
        lines, last = kernel.lines()
    except _LeaveAlone as why:
        made.left_alone.append((line, str(why)))
        return None
    ended = source.lines[last - 1].endswith(("\n", "\r"))
    block = newline.join(lines) + (newline if ended else "")
    before = "".join(source.lines[line - 1 : last])
    if block == before:
        return None
    if not _same(before, block):
        made.left_alone.append((line, "another layout would change it"))
        return None
    return line, last, block


def _same(before: str, after: str) -> bool:
    """True when two texts of a kernel have one meaning and the same comments in the same order."""
    try:
        old, new = _unindented(before), _unindented(after)
        return ast.dump(ast.parse(old)) == ast.dump(ast.parse(new)) and _comment_texts(old) == _comment_texts(new)
    except (SyntaxError, tokenize.TokenError, RecursionError):
        return False


def _unindented(text: str) -> str:
    """A block under a head of its own when it is indented, so that it can be read alone."""
    return f"if 1:\n{text}" if text[:1] in (" ", "\t") else text


def _comment_texts(text: str) -> list[str]:
    found = tokenize.generate_tokens(io.StringIO(text).readline)
    return [t.string[1:].removeprefix(" ").rstrip() for t in found if t.type == tokenize.COMMENT]


# -- finding kernels -------------------------------------------------------------------------------------------------------


def _kernels(tree: ast.Module) -> Iterator[Any]:
    """The outermost decorated functions and classes, in the order of the file."""
    prefixes, bare = _language_names(tree)

    def is_kernel(node: Any) -> bool:
        for decorator in node.decorator_list:
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            path = ast.unparse(called).split(".")
            if (len(path) > 1 and path[0] in prefixes and path[1] in DECORATORS) or (len(path) == 1 and path[0] in bare):
                return True
        return False

    def search(nodes: Sequence[Any]) -> Iterator[Any]:
        for node in nodes:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and is_kernel(node):
                yield node
                continue
            for name in ("body", "orelse", "finalbody", "handlers", "cases"):
                inner = getattr(node, name, None)
                if isinstance(inner, list):
                    yield from search(inner)  # pyright: ignore[reportUnknownArgumentType]

    yield from search(tree.body)


def _language_names(tree: ast.Module) -> tuple[set[str], set[str]]:
    """The names under which a file has the language, and the decorators that it imports by name."""
    prefixes, bare = {"pl"}, set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            prefixes.update(a.asname for a in node.names if a.asname and PREFIXES.get(a.name) == "")
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if PREFIXES.get(f"{node.module}.{alias.name}") == "":
                    prefixes.add(alias.asname or alias.name)
                elif PREFIXES.get(node.module or "") == "" and alias.name in DECORATORS:
                    bare.add(alias.asname or alias.name)
    return prefixes, bare


def _first_line(node: Any) -> int:
    decorators: Sequence[Any] = getattr(node, "decorator_list", ())
    return min([node.lineno, *[d.lineno for d in decorators]])


# -- the source ------------------------------------------------------------------------------------------------------------


class _Source:
    """A file: its tree, its lines, and its tokens by place."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.lines = [m.group() for m in _LINES.finditer(text) if m.group()]
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))
        readable = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        tokens = list(tokenize.generate_tokens(io.StringIO(readable).readline))
        self.comments = {t.start[0]: t for t in tokens if t.type == tokenize.COMMENT}
        self.tokens = _whole_strings(significant(tokens), readable)
        self.places = [t.start for t in self.tokens]

    def place(self, line: int, offset: int) -> tuple[int, int]:
        """A place of the tree, whose columns count bytes, as one of the tokens."""
        text = self.lines[line - 1]
        return line, offset if text.isascii() else len(text.encode("utf-8")[:offset].decode("utf-8"))

    def index(self, place: tuple[int, int]) -> int:
        """The first token that begins at a place or after it."""
        return bisect_left(self.places, place)


def _whole_strings(tokens: Sequence[tokenize.TokenInfo], text: str) -> list[tokenize.TokenInfo]:
    """The tokens with every f-string as one, as the older versions of Python have it."""
    start_kind: int | None = getattr(tokenize, "FSTRING_START", None)
    if start_kind is None:
        return [*tokens]
    end_kind: int = tokenize.FSTRING_END  # type: ignore[attr-defined]
    lines = text.split("\n")
    out: list[tokenize.TokenInfo] = []
    level = 0
    begin: Any = None
    for item in tokens:
        if item.type == start_kind:
            begin = begin if level else item
            level += 1
        elif item.type == end_kind:
            level -= 1
            if not level:
                (first, left), (last, right) = begin.start, item.end
                shown = str(lines[first - 1][left:right]) if first == last else "\n"  # pyright: ignore[reportUnknownArgumentType]
                out.append(tokenize.TokenInfo(tokenize.STRING, shown, begin.start, item.end, item.line))
        elif not level:
            out.append(item)
    return out


class _LeaveAlone(Exception):
    """The kernel stays as it is; the text says why."""


_BLOCKS = (ast.FunctionDef, ast.ClassDef, ast.If, ast.For, ast.While, ast.With)
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr, ast.Pass, ast.Break, ast.Continue)


class _Kernel:
    """Lays out one kernel: its lines go to ``out``; ``at`` is the first line of the source that has not been looked at."""

    def __init__(self, source: _Source, node: Any, line_length: int) -> None:
        self.source = source
        self.node = node
        self.first = _first_line(node)
        self.at = self.first
        text = source.lines[self.first - 1]
        self.base = text[: len(text) - len(text.lstrip())]
        self.width = line_length - len(self.base)
        self.out: list[str] = []

    def lines(self) -> tuple[list[str], int]:
        """The new lines, and the last line of the source that they stand for.

        Raises:
            _LeaveAlone: the kernel cannot be laid out.
        """
        source = self.source
        last = self.node.end_lineno or self.node.lineno
        block = source.lines[self.first - 1 : last]
        if any("\t" in line[: len(line) - len(line.lstrip())] for line in block):
            raise _LeaveAlone("it is indented with tabs")
        if any(line in self.source.comments and _OFF.match(source.comments[line].string) for line in range(self.first, last + 1)):
            raise _LeaveAlone("a comment asks for it")
        until = self._next_code_line(last + 1)
        self.statement(self.node, 0, until)
        return self.out, self.at - 1

    def _next_code_line(self, line: int) -> int:
        lines = self.source.lines
        while line <= len(lines) and (not lines[line - 1].strip() or lines[line - 1].lstrip()[0] == "#"):
            line += 1
        return line

    # -- lines ---------------------------------------------------------------------------------------------------------

    def emit(self, lines: Sequence[str]) -> None:
        """Add lines."""
        self.out += [self.base + line if line else "" for line in lines]

    def comment(self, token: tokenize.TokenInfo, level: int) -> None:
        """A comment on a line of its own."""
        self.emit([INDENT * level + _comment(token.string)])

    # -- blocks --------------------------------------------------------------------------------------------------------

    def block(self, nodes: Sequence[Any], level: int, until: int) -> None:
        """Statements with the comments and blank lines between them; ``until`` is the line of the code after the block."""
        for at, node in enumerate(nodes):
            separate = at > 0 and any(isinstance(n, ast.FunctionDef | ast.ClassDef) for n in (node, nodes[at - 1]))
            self.gap(_first_line(node), level, is_start=at == 0, separate=separate)
            following = _first_line(nodes[at + 1]) if at + 1 < len(nodes) else until
            self.statement(node, level, following)
        self.trailing(level, until, self.source.place(nodes[0].lineno, nodes[0].col_offset)[1])

    def gap(self, end: int, level: int, *, is_start: bool, separate: bool = False) -> None:
        """What stands before a statement or ``else``: comments, and a blank line where there were any."""
        blank = separate
        for line in range(self.at, end):
            token = self.source.comments.get(line)
            if token is not None:
                if blank:
                    self.emit([""])
                self.comment(token, level)
                is_start = blank = False
            elif not self.source.lines[line - 1].strip():
                blank = blank or not is_start
        if blank:
            self.emit([""])
        self.at = max(self.at, end)

    def trailing(self, level: int, until: int, column: int) -> None:
        """The comments at the end of a block: those up to the first that stands left of its statements."""
        last = self.at - 1
        for line in range(self.at, until):
            token = self.source.comments.get(line)
            if token is not None:
                if token.start[1] < column:
                    break
                last = line
        blank = False
        for line in range(self.at, last + 1):
            token = self.source.comments.get(line)
            if token is None:
                blank = True
                continue
            if blank:
                self.emit([""])
            self.comment(token, level)
            blank = False
        self.at = last + 1

    # -- statements ----------------------------------------------------------------------------------------------------

    def statement(self, node: Any, level: int, until: int) -> None:
        """One statement with its blocks."""
        if isinstance(node, _BLOCKS) and not (isinstance(node, ast.For | ast.While) and node.orelse):
            self.compound(node, level, until)
            return
        first, last = node.lineno, node.end_lineno or node.lineno
        if isinstance(node, _SIMPLE) and not _is_docstring(node):
            source = self.source
            start, stop = source.place(first, node.col_offset), source.place(last, node.end_col_offset or 0)
            self.piece_lines(source.tokens[source.index(start) : source.index(stop)], level)
        else:
            self.verbatim(first, last, level)
        self.at = max(self.at, last + 1)

    def compound(self, node: Any, level: int, until: int) -> None:
        """A statement that holds blocks."""
        source = self.source
        for decorator in getattr(node, "decorator_list", ()):
            self.gap(decorator.lineno, level, is_start=True)
            start = source.index(source.place(decorator.lineno, decorator.col_offset)) - 1
            end = source.place(decorator.end_lineno, decorator.end_col_offset)
            while source.tokens[start].string != "@":
                start -= 1
            stop = source.index(end)
            self.piece_lines(source.tokens[start:stop], level)
            self.at = decorator.end_lineno + 1
        if getattr(node, "decorator_list", ()):
            self.gap(node.lineno, level, is_start=True)
        begin = source.index(source.place(node.lineno, node.col_offset))
        body = node.body
        self.head(begin, body[0], level, stub=_is_stub(node))
        orelse = getattr(node, "orelse", [])
        if not orelse:
            if not _is_stub(node):
                self.block(body, level + 1, until)
            return
        word = source.index(source.place(_first_line(orelse[0]), orelse[0].col_offset))
        is_elif = isinstance(orelse[0], ast.If) and len(orelse) == 1 and source.tokens[word].string == "elif"
        if not is_elif:
            word -= 2
        self.block(body, level + 1, source.tokens[word].start[0])
        self.gap(source.tokens[word].start[0], level, is_start=True)
        if is_elif:
            self.compound(orelse[0], level, until)
            return
        self.head(word, orelse[0], level)
        self.block(orelse, level + 1, until)

    def head(self, begin: int, body: Any, level: int, *, stub: bool = False) -> None:
        """The head of a compound statement, from its first token to the colon before its body."""
        source = self.source
        stop = source.index(source.place(_first_line(body), body.col_offset))
        if isinstance(body, ast.FunctionDef | ast.ClassDef) and body.decorator_list:
            stop -= 1
        tokens = source.tokens[begin : stop + 1 if stub else stop]
        self.piece_lines(tokens, level, stub=stub)
        self.at = max(self.at, tokens[-1].end[0] + 1)

    def piece_lines(self, tokens: Sequence[tokenize.TokenInfo], level: int, *, stub: bool = False) -> None:
        """The lines of a simple statement or a head; as they were when they cannot be laid out."""
        source = self.source
        first, last = tokens[0].start[0], tokens[-1].end[0]
        comments = [source.comments[line] for line in range(first, last + 1) if line in source.comments]
        words = [Token(t.type, t.string) for t in tokens]
        try:
            if len(comments) > 1 or (comments and comments[0].start < tokens[-1].end) or any("\n" in w.text for w in words):
                raise UnknownForm
            pieces = [*statement_pieces(words[:-1])[:-1], ": ", words[-1].text] if stub else statement_pieces(words)
            text = INDENT * level + join_pieces(pieces)
            lines = [text] if width_of(text) <= self.width else lay_out(pieces, level, self.width)
        except UnknownForm:
            self.verbatim(first, last, level)
            return
        if comments:
            note = _comment(comments[0].string)
            if len(lines) == 1 and width_of(lines[0]) + 2 + width_of(note) <= self.width:
                lines = [f"{lines[0]}  {note}"]
            else:
                lines = [INDENT * level + note, *lines]
        self.emit(lines)

    def verbatim(self, first: int, last: int, level: int) -> None:
        """Lines as they are.

        Raises:
            _LeaveAlone: they stand at another indent than they would, or share a line with other statements.
        """
        lines = [line.rstrip("\r\n") for line in self.source.lines[first - 1 : last]]
        margin = self.base + INDENT * level
        starts = [t.start for t in self.source.tokens[self.source.index((first, 0)) :][:1]]
        if not lines[0].startswith(margin) or lines[0][len(margin) :][:1].isspace() or (starts and starts[0][1] != len(margin)):
            raise _LeaveAlone("it has statements that only keep their layout at another indent")
        if first < self.at:
            raise _LeaveAlone("it has several statements on a line")
        self.out += lines


def _is_docstring(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _is_stub(node: Any) -> bool:
    """True for a function whose body is ``...``, which stays on the line of its head."""
    body = node.body
    return isinstance(node, ast.FunctionDef) and len(body) == 1 and isinstance(body[0], ast.Expr) and _is_ellipsis(body[0].value)


def _is_ellipsis(node: Any) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis


def _comment(text: str) -> str:
    """A comment with a blank after its mark."""
    text = text.rstrip()
    return text if text[1:2] in ("", " ", "!", ":", "#", "'") else f"# {text[1:]}"
