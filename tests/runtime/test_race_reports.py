"""Reports of faults: the statements of the user's kernel and what they were lowered to, a shortest schedule as a table, pictures and files."""

from __future__ import annotations

import html.parser
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.dom import minidom

import numpy as np
import pytest

import pypto.language as pl
import pypto.language.distributed as pld
from pypto import ir, passes, runtime
from pypto.runtime import DeadlockError
from pypto.runtime.checking import RaceError, explore, timeline_of_run
from pypto.runtime.checking.picture import page, write_page
from pypto.runtime.schedules import read_remarks
from pypto.testing import ProtocolError, assert_race_free
from tests.runtime.protocols import SIZE, arguments, collective, kernel, meeting, neighbour, stage, with_exact_waits
from tests.runtime.test_races_in_collectives import without_barrier


@pl.function(type=pl.FunctionType.InCore)
def reduce(
    x: pl.Tensor[[1, 16], pl.FP32],
    data: pl.InOut[pld.DistributedTensor[[1, 16], pl.FP32]],
    signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
):
    data = pl.store(pl.load(x, [0, 0], [1, 16]), [0, 0], data)
    data = pld.tensor.allreduce(data, signal)
    return data


def lines_of_kernel() -> tuple[int, int]:
    """The lines of the store and of the collective above."""
    text = Path(__file__).read_text(encoding="utf-8").split("\n")
    stores = [at for at, line in enumerate(text, 1) if line.startswith("    data = pl.store(pl.load(x, [0, 0], [1, 16])")]
    return stores[0], stores[0] + 1


def racing() -> Any:
    """A mesh allreduce without the barrier before its result is stored."""
    program = without_barrier(passes.lower_composite_ops()(ir.Program([reduce], "P")), "_chunk")
    return explore(program, *arguments(program, 2), ranks=2)


def test_a_race_is_told_by_source_and_by_what_it_was_lowered_to() -> None:
    fault = racing().fault
    store, collective_line = lines_of_kernel()
    text = fault.text
    assert text.startswith("error[race]: race on 'data' of rank ")
    assert "all 16 elements" in text
    source = f"{__file__}:{collective_line} `data = pld.tensor.allreduce(data, signal)`"
    assert f"reads them at {source} (pld.tile.remote_load)" in text
    assert f"writes them at {source} (tile.store)" in text
    assert re.search(r"lowered to `data__recv_loaded_tmp_v\d+ = pld\.tile\.remote_load\(", text)
    assert re.search(r"lowered to `data__store_ret_tmp_v\d+ = pl\.tile\.store\(", text)
    assert "nothing orders the two" in text
    assert store < collective_line


def test_the_timeline_of_a_race_ends_with_its_second_access() -> None:
    fault = racing().fault
    rows = fault.timeline.rows
    marked = [row for row in rows if row.mark == "race"]
    assert len(marked) == 2 and marked[-1] is rows[-1]
    assert {row.rank for row in marked} == {0, 1}
    assert {row.text.split()[0] for row in marked} == {"reads", "writes"}
    owner = fault.race.owner
    assert f"reads 'data' of rank {owner}" in [row.text for row in marked]
    # both have staged and met once; the writer has also read
    assert sorted(r.text for r in rows if r.rank == owner)[-1] == "writes 'data'"
    text = fault.timeline.text(110)
    store, collective_line = lines_of_kernel()
    lines = text.split("\n")
    assert lines[0] == f"lines of {__file__}"
    assert lines[1].split() == ["rank", "0", "rank", "1"]
    assert sum(line.startswith("!!") for line in lines) == 2
    assert f"writes 'data' (line {store})" in text
    assert f"(line {collective_line})" in text
    assert all(len(line) <= 110 for line in lines[1:])


