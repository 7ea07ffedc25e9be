"""ConvertTensorToTileOps: loads at entry, tile operators, output parameters, callers, directions; and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import ops_of, prepare

import pypto.language as pl
from pypto import ir, passes
from pypto.diagnostics import InvalidValueError
from pypto.runtime import run
from pypto.testing import assert_roundtrip, assert_same_meaning


def convert(text: str) -> tuple[ir.Program, ir.Program]:
    before = prepare(text)
    return before, passes.convert_tensor_to_tile_ops()(before)


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
    text = (
        kernel
        + GROUP.lstrip("\n")
        + "\n    @pl.function(type=pl.FunctionType.Orchestration)"
        + caller.replace("self.wave", "self.group")
    )
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


# -- callers -----------------------------------------------------------------------------------------------------------------------


def test_launches_get_the_tensors_and_keep_their_attributes() -> None:
    kernel, _, _ = WAVE.partition("    @pl.function(type=pl.FunctionType.Orchestration)")
    _, after = convert(
        kernel
        + """
    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[24, 40], pl.FP32], b: pl.Tensor[[24, 40], pl.FP32]) -> pl.Tensor[[24, 40], pl.FP32]:
        y, first = pl.submit(self.wave, a, b, dumps=[b])
        z, second = pl.submit(self.wave, y, b, deps=[first])
        return z
"""
    )
    assert_roundtrip(after)
    launches = [n for n in ir.walk(after["run"].body) if isinstance(n, ir.Submit)]
    created = [
        s.var
        for s in ir.flatten_to_stmts(after["run"].body)
        if getattr(s.var if isinstance(s, ir.AssignStmt) else None, "name_hint", "") == "ret0__out"
    ]
    assert len(launches) == len(created) == 2
    assert sorted(id(launch.args[-1]) for launch in launches) == sorted(map(id, created))
    (dumped,) = [launch for launch in launches if "dump_vars" in launch.attrs]
    assert [v.name_hint for v in dumped.attrs["dump_vars"]] == ["b"]
    (later,) = [launch for launch in launches if launch.deps]
    assert later is not dumped


def test_calls_keep_their_attributes() -> None:
    before = prepare(WAVE)
    call = next(n for n in ir.walk(before["run"].body) if isinstance(n, ir.Call) and n.op.is_function)
    marked = call.replace(attrs={"dump_vars": [call.args[1]], "arg_directions": [ir.ArgDirection.Input, ir.ArgDirection.Input]})
    body = ir.SeqStmts(
        [s.replace(value=marked) if isinstance(s, ir.AssignStmt) else s for s in ir.flatten_to_stmts(before["run"].body)]
    )
    before = before.with_functions([before["run"].replace(body=body), before["wave"]])
    after = passes.convert_tensor_to_tile_ops()(before)
    made = next(n for n in ir.walk(after["run"].body) if isinstance(n, ir.Call) and n.op.is_function)
    assert [v.name_hint for v in made.attrs["dump_vars"]] == ["b"]
    assert list(made.arg_directions) == [ir.ArgDirection.Input, ir.ArgDirection.Input, ir.ArgDirection.Output]
    assert_roundtrip(after)


def test_calls_deep_inside_create_their_tensors_there() -> None:
    kernel, _, _ = WAVE.partition("    @pl.function(type=pl.FunctionType.Orchestration)")
    before, after = convert(
        kernel
        + """
    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[24, 40], pl.FP32], b: pl.Tensor[[24, 40], pl.FP32]) -> pl.Tensor[[24, 40], pl.FP32]:
        for i in pl.range(3):
            if i > 0:
                a = self.wave(a, b)
        return a
"""
    )
    assert_roundtrip(after)
    assert_same_meaning(before, after)


def test_several_results_take_several_tensors() -> None:
    before, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], b: pl.InOut[pl.Tensor[[8, 16], pl.FP32]]) -> tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 1], pl.FP32]]:
        u = pl.exp(a)
        r = pl.assemble(b, u, [0, 0])
        s = pl.row_sum(u)
        return u, r, s

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[8, 16], pl.FP32], b: pl.InOut[pl.Tensor[[8, 16], pl.FP32]]) -> tuple[pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 16], pl.FP32], pl.Tensor[[8, 1], pl.FP32]]:
        x, y, z = self.k(a, b)
        return x, y, z
"""
    )
    assert [p.name_hint for p in after["k"].params] == ["a", "b", "ret0__out", "ret2__out"]
    assert_roundtrip(after)
    assert_same_meaning(before, after)


