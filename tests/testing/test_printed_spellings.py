"""Every spelling that printed text may use beyond the everyday language is read by the ordinary reader and printed the same again."""

from __future__ import annotations

from textwrap import indent

import pytest

from pypto import ir
from pypto.parser import parse
from pypto.printer import python_print
from pypto.printer.spellings import SPELLINGS
from pypto.testing import assert_roundtrip

HEADER = "# pypto.program: Spelling\nimport pypto.language as pl\nimport pypto.language.distributed as pld\n\n\n@pl.program\nclass Spelling:\n"
KERNEL = """
    @pl.function
    def kernel(self, a: pl.Scalar[pl.INDEX]):
        return
"""
SCALARS = "a: pl.Scalar[pl.INT32], b: pl.Scalar[pl.INT32], x: pl.Scalar[pl.FP32], n: pl.Scalar[pl.INDEX]"
TRUTHS = "a: pl.Scalar[pl.BOOL], b: pl.Scalar[pl.BOOL]"


def value(example: str, type_: str, params: str = SCALARS) -> str:
    """A function that gives the value a name and returns it."""
    return function(f"v: {type_} = {example}\nreturn v", params, type_)


def function(body: str, params: str = SCALARS, result: str = "", decorator: str = "@pl.function") -> str:
    arrow = f" -> {result}" if result else ""
    return f"    {decorator}\n    def f(self, {params}){arrow}:\n{indent(body, ' ' * 8)}\n"


FP32, INDEX, INT32, BOOL = (f"pl.Scalar[pl.{name}]" for name in ("FP32", "INDEX", "INT32", "BOOL"))
LOOP = "    v: pl.Scalar[pl.INT32] = c + b\n    r: pl.Scalar[pl.INT32] = pl.yield_(v)\nreturn r"
HOST = "@pl.function(level=pl.Level.HOST, role=pl.Role.Orchestrator)"
WINDOW = 'pld.DistributedTensor[[8], pl.FP32, pld.WindowBuffer("data_buf", load_from_host=True)]'
ONE = "v: pl.Scalar[pl.INDEX] = n + 1"

