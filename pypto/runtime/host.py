"""Host code: it allocates windows, dispatches work to ranks, and waits only where it needs what they compute.

A window that host code holds is a template: a view of storage that belongs to no rank. Each dispatch makes it the view of its rank.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any

from pypto.ir.dtypes import DataType
from pypto.ops.numeric import numpy_dtype
from pypto.ops.params import RankCount
from pypto.runtime.engine import Engine, Steps, Task, steps_of
from pypto.runtime.errors import Refusal, RunError
from pypto.runtime.facts import FunctionFacts
from pypto.runtime.meetings import Meet
from pypto.runtime.operators import Operator, OperatorFailed
from pypto.runtime.values import Tracked, hold
from pypto.runtime.world import ON_HOST, Buffer, Door, HostContext, World, home_of, locate


class Future:
    """What a dispatched task will give. An entry of it stands for one of several results."""

    __slots__ = ("path", "task")

    def __init__(self, task: Task, path: tuple[int, ...] = ()) -> None:
        self.task = task
        self.path = path

    def __getitem__(self, index: int) -> Future:
        return Future(self.task, (*self.path, index))

    def value(self) -> Any:
        """The result; the task is over."""
        found = self.task.value
        for index in self.path:
            found = found[index]
        return found


def is_open(*values: Any) -> bool:
    """True when one of the values is not computed yet."""
    return any(not f.task.done for f in _futures(values))


def _futures(values: Any) -> Iterator[Future]:
    for value in values:
        if type(value) is Future:
            yield value
        elif type(value) is tuple:
            yield from _futures(value)


def closed(value: Any) -> Any:
    """The value itself, for one that a task has computed meanwhile."""
    if type(value) is Future:
        return closed(value.value())
    if type(value) is tuple:
        return tuple([closed(v) for v in value])  # pyright: ignore[reportUnknownVariableType]
    return value


def _needed(door: Door, value: Any) -> Steps:
    """Wait until what a value stands for is computed."""
    for future in _futures((value,)):
        yield from _over(door, future.task)


def _over(door: Door, task: Task) -> Steps:
    """Wait until a task is over."""
    while not task.done:
        yield task
    for observer in door.observers:
        observer.on_needed(door.agent, task)


class HostDoor(Door):
    """The door of host code: it makes windows and gives work to ranks."""

    __slots__ = ("engine",)

    def __init__(self, world: World, engine: Engine) -> None:
        super().__init__(world, ON_HOST)
        self.engine = engine

    def context(self, window: Any) -> Any:
        return HostContext(locate(window).buffer)

    def allocate(self, size: int, name: str) -> Any:
        if size <= 0:
            raise Refusal(f"the window buffer {name!r} would have {size} bytes", hint="allocate at least one byte")
        return self.world.buffer(name, int(size))

    def window(self, buffer: Any, shape: tuple[int, ...], dtype: DataType) -> Any:
        if not isinstance(buffer, Buffer):
            raise Refusal("a window is a view of a window buffer, and this is none")
        if any(e <= 0 for e in shape):
            raise Refusal(f"a window of {buffer.name!r} needs positive extents, got {[int(e) for e in shape]}")
        return buffer.window(ON_HOST, tuple([int(e) for e in shape]), numpy_dtype(dtype))

    def give(self, device: Any, task: Task, values: Sequence[Any]) -> None:
        """A task for a rank, with what host code holds as its arguments."""
        for buffer in _buffers(values):
            if buffer.devices is None:
                buffer.asked.add(int(device))
            elif device not in buffer.devices:
                raise Refusal(
                    f"rank {device} does not belong to the communication domain {list(buffer.devices)} of {buffer.name!r}",
                    hint="the domain of a window is fixed when the host first waits: dispatch to all its ranks before",
                )
        self.engine.ranks[int(device)].add(task)


def _buffers(values: Sequence[Any]) -> Iterator[Buffer]:
    for value in values:
        if isinstance(value, HostContext):
            yield value.buffer
        elif type(value) is Tracked:
            place = home_of(value)
            if place is not None:
                yield place.buffer
        elif type(value) is tuple:
            yield from _buffers(value)  # pyright: ignore[reportUnknownArgumentType]


def on_rank(value: Any, device: int) -> Any:
    """What a value that host code holds is on a rank."""
    if isinstance(value, HostContext):
        return value.buffer.root(device).place.context()
    if type(value) is Tracked:
        place = home_of(value)
        return value if place is None else place.on(device)
    if type(value) is tuple:
        return tuple([on_rank(v, device) for v in value])  # pyright: ignore[reportUnknownVariableType]
    return value


def set_domain(door: Any, buffer: Any, devices: tuple[int, ...]) -> None:
    """The ranks of a buffer's domain, as a scope states them; none stated means all."""
    ranks = door.world.ranks
    for device in devices:
        if not 0 <= device < ranks:
            raise Refusal(f"the communication domain {list(devices)} names device {device}, but the run has {_ranks(ranks)}")
    buffer.devices = devices or tuple(range(ranks))


