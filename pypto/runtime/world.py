"""The memory that ranks share, and the door of each rank to the others.

A window buffer is one flat piece of storage on each rank. A window is an ordinary tracked array whose data is a view of that storage and
whose root is the buffer's: every operator that makes views works on it, and the counterpart of any view on another rank is found by
address arithmetic alone. Poison of a window lives in one byte mask for each piece of storage, viewed with the same strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InternalError
from pypto.ir.dtypes import DataType
from pypto.runtime.errors import LateWriteFailed, Refusal
from pypto.runtime.values import Mask, Tracked

GRANULE = 32
"""Storage is allocated in multiples of so many bytes."""

ON_HOST = -1
"""The rank number of the template of a window, which only host code holds."""


class Context:
    """The ranks that share a window, as one of them sees them."""

    __slots__ = ("nranks", "rank")

    def __init__(self, rank: int, nranks: int) -> None:
        self.rank = rank
        self.nranks = nranks

    def __repr__(self) -> str:
        return f"Context(rank={self.rank}, nranks={self.nranks})"


class HostContext:
    """The context of a window as host code holds it; each dispatch makes it the context of its rank."""

    __slots__ = ("buffer",)

    def __init__(self, buffer: Buffer) -> None:
        self.buffer = buffer


class Buffer:
    """Room of ``size`` bytes on every rank of a communication domain, zero at first.

    ``devices`` are the ranks of the domain in the order of their numbers in it, None until that is known.
    """

    __slots__ = (
        "_roots",
        "_template",
        "asked",
        "devices",
        "given",
        "is_signal",
        "name",
        "needed",
        "room",
        "shape",
        "size",
        "used",
    )

    def __init__(self, name: str, size: int, ranks: int, devices: Sequence[int] | None = None) -> None:
        self.name = name
        self.size = size
        self.room = -(-size // GRANULE) * GRANULE
        self.devices: tuple[int, ...] | None = None if devices is None else tuple(devices)
        self.asked = set[int]()
        """Ranks that were given a view of it, while the domain is not known."""
        self.needed: list[Buffer] = []
        """Buffers that share its domain, because a collective of host code works on both."""
        self.is_signal = False
        self.given = False
        """True when it began with what the caller of the run gave."""
        self.used: dict[int, Any] = {}
        """What waits on its cells have used up so far, by the address of the cell."""
        self.shape: tuple[tuple[int, ...], np.dtype[Any]] | None = None
        """Shape and element type of the first window on it."""
        self._roots: list[Tracked | None] = [None] * ranks
        self._template: Tracked | None = None

    def root(self, device: int) -> Tracked:
        """The storage on a rank, as one array of bytes."""
        known = self._template if device == ON_HOST else self._roots[device]
        if known is None:
            known = Tracked(np.zeros(self.room, np.uint8))
            known.place = Place(self, device, 0, known.data, known)
            if device == ON_HOST:
                self._template = known
            else:
                self._roots[device] = known
        return known

    def window(self, device: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Tracked:
        """A window that begins where the storage begins.

        Raises:
            Refusal: it is larger than the buffer.
        """
        needed = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
        if needed > self.size:
            raise Refusal(
                f"a window of shape {list(shape)} takes {needed} bytes, the buffer {self.name!r} has {self.size}",
                hint="allocate more, or make the window smaller",
            )
        if self.shape is None:
            self.shape = (shape, dtype)
        strides = _packed(shape, dtype.itemsize)
        return self.view(device, 0, shape, strides, dtype)

    def view(self, device: int, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Tracked:
        """Any view of the storage on a rank."""
        root = self.root(device)

        def move(mask: Mask) -> Mask:
            return np.ndarray(shape, np.bool_, mask, offset, strides)  # pyright: ignore[reportArgumentType]

        data: Any = np.ndarray(shape, dtype, root.data, offset, strides)  # pyright: ignore[reportArgumentType]
        made = Tracked(data, base=root, move=move)
        made.place = Place(self, device, offset, data, root)
        return made

    def contents(self, device: int) -> Any:
        """A copy of the first window on a rank."""
        if self.shape is None:
            return np.zeros(0, np.uint8)
        shape, dtype = self.shape
        return self.window(device, shape, dtype).data.copy()


def _packed(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    strides: list[int] = []
    step = itemsize
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, extent)
    return tuple(reversed(strides))


class Place:
    """Where a view lies: in which buffer, on which rank, how many bytes from the beginning."""

    __slots__ = ("_others", "_view", "address", "buffer", "count", "device", "here", "offset", "root", "strides")

    def __init__(self, buffer: Buffer, device: int, offset: int, view: Any, root: Tracked) -> None:
        self.buffer = buffer
        self.device = device
        self.offset = offset
        self.root = root
        self.strides: tuple[int, ...] = view.strides
        self.address: int = _address(view) if root.place is None else root.place.address + offset
        self._view = view
        self._others: list[Tracked | None] | None = None
        self.here = 0
        self.count = 0

    def peers(self) -> list[Tracked | None]:
        """The counterparts of the view on the ranks of the domain, those asked for so far."""
        devices = self.buffer.devices
        if devices is None or self.device == ON_HOST:
            raise InternalError(f"the communication domain of {self.buffer.name!r} is not known")
        if self.device not in devices:
            raise Refusal(
                f"rank {self.device} does not belong to the communication domain {list(devices)} of {self.buffer.name!r}"
            )
        self.here = devices.index(self.device)
        self.count = len(devices)
        others: list[Tracked | None] = [None] * self.count
        self._others = others
        return others

    def peer(self, number: int) -> Tracked:
        """The counterpart on another rank, by its number in the domain.

        Raises:
            Refusal: there is no such rank.
        """
        others = self._others or self.peers()
        if not 0 <= number < self.count:
            raise Refusal(
                f"the peer {int(number)} does not exist: the communication domain of {self.buffer.name!r} has the ranks 0 to "
                f"{self.count - 1}"
            )
        known = others[number]
        if known is None:
            devices = self.buffer.devices
            assert devices is not None
            known = others[number] = self.on(devices[number])
        return known

    def on(self, device: int) -> Tracked:
        """The counterpart on a rank, by its number in the run."""
        view = self._view
        return self.buffer.view(device, self.offset, view.shape, view.strides, view.dtype)

    def context(self) -> Context:
        """The domain as this rank sees it."""
        if self._others is None:
            self.peers()
        return Context(self.here, self.count)

    def cell(self, offsets: Sequence[int]) -> int:
        """The address of one element."""
        if len(self.strides) == 2 == len(offsets):
            return self.address + offsets[0] * self.strides[0] + offsets[1] * self.strides[1]
        address = self.address
        for offset, stride in zip(offsets, self.strides, strict=False):
            address += offset * stride
        return address


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def locate(value: Any) -> Place:
    """Where a window value lies.

    Raises:
        Refusal: it is no view of a window any more.
    """
    place = value.place if type(value) is Tracked else None
    if place is not None:
        return place
    root = value
    while type(root) is Tracked and root.base is not None:
        root = root.base
    home: Any = root.place if type(root) is Tracked else None
    if home is None:
        raise Refusal("this operand is a copy, not a view of a window", hint="use the window itself")
    data = value.data
    offset = _address(data) - home.address
    reach = sum((e - 1) * s for e, s in zip(data.shape, data.strides, strict=True)) + data.itemsize if data.size else 0
    if not data.size:
        offset = max(0, min(offset, home.buffer.room))
    if offset < 0 or offset + reach > home.buffer.room:
        raise Refusal(
            "this operand is a copy, not a view of a window", hint="a slice that reaches outside its tensor is a copy of it"
        )
    place = Place(home.buffer, home.device, offset, data, root)
    value.place = place
    return place


def home_of(value: Any) -> Place | None:
    """The place of a value that lies in a window buffer, None for any other."""
    if type(value) is not Tracked:
        return None
    if value.place is not None:
        return value.place
    root = value
    while root.base is not None:
        root = root.base
    return None if root.place is None else locate(value)


class Observer:
    """What is told of every access to windows. Subclass it and put an instance into :attr:`World.observers`."""

    def on_read(self, access: Access) -> None:
        """Elements of a window are read."""

    def on_write(self, access: Access) -> None:
        """Elements of a window are written, at the statement that says so (the bytes may arrive later)."""

    def on_post(self, access: Access, amount: int, sets: bool) -> None:
        """``amount`` was added to a signal cell, or it was set to it."""

    def on_wait(self, access: Access, expected: int, comparison: int) -> None:
        """A wait is over; ``comparison`` is a :class:`~pypto.ir.enums.WaitCmp`."""

    def on_meet(self, devices: Sequence[int], statement: Any) -> None:
        """Ranks met in a collective that is run by its meaning."""

    def on_step(self, agent: int) -> None:
        """An agent, which is a rank or a further block of one, is about to go on."""

    def on_launched(self, agent: int, block: int) -> None:
        """An agent has started another, a block of its rank."""

    def on_finished(self, agent: int, task: Any) -> None:
        """An agent has finished a task."""

    def on_needed(self, agent: int, task: Any) -> None:
        """An agent goes on with the result of a task that is finished."""

    def on_settled(self) -> None:
        """All ranks have finished all their tasks, and host code goes on."""


class Access:
    """One access: which ``rank`` touches which elements of ``view`` in the storage of ``owner``, at which statement.

    Where several blocks of a rank run at once, ``agent`` tells them apart. ``atomic`` accesses do not exclude one another. For posts and
    waits ``cell`` are the indices of the signal cell.
    """

    __slots__ = (
        "_elements",
        "_region",
        "agent",
        "atomic",
        "block",
        "buffer",
        "cell",
        "offset",
        "owner",
        "rank",
        "statement",
        "view",
    )

    def __init__(
        self,
        door: Door,
        place: Place,
        view: Any,
        statement: Any,
        atomic: bool = False,
        cell: tuple[int, ...] | None = None,
        elements: Callable[[], Any] | None = None,
        region: Callable[[], Any] | None = None,
    ) -> None:
        self.rank = door.device
        self.agent = door.agent
        self.block = door.block
        self.owner = place.device
        self.buffer = place.buffer
        self.offset = place.offset
        self.view = view
        self.statement = statement
        self.atomic = atomic
        self.cell = cell
        self._elements = elements
        self._region = region

    def region(self) -> Sequence[tuple[int, int]] | None:
        """The box that is touched, first index and end on each axis of ``view``; None when it is no box, see :attr:`elements`."""
        if self.cell is not None:
            return [(int(i), int(i) + 1) for i in self.cell]
        return [(0, e) for e in self.view.shape] if self._region is None else self._region()

    @property
    def elements(self) -> Any:
        """A boolean array of the shape of ``view``: True where an element is touched."""
        if self.cell is not None:
            touched = np.zeros(self.view.shape, np.bool_)
            touched[self.cell] = True
            return touched
        return np.ones(self.view.shape, np.bool_) if self._elements is None else self._elements()

    @property
    def offsets(self) -> Any:
        """Where the touched elements begin, in bytes from the beginning of the owner's storage, in no particular order."""
        grid = np.full(self.view.shape, self.offset, np.int64)
        for axis, (extent, stride) in enumerate(zip(self.view.shape, self.view.strides, strict=True)):
            steps = np.arange(extent, dtype=np.int64) * stride
            grid += steps.reshape([-1 if a == axis else 1 for a in range(self.view.ndim)])
        return grid[self.elements]


