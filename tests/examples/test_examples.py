"""Every example runs, and its error against float64 is as small as it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2] / "examples"


def run_example(name: str, capsys: pytest.CaptureFixture[str]) -> tuple[dict[str, object], str]:
    names = runpy.run_path(str(ROOT / name))
    names["main"]()  # type: ignore[operator]
    return names, capsys.readouterr().out


def test_rope(capsys: pytest.CaptureFixture[str]) -> None:
    names, output = run_example("rope.py", capsys)
    errors = [float(e) for e in re.findall(r"4096: (\S+)$", output, re.M)]
    assert len(errors) == 2
    assert max(errors) < 2e-6
    low = names["lowered"]()  # type: ignore[operator]
    text = low.as_python()
    assert "tile.sin" not in text
    assert "tile.cos" not in text
    arrays = names["inputs"]()  # type: ignore[operator]
    exact = names["reference"](*arrays)  # type: ignore[operator]
    assert np.abs(low(*arrays) - exact).max() < 2e-6


@pytest.mark.parametrize(("name", "limit"), [("composite_tanh.py", 1e-6), ("composite_power.py", 2e-6)])
def test_composites_from_outside(name: str, limit: float, capsys: pytest.CaptureFixture[str]) -> None:
    from pypto.ir.op import unregister_op
    from pypto.passes.lower_composite_ops import remove_composite_rule

    operator = "tile." + name.removeprefix("composite_").removesuffix(".py")
    try:
        _, output = run_example(name, capsys)
        assert float(output.rsplit(" ", 1)[1]) < limit
        assert f"pl.{operator}(" not in output
    finally:
        remove_composite_rule(operator)
        unregister_op(operator)


def test_flash_attention(capsys: pytest.CaptureFixture[str]) -> None:
    _, output = run_example("flash_attention.py", capsys)
    assert float(output.rsplit(" ", 1)[1]) < 1e-6
    assert re.search(r"text held \d\d times", output)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("handwritten_barrier.py", "8 ranks: every rank has its right neighbour's row"),
        ("ring_pass.py", "8 ranks: every rank has the sum of all rows"),
        ("allreduce_by_hand.py", "8 ranks: by hand, by meaning and lowered give the same bits"),
        ("gradient_averaging.py", "after 60 steps"),
        ("tensor_parallel_linear.py", "8 ranks: every rank has the layer's result"),
        ("host_allreduce.py", "8 ranks: as written and lowered give the same bits, with 336 posts"),
        ("mesh_and_ring.py", "ring: as written and lowered give the same bits; ranks differ in the last bits of 0 of 5000 sums"),
        ("scatter_and_gather.py", "4 ranks: two collectives on one signal, which is zero again"),
        ("expert_dispatch.py", "4 ranks: 57 of 66 tokens went to their experts and came back"),
        ("two_groups.py", "8 ranks: two of them have their sum, three their maximum"),
    ],
)
def test_examples_on_several_ranks(name: str, words: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, output = run_example(name, capsys)
    assert words in output


def test_trained_weights_come_close_to_the_true_ones(capsys: pytest.CaptureFixture[str]) -> None:
    _, output = run_example("gradient_averaging.py", capsys)
    errors = [float(e) for e in re.findall(r"weight (\S+)$", output, re.M)]
    assert len(errors) == 3
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3
