"""One printing: its options, the names in force, and the writers of each kind of thing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto.ir.dtypes import DataType
from pypto.ir.equality import comment_lines
from pypto.ir.expr import Call, Expr, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import Node
from pypto.ir.types import ScalarType, TupleType, Type, UnknownType
from pypto.ir.utilities import deduce_call_return_type
from pypto.printer.calls import Calls, deduced_type
from pypto.printer.expressions import Expressions
from pypto.printer.layout import INDENT, lay_out, width_of
from pypto.printer.names import Names, ProgramNames, identifier
from pypto.printer.pieces import join_pieces
from pypto.printer.plain import Plain
from pypto.printer.types import Types
from pypto.printer.values import Values


class Session:
    """What the writers share while one text is made."""

    def __init__(
        self,
        root: Node | Type,
        *,
        prefix: str = "pl",
        concise: bool = False,
        format: bool = True,
        explicit_layout: bool = False,
        line_length: int = 200,
        sugar: bool = True,
    ) -> None:
        self.prefix = prefix
        self.concise = concise
        self.format = format
        self.explicit_layout = explicit_layout
        self.line_length = line_length
        self.sugar = sugar
        self.program = root if isinstance(root, Program) else None
        self.standalone = self.program is None
        self.exact = isinstance(root, Program | Function)
        self.all_names = ProgramNames(root, prefix)
        self.names = Names()
        self.visible: Mapping[Var, None] = {}
        self._known_types: dict[object, Type | None] = {}
        self.lines: list[str] = []
        self.plain = Plain(self)
        self.types = Types(self)
        self.calls = Calls(self)
        self.values = Values(self)
        self.expressions = Expressions(self)

    # -- lines -----------------------------------------------------------------------------------------------------------

    def line(self, pieces: Sequence[str], depth: int) -> None:
        """Add a statement, or the head of one; it is broken when it does not fit and formatting is asked for."""
        text = INDENT * depth + join_pieces(pieces)
        limit = self.line_length
        if not self.format or (len(text) <= limit if text.isascii() else width_of(text) <= limit):
            self.lines.append(text)
        else:
            self.lines += lay_out(pieces, depth, limit)

    def comments(self, texts: Sequence[str], depth: int) -> None:
        """Add comment lines."""
        margin = INDENT * depth
        self.lines += [f"{margin}# {line}".rstrip() for line in comment_lines(texts)]

    # -- names -----------------------------------------------------------------------------------------------------------

    def quoted_name(self, base: Var) -> str:
        """The name of an allocation where it stands in quotes."""
        return self.names.get(base) or identifier(base.name_hint)

    def is_visible(self, base: Var) -> bool:
        """True when an allocation is defined in the body that is being printed, so that its bare name means it."""
        return base in self.visible

    # -- types of calls --------------------------------------------------------------------------------------------------

    def implied_type(self, call: Call | Submit) -> Type | None:
        """The type that a reader gives a call or launch for which the text states none; None when it would refuse the call."""
        if not self.exact:
            return call.type
        if not call.op.is_function:
            return self.deduced(call) if isinstance(call, Call) else None
        callee = None if self.program is None else self.program.get_function(call.op.name)
        types: Sequence[Type] = ()
        if callee is not None and callee.return_types:
            types = deduce_call_return_type(callee.params, call.args, callee.return_types)
        if isinstance(call, Submit):
            task = ScalarType(DataType.TASK_ID)
            return TupleType([*types, task]) if types else task
        return result_type(types)

    def deduced(self, call: Call) -> Type | None:
        """What the operator's rule gives, remembered for calls of the same operands but for variables of one type."""
        args = call.args
        key: object
        if len(args) == 2 and not call.kwargs:
            one, two = args
            key = (call.op, id(one.type if type(one) is Var else one), id(two.type if type(two) is Var else two))
        else:
            key = (call.op, *[id(a.type if type(a) is Var else a) for a in args], *call.kwargs.items())
        try:
            return self._known_types[key]
        except KeyError:
            found = self._known_types[key] = deduced_type(call)
            return found
        except TypeError:  # a list among the keywords
            return deduced_type(call)

    def predicate(self, node: Expr, out: list[str]) -> None:
        """Append a condition in brackets."""
        out.append("(")
        self.expressions.emit(node, out)
        out.append(")")


def result_type(types: Sequence[Type]) -> Type:
    """The type of a call of a function with these results."""
    if not types:
        return UnknownType()
    return types[0] if len(types) == 1 else TupleType(types)
