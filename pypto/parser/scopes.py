"""``with`` blocks: regions that run in some place or under some regime."""

from __future__ import annotations

import ast
import keyword as python_keywords
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pypto.diagnostics import Error, did_you_mean
from pypto.ir.attrs import AttrValue
from pypto.ir.dtypes import DataType
from pypto.ir.enums import Level, Role, ScopeMode, SplitMode
from pypto.ir.expr import Call, Expr, Var
from pypto.ir.stmt import (
    AssignStmt,
    ClusterScopeStmt,
    CommDomainScopeStmt,
    EvalStmt,
    HierarchyScopeStmt,
    InCoreScopeStmt,
    RuntimeScopeStmt,
    ScopeStmt,
    SeqStmts,
    SplitAivScopeStmt,
    SpmdScopeStmt,
    Stmt,
    flatten_to_stmts,
)
from pypto.ir.types import ScalarType
from pypto.ops.syntax import BLOCK_INDEX, DEPENDENCIES, DUMPED, LANE_INDEX, NO_TASK, TASK
from pypto.parser.attrs import read_attrs
from pypto.parser.blocks import as_body, read_block, read_statements
from pypto.parser.calls import call_operator_named
from pypto.parser.comments import header_end
from pypto.parser.dependencies import read_dependency_names, read_predicate, taken_by, with_dumped
from pypto.parser.environment import NOTHING
from pypto.parser.errors import ParserSyntaxError, ParserTypeError, UnsupportedFeatureError
from pypto.parser.folding import path_of, static
from pypto.parser.reader import Reader, const_int, statement
from pypto.parser.scope import Block, changed, restore
from pypto.parser.windows import Domain, written_flags

_LISTS: Mapping[str, str] = {
    "deps": DEPENDENCIES,
    "no_dep_args": "arg_direction_overrides_vars",
    "dumps": DUMPED,
}
_FLAGS = ("allow_early_resolve", "windowize")
_ORDER = (
    DEPENDENCIES,
    "arg_direction_overrides_vars",
    DUMPED,
    TASK,
    "allow_early_resolve",
    "slot_num",
    "windowize",
    "predicate",
)
_PLACE = (
    "placeholder",
    "name_hint",
    "deps",
    "no_dep_args",
    "dumps",
    "allow_early_resolve",
    "windowize",
    "predicate",
    "optimizations",
    "attrs",
)
_KNOWN: Mapping[str, Sequence[str]] = {
    "at": ("level", "role", *_PLACE),
    "hierarchy": ("level", "role", *_PLACE),
    "cluster": ("name_hint", "attrs"),
    "spmd": ("core_num", "sync_start", *_PLACE),
    "scope": ("mode", "name_hint", "attrs"),
    "manual_scope": (),
    "split_aiv": ("mode", "name_hint", "attrs"),
    "pld.comm_domain": ("devices", "windows", "attrs"),
    "seq": (),
}
_POSITIONAL: Mapping[str, Sequence[str]] = {"at": ("level", "role"), "hierarchy": ("level", "role"), "spmd": ("core_num",)}


