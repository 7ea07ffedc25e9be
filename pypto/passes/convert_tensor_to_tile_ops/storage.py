"""Where tensors of a function lie: which parameters a value may be part of, and through which views something is written."""

from __future__ import annotations

from collections.abc import Iterator

from pypto.ir.enums import ArgEffect
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.function import Function
from pypto.ir.node import Node, children
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, Stmt, WhileStmt, YieldStmt, flatten_to_stmts
from pypto.ir.types import DistributedTensorType, TensorType
from pypto.ir.verify.walk import held, nodes, statements
from pypto.ops.declare import Declaration, Kind


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


def calls(body: Stmt) -> Iterator[Call]:
    """Every call of a body in the order of its statements: definitions come before uses, so that what is found out is found once."""
    for stmt in statements(body):
        for node in nodes(held(stmt)):
            if isinstance(node, Call):
                yield node


def waits(function: Function) -> bool:
    """True when a function waits for other ranks, which may write to its windows meanwhile."""
    ops = (call.op for call in calls(function.body))
    return any(isinstance(op, Declaration) and (op.waits is not None or op.collective) for op in ops)


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
            elif current in self._roots:
                found |= self._roots[current]
            elif current not in seen and isinstance(current.type, TensorType):
                seen.add(current)
                stack.extend(self._parents.get(current, ()))
        self._roots[value] = frozenset(found)
        return self._roots[value]

    def written_by(self, call: Call) -> frozenset[Var]:
        """The parameters that a call may write to."""
        found: frozenset[Var] = frozenset()
        for arg in written_operands(call):
            found |= self.roots(arg)
        return found

    def written_views(self, function: Function) -> frozenset[Var]:
        """The variables below parameters that something is written through, or that an operator takes as a window of this rank or another:
        they must go on lying in global memory.

        So must parts of windows in a function that waits for other ranks: what it waits for is written into them meanwhile.
        """
        found: set[Var] = set()
        if waits(function):
            found |= {v for v in self._parents if isinstance(v.type, DistributedTensorType) and v not in self._params}
        needed = (arg for call in calls(function.body) for arg in (*written_operands(call), *_window_operands(call)))
        stack: list[Expr] = [arg for arg in needed if self.roots(arg)]
        while stack:
            current = stack.pop()
            if not isinstance(current, Var):
                stack.extend(_storage_sources(current))
            elif current not in found and current not in self._params and isinstance(current.type, TensorType):
                found.add(current)
                stack.extend(self._parents.get(current, ()))
        return frozenset(found)


def written_operands(call: Call) -> list[Expr]:
    """The tensor operands that an operator writes to."""
    op = call.op
    if not isinstance(op, Declaration):
        return []
    effects = (ArgEffect.Write, ArgEffect.ReadWrite)
    found = [
        (a, op.arg_effect(at, call.kwargs, len(call.args))) for at, a in enumerate(call.args) if isinstance(a.type, TensorType)
    ]
    return [a for a, effect in found if effect in effects]


def _window_operands(call: Call) -> list[Expr]:
    """The operands that must be windows, because other ranks know them."""
    op = call.op
    if not isinstance(op, Declaration) or not any(p.kind is Kind.DISTRIBUTED for p in op.operand_params):
        return []
    return [a for p, a in zip(op.params_of(len(call.args)), call.args, strict=False) if p.kind is Kind.DISTRIBUTED]


def _storage_sources(value: Expr) -> list[Expr]:
    if isinstance(value, Call) and isinstance(value.op, Declaration):
        index = value.op.alias_index
        return [] if index is None or index >= len(value.args) else [value.args[index]]
    return []


def yielded(body: Stmt) -> list[Expr]:
    """The values of the yield that ends a body, none when there is no yield."""
    stmts = flatten_to_stmts(body)
    last = stmts[-1] if stmts else None
    return [*last.value] if isinstance(last, YieldStmt) else []