def test_waits_know_the_posts_that_they_needed() -> None:
    fault = racing().fault
    rows = fault.timeline.rows
    waits = [(number, row) for number, row in enumerate(rows) if row.text.startswith("has waited")]
    assert waits
    for number, row in waits:
        (cause,) = row.causes
        assert cause < number
        assert rows[cause].text.startswith("posts 1 to") and rows[cause].rank == 1 - row.rank


def test_a_deadlock_shows_who_waits_at_the_end() -> None:
    program = with_exact_waits(collective("barrier", 2, "credit", calls=2))
    verdict = explore(program, *arguments(program, 2), ranks=2)
    rows = verdict.fault.timeline.rows
    assert [row.mark for row in rows[-2:]] == ["waits", "waits"]
    assert {row.rank for row in rows[-2:]} == {0, 1}
    text = verdict.fault.timeline.text()
    assert "finds 2 in cell" in " ".join(text.split())
    assert text.count("\n..") == 2
    error = verdict.fault.error
    assert error.cycle in ([0, 1], [1, 0])
    assert "they wait in a circle: rank 0 for rank 1, rank 1 for rank 0" in str(error)


def test_a_rank_that_has_left() -> None:
    program = kernel(
        2,
        "pld.system.notify(signal, 1 - me, [me, 0], 1, op=pld.NotifyOp.AtomicAdd)",
        "if me == 0:",
        "    pld.system.wait(signal, [1, 0], 2, cmp=pld.WaitCmp.Ge)",
    )
    with pytest.raises(DeadlockError, match="rank 0 waits for rank 1, which has finished") as caught:
        runtime.run(program, *arguments(program, 2), ranks=2)
    assert caught.value.cycle == ()


def test_a_write_under_way_and_its_arrival() -> None:
    program = kernel(2, stage(), meeting(2), f"pld.tensor.put(data, 1 - me, data, [0, 0], [0, 0], [1, {SIZE}])", meeting(2, 2))
    turns = runtime.run(program, *arguments(program, 2), ranks=2, schedule="random:5", report=True)[1].schedule
    timeline, error = timeline_of_run(program, *arguments(program, 2), ranks=2, turns=turns)
    assert isinstance(error, RaceError)
    texts = [row.text for row in timeline.rows]
    assert "writes 'data' of rank 1, under way" in texts
    (arrival,) = [row for row in timeline.rows if row.text == "the write of rank 0 to 'data' arrives"]
    assert arrival.rank == 1
    assert timeline.rows[arrival.causes[0]].text == "writes 'data' of rank 1, under way"


def test_transfers_of_nothing() -> None:
    program = kernel(
        2,
        "rows = pl.cast(pl.read(x, [0, 0]), pl.INDEX) - 1",
        f"got = pld.remote_load(data, 1 - me, [0, 0], [1, {SIZE}], [rows, {SIZE}])",
    )
    x = np.ones((1, SIZE), np.float32)
    verdict = explore(program, x, None, None, ranks=2)
    assert verdict.holds
    assert [row.text for row in verdict.first.rows] == [f"reads nothing of 'data' of rank {1 - rank}" for rank in range(2)]


# -- files -----------------------------------------------------------------------------------------------------------------


def test_a_schedule_is_saved_with_what_it_is_for(tmp_path: Path) -> None:
    program = kernel(2, stage(), neighbour(2))
    fault = explore(program, *arguments(program, 2), ranks=2).fault
    path = tmp_path / "turns"
    fault.save(path)
    assert path.read_text().splitlines()[:3] == ["# program: P", "# ranks: 2", "# fault: race"]
    assert read_remarks(str(path)) == {"program": "P", "ranks": "2", "fault": "race"}
    with pytest.raises(RaceError) as caught:
        runtime.run(program, *arguments(program, 2), ranks=2, schedule=f"replay:{path}", check=True)
    race = caught.value.races[0]
    assert (race.earlier.statement, race.later.statement) == (fault.race.earlier.statement, fault.race.later.statement)


