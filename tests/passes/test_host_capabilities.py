"""What collectives between hosts accept: each cell of the table, against what the passes do with a program for it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from host_programs import calls, host_of, text_of, through

import pypto
import pypto.language as pl
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ReduceOp
from pypto.ops.builtin import HOST_FORMS
from pypto.ops.support import CAPABILITIES, MODES, SUPPORT, SignalShape, Tier, capability

DEVICES = 4
SIGNALS = ("[4]", "[4, 1]", "[4, 3]", "[6, 4]", "[7, 4]", "INT64 [4]", "missing")
FITTING = {
    SignalShape.RANKS: {"[4]", "[4, 1]"},
    SignalShape.EXACT_COLUMN: {"[4, 1]"},
    SignalShape.RING: {"[7, 4]"},
    # any second extent is enough for one core; more rows than ranks are spare
    SignalShape.LANES: {"[4]", "[4, 1]", "[4, 3]", "[6, 4]", "[7, 4]"},
}
DTYPES = (DataType.FP32, DataType.FP16, DataType.BF16, DataType.INT32, DataType.INT8)
OPERANDS = {
    "allreduce": ("x",),
    "barrier": (),
    "broadcast": ("x",),
    "reduce_scatter": ("x",),
    "allgather": ("row", "x"),
    "all_to_all": ("y", "x"),
    "all_to_all_v": ("y", "x"),
}
HOST_ROWS = [(name, mode) for name, mode, tier in CAPABILITIES if tier is Tier.HOST]


def test_every_dispatch_has_a_row_and_every_row_a_dispatch() -> None:
    assert sorted((name.rpartition(".")[2], mode) for name, forms in HOST_FORMS.items() for mode in forms) == sorted(HOST_ROWS)


def test_hosts_accept_nothing_that_the_operator_refuses() -> None:
    for name, mode in HOST_ROWS:
        row = capability(name, mode, Tier.HOST)
        assert row is not None
        wide = SUPPORT[name]
        assert not wide.dtypes or set(row.dtypes) <= set(wide.dtypes)
        assert set(row.reductions) <= set(wide.reductions)
        assert mode in (wide.modes or MODES[:1])


def test_limits_of_the_seed() -> None:
    ring = CAPABILITIES["allreduce", "ring", Tier.HOST]
    assert (ring.most_ranks, ring.dtypes, ring.reductions) == (16, (DataType.FP32,), (ReduceOp.Sum,))
    assert [ring.signal.ring_rows(n) for n in (2, 3, 4, 16)] == [3, 5, 7, 31]
    mesh = CAPABILITIES["allreduce", "mesh", Tier.HOST]
    assert (mesh.many_cores, mesh.signal_optional) == (True, True)
    assert [key for key, row in CAPABILITIES.items() if key[2] is Tier.HOST and not row.in_loops] == [
        ("all_to_all_v", "mesh", Tier.HOST)
    ]


def _program(name: str, mode: str, dtype: DataType, reduction: ReduceOp, signal: str) -> str:
    data = {"x": ("[4, 16]", dtype.name), "y": ("[4, 16]", dtype.name), "row": ("[1, 16]", dtype.name)}
    windows = {n: data[n] for n in ("x", *OPERANDS[name])}
    if signal != "missing":
        windows["s"] = ("[4]", "INT64") if signal.startswith("INT64") else (signal, "INT32")
    operands = [*OPERANDS[name], *(["s"] if signal != "missing" else [])]
    if name == "all_to_all_v":
        windows.update(sc=("[4]", "INT32"), rc=("[4, 1]", "INT32"))
        operands += ["sc", "rc"]
    keywords = {
        "allreduce": f', op=pld.ReduceOp.{reduction.name}, mode="{mode}"',
        "reduce_scatter": f", op=pld.ReduceOp.{reduction.name}",
        "broadcast": ", root=1",
    }.get(name, "")
    return text_of(windows, [(n, str(DEVICES)) for n in windows], f"pld.tensor.{name}({', '.join(operands)}{keywords})\nreturn 0")


def _cells(name: str, mode: str) -> list[tuple[DataType, ReduceOp, str]]:
    reductions = tuple(ReduceOp) if name in ("allreduce", "reduce_scatter") else (ReduceOp.Sum,)
    dtypes = DTYPES if OPERANDS[name] else (DataType.FP32,)
    return list(product(dtypes, reductions, SIGNALS))


@pytest.mark.parametrize(("name", "mode"), HOST_ROWS)
def test_every_cell_is_accepted_or_refused_by_name(name: str, mode: str) -> None:
    row = capability(name, mode, Tier.HOST)
    assert row is not None
    accepted = 0
    for dtype, reduction, signal in _cells(name, mode):
        fits = signal in FITTING[row.signal] or (signal == "missing" and row.signal_optional)
        fits = fits and (not row.dtypes or dtype in row.dtypes) and (not row.reductions or reduction in row.reductions)
        text = _program(name, mode, dtype, reduction, signal)
        cell = f"{name} {mode} {dtype.name} {reduction.name} {signal}"
        try:
            program: Any = through(pl.parse(text), "lower_host_tensor_collectives", check=False)  # type: ignore[arg-type]
        except pypto.Error as error:
            assert not fits, f"{cell} is refused\n{error}"
            assert f"pld.tensor.{name}" in error.message, error.message
            line = next(at for at, line in enumerate(text.splitlines(), 1) if f"pld.tensor.{name}" in line)
            assert error.span["line"] == line
            wrong_signal = signal == "missing" or signal.startswith("INT64") or signal not in FITTING[row.signal]
            words = ["signal"] if wrong_signal else []
            words += [dtype.name] if row.dtypes and dtype not in row.dtypes else []
            words += ["op", "mode"] if row.reductions and reduction not in row.reductions else []
            assert any(word in str(error) for word in words), str(error)
        else:
            assert fits, f"{cell} is accepted"
            accepted += 1
            made = calls(host_of(program), "builtin.*")
            assert [c.op.name for c in made] == [HOST_FORMS[f"pld.tensor.{name}"][mode].name] * DEVICES
    assert accepted
