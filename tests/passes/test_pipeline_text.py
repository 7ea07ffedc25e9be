"""Pipelines as text, the registry of passes, and plugins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest

import pypto.passes.registry as registry
from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.passes import PipelineTextError, parse_pipeline


class Colour(Enum):
    red = 1
    blue = 2


@dataclass(frozen=True)
class ManyOptions(passes.Pass):
    """Has an option of every kind."""

    mode: Literal["slow", "fast"] = "slow"
    count: int = 1
    scale: float = 1.0
    on: bool = False
    name: str = "plain"
    colour: Colour = Colour.red
    limit: int | None = None
    sizes: tuple[int, ...] = ()

    def transform(self, program: ir.Program) -> ir.Program:
        return program


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    passes.register_pass(ManyOptions)
    yield
    passes.unregister_pass("many_options")


def test_names_in_both_spellings() -> None:
    for text in ("convert_to_ssa,flatten_call_expr", " ConvertToSSA , FlattenCallExpr, "):
        pipeline = parse_pipeline(text)
        assert pipeline.get_pass_names() == ["ConvertToSSA", "FlattenCallExpr"]
        assert str(pipeline) == "convert_to_ssa,flatten_call_expr"
    assert parse_pipeline("").get_passes() == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("many_options", {}),
        ("many_options()", {}),
        ("many_options(mode=fast)", {"mode": "fast"}),
        ("many_options(count=-3, scale=2)", {"count": -3, "scale": 2.0}),
        ("many_options(scale=1.5e-3)", {"scale": 1.5e-3}),
        ("many_options(on=true)", {"on": True}),
        ("many_options(name='with, comma')", {"name": "with, comma"}),
        ('many_options(name="quote\\" here")', {"name": 'quote" here'}),
        ("many_options(colour=BLUE)", {"colour": Colour.blue}),
        ("many_options(limit=4)", {"limit": 4}),
        ("many_options(limit=none)", {}),
        ("many_options(sizes=[1, 2,])", {"sizes": (1, 2)}),
        ("many_options(name=none_of_it,  # why\n count=2)", {"name": "none_of_it", "count": 2}),
    ],
)
def test_options_are_read_and_written(text: str, expected: dict[str, Any]) -> None:
    (made,) = parse_pipeline(text).get_passes()
    assert made == ManyOptions(**expected)
    again = str(parse_pipeline(text))
    assert parse_pipeline(again).get_passes() == [made]
    assert str(parse_pipeline(again)) == again


@pytest.mark.parametrize(
    ("text", "column", "words", "hint"),
    [
        ("convert_to_sa", 1, "there is no pass 'convert_to_sa'", "'convert_to_ssa'"),
        ("convert_to_ssa, memory_reuse", 17, "'MemoryReuse' is known but not built here", None),
        ("many_options(moed=fast)", 14, "no option 'moed'", "did you mean 'mode'?"),
        ("convert_to_ssa(x=1)", 16, "no option 'x'", "it takes none"),
        ("many_options(zzz=1)", 14, "no option 'zzz'", "its options are mode, count"),
        ("many_options(mode=fst)", 19, "expected one of slow, fast, got 'fst'", "'fast'"),
        ("many_options(count=many)", 20, "expected an integer, got 'many'", None),
        ("many_options(count=1.5)", 20, "expected an integer", None),
        ("many_options(on=1)", 17, "expected true or false", None),
        ("many_options(colour=green)", 21, "expected one of red, blue", None),
        ("many_options(sizes=3)", 20, "expected a list", None),
        ("many_options(count=1, count=2)", 23, "given twice", None),
        ("convert_to_ssa flatten_call_expr", 16, "unexpected 'f'", "commas"),
        ("convert_to_ssa(", 16, "ends too early", None),
        ("convert_to_ssa;", 15, "unexpected ';'", None),
    ],
)
def test_mistakes_have_a_place_and_a_hint(text: str, column: int, words: str, hint: str | None) -> None:
    with pytest.raises(PipelineTextError) as caught:
        parse_pipeline(text)
    error = caught.value
    assert isinstance(error, ValueError)
    assert words in error.message
    assert error.span["column"] == column
    assert error.span["line"] == 1
    if hint is not None:
        assert error.hint is not None
        assert hint in error.hint
    assert "<pipeline>:1:" in str(error)


def test_a_mistake_on_a_later_line() -> None:
    with pytest.raises(PipelineTextError) as caught:
        parse_pipeline("convert_to_ssa,\n  nothing_like_it")
    assert (caught.value.span["line"], caught.value.span["column"]) == (2, 3)
    assert "2 |   nothing_like_it" in str(caught.value)


def test_names_of_passes() -> None:
    cases = {
        "convert_to_ssa": "ConvertToSSA",
        "flatten_tile_nd_to_2d": "FlattenTileNdTo2D",
        "inject_gm_pipe_buffer": "InjectGMPipeBuffer",
        "canonicalize_io_order": "CanonicalizeIOOrder",
        "auto_tile_matmul_l0": "AutoTileMatmulL0",
        "synthesize_allreduce_signals": "SynthesizeAllReduceSignals",
        "simplify": "Simplify",
        "convert_tensor_to_tile_ops": "ConvertTensorToTileOps",
    }
    for snake, camel in cases.items():
        assert passes.camel_name(snake) == passes.camel_name(camel) == camel
        assert passes.snake_name(camel) == passes.snake_name(snake) == snake


def test_factories_are_attributes_of_the_package() -> None:
    from pypto.passes.convert_to_ssa import ConvertToSSA

    assert passes.convert_to_ssa is ConvertToSSA
    assert passes.convert_to_ssa().get_name() == "ConvertToSSA"
    assert "convert_to_ssa" in dir(passes)
    with pytest.raises(AttributeError, match="'MemoryReuse' is known but not built here"):
        _ = passes.memory_reuse
    with pytest.raises(AttributeError, match="did you mean 'convert_to_ssa'"):
        _ = passes.convert_to_ss
    with pytest.raises(InvalidValueError, match="known but not built"):
        passes.get_pass("AllocateMemoryAddr")


def test_one_name_one_pass() -> None:
    assert passes.find_pass("ManyOptions") is ManyOptions
    with pytest.raises(InvalidValueError, match="already registered"):
        passes.register_pass(lambda: ManyOptions(), "many_options")
    assert passes.register_pass(ManyOptions) is ManyOptions


def test_a_factory_may_be_a_function() -> None:
    def twice_as_many(count: int = 1) -> passes.Pass:
        return ManyOptions(count=2 * count)

    passes.register_pass(twice_as_many)
    try:
        assert parse_pipeline("twice_as_many(count=4)").get_passes() == [ManyOptions(count=8)]
        assert "twice_as_many" in passes.pass_names()
    finally:
        passes.unregister_pass("twice_as_many")


def test_plugins_come_through_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    point = EntryPoint("from_outside", "test_pipeline_text:ManyOptions", registry.ENTRY_POINT_GROUP)
    odd = EntryPoint("not_a_pass", "test_pipeline_text:__name__", registry.ENTRY_POINT_GROUP)
    monkeypatch.setattr(registry, "_plugins", lambda: {"from_outside": point, "not_a_pass": odd})
    try:
        assert parse_pipeline("FromOutside(count=3)").get_passes() == [ManyOptions(count=3)]
        assert "from_outside" in passes.pass_names()
        with pytest.raises(TypeError, match="is not a pass factory"):
            passes.find_pass("not_a_pass")
    finally:
        passes.unregister_pass("from_outside")


PLUGIN = """
from dataclasses import dataclass

from pypto.passes import FunctionPass


@dataclass(frozen=True)
class ShoutNames(FunctionPass):
    \"\"\"Rename every function to upper case.\"\"\"

    times: int = 1

    def transform_function(self, function, program):
        return function.replace(name=function.name.upper() * self.times)
"""


def test_an_installed_package_adds_a_pass(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shouting_plugin.py").write_text(PLUGIN)
    info = tmp_path / "shouting_plugin-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting-plugin\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[pypto.passes]\nshout_names = shouting_plugin:ShoutNames\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._plugins.cache_clear()
    try:
        assert "shout_names" in passes.pass_names()
        x = ir.Var("x", ir.ScalarType(ir.DataType.INDEX))
        program = ir.Program([ir.Function("f", [x], [x.type], ir.ReturnStmt([x]))], "P")
        result = parse_pipeline("shout_names(times=2)").get_passes()[0](program)
        assert [f.name for f in result.functions.values()] == ["FF"]
        assert passes.shout_names(times=3).get_options() == {"times": 3}
    finally:
        registry._plugins.cache_clear()
        passes.unregister_pass("shout_names")
