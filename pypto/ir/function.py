"""Functions and programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pypto.diagnostics import InvalidTypeError, InvalidValueError
from pypto.ir.attrs import AttrValue, normalize_attrs
from pypto.ir.enums import IMPLIED_PLACE, FunctionType, Level, ParamDirection, Role, SplitMode
from pypto.ir.expr import Var
from pypto.ir.node import Field, FieldKind, Node, late
from pypto.ir.op import GlobalVar
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.stmt import Stmt
from pypto.ir.types import Type


class Function(Node):
    """A function. ``params`` entries are variables, or ``(variable, ParamDirection)``; level and role follow from the type when not given.

    Raises:
        InvalidValueError: a level or role that contradicts the function type.
    """

    __slots__ = (
        "attrs",
        "body",
        "func_type",
        "level",
        "name",
        "param_directions",
        "params",
        "requires_runtime_binding",
        "return_types",
        "role",
    )
    FIELDS = (
        Field("name", FieldKind.DATA, compared=False),
        Field("params", FieldKind.DEFS),
        Field("param_directions", FieldKind.DATA),
        Field("func_type", FieldKind.DATA),
        Field("level", FieldKind.DATA),
        Field("role", FieldKind.DATA),
        Field("attrs", FieldKind.ATTRS),
        Field("requires_runtime_binding", FieldKind.DATA),
        Field("return_types", FieldKind.TYPES),
        Field("body", FieldKind.STMT),
    )

    def __init__(
        self,
        name: str,
        params: Sequence[Var | tuple[Var, ParamDirection]],
        return_types: Sequence[Type],
        body: Stmt,
        span: Span = UNKNOWN,
        type: FunctionType = FunctionType.Opaque,
        level: Level | None = None,
        role: Role | None = None,
        attrs: Mapping[str, Any] | None = None,
        requires_runtime_binding: bool = False,
    ) -> None:
        self.name = name
        self.params: Sequence[Var] = []
        self.param_directions: Sequence[ParamDirection] = []
        for entry in params:
            var, direction = entry if isinstance(entry, tuple) else (entry, ParamDirection.In)
            self.params.append(var)
            self.param_directions.append(direction)
        self.return_types: Sequence[Type] = [*return_types]
        self.body = body
        self.span = span
        self.func_type = type
        self.level, self.role = implied_place(name, type, level, role, span)
        self.attrs: Mapping[str, AttrValue] = normalize_attrs(attrs)
        self.requires_runtime_binding = requires_runtime_binding

    @property
    def split(self) -> SplitMode | None:
        """The split mode of the function, None when it has none."""
        value = self.attrs.get("split")
        return SplitMode(value) if isinstance(value, int) and value else None

    @property
    def is_host_orchestrator(self) -> bool:
        """Level HOST and role Orchestrator, whatever the type."""
        return self.level is Level.HOST and self.role is Role.Orchestrator

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """Run the function on arrays; see ``pypto.runtime.run``."""
        return late("pypto.runtime").run(self, *arrays, **options)


def implied_place(
    name: str, type_: FunctionType, level: Level | None, role: Role | None, span: Span = UNKNOWN
) -> tuple[Level | None, Role | None]:
    """Level and role of a function: what was written, completed by what its type implies.

    Raises:
        InvalidValueError: what was written contradicts the type.
    """
    implied = IMPLIED_PLACE.get(type_)
    if implied is None or (level is Level.HOST and role is Role.Orchestrator and type_ is FunctionType.Orchestration):
        return level, role
    if level is not None and level is not implied[0]:
        raise InvalidValueError(f"function {name!r} of type {type_.name} runs at level {implied[0].name}, not {level.name}", span)
    if role is not None and role is not implied[1]:
        raise InvalidValueError(f"function {name!r} of type {type_.name} has role {implied[1].name}, not {role.name}", span)
    return implied


class Program(Node):
    """Functions that call one another by name; ``functions`` maps the callee names to them, ordered by name.

    Raises:
        InvalidValueError: two functions of one name.
    """

    __slots__ = ("_by_name", "functions", "name")
    FIELDS = (Field("name", FieldKind.DATA, compared=False), Field("functions", FieldKind.FUNCTIONS))
    _by_name: dict[str, Function]

    def __init__(self, functions: Sequence[Function] | Mapping[Any, Function], name: str = "", span: Span = UNKNOWN) -> None:
        items = list(functions.values()) if isinstance(functions, Mapping) else list(functions)
        by_name: dict[str, Function] = {}
        for function in items:
            if not isinstance(function, Function):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise InvalidTypeError(f"a program holds functions, got {function!r}", span)
            if function.name in by_name:
                raise InvalidValueError(f"two functions of the program are called {function.name!r}", function.span)
            by_name[function.name] = function
        self._by_name = {key: by_name[key] for key in sorted(by_name)}
        self.functions: Mapping[GlobalVar, Function] = {GlobalVar(key): value for key, value in self._by_name.items()}
        self.name = name
        self.span = span

    def get_function(self, name: str) -> Function | None:
        """The function of that name, or None."""
        return self._by_name.get(name)

    def get_global_var(self, name: str) -> GlobalVar | None:
        """The callee of that name, or None."""
        return next((key for key in self.functions if key.name == name), None)

    def __getitem__(self, name: str) -> Function | None:
        return self._by_name.get(name)

    def with_functions(self, functions: Sequence[Function]) -> Program:
        """The same program with other functions; the same object when nothing differs."""
        same = len(functions) == len(self._by_name) and all(self._by_name.get(f.name) is f for f in functions)
        return self if same else Program(functions, self.name, self.span)

    def __call__(self, *arrays: Any, **options: Any) -> Any:
        """Run the entry function on arrays; see ``pypto.runtime.run``."""
        return late("pypto.runtime").run(self, *arrays, **options)
