"""From a spelling to an operator: the unified names, their signatures, scalar forms, and the helpers of ``ir.op``."""

from __future__ import annotations

import contextlib
import inspect
from typing import Any

import pytest

from pypto import ir
from pypto.diagnostics import Error, InvalidTypeError, InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.equality import structural_equal
from pypto.ir.expr import Add, Cast, ConstInt, FloatDiv, Max, Min, Mul, Sub, Var
from pypto.ir.op import register_op, unregister_op
from pypto.ir.span import Span
from pypto.ir.types import ScalarType
from pypto.ops.declare import ArityError, Declaration, OperandTypeError, default_facts
from pypto.ops.rules import same_type
from pypto.ops.unified import Unified
from pypto.ops.vocabulary import all_paths, lookup, names, unified_signature
from tests.ops.operands import call, declared, scalar, tensor, tile

FP32, FP16, INT32 = DataType.FP32, DataType.FP16, DataType.INT32

UNIFIED = [
    "add",
    "sub",
    "mul",
    "div",
    "part_add",
    "part_mul",
    "part_max",
    "part_min",
    "fmod",
    "fmods",
    "maximum",
    "minimum",
    "exp",
    "log",
    "sin",
    "cos",
    "neg",
    "abs",
    "recip",
    "sqrt",
    "rsqrt",
    "row_expand",
    "row_expand_add",
    "row_expand_sub",
    "row_expand_mul",
    "row_expand_div",
    "row_expand_max",
    "row_expand_min",
    "row_expand_expdif",
    "col_expand",
    "col_expand_add",
    "col_expand_sub",
    "col_expand_mul",
    "col_expand_div",
    "col_expand_max",
    "col_expand_min",
    "col_expand_expdif",
    "expands",
    "reshape",
    "reinterpret_view",
    "transpose",
    "concat",
    "slice",
    "fillpad",
    "fillpad_expand",
    "matmul",
    "batch_matmul",
    "matmul_acc",
    "row_max",
    "row_sum",
    "row_min",
    "row_prod",
    "row_argmax",
    "row_argmin",
    "col_sum",
    "col_max",
    "col_min",
    "col_prod",
    "col_argmax",
    "col_argmin",
    "cast",
    "cmp",
    "and_",
    "ands",
    "or_",
    "ors",
    "xor",
    "xors",
    "not_",
    "shl",
    "shls",
    "shr",
    "shrs",
    "set_validshape",
    "read",
    "write",
    "assemble",
    "gather_row",
    "scatter_update",
    "sort32",
    "mrgsort",
]
TILE_ONLY = [
    "addc",
    "addsc",
    "cmps",
    "create_tile",
    "gemv",
    "gemv_acc",
    "gemv_bias",
    "load",
    "lrelu",
    "matmul_bias",
    "maximums",
    "minimums",
    "mscatter",
    "prelu",
    "relu",
    "rem",
    "rems",
    "sel",
    "sels",
    "store",
    "subc",
    "subsc",
    "move",
    "tri",
]
TENSOR_ONLY = [
    "arange",
    "create_tensor",
    "dim",
    "expand_clone",
    "full",
    "gather",
    "get_block_idx",
    "get_block_num",
    "get_subblock_idx",
    "random",
    "scatter",
]


def test_the_elementwise_unified_names() -> None:
    for name in UNIFIED:
        entry = lookup(name)
        assert entry is not None, name
        if isinstance(entry, Unified):
            assert {"tensor", "tile"} <= {d.namespace for d in entry.choices.values()} or name == "batch_matmul", name
    for name in TILE_ONLY:
        entry = lookup(name)
        assert isinstance(entry, Declaration), name
        assert entry.namespace == "tile"
    for name in TENSOR_ONLY:
        entry = lookup(name)
        found = entry if isinstance(entry, Declaration) else next(iter(entry.choices.values()))  # type: ignore[union-attr]
        assert found.namespace == "tensor", name


