"""What is printed reads back as the same program, and prints as the same text again; with and without the short spellings."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from programs import Programs

from pypto import ir
from pypto.ir.equality import structural_equal
from pypto.parser import parse
from pypto.printer import python_print

INDEX = ir.ScalarType(ir.INDEX)
n = ir.Var("n", INDEX)


class Readable(Programs):
    """Programs of scalars and control flow whose types are right, so that they can be read."""

    def call(self, depth: int, type_: ir.Type) -> Any:
        return self.scalar(0, type_.dtype if isinstance(type_, ir.ScalarType) else ir.INDEX)

    def type(self) -> ir.Type:
        return ir.ScalarType(self.random.choice((ir.INDEX, ir.INT32, ir.INT64, ir.FP32, ir.BOOL)))

    def statement(self, depth: int) -> ir.Stmt:
        known = [v for v in self.variables if v.name_hint != "M"]
        while True:
            self.variables = [*known]
            made = self._statement(depth)
            if isinstance(made, ir.EvalStmt | ir.ScopeStmt):
                continue
            # a bare number takes the type of its annotation, so its own cannot be tested here
            if isinstance(made, ir.AssignStmt) and type(made.value) in (ir.ConstInt, ir.ConstFloat):
                continue
            if self.random.random() < 0.15:
                ir.attach_leading_comments(made, ["why", "two"])
            return made

    def readable(self) -> ir.Function:
        made = self.function("f", 8)
        last = made.body.stmts[-1] if isinstance(made.body, ir.SeqStmts) and made.body.stmts else made.body
        types = [value.type for value in last.value] if isinstance(last, ir.ReturnStmt) else []
        return made.replace(return_types=types, param_directions=[ir.ParamDirection.In] * len(made.params))


def check(function: ir.Function, **options: Any) -> None:
    text = python_print(function, **options)
    again = parse(text)
    assert structural_equal(function, again, strict=True), text
    assert python_print(again, **options) == text


@given(seed=st.integers(0, 1 << 30), sugar=st.booleans(), width=st.sampled_from([200, 80]))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_random_functions(seed: int, sugar: bool, width: int) -> None:
    check(Readable(seed).readable(), sugar=sugar, line_length=width)


BUF = ir.Var("buf", ir.PtrType())
M = ir.Var("M", INDEX)


@pytest.mark.parametrize(
    "type_",
    [
        ir.TensorType([M, 8], ir.FP32),
        ir.TensorType([ir.Mul(M, ir.index_const(8), ir.INDEX)], ir.FP32),
        ir.TensorType([64], ir.FP32, None, ir.TensorView([1], ir.TensorLayout.ND, [n])),
        ir.TensorType([ir.ConstInt(8, ir.INT32)], ir.FP32),
        ir.TileType(
            [64, 64], ir.FP16, None, ir.TileView([8, n], [64, 1], n, fractal=1024, pad=ir.PadValue.min), ir.MemorySpace.Mat
        ),
        ir.TileType([8, 8], ir.FP16, ir.MemRef("ring", slots=3)[1], None, ir.MemorySpace.Vec),
        ir.TileType([8, 8], ir.FP16, ir.MemRef(BUF, 0, 128), None, ir.MemorySpace.Vec),
        ir.ArrayType(ir.INT32, 16),
        ir.TupleType([INDEX, ir.TensorType([4], ir.BF16)]),
        ir.TupleType([]),
        ir.PtrType(),
        ir.CommCtxType(),
        ir.DistributedTensorType([8], ir.FP32),
        ir.AsyncEventType(),
    ],
)
def test_types(type_: ir.Type) -> None:
    value = ir.Var("v", type_)
    check(ir.Function("f", [n, value], [type_], ir.ReturnStmt([value])))


def _float(bits: int) -> ir.ConstFloat:
    return ir.ConstFloat(struct.unpack("<d", struct.pack("<Q", bits))[0], ir.FP32)


@pytest.mark.parametrize("bits", [0, 1 << 63, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 1, 1])
def test_floats_by_bit_pattern(bits: int) -> None:
    constant = _float(bits)
    value = ir.Var("v", constant.type)
    body = ir.SeqStmts([ir.AssignStmt(value, constant), ir.ReturnStmt([value])])
    function = ir.Function("f", [], [value.type], body)
    again = parse(python_print(function)).body[0].value.value
    assert struct.pack("<d", again) == struct.pack("<d", constant.value)
    check(function)


def test_carried_values_with_types_of_their_own() -> None:
    wide = ir.ScalarType(ir.INT32)
    carried = [ir.IterArg("a", wide, n), ir.IterArg("b", INDEX, n)]
    results = [ir.Var("r", INDEX), ir.Var("s", wide)]
    loop = ir.ForStmt(
        ir.Var("i", wide), ir.index_const(0), n, ir.index_const(1), carried, ir.YieldStmt([n, n]), results, kind=ir.ForKind.Unroll
    )
    check(ir.Function("f", [n], [INDEX], ir.SeqStmts([loop, ir.ReturnStmt([results[0]])])))


def test_comments_at_the_end_of_blocks() -> None:
    condition = ir.Lt(n, ir.index_const(3), ir.BOOL)
    then, other = ir.BreakStmt(), ir.SeqStmts([])
    then.trailing_comments = ["one", "two"]
    other.trailing_comments = ["nothing to do"]
    loop = ir.WhileStmt(condition, [], ir.IfStmt(condition, then, other, []), [])
    check(ir.Function("f", [n], [], ir.SeqStmts([loop, ir.ReturnStmt()])))
