"""Distributed examples mean the same before and after every pass, on each legal number of ranks and under many schedules."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from pypto.passes import PassContext, PassManager
from pypto.runtime import entry_function
from pypto.runtime.legal_ranks import legal_ranks
from pypto.testing import MeaningInstrument

ROOT = Path(__file__).resolve().parents[2] / "examples"
CASES = [
    ("handwritten_barrier.py", "Neighbours", [1, 2, 3, 4]),
    ("ring_pass.py", "RingPass", [1, 2, 3, 4]),
    ("allreduce_by_hand.py", "ByHand", [1, 2, 3, 4]),
    ("allreduce_by_hand.py", "OneLine", [1, 2, 3, 4]),
    ("gradient_averaging.py", "Train", [4]),
    ("tensor_parallel_linear.py", "Linear", [1, 2, 3, 4]),
    ("host_allreduce.py", "Sum", [1, 2, 3, 4]),
    ("scatter_and_gather.py", "ScatterAndGather", [4]),
    ("expert_dispatch.py", "Experts", [4]),
    ("mesh_and_ring.py", "MeshAndRing", [8]),
    ("two_groups.py", "TwoGroups", [5, 8]),
]


def check(file: str, name: str, schedules: list[str]) -> list[int]:
    names: dict[str, Any] = runpy.run_path(str(ROOT / file))
    program = names[name]
    legal = legal_ranks(program, entry_function(program))
    ranks = [n for n in (1, 2, 3, 4) if legal.allows(n)] or [n for n in (5, 8) if legal.allows(n)]
    meaning = MeaningInstrument(names.get("inputs"), ranks=ranks, schedules=schedules)
    with PassContext([meaning]):
        PassManager.get_strategy().run_passes(program)
    assert meaning.checked
    return ranks


@pytest.mark.parametrize(("file", "name", "ranks"), CASES)
def test_few_schedules(file: str, name: str, ranks: list[int]) -> None:
    assert check(file, name, ["round_robin", "greedy", "random:1"]) == ranks


@pytest.mark.fuzz
@pytest.mark.parametrize(("file", "name", "ranks"), CASES)
def test_twenty_schedules(file: str, name: str, ranks: list[int]) -> None:
    assert check(file, name, ["round_robin", "greedy", *(f"random:{seed}" for seed in range(18))]) == ranks