def test_long_names_only() -> None:
    for name in (
        "adds",
        "subs",
        "muls",
        "divs",
        "view",
        "create",
        "ci",
        "alloc",
        "and",
        "not",
        "tile.and",
        "nothing",
        "tile.nothing",
        "",
    ):
        assert lookup(name) is None, name
    for path, name in {
        "tile.and_": "tile.and",
        "tensor.not_": "tensor.not",
        "tile.adds": "tile.adds",
        "tensor.dim": "tensor.dim",
        "load": "tile.load",
        "tile.create_tile": "tile.create",
        "tile.arange": "tile.ci",
        "arange": "tensor.ci",
        "relu": "tile.relu",
    }.items():
        assert lookup(path) is declared(name)


def test_names_for_suggestions() -> None:
    assert {"add", "min", "load", "cast", "and_"} <= set(names(""))
    assert {"adds", "and_", "min", "create_tile"} <= set(names("tile"))
    assert "tile" not in names("")
    assert all("." not in n for n in (*names(""), *names("tile"), *names("tensor")))
    assert names("nothing") == []
    assert "tile.and_" in all_paths()
    assert names("tile") == sorted(names("tile"))


def test_every_spelling_finds_something_with_a_signature_and_a_text() -> None:
    for path in all_paths():
        entry: Any = lookup(path)
        assert isinstance(entry.signature, inspect.Signature)
        assert entry.doc
        assert entry.spelling().startswith(("pl.", "pld."))


SIGNATURES = {
    "add": ["lhs", "rhs"],
    "exp": ["input"],
    "cast": ["input", "target_type", "mode='round'"],
    "cmp": ["lhs", "rhs", "cmp_type=0"],
    "div": ["lhs", "rhs", "high_precision=False"],
    "rsqrt": ["input", "high_precision=False", "tmp=None"],
    "xor": ["lhs", "rhs", "tmp=None"],
    "row_sum": ["input", "tmp_tile=None"],
    "read": ["src", "offset"],
    "write": ["dst", "offset", "value"],
    "matmul": ["lhs", "rhs", "out_dtype=None", "a_trans=False", "b_trans=False", "c_matrix_nz=False"],
    "matmul_acc": ["acc", "lhs", "rhs", "a_trans=False", "b_trans=False", "init_cond=None"],
}


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_unified_signatures(name: str) -> None:
    entry: Any = lookup(name)
    assert [str(p) for p in entry.signature.parameters.values()] == SIGNATURES[name]
    assert [p.name for p in unified_signature(entry)] == [s.partition("=")[0] for s in SIGNATURES[name]]


def _built(name: str, *positional: Any, **named: Any) -> Any:
    entry: Any = lookup(name)
    return entry.build(positional, named) if isinstance(entry, Unified) else entry.build(entry.bind(positional, named))


def test_the_first_operand_decides() -> None:
    for name in ("add", "sub", "mul", "maximum", "minimum", "fmod", "cmp"):
        assert structural_equal(_built(name, T := tensor([4, 8]), T), call(f"tensor.{name}", T, T))
        assert structural_equal(_built(name, X := tile([4, 8]), X), call(f"tile.{name}", X, X))
        assert structural_equal(_built(name, rhs=X, lhs=X), call(f"tile.{name}", X, X))
    for name in ("exp", "sin", "abs", "sqrt", "neg", "log"):
        assert _built(name, tensor([4])).op.name == f"tensor.{name}"
        assert _built(name, input=tile([4])).op.name == f"tile.{name}"
        entry: Any = lookup(name)
        assert entry.select(tile([4]).type) is declared(f"tile.{name}")
        assert entry.select(tensor([4]).type) is declared(f"tensor.{name}")
    assert _built("add", tile([4]), 1).op.name == "tile.adds"
    assert _built("and_", tile([4], INT32), tile([4], INT32)).op.name == "tile.and"


