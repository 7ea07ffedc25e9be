"""Random programs made of nodes, for the printer's tests. They are well-formed in names and nesting; their types are arbitrary."""

from __future__ import annotations

import random

from pypto import ir
from pypto.ir.enums import AtomicType, ForKind, FunctionType, Level, ParamDirection, Role, SplitMode

BINARY = (
    ir.Add, ir.Sub, ir.Mul, ir.FloorDiv, ir.FloorMod, ir.FloatDiv, ir.Min, ir.Max, ir.Pow, ir.Eq, ir.Ne, ir.Lt, ir.Le, ir.Gt,
    ir.Ge, ir.And, ir.Or, ir.Xor, ir.BitAnd, ir.BitOr, ir.BitXor, ir.BitShiftLeft, ir.BitShiftRight,
)  # fmt: skip
UNARY = (ir.Abs, ir.Neg, ir.Not, ir.BitNot, ir.Cast)
COMPARE = BINARY[9:15]
LOGIC = BINARY[15:18]
SCALARS = (ir.INDEX, ir.INDEX, ir.INDEX, ir.INT32, ir.FP32, ir.FP16, ir.BOOL, ir.INT64)
DTYPES = (ir.FP32, ir.FP16, ir.BF16, ir.INT32)
INDEX = ir.ScalarType(ir.INDEX)


