"""Texts: what may stand at the top level, what is never done, places, comments, files."""

from __future__ import annotations

import ast
import builtins
import gc
import textwrap
import tokenize
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from pypto import ir
from pypto.ir.equality import structural_equal
from pypto.parser import SourceFile, loads, loads_program, parse, parse_program
from pypto.parser.chains import parse_with_long_chains
from pypto.parser.comments import find_comments
from pypto.parser.errors import InvalidOperationError, ObjectCountError, ParserError, ParserSyntaxError, SSAViolationError

from .support import assert_reads_back, kernel, statements

FUNCTION = "@pl.function\ndef f(n: pl.Scalar[pl.INDEX]):\n    return n\n"


class TestReading:
    """Entry points."""

    def test_nothing_is_executed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*args: Any, **kwargs: Any) -> Any:
            raise AssertionError("executed")

        monkeypatch.setattr(builtins, "exec", refuse)
        monkeypatch.setattr(builtins, "eval", refuse)
        monkeypatch.setattr(builtins, "__import__", builtins.__import__)
        assert parse("import pypto.language as pl\n" + FUNCTION).name == "f"

    def test_files(self, tmp_path: Path) -> None:
        path = tmp_path / "k.py"
        path.write_text(FUNCTION, encoding="utf-8")
        assert loads(path).span.filename == str(path)
        path.write_bytes(b"x = '\xff'\n")
        with pytest.raises(ParserSyntaxError, match="UTF-8") as caught:
            loads(path)
        assert (caught.value.span["line"], caught.value.span["column"]) == (1, 6)
        with pytest.raises(FileNotFoundError):
            loads(tmp_path / "none.py")

    def test_deprecated_names(self, tmp_path: Path) -> None:
        path = tmp_path / "k.py"
        path.write_text(FUNCTION, encoding="utf-8")
        with pytest.warns(DeprecationWarning), pytest.raises(ValueError, match="no program"):
            parse_program(FUNCTION)
        with pytest.warns(DeprecationWarning), pytest.raises(ObjectCountError):
            loads_program(path)

    def test_python_errors_are_syntax_errors(self) -> None:
        with pytest.raises(SyntaxError) as caught:
            parse("def f(:\n", "k.py")
        assert (caught.value.filename, caught.value.lineno, caught.value.offset) == ("k.py", 1, 7)
        assert isinstance(caught.value, ParserSyntaxError)

    def test_the_collector_is_left_as_it_was(self) -> None:
        assert gc.isenabled()
        parse(FUNCTION)
        assert gc.isenabled()
        with pytest.raises(ParserError):
            parse("x = (")
        assert gc.isenabled()

    @pytest.mark.parametrize("text", ["x = '\0'", "\ud800", "\0", "x = " + "9" * 5000, "(" * 300, "é = \x0c(", "\tx\n  y"])
    def test_odd_text_gives_an_error_with_a_place(self, text: str) -> None:
        with pytest.raises(ParserError) as caught:
            parse(text)
        assert caught.value.span["line"] >= 1

    def test_prefixes_come_from_imports(self) -> None:
        text = (
            "from pypto import language as dsl\nfrom pypto.language import distributed as dist, Scalar, INDEX\n"
            "from pypto.language import tile as tl\n"
            "@dsl.function\ndef f(n: Scalar[INDEX], c: dist.CommCtx, x: dsl.Tensor[[8, 8], dsl.FP32]):\n"
            "    t = tl.load(x, [0, 0], [8, 8])\n    return dsl.min(n, 3)\n"
        )
        function = parse(text)
        assert isinstance(function.params[1].type, ir.CommCtxType)
        assert statements(function)[0].value.op.name == "tile.load"

    def test_functions_that_stand_alone_may_call_by_name_when_printed(self) -> None:
        text = FUNCTION.replace("return n", "y: pl.Scalar[pl.INT32] = other(n, attrs={'a': 1}, kwargs={'b': 2})\n    return y")
        function = parse("# pypto.function: f\n" + text)
        call = statements(function)[0].value
        assert call.op.name == "other" and call.attrs == {"a": 1} and call.kwargs == {"b": 2}
        assert_reads_back(function)
        with pytest.raises(ParserError, match="no function 'other'"):
            parse(text)


