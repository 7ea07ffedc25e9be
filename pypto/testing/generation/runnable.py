"""Random programs that can be run: indices stay inside, loops end, nothing is divided by zero, and numbers stay small."""

from __future__ import annotations

from typing import Any

from pypto.ir import expr as nodes
from pypto.ir import scalar
from pypto.ir.dtypes import DataType
from pypto.ir.enums import CastMode, ForKind, FunctionType, MemorySpace, PadValue, ParamDirection
from pypto.ir.expr import Call, Cast, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, Not, TupleGetItemExpr, Var, index_const
from pypto.ir.function import Function, Program
from pypto.ir.op import GlobalVar, get_op
from pypto.ir.span import UNKNOWN
from pypto.ir.stmt import YieldStmt
from pypto.ir.types import ScalarType, TensorType, TileType, Type
from pypto.ir.utilities import call_result_type
from pypto.ops.declare import Declaration
from pypto.testing.generation.functions import FunctionAuthor
from pypto.testing.generation.scalars import COMPARISONS, LOGIC

INTEGERS = (DataType.INDEX, DataType.INT32, DataType.INT64)
SCALARS = (DataType.INDEX, DataType.INDEX, DataType.INT32, DataType.FP32, DataType.BOOL)
FLOATING = (
    "neg",
    "abs",
    "relu",
    "add",
    "sub",
    "mul",
    "maximum",
    "minimum",
    "exp",
    "adds",
    "subs",
    "muls",
    "maximums",
    "minimums",
)
INTEGER = ("neg", "add", "sub", "mul", "maximum", "minimum", "and", "or", "adds", "muls", "ands", "ors", "maximums")
TENSOR = ("neg", "abs", "add", "sub", "mul", "maximum", "minimum", "exp")
ROWS, COLUMNS = 8, 16


def operator(name: str) -> Declaration:
    """A declared operator by its full name."""
    found = get_op(name)
    assert isinstance(found, Declaration), name
    return found