def _ranks(count: int) -> str:
    return "one rank" if count == 1 else f"{count} ranks"


class _Launch:
    """Work for one rank at one place of the host's code."""

    def __init__(self, name: str, facts: FunctionFacts, statement: Any) -> None:
        self._name = name
        self._facts = facts
        self._statement = statement

    def _device(self, door: HostDoor, device: Any, arguments: Sequence[Any]) -> int:
        """The rank, which must exist; the windows that are signals to it are noted as such."""
        count = door.world.ranks
        if not 0 <= device < count:
            raise Refusal(
                f"{self._name!r} is called with device={int(device)}: device {int(device)} does not exist in a run with {_ranks(count)}",
                hint="run it with more ranks" if device >= 0 else "devices count from 0",
            )
        for at in self._facts.signals:
            for buffer in _buffers(arguments[at : at + 1]):
                buffer.is_signal = True
        return int(device)


def _on_rank(mine: Door, arguments: Sequence[Any]) -> Generator[Any, None, list[Any]]:
    """What a rank makes of the arguments of a task, once they are computed."""
    values: list[Any] = []
    for argument in arguments:
        yield from _needed(mine, argument)
        values.append(on_rank(closed(argument), mine.device))
    return values


class Dispatch(_Launch):
    """The launch of a function on a rank, at one place of the host's code."""

    def __init__(self, name: str, facts: FunctionFacts, statement: Any, task_id: bool, results: int) -> None:
        super().__init__(name, facts, statement)
        self._task_id = task_id
        self._results = results

    def __call__(self, door: HostDoor, function: Callable[..., Any], device: Any, *arguments: Any) -> Any:
        device = self._device(door, device, arguments)
        facts = self._facts

        def begin(mine: Door) -> Steps:
            values = yield from _on_rank(mine, arguments)
            if facts.distributed:
                return hold((yield from function(mine, *values)))
            return hold(function(*values))

        task = Task(self._name, begin, self._statement)
        door.give(device, task, arguments)
        return self._outcome(task, arguments)

    def _outcome(self, task: Task, arguments: Sequence[Any]) -> Any:
        """An argument that is returned itself stands for the result: whoever gets it next need not wait for the task."""
        returned = self._facts.returned
        count = self._results
        single = count == 1
        results: list[Any] = []
        for at in range(count):
            position = returned[at] if at < len(returned) else None
            future = Future(task) if single else Future(task, (at,))
            results.append(future if position is None else arguments[position])
        if self._task_id:
            return (*results, 0)
        return results[0] if single else tuple(results) if results else None