class Programs:
    """Makes nodes from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.variables: list[ir.Var] = []

    # -- expressions ---------------------------------------------------------------------------------------------------

    def dtype(self) -> ir.DataType:
        return self.random.choice(SCALARS)

    def constant(self, dtype: ir.DataType) -> ir.Expr:
        r = self.random
        if dtype is ir.BOOL:
            return ir.ConstBool(r.random() < 0.5)
        if dtype.is_float():
            return ir.ConstFloat(r.choice((0.5, 1.0, -0.25, 1e16, 3e-7, 12.0, float("inf"), float("nan"), -0.0)), dtype)
        return ir.ConstInt(r.choice((0, 1, 2, 7, -5, 128, 100000)), dtype)

    def scalar(self, depth: int, dtype: ir.DataType | None = None) -> ir.Expr:
        r = self.random
        dtype = dtype or self.dtype()
        if depth <= 0 or r.random() < 0.15:
            known = [v for v in self.variables if isinstance(v.type, ir.ScalarType) and v.type.dtype is dtype]
            if known and r.random() < 0.7:
                return r.choice(known)
            return self.constant(dtype)
        choice = r.random()
        if choice < 0.06:
            return ir.Cast(self.scalar(depth - 1), dtype)
        if choice < 0.10:
            return self.call(depth - 1, ir.ScalarType(dtype))
        if choice < 0.14:
            pair = ir.MakeTuple([self.scalar(depth - 1), self.scalar(depth - 1, dtype)])
            return ir.TupleGetItemExpr(pair, 1)
        if choice < 0.18:
            return r.choice(BINARY)(self.scalar(depth - 1), self.scalar(depth - 1), dtype)
        if choice < 0.30:
            kind = ir.Not if dtype is ir.BOOL else r.choice(UNARY)
            return kind(self.scalar(depth - 1, dtype), dtype)
        if dtype is ir.BOOL:
            if r.random() < 0.5:
                return r.choice(LOGIC)(self.scalar(depth - 1, ir.BOOL), self.scalar(depth - 1, ir.BOOL), ir.BOOL)
            of = self.dtype()
            return r.choice(COMPARE)(self.scalar(depth - 1, of), self.scalar(depth - 1, of), ir.BOOL)
        kinds = BINARY[:9] if dtype.is_float() else BINARY[:9] + BINARY[18:]
        return r.choice(kinds)(self.scalar(depth - 1, dtype), self.scalar(depth - 1, dtype), dtype)

    def chain(self, length: int) -> ir.Expr:
        made = self.scalar(1, ir.INDEX)
        kinds = self.random.choice(((ir.Add,), (ir.Add, ir.Mul), (ir.Mul, ir.FloorDiv)))
        for _ in range(length):
            made = self.random.choice(kinds)(made, self.scalar(self.random.choice((0, 0, 0, 2)), ir.INDEX), ir.INDEX)
        return made

    def call(self, depth: int, type_: ir.Type) -> ir.Call:
        r = self.random
        name = r.choice(("tile.foo", "tensor.a_rather_long_operator_name", "x.y", "pld.system.world", "plain", "tile.in"))
        args: list[ir.Expr] = []
        for _ in range(r.randrange(4)):
            if r.random() < 0.3:
                args.append(ir.MakeTuple([self.scalar(depth - 1, ir.INDEX) for _ in range(r.randrange(4))]))
            else:
                args.append(self.scalar(depth - 1))
        kwargs = dict(r.sample(self.attrs(), r.choice((0, 0, 1, 2)))) if depth >= 0 else {}
        attrs = dict(r.sample(self.attrs(), r.choice((0, 0, 0, 1, 3)))) if depth >= 0 else {}
        op = ir.GlobalVar("callee_" + name[-3:].replace(".", "_")) if r.random() < 0.2 else ir.Op(name)
        return ir.Call(op, args, kwargs, attrs, type_, ir.Span.unknown())

    def attrs(self) -> list[tuple[str, object]]:
        r = self.random
        return [
            ("count", r.choice((-3, 0, 11))),
            ("flag", True),
            ("note", r.choice(("", 'say "hi"', "it's", "back\\slash", "tab\tnew\nline", "\x00", "caf\u00e9", "# no comment"))),
            ("ratio", r.choice((0.25, -1e30, float("inf")))),
            ("numbers", [1, -2, 3]),
            ("dtype", ir.BF16),
            ("space", ir.MemorySpace.Vec),
            ("layout", ir.TensorLayout.NZ),
            ("pad", ir.PadValue.zero),
            ("one", ir.ConstInt(1, ir.INDEX)),
            ("directions_of_all", [ir.ArgDirection.Input, ir.ArgDirection.NoDep]),
            ("atomic", int(AtomicType.Add)),
            ("expr", self.scalar(1)),
        ]

    # -- types ---------------------------------------------------------------------------------------------------------

    def dims(self, rank: int) -> list[ir.Expr]:
        r = self.random
        known = [v for v in self.variables if v.type is INDEX]
        dims: list[ir.Expr] = []
        for _ in range(rank):
            choice = r.random()
            if known and choice < 0.15:
                dims.append(r.choice(known))
            elif known and choice < 0.25:
                dims.append(ir.Mul(r.choice(known), ir.ConstInt(8, ir.INDEX), ir.INDEX))
            else:
                dims.append(ir.ConstInt(r.choice((1, 16, 64, 4096)), ir.INDEX))
        return dims

    def type(self) -> ir.Type:
        r = self.random
        rank = r.choice((1, 2, 2, 3))
        choice = r.random()
        if choice < 0.35:
            view = None
            if r.random() < 0.3:
                view = ir.TileView(valid_shape=self.dims(rank), pad=r.choice((ir.PadValue.null, ir.PadValue.max)))
            return ir.TileType(self.dims(rank), r.choice(DTYPES), None, view, r.choice((None, *ir.MemorySpace)))
        if choice < 0.65:
            view = ir.TensorView(self.dims(rank), r.choice(list(ir.TensorLayout)), self.dims(rank)) if r.random() < 0.3 else None
            kind = ir.DistributedTensorType if r.random() < 0.3 else ir.TensorType
            return kind(self.dims(rank), r.choice(DTYPES), None, view)
        if choice < 0.75:
            return ir.TupleType([self.type() for _ in range(r.randrange(3))])
        if choice < 0.8:
            return ir.ArrayType(ir.INT32, 16)
        return ir.ScalarType(self.dtype())

    # -- statements ----------------------------------------------------------------------------------------------------

    def name(self) -> str:
        r = self.random
        return r.choice(
            ("x", "y", "acc", "x_1", "t__ssa_v0", "a_long_variable_name_of_a_tile", "if", "pl", "i", "n", "self", "V", "é")
        )

    def var(self, type_: ir.Type | None = None) -> ir.Var:
        made = ir.Var(self.name(), type_ or self.type())
        self.variables.append(made)
        return made

    def statement(self, depth: int) -> ir.Stmt:
        made = self._statement(depth)
        r = self.random
        if r.random() < 0.1:
            ir.attach_leading_comments(made, r.choice((["why"], ["two", "lines\nthree"], [""], ["  indented", "# hash"])))
        return made

    def _statement(self, depth: int) -> ir.Stmt:
        r = self.random
        choice = r.random()
        if depth <= 0 or choice < 0.55:
            kind = r.random()
            if kind < 0.35:
                dtype = self.dtype()
                value = self.scalar(r.choice((1, 3, 5)), dtype)
                return ir.AssignStmt(self.var(ir.ScalarType(dtype)), value)
            if kind < 0.45:
                value = self.chain(r.choice((3, 12, 30)))
                return ir.AssignStmt(self.var(INDEX), value)
            if kind < 0.8:
                type_ = self.type()
                value = self.call(3, type_)
                return ir.AssignStmt(self.var(type_), value)
            return ir.EvalStmt(self.call(2, ir.UnknownType()) if r.random() < 0.7 else self.scalar(3))
        before = len(self.variables)
        results = [ir.Var(self.name(), INDEX) for _ in range(r.choice((0, 0, 1, 2)))]
        made = self._compound(depth, results)
        del self.variables[before:]
        if not isinstance(made, ir.ScopeStmt):
            self.variables += results
        return made

    def _compound(self, depth: int, results: list[ir.Var]) -> ir.Stmt:
        r = self.random
        choice = r.random()
        if choice < 0.3:
            condition = self.scalar(r.choice((1, 4)), ir.BOOL)
            then = self.body(depth - 1, results)
            other = self.body(depth - 1, results) if results or r.random() < 0.5 else None
            return ir.IfStmt(condition, then, other, results)
        carried = [ir.IterArg(self.name(), INDEX, self.scalar(2, ir.INDEX)) for _ in results]
        if choice < 0.6:
            bounds = [self.scalar(r.choice((0, 0, 3)), ir.INDEX) for _ in range(3)]
            if type(bounds[2]) is ir.ConstInt and not bounds[2].value:
                bounds[2] = ir.index_const(3)
            if r.random() < 0.5:
                bounds[0], bounds[2] = ir.index_const(0), ir.index_const(1)
            loop_var = self.var(INDEX)
            self.variables += carried
            kind = r.choice(list(ForKind))
            attrs = {"pipeline_stages": 2} if kind is ForKind.Pipeline else None
            body = self.body(depth - 1, results)
            return ir.ForStmt(loop_var, *bounds, carried, body, results, kind=kind, attrs=attrs)
        if choice < 0.75:
            self.variables += carried
            return ir.WhileStmt(self.scalar(3, ir.BOOL), carried, self.body(depth - 1, results), results)
        body = self.body(depth - 1, [])
        scopes = (
            ir.InCoreScopeStmt(r.choice(list(SplitMode)), "hint", body=body),
            ir.RuntimeScopeStmt(True, body=body),
            ir.ClusterScopeStmt("group", body=body),
            ir.HierarchyScopeStmt(r.choice(list(Level)), Role.Orchestrator, body=body),
            ir.SpmdScopeStmt(self.scalar(2, ir.INDEX), True, body=body),
            ir.CommDomainScopeStmt([0, 1], [], "comm_d0", body=body),
        )
        return r.choice(scopes).with_attrs(dict(r.sample(self.attrs(), r.choice((0, 0, 4)))))

    def body(self, depth: int, results: list[ir.Var]) -> ir.Stmt:
        before = len(self.variables)
        stmts = [self.statement(depth) for _ in range(self.random.randrange(4))]
        if results:
            stmts.append(ir.YieldStmt([self.scalar(2, ir.INDEX) for _ in results]))
        del self.variables[before:]
        made = ir.body_of(stmts)
        if self.random.random() < 0.1:
            made.trailing_comments = ["at the end"]
        return made

    def function(self, name: str, statements: int = 6, depth: int = 3) -> ir.Function:
        r = self.random
        self.variables = []
        if r.random() < 0.5:
            self.variables.append(ir.Var("M", INDEX))
        dynamic = len(self.variables)
        params = [(self.var(), r.choice(list(ParamDirection))) for _ in range(r.choice((0, 1, 1, 2, 4)))]
        del self.variables[:dynamic]
        stmts = [self.statement(depth) for _ in range(r.randrange(statements))]
        results = [self.type() for _ in range(r.choice((0, 1, 1, 3)))]
        stmts.append(ir.ReturnStmt([self.scalar(3) for _ in results]))
        attrs = r.choice((None, {"split": 1, "note": "x"}, {"auto_scope": False}))
        if r.random() < 0.1:
            binding = ir.SeqStmts([])
            return ir.Function(name, params, results, binding, attrs=attrs, requires_runtime_binding=True)
        return ir.Function(name, params, results, ir.body_of(stmts), type=r.choice(list(FunctionType)), attrs=attrs)

    def program(self) -> ir.Program:
        functions = [self.function(f"{n}_kernel") for n in ("first", "second", "third")[: self.random.randrange(1, 4)]]
        return ir.Program(functions, "Sample")
