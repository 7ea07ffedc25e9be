"""Folding of expressions and types with what is known at a point of the function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pypto.diagnostics import Error, InvalidValueError
from pypto.ir.arith import Analyzer, ConstIntBound, ModularSet, RewriteSimplifier
from pypto.ir.arith.const_int_bound import EVERYTHING
from pypto.ir.dtypes import DataType
from pypto.ir.expr import (
    BinaryExpr,
    Call,
    ConstBool,
    ConstFloat,
    ConstInt,
    Expr,
    MakeTuple,
    MemRef,
    Submit,
    TupleGetItemExpr,
    UnaryExpr,
    Var,
    WindowBuffer,
)
from pypto.ir.op import DeclaredOp
from pypto.ir.type_parts import change_all, is_closed, map_type
from pypto.ir.types import ScalarType, Type

CONSTANTS = (ConstInt, ConstFloat, ConstBool)


class Folder:
    """Folds expressions of one function. ``put`` says what stands for a variable from then on."""

    def __init__(self) -> None:
        self.analyzer = Analyzer()
        self._rewrite = self.analyzer.rewrite_simplify
        self._rewrite.leaf = self._leaf
        # types are folded without bounds and conditions, so that one type is the same type everywhere
        self._plain = RewriteSimplifier()
        self._plain.leaf = self._plain_leaf
        self._put: dict[Var, Expr] = {}

    # -- what is known ----------------------------------------------------------------------------------------------

    def put(self, var: Var, expr: Expr) -> None:
        """Replace a variable by an expression from now on."""
        self._put[var] = expr
        self._rewrite.forget()
        self._plain.forget()

    def replacement(self, var: Var) -> Expr:
        """What stands for a variable, itself when nothing does."""
        return self._put.get(var, var)

    def know_nothing(self, var: Var) -> None:
        """A local INDEX variable may be negative; only parameters and dimensions are known not to be."""
        if var.type is ScalarType(DataType.INDEX):
            everything = ConstIntBound(*EVERYTHING)
            self.analyzer.const_int_bound.update(var, everything)
            self._plain.bounds.update(var, everything)

    def know_value(self, var: Var, value: Expr) -> None:
        """Take over the bounds and residue of the value that a variable is assigned."""
        bound = self.analyzer.const_int_bound(value)
        if not bound.is_everything() or var.type is ScalarType(DataType.INDEX):
            self.analyzer.const_int_bound.update(var, bound)
        residue = self.analyzer.modular_set(value)
        if not residue.is_everything():
            self.analyzer.modular_set.update(var, ModularSet(residue.coeff, residue.base))

    # -- expressions ------------------------------------------------------------------------------------------------

    def expr(self, expr: Expr) -> Expr:
        """The folded expression; the same object when nothing changes."""
        if isinstance(expr, BinaryExpr | UnaryExpr):
            return self.analyzer.simplify(expr)
        return self._leaf(expr)

    def exprs(self, exprs: Sequence[Expr]) -> Sequence[Expr]:
        """Each expression folded; the same list when nothing changes."""
        return change_all(exprs, self.expr)

    def _leaf(self, expr: Expr) -> Expr:
        if isinstance(expr, Var):
            return self._put.get(expr, expr)
        if isinstance(expr, CONSTANTS):
            return expr
        if isinstance(expr, Call):
            return self._call(expr)
        if isinstance(expr, MakeTuple):
            elements = self.exprs(expr.elements)
            return expr if elements is expr.elements else MakeTuple(elements, expr.span)
        if isinstance(expr, TupleGetItemExpr):
            source = self.expr(expr.tuple)
            type_ = self.type(expr.type)
            if source is expr.tuple and type_ is expr.type:
                return expr
            if isinstance(source, MakeTuple):
                return source.elements[expr.index]
            return expr.replace(tuple=source, type=type_)
        if isinstance(expr, Submit):
            return self._submit(expr)
        return expr

    def _plain_leaf(self, expr: Expr) -> Expr:
        return self._put.get(expr, expr) if isinstance(expr, Var) else expr

    def attrs(self, attrs: Mapping[str, Any]) -> Mapping[str, Any]:
        """Attributes with the expressions inside folded; where a list needs variables, variables stay."""
        changed: dict[str, Any] | None = None
        for key, value in attrs.items():
            new: Any = value
            if isinstance(value, Expr):
                new = self.expr(value)
            elif isinstance(value, list) and value and isinstance(value[0], Var):
                new = change_all(value, self._variable)  # pyright: ignore[reportUnknownArgumentType]
            if new is not value:
                changed = dict(attrs) if changed is None else changed
                changed[key] = new
        return attrs if changed is None else changed

    def _variable(self, var: Any) -> Any:
        new = self._put.get(var, var)
        return new if isinstance(new, Var) else var

    def _submit(self, submit: Submit) -> Expr:
        changes: dict[str, Any] = {
            "args": self.exprs(submit.args),
            "deps": change_all(submit.deps, self._variable),
            "core_num": None if submit.core_num is None else self.expr(submit.core_num),
            "predicate": None if submit.predicate is None else self.expr(submit.predicate),
            "attrs": self.attrs(submit.attrs),
            "kwargs": self.attrs(submit.kwargs),
            "type": self.type(submit.type),
        }
        if all(new is getattr(submit, name) for name, new in changes.items()):
            return submit
        return submit.replace(**changes)

    def _call(self, call: Call) -> Expr:
        args = self.exprs(call.args)
        if isinstance(call.op, DeclaredOp) and call.op.relabels and _same_value(args[0].type, call.type):
            return args[0]
        attrs, kwargs, type_ = self.attrs(call.attrs), self.attrs(call.kwargs), self.type(call.type)
        if args is call.args and attrs is call.attrs and kwargs is call.kwargs and type_ is call.type:
            return call
        if isinstance(call.op, DeclaredOp) and not (is_closed(call.type) and is_closed(type_)):
            args, type_ = self._agreeing(call, args, kwargs, type_)
            if args is call.args and attrs is call.attrs and kwargs is call.kwargs and type_ is call.type:
                return call
        return call.replace(args=args, attrs=attrs, kwargs=kwargs, type=type_)

    def _agreeing(self, call: Call, args: Sequence[Expr], kwargs: Mapping[str, Any], type_: Type) -> tuple[Sequence[Expr], Type]:
        """Operands and type that go together: the type is the one that the operator gives for the operands, where it can be."""
        refused = 0
        for chosen in (args, change_all(call.args, self._plain_expr)):
            try:
                deduced = call.op.retyped(chosen, kwargs)
            except Error:
                refused += 1
                continue
            if deduced == call.type:
                return chosen, call.type
            if deduced == type_ or self.type(deduced) == type_:
                return chosen, type_ if deduced == type_ else deduced
        return (call.args, call.type) if refused == 2 and type_ is call.type else (args, type_)

    # -- types ------------------------------------------------------------------------------------------------------

    def type(self, type_: Type) -> Type:
        """The type with its extents folded; as it is where they would fold to what no type has, in code that never runs."""
        if is_closed(type_):
            return type_
        try:
            return map_type(type_, self._plain_expr)
        except InvalidValueError:
            return type_

    def _plain_expr(self, expr: Expr) -> Expr:
        if isinstance(expr, MemRef):
            return expr
        if isinstance(expr, WindowBuffer):
            return self._put.get(expr, expr)
        if isinstance(expr, BinaryExpr | UnaryExpr):
            return self._plain(expr)
        if isinstance(expr, MakeTuple):
            elements = change_all(expr.elements, self._plain_expr)
            return expr if elements is expr.elements else MakeTuple(elements, expr.span)
        return self._leaf(expr)

    def follow(self, own: Type, old: Type, new: Type) -> Type:
        """The new type of a variable of type ``own`` that takes a value whose type went from ``old`` to ``new``."""
        if is_closed(own):
            return own
        if own is old or own == old:
            return new
        return self.type(own)


def _same_value(source: Type, result: Type) -> bool:
    return source is result or (source == result and getattr(source, "memref", None) is getattr(result, "memref", None))


def same_kind(value: Expr, type_: Type) -> Expr | None:
    """A constant in the element type of the variable that it stands for; None when it has no value there."""
    if value.type is type_:
        return value
    if isinstance(value, ConstInt) and isinstance(type_, ScalarType) and type_.dtype in (DataType.INDEX, DataType.INT64):
        return ConstInt(value.value, type_.dtype, value.span)
    return None
