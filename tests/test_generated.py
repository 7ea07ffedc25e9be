"""Generated files are committed: they must be what the tool writes, and the stub must know everything the language has."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pypto.language as pl
from pypto.language.operators import Namespace
from pypto.ops.vocabulary import names

ROOT = Path(__file__).resolve().parents[1]
STUB = ROOT / "pypto" / "language" / "__init__.pyi"


def bound_names(body: list[ast.stmt]) -> set[str]:
    """The names that statements define."""
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
        elif isinstance(node, ast.Assign):
            found.update(target.id for target in node.targets if isinstance(target, ast.Name))
    return found


def test_committed_files_are_up_to_date() -> None:
    # in a process of its own: other tests declare operators
    tool = str(ROOT / "tools" / "generate.py")
    ran = subprocess.run([sys.executable, tool, "--check"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_stub_names_everything_in_the_language() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    known = bound_names(tree.body)
    from_vocabulary = set(names(""))
    missing = {name for name in dir(pl) if name not in known and name not in from_vocabulary}
    assert not missing
    assert {"add", "load", "range", "function", "FP32", "Tensor", "dynamic", "parse"} <= known


def test_the_stub_names_the_members_of_the_namespaces() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    classes = {node.name: bound_names(node.body) for node in tree.body if isinstance(node, ast.ClassDef)}
    namespaces = {name for name in dir(pl) if isinstance(getattr(pl, name), Namespace)}
    assert {f"_{name}" for name in namespaces} == set(classes)
    assert {"load", "and_", "sin"} <= classes["_tile"]
    assert {"create", "dim"} <= classes["_tensor"]


def test_every_name_of_the_stub_exists() -> None:
    tree = ast.parse(STUB.read_text(encoding="utf-8"))
    classes = {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    unknown = [name for name in bound_names(tree.body) - classes - {"Any", "DataType"} if not hasattr(pl, name)]
    assert not unknown


def test_the_operator_page_documents_every_parameter() -> None:
    page = (ROOT / "docs" / "reference" / "operators.md").read_text(encoding="utf-8")
    section = page.partition("### pl.tile.load\n")[2].partition("\n### ")[0]
    assert "`pl.tile.load(tensor, offsets, shapes, " in section
    for parameter in ("tensor", "offsets", "shapes", "valid_shape", "target_memory", "clamp"):
        assert f"| `{parameter}` |" in section
    headings = [line for line in page.split("\n") if line.startswith("### ")]
    assert len(headings) == len(set(headings)) > 200
