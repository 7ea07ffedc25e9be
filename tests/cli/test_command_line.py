"""The command line as people use it: printed text, results, checks, exit codes, and errors that explain themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pypto.cli.arguments import read_argument
from pypto.diagnostics import Error

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

ADD = """# pypto.program: Add
import pypto.language as pl


@pl.program
class Add:
    @pl.function
    def add(self, x: pl.Tensor[[4, 8], pl.FP32], y: pl.Tensor[[4, 8], pl.FP32]) -> pl.Tensor[[4, 8], pl.FP32]:
        z: pl.Tensor[[4, 8], pl.FP32] = pl.tensor.add(x, y)
        return z
"""


def pypto(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "pypto", *arguments], capture_output=True, text=True, check=False)


@pytest.fixture
def add_file(tmp_path: Path) -> Path:
    path = tmp_path / "add.py"
    path.write_text(ADD)
    return path


def test_show_prints_what_it_read(add_file: Path) -> None:
    shown = pypto("show", str(add_file))
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout == ADD
    assert "\x1b[" not in shown.stdout


def test_show_after_a_pass() -> None:
    shown = pypto("show", str(EXAMPLES / "rope.py"), "--after", "lower_composite_ops")
    assert shown.returncode == 0, shown.stderr
    assert "pl.tile.muls(" in shown.stdout
    assert "pl.tile.sin(" not in shown.stdout


def test_text_with_the_header_is_never_executed(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    path = tmp_path / "hostile.py"
    path.write_text(ADD + f"\nopen({str(mark)!r}, 'w').close()\n")
    result = pypto("show", str(path))
    assert result.returncode == 1
    assert not mark.exists()
    assert f"{path}:12:1" in result.stderr


def test_run_prints_and_saves(add_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "results"
    ran = pypto("run", str(add_file), "--arg", "x=FP32[4,8]:arange", "--arg", "y=FP32[4,8]:const(2)", "--save", str(out))
    assert ran.returncode == 0, ran.stderr
    assert "result 0: float32[4, 8]" in ran.stdout
    np.testing.assert_array_equal(np.load(out / "result0.npy"), np.arange(32, dtype=np.float32).reshape(4, 8) + 2)


def test_run_says_what_is_missing(add_file: Path) -> None:
    ran = pypto("run", str(add_file), "--arg", "x=FP32[4,8]:zeros")
    assert ran.returncode == 1
    assert "'y'" in ran.stderr
    assert "--arg 'y=FP32[4,8]:normal(seed=0)'" in ran.stderr


def test_run_names_the_nearest_parameter(add_file: Path) -> None:
    ran = pypto("run", str(add_file), "--arg", "xx=FP32[4,8]:zeros")
    assert ran.returncode == 1
    assert "did you mean 'x'?" in ran.stderr


def test_check_is_quiet_about_what_holds(add_file: Path) -> None:
    checked = pypto("check", str(add_file), str(EXAMPLES / "rope.py"))
    assert checked.returncode == 0, checked.stdout + checked.stderr
    lines = checked.stdout.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("ok ") for line in lines)


def test_check_names_the_pass_that_broke_the_meaning(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text(
        ADD.replace("# pypto.program: Add\n", "")
        + '''
from dataclasses import dataclass

from pypto import ir
from pypto.passes import FunctionPass, register_pass


class Wrong(ir.IRMutator):
    def visit_call(self, op):
        return ir.create_op_call("tensor.sub", list(op.args), op.span) if op.op.name == "tensor.add" else op


@register_pass
@dataclass(frozen=True)
class BreakAddition(FunctionPass):
    """Sums become differences."""

    def transform_function(self, function, program):
        return Wrong().visit_function(function)
'''
    )
    checked = pypto("check", str(path), "--passes", "convert_to_ssa,break_addition")
    assert checked.returncode == 1
    assert "BreakAddition" in checked.stdout + checked.stderr


def test_ops_and_passes() -> None:
    one = pypto("ops", "tile.load")
    assert one.returncode == 0
    assert "pl.tile.load(tensor, offsets, shapes" in one.stdout
    several = pypto("ops", "pl.add")
    assert "pl.tensor.add" in several.stdout
    assert "pl.tile.add" in several.stdout
    unknown = pypto("ops", "tile.laod")
    assert unknown.returncode == 1
    assert "did you mean 'tile.load'?" in unknown.stderr
    assert "tile.add" in pypto("ops").stdout
    listed = pypto("passes").stdout
    assert "[product of the leading ones, last]" in listed
    assert listed.index("convert_to_ssa") < listed.index("convert_tensor_to_tile_ops") < listed.index("lower_composite_ops")


def test_wrong_use_exits_with_two(add_file: Path) -> None:
    assert pypto("show").returncode == 2
    assert pypto("show", str(add_file), "--after", "Simplify", "--passes", "simplify").returncode == 2
    assert pypto("frobnicate").returncode == 2


def test_missing_file_and_several_programs(tmp_path: Path) -> None:
    missing = pypto("show", str(tmp_path / "nothing.py"))
    assert missing.returncode == 1
    assert "there is no file" in missing.stderr
    path = tmp_path / "two.py"
    body = ADD.split("\n", 1)[1]
    path.write_text(body + body.replace("import pypto.language as pl\n", "").replace("class Add", "class Other"))
    both = pypto("show", str(path))
    assert both.returncode == 1
    assert "Add, Other" in both.stderr
    assert pypto("show", f"{path}:Other").returncode == 0


def test_help_lists_the_commands() -> None:
    helped = pypto("--help")
    assert helped.returncode == 0
    for command in ("show", "run", "check", "ops", "passes"):
        assert command in helped.stdout


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("n=3", "n", 3),
        ("f=-0.5", "f", -0.5),
        ("x=INT32[2,3]:ones", "x", np.ones((2, 3), np.int32)),
        ("x=FP32[3]", "x", np.zeros(3, np.float32)),
        ("x=FP16[2,2]:arange", "x", np.arange(4, dtype=np.float16).reshape(2, 2)),
        ("x=FP32[4]:normal(seed=7)", "x", np.random.default_rng(7).normal(size=4).astype(np.float32)),
        ("x=FP32[4]:uniform(-1, 1)", "x", np.random.default_rng(0).uniform(-1, 1, 4).astype(np.float32)),
        ("x=FP32[]:const(1.5)", "x", np.float32(1.5)),
    ],
)
def test_arguments(text: str, name: str, expected: object) -> None:
    found, value = read_argument(text)
    assert found == name
    np.testing.assert_array_equal(value, expected)
    assert type(value) is type(expected) or isinstance(value, np.ndarray)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", "NAME="),
        ("x=FP33[2]:ones", "FP32"),
        ("x=FP32[2]:normla", "normal"),
        ("x=FP32[2]:uniform(1)", "high"),
        ("x=FP32[2]:normal(sede=1)", "seed"),
        ("x=nowhere.npy", "does not exist"),
    ],
)
def test_arguments_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(Error, match=words):
        read_argument(text)


# -- several ranks --------------------------------------------------------------------------------------------------------

DISTRIBUTED = """import pypto.language as pl
import pypto.language.distributed as pld


