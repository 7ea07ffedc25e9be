"""TypeChecked: the types of definitions, conditions, bounds, yields, calls and results agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from pypto.diagnostics import Diagnostic, Error
from pypto.ir.dtypes import DataType
from pypto.ir.expr import Call, ConstInt, Expr, Submit, Var
from pypto.ir.function import Function, Program
from pypto.ir.op import DeclaredOp, find_op
from pypto.ir.span import Span
from pypto.ir.stmt import AssignStmt, ForStmt, IfStmt, ReturnStmt, Stmt, WhileStmt
from pypto.ir.types import (
    CommCtxType,
    DistributedTensorType,
    ScalarType,
    ShapedType,
    TensorType,
    TileType,
    TupleType,
    Type,
    UnknownType,
)
from pypto.ir.verify.report import Findings, TypeCheckErrorType
from pypto.ir.verify.walk import final_yield, held, nodes, statements

Mismatch = tuple[TypeCheckErrorType, str]
_CODES: dict[IntEnum, str] = {
    member: member.name.lower().replace("_", "-")
    if member.name.startswith(("TYPE", "IF", "FOR", "CONDITION"))
    else "type-" + member.name.lower().replace("_", "-")
    for member in TypeCheckErrorType
}


def verify_type_checked(program: Program) -> list[Diagnostic]:
    """Check every function; the codes are the names of :class:`TypeCheckErrorType` in kebab case."""
    found: list[Diagnostic] = []
    for function in program.functions.values():
        found += _Checker(program, function).run()
    return found


def mismatch(expected: Type, actual: Type, views: bool = True) -> Mismatch | None:
    """The first way in which a value of type ``actual`` does not fit ``expected``; None when it fits.

    Extents that are not constant fit each other. Views, windows and memory spaces count when both sides state them and ``views`` is set.
    """
    if expected is actual or isinstance(expected, UnknownType) or isinstance(actual, UnknownType):
        return None
    if not isinstance(actual, type(expected)):
        return TypeCheckErrorType.TYPE_KIND_MISMATCH, f"{_name(expected)} expected, got {_name(actual)}"
    if isinstance(expected, ScalarType):
        assert isinstance(actual, ScalarType)
        return _dtype(expected.dtype, actual.dtype)
    if isinstance(expected, TupleType):
        assert isinstance(actual, TupleType)
        if len(expected.types) != len(actual.types):
            text = f"{len(expected.types)} elements expected, got {len(actual.types)}"
            return TypeCheckErrorType.SIZE_MISMATCH, text
        for at, (want, have) in enumerate(zip(expected.types, actual.types, strict=True)):
            found = mismatch(want, have, views)
            if found is not None:
                return found[0], f"element {at}: {found[1]}"
        return None
    if isinstance(expected, ShapedType):
        assert isinstance(actual, ShapedType)
        return _shaped(expected, actual, views)
    return None


def _dtype(expected: DataType, actual: DataType) -> Mismatch | None:
    wide = (DataType.INDEX, DataType.INT64)
    if expected is actual or (expected in wide and actual in wide):
        return None
    return TypeCheckErrorType.DTYPE_MISMATCH, f"element type {expected.name} expected, got {actual.name}"


def _shaped(expected: ShapedType, actual: ShapedType, views: bool) -> Mismatch | None:
    if expected.dtype is not actual.dtype:
        return _dtype(expected.dtype, actual.dtype) or (
            TypeCheckErrorType.DTYPE_MISMATCH,
            f"element type {expected.dtype.name} expected, got {actual.dtype.name}",
        )
    if len(expected.shape) != len(actual.shape):
        text = f"rank {len(expected.shape)} expected, got {len(actual.shape)}"
        return TypeCheckErrorType.SHAPE_DIMENSION_MISMATCH, text
    wrong = _extents(expected.shape, actual.shape)
    if wrong is not None:
        return TypeCheckErrorType.SHAPE_VALUE_MISMATCH, f"extent of axis {wrong}"
    if not views:
        return None
    if isinstance(expected, TileType):
        assert isinstance(actual, TileType)
        return _tile_views(expected, actual)
    if isinstance(expected, TensorType):
        assert isinstance(actual, TensorType)
        return _tensor_views(expected, actual)
    return None


def _extents(expected: Sequence[Expr], actual: Sequence[Expr]) -> str | None:
    for at, (want, have) in enumerate(zip(expected, actual, strict=True)):
        if isinstance(want, ConstInt) and isinstance(have, ConstInt) and want.value != have.value:
            return f"{at} must be {want.value}, got {have.value}"
    return None


def _tile_views(expected: TileType, actual: TileType) -> Mismatch | None:
    error = TypeCheckErrorType.TILE_VIEW_MISMATCH
    spaces = expected.memory_space, actual.memory_space
    if None in spaces:
        return None
    if spaces[0] is not spaces[1]:
        return error, f"memory space {spaces[0]} expected, got {spaces[1]}"
    if expected.tile_view is None and actual.tile_view is None:
        return None
    want, have = expected.get_effective_tile_view(), actual.get_effective_tile_view()
    for name in ("blayout", "slayout", "fractal", "pad", "compact"):
        if getattr(want, name) != getattr(have, name):
            return error, f"{name} {getattr(want, name)} expected, got {getattr(have, name)}"
    if len(want.valid_shape) == len(have.valid_shape):
        wrong = _extents(want.valid_shape, have.valid_shape)
        if wrong is not None:
            return error, f"valid extent of axis {wrong}"
    return None


def _tensor_views(expected: TensorType, actual: TensorType) -> Mismatch | None:
    if isinstance(expected, DistributedTensorType):
        want, have = expected.window_buffer, actual.window_buffer
        if want is not None and have is not None and want is not have and want.base is not have.base:
            text = f"a view of window {want.name_hint!r} expected, got one of {have.name_hint!r}"
            return TypeCheckErrorType.DISTRIBUTED_WINDOW_IDENTITY_MISMATCH, text
    first, second = expected.tensor_view, actual.tensor_view
    if first is None or second is None:
        return None
    if first.pad is not second.pad:
        text = f"padding {first.pad.name} expected, got {second.pad.name}"
        return TypeCheckErrorType.TENSOR_PADDING_MISMATCH, text
    if first.layout is not second.layout:
        text = f"layout {first.layout.name} expected, got {second.layout.name}"
        return TypeCheckErrorType.TYPE_KIND_MISMATCH, text
    wrong = _extents(expected.valid_shape, actual.valid_shape)
    return None if wrong is None else (TypeCheckErrorType.SHAPE_VALUE_MISMATCH, f"valid extent of axis {wrong}")


def _name(type_: Type) -> str:
    names: list[tuple[type[Type], str]] = [
        (ScalarType, "a scalar"),
        (TileType, "a tile"),
        (DistributedTensorType, "a distributed tensor"),
        (TensorType, "a tensor"),
        (TupleType, "a tuple"),
    ]
    return next((name for kind, name in names if isinstance(type_, kind)), type(type_).__name__)


class _Checker:
    def __init__(self, program: Program, function: Function) -> None:
        self.program = program
        self.function = function
        self.findings = Findings("TypeChecked", function)

    def run(self) -> list[Diagnostic]:
        """All findings in order of the statements."""
        checks: dict[type[Stmt], Callable[[_Checker, Stmt], None]] = {
            AssignStmt: _Checker.assign,
            IfStmt: _Checker.branch,
            ForStmt: _Checker.counted_loop,
            WhileStmt: _Checker.while_loop,
            ReturnStmt: _Checker.returned,
        }
        for stmt in statements(self.function.body):
            for node in nodes(held(stmt)):
                if isinstance(node, Call | Submit):
                    self.call(node, stmt.span)
            check = checks.get(type(stmt))
            if check is not None:
                check(self, stmt)
        return self.findings.items

    def report(self, error: TypeCheckErrorType, message: str, span: Span) -> None:
        self.findings.add(_CODES[error], message, span, error)

    def agree(self, expected: Type, actual: Type, what: str, span: Span, views: bool = True) -> None:
        found = mismatch(expected, actual, views)
        if found is not None:
            self.report(found[0], f"{what}: {found[1]}", span)

    def assign(self, stmt: Stmt) -> None:
        assert isinstance(stmt, AssignStmt)
        if stmt.var.type is not stmt.value.type:
            self.agree(stmt.var.type, stmt.value.type, f"{stmt.var.name_hint!r} is assigned another type", stmt.span)

    def condition(self, condition: Expr, what: str, span: Span) -> None:
        type_ = condition.type
        if isinstance(type_, UnknownType):
            return
        if not isinstance(type_, ScalarType):
            message = f"the condition of {what} must be a scalar, got {_name(type_)}"
            self.report(TypeCheckErrorType.IF_CONDITION_MUST_BE_SCALAR, message, span)
        elif type_.dtype is not DataType.BOOL:
            message = f"the condition of {what} must be BOOL, got {type_.dtype.name}"
            self.report(TypeCheckErrorType.CONDITION_MUST_BE_BOOL, message, span)

    def branch(self, stmt: Stmt) -> None:
        assert isinstance(stmt, IfStmt)
        self.condition(stmt.condition, "a branch", stmt.span)
        bodies = [("then", stmt.then_body), ("else", stmt.else_body)]
        for name, body in bodies:
            if body is not None:
                self.yields(body, stmt.return_vars, f"the {name} branch", stmt.span)

    def counted_loop(self, stmt: Stmt) -> None:
        assert isinstance(stmt, ForStmt)
        for name, bound in (("start", stmt.start), ("stop", stmt.stop), ("step", stmt.step)):
            type_ = bound.type
            if isinstance(type_, UnknownType):
                continue
            if not isinstance(type_, ScalarType) or not type_.dtype.is_int():
                got = type_.dtype.name if isinstance(type_, ScalarType) else _name(type_)
                message = f"the {name} of a loop must be an integer scalar, got {got}"
                self.report(TypeCheckErrorType.FOR_RANGE_MUST_BE_SCALAR, message, stmt.span)
        if not (isinstance(stmt.loop_var.type, ScalarType) and stmt.loop_var.type.dtype.is_int()):
            message = f"the loop variable {stmt.loop_var.name_hint!r} must be an integer scalar"
            self.report(TypeCheckErrorType.FOR_RANGE_MUST_BE_SCALAR, message, stmt.span)
        self.carried(stmt)

    def while_loop(self, stmt: Stmt) -> None:
        assert isinstance(stmt, WhileStmt)
        self.condition(stmt.condition, "a while loop", stmt.span)
        self.carried(stmt)

    def carried(self, stmt: ForStmt | WhileStmt) -> None:
        for arg in stmt.iter_args:
            self.agree(arg.type, arg.initValue.type, f"the initial value of {arg.name_hint!r}", stmt.span)
        for arg, result in zip(stmt.iter_args, stmt.return_vars, strict=False):
            self.agree(arg.type, result.type, f"the loop result {result.name_hint!r}", stmt.span)
        self.yields(stmt.body, stmt.iter_args, "the loop body", stmt.span)

    def yields(self, body: Stmt, targets: Sequence[Var], name: str, span: Span) -> None:
        last = final_yield(body)
        if last is None:
            return
        place = last.span if last.span.is_valid() else span
        if len(last.value) != len(targets):
            message = f"{name} yields {len(last.value)} values where {len(targets)} are expected"
            self.report(TypeCheckErrorType.SIZE_MISMATCH, message, place)
        for value, target in zip(last.value, targets, strict=False):
            self.agree(target.type, value.type, f"{name} yields another type for {target.name_hint!r}", place)

    def returned(self, stmt: Stmt) -> None:
        assert isinstance(stmt, ReturnStmt)
        expected = self.function.return_types
        if not expected or not stmt.value:
            return
        if len(expected) != len(stmt.value):
            message = f"{len(stmt.value)} values are returned, {self.function.name!r} declares {len(expected)}"
            self.report(TypeCheckErrorType.SIZE_MISMATCH, message, stmt.span)
            return
        for at, (want, value) in enumerate(zip(expected, stmt.value, strict=True)):
            self.agree(want, value.type, f"returned value {at}", stmt.span, views=False)

    def call(self, call: Call | Submit, span: Span) -> None:
        span = call.span if call.span.is_valid() else span
        if call.op.is_function:
            self.function_call(call, span)
            return
        op = call.op if isinstance(call.op, DeclaredOp) else find_op(call.op.name)
        if op is None:
            return
        try:
            expected = op.retyped(call.args, call.kwargs)
        except Error as error:
            self.findings.add(
                "type-operands", f"{call.op.name}: {error.message}", span, TypeCheckErrorType.TYPE_KIND_MISMATCH, error.hint
            )
            return
        if expected is not call.type and not any(form == call.type for form in op.other_results(expected)):
            self.agree(expected, call.type, f"the type of a call of {call.op.name}", span)

    def function_call(self, call: Call | Submit, span: Span) -> None:
        callee = self.program.get_function(call.op.name)
        if callee is None:
            message = f"the program has no function {call.op.name!r}"
            self.findings.add("type-unknown-function", message, span, TypeCheckErrorType.TYPE_KIND_MISMATCH)
            return
        wanted, given = len(callee.params), len(call.args)
        if given > wanted or (given < wanted and isinstance(call, Call)):
            message = f"{call.op.name!r} takes {wanted} arguments, got {given}"
            self.report(TypeCheckErrorType.SIZE_MISMATCH, message, span)
            return
        params, args = callee.params, call.args
        if given < wanted:  # what a launch leaves out stands before the communication contexts
            contexts = sum(isinstance(arg.type, CommCtxType) for arg in args)
            params = [*params[: given - contexts], *params[wanted - contexts :]]
        for param, arg in zip(params, args, strict=False):
            self.agree(param.type, arg.type, f"argument {param.name_hint!r} of {call.op.name!r}", span, views=False)
