"""Loops and branches: their heads, and what their blocks leave of the names assigned in them."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ForKind
from pypto.ir.expr import ConstInt, Expr, IterArg, Var, index_const
from pypto.ir.loop_bounds import loop_variable_dtype
from pypto.ir.stmt import BreakStmt, ContinueStmt, ForStmt, IfStmt, ReturnStmt, SeqStmts, Stmt, WhileStmt
from pypto.ir.types import ScalarType, Type
from pypto.parser.attrs import read_loop_attrs
from pypto.parser.blocks import read_block
from pypto.parser.comments import header_end
from pypto.parser.conform import disagreement
from pypto.parser.errors import ParserError, ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from pypto.parser.folding import path_of, static
from pypto.parser.reader import Reader, const_int, statement
from pypto.parser.scope import Block, Unreadable, Yielded, changed, merge_branches, restore
from pypto.parser.types import annotation_type, dtype

_KINDS: Mapping[str, ForKind] = {
    "range": ForKind.Sequential,
    "parallel": ForKind.Parallel,
    "unroll": ForKind.Unroll,
    "pipeline": ForKind.Pipeline,
}
_ITERATORS = (*_KINDS, "while_", "spmd", "split_aiv")


@statement(ast.For)
def read_for(reader: Reader, node: ast.For) -> None:
    """``for i in pl.range(...)`` and the other iterators."""
    _refuse_else(reader, node, "for")
    call = node.iter
    path = path_of(reader, call.func) if type(call) is ast.Call else None
    if type(call) is not ast.Call or path is None:
        hint = "iterate over pl.range(...)"
        place = call.func if type(call) is ast.Call else call
        raise reader.failure(
            ParserSyntaxError, f"a for loop iterates over pl.range and its kin, not {_text(place)}", place, hint=hint
        )
    kind = _KINDS.get(path)
    if kind is not None:
        _counted_loop(reader, node, call, path, kind)
    elif path == "while_":
        _carried_while(reader, node, call)
    elif path in ("spmd", "split_aiv"):
        from pypto.parser.scopes import read_scope_loop

        read_scope_loop(reader, node, call, path)
    else:
        close = did_you_mean(path, _ITERATORS)
        prefix = _text(call.func)[: -len(path)] if _text(call.func).endswith(path) else "pl."
        hint = f"did you mean {prefix}{close}?" if close else "iterate over pl.range(...)"
        raise reader.failure(ParserSyntaxError, f"{_text(call.func)} is no iterator", call.func, hint=hint)


def _text(node: Any) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 50 else f"{text[:47]}..."


def _refuse_else(reader: Reader, node: Any, word: str) -> None:
    if node.orelse:
        raise reader.failure(
            UnsupportedFeatureError,
            f"the else of a {word} loop cannot be used in a kernel",
            node.orelse[0],
            hint="put the statements after the loop",
        )


def _counted_loop(reader: Reader, node: ast.For, call: ast.Call, path: str, kind: ForKind) -> None:
    span = reader.source.span(node)
    loop_name, carried = _loop_targets(reader, node.target)
    options = _loop_options(reader, call, path)
    start, stop, step, bounds = _bounds(reader, call, path)
    if kind is ForKind.Unroll and not all(isinstance(b, ConstInt) for b in bounds) and not reader.source.printed:
        wrong = next(n for n, b in zip(call.args, bounds, strict=True) if not isinstance(b, ConstInt))
        raise reader.failure(ParserSyntaxError, "the bounds of pl.unroll must be known while reading", wrong)
    inits: list[Expr] = options["init_values"]
    _check_carried(reader, node, call, carried, inits, options)
    type_ = ScalarType(options["dtype"] or loop_variable_dtype(bounds))
    attrs: dict[str, Any] = {}
    if kind is ForKind.Pipeline and options["stage"] is not None:
        attrs["pipeline_stages"] = options["stage"]
    attrs.update(options["attrs"])
    loop_var = Var(loop_name.id, type_, reader.source.span(loop_name))
    iter_args = _iter_args(reader, carried, inits, options["iter_types"])
    reader.loops.append(path)
    block, body = _loop_body(reader, node, node.body, loop_name, loop_var, carried, iter_args, node.lineno)
    reader.loops.pop()
    results = _loop_results(reader, node, block, iter_args, loop_name.id, loop_var)
    try:
        made = ForStmt(loop_var, start, stop, step, iter_args, body, results, span, kind, attrs)
    except Error as error:
        raise reader.from_error(ParserSyntaxError, error, call) from error
    reader.emit(made)


def _loop_targets(reader: Reader, target: Any) -> tuple[ast.Name, list[ast.Name]]:
    if type(target) is ast.Name:
        return target, []
    if (
        type(target) is ast.Tuple
        and len(target.elts) == 2
        and type(target.elts[0]) is ast.Name
        and isinstance(target.elts[1], ast.Tuple | ast.List)
    ):
        return target.elts[0], _names(reader, target.elts[1])
    raise reader.failure(
        ParserSyntaxError,
        "the target of a loop is a name, or a name and a tuple of names",
        target,
        hint="for i in pl.range(n): or for i, (acc,) in pl.range(n, init_values=(zero,)):",
    )


def _names(reader: Reader, target: ast.Tuple | ast.List) -> list[ast.Name]:
    names: list[ast.Name] = []
    for item in target.elts:
        if type(item) is not ast.Name:
            raise reader.failure(ParserSyntaxError, "carried values have plain names", item)
        if any(item.id == other.id for other in names):
            raise reader.failure(ParserSyntaxError, f"{item.id!r} carries two values", item)
        names.append(item)
    return names


def _loop_options(reader: Reader, call: ast.Call, path: str) -> dict[str, Any]:
    options: dict[str, Any] = {
        "init_values": [],
        "attrs": {},
        "stage": None,
        "dtype": None,
        "iter_types": None,
        "given": False,
    }
    for keyword in reader.keywords(call):
        name, value = keyword.arg, keyword.value
        if name == "init_values" and (path != "unroll" or reader.source.printed):
            if type(value) is not ast.Tuple and type(value) is not ast.List:
                raise reader.failure(ParserSyntaxError, "init_values= is a tuple literal", value, hint="init_values=(a, b)")
            options["init_values"] = [reader.expression(item) for item in value.elts]
            options["given"] = True
        elif name == "attrs":
            options["attrs"] = read_loop_attrs(reader, value)
        elif name == "dtype":
            options["dtype"] = dtype(reader, value)
        elif name == "iter_types" and type(value) is ast.List:
            options["iter_types"] = [annotation_type(reader, item) for item in value.elts]
        elif name == "stage" and path == "pipeline":
            stage = static(reader, value)
            if isinstance(stage, ConstInt):
                stage = stage.value
            if type(stage) is not int or stage < 1:
                raise reader.failure(ParserSyntaxError, "stage= is a positive integer known while reading", value)
            options["stage"] = stage
        else:
            raise _unknown_option(reader, keyword, path)
    if path == "pipeline" and options["stage"] is None and not reader.source.printed:
        raise reader.failure(ParserSyntaxError, "pl.pipeline needs stage=", call, hint="pl.pipeline(n, stage=2)")
    return options


def _unknown_option(reader: Reader, keyword: ast.keyword, path: str) -> ParserError:
    if keyword.arg is None:
        return reader.failure(ParserSyntaxError, "** arguments cannot be used in a kernel", keyword.value)
    if keyword.arg == "stage":
        return reader.failure(ParserSyntaxError, f"stage= belongs to pl.pipeline, not pl.{path}", keyword)
    if keyword.arg == "init_values":
        return reader.failure(ParserSyntaxError, "pl.unroll carries no values", keyword, hint="use pl.range")
    known = ["init_values", "attrs"] + (["stage"] if path == "pipeline" else [])
    close = did_you_mean(keyword.arg, known)
    hint = f"did you mean {close}=?" if close else f"it takes {', '.join(k + '=' for k in known)}"
    return reader.failure(ParserSyntaxError, f"pl.{path} takes no {keyword.arg}=", keyword, hint=hint)


def _bounds(reader: Reader, call: ast.Call, path: str) -> tuple[Expr, Expr, Expr, list[Expr]]:
    if not 1 <= len(call.args) <= 3:
        raise reader.failure(
            ParserSyntaxError,
            f"pl.{path} takes 1 to 3 bounds, got {len(call.args)}",
            call,
            hint=f"pl.{path}(stop), (start, stop) or (start, stop, step)",
        )
    bounds: list[Expr] = []
    for arg in call.args:
        value = reader.expression(arg)
        if not isinstance(value.type, ScalarType) or not value.type.dtype.is_int():
            raise reader.failure(ParserTypeError, f"a loop bound is an integer scalar, got {reader.type_text(value.type)}", arg)
        bounds.append(value)
    start: Expr = index_const(0) if len(bounds) == 1 else bounds[0]
    stop = bounds[0] if len(bounds) == 1 else bounds[1]
    step: Expr = bounds[2] if len(bounds) == 3 else index_const(1)
    if const_int(step) == 0:
        raise reader.failure(ParserSyntaxError, "the step of a loop cannot be 0", call.args[2])
    return start, stop, step, bounds


def _check_carried(
    reader: Reader, node: ast.For, call: ast.Call, carried: Sequence[Any], inits: Sequence[Any], options: Mapping[str, Any]
) -> None:
    simple = type(node.target) is ast.Name
    if options["given"] and simple and inits:
        raise reader.failure(
            ParserSyntaxError,
            "a loop with init_values names what it carries",
            node.target,
            hint="for i, (acc,) in pl.range(n, init_values=(zero,)):",
        )
    if not simple and not options["given"]:
        raise reader.failure(ParserSyntaxError, "a loop that carries values needs init_values=", call)
    if len(carried) != len(inits):
        raise reader.failure(
            ParserSyntaxError, f"the loop names {len(carried)} carried values and starts {len(inits)}", node.target
        )
    types = options["iter_types"]
    if types is not None and len(types) != len(inits):
        raise reader.failure(ParserSyntaxError, "iter_types= has one type for each carried value", call)


def _iter_args(reader: Reader, names: Sequence[ast.Name], inits: Sequence[Expr], types: Sequence[Type] | None) -> list[IterArg]:
    return [
        IterArg(name.id, init.type if types is None else types[at], init, reader.source.span(name))
        for at, (name, init) in enumerate(zip(names, inits, strict=True))
    ]


def _loop_body(
    reader: Reader,
    node: Any,
    body_nodes: Sequence[Any],
    loop_name: ast.Name | None,
    loop_var: Var | None,
    carried: Sequence[ast.Name],
    iter_args: Sequence[IterArg],
    header_line: int,
) -> tuple[Block, Stmt]:
    """Read a loop body with the loop variable and the carried values bound around it."""
    around = Block("around", reader.block)
    until = reader.until
    reader.block = around
    if loop_var is not None and loop_name is not None:
        _bind(reader, loop_name, loop_var)
    for name, arg in zip(carried, iter_args, strict=True):
        _bind(reader, name, arg)
    kind = "loop" if iter_args else "plain loop"
    first = header_end(reader.source.lines, header_line, node.body[0].lineno) + 1 if reader.comments else 0
    block, body = read_block(reader, body_nodes, kind, first, until)
    assert around.parent is not None
    block.parent = around
    around.is_open = False
    reader.block = around.parent
    names = reader.names
    if iter_args:
        inner = changed(block, names)
        restore(block, names)
        restore(around, names)
        for name, binding in inner.items():
            if name not in names and isinstance(binding, Var):
                reason = f"{name!r} is assigned inside the loop on line {node.lineno}, which hands on only what it yields"
                hint = "yield it: name = pl.yield_(...), with an initial value in init_values"
                reader.define(name, Unreadable(reason, hint))
    else:
        left = changed(block, names)
        restore(block, names)
        restore(around, names)
        for name, binding in left.items():
            if loop_name is not None and name == loop_name.id:
                continue
            reader.define(name, binding)
    return block, body


def _bind(reader: Reader, name: ast.Name, var: Var) -> None:
    if reader.strict_ssa and isinstance(reader.names.get(name.id), Var):
        reader.variable_for(name.id, var.type, name, reader.source.span(name))
    reader.home[var] = reader.block
    reader.define(name.id, var)


def _loop_results(
    reader: Reader, node: Any, block: Block, iter_args: Sequence[IterArg], loop_name: str | None, loop_var: Var | None
) -> list[Var]:
    """Bind what the loop yields after it; the loop variable can no longer be read."""
    yielded = block.yielded
    results: list[Var] = []
    if iter_args:
        if yielded is None or (not yielded.targets and not reader.source.printed):
            raise reader.failure(
                ParserSyntaxError,
                "a loop with init_values ends with an assignment from pl.yield_",
                node.body[-1],
                hint=f"{iter_args[0].name_hint}_next = pl.yield_(...)",
            )
        if len(yielded.values) != len(iter_args):
            raise reader.failure(
                ParserSyntaxError, f"the loop carries {len(iter_args)} values and yields {len(yielded.values)}", yielded.node
            )
        for at, (arg, value) in enumerate(zip(iter_args, yielded.values, strict=True)):
            _check_carried_type(reader, arg, value, yielded.node.args[at])
            name = yielded.targets[at] if yielded.targets else f"{arg.name_hint}_out"
            results.append(_result(reader, name, yielded, at))
    elif yielded is not None and reader.source.printed:
        results = [_result(reader, name, yielded, at) for at, name in enumerate(yielded.targets)]
    if loop_name is not None and loop_var is not None and not any(loop_name == r.name_hint for r in results):
        before = reader.names.get(loop_name)
        if before is None or not isinstance(before, Unreadable):
            reader.define(
                loop_name,
                Unreadable(
                    f"{loop_name!r} is the variable of the loop on line {node.lineno} and ends with it",
                    "assign it to another name inside the loop",
                ),
            )
    return results


def _result(reader: Reader, name: str, yielded: Yielded, at: int) -> Var:
    type_ = yielded.types[at] if at < len(yielded.types) and yielded.types[at] is not None else yielded.values[at].type
    return reader.variable_for(name, type_, yielded.node, reader.source.span(yielded.node), fresh=True)


def _check_carried_type(reader: Reader, arg: IterArg, value: Expr, node: Any) -> None:
    if reader.source.printed or value.type is arg.type:
        return
    why = disagreement(value.type, arg.type)
    if why is None:
        return
    hint = None
    if isinstance(arg.initValue, ConstInt) and isinstance(value.type, ScalarType):
        hint = f"start with pl.const({arg.initValue.value}, pl.{value.type.dtype.name})"
    raise reader.failure(
        ParserTypeError,
        f"{arg.name_hint!r} starts as {reader.type_text(arg.type)} and is handed on as {reader.type_text(value.type)}{why}",
        node,
        hint=hint or "convert one of them",
    )


# -- while ---------------------------------------------------------------------------------------------------------------


@statement(ast.While)
def read_while(reader: Reader, node: ast.While) -> None:
    """``while cond:``."""
    _refuse_else(reader, node, "while")
    span = reader.source.span(node)
    condition = truth_value(reader, node.test, "the condition of a while loop")
    reader.loops.append("while")
    block, body = _loop_body(reader, node, node.body, None, None, [], [], node.lineno)
    reader.loops.pop()
    results = _loop_results(reader, node, block, [], None, None)
    reader.emit(WhileStmt(condition, [], body, results, span))


def _carried_while(reader: Reader, node: ast.For, call: ast.Call) -> None:
    span = reader.source.span(node)
    options = _loop_options(reader, call, "while_")
    if call.args:
        raise reader.failure(ParserSyntaxError, "pl.while_ takes init_values= only", call.args[0])
    if type(node.target) is not ast.Tuple and type(node.target) is not ast.List:
        raise reader.failure(
            ParserSyntaxError,
            "pl.while_ carries a tuple of names",
            node.target,
            hint="for (a, b) in pl.while_(init_values=(x, y)):",
        )
    carried = _names(reader, node.target)
    inits: list[Expr] = options["init_values"]
    _check_carried(reader, node, call, carried, inits, options)
    if not inits:
        raise reader.failure(ParserSyntaxError, "pl.while_ needs init_values=", call, hint="use while for a plain loop")
    first = node.body[0]
    is_condition = type(first) is ast.Expr and type(first.value) is ast.Call and path_of(reader, first.value.func) == "cond"
    if not is_condition:
        raise reader.failure(ParserSyntaxError, "the body of pl.while_ begins with pl.cond(...)", first)
    assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Call)
    condition_call = first.value
    if len(condition_call.args) != 1 or condition_call.keywords:
        raise reader.failure(ParserSyntaxError, "pl.cond takes one condition", condition_call)
    iter_args = _iter_args(reader, carried, inits, options["iter_types"])
    condition = _while_condition(reader, carried, iter_args, condition_call.args[0])
    reader.loops.append("while")
    end = first.end_lineno or first.lineno
    block, body = _loop_body(reader, node, node.body[1:], None, None, carried, iter_args, end)
    reader.loops.pop()
    results = _loop_results(reader, node, block, iter_args, None, None)
    reader.emit(WhileStmt(condition, iter_args, body, results, span))


def _while_condition(reader: Reader, carried: Sequence[ast.Name], iter_args: Sequence[IterArg], node: Any) -> Expr:
    around = Block("around", reader.block)
    reader.block = around
    for name, arg in zip(carried, iter_args, strict=True):
        reader.define(name.id, arg)
    condition = truth_value(reader, node, "the condition of a while loop")
    assert around.parent is not None
    reader.block = around.parent
    restore(around, reader.names)
    return condition


def truth_value(reader: Reader, node: Any, what: str) -> Expr:
    """A BOOL scalar.

    Raises:
        ParserTypeError: it is something else.
    """
    value = reader.expression(node)
    if isinstance(value.type, ScalarType) and value.type.dtype is DataType.BOOL:
        return value
    hint = "compare it: x != 0" if isinstance(value.type, ScalarType) else None
    raise reader.failure(ParserTypeError, f"{what} is a BOOL scalar, got {reader.type_text(value.type)}", node, hint=hint)


# -- if ------------------------------------------------------------------------------------------------------------------


@statement(ast.If)
def read_if(reader: Reader, node: ast.If) -> None:
    """``if``, ``elif``, ``else``; with yields at the end of both branches the yielded names are its results."""
    span = reader.source.span(node)
    until = reader.until
    lines = reader.source.lines
    condition = truth_value(reader, node.test, "the condition of an if")
    comments = bool(reader.comments)
    else_line = _else_line(lines, node) if node.orelse and comments else until
    first = header_end(lines, node.lineno, node.body[0].lineno) + 1 if comments else 0
    names = reader.names
    then_block, then_body = read_block(reader, node.body, "branch", first, else_line)
    then_names = changed(then_block, names)
    restore(then_block, names)
    else_block: Block | None = None
    else_body: Stmt | None = None
    else_names: dict[str, Any] = {}
    if node.orelse:
        outer_twins = reader.twins
        if not reader.strict_ssa:
            fresh = {n: b for n, b in then_names.items() if isinstance(b, Var) and n not in names}
            reader.twins = {**outer_twins, **fresh} if fresh else outer_twins
        after_then = (node.body[-1].end_lineno or 0) + 1
        else_block, else_body = read_block(reader, node.orelse, "branch", after_then, until)
        reader.twins = outer_twins
        else_names = changed(else_block, names)
        restore(else_block, names)
    results = _branch_results(reader, node, then_block, else_block)
    if results is None:
        _merge(reader, node, then_body, else_body, then_names, else_names)
        results = []
    else:
        _after_value_branch(reader, node, then_names, else_names, results)
    if else_body is not None and _is_empty(else_body) and not reader.source.printed:
        else_body = None
    reader.emit(IfStmt(condition, then_body, else_body, results, span))


def _is_empty(body: Stmt) -> bool:
    return isinstance(body, SeqStmts) and not body.stmts and not body.trailing_comments


def _else_line(lines: Sequence[str], node: ast.If) -> int:
    line = node.orelse[0].lineno
    last = node.body[-1].end_lineno or node.lineno
    while line > last and not lines[line - 1].lstrip().startswith(("else", "elif")):
        line -= 1
    return line


def _leaves(body: Stmt | None) -> bool:
    last = body
    if isinstance(last, SeqStmts):
        last = last.stmts[-1] if last.stmts else None
    return isinstance(last, BreakStmt | ContinueStmt | ReturnStmt)


def _merge(
    reader: Reader,
    node: ast.If,
    then_body: Stmt,
    else_body: Stmt | None,
    then_names: Mapping[str, Any],
    else_names: Mapping[str, Any],
) -> None:
    names = reader.names
    if _leaves(then_body) and not _leaves(else_body):
        merged: Mapping[str, Any] = else_names
    elif _leaves(else_body) and not _leaves(then_body):
        merged = then_names
    else:
        merged = merge_branches(names, dict(then_names), dict(else_names), node.lineno)
    for name, binding in merged.items():
        reader.define(name, binding)


def _branch_results(reader: Reader, node: ast.If, then_block: Block, else_block: Block | None) -> list[Var] | None:
    """The variables that a branch with yields defines; None when it yields nothing."""
    then, other = then_block.yielded, None if else_block is None else else_block.yielded
    named = [y for y in (then, other) if y is not None and (y.targets or y.values)]
    if not named:
        return None
    if then is None or other is None or (len(then.values) != len(other.values)):
        if reader.source.printed:
            return [_result(reader, name, named[0], at) for at, name in enumerate(named[0].targets)]
        missing = "this branch" if then is not None and other is not None else "the other branch"
        given = (then or other).node  # type: ignore[union-attr]
        if then is None or other is None:
            raise reader.failure(
                ParserSyntaxError,
                f"one branch yields and {missing} does not",
                given,
                hint="end both branches with name = pl.yield_(...)",
            )
        raise reader.failure(
            ParserSyntaxError,
            f"the branches yield {len(then.values)} and {len(other.values)} values",
            other.node,
            hint="yield the same names in both branches",
        )
    targets = then.targets or other.targets
    if not targets:
        if reader.source.printed:
            return []
        raise reader.failure(
            ParserSyntaxError, "the values that a branch yields need names", then.node, hint="write name = pl.yield_(...)"
        )
    if then.targets and other.targets and then.targets != other.targets:
        raise reader.failure(
            ParserSyntaxError,
            f"the branches yield different names: {', '.join(then.targets)} and {', '.join(other.targets)}",
            other.node,
            hint="yield the same names in the same order",
        )
    owner = then if then.targets else other
    results: list[Var] = []
    for at, name in enumerate(targets):
        left, right = then.values[at].type, other.values[at].type
        why = None if reader.source.printed else disagreement(right, left)
        if why is not None:
            raise reader.failure(
                ParserTypeError,
                f"{name!r} is {reader.type_text(left)} in one branch and {reader.type_text(right)} in the other{why}",
                other.node.args[at],
                hint="convert one of them",
            )
        results.append(_result(reader, name, owner, at))
    return results


def _after_value_branch(
    reader: Reader, node: ast.If, then_names: Mapping[str, Any], else_names: Mapping[str, Any], results: Sequence[Var]
) -> None:
    given = {result.name_hint for result in results}
    for name in (*then_names, *else_names):
        if name not in given and name not in reader.names:
            reader.define(
                name,
                Unreadable(
                    f"{name!r} is assigned inside the if on line {node.lineno}, which hands on only what it yields",
                    "yield it in both branches: name = pl.yield_(...)",
                ),
            )
