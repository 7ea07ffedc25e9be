"""Random statements: definitions, assignments, calls for their effect, branches, loops and jumps."""

from __future__ import annotations

from typing import Any

from pypto.ir.dtypes import DataType
from pypto.ir.enums import ForKind, Level, Role, ScopeKind, SplitMode
from pypto.ir.expr import ConstInt, Expr, IterArg, MakeTuple, TupleGetItemExpr, Var, index_const
from pypto.ir.loop_bounds import loop_variable_dtype
from pypto.ir.stmt import YieldStmt
from pypto.ir.types import ArrayType, ScalarType, TupleType, Type, UnknownType
from pypto.testing.generation.operators import OperatorAuthor

SPACES = ("tile", "tile", "tile", "tensor", "tensor", "array", "system", "")


class StatementAuthor(OperatorAuthor):
    """Writes statements into the open function of ``builder``. ``namespaces`` are those whose operators are called."""

    namespaces: tuple[str, ...] = SPACES
    single_assignment = False
    scopes = True
    in_kernel = False

    def statements(self, most: int, depth: int, in_loop: bool = False) -> None:
        """Some statements."""
        for _ in range(self.count(most)):
            self.statement(depth, in_loop)

    def statement(self, depth: int, in_loop: bool) -> None:
        """One statement; compound ones as long as ``depth`` allows."""
        kind = self.random.randrange(24)
        if kind < 9:
            self.operator_statement()
        elif kind < 15:
            self.scalar_statement()
        elif kind == 15:
            self.tuple_statement()
        elif kind == 16 and not self.single_assignment:
            self.assignment()
        elif kind == 17 and in_loop:
            self.comment()
            _ = self.builder.break_stmt() if self.chance(0.5) else self.builder.continue_stmt()
        elif depth <= 0:
            self.scalar_statement()
        elif kind < 20:
            self.branch(depth)
        elif kind < 22:
            self.for_loop(depth)
        elif kind == 22:
            self.while_loop(depth)
        elif self.scopes:
            self.scope(depth)

    def operator_statement(self) -> None:
        """The result of an operator, or the operator for its effect."""
        made = self.call(self.namespaces) if self.namespaces else None
        if made is None:
            self.scalar_statement()
        elif isinstance(made.type, UnknownType) or self.chance(0.05):
            self.comment()
            self.builder.eval_stmt(made)
        else:
            result = self.emit(made)
            if isinstance(result.type, TupleType):
                for at in range(len(result.type.types)):
                    self.emit(TupleGetItemExpr(result, at))

    def scalar_statement(self) -> None:
        """A scalar expression under a name."""
        if self.chance(0.05):
            self.emit(self.chain(self.pick((3, 12, 40))))
        else:
            self.emit(self.scalar(None, self.pick((1, 2, 4))))

    def tuple_statement(self) -> None:
        """A tuple of values, an element of one, or another name of a value."""
        tuples = self.known(TupleType)
        if tuples and self.chance(0.5):
            chosen = self.pick(tuples)
            assert isinstance(chosen.type, TupleType)
            if chosen.type.types:
                self.emit(TupleGetItemExpr(chosen, self.random.randrange(len(chosen.type.types))))
        elif self.values and self.chance(0.5):
            self.emit(self.pick(self.values))
        else:
            self.emit(MakeTuple([self.any_value() for _ in range(self.count(3))]))

    def any_value(self) -> Expr:
        """A value in scope, or a scalar expression."""
        return self.pick(self.values) if self.values and self.chance(0.6) else self.scalar(None, 2)

    def value_of(self, type_: Type) -> Expr | None:
        """A value of exactly that type, None when there is none."""
        known = [v for v in self.values if v.type is type_ or v.type == type_]
        if isinstance(type_, ScalarType) and (not known or self.chance(0.4)):
            return None if type_.dtype is DataType.TASK_ID else self.scalar(type_.dtype, 2)
        return self.pick(known) if known else None

    def assignment(self) -> None:
        """A variable that gets another value."""
        targets = [v for v in self.values if type(v) is Var and v not in self.in_types and isinstance(v.type, ScalarType)]
        if not targets:
            return
        target = self.pick(targets)
        value = self.value_of(target.type)
        if value is not None and value is not target:
            self.comment()
            self.builder.assign(target, value)

    # -- control flow ------------------------------------------------------------------------------------------------------

    def condition(self) -> Expr:
        """A truth value."""
        return self.scalar(DataType.BOOL, 3)

    def branch(self, depth: int) -> None:
        """An ``if``, with an ``else`` or results or neither."""
        b = self.builder
        results = [self.carried_type() for _ in range(self.pick((0, 0, 1, 2)))]
        self.comment()
        with b.if_stmt(self.condition()) as branch:
            made = [branch.return_var(self.name(), type_) for type_ in results]
            with self.block():
                self.statements(3, depth - 1)
                self.hand_on(results)
            if results or self.chance(0.5):
                branch.else_()
                with self.block():
                    self.statements(3, depth - 1)
                    self.hand_on(results)
        self.values += made

    def carried_type(self) -> Type:
        """A type of which there is a value in scope."""
        known = [
            v
            for v in self.values
            if not isinstance(v.type, UnknownType | ArrayType) and v.type is not ScalarType(DataType.TASK_ID)
        ]
        return self.pick(known).type if known and self.chance(0.6) else ScalarType(self.dtype())

    def hand_on(self, types: list[Type]) -> None:
        """The yield at the end of a body."""
        if not types:
            return
        values = [self.value_of(type_) for type_ in types]
        assert all(value is not None for value in values)
        self.comment()
        self.builder.emit(YieldStmt([value for value in values if value is not None]))

    def for_loop(self, depth: int) -> None:
        """A counted loop of any kind, with carried values or without."""
        b = self.builder
        dtype = self.pick((DataType.INDEX, DataType.INDEX, DataType.INT32, DataType.INT64))
        bounds = [self.leaf(dtype) if self.chance(0.6) else self.scalar(dtype, 2) for _ in range(3)]
        if self.chance(0.5):
            bounds[0], bounds[2] = index_const(0), index_const(1)
        step = bounds[2]
        if isinstance(step, ConstInt) and step.value == 0:
            bounds[2] = ConstInt(2, step.dtype)
        kind = self.pick((ForKind.Sequential, *ForKind))
        attrs = {"pipeline_stages": 2} if kind is ForKind.Pipeline else {}
        for _ in range(self.pick((0, 0, 0, 1, 2))):
            attrs[self.pick(("a", "odd key", "note"))] = self.plain_attribute()
        loop_var = Var(self.name(), ScalarType(loop_variable_dtype(bounds)) if self.chance(0.9) else ScalarType(DataType.INT64))
        types = [self.carried_type() for _ in range(self.pick((0, 0, 1, 2)))]
        starts = [self.value_of(type_) for type_ in types]
        self.comment()
        with b.for_loop(loop_var, bounds[0], bounds[1], bounds[2], kind=kind, attrs=attrs) as loop, self.block():
            carried = [loop.iter_arg(self.name(), start, type_) for start, type_ in zip(starts, types, strict=True)]
            made = [loop.return_var(self.name()) for _ in types]
            self.values += [loop_var, *carried]
            self.statements(4, depth - 1, in_loop=not types and kind is ForKind.Sequential)
            self.hand_on(types)
        self.values += made

    def while_loop(self, depth: int) -> None:
        """A while loop whose condition may read what it carries."""
        types = [self.carried_type() for _ in range(self.pick((0, 1, 2)))]
        starts = [self.value_of(type_) for type_ in types]
        self.comment()
        with self.builder.while_loop(self.condition()) as loop, self.block():
            carried: list[IterArg] = [
                loop.iter_arg(self.name(), start, type_) for start, type_ in zip(starts, types, strict=True)
            ]
            made = [loop.return_var(self.name()) for _ in types]
            self.values += carried
            loop.set_condition(self.condition())
            self.statements(3, depth - 1, in_loop=not types)
            self.hand_on(types)
        self.values += made

    def scope(self, depth: int) -> None:
        """A scope of any kind that people can write."""
        kind = self.pick(
            (ScopeKind.InCore, ScopeKind.Cluster, ScopeKind.Hierarchy, ScopeKind.Spmd, ScopeKind.Runtime, ScopeKind.SplitAiv)
        )
        options: dict[str, Any] = {}
        if kind is ScopeKind.Hierarchy:
            options = {"level": self.pick(tuple(Level)), "role": self.pick((None, *Role))}
        elif kind is ScopeKind.Spmd:
            options = {"core_num": self.pick((index_const(4), *self.scalars(DataType.INDEX))), "sync_start": self.chance(0.5)}
        elif kind is ScopeKind.SplitAiv:
            options = {"split": self.pick((SplitMode.UP_DOWN, SplitMode.LEFT_RIGHT))}
        elif kind is ScopeKind.InCore:
            options = {"split": self.pick((None, *SplitMode))}
        elif kind is ScopeKind.Runtime:
            options = {"manual": self.chance(0.5)}
        if self.in_kernel and kind in (ScopeKind.InCore, ScopeKind.SplitAiv):
            return
        before, self.in_kernel = self.in_kernel, self.in_kernel or kind is ScopeKind.InCore
        hint = self.pick(("", "", "hint", "two words"))
        self.comment()
        attrs = self.call_attributes() if self.chance(0.2) else None
        with self.builder.scope(kind, name_hint=hint, attrs=attrs, **options), self.block():
            self.statements(3, depth - 1)
            self.scalar_statement()
        self.in_kernel = before
