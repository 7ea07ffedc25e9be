"""Tasks, barriers and orders to the machine."""

from __future__ import annotations

from typing import Any

import pytest

from pypto.diagnostics import InvalidValueError
from pypto.ir.dtypes import DataType
from pypto.ir.enums import PipeType
from pypto.ir.types import ScalarType, UnknownType
from tests.ops.operands import call, declared, run, scalar, tensor

INT32 = DataType.INT32


def test_tasks() -> None:
    task = ScalarType(DataType.TASK_ID)
    assert call("system.task_invalid").type is task
    assert call("system.task_dummy").type is task
    asked = call("system.task_is_valid", scalar("t", DataType.TASK_ID))
    assert asked.type is ScalarType(DataType.BOOL)
    assert run(asked, run(call("system.task_invalid"))) is False
    assert run(asked, 3) is True


@pytest.mark.parametrize("leaf", ["bar_v", "bar_m", "bar_all", "fence"])
def test_barriers_do_nothing_in_order(leaf: str) -> None:
    made = call(f"system.{leaf}")
    assert made.type is UnknownType()
    assert run(made) is None


def test_stored_numbers_of_engines() -> None:
    made = call("system.sync_src", set_pipe=PipeType.MTE2, wait_pipe=PipeType.V, event_id=1)
    assert dict(made.kwargs) == {"set_pipe": 1, "wait_pipe": 4, "event_id": 1}


@pytest.mark.parametrize("leaf", ["sync_src", "sync_dst", "sync_set", "sync_wait", "set_ffts", "syncall", "reserve_buffer"])
def test_what_needs_the_machine(leaf: str) -> None:
    assert declared(f"system.{leaf}").hardware_only


@pytest.mark.parametrize(
    ("name", "positional", "named", "words"),
    [
        ("task_is_valid", [scalar()], {}, "TASK_ID"),
        ("syncall", [], {"mode": "firm"}, "hard or soft"),
        ("syncall", [], {"core_type": "gpu"}, "core_type"),
        ("syncall", [], {"mode": "soft"}, "'gm_workspace' and 'used_cores'"),
        ("syncall", [], {"gm_workspace": tensor([8], INT32), "used_cores": 2}, "hard mode takes no"),
        ("syncall", [], {"mode": "soft", "gm_workspace": tensor([8], INT32), "used_cores": -2}, "number of cores"),
        ("sync_src", [], {"set_pipe": PipeType.V, "wait_pipe": PipeType.M, "event_id": -1}, "from 0"),
        ("sync_set", [-1], {"pipe": PipeType.V}, "from 0"),
        ("sync_set", [scalar("f", DataType.FP32)], {"pipe": PipeType.V}, "integer as 'event_id'"),
        ("sync_set", [0], {"pipe": 9}, "'pipe' as one of"),
        ("cacheinvalid", [tensor([8])], {}, "with shapes and offsets"),
        ("cacheinvalid", [tensor([8]), [8, 8], [0]], {}, "1 extents"),
        ("reserve_buffer", [], {"name": "", "size": 8}, "'name' that is not empty"),
        ("reserve_buffer", [], {"name": "a", "size": 0}, "positive 'size'"),
        ("import_peer_buffer", [], {"name": "a", "peer_func": ""}, "'peer_func' that is not empty"),
        ("aic_initialize_pipe", [], {"dir_mask": 1, "slot_size": 0}, "positive 'slot_size'"),
    ],
)
def test_refused(name: str, positional: list[Any], named: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidValueError, match=words):
        call(f"system.{name}", *positional, **named)
