"""ConvertTensorToTileOps: loads at entry, tile operators, output parameters, callers, directions; and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

import pypto.language as pl
from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.passes import parse_pipeline
from pypto.runtime import run
from pypto.testing import assert_roundtrip, assert_same_meaning

FRONT = "convert_to_ssa,normalize_stmt_structure,flatten_call_expr"


def prepare(text: str) -> ir.Program:
    program = pl.parse(text)
    for step in parse_pipeline(FRONT):
        program = step(program)
    return program


def convert(text: str) -> tuple[ir.Program, ir.Program]:
    before = prepare(text)
    return before, passes.convert_tensor_to_tile_ops()(before)


def ops_of(function: ir.Function) -> list[str]:
    return [n.op.name for n in ir.walk(function.body) if isinstance(n, ir.Call)]


WAVE = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def wave(self, a: pl.Tensor[[24, 40], pl.FP32], b: pl.Tensor[[24, 40], pl.FP32]) -> pl.Tensor[[24, 40], pl.FP32]:
        u = pl.cos(a)
        w = pl.mul(u, b)
        return w

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[24, 40], pl.FP32], b: pl.Tensor[[24, 40], pl.FP32]) -> pl.Tensor[[24, 40], pl.FP32]:
        y = self.wave(a, b)
        return y
"""


def test_the_example_of_the_specification() -> None:
    before, after = convert(WAVE)
    kernel = after["wave"]
    assert [p.name_hint.partition("__ssa")[0] for p in kernel.params] == ["a", "b", "ret0__out"]
    assert list(kernel.param_directions) == [ir.ParamDirection.In, ir.ParamDirection.In, ir.ParamDirection.Out]
    names = [s.var.name_hint for s in ir.flatten_to_stmts(kernel.body)[:-1]]
    assert names == ["a__tile", "b__tile", "u__tile", "w__tile", "ret0__store"]
    assert ops_of(kernel) == ["tile.load", "tile.load", "tile.cos", "tile.mul", "tile.store"]
    caller = ir.flatten_to_stmts(after["run"].body)
    assert caller[0].var.name_hint == "ret0__out"
    assert caller[0].value.op.name == "tensor.create"
    assert caller[1].value.args[-1] is caller[0].var
    assert_roundtrip(after)
    assert_same_meaning(before, after)


def test_no_kernel_no_change() -> None:
    before = prepare(
        """
@pl.program
class P:
    @pl.function
    def f(self, a: pl.Tensor[[8, 8], pl.FP32]) -> pl.Tensor[[8, 8], pl.FP32]:
        return pl.add(a, a)
"""
    )
    assert passes.convert_tensor_to_tile_ops()(before) is before


def test_explicit_tile_code_gets_no_loads() -> None:
    _, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.Out[pl.Tensor[[8, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        t = pl.load(a, [0, 0], [8, 16])
        r = pl.store(pl.add(t, t), [0, 0], o)
        return r
"""
    )
    assert ops_of(after["k"]) == ["tile.load", "tile.add", "tile.store"]
    assert len(after["k"].params) == 2


def test_written_parameters_get_their_direction() -> None:
    _, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], b: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        t = pl.load(a, [0, 0], [8, 16])
        r = pl.store(t, [0, 0], b)
        s = pl.store(pl.add(t, t), [0, 0], a)
        return r
"""
    )
    assert list(after["k"].param_directions) == [ir.ParamDirection.InOut, ir.ParamDirection.Out]


CASES = {
    "column on the right": ("[32, 64]", "[32, 1]", "pl.mul(a, b)", "tile.row_expand_mul"),
    "column on the left": ("[32, 1]", "[32, 64]", "pl.add(a, b)", "tile.row_expand_add"),
    "same shapes": ("[32, 64]", "[32, 64]", "pl.sub(a, b)", "tile.sub"),
    "divided by a column": ("[32, 64]", "[32, 1]", "pl.div(a, pl.add(pl.abs(b), 1.0))", "tile.row_expand_div"),
    "larger": ("[32, 64]", "[32, 64]", "pl.maximum(a, b)", "tile.maximum"),
    "larger than a number": ("[32, 64]", "[32, 64]", "pl.maximum(a, 0.5)", "tile.maximums"),
    "sums of rows": ("[32, 64]", "[32, 64]", "pl.row_expand_sub(a, pl.row_max(b))", "tile.row_max"),
    "joined": ("[32, 64]", "[32, 64]", "pl.concat(a, b)", "tile.concat"),
}


@pytest.mark.parametrize("case", list(CASES))
def test_operator_map(case: str) -> None:
    left, right, expression, expected = CASES[case]
    result = "[32, 128]" if case == "joined" else "[32, 64]"
    before, after = convert(
        f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[{left}, pl.FP32], b: pl.Tensor[{right}, pl.FP32]) -> pl.Tensor[{result}, pl.FP32]:
        r = {expression}
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[{left}, pl.FP32], b: pl.Tensor[{right}, pl.FP32]) -> pl.Tensor[{result}, pl.FP32]:
        y = self.k(a, b)
        return y
"""
    )
    assert expected in ops_of(after["k"])
    assert not any(name.startswith("tensor.") for name in ops_of(after["k"]))
    assert_roundtrip(after)
    assert_same_meaning(before, after)


def test_carried_values_become_tiles() -> None:
    before, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[16, 32], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 32], pl.FP32]:
        acc = a
        for i in pl.range(3):
            if i < n:
                acc = pl.add(acc, a)
            else:
                acc = pl.mul(acc, 2.0)
        return acc

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[16, 32], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 32], pl.FP32]:
        y = self.k(a, n)
        return y
"""
    )
    loop = next(s for s in ir.flatten_to_stmts(after["k"].body) if isinstance(s, ir.ForStmt))
    assert isinstance(loop.iter_args[0].type, ir.TileType)
    assert isinstance(loop.return_vars[0].type, ir.TileType)
    assert_roundtrip(after)
    a = np.arange(16 * 32, dtype=np.float32).reshape(16, 32)
    for n in range(4):
        assert_same_meaning(before, after, [a, n])


