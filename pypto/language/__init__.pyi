# Written by tools/generate.py from the declarations; do not edit.
from typing import Any

from pypto import parser as parser
from pypto.ir.dtypes import DataType as DataType
from pypto.ir.enums import AtomicType as AtomicType
from pypto.ir.enums import CompactMode as CompactMode
from pypto.ir.enums import ForKind as ForKind
from pypto.ir.enums import FunctionType as FunctionType
from pypto.ir.enums import Level as Level
from pypto.ir.enums import Mem as Mem
from pypto.ir.enums import MemorySpace as MemorySpace
from pypto.ir.enums import PadValue as PadValue
from pypto.ir.enums import PipeType as PipeType
from pypto.ir.enums import Role as Role
from pypto.ir.enums import ScopeMode as ScopeMode
from pypto.ir.enums import SplitMode as SplitMode
from pypto.ir.enums import TensorLayout as TensorLayout
from pypto.ir.enums import TileLayout as TileLayout
from pypto.language.annotations import Array as Array
from pypto.language.annotations import AsyncEvent as AsyncEvent
from pypto.language.annotations import AsyncSession as AsyncSession
from pypto.language.annotations import InOut as InOut
from pypto.language.annotations import MemRef as MemRef
from pypto.language.annotations import MemRefType as MemRefType
from pypto.language.annotations import Out as Out
from pypto.language.annotations import PrefetchAsyncContext as PrefetchAsyncContext
from pypto.language.annotations import Ptr as Ptr
from pypto.language.annotations import Scalar as Scalar
from pypto.language.annotations import Tensor as Tensor
from pypto.language.annotations import TensorView as TensorView
from pypto.language.annotations import Tile as Tile
from pypto.language.annotations import TileView as TileView
from pypto.language.annotations import Tuple as Tuple
from pypto.language.annotations import UnknownType as UnknownType
from pypto.language.control import NotExecutableError as NotExecutableError
from pypto.language.decorators import function as function
from pypto.language.decorators import inline as inline
from pypto.language.decorators import program as program
from pypto.parser import DynVar as DynVar
from pypto.parser import InlineFunction as InlineFunction
from pypto.parser import loads as loads
from pypto.parser import loads_program as loads_program
from pypto.parser import parse as parse
from pypto.parser import parse_program as parse_program

IntLike = Any
PtrType = Ptr
TaskId: Any
adir: Any
ND: TensorLayout
DN: TensorLayout
NZ: TensorLayout
MX_A_ZZ: TensorLayout
MX_B_NN: TensorLayout
BOOL: DataType
INT4: DataType
INT8: DataType
INT16: DataType
INT32: DataType
INT64: DataType
INDEX: DataType
UINT4: DataType
UINT8: DataType
UINT16: DataType
UINT32: DataType
UINT64: DataType
FP4: DataType
FP8E4M3FN: DataType
FP8E5M2: DataType
FP16: DataType
FP32: DataType
FP8E8M0: DataType
BF16: DataType
HF4: DataType
HF8: DataType
TASK_ID: DataType

def dynamic(name: str) -> DynVar:
    """A dimension known only when the program runs: ``M = pl.dynamic("M")``.

    Raises: ValueError: the name is no identifier.
    """

def const(value: Any, dtype: Any) -> Any:
    """A constant of a given element type: ``pl.const(3, pl.INT32)``."""

def range(*args: Any, **kwargs: Any) -> Any:
    """Loop in order: ``for i in pl.range(stop)``, ``(start, stop)``, ``(start, stop, step)``; ``init_values=(a,)`` carries
    values.
    """

def parallel(*args: Any, **kwargs: Any) -> Any:
    """Loop whose iterations may run at the same time."""

def unroll(*args: Any, **kwargs: Any) -> Any:
    """Loop that is written out; the bounds are compile-time constants."""

def pipeline(*args: Any, **kwargs: Any) -> Any:
    """Loop whose iterations overlap in ``stage`` stages."""

def while_(*args: Any, **kwargs: Any) -> Any:
    """Loop with carried values, run while the ``pl.cond`` at the start of its body holds."""

def cond(*args: Any, **kwargs: Any) -> Any:
    """The condition of a ``pl.while_`` loop."""

def yield_(*args: Any, **kwargs: Any) -> Any:
    """The values that a loop body or branch hands on."""

def static_print(*args: Any, **kwargs: Any) -> Any:
    """Print while the function is read."""

def static_assert(*args: Any, **kwargs: Any) -> Any:
    """Check a condition while the function is read."""

def func_attr(*args: Any, **kwargs: Any) -> Any:
    """Attributes of the function, at the start of its body."""

def at(*args: Any, **kwargs: Any) -> Any:
    """Scope: run the body at a level of the machine."""

def hierarchy(*args: Any, **kwargs: Any) -> Any:
    """Scope: run the body at a level of the machine; no kernel at any level."""

def seq(*args: Any, **kwargs: Any) -> Any:
    """A sequence of statements that is one statement."""

def cluster(*args: Any, **kwargs: Any) -> Any:
    """Scope: run the body on a cluster."""

def spmd(*args: Any, **kwargs: Any) -> Any:
    """Scope or loop: run the body on several cores."""

def scope(*args: Any, **kwargs: Any) -> Any:
    """Scope: the runtime orders the tasks of the body."""

def manual_scope(*args: Any, **kwargs: Any) -> Any:
    """Scope: the author orders the tasks of the body."""

def split_aiv(*args: Any, **kwargs: Any) -> Any:
    """Loop over the two vector cores."""

def split(*args: Any, **kwargs: Any) -> Any:
    """Scope option: how to split a tile over the vector cores."""

def cross_core_slot(*args: Any, **kwargs: Any) -> Any:
    """Scope option: number of slots between cores."""

def submit(*args: Any, **kwargs: Any) -> Any:
    """Launch a kernel as a task."""

def spmd_submit(*args: Any, **kwargs: Any) -> Any:
    """Launch a kernel on several cores as a task."""

def no_dep(*args: Any, **kwargs: Any) -> Any:
    """Mark an argument that creates no dependency."""

def dump_tag(*args: Any, **kwargs: Any) -> Any:
    """Mark a tensor for dumping."""

def abs(input: Any) -> Any:
    """Absolute value of each element; the smallest integer stays as it is."""

def add(lhs: Any, rhs: Any) -> Any:
    """Sum of the elements of two tensors, or of one and a scalar; integers wrap around."""

def addc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
    """Sum of three tiles."""

def addsc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
    """A tile plus a scalar plus a tile."""

def aic_initialize_pipe(
    c2v_consumer_buf: Any = ...,
    v2c_consumer_buf: Any = ...,
    *,
    dir_mask: Any,
    slot_size: Any,
    slot_num: Any = ...,
    local_slot_num: Any = ...,
    id: Any = ...,
) -> Any:
    """Set up the pipe between the cube and the vector core."""

def aiv_initialize_pipe(
    c2v_consumer_buf: Any = ...,
    v2c_consumer_buf: Any = ...,
    *,
    dir_mask: Any,
    slot_size: Any,
    slot_num: Any = ...,
    local_slot_num: Any = ...,
    id: Any = ...,
) -> Any:
    """Set up the pipe between the cube and the vector core."""

def and_(lhs: Any, rhs: Any) -> Any:
    """Bits that both operands have; integers only."""

def ands(lhs: Any, rhs: Any) -> Any:
    """Bits that both operands have; the second operand is a scalar. Integers only."""

def arange(start: Any, shape: Any, dtype: Any = ..., descending: Any = ...) -> Any:
    """Consecutive integers."""

def assemble(target: Any, source: Any, offset: Any, *, atomic: Any = ...) -> Any:
    """Write one tensor into another; gives the one written to."""

def batch_matmul(lhs: Any, rhs: Any) -> Any:
    """Matrix products over the leading dimensions. INT8 is summed in INT32, floating point in FP32."""

def cast(input: Any, target_type: Any, mode: Any = ...) -> Any:
    """Each element converted to another type. Float to integer rounds by the mode, saturates and turns NaN into 0; integers
    wrap around; to a float type with fewer digits the mode rounds. Modes: none, rint (to the nearest, halves to even),
    round (halves away from zero), floor, ceil, trunc, odd.
    """