class Door:
    """What the code of one rank, or of a block of one, reaches the other ranks through.

    ``agent`` is its number in :attr:`World.doors`: that of the rank for all code that is not split into blocks and for their first one.
    """

    __slots__ = ("agent", "block", "device", "late", "moved", "observers", "pending", "posts", "waits", "world")

    def __init__(self, world: World, device: int, block: int = 0) -> None:
        self.world = world
        self.device = device
        self.block = block
        self.agent = device + block * world.ranks
        self.observers = world.observers
        self.late = False
        """True when writes to other ranks are held back for the scheduler to deliver."""
        self.pending: list[HeldWrite] = []
        self.posts = 0
        self.waits = 0
        self.moved = 0

    def context(self, window: Any) -> Any:
        """The ranks that share a window."""
        return locate(window).context()

    def world_size(self) -> int:
        """The number of ranks of the run."""
        return self.world.ranks

    def allocate(self, size: int, name: str) -> Any:
        """Refused: windows are allocated by host code."""
        raise Refusal(
            f"the window buffer {name!r} is allocated in code that runs on a rank", hint="allocate it in the host orchestrator"
        )

    def window(self, buffer: Any, shape: tuple[int, ...], dtype: DataType) -> Any:
        """Refused like :meth:`allocate`."""
        raise Refusal("a window is made in code that runs on a rank", hint="make it in the host orchestrator")

    # -- writes that are held back -------------------------------------------------------------------------------------

    def deliver(self) -> None:
        """Let the oldest write that is held back arrive."""
        write = self.pending.pop(0)
        self.world.held -= 1
        try:
            write.apply(write.extents, *write.operands)
        except Exception as error:
            raise LateWriteFailed(self.agent, write.statement, error) from error
        self.world.written(write.place)

    def flush(self) -> None:
        """Let all writes that are held back arrive."""
        while self.pending:
            self.deliver()

    def flush_to(self, device: int) -> None:
        """Let everything arrive when something for that rank is held back."""
        if any(w.place.device == device for w in self.pending):
            self.flush()


