"""The code in the README and the docs is run: every Python block, in order, one namespace a page.

Kernels are read from their source, so each block is compiled as a file of its own, whose lines stand where they stand on the page.
"""

from __future__ import annotations

import linecache
from pathlib import Path

from sybil import Example, Sybil
from sybil.parsers.markdown import CodeBlockParser, SkipParser


def run_block(example: Example) -> None:
    """Execute one block in the namespace of its page."""
    text = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    page = Path(example.path)
    filename = f"{page.parent.name}/{page.name}:{example.line}"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec", dont_inherit=True), example.namespace)


pytest_collect_file = Sybil(
    parsers=[CodeBlockParser("python", run_block), SkipParser()],
    patterns=["README.md", "docs/**/*.md", "docs/*.md"],
).pytest()