class _Head:
    """The arguments of a scope as written, and the attributes made from them."""

    def __init__(self, reader: Reader, name: str, call: ast.Call) -> None:
        self.reader = reader
        self.name = name
        self.call = call
        self.shown = name if name.startswith("pld.") else f"pl.{name}"
        self.attrs: dict[str, AttrValue] = {}
        self.nodes: dict[str, Any] = {}
        known = _KNOWN[name]
        positional = _POSITIONAL.get(name, ())
        extra = 1 if name in ("split_aiv", "pld.comm_domain") else 0
        if len(call.args) > len(positional) + extra:
            raise reader.failure(ParserSyntaxError, f"{self.shown} takes no such argument", call.args[len(positional) + extra])
        for key, value in zip(positional, call.args, strict=False):
            self.nodes[key] = value
        for item in self.reader.keywords(call):
            if item.arg is None:
                raise reader.failure(ParserSyntaxError, "** arguments cannot be used in a kernel", item.value)
            if item.arg not in known:
                close = did_you_mean(item.arg, known)
                hint = f"did you mean {close}=?" if close else f"it takes {', '.join(known) or 'no arguments'}"
                raise reader.failure(ParserSyntaxError, f"{self.shown} takes no {item.arg}=", item, hint=hint)
            if item.arg in self.nodes:
                raise reader.failure(ParserSyntaxError, f"{self.shown} got {item.arg} twice", item)
            self.nodes[item.arg] = item.value

    def enum(self, key: str, kind: type[Any]) -> Any:
        """A member of an enumeration, None when not written."""
        node = self.nodes.get(key)
        if node is None:
            return None
        value = static(self.reader, node)
        if value is None or isinstance(value, kind):
            return value
        raise self.reader.failure(ParserSyntaxError, f"{key}= is a pl.{kind.__name__} member", node)

    def flag(self, key: str) -> bool:
        """A flag."""
        node = self.nodes.get(key)
        if node is None:
            return False
        if type(node) is ast.Constant and isinstance(node.value, bool):
            return node.value
        raise self.reader.failure(ParserSyntaxError, f"{key}= is True or False", node)

    def hint(self) -> str:
        """The name hint."""
        node = self.nodes.get("name_hint")
        if node is None:
            return ""
        value = static(self.reader, node)
        if not isinstance(value, str):
            raise self.reader.failure(ParserSyntaxError, "name_hint= is a string", node)
        if not self.reader.source.printed and (not value.isidentifier() or python_keywords.iskeyword(value)):
            raise self.reader.failure(ParserSyntaxError, f"the name hint {value!r} is no identifier", node)
        return value

    def variables(self, key: str) -> list[Var]:
        """A list of variables."""
        node = self.nodes[key]
        reader = self.reader
        if key == "deps":
            return read_dependency_names(reader, node)
        if type(node) is not ast.List:
            raise reader.failure(ParserTypeError, f"{key}= is a list", node, hint=f"{key}=[a, b]")
        found: list[Var] = []
        for item in node.elts:
            if type(item) is not ast.Name:
                raise reader.failure(ParserTypeError, f"{key}= lists plain names", item)
            value = reader.expression(item)
            if not isinstance(value, Var):
                raise reader.failure(ParserTypeError, f"{key}= lists variables", item)
            if any(value is other for other in found) and not reader.source.printed:
                raise reader.failure(ParserTypeError, f"{key}= lists {item.id!r} twice", item)
            found.append(value)
        return found

    def finish(self, task: Var | None) -> Mapping[str, AttrValue]:
        """The attributes in the order in which they are stored."""
        for key, attr in _LISTS.items():
            if key in self.nodes:
                items = self.variables(key)
                if items or self.reader.source.printed:
                    self.attrs[attr] = items
        for key in _FLAGS:
            if self.flag(key):
                self.attrs[key] = True
        predicate = self.nodes.get("predicate")
        if predicate is not None:
            deps: Any = self.attrs.get(DEPENDENCIES, ())
            self.attrs["predicate"] = read_predicate(self.reader, predicate, deps)
        if task is not None:
            self.attrs[TASK] = task
        ordered = _in_order(self.attrs)
        node = self.nodes.get("attrs")
        if node is not None:
            ordered.update(read_attrs(self.reader, node))
        return ordered

    def split(self) -> SplitMode:
        """The split mode among the optimizations; the number of slots goes into the attributes."""
        node = self.nodes.get("optimizations")
        reader = self.reader
        mode: SplitMode | None = None
        if node is None:
            return SplitMode.NONE
        if type(node) is not ast.List:
            raise reader.failure(ParserSyntaxError, "optimizations= is a list", node, hint="optimizations=[pl.split(...)]")
        for item in node.elts:
            path = path_of(reader, item.func) if type(item) is ast.Call else None
            path = None if path is None else path.removeprefix("optimizations.")
            if path == "split" and mode is None:
                mode = self._split_option(item)
            elif path == "cross_core_slot" and "slot_num" not in self.attrs:
                call = cast("ast.Call", item)
                self._slots(call, call.keywords, call.args)
            else:
                raise reader.failure(
                    ParserSyntaxError, "an optimization is pl.split(...) or pl.cross_core_slot(...), each once", item
                )
        return SplitMode.NONE if mode is None else mode

    def _split_option(self, item: Any) -> SplitMode:
        mode = static(self.reader, item.args[0]) if len(item.args) == 1 else None
        if not isinstance(mode, SplitMode):
            raise self.reader.failure(ParserSyntaxError, "pl.split takes a pl.SplitMode member", item)
        if item.keywords:
            if "slot_num" in self.attrs:
                raise self.reader.failure(ParserSyntaxError, "the number of slots is given twice", item)
            self._slots(item, item.keywords, [])
        return mode

    def _slots(self, item: Any, keywords: Sequence[ast.keyword], args: Sequence[Any]) -> None:
        value = static(self.reader, keywords[0].value) if len(keywords) == 1 and not args else None
        if type(value) is not int or value < 1 or keywords[0].arg != "slot_num":
            raise self.reader.failure(ParserSyntaxError, "slot_num= is a positive integer literal", item)
        self.attrs["slot_num"] = value


