"""What people read about an operator, made from its declaration: the reference page and ``pypto ops`` show this."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from pypto.ir.enums import ArgEffect, MemorySpace
from pypto.ir.op import declared_ops, get_op
from pypto.ops.declare import Declaration, Kind, Param, kind_text, public_name
from pypto.ops.vocabulary import bare_names, paths_of


def documented_ops() -> list[Declaration]:
    """The operators that people write, by name."""
    return [op for op in declared_ops() if isinstance(op, Declaration) and not op.internal_only]


def summary(declaration: Declaration) -> str:
    """The first sentence of the documentation."""
    return declaration.doc.split(". ")[0].split("\n")[0].rstrip(".") + "."


def accepts(declaration: Declaration, param: Param) -> str:
    """What a parameter takes: ``Tile``, ``list of integers``, ``PadValue`` ..."""
    if param.enum is not None and not param.is_operand:
        return param.enum.__name__
    text = kind_text(declaration, param)
    if param.enum is not None:
        return f"{text} or {param.enum.__name__}"
    if param.single:
        return f"{text}, or one"
    return f"{text} known when read" if param.literal and param.kind is not Kind.TUPLE else text


def default_text(param: Param) -> str:
    """What an omitted parameter stands for: ``required``, ``same as shapes``, ``none``, or the value."""
    if param.required:
        return "required"
    if param.same_as is not None:
        return f"same as {param.same_as}"
    value = param.default
    if value is None:
        return "none"
    if isinstance(value, Enum):
        return value.name
    return getattr(value, "name", repr(value))


def parameter_rows(declaration: Declaration) -> list[tuple[str, str, str, str]]:
    """Name, what it takes, default and documentation of each parameter; keyword-only ones are marked in the default."""
    return [
        (p.name, accepts(declaration, p), default_text(p) + (", by keyword" if p.keyword_only else ""), p.doc)
        for p in declaration.params
    ]


def notes(declaration: Declaration) -> list[str]:
    """Everything else that the declaration states, a sentence each."""
    found = [*_spellings(declaration), *_effects(declaration), *_places(declaration)]
    if declaration.scalar_variant is not None:
        found.append(f"With a scalar as the last operand it becomes {public_name(get_op(declaration.scalar_variant))}.")
    if declaration.tile_form is not None:
        found.append(f"Inside a kernel it becomes {public_name(get_op(declaration.tile_form))}.")
    if declaration.composite:
        found.append("Composite: LowerCompositeOps replaces it by primitive operators.")
    if declaration.hardware_only:
        found.append("Hardware only: it cannot be run here.")
    return found


def _spellings(declaration: Declaration) -> list[str]:
    own = public_name(declaration)
    prefix = "pld" if declaration.namespace.startswith("pld.") else "pl"
    others = [f"{prefix}.{name}" for name in bare_names(declaration)]
    others += [path if path.startswith("pld.") else f"pl.{path}" for path in paths_of(declaration)]
    listed = [name for name in dict.fromkeys(others) if name != own]
    return [f"Also written {_either(listed)}."] if listed else []


def _effects(declaration: Declaration) -> list[str]:
    found: list[str] = []
    words = {ArgEffect.Write: "written", ArgEffect.ReadWrite: "read and written"}
    for at, param in enumerate(declaration.operand_params):
        effect = declaration.arg_effect(at)
        if param.name in declaration.scratch:
            found.append(f"{param.name} only lends its room; what it held is lost.")
        elif effect in words:
            found.append(f"{param.name} is {words[effect]}.")
        if param.name in declaration.reads_when:
            keyword, value = declaration.reads_when[param.name]
            found.append(f"{param.name} is also read when {keyword} is {_member(declaration.keyword_params[keyword], value)}.")
    if declaration.alias:
        found.append(f"The result is {declaration.alias} itself.")
    if declaration.fresh:
        unless = f", unless {declaration.fresh} is given" if isinstance(declaration.fresh, str) else ""
        found.append(f"The result holds nothing yet: its elements are to be written before they are read{unless}.")
    return found


def _places(declaration: Declaration) -> list[str]:
    found = [f"{name} must be in {_either([s.name for s in spaces])}." for name, spaces in declaration.memory_inputs.items()]
    memory = declaration.memory
    if isinstance(memory, MemorySpace):
        found.append(f"The result is in {memory.name}.")
    elif memory == "inherit":
        found.append("The result is where the operand is.")
    elif memory is not None:
        found.append(f"{memory} says where the result is.")
    return found


def _member(param: Param, value: object) -> str:
    enum = param.enum
    if enum is None or isinstance(value, Enum):
        return str(getattr(value, "name", value))
    return f"{enum.__name__}.{enum(value).name}"


def _either(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