class TestPlaces:
    """Where errors point."""

    def test_source_map(self) -> None:
        with pytest.raises(ParserError) as caught:
            parse(FUNCTION.replace("return n", "return m"), "made.py", {3: ("user.py", 40, 9)})
        assert (caught.value.span["filename"], caught.value.span["line"], caught.value.span["column"]) == ("user.py", 40, 9)

    def test_the_text_shows_line_caret_and_help(self) -> None:
        with pytest.raises(InvalidOperationError) as caught:
            kernel("t = pl.load(x, [0, 0], [8, 8])\nh = pl.cast(t, pl.FP16)\ny = pl.sin(h)")
        shown = str(caught.value).split("\n")
        assert shown[0].startswith("error[type-mismatch]: tile.sin")
        assert " --> <string>:5:16" in shown[1]
        assert shown[3] == "5 |     y = pl.sin(h)"
        assert shown[4].startswith("  |                ^ ") and "FP16 tile [8, 8]" in shown[4]
        assert "= help:" in shown[-1]

    def test_the_first_assignment_is_shown(self) -> None:
        with pytest.raises(SSAViolationError) as caught:
            parse("@pl.function(strict_ssa=True)\ndef f(n: pl.Scalar[pl.INDEX]):\n    y = n\n    y = n\n")
        assert caught.value.previous_span["line"] == 3
        assert "<string>:3:5: first assigned here" in str(caught.value)

    def test_spans_are_characters(self) -> None:
        function = parse(
            "@pl.function\ndef f(α: pl.Scalar[pl.INDEX]):\n    β = 'é' 'x'; γ = α + 1\n".replace("β = 'é' 'x'; ", "β = α; ")
        )
        span = statements(function)[1].value.span
        assert (span.begin_line, span.begin_column, span.end_column) == (3, 16, 21)

    def test_line_ends_of_every_kind(self) -> None:
        for end in ("\n", "\r\n", "\r"):
            with pytest.raises(ParserError) as caught:
                parse(
                    f"@pl.function{end}def f(n: pl.Scalar[pl.INDEX]):{end}    x = '\x0b'{end}    return m{end}".replace(
                        "x = '\x0b'", "y = n"
                    )
                )
            assert caught.value.span["line"] == 4


COMMENTED = '''
@pl.function
def f(n: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.BOOL]):  # of the signature
    """Doc,
    two lines."""
    # above y
    y = n  # beside y
    #no space
    z = (
        y  # inside z
        + 1
    )
    """Said of the loop."""
    for i in pl.range(4):  # beside the loop
        # above w
        w = i
        # at the end of the loop
    # above the if
    if b:
        w = 1
        # at the end of then
    # above else
    else:  # beside else
        # above the other
        w = 2
    # at the end
    # of it
# outside
'''


