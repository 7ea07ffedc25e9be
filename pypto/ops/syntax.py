"""Operators that stand behind the syntax of regions and tasks, so that reader and printer agree on them."""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Any, Final

from pypto.diagnostics import did_you_mean
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.stmt import AssignStmt, Stmt
from pypto.ops.declare import ArityError, Declaration, public_name

BLOCK_INDEX: Final = "tile.get_block_idx"
"""What the target of ``for i in pl.spmd(n)`` is assigned."""

LANE_INDEX: Final = "tile.get_subblock_idx"
"""What the target of ``for lane in pl.split_aiv(2, mode=...)`` is assigned."""

NO_TASK: Final = "system.task_invalid"
"""What the name after ``as`` is assigned before a scope, and what ``None`` stands for."""

DEPENDENCIES: Final = "manual_dep_edges"
"""The attribute in which scopes and operators keep the tasks that they wait for."""

DUMPED: Final = "dump_vars"
"""The attribute that lists the tensors to be dumped."""

TASK: Final = "task_id_var"
"""The attribute with the variable of a scope's task."""


def is_bare_call(value: Expr, operator: str) -> bool:
    """True for a call of that operator with no operands, keywords or attributes."""
    return (
        type(value) is Call
        and value.op.name == operator
        and not (value.args or value.kwargs or value.attrs or value.op.is_function)
    )


def is_bare_assignment(stmt: Stmt, operator: str, target: Var | None = None) -> bool:
    """True for ``name = operator()`` without comments, to ``target`` when one is given."""
    return (
        type(stmt) is AssignStmt
        and (target is None or stmt.var is target)
        and is_bare_call(stmt.value, operator)
        and stmt.var.type == stmt.value.type
        and not (stmt.leading_comments or stmt.trailing_comments)
    )


class WaitingOp(Declaration):
    """An operator that waits for tasks: ``deps=[...]`` lists them, and the call keeps them among its attributes, together with ``mark``."""

    __slots__ = ("mark",)

    def __init__(self, name: str, **facts: Any) -> None:
        self.mark: str = facts.pop("mark")
        super().__init__(name, **facts)

    @property
    def signature(self) -> Signature:
        """The signature people write."""
        return Signature([*super().signature.parameters.values(), Parameter("deps", Parameter.KEYWORD_ONLY)])

    def spelling(self) -> str:
        """Name and signature as one line of text."""
        return f"{public_name(self)}{self.signature}"

    def unknown_parameter(self, name: str) -> ArityError:
        """The error for a keyword that the operator does not have."""
        close = did_you_mean(name, ["deps", *[p.name for p in self.params]])
        return ArityError(
            f"{self.name} has no parameter {name!r}",
            name,
            f"did you mean {close!r}?" if close else f"signature: {self.spelling()}",
        )

    def waits_for(self, call: Call) -> Sequence[Var] | None:
        """The tasks that a call waits for, when its spelling with ``deps=`` says all that these attributes hold."""
        tasks: Any = call.attrs.get(DEPENDENCIES)
        return tasks if isinstance(tasks, list) and call.attrs.get(self.mark) is True else None  # pyright: ignore[reportUnknownVariableType]
