"""Calls as text: of functions of the program, of operators, and launches of tasks.

How an operator's call is spelled follows from its declaration: which operands stand in front, which are named, which keywords show the
member of an enumeration. A call that reading the short spelling would not build again - a keyword that is missing although it is always
stored, a constant that would change its type - is written out in the plain form.
"""

from __future__ import annotations

import keyword
from collections.abc import Mapping
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from pypto.diagnostics import Error
from pypto.ir.agreement import can_state, disagreement
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CastMode
from pypto.ir.expr import Call, ConstBool, ConstFloat, ConstInt, Expr, IterArg, Submit, Var
from pypto.ir.op import Op, find_op
from pypto.ir.types import ScalarType, ShapedType, Type
from pypto.ops.builtin import dispatch_fault
from pypto.ops.declare import MISSING, Declaration, Kind, Param, converted, public_name
from pypto.ops.syntax import DEPENDENCIES, DUMPED, WaitingOp
from pypto.printer.pieces import quoted
from pypto.printer.scalars import float_text, signed

if TYPE_CHECKING:
    from pypto.printer.session import Session

Pieces = list[str]


class Spelling:
    """What the printer needs of an operator: the text before the bracket, and how its parameters are written.

    ``plain`` operators have only operands that stand in front and are taken as they are, so nothing needs to be checked.
    """

    __slots__ = ("declaration", "front", "head", "keywords", "named", "plain")

    def __init__(self, name: str, prefix: str) -> None:
        found = find_op(name)
        self.declaration = found if isinstance(found, Declaration) else None
        self.head = self._head(name, prefix)
        self.front: tuple[Param, ...] = ()
        self.named: tuple[Param, ...] = ()
        self.plain = self.declaration is None
        if self.declaration is not None:
            params = self.declaration.params
            count = 0
            while (
                count < len(params) and params[count].is_operand and not (params[count].by_keyword or params[count].keyword_only)
            ):
                count += 1
            self.front = params[:count]
            self.named = params[count:]
            self.plain = not self.named and all(_is_simple(p) for p in params)

    def _head(self, name: str, prefix: str) -> str:
        if self.declaration is not None:
            text = public_name(self.declaration)
            return f"{prefix}{text[2:]}" if text.startswith("pl.") else text
        name = ".".join(f"{part}_" if keyword.iskeyword(part) else part for part in name.split("."))
        if "." not in name or name.startswith("pld."):
            return name
        return f"{prefix}.{name}"


def _is_simple(param: Param) -> bool:
    return (
        param.default is MISSING
        and param.same_as is None
        and param.stamp is None
        and param.enum is None
        and param.kind is not Kind.SHAPED_OR_SCALAR
    )


