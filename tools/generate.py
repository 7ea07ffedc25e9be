"""Writes the files that follow from the declarations: the operator and pass references, the table of further spellings in the language
reference, and the stub of the kernel language.

Run it (``make generate``) after changing an operator or a pass; a test compares the committed files with what it would write. Output is
formatted as ``ruff format`` would format it.
"""

from __future__ import annotations

import dataclasses
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

import pypto.language as pl
import pypto.language.distributed as pld
from pypto.ir import enums
from pypto.ir.dtypes import DTYPES
from pypto.ir.enums import TensorLayout
from pypto.language import annotations, decorators
from pypto.language.control import CONSTRUCTS
from pypto.language.operators import Namespace
from pypto.ops.declare import public_name
from pypto.ops.reference import documented_ops, notes, parameter_rows
from pypto.ops.scalars import SCALAR_FORMS
from pypto.ops.vocabulary import Unified, lookup, names
from pypto.passes import Pass, pass_names
from pypto.passes.registry import camel_name, get_pass
from pypto.passes.strategy import DEFAULT_ORDER
from pypto.printer.spellings import SPELLINGS

ROOT = Path(__file__).resolve().parent.parent
LANGUAGE_PAGE = ROOT / "docs" / "reference" / "printed-language.md"
LINE_LENGTH = 130


def generated() -> dict[Path, str]:
    """Every generated file with its text."""
    return {
        ROOT / "docs" / "reference" / "operators.md": operators_page(),
        ROOT / "docs" / "reference" / "passes.md": passes_page(),
        LANGUAGE_PAGE: with_section(LANGUAGE_PAGE.read_text(encoding="utf-8"), "spellings", spellings_table()),
        ROOT / "pypto" / "language" / "__init__.pyi": language_stub(),
        ROOT / "pypto" / "language" / "distributed" / "__init__.pyi": distributed_stub(),
    }


# -- pages -------------------------------------------------------------------------------------------------------------


def operators_page() -> str:
    """The reference of all operators."""
    lines = [
        "# Operators",
        "",
        "Made from the declarations in `pypto/ops`. `pypto ops NAME` shows the same in a terminal.",
        "",
        "Where a parameter takes a *list of integers*, entries may be numbers, scalars and dynamic dimensions. Element types, enumeration",
        "members, numbers and texts that are no operands must be known when the function is read.",
        "",
        "## Short spellings",
        "",
        "`pl.NAME` stands for one operator, or for several of which the first operand decides.",
        "",
        *markdown_table(("spelling", "stands for"), _short_spellings()),
        "",
    ]
    namespace = ""
    for op in documented_ops():
        if op.namespace != namespace:
            namespace = op.namespace
            lines += [f"## {namespace}", ""]
        lines += [f"### {public_name(op)}", "", f"`{op.spelling()}`", "", code_spans(op.doc), ""]
        rows = [(f"`{name}`", takes, default, code_spans(doc)) for name, takes, default, doc in parameter_rows(op)]
        if rows:
            lines += [*markdown_table(("parameter", "takes", "default", ""), rows), ""]
        lines += [f"- {note}" for note in notes(op)]
        if lines[-1]:
            lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _short_spellings() -> Iterator[tuple[str, str]]:
    scalar = {form.name for form in SCALAR_FORMS}
    for name in names(""):
        entry = lookup(name)
        assert entry is not None
        choices = entry.choices.values() if isinstance(entry, Unified) else [entry]
        meant = ["the scalar expression" if c.name in scalar else f"`{public_name(c)}`" for c in choices]
        yield f"`pl.{name}`", ", ".join(meant)
    for name in names("pld"):
        entry = lookup(f"pld.{name}")
        assert entry is not None
        choices = entry.choices.values() if isinstance(entry, Unified) else [entry]
        yield f"`pld.{name}`", ", ".join(f"`{public_name(c)}`" for c in choices)


