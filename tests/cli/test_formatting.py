"""``pypto fmt``: kernels get printed layout, everything else stays; printer and black are the oracles."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from textwrap import dedent, indent

import black
import pytest
from click.testing import CliRunner
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pypto.language as pl
from pypto.cli.commands import cli
from pypto.cli.formatting import FormatError, format_text, read_text
from pypto.cli.loading import load
from pypto.ir.equality import assert_structural_equal
from pypto.printer import python_print
from pypto.testing.generation import FunctionAuthor, RunnableAuthor

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
HEAD = "import pypto.language as pl\n\n\n"


def kernel(body: str, head: str = "def f(x, n):") -> str:
    return f"{HEAD}@pl.function\n{head}\n{indent(dedent(body).strip(), '    ')}\n"


def body_of(text: str) -> str:
    return dedent(text.partition("):\n")[2]).rstrip("\n")


def formatted(text: str, width: int = 100) -> str:
    made = format_text(text, "here.py", width)
    assert format_text(made.after, "here.py", width).after == made.after
    assert ast.dump(ast.parse(text)) == ast.dump(ast.parse(made.after))
    return made.after


# -- against the printer and black ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("author", [FunctionAuthor, RunnableAuthor])
@given(random=st.randoms(use_true_random=False))
@settings(max_examples=12, deadline=None, derandomize=True)
def test_a_printed_program_is_laid_out_as_printing_does(author: type[FunctionAuthor], random: object) -> None:
    program = author(random).program(6)  # type: ignore[arg-type]
    texts = {width: python_print(program, line_length=width) for width in (200, 100, 50)}
    texts[0] = python_print(program, format=False)
    assume("# fmt:" not in texts[0])

    def kernels(text: str) -> str:
        return text[text.index("@pl.program") :].rstrip("\n")

    for width in (200, 100, 50):
        for text in texts.values():
            assert kernels(format_text(text, line_length=width).after) == kernels(texts[width])


MESSY = """
@pl.function( type = pl.FunctionType.InCore )
def f( x:pl.Tensor[ [64,64],pl.FP32 ], n : pl.Scalar[pl.INDEX] , out:pl.Out[pl.Tensor[[64,64],pl.FP32]], ) -> (pl.Tensor[[64,64],pl.FP32]) :
    a = pl.load(x,[0,0],[64,64],) ; b=a

    c:pl.Tile[[64,64],pl.FP32] = (pl.add(a,b))


    for i , (s,) in pl.range(0,n*2,1,init_values=(a,)) :
        if (i>3 and not i==4) or n<2 : t=s
        elif i<2:
            t = -s
        else :
            t=pl.mul( s , -0.5 )
        r = pl.yield_( t )
    for (p, q) in pl.while_(init_values=(n,n,)):
        pl.cond(p<q)
        p2, q2 = pl.yield_(p+1 , q-1)
    while ( n<3 ):
        break
    with pl.at( level=pl.Level.CORE_GROUP ,optimizations=[pl.split(pl.SplitMode.UP_DOWN),] ) as tid :
        k = n**2 + n ** 2 ** (n+1) ; m = ~n & 3 | (n^1) << 2
    v = x[0:16 , n:n+16]; w = x[n, :] ; out[ n:n+1 , ... ] = w
    y, t0 = pl.submit(self.k, x, deps=[t[0], t[n+1],])
    (g, h), t1 = pl.submit(self.k2, x, )
    d = pl.cast(x, 'round', mode = 'rint', attrs={'a':1,'b':[1,2,],})
    pl.static_print( "x", 'say "hi"', 'its' )
    z = pl.const(1, pl.FP32) + pl.const(2, pl.FP32) - pl.const(3, pl.FP32) * pl.const(4, pl.FP32) / (pl.const(5, pl.FP32))
    one = (n,)
    return out , r


@pl.inline
def helper(a): return a


@pl.program
class P :

    @pl.function
    def g ( self, n: pl.Scalar[pl.INDEX] ) :
        pass
    @pl.function(level=pl.Level.HOST, role=pl.Role.SubWorker)
    def h(self, x: pl.Tensor[[M], pl.FP32]):
        ...
