"""Simple statements: assignments, expressions, return, break and continue; and the refusal of what the language does not have."""

from __future__ import annotations

import ast
from typing import Any, cast

from pypto.ir.expr import Call, Expr, Submit, TupleGetItemExpr
from pypto.ir.stmt import BreakStmt, ContinueStmt, EvalStmt, ReturnStmt, YieldStmt
from pypto.ir.types import TupleType, UnknownType
from pypto.parser.conform import conform, retyped
from pypto.parser.errors import (
    InvalidOperationError,
    ParserError,
    ParserSyntaxError,
    ParserTypeError,
    UnsupportedFeatureError,
)
from pypto.parser.folding import path_of
from pypto.parser.parse_time import DIRECTIVES
from pypto.parser.reader import Reader, statement
from pypto.parser.scope import Block, Yielded
from pypto.parser.subscripts import assign_region
from pypto.parser.types import annotation_type, assignment_annotation
from pypto.parser.windows import note_allocation


@statement(ast.Assign)
def read_assign(reader: Reader, node: ast.Assign) -> None:
    """``x = e``, ``a, b = e``, ``dst[...] = src``."""
    if len(node.targets) != 1:
        raise reader.failure(
            ParserSyntaxError, "one assignment has one target", node.targets[1], hint="write one assignment for each name"
        )
    target = node.targets[0]
    value_node = node.value
    if is_yield(reader, value_node):
        read_yield(reader, node, _target_names(reader, target), None, cast("ast.Call", value_node))
        return
    if type(target) is ast.Name:
        reader.assigned = value_node, target.id
        value = reader.expression(value_node)
        _assign(reader, target, value, node)
    elif type(target) is ast.Tuple or type(target) is ast.List:
        unpack(reader, node, target, reader.expression(value_node))
    elif type(target) is ast.Subscript:
        assign_region(reader, node, target, value_node)
    else:
        what = "an attribute" if type(target) is ast.Attribute else "this"
        raise reader.failure(ParserSyntaxError, f"{what} cannot be assigned", target, hint="assign to a name")


def _assign(reader: Reader, target: ast.Name, value: Expr, node: Any) -> None:
    if reader.domains and isinstance(value, Call):
        var = reader.assign(target.id, value, target, reader.source.span(node))
        note_allocation(reader, reader.domains, target.id, var, value)
        return
    reader.assign(target.id, value, target, reader.source.span(node))


@statement(ast.AnnAssign)
def read_annotated_assign(reader: Reader, node: ast.AnnAssign) -> None:
    """``x: T = e``."""
    target = node.target
    value_node = node.value
    if type(target) is not ast.Name:
        raise reader.failure(ParserSyntaxError, "only a name can be annotated", target)
    if value_node is None:
        raise reader.failure(
            ParserSyntaxError, f"{target.id!r} is annotated but gets no value", node, hint="assign a value on the same line"
        )
    if is_yield(reader, value_node):
        read_yield(reader, node, [target], node.annotation, cast("ast.Call", value_node))
        return
    wanted = assignment_annotation(reader, node.annotation)
    reader.assigned = value_node, target.id
    value = reader.expression(value_node)
    if wanted is not None and wanted.type is not value.type:
        value = conform(reader, value, wanted, value_node, node)
    _assign(reader, target, value, node)


def _target_names(reader: Reader, target: Any) -> list[ast.Name]:
    items: list[Any] = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
    for item in items:
        if type(item) is not ast.Name:
            raise reader.failure(ParserSyntaxError, "the targets of pl.yield_ are names", item)
    return items


def unpack(reader: Reader, node: Any, target: ast.Tuple | ast.List, value: Expr) -> None:
    """``a, b = e`` with a tuple-typed value; ``(a, b), tid = pl.submit(...)`` for a kernel with several results."""
    type_ = value.type
    items: list[Any] = list(target.elts)
    if isinstance(value, Submit) and len(items) == 2 and isinstance(items[0], ast.Tuple | ast.List):
        items = [*items[0].elts, items[1]]
    for item in items:
        if type(item) is not ast.Name:
            raise reader.failure(ParserSyntaxError, "a tuple is unpacked into names", item, hint="unpack it step by step")
    if not isinstance(type_, TupleType):
        what = "a value whose type is not known" if isinstance(type_, UnknownType) else reader.type_text(type_)
        raise reader.failure(ParserTypeError, f"{what} cannot be unpacked", node.value)
    if len(items) != len(type_.types):
        raise reader.failure(ParserTypeError, f"{len(items)} names for a tuple of {len(type_.types)} values", target)
    span = reader.source.span(node)
    whole = reader.temporary("_tuple_tmp", value, span)
    made = [reader.assign(item.id, TupleGetItemExpr(whole, at, span), item, span) for at, item in enumerate(items)]
    for var in made:
        reader.makers.pop(var, None)
    if isinstance(value, Submit):
        reader.makers.update((var, made[-1]) for var in made[:-1])


