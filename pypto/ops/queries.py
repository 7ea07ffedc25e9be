"""Questions about declared operators, by name: memory, effects, write channel."""

from __future__ import annotations

from typing import Any

from pypto.diagnostics import InvalidValueError
from pypto.ir.attrs import normalize_attrs
from pypto.ir.enums import ArgEffect, MemorySpace, WriteChannel
from pypto.ir.op import get_op
from pypto.ops.declare import Declaration


def _declared(name: str) -> Declaration:
    op = get_op(name)
    if not isinstance(op, Declaration):
        raise InvalidValueError(f"operator {name!r} has no declaration")
    return op


def get_op_memory_spec(name: str) -> dict[str, Any] | None:
    """Where operands may be and where a tile result lives; None for operators that neither take nor make tiles.

    ``output_memory`` is a space, ``"inherit_from_input"``, or the default of the keyword that says it; ``input_constraints`` has the
    allowed spaces of each operand, empty where any will do.

    Raises:
        InvalidValueError: there is no such operator.
    """
    op = _declared(name)
    if op.memory is None and not op.memory_inputs:
        return None
    memory: Any = op.memory
    if memory == "inherit":
        memory = "inherit_from_input"
    elif isinstance(memory, str):
        default = op.keyword_params[memory].default
        memory = default if isinstance(default, MemorySpace) else "deferred"
    return {"input_constraints": [list(op.memory_inputs.get(p.name, ())) for p in op.operand_params], "output_memory": memory}


def get_op_arg_effect(name: str, index: int, **kwargs: Any) -> ArgEffect | None:
    """What an operator does to one operand, given its keywords; None when it has no such operand.

    Raises:
        InvalidValueError: there is no such operator.
    """
    return _declared(name).arg_effect(index, normalize_attrs(kwargs))


def op_has_declared_arg_effects(name: str) -> bool:
    """True when the operator declares what it does to its operands; every operator here does.

    Raises:
        InvalidValueError: there is no such operator.
    """
    return bool(_declared(name).operand_params)


def op_has_declared_arg_effect(name: str, index: int) -> bool:
    """True when the operator has an operand at that position.

    Raises:
        InvalidValueError: there is no such operator.
    """
    return _declared(name).arg_effect(index) is not None


def get_op_write_channel(name: str) -> WriteChannel | None:
    """By which engine the operator writes global memory, None when it writes none.

    Raises:
        InvalidValueError: there is no such operator.
    """
    return _declared(name).write_channel