@pl.program
class Sum:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[1, 8], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[3, 1], pl.INT32]],
    ) -> pld.DistributedTensor[[1, 8], pl.FP32]:
        data = pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], data)
        data = pld.tensor.allreduce(data, signal, op=pld.ReduceOp.Sum)
        return data


@pl.program
class Hangs:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(self, signal: pl.InOut[pld.DistributedTensor[[4, 1], pl.INT32]]) -> pld.DistributedTensor[[4, 1], pl.INT32]:
        me = pld.rank(pld.get_comm_ctx(signal))
        if me == 0:
            pld.system.wait(signal, [1, 0], 1, cmp=pld.WaitCmp.Ge)
        return signal
"""


@pytest.fixture
def ranks_file(tmp_path: Path) -> Path:
    path = tmp_path / "ranks.py"
    path.write_text(DISTRIBUTED)
    return path


def test_run_on_several_ranks_prints_and_saves_the_result_of_each(ranks_file: Path, tmp_path: Path) -> None:
    saved = tmp_path / "saved"
    ran = pypto(
        "run", f"{ranks_file}:Sum", "--arg", "x=FP32[1,8]:arange", "--ranks", "3", "--schedule", "random:5", "--save", str(saved)
    )
    assert ran.returncode == 0, ran.stderr
    assert [line for line in ran.stdout.splitlines() if line.startswith("result")] == [
        f"result 0 of rank {r}: float32[1, 8]  min 0  max 21  mean 10.5" for r in range(3)
    ]
    np.testing.assert_array_equal(np.load(saved / "result0_rank2.npy"), 3 * np.arange(8, dtype=np.float32)[None])


def test_check_runs_on_the_ranks_that_the_shapes_allow(ranks_file: Path) -> None:
    checked = pypto("check", f"{ranks_file}:Sum")
    assert checked.returncode == 0, checked.stderr
    assert "on 1, 2, 3 ranks (4, 8 left out: it takes 1 to 3) under 4 schedules" in checked.stdout


def test_check_without_a_legal_number_of_ranks_says_so(ranks_file: Path) -> None:
    checked = pypto("check", f"{ranks_file}:Sum", "--ranks", "5,6")
    assert checked.returncode == 0, checked.stderr
    assert "not run: it takes 1 to 3 ranks" in checked.stdout


def test_a_program_that_hangs_is_broken_and_says_who_waits(ranks_file: Path) -> None:
    checked = pypto("check", f"{ranks_file}:Hangs", "--ranks", "2")
    assert checked.returncode == 1
    assert "broken" in checked.stdout
    assert "pld.system.wait finds 0 in cell [1, 0] of 'signal', and wants >= 1" in checked.stderr
    assert "rank 1 has finished" in checked.stderr