class Calls:
    """Writes calls."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._spellings: dict[str, Spelling] = {}
        self.target: str | None = None
        """The name that the call about to be written is assigned to."""

    def spelling(self, name: str) -> Spelling:
        """How the operator of that name is written."""
        known = self._spellings.get(name)
        if known is None:
            known = self._spellings[name] = Spelling(name, self.session.prefix)
        return known

    def call(self, call: Call, out: Pieces, given: Type | None = None) -> None:
        """Append a call. ``given`` is the type that the text states for it (the annotation of its target), if any."""
        target, self.target = self.target, None
        if not self._type_reads_back(call, given):
            self.session.plain.call(call, out)
        elif call.op.is_function:
            self.function_call(call, out)
        elif self.session.exact and self.spelling(call.op.name).declaration is None:
            self.session.plain.call(call, out)
        else:
            self.operator_call(call, out, target)

    def _type_reads_back(self, call: Call, given: Type | None) -> bool:
        type_ = call.type
        if given is not None and not (type_ is given or type_ == given):
            return False
        session = self.session
        if not session.exact:
            return True
        implied = session.implied_type(call) if call.op.is_function else session.deduced(call)
        if type_ is implied:
            return True
        if implied is None:
            return False
        if given is None:
            return type_ == implied
        return can_state(implied, given) or self._is_other_result(call, implied, given)

    def _is_other_result(self, call: Call, implied: Type, given: Type) -> bool:
        """True when reading takes the annotation for another form of the operator's result."""
        op = call.op
        if not (isinstance(op, Declaration) and isinstance(implied, ShapedType) and isinstance(given, ShapedType)):
            return False
        return len(implied.shape) != len(given.shape) and any(
            disagreement(form, given) is None for form in op.other_results(implied)
        )

    # -- functions -------------------------------------------------------------------------------------------------------

    def callee(self, op: Op) -> str:
        """The text of a callee: a method of the program, or a bare name in a function that stands alone."""
        return op.name if self.session.standalone else f"self.{op.name}"

    def function_call(self, call: Call, out: Pieces) -> None:
        """Append ``self.f(a, b, device=d, attrs={...}, kwargs={...})``."""
        out += (self.callee(call.op), "(")
        self.session.expressions.items(call.args, out)
        named = _Named(out, bool(call.args))
        attrs = dict(call.attrs)
        device = attrs.get("device")
        if isinstance(device, Expr):
            del attrs["device"]
            self.session.expressions.emit(device, named.add("device"))
        self._mappings(named, _ordered(attrs), call.kwargs)
        out.append(")")

    def _mappings(self, named: _Named, attrs: Mapping[str, AttrValue], kwargs: Mapping[str, AttrValue]) -> None:
        if attrs:
            self.session.values.mapping(attrs, named.add("attrs"))
        if kwargs:
            self.session.values.mapping(kwargs, named.add("kwargs"))

    def submit(self, node: Submit, out: Pieces) -> None:
        """Append the launch of a task."""
        session = self.session
        out += (f"{session.prefix}.{'submit' if node.core_num is None else 'spmd_submit'}", "(", self.callee(node.op))
        for arg in node.args:
            out.append(", ")
            session.expressions.emit(arg, out)
        named = _Named(out, True)
        attrs = dict(node.attrs)
        if node.deps:
            deps = named.add("deps")
            deps.append("[")
            session.expressions.items(node.deps, deps)
            deps.append("]")
        if isinstance(attrs.get(DUMPED), list):
            session.values.emit(attrs.pop(DUMPED), named.add("dumps"))
        if node.core_num is not None:
            session.expressions.emit(node.core_num, named.add("core_num"))
        if node.sync_start:
            named.add("sync_start").append("True")
        if node.allow_early_resolve:
            named.add("allow_early_resolve").append("True")
        if node.predicate is not None:
            session.predicate(node.predicate, named.add("predicate"))
        self._mappings(named, _ordered(attrs), node.kwargs)
        implied = session.implied_type(node)
        if implied is None or not (node.type is implied or node.type == implied):
            session.types.emit(node.type, named.add("type"))
        out.append(")")

    # -- operators -------------------------------------------------------------------------------------------------------

    def operator_call(self, call: Call, out: Pieces, target: str | None = None) -> None:
        """Append ``pl.tile.add(a, b)`` with the keywords that the operator stores; ``target`` is the name that it is assigned to."""
        spelling = self.spelling(call.op.name)
        kwargs = call.kwargs
        if spelling.plain and not kwargs and not call.attrs:
            out += (spelling.head, "(")
            names = self.session.names
            first = True
            for arg in call.args:
                if first:
                    first = False
                else:
                    out.append(", ")
                kind = type(arg)
                if kind is Var or kind is IterArg:
                    out.append(names[arg])  # pyright: ignore[reportArgumentType]
                else:
                    self.session.expressions.emit(arg, out)
            out.append(")")
            return
        declaration = spelling.declaration
        if declaration is not None and not (binds_back(declaration, call) and _is_whole(declaration, call)):
            self.session.plain.call(call, out)
            return
        head = spelling.head
        if declaration is not None and declaration.implied_forms:
            head, kwargs = self._implied(spelling, declaration, kwargs)
            call = call if kwargs is call.kwargs else call.replace(kwargs=kwargs)
        attrs = call.attrs
        out += (head, "(")
        if declaration is None:
            self.session.expressions.items(call.args, out)
            named = _Named(out, bool(call.args))
            for key, value in kwargs.items():
                self.session.values.emit(value, named.add(key))
        else:
            named = self._declared(spelling, call, out, target)
            tasks = declaration.waits_for(call) if isinstance(declaration, WaitingOp) else None
            if isinstance(declaration, WaitingOp) and tasks is not None:
                self.session.values.emit([*tasks], named.add("deps"))
                attrs = {key: value for key, value in attrs.items() if key not in (DEPENDENCIES, declaration.mark)}
        if attrs:
            self.session.values.mapping(attrs, named.add("attrs"))
        out.append(")")

    def _implied(
        self, spelling: Spelling, declaration: Declaration, kwargs: Mapping[str, AttrValue]
    ) -> tuple[str, Mapping[str, AttrValue]]:
        """The spelling that implies keywords of the call, and the keywords left to write."""
        for leaf, implied in declaration.implied_forms.items():
            if all(key in kwargs and kwargs[key] == value for key, value in implied.items()):
                head = f"{spelling.head.rpartition('.')[0]}.{leaf}"
                return head, {key: value for key, value in kwargs.items() if key not in implied}
        return spelling.head, kwargs

    def _declared(self, spelling: Spelling, call: Call, out: Pieces, target: str | None) -> _Named:
        args = call.args
        front = min(len(spelling.front), len(args))
        for at in range(front):
            if at:
                out.append(", ")
            self._operand(spelling, spelling.front[at], args[at], call.kwargs, out)
        named = _Named(out, front > 0)
        at = front
        for param in spelling.named:
            if param.is_operand:
                if at < len(args):
                    self._operand(spelling, param, args[at], call.kwargs, named.add(param.name))
                    at += 1
            elif param.name in call.kwargs:
                if param.from_target and call.kwargs[param.name] == target:
                    continue
                self._keyword(param, call.kwargs[param.name], named.add(param.name))
        for key, value in call.kwargs.items():
            if spelling.declaration is not None and key not in spelling.declaration.keyword_params:
                self.session.values.emit(value, named.add(key))
        return named

    def _operand(self, spelling: Spelling, param: Param, arg: Expr, kwargs: Mapping[str, AttrValue], out: Pieces) -> None:
        sugar = self.session.sugar
        if sugar and param.enum is not None and type(arg) is ConstInt and arg.dtype is DataType.INDEX:
            member = next((m for m in param.enum if m.value == arg.value), None)
            if member is not None:
                name = "Mem" if param.enum.__name__ == "MemorySpace" else param.enum.__name__
                out.append(f"{self.session.prefix}.{name}.{member.name}")
                return
        if sugar and param.stamp is not None and spelling.declaration is not None:
            wanted = spelling.declaration.stamped_dtype(param, kwargs)
            text = None if wanted is None else _stamped_text(arg, wanted)
            if text is not None:
                out += signed(text)
                return
        self.session.expressions.emit(arg, out)

    def _keyword(self, param: Param, value: AttrValue, out: Pieces) -> None:
        if self.session.sugar and type(value) is int:
            if param.kind is Kind.CAST_MODE and 0 <= value < len(CastMode):
                out.append(quoted(CastMode(value).name))
                return
            enum = param.enum
            if not param.shown_as_number and enum is not None and issubclass(enum, IntEnum) and value in [m.value for m in enum]:
                out.append(f"{self.session.prefix}.{enum.__name__}.{enum(value).name}")
                return
        self.session.values.emit(value, out)


