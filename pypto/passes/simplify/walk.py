"""The walk over the statements of a function: folding, decided branches, loops of no or one iteration."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from pypto.ir.arith import ConstIntBound
from pypto.ir.arith.const_int_bound import NEG_INF, POS_INF, Interval
from pypto.ir.arith.values import contains_call, in_order
from pypto.ir.dtypes import DataType
from pypto.ir.enums import ForKind
from pypto.ir.expr import Add, Call, ConstBool, ConstInt, Expr, Ge, IterArg, Le, Lt, Not, Var, WindowBuffer
from pypto.ir.function import Function
from pypto.ir.node import FieldKind
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.stmt import (
    AssignStmt,
    BreakStmt,
    CommDomainScopeStmt,
    ContinueStmt,
    ForStmt,
    IfStmt,
    ReturnStmt,
    ScopeStmt,
    SeqStmts,
    Stmt,
    WhileStmt,
    YieldStmt,
    flatten_to_stmts,
)
from pypto.ir.type_parts import change_all
from pypto.ir.types import ScalarType, Type
from pypto.passes.rewrite import comment, definitions, edit_end, final_yield, fold, fresh_copy, has_jump, statements
from pypto.passes.simplify.expressions import CONSTANTS, Folder, same_kind

_LEAVING = (ReturnStmt, BreakStmt, ContinueStmt)


def simplified(function: Function) -> Function:
    """The function with expressions and control flow folded; the same object when nothing changes."""
    return _Walk(function).run()


class _Walk:
    def __init__(self, function: Function) -> None:
        self.function = function
        self.folder = Folder()
        self.count: Counter[Var] = Counter(function.params)
        for stmt in statements(function.body):
            for var in definitions(stmt):
                self.count[var] += 1
        self.windows: dict[Var, WindowBuffer] = {}
        self.seen: set[Var] = set(function.params)
        for var, times in self.count.items():
            if var not in self.seen or times > 1:
                self.folder.know_nothing(var)

    def run(self) -> Function:
        function = self.function
        body = self.block(function.body, True)
        types = change_all(function.return_types, self.folder.type)  # type: ignore[arg-type]
        attrs = self.folder.attrs(function.attrs)
        if body is function.body and types is function.return_types and attrs is function.attrs:
            return function
        return function.replace(body=body, return_types=types, attrs=attrs)

    # -- variables --------------------------------------------------------------------------------------------------

    def stable(self, var: Var) -> bool:
        """True for a variable with one definition, which therefore never changes while it can be read."""
        return self.count[var] == 1

    def fixed(self, expr: Expr) -> bool:
        """True when the value of an expression cannot change after this point, and nothing is called for it."""
        if isinstance(expr, CONSTANTS):
            return True
        if isinstance(expr, Var):
            return self.count[expr] <= 1
        if contains_call(expr):
            return False
        return all(self.count[node] <= 1 for node in in_order(expr, lambda e: False) if isinstance(node, Var))

    def redefined(self, var: Var, type_: Type) -> Var:
        """The variable, or where its type changes another that stands for it from now on."""
        self.seen.add(var)
        if type_ is var.type:
            return var
        known = self.folder.replacement(var)
        if known is not var and isinstance(known, Var):
            return known
        new = fresh_copy(var, type_)
        self.count[new] = self.count[var]
        self.folder.put(var, new)
        self.folder.know_nothing(new)
        self.seen.add(new)
        return new

    def learn(self, var: Var, value: Expr, top: bool) -> None:
        """Use the value of a scalar that is assigned once."""
        type_ = var.type
        if not isinstance(type_, ScalarType) or not self.stable(var):
            return
        if top and isinstance(value, CONSTANTS):
            constant = same_kind(value, type_)
            if constant is not None:
                self.folder.put(var, constant)
                return
        if type_.dtype.is_int() and isinstance(value.type, ScalarType):
            self.folder.know_value(var, value)

    def bind(self, var: Var, value: Expr, span: Span, top: bool) -> list[Stmt]:
        """Let ``value`` stand for ``var``; statements are needed where it may not."""
        simple = isinstance(value, (Var, *CONSTANTS))
        if simple and self.stable(var) and self.fixed(value) and value.type == var.type:
            self.folder.put(var, value)
            return []
        new = self.redefined(var, self.folder.follow(var.type, var.type, value.type))
        self.learn(new, value, top)
        return [AssignStmt(new, value, span)]

    # -- statements -------------------------------------------------------------------------------------------------

    def block(self, body: Stmt, top: bool) -> Stmt:
        if not isinstance(body, SeqStmts):
            new = self.statement(body, top, False)
            return new if new is body or not isinstance(new, SeqStmts) else fold([new], (), body.span)
        stmts = body.stmts
        keep_tail = bool(stmts) and isinstance(stmts[-1], YieldStmt)
        out: list[Stmt] = []
        changed = False
        for at, stmt in enumerate(stmts):
            new = self.statement(stmt, top, keep_tail)
            out.append(new)
            if new is not stmt:
                changed = True
                if isinstance(new, SeqStmts) and at < len(stmts) - 1 and _leaves(new):
                    break
        return fold(out, body.trailing_comments, body.span) if changed else body

    def statement(self, stmt: Stmt, top: bool, keep_tail: bool) -> Stmt:
        if isinstance(stmt, AssignStmt):
            return self.assign(stmt, top)
        if isinstance(stmt, IfStmt):
            return self.branch(stmt, top, keep_tail)
        if isinstance(stmt, ForStmt):
            return self.counted_loop(stmt, top, keep_tail)
        if isinstance(stmt, WhileStmt):
            return self.while_loop(stmt)
        if isinstance(stmt, SeqStmts):
            return self.block(stmt, top)
        if isinstance(stmt, ScopeStmt):
            return self.scope(stmt)
        return self.operands(stmt)

    def operands(self, stmt: Stmt) -> Stmt:
        """The operands of a statement without definitions and bodies, folded."""
        changes: dict[str, Any] = {}
        for name, kind, _ in stmt.FIELDS:
            value = getattr(stmt, name)
            if kind is FieldKind.EXPR:
                new: Any = self.folder.expr(value)
            elif kind is FieldKind.EXPRS:
                new = self.folder.exprs(value)
            else:
                continue
            if new is not value:
                changes[name] = new
        return stmt.replace(**changes) if changes else stmt

    def assign(self, stmt: AssignStmt, top: bool) -> Stmt:
        value = self.folder.expr(stmt.value)
        if isinstance(stmt.value, Call) and isinstance(value, Var):
            # a view that shows its operand as it is
            self.seen.add(stmt.var)
            return SeqStmts([*comment(stmt.leading_comments), *self.bind(stmt.var, value, stmt.span, top)], stmt.span)
        old = stmt.value.type
        window = self.windows.get(stmt.var)
        if window is not None and isinstance(value, Call) and value is not stmt.value:
            # the size of a window is that of its allocation
            self.folder.put(
                window, WindowBuffer(stmt.var, value.args[0], window.load_from_host, window.store_to_host, window.span)
            )
        var = self.redefined(stmt.var, self.folder.follow(stmt.var.type, old, value.type))
        self.learn(stmt.var, value, top)
        if var is not stmt.var:
            self.learn(var, value, top)
        if value is stmt.value and var is stmt.var:
            return stmt
        return stmt.replace(var=var, value=value)

    def scope(self, stmt: ScopeStmt) -> Stmt:
        changes: dict[str, Any] = {}
        attrs = self.folder.attrs(stmt.attrs)
        if attrs is not stmt.attrs:
            changes["attrs"] = attrs
        for name, kind, _ in stmt.FIELDS:
            if kind is FieldKind.EXPR:
                new = self.folder.expr(getattr(stmt, name))
                if new is not getattr(stmt, name):
                    changes[name] = new
        if isinstance(stmt, CommDomainScopeStmt):
            self.windows.update({window.base: window for window in stmt.slots})
        body = self.block(stmt.body, False)
        if body is not stmt.body:
            changes["body"] = body
        if isinstance(stmt, CommDomainScopeStmt):
            slots = change_all(stmt.slots, self.folder.replacement)  # type: ignore[arg-type]
            if slots is not stmt.slots:
                changes["slots"] = slots
        return stmt.replace(**changes) if changes else stmt

    # -- branches ---------------------------------------------------------------------------------------------------

    def branch(self, stmt: IfStmt, top: bool, keep_tail: bool) -> Stmt:
        condition = self.folder.expr(stmt.condition)
        decided = self.decide(condition)
        if decided is not None:
            chosen = stmt.then_body if decided else stmt.else_body
            if chosen is None:
                return SeqStmts(comment(stmt.leading_comments), stmt.span)
            if not (keep_tail and isinstance(_last(chosen), _LEAVING)):
                return self.spliced(stmt, chosen, [], top)
        then_body = self.under(condition, True, stmt.then_body)
        else_body = None if stmt.else_body is None else self.under(condition, False, stmt.else_body)
        results = self.results(stmt.return_vars, _yielded(stmt.then_body), _yielded(then_body))
        if (
            condition is stmt.condition
            and then_body is stmt.then_body
            and else_body is stmt.else_body
            and results is stmt.return_vars
        ):
            return stmt
        return stmt.replace(condition=condition, then_body=then_body, else_body=else_body, return_vars=results)

    def decide(self, condition: Expr) -> bool | None:
        if isinstance(condition, ConstBool):
            return condition.value
        if isinstance(condition, Var) or contains_call(condition):
            return None
        analyzer = self.folder.analyzer
        if analyzer.can_prove(condition):
            return True
        return False if analyzer.can_prove(Not(condition, DataType.BOOL, condition.span)) else None

    def under(self, condition: Expr, holds: bool, body: Stmt) -> Stmt:
        """A body under a condition, which is only used when nothing in it can change."""
        names = [node for node in in_order(condition, lambda e: False) if isinstance(node, Var)]
        if not all(self.stable(var) and var in self.seen for var in names) or contains_call(condition):
            return self.block(body, False)
        if not holds:
            condition = Not(condition, DataType.BOOL, condition.span)
        with self.folder.analyzer.constraint_context(condition):
            return self.block(body, False)

    def results(self, names: Sequence[Var], old: Sequence[Expr], new: Sequence[Expr]) -> Sequence[Var]:
        """The variables that take what a body yields."""
        made: list[Var] = []
        for at, var in enumerate(names):
            if at < len(old) and at < len(new):
                type_ = self.folder.follow(var.type, old[at].type, new[at].type)
            else:
                type_ = self.folder.type(var.type)
            made.append(self.redefined(var, type_))
        return names if all(a is b for a, b in zip(made, names, strict=True)) else made

    def spliced(self, stmt: IfStmt | ForStmt, body: Stmt, before: list[Stmt], top: bool) -> Stmt:
        """The statements of a body in the place of the statement around it; what it yields stands for the results."""
        inner = self.block(body, top)
        last = final_yield(inner)
        after: list[Stmt] = []
        if last is not None:
            inner = edit_end(inner, lambda _: [])
            for var, value in zip(stmt.return_vars, last.value, strict=False):
                after += self.bind(var, value, last.span, top)
        return SeqStmts([*comment(stmt.leading_comments), *before, inner, *after], stmt.span)

    # -- loops ------------------------------------------------------------------------------------------------------

    def counted_loop(self, stmt: ForStmt, top: bool, keep_tail: bool) -> Stmt:
        fold_expr = self.folder.expr
        start, stop, step = fold_expr(stmt.start), fold_expr(stmt.stop), fold_expr(stmt.step)
        inits = [fold_expr(arg.initValue) for arg in stmt.iter_args]
        if stmt.kind is ForKind.Sequential and not stmt.attrs:
            trips = self.trips(start, stop, step)
            if trips == 0:
                return self.never(stmt, inits, top)
            if trips == 1 and self.dissolves(stmt, keep_tail):
                return self.once(stmt, start, inits, top)
        interval = self.loop_bounds(start, stop, step)
        loop_var = self.redefined(stmt.loop_var, stmt.loop_var.type)
        if interval is not None and self.stable(loop_var):
            self.folder.analyzer.const_int_bound.update(loop_var, ConstIntBound(*interval))
        iter_args = self.carried(stmt.iter_args, inits)
        body = self.block(stmt.body, False)
        results = self.loop_results(stmt, iter_args)
        changes = {
            "start": start,
            "stop": stop,
            "step": step,
            "iter_args": iter_args,
            "body": body,
            "return_vars": results,
        }
        return _changed(stmt, changes)

    def while_loop(self, stmt: WhileStmt) -> Stmt:
        inits = [self.folder.expr(arg.initValue) for arg in stmt.iter_args]
        iter_args = self.carried(stmt.iter_args, inits)
        condition = self.folder.expr(stmt.condition)
        body = self.under(condition, True, stmt.body)
        results = self.loop_results(stmt, iter_args)
        changes = {"condition": condition, "iter_args": iter_args, "body": body, "return_vars": results}
        return _changed(stmt, changes)

    def carried(self, args: Sequence[IterArg], inits: Sequence[Expr]) -> Sequence[IterArg]:
        made: list[IterArg] = []
        for arg, init in zip(args, inits, strict=True):
            self.seen.add(arg)
            type_ = self.folder.follow(arg.type, arg.initValue.type, init.type)
            if init is arg.initValue and type_ is arg.type:
                made.append(arg)
                continue
            new = IterArg(arg.name_hint, type_, init, arg.span)
            self.count[new] = self.count[arg]
            self.seen.add(new)
            self.folder.put(arg, new)
            self.folder.know_nothing(new)
            made.append(new)
        return args if all(a is b for a, b in zip(made, args, strict=True)) else made

    def loop_results(self, stmt: ForStmt | WhileStmt, iter_args: Sequence[IterArg]) -> Sequence[Var]:
        return self.results(stmt.return_vars, stmt.iter_args, iter_args)

    def trips(self, start: Expr, stop: Expr, step: Expr) -> int | None:
        """How often a loop runs: 0, 1, 2 for more, None when that is not known."""
        if not isinstance(step, ConstInt) or step.value == 0:
            return None
        if isinstance(start, ConstInt) and isinstance(stop, ConstInt):
            return min(len(range(start.value, stop.value, step.value)), 2)
        if not (_is_wide(start) and _is_wide(stop)) or contains_call(start) or contains_call(stop):
            return None
        prove = self.folder.analyzer.can_prove
        first, last = (start, stop) if step.value > 0 else (stop, start)
        if prove(Ge(first, last, DataType.BOOL, UNKNOWN)):
            return 0
        size = ConstInt(abs(step.value), DataType.INDEX, UNKNOWN)
        if not prove(Lt(first, last, DataType.BOOL, UNKNOWN)):
            return None
        return 1 if prove(Le(last, Add(first, size, DataType.INDEX, UNKNOWN), DataType.BOOL, UNKNOWN)) else None

    def loop_bounds(self, start: Expr, stop: Expr, step: Expr) -> Interval | None:
        """The interval of the loop variable."""
        if not isinstance(step, ConstInt) or step.value == 0:
            return None
        bound = self.folder.analyzer.const_int_bound.bound
        first, last = bound(start), bound(stop)
        if step.value > 0:
            low, high = first[0], POS_INF if last[1] >= POS_INF else last[1] - 1
        else:
            low, high = NEG_INF if last[0] <= NEG_INF else last[0] + 1, first[1]
        return (low, high) if low <= high else None

    def dissolves(self, stmt: ForStmt, keep_tail: bool) -> bool:
        if has_jump(stmt.body) or not all(self.stable(arg) for arg in stmt.iter_args):
            return False
        return not (keep_tail and isinstance(_last(stmt.body), _LEAVING))

    def never(self, stmt: ForStmt, inits: Sequence[Expr], top: bool) -> Stmt:
        out: list[Stmt] = comment(stmt.leading_comments)
        for var, init in zip(stmt.return_vars, inits, strict=False):
            new = self.redefined(var, self.folder.follow(var.type, var.type, init.type))
            self.learn(new, init, top)
            out.append(AssignStmt(new, init, stmt.span))
        return SeqStmts(out, stmt.span)

    def once(self, stmt: ForStmt, start: Expr, inits: Sequence[Expr], top: bool) -> Stmt:
        before: list[Stmt] = []
        loop_var = stmt.loop_var
        self.seen.add(loop_var)
        value = same_kind(start, loop_var.type) or start
        if self.stable(loop_var) and value.type is loop_var.type and self.fixed(value):
            self.folder.put(loop_var, value)
        else:
            before.append(AssignStmt(loop_var, value, stmt.span))
        for arg, init in zip(stmt.iter_args, inits, strict=True):
            self.seen.add(arg)
            if isinstance(init, (Var, *CONSTANTS)) and self.fixed(init) and init.type == arg.type:
                self.folder.put(arg, init)
                continue
            copy = Var(arg.name_hint, init.type, arg.span)
            self.count[copy] = 1
            self.seen.add(copy)
            self.folder.put(arg, copy)
            self.folder.know_nothing(copy)
            before.append(AssignStmt(copy, init, stmt.span))
        return self.spliced(stmt, stmt.body, before, top)


def _changed(stmt: Stmt, fields: dict[str, Any]) -> Stmt:
    changes = {name: value for name, value in fields.items() if value is not getattr(stmt, name)}
    return stmt.replace(**changes) if changes else stmt


def _yielded(body: Stmt) -> Sequence[Expr]:
    last = final_yield(body)
    return () if last is None else last.value


def _last(body: Stmt) -> Stmt | None:
    stmts = flatten_to_stmts(body)
    return stmts[-1] if stmts else None


def _leaves(body: Stmt) -> bool:
    return isinstance(_last(body), _LEAVING)


def _is_wide(expr: Expr) -> bool:
    return isinstance(expr.type, ScalarType) and expr.type.dtype in (DataType.INDEX, DataType.INT64)
