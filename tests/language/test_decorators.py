"""Decorated functions and classes: source is found, closures are seen, and the IR is that of the same text."""

from __future__ import annotations

import functools
import inspect

import pytest

import pypto.language as pl
from pypto import ir
from pypto.language.control import NotExecutableError
from pypto.ops.vocabulary import all_paths, lookup
from pypto.parser.errors import ParserError

STEP = 1
ROWS = 16


def constant_of(function: ir.Function) -> object:
    return next(n.value for n in ir.walk(function.body) if isinstance(n, ir.ConstInt))


def make_inner(level: int) -> ir.Function:
    """The nearest binding of STEP counts: innermost local, then the enclosing one, then the module's."""
    if level == 2:

        def make() -> ir.Function:
            STEP = 4

            def inner() -> ir.Function:
                STEP = 7

                @pl.function
                def f(x: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
                    return x + STEP

                return f

            assert STEP == 4
            return inner()
    elif level == 1:

        def make() -> ir.Function:
            STEP = 4

            def inner() -> ir.Function:
                @pl.function
                def f(x: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
                    return x + STEP

                return f

            return inner()
    else:

        def make() -> ir.Function:
            @pl.function
            def f(x: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
                return x + STEP

            return f

    return make()


@pytest.mark.parametrize(("level", "expected"), [(2, 7), (1, 4), (0, 1)])
def test_nearest_binding_counts(level: int, expected: int) -> None:
    assert constant_of(make_inner(level)) == expected


def test_annotation_only_name_of_an_enclosing_function() -> None:
    def make(width: int) -> ir.Function:
        @pl.function
        def f(x: pl.Tensor[[ROWS, width], pl.FP32]) -> pl.Tensor[[ROWS, width], pl.FP32]:
            return pl.add(x, x)

        return f

    assert [d.value for d in make(24).params[0].type.shape] == [16, 24]


def tag(**options: object):
    def decorate(f: object) -> object:
        return f

    return decorate


def test_stacked_decorator_with_odd_arguments() -> None:
    @tag(pick=lambda a: (a["n"] % 4) == 0, other={"k": (1, (2, 3))})
    @pl.function
    def scale(x: pl.Tensor[[16, 16], pl.FP32]) -> pl.Tensor[[16, 16], pl.FP32]:
        return pl.mul(x, 2.0)

    @pl.function
    def plain(x: pl.Tensor[[16, 16], pl.FP32]) -> pl.Tensor[[16, 16], pl.FP32]:
        return pl.mul(x, 2.0)

    assert ir.structural_equal(scale, plain)
    lines, first = inspect.getsourcelines(test_stacked_decorator_with_odd_arguments)
    assert scale.span.begin_line == first + next(i for i, line in enumerate(lines) if "def scale" in line)


def test_quoted_annotation() -> None:
    @pl.function
    def quoted(x: "pl.Tensor[[ROWS, 16], pl.BF16]") -> "pl.Tensor[[ROWS, 16], pl.BF16]":  # noqa: UP037
        return pl.add(x, x)

    @pl.function
    def plain(x: pl.Tensor[[ROWS, 16], pl.BF16]) -> pl.Tensor[[ROWS, 16], pl.BF16]:
        return pl.add(x, x)

    assert ir.structural_equal(quoted, plain)


def test_source_that_does_not_exist() -> None:
    text = """
@pl.function
def twice(x: pl.Tensor[[8, 8], pl.FP32]) -> pl.Tensor[[8, 8], pl.FP32]:
    return pl.add(x, x)
"""
    with pytest.raises(ParserError, match=r"pl\.parse"):
        exec(text, {"pl": pl})


def test_program_equals_its_text() -> None:
    @pl.program
    class P:
        @pl.function
        def g(self, a: pl.Scalar[pl.INDEX], b: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
            return a + b * STEP

        @pl.function
        def f(self, x: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
            y = self.g(x, 2)
            return y

        def helper(self) -> int:
            return 3

    assert sorted(f.name for f in P.functions.values()) == ["f", "g"]
    assert ir.structural_equal(P, pl.parse(P.as_python()))


def test_two_classes_of_one_name() -> None:
    def make(first: bool) -> ir.Program:
        if first:

            @pl.program
            class P:
                @pl.function
                def f(self, x: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
                    return x + 1
        else:

            @pl.program
            class P:
                @pl.function
                def f(self, x: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
                    return x + 2

        return P

    assert constant_of(make(True)["f"]) == 1
    assert constant_of(make(False)["f"]) == 2


def test_misplaced_decorators() -> None:
    with pytest.raises(ParserError, match="def statement"):
        pl.function(functools.partial(print))
    with pytest.raises(ParserError, match="class"):
        pl.program(print)
    with pytest.raises(ParserError, match=r"(?i)function"):

        @pl.program
        class Empty:
            pass


def test_constructs_are_not_executable() -> None:
    with pytest.raises(NotExecutableError, match="never called"):
        pl.range(4)
    with pytest.raises(NotExecutableError, match="decorated"):
        pl.add(1.0, 2.0)


def test_operators_build_calls_from_ir_values() -> None:
    x = ir.Var("x", ir.TileType([8, 8], ir.FP32, memory_space=ir.MemorySpace.Vec))
    made = pl.tile.add(pl.Tile(expr=x), pl.Tile(expr=x))
    assert isinstance(made, pl.Tile)
    assert made.expr.op.name == "tile.add"
    assert made.expr.args[0] is x


def test_every_operator_is_an_attribute_with_its_signature() -> None:
    for path in all_paths():
        entry = lookup(path)
        if path.startswith("pld.") or getattr(entry, "internal_only", False):
            continue
        found = functools.reduce(getattr, path.split("."), pl)
        assert inspect.signature(found) == entry.signature, path


def test_unknown_names_suggest_the_nearest() -> None:
    with pytest.raises(AttributeError, match="pipeline"):
        _ = pl.piepline
    with pytest.raises(AttributeError, match="'load'"):
        _ = pl.tile.laod


def test_older_module_names() -> None:
    from pypto.ir.printer import python_print as old_print  # pyright: ignore[reportMissingImports]
    from pypto.language.parser.diagnostics import ErrorRenderer, ParserTypeError  # pyright: ignore[reportMissingImports]
    from pypto.pypto_core import ir as old_ir  # pyright: ignore[reportMissingImports]
    from pypto.pypto_core import passes as old_passes  # pyright: ignore[reportMissingImports]

    assert old_ir.Var is ir.Var
    assert old_passes.convert_to_ssa().get_name() == "ConvertToSSA"
    assert old_print is ir.python_print
    assert issubclass(ParserTypeError, ParserError)
    assert "wrong" in ErrorRenderer(use_color=False).render(ParserTypeError("wrong"))