"""


@pytest.mark.parametrize("width", [200, 120, 100, 88, 60, 40])
def test_black_lays_the_kernels_out_the_same(width: int) -> None:
    # a comma before a closing bracket is layout here, so black must not take it for a wish
    once = black.format_str(MESSY, mode=black.Mode(line_length=width, magic_trailing_comma=False))
    wanted = black.format_str(once, mode=black.Mode(line_length=width))
    found = formatted("\n".join(MESSY.strip().splitlines()) + "\n", width)
    # blank lines around the decorators at the top level are no part of the kernels
    assert found == wanted.replace("class P:\n\n    @", "class P:\n    @")


@pytest.mark.parametrize("path", EXAMPLES, ids=[p.stem for p in EXAMPLES])
@pytest.mark.parametrize("width", [88, 200])
def test_examples_mean_the_same(path: Path, width: int, tmp_path: Path) -> None:
    text, _ = read_text(path)
    made = format_text(text, str(path), width)
    assert not made.left_alone
    copy = tmp_path / f"formatted_{path.stem}_{width}.py"
    copy.write_text(formatted(text, width), encoding="utf-8")
    if path.stem.startswith("composite"):
        return  # it declares an operator, which can be done once
    before, after = load(path).programs, load(copy).programs
    assert [*before] == [*after]
    for name, program in before.items():
        assert_structural_equal(program, after[name], strict=True)


# -- comments ----------------------------------------------------------------------------------------------------------------

COMMENTS = {
    "above and behind": (
        """
        #first
        #  second
        a=n   #third
        b = n # fourth
        """,
        """
        # first
        #  second
        a = n  # third
        b = n  # fourth
        """,
    ),
    "behind what gets broken": (
        """
        # one
        a = pl.add(pl.add(pl.add(x, x), pl.add(x, x)), pl.add(x, pl.add(x, x)))  # two
        """,
        """
        # one
        # two
        a = pl.add(
            pl.add(pl.add(x, x), pl.add(x, x)),
            pl.add(x, pl.add(x, x)),
        )
        """,
    ),
    "too long behind": (
        "a = n  # this is a comment that is too long to stand behind anything",
        """
        # this is a comment that is too long to stand behind anything
        a = n
        """,
    ),
    "around branches": (
        """
        if n<3:  # small
            # why

            a = n
            # end of branch
        # before else
        else:  # large

            a = n+1

        # after
        # really
        b = a
        # the end
        """,
        """
        if n < 3:  # small
            # why

            a = n
            # end of branch
        # before else
        else:  # large
            a = n + 1

        # after
        # really
        b = a
        # the end
        """,
    ),
    "at the end of nested blocks": (
        """
        for i in pl.range(n):
            if i<3:
                a = i
                # inner
              # odd
            # outer
        # last
        """,
        """
        for i in pl.range(n):
            if i < 3:
                a = i
                # inner
            # odd
            # outer
        # last
        """,
    ),
}


@pytest.mark.parametrize("name", COMMENTS)
def test_comments_stay_with_what_they_are_about(name: str) -> None:
    before, after = COMMENTS[name]
    assert body_of(formatted(kernel(before), 64)) == dedent(after).strip()


@pytest.mark.parametrize("name", [n for n in COMMENTS if n != "behind what gets broken"])
def test_comments_are_read_the_same(name: str) -> None:
    text = kernel(COMMENTS[name][0], "def f(n: pl.Scalar[pl.INDEX]):")
    assert_structural_equal(pl.parse(text), pl.parse(formatted(text, 64)), strict=True)


# -- what stays as it is -----------------------------------------------------------------------------------------------------

KEPT = [
    "a = pl.add(\n    x,  # left\n    n,\n)",
    "a = [i for i in pl.something(n)  if  i]  + [\n    1]",
    'pl.static_print("""two\nlines"""  , n)',
    "a = (lambda  q :  q)(\n  n)",
    "a  +=  n",
    'a = ("one"\n     "two")',
    "try :\n    a  =  1\nfinally :\n    pass",
]


@pytest.mark.parametrize("statement", KEPT)
def test_a_statement_that_cannot_be_laid_out_stays(statement: str) -> None:
    text = kernel(f"b=n\n{statement}\nc=n")
    assert body_of(formatted(text)) == f"b = n\n{statement}\nc = n"


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ("# fmt: off\na=n", "a comment asks for it"),
        ("\ta=n", "it is indented with tabs"),
        ("if n:\n  a  +=  n", "it has statements that only keep their layout at another indent"),
        ("a=n; a  +=  n", "it has several statements on a line"),
    ],
)
def test_a_kernel_that_cannot_be_laid_out_stays(body: str, why: str) -> None:
    text = f"{HEAD}@pl.function\ndef f(n):\n{indent(body, '    ') if body[0] != chr(9) else body}\n"
    made = format_text(text + "\n\n" + kernel("a=n"))
    assert made.left_alone == [(4, why)]
    assert made.after.startswith(text)
    assert made.after.endswith("    a = n\n")


def test_doc_strings_and_single_quotes() -> None:
    text = kernel("'''Two\n  lines.'''\na = pl.f('x', 'say \"x\"', r'\\d', '\\n', f'{n}', b'c')")
    assert body_of(formatted(text)) == "'''Two\n  lines.'''\na = pl.f(\"x\", 'say \"x\"', r'\\d', '\\n', f'{n}', b\"c\")"


# -- around kernels ------------------------------------------------------------------------------------------------------------

AROUND = """\
# -*- coding: {encoding} -*-
'''Doc.'''
from pypto import language as k
from pypto.language import function, program as prog
import  os
x = {{  'a':1 }}   # caf\u00e9