# -- places, memory, valid regions -------------------------------------------------------------------------------------------------


def test_only_what_was_written_has_a_place() -> None:
    _, after = convert(WAVE)
    stmts = ir.flatten_to_stmts(after["wave"].body)
    synthesised = [s for s in stmts[:-1] if s.value.op.name in ("tile.load", "tile.store")]
    assert len(synthesised) == 3
    assert not any(s.span.is_valid() or s.value.span.is_valid() for s in synthesised)
    assert [s.span.begin_line for s in stmts if s not in synthesised] == [6, 7, 8]


def test_sums_of_products_stay_in_the_accumulator() -> None:
    _, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[16, 32], pl.FP16], b: pl.Tensor[[32, 48], pl.FP16]) -> pl.Tensor[[16, 48], pl.FP32]:
        acc = pl.create_tensor([16, 48], dtype=pl.FP32)
        for i in pl.range(2):
            x = pl.slice(a, [16, 16], [0, i * 16])
            y = pl.slice(b, [16, 48], [i * 16, 0])
            acc = pl.matmul_acc(acc, x, y, init_cond=i == 0)
        return acc
"""
    )
    assert ops_of(after["k"]) == ["tile.create", "tile.load", "tile.load", "tile.matmul_acc", "tile.store"]
    spaces = {
        n.var.type.memory_space
        for n in ir.walk(after["k"].body)
        if isinstance(n, ir.AssignStmt) and isinstance(n.var.type, ir.TileType)
    }
    assert spaces == {ir.MemorySpace.Acc, ir.MemorySpace.Mat}
    assert_roundtrip(after)


def test_slices_for_vector_and_matrix_unit_are_moved() -> None:
    before, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[32, 32], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 16], pl.FP32]:
        x = pl.slice(a, [16, 16], [0, 16])
        total = pl.full([16, 16], pl.FP32, 0.5)
        for i in pl.range(3):
            if i < n:
                total = pl.matmul_acc(total, x, x)
        r = pl.sub(total, x)
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[32, 32], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 16], pl.FP32]:
        y = self.k(a, n)
        return y
"""
    )
    (load,) = [n for n in ir.walk(after["k"].body) if isinstance(n, ir.Call) and n.op.name == "tile.load"]
    assert load.kwargs["target_memory"] is ir.MemorySpace.Vec
    assert "tile.move" in ops_of(after["k"])
    assert_roundtrip(after)
    a = np.random.default_rng(5).uniform(-1, 1, (32, 32)).astype(np.float32)
    for n in range(4):
        assert_same_meaning(before, after, [a, n])


VALID = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[16, 32], pl.FP32, pl.TensorView(valid_shape=[8, n])], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 1], pl.FP32]:
        s = pl.row_sum(pl.exp(a))
        r = pl.fillpad(s)
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[16, 32], pl.FP32, pl.TensorView(valid_shape=[8, n])], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 1], pl.FP32]:
        y = self.k(a, n)
        return y
"""


def test_valid_shapes_of_parameters_reach_the_loads() -> None:
    before, after = convert(VALID.replace("[8, n]", "[8, 20]"))
    (load,) = [n for n in ir.walk(after["k"].body) if isinstance(n, ir.Call) and n.op.name == "tile.load"]
    assert [d.value for d in load.args[3].elements] == [8, 20]
    assert_roundtrip(after)
    a = np.full((16, 32), np.nan, np.float32)
    a[:8, :20] = np.linspace(-1, 1, 160, dtype=np.float32).reshape(8, 20)
    assert_same_meaning(before, after, [a, 20])
    expected = np.zeros((16, 1))
    expected[:8, 0] = np.exp(a[:8, :20].astype(np.float64)).sum(axis=1)
    assert np.allclose(run(after, a, 20), expected, rtol=1e-5)


DIVISION = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[16, 32], pl.FP32], b: pl.Tensor[[16, 32], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 32], pl.FP32]:
        x = pl.slice(a, [16, 32], [0, 0], {dividend})
        y = pl.slice(b, {shape}, [0, 0], {divisor})
        z = pl.div(x, pl.add(pl.abs(y), 0.5))
        r = pl.fillpad(z)
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[16, 32], pl.FP32], b: pl.Tensor[[16, 32], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[16, 32], pl.FP32]:
        y = self.k(a, b, n)
        return y
"""


