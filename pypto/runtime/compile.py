"""Compiling: an IR function to Python code, once; a program to functions that call one another."""

from __future__ import annotations

import gc
from collections import OrderedDict
from collections.abc import Callable
from itertools import count
from types import CodeType
from typing import Any

from pypto.diagnostics import InternalError
from pypto.ir.expr import Var
from pypto.ir.function import Function, Program
from pypto.ir.stmt import Stmt
from pypto.runtime.emit import FunctionEmitter
from pypto.runtime.errors import RunError
from pypto.runtime.facts import Facts, FunctionFacts
from pypto.runtime.units import remember_unit

_serial = count(1).__next__
_KEPT = 256


class CompiledFunction:
    """The Python code of one function.

    ``source`` is its text, ``statements`` the IR statement of each of its lines (None for lines that no statement stands for), ``callees``
    maps the functions it calls to the names they have in the text, ``kernels`` those it runs that its program does not have,
    ``names`` the variables to theirs.
    """

    def __init__(self, function: Function, facts: Facts) -> None:
        emitter = FunctionEmitter(function, facts)
        enabled = gc.isenabled()
        gc.disable()
        try:
            lines = emitter.emit()
            self.source = "\n".join([" " * indent + text for indent, text, _ in lines]) + "\n"
            self.filename = f"<pypto {function.name} {_serial()}>"
            self.code: CodeType = compile(self.source, self.filename, "exec", dont_inherit=True)
        except (SyntaxError, RecursionError, MemoryError) as error:
            raise InternalError(f"the code made for {function.name!r} is no Python: {error}", function.span) from error
        finally:
            if enabled:
                gc.enable()
        self.function = function
        self.facts: FunctionFacts = facts.of(function)
        self.statements: list[Stmt | None] = [stmt for _, _, stmt in lines]
        self.entry = emitter.entry
        self.callees: dict[str, str] = emitter.callees
        self.kernels: dict[Function, str] = emitter.kernels
        self.names: dict[Var, str] = emitter.lines.names
        self.shared: dict[str, Any] = emitter.lines.shared
        self.direct_calls = emitter.direct_calls
        remember_unit(self.filename, self)

    def statement_at(self, line: int) -> Stmt | None:
        """The statement that a line of the source was made for; lines count from 1."""
        return self.statements[line - 1] if 0 < line <= len(self.statements) else None

    def instance(self) -> tuple[Callable[..., Any], dict[str, Any]]:
        """A new Python function of the code, with the namespace in which its callees are still to be put."""
        namespace: dict[str, Any] = dict(self.shared)
        exec(self.code, namespace)
        return namespace[self.entry], namespace


# Nodes cannot be referred to weakly, so both caches hold their keys and let the oldest go.
_functions: OrderedDict[tuple[Any, ...], tuple[Function, CompiledFunction]] = OrderedDict()
_programs: OrderedDict[int, tuple[Program | Function, Linked]] = OrderedDict()


def compile_function(function: Function, program: Program | None = None) -> CompiledFunction:
    """The Python code of a function; ``program`` holds the functions it calls. Compiled once for each function object.

    Raises:
        RunError: the function holds something that cannot be run.
    """
    return _compiled(function, program, Facts(program))


def _compiled(function: Function, program: Program | None, facts: Facts) -> CompiledFunction:
    called = [] if program is None else [(g.name, facts.of_callee(g.name)) for g in program.functions]
    key = (id(function), tuple([(name, callee.key) for name, callee in called if callee is not None]))
    known = _functions.get(key)
    if known is not None:
        _functions.move_to_end(key)
        return known[1]
    compiled = CompiledFunction(function, facts)
    _functions[key] = (function, compiled)
    if len(_functions) > _KEPT:
        _functions.popitem(last=False)
    return compiled


class Linked:
    """The functions of a program as Python functions that call one another; each is compiled when it is first needed."""

    def __init__(self, program: Program | None) -> None:
        self._program = program
        self.facts = Facts(program)
        self._made: dict[str, Callable[..., Any]] = {}
        self.units: dict[str, CompiledFunction] = {}

    def function(self, function: Function) -> Callable[..., Any]:
        """The Python function, its callees linked."""
        known = self._made.get(function.name)
        if known is not None:
            return known
        pending = [function]
        made: dict[str, Callable[..., Any]] = {}
        namespaces: list[tuple[CompiledFunction, dict[str, Any]]] = []
        while pending:
            at = pending.pop()
            if at.name in self._made or at.name in made:
                continue
            unit = _compiled(at, self._program, self.facts)
            made[at.name], namespace = unit.instance()
            namespaces.append((unit, namespace))
            for name in unit.callees:
                callee = None if self._program is None else self._program.get_function(name)
                if callee is None:
                    raise RunError(f"{name!r} is no function of the program", at.span)
                pending.append(callee)
        self._made.update(made)
        for unit, namespace in namespaces:
            self.units[unit.function.name] = unit
            for name, local in unit.callees.items():
                namespace[local] = self._made[name]
            for kernel, local in unit.kernels.items():
                namespace[local] = link(kernel).function(kernel)
        return self._made[function.name]


def linked(program: Program | Function) -> Linked | None:
    """The linked form of a program or function, None when :func:`link` has not made it."""
    known = _programs.get(id(program))
    return None if known is None else known[1]


def link(program: Program | Function) -> Linked:
    """The linked form of a program, or of a function that calls no other; remembered for the object."""
    known = _programs.get(id(program))
    if known is None:
        known = _programs[id(program)] = (program, Linked(program if isinstance(program, Program) else None))
        if len(_programs) > _KEPT:
            _programs.popitem(last=False)
    else:
        _programs.move_to_end(id(program))
    return known[1]
