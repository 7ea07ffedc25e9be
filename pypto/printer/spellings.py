"""Spellings beyond the everyday language, which make every program printable: what is written, and what it stands for.

The language reference lists this table; each entry is an ordinary piece of a program that a person may write as well.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class SpellingRow(NamedTuple):
    """One row: an example and what it means."""

    example: str
    meaning: str


SPELLINGS: Final = (
    SpellingRow('pl.const("inf", pl.FP32)', "an infinite constant; also `-inf`"),
    SpellingRow('pl.const("nan", pl.FP32)', "a NaN; `-nan`, or `nan:<16 hex digits>` for another bit pattern"),
    SpellingRow("-pl.const(5, pl.INDEX)", "the negation of a constant, where `-5` is one constant"),
    SpellingRow("pl.const(2, pl.INDEX) * pl.const(3, pl.INDEX)", "operators on constants that are kept and not computed"),
    SpellingRow("pl.logical_xor(a, b)", "exclusive or of two truth values"),
    SpellingRow("pl.abs(x)", "absolute value of a scalar"),
    SpellingRow(
        "pl.expr.add(a, b, dtype=pl.INT32)", "a scalar operation with that very element type and no conversion of its operands"
    ),
    SpellingRow(
        "pl.expr.const_int(5, dtype=pl.FP32)", "an integer constant of an element type that is none (`const_float` likewise)"
    ),
    SpellingRow('pl.expr.call("tile.add", a, b, kwargs={"k": 1}, type=pl.UnknownType)', "a call exactly as it is, with its type"),
    SpellingRow("pl.expr.call(self.kernel, a, type=pl.UnknownType)", "the same for a function of the program"),
    SpellingRow("pl.expr.make_tuple([a, b])", "a tuple expression as an attribute value, where `[a, b]` is a list of variables"),
    SpellingRow('self.kernel(a, kwargs={"k": 1})', "keywords stored with a call of a function"),
    SpellingRow("pl.range(n, dtype=pl.INT32)", "the element type of the loop variable, where the bounds imply another"),
    SpellingRow(
        "pl.range(n, init_values=(a,), iter_types=[pl.Scalar[pl.INT32]])",
        "types of carried values that differ from their first values'",
    ),
    SpellingRow("pl.unroll(4, init_values=(a,))", "an unrolled loop with carried values"),
    SpellingRow(
        "pl.yield_(a, b, result_types=[pl.Scalar[pl.INT32], pl.Scalar[pl.INT32]])",
        "types of several results that differ from the values'",
    ),
    SpellingRow('pl.at(level=pl.Level.CHIP, attrs={"key": 1})', "scope attributes without a keyword of their own"),
    SpellingRow("pl.hierarchy(level=pl.Level.CORE_GROUP)", "a scope at that level which is no kernel"),
    SpellingRow(
        "pl.seq()",
        "a sequence that is one statement: inside another sequence, or as a body of one statement",
    ),
    SpellingRow(
        "pl.at(level=pl.Level.CHIP, placeholder=False)",
        "with `as t`: a scope with a task whose name is assigned nothing before it",
    ),
    SpellingRow(
        "pl.submit(self.kernel, a, type=pl.UnknownType)", "a launch of another type than the results of its kernel give it"
    ),
    SpellingRow('pl.scope(name_hint="h")', "the name hint of a scope"),
    SpellingRow(
        'pld.comm_domain("comm_d0", devices=[0, 1], windows=["data_buf"])', "a communication domain; without `devices` all ranks"
    ),
    SpellingRow(
        'pl.builtin.tensor.barrier(s, attrs={"device": r, "arg_directions": [pl.adir.inout]})',
        "the part of one rank in a collective, which only passes make; people write `pld.tensor.barrier(s)`",
    ),
    SpellingRow('pld.WindowBuffer("data_buf", load_from_host=True)', "in a type: the window of that name"),
    SpellingRow(
        'pl.MemRef("buf", pl.const(0, pl.INT64), 1024, is_pinned=True)', "a part of an allocation that its author placed"
    ),
    SpellingRow("1e999", "infinity as an attribute value"),
    SpellingRow('float("nan")', "NaN as an attribute value"),
)
