"""Calls that only passes make: dispatches of collectives, ``pl.builtin.tensor.allreduce(..., attrs={"device": r, ...})``.

They are read as the printer writes them. People write the collective that such a call is a part of.
"""

from __future__ import annotations

import ast
from typing import Any

from pypto.diagnostics import did_you_mean
from pypto.ir.expr import Call, ConstInt, Expr, index_const
from pypto.ops.builtin import DISPATCH_ATTRS, dispatch_fault
from pypto.ops.declare import Declaration
from pypto.ops.vocabulary import lookup, names
from pypto.parser.attrs import entries, read_attrs
from pypto.parser.errors import InvalidOperationError, ParserError, ParserSyntaxError, ParserTypeError
from pypto.parser.reader import Reader

_HEAD = "builtin."


def is_machine_only(entry: object) -> bool:
    """True for the operators that only passes make, and whose calls need their attributes."""
    return type(entry) is Declaration and entry.carries_out is not None


def need_attrs(reader: Reader, node: ast.Call, name: str, attrs_node: Any) -> None:
    """Refuse a call without the attributes that it must have.

    Raises:
        ParserSyntaxError: one is left out.
    """
    written = () if attrs_node is None else entries(reader, attrs_node, "attrs")
    missing = [key for key in DISPATCH_ATTRS if key not in written]
    if missing:
        shown = " and ".join(repr(key) for key in missing)
        place = node if attrs_node is None else attrs_node
        raise reader.failure(ParserSyntaxError, f"pl.{name} needs attrs with {shown}", place, hint=_hint(name))


def with_dispatch(reader: Reader, call: Expr, attrs_node: Any) -> Expr:
    """The call with its attributes, which say for which device it is and what happens to its arguments.

    Raises:
        ParserTypeError: one does not fit the call.
    """
    assert isinstance(call, Call)
    attrs = dict(read_attrs(reader, attrs_node))
    device = attrs.get("device")
    if type(device) is int:
        attrs["device"] = index_const(device)
    made = call.replace(attrs=attrs)
    fault = dispatch_fault(made)
    number = made.attrs["device"]
    if fault is None and isinstance(number, ConstInt) and number.value < 0:
        fault = f"there is no device {number.value}"
    if fault is not None:
        raise reader.failure(ParserTypeError, f"pl.{call.op.name}: {fault}", attrs_node, hint=_hint(call.op.name))
    return made


def _hint(name: str) -> str:
    return f"only passes write such calls; write {collective_form(name)} instead"


def collective_form(name: str) -> str:
    """How people write the collective behind a machine-only name; the nearest one for a name that does not exist."""
    entry = lookup(name)
    if isinstance(entry, Declaration) and entry.carries_out is not None:
        collective, mode = entry.carries_out
        other = lookup(collective)
        modes = isinstance(other, Declaration) and "mode" in other.keyword_params
        return f"{collective}(..., mode={mode!r})" if modes and mode != "mesh" else f"{collective}(...)"
    leaf = name.rpartition(".")[2]
    known = names("pld.tensor")
    for part in (leaf, leaf.removesuffix("_ring")):
        close = part if part in known else did_you_mean(part, known)
        if close:
            return f"pld.tensor.{close}(...)"
    return "the collective itself, pld.tensor.<name>(...)"


def misspelled(reader: Reader, shown: str, func: Any) -> ParserError | None:
    """The error for a name that looks like a machine-only operator and is none, None for every other name."""
    plain = shown.removeprefix("pld.").removeprefix("pl.")
    if plain != "builtin" and not plain.startswith(_HEAD):
        return None
    hint = f"write {collective_form(plain)}"
    if lookup(plain) is not None:
        return reader.failure(InvalidOperationError, f"{shown} is no operation: it belongs to passes alone", func, hint=hint)
    return reader.failure(InvalidOperationError, f"unknown operation {shown}: there is no such builtin", func, hint=hint)


def refuse_by_name(reader: Reader, name: str, node: Any) -> None:
    """Refuse a machine-only operator that a person names in another way than a printed program does."""
    if is_machine_only(lookup(name)) and not reader.source.printed:
        raise reader.failure(
            InvalidOperationError, f"{name} belongs to passes alone", node, hint=f"write {collective_form(name)} instead"
        )