class _Named:
    """The named arguments of a call, written one by one after the positional ones."""

    __slots__ = ("any", "out")

    def __init__(self, out: Pieces, any_before: bool) -> None:
        self.out = out
        self.any = any_before

    def add(self, name: str) -> Pieces:
        """Start one; its value is appended to the returned list."""
        if self.any:
            self.out.append(", ")
        self.any = True
        self.out += (name, "=")
        return self.out


_FIRST = (DUMPED, "arg_directions")


def _ordered(attrs: Mapping[str, AttrValue]) -> Mapping[str, AttrValue]:
    """The attributes of a function call: what is dumped, the directions, then all others as they are stored."""
    first = {key: attrs[key] for key in _FIRST if key in attrs}
    return {**first, **{key: value for key, value in attrs.items() if key not in first}}


def _stamped_text(arg: Expr, wanted: DataType) -> str | None:
    """The bare number that is read as ``arg`` where a scalar of type ``wanted`` is asked for, None when there is none."""
    if isinstance(arg, ConstBool):
        return str(arg.value) if wanted is DataType.BOOL else None
    if isinstance(arg, ConstFloat) and arg.dtype is wanted and wanted.is_float():
        return float_text(arg.value)
    if isinstance(arg, ConstInt) and arg.dtype is wanted and wanted.is_int():
        return str(arg.value)
    return None