def _in_order(attrs: Mapping[str, AttrValue]) -> dict[str, AttrValue]:
    """Attributes in the order in which they are stored, others last."""
    return {**{key: attrs[key] for key in _ORDER if key in attrs}, **attrs}


@statement(ast.With)
def read_with(reader: Reader, node: ast.With) -> None:
    """``with pl.at(...):`` and the other scopes."""
    if len(node.items) != 1:
        raise reader.failure(UnsupportedFeatureError, "a with block opens one scope", node.items[1].context_expr)
    item = node.items[0]
    call = item.context_expr
    path = path_of(reader, call.func) if type(call) is ast.Call else None
    handler = None if path is None else _SCOPES.get(path)
    if handler is None or path is None or type(call) is not ast.Call:
        known = [f"pl.{name}" for name in _SCOPES]
        shown = ast.unparse(call.func if type(call) is ast.Call else call)
        close = did_you_mean(shown, known)
        place = call.func if type(call) is ast.Call else call
        hint = f"did you mean {close}?" if close else "scopes are pl.at, pl.spmd, pl.cluster, pl.scope, pl.manual_scope"
        raise reader.failure(UnsupportedFeatureError, f"{shown[:50]} is no scope", place, hint=hint)
    target = item.optional_vars
    if target is not None and (type(target) is not ast.Name or path not in ("at", "hierarchy", "spmd")):
        raise reader.failure(ParserSyntaxError, f"with pl.{path} takes no such target", target)
    head = _Head(reader, path, call)
    handler(reader, node, head, target)


def _body(reader: Reader, node: Any, kind: str = "scope") -> Stmt:
    """The body of a scope; the names assigned in it stay visible after it."""
    until = reader.until
    first = header_end(reader.source.lines, node.lineno, node.body[0].lineno) + 1 if reader.comments else 0
    reader.scopes.append(kind)
    block, body = read_block(reader, node.body, kind, first, until)
    reader.scopes.pop()
    _keep_names(reader, block)
    return body


def _keep_names(reader: Reader, block: Block) -> None:
    left = changed(block, reader.names)
    restore(block, reader.names)
    for name, binding in left.items():
        reader.define(name, binding)
        if isinstance(binding, Var) and reader.home.get(binding) is block:
            reader.home[binding] = reader.block


def _task(reader: Reader, head: _Head, target: ast.Name | None) -> Var | None:
    """The variable of ``as tid``, assigned the invalid task before the scope unless ``placeholder=False`` says otherwise."""
    if target is None:
        if "placeholder" in head.nodes:
            raise reader.failure(ParserSyntaxError, "placeholder= goes with a task: with ... as tid", head.nodes["placeholder"])
        return None
    if "placeholder" in head.nodes and not head.flag("placeholder"):
        known = reader.names.get(target.id)
        if isinstance(known, Var) and known.type == ScalarType(DataType.TASK_ID):
            return known
        return reader.variable_for(target.id, ScalarType(DataType.TASK_ID), target, reader.source.span(target))
    value = call_operator_named(reader, NO_TASK, [], target)
    return reader.assign(target.id, value, target, reader.source.span(target))


