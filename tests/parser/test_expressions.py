"""Expressions: each spelling against the nodes it must build."""

from __future__ import annotations

import math
from typing import Any

import pytest

from pypto import ir
from pypto.ir import DataType
from pypto.ir.expr import Call, Cast, ConstBool, ConstFloat, ConstInt, MakeTuple, Neg, TupleGetItemExpr, Var

from .support import SIGNATURE, first_value, kernel, statements

INDEX = DataType.INDEX
SCALARS = (
    "@pl.function\n"
    "def f(i: pl.Scalar[pl.INDEX], j: pl.Scalar[pl.INDEX], k: pl.Scalar[pl.INT32], h: pl.Scalar[pl.FP32], b: pl.Scalar[pl.BOOL]):\n"
)
i, j, b = (Var(name, ir.ScalarType(dtype)) for name, dtype in (("i", INDEX), ("j", INDEX), ("b", DataType.BOOL)))
k, h = Var("k", ir.ScalarType(DataType.INT32)), Var("h", ir.ScalarType(DataType.FP32))


def index(value: int) -> ConstInt:
    return ConstInt(value, INDEX)


EXPECTED = {
    "i + j": ir.Add(i, j, INDEX),
    "i - j": ir.Sub(i, j, INDEX),
    "i * j": ir.Mul(i, j, INDEX),
    "i / j": ir.FloatDiv(i, j, INDEX),
    "i // j": ir.FloorDiv(i, j, INDEX),
    "i % j": ir.FloorMod(i, j, INDEX),
    "i ** j": ir.Pow(i, j, INDEX),
    "i << j": ir.BitShiftLeft(i, j, INDEX),
    "i >> j": ir.BitShiftRight(i, j, INDEX),
    "i & j": ir.BitAnd(i, j, INDEX),
    "i | j": ir.BitOr(i, j, INDEX),
    "i ^ j": ir.BitXor(i, j, INDEX),
    "i == j": ir.Eq(i, j, DataType.BOOL),
    "i != j": ir.Ne(i, j, DataType.BOOL),
    "i < j": ir.Lt(i, j, DataType.BOOL),
    "i <= j": ir.Le(i, j, DataType.BOOL),
    "i > j": ir.Gt(i, j, DataType.BOOL),
    "i >= j": ir.Ge(i, j, DataType.BOOL),
    "-i": Neg(i, INDEX),
    "~i": ir.BitNot(i, INDEX),
    "not b": ir.Not(b, DataType.BOOL),
    "b and b and b": ir.And(ir.And(b, b, DataType.BOOL), b, DataType.BOOL),
    "b or b or b": ir.Or(ir.Or(b, b, DataType.BOOL), b, DataType.BOOL),
    "pl.min(i, j)": ir.Min(i, j, INDEX),
    "pl.max(i, 3)": ir.Max(i, index(3), INDEX),
    "pl.logical_xor(b, b)": ir.Xor(b, b, DataType.BOOL),
    "pl.cast(i, pl.FP32)": Cast(i, DataType.FP32),
    "pl.add(i, j)": ir.Add(i, j, INDEX),
    "pl.sub(i, 1)": ir.Sub(i, index(1), INDEX),
    "1024 // i": ir.FloorDiv(index(1024), i, INDEX),
    "7 % i": ir.FloorMod(index(7), i, INDEX),
    "3 - i": ir.Sub(index(3), i, INDEX),
    "k + 1": ir.Add(Cast(k, INDEX), index(1), INDEX),
    "k + k": ir.Add(k, k, DataType.INT32),
    "h * 2.5": ir.Mul(h, ConstFloat(2.5, DataType.FP32), DataType.FP32),
    "i * 1": ir.Mul(i, index(1), INDEX),
    "i + 2 * 3": ir.Add(i, index(6), INDEX),
    "2 * 3 + i": ir.Add(index(6), i, INDEX),
    "i + 2 + 3": ir.Add(ir.Add(i, index(2), INDEX), index(3), INDEX),
    "3": index(3),
    "-5": index(-5),
    "- -5": index(5),
    "2 ** 3 - 1": index(7),
    "7 // 2": index(3),
    "7 / 2": ConstFloat(3.5, DataType.FP32),
    "1 << 4 | 3": index(19),
    "-2.5": ConstFloat(-2.5, DataType.FP32),
    "True": ConstBool(True),
    "N": index(16),
    "N * 2 - 1": index(31),
    "RATE": ConstFloat(0.25, DataType.FP32),
    "FLAG": ConstBool(True),
    "i + N": ir.Add(i, index(16), INDEX),
    "SIZES[1] + i": ir.Add(index(5), i, INDEX),
    "pl.FP32.get_byte()": index(4),
    "256 * pl.FP16.get_byte()": ir.Mul(index(256), index(2), INDEX),
    "pl.const(3, pl.INT32)": ConstInt(3, DataType.INT32),
    "pl.const(-3, pl.INT64)": ConstInt(-3, DataType.INT64),
    "pl.const(2, pl.FP16)": ConstFloat(2.0, DataType.FP16),
    "pl.const(2, pl.INDEX) * pl.const(3, pl.INDEX)": ir.Mul(index(2), index(3), INDEX),
    "-pl.const(5, pl.INDEX)": Neg(index(5), INDEX),
    "pl.const('inf', pl.FP32)": ConstFloat(math.inf, DataType.FP32),
    "pl.const('-inf', pl.BF16)": ConstFloat(-math.inf, DataType.BF16),
    "pl.const(True, pl.BOOL)": ConstBool(True),
    "1e999": ConstFloat(math.inf, DataType.FP32),
    "pl.expr.add(i, k, dtype=pl.INT8)": ir.Add(i, k, DataType.INT8),
    "pl.expr.bit_shift_left(i, i, dtype=pl.INT32)": ir.BitShiftLeft(i, i, DataType.INT32),
    "pl.expr.not_(i, dtype=pl.INT32)": ir.Not(i, DataType.INT32),
    "[i, 2]": MakeTuple([i, index(2)]),
    "(i, 2)": MakeTuple([i, index(2)]),
    "pl.Mem.Mat": index(2),
    "(i + j) * (i - j) % 4": ir.FloorMod(ir.Mul(ir.Add(i, j, INDEX), ir.Sub(i, j, INDEX), INDEX), index(4), INDEX),
}
HEAD = "N = 16\nRATE = 0.25\nFLAG = True\nSIZES = [3, 5]\n"