def _is_whole(declaration: Declaration, call: Call) -> bool:
    """False for the dispatch of a collective that lacks what its spelling must have."""
    return declaration.carries_out is None or dispatch_fault(call) is None


def binds_back(declaration: Declaration, call: Call) -> bool:
    """True when reading the operator's ordinary spelling builds a call with these very operands and keywords."""
    args, kwargs = call.args, call.kwargs
    for param in declaration.keyword_params.values():
        value = kwargs.get(param.name, MISSING)
        if value is MISSING:
            if param.default is MISSING or (param.stored and param.default is not None):
                return False
        elif not param.stored and param.default is not MISSING and _is_default(param, value):
            return False
    if not declaration.min_operands <= len(args) <= declaration.max_operands:
        return False
    operands = declaration.params_of(len(args))
    if len(operands) < len(declaration.operand_params):
        for param in declaration.operand_params:
            if param not in operands and param.default is not None:
                return False
    for at, arg in enumerate(args):
        param = operands[at]
        if not isinstance(arg.type, ScalarType):
            continue
        if param.kind is Kind.SHAPED_OR_SCALAR and declaration.scalar_variant:
            return False
        if param.cast is not None and converted(arg, param.cast) is not arg:
            return False
        if param.stamp is not None and not _stays(declaration, param, arg, call):
            return False
    return True


def _is_default(param: Param, value: AttrValue) -> bool:
    default = param.default
    if isinstance(default, IntEnum):
        default = int(default)
    return type(value) is type(default) and value == default


def _stays(declaration: Declaration, param: Param, arg: Expr, call: Call) -> bool:
    """Whether a scalar operand keeps its type when it is read beside the operand, or under the keyword, that names the type."""
    wanted = declaration.stamped_dtype(param, call.kwargs)
    if wanted is None and isinstance(param.stamp, str):
        names = [p.name for p in declaration.operand_params]
        paired: Any = call.args[names.index(param.stamp)].type if param.stamp in names[: len(call.args)] else None
        wanted = getattr(paired, "dtype", None)
        if wanted is not None and param.stamp_as is not None:
            wanted = param.stamp_as(wanted)
        if wanted is None:
            return True
        dtype: DataType = arg.type.dtype  # type: ignore[attr-defined]
        if isinstance(arg, ConstFloat) and dtype is DataType.FP32:
            return wanted is DataType.FP32 or not wanted.is_float()
        return dtype is not DataType.INDEX or wanted is DataType.INDEX
    if wanted is None or getattr(arg.type, "dtype", None) is wanted:
        return True
    return not (isinstance(arg, ConstInt) and arg.dtype is DataType.INDEX) and not (
        isinstance(arg, ConstFloat) and arg.dtype is DataType.FP32
    )


def deduced_type(call: Call) -> Type | None:
    """The result type that the operator's own rule gives, None when it refuses the call or there is no such operator."""
    op = call.op if isinstance(call.op, Declaration) else find_op(call.op.name)
    if op is None:
        return call.op.deduce_type(call.args, call.kwargs)
    if isinstance(op, Declaration) and op.scalar_variant is not None and op.has_scalar_form(call.args):
        return None
    try:
        return op.retyped(call.args, call.kwargs)
    except Error:
        return None


__all__ = ["Calls", "Spelling", "binds_back", "deduced_type"]
