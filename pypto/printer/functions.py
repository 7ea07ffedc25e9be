"""Functions and programs as text: header, decorators, signatures, blank lines."""

from __future__ import annotations

from collections.abc import Sequence

from pypto.ir.attrs import AttrValue
from pypto.ir.enums import FunctionType, ParamDirection, Role, SplitMode
from pypto.ir.function import Function, Program
from pypto.ir.stmt import SeqStmts
from pypto.printer.names import identifier
from pypto.printer.pieces import SOFT_CLOSE, SOFT_OPEN, quoted
from pypto.printer.session import Session
from pypto.printer.statements import Statements

Pieces = list[str]


class Functions:
    """Writes functions and programs."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.statements = Statements(session)

    def program(self, program: Program) -> None:
        """A whole program: header, declarations, and the class with its functions, called ones first."""
        session = self.session
        name = program.name or "Program"
        for at, function in enumerate(self.in_order(program)):
            if at and session.format:
                session.lines.append("")
            self.function(function, 1)
        body = session.lines
        session.lines = []
        self._header("program", name, body)
        session.line(("@", f"{session.prefix}.program"), 0)
        session.line(("class ", identifier(name), ":"), 0)
        session.lines += body or ["    pass"]

    def alone(self, function: Function) -> None:
        """A function that stands alone, with a header of its own."""
        session = self.session
        self.function(function, 0)
        body = session.lines
        session.lines = []
        self._header("function", function.name, body)
        session.lines += body

    def _header(self, kind: str, name: str, body: Sequence[str]) -> None:
        session = self.session
        lines = session.lines
        lines.append(f"# pypto.{kind}: {' '.join(name.split())}")
        if session.prefix == "pl":
            lines.append("import pypto.language as pl")
        else:
            lines.append(f"from pypto import language as {session.prefix}")
        if any("pld." in line for line in body):
            lines.append("import pypto.language.distributed as pld")
        lines.append("")
        dynamic = sorted(session.all_names.dynamic.values())
        for dim in dynamic:
            session.line((dim, " = ", SOFT_OPEN, f"{session.prefix}.dynamic", "(", quoted(dim), ")", SOFT_CLOSE), 0)
        if dynamic:
            lines.append("")
        if session.format:
            lines.append("")

    def in_order(self, program: Program) -> list[Function]:
        """The functions, each after those that it calls; by name where they call in a circle."""
        functions = {f.name: f for f in program.functions.values()}
        names = self.session.all_names
        callees = {name: [c for c in names.callees_of(f) if c in functions] for name, f in functions.items()}
        done: dict[str, bool] = {}
        order: list[Function] = []
        for root in sorted(functions):
            stack = [(root, iter(callees[root]))] if root not in done else []
            if stack:
                done[root] = False
            while stack:
                name, rest = stack[-1]
                for callee in rest:
                    if callee not in done:
                        done[callee] = False
                        stack.append((callee, iter(callees[callee])))
                        break
                    if not done[callee]:
                        return [functions[name] for name in sorted(functions)]
                else:
                    stack.pop()
                    done[name] = True
                    order.append(functions[name])
        return order

    # -- one function ----------------------------------------------------------------------------------------------------

    def function(self, function: Function, depth: int) -> None:
        """A decorated function."""
        session = self.session
        session.names = session.all_names.of_function(function)
        session.visible = {}
        attrs = dict(function.attrs)
        session.line(self._decorator(function, attrs), depth)
        signature = self._signature(function)
        session.visible = session.all_names.defined_in(function)
        body = function.body
        empty = isinstance(body, SeqStmts) and not body.stmts
        if function.requires_runtime_binding and empty and not attrs and not body.trailing_comments:
            session.line([*signature, ": ", "..."], depth)
            return
        session.line([*signature, ":"], depth)
        if attrs:
            session.line(self._attributes(attrs), depth + 1)
        if function.requires_runtime_binding and empty:
            session.line(("...",), depth + 1)
            session.comments(body.trailing_comments, depth + 1)
        else:
            self.statements.block(body, depth + 1)

    def _decorator(self, function: Function, attrs: dict[str, AttrValue]) -> Pieces:
        """The decorator; takes out of ``attrs`` what is written here."""
        prefix = self.session.prefix
        parts: list[Pieces] = []
        if function.func_type is not FunctionType.Opaque:
            parts.append(["type", "=", f"{prefix}.FunctionType.{function.func_type.name}"])
        if function.level is not None:
            parts.append(["level", "=", f"{prefix}.Level.{function.level.name}"])
        if function.role is not None:
            parts.append(["role", "=", f"{prefix}.Role.{function.role.name}"])
        scope = attrs.get("auto_scope")
        if isinstance(scope, bool):
            del attrs["auto_scope"]
            parts.append(["auto_scope", "=", str(scope)])
        source = attrs.get("external_source")
        if isinstance(source, str):
            del attrs["external_source"]
            parts.append(["external_source", "=", quoted(source)])
        out: Pieces = ["@", f"{prefix}.function"]
        if parts:
            out.append("(")
            for at, part in enumerate(parts):
                out += (", ", *part) if at else part
            out.append(")")
        return out

    def _signature(self, function: Function) -> Pieces:
        session = self.session
        prefix = session.prefix
        out: Pieces = ["def ", identifier(function.name), "("]
        any_before = not session.standalone and function.role is not Role.SubWorker
        if any_before:
            out.append("self")
        for param, direction in zip(function.params, function.param_directions, strict=True):
            if any_before:
                out.append(", ")
            any_before = True
            out += (session.names[param], ": ")
            if direction is ParamDirection.In:
                out += session.types.pieces(param.type)
            else:
                out += (f"{prefix}.{direction.name}", "[", *session.types.pieces(param.type), "]")
        out.append(")")
        results = function.return_types
        if results:
            out += (" -> ", SOFT_OPEN)
            if len(results) == 1:
                out += session.types.pieces(results[0])
            else:
                out += ("tuple", "[")
                for at, type_ in enumerate(results):
                    if at:
                        out.append(", ")
                    out += session.types.pieces(type_)
                out.append("]")
            out.append(SOFT_CLOSE)
        return out

    def _attributes(self, attrs: dict[str, AttrValue]) -> Pieces:
        session = self.session
        out: Pieces = [f"{session.prefix}.func_attr", "(", "{"]
        for at, (key, value) in enumerate(attrs.items()):
            if at:
                out.append(", ")
            out += (quoted(key), ": ")
            if key == "split" and type(value) is int and value in (SplitMode.UP_DOWN, SplitMode.LEFT_RIGHT):
                out.append(f"{session.prefix}.SplitMode.{SplitMode(value).name}")
            else:
                session.values.emit(value, out)
        out += ("}", ")")
        return out