def test_scalars_have_forms_of_their_own() -> None:
    i, f = scalar("i"), Var("f", ScalarType(FP32))
    for name, node in (("add", Add), ("sub", Sub), ("mul", Mul), ("div", FloatDiv)):
        assert type(_built(name, i, 1)) is node
        assert type(_built(name, rhs=f, lhs=f)) is node
    for name, node in (("min", Min), ("max", Max), ("tile.min", Min), ("tile.max", Max)):
        assert type(_built(name, i, 7)) is node
    made = _built("cast", i, FP32)
    assert type(made) is Cast
    assert made.type is ScalarType(FP32)
    assert type(_built("cast", input=i, target_type=INT32, mode="round")) is Cast
    with pytest.raises(InvalidValueError, match="no rounding mode"):
        _built("cast", i, INT32, "floor")
    with pytest.raises(InvalidTypeError):
        _built("add", i, f)
    with pytest.raises(ArityError, match=r"pl\.min needs 'lhs'"):
        _built("min")
    with pytest.raises(OperandTypeError, match=r"pl\.min takes a Scalar as 'lhs', got FP32 tile"):
        _built("min", tile([4]), tile([4]))


REFUSED: list[tuple[str, list[Any], dict[str, Any], str]] = [
    ("sin", [scalar()], {}, "pl.sin takes a Tensor or Tile as 'input', got INDEX scalar"),
    ("maximum", [scalar(), 1], {}, "pl.maximum takes a Tensor or Tile"),
    ("add", [tile([4]), tensor([4])], {}, "Tile or Scalar as 'rhs', got FP32 tensor"),
    ("add", [tensor([4]), tile([4])], {}, "Tensor or Scalar as 'rhs', got FP32 tile"),
    ("add", [scalar(), tile([4])], {}, "takes a Scalar as 'rhs', got FP32 tile"),
    ("add", [], {}, "pl.add needs 'lhs'"),
    ("add", [tile([4])], {}, "needs 'rhs'"),
    ("add", [tile([4])] * 3, {}, "pl.add takes at most 2 positional arguments, got 3"),
    ("add", [tile([4])], {"lhs": tile([4])}, "pl.add got 'lhs' twice"),
    ("add", [tile([4])], {"rsh": tile([4])}, "pl.add has no parameter 'rsh'"),
    ("add", ["text", 1], {}, "pl.add takes a Tensor or Tile as 'lhs', got 'text'"),
    ("div", [tile([4]), 2.0, True], {}, "takes no 'high_precision'"),
    ("rsqrt", [tile([4]), True], {}, "pl.rsqrt on a Tile takes no 'high_precision'"),
    ("rsqrt", [tensor([4])], {"tmp": tile([4])}, "pl.rsqrt on a Tensor takes no 'tmp'"),
    ("xor", [tensor([4], INT32), tensor([4], INT32), tile([4], INT32)], {}, "pl.xor on a Tensor takes no 'tmp'"),
    ("xor", [tile([4], INT32), tile([4], INT32)], {}, "needs 'tmp'"),
    ("row_sum", [tensor([4, 8]), tile([4, 8])], {}, "pl.row_sum on a Tensor takes no 'tmp_tile'"),
    ("row_sum", [tile([4, 8])], {}, "needs 'tmp_tile'"),
    ("matmul", [tile([16, 16], FP16), tile([16, 16], FP16)], {"a_trans": True}, "pl.matmul on a Tile takes no 'a_trans'"),
    ("matmul", [tile([16, 16], FP16), tile([16, 16], FP16), FP16], {}, "gives FP32, so 'out_dtype' cannot be FP16"),
]


@pytest.mark.parametrize(("name", "operands", "keywords", "words"), REFUSED)
def test_refusals(name: str, operands: list[Any], keywords: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words) as caught:
        _built(name, *operands, **keywords)
    assert isinstance(caught.value, Error)


def test_hints() -> None:
    with pytest.raises(Error) as caught:
        _built("sin", scalar())
    assert caught.value.hint == "use Python operators on scalars"
    with pytest.raises(Error) as caught:
        _built("add", tile([4]), rsh=1)
    assert caught.value.hint == "did you mean 'rhs'?"


