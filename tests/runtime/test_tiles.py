"""Tiles and tensors in straight-line code: values, element types, in-place writes and aliasing, against NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pypto import ir
from pypto.ir.expr import Var
from pypto.runtime import compile_function, run
from tests.runtime.building import BF16, FP16, FP32, INDEX, INT32, Body, InOut, Out, call, load, number, scalar, tensor

RNG = np.random.default_rng(7)


def uniform(*shape: int) -> np.ndarray:
    return RNG.uniform(-2, 2, shape).astype(np.float32)


def kernel(build, shape=(8, 64), dtype=FP32) -> ir.Function:
    """A kernel that loads x, applies ``build`` and stores into o."""
    x, o = Var("x", tensor(shape, dtype)), Var("o", tensor(shape, dtype))
    body = Body()
    zeros = [0] * len(shape)
    tile = body.let("t", load(x, zeros, list(shape)))
    body.give(body.let("stored", call("tile.store", build(body, tile), zeros, o)))
    return body.function("kernel", [x, (o, Out)])


def test_load_compute_store() -> None:
    f = kernel(lambda b, t: b.let("u", call("tile.add", b.let("d", call("tile.muls", t, number(2.0, FP32))), t)))
    x, o = uniform(8, 64), np.zeros((8, 64), np.float32)
    before = x.copy()
    result = run(f, x, o)
    assert result is o
    np.testing.assert_array_equal(o, (x * np.float32(2)) + x)
    np.testing.assert_array_equal(x, before)


def test_an_elementwise_numpy_operator_is_called_directly() -> None:
    f = kernel(lambda b, t: b.let("u", call("tile.add", t, t)))
    assert any(line.strip() == "u = _np_add(t, t)" for line in compile_function(f).source.splitlines())


def test_arrays_are_let_go_after_their_last_use() -> None:
    f = kernel(lambda b, t: b.let("v", call("tile.mul", b.let("u", call("tile.add", t, t)), t)))
    lines = [line.strip() for line in compile_function(f).source.splitlines()]
    assert lines[lines.index("v = _np_multiply(u, t)") + 1] in ("del t, u", "del u, t")


@pytest.mark.parametrize(("dtype", "numpy_type"), [(FP16, np.float16), (BF16, ml_dtypes.bfloat16), (INT32, np.int32)])
def test_results_have_exactly_the_element_type(dtype, numpy_type) -> None:
    f = kernel(lambda b, t: b.let("u", call("tile.add", b.let("d", call("tile.muls", t, number(3, dtype))), t)), dtype=dtype)
    x = RNG.integers(-50, 50, (8, 64)).astype(numpy_type)
    result = run(f, x)
    assert result.dtype == numpy_type
    exact = x.astype(np.float64)
    step = (exact * 3).astype(numpy_type).astype(np.float64)
    np.testing.assert_array_equal(result.astype(np.float64), (step + exact).astype(numpy_type).astype(np.float64))


def test_integers_wrap() -> None:
    f = kernel(lambda b, t: b.let("u", call("tile.add", t, t)), dtype=INT32)
    x = np.full((8, 64), 2**30 + 1, np.int32)
    np.testing.assert_array_equal(run(f, x), np.full((8, 64), -(2**31) + 2, np.int64))


def test_casts_saturate_and_send_nan_to_zero() -> None:
    x, o = Var("x", tensor([1, 8])), Var("o", tensor([1, 8], INT32))
    body = Body()
    t = body.let("t", load(x, [0, 0], [1, 8]))
    c = body.let("c", call("tile.cast", t, target_type=INT32, mode=int(ir.CastMode.round)))
    body.give(body.let("s", call("tile.store", c, [0, 0], o)))
    f = body.function("f", [x, (o, Out)])
    values = np.float32([[2.5, -2.5, 1e20, -1e20, np.nan, np.inf, 0.49, -0.5]])
    np.testing.assert_array_equal(run(f, values), [[3, -3, 2**31 - 1, -(2**31), 0, 2**31 - 1, 0, -1]])


def test_tensor_level_operators_without_tiles() -> None:
    a, b = Var("a", tensor([4, 32])), Var("b", tensor([4, 32]))
    body = Body()
    body.give(body.let("d", call("tensor.sub", body.let("c", call("tensor.add", a, b)), a)))
    f = body.function("f", [a, b], type=ir.FunctionType.Orchestration)
    x, y = uniform(4, 32), uniform(4, 32)
    np.testing.assert_array_equal(run(f, x, y), (x + y) - x)


def test_matmul_against_float64() -> None:
    a, b = Var("a", tensor([16, 32])), Var("b", tensor([32, 8]))
    body = Body()
    body.give(body.let("c", call("tensor.matmul", a, b)))
    x, y = uniform(16, 32), uniform(32, 8)
    np.testing.assert_allclose(
        run(body.function("f", [a, b]), x, y), x.astype(np.float64) @ y.astype(np.float64), rtol=1e-4, atol=1e-5
    )


def test_a_tile_is_a_value_although_its_tensor_changes_later() -> None:
    x = Var("x", tensor([4, 32]))
    body = Body()
    t = body.let("t", load(x, [0, 0], [4, 32]))
    twice = body.let("twice", call("tile.add", t, t))
    y = body.let("y", call("tile.store", twice, [0, 0], x))
    body.give(body.let("z", call("tile.store", body.let("sum", call("tile.add", t, twice)), [0, 0], y)))
    f = body.function("f", [(x, InOut)])
    values = uniform(4, 32)
    before = values.copy()
    assert run(f, values) is values
    np.testing.assert_array_equal(values, before + (before + before))


def test_views_share_storage_with_their_tensor() -> None:
    x, part = Var("x", tensor([8, 32])), Var("p", tensor([2, 32]))
    body = Body()
    view = body.let("view", call("tensor.slice", x, [2, 32], [4, 0]))
    tile = body.let("t", load(part, [0, 0], [2, 32]))
    body.let("written", call("tile.store", tile, [0, 0], view))
    body.give(x)
    f = body.function("f", [(x, InOut), part])
    values, patch = uniform(8, 32), uniform(2, 32)
    expected = values.copy()
    expected[4:6] = patch
    run(f, values, patch)
    np.testing.assert_array_equal(values, expected)


def test_an_input_is_never_changed() -> None:
    x, v = Var("x", tensor([4, 32])), Var("v", tensor([1, 32]))
    body = Body()
    body.give(body.let("y", call("tensor.assemble", x, v, [2, 0])))
    f = body.function("f", [x, v])
    values, row = uniform(4, 32), uniform(1, 32)
    before, expected = values.copy(), values.copy()
    expected[2] = row
    result = run(f, values, row)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(values, before)


def test_writing_to_what_was_computed_leaves_the_operands_alone() -> None:
    a, v = Var("a", tensor([4, 32])), Var("v", scalar(FP32))
    body = Body()
    c = body.let("c", call("tensor.add", a, a))
    same = body.let("same", c)
    body.do(call("tensor.write", same, [1, 2], v))
    body.give(c, a)
    f = body.function("f", [a, v])
    x = uniform(4, 32)
    expected = x + x
    expected[1, 2] = 9
    changed, untouched = run(f, x, 9.0)
    np.testing.assert_array_equal(changed, expected)
    np.testing.assert_array_equal(untouched, x)
    assert untouched is not x


def test_tile_elements_are_read_and_written() -> None:
    x, o = Var("x", tensor([4, 32])), Var("o", tensor([4, 32]))
    body = Body()
    t = body.let("t", load(x, [0, 0], [4, 32]))
    e = body.let("e", call("tile.read", t, [1, 3]))
    body.do(call("tile.write", t, [0, 0], body.let("e2", ir.Mul(e, number(2.0, FP32), FP32))))
    body.give(body.let("s", call("tile.store", t, [0, 0], o)))
    values = uniform(4, 32)
    expected = values.copy()
    expected[0, 0] = values[1, 3] * 2
    np.testing.assert_array_equal(run(body.function("f", [x, (o, Out)]), values), expected)


def test_output_arrays_that_are_not_contiguous() -> None:
    f = kernel(lambda b, t: b.let("u", call("tile.add", t, t)), shape=(4, 32))
    wide = np.zeros((32, 8), np.float32)
    o = wide.T[::2]
    x = uniform(4, 32)
    assert run(f, x, o) is o
    np.testing.assert_array_equal(wide.T[::2], x + x)
    assert not wide.T[1::2].any()


def test_unwritten_elements_of_an_output_keep_what_they_held() -> None:
    x, o = Var("x", tensor([2, 32])), Var("o", tensor([4, 32]))
    body = Body()
    t = body.let("t", load(x, [0, 0], [2, 32]))
    body.give(body.let("s", call("tile.store", t, [1, 0], o)))
    held, values = np.full((4, 32), 5, np.float32), uniform(2, 32)
    result = run(body.function("f", [x, (o, Out)]), values, held)
    np.testing.assert_array_equal(result, np.concatenate([np.full((1, 32), 5), values, np.full((1, 32), 5)]))


def test_a_straight_line_of_31000_statements() -> None:
    x, o = Var("x", tensor([1, 32])), Var("o", tensor([1, 32]))
    body = Body()
    tile = body.let("t", load(x, [0, 0], [1, 32]))
    for _ in range(31_000):
        tile = body.let("t", call("tile.add", tile, body.stmts[0].var))
    body.give(body.let("s", call("tile.store", tile, [0, 0], o)))
    result = run(body.function("f", [x, (o, Out)]), np.full((1, 32), 0.5, np.float32))
    np.testing.assert_array_equal(result, np.full((1, 32), 0.5 * 31_001))


def sin_kernel(shape: tuple[int, int]) -> ir.Function:
    """The statements that a sine is lowered to."""
    values = {
        "INV": 0.31830987334251404, "V2": 3.140625, "C1": 0.0009670257568359375, "C2": 6.277114152908325e-07,
        "C3": 1.2164491636212915e-10, "C4": -1.0290622927356871e-13, "R0": 2.604926521598827e-06,
        "R1": -0.0001980894448934123, "R2": 0.008333049714565277, "R3": -0.16666658222675323,
    }  # fmt: skip
    constant = {k: number(v, FP32) for k, v in values.items()}

    def build(b: Body, x: Var) -> Var:
        def op(name, *args, **kwargs):
            return b.let(name.split(".")[1], call(name, *args, **kwargs))

        def integral(tile, mode):
            whole = op("tile.cast", tile, target_type=INT32, mode=int(mode))
            return op("tile.cast", whole, target_type=FP32, mode=int(ir.CastMode.none))

        k = integral(op("tile.muls", x, constant["INV"]), ir.CastMode.round)
        t = x
        for name in ("V2", "C1", "C2", "C3", "C4"):
            t = op("tile.sub", t, op("tile.muls", k, constant[name]))
        half = integral(op("tile.muls", k, number(0.5, FP32)), ir.CastMode.floor)
        sign = op("tile.add", op("tile.muls", half, number(4.0, FP32)), op("tile.muls", k, number(-2.0, FP32)))
        sign = op("tile.adds", sign, number(1.0, FP32))
        square = op("tile.mul", t, t)
        p = op("tile.adds", op("tile.muls", square, constant["R0"]), constant["R1"])
        for name in ("R2", "R3"):
            p = op("tile.adds", op("tile.mul", p, square), constant[name])
        p = op("tile.adds", op("tile.mul", p, square), number(1.0, FP32))
        return op("tile.mul", sign, op("tile.mul", t, p))

    return kernel(build, shape)


def test_a_lowered_sine_against_float64() -> None:
    x = RNG.uniform(-6434, 6434, (32, 64)).astype(np.float32)
    result = run(sin_kernel((32, 64)), x)
    np.testing.assert_allclose(result, np.sin(x.astype(np.float64)), rtol=0, atol=5e-7)
    special = np.zeros((32, 64), np.float32)
    special[0, :3] = [np.nan, 1e-30, 0]
    result = run(sin_kernel((32, 64)), special)
    assert np.isnan(result[0, 0])
    assert result[0, 1] == np.float32(1e-30)


def test_dynamic_dimensions() -> None:
    rows = Var("ROWS", scalar(INDEX))
    x, o = Var("x", tensor([rows, 32])), Var("o", tensor([rows, 32]))
    body = Body()
    i = Var("i", scalar(INDEX))
    inner = Body()
    t = inner.let("t", load(x, [i, 0], [1, 32]))
    inner.let("s", call("tile.store", inner.let("n", call("tile.add", t, t)), [i, 0], o))
    body.add(ir.ForStmt(i, 0, rows, 1, [], inner.stmt, []))
    body.give(o)
    f = body.function("f", [x, (o, Out)])
    for size in (1, 5):
        values = uniform(size, 32)
        np.testing.assert_array_equal(run(f, values), values + values)