def _emit(reader: Reader, node: Any, made: ScopeStmt, attrs: Mapping[str, AttrValue]) -> None:
    if reader.dumped and isinstance(made, InCoreScopeStmt | HierarchyScopeStmt):
        marked = dict(attrs)
        with_dumped(reader, marked, taken_by(made.body))
        attrs = _in_order(marked)
    try:
        reader.emit(made.with_attrs(attrs) if attrs else made)
    except Error as error:
        raise reader.from_error(ParserSyntaxError, error, node) from error


def _at(reader: Reader, node: ast.With, head: _Head, target: ast.Name | None) -> None:
    level = head.enum("level", Level)
    if level is None:
        raise reader.failure(ParserSyntaxError, f"{head.shown} needs a level", head.call, hint="level=pl.Level.CORE_GROUP")
    role = head.enum("role", Role)
    span = reader.source.span(node)
    name = head.hint()
    is_kernel = level is Level.CORE_GROUP and head.name == "at"
    if is_kernel and role is not None:
        raise reader.failure(ParserSyntaxError, "a region at level CORE_GROUP has no role", head.nodes["role"])
    if not is_kernel and "optimizations" in head.nodes:
        raise reader.failure(ParserSyntaxError, "optimizations= belongs to level CORE_GROUP", head.nodes["optimizations"])
    if level is Level.HOST and role is Role.SubWorker and not reader.source.printed:
        raise reader.failure(UnsupportedFeatureError, "a host worker cannot be written as a scope", head.call)
    split = head.split()
    task = _task(reader, head, target)
    attrs = head.finish(task)
    body = _body(reader, node, "incore scope" if is_kernel else "scope")
    if is_kernel:
        made: ScopeStmt = InCoreScopeStmt(split, name, body=body, span=span)
    else:
        made = HierarchyScopeStmt(level, role, name, body=body, span=span)
    _emit(reader, head.call, made, attrs)


def _cluster(reader: Reader, node: ast.With, head: _Head, _target: Any) -> None:
    name, attrs = head.hint(), head.finish(None)
    body = _body(reader, node, "cluster scope")
    _emit(reader, head.call, ClusterScopeStmt(name, body=body, span=reader.source.span(node)), attrs)


def _runtime(reader: Reader, node: ast.With, head: _Head, _target: Any) -> None:
    mode = head.enum("mode", ScopeMode)
    manual = head.name == "manual_scope" or mode is ScopeMode.MANUAL
    if manual and "manual scope" in reader.scopes and not reader.source.printed:
        raise reader.failure(ParserSyntaxError, "a manual scope cannot be inside another", head.call)
    name, attrs = head.hint(), head.finish(None)
    if manual:
        reader.scopes.append("manual scope")
    body = _body(reader, node, "runtime scope")
    if manual:
        reader.scopes.pop()
    _emit(reader, head.call, RuntimeScopeStmt(manual, name, body=body, span=reader.source.span(node)), attrs)


def _core_num(reader: Reader, head: _Head) -> Expr:
    node = head.nodes.get("core_num")
    if node is None:
        raise reader.failure(ParserSyntaxError, f"{head.shown} needs the number of cores", head.call)
    value = reader.expression(node)
    if not isinstance(value.type, ScalarType) or not value.type.dtype.is_int():
        raise reader.failure(ParserTypeError, f"the number of cores is an integer, got {reader.type_text(value.type)}", node)
    number = const_int(value)
    if number is not None and number <= 0:
        raise reader.failure(ParserSyntaxError, f"the number of cores is positive, got {number}", node)
    return value


def _spmd(reader: Reader, node: ast.With, head: _Head, target: ast.Name | None) -> None:
    core_num = _core_num(reader, head)
    name = head.hint()
    split = head.split()
    optimized = "optimizations" in head.nodes
    if "deps" in head.nodes and target is None and not reader.source.printed:
        raise reader.failure(ParserSyntaxError, "deps= needs a task: with pl.spmd(...) as tid", head.nodes["deps"])
    task = _task(reader, head, target)
    slots = {"slot_num": head.attrs.pop("slot_num")} if "slot_num" in head.attrs and not reader.source.printed else {}
    attrs = head.finish(task)
    sync = head.flag("sync_start")
    body = _body(reader, node, "spmd scope")
    if not reader.source.printed:
        body = _kernel_body(reader, node, body, split, optimized, slots)
    _emit(reader, head.call, SpmdScopeStmt(core_num, sync, name, body=body, span=reader.source.span(node)), attrs)