@pytest.mark.parametrize("text", EXPECTED)
def test_expressions(text: str) -> None:
    function = kernel(f"y = {text}", HEAD + SCALARS)
    value = statements(function)[0].value
    renamed = [(old, new) for old, new in zip((i, j, k, h, b), function.params, strict=True)]
    ir.assert_structural_equal(value, ir.substitute_expr(EXPECTED[text], renamed))


def test_not_a_number() -> None:
    value = first_value("y = pl.const('nan', pl.FP32)")
    assert isinstance(value, ConstFloat) and math.isnan(value.value)


def test_a_name_of_the_body_hides_a_constant() -> None:
    function = kernel("N = i * 2\ny = N + 1", HEAD + SCALARS)
    first, second = statements(function)
    assert second.value.left is first.var


def test_long_chains_are_one_left_deep_tree() -> None:
    value: Any = first_value("y = " + " + ".join(["n"] * 4000))
    count = 1
    while isinstance(value, ir.Add):
        value = value.left
        count += 1
    assert count == 4000


def test_tuple_elements() -> None:
    function = kernel("t = (n, x)\ny = t[-1]\nz = t[0]\na, c = t")
    whole, second, first, copy, *items = statements(function)
    assert isinstance(second.value, TupleGetItemExpr) and second.value.index == 1
    assert first.value.index == 0
    assert copy.var.name_hint == "_tuple_tmp" and copy.value is whole.var
    assert [s.var.name_hint for s in items] == ["a", "c"] and [s.value.index for s in items] == [0, 1]


class TestSubscripts:
    """``x[...]`` on tensors, tiles and arrays."""

    @pytest.mark.parametrize(
        ("text", "operator", "operands"),
        [
            ("x[0:4, :]", "tensor.slice", [[4, 8], [0, 0]]),
            ("x[2:6, 1:]", "tensor.slice", [[4, 7], [2, 1]]),
            ("x[1]", "tensor.slice", [[1, 8], [1, 0], [], [0]]),
            ("x[:, 3]", "tensor.slice", [[8, 1], [0, 3], [], [1]]),
            ("x[-1]", "tensor.slice", [[1, 8], [7, 0], [], [0]]),
            ("x[:-2, :]", "tensor.slice", [[6, 8], [0, 0]]),
            ("x[1, 2]", "tensor.read", [[1, 2]]),
        ],
    )
    def test_constant(self, text: str, operator: str, operands: list[list[int]]) -> None:
        value = first_value(f"y = {text}")
        assert value.op.name == operator
        assert [[e.value for e in arg.elements] for arg in value.args[1:]] == operands

    def test_extents_are_simplified(self) -> None:
        value = first_value("y = x[:, n : n + 4]")
        assert [e.value for e in value.args[1].elements] == [8, 4]
        assert value.args[2].elements[1].name_hint == "n"
        assert value.type == ir.TensorType([8, 4], DataType.FP32)

    def test_chains(self) -> None:
        value = first_value("y = x[2:4][0, 1]")
        assert value.op.name == "tensor.read" and value.args[0].op.name == "tensor.slice"

    def test_tiles_keep_static_extents(self) -> None:
        function = kernel("t = pl.load(x, [0, 0], [8, 8])\nu = t[:, 2:n]\nv = t[0, 1]")
        _, cut, read = statements(function)
        assert [e.value for e in cut.value.args[1].elements] == [8, 6]
        valid = cut.value.args[3].elements
        assert valid[0].value == 8
        expected = ir.Max(ir.Sub(ir.Min(function.params[1], index(8), INDEX), index(2), INDEX), index(0), INDEX)
        ir.assert_structural_equal(valid[1], expected)
        assert read.value.op.name == "tile.read"

    def test_a_row_of_a_tile_keeps_two_dimensions(self) -> None:
        with pytest.warns(UserWarning, match="keeps two dimensions"):
            function = kernel("t = pl.load(x, [0, 0], [8, 8])\nu = t[3]")
        assert [d.value for d in statements(function)[1].var.type.shape] == [1, 8]

    def test_region_writes_assign_the_name_again(self) -> None:
        function = kernel("y = x[0:2, :]\nx[4:6, :] = y\nx[3] = x[1]")
        _, region, row = statements(function)
        assert region.var is function.params[0] and region.value.op.name == "tensor.assemble"
        assert [e.value for e in region.value.args[2].elements] == [4, 0]
        assert row.value.args[1].op.name == "tensor.reshape"
        assert [d.value for d in row.value.args[1].type.shape] == [1, 8]

    def test_arrays(self) -> None:
        function = kernel("a = pl.array.create(4, pl.INT32)\na[n] = 7\ny = a[1]")
        create, update, read = statements(function)
        assert update.var is create.var and update.value.op.name == "array.update_element"
        ir.assert_structural_equal(update.value.args[2], ConstInt(7, DataType.INT32))
        assert read.value.op.name == "array.get_element"


