"""Dispatches of collectives as text: what the printer writes is read, everything else is refused with the form that people write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto import ir
from pypto.ir.dtypes import DataType
from pypto.ir.op import create_internal_op_call, create_op_call
from pypto.ops.builtin import HOST_FORMS, arg_directions
from pypto.ops.vocabulary import lookup, names
from pypto.parser.errors import InvalidOperationError, ParserSyntaxError, ParserTypeError
from pypto.testing import assert_roundtrip

from .support import statements

HEAD = "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n"
SIGNATURE = (
    "@pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)\n"
    "def host(x: pld.DistributedTensor[[4, 16], pl.FP32], y: pld.DistributedTensor[[4, 16], pl.FP32],\n"
    "         row: pld.DistributedTensor[[1, 16], pl.FP32], s: pld.DistributedTensor[[4, 1], pl.INT32],\n"
    "         ring: pld.DistributedTensor[[7, 4], pl.INT32], n: pld.DistributedTensor[[4, 1], pl.INT32],\n"
    "         m: pld.DistributedTensor[[4, 1], pl.INT32], dev: pl.Scalar[pl.INT64]):\n"
)
LINE = HEAD.count("\n") + SIGNATURE.count("\n") + 1
INOUT, IN = "pl.adir.inout", "pl.adir.input"


def read(line: str, head: str = HEAD) -> Any:
    return pl.parse(f"{head}{SIGNATURE}    {line}\n")


CALLS = [
    ("allreduce(x, s, {0}, attrs={{{1}{2}}})", "op=1, dtype=pl.FP32, core_num=1", [INOUT, INOUT]),
    ("allreduce_ring(x, ring, {0}, attrs={{{1}{2}}})", "op=0, dtype=pl.FP32", [INOUT, INOUT]),
    ("barrier(s, attrs={{{1}{2}}})", "", [INOUT]),
    ("broadcast(x, s, {0}, attrs={{{1}{2}}})", "root=2, dtype=pl.FP32", [INOUT, INOUT]),
    ("reduce_scatter(x, s, {0}, attrs={{{1}{2}}})", "op=0, dtype=pl.FP32", [INOUT, INOUT]),
    ("allgather(row, x, s, {0}, attrs={{{1}{2}}})", "dtype=pl.FP32", [IN, INOUT, INOUT]),
    ("all_to_all(y, x, s, {0}, attrs={{{1}{2}}})", "dtype=pl.FP32", [IN, INOUT, INOUT]),
    ("all_to_all_v(y, x, s, n, m, {0}, attrs={{{1}{2}}})", "dtype=pl.FP32", [IN, INOUT, INOUT, IN, INOUT]),
]


def written(form: str, payload: str, directions: Sequence[str], device: str = "dev") -> str:
    """A dispatch as the seed prints it."""
    pairs = [p.split("=") for p in payload.split(", ")] if payload else []
    attrs = "".join(f'"{key}": {value}, ' for key, value in pairs)
    rest = f'"device": {device}, "arg_directions": [{", ".join(directions)}]'
    return f"pl.builtin.tensor.{form.format(payload, attrs, rest)}"


@pytest.mark.parametrize("device", ["dev", "pl.const(3, pl.INT64)"])
@pytest.mark.parametrize(("form", "payload", "directions"), CALLS, ids=[c[0].partition("(")[0] for c in CALLS])
def test_the_printed_form_is_read(form: str, payload: str, directions: list[str], device: str) -> None:
    line = written(form, payload, directions, device)
    function = read(line)
    (stmt,) = statements(function)
    assert isinstance(stmt, ir.EvalStmt)
    call: Any = stmt.expr
    declaration: Any = lookup(f"builtin.tensor.{form.partition('(')[0]}")
    assert call.op is declaration
    assert list(call.attrs) == [*declaration.keyword_params, "device", "arg_directions"]
    assert all(call.attrs[key] == value for key, value in call.kwargs.items())
    assert call.attrs["arg_directions"] == arg_directions(declaration)
    assert isinstance(call.attrs["device"], ir.Expr)
    assert line in ir.python_print(function, format=False)
    assert_roundtrip(function)


def test_a_plain_number_is_a_device() -> None:
    (stmt,) = statements(read('pl.builtin.tensor.barrier(s, attrs={"device": 3, "arg_directions": [pl.adir.inout]})'))
    device = stmt.expr.attrs["device"]
    assert (type(device), device.value, device.dtype) == (ir.ConstInt, 3, DataType.INDEX)


def test_further_attributes_are_kept() -> None:
    line = 'pl.builtin.tensor.barrier(s, attrs={"device": dev, "arg_directions": [pl.adir.inout], "order": 7})'
    function = read(line)
    assert statements(function)[0].expr.attrs["order"] == 7
    assert_roundtrip(function)


WRONG = [
    ("pl.builtin.tensor.barrier(s)", ParserSyntaxError, "barrier", ["'device'", "'arg_directions'"]),
    ('pl.builtin.tensor.barrier(s, attrs={"device": dev})', ParserSyntaxError, "barrier", ["'arg_directions'"]),
    ('pl.builtin.tensor.barrier(s, attrs={"arg_directions": [pl.adir.inout]})', ParserSyntaxError, "barrier", ["'device'"]),
    ("pl.builtin.tensor.allreduce(x, s)", ParserSyntaxError, "allreduce", ["'device'"]),
    (
        "pl.builtin.tensor.allreduce_ring(x, ring, op=0, dtype=pl.FP32)",
        ParserSyntaxError,
        "allreduce(..., mode='ring')",
        ["'device'"],
    ),
    (
        'pl.builtin.tensor.barrier(s, attrs={"device": dev, "arg_directions": []})',
        ParserTypeError,
        "barrier",
        ["arg_directions", "1 arguments"],
    ),
    (
        'pl.builtin.tensor.barrier(s, attrs={"device": x, "arg_directions": [pl.adir.inout]})',
        ParserTypeError,
        "barrier",
        ["'device'", "integer"],
    ),
    (
        'pl.builtin.tensor.barrier(s, attrs={"device": -1, "arg_directions": [pl.adir.inout]})',
        ParserTypeError,
        "barrier",
        ["device -1"],
    ),
    (
        'pl.builtin.tensor.broadcast(x, s, root=1, dtype=pl.FP32, attrs={"root": 2, "device": dev, "arg_directions": '
        "[pl.adir.inout, pl.adir.inout]})",
        ParserTypeError,
        "broadcast",
        ["'root'", "different"],
    ),
    ("pl.builtin.tensor.allredcue(x, s)", InvalidOperationError, "allreduce", ["no such builtin"]),
    ("pl.builtin.tensor.foo(x)", InvalidOperationError, "<name>", ["no such builtin"]),
    ("pl.builtin.barrier(s)", InvalidOperationError, "barrier", ["no such builtin"]),
    ("pld.builtin.tensor.barrier(s)", InvalidOperationError, "barrier", ["passes alone"]),
    ("builtin.tensor.barrier(s)", InvalidOperationError, "barrier", ["passes alone"]),
    ("pl.tensor.allreduce(x, s)", InvalidOperationError, "allreduce", ["unknown operation"]),
    ("pl.barrier(s)", InvalidOperationError, "barrier", ["unknown operation"]),
    ('pl.expr.call("builtin.tensor.barrier", s)', InvalidOperationError, "barrier", ["passes alone"]),
]


@pytest.mark.parametrize(("line", "kind", "form", "words"), WRONG, ids=[w[0] for w in WRONG])
def test_other_spellings_are_refused(line: str, kind: type[pypto.Error], form: str, words: list[str]) -> None:
    with pytest.raises(kind) as caught:
        read(line)
    error: Any = caught.value
    assert error.span["line"] == LINE
    assert f"pld.tensor.{form}" in str(error), str(error)
    for word in words:
        assert word in str(error)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (
            'pl.builtin.tensor.allreduce(x, s, op=9, dtype=pl.FP32, core_num=1, attrs={"device": dev, "arg_directions": [%s, %s]})',
            "op",
        ),
        (
            'pl.builtin.tensor.allreduce(x, s, op=0, dtype=pl.FP16, core_num=1, attrs={"device": dev, "arg_directions": [%s, %s]})',
            "FP16",
        ),
        ('pl.builtin.tensor.broadcast(x, s, dtype=pl.FP32, attrs={"device": dev, "arg_directions": [%s, %s]})', "root"),
        (
            'pl.builtin.tensor.allreduce_ring(x, s, op=0, dtype=pl.FP32, attrs={"device": dev, "arg_directions": [%s, %s]})',
            "7 rows",
        ),
    ],
)
def test_operands_are_checked_as_in_any_call(line: str, word: str) -> None:
    line = line.replace("(x, s, op=0, dtype=pl.FP32, attrs", "(x, ring6, op=0, dtype=pl.FP32, attrs") % (INOUT, INOUT)
    head = SIGNATURE.replace("dev: pl", "ring6: pld.DistributedTensor[[6, 4], pl.INT32], dev: pl")
    with pytest.raises(InvalidOperationError, match=word) as caught:
        pl.parse(f"{HEAD}{head}    {line}\n")
    assert caught.value.span["line"] == LINE


def test_people_cannot_make_dispatches_in_other_ways() -> None:
    signal = ir.Var("s", ir.DistributedTensorType([4], DataType.INT32))
    with pytest.raises(ValueError, match="internal"):
        create_op_call("builtin.tensor.barrier", [signal])
    assert create_internal_op_call(HOST_FORMS["pld.tensor.barrier"]["mesh"], [signal]).type is signal.type
    assert names("builtin.tensor") == []
    assert not hasattr(pl, "builtin")


def _function(call: ir.Call, params: list[ir.Var]) -> ir.Function:
    return ir.Function("host", params, [], ir.EvalStmt(call), level=ir.Level.HOST, role=ir.Role.Orchestrator)


@pytest.mark.parametrize(
    "attrs",
    [
        {},
        {"device": ir.ConstInt(0, DataType.INT64)},
        {"arg_directions": [ir.ArgDirection.InOut, ir.ArgDirection.InOut]},
        {"device": ir.ConstInt(0, DataType.INT64), "arg_directions": [ir.ArgDirection.InOut] * 2, "root": 3},
    ],
)
def test_a_dispatch_that_lacks_something_prints_in_the_plain_form(attrs: dict[str, Any]) -> None:
    """A program made by hand keeps its text, which only a printed file may hold."""
    x = ir.Var("x", ir.DistributedTensorType([16], DataType.FP32))
    s = ir.Var("s", ir.DistributedTensorType([4], DataType.INT32))
    made = create_internal_op_call(HOST_FORMS["pld.tensor.broadcast"]["mesh"], [x, s], {"root": 1, "dtype": DataType.FP32})
    function = _function(ir.set_call_attrs(made, attrs), [x, s])
    text = function.as_python()
    assert "pl.builtin" not in text
    assert_roundtrip(function)
    with pytest.raises(InvalidOperationError, match=r"pld\.tensor\.broadcast"):
        pl.parse(text.partition("\n")[2])