def passes_page() -> str:
    """The reference of all passes."""
    lines = [
        "# Passes",
        "",
        "Those of the default pipeline in its order, then the others. `pypto passes` shows the same in a terminal.",
        "",
        "A pipeline is text: names in either spelling, separated by commas, with options in parentheses, for instance",
        "`convert_to_ssa,simplify,LowerCompositeOps(signals=credit)`.",
        "",
    ]
    for name in pass_names():
        factory = get_pass(name)
        lines += [f"## {camel_name(name)}", "", f"`passes.{name}()`", "", code_spans(inspect.getdoc(factory) or ""), ""]
        if isinstance(factory, type) and issubclass(factory, Pass):
            options = dataclasses.fields(factory) if dataclasses.is_dataclass(factory) else ()
            rows = [(f"`{option.name}`", f"`{option.default!r}`") for option in options]
            if rows:
                lines += [*markdown_table(("option", "default"), rows), ""]
            properties = {"Requires": factory.REQUIRED, "Produces": factory.PRODUCED, "Invalidates": factory.INVALIDATED}
            said = [f"- {title} {', '.join(p.name for p in listed)}." for title, listed in properties.items() if listed]
            lines += [*said, *([""] if said else [])]
        if name not in DEFAULT_ORDER:
            lines += ["Not in the default pipeline.", ""]
    return "\n".join(lines).rstrip() + "\n"


def spellings_table() -> str:
    """The table of spellings beyond the everyday language."""
    rows = [(f"`{row.example}`", row.meaning) for row in SPELLINGS]
    return "\n".join(markdown_table(("spelling", "what it is"), rows))


def with_section(page: str, name: str, text: str) -> str:
    """A page with the text between the two marks of a generated section replaced."""
    begin, end = f"<!-- generated: {name} -->\n", f"<!-- end: {name} -->"
    before, found, rest = page.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise SystemExit(f"the page has no section {name!r}: {begin.strip()} ... {end}")
    return f"{before}{begin}\n{text}\n\n{end}{after}"


def markdown_table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    lines = ["| " + " | ".join(headers) + " |", "|" + "---|" * len(headers)]
    for row in rows:
        cells = [cell.replace("|", "\\|").replace("\n", " ") for cell in row]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def code_spans(text: str) -> str:
    """Documentation as Markdown: two backticks become one."""
    return text.replace("``", "`")


# -- the stub ----------------------------------------------------------------------------------------------------------


def language_stub() -> str:
    """The stub of ``pypto.language``: what editors and type checkers see."""
    imports = {
        "pypto.ir.dtypes": ["DataType"],
        "pypto.ir.enums": _public(enums, inspect.isclass),
        "pypto.language.annotations": _public(annotations, inspect.isclass),
        "pypto.language.control": ["NotExecutableError"],
        "pypto.language.decorators": _public(decorators, callable),
        "pypto.parser": sorted(pl._FROM_READER),
    }
    lines = ["# Written by tools/generate.py from the declarations; do not edit.", "from typing import Any", ""]
    lines += ["from pypto import parser as parser"]
    for module, listed in imports.items():
        lines += [f"from {module} import {name} as {name}" for name in listed]
    lines += ["", *_values(), "", *_function("dynamic", ["name: str"], "DynVar", pl.dynamic.__doc__ or "")]
    lines += _function("const", ["value: Any", "dtype: Any"], "Any", CONSTRUCTS["const"])
    for name, doc in CONSTRUCTS.items():
        if name != "const":
            lines += _function(name, ["*args: Any", "**kwargs: Any"], "Any", doc)
    for name in names(""):
        lines += _operator(name, name)
    for namespace in _namespaces(pl):
        lines += _class_of(namespace, namespace)
    return "\n".join(lines).rstrip() + "\n"