class TestOperators:
    """Operator calls: argument forms and what they become."""

    def test_positional_keyword_and_outside_values_are_one(self) -> None:
        outside = "SPACE = pl.MemorySpace.Mat\nDTYPE = pl.BF16\nMODE = 'rint'\nPAD = pl.PadValue.max\n"
        body = (
            "a = pl.load(x, [0, 0], [8, 8], [8, 8], {space})\n"
            "c = pl.cast(x, {dtype}, {mode})\n"
            "t = pl.load(x, [0, 0], [8, 8])\n"
            "d = pl.fillpad(t, {pad})\n"
        )
        forms = [
            {"space": "pl.Mem.Mat", "dtype": "pl.BF16", "mode": "'rint'", "pad": "pl.PadValue.max"},
            {
                "space": "target_memory=pl.Mem.Mat",
                "dtype": "target_type=pl.BF16",
                "mode": "mode='rint'",
                "pad": "pad_value=pl.PadValue.max",
            },
            {"space": "SPACE", "dtype": "DTYPE", "mode": "MODE", "pad": "PAD"},
            {"space": "target_memory=SPACE", "dtype": "target_type=DTYPE", "mode": "mode=MODE", "pad": "pad_value=PAD"},
        ]
        first, *others = [kernel(body.format(**form), outside + SIGNATURE) for form in forms]
        for other in others:
            ir.assert_structural_equal(first, other)

    def test_the_operand_chooses_the_operator(self) -> None:
        function = kernel("t = pl.load(x, [0, 0], [8, 8])\nu = pl.add(t, t)\nv = pl.add(x, x)\nw = pl.mul(t, 2)")
        names = [s.value.op.name for s in statements(function)]
        assert names == ["tile.load", "tile.add", "tensor.add", "tile.muls"]
        ir.assert_structural_equal(statements(function)[3].value.args[1], ConstFloat(2.0, DataType.FP32))

    def test_an_omitted_operand_may_be_written_as_none(self) -> None:
        function = kernel("a = pl.load(x, [0, 0], [8, 8], None, pl.Mem.Vec)\nc = pl.load(x, [0, 0], [8, 8])")
        first, second = statements(function)
        ir.assert_structural_equal(first.value, second.value)

    def test_attributes(self) -> None:
        text = 'y = pl.add(x, x, attrs={"a": 3, "s": "t", "d": [pl.adir.input, pl.adir.output], "v": n, "m": pl.Mem.Vec, "e": n + 1})'
        function = kernel(text)
        attrs = statements(function)[0].value.attrs
        assert (attrs["a"], attrs["s"], attrs["m"]) == (3, "t", ir.MemorySpace.Vec)
        assert attrs["d"] == [ir.ArgDirection.Input, ir.ArgDirection.Output]
        assert attrs["v"] is function.params[1] and isinstance(attrs["e"], ir.Add)

    def test_a_call_of_the_plain_form_is_taken_as_written(self) -> None:
        text = 'y = pl.expr.call("tile.load", x, n, kwargs={"k": 1}, attrs={"a": 2}, type=pl.Tile[[4], pl.INT8])'
        value = first_value(text)
        assert isinstance(value, Call)
        assert value.op.name == "tile.load" and len(value.args) == 2
        assert value.kwargs == {"k": 1} and value.attrs == {"a": 2}
        assert value.type == ir.TileType([4], DataType.INT8)

    def test_dimensions_are_known_in_orchestration(self) -> None:
        head = 'M = pl.dynamic("M")\n@pl.function(type=pl.FunctionType.{})\ndef f(x: pl.Tensor[[M, 64], pl.FP32]):\n'
        body = "a = pl.tensor.dim(x, 0)\nc = pl.tensor.dim(x, -1)"
        known = kernel(body, head.format("Orchestration"))
        assert statements(known)[0].value is known.params[0].type.shape[0]
        ir.assert_structural_equal(statements(known)[1].value, index(64))
        assert statements(kernel(body, head.format("Opaque")))[0].value.op.name == "tensor.dim"
