"""Walking and rewriting: :class:`IRVisitor` and :class:`IRMutator`. Subclass one and override ``visit_<snake_case class name>``.

The default of every method descends as the ``FIELDS`` of the node say. ``visit_binary_expr`` and ``visit_unary_expr`` are called for
every such kind whose own method is not overridden, ``visit_var_like`` (visitor only) for every kind of variable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pypto.diagnostics import InternalError
from pypto.ir.attrs import AttrValue
from pypto.ir.expr import BinaryExpr, Expr, IterArg, MakeTuple, TupleGetItemExpr, UnaryExpr, Var
from pypto.ir.function import Function, Program
from pypto.ir.node import NODE_KINDS, FieldKind, Node
from pypto.ir.stmt import SeqStmts, Stmt, body_of
from pypto.ir.type_parts import change_all, is_closed, map_type, type_expressions
from pypto.ir.types import TupleType, Type

__all__ = ["IRMutator", "IRVisitor", "method_name"]

_DEEP = 100
"""Operators nested deeper than this are visited bottom-up, so that long chains do not exhaust the stack."""

_MISSING: Any = object()


def method_name(kind: type[Node]) -> str:
    """The visitor method of a node class: ``visit_`` and its name in snake case."""
    return "visit_" + re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def _concrete_kinds() -> list[type[Node]]:
    return [kind for name, kind in NODE_KINDS.items() if not name.startswith("_") and kind not in _ABSTRACT]


_ABSTRACT = {Node, *(NODE_KINDS[name] for name in ("Expr", "Stmt", "BinaryExpr", "UnaryExpr", "ScopeStmt"))}


class _Dispatch:
    """Finding the method for a node class, once per visitor class; and the depth guard for operators that are overridden."""

    _methods: ClassVar[dict[type, Callable[[Any, Any], Any]]] = {}
    _operator_depth = 0
    _ready: dict[int, Any] | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._methods = {}

    @classmethod
    def _find(cls, kind: type[Node]) -> Callable[[Any, Any], Any]:
        names = [method_name(base) for base in kind.__mro__ if issubclass(base, Node) and base not in _ABSTRACT]
        method = next((getattr(cls, name) for name in names if hasattr(cls, name)), cls._visit_fields)
        if issubclass(kind, BinaryExpr | UnaryExpr):
            method = cls._operator_method(kind, method)
        cls._methods[kind] = method
        return method

    @classmethod
    def _operator_method(cls, kind: type[Node], method: Any) -> Any:
        group = "visit_binary_expr" if issubclass(kind, BinaryExpr) else "visit_unary_expr"
        if getattr(method, "is_default", False):
            method = getattr(cls, group)
            if getattr(method, "is_default", False) and getattr(cls.visit_expr, "is_default", False):
                return cls._visit_operators
        return _guarded(method)

    def visit_expr(self, op: Expr) -> Any:
        """An expression by the method of its kind."""
        raise InternalError("a visitor derives from IRVisitor or IRMutator", op.span)

    def _visit_operators(self, op: Any) -> Any:
        """Operators that nobody overrides, without recursion."""
        raise InternalError("a visitor derives from IRVisitor or IRMutator", op.span)

    def _visit_fields(self, op: Any) -> Any:
        """A node by its ``FIELDS``."""
        raise InternalError("a visitor derives from IRVisitor or IRMutator", op.span)


def _default(method: Any) -> Any:
    method.is_default = True
    return method


def _operands(node: Any) -> tuple[Expr, ...]:
    if isinstance(node, BinaryExpr):
        return (node.left, node.right)
    if isinstance(node, UnaryExpr):
        return (node.operand,)
    return ()


def _guarded(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The overridden method of an operator, so that below a certain depth the operands are done first, from the bottom."""

    def visit(self: Any, op: Any) -> Any:
        ready: dict[int, Any] | None = self._ready
        if ready is not None:
            done = ready.get(id(op), _MISSING)
            if done is not _MISSING:
                return done
        depth = self._operator_depth
        self._operator_depth = depth + 1
        try:
            if depth == 0 or depth % _DEEP:
                return method(self, op)
            self._ready = done_below = dict[int, Any]()
            try:
                for below in _bottom_up(op):
                    done_below[id(below)] = method_of(self, below)
                return method(self, op)
            finally:
                self._ready = ready
        finally:
            self._operator_depth = depth

    def method_of(self: Any, node: Any) -> Any:
        find: Callable[[Any, Any], Any] = self._methods.get(node.__class__) or self._find(node.__class__)
        return find(self, node)

    return visit


