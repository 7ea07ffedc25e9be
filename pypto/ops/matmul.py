"""Matrix products. INT8 sums in INT32, floating point in FP32; only the valid region takes part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pypto.diagnostics import InvalidTypeError
from pypto.ir.dtypes import DataType, promote
from pypto.ir.enums import MemorySpace, TensorLayout
from pypto.ir.expr import Expr, index_const
from pypto.ir.types import TensorType, TensorView, Type
from pypto.ops.declare import Declaration, KeywordError, Kind, Lanes, OperandError, Param, ResultSpec, describe_type, op
from pypto.ops.region import Array, Keywords, constant, same, text_of, tile_of

_GEMV_DTYPES = (DataType.INT8, DataType.FP16, DataType.BF16, DataType.FP32)


def accumulator(dtype: DataType) -> DataType:
    """The element type in which products of ``dtype`` are summed."""
    return DataType.INT32 if dtype.is_int() else DataType.FP32


def _differ(one: Expr, other: Expr) -> bool:
    mine, theirs = constant(one), constant(other)
    return mine is not None and theirs is not None and mine != theirs


def _broadcast(declaration: Declaration, left: Sequence[Expr], right: Sequence[Expr], at: int) -> list[Expr]:
    """Batch dimensions combined as NumPy does."""
    size = max(len(left), len(right))
    one: list[Expr] = [index_const(1)] * (size - len(left)) + [*left]
    other: list[Expr] = [index_const(1)] * (size - len(right)) + [*right]
    result: list[Expr] = []
    for a, b in zip(one, other, strict=True):
        if constant(a) == 1:
            result.append(b)
        elif constant(b) == 1 or not _differ(a, b):
            result.append(a)
        else:
            raise OperandError(f"{declaration.name} cannot combine the batches {text_of(left)} and {text_of(right)}", at)
    return result


class _Product:
    """The shapes of one product: checks the operands and knows the result's extents."""

    def __init__(
        self, declaration: Declaration, args: Sequence[Expr], first: int, a_trans: bool = False, b_trans: bool = False
    ) -> None:
        left: Any = args[first].type
        right: Any = args[first + 1].type
        self.dtype: DataType = left.dtype
        self.first = first
        both = f"got {describe_type(left)} and {describe_type(right)}"
        if not (left.dtype.is_float() or left.dtype.is_int()):
            raise OperandError(f"{declaration.name} takes numbers, {both}", first)
        rows, inner = _ends(left, a_trans)
        its_inner, columns = _ends(right, b_trans)
        if _differ(inner[0], its_inner[0]):
            raise OperandError(f"{declaration.name} needs as many columns on the left as rows on the right, {both}", first + 1)
        depth, its_depth = constant(inner[1]), constant(its_inner[1])
        if depth is not None and its_depth is not None and its_depth < depth:
            raise OperandError(
                f"{declaration.name} needs {depth} valid rows on the right for as many valid columns on the left, got {its_depth}",
                first + 1,
            )
        batch = _broadcast(declaration, left.shape[:-2], right.shape[:-2], first + 1)
        valid = _broadcast(declaration, left.valid_shape[:-2], right.valid_shape[:-2], first + 1)
        self.vector_left = len(left.shape) == 1
        self.vector_right = len(right.shape) == 1
        ends = ([] if self.vector_left else [rows]) + ([] if self.vector_right else [columns])
        self.shape: list[Expr] = [*batch, *[e[0] for e in ends]]
        self.valid: list[Expr] = [*valid, *[e[1] for e in ends]]
        self.rows = rows[0]
        self.columns = columns


def _ends(operand: Any, swapped: bool) -> tuple[tuple[Expr, Expr], tuple[Expr, Expr]]:
    """Extent and valid extent of the last two axes, in the order of the product; a vector has the same one for both."""
    shape, valid = operand.shape, operand.valid_shape
    if len(shape) == 1:
        return (shape[0], valid[0]), (shape[0], valid[0])
    first, second = (shape[-2], valid[-2]), (shape[-1], valid[-1])
    return (second, first) if swapped else (first, second)


