"""Two rewrites for kernels that would mix bulk stores and scalar writes to one tensor.

A loop nest that writes one constant over a contiguous region becomes a bulk store of a constant tile. A tensor that is initialised
whole with a constant and then only written element by element is kept on chip and stored once, where the kernel ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from pypto.ir.attrs import AttrValue
from pypto.ir.enums import ForKind, ParamDirection, WriteChannel
from pypto.ir.expr import Add, Call, ConstBool, ConstFloat, ConstInt, Expr, MakeTuple, Var, index_const
from pypto.ir.function import Function
from pypto.ir.node import Node, children
from pypto.ir.op import create_internal_op_call, get_op
from pypto.ir.span import UNKNOWN, Span
from pypto.ir.stmt import (
    AssignStmt,
    EvalStmt,
    ForStmt,
    ReturnStmt,
    Stmt,
)
from pypto.ir.types import TensorType, TileType, static_dims
from pypto.ir.visitor import IRMutator
from pypto.ops.declare import Declaration
from pypto.ops.region import constant, entries, same_dims
from pypto.passes.convert_tensor_to_tile_ops.directions import write_channels
from pypto.passes.convert_tensor_to_tile_ops.storage import Storage, all_nodes
from pypto.passes.names import name_base
from pypto.passes.rewrite import fold, named_bodies, rewrite_body, unfold, with_fields

STORE_BYTES = 32
"""Bulk stores move multiples of this."""


def rescue(function: Function, directions: Mapping[str, list[ParamDirection]]) -> Function:
    """The kernel with those mixtures gone that can be; the same object when it mixes nothing, or nothing that can be helped."""
    if not _mixed(function, directions):
        return function
    function = _FillLoops(function, _mixed(function, directions)).run()
    for root in _mixed(function, directions):
        function = _kept_on_chip(function, root)
    return function


def _mixed(function: Function, directions: Mapping[str, list[ParamDirection]]) -> list[Var]:
    return [root for root, used in write_channels(function, Storage(function), directions).items() if len(used) > 1]


def _is_scalar_write(call: Expr) -> bool:
    return isinstance(call, Call) and isinstance(call.op, Declaration) and call.op.write_channel is WriteChannel.Scalar


def _assembled(target: Expr, source: Expr, offset: Sequence[Expr], place: Span) -> AssignStmt:
    """``target`` with ``source`` put into it, as a bulk store without a place of its own."""
    if isinstance(source.type, TileType):
        name, operands = "tile.store", [source, MakeTuple(offset), target]
    else:
        name, operands = "tensor.assemble", [target, source, MakeTuple(offset)]
    stored = create_internal_op_call(get_op(name), operands, None, place).replace(span=UNKNOWN)
    base = name_base(target.name_hint) if isinstance(target, Var) else "value"
    return AssignStmt(Var(f"{base}__store", stored.type, UNKNOWN), stored, UNKNOWN)


# -- loops that fill ---------------------------------------------------------------------------------------------------------------


@dataclass
class _Fill:
    target: Expr
    value: Expr
    offset: list[Expr]
    extents: list[int]


class _FillLoops:
    def __init__(self, function: Function, mixed: Sequence[Var]) -> None:
        self.function = function
        self.mixed = frozenset(mixed)
        self.storage = Storage(function)

    def run(self) -> Function:
        """The function with its filling loops replaced; the same object when there is none."""
        body = self.body(self.function.body)
        return self.function if body is self.function.body else self.function.replace(body=body)

    def body(self, body: Stmt) -> Stmt:
        """A body with its filling loops replaced."""
        return rewrite_body(body, self.step)

    def step(self, stmt: Stmt) -> list[Stmt]:
        """A statement, or what replaces it."""
        fill = self.fill(stmt)
        if fill is None:
            return [with_fields(stmt, **{name: self.body(inner) for name, inner in named_bodies(stmt)})]
        type_ = fill.target.type
        assert isinstance(type_, TensorType)
        dims = MakeTuple([index_const(e) for e in fill.extents])
        whole = create_internal_op_call(get_op("tensor.full"), [dims, fill.value], {"dtype": type_.dtype}, stmt.span)
        filled = Var("fill", whole.type, stmt.span)
        return [AssignStmt(filled, whole, stmt.span), _assembled(fill.target, filled, fill.offset, stmt.span)]

    def fill(self, stmt: Stmt) -> _Fill | None:
        """What a nest of loops fills, when that is one constant over a contiguous region of a mixed tensor."""
        extents: dict[Var, int] = {}
        while isinstance(stmt, ForStmt):
            count = constant(stmt.stop)
            plain = stmt.kind is ForKind.Sequential and not (stmt.iter_args or stmt.return_vars or stmt.attrs)
            if not plain or constant(stmt.start) != 0 or constant(stmt.step) != 1 or count is None or count <= 0:
                return None
            extents[stmt.loop_var] = count
            stmt = stmt.body
        if not extents or not isinstance(stmt, EvalStmt) or not isinstance(stmt.expr, Call) or not _is_scalar_write(stmt.expr):
            return None
        target, indices, value = stmt.expr.args
        if not isinstance(value, ConstInt | ConstFloat | ConstBool) or not isinstance(target.type, TensorType):
            return None
        roots = self.storage.roots(target)
        region = _region(entries(indices), extents)
        if not roots or not roots <= self.mixed or region is None:
            return None
        offset, sizes = region
        bits = prod(sizes) * target.type.dtype.get_bit()
        if bits % (8 * STORE_BYTES) or not _contiguous(target.type, offset, sizes):
            return None
        return _Fill(target, value, offset, sizes)


def _region(indices: Sequence[Expr], extents: Mapping[Var, int]) -> tuple[list[Expr], list[int]] | None:
    """Offset and extents of the region that indices run over, when every loop variable moves along one dimension by itself."""
    offset: list[Expr] = []
    sizes: list[int] = []
    left = set(extents)
    for index in indices:
        used = {node for node in all_nodes(index) if isinstance(node, Var)} & extents.keys()
        if not used:
            offset.append(index)
            sizes.append(1)
            continue
        start: Expr | None = None
        moving: Expr = index
        if isinstance(index, Add):
            sides = (
                (index.left, index.right) if isinstance(index.left, Var) and index.left in extents else (index.right, index.left)
            )
            moving, start = sides
            if {n for n in all_nodes(start) if isinstance(n, Var)} & extents.keys():
                return None
        if not isinstance(moving, Var) or moving not in left:
            return None
        left.remove(moving)
        offset.append(index_const(0) if start is None else start)
        sizes.append(extents[moving])
    return None if left else (offset, sizes)


def _contiguous(type_: TensorType, offset: Sequence[Expr], sizes: Sequence[int]) -> bool:
    if type_.tensor_view is not None:
        return False
    spanning = False
    for dim, begin, size in zip(type_.shape, offset, sizes, strict=True):
        if spanning and (constant(dim) != size or constant(begin) != 0):
            return False
        spanning = spanning or size > 1
    return True


# -- tensors kept on chip ------------------------------------------------------------------------------------------------------------

_BULK = {"tensor.assemble": (0, 1, 2), "tile.store": (2, 0, 1)}
"""Bulk stores: the positions of target, source and offset."""
_CONSTANT = frozenset(("tensor.full", "tile.full"))
"""Operators that make a value of one constant."""


@dataclass
class _Initialisation:
    """The statement that stores a constant over a whole tensor, its position, and where the constant comes from."""

    at: int
    stmt: AssignStmt | EvalStmt
    source: Call
    var: Var


def _kept_on_chip(function: Function, root: Var) -> Function:
    """The function with ``root`` staged in a tile; the same object when it is used in another way than initialise, write, return."""
    stmts, trailing = unfold(function.body)
    storage = Storage(function)
    start = _initialisation(stmts, storage, root)
    if start is None or not _only_written(stmts, storage, root, start):
        return function
    source = start.source.replace(span=start.stmt.span)
    staged = Var(name_base(root.name_hint), source.type, start.stmt.span)
    writes = _Writes(storage, root, staged)
    zeros: list[Expr] = [index_const(0) for _ in _tensor(root).shape]
    store = _assembled(root, staged, zeros, start.stmt.span)
    last = stmts[-1]
    unused = not any(_uses(s, start.var) for s in stmts if s is not start.stmt)

    def step(stmt: Stmt) -> list[Stmt]:
        if stmt is start.stmt:
            return [AssignStmt(staged, source, stmt.span)]
        if unused and isinstance(stmt, AssignStmt) and stmt.var is start.var:
            return []
        if stmt is last and isinstance(stmt, ReturnStmt):
            values = [store.var if isinstance(v.type, TensorType) and storage.roots(v) == {root} else v for v in stmt.value]
            return [store, with_fields(stmt, value=values)]
        return [writes.visit_stmt(stmt), *([store] if stmt is last else [])]

    return function.replace(body=rewrite_body(fold(stmts, trailing, function.body.span), step))


def _uses(stmt: Stmt, var: Var) -> bool:
    if isinstance(stmt, AssignStmt) and stmt.var is var:
        return False
    return any(node is var for node in all_nodes(stmt))


def _tensor(var: Var) -> TensorType:
    assert isinstance(var.type, TensorType)
    return var.type


def _initialisation(stmts: Sequence[Stmt], storage: Storage, root: Var) -> _Initialisation | None:
    made: dict[Var, Call] = {}
    for at, stmt in enumerate(stmts):
        call = stmt.value if isinstance(stmt, AssignStmt) else stmt.expr if isinstance(stmt, EvalStmt) else None
        if not isinstance(call, Call):
            continue
        if isinstance(stmt, AssignStmt) and call.op.name in _CONSTANT:
            made[stmt.var] = call
        places = _BULK.get(call.op.name)
        if places is None or storage.roots(call.args[places[0]]) != {root}:
            continue
        assert isinstance(stmt, AssignStmt | EvalStmt)
        source, offset = call.args[places[1]], entries(call.args[places[2]])
        full = made.get(source) if isinstance(source, Var) else None
        atomic = any(call.kwargs.values())
        whole = full is not None and isinstance(full.type, TensorType | TileType) and _covers(full.type, _tensor(root), offset)
        if not whole or full is None or not isinstance(source, Var) or atomic or len(call.args) != 3:
            return None
        return _Initialisation(at, stmt, full, source)
    return None


def _covers(part: TensorType | TileType, whole: TensorType, offset: Sequence[Expr]) -> bool:
    static = static_dims(whole.shape) is not None and whole.tensor_view is None
    return static and same_dims(part.shape, whole.shape) and all(constant(o) == 0 for o in offset)


def _only_written(stmts: Sequence[Stmt], storage: Storage, root: Var, start: _Initialisation) -> bool:
    """True when the tensor is not written before its initialisation, and afterwards only element by element and returned at the end."""

    def concerned(node: Node) -> bool:
        return isinstance(node, Var) and isinstance(node.type, TensorType) and root in storage.roots(node)

    for at, stmt in enumerate(stmts):
        for node in all_nodes(stmt):
            touched = [child for child in children(node) if concerned(child)]
            if not touched or isinstance(node, Var):
                continue
            if at < start.at:
                if not isinstance(node, Call) or not isinstance(node.op, Declaration) or node.op.write_channel is not None:
                    return False
                continue
            if at == start.at or (isinstance(node, ReturnStmt) and at == len(stmts) - 1):
                continue
            scalar = isinstance(node, Call) and _is_scalar_write(node) and len(touched) == 1 and touched[0] is node.args[0]
            if not scalar:
                return False
    return True


class _Writes(IRMutator):
    """Element writes to the tensor go to the tile that holds it."""

    def __init__(self, storage: Storage, root: Var, staged: Var) -> None:
        super().__init__()
        self._storage = storage
        self._root = root
        self._staged = staged

    def visit_call(self, op: Call) -> Expr:
        if not _is_scalar_write(op) or self._storage.roots(op.args[0]) != {self._root}:
            return super().visit_call(op)
        name = "tile.write" if isinstance(self._staged.type, TileType) else op.op.name
        attrs: Mapping[str, AttrValue] = op.attrs
        made = create_internal_op_call(get_op(name), [self._staged, *op.args[1:]], op.kwargs, op.span)
        return made.replace(attrs=attrs) if attrs else made
