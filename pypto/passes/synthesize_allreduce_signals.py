"""SynthesizeAllReduceSignals: every allreduce of a host orchestrator gets a signal, and a statement of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, ConstInt, Expr, IterArg, MakeTuple, Mul, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import Node, walk
from pypto.ir.op import create_op_call
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, EvalStmt, ForStmt, ReturnStmt, Stmt, WhileStmt
from pypto.ir.verify.walk import held
from pypto.ops.declare import Declaration
from pypto.passes.base import Pass
from pypto.passes.host_code import HostProgramError, calls_in, is_host_orchestrator, place_of
from pypto.passes.registry import register_pass
from pypto.passes.rewrite import defined_vars, named_bodies, rewrite_body, statements

_SIGNAL_BYTES = DataType.INT32.get_byte()
_PREFIX = "__allreduce_signal"
_NAMES = tuple(f"{_PREFIX}{part}" for part in ("_world_size", "_buf", ""))
_RESULT = "__allreduce_result"


@register_pass
@dataclass(frozen=True)
class SynthesizeAllReduceSignals(Pass):
    """Give every allreduce in a host orchestrator that leaves its signal out a signal of its own, allocated just before it.

    An allreduce that is returned is assigned to a variable first. One that stands inside another expression, or in a loop without a
    signal, is refused.
    """

    def transform(self, program: Program) -> Program:
        """The program with a signal for every allreduce."""
        synthesis: _Synthesis | None = None
        functions: list[Function] = []
        for function in program.functions.values():
            if is_host_orchestrator(function) and _concerns(function):
                synthesis = synthesis or _Synthesis(program)
                body = synthesis.body(function.body, in_loop=False)
                function = function if body is function.body else function.replace(body=body)
            functions.append(function)
        return program.with_functions(functions)


def _takes_optional_signal(expr: Node) -> bool:
    """True for a call of a collective whose signal may be left out."""
    if not isinstance(expr, Call) or not isinstance(expr.op, Declaration) or not expr.op.collective:
        return False
    return any(p.name in expr.op.signals and p.default is None for p in expr.op.operand_params)


def _concerns(function: Function) -> bool:
    return any(_takes_optional_signal(node) for stmt in statements(function.body) for part in held(stmt) for node in walk(part))


def _taken_names(program: Program) -> Iterator[str]:
    for function in program.functions.values():
        yield from (var.name_hint for var in (*function.params, *defined_vars(function.body)))
        for node in walk(function.body):
            if isinstance(node, Var | IterArg):
                yield node.name_hint
            elif isinstance(node, Call) and isinstance(node.op, Declaration) and node.op.allocates:
                yield str(node.kwargs.get("name"))


class _Synthesis:
    """Hands out the numbers of a program's signals, and rewrites bodies."""

    def __init__(self, program: Program) -> None:
        self.taken = set(_taken_names(program))
        self.next = 0

    def number(self, names: Sequence[str]) -> int:
        """The next number with which none of the names is taken."""
        while any(f"{name}_{self.next}" in self.taken for name in names):
            self.next += 1
        self.next += 1
        return self.next - 1

    def body(self, body: Stmt, in_loop: bool) -> Stmt:
        """A body in which every allreduce has its signal; the same object when all have."""
        return rewrite_body(body, lambda stmt: self.statement(stmt, in_loop))

    def statement(self, stmt: Stmt, in_loop: bool) -> Sequence[Stmt]:
        """What a statement becomes."""
        if isinstance(stmt, AssignStmt) and _takes_optional_signal(stmt.value):
            out, call = self.with_signal(stmt.value, stmt, in_loop)
            return [*out, stmt if call is stmt.value else stmt.replace(value=call)]
        if isinstance(stmt, EvalStmt) and _takes_optional_signal(stmt.expr):
            out, call = self.with_signal(stmt.expr, stmt, in_loop)
            return [*out, stmt if call is stmt.expr else stmt.replace(expr=call)]
        if isinstance(stmt, ReturnStmt):
            return self.returned(stmt, in_loop)
        for part in held(stmt):
            self.refuse_nested(part, stmt)
        inside = in_loop or isinstance(stmt, ForStmt | WhileStmt)
        changes = {name: new for name, inner in named_bodies(stmt) if (new := self.body(inner, inside)) is not inner}
        return [stmt.replace(**changes)] if changes else [stmt]

    def returned(self, stmt: ReturnStmt, in_loop: bool) -> Sequence[Stmt]:
        """A return whose allreduces are assigned to variables before."""
        out: list[Stmt] = []
        values: list[Expr] = []
        for value in stmt.value:
            if not _takes_optional_signal(value):
                self.refuse_nested(value, stmt)
                values.append(value)
                continue
            assert isinstance(value, Call)
            names = [_RESULT] if self.has_signal(value, stmt) else [_RESULT, *_NAMES]
            number = self.number(names)
            prefix, call = self.with_signal(value, stmt, in_loop, number)
            var = Var(f"{_RESULT}_{number}", call.type, value.span)
            out += [*prefix, AssignStmt(var, call, stmt.span)]
            values.append(var)
        return [*out, stmt.replace(value=values)] if out else [stmt]

    def refuse_nested(self, expr: Expr, stmt: Stmt) -> None:
        """Refuse an allreduce that is a part of another expression."""
        for call in calls_in(expr):
            if _takes_optional_signal(call):
                raise HostProgramError(
                    f"{call.op.name} stands inside another expression; a host orchestrator takes it by direct assignment only",
                    place_of(call, stmt),
                    hint=f"assign it to a name first: x = {call.op.name}(...)",
                )

    def has_signal(self, call: Call, stmt: Stmt) -> bool:
        """True when the signal is given.

        Raises:
            HostProgramError: it has another number of operands than with or without a signal.
        """
        declaration = call.op
        assert isinstance(declaration, Declaration)
        count = len(call.args)
        least, most = declaration.min_operands, declaration.max_operands
        if not least <= count <= most:
            raise HostProgramError(
                f"{declaration.name} takes {least} or {most} operands, got {count}",
                place_of(call, stmt),
                hint=f"signature: {declaration.spelling()}",
            )
        return count == most

    def with_signal(self, call: Expr, stmt: Stmt, in_loop: bool, number: int | None = None) -> tuple[list[Stmt], Call]:
        """The statements that make the signal of a call, and the call with it."""
        assert isinstance(call, Call)
        for arg in call.args:
            self.refuse_nested(arg, stmt)
        if self.has_signal(call, stmt):
            return [], call
        span = place_of(call, stmt)
        if in_loop:
            raise HostProgramError(
                f"{call.op.name} without a signal stands inside a for/while loop: its signal cannot be allocated anew in each iteration",
                span,
                hint="allocate a signal before the loop and pass it",
            )
        number = self.number(_NAMES) if number is None else number
        size_name, buffer_name, signal_name = (f"{name}_{number}" for name in _NAMES)
        cores = call.kwargs.get("core_num", 1)
        assert isinstance(cores, int)
        lanes = ConstInt(cores, DataType.INT64)
        out: list[Stmt] = []
        ranks = _assign(out, size_name, create_op_call("pld.system.world_size", [], span), span)
        cells = Mul(ranks, lanes, DataType.INT64, span)
        size = Mul(cells, ConstInt(_SIGNAL_BYTES, DataType.INT64), DataType.INT64, span)
        buffer = _assign(
            out, buffer_name, create_op_call("pld.tensor.alloc_window_buffer", [size], {"name": buffer_name}, span), span
        )
        shape = MakeTuple([ranks, lanes], span)
        window = create_op_call("pld.tensor.window", [buffer, shape], {"dtype": DataType.INT32}, span)
        signal = _assign(out, signal_name, window, span)
        return out, call.replace(args=[*call.args, signal])


def _assign(out: list[Stmt], name: str, value: Call, span: Span) -> Var:
    var = Var(name, value.type, span)
    out.append(AssignStmt(var, value, span))
    return var
