"""Commands that were given wrongly, and files that cannot be read: the text says what to do, and the exit code whose fault it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TWO = """import pypto.language as pl


@pl.program
class Double:
    @pl.function
    def double(self, x: pl.Tensor[[8, 8], pl.FP32]) -> pl.Tensor[[8, 8], pl.FP32]:
        return pl.add(x, x)


@pl.program
class Square:
    @pl.function
    def square(self, x: pl.Tensor[[8, 8], pl.FP32]) -> pl.Tensor[[8, 8], pl.FP32]:
        return pl.mul(x, x)
"""

FILES = {
    "two.py": TWO,
    "raises.py": "import math\n\nx = math.sqrt(-1)\n",
    "exits.py": "import sys\n\nsys.exit(3)\n",
    "syntax.py": "def f(:\n",
    "nothing.py": "x = 3\n",
    "called.py": "import pypto.language as pl\n\nx = pl.add(1, 2)\n",
    "text.npy": "abc\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (made / name).write_text(text)
    (made / "directory").mkdir()
    return made


def pypto(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pypto", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


CASES = [
    (("show", "missing.py"), 1, ["there is no file missing.py"]),
    (("show", "directory"), 1, ["directory is a directory"]),
    (("show", "two.py"), 1, ["several programs: Double, Square", "two.py:Double"]),
    (("show", "two.py:Squar"), 1, ["no program 'Squar'", "did you mean 'Square'?"]),
    (("show", "nothing.py"), 1, ["defines no program", "@pl.program"]),
    (("show", "raises.py"), 1, ["importing raises.py failed: ValueError", "--> raises.py:3", "math.sqrt(-1)"]),
    (("show", "exits.py"), 1, ["importing exits.py failed: it exits", "--> exits.py:3", "__main__"]),
    (("show", "syntax.py"), 1, ["not valid Python", "--> syntax.py:1:7"]),
    (("show", "called.py"), 1, ["pl.add is part of the kernel language", "--> called.py:3"]),
    (("show", "two.py:Square", "--after", "simplifi"), 1, ["no pass 'simplifi'", "did you mean 'simplify'?"]),
    (("show", "two.py:Square", "--passes", "simplify,,simplify"), 1, ["<pipeline>:1:10"]),
    (("show", "two.py:Square", "--passes", "simplify", "--after", "simplify"), 2, ["--passes or --after, not both"]),
    (("shwo", "two.py"), 2, ["No such command 'shwo'"]),
    (("run", "two.py:Square"), 1, ["needs a value for 'x'", "--arg 'x=FP32[8,8]:normal(seed=0)'"]),
    (("run", "two.py:Square", "--arg", "x"), 1, ["cannot read the argument 'x'", "NAME=file.npy"]),
    (("run", "two.py:Square", "--arg", "x=FP23[8,8]"), 1, ["unknown element type 'FP23'", "did you mean 'FP32'?"]),
    (("run", "two.py:Square", "--arg", "x=FP32[8,8]:nrmal"), 1, ["unknown fill 'nrmal'", "did you mean 'normal'?"]),
    (("run", "two.py:Square", "--arg", "x=FP32[8,9]"), 1, ["must have the shape [8, 8], got [8, 9]", "two.py:14:22"]),
    (("run", "two.py:Square", "--arg", "x=no.npy"), 1, ["no.npy, which does not exist"]),
    (("run", "two.py:Square", "--arg", "x=text.npy"), 1, ["text.npy, which is no .npy file"]),
    (("run", "two.py:Square", "--arg", "x=FP32[99999999999,99999999]:ones"), 1, ["'x' cannot be made"]),
    (("run", "two.py:Square", "--arg", "x=FP32[8,8]", "--arg", "x=FP32[8,8]"), 2, ["--arg gives 'x' twice"]),
    (("run", "two.py:Square", "--arg", "x=FP32[8,8]", "--entry", "squar"), 1, ["no function 'squar'", "'square'"]),
    (("run", "two.py:Square", "--arg", "x=FP32[8,8]", "--ranks", "0"), 2, ["--ranks", "x>=1"]),
    (("run", "two.py:Square", "--arg", "x=FP32[8,8]", "--schedule", "fair"), 1, ["'fair' is no schedule", "round_robin"]),
    (("check", "two.py", "--ranks", "1;2"), 2, ["--ranks takes numbers of ranks, such as 1,2,4; got '1;2'"]),
    (("check", "two.py", "--ranks", "0"), 2, ["--ranks takes numbers of ranks"]),
    (("check",), 2, ["Missing argument 'FILE...'"]),
    (("ops", "tile.laod"), 1, ["no operator 'tile.laod'", "did you mean 'tile.load'?"]),
    (("ops", "tensor.load"), 1, ["no operator 'tensor.load'", "did you mean 'load'?"]),
]


@pytest.mark.parametrize(("arguments", "code", "words"), CASES, ids=[" ".join(case[0]) for case in CASES])
def test_bad_command(folder: Path, arguments: tuple[str, ...], code: int, words: list[str]) -> None:
    ran = pypto(folder, *arguments)
    assert ran.returncode == code, ran.stderr
    assert "Traceback" not in ran.stderr
    for word in words:
        assert word in ran.stderr


def test_check_goes_on_after_a_file_that_cannot_be_read(folder: Path) -> None:
    ran = pypto(folder, "check", "missing.py", "two.py:Square")
    assert ran.returncode == 1
    assert "broken  missing.py: it cannot be read" in ran.stdout
    assert "ok      two.py:Square" in ran.stdout


def test_an_operator_is_documented(folder: Path) -> None:
    shown = pypto(folder, "ops", "tile.store")
    assert shown.returncode == 0
    assert "output_tensor is written." in shown.stdout
    assert "The result is output_tensor itself." in shown.stdout
    lines = [line.split() for line in shown.stdout.split("\n")]
    assert ["parameter", "takes", "default"] in lines
    assert all(line == line.rstrip() for line in shown.stdout.split("\n"))