def _same_types(declaration: Declaration, args: Sequence[Expr], first: int) -> None:
    left: Any = args[first].type
    right: Any = args[first + 1].type
    if left.dtype is not right.dtype:
        raise OperandError(
            f"{declaration.name} takes operands of one element type, got {describe_type(left)} and {describe_type(right)}",
            first + 1,
        )


def _need_rank(declaration: Declaration, args: Sequence[Expr], first: int, batched: bool) -> None:
    for at in (first, first + 1):
        operand: Any = args[at].type
        rank = len(operand.shape)
        if rank < 2 or (rank != 2 and not batched):
            wanted = "of rank 2 or higher" if batched else "2-D"
            raise OperandError(f"{declaration.name} takes {wanted} operands, got {describe_type(operand)}", at)


def _need_accumulator(declaration: Declaration, acc: Any, made: _Product, at: int) -> None:
    wanted = accumulator(made.dtype)
    matches = acc.dtype is wanted and len(acc.shape) == len(made.shape)
    if not matches or any(_differ(a, b) for a, b in zip(acc.shape, made.shape, strict=True)):
        raise OperandError(
            f"{declaration.name} needs an accumulator of {wanted.name} {text_of(made.shape)}, got {describe_type(acc)}", at
        )


def _tile_rule(acc: bool = False, bias: bool = False, batched: bool = False, vector: bool = False) -> Any:
    """The type rule of the tile products."""

    def rule(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
        first = 1 if acc else 0
        _need_rank(declaration, args, first, batched)
        _same_types(declaration, args, first)
        made = _Product(declaration, args, first)
        if vector:
            left: Any = args[first].type
            if constant(made.rows) not in (1, None):
                raise OperandError(f"{declaration.name} takes one row on the left, got {describe_type(left)}", first)
            if made.dtype not in _GEMV_DTYPES:
                names = ", ".join(d.name for d in _GEMV_DTYPES)
                raise OperandError(f"{declaration.name} takes {names}, got {describe_type(left)}", first)
            phase = kwargs.get("acc_phase", "unspecified")
            if phase not in _PHASES:
                raise KeywordError(
                    f"{declaration.name} takes 'acc_phase' as one of {', '.join(_PHASES)}; got {phase!r}", "acc_phase"
                )
        if acc:
            _need_accumulator(declaration, args[0].type, made, 0)
        if bias:
            row: Any = args[2].type
            wanted = accumulator(made.dtype)
            if (
                row.dtype is not wanted
                or len(row.shape) != 2
                or constant(row.shape[0]) != 1
                or _differ(row.shape[1], made.columns[0])
            ):
                raise OperandError(
                    f"{declaration.name} takes a bias of {wanted.name} {text_of([index_const(1), made.columns[0]])}, "
                    f"got {describe_type(row)}",
                    2,
                )
        return tile_of(made.shape, accumulator(made.dtype), MemorySpace.Acc, made.valid)

    return rule


_PHASES = ("unspecified", "partial", "final")


# -- meaning ---------------------------------------------------------------------------------------------------------------------


def multiply(left: Array, right: Array) -> Array:
    """The product of the valid regions: integers exact and wrapped to 32 bits, anything else in FP32."""
    depth = left.shape[-1]
    if right.ndim == 1:
        right = right[:depth]
    elif right.shape[-2] != depth:
        right = right[..., :depth, :]
    with np.errstate(all="ignore"):
        if left.dtype.kind in "iu":
            # doubles hold these sums exactly, and their product is the fast one
            wide = left.dtype.itemsize > 1 or right.dtype.itemsize > 1 or depth >= 1 << 37
            carrier = np.int64 if wide else np.float64
            return np.matmul(left.astype(carrier), right.astype(carrier)).astype(np.int64).astype(np.int32)
        return np.matmul(left.astype(np.float32, copy=False), right.astype(np.float32, copy=False))


def _product(lhs: Array, rhs: Array) -> Array:
    return multiply(lhs, rhs)


def _with_bias(lhs: Array, rhs: Array, bias: Array) -> Array:
    product = multiply(lhs, rhs)
    return product + bias[..., : product.shape[-1]]


def _onto(acc: Array, lhs: Array, rhs: Array, init_cond: Any = False) -> Array:
    product = multiply(lhs, rhs)
    if init_cond:
        return product
    region = tuple([slice(0, e) for e in product.shape])
    return acc[region] + product


# -- tile operators --------------------------------------------------------------------------------------------------------------

_LHS = Param("lhs", Kind.TILE, doc="The left matrix [M, K].")
_RHS = Param("rhs", Kind.TILE, doc="The right matrix [K, N].")
_ACC = Param("acc", Kind.TILE, doc="The sum so far [M, N].")
_BIAS = Param("bias", Kind.TILE, doc="A row [1, N] of the accumulator's element type.")
_PHASE = Param("acc_phase", Kind.STR, "unspecified", doc="unspecified, partial or final.")
_INIT = Param(
    "init_cond",
    Kind.SCALAR,
    None,
    stamp=DataType.BOOL,
    doc="Where true, start from nothing: the accumulator does not count.",
)
# what an operand may be moved from; the first is where the multiplier reads it
_FROM_LEFT = (MemorySpace.Left, MemorySpace.Mat, MemorySpace.Vec)
_FROM_RIGHT = (MemorySpace.Right, MemorySpace.Mat, MemorySpace.Vec)
_FROM_BIAS = (MemorySpace.Bias, MemorySpace.Mat, MemorySpace.Vec)
_SUMS = "INT8 is summed in INT32, floating point in FP32."


def _tile_op(leaf: str, params: Sequence[Param], rule: Any, meaning: Callable[..., Array], short: bool, doc: str) -> None:
    op(
        f"tile.{leaf}",
        params=params,
        result=rule,
        meaning=meaning,
        lanes=Lanes.CONTRACT,
        memory=MemorySpace.Acc,
        memory_inputs={
            "lhs": _FROM_LEFT,
            "rhs": _FROM_RIGHT,
            **({"acc": (MemorySpace.Acc,)} if params[0] is _ACC else {}),
            **({"bias": _FROM_BIAS} if _BIAS in params else {}),
        },
        pure_types=True,
        short=short,
        doc=f"{doc} {_SUMS}",
    )


_tile_op("matmul", [_LHS, _RHS], _tile_rule(), _product, True, "The product of two matrices.")
_tile_op("matmul_acc", [_ACC, _LHS, _RHS, _INIT], _tile_rule(acc=True), _onto, True, "A matrix product added to an accumulator.")
_tile_op("matmul_bias", [_LHS, _RHS, _BIAS], _tile_rule(bias=True), _with_bias, True, "A matrix product plus a row.")
_tile_op("batch_matmul", [_LHS, _RHS], _tile_rule(batched=True), _product, True, "Matrix products over the leading dimensions.")
_tile_op(
    "batch_matmul_acc",
    [_ACC, _LHS, _RHS],
    _tile_rule(acc=True, batched=True),
    _onto,
    False,
    "Matrix products over the leading dimensions, added to an accumulator of as many dimensions.",
)
_tile_op("gemv", [_LHS, _RHS, _PHASE], _tile_rule(vector=True), _product, True, "One row times a matrix.")
_tile_op(
    "gemv_acc",
    [_ACC, _LHS, _RHS, _PHASE],
    _tile_rule(acc=True, vector=True),
    _onto,
    True,
    "One row times a matrix, added to an accumulator.",
)
_tile_op(
    "gemv_bias",
    [_LHS, _RHS, _BIAS, _PHASE],
    _tile_rule(bias=True, vector=True),
    _with_bias,
    True,
    "One row times a matrix, plus a row.",
)


# -- tensor operators ------------------------------------------------------------------------------------------------------------


def _flag(kwargs: Keywords, name: str) -> bool:
    return kwargs.get(name) is True


def _tensor_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    left, right = args[0].type, args[1].type
    assert isinstance(left, TensorType)
    assert isinstance(right, TensorType)
    for at, operand in enumerate((left, right)):
        if not operand.shape:
            raise OperandError(f"{declaration.name} takes operands of rank 1 or higher, got {describe_type(operand)}", at)
    a_trans, b_trans = _flag(kwargs, "a_trans"), _flag(kwargs, "b_trans")
    for at, (operand, flag) in enumerate(((left, a_trans), (right, b_trans))):
        if flag and len(operand.shape) < 2:
            raise OperandError(f"{declaration.name} cannot transpose {describe_type(operand)}", at)
    if left.dtype.is_float() != right.dtype.is_float():
        raise OperandError(f"{declaration.name} cannot multiply {describe_type(left)} by {describe_type(right)}", 1)
    made = _Product(declaration, args, 0, a_trans, b_trans)
    dtype = kwargs.get("out_dtype")
    if dtype is None:
        dtype = promote(left.dtype, right.dtype)
        dtype = accumulator(dtype) if dtype.is_int() else dtype
    if not isinstance(dtype, DataType):
        raise InvalidTypeError(f"{declaration.name} takes a DataType as 'out_dtype', got {dtype!r}")
    layout = TensorLayout.NZ if _flag(kwargs, "c_matrix_nz") else TensorLayout.ND
    full = all(same(a, b) for a, b in zip(made.shape, made.valid, strict=True))
    view = None if full and layout is TensorLayout.ND else TensorView([], layout, [] if full else made.valid)
    return TensorType(made.shape, dtype, None, view)


def _turned(array: Array, flag: bool) -> Array:
    return np.swapaxes(array, -1, -2) if flag else array


def multiply_tensors(lhs: Array, rhs: Array, out: ResultSpec, a_trans: bool = False, b_trans: bool = False) -> Array:
    """The product, in the element type of the result."""
    return multiply(_turned(lhs, a_trans), _turned(rhs, b_trans)).astype(out.dtype, copy=False)


_TENSORS = [
    Param("lhs", Kind.TENSOR, doc="The left matrix [..., M, K]."),
    Param("rhs", Kind.TENSOR, doc="The right matrix [..., K, N]."),
]
_TRANSPOSED = [
    Param("a_trans", Kind.BOOL, False, stored=True, doc="The left matrix is given as [K, M]."),
    Param("b_trans", Kind.BOOL, False, stored=True, doc="The right matrix is given as [N, K]."),
]

op(
    "tensor.matmul",
    params=[
        *_TENSORS,
        Param(
            "out_dtype", Kind.DTYPE, None, doc="Element type of the result; by default that of the operands (INT32 for integers)."
        ),
        *_TRANSPOSED,
        Param("c_matrix_nz", Kind.BOOL, False, stored=True, doc="The result lies in NZ layout."),
    ],
    result=_tensor_type,
    meaning=multiply_tensors,
    lanes=Lanes.CONTRACT,
    short=True,
    doc=f"The product of two matrices, or of stacks of them. {_SUMS}",
)


def _tensor_acc_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    acc = args[0].type
    assert isinstance(acc, TensorType)
    _need_rank(declaration, args, 1, batched=True)
    _same_types(declaration, args, 1)
    made = _Product(declaration, args, 1, _flag(kwargs, "a_trans"), _flag(kwargs, "b_trans"))
    _need_accumulator(declaration, acc, made, 0)
    full = all(same(a, b) for a, b in zip(made.shape, made.valid, strict=True))
    return TensorType(acc.shape, acc.dtype, None, None if full else TensorView([], TensorLayout.ND, made.valid))


def accumulate_tensors(
    acc: Array, lhs: Array, rhs: Array, init_cond: Any = False, a_trans: bool = False, b_trans: bool = False
) -> Array:
    """The product added to ``acc``."""
    return _onto(acc, _turned(lhs, a_trans), _turned(rhs, b_trans), init_cond)


op(
    "tensor.matmul_acc",
    params=[Param("acc", Kind.TENSOR, doc="The sum so far."), *_TENSORS, *_TRANSPOSED, _INIT],
    result=_tensor_acc_type,
    meaning=accumulate_tensors,
    lanes=Lanes.CONTRACT,
    short=True,
    doc=f"A matrix product added to an accumulator. {_SUMS}",
)