def test_slices_load_and_assembles_store() -> None:
    before, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[64, 32], pl.FP32], o: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]) -> pl.Tensor[[64, 32], pl.FP32]:
        for i in pl.range(4):
            part = pl.slice(a, [16, 32], [i * 16, 0])
            o = pl.assemble(o, pl.mul(part, 3.0), [i * 16, 0])
        return o

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[64, 32], pl.FP32], o: pl.InOut[pl.Tensor[[64, 32], pl.FP32]]) -> pl.Tensor[[64, 32], pl.FP32]:
        o = self.k(a, o)
        return o
"""
    )
    assert ops_of(after["k"]) == ["tile.load", "tile.muls", "tile.store"]
    assert_roundtrip(after)
    assert_same_meaning(before, after)


@pytest.mark.parametrize("flags", ["", ", b_trans=True"])
def test_matrix_product_loads_to_mat(flags: str) -> None:
    right = "[64, 32]" if flags else "[32, 64]"
    before, after = convert(
        f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[16, 32], pl.FP16], b: pl.Tensor[{right}, pl.FP16]) -> pl.Tensor[[16, 64], pl.FP32]:
        r = pl.matmul(a, b, out_dtype=pl.FP32{flags})
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[16, 32], pl.FP16], b: pl.Tensor[{right}, pl.FP16]) -> pl.Tensor[[16, 64], pl.FP32]:
        y = self.k(a, b)
        return y
"""
    )
    loads = [n for n in ir.walk(after["k"].body) if isinstance(n, ir.Call) and n.op.name == "tile.load"]
    assert [n.kwargs["target_memory"] for n in loads] == [ir.MemorySpace.Mat, ir.MemorySpace.Mat]
    assert "tile.matmul" in ops_of(after["k"])
    assert_same_meaning(before, after)


GROUP = """
    @pl.function(type=pl.FunctionType.Group)
    def group(self, a: pl.Tensor[[24, 40], pl.FP32], b: pl.Tensor[[24, 40], pl.FP32]) -> pl.Tensor[[24, 40], pl.FP32]:
        y = self.wave(a, b)
        return y
"""


def test_wrappers_hand_the_output_on() -> None:
    kernel, _, caller = WAVE.partition("    @pl.function(type=pl.FunctionType.Orchestration)")
    text = kernel + GROUP.lstrip("\n") + "\n    @pl.function(type=pl.FunctionType.Orchestration)" + caller.replace("self.wave", "self.group")
    before, after = convert(text)
    assert list(after["group"].param_directions)[-1] is ir.ParamDirection.Out
    assert "tensor.create" not in ops_of(after["group"])
    assert "tensor.create" in ops_of(after["run"])
    assert_roundtrip(after)
    assert_same_meaning(before, after)


def test_dynamic_shape_uses_the_type_of_the_call() -> None:
    before, after = convert(
        """
M = pl.dynamic("M")

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        r = pl.exp(a)
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        return self.k(a)
"""
    )
    assert_same_meaning(before, after)


def test_bulk_and_scalar_writes_to_one_tensor_are_refused() -> None:
    text = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.Out[pl.Tensor[[8, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        t = pl.load(a, [0, 0], [8, 16])
        v: pl.Scalar[pl.FP32] = pl.read(a, [0, 0])
        r = pl.store(t, [0, 0], o)
        pl.write(r, [1, 1], v)
        return r
"""
    with pytest.raises(InvalidValueError, match="mixes") as caught:
        convert(text)
    assert caught.value.span["line"] == 9


def test_operator_without_conversion_is_named() -> None:
    from pypto.ir.op import unregister_op
    from pypto.ops import Kind, Lanes, Param, op

    op(
        "tensor.test_odd",
        params=[Param("tensor", Kind.TENSOR)],
        result=lambda declaration, args, kwargs: args[0].type,
        meaning=lambda x: x,
        lanes=Lanes.ELEMENTWISE,
        doc="Nothing.",
    )
    try:
        with pytest.raises(InvalidValueError, match=r"no registered tile conversion for 'tensor.test_odd'"):
            convert(
                """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        r = pl.tensor.test_odd(a)
        return r
"""
            )
    finally:
        unregister_op("tensor.test_odd")


def test_lowered_wave_runs_like_numpy() -> None:
    _, after = convert(WAVE)
    lowered = passes.lower_composite_ops()(after)
    a = np.random.default_rng(3).uniform(-50, 50, (24, 40)).astype(np.float32)
    b = np.random.default_rng(4).uniform(-2, 2, (24, 40)).astype(np.float32)
    exact = np.cos(a.astype(np.float64)) * b
    assert np.abs(run(lowered, a, b) - exact).max() < 1e-6