@pytest.mark.parametrize("seed", range(6))
def test_a_run_with_late_writes_is_replayed_exactly(seed: int, tmp_path: Path) -> None:
    program = kernel(
        3, stage(), meeting(3), f"pld.tensor.put(data, (me + 1) % 3, data, [0, 0], [0, 0], [1, {SIZE}])", neighbour(3)
    )
    arrays = arguments(program, 3)
    first, report = runtime.run(program, *arrays, ranks=3, schedule=f"random:{seed}", report=True)
    path = tmp_path / "turns"
    runtime.write_schedule(path, report.schedule)
    second, again = runtime.run(program, *arrays, ranks=3, schedule=f"replay:{path}", report=True)
    np.testing.assert_array_equal(first, second)
    assert list(again.schedule) == list(report.schedule)


class Tags(html.parser.HTMLParser):
    """Which elements a page has, and whether it needs anything from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.outside += [f"{k}={v}" for k, v in attrs if k in ("src", "href", "data")]


def test_the_picture_is_one_page_that_needs_nothing_else(tmp_path: Path) -> None:
    fault = racing().fault
    path = tmp_path / "race.html"
    write_page(path, "a <race>", fault.timeline, [fault.text])
    text = path.read_text(encoding="utf-8")
    tags = Tags()
    tags.feed(text)
    assert not tags.outside
    assert "a &lt;race&gt;" in text and "<race>" not in text
    assert not {"script", "link", "img", "iframe"} & {*tags.tags}
    svg = minidom.parseString(text[text.index("<svg") : text.index("</svg>") + 6])
    boxes = svg.getElementsByTagName("rect")
    assert len(boxes) == len(fault.timeline.rows)
    assert sum(box.getAttribute("class") == "race" for box in boxes) == 2
    arrows = [e for kind in ("line", "path") for e in svg.getElementsByTagName(kind)]
    assert sum(a.getAttribute("class") == "cause" for a in arrows) == sum(len(r.causes) for r in fault.timeline.rows) > 0
    assert sum(a.getAttribute("class") == "clash" for a in arrows) == 1
    assert page("nothing", None).count("<svg") == 0


# -- in tests of users -----------------------------------------------------------------------------------------------------


def test_assert_race_free() -> None:
    verdicts = assert_race_free(reduce)
    assert [v.ranks for v in verdicts] == [2]  # its signal is for two ranks
    assert verdicts[0].monotone
    with pytest.raises(ValueError, match="takes 1 to 2 ranks, none of 3, 4"):
        assert_race_free(reduce, ranks=[3, 4])
    with pytest.raises(ProtocolError, match="on 2 ranks: race on 'data'") as caught:
        assert_race_free(kernel(2, stage(), neighbour(2)))
    assert isinstance(caught.value, AssertionError)
    assert "\n!!" in str(caught.value)
    assert caught.value.verdict.fault.kind == "race"
    assert assert_race_free(kernel(3, stage(), meeting(3), neighbour(3)), ranks=[3], inputs=lambda n: arguments(kernel(3), n))


# -- the command line ------------------------------------------------------------------------------------------------------

RACY = '''"""A barrier is missing."""

import pypto.language as pl
import pypto.language.distributed as pld


@pl.program
class Racy:
    @pl.function(type=pl.FunctionType.InCore)
    def kernel(
        self,
        x: pl.Tensor[[1, 8], pl.FP32],
        data: pl.InOut[pld.DistributedTensor[[1, 8], pl.FP32]],
        signal: pl.InOut[pld.DistributedTensor[[2, 1], pl.INT32]],
        out: pl.Out[pl.Tensor[[1, 8], pl.FP32]],
    ) -> pl.Tensor[[1, 8], pl.FP32]:
        data = pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], data)
        signal = pld.tensor.barrier(signal)
        data = pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], data)
        me = pl.cast(pld.rank(pld.get_comm_ctx(data)), pl.INDEX)
        out = pl.store(pld.remote_load(data, 1 - me, [0, 0], [1, 8]), [0, 0], out)
        return out
'''

CLEAN = RACY.replace("Racy", "Clean").replace(
    "        signal = pld.tensor.barrier(signal)\n        data = pl.store(pl.load(x, [0, 0], [1, 8]), [0, 0], data)\n",
    "        signal = pld.tensor.barrier(signal)\n",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("protocols")
    (made / "racy.py").write_text(RACY)
    (made / "clean.py").write_text(CLEAN)
    (made / "plain.py").write_text(
        "import pypto.language as pl\n\n\n@pl.function\ndef f(x: pl.Tensor[[4], pl.FP32]) -> pl.Tensor[[4], pl.FP32]:\n"
        "    return pl.add(x, x)\n"
    )
    return made


def pypto(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pypto", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)


def test_check_explores_saves_and_replays(folder: Path) -> None:
    ran = pypto(folder, "check", "racy.py", "--explore", "50", "--save-schedule", "s.txt", "--html", "s.html")
    assert ran.returncode == 1
    assert "broken  racy.py:Racy: 2 ranks: fault found (a race): race on 'data' of rank" in ran.stdout
    assert "saved s.txt" in ran.stdout
    marked = [line for line in ran.stdout.split("\n") if line.startswith("!!")]
    assert len(marked) == 2
    assert {"line 19" in line for line in marked} == {True, False} and any("line 21" in line for line in marked)
    assert "error[race]" in ran.stderr and "racy.py:19" in ran.stderr and "racy.py:21" in ran.stderr
    assert "# stage: lowered" in (folder / "s.txt").read_text()
    assert (folder / "s.html").read_text().count("<svg") == 1
    again = pypto(folder, "check", "racy.py", "--replay", "s.txt")
    assert again.returncode == 1
    assert "a race on 2 ranks under s.txt" in again.stdout and "!!" in again.stdout
    assert again.stderr.split("\n")[:4] == ran.stderr.split("\n")[:4]
    shown = pypto(folder, "run", "racy.py", "--replay", "s.txt", "--arg", "x=FP32[1,8]:ones", "--html", "r.html")
    assert shown.returncode == 0, shown.stderr
    assert "result 0 of rank 1" in shown.stdout and "saved r.html" in shown.stdout
    assert (folder / "r.html").read_text().count('class="race"') == 2


def test_check_says_what_it_explored(folder: Path) -> None:
    ran = pypto(folder, "check", "clean.py", "--explore", "50", "--ranks", "2", "--html", "ok.html")
    assert ran.returncode == 0, ran.stderr
    assert "explored clean.py:Clean: 2 ranks: holds for all schedules: the protocol is monotone" in ran.stdout
    assert "ok      clean.py:Clean" in ran.stdout
    assert (folder / "ok.html").read_text().count("<svg") == 1
    plain = pypto(folder, "check", "plain.py", "--explore", "5")
    assert plain.returncode == 0
    assert "not explored: it does nothing between ranks" in plain.stdout


def test_commands_that_do_not_fit(folder: Path) -> None:
    given = ("--arg", "x=FP32[1,8]:ones")
    both = pypto(folder, "run", "clean.py", *given, "--schedule", "greedy", "--replay", "clean.py")
    assert both.returncode == 2 and "--schedule or --replay, not both" in both.stderr
    missing = pypto(folder, "check", "clean.py", "--replay", "no.txt")
    assert missing.returncode == 2 and "no.txt" in missing.stderr
    (folder / "words.txt").write_text("# ranks: 2\none two\n")
    words = pypto(folder, "run", "clean.py", *given, "--replay", "words.txt")
    assert words.returncode == 1 and "holds no schedule" in words.stderr
    plain = pypto(folder, "run", "plain.py", "--arg", "x=FP32[4]:ones", "--html", "p.html")
    assert plain.returncode == 1 and "nothing to picture" in plain.stderr