PROGRAMS: dict[str, str] = {
    'pl.const("inf", pl.FP32)': value('pl.const("inf", pl.FP32)', FP32),
    'pl.const("nan", pl.FP32)': value('pl.const("nan", pl.FP32)', FP32),
    "-pl.const(5, pl.INDEX)": value("-pl.const(5, pl.INDEX)", INDEX),
    "pl.const(2, pl.INDEX) * pl.const(3, pl.INDEX)": value("pl.const(2, pl.INDEX) * pl.const(3, pl.INDEX)", INDEX),
    "pl.logical_xor(a, b)": value("pl.logical_xor(a, b)", BOOL, TRUTHS),
    "pl.abs(x)": value("pl.abs(x)", FP32),
    "pl.expr.add(a, b, dtype=pl.INT32)": value("pl.expr.add(a, b, dtype=pl.INT32)", INT32, f"a: {INDEX}, b: {FP32}"),
    "pl.expr.const_int(5, dtype=pl.FP32)": value("pl.expr.const_int(5, dtype=pl.FP32)", FP32),
    'pl.expr.call("tile.add", a, b, kwargs={"k": 1}, type=pl.UnknownType)': function(
        'pl.expr.call("tile.add", a, b, kwargs={"k": 1}, type=pl.UnknownType)'
    ),
    "pl.expr.call(self.kernel, a, type=pl.UnknownType)": KERNEL.replace("        return\n", "        return a\n")
    .replace("):", ") -> pl.Scalar[pl.INDEX]:")
    .lstrip("\n")
    + "\n"
    + function("pl.expr.call(self.kernel, a, type=pl.UnknownType)", f"a: {INDEX}"),
    "pl.expr.make_tuple([a, b])": function('pl.system.bar_all(attrs={"key": pl.expr.make_tuple([a, b])})'),
    'self.kernel(a, kwargs={"k": 1})': KERNEL.lstrip("\n") + "\n" + function('self.kernel(a, kwargs={"k": 1})', f"a: {INDEX}"),
    "pl.range(n, dtype=pl.INT32)": function("for i in pl.range(n, dtype=pl.INT32):\n    v: pl.Scalar[pl.INT32] = i + 1"),
    "pl.range(n, init_values=(a,), iter_types=[pl.Scalar[pl.INT32]])": function(
        f"for i, (c,) in pl.range(n, init_values=(a,), iter_types=[pl.Scalar[pl.INT32]]):\n{LOOP}",
        f"a: pl.Scalar[pl.INT64], b: {INT32}, n: {INDEX}",
        INT32,
    ),
    "pl.unroll(4, init_values=(a,))": function(f"for i, (c,) in pl.unroll(4, init_values=(a,)):\n{LOOP}", SCALARS, INT32),
    "pl.yield_(a, b, result_types=[pl.Scalar[pl.INT32], pl.Scalar[pl.INT32]])": function(
        "if c:\n    r, s = pl.yield_(a, b, result_types=[pl.Scalar[pl.INT32], pl.Scalar[pl.INT32]])\n"
        "else:\n    r, s = pl.yield_(a, b)\nreturn r",
        f"c: {BOOL}, a: pl.Scalar[pl.INT64], b: {INT32}",
        INT32,
    ),
    'pl.at(level=pl.Level.CHIP, attrs={"key": 1})': function(f'with pl.at(level=pl.Level.CHIP, attrs={{"key": 1}}):\n    {ONE}'),
    "pl.hierarchy(level=pl.Level.CORE_GROUP)": function(f"with pl.hierarchy(level=pl.Level.CORE_GROUP):\n    {ONE}"),
    "pl.seq()": function(f"with pl.seq():\n    {ONE}"),
    "pl.at(level=pl.Level.CHIP, placeholder=False)": function(
        f"with pl.at(level=pl.Level.CHIP, placeholder=False) as t:\n    {ONE}"
    ),
    "pl.submit(self.kernel, a, type=pl.UnknownType)": KERNEL.lstrip("\n")
    + "\n"
    + function("v: pl.UnknownType = pl.submit(self.kernel, a, type=pl.UnknownType)", f"a: {INDEX}"),
    'pl.scope(name_hint="h")': function(f'with pl.scope(name_hint="h"):\n    {ONE}'),
    'pld.comm_domain("comm_d0", devices=[0, 1], windows=["data_buf"])': function(
        'with pld.comm_domain("comm_d0", devices=[0, 1], windows=["data_buf"]):\n'
        f"    data_buf: pl.Ptr = pl.tensor.alloc(pl.Mem.DDR, 1024)\n    {ONE}",
        decorator=HOST,
    ),
    'pl.builtin.tensor.barrier(s, attrs={"device": r, "arg_directions": [pl.adir.inout]})': function(
        'pl.builtin.tensor.barrier(s, attrs={"device": r, "arg_directions": [pl.adir.inout]})',
        "s: pld.DistributedTensor[[4], pl.INT32], r: pl.Scalar[pl.INT64]",
        decorator=HOST,
    ),
    'pld.WindowBuffer("data_buf", load_from_host=True)': function(
        'with pld.comm_domain("comm_d0", windows=["data_buf"]):\n'
        "    data_buf: pl.Ptr = pl.tensor.alloc(pl.Mem.DDR, 1024)\n"
        f'    w: {WINDOW} = pl.expr.call("pld.tensor.window", data_buf, type={WINDOW})',
        decorator=HOST,
    ),
    'pl.MemRef("buf", pl.const(0, pl.INT64), 1024, is_pinned=True)': function(
        "return",
        'a: pl.Tile[[8, 8], pl.FP32, pl.MemRef("buf", pl.const(0, pl.INT64), 1024, is_pinned=True), pl.Mem.Vec]',
    ),
    "1e999": function('pl.system.bar_all(attrs={"key": 1e999})'),
    'float("nan")': function('pl.system.bar_all(attrs={"key": float("nan")})'),
}


def shown(example: str) -> str:
    return f"{HEADER}{PROGRAMS[example]}"


@pytest.mark.parametrize("example", [row.example for row in SPELLINGS])
def test_is_read_and_printed_the_same(example: str) -> None:
    program = parse(shown(example))
    assert isinstance(program, ir.Program)
    assert example in python_print(program, format=False)
    assert_roundtrip(program)