def _kernel_body(
    reader: Reader, node: ast.With, body: Stmt, split: SplitMode, optimized: bool, slots: Mapping[str, AttrValue]
) -> Stmt:
    """Inline code of an spmd region becomes a kernel of its own; a single kernel call or region stays."""
    stmts = flatten_to_stmts(body)
    calls = [s for s in stmts if _is_function_call(s)]
    if not optimized and len(stmts) == 1 and (isinstance(stmts[0], InCoreScopeStmt) or calls):
        return body
    if not optimized and not _reads_block_index(reader, node):
        raise reader.failure(
            ParserSyntaxError,
            "the body of pl.spmd is one kernel call, one pl.at region, or code that reads pl.tile.get_block_idx()",
            node.items[0].context_expr,
        )
    inner = InCoreScopeStmt(split, "", body=body, span=reader.source.span(node))
    return inner.with_attrs(slots) if slots else inner


def _is_function_call(stmt: Stmt) -> bool:
    value = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
    return isinstance(value, Call) and value.op.is_function


def _reads_block_index(reader: Reader, node: Any) -> bool:
    return any(
        type(part) is ast.Call and path_of(reader, part.func) in ("tile.get_block_idx", "tensor.get_block_idx", "get_block_idx")
        for stmt in node.body
        for part in ast.walk(stmt)
    )


def _split_aiv_parts(reader: Reader, head: _Head) -> SplitMode:
    mode = head.enum("mode", SplitMode)
    count = static(reader, head.call.args[0]) if len(head.call.args) == 1 else NOTHING
    if count != 2:
        raise reader.failure(ParserSyntaxError, "pl.split_aiv takes the literal 2", head.call)
    if mode is None:
        raise reader.failure(ParserSyntaxError, "pl.split_aiv needs mode=", head.call, hint="mode=pl.SplitMode.UP_DOWN")
    return mode


def _split_aiv(reader: Reader, node: ast.With, head: _Head, _target: Any) -> None:
    mode = _split_aiv_parts(reader, head)
    name, attrs = head.hint(), head.finish(None)
    body = _body(reader, node, "split scope")
    _emit(reader, head.call, SplitAivScopeStmt(mode, 2, name, body=body, span=reader.source.span(node)), attrs)


def _comm_domain(reader: Reader, node: ast.With, head: _Head, _target: Any) -> None:
    args = head.call.args
    name = static(reader, args[0]) if len(args) == 1 else None
    if not isinstance(name, str):
        raise reader.failure(ParserSyntaxError, "pld.comm_domain takes its name first", head.call)
    devices: Any = static(reader, head.nodes["devices"]) if "devices" in head.nodes else []
    windows: Any = static(reader, head.nodes["windows"]) if "windows" in head.nodes else []
    if not isinstance(devices, list) or not all(type(d) is int for d in cast("list[object]", devices)):
        raise reader.failure(ParserSyntaxError, "devices= is a list of integers", head.nodes["devices"])
    if not isinstance(windows, list) or not all(isinstance(w, str) for w in windows):  # pyright: ignore[reportUnknownVariableType]
        raise reader.failure(ParserSyntaxError, "windows= is a list of names", head.nodes["windows"])
    attrs = head.finish(None)
    names: list[str] = windows  # pyright: ignore[reportUnknownVariableType]
    domain = Domain(names, written_flags(reader, node.body))
    reader.domains.append(domain)
    body = _body(reader, node, "domain scope")
    reader.domains.pop()
    missing = [n for n in names if n not in domain.found]
    if missing:
        raise reader.failure(
            ParserSyntaxError, f"the window {missing[0]!r} is not allocated in this domain", head.nodes["windows"]
        )
    for n in names:
        reader.windows.pop(n, None)
    reader.window_types.clear()
    slots = [domain.found[n] for n in names]
    numbers: list[int] = devices  # pyright: ignore[reportUnknownVariableType]
    made = CommDomainScopeStmt(numbers, slots, name, body=body, span=reader.source.span(node))
    _emit(reader, head.call, made, attrs)


