"""Known faults of lowering pipelines, as people write the programs: read, run, lowered pass by pass, printed, read back, run again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import pypto.runtime as runtime
from pypto import ir, passes
from pypto.diagnostics import Error
from pypto.ir.verify import verify
from pypto.parser import parse
from pypto.passes import PassContext, PassManager, VerificationInstrument, VerificationMode
from pypto.testing.instruments import RoundtripInstrument

HEAD = "import pypto.language as pl\n\n\n"


def read(text: str) -> ir.Program:
    node = parse(HEAD + text)
    return node if isinstance(node, ir.Program) else ir.Program([node], "P")


def holds_everywhere(
    text: str, *inputs: tuple[Any, ...], expected: list[Any], entry: str | None = None, verified: bool = True
) -> ir.Program:
    """Run on each input before and after every pass of the default strategy; every stage verifies and survives the way through text."""
    program = read(text)

    def results() -> list[Any]:
        return [
            runtime.run(program, *[np.copy(a) if isinstance(a, np.ndarray) else a for a in args], entry=entry) for args in inputs
        ]

    for got, wanted in zip(results(), expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)
    roundtrip = RoundtripInstrument()
    mode = VerificationMode.AFTER if verified else VerificationMode.NONE
    with PassContext([roundtrip, VerificationInstrument(mode)]):
        steps = PassManager.get_strategy().passes
        for step in steps:
            program = step(program)
            for got, wanted in zip(results(), expected, strict=True):
                np.testing.assert_allclose(got, wanted, rtol=1e-6, err_msg=step.get_name())
    assert roundtrip.checked == len(steps)
    assert verify(program, ["SSAForm", "UseAfterDef", "NoNestedCalls", "TypeChecked"]) == []
    return program


def loops(function: ir.Function | None) -> list[Any]:
    assert function is not None
    return [s for s in ir.flatten_to_stmts(function.body) if isinstance(s, ir.ForStmt | ir.WhileStmt)]


def test_b053_inlining_passes_by_value() -> None:
    text = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.Inline)
    def inc(self, n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
        n = n + 1
        k = n * 2
        return k

    @pl.function
    def main(self, k: pl.Scalar[pl.INDEX], n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
        a = self.inc(k)
        b = self.inc(n)
        return k * 1000 + n * 100 + a * 10 + b
"""
    small = [(k, n) for k in range(4) for n in range(4)]
    by_hand = [k * 1000 + n * 100 + 20 * (k + 1) + 2 * (n + 1) for k, n in small]
    after = holds_everywhere(text, *small, expected=by_hand, entry="main")
    assert [f.name for f in after.functions.values()] == ["main"]


def test_b055_temporaries_of_single_statement_bodies() -> None:
    text = """
@pl.function
def ret(x: pl.Tensor[[16], pl.FP32]) -> pl.Tensor[[16], pl.FP32]:
    for i, (acc,) in pl.range(3, init_values=(x,)):
        res = pl.yield_(pl.add(pl.mul(acc, 2.0), x))
    return pl.add(pl.mul(res, 0.5), 1.0)
"""
    x = np.arange(16, dtype=np.float32)
    holds_everywhere(text, (x,), expected=[x * 7.5 + 1.0])


def test_b056_only_what_crosses_iterations_is_carried() -> None:
    text = """
@pl.function
def f(x: pl.Tensor[[64], pl.FP32]) -> pl.Tensor[[64], pl.FP32]:
    acc = x
    for i in pl.range(4):
        off = i * 16
        part = pl.slice(acc, [16], [off])
        acc = pl.assemble(acc, pl.mul(part, 2.0), [off])
    for j in pl.range(2):
        off = j * 32
        part = pl.slice(acc, [32], [off])
        acc = pl.assemble(acc, pl.add(part, 1.0), [off])
    return acc
"""
    x = np.arange(64, dtype=np.float32)
    after = holds_everywhere(text, (x,), expected=[x * 2.0 + 1.0])
    assert [len(s.iter_args) for s in loops(after["f"])] == [1, 1]