# -- yields --------------------------------------------------------------------------------------------------------------


def is_yield(reader: Reader, node: Any) -> bool:
    """True for ``pl.yield_(...)``."""
    if type(node) is not ast.Call:
        return False
    func = node.func
    if type(func) is ast.Attribute:
        return func.attr == "yield_" and path_of(reader, func) == "yield_"
    return type(func) is ast.Name and reader.env.bare.get(func.id) == "yield_"


def _yield_block(reader: Reader) -> Block:
    block = reader.block
    while block.kind in ("runtime scope", "sequence") and block.parent is not None:
        block = block.parent
    return block


def read_yield(reader: Reader, node: Any, targets: list[ast.Name], annotation_node: Any, call: ast.Call) -> None:
    """``a = pl.yield_(v)`` at the end of a branch or loop body; without targets the values have no names."""
    values: list[Expr] = []
    for arg in call.args:
        values.append(reader.expression(arg))
    types: list[Any] = [None] * len(targets)
    for keyword in reader.keywords(call):
        if keyword.arg != "result_types" or type(keyword.value) is not ast.List:
            raise reader.failure(ParserSyntaxError, "pl.yield_ takes values only", keyword)
        types = [annotation_type(reader, item) for item in keyword.value.elts]
    block = _yield_block(reader)
    if block.kind not in ("branch", "loop", "plain loop"):
        if not (reader.source.printed and block.kind == "function"):
            raise reader.failure(
                ParserSyntaxError,
                "pl.yield_ ends a branch or a loop body",
                call,
                hint="use return for the results of a function" if block.kind == "function" else None,
            )
    if block.kind == "plain loop" and (values or targets) and not reader.source.printed:
        raise reader.failure(
            ParserSyntaxError,
            "this loop carries no values, so nothing can be yielded",
            call,
            hint="give the loop init_values=(...), or assign the name directly",
        )
    if targets and len(targets) != len(values):
        raise reader.failure(ParserSyntaxError, f"{len(targets)} names for {len(values)} yielded values", call)
    names = [target.id for target in targets]
    for at, name in enumerate(names):
        if name in names[:at]:
            raise reader.failure(ParserSyntaxError, f"{name!r} is the target of two yielded values", targets[at])
    if annotation_node is not None:
        wanted = assignment_annotation(reader, annotation_node)
        if wanted is not None:
            values[0] = conform(reader, values[0], wanted, call.args[0], node)
            types = [values[0].type if not reader.source.printed else wanted.type]
    block.yielded = Yielded(names, types, values, call)
    reader.emit(YieldStmt(values, reader.source.span(node)))


# -- other statements ------------------------------------------------------------------------------------------------------


@statement(ast.Expr)
def read_expression_statement(reader: Reader, node: ast.Expr) -> None:
    """A call for its effect, a bare ``pl.yield_()``, or a directive to the reader."""
    value_node = node.value
    if type(value_node) is not ast.Call:
        if type(value_node) is ast.Constant and value_node.value is Ellipsis:
            raise reader.failure(ParserSyntaxError, "... stands for the whole body of a function only", node, hint="write pass")
        if reader.source.printed:
            reader.emit(EvalStmt(reader.expression(value_node), reader.source.span(node)))
            return
        raise reader.failure(
            UnsupportedFeatureError, "an expression alone has no effect", node, hint="assign it to a name, or call an operator"
        )
    if is_yield(reader, value_node):
        if reader.block.kind == "loop" and value_node.args and not reader.source.printed:
            raise reader.failure(
                ParserSyntaxError,
                "the values that a loop carries on need names",
                value_node,
                hint="write name = pl.yield_(...)",
            )
        read_yield(reader, node, [], None, value_node)
        return
    path = path_of(reader, value_node.func)
    if path is not None:
        directive = DIRECTIVES.get(path)
        if directive is not None:
            directive(reader, value_node)
            return
    value = reader.expression(value_node)
    if isinstance(value, Submit) and not reader.source.printed:
        raise reader.failure(ParserSyntaxError, "a launched task needs a name", value_node, hint="out, tid = pl.submit(...)")
    reader.emit(EvalStmt(value, reader.source.span(node)))