def _bottom_up(op: Expr) -> list[Expr]:
    """The operator nodes below ``op``, operands before operators, left before right."""
    order: list[Expr] = []
    stack: list[Expr] = [op]
    while stack:
        current = stack.pop()
        below = [operand for operand in _operands(current) if isinstance(operand, BinaryExpr | UnaryExpr)]
        order.extend(reversed(below))
        stack.extend(below)
    order.reverse()
    return order


if TYPE_CHECKING:

    class _KindMethods:
        """One method for each kind of node, made from ``FIELDS`` when the module is loaded."""

        def visit_var(self, op: Any) -> Any: ...
        def visit_iter_arg(self, op: Any) -> Any: ...
        def visit_mem_ref(self, op: Any) -> Any: ...
        def visit_window_buffer(self, op: Any) -> Any: ...
        def visit_const_int(self, op: Any) -> Any: ...
        def visit_const_float(self, op: Any) -> Any: ...
        def visit_const_bool(self, op: Any) -> Any: ...
        def visit_call(self, op: Any) -> Any: ...
        def visit_submit(self, op: Any) -> Any: ...
        def visit_make_tuple(self, op: Any) -> Any: ...
        def visit_tuple_get_item_expr(self, op: Any) -> Any: ...
        def visit_add(self, op: Any) -> Any: ...
        def visit_sub(self, op: Any) -> Any: ...
        def visit_mul(self, op: Any) -> Any: ...
        def visit_floor_div(self, op: Any) -> Any: ...
        def visit_floor_mod(self, op: Any) -> Any: ...
        def visit_float_div(self, op: Any) -> Any: ...
        def visit_min(self, op: Any) -> Any: ...
        def visit_max(self, op: Any) -> Any: ...
        def visit_pow(self, op: Any) -> Any: ...
        def visit_eq(self, op: Any) -> Any: ...
        def visit_ne(self, op: Any) -> Any: ...
        def visit_lt(self, op: Any) -> Any: ...
        def visit_le(self, op: Any) -> Any: ...
        def visit_gt(self, op: Any) -> Any: ...
        def visit_ge(self, op: Any) -> Any: ...
        def visit_and(self, op: Any) -> Any: ...
        def visit_or(self, op: Any) -> Any: ...
        def visit_xor(self, op: Any) -> Any: ...
        def visit_bit_and(self, op: Any) -> Any: ...
        def visit_bit_or(self, op: Any) -> Any: ...
        def visit_bit_xor(self, op: Any) -> Any: ...
        def visit_bit_shift_left(self, op: Any) -> Any: ...
        def visit_bit_shift_right(self, op: Any) -> Any: ...
        def visit_abs(self, op: Any) -> Any: ...
        def visit_neg(self, op: Any) -> Any: ...
        def visit_not(self, op: Any) -> Any: ...
        def visit_bit_not(self, op: Any) -> Any: ...
        def visit_cast(self, op: Any) -> Any: ...
        def visit_assign_stmt(self, op: Any) -> Any: ...
        def visit_if_stmt(self, op: Any) -> Any: ...
        def visit_for_stmt(self, op: Any) -> Any: ...
        def visit_while_stmt(self, op: Any) -> Any: ...
        def visit_in_core_scope_stmt(self, op: Any) -> Any: ...
        def visit_cluster_scope_stmt(self, op: Any) -> Any: ...
        def visit_hierarchy_scope_stmt(self, op: Any) -> Any: ...
        def visit_spmd_scope_stmt(self, op: Any) -> Any: ...
        def visit_split_aiv_scope_stmt(self, op: Any) -> Any: ...
        def visit_runtime_scope_stmt(self, op: Any) -> Any: ...
        def visit_comm_domain_scope_stmt(self, op: Any) -> Any: ...
        def visit_seq_stmts(self, op: Any) -> Any: ...
        def visit_yield_stmt(self, op: Any) -> Any: ...
        def visit_return_stmt(self, op: Any) -> Any: ...
        def visit_eval_stmt(self, op: Any) -> Any: ...
        def visit_break_stmt(self, op: Any) -> Any: ...
        def visit_continue_stmt(self, op: Any) -> Any: ...
        def visit_inline_stmt(self, op: Any) -> Any: ...