def test_b058_a_value_of_one_branch() -> None:
    text = """
@pl.function
def f(x: pl.Tensor[[8], pl.INT32]) -> pl.Scalar[pl.INT32]:
    s: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
    for i in pl.range(8):
        v: pl.Scalar[pl.INT32] = pl.read(x, [i])
        if v < 0:
            continue
        w = v * 2
        s = s + w
    return s
"""
    x = np.array([3, -1, 4, -1, 5, -9, 2, 6], dtype=np.int32)
    after = holds_everywhere(text, (x,), expected=[2 * (3 + 4 + 5 + 2 + 6)])
    (loop,) = loops(after["f"])
    assert len(loop.iter_args) == 1
    (merge,) = [s for s in ir.flatten_to_stmts(loop.body) if isinstance(s, ir.IfStmt)]
    assert [v.type for v in merge.return_vars] == [ir.ScalarType(ir.DataType.INT32)]


def test_b058_reading_it_afterwards_is_an_error_with_a_place() -> None:
    text = """
@pl.function
def f(c: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    if c > 0:
        w = c * 2
    s = w + 1
    return s
"""
    with pytest.raises(Error, match="'w' is assigned in only one branch") as caught:
        read(text)
    assert caught.value.span["line"] == HEAD.count("\n") + 6
    assert "s = w + 1" in str(caught.value)


def test_what_a_loop_leaves_behind() -> None:
    text = """
@pl.function
def f(x: pl.Tensor[[8], pl.FP32], n: pl.Scalar[pl.INDEX]) -> pl.Tensor[[8], pl.FP32]:
    for i in pl.range(3):
        last = i * 2 + n
    for j in pl.range(n):
        y = pl.mul(x, 3.0)
    for k in pl.range(last):
        y = pl.add(y, 1.0)
    return y
"""
    x = np.arange(8, dtype=np.float32)
    # until ConvertToSSA, what a loop of unknown length leaves behind counts as not surely defined
    holds_everywhere(text, (x, 1), (x, 2), expected=[x * 3 + 5, x * 3 + 6], verified=False)
    with pytest.raises(Error, match=r"poison|nothing|written|undefined"):
        runtime.run(passes.convert_to_ssa()(read(text)), x, 0)


def test_kernels_and_their_caller() -> None:
    text = """
@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def both(
        self, x: pl.Tensor[[16, 16], pl.FP32], low: pl.Out[pl.Tensor[[16, 16], pl.FP32]], high: pl.Out[pl.Tensor[[16, 16], pl.FP32]]
    ) -> tuple[pl.Tensor[[16, 16], pl.FP32], pl.Tensor[[16, 16], pl.FP32]]:
        t = pl.load(x, [0, 0], [16, 16])
        up = pl.store(pl.add(t, 1.0), [0, 0], high)
        down = pl.store(pl.sub(t, 1.0), [0, 0], low)
        return up, down

    @pl.function(type=pl.FunctionType.Orchestration)
    def main(self, x: pl.Tensor[[16, 16], pl.FP32]) -> pl.Tensor[[16, 16], pl.FP32]:
        low = pl.create_tensor([16, 16], dtype=pl.FP32)
        high = pl.create_tensor([16, 16], dtype=pl.FP32)
        up, down = self.both(x, low, high)
        return pl.sub(pl.mul(up, 10.0), down)
"""
    x = np.linspace(-4, 4, 256, dtype=np.float32).reshape(16, 16)
    after = holds_everywhere(text, (x,), expected=[(x + 1) * 10 - (x - 1)])
    both = after["both"]
    assert both is not None
    (last,) = [s for s in ir.flatten_to_stmts(both.body) if isinstance(s, ir.ReturnStmt)]
    assert [v.name_hint for v in last.value] == ["low", "high"]


def test_b059_counting_down() -> None:
    text = """
@pl.function
def f(x: pl.Tensor[[10], pl.INT32]) -> pl.Scalar[pl.INT32]:
    s: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
    for i in pl.range(9, -1, -3):
        v: pl.Scalar[pl.INT32] = pl.read(x, [i])
        if v > 100:
            break
        s = s * 7 + v
    for j in pl.unroll(3, 0, -1):
        s = s * 5 + pl.cast(j, pl.INT32)
    return s
"""
    plain = np.arange(10, dtype=np.int32)
    stops = plain.copy()
    stops[3] = 101

    def by_hand(values: list[int]) -> int:
        s = 0
        for v in values:
            s = s * 7 + v
        for j in (3, 2, 1):
            s = s * 5 + j
        return s

    holds_everywhere(text, (plain,), (stops,), expected=[by_hand([9, 6, 3, 0]), by_hand([9, 6])])