def distributed_stub() -> str:
    """The stub of ``pypto.language.distributed``."""
    lines = ["# Written by tools/generate.py from the declarations; do not edit.", "from typing import Any", ""]
    for module in (enums, annotations):
        lines += [f"from {module.__name__} import {name} as {name}" for name in _public(module, inspect.isclass, pld)]
    lines += ["", "CommCtxType = CommCtx", ""]
    lines += _function("comm_domain", ["*args: Any", "**kwargs: Any"], "Any", pld.comm_domain.__doc__ or "")
    for name in names("pld"):
        lines += _operator(f"pld.{name}", name)
    for namespace in _namespaces(pld):
        lines += _class_of(namespace, f"pld.{namespace}")
    return "\n".join(lines).rstrip() + "\n"


def _class_of(namespace: str, path: str) -> list[str]:
    """A class with the operators of a namespace as static methods, and the name that stands for it."""
    lines = [f"class _{namespace}:"]
    for name in names(path):
        lines += ["    @staticmethod", *_operator(f"{path}.{name}", name, "    ")]
    if lines[-1]:
        lines += ["    ...", ""]
    return [*lines, f"{namespace}: type[_{namespace}]", ""]


def _public(module: ModuleType, wanted: Callable[[object], bool], face: ModuleType = pl) -> list[str]:
    """Names of the language that a module defines."""
    own = {n: v for n, v in vars(module).items() if vars(face).get(n) is v and getattr(v, "__module__", "") == module.__name__}
    return sorted(name for name, value in own.items() if wanted(value))


def _namespaces(face: ModuleType) -> list[str]:
    return sorted(name for name, value in vars(face).items() if isinstance(value, Namespace))


def _values() -> list[str]:
    lines = ["IntLike = Any", "PtrType = Ptr", "TaskId: Any", "adir: Any"]
    lines += [f"{name}: TensorLayout" for name, value in vars(pl).items() if isinstance(value, TensorLayout)]
    return lines + [f"{name}: DataType" for name in DTYPES]


def _operator(path: str, name: str, indent: str = "") -> list[str]:
    entry = lookup(path)
    assert entry is not None
    shown: list[str] = []
    star = False
    for parameter in entry.signature.parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not star:
            shown.append("*")
            star = True
        shown.append(f"{parameter.name}: Any" + ("" if parameter.default is inspect.Parameter.empty else " = ..."))
    return _function(name, shown, "Any", entry.doc, indent)


def _function(name: str, parameters: Sequence[str], result: str, doc: str, indent: str = "") -> list[str]:
    """A function with its documentation, broken over lines where it is too long for one."""
    head, tail = f"{indent}def {name}(", f") -> {result}:"
    inner = indent + "    "
    one_line = head + ", ".join(parameters) + tail
    if len(one_line) <= LINE_LENGTH:
        lines = [one_line]
    elif len(inner + ", ".join(parameters)) <= LINE_LENGTH:
        lines = [head, inner + ", ".join(parameters), indent + tail]
    else:
        lines = [head, *(f"{inner}{parameter}," for parameter in parameters), indent + tail]
    paragraphs = [textwrap.fill(" ".join(p.split()), LINE_LENGTH - len(inner) - 6) for p in inspect.cleandoc(doc).split("\n\n")]
    text = "\n\n".join(paragraphs).replace("\\", "\\\\").split("\n")
    lines.append(f'{inner}"""{text[0]}' + ('"""' if len(text) == 1 else ""))
    if len(text) > 1:
        lines += [inner + line if line else "" for line in text[1:]]
        lines.append(f'{inner}"""')
    return [*lines, ""]


def main() -> int:
    """Write all of them; with ``--check`` only say which are not up to date."""
    check = "--check" in sys.argv[1:]
    stale = 0
    for path, text in generated().items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        print(f"{path.relative_to(ROOT)} {'is not up to date' if check else 'written'}")
        if not check:
            path.write_text(text, encoding="utf-8")
    if check and stale:
        print("run: make generate")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