else:

    class _KindMethods:
        """One method for each kind of node, made from ``FIELDS`` below."""


class IRVisitor(_Dispatch, _KindMethods):
    """Visits every node below the one given; methods return None.

    Seen are operands, bodies, parameters and other definitions, variables and expressions held in attributes, and for each variable
    the expressions inside its type (:meth:`visit_type`); the initial value of an iter arg where the loop defines it. Not seen are
    the return types of a function and the types of expressions that are not variables.
    """

    def visit_program(self, op: Program) -> None:
        """Visit the functions in name order."""
        for function in op.functions.values():
            self.visit_function(function)

    def visit_function(self, op: Function) -> None:
        """Visit parameters, attributes and body."""
        _visit_fields(self, op)

    @_default
    def visit_expr(self, op: Expr) -> None:
        """Visit an expression by the method of its kind."""
        kind = type(op)
        method = self._methods.get(kind) or self._find(kind)
        method(self, op)

    def visit_stmt(self, op: Stmt) -> None:
        """Visit a statement by the method of its kind."""
        kind = type(op)
        method = self._methods.get(kind) or self._find(kind)
        method(self, op)

    @_default
    def visit_binary_expr(self, op: BinaryExpr) -> None:
        """Called for every two-operand expression whose own method is not overridden."""
        self.visit_expr(op.left)
        self.visit_expr(op.right)

    @_default
    def visit_unary_expr(self, op: UnaryExpr) -> None:
        """Called for every one-operand expression whose own method is not overridden."""
        self.visit_expr(op.operand)

    def visit_var_like(self, op: Var) -> None:
        """Called for every variable, iter arg, memref and window whose own method is not overridden, wherever one occurs."""
        self.visit_type(op.type)

    def visit_type(self, type_: Type) -> None:
        """Visit the expressions that the type of a variable holds."""
        for part in type_expressions(type_):
            self.visit_expr(part)

    def _visit_fields(self, op: Any) -> None:
        _visit_fields(self, op)

    def _visit_operators(self, op: Any) -> None:
        methods = self._methods
        iterative = type(self)._visit_operators
        stack: list[Expr] = [op]
        while stack:
            current = stack.pop()
            method = methods.get(type(current)) or self._find(type(current))
            if method is iterative:
                stack.extend(reversed(_operands(current)))
            else:
                self.visit_expr(current)


def _visit_one(visitor: IRVisitor, value: Expr) -> None:
    visitor.visit_expr(value)


def _visit_optional(visitor: IRVisitor, value: Expr | None) -> None:
    if value is not None:
        visitor.visit_expr(value)


def _visit_many(visitor: IRVisitor, values: Sequence[Expr]) -> None:
    for value in values:
        visitor.visit_expr(value)


def _visit_definitions(visitor: IRVisitor, values: Sequence[Var]) -> None:
    for value in values:
        visitor.visit_expr(value)
        if isinstance(value, IterArg):
            visitor.visit_expr(value.initValue)


def _visit_stmt(visitor: IRVisitor, value: Stmt | None) -> None:
    if value is not None:
        visitor.visit_stmt(value)


def _visit_stmts(visitor: IRVisitor, values: Sequence[Stmt]) -> None:
    visit = visitor.visit_stmt
    for value in values:
        visit(value)


def _visit_attrs(visitor: IRVisitor, values: dict[str, AttrValue]) -> None:
    for value in values.values():
        if isinstance(value, Expr):
            visitor.visit_expr(value)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, Expr):
                    visitor.visit_expr(item)


