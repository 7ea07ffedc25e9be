"""Directions of parameters from what a function does to them: a parameter that is written becomes Out, or InOut when it is read too.

Everything follows from declared effects: which operands an operator reads and writes, and which operand its result is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pypto.diagnostics import InvalidValueError
from pypto.ir.enums import ArgEffect, ParamDirection, WriteChannel
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.function import Function
from pypto.ir.node import Node, children
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, WhileStmt
from pypto.ir.types import TensorType
from pypto.ir.verify.walk import held, nodes, statements
from pypto.ops.declare import Declaration
from pypto.passes.convert_tensor_to_tile_ops.kinds import yielded


def all_nodes(root: Node) -> Iterator[Node]:
    """Every node below a statement, each shared node once."""
    seen: set[Node] = set()
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(children(node))


class Storage:
    """Which parameter each tensor variable of a function lies in, through aliases, views, loops and branches."""

    def __init__(self, function: Function) -> None:
        self._parents: dict[Var, list[Expr]] = {}
        for node in all_nodes(function.body):
            if isinstance(node, AssignStmt):
                self._parents.setdefault(node.var, []).append(node.value)
            elif isinstance(node, ForStmt | WhileStmt):
                values = yielded(node.body)
                for at, (arg, result) in enumerate(zip(node.iter_args, node.return_vars, strict=False)):
                    sources = [arg.initValue, *values[at : at + 1]]
                    self._parents.setdefault(arg, []).extend(sources)
                    self._parents.setdefault(result, []).extend(sources)
            elif isinstance(node, IfStmt):
                for body in (node.then_body, node.else_body):
                    for var, value in zip(node.return_vars, [] if body is None else yielded(body), strict=False):
                        self._parents.setdefault(var, []).append(value)
        self._params = frozenset(function.params)
        self._roots: dict[Var, frozenset[Var]] = {}

    def roots(self, value: Expr) -> frozenset[Var]:
        """The parameters that a tensor value may lie in."""
        if not isinstance(value, Var):
            return frozenset(root for source in _storage_sources(value) for root in self.roots(source))
        known = self._roots.get(value)
        if known is not None:
            return known
        found: set[Var] = set()
        seen: set[Var] = set()
        stack: list[Expr] = [value]
        while stack:
            current = stack.pop()
            if not isinstance(current, Var):
                stack.extend(_storage_sources(current))
            elif current in self._params:
                found.add(current)
            elif current not in seen and isinstance(current.type, TensorType):
                seen.add(current)
                stack.extend(self._parents.get(current, ()))
        self._roots[value] = frozenset(found)
        return self._roots[value]


def _storage_sources(value: Expr) -> list[Expr]:
    if isinstance(value, Call) and isinstance(value.op, Declaration):
        index = value.op.alias_index
        return [] if index is None or index >= len(value.args) else [value.args[index]]
    return []


def infer_directions(function: Function, directions: Mapping[str, list[ParamDirection]]) -> Function:
    """The function with In parameters that it writes upgraded to Out or InOut; the same object when none is.

    ``directions`` holds the parameter directions of the functions that it may call.

    Raises:
        InvalidValueError: one tensor is written both in bulk and element by element, which the hardware does not order.
    """
    storage = Storage(function)
    reads: set[Var] = set()
    writes: set[Var] = set()
    for node in all_nodes(function.body):
        if not isinstance(node, Call):
            continue
        for at, arg in enumerate(node.args):
            if not isinstance(arg.type, TensorType):
                continue
            read, write, _ = _effect(node, at, directions)
            for root in storage.roots(arg):
                if read:
                    reads.add(root)
                if write:
                    writes.add(root)
    for root, used in write_channels(function, storage, directions).items():
        if len(used) > 1:
            raise InvalidValueError(
                f"kernel {function.name!r} mixes bulk stores and scalar writes to the tensor {root.name_hint!r}",
                used[WriteChannel.Scalar],
                hint="write the elements into a tile first and store the tile, or write all of them one by one",
            )
    made = [*function.param_directions]
    for at, param in enumerate(function.params):
        if param in writes and made[at] is ParamDirection.In:
            made[at] = ParamDirection.InOut if param in reads else ParamDirection.Out
    return function if made == [*function.param_directions] else function.replace(param_directions=made)


def write_channels(
    function: Function, storage: Storage, directions: Mapping[str, list[ParamDirection]]
) -> dict[Var, dict[WriteChannel, Span]]:
    """By which engines each parameter is written, and where first."""
    channels: dict[Var, dict[WriteChannel, Span]] = {}
    for stmt in statements(function.body):
        for node in nodes(held(stmt)):
            if not isinstance(node, Call):
                continue
            for at, arg in enumerate(node.args):
                if not isinstance(arg.type, TensorType):
                    continue
                _, write, channel = _effect(node, at, directions)
                if write and channel is not None:
                    for root in storage.roots(arg):
                        channels.setdefault(root, {}).setdefault(channel, node.span if node.span.is_valid() else stmt.span)
    return channels


def _effect(call: Call, at: int, directions: Mapping[str, list[ParamDirection]]) -> tuple[bool, bool, WriteChannel | None]:
    if call.op.is_function:
        known = directions.get(call.op.name, [])
        direction = known[at] if at < len(known) else ParamDirection.In
        return direction is not ParamDirection.Out, direction is not ParamDirection.In, None
    if isinstance(call.op, Declaration):
        effect = call.op.arg_effect(at, call.kwargs)
        read = effect in (ArgEffect.Read, ArgEffect.ReadWrite) and not _only_a_view(call, at)
        write = effect in (ArgEffect.Write, ArgEffect.ReadWrite)
        return read, write, call.op.write_channel if write else None
    return True, False, None


def _only_a_view(call: Call, at: int) -> bool:
    """True when the operator merely hands the operand's storage on, so that only uses of the result count."""
    op = call.op
    return isinstance(op, Declaration) and op.alias_index == at and op.arg_effect(at, call.kwargs) is ArgEffect.Read