class TestComments:
    """Comments go with the statements they belong to."""

    def test_each_finds_its_statement(self) -> None:
        function = parse(COMMENTED)
        y, z, loop, branch = statements(function)
        assert y.leading_comments == ["of the signature", "Doc,", "two lines.", "above y", "beside y"]
        assert z.leading_comments == ["no space", "inside z"]
        assert loop.leading_comments == ["Said of the loop.", "beside the loop"]
        assert loop.body.leading_comments == ["above w"]
        assert loop.body.trailing_comments == ["at the end of the loop"]
        assert branch.leading_comments == ["above the if"]
        assert branch.then_body.trailing_comments == ["at the end of then"]
        assert branch.else_body.leading_comments == ["above else", "beside else", "above the other"]
        assert function.body.trailing_comments == ["at the end", "of it"]

    def test_they_read_back(self) -> None:
        function = parse(COMMENTED)
        again = parse(function.as_python())
        assert structural_equal(function, again, strict=True)

    def test_a_body_of_comments(self) -> None:
        function = parse("@pl.function\ndef f(n: pl.Scalar[pl.INDEX]):\n    # one\n    pass  # two\n    # three\n")
        assert function.body.trailing_comments == ["one", "two", "three"]
        assert_reads_back(function)

    def test_methods_keep_their_own(self) -> None:
        program = parse(
            "@pl.program\nclass P:\n    # of the class\n    @pl.function\n    def f(self, n: pl.Scalar[pl.INDEX]):\n"
            "        return n\n        # end of f\n    # between\n    @pl.function\n    def g(self, n: pl.Scalar[pl.INDEX]):\n"
            "        # of g\n        return n\n"
        )
        assert program["f"].body.trailing_comments == ["end of f"]
        assert program["g"].body.leading_comments == ["of g"]

    @pytest.mark.parametrize(
        "text",
        [
            "x = 1  # a\n# b\ny = '#no'  # c\n",
            "x = '''# no\n# no''' # yes\ny = \"\\\"# no\" # yes\n",
            "x = r'\\' # yes'\n",
            "x = f'{1}#no' # yes\n",
            "#\n  #  two \n",
            '"""doc # no"""\n# yes',
        ],
    )
    def test_they_are_those_of_the_tokenizer(self, text: str) -> None:
        wanted = {}
        try:
            for token in tokenize.generate_tokens(StringIO(text).readline):
                if token.type == tokenize.COMMENT:
                    wanted[token.start[0]] = token.string[1:].removeprefix(" ").rstrip()
        except tokenize.TokenError:
            pass
        assert {line: c.text for line, c in find_comments(text).items()} == wanted


class TestLongChains:
    """Chains on which Python's own parser overflows."""

    CHAINS = (
        " + ".join(["n"] * 5000),
        " * ".join(["(n - 1)"] * 4000) + " + n",
        "n << 2 | " + " - ".join(["n * 2 % 3"] * 4000) + " & n",
        "pl.min(n, " + " + ".join(["n"] * 4000) + ") - (" + " - ".join(["n"] * 4000) + ")",
    )

    @pytest.mark.parametrize("chain", CHAINS, ids=range(len(CHAINS)))
    def test_they_are_read(self, chain: str) -> None:
        text = textwrap.dedent(
            """
            @pl.function
            def f(n: pl.Scalar[pl.INDEX]):
                α = n; y = {}  # 中
                return missing
            """
        )
        with pytest.raises(RecursionError):
            ast.parse(text.format(chain))
        with pytest.raises(ParserError, match="missing") as caught:
            parse(text.format(chain))
        assert (caught.value.span["line"], caught.value.span["column"]) == (5, 12)

    def test_the_tree_is_the_one_of_python(self, monkeypatch: pytest.MonkeyPatch) -> None:
        terms = ["a", "b * c", "f(a + 1, [d - e])", "-g", "h ** -2", "(i << 1)"]
        chain = " + ".join(terms * 120) + " - " + " - ".join(terms * 3)
        text = f"α = 1; y = {chain} < 3  # c\nq = (\n  {chain.replace(' - ', chr(10) + ' - ')}\n)\n"
        wanted = ast.parse(text)
        calls = iter([RecursionError()])
        honest = ast.parse

        def once(*args: Any, **kwargs: Any) -> Any:
            for error in calls:
                raise error
            return honest(*args, **kwargs)

        monkeypatch.setattr(ast, "parse", once)
        found = parse_with_long_chains(text, "t.py")
        assert found is not None
        left, right = (ast.dump(t, include_attributes=False) for t in (found, wanted))
        assert left == right
        first, second = found.body[1], wanted.body[1]
        assert ast.dump(first, include_attributes=True) == ast.dump(second, include_attributes=True)

    def test_a_hundred_thousand_terms(self) -> None:
        value = statements(kernel("y = " + " + ".join(["n"] * 100_000)))[0].value
        count = 1
        while isinstance(value, ir.Add):
            value = value.left
            count += 1
        assert count == 100_000


def test_source_files_convert_columns() -> None:
    source = SourceFile("s.py", "é = ü + x\n")
    name = source.tree.body[0].value.right  # type: ignore[attr-defined]
    assert (name.col_offset, source.span(name).begin_column) == (10, 10 - 2 + 1)
    assert source.key(name) == "x"
