"""Communication domains and window references as text."""

from __future__ import annotations

from typing import Any

import pytest

import pypto
import pypto.language as pl
from pypto import ir
from pypto.ir.dtypes import DataType
from pypto.ir.op import create_op_call
from pypto.testing import assert_roundtrip

INT64 = DataType.INT64
HEAD = "import pypto.language as pl\nimport pypto.language.distributed as pld\n\n"


def host(windows: int = 2, devices: tuple[int, ...] = (), flags: tuple[bool, bool] = (False, False)) -> ir.Function:
    """A host orchestrator with one domain, whose windows have two views each."""
    stmts: list[ir.Stmt] = []
    slots: list[ir.WindowBuffer] = []
    views: list[ir.Var] = []
    for at in range(windows):
        size = ir.ConstInt(64, INT64)
        base = ir.Var(f"buf{at}", ir.PtrType())
        stmts.append(ir.AssignStmt(base, create_op_call("pld.tensor.alloc_window_buffer", [size], {"name": f"buf{at}"})))
        window = ir.WindowBuffer(base, size, *flags)
        slots.append(window)
        for shape in ([16], [4, 4]):
            dims = ir.MakeTuple([ir.ConstInt(d, DataType.INDEX) for d in shape])
            call = create_op_call("pld.tensor.window", [base, dims], {"dtype": DataType.FP32})
            type_ = ir.DistributedTensorType(shape, DataType.FP32, window_buffer=window)
            view = ir.Var(f"view{at}", type_)
            views.append(view)
            stmts.append(ir.AssignStmt(view, call.replace(type=type_)))
    stmts.append(ir.ReturnStmt([*views]))
    body = ir.CommDomainScopeStmt([*devices], slots, "comm_d0", body=ir.SeqStmts(stmts))
    return ir.Function("host", [], [], body, level=ir.Level.HOST, role=ir.Role.Orchestrator)


def test_the_head_names_devices_and_windows() -> None:
    text = host(devices=(0, 2)).as_python()
    assert '    with pld.comm_domain("comm_d0", devices=[0, 2], windows=["buf0", "buf1"]):\n' in text
    assert (
        '        view0: pld.DistributedTensor[[16], pl.FP32, pld.WindowBuffer("buf0")] = pld.tensor.window(buf0, [16], ' in text
    )
    assert "#" not in text.partition("\n")[2]


def test_no_devices_means_all() -> None:
    assert '    with pld.comm_domain("comm_d0", windows=["buf0", "buf1"]):\n' in host().as_python()


@pytest.mark.parametrize("devices", [(), (3,), (0, 1, 2)])
@pytest.mark.parametrize("flags", [(False, False), (True, False), (False, True), (True, True)])
def test_domains_read_back(devices: tuple[int, ...], flags: tuple[bool, bool]) -> None:
    function = host(devices=devices, flags=flags)
    assert_roundtrip(function)
    again: Any = pl.parse(function.as_python())
    assert [*again.body.devices] == [*devices]
    for at, slot in enumerate(again.body.slots):
        assert (slot.load_from_host, slot.store_to_host) == flags
        views = [n for n in ir.node.walk(again.body) if isinstance(n, ir.Var) and n.name_hint.startswith(f"view{at}")]
        assert views
        assert all(v.type.window_buffer is slot for v in views)  # type: ignore[attr-defined]


@pytest.mark.parametrize(("flags", "text"), [((True, False), ", load_from_host=True"), ((False, True), ", store_to_host=True")])
def test_flags_are_written_when_they_are_set(flags: tuple[bool, bool], text: str) -> None:
    assert f'pld.WindowBuffer("buf0"{text})' in host(flags=flags).as_python()


def test_flags_of_a_window_in_an_inner_domain_read_back() -> None:
    inner, outer = host(1, (0, 1), (True, False)), host(1)
    assert isinstance(outer.body, ir.CommDomainScopeStmt)
    scope: Any = inner.body
    nested = ir.CommDomainScopeStmt(
        [0, 1, 2], outer.body.slots, "comm_d0", body=ir.SeqStmts([*_stmts(outer)[:-1], scope.replace(name_hint="comm_d1")])
    )
    function = ir.Function("host", [], [], nested, level=ir.Level.HOST, role=ir.Role.Orchestrator)
    assert_roundtrip(function)


