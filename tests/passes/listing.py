"""Lowered kernels in the notation of listings, and listings written by hand in the same notation.

    SET q := op(a, b){k=v}             a temporary with qualifier q
    EACH v in lo..hi by st:            a loop that carries nothing
    FOLD v in lo..hi by st, a=init -> out:
    GATE c:                            a branch without else
    PICK c -> out: / ELSE              a branch with a result; both end in YIELD
    v = e                              the assignment that was there before
    #n, #n:i32                         integer constants, INDEX unless they say so
    T(...), i32(e), idx(e)             tuples and casts

In a listing written by hand, ``SETUP x [expected]``, ``SYNC suffix op least [row]`` and ``RESET amount [row]`` stand for the fragments that all
collectives share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pypto import ir
from pypto.ir.dtypes import DataType
from pypto.ir.enums import AtomicType, MemorySpace, NotifyOp, PadValue, WaitCmp
from pypto.ir.expr import BinaryExpr, Call, Cast, ConstFloat, ConstInt, Expr, MakeTuple, Neg, Var
from pypto.ir.stmt import AssignStmt, EvalStmt, ForStmt, IfStmt, ReturnStmt, Stmt, YieldStmt, flatten_to_stmts

_OPERATORS = {ir.Add: ("+", 1), ir.Sub: ("-", 1), ir.Mul: ("*", 2), ir.FloorDiv: ("//", 2), ir.FloorMod: ("mod", 2)}
_COMPARISONS = {ir.Ne: "!=", ir.Lt: "<"}
_FUNCTIONS = {ir.Min: "min", ir.Max: "max"}
_ENUMS: dict[str, Any] = {"cmp": WaitCmp, "atomic": AtomicType}


def qualifier(name: str) -> str:
    """What a temporary is called after: the part between base and number; the name itself of any other variable."""
    match = re.fullmatch(r"[A-Za-z0-9_]+?__(.+)_tmp_v\d+", name)
    return match[1] if match else name


class Listing:
    """Writes a body as lines. A name stands for the variable that was given it last; any other variable is marked with a quote."""

    def __init__(self) -> None:
        self.known: dict[str, Var] = {}

    def lines(self, body: Stmt) -> Iterator[str]:
        """The statements of a body."""
        for stmt in flatten_to_stmts(body):
            yield from self._stmt(stmt)

    def _named(self, var: Var) -> str:
        name = qualifier(var.name_hint)
        self.known[name] = var
        return name

    def _stmt(self, stmt: Stmt) -> Iterator[str]:
        if isinstance(stmt, AssignStmt):
            value = self.text(stmt.value)
            name = self._named(stmt.var)
            yield f"SET {name} := {value}" if "_tmp_v" in stmt.var.name_hint else f"{name} = {value}"
        elif isinstance(stmt, EvalStmt):
            yield self.text(stmt.expr)
        elif isinstance(stmt, ForStmt):
            yield from self._for(stmt)
        elif isinstance(stmt, IfStmt):
            yield from self._if(stmt)
        elif isinstance(stmt, YieldStmt):
            yield f"YIELD {', '.join(map(self.text, stmt.value))}"
        elif isinstance(stmt, ReturnStmt):
            yield f"RETURN {', '.join(map(self.text, stmt.value))}"
        else:
            raise AssertionError(type(stmt))

    def _for(self, stmt: ForStmt) -> Iterator[str]:
        assert stmt.kind is ir.ForKind.Sequential
        bounds = f"{self.text(stmt.start)}..{self.text(stmt.stop)} by {self.text(stmt.step)}"
        if not stmt.iter_args:
            yield f"EACH {self._named(stmt.loop_var)} in {bounds}:"
            yield from self._indented(stmt.body)
            return
        (carried,), (result,) = stmt.iter_args, stmt.return_vars
        first = self.text(carried.initValue)
        name = self._named(stmt.loop_var)
        yield f"FOLD {name} in {bounds}, {self._named(carried)}={first} -> {qualifier(result.name_hint)}:"
        yield from self._indented(stmt.body)
        self._named(result)

    def _if(self, stmt: IfStmt) -> Iterator[str]:
        condition = self.text(stmt.condition)
        if stmt.else_body is None:
            assert not stmt.return_vars
            yield f"GATE {condition}:"
            yield from self._indented(stmt.then_body)
            return
        (result,) = stmt.return_vars
        yield f"PICK {condition} -> {qualifier(result.name_hint)}:"
        yield from self._indented(stmt.then_body)
        yield "ELSE"
        yield from self._indented(stmt.else_body)
        self._named(result)

    def _indented(self, body: Stmt) -> Iterator[str]:
        for line in self.lines(body):
            yield f"    {line}"

    def text(self, value: Expr) -> str:
        """An expression."""
        return self._expr(value)[0]

    def _expr(self, value: Expr) -> tuple[str, int]:
        """An expression and how tightly it binds."""
        if isinstance(value, Var):
            name = qualifier(value.name_hint)
            return (name if self.known.setdefault(name, value) is value else f"{name}'"), 9
        if isinstance(value, ConstInt):
            return f"#{value.value}" if value.dtype is DataType.INDEX else f"#{value.value}:{_short(value.dtype)}", 9
        if isinstance(value, ConstFloat):
            return str(value.value), 9
        if isinstance(value, Cast):
            return f"{_short(value.dtype)}({self.text(value.operand)})", 9
        if isinstance(value, Neg):
            return f"-{self.text(value.operand)}", 3
        if isinstance(value, MakeTuple):
            return f"T({', '.join(map(self.text, value.elements))})", 9
        if isinstance(value, Call):
            keywords = ", ".join(f"{k}={_keyword(value.op.name, k, v)}" for k, v in value.kwargs.items())
            return f"{value.op.name}({', '.join(map(self.text, value.args))}){f'{{{keywords}}}' if keywords else ''}", 9
        assert isinstance(value, BinaryExpr), type(value)
        kind = type(value)
        if kind in _FUNCTIONS:
            return f"{_FUNCTIONS[kind]}({self.text(value.left)}, {self.text(value.right)})", 9
        if kind in _COMPARISONS:
            return f"{self.text(value.left)} {_COMPARISONS[kind]} {self.text(value.right)}", 0
        sign, strength = _OPERATORS[kind]
        (left, left_strength), (right, right_strength) = self._expr(value.left), self._expr(value.right)
        left = f"({left})" if left_strength < strength else left
        right = f"({right})" if right_strength <= strength else right
        return f"{left} {sign} {right}", strength


def _short(dtype: DataType) -> str:
    return {DataType.INT32: "i32", DataType.INDEX: "idx"}[dtype]


def _keyword(op: str, name: str, value: Any) -> str:
    if isinstance(value, DataType | MemorySpace | PadValue):
        return value.name
    if name == "op" and op == "pld.system.notify":
        return NotifyOp(value).name
    return _ENUMS[name](value).name.rstrip("_") if name in _ENUMS else str(value)


def listing(program: ir.Program) -> list[str]:
    """The lines of a program's only function."""
    (function,) = program.functions.values()
    writer = Listing()
    for param in function.params:
        writer.known[param.name_hint] = param
    return [*writer.lines(function.body)]