@statement(ast.Return)
def read_return(reader: Reader, node: ast.Return) -> None:
    """``return``, ``return x``, ``return x, y``: the last statement of the function."""
    if reader.block.kind != "function" and not reader.source.printed:
        block: Block | None = reader.block
        while block is not None and block.kind.endswith("scope"):
            block = block.parent
        if block is not None and block.kind != "function":
            what = "an if" if block.kind == "branch" else "a loop"
            raise reader.failure(
                UnsupportedFeatureError,
                f"return inside {what} cannot be used: a function returns once, at its end",
                node,
                hint="assign the result in both branches, or name it with pl.yield_, and return it at the end",
            )
    value = node.value
    if value is None:
        values: list[Expr] = []
    elif type(value) is ast.Tuple:
        values = [reader.expression(item) for item in value.elts]
    else:
        values = [_returned(reader, reader.expression(value), value)]
    reader.emit(ReturnStmt(values, reader.source.span(node)))


def _returned(reader: Reader, value: Expr, node: Any) -> Expr:
    wanted = reader.result_types
    if isinstance(value, Call) and isinstance(value.type, UnknownType) and value.op.is_function and wanted:
        if len(wanted) == 1:
            return retyped(reader, value, wanted[0], node)
    return value


@statement(ast.Break, ast.Continue)
def read_jump(reader: Reader, node: ast.Break | ast.Continue) -> None:
    """``break`` and ``continue``."""
    word = "break" if type(node) is ast.Break else "continue"
    kind = reader.loops[-1] if reader.loops else None
    if kind is None:
        raise reader.failure(InvalidOperationError, f"{word} outside a loop", node)
    if kind in ("parallel", "unroll", "split_aiv", "spmd"):
        raise reader.failure(
            InvalidOperationError, f"{word} cannot leave a pl.{kind} loop", node, hint="use pl.range, or an if around the rest"
        )
    span = reader.source.span(node)
    reader.emit(BreakStmt(span) if word == "break" else ContinueStmt(span))


@statement(ast.Pass)
def read_pass(reader: Reader, node: ast.Pass) -> None:
    """``pass``: nothing."""


_REFUSED: dict[type, tuple[str, str | None]] = {
    ast.AugAssign: ("an augmented assignment", "write x = x + ..."),
    ast.FunctionDef: ("a nested function", "define it outside and decorate it"),
    ast.AsyncFunctionDef: ("a nested function", "define it outside and decorate it"),
    ast.ClassDef: ("a nested class", None),
    ast.Assert: ("assert", "use pl.static_assert for what is known while reading"),
    ast.Try: ("try", None),
    ast.Raise: ("raise", None),
    ast.Delete: ("del", None),
    ast.Import: ("an import", "import at the top of the file"),
    ast.ImportFrom: ("an import", "import at the top of the file"),
    ast.Global: ("global", None),
    ast.Nonlocal: ("nonlocal", None),
    ast.Match: ("match", "use if and elif"),
    ast.AsyncFor: ("async for", None),
    ast.AsyncWith: ("async with", None),
}
for _newer, _word in (("TryStar", "try"), ("TypeAlias", "a type alias")):
    # kinds of statement that later versions of Python have
    if hasattr(ast, _newer):
        _REFUSED[getattr(ast, _newer)] = (_word, None)


def refused(reader: Reader, node: ast.stmt) -> ParserError:
    """The refusal of a statement that the language does not have."""
    what, hint = _REFUSED.get(type(node), (f"{type(node).__name__} statements", None))
    if isinstance(node, ast.AugAssign):
        target = ast.unparse(node.target)
        written = ast.unparse(node).removeprefix(target).strip()
        hint = f"write {target} = {target} {written.replace('=', '', 1)}"
    return reader.failure(UnsupportedFeatureError, f"{what} cannot be used in a kernel", node, hint=hint)