class HeldWrite:
    """A write to another rank that has not arrived there yet."""

    __slots__ = ("apply", "extents", "operands", "place", "statement")

    def __init__(self, apply: Callable[..., Any], extents: Any, operands: Sequence[Any], place: Place, statement: Any) -> None:
        self.apply = apply
        self.extents = extents
        self.operands = operands
        self.place = place
        self.statement = statement


class World:
    """Everything that ranks share in one run."""

    def __init__(self, ranks: int, observers: Sequence[Observer] = ()) -> None:
        self.ranks = ranks
        self.buffers: list[Buffer] = []
        self.observers: list[Observer] = [*observers]
        self.doors = [Door(self, device) for device in range(ranks)]
        """The doors of the ranks, then those of further blocks: see :meth:`door`."""
        self.held = 0
        """Writes that are held back, on all ranks."""
        self.waiting: dict[int, list[Any]] = {}
        """What waits, by the address of the signal cell it waits for."""
        self.producers: dict[int, set[int]] = {}
        """The ranks that have posted to a signal cell, by its address."""
        self.meetings: dict[tuple[int, ...], Any] = {}
        """The collective that ranks of a domain have come to and others have not."""
        self.findings: list[Any] = []
        self.reused: set[Any] = set()
        """Statements and ranks for which a reused signal was found."""
        self.wake: Callable[[Any], None] = _nobody

    def door(self, device: int, block: int) -> Door:
        """The door of one of the blocks of a rank; block 0 has the rank's own."""
        agent = device + block * self.ranks
        while agent >= len(self.doors):
            number = len(self.doors)
            door = Door(self, number % self.ranks, number // self.ranks)
            door.late = self.doors[0].late
            self.doors.append(door)
        return self.doors[agent]

    def buffer(self, name: str, size: int, devices: Sequence[int] | None = None) -> Buffer:
        """A new buffer."""
        made = Buffer(name, size, self.ranks, devices)
        self.buffers.append(made)
        return made

    def settle_domains(self) -> None:
        """Fix the domains of the buffers that are in use: the ranks that were given a view of the buffer, or of one that shares its
        domain; all, when there are none."""
        for buffer in self.buffers:
            if buffer.devices is not None or not (buffer.asked or buffer.needed):
                continue
            together = [buffer]
            for member in together:
                together += [b for b in member.needed if b not in together]
            known = next((b.devices for b in together if b.devices is not None), None)
            asked = tuple(sorted({device for b in together for device in b.asked}))
            for member in together:
                if member.devices is None:
                    member.devices = known or asked or tuple(range(self.ranks))

    def written(self, place: Place) -> None:
        """Look again at what waits for a cell in storage that a plain write has changed."""
        if self.waiting:
            for blocked in [wait for waits in self.waiting.values() for wait in waits]:
                if blocked.place.root is place.root and blocked.met():
                    self.wake(blocked.agent)

    def named(self) -> Iterator[tuple[str, Buffer]]:
        """The buffers by names that differ."""
        counts: dict[str, int] = {}
        for buffer in self.buffers:
            seen = counts.get(buffer.name, 0)
            counts[buffer.name] = seen + 1
            yield (f"{buffer.name}_{seen}" if seen else buffer.name), buffer

    def contents(self, signals: bool) -> Mapping[str, list[Any]]:
        """Copies of the windows (or the signals), a list over the ranks of the domain for each."""
        return {
            name: [buffer.contents(d) for d in buffer.devices or ()]
            for name, buffer in self.named()
            if buffer.is_signal == signals
        }


def _nobody(_: Any) -> None:
    raise InternalError("nobody runs in this world")
