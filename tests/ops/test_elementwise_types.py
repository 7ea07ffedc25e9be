"""What holds for every elementwise operator: spellings agree, element types and regions are as tabled, and what is refused."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest

from pypto.diagnostics import Error, InvalidTypeError, InvalidValueError
from pypto.ir import scalar as scalars
from pypto.ir.dtypes import DTYPES, DataType
from pypto.ir.enums import MemorySpace, TileLayout
from pypto.ir.equality import structural_equal
from pypto.ir.expr import ConstFloat, ConstInt, Var
from pypto.ir.op import create_op_call, declared_ops
from pypto.ir.types import DistributedTensorType, ScalarType, TensorType, TileType, TileView
from pypto.ops.declare import ArityError, Declaration, OperandError, OperandTypeError
from tests.ops.elementwise_samples import ELEMENTWISE
from tests.ops.operands import call, declared, distributed, scalar, shape_of, tensor, tile, valid_of

FP32, FP16, BF16, BOOL = DataType.FP32, DataType.FP16, DataType.BF16, DataType.BOOL
INT8, INT16, INT32, INT64, INDEX = DataType.INT8, DataType.INT16, DataType.INT32, DataType.INT64, DataType.INDEX
UINT8, UINT16, UINT32 = DataType.UINT8, DataType.UINT16, DataType.UINT32
FAMILIES = ("pypto.ops.unary", "pypto.ops.binary", "pypto.ops.bitwise", "pypto.ops.compare", "pypto.ops.cast", "pypto.ops.rules")


def test_every_elementwise_operator_has_a_sample() -> None:
    missing = [
        d.name
        for d in declared_ops()
        if isinstance(d, Declaration) and d.result.__module__ in FAMILIES and d.name not in ELEMENTWISE
    ]
    assert not missing
    assert len(ELEMENTWISE) == 90


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_positional_and_keyword_spelling_agree(name: str) -> None:
    sample = ELEMENTWISE[name]
    values = [sample[p.name] for p in declared(name).params if p.name in sample]
    assert values == [*sample.values()] or len(values) == len(sample)
    by_name = call(name, **sample)
    for count in range(len(values) + 1):
        rest = dict([*sample.items()][count:])
        mixed = call(name, *values[:count], **rest)
        assert structural_equal(mixed, by_name)
        assert mixed.type is by_name.type
    again = create_op_call(by_name.op.name, by_name.args, dict(by_name.kwargs))
    assert structural_equal(again, by_name)


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_a_result_is_where_and_as_its_first_operand(name: str) -> None:
    made = call(name, **ELEMENTWISE[name])
    if name.startswith("tile.cmp"):
        assert str(made.type) == "pl.Tile[[4, 32], pl.UINT8, pl.Mem.Vec, pl.TileView(valid_shape=[4, 4])]"
        return
    expected: Any = TileType if name.startswith("tile.") else TensorType
    assert type(made.type) is expected
    assert shape_of(made) == [4, 32]
    assert made.type.memref is None
    assert made.type.memory_space is (MemorySpace.Vec if expected is TileType else MemorySpace.DDR)


@pytest.mark.parametrize("name", sorted(ELEMENTWISE))
def test_wrong_operands_are_errors_of_this_project(name: str) -> None:
    sample = ELEMENTWISE[name]
    pool = [
        tile([4, 32]),
        tensor([4, 32]),
        scalar(),
        3,
        2.5,
        [1, 2],
        "text",
        None,
        FP32,
        True,
        distributed([4, 32]),
        tile([5, 7], FP16),
    ]
    most = len(declared(name).params)
    for count in range(most + 2):
        for values in itertools.islice(itertools.product(pool, repeat=count), 0, 2000, 1 + 12**count // 300):
            with contextlib.suppress(Error):
                call(name, *values)
    for operand in (tile([4, 32]), tensor([4, 32]), scalar()):
        for count in range(most + 2):
            try:
                create_op_call(name, [operand] * count)
            except Error:
                continue
    with pytest.raises(ArityError, match="has no parameter 'nope'"):
        call(name, **sample, nope=1)
    with pytest.raises(ArityError, match=r"at most \d positional"):
        call(name, *sample.values(), 1, 2, 3, 4)
    for param in declared(name).params:
        if param.required:
            with pytest.raises(ArityError, match=f"needs '{param.name}'"):
                call(name, **{k: v for k, v in sample.items() if k != param.name})


# -- layout, valid region, broadcasting ------------------------------------------------------------------------------------------


def test_layout_and_valid_region_are_inherited() -> None:
    view = TileView(valid_shape=[3, 16], blayout=TileLayout.col_major, slayout=TileLayout.none_box)
    odd = Var("t", TileType([8, 16], FP32, None, view, MemorySpace.Vec))
    for name in ("tile.exp", "tile.neg", "tile.adds", "tile.add"):
        made: Any = call(name, odd, *([2.0] if name == "tile.adds" else [odd] if name == "tile.add" else []))
        assert valid_of(made) == [3, 16]
        assert made.type.tile_view.blayout is TileLayout.col_major
    assert call("tile.cast", odd, FP16).type.tile_view.blayout is TileLayout.col_major
    n = scalar()
    dynamic = tile([8, 16], valid=[8, n])
    assert valid_of(call("tile.exp", call("tile.neg", dynamic)))[1] is n


def test_a_layout_is_not_inherited_by_another_shape_or_from_another_space() -> None:
    view = TileView(blayout=TileLayout.col_major, slayout=TileLayout.none_box)
    narrow = Var("t", TileType([1, 16], FP32, None, view, MemorySpace.Vec))
    wide = call("tile.add", narrow, tile([8, 16]))
    assert shape_of(wide) == [8, 16]
    assert wide.type.tile_view is None
    in_acc = Var("t", TileType([16, 16], FP32, None, None, MemorySpace.Acc))
    made: Any = call("tile.exp", in_acc)
    assert made.type is tile([16, 16]).type


def test_the_valid_region_of_spread_operands() -> None:
    made = call("tile.add", tile([1, 16], valid=[1, 5]), tile([8, 16], valid=[3, 16]))
    assert shape_of(made) == [8, 16]
    assert valid_of(made) == [3, 5]
    assert valid_of(call("tile.mul", tile([8, 1]), tile([8, 16], valid=[8, 9]))) == [8, 9]
    assert valid_of(call("tensor.add", tensor([8, 16], valid=[4, 16]), tensor([16]))) == [4, 16]


def test_broadcasting() -> None:
    n, m = scalar("n"), scalar("m")
    for left, right, result in (
        ([8, 16], [16], [8, 16]),
        ([8, 1], [1, 16], [8, 16]),
        ([1], [2, 3, 4], [2, 3, 4]),
        ([n, 16], [n, 16], [n, 16]),
        ([n, 16], [1, 16], [n, 16]),
        ([1, 16], [n, 16], [n, 16]),
        ([n, 16], [8, 16], [8, 16]),
        ([8, 16], [n, 16], [8, 16]),
    ):
        made = shape_of(call("tensor.add", tensor(left), tensor(right)))
        assert len(made) == len(result)
        assert all(a is b or a == b for a, b in zip(made, result, strict=True) if isinstance(b, int) or a is not b)
    for left, right in (([8, 16], [4, 16]), ([8, 16], [8, 15]), ([2, 8, 16], [3, 8, 16]), ([n, 16], [m, 16])):
        with pytest.raises(OperandError, match="cannot combine the shapes") as caught:
            call("tensor.add", tensor(left), tensor(right))
        assert caught.value.operand == 1
    twice = scalars.add(n, n)
    assert shape_of(call("tensor.add", tensor([twice]), tensor([scalars.mul(n, 2)])))[0] is twice


def test_distributed_operands_give_plain_tensors() -> None:
    for name in ("tensor.exp", "tensor.adds", "tensor.add", "tensor.cast"):
        first = distributed([8, 16])
        made = call(name, first, *{"tensor.adds": [1], "tensor.add": [first], "tensor.cast": [FP16]}.get(name, []))
        assert type(made.type) is TensorType
        assert not isinstance(made.type, DistributedTensorType)


# -- element types ---------------------------------------------------------------------------------------------------------------

PROMOTIONS = (
    (FP16, FP32, FP32),
    (INT32, FP16, FP16),
    (FP16, INT64, FP16),
    (INT8, INT32, INT32),
    (UINT32, INT32, INT32),
    (INT32, UINT32, INT32),
    (UINT8, INT16, INT16),
    (FP16, BF16, FP16),
    (BF16, FP16, BF16),
)


@pytest.mark.parametrize(("left", "right", "result"), PROMOTIONS)
def test_promotion(left: DataType, right: DataType, result: DataType) -> None:
    for leaf in ("add", "mul", "sub", "maximum", "fmod", "part_add"):
        for space, of in (("tile", tile), ("tensor", tensor)):
            assert call(f"{space}.{leaf}", of([4, 8], left), of([4, 8], right)).type.dtype is result
    assert call("tensor.cmp", tensor([4, 8], left), tensor([4, 8], right)).type.dtype is result
    assert call("tile.sel", tile([4, 32], UINT8), tile([4, 8], left), tile([4, 8], right), tile([4, 8])).type.dtype is result
    assert call("tile.addc", tile([4, 8], left), tile([4, 8], left), tile([4, 8], right)).type.dtype is result


def test_scalars_keep_a_tile_and_widen_a_tensor() -> None:
    three = ConstInt(3, INT64)
    half = ConstFloat(0.5, FP32)
    assert call("tile.adds", tile([4], INT32), three).type.dtype is INT32
    assert call("tensor.adds", tensor([4], INT32), three).type.dtype is INT64
    assert call("tile.muls", tile([4], INT32), half).type.dtype is INT32
    assert call("tensor.muls", tensor([4], INT32), half).type.dtype is FP32
    assert call("tensor.maximum", tensor([4], FP16), half).type.dtype is FP16  # a literal takes the element type
    assert call("tensor.ands", tensor([4], INT16), ConstInt(1, INT32)).type.dtype is INT32
    assert call("tile.ands", tile([4], INT16), ConstInt(1, INT32)).type.dtype is INT16
    for leaf in ("shl", "shr"):
        assert call(f"tensor.{leaf}", tensor([4], INT16), tensor([4], INT32)).type.dtype is INT16
        assert call(f"tile.{leaf}s", tile([4], INT16), ConstInt(1, INT32)).type.dtype is INT16


def test_constant_scalars_take_the_element_type() -> None:
    def second(made: Any) -> tuple[type, Any, DataType]:
        constant = made.args[1]
        return type(constant), constant.value, constant.type.dtype

    assert second(call("tile.add", tile([4]), 1)) == (ConstFloat, 1.0, FP32)
    assert second(call("tile.add", tile([4], BF16), 1.5)) == (ConstFloat, 1.5, BF16)
    assert second(call("tile.adds", tile([4], INT16), 3)) == (ConstInt, 3, INT16)
    assert second(call("tensor.muls", tensor([4], INT32), 2.5)) == (ConstFloat, 2.5, FP32)
    assert second(call("tile.adds", tile([4]), ConstInt(1, INT32))) == (ConstInt, 1, INT32)
    assert second(call("tile.lrelu", tile([4], FP16), 1)) == (ConstFloat, 1.0, FP32)
    made = call("tile.sels", tile([4, 32], UINT8), tile([4, 8], UINT16), tile([4, 8]), 7)
    assert (made.args[3].value, made.args[3].type.dtype) == (7, INT16)
    for name, first in (("tile.add", tile([4])), ("tensor.muls", tensor([4], INT32)), ("tile.cmps", tile([4, 8]))):
        with pytest.raises(OperandError, match="scalar of type INDEX") as caught:
            call(name, first, scalar("i"))
        assert caught.value.hint is not None
        assert "pl.cast" in caught.value.hint


def test_the_scalar_form_is_chosen() -> None:
    for space, of in (("tile", tile), ("tensor", tensor)):
        for leaf in ("add", "sub", "mul", "div"):
            assert call(f"{space}.{leaf}", of([4]), 2.0).op.name == f"{space}.{leaf}s"
            assert call(f"{space}.{leaf}", of([4]), Var("s", ScalarType(FP32))).op.name == f"{space}.{leaf}s"
            assert call(f"{space}.{leaf}", of([4]), of([4])).op.name == f"{space}.{leaf}"
    assert call("tensor.fmod", tensor([4]), 2.0).op.name == "tensor.fmods"
    for leaf in ("and", "or", "xor", "shl", "shr"):
        assert call(f"tensor.{leaf}", tensor([4], INT32), 2).op.name == f"tensor.{leaf}s"
    for leaf in ("maximum", "minimum", "cmp"):
        assert call(f"tensor.{leaf}", tensor([4]), 2.0).op.name == f"tensor.{leaf}"


def test_what_calls_store() -> None:
    assert dict(call("tile.cast", tile([4]), FP16).kwargs) == {"target_type": FP16, "mode": 2}
    assert dict(call("tensor.cast", tensor([4]), target_type=FP16, mode="rint").kwargs) == {"target_type": FP16, "mode": 1}
    for number, name in enumerate(("none", "rint", "round", "floor", "ceil", "trunc", "odd")):
        assert dict(call("tile.cast", tile([4]), INT32, name).kwargs)["mode"] == number
        assert dict(call("tile.cast", tile([4]), INT32, number).kwargs)["mode"] == number
    assert dict(call("tile.cmp", tile([4, 8]), tile([4, 8])).kwargs) == {"cmp_type": 0}
    for name, first in (("tile.log", tile([4])), ("tensor.recip", tensor([4])), ("tensor.rsqrt", tensor([4]))):
        assert dict(call(name, first).kwargs) == {}
        assert dict(call(name, first, high_precision=False).kwargs) == {}
        assert dict(call(name, first, high_precision=True).kwargs) == {"high_precision": True}
    assert dict(call("tile.div", tile([4]), tile([4]), True).kwargs) == {"high_precision": True}


def test_packed_masks() -> None:
    for columns, valid, width, bytes_ in (
        (8, 8, 32, 1),
        (64, 64, 32, 8),
        (256, 256, 32, 32),
        (257, 257, 64, 33),
        (512, 100, 64, 13),
        (32, 0, 32, 0),
    ):
        made = call("tile.cmp", tile([4, columns], FP16, valid=[2, valid]), tile([4, columns], FP16))
        assert made.type.dtype is UINT8
        assert shape_of(made) == [4, width]
        assert valid_of(made) == [2, bytes_]
    n = scalar()
    dynamic = call("tile.cmps", tile([4, 64], valid=[4, n]), 0.0)
    assert str(valid_of(dynamic)[1]) == "(n + 7) // 8"
    assert shape_of(dynamic) == [4, 32]


def test_partial_operands_unite() -> None:
    made = call("tile.part_add", tile([8, 16], valid=[8, 4]), tile([8, 16], valid=[3, 4]))
    assert valid_of(made) == [8, 4]
    assert valid_of(call("tile.part_max", tile([8, 16], valid=[2, 16]), tile([8, 16]))) == [8, 16]
    n = scalar()
    assert str(valid_of(call("tile.part_min", tile([8, 16], valid=[2, 16]), tile([8, 16], valid=[n, 16])))[0]) == "pl.max(2, n)"


# -- refusals --------------------------------------------------------------------------------------------------------------------


def _second(name: str, first: Any) -> list[Any]:
    return [v for k, v in [*ELEMENTWISE[name].items()][1:]]


@pytest.mark.parametrize("space", ["tile", "tensor"])
@pytest.mark.parametrize(
    ("leaf", "allowed"),
    [
        ("sin", ["FP32"]),
        ("cos", ["FP32"]),
        ("log", ["FP16", "FP32"]),
        ("not", ["INT16", "UINT16"]),
        ("subs", ["INT8", "INT16", "INT32", "FP16", "FP32", "BF16"]),
        ("div", ["INT16", "INT32", "FP16", "FP32"]),
    ],
)
def test_tables_of_element_types(space: str, leaf: str, allowed: list[str]) -> None:
    of: Any = tile if space == "tile" else tensor
    for dtype in DTYPES.values():
        if dtype in (DataType.TASK_ID, BOOL):
            continue
        first = of([4, 8], dtype)
        rest: list[Any] = {"subs": [1 if dtype.is_int() else 1.0], "div": [of([4, 8], dtype)]}.get(leaf, [])
        if dtype.name in allowed:
            assert call(f"{space}.{leaf}", first, *rest).type.dtype is dtype
            continue
        with pytest.raises(OperandError, match=rf"{space}\.{leaf} takes an? .*{allowed[-1]} {space}, got {dtype.name}") as caught:
            call(f"{space}.{leaf}", first, *rest)
        assert isinstance(caught.value, ValueError)
        assert "pl.cast" in (caught.value.hint or "")


def test_the_message_names_what_is_taken_and_what_was_given() -> None:
    with pytest.raises(OperandError) as caught:
        call("tile.sin", tile([64, 64], FP16))
    assert caught.value.message == "tile.sin takes an FP32 tile, got FP16"
    assert caught.value.hint == "cast it first: pl.cast(..., target_type=pl.FP32)"
    assert caught.value.operand == 0
    with pytest.raises(OperandError, match=r"tensor\.log takes an FP16 or FP32 tensor, got INT32"):
        call("tensor.log", tensor([4], INT32))


REFUSED: list[tuple[str, list[Any], dict[str, Any], type[Exception], str]] = [
    ("tile.exp", [tile([4], INT32)], {}, ValueError, "floating-point tile, got INT32"),
    ("tensor.sqrt", [tensor([4], INT32)], {}, ValueError, "floating-point tensor, got INT32"),
    ("tile.exp", [tensor([4])], {}, TypeError, "takes a Tile as 'tile', got FP32 tensor"),
    ("tensor.exp", [tile([4])], {}, TypeError, "takes a Tensor as 'input', got FP32 tile"),
    ("tile.recip", [tile([4], BF16)], {"high_precision": True}, ValueError, "FP16 or FP32"),
    ("tile.log", [tile([4])], {"high_precision": 1}, TypeError, "takes a bool as 'high_precision'"),
    ("tile.rsqrt", [tile([4]), tile([5])], {}, ValueError, "takes 'tmp' like FP32 tile"),
    ("tile.rsqrt", [tile([4]), tile([4], FP16)], {}, ValueError, "takes 'tmp' like FP32 tile"),
    ("tile.add", [tile([4]), tensor([4])], {}, TypeError, "Tile or Scalar as 'rhs', got FP32 tensor"),
    ("tensor.add", [tensor([4]), tile([4])], {}, TypeError, "Tensor or Scalar as 'rhs', got FP32 tile"),
    ("tile.add", [tile([4], BOOL), tile([4], BOOL)], {}, ValueError, "integer or floating-point elements, got BOOL"),
    ("tile.maximum", [tile([4]), 1.0], {}, TypeError, "takes a Tile as 'rhs', got FP32 scalar"),
    ("tile.cmp", [tile([4, 8]), 1.0], {}, TypeError, "takes a Tile as 'rhs', got FP32 scalar"),
    (
        "tile.and",
        [tile([4], INT32), 1],
        {},
        TypeError,
        "takes a Tile as 'rhs', got INT32 scalar|takes a Tile as 'rhs', got INDEX scalar",
    ),
    ("tile.div", [tile([4]), tile([4], FP16)], {}, ValueError, "takes 'rhs' like FP32 tile"),
    ("tile.div", [tile([4, 8]), tile([4, 1])], {}, ValueError, "takes 'rhs' like FP32 tile"),
    ("tile.div", [tile([4, 8]), tile([4, 8], valid=[4, 3])], {}, ValueError, "one valid region"),
    ("tile.div", [tile([4], INT32), tile([4], INT32)], {"high_precision": True}, ValueError, "floating-point"),
    ("tile.div", [tile([4]), 2.0], {"high_precision": True}, TypeError, "with a scalar takes no 'high_precision'"),
    ("tensor.div", [tensor([4], INT32), tensor([4], INT32)], {"high_precision": True}, ValueError, "floating-point"),
    ("tensor.div", [tensor([4]), tensor([4], BF16)], {}, ValueError, "got BF16"),
    ("tile.subs", [tile([4], INT32), ConstInt(1, INT64)], {}, ValueError, "scalar, got INT64"),
    ("tile.and", [tile([4]), tile([4])], {}, ValueError, "integer tile, got FP32"),
    ("tile.ands", [tile([4], INT32), 1.5], {}, ValueError, "integer scalar, got FP32"),
    ("tile.xor", [tile([4], INT32), tile([4], INT32)], {}, TypeError, "needs 'tmp'"),
    ("tensor.or", [tensor([4, 8], INT32), tensor([8], INT32)], {}, ValueError, "two tensors of one shape"),
    ("tensor.shls", [tensor([4], INT32), -1], {}, ValueError, "shift of 0 or more, got -1"),
    ("tile.cmp", [tile([4, 8]), tile([4, 8]), 6], {}, ValueError, "eq 0, ne 1, lt 2, le 3, gt 4, ge 5; got 6"),
    ("tensor.cmp", [tensor([4]), tensor([4])], {"cmp_type": "lt"}, TypeError, "takes an int as 'cmp_type'"),
    ("tile.cast", [tile([4]), FP32], {}, ValueError, "changes nothing: it got an FP32 tile"),
    ("tile.cast", [tile([4]), FP16, "nearest"], {}, ValueError, "no rounding mode"),
    ("tile.cast", [tile([4]), FP16, True], {}, ValueError, "no rounding mode"),
    ("tile.cast", [tile([4]), FP16, 7], {}, ValueError, "no rounding mode"),
    ("tile.cast", [tile([4]), 3], {}, TypeError, "takes a DataType as 'target_type'"),
    ("tensor.cast", [tensor([4]), DataType.TASK_ID], {}, ValueError, "TASK_ID is none"),
    ("tile.prelu", [tile([4]), tile([4]), tile([4])], {}, ValueError, "rank 2"),
    ("tile.prelu", [tile([4, 8]), tile([4, 8], FP16), tile([4, 8])], {}, ValueError, "takes 'slope' like"),
    ("tile.prelu", [tile([4, 8], BF16), tile([4, 8], BF16), tile([4, 8])], {}, ValueError, "FP16 or FP32"),
    ("tile.rem", [tile([4]), tile([4])], {}, TypeError, "needs 'tmp'"),
    ("tile.sel", [tile([4, 32]), tile([4, 8]), tile([4, 8]), tile([4, 8])], {}, ValueError, "tile, got FP32"),
    ("tile.sel", [tile([4, 1], UINT8), tile([4, 16]), tile([4, 16]), tile([4, 8])], {}, ValueError, "one bit for each element"),
    ("tile.sel", [tile([3, 32], UINT8), tile([4, 16]), tile([4, 16]), tile([4, 8])], {}, ValueError, "one bit for each element"),
    ("tile.sels", [tile([4, 32], UINT8), tile([4, 8], BF16), tile([4, 8]), 1.0], {}, ValueError, "got BF16"),
    ("tile.sels", [tile([4, 32], INT64), tile([4, 8]), tile([4, 8]), 1.0], {}, ValueError, "got INT64"),
    ("tile.sels", [tile([4], UINT8), tile([4]), tile([4]), 1.0], {}, ValueError, "rank 2"),
    (
        "tile.sels",
        [tile([4, 32], UINT8), tile([4, 8]), tile([4, 8]), ConstInt(1, INT32)],
        {},
        ValueError,
        "'scalar' as FP32, got INT32",
    ),
    ("tile.part_add", [tile([4, 8]), tile([8])], {}, ValueError, "one rank"),
]


@pytest.mark.parametrize(("name", "operands", "keywords", "kind", "words"), REFUSED)
def test_refusals(name: str, operands: list[Any], keywords: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as caught:
        call(name, *operands, **keywords)
    assert isinstance(caught.value, Error)


def test_hints_name_the_form_that_was_meant() -> None:
    for name, operands, hint in (
        ("tile.maximum", [tile([4]), 1.0], "did you mean pl.tile.maximums?"),
        ("tile.cmp", [tile([4, 8]), 1.0], "did you mean pl.tile.cmps?"),
        ("tile.adds", [tile([4]), tile([4])], "did you mean pl.tile.add?"),
        ("tile.ors", [tile([4], INT32), tile([4], INT32)], "did you mean pl.tile.or_?"),
        ("tile.add", [tile([4]), tensor([4])], "load it first: pl.load(...)"),
    ):
        with pytest.raises(OperandTypeError) as caught:
            call(name, *operands)
        assert caught.value.hint == hint
    with pytest.raises(InvalidTypeError, match="needs 'rhs'"):
        call("tile.add", tile([4]))
    with pytest.raises(InvalidValueError, match="no keyword 'mode'"):
        create_op_call("tile.log", [tile([4])], {"mode": 1})