def cmp(lhs: Any, rhs: Any, cmp_type: Any = ...) -> Any:
    """Compare the elements of two tensors, or of one and a scalar: 1 where it holds, else 0, in the common element type."""

def cmps(lhs: Any, rhs: Any, cmp_type: Any = ...) -> Any:
    """Compare each element with a scalar. The result is a packed mask: one bit an element, rows padded to 32 bytes."""

def col_argmax(input: Any, tmp_tile: Any = ...) -> Any:
    """The position of the first largest element of each column, INT32. Only the valid region counts; of an empty one the
    result is the neutral element (0 for a position).
    """

def col_argmin(input: Any, tmp_tile: Any = ...) -> Any:
    """The position of the first smallest element of each column, INT32. Only the valid region counts; of an empty one the
    result is the neutral element (0 for a position).
    """

def col_expand(target: Any, vec: Any) -> Any:
    """Spread a row vector [1, columns] over the rows."""

def col_expand_add(tensor: Any, vec: Any) -> Any:
    """A matrix plus a row vector [1, columns] over the rows."""

def col_expand_div(tensor: Any, vec: Any) -> Any:
    """A matrix divided by a row vector [1, columns] over the rows."""

def col_expand_expdif(tensor: Any, vec: Any) -> Any:
    """A matrix minus, then the exponential: a row vector [1, columns] over the rows."""

def col_expand_max(tensor: Any, vec: Any) -> Any:
    """A matrix or, where it is larger, a row vector [1, columns] over the rows."""

def col_expand_min(tensor: Any, vec: Any) -> Any:
    """A matrix or, where it is smaller, a row vector [1, columns] over the rows."""

def col_expand_mul(tensor: Any, vec: Any) -> Any:
    """A matrix times a row vector [1, columns] over the rows."""

def col_expand_sub(tensor: Any, vec: Any) -> Any:
    """A matrix minus a row vector [1, columns] over the rows."""

def col_max(input: Any) -> Any:
    """The largest element of each column. Only the valid region counts; of an empty one the result is the neutral element (0
    for a position).
    """

def col_min(input: Any) -> Any:
    """The smallest element of each column. Only the valid region counts; of an empty one the result is the neutral element (0
    for a position).
    """

def col_prod(input: Any) -> Any:
    """The product of each column. Only the valid region counts; of an empty one the result is the neutral element (0 for a
    position).
    """

def col_sum(input: Any, tmp_tile: Any = ...) -> Any:
    """The sum of each column. Only the valid region counts; of an empty one the result is the neutral element (0 for a
    position).
    """

def concat(src0: Any, src1: Any) -> Any:
    """The columns of one operand followed by those of the other."""

def cos(input: Any) -> Any:
    """Cosine of each element, in radians."""

def create_tensor(shape: Any, dtype: Any, layout: Any = ..., manual_dep: Any = ..., init_value: Any = ...) -> Any:
    """A new tensor. Without ``init_value`` it holds nothing until it is written; reading it before is an error."""

def create_tile(shape: Any, dtype: Any, target_memory: Any = ..., transpose: Any = ..., *, flat_layout: Any = ...) -> Any:
    """A new tile. It holds nothing until it is written; reading it before is an error."""

def dim(tensor: Any, axis: Any) -> Any:
    """The extent of a tensor along an axis."""

def div(lhs: Any, rhs: Any, high_precision: Any = ...) -> Any:
    """Quotient of the elements of two tensors, or of one and a scalar; integers round toward zero, and division by 0 gives 0."""

def exp(input: Any) -> Any:
    """e to the power of each element."""

def expand_clone(src: Any, target: Any) -> Any:
    """Repeat a tensor along the one axis in which it has extent 1 and the target has more."""

def expands(target: Any, scalar: Any) -> Any:
    """A scalar in every element."""

def fillpad(tensor: Any, pad_value: Any = ...) -> Any:
    """All lanes outside the valid region are set to the pad value; the result is valid throughout."""

def fillpad_expand(tensor: Any, shape: Any, pad_value: Any = ...) -> Any:
    """Enlarge to ``shape``. All lanes outside the valid region are set to the pad value; the result is valid throughout."""

def fmod(lhs: Any, rhs: Any) -> Any:
    """Remainder of the division rounded toward zero: it has the sign of the dividend."""

def fmods(lhs: Any, rhs: Any) -> Any:
    """Remainder of the division by a scalar rounded toward zero: it has the sign of the dividend."""

def full(shape: Any, dtype: Any, value: Any) -> Any:
    """A new tensor of one value."""

def gather(input: Any, dim: Any = ..., index: Any = ..., *, mask_pattern: Any = ..., output_dtype: Any = ...) -> Any:
    """``pl.tensor.gather(input, dim, index)``: Elements collected along one axis: ``result[i][j] = input[i][index[i][j]]`` for
    the last one.

    ``pl.tensor.gather_mask(input, *, mask_pattern, output_dtype=None)``: Every second or fourth element of each row, by a
    pattern whose rightmost digit stands for the first element: P0101 (1) the even ones, P1010 (2) the odd ones, P0001,
    P0010, P0100, P1000 (3 to 6) one of each four, P1111 (7) all.
    """

def gather_row(
    dst: Any, src_tensor: Any, dst_offset: Any, src_offset: Any, shapes: Any, transpose: Any = ..., *, valid_shape: Any = ...
) -> Any:
    """A tile with a window of a tensor loaded into it."""

def gemv(lhs: Any, rhs: Any, acc_phase: Any = ...) -> Any:
    """One row times a matrix. INT8 is summed in INT32, floating point in FP32."""

def gemv_acc(acc: Any, lhs: Any, rhs: Any, acc_phase: Any = ...) -> Any:
    """One row times a matrix, added to an accumulator. INT8 is summed in INT32, floating point in FP32."""

def gemv_bias(lhs: Any, rhs: Any, bias: Any, acc_phase: Any = ...) -> Any:
    """One row times a matrix, plus a row. INT8 is summed in INT32, floating point in FP32."""

def get_block_idx() -> Any:
    """The number of this block among those that run the kernel; 0 when it runs alone."""

def get_block_num() -> Any:
    """How many blocks run the kernel; 1 when it runs alone."""

def get_subblock_idx() -> Any:
    """The number of this vector core within its block; 0 when it runs alone."""

def import_peer_buffer(*, name: Any, peer_func: Any) -> Any:
    """The address of a buffer that the other core of the cluster reserves."""

def load(tensor: Any, offsets: Any, shapes: Any, valid_shape: Any = ..., target_memory: Any = ..., clamp: Any = ...) -> Any:
    """Copy a window of a tensor into a tile. The valid region is ``valid_shape``, cut down to the valid region of the tensor
    itself.
    """

def log(input: Any, high_precision: Any = ...) -> Any:
    """Natural logarithm of each element."""

def lrelu(tile: Any, slope: Any) -> Any:
    """Each element, or its product with a slope where it is not positive."""

def matmul(lhs: Any, rhs: Any, out_dtype: Any = ..., a_trans: Any = ..., b_trans: Any = ..., c_matrix_nz: Any = ...) -> Any:
    """The product of two matrices, or of stacks of them. INT8 is summed in INT32, floating point in FP32."""

def matmul_acc(acc: Any, lhs: Any, rhs: Any, a_trans: Any = ..., b_trans: Any = ..., init_cond: Any = ...) -> Any:
    """A matrix product added to an accumulator. INT8 is summed in INT32, floating point in FP32."""

def matmul_bias(lhs: Any, rhs: Any, bias: Any) -> Any:
    """A matrix product plus a row. INT8 is summed in INT32, floating point in FP32."""

def max(lhs: Any, rhs: Any) -> Any:
    """Larger of two scalars."""

def maximum(lhs: Any, rhs: Any) -> Any:
    """Larger of each two elements; NaN when either is."""

def maximums(lhs: Any, rhs: Any) -> Any:
    """Larger of each element and a scalar; NaN when either is."""

