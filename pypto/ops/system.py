"""Tasks, barriers between engines and cores, and other orders to the machine.

Where one rank runs a program statement by statement, everything is in order already: barriers and fences then do nothing. What needs
the machine itself (events, pipes between cores) is hardware-only.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from pypto.ir.dtypes import DataType
from pypto.ir.enums import CoreType, PipeType
from pypto.ir.expr import Expr
from pypto.ir.types import ScalarType, Type, UnknownType
from pypto.ops.declare import Declaration, KeywordError, Kind, Lanes, OperandError, Param, describe_type, op
from pypto.ops.region import Keywords, constant, entries, need_count
from pypto.ops.syntax import WaitingOp


def _void(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    return UnknownType()


def _scalar(dtype: DataType) -> Any:
    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        return ScalarType(dtype)

    return rule


# -- tasks -----------------------------------------------------------------------------------------------------------------------

INVALID_TASK = 0
"""The number of no task."""

op(
    "system.task_invalid",
    params=[],
    result=_scalar(DataType.TASK_ID),
    meaning=lambda: INVALID_TASK,
    lanes=Lanes.NONE,
    category="TaskOp",
    doc="The handle of no task; waiting for it is waiting for nothing.",
)
op(
    "system.task_dummy",
    params=[],
    result=_scalar(DataType.TASK_ID),
    meaning=lambda: INVALID_TASK,
    lanes=Lanes.NONE,
    category="TaskOp",
    kind=partial(WaitingOp, mark="dummy_task"),
    doc="A task that does nothing and ends when the tasks of the list ``deps`` have ended.",
)


def is_task(task: int) -> bool:
    """True for the handle of a task."""
    return bool(task != INVALID_TASK)


def _is_valid_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    task = args[0].type
    if task is not ScalarType(DataType.TASK_ID):
        raise OperandError(f"{declaration.name} takes a TASK_ID scalar, got {describe_type(task)}", 0)
    return ScalarType(DataType.BOOL)


op(
    "system.task_is_valid",
    params=[Param("task", Kind.SCALAR, doc="A task handle.")],
    result=_is_valid_type,
    meaning=is_task,
    lanes=Lanes.NONE,
    category="TaskOp",
    doc="True unless the handle is that of no task.",
)


# -- barriers --------------------------------------------------------------------------------------------------------------------


def _nothing(*operands: Any) -> None:
    return None


for _leaf, _text in (
    ("bar_v", "Wait until the vector engine is done."),
    ("bar_m", "Wait until the matrix engine is done."),
    ("bar_all", "Wait until all engines of the core are done."),
    ("fence", "Make everything written before visible to all before anything after it."),
):
    op(f"system.{_leaf}", params=[], result=_void, meaning=_nothing, lanes=Lanes.NONE, doc=_text)


def _cacheinvalid_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    if args:
        if len(args) != 3:
            raise OperandError(f"{declaration.name} takes nothing, or a tensor with shapes and offsets", len(args) - 1)
        tensor: Any = args[0].type
        need_count(declaration, 1, entries(args[1]), len(tensor.shape), "extents", describe_type(tensor))
        need_count(declaration, 2, entries(args[2]), len(tensor.shape), "offsets", describe_type(tensor))
    return UnknownType()


op(
    "system.cacheinvalid",
    params=[
        Param("tensor", Kind.TENSOR, None, doc="The tensor; the whole cache when omitted."),
        Param("shapes", Kind.TUPLE, None, doc="Extents of the region."),
        Param("offsets", Kind.TUPLE, None, doc="Where it begins."),
    ],
    result=_cacheinvalid_type,
    meaning=_nothing,
    lanes=Lanes.NONE,
    doc="Forget cached copies, so that the next reads see what others wrote.",
)


def _syncall_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    mode, core = kwargs.get("mode", "hard"), kwargs.get("core_type", "mix")
    if mode not in ("hard", "soft"):
        raise KeywordError(f"{declaration.name} takes 'mode' as hard or soft, got {mode!r}", "mode")
    if core not in _CORES:
        raise KeywordError(f"{declaration.name} takes 'core_type' as one of {', '.join(_CORES)}; got {core!r}", "core_type")
    if mode == "soft" and len(args) < 2:
        raise KeywordError(f"{declaration.name} in soft mode needs 'gm_workspace' and 'used_cores'", "mode")
    if mode == "hard" and args:
        raise OperandError(f"{declaration.name} in hard mode takes no {declaration.operand_params[0].name!r}", 0)
    if len(args) > 1:
        cores: Any = args[1].type
        value = constant(args[1])
        if not cores.dtype.is_int() or (value is not None and value < 0):
            raise OperandError(f"{declaration.name} takes a number of cores as 'used_cores', got {describe_type(cores)}", 1)
    return UnknownType()


_CORES = ("mix", "aiv_only", "aic_only")

op(
    "system.syncall",
    params=[
        Param("core_type", Kind.STR, "mix", stored=True, keyword_only=True, doc="mix, aiv_only or aic_only."),
        Param("mode", Kind.STR, "hard", stored=True, keyword_only=True, doc="hard, or soft through a workspace."),
        Param(
            "gm_workspace", Kind.TENSOR, None, keyword_only=True, by_keyword=True, doc="Room in global memory for the soft mode."
        ),
        Param(
            "used_cores", Kind.SCALAR, None, keyword_only=True, by_keyword=True, doc="How many cores take part in the soft mode."
        ),
    ],
    result=_syncall_type,
    lanes=Lanes.NONE,
    hardware_only=True,
    reads_writes=["gm_workspace"],
    doc="Wait until all cores have come here.",
)


# -- events ----------------------------------------------------------------------------------------------------------------------


def _event_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    event = kwargs.get("event_id", 0)
    if isinstance(event, int) and event < 0:
        raise KeywordError(f"{declaration.name} takes 'event_id' from 0, got {event}", "event_id")
    if args:
        scalar: Any = args[0].type
        if not scalar.dtype.is_int():
            raise OperandError(f"{declaration.name} takes an integer as 'event_id', got {describe_type(scalar)}", 0)
        value = constant(args[0])
        if value is not None and value < 0:
            raise OperandError(f"{declaration.name} takes 'event_id' from 0, got {value}", 0)
    return UnknownType()


def _pipe(name: str, doc: str) -> Param:
    return Param(name, Kind.ENUM, enum=PipeType, stored=True, keyword_only=True, doc=doc)


_EVENT = Param("event_id", Kind.SCALAR, doc="The event, an integer.")
_CORE = Param("core_type", Kind.ENUM, None, enum=CoreType, keyword_only=True, doc="Which core, when it is not this one.")

for _leaf, _text in (("sync_src", "Signal an event to another engine."), ("sync_dst", "Wait for an event of another engine.")):
    op(
        f"system.{_leaf}",
        params=[
            _pipe("set_pipe", "The engine that signals."),
            _pipe("wait_pipe", "The engine that waits."),
            Param("event_id", Kind.INT, stored=True, keyword_only=True, doc="The event."),
        ],
        result=_event_type,
        lanes=Lanes.NONE,
        hardware_only=True,
        doc=_text,
    )

op(
    "system.sync_set",
    params=[
        _EVENT,
        _pipe("pipe", "The engine that signals."),
        Param("ffts_mode", Kind.INT, None, keyword_only=True, doc="How the signal spreads over cores."),
        _CORE,
    ],
    result=_event_type,
    lanes=Lanes.NONE,
    hardware_only=True,
    category="CrossCoreOp",
    doc="Signal an event to another core.",
)
op(
    "system.sync_wait",
    params=[_EVENT, _pipe("pipe", "The engine that waits."), _CORE],
    result=_event_type,
    lanes=Lanes.NONE,
    hardware_only=True,
    category="CrossCoreOp",
    doc="Wait for an event of another core.",
)
op(
    "system.set_ffts",
    params=[Param("workspace", Kind.TENSOR, doc="Room for the signals between cores.")],
    result=_void,
    lanes=Lanes.NONE,
    hardware_only=True,
    category="CrossCoreOp",
    doc="Say where signals between cores are kept.",
)

for _leaf, _text in (
    ("available_cluster_count", "How many clusters the machine has for this program."),
    ("available_aiv_count", "How many vector cores the machine has for this program."),
):
    op(f"system.{_leaf}", params=[], result=_scalar(DataType.INT32), lanes=Lanes.NONE, hardware_only=True, doc=_text)


# -- buffers and pipes between cores ---------------------------------------------------------------------------------------------

AUTO = -1
"""A base address that the allocator chooses."""


def _reserve_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    for key in ("name", "peer_func"):
        if key in declaration.keyword_params and not kwargs.get(key):
            raise KeywordError(f"{declaration.name} needs a {key!r} that is not empty", key)
    size = kwargs.get("size", 1)
    if isinstance(size, int) and size <= 0:
        raise KeywordError(f"{declaration.name} takes a positive 'size', got {size}", "size")
    return ScalarType(DataType.INT32)


def _word(name: str, doc: str) -> Param:
    return Param(name, Kind.STR, stored=True, keyword_only=True, doc=doc)


op(
    "system.reserve_buffer",
    params=[
        _word("name", "The name of the buffer."),
        Param("size", Kind.INT, stored=True, keyword_only=True, doc="Bytes."),
        Param("base", Kind.INT, AUTO, stored=True, keyword_only=True, doc="Its address; AUTO (-1) leaves it to the allocator."),
    ],
    result=_reserve_type,
    lanes=Lanes.NONE,
    hardware_only=True,
    short=True,
    category="CrossCoreOp",
    doc="Reserve a buffer that the other core of the cluster can reach; gives its address.",
)
op(
    "system.import_peer_buffer",
    params=[_word("name", "The name of the buffer."), _word("peer_func", "The function that reserves it.")],
    result=_reserve_type,
    lanes=Lanes.NONE,
    hardware_only=True,
    short=True,
    category="CrossCoreOp",
    doc="The address of a buffer that the other core of the cluster reserves.",
)


def _pipe_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    for key in ("slot_size", "slot_num", "local_slot_num"):
        value = kwargs.get(key)
        if isinstance(value, int) and value <= 0:
            raise KeywordError(f"{declaration.name} takes a positive {key!r}, got {value}", key)
    return UnknownType()


for _leaf in ("aic_initialize_pipe", "aiv_initialize_pipe"):
    op(
        f"system.{_leaf}",
        params=[
            Param("c2v_consumer_buf", Kind.SCALAR, 0, stamp=DataType.INT32, doc="Where data from cube to vector core arrives."),
            Param("v2c_consumer_buf", Kind.SCALAR, 0, stamp=DataType.INT32, doc="Where data from vector to cube core arrives."),
            Param("dir_mask", Kind.INT, stored=True, keyword_only=True, doc="Which directions are used."),
            Param("slot_size", Kind.INT, stored=True, keyword_only=True, doc="Bytes of one slot."),
            Param("slot_num", Kind.INT, None, keyword_only=True, doc="How many slots."),
            Param("local_slot_num", Kind.INT, None, keyword_only=True, doc="How many slots on this side."),
            Param("id", Kind.INT, None, keyword_only=True, doc="Which pipe."),
        ],
        result=_pipe_type,
        lanes=Lanes.NONE,
        hardware_only=True,
        short=True,
        category="CrossCoreOp",
        doc="Set up the pipe between the cube and the vector core.",
    )