@pytest.mark.parametrize(
    ("dividend", "shape", "divisor"),
    [
        ("[8, 20]", "[16, 32]", "[8, 20]"),
        ("[8, 20]", "[16, 32]", "[12, 24]"),
        ("[n, 20]", "[16, 32]", "[n, 20]"),
        ("[n, 20]", "[16, 32]", "[n + 1, 32]"),
        ("[n, 20]", "[16, 1]", "[n, 1]"),
        ("[n, 20]", "[16, 1]", "[16, 1]"),
        ("[n, 20]", "[1, 32]", "[1, 24]"),
    ],
)
def test_divisor_that_covers_the_dividend(dividend: str, shape: str, divisor: str) -> None:
    before, after = convert(DIVISION.format(dividend=dividend, shape=shape, divisor=divisor))
    assert_roundtrip(after)
    assert_same_meaning(before, after)


@pytest.mark.parametrize(
    ("dividend", "shape", "divisor", "what"),
    [
        ("[8, 20]", "[16, 32]", "[7, 20]", "rows"),
        ("[8, 20]", "[16, 32]", "[8, 19]", "columns"),
        ("[16, 20]", "[16, 1]", "[n, 1]", "rows"),
        ("[n, 20]", "[16, 32]", "[n - 1, 32]", "rows"),
    ],
)
def test_divisor_that_may_not_cover_the_dividend(dividend: str, shape: str, divisor: str, what: str) -> None:
    with pytest.raises(InvalidValueError, match=f"tensor.div.*as many valid {what}.*provably cover") as caught:
        convert(DIVISION.format(dividend=dividend, shape=shape, divisor=divisor))
    assert caught.value.span["line"] == 8


def test_a_conversion_of_ones_own() -> None:
    from pypto.ir.op import unregister_op
    from pypto.ops import Kind, Lanes, Param, op
    from pypto.passes.op_conversion import op_conversion, remove_op_conversion

    op(
        "tensor.test_twice",
        params=[Param("tensor", Kind.TENSOR)],
        result=lambda declaration, args, kwargs: args[0].type,
        meaning=lambda tensor: tensor + tensor,
        lanes=Lanes.ELEMENTWISE,
        doc="Twice each element.",
    )
    op_conversion("tensor.test_twice")(lambda ctx, args, kwargs, span: ctx.call("tile.add", [args[0], args[0]]))
    try:
        before, after = convert(WAVE.replace("pl.cos(a)", "pl.tensor.test_twice(a)"))
        assert ops_of(after["wave"]) == ["tile.load", "tile.load", "tile.add", "tile.mul", "tile.store"]
        assert_same_meaning(before, after)
    finally:
        remove_op_conversion("tensor.test_twice")
        unregister_op("tensor.test_twice")