def _seq(reader: Reader, node: ast.With, _head: _Head, _target: Any) -> None:
    """A sequence of statements that is a statement of its own."""
    body = _body(reader, node, "sequence")
    reader.emit(body if type(body) is SeqStmts else _alone(body))


def _alone(body: Stmt) -> SeqStmts:
    """A sequence of one statement; comments at its end are those of the sequence."""
    made = SeqStmts([body])
    if body.trailing_comments:
        made.trailing_comments, body.trailing_comments = body.trailing_comments, made.trailing_comments
    return made


_SCOPES: Mapping[str, Callable[[Reader, ast.With, _Head, Any], None]] = {
    "at": _at,
    "hierarchy": _at,
    "cluster": _cluster,
    "spmd": _spmd,
    "scope": _runtime,
    "manual_scope": _runtime,
    "split_aiv": _split_aiv,
    "pld.comm_domain": _comm_domain,
    "seq": _seq,
}


# -- scopes written as loops -----------------------------------------------------------------------------------------------


def read_scope_loop(reader: Reader, node: ast.For, call: ast.Call, path: str) -> None:
    """``for i in pl.spmd(n)`` and ``for lane in pl.split_aiv(2, mode=...)``: the target is the index of the block or lane."""
    if type(node.target) is not ast.Name:
        raise reader.failure(ParserSyntaxError, f"for ... in pl.{path} has one name as target", node.target)
    head = _Head(reader, path, call)
    span = reader.source.span(node)
    name = head.hint()
    if path == "split_aiv":
        mode = _split_aiv_parts(reader, head)
        attrs = head.finish(None)
        body = _indexed_body(reader, node, LANE_INDEX, "split_aiv")
        made: ScopeStmt = SplitAivScopeStmt(mode, 2, name, body=body, span=span)
        if attrs:
            made = made.with_attrs(attrs)
        in_kernel = "incore scope" in reader.scopes or reader.function_type.name.startswith(("InCore", "AI"))
        if not in_kernel and not reader.source.printed:
            made = InCoreScopeStmt(body=made, span=span)
        reader.emit(made)
        return
    core_num = _core_num(reader, head)
    if "deps" in head.nodes:
        raise reader.failure(ParserSyntaxError, "for ... in pl.spmd takes no deps=", head.nodes["deps"])
    split = head.split()
    slots = {"slot_num": head.attrs.pop("slot_num")} if "slot_num" in head.attrs else {}
    attrs = head.finish(None)
    sync = head.flag("sync_start")
    body = _indexed_body(reader, node, BLOCK_INDEX, "spmd")
    inner: Any = InCoreScopeStmt(split, name, body=body, span=span)
    if slots:
        inner = inner.with_attrs(slots)
    outer_name = f"{name}_spmd" if name else ""
    _emit(reader, call, SpmdScopeStmt(core_num, sync, outer_name, body=inner, span=span), attrs)


def _indexed_body(reader: Reader, node: ast.For, operator: str, loop: str) -> Stmt:
    """The body of a scope written as a loop, which begins by assigning the target its index.

    In code that people write, the target is a variable of the body alone. In a printed program it is a name like any other.
    """
    target = node.target
    assert isinstance(target, ast.Name)
    until = reader.until
    first = header_end(reader.source.lines, node.lineno, node.body[0].lineno) + 1 if reader.comments else 0
    span = reader.source.span(target)
    block = Block("incore scope", reader.block)
    outer, before = reader.out, reader.names.get(target.id)
    reader.block, reader.out = block, []
    value = call_operator_named(reader, operator, [], target)
    own = not reader.source.printed
    if own:
        index = Var(target.id, ScalarType(DataType.INDEX), span)
        reader.home[index] = block
        reader.define(target.id, index)
        reader.emit(AssignStmt(index, value, span))
        reader.loops.append(loop)
    else:
        reader.assign(target.id, value, target, span)
    reader.scopes.append("incore scope")
    trailing = read_statements(reader, node.body, first, until)
    reader.scopes.pop()
    body = as_body(reader.out, trailing)
    assert block.parent is not None
    reader.block, reader.out = block.parent, outer
    block.is_open = False
    _keep_names(reader, block)
    if own:
        reader.loops.pop()
        if before is None:
            reader.names.pop(target.id, None)
        else:
            reader.names[target.id] = before
    return body
