"""Operators that touch windows: the rank's own, or another rank's.

Each function here takes an operator of one call and gives what generated code calls: ``f(door, statement, extents, *operands)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pypto.ir.enums import ArgEffect
from pypto.ir.expr import Call
from pypto.ops.declare import Declaration, Lanes
from pypto.runtime.errors import Refusal
from pypto.runtime.operators import Operator, OperatorFailed, describe_values, effect_on, parameters_of
from pypto.runtime.signals import forget, position_of
from pypto.runtime.ufuncs import is_ufunc
from pypto.runtime.values import Tracked, is_array, own, plain
from pypto.runtime.world import Access, Door, HeldWrite, Place, home_of, locate

Reaching = Callable[..., Any]


def asks_world(declaration: Declaration) -> bool:
    """True for an operator whose meaning gets the rank's door to the others."""
    meaning = declaration.meaning
    return meaning is not None and not is_ufunc(meaning) and "world" in parameters_of(meaning)


def through_door(operator: Operator) -> Reaching:
    """An operator whose meaning asks for the door: it gets its operands as they are."""
    meaning, keywords, name = operator.meaning, operator.keywords, operator.declaration.name

    def ask(door: Door, _statement: Any, _extents: Any, *operands: Any) -> Any:
        try:
            return meaning(*operands, **keywords, world=door)
        except Exception as error:
            raise OperatorFailed(name, describe_values(operands), error) from error

    return ask


def remote(operator: Operator, call: Call) -> Reaching:
    """An operation at home, done on another rank's window. ``operator`` is made without the operand ``peer``."""
    declaration = operator.declaration
    assert declaration.remote is not None
    remote_at, peer_at = position_of(declaration, call, declaration.remote), position_of(declaration, call, "peer")
    there = remote_at - (peer_at < remote_at)
    writes = effect_on(declaration, declaration.remote, call.kwargs) is not ArgEffect.Read
    names = [p.name for p in declaration.params_of(len(call.args)) if p.name != "peer"]
    kept = {i for i, n in enumerate(names) if n in declaration.scratch or i == there}
    extent_at = names.index("shape") if "shape" in names else None
    sources = [i for i in range(len(names)) if i not in kept]
    apply, name = operator.apply, declaration.name
    # a copy between two windows: from which operand to which, and the offsets in both
    copied = next(((i, there) for i in operator.targets if i != there), None)
    if writes and "src" in names:
        copied = names.index("src"), there
    atomic = any(operator.is_atomic(i) for i in operator.targets)
    offsets = [names.index(n) for n in ("dst_offsets", "src_offsets") if n in names]

    def reach(door: Door, statement: Any, extents: Any, *operands: Any) -> Any:
        target = operands[remote_at]
        try:
            mine: Place = target.place or locate(target)
            other = mine.peer(operands[peer_at])
        except Refusal as error:
            raise OperatorFailed(name, describe_values(operands), error) from error
        place: Place = other.place
        values = [*operands]
        values[remote_at] = other
        del values[peer_at]
        if copied is not None and place.device == door.device and not atomic:
            one, two = values[copied[0]], values[copied[1]]
            if _same_place(one, two) and (len(offsets) != 2 or values[offsets[0]] == values[offsets[1]]):
                return None  # what is copied onto itself is not touched
        if door.observers:
            _report(door, statement, operator, extents, values)
        if writes:
            if door.late and place.device != door.device:
                held = [v if i in kept else _copied(v) for i, v in enumerate(values)]
                door.pending.append(HeldWrite(apply, extents, held, place, statement))
                door.world.held += 1
                door.moved += _bytes(values, extent_at, sources, other)
                return None
        elif door.pending:
            door.flush_to(place.device)
        try:
            result = apply(extents, *values)
        except OperatorFailed as failed:
            failed.operands += f"; {mine.buffer.name!r} on rank {place.device} has the shape {list(other.data.shape)}"
            raise
        if writes:
            if place.buffer.used:
                place.buffer.used.clear()
            door.world.written(place)
        door.moved += _bytes(values, extent_at, sources, other) if result is None else plain(result).nbytes
        return result

    return reach


def _same_place(one: Any, two: Any) -> bool:
    """True when two values are the same elements of one window."""
    first, second = home_of(one), home_of(two)
    return (
        first is not None
        and second is not None
        and first.address == second.address
        and one.data.shape == two.data.shape
        and one.data.strides == two.data.strides
    )


def _bytes(values: Sequence[Any], extent_at: int | None, sources: Sequence[int], other: Tracked) -> int:
    """How much a transfer moves."""
    if extent_at is not None:
        count = 1
        for extent in values[extent_at]:
            count *= int(extent)
        return count * other.data.itemsize
    for at in sources:
        value = values[at]
        if type(value) is Tracked or is_array(value):
            return plain(value).nbytes
    return other.data.nbytes


def _copied(value: Any) -> Any:
    return own(value) if type(value) is Tracked or is_array(value) else value


def local(operator: Operator) -> Reaching:
    """An operator of this rank on a window of its own."""
    apply, targets = operator.apply, [*operator.targets]

    def touch(door: Door, statement: Any, extents: Any, *operands: Any) -> Any:
        if door.observers:
            _report(door, statement, operator, extents, operands)
        for at in targets:
            forget(operands[at])
        return apply(extents, *operands)

    return touch


def view_of_window(operator: Operator) -> bool:
    """True when the operator only makes a view, so that it touches no element."""
    declaration = operator.declaration
    return (declaration.alias is not None and not operator.targets) or declaration.lanes is Lanes.NONE


def _report(door: Door, statement: Any, operator: Operator, extents: Any, operands: Sequence[Any]) -> None:
    """Tell the observers of every window that a call touches."""
    for at, value in enumerate(operands):
        place = home_of(value)
        if place is None:
            continue
        written, read = at in operator.targets, operator.is_read(at)

        def elements(at: int = at) -> Any:
            return operator.touched(extents, operands, at)

        def region(at: int = at) -> Any:
            return operator.region(extents, operands, at)

        if read:
            access = Access(door, place, value.data, statement, False, None, elements, region)
            for observer in door.observers:
                observer.on_read(access)
        if written:
            access = Access(door, place, value.data, statement, operator.is_atomic(at), None, elements, region)
            for observer in door.observers:
                observer.on_write(access)