def test_writes_through_a_part_of_a_parameter_reach_it() -> None:
    before, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.InOut[pl.Tensor[[32, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        part = pl.slice(o, [8, 16], [8, 0])
        done = pl.assemble(part, pl.exp(a), [0, 0])
        r = pl.add(part, 1.0)
        return r

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.InOut[pl.Tensor[[32, 16], pl.FP32]]) -> pl.Tensor[[8, 16], pl.FP32]:
        y = self.k(a, o)
        return y
"""
    )
    assert ops_of(after["k"]) == ["tile.load", "tensor.slice", "tile.exp", "tile.store", "tile.load", "tile.adds", "tile.store"]
    assert_roundtrip(after)
    assert_same_meaning(before, after)
    assert passes.convert_tensor_to_tile_ops()(after) is after


def test_wrappers_write_what_their_kernels_write() -> None:
    _, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        r = pl.assemble(o, pl.exp(a), [0, 0])
        return r

    @pl.function(type=pl.FunctionType.Group)
    def group(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        y = self.k(a, o)
        return y
"""
    )
    for name in ("k", "group"):
        assert list(after[name].param_directions) == [ir.ParamDirection.In, ir.ParamDirection.Out]


def test_comments_and_untouched_statements_stay() -> None:
    before, after = convert(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[8, 16], pl.FP32]:
        # the first
        s: pl.Scalar[pl.FP32] = pl.read(a, [0, 0])
        if n > 2:
            # inside
            m: pl.Scalar[pl.INDEX] = n + 1
        # the loop
        for i, (acc,) in pl.range(3, init_values=(a,)):
            # the sum
            out = pl.yield_(pl.add(acc, s))
        # the end
        return out
"""
    )
    assert_roundtrip(after)
    text = ir.python_print(after)
    for words in ("the first", "inside", "the loop", "the sum", "the end"):
        assert text.count(f"# {words}\n") == 1
    (branch,) = [s for s in ir.flatten_to_stmts(before["k"].body) if isinstance(s, ir.IfStmt)]
    assert any(s is branch for s in ir.flatten_to_stmts(after["k"].body))


def test_calls_inside_calls_are_converted_too() -> None:
    before = pl.parse(
        """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], b: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        for i, (acc,) in pl.range(3, init_values=(a,)):
            out = pl.yield_(pl.row_expand_sub(pl.mul(acc, b), pl.row_max(pl.exp(acc))))
        return pl.add(pl.mul(out, 0.5), 1.0)

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[8, 16], pl.FP32], b: pl.Tensor[[8, 16], pl.FP32]) -> pl.Tensor[[8, 16], pl.FP32]:
        return self.k(a, b)
"""
    )
    after = passes.convert_tensor_to_tile_ops()(passes.convert_to_ssa()(before))
    assert not [name for name in ops_of(after["k"]) if name.startswith("tensor.")]
    assert_roundtrip(after)
    assert_same_meaning(before, after)


IN_PLACE = {
    "a parameter": """
x = pl.exp(o)
r = pl.assemble(o, a, [8, 0])
y = pl.add(o, x)
""",
    "a parameter, in tile code": """
x = pl.exp(o)
r = pl.store(pl.load(a, [0, 0], [8, 16]), [8, 0], o)
y = pl.add(o, x)
""",
    "a parameter in a loop": """
acc = pl.full([32, 16], pl.FP32, 0.0)
for i in pl.range(3):
    acc = pl.add(acc, o)
    r = pl.assemble(o, a, [8 * i, 0])
y = acc
""",
    "a value on chip": """
x = pl.exp(o)
r = pl.assemble(x, a, [8, 0])
y = pl.add(x, r)
""",
    "a value on chip, twice": """
x = pl.exp(o)
r = pl.assemble(x, a, [8, 0])
s = pl.assemble(x, a, [16, 0])
y = pl.add(x, 1.0)
""",
    "an element on chip": """
x = pl.exp(o)
pl.write(x, [3, 4], 9.0)
y = pl.add(x, 1.0)
""",
}


@pytest.mark.parametrize("case", list(IN_PLACE))
def test_what_is_written_in_place_is_read_afterwards(case: str) -> None:
    lines = "\n".join("        " + line for line in IN_PLACE[case].strip("\n").split("\n"))
    before, after = convert(
        f"""
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.InOut[pl.Tensor[[32, 16], pl.FP32]]) -> pl.Tensor[[32, 16], pl.FP32]:
{lines}
        return y

    @pl.function(type=pl.FunctionType.Orchestration)
    def run(self, a: pl.Tensor[[8, 16], pl.FP32], o: pl.InOut[pl.Tensor[[32, 16], pl.FP32]]) -> pl.Tensor[[32, 16], pl.FP32]:
        y = self.k(a, o)
        return y
"""
    )
    assert_roundtrip(after)
    assert_same_meaning(before, after)
    assert passes.convert_tensor_to_tile_ops()(after) is after