_SETUP = """\
SET ctx := pld.system.get_comm_ctx({window})
SET nranks := pld.system.nranks(ctx){expected}
SET nranks_idx := idx(nranks)
SET my_rank := pld.system.rank(ctx)"""

_SYNC = """\
EACH peer{suffix} in #0..nranks_idx by #1:
    GATE peer{suffix} != idx(my_rank):
        SET notify{suffix}_ret := pld.system.notify(signal, peer{suffix}, {post}, #1:i32){{op={op}}}
EACH src{suffix} in #0..nranks_idx by #1:
    GATE src{suffix} != idx(my_rank):
        SET wait{suffix}_ret := pld.system.wait(signal, {wait}, {least}){{cmp=Ge}}"""

_RESET = """\
EACH reset_src in #0..nranks_idx by #1:
    GATE reset_src != idx(my_rank):
        SET epilogue_reset_ret := pld.system.notify(signal, my_rank, {cell}, {amount}){{op=AtomicAdd}}"""


def written(text: str) -> list[str]:
    """A listing written by hand, its fragments filled in. ``-`` stands for an empty suffix; empty lines and notes after ``//!`` go."""
    found: list[str] = []
    lines = [line.partition("//!")[0].rstrip() for line in text.splitlines()]
    margin = min(len(line) - len(line.lstrip()) for line in lines if line)
    for line in lines:
        if not line:
            continue
        line = line[margin:]
        pad = line[: len(line) - len(line.lstrip())]
        head, *words = line.split()
        if head == "SETUP":
            window, *only = words
            fragment = _SETUP.format(window=window, expected="".join(f"{{expected={n}}}" for n in only))
        elif head == "SYNC":
            suffix, op, least, *row = words
            post, wait = _cells(row, "my_rank", f"src{'' if suffix == '-' else suffix}")
            fragment = _SYNC.format(suffix="" if suffix == "-" else suffix, op=op, least=least, post=post, wait=wait)
        elif head == "RESET":
            amount, *row = words
            fragment = _RESET.format(cell=_cells(row, "reset_src")[0], amount=amount)
        else:
            fragment = line[len(pad) :]
        found += [pad + each for each in fragment.splitlines()]
    return found


def _cells(row: list[str], *ranks: str) -> list[str]:
    """Cells of ranks: in a signal of one column, or in a row of a ring's."""
    return [f"T({row[0]}, {rank})" if row else f"T({rank}, #0)" for rank in ranks]
