"""Posting to signal cells of other ranks, waiting for one's own, and the check that no post serves two waits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pypto.diagnostics import InternalError
from pypto.ir.enums import NotifyOp, WaitCmp
from pypto.ir.expr import Call
from pypto.ops.declare import Declaration, Kind
from pypto.runtime.errors import PoisonUseError, Refusal
from pypto.runtime.operators import Operator, OperatorFailed, describe_values
from pypto.runtime.values import PoisonScalar, Tracked
from pypto.runtime.world import Access, Door, Place, locate


class SignalReuseWarning(UserWarning):
    """A wait was satisfied by posts that an earlier wait had used up."""


@dataclass(frozen=True)
class Finding:
    """A wait that waits for nothing: ``statement`` on ``rank`` found in ``cell`` of ``window`` what ``earlier`` had waited for already."""

    statement: Any
    earlier: Any
    rank: int
    window: str
    cell: tuple[int, ...]
    text: str

    def __str__(self) -> str:
        return self.text


class Used:
    """What the waits on a cell have been satisfied by since it last decreased (``least``) or was last written (``equal``)."""

    __slots__ = ("equal", "equal_at", "least", "least_at")

    def __init__(self) -> None:
        self.least: int | None = None
        self.least_at: Any = None
        self.equal: int | None = None
        self.equal_at: Any = None


class Wait:
    """A wait that is not over. The scheduler looks at it again when somebody posts to its cell."""

    __slots__ = ("address", "agent", "cell", "expected", "met", "operator", "place", "relation", "statement", "value")

    def __init__(
        self,
        statement: Any,
        place: Place,
        operator: str,
        cell: tuple[int, ...],
        expected: Any,
        relation: str,
        met: Callable[[], bool],
        value: Callable[[], int],
    ) -> None:
        self.statement = statement
        self.place = place
        self.operator = operator
        self.cell = cell
        self.expected = expected
        self.relation = relation
        self.met = met
        self.value = value
        self.address = place.cell(cell)
        self.agent: Any = None

    def park(self, agent: Any, waiting: dict[int, list[Any]]) -> None:
        """The scheduler leaves the rank here until somebody posts to the cell."""
        self.agent = agent
        waiting.setdefault(self.address, []).append(self)

    def leave(self, waiting: dict[int, list[Any]]) -> None:
        """The rank goes on to look again."""
        others = waiting[self.address]
        others.remove(self)
        if not others:
            del waiting[self.address]

    @property
    def has_passed(self) -> bool:
        """True when it waits for exactly a value and the cell holds more."""
        return self.relation == "==" and self.value() > int(self.expected)

    def describe(self) -> str:
        """What it waits for, and what is there."""
        cell = [int(i) for i in self.cell]
        wanted = f"{self.relation} {int(self.expected)}"
        return f"{self.operator} finds {self.value()} in cell {cell} of {self.place.buffer.name!r}, and wants {wanted}"


def position_of(declaration: Declaration, call: Call, name: str) -> int:
    """Where among the operands of a call the one of a name is."""
    for at, param in enumerate(declaration.params_of(len(call.args))):
        if param.name == name:
            return at
    raise InternalError(f"{declaration.name} is called without its operand {name!r}", call.span)


def _first(declaration: Declaration, call: Call, kind: Kind, but: str = "") -> int:
    for at, param in enumerate(declaration.params_of(len(call.args))):
        if param.kind is kind and param.name != but:
            return at
    raise InternalError(f"{declaration.name} has no operand of kind {kind.value}", call.span)


def _failure(name: str, operands: Sequence[Any], error: Exception) -> OperatorFailed:
    return OperatorFailed(name, describe_values(operands), error)


def post_to(operator: Operator, call: Call) -> Callable[..., None]:
    """A post to a cell of another rank: what this rank wrote before arrives before it."""
    declaration = operator.declaration
    assert declaration.posts is not None
    signal_at, peer_at = position_of(declaration, call, declaration.posts), position_of(declaration, call, "peer")
    cell_at, amount_at = _first(declaration, call, Kind.TUPLE), _first(declaration, call, Kind.SCALAR, "peer")
    meaning, keywords, name = operator.meaning, operator.keywords, declaration.name
    sets = any(keywords[p.name] == NotifyOp.Set for p in declaration.keyword_params.values() if p.enum is NotifyOp)

    def post(door: Door, statement: Any, _extents: Any, *operands: Any) -> None:
        signal = operands[signal_at]
        try:
            other = (signal.place or locate(signal)).peer(operands[peer_at])
        except Refusal as error:
            raise _failure(name, operands, error) from error
        place: Place = other.place
        if door.pending:
            door.flush()
        data = [*operands]
        data[signal_at] = other.data
        del data[peer_at]
        cell = operands[cell_at]
        used = place.buffer.used
        address = place.cell(cell)
        before = _held(other.data, cell) if address in used else None
        try:
            for value in data:
                if type(value) is PoisonScalar:
                    raise PoisonUseError
            meaning(*data, **keywords)
        except Exception as error:
            raise _failure(name, operands, error) from error
        door.posts += 1
        producers = door.world.producers
        if address in producers:
            producers[address].add(door.device)
        else:
            producers[address] = {door.device}
        if before is not None:
            if int(other.data[cell]) < before:
                del used[address]
            else:
                used[address].equal = None
        waits = door.world.waiting.get(address)
        if waits is not None:
            for blocked in [*waits]:
                if blocked.met():
                    door.world.wake(blocked.agent)
        if door.observers:
            access = Access(door, place, other.data, statement, True, cell)
            for observer in door.observers:
                observer.on_post(access, int(operands[amount_at]), sets)

    return post


def wait_for(operator: Operator, call: Call) -> Callable[..., Wait | None]:
    """A wait for a cell of this rank: None when it is over, else what the scheduler needs to know."""
    declaration = operator.declaration
    assert declaration.waits is not None
    signal_at = position_of(declaration, call, declaration.waits)
    cell_at, expected_at = _first(declaration, call, Kind.TUPLE), _first(declaration, call, Kind.SCALAR)
    meaning, keywords, name = operator.meaning, operator.keywords, declaration.name
    comparison = next((keywords[p.name] for p in declaration.keyword_params.values() if p.enum is WaitCmp), WaitCmp.Ge)
    at_least = comparison == WaitCmp.Ge
    relation = ">=" if at_least else "=="

    def wait(door: Door, statement: Any, _extents: Any, *operands: Any) -> Wait | None:
        signal = operands[signal_at]
        data = [*operands]
        data[signal_at] = signal.data
        cell, expected = operands[cell_at], operands[expected_at]
        try:
            for value in data:
                if type(value) is PoisonScalar:
                    raise PoisonUseError
            over = meaning(*data, **keywords)
        except Exception as error:
            raise _failure(name, operands, error) from error
        place: Place = signal.place or locate(signal)
        if not over:
            return Wait(
                statement,
                place,
                name,
                cell,
                expected,
                relation,
                lambda: meaning(*data, **keywords),
                lambda: int(signal.data[cell]),
            )
        door.waits += 1
        address = place.cell(cell)
        used = place.buffer.used.get(address)
        if used is None:
            used = place.buffer.used[address] = Used()
        if at_least:
            if used.least is not None and used.least >= expected > 0:
                _found(door, statement, used.least_at, place, cell, f"{relation} {int(expected)}", int(signal.data[cell]))
            if used.least is None or expected > used.least:
                used.least, used.least_at = int(expected), statement
        else:
            if used.equal is not None and used.equal == expected:
                _found(door, statement, used.equal_at, place, cell, f"{relation} {int(expected)}", int(signal.data[cell]))
            used.equal, used.equal_at = int(expected), statement
        if door.observers:
            access = Access(door, place, signal.data, statement, True, cell)
            for observer in door.observers:
                observer.on_wait(access, int(expected), int(comparison))
        return None

    return wait


def _held(signal: Any, cell: tuple[int, ...]) -> int | None:
    """What a cell holds; None for one outside the signal, which the meaning refuses."""
    try:
        return int(signal[cell])
    except (IndexError, TypeError):
        return None


def forget(value: Any) -> None:
    """Cells of a window that was written plainly: what waits have used up there says nothing any more."""
    place = value.place if type(value) is Tracked else None
    if place is not None and place.buffer.used:
        place.buffer.used.clear()


def _found(door: Door, statement: Any, earlier: Any, place: Place, cell: Any, wanted: str, value: int) -> None:
    known: set[Any] = door.world.reused
    key = (id(statement), id(earlier), door.device)
    if key in known:
        return
    known.add(key)
    indices = tuple([int(i) for i in cell])
    window = place.buffer.name
    text = (
        f"rank {door.device}: the wait for {wanted}{_at(statement)} is satisfied by what the wait{_at(earlier)} has used up: "
        f"cell {list(indices)} of {window!r} holds {value} and was not lowered in between"
    )
    door.world.findings.append(Finding(statement, earlier, door.device, window, indices, text))


def _at(statement: Any) -> str:
    span = getattr(statement, "span", None)
    return f" at {span.filename}:{span.begin_line}" if span is not None and span.begin_line > 0 else ""