def _stmts(function: ir.Function) -> list[ir.Stmt]:
    assert isinstance(function.body, ir.CommDomainScopeStmt)
    return ir.flatten_to_stmts(function.body.body)


def test_names_are_those_that_are_printed() -> None:
    """Two allocations of one name are told apart in the text, and so are the references to them."""
    first, second = host(1), host(1)
    assert isinstance(first.body, ir.CommDomainScopeStmt)
    assert isinstance(second.body, ir.CommDomainScopeStmt)
    slots = [*first.body.slots, *second.body.slots]
    body = ir.CommDomainScopeStmt([], slots, "comm_d0", body=ir.SeqStmts([*_stmts(first)[:-1], *_stmts(second)]))
    function = ir.Function("host", [], [], body, level=ir.Level.HOST, role=ir.Role.Orchestrator)
    text = function.as_python()
    assert 'windows=["buf0", "buf0_1"]' in text
    assert 'pld.WindowBuffer("buf0_1")' in text
    assert_roundtrip(function)


def test_a_domain_can_be_written_by_hand() -> None:
    program: Any = pl.parse(
        HEAD + "@pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)\ndef host():\n"
        '    with pld.comm_domain("mine", devices=[1, 2], windows=["raw"]):\n'
        "        raw = pld.alloc_window_buffer([16], dtype=pl.FP32)\n"
        '        x: pld.DistributedTensor[[16], pl.FP32, pld.WindowBuffer("raw")] = pld.window(raw, [16], dtype=pl.FP32)\n'
        '        y: pld.DistributedTensor[[16], pl.FP32, "window_buffer=raw"] = pld.window(raw, [16], dtype=pl.FP32)\n'
        "        return x, y\n"
    )
    assert (program.body.name_hint, [*program.body.devices]) == ("mine", [1, 2])
    (window,) = program.body.slots
    _, x, y, _ = ir.flatten_to_stmts(program.body.body)
    assert x.var.type.window_buffer is window
    assert y.var.type.window_buffer is window
    assert_roundtrip(program)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('x: pld.DistributedTensor[[16], pl.FP32, pld.WindowBuffer("rew")] = pld.window(raw, [16], dtype=pl.FP32)', "'rew'"),
        ("x: pld.DistributedTensor[[16], pl.FP32, pld.WindowBuffer(raw)] = pld.window(raw, [16], dtype=pl.FP32)", "window"),
        (
            'x: pld.DistributedTensor[[16], pl.FP32, pld.WindowBuffer("raw", size=4)] = pld.window(raw, [16], dtype=pl.FP32)',
            "flags",
        ),
    ],
)
def test_references_that_mean_nothing_are_refused(line: str, word: str) -> None:
    with pytest.raises(pypto.Error, match=word) as caught:
        pl.parse(
            HEAD + "@pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)\ndef host():\n"
            '    with pld.comm_domain("mine", windows=["raw"]):\n'
            "        raw = pld.alloc_window_buffer([16], dtype=pl.FP32)\n"
            f"        {line}\n        return x\n"
        )
    assert caught.value.span["line"] == 8


@pytest.mark.parametrize(
    ("head", "word"),
    [
        ('pld.comm_domain(windows=["raw"])', "name"),
        ('pld.comm_domain("d", windows=["other"])', "'other'"),
        ('pld.comm_domain("d", devices=["a"], windows=["raw"])', "integers"),
        ('pld.comm_domain("d", windows=[1])', "names"),
        ('pld.comm_domain("d", window=["raw"])', "window"),
    ],
)
def test_heads_that_mean_nothing_are_refused(head: str, word: str) -> None:
    with pytest.raises(pypto.Error, match=word) as caught:
        pl.parse(
            HEAD + "@pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)\ndef host():\n"
            f"    with {head}:\n"
            "        raw = pld.alloc_window_buffer([16], dtype=pl.FP32)\n"
            "        return raw\n"
        )
    assert caught.value.span["line"] == 6


def test_a_reference_outside_its_domain_is_refused() -> None:
    with pytest.raises(pypto.Error, match="no window 'raw'"):
        pl.parse(
            HEAD + "@pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)\n"
            'def host(x: pld.DistributedTensor[[16], pl.FP32, pld.WindowBuffer("raw")]):\n    return x\n'
        )