def min(lhs: Any, rhs: Any) -> Any:
    """Smaller of two scalars."""

def minimum(lhs: Any, rhs: Any) -> Any:
    """Smaller of each two elements; NaN when either is."""

def minimums(lhs: Any, rhs: Any) -> Any:
    """Smaller of each element and a scalar; NaN when either is."""

def move(tile: Any, target_memory: Any, blayout: Any = ..., slayout: Any = ...) -> Any:
    """Copy a tile into another memory of the core, laid out as that memory asks for."""

def mrgsort(src0: Any, *, block_len: Any) -> Any:
    """Merge each four neighbouring sorted runs of a row into one, in descending order."""

def mscatter(src: Any, idx: Any, output_tensor: Any) -> Any:
    """Write elements of a tile to places of a tensor; gives the tensor. Of several to one place the last, row by row, stays."""

def mul(lhs: Any, rhs: Any) -> Any:
    """Product of the elements of two tensors, or of one and a scalar; integers wrap around."""

def neg(input: Any) -> Any:
    """Each element negated; integers wrap around."""

def not_(input: Any) -> Any:
    """Each element with all its bits inverted."""

def or_(lhs: Any, rhs: Any) -> Any:
    """Bits that either operand has; integers only."""

def ors(lhs: Any, rhs: Any) -> Any:
    """Bits that either operand has; the second operand is a scalar. Integers only."""

def part_add(src0: Any, src1: Any) -> Any:
    """Sum of the elements of two tensors where both are valid; elsewhere the valid one's element."""

def part_max(src0: Any, src1: Any) -> Any:
    """Larger of the elements of two tensors where both are valid; elsewhere the valid one's element."""

def part_min(src0: Any, src1: Any) -> Any:
    """Smaller of the elements of two tensors where both are valid; elsewhere the valid one's element."""

def part_mul(src0: Any, src1: Any) -> Any:
    """Product of the elements of two tensors where both are valid; elsewhere the valid one's element."""

def prelu(tile: Any, slope: Any, tmp: Any) -> Any:
    """Each element, or its product with the slope at its place where it is not positive."""

def random(
    key0: Any,
    key1: Any,
    counter0: Any,
    counter1: Any,
    counter2: Any,
    counter3: Any,
    shape: Any,
    dtype: Any = ...,
    rounds: Any = ...,
) -> Any:
    """Random 32-bit words of the counter-based generator Philox 4x32. Element i, row by row, is word ``i % 4`` of the block
    whose 128-bit counter (counter0 the lowest word) is the given one plus ``i // 4``.
    """

def read(src: Any, offset: Any) -> Any:
    """One element as a scalar."""

def recip(input: Any, high_precision: Any = ...) -> Any:
    """One divided by each element."""

def reinterpret_view(data: Any, dtype: Any, *, shape: Any = ...) -> Any:
    """The same bytes read as elements of another type."""

def relu(tile: Any) -> Any:
    """Each element, or 0 where it is negative."""

def rem(lhs: Any, rhs: Any, tmp: Any) -> Any:
    """Remainder of the division rounded down: it has the sign of the divisor."""

def rems(lhs: Any, rhs: Any, tmp: Any) -> Any:
    """Remainder of the division by a scalar rounded down: it has the sign of the scalar."""

def reserve_buffer(*, name: Any, size: Any, base: Any = ...) -> Any:
    """Reserve a buffer that the other core of the cluster can reach; gives its address."""

def reshape(tensor: Any, shape: Any, valid_shape: Any = ...) -> Any:
    """The same elements, row by row, in another shape."""

def row_argmax(input: Any, tmp_tile: Any = ...) -> Any:
    """The position of the first largest element of each row, INT32. Only the valid region counts; of an empty one the result
    is the neutral element (0 for a position).
    """

def row_argmin(input: Any, tmp_tile: Any = ...) -> Any:
    """The position of the first smallest element of each row, INT32. Only the valid region counts; of an empty one the result
    is the neutral element (0 for a position).
    """

def row_expand(target: Any, vec: Any) -> Any:
    """Spread a column vector [rows, 1] over the columns."""

def row_expand_add(tensor: Any, vec: Any, tmp: Any = ...) -> Any:
    """A matrix plus a column vector [rows, 1] over the columns."""

def row_expand_div(tensor: Any, vec: Any) -> Any:
    """A matrix divided by a column vector [rows, 1] over the columns."""

def row_expand_expdif(tensor: Any, vec: Any) -> Any:
    """A matrix minus, then the exponential: a column vector [rows, 1] over the columns."""

def row_expand_max(tensor: Any, vec: Any) -> Any:
    """A matrix or, where it is larger, a column vector [rows, 1] over the columns."""

def row_expand_min(tensor: Any, vec: Any) -> Any:
    """A matrix or, where it is smaller, a column vector [rows, 1] over the columns."""

def row_expand_mul(tensor: Any, vec: Any) -> Any:
    """A matrix times a column vector [rows, 1] over the columns."""

def row_expand_sub(tensor: Any, vec: Any) -> Any:
    """A matrix minus a column vector [rows, 1] over the columns."""

def row_max(input: Any, tmp_tile: Any = ...) -> Any:
    """The largest element of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for
    a position).
    """

def row_min(input: Any, tmp_tile: Any = ...) -> Any:
    """The smallest element of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for
    a position).
    """

def row_prod(input: Any, tmp_tile: Any = ...) -> Any:
    """The product of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for a
    position).
    """

def row_sum(input: Any, tmp_tile: Any = ...) -> Any:
    """The sum of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for a position)."""

def rsqrt(input: Any, high_precision: Any = ..., tmp: Any = ...) -> Any:
    """One divided by the square root of each element; a scratch tile (or high_precision on a tensor) selects the more exact
    form.
    """

def scatter(input: Any, dim: Any, index: Any, src: Any) -> Any:
    """A tensor with elements replaced along the last axis: ``result[i][index[i][j]] = src[i][j]``."""

def scatter_update(input: Any, dim: Any, index: Any, src: Any) -> Any:
    """Replace rows: row number ``index[k]`` of the input becomes row ``k`` of the source."""

def sel(mask: Any, lhs: Any, rhs: Any, tmp: Any) -> Any:
    """Elements of one tile where the bit of a packed mask is set, of another elsewhere."""

def sels(mask: Any, src: Any, tmp: Any, scalar: Any) -> Any:
    """Elements of a tile where the bit of a packed mask is set, a scalar elsewhere."""

def set_validshape(tensor: Any, valid_rows: Any, valid_cols: Any) -> Any:
    """The same elements with another valid region."""

def shl(lhs: Any, rhs: Any) -> Any:
    """Bits moved up by as many places as the second operand says; zeros move in; integers only."""

def shls(lhs: Any, rhs: Any) -> Any:
    """Bits moved up by as many places as the second operand says; zeros move in; the second operand is a scalar. Integers
    only.
    """

def shr(lhs: Any, rhs: Any) -> Any:
    """Bits moved down by as many places as the second operand says; the sign of signed elements moves in, else zeros; integers
    only.
    """

def shrs(lhs: Any, rhs: Any) -> Any:
    """Bits moved down by as many places as the second operand says; the sign of signed elements moves in, else zeros; the
    second operand is a scalar. Integers only.
    """

def sin(input: Any) -> Any:
    """Sine of each element, in radians."""

def slice(
    tensor: Any, shape: Any, offset: Any, valid_shape: Any = ..., drop_dims: Any = ..., pad_value: Any = ..., clamp: Any = ...
) -> Any:
    """A window of a tensor, on its storage. A window of a distributed tensor is distributed."""

def sort32(src: Any, idx: Any) -> Any:
    """Each block of 32 elements of a row sorted in descending order, as pairs of eight bytes: the value, and its number as
    UINT32 bits in the second four bytes. A row becomes twice as long in FP32, four times in FP16.
    """

def sqrt(input: Any) -> Any:
    """Square root of each element; NaN where it is negative."""

