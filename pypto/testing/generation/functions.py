"""Random functions and programs."""

from __future__ import annotations

from typing import Any

from pypto.ir.dtypes import DataType
from pypto.ir.enums import FunctionType, Level, MemorySpace, ParamDirection, Role
from pypto.ir.expr import Call
from pypto.ir.function import Function, Program
from pypto.ir.op import GlobalVar
from pypto.ir.span import UNKNOWN
from pypto.ir.stmt import ReturnStmt
from pypto.ir.types import ArrayType, ScalarType, TensorType, TileType, Type, UnknownType
from pypto.ir.utilities import call_result_type
from pypto.testing.generation.author import COMMENTS
from pypto.testing.generation.scalars import COMMON
from pypto.testing.generation.statements import StatementAuthor

FUNCTION_NAMES = ("f", "kernel", "main", "x", "helper", "größe", "f_1")


class FunctionAuthor(StatementAuthor):
    """Writes functions and programs for reading and printing: well typed, though not meant to be run."""

    def __init__(self, random: Any) -> None:
        super().__init__(random)
        self.functions: list[Function] = []

    def statement(self, depth: int, in_loop: bool) -> None:
        if self.functions and self.chance(0.15):
            self.function_call()
        else:
            super().statement(depth, in_loop)

    def function_call(self) -> None:
        """A call of a function of the program that takes what is in scope."""
        callee = self.pick(self.functions)
        args = [self.value_of(param.type) for param in callee.params]
        if any(arg is None for arg in args):
            return
        given = [arg for arg in args if arg is not None]
        type_ = call_result_type(callee, given)
        attrs = self.call_attributes() if self.chance(0.2) else None
        call = Call(GlobalVar(callee.name), given, self.pick(({}, {}, {"k": 1, "s": "x"})), attrs, type_, UNKNOWN)
        if isinstance(type_, UnknownType):
            self.comment()
            self.builder.eval_stmt(call)
        else:
            self.emit(call)

    def function(self, name: str, size: int = 8, depth: int = 3) -> Function:
        """A function over everything: scalars, tiles, tensors, control flow."""
        self.values, self.dims, self.in_types = [], [], set()
        for _ in range(self.pick((0, 0, 1, 2))):
            self.dynamic_dim()
        kind = self.pick((FunctionType.Opaque, FunctionType.Opaque, FunctionType.InCore, *FunctionType))
        place: dict[str, Any] = {}
        if kind is FunctionType.Opaque and self.chance(0.3):
            place = {"level": self.pick(tuple(Level)), "role": self.pick((None, Role.Orchestrator))}
        b = self.builder
        binding = self.chance(0.03)
        with b.function(name, type=kind, attrs=self.function_attributes(), requires_runtime_binding=binding, **place) as f:
            types: list[Type] = [self.any_type() for _ in range(self.count(3))]
            types += self.usual_types() if self.chance(0.8) else []
            for type_ in types:
                direction = self.pick(tuple(ParamDirection)) if isinstance(type_, TensorType) else ParamDirection.In
                self.values.append(f.param(self.name(), type_, direction=direction))
            if binding:
                # a dimension that only a result mentions is the same in another program only under the strict comparison
                self.dims = []
                for _ in range(self.count(2)):
                    f.return_type(self.any_type())
            else:
                self.statements(size, depth)
                self.returned(f)
        return f.get_result()

    def usual_types(self) -> list[Type]:
        """Types that operators like: tiles and tensors of one shape, columns, rows, integers, scalars."""
        dtype = self.pick((DataType.FP32, DataType.FP32, DataType.FP16, DataType.BF16))
        types: list[Type] = [ScalarType(DataType.INDEX), ScalarType(self.pick(COMMON))]
        vec = MemorySpace.Vec
        for shape in ([16, 16], [16, 16], [16, 1], [1, 16]):
            types += [TensorType(shape, dtype), TileType(shape, dtype, None, None, vec)]
        spaces = self.pick(((MemorySpace.Left, MemorySpace.Right, MemorySpace.Acc), (MemorySpace.Mat, None, vec)))
        types += [TileType([16, 16], dtype, None, None, space) for space in spaces]
        integer = self.pick((DataType.INT32, DataType.INT32, DataType.UINT8, DataType.INT16, DataType.UINT32))
        types += [TensorType([16, 16], integer), TileType([16, 16], integer, None, None, vec)]
        return types

    def function_attributes(self) -> dict[str, Any]:
        """Attributes that a function can have: those of its own syntax, and any other."""
        attrs: dict[str, Any] = {}
        if self.chance(0.2):
            attrs["split"] = self.pick((0, 1, 2))
        if self.chance(0.1):
            attrs["auto_scope"] = self.chance(0.5)
        if self.chance(0.2):
            attrs.update(self.attributes())
        return attrs

    def returned(self, f: Any) -> None:
        """The return of a function, or none."""
        if self.chance(0.1):
            self.builder.push_pending_leading_comments(self.pick(COMMENTS))
        if self.chance(0.1):
            if self.chance(0.5):
                self.builder.emit(ReturnStmt([]))
            return
        values = [v for v in [self.any_value() for _ in range(self.pick((1, 1, 2, 3)))] if not isinstance(v.type, ArrayType)]
        for value in values:
            f.return_type(value.type)
        self.comment()
        self.builder.return_stmt(values)

    def program(self, size: int = 8, depth: int = 3) -> Program:
        """A program of one to three functions, of which later ones call earlier ones."""
        self.functions = []
        names = [*FUNCTION_NAMES]
        for _ in range(1 + self.count(2)):
            name = names.pop(self.random.randrange(len(names)))
            self.functions.append(self.function(name, size, depth))
        functions, self.functions = self.functions, []
        return Program(functions, self.pick(("Program", "P", "x", "Größe")))

    def scalar_function(self, size: int = 8) -> Function:
        """A function of scalars and control flow alone."""
        self.values, self.dims, self.in_types = [], [], set()
        self.namespaces = ()
        with self.builder.function(self.pick(FUNCTION_NAMES)) as f:
            for _ in range(self.count(4)):
                self.values.append(f.param(self.name(), ScalarType(self.dtype())))
            self.statements(size, 3)
            self.returned(f)
        del self.namespaces
        return f.get_result()