def test_b059_a_step_that_is_not_known() -> None:
    text = """
@pl.function
def f(start: pl.Scalar[pl.INT64], stop: pl.Scalar[pl.INT64], step: pl.Scalar[pl.INT64]) -> pl.Scalar[pl.INT64]:
    s = start * 0
    for i in pl.range(start, stop, step):
        if s > 100000:
            break
        s = s * 10 + i
    return s
"""
    cases = [(0, 5, 2), (5, 0, -2), (0, 5, -1), (5, 0, 1), (3, 3, 1), (9, -1, -3)]

    def by_hand(start: int, stop: int, step: int) -> int:
        s = 0
        for i in range(start, stop, step):
            s = s * 10 + i
        return s

    holds_everywhere(text, *cases, expected=[by_hand(*case) for case in cases])


def test_b062_yields_stay_last() -> None:
    text = """
@pl.function
def f(c: pl.Scalar[pl.BOOL], x: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    if c:
        y, z = pl.yield_(x + 1, x)
    else:
        y, z = pl.yield_(x, x + 1)
    for i, (acc,) in pl.range(3, init_values=(y,)):
        out = pl.yield_(acc + z)
    return out
"""
    holds_everywhere(text, (True, 4), (False, 4), expected=[5 + 3 * 4, 4 + 3 * 5])


def test_b064_a_carried_value_keeps_its_type() -> None:
    text = """
@pl.function
def f(x: pl.Tensor[[8], pl.INT32]) -> pl.Scalar[pl.INT32]:
    s = 0
    for i in pl.range(8):
        v: pl.Scalar[pl.INT32] = pl.read(x, [i])
        s = v
    return s
"""
    with pytest.raises(Error, match=r"INDEX.*INT32") as caught:
        passes.convert_to_ssa()(read(text))
    assert caught.value.span["line"] == HEAD.count("\n") + 7


def test_b065_numbers_in_the_names_of_the_author() -> None:
    text = """
@pl.function
def f(x: pl.Scalar[pl.INDEX], x_0: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    x_1 = x + x_0
    x = x_1 * 2
    x_0 = x - x_1
    return x_0 * 100 + x
"""
    holds_everywhere(text, (2, 3), (7, 1), expected=[510, 816])


def test_loops_in_branches_in_loops() -> None:
    text = """
@pl.function
def f(x: pl.Tensor[[6], pl.INT32], n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INT32]:
    best: pl.Scalar[pl.INT32] = pl.const(0, pl.INT32)
    count = n * 0
    while count < n:
        count = count + 1
        if count > 2:
            for i in pl.range(6):
                v: pl.Scalar[pl.INT32] = pl.read(x, [i])
                if v == 0:
                    break
                if v < best:
                    continue
                best = v + pl.cast(count, pl.INT32)
        else:
            best = best + 1
    return best
"""
    x = np.array([1, 5, 2, 9, 0, 50], dtype=np.int32)

    def by_hand(n: int) -> int:
        best = 0
        for count in range(1, n + 1):
            if count > 2:
                for v in (1, 5, 2, 9):
                    if v >= best:
                        best = v + count
            else:
                best += 1
        return best

    holds_everywhere(text, *[(x, n) for n in range(6)], expected=[by_hand(n) for n in range(6)])


def test_carried_tensors_beside_a_break() -> None:
    text = """
@pl.function
def f(x: pl.Tensor[[8, 4], pl.FP32], limit: pl.Scalar[pl.INDEX]) -> pl.Tensor[[8, 4], pl.FP32]:
    y = pl.mul(x, 1.0)
    for i in pl.range(8):
        if i == limit:
            break
        row = pl.slice(y, [1, 4], [i, 0])
        y = pl.assemble(y, pl.add(row, pl.mul(row, 2.0)), [i, 0])
    return y
"""
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    expected = []
    for limit in (0, 3, 99):
        y = x.copy()
        y[:limit] *= 3.0
        expected.append(y)
    holds_everywhere(text, (x, 0), (x, 3), (x, 99), expected=expected)


def test_comments_survive_every_pass() -> None:
    text = """
@pl.function
def f(n: pl.Scalar[pl.INDEX]) -> pl.Scalar[pl.INDEX]:
    # start
    s = n + 1
    # count
    for i in pl.range(n):
        # skip the odd ones
        if i % 2 == 1:
            # not this one
            continue
        # add
        s = s + i
    # done
    return s
"""
    after = holds_everywhere(text, (7,), expected=[8 + 12])
    printed = str(after)
    for comment in ("# start", "# count", "# skip the odd ones", "# not this one", "# add", "# done"):
        assert printed.count(comment) == 1, comment
