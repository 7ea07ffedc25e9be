"""Callers of kernels that gained output parameters: they create the tensors and pass them, or hand on parameters of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pypto.ir.attrs import AttrValue
from pypto.ir.enums import ArgDirection, FunctionType, ParamDirection, TensorLayout
from pypto.ir.expr import Call, Expr, MakeTuple, Submit, Var
from pypto.ir.function import Function
from pypto.ir.op import create_internal_op_call, get_op
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, EvalStmt, ReturnStmt, Stmt
from pypto.ir.types import TensorType, TupleType, Type
from pypto.passes.convert_tensor_to_tile_ops.convert import AddedOutput
from pypto.passes.rewrite import named_bodies, rewrite_body, with_fields

WRAPPERS = frozenset((FunctionType.Group, FunctionType.Spmd))
"""Kinds of function that only forward to a kernel; they grow matching parameters instead of creating tensors."""


class CallSites:
    """Rewrites the calls in one function."""

    def __init__(self, function: Function, outputs: Mapping[str, Sequence[AddedOutput]]) -> None:
        self.function = function
        self.outputs = outputs
        self.forwards = function.func_type in WRAPPERS
        self.added: list[AddedOutput] = []
        self.params: list[Var] = []

    def run(self) -> Function:
        """The function with every call completed; the same object when it calls none of those kernels."""
        body = self.body(self.function.body)
        if body is self.function.body:
            return self.function
        directions = [*self.function.param_directions, *[ParamDirection.Out] * len(self.params)]
        return self.function.replace(body=body, params=[*self.function.params, *self.params], param_directions=directions)

    def body(self, body: Stmt) -> Stmt:
        """A body with its calls completed; the same object when it has none of those calls."""
        return rewrite_body(body, self.step)

    def step(self, stmt: Stmt) -> list[Stmt]:
        """One statement with its call completed, after what it needs before."""
        before: list[Stmt] = []
        if isinstance(stmt, AssignStmt):
            made = with_fields(stmt, value=self.call(stmt.value, before, stmt.span))
        elif isinstance(stmt, EvalStmt):
            made = with_fields(stmt, expr=self.call(stmt.expr, before, stmt.span))
        elif isinstance(stmt, ReturnStmt):
            made = with_fields(stmt, value=[self.call(v, before, stmt.span) for v in stmt.value])
        else:
            made = with_fields(stmt, **{name: self.body(inner) for name, inner in named_bodies(stmt)})
        return [*before, made]

    def call(self, value: Expr, before: list[Stmt], span: Span) -> Expr:
        """A call with the new arguments, when its callee gained outputs."""
        if not isinstance(value, Call | Submit) or not value.op.is_function:
            return value
        outputs = self.outputs.get(value.op.name)
        if not outputs:
            return value
        extra = [self.tensor_for(output, value, before, span) for output in outputs]
        attrs: dict[str, AttrValue] = dict(value.attrs)
        if value.arg_directions:
            attrs["arg_directions"] = [*value.arg_directions, *[ArgDirection.Output] * len(extra)]
        return value.replace(args=[*value.args, *extra], attrs=attrs or value.attrs)

    def tensor_for(self, output: AddedOutput, call: Call | Submit, before: list[Stmt], span: Span) -> Expr:
        """The tensor that receives one output."""
        type_ = _result_type(call.type, output)
        name = f"ret{output.result}__out"
        if self.forwards:
            param = Var(name, type_, Span.unknown())
            self.params.append(param)
            self.added.append(AddedOutput(output.result, type_))
            return param
        keywords: dict[str, AttrValue] = {"dtype": type_.dtype, "layout": TensorLayout.ND}
        created = create_internal_op_call(get_op("tensor.create"), [MakeTuple(type_.shape)], keywords, span)
        var = Var(name, created.type, span)
        before.append(AssignStmt(var, created, span))
        return var


def _result_type(type_: Type, output: AddedOutput) -> TensorType:
    if isinstance(type_, TupleType) and output.result < len(type_.types):
        type_ = type_.types[output.result]
    return type_ if isinstance(type_, TensorType) else output.type