class BuiltinDispatch(_Launch):
    """A rank's part in a collective, at one place of the host's code: its kernel, run by all blocks of the rank at once."""

    def __init__(self, name: str, facts: FunctionFacts, statement: Any, legal: RankCount | None, blocks: int | None) -> None:
        super().__init__(name, facts, statement)
        self._legal = legal
        self._blocks = blocks

    def __call__(self, door: HostDoor, function: Callable[..., Any], device: Any, *arguments: Any) -> None:
        device = self._device(door, device, arguments)
        engine, blocks = door.engine, self._blocks

        def begin(mine: Door) -> Steps:
            values = yield from _on_rank(mine, arguments)
            self._check_ranks(values)
            if blocks is None:
                yield from function(mine, *values)
                return
            others = [self._launch(engine, mine, function, values, block) for block in range(1, blocks)]
            yield from function(mine, *values, 0, blocks)
            for other in others:
                yield from _over(mine, other)

        door.give(device, Task(self._name, begin, self._statement), arguments)

    def _launch(self, engine: Engine, mine: Door, function: Callable[..., Any], values: Sequence[Any], block: int) -> Task:
        """Let one more block of a rank begin."""
        agent = engine.agent(mine.device, block)
        for observer in mine.observers:
            observer.on_launched(mine.agent, agent.agent)
        task = Task(f"{self._name}, block {block}", steps_of(function, [*values, block, self._blocks]), self._statement)
        agent.add(task)
        return task

    def _check_ranks(self, windows: Sequence[Any]) -> None:
        """Refuse a number of ranks that the windows are not made for."""
        place = home_of(windows[0])
        devices = place.buffer.devices if place is not None else None
        if devices is None or self._legal is None or self._legal.allows(len(devices)):
            return
        span = self._statement.span
        raise RunError(
            f"{self._name} is dispatched to a domain of {_ranks(len(devices))}, and its windows and keywords are made for {self._legal}",
            span if span.is_valid() else None,
            "run it on as many ranks as the signal has room for",
            statement=self._statement,
            operator=self._name,
        )


class HostCollective:
    """A collective in host code that is run by its meaning: a task on every rank of the domain."""

    def __init__(self, meet: Meet, statement: Any, signals: Sequence[int]) -> None:
        self._meet = meet
        self._statement = statement
        self._signals = signals

    def __call__(self, door: HostDoor, extents: Any, *operands: Any) -> Any:
        meet, statement = self._meet, self._statement
        buffers = [*_buffers(operands)]
        for at in self._signals:
            for buffer in _buffers(operands[at : at + 1]):
                buffer.is_signal = True
        if not buffers:
            raise Refusal(f"{meet.name} has no window that says which ranks take part")
        _share_domain(buffers)

        def begin(mine: Door) -> Steps:
            devices = buffers[0].devices
            if devices is None or mine.device not in devices:
                return
            values: list[Any] = []
            for operand in operands:
                yield from _needed(mine, operand)
                values.append(on_rank(closed(operand), mine.device))
            waiting = meet.come(mine, statement, extents, *values)
            while not waiting.done:
                yield waiting

        for rank in door.engine.ranks:
            rank.add(Task(meet.name, begin, statement))
        return meet.result(operands)


def _share_domain(buffers: Sequence[Buffer]) -> None:
    """The windows of one collective have one domain, which the ranks that any of them was given to make up."""
    known = next((b.devices for b in buffers if b.devices is not None), None)
    for buffer in buffers:
        if buffer.devices is None:
            buffer.devices = known
        buffer.needed += [b for b in buffers if b not in buffer.needed]


def on_host(operator: Operator) -> Callable[..., Any]:
    """An operator in host code, which looks into arrays but not into windows."""
    apply, name = operator.apply, operator.declaration.name

    def work(extents: Any, *operands: Any) -> Any:
        for operand in operands:
            place = home_of(operand)
            if place is not None and place.device == ON_HOST:
                refusal = Refusal(
                    f"{name} reaches into the window {place.buffer.name!r} from host code, where it has no elements",
                    hint="do it in a function that is dispatched with device=",
                )
                raise OperatorFailed(name, "", refusal)
        return apply(extents, *operands)

    return work


def drive(steps: Any, engine: Engine) -> Any:
    """Let host code run ahead; wherever it waits, and at its end, all tasks finish first. Gives what it returns."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            finish(engine)
            return closed(stop.value)
        finish(engine)


def finish(engine: Engine) -> None:
    """Let all tasks finish."""
    engine.world.settle_domains()
    engine.run()
    for observer in engine.world.observers:
        observer.on_settled()