class  Plain :
    def  f( self ) : return  1
    @k.function
    def g(self , n):
        return( n )
  # odd
    y  =  3
def  make( ):
        z  =  1
        @function( level = k.Level.HOST )
        def f( n ) :
              a  =  n
              return  a   # caf\u00e9
        return  f
@ os.x
@k.jit . inline
def h( n ) :
    return n
@other.function
def  i( n ) :  return   n
@prog
class  Q:
    SIZE  =  3

    @function
    def a(self) : pass
    @function

    # about b
    def b(self) :
        pass
    LAST=4"""


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_surrounding_python_is_untouched_byte_for_byte(newline: str, encoding: str, tmp_path: Path) -> None:
    text = AROUND.format(encoding=encoding.removesuffix("-sig")).replace("\n", newline)
    path = tmp_path / "around.py"
    path.write_bytes(text.encode(encoding))
    ran = CliRunner().invoke(cli, ["fmt", str(path)])
    assert ran.exit_code == 0, ran.output
    wanted = text
    for before, after in (
        ("    def g(self , n):\n        return( n )\n", "    def g(self, n):\n        return n\n"),
        (
            "        @function( level = k.Level.HOST )\n        def f( n ) :\n              a  =  n\n              return  a   # caf\u00e9\n",
            "        @function(level=k.Level.HOST)\n        def f(n):\n            a = n\n            return a  # caf\u00e9\n",
        ),
        ("@ os.x\n@k.jit . inline\ndef h( n ) :\n", "@os.x\n@k.jit.inline\ndef h(n):\n"),
        (
            AROUND[AROUND.index("class  Q") :],
            "class Q:\n    SIZE = 3\n\n    @function\n    def a(self):\n        pass\n\n    @function\n    # about b\n"
            "    def b(self):\n        pass\n\n    LAST = 4",
        ),
    ):
        assert wanted.count(before.replace("\n", newline)) == 1
        wanted = wanted.replace(before.replace("\n", newline), after.replace("\n", newline))
    assert path.read_bytes().decode(encoding) == wanted


# -- the command ---------------------------------------------------------------------------------------------------------------


def test_check_lists_what_would_change_and_writes_nothing(tmp_path: Path) -> None:
    done, todo = tmp_path / "done.py", tmp_path / "todo.py"
    done.write_text(kernel("a = n"), encoding="utf-8")
    todo.write_text(kernel("a=n"), encoding="utf-8")
    ran = CliRunner().invoke(cli, ["fmt", "--check", str(tmp_path)])
    assert ran.exit_code == 1
    assert f"would format  {todo}\n" in ran.output
    assert str(done) not in ran.output
    assert "1 file to format, 1 file left as it is" in ran.output
    assert todo.read_text(encoding="utf-8") == kernel("a=n")
    assert CliRunner().invoke(cli, ["fmt", str(done), str(todo)]).exit_code == 0
    assert todo.read_text(encoding="utf-8") == kernel("a = n")
    assert CliRunner().invoke(cli, ["fmt", "--check", str(tmp_path)]).exit_code == 0


def test_diff_shows_what_would_change(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text(kernel("a=n"), encoding="utf-8")
    ran = CliRunner().invoke(cli, ["fmt", "--diff", str(path)])
    assert ran.exit_code == 0
    assert "-    a=n\n+    a = n\n" in ran.output
    assert path.read_text(encoding="utf-8") == kernel("a=n")


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\n", "\0", "if 1:\nx\n", "(" * 300])
def test_a_file_that_is_no_python_is_an_error_with_its_place(text: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is not valid Python") as caught:
        format_text(text, "bad.py")
    assert caught.value.span["filename"] == "bad.py"
    path, other = tmp_path / "bad.py", tmp_path / "good.py"
    path.write_text(text, encoding="utf-8")
    other.write_text(kernel("a=n"), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "pypto.cli", "fmt", str(path), str(other)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 1
    assert "error[format]" in ran.stderr
    assert other.read_text(encoding="utf-8") == kernel("a = n")


def test_an_unknown_encoding_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_bytes(b"# coding: nonsense\n")
    with pytest.raises(FormatError, match="cannot be read as text"):
        read_text(path)


@pytest.mark.fuzz
@given(random=st.randoms(use_true_random=True), width=st.integers(20, 200))
@settings(max_examples=2000, deadline=None)
def test_printed_programs_at_any_width(random: object, width: int) -> None:
    program = FunctionAuthor(random).program(8)  # type: ignore[arg-type]
    text = python_print(program, line_length=width)
    assume("# fmt:" not in text)
    assert format_text(python_print(program), line_length=width).after.endswith(text[text.index("@pl.program") :])