def test_what_a_form_lacks_may_be_said_when_it_says_nothing() -> None:
    one, two = tile([16, 16], FP16), tile([16, 16], FP16)
    plain = _built("matmul", one, two)
    assert structural_equal(_built("matmul", one, two, None, False, False), plain)
    assert structural_equal(_built("matmul", one, two, out_dtype=FP32, b_trans=False), plain)
    assert _built("row_sum", tensor([4, 8]), None).op.name == "tensor.row_sum"
    assert _built("rsqrt", tile([4]), False).op.name == "tile.rsqrt"
    assert len(_built("rsqrt", tile([4]), tmp=tile([4])).args) == 2


def test_malformed_calls_of_every_spelling_are_errors_of_this_project() -> None:
    pool = [tile([4, 32]), tensor([4, 32]), scalar(), 3, [1, 2], "text", FP32]
    for path in all_paths():
        entry: Any = lookup(path)
        for count in range(min(len(entry.params), 6) + 2):
            for start in range(len(pool)):
                for values in ([pool[start]] * count, [pool[(start + k) % len(pool)] for k in range(count)]):
                    with contextlib.suppress(Error):
                        _built(path, *values)
        with pytest.raises(Error):
            _built(path, nonsense=1)


def test_declaring_and_removing_an_operator_is_seen_at_once() -> None:
    facts = {
        **default_facts(),
        "params": declared("tile.exp").params,
        "result": same_type,
        "meaning": abs,
        "doc": "Twice.",
        "short": True,
    }
    register_op(Declaration("tile.twice", **facts))
    try:
        assert lookup("twice") is declared("tile.twice")
        assert lookup("tile.twice") is declared("tile.twice")
    finally:
        unregister_op("tile.twice")
    assert lookup("twice") is None
    with pytest.raises(InvalidValueError, match="declared twice"):
        register_op(Declaration("tile.exp", **facts))


def test_helpers_build_calls() -> None:
    x, t = tile([4, 8]), tensor([4, 8])
    assert structural_equal(ir.op.tile.add(x, 1.0), call("tile.adds", x, 1.0))
    assert structural_equal(ir.op.tile.cast(x, target_type=FP16), call("tile.cast", x, FP16))
    assert structural_equal(ir.op.tensor.mul(t, t), call("tensor.mul", t, t))
    assert structural_equal(ir.op.tile.and_(y := tile([4], INT32), y), call("tile.and", y, y))
    assert ir.op.tile.load(t, [0, 0], [4, 8]).args[1].elements[0].value == 0
    assert ir.op.tensor.adds(t, 1).args[1].type is ScalarType(FP32)
    with pytest.raises(Error, match="scalar of type INDEX"):
        ir.op.tile.add(x, scalar())
    assert list(inspect.signature(ir.op.tile.add).parameters) == ["lhs", "rhs", "span"]
    assert ir.op.tile.add.__doc__ == declared("tile.add").doc
    assert "adds" in dir(ir.op.tile)
    assert type(ir.op.tile.min(scalar(), 3)) is Min


def test_helpers_place_their_calls() -> None:
    x = tile([4])
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    made = ir.op.tile.exp(x)
    assert (made.span.filename, made.span.begin_line) == (__file__, line)
    given = Span("k.py", 3, 5)
    assert ir.op.tile.exp(x, span=given).span is given
    with pytest.raises(Error, match="takes an FP32 tile, got FP16") as caught:
        ir.op.tile.sin(tile([4], FP16), span=given)
    assert (caught.value.span["filename"], caught.value.span["line"]) == ("k.py", 3)
    with pytest.raises(Error) as caught:
        ir.op.tile.sin()
    assert caught.value.span["filename"] == __file__


def test_helpers_know_what_was_meant() -> None:
    with pytest.raises(AttributeError, match="did you mean 'adds'"):
        ir.op.tile.addss
    with pytest.raises(AttributeError, match=r"no operator tensor\.nothing"):
        ir.op.tensor.nothing
    with pytest.raises(AttributeError):
        ir.op.nowhere


def test_constants_of_unified_calls_come_from_expressions_too() -> None:
    made = _built("cmp", tile([4, 8]), tile([4, 8]), ConstInt(3, DataType.INDEX))
    assert made.kwargs["cmp_type"] == 3