def store(tile: Any, offsets: Any, output_tensor: Any, shapes: Any = ..., *, atomic: Any = ...) -> Any:
    """Copy the valid region of a tile into a tensor; gives the tensor. A tile in Acc is converted to the tensor's element
    type.
    """

def sub(lhs: Any, rhs: Any) -> Any:
    """Difference of the elements of two tensors, or of one and a scalar; integers wrap around."""

def subc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
    """The first tile minus the second plus the third."""

def subsc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
    """A tile minus a scalar plus a tile."""

def transpose(tensor: Any, axis1: Any, axis2: Any, valid_shape: Any = ..., tmp_tile: Any = ...) -> Any:
    """Two axes swapped."""

def tri(diagonal: Any, shape: Any, valid_shape: Any = ..., dtype: Any = ..., upper: Any = ...) -> Any:
    """A triangle of ones: where ``column - row <= diagonal``, or ``>= diagonal`` for the upper one."""

def write(dst: Any, offset: Any, value: Any) -> Any:
    """Set one element. Gives nothing: what was written to has changed."""

def xor(lhs: Any, rhs: Any, tmp: Any = ...) -> Any:
    """Bits that one operand has and the other has not; integers only."""

def xors(lhs: Any, rhs: Any, tmp: Any = ...) -> Any:
    """Bits that one operand has and the other has not; the second operand is a scalar. Integers only."""

class _array:
    @staticmethod
    def create(extent: Any, dtype: Any) -> Any:
        """A small array of scalars on the core, all zero."""

    @staticmethod
    def get_element(array: Any, index: Any) -> Any:
        """One element of an array."""

    @staticmethod
    def update_element(array: Any, index: Any, value: Any) -> Any:
        """The array with one element changed."""

array: type[_array]

class _system:
    @staticmethod
    def aic_initialize_pipe(
        c2v_consumer_buf: Any = ...,
        v2c_consumer_buf: Any = ...,
        *,
        dir_mask: Any,
        slot_size: Any,
        slot_num: Any = ...,
        local_slot_num: Any = ...,
        id: Any = ...,
    ) -> Any:
        """Set up the pipe between the cube and the vector core."""

    @staticmethod
    def aiv_initialize_pipe(
        c2v_consumer_buf: Any = ...,
        v2c_consumer_buf: Any = ...,
        *,
        dir_mask: Any,
        slot_size: Any,
        slot_num: Any = ...,
        local_slot_num: Any = ...,
        id: Any = ...,
    ) -> Any:
        """Set up the pipe between the cube and the vector core."""

    @staticmethod
    def available_aiv_count() -> Any:
        """How many vector cores the machine has for this program."""

    @staticmethod
    def available_cluster_count() -> Any:
        """How many clusters the machine has for this program."""

    @staticmethod
    def bar_all() -> Any:
        """Wait until all engines of the core are done."""

    @staticmethod
    def bar_m() -> Any:
        """Wait until the matrix engine is done."""

    @staticmethod
    def bar_v() -> Any:
        """Wait until the vector engine is done."""

    @staticmethod
    def cacheinvalid(tensor: Any = ..., shapes: Any = ..., offsets: Any = ...) -> Any:
        """Forget cached copies, so that the next reads see what others wrote."""

    @staticmethod
    def fence() -> Any:
        """Make everything written before visible to all before anything after it."""

    @staticmethod
    def import_peer_buffer(*, name: Any, peer_func: Any) -> Any:
        """The address of a buffer that the other core of the cluster reserves."""

    @staticmethod
    def reserve_buffer(*, name: Any, size: Any, base: Any = ...) -> Any:
        """Reserve a buffer that the other core of the cluster can reach; gives its address."""

    @staticmethod
    def set_ffts(workspace: Any) -> Any:
        """Say where signals between cores are kept."""

    @staticmethod
    def sync_dst(*, set_pipe: Any, wait_pipe: Any, event_id: Any) -> Any:
        """Wait for an event of another engine."""

    @staticmethod
    def sync_set(event_id: Any, *, pipe: Any, ffts_mode: Any = ..., core_type: Any = ...) -> Any:
        """Signal an event to another core."""

    @staticmethod
    def sync_src(*, set_pipe: Any, wait_pipe: Any, event_id: Any) -> Any:
        """Signal an event to another engine."""

    @staticmethod
    def sync_wait(event_id: Any, *, pipe: Any, core_type: Any = ...) -> Any:
        """Wait for an event of another core."""

    @staticmethod
    def syncall(*, core_type: Any = ..., mode: Any = ..., gm_workspace: Any = ..., used_cores: Any = ...) -> Any:
        """Wait until all cores have come here."""

    @staticmethod
    def task_dummy(*, deps: Any) -> Any:
        """A task that does nothing and ends when the tasks of the list ``deps`` have ended."""

    @staticmethod
    def task_invalid() -> Any:
        """The handle of no task; waiting for it is waiting for nothing."""

    @staticmethod
    def task_is_valid(task: Any) -> Any:
        """True unless the handle is that of no task."""

system: type[_system]

