"""``pypto diff``, and the report on a difference: where, what kind, both sides in source form with marks; golden files show it too."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import pypto.language as pl
from pypto import ir
from pypto.cli.commands import cli
from pypto.ir.equality import StructuralDifference, find_difference
from pypto.testing import assert_golden
from pypto.testing.generation import FunctionAuthor

BASE = """import pypto.language as pl


@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[64, 64], pl.FP32], n: pl.Scalar[pl.INDEX], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        t = pl.load(a, [0, 0], [64, 64])
        for i in pl.range(n):
            if i > 3:
                t = pl.mul(t, 0.5)
            # note
            u = pl.add(t, t)
            t = pl.exp(u)
        o = pl.store(t, [0, 0], o)
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, a: pl.Tensor[[64, 64], pl.FP32], o: pl.Out[pl.Tensor[[64, 64], pl.FP32]]) -> pl.Tensor[[64, 64], pl.FP32]:
        with pl.at(level=pl.Level.CORE_GROUP, name_hint="h"):
            b = pl.add(a, 1.0)
        o = self.k(b, 8, o)
        return o
"""


def program(*changes: tuple[str, str]) -> Any:
    text = BASE
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return pl.parse(text)


def report(*changes: tuple[str, str], strict: bool = False) -> Any:
    found = find_difference(program(), program(*changes), strict=strict)
    assert found is not None
    return found


def marked(found: Any, sign: str) -> list[str]:
    """What is marked in the lines with a sign."""
    return [text[a:b] for s, text, spans in found.excerpt if s == sign for a, b in spans]


CASES: list[tuple[list[tuple[str, str]], bool, str, str, list[str], list[str]]] = [
    ([("0.5", "0.25")], False, "constant", "['k'].body[1].body[0].then_body.value.args[1].value", ["5"], ["25"]),
    ([("pl.exp(u)", "pl.sqrt(u)")], False, "operator", "['k'].body[1].body[2].value.op", ["exp"], ["sqrt"]),
    ([("i > 3", "i > n")], False, "expression", "['k'].body[1].body[0].condition.right", ["3"], ["n"]),
    ([("i > 3", "i < 3")], False, "expression", "['k'].body[1].body[0].condition", [">"], ["<"]),
    ([("n: pl.Scalar[pl.INDEX]", "n: pl.Scalar[pl.INT64]")], False, "type", "['k'].params[1]", ["INDEX"], ["INT64"]),
    ([("            t = pl.exp(u)\n", "")], False, "missing statement", "['k'].body[1].body", [], []),
    ([("        o = pl.store", "        v = pl.exp(t)\n        o = pl.store")], False, "missing statement", "['k'].body", [], []),
    ([(" u = ", " w = "), ("exp(u)", "exp(w)")], True, "name", "['k'].body[1].body[1].var", ["u"], ["w"]),
    ([("# note", "# other")], True, "comment", "['k'].body[1].body[1].leading_comments", ["note"], ["other"]),
    ([("[0, 0], [64, 64])", "[0, 0], [64, 64], clamp=True)")], False, "attribute", "['k'].body[0].value.kwargs", [], [", clamp=True"]),
    ([("pl.mul(t, 0.5)", "pl.mul(t, 0.5, attrs={'x': 1})")], False, "attribute", "['k'].body[1].body[0].then_body.value.attrs", [], []),
    ([("pl.range(n)", "pl.range(0, n, 2)")], False, "constant", "['k'].body[1].step.value", [], ["0, ", ", 2"]),
    ([('"h"', '"g"')], False, "name", "['main'].body[0].name_hint", ["h"], ["g"]),
    ([("self.k(b", "self.k(a")], False, "variable", "['main'].body[1].value.args[0]", ["b"], ["a"]),
    ([("FunctionType.InCore", "FunctionType.AIV")], False, "property", "['k'].func_type", [], []),
    ([("def k(", "def kk("), ("self.k(", "self.kk(")], False, "function", "", [], []),
    ([("pl.range(n)", "pl.parallel(n)")], False, "property", "['k'].body[1].kind", ["range"], ["parallel"]),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_path_kind_and_marks(case: int) -> None:
    changes, strict, kind, path, left, right = CASES[case]
    found = report(*changes, strict=strict)
    assert found.kind == kind
    assert found.path == path
    if left or right:
        assert marked(found, "-") == left
        assert marked(found, "+") == right


def test_the_report_as_text() -> None:
    with pytest.raises(StructuralDifference) as caught:
        ir.assert_structural_equal(program(), program(("0.5", "0.25")))
    assert str(caught.value) == (
        "Structural equality assertion failed at: ['k'].body[1].body[0].then_body.value.args[1].value\n\n"
        "Left: 0.5\nRight: 0.25\n\n"
        "Reason: double value mismatch (0.5 != 0.25)\n"
        "Kind: constant\n\n"
        "In function 'k' (- left, + right)\n"
        "  for i in pl.range(n):\n"
        "      if i > 3:\n"
        "-         t: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = pl.tile.muls(t, 0.5)\n"
        "?                                                                       ^\n"
        "+         t: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = pl.tile.muls(t, 0.25)\n"
        "?                                                                       ^^\n"
        "      # note\n"
        "      u: pl.Tile[[64, 64], pl.FP32, pl.Mem.Vec] = pl.tile.add(t, t)"
    )


def test_statements_in_another_order() -> None:
    n = ir.Var("n", ir.ScalarType(ir.INDEX))

    def function(first: int, second: int) -> ir.Function:
        stmts = [ir.EvalStmt(ir.Add(n, ir.index_const(value), ir.INDEX)) for value in (first, second, 7)]
        return ir.Function("f", [n], [], ir.SeqStmts([*stmts, ir.ReturnStmt([])]))

    found = find_difference(function(1, 2), function(2, 1))
    assert found is not None
    assert found.kind == "order"
    changed = sorted((sign, text.strip()) for sign, text, _ in found.excerpt if sign != " ")
    assert changed in ([("+", "n + 1"), ("-", "n + 1")], [("+", "n + 2"), ("-", "n + 2")])


def test_bits_of_constants() -> None:
    def function(value: float) -> ir.Function:
        return ir.Function("f", [], [], ir.SeqStmts([ir.EvalStmt(ir.ConstFloat(value, ir.FP32)), ir.ReturnStmt([])]))

    assert find_difference(function(0.0), function(-0.0)) is None
    found = find_difference(function(0.0), function(-0.0), strict=True)
    assert found is not None
    assert (found.kind, found.reason) == ("constant bits", "double value mismatch (0.0 != -0.0)")
    assert "-     0.0\n+     -0.0\n" in found.text() or "+     -0.0" in found.text()
    nan = math.nan
    found = find_difference(function(nan), function(-nan), strict=True)
    assert found is not None
    assert found.kind == "constant bits"
    assert "bits 0x7ff8000000000000 != 0xfff8000000000000" in found.reason


def test_renamed_variables_are_shown_under_one_name() -> None:
    found = report((" t = ", " tile = "), ("(t, ", "(tile, "), (", t)", ", tile)"), ("0.5", "0.25"))
    shown = [text for _, text, _ in found.excerpt]
    assert not any("tile:" in text for text in shown)
    assert marked(found, "+") == ["25"]


def test_long_lines_and_long_blocks_are_cut() -> None:
    def function(length: int, last: int) -> ir.Function:
        n = ir.Var("n", ir.ScalarType(ir.INDEX))
        value: ir.Expr = n
        for _ in range(length):
            value = ir.Add(value, n, ir.INDEX)
        return ir.Function(
            "f", [n], [], ir.SeqStmts([ir.EvalStmt(ir.Add(value, ir.index_const(last), ir.INDEX)), ir.ReturnStmt([])])
        )

    found = find_difference(function(5000, 1), function(5000, 2))
    assert found is not None
    assert marked(found, "-") == ["1"]
    assert all(len(text) < 200 for _, text, _ in found.excerpt)

    def long(count: int) -> ir.Function:
        stmts = [ir.EvalStmt(ir.index_const(at)) for at in range(count)]
        return ir.Function("f", [], [], ir.SeqStmts([*stmts, ir.ReturnStmt([])]))

    found = find_difference(long(2000), long(2001))
    assert found is not None
    assert found.kind == "missing statement"
    assert [(s, t.strip()) for s, t, _ in found.excerpt if s != " "] == [("+", "2000")]
    assert len(found.text().split("\n")) < 120


@pytest.mark.parametrize("seed", range(12))
def test_every_mutation_gives_a_report(seed: int) -> None:
    import random

    left, right = (FunctionAuthor(random.Random(s)).program(6) for s in (seed, seed + 100))
    found = find_difference(left, right, strict=True)
    assert found is not None
    assert found.reason
    assert found.kind
    assert found.text().startswith("Structural equality assertion failed")


# -- the command ---------------------------------------------------------------------------------------------------------------


def invoke(tmp_path: Path, *changes: tuple[str, str], options: tuple[str, ...] = ()) -> Result:
    sides = tmp_path / "a.py", tmp_path / "b.py"
    text = BASE
    for before, after in changes:
        text = text.replace(before, after)
    sides[0].write_text(f"# pypto.program: P\n{BASE}", encoding="utf-8")
    sides[1].write_text(f"# pypto.program: P\n{text}", encoding="utf-8")
    return CliRunner().invoke(cli, ["diff", *map(str, sides), *options])


def test_equal_programs_exit_with_0(tmp_path: Path) -> None:
    ran = invoke(tmp_path, (" u ", " w "), ("exp(u)", "exp(w)"), ("# note", "# other"))
    assert ran.exit_code == 0
    assert ran.output.startswith("equal   ")
    ran = invoke(tmp_path, ("# note", "# other"), options=("--strict",))
    assert ran.exit_code == 1
    assert "Kind: comment" in ran.output


def test_different_programs_exit_with_1(tmp_path: Path) -> None:
    ran = invoke(tmp_path, ("0.5", "0.25"), ("add(a, 1.0)", "add(a, 2.0)"))
    assert ran.exit_code == 1
    lines = ran.output.split("\n")
    assert lines[0].startswith("differ  ")
    assert lines[0].endswith(": constant")
    assert "?                                                                       ^" in lines
    assert "also different: main" in lines


def test_programs_are_compared_after_passes(tmp_path: Path) -> None:
    same = [("pl.mul(t, 0.5)", "pl.mul(t, pl.const(0.5, pl.FP32))")]
    assert invoke(tmp_path, *same, options=("--after", "convert_to_ssa")).exit_code == 0
    ran = invoke(tmp_path, ("0.5", "0.25"), options=("--after", "ConvertToSSA"))
    assert ran.exit_code == 1
    assert "__ssa_v" in ran.output
    assert invoke(tmp_path, options=("--passes", "convert_to_ssa", "--after", "convert_to_ssa")).exit_code == 2


def test_a_side_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    ran = CliRunner().invoke(cli, ["diff", str(tmp_path / "none.py"), str(tmp_path / "none.py")])
    assert ran.exit_code != 0


# -- golden files ---------------------------------------------------------------------------------------------------------------


def test_a_golden_failure_shows_the_difference(tmp_path: Path) -> None:
    path = tmp_path / "golden.py"
    assert_golden(program(), path, update=True)
    assert_golden(program(), path, update=False)
    with pytest.raises(AssertionError) as caught:
        assert_golden(program(("0.5", "0.25")), path, update=False)
    text = str(caught.value)
    assert "the programs differ" in text
    assert "Kind: constant" in text
    assert "?                                                                       ^^" in text
    path.write_text(path.read_text(encoding="utf-8").replace("= pl.tile", "=  pl.tile"), encoding="utf-8")
    with pytest.raises(AssertionError, match="the programs are equal, only the text differs"):
        assert_golden(program(), path, update=False)
    path.write_text("x = (", encoding="utf-8")
    with pytest.raises(AssertionError, match="the file cannot be read"):
        assert_golden(program(), path, update=False)
