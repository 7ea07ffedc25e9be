"""Collectives that are run by their meaning: ranks come together, and the last one to come does the work for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import Error, source_line
from pypto.ir.attrs import AttrValue
from pypto.ir.expr import Call
from pypto.ir.types import DistributedTensorType
from pypto.ops.declare import Declaration
from pypto.runtime.errors import CollectiveError, PoisonUseError, Refusal
from pypto.runtime.operators import Operator, OperatorFailed, describe_value, parameters_of
from pypto.runtime.values import PoisonScalar, Tracked, is_array, plain, poison_of, valid_part
from pypto.runtime.world import Door, Place, home_of, locate


class Arrival:
    """One rank's call of a collective."""

    __slots__ = ("extents", "operands", "places", "statement")

    def __init__(self, statement: Any, extents: Any, operands: Sequence[Any]) -> None:
        self.statement = statement
        self.extents = extents
        self.operands = operands
        self.places: list[Place | None] = [home_of(v) for v in operands]


class Meeting:
    """A collective to which some ranks of its domain have come."""

    __slots__ = ("arrivals", "devices", "done", "meet", "parked")

    def __init__(self, meet: Meet, devices: tuple[int, ...]) -> None:
        self.meet = meet
        self.devices = devices
        self.arrivals: dict[int, Arrival] = {}
        self.done = False
        self.parked: list[Any] = []
        """What the scheduler holds back until the meeting is done."""

    def missing(self) -> list[int]:
        """The ranks that have not come."""
        return [d for d in self.devices if d not in self.arrivals]


class MeetingWait:
    """A rank that is at a meeting others have not come to."""

    __slots__ = ("meeting", "statement")

    def __init__(self, meeting: Meeting, statement: Any) -> None:
        self.meeting = meeting
        self.statement = statement

    def park(self, agent: Any, _waiting: dict[int, Any]) -> None:
        """The scheduler leaves the rank here."""
        self.meeting.parked.append(agent)

    @property
    def done(self) -> bool:
        """True when all have come and the work is done."""
        return self.meeting.done

    def describe(self) -> str:
        """Which ranks are missing."""
        missing = ", ".join(map(str, self.meeting.missing()))
        name = self.meeting.meet.name
        return f"{name} is called by all ranks" if not missing else f"{name} is not called yet by rank {missing}"


