"""Which functions of a program call which."""

from __future__ import annotations

from pypto.ir.expr import Call, Submit
from pypto.ir.function import Function, Program
from pypto.ir.node import Node, children


def callees(function: Function) -> list[str]:
    """Names of the functions that a function calls or submits, in order of first appearance."""
    names: dict[str, None] = {}
    seen: set[Node] = set()
    stack: list[Node] = [function.body]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        if isinstance(node, Call | Submit) and node.op.is_function:
            names.setdefault(node.op.name)
        stack.extend(reversed(list(children(node))))
    return list(names)


def callees_first(program: Program) -> list[Function]:
    """The functions with every callee before its callers, otherwise by name; plain name order when the calls form a cycle."""
    by_name = {f.name: f for f in program.functions.values()}
    called = {name: [c for c in callees(f) if c in by_name] for name, f in by_name.items()}
    order: list[Function] = []
    done: set[str] = set()
    open_names: set[str] = set()
    for start in by_name:
        stack: list[tuple[str, int]] = [(start, 0)]
        while stack:
            name, at = stack.pop()
            if at == 0:
                if name in done:
                    continue
                open_names.add(name)
            if at < len(called[name]):
                stack.append((name, at + 1))
                following = called[name][at]
                if following in open_names:
                    return list(by_name.values())
                if following not in done:
                    stack.append((following, 0))
            else:
                open_names.discard(name)
                done.add(name)
                order.append(by_name[name])
    return order


def uncalled(program: Program) -> list[Function]:
    """The functions that no other function of the program calls, by name."""
    called = {name for f in program.functions.values() for name in callees(f) if name != f.name}
    return [f for f in program.functions.values() if f.name not in called]