class RunnableAuthor(FunctionAuthor):
    """Writes programs with one entry function, whose arguments can be drawn from the parameter types.

    ``composites`` programs use sine and cosine, whose lowering rounds differently, and therefore neither narrow casts nor comparisons of
    elements.
    """

    scopes = False

    def __init__(self, random: Any) -> None:
        super().__init__(random)
        self.composites = False
        self.inline_helper: Function | None = None

    def name(self) -> str:
        """A name hint; with composites one that temporaries can be named after."""
        hint = super().name()
        return hint if hint.partition("__")[0] or not self.composites else "v"

    # -- scalars -----------------------------------------------------------------------------------------------------------

    def dtype(self) -> DataType:
        return self.pick(SCALARS)

    def constant(self, dtype: DataType) -> Expr:
        if dtype is DataType.BOOL:
            return ConstBool(self.chance(0.5))
        if dtype.is_float():
            return ConstFloat(self.pick((0.5, 1.0, -0.25, 2.0, 0.1)), dtype)
        return ConstInt(self.pick((0, 1, 2, 3, 5, -2)), dtype)

    def scalar(self, dtype: DataType | None = None, depth: int = 3) -> Expr:
        dtype = self.dtype() if dtype is None else dtype
        if depth <= 0 or self.chance(0.25):
            return self.leaf(dtype)
        if dtype is DataType.BOOL:
            return self._truth(depth)
        if self.chance(0.1) and self.inline_helper is not None and dtype is DataType.INDEX:
            args = [self.scalar(DataType.INDEX, depth - 1) for _ in self.inline_helper.params]
            return Call(GlobalVar(self.inline_helper.name), args, ScalarType(dtype), UNKNOWN)
        if self.chance(0.05):
            return TupleGetItemExpr(MakeTuple([self.scalar(None, depth - 1), self.scalar(dtype, depth - 1)]), 1)
        if dtype.is_float():
            return self._float(dtype, depth)
        return self._integer(dtype, depth)

    def _truth(self, depth: int) -> Expr:
        kind = self.count(4)
        if kind == 0:
            return Not(self.scalar(DataType.BOOL, depth - 1), DataType.BOOL)
        if kind == 1:
            return self.pick(LOGIC)(self.scalar(DataType.BOOL, depth - 1), self.scalar(DataType.BOOL, depth - 1), DataType.BOOL)
        of = self.pick((DataType.INDEX, DataType.INT32, DataType.FP32))
        return self.pick(COMPARISONS)(self.scalar(of, depth - 1), self.scalar(of, depth - 1), DataType.BOOL)

    def _float(self, dtype: DataType, depth: int) -> Expr:
        kind = self.count(6)
        left = self.scalar(dtype, depth - 1)
        if kind == 0:
            return self.pick((nodes.Neg, nodes.Abs))(left, dtype)
        if kind == 1:
            return nodes.FloatDiv(left, ConstFloat(self.pick((2.0, 0.5, -4.0)), dtype), dtype)
        if kind == 2:
            return Cast(self.scalar(self.pick(INTEGERS), depth - 1), dtype)
        if kind == 3:
            product = nodes.Mul(left, self.scalar(dtype, depth - 1), dtype)
            return nodes.Max(nodes.Min(product, ConstFloat(8.0, dtype), dtype), ConstFloat(-8.0, dtype), dtype)
        return self.pick((nodes.Add, nodes.Sub, nodes.Min, nodes.Max))(left, self.scalar(dtype, depth - 1), dtype)

    def _integer(self, dtype: DataType, depth: int) -> Expr:
        kind = self.count(9)
        left = self.scalar(dtype, depth - 1)
        if kind == 0:
            return self.pick((nodes.Neg, nodes.Abs, nodes.BitNot))(left, dtype)
        if kind == 1:
            return self.pick((nodes.FloorDiv, nodes.FloorMod))(left, ConstInt(self.pick((2, 3, 7, -3)), dtype), dtype)
        if kind == 2:
            return self.pick((nodes.BitShiftLeft, nodes.BitShiftRight))(left, ConstInt(self.count(3), dtype), dtype)
        if kind == 3:
            other = self.pick((DataType.INDEX, DataType.INT32, DataType.FP32, DataType.BOOL))
            return Cast(self.scalar(other, depth - 1), dtype)
        if kind == 4:
            product = nodes.Mul(left, self.scalar(dtype, depth - 1), dtype)
            return nodes.FloorMod(product, ConstInt(self.pick((17, 5)), dtype), dtype)
        if kind == 5 and dtype is not DataType.INT32:
            return scalar.add(left, self.scalar(DataType.INT32, depth - 1))
        if kind == 6:
            return nodes.Pow(self.leaf(dtype), ConstInt(self.count(2), dtype), dtype)
        both = (nodes.Add, nodes.Sub, nodes.Min, nodes.Max, nodes.BitAnd, nodes.BitOr, nodes.BitXor)
        return self.pick(both)(left, self.scalar(dtype, depth - 1), dtype)

    def small(self, value: Expr) -> Expr:
        """A value brought into a range of small numbers."""
        dtype = getattr(value.type, "dtype", None)
        if not isinstance(value.type, ScalarType) or dtype is None:
            return value
        if dtype.is_float():
            return nodes.Max(nodes.Min(value, ConstFloat(8.0, dtype), dtype), ConstFloat(-8.0, dtype), dtype)
        return nodes.FloorMod(value, ConstInt(17, dtype), dtype) if dtype.is_int() else value

    def scalar_statement(self) -> None:
        self.emit(self.small(self.scalar(None, self.pick((1, 2, 3)))))

    def assignment(self) -> None:
        targets = [v for v in self.values if type(v) is Var and v not in self.in_types and isinstance(v.type, ScalarType)]
        if targets:
            target = self.pick(targets)
            self.comment()
            self.builder.assign(target, self.small(self.scalar(getattr(target.type, "dtype", None), 2)))

    def tuple_statement(self) -> None:
        if self.values and self.chance(0.5):
            self.emit(self.pick(self.values))
        else:
            self.scalar_statement()

    def value_of(self, type_: Type) -> Expr | None:
        known = [v for v in self.values if v.type is type_ or v.type == type_]
        if isinstance(type_, ScalarType) and (not known or self.chance(0.4)):
            return self.small(self.scalar(type_.dtype, 2))
        return self.pick(known) if known else None

    # -- loops -------------------------------------------------------------------------------------------------------------

    def for_loop(self, depth: int) -> None:
        dtype = self.pick((DataType.INDEX, DataType.INDEX, DataType.INT32))
        start, stop, step = self.pick(
            ((0, 3, 1), (0, 4, 2), (1, 4, 1), (3, -1, -1), (4, 0, -2), (2, 2, 1), (0, 1, 1), (5, 0, -3))
        )
        kind = self.pick((ForKind.Sequential, ForKind.Sequential, ForKind.Unroll, ForKind.Pipeline))
        bounds: list[Expr] = [ConstInt(value, dtype) for value in (start, stop, step)]
        if kind is ForKind.Sequential and step > 0 and self.chance(0.4):
            bounds[1] = nodes.FloorMod(self.leaf(dtype), ConstInt(4, dtype), dtype)
        types = [self.carried_type() for _ in range(self.pick((0, 0, 1, 2)))]
        starts = [self.value_of(type_) for type_ in types]
        loop_var = Var(self.name(), ScalarType(dtype))
        attrs = {"pipeline_stages": 2} if kind is ForKind.Pipeline else None
        self.comment()
        with self.builder.for_loop(loop_var, bounds[0], bounds[1], bounds[2], kind=kind, attrs=attrs) as loop, self.block():
            carried = [loop.iter_arg(self.name(), value, type_) for value, type_ in zip(starts, types, strict=True)]
            made = [loop.return_var(self.name()) for _ in types]
            self.values += [loop_var, *carried]
            self.statements(3, depth - 1, in_loop=not types and kind is ForKind.Sequential)
            self.hand_on(types)
        self.values += made

    def while_loop(self, depth: int) -> None:
        index = ScalarType(DataType.INDEX)
        types: list[Type] = [self.carried_type() for _ in range(self.pick((0, 1)))]
        starts = [self.value_of(type_) for type_ in types]
        self.comment()
        with self.builder.while_loop(ConstBool(True)) as loop, self.block():
            fuel = loop.iter_arg(self.name(), index_const(0), index)
            carried = [loop.iter_arg(self.name(), value, type_) for value, type_ in zip(starts, types, strict=True)]
            made = [loop.return_var(self.name()) for _ in (fuel, *types)]
            self.values += [fuel, *carried]
            below = nodes.Lt(fuel, index_const(1 + self.count(2)), DataType.BOOL)
            loop.set_condition(below if self.chance(0.5) else nodes.And(below, self.scalar(DataType.BOOL, 1), DataType.BOOL))
            self.statements(3, depth - 1)
            values = [self.value_of(type_) for type_ in types]
            self.builder.emit(YieldStmt([nodes.Add(fuel, index_const(1), DataType.INDEX), *[v for v in values if v is not None]]))
        self.values += made

    # -- tiles and tensors -------------------------------------------------------------------------------------------------

    def operator_statement(self) -> None:
        if self.known(TileType):
            self._tile_step()
        elif self.known(TensorType) and self.namespaces == ("tensor",):
            self._tensor_step()
        else:
            self.scalar_statement()

    def apply(self, name: str, *operands: Any, **keywords: Any) -> Var:
        """Define the result of an operator."""
        declaration = operator(name)
        return self.emit(declaration.build(declaration.bind(operands, keywords)))

    def _like(self, of: Var) -> list[Var]:
        return [v for v in self.values if v.type is of.type or v.type == of.type]

    def _tile_step(self) -> None:
        of = self.pick(self.known(TileType))
        type_ = of.type
        assert isinstance(type_, TileType)
        kind = self.count(11)
        rank2 = len(type_.shape) == 2
        full = type_ == TileType([ROWS, COLUMNS], type_.dtype, None, None, MemorySpace.Vec)
        scratch = TileType([ROWS, COLUMNS], type_.dtype).shape
        if kind == 0 and full and type_.dtype is DataType.FP32:
            tmp = self.apply("tile.create", [ROWS, COLUMNS], dtype=type_.dtype)
            self.forget(tmp)
            column = self.apply(f"tile.row_{self.pick(('max', 'min'))}", of, tmp)
            self.apply(f"tile.row_expand_{self.pick(('sub', 'max', 'min'))}", of, column)
        elif kind == 1 and full and type_.dtype is DataType.FP32:
            row = self.apply(f"tile.col_{self.pick(('max', 'min'))}", of)
            self.apply(f"tile.col_expand_{self.pick(('sub', 'max', 'min'))}", of, row)
        elif kind == 2 and rank2 and len(scratch) == 2 and full:
            changed = self.apply("tile.reshape", of, [COLUMNS, ROWS])
            self.apply("tile.reshape", changed, [ROWS, COLUMNS])
        elif kind == 3 and full:
            half = self.apply("tile.slice", of, [ROWS, COLUMNS // 2], [0, self.pick((0, 4, 8))])
            self.apply("tile.concat", half, half)
        elif kind == 4 and full and not self.composites and type_.dtype is DataType.FP32:
            narrow = self.apply(
                "tile.cast",
                of,
                self.pick((DataType.FP16, DataType.BF16, DataType.INT32)),
                mode=int(self.pick((CastMode.round, CastMode.floor))),
            )
            self.apply("tile.cast", narrow, DataType.FP32)
        elif kind == 5 and self.composites and type_.dtype is DataType.FP32:
            self.apply(f"tile.{self.pick(('sin', 'cos'))}", of)
        else:
            self._elementwise("tile", FLOATING if type_.dtype.is_float() else INTEGER, of)

    def _tensor_step(self) -> None:
        of = self.pick([v for v in self.known(TensorType) if v.type == TensorType([ROWS, COLUMNS], DataType.FP32)])
        kind = self.count(6)
        if kind == 0:
            column = self.apply(f"tensor.row_{self.pick(('max', 'min'))}", of)
            self.apply(f"tensor.row_expand_{self.pick(('sub', 'mul'))}", of, column)
            self._bounded("tensor")
        elif kind == 1 and self.composites:
            self.apply(f"tensor.{self.pick(('sin', 'cos'))}", of)
        elif kind == 2:
            part = self.apply("tensor.slice", of, [ROWS // 2, COLUMNS], [self.pick((0, 2, 4)), 0])
            # what is assembled into is another name of the result from then on, so it is a value that nothing else reads
            target = self.apply("tensor.neg", of)
            self.forget(target)
            self.apply("tensor.assemble", target, part, [self.pick((0, 4)), 0])
        else:
            self._elementwise("tensor", TENSOR, of)

    def _elementwise(self, space: str, names: tuple[str, ...], of: Var) -> None:
        declaration = operator(f"{space}.{self.pick(names)}")
        dtype: DataType = getattr(of.type, "dtype")  # noqa: B009
        operands: list[Any] = [of]
        if len(declaration.operand_params) > 1:
            if declaration.leaf.endswith("s") and declaration.leaf not in ("abs",):
                operands.append(self.constant(dtype) if self.chance(0.5) else self.leaf(dtype))
            else:
                operands.append(self.pick(self._like(of)))
        self.emit(declaration.build(declaration.bind(operands, {})))
        if dtype.is_float():
            self._bounded(space)

    def _bounded(self, space: str) -> None:
        """Bring the last value, whose elements may have grown, back to small numbers."""
        last = self.values[-1]
        form = "s" if space == "tile" else ""
        less = self.apply(f"{space}.minimum{form}", last, 4.0)
        self.apply(f"{space}.maximum{form}", less, -4.0)
        self.forget(last)
        self.forget(less)

    # -- functions -----------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Forget the scope of the function before."""
        self.values, self.dims, self.in_types = [], [], set()

    def tile_kernel(self, name: str) -> Function:
        """A kernel that loads tiles, computes, and stores into an output parameter."""
        self.start()
        self.namespaces = ("tile",)
        b = self.builder
        dynamic = self.chance(0.3)
        rows: Any = self.dynamic_dim() if dynamic else ROWS
        whole = TensorType([rows, COLUMNS], DataType.FP32)
        with b.function(name, type=FunctionType.InCore) as f:
            sources = [f.param(self.name(), whole) for _ in range(1 + self.count(1))]
            integers = f.param(self.name(), TensorType([ROWS, COLUMNS], DataType.INT32)) if self.chance(0.3) else None
            number = f.param(self.name(), ScalarType(DataType.FP32))
            out = f.param(self.name(), whole, direction=ParamDirection.Out)
            f.return_type(whole)
            self.values = [number]
            if integers is not None:
                loaded = self.apply("tile.load", integers, [0, 0], [ROWS, COLUMNS])
                self.apply("tile.cast", loaded, DataType.FP32)
            if dynamic:
                extent = self.emit(operator("tensor.dim").build([sources[0], index_const(0)]))
                loop_var = Var(self.name(), ScalarType(DataType.INDEX))
                with b.for_loop(loop_var, 0, extent, ROWS) as loop, self.block():
                    acc = loop.iter_arg(self.name(), out, whole)
                    result = loop.return_var(self.name())
                    self.values.append(loop_var)
                    self.in_types.add(loop_var)
                    for source in sources:
                        self.apply("tile.load", source, [loop_var, 0], [ROWS, COLUMNS])
                    self.statements(6, 1)
                    stored = b.let(self.name(), self._stored([loop_var, 0], acc))
                    b.emit(YieldStmt([stored]))
            else:
                for source in sources:
                    self._load(source)
                self.statements(9, 2)
                result = b.let(self.name(), self._stored([0, 0], out))
            b.return_stmt(result)
        return f.get_result()

    def _load(self, source: Var) -> None:
        if self.chance(0.3):
            valid = [1 + self.count(ROWS - 1), 1 + self.count(COLUMNS - 1)]
            part = self.apply("tile.load", source, [0, 0], [ROWS, COLUMNS], valid_shape=valid)
            self.forget(part)
            self.apply("tile.fillpad", part, pad_value=PadValue.zero)
        else:
            self.apply("tile.load", source, [0, 0], [ROWS, COLUMNS])

    def _stored(self, offsets: list[Any], into: Var) -> Expr:
        wanted = TileType([ROWS, COLUMNS], DataType.FP32, None, None, MemorySpace.Vec)
        tile = self.pick([v for v in self.known(TileType) if v.type == wanted])
        return operator("tile.store").build(operator("tile.store").bind([tile, offsets, into], {}))

    def tensor_kernel(self, name: str) -> Function:
        """A kernel over whole tensors, which passes turn into tiles."""
        self.start()
        self.namespaces = ("tensor",)
        type_ = TensorType([ROWS, COLUMNS], DataType.FP32)
        with self.builder.function(name, type=FunctionType.InCore) as f:
            self.values = [f.param(self.name(), type_) for _ in range(1 + self.count(1))]
            self.values.append(f.param(self.name(), ScalarType(DataType.FP32)))
            f.return_type(type_)
            self._tensor_step()
            self.statements(7, 1)
            computed = [v for v in self.known(TensorType) if v.type == type_]
            self._elementwise("tensor", ("neg", "abs"), computed[-1])
            self.builder.return_stmt(self.values[-1])
        return f.get_result()

    def orchestration(self, name: str, kernels: list[Function]) -> Function:
        """A function that creates tensors and calls each kernel once or more."""
        self.start()
        self.namespaces = ()
        b = self.builder
        type_ = TensorType([ROWS, COLUMNS], DataType.FP32)
        with b.function(name, type=self.pick((FunctionType.Orchestration, FunctionType.Opaque))) as f:
            arrays = [f.param(self.name(), type_) for _ in range(1 + self.count(1))]
            self.values = [f.param(self.name(), ScalarType(DataType.INDEX)), f.param(self.name(), ScalarType(DataType.FP32))]
            numbers = f.param(self.name(), TensorType([ROWS, COLUMNS], DataType.INT32))
            f.return_type(type_)
            for kernel in kernels + [self.pick(kernels) for _ in range(self.count(2))]:
                if self.chance(0.4):
                    self.statements(2, 2)
                args: list[Expr] = []
                for param, direction in zip(kernel.params, kernel.param_directions, strict=True):
                    if isinstance(param.type, ScalarType):
                        args.append(self.pick(self.scalars(DataType.FP32)))
                    elif direction is ParamDirection.Out:
                        create = operator("tensor.create").bind([[ROWS, COLUMNS]], {"dtype": DataType.FP32})
                        args.append(b.let(self.name(), operator("tensor.create").build(create)))
                    else:
                        array: TensorType = param.type  # type: ignore[assignment]
                        args.append(numbers if array.dtype is DataType.INT32 else self.pick(arrays))
                self.comment()
                call = Call(GlobalVar(kernel.name), args, call_result_type(kernel, args), UNKNOWN)
                arrays.append(b.let(self.name(), call))
            b.return_stmt(arrays[-1])
        return f.get_result()

    def helper(self, name: str) -> Function:
        """A small function of scalars that is inlined."""
        self.start()
        self.namespaces = ()
        index = ScalarType(DataType.INDEX)
        with self.builder.function(name, type=FunctionType.Inline) as f:
            self.values = [f.param(self.name(), index) for _ in range(1 + self.count(1))]
            f.return_type(index)
            self.statements(3, 1)
            self.builder.return_stmt(self.small(self.scalar(DataType.INDEX, 2)))
        return f.get_result()

    def scalar_function(self, size: int = 12) -> Function:
        self.start()
        self.namespaces = ()
        with self.builder.function("main") as f:
            for dtype in (DataType.INDEX, DataType.INDEX, DataType.INT32, DataType.FP32, DataType.BOOL):
                if self.chance(0.7):
                    self.values.append(f.param(self.name(), ScalarType(dtype)))
            self.statements(size, 3)
            values = [self.small(self.scalar(dtype, 2)) for dtype in (DataType.INDEX, DataType.FP32, DataType.BOOL)]
            values += [v for v in self.values if isinstance(v.type, ScalarType)]
            for value in values:
                f.return_type(value.type)
            self.builder.return_stmt(values)
        return f.get_result()

    def kernel(self, name: str = "kernel") -> Function:
        """A kernel over tiles or over tensors."""
        self.composites = self.chance(0.4)
        return self.tile_kernel(name) if self.chance(0.6) else self.tensor_kernel(name)

    def program(self, size: int = 12, depth: int = 3) -> Program:
        self.inline_helper = None
        helpers = [self.helper("helper")] if self.chance(0.3) else []
        if self.chance(0.35):
            self.inline_helper = helpers[0] if helpers else None
            main = self.scalar_function(size)
            used = any(isinstance(n, Call) and n.op.is_function for n in _walk(main))
            return Program([main, *(helpers if used else [])], "Scalars")
        self.composites = self.chance(0.4)
        kernels = [self.kernel_of(f"kernel_{at}") for at in range(1 + self.count(1))]
        self.inline_helper = helpers[0] if helpers else None
        main = self.orchestration("main", kernels)
        used = any(isinstance(n, Call) and n.op.name == "helper" for n in _walk(main))
        return Program([*kernels, main, *(helpers if used else [])], "Kernels")

    def kernel_of(self, name: str) -> Function:
        """A kernel of the program that is being written."""
        return self.tile_kernel(name) if self.chance(0.6) else self.tensor_kernel(name)


def _walk(function: Function) -> Any:
    from pypto.ir.node import walk

    return walk(function.body)