_VISIT: dict[FieldKind, Callable[[Any, Any], None]] = {
    FieldKind.EXPR: _visit_one,
    FieldKind.OPTIONAL_EXPR: _visit_optional,
    FieldKind.EXPRS: _visit_many,
    FieldKind.DEF: _visit_one,
    FieldKind.DEFS: _visit_definitions,
    FieldKind.VARS: _visit_many,
    FieldKind.STMT: _visit_stmt,
    FieldKind.OPTIONAL_STMT: _visit_stmt,
    FieldKind.STMTS: _visit_stmts,
    FieldKind.ATTRS: _visit_attrs,
}

_PLANS: dict[type, tuple[tuple[str, Callable[[Any, Any], None]], ...]] = {}


def _plan(kind: type[Node]) -> tuple[tuple[str, Callable[[Any, Any], None]], ...]:
    plan = _PLANS.get(kind)
    if plan is None:
        steps = ((field.name, _VISIT[field.kind]) for field in kind.FIELDS if field.kind in _VISIT)
        plan = _PLANS[kind] = tuple(steps)
    return plan


def _visit_fields(visitor: IRVisitor, op: Node) -> None:
    for name, step in _plan(type(op)):
        step(visitor, getattr(op, name))


class IRMutator(_Dispatch, _KindMethods):
    """Rewrites what it visits; methods return the replacement, which is the same object when nothing changed below it.

    A definition that is replaced (because its type changed, or by an overridden ``visit_var``) is used at the later uses
    as well: ``var_map`` holds the replacements, and the default methods of variables look there. Expressions inside
    types and attributes are rewritten too. Nested sequences of statements are flattened; comments, spans and flags stay.
    """

    var_map: dict[Var, Expr]
    """What stands for a variable from its (replaced) definition on."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = super().__new__(cls)
        made.var_map = {}
        return made

    def visit_program(self, op: Program) -> Program:
        """The program with its functions visited in name order."""
        functions = [self.visit_function(function) for function in op.functions.values()]
        return op.with_functions(functions)

    def visit_function(self, op: Function) -> Function:
        """The function with parameters, attributes, return types and body rewritten."""
        return _rewrite_fields(self, op)

    @_default
    def visit_expr(self, op: Expr) -> Expr:
        """The replacement of an expression, by the method of its kind."""
        kind = type(op)
        method = self._methods.get(kind) or self._find(kind)
        return method(self, op)

    def visit_stmt(self, op: Stmt) -> Stmt:
        """The replacement of a statement, by the method of its kind; an empty sequence removes it, a longer one is spliced in."""
        kind = type(op)
        method = self._methods.get(kind) or self._find(kind)
        return method(self, op)

    def visit_type(self, type_: Type) -> Type:
        """The type with the expressions inside rewritten. Called for definitions, calls and return types."""
        return type_ if is_closed(type_) else map_type(type_, self.visit_expr)

    def visit_definition(self, var: Var) -> Var:
        """What is defined instead of ``var``: what its own method returns, else a fresh variable if its type or fields change.

        Raises:
            InternalError: the method replaced a definition by something that is not a variable.
        """
        new = self.visit_expr(var)
        if new is var:
            new = _rewrite_fields(self, var)
            if new is not var:
                new = new.replace(unique_id=Var("", var.type).unique_id)
        if not isinstance(new, Var):
            raise InternalError(
                f"{type(self).__name__} replaced the definition of {var.name_hint!r} by a {type(new).__name__}", var.span
            )
        if new is not var:
            self.var_map[var] = new
        return new

    @_default
    def visit_binary_expr(self, op: BinaryExpr) -> Expr:
        """Called for every two-operand expression whose own method is not overridden."""
        left, right = self.visit_expr(op.left), self.visit_expr(op.right)
        return op if left is op.left and right is op.right else op.replace(left=left, right=right)

    @_default
    def visit_unary_expr(self, op: UnaryExpr) -> Expr:
        """Called for every one-operand expression whose own method is not overridden."""
        operand = self.visit_expr(op.operand)
        return op if operand is op.operand else op.replace(operand=operand)

    def visit_make_tuple(self, op: MakeTuple) -> Expr:
        """A tuple of the rewritten elements, and of their types."""
        elements = change_all(op.elements, self.visit_expr)
        if elements is op.elements:
            return op
        return op.replace(elements=elements, type=TupleType([element.type for element in elements]))

    def visit_tuple_get_item_expr(self, op: TupleGetItemExpr) -> Expr:
        """The same element of the rewritten tuple."""
        source = self.visit_expr(op.tuple)
        if source is op.tuple:
            type_ = self.visit_type(op.type)
            return op if type_ is op.type else op.replace(type=type_)
        return TupleGetItemExpr(source, op.index, op.span)

    def visit_seq_stmts(self, op: SeqStmts) -> Stmt:
        """The statements rewritten, nested sequences flattened; the one statement that is left of several stands bare."""
        out: list[Stmt] = []
        comments: list[str] = []
        changed = False
        for stmt in op.stmts:
            new = self.visit_stmt(stmt)
            changed = changed or new is not stmt or isinstance(new, SeqStmts)
            if isinstance(new, SeqStmts) or comments:
                comments = _splice(out, new, comments)
            else:
                out.append(new)
        if not changed:
            return op
        kept_alone = len(out) == 1 and len(op.stmts) == 1
        body = SeqStmts(out, op.span) if kept_alone else body_of(out, op.span)
        trailing = [*comments, *op.trailing_comments]
        return body.replace(trailing_comments=[*body.trailing_comments, *trailing]) if trailing else body

    def _visit_fields(self, op: Any) -> Any:
        return _rewrite_fields(self, op)

    def _visit_operators(self, op: Any) -> Expr:
        methods = self._methods
        iterative = type(self)._visit_operators
        results: list[Expr] = []
        stack: list[tuple[Expr, bool]] = [(op, False)]
        while stack:
            current, done = stack.pop()
            if not done:
                method = methods.get(type(current)) or self._find(type(current))
                if method is not iterative:
                    results.append(self.visit_expr(current))
                    continue
                stack.append((current, True))
                stack.extend((operand, False) for operand in reversed(_operands(current)))
            elif isinstance(current, BinaryExpr):
                right, left = results.pop(), results.pop()
                same = left is current.left and right is current.right
                results.append(current if same else current.replace(left=left, right=right))
            else:
                assert isinstance(current, UnaryExpr)
                operand = results.pop()
                results.append(current if operand is current.operand else current.replace(operand=operand))
        return results.pop()


def _splice(out: list[Stmt], stmt: Stmt, comments: list[str]) -> list[str]:
    """Append a statement, sequences unfolded, with comments that stand before it; return those left for what follows."""
    if isinstance(stmt, SeqStmts):
        for inner in stmt.stmts:
            comments = _splice(out, inner, comments)
        return [*comments, *stmt.trailing_comments]
    if comments:
        stmt = stmt.replace(leading_comments=[*comments, *stmt.leading_comments])
    out.append(stmt)
    return []


def _rewrite_one(mutator: IRMutator, value: Expr) -> Expr:
    return mutator.visit_expr(value)


def _rewrite_optional(mutator: IRMutator, value: Expr | None) -> Expr | None:
    return None if value is None else mutator.visit_expr(value)


def _rewrite_many(mutator: IRMutator, values: Sequence[Expr]) -> Sequence[Expr]:
    return change_all(values, mutator.visit_expr)


def _rewrite_definition(mutator: IRMutator, value: Var) -> Var:
    return mutator.visit_definition(value)


def _rewrite_definitions(mutator: IRMutator, values: Sequence[Var]) -> Sequence[Var]:
    return change_all(values, mutator.visit_definition)  # type: ignore[arg-type, return-value]


def _rewrite_stmt(mutator: IRMutator, value: Stmt | None) -> Stmt | None:
    return None if value is None else mutator.visit_stmt(value)


def _rewrite_type(mutator: IRMutator, value: Type) -> Type:
    return mutator.visit_type(value)


def _rewrite_types(mutator: IRMutator, values: Sequence[Type]) -> Sequence[Type]:
    return change_all(values, mutator.visit_type)  # type: ignore[arg-type, return-value]


def _rewrite_attrs(mutator: IRMutator, values: dict[str, AttrValue]) -> dict[str, AttrValue]:
    changed: dict[str, AttrValue] | None = None
    for key, value in values.items():
        new: Any = value
        if isinstance(value, Expr):
            new = mutator.visit_expr(value)
        elif isinstance(value, list) and value and isinstance(value[0], Expr):
            variables: Any = value
            new = change_all(variables, mutator.visit_expr)
            if new is not value:
                # What has become a constant is no task, buffer or argument that the list could name.
                new = [item for item in new if isinstance(item, Var)]
        if new is not value:
            changed = dict(values) if changed is None else changed
            changed[key] = new
    return values if changed is None else changed


_REWRITE: dict[FieldKind, Callable[[Any, Any], Any]] = {
    FieldKind.EXPR: _rewrite_one,
    FieldKind.OPTIONAL_EXPR: _rewrite_optional,
    FieldKind.EXPRS: _rewrite_many,
    FieldKind.DEF: _rewrite_definition,
    FieldKind.DEFS: _rewrite_definitions,
    FieldKind.VARS: _rewrite_many,
    FieldKind.STMT: _rewrite_stmt,
    FieldKind.OPTIONAL_STMT: _rewrite_stmt,
    FieldKind.TYPE: _rewrite_type,
    FieldKind.TYPES: _rewrite_types,
    FieldKind.ATTRS: _rewrite_attrs,
}

_REWRITE_PLANS: dict[type, tuple[tuple[str, Callable[[Any, Any], Any]], ...]] = {}


def _rewrite_fields(mutator: IRMutator, op: Any) -> Any:
    kind: type[Node] = op.__class__
    plan = _REWRITE_PLANS.get(kind)
    if plan is None:
        steps = ((field.name, _REWRITE[field.kind]) for field in kind.FIELDS if field.kind in _REWRITE)
        plan = _REWRITE_PLANS[kind] = tuple(steps)
    changes: dict[str, Any] | None = None
    for name, step in plan:
        old = getattr(op, name)
        new = step(mutator, old)
        if new is not old:
            if changes is None:
                changes = {}
            changes[name] = new
    return op if changes is None else op.replace(**changes)


def _rewrite_var(mutator: IRMutator, op: Var) -> Expr:
    return mutator.var_map.get(op, op)


def _rewrite_buffer(mutator: IRMutator, op: Var) -> Expr:
    known = mutator.var_map.get(op)
    if known is not None:
        return known
    new: Var = _rewrite_fields(mutator, op)
    if new is not op:
        new = new.replace(unique_id=Var("", op.type).unique_id)
        mutator.var_map[op] = new
    return new


def _visit_var_like(visitor: IRVisitor, op: Var) -> None:
    visitor.visit_var_like(op)


def _visit_buffer(visitor: IRVisitor, op: Var) -> None:
    visitor.visit_var_like(op)
    _visit_fields(visitor, op)


def _visit_nothing(visitor: IRVisitor, op: Node) -> None:
    pass


def _same(mutator: IRMutator, op: Node) -> Node:
    return op


def _install() -> None:
    special = {"Var": (_visit_var_like, _rewrite_var), "IterArg": (_visit_var_like, _rewrite_var)}
    for buffer in ("MemRef", "WindowBuffer"):
        special[buffer] = (_visit_buffer, _rewrite_buffer)
    for kind in _concrete_kinds():
        name = method_name(kind)
        if issubclass(kind, BinaryExpr | UnaryExpr):
            group = "visit_binary_expr" if issubclass(kind, BinaryExpr) else "visit_unary_expr"
            visit = mutate = _default(_to_group(group))
        else:
            leaf = not any(field.kind in _VISIT for field in kind.FIELDS)
            visit, mutate = (_visit_nothing, _same) if leaf else (_visit_fields, _rewrite_fields)
            visit, mutate = special.get(kind.__name__, (visit, mutate))
        for cls, method in ((IRVisitor, visit), (IRMutator, mutate)):
            if name not in cls.__dict__:
                setattr(cls, name, method)


def _to_group(group: str) -> Any:
    def visit(self: Any, op: Any) -> Any:
        return getattr(self, group)(op)

    return visit


_install()