class Meet:
    """A collective at one place of a program. ``operator`` is made of the call; its meaning gets lists over the ranks."""

    def __init__(self, operator: Operator, call: Call) -> None:
        declaration: Declaration = operator.declaration
        self.name = declaration.name
        self.operator = operator
        self.kwargs: Mapping[str, AttrValue] = call.kwargs
        self.names = [p.name for p in declaration.params_of(len(call.args))]
        asked = parameters_of(operator.meaning)
        self._asked = [i for i, n in enumerate(self.names) if n in asked]
        self._distributed = [i for i, a in enumerate(call.args) if isinstance(a.type, DistributedTensorType)]
        self.alias = self.names.index(declaration.alias) if declaration.alias in self.names else None
        self._valid = [i for i in operator.valid_operands if self.names[i] in declaration.valid_only]

    def domain(self, operands: Sequence[Any]) -> tuple[int, ...]:
        """The ranks that take part: those that share the windows among the operands."""
        for at in self._distributed:
            place = locate(operands[at])
            if place.buffer.devices is not None:
                place.peers()
                return place.buffer.devices
        raise Refusal(f"{self.name} has no window that says which ranks take part")

    def come(self, door: Door, statement: Any, extents: Any, *operands: Any) -> MeetingWait:
        """A rank comes; it has to wait until the meeting is done."""
        try:
            devices = self.domain(operands)
            if any(type(v) is PoisonScalar for v in operands):
                raise PoisonUseError
        except (Refusal, PoisonUseError) as error:
            raise OperatorFailed(self.name, "", error) from error
        if door.pending:
            door.flush()
        world = door.world
        meeting: Meeting | None = world.meetings.get(devices)
        if meeting is None:
            meeting = world.meetings[devices] = Meeting(self, devices)
        arrival = Arrival(statement, extents, operands)
        difference = self._difference(meeting, arrival)
        meeting.arrivals[door.device] = arrival
        if difference is not None:
            raise self._mismatch(meeting, door.device, difference)
        if not meeting.missing():
            del world.meetings[devices]
            for observer in world.observers:
                observer.on_meet(devices, statement)
            self._work(meeting)
            meeting.done = True
            for agent in meeting.parked:
                world.wake(agent)
        return MeetingWait(meeting, statement)

    def result(self, operands: Sequence[Any]) -> Any:
        """What a rank gets: its own operand that was written."""
        return None if self.alias is None else operands[self.alias]

    # -- the ranks must say the same -----------------------------------------------------------------------------------

    def _difference(self, meeting: Meeting, arrival: Arrival) -> str | None:
        first = meeting.meet
        if first is self and not meeting.arrivals:
            return None
        if first.operator.declaration is not self.operator.declaration:
            return "the collectives differ"
        if dict(first.kwargs) != dict(self.kwargs):
            return "the keywords differ"
        other = next(iter(meeting.arrivals.values()))
        if len(other.operands) != len(arrival.operands):
            return "the numbers of operands differ"
        for name, a, b, p, q in zip(self.names, other.operands, arrival.operands, other.places, arrival.places, strict=True):
            x, y = plain(a), plain(b)
            if getattr(x, "shape", None) != getattr(y, "shape", None) or getattr(x, "dtype", None) != getattr(y, "dtype", None):
                return f"the shapes of {name!r} differ"
            if (p is None) != (q is None) or (p and q and (p.buffer is not q.buffer or p.offset != q.offset)):
                return f"the windows given as {name!r} differ"
        return None

    def _mismatch(self, meeting: Meeting, device: int, difference: str) -> Error:
        lines = [f"the ranks {', '.join(map(str, meeting.devices))} do not call the same collective: {difference}"]
        for at in meeting.devices:
            arrival = meeting.arrivals.get(at)
            if arrival is None:
                lines.append(f"  rank {at} has not come")
            else:
                lines.append(f"  rank {at} calls {self.call_text(meeting, at, device, arrival)}")
        return CollectiveError("\n".join(lines), self.span(meeting.arrivals[device].statement))

    def call_text(self, meeting: Meeting, at: int, device: int, arrival: Arrival) -> str:
        """A rank's call, for messages."""
        meet = self if at == device else meeting.meet
        operands = ", ".join(f"{n}={describe_value(v)}" for n, v in zip(meet.names, arrival.operands, strict=True))
        keywords = "".join(f", {k}={v!r}" for k, v in meet.kwargs.items())
        span = self.span(arrival.statement)
        where = ""
        if span is not None and span.begin_line > 0:
            text = source_line(span)
            where = f" at {span.filename}:{span.begin_line}" + (f" `{text.strip()}`" if text else "")
        return f"{meet.name}({operands}{keywords}){where}"

    @staticmethod
    def span(statement: Any) -> Any:
        """The place of a statement."""
        return getattr(statement, "span", None)

    # -- the work ------------------------------------------------------------------------------------------------------

    def _work(self, meeting: Meeting) -> None:
        arrivals = [meeting.arrivals[d] for d in meeting.devices]
        lists = self._lists(arrivals, plain)
        poisoned = any(self._dirty(a.operands[i]) for a in arrivals for i in self._asked)
        masks = self._probe(arrivals, lists) if poisoned else None
        try:
            self.operator.meaning(**lists, **self.operator.keywords)
        except Exception as error:
            shown = ", ".join(describe_value(v) for v in arrivals[0].operands)
            raise OperatorFailed(self.name, shown, error) from error
        if masks is not None:
            for at, of_ranks in masks.items():
                for arrival, mask in zip(arrivals, of_ranks, strict=True):
                    target = arrival.operands[at]
                    whole = target.needed_mask()
                    part = valid_part(whole, arrival.extents[0][at]) if at in self._valid and arrival.extents else whole
                    part[...] = mask

    def _lists(self, arrivals: Sequence[Arrival], data: Callable[[Any], Any]) -> dict[str, list[Any]]:
        lists: dict[str, list[Any]] = {}
        for at in self._asked:
            values: list[Any] = []
            for arrival in arrivals:
                value = data(arrival.operands[at])
                if at in self._valid and arrival.extents is not None:
                    value = valid_part(value, arrival.extents[0][at])
                values.append(value)
            lists[self.names[at]] = values
        return lists

    @staticmethod
    def _dirty(value: Any) -> bool:
        mask = poison_of(value)
        return mask is not None and bool(np.any(mask))

    def _probe(self, arrivals: Sequence[Arrival], lists: Mapping[str, list[Any]]) -> dict[int, list[Any]]:
        """Masks of the targets afterwards: where a NaN in the place of poison would reach; everything where that cannot be tried."""

        def nan_for_poison(value: Any) -> Any:
            if not (type(value) is Tracked or is_array(value)):
                return value
            mask, data = poison_of(value), plain(value)
            if mask is None and data.dtype.kind in "iu":
                return data.copy()
            probe = np.ones(data.shape)
            if mask is not None:
                probe[mask] = np.nan
            return probe

        targets = [i for i in self.operator.targets if self.names[i] in lists]
        probes = self._lists(arrivals, nan_for_poison)
        try:
            self.operator.meaning(**probes, **self.operator.keywords)
        except (Error, ValueError):
            return {i: [np.True_] * len(arrivals) for i in targets}
        return {i: [np.isnan(p) for p in probes[self.names[i]]] for i in targets}