class _tensor:
    @staticmethod
    def abs(input: Any) -> Any:
        """Absolute value of each element; the smallest integer stays as it is."""

    @staticmethod
    def add(lhs: Any, rhs: Any) -> Any:
        """Sum of the elements of two tensors, or of one and a scalar; integers wrap around."""

    @staticmethod
    def adds(lhs: Any, rhs: Any) -> Any:
        """Each element plus a scalar; integers wrap around."""

    @staticmethod
    def alloc(memory_space: Any, size: Any) -> Any:
        """Memory for tensors, made by the allocation passes."""

    @staticmethod
    def and_(lhs: Any, rhs: Any) -> Any:
        """Bits that both operands have; integers only."""

    @staticmethod
    def ands(lhs: Any, rhs: Any) -> Any:
        """Bits that both operands have; the second operand is a scalar. Integers only."""

    @staticmethod
    def arange(start: Any, shape: Any, dtype: Any = ..., descending: Any = ...) -> Any:
        """Consecutive integers."""

    @staticmethod
    def assemble(target: Any, source: Any, offset: Any, *, atomic: Any = ...) -> Any:
        """Write one tensor into another; gives the one written to."""

    @staticmethod
    def cast(input: Any, target_type: Any, mode: Any = ...) -> Any:
        """Each element converted to another type. Float to integer rounds by the mode, saturates and turns NaN into 0;
        integers wrap around; to a float type with fewer digits the mode rounds. Modes: none, rint (to the nearest, halves
        to even), round (halves away from zero), floor, ceil, trunc, odd.
        """

    @staticmethod
    def ci(start: Any, shape: Any, dtype: Any = ..., descending: Any = ...) -> Any:
        """Consecutive integers."""

    @staticmethod
    def cmp(lhs: Any, rhs: Any, cmp_type: Any = ...) -> Any:
        """Compare the elements of two tensors, or of one and a scalar: 1 where it holds, else 0, in the common element type."""

    @staticmethod
    def col_argmax(input: Any) -> Any:
        """The position of the first largest element of each column, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def col_argmin(input: Any) -> Any:
        """The position of the first smallest element of each column, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def col_expand(tensor: Any, vec: Any) -> Any:
        """Spread a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_add(tensor: Any, vec: Any) -> Any:
        """A matrix plus a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_div(tensor: Any, vec: Any) -> Any:
        """A matrix divided by a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_expdif(tensor: Any, vec: Any) -> Any:
        """A matrix minus, then the exponential: a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_max(tensor: Any, vec: Any) -> Any:
        """A matrix or, where it is larger, a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_min(tensor: Any, vec: Any) -> Any:
        """A matrix or, where it is smaller, a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_mul(tensor: Any, vec: Any) -> Any:
        """A matrix times a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_sub(tensor: Any, vec: Any) -> Any:
        """A matrix minus a row vector [1, columns] over the rows."""

    @staticmethod
    def col_max(input: Any) -> Any:
        """The largest element of each column. Only the valid region counts; of an empty one the result is the neutral element
        (0 for a position).
        """

    @staticmethod
    def col_min(input: Any) -> Any:
        """The smallest element of each column. Only the valid region counts; of an empty one the result is the neutral element
        (0 for a position).
        """

    @staticmethod
    def col_prod(input: Any) -> Any:
        """The product of each column. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def col_sum(input: Any) -> Any:
        """The sum of each column. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def concat(src0: Any, src1: Any) -> Any:
        """The columns of one operand followed by those of the other."""

    @staticmethod
    def cos(input: Any) -> Any:
        """Cosine of each element, in radians."""

    @staticmethod
    def create(shape: Any, dtype: Any, layout: Any = ..., manual_dep: Any = ..., init_value: Any = ...) -> Any:
        """A new tensor. Without ``init_value`` it holds nothing until it is written; reading it before is an error."""

    @staticmethod
    def create_tensor(shape: Any, dtype: Any, layout: Any = ..., manual_dep: Any = ..., init_value: Any = ...) -> Any:
        """A new tensor. Without ``init_value`` it holds nothing until it is written; reading it before is an error."""

    @staticmethod
    def dim(tensor: Any, axis: Any) -> Any:
        """The extent of a tensor along an axis."""

    @staticmethod
    def div(lhs: Any, rhs: Any, high_precision: Any = ...) -> Any:
        """Quotient of the elements of two tensors, or of one and a scalar; integers round toward zero, and division by 0 gives
        0.
        """

    @staticmethod
    def divs(lhs: Any, rhs: Any) -> Any:
        """Each element divided by a scalar; integers round toward zero, and division by 0 gives 0."""

    @staticmethod
    def exp(input: Any) -> Any:
        """e to the power of each element."""

    @staticmethod
    def expand_clone(src: Any, target: Any) -> Any:
        """Repeat a tensor along the one axis in which it has extent 1 and the target has more."""

    @staticmethod
    def expands(target: Any, scalar: Any) -> Any:
        """A scalar in every element."""

    @staticmethod
    def fillpad(tensor: Any, pad_value: Any = ...) -> Any:
        """All lanes outside the valid region are set to the pad value; the result is valid throughout."""

    @staticmethod
    def fillpad_expand(tensor: Any, shape: Any, pad_value: Any = ...) -> Any:
        """Enlarge to ``shape``. All lanes outside the valid region are set to the pad value; the result is valid throughout."""

    @staticmethod
    def fmod(lhs: Any, rhs: Any) -> Any:
        """Remainder of the division rounded toward zero: it has the sign of the dividend."""

    @staticmethod
    def fmods(lhs: Any, rhs: Any) -> Any:
        """Remainder of the division by a scalar rounded toward zero: it has the sign of the dividend."""

    @staticmethod
    def full(shape: Any, dtype: Any, value: Any) -> Any:
        """A new tensor of one value."""

    @staticmethod
    def gather(input: Any, dim: Any = ..., index: Any = ..., *, mask_pattern: Any = ..., output_dtype: Any = ...) -> Any:
        """``pl.tensor.gather(input, dim, index)``: Elements collected along one axis: ``result[i][j] = input[i][index[i][j]]``
        for the last one.

        ``pl.tensor.gather_mask(input, *, mask_pattern, output_dtype=None)``: Every second or fourth element of each row, by
        a pattern whose rightmost digit stands for the first element: P0101 (1) the even ones, P1010 (2) the odd ones,
        P0001, P0010, P0100, P1000 (3 to 6) one of each four, P1111 (7) all.
        """

    @staticmethod
    def gather_mask(input: Any, *, mask_pattern: Any, output_dtype: Any = ...) -> Any:
        """Every second or fourth element of each row, by a pattern whose rightmost digit stands for the first element: P0101
        (1) the even ones, P1010 (2) the odd ones, P0001, P0010, P0100, P1000 (3 to 6) one of each four, P1111 (7) all.
        """

    @staticmethod
    def get_block_idx() -> Any:
        """The number of this block among those that run the kernel; 0 when it runs alone."""

    @staticmethod
    def get_block_num() -> Any:
        """How many blocks run the kernel; 1 when it runs alone."""

    @staticmethod
    def get_subblock_idx() -> Any:
        """The number of this vector core within its block; 0 when it runs alone."""

    @staticmethod
    def log(input: Any, high_precision: Any = ...) -> Any:
        """Natural logarithm of each element."""

    @staticmethod
    def matmul(lhs: Any, rhs: Any, out_dtype: Any = ..., a_trans: Any = ..., b_trans: Any = ..., c_matrix_nz: Any = ...) -> Any:
        """The product of two matrices, or of stacks of them. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def matmul_acc(acc: Any, lhs: Any, rhs: Any, a_trans: Any = ..., b_trans: Any = ..., init_cond: Any = ...) -> Any:
        """A matrix product added to an accumulator. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def maximum(lhs: Any, rhs: Any) -> Any:
        """Larger of each two elements; NaN when either is."""

    @staticmethod
    def minimum(lhs: Any, rhs: Any) -> Any:
        """Smaller of each two elements; NaN when either is."""

    @staticmethod
    def mrgsort(src0: Any, *, block_len: Any) -> Any:
        """Merge each four neighbouring sorted runs of a row into one, in descending order."""

    @staticmethod
    def mrgsort_format1(src0: Any, *, block_len: Any) -> Any:
        """Merge each four neighbouring sorted runs of a row into one, in descending order."""

    @staticmethod
    def mul(lhs: Any, rhs: Any) -> Any:
        """Product of the elements of two tensors, or of one and a scalar; integers wrap around."""

    @staticmethod
    def muls(lhs: Any, rhs: Any) -> Any:
        """Each element times a scalar; integers wrap around."""

    @staticmethod
    def neg(input: Any) -> Any:
        """Each element negated; integers wrap around."""

    @staticmethod
    def not_(input: Any) -> Any:
        """Each element with all its bits inverted."""

    @staticmethod
    def or_(lhs: Any, rhs: Any) -> Any:
        """Bits that either operand has; integers only."""

    @staticmethod
    def ors(lhs: Any, rhs: Any) -> Any:
        """Bits that either operand has; the second operand is a scalar. Integers only."""

    @staticmethod
    def part_add(src0: Any, src1: Any) -> Any:
        """Sum of the elements of two tensors where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def part_max(src0: Any, src1: Any) -> Any:
        """Larger of the elements of two tensors where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def part_min(src0: Any, src1: Any) -> Any:
        """Smaller of the elements of two tensors where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def part_mul(src0: Any, src1: Any) -> Any:
        """Product of the elements of two tensors where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def random(
        key0: Any,
        key1: Any,
        counter0: Any,
        counter1: Any,
        counter2: Any,
        counter3: Any,
        shape: Any,
        dtype: Any = ...,
        rounds: Any = ...,
    ) -> Any:
        """Random 32-bit words of the counter-based generator Philox 4x32. Element i, row by row, is word ``i % 4`` of the
        block whose 128-bit counter (counter0 the lowest word) is the given one plus ``i // 4``.
        """

    @staticmethod
    def read(tensor: Any, indices: Any) -> Any:
        """One element as a scalar."""

    @staticmethod
    def recip(input: Any, high_precision: Any = ...) -> Any:
        """One divided by each element."""

    @staticmethod
    def reinterpret_view(data: Any, dtype: Any, *, shape: Any = ...) -> Any:
        """The same bytes read as elements of another type."""

    @staticmethod
    def reshape(tensor: Any, shape: Any, valid_shape: Any = ...) -> Any:
        """The same elements, row by row, in another shape."""

    @staticmethod
    def row_argmax(input: Any) -> Any:
        """The position of the first largest element of each row, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def row_argmin(input: Any) -> Any:
        """The position of the first smallest element of each row, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def row_expand(tensor: Any, vec: Any) -> Any:
        """Spread a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_add(tensor: Any, vec: Any) -> Any:
        """A matrix plus a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_div(tensor: Any, vec: Any) -> Any:
        """A matrix divided by a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_expdif(tensor: Any, vec: Any) -> Any:
        """A matrix minus, then the exponential: a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_max(tensor: Any, vec: Any) -> Any:
        """A matrix or, where it is larger, a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_min(tensor: Any, vec: Any) -> Any:
        """A matrix or, where it is smaller, a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_mul(tensor: Any, vec: Any) -> Any:
        """A matrix times a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_sub(tensor: Any, vec: Any) -> Any:
        """A matrix minus a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_max(input: Any) -> Any:
        """The largest element of each row. Only the valid region counts; of an empty one the result is the neutral element (0
        for a position).
        """

    @staticmethod
    def row_min(input: Any) -> Any:
        """The smallest element of each row. Only the valid region counts; of an empty one the result is the neutral element (0
        for a position).
        """

    @staticmethod
    def row_prod(input: Any) -> Any:
        """The product of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def row_sum(input: Any) -> Any:
        """The sum of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def rsqrt(input: Any, high_precision: Any = ...) -> Any:
        """One divided by the square root of each element; a scratch tile (or high_precision on a tensor) selects the more
        exact form.
        """

    @staticmethod
    def scatter(input: Any, dim: Any, index: Any, src: Any) -> Any:
        """A tensor with elements replaced along the last axis: ``result[i][index[i][j]] = src[i][j]``."""

    @staticmethod
    def scatter_update(input: Any, dim: Any, index: Any, src: Any) -> Any:
        """Replace rows: row number ``index[k]`` of the input becomes row ``k`` of the source."""

    @staticmethod
    def set_validshape(tensor: Any, valid_rows: Any, valid_cols: Any) -> Any:
        """The same elements with another valid region."""

    @staticmethod
    def shl(lhs: Any, rhs: Any) -> Any:
        """Bits moved up by as many places as the second operand says; zeros move in; integers only."""

    @staticmethod
    def shls(lhs: Any, rhs: Any) -> Any:
        """Bits moved up by as many places as the second operand says; zeros move in; the second operand is a scalar. Integers
        only.
        """

    @staticmethod
    def shr(lhs: Any, rhs: Any) -> Any:
        """Bits moved down by as many places as the second operand says; the sign of signed elements moves in, else zeros;
        integers only.
        """

    @staticmethod
    def shrs(lhs: Any, rhs: Any) -> Any:
        """Bits moved down by as many places as the second operand says; the sign of signed elements moves in, else zeros; the
        second operand is a scalar. Integers only.
        """

    @staticmethod
    def sin(input: Any) -> Any:
        """Sine of each element, in radians."""

    @staticmethod
    def slice(
        tensor: Any, shape: Any, offset: Any, valid_shape: Any = ..., drop_dims: Any = ..., pad_value: Any = ..., clamp: Any = ...
    ) -> Any:
        """A window of a tensor, on its storage. A window of a distributed tensor is distributed."""

    @staticmethod
    def sort32(src: Any, idx: Any) -> Any:
        """Each block of 32 elements of a row sorted in descending order, as pairs of eight bytes: the value, and its number as
        UINT32 bits in the second four bytes. A row becomes twice as long in FP32, four times in FP16.
        """

    @staticmethod
    def sqrt(input: Any) -> Any:
        """Square root of each element; NaN where it is negative."""

    @staticmethod
    def sub(lhs: Any, rhs: Any) -> Any:
        """Difference of the elements of two tensors, or of one and a scalar; integers wrap around."""

    @staticmethod
    def subs(lhs: Any, rhs: Any) -> Any:
        """Each element minus a scalar; integers wrap around."""

    @staticmethod
    def transpose(tensor: Any, axis1: Any, axis2: Any, valid_shape: Any = ...) -> Any:
        """Two axes swapped."""

    @staticmethod
    def view(tensor: Any, shape: Any = ..., valid_shape: Any = ..., *, layout: Any = ...) -> Any:
        """The same storage seen with another shape, layout or both. A view of a distributed tensor is one of the same window."""

    @staticmethod
    def write(tensor: Any, indices: Any, value: Any) -> Any:
        """Set one element. Gives nothing: what was written to has changed."""

    @staticmethod
    def xor(lhs: Any, rhs: Any) -> Any:
        """Bits that one operand has and the other has not; integers only."""

    @staticmethod
    def xors(lhs: Any, rhs: Any) -> Any:
        """Bits that one operand has and the other has not; the second operand is a scalar. Integers only."""

tensor: type[_tensor]

class _tile:
    @staticmethod
    def abs(tile: Any) -> Any:
        """Absolute value of each element; the smallest integer stays as it is."""

    @staticmethod
    def add(lhs: Any, rhs: Any) -> Any:
        """Sum of the elements of two tiles, or of one and a scalar; integers wrap around."""

    @staticmethod
    def addc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
        """Sum of three tiles."""

    @staticmethod
    def adds(lhs: Any, rhs: Any) -> Any:
        """Each element plus a scalar; integers wrap around."""

    @staticmethod
    def addsc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
        """A tile plus a scalar plus a tile."""

    @staticmethod
    def alloc(memory_space: Any, size: Any, *, pinned: Any = ...) -> Any:
        """Memory for tiles, made by the allocation passes."""

    @staticmethod
    def and_(lhs: Any, rhs: Any) -> Any:
        """Bits that both operands have; integers only."""

    @staticmethod
    def ands(lhs: Any, rhs: Any) -> Any:
        """Bits that both operands have; the second operand is a scalar. Integers only."""

    @staticmethod
    def arange(start: Any, shape: Any, dtype: Any = ..., descending: Any = ...) -> Any:
        """Consecutive integers."""

    @staticmethod
    def assemble(target: Any, source: Any, offset: Any) -> Any:
        """A tile with another written into it. From Acc into Mat the elements may become BF16 or FP16."""

    @staticmethod
    def batch_matmul(lhs: Any, rhs: Any) -> Any:
        """Matrix products over the leading dimensions. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def batch_matmul_acc(acc: Any, lhs: Any, rhs: Any) -> Any:
        """Matrix products over the leading dimensions, added to an accumulator of as many dimensions. INT8 is summed in INT32,
        floating point in FP32.
        """

    @staticmethod
    def cast(tile: Any, target_type: Any, mode: Any = ...) -> Any:
        """Each element converted to another type. Float to integer rounds by the mode, saturates and turns NaN into 0;
        integers wrap around; to a float type with fewer digits the mode rounds. Modes: none, rint (to the nearest, halves
        to even), round (halves away from zero), floor, ceil, trunc, odd.
        """

    @staticmethod
    def ci(start: Any, shape: Any, dtype: Any = ..., descending: Any = ...) -> Any:
        """Consecutive integers."""

    @staticmethod
    def cmp(lhs: Any, rhs: Any, cmp_type: Any = ...) -> Any:
        """Compare the elements of two tiles. The result is a packed mask: one bit an element, rows padded to 32 bytes."""

    @staticmethod
    def cmps(lhs: Any, rhs: Any, cmp_type: Any = ...) -> Any:
        """Compare each element with a scalar. The result is a packed mask: one bit an element, rows padded to 32 bytes."""

    @staticmethod
    def col_argmax(tile: Any, tmp_tile: Any) -> Any:
        """The position of the first largest element of each column, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def col_argmin(tile: Any, tmp_tile: Any) -> Any:
        """The position of the first smallest element of each column, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def col_expand(target: Any, col_vec: Any) -> Any:
        """Spread a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_add(tile: Any, col_vec: Any) -> Any:
        """A matrix plus a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_div(tile: Any, col_vec: Any) -> Any:
        """A matrix divided by a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_expdif(tile: Any, col_vec: Any) -> Any:
        """A matrix minus, then the exponential: a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_max(tile: Any, col_vec: Any) -> Any:
        """A matrix or, where it is larger, a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_min(tile: Any, col_vec: Any) -> Any:
        """A matrix or, where it is smaller, a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_mul(tile: Any, col_vec: Any) -> Any:
        """A matrix times a row vector [1, columns] over the rows."""

    @staticmethod
    def col_expand_sub(tile: Any, col_vec: Any) -> Any:
        """A matrix minus a row vector [1, columns] over the rows."""

    @staticmethod
    def col_max(tile: Any) -> Any:
        """The largest element of each column. Only the valid region counts; of an empty one the result is the neutral element
        (0 for a position).
        """

    @staticmethod
    def col_min(tile: Any) -> Any:
        """The smallest element of each column. Only the valid region counts; of an empty one the result is the neutral element
        (0 for a position).
        """

    @staticmethod
    def col_prod(tile: Any) -> Any:
        """The product of each column. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def col_sum(tile: Any, tmp_tile: Any = ...) -> Any:
        """The sum of each column. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def concat(src0: Any, src1: Any) -> Any:
        """The columns of one operand followed by those of the other."""

    @staticmethod
    def cos(tile: Any) -> Any:
        """Cosine of each element, in radians."""

    @staticmethod
    def create(shape: Any, dtype: Any, target_memory: Any = ..., transpose: Any = ..., *, flat_layout: Any = ...) -> Any:
        """A new tile. It holds nothing until it is written; reading it before is an error."""

    @staticmethod
    def create_tile(shape: Any, dtype: Any, target_memory: Any = ..., transpose: Any = ..., *, flat_layout: Any = ...) -> Any:
        """A new tile. It holds nothing until it is written; reading it before is an error."""

    @staticmethod
    def div(lhs: Any, rhs: Any, high_precision: Any = ...) -> Any:
        """Quotient of the elements of two tiles, or of one and a scalar; integers round toward zero, and division by 0 gives
        0.
        """

    @staticmethod
    def divs(lhs: Any, rhs: Any) -> Any:
        """Each element divided by a scalar; integers round toward zero, and division by 0 gives 0."""

    @staticmethod
    def exp(tile: Any) -> Any:
        """e to the power of each element."""

    @staticmethod
    def expands(target: Any, scalar: Any) -> Any:
        """A scalar in every element."""

    @staticmethod
    def extract(src: Any, index_row: Any, index_col: Any, shape: Any, *, target_memory: Any) -> Any:
        """A window of a tile, copied to another memory."""

    @staticmethod
    def fillpad(tile: Any, pad_value: Any = ...) -> Any:
        """All lanes outside the valid region are set to the pad value; the result is valid throughout."""

    @staticmethod
    def fillpad_expand(tile: Any, shape: Any, pad_value: Any = ...) -> Any:
        """Enlarge to ``shape``. All lanes outside the valid region are set to the pad value; the result is valid throughout."""

    @staticmethod
    def fillpad_inplace(tile: Any, pad_value: Any = ...) -> Any:
        """All lanes outside the valid region are set to the pad value; the result is valid throughout. It takes the place of
        the operand, which should not be used afterwards.
        """

    @staticmethod
    def fmod(lhs: Any, rhs: Any) -> Any:
        """Remainder of the division rounded toward zero: it has the sign of the dividend."""

    @staticmethod
    def fmods(lhs: Any, rhs: Any) -> Any:
        """Remainder of the division by a scalar rounded toward zero: it has the sign of the dividend."""

    @staticmethod
    def full(shape: Any, dtype: Any, value: Any) -> Any:
        """A new tile of one value."""

    @staticmethod
    def gather(src: Any, indices: Any, tmp: Any) -> Any:
        """The elements of a tile at the given positions, counted row by row; the result has the shape of the indices."""

    @staticmethod
    def gather_mask(src: Any, mask_pattern: Any, *, output_dtype: Any = ...) -> Any:
        """Every second or fourth element of each row, by a pattern whose rightmost digit stands for the first element: P0101
        (1) the even ones, P1010 (2) the odd ones, P0001, P0010, P0100, P1000 (3 to 6) one of each four, P1111 (7) all.
        """

    @staticmethod
    def gather_row(
        dst: Any, src_tensor: Any, dst_offset: Any, src_offset: Any, shapes: Any, transpose: Any = ..., *, valid_shape: Any = ...
    ) -> Any:
        """A tile with a window of a tensor loaded into it."""

    @staticmethod
    def gemv(lhs: Any, rhs: Any, acc_phase: Any = ...) -> Any:
        """One row times a matrix. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def gemv_acc(acc: Any, lhs: Any, rhs: Any, acc_phase: Any = ...) -> Any:
        """One row times a matrix, added to an accumulator. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def gemv_bias(lhs: Any, rhs: Any, bias: Any, acc_phase: Any = ...) -> Any:
        """One row times a matrix, plus a row. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def get_block_idx() -> Any:
        """The number of this block among those that run the kernel; 0 when it runs alone."""

    @staticmethod
    def get_block_num() -> Any:
        """How many blocks run the kernel; 1 when it runs alone."""

    @staticmethod
    def get_subblock_idx() -> Any:
        """The number of this vector core within its block; 0 when it runs alone."""

    @staticmethod
    def load(tensor: Any, offsets: Any, shapes: Any, valid_shape: Any = ..., target_memory: Any = ..., clamp: Any = ...) -> Any:
        """Copy a window of a tensor into a tile. The valid region is ``valid_shape``, cut down to the valid region of the
        tensor itself.
        """

    @staticmethod
    def log(tile: Any, high_precision: Any = ...) -> Any:
        """Natural logarithm of each element."""

    @staticmethod
    def lrelu(tile: Any, slope: Any) -> Any:
        """Each element, or its product with a slope where it is not positive."""

    @staticmethod
    def matmul(lhs: Any, rhs: Any) -> Any:
        """The product of two matrices. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def matmul_acc(acc: Any, lhs: Any, rhs: Any, init_cond: Any = ...) -> Any:
        """A matrix product added to an accumulator. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def matmul_bias(lhs: Any, rhs: Any, bias: Any) -> Any:
        """A matrix product plus a row. INT8 is summed in INT32, floating point in FP32."""

    @staticmethod
    def max(lhs: Any, rhs: Any) -> Any:
        """Larger of two scalars."""

    @staticmethod
    def maximum(lhs: Any, rhs: Any) -> Any:
        """Larger of each two elements; NaN when either is."""

    @staticmethod
    def maximums(lhs: Any, rhs: Any) -> Any:
        """Larger of each element and a scalar; NaN when either is."""

    @staticmethod
    def min(lhs: Any, rhs: Any) -> Any:
        """Smaller of two scalars."""

    @staticmethod
    def minimum(lhs: Any, rhs: Any) -> Any:
        """Smaller of each two elements; NaN when either is."""

    @staticmethod
    def minimums(lhs: Any, rhs: Any) -> Any:
        """Smaller of each element and a scalar; NaN when either is."""

    @staticmethod
    def move(tile: Any, target_memory: Any, blayout: Any = ..., slayout: Any = ...) -> Any:
        """Copy a tile into another memory of the core, laid out as that memory asks for."""

    @staticmethod
    def mrgsort(src0: Any, *, block_len: Any) -> Any:
        """Merge each four neighbouring sorted runs of a row into one, in descending order."""

    @staticmethod
    def mrgsort_format1(src0: Any, *, block_len: Any) -> Any:
        """Merge each four neighbouring sorted runs of a row into one, in descending order."""

    @staticmethod
    def mscatter(src: Any, idx: Any, output_tensor: Any) -> Any:
        """Write elements of a tile to places of a tensor; gives the tensor. Of several to one place the last, row by row,
        stays.
        """

    @staticmethod
    def mul(lhs: Any, rhs: Any) -> Any:
        """Product of the elements of two tiles, or of one and a scalar; integers wrap around."""

    @staticmethod
    def muls(lhs: Any, rhs: Any) -> Any:
        """Each element times a scalar; integers wrap around."""

    @staticmethod
    def neg(tile: Any) -> Any:
        """Each element negated; integers wrap around."""

    @staticmethod
    def not_(tile: Any) -> Any:
        """Each element with all its bits inverted."""

    @staticmethod
    def or_(lhs: Any, rhs: Any) -> Any:
        """Bits that either operand has; integers only."""

    @staticmethod
    def ors(lhs: Any, rhs: Any) -> Any:
        """Bits that either operand has; the second operand is a scalar. Integers only."""

    @staticmethod
    def part_add(src0: Any, src1: Any) -> Any:
        """Sum of the elements of two tiles where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def part_max(src0: Any, src1: Any) -> Any:
        """Larger of the elements of two tiles where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def part_min(src0: Any, src1: Any) -> Any:
        """Smaller of the elements of two tiles where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def part_mul(src0: Any, src1: Any) -> Any:
        """Product of the elements of two tiles where both are valid; elsewhere the valid one's element."""

    @staticmethod
    def prelu(tile: Any, slope: Any, tmp: Any) -> Any:
        """Each element, or its product with the slope at its place where it is not positive."""

    @staticmethod
    def random(
        key0: Any,
        key1: Any,
        counter0: Any,
        counter1: Any,
        counter2: Any,
        counter3: Any,
        shape: Any,
        valid_shape: Any = ...,
        dtype: Any = ...,
        rounds: Any = ...,
    ) -> Any:
        """Random 32-bit words of the counter-based generator Philox 4x32. Element i, row by row, is word ``i % 4`` of the
        block whose 128-bit counter (counter0 the lowest word) is the given one plus ``i // 4``.
        """

    @staticmethod
    def read(tile: Any, indices: Any) -> Any:
        """One element as a scalar."""

    @staticmethod
    def recip(tile: Any, high_precision: Any = ...) -> Any:
        """One divided by each element."""

    @staticmethod
    def reinterpret_view(data: Any, dtype: Any, *, shape: Any = ...) -> Any:
        """The same bytes read as elements of another type."""

    @staticmethod
    def relu(tile: Any) -> Any:
        """Each element, or 0 where it is negative."""

    @staticmethod
    def rem(lhs: Any, rhs: Any, tmp: Any) -> Any:
        """Remainder of the division rounded down: it has the sign of the divisor."""

    @staticmethod
    def rems(lhs: Any, rhs: Any, tmp: Any) -> Any:
        """Remainder of the division by a scalar rounded down: it has the sign of the scalar."""

    @staticmethod
    def reshape(tile: Any, shape: Any) -> Any:
        """The same elements, row by row, in another shape."""

    @staticmethod
    def row_argmax(tile: Any, tmp_tile: Any) -> Any:
        """The position of the first largest element of each row, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def row_argmin(tile: Any, tmp_tile: Any) -> Any:
        """The position of the first smallest element of each row, INT32. Only the valid region counts; of an empty one the
        result is the neutral element (0 for a position).
        """

    @staticmethod
    def row_expand(target: Any, row_vec: Any) -> Any:
        """Spread a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_add(tile: Any, row_vec: Any, tmp: Any = ...) -> Any:
        """A matrix plus a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_div(tile: Any, row_vec: Any) -> Any:
        """A matrix divided by a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_expdif(tile: Any, row_vec: Any) -> Any:
        """A matrix minus, then the exponential: a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_max(tile: Any, row_vec: Any) -> Any:
        """A matrix or, where it is larger, a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_min(tile: Any, row_vec: Any) -> Any:
        """A matrix or, where it is smaller, a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_mul(tile: Any, row_vec: Any) -> Any:
        """A matrix times a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_expand_sub(tile: Any, row_vec: Any) -> Any:
        """A matrix minus a column vector [rows, 1] over the columns."""

    @staticmethod
    def row_max(tile: Any, tmp_tile: Any) -> Any:
        """The largest element of each row. Only the valid region counts; of an empty one the result is the neutral element (0
        for a position).
        """

    @staticmethod
    def row_min(tile: Any, tmp_tile: Any) -> Any:
        """The smallest element of each row. Only the valid region counts; of an empty one the result is the neutral element (0
        for a position).
        """

    @staticmethod
    def row_prod(tile: Any, tmp_tile: Any) -> Any:
        """The product of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def row_sum(tile: Any, tmp_tile: Any) -> Any:
        """The sum of each row. Only the valid region counts; of an empty one the result is the neutral element (0 for a
        position).
        """

    @staticmethod
    def rsqrt(tile: Any, tmp: Any = ...) -> Any:
        """One divided by the square root of each element; a scratch tile (or high_precision on a tensor) selects the more
        exact form.
        """

    @staticmethod
    def scatter_update(input: Any, dim: Any, index: Any, src: Any) -> Any:
        """Replace rows: row number ``index[k]`` of the input becomes row ``k`` of the source."""

    @staticmethod
    def sel(mask: Any, lhs: Any, rhs: Any, tmp: Any) -> Any:
        """Elements of one tile where the bit of a packed mask is set, of another elsewhere."""

    @staticmethod
    def sels(mask: Any, src: Any, tmp: Any, scalar: Any) -> Any:
        """Elements of a tile where the bit of a packed mask is set, a scalar elsewhere."""

    @staticmethod
    def set_validshape(tile: Any, valid_rows: Any, valid_cols: Any) -> Any:
        """The same elements with another valid region."""

    @staticmethod
    def shl(lhs: Any, rhs: Any) -> Any:
        """Bits moved up by as many places as the second operand says; zeros move in; integers only."""

    @staticmethod
    def shls(lhs: Any, rhs: Any) -> Any:
        """Bits moved up by as many places as the second operand says; zeros move in; the second operand is a scalar. Integers
        only.
        """

    @staticmethod
    def shr(lhs: Any, rhs: Any) -> Any:
        """Bits moved down by as many places as the second operand says; the sign of signed elements moves in, else zeros;
        integers only.
        """

    @staticmethod
    def shrs(lhs: Any, rhs: Any) -> Any:
        """Bits moved down by as many places as the second operand says; the sign of signed elements moves in, else zeros; the
        second operand is a scalar. Integers only.
        """

    @staticmethod
    def sin(tile: Any) -> Any:
        """Sine of each element, in radians."""

    @staticmethod
    def slice(tile: Any, shape: Any, offset: Any, valid_shape: Any = ..., drop_dims: Any = ..., pad_value: Any = ...) -> Any:
        """A window of a tile; its extents are constants."""

    @staticmethod
    def sort32(src: Any, idx: Any) -> Any:
        """Each block of 32 elements of a row sorted in descending order, as pairs of eight bytes: the value, and its number as
        UINT32 bits in the second four bytes. A row becomes twice as long in FP32, four times in FP16.
        """

    @staticmethod
    def sqrt(tile: Any) -> Any:
        """Square root of each element; NaN where it is negative."""

    @staticmethod
    def store(tile: Any, offsets: Any, output_tensor: Any, shapes: Any = ..., *, atomic: Any = ...) -> Any:
        """Copy the valid region of a tile into a tensor; gives the tensor. A tile in Acc is converted to the tensor's element
        type.
        """

    @staticmethod
    def sub(lhs: Any, rhs: Any) -> Any:
        """Difference of the elements of two tiles, or of one and a scalar; integers wrap around."""

    @staticmethod
    def subc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
        """The first tile minus the second plus the third."""

    @staticmethod
    def subs(lhs: Any, rhs: Any) -> Any:
        """Each element minus a scalar; integers wrap around."""

    @staticmethod
    def subsc(lhs: Any, rhs: Any, rhs2: Any) -> Any:
        """A tile minus a scalar plus a tile."""

    @staticmethod
    def transpose(tile: Any, axis1: Any, axis2: Any, tmp_tile: Any = ...) -> Any:
        """Two axes swapped."""

    @staticmethod
    def transpose_view(tile: Any) -> Any:
        """The last two axes swapped on the same storage: the layouts change in place of the elements."""

    @staticmethod
    def tri(diagonal: Any, shape: Any, valid_shape: Any = ..., dtype: Any = ..., upper: Any = ...) -> Any:
        """A triangle of ones: where ``column - row <= diagonal``, or ``>= diagonal`` for the upper one."""

    @staticmethod
    def write(tile: Any, indices: Any, value: Any) -> Any:
        """Set one element. Gives nothing: what was written to has changed."""

    @staticmethod
    def xor(lhs: Any, rhs: Any, tmp: Any) -> Any:
        """Bits that one operand has and the other has not; integers only."""

    @staticmethod
    def xors(lhs: Any, rhs: Any, tmp: Any) -> Any:
        """Bits that one operand has and the other has not; the second operand is a scalar. Integers only."""

tile: type[_tile]
