"""Tiles and tensors filled by a rule: counting, triangles, random numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pypto.ir.dtypes import DataType
from pypto.ir.enums import MemorySpace
from pypto.ir.expr import Expr
from pypto.ir.types import TensorType, Type
from pypto.ops.declare import Declaration, KeywordError, Kind, Lanes, OperandError, Param, ResultSpec, op
from pypto.ops.region import Array, Keywords, constant, entries, need_positive, need_valid, text_of, tile_of


def _keyword_dtype(declaration: Declaration, kwargs: Keywords, allowed: Sequence[DataType]) -> DataType:
    dtype = kwargs.get("dtype", declaration.keyword_params["dtype"].default)
    if dtype not in allowed:
        names = ", ".join(d.name for d in allowed)
        raise KeywordError(f"{declaration.name} makes {names}, got {getattr(dtype, 'name', dtype)}", "dtype")
    assert isinstance(dtype, DataType)
    return dtype


def _made(declaration: Declaration, shape: Sequence[Expr], dtype: DataType, valid: Sequence[Expr] | None = None) -> Type:
    if declaration.namespace == "tile":
        return tile_of(shape, dtype, MemorySpace.Vec, valid)
    return TensorType(shape, dtype)


def _two_dimensions(declaration: Declaration, at: int, shape: Sequence[Expr]) -> None:
    need_positive(declaration, at, shape, static=True)
    if len(shape) != 2:
        raise OperandError(f"{declaration.name} takes two extents, got {text_of(shape)}", at)


# -- counting --------------------------------------------------------------------------------------------------------------------


def _ci_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    dtype = _keyword_dtype(declaration, kwargs, (DataType.INT16, DataType.INT32, DataType.UINT16, DataType.UINT32))
    shape = entries(args[1])
    need_positive(declaration, 1, shape, static=declaration.namespace == "tile")
    if any(constant(d) != 1 for d in shape[:-1]) or constant(shape[-1]) == 1:
        raise OperandError(
            f"{declaration.name} counts along the last dimension, which must exceed 1, all others being 1; got {text_of(shape)}",
            1,
        )
    return _made(declaration, shape, dtype)


def counting(start: int, shape: tuple[int, ...], out: ResultSpec, descending: bool = False) -> Array:
    """start, start + 1, ... (or - 1), wrapping around."""
    steps = np.arange(out.shape[-1], dtype=np.int64)
    values = int(start) - steps if descending else int(start) + steps
    return values.astype(out.dtype).reshape(out.shape)


for _space in ("tile", "tensor"):
    op(
        f"{_space}.ci",
        params=[
            Param("start", Kind.SCALAR, stamp="dtype", doc="The first number."),
            Param("shape", Kind.TUPLE, doc="Extents; all but the last are 1."),
            Param("dtype", Kind.DTYPE, DataType.INT32, stored=True, doc="INT16, INT32, UINT16 or UINT32."),
            Param("descending", Kind.BOOL, False, doc="Count down."),
        ],
        result=_ci_type,
        meaning=counting,
        lanes=Lanes.NONE,
        memory=MemorySpace.Vec if _space == "tile" else None,
        short=_space == "tensor",
        spellings=["arange"],
        tile_form="tile.ci" if _space == "tensor" else None,
        doc="Consecutive integers.",
    )


# -- triangles -------------------------------------------------------------------------------------------------------------------


def _tri_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    dtype = kwargs.get("dtype", DataType.INT32)
    assert isinstance(dtype, DataType)
    shape = entries(args[1])
    _two_dimensions(declaration, 1, shape)
    valid = entries(args[2]) if len(args) > 2 else None
    if valid is not None:
        need_valid(declaration, 2, valid, shape)
    return _made(declaration, shape, dtype, valid)


def triangle(
    diagonal: int,
    shape: tuple[int, ...],
    valid_shape: tuple[int, ...] = (),
    *,
    out: ResultSpec,
    upper: bool = False,
) -> Array:
    """Ones where ``column - row <= diagonal`` (``upper``: ``>=``), zeros elsewhere."""
    rows, columns = out.shape
    distance = np.arange(columns)[None, :] - np.arange(rows)[:, None]
    ones = distance >= int(diagonal) if upper else distance <= int(diagonal)
    return ones.astype(out.dtype)


op(
    "tile.tri",
    params=[
        Param(
            "diagonal",
            Kind.SCALAR,
            stamp=DataType.INT32,
            doc="Which diagonal is the edge: 0 the main one, positive to its right.",
        ),
        Param("shape", Kind.TUPLE, doc="Two constant extents."),
        Param("valid_shape", Kind.TUPLE, None, doc="How much of it is valid; all by default."),
        Param("dtype", Kind.DTYPE, DataType.INT32, stored=True, doc="Element type."),
        Param("upper", Kind.BOOL, False, doc="The upper triangle in place of the lower one."),
    ],
    result=_tri_type,
    meaning=triangle,
    lanes=Lanes.NONE,
    memory=MemorySpace.Vec,
    short=True,
    doc="A triangle of ones: where ``column - row <= diagonal``, or ``>= diagonal`` for the upper one.",
)


# -- random numbers --------------------------------------------------------------------------------------------------------------


def _random_type(declaration: Declaration, args: Sequence[Expr], kwargs: Keywords) -> Type:
    dtype = _keyword_dtype(declaration, kwargs, (DataType.INT32, DataType.UINT32))
    rounds = kwargs.get("rounds", 10)
    if rounds not in (7, 10):
        raise KeywordError(f"{declaration.name} makes 7 or 10 rounds, got {rounds}", "rounds")
    shape = entries(args[6])
    _two_dimensions(declaration, 6, shape)
    valid = entries(args[7]) if len(args) > 7 else None
    if valid is not None:
        need_valid(declaration, 7, valid, shape)
    return _made(declaration, shape, dtype, valid)


_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def philox(counters: Sequence[NDArray[np.uint64]], key: tuple[int, int], rounds: int) -> list[NDArray[np.uint64]]:
    """The Philox 4x32 generator: four 32-bit words (held in 64 bits) for every counter of four words and one key of two."""
    c0, c1, c2, c3 = counters
    key0, key1 = key[0] & 0xFFFFFFFF, key[1] & 0xFFFFFFFF
    for _ in range(rounds):
        first, second = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            (second >> _HALF) ^ c1 ^ np.uint64(key0),
            second & _LOW,
            (first >> _HALF) ^ c3 ^ np.uint64(key1),
            first & _LOW,
        )
        key0, key1 = (key0 + _WEYL[0]) & 0xFFFFFFFF, (key1 + _WEYL[1]) & 0xFFFFFFFF
    return [c0, c1, c2, c3]


def random_words(
    key0: int,
    key1: int,
    counter0: int,
    counter1: int,
    counter2: int,
    counter3: int,
    shape: tuple[int, ...],
    valid_shape: tuple[int, ...] = (),
    *,
    out: ResultSpec,
    rounds: int = 10,
) -> Array:
    """Element i (row by row) is word ``i % 4`` of the block whose 128-bit counter is the given one plus ``i // 4``."""
    size = int(np.prod(out.shape))
    carry = np.arange((size + 3) // 4, dtype=np.uint64)
    words: list[NDArray[np.uint64]] = []
    for word in (counter0, counter1, counter2, counter3):
        summed = carry + np.uint64(int(word) & 0xFFFFFFFF)
        words.append(summed & _LOW)
        carry = summed >> _HALF
    blocks = philox(words, (int(key0), int(key1)), rounds)
    flat = np.stack(blocks, axis=1).reshape(-1)[:size].astype(np.uint32)
    return flat.view(out.dtype).reshape(out.shape)


for _space in ("tile", "tensor"):
    _valid = [Param("valid_shape", Kind.TUPLE, None, doc="How much of it is valid; all by default.")] if _space == "tile" else []
    op(
        f"{_space}.random",
        params=[
            *[Param(_name, Kind.SCALAR, stamp=DataType.INT32, doc="A word of the key.") for _name in ("key0", "key1")],
            *[
                Param(f"counter{_word}", Kind.SCALAR, stamp=DataType.INT32, doc="A word of the first counter.")
                for _word in range(4)
            ],
            Param("shape", Kind.TUPLE, doc="Two constant extents."),
            *_valid,
            Param("dtype", Kind.DTYPE, DataType.UINT32, stored=True, doc="INT32 or UINT32."),
            Param("rounds", Kind.INT, 10, doc="7 or 10."),
        ],
        result=_random_type,
        meaning=random_words,
        lanes=Lanes.NONE,
        memory=MemorySpace.Vec if _space == "tile" else None,
        short=_space == "tensor",
        tile_form="tile.random" if _space == "tensor" else None,
        doc="Random 32-bit words of the counter-based generator Philox 4x32. Element i, row by row, is word ``i % 4`` of the block whose "
        "128-bit counter (counter0 the lowest word) is the given one plus ``i // 4``.",
    )
