"""Arguments of a run: what is accepted, and how what is not is told."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from pypto import ir
from pypto.ir import DataType
from pypto.ir.expr import Var
from pypto.runtime import ArgumentError, ArgumentTypeError, run
from tests.runtime.building import BF16, BOOL, FP16, FP32, INDEX, INT8, INT32, Body, Out, call, load, scalar, tensor


def identity(*params: Var) -> ir.Function:
    body = Body()
    body.give(*params)
    return body.function("f", [*params])


def add(dtype=FP32, shape=(2, 32)) -> ir.Function:
    x = Var("x", tensor(shape, dtype))
    body = Body()
    body.give(body.let("y", call("tensor.add", x, x)))
    return body.function("add", [x])


def test_the_number_of_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"'add' takes 1 argument \(x\), got 2"):
        run(add(), np.zeros((2, 32), np.float32), 1)
    with pytest.raises(ArgumentError, match=r"takes 1 argument \(x\), got 0"):
        run(add())


def test_trailing_outputs_may_be_left_out() -> None:
    rows = Var("R", scalar(INDEX))
    x, o = Var("x", tensor([rows, 32])), Var("o", tensor([rows, 32]))
    body = Body()
    body.give(body.let("s", call("tile.store", load(x, [0, 0], [2, 32]), [0, 0], o)))
    f = body.function("f", [x, (o, Out)])
    values = np.ones((2, 32), np.float32)
    np.testing.assert_array_equal(run(f, values), values)
    unknown = Var("U", scalar(INDEX))
    other = body.function("g", [x, (Var("p", tensor([unknown, 32])), Out)])
    with pytest.raises(ArgumentError, match="'p' was left out, but its dimension 'U' is not known"):
        run(other, values)


@pytest.mark.parametrize(
    ("value", "match"),
    [
        (np.zeros((2, 32)), r"must hold FP32 \(NumPy float32\), got float64"),
        (np.zeros((2, 32), np.int32), "got int32"),
        ("text", "must be a NumPy array, got str"),
        (None, "must be a NumPy array, got NoneType"),
    ],
)
def test_the_wrong_kind_of_array(value, match: str) -> None:
    with pytest.raises(ArgumentTypeError, match=match) as caught:
        run(add(), value)
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


def test_the_hint_shows_the_conversion() -> None:
    with pytest.raises(ArgumentTypeError, match=r"x\.astype\(np\.float32\)"):
        run(add(), np.zeros((2, 32)))
    with pytest.raises(ArgumentTypeError, match=r"x\.astype\(ml_dtypes\.bfloat16\)"):
        run(add(BF16), np.zeros((2, 32), np.float32))


def test_shapes() -> None:
    with pytest.raises(ArgumentError, match=r"must have the shape \[2, 32\], got \[2, 31\] \(dimension 1\)"):
        run(add(), np.zeros((2, 31), np.float32))
    with pytest.raises(ArgumentError, match=r"must have 2 dimensions \(\[2, 32\]\), got the shape \[64\]"):
        run(add(), np.zeros(64, np.float32))


def test_conflicting_dimensions_are_named_with_both_values() -> None:
    m = Var("M", scalar(INDEX))
    f = identity(Var("a", tensor([m, 8])), Var("b", tensor([4, m])))
    with pytest.raises(ArgumentError, match=r"'M' cannot be both 3 \(dimension 0 of 'a'\) and 5 \(dimension 1 of 'b'\)"):
        run(f, np.zeros((3, 8), np.float32), np.zeros((4, 5), np.float32))


def test_a_scalar_parameter_that_is_a_dimension() -> None:
    n = Var("n", scalar(INDEX))
    f = identity(n, Var("a", tensor([n, 8])))
    assert run(f, 3, np.zeros((3, 8), np.float32))[0] == 3
    with pytest.raises(ArgumentError, match=r"'n' cannot be both 4 \(the argument 'n'\) and 3"):
        run(f, 4, np.zeros((3, 8), np.float32))


def test_computed_dimensions_are_checked() -> None:
    n = Var("N", scalar(INDEX))
    f = identity(Var("a", tensor([n, 8])), Var("b", tensor([ir.Mul(n, ir.index_const(2), INDEX), 8])))
    run(f, np.zeros((3, 8), np.float32), np.zeros((6, 8), np.float32))
    with pytest.raises(ArgumentError, match="dimension 0 of 'b' must be 6, got 7"):
        run(f, np.zeros((3, 8), np.float32), np.zeros((7, 8), np.float32))


def test_a_symbol_that_only_metadata_mentions() -> None:
    k = Var("K", scalar(INDEX))
    view = ir.TensorView([], ir.TensorLayout.ND, [k, 8])
    f = identity(Var("a", ir.TensorType([4, 8], FP32, None, view)))
    with pytest.raises(ArgumentError, match="the symbol 'K' in the type of 'a' has no value"):
        run(f, np.zeros((4, 8), np.float32))


def test_lists_of_numbers() -> None:
    f = add(INT32, (2, 3))
    np.testing.assert_array_equal(run(f, [[1, 2, 3], [4, 5, 6]]), [[2, 4, 6], [8, 10, 12]])
    np.testing.assert_array_equal(run(add(FP32, (2,)), [0.5, 1]), [1, 2])
    with pytest.raises(ArgumentError, match="does not fit INT8"):
        run(add(INT8, (2,)), [1, 300])
    with pytest.raises(ArgumentError, match="no array of INT32"):
        run(add(INT32, (2,)), [1, 2.5])


@pytest.mark.parametrize(
    ("dtype", "value", "match"),
    [
        (INT32, 2**31, "does not fit INT32"),
        (INDEX, 1.5, "must be an integer"),
        (INT32, True, "must be an integer"),
        (BOOL, 1, "must be True or False"),
        (FP32, "1", "must be a number"),
        (DataType.UINT8, -1, "does not fit UINT8"),
    ],
)
def test_wrong_scalars(dtype: DataType, value, match: str) -> None:
    with pytest.raises(ArgumentError, match=match):
        run(identity(Var("s", scalar(dtype))), value)


def test_scalars_have_their_element_type() -> None:
    assert run(identity(Var("s", scalar(FP16))), 0.1) == np.float16(0.1)
    assert run(identity(Var("s", scalar(BF16))), 0.1) == ml_dtypes.bfloat16(0.1)
    assert run(identity(Var("s", scalar(INT32))), np.int64(7)) == 7
    assert run(identity(Var("s", scalar(BOOL))), np.True_) == True  # noqa: E712 - a NumPy bool


def test_read_only_arrays() -> None:
    x = np.zeros((2, 32), np.float32)
    x.flags.writeable = False
    run(add(), x)
    o = Var("o", tensor([2, 32]))
    body = Body()
    body.give(o)
    with pytest.raises(ArgumentError, match="written in place, but the array is read-only"):
        run(body.function("f", [(o, Out)]), x)
    with pytest.raises(ArgumentTypeError, match="written in place and must be a NumPy array, got list"):
        run(body.function("f", [(o, Out)]), [[0.0] * 32] * 2)


def test_what_a_run_itself_refuses() -> None:
    x = np.zeros((2, 32), np.float32)
    with pytest.raises(ArgumentError, match="at most 64 ranks"):
        run(add(), x, ranks=65)
    for ranks in (0, -1, 1.0, True):
        with pytest.raises(ArgumentError, match="ranks must be a positive integer"):
            run(add(), x, ranks=ranks)
    with pytest.raises(ArgumentError, match="'fastest' is no schedule"):
        run(add(), x, schedule="fastest")
    run(add(), x, schedule="random:3")
    with pytest.raises(ArgumentTypeError, match="run takes a program or a function, got int"):
        run(3)
    with pytest.raises(ArgumentError, match="the function is called 'add'"):
        run(add(), x, entry="sub")


def test_a_report() -> None:
    result, report = run(add(), np.ones((2, 32), np.float32), report=True)
    np.testing.assert_array_equal(result, np.full((2, 32), 2))
    assert report.statistics["ranks"] == 1
    assert dict(report.windows) == {}
