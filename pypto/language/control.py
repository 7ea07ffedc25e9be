"""Names that have a meaning only inside a kernel: loops, yields, scopes. They are read from source; calling one is a mistake."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pypto.diagnostics import Error


class NotExecutableError(Error, RuntimeError):
    """A construct of the kernel language was called as ordinary Python."""

    code = "not-executable"


def _only_read(name: str, doc: str, prefix: str = "pl") -> Callable[..., Any]:
    def construct(*args: Any, **kwargs: Any) -> Any:
        raise NotExecutableError(
            f"{prefix}.{name} is part of the kernel language: it is read from the source of a decorated function, never called",
            hint="use it inside a function decorated with @pl.function",
        )

    construct.__name__ = construct.__qualname__ = name
    construct.__doc__ = doc
    return construct


CONSTRUCTS: dict[str, str] = {
    "range": "Loop in order: ``for i in pl.range(stop)``, ``(start, stop)``, ``(start, stop, step)``; ``init_values=(a,)`` carries values.",
    "parallel": "Loop whose iterations may run at the same time.",
    "unroll": "Loop that is written out; the bounds are compile-time constants.",
    "pipeline": "Loop whose iterations overlap in ``stage`` stages.",
    "while_": "Loop with carried values, run while the ``pl.cond`` at the start of its body holds.",
    "cond": "The condition of a ``pl.while_`` loop.",
    "yield_": "The values that a loop body or branch hands on.",
    "const": "A constant of a given element type: ``pl.const(3, pl.INT32)``.",
    "static_print": "Print while the function is read.",
    "static_assert": "Check a condition while the function is read.",
    "func_attr": "Attributes of the function, at the start of its body.",
    "at": "Scope: run the body at a level of the machine.",
    "hierarchy": "Scope: run the body at a level of the machine; no kernel at any level.",
    "seq": "A sequence of statements that is one statement.",
    "cluster": "Scope: run the body on a cluster.",
    "spmd": "Scope or loop: run the body on several cores.",
    "scope": "Scope: the runtime orders the tasks of the body.",
    "manual_scope": "Scope: the author orders the tasks of the body.",
    "split_aiv": "Loop over the two vector cores.",
    "split": "Scope option: how to split a tile over the vector cores.",
    "cross_core_slot": "Scope option: number of slots between cores.",
    "submit": "Launch a kernel as a task.",
    "spmd_submit": "Launch a kernel on several cores as a task.",
    "no_dep": "Mark an argument that creates no dependency.",
    "dump_tag": "Mark a tensor for dumping.",
}
"""Constructs of the language that are no operators, with one line of documentation each."""

comm_domain = _only_read("comm_domain", "A communication domain: the ranks that share the windows allocated inside it.", "pld")

EXPORTS: dict[str, Callable[..., Any]] = {name: _only_read(name, doc) for name, doc in CONSTRUCTS.items()}
